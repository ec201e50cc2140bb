/* fault_sys_test.c — the twin itself: its clock, its chance, its faults, and what it notices. */
#include "tools/fault_sys.h"
#include "tools/scratch.h"
#include "tools/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/wait.h>

static void clock_and_chance(void **state)
{
	(void)state;
	struct fault f, g;
	uint8_t x[20], y[20];

	fault_init(&f);
	f.has_clock = true;
	f.clock_us = 1000000;
	f.step_us = 5;
	assert_int_equal(f.sys.now_us(&f.sys), 1000000);
	assert_int_equal(f.sys.mono_us(&f.sys), 1000005);
	f.sys.sleep_us(&f.sys, 100);
	assert_int_equal(f.sys.now_us(&f.sys), 1000110);

	fault_init(&g);
	f.has_seed = g.has_seed = true;
	f.seed = g.seed = 7;
	assert_int_equal(f.sys.random(&f.sys, x, sizeof(x)), 0);
	assert_int_equal(g.sys.random(&g.sys, y, sizeof(y)), 0);
	assert_memory_equal(x, y, sizeof(x));
	assert_int_equal(g.sys.random(&g.sys, y, sizeof(y)), 0);
	assert_memory_not_equal(x, y, sizeof(x));

	f.env = (const char *const[]){ "HOME=/h", "HOMER=no", NULL };
	assert_string_equal(f.sys.getenv(&f.sys, "HOME"), "/h");
	assert_null(f.sys.getenv(&f.sys, "PATH"));
}

static void faults(void **state)
{
	(void)state;
	AUTO(scratch_done) struct scratch t;
	struct fault f;

	scratch_open(&t);
	fault_init(&f);
	struct sys *s = &f.sys;
	AUTO(close_fd) int fd = s->open(s, t.fd, "f", O_RDWR | O_CREAT, 0600, 0);
	assert_int_equal(f.calls, 1);
	f.fail_at = 2;
	f.fail_errno = ENOSPC;
	assert_int_equal(s->write(s, fd, "abcd", 4), -1);
	assert_int_equal(errno, ENOSPC);
	assert_true(fault_fired(&f));
	assert_int_equal(s->write(s, fd, "abcd", 4), 4);
	f.fail_at = 0;
	f.short_at = 4;
	assert_int_equal(s->write(s, fd, "efgh", 4), 2);
	assert_string_equal(scratch_get(&t, "f"), "abcdef");
	f.fail_at = 5;
	f.fail_stays = true;
	assert_int_equal(s->sync(s, fd), -1);
	assert_int_equal(s->mkdir(s, t.fd, "d", 0700), -1);
	assert_false(scratch_has(&t, "d"));
	assert_int_equal(s->open(s, t.fd, "gone", O_RDONLY, 0, 0), -1);
	assert_int_equal(errno, ENOENT);
	assert_int_equal(f.calls, 6);
	f.look_fail_at = f.looks + 1;
	f.look_errno = EIO;
	assert_int_equal(s->open(s, t.fd, "f", O_RDONLY, 0, 0), -1);
	assert_int_equal(errno, EIO);
	assert_int_equal(f.calls, 6);
}

static int killed_at(struct scratch *t, bool is_torn)
{
	struct fault f;
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		fault_init(&f);
		*(is_torn ? &f.tear_at : &f.kill_at) = 2;
		int fd = f.sys.open(&f.sys, t->fd, "f", O_WRONLY | O_CREAT | O_TRUNC, 0600, 0);
		(void)!f.sys.write(&f.sys, fd, "abcd", 4);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void kills(void **state)
{
	(void)state;
	AUTO(scratch_done) struct scratch t;

	scratch_open(&t);
	assert_true(WIFSIGNALED(killed_at(&t, false)));
	assert_string_equal(scratch_get(&t, "f"), "");
	assert_true(WIFSIGNALED(killed_at(&t, true)));
	assert_string_equal(scratch_get(&t, "f"), "ab");
}

static void unsynced(void **state)
{
	(void)state;
	AUTO(scratch_done) struct scratch t;
	struct fault f;

	scratch_open(&t);
	fault_init(&f);
	struct sys *s = &f.sys;
	AUTO(close_fd) int fd = s->open(s, t.fd, "f", O_RDWR | O_CREAT, 0600, 0);
	assert_int_equal(f.unsynced_count, 1); /* the name */
	assert_int_equal(s->write(s, fd, "a", 1), 1);
	assert_int_equal(f.unsynced_count, 2); /* and the byte */
	assert_int_equal(s->rename(s, t.fd, "f", t.fd, "g", 0), 0);
	assert_int_equal(f.violations, 1);
	assert_int_equal(s->sync(s, fd), 0);
	assert_int_equal(f.unsynced_count, 1);
	assert_int_equal(s->fsync(s, t.fd), 0);
	assert_int_equal(f.unsynced_count, 0);
	assert_int_equal(s->mkdir(s, t.fd, "d", 0700), 0);
	assert_int_equal(s->truncate(s, fd, 0), 0);
	assert_int_equal(f.unsynced_count, 2);
	assert_int_equal(s->syncfs(s, t.fd), 0);
	assert_int_equal(f.unsynced_count, 0);
	assert_int_equal(f.violations, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(clock_and_chance),
		cmocka_unit_test(faults),
		cmocka_unit_test(kills),
		cmocka_unit_test(unsynced),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
