/* policy_test.c — a workspace's guard_policy.json, sentence by sentence: what each member does, and that a mistake in any of
 * them is named and makes the whole file fail closed. */
#include "base/embed.h"
#include "base/hash.h"
#include "base/text.h"
#include "decide/decide.h"
#include "decide/policy/policy.h"
#include "tools/unit.h"

#include <string.h>

static struct arena a;
static struct profiles profiles;

static int begin(void **state)
{
	(void)state;
	profiles_builtin(&a, &profiles);
	return 0;
}

static int done(void **state)
{
	(void)state;
	arena_done(&a);
	a = (struct arena){ 0 };
	return 0;
}

/* The file's text without its version member: {"version": 1, MEMBERS}. */
static const struct policy *compile(const char *members, bool is_accepted)
{
	const char *text = arena_printf(&a, "{\"version\": 1, %s}", members);
	struct policy_source from = {
		.file = bytes_of(text), .file_name = "guard_policy.json", .override_accepted = is_accepted
	};

	return policy_compile(&a, &from);
}

static const struct policy *understood(const char *members)
{
	const struct policy *p = compile(members, false);

	if (policy_error(p))
		fail_msg("%s", policy_error(p));
	return p;
}

static struct decision judge_proposal(const struct policy *policy, const char *profile, struct proposal p)
{
	struct proposal *kept = arena_alloc(&a, sizeof(*kept));
	struct decide_context at = { .a = &a, .workspace = "/home/u/ws" };
	struct decision d;

	*kept = p;
	kept->readable = !p.unreadable_text;
	decide(policy, profiles_find(&profiles, profile), kept, &at, &d);
	return d;
}

static struct decision judge(const struct policy *policy, const char *profile, struct effect e)
{
	struct effect *kept = arena_alloc(&a, sizeof(*kept));

	*kept = e;
	return judge_proposal(policy, profile, (struct proposal){ .effects = kept, .effect_count = 1 });
}

static const struct policy *effect_rule(const char *when)
{
	return understood(arena_printf(
		&a, "\"absolute_deny\": [{\"id\": \"x\", \"type\": \"effect\", \"when\": %s}]", when));
}

/* ---- what a condition over effects means ---- */

