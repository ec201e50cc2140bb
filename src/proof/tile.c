/* tile.c — tiles of a transparency log: coordinates, appending, roots and proofs.
 *
 * Everything follows from one thing: the root of a perfect subtree of 2^k leaves, for k = 8 L + j, is the root of 2^j neighbours in one
 * tile of level L.  A tree of any size is a row of perfect subtrees, one for each bit of its size, which is the right edge that struct
 * merkle keeps; and the parts that a proof is made of (merkle.h) are such rows too.  So a root or a proof costs at most a tile for each
 * level and side of the path.
 *
 * Appending fills the last tile of level 0; each one that becomes full gives one hash to the level above, and so on upwards. */
#include "proof/tile.h"

#include "base/text.h"

#include <stdio.h>
#include <string.h>

static const char tile_word[] = "tile/", entries_word[] = "entries";
enum { IDX_MOST_DIGITS = 18 }; /* of an index: 10^18 tiles are more than 2^63 leaves */

/* ---- coordinates ---- */

size_t tile_bytes(const struct tile *t)
{
	return t->width * (size_t)(t->level == TILE_ENTRIES ? TILE_ENTRY : SHA256_SIZE);
}

/* Hashes (or entries) of this level in a tree of that size. */
static uint64_t level_size(uint64_t size, int level)
{
	return level == TILE_ENTRIES ? size : size >> (TILE_HEIGHT * level);
}

struct tile tile_of(uint64_t size, int level, uint64_t idx)
{
	uint64_t n = level_size(size, level), full = n / TILE_WIDTH;
	unsigned width = idx < full ? TILE_WIDTH : idx == full ? (unsigned)(n % TILE_WIDTH) : 0;

	return (struct tile){ level, idx, width };
}

void tile_path(const struct tile *t, char ret_path[TILE_PATH])
{
	uint64_t scale = 1;
	size_t n;

	n = (size_t)(t->level == TILE_ENTRIES ? snprintf(ret_path, TILE_PATH, "%s%s", tile_word, entries_word)
					      : snprintf(ret_path, TILE_PATH, "%s%d", tile_word, t->level));
	while (t->idx / scale >= 1000)
		scale *= 1000;
	for (; scale; scale /= 1000)
		n += (size_t)snprintf(ret_path + n, TILE_PATH - n, "/%s%03u", scale > 1 ? "x" : "",
			(unsigned)(t->idx / scale % 1000));
	if (t->width < TILE_WIDTH)
		(void)snprintf(ret_path + n, TILE_PATH - n, ".p/%u", t->width);
}

/* A small decimal without leading zeroes; -1 for anything else. */
static int small_number(struct bytes text)
{
	int v = 0;

	if (!text.n || text.n > 3 || (text.n > 1 && text.p[0] == '0'))
		return -1;
	for (size_t i = 0; i < text.n; i++) {
		if (text.p[i] < '0' || text.p[i] > '9')
			return -1;
		v = v * 10 + text.p[i] - '0';
	}
	return v;
}

/* "x001/x234/067": three digits each, all but the last with an x before them, and no group too many in front. */
static bool parse_index(struct bytes text, uint64_t *ret)
{
	uint64_t v = 0;
	size_t digits = 0;
	bool is_last = false;

	while (!is_last) {
		struct bytes part = text_cut(&text, '/');
		is_last = !text.p;
		if (!is_last) {
			if (part.n != 4 || part.p[0] != 'x')
				return false;
			part = (struct bytes){ part.p + 1, 3 };
		}
		if (part.n != 3 || (digits += 3) > IDX_MOST_DIGITS)
			return false;
		for (int i = 0; i < 3; i++) {
			if (part.p[i] < '0' || part.p[i] > '9')
				return false;
			v = v * 10 + (uint64_t)(part.p[i] - '0');
		}
		if (digits == 3 && !is_last && v == 0)
			return false;
	}
	*ret = v;
	return true;
}

/* Cuts ".p/W" off; full width when it is not there, 0 when it is wrong. */
static unsigned take_width(struct bytes *path)
{
	for (size_t i = 0; i + 3 <= path->n; i++)
		if (memcmp(path->p + i, ".p/", 3) == 0) {
			int width = small_number((struct bytes){ path->p + i + 3, path->n - i - 3 });
			path->n = i;
			return width > 0 && width < TILE_WIDTH ? (unsigned)width : 0;
		}
	return TILE_WIDTH;
}

