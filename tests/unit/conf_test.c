/* conf_test.c — YAML into the JSON tree: what is read, and all that is refused. */
#include "base/conf.h"
#include "tools/cases.h"
#include "tools/unit.h"

/* A row writes {"token": "1.50"} where it means that number in exactly that spelling. */
static void restore_tokens(struct json *v)
{
	const char *token = json_get_text(v, "token", NULL);

	if (token) {
		*v = (struct json){ .type = JSON_NUMBER, .n = (uint32_t)strlen(token), .text = token };
		return;
	}
	json_each (item, v)
		restore_tokens(item);
	json_each_member (m, v)
		restore_tokens(m->value);
}

static void must_equal(struct arena *a, const char *name, const struct json *got, struct json *want)
{
	struct buf b;

	restore_tokens(want);
	buf_init(&b, a);
	json_canonical(&b, got);
	if (!json_eq(got, want))
		fail_msg("%s: read %s", name, b.p);
}

static void must_name(const char *name, const struct err *e, const struct json *expect)
{
	char place[64];
	int64_t column = json_get_int(expect, "column", 0);

	snprintf(place, sizeof(place), "case:%lld:", (long long)json_get_int(expect, "line", 0));
	if (column)
		snprintf(place + strlen(place), sizeof(place) - strlen(place), "%lld:", (long long)column);
	if (!text_eq(e->code, json_get_text(expect, "error", "")) || !text_starts(e->text, place))
		fail_msg("%s: %s: %s, not at %s", name, e->code, e->text, place);
	assert_non_null(strstr(e->text, " expected "));
	assert_non_null(strstr(e->text, ", found "));
}

static void run_case(struct arena *a, const char *name, const struct json *given, const struct json *expect)
{
	struct json *untouched = (struct json *)1, *v = untouched;
	struct err e = { 0 };
	int rc = conf_parse_yaml(a, cases_bytes(a, given), "case", &v, &e);
	struct json *want = json_get(expect, "json");

	if (want && rc)
		fail_msg("%s: refused: %s", name, e.text);
	if (want) {
		must_equal(a, name, v, want);
		return;
	}
	if (!rc)
		fail_msg("%s: accepted", name);
	assert_ptr_equal(v, untouched);
	must_name(name, &e, expect);
}

static void test_cases(void **state)
{
	(void)state;
	cases_run("tests/cases/yaml.jsonl", run_case);
}

static int parse_repeated(const char *what, size_t count, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct buf b;
	struct json *v;

	buf_init(&b, &a);
	for (size_t i = 0; i < count; i++)
		buf_adds(&b, what);
	return conf_parse_yaml(&a, buf_bytes(&b), "t", &v, e);
}

/* Each of these keeps some YAML reader busy for minutes. */
static void test_limits(void **state)
{
	struct err e;

	(void)state;
	assert_int_equal(parse_repeated("[", 1000000, &e), E_LIMIT);
	assert_string_equal(e.code, "CONF_DEPTH");
	assert_int_equal(parse_repeated("- ", 500000, &e), E_LIMIT);
	assert_string_equal(e.code, "CONF_DEPTH");
	assert_int_equal(parse_repeated("{a: ", 200000, &e), E_LIMIT);
	assert_int_equal(parse_repeated("- a\n", 600000, &e), E_LIMIT);
	assert_string_equal(e.code, "CONF_SIZE");
	assert_int_equal(parse_repeated("# comment\n", 900000, &e), E_LIMIT);
	assert_string_equal(e.code, "CONF_SIZE");
	assert_int_equal(parse_repeated("- a\n", 90000, &e), OK);
}

static void test_many_keys(void **state)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct buf b;
	struct json *v;
	struct err e;

	(void)state;
	buf_init(&b, &a);
	for (int i = 0; i < 40000; i++)
		buf_addf(&b, "key%06d: 1\n", i);
	assert_int_equal(conf_parse_yaml(&a, buf_bytes(&b), "t", &v, &e), OK);
	assert_int_equal(v->n, 40000);
	buf_adds(&b, "key000017: 1\n");
	assert_int_equal(conf_parse_yaml(&a, buf_bytes(&b), "t", &v, &e), E_INPUT);
	assert_string_equal(e.text,
		"t:40001:1: expected each key once, found 'key000017' again (first at line 18, column 1)");
}

/* In bytes, whatever characters stand before it. */
static void test_where_values_begin(void **state)
{
	AUTO(arena_done) struct arena a = { 0 };
	static const char text[] = "größe: ü\nlist:\n  - \"x\"\n  - {k: 7}\n";
	struct json *v;
	struct err e;

	(void)state;
	assert_int_equal(conf_parse_yaml(&a, bytes_of(text), "t", &v, &e), OK);
	assert_memory_equal(text + json_get(v, "größe")->at, "ü", 2);
	const struct json *list = json_get(v, "list");
	assert_memory_equal(text + list->at, "- \"x\"", 5);
	assert_memory_equal(text + json_at(list, 0)->at, "\"x\"", 3);
	assert_memory_equal(text + json_get(json_at(list, 1), "k")->at, "7}", 2);
}

static void test_documents(void **state)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct json *v;
	struct err e;

	(void)state;
	assert_int_equal(conf_parse_yaml_all(&a, bytes_of("a: 1\n---\nb: 2\n"), "t", &v, &e), OK);
	assert_int_equal(v->n, 2);
	assert_int_equal(json_get_int(json_at(v, 1), "b", 0), 2);
	assert_int_equal(conf_parse_yaml_all(&a, bytes_of("# nothing\n"), "t", &v, &e), E_INPUT);
	assert_string_equal(e.code, "CONF_SYNTAX");
	assert_int_equal(conf_parse_yaml_all(&a, bytes_of("a: 1\n---\n[\n"), "t", &v, &e), E_INPUT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cases),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_many_keys),
		cmocka_unit_test(test_where_values_begin),
		cmocka_unit_test(test_documents),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
