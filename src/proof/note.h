/* note.h — signed notes, and the checkpoints of transparency logs in them (docs/formats/fleet-notes.md).
 *
 * A note is lines of text, an empty line, and one signature line for each key that signed.  It is the form in which logs, witnesses
 * and their readers of different makers understand each other (c2sp.org/signed-note, tlog-checkpoint, tlog-cosignature), so nothing in
 * here is ours to change.  No files, no clock, no network. */
#ifndef PROOF_NOTE_H
#define PROOF_NOTE_H

#include "base/text.h"
#include "proof/key.h"
#include "proof/merkle.h"

enum { NOTE_LIMIT = 256 << 10, NOTE_SIGNATURES = 100, NOTE_NAME_MAX = 255 };

/* What a signature by this key says.  Others there are (ECDSA, ML-DSA-44); signatures of those are signatures of unknown keys here. */
enum note_type {
	NOTE_ED25519 = 0x01, /* the text */
	NOTE_COSIGNATURE = 0x04 /* at this time this was the largest consistent tree I had seen of that log */
};

struct note_key {
	const char *name; /* of a log: its origin */
	enum note_type type;
	uint32_t id; /* with the name it says which key a signature line is of */
	uint8_t pub[SIGN_PUBLIC];
};

/* 1 to NOTE_NAME_MAX bytes of UTF-8 without spaces of any kind, controls, and '+'. */
bool note_name_ok(struct bytes name);
/* The id follows from the rest.  `name` is kept. */
struct note_key note_key_of(const char *name, enum note_type type, const uint8_t pub[SIGN_PUBLIC]);
/* NAME+ID+BASE64, as everybody passes public keys around.  NOTE_KEY when it is no such text, its id does not fit, or the key is one that no
 * verifier may use; NOTE_KEY_TYPE when it is for another algorithm. */
int note_key_parse(
	struct arena *a, struct bytes text, const char *where, struct note_key *ret, struct err *e);
char *note_key_text(struct arena *a, const struct note_key *key);
/* PRIVATE+KEY+NAME+ID+BASE64, as other programs keep secrets.  `text` is wiped by whoever has it. */
int note_secret_parse(struct arena *a, struct bytes text, const char *where, struct note_key *ret,
	struct key **ret_secret, struct err *e);

struct note_signature {
	struct bytes name;
	uint32_t id;
	struct bytes raw; /* without the id */
	struct bytes line; /* whole, with its newline */
};
struct note {
	struct bytes text; /* what is signed, with its last newline */
	struct note_signature *list;
	size_t n;
};

/* Strict: what is not exactly a note is none (NOTE_FORMAT), and one that is too long is not looked at (NOTE_LONG).  Parts of it point into
 * `text`. */
int note_parse(struct arena *a, struct bytes text, const char *where, struct note *ret, struct err *e);
/* Signature lines alone, as a witness answers with; none are too few. */
int note_parse_signatures(
	struct arena *a, struct bytes lines, const char *where, struct note *ret, struct err *e);

/* What is known of one key after note_verify(). */
struct note_seen {
	bool has_signed;
	uint64_t time; /* seconds since 1970, of a cosignature; 0 otherwise */
	struct bytes line;
};
/* Which of these keys signed; ret_seen has n entries.  Signatures of keys that are not among them are passed over.  A bad signature in the
 * name of one that is condemns the note (NOTE_SIGNATURE), and so does the lack of any good one (NOTE_UNSIGNED). */
int note_verify(struct arena *a, const struct note *note, const struct note_key *keys, size_t n,
	struct note_seen *ret_seen, struct err *e);

/* The bytes that `key` signs: the text, or a cosigner's frame around it.  `time` is for cosigners. */
struct bytes note_message(struct arena *a, const struct note_key *key, struct bytes text, uint64_t time);
/* The line that a signature of those bytes makes. */
void note_add_line(struct buf *to, const struct note_key *key, uint64_t time, const uint8_t sig[SIGN_SIZE]);
/* Both, when the secret is here. */
void note_sign(struct buf *to, const struct note_key *key, const struct key *secret, struct bytes text,
	uint64_t time);

/* The state of a log, as the text of a checkpoint says it. */
struct tlog_head {
	const char *origin;
	uint64_t size;
	struct hash root;
};
/* Three lines.  Extension lines, which some logs add, are refused: nobody could audit what they say. */
char *tlog_head_text(struct arena *a, const struct tlog_head *head);
int tlog_head_parse(
	struct arena *a, struct bytes text, const char *where, struct tlog_head *ret, struct err *e);
bool tlog_head_eq(const struct tlog_head *x, const struct tlog_head *y);

/* Hashes and sizes as these formats spell them: base64 with its padding; decimal without leading zeroes, at most 2^63 - 1. */
void note_add_hash(struct buf *to, const struct hash *h);
bool note_hash(struct bytes text, struct hash *ret);
bool note_number(struct bytes text, uint64_t *ret);

#endif
