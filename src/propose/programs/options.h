/* options.h — one reader for every program's options, and small questions about words.
 *
 * A specification is one string: items separated by blanks, each `letters[=|?][:long,long...]`.  "rR:recursive f:force
 * t=:target-directory" is item 0 (-r, -R, --recursive), item 1 (-f, --force), item 2 (-t DIR, -tDIR, --target-directory DIR,
 * --target-directory=DIR).  "=" takes a value, "?" only an attached one; for an item of long names only, "=" at the end says
 * so: ":format=,output=".  Short options may be bundled, long ones
 * abbreviated.  A specification that starts with "~" belongs to a program whose long options have one dash (find, terraform);
 * "+" in front means that options end at the first operand (wrappers). */
#ifndef PROPOSE_PROGRAMS_OPTIONS_H
#define PROPOSE_PROGRAMS_OPTIONS_H

#include "propose/walk.h"

enum { ARG_END = -1, ARG_OPERAND = -2, ARG_UNKNOWN = -3, ARG_DYNAMIC = -4 };

struct args {
	struct arena *a;
	struct word *v; /* the words after the head */
	size_t n, i;
	const char *spec;
	bool is_single_dash, stops, is_over; /* is_over: only operands from here */
	const char *cluster; /* rest of a bundle, or NULL */
	struct word *word; /* the word of the current item */
	struct word value; /* of an option with a value, or the operand; text NULL: none */
	char letter; /* of a short option, else 0 */
};

void args_start(struct args *s, struct arena *a, struct word *v, size_t n, const char *spec);
/* The item number in the specification, or ARG_*.  ARG_DYNAMIC: a word whose beginning is not known; it may be an option
 * or an operand, and is given as value. */
int args_next(struct args *s);

/* Everything at once.  `seen` has a bit per item (at most 64); values[i] is the last value of item i; operands come in
 * order, unknown words among them. */
struct parsed {
	uint64_t seen;
	struct word *values[64];
	struct word *operands;
	size_t operand_count;
	bool has_unknown; /* an option the specification does not know */
	bool has_dynamic; /* a word that could be an option */
};
void args_parse(struct arena *a, struct word *v, size_t n, const char *spec, struct parsed *ret);
static inline bool args_has(const struct parsed *p, int item)
{
	return p->seen >> item & 1;
}

/* Is one of these options there?  `names` is a list like "f force": a single letter is looked for in bundles, anything
 * longer as --name or -name, also with =value.  Stops at "--". */
bool args_find(const struct word *v, size_t n, const char *names);
/* The same where the option makes a command harmless (--help, --dry-run): it must be one for sure.  It is none where it may be the value of
 * the option before it, where another option's value may be attached to that letter (-en), or where it is taken back (=none).  `spec` says
 * which options of the program take values; of others only those that take none in any program count as such. */
bool args_surely(struct arena *a, struct word *v, size_t n, const char *spec, const char *names);
/* Does this one word say one of these options? */
bool word_is_option(const struct word *x, const char *names);

bool word_is(const struct word *x, const char *text); /* certain and equal */
bool word_is_any(const struct word *x, const char *list); /* certain and one of a blank-separated list */
bool word_starts(const struct word *x, const char *prefix); /* its known beginning does */
bool word_starts_caseless(
	const struct word *x, const char *prefix); /* schemes of addresses, settings of git */
bool word_has(const struct word *x, const char *part); /* its known text contains that */
/* The word from offset `skip` on. */
struct word word_tail(const struct word *x, size_t skip);
struct word word_head(struct arena *a, const struct word *x, size_t n);
/* dir/x when x is relative; x otherwise. */
struct word word_join(struct arena *a, const struct word *dir, const struct word *x);
/* Words glued with blanks, as ssh and watch do. */
struct word words_join(struct arena *a, const struct word *v, size_t n);
/* Is `text` (n bytes) one of a blank-separated list? */
bool list_has(const char *list, const char *text, size_t n);

#endif
