/* match.c — which rules speak about a question, and what they say: the gates `coverage` and `rules`.
 *
 * All rules that hold count; the strictest decides, ties go to the higher layer, then to the pack that was activated first, then to the
 * smaller id.  A rule that forbids or asks and cannot be evaluated forbids; a rule that allows and cannot be evaluated does not. */
#include "decide/engine/parts.h"

#include <stddef.h>
#include <string.h>

/* ---- which ---- */

static void add(struct matched *m, const struct ruleset *r, uint32_t bucket)
{
	if (bucket == TABLE_NONE)
		return;
	const struct bucket *b = &r->buckets[bucket];
	for (size_t i = 0; i < m->bucket_n; i++)
		if (m->buckets[i] == b)
			return;
	m->buckets[m->bucket_n++] = b;
}

/* "prefix*" stands in the table with its star. */
static void add_prefixes(struct matched *m, const struct ruleset *r, const char *name, size_t n)
{
	char key[65];

	for (uint64_t left = r->prefix_lengths; left; left &= left - 1) {
		unsigned len = (unsigned)__builtin_ctzll(left);
		if (len > n)
			return;
		memcpy(key, name, len);
		key[len] = '*';
		add(m, r, table_find(&r->actions, key, len + 1));
	}
}

static void add_name(struct matched *m, const struct ruleset *r, const char *name, size_t n)
{
	add(m, r, table_find(&r->actions, name, n));
	if (!r->has_patterns)
		return;
	add_prefixes(m, r, name, n);
	add(m, r, r->star);
}

/* A tool that only the request names brings what is about it and permits nothing. */
static void match_names(struct judging *j, struct matched *m)
{
	const struct submission *q = j->ask;
	const struct ruleset *r = j->rules;
	static const struct table_key own_name = { "tool_name", sizeof("tool_name") - 1 };
	const struct json *own;

	m->buckets = r->max_matched <= MATCH_ROOM ? m->own_buckets
						  : arena_alloc(j->a, r->max_matched * sizeof(*m->buckets));
	add_name(m, r, q->effect_type, strlen(q->effect_type));
	if (q->is_tool_beside)
		m->allowing_n = m->bucket_n;
	if (q->tool)
		add_name(m, r, q->tool, strlen(q->tool));
	if (!q->is_tool_beside)
		m->allowing_n = m->bucket_n;
	own = json_member(q->params, own_name);
	if (own && json_text(own) && own->n > 0)
		add_name(m, r, own->text, own->n);
}

/* ---- packs ---- */

static void activate_code(
	struct judging *j, struct matched *m, uint16_t *order, const char *fact, const char *code)
{
	const struct ruleset *r = j->rules;
	bool is_known = false;

	for (size_t i = r->layer_n; i < r->group_n; i++) {
		if (!text_eq(r->groups[i].fact, fact))
			continue;
		json_each (on, r->groups[i].activates_on) {
			if (!text_eq(on->text, code))
				continue;
			is_known = true;
			if (!order[i]) {
				j->active_packs[j->active_pack_count++] = r->groups[i].name;
				order[i] = (uint16_t)j->active_pack_count;
			}
		}
	}
	if (!is_known)
		m->unknown[m->unknown_n++] = code;
}

/* A text, or each text of a list. */
static void activate(
	struct judging *j, struct matched *m, uint16_t *order, const char *fact, const char *from)
{
	const struct json *v = json_get(j->facts->known, from);

	if (json_text(v))
		activate_code(j, m, order, fact, v->text);
	json_each (item, v)
		if (json_text(item))
			activate_code(j, m, order, fact, item->text);
}

static size_t count_codes(const struct json *known)
{
	static const char *const names[] = { "jurisdiction", "jurisdictions", "industry", "business_preset" };
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const struct json *v = json_get(known, names[i]);
		n += json_is(v, JSON_ARRAY) ? v->n : 1;
	}
	return n;
}

