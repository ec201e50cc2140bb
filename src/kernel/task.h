/* task.h — inside kernel/: one guarded run, from the queued row to the final one. */
#ifndef KERNEL_TASK_H
#define KERNEL_TASK_H

#include "execute/execute.h"
#include "kernel/kernel.h"

/* The ledger's stub, present in every row of a task. */
struct json *task_stub(
	struct kernel *k, const struct run_spec *spec, const struct profile *profile, const char *task_id);
/* "error_class" and friends for a row that failed; NULL when it did not. */
struct json *task_failure_signature(
	struct arena *a, const struct workspace *ws, const struct json *row, const struct run_result *result);
/* A resume card for the next run; returns its path relative to the workspace, or NULL. */
const char *task_snapshot(struct kernel *k, const struct json *row);
/* Who used what: only on final, blocked and audit rows. */
struct json *task_experience(struct arena *a, const struct json *row);
/* Files below `root` changed since, relative to it, at most 500. */
struct json *task_touched(
	struct sys *s, struct arena *a, const char *root, const char *state_name, int64_t since_us);
/* Environment of the child by profile, with the task's own variables. */
const char **task_environment(
	struct kernel *k, const struct run_spec *spec, const char *task_id, const char *tmp);
char *task_preview(struct arena *a, const char *const *argv, size_t argc);

#endif
