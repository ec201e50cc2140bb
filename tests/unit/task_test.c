/* task_test.c — a guarded run stops in many places, and each of them leaves its row; nothing is executed that is not on record. */
#include "base/text.h"
#include "kernel/task/task.h"
#include "tools/kernel_fixture.h"
#include "tools/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static struct kernel_fixture x;

static int begin(void **state)
{
	(void)state;
	kernel_fixture_begin_for_runs(&x);
	return 0;
}

static int end(void **state)
{
	(void)state;
	kernel_fixture_done(&x);
	return 0;
}

static struct run_spec spec_of(const char *profile, const char *const *argv)
{
	size_t n = 0;

	while (argv[n])
		n++;
	return (struct run_spec){ .profile = profile,
		.argv = argv,
		.argc = n,
		.mode = GUARD_ENFORCE,
		.mode_source = "default",
		.timeout_s = 60,
		.cwd = x.ws->root };
}

static struct run_report run(const struct run_spec *spec)
{
	struct run_report report;
	struct err e = { 0 };

	if (task_run(&x.k, &x.request, spec, &report, &e))
		fail_msg("%s: %s", spec->argv[0], e.text);
	assert_true(kernel_fixture_is_durable(&x, RECEIPTS));
	assert_true(kernel_fixture_is_durable(&x, TASK_LEDGER));
	return report;
}

static struct run_report run_argv(const char *profile, const char *const *argv)
{
	struct run_spec spec = spec_of(profile, argv);

	return run(&spec);
}

static const char *row_text(const char *member)
{
	const char *text = json_get_text(kernel_fixture_last_row(&x, TASK_LEDGER), member, NULL);

	return text ? text : "";
}

/* The statuses of this run's rows, in order. */
static const char *statuses(const struct run_report *report)
{
	struct buf text;

	buf_init(&text, &x.request);
	json_each (row, kernel_fixture_rows(&x, TASK_LEDGER))
		if (text_eq(json_get_text(row, "task_id", ""), report->task_id))
			buf_addf(&text, "%s%s", text.n ? " " : "", json_get_text(row, "status", "?"));
	return text.p;
}

/* Paths that the newest row says were touched, in the order of their names. */
static const char *touched(void)
{
	const struct json *paths = json_get(kernel_fixture_last_row(&x, TASK_LEDGER), "touched_paths");
	struct buf text;

	buf_init(&text, &x.request);
	buf_adds(&text, "");
	json_each (path, paths)
		buf_addf(&text, "%s%s", text.n ? " " : "", json_text(path));
	return text.p;
}

#define ARGV(...) ((const char *const[]){ __VA_ARGS__, NULL })

static void completed(void **state)
{
	struct run_report r = run_argv("workspace_edit", ARGV("touch", "made"));

	(void)state;
	assert_int_equal(r.exit_code, 0);
	assert_string_equal(statuses(&r), "queued running completed");
	assert_true(scratch_has(&x.home, "ws/made"));
	/* The files of the fixture are a moment old, and not of this run. */
	assert_string_equal(touched(), "made");
	struct json *outcomes = kernel_fixture_receipts(&x, "outcome");
	assert_int_equal(outcomes->n, 1);
	/* queued, running, command log, final: the receipt knows all of them. */
	assert_int_equal(json_get(json_get(outcomes->items[0], "metadata"), "rows_sha256")->n, 4);
	assert_string_equal(json_get_text(outcomes->items[0], "decision_id", ""), row_text("decision_id"));
	assert_int_equal(kernel_fixture_rows(&x, COMMAND_LOG)->n, 1);
}

/* So many seconds before or behind the clock of the file system. */
static void set_clock(int64_t seconds)
{
	struct timespec now;

	assert_int_equal(clock_gettime(CLOCK_REALTIME, &now), 0);
	x.f.has_clock = true;
	x.f.clock_us = (now.tv_sec + seconds) * 1000000;
	x.f.step_us = 1000;
}

