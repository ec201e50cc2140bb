/* court_test.c — the court, and its token, which is used once. */
#include "base/hash.h"
#include "decide/bounds/bounds.h"
#include "proof/preimage.h"
#include "tools/unit.h"

#include <string.h>

enum { US = 1000000 };
static const int64_t t0 = INT64_C(1780272000) * US; /* 2026-06-01T00:00:00Z */

/* With ' for ". */
static struct json *parse(struct arena *a, const char *text)
{
	char *copy = arena_strdup(a, text);
	struct json *v;
	struct err e;

	for (char *p = copy; *p; p++)
		if (*p == '\'')
			*p = '"';
	if (json_parse(a, bytes_of(copy), "test", NULL, &v, &e))
		fail_msg("%s: %s", e.text, text);
	return v;
}

/* Draws as a receipt at `at_us` has them. */
static void commit_at(struct drawn *d, const struct draw *draws, size_t n, int64_t at_us)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct json *receipt = json_new(&a, JSON_OBJECT), *metadata = json_new(&a, JSON_OBJECT);

	for (size_t i = 0; i < n; i++)
		if (drawn_check(d, &draws[i], at_us) != DRAW_FITS)
			fail_msg("what was judged to fit does not: %s", draws[i].key);
	json_set(&a, metadata, "draws", draws_json(&a, draws, n));
	json_set(&a, receipt, "metadata", metadata);
	json_sets(&a, receipt, "decision_id", "dec");
	json_sets(&a, receipt, "timestamp", text_time_z(&a, at_us));
	assert_true(drawn_receipt(d, receipt));
}

static const uint8_t seed[SIGN_SEED] = { 7 };

static void sign_text(struct json *doc, struct arena *a, struct bytes preimage)
{
	uint8_t secret[SIGN_SECRET], pub[SIGN_PUBLIC], signature[SIGN_SIZE];
	char hex[2 * SIGN_SIZE + 1];

	sign_expand(seed, secret, pub);
	sign_message(secret, preimage, signature);
	hex_encode(signature, SIGN_SIZE, hex);
	json_sets(a, doc, "signature", hex);
}

/* ---- the court ---- */

#define H(c) "sha256:" c c c c c c c c c c c c c c c c
#define HA H("aaaa")
#define HB H("bbbb")

static struct json *court_request(struct arena *a)
{
	return parse(a,
		"{'request_id':'0b5c9a52-7a55-4f6e-9a3f-3d1f6b9c2e12','intent':{'type':'t','goal':'g'},"
		"'tool_call_draft':{'tool_id':'deployer','tool_version':'1','args_hash':'" HA
		"','input_schema_hash':'" HA "','output_schema_hash':'" HB
		"'},'effects':['DATA_READ','PAYMENT_SEND'],'context_capsules':[{'capsule_id':'c',"
		"'provenance':{'source':'s','connector':'k','signatures':['x']},'freshness':{'retrieved_at':'2026-06-01T00:00:00Z','ttl_seconds':60},"
		"'scope':{},'content_hash':'" HA
		"'}],'policy_epoch':'7','idempotency_key':'k-1','timestamp':'2026-06-01T00:00:00Z'}");
}

static struct court_facts court_facts(struct arena *a)
{
	return (struct court_facts){
		.manifest = parse(a,
			"{'tool_id':'deployer','version':'1','schema_pins':{'input_schema_hash':'" HA
			"','output_schema_hash':'" HB "'}}"),
		.ceilings = parse(a,
			"{'max_budget_usd':12.50,'max_ops':3,'max_regions':1,'max_tenants':1,'max_rate_per_minute':60,'max_blast_radius':'dataset','custom':{'rows':100}}"),
		.policy_epoch = "7",
		.pipeline = V_ALLOW,
		.estimate = parse(a,
			"{'cost_usd':12.5,'ops':3,'regions':1,'tenants':1,'rate_per_minute':1,'blast_radius':'dataset','custom':{'rows':100},"
			"'rollback_plan':true,'dual_control':true,'preflight':true}"),
		.now_us = t0 + 60 * (int64_t)US,
		.ttl_us = 300 * (int64_t)US,
		.decision_id = "0b5c9a52-7a55-4f6e-9a3f-3d1f6b9c2e11",
		.token_id = "0b5c9a52-7a55-4f6e-9a3f-3d1f6b9c2e10"
	};
}

