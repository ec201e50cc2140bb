/* text_test.c — buffers, UTF-8, integers, times, globs, nearest names. */
#include "base/text.h"
#include "tools/unit.h"

static int setup(void **state)
{
	struct arena *a = calloc(1, sizeof(*a));

	*state = a;
	return a ? 0 : -1;
}

static int teardown(void **state)
{
	arena_done(*state);
	free(*state);
	return 0;
}

static void test_buffer(void **state)
{
	struct buf b;

	buf_init(&b, *state);
	assert_string_equal(b.p, "");
	for (int i = 0; i < 1000; i++)
		buf_addf(&b, "%d,", i);
	buf_addc(&b, 'x');
	buf_adds(&b, "yz");
	buf_add(&b, "\0!", 2);
	buf_add(&b, NULL, 0);
	assert_int_equal(b.n, 3890 + 5);
	assert_memory_equal(b.p + b.n - 5, "xyz\0!", 6);
	buf_addf(&b, "%5000d", 7);
	assert_int_equal(b.p[b.n - 1], '7');
	assert_int_equal(b.p[b.n], '\0');
}

/* Every code point there and back; every surrogate and everything past the end refused. */
static void test_utf8_round_trip(void **state)
{
	char bytes[4];
	uint32_t cp;

	(void)state;
	for (uint32_t want = 0; want <= 0x10ffff; want++) {
		size_t n = text_encode(want, bytes);
		if (want >= 0xd800 && want <= 0xdfff) {
			assert_int_equal(text_decode(bytes, n, &cp), 0);
			continue;
		}
		assert_int_equal(text_decode(bytes, n, &cp), n);
		assert_int_equal(cp, want);
		for (size_t cut = 1; cut < n; cut++)
			assert_int_equal(text_decode(bytes, cut, &cp), 0);
	}
	assert_int_equal(text_decode("", 0, &cp), 0);
}

static void test_utf8_ill_formed(void **state)
{
	static const struct {
		const char *text;
		size_t valid;
	} rows[] = { { "abc", 3 }, { "\x80", 0 }, { "a\xc0\xaf", 1 }, { "\xc1\xbf", 0 },
		{ "\xe0\x9f\xbf", 0 }, { "\xf0\x8f\xbf\xbf", 0 }, { "\xf4\x90\x80\x80", 0 },
		{ "\xf5\x80\x80\x80", 0 }, { "\xed\xa0\x80", 0 }, { "\xed\x9f\xbf", 3 },
		{ "0123456789\xff", 10 }, { "\xc3\xa9\xc3", 2 }, { "\xe2\x82\xac 0123456\xe2\x82", 11 } };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(text_utf8_valid(rows[i].text, strlen(rows[i].text)), rows[i].valid);
}

static size_t width(const char *s)
{
	return text_width(s, strlen(s));
}

static void test_width(void **state)
{
	(void)state;
	assert_int_equal(width("abc"), 3);
	assert_int_equal(width("정책"), 4);
	assert_int_equal(width("e\u0301"), 1);
	assert_int_equal(width("a\tb\x7f"), 2);
	assert_int_equal(width("\xff"), 1);
}

static void test_safe(void **state)
{
	const char *text = "a\033[31mb\n\t\x7f\xc2\x85\u202e\xff정";

	assert_string_equal(text_safe(*state, text, strlen(text), false),
		"a\\x1B[31mb\\x0A\\x09\\x7F\\u{0085}\\u{202E}\\xFF정");
	assert_string_equal(text_safe(*state, "a\n\tb\r", 5, true), "a\n\tb\\x0D");
	assert_string_equal(text_safe(*state, "", 0, true), "");
}

static void test_quote(void **state)
{
	assert_string_equal(text_quote(*state, ""), "''");
	assert_string_equal(text_quote(*state, "a b"), "'a b'");
	assert_string_equal(text_quote(*state, "it's $HOME"), "'it'\\''s $HOME'");
}

static void test_int(void **state)
{
	int64_t v = 5;

	(void)state;
	assert_true(text_int("-9223372036854775808", &v) && v == INT64_MIN);
	assert_true(text_int("9223372036854775807", &v) && v == INT64_MAX);
	assert_true(text_int("0", &v) && v == 0);
	v = 5;
	static const char *const bad[] = { "", "-", "+1", " 1", "1 ", "1x", "0x10", "9223372036854775808",
		"-9223372036854775809", "1.0", "--1" };
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_false(text_int(bad[i], &v));
	assert_int_equal(v, 5);
}

static void test_cut(void **state)
{
	struct bytes rest = BYTES_LITERAL("a,,b");

	(void)state;
	assert_true(bytes_is(text_cut(&rest, ','), "a"));
	assert_true(bytes_is(text_cut(&rest, ','), ""));
	assert_non_null(rest.p);
	assert_true(bytes_is(text_cut(&rest, ','), "b"));
	assert_null(rest.p);
	assert_int_equal(text_cut(&rest, ',').n, 0);
	assert_true(text_starts("helm init", "helm") && !text_starts("he", "helm"));
	assert_true(text_ends("a.json", ".json") && !text_ends("json", ".json"));
}

