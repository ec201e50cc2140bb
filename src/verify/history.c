/* history.c — a key history: which keys a signer had, in which order, and which of them were revoked.
 *
 * A history alone proves nothing about who it belongs to.  But each change is signed by the key that was
 * in force and, for a new key, by that one too.  Whoever trusts one key of an unbroken line therefore has
 * reason to trust the others, each in its time.  A key that was created on its own starts another line,
 * which trust does not reach.
 *
 * Links are also chained by hash and numbered, so that none can be taken out of the middle.  Links cut off
 * at the end cannot be noticed from the history alone, and the report says so.
 *
 * Which key follows which is a matter of order, not of time: clocks step, and a change of keys and a record
 * can share a second.  So each key carries the number of the link that introduced it, and whoever follows a
 * chain compares those numbers (chain.c).  The receipt with which a chain goes on under another key carries
 * the links in between, so that a chain can be followed without the file; such a part of a history is read
 * by the same rules, beginning wherever it begins. */
#include "base/file.h"
#include "model/stamp.h"
#include "proof/preimage.h"
#include "proof/sign.h"
#include "verify/parts.h"

#include <fcntl.h>
#include <string.h>

enum { HISTORY_LIMIT = 64 << 20 };

/* A key as the links read so far describe it.  `at` and `until` are the times of the changes, for people. */
struct known {
	uint8_t key[KEY_SIZE];
	const char *hex;
	unsigned line; /* of keys that vouch for each other */
	unsigned order; /* number of the link that introduced it */
	const char *at, *until;
	const char *revoked_since; /* a time, or NULL: revoked by its place only, or not at all */
	bool is_active, is_revoked;
};

struct history {
	struct verification *v;
	struct known *keys;
	size_t n, cap, count; /* count: links */
	int64_t sequence; /* of the newest link */
	unsigned lines;
	bool is_part; /* it may begin anywhere: the first links speak of keys that were introduced before */
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

/* Reads the key a member names, and makes room for it. */
static bool read_key(struct history *h, const char *member, struct known *ret)
{
	*ret = (struct known){
		.hex = member_text(h->link, member), .order = (unsigned)h->sequence + 1, .is_active = true
	};
	if (strlen(ret->hex) != 2 * KEY_SIZE ||
		!hex_decode(ret->hex, strlen(ret->hex), ret->key, KEY_SIZE, true) ||
		!sign_public_ok(ret->key))
		return refuse(h, member, "64 lower-case hex digits of a public key", "this is no key");
	if (h->n == h->cap) {
		size_t cap = h->cap ? 2 * h->cap : 8;
		h->keys = arena_grow(h->v->a, h->keys, h->cap * sizeof(*ret), cap * sizeof(*ret));
		h->cap = cap;
	}
	return true;
}

/* The key in force that a link speaks of.  Where only a part of the history is there, its first link may
 * speak of one that was introduced before; it proves itself by signing the link. */
static struct known *find_active(struct history *h, const char *member)
{
	struct known *found = find(h, member), k;

	if (found || !h->is_part || h->n || !read_key(h, member, &k))
		return found;
	k.order--;
	k.line = h->lines++;
	h->keys[h->n] = k;
	return &h->keys[h->n++];
}

/* A key that was not there before and signs for itself (possession), so that nobody can enter somebody
 * else's key.  Growing the list moves it: pointers from find() are not valid after this. */
static struct known *add_key(struct history *h)
{
	struct known k;

