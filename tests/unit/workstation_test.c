/* workstation_test.c — workstation profiles: events, receipts, recorded runs, and workers of managed agents. */
#include "audit/conform/workstation.h"
#include "base/hash.h"
#include "base/text.h"
#include "decide/authority/authority.h"
#include "proof/sign.h"
#include "tools/cases.h"
#include "tools/unit.h"

#include <stdio.h>
#include <string.h>

static struct arena a;
static uint8_t secret[SIGN_SECRET], public_key[SIGN_PUBLIC];

static int begin(void **state)
{
	static const uint8_t seed[SIGN_SEED] = { 5 };

	(void)state;
	sign_expand(seed, secret, public_key);
	return 0;
}

static int end(void **state)
{
	(void)state;
	arena_done(&a);
	a = (struct arena){ 0 };
	return 0;
}

static struct json *parse(const char *text)
{
	struct json *doc;
	struct err e;

	if (json_parse(&a, bytes_of(text), "test", NULL, &doc, &e))
		fail_msg("%s in %s", e.text, text);
	return doc;
}

/* A profile that gives what the test says, and tells what it may. */
static struct json *profile(const char *permissions, const char *hosts, const char *more)
{
	struct json *p = workstation_default_profile(&a);

	json_set(&a, json_get(p, "operate"), "permissions", parse(permissions));
	json_set(&a, json_get(p, "egress"), "allowlist", parse(hosts));
	json_each_member (m, parse(more))
		json_set(&a, p, m->name, m->value);
	return p;
}

static void expect(const struct json *p, const char *event, const char *want)
{
	struct workstation_answer said;

	workstation_judge(&a, p, parse(event), NULL, &said);
	const char *got = said.verdict == V_ALLOW ? "ALLOW" : reason_get(said.code)->code;
	if (!text_eq(got, want))
		fail_msg("%s: %s, not %s", event, got, want);
	assert_true((said.verdict == V_ALLOW) == !said.reason);
}

static void nothing_is_granted_by_default(void **state)
{
	struct json *p = workstation_default_profile(&a);
	struct err e = { 0 };

	(void)state;
	assert_int_equal(workstation_profile_check(&a, p, &e), OK);
	assert_int_not_equal(workstation_profile_check(&a, parse("{}"), &e), OK);
	expect(p, "{\"type\":\"shell_command\",\"action\":\"git.status\"}", "ALLOW");
	expect(p, "{\"type\":\"file_write\",\"target\":\"docs/a.md\"}", "ALLOW");
	expect(p, "{\"type\":\"draft_edit\"}", "ALLOW");
	expect(p, "{\"type\":\"prompt_injection\",\"taint_labels\":[\"prompt_injection\"]}", "ALLOW");
	expect(p, "{\"type\":\"network_egress\",\"target\":\"https://a.example\"}", "EGRESS_ALLOWLIST_EMPTY");
	expect(p, "{\"type\":\"memory_write\"}", "OPERATE_PERMISSIONS_EMPTY");
	expect(p, "{\"type\":\"recurring_loop\"}", "OPERATE_PERMISSIONS_EMPTY");
	expect(p,
		"{\"type\":\"mcp_tool_call\",\"effect_type\":\"WORKSTATION_SHELL_COMMAND\",\"effect_mode\":\"observe\",\"taint_labels\":[\"prompt_injection\"]}",
		"TAINTED_CONTEXT_REQUIRES_DENY");
	expect(p, "{\"type\":\"secret_read\"}", "OPERATE_PERMISSIONS_EMPTY");
	expect(p, "{\"type\":\"file_write\",\"effect_mode\":\"operate\",\"target\":\"a\"}",
		"OPERATE_PERMISSIONS_EMPTY");
	expect(p, "{\"type\":\"mcp_tool_call\",\"taint_labels\":[\"x\",\"untrusted_tool_output\"]}",
		"TAINTED_CONTEXT_REQUIRES_DENY");
	expect(p,
		"{\"type\":\"x\",\"effect_type\":\"WORKSTATION_SECRET_READ\",\"effect_mode\":\"observe\",\"taint_labels\":\"tainted_context\"}",
		"TAINTED_CONTEXT_REQUIRES_DENY");
}

