/* task.h — guarded runs, what becomes of them, and profiles that are paused. */
#ifndef KERNEL_TASK_TASK_H
#define KERNEL_TASK_TASK_H

#include "execute/execute.h"
#include "kernel/kernel.h"

struct task; /* a run that has begun; what it is made of is known inside task/ */

/* A session as it has begun.  All of it lives as long as the session. */
struct run_begun {
	int desk; /* where whoever is inside asks, from now on the session's to close; or -1 */
	const char *task_id, *tmp;
	const struct sandbox_rules *walls;
	const struct sandbox_report *report; /* which of them stand */
	const struct task *task;
};

/* A supervised session (kernel/agent/agent.h): what its client needs beside the profile.  Paths are absolute, lists end in NULL. */
struct run_session {
	const char *client; /* as rows call it */
	const struct run_alone *alone; /* nobody sits at its terminal; or NULL */
	/* Set by prepare() (kernel/task/layer.h): */
	const char *
		home; /* the session's private home: what it sees at ~, or without mounts is led to; or NULL */
	bool is_home_mounted; /* the former */
	const struct sandbox_layer *layers; /* over the client's state, ended by at NULL; or NULL */
	const char *const *environment; /* NAME=value, instead of those of that name; or NULL */
	const char *const
		*own; /* the client's state, as the session sees it: its credentials are not hidden */
	const char *const *closed; /* of it: must not change */
	const char *const *variables; /* beginnings of names that are passed in */
	const char *const *hosts; /* its service, where the network is by name: rules of model/egress.h */
	const char *tmp_variable; /* also names the directory for temporary files; or NULL */
	/* Called once, when the decision is on disk and nothing stands yet: makes what its client needs; the lists above may change.  Or
	 * NULL. */
	int (*prepare)(void *arg, const char *task_id, struct err *e);
	/* It has begun: its row says so, and inside somebody may ask at the desk.  Called once. */
	int (*begin)(void *arg, const struct run_begun *b, struct err *e);
	void (*end)(
		void *arg, struct json *row); /* all of it has ended: adds what it knows to the last row */
	void *arg;
};

/* What a call printed that ran inside the walls of `p`: did it fail at one?  The line that says at which, and how a person opens just that;
 * or NULL. */
const char *refusal_in(struct kernel *k, struct arena *a, const struct profile *p,
	const struct surroundings *at, const char *said);

/* Files that a run or a call has written, below `tree`; `paths` are of it, or absolute. */
struct written {
	const struct surroundings *at;
	const char *tree;
	const struct json *paths;
	bool may_start; /* interpreters, to read files of their kind */
};
/* Those that do not parse any more, a line each; NULL: none that was checked.  What was checked goes into the row: write_validation and
 * validation_gates.  HELM_VALIDATION_GATES=0 switches it off. */
const char *written_check(struct kernel *k, struct arena *a, const struct written *w, struct json *row);
/* The same for the changed_files of a call's row, in the work tree, or where the first of them lies. */
const char *written_check_call(
	struct kernel *k, struct arena *a, const struct surroundings *at, bool may_start, struct json *row);
/* A text of this kind (json, yaml, toml, c): OK, or an error with its place. */
int written_parse(struct arena *a, const char *kind, const char *name, struct bytes text, struct err *e);

/* Is there a program of this name, as one started in `cwd` would look for it? */
bool task_finds_program(struct sys *s, struct arena *a, const char *name, const char *cwd);

/* One certain directory, whatever its name leads to later. */
struct held_place {
	const char *real; /* its path without links */
	dev_t dev;
	ino_t ino;
};

#define LOOP_CONDITION \
	"loop_condition" /* in meta: it only asks, and ending with another code than 0 is an answer */

/* What a run says about the browser it will use. */
struct run_browser {
	const char *action, *url_pattern, *site_note; /* or NULL */
	bool needs_login, wants_parallel;
};

/* One attempt of verified execution (verified.c). */
struct run_verified {
	const char *plan_id, *task_id;
	int64_t attempt, max_attempts;
};

struct run_spec {
	const struct run_browser *browser; /* or NULL */
	const char *profile;
	const char *const *argv;
	size_t argc;
	const char *task_name, *task_goal, *task_id, *parent_task_id, *skill, *label; /* or NULL */
	const struct json *meta; /* object, or NULL */
	const struct json *plan; /* that it is held to (docs/formats/completion.md); or NULL */
	const char *const *acceptance; /* what must hold afterwards, for a plan that does not say */
	size_t acceptance_count;
	const struct json *evidence_commands; /* [argv...] to be run afterwards; or NULL */
	const struct json
		*service_evidence; /* [{source, command}...]: services to be asked afterwards; or NULL */
	const struct run_verified *verified; /* an attempt that must show what its plan asks for; or NULL */
	bool is_verified; /* it is to be done by attempts: task_run_verified() */
	bool is_evidence; /* this is one of them: its output is kept, and not passed on */
	const char *const *checkpoint_paths; /* relative to the workspace; NULL: all of it */
	size_t checkpoint_path_count;
	const char *runtime_target, *runtime_note, *delivery_mode;
	enum guard_mode mode;
	const char *mode_source; /* "cli", "env" or "default" */
	bool approve_risk, guard_json;
	bool is_live_confirmed; /* somebody says that the source was looked at just now */
	const char *approval_id; /* go on with what was approved there; or NULL */
	int64_t timeout_s; /* 0: none */
	const char *cwd; /* absolute */
	const struct run_session *session; /* or NULL */
	const char *
		permitted_by; /* the decision on record that this carries out: answers a question, never a denial; or NULL */
	const struct json *permitted_terms; /* and what that answer was about */
	const struct held_place
		*permitted_at; /* and where: another directory under that name is refused; or NULL */
	/* The session that this is done for, outside of its walls; or NULL.  What it has armed since it began is held first, and then
	 * nothing is run. */
	const struct task *left;
	uint32_t
		left_told; /* so many things that it armed and that were taken away at once have stopped an earlier one */
	bool is_terminal; /* output goes to a terminal: it is inherited, not captured */
};

