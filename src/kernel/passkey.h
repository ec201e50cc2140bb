/* passkey.h — keys of people that live in their browsers' authenticators (docs/formats/approvals.md, "Signed by a passkey").
 *
 * Such a key stands among the approvers like any other, and answers like one: what it signs is the whole answer, so that whoever carries it can
 * change nothing.  It signs only when its owner touches it and proves to be there.  One is registered by who has an invitation, and
 * inviting is a person's act. */
#ifndef KERNEL_PASSKEY_H
#define KERNEL_PASSKEY_H

#include "kernel/kernel.h"
#include "kernel/person.h"

#define PASSKEY_RESPONDER "a registered passkey" /* metadata.approver says which */
#define PASSKEY_ACT_DOMAIN "helm:act:v1\n"

/* What came from a page: the door says under which origin and name it listens, and brings ECDSA along when it has it. */
struct passkey_given {
	const char *origin, *rp_id;
	webauthn_es256 *es256; /* or NULL */
	const struct json *assertion; /* {id, authenticator_data, client_data_json, signature} in base64url */
};
/* A registered passkey has signed exactly this message.  *ret_label (or NULL) is whose it is.  APPROVER_UNKNOWN, those of webauthn_check(), and
 * WEBAUTHN_COUNTER when the authenticator has counted less than before: then there are two of it. */
int person_open_passkey(struct sys *s, struct arena *a, struct bytes message, const struct passkey_given *g,
	struct person *ret, const char **ret_label, struct err *e);
/* The same for a challenge of the door's own, to come in. */
int passkey_login(struct sys *s, struct arena *a, const uint8_t challenge[SHA256_SIZE],
	const struct passkey_given *g, const char **ret_key_id, const char **ret_label, struct err *e);
/* What stands in a receipt as metadata.approver is a signature over this message by the key of this row; Ed25519 only. */
bool passkey_proof_holds(
	struct arena *a, const struct json *row, const struct json *proof, struct bytes message);
/* The same by the key that the proof itself names (`public_key_hex`, `algorithm`, `rp_id`).  Whoever relies on it knows that key from elsewhere. */
bool passkey_proof_is_signed(
	struct arena *a, const struct json *proof, struct bytes message, webauthn_es256 *es256);
/* Is the key of this name registered with these bytes? */
int passkey_is_registered(struct sys *s, struct arena *a, const char *key_id, const char *public_key_hex,
	bool *ret, struct err *e);
/* Does this row hold a passkey that can be used? */
bool passkey_is_key(const struct json *row);
/* Ids of the credentials that are registered for this name, in base64url. */
int passkey_credentials(struct sys *s, struct arena *a, const char *rp_id, struct json **ret, struct err *e);

/* Rows that somebody else keeps, as the list of a fleet's approvers is: {label, passkey: {algorithm, credential_id, origin, public_key_hex, rp_id}}. */
bool passkey_is_row(struct arena *a, const struct json *row);
const char *passkey_row_id(
	struct arena *a, const struct json *row); /* under which its key stands in a record */
/* One word for such a `passkey`, as a page shows it: "helm-passkey:" and base64url of its canonical bytes; read.  E_INPUT PASSKEY_WORD. */
#define PASSKEY_WORD "helm-passkey:"
int passkey_read_word(struct arena *a, const char *word, struct json **ret, struct err *e);
/* Whose key has signed exactly this message, at the origin that its row names.  APPROVER_UNKNOWN, and those of webauthn_check().  Counters are not looked
 * at: whoever sees only some of what a key signs learns nothing from them. */
int passkey_in_rows(struct arena *a, const struct json *rows, struct bytes message,
	const struct json *assertion, webauthn_es256 *es256, struct person *ret, struct err *e);

/* The key of such a row has signed this challenge, at the origin and under the name that the door says; *ret_counter is what its authenticator has counted,
 * for whoever keeps the row. */
int passkey_signed(struct arena *a, const struct json *row, const uint8_t challenge[SHA256_SIZE],
	const struct passkey_given *g, uint32_t *ret_counter, struct err *e);
/* A key that was made for this challenge, as the `passkey` of such a row.  Those of webauthn_register(), and KEY_WEAK. */
int passkey_made(struct arena *a, const struct webauthn_wanted *w, struct bytes client_data,
	struct bytes attestation_object, struct json **ret, uint32_t *ret_counter, struct err *e);

/* The bytes that say a person's act that is no answer with a grant: deny, freeze, unfreeze. */
struct bytes passkey_message(struct arena *a, const struct json *act);

/* ---- registering ---- */

/* Whoever has the word may register one key under this name, once, until then.  The act is on record. */
int passkey_invite(struct kernel *k, struct arena *a, const char *label, int64_t expires_us,
	const struct person *who, const char **ret_word, struct err *e);
/* The name of an invitation that is open; E_DENIED PASSKEY_INVITE.  `take`: it is used up with this. */
int passkey_invited(struct sys *s, struct arena *a, const struct workspace *ws, const char *word, bool take,
	const char **ret_label, struct err *e);
/* A key that was made for this challenge becomes an approver; on record first.  *ret_key_id names it.  `by` says who let it in. */
int passkey_add(struct kernel *k, struct arena *a, const struct webauthn_wanted *w, struct bytes client_data,
	struct bytes attestation_object, const char *label, const char *by, const char **ret_key_id,
	struct err *e);

#endif