/* What was there is known by what it is, not by a clock: the file system's may be ahead of ours, or behind. */
static void touched_is_what_changed(void **state)
{
	(void)state;
	scratch_put(&x.home, "ws/old", "as it was");
	scratch_put(&x.home, "ws/same", "as it was");
	set_clock(-5);
	(void)run_argv("workspace_edit", ARGV("sh", "-c", "echo more >>old; echo new >new"));
	assert_string_equal(touched(), "new old");
	set_clock(5);
	(void)run_argv("workspace_edit", ARGV("sh", "-c", "echo more >>old"));
	assert_string_equal(touched(), "old");
	(void)run_argv("workspace_edit", ARGV("true"));
	assert_string_equal(touched(), "");
}

/* A profile that may not write has its last rows before what it left behind is gone. */
static void completed_without_writing(void **state)
{
	struct run_report r = run_argv("inspect_local", ARGV("true"));

	(void)state;
	assert_int_equal(r.exit_code, 0);
	assert_string_equal(statuses(&r), "queued running completed");
	assert_int_equal(kernel_fixture_receipts(&x, "outcome")->n, 1);
}

static void failed(void **state)
{
	struct run_report r = run_argv("workspace_edit", ARGV("sh", "-c", "exit 7"));

	(void)state;
	assert_int_equal(r.exit_code, 7);
	assert_string_equal(statuses(&r), "queued running failed");
	assert_string_equal(row_text("failure_stage"), "execution");
	r = run_argv("workspace_edit", ARGV("no-such-program-here"));
	assert_int_equal(r.exit_code, 127);
	assert_string_equal(statuses(&r), "queued running failed");
	assert_non_null(strstr(r.message, "command not found"));
}

static void timed_out(void **state)
{
	struct run_spec spec = spec_of("workspace_edit", ARGV("sleep", "30"));

	(void)state;
	spec.timeout_s = 1;
	struct run_report r = run(&spec);
	assert_int_equal(r.exit_code, 124);
	assert_string_equal(statuses(&r), "queued running timeout");
	assert_string_equal(
		json_get_text(kernel_fixture_receipts(&x, "outcome")->items[0], "status", ""), "TIMEOUT");
}

static void paused(void **state)
{
	struct err e = { 0 };
	char *token;

	(void)state;
	assert_int_equal(pause_profile(&x.k, &x.request, "workspace_edit", "fire drill", &token, &e), OK);
	struct run_report r = run_argv("workspace_edit", ARGV("touch", "another"));
	assert_int_equal(r.exit_code, 26);
	assert_string_equal(statuses(&r), "queued blocked_by_pause");
	assert_non_null(strstr(row_text("reason"), "fire drill"));
	assert_false(scratch_has(&x.home, "ws/another"));
}

static void audited(void **state)
{
	struct run_spec spec = spec_of("workspace_edit", ARGV("touch", "made"));

	(void)state;
	spec.guard_json = true;
	struct run_report r = run(&spec);
	assert_string_equal(statuses(&r), "queued guard_audit");
	assert_non_null(r.printed);
	assert_false(scratch_has(&x.home, "ws/made"));
	assert_int_equal(kernel_fixture_receipts(&x, NULL)->n, 0);
}

/* So many runs that were stopped: each has an outcome that says so and binds the two ledger entries of the run. */
static void assert_bound(size_t runs)
{
	const struct json *outcomes = kernel_fixture_receipts(&x, "outcome");

	assert_int_equal(outcomes->n, runs);
	json_each (one, outcomes) {
		assert_string_equal(json_get_text(one, "status", ""), "NOT_EXECUTED");
		assert_int_equal(json_get(json_get(one, "metadata"), "rows_sha256")->n, 2);
	}
}

static void blocked(void **state)
{
	struct run_report r = run_argv("workspace_edit", ARGV("rm", "-rf", "/"));

	(void)state;
	assert_int_equal(r.exit_code, 25);
	assert_string_equal(statuses(&r), "queued blocked");
	assert_string_equal(row_text("failure_stage"), "guard");
	r = run_argv("workspace_edit", ARGV("rm", "-rf", "build"));
	assert_int_equal(r.exit_code, 24);
	assert_string_equal(statuses(&r), "queued blocked");
	const struct json *pause = json_get(kernel_fixture_last_row(&x, TASK_LEDGER), "runtime_pause");
	assert_non_null(strstr(json_get_text(pause, "resume_command", ""), " -- rm -rf build"));
	assert_bound(2);
	/* A person says yes beforehand. */
	struct run_spec spec = spec_of("workspace_edit", ARGV("rm", "-rf", "build"));
	spec.approve_risk = true;
	r = run(&spec);
	assert_int_equal(r.exit_code, 0);
	assert_string_equal(statuses(&r), "queued running completed");
	assert_string_equal(r.handling.settled.by, "approve-risk");
}

