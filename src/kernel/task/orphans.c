/* orphans.c — runs that never got their last row, because helm itself was killed.
 *
 * A `queued` or `running` row carries the pid and the start time of the helm that wrote it.  When that
 * process is gone, the run has ended with it (everything below it was ended by the kernel), and a `failed`
 * row says so.
 *
 * Every run looks, so it must cost next to nothing: the end of the ledger is read as text, of each row only
 * `task_id` and `status` are picked out, and a row is parsed only when it says one of those and is the
 * newest of its task. */
#include "base/file.h"
#include "base/proc.h"
#include "base/scan.h"
#include "base/text.h"
#include "kernel/task/parts.h"

#include <fcntl.h>
#include <string.h>

/* `task doctor --fix` is given all rows that can be reached. */
enum { RECENT_BYTES = 32 << 10, WINDOW_LIMIT = 64 << 20, ALL_ROWS = 20000 };

/* A row as far as it matters here. */
struct glance {
	struct bytes line, task_id, status;
};

/* From the opening quote of a string to behind its closing one.  SCAN_PADDING zeros lie behind the text. */
static const uint8_t *skip_string(const uint8_t *p, const uint8_t *end)
{
	for (p++; p < end; p++) {
		p = (const uint8_t *)scan_plain_ascii((char *)p);
		if (p < end && *p == '"')
			return p + 1;
		p += *p == '\\';
	}
	return end;
}

static bool is_name(const uint8_t *p, const uint8_t *after, const char *name)
{
	size_t n = strlen(name);

	return (size_t)(after - p) == n + 2 && memcmp(p + 1, name, n) == 0;
}

/* Picks two members of the outermost object out of the text; what lies deeper is passed over. */
static struct glance look_at_row(struct bytes line)
{
	struct glance g = { .line = line };
	struct bytes *value = NULL;
	int depth = 0;

	for (const uint8_t *p = line.p, *end = line.p + line.n; p < end;) {
		if (*p != '"') {
			depth += (*p == '{' || *p == '[') - (*p == '}' || *p == ']');
			if (*p == ',')
				value = NULL;
			p++;
			continue;
		}
		const uint8_t *after = skip_string(p, end);
		if (depth == 1 && value)
			*value = (struct bytes){ p, (size_t)(after - p) };
		else if (depth == 1)
			value = is_name(p, after, "task_id")  ? &g.task_id
				: is_name(p, after, "status") ? &g.status
							      : NULL;
		p = after;
	}
	return g;
}

static bool says(const struct glance *g, const char *status)
{
	return g->status.n == strlen(status) && memcmp(g->status.p, status, g->status.n) == 0;
}

static bool is_open(const struct glance *g)
{
	return says(g, "\"running\"") || says(g, "\"queued\"");
}

/* Is there no later row of the same task in what was read? */
static bool is_newest(const struct glance *rows, size_t n, size_t at)
{
	for (size_t i = at + 1; i < n; i++)
		if (rows[i].task_id.n == rows[at].task_id.n &&
			memcmp(rows[i].task_id.p, rows[at].task_id.p, rows[at].task_id.n) == 0)
			return false;
	return true;
}

/* Whole lines at the end of the ledger; a window that holds no whole one grows. */
static int read_end(struct sys *s, struct arena *a, int fd, struct bytes *ret, struct err *e)
{
	struct stat st;

	if (s->stat(s, fd, "", &st, AT_EMPTY_PATH))
		return err_sys(e, "LEDGER_READ", "cannot read %s", TASK_LEDGER);
	for (size_t window = RECENT_BYTES;; window *= 4) {
		off_t from = (off_t)window < st.st_size ? st.st_size - (off_t)window : 0;
		size_t size = (size_t)(st.st_size - from);
		char *text = arena_text(a, size + SCAN_PADDING);
		memset(text + size, 0, SCAN_PADDING);
		ssize_t n = s->pread(s, fd, text, size, from);
		if (n < 0)
			return err_sys(e, "LEDGER_READ", "cannot read %s", TASK_LEDGER);
		*ret = (struct bytes){ (uint8_t *)text, (size_t)n };
		if (from)
			(void)text_cut(ret, '\n');
		if (from == 0 || window >= WINDOW_LIMIT || (ret->n && memchr(ret->p, '\n', ret->n)))
			return OK;
	}
}

