/* native_pack_test.c — the numbered layout: seal, chain walk, tapes, and the words each failure is reported with. */
#include "audit/audit.h"
#include "base/hash.h"
#include "proof/pack.h"
#include "tools/packs.h"
#include "tools/unit.h"

#include <stdarg.h>

enum { FILES_MAX = 40 };

static struct scratch t;
static struct arena a;
static struct err e;
static struct key *key;
static struct pack_item files[FILES_MAX];
static size_t file_count;

static int setup(void **state)
{
	(void)state;
	scratch_open(&t);
	key = packs_key(&t);
	e = (struct err){ 0 };
	file_count = 0;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	key_free(&key);
	key = NULL;
	arena_done(&a);
	scratch_done(&t);
	return 0;
}

static void put(const char *path, const char *text)
{
	for (size_t i = 0; i < file_count; i++)
		if (text_eq(files[i].path, path)) {
			files[i].content = bytes_of(text);
			return;
		}
	files[file_count++] = (struct pack_item){ .path = path, .content = bytes_of(text) };
}

/* A small pack with all mandatory directories; receipts are put by the test. */
static void begin(void)
{
	static const char *const keep[] = { "03_TELEMETRY", "04_EXPORTS", "05_DIFFS", "06_LOGS", "08_TAPES",
		"09_SCHEMAS", "12_REPORTS", "07_ATTESTATIONS" };

	file_count = 0;
	put("01_SCORE.json", "{}");
	put("02_PROOFGRAPH/proofgraph.json", "{}");
	for (size_t i = 0; i < ARRAY_SIZE(keep); i++)
		put(arena_printf(&a, "%s/.keep", keep[i]), "");
	put("02_PROOFGRAPH/receipts/1.json",
		"{\"receipt_id\":\"r1\",\"decision_hash\":\"sha256:x\",\"lamport_clock\":1}");
}

static int by_path(const void *x, const void *y)
{
	return strcmp(((const struct pack_item *)x)->path, ((const struct pack_item *)y)->path);
}

static void write_index(const char *more)
{
	struct buf b;

	qsort(files, file_count, sizeof(files[0]), by_path);
	buf_init(&b, &a);
	buf_addf(&b, "{%s\"entries\":[", more);
	for (size_t i = 0; i < file_count; i++)
		buf_addf(&b, "%s{\"path\":\"%s\",\"sha256\":\"%s\"}", i ? "," : "", files[i].path,
			sha256_hex(&a, files[i].content.p, files[i].content.n));
	buf_adds(&b, "]}");
	put("00_INDEX.json", b.p);
}

static struct json *make_seal(const char *profile)
{
	struct json *seal = json_new(&a, JSON_OBJECT), *signer = json_new(&a, JSON_OBJECT),
		    *place = json_new(&a, JSON_OBJECT);
	struct hash digests[FILES_MAX], root;
	size_t n = 0;
	const char *index = "";

	qsort(files, file_count, sizeof(files[0]), by_path);
	for (size_t i = 0; i < file_count; i++)
		if (text_eq(files[i].path, "00_INDEX.json"))
			index = (const char *)files[i].content.p;
		else
			sha256(files[i].content.p, files[i].content.n, digests[n++].b);
	root = pack_native_root(&a, digests, n);
	json_sets(&a, signer, "type", "file-dev");
	json_sets(&a, signer, "key_id", "file-dev:b600306cfa76723f");
	json_sets(&a, signer, "algorithm", "ed25519");
	json_sets(&a, signer, "public_key", DEMO_PUBLIC);
	json_sets(&a, place, "type", "local-dev");
	json_sets(&a, place, "status", "development-only");
	json_sets(&a, seal, "version", "evidence-pack-seal/v1");
	json_sets(&a, seal, "pack_id", "ep");
	json_sets(&a, seal, "index_hash", sha256_hex(&a, index, strlen(index)));
	json_sets(&a, seal, "merkle_root", hash_hex(&a, &root));
	json_seti(&a, seal, "entry_count", (int64_t)n);
	json_sets(&a, seal, "profile", profile);
	json_set(&a, seal, "signer", signer);
	json_set(&a, seal, "anchor", place);
	json_set(&a, seal, "storage", place);
	json_sets(&a, seal, "signed_at", "2026-08-09T14:00:00+02:00");
	return seal;
}

