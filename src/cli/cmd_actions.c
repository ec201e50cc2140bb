/* cmd_actions.c — dashboard, watch, run-contract, capability-diff, log sessions: looking at what
 * was recorded.
 *
 * The documents come from actions/ and from the kernel's standing(); here they are printed. Whatever a row
 * says was written by an agent or taken from its commands, so it goes through text_safe() before it
 * reaches a terminal. */
#include "cli/cmd_actions.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/cmd.h"
#include "cli/cmd_approval.h"
#include "kernel/agent/agent.h"
#include "kernel/memory.h"
#include "kernel/sources.h"
#include "kernel/standing.h"
#include "remember/contract.h"

#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

const struct opt dashboard_opts[] = {
	{ "watch", OPT_INT, "SECONDS", "show it again and again", NULL, false },
	{ "since", OPT_VALUE, "TIME",
		"of tasks, failed commands and checkpoints only those since then: 2d, yesterday, 2026-05-01",
		NULL, false },
	{ 0 },
};
const struct opt log_sessions_opts[] = {
	{ "limit", OPT_INT, "N", "how many, the newest ones (default 50, 0 all)", NULL, false },
	{ "since", OPT_VALUE, "TIME", "only those with a call since then: 2d, yesterday, 2026-05-01", NULL,
		false },
	{ 0 },
};
const struct opt contract_opts[] = {
	{ "task-id", OPT_VALUE, "ID", "the task (default: the latest)", NULL, false },
	{ 0 },
};
const struct opt diff_opts[] = {
	{ "older-task-id", OPT_VALUE, "ID", "the older task (default: the one before the latest)", NULL,
		false },
	{ "newer-task-id", OPT_VALUE, "ID", "the newer task (default: the latest)", NULL, false },
	{ 0 },
};

/* How far the index is, once it has taken a second. */
static void show_index_step(void *arg, uint64_t done, uint64_t total)
{
	struct shown *s = arg;
	const int64_t shown_us = s->p.shown_us;

	s->p.total = total;
	if (done < total)
		progress_step(&s->p, done);
	if (s->p.shown_us != shown_us)
		s->what = s->p.what;
	if (done < total || !s->what)
		return;
	show_end(s);
	s->what = NULL;
}

/* The workspace as actions/ wants it.  Numbers are totals unless the caller says is_quick. */
struct actions_place actions_place_from(struct cli *r)
{
	struct shown *s = arena_zalloc(r->a, 1, sizeof(*s));
	struct index_progress *shown = arena_alloc(r->a, sizeof(*shown));

	*shown = (struct index_progress){ show_index_step, s };
	progress_begin(&s->p, r, "bringing the index up to date, receipts", 0);
	s->p.shown_us += 900000; /* the first line comes a second later */
	/* Whoever names a workspace means its own files; else it is the tree one stands in. */
	if (!r->path_option)
		workspace_stand(r->sys, r->a, r->ws, NULL);
	struct context_place at = sources_place(r->sys, r->a, r->ws);
	return (struct actions_place){ .sys = r->sys,
		.ws = r->ws,
		.a = r->a,
		.root = r->ws->root,
		.layout = layout_name(r->ws->layout),
		.state_name = r->ws->state_name,
		.state_dir = r->ws->state_dir,
		.root_fd = r->ws->root_fd,
		.state_fd = r->ws->state_fd,
		.points_dir = text_eq(r->ws->tree, r->ws->root) ? NULL : r->ws->points_dir,
		.sources = sources_load(&at, json_new(r->a, JSON_ARRAY)),
		.shown = shown };
}

struct json *standing_from(struct cli *r, const struct actions_place *o)
{
	return o->is_quick ? standing(r->sys, r->a, r->ws) : standing_patient(r->sys, r->a, r->ws, o->shown);
}

struct action_index *actions_of_cli(struct cli *r)
{
	struct action_index *x = NULL;
	struct err why = { 0 };
	bool is_behind = false;

	if (action_index_open(
		    r->sys, r->a, r->ws, (struct actions_of){ 0 }, INDEX_SOON, &x, &is_behind, &why))
		warn(r, "states of actions cannot be read: %s", why.text);
	else if (is_behind)
		warn(r, "the list of actions is still being made from the record; the next call goes on");
	return x;
}