	if (!read_key(h, "key", &k))
		return NULL;
	if (find(h, "key")) {
		(void)refuse(h, "key", "a new key", "the key was in force before");
		return NULL;
	}
	if (!check_signed(h, k.key, "possession"))
		return NULL;
	k.at = member_text(h->link, "at");
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
	/* The first link may have been written long after the key was made. */
	k->at = h->count ? k->at : NULL;
	k->line = h->lines++;
	return check_signed(h, k->key, "signature");
}

/* The old key's signature is checked before the new key is entered.  One link ends the old key and begins
 * the new one, so there is no place with both or none. */
static bool take_rotated(struct history *h)
{
	struct known *old = find_active(h, "previous_key");
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
	old->until = k->at;
	k->line = old->line;
	return true;
}

/* A revocation says from when on by a time, which is a person's statement, or by a place: the number of a
 * link.  Of several the strictest counts. */
static bool take_since(struct history *h, struct known *k)
{
	const char *since = member_text(h->link, "since");
	int order;

	if (!stamp_compare(since, since, &order))
		return refuse(h, "since", "a time", "it is not said from when on");
	if (json_get_int(h->link, "since_link", 0) > (int64_t)k->order)
		since = NULL; /* by its place: behind the link that ended it nothing of it counts anyway */
	if (since && (!k->revoked_since || (stamp_compare(since, k->revoked_since, &order) && order < 0)))
		k->revoked_since = since;
	k->is_revoked = true;
	return true;
}

/* Only the key in force of the same line may revoke, and not itself: a thief of an old key could otherwise
 * revoke its successor.  Where only a part of the history is there, the key may be one that it does not
 * tell of; then there is nothing here that it could shorten. */
static bool take_revoked(struct history *h)
{
	struct known *signer = find_active(h, "signer"), *k = find(h, "key");

	if (!k && !h->is_part)
		return refuse(h, "key", "a key of this history", "an unknown key cannot be revoked");
	if (!signer || !signer->is_active || signer->is_revoked || signer == k ||
		(k && signer->line != k->line))
		return refuse(h, "signer", "the key in force of the same line", "this key may not revoke");
	if (!check_signed(h, signer->key, "signature"))
		return false;
	return !k || take_since(h, k);
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

/* One link, in its place.  A part of a history begins with any number, and with whatever came before. */
static bool take_link(struct history *h, struct json *link, const char *hash)
{
	struct verification *v = h->v;
	int64_t sequence = json_get_int(link, "sequence", -1);
	int order;

	h->link = link;
	if (h->is_part && !h->count && sequence > 0 && sequence < UINT32_MAX) {
		h->sequence = sequence - 1;
		h->hash = member_text(link, "prev_hash");
	}
	if (!text_eq(member_text(link, "version"), KEY_HISTORY_V1))
		return refuse(h, "version", KEY_HISTORY_V1, "this version is not known");
	if (sequence != h->sequence + 1) {
		verify_at(v, h->record, "sequence", arena_printf(v->a, "%lld", (long long)h->sequence + 1),
			"another number");
		return verify_refute(v, "key_history", "%s: a link is missing or out of order", h->record);
	}
	if (!text_eq(member_text(link, "prev_hash"), h->hash))
		return refuse(h, "prev_hash", h->hash, "it does not continue the link before it");
	if (!stamp_compare(member_text(link, "at"), member_text(link, "at"), &order))
		return refuse(h, "at", "a time", "it has no time");
	if (!take_event(h))
		return false;
	h->count++;
	h->sequence++;
	h->hash = hash;
	return true;
}

/* The hash of a link is over its bytes as written, so it is computed from the line, not from what was
 * parsed. */
static bool take_line(struct history *h, struct bytes line, const char *name)
{
	struct verification *v = h->v;
	struct err e = { 0 };
	struct json *link;

	h->record = arena_printf(v->a, "line %zu", h->count + 1);
	if (json_parse(v->a, line, name, NULL, &link, &e) ||
		key_link_preimage(v->a, link, &h->preimage, &e)) {
		verify_at(v, h->record, NULL, NULL, NULL);
		return verify_refute_err(v, &e);
	}
	return take_link(h, link, sha256_hex(v->a, line.p, line.n));
}

static bool read_history(struct history *h, struct bytes text, const char *name)
{
	h->hash = "";
	while (text.n > 0)
		if (!take_line(h, text_cut(&text, '\n'), name))
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
		json_seti(a, row, "link", k->order);
		if (k->at)
			json_sets(a, row, "at", k->at);
		if (k->until)
			json_sets(a, row, "until", k->until);
		if (k->revoked_since)
			json_sets(a, row, "revoked_since", k->revoked_since);
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

/* What is known already from a whole history stays, since a part may be older; a revocation counts wherever
 * it is told. */
static void keep_known(
	const struct history *h, const struct known *from, const struct trust *t, struct trusted_key *to)
{
	for (size_t i = 0; h->is_part && i < t->key_count; i++) {
		const struct trusted_key *have = &t->keys[i];
		if (!have->order || memcmp(have->key, from->key, KEY_SIZE) != 0)
			continue;
		*to = *have;
		to->not_after = have->not_after ? have->not_after : from->revoked_since;
	}
}

/* Trusted keys that the history knows are replaced by the history's, which carry their order and their end.
 * If the plain ones stayed beside them, a revoked key would keep verifying everything. */
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
			.not_after = from->revoked_since,
			.order = from->order };
		memcpy(keys[n].key, from->key, KEY_SIZE);
		keep_known(h, from, t, &keys[n++]);
	}
	t->keys = keys;
	t->key_count = n;
}

int trust_add_history_text(
	struct arena *a, struct bytes text, const char *name, struct trust *t, struct err *e)
{
	struct verification v;
	struct history h = { .v = &v };
	bool is_tied = false;