/* The newest rows of recent tasks that are still open, parsed. */
static int recent_open(struct sys *s, struct arena *a, struct workspace *ws, struct json **ret, struct err *e)
{
	AUTO(close_fd) int fd = s->open(s, ws->state_fd, TASK_LEDGER, O_RDONLY | O_NOFOLLOW, 0, 0);
	struct json *found = json_new(a, JSON_ARRAY), *row;
	struct bytes text = { NULL, 0 };

	*ret = found;
	if (fd < 0) {
		int rc = err_sys(e, "LEDGER_READ", "cannot read %s", TASK_LEDGER);
		return rc == E_MISSING ? OK : rc;
	}
	int rc = read_end(s, a, fd, &text, e);
	if (rc)
		return rc;
	size_t n = 0, lines = 1;
	for (size_t i = 0; i < text.n; i++)
		lines += text.p[i] == '\n';
	struct glance *rows = arena_zalloc(a, lines, sizeof(*rows));
	while (text.p && text.n)
		rows[n++] = look_at_row(text_cut(&text, '\n'));
	for (size_t i = 0; i < n; i++)
		if (is_open(&rows[i]) && is_newest(rows, n, i) &&
			json_parse(a, rows[i].line, TASK_LEDGER, NULL, &row, NULL) == OK)
			json_push(a, found, row);
	return OK;
}

static bool has_later_row(const struct json *rows, uint32_t from, const char *task_id)
{
	for (uint32_t i = from + 1; i < rows->n; i++)
		if (text_eq(json_get_text(rows->items[i], "task_id", ""), task_id))
			return true;
	return false;
}

/* The process that wrote the row is gone: either there is none with this pid, or it started at another
 * time. */
static bool is_orphan(struct sys *s, const struct json *rows, uint32_t at)
{
	const struct json *row = rows->items[at];
	int64_t pid = json_get_int(row, "pid", 0), start = json_get_int(row, "pid_start", 0);

	const char *status = json_get_text(row, "status", "");

	return (text_eq(status, "running") || text_eq(status, "queued")) && pid && start &&
		!has_later_row(rows, at, json_get_text(row, "task_id", "")) &&
		proc_start_ticks(s, pid) != start;
}

/* The row is a copy of the last one, with how it ended. */
static int close_orphan(
	struct sys *s, struct arena *a, struct workspace *ws, const struct json *row, struct err *e)
{
	struct json *last = json_copy(a, row);

	json_sets(a, last, "finished_at", text_time_iso(a, s->now_us(s)));
	json_sets(a, last, "status", "failed");
	bool was_queued = text_eq(json_get_text(row, "status", ""), "queued");
	json_sets(a, last, "failure_stage", was_queued ? "start" : "execution");
	json_sets(a, last, "failure_reason",
		was_queued ? "helm was ended before the run began"
			   : "helm was ended before the run was; nothing of it is still running");
	json_set(a, last, "experience_attribution", task_experience(a, last));
	json_set(a, last, "failure_signature", task_failure_signature(a, ws, last, NULL));
	int rc = ledger_append(s, a, ws->state_fd, TASK_LEDGER, last, NULL, e);
	if (rc == OK && text_is_id(json_get_text(row, "task_id", "")))
		heartbeat_end(s, ws, json_get_text(row, "task_id", ""));
	return rc;
}

int task_close_orphans(
	struct sys *s, struct arena *a, struct workspace *ws, bool all, size_t *ret_closed, struct err *e)
{
	struct json *rows;
	size_t closed = 0;
	int rc = all ? rows_tail(s, a, ws->state_fd, TASK_LEDGER, ALL_ROWS, &rows, e)
		     : recent_open(s, a, ws, &rows, e);

	for (uint32_t i = 0; rc == OK && i < rows->n; i++) {
		if (!is_orphan(s, rows, i))
			continue;
		rc = close_orphan(s, a, ws, rows->items[i], e);
		closed += rc == OK;
	}
	*ret_closed = closed;
	return rc;
}
