/* machine_crash_test.c — whatever call fails or is the last one while the cache of the machine is written, the next look is right. */
#include "base/text.h"
#include "execute/execute.h"
#include "tools/crash.h"
#include "tools/unit.h"

#include <fcntl.h>
#include <sys/stat.h>

static void setup(struct crash *c)
{
	assert_int_equal(mkdirat(c->t.fd, "keys", 0700), 0);
	scratch_put(&c->t, MACHINE_FILE, "{\"version\": 1, \"key\": \"of another boot\"}");
}

static int look(struct crash *c, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct machine m;

	(void)e;
	machine_look(&c->f.sys, &a, c->t.path, &m);
	return OK;
}

static void check(struct crash *c, const struct crash_end *end)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct machine fresh, m;
	struct stat st;

	machine_look(sys_real(), &a, NULL, &fresh);
	machine_look(sys_real(), &a, c->t.path, &m);
	(void)end;
	assert_int_equal(machine_sandbox(&m), machine_sandbox(&fresh));
	assert_int_equal(machine_unmet(&m), machine_unmet(&fresh));
	if (machine_unmet(&fresh))
		return; /* such an answer is not used again */
	machine_look(sys_real(), &a, c->t.path, &m);
	assert_true(m.is_cached);
	assert_int_equal(fstatat(c->t.fd, MACHINE_FILE, &st, AT_SYMLINK_NOFOLLOW), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
}

static void a_cache_survives_every_call(void **state)
{
	static const struct crash_case it = { "machine_look", setup, look, check };

	(void)state;
	assert_true(crash_sweep(&it, NULL) >= 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(a_cache_survives_every_call) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
