/* when.h — the condition of a rule about one effect: one table of fields, one compiled form, one function that asks it, one that explains it.
 *
 * Three readers make it of what people write: the build of the shipped guard rules (tools/generate/rules.c), the reader of a workspace's
 * guard rules (policy/file.c), and the engine of "effects" and of conditions on effect.NAME in a policy document (engine/rules.c).
 *
 *	{"kind": ["delete", "move"], "flags": "recursive", "not_class": ["in", "tmp"], "where": "here"}
 *
 * A condition holds when all its members hold.  A member that is not understood is an error, never skipped: the rule would hold in other
 * cases than its author thinks.  Texts are distances in one block, so that a table of conditions needs no relocation. */
#ifndef DECIDE_WHEN_H
#define DECIDE_WHEN_H

#include "base/err.h"
#include "base/json.h"
#include "base/text.h"
#include "model/decision.h"
#include "model/effect.h"
#include "model/profile.h"

/* X(ID, "name", TYPE, "what a word of it is") — in the order in which they are asked: bits first, patterns last. */
#define WHEN_FIELDS(X) \
	X(CONTAINED, "contained", TRUTH, \
		"") /* a sandbox stands around it, and the profile relies on that */ \
	X(FLAGS, "flags", FLAGS, "flag") \
	X(CLASS, "class", WORD, "class of paths") \
	X(CERTAINTY, "certainty", WORD, "certainty") \
	X(WHERE, "where", WORD, "place (here, elsewhere, any)") \
	X(KIND, "kind", WORD, "kind of effect") \
	X(PROFILE_WRITES, "profile_writes", TRUTH, \
		"") /* the profile allows changes, or lets the target decide */ \
	X(ABOVE, "above", TRUTH, "") /* the target is a directory above the workspace */ \
	X(TAG, "tag", GLOBS, "pattern") \
	X(PROGRAM, "program", GLOBS, "pattern") \
	X(TARGET, "target", PATHS, "pattern") /* as it is written, and as its links lead */ \
	X(HOST, "host", HOSTS, "name, address or network") /* whom the target leads to, in any spelling */ \
	X(PROFILE, "profile", GLOBS, "pattern")

enum when_field {
#define WHEN_ENUM(id, name, type, word) WHEN_##id,
	WHEN_FIELDS(WHEN_ENUM)
#undef WHEN_ENUM
		WHEN_FIELD_COUNT
};

/* One member. */
struct when_test {
	uint64_t bits; /* words and flags: a bit each; truth: 1 or 0 */
	uint32_t texts; /* patterns: distance of a list of texts that an empty one ends */
	uint8_t field; /* enum when_field */
	bool is_not; /* none of them, instead of one of them (of flags: all of them) */
};

/* One condition: its tests stand one behind the other in a struct when_data. */
struct when {
	uint64_t kinds; /* a bit per effect_kind.  Whoever asks has looked at them: rules lie by kind */
	uint32_t first;
	uint16_t n;
};

struct when_data {
	const struct when_test *tests;
	const char *texts;
};

/* What is known of where an effect happens. */
enum when_truth { WHEN_FALSE, WHEN_TRUE, WHEN_NOT_KNOWN };
struct when_at {
	const char *workspace; /* absolute and clean; or NULL */
	const char *profile; /* its name; NULL: not known */
	enum when_truth contained, profile_writes;
};

/* Does it hold for the effect?  Of a rule that allows (`is_allowing`), what is not known does not hold.  Of one that forbids or asks, what is
 * not known of the place holds; of the effect, a text that it does not have is none of any list. */
bool when_holds(const struct when_data *d, const struct when *w, const struct effect *e,
	const struct when_at *at, bool is_allowing);

/* A directory of this machine that is mounted into a container is here, although the program runs elsewhere. */
static inline bool effect_is_elsewhere(const struct effect *e)
{
	return (e->flags & (FXF_INSIDE_CONTAINER | FXF_REMOTE_SIDE)) && !(e->flags & FXF_HOST_MOUNT);
}
struct when_at when_at_profile(
	const struct profile *profile, enum placement placement, const char *workspace);

/* ---- reading ---- */

/* Conditions that are being made, and the texts around them. */
struct when_maker {
	struct arena *a;
	struct buf texts; /* the first is empty: 0 is "none" */
	struct when_test *tests;
	uint32_t n, room;
};
void when_begin(struct when_maker *m, struct arena *a);
/* Distance of a text, which is kept once while there are few; 0 of NULL. */
uint32_t when_text(struct when_maker *m, const char *text);
struct when_data when_made(const struct when_maker *m);

/* Who reads: `where` ("file: rule 'id'") and `code` are for messages. */
struct when_reader {
	struct when_maker *to;
	const char *where, *code;
	bool is_allowing;
	struct err *e;
};
/* An object of conditions.  *ret is set on success only. */
int when_read(const struct when_reader *r, const struct json *doc, struct when *ret);
/* One test more about effect.NAME, behind those of `w`, which was read last.  `words` is a text or a list of texts, or true or false. */
int when_add(const struct when_reader *r, enum when_field field, bool is_not, const struct json *words,
	struct when *w);
bool when_field_parse(const char *name, size_t n, enum when_field *ret);
const char *when_field_name(enum when_field f);
/* Are its values words of a fixed list, or true and false?  Is it a list of such words? */
bool when_field_is_word(enum when_field f);
bool when_field_is_list(enum when_field f);

/* ---- explaining ---- */

/* What a field is, of this effect: a text, a list of texts, true or false; NULL when it has none. */
struct json *when_value(struct arena *a, enum when_field f, const struct effect *e, const struct when_at *at);
/* One sentence: "kind is delete; class is sys, one of root, sys, out; flags have recursive".  When it does not hold, only what fails: "class is in,
 * not one of root, sys, out".  The kind counts. */
const char *when_explain(struct arena *a, const struct when_data *d, const struct when *w,
	const struct effect *e, const struct when_at *at, bool is_allowing, bool *ret_holds);

/* Who says it: a rule, its layer and where it stands ("file:line"; or NULL). */
struct rule_place {
	const char *layer, *rule, *origin;
};
/* {layer, rule, origin?, effect, holds, because}: the same of every rule about effects, whoever wrote it. */
struct json *when_reason(struct arena *a, const struct rule_place *place, const struct when_data *d,
	const struct when *w, const struct effect *e, const struct when_at *at, bool is_allowing);

#endif