static void test_time_printing(void **state)
{
	struct arena *a = *state;

	assert_string_equal(text_time_iso(a, 1776071400123456), "2026-04-13T09:10:00.123456+00:00");
	assert_string_equal(text_time_iso(a, 1776071400000000), "2026-04-13T09:10:00+00:00");
	assert_string_equal(text_time_z(a, 1776071400000010), "2026-04-13T09:10:00.000010Z");
	assert_string_equal(text_time_compact(a, 1776071400999999), "20260413T091000Z");
	assert_string_equal(text_time_z(a, -1), "1969-12-31T23:59:59.999999Z");
	assert_string_equal(text_time_z(a, INT64_C(-62135596800000000)), "0001-01-01T00:00:00Z");
	assert_string_equal(text_time_z(a, INT64_C(253402300799000000)), "9999-12-31T23:59:59Z");
}

static void test_time_reading(void **state)
{
	static const struct {
		const char *text;
		int64_t us;
	} good[] = { { "2026-04-13T09:10:00.123456+00:00", 1776071400123456 },
		{ "2026-04-13T09:10:00Z", 1776071400000000 }, { "2026-04-13t09:10:00z", 1776071400000000 },
		{ "20260413T091000Z", 1776071400000000 }, { "2026-04-13T18:10:00+09:00", 1776071400000000 },
		{ "2026-04-13T04:40:00.5-04:30", 1776071400500000 },
		{ "2026-04-13T09:10:00.123456789Z", 1776071400123456 },
		{ "2016-12-31T23:59:60Z", 1483228800000000 },
		{ "2017-01-01T08:59:60+09:00", 1483228800000000 },
		{ "2024-02-29T00:00:00Z", 1709164800000000 },
		{ "0001-01-01T00:00:00Z", INT64_C(-62135596800000000) } };
	static const char *const bad[] = { "", "2026-04-13", "2026-04-13T09:10:00", "2026-04-13 09:10:00Z",
		"2026-02-29T00:00:00Z", "1900-02-29T00:00:00Z", "2026-13-01T00:00:00Z",
		"2026-00-01T00:00:00Z", "2026-04-31T00:00:00Z", "2026-04-00T00:00:00Z",
		"2026-04-13T24:00:00Z", "2026-04-13T09:60:00Z", "2026-04-13T09:10:60Z",
		"2016-12-31T23:59:61Z", "2026-04-13T09:10:00.Z", "2026-04-13T09:10:00.1234567890Z",
		"2026-04-13T09:10:00+24:00", "2026-04-13T09:10:00+09:60", "2026-04-13T09:10:00+0900",
		"2026-04-13T09:10:00ZZ", "26-04-13T09:10:00Z", "0000-01-01T00:00:00Z", "20260413T091000",
		"20260413T091000+00:00", "2026-0413T09:10:00Z", "2026-04-13T9:10:00Z",
		"-2026-04-13T09:10:00Z", "2026-04-13T09:10:00,5Z" };
	int64_t us = 1;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		assert_true(text_parse_time(good[i].text, strlen(good[i].text), &us));
		assert_int_equal(us, good[i].us);
	}
	us = 1;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (text_parse_time(bad[i], strlen(bad[i]), &us))
			fail_msg("read %s", bad[i]);
	assert_int_equal(us, 1);
}

/* Every day of four centuries, against the calendar counted by hand. */
static void test_time_calendar(void **state)
{
	int64_t day_us = INT64_C(86400000000), us = INT64_C(-11676096000000000); /* 1600-01-01 */
	char want[40];

	(void)state;
	for (int year = 1600; year < 2000; year++) {
		static const int days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
		bool is_leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
		AUTO(arena_done) struct arena a = { 0 };
		for (int month = 1; month <= 12; month++) {
			for (int day = 1; day <= days[month - 1] + (month == 2 && is_leap);
				day++, us += day_us) {
				int64_t back;
				snprintf(want, sizeof(want), "%04d-%02d-%02dT00:00:00Z", year, month, day);
				assert_string_equal(text_time_z(&a, us), want);
				assert_true(text_parse_time(want, strlen(want), &back) && back == us);
			}
		}
	}
}

