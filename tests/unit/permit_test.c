/* permit_test.c — what is used once: permits, the court and its token; which state may follow which, and when to try again. */
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

/* ---- permits ---- */

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

static struct permit_terms terms(void)
{
	return (struct permit_terms){ .permit_id = "permit-1",
		.intent_hash = "sha256:i",
		.verdict_hash = "sha256:v",
		.effect_type = "WRITE",
		.connector_id = "linear",
		.action = "linear.update",
		.resource_ref = "linear:1",
		.issuer_id = "kernel",
		.nonce = "n-1",
		.issued_us = t0,
		.expires_us = t0 + 60 * (int64_t)US,
		.verdict_expires_us = t0 + 60 * (int64_t)US };
}

static struct permit_use use_of(const struct drawn *d)
{
	uint8_t secret[SIGN_SECRET];
	struct permit_use u = { .issuer_id = "kernel",
		.now_us = t0,
		.connector_id = "linear",
		.action = "linear.update",
		.resource_ref = "linear:1",
		.effect_type = "WRITE",
		.intent_hash = "sha256:i",
		.verdict_hash = "sha256:v",
		.drawn = d };

	sign_expand(seed, secret, u.issuer);
	return u;
}

static struct json *permit_of(struct arena *a, const struct permit_terms *t)
{
	struct json *p;
	struct err e;
	struct bytes preimage;

	if (permit_build(a, t, &p, &e))
		fail_msg("%s", e.text);
	assert_int_equal(permit_preimage(a, p, &preimage, &e), OK);
	sign_text(p, a, preimage);
	return p;
}

static void sign_again(struct arena *a, struct json *permit)
{
	struct bytes preimage;
	struct err e;

	if (permit_preimage(a, permit, &preimage, &e) == OK)
		sign_text(permit, a, preimage);
}

static void assert_permit(
	struct arena *a, const struct json *permit, const struct permit_use *u, const char *want)
{
	struct draw draws[3];
	size_t n;
	const char *got = permit_answer_name(permit_check(a, permit, u, draws, &n));

	assert_string_equal(got, want);
	assert_true(text_eq(got, "ok") || n == 0);
}

static void a_permit_is_used_once(void **state)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct drawn d = { 0 };
	struct permit_terms t = terms();
	struct json *p = permit_of(&a, &t);
	struct permit_use u = use_of(&d);
	struct draw draws[3];
	size_t n;

	(void)state;
	assert_int_equal(permit_check(&a, p, &u, draws, &n), PERMIT_OK);
	assert_int_equal(n, 3);
	commit_at(&d, draws, n, t0);
	assert_permit(&a, p, &u, "permit_replayed");
	/* Another permit with the same nonce, or for the same verdict, is a replay, too. */
	t.permit_id = "permit-2";
	assert_permit(&a, permit_of(&a, &t), &u, "permit_replayed");
	t.nonce = "n-2";
	assert_permit(&a, permit_of(&a, &t), &u, "permit_replayed");
	t.verdict_hash = u.verdict_hash = "sha256:w";
	assert_permit(&a, permit_of(&a, &t), &u, "ok");
	/* Of another issuer: other names. */
	t = terms();
	t.issuer_id = u.issuer_id = "other";
	u.verdict_hash = NULL;
	assert_permit(&a, permit_of(&a, &t), &u, "ok");
	u.issuer_id = NULL;
	assert_permit(&a, permit_of(&a, &t), &u, "ok");
	/* One for many uses leaves no trace. */
	json_setb(&a, p, "single_use", false);
	sign_again(&a, p);
	u = use_of(&d);
	assert_int_equal(permit_check(&a, p, &u, draws, &n), PERMIT_OK);
	assert_int_equal(n, 0);
	drawn_done(&d);
}

