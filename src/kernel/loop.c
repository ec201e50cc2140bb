/* loop.c — loops, run.  loop_go() reads from top to bottom; everything that it decides by is in the document or in the ledger. */
#include "kernel/loop.h"

#include "base/doc.h"
#include "base/file.h"
#include "base/text.h"
#include "kernel/task/task.h"
#include "remember/failure.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>

#define RUNS "loop-runs"
enum { MAX_RUN_BYTES = 64 << 20, BUSY_MS = 2000, LOOKED_AT_MS = 20, ID_DIGITS = 12 };

struct looping {
	struct kernel *k;
	struct arena *a;
	const char *run, *cwd;
	struct doc doc;
	struct json *state, *turn; /* the document, and the turn that goes on */
	struct loop_plan plan;
	int64_t deadline_us;
};

static struct doc doc_of(struct arena *a, const char *run)
{
	return (struct doc){ .file = arena_printf(a, RUNS "/%s.json", run),
		.lock = arena_printf(a, RUNS "/%s.lock", run),
		.type = JSON_OBJECT,
		.max_bytes = MAX_RUN_BYTES,
		.mode = 0644,
		.code = "LOOP_RUN" };
}

static const char *now_text(struct looping *x)
{
	return text_time_iso(x->a, x->k->sys->now_us(x->k->sys));
}

static int save(struct looping *x, struct err *e)
{
	AUTO(arena_done) struct arena own = { 0 };

	json_sets(x->a, x->state, "updated_at", now_text(x));
	return doc_replace(x->k->sys, &own, x->k->ws->state_fd, &x->doc, x->state, e);
}

/* ---- a new one ---- */

int loop_begin(struct kernel *k, struct arena *a, const struct json *loop, const char *path, const char *cwd,
	const char **ret_run, struct err *e)
{
	struct loop_plan plan;
	struct json *state = json_new(a, JSON_OBJECT);
	const int64_t now = k->sys->now_us(k->sys);
	char *id;
	int rc = loop_plan(a, loop, &plan, e);

	if (rc == OK)
		rc = record_new_id(a, k->sys, "loop-", &id, e);
	if (rc == OK)
		rc = file_mkdirs(k->sys, k->ws->state_fd, RUNS, 0755, e);
	if (rc)
		return rc;
	/* People type it, and rows of its steps begin with it. */
	id[strlen("loop-") + ID_DIGITS] = '\0';
	if (file_exists(k->sys, k->ws->state_fd, doc_of(a, id).file))
		return err_set(e, E_IO, "LOOP_RUN", "there is a run '%s' already; say it again", id);
	json_sets(a, state, "run_id", id);
	json_sets(a, state, "loop_id", plan.id);
	json_sets(a, state, "loop_sha256", plan.sha256);
	json_sets(a, state, "path", path);
	json_sets(a, state, "cwd", cwd);
	json_sets(a, state, "profile", plan.profile);
	json_sets(a, state, "skill", plan.skill);
	json_sets(a, state, "started_at", text_time_iso(a, now));
	json_sets(a, state, "deadline_at", text_time_iso(a, now + plan.minutes * 60 * 1000000));
	json_sets(a, state, "status", "running");
	json_sets(a, state, "why", NULL);
	json_seti(a, state, "turn", 0);
	json_set(a, state, "turns", json_new(a, JSON_ARRAY));
	json_set(a, state, "loop", json_copy(a, loop));
	const struct doc d = doc_of(a, id);
	rc = doc_replace(k->sys, a, k->ws->state_fd, &d, state, e);
	*ret_run = id;
	return rc;
}

/* ---- one step ---- */

/* What of a row counts for a loop.  A night has many rows, so nothing else of them is kept. */
static struct json *kept_of(struct arena *a, const struct json *row)
{
	static const char *const names[] = { "task_id", "status", "exit_code", "runtime_pause",
		"touched_paths", "failure_signature", "checkpoint_id" };
	struct json *kept = json_new(a, JSON_OBJECT);

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (json_get(row, names[i]))
			json_set(a, kept, names[i], json_copy(a, json_get(row, names[i])));
	return kept;
}

