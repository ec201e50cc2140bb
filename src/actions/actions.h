/* actions.h — what happened: read what was recorded, and say it to a person.
 *
 * Lists and numbers come from the index over the ledgers (record/index.h), which is caught up first, so that a view costs the same on a
 * workspace of a million rows as on a new one.  Where the index cannot be used the ledgers are read, and the view says so, and
 * when it shows a part.  Nothing else is written.  The documents are the ones that --json prints; texts and pages are made
 * from them. */
#ifndef ACTIONS_ACTIONS_H
#define ACTIONS_ACTIONS_H

#include "base/err.h"
#include "base/json.h"
#include "base/sys.h"
#include "record/record.h"

#include <stdbool.h>

struct action_index;
struct workspace;

struct actions_place {
	struct sys *sys;
	const struct workspace *ws;
	struct arena *a;
	const char *root, *layout, *state_name, *state_dir;
	int root_fd, state_fd;
	const char
		*points_dir; /* where the checkpoints are that one would restore here; NULL: in the state */
	const struct json *sources; /* records of adopted sources that count; or NULL */
	/* Numbers are totals, and the index is brought up to date for that, however long it takes.  is_quick: within about a second, or they are about
	 * the newest rows, and say so. */
	bool is_quick;
	const struct index_progress *shown; /* or NULL */
};

/* The newest row of each of the last `limit` tasks, oldest first. */
int actions_tasks(const struct actions_place *o, size_t limit, struct json **ret, struct err *e);

/* How much of a list is shown. */
struct part {
	int64_t shown, of;
	const char *note; /* why it is not about everything; or NULL */
};
/* The newest rows of tasks, oldest first, at most `limit` (0: all), none older than `since_us`.  *ret is filled before the first row is given; each is valid during
 * the call only.  fn returns 0 to go on, > 0 to stop, or a negative rc. */
int actions_task_list(const struct actions_place *o, const struct task_filter *f, int64_t since_us,
	size_t limit, struct part *ret, index_visit *fn, void *arg, struct err *e);
/* The newest task for which this is true; NULL when there is none. */
int actions_newest_task(const struct actions_place *o, bool (*is_it)(const struct json *row),
	struct json **ret, struct err *e);
/* When a run last gave a sign of life; or NULL. */
const char *actions_heartbeat(const struct actions_place *o, const struct json *row);
/* All rows of one task; a unique beginning of its id is enough.  E_MISSING TASK_MISSING, E_INPUT TASK_AMBIGUOUS. */
int actions_task(const struct actions_place *o, const char *id, struct json **ret_rows, struct err *e);
/* Records of checkpoints/index.json, newest last, at most `limit` (0: all). */
int actions_checkpoints(const struct actions_place *o, size_t limit, struct json **ret, struct err *e);

/* The documents of docs/formats/status.md.  `standing` is what standing() of the kernel found: all of it is in both, and nothing is
 * well while it has a reason.  status adds tasks, failures, checkpoints; brief the last of each; both health and next. */
int actions_status(
	const struct actions_place *o, const struct json *standing, struct json **ret, struct err *e);
int actions_brief(
	const struct actions_place *o, const struct json *standing, struct json **ret, struct err *e);
/* Sentences of `reasons` that are about tasks: failed, stopped, stuck. */
int actions_task_reasons(const struct actions_place *o, struct json *reasons, struct err *e);
/* What every view means by well: adds those sentences to what standing() found, and `health`: "ok" only while nobody has a reason against it. */
void actions_judge(const struct actions_place *o, struct json *standing);
/* The brief as plain sentences, one per line; the first one is the headline. */
char *actions_brief_text(struct arena *a, const struct json *brief, int64_t now_us);
/* Sentences about parts of those documents: is all well; agents' calls; one freeze; profile. */
char *actions_headline(struct arena *a, const struct json *doc);
char *actions_calls_text(struct arena *a, const struct json *calls, int64_t now_us);
char *actions_freeze_text(struct arena *a, const struct json *one, int64_t now_us);
/* The command that lifts the freeze of this principal. */
char *actions_unfreeze(struct arena *a, const char *principal);
char *actions_pause_text(struct arena *a, const struct json *one, int64_t now_us);
char *actions_profile_text(struct arena *a, const struct json *profile);
/* Of a policy that is in use: which, and what it does with what no rule names. */
char *actions_policy_text(struct arena *a, const struct json *policy);

/* What happened: tasks, what was stopped and why, agents' sessions, checkpoints, failed commands, receipts.  At most `limit` of each
 * (0: all); `lists` says of each how many there are, and actions_cut() says it in words.  A member `record` {sound, receipts, findings}, put in by whoever checked
 * the log, is shown by the page. */
int actions_report(const struct actions_place *o, size_t limit, struct json **ret, struct err *e);
/* {state: how many}: actions of agents in the last 24 hours, without self-tests. */
int actions_day_states(struct action_index *x, int64_t now_us, struct json **ret, struct err *e);
/* What happened since then, as groups by "failure" (or NULL), "rule", "session" or "file", those that count most first: the member `groups` of that
 * document, {by, since, totals, rows [{key, count, first_at, last_at, example, remedy, state, why}], of, files, undo}.  Counts are of
 * everything in the period. */
