/* gates_test.c — the gates of conformance: a pack that passes every one, and for each gate what makes it fail.
 *
 * The pack is made in memory and signed here, so that a case can break one thing and sign the rest again. */
#include "audit/audit.h"
#include "base/hash.h"
#include "base/text.h"
#include "proof/sign.h"
#include "tools/fault_sys.h"
#include "tools/unit.h"

#include <stdlib.h>
#include <string.h>

struct made {
	struct arena a;
	struct fault f;
	struct pack pack;
	struct pack_file files[64];
	struct trusted_key key;
	struct trust trust;
	uint8_t secret[SIGN_SECRET], pub[SIGN_PUBLIC];
	char pub_hex[2 * SIGN_PUBLIC + 1];
};

static void put(struct made *m, const char *path, const char *text)
{
	for (size_t i = 0; i < m->pack.n; i++)
		if (text_eq(m->files[i].path, path)) {
			m->files[i].content = bytes_of(text);
			return;
		}
	m->files[m->pack.n++] = (struct pack_file){
		.path = path, .content = bytes_of(text), .size_bytes = strlen(text), .is_kept = true
	};
}

static void drop(struct made *m, const char *path)
{
	for (size_t i = 0; i < m->pack.n; i++)
		if (text_eq(m->files[i].path, path))
			m->files[i--] = m->files[--m->pack.n];
}

static int by_path(const void *x, const void *y)
{
	return strcmp(((const struct pack_file *)x)->path, ((const struct pack_file *)y)->path);
}

static const char *written(struct made *m, const struct json *doc)
{
	struct buf text;

	buf_init(&text, &m->a);
	json_write(&text, doc, 0);
	return text.p;
}

static const char *sign_text(struct made *m, const char *text)
{
	uint8_t sig[SIGN_SIZE];
	char *hex = arena_text(&m->a, 2 * SIGN_SIZE + 1);

	sign_message(m->secret, bytes_of(text), sig);
	hex_encode(sig, SIGN_SIZE, hex);
	return hex;
}

/* A receipt envelope with its hash and signature; `change` is "member=text", "-member", or NULL. */
static const char *receipt(struct made *m, int64_t seq, const char *action, const char *parent,
	const char *change, const char **ret_hash)
{
	static const char *const members[] = { "run_id", "tenant_id", "timestamp_virtual", "schema_version",
		"envelope_id", "envelope_hash", "envelope_decision", "jurisdiction", "policy_hash",
		"policy_version", "effect_class", "effect_type", "intent_id", "effect_digest_hash",
		"capability_ref", "budget_snapshot_ref", "phenotype_hash", "payload_commitment",
		"policy_decision_hash" };
	struct json *r = json_new(&m->a, JSON_OBJECT), *parents = json_new(&m->a, JSON_ARRAY);

	for (size_t i = 0; i < ARRAY_SIZE(members); i++)
		json_sets(&m->a, r, members[i], "x");
	json_seti(&m->a, r, "seq", seq);
	json_seti(&m->a, r, "lamport_clock", seq);
	json_sets(&m->a, r, "actor", text_eq(action, "approval_action") ? "operator" : "agent:a");
	json_sets(&m->a, r, "action_type", action);
	json_sets(&m->a, r, "decision_id", arena_printf(&m->a, "dec-%lld", (long long)seq));
	json_pushs(&m->a, parents, parent);
	json_set(&m->a, r, "parent_receipt_hashes", parents);
	const char *eq = change ? strchr(change, '=') : NULL;
	if (eq)
		json_sets(&m->a, r, arena_strndup(&m->a, change, (size_t)(eq - change)), eq + 1);
	else if (change)
		json_remove(r, change + 1);
	*ret_hash = json_sha256(&m->a, r);
	json_sets(&m->a, r, "receipt_hash", *ret_hash);
	struct buf text;
	buf_init(&text, &m->a);
	json_canonical(&text, r);
	json_sets(&m->a, r, "signature", sign_text(m, text.p));
	return written(m, r);
}