static void permits_that_do_not_count(void **state)
{
	/* A member, its value (NULL: it is taken away), whether it is signed again, and what follows. */
	static const struct {
		const char *member, *value;
		bool is_signed;
		const char *want;
	} rows[] = { { "signature", NULL, false, "permit_unsigned" },
		{ "signature", "''", false, "permit_unsigned" },
		{ "signature", "'AB'", false, "invalid_encoding" },
		{ "permit_id", "'permit-9'", false, "permit_signature_rejected" },
		{ "permit_id", NULL, true, "contract_mismatch" },
		{ "nonce", "''", true, "contract_mismatch" }, { "scope", "{}", true, "contract_mismatch" },
		{ "single_use", NULL, true, "contract_mismatch" },
		{ "issued_at", "'soon'", true, "contract_mismatch" },
		{ "expires_at", NULL, true, "contract_mismatch" },
		{ "issued_at", NULL, true, "contract_mismatch" },
		{ "signature_version", "'effect_permit.v2'", true, "contract_mismatch" },
		{ "signature_version", "'effect_permit.v1'", true, "ok" },
		{ "issuer_id", "'other'", true, "permit_issuer_unknown" },
		{ "issued_at", "'2026-06-01T00:00:01Z'", true, "permit_not_yet_valid" },
		{ "expires_at", "'2026-06-01T00:00:00Z'", true, "permit_expired" },
		{ "expires_at", "'2026-06-01T02:00:01+02:00'", true, "ok" },
		{ "connector_id", "'github'", true, "permit_scope_rejected" },
		{ "resource_ref", "'linear:2'", true, "permit_scope_rejected" },
		{ "scope", "{'allowed_action':'linear.delete'}", true, "permit_scope_rejected" },
		{ "scope", "{'allowed_action':'linear.update','allowed_params':['title']}", true,
			"permit_scope_rejected" },
		{ "scope", "{'allowed_action':'linear.update','allowed_params':['title','body']}", true,
			"ok" },
		{ "scope", "{'allowed_action':'linear.update','deny_patterns':['*drop*']}", true,
			"permit_scope_rejected" },
		{ "scope", "{'allowed_action':'linear.update','deny_patterns':['bod?']}", true,
			"permit_scope_rejected" },
		{ "scope", "{'allowed_action':'linear.update','deny_patterns':['x*']}", true, "ok" },
		{ "intent_hash", "'sha256:j'", true, "permit_binding_rejected" },
		{ "verdict_hash", "'sha256:w'", true, "permit_binding_rejected" },
		{ "effect_type", "'READ'", true, "permit_binding_rejected" },
		{ "effect_type", "'EFFECT_TYPE_WRITE'", true, "ok" } };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		AUTO(arena_done) struct arena a = { 0 };
		struct permit_terms t = terms();
		struct json *p = permit_of(&a, &t);
		struct permit_use u = use_of(NULL);
		u.params = parse(&a, "{'title':'a','body':'please drop it','n':1}");
		if (i >= 21)
			u.params = parse(&a, "{'title':'a','body':'please drop it'}");
		if (rows[i].value)
			json_set(&a, p, rows[i].member, parse(&a, rows[i].value));
		else
			(void)json_remove(p, rows[i].member);
		if (rows[i].is_signed)
			sign_again(&a, p);
		assert_permit(&a, p, &u, rows[i].want);
	}
	AUTO(arena_done) struct arena a = { 0 };
	struct permit_terms t = terms();
	struct permit_use u = use_of(NULL);
	assert_permit(&a, parse(&a, "[]"), &u, "contract_mismatch");
	u.action = "linear.delete";
	assert_permit(&a, permit_of(&a, &t), &u, "permit_scope_rejected");
	u = use_of(NULL);
	u.issuer[0] ^= 1;
	assert_permit(&a, permit_of(&a, &t), &u, "permit_signature_rejected");
}

