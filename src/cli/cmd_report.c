/* cmd_report.c — report: what happened, for a terminal, for a mail, for a browser, for a program.
 *
 * actions/ makes the document; this file adds the verdict on the record behind it, and prints it in one
 * of the forms. What is written for others goes through actions_make_public() with --public, before any
 * form is made of it, so no form can forget it. */
#include "cli/cmd_report.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/cmd.h"
#include "cli/cmd_actions.h"
#include "kernel/approval/approval.h"
#include "kernel/verdict.h"
#include "kernel/workspace.h"

#include <fcntl.h>
#include <string.h>

enum { DEFAULT_LIMIT = 20, PAGE_LINES = 58, PAGE_COLUMNS = 100, NAME_COLUMNS = 44 };

const struct opt report_opts[] = {
	{ "limit", OPT_INT, "N",
		"how many of each list (0 all; without it the text is one page, and other forms have 20)",
		NULL, false },
	{ "format", OPT_VALUE, "FORMAT",
		"how to print it (default text; with --out what the name ends with: .html, .json, else markdown)",
		"text|json|markdown|html", false },
	{ "out", OPT_VALUE, "FILE", "write it there", NULL, false },
	{ "public", OPT_FLAG, NULL, "without local paths and output", NULL, false },
	{ "session", OPT_VALUE, "ID", "what one session of an agent did", NULL, false },
	{ "since", OPT_VALUE, "TIME",
		"what happened since then, on one screen: 2d, yesterday, 2026-05-01 (24h)", NULL, false },
	{ "by", OPT_VALUE, "WHAT", "count what happened together by this (failure)",
		"failure|rule|session|file", false },
	{ 0 },
};

/* ---- text ---- */

/* "11-16 05:36": the whole time is in every other form of the report. */
static const char *short_time(struct cli *r, const char *stamp)
{
	int64_t us;

	return text_parse_time(stamp, strlen(stamp), &us)
		? arena_strndup(r->a, text_time_local(r->a, us) + strlen("2026-"), strlen("11-16 05:36"))
		: stamp;
}

/* The rule that spoke and what it spoke about, in one column: there is no room for two. */
#define WHY_AND_CALL "why_and_call"

/* One cell of a table. */
static const char *cell(struct cli *r, const struct json *row, const char *name)
{
	int64_t n;

	if (text_eq(name, WHY_AND_CALL))
		return json_get_text(row, "rule", NULL)
			? arena_printf(r->a, "%s (%s)", safe_member(r, row, "sentence"),
				  safe_member(r, row, "rule"))
			: safe_member(r, row, "sentence");
	if (text_eq(name, "became") && json_get_bool(row, "self_test", false))
		return arena_printf(r->a, "%s (self-test)", safe_member(r, row, name));
	if (text_eq(name, "session") && json_get_bool(row, "self_test", false))
		return arena_printf(r->a, "%s (self-test)", safe_member(r, row, name));
	if (json_int(json_get(row, name), &n))
		return arena_printf(r->a, "%lld", (long long)n);
	if (text_ends(name, "_at") || text_eq(name, "at"))
		return short_time(r, safe_member(r, row, name));
	return safe_member(r, row, name);
}

/* The last column gets what the others leave of the page, or a line of its own (out_table_end()). */
static size_t room_for_last(const struct page *p, const char *const *cells, size_t columns, size_t rows)
{
	size_t used = 0;

	for (size_t i = 0; i + 1 < columns; i++) {
		size_t widest = 0;
		for (size_t k = 0; k < rows; k++) {
			const char *text = cells[k * columns + i];
			size_t n = text_width(text, strlen(text));
			widest = n > widest ? n : widest;
		}
		used += widest + 2;
	}
	return p->width > used + 16 ? p->width - used : p->width - 4;
}

/* A table of some members of each row of a list, and how many there are when not all are shown. Nothing at
 * all when there are no rows, or no room. */
