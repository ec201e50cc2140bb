/* kernel.h — the verbs in order: propose, decide, settle, record, execute, record.
 *
 * `struct kernel` is the process: policy, key, chain.  It is opened once and serves any number of requests,
 * one after the other; nothing in it grows with them.  `struct handling` is one request on its way: its
 * memory and what is known about it so far.
 *
 * The other manuals of this room: workspace.h (where), guard.h (judging alone), hook.h, freeze.h,
 * task/task.h (guarded runs), approval/approval.h (questions and grants), setup/setup.h (agent clients). */
#ifndef KERNEL_KERNEL_H
#define KERNEL_KERNEL_H

#include "kernel/guard.h"
#include "kernel/workspace.h"
#include "record/record.h"

struct person;
struct ruleset;
struct policy_question;
struct policy_answer;
struct pdp_facts;
struct draw;
/* A call that reached us from inside a supervised session (agent/agent.h). */
#define LEAVES_WALLS \
	"risk.leaves_walls" /* rule: what is asked about a call that a session's walls do not let through */

struct kernel_session {
	const char *task_id; /* of the session */
	const char *started; /* the directory that the person started it in */
	const char *profile; /* by which its calls are judged; NULL: the workspace's */
	const char *walls; /* the profile whose walls stand around it */
	int64_t caller_pid; /* the process that calls */
	bool is_cut_off; /* its walls let nothing out to the network */
};

struct kernel {
	struct sys *sys;
	struct workspace *ws;
	struct guard guard; /* profiles, policy, and what is the same wherever a request comes from */
	const char *policy_hash; /* "sha256:..." of everything the policy was compiled from */
	struct key *key; /* NULL before kernel_arm() */
	struct recorder recorder;
	const struct person
		*person; /* whose acts are recorded, when they have a key that signs them; or NULL */
	const struct kernel_session *session; /* NULL: who calls is this process, or its parent */
	/* For a process that answers many at once, each with a kernel of its own: decisions are signed in order and synced together by this
	 * one; NULL: by the recorder here. */
	struct recorder_group *group;
	uint64_t decided_count; /* requests that were decided since it was opened: each of them once */
};
/* Profiles, policy, key and chain of a workspace; what is kept lives in `a`.  E_MISSING KEY_MISSING without
 * a key: what cannot be recorded is not decided. */
int kernel_open(struct sys *s, struct arena *a, struct workspace *ws, struct kernel *ret, struct err *e);
/* The same for a door that signs only some of what it hears: that there is a key is known, kernel_arm()
 * loads it.  What is carried out is armed first. */
int kernel_open_unarmed(
	struct sys *s, struct arena *a, struct workspace *ws, struct kernel *ret, struct err *e);
int kernel_arm(struct kernel *k, struct err *e);
void kernel_close(struct kernel *k);

/* A kernel that is kept from request to request, for whoever answers many; one for each thread.  { 0 } is closed. */
enum { STANDBY_SOURCES = 12 };
struct standby {
	bool is_open;
	struct arena a;
	struct kernel k;
	const struct json *word; /* what it was made from, and how that looked */
	const char *sources[STANDBY_SOURCES];
	struct stamp {
		uint64_t dev, ino, size, changed_s, changed_ns, modified_s, modified_ns;
	} stamps[STANDBY_SOURCES];
	size_t source_count;
};
/* The kernel of the workspace at `root` as it is now, as from kernel_open_unarmed(): the one that is there, or another one when anything that it was
 * opened from has changed. */
int standby_open(struct standby *x, struct sys *s, const char *root, struct kernel **ret, struct err *e);
/* After an error, too: whatever state that left is not carried on. */
void standby_close(struct standby *x);
/* The signing key of this user, made when there is none. */
int kernel_ensure_key(struct sys *s, struct arena *a, bool *ret_created, struct err *e);

