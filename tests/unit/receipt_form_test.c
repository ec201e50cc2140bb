/* receipt_form_test.c — receipts of a Helm workspace: what their signature holds, in every form they come in. */
#include "base/hash.h"
#include "proof/preimage.h"
#include "proof/sign.h"
#include "tools/unit.h"
#include "verify/verify.h"

#include <string.h>

static struct arena a;
static uint8_t secret[SIGN_SECRET];
static struct trusted_key key = { .id = "k" };
static struct trust trusting = { .keys = &key, .key_count = 1, .threads = 1 };

static int setup(void **state)
{
	uint8_t seed[SIGN_SEED];

	(void)state;
	memset(seed, 0x2a, sizeof(seed));
	sign_expand(seed, secret, key.key);
	key.not_before = key.not_after = NULL;
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

static struct json *decision(const char *version)
{
	struct json *d = json_new(&a, JSON_OBJECT);
	struct bytes preimage;

	json_sets(&a, d, "id", "dec");
	json_sets(&a, d, "signature_type", "ed25519:k");
	json_sets(&a, d, "signature_version", DECISION_V4);
	json_sets(&a, d, "verdict", "ALLOW");
	assert_int_equal(decision_preimage(&a, d, &preimage, NULL), OK);
	json_sets(&a, d, "signature", sign_hex(preimage));
	if (version)
		json_sets(&a, d, "signature_version", version);
	return d;
}

static char *content_hash(const struct json *d)
{
	struct bytes preimage;

	assert_int_equal(decision_preimage(&a, d, &preimage, NULL), OK);
	return preimage_prefixed(&a, preimage);
}

/* The receipt signed once more over what it says now. */
static void sign_again(struct json *r)
{
	struct bytes preimage;

	assert_int_equal(receipt_preimage_v5(&a, r, &preimage, NULL), OK);
	json_sets(&a, r, "signature", sign_hex(preimage));
}

/* A receipt as a workspace writes it, with a mark or as before marks; `subject` may be NULL. */
static struct json *own(struct json *subject, bool is_marked)
{
	static const char *const texts[][2] = { { "args_hash", "" }, { "decision_id", "dec" },
		{ "effect_id", "e" }, { "executor_id", "user:1" }, { "external_reference_id", "" },
		{ "output_hash", "" }, { "policy_hash", "" }, { "prev_hash", "" }, { "reason_code", "" },
		{ "receipt_id", "rcpt_dec" }, { "session_id", "ws-1" }, { "signature_algorithm", "ed25519" },
		{ "signature_profile", "classical" }, { "signature_version", RECEIPT_V5 },
		{ "status", "ALLOW" }, { "timestamp", "2026-03-01T00:00:00.000100Z" },
		{ "tool_name", "true" }, { "verdict", "ALLOW" } };
	struct json *r = json_new(&a, JSON_OBJECT), *about = json_new(&a, JSON_OBJECT),
		    *keys = json_new(&a, JSON_OBJECT);
	char hex[2 * SIGN_PUBLIC + 1];
	struct receipt_text text;

	hex_encode(key.key, SIGN_PUBLIC, hex);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		json_sets(&a, r, texts[i][0], texts[i][1]);
	json_seti(&a, r, "lamport_clock", 3);
	json_seti(&a, about, "exit_code", 0);
	json_set(&a, r, "metadata", about);
	json_sets(&a, keys, "ed25519", hex);
	json_set(&a, r, "public_key_set", keys);
	json_sets(&a, r, "key_id", arena_printf(&a, "ed25519:%s", hex));
	if (subject) {
		json_set(&a, r, "subject", subject);
		if (text_eq(json_get_text(subject, "signature_version", ""), DECISION_V4))
			json_sets(&a, r, "output_hash", content_hash(subject));
	}
	if (is_marked)
		assert_int_equal(receipt_text_begin(&a, r, &text, NULL), OK);
	sign_again(r);
	json_sets(&a, r, "log_id", sha256_hex(&a, key.key, SIGN_PUBLIC));
	json_seti(&a, r, "leaf_index", 2);
	return r;
}

static struct bytes canonical(const struct json *doc)
{
	struct buf b;

	buf_init(&b, &a);
	json_canonical(&b, doc);
	return buf_bytes(&b);
}

static const struct json *read_back(const struct json *doc)
{
	struct json *again;

	assert_int_equal(json_parse(&a, canonical(doc), "receipt", NULL, &again, NULL), OK);
	return again;
}

static struct verification judge(struct bytes text)
{
	struct verification v;

	verification_begin(&v, &a, &trusting, "document");
	verify_document(&v, text, "test");
	return v;
}

/* The answer must be the same for the receipt alone, in a bundle, and as the last line of a chain. */
static void expect(const struct json *r, const char *error)
{
	struct json *list = json_new(&a, JSON_ARRAY), *ignored;
	struct verification v = judge(canonical(r));
	struct hash chain;

	json_push(&a, list, (struct json *)read_back(r));
	assert_int_equal(verification_headline(&v), error ? HEADLINE_TAMPERED : HEADLINE_ADMISSIBLE);
	if (error)
		assert_string_equal(v.error, error);
	v = judge(canonical(list));
	assert_int_equal(verification_headline(&v), error ? HEADLINE_TAMPERED : HEADLINE_ADMISSIBLE);
	verification_begin(&v, &a, &trusting, "line");
	assert_int_equal(verify_receipt_line(&v, canonical(r), "line", &ignored, &chain), !error);
	if (error)
		assert_string_equal(v.error, error);
}

static bool has_note(const struct verification *v, const char *part)
{
	json_each (note, v->notes)
		if (strstr(json_text(note), part))
			return true;
	return false;
}

static void every_member_is_bound(void **state)
{
	static const char *const names[] = { "executor_id", "timestamp", "tool_name", "metadata", "subject" };

	(void)state;
	expect(own(NULL, true), NULL);
	expect(own(decision(NULL), true), NULL);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct json *r = own(decision(NULL), true);
		if (text_eq(names[i], "metadata"))
			json_seti(&a, json_get(r, "metadata"), "exit_code", 1);
		else if (text_eq(names[i], "subject"))
			json_sets(&a, json_get(r, "subject"), "policy_version", "9");
		else
			json_sets(&a, r, names[i], "2026-03-01T00:00:00.000200Z");
		expect(r, "members_changed");
	}
	struct json *r = own(NULL, true);
	json_sets(&a, r, "correlation_id", "added");
	expect(r, "members_changed");
	r = own(NULL, true);
	(void)json_remove(r, "executor_id");
	expect(r, "members_changed");
	/* The mark is signed: it can be neither taken away nor made anew. */
	r = own(NULL, true);
	json_sets(&a, r, "receipt_id", "rcpt_dec");
	expect(r, "signature_rejected");
}

