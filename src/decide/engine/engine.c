/* engine.c — the row of gates: one question goes through all of them, in their fixed order.
 *
 * DENY ends the row.  The first ESCALATE is kept, and the rest is still asked, since a later gate may deny.  A gate that nobody configured
 * is not called and is listed as inactive.  Whatever a gate answers that is neither ALLOW nor ESCALATE is DENY. */
#include "base/hash.h"
#include "decide/engine/parts.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* What each check is, by its id (checks.def). */
static const struct {
	gate_fn *fn;
	const char *name, *member;
} checks[] = {
#define CHECK(id, name, due, known, member, page) { gate_##name, #name, member },
#include "decide/checks.def"
#undef CHECK
};
TABLE_COVERS(checks, GATE_COUNT);

const char *gate_name(enum gate_id g)
{
	return checks[g].name;
}

const char *gate_member(enum gate_id g)
{
	return checks[g].member;
}

bool gate_parse(const char *name, enum gate_id *ret)
{
	for (size_t i = 0; i < GATE_COUNT; i++)
		if (text_eq(checks[i].name, name)) {
			*ret = (enum gate_id)i;
			return true;
		}
	return false;
}

static uint32_t bit(enum gate_id g)
{
	return UINT32_C(1) << g;
}

/* ---- the first gates ---- */

/* The member that is not usable; NULL: all are. */
static inline const char *shape_fault(const struct submission *q)
{
	if (!q->effect_type || !q->effect_type[0])
		return "effect_type";
	if (!q->effect_id || !q->effect_id[0])
		return "effect_id";
	if (!q->principal || !q->principal[0])
		return "principal";
	if (q->params && q->params->type != JSON_OBJECT)
		return "params";
	if (q->context && q->context->type != JSON_OBJECT && q->context->type != JSON_NULL)
		return "context";
	return NULL;
}

void gate_shape(struct judging *j, struct gate_answer *ret)
{
	const char *what = shape_fault(j->ask);

	ret->is_active = true;
	if (what)
		gate_deny(ret, REASON_ENVELOPE_INVALID, NULL,
			arena_printf(j->a, "The request has no usable \"%s\".", what));
}

/* Not ready, and finer what a caller from elsewhere calls that. */
static void not_ready(struct gate_answer *ret, enum reason_code finer, const char *text)
{
	gate_deny(ret, REASON_POLICY_NOT_READY, NULL, text);
	ret->detail_code = reason_get(finer)->code;
}

void gate_policy(struct judging *j, struct gate_answer *ret)
{
	const struct policy_facts *f = j->facts->policy;

	ret->is_active = true;
	if (f->is_refused)
		gate_deny(ret, f->refused_code, NULL, f->refused_text);
	else if (!j->rules && f->is_required) {
		struct json *bound = json_new(j->a, JSON_OBJECT);
		not_ready(ret, REASON_NO_POLICY_DEFINED, "No policy is in use, and one is required here.");
		json_sets(j->a, bound, "policy_epoch", "absent");
		ret->bound = bound;
	} else if (f->fresh_us > 0 &&
		(f->verified_us > j->facts->now_us || j->facts->now_us - f->verified_us > f->fresh_us))
		not_ready(ret, REASON_PDP_ERROR, "The policy was verified too long ago to be relied on.");
	else if (f->has_promised_epoch && (!j->rules || ruleset_epoch(j->rules) != f->promised_epoch))
		gate_deny(ret, REASON_POLICY_EPOCH_CHANGED, NULL, NULL);
}

/* ---- the row ---- */

/* Does any gate have something of its own to know?  They stand one behind the other in struct facts. */
static bool is_anything_known(const struct facts *f)
{
	enum { FIRST = offsetof(struct facts, tenant), END = sizeof(*f) };
	typedef uint64_t pair __attribute__((vector_size(16)));
	pair any = { 0 }, two;

	_Static_assert(offsetof(struct facts, guard) + sizeof(f->guard) == END && (END - FIRST) % 16 == 0 &&
			sizeof(f->guard) == 8,
		"from tenant to the end of struct facts there are pointers, two by two");

#pragma GCC unroll 16
	for (size_t i = FIRST; i < END; i += sizeof(two)) {
		memcpy(&two, (const char *)f + i, sizeof(two));
		any |= two;
	}
	return (any[0] | any[1]) != 0;
}

