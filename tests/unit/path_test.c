/* path_test.c — paths as text. */
#include "base/file.h"
#include "tools/unit.h"

static void clean(void **state)
{
	(void)state;
	static const char *const cases[][2] = {
		{ "", "." },
		{ ".", "." },
		{ "./", "." },
		{ "/", "/" },
		{ "//", "/" },
		{ "/.", "/" },
		{ "/..", "/" },
		{ "/../..", "/" },
		{ "/../a", "/a" },
		{ "a", "a" },
		{ "a/", "a" },
		{ "./a//b/", "a/b" },
		{ "a/./b", "a/b" },
		{ "a/..", "." },
		{ "a/../", "." },
		{ "a/../b", "b" },
		{ "a/b/../c", "a/c" },
		{ "a/b/../../c", "c" },
		{ "..", ".." },
		{ "../", ".." },
		{ "../..", "../.." },
		{ "../../a", "../../a" },
		{ "../a/..", ".." },
		{ "a/../../b", "../b" },
		{ "/a/b/../..", "/" },
		{ "/a/b/../../c", "/c" },
		{ "/a/../../b", "/b" },
		{ "...", "..." },
		{ "/..a/.b", "/..a/.b" },
		{ "a/..b/..", "a" },
	};
	AUTO(arena_done) struct arena a = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_string_equal(path_clean(&a, cases[i][0]), cases[i][1]);
		assert_string_equal(path_clean(&a, cases[i][1]), cases[i][1]);
	}
}

static void join(void **state)
{
	(void)state;
	AUTO(arena_done) struct arena a = { 0 };

	assert_string_equal(path_join(&a, "/a", "b"), "/a/b");
	assert_string_equal(path_join(&a, "/a/", "../b"), "/b");
	assert_string_equal(path_join(&a, "/a", "/b/./c"), "/b/c");
	assert_string_equal(path_join(&a, "", "b"), "b");
	assert_string_equal(path_join(&a, "a", ""), "a");
	assert_string_equal(path_base("/a/b"), "b");
	assert_string_equal(path_base("b"), "b");
	assert_string_equal(path_base("/a/"), "");
}

static void below(void **state)
{
	(void)state;
	assert_true(path_is_below("/a", "/a"));
	assert_true(path_is_below("/a/b", "/a"));
	assert_true(path_is_below("/a", "/"));
	assert_true(path_is_below("/", "/"));
	assert_false(path_is_below("/ab", "/a"));
	assert_false(path_is_below("/", "/a"));
	assert_false(path_is_below("/b", "/a"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(clean),
		cmocka_unit_test(join),
		cmocka_unit_test(below),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