static void handed_off(void **state)
{
	struct run_spec spec = spec_of("remote_handoff", ARGV("make", "deploy"));

	(void)state;
	struct run_report r = run(&spec);
	assert_int_equal(r.exit_code, 2);
	assert_string_equal(statuses(&r), "queued failed");
	assert_string_equal(row_text("failure_stage"), "handoff");
	spec.runtime_target = "host-b";
	r = run(&spec);
	assert_int_equal(r.exit_code, 0);
	assert_string_equal(statuses(&r), "queued handoff_required");
	assert_non_null(r.printed);
	assert_int_equal(kernel_fixture_receipts(&x, "decision")->n, 2);
	assert_bound(2);
}

/* Where a checkpoint is required and cannot be made nothing is executed; both receipts are there. */
static void unsaved(void **state)
{
	(void)state;
	struct run_report r = run_argv("risky_edit", ARGV("touch", "made"));
	assert_string_equal(statuses(&r), "queued running completed");
	assert_non_null(r.checkpoint_id);
	struct run_spec spec = spec_of("risky_edit", ARGV("touch", "another"));
	spec.checkpoint_paths = ARGV("../outside");
	spec.checkpoint_path_count = 1;
	r = run(&spec);
	assert_int_equal(r.exit_code, 1);
	assert_string_equal(statuses(&r), "queued failed");
	assert_string_equal(row_text("failure_stage"), "checkpoint");
	assert_false(scratch_has(&x.home, "ws/another"));
	struct json *outcomes = kernel_fixture_receipts(&x, "outcome");
	assert_string_equal(json_get_text(outcomes->items[outcomes->n - 1], "status", ""), "NOT_EXECUTED");
}

/* The walls cannot be put up: the directory it is to run in is not there. */
static void refused(void **state)
{
	struct run_spec spec = spec_of("workspace_edit", ARGV("touch", "made"));

	(void)state;
	spec.cwd = arena_printf(&x.request, "%s/not-there", x.ws->root);
	struct run_report r = run(&spec);
	assert_int_equal(r.exit_code, 25);
	assert_string_equal(statuses(&r), "queued running failed");
	assert_string_equal(row_text("failure_stage"), "sandbox");
	struct json *outcomes = kernel_fixture_receipts(&x, "outcome");
	assert_string_equal(json_get_text(outcomes->items[0], "status", ""), "NOT_EXECUTED");
	assert_non_null(json_get(json_get(outcomes->items[0], "metadata"), "refused"));
}

/* Before there is a task there is no row. */
static void nothing_is_written_about_nothing(void **state)
{
	struct run_spec spec = spec_of("no_such_profile", ARGV("true"));
	struct run_report report;
	struct err e = { 0 };

	(void)state;
	assert_int_equal(task_run(&x.k, &x.request, &spec, &report, &e), E_USAGE);
	spec = spec_of("workspace_edit", ARGV("true"));
	spec.task_id = "no id/";
	assert_int_equal(task_run(&x.k, &x.request, &spec, &report, &e), E_USAGE);
	spec.task_id = NULL;
	spec.skill = "../x";
	assert_int_equal(task_run(&x.k, &x.request, &spec, &report, &e), E_INPUT);
	assert_int_equal(kernel_fixture_rows(&x, TASK_LEDGER)->n, 0);
	assert_int_equal(kernel_fixture_receipts(&x, NULL)->n, 0);
}

