/* report.c — what happened, as a document, as Markdown, and as one self-contained page.
 *
 * The page is for somebody who was not there: what ran, what was stopped and why, how to go back, and whether the record can be
 * trusted.  No scripts, no fonts, no links out; it prints well and follows the reader's light or dark. */
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

static struct json *reversed(struct arena *a, const struct json *list)
{
	struct json *out = json_new(a, JSON_ARRAY);

	for (uint32_t i = list->n; i-- > 0;)
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
	struct json *tasks, *commands, *checkpoints, *doc = json_new(a, JSON_OBJECT),
						     *counts = json_new(a, JSON_OBJECT);
	int rc = observe_tasks(o, limit, &tasks, e);

	if (rc == OK)
		rc = observe_failed_commands(o, 200, 10, &commands, e);
	if (rc == OK)
		rc = observe_checkpoints(o, 10, &checkpoints, e);
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
	json_set(a, doc, "tasks", reversed(a, tasks));
	json_set(a, doc, "failed_tasks", with_status(a, tasks, failed, 5));
	json_set(a, doc, "blocked_tasks", with_status(a, tasks, blocked, 10));
	json_set(a, doc, "running_tasks", with_status(a, tasks, running, 5));
	json_set(a, doc, "handoff_tasks", with_status(a, tasks, handoff, 5));
	json_set(a, doc, "completed_tasks", with_status(a, tasks, done, 5));
	json_set(a, doc, "failed_commands", reversed(a, commands));
	json_set(a, doc, "recent_checkpoints", reversed(a, checkpoints));
	json_set(a, doc, "receipts", receipts(o));
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
				plain(b, v);
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
	static const char *const checkpoint[] = { "label", "checkpoint_id", NULL };
	const struct json *receipt = json_get(r, "receipts");
	struct buf b;

	buf_init(&b, a);
	buf_adds(&b, "# Helm report\n\n- Workspace: ");
	plain(&b, json_get_text(r, "workspace", ""));
	buf_addf(&b, "\n- Tasks: %lld\n- Status: ", (long long)json_get_int(r, "period_task_count", 0));
	json_each_member (m, json_get(r, "task_status_counts"))
		buf_addf(&b, "%s%s %s", m == json_get(r, "task_status_counts")->members ? "" : ", ", m->name,
			m->value->text);
	buf_addf(&b, "\n- Receipts: %lld (%lld allowed, %lld asked, %lld denied)\n",
		(long long)json_get_int(receipt, "count", 0), (long long)json_get_int(receipt, "allowed", 0),
		(long long)json_get_int(receipt, "asked", 0), (long long)json_get_int(receipt, "denied", 0));
	section(&b, "Stopped", json_get(r, "blocked_tasks"), stopped, "task_id");
	section(&b, "Failed Tasks", json_get(r, "failed_tasks"), bad, "task_id");
	section(&b, "Running", json_get(r, "running_tasks"), task, "task_id");
	section(&b, "Completed Tasks", json_get(r, "completed_tasks"), task, "task_id");
	section(&b, "Failed Commands", json_get(r, "failed_commands"), command, "label");
	section(&b, "Recent Checkpoints", json_get(r, "recent_checkpoints"), checkpoint, "checkpoint_id");
	return b.p;
}

/* ---- the page ---- */

static void html(struct buf *b, const char *text)
{
	for (; *text; text++)
		switch (*text) {
		case '<':
			buf_adds(b, "&lt;");
			break;
		case '>':
			buf_adds(b, "&gt;");
			break;
		case '&':
			buf_adds(b, "&amp;");
			break;
		case '"':
			buf_adds(b, "&quot;");
			break;
		default:
			buf_addc(b, *text);
		}
}

