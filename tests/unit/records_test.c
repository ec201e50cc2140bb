/* records_test.c — times, projections and preimages against the worked examples of docs/formats. */
#include "model/identifier.h"
#include "model/records.h"
#include "model/stamp.h"
#include "proof/preimage.h"
#include "tools/unit.h"

static struct arena a;
static struct err e;

static int setup(void **state)
{
	(void)state;
	e = (struct err){ 0 };
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	arena_done(&a);
	return 0;
}

static struct json *parse(const char *text)
{
	struct json *v = NULL;

	assert_int_equal(json_parse(&a, bytes_of(text), "test", NULL, &v, &e), OK);
	return v;
}

static const char *stamp(const char *s, bool utc)
{
	return stamp_canonical(&a, s, strlen(s), utc);
}

static void times_are_printed_again_by_one_rule(void **state)
{
	(void)state;
	assert_string_equal(stamp("2026-08-09T12:00:00.500Z", false), "2026-08-09T12:00:00.5Z");
	assert_string_equal(stamp("2026-08-09T12:00:00+00:00", false), "2026-08-09T12:00:00Z");
	assert_string_equal(stamp("2026-08-09T12:00:00.000-00:00", false), "2026-08-09T12:00:00Z");
	assert_string_equal(stamp("2026-08-06T14:00:00.5+02:00", false), "2026-08-06T14:00:00.5+02:00");
	assert_string_equal(stamp("2026-08-06T14:00:00.5+02:00", true), "2026-08-06T12:00:00.5Z");
	assert_string_equal(stamp("2026-08-06T00:30:00+02:00", true), "2026-08-05T22:30:00Z");
	assert_string_equal(
		stamp("2026-08-06T00:30:00.12345678999Z", false), "2026-08-06T00:30:00.123456789Z");
	assert_string_equal(stamp(STAMP_UNSET, true), STAMP_UNSET);
}

