/* trust.c — the keys a caller brings: from the command line, from key files, from a trust file.
 *
 * A trust file is JSON: {"trusted_keys": {id: hex}} (with a version, when given, of
 * evidence-pack-trust/v1), or {"keys": [{"key_id", "public_key_hex", "not_before"?, "not_after"?}]}, or
 * just a map of ids to hex.  Whatever in it is not understood as a key makes the whole file refused: a key
 * that was meant to be there and is not would be found out too late. */
#include "base/file.h"
#include "proof/mldsa.h"
#include "proof/sign.h"
#include "verify/verify.h"

#include <fcntl.h>

enum { TRUST_FILE_MAX = 1 << 20 };

enum { HYBRID_PREFIX = 7, HYBRID_KEY = HYBRID_PREFIX + 2 * KEY_SIZE + 1 + 2 * MLDSA_PUBLIC };

/* "hybrid:", the Ed25519 half, ":", the ML-DSA-65 half.  Split by position, since both lengths are fixed. */
static bool parse_hybrid(struct arena *a, const char *text, struct trusted_key *ret)
{
	uint8_t *ml = arena_alloc(a, MLDSA_PUBLIC);
	size_t n = strcspn(text, " \t\r\n");
	const char *second = text + HYBRID_PREFIX + 2 * KEY_SIZE;

	if (n != HYBRID_KEY || *second != ':' ||
		!hex_decode(text + HYBRID_PREFIX, 2 * KEY_SIZE, ret->key, KEY_SIZE, false) ||
		!hex_decode(second + 1, 2 * MLDSA_PUBLIC, ml, MLDSA_PUBLIC, false))
		return false;
	ret->post_quantum = ml;
	return true;
}

/* A key outside the prime-order group is refused here, before it can be trusted: signatures that verify
 * under it can be made by anybody. */
static bool parse_key(struct arena *a, const char *text, struct trusted_key *ret)
{
	bool ok = text_starts(text, "hybrid:") ? parse_hybrid(a, text, ret) : trust_parse_key(text, ret->key);

	return ok && sign_public_ok(ret->key);
}

/* Copies the list: the caller's array may be constant. */
static void add_key(struct arena *a, struct trust *t, const struct trusted_key *k)
{
	struct trusted_key *keys = arena_zalloc(a, t->key_count + 1, sizeof(*keys));

	if (t->key_count)
		memcpy(keys, t->keys, t->key_count * sizeof(*keys));
	keys[t->key_count++] = *k;
	t->keys = keys;
}

/* The text is tried as a key first and as a file name only then: a file whose name looks like a key cannot
 * replace the key. */
int trust_add_key(struct sys *s, struct arena *a, const char *key, struct trust *t, struct err *e)
{
	struct trusted_key k = { .id = "" };
	struct bytes text;
	int rc;

	if (!parse_key(a, key, &k)) {
		if (trust_parse_key(key, k.key))
			return err_set(e, E_INPUT, "TRUST_KEY",
				"'%.80s' is no key: signatures under it can be made by anybody", key);
		if ((rc = file_read(s, a, AT_FDCWD, key, 16384, FILE_FOLLOW, &text, NULL)))
			return err_set(e, (enum rc)rc, "TRUST_KEY",
				"'%.200s' is neither 64 hex digits nor a readable key file", key);
		if (!parse_key(a, arena_strndup(a, (const char *)text.p, text.n), &k))
			return err_set(e, E_INPUT, "TRUST_KEY",
				"'%s' does not hold a public key of 64 hex digits", key);
	}
	add_key(a, t, &k);
	return OK;
}

/* One key of a trust file, in whichever of the three forms.  `id` is given when the key stands in a map. */
static int add_row(struct arena *a, const char *where, const char *id, const struct json *row,
	struct trust *t, struct err *e)
{
	const char *hex =
		json_is(row, JSON_STRING) ? json_text(row) : json_get_text(row, "public_key_hex", NULL);
	struct trusted_key k = { .id = id ? id : json_get_text(row, "key_id", "") };

	if (!hex && json_is(row, JSON_OBJECT))
		hex = json_get_text(row, "public_key", NULL);
	if (!hex || !parse_key(a, hex, &k))
		return err_set(e, E_INPUT, "TRUST_FILE", "%s: '%.80s' is not a public key of 64 hex digits",
			where, k.id);
	k.not_before = json_get_text(row, "not_before", NULL);
	k.not_after = json_get_text(row, "not_after", NULL);
	add_key(a, t, &k);
	return OK;
}

/* A version may be absent, but one that is there must be known. */
static bool is_known_version(const struct json *doc)
{
	const char *version = json_get_text(doc, "version", NULL);

	return !json_get(doc, "version") || (version && text_eq(version, "evidence-pack-trust/v1"));
}

/* A file without any key is refused: whoever names one expects something to be trusted. */
int trust_add_file(struct sys *s, struct arena *a, const char *path, struct trust *t, struct err *e)
{
	const struct json *map, *list;
	struct bytes text;
	struct json *doc;
	size_t before = t->key_count;
	int rc;

	if ((rc = file_read(s, a, AT_FDCWD, path, TRUST_FILE_MAX, FILE_FOLLOW, &text, e)) ||
		(rc = json_parse(a, text, path, NULL, &doc, e)))
		return rc;
	map = json_get(doc, "trusted_keys");
	list = json_get(doc, "keys");
	if (!json_is(doc, JSON_OBJECT) || !is_known_version(doc))
		return err_set(e, E_INPUT, "TRUST_FILE", "%s is not a trust file of a known version", path);
	json_each (row, list) {
		if ((rc = add_row(a, path, NULL, row, t, e)))
			return rc;
	}
	if (!map && !list)
		map = doc;
	json_each_member (m, map) {
		if ((rc = add_row(a, path, m->name, m->value, t, e)))
			return rc;
	}
	if (t->key_count == before)
		return err_set(e, E_INPUT, "TRUST_FILE", "%s holds no key", path);
	return OK;
}
