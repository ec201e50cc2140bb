/* hybrid.c — receipts signed twice: Ed25519 and ML-DSA-65 over the same preimage.
 *
 * The envelope is "hybrid:", 128 hex digits, ":", and 6618 hex digits, split by position.  Both halves
 * must verify, under two keys of one signer; one half alone counts for nothing, and a key that lacks its
 * post-quantum half is no key here. */
#include "proof/mldsa.h"
#include "verify/parts.h"
#include "verify/receipt.h"

#include <string.h>

enum { PREFIX = 7, ED_HEX = 2 * SIGNATURE_SIZE, ENVELOPE = PREFIX + ED_HEX + 1 + 2 * MLDSA_SIGNATURE };

struct halves {
	uint8_t ed[SIGNATURE_SIZE];
	uint8_t ml[MLDSA_SIGNATURE];
};

/* By position, since both lengths are fixed; lower case only. */
static bool split(const char *text, struct halves *ret)
{
	return strlen(text) == ENVELOPE && text[PREFIX + ED_HEX] == ':' &&
		hex_decode(text + PREFIX, ED_HEX, ret->ed, sizeof(ret->ed), true) &&
		hex_decode(text + PREFIX + ED_HEX + 1, 2 * MLDSA_SIGNATURE, ret->ml, sizeof(ret->ml), true);
}

/* The cheap signature first. */
static bool both_verify(
	const uint8_t *ed_key, const uint8_t *ml_key, struct bytes message, const struct halves *h)
{
	return verify_ed25519(ed_key, message, h->ed) && mldsa_verify(ml_key, message, h->ml);
}

/* Both keys the receipt carries. */
static bool declared_keys(struct arena *a, const struct json *receipt, uint8_t ed[KEY_SIZE], uint8_t **ret_ml)
{
	const struct json *set = json_get(receipt, "public_key_set");
	const char *ml = member_text(set, "ml-dsa-65");

	*ret_ml = arena_alloc(a, MLDSA_PUBLIC);
	return trust_parse_key(member_text(set, "ed25519"), ed) &&
		hex_decode(ml, strlen(ml), *ret_ml, MLDSA_PUBLIC, false);
}

static char *hex_of(struct arena *a, const uint8_t key[KEY_SIZE])
{
	char *text = arena_text(a, 2 * KEY_SIZE + 1);

	hex_encode(key, KEY_SIZE, text);
	return text;
}

/* Like verify_signature, for two signatures at once.  A trusted key without its post-quantum half is
 * passed over: one half would be a downgrade. */
bool verify_hybrid(
	struct verification *v, const struct json *receipt, struct bytes message, const char *error)
{
	struct halves *h = arena_alloc(v->a, sizeof(*h));
	uint8_t ed[KEY_SIZE], *ml;
	size_t whole_keys = 0;

	if (!split(member_text(receipt, "signature"), h))
		return verify_refute(
			v, error, "the hybrid envelope does not have its two signatures in place");
	for (size_t i = 0; i < v->trust->key_count; i++) {
		const struct trusted_key *k = &v->trust->keys[i];
		whole_keys += k->post_quantum != NULL;
		if (!k->post_quantum || !both_verify(k->key, k->post_quantum, message, h))
			continue;
		v->integrity = v->trusted = ANSWER_YES;
		v->signer = hex_of(v->a, k->key);
		v->signer_key = k;
		return true;
	}
	v->trusted = v->trust->key_count > 0 ? ANSWER_NO : ANSWER_UNKNOWN;
	if (declared_keys(v->a, receipt, ed, &ml) && both_verify(ed, ml, message, h)) {
		v->integrity = ANSWER_YES;
		v->is_self_attested = true;
		v->signer = hex_of(v->a, ed);
		if (v->trust->key_count > 0)
			(void)verify_fail(v, error,
				"both halves verify under the keys it names, but not under a key given");
		return true;
	}
	if (whole_keys == 0)
		return verify_fail(v, error, "a hybrid receipt needs a key with its ML-DSA-65 half");
	return verify_fail(v, error, "not both halves of the hybrid signature verify");
}
