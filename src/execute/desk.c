/* desk.c — where everything inside a supervised session can ask the supervisor outside.
 *
 * A session cannot be given a socket: clients close the descriptors they inherit (Node and Bun mark them, Python closes them), and a
 * socket in the file system would need the right to use all such sockets, which reach other programs of the same person.  So the
 * way is a system call that only the session's own seccomp filter knows: socket(AF_UNIX, SOCK_STREAM, DESK_PROTOCOL).  The kernel
 * knows no such protocol and refuses it everywhere else.  Inside, the filter hands the call to the supervisor, who puts one end of a
 * fresh pair of sockets into the caller as the call's result.
 *
 * What that gives: no name that could be found, no word that could be guessed or copied, nothing to inherit and nothing in the
 * environment.  Who gets an answer is inside this very session, and the kernel says which process it is.  When the
 * supervisor is gone the call fails, and with it whatever was asked. */
#include "execute/execute.h"

#include "base/fds.h"
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef SECCOMP_ADDFD_FLAG_SEND
#define SECCOMP_ADDFD_FLAG_SEND (1UL << 1)
#endif

int desk_connect(void)
{
	return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, DESK_PROTOCOL);
}

/* The caller may be killed while it waits: then there is nobody to answer, which is no error of the desk. */
static int answer(int desk, const struct seccomp_notif *asked, int fd)
{
	struct seccomp_notif_addfd give = { .id = asked->id,
		.flags = SECCOMP_ADDFD_FLAG_SEND,
		.srcfd = (uint32_t)fd,
		.newfd_flags = O_CLOEXEC };

	return ioctl(desk, SECCOMP_IOCTL_NOTIF_ADDFD, &give) < 0 ? -1 : 0;
}

/* Without an answer the caller would wait for ever. */
static void turn_away(int desk, const struct seccomp_notif *asked, int why)
{
	struct seccomp_notif_resp no = { .id = asked->id, .error = -why };

	(void)!ioctl(desk, SECCOMP_IOCTL_NOTIF_SEND, &no);
}

/* Which process a descriptor stands for, as we number it; 0: it has ended. */
static pid_t process_of(int fd)
{
	char path[64], text[1024];

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	AUTO(close_fd) int info = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = info >= 0 ? read(info, text, sizeof(text) - 1) : -1;
	text[n > 0 ? n : 0] = '\0';
	const char *at = strstr(text, "Pid:");
	long pid = at ? strtol(at + strlen("Pid:"), NULL, 10) : 0;
	return pid > 0 ? (pid_t)pid : 0;
}

/* A supervisor that carries out other calls, too (supervise.h), hears all of them, and passes the caller's socket on.  -1: it has gone. */
static int accept_relayed(int desk, struct desk_caller *ret)
{
	struct fds_got got;
	pid_t pid = 0;
	ssize_t n;

	while ((n = fds_receive(desk, &pid, sizeof(pid), 0, &got)) < 0 && errno == EINTR)
		;
	if (n != (ssize_t)sizeof(pid) || got.fds[0] < 0)
		return -1;
	*ret = (struct desk_caller){ .fd = got.fds[0],
		.pid = got.fds[1] >= 0 ? process_of(got.fds[1]) : pid };
	got.fds[0] = -1;
	fds_close(&got);
	return 0;
}

int desk_accept(int desk, int stop, struct desk_caller *ret)
{
	int type;
	socklen_t n = sizeof(type);
	const bool is_relayed = getsockopt(desk, SOL_SOCKET, SO_TYPE, &type, &n) == 0;

	for (;;) {
		struct pollfd p[] = { { desk, POLLIN, 0 }, { stop, POLLIN, 0 } };
		struct seccomp_notif asked;
		int pair[2];

		/* Whatever it is that it has not enough of just now. */
		if (poll(p, 2, -1) < 0) {
			if (errno != EINTR)
				(void)poll(NULL, 0, 10);
			continue;
		}
		/* Whoever asked before the end is answered first; nobody is left when the filter has no user any more. */
		if (!(p[0].revents & POLLIN)) {
			if (p[0].revents || p[1].revents)
				return -1;
			continue;
		}
		if (is_relayed)
			return accept_relayed(desk, ret);
		memset(&asked, 0, sizeof(asked)); /* the kernel insists */
		if (ioctl(desk, SECCOMP_IOCTL_NOTIF_RECV, &asked)) {
			/* Who asked was killed meanwhile; or this is no desk. */
			if (errno == EINTR || errno == ENOENT)
				continue;
			return -1;
		}
		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair)) {
			turn_away(desk, &asked, errno);
			continue;
		}
		bool is_given = answer(desk, &asked, pair[1]) == 0;
		close(pair[1]);
		if (is_given) {
			*ret = (struct desk_caller){ .fd = pair[0], .pid = (pid_t)asked.pid };
			return 0;
		}
		close(pair[0]);
	}
}
