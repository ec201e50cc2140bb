/* report.c — what happened, as a document and as Markdown. page.c makes an HTML page of the same document.
 *
 * The document is built from the tails of the ledgers, up to a reach; with a limit of 0 everything is
 * read. `complete` in the document says whether the reach cut something off, so a number in a report is
 * never silently too small. Receipts are counted over the whole log, because the answers of people are
 * found there, too. */
#include "base/text.h"
#include "observe/observe.h"
#include "record/record.h"

#include <string.h>

enum { REACH_COMMANDS = 20000 };

/* What is counted while the receipts pass by. */
struct receipt_count {
	struct arena *a;
	int64_t total, allowed, denied, asked, outcomes, tests;
	char last_at[64];
	struct json *answers; /* {approval_id: what a person said} */
};

/* Remembers what a person answered to a request. The request itself is forgotten after a week, but the
 * receipt of its answer stays. What the caller knows from the requests is already in `answers` and is not
 * replaced. */
static void take_answer(struct receipt_count *c, const struct json *receipt)
{
	const struct json *about = json_get(receipt, "metadata"), *grant = json_get(about, "grant"),
			  *denial = json_get(about, "denial");
	const char *id = json_get_text(grant, "request_id", json_get_text(denial, "approval_id", NULL));

	if (id && !json_get(c->answers, id))
		json_sets(c->a, c->answers, id, grant ? "approved" : "denied");
}

/* Called for each receipt in order, so the last timestamp is the newest. */
static int count_receipt(void *arg, const char *file, uint64_t line, struct bytes text,
	const struct json *receipt, struct err *e)
{
	struct receipt_count *c = arg;
	const char *verdict = json_get_text(receipt, "verdict", ""),
		   *type = json_get_text(receipt, "type", "");

	(void)file;
	(void)line;
	(void)text;
	(void)e;
	c->total++;
	c->tests += json_get_bool(json_get(receipt, "metadata"), "self_test", false);
	take_answer(c, receipt);
	c->outcomes += text_eq(type, "outcome");
	if (text_eq(type, "decision")) {
		c->allowed += text_eq(verdict, "ALLOW");
		c->denied += text_eq(verdict, "DENY");
		c->asked += text_eq(verdict, "ESCALATE");
	}
	snprintf(c->last_at, sizeof(c->last_at), "%s", json_get_text(receipt, "timestamp", ""));
	return 0;
}

/* Receipts that cannot be read do not stop the report: it says "readable": false and shows what was
 * counted until then. */
static struct json *receipts(const struct observed *o, struct json *answers)
{
	struct receipt_count c = { .a = o->a, .answers = answers };
	struct json *doc = json_new(o->a, JSON_OBJECT);

	if (receipts_each(o->sys, o->state_fd, count_receipt, &c, NULL))
		json_setb(o->a, doc, "readable", false);
	json_seti(o->a, doc, "count", c.total);
	json_seti(o->a, doc, "allowed", c.allowed);
	json_seti(o->a, doc, "denied", c.denied);
	json_seti(o->a, doc, "asked", c.asked);
	json_seti(o->a, doc, "outcomes", c.outcomes);
	json_seti(o->a, doc, "self_tests", c.tests);
	json_sets(o->a, doc, "last_at", c.last_at);
	return doc;
}

/* Rows that are in one of these states. */
static struct json *with_status(struct arena *a, const struct json *tasks, const char *const *states)
{
	struct json *out = json_new(a, JSON_ARRAY);

	json_each (row, tasks)
		for (const char *const *s = states; *s; s++)
			if (text_eq(json_get_text(row, "status", ""), *s))
				json_push(a, out, row);
	return out;
}

/* Puts the newest first, at most `limit` of them, and notes in `lists` how many there are in all. */
static void put_list(
	struct arena *a, struct json *doc, const char *name, const struct json *all, size_t limit)
{
	struct json *shown = json_new(a, JSON_ARRAY), *about = json_new(a, JSON_OBJECT);

