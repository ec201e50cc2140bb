/* sdjwt_test.c — selective disclosure: what was signed, no more, no less. */
#include "base/hash.h"
#include "proof/sdjwt.h"
#include "tools/packs.h"
#include "tools/sdjwt_issue.h"
#include "tools/unit.h"

static struct scratch t;
static struct arena a;
static struct err e;
static struct key *key;
static char *issued;

static int setup(void **state)
{
	(void)state;
	scratch_open(&t);
	key = packs_key(&t);
	e = (struct err){ 0 };
	struct json *open = json_new(&a, JSON_OBJECT);
	json_sets(&a, open, "receipt_id", "r1");
	json_sets(&a, open, "verdict", "DENY");
	struct sdjwt_claim hidden[] = { { "salt-1", "prompt", json_string(&a, "hello") },
		{ "salt-2", "caf\xc3\xa9", json_number(&a, 2) } };
	assert_int_equal(sdjwt_issue(&a, open, "helm", hidden, 2, key, &issued, &e), OK);
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

static int check(const char *presentation, struct json **ret_claims)
{
	return sdjwt_verify(&a, bytes_of(presentation), key_public(key), ret_claims, &e);
}

static void refused(const char *presentation, const char *code)
{
	struct json *claims = NULL;

	if (check(presentation, &claims) == OK)
		fail_msg("accepted: %s", presentation);
	assert_string_equal(e.code, code);
	assert_null(claims);
}

static void shows_what_is_chosen(void **state)
{
	(void)state;
	static const char *const one[] = { "prompt" }, *const none[] = { "nothing" };
	struct json *claims;
	char *shown;

	assert_int_equal(check(issued, &claims), OK);
	assert_int_equal(claims->n, 4);
	assert_string_equal(json_get_text(claims, "prompt", ""), "hello");
	assert_null(json_get(claims, "iss"));
	assert_int_equal(sdjwt_present(&a, issued, one, 1, &shown, &e), OK);
	assert_int_equal(check(shown, &claims), OK);
	assert_int_equal(claims->n, 3);
	assert_null(json_get(claims, "caf\xc3\xa9"));
	assert_int_equal(sdjwt_present(&a, issued, none, 0, &shown, &e), OK);
	assert_int_equal(check(shown, &claims), OK);
	assert_int_equal(claims->n, 2);
	assert_int_equal(sdjwt_present(&a, issued, none, 1, &shown, &e), E_MISSING);
}

/* The worked example of docs/formats/sd-jwt.md, made elsewhere. */
static void published_example(void **state)
{
	(void)state;
	static const char example[] =
		"eyJhbGciOiJFZERTQSIsInR5cCI6InNkK2p3dCJ9."
		"eyJfc2QiOlsiVEk1MlZuOEpTNVB5X3lRVzJrMjdvUjVSRm03V2VQU2FTZUR5elNTUHV5OCJd"
		"LCJfc2RfYWxnIjoic2hhLTI1NiIsImlzcyI6ImhlbG0iLCJyZWNlaXB0X2lkIjoicjEiLCJ2ZXJkaWN0IjoiREVOWSJ9"
		".AFFWO-XLZ-_QtPtZJ3fW"
		"RH-Ajg4p8801dT-Q7Brjd83oMMliP3P5Bf9P5jWozfn3xV9VKJoPsOkqguUnEL1kDQ~"
		"WyJzYWx0LTEiLCJwcm9tcHQiLCJoZWxsbyJd~";
	struct sdjwt_claim claim = { "salt-1", "prompt", json_string(&a, "hello") };
	struct json *claims;

	assert_string_equal(sdjwt_disclosure(&a, &claim), "WyJzYWx0LTEiLCJwcm9tcHQiLCJoZWxsbyJd");
	assert_string_equal(sdjwt_digest(&a, "WyJzYWx0LTEiLCJwcm9tcHQiLCJoZWxsbyJd"),
		"TI52Vn8JS5Py_yQW2k27oR5RFm7WePSaSeDyzSSPuy8");
	assert_int_equal(check(example, &claims), OK);
	assert_string_equal(json_get_text(claims, "prompt", ""), "hello");
}

static void forms_refused(void **state)
{
	(void)state;
	char *cut = arena_strdup(&a, issued), *body = strchr(issued, '.');

	cut[strlen(cut) - 1] = 0;
	refused(cut, "SDJWT_FORM");
	refused("", "SDJWT_FORM");
	refused("~", "SDJWT_FORM");
	refused("a.b~", "SDJWT_FORM");
	refused("a.b.c.d~", "SDJWT_FORM");
	refused(arena_printf(&a, "%s%s", "e30", body), "SDJWT_ALGORITHM");
	/* {"alg":"none","typ":"sd+jwt"} */
	refused(arena_printf(&a, "%s%s", "eyJhbGciOiJub25lIiwidHlwIjoic2Qrand0In0", body), "SDJWT_ALGORITHM");
	refused(arena_printf(&a, "%s~", issued), "SDJWT_FORM"); /* an empty disclosure */
	refused(arena_printf(&a, "%sWyJzIiwieCIsMV0~", issued), "SDJWT_DISCLOSURE");
	refused(arena_printf(&a, "%s%s", issued, strchr(issued, '~') + 1), "SDJWT_DISCLOSURE");
}

static void every_bit_counts(void **state)
{
	(void)state;
	char *copy = arena_strdup(&a, issued);
	size_t n = strlen(copy);

	for (size_t bit = 0; bit < n * 8; bit++) {
		AUTO(arena_done) struct arena scratch = { 0 };
		struct json *claims;
		copy[bit / 8] = (char)(copy[bit / 8] ^ 1 << bit % 8);
		if (sdjwt_verify(&scratch, (struct bytes){ (uint8_t *)copy, n }, key_public(key), &claims,
			    NULL) == OK)
			fail_msg("bit %zu can be changed unnoticed", bit);
		copy[bit / 8] = (char)(copy[bit / 8] ^ 1 << bit % 8);
	}
}

static void issuing_refuses(void **state)
{
	(void)state;
	struct json *open = json_new(&a, JSON_OBJECT);
	char *out = NULL;

	json_sets(&a, open, "verdict", "DENY");
	struct sdjwt_claim over[] = { { "s", "verdict", json_string(&a, "ALLOW") } };
	struct sdjwt_claim own[] = { { "s", "_sd", json_string(&a, "x") } };
	struct sdjwt_claim twice[] = { { "s", "x", json_number(&a, 1) }, { "t", "x", json_number(&a, 2) } };
	assert_int_equal(sdjwt_issue(&a, open, "helm", over, 1, key, &out, &e), E_INPUT);
	assert_int_equal(sdjwt_issue(&a, open, "helm", own, 1, key, &out, &e), E_INPUT);
	assert_int_equal(sdjwt_issue(&a, open, "helm", twice, 2, key, &out, &e), E_INPUT);
	assert_null(out);
}

static char *encode(const char *text)
{
	return base64_encode(&a, (const uint8_t *)text, strlen(text), BASE64_URL, false);
}

/* What an issuer who does not keep to the rules would sign. */
static char *signed_by_issuer(const char *header, const char *payload, const char *disclosures)
{
	char *message = arena_printf(&a, "%s.%s", encode(header), encode(payload));
	uint8_t sig[SIGN_SIZE];

	key_sign(key, bytes_of(message), sig);
	return arena_printf(
		&a, "%s.%s~%s", message, base64_encode(&a, sig, sizeof(sig), BASE64_URL, false), disclosures);
}

#define HEADER "{\"alg\":\"EdDSA\",\"typ\":\"sd+jwt\"}"

/* A good signature does not make up for a document that others would read differently. */
static void what_the_issuer_signed_is_still_looked_at(void **state)
{
	(void)state;
	struct json *claims;

	assert_int_equal(
		check(signed_by_issuer(HEADER, "{\"_sd_alg\":\"sha-256\",\"x\":1}", ""), &claims), OK);
	assert_int_equal(json_get_int(claims, "x", 0), 1);
	refused(signed_by_issuer("{\"alg\":\"EdDSA\",\"typ\":\"sd+jwt\",\"crit\":[\"x\"]}", "{}", ""),
		"SDJWT_FORM");
	refused(signed_by_issuer("{\"alg\":\"EdDSA\",\"typ\":\"jwt\"}", "{}", ""), "SDJWT_FORM");
	refused(signed_by_issuer(HEADER, "{", ""), "SDJWT_FORM");
	refused(signed_by_issuer(HEADER, "[]", ""), "SDJWT_FORM");
	refused(signed_by_issuer(HEADER, "{}", ""), "SDJWT_ALGORITHM");
	refused(signed_by_issuer(HEADER, "{\"_sd_alg\":\"sha-1\"}", ""), "SDJWT_ALGORITHM");
	refused(signed_by_issuer(HEADER, "{\"_sd_alg\":\"sha-256\",\"_sd\":{}}", ""), "SDJWT_FORM");
}

static const char *promising(const char *disclosure, const char *more)
{
	return arena_printf(&a, "{\"_sd_alg\":\"sha-256\",\"_sd\":[1,\"%s\"%s],\"x\":1}",
		sdjwt_digest(&a, disclosure), more);
}

/* The issuer promised these very bytes; they must still be one new claim. */
static void a_promised_disclosure_is_one_new_claim(void **state)
{
	(void)state;
	static const char *const wrong[] = { "{}", "[\"s\",\"y\"]", "[\"s\",\"y\",1,2]", "[1,\"y\",1]",
		"[\"s\",1,1]", "[\"s\",\"x\",1]", "[\"s\",\"_sd\",1]", "[\"s\",\"...\",1]" };
	const char *right = encode("[\"s\",\"y\",2]");
	struct json *claims;

	assert_int_equal(check(signed_by_issuer(HEADER, promising(right, ""), arena_printf(&a, "%s~", right)),
				 &claims),
		OK);
	assert_int_equal(json_get_int(claims, "y", 0), 2);
	/* promised twice is not promised once */
	refused(signed_by_issuer(HEADER,
			promising(right, arena_printf(&a, ",\"%s\"", sdjwt_digest(&a, right))),
			arena_printf(&a, "%s~", right)),
		"SDJWT_DISCLOSURE");
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		const char *text = encode(wrong[i]);
		refused(signed_by_issuer(HEADER, promising(text, ""), arena_printf(&a, "%s~", text)),
			"SDJWT_DISCLOSURE");
	}
	refused(signed_by_issuer(HEADER, promising("!", ""), "!~"), "SDJWT_FORM");
}

