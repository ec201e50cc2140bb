/* claim.h — what is said to be done, held against evidence of the record.
 *
 * Evidence is a text TYPE:VALUE that somebody saw by themselves: how a process ended, what a file is now.  A claim names the type that would
 * show it and the evidence it relies on; it holds when one of that is really there, and every claim that it depends on holds.  Nothing here
 * reads files or permits anything.  docs/formats/completion.md. */
#ifndef REMEMBER_CLAIM_H
#define REMEMBER_CLAIM_H

#include "base/json.h"

/* More claims than that are not looked at, and then nothing holds. */
enum { CLAIMS_MOST = 512 };

/* What stands against it, whatever is claimed. */
struct claim_refuter {
	bool has_scope_violation; /* something was written outside of what the plan names */
	bool is_pending; /* it is to be done elsewhere, and nobody has said that it was */
};
/* {ok, arbiter pass|hold, claims [{claim_id, claim, evidence_type, ok, reason}], refuter {scope_violation, remote_execution_pending,
 * missing_claims[]}} of claims [{claim_id, claim, evidence_type, evidence_refs[], depends_on[]?}] and the evidence there is [text]. */
struct json *claims_judge(struct arena *a, const struct json *claims, const struct json *evidence,
	const struct claim_refuter *against);

/* What follows from the evidence of an ended run by itself: {claim_id, claim, evidence_type, evidence_refs}. */
struct json *claims_of_run(struct arena *a, const struct json *evidence);

/* "verified" or "needs_verification" of what is completed or handed on; of anything else its own state. */
const char *claims_status(const char *status, const struct json *gate);

#endif
