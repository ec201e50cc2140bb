/* task_orphans.c — runs that never got their last row, because helm itself was killed.
 *
 * A `running` row carries the pid and the start time of the helm that wrote it.  When that process is gone, the run has ended
 * with it (everything below it was ended by the kernel), and a `failed` row says so. */
#include "base/file.h"
#include "base/text.h"
#include "kernel/task.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

/* Every run looks, so it looks at few; `task doctor --fix` is given all that can be reached. */
enum { RECENT_ROWS = 64, ALL_ROWS = 20000 };

/* The start time of a process as /proc tells it, 0 when it is not there. */
int64_t task_process_start(struct sys *s, int64_t pid)
{
	char path[64], text[1024];
	int64_t start = 0;

	if (pid)
		snprintf(path, sizeof(path), "/proc/%lld/stat", (long long)pid);
	else
		snprintf(path, sizeof(path), "/proc/self/stat");
	AUTO(close_fd) int fd = s->open(s, AT_FDCWD, path, O_RDONLY, 0, 0);
	ssize_t n = fd >= 0 ? s->read(s, fd, text, sizeof(text) - 1) : 0;
	if (n <= 0)
		return 0;
	text[n] = '\0';
	/* The name in parentheses may hold anything; the fields are counted behind it. */
	const char *at = strrchr(text, ')');
	for (int field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	start = at ? strtoll(at, NULL, 10) : 0;
	return start;
}

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
		if (task_process_start(s, pid) == start)
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
