/* task_tmp_test.c — temporary directories of runs: always empty and untouched, and used again only when nobody did anything to them. */
#include "base/text.h"
#include "kernel/task/parts.h"
#include "tools/scratch.h"
#include "tools/unit.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct scratch dir;
static struct arena a;
static struct sys later; /* the clock is an hour ahead: what was made has rested */
static struct sys sooner; /* and an hour behind: nothing has, however slow the machine is */

static int64_t an_hour_on(struct sys *s)
{
	(void)s;
	return sys_real()->now_us(sys_real()) + 3600 * 1000000LL;
}

static int64_t an_hour_ago(struct sys *s)
{
	(void)s;
	return sys_real()->now_us(sys_real()) - 3600 * 1000000LL;
}

static int begin(void **state)
{
	(void)state;
	scratch_open(&dir);
	later = *sys_real();
	later.now_us = an_hour_on;
	sooner = *sys_real();
	sooner.now_us = an_hour_ago;
	return 0;
}

static int end(void **state)
{
	(void)state;
	scratch_done(&dir);
	arena_done(&a);
	return 0;
}

static ino_t inode_of(const char *path)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	return st.st_ino;
}

/* A spare one of this run, after the first made it. */
static struct task_tmp take_spare(void)
{
	struct task_tmp tmp;
	struct statx x;

	if (statx(dir.fd, "", AT_EMPTY_PATH, STATX_BTIME, &x) || !(x.stx_mask & STATX_BTIME))
		skip_because("no times of birth on this file system");
	task_tmp_take(&later, &a, dir.path, &tmp);
	if (!tmp.name) {
		task_tmp_give(&later, &tmp);
		task_tmp_take(&later, &a, dir.path, &tmp);
	}
	assert_true(tmp.fd >= 0);
	assert_string_equal(tmp.name, "0");
	return tmp;
}

static void test_own_without_rest(void **state)
{
	struct task_tmp tmp;

	(void)state;
	for (int i = 0; i < 2; i++) { /* the second time there is a spare one, too young */
		task_tmp_take(&sooner, &a, dir.path, &tmp);
		assert_non_null(tmp.path);
		assert_null(tmp.name);
		const char *path = tmp.path;
		(void)inode_of(path);
		scratch_put(&dir, arena_printf(&a, "%s/left", path + strlen(dir.path) + 1), "x");
		task_tmp_give(&sooner, &tmp);
		assert_int_equal(access(path, F_OK), -1);
	}
}

static void test_untouched_is_used_again(void **state)
{
	(void)state;
	struct task_tmp tmp = take_spare();
	ino_t first = inode_of(tmp.path);

	task_tmp_give(&later, &tmp);
	tmp = take_spare();
	assert_int_equal(inode_of(tmp.path), first);
	task_tmp_give(&later, &tmp);
}

static void test_used_is_not(void **state)
{
	(void)state;
	struct task_tmp tmp = take_spare();
	const char *file = arena_printf(&a, "%s/file", tmp.path);

	close(open(file, O_CREAT | O_WRONLY, 0600));
	task_tmp_give(&later, &tmp);
	assert_int_equal(access(file, F_OK), -1);

	/* Also when it looks the same again, and when its run was killed before it could give it back. */
	for (int was_killed = 0; was_killed < 2; was_killed++) {
		tmp = take_spare();
		usleep(20000); /* a tick of the file system's clock */
		close(open(file, O_CREAT | O_WRONLY, 0600));
		unlink(file);
		ino_t used = inode_of(tmp.path);
		AUTO(close_fd)
		int hold = open(tmp.path, O_RDONLY | O_DIRECTORY); /* so that the inode is not reused */
		if (was_killed) {
			close(tmp.fd);
			close(tmp.rack);
		} else {
			task_tmp_give(&later, &tmp);
		}
		tmp = take_spare();
		assert_int_not_equal(inode_of(tmp.path), used);
		task_tmp_give(&later, &tmp);
	}
}

static void test_two_at_once(void **state)
{
	(void)state;
	struct task_tmp one = take_spare(), two;

	task_tmp_take(&later, &a, dir.path, &two);
	assert_string_not_equal(one.path, two.path);
	task_tmp_give(&later, &two);
	task_tmp_give(&later, &one);
}

/* A name in /tmp may be somebody else's. */
static void test_foreign_rack(void **state)
{
	const char *rack = arena_printf(&a, "%s/helm-%u", dir.path, geteuid());
	struct task_tmp tmp;

	(void)state;
	assert_int_equal(mkdir(rack, 0700), 0);
	assert_int_equal(chmod(rack, 0777), 0);
	for (int i = 0; i < 2; i++) {
		task_tmp_take(&later, &a, dir.path, &tmp);
		assert_non_null(tmp.path);
		assert_false(text_starts(tmp.path, arena_printf(&a, "%s/", rack)));
		task_tmp_give(&later, &tmp);
	}
}

/* What a run that was killed has left goes with the next one that makes its own; what is in use stays. */
static void test_left_ones_go(void **state)
{
	struct task_tmp killed, used, next;

	(void)state;
	task_tmp_take(sys_real(), &a, dir.path, &killed);
	task_tmp_take(sys_real(), &a, dir.path, &used);
	assert_null(killed.name);
	assert_null(used.name);
	scratch_put(&dir, arena_printf(&a, "%s/left", killed.path + strlen(dir.path) + 1), "x");
	scratch_put(&dir, arena_printf(&a, "%s/file", used.path + strlen(dir.path) + 1), "x");
	close(killed.fd);
	close(killed.rack);
	task_tmp_take(sys_real(), &a, dir.path, &next);
	assert_int_equal(access(killed.path, F_OK), -1);
	assert_int_equal(access(used.path, F_OK), 0);
	task_tmp_give(sys_real(), &used);
	task_tmp_give(sys_real(), &next);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_own_without_rest, begin, end),
		cmocka_unit_test_setup_teardown(test_untouched_is_used_again, begin, end),
		cmocka_unit_test_setup_teardown(test_used_is_not, begin, end),
		cmocka_unit_test_setup_teardown(test_two_at_once, begin, end),
		cmocka_unit_test_setup_teardown(test_left_ones_go, begin, end),
		cmocka_unit_test_setup_teardown(test_foreign_rack, begin, end),
	};

	return cmocka_run_group_tests_name("task_tmp", tests, NULL, NULL);
}
