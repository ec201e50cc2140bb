/* cmd_checkpoint_keep.c — checkpoint recommend, finalize, prune, protect, policy: which checkpoint to go
 * back to, and how long each is kept.
 *
 * Pruning deletes, so it only says what would go unless --apply is given. What a task refers to and what
 * is pinned stays, as the policy file says. */
#include "base/text.h"
#include "cli/checkpoint.h"
#include "cli/cmd.h"
#include "cli/cmd_approval.h"
#include "kernel/workspace.h"

#include <inttypes.h>

const struct opt checkpoint_task_opts[] = {
	{ "task-id", OPT_VALUE, "ID", "the task to go back from (default: the newest risky one)", NULL,
		false },
	{ 0 },
};
const struct opt checkpoint_prune_opts[] = {
	{ "keep-recent", OPT_INT, "N", "keep the newest N", NULL, false },
	{ "keep-days", OPT_INT, "N", "keep those younger than N days", NULL, false },
	{ "max-total-mb", OPT_INT, "N", "remove more, oldest first, until the store is smaller", NULL,
		false },
	{ "apply", OPT_FLAG, NULL, "do it; without, only say what would go", NULL, false },
	PERSON_KEY,
	{ 0 },
};
const struct opt checkpoint_protect_opts[] = {
	{ "unprotect", OPT_FLAG, NULL, "let retention remove it again", NULL, false },
	PERSON_KEY,
	{ 0 },
};

/* ---- recommend, finalize ---- */

static struct json *or_null(struct cli *r, struct json *v)
{
	return v ? v : json_new(r->a, JSON_NULL);
}

/* A checkpoint that was made after the task began may hold the damage already; that is said before the
 * command to restore it. */
static void say_advice(struct cli *r, const struct checkpoint_advice *a)
{
	out(r, "task_id=%s\ntask_name=%s\nprofile=%s\nstatus=%s\n", json_get_text(a->task, "task_id", "-"),
		json_get_text(a->task, "task_name", "-"), json_get_text(a->task, "profile", "-"),
		json_get_text(a->task, "status", "-"));
	if (!a->checkpoint) {
		out(r, "checkpoint_id=-\n");
		return;
	}
	const char *id = json_get_text(a->checkpoint, "checkpoint_id", "-");
	struct buf paths;
	buf_init(&paths, r->a);
	json_write(&paths, json_get(a->checkpoint, "paths"), JSON_SPACED);
	out(r, "checkpoint_id=%s\ncheckpoint_label=%s\ncheckpoint_paths=%s\nrelation=%s\n", id,
		json_get_text(a->checkpoint, "label", "-"), paths.p, a->relation);
	if (text_eq(a->relation, "after"))
		out(r, "note=this checkpoint was made after the task began; it may hold the damage\n");
	out(r, "restore_hint=%s\n", hint(r, arena_printf(r->a, "helm checkpoint restore %s", id)));
}

/* A list of checkpoints that cannot be read is told, and then there is none to recommend. */
static int recommended(
	struct cli *r, struct checkpoint_store *st, struct checkpoint_advice *ret, struct err *e)
{
	if (checkpoint_cli_open(r, st, e) || checkpoint_recommend(st, opt_text(r, "task-id", NULL), ret, e))
		return e->rc;
	if (ret->trouble)
		warn(r, "no checkpoint can be looked for: %s", ret->trouble);
	return OK;
}

/* Which checkpoint leads back from the newest risky task. "exact" is true only for one that was made
 * before it. */
int cmd_checkpoint_recommend(struct cli *r, struct err *e)
{
	AUTO(checkpoint_close) struct checkpoint_store st = { .dir_fd = -1 };
	struct checkpoint_advice a;

	if (recommended(r, &st, &a, e))
		return e->rc;
	if (r->is_json) {
		struct json *doc = json_new(r->a, JSON_OBJECT);
		json_set(r->a, doc, "task", or_null(r, a.task));
		json_set(r->a, doc, "checkpoint", or_null(r, a.checkpoint));
		json_sets(r->a, doc, "relation", a.relation);
		json_setb(r->a, doc, "exact", a.checkpoint && !text_eq(a.relation, "after"));
		out_json(r, doc);
		return 0;
	}
	if (!a.task)
		out(r, "no risky task in the ledger; nothing to go back from\n");
	else
		say_advice(r, &a);
	return 0;
}