static void what_is_no_time_is_refused(void **state)
{
	static const char *const bad[] = { "", "2026-08-09", "2026-08-09T12:00:00", "2026-08-09 12:00:00Z",
		"2026-02-30T12:00:00Z", "2026-08-09T12:00:00.Z", "2026-08-09T12:00:00+2:00",
		"2026-08-09T12:00:00z", "2026-08-09T12:00:00Zx" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_null(stamp(bad[i], false));
}

static void times_compare_to_the_nanosecond(void **state)
{
	int order;

	(void)state;
	assert_true(
		stamp_compare("2026-01-01T00:00:00.000000001Z", "2026-01-01T00:00:00.000000002Z", &order));
	assert_int_equal(order, -1);
	assert_true(stamp_compare("2026-01-01T02:00:00+02:00", "2026-01-01T00:00:00Z", &order));
	assert_int_equal(order, 0);
	assert_true(stamp_compare("2026-01-01T00:00:01Z", "2026-01-01T00:00:00.9Z", &order));
	assert_int_equal(order, 1);
	assert_false(stamp_compare("now", "2026-01-01T00:00:00Z", &order));
	assert_true(stamp_is_utc("2026-01-01T00:00:00.123456Z", 6));
	assert_false(stamp_is_utc("2026-01-01T00:00:00.1234567Z", 6));
	assert_false(stamp_is_utc("2026-01-01T00:00:00+00:00", 6));
}

static const struct projection *const tables[] = { &receipt_projection, &receipt_v5_projection,
	&decision_projection, &decision_v4_projection, &decision_v3_projection, &decision_v2_projection,
	&threat_scan_projection, &threat_semantic_projection, &effect_binding_projection, &intent_projection,
	&permit_projection, &permit_scope_projection, &external_decision_projection,
	&counterfactual_projection, &agent_run_projection, &policy_decision_projection,
	&policy_request_projection, &proofgraph_node_projection, &tree_head_projection,
	&host_receipt_projection, &host_event_projection, &host_action_projection, &audit_event_projection,
	&audit_trail_projection, &launch_node_projection, &transparency_projection };

static void tables_are_sorted(void **state)
{
	(void)state;
	for (size_t t = 0; t < ARRAY_SIZE(tables); t++)
		for (size_t i = 1; i < tables[t]->n; i++)
			assert_true(strcmp(tables[t]->members[i - 1].name, tables[t]->members[i].name) < 0);
}

static const char *project(const struct projection *p, const char *text)
{
	struct buf b;

	buf_init(&b, &a);
	return projection_write(&b, p, NULL, parse(text), &e) ? e.code : b.p;
}

PROJECTION(sample, MEMBER("b", TEXT, ALWAYS), MEMBER("free", FREE, OMIT), MEMBER("list", TEXTS, ALWAYS),
	MEMBER("n", UINT, OMIT), MEMBER("raw", RAW, OMIT), MEMBER("t", TIME, UNSET));

static void presence_follows_the_table(void **state)
{
	(void)state;
	assert_string_equal(project(&sample, "{}"), "{\"b\":\"\",\"list\":null,\"t\":\"" STAMP_UNSET "\"}");
	assert_string_equal(project(&sample, "{\"list\":[],\"n\":0,\"z\":1}"),
		"{\"b\":\"\",\"list\":[],\"t\":\"" STAMP_UNSET "\"}");
	assert_string_equal(project(&sample, "{\"n\":7,\"t\":\"2026-01-01T00:00:00.10Z\",\"b\":\"x\"}"),
		"{\"b\":\"x\",\"list\":null,\"n\":7,\"t\":\"2026-01-01T00:00:00.1Z\"}");
}

static void free_numbers_pass_a_double(void **state)
{
	(void)state;
	assert_string_equal(
		project(&sample, "{\"free\":{\"a\":1.50,\"b\":-0,\"c\":9007199254740993,\"d\":1e-7}}"),
		"{\"b\":\"\",\"free\":{\"a\":1.5,\"b\":-0,\"c\":9007199254740992,\"d\":1e-7},\"list\":null,"
		"\"t\":\"" STAMP_UNSET "\"}");
	assert_string_equal(project(&sample, "{\"raw\":[1.50]}"),
		"{\"b\":\"\",\"list\":null,\"raw\":[1.50],\"t\":\"" STAMP_UNSET "\"}");
}

static void wrong_types_and_near_names_are_refused(void **state)
{
	(void)state;
	assert_string_equal(project(&sample, "{\"b\":1}"), "MEMBER_TYPE");
	assert_string_equal(project(&sample, "{\"list\":[1]}"), "MEMBER_TYPE");
	assert_string_equal(project(&sample, "{\"n\":-1}"), "non_interoperable_number");
	assert_string_equal(project(&sample, "{\"n\":9007199254740992}"), "non_interoperable_number");
	assert_string_equal(project(&sample, "{\"n\":1.0}"), "non_interoperable_number");
	assert_string_equal(project(&sample, "{\"B\":\"x\"}"), "MEMBER_CASE");
	assert_string_equal(project(&sample, "{\"li\\u017ft\":[]}"), "MEMBER_CASE");
	assert_string_equal(project(&sample, "[]"), "MEMBER_TYPE");
}

static const char demo_receipt[] =
	"{\"receipt_id\":\"rcpt-1\",\"decision_id\":\"dec-1\",\"effect_id\":\"EXECUTE_TOOL\",\"external_"
	"reference_id\":\"\","
	"\"status\":\"DENY\",\"output_hash\":\"\",\"timestamp\":\"2026-08-09T12:00:00Z\",\"executor_id\":"
	"\"agent.alice\","
	"\"prev_hash\":\"\",\"lamport_clock\":1,"
	"\"args_hash\":\"sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a\","
	"\"signature_version\":\"receipt.v5\",\"verdict\":\"DENY\",\"reason_code\":\"POLICY_VIOLATION\","
	"\"policy_hash\":\"sha256:cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc\","
	"\"session_id\":\"sess-1\",\"signature_profile\":\"classical\",\"signature_algorithm\":\"ed25519\","
	"\"key_id\":\"kernel-key-1\",\"public_key_set\":{\"ed25519\":"
	"\"197f6b23e16c8532c6abc838facd5ea789be0c76b2920334039bfa8b3d368d61\"},\"leaf_index\":3,\"log_id\":"
	"\"x\","
	"\"signature\":"
	"\"f107a7bc1f479a43b877ec5cba1e822f6fb6740a14c4df1eb31549f90a528462db03ca8c787f4d6034ba689f688fb60e5"
	"2a3b29b1d7f14fa8d077109c2ebf30d\"}";

static void receipt_example(void **state)
{
	struct bytes preimage;
	uint8_t chain[SHA256_SIZE];
	char hex[SHA256_HEX];

	(void)state;
	assert_int_equal(receipt_preimage_v5(&a, parse(demo_receipt), &preimage, &e), OK);
	assert_string_equal(preimage_hex(&a, preimage),
		"bb6cb12f7328ed3fbab164fe40be352d5453ab62dad1a4ba0551704a4dc01eb3");
	assert_int_equal(receipt_preimage_v4_fields(&a, parse(demo_receipt), &preimage, &e), OK);
	assert_string_equal(preimage_hex(&a, preimage),
		"135d22ef5c50696bb6c4bb67bf689df8366cd1a147d6e7f78577ba46f405a637");
	assert_int_equal(receipt_chain_hash(&a, parse(demo_receipt), chain, &e), OK);
	hex_encode(chain, sizeof(chain), hex);
	assert_string_equal(hex, "9766d50a39f779186bb0f65b9b2271220ff5cccf1f838bcf8e1370c2ce7ac97a");
}

static void a_missing_signed_member_is_named(void **state)
{
	struct json *receipt = parse(demo_receipt);
	struct bytes preimage;

	(void)state;
	json_remove(receipt, "session_id");
	assert_int_equal(receipt_preimage_v5(&a, receipt, &preimage, &e), E_INPUT);
	assert_string_equal(e.code, "contract_mismatch");
	assert_non_null(strstr(e.text, "session_id"));
}

static void decision_example(void **state)
{
	struct json *d = parse(
		"{\"id\":\"dec-1\",\"subject_id\":\"agent:alice\",\"action\":\"EXECUTE_TOOL\",\"resource\":"
		"\"fs.write\","
		"\"policy_content_hash\":\"sha256:"
		"cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc\","
		"\"verdict\":\"DENY\",\"reason\":\"denied by policy\",\"reason_code\":\"POLICY_VIOLATION\","
		"\"signature_type\":\"ed25519:kernel-key-1\",\"signature_version\":\"decision_record.v4\"}");
	struct bytes preimage;

	(void)state;
	assert_int_equal(decision_preimage(&a, d, &preimage, &e), OK);
	assert_string_equal(preimage_prefixed(&a, preimage),
		"sha256:3907b48cf53abd445b8df7f7d108d2bc70a247b94e5cf7321551adc5c24f0815");
	json_sets(&a, d, "signature_version", DECISION_V2);
	assert_int_equal(decision_preimage(&a, d, &preimage, &e), OK);
	assert_string_equal(preimage_hex(&a, preimage),
		"11965a3a35bbdf5daf3e2c005f9f11e813ce0c9c83fd7bb2f5e416e2e47c1a8b");
	json_set(&a, d, "threat_scan",
		parse("{\"finding_count\":0,\"input_hash\":\"sha256:"
		      "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824\",\"max_severity\":"
		      "\"LOW\","
		      "\"scan_id\":\"scan-1\",\"trust_level\":\"TRUSTED\"}"));
	json_sets(&a, d, "signature_version", DECISION_V3);
	assert_int_equal(decision_preimage(&a, d, &preimage, &e), OK);
	assert_string_equal(preimage_hex(&a, preimage),
		"7245016aa00c21f6f70a331d7527656981ac09e2d7b4e92660099a9b58dcc1b5");
	json_sets(&a, d, "signature_version", "decision_record.v9");
	assert_int_equal(decision_preimage(&a, d, &preimage, &e), E_INPUT);
}

static void intent_example(void **state)
{
	struct json *intent = parse("{\"allowed_tool\":\"fs.write\",\"decision_id\":\"dec-1\",\"effect_"
				    "binding\":{\"effect_type\":\"fs.write\","
				    "\"params\":{\"path\":\"out.txt\"}},\"effect_digest_hash\":"
				    "\"fd4154a30bd350bfc35bed076c7778d35f6479695c28498dd5629a883e289783\","
				    "\"expires_at\":\"2026-08-09T12:05:00Z\",\"id\":\"intent-1\",\"issued_"
				    "at\":\"2026-08-09T12:00:00Z\","
				    "\"signature_type\":\"ed25519:kernel-key-1\",\"signature_version\":"
				    "\"authorized_execution_intent.v2\","
				    "\"signer\":\"kernel\"}");
	struct bytes preimage;
	char *digest;

	(void)state;
	assert_int_equal(intent_preimage(&a, intent, &preimage, &e), OK);
	assert_string_equal(preimage_hex(&a, preimage),
		"8b7114a02aa620b5f17bfb10fde954a908fd97a9cdb728535d4ca72747ffe01a");
	assert_int_equal(effect_digest(&a, json_get(intent, "effect_binding"), &digest, &e), OK);
	assert_string_equal(digest, "fd4154a30bd350bfc35bed076c7778d35f6479695c28498dd5629a883e289783");
}

static void permit_example(void **state)
{
	struct json *permit =
		parse("{\"permit_id\":\"permit-0c7e5a91d2b46f38\",\"intent_hash\":\"sha256:"
		      "6e5b7d9f1a3c5e7b9d1f3a5c7e9b1d3f5a7c9e1b3d5f7a9c1e3b5d7f9a1c3e5b\",\"verdict_hash\":"
		      "\"sha256:"
		      "7f6c8e0a2c4e6b8d0f2a4c6e8b0d2f4a6c8e0b2d4f6a8c0e2b4d6f8a0c2e4b6d\",\"effect_type\":"
		      "\"EFFECT_TYPE_READ\","
		      "\"connector_id\":\"linear\",\"scope\":{\"allowed_action\":\"linear.get_issue\"},"
		      "\"resource_ref\":"
		      "\"linear:issue:ISS-1\",\"expires_at\":\"2026-08-06T12:30:00Z\",\"single_use\":true,"
		      "\"nonce\":"
		      "\"8a7d9f1b3c5e7a9d1f3b5c7e9a1d3f5b7c9e1a3d5f7b9c1e3a5d7f9b1c3e5a7d\",\"issued_at\":"
		      "\"2026-08-06T14:00:00.5+02:00\",\"issuer_id\":\"mcp-governed-bridge-v1\"}");
	struct bytes preimage;

	(void)state;
	assert_int_equal(permit_preimage(&a, permit, &preimage, &e), OK);
	assert_string_equal(preimage_hex(&a, preimage),
		"21440e6f89b3e45c8e2b1625d90f98c5b2267d5d70fb55140ac7f2da7a13b2d0");
}

static void names_of_things(void **state)
{
	(void)state;
	assert_true(urn_is_valid("urn:helm:principal:agent.alice-1"));
	assert_true(urn_is_valid(
		"urn:helm:receipt:9766d50a39f779186bb0f65b9b2271220ff5cccf1f838bcf8e1370c2ce7ac97a"));
	assert_false(urn_is_valid("urn:helm:receipt:rcpt-1"));
	assert_false(urn_is_valid("urn:helm:session:"));
	assert_false(urn_is_valid("urn:helm:session:a b"));
	assert_false(urn_is_valid("urn:helm:effect:telephony:originate_call"));
	assert_string_equal(receipt_tenant_id(&a, "tenant-a", "dec-1", NULL),
		"rcpt-13d598ece014d9bde0e27e55da8dac924ecd3489c6470a3925b4ae1514a9fd16");
}

/* The tag selects the rules; another tag, or none, is not read by these. */
static void another_receipt_version_is_refused(void **state)
{
	struct json *receipt = parse(demo_receipt);
	struct bytes preimage = { 0 };

	(void)state;
	json_sets(&a, receipt, "signature_version", "receipt.v6");
	assert_int_equal(receipt_preimage_v5(&a, receipt, &preimage, &e), E_INPUT);
	assert_string_equal(e.code, "contract_mismatch");
	assert_non_null(strstr(e.text, "receipt.v6"));
	json_remove(receipt, "signature_version");
	assert_int_equal(receipt_preimage_v5(&a, receipt, &preimage, &e), E_INPUT);
	assert_non_null(strstr(e.text, "signature_version"));
	assert_null(preimage.p);
}

static void old_receipts_join_their_fields(void **state)
{
	struct bytes preimage = { 0 };

	(void)state;
	assert_int_equal(receipt_preimage_v4_fields(&a, parse("{\"receipt_id\":\"r\"}"), &preimage, &e), OK);
	assert_string_equal(arena_strndup(&a, (const char *)preimage.p, preimage.n), "r::::::0:");
	preimage = (struct bytes){ 0 };
	assert_int_equal(
		receipt_preimage_v4_fields(&a, parse("{\"lamport_clock\":-1}"), &preimage, &e), E_INPUT);
	assert_string_equal(e.code, "non_interoperable_number");
	assert_int_equal(
		receipt_preimage_v4_fields(&a, parse("{\"lamport_clock\":\"1\"}"), &preimage, &e), E_INPUT);
	assert_int_equal(receipt_preimage_v4_fields(&a, parse("{\"status\":1}"), &preimage, &e), E_INPUT);
	assert_string_equal(e.code, "contract_mismatch");
	assert_non_null(strstr(e.text, "\"status\" must be a string"));
	assert_null(preimage.p);
}

static void what_is_no_receipt_has_no_chain_hash(void **state)
{
	uint8_t hash[SHA256_SIZE] = { 7 };

	(void)state;
	assert_int_equal(receipt_chain_hash(&a, parse("{\"receipt_id\":1}"), hash, &e), E_INPUT);
	assert_int_equal(receipt_chain_hash(&a, parse("[]"), hash, NULL), E_INPUT);
	assert_int_equal(hash[0], 7);
}

static void decisions_are_read_strictly(void **state)
{
	static const struct {
		const char *text, *code;
	} cases[] = {
		{ "{\"signature_version\":4}", "unsupported_version" },
		{ "{\"signature_version\":\"decision_record.v9\"}", "unsupported_version" },
		{ "{\"signature_version\":\"decision_record.v4\",\"reason\":1}", "contract_mismatch" },
		{ "{\"signature_version\":\"decision_record.v3\"}", "contract_mismatch" },
		{ "{\"signature_version\":\"decision_record.v3\",\"threat_scan\":null}",
			"contract_mismatch" },
		{ "{\"signature_version\":\"decision_record.v3\",\"threat_scan\":\"clean\"}", "MEMBER_TYPE" },
		{ "{\"signature_version\":\"decision_record.v4\",\"verdict\":1}", "MEMBER_TYPE" },
	};
	struct bytes preimage = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(decision_preimage(&a, parse(cases[i].text), &preimage, &e), E_INPUT);
		if (!text_eq(e.code, cases[i].code))
			fail_msg("%s: %s: %s", cases[i].text, e.code, e.text);
		assert_int_equal(decision_preimage(&a, parse(cases[i].text), &preimage, NULL), E_INPUT);
	}
	assert_null(preimage.p);
}

