/* regex_test.c — regular expressions in linear time: what they match, what is refused, and what they cost. */
#include "base/regex.h"
#include "base/text.h"
#include "tools/unit.h"

#include <string.h>

/* 1, 0, or the error of compiling or searching. */
static int search(struct arena *a, const char *regex, const char *text, struct err *e)
{
	uint64_t budget = 1000000;
	struct regex *r;
	int rc = regex_compile(a, bytes_of(regex), &r, e);

	return rc ? rc : regex_search(r, a, bytes_of(text), &budget);
}

static const struct {
	const char *regex, *text;
	int want;
} match_rows[] = {
	{ "", "", 1 },
	{ "", "abc", 1 },
	{ "b+", "aabbb", 1 },
	{ "^b+$", "aabbb", 0 },
	{ "abc", "xabcx", 1 },
	{ "abc", "xabx", 0 },
	{ "gr(a|e)y", "grey", 1 },
	{ "a|b|c|d", "xxd", 1 },
	{ "^(a|b|cd)$", "cd", 1 },
	{ "^(a|b|cd)$", "c", 0 },
	{ "^(|a)$", "", 1 },
	{ "^(a|)$", "a", 1 },
	{ "^(a+)+$", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!", 0 },
	{ "^(a*)*$", "aaa", 1 },
	{ "^(a?)*b$", "aab", 1 },
	{ "^()*$", "", 1 },
	{ "^a{3}$", "aaa", 1 },
	{ "^a{3}$", "aa", 0 },
	{ "^a{2,3}$", "aaaa", 0 },
	{ "^a{2,3}$", "aaa", 1 },
	{ "^a{2,}$", "aaaaa", 1 },
	{ "^a{2,}$", "a", 0 },
	{ "^a{0}$", "", 1 },
	{ "^(ab){2}c{1,}?$", "ababcc", 1 },
	{ "a{,2}", "a{,2}", 1 },
	{ "a{x", "a{x", 1 },
	{ "a{1,2", "a{1,2", 1 },
	{ "a*?b", "aab", 1 },
	{ "a??b+?", "bb", 1 },
	{ "a.c", "a\nc", 0 },
	{ "(?s)a.c", "a\nc", 1 },
	{ "(?s:a.)c", "a\nc", 1 },
	{ "(?s:.)(?-s).", "\n\n", 0 },
	{ "(?is-m:A.)C", "a\nC", 1 },
	{ "(?U)a+", "a", 1 },
	{ "^.$", "😀", 1 },
	{ "^[^a]$", "é", 1 },
	{ "^[😀-😂]$", "😁", 1 },
	{ "[]a]", "]", 1 },
	{ "[^]a]", "]", 0 },
	{ "[a-]", "-", 1 },
	{ "^[a\\-z]$", "-", 1 },
	{ "^[\\x41-\\x{43}]$", "B", 1 },
	{ "^[+-\\.]$", ".", 1 },
	{ "^[\\d_]+$", "1_2", 1 },
	{ "^[[:alpha:]]+$", "aB", 1 },
	{ "^[[:^alpha:]]+$", "1é", 1 },
	{ "^[[:^alpha:]]+$", "a", 0 },
	{ "^[[:punct:][:digit:]]+$", "1!", 1 },
	{ "^[[:^cntrl:]]$", "a", 1 },
	{ "^[[:cntrl:]]$", "\x01", 1 },
	{ "^[[:ascii:]]$", "é", 0 },
	{ "[[:word:]]", "-", 0 },
	{ "\\d\\D\\w\\W\\s\\S", "1a_- x", 1 },
	{ "\\bfoo\\b", "a foo b", 1 },
	{ "\\bfoo\\b", "afoo", 0 },
	{ "o\\Bo", "foo", 1 },
	{ "o\\B", "foo", 1 },
	{ "^foo\\B", "foo", 0 },
	{ "\\Aa\\z", "a", 1 },
	{ "\\Aa\\z", "ab", 0 },
	{ "^b$", "a\nb\nc", 0 },
	{ "(?m)^b$", "a\nb\nc", 1 },
	{ "(?m)^a$", "a\nb", 1 },
	{ "(?m)^c$", "b\nc", 1 },
	{ "a$", "a\n", 0 },
	{ "(?i)aBc9", "AbC9", 1 },
	{ "(?i)[a-c]x", "BX", 1 },
	{ "(?i)[A-C]x", "bX", 1 },
	{ "(?i)é", "É", 0 },
	{ "\\Qa.b\\E+", "a.b", 1 },
	{ "\\Qa.b\\E", "axb", 0 },
	{ "\\Qa.b", "a.b", 1 },
	{ "\\.\\*\\/\\é", ".*/é", 1 },
	{ "\\t\\n\\x41\\101", "\t\nA", -1 },
	{ "\\a\\f\\r\\v", "\a\f\r\v", 1 },
	{ "\\060", "0", 1 },
	{ "(?P<year>\\d{4})-(?<m_2>\\d\\d)", "2026-11", 1 },
	{ "^a|b", "cb", 1 },
	{ "x*", "", 1 },
	{ "^x", "ax", 0 },
	{ "^(?:ab|cd)*ef$", "abcdabef", 1 },
	{ "((a|b)|(c|d))e", "de", 1 },
};

static void matches(void **state)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct err e;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(match_rows); i++) {
		int got = search(&a, match_rows[i].regex, match_rows[i].text, &e);
		if (match_rows[i].want < 0 ? got >= 0 : got != match_rows[i].want)
			fail_msg("%s against %s: %d", match_rows[i].regex, match_rows[i].text, got);
	}
}