static void parts_may_not_be_empty(void **state)
{
	(void)state;
	refused(".b.c~", "SDJWT_FORM");
	refused("a..c~", "SDJWT_FORM");
	refused("a.b.~", "SDJWT_FORM");
	refused("!.b.c~", "SDJWT_FORM");
}

static void sizes_are_limited(void **state)
{
	(void)state;
	struct json *claims = NULL;
	struct bytes big = { arena_zalloc(&a, SDJWT_MAX_BYTES + 1, 1), SDJWT_MAX_BYTES + 1 };
	struct buf payload, shown;

	assert_int_equal(sdjwt_verify(&a, big, key_public(key), &claims, &e), E_LIMIT);
	buf_init(&payload, &a);
	buf_init(&shown, &a);
	buf_adds(&payload, "{\"_sd_alg\":\"sha-256\",\"_sd\":[");
	for (int i = 0; i <= SDJWT_MAX_DISCLOSURES; i++) {
		const char *text = encode(arena_printf(&a, "[\"s\",\"n%d\",1]", i));
		buf_addf(&shown, "%s~", text);
		if (i < SDJWT_MAX_DISCLOSURES)
			buf_addf(&payload, "%s\"%s\"", i ? "," : "", sdjwt_digest(&a, text));
	}
	refused(signed_by_issuer(HEADER, arena_printf(&a, "%s]}", payload.p), shown.p), "SDJWT_FORM");
	assert_non_null(strstr(e.text, "too many disclosures"));
	refused(signed_by_issuer(HEADER, arena_printf(&a, "%s,\"one more\"]}", payload.p), ""), "SDJWT_FORM");
	assert_non_null(strstr(e.text, "reasonable length"));
	assert_null(claims);
}

