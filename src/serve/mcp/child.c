/* child.c — an upstream that is a child: started inside its walls, greeted, listened to, ended.
 *
 * Its thread is the only one that reads from it.  It lives as long as the child, which dies with it.  What is sent is put into `to` under `out_lock`; once the child has
 * greeted us, whoever has a call for it writes that itself, under the lock of the upstream (child_send_now()), and the thread writes what the pipe has no
 * room for. */
#include "serve/mcp/mcp.h"

#include "base/proc.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	PIECE = 1 << 16,
	GRACE_MS = 700,
	STDERR_LINE = 400,
	PAGES_MOST = 200,
	OUT_MOST = 64 << 20,
	TICK_MS = 200,
	AWAKE_US = 2000000 /* after the last call its thread looks at the time by itself */
};

struct out {
	char *p;
	size_t at, n, room;
};
enum greeting { HELLO, HELLO_STATELESS, LISTING, GREETED };
struct child {
	struct upstream *u;
	struct sys *sys;
	struct proc proc;
	int in, out, err; /* its ends, seen from here: we write `in` */
	struct rpc_lines lines;
	pthread_mutex_t out_lock;
	struct out to; /* under it */
	struct worker *w; /* of its thread */
	int64_t asked_us; /* when it was sent something last; under the lock of the upstream */
	bool is_awake; /* its thread looks at the time; the same */
	enum greeting greeting;
	bool is_stateless, was_greeted;
	int64_t asked_id, start_deadline_us; /* the request of the greeting that is not answered */
	struct offer *offer; /* as far as it was told */
	int pages;
	char last_words[STDERR_LINE];
	const char *trouble;
	char why[400];
};

static int64_t setting(struct upstream *u, const char *name, int64_t fallback)
{
	struct snapshot *s = snapshot_take(u->g);
	const struct json *row = upstream_row(u, s);
	int64_t value = json_get_int(row, name, fallback);

	snapshot_drop(u->g, s);
	return value;
}

/* ---- writing ---- */

/* Under its lock.  False: too much of it was not read yet. */
static bool out_add(struct out *o, const char *line, size_t n)
{
	if (o->n + n + 1 - o->at > OUT_MOST)
		return false;
	if (o->at) {
		memmove(o->p, o->p + o->at, o->n - o->at);
		o->n -= o->at;
		o->at = 0;
	}
	if (o->n + n + 1 > o->room) {
		o->room = o->n + n + 1 + PIECE;
		o->p = realloc(o->p, o->room);
		if (!o->p)
			mem_exhausted(0);
	}
	memcpy(o->p + o->n, line, n);
	o->n += n;
	o->p[o->n++] = '\n';
	return true;
}

