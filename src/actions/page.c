/* page.c — what happened, as one self-contained HTML page for somebody who was not there.
 *
 * What needs a look comes first, then what ran, how to go back, and whether the record can be trusted. The
 * page has no scripts, no fonts and no links to elsewhere; it prints well and follows the reader's light
 * or dark setting.
 *
 * Agents write much of what is shown: command lines, paths, labels. So whatever a row says is text and
 * goes through html(); tag names and classes come from words in this file only. */
#include "actions/actions.h"
#include "base/embed.h"
#include "base/text.h"

#include <string.h>

/* Text, never markup. Quotes are escaped as well, so the result is safe inside an attribute in double
 * quotes. */
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

/* <NAME CLASS>text</NAME>. `name` and `class` are words of this file and are not escaped. */
static void element(struct buf *b, const char *name, const char *class, const char *text)
{
	buf_addf(b, class ? "<%s class=\"%s\">" : "<%s>", name, class);
	html(b, text);
	buf_addf(b, "</%s>", name);
}

/* A small label behind a name; `tone` is its colour. */
static void tag(struct buf *b, const char *tone, const char *text)
{
	buf_addc(b, ' ');
	element(b, "span", arena_printf(b->a, "tag %s", tone), text);
}

/* A time on the reader's clock; the exact time stays in the title. What is no time is shown as it is. */
static void when(struct buf *b, const char *stamp)
{
	int64_t us;

	if (!text_parse_time(stamp, strlen(stamp), &us)) {
		html(b, stamp);
		return;
	}
	buf_addf(b, "<time datetime=\"%s\" title=\"%s\">%s</time>", text_time_iso(b->a, us),
		text_time_iso(b->a, us), text_time_local(b->a, us));
}

/* Good, bad, or something in between that is not settled. */
static const char *tone_of_status(const char *status)
{
	if (text_eq(status, "completed"))
		return "good";
	if (text_eq(status, "failed") || text_eq(status, "timeout") || text_eq(status, "blocked"))
		return "bad";
	return "warn";
}

/* By the state of an action.  An unknown one is shown as a denial: nobody can say that it went well. */
static const char *tone_of_state(const char *state)
{
	static const char *const good[] = { "done", "allowed" },
				 *const open[] = { "waiting", "running", "approved", "undone", "expired" };

	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		if (text_eq(good[i], state))
			return "good";
	for (size_t i = 0; i < ARRAY_SIZE(open); i++)
		if (text_eq(open[i], state))
			return "warn";
	return "bad";
}

/* Was it let through, so that there may be something to undo? */
static bool is_through(const char *state)
{
	static const char *const through[] = { "allowed", "running", "done", "failed", "undone" };

	for (size_t i = 0; i < ARRAY_SIZE(through); i++)
		if (text_eq(through[i], state))
			return true;
	return false;
}

/* `title` is written as it is: callers pass a fixed text. */
static void begin(struct buf *b, struct arena *a, const char *title, const char *heading)
{
	struct bytes css = { 0 };

	buf_init(b, a);
	(void)embed_find("share/report.css", &css);
	buf_addf(b,
		"<!doctype html><html lang=en><meta charset=utf-8>"
		"<meta name=viewport content=\"width=device-width\"><title>%s</title><style>\n",
		title);
	buf_add(b, css.p, css.n);
	buf_adds(b, "</style><main>");
	element(b, "h1", NULL, heading);
}

/* The time zone is named, since all times on the page are local. */
static char *end(struct buf *b, const struct json *doc)
{
	const char *made = json_get_text(doc, "generated_at", "");
	int64_t us = 0;

	(void)text_parse_time(made, strlen(made), &us);
	buf_adds(b, "<footer>Made by helm " HELM_VERSION ". Times are in ");
	html(b, text_time_zone(b->a, us));
	buf_adds(b, ".</footer></main></html>\n");
	return b->p;
}

/* `title` is a fixed text of this file. */
static void section(struct buf *b, const char *title, const char *note)
{
	buf_addf(b, "<h2>%s", title);
	if (note)
		element(b, "small", NULL, note);
	buf_adds(b, "</h2>");
}

/* A number with its label; zero is shown without colour, since it needs no look. */
static void card(struct buf *b, int64_t n, const char *label, const char *tone)
{
	buf_addf(b, "<div class=card><b class=%s>%lld</b><span class=soft>%s</span></div>", n ? tone : "soft",
		(long long)n, label);
}

/* The verdict on the record at the top, because everything below rests on it.  "Whole" is said only of bytes that were read when the page
 * was made. */