/* The newest row of a task that has ended by itself; NULL: it has not, or there is none.  One that was cut off has an end that somebody else
 * wrote. */
static struct json *ended(struct looping *x, const char *id, bool *ret_was_begun)
{
	AUTO(arena_done) struct arena own = { 0 };
	struct json *row = NULL;

	*ret_was_begun = row_newest(x->k->sys, &own, x->k->ws->state_fd, id, &row, NULL) == OK && row;
	return *ret_was_begun && !row_is_open(row) && !json_get_bool(row, "orphaned", false)
		? kept_of(x->a, row)
		: NULL;
}

static struct bytes tail_of(const struct run_stream *s)
{
	return (struct bytes){ (const uint8_t *)s->tail, s->tail_n };
}

/* A step that was done before a kill is taken from the ledger; one that was cut off is done again under another id. */
static int run_step(struct looping *x, const struct loop_step *step, const char *profile, const char *id,
	struct json **ret_row, struct err *e)
{
	const int64_t left = (x->deadline_us - x->k->sys->now_us(x->k->sys)) / 1000000;
	AUTO(arena_done) struct arena own = { 0 };
	struct run_report report;
	bool was_begun;
	struct json *meta = json_new(&own, JSON_OBJECT);

	for (;;) {
		*ret_row = ended(x, id, &was_begun);
		if (*ret_row)
			return OK;
		if (!was_begun)
			break;
		id = arena_printf(x->a, "%s-again", id);
	}
	json_sets(&own, meta, LOOP_RUN, x->run);
	/* A condition that does not hold is no failure. */
	if (profile != x->plan.profile)
		json_setb(&own, meta, LOOP_CONDITION, true);
	const struct run_spec spec = { .profile = profile,
		.argv = step->argv,
		.argc = step->argc,
		.task_name = arena_printf(x->a, "loop %s: %s", x->plan.id, step->name),
		.task_id = id,
		.parent_task_id = x->run,
		.skill = profile == x->plan.profile ? x->plan.skill : NULL,
		.meta = meta,
		.mode = GUARD_ENFORCE,
		.mode_source = "default",
		.timeout_s = left < 1		      ? 1
			: left < x->plan.step_seconds ? left
						      : x->plan.step_seconds,
		.cwd = x->cwd };
	int rc = task_run(x->k, &own, &spec, &report, e);
	if (rc)
		return rc;
	*ret_row = ended(x, id, &was_begun);
	if (*ret_row && report.result && report.result->captured)
		json_sets(x->a, *ret_row, "said",
			failure_said(x->a, tail_of(&report.result->out), tail_of(&report.result->err)));
	return *ret_row
		? OK
		: err_set(e, E_IO, "LOOP_STEP", "the end of step '%s' is not in the ledger", step->name);
}

/* Of what was not executed: 1. */
static int exit_of(const struct json *row)
{
	bool is_completed = text_eq(json_get_text(row, "status", ""), "completed");

	return (int)json_get_int(row, "exit_code", is_completed ? 0 : 1);
}

/* Why a step was not done, which no further turn changes; NULL: it was.  Not by its exit code, which is the program's own. */
static const char *held_by(const struct json *row)
{
	const char *status = json_get_text(row, "status", "");

	return text_eq(status, "blocked_by_pause") ? "is under a profile that is paused: helm profile resume"
		: text_eq(status, "handoff_required") ? "is to be done elsewhere"
		: !text_eq(status, "blocked")	      ? NULL
		: json_get(row, "runtime_pause")      ? "waits for a person: helm approval list"
						      : "was denied";
}