/* Under its lock: as much as the pipe takes.  0, or what went wrong. */
static int out_write(struct child *c)
{
	while (c->to.at < c->to.n) {
		ssize_t n = write(c->in, c->to.p + c->to.at, c->to.n - c->to.at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 && errno != EAGAIN ? errno : 0;
		c->to.at += (size_t)n;
	}
	c->to.at = c->to.n = 0;
	return 0;
}

static void put_line(struct child *c, const char *line, size_t n)
{
	pthread_mutex_lock(&c->out_lock);
	bool is_taken = out_add(&c->to, line, n);
	pthread_mutex_unlock(&c->out_lock);
	if (!is_taken)
		c->trouble = "it does not read what it is sent";
}

static void put(struct child *c, struct arena *a, const struct json *message)
{
	struct buf text;

	buf_init(&text, a);
	json_write(&text, message, 0);
	put_line(c, text.p, text.n);
}

/* True: there is something left. */
static bool write_some(struct child *c)
{
	pthread_mutex_lock(&c->out_lock);
	int wrong = out_write(c);
	bool is_left = c->to.at < c->to.n;
	pthread_mutex_unlock(&c->out_lock);
	if (wrong)
		c->trouble = "it does not read any more";
	return is_left;
}

/* ---- the greeting ---- */

static void add_meta(struct child *c, struct arena *a, struct json *params)
{
	struct json *meta = json_get(params, "_meta");

	if (!c->is_stateless)
		return;
	if (!meta) {
		meta = json_new(a, JSON_OBJECT);
		json_set(a, params, "_meta", meta);
	}
	const struct json *hello = upstream_hello(a, NULL);
	json_sets(a, meta, "io.modelcontextprotocol/protocolVersion", MCP_STATELESS);
	json_set(a, meta, "io.modelcontextprotocol/clientInfo", json_copy(a, json_get(hello, "clientInfo")));
	json_set(a, meta, "io.modelcontextprotocol/clientCapabilities", json_new(a, JSON_OBJECT));
}

static void ask(struct child *c, const char *method, struct json *params, struct arena *a)
{
	c->asked_id = upstream_next_id(c->u);
	add_meta(c, a, params);
	put(c, a, rpc_request(a, c->asked_id, method, params));
}

static void ask_tools(struct child *c, struct arena *a, const char *cursor)
{
	struct json *params = json_new(a, JSON_OBJECT);

	if (cursor)
		json_sets(a, params, "cursor", cursor);
	c->greeting = LISTING;
	ask(c, "tools/list", params, a);
}

/* By any thread from now on, or only by its own. */
static void be_asked(struct child *c, bool is_by_any)
{
	pthread_mutex_lock(&c->u->lock);
	c->u->child = is_by_any ? c : NULL;
	pthread_mutex_unlock(&c->u->lock);
}

/* Whoever waits goes on first; what it offers is kept after that. */
static void greeted(struct child *c)
{
	struct upstream *u = c->u;
	struct offer *o = c->offer;

	c->greeting = GREETED;
	c->was_greeted = true;
	c->asked_id = 0;
	c->offer = NULL;
	o->refs++;
	be_asked(c, true);
	upstream_is_ready(u, o);
	upstream_keep(u, o);
	offer_drop(u, o);
}

static void begin_listing(struct child *c, struct arena *a, const struct json *hello)
{
	struct offer *o = c->offer = offer_new();
	const struct json *info = json_get(hello, "serverInfo");

	if (!info)
		info = json_get(json_get(hello, "_meta"), "io.modelcontextprotocol/serverInfo");
	o->capabilities = json_copy(&o->a, json_get(hello, "capabilities"));
	o->name = arena_strdup(&o->a, json_get_text(info, "name", ""));
	o->version = arena_strdup(&o->a, json_get_text(info, "version", ""));
	c->pages = 0;
	if (!c->is_stateless)
		put(c, a, rpc_notification(a, "notifications/initialized", NULL));
	if (json_get(o->capabilities, "tools"))
		ask_tools(c, a, NULL);
	else
		greeted(c);
}

static void take_page(struct child *c, struct arena *a, const struct json *page)
{
	const char *cursor = json_get_text(page, "nextCursor", NULL);

	if (!offer_add(c->offer, page) || ++c->pages > PAGES_MOST)
		c->trouble = "it lists more tools than are looked at";
	else if (cursor && *cursor)
		ask_tools(c, a, cursor);
	else
		greeted(c);
}

static void hear_greeting(struct child *c, struct arena *a, const struct rpc *m)
{
	if (m->error && c->greeting == HELLO && !c->is_stateless) {
		/* It may know nothing but the era without sessions. */
		c->is_stateless = true;
		c->greeting = HELLO_STATELESS;
		ask(c, "server/discover", json_new(a, JSON_OBJECT), a);
	} else if (m->error) {
		snprintf(c->why, sizeof(c->why), "it answers the greeting with an error: %.200s",
			json_get_text(m->error, "message", ""));
		c->trouble = c->why;
	} else if (!json_is(m->result, JSON_OBJECT)) {
		c->trouble = "its answer to the greeting is none of the protocol";
	} else if (c->greeting == LISTING) {
		take_page(c, a, m->result);
	} else {
		begin_listing(c, a, m->result);
	}
}

/* ---- flights ---- */

static struct json *message_of(struct child *c, struct arena *a, struct flight *f)
{
	struct json *params = json_copy(a, f->params), *meta = json_get(params, "_meta");

	f->upstream_id = upstream_next_id(c->u);
	if (f->progress_token) {
		if (!meta) {
			meta = json_new(a, JSON_OBJECT);
			json_set(a, params, "_meta", meta);
		}
		json_seti(a, meta, "progressToken", f->upstream_id);
	}
	add_meta(c, a, params);
	return rpc_request(a, f->upstream_id, f->method, params);
}

static void send_flight(struct child *c, struct flight *f)
{
	AUTO(arena_done) struct arena a = { 0 };

	put(c, &a, message_of(c, &a, f));
}

/* What is wrong with the pipe is found by its thread, which is woken where anything is left. */
bool child_send_now(struct child *c, struct flight *f, bool *ret_wakes)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct buf text;

	buf_init(&text, &a);
	json_write(&text, message_of(c, &a, f), 0);
	pthread_mutex_lock(&c->out_lock);
	bool is_taken = out_add(&c->to, text.p, text.n);
	*ret_wakes = (is_taken && out_write(c)) || c->to.at < c->to.n || !c->is_awake;
	pthread_mutex_unlock(&c->out_lock);
	if (!is_taken) {
		*ret_wakes = true;
		return false;
	}
	c->asked_us = c->sys->mono_us(c->sys);
	f->next_pending = c->u->pending;
	c->u->pending = f;
	return true;
}

