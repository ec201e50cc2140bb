/* key_crash_test.c — creating a key when every single system call fails or is the last one: there is no key, or a whole
 * one that loads, and it never changes afterwards. */
#include "proof/key.h"
#include "tools/crash.h"
#include "tools/unit.h"

static int act_create(struct crash *c, struct err *e)
{
	AUTO(key_free) struct key *k = NULL;
	int rc = key_create(&c->f.sys, c->t.fd, "home/keys", "root", &k, e);

	if (!rc)
		crash_ack(c);
	return rc;
}

static void check_create(struct crash *c, const struct crash_end *end)
{
	AUTO(key_free) struct key *k = NULL;
	AUTO(key_free) struct key *other = NULL;
	AUTO(key_free) struct key *again = NULL;
	struct err e = { 0 };
	bool has_key = scratch_has(&c->t, "home/keys/root.key");

	if (end->acks)
		assert_true(has_key && scratch_has(&c->t, "home/keys/root.pub"));
	if (!has_key) {
		/* Nothing stands in the way of the next attempt. */
		assert_int_equal(key_create(sys_real(), c->t.fd, "home/keys", "root", &k, &e), OK);
		return;
	}
	assert_int_equal(key_load(sys_real(), c->t.fd, "home/keys", "root", &k, &e), OK);
	assert_true(key_create(sys_real(), c->t.fd, "home/keys", "root", &other, &e) < 0);
	assert_string_equal(e.code, "KEY_EXISTS");
	assert_int_equal(key_load(sys_real(), c->t.fd, "home/keys", "root", &again, &e), OK);
	assert_memory_equal(key_public(k), key_public(again), SIGN_PUBLIC);
}

static void create(void **state)
{
	(void)state;
	const struct crash_case what = { "key create", NULL, act_create, check_create };

	assert_int_equal(crash_sweep(&what, NULL), 14);
}

static void setup_key(struct crash *c)
{
	AUTO(key_free) struct key *k = NULL;
	struct err e = { 0 };

	assert_int_equal(key_create(sys_real(), c->t.fd, "home/keys", "root", &k, &e), OK);
}

static int act_load(struct crash *c, struct err *e)
{
	AUTO(key_free) struct key *k = NULL;

	return key_load(&c->f.sys, c->t.fd, "home/keys", "root", &k, e);
}

static void check_load(struct crash *c, const struct crash_end *end)
{
	(void)c;
	if (end->fault == CRASH_LOOK)
		assert_int_equal(end->rc < 0, end->fired);
}

/* What cannot be seen is not assumed: no check on the way is passed over because a call failed. */
static void load_blind(void **state)
{
	(void)state;
	const struct crash_case what = { "key load", setup_key, act_load, check_load };

	assert_int_equal(crash_sweep(&what, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(create),
		cmocka_unit_test(load_blind),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
