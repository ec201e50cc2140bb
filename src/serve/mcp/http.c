/* http.c — guests over HTTP: the streamable transport at /mcp.
 *
 * One POST is one message.  A request is answered with one JSON document, or, when there may be something to hear before that (its progress, what a
 * server logs or asks), with a stream of events whose last one is the answer.  GET opens the stream of a session for what answers nothing.
 * Denials are answers: 200.  A page in a browser must not reach this by a name that leads here, so Host
 * and Origin are looked at. */
#include "serve/mcp/mcp.h"

#include "base/hash.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- who may come ---- */

/* A host, with a port or without. */
static bool is_this_machine(const char *host)
{
	static const char *const names[] = { "localhost", "127.0.0.1", "[::1]" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		size_t n = strlen(names[i]);
		if (strncasecmp(host, names[i], n) == 0 && (!host[n] || host[n] == ':'))
			return true;
	}
	return false;
}

static bool is_listed(const struct call *c, const char *origin)
{
	struct sys *s = c->server->sys;
	const char *more = s->getenv(s, "CORS_ORIGINS");
	struct bytes rest = bytes_of(more ? more : "");

	json_each (one, json_get(c->server->gateway->o, "origins"))
		if (json_text(one) && text_eq(json_text(one), origin))
			return true;
	while (rest.p)
		if (bytes_is(text_cut(&rest, ','), origin))
			return true;
	return false;
}

static int check_origin(struct call *c, struct err *e)
{
	const char *origin = call_header(c, "Origin"), *host = call_header(c, "Host");
	const char *name = origin ? strstr(origin, "://") : NULL;

	if (origin && !(name && is_this_machine(name + 3)) && !is_listed(c, origin))
		return call_refuse(c, e, 403, "FORBIDDEN", "this origin is not let in");
	if (c->peer.is_loopback && host && !is_this_machine(host) && !is_listed(c, host))
		return call_refuse(c, e, 403, "FORBIDDEN", "the Host is not this machine");
	if (!c->server->gateway)
		return call_refuse(c, e, 404, "NOT_FOUND", "no gateway to tools is open here");
	return OK;
}

/* Clients ask for a stream without knowing what it is good for: it is there where something may come by it, or was wanted. */
static bool has_stream(struct call *c)
{
	struct gateway *g = c->server->gateway;
	struct snapshot *s = snapshot_take(g);
	bool is_there = !c->server->o.is_open || json_get_bool(g->o, "stream", false);

	json_each_member (m, s ? json_get(s->registry, "servers") : NULL) {
		const struct json *passes = json_get(m->value, "passes");
		is_there |= passes && passes->n && is_served(g, m->name);
	}
	snapshot_drop(g, s);
	return is_there;
}

/* ---- which guest ---- */

/* Who has no session of the protocol's own is one guest for each caller: what tainted it stays. */
static struct guest *guest_of_caller(struct call *c, struct err *e)
{
	struct gateway *g = c->server->gateway;
	const char *who = arena_printf(c->a, "caller %s %s", c->who.tenant, c->who.principal);
	char id[33];

	snprintf(id, sizeof(id), "%.32s", sha256_hex(c->a, who, strlen(who)));
	struct guest *u = guest_find(g, id);
	if (u)
		return u;
	u = guest_new(g, c->who.principal, c->who.tenant, e);
	if (u) {
		pthread_mutex_lock(&g->lock);
		memcpy(u->id, id, sizeof(id));
		pthread_mutex_unlock(&g->lock);
	}
	return u;
}

static int find_guest(
	struct call *c, const struct rpc *m, bool is_stateless, struct guest **ret, struct err *e)
{
	struct gateway *g = c->server->gateway;
	const char *id = call_header(c, "Mcp-Session-Id");
	bool is_hello = m->kind == RPC_REQUEST && text_eq(m->method, "initialize");

