/* listen.c — HTTP by libmicrohttpd: the only file that knows it.
 *
 * One thread at a time reads requests and sends answers for a listener (poll.c); it never waits for a decision meanwhile.  A request that was read whole is answered by
 * the thread that read it, where it is alone, and otherwise handed to a worker; its connection is asleep until the answer is there.  So ten
 * thousand connections that say nothing cost memory and nothing else.
 *
 * Who calls too often, or brings nothing that opens the route, is refused by the headers, and nothing of the body is kept.  A body that is too
 * large, or comes too slowly, ends its connection.  Streams sleep until the chain has grown. */
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "serve/fleet/fleet.h"
#include "serve/parts.h"
#include "serve/proxy/proxy.h"
#include "serve/tls.h"
#include "serve/witness/witness.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <microhttpd.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	PATIENCE_S = 30,
	LISTENERS = 8,
	FIRST_INHERITED = 3, /* sd_listen_fds(3) */
	POOL_BYTES = 16 << 10,
	STREAM_BLOCK = 16 << 10,
	STREAM_POOL = 48 << 10, /* of a proxy: a whole block fits into what is sent */
	SPARE_FDS = 512,
	DRAIN_MOST = 16 << 20
};

struct listener {
	struct MHD_Daemon *daemon;
	struct poller *poller; /* runs it */
	struct server *server;
	bool is_local, is_inherited;
	int quiet_fd;
};

/* One request, from its first line until its answer has left. */
struct conn {
	struct listener *from;
	struct MHD_Connection *mc;
	struct arena a;
	struct call call;
	struct buf body;
	size_t most_bytes;
	int64_t began_us;
	bool is_too_large, is_too_much, is_answered;
	size_t drained_bytes;
	int refs;
	/* of a stream */
	bool is_streaming, is_asleep;
	struct conn *next, **self;
};

static struct listener listeners[LISTENERS];
static size_t listener_count;
static pthread_mutex_t streams_lock = PTHREAD_MUTEX_INITIALIZER;
static struct conn *streams;
static size_t stream_count;
static bool streams_end;
static size_t held_bytes; /* of bodies, of all connections */
static size_t held_most; /* HELM_LIMIT_BODIES, or HELD_MOST */
static int64_t patience_s; /* HELM_LIMIT_SECONDS, or PATIENCE_S: of silence, and for a whole request */

/* ---- what came ---- */

struct collecting {
	struct arena *a;
	struct pair *list;
	size_t n, room;
	bool is_query;
};

static enum MHD_Result collect(void *arg, enum MHD_ValueKind kind, const char *name, const char *value)
{
	struct collecting *c = arg;

	(void)kind;
	if (c->n == c->room) {
		c->list = arena_grow(
			c->a, c->list, c->n * sizeof(*c->list), 2 * (c->room + 8) * sizeof(*c->list));
		c->room = 2 * (c->room + 8);
	}
	value = value ? value : "";
	c->list[c->n++] = c->is_query ? (struct pair){ query_decoded(c->a, name), query_decoded(c->a, value) }
				      : (struct pair){ arena_strdup(c->a, name), arena_strdup(c->a, value) };
	return MHD_YES;
}

static size_t pairs_of(struct conn *x, enum MHD_ValueKind kind, struct pair **ret)
{
	struct collecting c = { .a = &x->a, .is_query = kind == MHD_GET_ARGUMENT_KIND };

	c.list = arena_alloc(&x->a, sizeof(*c.list));
	(void)MHD_get_connection_values(x->mc, kind, collect, &c);
	*ret = c.list;
	return c.n;
}

