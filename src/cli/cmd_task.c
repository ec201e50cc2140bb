/* cmd_task.c — tasks: list, show, doctor, and the moves a person makes (block, complete, retry,
 * mark-stale, reclaim).
 *
 * A move appends a row to the ledger; nothing that was recorded is changed. Which moves make sense from
 * which state is decided in kernel/task; --force makes the others, too. */
#include "base/text.h"
#include "cli/cmd.h"
#include "cli/cmd_observe.h"
#include "kernel/task/task.h"

#include <string.h>

const struct opt task_list_opts[] = {
	{ "status", OPT_LIST, "STATUS", "only these", NULL, false },
	{ "profile", OPT_VALUE, "NAME", "only this profile", NULL, false },
	{ "skill", OPT_VALUE, "NAME", "only this skill", NULL, false },
	{ "active", OPT_FLAG, NULL, "only queued, running and ready ones", NULL, false },
	{ "limit", OPT_INT, "N", "how many (default 20, 0 all)", NULL, false },
	{ 0 },
};
const struct opt task_show_opts[] = {
	{ "history", OPT_FLAG, NULL, "every row of the task", NULL, false },
	{ 0 },
};
#define REASON(need) \
	{ \
		"reason", OPT_VALUE, "TEXT", "why", NULL, need \
	}
#define NEXT_ACTION \
	{ \
		"next-action", OPT_VALUE, "TEXT", "what should be done next", NULL, false \
	}
#define FORCE \
	{ \
		"force", OPT_FLAG, NULL, "also when the move makes no sense", NULL, false \
	}
const struct opt task_block_opts[] = { REASON(true),
	{ "stage", OPT_VALUE, "STAGE", "where (default manual)", NULL, false }, NEXT_ACTION, FORCE, { 0 } };
const struct opt task_complete_opts[] = { { "evidence", OPT_LIST, "KIND:VALUE", "what shows that it is done",
						  NULL, false },
	NEXT_ACTION, FORCE, { 0 } };
const struct opt task_retry_opts[] = { REASON(false),
	{ "new-task-id", OPT_VALUE, "ID", "id of the new task", NULL, false }, FORCE, { 0 } };
const struct opt task_stale_opts[] = { REASON(true),
	{ "stage", OPT_VALUE, "STAGE", "where (default stale)", NULL, false }, NEXT_ACTION, FORCE, { 0 } };
const struct opt task_reclaim_opts[] = { REASON(true),
	{ "owner-session-id", OPT_VALUE, "ID", "who takes it over", NULL, false }, NEXT_ACTION, FORCE,
	{ 0 } };
const struct opt task_doctor_opts[] = {
	{ "stale-minutes", OPT_INT, "N", "how long without a sign of life is too long (default 120)", NULL,
		false },
	{ "fix", OPT_FLAG, NULL, "close runs whose process is gone", NULL, false },
	{ 0 },
};

/* Whether a task passes all filters that were given. */
static bool is_wanted(struct cli *r, const struct json *row)
{
	const char *status = json_get_text(row, "status", ""), *profile = opt_text(r, "profile", NULL),
		   *skill = opt_text(r, "skill", NULL);
	const char **states;
	size_t n = opt_list(r, "status", &states);
	bool match = n == 0;

	for (size_t i = 0; i < n; i++)
		match |= text_eq(states[i], status);
	if (opt_flag(r, "active") && !text_eq(status, "queued") && !text_eq(status, "running") &&
		!text_eq(status, "ready"))
		return false;
	return match && (!profile || text_eq(profile, json_get_text(row, "profile", ""))) &&
		(!skill || text_eq(skill, json_get_text(row, "skill", "")));
}

/* On a narrow terminal the beginning of an id is enough: every command takes it. */
static const char *clip_id(struct cli *r, const char *id)
{
	return r->is_tty && strlen(id) == 36 && out_width(r) < 110 ? arena_strndup(r->a, id, 8) : id;
}

