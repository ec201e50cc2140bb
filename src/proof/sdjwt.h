/* sdjwt.h — selective disclosure: a signed document whose claims are shown one by one (docs/formats/sd-jwt.md).
 *
 * The issuer signs open claims and the digests of the others; the holder passes on only those disclosures somebody should
 * see.  Verification is strict: EdDSA and sha-256 only, no unknown critical header, no disclosure twice, none that is not
 * promised by a digest, and none that replaces an open or reserved claim. */
#ifndef PROOF_SDJWT_H
#define PROOF_SDJWT_H

#include "base/json.h"
#include "proof/key.h"

enum { SDJWT_MAX_BYTES = 1 << 20, SDJWT_MAX_DISCLOSURES = 1000 };

/* The claims shown, without _sd, _sd_alg and iss.  Error codes: SDJWT_FORM, SDJWT_ALGORITHM, SDJWT_SIGNATURE,
 * SDJWT_DISCLOSURE. */
int sdjwt_verify(struct arena *a, struct bytes presentation, const uint8_t issuer[SIGN_PUBLIC],
	struct json **ret_claims, struct err *e);

/* base64url of a disclosure's SHA-256: what the issuer signs in its place. */
char *sdjwt_digest(struct arena *a, const char *disclosure);

#endif