static void send_all(struct child *c)
{
	struct upstream *u = c->u;

	pthread_mutex_lock(&u->lock);
	for (struct saying *s; (s = u->saying);) {
		u->saying = s->next;
		put_line(c, s->text, s->n);
		free(s);
	}
	for (struct flight *f; c->greeting == GREETED && !u->is_listing && (f = u->sending);) {
		u->sending = f->next_pending;
		send_flight(c, f);
		f->next_pending = u->pending;
		u->pending = f;
	}
	pthread_mutex_unlock(&u->lock);
}

static struct flight *take_pending(struct upstream *u, int64_t id)
{
	struct flight *found = NULL;

	pthread_mutex_lock(&u->lock);
	for (struct flight **p = &u->pending; *p; p = &(*p)->next_pending)
		if ((*p)->upstream_id == id) {
			found = *p;
			*p = found->next_pending;
			break;
		}
	pthread_mutex_unlock(&u->lock);
	return found;
}

/* An answer to something that nobody asked is nothing. */
static void hear_answer(struct child *c, const struct rpc *m, size_t bytes)
{
	int64_t id;
	struct flight *f = json_int(m->id, &id) ? take_pending(c->u, id) : NULL;

	if (!f)
		return;
	f->result = m->result ? json_copy(&f->a, m->result) : NULL;
	f->error = m->error ? json_copy(&f->a, m->error) : NULL;
	f->result_bytes = bytes;
	flight_back_here(f, c->w);
}

static void tell_cancelled(struct child *c, const struct flight *f)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct json *params = json_new(&a, JSON_OBJECT);

	json_seti(&a, params, "requestId", f->upstream_id);
	json_sets(&a, params, "reason", "the caller does not wait any more");
	put(c, &a, rpc_notification(&a, "notifications/cancelled", params));
}

static bool is_gone(struct flight *f)
{
	char one;

	return f->call.fd >= 0 && recv(f->call.fd, &one, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

/* Whoever is not waited for any more, or waited too long. */
static void end_some(struct child *c, struct flight **list, bool was_sent)
{
	struct upstream *u = c->u;
	int64_t now = c->sys->mono_us(c->sys);

	pthread_mutex_lock(&u->lock);
	struct flight *ended = NULL;
	for (struct flight **p = list, *f; (f = *p);) {
		if (is_gone(f))
			__atomic_store_n(&f->is_cancelled, 1, __ATOMIC_SEQ_CST);
		bool is_cancelled = __atomic_load_n(&f->is_cancelled, __ATOMIC_SEQ_CST);
		if (!is_cancelled && now < f->deadline_us) {
			p = &f->next_pending;
			continue;
		}
		*p = f->next_pending;
		f->next_pending = ended;
		ended = f;
	}
	pthread_mutex_unlock(&u->lock);
	for (struct flight *next; ended; ended = next) {
		next = ended->next_pending;
		bool is_cancelled = __atomic_load_n(&ended->is_cancelled, __ATOMIC_SEQ_CST);
		if (was_sent)
			tell_cancelled(c, ended);
		flight_back(ended, is_cancelled ? "cancelled" : "timeout");
	}
}

/* ---- reading ---- */

static void hear_question(struct child *c, struct arena *a, struct bytes line, const struct rpc *m)
{
	if (text_eq(m->method, "ping"))
		put(c, a, rpc_result(a, m->id, json_new(a, JSON_OBJECT)));
	else if (!c->was_greeted)
		put(c, a, rpc_error(a, m->id, RPC_NO_METHOD, "this is not offered to servers"));
	else
		question_heard(c->u, line, m, NULL);
}

static void list_again(struct child *c, struct arena *a)
{
	pthread_mutex_lock(&c->u->lock);
	bool is_new = c->greeting == GREETED && !c->u->is_listing;
	if (is_new)
		c->u->is_listing = true;
	c->u->must_list = false;
	pthread_mutex_unlock(&c->u->lock);
	if (!is_new)
		return;
	struct offer *old = c->u->offer, *o = c->offer = offer_new();
	o->capabilities = json_copy(&o->a, old->capabilities);
	o->name = arena_strdup(&o->a, old->name);
	o->version = arena_strdup(&o->a, old->version);
	c->pages = 0;
	c->start_deadline_us = c->sys->mono_us(c->sys) + setting(c->u, "start_s", MCP_START_S) * 1000000;
	ask_tools(c, a, NULL);
}

/* A line that is no message is nothing, as many write a log there; one that would be an answer ends the wait for it. */
static void hear_nonsense(struct child *c, const struct rpc *m)
{
	int64_t id;

	if (!json_int(m->id, &id))
		return;
	snprintf(c->why, sizeof(c->why), "its answer cannot be read: %.200s", m->why);
	if (c->asked_id && id == c->asked_id) {
		c->trouble = c->why;
		return;
	}
	struct flight *f = take_pending(c->u, id);
	if (f)
		flight_back(f, c->why);
}

static void hear_line(struct child *c, struct bytes line)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct rpc m;
	int64_t id;

	rpc_read(&a, line, &m);
	if (m.kind == RPC_BAD) {
		hear_nonsense(c, &m);
	} else if (m.kind == RPC_RESPONSE && c->asked_id && json_int(m.id, &id) && id == c->asked_id) {
		c->asked_id = 0;
		hear_greeting(c, &a, &m);
	} else if (m.kind == RPC_RESPONSE) {
		hear_answer(c, &m, line.n);
	} else if (m.kind == RPC_REQUEST) {
		hear_question(c, &a, line, &m);
	} else if (m.kind == RPC_NOTIFICATION && text_eq(m.method, "notifications/tools/list_changed")) {
		list_again(c, &a);
	} else if (m.kind == RPC_NOTIFICATION) {
		upstream_said(c->u, &a, &m, NULL);
	}
}

static void read_some(struct child *c)
{
	char piece[PIECE];
	struct bytes line;
	enum rpc_line what;
	ssize_t n = read(c->out, piece, sizeof(piece));

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		c->trouble = "it ended";
		return;
	}
	rpc_lines_put(&c->lines, piece, (size_t)n);
	while (!c->trouble && (what = rpc_lines_next(&c->lines, &line)) != RPC_NO_LINE) {
		if (what == RPC_LINE)
			hear_line(c, line);
		else
			c->trouble = "it sent a message of more than 4 MiB";
	}
}

