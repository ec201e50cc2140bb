/* list.c — sessions as the record tells them: which run, and what one of them did.
 *
 * Reads ledgers only.  A report is one page: long lists are cut, and say how many there are. */
#include "base/proc.h"
#include "base/text.h"
#include "kernel/agent/parts.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

enum { LISTED = 20, TOOLS = 200, STOP_STEP_US = 20000, STOP_WAIT_US = 15000000 };

/* ---- sessions ---- */

struct sessions {
	struct arena *a;
	struct json *rows, *seen; /* newest row of each, newest first */
	const char *id; /* only this one; NULL: all */
};

/* Later rows of a task are seen first, and each holds all of it. */
static int note_session(void *arg, struct json *row)
{
	struct sessions *x = arg;
	const char *id = json_get_text(row, "task_id", NULL);

	if (!id || !text_eq(json_get_text(row, "kind", ""), "agent") || json_get(x->seen, id) ||
		(x->id && !text_eq(x->id, id)))
		return 0;
	json_setb(x->a, x->seen, id, true);
	json_push(x->a, x->rows, row);
	return x->id ? 1 : 0;
}

static int find_sessions(struct sys *s, struct arena *a, const struct workspace *ws, const char *id,
	struct json **ret, struct err *e)
{
	struct sessions x = { a, json_new(a, JSON_ARRAY), json_new(a, JSON_OBJECT), id };
	int rc = rows_back(s, a, ws->state_fd, TASK_LEDGER, 0, id ? id : "agent", note_session, &x, e);

	if (rc == E_MISSING)
		rc = OK;
	if (rc >= 0)
		*ret = x.rows;
	return rc < 0 ? rc : OK;
}

/* By pid and start time: a pid alone may be another process by now. */
static bool is_running(struct sys *s, const struct json *row)
{
	return row_is_open(row) &&
		proc_is_running(s, json_get_int(row, "pid", 0), json_get_int(row, "pid_start", 0));
}

static struct json *summary(struct sys *s, struct arena *a, const struct json *row)
{
	static const char *const kept[] = { "task_id", "client", "profile", "cwd", "started_at",
		"finished_at", "exit_code", "agent_calls", "pid", "detached" };
	struct json *doc = json_new(a, JSON_OBJECT);
	bool runs = is_running(s, row);

	for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
		if (json_get(row, kept[i]))
			json_set(a, doc, kept[i], json_get(row, kept[i]));
	json_setb(a, doc, "running", runs);
	/* Its supervisor was killed, and nobody has closed the row yet. */
	json_sets(a, doc, "status", row_is_open(row) && !runs ? "lost" : json_get_text(row, "status", ""));
	return doc;
}

int agent_list(struct sys *s, struct arena *a, const struct workspace *ws, bool all, struct json **ret,
	struct err *e)
{
	struct json *rows, *list = json_new(a, JSON_ARRAY), *doc = json_new(a, JSON_OBJECT);
	int rc = find_sessions(s, a, ws, NULL, &rows, e);

	if (rc)
		return rc;
	for (uint32_t i = rows->n; i-- > 0;)
		if (all || is_running(s, rows->items[i]))
			json_push(a, list, summary(s, a, rows->items[i]));
	json_set(a, doc, "sessions", list);
	*ret = doc;
	return OK;
}

static int find_one(struct sys *s, struct arena *a, const struct workspace *ws, const char *id,
	const struct json **ret, struct err *e)
{
	struct json *rows;
	int rc = find_sessions(s, a, ws, id, &rows, e);

	if (rc)
		return rc;
	if (!rows->n)
		return id ? err_set(e, E_MISSING, "AGENT_UNKNOWN",
				    "no session is called '%s'; see 'helm agent list --all'", id)
			  : err_set(e, E_MISSING, "AGENT_UNKNOWN",
				    "there was no session here yet; 'helm agent CLIENT' starts one");
	*ret = rows->items[0];
	return OK;
}

/* ---- the report ---- */

/* A session may have a million calls: of each only what is counted or listed is kept. */
struct tool_count {
	const char *name;
	int64_t n;
};

