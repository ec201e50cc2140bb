/* task_orphans.c — runs that never got their last row, because helm itself was killed.
 *
 * A `running` row carries the pid and the start time of the helm that wrote it.  When that process is gone, the run has ended
 * with it (everything below it was ended by the kernel), and a `failed` row says so. */
#include "base/proc.h"
#include "base/text.h"
#include "kernel/task.h"

/* Every run looks, so it looks at few; `task doctor --fix` is given all that can be reached. */
enum { RECENT_ROWS = 64, ALL_ROWS = 20000 };

static bool has_later_row(const struct json *rows, uint32_t from, const char *task_id)
{
	for (uint32_t i = from + 1; i < rows->n; i++)
		if (text_eq(json_get_text(rows->items[i], "task_id", ""), task_id))
			return true;
	return false;
}

int task_close_orphans(
	struct sys *s, struct arena *a, struct workspace *ws, bool all, size_t *ret_closed, struct err *e)
{
	struct json *rows;
	size_t closed = 0;
	int rc = rows_tail(s, a, ws->state_fd, TASK_LEDGER, all ? ALL_ROWS : RECENT_ROWS, &rows, e);

	for (uint32_t i = 0; rc == OK && i < rows->n; i++) {
		struct json *row = rows->items[i];
		const char *id = json_get_text(row, "task_id", "");
		int64_t pid = json_get_int(row, "pid", 0), start = json_get_int(row, "pid_start", 0);
		if (!text_eq(json_get_text(row, "status", ""), "running") || !pid || !start ||
			has_later_row(rows, i, id))
			continue;
		if (proc_start_ticks(s, pid) == start)
			continue;
		struct json *last = json_copy(a, row);
		json_sets(a, last, "finished_at", text_time_iso(a, s->now_us(s)));
		json_sets(a, last, "status", "failed");
		json_sets(a, last, "failure_stage", "execution");
		json_sets(a, last, "failure_reason",
			"helm was ended before the run was; nothing of it is still running");
		json_set(a, last, "experience_attribution", task_experience(a, last));
		json_set(a, last, "failure_signature", task_failure_signature(a, ws, last, NULL));
		rc = ledger_append(s, a, ws->state_fd, TASK_LEDGER, last, NULL, e);
		closed += rc == OK;
	}
	*ret_closed = closed;
	return rc;
}
