/* cmd_failures.c — failures: the same ones counted together; trace: what runs did, compared, exported and asked again. */
#include "base/file.h"
#include "base/text.h"
#include "cli/cmd.h"
#include "cli/cmd_actions.h"
#include "kernel/foresee.h"
#include "record/record.h"
#include "remember/failure.h"
#include "remember/failure_fix.h"
#include "remember/memory.h"
#include "remember/run_trace.h"

#include <fcntl.h>
#include <string.h>

const struct opt failures_list_opts[] = {
	{ "limit", OPT_INT, "N", "of the newest N tasks (all)", NULL, false },
	{ "since", OPT_VALUE, "TIME", "only of runs that ended since then: 2d, yesterday, 2026-05-01", NULL,
		false },
	{ "skill", OPT_VALUE, "NAME", "only of this skill", NULL, false },
	{ 0 },
};
const struct opt failures_signature_opts[] = {
	{ "workspace-root", OPT_VALUE, "DIR", "what is written as <workspace>", NULL, false },
	{ "home", OPT_VALUE, "DIR", "what is written as ~", NULL, false },
	{ 0 },
};
const struct opt trace_list_opts[] = {
	{ "skill", OPT_VALUE, "NAME", "only of this skill", NULL, false },
	{ "outcome", OPT_VALUE, "WORD", "only those that came out so", "completed|failed|aborted", false },
	{ "limit", OPT_INT, "N", "the newest N (20; 0 is all)", NULL, false },
	{ 0 },
};
const struct opt trace_candidates_opts[] = {
	{ "min-success", OPT_INT, "N", "so many successes make a skill (3)", NULL, false },
	{ "min-failures", OPT_INT, "N", "so many failures make a repair (2)", NULL, false },
	{ "min-rep", OPT_INT, "N", "so many rows of the same tools make one runner (3)", NULL, false },
	{ 0 },
};
const struct opt trace_export_opts[] = {
	{ "limit", OPT_INT, "N", "the last N rows (0 all)", NULL, false },
	{ 0 },
};

/* ---- the same failures together ---- */

struct grouping {
	struct arena *a;
	const char *skill, *only;
	int64_t since_us;
	struct json *by;
	struct failure_past *past;
};

static struct json *group_of(struct grouping *g, const char *print, const struct json *signature)
{
	static const char *const names[] = { "component", "tool", "error_class", "target" };
	struct json *one = json_get(g->by, print);

	if (one)
		return one;
	one = json_new(g->a, JSON_OBJECT);
	json_sets(g->a, one, "fingerprint", print);
	json_seti(g->a, one, "count", 0);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		json_sets(g->a, one, names[i], json_get_text(signature, names[i], NULL));
	json_sets(g->a, one, "said", json_get_text(signature, "said", NULL));
	json_sets(g->a, one, "first_at", NULL);
	json_sets(g->a, one, "last_at", NULL);
	json_sets(g->a, one, "fixed_by", NULL);
	json_sets(g->a, one, "fixed_by_command", NULL);
	json_set(g->a, one, "task_ids", json_new(g->a, JSON_ARRAY));
	json_set(g->a, g->by, print, one);
	return one;
}

/* Of the newest one of them: what failed again was not fixed.  What was denied does not become allowed by a change. */
static void put_fix(struct grouping *g, struct json *one, const struct json *row)
{
	struct failure_fix fix;

	if (text_eq(json_get_text(one, "error_class", ""), "guard_deny") ||
		!failure_past_fix(g->past, row, &fix))
		return;
	json_sets(g->a, one, "fixed_by", fix.task_id);
	json_sets(g->a, one, "fixed_by_command", fix.command);
	json_sets(g->a, one, "changed_by", fix.changed_by);
	json_sets(g->a, one, "changed", fix.changed);
}

