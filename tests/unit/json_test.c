/* json_test.c — the strict parser, the tree and the writers. */
#include "base/json.h"
#include "base/scan.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

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
	return b.p;
}

static const char *canonical(struct arena *a, const char *text)
{
	return written(a, parse(a, text), JSON_SORT);
}

static void test_accepts(void **state)
{
	static const char *const texts[] = { "null", " true ", "\tfalse\n", "0", "-0", "1e2", "-1.50E+10", "\"\"",
		"\"a\\n\\u00e9\\ud83d\\ude00\"", "[]", "{}", "[[],{}]", "{\"a\":[1,2,{\"b\":null}],\"c\":\"d\"}",
		" [ 1 , 2 ] ", "{ \"a\" : 1 , \"b\" : 2 }", "\"\\u0000\"", "\"\x7f\"", "12345678901234567890123" };

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct json *v = parse(*state, texts[i]);
		struct json *again = parse(*state, written(*state, v, 0));
		assert_true(json_eq(v, again));
	}
}

static void test_canonical(void **state)
{
	assert_string_equal(canonical(*state, "{\"b\" : 1e2, \"a\" : [ 1, -0 ]}"), "{\"a\":[1,-0],\"b\":1e2}");
	assert_string_equal(canonical(*state, "{\"\\ufffd\":1,\"\\ud800\\udc00\":2}"),
		"{\"\xf0\x90\x80\x80\":2,\"\xef\xbf\xbd\":1}");
	assert_string_equal(canonical(*state, "\"\\u001f\\u0008\\/<\\u2028\\u007f\""),
		"\"\\u001f\\b/<\xe2\x80\xa8\x7f\"");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_accepts, setup, teardown),
		cmocka_unit_test_setup_teardown(test_canonical, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
