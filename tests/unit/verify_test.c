/* verify_test.c — the three answers: what establishes them, and that nothing else does. */
#include "base/hash.h"
#include "proof/mldsa.h"
#include "proof/preimage.h"
#include "proof/sign.h"
#include "tools/unit.h"
#include "verify/parts.h"
#include "verify/verify.h"

static struct arena a;
static uint8_t secret[SIGN_SECRET];
static struct trusted_key key = { .id = "k" };
static struct trust trusting, nobody;

static int setup(void **state)
{
	uint8_t seed[SIGN_SEED];

	(void)state;
	memset(seed, 0x2a, sizeof(seed));
	sign_expand(seed, secret, key.key);
	key.not_before = key.not_after = NULL;
	trusting = (struct trust){ .keys = &key, .key_count = 1, .threads = 1 };
	nobody = (struct trust){ .threads = 1 };
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	arena_done(&a);
	return 0;
}

static char *sign_hex(struct bytes message)
{
	uint8_t sig[SIGN_SIZE];
	char *hex = arena_text(&a, 2 * SIGN_SIZE + 1);

	sign_message(secret, message, sig);
	hex_encode(sig, sizeof(sig), hex);
	return hex;
}

static struct json *receipt(int i, const char *prev, const char *session)
{
	static const char *const empty[] = { "args_hash", "output_hash", "policy_hash", "reason_code" };
	struct json *r = json_new(&a, JSON_OBJECT);
	struct bytes preimage;

	for (size_t k = 0; k < ARRAY_SIZE(empty); k++)
		json_sets(&a, r, empty[k], "");
	json_set(&a, r, "receipt_id", json_stringf(&a, "r%d", i));
	json_sets(&a, r, "external_reference_id", "x");
	json_sets(&a, r, "decision_id", "d");
	json_sets(&a, r, "effect_id", "e");
	json_sets(&a, r, "status", "ALLOW");
	json_sets(&a, r, "verdict", "ALLOW");
	json_sets(&a, r, "timestamp", "2026-03-01T00:00:00Z");
	json_sets(&a, r, "session_id", session);
	json_sets(&a, r, "prev_hash", prev);
	json_seti(&a, r, "lamport_clock", i);
	json_sets(&a, r, "signature_version", RECEIPT_V5);
	assert_int_equal(receipt_preimage_v5(&a, r, &preimage, NULL), OK);
	json_sets(&a, r, "signature", sign_hex(preimage));
	return r;
}

/* n receipts of one session, each a line. */
static void add_chain(struct buf *to, const char *session, int n)
{
	const char *prev = "";
	struct hash chain;

	for (int i = 1; i <= n; i++) {
		struct json *r = receipt(i, prev, session);
		assert_int_equal(receipt_chain_hash(&a, r, chain.b, NULL), OK);
		prev = hash_hex(&a, &chain);
		json_write(to, r, 0);
		buf_addc(to, '\n');
	}
}

static struct verification verify(const struct trust *t, struct bytes text)
{
	struct verification v;

	verification_begin(&v, &a, t, "document");
	verify_document(&v, text, "test");
	return v;
}

static struct bytes text_of(const struct json *doc)
{
	struct buf b;

	buf_init(&b, &a);
	json_write(&b, doc, 0);
	return buf_bytes(&b);
}

/* The first thing that is wrong is the one that is named; of what is right nothing is. */
static void the_first_place_is_named(void **state)
{
	struct verification v = verify(&trusting, text_of(receipt(1, "", "s")));

	(void)state;
	assert_null(v.record);
	assert_null(v.member);
	verify_at(&v, "one", "a", "x", "y");
	verify_at(&v, "two", "b", "p", "q");
	assert_string_equal(v.record, "one");
	assert_string_equal(v.member, "a");
	assert_string_equal(v.found, "y");
}

static void equal_heads_agree(void **state)
{
	struct json *x = json_new(&a, JSON_OBJECT), *y;
	struct verification v;

	(void)state;
	json_sets(&a, x, "log_id", "l");
	json_seti(&a, x, "tree_size", 3);
	json_sets(&a, x, "root_hash", "r");
	y = json_copy(&a, x);
	verification_begin(&v, &a, &nobody, "tree head");
	verify_tree_heads_agree(&v, x, y);
	assert_int_equal(v.integrity, ANSWER_YES);
	json_sets(&a, y, "root_hash", "s");
	verification_begin(&v, &a, &nobody, "tree head");
	verify_tree_heads_agree(&v, x, y);
	assert_int_equal(v.integrity, ANSWER_NO);
	json_seti(&a, y, "tree_size", 4);
	verification_begin(&v, &a, &nobody, "tree head");
	verify_tree_heads_agree(&v, x, y);
	assert_int_equal(v.integrity, ANSWER_UNKNOWN);
}

