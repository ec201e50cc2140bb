/* receipt.h — the receipt verifier's inside, shared with the chain verifier. */
#ifndef VERIFY_RECEIPT_H
#define VERIFY_RECEIPT_H

#include "proof/merkle.h"
#include "verify/verify.h"

/* Everything about one receipt but its place in a chain.  ret_chain is set when its chain hash can be
 * computed, and *ret_hashed says so.  With v->values NULL nothing is written down but answers: the fast form. */
bool verify_receipt_core(
	struct verification *v, const struct json *receipt, struct hash *ret_chain, bool *ret_hashed);

/* The signature member is a hybrid envelope: both halves over `message`. */
bool verify_hybrid(
	struct verification *v, const struct json *receipt, struct bytes message, const char *error);

/* Lines of receipts, each by itself and not its place in a chain; on trust->threads threads. */
struct line_fact {
	struct bytes text;
	struct hash chain, session; /* of its chain; session is the hash of the name */
	uint64_t clock; /* 0: none that can be used */
	unsigned order; /* of the signing key, as in struct trusted_key */
	bool is_hashed, is_trusted, is_refuted;
};
size_t verify_lines_alone(
	struct arena *a, const struct trust *trust, struct bytes text, struct line_fact **ret);

#endif