static void note_step(struct looping *x, const struct loop_step *step, const struct json *row)
{
	struct arena *a = x->a;
	struct json *one = json_new(a, JSON_OBJECT);
	const struct json *touched = json_get(row, "touched_paths");

	json_sets(a, one, "name", step->name);
	json_sets(a, one, "task_id", json_get_text(row, "task_id", ""));
	json_sets(a, one, "status", json_get_text(row, "status", ""));
	json_seti(a, one, "exit_code", exit_of(row));
	json_seti(a, one, "changed_files", touched ? touched->n : 0);
	json_sets(a, one, "fingerprint",
		json_get_text(json_get(row, "failure_signature"), "fingerprint", NULL));
	if (json_get_text(row, "said", NULL))
		json_sets(a, one, "said", json_get_text(row, "said", NULL));
	json_sets(a, one, "checkpoint_id", json_get_text(row, "checkpoint_id", NULL));
	if (held_by(row))
		json_sets(a, one, "held", held_by(row));
	json_push(a, json_get(x->turn, "steps"), one);
}

/* ---- when it stops ---- */

static int stop(struct looping *x, const char *status, const char *why)
{
	json_sets(x->a, x->state, "status", status);
	json_sets(x->a, x->state, "why", why);
	json_sets(x->a, x->state, "finished_at", now_text(x));
	return 1;
}

static const char *is_over(struct looping *x, int64_t n, const char *what)
{
	return arena_printf(x->a, "its %s %s over", text_count(x->a, n, what), n == 1 ? "is" : "are");
}

/* A condition that is a command holds when it ends with 0; it only looks. */
static int holds(
	struct looping *x, const struct loop_step *c, const char *what, size_t i, bool *ret, struct err *e)
{
	struct json *row;
	const char *id = arena_printf(
		x->a, "%s-t%lld-%s%zu", x->run, (long long)json_get_int(x->turn, "turn", 0), what, i);
	int rc = run_step(x, c, "inspect_local", id, &row, e);

	*ret = rc == OK && exit_of(row) == 0;
	return rc;
}

static struct json *last_steps(const struct json *turns, size_t back)
{
	return back < turns->n ? json_get(turns->items[turns->n - 1 - back], "steps") : NULL;
}

/* The first step of a turn that failed; or NULL. */
static const struct json *failure_of(const struct json *steps)
{
	json_each (one, steps)
		if (json_get_text(one, "fingerprint", NULL))
			return one;
	return NULL;
}

/* Also by what it said: "5 failed" is not "4 failed", and who comes nearer makes progress. */
static bool is_same_failure(const struct json *x, const struct json *y)
{
	const char *one = json_get_text(x, "said", NULL), *other = json_get_text(y, "said", NULL);

	return y && text_eq(json_get_text(x, "fingerprint", ""), json_get_text(y, "fingerprint", "")) &&
		(!one || !other || text_eq(one, other));
}

static bool has_changed(const struct json *steps)
{
	json_each (one, steps)
		if (json_get_int(one, "changed_files", 0))
			return true;
	return false;
}

/* The same failure, or no change, in so many turns one after the other. */
static const char *stuck(struct looping *x)
{
	const struct json *turns = json_get(x->state, "turns");
	const struct json *last = failure_of(last_steps(turns, 0));
	size_t same = 0, still = 0;

	while (last && same < turns->n && is_same_failure(last, failure_of(last_steps(turns, same))))
		same++;
	while (still < turns->n && !has_changed(last_steps(turns, still)))
		still++;
	if ((int64_t)same >= x->plan.same_failure)
		return arena_printf(x->a, "step '%s' failed in the same way in %s: helm failures show %s",
			json_get_text(last, "name", ""), text_count(x->a, (int64_t)same, "turn"),
			json_get_text(last, "fingerprint", ""));
	if ((int64_t)still >= x->plan.no_change)
		return arena_printf(x->a, "no file changed in %s", text_count(x->a, (int64_t)still, "turn"));
	return NULL;
}

static bool has_step_like(struct looping *x, const char *const *words)
{
	for (size_t i = 0; i < x->plan.step_count; i++)
		for (const char *const *w = words; *w; w++)
			if (strcasestr(x->plan.steps[i].name, *w) ||
				strcasestr(path_base(x->plan.steps[i].argv[0]), *w))
				return true;
	return false;
}