/* The last line of it, for whoever asks why it failed. */
static void read_errors(struct child *c)
{
	char piece[4096];
	ssize_t n = read(c->err, piece, sizeof(piece));

	if (n <= 0) {
		if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
			close_fd(&c->err);
			c->err = -1;
		}
		return;
	}
	while (n > 0 && piece[n - 1] == '\n')
		n--;
	const char *from = n > 0 ? memrchr(piece, '\n', (size_t)n) : NULL;
	from = from ? from + 1 : piece;
	if (n > 0)
		snprintf(c->last_words, sizeof(c->last_words), "%.*s", (int)(piece + n - from), from);
}

/* ---- from start to end ---- */

/* That a program is started is on record before it is; what is not on record does not happen. */
static int record_start(struct child *c, struct err *e)
{
	struct upstream *u = c->u;
	struct server *s = u->g->server;
	AUTO(arena_done) struct arena a = { 0 };
	struct json *about = json_new(&a, JSON_OBJECT), *receipt;
	char *id;
	int rc = record_new_id(&a, c->sys, "dec-", &id, e);

	if (rc)
		return rc;
	json_sets(&a, about, "mcp_server_id", u->id);
	json_sets(&a, about, "launch_sha256", u->launch);
	json_sets(&a, about, "containment", "walls");
	const struct draft d = { .decision_id = id,
		.effect_id = "helm.mcp/start",
		.status = "RECORDED",
		.args_hash = u->launch,
		.executor_id = arena_printf(&a, "user:%u", c->sys->euid(c->sys)),
		.type = "start",
		.tool_name = arena_printf(&a, "mcp__%s", u->id),
		.metadata = about };
	rc = recorder_group_append(s->group, &a, &d, 1, &receipt, e);
	return rc ? err_wrap(e, "its start could not be recorded, so it was not started") : OK;
}

static int start(struct child *c, struct err *e)
{
	struct server *s = c->u->g->server;
	int in[2] = { -1, -1 }, out[2] = { -1, -1 }, err[2] = { -1, -1 };
	const char *const argv[] = { json_get_text(c->u->g->o, "program", "helm"), "mcp", "child", c->u->id,
		"--workspace", s->ws->root, NULL };
	struct proc_spec spec = PROC_SPEC(argv);

	if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC) || pipe2(err, O_CLOEXEC))
		return err_sys(e, "MCP_START", "no pipes for '%s'", c->u->id);
	spec.in_fd = in[0];
	spec.out_fd = out[1];
	spec.err_fd = err[1];
	int rc = proc_start(c->sys, &spec, &c->proc, e);
	close_fd(&in[0]);
	close_fd(&out[1]);
	close_fd(&err[1]);
	c->in = in[1];
	c->out = out[0];
	c->err = err[0];
	int fds[] = { c->in, c->out, c->err };
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		(void)fcntl(fds[i], F_SETFL, O_NONBLOCK);
	return rc;
}

