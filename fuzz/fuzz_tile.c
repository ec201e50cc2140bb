/* fuzz_tile.c — names of tiles from strangers, and a log that grows in any steps from tiles that were perhaps changed: its roots are those of
 * the list of its leaves, its proofs hold, and a changed tile is never built upon. */
#include "base/text.h"
#include "fuzz.h"
#include "proof/tile.h"

#include <string.h>

enum { MOST = 1200, ROWS = 32 };

struct store {
	struct tile_row rows[ROWS];
	size_t n;
};

static int read_store(void *arg, struct arena *a, const struct tile *t, struct bytes *ret, struct err *e)
{
	struct store *s = arg;

	(void)a;
	for (size_t i = 0; i < s->n; i++)
		if (s->rows[i].at.level == t->level && s->rows[i].at.idx == t->idx) {
			*ret = s->rows[i].data;
			return OK;
		}
	return err_set(e, E_MISSING, "STORE", "none");
}

static void put(struct store *s, const struct tile_rows *rows)
{
	for (size_t i = 0; i < rows->n; i++) {
		size_t k = 0;
		while (k < s->n &&
			(s->rows[k].at.level != rows->list[i].at.level ||
				s->rows[k].at.idx != rows->list[i].at.idx))
			k++;
		if (k == ROWS)
			__builtin_trap();
		s->rows[k] = rows->list[i];
		s->n += k == s->n;
	}
}

static void grow(struct arena *a, const uint8_t *steps, size_t n)
{
	struct hash chain[MOST], leaves[MOST], path[MERKLE_MAX_PATH];
	struct store store = { 0 };
	struct tile_source from = { read_store, &store };
	struct hash root = merkle_root(NULL, 0), expected;
	struct err e = { 0 };
	size_t size = 0, path_n;

	for (uint32_t i = 0; i < MOST; i++) {
		sha256(&i, sizeof(i), chain[i].b);
		leaves[i] = merkle_leaf(chain[i].b, SHA256_SIZE);
	}
	for (size_t i = 0; i < n && i < 8; i++) {
		struct tile_rows rows;
		size_t step = steps[i] * (size_t)(1 + i % 3), old = size;
		if (size + step > MOST)
			return;
		if (tile_append(a, &from, size, &root, chain + size, step, &rows, &root, &e))
			__builtin_trap();
		put(&store, &rows);
		size += step;
		expected = merkle_root(leaves, size);
		if (!hash_eq(&root, &expected))
			__builtin_trap();
		if (size &&
			(tile_prove_inclusion(a, &from, size, steps[i] % size, path, &path_n, &e) ||
				merkle_check_inclusion(&leaves[steps[i] % size], steps[i] % size, size, path,
					path_n, &root, &e)))
			__builtin_trap();
		expected = merkle_root(leaves, old);
		if (old &&
			(tile_prove_consistency(a, &from, size, old, path, &path_n, &e) ||
				merkle_check_consistency(old, size, path, path_n, &expected, &root, &e)))
			__builtin_trap();
	}
	if (size % TILE_WIDTH && n > 8) {
		/* One bit of the last leaves is another one: whoever appends finds out. */
		struct tile_rows rows = { 0 };
		for (size_t i = 0; i < store.n; i++)
			if (store.rows[i].at.level == 0 && store.rows[i].at.width < TILE_WIDTH)
				((uint8_t *)store.rows[i].data.p)[n % store.rows[i].data.n] ^= 1;
		if (tile_append(a, &from, size, &root, chain, 1, &rows, &expected, &e) == OK || rows.n)
			__builtin_trap();
	}
}

void fuzz_one(const uint8_t *data, size_t size)
{
	AUTO(arena_done) struct arena a = { .limit_bytes = 64 << 20 };
	char path[TILE_PATH];
	struct tile t;

	if (tile_parse_path((struct bytes){ data, size }, &t)) {
		tile_path(&t, path);
		if (strlen(path) != size || memcmp(path, data, size) != 0 || !t.width)
			__builtin_trap();
	}
	if (size && size <= 64)
		grow(&a, data, size);
}
