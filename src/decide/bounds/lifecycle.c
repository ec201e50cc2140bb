/* lifecycle.c — which state may follow which; tables, and nothing else (docs/formats/lifecycle.md).
 *
 * What a table does not have is an error, and leaves the state as it is. */
#include "decide/bounds/parts.h"

struct transition {
	const char *from, *to; /* from "": it begins */
};

static const struct transition effect_steps[] = { { "", "SUBMITTED" }, { "SUBMITTED", "APPROVED" },
	{ "SUBMITTED", "DENIED" }, { "SUBMITTED", "ESCALATED" }, { "ESCALATED", "APPROVED" },
	{ "ESCALATED", "DENIED" }, { "APPROVED", "EXECUTING" }, { "EXECUTING", "COMPLETED" },
	{ "EXECUTING", "FAILED" }, { "COMPLETED", "COMPENSATED" }, { "FAILED", "COMPENSATED" }, { 0 } };

/* A dispatch at a connector.  UNCERTAIN: nobody can prove whether it left; an acknowledgement or an operator resolves it, never another try. */
static const struct transition connector_steps[] = { { "", "ADMITTED" }, { "ADMITTED", "STARTED" },
	{ "ADMITTED", "NOT_STARTED" }, { "ADMITTED", "UNCERTAIN" }, { "STARTED", "COMPLETED" },
	{ "STARTED", "UNCERTAIN" }, { "UNCERTAIN", "COMPLETED" }, { "UNCERTAIN", "NOT_STARTED" }, { 0 } };

static const struct transition proof_steps[] = { { "", "AUTHORIZED" }, { "AUTHORIZED", "PROOF_PENDING" },
	{ "AUTHORIZED", "EFFECT_FAILED" }, { "PROOF_PENDING", "PROOF_FINALIZED" },
	{ "PROOF_PENDING", "PROOF_FINALIZATION_FAILED" }, { "PROOF_FINALIZATION_FAILED", "PROOF_FINALIZED" },
	{ 0 } };

static const struct transition escalation_steps[] = { { "", "PENDING" }, { "PENDING", "APPROVED" },
	{ "PENDING", "DENIED" }, { "PENDING", "TIMED_OUT" }, { "PENDING", "ABORTED" }, { 0 } };

static const struct transition breaker_steps[] = { { "", "CLOSED" }, { "CLOSED", "OPEN" },
	{ "OPEN", "HALF_OPEN" }, { "HALF_OPEN", "OPEN" }, { "HALF_OPEN", "CLOSED" }, { 0 } };

static const struct transition *const lifecycles[] = { effect_steps, connector_steps, proof_steps,
	escalation_steps, breaker_steps };
TABLE_COVERS(lifecycles, LIFECYCLE_COUNT);

bool lifecycle_may(enum lifecycle l, const char *from, const char *to)
{
	for (const struct transition *s = lifecycles[l]; s->to; s++)
		if (text_eq(s->from, from ? from : "") && text_eq(s->to, to))
			return true;
	return false;
}

bool lifecycle_is_end(enum lifecycle l, const char *state)
{
	bool is_known = false;

	for (const struct transition *s = lifecycles[l]; s->to; s++) {
		if (text_eq(s->from, state))
			return false;
		is_known |= text_eq(s->to, state);
	}
	return is_known;
}
