/* index.h — part of record.h: a query index over the ledgers and the chain (docs/formats/ledgers.md).
 *
 * The JSON lines are the truth; the index is a projection in SQLite that is caught up by place, may be thrown away at any time, and
 * is never asked when something is decided.  Nothing fails because it is missing: where it cannot be used, the same tables are made
 * from the ledgers for this one question, in a place of their own. */
#ifndef RECORD_INDEX_H
#define RECORD_INDEX_H

#include "base/err.h"
#include "base/json.h"
#include "base/sys.h"

#define INDEX_FILE "ops-index.sqlite3"

struct index_place {
	struct sys *sys;
	struct arena *a;
	const char *state_dir; /* absolute */
	int state_fd;
};

/* Who shows how far the index is: so many receipts of so many were read.  The last call has both alike. */
struct index_progress {
	void (*step)(void *arg, uint64_t done, uint64_t total);
	void *arg;
};

/* ---- helm db ---- */

/* Bring the index up to the ledgers, from where it stopped; `rebuild` starts anew.  Counts of rows, and
 * warnings about lines that are no rows. */
int index_refresh(const struct index_place *at, bool rebuild, struct json **ret, struct err *e);

/* Does the index say what the ledgers say?  {jsonl_task_lines, task_rows, drift, warnings}. */
int index_verify(const struct index_place *at, struct json **ret, struct err *e);

/* {ops_db_path, status present|missing, rows per table, error}.  The document is there also when it is not OK: `error` says why. */
int index_status(const struct index_place *at, struct json **ret);

struct index_query {
	const char *status, *profile, *guard_action, *task_id; /* or NULL */
	int64_t limit; /* 0: all */
};
/* Task rows newest first, or guard decisions when guard_action is given.  Each is a document that is valid during the call; fn returns
 * 0 to go on, > 0 to stop, or a negative rc. */
typedef int index_visit(void *arg, struct json *row, struct err *e);
int index_query(
	const struct index_place *at, const struct index_query *q, index_visit *fn, void *arg, struct err *e);

/* ---- views ---- */

struct index;

/* INDEX_SOON: an answer in about a second; when the index is further behind than that, or cannot be written, it is about the newest
 * rows only.  INDEX_ALL: about everything, however long it takes.  All answers until index_close() are of one moment; writers of the index wait so long. */
enum index_how { INDEX_SOON, INDEX_ALL };
int index_open(const struct index_place *at, enum index_how how, struct index **ret, struct err *e);
/* The same, shown; NULL: not. */
int index_open_shown(const struct index_place *at, enum index_how how, const struct index_progress *shown,
	struct index **ret, struct err *e);
void index_close(struct index **x);
/* NULL when answers are about everything, and nothing is wrong with the index; else what is, as a sentence with the remedy. */
const char *index_note(const struct index *x);
bool index_is_whole(const struct index *x); /* answers are about everything */
/* Where they are not: the newest so many receipts of so many. */
struct index_part {
	int64_t receipts, of;
};
struct index_part index_part(struct index *x);

/* Which tasks; NULL and 0 mean any. */
struct task_filter {
	const char *const *states;
	size_t state_count;
	const char *profile, *skill;
};
/* How many, in which state: {state: n}; *ret_total may be NULL. */
int index_task_counts(
	struct index *x, const struct task_filter *f, struct json **ret, int64_t *ret_total, struct err *e);
/* Their newest rows, newest first, at most `limit` (0: all). */
int index_tasks(struct index *x, const struct task_filter *f, size_t limit, index_visit *fn, void *arg,
	struct err *e);
/* All of them, oldest first. */
int index_tasks_forth(
	struct index *x, const struct task_filter *f, index_visit *fn, void *arg, struct err *e);
/* All of them by their newest rows, in the order in which they began, the last one first. */
int index_tasks_begun(struct index *x, index_visit *fn, void *arg, struct err *e);
/* The task of this id, or the only one whose id begins so, and where its first and its last row are.  E_MISSING TASK_MISSING,
 * E_INPUT TASK_AMBIGUOUS. */
struct task_span {
	const char *id;
	off_t first, last;
};
int index_task_find(struct index *x, const char *start, struct task_span *ret, struct err *e);

/* Rows of the command log that failed, newest first. */
int index_failed_commands(struct index *x, size_t limit, index_visit *fn, void *arg, struct err *e);
/* {session, client, first_at, last_at, calls, allowed, asked, denied, changed_files, self_test}, the newest first. */
int index_sessions(struct index *x, size_t limit, index_visit *fn, void *arg, struct err *e);
/* All but the `skip` oldest, the newest last. */
int index_sessions_forth(struct index *x, size_t skip, index_visit *fn, void *arg, struct err *e);
/* The session of this id, or the only one whose id begins so, and how many calls it has.  E_MISSING SESSION_MISSING, E_INPUT
 * SESSION_AMBIGUOUS. */
int index_session_find(
	struct index *x, const char *start, const char **ret, int64_t *ret_calls, struct err *e);
/* Calls that were asked or denied (session NULL), or all calls of a session: rows of the ledger with their `place`, newest first. */
int index_calls(
	struct index *x, const char *session, size_t limit, index_visit *fn, void *arg, struct err *e);
/* The newest call with this id of its client, as the ledger has it; NULL when there is none. */
int index_call_start(struct index *x, const char *use_id, struct json **ret, struct err *e);
/* Behind this place: the note that the call with this id was made.  The place, or -1. */
int index_call_end(struct index *x, const char *use_id, int64_t place, int64_t *ret, struct err *e);

/* Receipts that name this task, session, decision or receipt, the newest first; fn may get others, and looks for itself.  Where index_note()
 * says something, the chain itself has to be searched. */
typedef int receipt_back(
	void *arg, const char *file, off_t at, struct bytes text, const struct json *receipt, struct err *e);
int index_receipts(struct index *x, const char *id, receipt_back *fn, void *arg, struct err *e);

/* ---- calls by entry point ---- */

/* ENTRY_CLIENT: rows of calls, which hooks and the gateway of tools write; the others have receipts only. */
enum entry_point { ENTRY_CLIENT, ENTRY_API, ENTRY_PROXY, ENTRY_SESSION, ENTRY_POINTS };
/* Self-tests of `helm setup` are in none of the other numbers. */
struct entry_tally {
	int64_t allowed, asked, denied, self_tests;
};
/* Since the beginning of that minute, which is in the last two days. */
int index_entry_calls(
	struct index *x, enum entry_point entry, int64_t since_us, struct entry_tally *ret, struct err *e);
/* When the newest one came, whenever that was; 0: never. */
int index_entry_last(struct index *x, enum entry_point entry, int64_t *ret_us, struct err *e);

/* ---- numbers ---- */

/* "receipts", "allowed", "denied", "asked", "outcomes", "self_tests", "failed_commands", "stopped_calls", "sessions"; and the time of
 * the newest receipt, "" when there is none. */
int index_count(struct index *x, const char *name, int64_t *ret, struct err *e);
int index_last_receipt(struct index *x, const char **ret, struct err *e);

#endif
