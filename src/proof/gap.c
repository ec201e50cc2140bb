/* gap.c — reading and writing what a repair tells of lost receipts; see gap.h.
 *
 * Written by the repair of a log, read by everybody who follows a chain (verify/chain.c, audit/).  A seam
 * comes from outside, so everything in it is checked for form before any of it is used: the number of
 * leaves must be exactly the number of lost receipts, or the root of the log would be computed over a
 * wrong count. */
#include "proof/gap.h"
#include "base/hash.h"
#include "base/text.h"

#include <string.h>

/* The hash of an empty leaf.  No receipt has an empty chain hash, so this can never be mistaken for a
 * known one. */
struct hash gap_unknown_leaf(void)
{
	return merkle_leaf("", 0);
}

/* The signature of a receipt does not cover its metadata but covers output_hash.  A seam is one only when
 * output_hash is the hash of the metadata as it stands: then the signature covers what it says. */
bool gap_is_seam(struct arena *a, const struct json *receipt)
{
	const struct json *about = json_get(receipt, "metadata");

	if (!text_eq(json_get_text(receipt, "effect_id", ""), REPAIR_EFFECT) || !about)
		return false;
	return text_eq(json_get_text(receipt, "output_hash", ""), json_sha256(a, about));
}

/* The chain hash of the receipt on one side of the gap.  Clock 0 means that there is none, and then the
 * text must be empty: a hash without a receipt would be silently ignored. */
static bool read_side(const struct json *from, const char *name, uint64_t clock, struct hash *ret)
{
	const char *text = json_get_text(from, name, NULL);

	memset(ret, 0, sizeof(*ret));
	return text && (clock ? hash_from_hex(text, ret) : !*text);
}

/* The bound on next - after keeps a forged seam from making the reader allocate without limit. */
static bool read_gap(struct arena *a, const struct json *from, struct gap *ret)
{
	const struct json *leaves = json_get(from, "leaves");
	int64_t after = json_get_int(from, "after", -1), next = json_get_int(from, "next", -1);

	if (after < 0 || next <= after || next - after > GAP_MOST || !json_is(leaves, JSON_ARRAY) ||
		leaves->n != (uint64_t)(next - after - 1) ||
		!read_side(from, "before", (uint64_t)after, &ret->before) ||
		!read_side(from, "behind", (uint64_t)next, &ret->behind))
		return false;
	ret->after = (uint64_t)after;
	ret->next = (uint64_t)next;
	/* One more than needed, so that a gap without leaves (a link that broke with nothing lost) still
	 * has an array. */
	ret->leaves = arena_zalloc(a, leaves->n + 1, sizeof(*ret->leaves));
	for (uint32_t i = 0; i < leaves->n; i++)
		if (!hash_from_hex(json_text(leaves->items[i]), &ret->leaves[i]))
			return false;
	return true;
}

/* All or nothing: when one gap of a seam is malformed the ones read before it are taken back, because half
 * of a statement is not what was signed. */
bool gaps_take(struct gaps *to, struct arena *a, const struct json *seam)
{
	const struct json *list = json_get(json_get(seam, "metadata"), "gaps");
	size_t had = to->n;

	json_each (one, list) {
		if (to->n == to->cap) {
			size_t cap = to->cap ? 2 * to->cap : 8;
			to->list =
				arena_grow(a, to->list, to->cap * sizeof(*to->list), cap * sizeof(*to->list));
			to->cap = cap;
		}
		if (!read_gap(a, one, &to->list[to->n])) {
			to->n = had;
			return false;
		}
		to->n++;
	}
	return true;
}

struct json *gap_json(struct arena *a, const struct gap *g)
{
	struct json *doc = json_new(a, JSON_OBJECT), *leaves = json_new(a, JSON_ARRAY);

	json_seti(a, doc, "after", (int64_t)g->after);
	json_sets(a, doc, "before", g->after ? hash_hex(a, &g->before) : "");
	json_seti(a, doc, "next", (int64_t)g->next);
	json_sets(a, doc, "behind", hash_hex(a, &g->behind));
	for (uint64_t i = 0; i + g->after + 1 < g->next; i++)
		json_pushs(a, leaves, hash_hex(a, &g->leaves[i]));
	json_set(a, doc, "leaves", leaves);
	return doc;
}

/* Clocks and hashes of both sides must match.  A gap therefore excuses exactly one hole in exactly one
 * chain and cannot be reused to hide another. */
const struct gap *gaps_find(const struct gaps *g, uint64_t after, const struct hash *before, uint64_t next,
	const struct hash *behind)
{
	for (size_t i = 0; i < g->n; i++) {
		const struct gap *one = &g->list[i];
		if (one->after == after && one->next == next && hash_eq(&one->behind, behind) &&
			(!after || hash_eq(&one->before, before)))
			return one;
	}
	return NULL;
}
