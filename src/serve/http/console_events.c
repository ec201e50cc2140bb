/* console_events.c — what happens, as it happens, for pages that are open: short rows, not receipts.
 *
 * The id of an event is the clock of its receipt, so that Last-Event-ID goes on where the page stopped, with nothing lost and nothing twice.
 * Types: stopped, asked, answered, act; a comment at least every 15 seconds.  A session that ends hears nothing more. */
#include "base/text.h"
#include "serve/http/console.h"

enum { BEAT_S = 15, ROWS_MOST = 500 };

struct watching {
	struct feed feed;
	const char *tenant, *home;
	uint64_t clock;
	size_t rows;
	uint64_t session; /* 0: a key, or the socket */
};

static const char *event_of(const struct json *receipt)
{
	const char *type = json_get_text(receipt, "type", ""),
		   *verdict = json_get_text(receipt, "verdict", "");

	if (text_eq(type, "grant") || text_eq(type, "denial") || text_eq(type, "revocation") ||
		text_eq(type, "assertion"))
		return "answered";
	if (text_eq(type, "decision") && text_eq(verdict, "ESCALATE"))
		return "asked";
	return text_eq(type, "decision") && text_eq(verdict, "DENY") ? "stopped" : "act";
}

static int gather(void *arg, const char *file, uint64_t line, struct bytes text, const struct json *receipt,
	struct err *e)
{
	struct watching *w = arg;
	struct arena *a = &w->feed.out;
	struct buf *to = &w->feed.text;
	uint64_t clock = (uint64_t)json_get_int(receipt, "lamport_clock", 0);
	const struct json *about = json_get(receipt, "metadata");
	struct json *row = json_new(a, JSON_OBJECT);

	(void)file;
	(void)line;
	(void)text;
	(void)e;
	if (clock > tail_length(w->feed.server->tail) || w->rows == ROWS_MOST)
		return 1;
	w->rows++;
	w->clock = clock;
	if (!text_eq(json_get_text(about, "tenant", w->home), w->tenant))
		return 0;
	json_seti(a, row, "clock", (int64_t)clock);
	json_sets(a, row, "id", json_get_text(receipt, "decision_id", ""));
	json_sets(a, row, "kind", json_get_text(receipt, "type", ""));
	json_sets(a, row, "verdict", json_get_text(receipt, "verdict", ""));
	json_sets(a, row, "at", json_get_text(receipt, "timestamp", ""));
	json_sets(a, row, "who", json_get_text(receipt, "executor_id", ""));
	buf_addf(to, "id: %llu\nevent: %s\ndata: ", (unsigned long long)clock, event_of(receipt));
	json_write(to, row, 0);
	buf_adds(to, "\n\n");
	return 0;
}

static void read_more(struct feed *f)
{
	struct watching *w = (struct watching *)f;
	struct err e = { 0 };
	int64_t now = f->server->sys->mono_us(f->server->sys);

	w->rows = 0;
	if (tail_length(f->server->tail) > w->clock)
		(void)!receipts_from(f->server->sys, f->server->ws->state_fd, w->clock + 1, gather, w, &e);
	if (!f->text.n && (w->rows == ROWS_MOST || now - f->beat_us >= (int64_t)BEAT_S * 1000000))
		buf_adds(&f->text, ": here\n\n");
	if (f->text.n)
		f->beat_us = now;
}

static bool may_listen(struct feed *f)
{
	const struct watching *w = (struct watching *)f;

	return w->session ? console_is_alive(f->server, w->session, &f->asked_us) : feed_by_key(f);
}

static int events(struct call *c, struct err *e)
{
	const char *last = call_header(c, "Last-Event-ID");
	struct console_session who = { 0 };
	int64_t clock = (int64_t)tail_length(c->server->tail);

	last = last ? last : call_query(c, "since");
	if (last && (!text_int(last, &clock) || clock < 0))
		return call_refuse(c, e, 400, "BAD_REQUEST", "Last-Event-ID is the number of an event");
	struct watching *w = feed_new(c, sizeof(*w), read_more, may_listen);
	w->clock = (uint64_t)clock;
	w->tenant = arena_strdup(&w->feed.a, c->who.tenant);
	w->home = auth_home_tenant(c->server);
	if (console_has_cookie(c) && console_session_of(c, &who))
		w->session = who.number;
	buf_addf(&w->feed.text, "retry: 2000\nid: %lld\nevent: begin\ndata: {\"clock\":%lld}\n\n",
		(long long)clock, (long long)clock);
	feed_start(c, &w->feed);
	return OK;
}

const struct route http_console_events_routes[] = {
	{ "GET", "/api/v1/console/events", AUTH_TENANT, SCOPE_READ, RATE_STREAM, IS_STREAM, events,
		"what happens, as it happens; goes on from Last-Event-ID", NULL, NULL },
	{ 0 },
};
