/* evidence_notes.c — notes of calls in a pack, as the receipts of the pack sign them.
 *
 * A receipt signs the digest of a part of the ledger of calls.  A pack of everything carries each such part as a file of its own,
 * notes/<clock>.jsonl, whose digest is the one in the receipt: whoever reads the pack compares the two.  A part may hold notes of any task, so a pack
 * of a choice carries none, and says so in record.json. */
#include "audit/parts.h"
#include "base/hash.h"
#include "base/text.h"

#include <string.h>

enum { MOST_PARTS = 10000 };

struct noted_part {
	struct sys *s;
	int state_fd;
	uint64_t clock;
	off_t from, to;
	char sha256[SHA256_HEX];
};

void noted_take(struct noted_parts *n, const struct json *receipt)
{
	struct notes_said said;

	if (!receipt_notes(receipt, &said))
		return;
	n->bound++;
	if (n->n == MOST_PARTS || !n->is_carried)
		return;
	if (n->n == n->cap) {
		size_t cap = n->cap ? 2 * n->cap : 64;
		n->list = arena_grow(n->a, n->list, n->cap * sizeof(*n->list), cap * sizeof(*n->list));
		n->cap = cap;
	}
	struct noted_part *part = arena_zalloc(n->a, 1, sizeof(*part));
	part->clock = (uint64_t)json_get_int(receipt, "lamport_clock", 0);
	part->from = said.from;
	part->to = said.to;
	snprintf(part->sha256, sizeof(part->sha256), "%s", said.sha256);
	n->list[n->n++] = part;
}

/* ---- the text of one ---- */

struct giving {
	const struct noted_part *part;
	struct sink *to; /* or NULL: only digest and length */
	struct sha256 digest;
	uint64_t bytes;
};

static int give_line(void *arg, off_t place, uint64_t line, struct bytes text, bool is_whole, struct err *e)
{
	struct giving *g = arg;
	int rc = OK;

	(void)line;
	if (place >= g->part->to)
		return 1;
	if (place < g->part->from || !is_whole)
		return OK;
	sha256_add(&g->digest, text.p, text.n);
	sha256_add(&g->digest, "\n", 1);
	g->bytes += text.n + 1;
	if (g->to)
		rc = g->to->write(g->to, text.p, text.n, e);
	return rc || !g->to ? rc : g->to->write(g->to, "\n", 1, e);
}

static int give(const struct noted_part *p, struct sink *to, struct giving *ret, struct err *e)
{
	*ret = (struct giving){ .part = p, .to = to };
	sha256_begin(&ret->digest);
	int rc = ledger_lines_past(p->s, p->state_fd, TOOL_CALLS, p->from, give_line, ret, e);
	return rc > 0 ? OK : rc;
}

static int give_item(const struct pack_item *item, struct sink *to, struct err *e)
{
	struct giving g;

	return give(item->arg, to, &g, e);
}

/* False when it is not what was signed: archived, or lost on record. */
static bool item_of(struct noted_parts *n, struct noted_part *p, struct pack_item *ret)
{
	struct giving g;
	char hex[SHA256_HEX];

	*ret = (struct pack_item){ .path = arena_printf(
					   n->a, "notes/%012llu.jsonl", (unsigned long long)p->clock),
		.give = give_item,
		.arg = p };
	if (give(p, NULL, &g, &(struct err){ 0 }))
		return false;
	ret->size_bytes = g.bytes;
	sha256_end(&g.digest, ret->digest.b);
	hex_encode(ret->digest.b, SHA256_SIZE, hex);
	return text_eq(hex, p->sha256);
}

struct json *noted_items(struct noted_parts *n, struct sys *s, int state_fd,
	void (*add)(void *arg, struct pack_item item), void *arg)
{
	struct json *doc = json_new(n->a, JSON_OBJECT), *absent = json_new(n->a, JSON_ARRAY);

	for (size_t i = 0; i < n->n; i++) {
		struct pack_item item;
		n->list[i]->s = s;
		n->list[i]->state_fd = state_fd;
		if (item_of(n, n->list[i], &item))
			add(arg, item);
		else
			json_push(n->a, absent, json_number(n->a, (int64_t)n->list[i]->clock));
	}
	json_setb(n->a, doc, "carried", n->is_carried && n->n == n->bound);
	json_seti(n->a, doc, "bound", (int64_t)n->bound);
	json_set(n->a, doc, "absent", absent);
	return doc;
}
