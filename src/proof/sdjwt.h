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

/* One claim that can be shown or withheld.  The salt must be unguessable (22 characters of base64url are 128 bits). */
struct sdjwt_claim {
	const char *salt, *name;
	const struct json *value;
};
/* base64url of ["salt","name",value] */
char *sdjwt_disclosure(struct arena *a, const struct sdjwt_claim *claim);
/* base64url of its SHA-256. */
char *sdjwt_digest(struct arena *a, const char *disclosure);

/* Sign `open` claims with digests of the others, sorted so that their order says nothing; all disclosures are attached.
 * Refused (SDJWT_DISCLOSURE) when a hidden claim has a reserved or an open claim's name, or two have the same. */
int sdjwt_issue(struct arena *a, const struct json *open, const char *issuer_name,
	const struct sdjwt_claim *hidden, size_t hidden_n, const struct key *k, char **ret_presentation,
	struct err *e);

/* The same document with only the named disclosures; names not among them are refused. */
int sdjwt_present(struct arena *a, const char *issued, const char *const *names, size_t names_n,
	char **ret_presentation, struct err *e);

#endif
