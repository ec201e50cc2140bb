/* foresee.h — what would happen to a command here and now: the answer that every entry point gives, without doing anything.
 *
 * `helm guard check` and `explain`, `helm policy explain` and the tests ask here.  The steps are those of a real request: kernel_rules(),
 * kernel_conclude() and, for what is asked about, would_settle(). */
#ifndef KERNEL_FORESEE_H
#define KERNEL_FORESEE_H

#include "kernel/kernel.h"

struct foresee_question {
	const char *profile; /* NULL: as guard_profile() says */
	const char *const *argv; /* or NULL */
	size_t argc;
	struct bytes shell; /* text that a shell would run, when argv is NULL */
	const struct ruleset *policy; /* one that is asked beside those in use; or NULL */
	const struct json *more; /* facts beside those that the entry point knows; or NULL */
};
struct foresight {
	struct kernel k; /* what the guard knows, without a key */
	struct request q; /* as it was judged: q.placement is where it would run */
	struct surroundings at;
	struct handling h; /* h.verdict, h.decision (its verdict is the same), h.policy, h.settled.by */
	bool is_moved; /* it would leave the sandbox that it was asked about in */
	bool is_closed; /* denied, because no approval opens the sandbox of a run for it */
};
/* E_USAGE PROFILE_UNKNOWN.  Memory in `a`; ended with foresight_done(). */
int foresee(const struct guard *g, struct arena *a, const struct foresee_question *q, struct foresight *ret,
	struct err *e);
void foresight_done(struct foresight *f);

/* The same in members and sentences: {profile, destructive, frozen, paused, otherwise, frozen_principals, grants, settled_by, saved_first,
 * sentences}.  NULL outside a workspace. */
struct json *foresight_json(struct foresight *f);
/* And where it runs: {placement, moved, unsandboxed}, with the answer that the entry points without a sandbox give. */
struct json *foresight_explain(struct foresight *f);

#endif
