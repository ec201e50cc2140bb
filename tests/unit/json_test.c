/* json_test.c — the strict parser, the tree and the writers. */
#include "base/json.h"
#include "tools/cases.h"
#include "tools/unit.h"

#include <math.h>

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

static struct json *parse(struct arena *a, const char *text)
{
	struct json *v = NULL;
	struct err e = { 0 };

	if (json_parse(a, bytes_of(text), "test", NULL, &v, &e))
		fail_msg("%s: %s", text, e.text);
	return v;
}

static const char *written(struct arena *a, const struct json *v, unsigned flags)
{
	struct buf b;

	buf_init(&b, a);
	json_write(&b, v, flags);
	assert_int_equal(strlen(b.p), b.n);
	return b.p;
}

/* ---- cases ---- */

static void expect_canonical(struct arena *a, const char *name, const struct json *v, const char *want)
{
	const char *got = written(a, v, JSON_SORT);

	if (!text_eq(got, want))
		fail_msg("%s: wrote %s", name, got);
	struct json *again = parse(a, got);
	assert_true(json_eq(v, again));
	assert_string_equal(written(a, again, JSON_SORT), want);
	assert_string_equal(written(a, parse(a, written(a, v, JSON_INDENT)), JSON_SORT), want);
	assert_string_equal(written(a, parse(a, written(a, v, JSON_HTML_SAFE)), JSON_SORT), want);
}

static void expect_error(const char *name, const struct err *e, const struct json *expect)
{
	char place[64];

	snprintf(place, sizeof(place), "case:%lld:%lld: expected ",
		(long long)json_get_int(expect, "line", 0), (long long)json_get_int(expect, "column", 0));
	if (!text_eq(e->code, json_get_text(expect, "error", "")) || !text_starts(e->text, place))
		fail_msg("%s: %s: %s, not at %s", name, e->code, e->text, place);
	assert_non_null(strstr(e->text, ", found "));
	/* Whatever was in the text, the message is one line that a terminal can be shown. */
	assert_int_equal(text_utf8_valid(e->text, strlen(e->text)), strlen(e->text));
	for (const char *p = e->text; *p; p++)
		assert_true((uint8_t)*p >= 0x20 && *p != 0x7f);
}

static void run_case(struct arena *a, const char *name, const struct json *given, const struct json *expect)
{
	struct json *untouched = (struct json *)1, *v = untouched;
	struct err e = { 0 };
	struct bytes text = cases_bytes(a, given);
	int rc = json_parse(a, text, "case", NULL, &v, &e);
	const char *want = json_get_text(expect, "canonical", NULL);

	if (want && rc)
		fail_msg("%s: refused: %s", name, e.text);
	if (want) {
		expect_canonical(a, name, v, want);
		return;
	}
	if (!rc)
		fail_msg("%s: accepted", name);
	assert_ptr_equal(v, untouched);
	assert_int_equal(rc, e.rc);
	expect_error(name, &e, expect);
}

static void test_cases(void **state)
{
	(void)state;
	cases_run("tests/cases/canonical.jsonl", run_case);
}

/* Every beginning of a good document is refused, and without reading past its end. */
static void test_every_prefix(void **state)
{
	const char *whole =
		"{\"a\":[1,-2.5e+3,\"x\\u00e9\xc3\xa9\\\\\",true],\"b\":{\"c\":null},\"d\":false}";
	struct json *v;

	for (size_t n = 0; n < strlen(whole); n++) {
		char *exact = malloc(n ? n : 1);
		assert_non_null(exact);
		memcpy(exact, whole, n);
		assert_int_equal(
			json_parse(*state, (struct bytes){ (uint8_t *)exact, n }, NULL, NULL, &v, NULL),
			E_INPUT);
		free(exact);
	}
	parse(*state, whole);
}

/* ---- limits ---- */