uint32_t gates_due_by_row(const struct submission *ask, const struct facts *f)
{
	uint32_t bits = 0;

#define CHECK(id, name, due, known, member, page) bits |= (uint32_t)((due) != 0) << GATE_##id;
#include "decide/checks.def"
#undef CHECK
	return bits;
}

/* Most questions know nothing that a row asks for: that is seen at once. */
static bool is_nothing_known(const struct submission *ask, const struct facts *f)
{
	return !ask->context && !ask->budget_id && !is_anything_known(f);
}

uint32_t gates_due(const struct ruleset *rules, const struct submission *ask, const struct facts *f)
{
	uint32_t configured = rules ? rules->configured : 0;

	if (is_nothing_known(ask, f))
		return configured | bit(GATE_SHAPE);
	return configured | gates_due_by_row(ask, f);
}

static void decide_by(struct judgement *ret, enum gate_id g, const struct gate_answer *x)
{
	ret->verdict = x->verdict == V_ESCALATE ? V_ESCALATE : V_DENY;
	ret->code = x->code;
	ret->detail_code = x->detail_code;
	ret->rule = x->rule;
	ret->origin = x->origin;
	ret->text = x->text;
	ret->bound = x->bound;
	ret->gate = g;
}

static void allow_by(struct judgement *ret, const struct gate_answer *x)
{
	ret->rule = x->rule;
	ret->origin = x->origin;
	ret->text = x->text;
}

/* What is not asked because a DENY came before it: everything behind. */
static uint32_t up_to(enum gate_id g)
{
	return (UINT32_C(2) << g) - 1;
}

static void ask_gates(struct judging *j, uint32_t due, struct judgement *ret)
{
	for (; due; due &= due - 1) {
		enum gate_id g = (enum gate_id)__builtin_ctz(due);
		struct gate_answer *x = &ret->answers[g];
		*x = (struct gate_answer){ .verdict = V_ALLOW };
		checks[g].fn(j, x);
		ret->active |= (uint32_t)x->is_active << g;
		if (x->verdict == V_ALLOW && !x->rule && !x->bound)
			continue;
		ret->spoke |= bit(g);
		if (x->verdict == V_ALLOW) {
			if (ret->verdict == V_ALLOW && g == GATE_RULES)
				allow_by(ret, x);
		} else if (x->verdict != V_ESCALATE) {
			decide_by(ret, g, x);
			ret->asked = up_to(g);
			ret->active &= up_to(g) | bit(GATE_POLICY);
			return;
		} else if (ret->verdict == V_ALLOW) {
			decide_by(ret, g, x);
		}
	}
}

/* A gate that must be active and was not: whoever relies on the policy relies on that gate. */
static void check_required(struct judging *j, struct judgement *ret)
{
	uint32_t lacking = j->rules ? j->rules->required & ~ret->active : 0;

	if (!lacking || (ret->verdict != V_ALLOW && ret->verdict != V_ESCALATE))
		return;
	enum gate_id g = (enum gate_id)__builtin_ctz(lacking);
	struct gate_answer x = { 0 };
	gate_deny(&x, REASON_POLICY_NOT_READY, NULL,
		arena_printf(j->a, "The policy requires the gate '%s', which is not configured here.",
			checks[g].name));
	ret->spoke |= bit(GATE_POLICY);
	ret->answers[GATE_POLICY] = x;
	decide_by(ret, GATE_POLICY, &x);
}

/* What the policy wants to be on record of whatever is not allowed. */
static void bind_always(struct judging *j, struct judgement *ret)
{
	ret->bound = bind_fields(j, ret->bound, &j->rules->binds);
	ret->answers[ret->gate].bound = ret->bound;
}

