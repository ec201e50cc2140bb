/* text_when_test.c — the one grammar of times and spans that people type. */
#include "base/text.h"
#include "tools/unit.h"

#include <stdlib.h>
#include <time.h>

#define S INT64_C(1000000)
#define NOW (INT64_C(1763391600) * S) /* 2025-11-17T15:00:00Z, a Monday */

static int setup(void **state)
{
	*state = calloc(1, sizeof(struct arena));
	/* The rules themselves: not every machine has a table of zones. */
	setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
	tzset();
	return *state ? 0 : -1;
}

static int teardown(void **state)
{
	arena_done(*state);
	free(*state);
	return 0;
}

static void test_spans(void **state)
{
	static const struct {
		const char *text;
		int64_t seconds;
	} good[] = { { "45s", 45 }, { "90m", 5400 }, { "36h", 129600 }, { "2d", 172800 }, { "1w", 604800 },
		{ "1000000s", 1000000 } };
	static const char *const bad[] = { "", "2", "d", "0d", "-2d", "2.5d", " 2d", "2 d", "2d ", "2days",
		"1000001s", "99999999999999999999d", "2D", "+2d" };
	int64_t us;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		us = 0;
		assert_true(text_span(good[i].text, &us));
		assert_int_equal(us, good[i].seconds * S);
	}
	us = 7;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (text_span(bad[i], &us) || us != 7)
			fail_msg("'%s' was taken for a span", bad[i]);
}

static void test_times(void **state)
{
	static const struct {
		const char *text, *from, *to; /* to NULL: the same moment */
	} good[] = {
		{ "2d", "2025-11-15T15:00:00+00:00", NULL },
		{ "90m", "2025-11-17T13:30:00+00:00", NULL },
		{ "today", "2025-11-16T23:00:00+00:00", "2025-11-17T23:00:00+00:00" },
		{ "yesterday", "2025-11-15T23:00:00+00:00", "2025-11-16T23:00:00+00:00" },
		{ "2026-05-01", "2026-04-30T22:00:00+00:00", "2026-05-01T22:00:00+00:00" },
		{ "2026-03-29", "2026-03-28T23:00:00+00:00",
			"2026-03-29T22:00:00+00:00" }, /* 23 hours long */
		{ "2025-10-26", "2025-10-25T22:00:00+00:00", "2025-10-26T23:00:00+00:00" }, /* 25 */
		{ "2026-05-01 09:00", "2026-05-01T07:00:00+00:00", NULL },
		{ "2026-05-01T09:00", "2026-05-01T07:00:00+00:00", NULL },
		{ "2026-01-01 09:00:30", "2026-01-01T08:00:30+00:00", NULL },
		{ "2026-05-01T09:00:00Z", "2026-05-01T09:00:00+00:00", NULL },
		{ "2026-05-01 09:00:00Z", "2026-05-01T09:00:00+00:00", NULL },
		{ "2026-05-01T09:00:00.25-03:00", "2026-05-01T12:00:00.250000+00:00", NULL },
		{ "20260501T090000Z", "2026-05-01T09:00:00+00:00", NULL },
	};
	static const char *const bad[] = { "", "soon", "14", "tomorrow", "Yesterday", "2026-02-30",
		"2026-5-1", "2026-05-01 9:00", "2026-05-01 25:00", "2026-05-01 09:00 ", "2026-05-01x",
		"2026-05-01 09", "09:00", "2026-05-01T", "20260501", "2026-05-01 09:00:00.5",
		"2026-05-01T09:00:00Z2026-05-01T09:00:00Z2026-05-01T09:00:00Z2026-05-01T09:00:00Z" };
	struct text_when when;

	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		assert_true(text_when(good[i].text, NOW, &when));
		assert_string_equal(text_time_iso(*state, when.from_us), good[i].from);
		assert_string_equal(
			text_time_iso(*state, when.to_us), good[i].to ? good[i].to : good[i].from);
	}
	when = (struct text_when){ 7, 7 };
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (text_when(bad[i], NOW, &when) || when.from_us != 7 || when.to_us != 7)
			fail_msg("'%s' was taken for a time", bad[i]);
}

/* What an error offers is taken. */
static void test_forms(void **state)
{
	struct text_when w;
	int64_t us;

	for (int is_span = 0; is_span < 2; is_span++) {
		const char *text = is_span ? TEXT_SPAN_FORMS : TEXT_WHEN_FORMS;
		while (text) {
			const char *comma = strstr(text, ", "), *last = strstr(text, " or ");
			const char *end = comma && (!last || comma < last) ? comma : last;
			char *one = arena_strndup(*state, text, end ? (size_t)(end - text) : strlen(text));
			assert_true(is_span ? text_span(one, &us) : text_when(one, NOW, &w));
			text = end ? end + (end == comma ? 2 : 4) : NULL;
		}
	}
}

static void test_words(void **state)
{
	assert_string_equal(text_when_words(*state, NOW), "2025-11-17 16:00 CET");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_spans, setup, teardown),
		cmocka_unit_test_setup_teardown(test_times, setup, teardown),
		cmocka_unit_test_setup_teardown(test_forms, setup, teardown),
		cmocka_unit_test_setup_teardown(test_words, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
