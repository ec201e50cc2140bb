/* decide_test.c — the ladder, on effects made by hand: what each tag means, what files may add, what can never be lowered. */
#include "decide/decide.h"

#include "base/text.h"
#include "tools/reasons.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

static struct arena a;
static struct profiles profiles;
static const struct policy *shipped;

static int begin(void **state)
{
	(void)state;
	profiles_builtin(&a, &profiles);
	shipped = policy_compile(&a, NULL);
	return 0;
}

static int done(void **state)
{
	(void)state;
	arena_done(&a);
	a = (struct arena){ 0 };
	return 0;
}

static const struct policy *with_file(const char *text, bool is_accepted)
{
	struct policy_source from = {
		.file = bytes_of(text), .file_name = "guard_policy.json", .override_accepted = is_accepted
	};
	return policy_compile(&a, &from);
}

static struct decision judge(
	const struct policy *policy, const char *profile, const struct effect *effects, size_t n)
{
	struct source *source = arena_zalloc(&a, 1, sizeof(*source));
	struct proposal *p = arena_zalloc(&a, 1, sizeof(*p));
	struct decide_context at = { .a = &a, .workspace = "/home/u/ws" };
	struct decision d;

	*source = (struct source){ .text = "the text", .n = 8 };
	*p = (struct proposal){ .readable = true,
		.source = source,
		.normalized_command = "the text",
		.effect_count = n,
		.effects = arena_zalloc(&a, n + 1, sizeof(struct effect)) };
	if (n)
		memcpy(p->effects, effects, n * sizeof(*effects));
	decide(policy, profiles_find(&profiles, profile), p, &at, &d);
	return d;
}

static struct decision one(const char *profile, struct effect e)
{
	return judge(shipped, profile, &e, 1);
}

/* Every tag that exists, with what the table of effects says it is meant for. */
static const struct {
	const char *tag;
	enum effect_kind kind;
	const char *meant;
} tags[] = {
#define X(id, tag, kind, meant, meaning, example) { tag, FX_##kind, meant },
#include "propose/programs/tags.def"
#undef X
};

static void rules_name_only_tags_that_exist(void **state)
{
	struct rule_view r;

	(void)state;
	for (size_t i = 0; policy_rule(shipped, i, &r); i++)
		json_each (glob, json_get(r.when, "tag")) {
			bool is_known = false;
			for (size_t t = 0; t < ARRAY_SIZE(tags); t++)
				is_known |= text_glob(json_text(glob), tags[t].tag, false);
			if (!is_known)
				fail_msg("rule %s: no tag is '%s'", r.id, json_text(glob));
		}
}

/* A tag meant for asking or denying is stopped under a profile that may write, whatever its flags; a note is not. */
static void every_tag_is_judged_as_meant(void **state)
{
	(void)state;
	for (size_t t = 0; t < ARRAY_SIZE(tags); t++) {
		struct effect e = {
			.kind = tags[t].kind, .tag = tags[t].tag, .program = "prog", .target = "x"
		};
		struct decision d = one("service_ops", e);
		if (text_eq(tags[t].meant, "deny") && d.action != ACTION_DENY)
			fail_msg("%s is meant to be denied, is %s", tags[t].tag, action_name(d.action));
		if (text_eq(tags[t].meant, "ask") && d.action < ACTION_ASK)
			fail_msg("%s is meant to be asked about, is %s", tags[t].tag, action_name(d.action));
		if (text_eq(tags[t].meant, "note") && d.action >= ACTION_ASK)
			fail_msg("%s is only a note, is %s", tags[t].tag, action_name(d.action));
	}
}

/* What is stopped says what was understood, which rule spoke and why, and fits the registry. */
static void every_refusal_explains_itself(void **state)
{
	(void)state;
	for (size_t p = 0; p < profiles.count; p++)
		for (size_t t = 0; t < ARRAY_SIZE(tags); t++) {
			struct effect e = {
				.kind = tags[t].kind, .tag = tags[t].tag, .program = "prog", .target = "x"
			};
			struct decision d = one(profiles.list[p].name, e);
			if (d.verdict == V_ALLOW)
				continue;
			assert_true(reason_fits(reason_get(d.reason_code), d.verdict));
			assert_non_null(d.detail_code);
			assert_true(strlen(d.summary) > 10);
			assert_null(strchr(d.summary, '{'));
			assert_true(d.finding_count > 0);
		}
}

