/* guard.h — everything needed to judge a command, read once for one place: profiles, policy, directories.
 *
 * For whoever only wants an answer (guard check, scan, doctor).  Nothing is recorded here; kernel.h does
 * that. */
#ifndef KERNEL_GUARD_H
#define KERNEL_GUARD_H

#include "decide/decide.h"
#include "kernel/workspace.h"
#include "propose/propose.h"

/* The guard of one place: its profiles, its policy, and what is known about where a command would run.
 * Without a workspace it works with the shipped defaults.  It only reads. */
struct guard {
	struct sys *sys;
	const struct workspace *ws; /* borrowed; or NULL */
	struct profiles profiles;
	const struct policy *policy;
	struct surroundings at;
	enum placement
		placement; /* of what is asked about here: as the calls of clients, or else as 'helm run' */
	bool is_by_client; /* a client carries it out: what leaves the sandbox runs without one, once a person said yes */
};

/* `ws` may be NULL.  `cwd` NULL is the current directory.  An error when the profiles are not valid; a
 * policy that is not valid is no error: it asks about everything. */
int guard_open(struct sys *s, struct arena *a, const struct workspace *ws, const char *cwd, struct guard *ret,
	struct err *e);
/* What is known about a place: `cwd`, NULL for the current directory.  In `a`. */
struct surroundings guard_at(const struct guard *g, struct arena *a, const char *cwd);
/* The same where somebody who is governed names the directory: it says where a command would run, and makes nothing writable.  The work
 * tree is the one that the client was started in (`started`; NULL: the current directory), or one in it, in the workspace or in a place
 * that a person has allowed. */
struct surroundings guard_at_claimed(
	const struct guard *g, struct arena *a, const char *cwd, const char *started);
/* The git top level above `cwd`, or cwd itself; NULL when that is nobody's work (place_is_too_much()): it does not become writable
 * just because somebody stands there. */
const char *kernel_work_tree(struct sys *s, struct arena *a, const char *cwd, const char *home);

/* Which profile judges: the one asked for, else the one the workspace has chosen, else workspace_edit.  An
 * error when the choice cannot be read. */
int guard_profile(const struct guard *g, struct arena *a, const char *asked, const char **ret, struct err *e);

/* May rules rely on that sandbox?  When the profile requires every guarantee of it, and nobody has said that one may be missing on this
 * machine; otherwise it is judged as UNSANDBOXED. */
enum placement guard_relied(
	struct sys *s, const struct workspace *ws, const struct profile *p, enum placement asked);
/* Of what a supervisor carries out under this profile, outside of the session that asked. */
enum placement guard_supervised(const struct profile *p);

/* A proposal made elsewhere, by profile and rules alone: what is found in a file is no request.  `profile` NULL: as guard_profile() says.
 * E_USAGE PROFILE_UNKNOWN.  The decision lives in `a`. */
int guard_judge(const struct guard *g, struct arena *a, const char *profile, const struct proposal *p,
	struct decision *ret, struct err *e);

/* Another profile under which a run of what was denied is done, or else at least asked about, as the rules recommend; NULL: there is none.
 * *ret is what that profile says. */
const struct profile *guard_permitting(const struct guard *g, struct arena *a, const struct profile *now,
	const struct proposal *p, const struct decision *d, enum verdict *ret);

/* Somebody knows something that makes an answer stricter; nothing makes it laxer. */
struct finding *guard_raise(struct arena *a, enum rule_effect action, enum reason_code reason,
	const char *rule, const char *text, struct decision *d);

#endif
