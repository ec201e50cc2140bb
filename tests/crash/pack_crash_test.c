/* pack_crash_test.c — exporting a pack when every single system call fails or is the last one: the old file or the whole new
 * one is there, and what was acknowledged verifies. */
#include "base/file.h"
#include "tools/crash.h"
#include "tools/packs.h"
#include "tools/unit.h"

static void put_old(struct crash *c)
{
	key_free(&(struct key *){ packs_key(&c->t) });
	scratch_put(&c->t, "p.tar", "old");
}

static int act_export(struct crash *c, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	AUTO(key_free) struct key *key = packs_key(&c->t);
	struct pack_written w;
	int rc = pack_write(
		&c->f.sys, &a, c->t.fd, "p.tar", &packs_about, packs_items(&a), PACKS_ITEMS, key, &w, e);

	if (!rc)
		crash_ack(c);
	return rc;
}

static void check_export(struct crash *c, const struct crash_end *end)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct bytes archive;
	struct verification v;
	struct pack p;
	struct err e = { 0 };

	assert_int_equal(file_read(sys_real(), &a, c->t.fd, "p.tar", 1 << 20, 0, &archive, &e), OK);
	if (!end->acks && bytes_is(archive, "old"))
		return;
	packs_judge(&a, archive, &v, &p);
	assert_int_equal(verification_headline(&v), HEADLINE_ADMISSIBLE);
}

static void export_pack(void **state)
{
	(void)state;
	const struct crash_case what = { "evidence export", put_old, act_export, check_export };

	assert_true(crash_sweep(&what, NULL) >= 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(export_pack),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