static void record_banner(struct buf *b, const struct json *record)
{
	int64_t n = json_get_int(record, "receipts", 0), lost = json_get_int(record, "lost", 0);
	const char *checked = json_get_text(record, "checked", "no");

	if (text_eq(checked, "no")) {
		buf_adds(b,
			"<div class=\"banner warn\">The record was not checked for this page: "
			"<code>helm log check</code> does that.</div>");
	} else if (!json_get_bool(record, "sound", false)) {
		bool is_first = true;
		buf_adds(b,
			"<div class=\"banner bad\">The record is NOT SOUND, so what is told here may not be what happened: ");
		json_each (f, json_get(record, "findings")) {
			if (text_eq(json_get_text(f, "severity", ""), "notice"))
				continue;
			buf_adds(b, is_first ? "" : "; ");
			html(b, json_get_text(f, "text", ""));
			is_first = false;
		}
		buf_adds(b, ". <code>helm log check</code> says more.</div>");
	} else if (text_eq(checked, "now")) {
		buf_addf(b,
			"<div class=\"banner %s\">The record is %s: %lld receipts, each signed and chained, "
			"checked when this page was made.%s</div>",
			lost ? "warn" : "good", lost ? "sound" : "whole", (long long)n,
			lost ? " Others are lost, which a repair has put on record." : "");
	} else {
		buf_addf(b, "<div class=\"banner %s\">The record: ",
			text_eq(checked, "in part") ? "warn" : "good");
		html(b, json_get_text(record, "text", ""));
		buf_adds(b, ".</div>");
	}
}

/* How long a run took, or NULL when it has not ended or its clock went backwards. */
static const char *duration(struct arena *a, const struct json *row)
{
	const char *from = json_get_text(row, "started_execution_at", ""),
		   *to = json_get_text(row, "finished_at", "");
	int64_t x, y;

	if (!text_parse_time(from, strlen(from), &x) || !text_parse_time(to, strlen(to), &y) || y < x)
		return NULL;
	int64_t ms = (y - x) / 1000;
	if (ms < 1000)
		return arena_printf(a, "%lld ms", (long long)ms);
	if (ms < 60000)
		return arena_printf(a, "%lld.%lld s", (long long)(ms / 1000), (long long)(ms % 1000 / 100));
	return arena_printf(a, "%lld min %lld s", (long long)(ms / 60000), (long long)(ms / 1000 % 60));
}

/* The small line below a run: when, how long, what it changed, how to undo it, which receipt proves it. */
static void run_facts(struct buf *b, const struct json *row)
{
	const char *checkpoint = json_get_text(row, "checkpoint_id", NULL),
		   *decision = json_get_text(row, "decision_id", NULL), *took = duration(b->a, row);
	const struct json *touched = json_get(row, "touched_paths");

	buf_adds(b, "<div class=soft>");
	when(b, json_get_text(row, "finished_at", json_get_text(row, "started_at", "")));
	if (took)
		buf_addf(b, " · took %s", took);
	if (touched && touched->n)
		buf_addf(b, " · %u path%s changed", touched->n, touched->n == 1 ? "" : "s");
	if (checkpoint) {
		buf_adds(b, " · undo with ");
		element(b, "code", NULL, arena_printf(b->a, "helm checkpoint restore %s", checkpoint));
	}
	if (decision) {
		buf_adds(b, " · receipt ");
		element(b, "code", NULL, arena_printf(b->a, "rcpt_%s", decision));
	}
	buf_adds(b, "</div>");
}

/* One run: its name and state, its command, and why it did not complete. */
static void run_item(struct buf *b, const struct json *row)
{
	const char *status = json_get_text(row, "status", "unknown"), *tone = tone_of_status(status),
		   *why = json_get_text(row, "failure_reason", NULL);
	const struct json *guard = json_get(row, "guard");
	const char *rule = json_text(json_at(json_get(guard, "matched_rules"), 0));
	int64_t code;

	buf_addf(b, "<div class=\"item %s\"><div class=top>", tone);
	element(b, "strong", NULL, json_get_text(row, "task_name", ""));
	buf_adds(b, "<span>");
	tag(b, tone,
		json_int(json_get(row, "exit_code"), &code) && code
			? arena_printf(b->a, "%s, exit %lld", status, (long long)code)
			: status);
	tag(b, "", json_get_text(row, "profile", "no profile"));
	if (json_get_text(guard, "action", NULL))
		tag(b, "", arena_printf(b->a, "guard: %s", json_get_text(guard, "action", "")));
	buf_adds(b, "</span></div>");
	element(b, "code", NULL, json_get_text(row, "command_preview", ""));
	if (why && !text_eq(status, "completed")) {
		buf_adds(b, "<p class=why>");
		html(b, why);
		if (rule)
			tag(b, "", rule);
		buf_adds(b, "</p>");
	}
	run_facts(b, row);
	buf_adds(b, "</div>");
}

