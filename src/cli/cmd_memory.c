/* cmd_memory.c — helm memory: what tasks leave behind to be remembered, and what of it is still open. */
#include "base/text.h"
#include "cli/cmd.h"
#include "kernel/memory.h"

#include <string.h>

#define LIMIT \
	{ \
		"limit", OPT_INT, "N", "how many (default 20, 0 all)", NULL, false \
	}
#define TASK_ID(need) \
	{ \
		"task-id", OPT_VALUE, "TASK", "the task it is about", NULL, need \
	}

const struct opt memory_chat_opts[] = {
	{ "task-name", OPT_VALUE, "NAME", "what was worked on", NULL, true },
	{ "profile", OPT_VALUE, "PROFILE", "what kind of work it was (default risky_edit)", NULL, false },
	{ "status", OPT_VALUE, "STATE", "how it ended (default completed)",
		"completed|handoff_required|failed", false },
	{ "skill", OPT_VALUE, "NAME", "the skill that was used", NULL, false },
	{ "runtime-target", OPT_VALUE, "PLACE", "where it took effect", NULL, false },
	{ "runtime-note", OPT_VALUE, "TEXT", "a note about that", NULL, false },
	{ "command-preview", OPT_VALUE, "TEXT", "what was done, in one line", NULL, false },
	{ "task-id", OPT_VALUE, "ID", "id of the task (default: a new one)", NULL, false },
	{ "file", OPT_LIST, "FILE", "a file that was changed", NULL, false },
	{ 0 },
};
const struct opt memory_limit_opts[] = { LIMIT, { 0 } };
const struct opt memory_crystallize_opts[] = { TASK_ID(true),
	{ "force", OPT_FLAG, NULL, "also when it was done before", NULL, false }, { 0 } };
const struct opt memory_op_opts[] = {
	{ "subject", OPT_VALUE, "TEXT", "what it is about", NULL, true },
	{ "reason", OPT_VALUE, "TEXT", "why", NULL, true },
	{ "evidence", OPT_VALUE, "TEXT", "what shows it", NULL, true },
	{ "scope", OPT_VALUE, "SCOPE", "who it is for (default private)", "private|shared|team|public",
		false },
	TASK_ID(false),
	{ "affected-entity", OPT_LIST, "NAME", "what it changes", NULL, false },
	{ "supersedes", OPT_LIST, "TASK", "a task that it replaces", NULL, false },
	{ "layer", OPT_VALUE, "LAYER", "which layer of the task's plan was written (default: all)",
		"daily_memory|long_term_memory|notes|ontology", false },
	{ 0 },
};
const struct opt memory_finalize_opts[] = {
	TASK_ID(true),
	{ "layer", OPT_VALUE, "LAYER", "which layer of the task's plan was written",
		"daily_memory|long_term_memory|notes|ontology", true },
	{ "file", OPT_LIST, "FILE", "the file it was written to", NULL, false },
	{ "id", OPT_LIST, "ID", "for the ontology: the id of the entity, or 'from type to'", NULL, false },
	{ 0 },
};
const struct opt memory_label_opts[] = {
	TASK_ID(true),
	{ "to", OPT_VALUE, "STATE", "what it becomes", "candidate|promoted|stale|deprecated", true },
	{ "evidence", OPT_VALUE, "TEXT", "what shows it", NULL, false },
	{ "reason", OPT_VALUE, "TEXT", "why", NULL, false },
	{ 0 },
};

static int open_kernel(struct cli *r, struct kernel *k, struct err *e)
{
	return kernel_open(r->sys, r->a, r->ws, k, e);
}

static int limit_of(struct cli *r, int64_t fallback, size_t *ret, struct err *e)
{
	int64_t n = opt_int(r, "limit", fallback);

	if (n < 0)
		return err_set(e, E_USAGE, "MEMORY_LIMIT", "--limit takes a number, or 0 for all");
	*ret = (size_t)n;
	return OK;
}

static void say_note(struct cli *r, const struct json *doc)
{
	if (json_get_text(doc, "note", NULL))
		warn(r, "%s", json_get_text(doc, "note", ""));
}

/* A list that is cut says so, and how to see the rest. */
static void say_cut(struct cli *r, const struct json *doc)
{
	const int64_t shown = json_get_int(doc, "count", 0);
	const char *cut = text_shown_of(r->a, shown, json_get_int(doc, "total", 0), "all with --limit 0");

	if (cut)
		warn(r, "%s", cut);
	else if (json_get_bool(doc, "has_more", false))
		warn(r, "the newest %s; there are more, all with --limit 0", text_thousands(r->a, shown));
}