static void keep_fired(struct judging *j, const struct matched *m, struct judgement *ret)
{
	ret->fired_count = m->fired_n;
	ret->unknown_packs = m->unknown;
	ret->unknown_pack_count = m->unknown_n;
	if (m->fired_n <= 1) {
		ret->fired = m->fired_n ? &m->fired[0].rule->id : NULL;
		return;
	}
	const char **ids = arena_alloc(j->a, m->fired_n * sizeof(*ids));
	for (size_t i = 0; i < m->fired_n; i++)
		ids[i] = m->fired[i].rule->id;
	ret->fired = ids;
}

/* Everything but the answers, which are valid only where `spoke` says so. */
static void begin(const struct ruleset *rules, struct judgement *ret)
{
	memset(ret, 0, offsetof(struct judgement, answers));
	memset(&ret->fired, 0, sizeof(*ret) - offsetof(struct judgement, fired));
	ret->verdict = V_ALLOW;
	ret->gate = GATE_COUNT;
	/* One is there; what is known about it is asked when it is known. */
	ret->active = rules ? bit(GATE_POLICY) : 0;
	ret->asked = up_to((enum gate_id)(GATE_COUNT - 1));
}

/* What the gates say where one rule of a plain policy allows it, and nothing is wrong with its shape: those three have no objection. */
static void judge_allowed(struct judging *j, const struct rule *r, uint32_t due, struct judgement *ret)
{
	const uint32_t own = bit(GATE_SHAPE) | bit(GATE_COVERAGE) | bit(GATE_RULES);
	struct gate_answer *x = &ret->answers[GATE_RULES];

	ret->active |= due & own;
	if (due & ~own)
		ask_gates(j, due & ~own, ret);
	if (!(ret->asked & bit(GATE_RULES)))
		return;
	*x = (struct gate_answer){ .is_active = true };
	answer_rule(j, x, r);
	ret->spoke |= bit(GATE_RULES);
	ret->fired = &r->id;
	ret->fired_count = 1;
	if (ret->verdict == V_ALLOW)
		allow_by(ret, x);
}

void engine_judge(struct arena *a, const struct ruleset *rules, const struct submission *ask,
	const struct facts *facts, struct judgement *ret)
{
	struct judging j = { .a = a,
		.rules = rules,
		.document = rules ? rules->document : NULL,
		.limits = rules ? rules->limits : NULL,
		.ask = ask,
		.facts = facts };
	struct matched m __attribute__((uninitialized));

	uint32_t due = gates_due(rules, ask, facts);

	begin(rules, ret);
	const struct rule *allowed = rules && !shape_fault(ask) ? match_plain(&j) : NULL;
	if (allowed) {
		judge_allowed(&j, allowed, due, ret);
	} else {
		if (rules && ask->effect_type)
			match_begin(&j, &m);
		ask_gates(&j, due, ret);
	}
	check_required(&j, ret);
	if (ret->verdict != V_ALLOW && rules)
		bind_always(&j, ret);
	if (j.matched)
		keep_fired(&j, &m, ret);
	ret->active_packs = j.active_packs;
	ret->active_pack_count = j.active_pack_count;
	if (ret->verdict == V_ALLOW || ret->verdict == V_ESCALATE) {
		ret->draws = j.draws;
		ret->draw_count = j.draw_count;
	}
}

/* ---- as JSON ---- */

struct gate_answer judgement_answer(const struct judgement *j, enum gate_id g)
{
	struct gate_answer none = { .verdict = V_ALLOW, .is_active = (j->active & bit(g)) != 0 };

	return j->spoke & bit(g) ? j->answers[g] : none;
}

static void set_text(struct arena *a, struct json *o, const char *name, const char *text)
{
	if (text)
		json_sets(a, o, name, text);
}