static void sign_seal(struct json *seal, enum pack_seal_form form)
{
	uint8_t sig[SIGN_SIZE];
	char hex[2 * SIGN_SIZE + 1];
	struct bytes payload;
	struct buf b;

	assert_int_equal(pack_seal_payload(&a, seal, form, &payload, &e), OK);
	key_sign(key, payload, sig);
	hex_encode(sig, sizeof(sig), hex);
	json_sets(&a, seal, "signature", hex);
	buf_init(&b, &a);
	json_write(&b, seal, JSON_INDENT);
	buf_addc(&b, '\n');
	put("07_ATTESTATIONS/evidence_pack.sig", b.p);
}

static void seal_all(const char *profile)
{
	write_index("");
	sign_seal(make_seal(profile), PACK_SEAL_CURRENT);
}

static void judge(struct verification *v)
{
	static struct pack p;
	struct pack_item copy[FILES_MAX];

	memcpy(copy, files, sizeof(copy));
	packs_judge(&a, packs_tar(&a, copy, file_count), v, &p);
}

static const struct check *find_check(const struct verification *v, const char *name)
{
	for (size_t i = 0; i < v->check_count; i++)
		if (text_eq(v->checks[i].name, name))
			return &v->checks[i];
	fail_msg("no check named %s", name);
	return NULL;
}

static void fails(const char *name, const char *detail)
{
	struct verification v;

	judge(&v);
	const struct check *c = find_check(&v, name);
	assert_int_equal(c->status, CHECK_FAIL);
	if (!strstr(c->detail, detail))
		fail_msg("%s says '%s', not '%s'", name, c->detail, detail);
	assert_int_not_equal(verification_headline(&v), HEADLINE_ADMISSIBLE);
}

static void passes(void)
{
	struct verification v;

	judge(&v);
	if (v.error)
		fail_msg("%s: %s", v.error, v.text);
	assert_int_equal(verification_headline(&v), HEADLINE_ADMISSIBLE);
}

static void sealed_pack(void **state)
{
	(void)state;
	struct verification v;

	begin();
	seal_all("dev-local");
	passes();
	judge(&v);
	assert_string_equal(json_get_text(v.values, "seal_form", ""), "current");
	assert_string_equal(json_get_text(v.values, "seal_state", ""), "valid");
	put("01_SCORE.json", "{ }");
	fails("index_integrity", "indexed file hash mismatch for 01_SCORE.json");
	fails("evidence_pack_seal", "indexed file hash mismatch for 01_SCORE.json");
}

static void seal_failures(void **state)
{
	(void)state;
	struct json *seal;

	begin();
	write_index("");
	fails("evidence_pack_seal", "missing 07_ATTESTATIONS/evidence_pack.sig");
	seal = make_seal("dev-local");
	json_sets(&a, seal, "version", "evidence-pack-seal/v2");
	sign_seal(seal, PACK_SEAL_CURRENT);
	fails("evidence_pack_seal", "unsupported seal version \"evidence-pack-seal/v2\"");
	seal = make_seal("dev-local");
	json_seti(&a, seal, "entry_count", 3);
	sign_seal(seal, PACK_SEAL_CURRENT);
	fails("evidence_pack_seal", "entry_count mismatch");
	seal = make_seal("dev-local");
	json_sets(&a, json_get(seal, "signer"), "public_key",
		"00bda3ad078388b0929f3e1bca293271c28fedd6fd9a57819867301cd4177df2");
	sign_seal(seal, PACK_SEAL_CURRENT);
	fails("evidence_pack_seal", "trusted key mismatch for signer file-dev:b600306cfa76723f");
	seal = make_seal("dev-local");
	json_sets(&a, json_get(seal, "signer"), "algorithm", "ml-dsa-65");
	sign_seal(seal, PACK_SEAL_CURRENT);
	fails("evidence_pack_seal", "unsupported seal algorithm");
	seal_all("customer");
	fails("evidence_pack_seal", "does not accept signer type file-dev");
	seal_all("nonsense");
	fails("evidence_pack_seal", "unknown profile");
}

