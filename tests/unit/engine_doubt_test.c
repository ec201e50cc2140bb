/* engine_doubt_test.c — what comes out where parts of a rule or of a requirement disagree: every pair of holds, does not hold, is missing and cannot be evaluated, in
 * every place where two of them are joined. */
#include "tools/engine_fixture.h"
#include "tools/unit.h"

#include <string.h>

#define HEAD "'format':'helm.policy.v1','name':'t'"

enum part { NO, LACKS, ERROR, YES, NONE };

/* Of {'x':1,'t':'text'}: a condition and an expression of each kind. */
static const char *const conditions[] = { [NO] = "{'field':'params.x','op':'equals','value':2}",
	[LACKS] = "{'field':'params.gone','op':'equals','value':2}",
	[ERROR] = "{'field':'params.t','op':'greater_than','value':2}",
	[YES] = "{'field':'params.x','op':'equals','value':1}" };
static const char *const expressions[] = {
	[NO] = "false", [LACKS] = "input.params.x == 2", [ERROR] = "input.params.gone > 1", [YES] = "true"
};
static const char question[] = "{'params':{'x':1,'t':'text'}}";

static const char *judged_by(struct arena *a, const char *verdict, const char *rest)
{
	return judged(a,
		arena_printf(a,
			"{" HEAD
			",'layers':[{'name':'L','priority':0,'rules':[%s{'id':'r','actions':['act'],'verdict':'%s'%s}]}]}",
			strcmp(verdict, "ALLOW") == 0 ? ""
						      : "{'id':'a','actions':['act'],'verdict':'ALLOW'},",
			verdict, rest),
		question, NULL);
}

static void check_all_verdicts(struct arena *a, const char *rest, enum part holds)
{
	const struct {
		const char *verdict, *yes, *error, *no;
	} rows[] = { { "ALLOW", "ALLOW r", "DENY POLICY_VIOLATION rules", "DENY POLICY_VIOLATION rules" },
		{ "DENY", "DENY POLICY_VIOLATION rules r", "DENY PRG_EVALUATION_ERROR rules r", "ALLOW a" },
		{ "ESCALATE", "ESCALATE APPROVAL_REQUIRED rules r", "DENY PRG_EVALUATION_ERROR rules r",
			"ALLOW a" } };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *want = holds == YES ? rows[i].yes : holds == ERROR ? rows[i].error : rows[i].no;
		const char *got = judged_by(a, rows[i].verdict, rest);
		if (strcmp(want, got) != 0)
			fail_msg("%s%s\n  expected %s\n  got      %s", rows[i].verdict, rest, want, got);
	}
}

/* The first of NO, LACKS, ERROR, YES that one of them is. */
static enum part of_both(enum part x, enum part y)
{
	return y == NONE || x < y ? x : y;
}

/* Whatever `when` says, a condition that cannot be evaluated is none that holds; and the other way round. */
static void conditions_and_when(void **state)
{
	(void)state;
	for (enum part c = NO; c <= YES; c++)
		for (enum part w = NO; w <= NONE; w++) {
			AUTO(arena_done) struct arena a = { 0 };
			const char *when = w == NONE ? "" : arena_printf(&a, ",'when':'%s'", expressions[w]);
			check_all_verdicts(&a, arena_printf(&a, ",'all':[%s]%s", conditions[c], when),
				of_both(c, w == LACKS ? NO : w));
		}
}

/* In either order, and with one that holds before, between and behind. */
static void conditions_among_each_other(void **state)
{
	(void)state;
	for (enum part x = NO; x <= YES; x++)
		for (enum part y = NO; y <= YES; y++) {
			AUTO(arena_done) struct arena a = { 0 };
			check_all_verdicts(&a,
				arena_printf(&a, ",'all':[%s,%s]", conditions[x], conditions[y]),
				of_both(x, y));
			check_all_verdicts(&a,
				arena_printf(&a, ",'all':[%s,%s,%s,%s,%s]", conditions[YES], conditions[x],
					conditions[YES], conditions[y], conditions[YES]),
				of_both(x, y));
		}
}

/* ---- requirements ---- */

