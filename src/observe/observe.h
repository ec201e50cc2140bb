/* observe.h — 6: read what was recorded, and say it to a person.
 *
 * Everything here reads the ends of the ledgers, so that it costs the same on a workspace of a million rows as on a new one, and
 * writes nothing.  The documents are the ones that --json prints; texts and pages are made from them. */
#ifndef OBSERVE_OBSERVE_H
#define OBSERVE_OBSERVE_H

#include "base/err.h"
#include "base/json.h"
#include "base/sys.h"

#include <stdbool.h>

struct observed {
	struct sys *sys;
	struct arena *a;
	const char *root, *layout, *state_name;
	int root_fd, state_fd;
	const char
		*points_dir; /* where the checkpoints are that one would restore here; NULL: in the state */
};

/* The newest row of each of the last tasks, oldest first, at most `limit` (0: all within reach: the last 20 000 rows). */
int observe_tasks(const struct observed *o, size_t limit, struct json **ret, struct err *e);
/* The same without a limit; *ret_is_cut when there may be more than was read, which is never so when all are wanted. */
int observe_all_tasks(
	const struct observed *o, bool wants_all, struct json **ret, bool *ret_is_cut, struct err *e);
/* When a run last gave a sign of life; or NULL. */
const char *observe_heartbeat(const struct observed *o, const struct json *row);
/* All rows of one task; a unique beginning of its id is enough.  E_MISSING TASK_MISSING, E_INPUT TASK_AMBIGUOUS. */
int observe_task(const struct observed *o, const char *id, struct json **ret_rows, struct err *e);
/* Rows of the command log that failed, newest last; of its last `window` rows (0: all), at most `limit` (0: all). */
int observe_failed_commands(
	const struct observed *o, size_t window, size_t limit, struct json **ret, struct err *e);
/* Records of checkpoints/index.json, newest last, at most `limit` (0: all). */
int observe_checkpoints(const struct observed *o, size_t limit, struct json **ret, struct err *e);

/* The documents of docs/formats/status.md.  `standing` is what standing() of the kernel found: all of it is in both, and nothing is
 * well while it has a reason.  status adds tasks, failures, checkpoints; brief the last of each; both health and next. */
int observe_status(const struct observed *o, const struct json *standing, struct json **ret, struct err *e);
int observe_brief(const struct observed *o, const struct json *standing, struct json **ret, struct err *e);
/* The brief as plain sentences, one per line; the first one is the headline. */
char *observe_brief_text(struct arena *a, const struct json *brief, int64_t now_us);
/* Sentences about parts of those documents: is all well; agents' calls; one freeze; profile. */
char *observe_headline(struct arena *a, const struct json *doc);
char *observe_calls_text(struct arena *a, const struct json *calls, int64_t now_us);
char *observe_freeze_text(struct arena *a, const struct json *one, int64_t now_us);
char *observe_pause_text(struct arena *a, const struct json *one, int64_t now_us);
char *observe_profile_text(struct arena *a, const struct json *profile);

/* What happened: tasks, what was stopped and why, agents' sessions, checkpoints, failed commands, receipts.  At most `limit` of each
 * (0: all); `lists` says of each how many there are, and observe_cut() says it in words.  `answers`: {approval_id: state of the
 * request}, for what became of what was asked; or NULL.  A member `record` {sound, receipts, findings}, put in by whoever checked
 * the log, is shown by the page. */
int observe_report(
	const struct observed *o, size_t limit, const struct json *answers, struct json **ret, struct err *e);
/* "10 of 14, all with --limit 0", or NULL when the list is whole. */
const char *observe_cut(struct arena *a, const struct json *report, const char *list);
char *observe_markdown(struct arena *a, const struct json *report);
char *observe_html(struct arena *a, const struct json *report);

/* Replace local paths and secrets in every string: for reports that leave the machine. */
void observe_make_public(struct arena *a, struct json *doc, const char *home);

/* Findings about the last `limit` tasks (0: all within reach) that are stuck, dead or without evidence: { workspace, findings[], ok }. */
int observe_task_doctor(
	const struct observed *o, size_t limit, int64_t stale_minutes, struct json **ret, struct err *e);

/* Capability fields of a task, for run-contract and capability-diff. */
struct json *observe_capabilities(struct arena *a, const struct json *row);

/* "2 minutes ago". */
char *observe_ago(struct arena *a, int64_t then_us, int64_t now_us);
/* A recorded time on the reader's clock; what is no time comes back as it is. */
const char *observe_when(struct arena *a, const char *stamp);

/* Sessions of agents: one entry each with counts; and one of them, every call with verdict, receipt, outcome and what became of it.
 * E_MISSING SESSION_MISSING. */
int observe_sessions(
	const struct observed *o, bool wants_all, struct json **ret, bool *ret_is_cut, struct err *e);
/* Calls that were asked or denied, oldest first, each with `became`. */
int observe_stopped_calls(const struct observed *o, bool wants_all, const struct json *answers,
	struct json **ret, bool *ret_is_cut, struct err *e);
/* A unique beginning of the id is enough; SESSION_AMBIGUOUS. */
int observe_session(const struct observed *o, const char *start, const struct json *answers,
	struct json **ret, struct err *e);
char *observe_session_markdown(struct arena *a, const struct json *session);
char *observe_session_html(struct arena *a, const struct json *session);

#endif
