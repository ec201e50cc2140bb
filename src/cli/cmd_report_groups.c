/* cmd_report_groups.c — the morning view: what agents did in a period, on one screen.
 *
 * What was refused or failed, the same counted together, each with what would help; what was changed, what can be undone, and what
 * waits for an operator. */
#include "base/file.h"
#include "base/text.h"
#include "cli/cmd.h"
#include "cli/cmd_actions.h"
#include "cli/cmd_report.h"

#include <string.h>

/* Rows on a screen.  SCREEN_LINES are those of a terminal without its prompt, FRAME_LINES those around the groups. */
enum {
	SCREEN_LINES = 23,
	SCREEN_COLUMNS = 80, /* into a pipe: what is wrapped there loses no word */
	FRAME_LINES = 9,
	LIST_ROWS = 20,
	WAITING_ROWS = 2,
	FILE_ROWS = 3,
	UNDO_ROWS = 1,
	STATE_COLUMNS = 8
};

/* The command in what was said, or all of it: "to run it: helm run ..." -> "helm run ...". */
static const char *helps(struct cli *r, const struct json *row)
{
	const char *text = json_get_text(row, "remedy", NULL), *command = text ? strstr(text, "helm ") : NULL;

	if (!text)
		return NULL;
	/* A command between quotes belongs to its sentence. */
	if (command && command > text && command[-1] != ' ' && command[-1] != '\n')
		command = NULL;
	return command ? hint(r, command) : arena_printf(r->a, "Instead: %s", text);
}

/* "12×" */
static const char *times(struct cli *r, const struct json *row)
{
	return arena_printf(
		r->a, "%s%s", text_thousands(r->a, json_get_int(row, "count", 0)), glyph(r, "×", "x"));
}

static const char *last_words(struct cli *r, const struct json *row)
{
	int64_t us;
	const char *at = json_get_text(row, "last_at", "");

	return text_parse_time(at, strlen(at), &us)
		? arena_strndup(r->a, text_time_local(r->a, us) + strlen("2026-"), strlen("11-16 05:36"))
		: "";
}

/* "git push" of "denied git push: profile.network": several commands may be in a group.  What failed is one command. */
static const char *shown_name(struct cli *r, const struct json *row)
{
	const char *state = json_get_text(row, "state", ""), *key = json_get_text(row, "key", ""), *end;

	if (text_eq(state, "failed") || text_eq(state, "refused"))
		return json_get_text(row, "example", "");
	if (!text_starts(key, state) || key[strlen(state)] != ' ')
		return key;
	key += strlen(state) + 1;
	end = strstr(key, ": ");
	return arena_strndup(r->a, key, end ? (size_t)(end - key) : strlen(key));
}

/* What would help stands below it; what waits for an answer has a list of its own. */
static bool has_help(const struct json *row)
{
	return json_get_text(row, "remedy", NULL) && !text_eq(json_get_text(row, "state", ""), "asked");
}

static void print_row(struct page *p, const struct json *row)
{
	struct cli *r = p->r;
	const char *state = json_get_text(row, "state", "");
	const char *name = shown_name(r, row), *why = json_get_text(row, "why", NULL);
	const char *help = has_help(row) ? helps(r, row) : NULL;
	const char *head = arena_printf(r->a, "%5s  ", times(r, row));
	size_t indent = STATE_COLUMNS + 8;

	if (text_eq(json_get_text(row, "key", ""), "others"))
		name = "others, more than are told apart here";
	out(r, "%s%-*s%s%s%s\n", paint(r, text_eq(state, "asked") ? PAINT_WARN : PAINT_BAD), STATE_COLUMNS,
		state, paint(r, PAINT_OFF), head,
		page_fit(p,
			why ? arena_printf(r->a, "%s: %s", page_fit(p, name, 40), why)
			    : arena_printf(r->a, "%s  (last %s)", name, last_words(r, row)),
			p->width - indent));
	/* A command is there to be pasted: it is never cut. */
	if (help)
		out(r, "%*s%s%s%s\n", (int)indent, "", paint(r, PAINT_MUTED),
			text_starts(help, "Instead") ? page_fit(p, help, p->width - indent)
						     : text_safe(r->a, help, strlen(help), false),
			paint(r, PAINT_OFF));
}

/* How many groups a screen has room for, beside what else there is to say. */
static int64_t groups_that_fit(const struct json *doc)
{
	const struct json *groups = json_get(doc, "groups"), *totals = json_get(groups, "totals");
	int64_t waiting = json_get_int(json_get(doc, "waiting"), "of", 0), n = 0,
		undo = json_get_int(totals, "undo", 0);
	int64_t left = SCREEN_LINES - FRAME_LINES -
		(waiting ? 2 + (waiting < WAITING_ROWS ? waiting : WAITING_ROWS) : 0) -
		(json_get_int(totals, "files", 0) || undo ? 2 : 0) - (undo ? 1 + UNDO_ROWS : 0);

	json_each (row, json_get(groups, "rows")) {
		left -= has_help(row) ? 2 : 1;
		if (left < 0)
			break;
		n++;
	}
	return n ? n : 1;
}