/* In the order that the facts give: jurisdictions, then the industry, then the preset. */
static void match_packs(struct judging *j, struct matched *m)
{
	const struct ruleset *r = j->rules;
	uint16_t *order = arena_zalloc(j->a, r->group_n + 1, sizeof(*order));

	j->active_packs = arena_alloc(j->a, r->pack_n * sizeof(*j->active_packs));
	m->unknown = arena_alloc(j->a, count_codes(j->facts->known) * sizeof(*m->unknown));
	activate(j, m, order, "jurisdiction", "jurisdiction");
	activate(j, m, order, "jurisdiction", "jurisdictions");
	activate(j, m, order, "industry", "industry");
	activate(j, m, order, "business_preset", "business_preset");
	m->pack_order = order;
}

/* The rules are far away in a large policy: they come while something else is done. */
static inline void fetch(const struct bucket *b)
{
	const char *p = (const char *)b->whole.one;

	if (!p)
		return;
	__builtin_prefetch(p);
	__builtin_prefetch(p + 64);
	__builtin_prefetch(p + 128);
}

void match_begin(struct judging *j, struct matched *m)
{
	memset(m, 0, offsetof(struct matched, own_buckets));
	m->fired = m->own_fired;
	m->fired_room = ARRAY_SIZE(m->own_fired);
	j->matched = m;
	match_names(j, m);
	if (j->rules->pack_n)
		match_packs(j, m);
	for (size_t i = 0; i < m->bucket_n; i++)
		fetch(m->buckets[i]);
}

/* ---- coverage ---- */

/* A rule that allows and one that asks speak about an action; one that only forbids leaves it to others whether there is anything to forbid. */

static bool is_active(const struct matched *m, const struct ruleset *r, const struct rule *rule)
{
	return !r->groups[rule->group].is_pack || m->pack_order[rule->group];
}

static bool list_covers(const struct matched *m, const struct ruleset *r, const struct rule_list *l)
{
	for (uint32_t i = 0; i < l->n; i++)
		if (rule_covers(list_at(l, i)->verdict) && is_active(m, r, list_at(l, i)))
			return true;
	return false;
}

static bool kinds_cover(const struct matched *m, const struct ruleset *r, const struct bucket *b)
{
	for (unsigned k = 0; b->kinds && k < FX_KIND_COUNT; k++)
		if (list_covers(m, r, &b->kinds[k]))
			return true;
	return false;
}

static bool kinds_allow(const struct matched *m, const struct ruleset *r, const struct bucket *b)
{
	for (unsigned k = 0; b->kinds && k < FX_KIND_COUNT; k++)
		for (uint32_t i = 0; i < b->kinds[k].n; i++) {
			const struct rule *x = list_at(&b->kinds[k], i);
			if (x->verdict == V_ALLOW && is_active(m, r, x))
				return true;
		}
	return false;
}

static bool is_covered(const struct judging *j)
{
	const struct matched *m = j->matched;

	for (size_t i = 0; i < m->allowing_n; i++) {
		const struct bucket *b = m->buckets[i];
		if (b->covers || b->set ||
			(b->pack_covers &&
				(list_covers(m, j->rules, &b->whole) || kinds_cover(m, j->rules, b))))
			return true;
	}
	return false;
}

/* Names what was asked for, so that nobody has to guess which rule is missing. */
static const char *uncovered(const struct judging *j)
{
	const char *action = j->ask->effect_type, *tool = j->ask->tool;

	if (!action || !*action)
		return "No rule of the policy is about a request without an action.";
	action = text_safe(j->a, action, strnlen(action, 100), false);
	tool = tool && *tool ? text_safe(j->a, tool, strnlen(tool, 100), false) : NULL;
	return arena_printf(j->a, "No rule of the policy allows %s%s%s%s, or asks about it.", action,
		tool ? " (" : "", tool ? tool : "", tool ? ")" : "");
}

void gate_coverage(struct judging *j, struct gate_answer *ret)
{
	ret->is_active = true;
	if (!j->ask->is_tool_beside && !is_covered(j))
		gate_deny(ret, REASON_NO_POLICY_DEFINED, NULL, uncovered(j));
}

/* ---- rules ---- */

/* What the rules said so far. */
struct saying {
	struct judging *j;
	const struct rule *failed; /* the first that could not be evaluated */
	const char *why, *failed_why;
	const struct rule *lacking; /* strict: the first that a missing field kept from holding */
	bool is_answered; /* a rule that allows or asks holds for the whole of it */
	bool has_asked; /* some rule that asks holds */
	bool *covered; /* by effect: some rule allows it or asks about it */
	struct json *effect_variables;
	const struct effect *at_hand; /* the effect that a rule is asked about; NULL: the whole question */
};