static void old_receipts_say_what_is_not_bound(void **state)
{
	struct json *r = own(NULL, false);
	struct verification v = judge(canonical(r));

	(void)state;
	assert_int_equal(verification_headline(&v), HEADLINE_ADMISSIBLE);
	assert_true(has_note(&v, "does not cover timestamp"));
	json_seti(&a, json_get(r, "metadata"), "exit_code", 1);
	v = judge(canonical(r));
	assert_int_equal(verification_headline(&v), HEADLINE_ADMISSIBLE);
	v = judge(canonical(own(NULL, true)));
	assert_false(has_note(&v, "does not cover"));
	/* What follows from key and place is held all the same. */
	r = own(NULL, false);
	json_sets(&a, r, "log_id", "0");
	expect(r, "log_members");
	r = own(NULL, false);
	(void)json_remove(r, "public_key_set");
	expect(r, "log_members");
}

static void log_members_follow(void **state)
{
	static const char *const names[] = { "log_id", "leaf_index" };

	(void)state;
	for (size_t i = 0; i < 2 * ARRAY_SIZE(names); i++) {
		struct json *r = own(NULL, true);
		if (i < ARRAY_SIZE(names))
			(void)json_remove(r, names[i]);
		else if (names[i % 2][1] == 'o')
			json_sets(&a, r, "log_id", sha256_hex(&a, "x", 1));
		else
			json_seti(&a, r, "leaf_index", 3);
		expect(r, "log_members");
	}
}

/* Hashing leaves these out, or writes them as something else. */
static void strange_members_are_refused(void **state)
{
	static const struct {
		const char *name, *json;
	} rows[] = { { "extra", "1" }, { "transparency", "{\"backend\":\"x\"}" }, { "blob_hash", "\"\"" },
		{ "created_at", "\"0001-01-01T00:00:00Z\"" }, { "external_reference_id", "null" },
		{ "timestamp", "\"2026-03-01T00:00:00.0001Z\"" }, { "metadata", "{\"exit_code\":0.0}" },
		{ "metadata", "{\"exit_code\":-0}" } };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct json *r = own(NULL, false), *value;
		assert_int_equal(json_parse(&a, bytes_of(rows[i].json), "x", NULL, &value, NULL), OK);
		json_set(&a, r, rows[i].name, value);
		expect(r, "receipt_form");
	}
	struct json *r = own(NULL, false);
	(void)json_remove(r, "timestamp");
	expect(r, "receipt_form");
}