static char *repeated(struct arena *a, const char *what, size_t count)
{
	struct buf b;

	buf_init(&b, a);
	for (size_t i = 0; i < count; i++)
		buf_adds(&b, what);
	return b.p;
}

static int parse_limited(struct arena *a, const char *text, struct json_limits lim, struct err *e)
{
	struct json *v;

	return json_parse(a, bytes_of(text), "t", &lim, &v, e);
}

static void test_depth_limit(void **state)
{
	struct err e;
	char *million = repeated(*state, "[", 1000000);

	assert_int_equal(parse_limited(*state, million, (struct json_limits){ 0 }, &e), E_LIMIT);
	assert_string_equal(e.code, "JSON_DEPTH");
	assert_string_equal(e.text, "t:1:65: expected nesting of at most 64, found more");
	/* A caller cannot allow more than the writers can walk. */
	assert_int_equal(
		parse_limited(*state, million, (struct json_limits){ .depth = UINT32_MAX }, &e), E_LIMIT);
	assert_int_equal(parse_limited(*state, "[[[]]]", (struct json_limits){ .depth = 3 }, &e), OK);
	assert_int_equal(parse_limited(*state, "[[[]]]", (struct json_limits){ .depth = 2 }, &e), E_LIMIT);
	assert_int_equal(
		parse_limited(*state, "[{\"a\":{}}]", (struct json_limits){ .depth = 2 }, &e), E_LIMIT);
}

static void test_deepest(void **state)
{
	struct json_limits lim = { .depth = JSON_DEEPEST };
	struct buf b;
	struct json *v;
	struct err e;

	buf_init(&b, *state);
	buf_adds(&b, repeated(*state, "[", JSON_DEEPEST));
	buf_adds(&b, repeated(*state, "]", JSON_DEEPEST));
	assert_int_equal(json_parse(*state, buf_bytes(&b), NULL, &lim, &v, &e), OK);
	assert_string_equal(written(*state, v, JSON_SORT), b.p);
	assert_true(json_eq(v, json_copy(*state, v)));
	assert_null(json_copy(*state, json_get(v, "is not there")));
}

static void test_size_limits(void **state)
{
	struct err e;

	assert_int_equal(parse_limited(*state, "[1,2]", (struct json_limits){ .size_bytes = 5 }, &e), OK);
	assert_int_equal(
		parse_limited(*state, "[1,2] ", (struct json_limits){ .size_bytes = 5 }, &e), E_LIMIT);
	assert_string_equal(e.code, "JSON_SIZE");
	assert_int_equal(
		parse_limited(*state, "[1,2]", (struct json_limits){ .size_bytes = SIZE_MAX }, &e), OK);
	assert_int_equal(parse_limited(*state, "[1,2]", (struct json_limits){ .max_nodes = 3 }, &e), OK);
	assert_int_equal(parse_limited(*state, "[1,2]", (struct json_limits){ .max_nodes = 2 }, &e), E_LIMIT);
	assert_string_equal(e.text, "t:1:4: expected a number of values of at most 2, found more");
}

/* Names chosen to look alike by length, head and tail, in numbers where comparing each with each would take minutes. */
static void test_hostile_names(void **state)
{
	struct buf b;
	struct json *v;
	struct err e;

	buf_init(&b, *state);
	for (int i = 0; i < 200000; i++)
		buf_addf(&b, "%c\"samehead%07dsametail\":0", i ? ',' : '{', i);
	buf_addc(&b, '}');
	assert_int_equal(json_parse(*state, buf_bytes(&b), NULL, NULL, &v, &e), OK);
	assert_int_equal(v->n, 200000);
	assert_true(json_eq(v, json_copy(*state, v)));
	b.n--;
	buf_adds(&b, ",\"samehead0000007sametail\":1}");
	assert_int_equal(json_parse(*state, buf_bytes(&b), NULL, NULL, &v, &e), E_INPUT);
	assert_string_equal(e.code, "JSON_DUPLICATE_KEY");
}