static void paths_decide_deletes(void **state)
{
	static const struct {
		enum path_class class;
		unsigned flags;
		enum certainty certainty;
		enum rule_effect want;
		const char *rule;
	} cases[] = {
		{ PATH_ROOT, FXF_RECURSIVE, CERTAIN, ACTION_DENY, "deny.rm_root" },
		{ PATH_SYS, FXF_RECURSIVE, CERTAIN, ACTION_DENY, "deny.rm_root" },
		{ PATH_OUT, FXF_RECURSIVE, CERTAIN, ACTION_DENY, "deny.rm_root" },
		{ PATH_HOME, FXF_RECURSIVE, CERTAIN, ACTION_DENY, "deny.rm_home" },
		{ PATH_UP, FXF_RECURSIVE, CERTAIN, ACTION_DENY, "deny.rm_parent_escape" },
		{ PATH_STATE, 0, CERTAIN, ACTION_DENY, "deny.state_tamper" },
		{ PATH_IN, FXF_RECURSIVE, CERTAIN, ACTION_ASK, "risk.rm_recursive_workspace" },
		{ PATH_TMP, FXF_RECURSIVE, CERTAIN, ACTION_ASK, "risk.rm_recursive_workspace" },
		{ PATH_NONE, FXF_RECURSIVE, DYNAMIC, ACTION_ASK, "risk.dynamic_target" },
		{ PATH_NONE, FXF_RECURSIVE | FXF_UNSET_ROOT, DYNAMIC, ACTION_DENY, "deny.unset_root" },
		{ PATH_IN, FXF_RECURSIVE | FXF_PRIVILEGED, CERTAIN, ACTION_DENY, "deny.sudo_destructive" },
		{ PATH_IN, 0, CERTAIN, ACTION_WARN, "score.medium" },
		{ PATH_TMP, 0, CERTAIN, ACTION_WARN, "score.medium" },
		{ PATH_HOME, 0, CERTAIN, ACTION_ASK, "risk.delete_outside" },
		{ PATH_SYS, 0, CERTAIN, ACTION_ASK, "risk.delete_outside" },
		{ PATH_OUT, FXF_RECURSIVE | FXF_INSIDE_CONTAINER, CERTAIN, ACTION_ASK,
			"risk.container_delete" },
		{ PATH_OUT, FXF_RECURSIVE | FXF_INSIDE_CONTAINER | FXF_HOST_MOUNT, CERTAIN, ACTION_DENY,
			"deny.rm_root" },
		{ PATH_ROOT, FXF_RECURSIVE | FXF_DRY_RUN, CERTAIN, ACTION_ALLOW, NULL },
		{ PATH_ROOT, FXF_RECURSIVE | FXF_DECODED, CERTAIN, ACTION_ALLOW, NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct effect e = { .kind = FX_DELETE,
			.tag = "delete.file",
			.program = "rm",
			.target = "/t",
			.path_class = cases[i].class,
			.flags = cases[i].flags,
			.certainty = cases[i].certainty };
		struct decision d = one("risky_edit", e);
		if (d.action != cases[i].want)
			fail_msg("case %zu: %s", i, action_name(d.action));
		if (cases[i].rule)
			assert_string_equal(d.decisive->rule, cases[i].rule);
		else
			assert_null(d.decisive);
	}
}

static void a_search_from_the_workspace_asks_and_from_above_denies(void **state)
{
	struct effect e = { .kind = FX_DELETE,
		.tag = "delete.find",
		.program = "find",
		.path_class = PATH_UP,
		.target = "/home/u/ws" };

	(void)state;
	assert_int_equal(one("risky_edit", e).action, ACTION_ASK);
	e.target = "/home/u";
	assert_int_equal(one("risky_edit", e).action, ACTION_DENY);
}

static void profiles_give_and_take_rights(void **state)
{
	struct effect write = { .kind = FX_WRITE, .tag = "write.file", .target = "f", .path_class = PATH_IN };
	struct effect sink = { .kind = FX_WRITE, .tag = "write.redirect", .path_class = PATH_SINK };
	struct effect get = { .kind = FX_NETWORK, .tag = "network.get", .target = "https://x" };
	struct effect look = { .kind = FX_REMOTE, .tag = "remote.read", .target = "cluster" };
	struct effect unknown = { .kind = FX_UNKNOWN, .tag = "unknown.program", .program = "frob" };

	(void)state;
	assert_int_equal(one("inspect_local", write).action, ACTION_DENY);
	assert_string_equal(one("inspect_local", write).detail_code, "profile.write");
	assert_string_equal(one("inspect_local", write).recommended_profile, "workspace_edit");
	assert_int_equal(one("workspace_edit", write).action, ACTION_WARN);
	assert_int_equal(one("inspect_local", sink).action, ACTION_ALLOW);
	assert_int_equal(one("workspace_edit", get).action, ACTION_DENY);
	assert_int_equal(one("risky_edit", get).action, ACTION_DENY);
	assert_int_equal(one("service_ops", get).action, ACTION_ALLOW);
	assert_int_equal(one("workspace_edit", look).action, ACTION_WARN);
	assert_int_equal(one("workspace_edit", look).verdict, V_ALLOW);
	assert_int_equal(one("inspect_local", unknown).action, ACTION_ASK);
	assert_int_equal(one("workspace_edit", unknown).action, ACTION_ASK);
	assert_string_equal(one("workspace_edit", unknown).detail_code, "profile.unknown_tool");
	assert_int_equal(judge(shipped, "remote_handoff", NULL, 0).action, ACTION_ASK);
	assert_int_equal(one("remote_handoff", write).action, ACTION_ASK);
}

/* Of what rules have in mind only that stays which permits it. */
static void advice_leads_somewhere(void **state)
{
	struct effect write = { .kind = FX_WRITE, .tag = "write.file", .target = "f", .path_class = PATH_IN };
	struct effect wipe = { .kind = FX_DELETE,
		.tag = "delete.file",
		.target = "d",
		.path_class = PATH_IN,
		.certainty = CERTAIN,
		.flags = FXF_RECURSIVE };
	struct effect look = { .kind = FX_READ, .tag = "read.file", .target = "f", .path_class = PATH_IN };
	struct decide_context at = { .a = &a, .workspace = "/home/u/ws" };
	struct profiles none = { 0 };
	struct decision d = one("inspect_local", write);

	(void)state;
	decide_advice(shipped, &profiles, d.proposal, &at, &d);
	assert_string_equal(d.recommended_profile, "workspace_edit");
	decide_advice(shipped, &none, d.proposal, &at, &d);
	assert_null(d.recommended_profile);
	d = one("workspace_edit", wipe);
	assert_string_equal(d.recommended_profile, "risky_edit");
	decide_advice(shipped, &profiles, d.proposal, &at, &d);
	assert_null(d.recommended_profile);
	d = one("workspace_edit", look);
	decide_advice(shipped, &profiles, d.proposal, &at, &d);
	assert_null(d.recommended_profile);
}

/* The guard asks, but the profile denies the group: an approval could not lift it. */
static void a_denied_tool_group_denies(void **state)
{
	struct effect drop = { .kind = FX_DATABASE, .tag = "sql.drop", .program = "psql", .target = "t" };
	struct decision d = one("inspect_local", drop);
	struct buf b;

	(void)state;
	assert_int_equal(d.action, ACTION_ASK);
	assert_int_equal(d.verdict, V_DENY);
	assert_int_equal(decision_exit(&d), 25);
	assert_string_equal(d.detail_code, "tool_grant");
	buf_init(&b, &a);
	json_write(&b, json_get(decision_to_json(&a, &d), "tool_grant"), 0);
	assert_non_null(
		strstr(b.p, "\"violation\":{\"denied_used\":[\"external_network\",\"apply_patch\"]}"));
}

static void modes_change_what_happens_not_what_is_said(void **state)
{
	struct effect e = { .kind = FX_POWER, .tag = "power.off", .program = "reboot" };
	struct decision d = one("risky_edit", e);

	(void)state;
	assert_int_equal(decision_exit(&d), 25);
	d.mode = GUARD_AUDIT;
	assert_int_equal(d.verdict, V_DENY);
	assert_int_equal(decision_effective(&d), V_ALLOW);
	assert_int_equal(decision_exit(&d), 0);
	d.mode = GUARD_OFF;
	assert_false(json_get_bool(decision_to_json(&a, &d), "enabled", true));
}

static void unreadable_is_never_allowed(void **state)
{
	struct proposal p = {
		.readable = false, .unreadable_code = "depth_limit", .unreadable_text = "too deep"
	};
	struct decide_context at = { .a = &a };
	struct decision d;

	(void)state;
	decide(shipped, profiles_find(&profiles, "service_ops"), &p, &at, &d);
	assert_int_equal(d.action, ACTION_ASK);
	assert_int_equal(d.verdict, V_ESCALATE);
	assert_int_equal(d.findings[0].reason, REASON_depth_limit);
	assert_non_null(decision_to_json(&a, &d));
}

/* A reader that only says "unreadable" is believed, and the answer still has a reason and a remedy. */
static void unreadable_without_a_reason_is_asked_about(void **state)
{
	struct proposal p = { .readable = false };
	struct decide_context at = { .a = &a };
	struct decision d;

	(void)state;
	decide(shipped, profiles_find(&profiles, "service_ops"), &p, &at, &d);
	assert_int_equal(d.verdict, V_ESCALATE);
	assert_string_equal(d.detail_code, "read.parse_error");
	assert_string_equal(d.summary, "the text could not be read as a command");
	assert_string_equal(d.decisive->instead, "correct the syntax");
}

/* Small things that no rule stops add up until a person is asked, and the answer names them. */
static void many_small_risks_add_up_to_a_question(void **state)
{
	struct effect both[] = {
		{ .kind = FX_WRITE, .tag = "write.file", .target = "f", .path_class = PATH_IN },
		{ .kind = FX_NETWORK, .tag = "network.get", .target = "https://x", .step = 1 },
		{ .kind = FX_REMOTE, .tag = "remote.other", .target = "host", .step = 2 },
	};
	struct decision d = judge(shipped, "service_ops", both, 2);

	(void)state;
	assert_int_equal(d.action, ACTION_WARN);
	assert_string_equal(d.detail_code, "score.medium");
	d = judge(shipped, "service_ops", both, 3);
	assert_int_equal(d.action, ACTION_ASK);
	assert_string_equal(d.detail_code, "score.high");
	assert_string_equal(
		d.decisive->text, "risk score 1.00: write detected, network detected, remote detected");
}

static void bad_policy_files_fail_closed(void **state)
{
	static const char *const texts[] = { "", "nonsense", "[]", "{}", "{\"version\": 2}",
		"{\"version\": \"1\"}", "{\"version\": 1, \"absolute_deny\": {}}",
		"{\"version\": 1, \"require_approval\": \"x\"}", "{\"version\": 1, \"absolute_deny\": [1]}",
		"{\"version\": 1, \"absolute_deny\": [{\"id\": \"x\"}]}",
		"{\"version\": 1, \"absolute_deny\": [{\"patterns\": [\"x\"]}]}",
		"{\"version\": 1, \"absolute_deny\": [{\"id\": \"x\", \"patterns\": [1]}]}",
		"{\"version\": 1, \"absolute_deny\": [{\"id\": \"x\", \"type\": \"regex\", \"patterns\": "
		"[\"(\"]}]}",
		"{\"version\": 1, \"absolute_deny\": [{\"id\": \"x\", \"type\": \"magic\", \"patterns\": "
		"[\"x\"]}]}",
		"{\"version\": 1, \"absolute_deny\": [{\"id\": \"x\", \"type\": \"effect\", \"when\": "
		"{\"kind\": \"hug\"}}]}",
		"{\"version\": 1, \"absolute_deny\": [{\"id\": \"x\", \"type\": \"effect\", \"when\": "
		"{\"mood\": \"x\"}}]}",
		"{\"version\": 1, \"default_guard_mode\": \"maybe\"}",
		"{\"version\": 1, \"allow_guard_off\": 1}", "{\"version\": 1, \"profile_rules\": []}",
		"{\"version\": 1, \"profile_rules\": {\"x\": {\"on_write\": \"shrug\"}}}",
		"{\"version\": 1, \"override\": {\"deny.rm_root\": \"allow\"}}" };
	struct effect root = { .kind = FX_POWER, .tag = "power.off" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		const struct policy *p = with_file(texts[i], true);
		struct decision d = judge(p, "service_ops", NULL, 0);
		if (!policy_error(p) || policy_version(p) != 0)
			fail_msg("file %zu was taken", i);
		assert_int_equal(d.action, ACTION_ASK);
		assert_string_equal(d.decisive->rule, "fail_closed.all");
		assert_int_equal(judge(p, "service_ops", &root, 1).action, ACTION_DENY);
	}
}

static void an_unreadable_policy_fails_closed(void **state)
{
	struct policy_source from = { .file_name = "guard_policy.json", .read_error = "permission denied" };

	(void)state;
	assert_int_equal(judge(policy_compile(&a, &from), "service_ops", NULL, 0).action, ACTION_ASK);
	assert_false(policy_permits_off(policy_compile(&a, &from)));
	/* What a file permits counts only when all of it was understood. */
	assert_true(policy_permits_off(with_file("{\"version\": 1, \"allow_guard_off\": true}", false)));
	assert_false(policy_permits_off(
		with_file("{\"version\": 1, \"allow_guard_off\": true, \"absolute_deny\": {}}", false)));
}

static void files_add_text_and_effect_rules(void **state)
{
	const struct policy *p =
		with_file("{\"version\": 1, \"default_guard_mode\": \"audit\", \"allow_guard_off\": false,"
			  "\"absolute_deny\": [{\"id\": \"x.text\", \"patterns\": [\"THE TEXT\"]}],"
			  "\"require_approval\": [{\"id\": \"x.docs\", \"type\": \"effect\","
			  "  \"when\": {\"kind\": \"write\", \"target\": \"/home/u/ws/docs/**\"}}]}",
			false);
	struct effect e = { .kind = FX_WRITE, .target = "/home/u/ws/docs/a/b.md", .path_class = PATH_IN };
	struct decision d = judge(p, "workspace_edit", &e, 1);

	(void)state;
	assert_null(policy_error(p));
	assert_int_equal(policy_default_mode(p), GUARD_AUDIT);
	assert_false(policy_permits_off(p));
	assert_int_equal(d.action, ACTION_DENY);
	assert_string_equal(d.findings[0].rule, "x.text");
	assert_string_equal(d.findings[1].rule, "x.docs");
}

/* A file may raise a rule of its own as it may raise a shipped one. */
static void a_file_raises_its_own_rule(void **state)
{
	static const char *const overrides[] = { "{}", "{\"x.docs\": \"deny\"}" };
	struct effect e = { .kind = FX_WRITE, .target = "/home/u/ws/docs/a", .path_class = PATH_IN };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(overrides); i++) {
		const struct policy *p = with_file(
			arena_printf(&a,
				"{\"version\": 1, \"override\": %s, \"require_approval\": [{\"id\": "
				"\"x.docs\", \"type\": \"effect\", \"when\": {\"kind\": "
				"\"write\", \"target\": \"/home/u/ws/docs/**\"}}]}",
				overrides[i]),
			false);
		assert_null(policy_error(p));
		assert_int_equal(judge(p, "workspace_edit", &e, 1).action, i ? ACTION_DENY : ACTION_ASK);
	}
}

