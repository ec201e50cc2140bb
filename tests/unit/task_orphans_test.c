/* task_orphans_test.c — rows of runs whose helm was killed: found at the end of the ledger, closed once, nothing else touched. */
#include "base/proc.h"
#include "base/text.h"
#include "kernel/task/task.h"
#include "tools/scratch.h"
#include "tools/unit.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct fixture {
	struct scratch dir;
	struct arena a;
	struct workspace ws;
};

static int begin(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	scratch_open(&f->dir);
	f->ws.state_fd = f->dir.fd;
	f->ws.root = f->ws.home = f->dir.path;
	*state = f;
	return 0;
}

static int end(void **state)
{
	struct fixture *f = *state;

	scratch_done(&f->dir);
	arena_done(&f->a);
	free(f);
	return 0;
}

/* How many were closed, with this ledger. */
static size_t close_in(struct fixture *f, const char *ledger)
{
	struct err e = { 0 };
	size_t n = 99;

	if (ledger)
		scratch_put(&f->dir, TASK_LEDGER, ledger);
	assert_int_equal(task_close_orphans(sys_real(), &f->a, &f->ws, false, &n, &e), OK);
	return n;
}

#define GONE "{\"pid\": 1, \"pid_start\": 1, \"status\": \"running\", \"task_id\": \"a\"}\n"

static void test_closed_once(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(close_in(f, NULL), 0);
	assert_int_equal(close_in(f, ""), 0);
	assert_int_equal(close_in(f, GONE), 1);
	assert_non_null(
		strstr(scratch_get(&f->dir, TASK_LEDGER), "\"status\": \"failed\", \"task_id\": \"a\""));
	assert_int_equal(close_in(f, NULL), 0);
	assert_int_equal(close_in(f, "not json\n{\"status\": \"running\n" GONE "{\"torn\": "), 1);
}

static void test_others_stay(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(close_in(f, GONE "{\"status\": \"completed\", \"task_id\": \"a\"}\n"), 0);
	assert_int_equal(close_in(f, "{\"status\": \"queued\", \"task_id\": \"a\"}\n"), 0);
	assert_int_equal(close_in(f, "{\"meta\": {\"status\": \"running\"}, \"task_id\": \"a\"}\n"), 0);
	const char *alive = arena_printf(&f->a,
		"{\"pid\": %d, \"pid_start\": %lld, \"status\": \"running\", \"task_id\": \"a\"}\n", getpid(),
		(long long)proc_start_ticks(sys_real(), 0));
	assert_int_equal(close_in(f, alive), 0);
}

/* Rows of other tasks that only speak of it are no later rows of it. */
static void test_decoys_hide_nothing(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(
		close_in(f,
			GONE "{\"meta\": {\"task_id\": \"a\"}, \"status\": \"ready\", \"task_id\": \"b\"}\n"),
		1);
	assert_int_equal(
		close_in(
			f, GONE "{\"status\": \"ready\", \"task_id\": \"b\", \"x\": [\"task_id\", \"a\"]}\n"),
		1);
	assert_int_equal(close_in(f,
				 GONE "{\"status\": \"ready\", \"task_id\": \"b\", \"x\": \"\\\"task_id\\\": "
				      "\\\"a\\\"\"}\n"),
		1);
}

static void test_long_rows(void **state)
{
	struct fixture *f = *state;
	char *long_text = arena_text(&f->a, 300001);

	memset(long_text, 'x', 300000);
	const char *running = arena_printf(&f->a,
		"{\"command\": \"%s\", \"pid\": 1, \"pid_start\": 1, \"status\": \"running\", \"task_id\": "
		"\"a\"}\n",
		long_text);
	assert_int_equal(close_in(f, arena_printf(&f->a, "{\"task_id\": \"b\"}\n%s", running)), 1);
	assert_int_equal(close_in(f, running), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_closed_once, begin, end),
		cmocka_unit_test_setup_teardown(test_others_stay, begin, end),
		cmocka_unit_test_setup_teardown(test_decoys_hide_nothing, begin, end),
		cmocka_unit_test_setup_teardown(test_long_rows, begin, end),
	};

	return cmocka_run_group_tests_name("task_orphans", tests, NULL, NULL);
}