/* It is asked to end, and then made to. */
static void end(struct child *c)
{
	struct proc_end ended;
	struct err e = { 0 };

	close_fd(&c->in);
	if (c->proc.pid > 0) {
		(void)kill(-c->proc.pid, SIGTERM);
		(void)proc_wait(c->sys, &c->proc, GRACE_MS, &ended, &e);
	}
	while (c->err >= 0) /* its last words */
		read_errors(c);
	proc_done(&c->proc);
	close_fd(&c->out);
	close_fd(&c->err);
	rpc_lines_free(&c->lines);
	free(c->to.p);
	if (c->offer)
		offer_drop(c->u, c->offer);
}

static int timeout_of(struct child *c)
{
	int64_t now = c->sys->mono_us(c->sys);

	pthread_mutex_lock(&c->u->lock);
	c->is_awake = c->u->pending || c->u->sending || c->u->is_listing || c->greeting != GREETED ||
		now - c->asked_us < AWAKE_US;
	bool is_awake = c->is_awake;
	pthread_mutex_unlock(&c->u->lock);
	return is_awake ? TICK_MS : -1;
}

static bool is_over(struct upstream *u)
{
	pthread_mutex_lock(&u->lock);
	bool is = u->is_ending || u->is_dismissed;
	pthread_mutex_unlock(&u->lock);
	return is;
}

static void list_if_asked(struct child *c)
{
	AUTO(arena_done) struct arena a = { 0 };

	pthread_mutex_lock(&c->u->lock);
	bool is_asked = c->u->must_list && c->greeting == GREETED;
	pthread_mutex_unlock(&c->u->lock);
	if (is_asked)
		list_again(c, &a);
}

static void live(struct child *c)
{
	struct upstream *u = c->u;
	uint64_t count;

	while (!c->trouble && !is_over(u)) {
		bool is_left = write_some(c);
		struct pollfd p[] = { { .fd = c->out, .events = POLLIN }, { .fd = c->err, .events = POLLIN },
			{ .fd = u->wake, .events = POLLIN },
			{ .fd = is_left ? c->in : -1, .events = POLLOUT } };
		if (poll(p, ARRAY_SIZE(p), timeout_of(c)) < 0 && errno != EINTR)
			break;
		if (p[2].revents)
			(void)!read(u->wake, &count, sizeof(count));
		if (p[1].revents)
			read_errors(c);
		if (p[0].revents)
			read_some(c);
		list_if_asked(c);
		send_all(c);
		end_some(c, &u->pending, true);
		end_some(c, &u->sending, false);
		if (c->asked_id && c->sys->mono_us(c->sys) > c->start_deadline_us)
			c->trouble = "it did not answer the greeting in time";
	}
}

void *upstream_child(void *arg)
{
	struct upstream *u = arg;
	struct sys *s = u->g->server->sys;
	struct child c = { .u = u,
		.sys = s,
		.in = -1,
		.out = -1,
		.err = -1,
		.lines = { .most = MCP_LINE_MOST },
		.w = worker_new(u->g->server),
		.out_lock = PTHREAD_MUTEX_INITIALIZER };
	AUTO(arena_done) struct arena a = { 0 };
	struct err e = { 0 };

	c.start_deadline_us = s->mono_us(s) + setting(u, "start_s", MCP_START_S) * 1000000;
	if (record_start(&c, &e) || start(&c, &e)) {
		c.trouble = e.text;
	} else {
		struct snapshot *snap = snapshot_take(u->g);
		struct json *hello = upstream_hello(&a, upstream_row(u, snap));
		snapshot_drop(u->g, snap);
		ask(&c, "initialize", hello, &a);
		live(&c);
		be_asked(&c, false);
	}
	worker_free(c.w);
	if (is_over(u))
		c.trouble = "it is not wanted any more";
	end(&c);
	const char *words = text_safe(&a, c.last_words, strlen(c.last_words), false);
	log_line(u->g->server, "info", NULL, "server '%s': %s%s%s", u->id, c.trouble ? c.trouble : "it ended",
		*words ? "; it said: " : "", words);
	upstream_has_failed(u,
		arena_printf(&a, "%s%s%s", c.trouble ? c.trouble : "it ended", *words ? "; it said: " : "",
			words));
	return NULL;
}
