/* parts.h — what the files of this folder share: a compiled policy, its rules by action, and the conditions of a rule. */
#ifndef DECIDE_ENGINE_PARTS_H
#define DECIDE_ENGINE_PARTS_H

#include "base/schema.h"
#include "decide/bounds/bounds.h"
#include "decide/engine/engine.h"
#include "decide/expression/expression.h"
#include "decide/operators.h"
#include "decide/when.h"

#include <string.h>

enum {
	POLICY_RULES = 200000, /* in all layers and packs */
	POLICY_FIELDS = 4096, /* different ones that rules read */
	RULE_TESTS = 64, /* in the "all" of one rule */
	RULE_ACTIONS = 1024, /* of one rule */
	RULE_BINDS = 16, /* in the "binds" of one rule */
	ACTION_PREFIX = 63, /* bytes before the star of "prefix*" */
	POLICY_GROUPS = 1000, /* layers and packs */
	SET_DEPTH = 16, /* of requirement sets in each other */
	FIELD_NAMES = 16, /* in one dotted field */
	MATCH_ROOM = 6 /* buckets that need no memory of their own */
};

/* Short texts are compared where they stand: names of members and tools are some ten bytes.  Which byte differs is not asked, so that nothing has to be
 * guessed: what requests say is not the same twice. */
static inline bool same_bytes(const char *x, const char *y, size_t n)
{
	uint64_t a, b, c, d;
	uint32_t e, f, g, h;

	if (n > 16)
		return memcmp(x, y, n) == 0;
	if (n >= 8) {
		memcpy(&a, x, 8);
		memcpy(&b, y, 8);
		memcpy(&c, x + n - 8, 8);
		memcpy(&d, y + n - 8, 8);
		return ((a ^ b) | (c ^ d)) == 0;
	}
	if (n >= 4) {
		memcpy(&e, x, 4);
		memcpy(&f, y, 4);
		memcpy(&g, x + n - 4, 4);
		memcpy(&h, y + n - 4, 4);
		return ((e ^ f) | (g ^ h)) == 0;
	}
	/* Up to three bytes: the first, the middle and the last are all there are. */
	return n == 0 || ((x[0] ^ y[0]) | (x[n / 2] ^ y[n / 2]) | (x[n - 1] ^ y[n - 1])) == 0;
}

/* The first four bytes, or all of a shorter one: what tells most names of one length apart. */
static inline uint32_t head_of(const char *p, size_t n)
{
	uint32_t head = 0;

	if (n >= sizeof(head))
		memcpy(&head, p, sizeof(head));
	else if (n > 0)
		head = (uint32_t)(uint8_t)p[0] << 16 | (uint32_t)(uint8_t)p[n / 2] << 8 | (uint8_t)p[n - 1];
	return head;
}

/* ---- names to numbers ---- */

