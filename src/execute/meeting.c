/* meeting.c — how wrapper and keeper of a session find each other: a socket in the session's directory, and a process that belongs to
 * nobody. */
#include "execute/session.h"

#include "execute/become.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define SOCKET_NAME "socket"

/* By a path through the directory's descriptor, because addresses of sockets are short and home directories need not be. */
static struct sockaddr_un address_in(int dir)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };

	snprintf(to.sun_path, sizeof(to.sun_path), "/proc/self/fd/%d/" SOCKET_NAME, dir);
	return to;
}

int session_listen(int dir)
{
	struct sockaddr_un at = address_in(dir);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	(void)unlinkat(dir, SOCKET_NAME, 0); /* of one that was killed */
	if (fd >= 0 && (bind(fd, (struct sockaddr *)&at, sizeof(at)) || listen(fd, 64))) {
		int kept = errno;
		close(fd);
		errno = kept;
		return -1;
	}
	return fd;
}

int session_connect(int dir)
{
	struct sockaddr_un to = address_in(dir);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	if (fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof(to))) {
		int kept = errno;
		close(fd);
		errno = kept;
		return -1;
	}
	return fd;
}

int session_accept(int listener, pid_t *ret_peer)
{
	struct ucred who;
	socklen_t n = sizeof(who);
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

	if (fd >= 0 && (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &n) || who.uid != geteuid())) {
		close(fd);
		errno = EPERM;
		return -1;
	}
	if (fd >= 0)
		*ret_peer = who.pid;
	return fd;
}

/* Of nobody's terminal, in nobody's directory, with nobody's streams and signals. */
static void leave(int kept)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	setsid();
	(void)!chdir("/");
	umask(0077);
	for (int fd = 0; fd <= 2; fd++)
		(void)dup2(null, fd);
	if (kept > 3)
		(void)syscall(SYS_close_range, 3, (unsigned)kept - 1, 0);
	(void)syscall(SYS_close_range, (unsigned)kept + 1, ~0U, 0);
	default_signals();
	signal(SIGPIPE, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	unblock_signals();
	prctl(PR_SET_NAME, "helm-session", 0, 0, 0);
}

int session_detach(struct sys *s, int kept, void (*fn)(void *arg, int kept), void *arg)
{
	int status = -1;
	pid_t first = s->fork(s);

	if (first == 0) {
		/* Once more, so that nobody who waits for the wrapper's children waits for this one. */
		pid_t second = fork();
		if (second == 0) {
			leave(kept);
			fn(arg, kept);
		}
		_exit(second < 0);
	}
	while (first > 0 && waitpid(first, &status, 0) < 0 && errno == EINTR)
		;
	return first > 0 && status == 0 ? 0 : -1;
}