static const char *leaf(struct arena *a, const char *id, enum part p)
{
	return arena_printf(a, "{'id':'%s','expression':'%s'}", id, expressions[p]);
}

static bool is_met(const char *logic, bool x, bool y)
{
	return strcmp(logic, "AND") == 0 ? x && y : strcmp(logic, "OR") == 0 ? x || y : !(x && y);
}

static void check_set(struct arena *a, const char *set, bool is_error, bool holds)
{
	const char *got =
		judged(a, arena_printf(a, "{" HEAD ",'requirements':{'act':%s}}", set), question, NULL);
	const char *want = is_error ? "DENY PRG_EVALUATION_ERROR requirements act"
		: holds		    ? "ALLOW"
				    : "DENY MISSING_REQUIREMENT requirements act";

	if (strcmp(want, got) != 0)
		fail_msg("%s\n  expected %s\n  got      %s", set, want, got);
}

/* As two requirements, and as one beside a set of its own: an error counts wherever it stands, also where the other one settles it. */
static void requirements_among_each_other(void **state)
{
	static const char *const logics[] = { "AND", "OR", "NOT" };
	static const enum part parts[] = { NO, ERROR, YES };

	(void)state;
	for (size_t l = 0; l < ARRAY_SIZE(logics); l++)
		for (size_t i = 0; i < ARRAY_SIZE(parts) * ARRAY_SIZE(parts); i++) {
			AUTO(arena_done) struct arena a = { 0 };
			enum part x = parts[i / ARRAY_SIZE(parts)], y = parts[i % ARRAY_SIZE(parts)];
			bool is_error = x == ERROR || y == ERROR;
			bool holds = is_met(logics[l], x == YES, y == YES);
			check_set(&a,
				arena_printf(&a, "{'logic':'%s','requirements':[%s,%s]}", logics[l],
					leaf(&a, "one", x), leaf(&a, "two", y)),
				is_error, holds);
			check_set(&a,
				arena_printf(&a,
					"{'logic':'%s','requirements':[%s],'children':[{'id':'c','requirements':[%s]}]}",
					logics[l], leaf(&a, "one", x), leaf(&a, "two", y)),
				is_error, holds);
		}
}

/* What is named is what was not met, and nothing that was. */
static void what_is_missing_is_named(void **state)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct submission q = asked(&a, question);
	struct facts f = { .now_us = 1 };
	struct judgement j;

	(void)state;
	engine_judge(&a,
		compiled(&a,
			"{" HEAD ",'requirements':{'act':{'requirements':[{'id':'met','expression':'true'},"
			"{'id':'unmet','expression':'false'}],'children':[{'id':'either','logic':'OR','requirements':["
			"{'id':'left','expression':'false'},{'id':'right','expression':'true'}]},{'id':'none','logic':'NOT',"
			"'requirements':[{'id':'holds','expression':'true'}]}]}}}"),
		&q, &f, &j);
	assert_string_equal(
		j.text, "Not satisfied: unmet, none. Given were: params.x (number), params.t (string).");
}

/* ---- rules that ask ---- */

#define RULES(rules) "{" HEAD ",'layers':[{'name':'L','priority':0,'rules':[" rules "]}]}"