static void carried_decisions_are_checked(void **state)
{
	struct json *r = own(decision("decision_record.v9"), false), *d;

	(void)state;
	expect(r, "decision_rejected");
	d = decision(NULL);
	(void)json_remove(d, "signature_version");
	expect(own(d, false), "decision_rejected");
	expect(own(json_string(&a, "a text"), false), "decision_rejected");
	/* A genuine decision, but not the one that was signed for. */
	r = own(decision(NULL), false);
	json_sets(&a, r, "output_hash", sha256_prefixed(&a, "", 0));
	sign_again(r);
	expect(r, "decision_binding");
	r = own(decision(NULL), false);
	json_sets(&a, r, "decision_id", "another");
	sign_again(r);
	expect(r, "decision_binding");
	/* The same in a receipt of somebody else, whose subjects may also be free. */
	r = own(decision("decision_record.v9"), false);
	json_sets(&a, r, "session_id", "s");
	sign_again(r);
	expect(r, "decision_rejected");
	d = json_new(&a, JSON_OBJECT);
	json_sets(&a, d, "about", "anything");
	r = own(d, false);
	json_sets(&a, r, "session_id", "s");
	sign_again(r);
	expect(r, NULL);
}

static void one_spelling(void **state)
{
	struct json *r = own(NULL, true);
	struct verification v;
	struct json *ignored;
	struct hash chain;
	struct buf b;

	(void)state;
	buf_init(&b, &a);
	json_write(&b, read_back(r), JSON_INDENT);
	v = judge(buf_bytes(&b));
	assert_int_equal(verification_headline(&v), HEADLINE_ADMISSIBLE);
	assert_true(has_note(&v, "not canonical"));
	verification_begin(&v, &a, &trusting, "line");
	assert_false(verify_receipt_line(&v, buf_bytes(&b), "line", &ignored, &chain));
	assert_string_equal(v.error, "receipt_form");
	char *text = arena_strndup(&a, (const char *)canonical(r).p, canonical(r).n),
	     *at = strstr(text, "true");
	v = judge(bytes_of(arena_printf(&a, "%.*s\\u0074%s", (int)(at - text), text, at + 1)));
	assert_int_equal(verification_headline(&v), HEADLINE_ADMISSIBLE);
	r = own(NULL, false);
	json_sets(&a, r, "tool_name", "a/\xc3\xa9");
	text = arena_strndup(&a, (const char *)canonical(r).p, canonical(r).n);
	at = strstr(text, "a/\xc3\xa9");
	v = judge(bytes_of(arena_printf(&a, "%.*sa\\/%s", (int)(at - text), text, at + 2)));
	assert_string_equal(v.error, "receipt_form");
	v = judge(bytes_of(arena_printf(&a, "%.*sa/\\u00E9%s", (int)(at - text), text, at + 4)));
	assert_string_equal(v.error, "receipt_form");
}

/* Only thirteen members are under the signature itself: a receipt that cannot be hashed is not unchanged. */
static void unhashable_is_not_unchanged(void **state)
{
	struct json *r = own(NULL, false);

	(void)state;
	json_sets(&a, r, "session_id", "s");
	sign_again(r);
	json_sets(&a, r, "Verdict", "DENY");
	struct verification v = judge(canonical(r));
	assert_int_equal(v.integrity, ANSWER_NO);
	assert_string_equal(v.error, "MEMBER_CASE");
}

static void ids_short_and_long(void **state)
{
	const char *id = json_get_text(own(NULL, true), "receipt_id", "");

	(void)state;
	assert_non_null(receipt_id_mark(id));
	assert_string_equal(receipt_id_short(&a, id), "rcpt_dec");
	assert_true(receipt_id_is(id, "rcpt_dec") && receipt_id_is(id, id));
	assert_false(receipt_id_is(id, "rcpt_de") || receipt_id_is(id, "rcpt_dec."));
	assert_null(receipt_id_mark("rcpt_dec"));
	assert_null(receipt_id_mark(arena_printf(&a, "x%s", id)));
	assert_string_equal(receipt_id_short(&a, "rcpt_dec.12"), "rcpt_dec.12");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(every_member_is_bound, setup, teardown),
		cmocka_unit_test_setup_teardown(old_receipts_say_what_is_not_bound, setup, teardown),
		cmocka_unit_test_setup_teardown(log_members_follow, setup, teardown),
		cmocka_unit_test_setup_teardown(strange_members_are_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(carried_decisions_are_checked, setup, teardown),
		cmocka_unit_test_setup_teardown(one_spelling, setup, teardown),
		cmocka_unit_test_setup_teardown(unhashable_is_not_unchanged, setup, teardown),
		cmocka_unit_test_setup_teardown(ids_short_and_long, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
