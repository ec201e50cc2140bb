/* engine_supply_test.c — from what an entry point states to what the checks know: the graph of a request, the sandbox that stands, claims, stops; and checks that can never be active. */
#include "decide/engine/engine.h"
#include "tools/engine_fixture.h"
#include "tools/unit.h"

#include <string.h>

#define HEAD "'format':'helm.policy.v1','name':'t'"

#define OVER(rule) \
	"{" HEAD ",'coverage':'open','graph':'module data { rule r { " rule \
	" explain: CPI.DATA.FORBIDDEN.X } }'}"

static const char *over_graph(struct arena *a, const char *policy, const char *known)
{
	static struct effect effects[] = { { .kind = FX_SECRET_READ,
						   .target = "/home/u/.ssh/id",
						   .path_class = PATH_HOME,
						   .program = "cat",
						   .tag = "read.key" },
		{ .kind = FX_NETWORK, .target = "https://example.org/", .program = "curl" } };
	const struct proposal p = { .readable = true, .effects = effects, .effect_count = 2 };
	const struct policy_question q = { .action = "EXECUTE_COMMAND",
		.principal = "agent:a",
		.proposal = &p,
		.known = quoted(a, known),
		.now_us = 1 };
	struct judgement j;

	question_judge(a, compiled(a, policy), NULL, &q, NULL, (struct as_tool){ .name = "cat" }, &j);
	assert_true(j.active >> GATE_GRAPH & 1);
	return outcome(a, &j);
}

