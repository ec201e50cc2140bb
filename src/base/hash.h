/* hash.h — SHA-256 by the processor's own instructions where it has them, and the spellings of bytes as text. */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include "base/mem.h"

#include <stdbool.h>
#include <stdint.h>

enum { SHA256_SIZE = 32, SHA256_HEX = 65 };

void sha256(const void *p, size_t n, uint8_t out[SHA256_SIZE]);

/* Streaming.  The context is plain memory and may be copied. */
struct sha256 {
	uint64_t opaque[16];
};
void sha256_begin(struct sha256 *h);
void sha256_add(struct sha256 *h, const void *p, size_t n);
void sha256_end(struct sha256 *h, uint8_t out[SHA256_SIZE]);

/* Lower-case hex with final NUL; `out` has 2 * n + 1 bytes. */
void hex_encode(const uint8_t *p, size_t n, char *out);
/* Exactly 2 * n hex digits, upper or lower case (strict_lower refuses upper); false otherwise. */
bool hex_decode(const char *s, size_t len, uint8_t *out, size_t n, bool strict_lower);
/* sha256 of p as 64 hex digits; with "sha256:" in front for the second. */
char *sha256_hex(struct arena *a, const void *p, size_t n);
char *sha256_prefixed(struct arena *a, const void *p, size_t n);

/* Base64 of RFC 4648. */
enum base64_form { BASE64_STD, BASE64_URL };
char *base64_encode(struct arena *a, const uint8_t *p, size_t n, enum base64_form form, bool padded);
/* Strict: wrong alphabet, wrong padding, non-zero slack bits and white space are refused.  padded says whether '='
 * must be there (it must not be when false). */
bool base64_decode(
	struct arena *a, const char *s, size_t n, enum base64_form form, bool padded, struct bytes *ret);

#endif
