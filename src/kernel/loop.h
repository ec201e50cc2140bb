/* loop.h — a loop that is run: turn by turn under its profile, until a condition, a limit or a lack of progress stops it.
 *
 * Every step is a guarded run of its own (task/task.h), with its decision and receipts.  What the loop has done so far is one document,
 * <state>/loop-runs/RUN.json, on disk after each step: a loop that was killed goes on where it was, and a step whose end is in the ledger is not
 * done again. */
#ifndef KERNEL_LOOP_H
#define KERNEL_LOOP_H

#include "kernel/kernel.h"
#include "remember/loop.h"

/* A new run of this loop: its id, and nothing is done yet.  E_INPUT LOOP_PLAN. */
int loop_begin(struct kernel *k, struct arena *a, const struct json *loop, const char *path, const char *cwd,
	const char **ret_run, struct err *e);
/* Go on until it stops.  *ret is the document: {run_id, loop_id, status, why, turn, turns[], evidence, ...}; status is success, incomplete, blocked,
 * no_progress, turns or time.  E_MISSING LOOP_RUN, E_INPUT LOOP_ENDED; E_IO when another process is at it. */
int loop_go(struct kernel *k, struct arena *a, const char *run, struct json **ret, struct err *e);
/* All of them, the newest last. */
int loop_runs(struct sys *s, struct arena *a, const struct workspace *ws, struct json **ret, struct err *e);
/* One of them, as its document says; and as it is seen: status is "interrupted" when nobody runs it though it has not stopped. */
int loop_look(struct sys *s, struct arena *a, const struct workspace *ws, const char *run, struct json **ret,
	struct err *e);
int loop_state(struct sys *s, struct arena *a, const struct workspace *ws, const char *run, struct json **ret,
	struct err *e);

#endif