static void nothing_is_trusted_without_a_key(void **state)
{
	struct verification v = verify(&nobody, text_of(receipt(1, "", "s")));

	(void)state;
	assert_int_equal(v.integrity, ANSWER_UNKNOWN);
	assert_int_equal(v.trusted, ANSWER_UNKNOWN);
	assert_int_equal(verification_headline(&v), HEADLINE_UNVERIFIED);
}

static void an_embedded_key_is_integrity_and_not_trust(void **state)
{
	struct json *r = receipt(1, "", "s"), *set = json_new(&a, JSON_OBJECT);
	char hex[2 * SIGN_PUBLIC + 1];

	(void)state;
	hex_encode(key.key, SIGN_PUBLIC, hex);
	json_sets(&a, set, "ed25519", hex);
	json_set(&a, r, "public_key_set", set);
	struct verification v = verify(&nobody, text_of(r));
	assert_int_equal(v.integrity, ANSWER_YES);
	assert_int_equal(v.trusted, ANSWER_UNKNOWN);
	assert_true(v.is_self_attested);
	assert_int_equal(verification_headline(&v), HEADLINE_UNVERIFIED);
	json_sets(&a, r, "verdict", "DENY");
	v = verify(&nobody, text_of(r));
	assert_int_equal(verification_headline(&v), HEADLINE_TAMPERED);
}

static void a_key_counts_only_inside_its_window(void **state)
{
	struct verification v;

	(void)state;
	key.not_after = "2026-03-01T00:00:00Z";
	v = verify(&trusting, text_of(receipt(1, "", "s")));
	assert_int_equal(v.trusted, ANSWER_NO);
	assert_string_equal(v.error, "key_window");
	key.not_after = "2026-03-01T00:00:01Z";
	v = verify(&trusting, text_of(receipt(1, "", "s")));
	assert_int_equal(verification_headline(&v), HEADLINE_ADMISSIBLE);
}

static void sessions_are_followed_apart(void **state)
{
	struct buf b, x, y;

	(void)state;
	buf_init(&b, &a);
	buf_init(&x, &a);
	buf_init(&y, &a);
	add_chain(&x, "one", 40);
	add_chain(&y, "two", 40);
	struct bytes p = buf_bytes(&x), q = buf_bytes(&y);
	while (p.n > 0) {
		struct bytes line = text_cut(&p, '\n');
		buf_add(&b, line.p, line.n);
		buf_addc(&b, '\n');
		line = text_cut(&q, '\n');
		buf_add(&b, line.p, line.n);
		buf_addc(&b, '\n');
	}
	struct verification v = verify(&trusting, buf_bytes(&b));
	assert_int_equal(verification_headline(&v), HEADLINE_ADMISSIBLE);
	assert_int_equal(json_get_int(v.values, "sessions", 0), 2);
	assert_int_equal(json_get_int(v.values, "receipts", 0), 80);
}

static void threads_change_nothing(void **state)
{
	struct line_place *one, *many;
	size_t one_n, many_n;
	struct verification v;
	struct buf b;

	(void)state;
	buf_init(&b, &a);
	add_chain(&b, "s", 200);
	verification_begin(&v, &a, &trusting, "chain");
	verify_receipt_places(&v, buf_bytes(&b), "test", &one, &one_n);
	assert_int_equal(verification_headline(&v), HEADLINE_ADMISSIBLE);
	trusting.threads = 5;
	verification_begin(&v, &a, &trusting, "chain");
	verify_receipt_places(&v, buf_bytes(&b), "test", &many, &many_n);
	assert_int_equal(verification_headline(&v), HEADLINE_ADMISSIBLE);
	assert_int_equal(one_n, 200);
	assert_int_equal(many_n, 200);
	assert_memory_equal(one, many, 200 * sizeof(*one));
}

