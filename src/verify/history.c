/* history.c — a key history: which keys a signer had, from when to when, and which of them were revoked.
 *
 * A history alone proves nothing about who it belongs to.  But each change is signed by the key that was
 * in force and, for a new key, by that one too.  Whoever trusts one key of an unbroken line therefore has
 * reason to trust the others, each in its time.  A key that was created on its own starts another line,
 * which trust does not reach.
 *
 * Links are also chained by hash and numbered, so that none can be taken out of the middle.  Links cut off
 * at the end cannot be noticed from the history alone, and the report says so. */
#include "base/file.h"
#include "model/stamp.h"
#include "proof/preimage.h"
#include "proof/sign.h"
#include "verify/parts.h"

#include <fcntl.h>
#include <string.h>

enum { HISTORY_LIMIT = 64 << 20 };

/* A key as the links read so far describe it.  NULL in not_before or not_after means that there is no
 * bound on that side. */
struct known {
	uint8_t key[KEY_SIZE];
	const char *hex;
	unsigned line; /* of keys that vouch for each other */
	const char *not_before, *not_after;
	bool is_active, is_revoked;
};

struct history {
	struct verification *v;
	struct known *keys;
	size_t n, cap, count; /* count: links */
	unsigned lines;
	const char *hash; /* of the link before */
	const char *record; /* name of the one being read */
	const struct json *link;
	struct bytes preimage;
};

/* Every failure in a history refutes the whole: the links after a broken one have no basis. */
static bool refuse(struct history *h, const char *member, const char *expected, const char *why)
{
	verify_at(h->v, h->record, member, expected, member_text(h->link, member));
	return verify_refute(h->v, "key_history", "%s: %s", h->record, why);
}

/* The key named by a member of the current link, or NULL. */
static struct known *find(struct history *h, const char *member)
{
	const char *hex = member_text(h->link, member);

	for (size_t i = 0; i < h->n; i++)
		if (text_eq(h->keys[i].hex, hex))
			return &h->keys[i];
	return NULL;
}

/* All signatures of a link are over the same bytes: the link without its signatures. */
static bool check_signed(struct history *h, const uint8_t key[KEY_SIZE], const char *member)
{
	uint8_t signature[SIGNATURE_SIZE];

	if (!parse_signature(member_text(h->link, member), signature) ||
		!verify_ed25519(key, h->preimage, signature))
		return refuse(h, member, "a signature of this link", "the signature does not verify");
	return true;
}

/* A key that was not there before and signs for itself (possession), so that nobody can enter somebody
 * else's key.  Growing the list moves it: pointers from find() are not valid after this. */
static struct known *add_key(struct history *h)
{
	struct known k = { .hex = member_text(h->link, "key"), .is_active = true };

	if (strlen(k.hex) != 2 * KEY_SIZE || !hex_decode(k.hex, strlen(k.hex), k.key, KEY_SIZE, true) ||
		!sign_public_ok(k.key)) {
		(void)refuse(h, "key", "64 lower-case hex digits of a public key", "this is no key");
		return NULL;
	}
	if (find(h, "key")) {
		(void)refuse(h, "key", "a new key", "the key was in force before");
		return NULL;
	}
	if (!check_signed(h, k.key, "possession"))
		return NULL;
	if (h->n == h->cap) {
		size_t cap = h->cap ? 2 * h->cap : 8;
		h->keys = arena_grow(h->v->a, h->keys, h->cap * sizeof(k), cap * sizeof(k));
		h->cap = cap;
	}
	h->keys[h->n] = k;
	return &h->keys[h->n++];
}

static bool take_created(struct history *h)
{
	struct known *k = add_key(h);

	if (!k)
		return false;
	if (!text_eq(member_text(h->link, "signer"), k->hex))
		return refuse(h, "signer", k->hex, "a first key is signed for by itself");
	/* The first link may have been written long after the key was made, so the first key has no
	 * beginning. */
	k->not_before = h->count ? member_text(h->link, "at") : NULL;
	k->line = h->lines++;
	return check_signed(h, k->key, "signature");
}

/* The old key's signature is checked before the new key is entered.  One time ends the old key and begins
 * the new one, so there is no moment with both or none. */