static void look_at_peer(struct conn *x)
{
	struct peer *p = &x->call.peer;
	const union MHD_ConnectionInfo *fd =
		MHD_get_connection_info(x->mc, MHD_CONNECTION_INFO_CONNECTION_FD);
	x->call.fd = fd ? fd->connect_fd : -1;
	const union MHD_ConnectionInfo *from =
		MHD_get_connection_info(x->mc, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
	char text[NI_MAXHOST] = "";

	if (x->from->is_local) {
		struct ucred who;
		socklen_t n = sizeof(who);
		if (fd && getsockopt(fd->connect_fd, SOL_SOCKET, SO_PEERCRED, &who, &n) == 0) {
			p->is_local = true;
			p->uid = who.uid;
			p->address = arena_printf(&x->a, "user:%u", who.uid);
		}
		return;
	}
	p->is_tls = x->from->server->o.tls_cert != NULL;
	const union MHD_ConnectionInfo *tls =
		p->is_tls ? MHD_get_connection_info(x->mc, MHD_CONNECTION_INFO_GNUTLS_SESSION) : NULL;
	if (tls && x->from->server->o.tls_client_ca)
		p->certificate = tls_peer(&x->a, tls->tls_session, &p->no_certificate);
	if (from && from->client_addr &&
		getnameinfo(from->client_addr,
			from->client_addr->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
								 : sizeof(struct sockaddr_in),
			text, sizeof(text), NULL, 0, NI_NUMERICHOST) == 0)
		p->address = arena_strdup(&x->a, text);
	p->is_loopback =
		text_starts(text, "127.") || text_eq(text, "::1") || text_starts(text, "::ffff:127.");
}

static bool is_plain_id(const char *s)
{
	size_t n = strlen(s);

	return n && n <= 128 &&
		strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:-") == n;
}

static const char *new_id(struct conn *x)
{
	struct sys *s = x->from->server->sys;
	uint8_t bytes[16];
	char hex[2 * sizeof(bytes) + 1];

	if (s->random(s, bytes, sizeof(bytes)))
		return "unknown";
	hex_encode(bytes, sizeof(bytes), hex);
	return arena_strdup(&x->a, hex);
}

static const char *id_or_new(struct conn *x, const char *header)
{
	const char *given = call_header(&x->call, header);

	return given && is_plain_id(given) ? given : new_id(x);
}

static struct conn *begin(
	struct listener *from, struct MHD_Connection *mc, const char *url, const char *method)
{
	struct conn *x = calloc(1, sizeof(*x));
	struct call *c = &x->call;

	if (!x)
		mem_exhausted(0);
	x->from = from;
	x->mc = mc;
	x->refs = 1;
	x->began_us = from->server->sys->mono_us(from->server->sys);
	c->server = from->server;
	c->a = &x->a;
	c->method = arena_strdup(&x->a, method);
	c->path = arena_strdup(&x->a, url);
	c->header_count = pairs_of(x, MHD_HEADER_KIND, &c->headers);
	c->query_count = pairs_of(x, MHD_GET_ARGUMENT_KIND, &c->query);
	c->request_id = new_id(x);
	c->correlation_id = id_or_new(x, "X-Helm-Correlation-ID");
	look_at_peer(x);
	if (from->server->o.proxy)
		c->route = proxy_route(c->method, c->path);
	else if (from->server->o.fleet)
		c->route = fleet_route(&x->a, c->method, c->path, c->args, &c->allowed);
	else if (from->server->o.witness)
		c->route = witness_route(&x->a, c->method, c->path, c->args, &c->allowed);
	else if (!c->server->o.is_open || text_eq(c->path, "/mcp"))
		c->route = route_find(&x->a, c->method, c->path, c->args, &c->allowed);
	x->most_bytes = c->route && c->route->flags & TAKES_BYTES ? BYTES_MOST : BODY_MOST;
	buf_init(&x->body, &x->a);
	__atomic_add_fetch(&from->server->count.requests, 1, __ATOMIC_RELAXED);
	return x;
}

static void forget_stream(struct conn *x)
{
	pthread_mutex_lock(&streams_lock);
	if (x->is_streaming) {
		*x->self = x->next;
		if (x->next)
			x->next->self = x->self;
		stream_count -= !x->call.stream->is_many;
		tail_heed(x->from->server->tail, stream_count > 0);
	}
	x->is_streaming = x->is_asleep = false;
	pthread_mutex_unlock(&streams_lock);
}

static struct conn *conn_of(struct call *c)
{
	return (struct conn *)((char *)c - offsetof(struct conn, call));
}

void call_keep(struct call *c)
{
	__atomic_add_fetch(&conn_of(c)->refs, 1, __ATOMIC_RELAXED);
}

void call_release(struct call *c)
{
	struct conn *x = conn_of(c);

	if (__atomic_sub_fetch(&x->refs, 1, __ATOMIC_ACQ_REL))
		return;
	__atomic_sub_fetch(&held_bytes, x->body.n, __ATOMIC_RELAXED);
	if (c->drop)
		c->drop(c->owner);
	arena_done(&x->a);
	free(x);
}

int listen_fd(struct call *c)
{
	return c->fd;
}

static void on_done(
	void *cls, struct MHD_Connection *mc, void **con_cls, enum MHD_RequestTerminationCode code)
{
	struct conn *x = *con_cls;

	(void)cls;
	(void)mc;
	(void)code;
	if (!x)
		return;
	wire_answered(x->call.fd);
	forget_stream(x);
	if (x->call.stream)
		x->call.stream->done(x->call.stream);
	call_release(&x->call);
	*con_cls = NULL;
}

static void on_connection(
	void *cls, struct MHD_Connection *mc, void **context, enum MHD_ConnectionNotificationCode code)
{
	const struct listener *l = cls;
	const union MHD_ConnectionInfo *fd = MHD_get_connection_info(mc, MHD_CONNECTION_INFO_CONNECTION_FD);

	if (code == MHD_CONNECTION_NOTIFY_STARTED) {
		*context = wire_open(fd ? fd->connect_fd : -1, !l->is_local && l->server->o.tls_cert);
	} else {
		wire_close(*context);
		*context = NULL;
	}
}

/* ---- what goes ---- */

static const struct pair always[] = { { "X-Content-Type-Options", "nosniff" }, { "X-Frame-Options", "DENY" },
	{ "Content-Security-Policy", "default-src 'self'" },
	{ "Referrer-Policy", "strict-origin-when-cross-origin" },
	{ "Permissions-Policy", "camera=(), microphone=(), geolocation=()" } };

static bool is_listed(const char *list, const char *word)
{
	struct bytes rest = bytes_of(list);

	while (rest.p)
		if (bytes_is(text_cut(&rest, ','), word))
			return true;
	return false;
}

/* A page says more exactly what it may do. */
static bool is_sent(const struct call *c, const char *name)
{
	for (size_t i = 0; i < c->sent_count; i++)
		if (strcasecmp(c->sent[i].name, name) == 0)
			return true;
	return false;
}

static void add_headers(struct conn *x, struct MHD_Response *r)
{
	struct call *c = &x->call;
	struct sys *s = c->server->sys;
	const char *origins = s->getenv(s, "CORS_ORIGINS"), *origin = call_header(c, "Origin");
	const char *id = call_header(c, "X-Request-ID");
	bool has_cache = false;

	for (size_t i = 0; i < ARRAY_SIZE(always); i++)
		if (!is_sent(c, always[i].name))
			(void)MHD_add_response_header(r, always[i].name, always[i].value);
	/* Who gave it a name knows the answer by that name (AuthZEN); behind the proxy it is the vendor's. */
	(void)MHD_add_response_header(
		r, "X-Request-ID", id && is_plain_id(id) && !c->server->o.proxy ? id : c->request_id);
	(void)MHD_add_response_header(r, "X-Helm-Correlation-ID", c->correlation_id);
	for (size_t i = 0; i < c->sent_count; i++) {
		(void)MHD_add_response_header(r, c->sent[i].name, c->sent[i].value);
		has_cache |= strcasecmp(c->sent[i].name, "Cache-Control") == 0;
	}
	if (!has_cache)
		(void)MHD_add_response_header(r, "Cache-Control", "no-store");
	if (c->peer.is_tls)
		(void)MHD_add_response_header(r, "Strict-Transport-Security", "max-age=31536000");
	if (origins && origin && is_listed(origins, origin)) {
		(void)MHD_add_response_header(r, "Access-Control-Allow-Origin", origin);
		(void)MHD_add_response_header(r, "Vary", "Origin");
	}
	if (c->type)
		(void)MHD_add_response_header(r, "Content-Type", c->type);
}

/* Bytes, or sleep until there are some.  Under the lock, so that what comes between looking and sleeping is not missed. */
static ssize_t fill_stream(void *cls, uint64_t at, char *to, size_t room)
{
	struct conn *x = cls;

	(void)at;
	pthread_mutex_lock(&streams_lock);
	int64_t n = streams_end ? -1 : x->call.stream->fill(x->call.stream, to, room);
	if (n == 0) {
		x->is_asleep = true;
		MHD_suspend_connection(x->mc);
	}
	pthread_mutex_unlock(&streams_lock);
	return n < -1	? MHD_CONTENT_READER_END_WITH_ERROR
		: n < 0 ? MHD_CONTENT_READER_END_OF_STREAM
			: (ssize_t)n;
}

/* Whoever calls may hold what a stream needs to be filled: another thread sends. */
void listen_wake(void *server)
{
	bool is_woken[LISTENERS] = { false };

	(void)server;
	pthread_mutex_lock(&streams_lock);
	for (struct conn *x = streams; x; x = x->next)
		if (x->is_asleep && (!x->call.stream->is_many || streams_end)) {
			x->is_asleep = false;
			MHD_resume_connection(x->mc);
			is_woken[x->from - listeners] = true;
		}
	for (size_t i = 0; i < LISTENERS;
		i++) /* their number belongs to the thread that starts and stops them */
		if (is_woken[i])
			poller_wake(listeners[i].poller);
	pthread_mutex_unlock(&streams_lock); /* not before: listen_stop() ends the pollers behind it */
}

void listen_wake_one(struct call *c, bool is_here)
{
	struct conn *x = conn_of(c);

	pthread_mutex_lock(&streams_lock);
	bool was_asleep = x->is_asleep;
	if (was_asleep) {
		x->is_asleep = false;
		MHD_resume_connection(x->mc);
	}
	pthread_mutex_unlock(&streams_lock);
	if (was_asleep)
		(is_here ? poller_run : poller_wake)(x->from->poller);
}

static struct MHD_Response *stream_response(struct conn *x)
{
	pthread_mutex_lock(&streams_lock);
	x->next = streams;
	x->self = &streams;
	if (streams)
		streams->self = &x->next;
	streams = x;
	stream_count += !x->call.stream->is_many;
	tail_heed(x->from->server->tail, stream_count > 0);
	x->is_streaming = true;
	pthread_mutex_unlock(&streams_lock);
	(void)MHD_set_connection_option(x->mc, MHD_CONNECTION_OPTION_TIMEOUT, 0u);
	return MHD_create_response_from_callback(
		MHD_SIZE_UNKNOWN, x->call.stream->is_many ? STREAM_BLOCK : 4096, fill_stream, x, NULL);
}

static void too_busy(struct conn *x, const char *why)
{
	struct call *c = &x->call;
	struct err e = { 0 };

	__atomic_add_fetch(&c->server->count.refused_busy, 1, __ATOMIC_RELAXED);
	call_send_header(c, "Retry-After", "1");
	call_send_header(c, "X-Helm-Limiter-Reason", why);
	(void)call_refuse(c, &e, 503, why, "too much is waiting; try again after 1 s");
	call_error(c, &e, NULL);
}

static enum MHD_Result send_answer(struct conn *x)
{
	struct call *c = call_with_answer(&x->call);
	struct MHD_Response *r;

	pthread_mutex_lock(&streams_lock);
	bool is_full = stream_count >= STREAMS_MOST;
	pthread_mutex_unlock(&streams_lock);
	if (c->stream && is_full && !c->stream->is_many) {
		c->stream->done(c->stream);
		c->stream = NULL;
		too_busy(x, "CONCURRENCY_LIMIT_EXCEEDED");
	}
	r = c->stream ? stream_response(x)
		      : MHD_create_response_from_buffer(c->answer.n,
				(void *)(uintptr_t)(c->answer.n ? (const void *)c->answer.p : ""),
				MHD_RESPMEM_PERSISTENT);
	if (!r)
		return MHD_NO;
	add_headers(x, r);
	enum MHD_Result rc = MHD_queue_response(x->mc, (unsigned)c->status, r);
	MHD_destroy_response(r);
	return rc;
}

/* ---- in between ---- */

static void wake_up(void *arg)
{
	struct conn *x = arg;

	x->is_answered = true;
	MHD_resume_connection(x->mc);
}

/* Who has read it sends it, when all that it answers are answered (poll.c).  A worker goes on with the next requests, while another thread sends: that one is
 * woken once for all of them. */
static void on_answered(void *arg)
{
	static _Thread_local struct poller *due;
	struct conn *x = arg;
	struct poller *p = x->from->poller;

	wake_up(x); /* from here on it may be gone */
	if (due && due != p)
		poller_wake(due);
	due = work_more_follow() ? p : NULL;
	if (!due && !(poller_is_own(p) && work_is_last()))
		poller_wake(p);
}

static enum MHD_Result refuse_size(struct conn *x)
{
	struct err e = { 0 };

	(void)call_refuse(
		&x->call, &e, 413, "TOO_LARGE", "a body of this route has at most %zu bytes", x->most_bytes);
	call_error(&x->call, &e, NULL);
	x->is_answered = true;
	return send_answer(x);
}

/* So many bytes are announced, 0 when nothing is said. */
static int64_t announced(const struct conn *x)
{
	const char *length = call_header(&x->call, "Content-Length");
	int64_t n;

	return length && text_int(length, &n) ? n : 0;
}

static enum MHD_Result refuse_ambiguous(struct conn *x, const char *why)
{
	struct err e = { 0 };

	call_send_header(&x->call, "Connection", "close");
	(void)call_refuse(&x->call, &e, 400, "BAD_REQUEST", "%s", why);
	call_error(&x->call, &e, NULL);
	x->is_answered = true;
	return send_answer(x);
}

/* A caller hears a refusal only when it has sent everything, so what it sends is read away, up to a bound.  One that waits to be told to send is told
 * at once. */
static enum MHD_Result refuse_by_headers(struct conn *x, bool *ret_is_refused)
{
	struct call *c = &x->call;
	struct err e = { 0 };
	int rc = limited(c, limiter_ask_address(c->server->limiter, c), "GLOBAL_RATE_LIMIT_EXCEEDED", &e);

	if (rc == OK)
		rc = auth_at_headers(c, &e);
	*ret_is_refused = rc != OK;
	if (rc == OK)
		return MHD_YES;
	call_error(c, &e, NULL);
	x->is_answered = true;
	return call_header(c, "Expect") ? send_answer(x) : MHD_YES;
}

static enum MHD_Result drain(struct conn *x, size_t n)
{
	x->drained_bytes += n;
	return x->drained_bytes > DRAIN_MOST ? MHD_NO : MHD_YES;
}

static enum MHD_Result take_body(struct conn *x, const char *data, size_t n)
{
	struct sys *s = x->from->server->sys;

	if (s->mono_us(s) - x->began_us > patience_s * 1000000)
		return MHD_NO;
	if (x->is_answered)
		return drain(x, n);
	if (x->is_too_large || x->body.n + n > x->most_bytes) {
		x->is_too_large = true;
		return drain(x, n);
	}
	/* Bodies of all connections together have a bound, too. */
	if (x->is_too_much || __atomic_load_n(&held_bytes, __ATOMIC_RELAXED) + n > held_most) {
		x->is_too_much = true;
		return drain(x, n);
	}
	__atomic_add_fetch(&held_bytes, n, __ATOMIC_RELAXED);
	buf_add(&x->body, data, n);
	return MHD_YES;
}

static enum MHD_Result on_request(void *cls, struct MHD_Connection *mc, const char *url, const char *method,
	const char *version, const char *data, size_t *n, void **con_cls)
{
	struct conn *x = *con_cls;
	bool is_refused;

	(void)version;
	if (!x) {
		*con_cls = x = begin(cls, mc, url, method);
		const char *why =
			wire_take(x->call.fd) ? call_ambiguity(&x->call) : "its bytes were not checked";
		if (why)
			return refuse_ambiguous(x, why);
		enum MHD_Result rc = refuse_by_headers(x, &is_refused);
		if (is_refused)
			return rc;
		x->is_too_large = announced(x) > (int64_t)x->most_bytes;
		return announced(x) > DRAIN_MOST + (int64_t)x->most_bytes ? refuse_size(x) : MHD_YES;
	}
	if (x->is_answered && !*n)
		return send_answer(x);
	if (*n) {
		enum MHD_Result rc = take_body(x, data, *n);
		*n = 0;
		return rc;
	}
	if (x->is_too_large)
		return refuse_size(x);
	if (x->is_too_much) {
		too_busy(x, "LOW_PRIORITY_LOAD_SHED");
		x->is_answered = true;
		return send_answer(x);
	}
	x->call.raw = buf_bytes(&x->body);
	MHD_suspend_connection(mc);
	if (poller_take(x) || work_put(x->from->server, &x->call, on_answered, x))
		return MHD_YES;
	too_busy(x, "LOW_PRIORITY_LOAD_SHED");
	wake_up(x);
	poller_wake(x->from->poller);
	return MHD_YES;
}

/* Those that were read whole in one go, by the thread that read them. */
static void answer_read(struct worker *w, void **what, size_t n, bool is_alone)
{
	struct conn *first = what[0];
	struct job jobs[WORK_ALL_MOST];

	if (n == 1 && !is_alone && work_here(w, &first->call, on_answered, first))
		return;
	for (size_t i = 0; i < n; i++)
		jobs[i] = (struct job){
			.c = &((struct conn *)what[i])->call, .done = on_answered, .arg = what[i]
		};
	work_all(w, first->from->server, jobs, n, !is_alone);
	for (size_t i = 0; i < n; i++)
		if (jobs[i].is_refused) {
			too_busy(what[i], "LOW_PRIORITY_LOAD_SHED");
			wake_up(what[i]);
		}
}

/* Paths are decoded segment by segment (route.c), so that %2F does not become a slash. */
static size_t keep_escapes(void *cls, struct MHD_Connection *mc, char *text)
{
	(void)cls;
	(void)mc;
	return strlen(text);
}

/* ---- listening ---- */

/* As many connections as there can be descriptors, but for those that the record and the workers need. */
static unsigned connection_limit(void)
{
	size_t most = work_descriptors();

	if (most > 100000)
		return 100000 - SPARE_FDS;
	return (unsigned)(most > 2 * SPARE_FDS ? most - SPARE_FDS : most / 2);
}

static bool run(void *arg)
{
	struct listener *l = arg;
	MHD_UNSIGNED_LONG_LONG wait_ms = 1;

	return MHD_run(l->daemon) == MHD_YES && MHD_get_timeout(l->daemon, &wait_ms) == MHD_YES && !wait_ms;
}

static int start(struct server *s, struct listener *l, unsigned flags, uint16_t port,
	struct MHD_OptionItem *options, struct err *e)
{
	l->server = s;
	l->daemon = MHD_start_daemon(MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | flags, port, NULL, NULL,
		on_request, l, MHD_OPTION_NOTIFY_COMPLETED, on_done, NULL, MHD_OPTION_NOTIFY_CONNECTION,
		on_connection, l, MHD_OPTION_UNESCAPE_CALLBACK, keep_escapes, NULL,
		MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)patience_s, MHD_OPTION_CONNECTION_LIMIT,
		connection_limit(), MHD_OPTION_CONNECTION_MEMORY_LIMIT,
		(size_t)(s->o.proxy ? STREAM_POOL : POOL_BYTES), MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1,
		MHD_OPTION_STRICT_FOR_CLIENT, 0, MHD_OPTION_ARRAY, options, MHD_OPTION_END);
	const union MHD_DaemonInfo *set =
		l->daemon ? MHD_get_daemon_info(l->daemon, MHD_DAEMON_INFO_EPOLL_FD) : NULL;
	if (!set)
		return err_sys(e, "SERVE_LISTEN", "cannot listen");
	const struct poller_spec spec = { .fd = set->epoll_fd, .arg = l, .run = run, .found = answer_read };
	int rc = poller_start(s, &spec, &l->poller, e);
	if (rc)
		MHD_stop_daemon(l->daemon);
	return rc;
}