/* Which of the evidence that the loop must leave is there. */
static bool is_proven(struct looping *x)
{
	static const char *const tests[] = { "test", "lint", "check", "valid", NULL };
	struct json *there = json_new(x->a, JSON_OBJECT);
	const struct json *turns = json_get(x->state, "turns");
	bool is_all = true, is_changed = false, is_saved = false;

	json_each (turn, turns)
		json_each (step, json_get(turn, "steps")) {
			is_changed |= json_get_int(step, "changed_files", 0) > 0;
			is_saved |= json_get_text(step, "checkpoint_id", NULL) != NULL;
		}
	json_each (one, json_get(json_get(x->state, "loop"), "required_evidence")) {
		const char *name = json_text(one) ? json_text(one) : "?";
		bool is_there = text_eq(name, "process_exit") ||
			(text_eq(name, "completion_evidence") && x->plan.success_count) ||
			((text_eq(name, "file_diff") || text_eq(name, "changed_surface") ||
				 text_eq(name, "edited_doc_path")) &&
				is_changed) ||
			(text_eq(name, "checkpoint_id") && is_saved) ||
			((text_eq(name, "test_or_lint_or_diff") || text_eq(name, "validation") ||
				 text_eq(name, "write_validation") || text_eq(name, "diagnostics")) &&
				has_step_like(x, tests));
		json_setb(x->a, there, name, is_there);
		is_all &= is_there;
	}
	json_set(x->a, x->state, "evidence", there);
	return is_all;
}

/* > 0: it has stopped. */
static int judge_turn(struct looping *x, bool is_clean, struct err *e)
{
	bool is_yes = is_clean;
	int rc = OK;

	for (size_t i = 0; i < x->plan.blocked_count; i++) {
		bool is_blocked;
		if ((rc = holds(x, &x->plan.blocked[i], "blocked", i, &is_blocked, e)))
			return rc;
		if (is_blocked)
			return stop(x, "blocked",
				arena_printf(x->a, "its condition holds: %s", x->plan.blocked[i].name));
	}
	for (size_t i = 0; i < x->plan.success_count && (is_yes || i == 0); i++) {
		bool is_met;
		if ((rc = holds(x, &x->plan.success[i], "success", i, &is_met, e)))
			return rc;
		is_yes = i ? is_yes && is_met : is_met;
	}
	if (is_yes && is_proven(x))
		return stop(x, "success", "every condition of success holds");
	if (is_yes)
		return stop(x, "incomplete",
			"it succeeded, and some of the evidence that it must leave is missing");
	const char *why = stuck(x);
	return why ? stop(x, "no_progress", why) : 0;
}

/* ---- turns ---- */

/* One row for each turn, so that views of tasks show how it goes. */
static int put_turn_row(struct looping *x, const char *outcome, struct err *e)
{
	AUTO(arena_done) struct arena own = { 0 };
	struct arena *a = &own;
	struct json *row = json_new(a, JSON_OBJECT);
	const long long n = (long long)json_get_int(x->turn, "turn", 0);
	const bool is_clean = text_eq(outcome, "clean");

	json_sets(a, row, "task_id", arena_printf(a, "%s-t%lld", x->run, n));
	json_sets(a, row, "parent_task_id", x->run);
	json_sets(a, row, "task_name",
		arena_printf(a, "loop %s: turn %lld%s%s", x->plan.id, n, is_clean ? "" : ", ",
			is_clean ? "" : outcome));
	json_sets(a, row, "kind", LOOP_TURN);
	json_sets(a, row, "loop_id", x->plan.id);
	json_seti(a, row, "turn", n);
	json_sets(a, row, "profile", x->plan.profile);
	json_sets(a, row, "skill", x->plan.skill);
	json_sets(a, row, "started_at", json_get_text(x->turn, "started_at", NULL));
	json_sets(a, row, "finished_at", now_text(x));
	json_set(a, row, "steps", json_copy(a, json_get(x->turn, "steps")));
	/* What of it failed has rows of its own; a turn that was gone through is completed. */
	json_sets(a, row, "status", is_clean || text_eq(outcome, "failed") ? "completed" : "failed");
	json_sets(a, row, "turn_outcome", outcome);
	return ledger_append(x->k->sys, a, x->k->ws->state_fd, TASK_LEDGER, row, NULL, e);
}

