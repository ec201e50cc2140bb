/* strays.c — end what a run has left where no pid namespace does it. */
#include "base/mem.h"
#include "execute/session.h"
#include "execute/supervise.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* One that goes on by making another and ending itself is never met alone, but a signal to a process group reaches all of it, also
 * what is being made.  Whatever lies in another session than ours was put there by the run. */
static void kill_stray(pid_t pid)
{
	pid_t group = getpgid(pid), session = getsid(pid);

	if (group > 0 && session > 0 && session != getsid(0))
		kill(-group, SIGKILL);
	kill(pid, SIGKILL);
}

static bool kill_if_child(void *arg, long pid)
{
	char text[4096];
	const char *at = proc_status((pid_t)pid, text, sizeof(text)) ? NULL : strstr(text, "\nPPid:");

	(void)arg;
	if (at && strtol(at + strlen("\nPPid:"), NULL, 10) == getpid())
		kill_stray((pid_t)pid);
	return false;
}

/* Kills every child of this process that can be found now.  A kernel without a list of children has all processes looked at. */
static void kill_children(void)
{
	char text[32 << 10];
	size_t n = 0;
	AUTO(close_fd) int fd = open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		(void)proc_each("/proc", kill_if_child, NULL);
	while (fd >= 0 && n < sizeof(text) - 1) {
		ssize_t got = read(fd, text + n, sizeof(text) - 1 - n);
		if (got <= 0)
			break;
		n += (size_t)got;
	}
	while (n && text[n - 1] != ' ') /* a number that was cut off is another process */
		n--;
	text[n] = '\0';
	for (char *at = text; *at; at += strspn(at, " ")) {
		long pid = strtol(at, &at, 10);
		if (pid <= 0)
			break;
		kill_stray((pid_t)pid);
	}
}

/* To the group of our parent, or, when that has gone and the next one is out of sight, to that of a child made for it. */
static bool leave_group(pid_t own)
{
	pid_t to = getpgid(getppid());

	if (to <= 0 || to == own) {
		to = _Fork();
		if (to == 0)
			prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
		while (to == 0)
			pause();
		(void)setpgid(to, to);
	}
	return to > 0 && setpgid(0, to) == 0 && getpgrp() != own;
}

/* Until the kernel says that there is no child: a dying one leaves its own to us, so a list that was empty for a moment is not enough.  First
 * the command's own process group at once, which this process leaves for that.  Needed only without a pid namespace. */
void run_end_strays(void)
{
	const struct timespec moment = { 0, 1000000 };
	pid_t own = getpid(), ended;

	if (leave_group(own))
		kill(-own, SIGKILL);
	do {
		kill_children();
		while ((ended = waitpid(-1, NULL, WNOHANG)) > 0)
			;
		if (ended == 0)
			(void)nanosleep(&moment, NULL);
	} while (ended == 0 || errno == EINTR);
}