static const char *safe(struct cli *r, const struct json *obj, const char *name)
{
	const char *text = json_get_text(obj, name, "-");

	return text_safe(r->a, text, strlen(text), false);
}

static const char *joined(struct cli *r, const struct json *list)
{
	struct buf b;

	buf_init(&b, r->a);
	json_each (v, list)
		if (json_text(v))
			buf_addf(&b, "%s%s", b.n ? ", " : "", json_text(v));
	return b.n ? text_safe(r->a, b.p, b.n, false) : "-";
}

/* ---- acts ---- */

static void say_plan(struct cli *r, const struct json *row)
{
	const struct json *plan = json_get(row, "memory_capture");
	static const char *const members[] = { "task_id", "task_name", "profile", "status" };

	for (size_t i = 0; i < ARRAY_SIZE(members); i++)
		out(r, "%s=%s\n", members[i], safe(r, row, members[i]));
	out(r, "finalization_status=%s\n", safe(r, plan, "finalization_status"));
	out(r, "recommended_layers=%s\n", joined(r, json_get(plan, "recommended_layers")));
	json_each (reason, json_get(plan, "reasons"))
		out(r, "reason=%s\n", json_text(reason));
}

static void show_task(struct cli *r, const struct json *row)
{
	static const char *const members[] = { "task_id", "task_name", "profile", "status" };
	struct json *doc = json_new(r->a, JSON_OBJECT);

	if (!r->is_json) {
		say_plan(r, row);
		return;
	}
	json_sets(r->a, doc, "workspace", r->ws->root);
	for (size_t i = 0; i < ARRAY_SIZE(members); i++)
		json_sets(r->a, doc, members[i], json_get_text(row, members[i], NULL));
	json_set(r->a, doc, "memory_capture", json_get(row, "memory_capture"));
	out_json(r, doc);
}

int cmd_memory_capture_chat(struct cli *r, struct err *e)
{
	struct kernel k = { 0 };
	struct json *row;
	const char **paths;
	struct chat c = { .task_name = opt_text(r, "task-name", ""),
		.task_id = opt_text(r, "task-id", NULL),
		.profile = opt_text(r, "profile", NULL),
		.status = opt_text(r, "status", NULL),
		.skill = opt_text(r, "skill", NULL),
		.runtime_target = opt_text(r, "runtime-target", NULL),
		.runtime_note = opt_text(r, "runtime-note", NULL),
		.command_preview = opt_text(r, "command-preview", NULL) };

	c.path_count = opt_list(r, "file", &paths);
	c.paths = (const char *const *)paths;
	if (!c.task_name[strspn(c.task_name, " \t\r\n")])
		return err_set(e, E_USAGE, "MEMORY_CHAT", "--task-name is empty");
	int rc = open_kernel(r, &k, e);
	if (rc == OK)
		rc = memory_capture_chat(&k, r->a, &c, &row, e);
	if (rc == OK)
		show_task(r, row);
	kernel_close(&k);
	return rc;
}

static struct json *list_from(struct cli *r, const char *option)
{
	struct json *list = json_new(r->a, JSON_ARRAY);
	const char **given;
	size_t n = opt_list(r, option, &given);

	for (size_t i = 0; i < n; i++)
		json_pushs(r->a, list, given[i]);
	return list;
}

int cmd_memory_op(struct cli *r, struct err *e)
{
	static const char *const known[] = { "write", "promote", "supersede", "archive", "rollback" };
	struct json *o = json_new(r->a, JSON_OBJECT), *row;
	struct kernel k = { 0 };
	bool is_known = false;

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		is_known |= text_eq(r->args[0], known[i]);
	if (!is_known)
		return err_set(e, E_USAGE, "MEMORY_OPERATION",
			"'%s' is no operation: write, promote, supersede, archive, rollback", r->args[0]);
	json_sets(r->a, o, "operation", r->args[0]);
	json_sets(r->a, o, "subject", opt_text(r, "subject", ""));
	json_sets(r->a, o, "scope", opt_text(r, "scope", "private"));
	json_sets(r->a, o, "reason", opt_text(r, "reason", ""));
	json_sets(r->a, o, "evidence", opt_text(r, "evidence", ""));
	json_sets(r->a, o, "task_id", opt_text(r, "task-id", NULL));
	json_set(r->a, o, "affected_entities", list_from(r, "affected-entity"));
	json_set(r->a, o, "supersedes", list_from(r, "supersedes"));
	int rc = open_kernel(r, &k, e);
	if (rc == OK)
		rc = memory_operation(&k, r->a, o, opt_text(r, "layer", NULL), &row, e);
	if (rc == OK)
		out_json(r, row);
	kernel_close(&k);
	return rc;
}