static void test_glob(void **state)
{
	static const struct {
		const char *pattern, *text;
		bool path, want;
	} rows[] = {
		{ "", "", true, true },
		{ "", "a", true, false },
		{ "*", "", true, true },
		{ "*", "abc", true, true },
		{ "*", "a/b", true, false },
		{ "*", "a/b", false, true },
		{ "**", "a/b", true, true },
		{ "***", "a/b", true, true },
		{ "a?c", "abc", true, true },
		{ "a?c", "a/c", true, false },
		{ "a?c", "a/c", false, true },
		{ "a?c", "a정c", true, true },
		{ "src/*.c", "src/a.c", true, true },
		{ "src/*.c", "src/b/a.c", true, false },
		{ "src/**.c", "src/b/a.c", true, true },
		{ "**/a.c", "x/y/a.c", true, true },
		{ "a*b*c", "aXbYbZc", true, true },
		{ "a*b*c", "aXbYbZ", true, false },
		{ "[a-c]x", "bx", true, true },
		{ "[!a-c]x", "bx", true, false },
		{ "[^a-c]x", "dx", true, true },
		{ "[]]", "]", true, true },
		{ "[!]]", "]", true, false },
		{ "[a-]", "-", true, true },
		{ "[\\]]", "]", true, true },
		{ "[а-я]", "ж", true, true },
		{ "a[/]b", "a/b", true, false },
		{ "a[/]b", "a/b", false, true },
		{ "[", "[", true, true },
		{ "[abc", "[abc", true, true },
		{ "\\*", "*", true, true },
		{ "\\*", "x", true, false },
		{ "\\", "\\", true, true },
		{ "\xff*", "\xffx", true, true },
		{ "\xff", "\xfe", true, false },
		{ "abc", "abc", true, true },
		{ "abc", "ab", true, false },
		{ "abc", "abcd", true, false },
		{ "ab*", "ab", true, true },
		{ "ab\xc3\xa9", "ab\xc3\xa9", true, true },
		{ "ab", "a\xc3\xa9", true, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (text_glob(rows[i].pattern, rows[i].text, rows[i].path) != rows[i].want)
			fail_msg("%s against %s", rows[i].pattern, rows[i].text);
}

/* The pattern that takes a backtracking matcher longer than we live. */
static void test_glob_is_linear(void **state)
{
	char pattern[601], text[5001];

	(void)state;
	for (size_t i = 0; i < 600; i++)
		pattern[i] = i % 2 ? 'a' : '*';
	pattern[599] = 'b';
	pattern[600] = '\0';
	memset(text, 'a', 5000);
	text[5000] = '\0';
	assert_false(text_glob(pattern, text, true));
	text[4999] = 'b';
	assert_true(text_glob(pattern, text, true));
}

static void test_nearest(void **state)
{
	static const char *const names[] = { "init", "doctor", "checkpoint", "verify" };
	char longest[100];

	(void)state;
	assert_string_equal(text_nearest("initt", names, 4), "init");
	assert_string_equal(text_nearest("docotr", names, 4), "doctor");
	assert_string_equal(text_nearest("checkpiont", names, 4), "checkpoint");
	assert_string_equal(text_nearest("verify", names, 4), "verify");
	assert_null(text_nearest("zzzz", names, 4));
	assert_null(text_nearest("x", names, 4));
	assert_null(text_nearest("", names, 4));
	memset(longest, 'i', 99);
	longest[99] = '\0';
	assert_null(text_nearest(longest, names, 4));
}

static void test_utf8_from_any_bytes(void **state)
{
	static const char mixed[] = "a\xff\xc3\xa4\xe2\x82";
	static const char plain[] = "\xc3\xa4 fine";
	size_t n;
	const char *text = text_utf8(*state, mixed, strlen(mixed), TEXT_BYTE, &n);

	assert_string_equal(text, "a\\xFF\xc3\xa4\\xE2\\x82");
	assert_int_equal(n, strlen(text));
	assert_string_equal(text_utf8(*state, "\xff", 1, TEXT_BYTE_JSON, &n), "\\\\xFF");
	assert_ptr_equal(text_utf8(*state, plain, strlen(plain), TEXT_BYTE, &n), plain);
	assert_int_equal(n, strlen(plain));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_buffer, setup, teardown),
		cmocka_unit_test_setup_teardown(test_utf8_round_trip, setup, teardown),
		cmocka_unit_test_setup_teardown(test_utf8_ill_formed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_width, setup, teardown),
		cmocka_unit_test_setup_teardown(test_safe, setup, teardown),
		cmocka_unit_test_setup_teardown(test_quote, setup, teardown),
		cmocka_unit_test_setup_teardown(test_utf8_from_any_bytes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_int, setup, teardown),
		cmocka_unit_test_setup_teardown(test_cut, setup, teardown),
		cmocka_unit_test_setup_teardown(test_time_printing, setup, teardown),
		cmocka_unit_test_setup_teardown(test_time_reading, setup, teardown),
		cmocka_unit_test_setup_teardown(test_time_calendar, setup, teardown),
		cmocka_unit_test_setup_teardown(test_glob, setup, teardown),
		cmocka_unit_test_setup_teardown(test_glob_is_linear, setup, teardown),
		cmocka_unit_test_setup_teardown(test_nearest, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
