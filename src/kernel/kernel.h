/* kernel.h — the verbs in order, and what they work on.
 *
 * A workspace is a directory with Helm's state in it.  One resolver finds it for every command (workspace_open). */
#ifndef KERNEL_KERNEL_H
#define KERNEL_KERNEL_H

#include "base/err.h"
#include "base/json.h"
#include "base/sys.h"
#include "decide/decide.h"
#include "execute/execute.h"
#include "propose/propose.h"
#include "record/record.h"
#include "verify/verify.h"

#include <stdbool.h>

enum layout { LAYOUT_UNKNOWN, LAYOUT_GENERIC, LAYOUT_HERMES, LAYOUT_OPENCLAW, LAYOUT_HELM };
const char *layout_name(enum layout l);

struct workspace {
	const char *root; /* absolute, links resolved where it exists */
	enum layout layout;
	const char *source; /* how it was chosen: markers, env, cwd, default, nested, fallback */
	const char *state_name; /* ".helm", ".openclaw" or ".hermes" */
	const char *state_dir; /* root/state_name */
	const char *home; /* $HOME, or NULL */
	const char *helm_home; /* $HELM_HOME or ~/.helm: keys and trust; NULL when neither is known */
	struct json *markers; /* names that told the layout */
	bool exists; /* the root is a directory */
	int root_fd, state_fd; /* -1 when not there */
};

/* Find and open the workspace: `path` (from --path) if given, else $HELM_WORKSPACE, else the nearest directory above the
 * current one that is a workspace, else ~/.helm/workspace.  Without flags a place that is no workspace is E_MISSING with
 * the remedy.  WORKSPACE_OPTIONAL: *ret is NULL then.  WORKSPACE_ANY: the place is given all the same, to be looked at.
 * WORKSPACE_NEW: that too, and the walk up is left out, because it is to be made. */
enum { WORKSPACE_OPTIONAL = 1, WORKSPACE_NEW = 2, WORKSPACE_ANY = 4 };
int workspace_open(struct sys *s, struct arena *a, const char *path, unsigned flags, struct workspace **ret,
	struct err *e);
void workspace_close(struct workspace *ws); /* NULL is fine */

/* $HELM_HOME or ~/.helm, absolute and clean; E_MISSING when HOME is unset too. */
int workspace_helm_home(struct sys *s, struct arena *a, const char **ret, struct err *e);

/* Create what is missing: directories, reference files from share/, workspace.json.  `force` replaces reference files that
 * differ, each kept as FILE.bak first.  Idempotent, and safe to be killed at any point.  The result lists workspace,
 * state_dir, references, created, kept, replaced. */
int workspace_init(
	struct sys *s, struct arena *a, struct workspace *ws, bool force, struct json **ret, struct err *e);

/* The profile by which agents' calls and `helm run` are judged: `default_profile` of .helm/workspace.json, workspace_edit when
 * nothing was chosen.  An error when the choice cannot be read. */
int workspace_default_profile(
	struct sys *s, struct arena *a, const struct workspace *ws, const char **ret, struct err *e);

/* Agent workspaces and note vaults below the home directory: { "openclaw": [...], ... }, only non-empty ones. */
struct json *workspace_signals(struct sys *s, struct arena *a, const char *home);

/* Health of a workspace and of what protects it: the document of `helm doctor --json`.  Reads only. */
struct json *doctor_run(struct sys *s, struct arena *a, struct workspace *ws, bool skip_discovery);

/* Run all cases of a directory, or of one family, in file order (conform.h).  The report: {cases, passed, failed,
 * not_supported, unscored, families: [{family, passed, failed, not_supported, unscored}], failures: [{id, expected, got}]}.
 * OK also when cases failed; an error when the directory cannot be read or holds no case. */
int conform_run(struct sys *s, struct arena *a, int dirfd, const char *dir, const char *only_family,
	struct json **ret_report, struct err *e);

/* The guard of one place: its profiles, its policy, and what is known about where a command would run.  Without a workspace
 * it works with the shipped defaults.  It only reads. */
