/* doc_test.c — one document in one file: what is missing is empty, what cannot be understood is never empty. */
#include "base/doc.h"
#include "base/text.h"
#include "tools/scratch.h"
#include "tools/unit.h"

#include <string.h>

static const struct doc THINGS = {
	.file = "things.json", .lock = "things.lock", .type = JSON_OBJECT, .code = "THINGS"
};
static const struct doc ROWS = { .file = "rows.json", .type = JSON_ARRAY, .max_bytes = 32, .code = "ROWS" };

static void missing_is_empty(void **state)
{
	AUTO(arena_done) struct arena a = { 0 };
	AUTO(scratch_done) struct scratch t;
	struct json *doc = NULL;
	struct err e = { 0 };

	(void)state;
	scratch_open(&t);
	assert_int_equal(doc_load(sys_real(), &a, t.fd, &THINGS, &doc, &e), OK);
	assert_true(json_is(doc, JSON_OBJECT) && !doc->n);
	assert_int_equal(doc_load(sys_real(), &a, t.fd, &ROWS, &doc, &e), OK);
	assert_true(json_is(doc, JSON_ARRAY) && !doc->n);
	assert_false(scratch_has(&t, "things.json"));
}

/* Whoever took these for empty would write them back empty. */
static void damaged_is_an_error(void **state)
{
	static const char *const texts[] = { "", "{", "[]", "null", "{\"a\":1}{", "{\"a\":1,\"a\":2}" };
	AUTO(arena_done) struct arena a = { 0 };
	AUTO(scratch_done) struct scratch t;
	struct json *doc = NULL;
	struct err e = { 0 };

	(void)state;
	scratch_open(&t);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		scratch_put(&t, "things.json", texts[i]);
		assert_int_not_equal(doc_load(sys_real(), &a, t.fd, &THINGS, &doc, &e), OK);
		assert_null(doc);
		assert_non_null(strstr(e.text, "things.json"));
	}
	scratch_put(&t, "things.json", "[]");
	assert_int_equal(doc_load(sys_real(), &a, t.fd, &THINGS, &doc, &e), E_CORRUPT);
	assert_string_equal(e.code, "THINGS");
	scratch_put(&t, "rows.json", "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]");
	assert_int_not_equal(doc_load(sys_real(), &a, t.fd, &ROWS, &doc, &e), OK);
}

/* A newer release may mean something else by the same members. */
static void newer_is_refused(void **state)
{
	static const struct {
		const char *text;
		bool is_read;
	} texts[] = { { "{}", true }, { "{\"v\": 1}", true }, { "{\"v\": 2}", true }, { "{\"v\": 0}", true },
		{ "{\"v\": \"helm-things/2\"}", true }, { "{\"v\": \"helm-things/v1\"}", true },
		{ "{\"v\": 3}", false }, { "{\"v\": 99999999999999999999}", false },
		{ "{\"v\": 2.5}", false }, { "{\"v\": \"helm-things/v3\"}", false },
		{ "{\"v\": \"helm\"}", false }, { "{\"v\": \"\"}", false }, { "{\"v\": null}", false },
		{ "{\"v\": [1]}", false } };
	AUTO(arena_done) struct arena a = { 0 };
	AUTO(scratch_done) struct scratch t;
	struct doc d = THINGS;

	(void)state;
	scratch_open(&t);
	d.newest = 2;
	d.version = "v";
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct json *doc = NULL;
		struct err e = { 0 };
		scratch_put(&t, "things.json", texts[i].text);
		int rc = doc_load(sys_real(), &a, t.fd, &d, &doc, &e);
		assert_int_equal(rc, texts[i].is_read ? OK : E_IO);
		assert_int_equal(doc_is_newer(&e), !texts[i].is_read);
		assert_int_equal(doc != NULL, texts[i].is_read);
		if (!texts[i].is_read)
			assert_non_null(strstr(e.text, "things.json"));
	}
	scratch_put(&t, "things.json", "{\"v\": 99}");
	struct json *doc = NULL;
	assert_int_equal(doc_load(sys_real(), &a, t.fd, &THINGS, &doc, NULL), OK); /* it has no version */
}

static void what_was_replaced_is_read(void **state)
{
	AUTO(arena_done) struct arena a = { 0 };
	AUTO(scratch_done) struct scratch t;
	struct json *doc, *again;
	struct err e = { 0 };

	(void)state;
	scratch_open(&t);
	assert_int_equal(doc_load(sys_real(), &a, t.fd, &THINGS, &doc, &e), OK);
	json_sets(&a, doc_part(&a, doc, "part"), "name", "value");
	assert_ptr_equal(doc_part(&a, doc, "part"), json_get(doc, "part"));
	assert_int_equal(doc_replace(sys_real(), &a, t.fd, &THINGS, doc, &e), OK);
	assert_int_equal(doc_load(sys_real(), &a, t.fd, &THINGS, &again, &e), OK);
	assert_true(json_eq(doc, again));
	assert_string_equal(
		scratch_get(&t, "things.json"), "{\n  \"part\": {\n    \"name\": \"value\"\n  }\n}\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(missing_is_empty),
		cmocka_unit_test(damaged_is_an_error),
		cmocka_unit_test(newer_is_refused),
		cmocka_unit_test(what_was_replaced_is_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
