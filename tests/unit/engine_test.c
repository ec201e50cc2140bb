/* engine_test.c — the row of gates, and what a policy document says about a question. */
#include "tools/engine_fixture.h"
#include "tools/unit.h"

#include <string.h>

/* One policy of one layer. */
#define POLICY(rules) \
	"{'format':'helm.policy.v1','name':'t','layers':[{'name':'L','priority':0,'rules':[" rules "]}]}"
#define RULE(id, verdict, rest) "{'id':'" id "','actions':['act'],'verdict':'" verdict "'" rest "}"

struct row {
	const char *policy, *question, *known, *want;
};

static void check_rows(const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		AUTO(arena_done) struct arena a = { 0 };
		const char *got = judged(&a, rows[i].policy, rows[i].question, rows[i].known);
		if (strcmp(got, rows[i].want) != 0)
			fail_msg("%s\n%s\n%s\n  expected %s\n  got      %s",
				rows[i].policy ? rows[i].policy : "-", rows[i].question,
				rows[i].known ? rows[i].known : "-", rows[i].want, got);
	}
}

static const struct row rule_rows[] = {
	/* the strictest wins, whatever the order */
	{ POLICY(RULE("a", "ALLOW", "")), "{}", NULL, "ALLOW a" },
	{ POLICY(RULE("a", "ALLOW", "") "," RULE("b", "DENY", "")), "{}", NULL,
		"DENY POLICY_VIOLATION rules b" },
	{ POLICY(RULE("b", "DENY", "") "," RULE("a", "ALLOW", "")), "{}", NULL,
		"DENY POLICY_VIOLATION rules b" },
	{ POLICY(RULE("a", "ALLOW", "") "," RULE("b", "ESCALATE", "")), "{}", NULL,
		"ESCALATE APPROVAL_REQUIRED rules b" },
	{ POLICY(RULE("a", "ESCALATE", "") "," RULE("b", "ESCALATE", "") "," RULE("0", "ALLOW", "")), "{}",
		NULL, "ESCALATE APPROVAL_REQUIRED rules a" },
	{ POLICY(RULE("a", "ALLOW", "") "," RULE("b", "ESCALATE", "") "," RULE("c", "DENY", "")), "{}", NULL,
		"DENY POLICY_VIOLATION rules c" },
	/* coverage */
	{ POLICY(RULE("a", "ALLOW", "")), "{'effect_type':'other'}", NULL,
		"DENY NO_POLICY_DEFINED coverage" },
	{ POLICY(RULE("a", "ESCALATE", "")), "{}", NULL, "DENY NO_POLICY_DEFINED coverage" },
	{ POLICY(""), "{}", NULL, "DENY NO_POLICY_DEFINED coverage" },
	{ POLICY(RULE("a", "ALLOW", ",'all':[{'field':'params.x','op':'equals','value':1}]")), "{}", NULL,
		"DENY POLICY_VIOLATION rules" },
	{ "{'format':'helm.policy.v1','name':'t','coverage':'open','layers':[]}", "{}", NULL, "ALLOW" },
	{ NULL, "{}", NULL, "ALLOW" },
	/* an expression that fails: forbids, or does not allow */
	{ POLICY(RULE("a", "ALLOW", "") "," RULE("b", "ESCALATE", ",'when':'input.params.x > 1'")), "{}",
		NULL, "DENY PRG_EVALUATION_ERROR rules b" },
	{ POLICY(RULE("a", "ALLOW", ",'when':'input.params.x > 1'")), "{}", NULL,
		"DENY POLICY_VIOLATION rules" },
	{ POLICY(RULE("a", "ALLOW", ",'when':'input.params.x > 1'")), "{'params':{'x':2}}", NULL, "ALLOW a" },
	/* the tool counts as well; a tool that only the request names permits nothing */
	{ POLICY("{'id':'a','actions':['read_file'],'verdict':'ALLOW'}"), "{'tool':'read_file'}", NULL,
		"ALLOW a" },
	{ POLICY("{'id':'a','actions':['read_file'],'verdict':'ALLOW'}"),
		"{'params':{'tool_name':'read_file'}}", NULL, "DENY NO_POLICY_DEFINED coverage" },
	{ POLICY(RULE("a", "ALLOW", "") ",{'id':'b','actions':['rm'],'verdict':'DENY'}"),
		"{'params':{'tool_name':'rm'}}", NULL, "DENY POLICY_VIOLATION rules b" },
	/* patterns */
	{ POLICY("{'id':'a','actions':['mcp_*'],'verdict':'ALLOW'}"), "{'effect_type':'mcp_call'}", NULL,
		"ALLOW a" },
	{ POLICY("{'id':'a','actions':['mcp_*'],'verdict':'ALLOW'}"), "{'effect_type':'mcp'}", NULL,
		"DENY NO_POLICY_DEFINED coverage" },

	{ POLICY("{'id':'a','actions':['*'],'verdict':'ALLOW'}"), "{'effect_type':'x'}", NULL, "ALLOW a" },
	{ POLICY("{'id':'a','actions':['mcp_*'],'verdict':'ALLOW'}"), "{'effect_type':'mcp_*'}", NULL,
		"ALLOW a" },
};