static const char style[] =
	":root{--bg:#fbfbfd;--card:#fff;--ink:#1c2430;--soft:#5b6b80;--line:#e3e8ef;--good:#1f8a4c;--warn:#"
	"b7791f;--bad:#c0392b;"
	"--accent:#2f6fde}"
	"@media(prefers-color-scheme:dark){:root{--bg:#11161d;--card:#182029;--ink:#e6ecf4;--soft:#89a1c4;--"
	"line:#27323f;"
	"--good:#6ec88c;--warn:#ebbe5a;--bad:#f06e6e;--accent:#69a2ff}}"
	"*{box-sizing:border-box}body{margin:0;background:var(--bg);color:var(--ink);font:15px/1.5 "
	"system-ui,sans-serif}"
	"main{max-width:960px;margin:0 auto;padding:32px 20px}h1{font-size:24px;margin:0 0 "
	"4px}h2{font-size:17px;margin:32px 0 12px}"
	".soft{color:var(--soft)}.cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(150px,1fr))"
	";gap:12px;margin:20px 0}"
	".card{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:14px "
	"16px}.card b{display:block;"
	"font-size:26px;line-height:1.2}.timeline{border-left:2px solid "
	"var(--line);margin-left:8px;padding-left:20px}"
	".run{position:relative;background:var(--card);border:1px solid "
	"var(--line);border-radius:10px;padding:12px 16px;margin:0 0 12px}"
	".run:before{content:'';position:absolute;left:-27px;top:18px;width:10px;height:10px;border-radius:"
	"50%;background:var(--soft)}"
	".completed:before{background:var(--good)}.failed:before,.timeout:before,.blocked:before{background:"
	"var(--bad)}"
	".running:before,.queued:before{background:var(--warn)}.top{display:flex;gap:10px;justify-content:"
	"space-between;flex-wrap:wrap}"
	".tag{font-size:12px;padding:1px 8px;border-radius:20px;border:1px solid "
	"var(--line);color:var(--soft);white-space:nowrap}"
	".tag.completed{color:var(--good);border-color:var(--good)}.tag.failed,.tag.blocked,.tag.timeout{"
	"color:var(--bad);"
	"border-color:var(--bad)}code{font:13px/1.45 "
	"ui-monospace,monospace;overflow-wrap:anywhere}.why{margin:6px 0 0;color:var(--bad)}"
	"table{width:100%;border-collapse:collapse;background:var(--card);border:1px solid "
	"var(--line);border-radius:10px;overflow:hidden}"
	"td,th{text-align:left;padding:8px 12px;border-top:1px solid "
	"var(--line);vertical-align:top}th{font-weight:600;color:var(--soft);"
	"border-top:0}footer{margin-top:40px;font-size:13px}@media "
	"print{body{background:#fff;color:#000}.run,.card,table{break-inside:"
	"avoid}main{padding:0}}";

static void card(struct buf *b, int64_t n, const char *label, const char *color)
{
	buf_addf(b, "<div class=card><b style=\"color:var(--%s)\">%lld</b><span class=soft>%s</span></div>",
		color, (long long)n, label);
}

static void run_block(struct buf *b, const struct json *row)
{
	const char *status = json_get_text(row, "status", "unknown"),
		   *why = json_get_text(row, "failure_reason", NULL);
	const char *rule = json_text(json_at(json_get(json_get(row, "guard"), "matched_rules"), 0));
	int64_t code;

	buf_addf(b, "<div class=\"run %s\"><div class=top><strong>", status);
	html(b, json_get_text(row, "task_name", ""));
	buf_addf(b, "</strong><span><span class=\"tag %s\">%s", status, status);
	if (json_int(json_get(row, "exit_code"), &code) && code)
		buf_addf(b, " %lld", (long long)code);
	buf_adds(b, "</span> <span class=tag>");
	html(b, json_get_text(row, "profile", ""));
	buf_adds(b, "</span></span></div><code>");
	html(b, json_get_text(row, "command_preview", ""));
	buf_adds(b, "</code><div class=soft>");
	html(b, json_get_text(row, "finished_at", json_get_text(row, "started_at", "")));
	if (json_get_text(row, "checkpoint_id", NULL)) {
		buf_adds(b, " · checkpoint <code>");
		html(b, json_get_text(row, "checkpoint_id", ""));
		buf_adds(b, "</code>");
	}
	buf_adds(b, "</div>");
	if (why && !text_eq(status, "completed")) {
		buf_adds(b, "<p class=why>");
		html(b, why);
		if (rule) {
			buf_adds(b, " <span class=tag>");
			html(b, rule);
			buf_adds(b, "</span>");
		}
		buf_adds(b, "</p>");
	}
	buf_adds(b, "</div>");
}

static void checkpoint_table(struct buf *b, const struct json *rows)
{
	if (!rows || !rows->n) {
		buf_adds(b, "<p class=soft>None yet.</p>");
		return;
	}
	buf_adds(b, "<table><tr><th>Label</th><th>Made</th><th>To go back</th></tr>");
	json_each (row, rows) {
		buf_adds(b, "<tr><td>");
		html(b, json_get_text(row, "label", ""));
		buf_adds(b, "</td><td class=soft>");
		html(b, json_get_text(row, "created_at", ""));
		buf_adds(b, "</td><td><code>helm checkpoint restore ");
		html(b, json_get_text(row, "checkpoint_id", ""));
		buf_adds(b, "</code></td></tr>");
	}
	buf_adds(b, "</table>");
}