static void permissions_open_what_they_name(void **state)
{
	struct json *p = profile(
		"[\"SHELL.OPERATE\",\"file.write\",\"WORKSTATION_PAYMENT_INITIATE\",\"memory.write\"]", "[]",
		"{}");

	(void)state;
	expect(p, "{\"type\":\"shell_operate\",\"effect_mode\":\"operate\"}", "ALLOW");
	expect(p, "{\"type\":\"shell_command\",\"action\":\"to Operate\",\"effect_mode\":\"operate\"}",
		"ALLOW");
	expect(p, "{\"type\":\"shell_command\",\"action\":\"run\",\"effect_mode\":\"operate\"}",
		"OPERATE_PERMISSION_NOT_GRANTED");
	expect(p, "{\"type\":\"payment_initiate\"}", "ALLOW");
	expect(p, "{\"type\":\"deploy_publish\"}", "OPERATE_PERMISSION_NOT_GRANTED");
	expect(p,
		"{\"type\":\"x\",\"effect_type\":\"WORKSTATION_TAINTED_CONTEXT\",\"effect_mode\":\"operate\"}",
		"OPERATE_PERMISSION_NOT_GRANTED");
	expect(p, "{\"type\":\"file_write\",\"effect_mode\":\"operate\",\"target\":\"a\"}", "ALLOW");
	expect(p, "{\"type\":\"file_write\",\"effect_mode\":\"operate\",\"target\":\"../a\"}",
		"DRAFT_TARGET_OUTSIDE_WORKSPACE_SCOPE");
	expect(p,
		"{\"type\":\"memory_write\",\"memory_effect\":{\"memory_class\":\"m1_episodic\",\"ttl_days\":30}}",
		"ALLOW");
	expect(p, "{\"type\":\"memory_write\",\"memory_effect\":{\"memory_class\":\"m1_episodic\"}}",
		"ALLOW");
	expect(p,
		"{\"type\":\"memory_write\",\"memory_effect\":{\"memory_class\":\"m1_episodic\",\"ttl_days\":31}}",
		"MEMORY_TTL_EXCEEDS_POLICY");
	expect(p, "{\"type\":\"memory_write\"}", "MEMORY_CLASS_DISALLOWED");
	p = profile("[\"memory.write\"]", "[]",
		"{\"memory\":{\"default_ttl_days\":7,\"max_ttl_days\":5,\"allowed_classes\":[\"M1\"]}}");
	expect(p, "{\"type\":\"memory_write\",\"memory_effect\":{\"memory_class\":\"M1\"}}",
		"MEMORY_TTL_EXCEEDS_POLICY");
}

static void files_stay_in_their_roots(void **state)
{
	struct json *p = profile("[]", "[]",
		"{\"draft\":{\"workspace_roots\":[\"docs\",\"/srv/work\"],\"allow_generated_artifacts\":true}}");
	static const char *const in[] = { "docs", "docs/a", "docs/../docs/a", "/srv/work", "/srv/work/x", ".",
		"" };
	static const char *const out[] = { "src/a", "docs2/a", "docs/../../a", "..", "/srv/work2", "/srv",
		"/" };
	struct workstation_place at = { "/home/me/ws", NULL };
	struct workstation_answer said;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(in); i++)
		expect(p, arena_printf(&a, "{\"type\":\"file_write\",\"target\":\"%s\"}", in[i]), "ALLOW");
	for (size_t i = 0; i < ARRAY_SIZE(out); i++)
		expect(p, arena_printf(&a, "{\"type\":\"file_write\",\"target\":\"%s\"}", out[i]),
			"DRAFT_TARGET_OUTSIDE_WORKSPACE_SCOPE");
	/* An absolute path in the workspace is seen from it; where links lead counts, too. */
	const struct json *event = parse(
		"{\"type\":\"file_write\",\"effect_type\":\"WORKSTATION_FILE_DRAFT\",\"target\":\"/home/me/ws/docs/a\"}");
	workstation_judge(&a, p, event, &at, &said);
	assert_int_equal(said.verdict, V_ALLOW);
	workstation_judge(&a, p, parse("{\"type\":\"file_write\",\"target\":\"docs/a\"}"), &at, &said);
	assert_int_equal(said.verdict, V_ALLOW);
	at.resolved = "/home/me/ws/docs/b";
	workstation_judge(&a, p, event, &at, &said);
	assert_int_equal(said.verdict, V_ALLOW);
	at.resolved = "/etc/passwd";
	workstation_judge(&a, p, event, &at, &said);
	assert_int_equal(said.verdict, V_DENY);
	event = parse("{\"type\":\"file_write\",\"target\":\"/elsewhere/docs/a\"}");
	at.resolved = NULL;
	workstation_judge(&a, p, event, &at, &said);
	assert_int_equal(said.verdict, V_DENY);
}