/* Only for the user of the server, unless HELM_SOCKET_MODE says otherwise. */
static int socket_mode(struct sys *s, mode_t *ret, struct err *e)
{
	static const struct {
		const char *text;
		mode_t mode;
	} known[] = { { "0600", 0600 }, { "0660", 0660 }, { "0666", 0666 } };
	const char *said = s->getenv(s, "HELM_SOCKET_MODE");

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (text_eq(said ? said : "0600", known[i].text)) {
			*ret = known[i].mode;
			return OK;
		}
	return err_set(e, E_INPUT, "SERVE_LISTEN", "HELM_SOCKET_MODE is 0600, 0660 or 0666, not '%s'", said);
}

/* On its path, or by a socket that was opened for us. */
static int listen_unix(struct server *s, int fd, struct err *e)
{
	struct listener *l = &listeners[listener_count];
	mode_t mode = 0600;

	l->is_inherited = fd >= 0;
	if (fd < 0) {
		int wrong = socket_mode(s->sys, &mode, e);
		if (wrong)
			return wrong;
		fd = s->sys->listen_local(s->sys, s->o.socket, mode);
	}
	if (fd < 0)
		return err_sys(e, "SERVE_LISTEN", "cannot listen on '%s'", s->o.socket);
	struct MHD_OptionItem options[] = { { MHD_OPTION_LISTEN_SOCKET, fd, NULL },
		{ MHD_OPTION_END, 0, NULL } };
	l->is_local = true;
	int rc = start(s, l, 0, 0, options, e);
	if (rc == OK)
		listener_count++;
	return rc ? err_wrap(e, "%s", s->o.socket ? s->o.socket : "a socket of this machine") : OK;
}

