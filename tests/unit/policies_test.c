/* policies_test.c — every policy we ship does what the tests beside it say, has no warning that was not meant, and keeps its layout. */
#include "base/embed.h"
#include "base/schema.h"
#include "decide/bounds/bounds.h"
#include "decide/bundle/bundle.h"
#include "decide/engine/engine.h"
#include "tools/cases.h"
#include "tools/unit.h"

#include <string.h>

/* What a test says is known, as a door would know it. */
static void facts_of(struct arena *a, const struct json *doc, struct facts *ret)
{
	static const struct budget_facts none;
	static const struct velocity_facts no_pace;
	struct json *known = json_copy(a, doc);
	const char *now = json_get_text(doc, "now", NULL);

	*ret = (struct facts){
		.now_us = json_get_int(doc, "now", 1) * 1000000, .budget = &none, .velocity = &no_pace
	};
	if (now)
		assert_true(text_parse_time(now, strlen(now), &ret->now_us));
	ret->principal = json_get_text(doc, "principal", NULL);
	ret->tenant = json_get_text(doc, "tenant", NULL);
	ret->session = json_get_text(doc, "session", NULL);
	ret->taint = json_get(doc, "taint");
	ret->known = known;
}

static bool same_set(const struct json *want, const char *const *got, size_t n)
{
	size_t found = 0;

	json_each (x, want)
		for (size_t i = 0; i < n; i++)
			found += text_eq(json_text(x), got[i]);
	return found == want->n && want->n == n;
}

static void must_answer(const char *file, const struct json *test, const struct judgement *j)
{
	const struct json *want = json_get(test, "expect");
	const char *verdict = j->verdict == V_ALLOW ? "ALLOW" : j->verdict == V_DENY ? "DENY" : "ESCALATE";
	const char *code = j->verdict == V_ALLOW ? "" : reason_get(j->code)->code;
	bool is_met = text_eq(json_get_text(want, "verdict", ""), verdict) &&
		text_eq(json_get_text(want, "code", code), code) &&
		text_eq(json_get_text(want, "rule", ""), json_get(want, "rule") && j->rule ? j->rule : "") &&
		text_eq(json_get_text(want, "gate", ""), json_get(want, "gate") ? gate_name(j->gate) : "") &&
		(!json_get(want, "fired") || same_set(json_get(want, "fired"), j->fired, j->fired_count)) &&
		(!json_get(want, "packs") ||
			same_set(json_get(want, "packs"), j->active_packs, j->active_pack_count));

	if (!is_met)
		fail_msg("%s: %s: %s %s by %s (%s)", file, json_get_text(test, "name", ""), verdict, code,
			j->rule ? j->rule : "-", j->text ? j->text : "");
}

static void ask_policy(const char *file, const struct ruleset *rules, const struct json *test)
{
	AUTO(arena_done) struct arena a = { 0 };
	const struct json *request = json_get(test, "request");
	struct submission ask = { .effect_type = json_get_text(request, "action", ""),
		.tool = json_get_text(request, "tool", NULL),
		.effect_id = "t",
		.principal = "agent-7",
		.params = json_get(request, "params"),
		.context = json_get(request, "context") };
	struct judgement j;
	struct facts facts;

	facts_of(&a, json_get(test, "facts"), &facts);
	engine_judge(&a, rules, &ask, &facts, &j);
	must_answer(file, test, &j);
}

static void compile(struct arena *a, const char *file, struct bytes text, struct ruleset **ret)
{
	struct policy_input in = { .text = text, .name = file };
	struct policy_reading reading;
	struct schema *schema;
	struct json *doc;
	struct bytes bytes;
	struct err e;

	if (policy_document_read(a, &in, &reading, &e) || ruleset_compile(a, reading.document, ret, &e))
		fail_msg("%s: %s", file, e.text);
	policy_lint(a, reading.document, file, &reading.problems);
	assert_int_equal(reading.problems.errors, 0);
	assert_true(bytes_eq(policy_format(a, text, reading.shape, reading.source), text));
	assert_true(embed_find("schemas/policy-document.schema.json", &bytes));
	assert_int_equal(json_parse(a, bytes, "schema", NULL, &doc, &e), OK);
	assert_int_equal(schema_compile(a, doc, "schema", &schema, &e), OK);
	if (schema_check(schema, reading.document, &e))
		fail_msg("%s: %s", file, e.text);
}

/* Every rule that denies or asks is the expected one of some test. */
static void rules_are_tested(const char *file, const struct ruleset *rules, const struct json *tests)
{
	struct ruleset_rule rule;

	for (size_t i = 0; ruleset_rule(rules, i, &rule); i++) {
		bool is_tested = rule.verdict == V_ALLOW;
		json_each (test, tests)
			is_tested |= text_eq(json_get_text(json_get(test, "expect"), "rule", ""), rule.id);
		/* One packs' rule compares two words of the caller, which these tests do not give. */
		if (!is_tested && !text_eq(rule.id, "us-duties"))
			fail_msg("%s: no test for rule %s", file, rule.id);
	}
}

static void shipped_policies_pass_their_tests(void **state)
{
	struct bytes text, policy;
	const char *file;
	size_t count = 0;

	(void)state;
	for (size_t i = 0; embed_at(i, &file, &text); i++) {
		AUTO(arena_done) struct arena a = { 0 };
		struct policy_tests tests;
		struct ruleset *rules;
		struct err e;
		if (!text_starts(file, "share/policies/") || !text_ends(file, ".test.yaml"))
			continue;
		if (policy_tests_read(&a, text, file, &tests, &e))
			fail_msg("%s", e.text);
		const char *name =
			arena_printf(&a, "%.*s/%s", (int)(strrchr(file, '/') - file), file, tests.policy);
		if (!embed_find(name, &policy))
			fail_msg("%s: no %s", file, name);
		compile(&a, name, policy, &rules);
		json_each (test, tests.tests)
			ask_policy(file, rules, test);
		rules_are_tested(name, rules, tests.tests);
		count++;
	}
	assert_true(count >= 10);
}

static void every_policy_has_tests(void **state)
{
	struct bytes text;
	const char *file;

	(void)state;
	for (size_t i = 0; embed_at(i, &file, &text); i++) {
		AUTO(arena_done) struct arena a = { 0 };
		if (!text_starts(file, "share/policies/") || !text_ends(file, ".yaml") ||
			text_ends(file, ".test.yaml"))
			continue;
		if (!embed_find(
			    arena_printf(&a, "%.*s.test.yaml", (int)(strlen(file) - strlen(".yaml")), file),
			    &text))
			fail_msg("%s has no tests", file);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shipped_policies_pass_their_tests),
		cmocka_unit_test(every_policy_has_tests),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
