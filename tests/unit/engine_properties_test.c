/* engine_properties_test.c — what holds for every policy: more rules, layers or gates never allow more, the order of a file does not matter, and what is left
 * unsaid allows only through a condition that is listed.  Policies, questions and facts are made at random from a fixed seed. */
#include "decide/authority/authority.h"
#include "tools/engine_fixture.h"
#include "tools/seed.h"
#include "tools/unit.h"

#include <string.h>

static uint64_t seed = 0x243f6a8885a308d3u;

static unsigned next(unsigned n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (unsigned)(seed >> 33) % n;
}

static const char *pick(const char *const *words, size_t n)
{
	return words[next((unsigned)n)];
}
#define PICK(...) \
	pick((const char *const[]){ __VA_ARGS__ }, \
		sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *))

static void make_test(struct buf *b)
{
	const char *field = PICK("facts.a", "facts.b", "facts.c", "params.x", "params.y", "context.z");

	switch (next(6)) {
	case 0:
		buf_addf(b, "{'field':'%s','op':'%s'}", field, PICK("empty", "not_empty", "missing"));
		break;
	case 1:
		buf_addf(b, "{'field':'%s','op':'%s','value':%u}", field,
			PICK("equals", "not_equals", "at_least", "less_than"), next(3));
		break;
	case 2:
		buf_addf(b, "{'field':'%s','op':'%s','values':[0,'t',1]}", field,
			PICK("in", "not_in", "intersects"));
		break;
	case 3:
		buf_addf(b, "{'field':'%s','op':'equals_field','value':'facts.b'}", field);
		break;
	case 4:
		buf_addf(b, "{'field':'%s','op':'greater_than','value_field':'facts.c'}", field);
		break;
	default:
		buf_addf(b, "{'field':'%s','op':'%s','value':'t'}", field,
			PICK("starts_with", "contains", "not_contains"));
	}
}

static void make_rule(struct buf *b, int id, const char *verdict)
{
	buf_addf(b, "{'id':'r%d','actions':['%s'],'verdict':'%s'", id,
		PICK("act", "act", "a*", "*", "tool", "b*"), verdict);
	if (next(3)) {
		buf_adds(b, ",'all':[");
		make_test(b);
		if (next(2)) {
			buf_addc(b, ',');
			make_test(b);
		}
		buf_addc(b, ']');
	}
	if (next(4) == 0)
		buf_addf(b, ",'when':'%s'",
			PICK("facts.a == 1", "has(facts.a) && facts.a == 1", "!has(facts.b)",
				"facts.a == 1 || facts.b == 2", "size(facts) > 2",
				"facts.c < 2 ? true : facts.a == 0", "input.params.x == 1 && facts.c == 1"));
	buf_addc(b, '}');
}

enum { RULES = 6 };
struct made {
	char *rules[RULES + 1];
	size_t n;
	const char *head; /* before the layers */
	const char *tail; /* behind them */
};

static void make_policy(struct arena *a, struct made *m)
{
	*m = (struct made){ .n = 1 + next(RULES) };
	for (size_t i = 0; i < m->n; i++) {
		struct buf b;
		buf_init(&b, a);
		make_rule(&b, (int)i, PICK("ALLOW", "ALLOW", "ALLOW", "DENY", "ESCALATE"));
		m->rules[i] = b.p;
	}
	m->head = PICK("", "'coverage':'open',", "'missing_is':'escalate',");
	m->tail = PICK("", "",
		",'packs':[{'id':'p','kind':'jurisdiction','activates_on':['EU'],'rules':[{'id':'q','actions':['act'],"
		"'verdict':'DENY','all':[{'field':'facts.a','op':'equals','value':1}]}]}]",
		",'requirements':{'act':{'logic':'OR','requirements':[{'id':'s','expression':'facts.a == 1'},{'id':'u',"
		"'expression':'!has(facts.c)'}]}}");
}

/* In this order; `more` is put in front, as a layer of its own. */
static struct ruleset *as_ruleset(struct arena *a, const struct made *m, bool backwards, const char *more)
{
	struct buf b;

	buf_init(&b, a);
	buf_addf(&b, "{'format':'helm.policy.v1','name':'t',%s'layers':[%s{'name':'L','priority':1,'rules':[",
		m->head, more);
	for (size_t i = 0; i < m->n; i++)
		buf_addf(&b, "%s%s", i ? "," : "", m->rules[backwards ? m->n - 1 - i : i]);
	buf_addf(&b, "]}]%s}", m->tail);
	return compiled(a, b.p);
}

