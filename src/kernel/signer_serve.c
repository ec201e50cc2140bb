/* signer_serve.c — the socket of the signer: many who ask, one answer at a time.
 *
 * One thread, one poll loop.  Each connection has buffers of its own: a question is answered when all of it is there, and an answer is given
 * as fast as its caller takes it, so nobody waits for somebody who is slow on purpose.  Who neither says nor takes anything for a while
 * is hung up on, and when there are too many, the one that was silent longest.  Who may ask is known by the user id that the kernel gives for the other end.
 *
 * The number of signatures in a second is bounded: whoever asks for more waits, with everybody else.  That is no protection against being
 * kept from working by somebody who may ask; those who are kept from it record nothing, and so nothing is allowed to them. */
#include "base/hash.h"
#include "base/text.h"
#include "kernel/signer.h"
#include "record/record.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_CALLERS = 32, SILENCE_US = 10 * 1000000, RATE = 1000, BURST = 2000 };

struct caller_of_signer {
	int fd;
	uid_t user;
	int64_t heard_us; /* something came, or was taken */
	uint8_t *text; /* SIGNER_LIMIT + 4 bytes, made when the first byte comes */
	size_t n;
	struct arena a; /* of the answer */
	struct bytes answer; /* what is to be given of it; while there is something, nothing is heard */
};

struct service {
	const struct signer_door *door;
	struct sys *sys;
	const uid_t *users;
	size_t user_count;
	int listens;
	struct caller_of_signer callers[MAX_CALLERS];
	size_t n;
	double budget; /* signatures that may be given now */
	int64_t counted_us;
};

static void hang_up(struct service *v, size_t i)
{
	close_fd(&v->callers[i].fd);
	free(v->callers[i].text);
	arena_done(&v->callers[i].a);
	v->callers[i] = v->callers[--v->n];
}

static void hang_up_on_the_silent(struct service *v, int64_t now, bool needs_room)
{
	size_t oldest = 0;

	for (size_t i = v->n; i-- > 0;)
		if (now - v->callers[i].heard_us > SILENCE_US)
			hang_up(v, i);
	for (size_t i = 1; i < v->n; i++)
		if (v->callers[i].heard_us < v->callers[oldest].heard_us)
			oldest = i;
	if (needs_room && v->n == MAX_CALLERS)
		hang_up(v, oldest);
}

static bool may_ask(const struct service *v, uid_t uid)
{
	for (size_t i = 0; i < v->user_count; i++)
		if (v->users[i] == uid)
			return true;
	return false;
}

static void let_in(struct service *v, int64_t now)
{
	uid_t uid;
	int fd = v->sys->accept_local(v->sys, v->listens, &uid);

	if (fd < 0)
		return;
	if (!may_ask(v, uid)) {
		close_fd(&fd);
		return;
	}
	hang_up_on_the_silent(v, now, true);
	v->callers[v->n++] = (struct caller_of_signer){ .fd = fd, .user = uid, .heard_us = now };
}

/* As much of the answer as is taken now; false when the caller is gone. */
static bool give(struct service *v, struct caller_of_signer *c, int64_t now)
{
	ssize_t n = v->sys->write(v->sys, c->fd, c->answer.p, c->answer.n);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	c->heard_us = now;
	c->answer = (struct bytes){ c->answer.p + n, c->answer.n - (size_t)n };
	if (!c->answer.n)
		arena_reset(&c->a);
	return true;
}

/* Length and document. */
static struct bytes answer_of(struct service *v, struct caller_of_signer *c, size_t length)
{
	struct buf b;

	buf_init(&b, &c->a);
	buf_add(&b, "\0\0\0\0", 4);
	json_canonical(
		&b, v->door->answer(v->door->arg, &c->a, c->user, (struct bytes){ c->text + 4, length }));
	for (int i = 0; i < 4; i++)
		b.p[i] = (char)((b.n - 4) >> (24 - 8 * i));
	return buf_bytes(&b);
}

/* The length that the question says it has, 0 while that is not known; larger than the limit when it is too large. */
static size_t length_of(const struct caller_of_signer *c)
{
	return c->n < 4 ? 0
			: ((size_t)c->text[0] << 24 | (size_t)c->text[1] << 16 | (size_t)c->text[2] << 8 |
				  c->text[3]);
}

/* False when the caller is gone, or says what is no question. */
static bool hear(struct service *v, struct caller_of_signer *c, int64_t now)
{
	if (!c->text && !(c->text = malloc(SIGNER_LIMIT + 4)))
		return false;
	size_t want = c->n < 4 ? 4 - c->n : 4 + length_of(c) - c->n;
	ssize_t n = v->sys->read(v->sys, c->fd, c->text + c->n, want);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return true;
	if (n <= 0)
		return false;
	c->n += (size_t)n;
	c->heard_us = now;
	size_t length = length_of(c);
	if (c->n < 4)
		return true;
	if (!length || length > SIGNER_LIMIT)
		return false;
	if (c->n < 4 + length)
		return true;
	v->budget -= 1;
	c->n = 0;
	c->answer = answer_of(v, c, length);
	return give(v, c, now);
}

/* How long nobody is heard, in milliseconds, because too much was signed a moment ago; 0: go on. */
static int pause_of(struct service *v, int64_t now)
{
	v->budget += (double)(now - v->counted_us) * RATE / 1e6;
	if (v->budget > BURST)
		v->budget = BURST;
	v->counted_us = now;
	return v->budget >= 1 ? 0 : 1 + (int)((1 - v->budget) * 1000 / RATE);
}

static void turn(struct service *v)
{
	struct pollfd who[1 + MAX_CALLERS] = { { v->listens, POLLIN, 0 } };
	int64_t now = v->sys->mono_us(v->sys);
	int pause = pause_of(v, now);

	for (size_t i = 0; i < v->n; i++)
		who[1 + i] =
			(struct pollfd){ v->callers[i].fd, v->callers[i].answer.n ? POLLOUT : POLLIN, 0 };
	size_t n = v->n;
	if (poll(who, pause ? 0 : (nfds_t)(1 + n), pause ? pause : 1000) < 0)
		return;
	now = v->sys->mono_us(v->sys);
	/* From the end, because hanging up moves the last one. */
	for (size_t i = n; !pause && i-- > 0;) {
		struct caller_of_signer *c = &v->callers[i];
		if (who[1 + i].revents && !(c->answer.n ? give(v, c, now) : hear(v, c, now)))
			hang_up(v, i);
	}
	if (!pause && who[0].revents)
		let_in(v, now);
	hang_up_on_the_silent(v, now, false);
}

int signer_serve(const struct signer_door *door, struct sys *s, const char *socket, const uid_t *users,
	size_t user_count, volatile const int *stop, struct err *e)
{
	struct service v = { .door = door,
		.sys = s,
		.users = users,
		.user_count = user_count,
		.listens = s->listen_local(s, socket, 0666),
		.budget = BURST,
		.counted_us = s->mono_us(s) };

	if (v.listens < 0)
		return err_sys(e, "SIGNER_SOCKET", "cannot listen on %s", socket);
	while (!*stop)
		turn(&v);
	while (v.n)
		hang_up(&v, v.n - 1);
	close_fd(&v.listens);
	(void)s->unlink(s, AT_FDCWD, socket, 0);
	return OK;
}
