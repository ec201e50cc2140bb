/* privacy_test.c — shapes of secrets never pass, and ordinary text does. */
#include "privacy/privacy.h"

#include "base/text.h"
#include "tools/unit.h"

#include <string.h>

static const struct {
	const char *in, *out;
} rows[] = {
	{ "git status --short", NULL },
	{ "Authorization: Bearer abc.def-123", "Authorization: " REDACTED },
	{ "curl -H 'bearer abcdef123'", "curl -H 'bearer " REDACTED "'" },
	{ "password=hunter2 next", "password=" REDACTED " next" },
	{ "DB_PASSWORD=hunter2", "DB_PASSWORD=" REDACTED },
	{ "--token abc123 --verbose", "--token " REDACTED " --verbose" },
	{ "{\"api_key\": \"abc\", \"x\": 1}", "{\"api_key\": \"" REDACTED "\", \"x\": 1}" },
	{ "https://user:pass@host/path", "https://" REDACTED "@host/path" },
	{ "https://host:8080/path@x", NULL },
	{ "key sk-abcdefgh12345678 end", "key " REDACTED " end" },
	{ "ghp_0123456789abcdefghij", REDACTED },
	{ "AKIAABCDEFGHIJKLMNOP", REDACTED },
	{ "AIzaSyA0123456789012345678901", REDACTED },
	{ "eyJhbGciOi.eyJzdWIiOi.c2lnbmF0dXJl", REDACTED },
	{ "bot123456:ABCDEFGHIJKLMNOPQR", REDACTED },
	{ "-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----\nrest", REDACTED "\nrest" },
	{ "-----BEGIN PRIVATE KEY-----\nMIIE", REDACTED },
	{ "skim the task-list", NULL },
	{ "tokenizer: fast", NULL },
	{ "the secret of success", NULL },
};

static void test_shapes(void **state)
{
	AUTO(arena_done) struct arena a = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		size_t n;
		const char *got = privacy_redact(&a, rows[i].in, strlen(rows[i].in), &n);
		assert_string_equal(got, rows[i].out ? rows[i].out : rows[i].in);
		assert_int_equal(n, strlen(got));
	}
}

static void test_json(void **state)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct json *doc;
	struct buf out;
	struct err e = { 0 };

	(void)state;
	assert_int_equal(
		json_parse(&a,
			bytes_of("{\"command\":[\"curl\",\"--token=abc\"],\"password\":\"x\",\"n\":1}"), "t",
			NULL, &doc, &e),
		0);
	privacy_redact_json(&a, doc);
	buf_init(&out, &a);
	json_write(&out, doc, 0);
	assert_string_equal(out.p,
		"{\"command\":[\"curl\",\"--token=" REDACTED "\"],\"password\":\"" REDACTED "\",\"n\":1}");
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_shapes), cmocka_unit_test(test_json) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
