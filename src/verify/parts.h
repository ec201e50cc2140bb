/* parts.h — what the verifiers of this folder share: recording findings, checking signatures. */
#ifndef VERIFY_PARTS_H
#define VERIFY_PARTS_H

#include "verify/verify.h"

/* Record the first failure: later ones are dropped.  Returns false, so that `return verify_fail(...)` ends a check.  Does
 * not touch the three answers. */
bool verify_fail(struct verification *v, const char *error, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* The same, and integrity is refuted. */
bool verify_refute(struct verification *v, const char *error, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* From an error of the layers below: its code is the name. */
bool verify_refute_err(struct verification *v, const struct err *e);
/* Name the broken link; only the first call counts. */
void verify_at(struct verification *v, const char *record, const char *member, const char *expected,
	const char *found);
void verify_check(struct verification *v, const char *name, enum check_status status, const char *detail);
void verify_note(struct verification *v, const char *note);
void verify_value(struct verification *v, const char *name, const char *value);

/* Strict Ed25519 (proof/sign.h). */
bool verify_ed25519(
	const uint8_t key[KEY_SIZE], struct bytes message, const uint8_t signature[SIGNATURE_SIZE]);

/* 128 lower-case hex digits; refuses all else. */
bool parse_signature(const char *text, uint8_t ret[SIGNATURE_SIZE]);

/* Check a signature under the trusted keys, then under the key the record declares (NULL: none), and set integrity, trusted
 * and signer.  The declared key id chooses which trusted key is tried first and nothing else.  Returns true when it
 * verified under some key; on false the failure is recorded under `error`. */
bool verify_signature(struct verification *v, struct bytes message, const uint8_t signature[SIGNATURE_SIZE],
	const uint8_t *declared, const char *key_id, const char *error);

/* The time the record states lies in the window of the trusted key that verified, where it has one (a trust file, a
 * revocation); otherwise trust is refused ("key_window"). */
bool verify_key_window(struct verification *v, const char *time);

/* In a chain whose newest key has order `before`, the key that verified is not an older one; otherwise trust is refused
 * ("key_order").  Returns the order of the chain's newest key now. */
unsigned verify_key_order(struct verification *v, unsigned before);

/* Merge the answers of one part into the whole: one "no" makes it no, one "not established" keeps it from yes. */
void verify_merge(struct verification *whole, const struct verification *part, bool is_first);

/* A chain of lines, and where each receipt stands in the log: its chain hash and clock. */
struct line_place {
	struct hash chain;
	uint64_t clock;
};
void verify_receipt_places(
	struct verification *v, struct bytes text, const char *name, struct line_place **ret, size_t *ret_n);
/* What such a chain does not establish; and whether it is the whole log of the root that was given. */
void verify_chain_notes(
	struct verification *v, uint64_t lost, bool starts_late, bool is_last_open, bool is_respelled);
void verify_chain_root(struct verification *v, const struct merkle *tree);

/* Members of an object as text; "" when absent or no string. */
const char *member_text(const struct json *o, const char *name);
bool is_prefixed_hash(const char *s); /* "sha256:" and 64 lower-case hex digits */
bool is_bare_hash(const char *s);

#endif
