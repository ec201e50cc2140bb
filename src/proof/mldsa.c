/* mldsa.c — ML-DSA-65 verification after FIPS 204; see mldsa.h.
 *
 * The signature (c~, z, h) is accepted when c~ is the hash of the message and of w1 = UseHint(h, A*z -
 * c*t1*2^13), and z is short.  Polynomials have 256 coefficients modulo q; products are taken in the
 * transformed domain (NTT).  Everything handled is public, so the code is written to be read, not to run
 * in constant time. */
#include "proof/mldsa.h"

#include <string.h>

enum {
	/* Parameters of ML-DSA-65: ROWS and COLUMNS are k and l, CHALLENGE is the length of c~, GAMMA1,
	 * GAMMA2 and BETA are the bounds on z and on the rounding.  Z_BYTES and T1_BYTES are lengths of
	 * one packed polynomial. */
	N = 256,
	Q = 8380417,
	ROWS = 6,
	COLUMNS = 5,
	TAU = 49, /* coefficients of c that are not zero */
	OMEGA = 55, /* hints at most */
	GAMMA1 = 1 << 19,
	GAMMA2 = (Q - 1) / 32,
	BETA = 196,
	CHALLENGE = 48,
	Z_BYTES = 640,
	T1_BYTES = 320
};

/* Keccak. */

struct shake {
	uint64_t lanes[25];
	size_t rate, at; /* bytes per block, position in it */
};

/* 0 < n < 64 */
static uint64_t rotate(uint64_t x, unsigned n)
{
	return x << n | x >> (64 - n);
}

/* Keccak-f[1600] in the compact form: theta, then rho and pi in one walk over the lanes, then chi per row,
 * then iota.  The round constants come from a shift register and the rotations from the number of steps
 * walked, so that there are no tables that could be mistyped. */
static void permute(uint64_t s[25])
{
	uint8_t lfsr = 1;

	for (int round = 0; round < 24; round++) {
		uint64_t c[5], last = s[1];
		unsigned x = 1, y = 0;
		for (int i = 0; i < 5; i++)
			c[i] = s[i] ^ s[i + 5] ^ s[i + 10] ^ s[i + 15] ^ s[i + 20];
		for (int i = 0; i < 25; i++)
			s[i] ^= c[(i + 4) % 5] ^ rotate(c[(i + 1) % 5], 1);
		last = s[1];
		for (unsigned t = 0; t < 24; t++) {
			unsigned next = (2 * x + 3 * y) % 5;
			x = y;
			y = next;
			uint64_t kept = s[x + 5 * y];
			s[x + 5 * y] = rotate(last, (t + 1) * (t + 2) / 2 % 64);
			last = kept;
		}
		for (int row = 0; row < 25; row += 5) {
			memcpy(c, s + row, sizeof(c));
			for (int i = 0; i < 5; i++)
				s[row + i] = c[i] ^ (~c[(i + 1) % 5] & c[(i + 2) % 5]);
		}
		for (unsigned j = 0; j < 7; j++) {
			if (lfsr & 1)
				s[0] ^= UINT64_C(1) << ((1u << j) - 1);
			lfsr = (uint8_t)(lfsr << 1 ^ (lfsr & 0x80 ? 0x71 : 0));
		}
	}
}

/* Lanes are little endian; this works on any machine. */
static void xor_byte(struct shake *h, size_t at, uint8_t b)
{
	h->lanes[at / 8] ^= (uint64_t)b << (8 * (at % 8));
}

/* `bits` is 128 or 256, the security level; the capacity is twice that. */
static void shake_begin(struct shake *h, int bits)
{
	*h = (struct shake){ .rate = (size_t)(200 - bits / 4) };
}

/* Only before shake_turn. */
static void shake_add(struct shake *h, const void *p, size_t n)
{
	const uint8_t *from = p;

	for (size_t i = 0; i < n; i++) {
		xor_byte(h, h->at++, from[i]);
		if (h->at == h->rate) {
			permute(h->lanes);
			h->at = 0;
		}
	}
}

/* Pads and switches from absorbing to reading; 0x1f is the mark of SHAKE. */
static void shake_turn(struct shake *h)
{
	xor_byte(h, h->at, 0x1f);
	xor_byte(h, h->rate - 1, 0x80);
	permute(h->lanes);
	h->at = 0;
}

static uint8_t shake_byte(struct shake *h)
{
	if (h->at == h->rate) {
		permute(h->lanes);
		h->at = 0;
	}
	uint8_t b = (uint8_t)(h->lanes[h->at / 8] >> (8 * (h->at % 8)));
	h->at++;
	return b;
}

static void shake_read(struct shake *h, uint8_t *to, size_t n)
{
	for (size_t i = 0; i < n; i++)
		to[i] = shake_byte(h);
}

/* Polynomials, coefficients 0..q-1. */