char *observe_html(struct arena *a, const struct json *r)
{
	const struct json *counts = json_get(r, "task_status_counts"), *receipt = json_get(r, "receipts");
	const struct json *tasks = json_get(r, "tasks");
	struct buf b;

	buf_init(&b, a);
	buf_addf(&b,
		"<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport "
		"content=\"width=device-width\">"
		"<title>Helm report</title><style>%s</style><main><h1>Helm report</h1><div class=soft>",
		style);
	html(&b, json_get_text(r, "workspace", ""));
	buf_adds(&b, " · ");
	html(&b, json_get_text(r, "generated_at", ""));
	buf_adds(&b, "</div><div class=cards>");
	card(&b, json_get_int(counts, "completed", 0), "completed", "good");
	card(&b, json_get_int(counts, "failed", 0) + json_get_int(counts, "timeout", 0), "failed", "bad");
	card(&b, json_get_int(counts, "blocked", 0), "stopped by the guard", "warn");
	card(&b, json_get(r, "recent_checkpoints") ? json_get(r, "recent_checkpoints")->n : 0, "checkpoints",
		"accent");
	card(&b, json_get_int(receipt, "count", 0), "signed receipts", "accent");
	buf_adds(&b, "</div><h2>Timeline</h2><div class=timeline>");
	json_each (row, tasks)
		run_block(&b, row);
	if (!tasks || !tasks->n)
		buf_adds(&b, "<p class=soft>Nothing has been run yet.</p>");
	buf_adds(&b, "</div><h2>Checkpoints</h2>");
	checkpoint_table(&b, json_get(r, "recent_checkpoints"));
	buf_addf(&b,
		"<h2>Record</h2><p>%lld receipts: %lld decisions allowed, %lld asked, %lld denied, %lld "
		"outcomes. ",
		(long long)json_get_int(receipt, "count", 0), (long long)json_get_int(receipt, "allowed", 0),
		(long long)json_get_int(receipt, "asked", 0), (long long)json_get_int(receipt, "denied", 0),
		(long long)json_get_int(receipt, "outcomes", 0));
	buf_adds(&b,
		"This page proves nothing by itself; the record does: <code>helm verify .helm/receipts.jsonl "
		"--key KEY</code></p>"
		"<footer class=soft>Made by helm " HELM_VERSION "</footer></main></html>\n");
	return b.p;
}

char *observe_session_html(struct arena *a, const struct json *doc)
{
	struct buf b;

	buf_init(&b, a);
	buf_addf(&b,
		"<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport "
		"content=\"width=device-width\">"
		"<title>Helm session</title><style>%s</style><main><h1>Session ",
		style);
	html(&b, json_get_text(doc, "session", ""));
	buf_adds(&b, "</h1><div class=soft>");
	html(&b, json_get_text(doc, "client", ""));
	buf_adds(&b, " · ");
	html(&b, json_get_text(doc, "workspace", ""));
	buf_adds(&b, "</div><h2>Calls</h2><div class=timeline>");
	json_each (call, json_get(doc, "calls")) {
		const char *verdict = json_get_text(call, "verdict", "");
		const char *mark = text_eq(verdict, "ALLOW") ? "completed"
			: text_eq(verdict, "ESCALATE")	     ? "running"
							     : "blocked";
		buf_addf(&b, "<div class=\"run %s\"><div class=top><strong>", mark);
		html(&b, json_get_text(call, "tool", ""));
		buf_addf(&b, "</strong><span><span class=\"tag %s\">%s</span>", mark, verdict);
		if (json_get_text(call, "rule", NULL)) {
			buf_adds(&b, " <span class=tag>");
			html(&b, json_get_text(call, "rule", ""));
			buf_adds(&b, "</span>");
		}
		buf_adds(&b, "</span></div><code>");
		html(&b, json_get_text(call, "preview", ""));
		buf_adds(&b, "</code><div class=soft>");
		html(&b, json_get_text(call, "at", ""));
		if (json_get_text(call, "receipt_id", NULL)) {
			buf_adds(&b, " · receipt <code>");
			html(&b, json_get_text(call, "receipt_id", ""));
			buf_adds(&b, "</code>");
		}
		buf_adds(&b, "</div></div>");
	}
	buf_adds(&b, "</div><footer class=soft>Made by helm " HELM_VERSION "</footer></main></html>\n");
	return b.p;
}