static const struct json *variables_for(struct saying *s, const struct json *effect)
{
	struct judging *j = s->j;
	const struct json *all = gate_variables(j);

	if (!effect)
		return all;
	if (!s->effect_variables) {
		s->effect_variables = json_new(j->a, JSON_OBJECT);
		json_each_member (m, all)
			json_set(j->a, s->effect_variables, m->name, m->value);
	}
	json_set(j->a, s->effect_variables, "effect", (struct json *)effect); /* read only from here on */
	return s->effect_variables;
}

/* Apart, because an error is large and most rules have no expression. */
static __attribute__((noinline)) enum holds expression_holds(
	struct saying *s, const struct rule *r, const struct json *effect)
{
	struct err e = { 0 };

	switch (expression_requirement(r->when, variables_for(s, effect), s->j->a, &e)) {
	case REQUIREMENT_SATISFIED:
		return HOLDS_YES;
	case REQUIREMENT_MISSING:
		return HOLDS_NO;
	default:
		s->why = arena_strdup(s->j->a, e.text);
		return HOLDS_ERROR;
	}
}

static enum holds rule_holds(struct saying *s, const struct rule *r, const struct json *effect)
{
	enum holds own = effects_hold(s->j, r, s->at_hand), h = tests_hold(s->j, r->tests, r->test_n, effect),
		   w;

	if (h == HOLDS_ERROR)
		s->why = "A condition got a value of a type that it cannot judge.";
	h = own < h ? own : h;
	if (!r->when || h <= HOLDS_LACKS)
		return h;
	w = expression_holds(s, r, effect);
	return w < h ? w : h;
}

static int strictness(enum verdict v)
{
	return v == V_ALLOW ? 0 : v == V_ESCALATE ? 1 : 2;
}

/* Does x come before y? */
static bool is_before(const struct fired *x, const struct fired *y)
{
	int sx = strictness(x->rule->verdict), sy = strictness(y->rule->verdict);

	if (sx != sy)
		return sx > sy;
	return x->order != y->order ? x->order < y->order : x->rule->rank < y->rule->rank;
}

/* Kept in order, each once. */
static void fire(struct saying *s, const struct rule *r)
{
	struct matched *m = s->j->matched;
	const struct ruleset *all = s->j->rules;
	bool is_pack = all->groups[r->group].is_pack;
	struct fired f = { r, is_pack ? (uint32_t)all->layer_n + m->pack_order[r->group] : r->group };
	size_t i = 0;

	for (size_t k = 0; k < m->fired_n; k++)
		if (m->fired[k].rule == r)
			return;
	if (m->fired_n == m->fired_room) {
		struct fired *more = arena_alloc(s->j->a, 2 * m->fired_room * sizeof(*more));
		memcpy(more, m->fired, m->fired_n * sizeof(*more));
		m->fired = more;
		m->fired_room *= 2;
	}
	while (i < m->fired_n && is_before(&m->fired[i], &f))
		i++;
	if (i < m->fired_n)
		memmove(&m->fired[i + 1], &m->fired[i], (m->fired_n - i) * sizeof(*m->fired));
	m->fired[i] = f;
	m->fired_n++;
}

/* `covers` is where a rule that allows or asks notes that it held; NULL: it permits nothing here. */
static void ask_rule(struct saying *s, const struct rule *r, const struct json *effect, bool *covers)
{
	bool allows = r->verdict == V_ALLOW;

	if (!is_active(s->j->matched, s->j->rules, r) || (allows && !covers))
		return;
	enum holds h = rule_holds(s, r, effect);
	if (h == HOLDS_YES) {
		fire(s, r);
		s->has_asked |= r->verdict == V_ESCALATE;
		if (covers && rule_covers(r->verdict))
			*covers = true;
	} else if (h == HOLDS_ERROR && !allows && !s->failed) {
		s->failed = r;
		s->failed_why = s->why;
	} else if (h == HOLDS_LACKS && !allows && !s->lacking && s->j->rules->groups[r->group].is_pack) {
		s->lacking = r;
	}
}

