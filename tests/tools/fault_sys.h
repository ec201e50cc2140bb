/* fault_sys.h — the twin of the outside world: the real one, with a fixed clock, known random numbers, and one fault at a
 * counted call.
 *
 * Calls that change the world are counted from 1 (write, sync, fsync, syncfs, truncate, rename, unlink, mkdir, symlink, link,
 * chmod, chown, utimens, fork, and open with O_CREAT or O_TRUNC); what only looks is not.  Further calls that the real one learns are
 * passed through.
 *
 * The twin also watches durability: what was written or named and not yet synced is "unsynced", and giving a file its name
 * by rename before its bytes are synced is a violation.  A test that hears "done" may ask that nothing is unsynced.
 *
 * In helm-test, sys_default() is a twin set up from the environment:
 *   HELM_TEST_CLOCK_US=N      the clock starts at N microseconds since 1970 and advances by the step at each look
 *   HELM_TEST_CLOCK_STEP_US=N the step; 1000 when not given
 *   HELM_TEST_SEED=N          random numbers from N
 *   HELM_TEST_FAIL_AT=N:EIO   the N-th counted call fails with that errno; N+:EIO all calls from the N-th on do
 *   HELM_TEST_LOOK_FAIL_AT=N:EIO  the same for the N-th call that only looks
 *   HELM_TEST_SHORT_AT=N      the N-th counted call, if a write, writes half and says so
 *   HELM_TEST_KILL_AT=N       SIGKILL instead of the N-th counted call
 *   HELM_TEST_TEAR_AT=N       the same, but a write is half done first
 *   HELM_TEST_TRACE=FILE      appends "N call" for each counted call */
#ifndef TOOLS_FAULT_SYS_H
#define TOOLS_FAULT_SYS_H

#include "base/sys.h"

enum { FAULT_UNSYNCED = 512 };

struct fault {
	struct sys sys; /* pass &f.sys to the code under test */
	unsigned calls, looks; /* counted so far */

	unsigned fail_at; /* 0 = never */
	int fail_errno;
	bool fail_stays; /* a full disk stays full */
	unsigned look_fail_at;
	int look_errno;
	unsigned short_at, kill_at, tear_at;

	bool has_clock;
	int64_t clock_us, step_us;
	bool has_seed;
	uint64_t seed;
	const char *const *env; /* "NAME=value", ends in NULL; or NULL for the process's own */
	int trace_fd; /* -1 = none */

	/* device and inode of what would be lost by a power failure now */
	struct {
		dev_t dev;
		ino_t ino;
	} unsynced[FAULT_UNSYNCED];
	size_t unsynced_count;
	size_t violations; /* renames of files whose bytes were not synced */
};

/* The real world; set the members you want afterwards. */
void fault_init(struct fault *f);

/* The fault was reached. */
bool fault_fired(const struct fault *f);

#endif
