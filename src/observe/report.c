/* report.c — what happened, as a document and as Markdown.  page.c makes a page of the same document. */
#include "base/text.h"
#include "observe/observe.h"
#include "record/record.h"

#include <string.h>

struct receipt_count {
	struct arena *a;
	int64_t total, allowed, denied, asked, outcomes;
	char last_at[64];
};

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
	c->outcomes += text_eq(type, "outcome");
	if (text_eq(type, "decision")) {
		c->allowed += text_eq(verdict, "ALLOW");
		c->denied += text_eq(verdict, "DENY");
		c->asked += text_eq(verdict, "ESCALATE");
	}
	snprintf(c->last_at, sizeof(c->last_at), "%s", json_get_text(receipt, "timestamp", ""));
	return 0;
}

static struct json *receipts(const struct observed *o)
{
	struct receipt_count c = { .a = o->a };
	struct json *doc = json_new(o->a, JSON_OBJECT);

	if (receipts_each(o->sys, o->state_fd, count_receipt, &c, NULL))
		json_setb(o->a, doc, "readable", false);
	json_seti(o->a, doc, "count", c.total);
	json_seti(o->a, doc, "allowed", c.allowed);
	json_seti(o->a, doc, "denied", c.denied);
	json_seti(o->a, doc, "asked", c.asked);
	json_seti(o->a, doc, "outcomes", c.outcomes);
	json_sets(o->a, doc, "last_at", c.last_at);
	return doc;
}

/* Rows with one of these states, newest first. */
static struct json *with_status(
	struct arena *a, const struct json *tasks, const char *const *states, uint32_t limit)
{
	struct json *out = json_new(a, JSON_ARRAY);

	for (uint32_t i = tasks->n; i-- > 0 && out->n < limit;)
		for (const char *const *s = states; *s; s++)
			if (text_eq(json_get_text(tasks->items[i], "status", ""), *s))
				json_push(a, out, tasks->items[i]);
	return out;
}

static struct json *newest(struct arena *a, const struct json *list, uint32_t limit)
{
	struct json *out = json_new(a, JSON_ARRAY);

	for (uint32_t i = list->n; i-- > 0 && out->n < limit;)
		json_push(a, out, list->items[i]);
	return out;
}

int observe_report(const struct observed *o, size_t limit, struct json **ret, struct err *e)
{
	static const char *const
		failed[] = { "failed", "timeout", NULL },
		*const blocked[] = { "blocked", NULL }, *const running[] = { "running", "queued", NULL },
		*const handoff[] = { "handoff_required", NULL }, *const done[] = { "completed", NULL };
	struct arena *a = o->a;
	struct json *tasks, *commands, *checkpoints, *sessions, *calls;
	struct json *doc = json_new(a, JSON_OBJECT), *counts = json_new(a, JSON_OBJECT);
	int rc = observe_tasks(o, limit, &tasks, e);

	if (rc == OK)
		rc = observe_failed_commands(o, 200, 10, &commands, e);
	if (rc == OK)
		rc = observe_checkpoints(o, 10, &checkpoints, e);
	if (rc == OK)
		rc = observe_sessions(o, &sessions, e);
	if (rc == OK)
		rc = observe_stopped_calls(o, &calls, e);
	if (rc)
		return rc;
	json_each (row, tasks) {
		const char *s = json_get_text(row, "status", "unknown");
		json_seti(a, counts, s, json_get_int(counts, s, 0) + 1);
	}
	json_sets(a, doc, "workspace", o->root);
	json_sets(a, doc, "generated_at", text_time_iso(a, o->sys->now_us(o->sys)));
	json_seti(a, doc, "period_task_count", tasks->n);
	json_set(a, doc, "task_status_counts", counts);
	json_set(a, doc, "tasks", newest(a, tasks, UINT32_MAX));
	json_set(a, doc, "failed_tasks", with_status(a, tasks, failed, 5));
	json_set(a, doc, "blocked_tasks", with_status(a, tasks, blocked, 10));
	json_set(a, doc, "running_tasks", with_status(a, tasks, running, 5));
	json_set(a, doc, "handoff_tasks", with_status(a, tasks, handoff, 5));
	json_set(a, doc, "completed_tasks", with_status(a, tasks, done, 5));
	json_set(a, doc, "failed_commands", newest(a, commands, UINT32_MAX));
	json_set(a, doc, "recent_checkpoints", newest(a, checkpoints, UINT32_MAX));
	json_set(a, doc, "receipts", receipts(o));
	json_set(a, doc, "sessions", newest(a, sessions, 5));
	json_set(a, doc, "stopped_calls", newest(a, calls, 10));
	*ret = doc;
	return OK;
}

/* ---- Markdown ---- */

/* One line, and nothing in it is markup. */
static void plain(struct buf *b, const char *text)
{
	for (; *text; text++) {
		if (strchr("\\`*_{}[]<>#|", *text))
			buf_addc(b, '\\');
		buf_addc(b, *text == '\n' || *text == '\r' ? ' ' : *text);
	}
}

static void section(
	struct buf *b, const char *title, const struct json *rows, const char *const *fields, const char *id)
{
	uint32_t shown = 0;

	buf_addf(b, "\n## %s\n\n", title);
	json_each (row, rows) {
		if (shown++ == 5)
			break;
		buf_adds(b, "- ");
		plain(b, json_get_text(row, fields[0], json_get_text(row, id, "?")));
		for (const char *const *f = fields + 1; *f; f++) {
			int64_t n;
			const char *v = json_get_text(row, *f, NULL);
			if (v && *v) {
				buf_adds(b, " — ");
				plain(b, text_ends(*f, "_at") ? observe_when(b->a, v) : v);
			} else if (json_int(json_get(row, *f), &n)) {
				buf_addf(b, " — exit %lld", (long long)n);
			}
		}
		buf_addc(b, '\n');
	}
	if (!shown)
		buf_adds(b, "- None\n");
}

char *observe_markdown(struct arena *a, const struct json *r)
{
	static const char *const task[] = { "task_name", "profile", "finished_at", NULL };
	static const char *const stopped[] = { "task_name", "profile", "failure_reason", NULL };
	static const char *const bad[] = { "task_name", "profile", "exit_code", "failure_reason", NULL };
	static const char *const command[] = { "command_preview", "exit_code", "started_at", NULL };
	static const char *const call[] = { "preview", "tool", "client", "verdict", "rule", "at", NULL };
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
	section(&b, "Stopped", json_get(r, "blocked_tasks"), stopped, "task_id");
	section(&b, "Stopped Calls of Agents", json_get(r, "stopped_calls"), call, "tool");
	section(&b, "Failed Tasks", json_get(r, "failed_tasks"), bad, "task_id");
	section(&b, "Running", json_get(r, "running_tasks"), task, "task_id");
	section(&b, "Completed Tasks", json_get(r, "completed_tasks"), task, "task_id");
	section(&b, "Failed Commands", json_get(r, "failed_commands"), command, "label");
	section(&b, "Recent Checkpoints", json_get(r, "recent_checkpoints"), checkpoint, "checkpoint_id");
	return b.p;
}
