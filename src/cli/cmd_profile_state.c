/* cmd_profile_state.c — profile ledger, rollback, use, pause, resume, paused: what a profile did, and
 * whether it may be used.
 *
 * A pause stops a profile until the token that was shown comes back; only its hash is kept. Choosing the
 * profile in force is a signed record, and what runs under the guard cannot choose for itself. */
#include "base/text.h"
#include "cli/cmd.h"
#include "cli/cmd_actions.h"
#include "cli/cmd_approval.h"
#include "kernel/standing.h"
#include "kernel/task/task.h"
#include "proof/preimage.h"

const struct opt profile_ledger_opts[] = {
	{ "limit", OPT_INT, "N", "how many rows (default 20; 0 is all)", NULL, false },
	{ 0 },
};
const struct opt profile_rollback_opts[] = {
	{ "task-id", OPT_VALUE, "ID", "the task (default: the newest risky one)", NULL, false },
	{ 0 },
};
const struct opt profile_pause_opts[] = {
	{ "reason", OPT_VALUE, "TEXT", "why", NULL, true },
	{ 0 },
};
const struct opt profile_resume_opts[] = {
	{ "token", OPT_VALUE, "TOKEN", "the token that was shown when it was paused", NULL, true },
	PERSON_KEY,
	{ 0 },
};

static void row_cells(struct cli *r, struct out_table *t, const struct json *row)
{
	const char *at = json_get(row, "finished_at") ? "finished_at" : "started_at";
	const char *cells[] = { safe_member(r, row, "task_id"), safe_member(r, row, "status"),
		safe_member(r, row, "profile"), safe_member(r, row, at), safe_member(r, row, "task_name") };

	out_row(t, cells, NULL);
}

static int list_ledger_row(void *arg, off_t place, uint64_t line, const struct json *row, struct err *e)
{
	(void)place;
	(void)line;
	return row ? listing_row(arg, (struct json *)row, e) : OK;
}

/* The rows as they were written; `task list` shows one row per task instead. */
int cmd_profile_ledger(struct cli *r, struct err *e)
{
	static const char *const heads[] = { "TASK", "STATUS", "PROFILE", "WHEN", "NAME" };
	size_t limit = (size_t)opt_int(r, "limit", 20);
	struct json *rows = NULL;
	struct listing l;

	listing_begin(&l, r, heads, ARRAY_SIZE(heads), row_cells);
	/* One more than is shown, to know whether there are any. */
	int rc = limit ? rows_tail(r->sys, r->a, r->ws->state_fd, TASK_LEDGER, limit + 1, &rows, e)
		       : rows_each(r->sys, r->ws->state_fd, TASK_LEDGER, 0, list_ledger_row, &l, e);
	if (rc)
		return rc;
	size_t first = rows && rows->n > limit ? rows->n - limit : 0;
	if (first)
		warn(r, "the last %s, all with --limit 0", text_count(r->a, (int64_t)limit, "row"));
	for (size_t i = first; rows && i < rows->n; i++)
		(void)listing_row(&l, rows->items[i], e);
	listing_end(&l);
	return 0;
}

/* A task that can be undone or that ran under the profile for risky edits. */
static bool is_risky(const struct json *row)
{
	return text_eq(json_get_text(row, "profile", ""), "risky_edit") ||
		json_get_text(row, "checkpoint_id", NULL);
}

/* Only names the checkpoint and the command; it restores nothing. */
int cmd_profile_rollback(struct cli *r, struct err *e)
{
	static const char *const fields[] = { "task_id", "task_name", "status", "profile", "runtime_backend",
		"runtime_target" };
	struct actions_place o = actions_place_from(r);
	const char *id = opt_text(r, "task-id", NULL);
	struct json *rows, *row = NULL, *doc = json_new(r->a, JSON_OBJECT);
	int rc = id ? actions_task(&o, id, &rows, e) : actions_newest_task(&o, is_risky, &row, e);

	if (rc)
		return rc;
	if (id) /* its newest row */
		row = rows->items[rows->n - 1];
	if (!row) {
		if (r->is_json)
			out_json(r, doc);
		else
			out(r, "no task made a checkpoint yet\n");
		return 0;
	}
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		json_sets(r->a, doc, fields[i], json_get_text(row, fields[i], NULL));
	const char *checkpoint = json_get_text(row, "checkpoint_id", NULL);
	json_sets(r->a, doc, "checkpoint", checkpoint);
	json_sets(r->a, doc, "restore_command",
		checkpoint ? hint(r, arena_printf(r->a, "helm checkpoint restore %s", checkpoint)) : NULL);
	if (r->is_json) {
		out_json(r, doc);
		return 0;
	}
	json_each_member (m, doc)
		out(r, "%s=%s\n", m->name, safe_member(r, doc, m->name));
	return 0;
}

