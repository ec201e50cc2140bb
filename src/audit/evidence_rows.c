/* evidence_rows.c — the ledger entries that the receipts of a pack bind.
 *
 * The outcome receipt of a run names the digest of each row that the run has written.  Those rows go along with the receipt, whatever else
 * was chosen, and record.json says how many there are and which of them were not there any more (archived, or lost on record), so that a
 * reader can tell a row that was changed or left out from one that was away.  What is kept of a digest is its first half. */
#include "audit/parts.h"
#include "base/hash.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 4 << 20, ABSENT_SHOWN = 10000 };

void bound_take(struct bound_rows *b, const struct json *receipt)
{
	json_each (digest, json_get(json_get(receipt, "metadata"), "rows_sha256")) {
		const char *hex = json_text(digest);
		if (!hex || strlen(hex) != 2 * SHA256_SIZE || b->is_over)
			continue;
		if (b->n == b->cap) {
			size_t cap = b->cap ? 2 * b->cap : 1024;
			b->is_over = cap > MOST;
			if (b->is_over)
				continue;
			b->keys = arena_grow(b->a, b->keys, b->cap * BOUND_KEY, cap * BOUND_KEY);
			b->cap = cap;
		}
		if (hex_decode(hex, 2 * BOUND_KEY, b->keys[b->n], BOUND_KEY, false))
			b->n++;
	}
}

static int by_key(const void *x, const void *y)
{
	return memcmp(x, y, BOUND_KEY);
}

void bound_ready(struct bound_rows *b)
{
	size_t n = 0;

	if (b->n)
		qsort(b->keys, b->n, BOUND_KEY, by_key);
	for (size_t i = 0; i < b->n; i++)
		if (!n || memcmp(b->keys[n - 1], b->keys[i], BOUND_KEY) != 0)
			memcpy(b->keys[n++], b->keys[i], BOUND_KEY);
	b->n = n;
	b->found = arena_zalloc(b->a, n / 8 + 1, 1);
}

bool bound_meet(struct bound_rows *b, struct bytes row)
{
	uint8_t hash[SHA256_SIZE];

	if (!b->n)
		return false;
	sha256(row.p, row.n, hash);
	const uint8_t *at = bsearch(hash, b->keys, b->n, BOUND_KEY, by_key);
	if (!at)
		return false;
	size_t i = (size_t)(at - b->keys[0]) / BOUND_KEY;
	b->found[i / 8] |= (uint8_t)(1 << i % 8);
	return true;
}

struct json *bound_json(const struct bound_rows *b)
{
	struct json *doc = json_new(b->a, JSON_OBJECT), *absent = json_new(b->a, JSON_ARRAY);
	int64_t missing = 0;

	for (size_t i = 0; i < b->n; i++) {
		char hex[2 * BOUND_KEY + 1];
		if (b->found[i / 8] >> i % 8 & 1)
			continue;
		hex_encode(b->keys[i], BOUND_KEY, hex);
		if (missing++ < ABSENT_SHOWN)
			json_pushs(b->a, absent, hex);
	}
	json_setb(b->a, doc, "compared", !b->is_over);
	json_seti(b->a, doc, "bound", (int64_t)b->n);
	json_seti(b->a, doc, "missing", missing);
	json_set(b->a, doc, "absent", absent);
	return doc;
}