static void hosts_are_read_without_doubt(void **state)
{
	struct json *p = profile("[\"network.egress\"]",
		"[{\"host\":\"no host\"},{\"host\":\"api.example.com\",\"protocol\":\"HTTPS\"},{\"host\":\"any.example\"},{\"host\":\"p.example:8443\"}]",
		"{}");
	static const char *const ok[] = { "https://api.example.com/x", "api.example.com",
		"HTTPS://API.EXAMPLE.COM:443/", "ftp://any.example", "https://p.example:8443/" };
	static const char *const no[] = { "http://api.example.com",
		"https://api.example.com:443@evil.example/", "https://api.example.com.evil.example/", "",
		"https://p.example/", "https://evil.example" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(ok); i++)
		expect(p, arena_printf(&a, "{\"type\":\"network_egress\",\"target\":\"%s\"}", ok[i]),
			"ALLOW");
	for (size_t i = 0; i < ARRAY_SIZE(no); i++)
		expect(p, arena_printf(&a, "{\"type\":\"network_egress\",\"target\":\"%s\"}", no[i]),
			"EGRESS_DESTINATION_NOT_ALLOWED");
	p = profile("[]", "[{\"host\":\"any.example\"}]", "{}");
	expect(p, "{\"type\":\"network_egress\",\"target\":\"any.example\"}", "OPERATE_PERMISSIONS_EMPTY");
}

static void loops_say_when_how_long_and_with_what(void **state)
{
	struct json *p = profile("[\"loop.register\"]", "[]", "{}");
	static const char base[] =
		"\"schedule\":\"daily\",\"max_runtime\":\"1m\",\"tool_scope\":[\"a\"],\"expires_at\":\"2026-07-01T00:00:00Z\"";

	(void)state;
	expect(p, arena_printf(&a, "{\"type\":\"recurring_loop\",\"recurring_loop_effect\":{%s}}", base),
		"ALLOW");
	expect(p, "{\"type\":\"recurring_loop\"}", "RECURRING_LOOP_MISSING_SCHEDULE");
	expect(p,
		"{\"type\":\"recurring_loop\",\"recurring_loop_effect\":{\"schedule\":\"x\",\"max_runtime\":\"\"}}",
		"RECURRING_LOOP_MISSING_MAX_RUNTIME");
	expect(p,
		"{\"type\":\"recurring_loop\",\"recurring_loop_effect\":{\"schedule\":\"x\",\"max_runtime\":\"1\",\"tool_scope\":[]}}",
		"RECURRING_LOOP_MISSING_TOOL_SCOPE");
	expect(p,
		"{\"type\":\"recurring_loop\",\"recurring_loop_effect\":{\"schedule\":\"x\",\"max_runtime\":\"1\",\"tool_scope\":[\"a\"],\"expires_at\":7}}",
		"RECURRING_LOOP_MISSING_EXPIRATION");
	p = profile("[\"loop.register\"]", "[]",
		"{\"recurring_loops\":{\"require_schedule\":false,\"require_max_runtime\":false,\"require_tool_scope\":false,\"require_expiration\":false}}");
	expect(p, "{\"type\":\"recurring_loop\"}", "ALLOW");
}

