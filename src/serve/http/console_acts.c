/* console_acts.c — acts on record for the console: found, paged through, exported; and one of them with everything that proves it.
 *
 * Pages go from the newest to older ones by a cursor, so that a row which comes meanwhile moves none.  A receipt leaves as the exact line that was
 * signed: whoever asked checks it themselves. */
#include "base/text.h"
#include "kernel/approval/approval.h"
#include "record/shown.h"
#include "serve/http/console.h"

#include <string.h>

enum { PAGE_USUAL = 50, PAGE_MOST = 500, COUNT_MOST = 100000, EXPORT_ROWS = 100000 };

int console_acts(struct call *c, struct action_index **ret, bool *ret_is_behind, struct err *e)
{
	const struct actions_of whose = { c->who.tenant, auth_home_tenant(c->server) };

	return action_index_open(
		c->server->sys, c->a, c->server->ws, whose, INDEX_SOON, ret, ret_is_behind, e);
}

int console_only_home(struct call *c, struct err *e)
{
	return text_eq(c->who.tenant, auth_home_tenant(c->server))
		? OK
		: call_refuse(c, e, 403, "TENANT_ISOLATION",
			  "this is about the installation, and belongs to its own tenant");
}

int console_push(void *arg, struct json *row, struct err *e)
{
	struct console_rows *r = arg;

	(void)e;
	json_push(r->c->a, r->list, json_copy(r->c->a, row));
	return 0;
}

int console_push_action(void *arg, const struct action *row, struct err *e)
{
	struct console_rows *r = arg;

	(void)e;
	json_push(r->c->a, r->list, json_copy(r->c->a, action_json(r->c->a, row)));
	return 0;
}

static const char *said(struct call *c, const char *name)
{
	const char *text = call_query(c, name);

	return text && *text ? text : NULL;
}

static int read_time(struct call *c, const char *name, int64_t *ret, struct err *e)
{
	const char *text = said(c, name);

	*ret = 0;
	if (text && !text_parse_time(text, strlen(text), ret))
		return call_refuse(c, e, 400, "BAD_REQUEST", "%s is no time of RFC 3339", name);
	return OK;
}

int console_filter(struct call *c, struct action_filter *ret, struct err *e)
{
	*ret = (struct action_filter){ .verdict = said(c, "verdict"),
		.who = said(c, "who"),
		.session = said(c, "session"),
		.tool = said(c, "tool"),
		.rule = said(c, "rule"),
		.kind = said(c, "kind"),
		.text = said(c, "q") };
	int rc = read_time(c, "from", &ret->from_us, e);
	return rc ? rc : read_time(c, "to", &ret->to_us, e);
}

/* "TIME.N" of the last row of the page before. */
static int read_cursor(struct call *c, struct action_cursor *ret, struct err *e)
{
	const char *text = said(c, "before"), *dot = text ? strchr(text, '.') : NULL;

	*ret = (struct action_cursor){ 0 };
	if (!text)
		return OK;
	if (!dot || !text_int(arena_strndup(c->a, text, (size_t)(dot - text)), &ret->at_us) ||
		!text_int(dot + 1, &ret->n) || ret->at_us <= 0)
		return call_refuse(c, e, 400, "BAD_REQUEST", "this is no cursor of ours");
	return OK;
}

static int list(struct call *c, struct err *e)
{
	AUTO(action_index_close) struct action_index *x = NULL;
	struct console_rows rows = { c, json_new(c->a, JSON_ARRAY) };
	struct json *doc = json_new(c->a, JSON_OBJECT);
	struct action_filter f;
	struct action_cursor from;
	int64_t limit, count = 0;
	bool is_behind, counts = said(c, "count") != NULL;
	int rc = console_filter(c, &f, e);

	if (rc == OK)
		rc = read_cursor(c, &from, e);
	if (rc == OK)
		rc = call_query_int(c, "limit", PAGE_USUAL, 1, PAGE_MOST, &limit, e);
	if (rc == OK)
		rc = console_acts(c, &x, &is_behind, e);
	if (rc == OK)
		rc = action_list(x, &f, from, (size_t)limit + 1, console_push_action, &rows, e);
	if (rc == OK && counts)
		rc = action_count(x, &f, COUNT_MOST, &count, e);
	if (rc)
		return rc;
	bool is_more = rows.list->n > limit;
	if (is_more)
		rows.list->n--;
	const struct json *last = rows.list->n ? rows.list->items[rows.list->n - 1] : NULL;
	json_set(c->a, doc, "acts", rows.list);
	json_sets(c->a, doc, "next",
		is_more ? arena_printf(c->a, "%lld.%lld", (long long)json_get_int(last, "at_us", 0),
				  (long long)json_get_int(last, "n", 0))
			: NULL);
	if (counts)
		json_seti(c->a, doc, "count", count);
	json_setb(c->a, doc, "behind", is_behind);
	call_answer(c, 200, doc);
	return OK;
}

