/* orphans.c — runs that never got their last row, because helm itself was killed.
 *
 * Such a run has ended with its helm (everything below it was ended by the kernel), and a `failed` row says
 * so.  Every run looks before it begins; it costs one look at the files of runs that are open
 * (record/open_runs.c), however long the ledger is.
 *
 * First it is known that the run is over, and only then its newest row is read: the other way round a run that
 * ended in between would be called failed.  Whoever closes a run holds its lock meanwhile, so it is closed
 * once.
 *
 * Two kinds of runs have no file.  Those of older versions; and those whose file a power cut took before it
 * was on disk, which are among the last ones before it.  Both are looked for in the end of the ledger once
 * after each start of the machine, and by `task doctor --fix` in all of it. */
#include "base/file.h"
#include "base/proc.h"
#include "base/text.h"
#include "kernel/task/layer.h"
#include "kernel/task/parts.h"

#include <fcntl.h>
#include <string.h>

/* The last rows before a power cut: as many as a busy workspace writes between two syncs of the kernel. */
enum { ROWS_AFTER_BOOT = 2000 };
#define BOOT_FILE OPEN_RUNS "/boot" /* which start of the machine was looked at */

/* What it had begun says that it runs. */
static bool bundle_is_there(struct sys *s, struct arena *a, const struct workspace *ws, const char *id)
{
	return text_is_id(id) && file_is_dir(s, ws->state_fd, arena_printf(a, TASK_BUNDLES "/%s", id));
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
	json_setb(a, last, "orphaned", true);
	layer_tell(a, layer_result(s, a, ws->helm_home, json_get_text(row, "task_id", "")), last);
	struct json *signature = task_failure_signature(a, ws, last, NULL);
	if (signature)
		json_set(a, last, "failure_signature", signature);
	if (bundle_is_there(s, a, ws, json_get_text(row, "task_id", "")))
		task_bundle(s, a, ws, NULL, NULL, last);
	int rc = ledger_append(s, a, ws->state_fd, TASK_LEDGER, last, NULL, e);
	if (rc == OK && text_is_id(json_get_text(row, "task_id", "")))
		heartbeat_end(s, ws, json_get_text(row, "task_id", ""));
	return rc;
}

/* Whose file nobody holds: its newest row is closed unless it is closed already, or another run's. */
static int close_left(
	struct sys *s, struct arena *a, struct workspace *ws, const char *name, size_t *closed, struct err *e)
{
	const char *at = strrchr(name, '@');
	struct open_run left = { .fd = -1 };
	struct json *row;

	if (!at || open_run_take(s, ws->state_fd, name, &left))
		return OK;
	const char *id = arena_strndup(a, name, (size_t)(at - name));
	int rc = row_newest(s, a, ws->state_fd, id, &row, e);
	if (rc == OK && row_is_open(row) && text_eq(json_get_text(row, "open_run", ""), name)) {
		rc = close_orphan(s, a, ws, row, e);
		*closed += rc == OK;
	}
	if (rc == OK)
		open_run_end(s, ws->state_fd, &left);
	close_fd(&left.fd);
	return rc;
}

static int close_open_runs(
	struct sys *s, struct arena *a, struct workspace *ws, size_t *closed, struct err *e)
{
	char **names;
	size_t n;
	struct err none = { 0 };
	int rc = file_list(s, a, ws->state_fd, OPEN_RUNS, &names, &n, &none);

	if (rc) {
		if (rc != E_MISSING)
			*e = none;
		return rc == E_MISSING ? OK : rc;
	}
	for (size_t i = 0; rc == OK && i < n; i++)
		rc = close_left(s, a, ws, names[i], closed, e);
	return rc;
}

/* ---- those without a file ---- */

/* Tasks whose newest row so far is open; few at any time, so they are looked through one by one. */
struct open_tasks {
	struct arena a;
	char **ids;
	size_t n, room;
};

static void forget(struct open_tasks *t, const char *id)
{
	for (size_t i = 0; i < t->n; i++)
		if (text_eq(t->ids[i], id)) {
			t->ids[i] = t->ids[--t->n];
			return;
		}
}

static int follow(void *arg, off_t offset, uint64_t line, const struct json *row, struct err *e)
{
	struct open_tasks *t = arg;
	const char *id = json_get_text(row, "task_id", "");

	(void)offset;
	(void)line;
	(void)e;
	if (!row || !*id)
		return 0;
	forget(t, id);
	if (!row_is_open(row))
		return 0;
	if (t->n == t->room) {
		char **more = arena_zalloc(&t->a, t->room * 2 + 64, sizeof(*more));
		if (t->n)
			memcpy(more, t->ids, t->n * sizeof(*more));
		t->ids = more;
		t->room = t->room * 2 + 64;
	}
	t->ids[t->n++] = arena_strdup(&t->a, id);
	return 0;
}

/* Again in the right order: is it over, and what is its newest row then? */
static int close_task(
	struct sys *s, struct arena *a, struct workspace *ws, const char *id, size_t *closed, struct err *e)
{
	struct json *row;
	int rc = row_newest(s, a, ws->state_fd, id, &row, e);

	if (rc || !open_run_is_over(s, ws->state_fd, row))
		return rc;
	rc = row_newest(s, a, ws->state_fd, id, &row, e);
	if (rc || !row_is_open(row))
		return rc;
	rc = close_orphan(s, a, ws, row, e);
	*closed += rc == OK;
	return rc;
}

/* all: of the whole ledger, in memory for what is open; else of its last rows. */
static int close_by_rows(
	struct sys *s, struct arena *a, struct workspace *ws, bool all, size_t *closed, struct err *e)
{
	struct open_tasks found = { 0 };
	struct json *rows;
	int rc = OK;

	if (all) {
		rc = rows_each(s, ws->state_fd, TASK_LEDGER, 0, follow, &found, e);
	} else {
		rc = rows_tail(s, a, ws->state_fd, TASK_LEDGER, ROWS_AFTER_BOOT, &rows, e);
		for (uint32_t i = 0; rc == OK && i < rows->n; i++)
			(void)follow(&found, 0, 0, rows->items[i], e);
	}
	for (size_t i = 0; rc == OK && i < found.n; i++)
		rc = close_task(s, a, ws, found.ids[i], closed, e);
	arena_done(&found.a);
	return rc;
}

static bool is_same_boot(struct sys *s, struct arena *a, const struct workspace *ws, const char *boot)
{
	struct bytes text;

	return boot && file_read(s, a, ws->state_fd, BOOT_FILE, 4096, 0, &text, NULL) == OK &&
		text_eq((const char *)text.p, boot);
}

int task_close_orphans(struct sys *s, struct workspace *ws, bool all, size_t *ret_closed, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	const char *boot = proc_boot_id(s, &a);

	*ret_closed = 0;
	int rc = close_open_runs(s, &a, ws, ret_closed, e);
	if (rc || (!all && is_same_boot(s, &a, ws, boot)))
		return rc;
	rc = close_by_rows(s, &a, ws, all, ret_closed, e);
	/* Remembered when it was done; a mark that cannot be made only means that it is done again. */
	if (rc == OK && boot && file_mkdirs(s, ws->state_fd, OPEN_RUNS, 0700, NULL) == OK)
		(void)file_put(s, ws->state_fd, BOOT_FILE, 0600, bytes_of(boot), NULL);
	return rc;
}