/* What a denial teaches is told when the profile says so, and nothing more than that. */
static void denials_teach_what_the_profile_permits(void **state)
{
	static const char learning[] = "{\"learning\":{\"emit_finality\":true,\"emit_counterfactual\":true}}";
	struct json *p = profile("[\"memory.write\"]", "[]", learning),
		    *quiet = profile("[\"memory.write\"]", "[]", "{}");
	const struct json *event = parse(
		"{\"type\":\"memory_write\",\"memory_effect\":{\"memory_class\":\"M1_EPISODIC\",\"ttl_days\":90}}");
	struct workstation_answer said;

	(void)state;
	workstation_judge(&a, p, event, NULL, &said);
	assert_string_equal(said.finality, "instance_parameter");
	assert_true(
		json_eq(said.counterfactual, parse("{\"field\":\"ttl_days\",\"requested\":90,\"max\":30}")));
	workstation_judge(&a, quiet, event, NULL, &said);
	assert_null(said.finality);
	assert_null(said.counterfactual);
	workstation_judge(&a, p, parse("{\"type\":\"deploy_publish\"}"), NULL, &said);
	assert_string_equal(json_get_text(said.counterfactual, "capability", ""), "deploy.publish");
	/* A permission that no vocabulary has is not named; nor is a bound that nobody asked to pass. */
	workstation_judge(&a, p,
		parse("{\"type\":\"shell_command\",\"action\":\"run\",\"effect_mode\":\"operate\"}"), NULL,
		&said);
	assert_null(said.counterfactual);
	workstation_judge(&a, p,
		parse("{\"type\":\"memory_write\",\"memory_effect\":{\"memory_class\":\"M1_EPISODIC\",\"ttl_days\":5000000000}}"),
		NULL, &said);
	assert_null(said.counterfactual);
	json_set(&a, p, "memory",
		parse("{\"default_ttl_days\":9,\"max_ttl_days\":5,\"allowed_classes\":[\"M1\"]}"));
	workstation_judge(&a, p,
		parse("{\"type\":\"memory_write\",\"memory_effect\":{\"memory_class\":\"M1\"}}"), NULL,
		&said);
	assert_null(said.counterfactual);
	workstation_judge(&a, p, parse("{\"type\":\"shell_command\"}"), NULL, &said);
	assert_null(said.finality);
}

static void sign(void *arg, struct bytes message, uint8_t ret[64])
{
	(void)arg;
	sign_message(secret, message, ret);
}

/* The ids are those of the published receipts of the same events. */
static void receipts_bind_what_was_asked(void **state)
{
	struct workstation_signer by = { "ed25519:00", sign, NULL };
	struct json *p = workstation_default_profile(&a);
	const struct json *request =
		parse("{\"run_id\":\"workstation-decision\",\"actor_id\":\"agent.local\"}");
	struct json *event = workstation_event(&a, "network", "https://forbidden.example");
	struct workstation_answer said;

	(void)state;
	workstation_judge(&a, p, event, NULL, &said);
	struct json *r =
		workstation_receipt(&a, p, event, request, &said, false, "1970-01-01T00:00:00Z", &by);
	assert_string_equal(json_get_text(r, "decision_id", ""), "wpd_62eab04a1f92043b68f959c4");
	assert_string_equal(
		json_get_text(json_get(r, "request"), "request_id", ""), "wreq_e9c05158fc3e28006786277f");
	assert_string_equal(json_get_text(r, "reason_code", ""), "EGRESS_ALLOWLIST_EMPTY");
	assert_int_equal(strlen(json_get_text(r, "signature", "")), 128);
	event = workstation_event(&a, "file", "docs/example.md");
	workstation_judge(&a, p, event, NULL, &said);
	r = workstation_receipt(&a, p, event, request, &said, false, "1970-01-01T00:00:00Z", NULL);
	assert_string_equal(json_get_text(r, "decision_id", ""), "wpd_ba2ee4ccf5f44db32a07b43a");
	assert_null(json_get(r, "reason_code"));
	assert_string_equal(json_get_text(r, "signature", "x"), "");
	/* A hook's receipt never holds the target itself. */
	r = workstation_receipt(&a, p, event, request, &said, true, "1970-01-01T00:00:00Z", NULL);
	assert_true(text_starts(json_get_text(json_get(r, "request"), "target", ""), "sha256:"));
	/* Classes of commands. */
	assert_string_equal(
		workstation_effect_mode(workstation_event(&a, "sensitive-file-write", "x")), "operate");
	assert_string_equal(
		workstation_effect_type(workstation_event(&a, "publish", "x")), "WORKSTATION_DEPLOY_PUBLISH");
	assert_string_equal(
		workstation_effect_type(workstation_event(&a, "whatever", "x")), "WORKSTATION_SHELL_COMMAND");
}

/* ---- recorded runs ---- */