/* A decision cannot bring its own hash of a reason it does not state. */
static void computed_members_are_computed(void **state)
{
	struct bytes x, y;

	(void)state;
	assert_int_equal(
		decision_preimage(&a, parse("{\"signature_version\":\"decision_record.v4\"}"), &x, &e), OK);
	assert_int_equal(
		decision_preimage(&a,
			parse("{\"signature_version\":\"decision_record.v4\",\"reason_hash\":\"mine\","
			      "\"threat_scan_hash\":\"mine\",\"reason_hash\\u0000\":1}"),
			&y, &e),
		OK);
	assert_true(bytes_eq(x, y));
}

static const char *intent_with_taint(const char *taint)
{
	struct bytes preimage;
	struct json *intent =
		parse(arena_printf(&a, "{\"signature_version\":\"" INTENT_V2 "\",\"taint\":%s}", taint));

	if (intent_preimage(&a, intent, &preimage, &e))
		return e.code;
	return arena_strndup(&a, (const char *)preimage.p, preimage.n);
}

static void taint_labels_have_one_spelling(void **state)
{
	const char *want = intent_with_taint("[\"pii\",\"web\"]");

	(void)state;
	assert_non_null(strstr(want, "\"taint\":[\"pii\",\"web\"]"));
	assert_string_equal(
		intent_with_taint("[\" PII\\t\", \"web\\r\\n\", \"pii\", \"\", \"  \", \"WeB\"]"), want);
	assert_non_null(strstr(intent_with_taint("[\"a b\", \"\\u0001\"]"), "[\"a b\",\"\\u0001\"]"));
	/* what is no label could otherwise be added to a signed intent */
	assert_string_equal(intent_with_taint("[\"pii\",\"web\",1]"), "MEMBER_TYPE");
	assert_string_equal(intent_with_taint("[\"pii\",\"web\",null]"), "MEMBER_TYPE");
	assert_string_not_equal(intent_with_taint("[\"pii\",\"web\\u0000x\"]"), want);
	assert_string_equal(intent_with_taint("\"pii\""), "MEMBER_TYPE");
}

