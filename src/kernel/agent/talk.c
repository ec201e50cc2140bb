/* talk.c — messages between the two sides of a session's wall.
 *
 * Both sides read with limits and believe nothing: what comes from inside may come from anything that runs there. */
#include "base/text.h"
#include "kernel/agent/parts.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int broken(struct err *e)
{
	return err_sys(e, "AGENT_TALK", "the other side of the session's wall cannot be reached");
}

static int send_all(int fd, struct bytes text, struct err *e)
{
	while (text.n) {
		ssize_t n = send(fd, text.p, text.n, MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return broken(e);
		text.p += n;
		text.n -= (size_t)n;
	}
	return OK;
}

/* The descriptors go along with the first byte. */
static int send_with(int fd, struct bytes text, const int *fds, struct err *e)
{
	struct iovec part = { (void *)(uintptr_t)text.p, text.n };
	union {
		struct cmsghdr head;
		char space[CMSG_SPACE(3 * sizeof(int))];
	} control = { .head = { .cmsg_len = CMSG_LEN(3 * sizeof(int)),
			      .cmsg_level = SOL_SOCKET,
			      .cmsg_type = SCM_RIGHTS } };
	struct msghdr message = { .msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control.space) };

	memcpy(CMSG_DATA(&control.head), fds, 3 * sizeof(int));
	ssize_t n = sendmsg(fd, &message, MSG_NOSIGNAL);
	if (n < 0)
		return broken(e);
	return send_all(fd, (struct bytes){ text.p + n, text.n - (size_t)n }, e);
}

int talk_send(
	int fd, struct arena *a, const struct json *line, struct bytes body, const int *fds, struct err *e)
{
	struct buf text;

	buf_init(&text, a);
	json_write(&text, line, 0);
	buf_addc(&text, '\n');
	int rc = fds ? send_with(fd, buf_bytes(&text), fds, e) : send_all(fd, buf_bytes(&text), e);
	return rc ? rc : send_all(fd, body, e);
}

static void take_descriptors(struct msghdr *message, int *fds)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < n; i++) {
			int fd;
			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
			if (fds && i < 3 && fds[i] < 0)
				fds[i] = fd;
			else
				close(fd);
		}
	}
}

/* One read, with what came along.  0 at the end. */
static ssize_t receive(int fd, char *to, size_t n, int *fds)
{
	struct iovec part = { to, n };
	union {
		struct cmsghdr head;
		char space[CMSG_SPACE(3 * sizeof(int))];
	} control;
	struct msghdr message = {
		.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)
	};
	ssize_t got;

	while ((got = recvmsg(fd, &message, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR)
		;
	if (got > 0)
		take_descriptors(&message, fds);
	return got;
}

/* Exactly n bytes, of which the first `have` are there. */
static int receive_rest(int fd, char *to, size_t have, size_t n, struct err *e)
{
	while (have < n) {
		ssize_t got = receive(fd, to + have, n - have, NULL);
		if (got <= 0)
			return broken(e);
		have += (size_t)got;
	}
	return OK;
}

int talk_receive(int fd, struct arena *a, struct json **ret, struct bytes *ret_body, int *fds, struct err *e)
{
	char *text = arena_text(a, AGENT_LINE), *end = NULL;
	size_t n = 0;

	while (n < AGENT_LINE && !(end = memchr(text, '\n', n))) {
		ssize_t got = receive(fd, text + n, AGENT_LINE - n, fds);
		if (got < 0)
			return broken(e);
		if (got == 0)
			return err_set(
				e, E_IO, "AGENT_TALK", "the other side of the session's wall has gone");
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
	rc = receive_rest(fd, body, have, (size_t)bytes, e);
	if (rc)
		return rc;
	body[bytes] = '\0';
	*ret = line;
	if (ret_body)
		*ret_body = (struct bytes){ (uint8_t *)body, (size_t)bytes };
	return OK;
}
