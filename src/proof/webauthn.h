/* webauthn.h — keys of people in authenticators, as browsers use them (W3C Web Authentication): what was made when one was registered, and what
 * one has signed.  Verified without a browser; nothing is asked, nothing is kept.
 *
 * Everything is read to the byte: a length that is written in two ways, something left over, a member twice, an unknown flag that matters is
 * refused.  Both the presence and the verification of a person are demanded always. */
#ifndef PROOF_WEBAUTHN_H
#define PROOF_WEBAUTHN_H

#include "base/err.h"
#include "base/hash.h"
#include "base/mem.h"

#include <stdbool.h>
#include <stdint.h>

enum { WEBAUTHN_LIMIT = 16 << 10, CREDENTIAL_LIMIT = 1023 };
enum webauthn_algorithm { WEBAUTHN_ED25519 = -8, WEBAUTHN_ES256 = -7 };

struct webauthn_key {
	enum webauthn_algorithm algorithm;
	uint8_t x[32], y[32]; /* Ed25519: x is the public key, y is not used */
};

/* What is expected: all of it must be there. */
struct webauthn_wanted {
	const char *origin; /* "https://helm.example.com" */
	const char *rp_id; /* "helm.example.com" */
	uint8_t challenge[SHA256_SIZE];
};

struct webauthn_made {
	struct webauthn_key key;
	struct bytes credential_id; /* in the attestation object */
	uint32_t counter;
};
/* A key was made for this challenge, by a person.  Attestation is not looked at: who registers it says whose it is.  WEBAUTHN_FORMAT, WEBAUTHN_TYPE,
 * WEBAUTHN_CHALLENGE, WEBAUTHN_ORIGIN, WEBAUTHN_RP, WEBAUTHN_PRESENCE, WEBAUTHN_KEY. */
int webauthn_register(struct arena *a, const struct webauthn_wanted *w, struct bytes client_data,
	struct bytes attestation_object, struct webauthn_made *ret, struct err *e);

struct webauthn_signed {
	struct bytes client_data, authenticator_data, signature;
};
/* ECDSA with P-256 and SHA-256, for whoever has that: is `der` a signature over `message`? */
typedef bool webauthn_es256(const struct webauthn_key *key, struct bytes message, struct bytes der);
/* The challenge was signed by this key, with a touch, by a person it has verified.  `es256` NULL: keys of that kind are refused.  The codes above, and
 * WEBAUTHN_INVALID. */
int webauthn_check(struct arena *a, const struct webauthn_wanted *w, const struct webauthn_key *key,
	const struct webauthn_signed *given, webauthn_es256 *es256, uint32_t *ret_counter, struct err *e);

#endif
