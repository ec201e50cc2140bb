/* stdio.c — a guest that started us: one message a line on standard input and output, until its end. */
#include "serve/mcp/mcp.h"

#include "base/text.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

enum { PIECE = 1 << 16, LAST_MS = 1000 };

static pthread_mutex_t out_lock = PTHREAD_MUTEX_INITIALIZER;
static int is_closed; /* nobody reads any more; atomic */

static bool is_gone(void)
{
	return __atomic_load_n(&is_closed, __ATOMIC_SEQ_CST);
}

static void write_line(struct bytes text)
{
	struct bytes parts[] = { text, BYTES_LITERAL("\n") };

	pthread_mutex_lock(&out_lock);
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		while (parts[i].n && !is_gone()) {
			ssize_t n = write(1, parts[i].p, parts[i].n);
			if (n < 0 && errno == EINTR)
				continue;
			if (n <= 0)
				__atomic_store_n(&is_closed, 1, __ATOMIC_SEQ_CST);
			if (n > 0) {
				parts[i].p += n;
				parts[i].n -= (size_t)n;
			}
		}
	pthread_mutex_unlock(&out_lock);
}

static void tell(struct guest *u, struct bytes line)
{
	(void)u;
	write_line(line);
}

static void send_back(struct flight *f, struct bytes message, bool is_last)
{
	(void)f;
	(void)is_last;
	if (message.p)
		write_line(message);
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

static void hear(struct guest *u, struct bytes line)
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
	f->can_hear = true;
	if (is_doubled(f))
		f->step = refuse_double;
	flight_go(f);
}

static void refuse_long(void)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct buf text;

	buf_init(&text, &a);
	json_write(&text, rpc_error(&a, NULL, RPC_INVALID_REQUEST, "a message has at most 4 MiB"), 0);
	write_line(buf_bytes(&text));
}

static void listen_to(struct guest *u, int signals)
{
	struct rpc_lines lines = { .most = MCP_LINE_MOST };
	struct pollfd p[] = { { .fd = 0, .events = POLLIN }, { .fd = signals, .events = POLLIN } };
	char piece[PIECE];
	struct bytes line;
	enum rpc_line what;

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
				hear(u, line);
			else
				refuse_long();
		}
	}
	rpc_lines_free(&lines);
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
		if (is_idle || is_gone() || s->mono_us(s) >= until)
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
