/* edit.h — the edit policy, for tools of agent clients: what was read and what failed is known from their calls (tool-calls.jsonl). */
#ifndef KERNEL_EDIT_H
#define KERNEL_EDIT_H

#include "clients/clients.h"
#include "kernel/kernel.h"

/* A call before it is judged.  *ret is {path, kind, mtime_ns, size} for its row; NULL when it is about no file, or there is no policy.  What the policy
 * does not let through is denied (deny.edit_policy), as is everything while it cannot be read. */
void edit_hold(struct kernel *k, struct arena *a, const struct tool_call *call, const char *cwd,
	struct request *q, struct json **ret);
/* After it: the file as it is now, into the row of the outcome. */
void edit_after(struct kernel *k, struct arena *a, const struct json *before, struct json *row);

/* edit_diff.c: a unified diff of what the call changes in the file as it is now; "" when it changes nothing.  NULL when the call changes no file that
 * it names, or the diff cannot be made: then *ret_note says why, or is NULL.  *ret_note with a diff: what the diff does not show. */
const char *edit_diff(struct sys *s, struct arena *a, const char *tool, const struct json *input,
	const char *cwd, const char **ret_note);
/* The file that the call names, whole; NULL: none. */
const char *edit_path(struct arena *a, const struct json *input, const char *cwd);

#endif
