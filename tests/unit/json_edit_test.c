/* json_edit_test.c — a change in somebody's JSON file touches nothing but itself. */
#include "base/json_edit.h"
#include "tools/unit.h"

#include <string.h>

static const char *const path[] = { "hooks", "Pre" };

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

static struct bytes append(struct arena *a, const char *text, struct json_span *ret_span)
{
	struct json *v = json_new(a, JSON_OBJECT);
	struct bytes after = { 0 };
	struct err e = { 0 };

	json_sets(a, v, "c", "x");
	assert_int_equal(json_edit_append(a, bytes_of(text), "t", path, 2, v, &after, ret_span, &e), OK);
	return after;
}

/* What it looks like afterwards, and that cutting the span out gives the same bytes again. */
static void becomes(struct arena *a, const char *before, const char *after)
{
	struct json_span span;
	struct bytes made = append(a, before, &span), back = json_edit_cut(a, made, span);

	assert_string_equal(arena_strndup(a, (const char *)made.p, made.n), after);
	assert_string_equal(arena_strndup(a, (const char *)back.p, back.n), before);
}

static void test_append(void **state)
{
	becomes(*state, "{}\n",
		"{\n  \"hooks\": {\n    \"Pre\": [\n      {\n        \"c\": \"x\"\n      }\n    ]\n  }\n}\n");
	becomes(*state, "{\n\t\"a\": 1.0\n}",
		"{\n\t\"a\": 1.0,\n\t\"hooks\": {\n\t\t\"Pre\": [\n\t\t\t{\n\t\t\t\t\"c\": "
		"\"x\"\n\t\t\t}\n\t\t]\n\t}\n}");
	becomes(*state, "{\"a\":\"}]\\\"\",\"hooks\":{\"Pre\":[1]},\"b\":2}\n",
		"{\"a\":\"}]\\\"\",\"hooks\":{\"Pre\":[1, {\"c\": \"x\"}]},\"b\":2}\n");
	becomes(*state, "{\n  \"hooks\": {\n    \"Pre\": []\n  },\n  \"z\": [ ]\n}\n",
		"{\n  \"hooks\": {\n    \"Pre\": [\n      {\n        \"c\": \"x\"\n      }\n    ]\n  },\n  "
		"\"z\": [ ]\n}\n");
	becomes(*state, "{\r\n  \"a\": {}\r\n}\r\n",
		"{\r\n  \"a\": {},\r\n  \"hooks\": {\r\n    \"Pre\": [\r\n      {\r\n        \"c\": "
		"\"x\"\r\n      }\r\n    ]\r\n  }\r\n}\r\n");
	becomes(*state, "{\n  \"hooks\": {\n    \"Pre\": [\n      null\n    ]\n  }\n}",
		"{\n  \"hooks\": {\n    \"Pre\": [\n      null,\n      {\n        \"c\": \"x\"\n      }\n    "
		"]\n  }\n}");
}

/* Files nobody's tool would write, and their owner likes. */
static void test_append_to_odd_files(void **state)
{
	/* a blank first line */
	becomes(*state, "\n{\"a\": 1}", "\n{\"a\": 1, \"hooks\": {\"Pre\": [{\"c\": \"x\"}]}}");
	/* nothing indented */
	becomes(*state, "{\n\"a\": 1\n}",
		"{\n\"a\": 1,\n\"hooks\": {\n  \"Pre\": [\n    {\n      \"c\": \"x\"\n    }\n  ]\n}\n}");
	/* empty over two lines */
	becomes(*state, "{\n}\n",
		"{\n  \"hooks\": {\n    \"Pre\": [\n      {\n        \"c\": \"x\"\n      }\n    ]\n  }\n}\n");
	/* empty inside one line */
	becomes(*state, "{\"a\": 1, \"hooks\": {}}", "{\"a\": 1, \"hooks\": {\"Pre\": [{\"c\": \"x\"}]}}");
	becomes(*state, "{\"hooks\": {\"Pre\": [ ]}}", "{\"hooks\": {\"Pre\": [{\"c\": \"x\"} ]}}");
	/* a quote that does not end, brackets that do not close */
	becomes(*state, "{\"a\": [\"\\\"]\", {\"}\": \"\\\\\"}]}",
		"{\"a\": [\"\\\"]\", {\"}\": \"\\\\\"}], \"hooks\": {\"Pre\": [{\"c\": \"x\"}]}}");
}

static void refused(struct arena *a, const char *text, const char *code)
{
	struct bytes after = { 0 };
	struct json_span span;
	struct err e = { 0 };

	assert_true(json_edit_append(a, bytes_of(text), "t", path, 2, json_new(a, JSON_OBJECT), &after, &span,
			    &e) < 0);
	assert_string_equal(e.code, code);
	assert_null(after.p);
}