static void test_many_children(void **state)
{
	struct json *v = json_new(*state, JSON_ARRAY);

	for (int i = 0; i < 5000; i++) {
		struct json *o = json_new(*state, JSON_OBJECT);
		json_seti(*state, o, "i", i);
		json_push(*state, v, o);
	}
	struct json *again = parse(*state, written(*state, v, 0));
	assert_true(json_eq(v, again));
	assert_int_equal(json_get_int(json_at(again, 4999), "i", -1), 4999);
}

/* ---- reading ---- */

static void test_reading(void **state)
{
	struct json *v = parse(*state,
		"{\"s\":\"text\",\"n\":-42,\"f\":1.0,\"e\":1e2,\"big\":9223372036854775808,\"t\":true,\"z\":"
		"\"a\\u0000b\","
		"\"l\":[1,2,3],\"nothing\":null}");
	int64_t sum = 0, number = 7;
	int members = 0;

	assert_string_equal(json_get_text(v, "s", "no"), "text");
	assert_string_equal(json_get_text(v, "n", "no"), "no");
	assert_null(json_text(json_get(v, "z")));
	assert_int_equal(json_get(v, "z")->n, 3);
	assert_int_equal(json_get_int(v, "n", 0), -42);
	assert_int_equal(json_get_int(v, "f", 5), 5);
	assert_int_equal(json_get_int(v, "e", 5), 5);
	assert_false(json_int(json_get(v, "big"), &number));
	assert_int_equal(number, 7);
	assert_true(json_get_bool(v, "t", false));
	assert_true(json_get_bool(v, "nothing", true));
	assert_null(json_get(v, "missing"));
	assert_null(json_get(json_get(v, "l"), "x"));
	assert_null(json_at(v, 0));
	assert_null(json_at(json_get(v, "l"), 3));
	json_each (item, json_get(v, "l"))
		sum += json_int(item, &number) ? number : 0;
	assert_int_equal(sum, 6);
	json_each (item, v)
		fail_msg("an object has no items: %p", (void *)item);
	json_each_member (m, v)
		members += m->value != NULL;
	assert_int_equal(members, 9);
	assert_string_equal(json_type_name(NULL), "nothing");
	assert_string_equal(json_type_name(v), "object");
	assert_int_equal(json_get(v, "n")->at, 16);
}

static void test_number_token_ends(void **state)
{
	assert_string_equal(parse(*state, "1 ")->text, "1");
	assert_string_equal(parse(*state, "-0.5e3")->text, "-0.5e3");
	struct json *v = parse(*state, "[1,2 ,3\n,[4],{\"a\":5}]");
	assert_string_equal(json_at(v, 0)->text, "1");
	assert_string_equal(json_at(v, 1)->text, "2");
	assert_string_equal(json_at(v, 2)->text, "3");
	assert_string_equal(json_at(json_at(v, 3), 0)->text, "4");
	assert_string_equal(json_get(json_at(v, 4), "a")->text, "5");
}

static void test_equality(void **state)
{
	struct json *v = parse(*state, "{\"a\":[1,{\"b\":null}],\"c\":\"d\"}");

	assert_true(json_eq(v, parse(*state, "{\"c\":\"d\",\"a\":[1,{\"b\":null}]}")));
	assert_false(json_eq(v, parse(*state, "{\"c\":\"d\",\"a\":[1,{\"b\":0}]}")));
	assert_false(json_eq(v, parse(*state, "{\"c\":\"d\",\"x\":[1,{\"b\":null}]}")));
	assert_false(json_eq(parse(*state, "[1,2]"), parse(*state, "[2,1]")));
	assert_false(json_eq(parse(*state, "1"), parse(*state, "1.0")));
	assert_false(json_eq(parse(*state, "1"), parse(*state, "\"1\"")));
	assert_false(json_eq(v, NULL));
	struct json *large = json_new(*state, JSON_OBJECT);
	for (int i = 0; i < 40; i++)
		json_seti(*state, large, arena_printf(*state, "%d", i), i);
	struct json *other = json_copy(*state, large);
	assert_true(json_eq(large, other));
	json_seti(*state, other, "17", 0);
	assert_false(json_eq(large, other));
	json_remove(other, "17");
	json_seti(*state, other, "x17", 17);
	assert_false(json_eq(large, other));
	assert_true(json_eq(NULL, NULL));
}

