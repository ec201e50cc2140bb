/* mldsa_test.c — one signature has one encoding: every other way to write a good ML-DSA-65 signature is refused. */
#include "base/hash.h"
#include "base/json.h"
#include "proof/mldsa.h"
#include "proof/preimage.h"
#include "tools/cases.h"
#include "tools/unit.h"

enum { CHALLENGE = 48, Z = CHALLENGE, HINTS = CHALLENGE + 5 * 640, OMEGA = 55, ROWS = 6 };

static struct arena a;
static uint8_t pub[MLDSA_PUBLIC], good[MLDSA_SIGNATURE], sig[MLDSA_SIGNATURE];
static struct bytes message;

static int begin(void **state)
{
	struct json *doc;
	const char *hex;

	(void)state;
	assert_int_equal(json_parse(&a, cases_read(&a, "tests/cases/records/hybrid/valid.json"), "valid.json",
				 NULL, &doc, NULL),
		OK);
	assert_int_equal(receipt_preimage_v5(&a, json_get(doc, "receipt"), &message, NULL), OK);
	hex = json_get_text(doc, "mldsa65_public_key", "");
	assert_true(hex_decode(hex, strlen(hex), pub, sizeof(pub), true));
	/* "hybrid:", the other signature, ":" */
	hex = json_get_text(json_get(doc, "receipt"), "signature", "") + 7 + 128 + 1;
	assert_true(hex_decode(hex, strlen(hex), good, sizeof(good), true));
	return 0;
}

static int done(void **state)
{
	(void)state;
	arena_done(&a);
	return 0;
}

static bool verifies(void)
{
	return mldsa_verify(pub, message, sig);
}

static int fresh(void **state)
{
	(void)state;
	memcpy(sig, good, sizeof(sig));
	assert_true(verifies());
	return 0;
}

/* The first place in the list of hints where a row has two of them. */
static size_t pair_of_hints(void)
{
	size_t from = 0;

	for (size_t row = 0; row < ROWS; from = sig[HINTS + OMEGA + row++])
		if (sig[HINTS + OMEGA + row] >= from + 2)
			return HINTS + from;
	fail_msg("no row of the vector has two hints");
	return 0;
}

/* The same set of hints, so the same signature for a reader that does not look. */
static void hints_in_another_order_are_refused(void **state)
{
	size_t at = pair_of_hints();
	uint8_t first = sig[at];

	(void)state;
	sig[at] = sig[at + 1];
	sig[at + 1] = first;
	assert_false(verifies());
}

static void a_hint_given_twice_is_refused(void **state)
{
	size_t at = pair_of_hints();

	(void)state;
	sig[at + 1] = sig[at];
	assert_false(verifies());
}

static void counts_of_hints_only_grow(void **state)
{
	(void)state;
	sig[HINTS + OMEGA + 1] = 0;
	assert_true(sig[HINTS + OMEGA] > 0);
	assert_false(verifies());
}

static void more_hints_than_there_is_room_for_are_refused(void **state)
{
	(void)state;
	sig[HINTS + OMEGA + ROWS - 1] = OMEGA + 1;
	assert_false(verifies());
	sig[HINTS + OMEGA + ROWS - 1] = 0xff;
	assert_false(verifies());
}

static void unused_room_for_hints_is_zero(void **state)
{
	(void)state;
	assert_true(sig[HINTS + OMEGA + ROWS - 1] < OMEGA);
	sig[HINTS + OMEGA - 1] = 1;
	assert_false(verifies());
}

/* The response is short; both ends of the range are looked at. */
static void a_response_that_is_too_long_is_refused(void **state)
{
	(void)state;
	sig[Z] = sig[Z + 1] = 0;
	sig[Z + 2] &= 0xf0;
	assert_false(verifies());
	memcpy(sig, good, sizeof(sig));
	sig[Z] = sig[Z + 1] = 0xff;
	sig[Z + 2] |= 0x0f;
	assert_false(verifies());
}

static void every_part_counts(void **state)
{
	(void)state;
	for (size_t at = 0; at < sizeof(sig); at += 97) {
		sig[at] ^= 1;
		if (verifies())
			fail_msg("byte %zu can be changed unnoticed", at);
		sig[at] ^= 1;
	}
	pub[0] ^= 1;
	assert_false(verifies());
	pub[0] ^= 1;
	assert_true(verifies());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(hints_in_another_order_are_refused, fresh),
		cmocka_unit_test_setup(a_hint_given_twice_is_refused, fresh),
		cmocka_unit_test_setup(counts_of_hints_only_grow, fresh),
		cmocka_unit_test_setup(more_hints_than_there_is_room_for_are_refused, fresh),
		cmocka_unit_test_setup(unused_room_for_hints_is_zero, fresh),
		cmocka_unit_test_setup(a_response_that_is_too_long_is_refused, fresh),
		cmocka_unit_test_setup(every_part_counts, fresh),
	};
	return cmocka_run_group_tests_name("mldsa", tests, begin, done);
}