/* Five receipts in a row; `change` is made in the one of number `which`. */
static void put_receipts(struct made *m, int which, const char *change)
{
	static const char *const actions[] = { "policy_decision", "tool_call", "budget_exhausted",
		"containment_transition", "approval_action" };
	static const char *const paths[] = { "02_PROOFGRAPH/receipts/1.json", "02_PROOFGRAPH/receipts/2.json",
		"02_PROOFGRAPH/receipts/3.json", "02_PROOFGRAPH/receipts/4.json",
		"02_PROOFGRAPH/receipts/5.json" };
	const char *parent = "genesis";

	for (int i = 0; i < (int)ARRAY_SIZE(paths); i++)
		put(m, paths[i], receipt(m, i + 1, actions[i], parent, i == which ? change : NULL, &parent));
}

static void put_signed_pack(struct made *m)
{
	const char *pack = "{\"name\":\"p\"}", *digest = sha256_prefixed(&m->a, pack, strlen(pack));

	put(m, "04_EXPORTS/packs/p/pack.json", pack);
	put(m, "04_EXPORTS/packs/p/signature.json",
		arena_printf(&m->a, "{\"sha256\":\"%s\",\"public_key\":\"%s\",\"signature\":\"%s\"}", digest,
			m->pub_hex, sign_text(m, digest)));
	put(m, "07_ATTESTATIONS/trusted_roots.json", arena_printf(&m->a, "{\"keys\":[\"%s\"]}", m->pub_hex));
}

static void make(struct made *m)
{
	static const uint8_t seed[SIGN_SEED] = { 7 };

	*m = (struct made){ 0 };
	fault_init(&m->f);
	sign_expand(seed, m->secret, m->pub);
	hex_encode(m->pub, SIGN_PUBLIC, m->pub_hex);
	m->key.id = "k";
	memcpy(m->key.key, m->pub, SIGN_PUBLIC);
	m->trust = (struct trust){ .keys = &m->key, .key_count = 1 };
	m->pack.files = m->files;
	put_receipts(m, -1, NULL);
	put(m, "02_PROOFGRAPH/determinism_manifest.json", "{\"live_hash\":\"h\",\"replay_hash\":\"h\"}");
	put(m, "02_PROOFGRAPH/policy_decisions/1.json",
		"{\"policy_hash\":\"h\",\"boundary\":\"b\",\"verdict\":\"DENY\",\"decision_id\":\"dec-1\","
		"\"delegation\":{\"delegator\":\"a\",\"delegate\":\"b\",\"validated\":true}}");
	put(m, "02_PROOFGRAPH/condensation.json",
		"{\"merkle_root\":\"fb740ee83e8a98bff7b58862a647d4f3fc9b9bd56e84f95faef5123ded1cfea6\"}");
	put(m, "03_TELEMETRY/budget_metrics.json",
		"{\"time\":1,\"tokens\":1,\"tool_calls\":1,\"spend\":1,\"recursion\":1}");
	put(m, "03_TELEMETRY/taint/lineage.json",
		"{\"nodes\":[{\"id\":\"n\",\"lineage_hash\":\"h\"}],\"violations\":[]}");
	put(m, "03_TELEMETRY/slo.json",
		"{\"scheduler_latency\":1,\"policy_decision_latency\":1,\"receipt_verification_latency\":1,"
		"\"connector_error_rate\":1,\"escalation_queue_latency\":1}");
	put(m, "03_TELEMETRY/ops_status_snapshot.json", "{}");
	put(m, "03_TELEMETRY/threat_scans/1.json", "{\"content_hash\":\"h\",\"findings\":[]}");
	put(m, "12_REPORTS/runbooks/index.md", "x");
	put(m, "04_EXPORTS/incidents/1.json", "{}");
	put(m, "04_EXPORTS/jurisdictions/eu/test_suite/1.json", "{}");
	put(m, "04_EXPORTS/jurisdictions/eu/conformance_report.json", "{}");
	put(m, "04_EXPORTS/bundles/b.json", "{\"name\":\"b\"}");
	put(m, "07_ATTESTATIONS/build_identity.json", "{\"commit\":\"c\"}");
	put(m, "07_ATTESTATIONS/dependency_lock.json", "{}");
	put(m, "07_ATTESTATIONS/sbom.json", "{}");
	put(m, "07_ATTESTATIONS/provenance.json", "{}");
	put(m, "07_ATTESTATIONS/trust_roots.json", "{}");
	put(m, "08_TAPES/tape_manifest.json", "{\"run_id\":\"r\",\"entries\":[]}");
	put(m, "09_SCHEMAS/tool_io/read.json", "{\"type\":\"object\"}");
	put(m, "09_SCHEMAS/tool_manifests/read.json",
		"{\"tool_id\":1,\"version\":1,\"capabilities\":1,\"side_effect_classes\":1,\"data_classes_in\":1,"
		"\"data_classes_out\":1,\"network_scopes\":1,\"fs_scopes\":1,\"required_approvals\":1,\"schemas\":1,"
		"\"signatures\":1}");
	put_signed_pack(m);
}

