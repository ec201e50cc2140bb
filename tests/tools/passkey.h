/* passkey.h — for tests: an authenticator with an Ed25519 key, which says whatever it is told to. */
#ifndef TESTS_TOOLS_PASSKEY_H
#define TESTS_TOOLS_PASSKEY_H

#include "base/hash.h"
#include "base/text.h"
#include "proof/sign.h"
#include "proof/webauthn.h"

#include <string.h>

struct authenticator_says {
	const char *type, *origin, *rp_id, *more; /* more: further members of the client's data */
	uint8_t challenge[SHA256_SIZE];
	uint8_t flags;
	uint32_t counter;
	const char *tail; /* behind the head, or NULL */
	size_t tail_n;
};

static struct bytes passkey_client(struct arena *a, const struct authenticator_says *s)
{
	return bytes_of(arena_printf(a, "{\"type\":\"%s\",\"challenge\":\"%s\",\"origin\":\"%s\"%s}", s->type,
		base64_encode(a, s->challenge, SHA256_SIZE, BASE64_URL, false), s->origin,
		s->more ? s->more : ""));
}

static struct bytes passkey_data(struct arena *a, const struct authenticator_says *s)
{
	struct buf b;
	uint8_t rp[SHA256_SIZE];

	buf_init(&b, a);
	sha256(s->rp_id, strlen(s->rp_id), rp);
	buf_add(&b, rp, sizeof(rp));
	buf_addc(&b, (char)s->flags);
	for (int i = 24; i >= 0; i -= 8)
		buf_addc(&b, (char)(s->counter >> i));
	if (s->tail)
		buf_add(&b, s->tail, s->tail_n);
	return buf_bytes(&b);
}

static void passkey_secret(uint8_t n, uint8_t secret[SIGN_SECRET], uint8_t pub[SIGN_PUBLIC])
{
	uint8_t seed[SIGN_SEED];

	memset(seed, n, sizeof(seed));
	sign_expand(seed, secret, pub);
}

static struct webauthn_signed passkey_sign(struct arena *a, uint8_t n, const struct authenticator_says *s)
{
	uint8_t secret[SIGN_SECRET], pub[SIGN_PUBLIC], digest[SHA256_SIZE];
	uint8_t *sig = arena_alloc(a, SIGN_SIZE);
	struct webauthn_signed out = { .client_data = passkey_client(a, s),
		.authenticator_data = passkey_data(a, s) };
	struct buf b;

	passkey_secret(n, secret, pub);
	sha256(out.client_data.p, out.client_data.n, digest);
	buf_init(&b, a);
	buf_add(&b, out.authenticator_data.p, out.authenticator_data.n);
	buf_add(&b, digest, sizeof(digest));
	sign_message(secret, buf_bytes(&b), sig);
	out.signature = (struct bytes){ sig, SIGN_SIZE };
	return out;
}

#endif
