/* freeze.h — stop: nothing is allowed for a principal, or for anybody, until a person lifts it. */
#ifndef KERNEL_FREEZE_H
#define KERNEL_FREEZE_H

#include "kernel/kernel.h"

/* {principal: {receipt_id, timestamp, metadata: {principal, reason, by}}}; "*" is everybody.  Everything that counts, whether the
 * standing word or only the tree says it. */
int freeze_load(struct sys *s, struct arena *a, const struct workspace *ws, struct json **ret, struct err *e);
/* Why nothing is allowed for this principal now, or NULL.  A file that cannot be read is a reason. */
const char *freeze_in_force(
	struct sys *s, struct arena *a, const struct workspace *ws, const char *principal);
int freeze_set(struct kernel *k, struct arena *a, const char *principal, const char *reason,
	struct json **ret_receipt, struct err *e);
/* The same for one agent, by its principal: AGENT_KILLED; lifted as a freeze is. */
int agent_kill(struct kernel *k, struct arena *a, const char *principal, const char *reason,
	struct json **ret_receipt, struct err *e);
/* Under which code that denies: SYSTEM_FROZEN, AGENT_KILLED or EMERGENCY_STOP_FENCED. */
enum reason_code freeze_code(struct sys *s, const struct workspace *ws, const char *principal);
/* The tenant of everything on this machine. */
#define FREEZE_TENANT "local"

/* A fence is a stop of this whole workspace by a signed command from outside (docs/formats/fence.md): tenant "local", the workspace's
 * root as its id, a registered approver's key.  {state, kernel_signature} acknowledges it.  Errors of fence_apply(), and FENCE_SCOPE.
 * Lifting it takes a person, and no old command fences again. */
#define FREEZE_FENCE "*fence"
int fence_obey(
	struct kernel *k, struct arena *a, const struct json *envelope, struct json **ret_ack, struct err *e);
/* A freeze of everything by the centre of a fleet, and its end: `order` is {seq, hash, kind, approver?}, which the receipt names.  Nobody else lifts it but
 * who leaves the fleet.  `approver` is the person who has signed it, and when: beside "*fleet" such a freeze stands as "*fleet:TIME", and an order lifts both only when a
 * person has signed that as well, and not before.  FLEET_UNSIGNED, FLEET_TOUCH. */
#define FREEZE_FLEET "*fleet"
#define FREEZE_FLEET_PERSON "*fleet:"
bool freeze_is_fleet(const char *principal); /* either of them */
const struct json *freeze_of_fleet(const struct json *loaded); /* or NULL */
int freeze_by_order(struct kernel *k, struct arena *a, const struct json *order, const char *reason,
	bool is_lift, struct json **ret_receipt, struct err *e);
int freeze_lift(struct kernel *k, struct arena *a, const char *principal, const char *reason,
	struct json **ret_receipt, struct err *e);

/* What to do about freezes that cannot be read. */
const char *freeze_remedy(struct sys *s, const struct workspace *ws);

#endif