static int address_of(const char *bind, uint16_t port, struct sockaddr_storage *ret, struct err *e)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)ret;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)ret;

	memset(ret, 0, sizeof(*ret));
	if (inet_pton(AF_INET, bind, &v4->sin_addr) == 1) {
		v4->sin_family = AF_INET;
		v4->sin_port = htons(port);
		return OK;
	}
	if (inet_pton(AF_INET6, bind, &v6->sin6_addr) == 1) {
		v6->sin6_family = AF_INET6;
		v6->sin6_port = htons(port);
		return OK;
	}
	return err_set(e, E_USAGE, "SERVE_BIND", "--bind takes a numeric address, not '%s'", bind);
}

static bool is_loopback(const struct sockaddr_storage *at)
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)at;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)at;

	return at->ss_family == AF_INET ? ntohl(v4->sin_addr.s_addr) >> 24 == 127
					: IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
}

/* http://ADDRESS:PORT, as it is bound. */
static const char *url_of(struct server *s, const struct sockaddr_storage *at, unsigned port)
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)at;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)at;
	bool is_v6 = at->ss_family == AF_INET6;
	char text[INET6_ADDRSTRLEN] = "";

	(void)inet_ntop(at->ss_family, is_v6 ? (const void *)&v6->sin6_addr : (const void *)&v4->sin_addr,
		text, sizeof(text));
	return arena_printf(&s->a, "%s://%s%s%s:%u", s->o.tls_cert ? "https" : "http", is_v6 ? "[" : "", text,
		is_v6 ? "]" : "", port);
}