static struct json *run(struct made *m, const char *only)
{
	struct json *report;
	struct err e = { 0 };
	struct conform_gates ask = {
		.pack = &m->pack, .trust = &m->trust, .only = &only, .only_count = only != NULL
	};

	qsort(m->files, m->pack.n, sizeof(*m->files), by_path);
	if (conform_gates(&m->f.sys, &m->a, &ask, &report, &e))
		fail_msg("%s", e.text);
	return report;
}

static void fails_with(struct made *m, const char *gate, const char *reason)
{
	struct json *report = run(m, gate);
	const struct json *row = json_at(json_get(report, "gate_results"), 0);
	bool found = false;

	json_each (r, json_get(row, "reasons"))
		found |= text_starts(json_text(r), reason);
	if (!found)
		fail_msg("%s does not say %s but %s", gate, reason, written(m, json_get(row, "reasons")));
	assert_false(json_get_bool(report, "pass", true));
	arena_done(&m->a);
}

static void test_everything_passes(void **state)
{
	struct made m;

	(void)state;
	make(&m);
	struct json *report = run(&m, NULL);
	json_each (row, json_get(report, "gate_results"))
		if (!json_get_bool(row, "pass", false))
			fail_msg("%s: %s", json_get_text(row, "gate_id", ""),
				written(&m, json_get(row, "reasons")));
	assert_int_equal(json_get_int(report, "passed", 0), 21);
	assert_true(json_get_bool(report, "pass", false));
	arena_done(&m.a);
}

/* A set has its own gates, and says on which scale it is. */
static void test_sets(void **state)
{
	struct made m;
	struct json *report;
	struct err e = { 0 };

	(void)state;
	make(&m);
	struct conform_gates ask = {
		.pack = &m.pack, .trust = &m.trust, .set = conform_set_find("gate_level", "L1", &e)
	};
	assert_int_equal(conform_gates(&m.f.sys, &m.a, &ask, &report, &e), OK);
	assert_int_equal(json_get(report, "gate_results")->n, 3);
	assert_string_equal(json_get_text(report, "gate_level", ""), "L1");
	assert_null(json_get(report, "profile"));
	ask.set = conform_set_find("profile", "REGULATED_HEALTH", &e);
	assert_int_equal(conform_gates(&m.f.sys, &m.a, &ask, &report, &e), OK);
	assert_int_equal(json_get(report, "gate_results")->n, 19);
	assert_int_equal(json_get(json_get(report, "metadata"), "not_checked")->n, 3);
	/* L3 is a profile, and no level. */
	assert_null(conform_set_find("gate_level", "L3", &e));
	assert_string_equal(e.code, "CONFORM_SET");
	const char *other = "G4";
	ask.only = &other;
	ask.only_count = 1;
	ask.set = conform_set_find("gate_level", "L1", &e);
	assert_int_equal(conform_gates(&m.f.sys, &m.a, &ask, &report, &e), E_USAGE);
	arena_done(&m.a);
}