/* The list as JSON has no place for this, so it is said on standard error, for both forms. */
static void warn_partial(struct cli *r, uint32_t shown, uint32_t of, bool is_cut)
{
	warn(r, "%u of %u%s tasks, all with --limit 0", shown, of, is_cut ? " or more" : "");
}

/* Rows are taken from the newest back and then turned round, so that the limit keeps the newest and they
 * stand last. */
int cmd_task_list(struct cli *r, struct err *e)
{
	static const char *const heads[] = { "ID", "STATUS", "PROFILE", "WHEN", "NAME" };
	struct observed o = observed_from(r);
	struct json *rows, *shown = json_new(r->a, JSON_ARRAY);
	int64_t limit = opt_int(r, "limit", 20), now = r->sys->now_us(r->sys), us;
	bool is_cut;
	uint32_t wanted = 0;
	int rc = observe_all_tasks(&o, limit == 0, &rows, &is_cut, e);

	if (rc)
		return rc;
	for (uint32_t i = rows->n; i-- > 0;) {
		if (!is_wanted(r, rows->items[i]))
			continue;
		wanted++;
		if (!limit || shown->n < limit)
			json_push(r->a, shown, rows->items[i]);
	}
	for (uint32_t i = 0; i < shown->n / 2; i++) { /* newest last */
		struct json *x = shown->items[i];
		shown->items[i] = shown->items[shown->n - 1 - i];
		shown->items[shown->n - 1 - i] = x;
	}
	/* Said before the list, so that it is not overlooked below it. */
	if (wanted > shown->n || is_cut)
		warn_partial(r, shown->n, wanted, is_cut);
	if (r->is_json) {
		out_json(r, shown);
		return 0;
	}
	struct out_table *t = out_table(r, heads, ARRAY_SIZE(heads));
	json_each (row, shown) {
		const char *at = json_get_text(row, "updated_at",
			json_get_text(row, "finished_at", json_get_text(row, "started_at", "")));
		const char *cells[] = { clip_id(r, safe_member(r, row, "task_id")),
			safe_member(r, row, "status"), safe_member(r, row, "profile"),
			text_parse_time(at, strlen(at), &us) ? observe_ago(r->a, us, now) : "-",
			safe_member(r, row, "task_name") };
		enum paint paints[] = { PAINT_MUTED, paint_for_status(cells[1]), PAINT_OFF, PAINT_MUTED,
			PAINT_OFF };
		out_row(t, cells, paints);
	}
	out_table_end(t);
	return 0;
}

/* One name=value line. Lists and objects are written as JSON with sorted names, so that two outputs can be
 * compared. */
static void print_member(struct cli *r, const struct json *row, const char *name)
{
	const struct json *v = json_get(row, name);
	struct buf text;

	buf_init(&text, r->a);
	if (json_text(v))
		buf_adds(&text, json_text(v));
	else if (v && !json_is(v, JSON_NULL))
		json_write(&text, v, JSON_SPACED | JSON_SORT_BYTES);
	else
		buf_addc(&text, '-');
	out(r, "%s=%s\n", name, text_safe(r->a, text.p, text.n, false));
}

/* The newest row is the state of the task; --history shows how it came there. */
int cmd_task_show(struct cli *r, struct err *e)
{
	static const char *const fields[] = { "task_id", "task_name", "status", "profile", "skill",
		"command_preview", "cwd", "exit_code", "checkpoint_id", "decision_id", "started_at",
		"updated_at", "finished_at", "parent_task_id", "retry_count", "failure_stage",
		"failure_reason", "blocked_reason", "completion_evidence", "next_action", "failure_signature",
		"protections" };
	struct observed o = observed_from(r);
	struct json *rows;
	int rc = observe_task(&o, r->args[0], &rows, e);

	if (rc)
		return rc;
	if (r->is_json) {
		out_json(r, opt_flag(r, "history") ? rows : rows->items[rows->n - 1]);
		return 0;
	}
	if (opt_flag(r, "history"))
		json_each (row, rows)
			out(r, "%s  %s\n", safe_member(r, row, "status"),
				safe_member(
					r, row, json_get(row, "finished_at") ? "finished_at" : "started_at"));
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		print_member(r, rows->items[rows->n - 1], fields[i]);
	return 0;
}

