/* pack_lines.c — receipts of a pack in any number, and their places in the log, without holding them.
 *
 * A pack of a million receipts is read once, front to back.  Files of lines are cut into pieces of whole lines; each piece is verified
 * on all cores and forgotten.  What stays of a file is which clocks it has, one bit each, and a digest of the leaves of its
 * receipts.  When the log's leaves come by, those with a bit go through the same digest: if it is the same, each receipt stands
 * where it says.  The tree over all leaves grows along, and is compared with the signed head. */
#include "model/records.h"
#include "proof/preimage.h"
#include "verify/pack.h"
#include "verify/receipt.h"

#include <string.h>

enum { PIECE = 4 << 20, LINE_MOST = 64 << 20, LEAF_LINE = 65, BITS_MOST = 32 << 20 };

/* ---- lines ---- */

struct lines_feed {
	struct arena *a; /* what stays */
	struct arena hold_arena;
	struct pack_lines *to;
	size_t at; /* of the file in `to`, which may grow */
	struct trust trust;
	const struct pack_reading *how;
	char *hold;
	size_t n, cap;
	uint64_t line;
	bool is_dead; /* a line that does not end */
};

struct lines_feed *lines_begin(struct arena *a, struct pack_lines *to, const char *path,
	const struct trust *trust, const struct pack_reading *how)
{
	struct lines_feed *f = arena_zalloc(a, 1, sizeof(*f));

	if (to->n == to->cap) {
		size_t cap = to->cap ? 2 * to->cap : 16;
		to->files = arena_grow(a, to->files, to->cap * sizeof(*to->files), cap * sizeof(*to->files));
		to->cap = cap;
	}
	f->a = a;
	f->to = to;
	f->at = to->n++;
	f->how = how;
	if (trust)
		f->trust = *trust;
	to->files[f->at] = (struct line_file){ .path = path };
	sha256_begin(&to->files[f->at].digest);
	f->cap = PIECE;
	f->hold = arena_text(&f->hold_arena, f->cap);
	return f;
}

/* The first receipt that is not what was signed, with the words for it. */
static void note_broken(struct lines_feed *f, const struct line_fact *fact, uint64_t line)
{
	AUTO(arena_done) struct arena scratch = { 0 };
	struct verification v;
	struct json *receipt;
	struct hash chain;

	if (f->to->broken)
		return;
	verification_begin(&v, &scratch, &f->trust, "receipt");
	(void)verify_receipt_line(&v, fact->text, "line", &receipt, &chain);
	f->to->broken =
		arena_printf(f->a, "%s line %llu", f->to->files[f->at].path, (unsigned long long)line);
	f->to->why = arena_strdup(f->a, v.text ? v.text : "it is no receipt");
}

/* Keys must follow each other here as they do in the chain. */
static bool is_in_order(struct pack_lines *to, const struct line_fact *fact)
{
	if (!hash_eq(&fact->session, &to->session))
		to->key_order = 0;
	to->session = fact->session;
	if (fact->order && fact->order < to->key_order)
		return false;
	to->key_order = fact->order ? fact->order : to->key_order;
	return true;
}

/* The clock and the leaf of one receipt.  The bits grow with the clocks, up to a bound over all files. */
static void note_place(struct lines_feed *f, const struct line_fact *fact)
{
	struct line_file *file = &f->to->files[f->at];
	struct hash leaf = merkle_leaf(fact->chain.b, SHA256_SIZE);

	if (file->is_odd || !fact->clock || (file->count && fact->clock <= file->last)) {
		file->is_odd = true;
		return;
	}
	if (!file->count)
		file->first = fact->clock;
	uint64_t bit = fact->clock - file->first, need = bit / 8 + 1;
	if (need > file->bits_bytes) {
		uint64_t more = need > 2 * file->bits_bytes ? need + 512 : 2 * file->bits_bytes;
		if (need > BITS_MOST || f->to->bits_bytes + more > BITS_MOST) {
			file->is_odd = true;
			return;
		}
		file->bits = arena_grow(f->a, file->bits, file->bits_bytes, more);
		memset(file->bits + file->bits_bytes, 0, more - file->bits_bytes);
		f->to->bits_bytes += more;
		file->bits_bytes = more;
	}
	file->bits[bit / 8] |= (uint8_t)(1 << bit % 8);
	file->last = fact->clock;
	file->count++;
	sha256_add(&file->digest, leaf.b, SHA256_SIZE);
}

