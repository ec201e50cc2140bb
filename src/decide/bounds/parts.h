/* parts.h — inside decide/bounds: what its files share. */
#ifndef DECIDE_BOUNDS_PARTS_H
#define DECIDE_BOUNDS_PARTS_H

#include "decide/bounds/bounds.h"

#include "base/text.h"

/* ---- limits.c ---- */

enum limit_per { PER_ALL, PER_PRINCIPAL, PER_SESSION, PER_TENANT, PER_TOOL, PER_COUNT };
struct limit {
	const char *id;
	const struct json *doc;
	enum limit_per per;
	const char *period;
	int64_t most; /* the limit itself; of a bucket: burst */
	const struct json *actions; /* NULL: all; empty: only who names it */
};
struct limits {
	struct limit *budgets, *windows, *buckets, *spends, *risks; /* risks: none or one */
	size_t budget_count, window_count, bucket_count, spend_count, risk_count;
	bool has_ladder;
	const struct json *prices, *envelope; /* or NULL */
};

/* Does it speak about this question?  Named ones do whatever their actions are. */
bool limit_holds(const struct limit *l, const struct submission *ask);
/* Who draws on it: "" when it is everybody. */
const char *limit_who(const struct limit *l, const struct judging *j);
/* The draw of `amount` on it: key {what, id, who}, and the period that now lies in. */
struct draw limit_draw(
	const struct limit *l, struct judging *j, enum draw_kind kind, const char *what, int64_t amount);
/* An amount that the request names: `absent` when it does not, and at least what the facts say by the same name; false when it is no amount. */
bool limit_amount(const struct judging *j, const char *name, int64_t absent, int64_t *ret);

/* ---- spend.c ---- */

/* The first objection of the spend envelopes of `l`, if any: then ret says it. */
void spend_judge(
	struct judging *j, const struct limits *l, const struct drawn *drawn, struct gate_answer *ret);

/* ---- effect_type.c ---- */

enum { EFFECT_CANONICAL = 1 }; /* one of the 23 of the published taxonomy */
struct effect_type {
	const char *name;
	int class; /* 0 to 4 */
	unsigned flags;
};
const struct effect_type *effect_type_find(const char *name); /* or NULL */

/* ---- envelope.c ---- */

struct trigger {
	const struct json *doc;
	struct expression *condition;
};
struct envelope {
	const struct json *doc; /* with every member that it may have in the order of the hash */
	const char *id;
	int64_t from_us, until_us; /* 0: none */
	struct trigger *triggers;
	size_t trigger_count;
};

/* NULL or a text of `doc`; never NULL. */
static inline const char *text_of(const struct json *doc, const char *name)
{
	return json_get_text(doc, name, "");
}
/* A text with a NUL in it is no word that anything here knows. */
static inline const char *word_of(const struct json *v)
{
	const char *text = json_text(v);

	return text ? text : "";
}
bool list_names(const struct json *list, const char *text);

#endif