/* Tasks by their last rows, the newest first. */
static int group_row(void *arg, struct json *row, struct err *e)
{
	struct grouping *g = arg;
	const struct json *signature = json_get(row, "failure_signature");
	const char *id = json_get_text(row, "task_id", NULL),
		   *print = json_get_text(signature, "fingerprint", NULL),
		   *at = json_get_text(row, "finished_at", NULL);
	int64_t us;

	(void)e;
	if (at && g->since_us && text_parse_time(at, strlen(at), &us) && us < g->since_us)
		return 1;
	if (!id || row_is_open(row))
		return 0;
	if (print && (!g->only || text_eq(print, g->only)) &&
		(!g->skill || text_eq(json_get_text(row, "skill", ""), g->skill))) {
		struct json *one = group_of(g, print, signature);
		const int64_t before = json_get_int(one, "count", 0);
		json_seti(g->a, one, "count", before + 1);
		json_sets(g->a, one, "first_at", at);
		if (!before) {
			json_sets(g->a, one, "last_at", at);
			json_sets(g->a, one, "status", json_get_text(row, "status", NULL));
			put_fix(g, one, row);
		}
		json_pushs(g->a, json_get(one, "task_ids"), id);
	}
	failure_past_see(g->past, row);
	return 0;
}

static int group(struct cli *r, const char *only, int64_t since_us, struct json **ret, struct err *e)
{
	const struct index_place at = { r->sys, r->a, r->ws->state_dir, r->ws->state_fd };
	struct grouping g = { r->a, opt_text(r, "skill", NULL), only, since_us, json_new(r->a, JSON_OBJECT),
		NULL };
	struct json *list = json_new(r->a, JSON_ARRAY);
	AUTO(index_close) struct index *x = NULL;
	int rc = failure_past_open(r->sys, r->a, r->ws->state_fd, INT64_MIN, &g.past, e);

	if (rc == OK)
		rc = index_open(&at, INDEX_ALL, &x, e);
	if (rc == OK)
		rc = index_tasks(x, NULL, (size_t)opt_int(r, "limit", 0), group_row, &g, e);
	if (rc < 0)
		return rc;
	if (index_note(x))
		warn(r, "%s", index_note(x));
	json_each_member (m, g.by)
		json_push(r->a, list, m->value);
	*ret = list;
	return OK;
}

int cmd_failures_list(struct cli *r, struct err *e)
{
	static const char *const heads[] = { "FINGERPRINT", "COUNT", "STATUS", "CLASS", "TOOL", "FIRST",
		"LAST", "FIXED BY", "TARGET" };
	struct json *list;
	int64_t since_us = 0;
	int rc = opt_since(r, "since", &since_us, e);

	if (rc == OK)
		rc = group(r, NULL, since_us, &list, e);
	if (rc)
		return rc;
	if (r->is_json) {
		out_json(r, list);
		return 0;
	}
	out_since(r, since_us);
	if (!list->n) {
		out(r, "no failures\n");
		return 0;
	}
	struct out_table *t = out_table(r, heads, ARRAY_SIZE(heads));
	json_each (one, list) {
		const char *const cells[] = { safe_member(r, one, "fingerprint"),
			json_get(one, "count")->text, safe_member(r, one, "status"),
			safe_member(r, one, "error_class"), safe_member(r, one, "tool"),
			safe_member(r, one, "first_at"), safe_member(r, one, "last_at"),
			safe_member(r, one, "fixed_by"), safe_member(r, one, "target") };
		out_row(t, cells, NULL);
	}
	out_table_end(t);
	return 0;
}

int cmd_failures_show(struct cli *r, struct err *e)
{
	struct json *list;
	int64_t since_us = 0;
	int rc = opt_since(r, "since", &since_us, e);

	if (rc == OK)
		rc = group(r, r->args[0], since_us, &list, e);
	if (rc)
		return rc;
	if (!list->n)
		return err_set(e, E_MISSING, "FAILURE_UNKNOWN",
			"there is no failure '%.40s'; 'helm failures list' names them", r->args[0]);
	out_result(r, list->items[0]);
	return 0;
}

