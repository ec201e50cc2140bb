/* sign.c — the only file that knows libsodium.
 *
 * libsodium's verification already refuses S >= L, a non-canonical or small-order A and a small-order R,
 * and it compares R as bytes with the canonical encoding of S*B - h*A, so a non-canonical R never matches.
 * What is missing is that A lies in the prime-order subgroup.  R then does too: it equals S*B - h*A, and B
 * is in the subgroup.
 *
 * The subgroup test is (L+1)*A == A, that is L*A == 0, by scalar multiplication, which refuses what is not
 * canonical or of small order.  The library's own test is not enough: before 1.0.20 it compares only one
 * coordinate of L*A and lets points with a component of order two pass. */
#include "proof/sign.h"

#include "base/err.h"

#include <sodium.h>
#include <string.h>

_Static_assert(SIGN_SEED == crypto_sign_SEEDBYTES && SIGN_PUBLIC == crypto_sign_PUBLICKEYBYTES &&
		SIGN_SECRET == crypto_sign_SECRETKEYBYTES && SIGN_SIZE == crypto_sign_BYTES,
	"sizes of Ed25519");

/* L + 1, where L is the order of the group, little endian. */
static const uint8_t order_plus_one[32] = { 0xee, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7,
	0xa2, 0xde, 0xf9, 0xde, 0x14, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10 };

/* Multiplying by L + 1 gives the point itself exactly when it lies in the subgroup of order L. */
bool sign_public_ok(const uint8_t pub[SIGN_PUBLIC])
{
	uint8_t again[SIGN_PUBLIC];

	return crypto_scalarmult_ed25519_noclamp(again, order_plus_one, pub) == 0 &&
		memcmp(again, pub, sizeof(again)) == 0;
}

/* A log is signed by one key or few: the last key found good is remembered, because the subgroup test
 * costs more than the verification itself. */
static bool is_known_good(const uint8_t pub[SIGN_PUBLIC])
{
	static _Thread_local uint8_t good[SIGN_PUBLIC];
	static _Thread_local bool has_good;

	if (has_good && memcmp(good, pub, sizeof(good)) == 0)
		return true;
	if (!sign_public_ok(pub))
		return false;
	memcpy(good, pub, sizeof(good));
	has_good = true;
	return true;
}

bool sign_verify(const uint8_t pub[SIGN_PUBLIC], struct bytes msg, const uint8_t sig[SIGN_SIZE])
{
	return is_known_good(pub) && crypto_sign_verify_detached(sig, msg.p, msg.n, pub) == 0;
}

void sign_expand(const uint8_t seed[SIGN_SEED], uint8_t secret[SIGN_SECRET], uint8_t pub[SIGN_PUBLIC])
{
	if (crypto_sign_seed_keypair(pub, secret, seed))
		BUG("Ed25519 key from seed");
}

void sign_message(const uint8_t secret[SIGN_SECRET], struct bytes msg, uint8_t sig[SIGN_SIZE])
{
	if (crypto_sign_detached(sig, NULL, msg.p, msg.n, secret))
		BUG("Ed25519 signature");
}

/* The caller learns in *ret_locked whether the memory stays out of swap; it is told to the user, not
 * refused, because small systems limit locked memory. */
void *secret_alloc(size_t n, bool *ret_locked)
{
	/* Only the guarded allocator needs it; calling it again is harmless. */
	if (sodium_init() < 0)
		return NULL;
	void *p = sodium_malloc(n);
	/* sodium_malloc locks, but does not say whether it could. */
	if (p)
		*ret_locked = sodium_mlock(p, n) == 0;
	return p;
}

/* A write to a sealed key is a fault of this program and ends it.  Where the system cannot protect the
 * page the key stays usable, so the result is ignored. */
void secret_seal(void *p)
{
	(void)sodium_mprotect_readonly(p);
}

void secret_free(void *p)
{
	sodium_free(p);
}

void secret_wipe(void *p, size_t n)
{
	sodium_memzero(p, n);
}