/* Open addressing; keys are borrowed.  Values are numbers from 0 on, in the order of their first insertion. */
enum { TABLE_INLINE = 23 };
struct table_slot {
	uint32_t hash, value; /* value + 1; 0: empty */
	uint8_t n; /* of the name when it is short; TABLE_INLINE + 1: it stands in keys */
	char name[TABLE_INLINE];
};
struct table_key {
	const char *p;
	uint32_t n;
};
struct table {
	struct table_slot *slots; /* a short name is found without a look anywhere else */
	struct table_key *keys; /* by value */
	uint32_t mask, n, room;
};
enum { TABLE_NONE = UINT32_MAX };
void table_begin(struct table *t, struct arena *a, size_t expected);
uint32_t table_add(struct table *t, struct arena *a, const char *p, size_t n); /* or the one that is there */
/* Both halves of a product, so that every byte reaches every bit of the answer. */
static inline uint64_t table_mix(uint64_t x, uint64_t y)
{
	unsigned __int128 product = (unsigned __int128)x * y;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Eight bytes at a time; the names of a policy are its author's, so nobody gains from making them collide. */
static inline uint32_t table_hash(const char *p, size_t n)
{
	uint64_t h = n * 0x9e3779b97f4a7c15u, w = 0;

	for (; n > 8; p += 8, n -= 8) {
		memcpy(&w, p, 8);
		h = table_mix(h ^ w, 0xff51afd7ed558ccdu);
	}
	w = 0;
	if (n >= 4) {
		uint32_t low, high;
		memcpy(&low, p, 4);
		memcpy(&high, p + n - 4, 4);
		w = (uint64_t)high << 32 | low;
	} else if (n > 0) {
		w = (uint64_t)(uint8_t)p[0] << 16 | (uint64_t)(uint8_t)p[n / 2] << 8 | (uint8_t)p[n - 1];
	}
	return (uint32_t)table_mix(h ^ w, 0xc4ceb9fe1a85ec53u);
}

static inline bool table_slot_is(const struct table *t, const struct table_slot *s, const char *p, size_t n)
{
	if (n <= TABLE_INLINE)
		return s->n == n && same_bytes(s->name, p, n);
	const struct table_key *k = &t->keys[s->value - 1];
	return k->n == n && memcmp(k->p, p, n) == 0;
}

static inline struct table_slot *table_slot(const struct table *t, uint32_t hash, const char *p, size_t n)
{
	for (uint32_t i = hash & t->mask;; i = (i + 1) & t->mask) {
		struct table_slot *s = &t->slots[i];
		if (s->value == 0 || (s->hash == hash && table_slot_is(t, s, p, n)))
			return s;
	}
}

static inline uint32_t table_find(const struct table *t, const char *p, size_t n)
{
	return table_slot(t, table_hash(p, n), p, n)->value - 1;
}

/* ---- conditions ---- */

enum op {
#define OP_ENUM(id, name, takes) OP_##id,
	OPS(OP_ENUM)
#undef OP_ENUM
		OP_COUNT
};

/* Where a dotted field starts. */
enum root { ROOT_PARAMS, ROOT_CONTEXT, ROOT_FACTS, ROOT_EFFECT, ROOT_INPUT };

struct field {
	uint8_t root; /* enum root */
	uint8_t name_n;
	uint32_t head; /* head_of() the first name */
	const struct table_key *names;
};

struct test {
	const struct field *field; /* the same field of other rules is the same pointer */
	uint8_t op; /* enum op */
	bool is_allowing; /* of a rule that allows: doubt is then "does not hold", otherwise "holds" */
	bool is_own; /* `bound` is a number, `text` a text of the policy; otherwise `value` is what it says */
	bool has_other; /* compared with another field, not with a value of the policy */
	uint32_t n; /* of text or values */
	union {
		struct json *const *values; /* lists */
		const struct json *value;
		const char *text; /* of what a text must begin with or contain */
		const struct field *other;
		int64_t bound;
	};
};

/* What a condition says about a question; of several the first of these counts.  LACKS: does not hold, and the field was not there. */
enum holds { HOLDS_NO, HOLDS_LACKS, HOLDS_ERROR, HOLDS_YES };

struct region {
	const char *match, *region;
};

/* What the rules of one policy have in common: each field once, and lists that come again and again. */
enum { SHARED_LISTS = 8 };
struct shared {
	struct table names;
	struct field *fields; /* by number */
	uint32_t field_room;
	const struct json *lists[SHARED_LISTS];
	unsigned list_at;
};
/* One member of "all".  `where` names the rule for messages. */
int test_compile(struct arena *a, struct shared *shared, const struct json *doc, const char *where,
	bool is_allowing, bool has_effects, struct test *ret, struct err *e);
/* All of them.  `effect` is the one at hand, or NULL. */
enum holds tests_hold(struct judging *j, const struct test *tests, size_t n, const struct json *effect);
const char *op_name(enum op op);

/* ---- rules ---- */

/* Names in a receipt, and the fields that stand under them. */
struct binding {
	const char *name;
	const struct field *field;
};
struct bindings {
	const struct binding *list;
	size_t n;
};

/* What is only needed to explain a rule. */
struct rule_about {
	const char *detail_code, *text, *origin; /* each may be NULL */
	const struct json *bound; /* what a receipt must bind when it decides, whatever is asked; or NULL */
	struct bindings binds; /* and what it must bind of the question and the facts */
};

/* What is needed to ask it stands together: rule, tests and their texts are one piece of memory (rules_pack). */
struct rule {
	enum verdict verdict;
	uint16_t group;
	uint8_t test_n;
	bool is_simple; /* it has tests and nothing else to evaluate */
	const struct expression *when; /* or NULL */
	struct when effects; /* what it says of the effect at hand; its kinds 0: about the whole question */
	const char *id;
	const struct rule_about *about; /* NULL: nothing of that */
	const struct json *document;
	uint32_t rank; /* in its group, by id */
	enum reason_code code;
	struct test tests[];
};

/* A layer or a pack. */
struct group {
	const char *name;
	bool is_pack;
	const char *fact; /* pack: the fact that activates it: jurisdiction, industry, business_preset */
	const struct json *activates_on;
	int64_t priority;
};

/* Does a rule with this verdict say that there is such an action?  One that only forbids does not. */
static inline bool rule_covers(enum verdict v)
{
	return v == V_ALLOW || v == V_ESCALATE;
}

struct rule_list {
	union {
		const struct rule *one; /* when it is one */
		const struct rule **many;
	};
	uint32_t n, room;
};
static inline const struct rule *list_at(const struct rule_list *l, uint32_t i)
{
	return l->n == 1 ? l->one : l->many[i];
}

/* All rules that name one action, or one pattern of actions. */
struct bucket {
	struct rule_list whole; /* without "effects" */
	struct rule_list *kinds; /* one per effect kind; NULL: none */
	bool covers; /* a rule of a layer allows it or asks about it, under whatever condition */
	bool pack_covers; /* the same of a pack */
	const struct requirement_set *set; /* or NULL */
};

/* ---- requirements ---- */

struct requirement_leaf {
	const char *id, *artifact_type, *signer_id;
	const struct expression *expression; /* or NULL */
};
enum logic { LOGIC_AND, LOGIC_OR, LOGIC_NOT };
struct requirement_set {
	const char *id, *origin;
	enum logic logic;
	const struct requirement_leaf *leaves;
	struct requirement_set *const *children;
	size_t leaf_n, child_n;
};
int requirement_compile(struct arena *a, const struct json *doc, const char *action, int depth,
	struct requirement_set **ret, struct err *e);

/* ---- the whole ---- */

struct sandbox_rules {
	const struct json *actions, *runtimes, *commands; /* lists of texts */
	int64_t min_gas;
};

struct ruleset {
	const struct json *document;
	const char *name, *version, *sha256;
	uint64_t epoch;
	bool is_closed, is_strict; /* coverage; missing_is escalate */
	uint32_t required; /* gates that must be active, as bits */
	struct rule **rules; /* layers first, in the order of ties */
	size_t rule_n;
	struct group *groups;
	size_t group_n, pack_n, layer_n;

	struct table actions; /* names, prefixes (with their '*') and "*" -> buckets */
	struct bucket *buckets;
	uint64_t prefix_lengths; /* bit n: some "prefix*" has n bytes before the star */
	uint32_t star; /* bucket of "*", or TABLE_NONE */
	uint32_t max_matched;
	bool has_effects; /* some rule is about effects */
	bool has_patterns; /* some action is no plain name */

	struct table schema_names, output_names;
	struct schema **schemas, **outputs;
	struct region *regions;
	size_t region_n;
	struct when_data conditions; /* of all rules about effects */
	const struct sandbox_rules *sandbox; /* or NULL */
	const struct dsl_policy *graph; /* or NULL */
	struct limits *limits; /* or NULL */
	uint32_t configured; /* gates that the policy itself configures, as bits */
	struct bindings binds; /* of every answer that is not ALLOW, whatever gate gives it */
	bool is_plain; /* rules by name, in layers, about whole questions: match_plain() */
};

/* rules.c */
int rules_compile(struct arena *a, struct ruleset *r, const struct json *document, struct err *e);
int rules_index(struct arena *a, struct ruleset *r, const struct json *requirements, struct err *e);
/* By its text; NULL, and *ret as it was, when it is none. */
const struct reason *code_find(const char *name, enum reason_code *ret);
/* An object with only these members; names ends in NULL. */
int members_known(const struct json *doc, const char *const *names, const char *where, struct err *e);

struct fired {
	const struct rule *rule;
	uint32_t order; /* of its group, for ties */
};

/* Which buckets and packs speak about the question; filled by gate_coverage, used by the gates behind it. */
struct matched {
	const struct bucket **buckets;
	size_t bucket_n, allowing_n; /* those behind allowing_n only add strictness */
	const uint16_t *pack_order; /* by group: 1 + its place; 0: not active */
	struct fired *fired;
	size_t fired_n, fired_room;
	const char **unknown; /* codes of jurisdictions and the like that no pack knows */
	size_t unknown_n;
	const struct bucket *own_buckets[MATCH_ROOM]; /* where those above are kept as long as they fit */
	struct fired own_fired[2];
};

/* engine.c: which gates somebody configured, as bits; and which by facts and question alone, each by its own row.  Without a policy that is the same. */
uint32_t gates_due(const struct ruleset *rules, const struct submission *ask, const struct facts *f);
uint32_t gates_due_by_row(const struct submission *ask, const struct facts *f);

/* match.c */
void match_begin(struct judging *j, struct matched *m);
/* Most questions are about what the rules of a plain policy allow, and one of those rules holds: that one.  NULL: whatever else comes out (a rule that
 * forbids or asks and holds or cannot be evaluated, two that allow, none); the gates `coverage` and `rules` know what to say about it. */
const struct rule *match_plain(struct judging *j);
/* `bound` with what those names stand for; what it has already stays as it is. */
const struct json *bind_fields(struct judging *j, const struct json *bound, const struct bindings *names);
/* What a rule that holds says. */
void answer_rule(struct judging *j, struct gate_answer *ret, const struct rule *r);

/* effects.c: the member "effects" of a rule; one member of its "all" that is about words of the effect at hand, into `w`: what is not taken,
 * test_compile() reads. */
int effects_read(const struct when_reader *at, const struct json *v, struct when *ret);
int effects_take(const struct when_reader *at, const struct json *test, struct when *w, bool *ret_taken);
/* What is known of where the effect happens: of the guard that was asked, otherwise of the facts. */
struct when_at effects_place(const struct judging *j);
/* LACKS when there is no effect at hand. */
enum holds effects_hold(const struct judging *j, const struct rule *r, const struct effect *e);

/* variables.c */
const struct json *variables_effects(struct judging *j);
const struct json *field_value(
	struct judging *j, const struct field *f, const struct json *effect, struct json *scratch);
const struct json *field_start(struct judging *j, const struct field *f, const struct json *effect);
static inline const struct json *json_member(const struct json *o, struct table_key k)
{
	const uint32_t head = head_of(k.p, k.n);

	if (!o || o->type != JSON_OBJECT)
		return NULL;
	for (const struct json_member *m = o->members, *end = m + o->n; m != end; m++)
		if (m->name_n == k.n && head_of(m->name, k.n) == head &&
			(k.n <= sizeof(head) || same_bytes(m->name, k.p, k.n)))
			return m->value;
	return NULL;
}

int field_compile(struct arena *a, struct shared *shared, const char *text, const char *where,
	bool has_effects, const struct field **ret, struct err *e);

#endif
