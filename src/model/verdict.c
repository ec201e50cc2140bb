#include "model/verdict.h"

const char *verdict_name(enum verdict v)
{
	if (v == V_ALLOW)
		return "ALLOW";
	if (v == V_ESCALATE)
		return "ESCALATE";
	return "DENY";
}