static void a_condition_holds_only_for_what_it_names(void **state)
{
	static const struct effect here = { .kind = FX_READ,
		.tag = "read.file",
		.program = "cat",
		.target = "/home/u/ws/a",
		.resolved = "/srv/real/a",
		.path_class = PATH_IN,
		.certainty = CERTAIN,
		.flags = FXF_APPEND };
	static const struct {
		const char *when;
		bool holds;
	} cases[] = {
		{ "{}", true },
		{ "{\"kind\": \"read\"}", true },
		{ "{\"kind\": [\"write\", \"delete\"]}", false },
		{ "{\"program\": \"cat\"}", true },
		{ "{\"program\": [\"less\", \"c?t\"]}", true },
		{ "{\"program\": \"less\"}", false },
		{ "{\"tag\": \"read.*\"}", true },
		{ "{\"tag\": \"write.*\"}", false },
		{ "{\"target\": \"/home/u/ws/*\"}", true },
		{ "{\"target\": \"/srv/real/*\"}", true },
		{ "{\"target\": \"/srv/other/*\"}", false },
		{ "{\"profile\": \"inspect_local\"}", true },
		{ "{\"profile\": [\"service_ops\", \"risky_*\"]}", false },
		{ "{\"flags\": \"append\"}", true },
		{ "{\"flags\": [\"append\", \"force\"]}", false },
		{ "{\"not_flags\": \"force\"}", true },
		{ "{\"not_flags\": [\"force\", \"append\"]}", false },
		{ "{\"class\": [\"in\", \"tmp\"]}", true },
		{ "{\"class\": \"root\"}", false },
		{ "{\"not_class\": \"root\"}", true },
		{ "{\"not_class\": [\"in\"]}", false },
		{ "{\"certainty\": \"certain\"}", true },
		{ "{\"certainty\": \"dynamic\"}", false },
		{ "{\"where\": \"here\"}", true },
		{ "{\"where\": \"elsewhere\"}", false },
		{ "{\"where\": \"any\"}", true },
		{ "{\"above\": true}", false },
		{ "{\"profile_writes\": false}", true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct decision d = judge(effect_rule(cases[i].when), "inspect_local", here);
		if ((d.action == ACTION_DENY) != cases[i].holds)
			fail_msg("%s: %s", cases[i].when, action_name(d.action));
	}
}

/* An effect without a program or a target is not what a rule about programs or targets speaks of. */
static void a_rule_about_names_needs_a_name(void **state)
{
	static const struct effect nameless = { .kind = FX_READ };

	(void)state;
	assert_int_equal(
		judge(effect_rule("{\"program\": \"*\"}"), "inspect_local", nameless).action, ACTION_ALLOW);
	assert_int_equal(judge(effect_rule("{\"not_program\": \"rm\"}"), "inspect_local", nameless).action,
		ACTION_DENY);
	assert_int_equal(
		judge(effect_rule("{\"target\": \"**\"}"), "inspect_local", nameless).action, ACTION_ALLOW);
	assert_int_equal(
		judge(effect_rule("{\"tag\": \"*\"}"), "inspect_local", nameless).action, ACTION_ALLOW);
	assert_int_equal(
		judge(effect_rule("{\"above\": true}"), "inspect_local", nameless).action, ACTION_ALLOW);
}

/* "Above the workspace" is a question about a workspace. */
static void without_a_workspace_nothing_is_above_it(void **state)
{
	static const char when[] = "{\"kind\": \"read\", \"above\": true}";
	struct effect e = { .kind = FX_READ, .target = "/home/u" };
	struct proposal p = { .readable = true, .effects = &e, .effect_count = 1 };
	struct decide_context at = { .a = &a, .workspace = "/home/u/ws" };
	struct decision d;

	(void)state;
	decide(effect_rule(when), profiles_find(&profiles, "inspect_local"), &p, &at, &d);
	assert_int_equal(d.action, ACTION_DENY);
	at.workspace = NULL;
	decide(effect_rule(when), profiles_find(&profiles, "inspect_local"), &p, &at, &d);
	assert_int_equal(d.action, ACTION_ALLOW);
}

static void profile_writes_false_is_about_profiles_that_only_look(void **state)
{
	struct effect e = { .kind = FX_READ, .program = "cat" };
	const struct policy *p = effect_rule("{\"profile_writes\": false}");

	(void)state;
	assert_int_equal(judge(p, "inspect_local", e).action, ACTION_DENY);
	assert_int_equal(judge(p, "workspace_edit", e).action, ACTION_ALLOW);
}

/* A rule that names no kind speaks about every kind. */
static void a_rule_without_a_kind_holds_for_all_kinds(void **state)
{
	const struct policy *p = effect_rule("{\"target\": \"/home/u/ws/secret/**\"}");

	(void)state;
	for (int kind = 0; kind < FX_KIND_COUNT; kind++) {
		struct effect e = { .kind = (enum effect_kind)kind, .target = "/home/u/ws/secret/x" };
		assert_int_equal(judge(p, "service_ops", e).action, ACTION_DENY);
	}
}

/* The list a rule stands in is the least it does; the rule itself can only ask for more. */
static void the_list_is_the_least_a_rule_does(void **state)
{
	static const struct {
		const char *list, *action;
		enum rule_effect want;
	} cases[] = {
		{ "absolute_deny", "", ACTION_DENY },
		{ "absolute_deny", ", \"action\": \"warn\"", ACTION_DENY },
		{ "require_approval", "", ACTION_ASK },
		{ "require_approval", ", \"action\": \"allow\"", ACTION_ASK },
		{ "require_approval", ", \"action\": \"deny\"", ACTION_DENY },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct policy *p = understood(arena_printf(&a,
			"\"%s\": [{\"id\": \"x\", \"type\": \"effect\", \"when\": {\"kind\": \"read\"}%s}]",
			cases[i].list, cases[i].action));
		assert_int_equal(
			judge(p, "inspect_local", (struct effect){ .kind = FX_READ }).action, cases[i].want);
	}
}

static void a_rule_may_carry_a_reason_of_the_registry(void **state)
{
	const struct policy *p =
		understood("\"absolute_deny\": [{\"id\": \"x\", \"type\": \"effect\", \"reason\": "
			   "\"destructive\", \"when\": {\"kind\": \"read\"}}]");
	struct decision d = judge(p, "inspect_local", (struct effect){ .kind = FX_READ });

	(void)state;
	assert_int_equal(d.decisive->reason, REASON_destructive);
}

/* ---- what is refused ---- */

static void every_mistake_is_named(void **state)
{
	static const struct {
		const char *members, *why;
	} cases[] = {
		{ "\"absolute_deny\": [{\"id\": \"\", \"patterns\": [\"x\"]}]",
			"rule: must be an object with an 'id'" },
		{ "\"absolute_deny\": [{\"id\": \"x\", \"patterns\": [\"\"]}]",
			"x: a pattern must be a text and not empty" },
		{ "\"absolute_deny\": [{\"id\": \"x\", \"type\": \"effect\"}]",
			"rule 'x': must have an object: 'when'" },
		{ "\"absolute_deny\": [{\"id\": \"x\", \"type\": \"effect\", \"action\": \"shrug\", "
		  "\"when\": {}}]",
			"rule 'x': no such action: 'shrug'" },
		{ "\"absolute_deny\": [{\"id\": \"x\", \"type\": \"effect\", \"reason\": \"whim\", \"when\": "
		  "{}}]",
			"rule 'x': no such reason code: 'whim'" },
		{ "\"absolute_deny\": [{\"id\": \"x\", \"type\": \"effect\", \"undo\": true, \"when\": {}}]",
			"rule 'x': can only be 'checkpoint' or 'tree': 'undo'" },
		{ "\"absolute_deny\": [{\"id\": \"x\", \"type\": \"effect\", \"undo\": \"git\", \"when\": "
		  "{}}]",
			"rule 'x': can only be 'checkpoint' or 'tree': 'undo'" },
		{ "\"profile_rules\": {\"x\": 1}", "profile_rules: must hold objects" },
		{ "\"profile_rules\": {\"x\": {\"on_write\": 1}}",
			"profile_rules.x.on_write: must be allow" },
		{ "\"profile_rules\": {\"x\": {\"on_network\": \"no\"}}",
			"profile_rules.x.on_network: must be allow" },
		{ "\"profile_rules\": {\"x\": {\"on_destructive\": \"no\"}}",
			"profile_rules.x.on_destructive: must be" },
		{ "\"profile_rules\": {\"x\": {\"on_execute\": \"no\"}}",
			"profile_rules.x.on_execute: must be allow" },
		{ "\"profile_rules\": {\"x\": {\"writes_allowed\": \"false\"}}",
			"profile_rules.x.writes_allowed: must be true or false" },
		{ "\"profile_rules\": {\"x\": {\"network_allowed\": 0}}",
			"profile_rules.x.network_allowed: must be true or false" },
		{ "\"profile_rules\": {\"x\": {\"handoff_required\": \"yes\"}}",
			"profile_rules.x.handoff_required: must be true or false" },
		{ "\"override\": [\"risk.sudo\"]", "override: must be an object of rule ids and actions" },
		{ "\"override\": {\"risk.sudo\": true}", "risk.sudo: must name an action" },
		{ "\"override\": {\"risk.sudo\": \"shrug\"}", "risk.sudo: must name an action" },
		{ "\"default_guard_mode\": 1", "default_guard_mode: must be enforce, audit or off" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct policy *p = compile(cases[i].members, true);
		if (!policy_error(p) || !strstr(policy_error(p), cases[i].why))
			fail_msg("%s: %s", cases[i].members, policy_error(p) ? policy_error(p) : "taken");
		assert_int_equal(judge_proposal(p, "service_ops", (struct proposal){ 0 }).action, ACTION_ASK);
	}
}

/* A condition that is only half understood would hold less often than its author thinks. */
static void every_mistake_in_a_condition_is_named(void **state)
{
	static const struct {
		const char *when, *why;
	} cases[] = {
		{ "{\"kind\": []}", "must be a text or a list of texts: 'kind'" },
		{ "{\"kind\": 1}", "must be a text or a list of texts: 'kind'" },
		{ "{\"kind\": [\"write\", 1]}", "must be texts: 'kind'" },
		{ "{\"kind\": [\"write\", \"hug\"]}", "no such kind of effect: 'hug'" },
		{ "{\"flags\": \"fast\"}", "no such flag: 'fast'" },
		{ "{\"not_flags\": [\"force\", \"fast\"]}", "no such flag: 'fast'" },
		{ "{\"class\": \"moon\"}", "no such class of paths: 'moon'" },
		{ "{\"not_class\": \"moon\"}", "no such class of paths: 'moon'" },
		{ "{\"certainty\": \"maybe\"}", "no such certainty: 'maybe'" },
		{ "{\"where\": \"there\"}", "no such place (here, elsewhere, any): 'there'" },
		{ "{\"above\": \"true\"}", "must be true or false: 'above'" },
		{ "{\"not_above\": true}", "no such condition: 'not_above'" },
		{ "{\"not_\": \"x\"}", "no such condition: 'not_'" },
		{ "{\"profile_writes\": 1}", "must be true or false: 'profile_writes'" },
		{ "{\"contained\": \"yes\"}", "must be true or false: 'contained'" },
		{ "{\"tag\": [\"\", \"delete.*\"]}", "must not be empty: 'tag'" },
		{ "{\"weather\": \"rain\"}", "no such condition: 'weather'" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *members = arena_printf(&a,
			"\"absolute_deny\": [{\"id\": \"x\", \"type\": \"effect\", \"when\": %s}]",
			cases[i].when);
		const struct policy *p = compile(members, false);
		if (!policy_error(p) || !strstr(policy_error(p), cases[i].why))
			fail_msg("%s: %s", cases[i].when, policy_error(p) ? policy_error(p) : "taken");
	}
}

/* One mistake further on: nothing of the file may have been applied, not even an accepted override before it. */
static void a_file_with_a_mistake_changes_no_rule(void **state)
{
	const struct policy *whole = policy_compile(&a, NULL);
	const struct policy *p =
		compile("\"override\": {\"risk.git_clean\": \"allow\", \"risk.sudo\": \"shrug\"}", true);
	struct rule_view was, now;

	(void)state;
	assert_non_null(policy_error(p));
	assert_false(policy_wants_override(p));
	for (size_t i = 0; policy_rule(whole, i, &was); i++) {
		assert_true(policy_rule(p, i, &now));
		if (was.action != now.action)
			fail_msg("%s became %s", now.id, action_name(now.action));
	}
}

/* ---- overrides ---- */

static void an_override_is_only_wanted_when_it_lowers(void **state)
{
	(void)state;
	assert_false(policy_wants_override(
		compile("\"override\": {\"risk.git_clean\": \"require_approval\"}", false)));
	assert_false(policy_wants_override(compile("\"override\": {\"no.such_rule\": \"allow\"}", false)));
	assert_true(policy_wants_override(compile("\"override\": {\"risk.git_clean\": \"warn\"}", false)));
	/* to say about a rule that denies that it denies is no mistake */
	assert_null(policy_error(compile("\"override\": {\"deny.power\": \"deny\"}", false)));
}

/* ---- profile rules ---- */

static void profile_rules_speak_about_destruction(void **state)
{
	const struct policy *p =
		understood("\"profile_rules\": {\"risky_edit\": {\"on_destructive\": \"deny\"}}");
	struct effect clean = { .kind = FX_GIT, .tag = "git.clean", .program = "git" };
	struct effect look = { .kind = FX_READ, .program = "ls" };
	struct decision d = judge(p, "risky_edit", clean);

	(void)state;
	assert_int_equal(d.action, ACTION_DENY);
	assert_string_equal(d.detail_code, "profile.destructive");
	assert_int_equal(d.reason_code, REASON_INSUFFICIENT_PRIVILEGE);
	assert_int_equal(judge(p, "risky_edit", look).action, ACTION_ALLOW);
	p = understood(
		"\"profile_rules\": {\"risky_edit\": {\"on_destructive\": \"allow\", \"on_write\": null}}");
	assert_int_equal(judge(p, "risky_edit", clean).action, ACTION_ASK);
}

static void profile_rules_take_the_network_away(void **state)
{
	const struct policy *p =
		understood("\"profile_rules\": {\"service_ops\": {\"network_allowed\": false}}");
	struct effect get = { .kind = FX_NETWORK, .tag = "network.get", .target = "https://x" };
	struct decision d = judge(p, "service_ops", get);

	(void)state;
	assert_int_equal(d.action, ACTION_DENY);
	assert_string_equal(d.detail_code, "profile.network");
	/* the profile that would be recommended is this very one */
	assert_null(d.recommended_profile);
	p = understood("\"profile_rules\": {\"service_ops\": {\"network_allowed\": true, \"on_network\": "
		       "\"warn\"}}");
	assert_int_equal(judge(p, "service_ops", get).action, ACTION_WARN);
}

/* Where the workspace took the right to write away, no other profile is recommended for destroying things. */
static void nothing_is_recommended_for_what_the_workspace_took_away(void **state)
{
	const struct policy *p =
		understood("\"profile_rules\": {\"workspace_edit\": {\"writes_allowed\": false}}");
	struct effect e = { .kind = FX_DELETE,
		.tag = "delete.file",
		.program = "rm",
		.target = "/home/u/ws/d",
		.path_class = PATH_IN,
		.flags = FXF_RECURSIVE };
	struct decision d = judge(p, "workspace_edit", e);

	(void)state;
	assert_int_equal(d.action, ACTION_DENY);
	assert_true(d.destructive);
	assert_string_equal(d.detail_code, "profile.write");
}

/* ---- text rules ---- */

static void text_rules_look_at_every_text_of_the_command(void **state)
{
	const struct policy *p =
		understood("\"require_approval\": [{\"id\": \"x\", \"patterns\": [\"frobnicate\"]}]");
	struct source source = { .text = "x; Frobnicate y", .n = 15 };
	struct step step = { .text = "frobnicate" };

	(void)state;
	assert_int_equal(
		judge_proposal(p, "service_ops", (struct proposal){ .normalized_command = "a frobnicate" })
			.action,
		ACTION_ASK);
	assert_int_equal(judge_proposal(p, "service_ops",
				 (struct proposal){
					 .normalized_command = "sh -c", .shell_inner_command = "frobnicate" })
				 .action,
		ACTION_ASK);
	assert_int_equal(
		judge_proposal(p, "service_ops", (struct proposal){ .source = &source }).action, ACTION_ASK);
	assert_int_equal(
		judge_proposal(p, "service_ops", (struct proposal){ .steps = &step, .step_count = 1 }).action,
		ACTION_ASK);
	assert_int_equal(
		judge_proposal(p, "service_ops", (struct proposal){ .normalized_command = "frob" }).action,
		ACTION_ALLOW);
	/* of the source, only its own bytes */
	source.n = 10;
	assert_int_equal(judge_proposal(p, "service_ops", (struct proposal){ .source = &source }).action,
		ACTION_ALLOW);
}

static void a_regex_is_searched_without_regard_to_case(void **state)
{
	const struct policy *p = understood("\"absolute_deny\": [{\"id\": \"x\", \"type\": \"regex\", "
					    "\"patterns\": [\"^deploy\\\\s+prod\"]}]");

	(void)state;
	assert_int_equal(
		judge_proposal(p, "service_ops", (struct proposal){ .normalized_command = "Deploy  PROD" })
			.action,
		ACTION_DENY);
	assert_int_equal(
		judge_proposal(p, "service_ops", (struct proposal){ .normalized_command = "deploy test" })
			.action,
		ACTION_ALLOW);
}

/* Of a shipped list only what a person added is a new rule. */
static void a_pattern_added_to_a_shipped_list_is_kept(void **state)
{
	const struct policy *p = understood(
		"\"absolute_deny\": [{\"id\": \"deny.rm_root\", \"patterns\": [\"rm -rf /\", \"wipe it\"]}]");

	(void)state;
	assert_int_equal(judge_proposal(p, "service_ops",
				 (struct proposal){ .normalized_command = "grep 'rm -rf /' notes" })
				 .action,
		ACTION_ALLOW);
	assert_int_equal(
		judge_proposal(p, "service_ops", (struct proposal){ .normalized_command = "wipe it" }).action,
		ACTION_DENY);
}

static void blanks_around_the_bar_of_a_pattern_mean_nothing(void **state)
{
	static const char *const patterns[] = { "fetch|run", " fetch | run ", "fetch  |run", "fetch|  run" };
	static const struct {
		const char *text;
		enum rule_effect want;
	} cases[] = { { "fetch u | run", ACTION_DENY }, { "x | fetch u |run", ACTION_DENY },
		{ "fetch u |  ", ACTION_ALLOW }, { "fetch u || run", ACTION_ALLOW },
		{ "| run", ACTION_ALLOW } };

	(void)state;
	for (size_t k = 0; k < ARRAY_SIZE(patterns); k++) {
		const struct policy *p = understood(arena_printf(
			&a, "\"absolute_deny\": [{\"id\": \"x\", \"patterns\": [\"%s\"]}]", patterns[k]));
		for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
			struct proposal pr = { .normalized_command = cases[i].text };
			if (judge_proposal(p, "service_ops", pr).action != cases[i].want)
				fail_msg("'%s' on '%s'", patterns[k], cases[i].text);
		}
	}
}

/* "|run": whatever comes before. */
static void a_side_left_out_of_a_pipe_pattern_is_anything(void **state)
{
	static const struct {
		const char *pattern, *text;
		enum rule_effect want;
	} cases[] = { { "|run", "a |run", ACTION_DENY }, { " | run", "a| run", ACTION_DENY },
		{ "|run", "a | run", ACTION_DENY }, { "|run", "run", ACTION_ALLOW },
		{ "|run", "a | b run", ACTION_ALLOW }, { "fetch|  ", "fetch u | x", ACTION_DENY },
		{ "fetch|", "x | fetch", ACTION_ALLOW } };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct policy *p = understood(arena_printf(&a,
			"\"absolute_deny\": [{\"id\": \"x\", \"patterns\": [\"%s\"]}]", cases[i].pattern));
		struct proposal pr = { .normalized_command = cases[i].text };
		if (judge_proposal(p, "service_ops", pr).action != cases[i].want)
			fail_msg("'%s' on '%s'", cases[i].pattern, cases[i].text);
	}
}

/* A description may name the effect as shipped texts do; about a whole command there is none to name. */
static void a_description_never_shows_its_braces(void **state)
{
	const struct policy *p = understood("\"absolute_deny\": [{\"id\": \"x\", \"patterns\": [\"frob\"], "
					    "\"description\": \"{program} on {target} {here}\"}]");
	struct decision d =
		judge_proposal(p, "service_ops", (struct proposal){ .normalized_command = "frob" });

	(void)state;
	assert_string_equal(d.summary,
		"a rule of this workspace speaks: the command on something that is not named {here}");
}

/* A sentence about an effect that has no operand does not speak of one. */
static void a_text_names_nothing_where_there_is_nothing(void **state)
{
	static const struct {
		const char *text, *want;
	} cases[] = { { "no cats: {target}", "no cats" }, { "no cats ({target})", "no cats" },
		{ "{program} ({target}), never", "cat, never" },
		{ "{target}", "something that is not named" },
		{ "({target})", "(something that is not named)" },
		{ ": {target}", ": something that is not named" },
		{ "on {target}", "on something that is not named" },
		{ "[{target})", "[something that is not named)" },
		{ "see [{target})", "see [something that is not named)" },
		{ "of {target} or so", "of something that is not named or so" } };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct policy *p = understood(arena_printf(&a,
			"\"absolute_deny\": [{\"id\": \"x\", \"type\": \"effect\", \"text\": \"%s\", "
			"\"when\": {}}]",
			cases[i].text));
		struct decision d =
			judge(p, "inspect_local", (struct effect){ .kind = FX_READ, .program = "cat" });
		assert_string_equal(d.summary, cases[i].want);
	}
}

