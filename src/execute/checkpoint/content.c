/* content.c — content of any length as objects.
 *
 * Short content is one object.  Longer content is cut where a rolling hash over its last 64 bytes says so
 * (the "gear" hash of content-defined chunking), so that a byte inserted at the front of a gigabyte changes
 * one chunk and not all that follow.  The chunks are listed in an object of their own, one line each: 64
 * hex digits, a space, the length.
 *
 * Manifests are cut finer than files: two checkpoints of a large tree share nearly all of their
 * manifest. */
#include "execute/checkpoint/parts.h"

enum { TREE_WHOLE = 64 << 10, TREE_MIN = 16 << 10, TREE_MAX = 256 << 10, FILE_MIN = 256 << 10 };
enum { LIST_LINE_MIN = 67 };

/* 256 fixed random numbers (SplitMix64 from a fixed seed).  With other numbers everything would still be
 * readable, but content would be cut elsewhere and share nothing with what is stored.  Filled from the end,
 * so that a first entry that is set says the table is complete. */
static const uint64_t *gear(void)
{
	static uint64_t table[256];

	if (table[0])
		return table;
	uint64_t x = 0x48454c4d434b5031;
	for (size_t i = 256; i-- > 0;) {
		x += 0x9e3779b97f4a7c15;
		uint64_t z = x;
		z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
		z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
		table[i] = z ^ (z >> 31);
	}
	return table;
}

/* Where the next chunk ends: at the first place behind the minimum where the hash says so, else at the end
 * of the buffer. */
static size_t cut_at(const struct feed *f)
{
	const uint64_t *g = gear();
	uint64_t h = 0;

	for (size_t i = f->min; i < f->n; i++) {
		h = (h << 1) + g[f->buf[i]];
		if (!(h & f->mask))
			return i + 1;
	}
	return f->n;
}

void feed_begin(struct feed *f, struct pool *p, struct arena *a, bool is_tree)
{
	uint8_t *kept = f->buf;

	*f = (struct feed){ .pool = p, .buf = kept };
	f->min = is_tree ? TREE_MIN : FILE_MIN;
	f->max = is_tree ? TREE_MAX : CHUNK_MAX;
	f->whole_max = is_tree ? TREE_WHOLE : CHUNK_WHOLE;
	/* High bits: they have seen the most bytes. */
	f->mask = is_tree ? (uint64_t)0xffff << 48 : (uint64_t)0xfffff << 44;
	if (!f->buf)
		f->buf = arena_alloc(a, CHUNK_MAX);
	f->a = a;
}

/* Stores the first n bytes of the buffer as a chunk and adds it to the list. */
static int emit(struct feed *f, size_t n, struct err *e)
{
	struct object_id id;
	char hex[SHA256_HEX];

	if (!f->chunk_count) {
		sha256_begin(&f->whole);
		buf_init(&f->list, f->a);
	}
	sha256_add(&f->whole, f->buf, n);
	if (pool_add(f->pool, (struct bytes){ f->buf, n }, &id, e))
		return e->rc;
	hex_encode(id.b, SHA256_SIZE, hex);
	buf_addf(&f->list, "%s %zu\n", hex, n);
	f->chunk_count++;
	f->total += n;
	memmove(f->buf, f->buf + n, f->n - n);
	f->n -= n;
	return OK;
}

/* A full buffer is cut once, which always makes room. */
int feed_room(struct feed *f, uint8_t **ret_at, size_t *ret_n, struct err *e)
{
	if (f->n == f->max && emit(f, cut_at(f), e))
		return e->rc;
	*ret_at = f->buf + f->n;
	*ret_n = f->max - f->n;
	return OK;
}

void feed_filled(struct feed *f, size_t n)
{
	f->n += n;
}

int feed_add(struct feed *f, struct bytes from, struct err *e)
{
	while (from.n) {
		uint8_t *to;
		size_t room;
		if (feed_room(f, &to, &room, e))
			return e->rc;
		size_t step = from.n < room ? from.n : room;
		memcpy(to, from.p, step);
		feed_filled(f, step);
		from.p += step;
		from.n -= step;
	}
	return OK;
}

/* Content that fits is one object; otherwise the rest is cut, and the list is stored.  Its own size bounds
 * how large a file can be. */
int feed_end(struct feed *f, struct content *ret, struct err *e)
{
	struct content c = { 0 };

	if (!f->chunk_count && f->n <= f->whole_max) {
		c.n = f->n;
		if (pool_add(f->pool, (struct bytes){ f->buf, f->n }, &c.sha, e))
			return e->rc;
		*ret = c;
		return OK;
	}
	while (f->n)
		if (emit(f, cut_at(f), e))
			return e->rc;
	if (f->list.n > CHUNK_MAX)
		return err_set(e, E_LIMIT, "CHECKPOINT_LIMIT", "a file of %llu bytes has too many chunks",
			(unsigned long long)f->total);
	sha256_end(&f->whole, c.sha.b);
	c.n = f->total;
	c.is_list = true;
	if (pool_add(f->pool, buf_bytes(&f->list), &c.list, e))
		return e->rc;
	*ret = c;
	return OK;
}

static int bad_list(struct err *e)
{
	return err_set(e, E_CORRUPT, "CHECKPOINT_LIST", "a list of chunks is damaged");
}

