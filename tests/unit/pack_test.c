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
		items[i] = (struct pack_item){ .path = p.files[i].path, .content = p.files[i].content };
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
	edited("\"seal\"", "\"sael\"", "manifest");
	edited("\"signed_at\": \"2026", "\"signed_at\": \"2025", "signature");
	edited("\"key_id\": \"ed", "\"key_id\": \"xx", "signature");
	edited("\"algorithm\": \"Ed25519\"", "\"algorithm\": \"ML-DSA-65\"", "signature");
	edited("\"entries_merkle_root\": \"sha256:", "\"entries_merkle_root\": \"sha256:0", "signature");
	edited("{\n", "{\n  \"extra\": 1,\n", "manifest");
	edited("\"entries\": [", "\"entries\": [ [", "manifest");
}

static void empty_or_clashing(void **state)
{
	(void)state;
	struct pack_item same[2] = { { .path = "a/x", .content = BYTES_LITERAL("1") },
		{ .path = "A/x", .content = BYTES_LITERAL("2") } };
	struct pack_item up[1] = { { .path = "../x", .content = BYTES_LITERAL("1") } };
	struct pack_item own[1] = { { .path = "manifest.json", .content = BYTES_LITERAL("1") } };
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
	assert_int_equal(pack_path_length(UINT64_MAX), 64);
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
	k.not_after = "2026-04-13T12:00:00.000001Z";
	verification_begin(&v, &a, &trust, "pack");
	verify_pack(&v, &p);
	assert_int_equal(verification_headline(&v), HEADLINE_ADMISSIBLE);
	k.not_after = "2026-04-13T12:00:00Z"; /* no longer in force at this moment */
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
	struct pack_item items[2] = { { .path = "manifest.json", .content = { 0 } },
		{ .path = "x", .content = BYTES_LITERAL("1") } };
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
		struct pack_item two[2] = { { .path = "manifest.json", .content = bytes_of(bad[i]) },
			{ .path = "x", .content = BYTES_LITERAL("1") } };
		packs_judge(&a, packs_tar(&a, two, 2), &v, &p);
		assert_int_not_equal(verification_headline(&v), HEADLINE_ADMISSIBLE);
		assert_non_null(v.error);
	}
}

/* ---- inclusion proofs, one member wrong at a time ---- */

static struct json *good_proof(const char **ret_root)
{
	struct pack_entry entries[3];
	struct json *manifest = json_new(&a, JSON_OBJECT), *proof;
	struct hash root;

	for (size_t i = 0; i < ARRAY_SIZE(entries); i++)
		entries[i] = (struct pack_entry){ arena_printf(&a, "f%zu", i),
			sha256_prefixed(&a, &i, sizeof(i)), "text/plain", (int64_t)i };
	json_sets(&a, manifest, "created_at", "2026-01-01T00:00:00Z");
	assert_int_equal(pack_prove(&a, manifest, entries, 3, 1, &proof, &e), OK);
	root = pack_entries_root(&a, entries, 3);
	*ret_root = pack_hash_text(&a, &root);
	return proof;
}

/* The binding hash as an attacker would compute it again after an edit. */
static void bind_again(struct json *proof)
{
	static const char *const bound[] = { "version", "binding", "entry", "leaf_hash" };
	struct json *v = json_new(&a, JSON_OBJECT);
	struct buf b;

	for (size_t i = 0; i < ARRAY_SIZE(bound); i++)
		if (json_get(proof, bound[i]))
			json_set(&a, v, bound[i], json_get(proof, bound[i]));
	buf_init(&b, &a);
	json_canonical(&b, v);
	json_sets(&a, proof, "binding_hash", sha256_prefixed(&a, b.p, b.n));
}

static void not_a_member(struct json *proof, const char *root, const char *why)
{
	struct pack_proof_result r;
	struct buf b;

	pack_check_proof(&a, proof, root, "f1", &r);
	buf_init(&b, &a);
	json_write(&b, r.errors, 0);
	if (r.is_member || r.is_self_attested || !strstr(b.p, why))
		fail_msg("expected '%s', found %s", why, b.p);
}