	if (is_hello && !is_stateless)
		*ret = guest_new(g, c->who.principal, c->who.tenant, e);
	else if (id && !is_stateless)
		*ret = guest_find(g, id);
	else if (is_stateless || c->server->o.is_open)
		*ret = guest_of_caller(c, e);
	else
		return call_refuse(
			c, e, 400, "BAD_REQUEST", "Mcp-Session-Id is missing; begin with initialize");
	if (!*ret && e->rc)
		return call_refuse(
			c, e, 503, "CONCURRENCY_LIMIT_EXCEEDED", "%s", arena_strdup(c->a, e->text));
	if (!*ret || !text_eq((*ret)->principal, c->who.principal) ||
		!text_eq((*ret)->tenant, c->who.tenant)) {
		if (*ret)
			guest_drop(*ret);
		return call_refuse(
			c, e, 404, "NOT_FOUND", "this session is over, or was none; begin with initialize");
	}
	if (is_hello) {
		(*ret)->is_told = has_stream(c);
		call_send_header(c, "Mcp-Session-Id", arena_strdup(c->a, (*ret)->id));
	}
	return OK;
}

/* ---- one answer ---- */

static void answer_rpc(struct call *c, int status, struct json *message)
{
	call_answer(c, status, message);
}

static bool is_refusal_of_version(const struct flight *f)
{
	return json_get_int(json_get(f->answer, "error"), "code", 0) == RPC_VERSION;
}

/* The worker has left the call that the answer goes to. */
static void take_off(struct call *c, void (*done)(void *), void *arg)
{
	struct flight *f = c->owner;

	f->done = done;
	f->done_arg = arg;
	flight_go(f);
}

static void send_back(struct flight *f, struct bytes message, bool is_last)
{
	struct call *c = f->transport;

	if (!is_last)
		return; /* nobody listens to progress here */
	struct bytes copy = { 0 };
	if (message.p)
		copy = (struct bytes){
			(const uint8_t *)arena_strndup(c->a, (const char *)message.p, message.n), message.n
		};
	call_bytes(c,
		!message.p			   ? 202
			: is_refusal_of_version(f) ? 400
						   : 200,
		message.p ? "application/json" : NULL, copy);
	f->done(f->done_arg);
}

/* ---- a stream of events ---- */

enum { TELLING_MOST = 256 << 10, BEAT_S = 15 };
struct telling {
	struct events events;
	struct server *server;
	pthread_mutex_t lock;
	struct flight *f; /* NULL: its last message is here, or it is the stream of a session */
	struct guest *guest; /* of such a stream, until it ends */
	char key_id[65]; /* by which it was opened; "": by none that could end */
	int64_t asked_us, beat_us;
	char *p;
	size_t at, n, room;
	int refs; /* of the connection and of the flight */
};

static void telling_unref(struct telling *s)
{
	pthread_mutex_lock(&s->lock);
	bool is_last = --s->refs == 0;
	pthread_mutex_unlock(&s->lock);
	if (is_last) {
		free(s->p);
		free(s);
	}
}

/* Under its lock.  So that a client that is gone is found out, and those between do not think so of us. */
static size_t telling_beat(struct telling *s, char *to, size_t n, size_t room)
{
	static const char beat[] = ": still here\n\n";
	int64_t now = s->server->sys->mono_us(s->server->sys);

	if (!s->beat_us || n)
		s->beat_us = now;
	if (n || now - s->beat_us < BEAT_S * INT64_C(1000000) || room < strlen(beat))
		return 0;
	s->beat_us = now;
	memcpy(to, beat, strlen(beat));
	return strlen(beat);
}

static int64_t telling_fill(struct events *ev, char *to, size_t room)
{
	struct telling *s = (struct telling *)ev;

	if (s->key_id[0] && !auth_still(s->server, s->key_id, SCOPE_EVALUATE, &s->asked_us))
		return -1;
	pthread_mutex_lock(&s->lock);
	size_t n = s->n - s->at < room ? s->n - s->at : room;
	if (n)
		memcpy(to, s->p + s->at, n);
	s->at += n;
	n += telling_beat(s, to, n, room);
	bool is_over = !n && !s->f && !s->guest;
	pthread_mutex_unlock(&s->lock);
	return is_over ? -1 : (int64_t)n;
}