static void other_records_are_read_strictly(void **state)
{
	struct bytes preimage = { 0 };
	char *digest = NULL;

	(void)state;
	assert_int_equal(intent_preimage(&a, parse("{}"), &preimage, &e), E_INPUT);
	assert_string_equal(e.code, "unsupported_version");
	assert_int_equal(effect_digest(&a, parse("[]"), &digest, &e), E_INPUT);
	assert_null(digest);
	assert_int_equal(permit_preimage(&a, parse("[]"), &preimage, &e), E_INPUT);
	assert_string_equal(e.code, "contract_mismatch");
	assert_int_equal(permit_preimage(&a, parse("{\"effect_type\":1}"), &preimage, &e), E_INPUT);
	assert_int_equal(sealed_preimage(&a, NULL, NULL, &preimage, &e), E_INPUT);
	assert_string_equal(e.code, "MEMBER_MISSING");
	assert_int_equal(sealed_preimage(&a, parse("{\"n\":1.5}"), NULL, &preimage, &e), E_INPUT);
	assert_int_equal(key_link_preimage(&a, parse("{\"n\":1.5}"), &preimage, &e), E_INPUT);
	assert_string_equal(e.code, "non_interoperable_number");
	assert_null(preimage.p);
}

static void a_policy_bundle_is_hashed_in_its_own_order(void **state)
{
	struct bytes preimage = { 0 };

	(void)state;
	assert_int_equal(bundle_preimage(&a,
				 parse("{\"rules\":[{\"reason\":\"<r>\",\"id\":\"1\",\"verdict\":\"DENY\"}],"
				       "\"version\":\"2\",\"name\":\"n\",\"more\":1}"),
				 &preimage, &e),
		OK);
	assert_string_equal(arena_strndup(&a, (const char *)preimage.p, preimage.n),
		"{\"name\":\"n\",\"version\":\"2\",\"rules\":[{\"id\":\"1\",\"action\":\"\",\"expression\":"
		"\"\","
		"\"verdict\":\"DENY\",\"reason\":\"\\u003cr\\u003e\"}]}");
	assert_int_equal(bundle_preimage(&a, parse("{\"rules\":[]}"), &preimage, &e), E_INPUT);
	assert_string_equal(e.code, "contract_mismatch");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(times_are_printed_again_by_one_rule, setup, teardown),
		cmocka_unit_test_setup_teardown(what_is_no_time_is_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(times_compare_to_the_nanosecond, setup, teardown),
		cmocka_unit_test_setup_teardown(tables_are_sorted, setup, teardown),
		cmocka_unit_test_setup_teardown(presence_follows_the_table, setup, teardown),
		cmocka_unit_test_setup_teardown(free_numbers_pass_a_double, setup, teardown),
		cmocka_unit_test_setup_teardown(wrong_types_and_near_names_are_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(receipt_example, setup, teardown),
		cmocka_unit_test_setup_teardown(a_missing_signed_member_is_named, setup, teardown),
		cmocka_unit_test_setup_teardown(decision_example, setup, teardown),
		cmocka_unit_test_setup_teardown(intent_example, setup, teardown),
		cmocka_unit_test_setup_teardown(permit_example, setup, teardown),
		cmocka_unit_test_setup_teardown(names_of_things, setup, teardown),
		cmocka_unit_test_setup_teardown(another_receipt_version_is_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(old_receipts_join_their_fields, setup, teardown),
		cmocka_unit_test_setup_teardown(what_is_no_receipt_has_no_chain_hash, setup, teardown),
		cmocka_unit_test_setup_teardown(decisions_are_read_strictly, setup, teardown),
		cmocka_unit_test_setup_teardown(computed_members_are_computed, setup, teardown),
		cmocka_unit_test_setup_teardown(taint_labels_have_one_spelling, setup, teardown),
		cmocka_unit_test_setup_teardown(other_records_are_read_strictly, setup, teardown),
		cmocka_unit_test_setup_teardown(a_policy_bundle_is_hashed_in_its_own_order, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
