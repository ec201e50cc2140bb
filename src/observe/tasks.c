/* tasks.c — the latest state of tasks, from the end of the ledger.
 *
 * The ledger only grows: each change of a task's state is a new row, and the newest row of a task holds.
 * So a reader takes a piece of the end, keeps the newest row of each task and, when those are too few,
 * takes a larger piece. The reach is bounded, which keeps `helm status` as fast on a workspace of years as
 * on a new one. */
#include "base/doc.h"
#include "base/file.h"
#include "base/text.h"
#include "observe/observe.h"
#include "record/record.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

enum { REACH_ROWS = 20000 };

/* By task, then in the order of the ledger, so that the newest row of a task is its last. */
static int by_id(const void *x, const void *y)
{
	const struct json *const *p = x, *const *q = y;
	int c = strcmp(json_get_text(*p, "task_id", ""), json_get_text(*q, "task_id", ""));

	/* qsort() is not stable; `at` holds the place in the ledger. */
	return c ? c : ((*p)->at < (*q)->at ? -1 : 1);
}

static int by_order(const void *x, const void *y)
{
	const struct json *const *p = x, *const *q = y;

	return (*p)->at < (*q)->at ? -1 : 1;
}

/* Keeps the newest row of each task, in the order in which the rows were written. Rows without an id are
 * dropped. */
static void keep_latest(struct json *rows)
{
	uint32_t n = 0;

	if (!rows->n)
		return;
	for (uint32_t i = 0; i < rows->n; i++)
		rows->items[i]->at = i;
	qsort(rows->items, rows->n, sizeof(*rows->items), by_id);
	for (uint32_t i = 0; i < rows->n; i++) {
		const char *id = json_get_text(rows->items[i], "task_id", "");
		bool newest =
			i + 1 == rows->n || !text_eq(id, json_get_text(rows->items[i + 1], "task_id", ""));
		if (newest && *id)
			rows->items[n++] = rows->items[i];
	}
	rows->n = n;
	qsort(rows->items, rows->n, sizeof(*rows->items), by_order);
}

/* What a row says that nobody will end any more, in the words of what will be put on record for it.  Its run may have ended
 * well since it was read, so the ledger is asked again. */
static struct json *true_row(const struct observed *o, struct json *row)
{
	struct json *now = NULL;

	if (!open_run_is_over(o->sys, o->state_fd, row))
		return row;
	if (row_newest(o->sys, o->a, o->state_fd, json_get_text(row, "task_id", ""), &now, NULL) || !now)
		now = row;
	if (!row_is_open(now))
		return now;
	now = json_copy(o->a, now);
	json_sets(o->a, now, "status", "failed");
	json_sets(o->a, now, "failure_stage", "execution");
	json_sets(o->a, now, "failure_reason",
		"helm was ended before the run was; the next run puts that on record, or 'helm task doctor --fix'");
	json_setb(o->a, now, "is_unclosed", true);
	return now;
}

/* Rows say what was true when they were written. */
static void tell_truth(const struct observed *o, struct json *rows)
{
	for (uint32_t i = 0; i < rows->n; i++)
		rows->items[i] = true_row(o, rows->items[i]);
}

/* Starts with eight rows per wanted task; the piece grows fourfold while it holds too few tasks. */
int observe_tasks(const struct observed *o, size_t limit, struct json **ret, struct err *e)
{
	size_t want = limit ? limit * 8 : REACH_ROWS;
	struct json *rows;

	for (;;) {
		int rc = rows_tail(o->sys, o->a, o->state_fd, TASK_LEDGER, want, &rows, e);
		if (rc)
			return rc;
		bool all = rows->n < want;
		keep_latest(rows);
		if (all || !limit || rows->n >= limit || want >= REACH_ROWS)
			break;
		want *= 4;
	}
	if (limit && rows->n > limit) {
		memmove(rows->items, rows->items + (rows->n - limit), limit * sizeof(*rows->items));
		rows->n = (uint32_t)limit;
	}
	tell_truth(o, rows);
	*ret = rows;
	return OK;
}

/* Reading exactly as many rows as the reach means that there may be more. */
int observe_all_tasks(
	const struct observed *o, bool wants_all, struct json **ret, bool *ret_is_cut, struct err *e)
{
	int rc = rows_tail(o->sys, o->a, o->state_fd, TASK_LEDGER, wants_all ? 0 : REACH_ROWS, ret, e);

	if (rc)
		return rc;
	*ret_is_cut = !wants_all && (*ret)->n == REACH_ROWS;
	keep_latest(*ret);
	tell_truth(o, *ret);
	return OK;
}