struct report {
	struct arena *a;
	const char *id;
	struct json *refused, *asked, *undo, *outside, *outside_seen;
	struct tool_count tools[TOOLS];
	size_t tool_n;
	int64_t calls, read, allowed, refused_n, asked_n, undo_n;
};

static void list_call(struct report *x, struct json *list, const struct json *row, const char *const *names)
{
	if (list->n >= LISTED)
		return;
	struct json *one = json_new(x->a, JSON_OBJECT);
	for (; *names; names++)
		if (json_get_text(row, *names, NULL))
			json_sets(x->a, one, *names, json_get_text(row, *names, ""));
	json_push(x->a, list, one);
}

/* Names beyond so many are counted together. */
static void count_tool(struct report *x, const char *name)
{
	size_t i = 0;

	while (i < x->tool_n && !text_eq(x->tools[i].name, name))
		i++;
	if (i == TOOLS)
		i--;
	else if (i == x->tool_n)
		x->tools[x->tool_n++].name = i == TOOLS - 1 ? "(others)" : arena_strdup(x->a, name);
	x->tools[i].n++;
}

static int note_call(void *arg, struct json *row)
{
	static const char *const said[] = { "at", "tool", "preview", "rule", "approval_id", NULL };
	static const char *const undone[] = { "at", "preview", "checkpoint_id", NULL };
	struct report *x = arg;
	const char *verdict = json_get_text(row, "verdict", NULL), *tool = json_get_text(row, "tool", "");

	if (!verdict || !text_eq(json_get_text(row, "agent_task", ""), x->id))
		return 0;
	x->calls++;
	count_tool(x, tool);
	if (text_eq(verdict, "DENY")) {
		x->refused_n++;
		list_call(x, x->refused, row, said);
	} else if (text_eq(verdict, "ESCALATE")) {
		x->asked_n++;
		list_call(x, x->asked, row, said);
	} else if (json_get_text(row, "decision_id", NULL)) {
		x->allowed++;
	} else {
		x->read++;
	}
	if (json_get_text(row, "checkpoint_id", NULL)) {
		x->undo_n++;
		list_call(x, x->undo, row, undone);
	}
	return 0;
}

static int note_outside(void *arg, struct json *row)
{
	struct report *x = arg;
	const char *id = json_get_text(row, "task_id", NULL);

	if (!id || !text_eq(json_get_text(row, "parent_task_id", ""), x->id) || json_get(x->outside_seen, id))
		return 0;
	json_setb(x->a, x->outside_seen, id, true);
	struct json *one = json_new(x->a, JSON_OBJECT), *argv = json_get(row, "command");
	json_sets(x->a, one, "task_id", id);
	json_sets(x->a, one, "command", argv && argv->n ? json_text(argv->items[argv->n - 1]) : "");
	json_sets(x->a, one, "profile", json_get_text(row, "profile", ""));
	json_sets(x->a, one, "status", json_get_text(row, "status", ""));
	if (json_get(row, "exit_code"))
		json_set(x->a, one, "exit_code", json_copy(x->a, json_get(row, "exit_code")));
	if (json_get(row, "left_behind"))
		json_set(x->a, one, "left_behind", json_copy(x->a, json_get(row, "left_behind")));
	if (json_get_text(row, "failure_reason", NULL))
		json_sets(x->a, one, "why", json_get_text(row, "failure_reason", ""));
	if (x->outside->n < LISTED)
		json_push(x->a, x->outside, one);
	return 0;
}

static void put_calls(struct report *x, struct json *doc)
{
	struct json *n = json_new(x->a, JSON_OBJECT), *tools = json_new(x->a, JSON_OBJECT);

	for (size_t i = 0; i < x->tool_n; i++)
		json_seti(x->a, tools, x->tools[i].name, x->tools[i].n);
	json_seti(x->a, n, "all", x->calls);
	json_seti(x->a, n, "only_read", x->read);
	json_seti(x->a, n, "allowed", x->allowed);
	json_seti(x->a, n, "asked", x->asked_n);
	json_seti(x->a, n, "refused", x->refused_n);
	json_seti(x->a, n, "outside", x->outside_seen->n);
	json_seti(x->a, n, "can_be_undone", x->undo_n);
	json_set(x->a, doc, "calls", n);
	json_set(x->a, doc, "tools", tools);
	json_set(x->a, doc, "asked", x->asked);
	json_set(x->a, doc, "refused", x->refused);
	json_set(x->a, doc, "outside", x->outside);
	json_set(x->a, doc, "undo", x->undo);
}