/* Only a denial is the worst there is: a text that asks is scored by what the command does. */
static void a_text_rule_that_asks_is_no_denial(void **state)
{
	static const char *const lists[] = { "absolute_deny", "require_approval" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		const struct policy *p = with_file(
			arena_printf(&a,
				"{\"version\": 1, \"%s\": [{\"id\": \"x\", \"patterns\": [\"the text\"]}]}",
				lists[i]),
			false);
		struct effect e = { .kind = FX_READ, .target = "/home/u/ws/a", .path_class = PATH_IN };
		struct decision d = judge(p, "workspace_edit", &e, 1);
		assert_int_equal(d.action, i == 0 ? ACTION_DENY : ACTION_ASK);
		if (i == 0)
			assert_int_equal(d.score_hundredths, 100);
		else
			assert_true(d.score_hundredths < 100);
	}
}

/* A rule is said once about one step, however many operands it has; about another step it is said again. */
static void a_rule_speaks_once_about_one_step(void **state)
{
	struct effect twice[2] = { { .kind = FX_DELETE,
					   .tag = "delete.glob",
					   .program = "rm",
					   .target = "/home/u/ws/a",
					   .path_class = PATH_IN },
		{ .kind = FX_DELETE,
			.tag = "delete.glob",
			.program = "rm",
			.target = "/home/u/ws/a",
			.path_class = PATH_IN } };
	struct decision once = judge(shipped, "workspace_edit", twice, 1),
			same = judge(shipped, "workspace_edit", twice, 2);

	(void)state;
	assert_true(once.finding_count > 0);
	assert_int_equal(same.finding_count, once.finding_count);
	twice[1].step = 1;
	assert_true(judge(shipped, "workspace_edit", twice, 2).finding_count > once.finding_count);
}

