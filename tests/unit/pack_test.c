/* pack_test.c — evidence packs: the same bytes every time, and not one bit that can be changed unnoticed. */
#include "base/hash.h"
#include "proof/pack.h"
#include "tools/packs.h"
#include "tools/unit.h"

#define GOLDEN "73fc5d58e1ae7542a1191b263bea06d2cd628c5e195429f58ad13a517e86efdd"

static struct scratch t;
static struct arena a;
static struct err e;
static struct key *key;

static int setup(void **state)
{
	(void)state;
	scratch_open(&t);
	key = packs_key(&t);
	e = (struct err){ 0 };
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

static struct bytes archive_of_all(void)
{
	return packs_archive(&t, &a, key, packs_items(&a), PACKS_ITEMS);
}

/* A change here changes the digest of everybody's packs: it needs a new version of the format. */
static void same_bytes_everywhere(void **state)
{
	(void)state;
	struct bytes first = archive_of_all();
	struct pack_item *turned = packs_items(&a), swap = turned[0];

	turned[0] = turned[4];
	turned[4] = swap;
	assert_true(bytes_eq(first, packs_archive(&t, &a, key, turned, PACKS_ITEMS)));
	assert_string_equal(sha256_hex(&a, first.p, first.n), GOLDEN);
}

static void accepted(void **state)
{
	(void)state;
	struct verification v;
	struct pack p;

	packs_judge(&a, archive_of_all(), &v, &p);
	if (v.error)
		fail_msg("%s: %s", v.error, v.text);
	assert_int_equal(verification_headline(&v), HEADLINE_ADMISSIBLE);
	assert_int_equal(v.complete, ANSWER_YES);
	assert_int_equal(v.check_count, 10); /* eight steps; receipts and transparency */
	assert_null(p.departure);
	assert_string_equal(v.signer, DEMO_PUBLIC);
}

static void nobody_trusted(void **state)
{
	(void)state;
	struct trust nobody = { 0 };
	struct verification v;
	struct pack p;

	assert_int_equal(verify_pack_bytes(&a, archive_of_all(), &p, &e), OK);
	verification_begin(&v, &a, &nobody, "pack");
	verify_pack(&v, &p);
	assert_int_equal(verification_headline(&v), HEADLINE_UNVERIFIED);
	assert_int_equal(v.integrity, ANSWER_YES);
	assert_int_equal(v.trusted, ANSWER_UNKNOWN);
	assert_string_equal(v.error, "signature");
}

static void every_bit_counts(void **state)
{
	(void)state;
	struct bytes whole = packs_archive(&t, &a, key, packs_items(&a), 1);
	uint8_t *bytes = (uint8_t *)(uintptr_t)whole.p;

	for (size_t bit = 0; bit < whole.n * 8; bit++) {
		AUTO(arena_done) struct arena scratch = { 0 };
		struct verification v;
		struct pack p;
		bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
		packs_judge(&scratch, whole, &v, &p);
		if (verification_headline(&v) == HEADLINE_ADMISSIBLE || !v.error)
			fail_msg("bit %zu of the pack can be changed unnoticed", bit);
		bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
}

/* A pack with its manifest edited by somebody who does not have the key. */
static void edited(const char *from, const char *to, const char *step)
{
	struct verification v;
	struct pack p;
	struct bytes whole = archive_of_all(), fresh;
	struct pack_item *items;
	struct buf b;

	assert_int_equal(verify_pack_bytes(&a, whole, &p, &e), OK);
	items = arena_zalloc(&a, p.n, sizeof(*items));
	for (size_t i = 0; i < p.n; i++)
		items[i] = (struct pack_item){ p.files[i].path, NULL, p.files[i].content };
	const struct pack_file *f = verify_pack_find(&p, "manifest.json");
	char *text = arena_strndup(&a, (const char *)f->content.p, f->content.n), *at = strstr(text, from);
	assert_non_null(at);
	buf_init(&b, &a);
	buf_add(&b, text, (size_t)(at - text));
	buf_adds(&b, to);
	buf_adds(&b, at + strlen(from));
	items[f - p.files].content = buf_bytes(&b);
	fresh = packs_tar(&a, items, p.n);
	packs_judge(&a, fresh, &v, &p);
	assert_int_not_equal(verification_headline(&v), HEADLINE_ADMISSIBLE);
	assert_non_null(v.error);
	assert_string_equal(v.error, step);
}

static void edits_are_named(void **state)
{
	(void)state;
	edited("\"version\": \"1.1.0\"", "\"version\": \"2.0.0\"", "manifest");
	edited("\"version\": \"1.1.0\"", "\"version\": \"1.0.0\"", "manifest_hash");
	edited("\"version\": \"1.1.0\"", "\"version\": \"1.01.0\"", "manifest");
	edited("\"actor_did\"", "\"Actor_did\"", "manifest");
	edited("\"intent_id\": \"task-1\"", "\"intent_id\": \"task-2\"", "manifest_hash");
	edited("\"size\": ", "\"size\": 1", "manifest_hash");
	edited("\"size\": ", "\"size\": -", "manifest");
	edited("\"path\": \"policy/", "\"path\": \"../policy/", "manifest");
	edited("\"seal\"", "\"sael\"", "signature");
	edited("\"signed_at\": \"2026", "\"signed_at\": \"2025", "signature");
	edited("\"key_id\": \"ed", "\"key_id\": \"xx", "signature");
	edited("\"algorithm\": \"Ed25519\"", "\"algorithm\": \"ML-DSA-65\"", "signature");
	edited("\"entries_merkle_root\": \"sha256:", "\"entries_merkle_root\": \"sha256:0", "signature");
	edited("{\n", "{\n  \"extra\": 1,\n", "signature");
	edited("\"entries\": [", "\"entries\": [ [", "manifest");
}

static void empty_or_clashing(void **state)
{
	(void)state;
	struct pack_item same[2] = { { "a/x", NULL, BYTES_LITERAL("1") },
		{ "A/x", NULL, BYTES_LITERAL("2") } };
	struct pack_item up[1] = { { "../x", NULL, BYTES_LITERAL("1") } };
	struct pack_item own[1] = { { "manifest.json", NULL, BYTES_LITERAL("1") } };
	struct json *m = NULL;

	assert_int_equal(pack_manifest_build(&a, &packs_about, same, 0, key, &m, &e), E_INPUT);
	assert_string_equal(e.code, "PACK_EMPTY");
	assert_int_equal(pack_manifest_build(&a, &packs_about, same, 2, key, &m, &e), E_INPUT);
	assert_string_equal(e.code, "PACK_PATH");
	assert_int_equal(pack_manifest_build(&a, &packs_about, up, 1, key, &m, &e), E_INPUT);
	assert_string_equal(e.code, "TAR_NAME");
	assert_int_equal(pack_manifest_build(&a, &packs_about, own, 1, key, &m, &e), E_INPUT);
	assert_null(m);
}

/* Proofs for every leaf of trees of every shape up to 17 leaves. */
static void proofs_of_all_sizes(void **state)
{
	(void)state;
	struct pack_entry entries[17];

	for (size_t i = 0; i < ARRAY_SIZE(entries); i++)
		entries[i] = (struct pack_entry){ arena_printf(&a, "f%02zu", i),
			sha256_prefixed(&a, &i, sizeof(i)), "text/plain", (int64_t)i };
	for (size_t n = 1; n <= ARRAY_SIZE(entries); n++)
		for (size_t i = 0; i < n; i++) {
			struct json *manifest = json_new(&a, JSON_OBJECT), *proof;
			struct hash h = pack_entries_root(&a, entries, n);
			const char *root = pack_hash_text(&a, &h);
			struct pack_proof_result r;
			json_sets(&a, manifest, "created_at", "2026-01-01T00:00:00Z");
			assert_int_equal(pack_prove(&a, manifest, entries, n, i, &proof, &e), OK);
			pack_check_proof(&a, proof, root, entries[i].path, &r);
			assert_true(r.is_member);
			pack_check_proof(&a, proof, NULL, NULL, &r);
			assert_false(r.is_member);
			assert_int_equal(r.is_self_attested, n > 1);
			pack_check_proof(&a, proof, root, "other", &r);
			assert_false(r.is_member);
			if (n > 1) {
				h = pack_entries_root(&a, entries, n - 1);
				pack_check_proof(&a, proof, pack_hash_text(&a, &h), NULL, &r);
				assert_false(r.is_member);
			}
		}
}

/* [a,b,c] and [a,b,c,c] have the same root: the count is what keeps them apart. */
static void repeated_tail_is_not_a_member(void **state)
{
	(void)state;
	struct hash leaves[4];
	struct hash x, y;

	for (uint8_t i = 0; i < 4; i++)
		leaves[i] = merkle_leaf(&(uint8_t){ i < 3 ? i : 2 }, 1);
	x = pack_tree_root(&a, leaves, 3);
	y = pack_tree_root(&a, leaves, 4);
	assert_true(hash_eq(&x, &y));
	assert_int_equal(pack_path_length(3), 2);
	assert_int_equal(pack_path_length(4), 2);
	assert_int_equal(pack_path_length(5), 3);
	assert_int_equal(pack_path_length(1), 0);
}

static void views(void **state)
{
	(void)state;
	struct json *view = NULL, *proof, *step;
	struct hash leaf, other, root;
	struct pack_proof_result r;
	const char *text =
		"{\"disclosed\":{\"a\":{\"x\":1,\"gone\":null}},\"proofs\":[{\"leaf_path\":\"/a\"}]}";

	assert_int_equal(json_parse(&a, bytes_of(text), "view", NULL, &view, &e), OK);
	assert_int_equal(pack_view_leaf(&a, "/a", json_get(json_get(view, "disclosed"), "a"), &leaf, &e), OK);
	assert_string_equal(hash_hex(&a, &leaf),
		sha256_hex(&a, "helm:evidence:leaf:v1\0/a\0{\"x\":1}", strlen("helm:evidence:leaf:v1") + 11));
	sha256("other", 5, other.b);
	root = pack_view_node(&other, &leaf);
	proof = json_at(json_get(view, "proofs"), 0);
	json_sets(&a, proof, "leaf_hash", hash_hex(&a, &leaf));
	json_sets(&a, proof, "merkle_root", hash_hex(&a, &root));
	step = json_new(&a, JSON_OBJECT);
	json_sets(&a, step, "side", "L");
	json_sets(&a, step, "sibling_hash", hash_hex(&a, &other));
	json_set(&a, proof, "proof_path", json_new(&a, JSON_ARRAY));
	json_push(&a, json_get(proof, "proof_path"), step);
	pack_check_view(&a, view, hash_hex(&a, &root), &r);
	assert_true(r.is_member);
	pack_check_view(&a, view, NULL, &r);
	assert_true(r.is_self_attested && !r.is_member);
	json_sets(&a, step, "side", "R");
	pack_check_view(&a, view, hash_hex(&a, &root), &r);
	assert_false(r.is_member);
	assert_int_equal(pack_view_leaf(&a, "/f", json_double(&a, 1.5), &leaf, &e), E_INPUT);
}

/* Content, when it is there, belongs to the line that was shown. */
static void entry_with_content(void **state)
{
	(void)state;
	struct pack_item *items = packs_items(&a);
	struct trust nobody = { 0 };
	struct verification v;
	struct json *manifest, *proof;
	struct pack_entry *entries;
	size_t n;

	assert_int_equal(pack_manifest_build(&a, &packs_about, items, PACKS_ITEMS, key, &manifest, &e), OK);
	assert_int_equal(pack_manifest_entries(&a, manifest, &entries, &n, &e), OK);
	assert_int_equal(pack_prove(&a, manifest, entries, n, 1, &proof, &e), OK);
	const char *root = json_get_text(manifest, "entries_merkle_root", "");
	struct bytes right = items[1].content, wrong = items[2].content;

	verification_begin(&v, &a, &nobody, "proof");
	verify_pack_entry(&v, proof, root, items[1].path, &right);
	assert_int_equal(verification_headline(&v), HEADLINE_ADMISSIBLE);
	verification_begin(&v, &a, &nobody, "proof");
	verify_pack_entry(&v, proof, root, items[1].path, &wrong);
	assert_int_equal(verification_headline(&v), HEADLINE_TAMPERED);
	verification_begin(&v, &a, &nobody, "proof");
	verify_pack_entry(&v, proof, NULL, NULL, &right);
	assert_int_equal(verification_headline(&v), HEADLINE_UNVERIFIED);
}

/* A key counts only for what was made while it was valid. */
static void key_window(void **state)
{
	(void)state;
	struct trusted_key k;
	struct trust trust = packs_trust(&k);
	struct verification v;
	struct pack p;

	assert_int_equal(verify_pack_bytes(&a, archive_of_all(), &p, &e), OK);
	k.not_before = "2026-04-13T12:00:00Z";
	k.not_after = "2026-04-13T12:00:00Z";
	verification_begin(&v, &a, &trust, "pack");
	verify_pack(&v, &p);
	assert_int_equal(verification_headline(&v), HEADLINE_ADMISSIBLE);
	k.not_after = "2026-04-13T11:59:59Z";
	k.not_before = NULL;
	verification_begin(&v, &a, &trust, "pack");
	verify_pack(&v, &p);
	assert_string_equal(v.error, "signature");
}

/* Deep and broken documents inside a pack are refused at their step, not followed. */
static void hostile_manifests(void **state)
{
	(void)state;
	char *deep = arena_text(&a, 20001);
	struct pack_item items[2] = { { "manifest.json", NULL, { 0 } }, { "x", NULL, BYTES_LITERAL("1") } };
	static const char *const bad[] = { "", "{", "[]", "{\"manifest_hash\":1}",
		"{\"manifest_hash\":\"\",\"manifest_hash\":\"\"}", "\xef\xbb\xbf{}",
		"{\"manifest_hash\":\"x\",\"version\":\"1.0.0\",\"entries\":{}}",
		"{\"manifest_hash\":\"x\",\"version\":\"1.0.0\",\"entries\":[]}",
		"{\"manifest_hash\":\"x\",\"version\":\"1.0.0\",\"entries\":[{\"path\":\"x\"}]}" };
	struct verification v;
	struct pack p;

	memset(deep, '[', 20000);
	deep[20000] = 0;
	items[0].content = bytes_of(deep);
	packs_judge(&a, packs_tar(&a, items, 2), &v, &p);
	assert_string_equal(v.error, "manifest");
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct pack_item two[2] = { { "manifest.json", NULL, bytes_of(bad[i]) },
			{ "x", NULL, BYTES_LITERAL("1") } };
		packs_judge(&a, packs_tar(&a, two, 2), &v, &p);
		assert_int_not_equal(verification_headline(&v), HEADLINE_ADMISSIBLE);
		assert_non_null(v.error);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(same_bytes_everywhere, setup, teardown),
		cmocka_unit_test_setup_teardown(accepted, setup, teardown),
		cmocka_unit_test_setup_teardown(nobody_trusted, setup, teardown),
		cmocka_unit_test_setup_teardown(every_bit_counts, setup, teardown),
		cmocka_unit_test_setup_teardown(edits_are_named, setup, teardown),
		cmocka_unit_test_setup_teardown(empty_or_clashing, setup, teardown),
		cmocka_unit_test_setup_teardown(proofs_of_all_sizes, setup, teardown),
		cmocka_unit_test_setup_teardown(repeated_tail_is_not_a_member, setup, teardown),
		cmocka_unit_test_setup_teardown(views, setup, teardown),
		cmocka_unit_test_setup_teardown(entry_with_content, setup, teardown),
		cmocka_unit_test_setup_teardown(key_window, setup, teardown),
		cmocka_unit_test_setup_teardown(hostile_manifests, setup, teardown),
	};

	return cmocka_run_group_tests_name("pack", tests, NULL, NULL);
}
