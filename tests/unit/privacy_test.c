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
			bytes_of(
				"{\"command\":[\"curl\",\"--token=abc\",\"--password\",\"a b\",\"--name\",\"c\",\"--secret=\",\"d\"],\"password\":\"x\",\"n\":1}"),
			"t", NULL, &doc, &e),
		0);
	privacy_redact_json(&a, doc);
	buf_init(&out, &a);
	json_write(&out, doc, 0);
	assert_string_equal(out.p,
		"{\"command\":[\"curl\",\"--token=" REDACTED "\",\"--password\",\"" REDACTED
		"\",\"--name\",\"c\",\"--secret=\",\"d\"],\"password\":\"" REDACTED "\",\"n\":1}");
}

/* ---- what is found ---- */

/* `found`: the findings as "LABEL start end", in bytes. */
static const char *found_in(struct arena *a, const char *text, const struct privacy_options *options)
{
	struct privacy_finding *found;
	size_t n = privacy_scan(a, text, strlen(text), options, &found);
	struct buf out;

	buf_init(&out, a);
	for (size_t i = 0; i < n; i++)
		buf_addf(&out, "%s%s %zu %zu", i ? ", " : "", privacy_label_name(found[i].label),
			found[i].start, found[i].end);
	return out.p;
}

static const struct {
	const char *text, *found, *strict; /* strict NULL: the same as found */
} scans[] = {
	{ "", "", NULL }, { "nothing to see", "", NULL }, { "ann@corp.io", "EMAIL 0 11", NULL },
	{ "<ann.b+c@mail.corp.io>", "EMAIL 1 21", NULL }, { "ann@corp.io.", "EMAIL 0 11", NULL },
	{ "ann@localhost x@y.z1 a@b_c.de @b.de a@.de", "", NULL },
	{ "icon@2x.png ann@example.com", "EMAIL 0 11, EMAIL 12 27", "" },
	{ "900101-1234567", "KOREAN_RRN 0 14", NULL },
	{ "901301-1234567 900132-1234567", "PHONE 0 14, PHONE 15 29", "" }, /* no day of any year */
	{ "4111 1111 1111 1111 ", "CREDIT_CARD 0 19", NULL },
	{ "4111111111111112", "", NULL }, /* the sum is wrong */
	{ "0000000000000000", "", NULL }, { "DE89 3704 0044 0532 0130 00", "IBAN 0 27", NULL },
	{ "DE88370400440532013000", "", NULL }, { "GB82WEST12345698765432", "IBAN 0 22", NULL },
	{ "+82 10-1234-5678", "PHONE 0 16", NULL }, { "(02) 555-1234", "PHONE 0 13", NULL },
	{ "3.4567890 0.123.4567 1.2.3.4567890", "", NULL }, /* fractions and versions */
	{ "415.555.2671 555.1234 1.415.555.2671", "PHONE 0 12, PHONE 13 21, PHONE 22 36", "" },
	{ "tel 5551234", "PHONE 4 11", "" }, { "5551234 12345678", "", NULL },
	{ "order 20260701-0001, 1999-2004", "", NULL }, { "1000 2000 3000 4001", "", NULL },
	{ "010 1234 5678", "PHONE 0 13", "" }, { "DB_PASSWORD=x", "SECRET 0 13", "" },
	{ "password = \"hunter2hunter\"", "SECRET 0 25", NULL },
	{ "password = read_password()", "SECRET 0 26", "" }, { "token: string", "SECRET 0 13", "" },
	{ "sk_X509V3_EXT_METHOD_new_null", "SECRET 0 29", "" },
	{ "ghp_a1b2c3d4e5f6a7b8c9d0", "SECRET 0 24", NULL },
	{ "api_key=your-key-here-1a2b3c4d5e6f7a8b", "SECRET 0 38", "" },
	{ "https://ann:secret1word@host/", "SECRET 8 23", "" },
	{ "-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----\n", "SECRET 0 58", NULL },
	{ "-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----\n", "SECRET 0 58", "" },
	{ "mark = \"-----BEGIN OPENSSH PRIVATE KEY-----\"\nx = 1\n", "SECRET 8 51", "" },
	{ "-----BEGIN RSA PRIVATE KEY-----\\nMIIEpA\\n", "SECRET 0 41", NULL },
	{ "5F44 6473 7798 4071", "CREDIT_CARD 2 19", "" }, /* codes, and no letter touches a card */
	{ "password=ann@corp.io", "SECRET 0 20", "EMAIL 9 20" }, /* the earlier counts */
};