static void test_refused(void **state)
{
	refused(*state, "", "JSON_SYNTAX");
	refused(*state, "{ // note\n}", "JSON_SYNTAX");
	refused(*state, "[]", "JSON_EDIT_SHAPE");
	refused(*state, "{\"hooks\":[]}", "JSON_EDIT_SHAPE");
	refused(*state, "{\"hooks\":{\"Pre\":{}}}", "JSON_EDIT_SHAPE");
}

static void removes(
	struct arena *a, const char *before, const struct json_step *steps, size_t depth, const char *after)
{
	struct bytes made = { 0 };
	struct err e = { 0 };

	assert_int_equal(json_edit_remove(a, bytes_of(before), "t", steps, depth, &made, &e), OK);
	assert_string_equal(arena_strndup(a, (const char *)made.p, made.n), after);
}

static void test_remove(void **state)
{
	struct json_step item[] = { { "a", 0 }, { NULL, 0 } };

	removes(*state, "{\"a\": [1, 2]}", item, 2, "{\"a\": [2]}");
	removes(*state, "{\"a\": [ 1 ]}", item, 2, "{\"a\": []}");
	item[1].index = 1;
	removes(*state, "{\"a\": [1,\n  \"]\" ,3]}", item, 2, "{\"a\": [1 ,3]}");
	removes(*state, "{\n  \"a\": {\"x\": []},\n  \"b\": 1\n}", item, 1, "{\n  \"b\": 1\n}");
	removes(*state, "{\n  \"b\": 1,\n  \"a\": true\n}", item, 1, "{\n  \"b\": 1\n}");
	removes(*state, "{\"a\":1}", item, 1, "{}");
	struct bytes made = { 0 };
	struct err e = { 0 };
	assert_int_equal(
		json_edit_remove(*state, BYTES_LITERAL("{\"b\":1}"), "t", item, 1, &made, &e), E_MISSING);
	assert_int_equal(
		json_edit_remove(*state, BYTES_LITERAL("{\"a\":[1]}"), "t", item, 2, &made, &e), E_MISSING);
	assert_int_equal(json_edit_remove(*state, BYTES_LITERAL("1"), "t", item, 2, &made, &e), E_MISSING);
	assert_string_equal(e.code, "JSON_EDIT_PATH");
	assert_int_equal(
		json_edit_remove(*state, BYTES_LITERAL("{\"a\":"), "t", item, 1, &made, &e), E_INPUT);
	assert_string_equal(e.code, "JSON_SYNTAX");
	assert_null(made.p);
}

static void replaced(struct arena *a, const char *before, const struct json_step *at, size_t depth,
	const char *old, const char *after)
{
	struct json *v = json_new(a, JSON_OBJECT);
	struct bytes made = { 0 }, was = { 0 };
	struct err e = { 0 };

	json_sets(a, v, "c", "x");
	assert_int_equal(json_edit_replace(a, bytes_of(before), "t", at, depth, v, &made, &was, &e), OK);
	assert_string_equal(arena_strndup(a, (const char *)made.p, made.n), after);
	assert_string_equal(arena_strndup(a, (const char *)was.p, was.n), old);
}

/* Only the value: its name, its neighbours and what lies between them stay. */
static void test_replace(void **state)
{
	const struct json_step one[] = { { "a", 0 } }, deep[] = { { "m", 0 }, { "s", 0 } },
			       item[] = { { NULL, 1 } };
	struct bytes made, was;
	struct err e = { 0 };

	replaced(*state, "{ \"a\" : 1.50,\"b\":2 }", one, 1, "1.50", "{ \"a\" : {\"c\": \"x\"},\"b\":2 }");
	replaced(*state, "{\n\t\"m\": {\n\t\t\"s\": {\n\t\t\t\"k\":\"}\"\n\t\t},\n\t\t\"t\": 1\n\t}\n}\n",
		deep, 2, "{\n\t\t\t\"k\":\"}\"\n\t\t}",
		"{\n\t\"m\": {\n\t\t\"s\": {\n\t\t\t\"c\": \"x\"\n\t\t},\n\t\t\"t\": 1\n\t}\n}\n");
	replaced(*state, "[1, [2], 3]", item, 1, "[2]", "[1, {\"c\": \"x\"}, 3]");
	assert_int_equal(json_edit_replace(*state, bytes_of("{\"b\": 1}"), "t", one, 1,
				 json_new(*state, JSON_NULL), &made, &was, &e),
		E_MISSING);
	assert_int_equal(json_edit_replace(*state, bytes_of("{\"a\": "), "t", one, 1,
				 json_new(*state, JSON_NULL), &made, &was, &e),
		E_INPUT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_append, setup, teardown),
		cmocka_unit_test_setup_teardown(test_append_to_odd_files, setup, teardown),
		cmocka_unit_test_setup_teardown(test_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(test_remove, setup, teardown),
		cmocka_unit_test_setup_teardown(test_replace, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