static void section(struct page *p, const char *title, const struct json *doc, const char *list,
	const char *const *heads, const char *const *members, enum paint first, size_t most)
{
	struct cli *r = p->r;
	const struct json *all = json_get(doc, list);
	const struct json *about = json_get(json_get(doc, "lists"), list);
	size_t columns = 0, rows = page_take(p, all ? all->n : 0, most, 3);
	enum paint paints[8] = { first };

	while (heads[columns])
		columns++;
	if (!rows)
		return;
	const char *cut = p->left == SIZE_MAX ? actions_cut(r->a, doc, list) : NULL;
	int64_t of = json_get_int(about, "of", 0);
	if (p->left != SIZE_MAX && (int64_t)rows < of)
		cut = of <= DEFAULT_LIMIT ? text_shown_of(r->a, (int64_t)rows, of, "all with --limit 20")
					  : text_shown_of(r->a, (int64_t)rows, of, "all with --limit 0");
	out(r, "\n%s%s%s%s%s%s\n", paint(r, PAINT_ACCENT), title, paint(r, PAINT_OFF), cut ? " (" : "",
		cut ? cut : "", cut ? ")" : "");
	const char **cells = arena_zalloc(r->a, (rows + 1) * columns, sizeof(*cells));
	memcpy(cells, heads, columns * sizeof(*cells));
	for (size_t i = 0; i < rows * columns; i++)
		cells[columns + i] = page_fit(p, cell(r, all->items[i / columns], members[i % columns]),
			i % columns + 1 < columns ? NAME_COLUMNS : SIZE_MAX);
	size_t room = room_for_last(p, cells, columns, rows + 1);
	struct out_table *t = out_table(r, heads, columns);
	for (size_t i = 1; i <= rows; i++) {
		const char **row = cells + i * columns;
		row[columns - 1] = page_fit(p, row[columns - 1], room);
		out_row(t, row, paints);
	}
	out_table_end(t);
}

/* The numbers in one sentence each; self-tests are told apart, and so is a reach that was too short. */
static void counts_line(struct cli *r, const struct json *doc)
{
	const struct json *counts = json_get(doc, "task_status_counts"),
			  *receipts = json_get(doc, "receipts");
	int64_t tasks = json_get_int(doc, "period_task_count", 0),
		tests = json_get_int(receipts, "self_tests", 0);

	out(r, "%lld run%s", (long long)tasks, tasks == 1 ? "" : "s");
	json_each_member (m, counts)
		out(r, "%s%s %s", m == counts->members ? ": " : ", ",
			text_safe(r->a, m->name, m->name_n, false), m->value->text);
	const int64_t count = json_get_int(receipts, "count", 0),
		      total = json_get_int(receipts, "total", count);
	const char *where = count < total ? arena_printf(r->a, "in the newest %s of %s receipts",
						    text_thousands(r->a, count), text_thousands(r->a, total))
					  : "on record";
	out(r, "%s.\nDecisions %s: %lld allowed, %lld asked, %lld denied.\n",
		json_get_bool(doc, "complete", true) ? "" : ", counted among the newest", where,
		(long long)json_get_int(receipts, "allowed", 0),
		(long long)json_get_int(receipts, "asked", 0),
		(long long)json_get_int(receipts, "denied", 0));
	if (tests)
		out(r, "%lld of these receipts %s the self-test of 'helm setup'.\n", (long long)tests,
			tests == 1 ? "is" : "are");
	if (json_get(doc, "note"))
		out(r, "Note: %s%s.\n", safe_member(r, doc, "note"),
			json_get_bool(doc, "complete", true) ? "" : "; --limit 0 reads all of them");
}

/* Findings that count, the first ones, before anything that they make doubtful. */
static void findings_lines(struct cli *r, const struct json *record)
{
	enum { MOST = 5 };
	size_t n = 0;

	json_each (f, json_get(record, "findings")) {
		if (text_eq(json_get_text(f, "severity", ""), "notice") || ++n > MOST)
			continue;
		out(r, "  %s%s\n",
			json_get(f, "receipt")
				? arena_printf(
					  r->a, "receipt %lld: ", (long long)json_get_int(f, "receipt", 0))
				: "",
			safe_member(r, f, "text"));
	}
	if (n > MOST)
		out(r, "  and %zu more: helm log check\n", n - MOST);
}

