/* crash.h — do one thing again and again, with a fault one system call later each time.
 *
 * For N = 1, 2, ... until the thing is done before the N-th counted call: in a fresh directory, prepare, act with a fault at
 * call N, and check with the real world.  The faults: the call fails with ENOSPC; it and all later ones fail with EIO; a
 * write is short; a call that only looks fails with EIO; the process is killed before the call; the process is killed with the
 * call half done.  Killing happens in a child process.
 *
 * `act` calls crash_ack() whenever its caller may rely on something.  At that moment nothing may be unsynced and no file
 * may have got its name before its bytes: both are checked here. */
#ifndef TOOLS_CRASH_H
#define TOOLS_CRASH_H

#include "base/err.h"
#include "tools/fault_sys.h"
#include "tools/scratch.h"

struct crash {
	struct fault f;
	struct scratch t;
	void *arg;
	int ack_fd;
};

enum crash_fault { CRASH_FAIL, CRASH_FAIL_ON, CRASH_SHORT, CRASH_LOOK, CRASH_KILL, CRASH_TEAR, CRASH_FAULTS };

struct crash_end {
	enum crash_fault fault;
	unsigned at; /* the call that was hit */
	unsigned acks; /* how often crash_ack() was called */
	bool fired; /* false in the last round: the act was over before the fault */
	bool was_killed;
	int rc; /* what act returned, when it was not killed */
	struct err err;
};

struct crash_case {
	const char *name; /* for messages */
	void (*setup)(struct crash *c); /* may be NULL; c->f has no fault yet */
	int (*act)(struct crash *c, struct err *e); /* through &c->f.sys, in c->t.fd */
	void (*check)(struct crash *c, const struct crash_end *end); /* cmocka assertions; real system */
};

/* Returns the number of counted calls of the undisturbed act that change the world. */
unsigned crash_sweep(const struct crash_case *what, void *arg);
void crash_ack(struct crash *c);

#endif