int cmd_memory_crystallize(struct cli *r, struct err *e)
{
	struct kernel k = { 0 };
	struct json *row;
	int rc = open_kernel(r, &k, e);

	if (rc == OK)
		rc = memory_crystallize(&k, r->a, opt_text(r, "task-id", ""), opt_flag(r, "force"), &row, e);
	if (rc == OK)
		out_json(r, row);
	kernel_close(&k);
	return rc;
}

int cmd_memory_finalize(struct cli *r, struct err *e)
{
	struct kernel k = { 0 };
	struct json *row;
	const char **proofs;
	struct finalizing f = { .task_id = opt_text(r, "task-id", ""), .layer = opt_text(r, "layer", "") };

	f.count = opt_list(r, text_eq(f.layer, "ontology") ? "id" : "file", &proofs);
	f.proofs = (const char *const *)proofs;
	int rc = open_kernel(r, &k, e);
	if (rc == OK)
		rc = memory_finalize(&k, r->a, &f, &row, e);
	if (rc == OK)
		show_task(r, row);
	kernel_close(&k);
	return rc;
}

int cmd_memory_label(struct cli *r, struct err *e)
{
	struct kernel k = { 0 };
	struct json *row;
	struct label_move move = { .to = opt_text(r, "to", ""),
		.evidence = opt_text(r, "evidence", NULL),
		.reason = opt_text(r, "reason", NULL) };
	int rc = open_kernel(r, &k, e);

	if (rc == OK)
		rc = memory_relabel(&k, r->a, opt_text(r, "task-id", ""), &move, &row, e);
	if (rc == OK)
		out_result(r, json_get(json_get(row, "memory_capture"), "quality_label"));
	kernel_close(&k);
	return rc;
}

/* ---- looks ---- */

static void say_states(struct cli *r, const struct json *doc)
{
	say_note(r, doc);
	json_each (item, json_get(doc, "items")) {
		const struct json *flags = json_get(item, "review_flags");
		out(r, "%s status=%s profile=%s finalization=%s confidence=%s retention=%s review_flags=%u name=%s\n",
			safe(r, item, "task_id"), safe(r, item, "status"), safe(r, item, "profile"),
			safe(r, item, "finalization_status"),
			safe(r, json_get(item, "claim_state"), "confidence_hint"),
			safe(r, json_get(item, "retention"), "tier"),
			json_is(flags, JSON_ARRAY) ? flags->n : 0, safe(r, item, "task_name"));
	}
}

static int show_states(struct cli *r, bool pending_only, int64_t fallback, struct err *e)
{
	struct memory_place m = memory_place_of(r->sys, r->ws);
	struct json *doc;
	size_t limit;
	int rc = limit_of(r, fallback, &limit, e);

	if (rc == OK)
		rc = memory_recent_state(&m, r->a, pending_only, limit, &doc, e);
	if (rc)
		return rc;
	say_cut(r, doc);
	if (r->is_json)
		out_json(r, doc);
	else
		say_states(r, doc);
	if (!r->is_json && !json_get(doc, "items")->n)
		out(r, pending_only ? "nothing waits to be written down\n" : "no task has ended here yet\n");
	return OK;
}

int cmd_memory_pending(struct cli *r, struct err *e)
{
	return show_states(r, true, 20, e);
}

int cmd_context_recent_state(struct cli *r, struct err *e)
{
	return show_states(r, false, 10, e);
}

static void say_outside(struct cli *r, const struct json *one)
{
	int64_t n = json_get_int(one, "lines", 0);
	const struct json *runs = json_get(one, "runs");

	if (json_get_text(one, "unread", NULL)) {
		warn(r, "%s", safe(r, one, "unread"));
		return;
	}
	out(r, "%s: %lld line%s not on record", safe(r, one, "file"), (long long)n, n == 1 ? " is" : "s are");
	if (json_is(runs, JSON_ARRAY) && runs->n)
		out(r, " (runs that wrote there: %s)", joined(r, runs));
	if (text_ends(json_get_text(one, "file", ""), ".md"))
		out(r, ": look with 'helm memory blame %s', then 'helm memory accept %s'\n",
			safe(r, one, "file"), safe(r, one, "file"));
	else
		out(r, ": 'helm memory write --layer ontology' puts a row on record\n");
}