/* What was decoded only to be shown is shown, and judges nothing. */
static void decoded_text_is_shown_and_not_judged(void **state)
{
	struct decision d = one("workspace_edit",
		(struct effect){ .kind = FX_DELETE,
			.tag = "delete.glob",
			.program = "rm",
			.target = "/",
			.path_class = PATH_ROOT,
			.flags = FXF_DECODED | FXF_RECURSIVE });

	(void)state;
	assert_int_equal(d.action, ACTION_ALLOW);
	assert_int_equal(d.finding_count, 1);
	assert_string_equal(d.findings[0].rule, "note.decoded_payload");
	assert_non_null(strstr(d.findings[0].text, "holds rm on /"));
}

static bool has_category(const struct decision *d, const char *name)
{
	for (size_t i = 0; i < d->category_count; i++)
		if (text_eq(d->categories[i], name))
			return true;
	return false;
}

static void categories_say_what_is_done(void **state)
{
	struct effect e = {
		.kind = FX_WRITE, .tag = "write.file", .target = "/home/u/ws/a", .path_class = PATH_IN
	};
	struct decision d = judge(shipped, "workspace_edit", &e, 1);

	(void)state;
	assert_true(has_category(&d, "write"));
	assert_false(has_category(&d, "network"));
	e = (struct effect){ .kind = FX_NETWORK, .target = "a.example" };
	d = judge(shipped, "workspace_edit", &e, 1);
	assert_true(has_category(&d, "network"));
	assert_false(has_category(&d, "write"));
	d = judge(shipped, "workspace_edit", NULL, 0);
	assert_int_equal(d.category_count, 1);
	assert_true(has_category(&d, "unknown"));
}