/* The members that a verdict and a gate's answer have in common. */
static void describe(struct arena *a, struct json *o, const struct gate_answer *x)
{
	json_sets(a, o, "verdict", verdict_name(x->verdict));
	if (x->verdict != V_ALLOW)
		json_sets(a, o, "reason_code", reason_get(x->code)->code);
	set_text(a, o, "detail_code", x->detail_code);
	set_text(a, o, "rule", x->rule);
	set_text(a, o, "origin", x->origin);
	set_text(a, o, "text", x->text);
	if (x->bound)
		json_set(a, o, "bound", json_copy(a, x->bound));
}

static struct json *texts(struct arena *a, const char *const *list, size_t n)
{
	struct json *arr = json_new(a, JSON_ARRAY);

	for (size_t i = 0; i < n; i++)
		json_pushs(a, arr, list[i]);
	return arr;
}

static struct json *gates_to_json(struct arena *a, const struct judgement *j)
{
	struct json *arr = json_new(a, JSON_ARRAY);

	for (unsigned g = 0; g < GATE_COUNT; g++) {
		struct gate_answer x = judgement_answer(j, (enum gate_id)g);
		struct json *o = json_new(a, JSON_OBJECT);
		if (!(j->asked >> g & 1) || !x.is_active)
			continue;
		json_sets(a, o, "gate", checks[g].name);
		describe(a, o, &x);
		json_push(a, arr, o);
	}
	return arr;
}

/* Names in the order of their bytes, so that one set has one digest. */
struct json *judgement_roster(struct arena *a, const struct judgement *j)
{
	struct json *o = json_new(a, JSON_OBJECT),
		    *lists[2] = { json_new(a, JSON_ARRAY), json_new(a, JSON_ARRAY) };
	uint8_t order[GATE_COUNT];

	for (unsigned g = 0; g < GATE_COUNT; g++) {
		unsigned i = g;
		for (; i > 0 && strcmp(checks[order[i - 1]].name, checks[g].name) > 0; i--)
			order[i] = order[i - 1];
		order[i] = (uint8_t)g;
	}
	for (unsigned i = 0; i < GATE_COUNT; i++)
		json_pushs(a, lists[!(j->active >> order[i] & 1)], checks[order[i]].name);
	json_set(a, o, "active", lists[0]);
	json_set(a, o, "inactive", lists[1]);
	return o;
}

/* The digest of a set never changes, and one policy has few of them: the last one is kept. */
const char *judgement_roster_sha256(struct arena *a, const struct judgement *j)
{
	static _Thread_local struct {
		uint32_t active;
		char text[sizeof("sha256:") + SHA256_HEX];
	} last;

	if (!last.text[0] || last.active != j->active) {
		const char *text =
			json_sha256(a, judgement_roster(a, j)); /* may run out of memory, and not come back */
		snprintf(last.text, sizeof(last.text), "%s", text);
		last.active = j->active;
	}
	return arena_strdup(a, last.text);
}

struct json *judgement_to_json(struct arena *a, const struct judgement *j)
{
	struct json *o = json_new(a, JSON_OBJECT), *roster = judgement_roster(a, j);
	const struct gate_answer whole = { .verdict = j->verdict,
		.code = j->code,
		.detail_code = j->detail_code,
		.rule = j->rule,
		.origin = j->origin,
		.text = j->text,
		.bound = j->bound };

	describe(a, o, &whole);
	json_sets(a, o, "gate", j->gate == GATE_COUNT ? NULL : checks[j->gate].name);
	json_set(a, o, "rules_fired", texts(a, j->fired, j->fired_count));
	json_set(a, o, "gates", gates_to_json(a, j));
	json_set(a, o, "roster", roster);
	json_sets(a, o, "roster_sha256", json_sha256(a, roster));
	json_set(a, o, "draws", draws_json(a, j->draws, j->draw_count));
	json_set(a, o, "active_packs", texts(a, j->active_packs, j->active_pack_count));
	if (j->unknown_pack_count)
		json_set(a, o, "unknown_packs", texts(a, j->unknown_packs, j->unknown_pack_count));
	return o;
}