/* A key counts in its time here, too; what states no time is by no key that has one. */
static void windows_are_asked(void **state)
{
	static const char *const names[] = { "timestamp", "iat", "other" };
	struct trusted_key trusted = { .id = "" };
	struct trust trust = packs_trust(&trusted);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct json *open = json_new(&a, JSON_OBJECT);
		if (i == 0)
			json_sets(&a, open, names[i], "2026-03-02T00:00:00Z");
		else
			json_seti(&a, open, names[i], 1772409600); /* the same */
		assert_int_equal(sdjwt_issue(&a, open, "helm", NULL, 0, key, &issued, &e), OK);
		for (int from = 0; from < 3; from++) {
			static const char *const starts[] = { NULL, "2026-03-01T00:00:00Z",
				"2026-03-03T00:00:00Z" };
			struct verification v;
			trusted.not_before = starts[from];
			verification_begin(&v, &a, &trust, "record");
			verify_sdjwt(&v, bytes_of(issued));
			bool is_in = from == 0 || (from == 1 && i < 2);
			assert_int_equal(v.trusted, is_in ? ANSWER_YES : ANSWER_NO);
			if (!is_in)
				assert_string_equal(v.error, "key_window");
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(shows_what_is_chosen, setup, teardown),
		cmocka_unit_test_setup_teardown(published_example, setup, teardown),
		cmocka_unit_test_setup_teardown(forms_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(every_bit_counts, setup, teardown),
		cmocka_unit_test_setup_teardown(issuing_refuses, setup, teardown),
		cmocka_unit_test_setup_teardown(what_the_issuer_signed_is_still_looked_at, setup, teardown),
		cmocka_unit_test_setup_teardown(a_promised_disclosure_is_one_new_claim, setup, teardown),
		cmocka_unit_test_setup_teardown(parts_may_not_be_empty, setup, teardown),
		cmocka_unit_test_setup_teardown(sizes_are_limited, setup, teardown),
		cmocka_unit_test_setup_teardown(windows_are_asked, setup, teardown),
	};

	return cmocka_run_group_tests_name("sdjwt", tests, NULL, NULL);
}
