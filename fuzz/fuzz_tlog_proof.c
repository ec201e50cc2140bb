/* fuzz_tlog_proof.c — proofs of inclusion and questions to witnesses from strangers: what is read is written again as it was, and nothing holds
 * under a key that signed nothing. */
#include "fuzz.h"
#include "proof/tlog_proof.h"

#include <string.h>

static const uint8_t nobody[SIGN_PUBLIC] = { 0x19, 0x7f, 0x6b, 0x23, 0xe1, 0x6c, 0x85, 0x32, 0xc6, 0xab, 0xc8,
	0x38, 0xfa, 0xcd, 0x5e, 0xa7, 0x89, 0xbe, 0x0c, 0x76, 0xb2, 0x92, 0x03, 0x34, 0x03, 0x9b, 0xfa, 0x8b,
	0x3d, 0x36, 0x8d, 0x61 };

void fuzz_one(const uint8_t *data, size_t size)
{
	AUTO(arena_done) struct arena a = { .limit_bytes = 64 << 20 };
	struct note_key key = note_key_of("log.example/fleet", NOTE_ED25519, nobody);
	struct tlog_policy policy = tlog_policy_of(&a, &key, NULL, 0);
	struct tlog_head last = { "log.example/fleet", 2, { { 1 } } },
			 next = { "log.example/fleet", 3, { { 2 } } };
	struct bytes text = { data, size };
	struct tlog_request request;
	struct tlog_proof proof;
	struct tlog_seen seen;
	struct err e = { 0 };
	/* What is in the checkpoint is looked at later; a NUL there has no place in a C text. */
	bool is_text = !size || !memchr(data, 0, size);

	if (tlog_proof_parse(&a, text, "proof", &proof, &e) == OK) {
		if (is_text && !bytes_eq(text, bytes_of(tlog_proof_text(&a, &proof))))
			__builtin_trap();
		if (tlog_proof_verify(&a, &proof, &last.root, &policy, "proof", &seen, &e) == OK)
			__builtin_trap();
	}
	if (tlog_request_parse(text, "request", &request, &e) == OK) {
		if (is_text && !bytes_eq(text, bytes_of(tlog_request_text(&a, &request))))
			__builtin_trap();
		if (tlog_step(&last, &next, &request, &e) == TLOG_COSIGN)
			__builtin_trap();
	}
	if (!e.code[0])
		__builtin_trap();
}