/* Every byte of a small chain, changed one at a time: never admissible, except where it is the head's unsigned members. */
static void every_changed_byte_is_found(void **state)
{
	struct buf b;
	size_t admitted = 0, head = 0;

	(void)state;
	buf_init(&b, &a);
	add_chain(&b, "s", 3);
	for (size_t i = 0; i < b.n; i++)
		if (b.p[i] == '\n' && i + 1 < b.n)
			head = i + 1;
	for (size_t i = 0; i < b.n; i++) {
		struct arena_mark mark = arena_mark(&a);
		char *copy = arena_strndup(&a, b.p, b.n);
		copy[i] = (char)(copy[i] ^ 1);
		struct verification v = verify(&trusting, (struct bytes){ (const uint8_t *)copy, b.n });
		if (verification_headline(&v) == HEADLINE_ADMISSIBLE) {
			admitted++;
			assert_true(i >= head);
		} else {
			assert_non_null(v.error);
		}
		arena_release(&a, mark);
	}
	/* Name and value of timestamp and external_reference_id in the last line, and no more than that. */
	assert_in_range(admitted, 1, 80);
}

static void the_first_broken_link_is_named(void **state)
{
	struct buf b;
	char *third;

	(void)state;
	buf_init(&b, &a);
	add_chain(&b, "s", 5);
	third = strstr(strstr(b.p, "\"r3\""), "2026-03-01T00");
	third[3] = '7';
	struct verification v = verify(&trusting, buf_bytes(&b));
	assert_int_equal(verification_headline(&v), HEADLINE_TAMPERED);
	assert_string_equal(v.record, "line 4 (r4)");
	assert_string_equal(v.member, "prev_hash");
	assert_non_null(v.expected);
	assert_non_null(v.found);
	assert_string_not_equal(v.expected, v.found);
}

static void a_carried_decision_is_bound(void **state)
{
	struct json *d = json_new(&a, JSON_OBJECT), *r;
	struct bytes preimage;

	(void)state;
	json_sets(&a, d, "id", "d");
	json_sets(&a, d, "verdict", "ALLOW");
	json_sets(&a, d, "reason", "");
	json_sets(&a, d, "signature_type", "ed25519:k");
	json_sets(&a, d, "signature_version", DECISION_V4);
	assert_int_equal(decision_preimage(&a, d, &preimage, NULL), OK);
	json_sets(&a, d, "signature", sign_hex(preimage));
	r = receipt(1, "", "s");
	json_sets(&a, r, "output_hash", preimage_prefixed(&a, preimage));
	json_set(&a, r, "subject", d);
	struct bytes signing;
	assert_int_equal(receipt_preimage_v5(&a, r, &signing, NULL), OK);
	json_sets(&a, r, "signature", sign_hex(signing));
	struct verification v;
	verification_begin(&v, &a, &trusting, "chain");
	verify_receipt_lines(&v, text_of(r), "test");
	assert_int_equal(verification_headline(&v), HEADLINE_ADMISSIBLE);
	json_sets(&a, d, "resource", "another");
	verification_begin(&v, &a, &trusting, "chain");
	verify_receipt_lines(&v, text_of(r), "test");
	assert_int_equal(verification_headline(&v), HEADLINE_TAMPERED);
	assert_string_equal(v.error, "decision_rejected");
}

/* A key counts in its time for every kind of record that says when it was made. */
static void windows_are_asked_of_permits(void **state)
{
	struct json *p = json_new(&a, JSON_OBJECT);
	struct bytes preimage;

	(void)state;
	json_sets(&a, p, "permit_id", "p");
	json_sets(&a, p, "issued_at", "2026-03-02T00:00:00Z");
	json_sets(&a, p, "expires_at", "2026-03-03T00:00:00Z");
	assert_int_equal(permit_preimage(&a, p, &preimage, NULL), OK);
	json_sets(&a, p, "signature", sign_hex(preimage));
	struct verification v = verify(&trusting, text_of(p));
	assert_int_equal(verification_headline(&v), HEADLINE_ADMISSIBLE);
	key.not_after = "2026-03-02T00:00:00Z";
	v = verify(&trusting, text_of(p));
	assert_int_equal(verification_headline(&v), HEADLINE_UNVERIFIED);
	assert_string_equal(v.error, "key_window");
}