/* Paths that a call changed or deleted, behind one word that says which. */
static void path_list(struct buf *b, const char *what, const struct json *paths)
{
	const char *before = arena_printf(b->a, " · %s ", what);

	json_each (path, paths) {
		buf_adds(b, before);
		element(b, "code", NULL, json_text(path) ? json_text(path) : "");
		before = ", ";
	}
}

/* One call of an agent: verdict, what became of it, the rule that decided, and how to go back. */
static void call_item(struct buf *b, const struct json *call)
{
	const char *state = json_get_text(call, "state", ""), *tone = tone_of_state(state);

	buf_addf(b, "<div class=\"item %s\"><div class=top>", tone);
	element(b, "strong", NULL, json_get_text(call, "tool", ""));
	buf_adds(b, "<span>");
	tag(b, tone, json_get_text(call, "became", json_get_text(call, "verdict", "")));
	if (json_get_bool(call, "self_test", false))
		tag(b, "", "self-test of helm setup");
	if (json_get_text(call, "rule", NULL))
		tag(b, "", json_get_text(call, "rule", ""));
	buf_adds(b, "</span></div>");
	element(b, "code", NULL, json_get_text(call, "sentence", json_get_text(call, "preview", "")));
	buf_adds(b, "<div class=soft>");
	when(b, json_get_text(call, "at", ""));
	if (json_get_text(call, "receipt_id", NULL)) {
		buf_adds(b, " · receipt ");
		element(b, "code", NULL, json_get_text(call, "receipt_id", ""));
	}
	path_list(b, "changed", json_get(call, "changed_files"));
	path_list(b, "deleted", json_get(call, "deleted_files"));
	if (json_get_text(call, "checkpoint_id", NULL)) {
		buf_adds(b,
			is_through(state) ? " · undo with "
					  : " · its files were saved; if it runs, undo with ");
		element(b, "code", NULL,
			arena_printf(b->a, "helm checkpoint restore %s",
				json_get_text(call, "checkpoint_id", "")));
	}
	buf_adds(b, "</div></div>");
}

typedef void item_fn(struct buf *b, const struct json *row);

/* A list of items on one line of time, or a sentence when there are none. */
static void timeline(struct buf *b, const struct json *rows, item_fn *item, const char *nothing)
{
	if (!rows || !rows->n) {
		element(b, "p", "soft", nothing);
		return;
	}
	buf_adds(b, "<div class=line>");
	json_each (row, rows)
		item(b, row);
	buf_adds(b, "</div>");
}

/* Each row carries the command that goes back to it. */
static void checkpoint_table(struct buf *b, const struct json *rows)
{
	if (!rows || !rows->n) {
		element(b, "p", "soft", "None yet.");
		return;
	}
	buf_adds(b, "<table><tr><th>Label</th><th>Made</th><th>To go back</th></tr>");
	json_each (row, rows) {
		buf_adds(b, "<tr>");
		element(b, "td", NULL, json_get_text(row, "label", ""));
		buf_adds(b, "<td class=soft>");
		when(b, json_get_text(row, "created_at", ""));
		buf_adds(b, "</td><td>");
		element(b, "code", NULL,
			arena_printf(
				b->a, "helm checkpoint restore %s", json_get_text(row, "checkpoint_id", "")));
		buf_adds(b, "</td></tr>");
	}
	buf_adds(b, "</table>");
}

/* One row per session, with the verdicts counted. */
static void session_table(struct buf *b, const struct json *rows)
{
	static const char *const numbers[] = { "calls", "allowed", "asked", "denied" };

	buf_adds(b,
		"<table><tr><th>Session</th><th>Client</th><th>Last call</th>"
		"<th class=number>Calls</th><th class=number>Allowed</th><th class=number>Asked</th>"
		"<th class=number>Denied</th></tr>");
	json_each (row, rows) {
		buf_adds(b, "<tr><td>");
		element(b, "code", NULL, json_get_text(row, "session", ""));
		if (json_get_bool(row, "self_test", false))
			tag(b, "", "self-test of helm setup");
		buf_adds(b, "</td>");
		element(b, "td", NULL, json_get_text(row, "client", ""));
		buf_adds(b, "<td class=soft>");
		when(b, json_get_text(row, "last_at", ""));
		buf_adds(b, "</td>");
		for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
			buf_addf(
				b, "<td class=number>%lld</td>", (long long)json_get_int(row, numbers[i], 0));
		buf_adds(b, "</tr>");
	}
	buf_adds(b, "</table>");
}