static void permits_are_not_built_for_longer(void **state)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct permit_terms t = terms();
	struct json *p;
	struct err e;

	(void)state;
	t.plan_hash = "sha256:p";
	t.policy_hash = "sha256:q";
	t.allowed_params = parse(&a, "['a']");
	t.deny_patterns = parse(&a, "['b']");
	t.evidence_bindings = parse(&a, "{'x':'y'}");
	p = permit_of(&a, &t);
	assert_string_equal(json_get_text(p, "plan_hash", ""), "sha256:p");
	assert_string_equal(json_text(json_at(json_get(json_get(p, "scope"), "deny_patterns"), 0)), "b");
	t.expires_us++;
	assert_int_equal(permit_build(&a, &t, &p, &e), E_INPUT);
	t = terms();
	t.expires_us = t.issued_us;
	assert_int_equal(permit_build(&a, &t, &p, &e), E_INPUT);
	t = terms();
	t.effect_type = "BREATHE";
	assert_int_equal(permit_build(&a, &t, &p, &e), E_INPUT);
	t = terms();
	t.nonce = "";
	assert_int_equal(permit_build(&a, &t, &p, &e), E_INPUT);
	t.nonce = NULL;
	assert_int_equal(permit_build(&a, &t, &p, &e), E_INPUT);
	assert_string_equal(e.code, "PERMIT");
	t = terms();
	t.action = "";
	assert_int_equal(permit_build(&a, &t, &p, &e), E_INPUT);
	t.action = NULL;
	assert_int_equal(permit_build(&a, &t, &p, &e), E_INPUT);
}

/* ---- lifecycles ---- */

static void states_follow_their_tables(void **state)
{
	static const struct {
		enum lifecycle of;
		const char *states;
		unsigned ways;
	} rows[] = { { LIFECYCLE_EFFECT,
			     " SUBMITTED APPROVED DENIED ESCALATED EXECUTING COMPLETED FAILED COMPENSATED",
			     11 },
		{ LIFECYCLE_CONNECTOR, " ADMITTED STARTED NOT_STARTED UNCERTAIN COMPLETED", 8 },
		{ LIFECYCLE_PROOF,
			" AUTHORIZED PROOF_PENDING EFFECT_FAILED PROOF_FINALIZED PROOF_FINALIZATION_FAILED",
			6 },
		{ LIFECYCLE_ESCALATION, " PENDING APPROVED DENIED TIMED_OUT ABORTED", 5 },
		{ LIFECYCLE_BREAKER, " CLOSED OPEN HALF_OPEN", 5 } };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		AUTO(arena_done) struct arena a = { 0 };
		const char *names[16];
		size_t n = 0;
		unsigned ways = 0;
		struct bytes rest = bytes_of(rows[i].states);
		while (rest.p) {
			struct bytes word = text_cut(&rest, ' ');
			names[n++] = arena_strndup(&a, (const char *)word.p, word.n);
		}
		for (size_t x = 0; x < n; x++)
			for (size_t y = 0; y < n; y++)
				ways += lifecycle_may(rows[i].of, names[x], names[y]);
		assert_int_equal(ways, rows[i].ways);
	}
	assert_true(lifecycle_may(LIFECYCLE_EFFECT, NULL, "SUBMITTED"));
	assert_false(lifecycle_may(LIFECYCLE_EFFECT, NULL, "APPROVED"));
	assert_false(lifecycle_may(LIFECYCLE_EFFECT, "DENIED", "APPROVED"));
	assert_false(lifecycle_may(LIFECYCLE_EFFECT, "COMPLETED", "COMPLETED"));
	assert_true(lifecycle_may(LIFECYCLE_EFFECT, "FAILED", "COMPENSATED"));
	assert_false(lifecycle_may(LIFECYCLE_CONNECTOR, "UNCERTAIN", "STARTED")); /* never again, blindly */
	assert_true(lifecycle_is_end(LIFECYCLE_PROOF, "PROOF_FINALIZED"));
	assert_false(lifecycle_is_end(LIFECYCLE_PROOF, "PROOF_PENDING"));
	assert_false(lifecycle_is_end(LIFECYCLE_PROOF, "NOWHERE"));
}