/* ---- building ---- */

static void test_building(void **state)
{
	struct arena *a = *state;
	struct json *o = json_new(a, JSON_OBJECT), *l = json_new(a, JSON_ARRAY);

	json_sets(a, o, "s", "text");
	json_sets(a, o, "none", NULL);
	json_seti(a, o, "i", INT64_MIN);
	json_setb(a, o, "b", true);
	json_set(a, o, "l", l);
	for (int i = 0; i < 20; i++)
		json_push(a, l, json_stringf(a, "%d", i));
	json_pushs(a, l, NULL);
	json_sets(a, o, "s", "again");
	assert_true(json_remove(o, "none"));
	assert_false(json_remove(o, "none"));
	assert_string_equal(written(a, o, 0),
		"{\"s\":\"again\",\"i\":-9223372036854775808,\"b\":true,\"l\":[\"0\",\"1\",\"2\",\"3\",\"4\","
		"\"5\",\"6\",\"7\","
		"\"8\",\"9\",\"10\",\"11\",\"12\",\"13\",\"14\",\"15\",\"16\",\"17\",\"18\",\"19\",null]}");
	struct json *copy = json_copy(a, o);
	json_sets(a, o, "s", "changed");
	assert_string_equal(json_get_text(copy, "s", ""), "again");
	const char *wide = repeated(a, "0123456789", 100);
	assert_string_equal(json_text(json_stringf(a, "%s", wide)), wide);
}

static void test_growing_a_parsed_tree(void **state)
{
	struct json *v = parse(*state, "{\"a\":[],\"b\":[1]}");

	json_push(*state, json_get(v, "a"), json_number(*state, 1));
	json_push(*state, json_get(v, "b"), json_number(*state, 2));
	json_seti(*state, v, "c", 3);
	assert_string_equal(written(*state, v, 0), "{\"a\":[1],\"b\":[1,2],\"c\":3}");
}

/* ---- writing ---- */

static void test_spellings(void **state)
{
	struct json *v = parse(*state, "{\"b\":[1,[],{}],\"a\":\"<&>\\u2028\\u2029\\u20aa\\n\"}");

	assert_string_equal(written(*state, v, JSON_INDENT),
		"{\n  \"b\": [\n    1,\n    [],\n    {}\n  ],\n  \"a\": \"<&>\u2028\u2029\u20aa\\n\"\n}");
	assert_string_equal(written(*state, v, JSON_HTML_SAFE),
		"{\"b\":[1,[],{}],\"a\":\"\\u003c\\u0026\\u003e\\u2028\\u2029\u20aa\\n\"}");
	assert_string_equal(written(*state, v, JSON_SPACED | JSON_SORT),
		"{\"a\": \"<&>\u2028\u2029\u20aa\\n\", \"b\": [1, [], {}]}");
	v = parse(*state, "{\"\U0001F600\":1,\"\ufb33\":2}");
	assert_string_equal(written(*state, v, JSON_SORT_BYTES), "{\"\ufb33\":2,\"\U0001F600\":1}");
	assert_string_equal(written(*state, v, JSON_SORT), "{\"\U0001F600\":1,\"\ufb33\":2}");
	v = parse(*state, "{\"ab\":1,\"a\":2,\"\":3}");
	assert_string_equal(written(*state, v, JSON_SORT_BYTES), "{\"\":3,\"a\":2,\"ab\":1}");
	assert_string_equal(written(*state, NULL, 0), "null");
	/* neighbours of what is escaped for pages */
	v = parse(*state, "\"\u2014\u2027\u202a\\u007f\\u001f\"");
	assert_string_equal(written(*state, v, JSON_HTML_SAFE), "\"\u2014\u2027\u202a\x7f\\u001f\"");
}