int actions_groups(
	const struct actions_place *o, const char *by, int64_t since_us, struct json **ret, struct err *e);
/* The lists of that document without what is older; `since` says so. */
void actions_report_since(struct arena *a, struct json *report, int64_t since_us);
/* The period since then, for the member `day` of that document: {since, first_at, last_at, calls, only_read, allowed, asked, refused, clients,
 * changed_files, deleted_files, commits[], undo[], left[], walls[], door {admitted, refused}, ...}. */
int actions_day(const struct actions_place *o, int64_t since_us, struct json **ret, struct err *e);
/* "10 of 14, all with --limit 0", or NULL when the list is whole. */
const char *actions_cut(struct arena *a, const struct json *report, const char *list);
char *actions_markdown(struct arena *a, const struct json *report);
char *actions_html(struct arena *a, const struct json *report);

/* Replace local paths and secrets in every string: for reports that leave the machine. */
void actions_make_public(struct arena *a, struct json *doc, const char *home);

/* Findings about tasks: every one that is stuck or dead, and of the newest `limit` also those without evidence: { workspace, findings[],
 * ok }. */
int actions_task_doctor(
	const struct actions_place *o, size_t limit, int64_t stale_minutes, struct json **ret, struct err *e);

/* Capability fields of a task, for run-contract and capability-diff.  Whether there is evidence is always yes or no. */
struct json *actions_capabilities(const struct actions_place *o, const struct json *row);

/* ---- helm ops ---- */

/* Which rows of the ledger of tasks or of the command log; NULL means any. */
struct ops_filter {
	bool is_commands;
	const char *status, *profile, *skill, *delivery_mode; /* of tasks */
	const char *task_id, *component, *label; /* of commands */
	bool failed_only;
	bool is_latest; /* only the newest row of each task, in the order in which they began */
	size_t limit; /* 0: all */
};
/* The last rows that pass, oldest first. */
int actions_ops_rows(
	const struct actions_place *o, const struct ops_filter *f, struct json **ret, struct err *e);
/* Counts over such rows: {what: {value: n}}. */
struct json *actions_ops_summary(
	const struct actions_place *o, const struct ops_filter *f, const struct json *rows);
/* "browser=B retrieval=completed file=-" */
const char *actions_ops_evidence(struct arena *a, const struct json *row);
/* {recent_task_status_counts, recent_finalization_counts, recent_failed_tasks, recent_handoff_tasks, recent_failed_commands,
 * recent_checkpoints, draft_assessments}: of the last `limit` tasks, or with `days` of those that began since. */
int actions_ops_daily(
	const struct actions_place *o, size_t limit, int64_t days, struct json **ret, struct err *e);
/* {workspace, window, finalization_counts, pending_tasks}: what of the last `limit` tasks is still to be remembered. */
int actions_ops_capture(const struct actions_place *o, size_t limit, struct json **ret, struct err *e);

/* What passed the model proxy since a moment (0: ever): {requests, models, principals, denials}; rows {name, requests, refused, calls, denied, input_tokens,
 * output_tokens, cost_micro_cents}. */
int actions_proxy(
	struct sys *s, struct arena *a, int state_fd, int64_t since_us, struct json **ret, struct err *e);

/* "2 minutes ago". */
char *actions_ago(struct arena *a, int64_t then_us, int64_t now_us);
/* A recorded time on the reader's clock; what is no time comes back as it is. */
const char *actions_when(struct arena *a, const char *stamp);

/* Sessions of agents, one entry each with counts, by their last call, the newest last, at most `limit` (0: all); with `since_us` those
 * with a call since then.  As actions_task_list(). */
int actions_session_list(const struct actions_place *o, int64_t since_us, size_t limit, struct part *ret,
	index_visit *fn, void *arg, struct err *e);
/* When a task last changed, as its newest row says. */
bool actions_task_time(const struct json *row, int64_t *ret_us);
/* One of them, every call with verdict, receipt, outcome and what became of it; of a very long one the newest, and `calls_of` says how
 * many there are.  E_MISSING SESSION_MISSING. */
/* A unique beginning of the id is enough; SESSION_AMBIGUOUS. */
int actions_session(const struct actions_place *o, const char *start, struct json **ret, struct err *e);
char *actions_session_markdown(struct arena *a, const struct json *session);
char *actions_session_html(struct arena *a, const struct json *session);

/* ---- skills.c ---- */

/* [{skill, runs, completed, failed, blocked, left_contract, seconds, cost_usd, input_tokens, output_tokens, last_used_at, last_success_at,
 * last_failure_at, last_failure}] of all skills, or of one. */
int actions_skill_usage(const struct actions_place *o, const char *skill, struct json **ret, struct err *e);

#endif
