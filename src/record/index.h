/* index.h — inside record/ and part of record.h: a query index over the ledgers.
 *
 * The JSON lines are the truth; the index is a projection in SQLite that is caught up by byte offset, may
 * be thrown away at any time, and is never asked when something is decided.  Nothing fails because it is
 * missing. */
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

/* Bring the index up to the ledgers, from where it stopped; `rebuild` starts anew.  Counts of rows, and
 * warnings about lines that are no rows. */
int index_refresh(const struct index_place *at, bool rebuild, struct json **ret, struct err *e);

/* Does the index say what the ledgers say?  {jsonl_task_lines, task_rows, drift, warnings}. */
int index_verify(const struct index_place *at, struct json **ret, struct err *e);

/* {ops_db_path, status present|missing, rows per table}. */
int index_status(const struct index_place *at, struct json **ret, struct err *e);

struct index_query {
	const char *status, *profile, *guard_action, *task_id; /* or NULL */
	int64_t limit; /* 0: all */
};
/* Task rows newest first, or guard decisions when guard_action is given. */
int index_query(const struct index_place *at, const struct index_query *q, struct json **ret, struct err *e);

#endif
