/* approval.h — questions that wait for a person, and the grants that answer them
 * (docs/formats/approvals.md).
 *
 * A request is a question that was asked.  An approval is the act of a person who answers it with yes.  A
 * grant is what that leaves behind: a signed statement which later questions it answers. */
#ifndef KERNEL_APPROVAL_APPROVAL_H
#define KERNEL_APPROVAL_APPROVAL_H

#include "kernel/kernel.h"
#include "kernel/person.h"

#define APPROVALS "approvals.json"
#define APPROVALS_LOG "approvals-log.jsonl"
#define GRANT_EFFECT "helm.approval/grant"
#define REVOKE_EFFECT "helm.approval/revoke"

/* {version, requests: {id: entry}, grants: {id: entry}}: what waits and what is in force.  An error when the
 * file cannot be understood. */
int approvals_load(
	struct sys *s, struct arena *a, const struct workspace *ws, struct json **ret, struct err *e);
/* The same; a file that cannot be understood is put aside, and what the chain says was granted and is in
 * force is made again from it.  *ret_note, when not NULL, says so; NULL: nothing had to be done. */
int approvals_restore(
	struct kernel *k, struct arena *a, struct json **ret, const char **ret_note, struct err *e);
/* Every grant that is in force now, as far as it can be read, in `a`; *ret_note says when they cannot.  Only looks. */
size_t grants_in_force(struct sys *s, struct arena *a, const struct workspace *ws, struct grant **ret,
	const char **ret_note);
/* Of the newest n settled ones those that are not in *doc are added to it; all are then in the order of the
 * chain.  *ret_more: there are older ones. */
int approvals_add_settled(struct sys *s, struct arena *a, const struct workspace *ws, size_t n,
	struct json *doc, bool *ret_more, struct err *e);
/* A request or grant that is settled, or NULL. */
struct json *approvals_find_settled(
	struct sys *s, struct arena *a, const struct workspace *ws, bool is_grant, const char *id);
/* "pending", "approved", "denied", "answered in the client" or "expired". */
const char *request_state(const struct json *request_entry, int64_t now_us);
/* "in force", "used", "revoked" or "expired". */
const char *grant_state(const struct json *grant_entry, int64_t now_us);
/* All that wait and all that are in force, also the requests whose entries had to give way to newer ones. */
void approvals_count(const struct json *doc, int64_t now_us, size_t *ret_pending, size_t *ret_in_force);
/* How many wait whose entries are only in the log; of a tenant, where those that name none are the tenant `home`'s, or of all (NULL). */
size_t approvals_moved(const struct json *doc, int64_t now_us, const char *tenant, const char *home);
/* The document holds the newest 200 requests that wait; older ones are added to it from the log until it has `most`. */
int approvals_add_waiting(struct sys *s, struct arena *a, const struct workspace *ws, size_t most,
	struct json *doc, struct err *e);

/* How far a person's answer is to reach. */
struct approval_terms {
	enum reach reach;
	bool is_once, is_for_session;
	const char *path, *host; /* of REACH_PATH (absolute, links resolved), REACH_HOST */
	int64_t expires_us;
};
/* A request, proven to be what was asked: APPROVAL_MISSING, APPROVAL_TAMPERED. */
int approval_get(struct kernel *k, struct arena *a, const char *id, struct json **ret_entry, struct err *e);
/* Each leaves a signed receipt in the chain first, then takes effect.  A request is answered once:
 * APPROVAL_SETTLED when it was answered or has expired.  APPROVAL_REACH when what was asked may not be
 * granted so far. */
int approval_approve(struct kernel *k, struct arena *a, const char *id, const struct approval_terms *t,
	const struct person *who, struct json **ret_receipt, struct err *e);
/* The same with an answer that was signed elsewhere; `who` comes from person_open_signed() with the same message.  APPROVAL_MESSAGE when it
 * is about something else. */
int approval_approve_signed(struct kernel *k, struct arena *a, const char *id, struct bytes message,
	const struct person *who, struct json **ret_receipt, struct err *e);
/* The bytes that an OpenSSH key or a passkey signs to say yes on these terms (docs/formats/approvals.md); and what they would grant.  A question that
 * takes several people has terms of its own, and for a passkey bytes of its own: "Questions that take several people" there. */
