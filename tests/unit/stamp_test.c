/* stamp_test.c — timestamps before they enter a preimage. */
#include "proof/stamp.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void canonical_spelling(void **state)
{
	static const struct {
		const char *in, *kept, *utc;
	} cases[] = {
		{ "2026-04-13T12:00:00Z", "2026-04-13T12:00:00Z", "2026-04-13T12:00:00Z" },
		{ "2026-04-13T12:00:00.500Z", "2026-04-13T12:00:00.5Z", "2026-04-13T12:00:00.5Z" },
		{ "2026-04-13T12:00:00.000Z", "2026-04-13T12:00:00Z", "2026-04-13T12:00:00Z" },
		{ "2026-04-13T12:00:00.1234567891Z", "2026-04-13T12:00:00.123456789Z",
			"2026-04-13T12:00:00.123456789Z" },
		{ "2026-04-13T12:00:00+00:00", "2026-04-13T12:00:00Z", "2026-04-13T12:00:00Z" },
		{ "2026-01-01T01:30:00+02:00", "2026-01-01T01:30:00+02:00", "2025-12-31T23:30:00Z" },
		{ "2024-02-29T23:00:00-05:30", "2024-02-29T23:00:00-05:30", "2024-03-01T04:30:00Z" },
		{ "0001-01-01T00:00:00Z", STAMP_UNSET, STAMP_UNSET },
		{ "9999-12-31T23:59:59.999999999Z", "9999-12-31T23:59:59.999999999Z",
			"9999-12-31T23:59:59.999999999Z" },
	};
	AUTO(arena_done) struct arena a = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_string_equal(stamp_canonical(&a, cases[i].in, false), cases[i].kept);
		assert_string_equal(stamp_canonical(&a, cases[i].in, true), cases[i].utc);
	}
}

static void not_a_time(void **state)
{
	static const char *const bad[] = { "", "2026-04-13", "2026-02-29T00:00:00Z", "2026-13-01T00:00:00Z",
		"2026-00-01T00:00:00Z", "2026-04-31T00:00:00Z", "2026-04-13T24:00:00Z",
		"2026-04-13T12:60:00Z", "2026-04-13T12:00:60Z", "2026-04-13t12:00:00Z",
		"2026-04-13T12:00:00z", "2026-04-13T12:00:00", "2026-04-13T12:00:00.Z",
		"2026-04-13T12:00:00Z ", "2026-04-13T12:00:00+0200", "2026-04-13T12:00:00+24:00",
		"0000-01-01T00:00:00+00:01" };
	AUTO(arena_done) struct arena a = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_null(stamp_canonical(&a, bad[i], true));
	assert_null(stamp_canonical(&a, NULL, true));
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(canonical_spelling),
		cmocka_unit_test(not_a_time) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