/* The stream of a session: the lock of the gateway keeps `teller` and `tell` together. */
static void leave_stream(struct guest *u, struct telling *s)
{
	pthread_mutex_lock(&u->g->lock);
	bool is_mine = u->teller == s;
	u->g->streams--;
	if (is_mine) {
		u->tell = NULL;
		u->teller = NULL;
	}
	pthread_mutex_unlock(&u->g->lock);
	if (is_mine)
		telling_unref(s);
	guest_drop(u);
}

/* The client closed it: in the newer era that is how a request is called off. */
static void telling_done(struct events *ev)
{
	struct telling *s = (struct telling *)ev;
	struct gateway *g = NULL;

	pthread_mutex_lock(&s->lock);
	if (s->f) {
		__atomic_store_n(&s->f->is_cancelled, 1, __ATOMIC_SEQ_CST);
		g = s->f->g;
	}
	struct guest *guest = s->guest;
	s->guest = NULL;
	pthread_mutex_unlock(&s->lock);
	if (g)
		upstreams_wake(g);
	if (guest)
		leave_stream(guest, s);
	telling_unref(s);
}

static void telling_add(struct telling *s, const void *from, size_t n)
{
	if (s->n + n > s->room) {
		s->room = 2 * (s->n + n);
		s->p = realloc(s->p, s->room);
		if (!s->p)
			mem_exhausted(0);
	}
	memcpy(s->p + s->n, from, n);
	s->n += n;
}

/* Under its lock.  Who does not read misses what answers nothing, and never an answer. */
static void telling_put(struct telling *s, struct bytes message, bool is_answer)
{
	static const char before[] = "event: message\ndata: ", after[] = "\n\n";

	if (s->at == s->n)
		s->at = s->n = 0;
	if (!message.p || (!is_answer && s->n >= TELLING_MOST))
		return;
	telling_add(s, before, strlen(before));
	telling_add(s, message.p, message.n);
	telling_add(s, after, strlen(after));
}

static void telling_send(struct flight *f, struct bytes message, bool is_last)
{
	struct telling *s = f->transport;
	struct server *server = s->server;

	pthread_mutex_lock(&s->lock);
	telling_put(s, message, is_last);
	if (is_last)
		s->f = NULL;
	pthread_mutex_unlock(&s->lock);
	listen_wake(server);
	if (is_last)
		telling_unref(s);
}

static void answer_by_stream(struct call *c, struct flight *f)
{
	struct telling *s = calloc(1, sizeof(*s));

	if (!s)
		mem_exhausted(0);
	*s = (struct telling){
		.events = { telling_fill, telling_done }, .server = c->server, .f = f, .refs = 2
	};
	pthread_mutex_init(&s->lock, NULL);
	f->send = telling_send;
	f->can_hear = true;
	f->transport = s;
	call_stream(c, &s->events);
	flight_go(f);
}

/* ---- one message ---- */

static int refuse_rpc(struct call *c, int status, const struct json *id, int code, const char *text)
{
	answer_rpc(c, status, rpc_error(c->a, id, code, text));
	return OK;
}

/* The newer era says some of it twice, and both must agree. */
static const char *disagreement(const struct call *c, const struct rpc *m)
{
	const struct json *meta = json_get(m->params, "_meta");
	const char *body = json_get_text(meta, "io.modelcontextprotocol/protocolVersion", NULL),
		   *version = call_header(c, "Mcp-Protocol-Version"), *method = call_header(c, "Mcp-Method"),
		   *name = call_header(c, "Mcp-Name");

	if (!body)
		return NULL;
	if (version && !text_eq(version, body))
		return "Mcp-Protocol-Version is not the version of the message";
	if (method && !text_eq(method, m->method))
		return "Mcp-Method is not the method of the message";
	if (name && text_eq(m->method, "tools/call") && !text_eq(name, json_get_text(m->params, "name", "")))
		return "Mcp-Name is not the tool of the message";
	return NULL;
}

static bool is_known_version(const char *version)
{
	return !version || mcp_speaks(version) || text_eq(version, MCP_STATELESS);
}