static const char MANIFEST[] =
	"{\"run_id\":\"r\",\"goal\":\"g\",\"actor_id\":\"agent\",\"agent_surface\":\"codex\",\"started_at\":\"2026-05-20T10:00:00Z\"}";
static const char DIFF[] =
	"{\"changed_files\":[{\"path\":\"docs/a.md\",\"status\":\"modified\",\"additions\":1,\"deletions\":0},{\"path\":\"/etc/x\",\"status\":\"added\"}]}";
static const char VALIDATION[] =
	"{\"commands\":[{\"command\":\"test\",\"exit_code\":0,\"status\":\"passed\"}]}";
static const char EVENTS[] =
	"{\"event_id\":\"e1\",\"type\":\"shell_command\",\"status\":\"completed\",\"verdict\":\"ALLOW\",\"taint_labels\":[],\"metadata\":{}}\n\n"
	"{\"event_id\":\"e2\",\"type\":\"memory_write\",\"memory_effect\":{\"memory_class\":\"M1_EPISODIC\",\"sensitivity\":\"pii\"}}\n"
	"{\"event_id\":\"e3\",\"type\":\"recurring_loop\",\"recurring_loop_effect\":{\"schedule\":\"x\"}}\n"
	"{\"event_id\":\"e4\",\"type\":\"shell_command\",\"verdict\":\"DENY\",\"reason_code\":\"SOMEBODY_ELSE\"}\n"
	"{\"event_id\":\"e5\",\"type\":\"deploy_publish\",\"verdict\":\"ALLOW\"}\n"
	"{\"event_id\":\"e6\",\"type\":\"shell_command\",\"tool_id\":\"t\",\"action\":\"x\",\"target\":\"y\",\"metadata\":{\"policy_decision_ref\":\"wpd_1\"}}\n"
	"{\"event_id\":\"e7\",\"type\":\"memory_write\",\"memory_effect\":{\"sensitivity\":\"public\"}}\n"
	"{\"event_id\":\"e8\",\"type\":\"memory_write\",\"memory_effect\":{\"sensitivity\":\"secret\"}}\n"
	"{\"event_id\":\"e9\",\"type\":\"memory_write\",\"memory_effect\":{\"data_class\":\"given\"}}\n"
	"{\"event_id\":\"e10\",\"type\":\"memory_write\",\"memory_effect\":{\"sensitivity\":\"ordinary\"}}\n";

static struct workstation_run run_of(const char *events)
{
	return (struct workstation_run){ .manifest = bytes_of(MANIFEST),
		.diff = bytes_of(DIFF),
		.validation = bytes_of(VALIDATION),
		.events = events ? bytes_of(events) : (struct bytes){ 0 } };
}

static struct json *import(const struct workstation_run *run)
{
	struct workstation_signer by = { "ed25519:00", sign, NULL };
	struct json *doc;
	struct err e = { 0 };

	if (workstation_import(&a, run, &by, &doc, &e))
		fail_msg("%s", e.text);
	return doc;
}

static const char *verdict_of(const struct json *doc, size_t i)
{
	return json_get_text(json_at(json_get(doc, "verdicts"), i), "verdict", "");
}

static void a_recorded_run_becomes_one_receipt(void **state)
{
	struct workstation_run run = run_of(EVENTS);

	(void)state;
	struct json *doc = import(&run), *again = import(&run);
	assert_true(json_eq(doc, again));
	assert_true(workstation_import_holds(&a, doc));
	assert_string_equal(verdict_of(doc, 0), "ALLOW");
	assert_string_equal(verdict_of(doc, 1), "DENY");
	/* What an event says about itself can refuse and never widen. */
	assert_string_equal(verdict_of(doc, 3), "DENY");
	assert_string_equal(verdict_of(doc, 4), "DENY");
	/* One that names a decision receipt needs it. */
	assert_string_equal(verdict_of(doc, 5), "DENY");
	const struct json *memories = json_get(json_get(doc, "receipt"), "memory_effects");
	assert_string_equal(json_get_text(json_at(memories, 0), "data_class", ""), "confidential");
	assert_string_equal(json_get_text(json_at(memories, 1), "data_class", ""), "public");
	assert_string_equal(json_get_text(json_at(memories, 2), "data_class", ""), "restricted");
	assert_string_equal(json_get_text(json_at(memories, 3), "data_class", ""), "given");
	assert_string_equal(json_get_text(json_at(memories, 3), "sensitivity", ""), "internal");
	/* Times are outside the hashes of nodes; everything else is inside. */
	json_seti(&a, json_at(json_get(again, "proofgraph"), 0), "ts_unix_ms", 1);
	json_sets(&a, again, "replay_root_hash", "x");
	assert_false(workstation_import_holds(&a, again));
	json_sets(&a, json_at(json_get(doc, "proofgraph"), 2), "kind", "INTENT");
	assert_false(workstation_import_holds(&a, doc));
	doc = import(&run);
	json_sets(&a, json_get(doc, "receipt"), "goal", "another");
	assert_false(workstation_import_holds(&a, doc));
	doc = import(&run);
	json_set(&a, json_get(doc, "receipt"), "x", json_double(&a, 0.5));
	assert_false(workstation_import_holds(&a, doc));
	assert_false(workstation_import_holds(&a, parse("{\"receipt\":{}}")));
	assert_false(workstation_import_holds(&a, parse("{}")));
}