/* The task may be named by the beginning of its id; its newest row is what is changed. */
static int change(struct cli *r, struct task_change *c, struct err *e)
{
	struct observed o = observed_from(r);
	struct json *rows, *row;
	int rc = observe_task(&o, r->args[0], &rows, e);

	c->force = opt_flag(r, "force");
	if (rc == OK)
		rc = task_change(r->sys, r->a, r->ws, rows->items[rows->n - 1], c, &row, e);
	if (rc)
		return rc;
	if (r->is_json)
		out_json(r, row);
	else
		out(r, "task_id=%s\nstatus=%s\n", safe_member(r, row, "task_id"),
			safe_member(r, row, "status"));
	return 0;
}

/* Somebody must act before this task can go on; the reason is required. */
int cmd_task_block(struct cli *r, struct err *e)
{
	struct task_change c = { .to = TASK_BLOCK,
		.reason = opt_text(r, "reason", NULL),
		.stage = opt_text(r, "stage", NULL),
		.next_action = opt_text(r, "next-action", NULL) };

	return change(r, &c, e);
}

/* Evidence is recorded as it is given; `task doctor` points out completed tasks that have none. */
int cmd_task_complete(struct cli *r, struct err *e)
{
	struct task_change c = { .to = TASK_COMPLETE, .next_action = opt_text(r, "next-action", NULL) };
	const char **evidence;

	c.evidence_count = opt_list(r, "evidence", &evidence);
	c.evidence = evidence;
	return change(r, &c, e);
}

/* Makes a new task that names the old one as its parent. */
int cmd_task_retry(struct cli *r, struct err *e)
{
	struct task_change c = { .to = TASK_RETRY,
		.reason = opt_text(r, "reason", NULL),
		.new_id = opt_text(r, "new-task-id", NULL) };

	return change(r, &c, e);
}

/* For a task that claims to run while nobody works on it. */
int cmd_task_mark_stale(struct cli *r, struct err *e)
{
	struct task_change c = { .to = TASK_STALE,
		.reason = opt_text(r, "reason", NULL),
		.stage = opt_text(r, "stage", NULL),
		.next_action = opt_text(r, "next-action", "look at it, then 'helm task retry'") };

	return change(r, &c, e);
}

/* Makes a task ready again, under a new owner. */
int cmd_task_reclaim(struct cli *r, struct err *e)
{
	struct task_change c = { .to = TASK_RECLAIM,
		.reason = opt_text(r, "reason", NULL),
		.owner = opt_text(r, "owner-session-id", NULL),
		.next_action = opt_text(r, "next-action", NULL) };

	return change(r, &c, e);
}

/* --fix closes only runs whose process is gone; everything else is for a person. */
int cmd_task_doctor(struct cli *r, struct err *e)
{
	struct observed o = observed_from(r);
	struct json *doc;
	size_t closed = 0;
	/* Closed first, so that the findings below are what is left. */
	int rc = opt_flag(r, "fix") ? task_close_orphans(r->sys, r->ws, true, &closed, e) : OK;

	if (rc == OK)
		rc = observe_task_doctor(&o, 0, opt_int(r, "stale-minutes", 120), &doc, e);
	if (rc)
		return rc;
	bool ok = json_get_bool(doc, "ok", false);
	if (r->is_json) {
		out_json(r, doc);
		return ok ? 0 : EXIT_NO;
	}
	if (closed)
		out(r, "closed=%zu\n", closed);
	json_each (f, json_get(doc, "findings"))
		out(r, "%s  %s  %s  %s\n      %s\n", safe_member(r, f, "severity"), safe_member(r, f, "kind"),
			safe_member(r, f, "task_id"), safe_member(r, f, "task_name"),
			safe_member(r, f, "suggested_action"));
	if (!json_get(doc, "findings")->n)
		out(r, "every task is in order\n");
	return ok ? 0 : EXIT_NO;
}
