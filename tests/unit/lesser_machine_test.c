/* lesser_machine_test.c — machines that lack something: a filter in front of a command answers as such a kernel would.
 *
 * `lesser_machine_test --without landlock,namespaces COMMAND...` runs a command on such a machine, for tests of the command line.  Here
 * it is made sure that the filter takes away what it says. */
#include "execute/execute.h"
#include "tools/unit.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int take_away(const char *what)
{
	const uint32_t spaces = 0x7e020000; /* CLONE_NEW*, but for time */
	const bool no_landlock = strstr(what, "landlock"), no_spaces = strstr(what, "namespaces");
	struct sock_filter steps[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, no_landlock ? 444 /* landlock_create_ruleset */ : 0xffff,
			0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, no_spaces ? SYS_clone : 0xffff, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, spaces, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { ARRAY_SIZE(steps), steps };

	if ((!no_landlock && !no_spaces) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0))
		return -1;
	return 0;
}

/* A child behind the filter asks the kernel itself. */
static int ask_behind(const char *what)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		if (take_away(what))
			_exit(111);
		bool has_landlock = sandbox_landlock_abi() > 0;
		long child = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);
		if (child == 0)
			_exit(0);
		_exit((has_landlock ? 1 : 0) | (child < 0 && errno == EPERM ? 0 : 2));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void test_it_is_gone(void **state)
{
	(void)state;
	assert_int_equal(ask_behind("landlock") & 1, 0);
	assert_int_equal(ask_behind("namespaces") & 2, 0);
	assert_int_equal(ask_behind("namespaces") & 1, sandbox_landlock_abi() > 0);
	assert_int_equal(ask_behind("landlock,namespaces"), 0);
	assert_int_equal(ask_behind("nothing"), 111);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_it_is_gone) };

	if (argc > 3 && !strcmp(argv[1], "--without")) {
		if (take_away(argv[2]))
			return 111;
		execvp(argv[3], argv + 3);
		return 127;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