bool tile_parse_path(struct bytes path, struct tile *ret)
{
	size_t word = sizeof(tile_word) - 1;
	struct tile t;

	if (path.n < word || path.n >= TILE_PATH || memcmp(path.p, tile_word, word) != 0)
		return false;
	path = (struct bytes){ path.p + word, path.n - word };
	t.width = take_width(&path);
	struct bytes level = text_cut(&path, '/');
	t.level = bytes_is(level, entries_word) ? TILE_ENTRIES : small_number(level);
	if (!path.p || !t.width || (t.level < 0 && !bytes_is(level, entries_word)) ||
		t.level >= TILE_LEVELS || !parse_index(path, &t.idx))
		return false;
	*ret = t;
	return true;
}

/* ---- reading ---- */

/* What one question has read so far: a proof comes back to the same few tiles. */
struct seen_tile {
	struct tile_row row;
	const struct seen_tile *next;
};
struct reading {
	struct arena *a;
	const struct tile_source *from;
	uint64_t size; /* of the tree that is asked about */
	const struct seen_tile *seen;
};

static int read_tile(struct reading *r, const struct tile *t, struct bytes *ret, struct err *e)
{
	int rc;

	for (const struct seen_tile *s = r->seen; s; s = s->next)
		if (s->row.at.level == t->level && s->row.at.idx == t->idx) {
			*ret = s->row.data;
			return OK;
		}
	rc = r->from->read(r->from->arg, r->a, t, ret, e);
	if (rc)
		return rc;
	if (ret->n < tile_bytes(t)) {
		char path[TILE_PATH];
		tile_path(t, path);
		return err_set(e, E_CORRUPT, "TILE_SHORT",
			"%s of the log is too short: %zu bytes instead of %zu", path, ret->n, tile_bytes(t));
	}
	struct seen_tile *now = arena_alloc(r->a, sizeof(*now));
	*now = (struct seen_tile){ { *t, *ret }, r->seen };
	r->seen = now;
	return OK;
}

/* The root of 2^j neighbours of a tile. */
static struct hash root_in(struct bytes tile, uint64_t offset, unsigned j)
{
	struct merkle m = { 0 };
	struct hash h;

	for (uint64_t i = 0; i < UINT64_C(1) << j; i++) {
		memcpy(h.b, tile.p + (offset + i) * SHA256_SIZE, SHA256_SIZE);
		merkle_append(&m, &h);
	}
	return merkle_head(&m);
}

/* The root of the perfect subtree of 2^k leaves that begins at `from`. */
static int perfect(struct reading *r, uint64_t from, unsigned k, struct hash *ret, struct err *e)
{
	int level = (int)k / TILE_HEIGHT;
	uint64_t at = from >> (TILE_HEIGHT * level);
	struct tile t = tile_of(r->size, level, at / TILE_WIDTH);
	struct bytes data;
	int rc = read_tile(r, &t, &data, e);

	if (rc)
		return rc;
	*ret = root_in(data, at % TILE_WIDTH, k % TILE_HEIGHT);
	return OK;
}

/* The row of perfect subtrees that n leaves from `from` on are: the largest first. */
static int edge_of(struct reading *r, struct merkle_range range, struct merkle *ret, struct err *e)
{
	uint64_t at = range.from;

	*ret = (struct merkle){ .size = range.n };
	for (unsigned k = MERKLE_MAX_PATH; k-- > 0;)
		if (range.n >> k & 1) {
			int rc = perfect(r, at, k, &ret->edge[k], e);
			if (rc)
				return rc;
			at += UINT64_C(1) << k;
		}
	return OK;
}

static int too_large(uint64_t size, struct err *e)
{
	return err_set(e, E_INPUT, "TILE_RANGE", "no log has %llu leaves", (unsigned long long)size);
}

int tile_root(struct arena *a, const struct tile_source *from, uint64_t size, struct hash *ret, struct err *e)
{
	struct reading r = { .a = a, .from = from, .size = size };
	struct merkle m;
	int rc;

	if (size > INT64_MAX)
		return too_large(size, e);
	rc = edge_of(&r, (struct merkle_range){ 0, size }, &m, e);
	if (rc)
		return rc;
	*ret = merkle_head(&m);
	return OK;
}

