/* receipts.c — what was decided, as it stands in the chain: lists, one of them, and as it grows.
 *
 * A receipt is given as it was signed, so that whoever has the key can verify it.  Only those that are known to be on disk are given.
 * Cursors are clocks of the chain: "lamport:N" is behind the N-th. */
#include "base/hash.h"
#include "base/text.h"
#include "proof/preimage.h"
#include "serve/http/http.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LIST_USUAL = 100, LIST_MOST = 1000, HEARTBEAT_S = 15, LINES_MOST = 2000 };

/* ---- which ones ---- */

/* The session that the caller named: receipts of hooks and runs have it, too. */
const char *receipt_session(const struct json *receipt)
{
	const char *own = json_get_text(receipt, "correlation_id", "");

	return *own ? own : json_get_text(json_get(receipt, "metadata"), "session", "");
}

static bool is_equal(const char *want, const char *have)
{
	return !want || text_eq(want, have);
}

bool receipts_is_wanted(const struct receipts_filter *w, const struct json *receipt)
{
	const struct json *metadata = json_get(receipt, "metadata");
	const char *at = json_get_text(receipt, "timestamp", "");
	int64_t us = 0;

	if (!receipt || !is_equal(w->session, receipt_session(receipt)) ||
		!is_equal(w->verdict, json_get_text(receipt, "verdict", "")) ||
		!is_equal(w->reason_code, json_get_text(receipt, "reason_code", "")) ||
		!is_equal(w->principal, json_get_text(receipt, "executor_id", "")) ||
		!is_equal(w->effect, json_get_text(receipt, "effect_id", "")))
		return false;
	if (!text_eq(json_get_text(metadata, "tenant", w->home), w->tenant))
		return false;
	if (!w->from_us && !w->to_us)
		return true;
	return text_parse_time(at, strlen(at), &us) && (!w->from_us || us >= w->from_us) &&
		(!w->to_us || us < w->to_us);
}

struct receipts_filter receipts_mine(const struct call *c)
{
	return (struct receipts_filter){ .tenant = c->who.tenant, .home = auth_home_tenant(c->server) };
}

static int read_time(struct call *c, const char *name, int64_t *ret, struct err *e)
{
	const char *text = call_query(c, name);

	*ret = 0;
	if (text && !text_parse_time(text, strlen(text), ret))
		return call_refuse(c, e, 400, "BAD_REQUEST", "%s is no time of RFC 3339", name);
	return OK;
}

static const char *one_of(struct call *c, const char *name, const char *other)
{
	const char *x = call_query(c, name);

	x = x ? x : call_query(c, other);
	return x && *x ? x : NULL;
}

/* One filter has two names: who says both means the same. */
static int check_names(struct call *c, struct err *e)
{
	static const char *const pairs[][2] = { { "session_id", "agent" }, { "principal", "executor" },
		{ "effect", "resource" } };

	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
		const char *x = call_query(c, pairs[i][0]), *y = call_query(c, pairs[i][1]);
		if (x && y && !text_eq(x, y))
			return call_refuse(c, e, 400, "BAD_REQUEST", "%s and %s mean the same, and differ",
				pairs[i][0], pairs[i][1]);
	}
	return OK;
}

int receipts_read_filter(struct call *c, struct receipts_filter *ret, struct err *e)
{
	*ret = (struct receipts_filter){ .session = one_of(c, "session_id", "agent"),
		.verdict = one_of(c, "verdict", "verdict"),
		.reason_code = one_of(c, "reason_code", "reason_code"),
		.principal = one_of(c, "principal", "executor"),
		.effect = one_of(c, "effect", "resource"),
		.tenant = c->who.tenant,
		.home = auth_home_tenant(c->server) };
	int rc = check_names(c, e);
	if (rc == OK)
		rc = read_time(c, "from", &ret->from_us, e);
	if (rc == OK)
		rc = read_time(c, "to", &ret->to_us, e);
	if (rc == OK && ret->from_us && ret->to_us && ret->to_us <= ret->from_us)
		return call_refuse(c, e, 400, "BAD_REQUEST", "'to' must be later than 'from'");
	return rc;
}