/* How many people it takes.  For more than one the bytes are a challenge, of which each signs the same: a new one, made away from the machine that asked; and
 * whether this one is of that question, and its time is not over. */
int approval_people(const struct json *request);
int approval_quorum_message(
	struct sys *s, struct arena *a, const struct json *request, struct bytes *ret, struct err *e);
/* The bytes of a challenge that somebody has signed. */
struct bytes approval_quorum_bytes(struct arena *a, const struct json *challenge);
bool approval_quorum_is_live(
	struct sys *s, struct arena *a, const struct json *request, struct bytes message);
/* Whose yes an assertion is: the label under which the key is registered here, or that the fleet's list has; "" for nobody's. */
const char *approval_yes_by(struct sys *s, struct arena *a, const struct json *assertion);
/* By their labels.  Anna and anna are one person: who has two keys shall not be two people by a capital letter. */
bool approval_same_person(struct arena *a, const char *x, const char *y);
/* One person's yes to it. */
struct json *approval_quorum_assert(struct arena *a, struct bytes message, const struct key *key);
enum signed_with { SIGNED_WITH_SSH, SIGNED_WITH_PASSKEY, SIGNED_FOR_FLEET, SIGNED_WITHS };
int approval_message(struct kernel *k, struct arena *a, const char *id, const struct approval_terms *t,
	enum signed_with with, struct bytes *ret, struct err *e);
/* The same for a question that came from elsewhere, whole. */
int approval_message_for(struct sys *s, struct arena *a, const struct json *request,
	const struct approval_terms *t, enum signed_with with, struct bytes *ret, struct err *e);
int approval_message_read(struct arena *a, struct bytes text, struct grant *ret, struct err *e);
int approval_deny(struct kernel *k, struct arena *a, const char *id, const char *reason,
	const struct person *who, struct json **ret_receipt, struct err *e);
int grant_revoke(struct kernel *k, struct arena *a, const char *grant_id, const char *reason,
	const struct person *who, struct json **ret_receipt, struct err *e);
/* Give what was drafted: signed first, then kept. */
int grant_give(struct kernel *k, struct arena *a, struct grant *g, const struct person *who,
	struct json **ret_receipt, struct err *e);
/* From the questions since then: {since, questions, must_be_asked, proposals: [{number, saves,
 * denied_by_you, principal, covers, examples, approval_id}]}, the one that saves most first.  approval_id:
 * a request to make the grant from; null when none is kept.  Reads only. */
int tune_propose(struct kernel *k, struct arena *a, int64_t since_us, struct json **ret, struct err *e);
/* The grant that would answer this request: everything but its id, time and giver. */
int grant_draft(struct arena *a, const struct json *request, const struct approval_terms *t,
	struct grant *ret, struct err *e);
/* The same for something nobody asked for yet: what would be asked about `q`.  GRANT_NOTHING when nothing
 * would be, GRANT_DENIED.  A subject or session that is NULL means anybody. */
int grant_draft_for(struct kernel *k, struct arena *a, const struct request *q,
	const struct approval_terms *t, struct grant *ret, struct err *e);

/* ---- for the steps of the kernel itself ---- */

/* `doc`: as approvals_load() gave it, or NULL when it could not be read.
 *
 * Does a grant that is kept answer the decision?  Then h->settled is filled, and what may be used once has
 * been used up on disk. Whatever cannot be read or verified grants nothing; h->approval_note says so. */
bool grants_settle(struct kernel *k, const struct request *q, const struct json *doc, struct handling *h);

/* The question as a person will read it: h->question, its digest, and whether the same one is kept
 * already. */
int approval_pose(
	struct kernel *k, const struct request *q, const struct json *doc, struct handling *h, struct err *e);
/* After the decision is on record: keep the question where a person finds it. */
int approval_keep(struct kernel *k, struct handling *h, struct err *e);

/* The client asked its own person, who said yes: the call has been made. */
int approval_answered_elsewhere(struct kernel *k, struct arena *a, const char *id, struct err *e);

/* waiting.c: the same pause in the original's file, for its readers. */
int waiting_add(struct kernel *k, struct arena *a, const struct json *request, struct err *e);
int waiting_settle(struct kernel *k, struct arena *a, const struct json *request, const char *response,
	const char *responder, struct err *e);

#endif
