/* schema_test.c — JSON Schema against a table of cases, and its walls; decimals. */
#include "base/decimal.h"
#include "base/schema.h"
#include "tools/cases.h"
#include "tools/unit.h"

static void must_violate(struct arena *a, const char *name, const struct err *e, const struct json *expect)
{
	const char *start = arena_printf(a, "%s: %s: expected ", json_get_text(expect, "path", "?"),
		json_get_text(expect, "keyword", "?"));

	assert_string_equal(e->code, "SCHEMA_VIOLATION");
	if (!text_starts(e->text, start) || !strstr(e->text, ", found "))
		fail_msg("%s: %s, not %s", name, e->text, start);
}

static void run_case(struct arena *a, const char *name, const struct json *given, const struct json *expect)
{
	struct schema *untouched = (struct schema *)1, *s = untouched;
	struct err e = { 0 };
	const char *refused = json_get_text(expect, "refused", NULL);
	int rc = schema_compile(a, json_get(given, "schema"), "case", &s, &e);

	if (refused) {
		if (!text_eq(e.code, refused) || !text_starts(e.text, "case: schema at #"))
			fail_msg("%s: %s: %s", name, e.code, e.text);
		assert_ptr_equal(s, untouched);
		return;
	}
	if (rc)
		fail_msg("%s: refused: %s", name, e.text);
	rc = schema_check(s, json_get(given, "value"), &e);
	if (json_get_bool(expect, "valid", false)) {
		if (rc)
			fail_msg("%s: %s", name, e.text);
		return;
	}
	if (!rc)
		fail_msg("%s: accepted", name);
	must_violate(a, name, &e, expect);
}

static void test_cases(void **state)
{
	(void)state;
	cases_run("tests/cases/schema.jsonl", run_case);
}

static struct json *parse(struct arena *a, const char *text)
{
	struct json *v;
	struct err e;

	if (json_parse(a, bytes_of(text), "test", NULL, &v, &e))
		fail_msg("%s", e.text);
	return v;
}

static int check(const char *schema, const char *value, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct schema *s;
	int rc = schema_compile(&a, parse(&a, schema), "test", &s, e);

	return rc ? rc : schema_check(s, parse(&a, value), e);
}

/* What could run for ever ends in an error, and an error below `not` or `anyOf` is no answer. */
static void test_walls(void **state)
{
	static const char *const rows[][2] = {
		{ "{\"$ref\":\"#\"}", "1" },
		{ "{\"anyOf\":[{\"$ref\":\"#\"},{\"$ref\":\"#\"}]}", "1" },
		{ "{\"not\":{\"$ref\":\"#\"}}", "1" },
		{ "{\"pattern\":\"^(a+)+$\"}", "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!\"" },
		{ "{\"not\":{\"pattern\":\"^(a+)+$\"}}",
			"\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!\"" },
		{ "{\"anyOf\":[{\"pattern\":\"^(a+)+$\"},true]}",
			"\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!\"" },
		{ "{\"minimum\":1}", "1e99999999999" },
		{ "{\"not\":{\"const\":1}}", "1e99999999999" },
	};
	struct err e;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (check(rows[i][0], rows[i][1], &e) != E_LIMIT)
			fail_msg("%s", rows[i][0]);
}

/* Alternatives that multiply: 4^n steps without a budget. */
static void test_budget(void **state)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct buf b;
	struct err e;

	(void)state;
	buf_init(&b, &a);
	buf_adds(&b, "{\"$defs\":{\"d0\":{\"type\":\"string\"}");
	for (int i = 1; i < 30; i++)
		buf_addf(&b, ",\"d%d\":{\"oneOf\":[{\"$ref\":\"#/$defs/d%d\"},{\"$ref\":\"#/$defs/d%d\"}]}",
			i, i - 1, i - 1);
	buf_adds(&b, "},\"$ref\":\"#/$defs/d29\"}");
	assert_int_equal(check(b.p, "1", &e), E_LIMIT);
	assert_string_equal(e.code, "SCHEMA_LIMIT");
}