struct guard {
	struct sys *sys;
	struct profiles profiles;
	const struct policy *policy; /* NULL: the shipped rules, compiled as far as a question needs them */
	struct surroundings at;
};

/* `ws` may be NULL.  `cwd` NULL is the current directory.  An error when the profiles are not valid; a policy that is not
 * valid is no error: it asks about everything. */
int guard_open(struct sys *s, struct arena *a, const struct workspace *ws, const char *cwd, struct guard *ret,
	struct err *e);
/* Compile the whole policy, for many questions or to look at it. */
void guard_compile(struct guard *g, struct arena *a);
/* What of the policy can speak about this proposal, or all of it. */
const struct policy *guard_policy(const struct guard *g, struct arena *a, const struct proposal *p);
/* The same guard, looking from another directory. */
void guard_at(struct guard *g, struct arena *a, const char *cwd);

/* Understand and judge.  `profile` NULL is workspace_edit.  The only failure is E_USAGE PROFILE_UNKNOWN.  The decision and
 * the proposal it points to live in `a`. */
int guard_judge_shell(const struct guard *g, struct arena *a, const char *profile, struct bytes text,
	struct decision *ret, struct err *e);
int guard_judge_argv(const struct guard *g, struct arena *a, const char *profile, const char *const *argv,
	size_t argc, struct decision *ret, struct err *e);
/* A proposal made elsewhere. */
int guard_judge(const struct guard *g, struct arena *a, const char *profile, const struct proposal *p,
	struct decision *ret, struct err *e);

/* Version, libraries, and the protections this kernel offers. */
struct json *kernel_about(struct sys *s, struct arena *a);

/* ---- the product in one function ---- */

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

/* What happens to what destroys: as the workspace has chosen (`destructive` in workspace.json), else as the profile says. */
int workspace_destructive(struct sys *s, struct arena *a, const struct workspace *ws, const struct profile *p,
	enum destructive_rule *ret, struct err *e);

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

/* Only the first two steps: what would be decided.  Writes nothing. */
void kernel_decide(struct kernel *k, const struct request *q, struct handling *ret);
/* The steps behind it, for a door that has to see the decision in between: `ret` as kernel_decide() filled it. */
int kernel_carry_out(struct kernel *k, const struct request *q, struct handling *ret, struct err *e);

/* The git top level above `cwd`, or cwd itself; NULL when that is "/", the home directory or above it: too much to be
 * writable just because somebody stands there. */
const char *kernel_work_tree(struct sys *s, struct arena *a, const char *cwd, const char *home);

/* What of a workspace is to leave it: everything, or what carries this task or session and lies in this span. */
struct evidence_choice {
	const char *task, *session; /* NULL: any */
	bool has_since, has_until;
	int64_t since_us, until_us; /* since <= t < until */
};
/* Files for pack_write(), and what the pack says about itself.  E_MISSING with PACK_EMPTY when nothing matches. */
int evidence_collect(struct sys *s, struct arena *a, const struct workspace *ws,
	const struct evidence_choice *choice, struct pack_item **ret_items, size_t *ret_n,
	struct pack_about *ret_about, struct err *e);

/* A pack played back (docs/formats/replay.md): tapes against their manifest, recorded runs against the outputs they expect,
 * receipts against their links and, with keys, signatures.  Executes nothing.  The report: {status COMPLETE, DIVERGED or
 * FAILED, issues, tapes, runs, receipts}. */
int replay_pack(struct arena *a, const struct pack *p, const struct trust *trust, struct json **ret_report,
	struct err *e);

/* Two packs' decisions side by side, matched by action and resource: {match_count, divergent_count, only_in_a, only_in_b,
 * divergences, identical}. */
int replay_compare(
	struct arena *a, const struct pack *x, const struct pack *y, struct json **ret_report, struct err *e);

/* ---- guarded runs ---- */

