/* fuzz_sshsig.c — public key lines and signatures from strangers: the first line is the key, the rest the signature.  Nothing can be
 * accepted but what is in the corpus, because the message is fixed. */
#include "fuzz.h"
#include "proof/sshsig.h"

#include "base/text.h"

void fuzz_one(const uint8_t *data, size_t size)
{
	AUTO(arena_done) struct arena a = { .limit_bytes = 64 << 20 };
	struct bytes rest = { data, size }, line = text_cut(&rest, '\n');
	struct ssh_key key = { 0 };
	struct sshsig_facts facts = { 0 };
	struct err e = { 0 };

	if (ssh_key_parse(&a, line, "line", &key, &e)) {
		if (key.blob.p || !e.code[0])
			__builtin_trap();
		/* The signature is read all the same, under a key that nothing was signed by. */
		key.blob = BYTES_LITERAL("none");
	}
	int rc = sshsig_verify(&a, &key, "helm-approval@v1", BYTES_LITERAL("message"), rest, &facts, &e);
	if (rc ? !e.code[0] || facts.counter || facts.is_verified : !key.blob.n)
		__builtin_trap();
}
