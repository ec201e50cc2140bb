/* act.h — inside kernel/: a person's act on record. */
#ifndef KERNEL_ACT_H
#define KERNEL_ACT_H

#include "kernel/kernel.h"

/* A freeze, a setting, a grant, a denial, a revocation: nothing that is decided, and signed all the same. */
struct act {
	const char *decision_id; /* NULL: a new one */
	const char *effect_id; /* "helm.freeze/set", ... */
	const char *type; /* "freeze", "setting", "grant", ... */
	const char *reason_code, *args_hash, *output_hash, *executor_id; /* or NULL */
	struct json *about; /* object: what was done */
};
/* The receipt is on disk when this returns OK, and only then does the act take effect: an act that is not
 * on record did not happen. */
int act_record(
	struct kernel *k, struct arena *a, const struct act *act, struct json **ret_receipt, struct err *e);

#endif