enum paint paint_for_state(enum action_state state)
{
	static const enum paint paints[] = {
		[ACTION_WAITING] = PAINT_WARN,
		[ACTION_APPROVED] = PAINT_WARN,
		[ACTION_REFUSED] = PAINT_BAD,
		[ACTION_EXPIRED] = PAINT_WARN,
		[ACTION_DENIED] = PAINT_BAD,
		[ACTION_ALLOWED] = PAINT_GOOD,
		[ACTION_RUNNING] = PAINT_WARN,
		[ACTION_DONE] = PAINT_GOOD,
		[ACTION_FAILED] = PAINT_BAD,
		[ACTION_UNDONE] = PAINT_WARN,
		[ACTION_RECORDED] = PAINT_OFF,
	};
	TABLE_COVERS(paints, ACTION_STATES);

	return paints[state];
}

enum { RECENT_TASKS = 20 };

struct recent {
	struct cli *r;
	struct json *rows;
};

/* What needs no look is green, what failed is red, everything else is in between. */
enum paint paint_for_status(const char *status)
{
	if (text_eq(status, "completed"))
		return PAINT_GOOD;
	if (text_eq(status, "failed") || text_eq(status, "timeout") || text_eq(status, "blocked"))
		return PAINT_BAD;
	return PAINT_WARN;
}

/* The text of a member, harmless for a terminal; "-" when it is missing. */
const char *safe_member(struct cli *r, const struct json *row, const char *name)
{
	const char *v = json_get_text(row, name, "-");

	return text_safe(r->a, v, strlen(v), false);
}

static void print_map(struct cli *r, const char *name, const struct json *v)
{
	struct buf text;

	buf_init(&text, r->a);
	json_write(&text, v, JSON_SPACED | JSON_SORT_BYTES);
	out(r, "%s=%s\n", name, text.p);
}

static const char *safe_text(struct cli *r, const char *text)
{
	return text_safe(r->a, text, strlen(text), false);
}

/* What is wrong, each with its remedy. */
static void say_wrong(struct cli *r, const struct json *wrong)
{
	json_each (w, wrong) {
		out(r, "%swrong%s  ", paint(r, PAINT_BAD), paint(r, PAINT_OFF));
		out(r, "%s\n", safe_member(r, w, "text"));
		out(r, "%s\n", arena_printf(r->a, "       remedy: %s", safe_member(r, w, "remedy")));
	}
}

enum {
	QUEUE_TASKS = 2000
}; /* with more the queue is not counted on the way: 'helm memory review-queue' does that */

/* What waits to be remembered, and what of other programs could be adopted: remember/ knows that. */
void put_waiting(struct cli *r, struct json *doc, int64_t tasks)
{
	struct memory_place m = memory_place_of(r->sys, r->ws);
	struct context_place at = sources_place(r->sys, r->a, r->ws);
	struct json *queue, *count = json_new(r->a, JSON_NULL), *warnings = json_new(r->a, JSON_ARRAY);

	if (tasks <= QUEUE_TASKS && memory_review_queue(&m, r->a, 0, &queue, NULL) == OK)
		count = json_get(queue, "count");
	json_set(r->a, doc, "memory_review_queue_count", count);
	json_set(r->a, doc, "onboarding",
		sources_survey(&at, r->ws->home, layout_name(r->ws->layout), warnings));
}

static void heading(struct cli *r, const char *text)
{
	out(r, "\n%s%s%s\n", paint(r, PAINT_ACCENT), text, paint(r, PAINT_OFF));
}

/* Only when there is something to say; a list that cannot be read is told by `standing` already. */
static void print_approvals(struct cli *r, const struct json *part)
{
	struct json *doc;

	if (!json_get_int(part, "pending", 0) && !json_get_int(part, "grants_in_force", 0))
		return;
	if (approvals_load(r->sys, r->a, r->ws, &doc, NULL))
		return;
	heading(r, "Approvals");
	approvals_print(r, doc, false);
}