	/* A link without its newline was being written when the program ended.  Nobody was told about it
	 * yet, so it is left out. */
	while (text.n && text.p[text.n - 1] != '\n')
		text.n--; /* what a crash left of a link nobody was told about */
	verification_begin(&v, a, t, "key history");
	if (!read_history(&h, text, name))
		return err_set(
			e, E_INPUT, "TRUST_HISTORY", "%s: %s", name, v.text ? v.text : "not a history");
	for (size_t i = 0; i < h.n; i++)
		is_tied |= is_trusted(t, &h.keys[i]);
	if (!is_tied)
		return err_set(e, E_INPUT, "TRUST_HISTORY",
			"%s has none of the keys you trust, so it says nothing about them; give one with "
			"--key",
			name);
	merge_keys(&h, a, t);
	return OK;
}

int trust_add_history(struct sys *s, struct arena *a, const char *path, struct trust *t, struct err *e)
{
	struct bytes text;
	int rc = file_read(s, a, AT_FDCWD, path, HISTORY_LIMIT, FILE_FOLLOW, &text, e);

	return rc ? rc : trust_add_history_text(a, text, path, t, e);
}

/* ---- the part of a history that a chain carries ---- */

/* The signature of a receipt covers the digest, and the digest the links. */
static const struct json *seam_links(struct arena *a, const struct json *receipt)
{
	const struct json *about = json_get(receipt, "metadata"), *links = json_get(about, "links");

	return text_eq(member_text(receipt, "effect_id"), KEY_EFFECT) && json_is(links, JSON_ARRAY) &&
			text_eq(member_text(receipt, "output_hash"), json_sha256(a, about))
		? links
		: NULL;
}

/* Links that follow those read before are added; others begin another part, with what was read so far
 * merged first.  A link stands in the chain in its canonical spelling, which is that of the file. */
static bool take_seam(struct history *h, const struct json *links)
{
	struct arena *a = h->v->a;

	json_each (link, links) {
		struct buf spelling;
		struct err e = { 0 };
		if (h->count && json_get_int(link, "sequence", -1) <= h->sequence)
			continue; /* another writer told of it before */
		buf_init(&spelling, a);
		json_canonical(&spelling, link);
		h->record = "a link in the chain";
		if (!json_is(link, JSON_OBJECT) || key_link_preimage(a, link, &h->preimage, &e) ||
			!take_link(h, link, sha256_hex(a, spelling.p, spelling.n)))
			return false;
	}
	return true;
}

/* Is there a key in this part that *t has not, and one that it has? */
static bool adds_trust(const struct history *h, const struct trust *t)
{
	bool is_new = false;

	for (size_t i = 0; i < h->n; i++) {
		const struct trusted_key *have = NULL;
		for (size_t k = 0; k < t->key_count; k++)
			if (memcmp(t->keys[k].key, h->keys[i].key, KEY_SIZE) == 0)
				have = &t->keys[k];
		is_new |= is_reached(h, t, h->keys[i].line) && (!have || !have->order);
	}
	return is_new;
}

bool trust_add_seams(struct arena *a, const struct json *const *receipts, size_t n, struct trust *t)
{
	bool has_changed = false;
	size_t done = 0;

	if (!t->key_count)
		return false;
	while (done < n) {
		struct verification v;
		struct history h = { .v = &v, .is_part = true };
		verification_begin(&v, a, t, "key history");
		/* As many seams as continue each other; one that does not begins anew. */
		size_t begin = done;
		for (; done < n; done++) {
			struct history before = h;
			const struct json *links = seam_links(a, receipts[done]);
			if (links && !take_seam(&h, links)) {
				h = before;
				break;
			}
		}
		done += done == begin; /* it is nothing by itself either */
		if (h.n && adds_trust(&h, t)) {
			merge_keys(&h, a, t);
			has_changed = true;
		}
	}
	return has_changed;
}

/* Most chains have none: one search of the text finds that out. */
bool trust_add_seam_lines(struct arena *a, struct bytes text, struct trust *t)
{
	static const char mark[] = "\"effect_id\":\"" KEY_EFFECT "\"";
	const struct json **seams = NULL;
	size_t n = 0, cap = 0;
	const uint8_t *found;

	while (t->key_count && text.n && (found = memmem(text.p, text.n, mark, strlen(mark)))) {
		const uint8_t *start = memrchr(text.p, '\n', (size_t)(found - text.p));
		struct bytes line, rest = { start ? start + 1 : text.p, 0 };
		struct json *receipt;
		rest.n = text.n - (size_t)(rest.p - text.p);
		line = text_cut(&rest, '\n');
		text = rest;
		if (json_parse(a, line, "seam", NULL, &receipt, NULL))
			continue;
		if (n == cap) {
			size_t more = cap ? 2 * cap : 8;
			seams = arena_grow(a, seams, cap * sizeof(*seams), more * sizeof(*seams));
			cap = more;
		}
		seams[n++] = receipt;
	}
	return n && trust_add_seams(a, seams, n, t);
}