/* What can be chosen for a filter. */
static int values(struct call *c, struct err *e)
{
	static const char *const columns[] = { "who", "tool", "rule", "session", "kind" };
	AUTO(action_index_close) struct action_index *x = NULL;
	struct json *doc = json_new(c->a, JSON_OBJECT);
	bool is_behind;
	int rc = console_acts(c, &x, &is_behind, e);

	for (size_t i = 0; rc == OK && i < ARRAY_SIZE(columns); i++) {
		struct console_rows rows = { c, json_new(c->a, JSON_ARRAY) };
		rc = action_values(x, columns[i], 50, console_push, &rows, e);
		json_set(c->a, doc, columns[i], rows.list);
	}
	if (rc == OK)
		call_answer(c, 200, doc);
	return rc;
}

/* ---- as a file ---- */

static const char *const exported[] = { "at", "id", "kind", "verdict", "reason", "rule", "who", "session",
	"tool", "door", "caption", "status", "clock", "outcome_clock", "approval_id", "task_id", "state",
	"state_text", "exit_code", "answered_by" };

struct exporting {
	struct buf *to;
	bool is_csv;
	int64_t left; /* rows that may still be written */
	struct action_cursor last; /* the last that was */
	bool is_more;
};

static int export_row(void *arg, const struct action *action, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct exporting *x = arg;
	const struct json *row = action_json(&a, action);

	(void)e;
	if (x->left == 0) {
		x->is_more = true;
		return 0;
	}
	x->left--;
	x->last = (struct action_cursor){ action->at_us, action->n };
	for (size_t i = 0; x->is_csv && i < ARRAY_SIZE(exported); i++) {
		if (i)
			buf_addc(x->to, ',');
		console_csv_cell(x->to, json_get(row, exported[i]));
	}
	if (!x->is_csv)
		json_write(x->to, row, 0);
	buf_adds(x->to, x->is_csv ? "\r\n" : "\n");
	return 0;
}

/* One piece of the file, with the heads of its columns when it is the first.  Where rows are left, Helm-Next is the `before` of the next piece: nothing ends without
 * a word. */
static int export(struct call *c, struct err *e)
{
	AUTO(action_index_close) struct action_index *x = NULL;
	const char *format = said(c, "format");
	struct buf text;
	struct exporting to = { .to = &text, .is_csv = format && text_eq(format, "csv") };
	struct action_filter f;
	struct action_cursor from;
	bool is_behind;
	int rc = console_filter(c, &f, e);

	if (rc == OK)
		rc = read_cursor(c, &from, e);
	if (rc == OK)
		rc = call_query_int(c, "limit", EXPORT_ROWS, 1, EXPORT_ROWS, &to.left, e);
	if (rc == OK && (!format || (!to.is_csv && !text_eq(format, "jsonl"))))
		rc = call_refuse(c, e, 400, "BAD_REQUEST", "format is csv or jsonl");
	if (rc == OK)
		rc = console_acts(c, &x, &is_behind, e);
	if (rc)
		return rc;
	buf_init(&text, c->a);
	for (size_t i = 0; to.is_csv && !from.at_us && i < ARRAY_SIZE(exported); i++)
		buf_addf(&text, "%s\"%s\"%s", i ? "," : "", exported[i],
			i + 1 == ARRAY_SIZE(exported) ? "\r\n" : "");
	rc = action_list(x, &f, from, (size_t)to.left + 1, export_row, &to, e);
	if (rc)
		return rc;
	if (to.is_more)
		call_send_header(c, "Helm-Next",
			arena_printf(c->a, "%lld.%lld", (long long)to.last.at_us, (long long)to.last.n));
	call_send_header(c, "Content-Disposition",
		to.is_csv ? "attachment; filename=\"acts.csv\"" : "attachment; filename=\"acts.jsonl\"");
	call_bytes(c, 200, to.is_csv ? "text/csv; charset=utf-8" : "application/jsonl", buf_bytes(&text));
	return OK;
}

/* ---- one ---- */

struct one_line {
	struct arena *a;
	int64_t clock;
	const char *text;
	const char *tenant, *home;
	bool is_others;
};

