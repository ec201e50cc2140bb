/* actions_internal.h — inside actions/: what the files that make views share. */
#ifndef ACTIONS_ACTIONS_INTERNAL_H
#define ACTIONS_ACTIONS_INTERNAL_H

#include "actions/action_index.h"
#include "actions/actions.h"
#include "base/text.h"
#include "record/record.h"

/* tasks.c: the index, caught up. */
/* As far as numbers are totals, which they are unless the caller is in a hurry. */
enum index_how actions_how(const struct actions_place *o, enum index_how how);
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

/* The action of a row of the ledger of calls, which has its `place`, or its `decision_id`.  *ret NULL: it is not in the index yet. */
int action_of_call(struct action_index *x, const struct json *call, struct action **ret, struct err *e);
/* Puts into the row of a call what its action says: state, became (the same in words), sentence, answered_by, receipt_id. */
void put_action(struct arena *a, struct json *call, const struct action *action);

#endif