/* One row for all of it, when it has stopped: whether the loop came to its end is what counts, not how often a step failed before. */
static int put_run_row(struct looping *x, struct err *e)
{
	AUTO(arena_done) struct arena own = { 0 };
	struct arena *a = &own;
	struct json *row = json_new(a, JSON_OBJECT);
	const char *outcome = json_get_text(x->state, "status", "");
	const bool is_done = text_eq(outcome, "success");

	json_sets(a, row, "task_id", x->run);
	json_sets(a, row, "task_name", arena_printf(a, "loop %s", x->plan.id));
	json_sets(a, row, "kind", LOOP_RUN);
	json_sets(a, row, "loop_id", x->plan.id);
	json_seti(a, row, "turns", json_get_int(x->state, "turn", 0));
	json_sets(a, row, "profile", x->plan.profile);
	json_sets(a, row, "started_at", json_get_text(x->state, "started_at", NULL));
	json_sets(a, row, "finished_at", json_get_text(x->state, "finished_at", NULL));
	json_sets(a, row, "status",
		is_done					 ? "completed"
			: text_eq(outcome, "incomplete") ? "needs_verification"
							 : "failed");
	json_sets(a, row, "loop_outcome", outcome);
	json_sets(a, row, "failure_reason", is_done ? NULL : json_get_text(x->state, "why", NULL));
	return ledger_append(x->k->sys, a, x->k->ws->state_fd, TASK_LEDGER, row, NULL, e);
}

static void begin_turn(struct looping *x)
{
	struct json *turns = json_get(x->state, "turns");
	const int64_t n = json_get_int(x->state, "turn", 0) + 1;

	x->turn = json_new(x->a, JSON_OBJECT);
	json_seti(x->a, x->state, "turn", n);
	json_seti(x->a, x->turn, "turn", n);
	json_sets(x->a, x->turn, "started_at", now_text(x));
	json_set(x->a, x->turn, "steps", json_new(x->a, JSON_ARRAY));
	json_sets(x->a, x->turn, "outcome", NULL);
	json_push(x->a, turns, x->turn);
}

/* The last turn, when it has not ended: a kill came in between. */
static bool resume_turn(struct looping *x)
{
	const struct json *turns = json_get(x->state, "turns");

	x->turn = turns->n ? turns->items[turns->n - 1] : NULL;
	return x->turn && !json_get_text(x->turn, "outcome", NULL);
}

/* All steps in their order.  > 0: the loop has stopped. */
static int do_steps(struct looping *x, const char **ret_outcome, struct err *e)
{
	*ret_outcome = "clean";
	for (size_t i = json_get(x->turn, "steps")->n; i < x->plan.step_count; i++) {
		struct json *row;
		if (x->k->sys->now_us(x->k->sys) >= x->deadline_us) {
			*ret_outcome = "cut_off"; /* some of its steps were not done */
			return stop(x, "time", is_over(x, x->plan.minutes, "minute"));
		}
		const char *id = arena_printf(
			x->a, "%s-t%lld-s%zu", x->run, (long long)json_get_int(x->turn, "turn", 0), i + 1);
		int rc = run_step(x, &x->plan.steps[i], x->plan.profile, id, &row, e);
		if (rc)
			return rc;
		note_step(x, &x->plan.steps[i], row);
		rc = save(x, e);
		if (rc)
			return rc;
	}
	json_each (step, json_get(x->turn, "steps")) {
		const char *held = json_get_text(step, "held", NULL);
		if (held)
			return stop(x, "blocked",
				arena_printf(x->a, "step '%s' %s", json_get_text(step, "name", ""), held));
		if (json_get_int(step, "exit_code", 1))
			*ret_outcome = "failed";
	}
	return OK;
}