static const char *value(void)
{
	return PICK("0", "1", "2", "'t'", "''", "[1]", "null", "true");
}

struct asking {
	struct submission q;
	struct facts f;
};

static struct asking make_question(struct arena *a)
{
	struct asking x = { .q = { .effect_id = "e", .principal = "p" } };
	struct buf b;

	x.q.effect_type = PICK("act", "act", "abc", "other");
	x.q.tool = PICK("tool", "tool", "x");
	buf_init(&b, a);
	buf_addf(&b, "{'x':%s,'y':%s}", value(), value());
	x.q.params = quoted(a, b.p);
	buf_init(&b, a);
	buf_addf(&b, "{'z':%s}", value());
	x.q.context = quoted(a, b.p);
	buf_init(&b, a);
	buf_addf(&b, "{'a':%s,'b':%s,'c':%s,'jurisdiction':'%s'}", value(), value(), value(),
		PICK("EU", "XX"));
	x.f.known = quoted(a, b.p);
	return x;
}

static enum verdict answer(
	struct arena *a, const struct ruleset *r, const struct asking *x, const char **ret_text)
{
	struct judgement j;

	engine_judge(a, r, &x->q, &x->f, &j);
	*ret_text = outcome(a, &j);
	return j.verdict;
}

enum { ROUNDS = 20000 };

static void more_never_allows_more(void **state)
{
	(void)state;
	size_t allowed = 0;

	for (int i = 0; i < ROUNDS; i++) {
		AUTO(arena_done) struct arena a = { 0 };
		struct made m;
		const char *before, *after;
		struct buf rule;
		make_policy(&a, &m);
		struct asking x = make_question(&a);
		enum verdict was = answer(&a, as_ruleset(&a, &m, false, ""), &x, &before);
		allowed += was == V_ALLOW;
		/* one more rule that denies or asks */
		buf_init(&rule, &a);
		make_rule(&rule, 99, PICK("DENY", "ESCALATE"));
		struct made more = m;
		more.rules[more.n++] = rule.p;
		if (answer(&a, as_ruleset(&a, &more, next(2), ""), &x, &after) == V_ALLOW && was != V_ALLOW)
			fail_msg("a rule made %s of %s: %s", after, before, rule.p);
		/* the same as a layer */
		const char *layer =
			arena_printf(&a, "{'name':'M','priority':%u,'rules':[%s]},", next(3), rule.p);
		if (answer(&a, as_ruleset(&a, &m, false, layer), &x, &after) == V_ALLOW && was != V_ALLOW)
			fail_msg("a layer made %s of %s: %s", after, before, layer);
		/* a gate more */
		struct asking gated = x;
		gated.f.tenant = "t1";
		gated.f.policy = &(struct policy_facts){ .is_required = true };
		gated.f.ledger = &(struct ledger_facts){ 0 };
		if (answer(&a, as_ruleset(&a, &m, false, ""), &gated, &after) == V_ALLOW && was != V_ALLOW)
			fail_msg("a gate made %s of %s", after, before);
	}
	assert_true(allowed > ROUNDS / 20);
	assert_true(allowed < ROUNDS - ROUNDS / 20);
}

static void order_does_not_matter(void **state)
{
	(void)state;
	for (int i = 0; i < ROUNDS; i++) {
		AUTO(arena_done) struct arena a = { 0 };
		struct made m;
		const char *one, *other;
		make_policy(&a, &m);
		struct asking x = make_question(&a);
		(void)answer(&a, as_ruleset(&a, &m, false, ""), &x, &one);
		(void)answer(&a, as_ruleset(&a, &m, true, ""), &x, &other);
		assert_string_equal(one, other);
	}
}

static bool is_listed(struct arena *a, const struct ruleset *r, const char *fact)
{
	char *field = arena_printf(a, "facts.%s", fact);

	json_each (row, ruleset_absences(a, r)) {
		const char *condition = json_get_text(row, "condition", "");
		if (text_eq(json_get_text(row, "field", ""), field))
			return true;
		if (!json_get(row, "field") && (strstr(condition, field) || strstr(condition, "size(facts)")))
			return true;
	}
	return false;
}