static void set_at(struct arena *a, struct json *doc, const char *path, const char *value)
{
	struct bytes rest = bytes_of(path);

	for (;;) {
		struct bytes word = text_cut(&rest, '.');
		const char *name = arena_strndup(a, (const char *)word.p, word.n);
		if (rest.p) {
			doc = json_is(doc, JSON_ARRAY) ? json_at(doc, 0) : doc;
			doc = json_get(doc, name);
			continue;
		}
		doc = json_is(doc, JSON_ARRAY) ? json_at(doc, 0) : doc;
		if (value)
			json_set(a, doc, name, parse(a, value));
		else
			(void)json_remove(doc, name);
		return;
	}
}

static const char *judged(struct arena *a, const struct json *request, const struct court_facts *f)
{
	struct json *decision, *token;

	court_judge(a, request, f, &decision, &token);
	const char *code = json_text(json_at(json_get(decision, "reason_codes"), 0));
	assert_int_equal(token != NULL, text_eq(json_get_text(decision, "result", ""), "ALLOW"));
	assert_int_equal(json_get(decision, "commit_token") != NULL, token != NULL);
	return arena_printf(
		a, "%s%s%s", json_get_text(decision, "result", ""), code ? " " : "", code ? code : "");
}

static void the_court_stage_by_stage(void **state)
{
	/* One defect each; `in`: request, facts of the estimate, ceilings, manifest. */
	enum { REQUEST, ESTIMATE, CEILINGS, MANIFEST };
	static const struct {
		int in;
		const char *path, *value, *want;
	} rows[] = { { REQUEST, "idempotency_key", "'k-2'", "ALLOW" },
		{ REQUEST, "effects", "[]", "DENY DENY_INVARIANT_FAIL" },
		{ REQUEST, "policy_epoch", "'6'", "DENY DENY_POLICY_EPOCH_EXPIRED" },
		{ REQUEST, "effects", "['DATA_READ','BREATHE']", "DENY DENY_EFFECT_NOT_TYPED" },
		{ REQUEST, "effects", "['file_read']", "DENY DENY_EFFECT_NOT_TYPED" },
		{ REQUEST, "effects", "['\\u0000']", "DENY DENY_EFFECT_NOT_TYPED" },
		{ REQUEST, "context_capsules.freshness.ttl_seconds", "59",
			"DENY DENY_UNAUTHENTICATED_MEMORY" },
		{ REQUEST, "context_capsules.freshness.ttl_seconds", "9223372036854775807",
			"DENY DENY_UNAUTHENTICATED_MEMORY" },
		{ REQUEST, "context_capsules.freshness.ttl_seconds", "9223372036854",
			"DENY DENY_UNAUTHENTICATED_MEMORY" },
		{ REQUEST, "context_capsules.provenance.signatures", "[]",
			"DENY DENY_UNAUTHENTICATED_MEMORY" },
		{ REQUEST, "context_capsules.provenance.signatures", NULL,
			"DENY DENY_UNAUTHENTICATED_MEMORY" },
		{ REQUEST, "context_capsules", "[]", "ALLOW" },
		{ MANIFEST, "schema_pins.input_schema_hash", "'" HB "'", "DENY DENY_SCHEMA_DRIFT" },
		{ MANIFEST, "schema_pins.output_schema_hash", NULL, "DENY DENY_SCHEMA_DRIFT" },
		{ MANIFEST, "tool_id", "'other'", "DENY DENY_SCHEMA_DRIFT" },
		{ MANIFEST, "version", "'2'", "DENY DENY_SCHEMA_DRIFT" },
		{ REQUEST, "tool_call_draft.tool_version", NULL, "ALLOW" },
		{ ESTIMATE, "cost_usd", "12.51", "DENY DENY_CEILING_EXCEEDED" },
		{ ESTIMATE, "cost_usd", NULL, "DENY DENY_CEILING_EXCEEDED" },
		{ ESTIMATE, "cost_usd", "1e99999999999", "DENY DENY_CEILING_EXCEEDED" },
		{ ESTIMATE, "cost_usd", "'1'", "DENY DENY_CEILING_EXCEEDED" },
		{ CEILINGS, "max_budget_usd", "1e99999999999", "DENY DENY_CEILING_EXCEEDED" },
		{ CEILINGS, "max_budget_usd", "'12'", "DENY DENY_CEILING_EXCEEDED" },
		{ CEILINGS, "max_budget_usd", NULL, "ALLOW" },
		{ ESTIMATE, "ops", "4", "DENY DENY_CEILING_EXCEEDED" },
		{ ESTIMATE, "rate_per_minute", "61", "DENY DENY_CEILING_EXCEEDED" },
		{ ESTIMATE, "custom.rows", "101", "DENY DENY_CEILING_EXCEEDED" },
		{ ESTIMATE, "custom", NULL, "DENY DENY_CEILING_EXCEEDED" },
		{ ESTIMATE, "blast_radius", "'tenant'", "DENY DENY_CEILING_EXCEEDED" },
		{ ESTIMATE, "blast_radius", "'single_record'", "ALLOW" },
		{ ESTIMATE, "blast_radius", "'galaxy'", "DENY DENY_CEILING_EXCEEDED" },
		{ CEILINGS, "max_blast_radius", "'galaxy'", "ALLOW" },
		{ CEILINGS, "max_blast_radius", NULL, "ALLOW" },
		{ ESTIMATE, "rollback_plan", "false", "DENY DENY_COUNTERFACTUAL_FAIL" },
		{ ESTIMATE, "dual_control", "false", "DENY DENY_COUNTERFACTUAL_FAIL" },
		{ REQUEST, "idempotency_key", "''", "DENY DENY_INVARIANT_FAIL" },
		{ ESTIMATE, "preflight", "false", "DENY DENY_PREFLIGHT_FAIL" } };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		AUTO(arena_done) struct arena a = { 0 };
		struct json *request = court_request(&a);
		struct court_facts f = court_facts(&a);
		struct json *docs[] = { request, json_copy(&a, f.estimate), json_copy(&a, f.ceilings),
			json_copy(&a, f.manifest) };
		set_at(&a, docs[rows[i].in], rows[i].path, rows[i].value);
		f.estimate = docs[ESTIMATE];
		f.ceilings = docs[CEILINGS];
		f.manifest = docs[MANIFEST];
		const char *got = judged(&a, request, &f);
		if (strcmp(got, rows[i].want) != 0)
			fail_msg("%s = %s: %s", rows[i].path, rows[i].value ? rows[i].value : "-", got);
	}
}