/* The age of the first of two members that is there. */
static const char *ago_member(struct cli *r, const struct json *row, const char *name, const char *other)
{
	const char *at = json_get_text(row, name, json_get_text(row, other, ""));
	int64_t us;

	return text_parse_time(at, strlen(at), &us) ? actions_ago(r->a, us, r->sys->now_us(r->sys)) : "-";
}

/* The newest first. */
static void print_tasks(struct cli *r, const struct json *status)
{
	static const char *const heads[] = { "STATUS", "PROFILE", "WHEN", "TASK" };
	const struct json *tasks = json_get(status, "recent_tasks");
	const char *since = json_get_text(status, "since", NULL);
	int64_t counted = json_get_int(status, since ? "tasks_since" : "tasks_counted", 0);

	heading(r,
		since ? arena_printf(r->a, "%s since %s%s", text_count(r->a, counted, "task"),
				actions_when(r->a, since),
				tasks->n < counted ? hint(r, " (all: helm task list --since TIME --limit 0)")
						   : "")
			: tasks->n < counted ? hint(r, "Recent tasks (more: helm task list)")
					     : "Recent tasks");
	if (since && !tasks->n)
		return;
	if (!tasks->n) {
		out(r, "Nothing has been run with 'helm run' yet.\n");
		return;
	}
	struct out_table *t = out_table(r, heads, ARRAY_SIZE(heads));
	for (uint32_t i = tasks->n; i-- > 0;) {
		const struct json *row = tasks->items[i];
		const char *cells[] = { safe_member(r, row, "status"), safe_member(r, row, "profile"),
			ago_member(r, row, "finished_at", "started_at"), safe_member(r, row, "task_name") };
		enum paint paints[] = { paint_for_status(cells[0]), PAINT_OFF, PAINT_MUTED, PAINT_OFF };
		out_row(t, cells, paints);
	}
	out_table_end(t);
}

/* The newest first; the status holds at most five, so five may mean more; of a period it holds all. */
static void print_checkpoints(struct cli *r, const struct json *checkpoints, bool is_whole)
{
	static const char *const heads[] = { "WHEN", "LABEL", "CHECKPOINT" };

	if (!checkpoints->n)
		return;
	heading(r,
		is_whole || checkpoints->n < 5 ? "Recent checkpoints"
					       : hint(r, "Recent checkpoints (more: helm checkpoint list)"));
	struct out_table *t = out_table(r, heads, ARRAY_SIZE(heads));
	for (uint32_t i = checkpoints->n; i-- > 0;) {
		const struct json *row = checkpoints->items[i];
		const char *cells[] = { ago_member(r, row, "created_at", "created_at"),
			safe_member(r, row, "label"), safe_member(r, row, "checkpoint_id") };
		enum paint paints[] = { PAINT_MUTED, PAINT_OFF, PAINT_OFF };
		out_row(t, cells, paints);
	}
	out_table_end(t);
}

/* The verdict, what is wrong, what is in force, what waits, what happened, and the next step. */
static void print_dashboard(struct cli *r, const struct json *status)
{
	int64_t now = r->sys->now_us(r->sys);
	bool ok = text_eq(json_get_text(status, "health", ""), "ok");
	const char *next = json_get_text(status, "next", "");

	out(r, "%sHelm%s  %s  (%s)\n", paint(r, PAINT_BOLD), paint(r, PAINT_OFF),
		safe_member(r, status, "workspace"), safe_member(r, status, "layout"));
	out(r, "%s", paint(r, ok ? PAINT_GOOD : PAINT_WARN));
	out(r, "%s\n", safe_text(r, actions_headline(r->a, status)));
	out(r, "%s", paint(r, PAINT_OFF));
	say_wrong(r, json_get(status, "wrong"));
	heading(r, "In force");
	json_each (f, json_get(status, "freeze")) {
		out(r, "%s", paint(r, PAINT_BAD));
		out(r, "%s\n", safe_text(r, actions_freeze_text(r->a, f, now)));
		out(r, "%s", paint(r, PAINT_OFF));
	}
	json_each (p, json_get(status, "paused"))
		out(r, "%s%s%s\n", paint(r, PAINT_BAD), safe_text(r, actions_pause_text(r->a, p, now)),
			paint(r, PAINT_OFF));
	out(r, "%s\n", safe_text(r, actions_profile_text(r->a, json_get(status, "profile"))));
	if (json_get(status, "policy_in_use"))
		out(r, "%s\n", safe_text(r, actions_policy_text(r->a, json_get(status, "policy_in_use"))));
	out(r, "%s\n", safe_member(r, json_get(status, "containment"), "text"));
	out(r, "%s\n", safe_text(r, actions_calls_text(r->a, json_get(status, "calls"), now)));
	print_approvals(r, json_get(status, "approvals"));
	print_tasks(r, status);
	print_checkpoints(r, json_get(status, "recent_checkpoints"), json_get(status, "since") != NULL);
	if (json_get(status, "note"))
		out(r, "\n%s\n", safe_member(r, status, "note"));
	heading(r, "Next");
	out(r, "%s\n", safe_text(r, text_starts(next, "helm dashboard") ? hint(r, "helm report") : next));
}