/* A chain of references longer than any stack. */
static void test_long_chain(void **state)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct buf b;
	struct err e;

	(void)state;
	buf_init(&b, &a);
	buf_adds(&b, "{\"properties\":{\"d0\":{}");
	for (int i = 1; i < 3000; i++)
		buf_addf(&b, ",\"d%d\":{\"items\":{\"$ref\":\"#/properties/d%d\"}}", i, i - 1);
	buf_adds(&b, "}}");
	assert_int_equal(check(b.p, "{\"d2999\":[[[]]]}", &e), OK);
}

static void test_messages(void **state)
{
	struct err e;

	(void)state;
	check("{\"properties\":{\"a\":{\"type\":[\"string\",\"null\"]}}}", "{\"a\":[1]}", &e);
	assert_string_equal(e.text, "$.a: type: expected string or null, found an array");
	check("{\"required\":[\"id\"]}", "{}", &e);
	assert_string_equal(e.text, "$: required: expected member \"id\", found none");
	check("{\"items\":{\"maximum\":3}}", "[1,5]", &e);
	assert_string_equal(e.text, "$[1]: maximum: expected at most 3, found a number");
	check("{\"enum\":[\"a\",\"b\"]}", "\"\\u001b[31m\"", &e);
	assert_string_equal(e.text, "$: enum: expected one of [\"a\", \"b\"], found a string");
	check("{\"additionalProperties\":false}", "{\"\\u001b\":1}", &e);
	assert_string_equal(
		e.text, "$.\\x1B: additionalProperties: expected no member of this name, found one");
	check("{\"properties\":{\"a\":{\"pattern\":\"(\"}}}", "1", &e);
	assert_true(text_starts(e.text, "test: schema at #/properties/a/pattern: pattern '(' at offset 1: "));
}

/* ---- decimals ---- */

static void test_decimal_order(void **state)
{
	static const char *const ordered[] = { "-1e10", "-123.5", "-123.45", "-1", "-0.5", "-1e-300", "0",
		"1e-300", "0.09", "0.1", "0.11", "0.5", "1", "1.5", "9.99", "10", "10.5", "100",
		"9007199254740992", "9007199254740993", "1e300", "1e301" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(ordered); i++) {
		for (size_t j = 0; j < ARRAY_SIZE(ordered); j++) {
			struct decimal x, y;
			assert_true(decimal_read(ordered[i], &x) && decimal_read(ordered[j], &y));
			assert_int_equal(decimal_cmp(&x, &y), (i > j) - (i < j));
		}
	}
}

static void test_decimal_spellings(void **state)
{
	static const char *const same[][2] = { { "1", "1.0" }, { "100", "1e2" }, { "0.001", "1E-3" },
		{ "-12.50", "-125e-1" }, { "0", "-0.00e9" }, { "10", "1.0e+1" }, { "120.030", "12003e-2" },
		{ "0.5", "5e-1" } };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(same); i++) {
		AUTO(arena_done) struct arena a = { 0 };
		struct decimal x, y;
		struct buf bx, by;
		assert_true(decimal_read(same[i][0], &x) && decimal_read(same[i][1], &y));
		assert_int_equal(decimal_cmp(&x, &y), 0);
		buf_init(&bx, &a);
		buf_init(&by, &a);
		decimal_write(&bx, &x);
		decimal_write(&by, &y);
		assert_string_equal(bx.p, by.p);
	}
	struct decimal d;
	assert_false(decimal_read("1e99999999999999999999", &d));
	assert_false(decimal_read("1e-3000000000", &d));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cases),
		cmocka_unit_test(test_walls),
		cmocka_unit_test(test_budget),
		cmocka_unit_test(test_long_chain),
		cmocka_unit_test(test_messages),
		cmocka_unit_test(test_decimal_order),
		cmocka_unit_test(test_decimal_spellings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