static void the_court_and_the_pipeline(void **state)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct json *request = court_request(&a), *decision, *token;
	struct court_facts f = court_facts(&a);

	(void)state;
	/* Two defects: the earlier stage only. */
	f.policy_epoch = "8";
	f.manifest = parse(&a, "{}");
	assert_string_equal(judged(&a, request, &f), "DENY DENY_POLICY_EPOCH_EXPIRED");
	f = court_facts(&a);
	f.pipeline = V_DENY;
	f.pipeline_code = REASON_POLICY_VIOLATION;
	assert_string_equal(judged(&a, request, &f), "DENY POLICY_VIOLATION");
	f.pipeline = V_ESCALATE;
	f.pipeline_code = REASON_APPROVAL_REQUIRED;
	assert_string_equal(judged(&a, request, &f), "REQUIRE_APPROVAL APPROVAL_REQUIRED");
	court_judge(&a, request, &f, &decision, &token);
	assert_int_equal(json_get(json_get(decision, "evaluation_trace"), "pipeline_stages_passed")->n, 8);
	/* Less dangerous effects need less. */
	f = court_facts(&a);
	f.estimate = parse(&a, "{}");
	f.ceilings = parse(&a, "{}");
	json_set(&a, request, "effects", parse(&a, "['DATA_WRITE','DATA_READ']"));
	assert_string_equal(judged(&a, request, &f), "ALLOW");
	json_set(&a, request, "effects", parse(&a, "['DATA_DELETE']"));
	assert_string_equal(judged(&a, request, &f), "DENY DENY_COUNTERFACTUAL_FAIL");
	f.estimate = parse(&a, "{'rollback_plan':true}");
	assert_string_equal(judged(&a, request, &f), "DENY DENY_PREFLIGHT_FAIL");
	f.estimate = parse(&a, "{'rollback_plan':true,'preflight':true}");
	assert_string_equal(judged(&a, request, &f), "ALLOW");
	json_set(&a, request, "effects", parse(&a, "['SHELL_EXEC']"));
	f.estimate = parse(
		&a, "{'rollback_plan':true,'preflight':true,'dual_control':true,'blast_radius':'galaxy'}");
	assert_string_equal(judged(&a, request, &f), "DENY DENY_COUNTERFACTUAL_FAIL");
	f.ceilings = parse(&a, "{'max_blast_radius':'nebula'}");
	assert_string_equal(judged(&a, request, &f), "DENY DENY_CEILING_EXCEEDED");
}

