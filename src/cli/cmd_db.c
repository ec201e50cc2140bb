/* cmd_db.c — the query index over the ledgers.
 *
 * The ledgers are the truth; the index is a copy that answers questions faster and can be made again at
 * any time. `db verify` compares the two and exits with EXIT_NO when they differ. */
#include "base/text.h"
#include "cli/cmd.h"
#include "cli/cmd_observe.h"
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
	int rc = index_query(&at, &q, listing_row, &l, e);
	if (rc == OK)
		listing_end(&l);
	return rc;
}
