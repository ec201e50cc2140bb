/* stdio.c — a guest that started us: one message a line on standard input and output, until its end. */
#include "serve/mcp/mcp.h"

#include "base/text.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

enum { PIECE = 1 << 16, LAST_MS = 1000, TOLD_MOST = 256 << 10 };

/* The pipe has one writer at a time (`is_writing`).  A worker waits for its turn, and then until the client reads.  A thread that reads what client or server say, and
 * runs a step in between, waits for nobody: what does not fit into the pipe at once it leaves to a thread that has nothing else to do.  It runs none while
 * anything is left there (is_clear()), so that is one message.  What is only told beside answers is left there, too, because who tells may hold what others wait
 * for; a client that does not read loses what is more than TOLD_MOST of it. */
static pthread_mutex_t out_lock =
	PTHREAD_MUTEX_INITIALIZER; /* of what follows; nobody writes for long under it */
static pthread_cond_t out_there = PTHREAD_COND_INITIALIZER, out_free = PTHREAD_COND_INITIALIZER;
static struct saying *out_first, **out_last = &out_first;
static size_t out_bytes; /* from out_first on */
static bool has_writer, is_writing;
static int is_closed; /* nobody reads any more; atomic */

static bool is_gone(void)
{
	return __atomic_load_n(&is_closed, __ATOMIC_SEQ_CST);
}

static void write_out(const char *p, size_t n)
{
	while (n && !is_gone()) {
		ssize_t did = write(1, p, n);
		if (did < 0 && errno == EINTR)
			continue;
		if (did <= 0)
			__atomic_store_n(&is_closed, 1, __ATOMIC_SEQ_CST);
		if (did > 0) {
			p += did;
			n -= (size_t)did;
		}
	}
}

/* Under the lock, which is let go meanwhile. */
static void write_in_turn(const struct saying *s)
{
	is_writing = true;
	pthread_mutex_unlock(&out_lock);
	write_out(s->text, s->n);
	pthread_mutex_lock(&out_lock);
	is_writing = false;
	pthread_cond_broadcast(&out_free);
}

static void *be_writer(void *arg)
{
	pthread_mutex_lock(&out_lock);
	for (struct saying *s;;) {
		while (is_writing)
			pthread_cond_wait(&out_free, &out_lock);
		if (!(s = out_first)) {
			pthread_cond_wait(&out_there, &out_lock);
			continue;
		}
		write_in_turn(s);
		out_bytes -= s->n;
		if (!(out_first = s->next))
			out_last = &out_first;
		free(s);
		pthread_cond_broadcast(&out_free);
	}
	return arg;
}

/* Under the lock: so much goes into the pipe without a wait. */
static bool has_room(size_t n)
{
	struct pollfd p = { .fd = 1, .events = POLLOUT };

	return n <= PIPE_BUF && poll(&p, 1, 0) == 1 && p.revents & POLLOUT;
}

static bool start_writer(void)
{
	pthread_t thread;

	if (!has_writer && pthread_create(&thread, NULL, be_writer, NULL) == 0) {
		pthread_detach(thread);
		has_writer = true;
	}
	return has_writer;
}

static void write_line(struct bytes text, bool is_answer)
{
	struct saying *s = malloc(sizeof(*s) + text.n + 1);

	if (!s)
		mem_exhausted(0);
	*s = (struct saying){ .n = text.n + 1 };
	memcpy(s->text, text.p, text.n);
	s->text[text.n] = '\n';
	pthread_mutex_lock(&out_lock);
	bool is_free = !is_writing && !out_first;
	if (is_free && has_room(s->n)) {
		write_out(s->text, s->n);
	} else if ((work_is_here() || !is_answer) && start_writer()) {
		if (is_answer || out_bytes + s->n <= TOLD_MOST) {
			*out_last = s;
			out_last = &s->next;
			out_bytes += s->n;
			s = NULL;
			pthread_cond_signal(&out_there);
		}
	} else {
		while (is_writing || out_first)
			pthread_cond_wait(&out_free, &out_lock);
		write_in_turn(s);
	}
	pthread_mutex_unlock(&out_lock);
	free(s);
}

static bool is_clear(struct flight *f)
{
	(void)f;
	pthread_mutex_lock(&out_lock);
	bool is = !is_writing && !out_first;
	pthread_mutex_unlock(&out_lock);
	return is;
}

static void tell(struct guest *u, struct bytes line)
{
	(void)u;
	write_line(line, false);
}

static void send_back(struct flight *f, struct bytes message, bool is_last)
{
	(void)f;
	if (message.p)
		write_line(message, is_last);
}