static void take_piece(struct lines_feed *f, struct bytes text)
{
	AUTO(arena_done) struct arena scratch = { 0 };
	struct line_fact *facts;
	size_t n = verify_lines_alone(&scratch, &f->trust, text, &facts);

	if (f->how && f->how->visit)
		f->how->visit(f->how->arg, f->to->files[f->at].path, f->line + 1, text);
	rows_want_lines(f->a, &f->to->rows, text);
	for (size_t i = 0; i < n; i++) {
		const struct line_fact *fact = &facts[i];
		f->line++;
		f->to->total++;
		bool is_in_place = is_in_order(f->to, fact);
		if (fact->is_refuted)
			note_broken(f, fact, f->line);
		else if (fact->is_trusted && is_in_place)
			f->to->trusted++;
		else
			f->to->foreign++;
		note_place(f, fact);
	}
}

/* Whole lines go; the rest waits for more. */
static void take_whole(struct lines_feed *f)
{
	const char *end = memrchr(f->hold, '\n', f->n);
	size_t n = end ? (size_t)(end - f->hold) + 1 : 0;

	if (n)
		take_piece(f, (struct bytes){ (uint8_t *)f->hold, n });
	memmove(f->hold, f->hold + n, f->n - n);
	f->n -= n;
}

void lines_feed(struct lines_feed *f, const void *p, size_t n)
{
	const char *from = p;

	while (n && !f->is_dead) {
		size_t k = f->cap - f->n < n ? f->cap - f->n : n;
		memcpy(f->hold + f->n, from, k);
		f->n += k;
		from += k;
		n -= k;
		if (f->n < f->cap)
			continue;
		take_whole(f);
		if (f->n == f->cap && f->cap < LINE_MOST) {
			f->hold = arena_grow(&f->hold_arena, f->hold, f->cap, 2 * f->cap);
			f->cap *= 2;
		} else if (f->n == f->cap) {
			f->is_dead = true;
		}
	}
}

/* A last line without its end is a line all the same: the pack's digests say that it is whole. */
void lines_end(struct lines_feed *f)
{
	if (f->is_dead && !f->to->broken) {
		f->to->broken = f->to->files[f->at].path;
		f->to->why = "a line is longer than any receipt";
	}
	if (!f->is_dead && f->n)
		take_whole(f);
	if (!f->is_dead && f->n)
		take_piece(f, (struct bytes){ (uint8_t *)f->hold, f->n });
	arena_done(&f->hold_arena);
}

/* ---- leaves ---- */

/* A receipt in a file of its own, and the leaf it must have. */
struct single {
	uint64_t at; /* from 1; 0: its name says no place */
	struct hash leaf;
	const char *path;
};

struct leaves_feed {
	struct arena *a;
	struct leaf_check *to;
	struct single *singles;
	size_t n, next;
	struct line_file **files; /* by their first clock */
	size_t file_n, file;
	struct sha256 digest; /* of the leaves of files[file] so far */
	struct merkle tree;
	char part[LEAF_LINE];
	size_t part_n;
};

/* The place in the log that the exporter puts into the name: "receipts/00000012-id.json" stands at 12. */
static uint64_t position_of(const char *path)
{
	const char *digits = path + strlen("receipts/");
	uint64_t n = 0;

	for (int i = 0; i < 8; i++) {
		if (digits[i] < '0' || digits[i] > '9')
			return 0;
		n = n * 10 + (uint64_t)(digits[i] - '0');
	}
	return digits[8] == '-' ? n : 0;
}

static int by_place(const void *x, const void *y)
{
	const struct single *a = x, *b = y;

	if (a->at != b->at)
		return a->at < b->at ? -1 : 1;
	return strcmp(a->path, b->path);
}

static int by_first(const void *x, const void *y)
{
	const struct line_file *a = *(struct line_file *const *)x, *b = *(struct line_file *const *)y;

	return a->first < b->first ? -1 : a->first > b->first;
}

static void misplace(struct leaves_feed *f, const char *path)
{
	if (!f->to->misplaced)
		f->to->misplaced = path;
}

/* Receipts that have a file of their own and were kept.  What is no receipt has no place. */
static void take_singles(struct leaves_feed *f, const struct pack *p)
{
	AUTO(arena_done) struct arena scratch = { 0 };

	f->singles = arena_zalloc(f->a, p->n + 1, sizeof(*f->singles));
	for (size_t i = 0; i < p->n; i++) {
		const struct pack_file *file = &p->files[i];
		struct single *s = &f->singles[f->n];
		struct json *doc;
		struct hash chain;
		arena_reset(&scratch);
		if (!pack_is_receipt(file->path) || !file->is_kept ||
			json_parse(&scratch, file->content, file->path, NULL, &doc, NULL) ||
			!text_eq(member_text(doc, "signature_version"), RECEIPT_V5))
			continue;
		*s = (struct single){ .at = position_of(file->path), .path = file->path };
		if (receipt_chain_hash(&scratch, doc, chain.b, NULL) == OK)
			s->leaf = merkle_leaf(chain.b, SHA256_SIZE);
		if (s->at)
			f->n++;
		else
			misplace(f, file->path);
	}
	if (f->n)
		qsort(f->singles, f->n, sizeof(*f->singles), by_place);
}

