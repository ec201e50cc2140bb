/* trust.c — whether a policy may be used: not revoked, signed by somebody who is trusted, not older than what is in use, and verified not too long ago. */
#include "base/hash.h"
#include "decide/bundle/parts.h"
#include "proof/key.h"

#include <string.h>

static const char prefix[] = POLICY_DOMAIN;

struct bytes policy_signed_bytes(struct arena *a, const struct json *document)
{
	return document_signed_bytes(a, prefix, document);
}

struct bytes document_signed_bytes(struct arena *a, const char *domain, const struct json *document)
{
	struct json *bare = json_copy(a, document);
	struct buf b;

	(void)json_remove(bare, "signature");
	buf_init(&b, a);
	buf_adds(&b, domain);
	json_canonical(&b, bare);
	return buf_bytes(&b);
}

struct json *policy_signed(struct arena *a, const struct json *document, const uint8_t pub[SIGN_PUBLIC],
	const uint8_t sig[SIGN_SIZE])
{
	struct json *made = json_copy(a, document), *signature = json_new(a, JSON_OBJECT);
	char id[KEY_ID], hex[2 * SIGN_SIZE + 1];

	key_id(pub, id);
	hex_encode(sig, SIGN_SIZE, hex);
	json_sets(a, signature, "algorithm", "ed25519");
	json_sets(a, signature, "key", id);
	json_sets(a, signature, "value", hex);
	json_set(a, made, "signature", signature);
	return made;
}

static bool is_listed(const struct json *list, const char *hash)
{
	const char *bare = text_starts(hash, "sha256:") ? hash + strlen("sha256:") : hash;

	json_each (row, list) {
		const char *text = json_text(row) ? json_text(row) : json_get_text(row, "hash", "");
		if (text_eq(text_starts(text, "sha256:") ? text + strlen("sha256:") : text, bare))
			return true;
	}
	return false;
}

static int check_revoked(struct arena *a, const struct json *document, const char *content_hash,
	const struct policy_trust *t, struct err *e)
{
	struct json *bare = json_copy(a, document);

	(void)json_remove(bare, "signature");
	const char *digest = json_sha256(a, bare);
	if (is_listed(t->revoked, digest) || (content_hash && is_listed(t->revoked, content_hash)))
		return err_set(e, E_DENIED, "POLICY_REVOKED",
			"policy %s is on the list of revoked policies; use another one", digest);
	return OK;
}

static bool is_root(const struct policy_trust *t, const char *key)
{
	for (size_t i = 0; i < t->key_count; i++)
		if (text_eq(t->keys[i], key))
			return true;
	return false;
}

bool document_is_signed(struct arena *a, const char *domain, const struct json *document)
{
	const struct json *s = json_get(document, "signature");
	const char *key = json_get_text(s, "key", ""), *value = json_get_text(s, "value", "");
	uint8_t pub[SIGN_PUBLIC], sig[SIGN_SIZE];
	struct err why;

	return text_eq(json_get_text(s, "algorithm", ""), "ed25519") &&
		key_parse_public(bytes_of(key), "signature", pub, &why) == OK &&
		hex_decode(value, strlen(value), sig, SIGN_SIZE, true) &&
		sign_verify(pub, document_signed_bytes(a, domain, document), sig);
}

/* Present but not verifiable is worse than absent: never used, whatever is required. */
static int check_signature(
	struct arena *a, const struct json *document, const struct policy_trust *t, struct err *e)
{
	const struct json *s = json_get(document, "signature");
	const char *key = json_get_text(s, "key", "");

	if (!s)
		return t->must_be_signed ? err_set(e, E_DENIED, "POLICY_SIGNATURE_INVALID",
						   "the policy is not signed; 'helm policy sign' signs it")
					 : OK;
	if (!text_eq(json_get_text(s, "algorithm", ""), "ed25519"))
		return err_set(e, E_DENIED, "POLICY_SIGNATURE_INVALID",
			"the policy is signed by an algorithm that is not known here");
	if (!document_is_signed(a, prefix, document))
		return err_set(e, E_DENIED, "POLICY_SIGNATURE_INVALID",
			"the policy's signature is not one of its bytes by key %s; have it signed again",
			key);
	if (!is_root(t, key))
		return err_set(e, E_DENIED, "POLICY_SIGNATURE_INVALID",
			"the policy is signed by %s, which is no trust root here", key);
	return OK;
}

int policy_trust_check(struct arena *a, const struct json *document, const char *content_hash,
	const struct policy_trust *t, struct err *e)
{
	int64_t epoch =
		json_get_int(document, "epoch", json_get_int(json_get(document, "metadata"), "epoch", 0));

	if (check_revoked(a, document, content_hash, t, e) || check_signature(a, document, t, e))
		return e->rc;
	if (epoch < 0 || (uint64_t)epoch < t->least_epoch)
		return err_set(e, E_DENIED, "POLICY_EPOCH_CHANGED",
			"the policy has epoch %lld, and one of epoch %llu is in use; raise its epoch to replace that",
			(long long)epoch, (unsigned long long)t->least_epoch);
	if (t->fresh_us && (t->now_us < t->verified_us || t->now_us - t->verified_us > t->fresh_us))
		return err_set(e, E_DENIED, "POLICY_NOT_READY",
			"the policy was verified too long ago; verify it again");
	return OK;
}