	for (uint32_t i = all->n; i-- > 0 && (!limit || shown->n < limit);)
		json_push(a, shown, all->items[i]);
	json_set(a, doc, name, shown);
	json_seti(a, about, "shown", shown->n);
	json_seti(a, about, "of", all->n);
	json_set(a, json_get(doc, "lists"), name, about);
}

/* How much of a list is shown, or NULL when all of it is. */
const char *observe_cut(struct arena *a, const struct json *report, const char *list)
{
	const struct json *about = json_get(json_get(report, "lists"), list);
	int64_t shown = json_get_int(about, "shown", 0), of = json_get_int(about, "of", 0);

	return shown < of
		? arena_printf(a, "%lld of %lld, all with --limit 0", (long long)shown, (long long)of)
		: NULL;
}

/* One count per state, and a list for each state that a reader asks about. */
static void put_tasks(struct arena *a, struct json *doc, const struct json *tasks, size_t limit)
{
	static const char *const
		failed[] = { "failed", "timeout", NULL },
		*const blocked[] = { "blocked", NULL }, *const running[] = { "running", "queued", NULL },
		*const handoff[] = { "handoff_required", NULL }, *const done[] = { "completed", NULL };
	struct json *counts = json_new(a, JSON_OBJECT);

	json_each (row, tasks) {
		const char *s = json_get_text(row, "status", "unknown");
		json_seti(a, counts, s, json_get_int(counts, s, 0) + 1);
	}
	json_seti(a, doc, "period_task_count", tasks->n);
	json_set(a, doc, "task_status_counts", counts);
	put_list(a, doc, "tasks", tasks, limit);
	put_list(a, doc, "failed_tasks", with_status(a, tasks, failed), limit);
	put_list(a, doc, "blocked_tasks", with_status(a, tasks, blocked), limit);
	put_list(a, doc, "running_tasks", with_status(a, tasks, running), limit);
	put_list(a, doc, "handoff_tasks", with_status(a, tasks, handoff), limit);
	put_list(a, doc, "completed_tasks", with_status(a, tasks, done), limit);
}

/* Receipts are read first: they complete `said`, which tells what became of the stopped calls. */
int observe_report(
	const struct observed *o, size_t limit, const struct json *answers, struct json **ret, struct err *e)
{
	struct arena *a = o->a;
	struct json *tasks, *commands, *checkpoints, *sessions, *calls,
		*doc = json_new(a, JSON_OBJECT),
		*said = answers ? json_copy(a, answers) : json_new(a, JSON_OBJECT);
	struct json *counted = receipts(o, said);
	bool few_tasks, few_sessions, few_calls;
	int rc = observe_all_tasks(o, !limit, &tasks, &few_tasks, e);

	if (rc == OK)
		rc = observe_failed_commands(o, limit ? REACH_COMMANDS : 0, 0, &commands, e);
	if (rc == OK)
		rc = observe_checkpoints(o, 0, &checkpoints, e);
	if (rc == OK)
		rc = observe_sessions(o, !limit, &sessions, &few_sessions, e);
	if (rc == OK)
		rc = observe_stopped_calls(o, !limit, said, &calls, &few_calls, e);
	if (rc)
		return rc;
	json_sets(a, doc, "workspace", o->root);
	json_sets(a, doc, "generated_at", text_time_iso(a, o->sys->now_us(o->sys)));
	json_seti(a, doc, "limit", (int64_t)limit);
	json_setb(a, doc, "complete", !few_tasks && !few_sessions && !few_calls);
	json_set(a, doc, "lists", json_new(a, JSON_OBJECT));
	put_tasks(a, doc, tasks, limit);
	put_list(a, doc, "failed_commands", commands, limit);
	put_list(a, doc, "recent_checkpoints", checkpoints, limit);
	json_set(a, doc, "receipts", counted);
	put_list(a, doc, "sessions", sessions, limit);
	put_list(a, doc, "stopped_calls", calls, limit);
	*ret = doc;
	return OK;
}

/* ---- Markdown ---- */

/* Text on one line in which nothing is Markdown markup: command lines of agents must not format the
 * report. */
static void plain(struct buf *b, const char *text)
{
	for (; *text; text++) {
		if (strchr("\\`*_{}[]<>#|", *text))
			buf_addc(b, '\\');
		buf_addc(b, *text == '\n' || *text == '\r' ? ' ' : *text);
	}
}