static int take_line(void *arg, const char *file, uint64_t line, struct bytes text,
	const struct json *receipt, struct err *e)
{
	struct one_line *l = arg;

	(void)file;
	(void)line;
	(void)e;
	if (json_get_int(receipt, "lamport_clock", 0) == l->clock) {
		l->text = arena_strndup(l->a, (const char *)text.p, text.n);
		l->is_others =
			!text_eq(json_get_text(json_get(receipt, "metadata"), "tenant", l->home), l->tenant);
	}
	return 1;
}

int console_line(struct call *c, int64_t clock, const char **ret, struct err *e)
{
	struct one_line l = {
		.a = c->a, .clock = clock, .tenant = c->who.tenant, .home = auth_home_tenant(c->server)
	};
	int rc = clock > 0
		? receipts_from(c->server->sys, c->server->ws->state_fd, (uint64_t)clock, take_line, &l, e)
		: OK;

	*ret = l.is_others ? NULL : l.text;
	return rc < 0 ? rc : OK;
}

/* A head that covers the receipt; the newest one, or one that is signed now: everything on record is under some head sooner or later. */
static int head_over(struct call *c, int64_t clock, struct json **ret, struct err *e)
{
	struct recorder *r = &c->k->recorder;
	struct err why = { 0 };
	int rc = log_last_head(c->server->sys, c->a, c->server->ws->state_fd, ret, e);

	if (rc || (*ret && json_get_int(*ret, "tree_size", 0) >= clock))
		return rc;
	call_hold(c);
	if (log_settle(r, c->a, &why) || log_sign_head(r, c->a, ret, &why)) {
		log_line(c->server, "warning", c, "no head could be signed: %s", why.text);
		*ret = NULL;
	}
	return OK;
}

static int proof_of(struct call *c, int64_t clock, struct json **ret, struct err *e)
{
	struct json *doc = json_new(c->a, JSON_OBJECT), *path = json_new(c->a, JSON_ARRAY), *head = NULL;
	struct merkle_range ranges[MERKLE_MAX_PATH];
	struct hash roots[MERKLE_MAX_PATH];
	size_t n = 0;
	int rc = head_over(c, clock, &head, e);

	if (rc == OK && head) {
		n = merkle_inclusion_ranges(
			(uint64_t)json_get_int(head, "tree_size", 0), (uint64_t)clock - 1, ranges);
		rc = log_roots(c->server->sys, c->server->ws->state_fd, ranges, n, roots, e);
	}
	if (rc)
		return rc;
	for (size_t i = 0; i < n; i++)
		json_pushs(c->a, path, hash_hex(c->a, &roots[i]));
	json_seti(c->a, doc, "leaf_index", clock - 1);
	json_set(c->a, doc, "audit_path", path);
	json_set(c->a, doc, "head", head ? head : json_new(c->a, JSON_NULL));
	*ret = doc;
	return OK;
}

void console_add_shown(struct call *c, struct json *to, const struct json *from)
{
	const char *sha256 = json_get_text(from, SHOWN_MEMBER, NULL);
	struct json *shown = NULL;
	struct err why = { 0 };

	if (!sha256)
		return;
	if (shown_read(c->server->sys, c->a, c->server->ws->state_fd, sha256, &shown, &why))
		json_sets(c->a, to, "shown_problem", why.text);
	json_set(c->a, to, "shown", shown ? shown : json_new(c->a, JSON_NULL));
}

/* A receipt with what is needed to check it; `name` is a member of the answer. */
static int add_receipt(struct call *c, struct json *doc, const char *name, int64_t clock, struct err *e)
{
	struct json *one = json_new(c->a, JSON_OBJECT), *proof, *receipt;
	const char *line, *before = NULL;
	int rc = console_line(c, clock, &line, e);

	if (rc || !line)
		return rc;
	if (clock > 1)
		rc = console_line(c, clock - 1, &before, e);
	if (rc == OK)
		rc = proof_of(c, clock, &proof, e);
	if (rc)
		return rc;
	if (json_parse(c->a, bytes_of(line), RECEIPTS, NULL, &receipt, NULL) == OK)
		console_add_shown(c, one, json_get(receipt, "metadata"));
	json_sets(c->a, one, "receipt", line);
	json_sets(c->a, one, "previous", before);
	json_set(c->a, one, "proof", proof);
	json_set(c->a, doc, name, one);
	return OK;
}

