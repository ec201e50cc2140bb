/* context_crash_test.c — an index that is killed at any of its system calls is caught up or made again, and answers stay the same.
 *
 * The index writes through SQLite, which does not go through struct sys: so a child is traced, and killed before the n-th call that changes a
 * file. */
#include "base/text.h"
#include "remember/context.h"
#include "tools/scratch.h"
#include "tools/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *search(struct scratch *t, struct arena *a, bool no_index)
{
	AUTO(close_fd) int state_fd = openat(t->fd, ".helm", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct context_place at = { sys_real(), a, t->path, arena_printf(a, "%s/.helm", t->path), "helm",
		".helm", NULL, t->fd, state_fd, NULL, false };
	const struct context_query q = { .text = "walrus", .has_no_index = no_index, .is_fresh = true };
	struct context_answer answer = { 0 };
	struct err e = { 0 };
	struct buf names;

	buf_init(&names, a);
	if (context_ask(&at, &q, &answer, &e))
		return arena_strdup(a, e.text);
	json_each (one, answer.results)
		buf_addf(&names, "%s %s\n", json_get_text(one, "title", ""),
			json_get_text(one, "excerpt", ""));
	return names.p;
}

static bool changes_files(long call)
{
	return call == SYS_pwrite64 || call == SYS_write || call == SYS_ftruncate || call == SYS_fdatasync ||
		call == SYS_fsync || call == SYS_unlink || call == SYS_unlinkat;
}

/* The search in a child, killed before its n-th such call.  False: it ended before that. */
static bool killed_at(struct scratch *t, int n)
{
	int status, seen = 0;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		struct arena a = { 0 };
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
			_exit(3);
		raise(SIGSTOP);
		(void)search(t, &a, false);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 3)
		skip();
	assert_int_equal(ptrace(PTRACE_SETOPTIONS, pid, NULL, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL), 0);
	for (bool is_entry = true;; is_entry = !is_entry) {
		struct __ptrace_syscall_info info;
		assert_int_equal(ptrace(PTRACE_SYSCALL, pid, NULL, NULL), 0);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		if (WIFEXITED(status))
			return false;
		assert_true(WIFSTOPPED(status));
		if (ptrace(PTRACE_GET_SYSCALL_INFO, pid, (void *)sizeof(info), &info) <= 0 ||
			info.op != PTRACE_SYSCALL_INFO_ENTRY)
			continue;
		if (changes_files((long)info.entry.nr) && ++seen == n) {
			kill(pid, SIGKILL);
			assert_int_equal(waitpid(pid, &status, 0), pid);
			return true;
		}
	}
}

static void put_notes(struct scratch *t, int from, int to)
{
	AUTO(arena_done) struct arena a = { 0 };

	for (int i = from; i < to; i++)
		scratch_put(t, arena_printf(&a, "notes/n%d.md", i),
			arena_printf(&a, "walrus number %d\nword%d\n", i, i));
}

static void put_rows(struct scratch *t, int n)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct buf rows;

	buf_init(&rows, &a);
	for (int i = 0; i < n; i++)
		buf_addf(&rows,
			"{\"filler\": \"%0100000d\", \"task_id\": \"t%d\", \"task_name\": \"%s %d\"}\n", i, i,
			i % 3 ? "bear" : "walrus", i);
	scratch_put(t, ".helm/task-ledger.jsonl", rows.p);
}

static void check(struct scratch *t, int n)
{
	AUTO(arena_done) struct arena a = { 0 };
	const char *with = search(t, &a, false), *without = search(t, &a, true);

	if (!text_eq(with, without) || !*with)
		fail_msg("killed at %d: with the index\n%s\nwithout\n%s", n, with, without);
}

static void test_killed_anywhere(void **state)
{
	struct scratch t;
	int n = 1;

	(void)state;
	scratch_open_fast(&t);
	assert_int_equal(mkdirat(t.fd, ".helm", 0700), 0);
	assert_int_equal(mkdirat(t.fd, "notes", 0700), 0);
	put_notes(&t, 0, 5);
	put_rows(&t, 12); /* long enough to be taken in */
	/* First while it is made, then while it is caught up: each time with more to take. */
	for (;; n += 1 + n / 16) {
		(void)unlinkat(t.fd, ".helm/context-index.sqlite3", 0);
		(void)unlinkat(t.fd, ".helm/context-index.sqlite3-journal", 0);
		if (!killed_at(&t, n))
			break;
		check(&t, n);
	}
	assert_true(n > 10);
	print_message("killed at %d calls while it was made\n", n - 1);
	for (n = 1; n < 40; n++) {
		put_notes(&t, 5 + n, 6 + n);
		bool was_killed = killed_at(&t, n);
		check(&t, n);
		if (!was_killed)
			break;
	}
	assert_true(n > 3);
	scratch_done(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_killed_anywhere) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