/* What each thing that is open means, and the command that closes it. */
static void say_open(struct cli *r, const struct json *item)
{
	static const struct {
		const char *blocker, *means, *command, *more;
	} rows[] = {
		{ "finalization=", "what it taught is not written down", "memory write --task-id",
			" --text TEXT, then 'helm memory finalize'" },
		{ "review_flag=", "it may contradict or replace what is known; look at it", "task show", "" },
		{ "missing_crystallization", "it is written down and not kept yet",
			"memory crystallize --task-id", "" },
		{ "missing_supersede_op", "that it replaces another task is not on record",
			"memory op supersede --task-id",
			" --supersedes TASK --subject TEXT --reason TEXT --evidence TEXT" },
		{ "low_confidence", "little shows that it is true; look at it", "task show", "" },
		{ "memory_quality=stale", "it is old, and may not hold any more",
			"memory label --to candidate --task-id", " --evidence TEXT" },
	};
	const char *task = safe(r, item, "task_id");

	json_each (blocker, json_get(item, "blockers"))
		for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
			if (text_starts(json_text(blocker), rows[i].blocker))
				out(r, "  %s (%s): helm %s %s%s\n", rows[i].means,
					text_safe(
						r->a, json_text(blocker), strlen(json_text(blocker)), false),
					rows[i].command, task, rows[i].more);
	out(r, "  looked at, or not worth it: helm memory op archive --task-id %s --subject TEXT --reason TEXT --evidence TEXT\n",
		task);
}

int cmd_memory_queue(struct cli *r, struct err *e)
{
	struct memory_place m = memory_place_of(r->sys, r->ws);
	struct json *doc, *outside;
	size_t limit;
	int rc = limit_of(r, 20, &limit, e);

	if (rc == OK)
		rc = memory_review_queue(&m, r->a, limit, &doc, e);
	if (rc == OK)
		rc = memory_outside_now(&m, r->a, &outside, e);
	if (rc)
		return rc;
	json_set(r->a, doc, "outside", outside);
	say_cut(r, doc);
	if (r->is_json) {
		out_json(r, doc);
		return OK;
	}
	say_note(r, doc);
	const struct json *waiting = json_get(doc, "waiting");
	if (!json_get_int(doc, "count", 0) && !waiting->n && !outside->n)
		out(r, "nothing waits for review\n");
	json_each (entry, waiting)
		out(r, "%s waits for a person, from %s: helm memory accept|reject %s\n", safe(r, entry, "id"),
			safe(r, entry, "trust"), safe(r, entry, "id"));
	json_each (one, outside)
		say_outside(r, one);
	json_each (item, json_get(doc, "items")) {
		const int64_t tasks = json_get_int(item, "task_count", 1);
		out(r, "%s %s%s\n", safe(r, item, "task_id"), safe(r, item, "task_name"),
			tasks > 1 ? arena_printf(r->a, " (the newest of %lld such tasks)", (long long)tasks)
				  : "");
		say_open(r, item);
	}
	return OK;
}

static void say_issue(struct cli *r, const struct json *issue)
{
	out(r, "%s", safe(r, issue, "kind"));
	json_each_member (m, issue)
		if (!text_eq(m->name, "kind") && json_text(m->value))
			out(r, " %s=%s", m->name, safe(r, issue, m->name));
	if (json_get(issue, "blockers"))
		out(r, " blockers=%s", joined(r, json_get(issue, "blockers")));
	out(r, "\n");
}

int cmd_memory_audit(struct cli *r, struct err *e)
{
	struct memory_place m = memory_place_of(r->sys, r->ws);
	struct json *doc;
	size_t limit, shown = 0;
	int rc = limit_of(r, 20, &limit, e);

	if (rc == OK)
		rc = memory_audit(&m, r->a, &doc, e);
	if (rc)
		return rc;
	const struct json *issues = json_get(doc, "issues");
	if (r->is_json) {
		out_json(r, doc);
	} else {
		say_note(r, doc);
		out(r, "issues=%u\n", issues->n);
		json_each (issue, issues) {
			if (limit && shown++ == limit) {
				out(r, "and %zu more (--limit 0 shows all)\n", issues->n - limit);
				break;
			}
			say_issue(r, issue);
		}
	}
	return issues->n ? EXIT_NO : 0;
}

int cmd_memory_history(struct cli *r, struct err *e)
{
	struct memory_place m = memory_place_of(r->sys, r->ws);
	struct json *doc;
	size_t limit;
	int rc = limit_of(r, 20, &limit, e);

	if (rc == OK)
		rc = memory_history(&m, r->a, limit, &doc, e);
	if (rc)
		return rc;
	say_cut(r, doc);
	if (r->is_json) {
		out_json(r, doc);
		return OK;
	}
	json_each (row, json_get(doc, "items"))
		out(r, "%s %s %s scope=%s subject=%s\n", safe(r, row, "timestamp"), safe(r, row, "id"),
			safe(r, row, "operation"), safe(r, row, "scope"), safe(r, row, "subject"));
	if (!json_get_int(doc, "count", 0))
		out(r, "no operations on memory are recorded\n");
	return OK;
}