static void refuses(void **state)
{
	static const struct {
		const char *regex, *text;
	} rows[] = {
		{ "[", "at offset 0: '[' without ']'" },
		{ "[a", "'[' without ']'" },
		{ "[z-a]", "a range that ends before it begins" },
		{ "[a-\\", "a backslash at the end" },
		{ "[\\", "a backslash at the end" },
		{ "[[:nope:]]", "no such set of characters" },
		{ "[[:alpha", "no such set of characters" },
		{ "(", "'(' without ')'" },
		{ "(a", "'(' without ')'" },
		{ "(?i", "'(' without ')'" },
		{ "a)", "at offset 1: ')' without '('" },
		{ "*a", "nothing to repeat" },
		{ "a|*", "nothing to repeat" },
		{ "(*a)", "nothing to repeat" },
		{ "{2}", "nothing to repeat" },
		{ "a**", "repeats what is repeated already" },
		{ "a{2}{3}", "repeats what is repeated already" },
		{ "a++", "repeats what is repeated already" },
		{ "a{2,1}", "counts go up to 1000" },
		{ "a{1001}", "counts go up to 1000" },
		{ "a{2,1001}", "counts go up to 1000" },
		{ "a\\", "a backslash at the end" },
		{ "(a)\\1", "references back" },
		{ "\\q", "an escape that is not known here" },
		{ "\\pL", "an escape that is not known here" },
		{ "\\xZZ", "write \\x41" },
		{ "\\x{}", "write \\x41" },
		{ "\\x{110000}", "write \\x41" },
		{ "\\x{41", "write \\x41" },
		{ "(?=a)", "not possible in linear time" },
		{ "(?!a)", "not possible in linear time" },
		{ "(?<=a)", "not possible in linear time" },
		{ "(?<!a)", "not possible in linear time" },
		{ "(?>a)", "not possible in linear time" },
		{ "(?x)a", "not possible in linear time" },
		{ "(?i--m)", "not possible in linear time" },
		{ "(?P<>a)", "a group's name" },
		{ "(?<a-b>a)", "a group's name" },
		{ "\xff", "not UTF-8" },
	};
	AUTO(arena_done) struct arena a = { 0 };
	struct err e;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(search(&a, rows[i].regex, "a", &e), E_INPUT);
		assert_string_equal(e.code, "REGEX_SYNTAX");
		if (!strstr(e.text, rows[i].text))
			fail_msg("%s: %s", rows[i].regex, e.text);
	}
	assert_int_equal(regex_compile(&a, bytes_of("("), &(struct regex *){ 0 }, NULL), E_INPUT);
}

