/* parts.h — inside approval/: the document of requests and grants, and proof of what stands in it. */
#ifndef KERNEL_APPROVAL_PARTS_H
#define KERNEL_APPROVAL_PARTS_H

#include "kernel/approval/approval.h"

#define REQUEST_LASTS_US (INT64_C(86400) * 1000000) /* a request without an answer expires then */

/* Hold the lock, read, change, write: what is read under the lock is what is replaced. */
struct approval_store {
	struct kernel *k;
	struct arena *a;
	struct json *doc, *requests, *grants;
	int lock_fd;
};
int approval_store_open(struct approval_store *st, struct kernel *k, struct arena *a, struct err *e);
void approval_store_close(struct approval_store *st); /* for AUTO(), with lock_fd -1 */
/* What is settled goes to the log; the rest is on disk when this returns OK.  APPROVALS_FULL when it would be more than can be read
 * again: then nothing has changed. */
int approval_store_write(struct approval_store *st, struct err *e);
/* That time lies more than a week before `now_us`, or cannot be read. */
bool approval_is_long_past(const struct json *doc, const char *name, int64_t now_us);

/* fold.c: {id: receipt} of the grants that the chain says were given, and neither revoked nor used up.  Some may have expired. */
int grants_alive(struct kernel *k, struct arena *a, struct json **ret, struct err *e);
/* A walk was made here before: somebody has granted something. */
bool grants_were_given(struct kernel *k, struct arena *a);

/* Is this a grant we signed, unchanged?  Then *ret is what it grants. */
bool grant_is_ours(struct kernel *k, struct arena *a, const struct json *receipt, struct grant *ret);

/* The signed decision that this entry's request was made for is ours and is about these very bytes. */
bool request_is_genuine(struct kernel *k, struct arena *a, const struct json *entry);

/* quorum.c: one more person says yes to a question that takes several (`entry`, which grows by what they signed).  *ret_is_enough: as many as it
 * takes; then ret->approvers and ret->quorum_sha256 are set and *ret_proof is what they signed.  `message`: what a passkey has signed, as
 * quorum_message() gave it; empty: `who` has a key that signs now.  APPROVAL_QUORUM, APPROVAL_HOLD, APPROVAL_TWICE, APPROVAL_MESSAGE. */
int quorum_add(struct kernel *k, struct arena *a, struct json *entry, struct bytes message,
	const struct person *who, struct grant *ret, struct json **ret_proof, bool *ret_is_enough,
	struct err *e);
/* The bytes that a passkey signs to be one of those who say yes. */
int quorum_message(
	struct kernel *k, struct arena *a, const struct json *entry, struct bytes *ret, struct err *e);
/* What several people answer is for this very input, once, as long as the question lasts. */
int quorum_terms(const struct json *request, struct approval_terms *ret, struct err *e);
/* So many different keys have signed the challenge of this grant's question. */
bool quorum_holds(struct arena *a, const struct json *proof, const struct grant *g);
/* How many people a question takes. */
int quorum_of(const struct json *request);

/* signed.c: the message is an answer to this very question, on terms that a person may give: *ret is what it grants. */
int approval_check_signed(struct kernel *k, struct arena *a, const struct json *request, struct bytes message,
	const struct person *who, struct grant *ret, struct err *e);

#endif