/* "lamport:N", a number, or the form that spans sessions: "v1." and {l, t, r} in base64url. */
static int read_cursor(struct call *c, const char *text, uint64_t *ret, struct err *e)
{
	static const char plain[] = "lamport:", wide[] = "v1.";
	struct bytes inside;
	struct json *doc;
	int64_t n;

	*ret = 0;
	if (!text || !*text)
		return OK;
	if (text_starts(text, wide) &&
		base64_decode(
			c->a, text + strlen(wide), strlen(text) - strlen(wide), BASE64_URL, false, &inside) &&
		json_parse(c->a, inside, "cursor", NULL, &doc, NULL) == OK &&
		json_int(json_get(doc, "l"), &n) && n >= 0 && n < INT64_MAX) {
		*ret = (uint64_t)n;
		return OK;
	}
	if (!text_int(text_starts(text, plain) ? text + strlen(plain) : text, &n) || n < 0 || n == INT64_MAX)
		return call_refuse(c, e, 400, "BAD_REQUEST", "this is no cursor of ours");
	*ret = (uint64_t)n;
	return OK;
}

static char *cursor_at(struct arena *a, int64_t clock)
{
	return arena_printf(a, "lamport:%lld", (long long)clock);
}

/* ---- lists ---- */

struct listing {
	struct receipts_page *page;
	struct call *c;
	const struct receipts_filter *w;
	int64_t limit, length; /* length: of what is on disk */
};

static int add_receipt(void *arg, const char *file, uint64_t line, struct bytes text,
	const struct json *receipt, struct err *e)
{
	struct listing *l = arg;
	int64_t clock = json_get_int(receipt, "lamport_clock", 0);

	(void)file;
	(void)line;
	(void)text;
	(void)e;
	if (clock > l->length)
		return 1;
	if (!receipts_is_wanted(l->w, receipt))
		return 0;
	if (l->page->list->n == l->limit) {
		l->page->is_more = true;
		return 1;
	}
	l->page->last = clock;
	json_push(l->c->a, l->page->list, json_copy(l->c->a, receipt));
	return 0;
}

int receipts_page(struct call *c, const struct receipts_filter *w, uint64_t since, int64_t limit,
	struct receipts_page *ret, struct err *e)
{
	struct sys *s = c->server->sys;
	struct listing l = { .page = ret, .c = c, .w = w, .limit = limit };
	uint64_t length;
	int rc = log_leaf_count(s, c->server->ws->state_fd, &length, e);

	*ret = (struct receipts_page){ .list = json_new(c->a, JSON_ARRAY), .last = (int64_t)since };
	if (rc == E_MISSING)
		return OK;
	l.length = (int64_t)length;
	return rc ? rc : receipts_from(s, c->server->ws->state_fd, since + 1, add_receipt, &l, e);
}

static int list(struct call *c, struct err *e)
{
	struct json *doc = json_new(c->a, JSON_OBJECT);
	struct receipts_filter w;
	struct receipts_page page;
	uint64_t since;
	int64_t limit;
	int rc = receipts_read_filter(c, &w, e);

	if (rc == OK)
		rc = call_query_int(c, "limit", LIST_USUAL, 1, LIST_MOST, &limit, e);
	if (rc == OK)
		rc = read_cursor(c, one_of(c, "since", "cursor"), &since, e);
	if (rc == OK)
		rc = receipts_page(c, &w, since, limit, &page, e);
	if (rc)
		return rc;
	json_set(c->a, doc, "receipts", page.list);
	json_seti(c->a, doc, "count", page.list->n);
	json_sets(c->a, doc, "next_cursor", cursor_at(c->a, page.last));
	json_setb(c->a, doc, "has_more", page.is_more);
	call_answer(c, 200, doc);
	return OK;
}

/* ---- one ---- */

struct search {
	struct call *c;
	const char *id;
	struct json *found;
};

static bool is_named(struct arena *a, const struct json *receipt, const char *id)
{
	const char *own = json_get_text(receipt, "receipt_id", "");

	return text_eq(own, id) || text_eq(receipt_id_short(a, own), id) ||
		text_eq(json_get_text(receipt, "decision_id", ""), id);
}

static int look(
	void *arg, const char *file, off_t at, struct bytes text, const struct json *receipt, struct err *e)
{
	struct search *q = arg;

	(void)file;
	(void)at;
	(void)text;
	(void)e;
	if (!receipt || !is_named(q->c->a, receipt, q->id))
		return 0;
	q->found = json_copy(q->c->a, receipt);
	return 1;
}

int receipts_find(struct call *c, const char *id, struct json **ret, struct err *e)
{
	const struct receipts_filter mine = receipts_mine(c);
	struct search q = { .c = c, .id = id };

	if (!text_is_plain(id) || strlen(id) < 4)
		return call_refuse(c, e, 404, "NOT_FOUND", "there is no such receipt");
	const struct receipts_wanted want = { .text = id };
	int rc = receipts_back(c->server->sys, c->server->ws->state_fd, &want, look, &q, e);
	if (rc)
		return rc;
	if (!q.found || !receipts_is_wanted(&mine, q.found))
		return call_refuse(c, e, 404, "NOT_FOUND", "there is no such receipt");
	*ret = q.found;
	return OK;
}

