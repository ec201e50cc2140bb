/* failure_said_test.c — what a command said, in few characters: equal but for what a clock, a stopwatch or a temporary name changes. */
#include "base/text.h"
#include "remember/failure.h"
#include "tools/unit.h"

static const char *said(struct arena *a, const char *out, const char *err)
{
	return failure_said(a, bytes_of(out), bytes_of(err));
}

static void same(struct arena *a, const char *one, const char *other)
{
	assert_string_equal(said(a, one, ""), said(a, other, ""));
	assert_string_equal(said(a, "", one), said(a, "", other));
}

static void times_and_names_do_not_matter(void **state)
{
	AUTO(arena_done) struct arena a = { 0 };

	(void)state;
	same(&a, "Ran 5 tests in 0.031s", "Ran 5 tests in 12.4s");
	same(&a, "took 35 ms", "took 1200 ms");
	same(&a, "at 12:40:05", "at 23:59:59");
	same(&a, "2026-01-02T03:04:05Z failed", "2027-11-12T13:14:15Z failed");
	same(&a, "pid 12345 died", "pid 54321 died");
	same(&a, "cannot open /tmp/build-8f3e2a/x", "cannot open /tmp/build-77aa10/x");
}

static void counts_do(void **state)
{
	AUTO(arena_done) struct arena a = { 0 };

	(void)state;
	assert_true(!text_eq(said(&a, "5 failed", ""), said(&a, "4 failed", "")));
	assert_true(!text_eq(said(&a, "12 of 150 are settled", ""), said(&a, "13 of 150 are settled", "")));
	assert_true(!text_eq(said(&a, "a", "b"), said(&a, "b", "a")));
	assert_true(!text_eq(said(&a, "line 7: error", ""), said(&a, "line 9: error", "")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times_and_names_do_not_matter),
		cmocka_unit_test(counts_do),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