static void a_decision_receipt_must_be_about_this_effect(void **state)
{
	static const char good[] =
		"{\"wpd_1\":{\"decision_id\":\"wpd_1\",\"verdict\":\"ALLOW\",\"request\":{\"effect_type\":\"WORKSTATION_SHELL_COMMAND\",\"target\":\"y\",\"tool_id\":\"t\",\"action\":\"x\"}}}";
	static const char *const changes[][2] = { { "decision_id", "wpd_2" }, { "verdict", "DENY" } },
				 *const inner[][2] = { { "effect_type", "x" }, { "target", "x" },
					 { "tool_id", "x" }, { "action", "y" } };
	struct workstation_run run = run_of(EVENTS);

	(void)state;
	run.receipts = parse(good);
	assert_string_equal(verdict_of(import(&run), 5), "ALLOW");
	for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
		struct json *bad = parse(good);
		json_sets(&a, json_get(bad, "wpd_1"), changes[i][0], changes[i][1]);
		run.receipts = bad;
		assert_string_equal(verdict_of(import(&run), 5), "DENY");
	}
	for (size_t i = 0; i < ARRAY_SIZE(inner); i++) {
		struct json *bad = parse(good);
		json_sets(&a, json_get(json_get(bad, "wpd_1"), "request"), inner[i][0], inner[i][1]);
		run.receipts = bad;
		assert_string_equal(verdict_of(import(&run), 5), "DENY");
	}
}

static void broken(const struct workstation_run *run)
{
	struct json *doc = NULL;
	struct err e = { 0 };

	assert_int_not_equal(workstation_import(&a, run, NULL, &doc, &e), OK);
	assert_null(doc);
	assert_true(*e.text);
}

static void a_run_that_is_not_whole_is_refused(void **state)
{
	static const char *const bad[] = { "{", "[]" };
	struct workstation_run run;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		run = run_of(NULL);
		run.manifest = bytes_of(bad[i]);
		broken(&run);
		run = run_of(bad[i]);
		broken(&run);
	}
	run = run_of(NULL);
	run.diff = (struct bytes){ 0 };
	broken(&run);
	run = run_of(NULL);
	run.validation = (struct bytes){ 0 };
	broken(&run);
	run = run_of(NULL);
	run.profile = bytes_of("{");
	broken(&run);
	run.profile = bytes_of("{}");
	broken(&run);
	run = run_of(NULL);
	static const char *const manifests[] = {
		"{\"actor_id\":\"a\",\"started_at\":\"2026-05-20T10:00:00Z\"}",
		"{\"run_id\":\"r\",\"started_at\":\"2026-05-20T10:00:00Z\"}",
		"{\"run_id\":\"r\",\"actor_id\":\"a\"}"
	};
	for (size_t i = 0; i < ARRAY_SIZE(manifests); i++) {
		run.manifest = bytes_of(manifests[i]);
		broken(&run);
	}
	/* A person's profile stands above the one that came with the run. */
	run = run_of("{\"event_id\":\"e\",\"type\":\"deploy_publish\"}\n");
	struct buf text;
	buf_init(&text, &a);
	json_write(&text, profile("[\"deploy.publish\"]", "[]", "{}"), 0);
	run.profile = buf_bytes(&text);
	assert_string_equal(verdict_of(import(&run), 0), "ALLOW");
	run.profile_doc = workstation_default_profile(&a);
	assert_string_equal(verdict_of(import(&run), 0), "DENY");
}