/* Says that nobody checked rather than nothing.  "Whole" is said only of bytes that were read just now. */
static void record_line(struct cli *r, const struct json *record)
{
	const char *checked = json_get_text(record, "checked", "no"), *text = safe_member(r, record, "text");
	int64_t lost = json_get_int(record, "lost", 0);

	if (text_eq(checked, "no"))
		out(r, "%sThe record is not checked%s: %s\n", paint(r, PAINT_WARN), paint(r, PAINT_OFF),
			text);
	else if (!json_get_bool(record, "sound", false)) {
		out(r, "%sThe record is NOT SOUND%s (%s). What is told below may not be what happened:\n",
			paint(r, PAINT_BAD), paint(r, PAINT_OFF), text);
		findings_lines(r, record);
		out(r, "  remedy: %s\n", safe_member(r, record, "remedy"));
	} else if (text_eq(checked, "now"))
		out(r, "%sThe record is %s%s: %lld receipts, each signed and chained, and the ledger entries they bind%s.\n",
			paint(r, lost ? PAINT_WARN : PAINT_GOOD), lost ? "sound" : "whole",
			paint(r, PAINT_OFF), (long long)json_get_int(record, "receipts", 0),
			lost ? arena_printf(
				       r->a, "; %lld lost, which a repair has put on record", (long long)lost)
			     : "");
	else
		out(r, "The record: %s.\n", text);
}

/* "…/of/a/project" where the whole path would not fit. */
static const char *short_path(const struct page *p, const char *path)
{
	const char *rest = path, *slash;
	size_t room = p->width - strlen("Helm report  …  2026-11-16 05:36:00");

	if (p->left == SIZE_MAX || text_width(path, strlen(path)) <= room)
		return path;
	while (text_width(rest, strlen(rest)) > room && (slash = strchr(rest + 1, '/')))
		rest = slash;
	return arena_printf(p->r->a, "%s%s", glyph(p->r, "…", "..."), rest);
}

/* Of what is printed so far and has not left yet. */
static size_t lines_of(const struct cli *r)
{
	size_t n = 0;

	for (size_t i = 0; i < r->out->n; i++)
		n += r->out->p[i] == '\n';
	return n;
}

/* The groups alone, and no lists: whoever names a period wants one screen. */
static bool is_grouped(struct cli *r)
{
	return opt_text(r, "since", NULL) || opt_text(r, "by", NULL);
}

/* What was stopped comes before what went well.  Without --limit it is one page: what the last day needs first, then as much of the lists
 * as there is room. */
static void print_report(struct cli *r, const struct json *doc)
{
	static const char *const stopped_heads[] = { "WHEN", "PROFILE", "TASK", "WHY", NULL },
				 *const stopped[] = { "finished_at", "profile", "task_name",
					 "failure_reason" },
				 *const failed_heads[] = { "WHEN", "PROFILE", "EXIT", "TASK", "COMMAND",
					 NULL },
				 *const failed[] = { "finished_at", "profile", "exit_code", "task_name",
					 "command_preview" },
				 *const call_heads[] = { "WHEN", "STATE", "ACTION, AND WHY", NULL },
				 *const call[] = { "at", "became", WHY_AND_CALL },
				 *const run_heads[] = { "WHEN", "PROFILE", "TASK", "COMMAND", NULL },
				 *const run[] = { "started_at", "profile", "task_name", "command_preview" },
				 *const session_heads[] = { "LAST CALL", "CLIENT", "CALLS", "ASKED", "DENIED",
					 "SESSION", NULL },
				 *const session[] = { "last_at", "client", "calls", "asked", "denied",
					 "session" },
				 *const saved_heads[] = { "MADE", "CHECKPOINT", "LABEL", NULL },
				 *const saved[] = { "created_at", "checkpoint_id", "label" };
	const struct json *day = json_get(doc, "day");
	bool is_page = opt_int(r, "limit", -1) < 0;
	struct page p = { r, r->is_tty ? out_width(r) : PAGE_COLUMNS, is_page ? PAGE_LINES - 7 : SIZE_MAX };

	out(r, "%sHelm report%s  %s  %s\n\n", paint(r, PAINT_BOLD), paint(r, PAINT_OFF),
		short_path(&p, safe_member(r, doc, "workspace")),
		actions_when(r->a, safe_member(r, doc, "generated_at")));
	record_line(r, json_get(doc, "record"));
	size_t lines = lines_of(r);
	report_groups(&p, doc);
	lines = lines_of(r) - lines;
	p.left = is_page && p.left > lines ? p.left - lines : is_page ? 0 : p.left;
	if (is_grouped(r)) {
		out(r, "\n%s\n", hint(r, "By rule (or session, file): helm report --by rule"));
		return;
	}
	out(r, "\n");
	counts_line(r, doc);
	report_done(&p, day);
	section(&p, "Agents' calls that did not just pass", doc, "stopped_calls", call_heads, call, PAINT_BAD,
		6);
	report_walls(&p, day);
	report_left(&p, day);
	report_undo(&p, day);
	section(&p, "Stopped", doc, "blocked_tasks", stopped_heads, stopped, PAINT_BAD, 4);
	section(&p, "Failed", doc, "failed_tasks", failed_heads, failed, PAINT_BAD, 4);
	section(&p, "Running", doc, "running_tasks", run_heads, run, PAINT_WARN, 4);
	section(&p, hint(r, "Ended without a last row; to close them: helm task doctor --fix"), doc,
		"ended_tasks", run_heads, run, PAINT_BAD, 4);
	section(&p, "Handed over", doc, "handoff_tasks", run_heads, run, PAINT_WARN, 4);
	section(&p, "Completed", doc, "completed_tasks", run_heads, run, PAINT_GOOD, 4);
	section(&p, "Sessions of agents", doc, "sessions", session_heads, session, PAINT_OFF, 4);
	if (!is_page || !json_get_int(day, "undo_count", 0)) /* else they stand above, with what they undo */
		section(&p, hint(r, "Checkpoints; to go back: helm checkpoint restore CHECKPOINT"), doc,
			"recent_checkpoints", saved_heads, saved, PAINT_OFF, 4);
	out(r, "\n");
	out(r, "%s\n", hint(r, "A page of it: helm report --format html --out report.html"));
}