/* Old seals verify, and the report says that they cover less. */
static void legacy_seal(void **state)
{
	(void)state;
	struct verification v;

	begin();
	write_index("");
	sign_seal(make_seal("dev-local"), PACK_SEAL_LEGACY);
	judge(&v);
	assert_int_equal(verification_headline(&v), HEADLINE_ADMISSIBLE);
	assert_string_equal(json_get_text(v.values, "seal_form", ""), "legacy");
	assert_int_equal(v.notes->n, 1);
}

static void layout_failures(void **state)
{
	(void)state;
	begin();
	put("README.txt", "x");
	put("99_EXT/mine/a.json", "{}");
	seal_all("dev-local");
	fails("conform:unexpected top-level entry: README.txt", "");
	fails("conform:undeclared extension: 99_EXT/mine", "");
	begin();
	put("99_EXT/mine/a.json", "{}");
	write_index("\"extensions\":[\"mine\"],");
	sign_seal(make_seal("dev-local"), PACK_SEAL_CURRENT);
	passes();
}

static void receipt(int number, const char *prev, int clock, const char *more)
{
	put(arena_printf(&a, "02_PROOFGRAPH/receipts/%d.json", number),
		arena_printf(&a,
			"{\"receipt_id\":\"r%d\",\"executor_id\":\"x\",\"decision_hash\":\"d\",\"prev_hash\":"
			"\"%s\",\"lamport_clock\":%d%s}",
			number, prev, clock, more));
}

static const char *file_hash(int number)
{
	char *path = arena_printf(&a, "02_PROOFGRAPH/receipts/%d.json", number);

	for (size_t i = 0; i < file_count; i++)
		if (text_eq(files[i].path, path))
			return sha256_prefixed(&a, files[i].content.p, files[i].content.n);
	fail_msg("no receipt %d", number);
	return "";
}

static void chain_walk(void **state)
{
	(void)state;
	struct verification v;

	begin();
	receipt(1, "", 1, "");
	receipt(2, file_hash(1), 2, ",\"hash\":\"stated\"");
	receipt(3, "sha256:stated", 3, "");
	seal_all("dev-local");
	passes();
	judge(&v);
	const char *detail = find_check(&v, "chain_integrity")->detail;
	assert_non_null(strstr(detail, "1 steps by file bytes"));
	assert_non_null(strstr(detail, "1 steps by self-declared hash (order only)"));
	receipt(4, file_hash(1), 2, "");
	fails("chain_integrity", "receipt r1 has 2 successors - the chain is forked");
	receipt(4, "elsewhere", 4, "");
	fails("chain_integrity", "1 of 4 receipts are unreachable from genesis");
	receipt(4, "", 1, "");
	fails("chain_integrity", "2 receipts claim to be genesis");
	receipt(4, file_hash(3), 9, "");
	fails("lamport_monotonicity", "receipt r4 has clock 9, expected 4");
	receipt(1, "x", 1, "");
	fails("chain_integrity", "no genesis receipt");
}

static void no_receipts(void **state)
{
	(void)state;
	begin();
	put("02_PROOFGRAPH/receipts/1.json", "{\"receipt_id\":\"r1\"}");
	seal_all("dev-local");
	fails("policy_decision_hashes", "no receipt carries a decision_hash");
	put("02_PROOFGRAPH/receipts/1.json", "{\"a\":1,\"a\":2}");
	fails("chain_integrity", "a");
}