static bool take_rotated(struct history *h)
{
	struct known *old = find(h, "previous_key");
	size_t at = old ? (size_t)(old - h->keys) : 0;

	if (!old || !old->is_active || old->is_revoked)
		return refuse(h, "previous_key", "the key in force", "the key it follows is not in force");
	if (!text_eq(member_text(h->link, "signer"), old->hex))
		return refuse(h, "signer", old->hex, "the key before it must sign");
	if (!check_signed(h, old->key, "signature"))
		return false;
	struct known *k = add_key(h);
	if (!k)
		return false;
	old = &h->keys[at];
	old->is_active = false;
	old->not_after = k->not_before = member_text(h->link, "at");
	k->line = old->line;
	return true;
}

/* Only the key in force of the same line may revoke, and not itself: a thief of an old key could otherwise
 * revoke its successor.  A revocation can shorten the time of a key and never lengthens it. */
static bool take_revoked(struct history *h)
{
	struct known *k = find(h, "key"), *signer = find(h, "signer");
	const char *since = member_text(h->link, "since");
	int order;

	if (!k)
		return refuse(h, "key", "a key of this history", "an unknown key cannot be revoked");
	if (!signer || !signer->is_active || signer->is_revoked || signer == k || signer->line != k->line)
		return refuse(h, "signer", "the key in force of the same line", "this key may not revoke");
	if (!check_signed(h, signer->key, "signature"))
		return false;
	if (!stamp_compare(since, since, &order))
		return refuse(h, "since", "a time", "it is not said from when on");
	if (!k->not_after || (stamp_compare(since, k->not_after, &order) && order < 0))
		k->not_after = since;
	k->is_revoked = true;
	return true;
}

static bool take_event(struct history *h)
{
	const char *event = member_text(h->link, "event");

	if (text_eq(event, "created"))
		return take_created(h);
	if (text_eq(event, "rotated"))
		return take_rotated(h);
	if (text_eq(event, "revoked"))
		return take_revoked(h);
	return refuse(h, "event", "created, rotated or revoked", "this event is not known");
}

/* The hash of a link is over its bytes as written, so it is computed from the line, not from what was
 * parsed.  It is set last, once the link is accepted. */
static bool take_link(struct history *h, struct bytes line, const char *name)
{
	struct verification *v = h->v;
	const char *expected = arena_printf(v->a, "%zu", h->count + 1);
	struct err e = { 0 };
	struct json *link;
	int order;

	h->record = arena_printf(v->a, "line %zu", h->count + 1);
	if (json_parse(v->a, line, name, NULL, &link, &e) ||
		key_link_preimage(v->a, link, &h->preimage, &e)) {
		verify_at(v, h->record, NULL, NULL, NULL);
		return verify_refute_err(v, &e);
	}
	h->link = link;
	if (!text_eq(member_text(link, "version"), KEY_HISTORY_V1))
		return refuse(h, "version", KEY_HISTORY_V1, "this version is not known");
	if (json_get_int(link, "sequence", -1) != (int64_t)h->count + 1) {
		verify_at(v, h->record, "sequence", expected, "another number");
		return verify_refute(v, "key_history", "%s: a link is missing or out of order", h->record);
	}
	if (!text_eq(member_text(link, "prev_hash"), h->hash))
		return refuse(h, "prev_hash", h->hash, "it does not continue the link before it");
	if (!stamp_compare(member_text(link, "at"), member_text(link, "at"), &order))
		return refuse(h, "at", "a time", "it has no time");
	if (!take_event(h))
		return false;
	h->count++;
	h->hash = sha256_hex(v->a, line.p, line.n);
	return true;
}

static bool read_history(struct history *h, struct bytes text, const char *name)
{
	h->hash = "";
	while (text.n > 0)
		if (!take_link(h, text_cut(&text, '\n'), name))
			return false;
	if (h->count == 0)
		return verify_fail(h->v, "key_history", "the history holds no link");
	return true;
}

static bool is_trusted(const struct trust *t, const struct known *k)
{
	for (size_t i = 0; i < t->key_count; i++)
		if (memcmp(t->keys[i].key, k->key, KEY_SIZE) == 0)
			return true;
	return false;
}

/* Some key of that line is among the trusted ones. */
static bool is_reached(const struct history *h, const struct trust *t, unsigned line)
{
	for (size_t i = 0; i < h->n; i++)
		if (h->keys[i].line == line && is_trusted(t, &h->keys[i]))
			return true;
	return false;
}

