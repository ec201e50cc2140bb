/* sign.h — Ed25519 (RFC 8032, pure: no context, no pre-hash) under the strict profile, and memory for secrets.
 *
 * Verification is stricter than libraries usually are, so that everybody who checks an artifact reaches the same answer:
 * S is below the group order, A and R are canonical encodings of points in the prime-order subgroup, and neither is of
 * small order. */
#ifndef PROOF_SIGN_H
#define PROOF_SIGN_H

#include "base/mem.h"

#include <stdbool.h>
#include <stdint.h>

enum { SIGN_SEED = 32, SIGN_PUBLIC = 32, SIGN_SECRET = 64, SIGN_SIZE = 64, SHA512_SIZE = 64 };

/* The public key is one a verifier may use at all. */
bool sign_public_ok(const uint8_t pub[SIGN_PUBLIC]);

/* True only when sig is a valid strict signature of msg under pub.  Allocates nothing, needs no initialisation, may run in
 * any number of threads. */
bool sign_verify(const uint8_t pub[SIGN_PUBLIC], struct bytes msg, const uint8_t sig[SIGN_SIZE]);

/* `secret` is the seed followed by its public key.  Deterministic. */
void sign_expand(const uint8_t seed[SIGN_SEED], uint8_t secret[SIGN_SECRET], uint8_t pub[SIGN_PUBLIC]);
void sign_message(const uint8_t secret[SIGN_SECRET], struct bytes msg, uint8_t sig[SIGN_SIZE]);

/* For formats of others that hash before they sign. */
void sha512(struct bytes msg, uint8_t ret[SHA512_SIZE]);

/* Keeping something from others: XChaCha20-Poly1305.  `about` is not hidden, and must be the same when it is opened.  A nonce is never used twice
 * with one key; drawn at random it may be.  `ret` has room for the message and BOX_TAG bytes, or for that much less. */
enum { BOX_KEY = 32, BOX_NONCE = 24, BOX_TAG = 16 };
void box_seal(const uint8_t key[BOX_KEY], const uint8_t nonce[BOX_NONCE], struct bytes about,
	struct bytes message, uint8_t *ret);
bool box_open(const uint8_t key[BOX_KEY], const uint8_t nonce[BOX_NONCE], struct bytes about,
	struct bytes sealed, uint8_t *ret);
/* Another key from this one, by a name; nobody finds this one from it. */
void box_derive(const uint8_t key[BOX_KEY], struct bytes name, uint8_t ret[BOX_KEY]);

/* Memory for secrets: between guard pages, not in core dumps, wiped when freed, and locked against swapping where the
 * system permits it (*ret_locked says).  NULL when there is none. */
void *secret_alloc(size_t n, bool *ret_locked);
void secret_seal(void *p); /* read-only from here on */
void secret_free(void *p); /* NULL is fine */
void secret_wipe(void *p, size_t n); /* for copies on the stack; never optimised away */

#endif