struct poly {
	int32_t c[N];
};

/* The representative from 0 to q-1, also for negative numbers. */
static int32_t reduce(int64_t x)
{
	int64_t r = x % Q;

	return (int32_t)(r < 0 ? r + Q : r);
}

/* Powers of the root 1753 in bit-reversed order. */
static void roots(int32_t zetas[N])
{
	int32_t power[N];

	power[0] = 1;
	for (int i = 1; i < N; i++)
		power[i] = reduce((int64_t)power[i - 1] * 1753);
	for (unsigned i = 0; i < N; i++) {
		unsigned r = 0;
		for (unsigned b = 0; b < 8; b++)
			r |= (i >> b & 1) << (7 - b);
		zetas[i] = power[r];
	}
}

/* Butterflies from wide to narrow.  Products of two transformed polynomials are taken coefficient by
 * coefficient. */
static void ntt(struct poly *p, const int32_t zetas[N])
{
	int m = 0;

	for (int len = N / 2; len >= 1; len /= 2)
		for (int start = 0; start < N; start += 2 * len) {
			int32_t z = zetas[++m];
			for (int j = start; j < start + len; j++) {
				int32_t t = reduce((int64_t)z * p->c[j + len]);
				p->c[j + len] = reduce((int64_t)p->c[j] - t);
				p->c[j] = reduce((int64_t)p->c[j] + t);
			}
		}
}

/* The same butterflies backwards, with the roots negated, and the factor of 256 taken out at the end. */
static void inverse_ntt(struct poly *p, const int32_t zetas[N])
{
	int m = N;

	for (int len = 1; len < N; len *= 2)
		for (int start = 0; start < N; start += 2 * len) {
			int32_t z = Q - zetas[--m];
			for (int j = start; j < start + len; j++) {
				int32_t t = p->c[j];
				p->c[j] = reduce((int64_t)t + p->c[j + len]);
				p->c[j + len] = reduce((int64_t)z * reduce((int64_t)t - p->c[j + len]));
			}
		}
	for (int i = 0; i < N; i++)
		p->c[i] = reduce((int64_t)p->c[i] * 8347681); /* 1/256 */
}

/* Entry (row, column) of the matrix that the public key's seed stands for.  It is already in the
 * transformed domain.  Three bytes give 23 bits; values of q or more are thrown away, so that all others
 * are equally likely. */
static void expand_a(const uint8_t seed[32], uint8_t row, uint8_t column, struct poly *to)
{
	struct shake h;

	shake_begin(&h, 128);
	shake_add(&h, seed, 32);
	shake_add(&h, &column, 1);
	shake_add(&h, &row, 1);
	shake_turn(&h);
	for (int i = 0; i < N;) {
		uint8_t b[3];
		shake_read(&h, b, sizeof(b));
		int32_t x = b[0] | b[1] << 8 | (b[2] & 0x7f) << 16;
		if (x < Q)
			to->c[i++] = x;
	}
}

/* The challenge polynomial: TAU coefficients of +-1 and the others 0, by a shuffle that draws positions
 * from the hash. */
static void sample_in_ball(const uint8_t seed[CHALLENGE], struct poly *to)
{
	struct shake h;
	uint8_t signs[8];

	shake_begin(&h, 256);
	shake_add(&h, seed, CHALLENGE);
	shake_turn(&h);
	shake_read(&h, signs, sizeof(signs));
	memset(to, 0, sizeof(*to));
	for (int i = N - TAU; i < N; i++) {
		int bit = i + TAU - N, j;
		do
			j = shake_byte(&h);
		while (j > i);
		to->c[i] = to->c[j];
		to->c[j] = signs[bit / 8] >> (bit % 8) & 1 ? Q - 1 : 1;
	}
}

/* The i-th number of `bits` bits, least significant first. */
static uint32_t bits_at(const uint8_t *p, size_t i, unsigned bits)
{
	uint32_t x = 0;

	for (unsigned b = 0; b < bits; b++) {
		size_t at = i * bits + b;
		x |= (uint32_t)(p[at / 8] >> (at % 8) & 1) << b;
	}
	return x;
}

/* False when a coefficient is too large to come from an honest signer.  This bound is what makes forging
 * hard; it is not a matter of form. */
static bool unpack_z(const uint8_t *p, struct poly *to)
{
	for (size_t i = 0; i < N; i++) {
		int32_t x = GAMMA1 - (int32_t)bits_at(p, i, 20);
		if (x >= GAMMA1 - BETA || x <= -(GAMMA1 - BETA))
			return false;
		to->c[i] = reduce(x);
	}
	return true;
}

/* The public key holds only the high bits of t; they are put back in their place (times 2^13). */
static void unpack_t1(const uint8_t *p, struct poly *to)
{
	for (size_t i = 0; i < N; i++)
		to->c[i] = reduce((int64_t)bits_at(p, i, 10) << 13);
}

