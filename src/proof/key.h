/* key.h — signing keys on disk and in memory (docs/formats/keys.md).
 *
 * A key NAME is two files in a directory of mode 0700: NAME.key (0600), the 64 hex digits of the seed, and NAME.pub, those of
 * the public key.  The secret is read into and written from locked memory only. */
#ifndef PROOF_KEY_H
#define PROOF_KEY_H

#include "base/err.h"
#include "base/mem.h"
#include "base/sys.h"
#include "proof/sign.h"

struct key; /* a signing key, wholly in locked memory */

/* Make a new key in `dir` (relative to dirfd; made with 0700 when missing).  KEY_EXISTS when there is one of that name: a key
 * is never overwritten.  After OK it survives a crash; after a failure there is either no key or a whole one. */
int key_create(struct sys *s, int dirfd, const char *dir, const char *name, struct key **ret, struct err *e);

/* Read one back.  Refused: a directory or file that is open to others (KEY_MODE), of another owner (KEY_OWNER) or a symbolic
 * link (KEY_LINK); anything but 64 hex digits (KEY_FORMAT); a .pub that belongs to another seed (KEY_MISMATCH).  E_MISSING
 * with KEY_MISSING when there is none.  A missing .pub is not an error: it follows from the seed. */
int key_load(struct sys *s, int dirfd, const char *dir, const char *name, struct key **ret, struct err *e);

/* Put key `from` in the place of key `to` and destroy what was there.  Whatever happens on the way, `to` loads afterwards, as the
 * one or the other; done again it completes what was begun.  A missing `from` means that it is done already. */
int key_promote(struct sys *s, int dirfd, const char *dir, const char *from, const char *to, struct err *e);
/* A key that nobody was told of is destroyed; OK also when it is not there. */
int key_discard(struct sys *s, int dirfd, const char *dir, const char *name, struct err *e);

/* A key whose seed came by another way than those files; whoever has the seed wipes it. */
int key_from_seed(const uint8_t seed[SIGN_SEED], struct key **ret, struct err *e);

void key_free(struct key **k); /* wipes; for AUTO() */

const uint8_t *key_public(const struct key *k);
bool key_is_locked(const struct key *k); /* the system keeps it out of swap */
/* Only for a key whose secret is here. */
void key_sign(const struct key *k, struct bytes msg, uint8_t ret_sig[SIGN_SIZE]);

/* What is to be signed.  A key on this machine signs all of it; one that somebody else keeps (record/signer.c) is shown the whole record,
 * and may refuse. */
enum key_use {
	KEY_FOR_RECEIPT, /* the receipt, without its signature and what the log adds */
	KEY_FOR_DECISION, /* the decision record, without its signature */
	KEY_FOR_HEAD, /* {chain_id, head} */
	KEY_FOR_LINK, /* of the key history, without its signatures */
	KEY_FOR_FLEET, /* a request to a fleet's ledger: {origin, method, path, body_sha256, time} */
	KEY_USES
};
struct json;
int key_ask(const struct key *k, enum key_use use, const struct json *whole, struct bytes preimage,
	uint8_t ret_sig[SIGN_SIZE], struct err *e);

/* A key whose secret is elsewhere.  `ask` gets a signature from there, which is checked here before anybody sees it; `done` is called
 * by key_free(). */
struct key_keeper {
	int (*ask)(void *arg, enum key_use use, const struct json *whole, uint8_t ret_sig[SIGN_SIZE],
		struct err *e);
	void (*done)(void *arg);
	void *arg;
};
int key_new_kept(
	const uint8_t pub[SIGN_PUBLIC], const struct key_keeper *keeper, struct key **ret, struct err *e);
const struct key_keeper *key_keeper(const struct key *k); /* NULL: the secret is here */

/* "ed25519:" and the public key in hex: the name of a signer. */
enum { KEY_ID = 8 + 2 * SIGN_PUBLIC + 1 };
void key_id(const uint8_t pub[SIGN_PUBLIC], char ret_id[KEY_ID]);

/* A public key as people and files spell it: 64 hex digits, "ed25519:" allowed in front, white space around it ignored.
 * Refuses keys that sign_public_ok() refuses. */
int key_parse_public(struct bytes text, const char *where, uint8_t ret_pub[SIGN_PUBLIC], struct err *e);

/* Does the text spell the public half of this key?  Nothing needs to be proven about it then. */
bool key_is_public(const struct key *k, struct bytes text);

#endif
