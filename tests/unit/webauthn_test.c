/* webauthn_test.c — keys in browsers: what was signed, by that key, for that page, by a person who was there; and what is no such thing. */
#include "tools/passkey.h"
#include "tools/unit.h"

static struct arena a;
static struct err e;
static uint32_t counter;
static const struct authenticator_says good = { .type = "webauthn.get",
	.origin = "http://localhost:7714",
	.rp_id = "localhost",
	.challenge = { 1, 2, 3 },
	.flags = 0x05,
	.counter = 7 };
static const struct webauthn_wanted wanted = {
	.origin = "http://localhost:7714", .rp_id = "localhost", .challenge = { 1, 2, 3 }
};

static int done(void **state)
{
	(void)state;
	arena_done(&a);
	return 0;
}

static struct webauthn_key key_of(uint8_t n)
{
	struct webauthn_key key = { .algorithm = WEBAUTHN_ED25519 };
	uint8_t secret[SIGN_SECRET];

	passkey_secret(n, secret, key.x);
	return key;
}

static const char *check(
	const struct webauthn_signed *given, const struct webauthn_key *key, webauthn_es256 *es256)
{
	e = (struct err){ 0 };
	counter = 0;
	return webauthn_check(&a, &wanted, key, given, es256, &counter, &e) ? e.code : "OK";
}

static const char *says(struct authenticator_says s)
{
	const struct webauthn_key key = key_of(7);
	const struct webauthn_signed given = passkey_sign(&a, 7, &s);

	return check(&given, &key, NULL);
}

static void a_signature_holds(void **state)
{
	struct authenticator_says s = good;

	(void)state;
	assert_string_equal(says(s), "OK");
	assert_int_equal(counter, 7);
	s.flags = 0x1D; /* it is kept in two places */
	assert_string_equal(says(s), "OK");
	s.more = ",\"crossOrigin\":false";
	assert_string_equal(says(s), "OK");
	s.flags |= 0x80;
	s.tail = "\xa1\x61k\xf5";
	s.tail_n = 4;
	assert_string_equal(says(s), "OK");
}