/* At every call that changes something the disk fails and stays so, or only that call fails.  What was executed is on record. */
static void no_record_no_effect(void **state)
{
	unsigned refused_count = 0, done_count = 0;

	(void)state;
	for (int stays = 0; stays < 2; stays++)
		for (unsigned n = 1;; n++) {
			struct run_spec spec = spec_of("workspace_edit", ARGV("touch", "made"));
			struct run_report report;
			struct err e = { 0 };
			uint32_t before = kernel_fixture_receipts(&x, "decision")->n;
			(void)unlinkat(x.ws->root_fd, "made", 0);
			x.f.calls = 0;
			x.f.fail_at = n;
			x.f.fail_errno = ENOSPC;
			x.f.fail_stays = stays;
			int rc = task_run(&x.k, &x.request, &spec, &report, &e);
			bool has_fired = fault_fired(&x.f);
			x.f.fail_at = 0;
			if (rc)
				assert_true(*e.code && *e.text);
			if (scratch_has(&x.home, "ws/made")) {
				done_count++;
				if (kernel_fixture_receipts(&x, "decision")->n != before + 1)
					fail_msg("executed without a record: call %u, %d", n, stays);
			} else {
				refused_count++;
			}
			kernel_fixture_reopen(&x);
			if (!has_fired) {
				assert_int_equal(rc, OK);
				break;
			}
		}
	assert_true(refused_count > 5 && done_count > 5);
}

/* One call fails: what was executed has its outcome on record, or it is said that it has not. */
static void what_was_executed_has_an_outcome(void **state)
{
	static const char *const profiles[] = { "inspect_local", "workspace_edit" };
	unsigned executed = 0, with_error = 0;

	(void)state;
	for (size_t p = 0; p < ARRAY_SIZE(profiles); p++)
		for (unsigned n = 1;; n++) {
			struct run_spec spec = spec_of(profiles[p], ARGV("true"));
			struct run_report report;
			struct err e = { 0 };
			uint32_t before = kernel_fixture_receipts(&x, "outcome")->n;
			x.f.calls = 0;
			x.f.fail_at = n;
			x.f.fail_errno = EIO;
			x.f.fail_stays = false;
			int rc = task_run(&x.k, &x.request, &spec, &report, &e);
			bool has_fired = fault_fired(&x.f);
			x.f.fail_at = 0;
			executed += report.result != NULL;
			with_error += report.result && rc;
			if (report.result && !text_eq(e.code, "RECORD_OUTCOME") &&
				kernel_fixture_receipts(&x, "outcome")->n != before + 1)
				fail_msg("%s, call %u: executed, no outcome: %s %s", profiles[p], n, e.code,
					e.text);
			kernel_fixture_reopen(&x);
			if (!has_fired)
				break;
		}
	assert_true(executed > 5 && with_error > 2);
}

/* One task after the other, each with an arena of its own. */
static void many_in_one_process(void **state)
{
	size_t kept = x.process.used_bytes;

	(void)state;
	for (int i = 0; i < 10; i++) {
		AUTO(arena_done) struct arena a = { 0 };
		struct run_spec spec = spec_of("workspace_edit", ARGV("true"));
		struct run_report report;
		struct err e = { 0 };
		assert_int_equal(task_run(&x.k, &a, &spec, &report, &e), OK);
		assert_int_equal(report.exit_code, 0);
	}
	assert_int_equal(x.process.used_bytes, kept);
	assert_int_equal(kernel_fixture_receipts(&x, NULL)->n, 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(completed, begin, end),
		cmocka_unit_test_setup_teardown(touched_is_what_changed, begin, end),
		cmocka_unit_test_setup_teardown(completed_without_writing, begin, end),
		cmocka_unit_test_setup_teardown(failed, begin, end),
		cmocka_unit_test_setup_teardown(timed_out, begin, end),
		cmocka_unit_test_setup_teardown(paused, begin, end),
		cmocka_unit_test_setup_teardown(audited, begin, end),
		cmocka_unit_test_setup_teardown(blocked, begin, end),
		cmocka_unit_test_setup_teardown(handed_off, begin, end),
		cmocka_unit_test_setup_teardown(unsaved, begin, end),
		cmocka_unit_test_setup_teardown(refused, begin, end),
		cmocka_unit_test_setup_teardown(nothing_is_written_about_nothing, begin, end),
		cmocka_unit_test_setup_teardown(no_record_no_effect, begin, end),
		cmocka_unit_test_setup_teardown(what_was_executed_has_an_outcome, begin, end),
		cmocka_unit_test_setup_teardown(many_in_one_process, begin, end),
	};

	return cmocka_run_group_tests_name("task", tests, NULL, NULL);
}
