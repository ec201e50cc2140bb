/* task_orphans_test.c — runs whose helm was killed: found by their files, or by their rows where they have none; closed once, nothing
 * else touched. */
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
	assert_int_equal(task_close_orphans(sys_real(), &f->ws, true, &n, &e), OK);
	return n;
}

/* The same as an ordinary run does it. */
static size_t close_quickly(struct fixture *f)
{
	struct err e = { 0 };
	size_t n = 99;

	assert_int_equal(task_close_orphans(sys_real(), &f->ws, false, &n, &e), OK);
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

/* A run that is open, as it looks to others; closed descriptor: it died. */
static struct open_run open_one(struct fixture *f, const char *id, const char *status)
{
	struct open_run r = { .fd = -1 };
	struct err e = { 0 };
	struct json *row = json_new(&f->a, JSON_OBJECT);

	assert_int_equal(open_run_begin(sys_real(), f->ws.state_fd, id, &r, &e), OK);
	json_sets(&f->a, row, "task_id", id);
	json_sets(&f->a, row, "status", status);
	json_sets(&f->a, row, "open_run", r.name);
	assert_int_equal(ledger_append(sys_real(), &f->a, f->ws.state_fd, TASK_LEDGER, row, NULL, &e), OK);
	return r;
}

static void test_by_lock(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(close_quickly(f), 0); /* this start of the machine is known from now on */
	struct open_run lives = open_one(f, "lives", "running"), dies = open_one(f, "dies", "running"),
			ends = open_one(f, "ends", "completed");
	assert_int_equal(close_quickly(f), 0);
	assert_int_equal(close_in(f, NULL), 0);
	close_fd(&dies.fd);
	close_fd(&ends.fd); /* killed between its last row and its end */
	assert_int_equal(close_quickly(f), 1);
	assert_int_equal(close_quickly(f), 0);
	open_run_end(sys_real(), f->ws.state_fd, &lives);
	/* Its file is gone and its row is open: a power cut, which only the rows show. */
	assert_int_equal(close_quickly(f), 0);
	assert_int_equal(close_in(f, NULL), 1);
}

/* Who looks at a run's file for a moment does not make it look dead, nor take its place. */
static void test_looking_is_harmless(void **state)
{
	struct fixture *f = *state;
	struct open_run lives = open_one(f, "a", "running"), other = { .fd = -1 };

	assert_int_equal(open_run_take(sys_real(), f->ws.state_fd, lives.name, &other), E_IO);
	assert_int_equal(open_run_take(sys_real(), f->ws.state_fd, "none@1-1", &other), E_MISSING);
	assert_int_equal(other.fd, -1);
	close_fd(&lives.fd);
	assert_int_equal(open_run_take(sys_real(), f->ws.state_fd, lives.name, &other), OK);
	assert_int_equal(close_quickly(f), 0); /* somebody else is closing it */
	close_fd(&other.fd);
	assert_int_equal(close_quickly(f), 1);
}

/* What cannot be evidence is none. */
static void test_odd_names(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(
		close_in(f, "{\"open_run\": \"../x\", \"status\": \"running\", \"task_id\": \"a\"}\n"), 0);
	assert_int_equal(close_in(f,
				 "{\"open_run\": \"../x@1-1\", \"status\": \"running\", \"task_id\": "
				 "\"a\"}\n"),
		0);
	assert_int_equal(
		close_in(f, "{\"open_run\": \"a@1-1\", \"status\": \"running\", \"task_id\": \"a\"}\n"), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_closed_once, begin, end),
		cmocka_unit_test_setup_teardown(test_others_stay, begin, end),
		cmocka_unit_test_setup_teardown(test_decoys_hide_nothing, begin, end),
		cmocka_unit_test_setup_teardown(test_long_rows, begin, end),
		cmocka_unit_test_setup_teardown(test_by_lock, begin, end),
		cmocka_unit_test_setup_teardown(test_looking_is_harmless, begin, end),
		cmocka_unit_test_setup_teardown(test_odd_names, begin, end),
	};

	return cmocka_run_group_tests_name("task_orphans", tests, NULL, NULL);
}