static size_t tls_options(struct server *s, struct MHD_OptionItem *to)
{
	size_t n = 0;

	if (!s->o.tls_cert)
		return 0;
	to[n++] = (struct MHD_OptionItem){ MHD_OPTION_HTTPS_CERT_CALLBACK, 0, tls_chooser() };
	to[n++] = (struct MHD_OptionItem){ MHD_OPTION_HTTPS_PRIORITIES, 0,
		(void *)(uintptr_t) "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2" };
	if (tls_client_ca())
		to[n++] = (struct MHD_OptionItem){ MHD_OPTION_HTTPS_MEM_TRUST, 0,
			(void *)(uintptr_t)tls_client_ca() };
	return n;
}

/* On `at`, or by a socket that is bound there already. */
static int listen_tcp(struct server *s, const struct sockaddr_storage *at, int fd, struct err *e)
{
	struct listener *l = &listeners[listener_count];
	struct MHD_OptionItem options[6] = { 0 };
	bool is_v6 = at->ss_family == AF_INET6;
	unsigned port = ntohs(is_v6 ? ((const struct sockaddr_in6 *)at)->sin6_port
				    : ((const struct sockaddr_in *)at)->sin_port);

	if (!is_loopback(at) && !s->o.tls_cert && !s->o.may_be_remote)
		return err_set(e, E_USAGE, "SERVE_REMOTE",
			"%s is reached from other machines, and without TLS keys would be read on the way: "
			"give --tls-cert and --tls-key, or say --insecure-remote",
			url_of(s, at, port));
	size_t n = tls_options(s, options);
	options[n++] = fd >= 0 ? (struct MHD_OptionItem){ MHD_OPTION_LISTEN_SOCKET, fd, NULL }
			       : (struct MHD_OptionItem){ MHD_OPTION_SOCK_ADDR, 0, (void *)(uintptr_t)at };
	options[n] = (struct MHD_OptionItem){ MHD_OPTION_END, 0, NULL };
	l->is_inherited = fd >= 0;
	int rc = start(s, l, (s->o.tls_cert ? MHD_USE_TLS : 0) | (is_v6 ? MHD_USE_IPv6 : 0), (uint16_t)port,
		options, e);
	if (rc)
		return err_wrap(e, "%s", url_of(s, at, port));
	listener_count++;
	const union MHD_DaemonInfo *bound =
		fd >= 0 ? NULL : MHD_get_daemon_info(l->daemon, MHD_DAEMON_INFO_BIND_PORT);
	if (!s->base_url)
		s->base_url = url_of(s, at, bound ? bound->port : port);
	return OK;
}

