/* strays.c — end what a run has left where no pid namespace does it. */
#include "base/mem.h"
#include "execute/session.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
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

/* Kills every child of this process.  False when there is none, or nobody can say. */
static bool kill_children(void)
{
	char text[32 << 10];
	size_t n = 0;
	bool is_any = false;
	AUTO(close_fd) int fd = open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);

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
		is_any = true;
		kill_stray((pid_t)pid);
	}
	return is_any;
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

/* Until none is left: a dying child leaves its own to us.  First the command's own process group at once, which this process leaves for
 * that.  All that are dead are taken out of the list before the next round.  Needed only without a pid namespace. */
void run_end_strays(void)
{
	pid_t own = getpid();

	if (leave_group(own))
		kill(-own, SIGKILL);
	while (kill_children()) {
		(void)waitpid(-1, NULL, 0);
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
	}
}