/* One proposed effect.  Whatever is not said to be optional must be there. */
struct request {
	struct {
		const char *door; /* how it came in: "run", "hook/claude-code", ... */
		const char *subject_id; /* "user:1000", "agent:claude-code" */
		const char *session; /* of the agent; or NULL */
		const struct json
			*known; /* what else the door knows, as facts of policies: {tenant, ...}; or NULL */
	} who;
	struct {
		const char *tool; /* "Bash", or the program of an argv */
		const char *action; /* effect class in receipts: "EXECUTE_COMMAND", ... */
		const char *const *argv; /* executed without a shell; or NULL */
		size_t argc;
		struct bytes shell; /* text a shell would run, when argv is NULL */
		const struct proposal *proposal; /* understood by the door already; or NULL */
		struct bytes args; /* the exact input, for its digest; empty: argv or shell */
		const struct json *params; /* arguments of a tool, for policies; NULL: {command} or {argv} */
		const struct json *context; /* what the caller says beside them, for policies; or NULL */
		const char *effect_id; /* the caller's own id of it, for policies; or NULL */
		const char *budget_id; /* the budget that the caller names, for policies; or NULL */
		const struct pdp_facts
			*pdp; /* what an external decision point said (decide/authority/); or NULL */
		/* What the door uses up with any answer that is no question: an id that is answered once.  DRAW_REFUSED: it was used. */
		const struct draw *draws;
		size_t draw_count;
		const char *preview; /* as a person may read it; NULL: the tool's name */
		bool is_client_tool; /* of an agent client on this machine: what it changes in a file is shown as a diff */
		const char *
			caption; /* the preview that a row of the ledgers has: its digest, redacted, stands in both receipts; or NULL */
		const char *task_id, *task_name, *task_goal; /* or NULL */
		struct json *about; /* further members of both receipts; or NULL */
	} what;
	const struct surroundings *where; /* guard_at() */
	const struct profile *profile;
	const struct ruleset
		*policy; /* of this entry point or of a skill, asked beside the one in use; or NULL */
	enum guard_mode mode;
	enum placement
		placement; /* whoever says IN_SANDBOX puts it up; rules rely on it where guard_relied() does */
	/* The door knows something that asks for more than the rules do.  action ACTION_ALLOW: it does
	 * not. */
	struct {
		enum rule_effect action;
		const char *rule, *text; /* id, and the sentence of why */
		const char *also; /* a second id that asks: an answer must cover both; or NULL */
		const struct effect *effect; /* what it is about; NULL: all of it */
		const enum reason_code *code; /* NULL: the usual one of that action */
	} at_least;
	/* How a question may be answered. */
	struct {
		bool can_ask; /* who gets the answer can put it to a person and go on */
		bool is_approved; /* a person has said yes beforehand: answers ESCALATE, never DENY */
		const char *permitted_by; /* is_approved, by this decision on record; or NULL */
		const struct json *permitted_terms; /* and only for these: settled_terms() of that decision */
		const char *approval_id; /* only what was approved there counts; or NULL */
		/* The command line that goes on once it is approved, around the id; NULL: there is none. */
		const char *resume_before, *resume_after;
	} answer;
	/* This process does it: it calls kernel_permit() before and kernel_outcome() after.  Otherwise
	 * somebody else acts upon the answer. */
	bool is_done_here;
};

/* "sha256:..." of the exact input, as receipts have it. */
const char *request_sha256(struct arena *a, const struct request *q);
/* What a tool call is bound to, for what.args: the tool, and what it is given. */
const char *tool_call_sha256(struct arena *a, const char *tool, const struct json *input);

/* How a question was answered without asking anybody now: by a person beforehand, or because it can be
 * undone. */
struct settlement {
	const char *by; /* "approve-risk", "grant", ...; NULL: it was not */
	struct json *about; /* members for both receipts that prove it; or NULL */
	const char *checkpoint_id; /* made just before, of what may be lost; or NULL */
	bool is_covered; /* and it is shown that everything that can be lost is in there */
	const char
		*why_asked; /* why no checkpoint answered it, where the workspace wants that tried; or NULL */
};

/* One request on its way.  It begins as { .a = ... }: all that follows is filled step by step and lives in
 * there. */
struct handling {
	struct arena *a;
	const char *args_sha256; /* "sha256:..." of the exact input */
	struct proposal proposal;
	struct decision decision;
	const struct decision *rules_said; /* what it was before the policy in use had its say */
	const struct policy_question
		*asked; /* in the words of policies; NULL: no policy is asked at this door */
	const struct policy_answer *policy; /* what the policy in use said (policy/policy.h); NULL: none is */
	const struct policy_answer *shadow; /* and what the candidate beside it did; NULL: there is none */
	const struct decision
		*otherwise; /* without the freeze or the pause that denies it; NULL: none does */
	enum verdict verdict; /* what happens: the decision, after mode and settlement */
	struct settlement settled;
	struct json *question; /* what a person is asked; NULL unless verdict is V_ESCALATE */
	const char *question_sha256;
	struct json *shown; /* what was asked as people may read it (record/shown.h); NULL: not made yet */
	const char *shown_sha256;
	bool is_shown_kept;
	bool is_question_kept; /* where 'helm approval list' finds it */
	const char *approval_note; /* what was wrong with requests or grants; or NULL */
	const char *decision_id;
	struct json *decision_receipt, *outcome_receipt; /* outcome: NULL when nothing was done here */
	bool is_unrecorded; /* the decision could not be made durable: nothing may follow it */
};