/* How many sockets a service manager has opened for this very process; 0: none. */
static int inherited_count(struct server *s)
{
	const char *pid = s->sys->getenv(s->sys, "LISTEN_PID"), *fds = s->sys->getenv(s->sys, "LISTEN_FDS");
	int64_t whose, n;

	return pid && fds && text_int(pid, &whose) && whose == getpid() && text_int(fds, &n) && n > 0
		? (int)(n > LISTENERS ? LISTENERS + 1 : n) /* which is refused */
		: 0;
}

static int listen_inherited(struct server *s, int fd, struct err *e)
{
	struct sockaddr_storage at = { 0 };
	socklen_t n = sizeof(at);

	if (listener_count == LISTENERS)
		return err_set(e, E_LIMIT, "SERVE_LISTEN", "LISTEN_FDS has more than %d sockets", LISTENERS);
	if (fcntl(fd, F_SETFD, FD_CLOEXEC) || getsockname(fd, (struct sockaddr *)&at, &n))
		return err_sys(e, "SERVE_LISTEN", "descriptor %d of LISTEN_FDS is no socket", fd);
	if (at.ss_family == AF_UNIX)
		return listen_unix(s, fd, e);
	if (at.ss_family == AF_INET || at.ss_family == AF_INET6)
		return listen_tcp(s, &at, fd, e);
	return err_set(
		e, E_INPUT, "SERVE_LISTEN", "descriptor %d of LISTEN_FDS is of no kind that is known", fd);
}