/* ---- what `guard rules` shows ---- */

static void rules_of_the_file_are_listed_after_the_shipped_ones(void **state)
{
	const struct policy *p = understood(
		"\"absolute_deny\": [{\"id\": \"x.deny\", \"patterns\": [\"a\"], \"description\": \"no a\"}],"
		"\"require_approval\": [{\"id\": \"x.ask\", \"patterns\": [\"b\"], \"recommended_profile\": "
		"\"risky_edit\"}]");
	struct rule_view r;
	size_t n = 0;

	(void)state;
	while (policy_rule(p, n, &r) && text_eq(r.origin, "built-in"))
		n++;
	assert_string_equal(r.id, "x.deny");
	assert_string_equal(r.text, "no a");
	assert_int_equal(r.action, ACTION_DENY);
	assert_int_equal(r.reason, REASON_absolute_deny);
	assert_string_equal(json_text(json_at(r.patterns, 0)), "a");
	assert_true(policy_rule(p, n + 1, &r));
	assert_string_equal(r.id, "x.ask");
	assert_int_equal(r.reason, REASON_approval_rules);
	assert_string_equal(r.recommended_profile, "risky_edit");
	assert_false(policy_rule(p, n + 2, &r));
}

/* The hash names what was decided by: the shipped rules, and the file where there is one. */
static void the_hash_is_of_everything_it_was_made_from(void **state)
{
	const char *shipped = policy_sha256(&a, NULL);
	const char *one = policy_sha256(&a, understood("\"allow_guard_off\": true"));

	(void)state;
	assert_int_equal(strlen(shipped), 64);
	assert_string_equal(policy_sha256(&a, policy_compile(&a, NULL)), shipped);
	assert_string_not_equal(one, shipped);
	assert_string_not_equal(policy_sha256(&a, understood("\"allow_guard_off\":  true")), one);
}

