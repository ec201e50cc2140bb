/* cmd_ops.c — ops, validate, reconcile: rows of the ledgers as they are, and whether profiles, contracts and reference files are in order. */
#include "base/text.h"
#include "cli/cmd.h"
#include "cli/cmd_actions.h"
#include "kernel/reconcile.h"
#include "kernel/workspace.h"
#include "record/record.h"
#include "remember/contract.h"

#include <string.h>

enum { LOOKED_AT = 200 }; /* lines at the end of a ledger that are looked at for damage */

const struct opt ops_daily_opts[] = {
	{ "limit", OPT_INT, "N", "of the last N tasks (default 20, 0 all)", NULL, false },
	{ "days", OPT_INT, "N", "of the tasks that began in the last N days, however many", NULL, false },
	{ 0 },
};
const struct opt ops_tasks_opts[] = {
	{ "limit", OPT_INT, "N", "the last N rows (default 10, 0 all)", NULL, false },
	{ "summary", OPT_FLAG, NULL, "counts over these rows first", NULL, false },
	{ "status", OPT_VALUE, "STATUS", "only rows in this state", NULL, false },
	{ "profile", OPT_VALUE, "NAME", "only this profile", NULL, false },
	{ "skill", OPT_VALUE, "NAME", "only this skill", NULL, false },
	{ "delivery-mode", OPT_VALUE, "MODE", "only this way of delivery", NULL, false },
	{ "failed-only", OPT_FLAG, NULL, "only rows that say failed", NULL, false },
	{ "latest", OPT_FLAG, NULL, "only the newest row of each task", NULL, false },
	{ 0 },
};
const struct opt ops_commands_opts[] = {
	{ "limit", OPT_INT, "N", "the last N rows (default 10, 0 all)", NULL, false },
	{ "summary", OPT_FLAG, NULL, "counts over these rows first", NULL, false },
	{ "task-id", OPT_VALUE, "ID", "only of this task", NULL, false },
	{ "component", OPT_VALUE, "NAME", "only of this component", NULL, false },
	{ "label", OPT_VALUE, "LABEL", "only with this label", NULL, false },
	{ "failed-only", OPT_FLAG, NULL, "only what ended with another code than 0", NULL, false },
	{ 0 },
};
const struct opt ops_capture_state_opts[] = {
	{ "limit", OPT_INT, "N", "of the last N tasks (default 20, 0 all)", NULL, false },
	{ 0 },
};
const struct opt reconcile_opts[] = {
	{ "apply", OPT_FLAG, NULL,
		"bring back what is missing, and up to date what nobody touched since an earlier release wrote it",
		NULL, false },
	{ "force", OPT_FLAG, NULL,
		"with --apply: also replace what differs; the old file is kept as FILE.bak, or FILE.bak.1, ...",
		NULL, false },
	{ "diff", OPT_FLAG, NULL, "show what differs, from the shipped text to yours", NULL, false },
	{ 0 },
};

/* ---- ops ---- */

/* Lines that are no rows are passed over, and that is said. */
static void warn_damage(struct cli *r, const char *file)
{
	size_t lines = 0, bad = 0;

	if (rows_check(r->sys, r->ws->state_fd, file, LOOKED_AT, &lines, &bad, NULL) || !bad)
		return;
	warn(r, "%zu of the last %zu lines of %s %s; 'helm doctor' names them", bad, lines, file,
		bad == 1 ? "is no row" : "are no rows");
}

static void print_counts(struct cli *r, const char *name, const struct json *counts)
{
	struct buf text;

	buf_init(&text, r->a);
	json_write(&text, counts, JSON_SPACED | JSON_SORT_BYTES);
	out(r, "%s=%s\n", name, text_safe(r->a, text.p, text.n, false));
}

static void print_summary(struct cli *r, const struct json *summary)
{
	json_each_member (m, summary)
		if (m->value->n)
			print_counts(r, m->name, m->value);
	out(r, "\n");
}

static void task_line(struct cli *r, const struct json *row)
{
	out(r, "%s %s %s %s %s [%s]\n", safe_member(r, row, "started_at"), safe_member(r, row, "status"),
		safe_member(r, row, "profile"), safe_member(r, row, "skill"),
		safe_member(r, row, "task_name"),
		text_safe(r->a, actions_ops_evidence(r->a, row), strlen(actions_ops_evidence(r->a, row)),
			false));
}

static void command_line(struct cli *r, const struct json *row)
{
	const struct json *code = json_get(row, "exit_code");

	out(r, "%s exit=%s %.8s %s %s\n", safe_member(r, row, "started_at"),
		json_is(code, JSON_NUMBER) ? code->text : "-", safe_member(r, row, "task_id"),
		safe_member(r, row, "component"), safe_member(r, row, "label"));
}