/* Where the published runs are here, our import gives their nodes, hash for hash. */
static void the_published_runs_have_the_published_hashes(void **state)
{
	static const char *const names[] = { "denied-network", "allowed-draft" };
	static const char base[] = "../shared/vectors/kernel/fixtures/workstation";
	FILE *f = fopen(arena_printf(&a, "%s/reference/receipts/denied-network.json", base), "r");

	(void)state;
	if (!f) {
		skip_because("%s is not here", base);
	}
	fclose(f);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct workstation_run run = {
			.manifest =
				cases_read(&a, arena_printf(&a, "%s/%s/run.manifest.json", base, names[i])),
			.diff = cases_read(
				&a, arena_printf(&a, "%s/%s/git.diff-summary.json", base, names[i])),
			.validation =
				cases_read(&a, arena_printf(&a, "%s/%s/validation.json", base, names[i])),
			.events =
				cases_read(&a, arena_printf(&a, "%s/%s/tool-events.ndjson", base, names[i])),
		};
		struct bytes published =
			cases_read(&a, arena_printf(&a, "%s/reference/receipts/%s.json", base, names[i]));
		const struct json *want = parse(arena_strndup(&a, (const char *)published.p, published.n)),
				  *got = import(&run);
		assert_true(json_eq(json_get(json_get(got, "receipt"), "proofgraph_refs"),
			json_get(json_get(want, "receipt"), "proofgraph_refs")));
		assert_string_equal(json_get_text(json_get(got, "receipt"), "receipt_id", ""),
			json_get_text(json_get(want, "receipt"), "receipt_id", "x"));
	}
}

/* ---- workers ---- */

static void worker(const char *change, const char *ask, const char *want)
{
	static const char base[] =
		"{\"anthropic\":{\"session_id\":\"s\",\"work_id\":\"w\"},\"worker\":{\"worker_image_digest\":\"sha256:1111111111111111111111111111111111111111111111111111111111111111\","
		"\"skill_manifest_hash\":\"sha256:2222222222222222222222222222222222222222222222222222222222222222\",\"sandbox_grant_hash\":\"sha256:3333333333333333333333333333333333333333333333333333333333333333\","
		"\"workspace_root\":\"/workspace\",\"outputs_root\":\"\",\"environment_key_secret_ref\":\"secret://x\",\"organization_api_key_present\":false,\"egress_enforced\":true,"
		"\"egress_grant\":{\"allowed_domains\":[\"ok.example\"]}},\"mcp\":{\"route_through_helm_gateway\":true,\"raw_tunnel_targets_allowed\":false,\"tunnel_domain_hash\":\"h\"}}";
	struct json *config = parse(base);
	struct gate_answer said;

	if (text_eq(change, "no mcp")) {
		(void)json_remove(config, "mcp");
		change = "{}";
	}
	json_each_member (part, parse(change))
		json_each_member (m, part->value)
			json_set(&a, json_get(config, part->name), m->name, m->value);
	worker_judge(&a, config, parse(ask), "rcpt-1", &said);
	const char *got = said.verdict == V_ALLOW ? "ALLOW" : reason_get(said.code)->code;
	if (!text_eq(got, want))
		fail_msg("%s %s: %s, not %s", change, ask, got, want);
	assert_string_equal(json_get_text(said.bound, "receipt_id", ""), "rcpt-1");
	assert_string_equal(json_get_text(said.bound, "session_id", ""), "s");
}