static void rules_decide(void **state)
{
	(void)state;
	check_rows(rule_rows, ARRAY_SIZE(rule_rows));
}

#define NEEDS(set) \
	"{'format':'helm.policy.v1','name':'t','requirements':{'act':" set "}," \
	"'layers':[{'name':'L','priority':0,'rules':[]}]}"

static const struct row requirement_rows[] = {
	{ NEEDS("{}"), "{}", NULL, "ALLOW" },
	{ NEEDS("{'requirements':[{'id':'r','expression':'has(input.params.x)'}]}"), "{}", NULL,
		"DENY MISSING_REQUIREMENT requirements act" },
	{ NEEDS("{'requirements':[{'id':'r','expression':'has(input.params.x)'}]}"), "{'params':{'x':1}}",
		NULL, "ALLOW" },
	{ NEEDS("{'requirements':[{'id':'r','expression':'input.params.x == 1'}]}"), "{}", NULL,
		"DENY PRG_EVALUATION_ERROR requirements act" },
	{ NEEDS("{'logic':'OR','requirements':[{'id':'r','expression':'false'},{'id':'s','expression':'true'}]}"),
		"{}", NULL, "ALLOW" },
	{ NEEDS("{'logic':'NOT','requirements':[{'id':'r','expression':'true'}]}"), "{}", NULL,
		"DENY MISSING_REQUIREMENT requirements act" },
	{ NEEDS("{'requirements':[{'id':'r','artifact_type':'review','signer_id':'k'}]}"), "{}",
		"{'artifacts':[{'type':'review','signer_id':'k'}]}", "ALLOW" },
	{ NEEDS("{'requirements':[{'id':'r','artifact_type':'review','signer_id':'k'}]}"), "{}",
		"{'artifacts':[{'type':'review','signer_id':'z'}]}",
		"DENY MISSING_REQUIREMENT requirements act" },
};

static void requirements_decide(void **state)
{
	(void)state;
	check_rows(requirement_rows, ARRAY_SIZE(requirement_rows));
}

/* A question that has no shape is refused before any rule is asked. */
static void a_malformed_question_is_refused(void **state)
{
	(void)state;
	static const char *const questions[] = { "{'effect_type':''}", "{'effect_id':''}", "{'principal':''}",
		"{'params':[]}", "{'params':null}", "{'context':3}" };

	for (size_t i = 0; i < ARRAY_SIZE(questions); i++) {
		AUTO(arena_done) struct arena a = { 0 };
		assert_string_equal(judged(&a, POLICY(RULE("a", "ALLOW", "")), questions[i], NULL),
			"DENY ENVELOPE_INVALID shape");
	}
}

/* Every gate stands in the roster of every judgement, and the digest is over that. */
static void the_roster_is_complete(void **state)
{
	(void)state;
	AUTO(arena_done) struct arena a = { 0 };
	struct submission q = asked(&a, "{}");
	struct facts f = { 0 };
	struct judgement j;

	engine_judge(&a, compiled(&a, POLICY(RULE("a", "ALLOW", ""))), &q, &f, &j);
	struct json *out = judgement_to_json(&a, &j), *roster = json_get(out, "roster");
	assert_int_equal(json_get(roster, "active")->n + json_get(roster, "inactive")->n, GATE_COUNT);
	assert_string_equal(json_get_text(out, "roster_sha256", ""), json_sha256(&a, roster));
	assert_string_equal(json_get_text(out, "verdict", ""), "ALLOW");
	assert_string_equal(json_text(json_at(json_get(out, "rules_fired"), 0)), "a");
}

static void a_required_gate_must_be_active(void **state)
{
	(void)state;
	AUTO(arena_done) struct arena a = { 0 };
	static const char policy[] =
		"{'format':'helm.policy.v1','name':'t','coverage':'open','requires_gates':['tenant']}";
	struct submission q = asked(&a, "{}");
	struct facts f = { 0 };
	struct judgement j;

	engine_judge(&a, compiled(&a, policy), &q, &f, &j);
	assert_string_equal(outcome(&a, &j), "DENY POLICY_NOT_READY policy");
	f.tenant = "t1";
	engine_judge(&a, compiled(&a, policy), &q, &f, &j);
	assert_string_equal(outcome(&a, &j), "ALLOW");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rules_decide),
		cmocka_unit_test(requirements_decide),
		cmocka_unit_test(a_malformed_question_is_refused),
		cmocka_unit_test(the_roster_is_complete),
		cmocka_unit_test(a_required_gate_must_be_active),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