/* Outside begins right after the temporary places: the first class beyond them counts as an escape. */
static void a_write_outside_is_an_escape(void **state)
{
	struct effect e = { .kind = FX_WRITE, .tag = "write.file", .target = "/x/a", .path_class = PATH_TMP };
	int inside = judge(shipped, "workspace_edit", &e, 1).score_hundredths;

	(void)state;
	e.path_class = PATH_OUT;
	assert_true(judge(shipped, "workspace_edit", &e, 1).score_hundredths >= inside + 30);
}

/* A profile that only inspects never has effects that change something without writing a file; each group is named once. */
static void who_inspects_changes_nothing(void **state)
{
	static const enum effect_kind kinds[] = { FX_CRON, FX_FIREWALL, FX_ACCOUNT, FX_KERNEL, FX_POWER,
		FX_PROCESS, FX_CONTAINER };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct effect e[2] = { { .kind = kinds[i] }, { .kind = kinds[i] } };
		struct decision d = judge(shipped, "inspect_local", e, 2);
		assert_int_equal(d.used_count, 1);
		assert_int_equal(d.used[0], GROUP_APPLY_PATCH);
		assert_true(d.has_denied_group);
		assert_int_equal(judge(shipped, "workspace_edit", e, 2).used_count, 0);
	}
}

static void a_pipe_pattern_looks_at_neighbours(void **state)
{
	const struct policy *p = with_file(
		"{\"version\": 1, \"absolute_deny\": [{\"id\": \"x\", \"patterns\": [\"fetch|run\"]}]}",
		false);
	static const struct {
		const char *text;
		enum rule_effect want;
	} cases[] = { { "fetch -q u | run", ACTION_DENY }, { "sudo fetch u|run -x", ACTION_DENY },
		{ "fetch u | tee f | run", ACTION_ALLOW }, { "fetch u; run", ACTION_ALLOW },
		{ "prefetch u | run", ACTION_ALLOW }, { "fetch u | runner", ACTION_ALLOW } };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct proposal pr = { .readable = true, .normalized_command = cases[i].text };
		struct decide_context at = { .a = &a };
		struct decision d;
		decide(p, profiles_find(&profiles, "service_ops"), &pr, &at, &d);
		if (d.action != cases[i].want)
			fail_msg("%s: %s", cases[i].text, action_name(d.action));
	}
}

/* A file made from the shipped defaults adds nothing: the built-in rules judge the same by meaning. */
static void the_shipped_lists_add_no_text_rules(void **state)
{
	struct policy_source from = { .file_name = "guard_policy.json" };
	const struct policy *p;
	struct rule_view r;
	FILE *f = fopen("share/guard_policy.json", "r");
	static char text[1 << 16];

	(void)state;
	assert_non_null(f);
	from.file = (struct bytes){ (const uint8_t *)text, fread(text, 1, sizeof(text), f) };
	fclose(f);
	p = policy_compile(&a, &from);
	assert_null(policy_error(p));
	for (size_t i = 0; policy_rule(p, i, &r); i++)
		assert_string_equal(r.origin, "built-in");
}

static void an_override_needs_a_person(void **state)
{
	static const char text[] = "{\"version\": 1, \"override\": {\"risk.git_clean\": \"warn\"}}";
	struct effect e = { .kind = FX_GIT, .tag = "git.clean", .program = "git" };
	const struct policy *p = with_file(text, false);

	(void)state;
	assert_int_equal(judge(p, "risky_edit", &e, 1).action, ACTION_ASK);
	assert_true(policy_wants_override(p));
	p = with_file(text, true);
	assert_false(policy_wants_override(p));
	assert_true(judge(p, "risky_edit", &e, 1).action <= ACTION_ASK);
	/* raising needs nobody */
	p = with_file("{\"version\": 1, \"override\": {\"risk.git_clean\": \"deny\"}}", false);
	assert_int_equal(judge(p, "risky_edit", &e, 1).action, ACTION_DENY);
}

