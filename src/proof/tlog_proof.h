/* tlog_proof.h — that something is in a log, as a text that everybody can check alone (docs/formats/fleet-notes.md,
 * c2sp.org/tlog-proof), and the question to a witness, which has the same shape (c2sp.org/tlog-witness). */
#ifndef PROOF_TLOG_PROOF_H
#define PROOF_TLOG_PROOF_H

#include "proof/tlog_policy.h"

enum { TLOG_PROOF_LIMIT = NOTE_LIMIT + (64 << 10), TLOG_WITNESS_PATH = 63 };

struct tlog_proof {
	uint64_t index;
	struct hash path[MERKLE_MAX_PATH];
	size_t n;
	bool has_extra;
	struct bytes extra; /* nobody signed it */
	struct bytes checkpoint;
};
char *tlog_proof_text(struct arena *a, const struct tlog_proof *proof);
/* Strict; TLOG_PROOF. */
int tlog_proof_parse(
	struct arena *a, struct bytes text, const char *where, struct tlog_proof *ret, struct err *e);
/* OK only when the checkpoint satisfies the policy and the path leads from this leaf to its root: what tlog_policy_check() and
 * merkle_check_inclusion() say. */
int tlog_proof_verify(struct arena *a, const struct tlog_proof *proof, const struct hash *leaf,
	const struct tlog_policy *policy, const char *where, struct tlog_seen *ret, struct err *e);

/* Please cosign this checkpoint; it goes on from the one of `old_size` leaves. */
struct tlog_request {
	uint64_t old_size;
	struct hash path[TLOG_WITNESS_PATH];
	size_t n;
	struct bytes checkpoint;
};
char *tlog_request_text(struct arena *a, const struct tlog_request *request);
int tlog_request_parse(struct bytes text, const char *where, struct tlog_request *ret, struct err *e);

/* What whoever vouches for a log says to a further checkpoint of it.  The numbers are those of HTTP. */
enum tlog_answer {
	TLOG_COSIGN = 200,
	TLOG_BAD = 400, /* not understood, or it wants to go backwards */
	TLOG_UNSIGNED = 403, /* the log did not sign it */
	TLOG_UNKNOWN = 404, /* a log that nobody asked us to watch */
	TLOG_CONFLICT =
		409, /* not what we vouched for last: the answer is its size; or another tree of that size */
	TLOG_INCONSISTENT = 422 /* no proof that it is the same log */
};
/* Judge a step of a log from `last` (size 0: none yet) to `next`.  Pure; whoever says TLOG_COSIGN keeps `next` as the last one, on
 * disk, before anybody hears of it. */
enum tlog_answer tlog_step(const struct tlog_head *last, const struct tlog_head *next,
	const struct tlog_request *request, struct err *e);

#endif
