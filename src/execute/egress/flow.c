/* flow.c — moving the bytes of a connection that was admitted.
 *
 * What was read is written at once; what the other side does not take now is held, and until it is gone nothing more is read from
 * where it came.  So a connection holds at most one piece in each direction, however slow its ends are.  The pieces of a tunnel are
 * never looked at, and so they are not copied, either: splice() leads them from socket to socket through a pipe, which a direction has only while
 * something lies in it.  Without a pipe to be had they are copied.  Of plain HTTP the client's are counted against the request's body, so that nothing follows it, and the
 * server's begin with a head that says that the connection ends. */
#include "execute/egress/door.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ROUNDS = 16 }; /* pieces of one connection before the others have their turn */
/* An answer of ours; or a whole piece behind a head. */
enum { HELD_FEW = 2048, HELD_MOST = CHUNK + 2 * HEAD_MOST, PIPE_BYTES = 256 << 10 };

void flow_hold(struct link *l, struct flow *f, const void *p, size_t n)
{
	if (!n)
		return;
	if (f->held_at) {
		memmove(f->held, f->held + f->held_at, f->held_n - f->held_at);
		f->held_n -= f->held_at;
		f->held_at = 0;
	}
	if (f->held_n + n > f->cap) {
		size_t cap = f->held_n + n <= HELD_FEW ? HELD_FEW : HELD_MOST;
		f->held = arena_grow(&l->a, f->held, f->cap, cap);
		f->cap = cap;
	}
	memcpy(f->held + f->held_n, p, n);
	f->held_n += n;
}