/* What each gate misses when one file is gone. */
static void test_missing_files(void **state)
{
	static const struct {
		const char *path, *gate, *reason;
	} cases[] = { { "07_ATTESTATIONS/build_identity.json", "G0", "BUILD_IDENTITY_MISSING" },
		{ "07_ATTESTATIONS/dependency_lock.json", "G0", "BUILD_IDENTITY_MISSING:dependency lock" },
		{ "07_ATTESTATIONS/sbom.json", "G0", "BUILD_IDENTITY_MISSING:sbom" },
		{ "07_ATTESTATIONS/provenance.json", "G0", "BUILD_IDENTITY_MISSING:provenance" },
		{ "07_ATTESTATIONS/trust_roots.json", "G0", "TRUST_ROOTS_MISSING" },
		{ "02_PROOFGRAPH/receipts/2.json", "G1", "RECEIPT_DAG_BROKEN" },
		{ "08_TAPES/tape_manifest.json", "G2", "REPLAY_TAPE_MISS" },
		{ "02_PROOFGRAPH/determinism_manifest.json", "G2", "REPLAY_HASH_DIVERGENCE" },
		{ "09_SCHEMAS/tool_io/read.json", "G2A", "SCHEMA_VALIDATION_FAILED" },
		{ "02_PROOFGRAPH/policy_decisions/1.json", "G3", "POLICY_DECISION_MISSING" },
		{ "03_TELEMETRY/budget_metrics.json", "G3A", "BUDGET_EXHAUSTED" },
		{ "02_PROOFGRAPH/receipts/3.json", "G3A", "CONTAINMENT_NOT_TRIGGERED" },
		{ "09_SCHEMAS/tool_manifests/read.json", "G5", "TOOL_MANIFEST_MISSING" },
		{ "03_TELEMETRY/taint/lineage.json", "G6", "TAINT_FLOW_VIOLATION" },
		{ "04_EXPORTS/incidents/1.json", "G7", "CONTAINMENT_NOT_TRIGGERED" },
		{ "02_PROOFGRAPH/receipts/4.json", "G7", "CONTAINMENT_NOT_TRIGGERED" },
		{ "02_PROOFGRAPH/receipts/5.json", "G8", "HITL_RECEIPTS_MISSING" },
		{ "04_EXPORTS/jurisdictions/eu/conformance_report.json", "G9",
			"JURISDICTION_EVIDENCE_MISSING:eu" },
		{ "03_TELEMETRY/slo.json", "G11", "SLO_MISSING:scheduler_latency" },
		{ "03_TELEMETRY/ops_status_snapshot.json", "G11", "OPS_STATUS_SNAPSHOT_MISSING" },
		{ "12_REPORTS/runbooks/index.md", "G11", "RUNBOOKS_MISSING" },
		{ "04_EXPORTS/packs/p/signature.json", "G12", "PACK_UNSIGNED:04_EXPORTS/packs/p/" },
		{ "07_ATTESTATIONS/trusted_roots.json", "G12", "TRUSTED_ROOTS_MISSING" },
		{ "04_EXPORTS/bundles/b.json", "G14", "BUNDLE_MISSING" },
		{ "02_PROOFGRAPH/condensation.json", "G15", "MERKLE_ROOT_MISSING" },
		{ "03_TELEMETRY/threat_scans/1.json", "GX_THREAT_SCAN", "THREAT_SCAN_MISSING" },
		{ "02_PROOFGRAPH/receipts/1.json", "GX_ENVELOPE", "DENIAL_NO_RECEIPT:dec-1" } };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct made m;
		make(&m);
		drop(&m, cases[i].path);
		fails_with(&m, cases[i].gate, cases[i].reason);
	}
}