/* What the build made of the shipped file is what stands there. */
static void the_shipped_rules_are_those_of_the_file(void **state)
{
	static char text[1 << 17];
	FILE *f = fopen("share/guard_rules.json", "r");
	struct json *doc;
	struct rule_view r;
	size_t n = 0;
	const struct policy *shipped = policy_compile(&a, NULL);

	(void)state;
	assert_non_null(f);
	size_t bytes = fread(text, 1, sizeof(text), f);
	fclose(f);
	assert_int_equal(
		json_parse(&a, (struct bytes){ (const uint8_t *)text, bytes }, "rules", NULL, &doc, NULL),
		OK);
	json_each (rule, json_get(doc, "rules")) {
		assert_true(policy_rule(shipped, n++, &r));
		assert_string_equal(r.id, json_get_text(rule, "id", ""));
		assert_string_equal(r.text, json_get_text(rule, "text", ""));
		assert_true(json_eq(r.when, json_get(rule, "when")));
		assert_string_equal(r.origin, "built-in");
		assert_string_equal(action_name(r.action), json_get_text(rule, "action", ""));
		const char *instead = json_get_text(rule, "instead", ""),
			   *profile = json_get_text(rule, "profile", "");
		assert_string_equal(r.instead ? r.instead : "", instead);
		assert_string_equal(r.recommended_profile ? r.recommended_profile : "", profile);
	}
	assert_false(policy_rule(shipped, n, &r));
	struct bytes inside;
	assert_true(embed_find("share/guard_rules.json", &inside));
	assert_true(bytes_eq(inside, (struct bytes){ (const uint8_t *)text, bytes }));
	assert_string_equal(policy_sha256(&a, NULL), sha256_hex(&a, text, bytes));
}