static void keep_since(struct json *rows, const char *name, int64_t since_us)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; rows && i < rows->n; i++) {
		const char *at = json_get_text(rows->items[i], name, "");
		int64_t us;
		if (text_parse_time(at, strlen(at), &us) && us >= since_us)
			rows->items[kept++] = rows->items[i];
	}
	if (rows)
		rows->n = kept;
}

static int keep_recent_task(void *arg, struct json *row, struct err *e)
{
	struct recent *to = arg;

	(void)e;
	json_push(to->r->a, to->rows, json_copy(to->r->a, row));
	return OK;
}

/* The status with the lists of a period instead of the newest few. */
static int put_since(
	struct cli *r, const struct actions_place *o, struct json *status, int64_t since_us, struct err *e)
{
	static const struct task_filter any = { 0 };
	struct recent tasks = { r, json_new(r->a, JSON_ARRAY) };
	struct json *points = json_new(r->a, JSON_ARRAY);
	struct part part;
	int rc = actions_task_list(o, &any, since_us, RECENT_TASKS, &part, keep_recent_task, &tasks, e);

	if (rc == OK)
		rc = actions_checkpoints(o, 0, &points, e);
	if (rc)
		return rc;
	keep_since(points, "created_at", since_us);
	keep_since(json_get(status, "recent_failed_commands"), "started_at", since_us);
	json_sets(r->a, status, "since", text_time_iso(r->a, since_us));
	json_seti(r->a, status, "tasks_since", part.of);
	json_set(r->a, status, "recent_tasks", tasks.rows);
	json_set(r->a, status, "recent_checkpoints", points);
	return OK;
}

/* One picture of how things stand; under --json the status document itself. */
static int show_dashboard(struct cli *r, int64_t since_us, struct err *e)
{
	struct actions_place o = actions_place_from(r);
	struct json *status;
	int rc = actions_status(&o, standing_from(r, &o), &status, e);

	if (rc)
		return rc;
	put_waiting(r, status, json_get_int(status, "tasks_counted", 0));
	if (since_us && (rc = put_since(r, &o, status, since_us, e)))
		return rc;
	hint_json(r, status);
	if (r->is_json)
		out_json(r, status);
	else
		print_dashboard(r, status);
	out_flush(r);
	return 0;
}

/* A number picks a request to be answered; any other line ends the watch. */
static int take_line(struct cli *r, bool *ret_ends, struct err *e)
{
	char line[32];
	ssize_t n = read(0, line, sizeof(line) - 1);
	struct json *doc;
	int64_t number;

	/* Every way out that is not an answer ends the watch. */
	*ret_ends = true;
	if (n <= 0)
		return 0;
	line[n] = '\0';
	line[strcspn(line, "\r\n")] = '\0';
	if (!text_int(line, &number))
		return 0;
	int rc = approvals_load(r->sys, r->a, r->ws, &doc, e);
	const char *id = rc ? NULL : approvals_nth(r, doc, number);
	*ret_ends = false;
	return id ? approval_ask_person(r, id, e) : rc;
}