/* ---- a connector that fails ---- */

static void a_breaker_opens_tries_and_closes(void **state)
{
	struct breaker b = { 0 };

	(void)state;
	for (int i = 0; i < 4; i++)
		breaker_result(&b, false, t0);
	assert_true(breaker_may(&b, t0));
	breaker_result(&b, true, t0); /* one success and it counts anew */
	for (int i = 0; i < 5; i++)
		breaker_result(&b, false, t0);
	assert_false(breaker_may(&b, t0));
	assert_false(breaker_may(&b, t0 + 29 * (int64_t)US));
	assert_true(breaker_may(&b, t0 + 30 * (int64_t)US)); /* one, to try */
	assert_false(breaker_may(&b, t0 + 30 * (int64_t)US));
	breaker_result(&b, false, t0 + 31 * (int64_t)US);
	assert_false(breaker_may(&b, t0 + 60 * (int64_t)US));
	assert_true(breaker_may(&b, t0 + 61 * (int64_t)US));
	breaker_result(&b, true, t0 + 61 * (int64_t)US);
	assert_true(breaker_may(&b, t0 + 61 * (int64_t)US));
	assert_true(breaker_may(&b, t0 + 61 * (int64_t)US));
}

static void retries_are_known_beforehand(void **state)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct backoff b = {
		.base_ms = 100, .max_ms = 1000, .max_jitter_ms = 0, .max_attempts = 6, .exponential_base = 2
	};
	static const int64_t plain[] = { 100, 300, 700, 1500, 2500, 3500 };
	int64_t *x, *y, *z;
	struct err e;

	(void)state;
	assert_int_equal(backoff_schedule(&a, &b, "e", &x, &e), OK);
	assert_memory_equal(x, plain, sizeof(plain));
	b.max_jitter_ms = 50;
	assert_int_equal(backoff_schedule(&a, &b, "e", &x, &e), OK);
	assert_int_equal(backoff_schedule(&a, &b, "e", &y, &e), OK);
	assert_int_equal(backoff_schedule(&a, &b, "f", &z, &e), OK);
	assert_memory_equal(x, y, sizeof(plain));
	assert_memory_not_equal(x, z, sizeof(plain));
	for (size_t i = 0; i < ARRAY_SIZE(plain); i++)
		assert_true(x[i] >= plain[i] && x[i] <= plain[i] + 50 * (int64_t)(i + 1));
	b.exponential_base = UINT32_MAX;
	b.max_attempts = 5;
	assert_int_equal(backoff_schedule(&a, &b, "e", &x, &e), OK);
	const struct backoff bad[] = {
		{ .base_ms = 0, .max_ms = 1, .max_attempts = 1, .exponential_base = 1 },
		{ .base_ms = 2, .max_ms = 1, .max_attempts = 1, .exponential_base = 1 },
		{ .base_ms = 2, .max_ms = INT64_MAX, .max_attempts = 1, .exponential_base = 1 },
		{ .base_ms = 1, .max_ms = 1, .max_attempts = 0, .exponential_base = 1 },
		{ .base_ms = 1, .max_ms = 1, .max_attempts = 1001, .exponential_base = 1 },
		{ .base_ms = 1, .max_ms = 1, .max_attempts = 1, .exponential_base = 0 },
		{ .base_ms = 1, .max_ms = 1, .max_jitter_ms = -1, .max_attempts = 1, .exponential_base = 1 },
		{ .base_ms = 1,
			.max_ms = 1,
			.max_jitter_ms = INT64_MAX,
			.max_attempts = 1,
			.exponential_base = 1 }
	};
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(backoff_schedule(&a, &bad[i], "e", &x, &e), E_INPUT);
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
	struct permit_use u = use_of(NULL);
	struct drawn d = { 0 };
	struct draw x;
	const int64_t now = f.now_us, until = f.now_us + f.ttl_us;

	(void)state;
	court_judge(&a, request, &f, &decision, &token);
	assert_string_equal(court_commit(&a, token, draft, f.ceilings, "7", "k-1", u.issuer, now, &d, &x),
		"TOKEN_SIGNATURE");
	sign_text(token, &a, court_token_preimage(&a, token));
	assert_null(court_commit(&a, token, draft, f.ceilings, "7", "k-1", u.issuer, now, &d, &x));
	assert_string_equal(
		court_commit(&a, token, f.ceilings, f.ceilings, "7", "k-1", u.issuer, now, &d, &x),
		"TOKEN_DRAFT");
	assert_string_equal(
		court_commit(&a, token, NULL, f.ceilings, "7", "k-1", u.issuer, now, &d, &x), "TOKEN_DRAFT");
	assert_string_equal(
		court_commit(&a, token, draft, draft, "7", "k-1", u.issuer, now, &d, &x), "TOKEN_CEILINGS");
	assert_string_equal(
		court_commit(&a, token, draft, NULL, "7", "k-1", u.issuer, now, &d, &x), "TOKEN_CEILINGS");
	assert_string_equal(
		court_commit(&a, token, draft, f.ceilings, "8", "k-1", u.issuer, now, &d, &x), "TOKEN_EPOCH");
	assert_string_equal(court_commit(&a, token, draft, f.ceilings, "7", "k-2", u.issuer, now, &d, &x),
		"TOKEN_IDEMPOTENCY");
	assert_string_equal(court_commit(&a, token, draft, f.ceilings, "7", "k-1", u.issuer, until, &d, &x),
		"TOKEN_EXPIRED");
	assert_string_equal(
		court_commit(&a, parse(&a, "[]"), draft, f.ceilings, "7", "k-1", u.issuer, now, &d, &x),
		"TOKEN_SIGNATURE");
	assert_null(court_commit(&a, token, draft, f.ceilings, "7", "k-1", u.issuer, until - 1, &d, &x));
	commit_at(&d, &x, 1, now);
	assert_string_equal(
		court_commit(&a, token, draft, f.ceilings, "7", "k-1", u.issuer, now, &d, &x), "TOKEN_USED");
	/* What it says of itself counts against it; what was changed does not count at all. */
	json_setb(&a, token, "consumed", true);
	assert_string_equal(court_commit(&a, token, draft, f.ceilings, "7", "k-1", u.issuer, now, NULL, &x),
		"TOKEN_USED");
	json_sets(&a, token, "token_hash", HA);
	assert_string_equal(court_commit(&a, token, draft, f.ceilings, "7", "k-1", u.issuer, now, NULL, &x),
		"TOKEN_HASH");
	json_sets(&a, token, "expires_at", "2099-01-01T00:00:00Z");
	assert_string_equal(court_commit(&a, token, draft, f.ceilings, "7", "k-1", u.issuer, now, NULL, &x),
		"TOKEN_SIGNATURE");
	json_sets(&a, token, "expires_at", "never");
	struct json *own = json_copy(&a, token);
	(void)json_remove(own, "token_hash");
	(void)json_remove(own, "signature");
	(void)json_remove(own, "consumed");
	json_sets(&a, token, "token_hash", json_sha256(&a, own));
	sign_text(token, &a, court_token_preimage(&a, token));
	assert_string_equal(court_commit(&a, token, draft, f.ceilings, "7", "k-1", u.issuer, now, NULL, &x),
		"TOKEN_EXPIRED");
	drawn_done(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_permit_is_used_once),
		cmocka_unit_test(permits_that_do_not_count),
		cmocka_unit_test(permits_are_not_built_for_longer),
		cmocka_unit_test(states_follow_their_tables),
		cmocka_unit_test(a_breaker_opens_tries_and_closes),
		cmocka_unit_test(retries_are_known_beforehand),
		cmocka_unit_test(the_court_stage_by_stage),
		cmocka_unit_test(the_court_and_the_pipeline),
		cmocka_unit_test(a_token_lets_one_thing_be_done_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
