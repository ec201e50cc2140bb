/* ask.c — questions to the keeper of a key, over a local socket. */
#include "record/ask.h"
#include "base/file.h"
#include "base/text.h"
#include "record/parts.h"

#include <errno.h>
#include <unistd.h>

enum { WAIT_MS = 10000 };

void ask_open(struct ask_line *l, struct sys *s, const char *socket)
{
	*l = (struct ask_line){ .sys = s, .socket = socket, .fd = -1, .owner = getpid() };
}

static void hang_up(struct ask_line *l)
{
	close_fd(&l->fd);
	l->fd = -1;
}

void ask_close(struct ask_line *l)
{
	if (l->owner == getpid())
		hang_up(l);
	arena_done(&l->answer);
}

struct bytes ask_question(struct arena *a, const char *op, const struct json *record)
{
	struct json *doc = json_new(a, JSON_OBJECT);
	struct buf b;

	json_sets(a, doc, "op", op);
	json_set(a, doc, "record", (struct json *)record);
	buf_init(&b, a);
	buf_add(&b, "\0\0\0\0", 4);
	json_canonical(&b, doc);
	for (int i = 0; i < 4; i++)
		b.p[i] = (char)((b.n - 4) >> (24 - 8 * i));
	return buf_bytes(&b);
}

static bool read_whole(struct sys *s, int fd, void *to, size_t n)
{
	for (size_t at = 0; at < n;) {
		ssize_t got = s->read(s, fd, (char *)to + at, n - at);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0) {
			errno = got ? errno : ECONNRESET;
			return false;
		}
		at += (size_t)got;
	}
	return true;
}

/* Over a connection that is there. */
static bool exchange(struct ask_line *l, struct bytes question, struct json **ret)
{
	uint8_t length[4];

	if (write_all(l->sys, l->fd, question.p, question.n) || !read_whole(l->sys, l->fd, length, 4))
		return false;
	size_t n = (size_t)length[0] << 24 | (size_t)length[1] << 16 | (size_t)length[2] << 8 | length[3];
	errno = EPROTO;
	if (n > SIGNER_ANSWER_LIMIT)
		return false;
	char *text = arena_text(&l->answer, n + 1);
	if (!read_whole(l->sys, l->fd, text, n))
		return false;
	errno = EPROTO;
	return json_parse(&l->answer, (struct bytes){ (uint8_t *)text, n }, "signer", NULL, ret, NULL) == OK;
}

bool ask(struct ask_line *l, struct bytes question, struct json **ret)
{
	arena_reset(&l->answer);
	if (l->owner != getpid())
		hang_up(l);
	for (int tries = 0; tries < 2; tries++) {
		bool is_new = l->fd < 0;
		if (is_new)
			l->fd = l->sys->connect_local(l->sys, l->socket, WAIT_MS);
		l->owner = getpid();
		if (l->fd < 0)
			return false;
		if (exchange(l, question, ret))
			return true;
		int why = errno;
		hang_up(l);
		errno = why;
		if (is_new)
			break;
	}
	return false;
}
