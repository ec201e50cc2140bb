/* cmd_db.c — the query index over the ledgers.
 *
 * The ledgers are the truth; the index is a copy that answers questions faster and can be made again at
 * any time. `db verify` compares the two as of one moment and exits with EXIT_NO when they differ; lines that
 * the index has not read yet are no difference. */
#include "base/text.h"
#include "cli/cmd.h"
#include "cli/cmd_actions.h"
#include "kernel/workspace.h"
#include "record/record.h"

const struct opt db_query_opts[] = {
	{ "status", OPT_VALUE, "STATUS", "only tasks in this state", NULL, false },
	{ "profile", OPT_VALUE, "NAME", "only this profile", NULL, false },
	{ "guard-action", OPT_VALUE, "ACTION", "guard decisions instead of tasks",
		"allow|warn|require_approval|deny", false },
	{ "task-id", OPT_VALUE, "ID", "only this task", NULL, false },
	{ "limit", OPT_INT, "N", "how many (default 50, 0 all)", NULL, false },
	{ 0 },
};

/* Where the index lies. */
static struct index_place place(struct cli *r)
{
	return (struct index_place){ r->sys, r->a, r->ws->state_dir, r->ws->state_fd };
}

/* One name=value line per member. */
static void print(struct cli *r, const struct json *doc)
{
	if (r->is_json) {
		out_json(r, doc);
		return;
	}
	json_each_member (m, doc) {
		struct buf text;
		buf_init(&text, r->a);
		if (json_text(m->value))
			buf_adds(&text, json_text(m->value));
		else
			json_write(&text, m->value, JSON_SPACED);
		out(r, "%s=%s\n", m->name, text_safe(r->a, text.p, text.n, false));
	}
}

/* Makes the index, or reads only what was added to the ledgers since. */
int cmd_db_init(struct cli *r, struct err *e)
{
	struct index_place at = place(r);
	struct json *doc;
	int rc = index_refresh(&at, false, &doc, e);

	if (rc == OK)
		print(r, doc);
	return rc;
}

/* Throws the index away and reads everything again. */
int cmd_db_rebuild(struct cli *r, struct err *e)
{
	struct index_place at = place(r);
	struct json *doc;
	int rc = index_refresh(&at, true, &doc, e);

	if (rc == OK)
		print(r, doc);
	return rc;
}

/* A document without "drift" counts as drifted. */
int cmd_db_verify(struct cli *r, struct err *e)
{
	struct index_place at = place(r);
	struct json *doc;
	int rc = index_verify(&at, &doc, e);

	if (rc)
		return rc;
	print(r, doc);
	int64_t behind = json_get_int(doc, "behind", 0);
	if (behind && !r->is_json)
		out(r, "%s of the task ledger %s not in the index yet; to add %s: helm db init\n",
			text_count(r->a, behind, "line"), behind == 1 ? "is" : "are",
			behind == 1 ? "it" : "them");
	/* Doubt counts as drift. */
	return json_get_int(doc, "drift", 1) ? EXIT_NO : 0;
}

/* Whatever is wrong with it stands in the document. */
int cmd_db_status(struct cli *r, struct err *e)
{
	struct index_place at = place(r);
	struct json *doc;
	int rc = index_status(&at, &doc);

	(void)e;
	print(r, doc);
	return rc ? EXIT_NO : 0;
}

static void task_cells(struct cli *r, struct out_table *t, const struct json *row)
{
	const char *cells[] = { safe_member(r, row, "task_id"), safe_member(r, row, "status"),
		safe_member(r, row, "profile"), safe_member(r, row, "task_name") };

	out_row(t, cells, NULL);
}

static void guard_cells(struct cli *r, struct out_table *t, const struct json *row)
{
	const char *cells[] = { safe_member(r, row, "task_id"), safe_member(r, row, "action"),
		safe_member(r, row, "selected_profile"), safe_member(r, row, "created_at") };

	out_row(t, cells, NULL);
}

struct counted {
	struct listing *l;
	int64_t n, most; /* most 0: all */
};

static int count_row(void *arg, struct json *row, struct err *e)
{
	struct counted *c = arg;

	return ++c->n > c->most && c->most ? 0 : listing_row(c->l, row, e);
}

/* Tasks are counted in the index; of the guard's decisions it is known only that there are more. */
static void warn_cut(struct cli *r, const struct index_place *at, const struct index_query *q, int64_t shown)
{
	AUTO(index_close) struct index *x = NULL;
	const struct task_filter f = {
		.states = &q->status, .state_count = q->status != NULL, .profile = q->profile
	};
	struct json *counts;
	int64_t total = 0;

	if (!q->guard_action && index_open(at, INDEX_SOON, &x, NULL) == OK && index_is_whole(x))
		(void)!index_task_counts(x, &f, &counts, &total, NULL);
	if (total > shown)
		warn(r, "%s", text_shown_of(r->a, shown, total, "all with --limit 0"));
	else
		warn(r, "the newest %s; there are more, all with --limit 0", text_thousands(r->a, shown));
}

/* With --guard-action rows are decisions of the guard, otherwise tasks; the columns follow. */
int cmd_db_query(struct cli *r, struct err *e)
{
	static const char *const task_heads[] = { "TASK", "STATUS", "PROFILE", "NAME" };
	static const char *const guard_heads[] = { "TASK", "ACTION", "PROFILE", "WHEN" };
	struct index_place at = place(r);
	struct index_query q = { opt_text(r, "status", NULL), opt_text(r, "profile", NULL),
		opt_text(r, "guard-action", NULL), opt_text(r, "task-id", NULL), opt_int(r, "limit", 50) };
	struct listing l;

	listing_begin(&l, r, q.guard_action ? guard_heads : task_heads, 4,
		q.guard_action ? guard_cells : task_cells);
	struct counted c = { &l, 0, q.limit };
	if (q.limit) /* one more, so that it is known whether there are more */
		q.limit++;
	int rc = index_query(&at, &q, count_row, &c, e);
	if (rc == OK)
		listing_end(&l);
	if (rc == OK && c.most && c.n > c.most)
		warn_cut(r, &at, &q, c.most);
	return rc;
}