bool flow_flush(struct flow *f, int to)
{
	while (f->held_at < f->held_n) {
		ssize_t n = send(to, f->held + f->held_at, f->held_n - f->held_at, MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN;
		f->held_at += (size_t)n;
	}
	f->held_at = f->held_n = 0;
	return true;
}

/* ---- what need not be looked at ---- */

static struct pipe *take_pipe(struct door *d)
{
	struct pipe *p = d->pipes;

	if (p) {
		d->pipes = p->next;
		return p;
	}
	if (!d->pipes_left || !(p = calloc(1, sizeof(*p))))
		return NULL;
	if (pipe2(p->fds, O_NONBLOCK | O_CLOEXEC)) {
		free(p);
		return NULL;
	}
	(void)fcntl(p->fds[1], F_SETPIPE_SZ, PIPE_BYTES); /* a smaller one does as well */
	d->pipes_left--;
	return p;
}

/* Only an empty one may serve another connection. */
static void give_pipe(struct door *d, struct flow *f)
{
	f->pipe->next = d->pipes;
	d->pipes = f->pipe;
	f->pipe = NULL;
}

static void drop_pipe(struct door *d, struct pipe *p)
{
	close(p->fds[0]);
	close(p->fds[1]);
	free(p);
	d->pipes_left++;
}

void flow_done(struct door *d, struct flow *f)
{
	if (f->pipe)
		drop_pipe(d, f->pipe);
	f->pipe = NULL;
	f->piped = 0;
}

void flow_pipes_done(struct door *d)
{
	while (d->pipes) {
		struct pipe *p = d->pipes;
		d->pipes = p->next;
		drop_pipe(d, p);
	}
}

/* False: the other side is gone. */
static bool empty_pipe(struct door *d, struct flow *f, int to)
{
	while (f->piped) {
		ssize_t n =
			splice(f->pipe->fds[0], NULL, to, NULL, f->piped, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 && errno == EAGAIN;
		f->piped -= (size_t)n;
	}
	if (f->pipe)
		give_pipe(d, f);
	return true;
}

/* Like read(), into the pipe. */
static ssize_t fill_pipe(struct door *d, struct flow *f, int from)
{
	ssize_t n = splice(from, NULL, f->pipe->fds[1], NULL, PIPE_BYTES, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);

	if (n > 0) {
		f->piped = (size_t)n;
		f->bytes += (size_t)n;
	} else {
		int why = errno;
		give_pipe(d, f);
		errno = why;
	}
	return n;
}

/* ---- what must be ---- */

/* A piece that was understood, to the other side. */
static bool pass(struct link *l, struct flow *f, int to, const char *p, size_t n)
{
	f->bytes += n;
	while (n && !f->held_n) {
		ssize_t done = send(to, p, n, MSG_NOSIGNAL);
		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0 && errno != EAGAIN)
			return false;
		if (done < 0)
			break;
		p += done;
		n -= (size_t)done;
	}
	if (n)
		flow_hold(l, f, p, n);
	return true;
}

/* Of what the client of a plain request sends, only the request's own body goes on. */
static bool pass_up(struct link *l, const char *p, size_t n)
{
	if (l->via == VIA_HTTP) {
		ssize_t own = http_body(&l->body, p, n);
		if (own < 0) {
			l->reason = "malformed";
			return false;
		}
		n = (size_t)own;
	}
	return pass(l, &l->up, l->server.fd, p, n);
}

/* The head of an answer is gathered, changed and passed; behind the last one everything is. */
static bool pass_down(struct link *l, const char *p, size_t n)
{
	struct buf head;

	while (n && l->via == VIA_HTTP && !l->is_answered) {
		size_t some = HEAD_MOST - l->head_n < n ? HEAD_MOST - l->head_n : n, before = l->head_n;
		memcpy(l->head + before, p, some);
		buf_init(&head, &l->a);
		ssize_t length = http_answer(&head, l->head, before + some, &l->is_answered);
		if (length < 0 || (!length && before + some == HEAD_MOST)) {
			l->reason = "malformed answer";
			return false;
		}
		l->head_n = length ? 0 : before + some;
		size_t used = length ? (size_t)length - before : some;
		p += used;
		n -= used;
		if (length && !pass(l, &l->down, l->client.fd, head.p, head.n))
			return false;
	}
	return pass(l, &l->down, l->client.fd, p, n);
}

/* Does nobody look at what comes now? */
static bool is_plain(const struct link *l, const struct flow *f)
{
	return l->via != VIA_HTTP || (f == &l->down && l->is_answered);
}

/* Like read(): what came lies in the pipe, or was passed on.  -1 with EPROTO when it must not be. */
static ssize_t take(struct door *d, struct link *l, struct flow *f, int from,
	bool (*pass_on)(struct link *, const char *, size_t))
{
	if (is_plain(l, f) && (f->pipe = take_pipe(d)))
		return fill_pipe(d, f, from);
	ssize_t n = read(from, d->chunk, CHUNK);
	if (n > 0 && !pass_on(l, d->chunk, (size_t)n)) {
		errno = EPROTO;
		return -1;
	}
	return n;
}

/* One direction as far as it goes now.  False: the connection is over. */
static bool move(struct door *d, struct link *l, struct flow *f, struct end *from, struct end *to,
	bool (*pass_on)(struct link *, const char *, size_t))
{
	for (int i = 0; i < ROUNDS; i++) {
		if (!flow_flush(f, to->fd) || (!f->held_n && !empty_pipe(d, f, to->fd)))
			return false;
		if (flow_is_held(f))
			return true;
		ssize_t n = f->is_ended ? 0 : take(d, l, f, from->fd, pass_on);
		if (n < 0 && errno != EINTR)
			return errno == EAGAIN;
		if (n == 0) { /* nothing is held, so the end is passed on now */
			if (!f->is_shut)
				(void)shutdown(to->fd, SHUT_WR);
			f->is_ended = f->is_shut = true;
			return true;
		}
	}
	return true;
}

/* The body of a plain request has gone: the client's further bytes stay where they are. */
static bool is_said(const struct link *l)
{
	return l->via == VIA_HTTP && l->body.kind == BODY_NONE;
}

void flow_up(struct door *d, struct link *l)
{
	bool is_alive = is_said(l) ? flow_flush(&l->up, l->server.fd)
				   : move(d, l, &l->up, &l->client, &l->server, pass_up);

	if (!is_alive)
		link_end(d, l);
}

void flow_down(struct door *d, struct link *l)
{
	if (!move(d, l, &l->down, &l->server, &l->client, pass_down)) {
		link_end(d, l);
		return;
	}
	if (l->down.is_shut && l->via == VIA_HTTP) {
		l->stage = STAGE_LINGER;
		link_wait(d, l, 2000);
	} else if (l->down.is_shut && l->up.is_shut) {
		link_end(d, l);
	}
}