static int prove(struct reading *r, const struct merkle_range *ranges, size_t n, struct hash *ret_path,
	size_t *ret_n, struct err *e)
{
	for (size_t i = 0; i < n; i++) {
		struct merkle m;
		int rc = edge_of(r, ranges[i], &m, e);
		if (rc)
			return rc;
		ret_path[i] = merkle_head(&m);
	}
	*ret_n = n;
	return OK;
}

int tile_prove_inclusion(struct arena *a, const struct tile_source *from, uint64_t size, uint64_t index,
	struct hash *ret_path, size_t *ret_n, struct err *e)
{
	struct reading r = { .a = a, .from = from, .size = size };
	struct merkle_range ranges[MERKLE_MAX_PATH];

	if (size > INT64_MAX)
		return too_large(size, e);
	if (index >= size)
		return err_set(e, E_INPUT, "TILE_RANGE", "leaf %llu is not among the %llu of the log",
			(unsigned long long)index, (unsigned long long)size);
	return prove(&r, ranges, merkle_inclusion_ranges(size, index, ranges), ret_path, ret_n, e);
}

int tile_prove_consistency(struct arena *a, const struct tile_source *from, uint64_t size, uint64_t old_size,
	struct hash *ret_path, size_t *ret_n, struct err *e)
{
	struct reading r = { .a = a, .from = from, .size = size };
	struct merkle_range ranges[MERKLE_MAX_PATH];

	if (size > INT64_MAX)
		return too_large(size, e);
	if (!old_size || old_size > size)
		return err_set(e, E_INPUT, "TILE_RANGE",
			"a tree of %llu leaves is no beginning of one of %llu", (unsigned long long)old_size,
			(unsigned long long)size);
	return prove(&r, ranges, merkle_consistency_ranges(size, old_size, ranges), ret_path, ret_n, e);
}

/* ---- growing ---- */

/* One level while it grows: its last tile, which has room for the whole width. */
struct growing {
	struct tile at;
	uint8_t *data;
	bool has_grown;
};

static void add_row(struct arena *a, struct tile_rows *rows, const struct growing *g)
{
	if (rows->n == rows->cap) {
		size_t cap = rows->cap ? 2 * rows->cap : 16;
		rows->list =
			arena_grow(a, rows->list, rows->n * sizeof(*rows->list), cap * sizeof(*rows->list));
		rows->cap = cap;
	}
	rows->list[rows->n++] = (struct tile_row){ g->at, { g->data, tile_bytes(&g->at) } };
}

static uint8_t *new_data(struct arena *a, int level)
{
	return arena_alloc(a, tile_bytes(&(struct tile){ level, 0, TILE_WIDTH }));
}

/* The last tile of a level, as far as it is filled. */
static int begin_level(struct reading *r, int level, struct growing *ret, struct err *e)
{
	uint64_t n = level_size(r->size, level);
	struct bytes data;

	*ret = (struct growing){ .at = tile_of(r->size, level, n / TILE_WIDTH),
		.data = new_data(r->a, level) };
	if (!ret->at.width)
		return OK;
	int rc = read_tile(r, &ret->at, &data, e);
	if (rc == OK)
		memcpy(ret->data, data.p, tile_bytes(&ret->at));
	return rc;
}

/* Adds what is next.  True: the tile is full, and on the list; an empty one follows. */
static bool push(struct arena *a, struct growing *g, const uint8_t *item, size_t n, struct tile_rows *rows,
	struct hash *ret_root)
{
	memcpy(g->data + g->at.width * n, item, n);
	g->at.width++;
	g->has_grown = true;
	if (g->at.width < TILE_WIDTH)
		return false;
	add_row(a, rows, g);
	if (g->at.level != TILE_ENTRIES)
		*ret_root = root_in((struct bytes){ g->data, tile_bytes(&g->at) }, 0, TILE_HEIGHT);
	*g = (struct growing){ .at = { g->at.level, g->at.idx + 1, 0 }, .data = new_data(a, g->at.level) };
	return true;
}

/* Level by level, so that rows come in order; what one level passes up is 1 / 256 of what it got. */
static void grow_level(struct arena *a, struct growing *g, const struct hash *hashes, size_t n,
	struct tile_rows *rows, struct hash *ret_up, size_t *ret_n)
{
	*ret_n = 0;
	for (size_t i = 0; i < n; i++)
		*ret_n += push(a, g, hashes[i].b, SHA256_SIZE, rows, &ret_up[*ret_n]);
	if (g->has_grown)
		add_row(a, rows, g);
}