static int one_turn(struct looping *x, struct err *e)
{
	const char *outcome = "failed";
	int rc = save(x, e);

	if (rc == OK)
		rc = do_steps(x, &outcome, e);
	if (rc == OK)
		rc = judge_turn(x, text_eq(outcome, "clean"), e);
	if (rc < 0)
		return rc;
	if (rc > 0 && text_eq(json_get_text(x->state, "status", ""), "blocked"))
		outcome = "blocked";
	json_sets(x->a, x->turn, "outcome", outcome);
	json_sets(x->a, x->turn, "finished_at", now_text(x));
	int row_rc = put_turn_row(x, outcome, e);
	return row_rc ? row_rc : rc;
}

static int go_through(struct looping *x, struct err *e)
{
	bool is_resumed = resume_turn(x);
	int rc = OK;

	while (rc == OK) {
		if (!is_resumed) {
			if (json_get_int(x->state, "turn", 0) >= x->plan.turns)
				rc = stop(x, "turns", is_over(x, x->plan.turns, "turn"));
			else if (x->k->sys->now_us(x->k->sys) >= x->deadline_us)
				rc = stop(x, "time", is_over(x, x->plan.minutes, "minute"));
			if (rc)
				break;
			begin_turn(x);
		}
		is_resumed = false;
		rc = one_turn(x, e);
	}
	if (rc > 0)
		rc = put_run_row(x, e);
	return rc ? rc : save(x, e);
}

/* When it was gone on with, for whoever asks in the morning why it took so long. */
static void note_begin(struct looping *x)
{
	struct json *times = json_get(x->state, "resumed_at");

	(void)json_remove(x->state, "last_error");
	if (!json_get_bool(x->state, "begun", false)) {
		json_setb(x->a, x->state, "begun", true);
		return;
	}
	if (!json_is(times, JSON_ARRAY)) {
		times = json_new(x->a, JSON_ARRAY);
		json_set(x->a, x->state, "resumed_at", times);
	}
	json_pushs(x->a, times, now_text(x));
}

/* It has not stopped by itself, and can be gone on with once that is mended. */
static void note_error(struct looping *x, int rc, const struct err *why)
{
	struct err late = { 0 };

	if (rc >= 0)
		return;
	json_sets(x->a, x->state, "last_error", why->text);
	(void)save(x, &late);
}

int loop_go(struct kernel *k, struct arena *a, const char *run, struct json **ret, struct err *e)
{
	AUTO(close_fd) int lock = -1;
	struct looping x = { .k = k, .a = a, .run = run };
	int rc = loop_state(k->sys, a, k->ws, run, &x.state, e);

	if (rc)
		return rc;
	x.doc = doc_of(a, run);
	rc = file_lock(k->sys, k->ws->state_fd, x.doc.lock, BUSY_MS, &lock,
		e); /* who only looks has it for a moment */
	if (rc)
		return err_set(e, E_IO, "LOOP_BUSY", "another process runs '%s'", run);
	rc = loop_state(k->sys, a, k->ws, run, &x.state, e);
	if (rc == OK && !text_eq(json_get_text(x.state, "status", ""), "running"))
		return err_set(e, E_INPUT, "LOOP_ENDED", "'%s' has ended: %s", run,
			json_get_text(x.state, "why", "-"));
	if (rc == OK)
		rc = loop_plan(a, json_get(x.state, "loop"), &x.plan, e);
	const char *deadline = json_get_text(x.state, "deadline_at", "");
	if (rc == OK && !text_parse_time(deadline, strlen(deadline), &x.deadline_us))
		rc = err_set(e, E_CORRUPT, "LOOP_RUN", "'%s' has no deadline that can be read", run);
	x.cwd = json_get_text(x.state, "cwd", k->ws->root);
	if (rc == OK) {
		note_begin(&x);
		rc = go_through(&x, e);
		note_error(&x, rc, e);
	}
	*ret = x.state;
	return rc;
}