struct run_spec {
	const char *profile;
	const char *const *argv;
	size_t argc;
	const char *task_name, *task_goal, *task_id, *parent_task_id, *skill, *label; /* or NULL */
	const struct json *meta; /* object, or NULL */
	const char *const *checkpoint_paths; /* relative to the workspace; NULL: all of it */
	size_t checkpoint_path_count;
	const char *runtime_target, *runtime_note, *delivery_mode;
	enum guard_mode mode;
	const char *mode_source; /* "cli", "env" or "default" */
	bool approve_risk, guard_json;
	const char *approval_id; /* go on with what was approved there; or NULL */
	int64_t timeout_s; /* 0: none */
	const char *cwd; /* absolute */
	bool is_terminal; /* output goes to a terminal: it is inherited, not captured */
};

/* How a run came out, for whoever prints it. */
struct run_report {
	int exit_code;
	const char *task_id, *status; /* of the last row */
	struct handling handling;
	bool was_decided;
	const char *checkpoint_id; /* or NULL */
	const char *message; /* for standard error, one line; or NULL */
	const char *hint; /* what to do next; or NULL */
	struct json *printed; /* document for standard output (--guard-json, handoff); or NULL */
	const struct run_result *result; /* when something was executed */
};

/* One run under a profile: every stop leaves its row, and its exit code is in *ret.  Errors are those before a task exists
 * (unknown profile, no key, a ledger that cannot be written). */
int task_run(struct kernel *k, const struct run_spec *spec, struct run_report *ret, struct err *e);

/* Rows that say `running` although their process is gone (by pid and start time) are closed with a `failed` row.  `all`: also
 * old rows.  *ret_closed says how many. */
int task_close_orphans(
	struct sys *s, struct arena *a, struct workspace *ws, bool all, size_t *ret_closed, struct err *e);

/* A person moves a task.  Appends a row; nothing is edited. */
enum task_move { TASK_BLOCK, TASK_COMPLETE, TASK_RETRY, TASK_STALE, TASK_RECLAIM };
struct task_change {
	enum task_move to;
	const char *reason, *stage, *next_action, *owner, *new_id; /* or NULL */
	const char *const *evidence;
	size_t evidence_count;
	bool force;
};
/* `newest` is the task's newest row.  E_USAGE when the move makes no sense from there. */
int task_change(struct sys *s, struct arena *a, struct workspace *ws, const struct json *newest,
	const struct task_change *c, struct json **ret, struct err *e);

/* ---- pauses ---- */

/* Do pauses stop runs?  Only while HELM_PAUSE_GATE, or its older name, says 1, true or yes. */
bool pause_gate_is_on(struct sys *s);
/* {profile: {paused_at, reason, ...}}.  An error when the file cannot be understood: then nothing may start. */
int pause_load(struct sys *s, struct arena *a, const struct workspace *ws, struct json **ret, struct err *e);
/* The token that ends the pause is given once and kept only as a hash. */
int pause_profile(struct sys *s, struct arena *a, const struct workspace *ws, const char *profile,
	const char *reason, char **ret_token, struct err *e);
int resume_profile(struct sys *s, struct arena *a, const struct workspace *ws, const char *profile,
	const char *token, struct err *e);

/* ---- stop ---- */

/* {principal: signed receipt}; "*" is everybody. */
int freeze_load(struct sys *s, struct arena *a, const struct workspace *ws, struct json **ret, struct err *e);
/* Why nothing is allowed for this principal now, or NULL.  A file that cannot be read is a reason. */
const char *freeze_in_force(struct kernel *k, const char *principal);
int freeze_set(struct kernel *k, const char *principal, const char *reason, struct json **ret_receipt,
	struct err *e);
int freeze_lift(struct kernel *k, const char *principal, const char *reason, struct json **ret_receipt,
	struct err *e);

/* ---- approvals (docs/formats/approvals.md) ---- */

#define APPROVALS "approvals.json"
#define GRANT_EFFECT "helm.approval/grant"
#define REVOKE_EFFECT "helm.approval/revoke"

/* {version, requests: {id: entry}, grants: {id: entry}}.  An error when the file cannot be understood: then nothing is granted. */
int approvals_load(
	struct sys *s, struct arena *a, const struct workspace *ws, struct json **ret, struct err *e);