static void every_member_of_a_proof_counts(void **state)
{
	(void)state;
	static const struct {
		const char *object, *member, *value, *why;
	} edits[] = {
		{ NULL, "version", "\"9.0.0\"", "unsupported version" },
		{ NULL, "version", "1", "unsupported version" },
		{ NULL, "entry", "[]", "entry record is malformed" },
		{ "entry", "more", "1", "entry record is malformed" },
		{ "entry", "path", "1", "entry record is malformed" },
		{ "entry", "content_type", "null", "entry record is malformed" },
		{ "entry", "content_hash", "\"sha256:00\"", "entry record is malformed" },
		{ "entry", "content_hash", "1", "entry record is malformed" },
		{ "entry", "size", "-1", "entry record is malformed" },
		{ "entry", "size", "\"1\"", "entry record is malformed" },
		{ "entry", "size", "2", "leaf hash does not match entry record" },
		{ NULL, "leaf_hash", "1", "leaf hash does not match entry record" },
		{ "binding", "entry_count", "0", "merkle path length does not match the entry count" },
		{ "binding", "entry_count", "9", "merkle path length does not match the entry count" },
		{ "binding", "entries_merkle_root", "1", "merkle path does not reach the binding's root" },
		{ NULL, "merkle_path", "{}", "merkle path does not reach the binding's root" },
		{ NULL, "merkle_path", "[1, 2]", "merkle path does not reach the binding's root" },
		{ NULL, "merkle_path", "[]", "merkle path length does not match the entry count" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(edits); i++) {
		const char *root;
		struct json *proof = good_proof(&root), *value;
		assert_int_equal(json_parse(&a, bytes_of(edits[i].value), "value", NULL, &value, &e), OK);
		json_set(&a, edits[i].object ? json_get(proof, edits[i].object) : proof, edits[i].member,
			value);
		bind_again(proof);
		not_a_member(proof, root, edits[i].why);
		not_a_member(proof, NULL, edits[i].why);
	}
}

static void every_member_of_a_step_counts(void **state)
{
	(void)state;
	static const struct {
		const char *member, *value;
	} edits[] = { { "sibling_hash", "1" }, { "sibling_hash", "\"sha256:00\"" }, { "right", "\"yes\"" },
		{ "right", "1" } };

	for (size_t i = 0; i < ARRAY_SIZE(edits); i++) {
		const char *root;
		struct json *proof = good_proof(&root), *value;
		assert_int_equal(json_parse(&a, bytes_of(edits[i].value), "value", NULL, &value, &e), OK);
		json_set(&a, json_at(json_get(proof, "merkle_path"), 0), edits[i].member, value);
		not_a_member(proof, root, "merkle path does not reach the binding's root");
	}
}

/* What the binding hash covers cannot be changed, left out, or made of numbers that others read differently. */
static void the_binding_is_what_its_hash_says(void **state)
{
	(void)state;
	const char *root;
	struct json *proof = good_proof(&root), *fraction;

	json_sets(&a, json_get(proof, "binding"), "pack_id", "another");
	not_a_member(proof, root, "binding hash mismatch");
	proof = good_proof(&root);
	json_remove(proof, "binding_hash");
	not_a_member(proof, root, "binding hash mismatch");
	proof = good_proof(&root);
	json_remove(proof, "binding");
	bind_again(proof);
	not_a_member(proof, root, "merkle path does not reach the binding's root");
	proof = good_proof(&root);
	assert_int_equal(json_parse(&a, bytes_of("1.5"), "value", NULL, &fraction, &e), OK);
	json_set(&a, json_get(proof, "binding"), "pack_id", fraction);
	bind_again(proof);
	not_a_member(proof, root, "binding hash mismatch");
}

static void a_proof_needs_a_time(void **state)
{
	(void)state;
	struct pack_entry entry = { "x", sha256_prefixed(&a, "", 0), "text/plain", 0 };
	struct json *manifest = json_new(&a, JSON_OBJECT), *proof = NULL;

	json_sets(&a, manifest, "created_at", "yesterday");
	assert_int_equal(pack_prove(&a, manifest, &entry, 1, 0, &proof, &e), E_INPUT);
	assert_string_equal(e.code, "PACK_MANIFEST");
	assert_null(proof);
	assert_null(pack_summary(&a, manifest, &entry, 1, "2026-01-01T00:00:00Z"));
	json_sets(&a, manifest, "created_at", "2026-01-01T00:00:00Z");
	assert_null(pack_summary(&a, manifest, &entry, 1, "today"));
	assert_non_null(pack_summary(&a, manifest, &entry, 1, "2026-01-01T00:00:00Z"));
}

/* ---- redacted views ---- */

/* A view of one leaf beside another, with a sound proof of what stands at `pointer`. */
static struct json *view_of(const char *disclosed, const char *pointer, const char *value)
{
	struct json *view = json_new(&a, JSON_OBJECT), *proof = json_new(&a, JSON_OBJECT),
		    *step = json_new(&a, JSON_OBJECT), *leaf_value;
	struct hash leaf, other, root;

	assert_int_equal(json_parse(&a, bytes_of(value), "value", NULL, &leaf_value, &e), OK);
	assert_int_equal(pack_view_leaf(&a, pointer, leaf_value, &leaf, &e), OK);
	sha256("other", 5, other.b);
	root = pack_view_node(&leaf, &other);
	json_sets(&a, view, "view_id", "v1");
	assert_int_equal(json_parse(&a, bytes_of(disclosed), "disclosed", NULL, &leaf_value, &e), OK);
	json_set(&a, view, "disclosed", leaf_value);
	json_set(&a, view, "proofs", json_new(&a, JSON_ARRAY));
	json_push(&a, json_get(view, "proofs"), proof);
	json_sets(&a, proof, "leaf_path", pointer);
	json_sets(&a, proof, "leaf_hash", hash_hex(&a, &leaf));
	json_sets(&a, proof, "merkle_root", hash_hex(&a, &root));
	json_set(&a, proof, "proof_path", json_new(&a, JSON_ARRAY));
	json_push(&a, json_get(proof, "proof_path"), step);
	json_sets(&a, step, "side", "R");
	json_sets(&a, step, "sibling_hash", hash_hex(&a, &other));
	return view;
}

static bool view_holds(struct json *view)
{
	struct json *proof = json_at(json_get(view, "proofs"), 0);
	struct pack_proof_result r;

	pack_check_view(&a, view, json_get_text(proof, "merkle_root", "none"), &r);
	return r.is_member;
}

static void a_view_shows_only_what_is_proven(void **state)
{
	(void)state;
	static const struct {
		const char *disclosed, *pointer, *value;
		bool holds;
	} cases[] = {
		{ "{\"a\":{\"b\":1}}", "/a/b", "1", true },
		{ "{\"a\":{\"b\":2}}", "/a/b", "1", false },
		{ "{\"a\":{\"b\":1,\"c\":1}}", "/a/b", "1",
			false }, /* c is shown, and nobody vouches for it */
		{ "{\"a\":{\"b\":1,\"c\":null}}", "/a/b", "1", true },
		{ "{\"a\":{\"b\":1,\"c\":[]}}", "/a/b", "1", false },
		{ "{\"a\":{\"b\":1,\"c\":true}}", "/a/b", "1", false },
		{ "{\"a\":[0,{\"b\":[\"x\",true]}]}", "/a/1/b", "[\"x\",true]", false }, /* element 0 */
		{ "{\"a\":[null,{\"b\":[\"x\",true]}]}", "/a/1/b", "[\"x\",true]", true },
		{ "{\"a\":[1]}", "/a/-1", "1", false },
		{ "{\"a\":[1]}", "/a/x", "1", false },
		{ "{\"a/b\":{\"~\":1}}", "/a~1b/~0", "1", true },
		{ "{\"a~2\":1}", "/a~2", "1", true },
		{ "{\"a\":1}", "a", "1", false }, /* no pointer: it points at nothing */
		{ "{\"a\":1}", "/a/b", "1", false },
		{ "{\"a\":1}", "", "{\"a\":1}", true },
		{ "{\"a\":\"yes\\u0000, but\"}", "/a", "\"yes\"", false },
		{ "{}", "/a", "1", true }, /* all withheld */
		{ "true", "/a", "1", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		if (view_holds(view_of(cases[i].disclosed, cases[i].pointer, cases[i].value)) !=
			cases[i].holds)
			fail_msg("%s of %s", cases[i].pointer, cases[i].disclosed);
}

static void every_member_of_a_view_proof_counts(void **state)
{
	(void)state;
	static const struct {
		const char *member, *value;
		bool is_step;
	} edits[] = { { "leaf_hash", "00", false }, { "merkle_root", "00", false },
		{ "leaf_path", "/b", false }, { "side", "L", true }, { "side", "X", true },
		{ "sibling_hash", "00", true } };
	struct json *view;
	struct pack_proof_result r;

	for (size_t i = 0; i < ARRAY_SIZE(edits); i++) {
		view = view_of("{\"a\":1}", "/a", "1");
		struct json *proof = json_at(json_get(view, "proofs"), 0);
		assert_true(view_holds(view));
		json_sets(&a, edits[i].is_step ? json_at(json_get(proof, "proof_path"), 0) : proof,
			edits[i].member, edits[i].value);
		if (view_holds(view))
			fail_msg("%s = %s", edits[i].member, edits[i].value);
	}
	view = view_of("{\"a\":1}", "/a", "1");
	pack_check_view(&a, view, "another root", &r);
	assert_false(r.is_member);
	json_remove(view, "disclosed");
	assert_true(view_holds(view)); /* that there is such a leaf, and nothing more */
	json_set(&a, view, "proofs", json_new(&a, JSON_ARRAY));
	pack_check_view(&a, view, NULL, &r);
	assert_false(r.is_self_attested);
	json_remove(view, "proofs");
	pack_check_view(&a, view, NULL, &r);
	assert_false(r.is_self_attested);
}

/* One value, one leaf: spelling does not matter, meaning does. */
static void the_leaf_of_a_value_is_its_normal_form(void **state)
{
	(void)state;
	static const struct {
		const char *x, *y;
		bool same;
	} cases[] = {
		{ "{\"b\":1,\"a\":2,\"c\":3}", "{\"c\":3,\"a\":2,\"b\":1}", true },
		{ "{\"a\":1,\"b\":null}", "{\"a\":1}", true },
		{ "[1,null]", "[1]", false },
		{ "[{\"b\":1,\"a\":[]}]", "[{\"a\":[],\"b\":1}]", true },
		{ "\"caf\\u00e9\"", "\"cafe\\u0301\"", true },
		{ "{\"caf\\u00e9\":1}", "{\"cafe\\u0301\":1}", true },
		{ "true", "false", false },
		{ "1", "\"1\"", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct json *x, *y;
		struct hash hx, hy;
		assert_int_equal(json_parse(&a, bytes_of(cases[i].x), "x", NULL, &x, &e), OK);
		assert_int_equal(json_parse(&a, bytes_of(cases[i].y), "y", NULL, &y, &e), OK);
		assert_int_equal(pack_view_leaf(&a, "/p", x, &hx, &e), OK);
		assert_int_equal(pack_view_leaf(&a, "/p", y, &hy, &e), OK);
		if (hash_eq(&hx, &hy) != cases[i].same)
			fail_msg("%s and %s", cases[i].x, cases[i].y);
	}
}

/* "yes\u0000, but" must not have the leaf of "yes". */
static void values_without_one_meaning_have_no_leaf(void **state)
{
	(void)state;
	static const char *const texts[] = { "1.5", "[1e3]", "{\"a\":[{\"b\":0.1}]}", "\"yes\\u0000, but\"",
		"{\"a\\u0000b\":1}", "{\"caf\\u00e9\":1,\"cafe\\u0301\":2}" };

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct json *v;
		struct hash h = { { 7 } };
		assert_int_equal(json_parse(&a, bytes_of(texts[i]), "value", NULL, &v, &e), OK);
		if (pack_view_leaf(&a, "/p", v, &h, &e) != E_INPUT)
			fail_msg("%s has a leaf", texts[i]);
		assert_string_equal(e.code, "PACK_VIEW");
		assert_int_equal(h.b[0], 7);
	}
}

/* `verify` knows a view when it sees one. */
static void a_view_is_verified_as_a_document(void **state)
{
	(void)state;
	struct json *view = view_of("{\"a\":1}", "/a", "1");
	struct trust trust = { .root = json_get_text(
				       json_at(json_get(view, "proofs"), 0), "merkle_root", "") };
	struct verification v;
	struct buf b;

	buf_init(&b, &a);
	json_write(&b, view, 0);
	verification_begin(&v, &a, &trust, "view");
	verify_document(&v, buf_bytes(&b), "view.json");
	assert_string_equal(v.kind, "redacted view");
	assert_int_equal(verification_headline(&v), HEADLINE_ADMISSIBLE);
	trust.root = NULL;
	verification_begin(&v, &a, &trust, "view");
	verify_document(&v, buf_bytes(&b), "view.json");
	assert_int_equal(verification_headline(&v), HEADLINE_UNVERIFIED);
	json_seti(&a, json_get(view, "disclosed"), "a", 2);
	buf_init(&b, &a);
	json_write(&b, view, 0);
	verification_begin(&v, &a, &trust, "view");
	verify_document(&v, buf_bytes(&b), "view.json");
	assert_string_equal(v.error, "redacted_view");
	assert_non_null(strstr(v.text, "the proof of '/a' does not hold"));
}

/* ---- manifests ---- */

static void manifests_name_what_is_wrong(void **state)
{
	(void)state;
#define HASH64 "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define ENTRY(size) \
	"{\"entries\":[{\"path\":\"x\",\"content_hash\":\"" HASH64 \
	"\",\"content_type\":\"t\",\"size\":" size "}]}"
	static const struct {
		const char *manifest, *why;
	} cases[] = {
		{ "{}", "it is not a list with at least one entry" },
		{ "{\"entries\":[1]}", "it has no path" },
		{ ENTRY("9007199254740992"), "size is not a whole number" },
		{ ENTRY("-1"), "size is not a whole number" },
		{ ENTRY("1.0"), "size is not a whole number" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct pack_entry *entries = NULL;
		struct json *manifest;
		size_t n = 99;
		assert_int_equal(json_parse(&a, bytes_of(cases[i].manifest), "m", NULL, &manifest, &e), OK);
		assert_int_equal(pack_manifest_entries(&a, manifest, &entries, &n, &e), E_INPUT);
		if (!strstr(e.text, cases[i].why))
			fail_msg("%s", e.text);
		assert_null(entries);
		assert_int_equal(n, 99);
	}
	struct json *manifest;
	struct pack_entry *entries;
	size_t n;
	assert_int_equal(json_parse(&a, bytes_of(ENTRY("9007199254740991")), "m", NULL, &manifest, &e), OK);
	assert_int_equal(pack_manifest_entries(&a, manifest, &entries, &n, &e), OK);
	assert_int_equal(entries[0].size_bytes, 9007199254740991);
}

/* Each of the seven signed members is missed by name. */
static void the_manifest_preimage_needs_all_members(void **state)
{
	(void)state;
	static const char *const names[] = { "actor_did", "created_at", "intent_id", "pack_id", "policy_hash",
		"version" };
	struct pack_entry entry = { "x", HASH64, "t", 1 };
	struct bytes text;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct json *manifest = json_new(&a, JSON_OBJECT);
		for (size_t k = 0; k < ARRAY_SIZE(names); k++)
			json_sets(&a, manifest, names[k], "2026-01-01T00:00:00Z");
		assert_int_equal(pack_manifest_preimage(&a, manifest, &entry, 1, &text, &e), OK);
		json_seti(&a, manifest, names[i], 1);
		text = (struct bytes){ 0 };
		assert_int_equal(pack_manifest_preimage(&a, manifest, &entry, 1, &text, &e), E_INPUT);
		assert_non_null(strstr(e.text, names[i]));
		assert_null(text.p);
	}
}

static void content_types_follow_the_path(void **state)
{
	(void)state;
	assert_string_equal(pack_content_type("receipts/1"), "application/json");
	assert_string_equal(pack_content_type("receipts/all.jsonl"), "application/x-ndjson");
	assert_string_equal(pack_content_type("network/log"), "text/plain");
	assert_string_equal(pack_content_type("notes.json"), "application/json");
	assert_string_equal(pack_content_type("notes.txt"), "application/octet-stream");
}

static void a_seal_of_the_wrong_shape_has_no_payload(void **state)
{
	(void)state;
	struct bytes text = { 0 };

	assert_int_equal(
		pack_seal_payload(&a, json_new(&a, JSON_ARRAY), PACK_SEAL_CURRENT, &text, &e), E_INPUT);
	assert_int_equal(
		pack_seal_payload(&a, json_new(&a, JSON_ARRAY), PACK_SEAL_LEGACY, &text, NULL), E_INPUT);
	assert_null(text.p);
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
		cmocka_unit_test_setup_teardown(every_member_of_a_proof_counts, setup, teardown),
		cmocka_unit_test_setup_teardown(every_member_of_a_step_counts, setup, teardown),
		cmocka_unit_test_setup_teardown(the_binding_is_what_its_hash_says, setup, teardown),
		cmocka_unit_test_setup_teardown(a_proof_needs_a_time, setup, teardown),
		cmocka_unit_test_setup_teardown(a_view_shows_only_what_is_proven, setup, teardown),
		cmocka_unit_test_setup_teardown(every_member_of_a_view_proof_counts, setup, teardown),
		cmocka_unit_test_setup_teardown(the_leaf_of_a_value_is_its_normal_form, setup, teardown),
		cmocka_unit_test_setup_teardown(values_without_one_meaning_have_no_leaf, setup, teardown),
		cmocka_unit_test_setup_teardown(a_view_is_verified_as_a_document, setup, teardown),
		cmocka_unit_test_setup_teardown(manifests_name_what_is_wrong, setup, teardown),
		cmocka_unit_test_setup_teardown(the_manifest_preimage_needs_all_members, setup, teardown),
		cmocka_unit_test_setup_teardown(content_types_follow_the_path, setup, teardown),
		cmocka_unit_test_setup_teardown(a_seal_of_the_wrong_shape_has_no_payload, setup, teardown),
	};

	return cmocka_run_group_tests_name("pack", tests, NULL, NULL);
}