/* A rule that asks says that there is such an action: where it holds it asks, and where it does not nothing allows it. */
static void a_rule_that_asks_is_enough(void **state)
{
	static const struct {
		const char *policy, *question, *want;
	} rows[] = {
		{ RULES("{'id':'r','actions':['delete_db'],'verdict':'ESCALATE'}"),
			"{'effect_type':'delete_db'}", "ESCALATE APPROVAL_REQUIRED rules r" },
		{ RULES("{'id':'r','actions':['delete_*'],'verdict':'ESCALATE'}"),
			"{'effect_type':'delete_db'}", "ESCALATE APPROVAL_REQUIRED rules r" },
		{ RULES("{'id':'r','actions':['delete_db'],'verdict':'ESCALATE'}"), "{'effect_type':'other'}",
			"DENY NO_POLICY_DEFINED coverage" },
		{ RULES("{'id':'r','actions':['act'],'verdict':'ESCALATE','all':[{'field':'params.x','op':'equals','value':1}]}"),
			"{'params':{'x':1}}", "ESCALATE APPROVAL_REQUIRED rules r" },
		{ RULES("{'id':'r','actions':['act'],'verdict':'ESCALATE','all':[{'field':'params.x','op':'equals','value':1}]}"),
			"{'params':{'x':2}}", "DENY POLICY_VIOLATION rules" },
		{ RULES("{'id':'r','actions':['act'],'verdict':'ESCALATE'},{'id':'d','actions':['act'],'verdict':'DENY'}"),
			"{}", "DENY POLICY_VIOLATION rules d" },
		/* one that only forbids does not say that there is such an action */
		{ RULES("{'id':'r','actions':['act'],'verdict':'DENY','all':[{'field':'params.x','op':'equals','value':1}]}"),
			"{'params':{'x':2}}", "DENY NO_POLICY_DEFINED coverage" },
		/* a pack asks while it is active, and only then */
		{ "{" HEAD ",'packs':[{'id':'p','kind':'industry','activates_on':['bank'],'rules':["
		  "{'id':'r','actions':['act'],'verdict':'ESCALATE'}]}]}",
			"{}", "DENY NO_POLICY_DEFINED coverage" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		AUTO(arena_done) struct arena a = { 0 };
		const char *got = judged(&a, rows[i].policy, rows[i].question, NULL);
		if (strcmp(got, rows[i].want) != 0)
			fail_msg("%s\n%s\n  expected %s\n  got      %s", rows[i].policy, rows[i].question,
				rows[i].want, got);
	}
	AUTO(arena_done) struct arena a = { 0 };
	assert_string_equal(judged(&a, rows[7].policy, "{}", "{'industry':'bank'}"),
		"ESCALATE APPROVAL_REQUIRED rules r");
}

static const char *judged_command(
	struct arena *a, const char *policy, const enum effect_kind *kinds, size_t n)
{
	struct effect *effects = arena_zalloc(a, n + 1, sizeof(*effects));
	struct submission q = asked(a, "{}");
	struct facts f = { .now_us = 1 };
	struct judgement j;

	for (size_t i = 0; i < n; i++)
		effects[i] = (struct effect){ .kind = kinds[i], .target = "/srv/x" };
	q.proposal = &(struct proposal){ .readable = true, .effects = effects, .effect_count = n };
	engine_judge(a, compiled(a, policy), &q, &f, &j);
	return outcome(a, &j);
}

/* Of a command every effect needs a rule that allows it or asks about it; a yes to one is none to another. */
static void each_effect_is_asked_about(void **state)
{
	static const char asks[] =
		RULES("{'id':'r','actions':['act'],'effects':['write'],'verdict':'ESCALATE'}");
	static const char both[] =
		RULES("{'id':'r','actions':['act'],'effects':['write'],'verdict':'ESCALATE'},"
		      "{'id':'a','actions':['act'],'effects':['read'],'verdict':'ALLOW'}");
	static const enum effect_kind two[] = { FX_WRITE, FX_READ };
	AUTO(arena_done) struct arena a = { 0 };

	(void)state;
	assert_string_equal(judged_command(&a, asks, two, 1), "ESCALATE APPROVAL_REQUIRED rules r");
	assert_string_equal(judged_command(&a, asks, two, 2), "DENY POLICY_VIOLATION rules");
	assert_string_equal(judged_command(&a, both, two, 2), "ESCALATE APPROVAL_REQUIRED rules r");
	/* a command without effects: a rule about effects that asks does not become one that allows */
	assert_string_equal(judged_command(&a, asks, two, 0), "DENY POLICY_VIOLATION rules");
	assert_string_equal(judged_command(&a, both, two, 0), "ALLOW");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(conditions_and_when),
		cmocka_unit_test(conditions_among_each_other),
		cmocka_unit_test(requirements_among_each_other),
		cmocka_unit_test(what_is_missing_is_named),
		cmocka_unit_test(a_rule_that_asks_is_enough),
		cmocka_unit_test(each_effect_is_asked_about),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