/* One line of a chunk list.  Lengths are bounded, so that a damaged list cannot ask for absurd memory. */
static int parse_chunk(struct bytes line, struct object_id *id, uint64_t *ret_n, struct err *e)
{
	int64_t n;
	char number[24];

	if (line.n < LIST_LINE_MIN - 1 || line.n > 64 + 1 + 20 || line.p[64] != ' ' ||
		!hex_decode((const char *)line.p, 64, id->b, SHA256_SIZE, true))
		return bad_list(e);
	memcpy(number, line.p + 65, line.n - 65);
	number[line.n - 65] = '\0';
	if (!text_int(number, &n) || n < 1 || n > CHUNK_MAX)
		return bad_list(e);
	*ret_n = (uint64_t)n;
	return OK;
}

/* The list object itself; a copy, because reading the chunks reuses the pool's memory. */
static int load_list(
	struct pool *p, struct arena *a, const struct content *c, struct bytes *ret, struct err *e)
{
	struct bytes raw;

	if (pool_read(p, &c->list, &raw, e))
		return e->rc;
	if (!raw.n || raw.p[raw.n - 1] != '\n')
		return bad_list(e);
	*ret = (struct bytes){ (const uint8_t *)arena_strndup(a, (const char *)raw.p, raw.n - 1), raw.n - 1 };
	return OK;
}

/* The list is given before it is read: whoever checks objects learns first whether the list itself is
 * whole. */
int content_objects(struct pool *p, struct arena *a, const struct content *c, content_object *fn, void *arg,
	struct err *e)
{
	struct bytes list;
	struct object_id id;
	uint64_t n;

	if (!c->is_list)
		return fn(arg, &c->sha, e);
	if (fn(arg, &c->list, e) || load_list(p, a, c, &list, e))
		return e->rc;
	while (list.p) {
		if (parse_chunk(text_cut(&list, '\n'), &id, &n, e) || fn(arg, &id, e))
			return e->rc;
	}
	return OK;
}

struct reader {
	struct pool *pool;
	content_piece *fn;
	void *arg;
	struct sha256 whole;
	uint64_t total;
	bool is_list_seen;
};

/* The first object is the list itself, which is no part of the content. */
static int read_chunk(void *arg, const struct object_id *id, struct err *e)
{
	struct reader *r = arg;
	struct bytes piece;

	if (!r->is_list_seen) {
		r->is_list_seen = true;
		return OK;
	}
	if (pool_read(r->pool, id, &piece, e))
		return e->rc;
	sha256_add(&r->whole, piece.p, piece.n);
	r->total += piece.n;
	return r->fn(r->arg, piece, e);
}

/* Each object is checked by its name, and the whole once more by its digest: whole chunks in a wrong order
 * are found, too. */
int content_read(
	struct pool *p, struct arena *a, const struct content *c, content_piece *fn, void *arg, struct err *e)
{
	struct bytes piece;
	struct object_id whole;

	if (!c->is_list) {
		if (pool_read(p, &c->sha, &piece, e))
			return e->rc;
		if (piece.n != c->n)
			return err_set(e, E_CORRUPT, "CHECKPOINT_OBJECT", "an object has the wrong length");
		return fn(arg, piece, e);
	}
	struct reader r = { .pool = p, .fn = fn, .arg = arg };
	sha256_begin(&r.whole);
	if (content_objects(p, a, c, read_chunk, &r, e))
		return e->rc;
	sha256_end(&r.whole, whole.b);
	if (r.total != c->n || !object_eq(&whole, &c->sha))
		return err_set(e, E_CORRUPT, "CHECKPOINT_OBJECT", "chunks do not add up to what was saved");
	return OK;
}

static int keep_piece(void *arg, struct bytes piece, struct err *e)
{
	struct bytes *left = arg;

	if (piece.n > left->n)
		return err_set(e, E_CORRUPT, "CHECKPOINT_OBJECT", "content is longer than the manifest says");
	memcpy((uint8_t *)(uintptr_t)left->p, piece.p, piece.n);
	left->p += piece.n;
	left->n -= piece.n;
	return OK;
}

int content_load(struct pool *p, struct arena *a, const struct content *c, size_t max_bytes,
	struct bytes *ret, struct err *e)
{
	if (c->n > max_bytes)
		return err_set(e, E_LIMIT, "CHECKPOINT_LIMIT", "content of %llu bytes is more than %zu",
			(unsigned long long)c->n, max_bytes);
	uint8_t *all = (uint8_t *)arena_text(a, c->n + 1);
	struct bytes left = { all, c->n };
	if (content_read(p, a, c, keep_piece, &left, e))
		return e->rc;
	all[c->n] = '\0';
	*ret = (struct bytes){ all, c->n };
	return OK;
}

/* The digest of the whole stands in no list, so the chunks are read for it. */
bool content_of_list(
	struct pool *p, struct arena *a, const struct object_id *id, const char *start, struct content *ret)
{
	struct content c = { .list = *id, .is_list = true };
	struct bytes list, piece;
	struct sha256 whole;
	struct err why;
	struct object_id chunk;
	uint64_t n;

	if (load_list(p, a, &c, &list, &why))
		return false;
	sha256_begin(&whole);
	while (list.p) {
		if (parse_chunk(text_cut(&list, '\n'), &chunk, &n, &why) ||
			pool_read(p, &chunk, &piece, &why))
			return false;
		if (!c.n && (piece.n < strlen(start) || memcmp(piece.p, start, strlen(start))))
			return false;
		sha256_add(&whole, piece.p, piece.n);
		c.n += piece.n;
	}
	sha256_end(&whole, c.sha.b);
	*ret = c;
	return true;
}
