/* scan.h — find the byte of a string that needs attention, many bytes at a time.
 *
 * Reading and writing JSON is mostly walking over ordinary characters.  These two loops do that walk sixteen bytes at a
 * time with SSE2, which every x86-64 has, and eight at a time with plain integer arithmetic elsewhere; both give the
 * same answers (tests/unit/scan_test.c runs them against the obvious loops). */
#ifndef BASE_SCAN_H
#define BASE_SCAN_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#if defined(__SSE2__) && !defined(HELM_PORTABLE_SCAN)
#include <emmintrin.h>
#define SCAN_HAS_SSE2 1
#else
#define SCAN_HAS_SSE2 0
#endif

/* The reader may look this many bytes past the end of its text. */
enum { SCAN_PADDING = 32 };

#define SCAN_ONES 0x0101010101010101u
#define SCAN_HIGH 0x8080808080808080u

/* High bit set in (at least the first of) the bytes that are '"', '\\' or below 0x20.  Borrows can only set bits above a
 * byte that already matched, so the lowest set bit is exact. */
static inline uint64_t scan_special_word(uint64_t w)
{
	uint64_t quote = w ^ (SCAN_ONES * '"'), slash = w ^ (SCAN_ONES * '\\');

	return (((quote - SCAN_ONES) & ~quote) | ((slash - SCAN_ONES) & ~slash) |
		       ((w - SCAN_ONES * 0x20) & ~w)) &
		SCAN_HIGH;
}

static inline uint64_t scan_load(const char *p)
{
	uint64_t w;

	memcpy(&w, p, sizeof(w));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	w = __builtin_bswap64(w);
#endif
	return w;
}

#if SCAN_HAS_SSE2
static inline unsigned scan_special_16(__m128i v)
{
	__m128i quote = _mm_cmpeq_epi8(v, _mm_set1_epi8('"'));
	__m128i slash = _mm_cmpeq_epi8(v, _mm_set1_epi8('\\'));
	__m128i control = _mm_cmpeq_epi8(_mm_min_epu8(v, _mm_set1_epi8(0x1f)), v);

	return (unsigned)_mm_movemask_epi8(_mm_or_si128(_mm_or_si128(quote, slash), control));
}
#endif

/* The first byte from p on that is '"', '\\', below 0x20 or above 0x7f.  There must be one (the padding is zero), and
 * SCAN_PADDING readable bytes behind it. */
static inline char *scan_plain_ascii(char *p)
{
#if SCAN_HAS_SSE2
	for (;; p += 16) {
		__m128i v = _mm_loadu_si128((const __m128i *)p);
		unsigned hit = scan_special_16(v) | (unsigned)_mm_movemask_epi8(v);
		if (hit)
			return p + __builtin_ctz(hit);
	}
#else
	for (;; p += 8) {
		uint64_t w = scan_load(p);
		uint64_t hit = scan_special_word(w) | (w & SCAN_HIGH);
		if (hit)
			return p + __builtin_ctzll(hit) / 8;
	}
#endif
}

/* Four bytes as the low half of a word. */
static inline uint64_t scan_load4(const char *p)
{
	uint32_t w;

	memcpy(&w, p, sizeof(w));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	w = __builtin_bswap32(w);
#endif
	return w;
}

/* Whether none of the n bytes at p is '"', '\\' or below 0x20.  Reads nothing outside: the last step overlaps the one
 * before instead of passing the end. */
static inline bool scan_is_plain(const char *p, size_t n)
{
#if SCAN_HAS_SSE2
	if (n >= 16) {
		for (size_t i = 0; i + 16 < n; i += 16)
			if (scan_special_16(_mm_loadu_si128((const __m128i *)(p + i))))
				return false;
		return !scan_special_16(_mm_loadu_si128((const __m128i *)(p + n - 16)));
	}
#endif
	if (n >= 8) {
		for (size_t i = 0; i + 8 < n; i += 8)
			if (scan_special_word(scan_load(p + i)))
				return false;
		return !scan_special_word(scan_load(p + n - 8));
	}
	if (n >= 4)
		return !scan_special_word(scan_load4(p) | scan_load4(p + n - 4) << 32);
	for (size_t i = 0; i < n; i++)
		if ((uint8_t)p[i] < 0x20 || p[i] == '"' || p[i] == '\\')
			return false;
	return true;
}

/* How many of the n bytes at p can be written into a JSON string as they are; for strings that are not plain. */
static inline size_t scan_unescaped(const char *p, size_t n)
{
	size_t i = 0;

	for (; n - i >= 8; i += 8) {
		uint64_t hit = scan_special_word(scan_load(p + i));
		if (hit)
			return i + (size_t)__builtin_ctzll(hit) / 8;
	}
	for (; i < n; i++)
		if ((uint8_t)p[i] < 0x20 || p[i] == '"' || p[i] == '\\')
			return i;
	return n;
}

#endif
