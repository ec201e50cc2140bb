/* sealed_crash_test.c — a sealed document is replaced when every single system call fails or is the last one: it is the old one or the new
 * one, its seal allows it, and the next change works. */
#include "base/sealed.h"
#include "tools/crash.h"
#include "tools/unit.h"

static const struct doc DOC = { .file = "doc.json", .type = JSON_OBJECT, .code = "DOC" };

static int put(struct sys *s, int fd, int64_t value, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct json *doc = json_new(&a, JSON_OBJECT);

	json_seti(&a, doc, "value", value);
	return sealed_replace(s, &a, fd, &DOC, doc, e);
}

static int64_t get(struct crash *c)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct json *doc;
	struct err e = { 0 };

	if (sealed_load(sys_real(), &a, c->t.fd, &DOC, "doc", &doc, &e))
		fail_msg("%s", e.text);
	return json_get_int(doc, "value", 0);
}

static void setup_one(struct crash *c)
{
	struct err e = { 0 };

	assert_int_equal(put(sys_real(), c->t.fd, 1, &e), OK);
}

static int act_replace(struct crash *c, struct err *e)
{
	int rc = put(&c->f.sys, c->t.fd, 2, e);

	if (rc == OK)
		crash_ack(c);
	return rc;
}

static void check_replace(struct crash *c, const struct crash_end *end)
{
	struct err e = { 0 };
	int64_t value = get(c);

	assert_true(value <= 2);
	if (end->acks)
		assert_int_equal(value, 2);
	assert_int_equal(put(sys_real(), c->t.fd, 3, &e), OK);
	assert_int_equal(get(c), 3);
}

static void replace(void **state)
{
	(void)state;
	const struct crash_case first = { "sealed first", NULL, act_replace, check_replace };
	const struct crash_case next = { "sealed next", setup_one, act_replace, check_replace };

	crash_sweep(&first, NULL);
	crash_sweep(&next, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(replace) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