static void grow_entries(
	struct arena *a, struct growing *g, const struct hash *chain_hashes, size_t n, struct tile_rows *rows)
{
	uint8_t entry[TILE_ENTRY] = { 0, SHA256_SIZE };

	for (size_t i = 0; i < n; i++) {
		memcpy(entry + 2, chain_hashes[i].b, SHA256_SIZE);
		(void)push(a, g, entry, sizeof(entry), rows, NULL);
	}
	if (g->has_grown)
		add_row(a, rows, g);
}

/* The right edge of the tree that these last tiles are of: bit k of a tile's width is a perfect subtree in it. */
static struct hash head_of(uint64_t size, const struct growing *levels)
{
	struct merkle m = { .size = size };

	for (int level = 0; level < TILE_LEVELS; level++) {
		const struct growing *g = &levels[level];
		uint64_t at = 0;
		for (unsigned j = TILE_HEIGHT; j-- > 0;)
			if (g->at.width >> j & 1) {
				m.edge[TILE_HEIGHT * level + (int)j] =
					root_in((struct bytes){ g->data, tile_bytes(&g->at) }, at, j);
				at += UINT64_C(1) << j;
			}
	}
	return merkle_head(&m);
}

/* All levels as they are, and that they are what they should be. */
static int begin(struct reading *r, const struct hash *root, struct growing *entries, struct growing *levels,
	struct err *e)
{
	int rc = begin_level(r, TILE_ENTRIES, entries, e);

	for (int level = 0; rc == OK && level < TILE_LEVELS; level++)
		rc = begin_level(r, level, &levels[level], e);
	if (rc)
		return rc;
	struct hash have = head_of(r->size, levels);
	return hash_eq(&have, root)
		? OK
		: err_set(e, E_CORRUPT, "TILE_ROOT",
			  "the tiles of the log do not lead to the root of its %llu leaves; "
			  "they were changed, and nothing is built upon them",
			  (unsigned long long)r->size);
}

int tile_append(struct arena *a, const struct tile_source *from, uint64_t size, const struct hash *root,
	const struct hash *chain_hashes, size_t n, struct tile_rows *ret_rows, struct hash *ret_root,
	struct err *e)
{
	struct reading r = { .a = a, .from = from, .size = size };
	struct growing entries, levels[TILE_LEVELS];
	struct tile_rows rows = { 0 };
	int rc;

	if (size > INT64_MAX || n > INT64_MAX - size)
		return too_large(size, e);
	rc = begin(&r, root, &entries, levels, e);
	if (rc)
		return rc;
	grow_entries(a, &entries, chain_hashes, n, &rows);
	struct hash *hashes = arena_zalloc(a, n, sizeof(*hashes));
	for (size_t i = 0; i < n; i++)
		hashes[i] = merkle_leaf(chain_hashes[i].b, SHA256_SIZE);
	size_t left = n;
	for (int level = 0; level < TILE_LEVELS; level++)
		/* What goes up overwrites what was read already. */
		grow_level(a, &levels[level], hashes, left, &rows, hashes, &left);
	*ret_root = head_of(size + n, levels);
	*ret_rows = rows;
	return OK;
}

/* ---- entries ---- */

bool tile_entry(struct bytes bundle, unsigned width, unsigned i, struct hash *ret_chain)
{
	const uint8_t *at;

	if (i >= width || bundle.n != (size_t)width * TILE_ENTRY)
		return false;
	at = bundle.p + (size_t)i * TILE_ENTRY;
	if (at[0] != 0 || at[1] != SHA256_SIZE)
		return false;
	memcpy(ret_chain->b, at + 2, SHA256_SIZE);
	return true;
}

bool tile_bundle_fits(struct bytes bundle, struct bytes leaves, unsigned width)
{
	if (leaves.n != (size_t)width * SHA256_SIZE || bundle.n != (size_t)width * TILE_ENTRY)
		return false;
	for (unsigned i = 0; i < width; i++) {
		struct hash chain, leaf;
		if (!tile_entry(bundle, width, i, &chain))
			return false;
		leaf = merkle_leaf(chain.b, SHA256_SIZE);
		if (memcmp(leaf.b, leaves.p + (size_t)i * SHA256_SIZE, SHA256_SIZE) != 0)
			return false;
	}
	return true;
}