/* Positions in increasing order per row, unused places zero.  Any other encoding is refused, so that a
 * signature cannot be changed into another valid one of the same message. */
static bool unpack_hints(const uint8_t *y, bool hints[ROWS][N])
{
	int at = 0;

	memset(hints, 0, sizeof(bool[ROWS][N]));
	for (int row = 0; row < ROWS; row++) {
		int first = at, end = y[OMEGA + row];
		if (end < at || end > OMEGA)
			return false;
		for (; at < end; at++) {
			if (at > first && y[at - 1] >= y[at])
				return false;
			hints[row][y[at]] = true;
		}
	}
	for (; at < OMEGA; at++)
		if (y[at] != 0)
			return false;
	return true;
}

/* The high bits of r, moved by one where the signer left a hint: the verifier knows t only roughly, and
 * the hints correct what that error changed.  r - low == q - 1 is the wrap-around of the rounding and
 * counts as 0. */
static int32_t use_hint(bool hint, int32_t r)
{
	int32_t low = r % (2 * GAMMA2), high;

	if (low > GAMMA2)
		low -= 2 * GAMMA2;
	if (r - low == Q - 1) {
		high = 0;
		low--;
	} else {
		high = (r - low) / (2 * GAMMA2);
	}
	if (!hint)
		return high;
	return low > 0 ? (high + 1) % 16 : (high + 15) % 16;
}

/* mu of the standard: the message bound to the hash of the public key.  The two zero bytes say "pure,
 * empty context". */
static void message_digest(const uint8_t *pub, struct bytes msg, uint8_t ret[64])
{
	static const uint8_t empty_context[2] = { 0, 0 };
	uint8_t key_hash[64];
	struct shake h;

	shake_begin(&h, 256);
	shake_add(&h, pub, MLDSA_PUBLIC);
	shake_turn(&h);
	shake_read(&h, key_hash, sizeof(key_hash));
	shake_begin(&h, 256);
	shake_add(&h, key_hash, sizeof(key_hash));
	shake_add(&h, empty_context, sizeof(empty_context));
	shake_add(&h, msg.p, msg.n);
	shake_turn(&h);
	shake_read(&h, ret, 64);
}

/* One row of A*z - c*t1*2^13, then its high bits, four to a coefficient.  Row by row, so that the matrix
 * is never held as a whole. */
static void commitment_row(const uint8_t *pub, uint8_t row, const struct poly z[COLUMNS],
	const struct poly *c, const bool hints[N], const int32_t zetas[N], uint8_t ret[N / 2])
{
	struct poly sum = { { 0 } }, t1, entry;

	for (uint8_t column = 0; column < COLUMNS; column++) {
		expand_a(pub, row, column, &entry);
		for (int i = 0; i < N; i++)
			sum.c[i] = reduce(sum.c[i] + (int64_t)entry.c[i] * z[column].c[i]);
	}
	unpack_t1(pub + 32 + row * T1_BYTES, &t1);
	ntt(&t1, zetas);
	for (int i = 0; i < N; i++)
		sum.c[i] = reduce(sum.c[i] - (int64_t)c->c[i] * t1.c[i]);
	inverse_ntt(&sum, zetas);
	for (int i = 0; i < N; i += 2)
		ret[i / 2] =
			(uint8_t)(use_hint(hints[i], sum.c[i]) | use_hint(hints[i + 1], sum.c[i + 1]) << 4);
}

/* Form and bounds are judged before anything expensive is computed.  Accepted only when the challenge
 * computed from the recovered commitment is the one in the signature. */
bool mldsa_verify(const uint8_t pub[MLDSA_PUBLIC], struct bytes msg, const uint8_t sig[MLDSA_SIGNATURE])
{
	uint8_t digest[64], row_bits[N / 2], again[CHALLENGE];
	bool hints[ROWS][N];
	struct poly z[COLUMNS], c;
	int32_t zetas[N];
	struct shake h;

	if (!unpack_hints(sig + CHALLENGE + COLUMNS * Z_BYTES, hints))
		return false;
	roots(zetas);
	for (int i = 0; i < COLUMNS; i++) {
		if (!unpack_z(sig + CHALLENGE + i * Z_BYTES, &z[i]))
			return false;
		ntt(&z[i], zetas);
	}
	sample_in_ball(sig, &c);
	ntt(&c, zetas);
	message_digest(pub, msg, digest);
	shake_begin(&h, 256);
	shake_add(&h, digest, sizeof(digest));
	for (uint8_t row = 0; row < ROWS; row++) {
		commitment_row(pub, row, z, &c, hints[row], zetas, row_bits);
		shake_add(&h, row_bits, sizeof(row_bits));
	}
	shake_turn(&h);
	shake_read(&h, again, sizeof(again));
	return memcmp(again, sig, CHALLENGE) == 0;
}