/* The capture plan that the task's last row carries; null members where it has none. */
static struct json *finalization(struct cli *r, const struct json *task)
{
	static const char *const names[] = { "relevant", "recommended_layers", "event_types", "claim_state",
		"retention", "review_flags", "supersession", "crystallization", "reasons", "summary" };
	const struct json *plan = json_get(task, "memory_capture");
	struct json *doc = json_new(r->a, JSON_OBJECT);

	json_sets(r->a, doc, "status",
		json_get_text(plan, "finalization_status", plan ? NULL : "no_capture_plan"));
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		json_set(r->a, doc, names[i], or_null(r, json_get(plan, names[i])));
	return doc;
}

/* The same advice, with the plan for what is to be remembered of the task. Changes nothing. */
int cmd_checkpoint_finalize(struct cli *r, struct err *e)
{
	AUTO(checkpoint_close) struct checkpoint_store st = { .dir_fd = -1 };
	struct checkpoint_advice a;

	if (recommended(r, &st, &a, e))
		return e->rc;
	struct json *final = finalization(r, a.task);
	if (r->is_json) {
		struct json *doc = json_new(r->a, JSON_OBJECT);
		json_sets(r->a, doc, "workspace", r->ws->tree);
		json_set(r->a, doc, "task", or_null(r, a.task));
		json_set(r->a, doc, "checkpoint", or_null(r, a.checkpoint));
		json_set(r->a, doc, "finalization", final);
		out_json(r, doc);
		return 0;
	}
	if (!a.task) {
		out(r, "no risky task in the ledger; nothing to finalize\n");
		return 0;
	}
	say_advice(r, &a);
	json_each_member (m, final) {
		struct buf text;
		buf_init(&text, r->a);
		json_write(&text, m->value, JSON_SPACED);
		out(r, "finalization_%s=%s\n", m->name, json_text(m->value) ? json_text(m->value) : text.p);
	}
	return 0;
}

/* ---- prune, protect, policy ---- */

/* -1 means "no limit" inside, and null outside. */
static struct json *number_or_null(struct cli *r, int64_t n)
{
	return n < 0 ? json_new(r->a, JSON_NULL) : json_number(r->a, n);
}

static struct json *prune_json(
	struct cli *r, const struct checkpoint_policy *p, const struct checkpoint_pruned *gone)
{
	struct json *doc = json_new(r->a, JSON_OBJECT);

	json_sets(r->a, doc, "workspace", r->ws->tree);
	json_seti(r->a, doc, "keep_recent", p->keep_recent);
	json_seti(r->a, doc, "keep_days", p->keep_days);
	json_set(r->a, doc, "max_total_mb", number_or_null(r, p->max_total_mb));
	json_seti(r->a, doc, "total_bytes", (int64_t)gone->total_bytes);
	json_set(r->a, doc, "keep", gone->keep);
	json_set(r->a, doc, "prune", gone->prune);
	json_setb(r->a, doc, "applied", opt_flag(r, "apply"));
	json_seti(r->a, doc, "freed_bytes", (int64_t)gone->freed_bytes);
	json_set(r->a, doc, "leftovers", gone->leftovers);
	return doc;
}

/* Reasons are told for each checkpoint that goes. */
static void say_pruned(struct cli *r, const struct checkpoint_pruned *gone)
{
	bool is_done = opt_flag(r, "apply");

	json_each (v, gone->prune)
		out(r, "%s %s  %s\n", is_done ? "removed" : "would remove",
			json_get_text(v, "checkpoint_id", "?"), json_get_text(v, "prune_reason", ""));
	json_each (v, gone->leftovers)
		out(r, "%s leftover %s\n", is_done ? "removed" : "would remove", json_text(v));
	out(r, "keep=%u prune=%u total=%s", gone->keep->n, gone->prune->n,
		checkpoint_size_text(r->a, (int64_t)gone->total_bytes));
	if (is_done)
		out(r, " freed=%s", checkpoint_size_text(r->a, (int64_t)gone->freed_bytes));
	out(r, "\n");
	if (!is_done && (gone->prune->n || gone->leftovers->n))
		out(r, "do it with:\n  helm checkpoint prune --apply\n");
}