/* The list of rules for a kind leaves out none: a rule of each kind speaks as the whole list would. */
static void a_kind_has_all_its_rules(void **state)
{
	(void)state;
	for (size_t kind = 0; kind < FX_KIND_COUNT; kind++) {
		size_t at = shipped_kind_start[kind];
		for (size_t i = 0; i < shipped_rule_count; i++)
			if (shipped_rules[i].when.kinds >> kind & 1)
				assert_int_equal(shipped_by_kind[at++], i);
		assert_int_equal(at, shipped_kind_start[kind + 1]);
	}
}

/* ---- size ---- */

static const struct policy *with_many_rules(size_t n)
{
	struct buf b;

	buf_init(&b, &a);
	buf_adds(&b, "\"absolute_deny\": [");
	for (size_t i = 0; i < n; i++)
		buf_adds(&b, "{\"id\":\"x\",\"type\":\"effect\",\"when\":{\"kind\":\"power\"}},");
	buf_adds(&b, "{\"id\":\"last\",\"type\":\"effect\",\"when\":{\"kind\":\"read\"}}]");
	return compile(b.p, false);
}

static void a_file_may_hold_many_rules_and_not_too_many(void **state)
{
	const struct policy *p = with_many_rules(1000);

	(void)state;
	assert_null(policy_error(p));
	assert_string_equal(
		judge(p, "inspect_local", (struct effect){ .kind = FX_READ }).detail_code, "last");
	p = with_many_rules(60000);
	assert_non_null(strstr(policy_error(p), "too many rules"));
	assert_int_equal(
		judge(p, "inspect_local", (struct effect){ .kind = FX_POWER, .tag = "power.off" }).action,
		ACTION_DENY);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_condition_holds_only_for_what_it_names),
		cmocka_unit_test(a_rule_about_names_needs_a_name),
		cmocka_unit_test(without_a_workspace_nothing_is_above_it),
		cmocka_unit_test(profile_writes_false_is_about_profiles_that_only_look),
		cmocka_unit_test(a_rule_without_a_kind_holds_for_all_kinds),
		cmocka_unit_test(the_list_is_the_least_a_rule_does),
		cmocka_unit_test(a_rule_may_carry_a_reason_of_the_registry),
		cmocka_unit_test(every_mistake_is_named),
		cmocka_unit_test(every_mistake_in_a_condition_is_named),
		cmocka_unit_test(a_file_with_a_mistake_changes_no_rule),
		cmocka_unit_test(an_override_is_only_wanted_when_it_lowers),
		cmocka_unit_test(profile_rules_speak_about_destruction),
		cmocka_unit_test(profile_rules_take_the_network_away),
		cmocka_unit_test(nothing_is_recommended_for_what_the_workspace_took_away),
		cmocka_unit_test(text_rules_look_at_every_text_of_the_command),
		cmocka_unit_test(a_regex_is_searched_without_regard_to_case),
		cmocka_unit_test(a_pattern_added_to_a_shipped_list_is_kept),
		cmocka_unit_test(blanks_around_the_bar_of_a_pattern_mean_nothing),
		cmocka_unit_test(a_side_left_out_of_a_pipe_pattern_is_anything),
		cmocka_unit_test(a_description_never_shows_its_braces),
		cmocka_unit_test(a_text_names_nothing_where_there_is_nothing),
		cmocka_unit_test(rules_of_the_file_are_listed_after_the_shipped_ones),
		cmocka_unit_test(the_hash_is_of_everything_it_was_made_from),
		cmocka_unit_test(the_shipped_rules_are_those_of_the_file),
		cmocka_unit_test(a_kind_has_all_its_rules),
		cmocka_unit_test(a_file_may_hold_many_rules_and_not_too_many),
	};
	return cmocka_run_group_tests_name("policy", tests, begin, done);
}
