/* hash_test.c — SHA-256 against FIPS 180-4 examples, hex and base64 against RFC 4648, and what must be refused. */
#include "base/hash.h"
#include "base/text.h"
#include "tools/unit.h"

#include <stdio.h>

static void digests(void **state)
{
	(void)state;
	static const struct {
		const char *text, *hex;
	} cases[] = {
		{ "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
		{ "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
		{ "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
			"248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" },
	};
	AUTO(arena_done) struct arena a = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_string_equal(sha256_hex(&a, cases[i].text, strlen(cases[i].text)), cases[i].hex);
		const char *prefixed = sha256_prefixed(&a, cases[i].text, strlen(cases[i].text));
		assert_memory_equal(prefixed, "sha256:", 7);
		assert_string_equal(prefixed + 7, cases[i].hex);
	}
}

static void streaming(void **state)
{
	(void)state;
	uint8_t text[1000], whole[SHA256_SIZE], parts[SHA256_SIZE], fork[SHA256_SIZE];

	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = (uint8_t)(i * 7);
	sha256(text, sizeof(text), whole);
	for (size_t step = 1; step < 200; step += 13) {
		struct sha256 h, copy;
		sha256_begin(&h);
		for (size_t at = 0; at < sizeof(text); at += step)
			sha256_add(&h, text + at, at + step > sizeof(text) ? sizeof(text) - at : step);
		copy = h;
		sha256_end(&h, parts);
		sha256_end(&copy, fork);
		assert_memory_equal(parts, whole, sizeof(whole));
		assert_memory_equal(fork, whole, sizeof(whole));
	}
}

static void hex(void **state)
{
	(void)state;
	uint8_t bytes[4] = { 0, 0x9f, 0xa0, 0xff }, back[4] = { 1, 2, 3, 4 };
	char text[9];

	hex_encode(bytes, sizeof(bytes), text);
	assert_string_equal(text, "009fa0ff");
	assert_true(hex_decode(text, 8, back, 4, true));
	assert_memory_equal(back, bytes, 4);
	assert_true(hex_decode("009FA0ff", 8, back, 4, false));

	memset(back, 7, sizeof(back));
	assert_false(hex_decode("009FA0ff", 8, back, 4, true));
	assert_false(hex_decode("009fa0f", 7, back, 4, false));
	assert_false(hex_decode("009fa0ff0", 9, back, 4, false));
	assert_false(hex_decode("009fa0fg", 8, back, 4, false));
	assert_false(hex_decode(" 09fa0ff", 8, back, 4, false));
	assert_int_equal(back[3], 7);
	assert_true(hex_decode("", 0, back, 0, true));
}

static const struct {
	const char *text, *padded, *bare;
} base64_cases[] = {
	{ "", "", "" },
	{ "f", "Zg==", "Zg" },
	{ "fo", "Zm8=", "Zm8" },
	{ "foo", "Zm9v", "Zm9v" },
	{ "foob", "Zm9vYg==", "Zm9vYg" },
	{ "fooba", "Zm9vYmE=", "Zm9vYmE" },
	{ "foobar", "Zm9vYmFy", "Zm9vYmFy" },
};

static void base64(void **state)
{
	(void)state;
	AUTO(arena_done) struct arena a = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(base64_cases); i++) {
		struct bytes text = bytes_of(base64_cases[i].text), back;
		const char *padded = base64_cases[i].padded, *bare = base64_cases[i].bare;
		assert_string_equal(base64_encode(&a, text.p, text.n, BASE64_STD, true), padded);
		assert_string_equal(base64_encode(&a, text.p, text.n, BASE64_URL, false), bare);
		assert_true(base64_decode(&a, padded, strlen(padded), BASE64_STD, true, &back));
		assert_true(bytes_eq(back, text));
		assert_true(base64_decode(&a, bare, strlen(bare), BASE64_URL, false, &back));
		assert_true(bytes_eq(back, text));
	}
}