/* Propose, decide, settle, record.  When it returns OK the answer is h->verdict, and it is on disk; after
 * an error nothing may be done. For a request that is done here it is the beginning of the steps below. */
int kernel_handle(struct kernel *k, const struct request *q, struct handling *h, struct err *e);

/* The steps.  First, pure but for looking: what would be decided.  Writes nothing, at worst DENY. */
void kernel_decide(struct kernel *k, const struct request *q, struct handling *h);
/* Make h->shown before the decision is recorded, which makes it otherwise: for callers that can still refuse for want of memory. */
void kernel_make_shown(struct kernel *k, const struct request *q, struct handling *h);
/* Its two halves, for whoever learns from the rules where it runs: what profile and rules say about it, which may be asked again when the
 * request was changed; and the rest, once: what the entry point demands, contracts, policies, freeze and pause. */
void kernel_rules(struct kernel *k, const struct request *q, struct handling *h);
void kernel_conclude(struct kernel *k, const struct request *q, struct handling *h);
/* Between them: do the rules ask about it because it reaches out of the sandbox that it was judged in?  A client that is answered yes runs it
 * without that sandbox. */
bool kernel_leaves_sandbox(const struct request *q, const struct handling *h);
/* Has the question been answered already?  Then sign and write what was decided, and keep the question that
 * is left.  On disk, except for an ALLOW that is done here: kernel_permit() waits for that, as late as
 * possible. */
int kernel_record(struct kernel *k, const struct request *q, struct handling *h, struct err *e);
/* Its two halves, for who puts the receipts of several requests into the chain at once (recorder_group_append_all()): the draft of its receipt, which is in h->a; and what
 * follows when that is on disk, or `rc` and `e` say why it is not.  h->decision_receipt is set in between. */
struct recording {
	struct draft draft;
	enum verdict decided; /* by kernel_decide() */
};
int kernel_record_begin(
	struct kernel *k, const struct request *q, struct handling *h, struct recording *ret, struct err *e);
int kernel_record_end(struct kernel *k, const struct request *q, struct handling *h, struct recording *made,
	int rc, struct err *e);
/* What a candidate policy said beside it is noted, where there is one and it differs; `decided` is what kernel_decide() said.  kernel_record() does that itself. */
void kernel_shadow(struct kernel *k, struct handling *h, enum verdict decided);
/* OK when the verdict is ALLOW and it is on disk, with the rows put so far.  Whoever acts has this OK
 * first. */
int kernel_permit(struct kernel *k, struct handling *h, struct err *e);
/* What happened (integers and strings, goes into the receipt), and in one word.  RECORD_OUTCOME: it
 * happened and is not on record. */
int kernel_outcome(struct kernel *k, const struct request *q, struct handling *h, const struct json *happened,
	const char *status, struct err *e);
/* Everything that was begun is on disk.  A request that is left in any other way ends with this. */
int kernel_commit(struct kernel *k, struct handling *h, struct err *e);

/* Housekeeping at the end, when nobody waits any more: ledgers that were put aside are sealed.  Cannot fail; what is not done now
 * is done by the next one. */
void kernel_tidy(struct kernel *k, struct arena *a);

/* A freeze and a pause stand above every mode and every approval: true when one denies it, and then `d`
 * says so, in `a`. */
#define FREEZE_RULE "deny.frozen"
#define PAUSE_RULE "deny.paused"
bool kernel_stops(
	struct kernel *k, struct arena *a, const char *principal, const char *profile, struct decision *d);

/* Choose the workspace's profile and, unless NULL, what happens to what destroys ("ask", "checkpoint").
 * The receipt is on disk before the choice is.  E_USAGE PROFILE_UNKNOWN. */
int workspace_use_profile(struct kernel *k, struct arena *a, const char *name, const char *destructive,
	struct json **ret_receipt, struct err *e);
/* Would that choice permit nothing that is not permitted now? */
bool workspace_choice_is_stricter(
	struct kernel *k, struct arena *a, const char *name, const char *destructive);

/* Health of a workspace and of what protects it: the document of `helm doctor --json`.  Reads only. */
struct doctor_options {
	bool skip_discovery;
	bool deep; /* also read everything: each receipt, each object of each checkpoint */
	void (*step)(
		void *arg, const char *what, uint64_t done, uint64_t total); /* of what is deep; or NULL */
	void *arg;
};
struct json *doctor_run(
	struct sys *s, struct arena *a, struct workspace *ws, const struct doctor_options *options);

/* Version, libraries, and the protections this kernel offers. */
struct json *kernel_about(struct sys *s, struct arena *a);

#endif
