/* talk.c — messages between the two sides of a session's wall.
 *
 * Both sides read with limits and believe nothing: what comes from inside may come from anything that runs there. */
#include "base/fds.h"
#include "base/text.h"
#include "kernel/agent/parts.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

static int broken(struct err *e)
{
	return err_sys(e, "AGENT_TALK", "the supervisor of this session cannot be reached; nothing was run");
}

int talk_send(int fd, struct arena *a, const struct json *line, const int *fds, struct err *e)
{
	struct buf text;

	buf_init(&text, a);
	json_write(&text, line, 0);
	buf_addc(&text, '\n');
	return fds_send(fd, buf_bytes(&text), fds, fds ? 3 : 0) ? broken(e) : OK;
}

/* The first three go to the one who wants them, and all others nowhere. */
static void take_descriptors(struct fds_got *got, int *fds)
{
	for (int i = 0; fds && i < 3; i++)
		if (fds[i] < 0) {
			fds[i] = got->fds[i];
			got->fds[i] = -1;
		}
	fds_close(got);
}

/* One read, with what came along.  0 at the end.  until_us 0: for ever. */
static ssize_t receive(struct sys *s, int fd, char *to, size_t n, int *fds, int64_t until_us)
{
	struct pollfd p = { fd, POLLIN, 0 };
	struct fds_got came;
	int ready = 1;

	do {
		int64_t left = until_us ? (until_us - s->mono_us(s)) / 1000 : -1;
		ready = poll(&p, 1, until_us && left <= 0 ? 0 : (int)left);
	} while (ready < 0 && errno == EINTR);
	if (ready <= 0) {
		errno = ready ? errno : ETIMEDOUT;
		return -1;
	}
	ssize_t got = fds_receive(fd, to, n, 0, &came);
	if (got > 0)
		take_descriptors(&came, fds);
	return got;
}

int talk_receive(struct sys *s, int fd, struct arena *a, int64_t within_us, struct json **ret,
	struct bytes *ret_body, int *fds, struct err *e)
{
	const int64_t until_us = within_us ? s->mono_us(s) + within_us : 0;
	char *text = arena_text(a, AGENT_LINE), *end = NULL;
	size_t n = 0;

	while (!(end = memchr(text, '\n', n)) && n < AGENT_LINE) {
		ssize_t got = receive(s, fd, text + n, AGENT_LINE - n, fds, until_us);
		if (got < 0)
			return broken(e);
		if (got == 0)
			return err_set(e, E_IO, "AGENT_TALK",
				"the supervisor of this session has gone, or is busy; nothing was run");
		n += (size_t)got;
	}
	if (!end)
		return err_set(e, E_INPUT, "AGENT_TALK", "a message across the session's wall is too long");
	struct json *line;
	int rc = json_parse(
		a, (struct bytes){ (uint8_t *)text, (size_t)(end - text) }, "message", NULL, &line, e);
	int64_t bytes = rc ? 0 : json_get_int(line, "bytes", 0);
	size_t have = n - (size_t)(end + 1 - text);
	if (rc)
		return rc;
	if (bytes < 0 || bytes > AGENT_BYTES || have > (size_t)bytes)
		return err_set(
			e, E_INPUT, "AGENT_TALK", "a message across the session's wall has a wrong size");
	char *body = arena_text(a, (size_t)bytes + 1);
	memcpy(body, end + 1, have);
	while (have < (size_t)bytes) {
		ssize_t got = receive(s, fd, body + have, (size_t)bytes - have, NULL, until_us);
		if (got <= 0)
			return broken(e);
		have += (size_t)got;
	}
	body[bytes] = '\0';
	*ret = line;
	if (ret_body)
		*ret_body = (struct bytes){ (uint8_t *)body, (size_t)bytes };
	return OK;
}
