/* supervise_signals.c — signals to processes of the run only, where Landlock (below level 6) does not see to that.
 *
 * Everything inside descends from the warden.  A process is named by a descriptor before that is looked at, so that its number cannot
 * become another one's in between. */
#include "execute/supervise.h"

#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int64_t send_to(const struct supervisor *s, pid_t pid, int number)
{
	AUTO(close_fd) int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	if (fd < 0)
		return -errno;
	if (!supervisor_has_inside(s, pid))
		return -EPERM;
	return syscall(SYS_pidfd_send_signal, fd, number, NULL, 0) ? -errno : 0;
}

struct group {
	const struct supervisor *s;
	pid_t group; /* 0: every process inside */
	int number;
	int64_t rc;
};

static bool send_to_member(void *arg, long pid)
{
	struct group *g = arg;

	if (pid <= 1 || pid == g->s->self || (g->group && getpgid((pid_t)pid) != g->group))
		return false;
	int64_t one = send_to(g->s, (pid_t)pid, g->number);
	if (g->rc)
		g->rc = one == 0 ? 0 : g->group && one == -EPERM ? -EPERM : g->rc;
	return false;
}

/* A group may hold processes outside, too: these get nothing. */
static int64_t send_to_group(const struct supervisor *s, pid_t group, int number)
{
	struct group g = { s, group, number, -ESRCH };

	return proc_each("/proc", send_to_member, &g) ? -EPERM : g.rc;
}

static int64_t do_kill(const struct notified *c, pid_t pid, int number)
{
	if (number < 0 || number > SIGRTMAX)
		return -EINVAL;
	if (pid > 0)
		return send_to(c->s, pid, number);
	if (pid == 0)
		return send_to_group(c->s, getpgid((pid_t)c->asked.pid), number);
	return send_to_group(c->s, pid == -1 ? 0 : -pid, number);
}

/* A thread: its process must be inside. */
static int64_t do_thread(const struct notified *c, pid_t group, pid_t thread, int number)
{
	if (thread <= 0 || !supervisor_has_inside(c->s, thread))
		return thread <= 0 ? -EINVAL : kill(thread, 0) && errno == ESRCH ? -ESRCH : -EPERM;
	return (group ? syscall(SYS_tgkill, group, thread, number) : syscall(SYS_tkill, thread, number))
		? -errno
		: 0;
}

/* With a value; the kernel lets nobody pretend that it was the kernel. */
static int64_t do_queue(const struct notified *c, pid_t group, pid_t thread, int number, uint64_t address)
{
	siginfo_t info;
	int rc = notified_read(c, address, &info, sizeof(info));

	if (rc)
		return rc;
	if (!supervisor_has_inside(c->s, thread ? thread : group))
		return -EPERM;
	return (thread ? syscall(SYS_rt_tgsigqueueinfo, group, thread, number, &info)
		       : syscall(SYS_rt_sigqueueinfo, group, number, &info))
		? -errno
		: 0;
}

/* Which process a descriptor of the caller's stands for; 0: none. */
static pid_t process_of(const struct notified *c, int fd)
{
	char path[64], text[1024];

	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%d", (int)c->asked.pid, fd);
	AUTO(close_fd) int info = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = info >= 0 ? read(info, text, sizeof(text) - 1) : -1;
	text[n > 0 ? n : 0] = '\0';
	const char *at = strstr(text, "\nPid:");
	return at ? (pid_t)strtol(at + strlen("\nPid:"), NULL, 10) : 0;
}

/* Which processors a thread of the run may use. */
static int64_t do_affinity(const struct notified *c)
{
	uint8_t mask[1024];
	const pid_t pid = (pid_t)ARGUMENT(c, 0);
	const size_t n = ARGUMENT(c, 1) < sizeof(mask) ? (size_t)ARGUMENT(c, 1) : sizeof(mask);
	int rc = notified_read(c, ARGUMENT(c, 2), mask, n);

	if (rc)
		return rc;
	if (!supervisor_has_inside(c->s, pid))
		return -EPERM;
	return syscall(SYS_sched_setaffinity, pid, n, mask) ? -errno : 0;
}

int64_t supervise_signal(struct notified *c)
{
	const int x = (int)ARGUMENT(c, 0), y = (int)ARGUMENT(c, 1), z = (int)ARGUMENT(c, 2);

	switch (c->asked.data.nr) {
	case SYS_kill:
		return do_kill(c, x, y);
	case SYS_tkill:
		return do_thread(c, 0, x, y);
	case SYS_tgkill:
		return do_thread(c, x, y, z);
	case SYS_rt_sigqueueinfo:
		return do_queue(c, x, 0, y, ARGUMENT(c, 2));
	case SYS_rt_tgsigqueueinfo:
		return do_queue(c, x, y, z, ARGUMENT(c, 3));
	case SYS_pidfd_send_signal: {
		pid_t pid = process_of(c, x);
		return pid > 0 ? do_kill(c, pid, y) : -EBADF;
	}
	case SYS_sched_setaffinity:
		return do_affinity(c);
	default:
		return -ENOSYS;
	}
}
