/* mldsa.h — ML-DSA-65 (FIPS 204, final, empty context): verification only.
 *
 * Hybrid records carry an Ed25519 and an ML-DSA-65 signature over the same bytes and count only when both verify.  Helm
 * signs with Ed25519 alone; this exists so that records of others can be checked whole instead of by half. */
#ifndef PROOF_MLDSA_H
#define PROOF_MLDSA_H

#include "base/mem.h"

#include <stdbool.h>

enum { MLDSA_PUBLIC = 1952, MLDSA_SIGNATURE = 3309 };

/* True only when sig is a valid signature of msg under pub.  Nothing here is secret; allocates nothing; any thread. */
bool mldsa_verify(const uint8_t pub[MLDSA_PUBLIC], struct bytes msg, const uint8_t sig[MLDSA_SIGNATURE]);

#endif
