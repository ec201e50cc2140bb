/* hand.c — what was made inside a session's walls is handed to helm outside: the desk, and our side of the terminal.
 *
 * With it comes the sender's pid, translated by the kernel into our own pid namespace, where a process inside could not name itself. */
#include "execute/hand.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

int hand_open(int pair[2])
{
	const int yes = 1;

	return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) ||
			setsockopt(pair[0], SOL_SOCKET, SO_PASSCRED, &yes, sizeof(yes))
		? -1
		: 0;
}

int hand_send(int to, const int *fds, int n)
{
	const size_t size = (size_t)n * sizeof(*fds);
	char byte = 'd';
	struct iovec text = { &byte, 1 };
	union {
		struct cmsghdr head;
		char space[CMSG_SPACE(2 * sizeof(int))];
	} control = {
		.head = { .cmsg_len = CMSG_LEN(size), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS }
	};
	struct msghdr message = { .msg_iov = &text,
		.msg_iovlen = 1,
		.msg_control = n ? &control : NULL,
		.msg_controllen = n ? CMSG_SPACE(size) : 0 };

	if (n)
		memcpy(CMSG_DATA(&control.head), fds, size);
	return sendmsg(to, &message, MSG_NOSIGNAL) == 1 ? 0 : -1;
}

pid_t hand_receive(int from, int fds[2])
{
	char byte;
	struct iovec text = { &byte, 1 };
	union {
		struct cmsghdr head;
		char space[CMSG_SPACE(2 * sizeof(int)) + CMSG_SPACE(sizeof(struct ucred))];
	} control;
	struct msghdr message = {
		.msg_iov = &text, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)
	};
	struct ucred who = { 0 };
	ssize_t n;

	while ((n = recvmsg(from, &message, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR)
		;
	for (struct cmsghdr *c = n == 1 ? CMSG_FIRSTHDR(&message) : NULL; c; c = CMSG_NXTHDR(&message, c)) {
		if (c->cmsg_type == SCM_CREDENTIALS)
			memcpy(&who, CMSG_DATA(c), sizeof(who));
		else if (c->cmsg_type == SCM_RIGHTS && c->cmsg_len <= CMSG_LEN(2 * sizeof(int)))
			memcpy(fds, CMSG_DATA(c), c->cmsg_len - CMSG_LEN(0));
	}
	return who.pid;
}
