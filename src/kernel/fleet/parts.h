/* parts.h — inside kernel/fleet/: whose answers count. */
#ifndef KERNEL_FLEET_PARTS_H
#define KERNEL_FLEET_PARTS_H

#include "kernel/fleet/fleet.h"
#include "kernel/person.h"

/* The list in force here, checked against the root key that was pinned.  E_MISSING: none. */
int fleet_approvers(struct sys *s, struct arena *a, const char *helm_home, const struct json *joined,
	struct json **ret, struct err *e);
/* May this list take the place of that one?  *ret_is_new false: it is the very same.  FLEET_APPROVERS_OLD. */
int fleet_approvers_newer(struct sys *s, struct arena *a, const char *helm_home, const struct json *joined,
	const struct json *list, bool *ret_is_new, struct err *e);
int fleet_approvers_save(
	struct sys *s, struct arena *a, const char *helm_home, const struct json *list, struct err *e);
/* Who of the list has signed these bytes; `order` brought them.  APPROVER_UNKNOWN. */
int fleet_person(struct arena *a, const struct json *list, struct bytes message, const char *signature,
	const struct json *order, struct person *ret, struct err *e);

#endif
