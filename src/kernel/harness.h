/* harness.h — evidence that is added to a task after it ended: rows of the task ledger, decided and on record like every other act on memory. */
#ifndef KERNEL_HARNESS_H
#define KERNEL_HARNESS_H

#include "kernel/memory.h"

/* What is added to the newest row of a task. */
struct harness_addition {
	const char *task_id;
	const struct json *harness; /* members of meta.harness; or NULL */
	const char *const *evidence; /* KIND:VALUE */
	size_t evidence_count;
	const struct json *members; /* of the row itself; or NULL */
	const char *needs; /* why it is not done: status becomes needs_verification; or NULL */
};
/* *ret is the new row.  E_USAGE HARNESS_EVIDENCE. */
int harness_add(struct kernel *k, struct arena *a, const struct harness_addition *x, struct json **ret,
	struct err *e);

#endif