/* An exact id wins over longer ids that begin alike; it ends the search at once. */
int observe_task(const struct observed *o, const char *id, struct json **ret_rows, struct err *e)
{
	struct json *rows, *own = json_new(o->a, JSON_ARRAY);
	const char *found = NULL;
	int rc = rows_tail(o->sys, o->a, o->state_fd, TASK_LEDGER, REACH_ROWS, &rows, e);

	if (rc)
		return rc;
	json_each (row, rows) {
		const char *name = json_get_text(row, "task_id", "");
		if (text_eq(name, id)) {
			found = name;
			break;
		}
		if (!text_starts(name, id) || (found && text_eq(found, name)))
			continue;
		if (found)
			return err_set(
				e, E_INPUT, "TASK_AMBIGUOUS", "more than one task starts with '%s'", id);
		found = name;
	}
	if (!found)
		return err_set(e, E_MISSING, "TASK_MISSING",
			"no task is called '%s'; 'helm task list' shows them", id);
	json_each (row, rows)
		if (text_eq(json_get_text(row, "task_id", ""), found))
			json_push(o->a, own, row);
	own->items[own->n - 1] = true_row(o, own->items[own->n - 1]);
	*ret_rows = own;
	return OK;
}

/* Rows without an exit code did not fail. */
int observe_failed_commands(
	const struct observed *o, size_t window, size_t limit, struct json **ret, struct err *e)
{
	struct json *rows, *failed = json_new(o->a, JSON_ARRAY);
	int rc = rows_tail(o->sys, o->a, o->state_fd, COMMAND_LOG, window, &rows, e);

	if (rc)
		return rc;
	json_each (row, rows)
		if (json_get_int(row, "exit_code", 0) != 0)
			json_push(o->a, failed, row);
	if (limit && failed->n > limit) {
		memmove(failed->items, failed->items + (failed->n - limit), limit * sizeof(*failed->items));
		failed->n = (uint32_t)limit;
	}
	*ret = failed;
	return OK;
}

/* A workspace without an index has no checkpoints, which is no error. */
int observe_checkpoints(const struct observed *o, size_t limit, struct json **ret, struct err *e)
{
	struct json *all = NULL, *last = json_new(o->a, JSON_ARRAY);
	const char *name = "checkpoints/index.json";
	int rc = o->points_dir
		? doc_read(o->sys, o->a, AT_FDCWD, path_join(o->a, o->points_dir, name), 64 << 20, 0, &all, e)
		: doc_read(o->sys, o->a, o->state_fd, name, 64 << 20, 0, &all, e);

	*ret = last;
	if (rc)
		return rc == E_MISSING ? OK : rc;
	uint32_t n = json_is(all, JSON_ARRAY) ? all->n : 0;
	for (uint32_t i = limit && n > limit ? n - (uint32_t)limit : 0; i < n; i++)
		json_push(o->a, last, all->items[i]);
	return OK;
}

/* ---- doctor ---- */

/* One finding with the command that a person can use to settle it. */
static void finding(struct arena *a, struct json *to, const struct json *row, const char *severity,
	const char *kind, const char *action)
{
	struct json *f = json_new(a, JSON_OBJECT);

	json_sets(a, f, "severity", severity);
	json_sets(a, f, "kind", kind);
	json_sets(a, f, "task_id", json_get_text(row, "task_id", ""));
	json_sets(a, f, "task_name", json_get_text(row, "task_name", ""));
	json_sets(a, f, "status", json_get_text(row, "status", ""));
	json_sets(a, f, "suggested_action", action);
	json_push(a, to, f);
}

/* A run writes its sign of life to a side file, which is newer than any row of the ledger. A run that is
 * too young to have one has only its rows. The id becomes part of a path, so it is checked first. */
const char *observe_heartbeat(const struct observed *o, const struct json *row)
{
	const char *id = json_get_text(row, "task_id", "");
	struct json *doc;

	if (text_is_id(id) &&
		doc_read(o->sys, o->a, o->state_fd, arena_printf(o->a, "heartbeats/%s.json", id), 4096, 0,
			&doc, NULL) == OK)
		return json_get_text(doc, "heartbeat_at", json_get_text(row, "heartbeat_at", NULL));
	return json_get_text(row, "heartbeat_at", NULL);
}

