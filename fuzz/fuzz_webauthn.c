/* fuzz_webauthn.c — what a browser and an authenticator say, from strangers: the first line is the client's data, the rest what the authenticator made or
 * signed.  Nothing is accepted as signed, because nobody has the key. */
#include "fuzz.h"
#include "proof/webauthn.h"

#include "base/text.h"

void fuzz_one(const uint8_t *data, size_t size)
{
	AUTO(arena_done) struct arena a = { .limit_bytes = 64 << 20 };
	static const struct webauthn_wanted w = { .origin = "http://localhost:7714", .rp_id = "localhost" };
	static const struct webauthn_key key = { .algorithm = WEBAUTHN_ED25519, .x = { 1 } };
	struct bytes rest = { data, size }, client = text_cut(&rest, '\n');
	struct webauthn_made made = { 0 };
	struct err e = { 0 };
	uint32_t counter = 0;

	if (webauthn_register(&a, &w, client, rest, &made, &e)) {
		if (!e.code[0])
			__builtin_trap();
	} else if (!made.credential_id.n || made.credential_id.n > CREDENTIAL_LIMIT ||
		made.credential_id.p < rest.p ||
		made.credential_id.p + made.credential_id.n > rest.p + rest.n) {
		__builtin_trap();
	}
	size_t n = rest.n > 64 ? rest.n - 64 : 0;
	const struct webauthn_signed given = { client, { rest.p, n }, { rest.p + n, rest.n - n } };
	if (webauthn_check(&a, &w, &key, &given, NULL, &counter, &e) == OK || counter)
		__builtin_trap();
}
