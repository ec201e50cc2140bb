/* kernel.h — the verbs in order: propose, decide, settle, record, execute, record.
 *
 * The other manuals of this room: workspace.h (where), guard.h (judging alone), hook.h, freeze.h, task/task.h (guarded runs),
 * approval/approval.h (questions and grants), setup/setup.h (agent clients). */
#ifndef KERNEL_KERNEL_H
#define KERNEL_KERNEL_H

#include "execute/execute.h"
#include "kernel/guard.h"
#include "kernel/workspace.h"
#include "record/record.h"

/* What a workspace needs to decide and record. */
struct kernel {
	struct sys *sys;
	struct arena *a;
	struct workspace *ws;
	struct guard guard; /* profiles, policy, and where commands would run: guard_at() moves it */
	const char *policy_hash; /* "sha256:..." of everything the policy was compiled from */
	struct key *key; /* NULL before kernel_arm() */
	struct recorder recorder;
	bool is_unrecorded; /* a decision could not be made durable: nothing follows it */
};
/* Profiles, policy, key and chain of a workspace.  E_MISSING KEY_MISSING without a key: what cannot be recorded is not
 * decided. */
int kernel_open(struct sys *s, struct arena *a, struct workspace *ws, struct kernel *ret, struct err *e);
/* The same for a door that signs only some of what it hears: that there is a key is known, kernel_arm() loads it.  What is
 * carried out is armed first. */
int kernel_open_unarmed(
	struct sys *s, struct arena *a, struct workspace *ws, struct kernel *ret, struct err *e);
int kernel_arm(struct kernel *k, struct err *e);
void kernel_close(struct kernel *k);
/* The signing key of this user, made when there is none. */
int kernel_ensure_key(struct sys *s, struct arena *a, bool *ret_created, struct err *e);

/* Choose the workspace's profile and, unless NULL, what happens to what destroys ("ask", "checkpoint").  The receipt is on disk
 * before the choice is.  E_USAGE PROFILE_UNKNOWN. */
int workspace_use_profile(struct kernel *k, const char *name, const char *destructive,
	struct json **ret_receipt, struct err *e);

/* One proposed effect. */
struct request {
	const char *door; /* "run", "hook/claude-code", ... : how it came in */
	const char *subject_id; /* who asks: "user:1000", "agent:claude-code" */
	const char *session; /* of the agent; or NULL */
	const char *tool_name; /* "Bash", or the program of an argv */
	const char *action; /* effect class in receipts: "EXECUTE_COMMAND", ... */
	const char *const *argv; /* executed without a shell; or NULL */
	size_t argc;
	struct bytes shell; /* text a shell would run, when argv is NULL */
	const struct proposal *proposal; /* already understood by the door; or NULL */
	struct bytes args; /* the exact input, for its digest; empty: taken from argv or shell */
	const struct profile *profile;
	enum guard_mode mode;
	const char *task_id, *task_name, *task_goal; /* or NULL */
	bool can_ask; /* who gets the answer can put the question to a person and go on */
	bool is_approved; /* a person has approved this risk; lifts ESCALATE, never DENY */
	const char *approval_id; /* the request whose approval is meant, and no other; or NULL */
	const char *preview; /* the input as a person may read it; NULL: the tool's name */
	/* The command line that goes on once a request is approved; NULL, or a NULL answer: there is none. */
	const char *(*resume)(void *arg, const char *approval_id);
	enum action floor; /* at least this, whatever the rules say */
	const char *floor_rule; /* id and sentence of why; with floor only */
	const char *floor_text;
	const struct effect *floor_effect; /* what it is about; NULL: all of it */
	struct json *metadata; /* goes into both receipts; or NULL */
	/* Do it.  Called only when the decision is ALLOW, signed and written; calls kernel_commit() and has its OK before anything
	 * has an effect, so that preparations go on while the disk works.  Fills `ret` with what happened (integers
	 * and strings; goes into the outcome receipt) and *ret_status.  NULL: somebody else acts upon the answer. */
	int (*execute)(void *arg, const struct decision *d, const char *decision_id, struct json *ret,
		const char **ret_status, struct err *e);
	void *arg;
};

/* How a question was answered without asking anybody now: by a person beforehand, or because it can be undone. */
struct settlement {
	const char *by; /* "approve-risk", "grant", ...; NULL: it was not */
	struct json *about; /* members for both receipts that prove it; or NULL */
	const char *checkpoint_id; /* made just before, holds what would be lost; or NULL */
	const char *
		why_asked; /* why a checkpoint did not answer it, where the workspace wants that tried; or NULL */
};

struct handling {
	struct proposal proposal;
	struct decision decision;
	enum verdict verdict; /* what happens: the decision, after mode and settlement */
	struct settlement settled;
	struct json *question; /* what a person is asked; NULL unless verdict is V_ESCALATE */
	const char *question_digest;
	bool is_question_kept; /* where 'helm approval list' finds it */
	const char *approval_note; /* what was wrong with requests or grants; or NULL */
	const char *decision_id;
	struct json *decision_receipt, *outcome_receipt; /* outcome: NULL when nothing was executed */
};

/* Propose, decide, settle, record the decision, execute only on ALLOW, record the outcome.  An error means that nothing was executed,
 * except RECORD_OUTCOME: it was, and the outcome could not be recorded. */
int kernel_handle(struct kernel *k, const struct request *q, struct handling *ret, struct err *e);

/* For `execute`: the decision and the rows put so far are on disk when this returns OK.  Otherwise nothing may be done. */
int kernel_commit(struct kernel *k, struct err *e);

/* The exact input of a request, as receipts have it. */
char *kernel_args_digest(struct kernel *k, const struct request *q);

/* A freeze and a pause stand above every mode and every approval: true when one denies it, and then `d` says so. */
bool kernel_stops(struct kernel *k, const char *principal, const char *profile, struct decision *d);

/* Only the first two steps: what would be decided.  Writes nothing. */
void kernel_decide(struct kernel *k, const struct request *q, struct handling *ret);
/* The steps behind it, for a door that has to see the decision in between: `ret` as kernel_decide() filled it. */
int kernel_carry_out(struct kernel *k, const struct request *q, struct handling *ret, struct err *e);

/* The git top level above `cwd`, or cwd itself; NULL when that is "/", the home directory or above it: too much to be
 * writable just because somebody stands there. */
const char *kernel_work_tree(struct sys *s, struct arena *a, const char *cwd, const char *home);

/* Health of a workspace and of what protects it: the document of `helm doctor --json`.  Reads only. */
struct json *doctor_run(struct sys *s, struct arena *a, struct workspace *ws, bool skip_discovery);

/* Version, libraries, and the protections this kernel offers. */
struct json *kernel_about(struct sys *s, struct arena *a);

#endif
