/* guard.h — everything needed to judge a command, read once for one place: profiles, policy, directories.
 *
 * For whoever only wants an answer (guard check, scan, doctor).  Nothing is recorded here; kernel.h does that. */
#ifndef KERNEL_GUARD_H
#define KERNEL_GUARD_H

#include "decide/decide.h"
#include "kernel/workspace.h"
#include "propose/propose.h"

/* The guard of one place: its profiles, its policy, and what is known about where a command would run.  Without a workspace
 * it works with the shipped defaults.  It only reads. */
struct guard {
	struct sys *sys;
	struct profiles profiles;
	const struct policy *policy;
	struct surroundings at;
};

/* `ws` may be NULL.  `cwd` NULL is the current directory.  An error when the profiles are not valid; a policy that is not
 * valid is no error: it asks about everything. */
int guard_open(struct sys *s, struct arena *a, const struct workspace *ws, const char *cwd, struct guard *ret,
	struct err *e);
/* What is known about a place: `cwd`, NULL for the current directory.  In `a`. */
struct surroundings guard_at(const struct guard *g, struct arena *a, const char *cwd);
/* The git top level above `cwd`, or cwd itself; NULL when that is "/", the home directory or above it: too much to be
 * writable just because somebody stands there. */
const char *kernel_work_tree(struct sys *s, struct arena *a, const char *cwd, const char *home);

/* Understand and judge.  `profile` NULL is workspace_edit.  The only failure is E_USAGE PROFILE_UNKNOWN.  The decision and
 * the proposal it points to live in `a`. */
int guard_judge_shell(const struct guard *g, struct arena *a, const char *profile, struct bytes text,
	struct decision *ret, struct err *e);
int guard_judge_argv(const struct guard *g, struct arena *a, const char *profile, const char *const *argv,
	size_t argc, struct decision *ret, struct err *e);
/* A proposal made elsewhere. */
int guard_judge(const struct guard *g, struct arena *a, const char *profile, const struct proposal *p,
	struct decision *ret, struct err *e);

#endif