/* "pending", "approved", "denied", "answered in the client" or "expired". */
const char *approval_state(const struct json *request_entry, int64_t now_us);
/* "in force", "used", "revoked" or "expired". */
const char *grant_state(const struct json *grant_entry, int64_t now_us);
void approvals_count(const struct json *doc, int64_t now_us, size_t *ret_pending, size_t *ret_in_force);

/* How far a person's answer is to reach. */
struct approval_terms {
	enum reach reach;
	bool is_once, is_for_session;
	const char *path, *host; /* of REACH_PATH (absolute, links resolved), REACH_HOST */
	int64_t expires_us;
};
/* Who answers. */
struct approver {
	const char *name; /* "user:1000 at /dev/pts/3", "key ed25519:..." */
	struct key *key; /* signs the answer too; or NULL */
};

/* A request, proven to be what was asked: APPROVAL_MISSING, APPROVAL_TAMPERED. */
int approval_get(struct kernel *k, const char *id, struct json **ret_entry, struct err *e);
/* Each leaves a signed receipt in the chain first, then takes effect.  A request is answered once: APPROVAL_SETTLED when it was
 * answered or has expired.  APPROVAL_REACH when what was asked may not be granted so far. */
int approval_approve(struct kernel *k, const char *id, const struct approval_terms *t,
	const struct approver *who, struct json **ret_receipt, struct err *e);
int approval_deny(struct kernel *k, const char *id, const char *reason, const struct approver *who,
	struct json **ret_receipt, struct err *e);
int approval_revoke(struct kernel *k, const char *grant_id, const char *reason, const struct approver *who,
	struct json **ret_receipt, struct err *e);
/* Give what was drafted: signed first, then kept. */
int approval_give(struct kernel *k, struct approval *g, const struct approver *who, struct json **ret_receipt,
	struct err *e);
/* From the questions since then: {since, questions, must_be_asked, proposals: [{number, saves, denied_by_you, principal, covers, examples,
 * approval_id}]}, the one that saves most first.  approval_id: a request to make the grant from; null when none is kept.  Reads only. */
int tune_propose(struct kernel *k, int64_t since_us, struct json **ret, struct err *e);
/* The grant that would answer this request: everything but its id, time and giver. */
int approval_draft(struct arena *a, const struct json *request, const struct approval_terms *t,
	struct approval *ret, struct err *e);
/* The same for something nobody asked for yet: what would be asked about `q`.  GRANT_NOTHING when nothing would be, GRANT_DENIED.  A
 * subject or session that is NULL means anybody. */
int approval_draft_for(struct kernel *k, const struct request *q, const struct approval_terms *t,
	struct approval *ret, struct err *e);

/* A person outside of everything that is governed: E_DENIED APPROVAL_INSIDE below a guarded run or an agent client. */
int approver_is_outside(struct sys *s, struct arena *a, const struct workspace *ws, struct err *e);
/* The program that called this hook, for the row of the call: pid and start time of the nearest ancestor that is no shell or the
 * like, or of the farthest one looked at; both 0 when a shell did in which a person types. */
void approver_caller(struct sys *s, int64_t *ret_pid, int64_t *ret_start_ticks);

/* ---- hooks of agent clients ---- */

#define TOOL_CALLS "tool-calls.jsonl"

struct hook_answer {
	enum verdict verdict;
	bool is_quiet; /* nothing but reading: passed without a word */
	const char *code; /* reason code; "" when allowed */
	const char *text; /* for the model: what was understood, why not, what to do instead */
	const char *short_text; /* for the person, one sentence */
	const char *receipt_id; /* or NULL */
};

/* One call before it is made.  What only reads passes with a note in tool-calls.jsonl; everything else is decided and signed
 * before the answer is known.  `can_ask`: the client can put a question to a person.  An error means that it must be blocked. */
int hook_before(struct kernel *k, const char *client, bool can_ask, const struct tool_call *call,
	struct hook_answer *ret, struct err *e);