/* Is the same id on its way already? */
static bool is_doubled(struct flight *f)
{
	bool is_there = false;

	pthread_mutex_lock(&f->g->lock);
	for (struct flight *o = f->guest->flights; o; o = o->next)
		is_there |=
			o != f && !o->is_question && o->rpc.id && f->rpc.id && json_eq(o->rpc.id, f->rpc.id);
	pthread_mutex_unlock(&f->g->lock);
	return is_there;
}

static int refuse_double(struct flight *f, struct err *e)
{
	(void)e;
	flight_refuse(f, RPC_INVALID_REQUEST, "a request with this id is on its way");
	return OK;
}

/* A call of a server's tool, which is decided and sent on: nothing of that waits for anybody but the disk.  Helm's own tools are programs, and take their time. */
static bool is_quick(const struct flight *f)
{
	const char *tool = json_get_text(f->rpc.params, "name", "helm_");

	return f->rpc.method && text_eq(f->rpc.method, "tools/call") && !text_starts(tool, "helm_") &&
		!points_are_asked(f->g->server);
}

/* `w`: nothing else was said behind it, so this thread may run it itself; or NULL. */
static void hear(struct guest *u, struct bytes line, struct worker *w)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct rpc m;

	/* What is no request needs no flight. */
	rpc_read(&a, line, &m);
	if (m.kind == RPC_NOTIFICATION || m.kind == RPC_RESPONSE) {
		guest_heard(u, &m);
		return;
	}
	guest_hold(u);
	struct flight *f = flight_new(u, line, SCOPE_EVALUATE | SCOPE_READ);
	f->has_own = true;
	f->send = send_back;
	f->is_clear = is_clear;
	f->can_hear = true;
	if (is_doubled(f))
		f->step = refuse_double;
	flight_go_here(f, w && is_quick(f) ? w : NULL);
}

static void refuse_long(void)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct buf text;

	buf_init(&text, &a);
	json_write(&text, rpc_error(&a, NULL, RPC_INVALID_REQUEST, "a message has at most 4 MiB"), 0);
	write_line(buf_bytes(&text), true);
}

static void listen_to(struct guest *u, int signals)
{
	struct rpc_lines lines = { .most = MCP_LINE_MOST };
	struct pollfd p[] = { { .fd = 0, .events = POLLIN }, { .fd = signals, .events = POLLIN } };
	char piece[PIECE];
	struct bytes line;
	enum rpc_line what;
	struct worker *w = worker_new(u->g->server);

	while (!is_gone() && (poll(p, ARRAY_SIZE(p), -1) >= 0 || errno == EINTR)) {
		if (p[1].revents)
			break;
		ssize_t n = p[0].revents ? read(0, piece, sizeof(piece)) : 0;
		if (p[0].revents && n <= 0 && !(n < 0 && (errno == EINTR || errno == EAGAIN)))
			break;
		if (n > 0)
			rpc_lines_put(&lines, piece, (size_t)n);
		while ((what = rpc_lines_next(&lines, &line)) != RPC_NO_LINE) {
			if (what == RPC_LINE)
				hear(u, line, rpc_lines_has_more(&lines) ? NULL : w);
			else
				refuse_long();
		}
	}
	rpc_lines_free(&lines);
	worker_free(w);
}

/* What was asked before the input ended is answered, if that takes no longer than a client waits for our end. */
static void await_flights(struct gateway *g)
{
	struct sys *s = g->server->sys;
	int64_t until = s->mono_us(s) + LAST_MS * 1000;

	for (;;) {
		pthread_mutex_lock(&g->lock);
		bool is_idle = !g->flights;
		pthread_mutex_unlock(&g->lock);
		if ((is_idle && is_clear(NULL)) || is_gone() || s->mono_us(s) >= until)
			return;
		s->sleep_us(s, 2000);
	}
}

int stdio_serve(struct server *s, struct err *e)
{
	struct gateway *g = s->gateway;
	AUTO(arena_done) struct arena a = { 0 };
	const char *client = json_get_text(g->o, "client", NULL);
	sigset_t mine;

	sigemptyset(&mine);
	sigaddset(&mine, SIGTERM);
	sigaddset(&mine, SIGINT);
	sigaddset(&mine, SIGHUP);
	AUTO(close_fd) int signals = signalfd(-1, &mine, SFD_CLOEXEC);
	struct guest *u = guest_new(g,
		client ? arena_printf(&a, "agent:%s", client)
		       : arena_printf(&a, "user:%u", s->sys->euid(s->sys)),
		"default", e);
	if (!u)
		return e->rc;
	u->tell = tell;
	u->is_told = true;
	listen_to(u, signals);
	await_flights(g);
	guest_end(u);
	guest_drop(u);
	return OK;
}