static void everything_is_found_where_it_stands(void **state)
{
	AUTO(arena_done) struct arena a = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(scans); i++) {
		struct privacy_options options = { privacy_default_labels(), false };
		assert_string_equal(found_in(&a, scans[i].text, &options), scans[i].found);
		options.is_strict = true;
		assert_string_equal(found_in(&a, scans[i].text, &options),
			scans[i].strict ? scans[i].strict : scans[i].found);
	}
}

static void only_wanted_kinds_are_found(void **state)
{
	AUTO(arena_done) struct arena a = { 0 };
	const char *text = "ann@corp.io 8.8.8.8 127.0.0.1 1.2.3.4.5 00:1a:2b:3c:4d:5e 256.1.1.1";
	const struct privacy_options network = { 1u << PRIVACY_IP_ADDRESS | 1u << PRIVACY_MAC_ADDRESS,
		false };
	const struct privacy_options usual = { privacy_default_labels(), false };
	enum privacy_label label;

	(void)state;
	assert_string_equal(found_in(&a, text, &network), "IP_ADDRESS 12 19, MAC_ADDRESS 40 57");
	assert_string_equal(found_in(&a, text, &usual), "EMAIL 0 11");
	assert_true(privacy_label_parse("email", 5, &label) && label == PRIVACY_EMAIL);
	assert_false(privacy_label_parse("emails", 6, &label));
}

/* ---- tokens ---- */

static const char *tokenized(struct arena *a, const char *text, struct json *scope)
{
	const struct privacy_options options = { privacy_default_labels(), false };

	return json_get_text(privacy_tokenize(a, text, strlen(text), &options, scope, true), "text", "?");
}

static const char *restored(struct arena *a, const char *text, const struct json *scope)
{
	return json_get_text(privacy_restore(a, text, strlen(text), scope), "text", "?");
}

static void tokens_turn_back(void **state)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct json *scope = json_new(&a, JSON_OBJECT);

	(void)state;
	assert_string_equal(tokenized(&a, "b@x.io, c@x.io, b@x.io", scope),
		"<PRIVATE_EMAIL_1>, <PRIVATE_EMAIL_2>, <PRIVATE_EMAIL_1>");
	assert_string_equal(tokenized(&a, "d@x.io password=x token=y", scope),
		"<PRIVATE_EMAIL_3> <SECRET_REDACTED_1> <SECRET_REDACTED_2>");
	assert_string_equal(restored(&a, "to <PRIVATE_EMAIL_2> and <PRIVATE_EMAIL_9>", scope),
		"to c@x.io and <PRIVATE_EMAIL_9>");
	/* What looked like a token before comes back as it was. */
	const char *odd = "<PRIVATE_EMAIL_1> <\\PRIVATE_EMAIL_1> <SECRET_REDACTED_1> <b> b@x.io";
	assert_string_equal(restored(&a, tokenized(&a, odd, scope), scope), odd);
	/* The digest in a damaged or foreign scope may belong to something else: the value decides. */
	json_sets(&a, json_get(scope, "tokens"), "<PRIVATE_EMAIL_1>", "other@x.io");
	assert_string_equal(tokenized(&a, "b@x.io", scope), "<PRIVATE_EMAIL_4>");
}

/* What belongs to people goes, a place on a machine stays. */
static void people_are_redacted(void **state)
{
	static const struct {
		const char *in, *out;
	} people[] = {
		{ "mail anna.meier@firma.example now", "mail " REDACTED " now" },
		{ "anna@firma.example", REDACTED },
		{ "anna@firma.example, bert@firma.example", REDACTED ", " REDACTED },
		{ "to anna@firma.example: hello", "to " REDACTED ": hello" },
		{ "call +49 170 1234567", "call " REDACTED },
		{ "DE89370400440532013000", REDACTED },
		{ "git push git@github.com:org/repo.git", "git push git@github.com:org/repo.git" },
		{ "ssh://git@github.com/org/repo", "ssh://git@github.com/org/repo" },
		{ "git status --short", "git status --short" },
		{ "", "" },
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(people); i++) {
		AUTO(arena_done) struct arena a = { 0 };
		struct json *doc = json_new(&a, JSON_OBJECT), *list = json_new(&a, JSON_ARRAY);
		json_pushs(&a, list, people[i].in);
		json_set(&a, doc, "x", list);
		privacy_redact_people(&a, doc);
		assert_string_equal(json_text(json_at(json_get(doc, "x"), 0)), people[i].out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_shapes), cmocka_unit_test(test_json),
		cmocka_unit_test(everything_is_found_where_it_stands),
		cmocka_unit_test(only_wanted_kinds_are_found), cmocka_unit_test(tokens_turn_back),
		cmocka_unit_test(people_are_redacted) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