/* One session, call by call. */
static void print_session(struct cli *r, const struct json *doc)
{
	static const char *const heads[] = { "WHEN", "STATE", "TOOL", "RULE", "ACTION", NULL },
				 *const members[] = { "at", "became", "tool", "rule", "sentence" },
				 *const wall_heads[] = { "WHEN", "WHAT", "CALL", NULL },
				 *const wall[] = { "at", "what", "preview" };
	struct page whole = { r, SIZE_MAX, SIZE_MAX };

	out(r, "%sSession %s%s  %s  %s\n", paint(r, PAINT_BOLD), safe_member(r, doc, "session"),
		paint(r, PAINT_OFF), safe_member(r, doc, "client"), safe_member(r, doc, "workspace"));
	if (!json_get_bool(json_get(doc, "record"), "sound", false))
		record_line(r, json_get(doc, "record"));
	if (json_get(doc, "calls_of"))
		out(r, "The newest %u of %lld calls.\n", json_get(doc, "calls")->n,
			(long long)json_get_int(doc, "calls_of", 0));
	section(&whole, "Calls", doc, "calls", heads, members, PAINT_OFF, SIZE_MAX);
	section(&whole, "Stopped at the walls", doc, "stopped_at_walls", wall_heads, wall, PAINT_BAD,
		SIZE_MAX);
	out(r, "\nReceipts: helm report --session %s --json\n", safe_member(r, doc, "session"));
}

/* ---- the command ---- */

/* To standard output, or to a file that is replaced whole. */
static int deliver(struct cli *r, const char *text, struct err *e)
{
	const char *file = opt_text(r, "out", NULL);

	if (!file) {
		buf_adds(r->out, text);
		return 0;
	}
	int rc = file_replace(r->sys, AT_FDCWD, file, 0644, bytes_of(text), e);
	if (rc == OK)
		out(r, "written=%s\n", file);
	return rc;
}

/* {of, rows [{approval_id, preview, created_at}]}: what waits for an answer, the newest first; best effort: without it the report is still made. */
static struct json *waiting(struct cli *r)
{
	enum { LISTED = 20 };
	struct json *doc = json_new(r->a, JSON_OBJECT), *rows = json_new(r->a, JSON_ARRAY), *kept;
	size_t pending = 0, in_force;