static void a_token_lets_one_thing_be_done_once(void **state)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct json *request = court_request(&a), *decision, *token;
	struct court_facts f = court_facts(&a);
	const struct json *draft = json_get(request, "tool_call_draft");
	uint8_t secret[SIGN_SECRET], issuer[SIGN_PUBLIC];
	struct drawn d = { 0 };
	struct draw x;
	const int64_t now = f.now_us, until = f.now_us + f.ttl_us;

	(void)state;
	sign_expand(seed, secret, issuer);
	court_judge(&a, request, &f, &decision, &token);
	assert_string_equal(court_commit(&a, token, draft, f.ceilings, "7", "k-1", issuer, now, &d, &x),
		"TOKEN_SIGNATURE");
	sign_text(token, &a, court_token_preimage(&a, token));
	assert_null(court_commit(&a, token, draft, f.ceilings, "7", "k-1", issuer, now, &d, &x));
	assert_string_equal(court_commit(&a, token, f.ceilings, f.ceilings, "7", "k-1", issuer, now, &d, &x),
		"TOKEN_DRAFT");
	assert_string_equal(
		court_commit(&a, token, NULL, f.ceilings, "7", "k-1", issuer, now, &d, &x), "TOKEN_DRAFT");
	assert_string_equal(
		court_commit(&a, token, draft, draft, "7", "k-1", issuer, now, &d, &x), "TOKEN_CEILINGS");
	assert_string_equal(
		court_commit(&a, token, draft, NULL, "7", "k-1", issuer, now, &d, &x), "TOKEN_CEILINGS");
	assert_string_equal(
		court_commit(&a, token, draft, f.ceilings, "8", "k-1", issuer, now, &d, &x), "TOKEN_EPOCH");
	assert_string_equal(court_commit(&a, token, draft, f.ceilings, "7", "k-2", issuer, now, &d, &x),
		"TOKEN_IDEMPOTENCY");
	assert_string_equal(court_commit(&a, token, draft, f.ceilings, "7", "k-1", issuer, until, &d, &x),
		"TOKEN_EXPIRED");
	assert_string_equal(
		court_commit(&a, parse(&a, "[]"), draft, f.ceilings, "7", "k-1", issuer, now, &d, &x),
		"TOKEN_SIGNATURE");
	assert_null(court_commit(&a, token, draft, f.ceilings, "7", "k-1", issuer, until - 1, &d, &x));
	commit_at(&d, &x, 1, now);
	assert_string_equal(
		court_commit(&a, token, draft, f.ceilings, "7", "k-1", issuer, now, &d, &x), "TOKEN_USED");
	/* What it says of itself counts against it; what was changed does not count at all. */
	json_setb(&a, token, "consumed", true);
	assert_string_equal(
		court_commit(&a, token, draft, f.ceilings, "7", "k-1", issuer, now, NULL, &x), "TOKEN_USED");
	json_sets(&a, token, "token_hash", HA);
	assert_string_equal(
		court_commit(&a, token, draft, f.ceilings, "7", "k-1", issuer, now, NULL, &x), "TOKEN_HASH");
	json_sets(&a, token, "expires_at", "2099-01-01T00:00:00Z");
	assert_string_equal(court_commit(&a, token, draft, f.ceilings, "7", "k-1", issuer, now, NULL, &x),
		"TOKEN_SIGNATURE");
	json_sets(&a, token, "expires_at", "never");
	struct json *own = json_copy(&a, token);
	(void)json_remove(own, "token_hash");
	(void)json_remove(own, "signature");
	(void)json_remove(own, "consumed");
	json_sets(&a, token, "token_hash", json_sha256(&a, own));
	sign_text(token, &a, court_token_preimage(&a, token));
	assert_string_equal(court_commit(&a, token, draft, f.ceilings, "7", "k-1", issuer, now, NULL, &x),
		"TOKEN_EXPIRED");
	drawn_done(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_court_stage_by_stage),
		cmocka_unit_test(the_court_and_the_pipeline),
		cmocka_unit_test(a_token_lets_one_thing_be_done_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