static struct json *keys_json(const struct history *h)
{
	struct arena *a = h->v->a;
	struct json *list = json_new(a, JSON_ARRAY);

	for (size_t i = 0; i < h->n; i++) {
		const struct known *k = &h->keys[i];
		struct json *row = json_new(a, JSON_OBJECT);
		json_sets(a, row, "public_key", k->hex);
		json_sets(a, row, "state", k->is_revoked ? "revoked" : k->is_active ? "active" : "retired");
		if (k->not_before)
			json_sets(a, row, "not_before", k->not_before);
		if (k->not_after)
			json_sets(a, row, "not_after", k->not_after);
		json_push(a, list, row);
	}
	return list;
}

/* When several lines have a key in force, the last one in the file is reported as active: it is the one a
 * signer uses now. */
void verify_key_history(struct verification *v, struct bytes text, const char *name)
{
	struct history h = { .v = v };
	const struct known *active = NULL;

	if (!read_history(&h, text, name))
		return;
	v->integrity = ANSWER_YES;
	for (size_t i = 0; i < h.n; i++)
		if (h.keys[i].is_active && !h.keys[i].is_revoked)
			active = &h.keys[i];
	json_set(v->a, v->values, "keys", keys_json(&h));
	json_seti(v->a, v->values, "links", (int64_t)h.count);
	if (active) {
		verify_value(v, "active", active->hex);
		v->signer = active->hex;
		if (v->trust->key_count)
			v->trusted = is_reached(&h, v->trust, active->line) ? ANSWER_YES : ANSWER_NO;
		if (v->trusted == ANSWER_NO)
			(void)verify_fail(v, "signer_not_trusted",
				"none of the keys given is tied to the key in force");
	}
	verify_note(v, "whether later links were cut off is not established by the history alone");
}

/* Trusted keys that the history knows are replaced by the history's, which carry windows.  If the plain
 * ones stayed beside them, a revoked key would keep verifying everything. */
static void merge_keys(const struct history *h, struct arena *a, struct trust *t)
{
	struct trusted_key *keys = arena_zalloc(a, t->key_count + h->n, sizeof(*keys));
	size_t n = 0;

	for (size_t i = 0; i < t->key_count; i++) {
		bool is_in_history = false;
		for (size_t k = 0; k < h->n; k++)
			is_in_history |= memcmp(h->keys[k].key, t->keys[i].key, KEY_SIZE) == 0;
		if (!is_in_history)
			keys[n++] = t->keys[i];
	}
	for (size_t k = 0; k < h->n; k++) {
		const struct known *from = &h->keys[k];
		if (!is_reached(h, t, from->line))
			continue;
		keys[n] = (struct trusted_key){ .id = arena_printf(a, "ed25519:%s", from->hex),
			.not_before = from->not_before,
			.not_after = from->not_after };
		memcpy(keys[n++].key, from->key, KEY_SIZE);
	}
	t->keys = keys;
	t->key_count = n;
}

int trust_add_history(struct sys *s, struct arena *a, const char *path, struct trust *t, struct err *e)
{
	struct verification v;
	struct history h = { .v = &v };
	struct bytes text;
	bool is_tied = false;
	int rc = file_read(s, a, AT_FDCWD, path, HISTORY_LIMIT, FILE_FOLLOW, &text, e);

	if (rc)
		return rc;
	/* A link without its newline was being written when the program ended.  Nobody was told about it
	 * yet, so it is left out. */
	while (text.n && text.p[text.n - 1] != '\n')
		text.n--; /* what a crash left of a link nobody was told about */
	verification_begin(&v, a, t, "key history");
	if (!read_history(&h, text, path))
		return err_set(
			e, E_INPUT, "TRUST_HISTORY", "%s: %s", path, v.text ? v.text : "not a history");
	for (size_t i = 0; i < h.n; i++)
		is_tied |= is_trusted(t, &h.keys[i]);
	if (!is_tied)
		return err_set(e, E_INPUT, "TRUST_HISTORY",
			"%s has none of the keys you trust, so it says nothing about them; give one with "
			"--key",
			path);
	merge_keys(&h, a, t);
	return OK;
}