/* Of several repeated names, the one whose repetition comes first in the text is reported. */
static void test_first_repetition(void **state)
{
	static const struct {
		const char *names;
		uint32_t first, again;
	} cases[] = { { "abba", 1, 2 }, { "aabb", 0, 1 }, { "bbaa", 0, 1 }, { "abcabc", 0, 3 },
		{ "aaa", 0, 1 } };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct json_member members[8];
		uint32_t first = 9, again = 9, n = (uint32_t)strlen(cases[i].names);
		for (uint32_t k = 0; k < n; k++)
			members[k] = (struct json_member){ cases[i].names + k, 1, NULL };
		assert_true(json_duplicate(members, n, &first, &again));
		assert_int_equal(first, cases[i].first);
		assert_int_equal(again, cases[i].again);
		assert_false(json_duplicate(members, 0, &first, &again));
	}
}

static void test_sorting_many(void **state)
{
	struct json *v = json_new(*state, JSON_OBJECT);

	for (int i = 0; i < 500; i++)
		json_seti(*state, v, arena_printf(*state, "common-prefix-%03d", i * 7 % 500), i);
	struct json *sorted = parse(*state, written(*state, v, JSON_SORT));
	assert_string_equal(written(*state, sorted, 0), written(*state, v, JSON_SORT_BYTES));
	for (uint32_t i = 0; i < 500; i++)
		assert_string_equal(sorted->members[i].name, arena_printf(*state, "common-prefix-%03u", i));
}

static int strict(struct arena *a, const char *text, struct buf *b, struct err *e)
{
	buf_init(b, a);
	buf_adds(b, "before");
	return json_canonical_strict(b, parse(a, text), e);
}

static void test_strict(void **state)
{
	static const struct {
		const char *text, *path;
	} refused[] = { { "1.0", "$ " }, { "{\"a\":1e2}", "$.a " }, { "{\"a\":[0,1,-0]}", "$.a[2] " },
		{ "[9007199254740992]", "$[0] " }, { "-9007199254740992", "$ " },
		{ "[[],{\"a\":{}},1234567890123456789012345678901234567890123]", "$[2] " },
		{ "10000000000000000", "$ " }, { "{\"b\":1.5,\"a\":{\"c\":2.5}}", "$.a.c " } };
	struct buf b;
	struct err e;

	assert_int_equal(
		strict(*state, "{\"b\":[9007199254740991,-9007199254740991,0],\"a\":-1}", &b, &e), OK);
	assert_string_equal(b.p, "before{\"a\":-1,\"b\":[9007199254740991,-9007199254740991,0]}");
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
		assert_int_equal(strict(*state, refused[i].text, &b, &e), E_INPUT);
		assert_string_equal(e.code, "non_interoperable_number");
		if (!strstr(e.text, arena_printf(*state, " at %s", refused[i].path)))
			fail_msg("%s", e.text);
		assert_string_equal(b.p, "before");
	}
}

static void test_doubles(void **state)
{
	static const struct {
		double value;
		const char *text;
	} rows[] = { { 0, "0" }, { -0.0, "0" }, { 1, "1" }, { -1.5, "-1.5" }, { 0.1, "0.1" }, { 100, "100" },
		{ 1e20, "100000000000000000000" }, { 1e21, "1e+21" },
		{ 123456789012345680000.0, "123456789012345680000" }, { 0.000001, "0.000001" },
		{ 1e-7, "1e-7" }, { 1.25e-9, "1.25e-9" }, { 0.1 + 0.2, "0.30000000000000004" },
		{ 5e-324, "5e-324" }, { 1.7976931348623157e308, "1.7976931348623157e+308" },
		{ 0x1p-44, "5.684341886080802e-14" }, { 9007199254740993.0, "9007199254740992" },
		{ 1.0 / 3, "0.3333333333333333" }, { 2.2250738585072014e-308, "2.2250738585072014e-308" },
		{ 9.5e-7, "9.5e-7" } };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_string_equal(json_double(*state, rows[i].value)->text, rows[i].text);
	assert_true(json_is(json_double(*state, NAN), JSON_NULL));
	assert_true(json_is(json_double(*state, -INFINITY), JSON_NULL));
	for (int power = -1074; power < 1024; power++) {
		const char *text = json_double(*state, ldexp(1, power))->text;
		assert_true(strtod(text, NULL) == ldexp(1, power));
	}
}