/* ---- looks ---- */

int loop_state(struct sys *s, struct arena *a, const struct workspace *ws, const char *run, struct json **ret,
	struct err *e)
{
	int rc = text_is_id(run)
		? doc_read(s, a, ws->state_fd, doc_of(a, run).file, MAX_RUN_BYTES, FILE_BENEATH, ret, e)
		: E_MISSING;

	if (rc == E_MISSING)
		return err_set(e, E_MISSING, "LOOP_RUN",
			"there is no run '%.100s' of a loop; 'helm loops runs' names them", run);
	return rc;
}

/* Does a process run it?  Where that cannot be known, it is said to. */
static bool is_held(struct sys *s, struct arena *a, const struct workspace *ws, const char *run)
{
	AUTO(close_fd) int fd = s->open(s, ws->state_fd, doc_of(a, run).lock, O_RDONLY | O_NOFOLLOW, 0, 0);

	if (fd < 0)
		return false;
	for (int tries = 0; s->lock(s, fd, LOCK_SH | LOCK_NB); tries++)
		if (tries == 1)
			return true;
		else
			s->sleep_us(s, (int64_t)LOOKED_AT_MS * 1000);
	return false;
}

/* One that nobody runs any more, though it has not stopped, was interrupted: so it is called, and what to do is said. */
static void tell_interrupted(struct sys *s, struct arena *a, const struct workspace *ws, struct json *doc)
{
	const char *run = json_get_text(doc, "run_id", ""), *last = json_get_text(doc, "last_error", NULL);

	if (!text_eq(json_get_text(doc, "status", ""), "running") || !text_is_id(run) ||
		is_held(s, a, ws, run))
		return;
	json_sets(a, doc, "status", "interrupted");
	json_sets(a, doc, "why",
		last ? arena_printf(a, "%s; then go on: helm loops resume %s", last, run)
		     : arena_printf(a, "it was ended before it stopped; go on: helm loops resume %s", run));
}

int loop_look(struct sys *s, struct arena *a, const struct workspace *ws, const char *run, struct json **ret,
	struct err *e)
{
	int rc = loop_state(s, a, ws, run, ret, e);

	if (rc == OK)
		tell_interrupted(s, a, ws, *ret);
	return rc;
}

static int by_start(const void *x, const void *y)
{
	const struct json *one = *(struct json *const *)x, *other = *(struct json *const *)y;

	return strcmp(json_get_text(one, "started_at", ""), json_get_text(other, "started_at", ""));
}

int loop_runs(struct sys *s, struct arena *a, const struct workspace *ws, struct json **ret, struct err *e)
{
	static const char *const names[] = { "run_id", "loop_id", "status", "why", "turn", "started_at",
		"finished_at" };
	struct json *list = json_new(a, JSON_ARRAY);
	char **files;
	size_t n = 0;
	int rc = file_list(s, a, ws->state_fd, RUNS, &files, &n, e);

	*ret = list;
	if (rc == E_MISSING)
		return OK;
	for (size_t i = 0; rc == OK && i < n; i++) {
		struct json *doc, *one = json_new(a, JSON_OBJECT);
		struct err broken = { 0 };
		if (!text_ends(files[i], ".json"))
			continue;
		const char *run = arena_strndup(a, files[i], strlen(files[i]) - strlen(".json"));
		if (loop_look(s, a, ws, run, &doc, &broken)) {
			doc = json_new(a, JSON_OBJECT);
			json_sets(a, doc, "run_id", run);
			json_sets(a, doc, "status", "unreadable");
			json_sets(a, doc, "why", broken.text);
		}
		for (size_t j = 0; j < ARRAY_SIZE(names); j++)
			json_set(a, one, names[j],
				json_get(doc, names[j]) ? json_get(doc, names[j]) : json_new(a, JSON_NULL));
		json_push(a, list, one);
	}
	if (list->n)
		qsort(list->items, list->n, sizeof(struct json *), by_start);
	return rc;
}