/* Is there something to hear before the answer? */
static bool may_stream(const struct flight *f)
{
	bool does_something = text_eq(f->rpc.method, "tools/call") || text_eq(f->rpc.method, "prompts/get") ||
		text_eq(f->rpc.method, "resources/read");

	return f->progress_token ||
		(does_something && !f->is_stateless &&
			(some_pass(f, "logging") || some_pass(f, "sampling") || some_pass(f, "elicitation")));
}

static int post(struct call *c, struct err *e)
{
	const char *accept = call_header(c, "Accept"), *version = call_header(c, "Mcp-Protocol-Version");
	struct guest *u = NULL;
	struct rpc m;
	int rc = check_origin(c, e);

	if (rc)
		return rc;
	if (c->raw.n > MCP_LINE_MOST)
		return call_refuse(c, e, 413, "TOO_LARGE", "a message has at most 4 MiB");
	rpc_read(c->a, c->raw, &m);
	if (m.kind == RPC_BAD)
		return refuse_rpc(c, 400, m.id, m.code, m.why);
	bool is_stateless =
		json_get(json_get(m.params, "_meta"), "io.modelcontextprotocol/protocolVersion") != NULL;
	const char *wrong = disagreement(c, &m);
	if (wrong)
		return refuse_rpc(c, 400, m.id, RPC_HEADERS, wrong);
	if (!is_stateless && !is_known_version(version))
		return refuse_rpc(
			c, 400, m.id, RPC_INVALID_REQUEST, "this version of the protocol is not spoken here");
	rc = find_guest(c, &m, is_stateless, &u, e);
	if (rc)
		return rc;
	if (m.kind != RPC_REQUEST) {
		/* Whoever has no session calls off by closing: an id of theirs may be another's, too. */
		if (!is_stateless && call_header(c, "Mcp-Session-Id"))
			guest_heard(u, &m);
		guest_drop(u);
		call_bytes(c, 202, NULL, (struct bytes){ 0 });
		return OK;
	}
	struct flight *f = flight_new(u, c->raw, c->who.scopes);
	/* A gateway for this machine is its user's own.  At a door with keys, what tells of everybody's receipts is the administrator's. */
	f->has_own = c->server->o.is_open || c->who.scopes & SCOPE_ADMIN;
	f->call.peer = c->peer;
	f->call.who.key_id = c->who.key_id ? arena_strdup(&f->a, c->who.key_id) : NULL;
	call_send_header(
		c, "Mcp-Protocol-Version", is_stateless ? MCP_STATELESS : arena_strdup(c->a, u->version));
	if (may_stream(f) && accept && strstr(accept, "text/event-stream")) {
		answer_by_stream(c, f);
		return OK;
	}
	f->call.fd = c->fd;
	f->send = send_back;
	f->transport = c;
	c->owner = f;
	c->defer = take_off;
	return OK;
}

/* ---- the stream of a session ---- */

/* Under the lock of the gateway. */
static void tell_stream(struct guest *u, struct bytes line)
{
	struct telling *s = u->teller;

	pthread_mutex_lock(&s->lock);
	telling_put(s, line, false);
	pthread_mutex_unlock(&s->lock);
	listen_wake(s->server);
}

/* It hears no more: another one takes its place, or the session is over.  Under the lock of the gateway; the reference of the guest is the caller's then. */
static struct telling *end_stream(struct guest *u)
{
	struct telling *old = u->teller;

	u->tell = NULL;
	u->teller = NULL;
	return old;
}

static void finish_stream(struct telling *s)
{
	if (!s)
		return;
	pthread_mutex_lock(&s->lock);
	struct guest *u = s->guest;
	s->guest = NULL;
	pthread_mutex_unlock(&s->lock);
	listen_wake(s->server);
	if (u) {
		pthread_mutex_lock(&u->g->lock);
		u->g->streams--;
		pthread_mutex_unlock(&u->g->lock);
		guest_drop(u);
	}
	telling_unref(s);
}