/* Untagged receipts, too. */
static void windows_are_asked_of_old_receipts(void **state)
{
	struct json *r = receipt(1, "", "s");
	struct bytes preimage;

	(void)state;
	trusting.allow_legacy = true;
	(void)json_remove(r, "signature_version");
	assert_int_equal(receipt_preimage_v4_fields(&a, r, &preimage, NULL), OK);
	json_sets(&a, r, "signature", sign_hex(preimage));
	struct verification v = verify(&trusting, text_of(r));
	assert_int_equal(verification_headline(&v), HEADLINE_ADMISSIBLE);
	key.not_after = "2026-02-01T00:00:00Z";
	v = verify(&trusting, text_of(r));
	assert_string_equal(v.error, "key_window");
}

/* Torn at its end is what a crash leaves; torn in the middle it was changed. */
static void only_the_last_line_can_be_torn(void **state)
{
	struct verification v;
	struct buf b;

	(void)state;
	buf_init(&b, &a);
	add_chain(&b, "s", 3);
	v = verify(&trusting, (struct bytes){ (const uint8_t *)b.p, b.n - 20 });
	assert_int_equal(verification_headline(&v), HEADLINE_DAMAGED);
	*(strchr(b.p, '\n') + 1) = '?';
	v = verify(&trusting, (struct bytes){ (const uint8_t *)b.p, b.n - 20 });
	assert_int_equal(verification_headline(&v), HEADLINE_TAMPERED);
}

static void an_empty_document_establishes_nothing(void **state)
{
	static const char *const texts[] = { "", "{}", "[]", "null", "{\"receipts\":[]}", "{\"nodes\":[]}",
		"{\"receipt_id\":1}", "{\"assertions\":[],\"challenge\":{},\"authority_snapshot\":{}}" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct verification v = verify(&trusting, bytes_of(texts[i]));
		assert_int_not_equal(verification_headline(&v), HEADLINE_ADMISSIBLE);
		assert_non_null(v.error);
	}
}

static void proofs_need_a_root_from_elsewhere(void **state)
{
	struct hash leaf = merkle_leaf("x", 1);
	char *hex = hash_hex(&a, &leaf);
	char *proof = arena_printf(&a,
		"{\"leaf_index\":0,\"tree_size\":1,\"leaf_hash\":\"%s\",\"root_hash\":\"%s\",\"audit_path\":["
		"]}",
		hex, hex);
	struct verification v = verify(&trusting, bytes_of(proof));

	(void)state;
	assert_int_equal(verification_headline(&v), HEADLINE_UNVERIFIED);
	assert_string_equal(v.error, "no_trusted_root");
	trusting.root = hex;
	v = verify(&trusting, bytes_of(proof));
	assert_int_equal(verification_headline(&v), HEADLINE_ADMISSIBLE);
}

static void post_quantum_garbage_is_refused(void **state)
{
	uint8_t *pub = arena_zalloc(&a, 1, MLDSA_PUBLIC), *sig = arena_zalloc(&a, 1, MLDSA_SIGNATURE);

	(void)state;
	assert_false(mldsa_verify(pub, bytes_of("m"), sig));
	memset(sig, 0xff, MLDSA_SIGNATURE);
	assert_false(mldsa_verify(pub, bytes_of("m"), sig));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_first_place_is_named, setup, teardown),
		cmocka_unit_test_setup_teardown(equal_heads_agree, setup, teardown),
		cmocka_unit_test_setup_teardown(nothing_is_trusted_without_a_key, setup, teardown),
		cmocka_unit_test_setup_teardown(an_embedded_key_is_integrity_and_not_trust, setup, teardown),
		cmocka_unit_test_setup_teardown(a_key_counts_only_inside_its_window, setup, teardown),
		cmocka_unit_test_setup_teardown(sessions_are_followed_apart, setup, teardown),
		cmocka_unit_test_setup_teardown(threads_change_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(every_changed_byte_is_found, setup, teardown),
		cmocka_unit_test_setup_teardown(the_first_broken_link_is_named, setup, teardown),
		cmocka_unit_test_setup_teardown(a_carried_decision_is_bound, setup, teardown),
		cmocka_unit_test_setup_teardown(windows_are_asked_of_permits, setup, teardown),
		cmocka_unit_test_setup_teardown(windows_are_asked_of_old_receipts, setup, teardown),
		cmocka_unit_test_setup_teardown(only_the_last_line_can_be_torn, setup, teardown),
		cmocka_unit_test_setup_teardown(an_empty_document_establishes_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(proofs_need_a_root_from_elsewhere, setup, teardown),
		cmocka_unit_test_setup_teardown(post_quantum_garbage_is_refused, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
