/* fds.c — bytes and descriptors from one process to another, over a Unix socket.
 *
 * Everybody who hands descriptors on does it here, because each mistake in it is the same: an interrupted call that is taken for an
 * error, a list that was cut off and is taken for a whole one, and descriptors nobody asked for that stay open until there is
 * room for no others. */
#include "base/fds.h"

#include "base/file.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

union control {
	struct cmsghdr head;
	char room[CMSG_SPACE(FDS_MOST * sizeof(int)) + CMSG_SPACE(sizeof(struct ucred))];
};

/* The first bytes, with the descriptors. */
static ssize_t send_some(int socket, struct bytes text, const int *fds, size_t n)
{
	struct iovec part = { (void *)(uintptr_t)text.p, text.n };
	union control control = { .head = { .cmsg_len = CMSG_LEN(n * sizeof(*fds)),
					  .cmsg_level = SOL_SOCKET,
					  .cmsg_type = SCM_RIGHTS } };
	struct msghdr message = { .msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = n ? &control : NULL,
		.msg_controllen = n ? CMSG_SPACE(n * sizeof(*fds)) : 0 };
	ssize_t sent;

	if (n)
		memcpy(CMSG_DATA(&control.head), fds, n * sizeof(*fds));
	while ((sent = sendmsg(socket, &message, MSG_NOSIGNAL)) < 0 && errno == EINTR)
		;
	return sent;
}

int fds_send(int socket, struct bytes text, const int *fds, size_t n)
{
	if (n > FDS_MOST) {
		errno = EINVAL;
		return -1;
	}
	while (text.n) {
		ssize_t sent = send_some(socket, text, fds, n);
		if (sent < 0)
			return -1;
		text.p += sent;
		text.n -= (size_t)sent;
		n = 0;
	}
	return 0;
}

/* Into `got`.  False: there was no room for all of them. */
static bool take(struct fds_got *got, struct msghdr *message)
{
	bool is_whole = !(message->msg_flags & (MSG_TRUNC | MSG_CTRUNC));
	size_t n = 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c)) {
		size_t bytes = c->cmsg_len - CMSG_LEN(0);
		if (c->cmsg_level != SOL_SOCKET)
			continue;
		if (c->cmsg_type == SCM_CREDENTIALS && bytes >= sizeof(struct ucred)) {
			struct ucred who;
			memcpy(&who, CMSG_DATA(c), sizeof(who));
			got->pid = who.pid;
		}
		for (size_t i = 0; c->cmsg_type == SCM_RIGHTS && i < bytes / sizeof(int); i++) {
			int fd;
			memcpy(&fd, CMSG_DATA(c) + i * sizeof(fd), sizeof(fd));
			if (n < FDS_MOST) {
				got->fds[n++] = fd;
				continue;
			}
			close_fd(&fd);
			is_whole = false;
		}
	}
	return is_whole;
}

void fds_close(struct fds_got *got)
{
	for (size_t i = 0; i < FDS_MOST; i++) {
		close_fd(&got->fds[i]);
		got->fds[i] = -1;
	}
}

ssize_t fds_receive(int socket, void *to, size_t room, int flags, struct fds_got *ret)
{
	struct iovec part = { to, room };
	union control control;
	struct msghdr message = {
		.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)
	};
	ssize_t n;

	memset(ret->fds, 0xff, sizeof(ret->fds));
	ret->pid = 0;
	while ((n = recvmsg(socket, &message, flags | MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR)
		;
	if (n < 0)
		return n;
	bool is_whole = take(ret, &message);
	if (n == 0 || !is_whole)
		fds_close(ret);
	if (is_whole)
		return n;
	errno = EPROTO;
	return -1;
}