int listen_reload(struct server *s, struct err *e)
{
	const struct tls_files files = { s->o.tls_cert, s->o.tls_key, s->o.tls_client_ca };

	return s->o.tls_cert ? tls_load(s->sys, &files, e) : OK;
}

static int64_t number_of(struct server *s, const char *name, int64_t fallback)
{
	const char *text = s->sys->getenv(s->sys, name);
	int64_t n;

	return text && text_int(text, &n) && n > 0 && n < INT32_MAX ? n : fallback;
}

/* A name that means this machine leads to either address of it: nobody else may have the other one.  Where there is no sixth version, there is no
 * other one. */
static int listen_other_loopback(struct server *s, struct err *e)
{
	struct sockaddr_storage at;
	const char *port = strrchr(s->base_url, ':');
	struct err why = { 0 };
	int64_t number = 0;

	if (!port || !text_int(port + 1, &number) || address_of("::1", (uint16_t)number, &at, e))
		return OK;
	if (listen_tcp(s, &at, -1, &why) == OK || why.sys == EADDRNOTAVAIL || why.sys == EAFNOSUPPORT)
		return OK;
	return err_set(e, E_IO, "SERVE_LISTEN",
		"another program has [::1]:%lld, where the name localhost could lead; name another --port",
		(long long)number);
}