/* What became of it: an outcome receipt bound to the decision of the same call. */
int hook_after(struct kernel *k, const char *client, const struct tool_call *call, struct err *e);

/* ---- the log: what is lost or changed, and heads kept elsewhere ---- */

struct log_check_options {
	int root_fd; /* of the workspace: git references are looked up there */
	void (*step)(void *arg, uint64_t done_bytes, uint64_t total_bytes); /* or NULL */
	void *arg;
};
struct log_report {
	struct json *
		doc; /* what `helm log check --json` prints: sound, receipts, files, heads, anchors, findings, ... */
	bool is_sound; /* nothing lost, nothing changed, everything signed by a trusted key */
	bool is_damaged; /* something is lost or changed; `damage` says up to where the chain is good */
	struct log_damage damage;
	uint64_t receipts;
};
/* Check everything.  Reads only.  OK also when the log is damaged. */
int log_check(struct sys *s, struct arena *a, int state_fd, const struct trust *trust,
	const struct log_check_options *options, struct log_report *ret, struct err *e);

/* Sign a head and keep it at `to`: a file (absolute), or a git reference ("refs/...") of the repository at root_fd.  Refused
 * (ANCHOR_CONFLICT) when what is there is a head this log does not continue. */
int log_anchor(struct recorder *r, struct arena *a, int root_fd, const char *to, struct json **ret_head,
	struct err *e);
/* The head that is kept there. */
int log_anchor_read(
	struct sys *s, struct arena *a, int root_fd, const char *to, struct json **ret, struct err *e);
/* Those this workspace remembers: [{"to","head"}]. */
int log_anchors(struct sys *s, struct arena *a, int state_fd, struct json **ret, struct err *e);

/* ---- the settings of agent clients (docs/formats/setup.md) ---- */

struct setup {
	struct sys *sys;
	struct arena *a;
	struct workspace *ws;
	const char *home; /* of the user, or NULL */
	const char *project; /* the project stood in, or NULL */
	const char *program; /* this program, absolute */
};
/* `project` NULL: the git top level above the current directory, or that directory itself. */
int setup_open(struct sys *s, struct arena *a, struct workspace *ws, const char *project, struct setup *ret,
	struct err *e);

/* What a person has to paste for a client whose settings cannot be edited in place; NULL for the others. */
const char *setup_snippet(const struct setup *s, const char *client, struct err *e);

/* One change of one settings file, not yet made. */
struct setup_change {
	const char *client, *scope, *root, *file; /* file: below root */
	const char *path; /* both together */
	const char *command; /* as written for the call before a tool */
	bool existed, is_removal;
	struct bytes before, after; /* p NULL: no file */
	unsigned mode;
	struct json *record; /* row of setup.json */
};
/* `scope` NULL: project, or user when no project is stood in.  Writes nothing.  Refused: links, paths out of the root, files
 * that do not parse. */
int setup_plan(const struct setup *s, const char *client, const char *scope, struct setup_change *ret,
	struct err *e);
/* Make it, run the command just written with a destructive call as a client would, expect a denial and verify its receipt;
 * when that fails the file is as it was.  SETUP_RECOVERY when an earlier change was interrupted. */
int setup_install(
	const struct setup *s, const struct setup_change *c, const char **ret_receipt_id, struct err *e);

/* How our entries are taken out again: the same bytes as before when nobody changed the file since, else only what is ours.
 * `n` 0: nothing is installed there.  scope NULL: wherever it is. */
int setup_plan_removal(const struct setup *s, const char *client, const char *scope,
	struct setup_change **ret, size_t *ret_n, struct err *e);
int setup_remove(const struct setup *s, const struct setup_change *c, struct err *e);

/* Finish or take back what was interrupted.  *ret_what is a sentence. */
int setup_repair(const struct setup *s, const char *client, const char **ret_what, struct err *e);

/* Rows {client, scope, file, state, armed, detail, warnings}: state is armed, not_armed, degraded, broken, absent or
 * recovery_required.  `client` NULL: all.  Reads only; nothing is called armed that was not seen to be. */
struct json *setup_status(const struct setup *s, const char *client);

#endif