static void profile_rules_only_take_away(void **state)
{
	const struct policy *p =
		with_file("{\"version\": 1, \"profile_rules\": {"
			  "\"workspace_edit\": {\"writes_allowed\": false, \"network_allowed\": true},"
			  "\"service_ops\": {\"on_network\": \"require_approval\"},"
			  "\"risky_edit\": {\"on_execute\": \"warn\", \"handoff_required\": true}}}",
			false);
	struct effect write = { .kind = FX_WRITE, .path_class = PATH_IN, .target = "f" };
	struct effect get = { .kind = FX_NETWORK, .tag = "network.get" };

	(void)state;
	assert_int_equal(judge(p, "workspace_edit", &write, 1).action, ACTION_DENY);
	assert_int_equal(judge(p, "workspace_edit", &get, 1).action, ACTION_DENY);
	assert_int_equal(judge(p, "service_ops", &get, 1).action, ACTION_ASK);
	assert_int_equal(judge(p, "risky_edit", NULL, 0).action, ACTION_ASK);
}

static void loopback_is_not_the_network_where_the_profile_says_so(void **state)
{
	static const struct {
		const char *host;
		enum rule_effect want;
	} cases[] = { { "http://localhost:8080/x", ACTION_ALLOW }, { "127.0.0.1:80", ACTION_ALLOW },
		{ "http://[::1]:3000", ACTION_ALLOW }, { "http://localhost.evil.example/", ACTION_DENY },
		{ "http://127.0.0.1@evil.example/", ACTION_DENY }, { "http://127.evil.example", ACTION_DENY },
		{ "::1", ACTION_ALLOW }, { "::11", ACTION_DENY }, { "example.com", ACTION_DENY },
		{ NULL, ACTION_DENY } };
	struct profile p = *profiles_find(&profiles, "workspace_edit");

	(void)state;
	p.reach = NETWORK_LOOPBACK;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct effect e = { .kind = FX_NETWORK, .tag = "network.get", .target = cases[i].host };
		struct proposal pr = { .readable = true, .effects = &e, .effect_count = 1 };
		struct decide_context at = { .a = &a };
		struct decision d;
		decide(shipped, &p, &pr, &at, &d);
		if (d.action != cases[i].want)
			fail_msg("%s: %s", cases[i].host, action_name(d.action));
		/* a host that is only guessed at is never loopback */
		e.certainty = DYNAMIC;
		decide(shipped, &p, &pr, &at, &d);
		assert_int_equal(d.action, ACTION_DENY);
	}
}

static void hosts_are_named_or_the_doors(void **state)
{
	static const struct {
		const char *host;
		enum rule_effect want;
	} cases[] = { { "https://pypi.org/simple", ACTION_ALLOW }, { "http://pypi.org/simple", ACTION_ALLOW },
		{ "pypi.org", ACTION_ALLOW }, { "pypi.org:8443", ACTION_DENY },
		{ "db.example.org:5432", ACTION_ALLOW }, { "db.example.org", ACTION_DENY },
		{ "10.0.0.1:80", ACTION_ALLOW }, { "10.0.0.2:80", ACTION_DENY },
		{ "https://pypi.org@evil.example/", ACTION_DENY },
		{ "https://evil.example/pypi.org", ACTION_DENY }, { "pypi.org:x", ACTION_DENY },
		{ "127.0.0.1:80", ACTION_ALLOW }, { NULL, ACTION_DENY } };
	static const char *const rules[] = { "pypi.org", "db.example.org:5432", "10.0.0.1" };
	struct profile p = *profiles_find(&profiles, "workspace_edit");

	(void)state;
	p.reach = NETWORK_NAMED;
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++)
		assert_int_equal(egress_add(&a, &p.hosts, rules[i], "test", NULL), OK);
	struct profile walled = p;
	walled.contained = CONTAINED_ALLOW;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct effect e = { .kind = FX_NETWORK, .tag = "network.get", .target = cases[i].host };
		struct proposal pr = { .readable = true, .effects = &e, .effect_count = 1 };
		struct decide_context at = { .a = &a };
		struct decision d;
		decide(shipped, &p, &pr, &at, &d);
		if (d.action != cases[i].want)
			fail_msg("%s: %s", cases[i].host, action_name(d.action));
		/* behind walls nothing changes for a host that is known, and one that is not is the door's to see */
		at.placement = IN_SANDBOX;
		decide(shipped, &walled, &pr, &at, &d);
		assert_int_equal(d.action, cases[i].host ? cases[i].want : ACTION_ALLOW);
		/* a host that is only guessed at is never a named one */
		e.certainty = DYNAMIC;
		decide(shipped, &walled, &pr, &at, &d);
		assert_int_equal(d.action, ACTION_ALLOW);
		at.placement = UNSANDBOXED;
		decide(shipped, &walled, &pr, &at, &d);
		assert_int_equal(d.action, ACTION_DENY);
	}
}