/* Options replace single values of the policy. -1 is "no limit" for the total size. */
int cmd_checkpoint_prune(struct cli *r, struct err *e)
{
	AUTO(checkpoint_close) struct checkpoint_store st = { .dir_fd = -1 };
	struct checkpoint_policy p;
	struct checkpoint_pruned gone;

	if (checkpoint_cli_open(r, &st, e) || checkpoint_policy(&st, &p, e))
		return e->rc;
	p.keep_recent = opt_int(r, "keep-recent", p.keep_recent);
	p.keep_days = opt_int(r, "keep-days", p.keep_days);
	p.max_total_mb = opt_int(r, "max-total-mb", p.max_total_mb);
	if (p.keep_recent < 0 || p.keep_days < 0 || p.max_total_mb < -1)
		return err_set(
			e, E_USAGE, "USAGE", "--keep-recent, --keep-days and --max-total-mb take 0 or more");
	/* What was pinned, or what a task names, goes only by a person's hand. */
	if (opt_flag(r, "apply") && !(p.protect_pinned && p.protect_referenced) && person_is_there(r, e))
		return e->rc;
	if (checkpoint_prune(&st, &p, NULL, opt_flag(r, "apply"), &gone, e))
		return e->rc;
	if (r->is_json)
		out_json(r, prune_json(r, &p, &gone));
	else
		say_pruned(r, &gone);
	return 0;
}

/* A pinned checkpoint stays, whatever retention says. */
int cmd_checkpoint_protect(struct cli *r, struct err *e)
{
	AUTO(checkpoint_close) struct checkpoint_store st = { .dir_fd = -1 };
	bool is_pinned = !opt_flag(r, "unprotect");
	struct json *v;

	if (!is_pinned && person_is_there(r, e))
		return e->rc;
	if (checkpoint_cli_open(r, &st, e) || checkpoint_protect(&st, r->args[0], is_pinned, &v, e))
		return e->rc;
	if (r->is_json)
		out_json(r, v);
	else
		out(r, "%s is %s\n", json_get_text(v, "checkpoint_id", ""),
			is_pinned ? "pinned: prune leaves it alone" : "no longer pinned");
	return 0;
}

/* The policy in force, and whether it comes from a file or is the default. */
int cmd_checkpoint_policy(struct cli *r, struct err *e)
{
	AUTO(checkpoint_close) struct checkpoint_store st = { .dir_fd = -1 };
	struct checkpoint_policy p;
	struct json *doc = json_new(r->a, JSON_OBJECT), *policy = json_new(r->a, JSON_OBJECT);
	struct json *exclude = json_new(r->a, JSON_ARRAY);

	if (checkpoint_cli_open(r, &st, e) || checkpoint_policy(&st, &p, e))
		return e->rc;
	json_set(r->a, doc, "path", json_stringf(r->a, "%s/references/checkpoint_policy.json", r->ws->tree));
	json_sets(r->a, doc, "source",
		p.is_accepted	    ? "accepted"
			: p.is_file ? "file, as far as it is stricter"
				    : "default");
	json_seti(r->a, policy, "keep_recent", p.keep_recent);
	json_seti(r->a, policy, "keep_days", p.keep_days);
	json_set(r->a, policy, "max_total_mb", number_or_null(r, p.max_total_mb));
	json_setb(r->a, policy, "protect_referenced", p.protect_referenced);
	json_setb(r->a, policy, "protect_pinned", p.protect_pinned);
	json_seti(r->a, policy, "max_files", (int64_t)p.max_files);
	json_seti(r->a, policy, "max_mb", (int64_t)(p.max_bytes >> 20));
	for (size_t i = 0; i < p.exclude_count; i++)
		json_pushs(r->a, exclude, p.excludes[i]);
	json_set(r->a, policy, "exclude", exclude);
	json_set(r->a, doc, "policy", policy);
	if (r->is_json) {
		out_json(r, doc);
		return 0;
	}
	out(r, "path=%s\nsource=%s\n", json_get_text(doc, "path", ""), json_get_text(doc, "source", ""));
	json_each_member (m, policy) {
		struct buf text;
		buf_init(&text, r->a);
		json_write(&text, m->value, JSON_SPACED);
		out(r, "%s=%s\n", m->name, json_is(m->value, JSON_NULL) ? "-" : text.p);
	}
	return 0;
}
