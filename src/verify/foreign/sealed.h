/* sealed.h — inside verify/: contract records that are sealed by a hash and signed through a small payload.
 *
 * One row per kind says how a record is read, hashed and signed; one engine does it.  What records of a ceremony must have
 * to do with each other stands in sealed_*.c. */
#ifndef VERIFY_FOREIGN_SEALED_H
#define VERIFY_FOREIGN_SEALED_H

#include "verify/parts.h"

enum want {
	WANT_TOKEN, /* not empty, no white space, at most 512 characters */
	WANT_HASH, /* "sha256:" and hex */
	WANT_TIME, /* RFC 3339 in UTC, spelled with Z */
	WANT_STAMP, /* the same with at most six fraction digits */
	WANT_COUNT, /* 1 .. 2^53-1 */
	WANT_REASON, /* not empty, trimmed, at most 2048 characters */
	WANT_NONCE, /* 64 lower-case hex digits */
	WANT_ONE_OF /* one of the words in `words` */
};

struct rule {
	const char *members; /* names separated by spaces: all of them follow this rule */
	enum want want;
	const char *words;
	bool may_lack;
};

struct sealed_kind {
	const char *schema_version, *contract_version;
	const char *hash_member;
	const char *domain; /* of the signing payload; NULL: unsigned */
	const char *
		payload; /* members of the payload besides algorithm, contract_version, domain, signing_key_ref */
	const struct rule *rules; /* ends in { 0 } */
};

extern const struct sealed_kind sealed_connector_authority, sealed_consumption, sealed_admission,
	sealed_release, sealed_acknowledgement, sealed_close, sealed_command, sealed_disposition,
	sealed_spec_challenge, sealed_spec_grant, sealed_spec_consumption;

/* Each returns false with `error` recorded. */
bool sealed_contract(
	struct verification *v, const struct sealed_kind *k, const struct json *record, const char *error);
bool sealed_hash(
	struct verification *v, const struct sealed_kind *k, const struct json *record, const char *error);
/* `signature` with or without "ed25519:".  `key`: the key the caller pins for this record, or NULL for those of v->trust. */
bool sealed_signature(struct verification *v, const struct sealed_kind *k, const struct json *record,
	const char *signature, const char *key, const char *error);
/* When a record says that it was signed; "" when it does not.  For the windows of keys that the caller did not pin. */
const char *sealed_time(const struct json *record);
/* The same over any message. */
bool sealed_check_signature(struct verification *v, struct bytes message, const char *signature,
	const char *key, const char *error);

/* Members equal on both sides; absent on both counts as equal.  "a=b" compares x.a with y.b. */
bool sealed_bound(struct verification *v, const struct json *x, const struct json *y, const char *members,
	const char *error);

/* Everything a caller pins about a signer: each member of `pinned` but the key and its window equals the record's, and
 * the record's time lies in the window. */
bool sealed_pinned(struct verification *v, const struct json *pinned, const struct json *record,
	const char *time_member, const char *error);

/* The connector authority embedded in a record: its form and hash, then what it must share with the record. */
bool sealed_connector(struct verification *v, const struct json *record);
bool sealed_connector_bound(struct verification *v, const struct json *record);

bool is_before(const char *x, const char *y); /* both times, x earlier */
bool is_not_after(const char *x, const char *y);
/* x <= t < y */
bool is_within(const char *t, const char *x, const char *y);
/* The time from x to y is at most that many seconds. */
bool lasts_at_most(const char *x, const char *y, int64_t seconds);

#endif
