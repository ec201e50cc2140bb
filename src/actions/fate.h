/* fate.h — inside actions/: the index for views, and what became of calls that were asked about. */
#ifndef ACTIONS_FATE_H
#define ACTIONS_FATE_H

#include "actions/actions.h"
#include "base/text.h"
#include "record/record.h"

/* tasks.c: the index, caught up. */
int actions_index(const struct actions_place *o, enum index_how how, struct index **ret, struct err *e);
/* What a row says that nobody will end any more, in the words of what will be put on record for it: rows say what was true when they
 * were written.  The row itself, or another one in `a`. */
struct json *true_row(const struct actions_place *o, struct arena *a, struct json *row);
/* How many tasks there are in each state, by the same words. */
int true_counts(
	const struct actions_place *o, struct index *x, struct json **ret, int64_t *ret_total, struct err *e);
extern const struct task_filter open_tasks; /* those that say `queued` or `running` */

/* Rows that are kept, in the order they come, by the same words. */
struct kept_rows {
	const struct actions_place *o;
	struct json *rows;
};
int keep_row(void *arg, struct json *row, struct err *e);
void turn_round(struct json *rows);
/* actions_task_doctor() with an index that is open. */
int examine_tasks(const struct actions_place *o, struct index *x, size_t limit, int64_t stale_minutes,
	struct json **ret, struct err *e);
int keep_session(void *arg, struct json *row, struct err *e); /* sessions.c; `arg` is a struct kept_rows */
/* report.c: text on one line in which nothing is Markdown markup, because command lines of agents must not format a report. */
void plain(struct buf *b, const char *text);

struct fates {
	const struct actions_place *o;
	struct index *x;
	const struct json *answers; /* {approval_id: state of the request}; or NULL */
};
/* The note of a client that this call was made; NULL when there is none.  `call` has its `place`. */
int fate_end(const struct fates *f, const struct json *call, struct json **ret, struct err *e);
/* A few words: "ran, approved", "still waiting", ... */
int fate_of(const struct fates *f, const struct json *call, const char **ret, struct err *e);

#endif