/* The question, as it was asked and signed, with what was answered. */
static void add_question(struct call *c, struct json *doc, const char *id)
{
	struct json *entry, *one = json_new(c->a, JSON_OBJECT);
	struct err why = { 0 };

	if (approval_get(c->k, c->a, id, &entry, &why)) {
		json_sets(c->a, doc, "question_problem", why.text);
		return;
	}
	json_set(c->a, one, "request", json_copy(c->a, json_get(entry, "request")));
	json_sets(c->a, one, "state", request_state(entry, c->server->sys->now_us(c->server->sys)));
	json_sets(c->a, one, "responder", json_get_text(entry, "responder", NULL));
	json_sets(c->a, one, "resolved_at", json_get_text(entry, "resolved_at", NULL));
	json_sets(c->a, one, "grant_id", json_get_text(entry, "grant_id", NULL));
	json_set(c->a, doc, "question", one);
}

static int add_call(struct call *c, struct json *doc, const struct json *act, struct err *e)
{
	struct json *row = NULL;
	int rc = json_is(json_get(act, "place"), JSON_NUMBER)
		? row_at(c->server->sys, c->a, c->server->ws->state_fd, TOOL_CALLS,
			  (off_t)json_get_int(act, "place", 0), &row, e)
		: OK;

	if (rc == OK && row)
		json_set(c->a, doc, "call", row);
	return rc;
}

static int one(struct call *c, struct err *e)
{
	AUTO(action_index_close) struct action_index *x = NULL;
	struct json *doc = json_new(c->a, JSON_OBJECT), *act;
	struct action *found = NULL;
	struct console_rows related = { c, json_new(c->a, JSON_ARRAY) };
	bool is_behind;
	int rc = console_acts(c, &x, &is_behind, e);

	if (rc == OK)
		rc = action_find(x, c->args[0], &found, e);
	if (rc == OK && !found)
		return call_refuse(c, e, 404, "NOT_FOUND",
			"there is no such act; an id, or a unique beginning of one, names it");
	if (rc)
		return rc;
	const char *question = found->approval_id;
	int64_t clock = found->clock;
	act = action_json(c->a, found);
	json_set(c->a, doc, "act", act);
	if (question)
		rc = action_list_question(x, question, console_push_action, &related, e);
	if (rc == OK && clock)
		rc = add_receipt(c, doc, "decision", clock, e);
	if (rc == OK && clock && !json_get(doc, "decision"))
		return call_refuse(c, e, 404, "NOT_FOUND", "there is no such act");
	if (rc == OK && found->outcome_clock)
		rc = add_receipt(c, doc, "outcome", found->outcome_clock, e);
	if (rc == OK)
		rc = add_call(c, doc, act, e);
	if (rc)
		return rc;
	if (question && text_eq(c->who.tenant, auth_home_tenant(c->server)))
		add_question(c, doc, question);
	json_set(c->a, doc, "related", related.list);
	call_answer(c, 200, doc);
	return OK;
}

/* ---- sessions ---- */

static int sessions(struct call *c, struct err *e)
{
	const struct index_place at = { c->server->sys, c->a, c->server->ws->state_dir,
		c->server->ws->state_fd };
	AUTO(index_close) struct index *x = NULL;
	struct console_rows rows = { c, json_new(c->a, JSON_ARRAY) };
	struct json *doc = json_new(c->a, JSON_OBJECT);
	int64_t limit, total = 0;
	int rc = console_only_home(c, e);

	if (rc == OK)
		rc = call_query_int(c, "limit", 100, 1, 1000, &limit, e);
	if (rc == OK)
		rc = index_open(&at, INDEX_SOON, &x, e);
	if (rc == OK)
		rc = index_sessions(x, (size_t)limit, console_push, &rows, e);
	if (rc == OK)
		rc = index_count(x, "sessions", &total, e);
	if (rc)
		return rc;
	json_set(c->a, doc, "sessions", rows.list);
	json_seti(c->a, doc, "shown", rows.list->n);
	json_seti(c->a, doc, "total", total);
	json_sets(c->a, doc, "note", index_note(x));
	call_answer(c, 200, doc);
	return OK;
}

#define READ AUTH_TENANT, SCOPE_READ, RATE_EVIDENCE
const struct route http_console_acts_routes[] = {
	{ "GET", "/api/v1/console/acts", READ, 0, list,
		"acts on record, the newest first, searched and paged", NULL, "ConsoleActs" },
	{ "GET", "/api/v1/console/acts/values", READ, 0, values, "what can be chosen for a filter", NULL,
		"ConsoleValues" },
	{ "GET", "/api/v1/console/acts/export", READ, 0, export, "the same as a file: csv or jsonl", NULL,
		NULL },
	{ "GET", "/api/v1/console/acts/{id}", READ, 0, one,
		"one act with its receipts as they were signed, and what proves them", NULL, "ConsoleAct" },
	{ "GET", "/api/v1/console/sessions", READ, 0, sessions, "sessions of agents", NULL,
		"ConsoleSessions" },
	{ 0 },
};
