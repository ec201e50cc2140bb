/* ssh_sign.h — signatures as OpenSSH and a hardware authenticator make them, by a seed that the test knows: every part can be made
 * wrong alone. */
#ifndef TOOLS_SSH_SIGN_H
#define TOOLS_SSH_SIGN_H

#include "base/hash.h"
#include "base/text.h"
#include "proof/sign.h"
#include "proof/sshsig.h"

#include <stdio.h>
#include <string.h>

struct ssh_signer {
	bool is_sk;
	uint8_t seed; /* every byte of the secret */
	const char *type, *application; /* NULL: as it should be */
	uint8_t flags;
	uint32_t counter, version; /* version 0: as it should be */
	const char *name_space, *reserved, *hash; /* reserved and hash NULL: as they should be */
	const char *magic; /* NULL: as it should be */
};

static inline void ssh_put(struct buf *to, const void *p, size_t n)
{
	for (int shift = 24; shift >= 0; shift -= 8)
		buf_addc(to, (char)(n >> shift));
	buf_add(to, p, n);
}

static inline const char *ssh_type(const struct ssh_signer *s)
{
	return s->type ? s->type : s->is_sk ? "sk-ssh-ed25519@openssh.com" : "ssh-ed25519";
}

static inline void ssh_expand(
	const struct ssh_signer *s, uint8_t secret[SIGN_SECRET], uint8_t pub[SIGN_PUBLIC])
{
	uint8_t seed[SIGN_SEED];

	memset(seed, s->seed, sizeof(seed));
	sign_expand(seed, secret, pub);
}

static inline struct bytes ssh_blob(struct arena *a, const struct ssh_signer *s)
{
	uint8_t secret[SIGN_SECRET], pub[SIGN_PUBLIC];
	const char *application = s->application ? s->application : "ssh:";
	struct buf b;

	ssh_expand(s, secret, pub);
	buf_init(&b, a);
	ssh_put(&b, ssh_type(s), strlen(ssh_type(s)));
	ssh_put(&b, pub, sizeof(pub));
	if (s->is_sk)
		ssh_put(&b, application, strlen(application));
	return buf_bytes(&b);
}

static inline char *ssh_line(struct arena *a, const struct ssh_signer *s)
{
	struct bytes blob = ssh_blob(a, s);

	return arena_printf(a, "%s %s somebody@example\n", ssh_type(s),
		base64_encode(a, blob.p, blob.n, BASE64_STD, true));
}

static inline char *ssh_armour(struct arena *a, struct bytes blob)
{
	char *text = base64_encode(a, blob.p, blob.n, BASE64_STD, true);
	struct buf b;

	buf_init(&b, a);
	buf_adds(&b, "-----BEGIN SSH SIGNATURE-----\n");
	for (size_t n = strlen(text), i = 0; i < n; i += 70)
		buf_addf(&b, "%.70s\n", text + i);
	buf_adds(&b, "-----END SSH SIGNATURE-----\n");
	return b.p;
}

/* The whole file, not yet armoured. */
static inline struct bytes ssh_sign_blob(struct arena *a, const struct ssh_signer *s, struct bytes message)
{
	const char *hash = s->hash ? s->hash : "sha512", *reserved = s->reserved ? s->reserved : "";
	const char *application = s->application ? s->application : "ssh:";
	uint8_t secret[SIGN_SECRET], pub[SIGN_PUBLIC], digest[SHA512_SIZE], signature[SIGN_SIZE];
	struct buf frame, signing, whole, out;
	struct bytes blob = ssh_blob(a, s);
	const uint8_t counter[] = { (uint8_t)(s->counter >> 24), (uint8_t)(s->counter >> 16),
		(uint8_t)(s->counter >> 8), (uint8_t)s->counter };
	const uint8_t version[] = { 0, 0, 0, (uint8_t)(s->version ? s->version : 1) };
	size_t digest_n = text_eq(hash, "sha256") ? SHA256_SIZE : SHA512_SIZE;

	if (digest_n == SHA256_SIZE)
		sha256(message.p, message.n, digest);
	else
		sha512(message, digest);
	buf_init(&frame, a);
	buf_adds(&frame, "SSHSIG");
	ssh_put(&frame, s->name_space, strlen(s->name_space));
	ssh_put(&frame, reserved, strlen(reserved));
	ssh_put(&frame, hash, strlen(hash));
	ssh_put(&frame, digest, digest_n);
	signing = frame;
	if (s->is_sk) {
		buf_init(&signing, a);
		sha256(application, strlen(application), digest);
		buf_add(&signing, digest, SHA256_SIZE);
		buf_addc(&signing, (char)s->flags);
		buf_add(&signing, counter, sizeof(counter));
		sha256(frame.p, frame.n, digest);
		buf_add(&signing, digest, SHA256_SIZE);
	}
	ssh_expand(s, secret, pub);
	sign_message(secret, buf_bytes(&signing), signature);
	buf_init(&whole, a);
	ssh_put(&whole, ssh_type(s), strlen(ssh_type(s)));
	ssh_put(&whole, signature, sizeof(signature));
	if (s->is_sk) {
		buf_addc(&whole, (char)s->flags);
		buf_add(&whole, counter, sizeof(counter));
	}
	buf_init(&out, a);
	buf_adds(&out, s->magic ? s->magic : "SSHSIG");
	buf_add(&out, version, sizeof(version));
	ssh_put(&out, blob.p, blob.n);
	ssh_put(&out, s->name_space, strlen(s->name_space));
	ssh_put(&out, reserved, strlen(reserved));
	ssh_put(&out, hash, strlen(hash));
	ssh_put(&out, whole.p, whole.n);
	return buf_bytes(&out);
}

#endif
