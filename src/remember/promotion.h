/* promotion.h — work that succeeded again and again, offered to become a skill, and what was answered.  Approving changes the state here;
 * the command drafts the skill, and installs nothing. */
#ifndef REMEMBER_PROMOTION_H
#define REMEMBER_PROMOTION_H

#include "remember/run_trace.h"

struct promotion_place {
	struct sys *sys;
	struct arena *a;
	int dir_fd; /* that holds `file` */
	const char *file; /* of the state */
	struct trace_place traces;
};

/* {generated_at, cadence, candidates[], summary_text, approval_reply_examples[]}; new ones are kept as notified when `record`. */
struct promotion_digest {
	const char *cadence;
	size_t most; /* 0: 5 */
	bool record;
};
int promotion_digest(
	const struct promotion_place *p, const struct promotion_digest *d, struct json **ret, struct err *e);

enum promotion_verb { PROMOTION_APPROVE, PROMOTION_REJECT, PROMOTION_DETAILS };
/* "approve 8a2fa491", "reject 8a2fa491 why", "details 8a2fa491"; false: it is none. */
bool promotion_reply(struct arena *a, const char *text, enum promotion_verb *ret_verb, const char **ret_id,
	const char **ret_reason);
/* The entry afterwards.  E_MISSING PROMOTION_UNKNOWN, E_INPUT PROMOTION_DECIDED. */
int promotion_decide(const struct promotion_place *p, enum promotion_verb verb, const char *id,
	const char *by, const char *reason, struct json **ret, struct err *e);
/* Entries that nobody has decided yet. */
int promotion_pending(const struct promotion_place *p, struct json **ret, struct err *e);

#endif