/* What shows that a task that is called completed did something: evidence that was given, an exit code, or
 * a checkpoint. */
static bool has_evidence(const struct json *row)
{
	const struct json *given = json_get(row, "completion_evidence");

	return (given && given->n) || json_get(row, "exit_code") || json_get_text(row, "checkpoint_id", NULL);
}

/* Adds what is suspicious about one task. "Not alive" and "stale" exclude each other: a dead process
 * explains the silence. Warnings mean that the record and the world disagree; "info" only asks for a look. */
static void examine(const struct observed *o, const struct json *row, int64_t stale_us, struct json *findings)
{
	struct arena *a = o->a;
	const char *status = json_get_text(row, "status", ""), *id = json_get_text(row, "task_id", "");
	bool active = row_is_open(row);
	const char *beat = active ? observe_heartbeat(o, row) : NULL;
	const char *since = beat ? beat : json_get_text(row, "started_at", "");
	int64_t at = 0;

	if (json_get_bool(row, "is_unclosed", false))
		finding(a, findings, row, "warning", "active_process_not_alive", "helm task doctor --fix");
	else if (active && text_parse_time(since, strlen(since), &at) &&
		o->sys->now_us(o->sys) - at > stale_us)
		finding(a, findings, row, "warning", "stale_active_task",
			arena_printf(a, "helm task mark-stale %s --reason 'no sign of life'", id));
	if (active && json_get_text(row, "finished_at", NULL))
		finding(a, findings, row, "warning", "active_task_has_finished_at",
			arena_printf(a, "helm task show %s", id));
	if (text_eq(status, "completed") && !has_evidence(row))
		finding(a, findings, row, "info", "completed_without_evidence",
			arena_printf(a, "helm task complete %s --evidence test:NAME", id));
	if (json_get(row, "max_retries") &&
		json_get_int(row, "retry_count", 0) >= json_get_int(row, "max_retries", 0))
		finding(a, findings, row, "info", "retry_limit_reached",
			arena_printf(a, "helm task show %s", id));
}

/* "ok" only means that there is no warning; notes may be there. */
int observe_task_doctor(
	const struct observed *o, size_t limit, int64_t stale_minutes, struct json **ret, struct err *e)
{
	struct json *rows, *findings = json_new(o->a, JSON_ARRAY), *doc = json_new(o->a, JSON_OBJECT);
	int rc = observe_tasks(o, limit, &rows, e);
	bool ok = true;

	if (rc)
		return rc;
	json_each (row, rows)
		examine(o, row, stale_minutes * 60 * 1000000, findings);
	json_each (f, findings)
		ok &= !text_eq(json_get_text(f, "severity", ""), "warning");
	json_sets(o->a, doc, "workspace", o->root);
	json_set(o->a, doc, "findings", findings);
	json_setb(o->a, doc, "ok", ok);
	*ret = doc;
	return OK;
}

/* Members that a row does not have are null, so that two tasks can be compared member by member. */
struct json *observe_capabilities(struct arena *a, const struct json *row)
{
	static const char *const fields[] = { "task_id", "task_name", "status", "skill", "profile",
		"runtime_backend", "runtime_target_kind", "runtime_target", "delivery_mode", "checkpoint_id",
		"tool_grant", "protections" };
	static const char *const harness[] = { "model_tier", "enforcement_level", "context_required",
		"context_satisfied", "skill_contract_present", "browser_evidence_present",
		"retrieval_evidence_present", "file_intake_evidence_present" };
	const struct json *meta = json_get(json_get(row, "meta"), "harness");
	struct json *doc = json_new(a, JSON_OBJECT), *nothing = json_new(a, JSON_NULL);

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		struct json *v = json_get(row, fields[i]);
		json_set(a, doc, fields[i], v ? v : nothing);
	}
	for (size_t i = 0; i < ARRAY_SIZE(harness); i++) {
		struct json *v = json_get(meta, harness[i]);
		json_set(a, doc, harness[i], v ? v : nothing);
	}
	struct json *action = json_get(json_get(row, "guard"), "action");
	json_set(a, doc, "guard_action", action ? action : nothing);
	return doc;
}
