/* cmd_task.c — tasks: list, show, doctor, and the moves a person makes (block, complete, retry,
 * mark-stale, reclaim).
 *
 * A move appends a row to the ledger; nothing that was recorded is changed. Which moves make sense from
 * which state is decided in kernel/task; --force makes the others, too. */
#include "base/doc.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/cmd.h"
#include "cli/cmd_actions.h"
#include "cli/cmd_approval.h"
#include "kernel/gates.h"
#include "kernel/task/task.h"

#include <fcntl.h>
#include <string.h>

/* Of so many newest tasks `task doctor` also says which were completed without evidence. */
enum { DOCTOR_TASKS = 1000 };

const struct opt task_list_opts[] = {
	{ "status", OPT_LIST, "STATUS", "only these", NULL, false },
	{ "profile", OPT_VALUE, "NAME", "only this profile", NULL, false },
	{ "skill", OPT_VALUE, "NAME", "only this skill", NULL, false },
	{ "active", OPT_FLAG, NULL, "only queued, running and ready ones", NULL, false },
	{ "limit", OPT_INT, "N", "how many (default 20, 0 all)", NULL, false },
	{ "since", OPT_VALUE, "TIME", "only what changed since then: 2d, yesterday, 2026-05-01", NULL,
		false },
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
const struct opt task_complete_opts[] = {
	{ "evidence", OPT_LIST, "KIND:VALUE",
		"what shows that it is done; what the record can answer is held against it", NULL, false },
	{ "claims", OPT_VALUE, "FILE", "claims that must hold (docs/formats/completion.md)", NULL, false },
	NEXT_ACTION, FORCE, { 0 }
};
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

/* On a narrow terminal the beginning of an id is enough: every command takes it. */
static const char *clip_id(struct cli *r, const char *id)
{
	return r->is_tty && strlen(id) == 36 && out_width(r) < 110 ? arena_strndup(r->a, id, 8) : id;
}

static void task_cells(struct cli *r, struct out_table *t, const struct json *row)
{
	int64_t now = r->sys->now_us(r->sys), us;
	const char *at = json_get_text(
		row, "updated_at", json_get_text(row, "finished_at", json_get_text(row, "started_at", "")));
	const char *cells[] = { clip_id(r, safe_member(r, row, "task_id")), safe_member(r, row, "status"),
		safe_member(r, row, "profile"),
		text_parse_time(at, strlen(at), &us) ? actions_ago(r->a, us, now) : "-",
		safe_member(r, row, "task_name") };
	enum paint paints[] = { PAINT_MUTED, paint_for_status(cells[1]), PAINT_OFF, PAINT_MUTED, PAINT_OFF };

	out_row(t, cells, paints);
}

/* The list as JSON has no place for it, so how much of it is shown is said on standard error, for both
 * forms, and before the list, so that it is not overlooked below it. */
void say_part(struct cli *r, const struct part *p, const char *what)
{
	if (p->shown < p->of)
		warn(r, "%lld of %lld %s, all with --limit 0", (long long)p->shown, (long long)p->of, what);
	if (p->note)
		warn(r, "%s", p->note);
}

struct task_listing {
	struct listing list;
	struct part part;
	bool has_begun;
};

static int list_task(void *arg, struct json *row, struct err *e)
{
	struct task_listing *l = arg;

	if (!l->has_begun)
		say_part(l->list.r, &l->part, "tasks");
	l->has_begun = true;
	return listing_row(&l->list, row, e);
}

/* The states that were asked for; --active means those in which something is still to happen. */
static struct task_filter filter_from(struct cli *r)
{
	static const char *const active[] = { "queued", "running", "ready" };
	const char **given, **both = arena_zalloc(r->a, ARRAY_SIZE(active), sizeof(*both));
	size_t n = opt_list(r, "status", &given), kept = 0;
	struct task_filter f = { given, n, opt_text(r, "profile", NULL), opt_text(r, "skill", NULL) };

	if (!opt_flag(r, "active"))
		return f;
	for (size_t i = 0; i < ARRAY_SIZE(active); i++) {
		bool is_given = n == 0;
		for (size_t k = 0; k < n; k++)
			is_given |= text_eq(given[k], active[i]);
		if (is_given)
			both[kept++] = active[i];
	}
	f.states = both;
	f.state_count = kept;
	if (!kept) { /* none of the states that were given is active: nothing can pass */
		both[0] = "";
		f.state_count = 1;
	}
	return f;
}

int cmd_task_list(struct cli *r, struct err *e)
{
	static const char *const heads[] = { "ID", "STATUS", "PROFILE", "WHEN", "NAME" };
	struct actions_place o = actions_place_from(r);
	struct task_filter f = filter_from(r);
	struct task_listing l = { 0 };
	int64_t limit = opt_int(r, "limit", 20), since_us = 0;

	if (limit < 0)
		return err_set(e, E_USAGE, "TASK_LIMIT", "--limit takes a number of tasks, or 0 for all");
	int rc = opt_since(r, "since", &since_us, e);
	if (rc)
		return rc;
	listing_begin(&l.list, r, heads, ARRAY_SIZE(heads), task_cells);
	out_since(r, since_us);
	rc = actions_task_list(&o, &f, since_us, (size_t)limit, &l.part, list_task, &l, e);
	if (rc == OK && !l.has_begun)
		say_part(r, &l.part, "tasks");
	if (rc == OK)
		listing_end(&l.list);
	return rc;
}

/* What it left, held against the record. */
int cmd_task_bundle(struct cli *r, struct err *e)
{
	struct actions_place o = actions_place_from(r);
	struct json *rows, *doc;
	int rc = actions_task(&o, r->args[0], &rows, e);

	if (rc == OK)
		rc = task_bundle_read(r->sys, r->a, r->ws, rows->items[rows->n - 1], &doc, e);
	if (rc)
		return rc;
	bool ok = json_get_bool(doc, "ok", false);
	if (r->is_json) {
		out_json(r, doc);
		return ok ? 0 : EXIT_NO;
	}
	const struct json *state = json_get(doc, "state");
	if (json_text(state))
		out(r, "%s\n", text_safe(r->a, state->text, state->n, true));
	out(r, "bundle=%s\nrecord=%s\nmanifest.json=%s\n", safe_member(r, doc, "path"),
		ok ? "as it was recorded" : "not as it was recorded", safe_member(r, doc, "manifest"));
	json_each (one, json_get(doc, "documents"))
		out(r, "%s=%s\n", safe_member(r, one, "name"), safe_member(r, one, "found"));
	json_each (one, json_get(doc, "artifacts"))
		out(r, "file=%s %s, copy %s%s%s, in the tree %s\n", safe_member(r, one, "path"),
			safe_member(r, one, "state"), safe_member(r, one, "copy"),
			json_get(one, "not_copied") ? ": " : "",
			json_get(one, "not_copied") ? safe_member(r, one, "not_copied") : "",
			json_get_text(one, "now", NULL) ? safe_member(r, one, "now") : "not compared");
	return ok ? 0 : EXIT_NO;
}

/* The task may be named by the beginning of its id; its newest row is what is changed. */
void cmd_task_bind(struct cli *r, const char *verb, const char *task_id, const struct json *digests)
{
	struct err e = { 0 };

	if (task_bind_rows(r->sys, r->a, r->ws, verb, task_id, digests, &e))
		warn(r, "no receipt has the digest of this entry, so a later change of it would not be found: %s",
			e.text);
}

static int change(struct cli *r, struct task_change *c, struct err *e)
{
	struct actions_place o = actions_place_from(r);
	struct json *rows, *row, *digests = json_new(r->a, JSON_ARRAY);
	char digest[SHA256_HEX];
	int rc = actions_task(&o, r->args[0], &rows, e);

	c->force = opt_flag(r, "force");
	if (rc == OK)
		rc = task_change(r->sys, r->a, r->ws, rows->items[rows->n - 1], c, &row, digest, e);
	if (rc)
		return rc;
	json_pushs(r->a, digests, digest);
	cmd_task_bind(r, "change", json_get_text(row, "task_id", ""), digests);
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

/* Gates that hold are evidence, beside what was given. */
static int pass_gates(struct cli *r, struct task_change *c, const char **given, struct err *e)
{
	struct kernel k = { 0 };
	struct json *passed;
	int rc = kernel_open(r->sys, r->a, r->ws, &k, e);

	if (rc == OK)
		rc = gates_before_complete(&k, r->a, r->args[0], &passed, e);
	kernel_close(&k);
	if (rc)
		return rc;
	const char **all = arena_zalloc(r->a, c->evidence_count + passed->n + 1, sizeof(*all));
	for (size_t i = 0; i < c->evidence_count; i++)
		all[i] = given[i];
	json_each (one, passed)
		all[c->evidence_count++] = arena_printf(r->a, "gate:%s", json_get_text(one, "name", ""));
	c->evidence = all;
	return OK;
}

/* Evidence is recorded as it is given; `task doctor` points out completed tasks that have none. */
int cmd_task_complete(struct cli *r, struct err *e)
{
	struct task_change c = { .to = TASK_COMPLETE, .next_action = opt_text(r, "next-action", NULL) };
	const char **evidence;

	c.evidence_count = opt_list(r, "evidence", &evidence);
	c.evidence = evidence;
	const char *file = opt_text(r, "claims", NULL);
	struct json *claims = NULL;
	if (file && doc_read(r->sys, r->a, AT_FDCWD, file, 1 << 20, FILE_FOLLOW, &claims, e))
		return e->rc;
	if (file && !json_is(claims, JSON_ARRAY))
		return err_set(e, E_USAGE, "TASK_CLAIM", "--claims takes the file of a list of claims");
	c.claims = claims;
	int rc = file_exists(r->sys, r->ws->root_fd, "references/gate_policy.json")
		? pass_gates(r, &c, evidence, e)
		: OK;
	return rc ? rc : change(r, &c, e);
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

/* Of every place: whoever types this wants all of it done. */
int cmd_task_recover(struct cli *r, struct err *e)
{
	struct json *done = NULL, *doc = json_new(r->a, JSON_OBJECT);
	struct kernel k;
	int rc = kernel_open(r->sys, r->a, r->ws, &k, e);

	if (rc)
		return rc;
	rc = autorun_recover(&k, r->a, NULL, &done, e);
	kernel_close(&k);
	if (rc)
		return rc;
	json_set(r->a, doc, "recovered", done);
	if (r->is_json) {
		out_json(r, doc);
		return 0;
	}
	const char *said = autorun_said(r->a, done);
	out(r, "%s\n", said ? said : "every run has cleaned up behind itself");
	return 0;
}

/* A clean-up that is owed is a finding like any other. */
static void add_unfinished(struct cli *r, struct json *doc)
{
	struct json *findings = json_get(doc, "findings");

	json_each (one, autorun_unfinished(r->sys, r->a, r->ws)) {
		struct json *row = json_new(r->a, JSON_OBJECT);
		json_sets(r->a, row, "severity", "warning");
		json_sets(r->a, row, "kind", "unfinished_cleanup");
		json_sets(r->a, row, "task_id", json_get_text(one, "task_id", ""));
		json_sets(r->a, row, "task_name", json_get_text(one, "text", ""));
		json_sets(r->a, row, "suggested_action", json_get_text(one, "remedy", ""));
		json_push(r->a, findings, row);
		json_setb(r->a, doc, "ok", false);
	}
}

/* --fix closes only runs whose process is gone; everything else is for a person. */
int cmd_task_doctor(struct cli *r, struct err *e)
{
	struct actions_place o = actions_place_from(r);
	struct json *doc;
	size_t closed = 0;
	/* Closed first, so that the findings below are what is left. */
	int rc = opt_flag(r, "fix") ? run_close_left(r, true, &closed, e) : OK;

	if (rc == OK)
		rc = actions_task_doctor(&o, DOCTOR_TASKS, opt_int(r, "stale-minutes", 120), &doc, e);
	if (rc)
		return rc;
	add_unfinished(r, doc);
	bool ok = json_get_bool(doc, "ok", false);
	hint_json(r, doc);
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