/* How a run came out, for whoever prints it. */
struct run_report {
	int exit_code;
	const char *task_id, *status; /* of the last row */
	struct handling handling;
	const char *checkpoint_id; /* or NULL */
	const char *message; /* for standard error, one line; or NULL */
	const char *hint; /* what to do next; or NULL */
	struct json *printed; /* document for standard output (--guard-json, handoff); or NULL */
	const struct run_result *result; /* when something was executed */
};

/* One run under a profile: every stop leaves its row, and its exit code is in *ret.  Errors are those
 * before a task exists (unknown profile, no key, a ledger that cannot be written). */
int task_run(struct kernel *k, struct arena *a, const struct run_spec *spec, struct run_report *ret,
	struct err *e);

/* The same, and where verified execution is asked for: each task of the plan by up to three attempts, until everything holds that it asks for.
 * Otherwise it is blocked, with exit code 30. */
int task_run_verified(struct kernel *k, struct arena *a, const struct run_spec *spec, struct run_report *ret,
	struct err *e);

/* Runs that were ended with their helm are closed with a `failed` row.  `all`: also those that have no file in open-runs/,
 * wherever in the ledger they are.  *ret_closed says how many. */
int task_close_orphans(struct sys *s, struct workspace *ws, bool all, size_t *ret_closed, struct err *e);

/* Runs that were ended before they could clean up behind themselves (docs/formats/autorun-journal.md): their clean-up is finished with what
 * was noted before they began, is put on record, and is told in *ret, [{task_id, workspace, journal, left_behind[]?}].  `tree` NULL: of
 * every place; else of those that overlap it, and of this workspace.  E_DENIED AUTORUN_LEFT: something is still there that may start
 * programs, and nothing may begin there.  E_CORRUPT AUTORUN_JOURNAL: a journal cannot be understood. */
int autorun_recover(struct kernel *k, struct arena *a, const char *tree, struct json **ret, struct err *e);
const char *autorun_said(
	struct arena *a, const struct json *done); /* in lines for the operator; NULL: nothing was done */
/* Before a workspace is looked for: directories that such runs have closed to their owner have their modes again. */
void autorun_reopen(struct sys *s, struct arena *a);
/* What is not cleaned up, nothing is changed: [{journal, task_id, workspace, text, remedy}], of the places of this workspace and of all
 * others; NULL: all is done. */
struct json *autorun_unfinished(struct sys *s, struct arena *a, const struct workspace *ws);

uint32_t task_left_count(const struct task *t); /* taken away so far, of a session that runs */

/* Who used what: only on final, blocked and audit rows. */
struct json *task_experience(struct arena *a, const struct json *row);

/* A person moves a task.  Appends a row; nothing is edited. */
enum task_move { TASK_BLOCK, TASK_COMPLETE, TASK_RETRY, TASK_STALE, TASK_RECLAIM, TASK_MOVES };
struct task_change {
	enum task_move to;
	const char *reason, *stage, *next_action, *owner, *new_id; /* or NULL */
	const char *const *evidence;
	size_t evidence_count;
	const struct json *claims; /* of TASK_COMPLETE, in the words of remember/claim.h; or NULL */
	bool force;
};
/* `newest` is the task's newest row.  E_USAGE when the move makes no sense from there. */
int task_change(struct sys *s, struct arena *a, struct workspace *ws, const struct json *newest,
	const struct task_change *c, struct json **ret, char ret_digest[SHA256_HEX], struct err *e);

/* A receipt (helm.task/VERB) with the digests of rows that no run has written, so that a change of one is found.  The rows count without it. */
int task_bind_rows(struct sys *s, struct arena *a, struct workspace *ws, const char *verb,
	const char *task_id, const struct json *digests, struct err *e);

/* The bundle that the newest row of a task names: {task_id, path, ok, manifest, documents[], artifacts[], state}, each file held against its digest.  E_MISSING
 * TASK_BUNDLE. */
int task_bundle_read(struct sys *s, struct arena *a, const struct workspace *ws, const struct json *row,
	struct json **ret, struct err *e);

/* completion_evidence of a row: KIND:VALUE each, added to what is there without duplicates.  E_USAGE TASK_EVIDENCE. */
int task_evidence_check(const char *const *evidence, size_t n, struct err *e);
void task_evidence_add(struct arena *a, struct json *row, const char *const *evidence, size_t n);

/* ---- pauses ---- */

/* Why nobody may start this profile now; NULL: it is not paused.  What cannot be read is a pause. */
const char *pause_in_force(struct kernel *k, struct arena *a, const char *profile, const char **ret_instead);
/* {profile: {paused_at, reason, ...}}, whether the standing word or only the tree says it.  An error when the file cannot be
 * understood and nobody has spoken: then nothing may start. */
int pause_load(struct sys *s, struct arena *a, const struct workspace *ws, struct json **ret, struct err *e);
/* Both are acts on record.  The token that ends the pause is given once and kept only as a hash. */
int pause_profile(struct kernel *k, struct arena *a, const char *profile, const char *reason,
	char **ret_token, struct err *e);
int resume_profile(struct kernel *k, struct arena *a, const char *profile, const char *token, struct err *e);

/* Tries both kinds of sandbox, now, around the places of this workspace. */
void walls_probe(struct sys *s, struct arena *a, const struct workspace *ws, struct machine *ret);

#endif
