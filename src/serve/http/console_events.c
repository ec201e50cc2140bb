/* console_events.c — what happens, as it happens, for pages that are open: short rows, not receipts.
 *
 * The id of an event is the clock of its receipt, so that Last-Event-ID goes on where the page stopped, with nothing lost and nothing twice.
 * Types: stopped, asked, answered, act; a comment at least every 15 seconds.  A session that ends hears nothing more. */
#include "base/text.h"
#include "serve/http/console.h"

#include <stdlib.h>
#include <string.h>

enum { BEAT_S = 15, ROWS_MOST = 500 };

struct watching {
	struct events stream;
	struct server *server;
	struct arena a, out;
	struct buf text;
	const char *tenant, *home;
	uint64_t clock;
	size_t sent, rows;
	int64_t beat_us, asked_us;
	uint64_t session; /* 0: a key, or the socket */
	const char *key_id;
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
	uint64_t clock = (uint64_t)json_get_int(receipt, "lamport_clock", 0);
	const struct json *about = json_get(receipt, "metadata");
	struct json *row = json_new(&w->out, JSON_OBJECT);

	(void)file;
	(void)line;
	(void)text;
	(void)e;
	if (clock > tail_length(w->server->tail) || w->rows == ROWS_MOST)
		return 1;
	w->rows++;
	w->clock = clock;
	if (!text_eq(json_get_text(about, "tenant", w->home), w->tenant))
		return 0;
	json_seti(&w->out, row, "clock", (int64_t)clock);
	json_sets(&w->out, row, "id", json_get_text(receipt, "decision_id", ""));
	json_sets(&w->out, row, "kind", json_get_text(receipt, "type", ""));
	json_sets(&w->out, row, "verdict", json_get_text(receipt, "verdict", ""));
	json_sets(&w->out, row, "at", json_get_text(receipt, "timestamp", ""));
	json_sets(&w->out, row, "who", json_get_text(receipt, "executor_id", ""));
	buf_addf(&w->text, "id: %llu\nevent: %s\ndata: ", (unsigned long long)clock, event_of(receipt));
	json_write(&w->text, row, 0);
	buf_adds(&w->text, "\n\n");
	return 0;
}

static void read_more(struct watching *w)
{
	struct err e = { 0 };
	int64_t now = w->server->sys->mono_us(w->server->sys);

	arena_reset(&w->out);
	buf_init(&w->text, &w->out);
	w->sent = w->rows = 0;
	if (tail_length(w->server->tail) > w->clock)
		(void)!receipts_from(w->server->sys, w->server->ws->state_fd, w->clock + 1, gather, w, &e);
	if (!w->text.n && (w->rows == ROWS_MOST || now - w->beat_us >= (int64_t)BEAT_S * 1000000))
		buf_adds(&w->text, ": here\n\n");
	if (w->text.n)
		w->beat_us = now;
}

static int64_t fill(struct events *s, char *to, size_t room)
{
	struct watching *w = (struct watching *)s;

	if (w->session ? !console_is_alive(w->server, w->session, &w->asked_us)
		       : !auth_still(w->server, w->key_id, SCOPE_READ, &w->asked_us))
		return -1;
	if (w->sent == w->text.n)
		read_more(w);
	size_t n = w->text.n - w->sent < room ? w->text.n - w->sent : room;
	memcpy(to, w->text.p + w->sent, n);
	w->sent += n;
	return (int64_t)n;
}

static void done(struct events *s)
{
	struct watching *w = (struct watching *)s;

	arena_done(&w->out);
	arena_done(&w->a);
	free(w);
}

static int events(struct call *c, struct err *e)
{
	const char *last = call_header(c, "Last-Event-ID");
	struct console_session who = { 0 };
	int64_t clock = (int64_t)tail_length(c->server->tail);

	last = last ? last : call_query(c, "since");
	if (last && (!text_int(last, &clock) || clock < 0))
		return call_refuse(c, e, 400, "BAD_REQUEST", "Last-Event-ID is the number of an event");
	struct watching *w = calloc(1, sizeof(*w));
	if (!w)
		BUG("out of memory");
	*w = (struct watching){ .stream = { fill, done }, .server = c->server, .clock = (uint64_t)clock };
	w->tenant = arena_strdup(&w->a, c->who.tenant);
	w->home = auth_home_tenant(c->server);
	if (console_has_cookie(c) && console_session_of(c, &who))
		w->session = who.number;
	else if (c->who.key_id)
		w->key_id = arena_strdup(&w->a, c->who.key_id);
	w->beat_us = w->asked_us = c->server->sys->mono_us(c->server->sys);
	buf_init(&w->text, &w->out);
	buf_addf(&w->text, "retry: 2000\nid: %lld\nevent: begin\ndata: {\"clock\":%lld}\n\n",
		(long long)clock, (long long)clock);
	call_stream(c, &w->stream);
	return OK;
}

const struct route http_console_events_routes[] = {
	{ "GET", "/api/v1/console/events", AUTH_TENANT, SCOPE_READ, RATE_STREAM, IS_STREAM, events,
		"what happens, as it happens; goes on from Last-Event-ID", NULL, NULL },
	{ 0 },
};
