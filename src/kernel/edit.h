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

#endif