/* Shows the dashboard again and again until a line is typed or the terminal goes away. Each round gives
 * its memory back, so it can run for days; the output buffer is made anew because it lay in that memory. */
static int watch(struct cli *r, int64_t seconds, bool answers, int64_t since_us, struct err *e)
{
	bool ends = false;
	int rc = 0;

	while (rc == 0 && !ends) {
		if (r->is_tty)
			out(r, "\033[H\033[2J");
		/* Everything that this round allocates is given back below. */
		struct arena_mark mark = arena_mark(r->a);
		struct buf *saved = r->out;
		rc = show_dashboard(r, since_us, e);
		if (answers && rc == 0) {
			out(r, "\nType the number of a request to answer it, or only Enter to leave> ");
			out_flush(r);
		}
		r->out = saved;
		buf_init(r->out, r->a);
		arena_release(r->a, mark);
		buf_init(r->out, r->a);
		/* Without a terminal nothing can be typed, so only the time is waited for, and whether somebody still reads. */
		struct pollfd ends_it[] = { { 1, 0, 0 }, { 0, POLLIN, 0 } };
		if (rc || poll(ends_it, isatty(0) ? 2 : 1, (int)seconds * 1000) == 0)
			continue;
		if (!answers || ends_it[0].revents)
			break;
		rc = take_line(r, &ends, e);
	}
	return rc;
}

/* With --watch the picture is shown again and again; that makes no sense as JSON. */
int cmd_dashboard(struct cli *r, struct err *e)
{
	int64_t seconds = opt_int(r, "watch", 0);

	int64_t since_us = 0;
	int rc = opt_since(r, "since", &since_us, e);

	if (rc)
		return rc;
	return seconds && !r->is_json ? watch(r, seconds, false, since_us, e)
				      : show_dashboard(r, since_us, e);
}

/* Without a terminal it is shown once, so that it can be piped. */
int cmd_watch(struct cli *r, struct err *e)
{
	if (opt_text(r, "url", NULL))
		return remote_watch(r, e);
	return r->is_tty && !r->is_json && !opt_flag(r, "once") ? watch(r, 2, isatty(0), 0, e)
								: show_dashboard(r, 0, e);
}

/* The newest row of the named task, or of the latest but `back`. NULL when there are not so many. */
static int pick(struct cli *r, const char *id, size_t back, struct json **ret, struct err *e)
{
	struct actions_place o = actions_place_from(r);
	struct json *rows;
	int rc = id ? actions_task(&o, id, &rows, e) : actions_tasks(&o, back + 1, &rows, e);

	*ret = NULL;
	if (rc)
		return rc;
	if (id)
		*ret = rows->items[rows->n - 1];
	else if (rows->n > back)
		*ret = rows->items[rows->n - 1 - back];
	return OK;
}

/* What a task was allowed to do, member by member. */
int cmd_run_contract(struct cli *r, struct err *e)
{
	struct json *row, *doc = json_new(r->a, JSON_OBJECT), *contract = NULL;
	const struct contract_place at = { r->sys, r->a, r->ws->root_fd };
	struct actions_place o = actions_place_from(r);
	int rc = pick(r, opt_text(r, "task-id", NULL), 0, &row, e);

	if (rc)
		return rc;
	if (!row)
		return err_set(e, E_MISSING, "TASK_MISSING", "nothing has been run yet");
	json_sets(r->a, doc, "workspace", r->ws->root);
	json_set(r->a, doc, "task", actions_capabilities(&o, row));
	if (json_get_text(row, "skill", NULL))
		rc = contract_read(&at, json_get_text(row, "skill", ""), &contract, e);
	if (rc)
		return rc;
	json_set(r->a, doc, "contract", contract ? contract : json_new(r->a, JSON_OBJECT));
	if (r->is_json) {
		out_json(r, doc);
		return 0;
	}
	json_each_member (m, json_get(doc, "task"))
		print_map(r, m->name, m->value);
	print_map(r, "contract", json_get(doc, "contract"));
	return 0;
}

