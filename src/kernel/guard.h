/* guard.h — everything needed to judge a command, read once for one place: profiles, policy, directories.
 *
 * For whoever only wants an answer (guard check, scan, doctor).  Nothing is recorded here; kernel.h does
 * that. */
#ifndef KERNEL_GUARD_H
#define KERNEL_GUARD_H

#include "decide/decide.h"
#include "kernel/workspace.h"
#include "model/draw.h"
#include "propose/propose.h"

struct policy_question;
struct policy_answer;
struct ruleset;

/* The guard of one place: its profiles, its policy, and what is known about where a command would run.
 * Without a workspace it works with the shipped defaults.  It only reads. */
struct guard {
	struct sys *sys;
	const struct workspace *ws; /* borrowed; or NULL */
	struct profiles profiles;
	const struct policy *policy;
	struct surroundings at;
	enum containment
		containment; /* walls: calls of agents here are contained, as far as their profile can be */
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

/* Can what runs under this profile rely on its walls?  When it requires every one of them, and nobody has said that one may be
 * missing on this machine. */
enum containment guard_walls(struct sys *s, const struct workspace *ws, const struct profile *p);

/* Understand and judge, as `helm run` would: by profile, rules and the policy in use.  `profile` NULL: as guard_profile() says.  Else the only
 * failure is E_USAGE PROFILE_UNKNOWN.  The decision and the proposal it points to live in `a`. */
int guard_judge_shell(const struct guard *g, struct arena *a, const char *profile, struct bytes text,
	struct decision *ret, struct err *e);
int guard_judge_argv(const struct guard *g, struct arena *a, const char *profile, const char *const *argv,
	size_t argc, struct decision *ret, struct err *e);
/* A proposal made elsewhere.  Profile and rules alone: what is found in a file is no request. */
int guard_judge(const struct guard *g, struct arena *a, const char *profile, const struct proposal *p,
	struct decision *ret, struct err *e);

/* What was asked of policies about a decision, and what they said.  Memory in the arena of the question, but for `drawn`. */
struct guard_asked {
	struct policy_question *question; /* policy/policy.h */
	const struct decision *rules_said; /* what it was before policies had their say */
	const struct policy_answer *policy; /* of what is in use; NULL: nothing is */
	struct drawn drawn; /* what was used up so far */
};
/* The question that `helm run` would put to policies about a decision of guard_judge(), which becomes what they make of it.  `g` has a workspace.
 * `candidate`: one that is to be asked the same afterwards; or NULL.  `more`: facts beside those that the door knows; or NULL. */
void guard_ask(const struct guard *g, struct arena *a, const struct json *params,
	const struct ruleset *candidate, const struct json *more, struct decision *d,
	struct guard_asked *ret);
void guard_asked_done(struct guard_asked *asked);

/* Somebody knows something that makes an answer stricter; nothing makes it laxer. */
struct finding *guard_raise(struct arena *a, enum action action, enum reason_code reason, const char *rule,
	const char *text, struct decision *d);

/* What would become of this decision here and now, for a run or an agent's call: {profile, destructive,
 * frozen, paused, otherwise, frozen_principals, grants, sentences}.  A freeze of everything, or one that
 * cannot be read, and a pause of the profile deny it in `d` as they would anywhere; a checkpoint that
 * would answer instead of a person allows it; the rest is only told.
 * NULL outside a workspace.  `args_sha256`: the exact input where that is known; or NULL. */
struct json *guard_foresee(
	const struct guard *g, struct arena *a, const char *args_sha256, struct decision *d);

#endif