static int read_input(struct cli *r, struct json **ret, struct err *e)
{
	struct bytes text;
	int rc = file_read(r->sys, r->a, AT_FDCWD, "-", 16 << 20, FILE_FOLLOW, &text, e);

	return rc ? rc : json_parse(r->a, text, "standard input", NULL, ret, e);
}

int cmd_failures_signature(struct cli *r, struct err *e)
{
	const struct failure_place at = { opt_text(r, "workspace-root", r->ws ? r->ws->root : NULL),
		opt_text(r, "home", r->sys->getenv(r->sys, "HOME")) };
	struct json *event;
	int rc = read_input(r, &event, e);

	if (rc == OK)
		out_result(r, failure_signature(r->a, event, &at, (struct bytes){ 0 }));
	return rc;
}

int cmd_failures_transition(struct cli *r, struct err *e)
{
	struct json *history;
	int rc = read_input(r, &history, e);

	/* A list, or an object that has it. */
	if (rc == OK)
		out_result(r,
			failure_transition(r->a,
				json_is(history, JSON_OBJECT) ? json_get(history, "history") : history));
	return rc;
}

/* ---- traces ---- */

static struct trace_place traces(struct cli *r)
{
	return (struct trace_place){ r->sys, r->a, r->ws->state_fd, traces_dir(r, NULL) };
}

int cmd_trace_list(struct cli *r, struct err *e)
{
	static const char *const heads[] = { "TASK", "STARTED", "STATUS", "SKILL", "SUMMARY" };
	const struct trace_place at = traces(r);
	const char *skill = opt_text(r, "skill", NULL), *outcome = opt_text(r, "outcome", NULL);
	struct json *all, *list = json_new(r->a, JSON_ARRAY);
	const int64_t limit = opt_int(r, "limit", 20);
	const size_t most = limit > 0 ? (size_t)limit : SIZE_MAX - 1;
	bool is_cut = false;
	int rc = trace_newest(&at, skill || outcome ? SIZE_MAX : most + 1, &all, e);

	if (rc)
		return rc;
	json_each (one, all)
		if ((!skill || text_eq(json_get_text(one, "skill", ""), skill)) &&
			(!outcome || text_eq(json_get_text(one, "outcome", ""), outcome))) {
			is_cut |= list->n >= most;
			if (list->n < most)
				json_push(r->a, list, one);
		}
	if (is_cut)
		warn(r, "the newest %u; there are more traces, all with --limit 0", list->n);
	if (r->is_json) {
		out_json(r, list);
		return 0;
	}
	struct out_table *t = out_table(r, heads, ARRAY_SIZE(heads));
	json_each (one, list) {
		const char *const cells[] = { safe_member(r, one, "taskId"), safe_member(r, one, "startedAt"),
			text_safe(r->a, json_get_text(one, "status", json_get_text(one, "outcome", "-")),
				strlen(json_get_text(one, "status", json_get_text(one, "outcome", "-"))),
				false),
			safe_member(r, one, "skill"), safe_member(r, one, "inputSummary") };
		out_row(t, cells, NULL);
	}
	out_table_end(t);
	return 0;
}

int cmd_trace_show(struct cli *r, struct err *e)
{
	const struct trace_place at = traces(r);
	struct json *trace;
	int rc = trace_get(&at, r->args[0], &trace, e);

	if (rc == OK)
		out_result(r, trace);
	return rc;
}

int cmd_trace_diff(struct cli *r, struct err *e)
{
	const struct trace_place at = traces(r);
	struct json *x, *y, *doc = json_new(r->a, JSON_OBJECT);
	int rc = trace_get(&at, r->args[0], &x, e);

	if (rc == OK)
		rc = trace_get(&at, r->args[1], &y, e);
	if (rc)
		return rc;
	json_sets(r->a, doc, "older", r->args[0]);
	json_sets(r->a, doc, "newer", r->args[1]);
	json_set(r->a, doc, "changed", trace_diff(r->a, x, y));
	out_result(r, doc);
	return 0;
}