/* The groups of the form that was asked for; the whole of them with --limit 0. */
static void print_groups(struct page *p, const struct json *doc)
{
	struct cli *r = p->r;
	const struct json *groups = json_get(doc, "groups"), *rows = json_get(groups, "rows");
	const char *by = json_get_text(groups, "by", "");
	const bool is_failure = text_eq(by, "failure"), is_stop = is_failure || text_eq(by, "rule");
	int64_t limit = opt_int(r, "limit", is_failure ? groups_that_fit(doc) : LIST_ROWS), shown = 0;

	out(r, "\n%s%s%s (%s in %s%s)\n", paint(r, PAINT_ACCENT),
		is_failure	     ? "Did not go through"
			: is_stop    ? "By the rule that stopped it"
			: *by == 's' ? "By session"
				     : "By file",
		paint(r, PAINT_OFF),
		text_count(r->a, json_get_int(groups, "of", 0),
			is_stop		     ? "action"
				: *by == 's' ? "call"
					     : "change"),
		text_count(r->a, rows->n, is_stop ? "group" : by),
		limit && rows->n > limit ? "; all with --limit 0" : "");
	json_each (row, rows) {
		if (limit && ++shown > limit)
			break;
		if (is_stop)
			print_row(p, row);
		else
			out(r, "%7s  %s\n", text_thousands(r->a, json_get_int(row, "count", 0)),
				page_fit(p,
					arena_printf(r->a, "%s  %s%s%s", json_get_text(row, "key", ""),
						json_get_text(row, *by == 's' ? "why" : "state", ""),
						helps(r, row) ? "  " : "",
						helps(r, row) ? helps(r, row) : ""),
					p->width - 9));
	}
}

static void print_waiting(struct page *p, const struct json *doc)
{
	struct cli *r = p->r;
	const struct json *rows = json_get(json_get(doc, "waiting"), "rows");
	int64_t of = json_get_int(json_get(doc, "waiting"), "of", 0), shown = 0;

	if (!of)
		return;
	out(r, "\n%sWaits for you%s (%lld%s)\n", paint(r, PAINT_WARN), paint(r, PAINT_OFF), (long long)of,
		of > WAITING_ROWS ? hint(r, "; all: helm approval list") : "");
	json_each (row, rows) {
		const char *id = json_get_text(row, "approval_id", "");
		if (++shown > WAITING_ROWS)
			break;
		const char *command = hint(r, arena_printf(r->a, "helm approval show %s", id));
		out(r, "  %s  %s\n", command,
			page_fit(p, json_get_text(row, "preview", ""), p->width - strlen(command) - 4));
	}
}

static void print_changed(struct page *p, const struct json *doc)
{
	struct cli *r = p->r;
	const struct json *groups = json_get(doc, "groups"), *totals = json_get(groups, "totals"),
			  *files = json_get(groups, "files");
	int64_t n = json_get_int(totals, "files", 0), undo = json_get_int(totals, "undo", 0), shown = 0;

	if (n) {
		struct buf line;
		buf_init(&line, r->a);
		json_each (row, files)
			if (++shown <= FILE_ROWS)
				buf_addf(&line, "%s%s %s", shown > 1 ? ", " : "",
					path_base(json_get_text(row, "key", "")), times(r, row));
		out(r, "\n%sChanged%s %s%s: %s\n", paint(r, PAINT_ACCENT), paint(r, PAINT_OFF),
			text_count(r->a, n, "file"),
			n > FILE_ROWS ? hint(r, ", all: helm report --by file --limit 0") : "",
			page_fit(p, line.p, p->width));
	}
	if (!undo)
		return;
	out(r, "%sCan be undone%s (%lld%s)\n", paint(r, PAINT_ACCENT), paint(r, PAINT_OFF), (long long)undo,
		undo > UNDO_ROWS ? hint(r, "; all: helm checkpoint list") : "");
	shown = 0;
	json_each (row, json_get(groups, "undo")) {
		if (++shown > UNDO_ROWS)
			break;
		const char *command = hint(r,
			arena_printf(
				r->a, "helm checkpoint restore %s", json_get_text(row, "checkpoint_id", "")));
		out(r, "  %s  %s\n", command,
			page_fit(p, json_get_text(row, "preview", ""), p->width - strlen(command) - 4));
	}
}

static void print_sum(struct page *p, const struct json *doc)
{
	struct cli *r = p->r;
	const struct json *groups = json_get(doc, "groups"), *totals = json_get(groups, "totals"),
			  *day = json_get(doc, "day"), *clients = json_get(day, "clients");
	const char *since = json_get_text(groups, "since", "");
	int64_t us = 0, runs = json_get_int(totals, "runs", 0), calls = json_get_int(day, "calls", 0);
	struct buf line;

	(void)text_parse_time(since, strlen(since), &us);
	buf_init(&line, r->a);
	buf_addf(&line, "Since %s: ", text_when_words(r->a, us));
	buf_addf(&line, "%s", calls ? text_count(r->a, calls, "call") : "no calls");
	json_each_member (m, clients)
		buf_addf(&line, "%s%s %s", m == clients->members ? " (" : ", ",
			text_safe(r->a, m->name, m->name_n, false), m->value->text);
	buf_addf(&line, "%s, %s.", clients && clients->n ? ")" : "", text_count(r->a, runs, "run"));
	out(r, "%s\n", line.p);
	int64_t refused = json_get_int(totals, "connections", 0);
	out(r, "%s denied or stopped, %s asked, %s failed%s.\n",
		text_thousands(r->a, json_get_int(totals, "stopped", 0)),
		text_thousands(r->a, json_get_int(totals, "asked", 0)),
		text_thousands(r->a, json_get_int(totals, "failed", 0)),
		refused ? arena_printf(r->a, ", %s refused", text_count(r->a, refused, "connection")) : "");
}

void report_groups(struct page *p, const struct json *doc)
{
	const struct json *groups = json_get(doc, "groups");
	const char *by = json_get_text(groups, "by", "");
	struct page screen = { p->r, p->r->is_tty ? out_width(p->r) : SCREEN_COLUMNS, SIZE_MAX - 1 };

	p = &screen; /* of a terminal, also where this goes into a pipe */
	print_sum(p, doc);
	if (json_get(groups, "rows")->n)
		print_groups(p, doc);
	if (!text_eq(by, "failure"))
		return;
	print_waiting(p, doc);
	print_changed(p, doc);
}
