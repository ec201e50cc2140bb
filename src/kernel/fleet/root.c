/* root.c — another root key takes the place of the one that was pinned (docs/formats/fleet-orders.md).
 *
 * The old key says so, and the new one shows that it is there: both sign the same bytes, offline.  A ledger carries the statement and can neither
 * make nor change it. */
#include "base/hash.h"
#include "base/text.h"
#include "kernel/fleet/fleet.h"

#include <string.h>

static const char *const SIGNED_BY[][2] = { { "old_key", "signature" }, { "new_key", "new_signature" } };

static struct bytes message_of(struct arena *a, const struct json *doc)
{
	struct json *bare = json_copy(a, doc);
	struct buf text;

	for (size_t i = 0; i < ARRAY_SIZE(SIGNED_BY); i++)
		(void)json_remove(bare, SIGNED_BY[i][1]);
	buf_init(&text, a);
	buf_adds(&text, "helm:fleet-root:v1\n");
	json_canonical(&text, bare);
	return buf_bytes(&text);
}

struct json *fleet_root_sign(
	struct arena *a, const char *origin, const char *at, const struct key *old, const struct key *new)
{
	const struct key *const keys[] = { old, new };
	struct json *doc = json_new(a, JSON_OBJECT);
	uint8_t signature[SIGN_SIZE];
	char hex[2 * SIGN_SIZE + 1];

	json_sets(a, doc, "version", FLEET_ROOT_V1);
	json_sets(a, doc, "origin", origin);
	json_sets(a, doc, "at", at);
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		hex_encode(key_public(keys[i]), SIGN_PUBLIC, hex);
		json_sets(a, doc, SIGNED_BY[i][0], hex);
	}
	struct bytes message = message_of(a, doc);
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		key_sign(keys[i], message, signature);
		hex_encode(signature, sizeof(signature), hex);
		json_sets(a, doc, SIGNED_BY[i][1], hex);
	}
	return doc;
}

int fleet_root_check(struct arena *a, const char *origin, const struct json *doc, struct err *e)
{
	if (!json_is(doc, JSON_OBJECT) || !text_eq(json_get_text(doc, "version", ""), FLEET_ROOT_V1) ||
		!text_eq(json_get_text(doc, "origin", ""), origin))
		return err_set(e, E_DENIED, "FLEET_ROOT",
			"this is no statement about the root key of this fleet that is known here");
	struct bytes message = message_of(a, doc);
	for (size_t i = 0; i < ARRAY_SIZE(SIGNED_BY); i++) {
		const char *key = json_get_text(doc, SIGNED_BY[i][0], ""),
			   *signature = json_get_text(doc, SIGNED_BY[i][1], "");
		uint8_t pub[SIGN_PUBLIC], raw[SIGN_SIZE];
		if (!hex_decode(key, strlen(key), pub, sizeof(pub), true) ||
			!hex_decode(signature, strlen(signature), raw, sizeof(raw), true) ||
			!sign_verify(pub, message, raw))
			return err_set(e, E_DENIED, "FLEET_ROOT",
				"the statement about the root key is not signed by its %s",
				i ? "new one" : "old one");
	}
	return OK;
}