/* Tapes: the value of a tape is what its manifest says, or the run did not happen that way. */
static void tapes(void **state)
{
	(void)state;
	begin();
	write_index("\"gates\":[\"G2\"],");
	sign_seal(make_seal("dev-local"), PACK_SEAL_CURRENT);
	fails("replay_determinism", "08_TAPES/tape_manifest.json is missing");
	begin();
	put("08_TAPES/tape_manifest.json",
		"{\"run_id\":\"r\",\"entries\":[{\"seq\":1,\"type\":\"TIME\",\"key\":\"k\",\"sha256\":"
		"\"ba7816bf8f01cfea414140de5dae2223b0"
		"0361a396177a9cb410ff61f20015ad\",\"size_bytes\":3}]}");
	put("08_TAPES/entry_1.json", "{\"seq\":1,\"value\":\"YWJj\",\"data_class\":\"internal\"}");
	put("02_PROOFGRAPH/determinism_manifest.json", "{\"live_hash\":\"h\",\"replay_hash\":\"h\"}");
	write_index("\"gates\":[\"G2\"],");
	sign_seal(make_seal("dev-local"), PACK_SEAL_CURRENT);
	passes();
	put("08_TAPES/entry_1.json", "{\"seq\":1,\"value\":\"YWJk\",\"data_class\":\"internal\"}");
	fails("replay_determinism", "the value is not the recorded one");
	put("08_TAPES/entry_1.json", "{\"seq\":1,\"value\":\"YWJj\",\"data_class\":\"\"}");
	fails("replay_determinism", "data_class is empty");
	put("08_TAPES/entry_1.json", "{\"seq\":1,\"value\":\"YWJj\",\"data_class\":\"i\"}");
	put("05_DIFFS/x.diff", "-");
	fails("replay_determinism", "05_DIFFS is not empty");
	put("02_PROOFGRAPH/determinism_manifest.json", "{\"live_hash\":\"h\",\"replay_hash\":\"i\"}");
	fails("replay_determinism", "live_hash and replay_hash differ");
}

/* The third layout: a manifest with file_hashes. */
static void export_bundle(void **state)
{
	(void)state;
	struct verification v;

	file_count = 0;
	put("receipts/r1.json", "{\"decision_hash\":\"d\"}");
	put("proofgraph.json", "{}");
	put("manifest.json",
		arena_printf(&a,
			"{\"version\":\"1.0\",\"session_id\":\"s\",\"file_hashes\":{\"receipts/"
			"r1.json\":\"%s\",\"proofgraph.json\":\"%s\"}}",
			sha256_hex(&a, "{\"decision_hash\":\"d\"}", 21), sha256_hex(&a, "{}", 2)));
	judge(&v);
	assert_string_equal(v.kind, "export bundle");
	assert_int_equal(find_check(&v, "file_hashes")->status, CHECK_PASS);
	put("receipts/r1.json", "{\"decision_hash\":\"e\"}");
	fails("hash:receipts/r1.json", "the content is not what the manifest says");
	put("receipts/r1.json", "{\"decision_hash\":\"d\"}");
	put("receipts/r2.json", "{}");
	fails("file_hashes", "unlisted file receipts/r2.json");
}

static struct json *play(void)
{
	struct trust nobody = { 0 };
	struct pack_item copy[FILES_MAX];
	struct json *report;
	struct pack p;

	memcpy(copy, files, sizeof(copy));
	assert_int_equal(verify_pack_bytes(&a, packs_tar(&a, copy, file_count), &p, &e), OK);
	assert_int_equal(replay_pack(&a, &p, &nobody, NULL, &report, &e), OK);
	return report;
}