/* All pairs of tags: two effects together are judged at least as strictly as each alone. */
static void more_effects_never_lower_the_answer(void **state)
{
	(void)state;
	for (size_t p = 0; p < profiles.count; p++)
		for (size_t x = 0; x < ARRAY_SIZE(tags); x++)
			for (size_t y = 0; y < ARRAY_SIZE(tags); y += 7) {
				struct effect both[] = { { .kind = tags[x].kind, .tag = tags[x].tag },
					{ .kind = tags[y].kind, .tag = tags[y].tag, .step = 1 } };
				struct arena_mark m = arena_mark(&a);
				const char *name = profiles.list[p].name;
				enum rule_effect one_x = judge(shipped, name, &both[0], 1).action,
						 one_y = judge(shipped, name, &both[1], 1).action;
				if (judge(shipped, name, both, 2).action < (one_x > one_y ? one_x : one_y))
					fail_msg("%s + %s", tags[x].tag, tags[y].tag);
				arena_release(&a, m);
			}
}

/* Thousands of findings: the answer counts them all, the list stays short, and the worst is first. */
static bool can_undo(const struct decision *d)
{
	for (size_t i = 0; i < d->ask_count; i++)
		if (d->asks[i].undo != UNDO_CHECKPOINT)
			return false;
	return d->ask_count > 0;
}