/* Rows alone are a list; with --summary they are a member of one document beside the counts. */
static int show_rows(struct cli *r, const struct ops_filter *f,
	void (*line)(struct cli *, const struct json *), struct err *e)
{
	struct actions_place o = actions_place_from(r);
	struct json *rows, *summary = NULL;
	int rc = actions_ops_rows(&o, f, &rows, e);

	if (rc)
		return rc;
	warn_damage(r, f->is_commands ? COMMAND_LOG : TASK_LEDGER);
	if (opt_flag(r, "summary"))
		summary = actions_ops_summary(&o, f, rows);
	if (r->is_json) {
		struct json *doc = json_new(r->a, JSON_OBJECT);
		json_set(r->a, doc, "summary", summary);
		json_set(r->a, doc, "rows", rows);
		out_json(r, summary ? doc : rows);
		return 0;
	}
	if (summary)
		print_summary(r, summary);
	json_each (row, rows)
		line(r, row);
	if (!rows->n)
		out(r, "no rows\n");
	if (rows->n && rows->n == f->limit)
		out(r, "These are the newest %zu; there may be more: --limit N\n", f->limit);
	return 0;
}

int cmd_ops_tasks(struct cli *r, struct err *e)
{
	const struct ops_filter f = { .status = opt_text(r, "status", NULL),
		.profile = opt_text(r, "profile", NULL),
		.skill = opt_text(r, "skill", NULL),
		.delivery_mode = opt_text(r, "delivery-mode", NULL),
		.failed_only = opt_flag(r, "failed-only"),
		.is_latest = opt_flag(r, "latest"),
		.limit = (size_t)opt_int(r, "limit", 10) };

	return show_rows(r, &f, task_line, e);
}

int cmd_ops_commands(struct cli *r, struct err *e)
{
	const struct ops_filter f = { .is_commands = true,
		.task_id = opt_text(r, "task-id", NULL),
		.component = opt_text(r, "component", NULL),
		.label = opt_text(r, "label", NULL),
		.failed_only = opt_flag(r, "failed-only"),
		.limit = (size_t)opt_int(r, "limit", 10) };

	return show_rows(r, &f, command_line, e);
}

static void print_rows(struct cli *r, const char *title, const struct json *rows,
	void (*line)(struct cli *, const struct json *))
{
	out(r, "\n%s%s%s\n", paint(r, PAINT_ACCENT), title, paint(r, PAINT_OFF));
	json_each (row, rows)
		line(r, row);
	if (!rows->n)
		out(r, "none\n");
}

static void checkpoint_line(struct cli *r, const struct json *row)
{
	out(r, "%s %s\n", safe_member(r, row, "checkpoint_id"), safe_member(r, row, "label"));
}

static void draft_line(struct cli *r, const struct json *row)
{
	out(r, "%s %s\n", safe_member(r, row, "draft"),
		json_get_bool(row, "passed", false) ? "passed" : "not passed");
}

int cmd_ops_daily(struct cli *r, struct err *e)
{
	struct actions_place o = actions_place_from(r);
	struct json *doc;
	int rc = actions_ops_daily(&o, (size_t)opt_int(r, "limit", 20), opt_int(r, "days", 0), &doc, e);

	if (rc)
		return rc;
	warn_damage(r, TASK_LEDGER);
	warn_damage(r, COMMAND_LOG);
	if (r->is_json) {
		out_json(r, doc);
		return 0;
	}
	print_counts(r, "recent_task_status_counts", json_get(doc, "recent_task_status_counts"));
	print_counts(r, "recent_finalization_counts", json_get(doc, "recent_finalization_counts"));
	print_rows(r, "Failed tasks", json_get(doc, "recent_failed_tasks"), task_line);
	print_rows(r, "Handed over", json_get(doc, "recent_handoff_tasks"), task_line);
	print_rows(r, "Failed commands", json_get(doc, "recent_failed_commands"), command_line);
	print_rows(r, "Checkpoints", json_get(doc, "recent_checkpoints"), checkpoint_line);
	print_rows(r, "Assessed drafts", json_get(doc, "draft_assessments"), draft_line);
	return 0;
}

int cmd_ops_capture_state(struct cli *r, struct err *e)
{
	struct actions_place o = actions_place_from(r);
	struct json *doc;
	int rc = actions_ops_capture(&o, (size_t)opt_int(r, "limit", 20), &doc, e);

	if (rc)
		return rc;
	warn_damage(r, TASK_LEDGER);
	if (r->is_json) {
		out_json(r, doc);
		return 0;
	}
	out(r, "workspace=%s\nwindow=%lld\n", safe_member(r, doc, "workspace"),
		(long long)json_get_int(doc, "window", 0));
	print_counts(r, "finalization_counts", json_get(doc, "finalization_counts"));
	json_each (item, json_get(doc, "pending_tasks"))
		out(r, "pending=%s finalization=%s status=%s profile=%s confidence=%s name=%s\n",
			safe_member(r, item, "task_id"), safe_member(r, item, "finalization_status"),
			safe_member(r, item, "status"), safe_member(r, item, "profile"),
			safe_member(r, item, "confidence_hint"), safe_member(r, item, "task_name"));
	return 0;
}

