/* fuzz_note.c — notes, keys and policies from strangers.  The first byte says what the rest is.  What is read is written again as it was, and
 * nothing is signed by a key that signed nothing. */
#include "fuzz.h"
#include "proof/tlog_policy.h"

#include <string.h>

static void as_note(struct arena *a, struct bytes text)
{
	/* The second one is the key of Go's documentation, of which the corpus has a signature. */
	static const char known[] = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
	struct note_key keys[2] = { 0 };
	struct note_seen seen[2];
	struct tlog_head head;
	struct note note;
	struct err e = { 0 };

	if (note_key_parse(a, bytes_of(known), "known", &keys[1], &e))
		__builtin_trap();
	keys[0] = note_key_of("log.example/fleet", NOTE_ED25519, keys[1].pub);
	if (note_parse(a, text, "note", &note, &e)) {
		if (!e.code[0])
			__builtin_trap();
		return;
	}
	if (!note.n || note.text.n + 1 >= text.n || note.text.p[note.text.n - 1] != '\n')
		__builtin_trap();
	if (note_verify(a, &note, keys, 2, seen, &e) == OK && !seen[0].has_signed && !seen[1].has_signed)
		__builtin_trap();
	if (tlog_head_parse(a, note.text, "head", &head, &e) == OK &&
		!bytes_is(note.text, tlog_head_text(a, &head)))
		__builtin_trap();
}

static void as_key(struct arena *a, struct bytes text)
{
	struct note_key key;
	struct key *secret = NULL;
	struct err e = { 0 };

	if (note_key_parse(a, text, "key", &key, &e) == OK && !bytes_is(text, note_key_text(a, &key)))
		__builtin_trap();
	if (note_secret_parse(a, text, "key", &key, &secret, &e) == OK &&
		memcmp(key.pub, key_public(secret), SIGN_PUBLIC) != 0)
		__builtin_trap();
	key_free(&secret);
}

static void as_policy(struct arena *a, struct bytes text)
{
	bool nobody[TLOG_POLICY_MOST] = { false };
	struct tlog_policy p;
	struct err e = { 0 };

	if (tlog_policy_parse(a, text, "policy", &p, &e)) {
		if (!e.code[0])
			__builtin_trap();
		return;
	}
	if (tlog_policy_met(&p, nobody) != (p.quorum == TLOG_NO_QUORUM))
		__builtin_trap();
}

void fuzz_one(const uint8_t *data, size_t size)
{
	AUTO(arena_done) struct arena a = { .limit_bytes = 64 << 20 };
	struct bytes text;

	if (!size)
		return;
	text = (struct bytes){ data + 1, size - 1 };
	switch (data[0]) {
	case 'k':
		as_key(&a, text);
		break;
	case 'p':
		as_policy(&a, text);
		break;
	default:
		as_note(&a, text);
	}
}
