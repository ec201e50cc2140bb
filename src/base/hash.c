/* hash.c — SHA-256, hex and base64.
 *
 * Of libcrypto only its low-level SHA-256 code is used. The EVP layer fetches providers at start, which
 * costs more than hashing a receipt, while these few functions pull in a handful of objects and choose the
 * processor's SHA instructions by themselves. They are marked deprecated only to steer applications to
 * EVP.
 *
 * The decoders are strict, because hashes and signatures are compared as text in many places: each value
 * has exactly one accepted spelling. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "base/hash.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>
#include <string.h>

#if defined(__x86_64__) && __GLIBC_PREREQ(2, 33)
#include <sys/platform/x86.h>

/* Which instructions its code may use, libcrypto asks the processor before main() starts.  Each question is
 * a trap into the hypervisor on a virtual machine, of some microseconds.  The C library has asked already
 * and tells for free.  So the table libcrypto reads, and the one other function its SHA-256 needs, are here;
 * the object file that asks is then not linked.  They are weak: a program that uses more of libcrypto gets
 * libcrypto's own, filled in before this runs.  An empty table is safe, too: it means the slowest code. */
__attribute__((weak)) uint32_t OPENSSL_ia32cap_P[16];

__attribute__((weak)) void OPENSSL_cleanse(void *p, size_t n)
{
	explicit_bzero(p, n);
}

__attribute__((constructor)) static void tell_libcrypto(void)
{
	uint32_t *may_use = OPENSSL_ia32cap_P;

	if (may_use[0] | may_use[1])
		return;
	/* Bits as CPUID gives them for leaf 1 (EDX, ECX) and leaf 7 (EBX); bit 30 of the first is
	 * libcrypto's own for "an Intel processor", and lets it choose AVX. */
	may_use[0] = CPU_FEATURE_ACTIVE(AVX) ? 1u << 30 : 0;
	may_use[1] = (CPU_FEATURE_ACTIVE(SSSE3) ? 1u << 9 : 0) | (CPU_FEATURE_ACTIVE(AVX) ? 1u << 28 : 0);
	may_use[2] = (CPU_FEATURE_ACTIVE(BMI1) ? 1u << 3 : 0) | (CPU_FEATURE_ACTIVE(AVX2) ? 1u << 5 : 0) |
		(CPU_FEATURE_ACTIVE(BMI2) ? 1u << 8 : 0) | (CPU_FEATURE_ACTIVE(SHA) ? 1u << 29 : 0);
}
#endif

_Static_assert(
	sizeof(SHA256_CTX) <= sizeof(struct sha256), "struct sha256 is too small for the library's context");
_Static_assert(
	_Alignof(SHA256_CTX) <= _Alignof(struct sha256), "struct sha256 is not aligned for the library");

static const char std_alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
static const char url_alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

void sha256_begin(struct sha256 *h)
{
	SHA256_Init((SHA256_CTX *)h->opaque);
}

void sha256_add(struct sha256 *h, const void *p, size_t n)
{
	SHA256_Update((SHA256_CTX *)h->opaque, p, n);
}

void sha256_end(struct sha256 *h, uint8_t out[SHA256_SIZE])
{
	SHA256_Final(out, (SHA256_CTX *)h->opaque);
}

void sha256(const void *p, size_t n, uint8_t out[SHA256_SIZE])
{
	struct sha256 h;

	sha256_begin(&h);
	sha256_add(&h, p, n);
	sha256_end(&h, out);
}

void hex_encode(const uint8_t *p, size_t n, char *out)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < n; i++) {
		out[2 * i] = digits[p[i] >> 4];
		out[2 * i + 1] = digits[p[i] & 15];
	}
	out[2 * n] = '\0';
}

/* The value of a hex digit, with flags beside it: DIGIT for every digit, UPPER for capital ones. A table
 * is used, because logs hold millions of hashes. */
enum { DIGIT = 0x10, UPPER = 0x20 };
/* clang-format off */
static const uint8_t hex_values[256] = {
	['0'] = DIGIT, DIGIT | 1, DIGIT | 2, DIGIT | 3, DIGIT | 4, DIGIT | 5, DIGIT | 6, DIGIT | 7, DIGIT | 8, DIGIT | 9,
	['a'] = DIGIT | 10, DIGIT | 11, DIGIT | 12, DIGIT | 13, DIGIT | 14, DIGIT | 15,
	['A'] = UPPER | DIGIT | 10, UPPER | DIGIT | 11, UPPER | DIGIT | 12, UPPER | DIGIT | 13, UPPER | DIGIT | 14,
		UPPER | DIGIT | 15,
};
/* clang-format on */