/* Text that is only known when it runs can do whatever a rule is about. */
static bool can_be_anything(enum effect_kind k)
{
	return k == FX_DYNAMIC_EXEC || k == FX_DECODE_EXEC || k == FX_FETCH_EXEC || k == FX_STDIN_SHELL;
}

/* Each rule about effects that denies or asks, once; those about `but` were asked already. */
static void ask_anything(
	struct saying *s, const struct bucket *b, const struct json *effect, uint64_t but, bool *covers)
{
	for (unsigned k = 0; k < FX_KIND_COUNT; k++)
		for (uint32_t i = 0; i < b->kinds[k].n; i++) {
			const struct rule *r = list_at(&b->kinds[k], i);
			if (r->verdict != V_ALLOW && !(r->effects.kinds & but) &&
				(unsigned)__builtin_ctzll(r->effects.kinds) == k)
				ask_rule(s, r, effect, covers);
		}
}

static void ask_effects(struct saying *s, const struct bucket *b, bool may_allow)
{
	const struct proposal *p = s->j->ask->proposal;

	if (!b->kinds || !p)
		return;
	if (!p->readable)
		ask_anything(s, b, NULL, 0, may_allow ? &s->is_answered : NULL);
	for (size_t i = 0; i < p->effect_count; i++) {
		enum effect_kind kind = p->effects[i].kind;
		s->at_hand = &p->effects[i];
		const struct json *effect = variables_effects(s->j)->items[i];
		bool *covers = may_allow ? &s->covered[i] : NULL;
		for (uint32_t k = 0; k < b->kinds[kind].n; k++)
			ask_rule(s, list_at(&b->kinds[kind], k), effect, covers);
		if (p->readable && can_be_anything(kind))
			ask_anything(s, b, effect, UINT64_C(1) << kind, covers);
	}
	s->at_hand = NULL;
}

/* Rules about effects answer together: each effect needs one, and the whole command must have been understood.  Where it has none, only a rule that
 * allows answers: one that asks about an effect asks nothing then. */
static bool effects_answered(const struct saying *s)
{
	const struct proposal *p = s->j->ask->proposal;
	const struct matched *m = s->j->matched;
	bool has_some = s->has_asked;

	if (!p->readable)
		return false;
	for (size_t i = 0; i < p->effect_count; i++)
		if (!s->covered[i])
			return false;
	for (size_t i = 0; i < m->allowing_n; i++)
		has_some = has_some || kinds_allow(m, s->j->rules, m->buckets[i]);
	return has_some;
}

static void ask_all(struct saying *s)
{
	struct judging *j = s->j;
	struct matched *m = j->matched;

	if (j->rules->has_effects && j->ask->proposal)
		s->covered = arena_zalloc(j->a, j->ask->proposal->effect_count + 1, sizeof(bool));
	for (size_t i = 0; i < m->bucket_n; i++) {
		const struct bucket *b = m->buckets[i];
		bool may_allow = i < m->allowing_n;
		for (uint32_t k = 0; k < b->whole.n; k++)
			ask_rule(s, list_at(&b->whole, k), NULL, may_allow ? &s->is_answered : NULL);
		ask_effects(s, b, may_allow);
		/* The requirements were met: the gate before this one has seen to it. */
		s->is_answered = s->is_answered || (may_allow && b->set);
	}
	if (!s->is_answered && s->covered)
		s->is_answered = effects_answered(s);
}

/* A digest stays what it is; what is to be one, or is no short text, number or word, becomes one; and what is not there is said not to be. */
static struct json *evidence(struct arena *a, const char *name, const struct json *v)
{
	enum { LONGEST = 256 };
	const char *text = json_text(v);

	if (!v || v->type == JSON_NULL)
		return json_string(a, "absent");
	if (json_is(v, JSON_ARRAY) && text_ends(name, "_hashes")) {
		struct json *list = json_new(a, JSON_ARRAY);
		json_each (one, v)
			json_push(a, list, evidence(a, "_hash", one));
		return list;
	}
	if (text && text_starts(text, "sha256:") && v->n == strlen("sha256:") + 64)
		return json_copy(a, v);
	if (text_ends(name, "_hash") || json_is(v, JSON_ARRAY) || json_is(v, JSON_OBJECT) ||
		(json_is(v, JSON_STRING) && (!text || v->n > LONGEST)))
		return json_string(a, json_sha256(a, v));
	return json_copy(a, v);
}

