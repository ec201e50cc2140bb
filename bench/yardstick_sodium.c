/* yardstick_sodium.c — Ed25519 verification as libsodium's documentation recommends it. */
#include "yardstick.h"

#include <sodium.h>

bool yardstick_sodium_verify(const uint8_t pub[32], struct bytes msg, const uint8_t sig[64])
{
	return crypto_sign_verify_detached(sig, msg.p, msg.n, pub) == 0;
}