/* Each is signed rightly: what is wrong is what it says. */
static void each_part_is_meant(void **state)
{
	struct authenticator_says s;
	const struct {
		const char *code;
		struct authenticator_says s;
	} cases[] = {
		{ "WEBAUTHN_TYPE", (s = good, s.type = "webauthn.create", s) },
		{ "WEBAUTHN_TYPE", (s = good, s.type = "payment.get", s) },
		{ "WEBAUTHN_CHALLENGE", (s = good, s.challenge[31] = 1, s) },
		{ "WEBAUTHN_ORIGIN", (s = good, s.origin = "http://localhost:3000", s) },
		{ "WEBAUTHN_ORIGIN", (s = good, s.origin = "https://localhost:7714", s) },
		{ "WEBAUTHN_ORIGIN", (s = good, s.more = ",\"crossOrigin\":true", s) },
		{ "WEBAUTHN_ORIGIN", (s = good, s.more = ",\"topOrigin\":\"https://evil.example\"", s) },
		{ "WEBAUTHN_FORMAT", (s = good, s.more = ",\"type\":\"webauthn.get\"", s) },
		{ "WEBAUTHN_RP", (s = good, s.rp_id = "evil.example", s) },
		{ "WEBAUTHN_PRESENCE", (s = good, s.flags = 0x04, s) },
		{ "WEBAUTHN_PRESENCE", (s = good, s.flags = 0x01, s) },
		{ "WEBAUTHN_FORMAT", (s = good, s.flags = 0x07, s) },
		{ "WEBAUTHN_FORMAT", (s = good, s.flags = 0x25, s) },
		{ "WEBAUTHN_FORMAT", (s = good, s.flags = 0x15, s) },
		{ "WEBAUTHN_FORMAT", (s = good, s.flags = 0x45, s) },
		{ "WEBAUTHN_FORMAT", (s = good, s.tail = "x", s.tail_n = 1, s) },
		{ "WEBAUTHN_FORMAT", (s = good, s.flags = 0x85, s) },
		{ "WEBAUTHN_FORMAT", (s = good, s.flags = 0x85, s.tail = "\x01", s.tail_n = 1, s) },
		{ "WEBAUTHN_FORMAT", (s = good, s.flags = 0x85, s.tail = "\xa0x", s.tail_n = 2, s) },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_string_equal(says(cases[i].s), cases[i].code);
}

static bool always(const struct webauthn_key *key, struct bytes message, struct bytes der)
{
	return key->y[0] == 9 && message.n == 37 + SHA256_SIZE && bytes_is(der, "der");
}

static void only_that_key(void **state)
{
	struct webauthn_signed given = passkey_sign(&a, 7, &good);
	struct webauthn_key other = key_of(8), mine = key_of(7);
	struct webauthn_key es = { .algorithm = WEBAUTHN_ES256, .y = { 9 } };
	uint8_t bytes[SIGN_SIZE];

	(void)state;
	assert_string_equal(check(&given, &other, NULL), "WEBAUTHN_INVALID");
	for (size_t i = 0; i < SIGN_SIZE; i++) {
		memcpy(bytes, given.signature.p, SIGN_SIZE);
		bytes[i] ^= 1;
		const struct webauthn_signed wrong = { given.client_data, given.authenticator_data,
			{ bytes, SIGN_SIZE } };
		assert_string_equal(check(&wrong, &mine, NULL), "WEBAUTHN_INVALID");
	}
	given.signature.n--;
	assert_string_equal(check(&given, &mine, NULL), "WEBAUTHN_INVALID");
	given.signature = BYTES_LITERAL("der");
	assert_string_equal(check(&given, &es, NULL), "WEBAUTHN_KEY");
	assert_string_equal(check(&given, &es, always), "OK");
	assert_string_equal(check(&given, &mine, always), "WEBAUTHN_INVALID");
}

/* ---- registering ---- */

static const char cose_ed[] = "\xa4\x01\x01\x03\x27\x20\x06\x21\x58\x20";
static const char cose_es[] = "\xa5\x01\x02\x03\x26\x20\x01\x21\x58\x20";

/* aaguid, the name of the key, the key. */
static struct bytes attested(uint8_t n, bool is_es, size_t id_n)
{
	struct webauthn_key key = key_of(n);
	struct buf b;

	buf_init(&b, &a);
	for (int i = 0; i < 16; i++)
		buf_addc(&b, 0);
	buf_addc(&b, (char)(id_n >> 8));
	buf_addc(&b, (char)id_n);
	for (size_t i = 0; i < id_n; i++)
		buf_addc(&b, 'c');
	if (is_es)
		buf_add(&b, cose_es, sizeof(cose_es) - 1);
	else
		buf_add(&b, cose_ed, sizeof(cose_ed) - 1);
	buf_add(&b, key.x, 32);
	if (is_es) {
		buf_add(&b, "\x22\x58\x20", 3);
		buf_add(&b, key.x, 32);
	}
	return buf_bytes(&b);
}

static struct bytes object_of(const struct authenticator_says *s, const char *head, size_t head_n)
{
	struct bytes data = passkey_data(&a, s);
	struct buf b;

	buf_init(&b, &a);
	buf_add(&b, head, head_n);
	buf_addc(&b, 0x59);
	buf_addc(&b, (char)(data.n >> 8));
	buf_addc(&b, (char)data.n);
	buf_add(&b, data.p, data.n);
	return buf_bytes(&b);
}

static const char plain_head[] = "\xa3\x63"
				 "fmt"
				 "\x64"
				 "none"
				 "\x67"
				 "attStmt"
				 "\xa0\x68"
				 "authData";
static struct webauthn_made made;

static const char *registers(struct authenticator_says s, struct bytes tail, struct bytes *object)
{
	s.type = "webauthn.create";
	s.tail = (const char *)tail.p;
	s.tail_n = tail.n;
	struct bytes own = object_of(&s, plain_head, sizeof(plain_head) - 1);
	e = (struct err){ 0 };
	made = (struct webauthn_made){ 0 };
	return webauthn_register(&a, &wanted, passkey_client(&a, &s), object ? *object : own, &made, &e)
		? e.code
		: "OK";
}

static void keys_are_registered(void **state)
{
	struct authenticator_says s = good;
	struct webauthn_key key = key_of(3);

	(void)state;
	s.flags = 0x45;
	assert_string_equal(registers(s, attested(3, false, 200), NULL), "OK");
	assert_int_equal(made.key.algorithm, WEBAUTHN_ED25519);
	assert_memory_equal(made.key.x, key.x, 32);
	assert_int_equal(made.credential_id.n, 200);
	assert_string_equal(registers(s, attested(3, true, 200), NULL), "OK");
	assert_int_equal(made.key.algorithm, WEBAUTHN_ES256);
	assert_memory_equal(made.key.y, key.x, 32);
}

static void nothing_else_is(void **state)
{
	struct authenticator_says s = good;
	struct bytes tail = attested(3, false, 200), empty = { 0 };

	(void)state;
	s.flags = 0x45;
	for (size_t n = 0; n < tail.n; n++)
		assert_string_not_equal(registers(s, (struct bytes){ tail.p, n }, NULL), "OK");
	assert_string_equal(registers(s, attested(3, false, 1024), NULL), "WEBAUTHN_FORMAT");
	assert_string_equal(registers(s, attested(3, false, 0), NULL), "WEBAUTHN_FORMAT");
	assert_string_equal(registers(s, tail, &empty), "WEBAUTHN_FORMAT");
	s.flags = 0x05;
	assert_string_equal(registers(s, tail, NULL), "WEBAUTHN_FORMAT");
	s.flags = 0x41;
	assert_string_equal(registers(s, tail, NULL), "WEBAUTHN_PRESENCE");
	s.flags = 0x45;
	s.rp_id = "evil.example";
	assert_string_equal(registers(s, tail, NULL), "WEBAUTHN_RP");
	/* Another algorithm, curve or order of the key. */
	s = good;
	s.flags = 0x45;
	for (size_t i = 218; i < 218 + sizeof(cose_ed) - 1; i++) {
		uint8_t *bytes = arena_alloc(&a, tail.n);
		memcpy(bytes, tail.p, tail.n);
		bytes[i] ^= 2;
		assert_string_not_equal(registers(s, (struct bytes){ bytes, tail.n }, NULL), "OK");
	}
}

/* The object around it: what has two spellings, has no end, or is too deep. */
static void cbor_is_strict(void **state)
{
	static const struct {
		const char *head;
		size_t n;
	} heads[] = {
		{ "\xa2\x63"
		  "fmt"
		  "\x64"
		  "none"
		  "\x68"
		  "authData",
			19 },
		{ "\xbf\x63"
		  "fmt"
		  "\x64"
		  "none"
		  "\x67"
		  "attStmt"
		  "\xa0\x68"
		  "authData",
			28 },
		{ "\xa3\x78\x03"
		  "fmt"
		  "\x64"
		  "none"
		  "\x67"
		  "attStmt"
		  "\xa0\x68"
		  "authData",
			29 },
		{ "\xa3\x63"
		  "fmt"
		  "\x64"
		  "none"
		  "\x67"
		  "attStmt"
		  "\x81\x81\x81\x81\x81\x81\x81\x80\x68"
		  "authData",
			35 },
		{ "\xa3\x63"
		  "fmt"
		  "\x64"
		  "none"
		  "\x67"
		  "attStmt"
		  "\x9a\xff\xff\xff\xff\x68"
		  "authData",
			32 },
		{ "\xa3\x63"
		  "fmt"
		  "\x64"
		  "none"
		  "\x67"
		  "attStmt"
		  "\xc0\xa0\x68"
		  "authData",
			29 },
	};
	struct authenticator_says s = good;
	struct bytes tail = attested(3, false, 200);

	(void)state;
	s.flags = 0x45;
	s.type = "webauthn.create";
	s.tail = (const char *)tail.p;
	s.tail_n = tail.n;
	for (size_t i = 0; i < ARRAY_SIZE(heads); i++) {
		struct bytes object = object_of(&s, heads[i].head, heads[i].n);
		assert_string_equal(registers(s, tail, &object), "WEBAUTHN_FORMAT");
	}
	struct bytes whole = object_of(&s, plain_head, sizeof(plain_head) - 1);
	for (size_t n = 0; n < whole.n; n++) {
		struct bytes cut = { whole.p, n };
		assert_string_equal(registers(s, tail, &cut), "WEBAUTHN_FORMAT");
	}
	assert_string_equal(registers(s, tail, &whole), "OK");
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(a_signature_holds),
		cmocka_unit_test(each_part_is_meant), cmocka_unit_test(only_that_key),
		cmocka_unit_test(keys_are_registered), cmocka_unit_test(nothing_else_is),
		cmocka_unit_test(cbor_is_strict) };

	return cmocka_run_group_tests(tests, NULL, done);
}