/* The numbers at the top. Failed and timed out runs are one number, since both need the same look. */
static void cards(struct buf *b, const struct json *r)
{
	const struct json *counts = json_get(r, "task_status_counts"), *receipt = json_get(r, "receipts");
	const struct json *checkpoints = json_get(json_get(r, "lists"), "recent_checkpoints");

	buf_adds(b, "<div class=cards>");
	card(b, json_get_int(counts, "completed", 0), "runs completed", "good");
	card(b, json_get_int(counts, "failed", 0) + json_get_int(counts, "timeout", 0), "runs failed", "bad");
	card(b, json_get_int(receipt, "denied", 0), "denied", "bad");
	card(b, json_get_int(receipt, "asked", 0), "asked", "warn");
	card(b, json_get_int(checkpoints, "of", 0), "checkpoints", "accent");
	card(b, json_get_int(receipt, "total", json_get_int(receipt, "count", 0)), "signed receipts",
		"accent");
	buf_adds(b, "</div>");
}

/* "newest first", or "newest first: 20 of 34, all with --limit 0". */
static const char *order_note(struct arena *a, const struct json *r, const char *list)
{
	const char *cut = actions_cut(a, r, list);

	return cut ? arena_printf(a, "newest first: %s", cut) : "newest first";
}

/* A plain list of what rows say of themselves; nothing at all without rows. */
static void remembered(struct buf *b, const char *title, const struct json *rows, const char *const *fields)
{
	if (!rows || !rows->n)
		return;
	section(b, title, NULL);
	buf_adds(b, "<ul>");
	json_each (row, rows) {
		buf_adds(b, "<li>");
		if (json_text(row))
			element(b, "code", NULL, json_text(row));
		for (const char *const *f = fields; *f && json_is(row, JSON_OBJECT); f++) {
			const char *text = json_get_text(row, *f, NULL);
			if (text && *text) {
				buf_adds(b, f == fields ? "" : " · ");
				html(b, text);
			}
		}
		buf_adds(b, "</li>");
	}
	buf_adds(b, "</ul>");
}

/* The order is the order of need: can the record be trusted, how much happened, what was stopped, what
 * ran, and how to go back. */
char *actions_html(struct arena *a, const struct json *r)
{
	const struct json *sessions = json_get(r, "sessions"), *calls = json_get(r, "stopped_calls");
	const struct json *tasks = json_get(r, "tasks");
	static const char *const operation[] = { "subject", "operation", "reason", "timestamp", NULL },
				 *const crystal[] = { "task_name", "status", "timestamp", NULL },
				 *const command[] = { "command", NULL };
	struct buf b;

	begin(&b, a, "Helm report", "Helm report");
	buf_adds(&b, "<div class=soft>");
	element(&b, "code", NULL, json_get_text(r, "workspace", ""));
	buf_adds(&b, " · ");
	when(&b, json_get_text(r, "generated_at", ""));
	buf_adds(&b, "</div>");
	record_banner(&b, json_get(r, "record"));
	cards(&b, r);
	if (calls && calls->n) {
		section(&b, "Agents' calls that did not just pass", order_note(a, r, "stopped_calls"));
		timeline(&b, calls, call_item, "");
	}
	section(&b, "Runs", tasks && tasks->n ? order_note(a, r, "tasks") : NULL);
	timeline(&b, tasks, run_item, "Nothing has been run yet.");
	if (sessions && sessions->n) {
		section(&b, "Sessions of agents", order_note(a, r, "sessions"));
		session_table(&b, sessions);
	}
	section(&b, "Checkpoints", actions_cut(a, r, "recent_checkpoints"));
	checkpoint_table(&b, json_get(r, "recent_checkpoints"));
	remembered(&b, "Memory operations", json_get(r, "recent_memory_operations"), operation);
	remembered(&b, "Crystallized sessions", json_get(r, "recent_crystallized_sessions"), crystal);
	remembered(&b, "Onboarding actions", json_get(json_get(r, "onboarding"), "actions"), command);
	section(&b, "Do not trust this page", NULL);
	buf_adds(&b,
		"<p>It proves nothing by itself; the record does, on any machine and without this program's "
		"word: <code>helm verify .helm/receipts.jsonl --key KEY</code></p>");
	return end(&b, r);
}

/* One session, every call in its order. */
char *actions_session_html(struct arena *a, const struct json *doc)
{
	struct buf b;

	begin(&b, a, "Helm session", "What an agent did");
	buf_adds(&b, "<div class=soft>session ");
	element(&b, "code", NULL, json_get_text(doc, "session", ""));
	buf_adds(&b, " · ");
	html(&b, json_get_text(doc, "client", ""));
	buf_adds(&b, " · ");
	element(&b, "code", NULL, json_get_text(doc, "workspace", ""));
	buf_adds(&b, "</div>");
	section(&b, "Calls", "in their order");
	timeline(&b, json_get(doc, "calls"), call_item, "None.");
	return end(&b, doc);
}
