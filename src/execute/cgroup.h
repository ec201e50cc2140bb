/* cgroup.h — inside execute/: a control group (cgroup v2) around one run or session, where this process was given leave to make one.
 *
 * It adds two things to the limits of single processes and to the end of a run: the number of processes and the memory are bounded as
 * sums, also for root; and everything in it is killed at once, whatever it did to its session, signals and parents.  Where the
 * kernel, a container or the service manager gives no such leave, there is none, and the report says so. */
#ifndef EXECUTE_CGROUP_H
#define EXECUTE_CGROUP_H

#include "base/sys.h"
#include "model/profile.h"

struct cgroup {
	struct sys *s;
	int base; /* the directory below which it was made */
	int dir; /* locked as long as one of us lives, so that others see that it is in use; -1: there is none */
	char name[48];
	bool has_processes, has_memory; /* these limits are set */
	bool has_kill;
};

/* With the limits, if there are any that control groups know and if these can be set here; else *ret has none.
 *
 * A group that holds processes cannot bound groups below it.  So we need one in which we are alone, with our children, and move out of it into one beside
 * the new one: what a service manager gives when it is asked to delegate (`systemd-run --user --scope -p Delegate=yes`). */
void cgroup_make_limited(struct sys *s, const struct run_limits *limits, struct cgroup *ret);
/* Without limits, only to end what is in it; else *ret has none. */
void cgroup_make_plain(struct sys *s, struct cgroup *ret);

/* This process, and so all that it starts.  0, or -1 with errno; 0 when there is none. */
int cgroup_enter(const struct cgroup *g);
void cgroup_kill(const struct cgroup *g); /* everything in it */
void cgroup_end(struct cgroup *g); /* nothing is left in it, and it is gone; fine when there is none */

#endif