static void test_wrong_files(void **state)
{
	static const struct {
		const char *path, *text, *gate, *reason;
	} cases[] = { { "05_DIFFS/1.diff", "x", "G2", "REPLAY_HASH_DIVERGENCE" },
		{ "09_SCHEMAS/tool_io/write.json", "{\"type\":\"no such type\"}", "G2A",
			"SCHEMA_VALIDATION_FAILED:09_SCHEMAS/tool_io/write.json" },
		{ "02_PROOFGRAPH/policy_decisions/2.json", "{\"policy_hash\":\"h\"}", "G3",
			"POLICY_DECISION_MISSING" },
		{ "06_LOGS/a.log", "key AKIAIOSFODNN7EXAMPLE end", "G4",
			"SECRET_LEAK_DETECTED:06_LOGS/a.log" },
		{ "08_TAPES/t.json", "-----BEGIN EC PRIVATE KEY-----", "G4", "SECRET_LEAK_DETECTED" },
		{ "06_LOGS/b.log", "password=x", "G4", "SECRET_LEAK_DETECTED" },
		{ "09_SCHEMAS/tool_manifests/x.json", "{\"tool_id\":1}", "G5", "TOOL_MANIFEST_INVALID" },
		{ "03_TELEMETRY/taint/lineage.json", "{\"nodes\":[],\"violations\":[1]}", "G6",
			"TAINT_FLOW_VIOLATION" },
		{ "04_EXPORTS/packs/p/pack.json", "{\"name\":\"q\"}", "G12", "PACK_SIG_INVALID" },
		{ "04_EXPORTS/bundles/c.json", "{\"content_hash\":\"sha256:0\"}", "G14",
			"BUNDLE_HASH_DIFFERS" },
		{ "02_PROOFGRAPH/policy_decisions/1.json",
			"{\"verdict\":\"ALLOW\",\"delegation\":{\"delegator\":\"a\",\"delegate\":\"b\"}}",
			"GX_DELEGATION", "DELEGATION_INCONSISTENT" },
		{ "03_TELEMETRY/threat_scans/2.json", "{}", "GX_THREAT_SCAN", "THREAT_SCAN_INCOMPLETE" } };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct made m;
		make(&m);
		put(&m, cases[i].path, cases[i].text);
		fails_with(&m, cases[i].gate, cases[i].reason);
	}
}

static void test_wrong_receipts(void **state)
{
	static const struct {
		const char *change, *gate, *reason;
	} cases[] = { { "action_type=dance", "G1", "UNKNOWN_ACTION_TYPE:dance" },
		{ "-intent_id", "G1", "RECEIPT_CHAIN_BROKEN" },
		{ "-envelope_hash", "G1", "ENVELOPE_NOT_BOUND" },
		{ "tenant_id=other", "G1", "TENANT_ISOLATION_VIOLATION" },
		{ "-seq", "G1", "RECEIPT_CHAIN_BROKEN" },
		{ "-envelope_id", "GX_ENVELOPE", "ENVELOPE_NOT_BOUND" },
		{ "-envelope_decision", "GX_ENVELOPE", "ENVELOPE_NOT_ENFORCED" },
		{ "-tenant_id", "GX_TENANT", "TENANT_ID_MISSING" },
		{ "tenant_id=other", "GX_TENANT", "TENANT_ISOLATION_VIOLATION" } };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct made m;
		make(&m);
		put_receipts(&m, 1, cases[i].change);
		fails_with(&m, cases[i].gate, cases[i].reason);
	}
	struct made m;
	make(&m);
	put_receipts(&m, 0, "-policy_decision_hash");
	fails_with(&m, "G2", "POLICY_DECISION_HASH_MISSING");
}

/* Keys come from the reader; without one, or with another one, no signature counts. */
static void test_trust(void **state)
{
	struct made m;

	(void)state;
	make(&m);
	m.trust.key_count = 0;
	fails_with(&m, "G1", "TRUST_ROOTS_MISSING");
	make(&m);
	m.key.key[0] ^= 1;
	fails_with(&m, "G1", "SIGNATURE_INVALID:dec-1");
	make(&m);
	put(&m, "02_PROOFGRAPH/receipts/2.json", "{\"seq\":2}");
	fails_with(&m, "G1", "SIGNATURE_INVALID");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_everything_passes),
		cmocka_unit_test(test_sets),
		cmocka_unit_test(test_missing_files),
		cmocka_unit_test(test_wrong_files),
		cmocka_unit_test(test_wrong_receipts),
		cmocka_unit_test(test_trust),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