static int open_stream(struct call *c, struct err *e)
{
	struct guest *u = guest_find(c->server->gateway, call_header(c, "Mcp-Session-Id"));
	struct telling *s;

	if (!u || !text_eq(u->principal, c->who.principal) || !text_eq(u->tenant, c->who.tenant)) {
		if (u)
			guest_drop(u);
		return call_refuse(c, e, 404, "NOT_FOUND", "there is no such session");
	}
	pthread_mutex_lock(&u->g->lock);
	bool is_full = u->g->streams >= MCP_STREAMS;
	u->g->streams += !is_full;
	pthread_mutex_unlock(&u->g->lock);
	if (is_full) {
		guest_drop(u);
		call_send_header(c, "Allow", "POST, DELETE");
		return call_refuse(c, e, 405, "METHOD_NOT_ALLOWED", "there are too many streams");
	}
	s = calloc(1, sizeof(*s));
	if (!s)
		mem_exhausted(0);
	*s = (struct telling){
		.events = { telling_fill, telling_done }, .server = c->server, .guest = u, .refs = 2
	};
	pthread_mutex_init(&s->lock, NULL);
	snprintf(s->key_id, sizeof(s->key_id), "%s", c->who.key_id ? c->who.key_id : "");
	s->asked_us = c->server->sys->mono_us(c->server->sys);
	pthread_mutex_lock(&u->g->lock);
	struct telling *old = end_stream(u);
	u->teller = s;
	u->tell = tell_stream;
	pthread_mutex_unlock(&u->g->lock);
	finish_stream(old);
	call_stream(c, &s->events);
	return OK;
}

static int get(struct call *c, struct err *e)
{
	const char *accept = call_header(c, "Accept");
	struct json *doc = json_new(c->a, JSON_OBJECT), *versions = json_new(c->a, JSON_ARRAY);
	int rc = check_origin(c, e);

	if (rc)
		return rc;
	if (accept && strstr(accept, "text/event-stream")) {
		if (call_header(c, "Mcp-Session-Id") && has_stream(c))
			return open_stream(c, e);
		call_send_header(c, "Allow", "POST, DELETE");
		return call_refuse(c, e, 405, "METHOD_NOT_ALLOWED",
			"a stream is opened for a session: send Mcp-Session-Id");
	}
	mcp_push_versions(c->a, versions);
	json_sets(c->a, doc, "server_name", "helm-governance");
	json_sets(c->a, doc, "version", HELM_VERSION);
	json_sets(c->a, doc, "mcp_endpoint", "/mcp");
	json_set(c->a, doc, "supported_protocol_versions", versions);
	json_sets(c->a, doc, "auth_mode", c->server->o.is_open ? "none" : "static-header");
	call_answer(c, 200, doc);
	return OK;
}

static int end_session(struct call *c, struct err *e)
{
	const char *id = call_header(c, "Mcp-Session-Id");
	int rc = check_origin(c, e);

	if (rc)
		return rc;
	struct guest *u = id ? guest_find(c->server->gateway, id) : NULL;
	bool is_mine = u && text_eq(u->principal, c->who.principal) && text_eq(u->tenant, c->who.tenant);
	struct telling *heard = NULL;
	if (is_mine) {
		pthread_mutex_lock(&u->g->lock);
		heard = end_stream(u);
		pthread_mutex_unlock(&u->g->lock);
		guest_end(u);
	}
	finish_stream(heard);
	if (u)
		guest_drop(u);
	if (!is_mine)
		return call_refuse(c, e, 404, "NOT_FOUND", "there is no such session");
	call_bytes(c, 200, NULL, (struct bytes){ 0 });
	return OK;
}

const struct route http_mcp_gateway_routes[] = {
	{ "POST", "/mcp", AUTH_TENANT, SCOPE_EVALUATE, RATE_KERNEL, TAKES_BYTES, post,
		"one message of the Model Context Protocol to the gateway", NULL, NULL },
	{ "GET", "/mcp", AUTH_TENANT, SCOPE_EVALUATE, RATE_KERNEL, 0, get, "what the gateway speaks", NULL,
		NULL },
	{ "DELETE", "/mcp", AUTH_TENANT, SCOPE_EVALUATE, RATE_KERNEL, 0, end_session,
		"end a session of the gateway", NULL, NULL },
	{ 0 },
};