/* The members of a row behind its name, each after a dash. Names that end in "_at" are times; a number is
 * an exit code. A self-test is marked, since no agent asked for it. */
static void details(struct buf *b, const struct json *row, const char *const *fields)
{
	for (const char *const *f = fields; *f; f++) {
		int64_t n;
		const char *v = json_get_text(row, *f, NULL);
		if (v && *v) {
			buf_adds(b, " — ");
			plain(b, text_ends(*f, "_at") || text_eq(*f, "at") ? observe_when(b->a, v) : v);
		} else if (json_int(json_get(row, *f), &n)) {
			buf_addf(b, " — exit %lld", (long long)n);
		}
	}
	if (json_get_bool(row, "self_test", false))
		buf_adds(b, " — self-test of helm setup");
}

/* `fields[0]` names the row; where it is missing, its id does. */
static void section(struct buf *b, const char *title, const struct json *r, const char *list,
	const char *const *fields, const char *id)
{
	const struct json *rows = json_get(r, list);
	const char *cut = observe_cut(b->a, r, list);

	buf_addf(b, "\n## %s\n\n", title);
	if (cut)
		buf_addf(b, "%s\n\n", cut);
	json_each (row, rows) {
		buf_adds(b, "- ");
		plain(b, json_get_text(row, fields[0], json_get_text(row, id, "?")));
		details(b, row, fields + 1);
		buf_addc(b, '\n');
	}
	if (!rows || !rows->n)
		buf_adds(b, "- None\n");
}

/* The same document as the page shows, in a form that fits into a ticket. */
char *observe_markdown(struct arena *a, const struct json *r)
{
	static const char *const task[] = { "task_name", "profile", "finished_at", NULL };
	static const char *const stopped[] = { "task_name", "profile", "failure_reason", NULL };
	static const char *const bad[] = { "task_name", "profile", "exit_code", "failure_reason", NULL };
	static const char *const command[] = { "command_preview", "exit_code", "started_at", NULL };
	static const char *const call[] = { "preview", "tool", "client", "verdict", "became", "rule", "at",
		NULL };
	static const char *const session[] = { "session", "client", "last_at", NULL };
	static const char *const checkpoint[] = { "label", "checkpoint_id", NULL };
	const struct json *receipt = json_get(r, "receipts");
	struct buf b;

	buf_init(&b, a);
	buf_adds(&b, "# Helm report\n\n- Workspace: ");
	plain(&b, json_get_text(r, "workspace", ""));
	buf_adds(&b, "\n- Made: ");
	plain(&b, observe_when(a, json_get_text(r, "generated_at", "")));
	buf_addf(&b, "\n- Tasks: %lld\n- Status: ", (long long)json_get_int(r, "period_task_count", 0));
	json_each_member (m, json_get(r, "task_status_counts"))
		buf_addf(&b, "%s%s %s", m == json_get(r, "task_status_counts")->members ? "" : ", ", m->name,
			m->value->text);
	buf_addf(&b, "\n- Receipts: %lld (%lld allowed, %lld asked, %lld denied)\n",
		(long long)json_get_int(receipt, "count", 0), (long long)json_get_int(receipt, "allowed", 0),
		(long long)json_get_int(receipt, "asked", 0), (long long)json_get_int(receipt, "denied", 0));
	section(&b, "Stopped", r, "blocked_tasks", stopped, "task_id");
	section(&b, "Stopped Calls of Agents", r, "stopped_calls", call, "tool");
	section(&b, "Failed Tasks", r, "failed_tasks", bad, "task_id");
	section(&b, "Running", r, "running_tasks", task, "task_id");
	section(&b, "Completed Tasks", r, "completed_tasks", task, "task_id");
	section(&b, "Sessions of Agents", r, "sessions", session, "session");
	section(&b, "Failed Commands", r, "failed_commands", command, "label");
	section(&b, "Recent Checkpoints", r, "recent_checkpoints", checkpoint, "checkpoint_id");
	return b.p;
}
