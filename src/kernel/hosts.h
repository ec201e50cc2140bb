/* hosts.h — which hosts may be reached from a place: the profile's list and what a person allowed there.
 *
 * What a person allowed is the list `egress` of the standing word (posture.h), each entry a rule of model/egress.h. */
#ifndef KERNEL_HOSTS_H
#define KERNEL_HOSTS_H

#include "kernel/kernel.h"
#include "model/egress.h"

/* All rules that hold for runs under this profile here.  ws may be NULL: the profile's alone. */
void hosts_of(struct sys *s, struct arena *a, const struct workspace *ws, const struct profile *p,
	struct egress_rules *ret);

/* A person's act: this rule holds here from now on, or no longer (`is_removed`).  It is signed and on disk when this returns OK.
 * E_INPUT EGRESS_RULE when it is no rule; E_MISSING HOST_NOT_ALLOWED when there is nothing to take away. */
int hosts_allow(struct kernel *k, struct arena *a, const char *rule, bool is_removed, const char *executor,
	struct json **ret_receipt, struct err *e);

/* The row of egress.jsonl about one connection, from what the door says of it (execute/egress/egress.h); nothing else of that is taken. */
struct json *hosts_row(struct arena *a, const struct json *record, const char *task_id, const char *profile);

#endif
