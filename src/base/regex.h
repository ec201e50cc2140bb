/* regex.h — regular expressions whose time is linear in the text, in the syntax of RE2.
 *
 * For patterns that a policy applies to texts of an agent: neither may decide how long a search takes.  pattern.h (PCRE2) goes
 * back and tries again, and stops at a limit; here all ways through the pattern are followed at once, character by character, so
 * that the work is at most states times characters, known beforehand and charged to the caller's budget.  What that method
 * cannot do (references back, looking ahead or behind, atomic groups) is refused when the pattern is compiled.
 *
 * A compiled expression lives in the arena and is not changed by searching. */
#ifndef BASE_REGEX_H
#define BASE_REGEX_H

#include "base/err.h"
#include "base/mem.h"

enum {
	REGEX_LONGEST = 4096, /* bytes of a pattern */
	REGEX_STATES = 4096, /* of a compiled one */
	REGEX_REPEAT = 1000, /* in {n,m} */
	REGEX_DEPTH = 64 /* groups in groups */
};

struct regex;

/* REGEX_SYNTAX names the offset and the reason; REGEX_SIZE: more than the limits above. */
int regex_compile(struct arena *a, struct bytes pattern, struct regex **ret, struct err *e);

size_t regex_states(const struct regex *r);

/* Is it anywhere in the text?  1 yes, 0 no, E_LIMIT when *budget, which is lowered by the states that were visited, is used up.
 * Scratch memory comes from the arena and is given back.  A byte that is no UTF-8 counts as the character U+FFFD. */
int regex_search(const struct regex *r, struct arena *a, struct bytes text, uint64_t *budget);

#endif
