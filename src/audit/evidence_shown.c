/* evidence_shown.c — what was asked (record/shown.h) in a pack: a document for each digest that its receipts have, where it is still kept.
 *
 * The file is shown/<digest>.json, and its bytes are the canonical form: whoever reads the pack compares its SHA-256 with the receipt's. */
#include "audit/parts.h"
#include "base/hash.h"
#include "base/text.h"
#include "record/shown.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_DOCUMENTS = 10000, MOST_BYTES = 32 << 20 };

void shown_take(struct shown_wanted *w, const struct json *receipt)
{
	const char *sha256 = json_get_text(json_get(receipt, "metadata"), SHOWN_MEMBER, "");
	struct hash digest;

	if (!text_starts(sha256, "sha256:") || !hash_from_hex(sha256 + strlen("sha256:"), &digest))
		return;
	if (w->n == w->cap) {
		size_t cap = w->cap ? 2 * w->cap : 64;
		w->list = arena_grow(w->a, w->list, w->cap * sizeof(*w->list), cap * sizeof(*w->list));
		w->cap = cap;
	}
	w->list[w->n++] = (struct shown_one){ .digest = digest };
}

static int by_digest(const void *x, const void *y)
{
	return memcmp(((const struct shown_one *)x)->digest.b, ((const struct shown_one *)y)->digest.b,
		SHA256_SIZE);
}

struct taking {
	struct shown_wanted *w;
	void (*add)(void *arg, struct pack_item item);
	void *arg;
	size_t n, bytes;
};

static int take_document(void *arg, const char *sha256, const struct json *shown, struct err *e)
{
	struct taking *t = arg;
	struct shown_one key, *one;
	struct buf text;

	(void)e;
	if (!shown || !hash_from_hex(sha256 + strlen("sha256:"), &key.digest) || !t->w->n)
		return 0;
	one = bsearch(&key, t->w->list, t->w->n, sizeof(key), by_digest);
	if (!one || one->is_taken)
		return 0;
	buf_init(&text, t->w->a);
	json_canonical(&text, shown);
	if (t->n == MOST_DOCUMENTS || t->bytes + text.n > MOST_BYTES)
		return 1;
	one->is_taken = true;
	t->n++;
	t->bytes += text.n;
	t->add(t->arg,
		(struct pack_item){
			.path = arena_printf(t->w->a, "shown/%s.json", hash_hex(t->w->a, &key.digest)),
			.content = buf_bytes(&text) });
	return 0;
}

/* Of several receipts with one digest the document goes along once. */
static void sort_once(struct shown_wanted *w)
{
	size_t n = 0;

	if (!w->n)
		return;
	qsort(w->list, w->n, sizeof(*w->list), by_digest);
	for (size_t i = 0; i < w->n; i++)
		if (!n || by_digest(&w->list[n - 1], &w->list[i]))
			w->list[n++] = w->list[i];
	w->n = n;
}

struct json *shown_items(struct shown_wanted *w, struct sys *s, int state_fd,
	void (*add)(void *arg, struct pack_item item), void *arg)
{
	struct taking t = { .w = w, .add = add, .arg = arg };
	struct json *doc = json_new(w->a, JSON_OBJECT);

	sort_once(w);
	(void)shown_each(s, state_fd, take_document, &t, &(struct err){ 0 });
	json_seti(w->a, doc, "bound", (int64_t)w->n);
	json_seti(w->a, doc, "carried", (int64_t)t.n);
	return doc;
}