static void played_back(void **state)
{
	(void)state;
	struct json *report;

	file_count = 0;
	put("x", "");
	assert_string_equal(json_get_text(play(), "status", ""), "FAILED");
	put("replay/run.json",
		"{\"run_id\":\"r\",\"events\":[{\"sequence_number\":1,\"payload_hash\":\"sha256:a\",\"output_"
		"hash\":\"o1\"},"
		"{\"sequence_number\":2,\"payload_hash\":\"sha256:b\",\"output_hash\":\"o2\"}],\"expected_"
		"receipt_hashes\":[\"o1\",\"o2\"]}");
	report = play();
	assert_string_equal(json_get_text(report, "status", ""), "COMPLETE");
	assert_string_equal(json_get_text(json_at(json_get(report, "runs"), 0), "original_hash", ""),
		"sha256:021feb8922be18fc8f178586919d339c55fc5d502a8c7abc4225006e7ac7eac1");
	put("replay/run.json",
		"{\"run_id\":\"r\",\"events\":[{\"sequence_number\":1,\"output_hash\":\"o1\"}],\"expected_"
		"receipt_hashes\":[\"o2\"]}");
	report = play();
	assert_string_equal(json_get_text(report, "status", ""), "DIVERGED");
	assert_int_equal(json_get_int(json_at(json_get(report, "runs"), 0), "divergence_point", -1), 0);
}

/* The report's signature: by a trusted key, and by one that is trusted at any time, because no time is signed with it. */
static void report_signature(void **state)
{
	(void)state;
	static const char *const members[] = { "index_hash", "policy_hash", "schema_bundle_hash",
		"score_hash" };
	struct json *doc = json_new(&a, JSON_OBJECT);
	struct trusted_key trusted;
	struct trust trust = packs_trust(&trusted);
	struct verification v;
	struct pack p;
	uint8_t sig[SIGN_SIZE];
	char hex[2 * SIGN_SIZE + 1];
	struct buf b;

	begin();
	for (size_t i = 0; i < ARRAY_SIZE(members); i++)
		json_sets(&a, doc, members[i], "sha256:x");
	buf_init(&b, &a);
	json_write(&b, doc, 0);
	key_sign(key, buf_bytes(&b), sig);
	hex_encode(sig, sizeof(sig), hex);
	json_sets(&a, doc, "signature", hex);
	buf_init(&b, &a);
	json_write(&b, doc, 0);
	buf_addc(&b, '\0');
	put("07_ATTESTATIONS/conformance_report.sig", b.p);
	seal_all("dev-local");
	for (int has_window = 0; has_window < 2; has_window++) {
		struct pack_item copy[FILES_MAX];
		trusted.not_before = has_window ? "2020-01-01T00:00:00Z" : NULL;
		memcpy(copy, files, sizeof(copy));
		verification_begin(&v, &a, &trust, "evidence pack");
		assert_int_equal(verify_pack_bytes(&a, packs_tar(&a, copy, file_count), &p, &e), OK);
		verify_pack(&v, &p);
		assert_int_equal(find_check(&v, "signature_verification")->status,
			has_window ? CHECK_FAIL : CHECK_PASS);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(sealed_pack, setup, teardown),
		cmocka_unit_test_setup_teardown(seal_failures, setup, teardown),
		cmocka_unit_test_setup_teardown(legacy_seal, setup, teardown),
		cmocka_unit_test_setup_teardown(report_signature, setup, teardown),
		cmocka_unit_test_setup_teardown(layout_failures, setup, teardown),
		cmocka_unit_test_setup_teardown(chain_walk, setup, teardown),
		cmocka_unit_test_setup_teardown(no_receipts, setup, teardown),
		cmocka_unit_test_setup_teardown(tapes, setup, teardown),
		cmocka_unit_test_setup_teardown(export_bundle, setup, teardown),
		cmocka_unit_test_setup_teardown(played_back, setup, teardown),
	};

	return cmocka_run_group_tests_name("native pack", tests, NULL, NULL);
}
