/* gates.h — what must hold before work is called done: files that can be read, commands that succeed.  docs/formats/evidence-objects.md. */
#ifndef KERNEL_GATES_H
#define KERNEL_GATES_H

#include "kernel/kernel.h"

/* {ok, gates [{name, path, status, detail}]} of these files (below the workspace, or absolute). */
int gates_files(struct kernel *k, struct arena *a, const char *const *files, size_t n, struct json **ret,
	struct err *e);
/* What references/gate_policy.json names before a task may be completed: [{name, status, task_id}].  E_INPUT GATE_FAILED names the one that does not
 * hold. */
int gates_before_complete(
	struct kernel *k, struct arena *a, const char *task_id, struct json **ret, struct err *e);

#endif
