/* proc.h — helper processes: git and the like.  Started with exactly what is given, waited for with a deadline, ended together
 * with everything they started.  (Commands of an agent run under a profile: execute/.)
 *
 * A child leads a process group of its own, inherits no descriptor but its three, has default signal handling, and dies when
 * we die. */
#ifndef BASE_PROC_H
#define BASE_PROC_H

#include "base/err.h"
#include "base/mem.h"
#include "base/sys.h"

#include <stdbool.h>

struct proc_spec {
	const char *const *argv; /* ends in NULL; argv[0] without a slash is looked up in `path` */
	const char *const *env; /* "NAME=value", ends in NULL; NULL = our own environment */
	const char *path; /* where to look, as $PATH; NULL = our own $PATH */
	int cwd_fd; /* directory to work in; -1 = ours */
	int in_fd, out_fd, err_fd; /* -1 = /dev/null */
	int kept_fd; /* one more that stays open, above 2, under its number; 0 = none */
};

/* This program, and nothing else: our environment, our directory, /dev/null three times. */
#define PROC_SPEC(argv_) \
	((struct proc_spec){ .argv = (argv_), .cwd_fd = -1, .in_fd = -1, .out_fd = -1, .err_fd = -1 })

struct proc {
	pid_t pid; /* and process group */
	int pidfd;
};

struct proc_end {
	int code; /* exit code, or 128 + signal, as shells say it */
	int signal; /* 0 = it exited */
};

/* Returns OK only when the program itself runs: PROC_NOT_FOUND (E_MISSING), PROC_NOT_EXECUTABLE, PROC_START otherwise. */
int proc_start(struct sys *s, const struct proc_spec *spec, struct proc *ret, struct err *e);

/* Wait for the end; whatever is left of its group is killed.  timeout_ms < 0 waits for ever.  PROC_TIMEOUT (E_LIMIT) when time
 * is up: the group is killed then too.  Either way the child is gone and *p is empty afterwards. */
int proc_wait(struct sys *s, struct proc *p, int timeout_ms, struct proc_end *ret, struct err *e);

void proc_done(
	struct proc *p); /* kill and reap if it is still there; for AUTO(), with struct proc p = { 0 } */

/* Run to the end and keep what it says, at most max_bytes of each stream; the rest is read and dropped, and is_cut says so.
 * `spec`'s streams are ours to set: `input` is what it reads.  Errors as above. */
struct proc_output {
	struct proc_end end;
	struct bytes out, err; /* followed by a NUL */
	bool is_cut;
};
int proc_capture(struct sys *s, struct arena *a, const struct proc_spec *spec, struct bytes input,
	size_t max_bytes, int timeout_ms, struct proc_output *ret, struct err *e);

/* Another program takes the place of this one, with our environment; argv[0] is its path.  Returns only when it cannot. */
int proc_become(const char *const *argv, struct err *e);

/* Which start of the machine this is; NULL when the system does not say: then nothing is to be concluded from it. */
const char *proc_boot_id(struct sys *s, struct arena *a);

/* One process as the kernel knows it.  pid 0: our own.  False when it is not there. */
struct proc_info {
	int64_t pid, parent, session, tty, start_ticks;
	bool has_ended; /* its parent has not reaped it */
	char name[32]; /* what it calls itself: no proof of anything */
};
bool proc_look(struct sys *s, int64_t pid, struct proc_info *ret);

/* When a process started (pid 0: our own), in clock ticks since the machine did; 0 when it is not there or has ended.  With its
 * pid this names a process for good: pids are used again.  In a container process 1 often reaps nothing: orphans that have ended stay. */
int64_t proc_start_ticks(struct sys *s, int64_t pid);

/* Does the process with this pid and this start time still run?  One that ended and was not reaped does not. */
bool proc_is_running(struct sys *s, int64_t pid, int64_t start_ticks);

#endif
