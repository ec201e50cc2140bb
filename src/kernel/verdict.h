/* verdict.h — is the record of this workspace sound?  The one question, asked by log check, report, status, doctor, evidence export, the
 * console and the heartbeat of a fleet. */
#ifndef KERNEL_VERDICT_H
#define KERNEL_VERDICT_H

#include "audit/audit.h"
#include "kernel/workspace.h"

/* What a view that must be quick reads at most; one that may take a moment. */
enum { VERDICT_QUICK_BYTES = 32 << 20, VERDICT_PATIENT_BYTES = 512 << 20 };

struct verdict_ask {
	bool is_now; /* check now, whatever was kept */
	bool all; /* and read everything, also what was verified before (log_check_options) */
	uint64_t
		most_bytes; /* where more than that would have to be read, give the kept verdict as it is; 0: read it */
	void (*step)(void *arg, uint64_t done_bytes, uint64_t total_bytes); /* or NULL */
	void *arg;
};
/* The keys that this user's record may be signed with: the own one, its history, and those an operator trusts.  Without a key there is
 * none, and the check says so.  *ret_problems: what of it cannot be used, as texts. */
int workspace_trust(struct sys *s, struct arena *a, const char *helm_home, struct trust *ret,
	struct json **ret_problems, struct err *e);
/* The place as audit/ wants it. */
struct audit_place workspace_audit_place(struct arena *a, const struct workspace *ws);
/* Where it is kept how far the log was verified; NULL: nowhere. */
const char *workspace_verified_file(struct arena *a, const struct workspace *ws);
/* An error only when the check itself cannot be done. */
int workspace_verdict(struct sys *s, struct arena *a, const struct workspace *ws,
	const struct verdict_ask *ask, struct record_verdict *ret, struct err *e);
/* The same without what is judged beside the record (the settings): for whoever repairs those by it.  Always now. */
int workspace_verdict_of_log(struct sys *s, struct arena *a, const struct workspace *ws,
	struct record_verdict *ret, struct err *e);
/* The same for views, which go on: what cannot be checked is not known, and `why` says it. */
void workspace_verdict_quick(struct sys *s, struct arena *a, const struct workspace *ws, uint64_t most_bytes,
	struct record_verdict *ret);

#endif
