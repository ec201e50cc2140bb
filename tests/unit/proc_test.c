/* proc_test.c — helper processes: what they get, what they say, and that nothing of them stays behind. */
#include "base/proc.h"
#include "base/text.h"
#include "tools/fault_sys.h"
#include "tools/scratch.h"
#include "tools/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

static struct arena a;
static struct err e;
static struct proc_output got;

static int teardown(void **state)
{
	(void)state;
	arena_done(&a);
	return 0;
}

/* Run a shell text to its end; the streams are in `got`. */
static int run(const char *text, struct bytes input, size_t max_bytes, int timeout_ms)
{
	const char *argv[] = { "sh", "-c", text, NULL };
	const char *env[] = { "PATH=/usr/bin:/bin", "ONLY=this", NULL };
	struct proc_spec spec = PROC_SPEC(argv);
	spec.env = env;

	return proc_capture(sys_real(), &a, &spec, input, max_bytes, timeout_ms, &got, &e);
}

static void capture(void **state)
{
	(void)state;
	assert_int_equal(run("cat; echo oops >&2; exit 7", BYTES_LITERAL("in\0put"), 100, 10000), OK);
	assert_int_equal(got.end.code, 7);
	assert_int_equal(got.end.signal, 0);
	assert_true(bytes_eq(got.out, BYTES_LITERAL("in\0put")));
	assert_true(bytes_is(got.err, "oops\n"));
	assert_false(got.is_cut);

	assert_int_equal(run("true", (struct bytes){ 0 }, 100, -1), OK);
	assert_int_equal(got.end.code, 0);
	assert_int_equal(got.out.n + got.err.n, 0);
	assert_string_equal((const char *)got.out.p, "");
	assert_int_equal(run("kill -TERM $$", (struct bytes){ 0 }, 100, 10000), OK);
	assert_int_equal(got.end.code, 128 + SIGTERM);
	assert_int_equal(got.end.signal, SIGTERM);
}

/* More than a pipe holds, on both streams, and input that is never read. */
static void capture_much(void **state)
{
	(void)state;
	const char *text = "i=0; while [ $i -lt 3000 ]; do echo 0123456789012345678901234567890123456789;"
			   " echo 0123456789012345678901234567890123456789 >&2; i=$((i+1)); done";
	struct bytes input = { arena_zalloc(&a, 1, 1 << 20), 1 << 20 };

	assert_int_equal(run(text, input, 1 << 20, 20000), OK);
	assert_int_equal(got.out.n, 3000 * 41);
	assert_int_equal(got.err.n, 3000 * 41);
	assert_false(got.is_cut);
	assert_int_equal(run(text, input, 1000, 20000), OK);
	assert_int_equal(got.out.n, 1000);
	assert_int_equal(got.end.code, 0);
	assert_true(got.is_cut);
}

static void gets_only_what_is_given(void **state)
{
	(void)state;
	AUTO(close_fd) int leaked = open("/dev/null", O_RDONLY);

	assert_true(leaked >= 0);
	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(
		run("env | grep -vE '^(PWD|SHLVL|_|OLDPWD)=' | sort; ls /proc/self/fd | wc -l; trap -p",
			(struct bytes){ 0 }, 1000, 10000),
		OK);
	/* 0, 1, 2 and the directory that ls itself has open */
	assert_string_equal((const char *)got.out.p, "ONLY=this\nPATH=/usr/bin:/bin\n4\n");
	assert_int_equal(run("grep SigIgn /proc/self/status", (struct bytes){ 0 }, 1000, 10000), OK);
	assert_string_equal((const char *)got.out.p, "SigIgn:\t0000000000000000\n");
	signal(SIGPIPE, SIG_DFL);
}

static void works_where_told(void **state)
{
	(void)state;
	AUTO(scratch_done) struct scratch t;
	const char *argv[] = { "sh", "-c", "echo here >file", NULL };
	struct proc_end end;
	struct proc p;

	scratch_open(&t);
	struct proc_spec spec = PROC_SPEC(argv);
	spec.cwd_fd = t.fd;
	assert_int_equal(proc_start(sys_real(), &spec, &p, &e), OK);
	assert_int_equal(proc_wait(sys_real(), &p, 10000, &end, &e), OK);
	assert_int_equal(end.code, 0);
	assert_int_equal(p.pid, 0);
	assert_string_equal(scratch_get(&t, "file"), "here\n");
}

static void refused(const char *program, const char *path, const char *code)
{
	const char *argv[] = { program, NULL };
	struct proc_spec spec = PROC_SPEC(argv);
	struct proc p = { 0 };

	spec.path = path;

	assert_true(proc_start(sys_real(), &spec, &p, &e) < 0);
	assert_string_equal(e.code, code);
	assert_int_equal(p.pid, 0);
}