static void workers_are_bounded_by_their_configuration(void **state)
{
	(void)state;
	worker("{}", "{\"tool_class\":\"bash\"}", "ALLOW");
	worker("{}", "{\"tool_class\":\"file_write\",\"target\":\"/workspace/a\"}", "ALLOW");
	worker("{}", "{\"tool_class\":\"file_read\",\"target\":\"/workspace/../etc/passwd\"}",
		"SANDBOX_VIOLATION");
	worker("{}", "{\"tool_class\":\"file_read\",\"target\":\"relative\"}", "SANDBOX_VIOLATION");
	worker("{}", "{\"tool_class\":\"network_egress\",\"target\":\"https://ok.example\"}", "ALLOW");
	worker("{}", "{\"tool_class\":\"network_egress\",\"target\":\"https://example.com\"}",
		"DATA_EGRESS_BLOCKED");
	worker("{}", "{\"tool_class\":\"memory_write\"}", "SESSION_RISK_MEMORY_DENY");
	worker("{}", "{\"tool_class\":\"mcp_tool\",\"route\":\"helm-gateway\"}", "ALLOW");
	worker("{}", "{\"tool_class\":\"mcp_tool\",\"route\":\"raw-upstream-mcp\"}", "SANDBOX_VIOLATION");
	worker("{\"mcp\":{\"route_through_helm_gateway\":false}}",
		"{\"tool_class\":\"mcp_tool\",\"route\":\"helm-gateway\"}", "SANDBOX_VIOLATION");
	worker("{\"mcp\":{\"raw_tunnel_targets_allowed\":true}}",
		"{\"tool_class\":\"mcp_tool\",\"route\":\"helm-gateway\"}", "SANDBOX_VIOLATION");
	worker("no mcp", "{\"tool_class\":\"mcp_tool\",\"route\":\"helm-gateway\"}", "SANDBOX_VIOLATION");
	worker("{}", "{\"event\":\"work.stop force=true\"}", "VERIFICATION_FAILURE");
	worker("{\"worker\":{\"skill_manifest_hash\":\"latest\"}}", "{\"tool_class\":\"bash\"}",
		"PROVENANCE_FAILURE");
	worker("{\"worker\":{\"worker_image_digest\":\"sha256:12\"}}", "{\"tool_class\":\"bash\"}",
		"PROVENANCE_FAILURE");
	worker("{\"worker\":{\"sandbox_grant_hash\":\"sha256:333333333333333333333333333333333333333333333333333333333333333X\"}}",
		"{\"tool_class\":\"bash\"}", "SANDBOX_VIOLATION");
	worker("{\"worker\":{\"organization_api_key_present\":true}}", "{\"tool_class\":\"bash\"}",
		"TAINTED_CREDENTIAL_ACCESS_DENY");
	worker("{\"worker\":{\"environment_key_secret_ref\":\"hunter2\"}}", "{\"tool_class\":\"bash\"}",
		"TAINTED_CREDENTIAL_ACCESS_DENY");
	worker("{\"mcp\":{\"api_key\":\"hunter2\"}}", "{\"tool_class\":\"bash\"}",
		"TAINTED_CREDENTIAL_ACCESS_DENY");
	worker("{\"mcp\":{\"password\":\"hunter2\"}}", "{\"tool_class\":\"bash\"}",
		"TAINTED_CREDENTIAL_ACCESS_DENY");
	worker("{\"worker\":{\"egress_enforced\":false}}", "{\"tool_class\":\"bash\"}",
		"DATA_EGRESS_BLOCKED");
	struct gate_answer said;
	worker_judge(&a, parse("{}"), parse("{}"), "r", &said);
	assert_int_equal(said.verdict, V_DENY);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(nothing_is_granted_by_default, begin, end),
		cmocka_unit_test_setup_teardown(permissions_open_what_they_name, begin, end),
		cmocka_unit_test_setup_teardown(files_stay_in_their_roots, begin, end),
		cmocka_unit_test_setup_teardown(hosts_are_read_without_doubt, begin, end),
		cmocka_unit_test_setup_teardown(loops_say_when_how_long_and_with_what, begin, end),
		cmocka_unit_test_setup_teardown(denials_teach_what_the_profile_permits, begin, end),
		cmocka_unit_test_setup_teardown(receipts_bind_what_was_asked, begin, end),
		cmocka_unit_test_setup_teardown(a_recorded_run_becomes_one_receipt, begin, end),
		cmocka_unit_test_setup_teardown(a_decision_receipt_must_be_about_this_effect, begin, end),
		cmocka_unit_test_setup_teardown(a_run_that_is_not_whole_is_refused, begin, end),
		cmocka_unit_test_setup_teardown(the_published_runs_have_the_published_hashes, begin, end),
		cmocka_unit_test_setup_teardown(workers_are_bounded_by_their_configuration, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