/* One pass gathers what all digits have in common and what any of them has; only then is anything written.
 * With strict_lower capital letters are refused, because one hash must have one spelling. */
bool hex_decode(const char *s, size_t len, uint8_t *out, size_t n, bool strict_lower)
{
	const uint8_t *p = (const uint8_t *)s;
	uint8_t all = DIGIT, any = 0;

	if (n > SIZE_MAX / 2 || len != 2 * n)
		return false;
	for (size_t i = 0; i < len; i++) {
		all &= hex_values[p[i]];
		any |= hex_values[p[i]];
	}
	if (!all || (strict_lower && (any & UPPER)))
		return false;
	for (size_t i = 0; i < n; i++)
		out[i] = (uint8_t)(hex_values[p[2 * i]] << 4 | (hex_values[p[2 * i + 1]] & 15));
	return true;
}

static char *digest_text(struct arena *a, const char *prefix, const void *p, size_t n)
{
	uint8_t digest[SHA256_SIZE];
	size_t skip = strlen(prefix);
	char *text = arena_text(a, skip + SHA256_HEX);

	sha256(p, n, digest);
	memcpy(text, prefix, skip);
	hex_encode(digest, sizeof(digest), text + skip);
	return text;
}

char *sha256_hex(struct arena *a, const void *p, size_t n)
{
	return digest_text(a, "", p, n);
}

char *sha256_prefixed(struct arena *a, const void *p, size_t n)
{
	return digest_text(a, "sha256:", p, n);
}

char *base64_encode(struct arena *a, const uint8_t *p, size_t n, enum base64_form form, bool padded)
{
	const char *alphabet = form == BASE64_URL ? url_alphabet : std_alphabet;
	char *text = arena_text(a, (n + 2) / 3 * 4 + 1);
	char *to = text;

	for (size_t i = 0; i < n; i += 3) {
		size_t left = n - i;
		uint32_t group = (uint32_t)p[i] << 16 | (left > 1 ? (uint32_t)p[i + 1] << 8 : 0) |
			(left > 2 ? p[i + 2] : 0);
		*to++ = alphabet[group >> 18];
		*to++ = alphabet[group >> 12 & 63];
		if (left > 1)
			*to++ = alphabet[group >> 6 & 63];
		if (left > 2)
			*to++ = alphabet[group & 63];
		for (size_t missing = left; padded && missing < 3; missing++)
			*to++ = '=';
	}
	*to = '\0';
	return text;
}

static int base64_value(char c, enum base64_form form)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	if (c == (form == BASE64_URL ? '-' : '+'))
		return 62;
	if (c == (form == BASE64_URL ? '_' : '/'))
		return 63;
	return -1;
}

/* How many of the n characters carry bits. With padding the length is a multiple of four and at most two
 * '=' end it; a single leftover character is never possible. */
static bool base64_body(const char *s, size_t n, bool padded, size_t *ret_body)
{
	size_t body = n;

	if (padded) {
		if (n % 4 != 0)
			return false;
		while (body > 0 && n - body < 2 && s[body - 1] == '=')
			body--;
	}
	*ret_body = body;
	return body % 4 != 1;
}

/* Strict: no white space, no missing or extra padding, and the unused bits of the last digit are zero. So
 * each value has one spelling. */
bool base64_decode(
	struct arena *a, const char *s, size_t n, enum base64_form form, bool padded, struct bytes *ret)
{
	size_t body;

	if (!base64_body(s, n, padded, &body))
		return false;
	uint8_t *to = arena_alloc(a, body / 4 * 3 + 3);
	size_t count = 0;
	uint32_t group = 0;
	for (size_t i = 0; i < body; i++) {
		int value = base64_value(s[i], form);
		if (value < 0)
			return false;
		group = group << 6 | (uint32_t)value;
		/* After 2, 3 and 4 digits of a group one more byte is complete. The bits below it belong
		 * to the next byte, or must be zero at the end. */
		if (i % 4 != 0)
			to[count++] = (uint8_t)(group >> (6 - 2 * (i % 4)));
	}
	uint32_t slack = body % 4 == 2 ? 15u : body % 4 == 3 ? 3u : 0u;
	if (group & slack)
		return false;
	*ret = (struct bytes){ to, count };
	return true;
}
