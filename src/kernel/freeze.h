/* freeze.h — stop: nothing is allowed for a principal, or for anybody, until a person lifts it. */
#ifndef KERNEL_FREEZE_H
#define KERNEL_FREEZE_H

#include "kernel/kernel.h"

/* What mends a freeze that cannot be read. */
#define FREEZE_REMEDY "'helm freeze' and then 'helm unfreeze' make it readable again"

/* {principal: {receipt_id, timestamp, metadata: {principal, reason, by}}}; "*" is everybody.  Everything that counts, whether the
 * standing word or only the tree says it. */
int freeze_load(struct sys *s, struct arena *a, const struct workspace *ws, struct json **ret, struct err *e);
/* Why nothing is allowed for this principal now, or NULL.  A file that cannot be read is a reason. */
const char *freeze_in_force(struct kernel *k, struct arena *a, const char *principal);
int freeze_set(struct kernel *k, struct arena *a, const char *principal, const char *reason,
	struct json **ret_receipt, struct err *e);
int freeze_lift(struct kernel *k, struct arena *a, const char *principal, const char *reason,
	struct json **ret_receipt, struct err *e);

#endif
