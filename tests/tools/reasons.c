/* reasons.c — see reasons.h. */
#include "tools/reasons.h"

#include "base/mem.h"

bool reason_fits(const struct reason *r, enum verdict v)
{
	if (v == V_ALLOW)
		return r->verdicts & REASON_ALLOWS;
	if (v == V_ESCALATE)
		return r->verdicts & (REASON_ESCALATES | REASON_ALSO_ESCALATES);
	return r->verdicts & (REASON_DENIES | REASON_ALSO_DENIES);
}

const char *finality_name(enum finality f)
{
	static const char *const names[] = { NULL, "class_forbidden", "ungranted", "instance_parameter",
		"instance_context", "instance_membership" };
	return (unsigned)f < ARRAY_SIZE(names) ? names[f] : NULL;
}