/* Only members that both tasks have are compared. */
int cmd_capability_diff(struct cli *r, struct err *e)
{
	struct json *older, *newer, *doc = json_new(r->a, JSON_OBJECT), *changed = json_new(r->a, JSON_ARRAY);
	int rc = pick(r, opt_text(r, "newer-task-id", NULL), 0, &newer, e);

	if (rc == OK)
		rc = pick(r, opt_text(r, "older-task-id", NULL), 1, &older, e);
	if (rc)
		return rc;
	/* A task that does not exist has no members, so nothing differs from it. */
	struct actions_place o = actions_place_from(r);
	struct json *before = older ? actions_capabilities(&o, older) : json_new(r->a, JSON_OBJECT);
	struct json *after = newer ? actions_capabilities(&o, newer) : json_new(r->a, JSON_OBJECT);
	struct json *sorted = json_copy(r->a, before);
	json_sort_members(sorted);
	json_each_member (m, sorted) {
		struct json *now = json_get(after, m->name), *one = json_new(r->a, JSON_OBJECT);
		if (!now || json_eq(m->value, now))
			continue;
		json_sets(r->a, one, "field", m->name);
		json_set(r->a, one, "before", m->value);
		json_set(r->a, one, "after", now);
		json_push(r->a, changed, one);
	}
	json_sets(r->a, doc, "workspace", r->ws->root);
	json_set(r->a, doc, "older", before);
	json_set(r->a, doc, "newer", after);
	json_set(r->a, doc, "changed", changed);
	if (r->is_json) {
		out_json(r, doc);
		return 0;
	}
	json_each (one, changed) {
		struct buf line;
		buf_init(&line, r->a);
		buf_addf(&line, "%s: ", json_get_text(one, "field", ""));
		json_write(&line, json_get(one, "before"), JSON_SPACED);
		buf_adds(&line, " -> ");
		json_write(&line, json_get(one, "after"), JSON_SPACED);
		out(r, "%s\n", text_safe(r->a, line.p, line.n, false));
	}
	if (!changed->n)
		out(r, "nothing changed\n");
	return 0;
}

static void session_cells(struct cli *r, struct out_table *t, const struct json *s)
{
	/* In the order of the headings. */
	static const char *const numbers[] = { "calls", "allowed", "asked", "denied", "changed_files" };
	const char *cells[8] = { ago_member(r, s, "last_at", "last_at"), safe_member(r, s, "client") };

	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		cells[2 + i] = arena_printf(r->a, "%lld", (long long)json_get_int(s, numbers[i], 0));
	cells[7] = arena_printf(r->a, "%s%s", safe_member(r, s, "session"),
		json_get_bool(s, "self_test", false) ? " (self-test)" : "");
	out_row(t, cells, NULL);
}

struct session_listing {
	struct listing list;
	struct part part;
	bool has_begun;
};

static int list_session(void *arg, struct json *row, struct err *e)
{
	struct session_listing *l = arg;

	if (!l->has_begun)
		say_part(l->list.r, &l->part, "sessions");
	l->has_begun = true;
	return listing_row(&l->list, row, e);
}

/* Sessions of agents with their counts, the newest last. */
int cmd_log_sessions(struct cli *r, struct err *e)
{
	static const char *const heads[] = { "LAST", "CLIENT", "CALLS", "ALLOWED", "ASKED", "DENIED", "FILES",
		"SESSION" };
	struct actions_place o = actions_place_from(r);
	struct session_listing l = { 0 };
	int64_t limit = opt_int(r, "limit", 50), since_us = 0;
	int rc = opt_since(r, "since", &since_us, e);

	if (rc)
		return rc;
	listing_begin(&l.list, r, heads, ARRAY_SIZE(heads), session_cells);
	out_since(r, since_us);
	rc = actions_session_list(&o, since_us, limit < 0 ? 50 : (size_t)limit, &l.part, list_session, &l, e);
	if (rc)
		return rc;
	if (!l.has_begun)
		say_part(r, &l.part, "sessions");
	listing_end(&l.list);
	if (!r->is_json)
		out(r, "\nhelm report --session SESSION tells one of them; the beginning of its id is enough.\n");
	return 0;
}
