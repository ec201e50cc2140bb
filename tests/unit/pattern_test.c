/* pattern_test.c — regular expressions: what they match, and that they give up. */
#include "base/pattern.h"
#include "base/text.h"
#include "tools/unit.h"

static int search(const char *regex, unsigned flags, const char *text, struct pattern_span *at, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct pattern *p;
	int rc = pattern_compile(&a, regex, strlen(regex), flags, &p, e);

	if (rc)
		return rc;
	rc = pattern_search(p, text, strlen(text), 0, at, e);
	return rc;
}

static void test_search(void **state)
{
	static const struct {
		const char *regex;
		unsigned flags;
		const char *text;
		int want;
	} rows[] = {
		{ "b+", 0, "aabbb", 1 },
		{ "^b+$", 0, "aabbb", 0 },
		{ "", 0, "", 1 },
		{ "ABC", PATTERN_CASELESS, "xabcx", 1 },
		{ "É", PATTERN_CASELESS, "é", 1 },
		{ "a.c", 0, "a\nc", 0 },
		{ "a.c", PATTERN_DOTALL, "a\nc", 1 },
		{ "^b$", PATTERN_MULTILINE, "a\nb\nc", 1 },
		{ "^a$", 0, "a\n", 1 },
		{ "^a$", PATTERN_ECMA, "a\n", 0 },
		{ "^\\u00e9$", PATTERN_ECMA, "é", 1 },
		{ "^\\u{1F600}$", PATTERN_ECMA, "😀", 1 },
		{ "^.$", 0, "😀", 1 },
		{ "^.$", PATTERN_BYTES, "😀", 0 },
		{ "^\\d$", PATTERN_ECMA, "٣", 0 },
		{ "x", PATTERN_BYTES, "\xff x", 1 },
		{ "^(a+)b$", 0, "aaab", 1 },
	};
	struct err e;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (search(rows[i].regex, rows[i].flags, rows[i].text, NULL, &e) != rows[i].want)
			fail_msg("%s against %s", rows[i].regex, rows[i].text);
}

static void test_span(void **state)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct pattern *p;
	struct pattern_span at[4] = { { 9, 9 } };

	(void)state;
	assert_int_equal(pattern_compile(&a, "(a)|(b)", 7, 0, &p, NULL), OK);
	assert_int_equal(pattern_search(p, "xbxa", 4, 0, at, NULL), 1);
	assert_int_equal(at[0].start, 1);
	assert_int_equal(pattern_search(p, "xbxa", 4, 2, at, NULL), 1);
	assert_int_equal(at[0].start, 3);
	assert_int_equal(pattern_search(p, "xbxa", 4, 4, at, NULL), 0);
	assert_int_equal(pattern_search(p, "xbxa", 4, 5, at, NULL), 0);
}

static void test_gives_up(void **state)
{
	char text[64];
	struct err e;

	(void)state;
	memset(text, 'a', 62);
	text[62] = '!';
	text[63] = '\0';
	assert_int_equal(search("^(a+)+$", 0, text, NULL, &e), E_LIMIT);
	assert_string_equal(e.code, "PATTERN_LIMIT");
}

static void test_refuses(void **state)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct pattern *p = NULL;
	struct err e;

	(void)state;
	assert_int_equal(search("a(b", 0, "", NULL, &e), E_INPUT);
	assert_string_equal(e.code, "PATTERN_SYNTAX");
	assert_non_null(strstr(e.text, "'a(b' at offset 3"));
	assert_int_equal(search("\xff", 0, "", NULL, &e), E_INPUT);
	assert_int_equal(search("a\\Cb", 0, "", NULL, &e), E_INPUT);
	assert_int_equal(search("a", 0, "\xff", NULL, &e), E_INPUT);
	assert_string_equal(e.code, "PATTERN_TEXT");
	char *huge = arena_text(&a, 70000);
	memset(huge, 'a', 70000);
	assert_int_equal(pattern_compile(&a, huge, 70000, 0, &p, &e), E_LIMIT);
	memset(huge, '(', 70000);
	assert_int_equal(pattern_compile(&a, huge, 60000, 0, &p, &e), E_INPUT);
	assert_null(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_search),
		cmocka_unit_test(test_span),
		cmocka_unit_test(test_gives_up),
		cmocka_unit_test(test_refuses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
