/* receipt.h — the receipt verifier's inside, shared with the chain verifier. */
#ifndef VERIFY_RECEIPT_H
#define VERIFY_RECEIPT_H

#include "proof/merkle.h"
#include "proof/preimage.h"
#include "verify/verify.h"

/* Everything about one receipt but its place in a chain.  ret_chain is set when its chain hash can be
 * computed, and *ret_hashed says so.  With v->values NULL nothing is written down but answers: the fast form. */
bool verify_receipt_core(
	struct verification *v, const struct json *receipt, struct hash *ret_chain, bool *ret_hashed);

/* A receipt of a Helm workspace: its signed session begins with "ws-", or its signed id ends in a mark. */
bool receipt_is_ours(const struct json *receipt);
/* A decision carried as `subject` verifies and is the one the receipt names.  Asked after the signature. */
bool verify_subject(struct verification *v, const struct json *receipt);
/* Our own receipts: the mark, the members and what follows from key and place.  Asked after the signature; `text` is the
 * receipt's.  In receipts of others only what the log added must have its form. */
bool verify_own_form(struct verification *v, const struct json *receipt, const struct receipt_text *text);
bool is_canonical_text(struct arena *a, struct bytes text, const struct json *doc);
/* How a document that holds receipts is spelled. */
void verify_receipt_spelling(struct verification *v, struct bytes text, const struct json *doc);

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