/* Every request is a change of a graph: who asks is an agent, what it touches is a node, what leaves is a flow; what was done so far is the snapshot. */
static void the_graph_is_asked_about_every_request(void **state)
{
	static const char known[] = "{'profile':'develop','graph':{'session':{'secret_read':1,'calls':3}}}";
	static const struct {
		const char *policy, *want;
	} rows[] = {
		{ OVER("scope: node(node_type == \\\"secret_read\\\") when: delta.node.class == \\\"home\\\" enforce: deny"),
			"DENY POLICY_VIOLATION graph data.r" },
		{ OVER("scope: node when: has_tag(delta.node, \\\"read.key\\\") enforce: require_approval(\\\"cfo\\\")"),
			"ESCALATE APPROVAL_REQUIRED graph data.r" },
		{ OVER("scope: node when: delta.node.at == \\\"/etc/passwd\\\" enforce: deny"), "ALLOW" },
		{ OVER("scope: data_flow when: snapshot.session.secret_read > 0 enforce: deny"),
			"DENY POLICY_VIOLATION graph data.r" },
		{ OVER("scope: data_flow when: snapshot.session.secret_read > 1 enforce: deny"), "ALLOW" },
		/* what the snapshot does not have is no 0 */
		{ OVER("scope: data_flow when: snapshot.session.gone > 0 enforce: deny"),
			"DENY SCHEMA_VIOLATION graph data.r" },
		{ OVER("scope: agent when: delta.tool == \\\"cat\\\" and delta.node.id == \\\"agent:a\\\" enforce: deny"),
			"DENY POLICY_VIOLATION graph data.r" },
		{ OVER("scope: agent when: known(fact(\\\"profile\\\")) and fact(\\\"profile\\\") == \\\"develop\\\" enforce: deny"),
			"DENY POLICY_VIOLATION graph data.r" },
		/* no entry point changes a request: a rule that would, refuses */
		{ OVER("scope: agent when: not has_tag(delta.node, \\\"seen\\\") enforce: rewrite({ add_tag(\\\"seen\\\") })"),
			"DENY POLICY_VIOLATION graph data.r" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		AUTO(arena_done) struct arena a = { 0 };
		const char *got = over_graph(&a, rows[i].policy, known);
		if (strcmp(got, rows[i].want) != 0)
			fail_msg("%s\n  expected %s\n  got      %s", rows[i].policy, rows[i].want, got);
	}
}

/* ---- what entry points state ---- */

#define WANTS(gate, more) "{" HEAD ",'coverage':'open','requires_gates':['" gate "']" more "}"

static const char *stated(struct arena *a, const char *policy, const char *known)
{
	const struct policy_question q = { .action = "act",
		.effect_id = "e",
		.principal = "agent:a",
		.params = quoted(a, "{'code_hash':'h','signature':'00'}"),
		.context = quoted(a, "{'claimed_parent_hash':'sha256:p'}"),
		.known = known ? quoted(a, known) : NULL,
		.now_us = 1 };
	struct judgement j;

	question_judge(a, compiled(a, policy), NULL, &q, NULL, (struct as_tool){ 0 }, &j);
	return outcome(a, &j);
}

/* What a check needs to know is taken from what the entry point states, under one name, and from nowhere else. */
static void what_is_stated_reaches_its_gate(void **state)
{
	static const char box[] =
		"{" HEAD
		",'coverage':'open','sandbox':{'actions':['act'],'runtimes':['walls'],'commands':[],'min_gas':0}}";
	static const struct {
		const char *policy, *known, *want;
	} rows[] = {
		/* a claim that nobody has looked up does not hold */
		{ "{" HEAD ",'coverage':'open'}", NULL, "DENY PROVENANCE_FAILURE provenance" },
		{ "{" HEAD ",'coverage':'open'}", "{'ledger':{'parents':['sha256:q']}}",
			"DENY PROVENANCE_FAILURE provenance" },
		{ "{" HEAD ",'coverage':'open'}", "{'ledger':{'parents':['sha256:p'],'keys':['00']}}",
			"DENY VERIFICATION_FAILURE verification" },
		{ WANTS("stop", ""), "{'stop':{}}", "DENY PROVENANCE_FAILURE provenance" },
		{ WANTS("stop", ""), "{'stop':{'reason':'r','code':'AGENT_KILLED'}}",
			"DENY AGENT_KILLED stop freeze" },
		{ WANTS("stop", ""), "{'stop':{'reason':'r','code':'NO_SUCH_CODE'}}",
			"DENY SYSTEM_FROZEN stop freeze" },
		{ box, "{'ledger':{'parents':['sha256:p']},'sandbox':{'runtime':'none'}}",
			"DENY VERIFICATION_FAILURE verification" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		AUTO(arena_done) struct arena a = { 0 };
		const char *got = stated(&a, rows[i].policy, rows[i].known);
		if (strcmp(got, rows[i].want) != 0)
			fail_msg("%s\n%s\n  expected %s\n  got      %s", rows[i].policy, rows[i].known,
				rows[i].want, got);
	}
}

/* What the gateway pinned, and places in the order of events. */
static void pins_that_are_stated_hold(void **state)
{
	static const struct {
		const char *known, *want;
	} rows[] = { { "{'pins':{}}", "ALLOW" },
		{ "{'pins':{'schema_version':'a','presented_schema_version':'a'}}", "ALLOW" },
		{ "{'pins':{'schema_version':'a','presented_schema_version':'b'}}",
			"DENY SCHEMA_DRIFT_DETECTED pins" },
		{ "{'pins':{'schema_version':'a'}}", "DENY SCHEMA_DRIFT_DETECTED pins" },
		{ "{'pins':{'replay_lamport':5,'current_lamport':4}}", "ALLOW" },
		{ "{'pins':{'replay_lamport':4,'current_lamport':4}}", "DENY REPLAY_DETECTED pins" },
		{ "{}", "DENY POLICY_NOT_READY policy" } };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		AUTO(arena_done) struct arena a = { 0 };
		const struct policy_question q = {
			.action = "act", .principal = "p", .known = quoted(&a, rows[i].known), .now_us = 1
		};
		struct judgement j;
		question_judge(
			&a, compiled(&a, WANTS("pins", "")), NULL, &q, NULL, (struct as_tool){ 0 }, &j);
		if (strcmp(outcome(&a, &j), rows[i].want) != 0)
			fail_msg("%s: expected %s, got %s", rows[i].known, rows[i].want, outcome(&a, &j));
	}
}

/* The sandbox that stands counts, not the one that the request names; and every program that the command starts must be one of the policy's. */
static void the_sandbox_that_stands_counts(void **state)
{
	static const char box[] =
		"{" HEAD
		",'coverage':'open','sandbox':{'actions':['EXECUTE_COMMAND'],'runtimes':['walls'],'commands':['ls','/opt/x'],'min_gas':0}}";
	static const struct {
		const char *known, *programs[2];
		bool is_unreadable;
		const char *want;
	} rows[] = {
		{ "{'sandbox':{'runtime':'walls'}}", { "ls" }, false, "ALLOW" },
		{ "{'sandbox':{'runtime':'walls'}}", { "/bin/ls", "/opt/x" }, false, "ALLOW" },
		{ "{'sandbox':{'runtime':'walls'}}", { "ls", "rm" }, false,
			"DENY SANDBOX_VIOLATION sandbox" },
		{ "{'sandbox':{'runtime':'walls'}}", { "/opt/y" }, false, "DENY SANDBOX_VIOLATION sandbox" },
		{ "{'sandbox':{'runtime':'walls'}}", { NULL }, false, "DENY SANDBOX_VIOLATION sandbox" },
		{ "{'sandbox':{'runtime':'walls'}}", { "ls" }, true, "DENY SANDBOX_VIOLATION sandbox" },
		{ "{'sandbox':{'runtime':'other'}}", { "ls" }, false, "DENY SANDBOX_VIOLATION sandbox" },
		{ "{'sandbox':{}}", { "ls" }, false, "DENY SANDBOX_VIOLATION sandbox" },
		{ "{}", { "ls" }, false, "DENY SANDBOX_VIOLATION sandbox" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		AUTO(arena_done) struct arena a = { 0 };
		struct step steps[2] = { { .head = rows[i].programs[0] }, { .head = rows[i].programs[1] } };
		const struct proposal p = { .readable = !rows[i].is_unreadable,
			.steps = steps,
			.step_count = rows[i].programs[1] ? 2 : 1 };
		const struct policy_question q = { .action = "EXECUTE_COMMAND",
			.principal = "p",
			.proposal = &p,
			.params = quoted(&a, "{'command':'ls'}"),
			.known = quoted(&a, rows[i].known),
			.now_us = 1 };
		struct judgement j;
		question_judge(&a, compiled(&a, box), NULL, &q, NULL, (struct as_tool){ 0 }, &j);
		if (strcmp(outcome(&a, &j), rows[i].want) != 0)
			fail_msg("row %zu: expected %s, got %s", i, rows[i].want, outcome(&a, &j));
	}
}

/* A check that can never be active is refused when the policy is read, and says what is missing. */
static void a_gate_that_can_never_be_active_is_refused(void **state)
{
	static const struct {
		const char *gate, *more, *member;
	} rows[] = { { "capability", "", "capability" }, { "delegation", "", "delegation" },
		{ "egress", "", "egress" }, { "mcp", "", "mcp" }, { "privilege", "", "privilege" },
		{ "taint", "", "taint" }, { "threat", "", "threat" }, { "sandbox", "", "sandbox" },
		{ "graph", "", "graph" }, { "schema", "", "schemas" }, { "requirements", "", "requirements" },
		{ "budget", "", "limits" }, { "velocity", "", "limits" }, { "envelope", "", "limits" },
		{ "budget", ",'limits':{'windows':[{'id':'w','limit':1,'seconds':1}]}", "limits.budgets" },
		{ "velocity", ",'limits':{'budgets':[{'id':'b','limit':1}]}", "limits.windows" },
		{ "envelope", ",'limits':{'budgets':[{'id':'b','limit':1}]}", "limits.envelope" } };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		AUTO(arena_done) struct arena a = { 0 };
		const char *policy =
			arena_printf(&a, "{" HEAD ",'requires_gates':['%s']%s}", rows[i].gate, rows[i].more);
		const char *why = compile_error(&a, policy);
		assert_non_null(strstr(why, "POLICY_GATE"));
		if (!strstr(why, arena_printf(&a, "without \"%s\"", rows[i].member)))
			fail_msg("%s: %s", policy, why);
	}
	AUTO(arena_done) struct arena a = { 0 };
	(void)compiled(
		&a, "{" HEAD ",'requires_gates':['budget'],'limits':{'budgets':[{'id':'b','limit':1}]}}");
	(void)compiled(
		&a, "{" HEAD ",'requires_gates':['stop','pins','tenant','provenance','verification','pdp']}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_graph_is_asked_about_every_request),
		cmocka_unit_test(what_is_stated_reaches_its_gate),
		cmocka_unit_test(pins_that_are_stated_hold),
		cmocka_unit_test(the_sandbox_that_stands_counts),
		cmocka_unit_test(a_gate_that_can_never_be_active_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