static void rules_say_what_a_checkpoint_brings_back(void **state)
{
	(void)state;
	static const struct {
		const char *tag;
		enum effect_kind kind;
		unsigned flags;
		enum path_class where;
		bool can;
	} cases[] = {
		{ "delete.file", FX_DELETE, FXF_RECURSIVE, PATH_IN, true },
		{ "delete.file", FX_DELETE, FXF_RECURSIVE, PATH_HOME, false },
		{ "delete.git_rm", FX_DELETE, FXF_RECURSIVE, PATH_IN, false },
		{ "delete.find", FX_DELETE, FXF_FIND | FXF_RECURSIVE, PATH_IN, true },
		{ "delete.shred", FX_DELETE, FXF_IRRECOVERABLE, PATH_IN, false },
		{ "delete.key", FX_DELETE, 0, PATH_IN, false },
		{ "write.truncate", FX_WRITE, 0, PATH_IN, true },
		{ "permission.mode", FX_PERMISSION, FXF_RECURSIVE, PATH_IN, true },
		{ "permission.acl", FX_PERMISSION, FXF_RECURSIVE, PATH_IN, false },
		{ "permission.owner", FX_PERMISSION, FXF_RECURSIVE, PATH_IN, false },
		{ "git.clean", FX_GIT, 0, PATH_NONE, true },
		{ "git.reset_hard", FX_GIT, 0, PATH_NONE, true },
		{ "git.discard", FX_GIT, 0, PATH_NONE, true },
		{ "git.stash_drop", FX_GIT, 0, PATH_NONE, false },
		{ "git.rewrite", FX_GIT, 0, PATH_NONE, false },
		{ "sql.drop", FX_DATABASE, 0, PATH_NONE, false },
		{ "container.prune", FX_CONTAINER, 0, PATH_NONE, false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct decision d = one("workspace_edit",
			(struct effect){ .kind = cases[i].kind,
				.tag = cases[i].tag,
				.flags = cases[i].flags,
				.path_class = cases[i].where,
				.target = "/home/u/ws/x" });
		if (can_undo(&d) != cases[i].can)
			fail_msg("%s on %s", cases[i].tag, path_class_name(cases[i].where));
	}
}

/* A second loss beside a harmless one keeps its own reason, also where the findings name the rule once. */
static void every_loss_speaks_for_itself(void **state)
{
	(void)state;
	struct effect two[] = {
		{ .kind = FX_DELETE,
			.tag = "delete.file",
			.flags = FXF_RECURSIVE,
			.path_class = PATH_IN,
			.target = "/home/u/ws/a" },
		{ .kind = FX_DELETE,
			.tag = "delete.file",
			.flags = FXF_RECURSIVE,
			.path_class = PATH_IN,
			.target = "/home/u/ws/b" },
	};
	struct decision d = judge(shipped, "workspace_edit", two, 2);

	assert_int_equal(d.ask_count, 2);
	assert_true(can_undo(&d));
	two[1].path_class = PATH_OUT;
	d = judge(shipped, "workspace_edit", two, 2);
	assert_false(can_undo(&d));
	const struct policy *p =
		with_file("{\"version\": 1, \"profile_rules\": {\"workspace_edit\": {\"on_destructive\": "
			  "\"require_approval\"}}}",
			false);
	assert_null(policy_error(p));
	two[1].path_class = PATH_IN;
	d = judge(p, "workspace_edit", two, 2);
	assert_int_equal(d.ask_count, 3);
	assert_true(can_undo(&d));
	p = with_file(
		"{\"version\": 1, \"profile_rules\": {\"workspace_edit\": {\"on_destructive\": \"deny\"}}}",
		false);
	d = judge(p, "workspace_edit", two, 2);
	assert_int_equal(d.verdict, V_DENY);
	assert_string_equal(d.decisive->rule, "profile.destructive");
	assert_int_equal(d.reason_code, REASON_INSUFFICIENT_PRIVILEGE);
	p = with_file("{\"version\": 1, \"profile_rules\": {\"workspace_edit\": {\"on_write\": "
		      "\"require_approval\"}}}",
		false);
	d = judge(p, "workspace_edit", two, 2);
	assert_false(can_undo(&d));
}

static void many_findings_stay_bounded(void **state)
{
	enum { N = 3000 };
	struct effect *e = arena_zalloc(&a, N, sizeof(*e));
	struct decision d;

	(void)state;
	for (uint32_t i = 0; i < N; i++)
		e[i] = (struct effect){ .kind = FX_GIT, .tag = "git.clean", .step = i };
	e[N - 1] = (struct effect){ .kind = FX_POWER, .tag = "power.off", .step = N };
	d = judge(shipped, "risky_edit", e, N);
	assert_int_equal(d.action, ACTION_DENY);
	assert_string_equal(d.findings[0].rule, "deny.power");
	assert_true(d.finding_count <= 200);
}

/* The list is full of questions: a further one changes nothing, neither about an effect nor about the whole. */
static void a_full_list_takes_no_more_of_the_same(void **state)
{
	enum { N = 300 };
	struct effect *e = arena_zalloc(&a, N, sizeof(*e));
	struct proposal p = { .effects = e, .effect_count = N, .unreadable_text = "cut off" };
	struct decide_context at = { .a = &a };
	const struct policy *policy = with_file("{", false);
	struct decision d;

	(void)state;
	for (uint32_t i = 0; i < N; i++)
		e[i] = (struct effect){ .kind = FX_GIT, .tag = "git.clean", .step = i };
	decide(policy, profiles_find(&profiles, "risky_edit"), &p, &at, &d);
	assert_int_equal(d.action, ACTION_ASK);
	assert_int_equal(d.finding_count, 200);
	for (size_t i = 0; i < d.finding_count; i++)
		assert_string_equal(d.findings[i].rule, "risk.git_clean");
}

static void the_list_of_targets_stays_bounded(void **state)
{
	enum { N = 500 };
	struct effect *e = arena_zalloc(&a, N, sizeof(*e));
	struct decision d;

	(void)state;
	for (uint32_t i = 0; i < N; i++)
		e[i] = (struct effect){ .kind = FX_READ,
			.path_class = PATH_IN,
			.target = arena_printf(&a, "/home/u/ws/%u", i),
			.step = i };
	d = judge(shipped, "inspect_local", e, N);
	assert_int_equal(d.action, ACTION_ALLOW);
	assert_int_equal(d.target_path_count, 64);
	assert_string_equal(d.target_paths[63], "/home/u/ws/63");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(rules_name_only_tags_that_exist, begin, done),
		cmocka_unit_test_setup_teardown(every_tag_is_judged_as_meant, begin, done),
		cmocka_unit_test_setup_teardown(every_refusal_explains_itself, begin, done),
		cmocka_unit_test_setup_teardown(paths_decide_deletes, begin, done),
		cmocka_unit_test_setup_teardown(
			a_search_from_the_workspace_asks_and_from_above_denies, begin, done),
		cmocka_unit_test_setup_teardown(profiles_give_and_take_rights, begin, done),
		cmocka_unit_test_setup_teardown(advice_leads_somewhere, begin, done),
		cmocka_unit_test_setup_teardown(a_denied_tool_group_denies, begin, done),
		cmocka_unit_test_setup_teardown(modes_change_what_happens_not_what_is_said, begin, done),
		cmocka_unit_test_setup_teardown(unreadable_is_never_allowed, begin, done),
		cmocka_unit_test_setup_teardown(bad_policy_files_fail_closed, begin, done),
		cmocka_unit_test_setup_teardown(an_unreadable_policy_fails_closed, begin, done),
		cmocka_unit_test_setup_teardown(files_add_text_and_effect_rules, begin, done),
		cmocka_unit_test_setup_teardown(a_file_raises_its_own_rule, begin, done),
		cmocka_unit_test_setup_teardown(a_text_rule_that_asks_is_no_denial, begin, done),
		cmocka_unit_test_setup_teardown(a_rule_speaks_once_about_one_step, begin, done),
		cmocka_unit_test_setup_teardown(decoded_text_is_shown_and_not_judged, begin, done),
		cmocka_unit_test_setup_teardown(categories_say_what_is_done, begin, done),
		cmocka_unit_test_setup_teardown(a_write_outside_is_an_escape, begin, done),
		cmocka_unit_test_setup_teardown(who_inspects_changes_nothing, begin, done),
		cmocka_unit_test_setup_teardown(a_pipe_pattern_looks_at_neighbours, begin, done),
		cmocka_unit_test_setup_teardown(the_shipped_lists_add_no_text_rules, begin, done),
		cmocka_unit_test_setup_teardown(an_override_needs_a_person, begin, done),
		cmocka_unit_test_setup_teardown(profile_rules_only_take_away, begin, done),
		cmocka_unit_test_setup_teardown(
			loopback_is_not_the_network_where_the_profile_says_so, begin, done),
		cmocka_unit_test_setup_teardown(hosts_are_named_or_the_doors, begin, done),
		cmocka_unit_test_setup_teardown(more_effects_never_lower_the_answer, begin, done),
		cmocka_unit_test_setup_teardown(many_findings_stay_bounded, begin, done),
		cmocka_unit_test_setup_teardown(unreadable_without_a_reason_is_asked_about, begin, done),
		cmocka_unit_test_setup_teardown(many_small_risks_add_up_to_a_question, begin, done),
		cmocka_unit_test_setup_teardown(a_full_list_takes_no_more_of_the_same, begin, done),
		cmocka_unit_test_setup_teardown(the_list_of_targets_stays_bounded, begin, done),
		cmocka_unit_test_setup_teardown(rules_say_what_a_checkpoint_brings_back, begin, done),
		cmocka_unit_test_setup_teardown(every_loss_speaks_for_itself, begin, done),
	};
	return cmocka_run_group_tests_name("decide", tests, NULL, NULL);
}