	if (approvals_load(r->sys, r->a, r->ws, &kept, NULL) == OK) {
		const struct json *requests = json_get(kept, "requests");
		approvals_count(kept, r->sys->now_us(r->sys), &pending, &in_force);
		for (uint32_t i = requests ? requests->n : 0; i-- > 0 && rows->n < LISTED;) {
			const struct json *request = json_get(requests->members[i].value, "request");
			if (!text_eq(request_state(requests->members[i].value, r->sys->now_us(r->sys)),
				    "pending"))
				continue;
			struct json *one = json_new(r->a, JSON_OBJECT);
			json_sets(r->a, one, "approval_id", requests->members[i].name);
			json_sets(r->a, one, "preview", json_get_text(request, "preview", ""));
			json_sets(r->a, one, "created_at", json_get_text(request, "created_at", ""));
			json_push(r->a, rows, one);
		}
	}
	json_seti(r->a, doc, "of", (int64_t)pending);
	json_set(r->a, doc, "rows", rows);
	return doc;
}

static void put_record(struct cli *r, struct json *doc)
{
	struct record_verdict v;

	workspace_verdict_quick(r->sys, r->a, r->ws, VERDICT_PATIENT_BYTES, &v);
	struct json *record = audit_verdict_json(r->a, &v);
	json_sets(r->a, record, "text", audit_verdict_text(r->a, &v));
	if (v.is_now)
		json_seti(r->a, record, "lost", json_get_int(v.report.doc, "lost_on_record", 0));
	json_set(r->a, doc, "record", record);
}

/* The document, with the verdict on the record in it.  Of a log that is too long to check on the way the report says how far it was checked. */
static int gather(struct cli *r, const char *session, struct json **ret, struct err *e)
{
	struct actions_place o = actions_place_from(r);
	struct json *day, *groups;
	int rc;

	if (session) {
		rc = actions_session(&o, session, ret, e);
		if (rc == OK)
			put_record(r, *ret);
		return rc;
	}
	int64_t since_us = r->sys->now_us(r->sys) - INT64_C(24) * 3600 * 1000000;
	rc = opt_since(r, "since", &since_us, e);
	if (rc == OK)
		rc = actions_report(&o, (size_t)opt_int(r, "limit", DEFAULT_LIMIT), ret, e);
	if (rc == OK)
		rc = actions_day(&o, since_us, &day, e);
	if (rc == OK)
		rc = actions_groups(&o, opt_text(r, "by", NULL), since_us, &groups, e);
	if (rc)
		return rc;
	if (opt_text(r, "since", NULL))
		actions_report_since(r->a, *ret, since_us);
	json_set(r->a, *ret, "day", day);
	json_set(r->a, *ret, "groups", groups);
	json_set(r->a, *ret, "waiting", waiting(r));
	put_waiting(r, *ret, json_get_int(*ret, "period_task_count", 0));
	put_record(r, *ret);
	return OK;
}

/* Of a file that nobody said the form of. */
static const char *format_of(const char *file)
{
	return text_ends(file, ".html") || text_ends(file, ".htm") ? "html"
		: text_ends(file, ".json")			   ? "json"
								   : "markdown";
}

/* The text form is for a terminal only. */
int cmd_report(struct cli *r, struct err *e)
{
	const char *session = opt_text(r, "session", NULL), *file = opt_text(r, "out", NULL);
	const char *format = r->is_json ? "json" : opt_text(r, "format", file ? format_of(file) : "text");
	struct json *doc;
	struct buf text;
	int rc = gather(r, session, &doc, e);

	if (rc)
		return rc;
	if (opt_flag(r, "public"))
		actions_make_public(r->a, doc, r->ws->home);
	/* Documents are never wrapped to the screen. */
	r->is_document = !text_eq(format, "text");
	if (text_eq(format, "html"))
		return deliver(r, session ? actions_session_html(r->a, doc) : actions_html(r->a, doc), e);
	/* Made safe as a whole, since it may be read in a terminal. */
	if (text_eq(format, "markdown")) {
		const char *md = session ? actions_session_markdown(r->a, doc) : actions_markdown(r->a, doc);
		return deliver(r, text_safe(r->a, md, strlen(md), true), e);
	}
	if (text_eq(format, "text")) {
		if (file)
			return err_set(e, E_USAGE, "REPORT_FORMAT",
				"the text is for a terminal; --out takes --format markdown, html or json");
		session ? print_session(r, doc) : print_report(r, doc);
		return 0;
	}
	buf_init(&text, r->a);
	json_write(&text, doc, JSON_INDENT);
	buf_addc(&text, '\n');
	return deliver(r, text.p, e);
}
