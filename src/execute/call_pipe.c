/* call_pipe.c — how a wrapper inside a client's own sandbox reaches the keeper.
 *
 * Codex and Claude Code run a command in a sandbox of their own: nothing of the helm home can be written there, and connect() or
 * socket(AF_UNIX) fail.  A file can still be opened for reading and locked, and socketpair() works.  So each call gets a FIFO:
 *
 *	hook	makes it, with one byte in it, and hands its descriptor to the keeper
 *	wrapper	makes a pair of sockets, locks the FIFO and reads the byte
 *	keeper	polls the FIFO for room; the kernel names the process that holds the lock, also across pid namespaces, and the keeper
 *		takes one of the two sockets from that process (pidfd_getfd)
 *
 * From then on both speak as if the wrapper had connected.  The byte is read once, the lock cannot be held in another's name, and the
 * sockets name their maker: the keeper knows its peer as surely as by SO_PEERCRED of a connection.  Landlock and a read-only mount let
 * all of this through, because the wrapper only reads. */
#include "execute/session.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The wrapper's descriptor that the keeper takes; far from what a client's shell uses. */
enum { TAKEN_FD = 200, MEET_MS = 60000 };

int call_pipe_make(int dir, const char *name)
{
	if (mkfifoat(dir, name, 0600))
		return -1;
	int fd = openat(dir, name, O_RDWR | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
	/* One page is all its room, so one byte leaves none. */
	if (fd >= 0 && fcntl(fd, F_SETPIPE_SZ, 1) > 0 && write(fd, "c", 1) == 1)
		return fd;
	int kept = errno;
	close_fd(&fd);
	(void)unlinkat(dir, name, 0);
	errno = kept;
	return -1;
}

/* ---- in the wrapper ---- */

/* The keeper has taken its socket, or is gone: then nobody has the FIFO open for writing any more. */
static int await_keeper(int fifo, int socket)
{
	struct pollfd p[] = { { socket, POLLIN, 0 }, { fifo, 0, 0 } };
	char byte;
	int n;

	while ((n = poll(p, ARRAY_SIZE(p), MEET_MS)) < 0 && errno == EINTR)
		;
	if (n > 0 && p[0].revents & POLLIN && read(socket, &byte, 1) == 1)
		return 0;
	errno = n == 0 ? ETIMEDOUT : ECONNREFUSED;
	return -1;
}

static int take_byte(int fifo)
{
	struct flock lock = { .l_type = F_RDLCK, .l_whence = SEEK_SET };
	char byte;

	if (fcntl(fifo, F_SETLK, &lock))
		return -1;
	ssize_t n = read(fifo, &byte, 1);
	if (n == 0)
		errno = ECONNREFUSED; /* the keeper has closed it */
	return n == 1 ? 0 : -1;
}

int call_pipe_connect(int dir, const char *name)
{
	AUTO(close_fd) int fifo = openat(dir, name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
	int pair[2];

	if (fifo < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -1;
	int taken = dup3(pair[1], TAKEN_FD, O_CLOEXEC);
	/* Where Yama restricts who may look into a process, this one permits it until the keeper has done so. */
	(void)prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
	int rc = taken < 0 || take_byte(fifo) || await_keeper(fifo, pair[0]) ? -1 : 0, kept = errno;
	(void)prctl(PR_SET_PTRACER, 0, 0, 0, 0);
	/* With our copies gone the end of the keeper is heard. */
	close_fd(&taken);
	close(pair[1]);
	if (rc)
		close(pair[0]);
	errno = kept;
	return rc ? -1 : pair[0];
}

/* ---- in the keeper ---- */

static pid_t lock_holder(int fifo)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	return fcntl(fifo, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK ? lock.l_pid : 0;
}

/* A socket of the kind that a wrapper makes, made by `pid`, a process of this user. */
static bool is_sound(int fd, pid_t pid)
{
	struct ucred who;
	int domain, type;
	socklen_t n = sizeof(who), d = sizeof(domain), t = sizeof(type);

	return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &d) == 0 && domain == AF_UNIX &&
		getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &t) == 0 && type == SOCK_SEQPACKET &&
		getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &n) == 0 && who.pid == pid &&
		who.uid == geteuid();
}

int call_pipe_accept(int fifo, pid_t *ret_peer)
{
	pid_t pid = lock_holder(fifo);
	AUTO(close_fd) int process = pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;

	/* Asked again: the descriptor is that of the holder, and not of a process that got its number since. */
	if (process < 0 || lock_holder(fifo) != pid) {
		errno = ESRCH;
		return -1;
	}
	int fd = (int)syscall(SYS_pidfd_getfd, process, TAKEN_FD, 0);
	if (fd < 0)
		return -1;
	if (!is_sound(fd, pid) || send(fd, "k", 1, MSG_NOSIGNAL | MSG_DONTWAIT) != 1) {
		close(fd);
		errno = EPROTO;
		return -1;
	}
	*ret_peer = pid;
	return fd;
}
