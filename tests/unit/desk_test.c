/* desk_test.c — the desk ends when it is told to, and when there is none; it never turns round and round. */
#include "execute/execute.h"

#include "tools/unit.h"

#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

static void test_ends(void **state)
{
	struct desk_caller caller;
	int pipes[2], stop = eventfd(0, EFD_CLOEXEC);
	const uint64_t one = 1;

	(void)state;
	alarm(20); /* who turns round for ever is ended */
	assert_int_equal(pipe(pipes), 0);
	assert_int_equal(write(pipes[1], "x", 1), 1);
	/* Readable, and no desk. */
	assert_int_equal(desk_accept(pipes[0], stop, &caller), -1);
	assert_int_equal(read(pipes[0], &caller, 1), 1);
	assert_int_equal(write(stop, &one, sizeof(one)), sizeof(one));
	assert_int_equal(desk_accept(pipes[0], stop, &caller), -1);
	close(pipes[1]);
	assert_int_equal(desk_accept(pipes[0], -1, &caller), -1);
	/* Outside of a session nobody is there. */
	assert_int_equal(desk_connect(), -1);
	close(pipes[0]);
	close(stop);
	alarm(0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_ends) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