static void base64_alphabets(void **state)
{
	(void)state;
	AUTO(arena_done) struct arena a = { 0 };
	uint8_t all[256];
	struct bytes back;

	for (size_t i = 0; i < sizeof(all); i++)
		all[i] = (uint8_t)i;
	for (size_t n = 0; n <= sizeof(all); n++) {
		for (int form = 0; form < 4; form++) {
			enum base64_form alphabet = form & 1 ? BASE64_URL : BASE64_STD;
			bool padded = form & 2;
			char *text = base64_encode(&a, all, n, alphabet, padded);
			assert_true(base64_decode(&a, text, strlen(text), alphabet, padded, &back));
			assert_int_equal(back.n, n);
			assert_memory_equal(back.p, all, n);
		}
	}
	assert_string_equal(base64_encode(&a, (const uint8_t *)"\xfb\xff", 2, BASE64_STD, true), "+/8=");
	assert_string_equal(base64_encode(&a, (const uint8_t *)"\xfb\xff", 2, BASE64_URL, true), "-_8=");
}

static void base64_refused(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		enum base64_form form;
		bool padded;
	} cases[] = {
		{ "Zg", BASE64_STD, true }, /* padding missing */
		{ "Zg=", BASE64_STD, true },
		{ "Zg===", BASE64_STD, true },
		{ "Z===", BASE64_STD, true },
		{ "====", BASE64_STD, true },
		{ "=", BASE64_STD, true },
		{ "Zg==Zg==", BASE64_STD, true }, /* padding inside */
		{ "Zg==", BASE64_STD, false }, /* padding where none may be */
		{ "Zm9vY", BASE64_STD, false }, /* six bits left over */
		{ "Zh==", BASE64_STD, true }, /* slack bits not zero */
		{ "Zm9=", BASE64_STD, true },
		{ "Zh", BASE64_URL, false },
		{ "-_8=", BASE64_STD, true }, /* the other alphabet */
		{ "+/8=", BASE64_URL, true },
		{ "Zm9v\n", BASE64_STD, false }, /* white space */
		{ "Zm 9v", BASE64_STD, false },
		{ "Zm9\x80", BASE64_STD, true },
	};
	AUTO(arena_done) struct arena a = { 0 };
	struct bytes back = { NULL, 99 };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		if (base64_decode(
			    &a, cases[i].text, strlen(cases[i].text), cases[i].form, cases[i].padded, &back))
			fail_msg("accepted '%s'", cases[i].text);
		assert_int_equal(back.n, 99);
	}
	assert_false(base64_decode(&a, "Zm\0v", 4, BASE64_STD, true, &back));
}

#if defined(__x86_64__) && __GLIBC_PREREQ(2, 33)
extern uint32_t OPENSSL_ia32cap_P[] __attribute__((weak));

/* The same digest by each of the codes this processor can run: with none of its features told, with all but
 * the SHA instructions, and as it is.  And as it is means with the SHA instructions, where there are any. */
static void every_code(void **state)
{
	(void)state;
	static uint8_t data[4096 + 17];
	static const uint32_t masks[] = { 0, 0xffffffff & ~(1u << 29), 0xffffffff };
	uint8_t digest[ARRAY_SIZE(masks)][SHA256_SIZE];
	uint32_t was[3];
	char text[8192] = "";
	FILE *f = fopen("/proc/cpuinfo", "r");

	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * 7 + i / 256);
	memcpy(was, OPENSSL_ia32cap_P, sizeof(was));
	for (size_t i = 0; i < ARRAY_SIZE(masks); i++) {
		for (size_t j = 0; j < ARRAY_SIZE(was); j++)
			OPENSSL_ia32cap_P[j] = was[j] & masks[i];
		sha256(data, sizeof(data), digest[i]);
		assert_memory_equal(digest[i], digest[0], SHA256_SIZE);
	}
	assert_non_null(f);
	text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
	fclose(f);
	assert_int_equal((was[2] >> 29) & 1, strstr(text, " sha_ni") != NULL);
}
#else
static void every_code(void **state)
{
	(void)state;
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(digests),
		cmocka_unit_test(streaming),
		cmocka_unit_test(hex),
		cmocka_unit_test(base64),
		cmocka_unit_test(base64_alphabets),
		cmocka_unit_test(base64_refused),
		cmocka_unit_test(every_code),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