int cmd_trace_candidates(struct cli *r, struct err *e)
{
	const struct trace_place at = traces(r);
	const struct trace_least least = { (size_t)opt_int(r, "min-success", 3),
		(size_t)opt_int(r, "min-failures", 2), (size_t)opt_int(r, "min-rep", 3) };
	struct json *all;
	int rc = trace_newest(&at, TRACES_LOOKED_AT, &all, e);

	if (rc == OK)
		out_result(r, trace_candidates(r->a, all, &least));
	return rc;
}

/* Rows that end a task, one span a line; nothing grows with the ledger. */
static int export_row(void *arg, off_t place, uint64_t line, const struct json *row, struct err *e)
{
	struct cli *r = arg;

	(void)place;
	(void)line;
	(void)e;
	if (!row || row_is_open(row) || !json_get_text(row, "task_id", NULL) ||
		!json_get_text(row, "status", NULL))
		return 0;
	trace_span_put(r->out, row);
	if (r->out->n > 1 << 20)
		out_flush(r);
	return 0;
}

int cmd_trace_export(struct cli *r, struct err *e)
{
	const int64_t limit = opt_int(r, "limit", 0);
	off_t from = 0;
	int rc = limit ? ledger_recent(r->sys, r->ws->state_fd, TASK_LEDGER, limit * 4096, &from, e) : OK;

	if (rc == OK)
		rc = rows_each(r->sys, r->ws->state_fd, TASK_LEDGER, from, export_row, r, e);
	return rc;
}

/* Would it be allowed now?  The command is judged as it stands in the record; nothing is run. */
int cmd_trace_replay(struct cli *r, struct err *e)
{
	struct memory_place m = { r->sys, r->ws->root_fd, r->ws->state_fd, r->ws->state_dir };
	struct json *row, *doc = json_new(r->a, JSON_OBJECT);
	struct guard g;
	AUTO(foresight_done) struct foresight f = { 0 };
	int rc = text_is_id(r->args[0])
		? memory_task(&m, r->a, r->args[0], &row, e)
		: err_set(e, E_USAGE, "TRACE_ID", "'%.100s' is no id of a task", r->args[0]);

	if (rc == OK)
		rc = guard_open(r->sys, r->a, r->ws, json_get_text(row, "cwd", NULL), &g, e);
	if (rc)
		return rc;
	const struct json *command = json_get(row, "command");
	if (!command || !command->n)
		return err_set(e, E_INPUT, "TRACE_COMMAND", "the record of '%s' has no command", r->args[0]);
	const char **argv = arena_zalloc(r->a, command->n + 1, sizeof(*argv));
	for (size_t i = 0; i < command->n; i++)
		argv[i] = json_text(command->items[i]) ? json_text(command->items[i]) : "";
	const struct foresee_question question = {
		.profile = json_get_text(row, "profile", NULL), .argv = argv, .argc = command->n
	};
	rc = foresee(&g, r->a, &question, &f, e);
	if (rc)
		return rc;
	const struct decision d = f.h.decision;
	const char *then = json_get_text(json_get(row, "guard"), "action", NULL),
		   *now = action_name(d.action);
	json_sets(r->a, doc, "task_id", r->args[0]);
	json_sets(r->a, doc, "command", json_get_text(row, "command_preview", NULL));
	json_sets(r->a, doc, "profile", json_get_text(row, "profile", NULL));
	json_sets(r->a, doc, "then", then);
	json_sets(r->a, doc, "now", now);
	json_sets(r->a, doc, "verdict", verdict_name(d.verdict));
	json_sets(r->a, doc, "rule", d.detail_code);
	json_sets(r->a, doc, "reason", d.summary);
	json_setb(r->a, doc, "changed", !then || !text_eq(then, now));
	out_result(r, doc);
	return d.verdict == V_ALLOW ? 0 : EXIT_NO;
}