/* ---- is it in order? ---- */

static struct json *validated(struct cli *r)
{
	const struct contract_place at = { r->sys, r->a, r->ws->root_fd };

	return contract_validate(&at);
}

/* Some members of it, in this order. */
static int show_validated(struct cli *r, const struct json *found, const char *const *members)
{
	struct json *doc = json_new(r->a, JSON_OBJECT);

	json_sets(r->a, doc, "workspace", r->ws->root);
	for (const char *const *m = members; *m; m++)
		json_set(r->a, doc, *m, json_get(found, *m));
	if (r->is_json)
		out_json(r, doc);
	json_each_member (m, doc) {
		if (r->is_json || text_eq(m->name, "issues"))
			continue;
		if (json_text(m->value))
			out(r, "%s=%s\n", m->name, safe_member(r, doc, m->name));
		else
			print_counts(r, m->name, m->value);
	}
	if (!r->is_json)
		json_each (one, json_get(doc, "issues"))
			out(r, "issue=%s\n", text_safe(r->a, json_text(one), strlen(json_text(one)), false));
	return json_get_bool(doc, "ok", false) ? 0 : EXIT_NO;
}

int cmd_validate(struct cli *r, struct err *e)
{
	static const char *const members[] = { "profile_count", "skill_policy_count", "manifest_count",
		"issues", "ok", NULL };

	(void)e;
	return show_validated(r, validated(r), members);
}

int cmd_profile_validate_manifests(struct cli *r, struct err *e)
{
	static const char *const members[] = { "profiles", "session_profiles", "manifest_count",
		"missing_contract_skills", "issues", "ok", NULL };

	(void)e;
	return show_validated(r, validated(r), members);
}

/* What to type about files that were left as they are.  Nothing has to be typed to keep one of your own; profiles and tool groups hold when they are
 * trusted. */
static void say_next(struct cli *r, const struct json *summary)
{
	const char *path = text_quote(r->a, r->ws->root);

	if (json_get_int(summary, "missing_skipped", 0) || json_get_int(summary, "earlier_skipped", 0))
		out(r, "next=helm reconcile --apply --path %s\n", path);
	else if (json_get_int(summary, "drift_skipped", 0) || json_get_int(summary, "accepted_skipped", 0))
		out(r,
			"to see your changes: helm reconcile --diff --path %s\n"
			"to have your profiles and tool groups count: helm workspace trust --path %s\n"
			"next=helm reconcile --apply --force --path %s\n",
			path, path, path);
	else if (json_get_int(summary, "overwritten", 0))
		out(r, "if the replaced file was trusted: helm workspace trust --path %s\n", path);
}

int cmd_reconcile(struct cli *r, struct err *e)
{
	const enum reconcile how = !opt_flag(r, "apply") ? RECONCILE_LOOK
		: opt_flag(r, "force")			 ? RECONCILE_REPLACE
							 : RECONCILE_ADD;
	struct json *doc;

	if (opt_flag(r, "force") && how == RECONCILE_LOOK)
		return err_set(e, E_USAGE, "RECONCILE_FORCE", "--force goes with --apply");
	if (!r->ws->exists || r->ws->state_fd < 0)
		return err_set(e, E_MISSING, "WORKSPACE_MISSING",
			"'%s' is not a workspace; 'helm init --path %s' makes it one", r->ws->root,
			r->ws->root);
	doc = workspace_reconcile(r->sys, r->a, r->ws, how, opt_flag(r, "diff"));
	bool is_ok = json_get_bool(doc, "ok", false);
	if (r->is_json) {
		out_json(r, doc);
		return is_ok ? 0 : EXIT_NO;
	}
	out(r, "workspace=%s\ndry_run=%s\n", safe_member(r, doc, "workspace"),
		json_get_bool(doc, "dry_run", true) ? "yes" : "no");
	json_each (f, json_get(doc, "files")) {
		out(r, "file=%s status=%s action=%s\n", safe_member(r, f, "file"),
			safe_member(r, f, "status"), safe_member(r, f, "action"));
		if (json_get(f, "error"))
			out(r, "error=%s\n", json_get_text(f, "error", ""));
		out(r, "%s", json_get_text(f, "diff", ""));
	}
	print_counts(r, "summary", json_get(doc, "summary"));
	out(r, "converged=%s\n", json_get_bool(doc, "converged", false) ? "yes" : "no");
	say_next(r, json_get(doc, "summary"));
	return is_ok ? 0 : EXIT_NO;
}