static int one(struct call *c, struct err *e)
{
	struct json *found;
	int rc = receipts_find(c, c->args[0], &found, e);

	if (rc == OK)
		call_answer(c, 200, found);
	return rc;
}

/* ---- as it grows ---- */

/* Each reads for itself what is new; what does not fit into one answer waits for the next. */
struct following {
	struct feed feed;
	struct receipts_filter w;
	uint64_t clock; /* given so far */
};

struct gathering {
	struct following *f;
	int64_t length;
	size_t n, lines;
};

static int gather(void *arg, const char *file, uint64_t line, struct bytes text, const struct json *receipt,
	struct err *e)
{
	struct gathering *g = arg;
	int64_t clock = json_get_int(receipt, "lamport_clock", 0);

	(void)file;
	(void)line;
	(void)e;
	/* Others wait for this thread: what is left comes with the next turn. */
	if (clock > g->length || g->n == LIST_MOST || g->lines == LINES_MOST)
		return 1;
	g->lines++;
	g->f->clock = (uint64_t)clock;
	if (!receipts_is_wanted(&g->f->w, receipt))
		return 0;
	struct buf *to = &g->f->feed.text;
	buf_addf(to, "id: lamport:%lld\nevent: receipt\ndata: ", (long long)clock);
	buf_add(to, text.p, text.n);
	buf_adds(to, "\n\n");
	g->n++;
	return 0;
}

static void read_more(struct feed *feed)
{
	struct following *f = (struct following *)feed;
	struct gathering g = { .f = f, .length = (int64_t)tail_length(feed->server->tail) };
	int64_t now = feed->server->sys->mono_us(feed->server->sys);
	struct err e = { 0 };

	if ((uint64_t)g.length > f->clock &&
		receipts_from(feed->server->sys, feed->server->ws->state_fd, f->clock + 1, gather, &g, &e))
		buf_adds(&feed->text,
			"event: error\ndata: {\"error\":{\"message\":\"the chain cannot be read\",\"reason_code\":\"ERROR_INTERNAL\"}}\n\n");
	if (!feed->text.n && g.lines == LINES_MOST)
		buf_adds(&feed->text, ": reading\n\n"); /* and the next turn comes at once */
	if (!feed->text.n && now - feed->beat_us >= (int64_t)HEARTBEAT_S * 1000000)
		buf_adds(&feed->text, ": still here\n\n");
	if (feed->text.n)
		feed->beat_us = now;
}

static const char *keep(struct arena *a, const char *text)
{
	return text ? arena_strdup(a, text) : NULL;
}

static int follow(struct call *c, struct err *e)
{
	const char *last = call_header(c, "Last-Event-ID");
	struct receipts_filter w;
	uint64_t since;
	int rc = receipts_read_filter(c, &w, e);

	last = last ? last : call_query(c, "since");
	if (rc == OK)
		rc = read_cursor(c, last, &since, e);
	if (rc)
		return rc;
	struct following *f = feed_new(c, sizeof(*f), read_more, feed_by_key);
	struct arena *a = &f->feed.a;
	/* Whoever says no place begins with what comes from now on. */
	f->clock = last ? since : tail_length(c->server->tail);
	f->w = (struct receipts_filter){ keep(a, w.session), keep(a, w.verdict), keep(a, w.reason_code),
		keep(a, w.principal), keep(a, w.effect), w.from_us, w.to_us, keep(a, w.tenant), w.home };
	buf_adds(&f->feed.text, ": receipts follow\n\n");
	feed_start(c, &f->feed);
	return OK;
}

const struct route http_receipts_routes[] = {
	{ "GET", "/api/v1/receipts", AUTH_TENANT, SCOPE_READ, RATE_EVIDENCE, 0, list,
		"receipts, oldest first, from a cursor on", NULL, "ReceiptList" },
	{ "GET", "/api/v1/receipts/tail", AUTH_TENANT, SCOPE_READ, RATE_STREAM, IS_STREAM, follow,
		"receipts as they are committed, as events", NULL, NULL },
	{ "GET", "/api/v1/receipts/{id}", AUTH_TENANT, SCOPE_READ, RATE_EVIDENCE, 0, one, "one receipt", NULL,
		"Receipt" },
	{ 0 },
};
