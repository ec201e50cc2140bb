/* yaml_edit_test.c — a change in somebody's YAML file touches nothing but itself. */
#include "base/yaml_edit.h"
#include "tools/unit.h"

#include <string.h>

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

static int insert(
	struct arena *a, const char *text, struct bytes *ret, struct json_span *ret_span, struct err *e)
{
	struct json *item = json_new(a, JSON_OBJECT);

	json_sets(a, item, "c", "say \"x\" # no comment");
	json_setb(a, item, "f", true);
	return yaml_edit_insert(a, bytes_of(text), "t", "hooks", "pre", item, ret, ret_span, e);
}

#define ITEM(in) in "- c: \"say \\\"x\\\" # no comment\"\n" in "  f: true\n"

/* What it looks like afterwards; that cutting the span out, and that removing the item, give the same bytes again. */
static void becomes(struct arena *a, const char *before, const char *after)
{
	struct json_span span;
	struct bytes made, back;
	struct err e = { 0 };

	assert_int_equal(insert(a, before, &made, &span, &e), OK);
	assert_string_equal(arena_strndup(a, (const char *)made.p, made.n), after);
	back = json_edit_cut(a, made, span);
	assert_string_equal(arena_strndup(a, (const char *)back.p, back.n), before);
	assert_int_equal(yaml_edit_remove(a, made, "t", "hooks", "pre", 0, &back, &e), OK);
}

static void test_insert(void **state)
{
	becomes(*state, "", "hooks:\n  pre:\n" ITEM("    "));
	becomes(*state, "# mine\n", "# mine\nhooks:\n  pre:\n" ITEM("    "));
	becomes(*state, "model: x   # why\n", "model: x   # why\nhooks:\n  pre:\n" ITEM("    "));
	becomes(*state, "a: 1", "a: 1\nhooks:\n  pre:\n" ITEM("    "));
	becomes(*state, "hooks:\n    # of mine\n    post: []\nz: 1\n",
		"hooks:\n    # of mine\n    pre:\n" ITEM("      ") "    post: []\nz: 1\n");
	becomes(*state, "hooks:\n  pre:\n  # first\n  - c: a\n  # second\n  - c: b\nz: 1\n",
		"hooks:\n  pre:\n  # first\n" ITEM("  ") "  - c: a\n  # second\n  - c: b\nz: 1\n");
	becomes(*state, "hooks:\nz: 1\n", "hooks:\n  pre:\n" ITEM("    ") "z: 1\n");
	becomes(*state, "hooks:\n  pre:\nz: 1\n", "hooks:\n  pre:\n" ITEM("    ") "z: 1\n");
}

static void refused(struct arena *a, const char *text)
{
	struct bytes made = { 0 };
	struct json_span span;
	struct err e = { 0 };

	assert_int_not_equal(insert(a, text, &made, &span, &e), OK);
	assert_null(made.p);
	assert_true(e.text[0]);
}

static void test_refused(void **state)
{
	refused(*state, "hooks: {pre: []}\n");
	refused(*state, "hooks:\n  pre: []\n");
	refused(*state, "\"hooks\":\n  post: 1\n"); /* a name we do not see: it would come twice */
	refused(*state, "note: |\n  text\nhooks: 1\n");
	refused(*state, "[1, 2]\n");
	refused(*state, "a: &x 1\n");
	refused(*state, "a: 1\n...\n");
	refused(*state, "a: \"two\nhooks:\n lines\"\n");
}

static void removes(struct arena *a, const char *before, size_t index, const char *after)
{
	struct bytes rest;
	struct err e = { 0 };

	assert_int_equal(yaml_edit_remove(a, bytes_of(before), "t", "hooks", "pre", index, &rest, &e), OK);
	assert_string_equal(arena_strndup(a, (const char *)rest.p, rest.n), after);
}

static void test_remove(void **state)
{
	removes(*state, "a: 1\nhooks:\n  pre:\n    - c: x\n      d: 2\n# end\n", 0, "a: 1\n# end\n");
	removes(*state, "hooks:\n  pre:\n  - c: x\n  # of y\n  - c: y\n", 0,
		"hooks:\n  pre:\n  # of y\n  - c: y\n");
	removes(*state, "hooks:\n  pre:\n  - c: x\n  - c: >-\n      long\n      text\n    d: 1\n  post: 1\n",
		1, "hooks:\n  pre:\n  - c: x\n  post: 1\n");
	removes(*state, "hooks:\n  # kept\n  pre:\n  - c: x\nz: 1\n", 0, "hooks:\n  # kept\nz: 1\n");
	removes(*state, "hooks:\r\n  pre:\r\n  - c: x\r\nz: 1\r\n", 0, "z: 1\r\n");
}

static void test_remove_refused(void **state)
{
	static const char *const texts[] = { "hooks: {pre: [{c: x}]}\n", "a: 1\n",
		"hooks:\n  pre:\n  - c: x\n" };
	struct bytes rest = { 0 };
	struct err e = { 0 };

	for (size_t i = 0; i < 3; i++)
		assert_int_not_equal(
			yaml_edit_remove(*state, bytes_of(texts[i]), "t", "hooks", "pre", 1, &rest, &e), OK);
	assert_null(rest.p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_insert, setup, teardown),
		cmocka_unit_test_setup_teardown(test_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(test_remove, setup, teardown),
		cmocka_unit_test_setup_teardown(test_remove_refused, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
