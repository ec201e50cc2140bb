/* privacy_edges_test.c — neighbours of secrets that are none, slices that end inside of one, and vaults that do not say what they should. */
#include "base/text.h"
#include "privacy/privacy.h"
#include "tools/unit.h"

#include <string.h>

static struct arena a;

static int done(void **state)
{
	(void)state;
	arena_done(&a);
	return 0;
}

/* What only looks like the shape stays as it is. */
static void neighbours_stay(void **state)
{
	static const char *const same[] = { "bat123456:ABCDEFGHIJKLMNOPQR", "robo123456:ABCDEFGHIJKLMNOPQR",
		"bot1234:ABCDEFGHIJKLMNOPQR", "bot123456:ABCDEFGHIJKLMN", "bot123456-ABCDEFGHIJKLMNOPQR",
		"eyJhbGciOi.eyJzdWIiOi", "eyJhbGciOi.eyJzdWIiOi.", "eyJhbGciOi.eyJ.c2lnbmF0dXJl",
		"eyJhbGciOi eyJzdWIiOi c2lnbmF0dXJl" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(same); i++) {
		size_t n;
		assert_string_equal(privacy_redact(&a, same[i], strlen(same[i]), &n), same[i]);
	}
}

/* A text that is given by its length ends there, whatever stands behind it. */
static void a_slice_ends_where_it_ends(void **state)
{
	static const char text[] = "eyJhbGciOi.eyJzdWIiOi.c2lnbmF0dXJl";
	size_t second = (size_t)(strrchr(text, '.') - text), n;

	(void)state;
	assert_ptr_equal(privacy_redact(&a, text, second, &n), text);
	assert_int_equal(n, second);
	assert_string_equal(privacy_redact(&a, text, sizeof(text) - 1, &n), REDACTED);
}

/* In program text the first line of a key alone is what a program looks for. */
static void a_key_in_program_text_has_a_body(void **state)
{
	static const char *const none[] = { "\"-----BEGIN PRIVATE KEY-----\": abcdef",
		"if s == \"-----BEGIN PRIVATE KEY-----\" then abcdef",
		"-----BEGIN PRIVATE KEY-----\\\"abcdefgh", "-----BEGIN PRIVATE KEY-----",
		"-----BEGIN CERTIFICATE-----\nabcdefgh" };
	static const char *const keys[] = { "-----BEGIN PRIVATE KEY-----\n\nabcdefgh",
		"-----BEGIN PRIVATE KEY-----\\n\"abcdefgh", "-----BEGIN RSA PRIVATE KEY-----\r\nabcdefgh" };
	const struct privacy_options strict = { 1u << PRIVACY_SECRET, true };
	struct privacy_finding *found;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(none); i++)
		if (privacy_scan(&a, none[i], strlen(none[i]), &strict, &found))
			fail_msg("taken for a key: %s", none[i]);
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (!privacy_scan(&a, keys[i], strlen(keys[i]), &strict, &found))
			fail_msg("not found: %s", keys[i]);
}

static const char *tokenized(const char *text, struct json *scope)
{
	const struct privacy_options all = { privacy_default_labels(), false };

	return json_get_text(privacy_tokenize(&a, text, strlen(text), &all, scope, true), "text", "?");
}

static const char *restored(const char *text, const struct json *scope)
{
	return json_get_text(privacy_restore(&a, text, strlen(text), scope), "text", "?");
}

/* What decides is the value, not its digest: a vault whose digest leads to a longer value does not give that one away. */
static void a_token_stands_for_its_value(void **state)
{
	struct json *scope = json_new(&a, JSON_OBJECT), *tokens = json_new(&a, JSON_OBJECT),
		    *hashes = json_new(&a, JSON_OBJECT), *labels = json_new(&a, JSON_OBJECT);
	char hash[PRIVACY_HASH + 1];

	(void)state;
	privacy_hash("a@example.com", 13, hash);
	json_sets(&a, tokens, "<PRIVATE_EMAIL_1>", "a@example.com.other.example");
	json_sets(&a, labels, "<PRIVATE_EMAIL_1>", "EMAIL");
	json_sets(&a, hashes, hash, "<PRIVATE_EMAIL_1>");
	json_set(&a, scope, "tokens", tokens);
	json_set(&a, scope, "labels", labels);
	json_set(&a, scope, "hashes", hashes);
	assert_string_equal(tokenized("to a@example.com now", scope), "to <PRIVATE_EMAIL_2> now");
	assert_string_equal(tokenized("to a@example.com again", scope), "to <PRIVATE_EMAIL_2> again");
	assert_string_equal(restored("<PRIVATE_EMAIL_2>", scope), "a@example.com");
}

/* Only a whole token is one. */
static void what_is_no_token_stays(void **state)
{
	static const char *const same[] = { "xPRIVATE_EMAIL_1>", "<PRIVATE_EMAIL_1", "<PRIVATE_EMAIL_>",
		"<PRIVATE_EMAIL_9>", "PRIVATE_EMAIL_1", "<P", "<", "<PRIVATE_email_1>" };
	struct json *scope = json_new(&a, JSON_OBJECT);

	(void)state;
	assert_string_equal(tokenized("b@example.com", scope), "<PRIVATE_EMAIL_1>");
	for (size_t i = 0; i < ARRAY_SIZE(same); i++) {
		assert_string_equal(restored(same[i], scope), same[i]);
		assert_string_equal(restored(tokenized(same[i], scope), scope), same[i]);
	}
	assert_string_equal(restored(tokenized("<PRIVATE_EMAIL_1> b@example.com", scope), scope),
		"<PRIVATE_EMAIL_1> b@example.com");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(neighbours_stay),
		cmocka_unit_test(a_slice_ends_where_it_ends),
		cmocka_unit_test(a_key_in_program_text_has_a_body),
		cmocka_unit_test(a_token_stands_for_its_value),
		cmocka_unit_test(what_is_no_token_stays),
	};

	return cmocka_run_group_tests(tests, NULL, done);
}