static void take_head(struct leaves_feed *f, const struct pack *p)
{
	AUTO(arena_done) struct arena scratch = { 0 };
	struct json *head;

	for (size_t i = 0; i < p->n; i++)
		if (text_eq(p->files[i].path, PACK_HEAD) &&
			pack_json(&scratch, &p->files[i], &head, NULL) == OK)
			f->to->head_size = (uint64_t)json_get_int(head, "tree_size", 0);
}

struct leaves_feed *leaves_begin(struct arena *a, const struct pack *p, struct pack_lines *to)
{
	struct leaves_feed *f = arena_zalloc(a, 1, sizeof(*f));

	f->a = a;
	f->to = &to->leaves;
	*f->to = (struct leaf_check){ 0 };
	take_singles(f, p);
	take_head(f, p);
	f->files = arena_zalloc(a, to->n + 1, sizeof(struct line_file *));
	for (size_t i = 0; i < to->n; i++)
		if (to->files[i].is_odd)
			misplace(f, to->files[i].path);
		else if (to->files[i].count)
			f->files[f->file_n++] = &to->files[i];
	if (f->file_n)
		qsort(f->files, f->file_n, sizeof(struct line_file *), by_first);
	sha256_begin(&f->digest);
	return f;
}

/* All leaves of this file have come by, or should have. */
static void end_file(struct leaves_feed *f)
{
	struct line_file *file = f->files[f->file++];
	struct sha256 wanted = file->digest;
	struct hash want, have;

	sha256_end(&wanted, want.b);
	sha256_end(&f->digest, have.b);
	f->to->last = file->last > f->to->last ? file->last : f->to->last;
	if (hash_eq(&want, &have))
		f->to->placed += file->count;
	else
		misplace(f, file->path);
	sha256_begin(&f->digest);
}

static void take_leaf(struct leaves_feed *f, const struct hash *leaf)
{
	uint64_t clock = ++f->to->count;

	if (f->next < f->n && f->singles[f->next].at == clock)
		f->to->last = clock;
	for (; f->next < f->n && f->singles[f->next].at == clock; f->next++)
		if (hash_eq(&f->singles[f->next].leaf, leaf))
			f->to->placed++;
		else
			misplace(f, f->singles[f->next].path);
	while (f->file < f->file_n && f->files[f->file]->last < clock)
		end_file(f);
	if (f->file < f->file_n && clock >= f->files[f->file]->first) {
		uint64_t bit = clock - f->files[f->file]->first;
		if (f->files[f->file]->bits[bit / 8] >> bit % 8 & 1)
			sha256_add(&f->digest, leaf->b, SHA256_SIZE);
	}
	merkle_append(&f->tree, leaf);
	if (f->tree.size == f->to->head_size)
		f->to->root = merkle_head(&f->tree);
}

/* 64 hex digits and a newline per leaf, and nothing else. */
void leaves_feed(struct leaves_feed *f, const void *p, size_t n)
{
	const char *from = p;
	struct hash leaf;

	while (n && !f->to->is_malformed) {
		size_t k = LEAF_LINE - f->part_n < n ? LEAF_LINE - f->part_n : n;
		memcpy(f->part + f->part_n, from, k);
		f->part_n += k;
		from += k;
		n -= k;
		if (f->part_n < LEAF_LINE)
			break;
		f->part_n = 0;
		if (f->part[LEAF_LINE - 1] != '\n' ||
			!hex_decode(f->part, LEAF_LINE - 1, leaf.b, SHA256_SIZE, true))
			f->to->is_malformed = true;
		else
			take_leaf(f, &leaf);
	}
}

/* On any other form there are no leaves at all, rather than some. */
void leaves_end(struct leaves_feed *f)
{
	f->to->is_malformed |= f->part_n != 0 || !f->to->count;
	while (f->file < f->file_n)
		end_file(f);
	for (; f->next < f->n; f->next++)
		misplace(f, f->singles[f->next].path);
	f->to->is_done = !f->to->is_malformed;
}