static void what_is_unsaid_allows_only_where_it_is_listed(void **state)
{
	(void)state;
	static const char *const facts[] = { "a", "b", "c", "jurisdiction" };
	size_t turned = 0, unlisted = 0;

	for (int i = 0; i < ROUNDS; i++) {
		AUTO(arena_done) struct arena a = { 0 };
		struct made m;
		const char *before, *after;
		make_policy(&a, &m);
		struct ruleset *r = as_ruleset(&a, &m, false, "");
		struct asking x = make_question(&a);
		enum verdict was = answer(&a, r, &x, &before);
		for (size_t k = 0; k < ARRAY_SIZE(facts); k++) {
			struct asking less = x;
			struct json *known = json_copy(&a, x.f.known);
			(void)json_remove(known, facts[k]);
			less.f.known = known;
			bool listed = is_listed(&a, r, facts[k]);
			unlisted += !listed;
			if (was == V_ALLOW || answer(&a, r, &less, &after) != V_ALLOW)
				continue;
			turned++;
			if (!listed)
				fail_msg("without %s %s became %s, and no condition on it is listed",
					facts[k], before, after);
		}
	}
	/* Both happen, so that the list says something. */
	assert_true(turned > 100);
	assert_true(unlisted > 100);
}

/* ---- the short way to an answer ---- */

/* Rules about names only, as most policies have them: what they allow is seen without asking the gates (match_plain). */
static void make_plain_policy(struct arena *a, struct made *m)
{
	make_policy(a, m);
	m->tail = "";
	for (size_t i = 0; i < m->n; i++)
		for (char *star = m->rules[i]; (star = strstr(star, "*'")); star++)
			memcpy(star, "t'", 2);
}

/* Things that gates before, between and behind `coverage` and `rules` have something to say about. */
static void make_known(struct arena *a, struct asking *x, struct policy_facts *policy, struct pdp_facts *pdp,
	struct decision *guard, struct ledger_facts *ledger)
{
	static const struct {
		enum rule_effect action;
		enum verdict verdict;
	} words[] = { { ACTION_ALLOW, V_ALLOW }, { ACTION_ASK, V_ESCALATE }, { ACTION_DENY, V_DENY } };
	unsigned word = next(3);

	*policy = (struct policy_facts){ .is_required = true, .is_refused = !next(8) };
	*pdp = (struct pdp_facts){ .fault = "timeout" };
	*guard = (struct decision){ .mode = GUARD_ENFORCE,
		.action = words[word].action,
		.verdict = words[word].verdict,
		.reason_code = REASON_POLICY_VIOLATION,
		.detail_code = "risk.x" };
	*ledger = (struct ledger_facts){ 0 };
	if (!next(8))
		x->q.params = quoted(a, PICK("{'x':1,'tool_name':'tool'}", "{'x':1,'nine_byte':'t'}"));
	x->q.context = next(2) ? NULL : x->q.context;
	x->q.tool = next(2) ? NULL : x->q.tool;
	x->q.is_tool_unknown = !next(8);
	x->q.is_tool_beside = !next(8);
	x->f.policy = next(2) ? policy : NULL;
	x->f.pdp = next(6) ? NULL : pdp;
	x->f.guard = next(2) ? guard : NULL;
	x->f.ledger = next(4) ? NULL : ledger;
	x->f.tenant = next(4) ? NULL : "t1";
}

static const char *whole_answer(struct arena *a, const struct ruleset *r, const struct asking *x)
{
	struct judgement j;
	struct buf b;

	engine_judge(a, r, &x->q, &x->f, &j);
	buf_init(&b, a);
	json_write(&b, judgement_to_json(a, &j), 0);
	return b.p;
}

static void a_rule_about_something_else_changes_nothing(void **state)
{
	static const char beside[] =
		"{'name':'Z','priority':9,'rules':[{'id':'z','actions':['zzz*'],'verdict':'DENY'}]},";
	(void)state;
	size_t allowed = 0;

	for (int i = 0; i < ROUNDS; i++) {
		AUTO(arena_done) struct arena a = { 0 };
		struct policy_facts policy;
		struct pdp_facts pdp;
		struct decision guard;
		struct ledger_facts ledger;
		struct made m;
		make_plain_policy(&a, &m);
		struct asking x = make_question(&a);
		make_known(&a, &x, &policy, &pdp, &guard, &ledger);
		const char *one = whole_answer(&a, as_ruleset(&a, &m, false, ""), &x);
		assert_string_equal(one, whole_answer(&a, as_ruleset(&a, &m, false, beside), &x));
		allowed += strstr(one, "\"gate\":null") && strstr(one, "\"rules_fired\":[\"r");
	}
	/* Often enough by one rule. */
	assert_true(allowed > ROUNDS / 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(more_never_allows_more),
		cmocka_unit_test(order_does_not_matter),
		cmocka_unit_test(what_is_unsaid_allows_only_where_it_is_listed),
		cmocka_unit_test(a_rule_about_something_else_changes_nothing),
	};

	seed = seed_or(seed);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
