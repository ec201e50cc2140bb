/* preimage.h — the exact bytes that records sign and hash.
 *
 * Every function takes the record as parsed, and gives canonical bytes in the arena; nothing is looked up, nothing is
 * assumed.  A version tag selects a preimage for ever: old functions stay, unchanged, so that old records keep verifying.
 * docs/formats/ describes each one. */
#ifndef PROOF_PREIMAGE_H
#define PROOF_PREIMAGE_H

#include "base/hash.h"
#include "base/json.h"
#include "base/text.h"

#define RECEIPT_V5 "receipt.v5"
#define DECISION_V4 "decision_record.v4"
#define DECISION_V3 "decision_record.v3"
#define DECISION_V2 "decision_record.v2"
#define INTENT_V2 "authorized_execution_intent.v2"

/* The 13-member signing object of receipt.v5.  Refused with code contract_mismatch when a signed member is missing, not a
 * string, or the tag is another; non_interoperable_number for the clock. */
int receipt_preimage_v5(struct arena *a, const struct json *receipt, struct bytes *ret, struct err *e);
/* Is every number in it one that a receipt may hold? */
bool receipt_has_plain_numbers(const struct json *v);
/* One that it may not becomes its text. */
void receipt_plain_numbers(struct arena *a, struct json *v);
/* Untagged receipts, to verify only: colon-joined fields; and the whole receipt as canonical JSON. */
int receipt_preimage_v4_fields(struct arena *a, const struct json *receipt, struct bytes *ret, struct err *e);
int receipt_preimage_v5_jcs(struct arena *a, const struct json *receipt, struct bytes *ret, struct err *e);

/* A receipt written once, for both of its hashes.
 *
 * The chain hash is over all of it but what the log adds (log_id, leaf_index, transparency).  The mark is over the same without
 * receipt_id and signature.  A receipt of this program ends its receipt_id in "." and the mark, and the id is signed: so the
 * signature holds every member, not only the thirteen it covers by name. */
struct receipt_text {
	struct buf b;
	size_t id_at, id_n, signature_at, signature_n; /* the two members, each with the comma before it */
};
int receipt_text(struct arena *a, const struct json *receipt, struct receipt_text *ret, struct err *e);
void receipt_text_chain(const struct receipt_text *t, uint8_t ret_hash[SHA256_SIZE]);
void receipt_text_mark(const struct receipt_text *t, uint8_t ret_hash[SHA256_SIZE]);

/* For signing.  The first puts the mark behind the receipt's id and leaves room for the signature; everything else must stand
 * in the receipt before.  The second puts the signature (128 hex digits) into receipt and text, so that the chain hash can
 * follow without writing the receipt again. */
int receipt_text_begin(struct arena *a, struct json *receipt, struct receipt_text *ret, struct err *e);
void receipt_text_sign(struct arena *a, struct json *receipt, struct receipt_text *t, const char *signature);

/* The mark at the end of a receipt_id (64 hex digits), or NULL when it has none. */
const char *receipt_id_mark(const char *id);
/* The id without its mark, as people see and type it; and whether `word` is this id in either form. */
char *receipt_id_short(struct arena *a, const char *id);
bool receipt_id_is(const char *id, const char *word);

/* The chain hash: what the next receipt carries as prev_hash, and the log as leaf input. */
int receipt_chain_hash(
	struct arena *a, const struct json *receipt, uint8_t ret_hash[SHA256_SIZE], struct err *e);

/* "rcpt-" and the hash of "<length>:<tenant><length>:<decision>"; ret_text, when not NULL, receives the hashed text. */
char *receipt_tenant_id(struct arena *a, const char *tenant, const char *decision_id, const char **ret_text);

/* The decision preimage its signature_version selects; an unknown tag is refused (unsupported_version). */
int decision_preimage(struct arena *a, const struct json *decision, struct bytes *ret, struct err *e);

/* authorized_execution_intent.v2, taint normalised. */
int intent_preimage(struct arena *a, const struct json *intent, struct bytes *ret, struct err *e);
/* Bare hex hash of an effect binding. */
int effect_digest(struct arena *a, const struct json *binding, char **ret, struct err *e);

/* effect_permit.v1. */
int permit_preimage(struct arena *a, const struct json *permit, struct bytes *ret, struct err *e);

/* Canonical JSON of the object as received without the named member (NULL: all of it). */
int sealed_preimage(
	struct arena *a, const struct json *record, const char *without, struct bytes *ret, struct err *e);

/* A record that carries its own hash and signature, with both set to "": what they are made over, whatever wrapper holds the
 * record.  Any other record is returned as it is. */
const struct json *sealed_cleared(struct arena *a, const struct json *record);

/* Of an emergency stop's command or acknowledgement: its members without receipt_hash, and with the action, so that the one cannot be
 * shown for the other. */
int fence_preimage(
	struct arena *a, const struct json *members, const char *action, struct bytes *ret, struct err *e);

/* A head of the log: {log_id, root_hash, timestamp, tree_size}, whatever else stands in it. */
int log_head_preimage(struct arena *a, const struct json *head, struct bytes *ret, struct err *e);

/* A link of a key history: the object without its two signatures. */
#define KEY_HISTORY_V1 "helm-key-history/v1"
int key_link_preimage(struct arena *a, const struct json *link, struct bytes *ret, struct err *e);

/* "sha256:" and hex, or hex alone, of a preimage. */
char *preimage_prefixed(struct arena *a, struct bytes preimage);
char *preimage_hex(struct arena *a, struct bytes preimage);

/* Policy bundle: bare hash of {"name","version","rules":[{"id","action","expression","verdict","reason"}]}, compact, in that
 * order, < > & escaped. */
int bundle_preimage(struct arena *a, const struct json *bundle, struct bytes *ret, struct err *e);

#endif