static void test_name_order(void **state)
{
	static const char *const ordered[] = { "", "A", "a", "aa", "a\x7f", "\u00e9", "\ud7ff", "\U00010000",
		"\U0010ffff", "\ue000", "\uffff" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(ordered); i++) {
		for (size_t j = 0; j < ARRAY_SIZE(ordered); j++) {
			int order =
				json_name_cmp(ordered[i], strlen(ordered[i]), ordered[j], strlen(ordered[j]));
			assert_int_equal((order > 0) - (order < 0), (i > j) - (i < j));
		}
	}
}

/* What is written can be read again, whatever bytes a name had; what is hashed are the bytes themselves. */
static void test_bytes_that_are_no_text(void **state)
{
	struct arena *a = *state;
	struct json *doc = json_new(a, JSON_OBJECT), *list = json_new(a, JSON_ARRAY), *again;
	struct buf text, raw;

	json_pushs(a, list, "x\xff");
	json_push(a, list, json_number(a, 1));
	json_set(a, doc, "\xfe", list);
	buf_init(&text, a);
	buf_adds(&text, "before ");
	json_write(&text, doc, 0);
	assert_string_equal(text.p, "before {\"\\\\xFE\":[\"x\\\\xFF\",1]}");
	buf_init(&raw, a);
	json_canonical(&raw, doc);
	assert_string_equal(raw.p, "{\"\xfe\":[\"x\xff\",1]}");
	json_make_utf8(a, doc);
	assert_string_equal(json_text(json_at(json_get(doc, "\\xFE"), 0)), "x\\xFF");
	assert_int_equal(json_parse(a, bytes_of(text.p + 7), "x", NULL, &again, NULL), OK);
	assert_true(json_eq(doc, again));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_cases, setup, teardown),
		cmocka_unit_test_setup_teardown(test_every_prefix, setup, teardown),
		cmocka_unit_test_setup_teardown(test_depth_limit, setup, teardown),
		cmocka_unit_test_setup_teardown(test_deepest, setup, teardown),
		cmocka_unit_test_setup_teardown(test_size_limits, setup, teardown),
		cmocka_unit_test_setup_teardown(test_hostile_names, setup, teardown),
		cmocka_unit_test_setup_teardown(test_many_children, setup, teardown),
		cmocka_unit_test_setup_teardown(test_reading, setup, teardown),
		cmocka_unit_test_setup_teardown(test_number_token_ends, setup, teardown),
		cmocka_unit_test_setup_teardown(test_equality, setup, teardown),
		cmocka_unit_test_setup_teardown(test_building, setup, teardown),
		cmocka_unit_test_setup_teardown(test_growing_a_parsed_tree, setup, teardown),
		cmocka_unit_test_setup_teardown(test_spellings, setup, teardown),
		cmocka_unit_test_setup_teardown(test_first_repetition, setup, teardown),
		cmocka_unit_test_setup_teardown(test_sorting_many, setup, teardown),
		cmocka_unit_test_setup_teardown(test_strict, setup, teardown),
		cmocka_unit_test_setup_teardown(test_doubles, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bytes_that_are_no_text, setup, teardown),
		cmocka_unit_test_setup_teardown(test_name_order, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