const struct opt profile_use_opts[] = {
	{ "destructive", OPT_VALUE, "HOW", "ask about what destroys, or save it first and let it run",
		"ask|checkpoint", false },
	PERSON_KEY,
	{ 0 },
};

/* A guarded run would otherwise loosen the rules that it runs under. */
int cmd_profile_use(struct cli *r, struct err *e)
{
	struct person who = { 0 };
	struct kernel k;
	struct json *receipt;

	if (r->sys->getenv(r->sys, "HELM_TASK_ID"))
		return err_set(e, E_DENIED, "PROFILE_INSIDE",
			"a guarded run cannot choose its own profile; a person does that");
	int rc = kernel_open(r->sys, r->a, r->ws, &k, e);
	if (rc)
		return rc;
	/* What is stricter needs nobody; what is not is a person's to choose. */
	const char *destructive = opt_text(r, "destructive", NULL);
	const struct profile *chosen;
	rc = profiles_get(&k.guard.profiles, r->args[0], &chosen, e);
	if (rc == OK)
		rc = workspace_choice_is_stricter(&k, r->a, chosen->name, destructive) &&
				!opt_text(r, "key", NULL)
			? person_is_outside(r->sys, r->a, r->ws, e)
			: person_loosens(r, &who, e);
	k.person = &who;
	if (rc == OK)
		rc = workspace_use_profile(&k, r->a, r->args[0], destructive, &receipt, e);
	key_free(&who.key);
	kernel_close(&k);
	if (rc)
		return rc;
	if (r->is_json)
		out_json(r, receipt);
	else
		out(r, "default_profile=%s\ndestructive=%s\nreceipt=%s\n", r->args[0],
			json_get_text(json_get(standing(r->sys, r->a, r->ws), "profile"), "destructive", "-"),
			receipt_id_short(r->a, safe_member(r, receipt, "receipt_id")));
	return 0;
}

/* The token is shown once, here. */
int cmd_profile_pause(struct cli *r, struct err *e)
{
	struct kernel k;
	const struct profile *p;
	char *token;
	int rc = kernel_open(r->sys, r->a, r->ws, &k, e);

	if (rc)
		return rc;
	rc = profiles_get(&k.guard.profiles, r->args[0], &p, e);
	if (rc == OK)
		rc = pause_profile(&k, r->a, p->name, opt_text(r, "reason", ""), &token, e);
	kernel_close(&k);
	if (rc)
		return rc;
	if (r->is_json) {
		struct json *doc = json_new(r->a, JSON_OBJECT);
		json_sets(r->a, doc, "profile", p->name);
		json_sets(r->a, doc, "resume_token", token);
		json_setb(r->a, doc, "gate_on", true); /* for readers from when a pause needed a gate */
		out_json(r, doc);
		return 0;
	}
	out(r, "profile=%s\nresume_token=%s\n", p->name, token);
	out(r,
		"note=runs and agents' calls under it are refused until 'helm profile resume %s --token "
		"TOKEN'\n",
		p->name);
	return 0;
}

/* The token proves that whoever resumes is who paused.  That is no reason to loosen anything while everything is frozen. */
int cmd_profile_resume(struct cli *r, struct err *e)
{
	struct person who = { 0 };
	struct kernel k;
	int rc = opt_text(r, "key", NULL) ? person_loosens(r, &who, e)
					  : person_may_loosen(r->sys, r->a, r->ws, e);

	if (rc == OK)
		rc = kernel_open(r->sys, r->a, r->ws, &k, e);
	if (rc)
		return rc;
	k.person = &who;
	rc = resume_profile(&k, r->a, r->args[0], opt_text(r, "token", ""), e);
	key_free(&who.key);
	kernel_close(&k);
	if (rc)
		return rc;
	if (r->is_json) {
		struct json *doc = json_new(r->a, JSON_OBJECT);
		json_sets(r->a, doc, "profile", r->args[0]);
		json_setb(r->a, doc, "resumed", true);
		out_json(r, doc);
		return 0;
	}
	out(r, "profile=%s\nresumed=yes\n", r->args[0]);
	return 0;
}

/* Tokens and their hashes are taken out before anything is shown. */
int cmd_profile_paused(struct cli *r, struct err *e)
{
	struct json *doc;
	int rc = pause_load(r->sys, r->a, r->ws, &doc, e);

	if (rc)
		return rc;
	json_each_member (m, doc) {
		(void)json_remove(m->value, "token_sha256");
		(void)json_remove(m->value, "resume_token");
	}
	if (r->is_json) {
		out_json(r, doc);
		return 0;
	}
	json_each_member (m, doc)
		out(r, "%s  since %s: %s\n", text_safe(r->a, m->name, m->name_n, false),
			safe_member(r, m->value, "paused_at"), safe_member(r, m->value, "reason"));
	if (!doc->n)
		out(r, "no profile is paused\n");
	return 0;
}
