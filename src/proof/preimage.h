/* preimage.h — the exact bytes that records sign and hash.
 *
 * Every function takes the record as parsed, and gives canonical bytes in the arena; nothing is looked up, nothing is
 * assumed.  A version tag selects a preimage for ever: old functions stay, unchanged, so that old records keep verifying.
 * docs/formats/ describes each one. */
#ifndef PROOF_PREIMAGE_H
#define PROOF_PREIMAGE_H

#include "base/hash.h"
#include "base/json.h"

#define RECEIPT_V5 "receipt.v5"
#define DECISION_V4 "decision_record.v4"
#define DECISION_V3 "decision_record.v3"
#define DECISION_V2 "decision_record.v2"
#define INTENT_V2 "authorized_execution_intent.v2"

/* The 13-member signing object of receipt.v5.  Refused with code contract_mismatch when a signed member is missing, not a
 * string, or the tag is another; non_interoperable_number for the clock. */
int receipt_preimage_v5(struct arena *a, const struct json *receipt, struct bytes *ret, struct err *e);
/* Untagged receipts, to verify only: colon-joined fields; and the whole receipt as canonical JSON. */
int receipt_preimage_v4_fields(struct arena *a, const struct json *receipt, struct bytes *ret, struct err *e);
int receipt_preimage_v5_jcs(struct arena *a, const struct json *receipt, struct bytes *ret, struct err *e);

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
