/* person_test.c — who asks: the nearest program above us that is not only a wrapper. */
#include "kernel/person.h"
#include "tools/unit.h"

#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t first;

/* Asked below processes of these names, outermost first, the caller that is found is `want`, or the nearest of the name "client". */
static void ask_below(const char *const *names, size_t n, pid_t want)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		struct caller caller;
		if (n > 0) {
			prctl(PR_SET_NAME, names[0]);
			ask_below(names + 1, n - 1, strcmp(names[0], "client") ? want : getpid());
			_exit(0);
		}
		person_caller(sys_real(), 0, &caller);
		_exit(caller.pid == want && caller.start_ticks > 0 ? 0 : 1);
	}
	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
		if (getpid() != first)
			_exit(1); /* one of the processes between */
		fail_msg("the caller was taken for another");
	}
}

static void the_nearest_program(void **state)
{
	(void)state;
	static const char *const names[] = { "client", "sh" };

	ask_below(NULL, 0, getpid());
	ask_below(names, 1, getpid());
	ask_below(names, 2, getpid());
}

static void wrappers_are_looked_through(void **state)
{
	static const char *const names[] = { "timeout", "sh" };

	(void)state;
	ask_below(names, 1, getpid());
	ask_below(names + 1, 1, getpid());
	ask_below(names, 2, getpid());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_nearest_program),
		cmocka_unit_test(wrappers_are_looked_through),
	};
	first = getpid();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