const struct json *bind_fields(struct judging *j, const struct json *bound, const struct bindings *names)
{
	struct json scratch, *made;

	if (!names->n)
		return bound;
	made = bound ? json_copy(j->a, bound) : json_new(j->a, JSON_OBJECT);
	for (size_t i = 0; i < names->n; i++) {
		const struct binding *b = &names->list[i];
		if (!json_get(made, b->name))
			json_set(j->a, made, b->name,
				evidence(j->a, b->name, field_value(j, b->field, NULL, &scratch)));
	}
	return made;
}

void answer_rule(struct judging *j, struct gate_answer *ret, const struct rule *r)
{
	ret->verdict = r->verdict;
	ret->code = r->code;
	ret->rule = r->id;
	if (!r->about)
		return;
	ret->detail_code = r->about->detail_code;
	ret->origin = r->about->origin;
	ret->text = r->about->text;
	ret->bound = bind_fields(j, r->about->bound, &r->about->binds);
}

void gate_rules(struct judging *j, struct gate_answer *ret)
{
	struct saying s = { .j = j };
	const struct matched *m = j->matched;

	ret->is_active = true;
	ask_all(&s);
	const struct rule *best = m->fired_n ? m->fired[0].rule : NULL;
	bool is_open = s.is_answered || !j->rules->is_closed || j->ask->is_tool_beside;
	if (best && best->verdict != V_ALLOW && best->verdict != V_ESCALATE) {
		answer_rule(j, ret, best);
	} else if (s.failed) {
		answer_rule(j, ret, s.failed);
		gate_deny(ret, REASON_PRG_EVALUATION_ERROR, s.failed->id, s.failed_why);
	} else if (j->rules->is_strict && m->unknown_n) {
		gate_deny(ret, REASON_JURISDICTION_VIOLATION, NULL,
			arena_printf(j->a, "No pack knows '%s'.", m->unknown[0]));
	} else if (best && best->verdict == V_ESCALATE && is_open) {
		answer_rule(j, ret, best);
	} else if (j->rules->is_strict && s.lacking) {
		answer_rule(j, ret, s.lacking);
		gate_escalate(ret, REASON_MISSING_REQUIREMENT, s.lacking->id,
			"A field that this rule reads is missing, so nobody can tell whether it holds.");
	} else if (!is_open) {
		gate_deny(ret, REASON_POLICY_VIOLATION, NULL,
			"Rules allow this action only under conditions, and none of them is met.");
	} else if (best) {
		answer_rule(j, ret, best);
	}
}

/* ---- the short way ---- */

/* May a member be "tool_name"?  No other name that is as long is in common use. */
static bool names_tool(const struct json *params)
{
	bool is_long = false;

	json_each_member (m, params)
		is_long |= m->name_n == strlen("tool_name");
	return is_long;
}

/* Asks the rules about one name.  False: there is more to say than that one of them allows it. */
static inline bool ask_name(struct judging *j, const char *name, const struct rule **ret)
{
	uint32_t i = table_find(&j->rules->actions, name, strlen(name));

	if (i == TABLE_NONE)
		return true;
	const struct rule_list *list = &j->rules->buckets[i].whole;
	fetch(&j->rules->buckets[i]);
	for (uint32_t k = 0; k < list->n; k++) {
		const struct rule *r = list_at(list, k);
		enum holds h = r->is_simple ? tests_hold(j, r->tests, r->test_n, NULL) : HOLDS_ERROR;
		if (h == HOLDS_YES && r->verdict == V_ALLOW && !*ret)
			*ret = r;
		else if (h >= HOLDS_ERROR)
			return false;
	}
	return true;
}

const struct rule *match_plain(struct judging *j)
{
	const struct submission *q = j->ask;
	const struct rule *found = NULL;

	if (!j->rules->is_plain || q->is_tool_beside || names_tool(q->params) ||
		!ask_name(j, q->effect_type, &found))
		return NULL;
	if (q->tool && !text_eq(q->tool, q->effect_type) && !ask_name(j, q->tool, &found))
		return NULL;
	return found;
}
