/* verdict.c — verdicts as records and people spell them. Anything that is not clearly ALLOW or ESCALATE is
 * DENY. */
#include "model/verdict.h"

const char *verdict_name(enum verdict v)
{
	if (v == V_ALLOW)
		return "ALLOW";
	if (v == V_ESCALATE)
		return "ESCALATE";
	return "DENY";
}