/* Whose helm was killed, it was ended by another; and the operator may have decided about some of them since. */
static void put_left(
	struct sys *s, struct arena *a, const struct workspace *ws, const char *id, struct json *doc)
{
	if (!json_get(doc, "session_left"))
		layer_tell(a, layer_result(s, a, ws->helm_home, id), doc);
	json_each (one, json_get(doc, "session_left"))
		json_setb(a, one, "kept_aside",
			layer_is_kept(s, a, ws->helm_home, id, json_get_text(one, "path", "")));
}

int agent_report(struct sys *s, struct arena *a, const struct workspace *ws, const char *id,
	struct json **ret, struct err *e)
{
	static const char *const kept[] = { "touched_paths", "deleted_paths", "left_behind", "protections",
		"failure_reason", "session_carried", "session_left", "session_left_count", "session_dropped",
		"session_deleted" };
	const struct json *row;
	int rc = find_one(s, a, ws, id, &row, e);

	if (rc)
		return rc;
	struct json *doc = summary(s, a, row);
	struct report x = { .a = a,
		.id = json_get_text(row, "task_id", ""),
		.refused = json_new(a, JSON_ARRAY),
		.asked = json_new(a, JSON_ARRAY),
		.undo = json_new(a, JSON_ARRAY),
		.outside = json_new(a, JSON_ARRAY),
		.outside_seen = json_new(a, JSON_OBJECT) };
	rc = rows_back(s, NULL, ws->state_fd, TOOL_CALLS, 0, x.id, note_call, &x, e);
	if (rc >= 0 || rc == E_MISSING)
		rc = rows_back(s, NULL, ws->state_fd, TASK_LEDGER, 0, x.id, note_outside, &x, e);
	if (rc < 0 && rc != E_MISSING)
		return rc;
	put_calls(&x, doc);
	for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
		if (json_get(row, kept[i]))
			json_set(a, doc, kept[i], json_get(row, kept[i]));
	put_left(s, a, ws, x.id, doc);
	*ret = doc;
	return OK;
}

/* ---- ending one ---- */

int agent_find_running(struct sys *s, struct arena *a, const struct workspace *ws, const char *id,
	const struct json **ret, struct err *e)
{
	int rc = find_one(s, a, ws, id, ret, e);

	if (rc == OK && !is_running(s, *ret))
		return err_set(e, E_MISSING, "AGENT_ENDED", "session '%s' does not run any more",
			json_get_text(*ret, "task_id", ""));
	return rc;
}

/* A session that is over already is stopped: what was asked for is so. */
int agent_stop(struct sys *s, struct arena *a, const struct workspace *ws, const char *id, struct json **ret,
	struct err *e)
{
	const struct json *row;
	int rc = find_one(s, a, ws, id, &row, e);

	if (rc == OK && !is_running(s, row))
		*ret = summary(s, a, row);
	if (rc || !is_running(s, row))
		return rc;
	int64_t pid = json_get_int(row, "pid", 0), until = s->mono_us(s) + STOP_WAIT_US;
	if (kill((pid_t)pid, SIGTERM) && errno != ESRCH)
		return err_sys(
			e, "AGENT_STOP", "its supervisor (process %lld) cannot be signalled", (long long)pid);
	while (is_running(s, row)) {
		if (s->mono_us(s) > until)
			return err_set(e, E_IO, "AGENT_STOP",
				"its supervisor (process %lld) was asked to end, and has not yet",
				(long long)pid);
		s->sleep_us(s, STOP_STEP_US);
	}
	rc = find_one(s, a, ws, id, &row, e);
	if (rc == OK)
		*ret = summary(s, a, row);
	return rc;
}
