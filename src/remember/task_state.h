/* task_state.h — the control container of a task: steps that must be done, blockers, approvals, and whether it may be called final.
 *
 * Kept as events in <state>/task-state.jsonl; the container is their sum.  Steps are compared as sets: the order in which they are done does not
 * matter. */
#ifndef REMEMBER_TASK_STATE_H
#define REMEMBER_TASK_STATE_H

#include "base/err.h"
#include "base/json.h"
#include "base/sys.h"

#define TASK_STATE "task-state.jsonl"

/* {task_state_schema_version, required_steps[], completed_steps[], blockers[], external_side_effect_approvals[], finalization_state,
 * recovered_messages[], task_status, is_final}.  An empty one when nothing was said about the task.  task_status is the one of the ledger, or null; a
 * task that is completed there, with no step open and nothing in the way, is finalized. */
int task_state_load(
	struct sys *s, struct arena *a, int state_fd, const char *task_id, struct json **ret, struct err *e);
/* One event more: {op require|done|blocker|unblock|approve|finalize|abandon|message, value}.  E_USAGE TASK_STATE when it makes no sense: a step that
 * nobody requires, a message that is known, finalizing with steps that are not done. */
int task_state_add(struct sys *s, struct arena *a, int state_fd, const char *task_id, const char *op,
	struct json *value, const char *by, struct err *e);

#endif