/* Nested counts multiply, so the size is what is limited; so is the depth of groups. */
static void has_limits(void **state)
{
	static const char *const large[] = { "(a{100}){100}", "((a{30}){30}){30}", "(?:a|b){999}{1}x",
		"(a?){900}(a?){900}(a?){900}", "(a*){1000}(b*){1000}", "a{1000}b{1000}c{1000}d{1000}e{97}" };
	AUTO(arena_done) struct arena a = { 0 };
	char deep[300];
	struct err e;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(large); i++)
		assert_true(search(&a, large[i], "a", &e) < 0);
	assert_int_equal(search(&a, "(a{100}){100}", "a", &e), E_LIMIT);
	assert_string_equal(e.code, "REGEX_SIZE");
	memset(deep, '(', REGEX_DEPTH + 1);
	deep[REGEX_DEPTH + 1] = '\0';
	assert_int_equal(search(&a, deep, "a", &e), E_INPUT);
	assert_non_null(strstr(e.text, "too many groups"));
	char *longest = arena_alloc(&a, REGEX_LONGEST + 2);
	memset(longest, 'a', REGEX_LONGEST + 1);
	longest[REGEX_LONGEST + 1] = '\0';
	assert_int_equal(search(&a, longest, "a", &e), E_LIMIT);
	longest[REGEX_LONGEST] = '\0'; /* as many characters as states, and no room for the last one */
	assert_int_equal(search(&a, longest, "a", &e), E_LIMIT);
	/* Filled exactly by pieces that need one more instruction before or behind them. */
	for (size_t n = REGEX_STATES - 6; n <= REGEX_STATES; n++) {
		static const char *const ends[] = { "b*", "b?", "|b", "b{2}", "[b]", "." };
		for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
			char *text = arena_printf(&a, "%.*s%s", (int)(n - 8), longest, ends[i]);
			(void)search(&a, text, "a", &e);
		}
	}
}

static void costs_are_charged(void **state)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct regex *r;
	struct err e;
	char text[2001] = { 0 };
	uint64_t once = 1000000000, twice = 1000000000, little = 100;

	(void)state;
	memset(text, 'a', 2000);
	assert_int_equal(regex_compile(&a, bytes_of("(a|aa|a*b){2,40}$b"), &r, &e), OK);
	assert_true(regex_states(r) > 40);
	size_t used = a.used_bytes;
	assert_int_equal(regex_search(r, &a, (struct bytes){ (uint8_t *)text, 1000 }, &once), 0);
	assert_int_equal(regex_search(r, &a, (struct bytes){ (uint8_t *)text, 2000 }, &twice), 0);
	/* Twice the text, about twice the work, and no more than states times characters. */
	once = 1000000000 - once;
	twice = 1000000000 - twice;
	assert_true(twice < once * 21 / 10);
	assert_true(twice < 2001 * 4 * regex_states(r));
	assert_int_equal(regex_search(r, &a, (struct bytes){ (uint8_t *)text, 2000 }, &little), E_LIMIT);
	assert_int_equal(little, 0);
	assert_int_equal(a.used_bytes, used);
	/* A place that only the start of the text could be is not tried elsewhere. */
	once = 1000000;
	assert_int_equal(regex_compile(&a, bytes_of("^b"), &r, &e), OK);
	assert_int_equal(regex_search(r, &a, (struct bytes){ (uint8_t *)text, 2000 }, &once), 0);
	assert_true(1000000 - once < 20);
}

static void other_bytes(void **state)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct err e;

	(void)state;
	assert_int_equal(search(&a, "^a.b$",
				 "a\xff"
				 "b",
				 &e),
		1);
	assert_int_equal(search(&a, "^a\\x{fffd}b$",
				 "a\xff"
				 "b",
				 &e),
		1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(matches),
		cmocka_unit_test(refuses),
		cmocka_unit_test(has_limits),
		cmocka_unit_test(costs_are_charged),
		cmocka_unit_test(other_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