static void cannot_start(void **state)
{
	(void)state;
	AUTO(scratch_done) struct scratch t;

	scratch_open(&t);
	scratch_put(&t, "plain", "x");
	scratch_put(&t, "odd", "\x7f not a program");
	assert_int_equal(fchmodat(t.fd, "odd", 0700, 0), 0);
	refused("no-such-program", "/usr/bin:/bin", "PROC_NOT_FOUND");
	refused("/no/such/program", NULL, "PROC_NOT_FOUND");
	refused("plain", t.path, "PROC_NOT_EXECUTABLE");
	refused("odd", t.path, "PROC_NOT_EXECUTABLE");
	refused(t.path, NULL, "PROC_NOT_EXECUTABLE");
	/* Not even a program of that name where we stand. */
	assert_int_equal(fchdir(t.fd), 0);
	refused("odd", ":.:", "PROC_NOT_FOUND");
	assert_int_equal(chdir("/"), 0);

	struct fault f;
	const char *argv[] = { "true", NULL };
	struct proc_spec spec = PROC_SPEC(argv);
	struct proc p = { 0 };
	fault_init(&f);
	f.fail_at = 1;
	f.fail_errno = EAGAIN;
	assert_true(proc_start(&f.sys, &spec, &p, &e) < 0);
	assert_string_equal(e.code, "PROC_START");
}

/* The pipe's write end is held by whoever is still alive of the group; end of file means nobody. */
static void nobody_stays(const char *text, int timeout_ms, int want_rc)
{
	const char *argv[] = { "sh", "-c", text, NULL };
	struct proc_end end;
	struct proc p;
	int alive[2];
	char byte;

	assert_int_equal(pipe2(alive, O_CLOEXEC), 0);
	struct proc_spec spec = PROC_SPEC(argv);
	spec.out_fd = alive[1];
	assert_int_equal(proc_start(sys_real(), &spec, &p, &e), OK);
	close(alive[1]);
	assert_int_equal(proc_wait(sys_real(), &p, timeout_ms, &end, &e), want_rc);
	assert_int_equal(read(alive[0], &byte, 1), 0);
	close(alive[0]);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

static void ends_with_all_it_started(void **state)
{
	(void)state;
	nobody_stays("sleep 1000 & sleep 1000", 30, E_LIMIT);
	assert_string_equal(e.code, "PROC_TIMEOUT");
	nobody_stays("sleep 1000 & exit 0", 10000, OK);
	nobody_stays("trap '' TERM HUP INT; sleep 1000", 30, E_LIMIT);
	/* A grandchild that holds the streams open does not hold us up. */
	assert_int_equal(run("sleep 1000 & echo said", (struct bytes){ 0 }, 100, 60000), OK);
	assert_string_equal((const char *)got.out.p, "said\n");
	got.out.n = 99;
	assert_int_equal(run("echo said; sleep 1000", (struct bytes){ 0 }, 100, 50), E_LIMIT);
	assert_string_equal(e.code, "PROC_TIMEOUT");
	assert_int_equal(got.out.n, 99);
	/* Nor does one that never stops talking. */
	assert_int_equal(run("yes", (struct bytes){ 0 }, 100, 100), E_LIMIT);
}

static void given_up(void **state)
{
	(void)state;
	const char *argv[] = { "sleep", "1000", NULL };
	struct proc_spec spec = PROC_SPEC(argv);
	{
		AUTO(proc_done) struct proc p = { 0 };
		assert_int_equal(proc_start(sys_real(), &spec, &p, &e), OK);
		assert_int_equal(kill(p.pid, SIGSTOP), 0);
	}
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

static void ended_but_not_reaped(void **state)
{
	siginfo_t info;
	pid_t pid = fork();

	(void)state;
	if (pid == 0)
		_exit(0);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	assert_int_equal(proc_start_ticks(sys_real(), pid), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_true(proc_start_ticks(sys_real(), getpid()) > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(capture, teardown),
		cmocka_unit_test_teardown(capture_much, teardown),
		cmocka_unit_test_teardown(gets_only_what_is_given, teardown),
		cmocka_unit_test_teardown(works_where_told, teardown),
		cmocka_unit_test_teardown(cannot_start, teardown),
		cmocka_unit_test_teardown(ends_with_all_it_started, teardown),
		cmocka_unit_test_teardown(given_up, teardown),
		cmocka_unit_test(ended_but_not_reaped),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
