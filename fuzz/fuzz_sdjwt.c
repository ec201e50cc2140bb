/* fuzz_sdjwt.c — presentations from strangers.  With the issuer's key replaced by a fixed one nothing can be accepted but
 * what is in the corpus. */
#include "fuzz.h"
#include "proof/sdjwt.h"

/* The demo key of docs/formats/sd-jwt.md. */
static const uint8_t issuer[SIGN_PUBLIC] = { 0x19, 0x7f, 0x6b, 0x23, 0xe1, 0x6c, 0x85, 0x32, 0xc6, 0xab, 0xc8,
	0x38, 0xfa, 0xcd, 0x5e, 0xa7, 0x89, 0xbe, 0x0c, 0x76, 0xb2, 0x92, 0x03, 0x34, 0x03, 0x9b, 0xfa, 0x8b,
	0x3d, 0x36, 0x8d, 0x61 };

void fuzz_one(const uint8_t *data, size_t size)
{
	AUTO(arena_done) struct arena a = { .limit_bytes = 64 << 20 };
	struct json *claims = NULL;
	struct err e = { 0 };
	int rc = sdjwt_verify(&a, (struct bytes){ data, size }, issuer, &claims, &e);

	if (rc ? claims != NULL || !e.code[0] : !json_is(claims, JSON_OBJECT) || json_get(claims, "_sd"))
		__builtin_trap();
}
