/* sign_tool.c — our signatures at a shell test's hand: nothing the shipped program offers.
 *
 *   sign_tool sign SEED_HEX <message        prints public key and signature, in hex, on two lines
 *   sign_tool verify PUBLIC_HEX SIGNATURE_HEX <message     exit 0 when valid, 1 when not */
#include "base/file.h"
#include "base/hash.h"
#include "proof/sign.h"

#include <stdio.h>

static int usage(void)
{
	fputs("usage: sign_tool sign SEED_HEX | verify PUBLIC_HEX SIGNATURE_HEX\n", stderr);
	return 2;
}

static bool from_hex(const char *hex, uint8_t *to, size_t n)
{
	return hex_decode(hex, strlen(hex), to, n, false);
}

int main(int argc, char **argv)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct err e = { 0 };
	struct bytes msg;
	uint8_t seed[SIGN_SEED], secret[SIGN_SECRET], pub[SIGN_PUBLIC], sig[SIGN_SIZE];
	char hex[2 * SIGN_SIZE + 1];

	if (file_read(sys_real(), &a, -1, "-", 1 << 20, FILE_FOLLOW, &msg, &e)) {
		fprintf(stderr, "%s\n", e.text);
		return 2;
	}
	if (argc == 3 && strcmp(argv[1], "sign") == 0 && from_hex(argv[2], seed, sizeof(seed))) {
		sign_expand(seed, secret, pub);
		sign_message(secret, msg, sig);
		hex_encode(pub, sizeof(pub), hex);
		puts(hex);
		hex_encode(sig, sizeof(sig), hex);
		puts(hex);
		return 0;
	}
	if (argc == 4 && strcmp(argv[1], "verify") == 0 && from_hex(argv[2], pub, sizeof(pub)) &&
		from_hex(argv[3], sig, sizeof(sig)))
		return sign_verify(pub, msg, sig) ? 0 : 1;
	return usage();
}
