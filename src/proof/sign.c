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
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

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

void sha512(struct bytes msg, uint8_t ret[SHA512_SIZE])
{
	if (crypto_hash_sha512(ret, msg.p, msg.n))
		BUG("SHA-512");
}

/* ---- memory for secrets ----
 *
 * Not the library's own: that one must be started first, which asks the processor what it can do (a trap
 * into the hypervisor for each question, on a virtual machine) and the system for random numbers.  Nothing
 * else here needs the library to be started.
 *
 * A secret fits into one page.  It lies at the end of it, so that writing past it meets the guard page
 * behind; the page in front is a guard, too. */

static size_t page_size(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

static char *page_of(void *p)
{
	return (char *)p - (uintptr_t)p % page_size();
}

void box_seal(const uint8_t key[BOX_KEY], const uint8_t nonce[BOX_NONCE], struct bytes about,
	struct bytes message, uint8_t *ret)
{
	_Static_assert(BOX_KEY == crypto_aead_xchacha20poly1305_ietf_KEYBYTES &&
			BOX_NONCE == crypto_aead_xchacha20poly1305_ietf_NPUBBYTES &&
			BOX_TAG == crypto_aead_xchacha20poly1305_ietf_ABYTES,
		"sizes of the library");
	if (crypto_aead_xchacha20poly1305_ietf_encrypt(
		    ret, NULL, message.p, message.n, about.p, about.n, NULL, nonce, key))
		BUG("sealing does not fail");
}

bool box_open(const uint8_t key[BOX_KEY], const uint8_t nonce[BOX_NONCE], struct bytes about,
	struct bytes sealed, uint8_t *ret)
{
	return sealed.n >= BOX_TAG &&
		crypto_aead_xchacha20poly1305_ietf_decrypt(
			ret, NULL, NULL, sealed.p, sealed.n, about.p, about.n, nonce, key) == 0;
}

void box_derive(const uint8_t key[BOX_KEY], struct bytes name, uint8_t ret[BOX_KEY])
{
	if (crypto_generichash(ret, BOX_KEY, name.p, name.n, key, BOX_KEY))
		BUG("hashing does not fail");
}

/* The caller learns in *ret_locked whether the memory stays out of swap; it is told to the user, not
 * refused, because small systems limit locked memory.  Fresh pages are zero. */
void *secret_alloc(size_t n, bool *ret_locked)
{
	size_t page = page_size(), align = _Alignof(max_align_t);

	if (n > page)
		return NULL;
	char *guarded = mmap(NULL, 3 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (guarded == MAP_FAILED)
		return NULL;
	if (mprotect(guarded + page, page, PROT_READ | PROT_WRITE) ||
		madvise(guarded + page, page, MADV_DONTDUMP)) {
		munmap(guarded, 3 * page);
		return NULL;
	}
	*ret_locked = mlock(guarded + page, page) == 0;
	return guarded + page + (page - n) / align * align;
}

/* A write to a sealed key is a fault of this program and ends it.  Where the system cannot protect the
 * page the key stays usable, so the result is ignored. */
void secret_seal(void *p)
{
	(void)mprotect(page_of(p), page_size(), PROT_READ);
}

/* Unmapping also unlocks. */
void secret_free(void *p)
{
	size_t page = page_size();

	if (!p)
		return;
	if (mprotect(page_of(p), page, PROT_READ | PROT_WRITE) == 0)
		secret_wipe(page_of(p), page);
	munmap(page_of(p) - page, 3 * page);
}

void secret_wipe(void *p, size_t n)
{
	sodium_memzero(p, n);
}
