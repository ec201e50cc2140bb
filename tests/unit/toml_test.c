/* toml_test.c — the part of TOML that is read, and all that is refused. */
#include "base/toml.h"
#include "tools/cases.h"
#include "tools/unit.h"

static void run_case(struct arena *a, const char *name, const struct json *given, const struct json *expect)
{
	struct json *untouched = (struct json *)1, *v = untouched;
	const struct json *want = json_get(expect, "json");
	struct err e = { 0 };
	int rc = toml_parse(a, cases_bytes(a, given), "case", &v, &e);

	if (want) {
		if (rc || !json_eq(v, want))
			fail_msg("%s: %s", name, rc ? e.text : "another tree");
		return;
	}
	const char *place = arena_printf(a, "case:%lld:%lld: expected ",
		(long long)json_get_int(expect, "line", 0), (long long)json_get_int(expect, "column", 0));
	if (!rc || !text_eq(e.code, json_get_text(expect, "error", "")) || !text_starts(e.text, place) ||
		!strstr(e.text, ", found "))
		fail_msg("%s: %s: %s, not at %s", name, rc ? e.code : "accepted", e.text, place);
	assert_ptr_equal(v, untouched);
}

static void test_cases(void **state)
{
	(void)state;
	cases_run("tests/cases/toml.jsonl", run_case);
}

static void test_size_and_places(void **state)
{
	AUTO(arena_done) struct arena a = { 0 };
	static const char text[] = "# ü\n[t]\nx = [1, 'y']\n";
	size_t n = (1 << 20) + 1;
	char *large = arena_alloc(&a, n);
	struct json *v;
	struct err e;

	(void)state;
	__builtin_memset(large, '\n', n);
	assert_int_equal(toml_parse(&a, (struct bytes){ (uint8_t *)large, n }, "t", &v, &e), E_LIMIT);
	assert_string_equal(e.code, "TOML_SIZE");
	assert_int_equal(toml_parse(&a, bytes_of("x"), NULL, &v, NULL), E_INPUT);
	assert_int_equal(toml_parse(&a, bytes_of(text), "t", &v, &e), OK);
	assert_memory_equal(text + json_get(v, "t")->at, "[t]", 3);
	assert_memory_equal(text + json_at(json_get(json_get(v, "t"), "x"), 1)->at, "'y'", 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cases),
		cmocka_unit_test(test_size_and_places),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
