/* policy.h — the policy in use: which policy document a person has accepted for a place, and what it says about a request.
 *
 * A policy is a file that anybody can write.  It counts when a person says so: then the document that was made of it is kept by its
 * digest in <helm home>/policies/, and the standing word about the place (posture.h) names that digest:
 *
 *	policy		{ sha256, name, version, epoch, at, source, facts, lifts, fresh_seconds, signer }
 *	policy_epochs	{ name: the highest epoch that was ever in use }
 *	policy_revoked	{ "sha256:...": { at, reason } }
 *	policy_signed	true: only what a trusted key has signed is taken
 *	policy_shadow	{ sha256, name, version, since, facts }: decides beside the one in use, and only differences are noted
 *
 * A policy only ever makes the answer of profiles and guard rules stricter, except that its explicit ALLOW answers what one of the
 * rules named in `lifts` merely asks about (decision 0050). */
#ifndef KERNEL_POLICY_POLICY_H
#define KERNEL_POLICY_POLICY_H

#include "kernel/act.h"

enum { POLICY_LIMIT_BYTES = 64 << 20 };

/* What a person wants to be in use from now on. */
struct policy_choice {
	const struct json *document; /* checked and compiled by the caller; NULL: none */
	const char *source; /* the file it was made of; or NULL */
	const struct json *facts; /* object of texts and numbers that rules may rely on here; or NULL */
	const struct json *lifts; /* array: ids of guard rules whose question an ALLOW answers; or NULL */
	int64_t fresh_seconds; /* it must be put in use again after this long; 0: never */
	const char *signer; /* the trusted key that has signed these bytes, verified; or NULL */
	const char *require_signature; /* "yes", "no", or NULL to leave it */
	bool may_go_back; /* a lower epoch than before is meant */
	const char *executor; /* the person */
};
/* Would it permit nothing that is not permitted now?  Then it needs no more than a person outside. */
bool policy_choice_is_stricter(struct kernel *k, const struct policy_choice *c);
/* Keep the document and put it in use.  The receipt is on disk before it counts.  E_DENIED POLICY_REVOKED, POLICY_ROLLBACK,
 * POLICY_UNSIGNED. */
int policy_use(struct kernel *k, struct arena *a, const struct policy_choice *c, struct json **ret_receipt,
	struct err *e);
/* From now on nothing with this digest is put in use, and where it is, everything is denied until another one is. */
int policy_revoke(struct kernel *k, struct arena *a, const char *sha256, const char *reason,
	const char *executor, struct json **ret_receipt, struct err *e);
/* A candidate decides beside the policy in use; document NULL ends that.  E_MISSING when there is none to end. */
int policy_shadow(struct kernel *k, struct arena *a, const struct policy_choice *c, struct json **ret_receipt,
	struct err *e);

/* The document of this digest as it was kept, whole.  E_CORRUPT POLICY_LOST. */
int policy_kept(struct sys *s, struct arena *a, const struct workspace *ws, const char *sha256,
	struct json **ret, struct err *e);

#endif
