/* ceiling.h — ceilings that an administrator of this boundary has set over HTTP: at most so many calls, or so much money, in a period.
 *
 * They are budgets beside those of the door's policy and can only refuse more.  Kept in <helm home>/trees/<place>/serve-budgets.json, where nobody who
 * is governed can write; each change is on record before it counts.  docs/formats/serve-budgets.md. */
#ifndef KERNEL_CEILING_H
#define KERNEL_CEILING_H

#include "kernel/kernel.h"

#define CEILINGS "serve-budgets.json"

/* {version, budgets: {id: {subject, window, tool_call_limit, spend_limit_cents, approval_required_above_cents, updated_at, updated_by}}}. */
int ceilings_load(
	struct sys *s, struct arena *a, const struct workspace *ws, struct json **ret, struct err *e);
/* `row` from now on; one without a limit takes it away.  `by`: who says so.  `row` gets updated_at and updated_by. */
int ceiling_put(
	struct kernel *k, struct arena *a, const char *id, struct json *row, const char *by, struct err *e);
/* Does this row bound anything? */
bool ceiling_is_one(const struct json *row);
/* All of them as budgets of a policy document (docs/formats/policy-limits.md): ceiling.ID.calls and ceiling.ID.spend. */
void ceilings_add(struct arena *a, const struct json *ceilings, struct json *document);

#endif