int listen_start(struct server *s, struct err *e)
{
	struct sockaddr_storage at;
	int inherited = inherited_count(s), rc = listen_reload(s, e);

	wire_prepare(work_descriptors());
	held_most = (size_t)number_of(s, "HELM_LIMIT_BODIES", HELD_MOST);
	patience_s = number_of(s, "HELM_LIMIT_SECONDS", PATIENCE_S);

	for (int i = 0; rc == OK && i < inherited; i++)
		rc = listen_inherited(s, FIRST_INHERITED + i, e);
	if (rc == OK && !inherited && s->o.port >= 0 &&
		(rc = address_of(s->o.bind, (uint16_t)s->o.port, &at, e)) == OK)
		rc = listen_tcp(s, &at, -1, e);
	if (rc == OK && !inherited && s->o.is_both_loopbacks)
		rc = listen_other_loopback(s, e);
	if (rc == OK && !inherited && s->o.socket)
		rc = listen_unix(s, -1, e);
	if (rc == OK && !s->base_url)
		s->base_url = s->o.socket ? arena_printf(&s->a, "unix:%s", s->o.socket) : "unix:";
	return rc;
}

void listen_quiesce(struct server *s)
{
	(void)s;
	for (size_t i = 0; i < listener_count; i++) {
		poller_hold(listeners[i].poller);
		listeners[i].quiet_fd = MHD_quiesce_daemon(listeners[i].daemon);
		poller_release(listeners[i].poller);
	}
}

void listen_stop(struct server *s)
{
	pthread_mutex_lock(&streams_lock);
	streams_end = true;
	pthread_mutex_unlock(&streams_lock);
	listen_wake(s);
	for (size_t i = 0; i < listener_count; i++) {
		poller_stop(listeners[i].poller);
		MHD_stop_daemon(listeners[i].daemon);
		if (listeners[i].quiet_fd > 0)
			close_fd(&listeners[i].quiet_fd);
	}
	tls_end();
	/* One that was opened for us is there for who comes next. */
	if (s->o.socket && listener_count && !listeners[0].is_inherited)
		(void)s->sys->unlink(s->sys, AT_FDCWD, s->o.socket, 0);
	listener_count = 0;
}
