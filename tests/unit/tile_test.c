/* tile_test.c — tiles: their names, growing in any steps, roots and proofs equal to those of the whole list of leaves. */
#include "base/text.h"
#include "proof/tile.h"
#include "tools/unit.h"

#include <stdlib.h>
#include <string.h>

enum { LEAVES = 70000, STORE = 4096 };
static struct arena a;
static struct err e;
static struct hash *chain, *leaves;

/* A store of rows as the database has them, and faults to order. */
struct store {
	struct tile_row rows[STORE];
	size_t n, reads;
	int fail_at; /* the n-th read fails; 0: none */
	bool is_short;
};
static struct store store;

static int read_store(void *arg, struct arena *to, const struct tile *t, struct bytes *ret, struct err *err)
{
	struct store *s = arg;

	(void)to;
	if (++s->reads == (size_t)s->fail_at)
		return err_set(err, E_IO, "STORE", "no");
	for (size_t i = 0; i < s->n; i++)
		if (s->rows[i].at.level == t->level && s->rows[i].at.idx == t->idx) {
			*ret = s->rows[i].data;
			if (s->is_short)
				ret->n = tile_bytes(t) - 1;
			return OK;
		}
	return err_set(err, E_MISSING, "STORE", "there is no tile of level %d", t->level);
}
static const struct tile_source source = { read_store, &store };

static void put(const struct tile_rows *rows)
{
	for (size_t i = 0; i < rows->n; i++) {
		size_t k = 0;
		while (k < store.n &&
			(store.rows[k].at.level != rows->list[i].at.level ||
				store.rows[k].at.idx != rows->list[i].at.idx))
			k++;
		assert_true(k < STORE);
		if (k < store.n) /* what was there is the beginning of what is there now */
			assert_memory_equal(store.rows[k].data.p, rows->list[i].data.p, store.rows[k].data.n);
		assert_int_equal(rows->list[i].data.n, tile_bytes(&rows->list[i].at));
		store.rows[k] = rows->list[i];
		store.n += k == store.n;
	}
}

static struct hash root_of(uint64_t n)
{
	return merkle_root(leaves, n);
}

static uint64_t grow(uint64_t size, size_t n)
{
	struct hash root = root_of(size), new_root, expected = root_of(size + n);
	struct tile_rows rows;

	e = (struct err){ 0 };
	assert_int_equal(tile_append(&a, &source, size, &root, chain + size, n, &rows, &new_root, &e), OK);
	assert_true(hash_eq(&new_root, &expected));
	put(&rows);
	return size + n;
}

static int setup(void **state)
{
	(void)state;
	chain = calloc(LEAVES, sizeof(*chain));
	leaves = calloc(LEAVES, sizeof(*leaves));
	assert_true(chain && leaves);
	for (uint32_t i = 0; i < LEAVES; i++) {
		sha256(&i, sizeof(i), chain[i].b);
		leaves[i] = merkle_leaf(chain[i].b, SHA256_SIZE);
	}
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	free(chain);
	free(leaves);
	arena_done(&a);
	return 0;
}

static void paths_are_spelled_one_way(void **state)
{
	static const struct {
		struct tile t;
		const char *path;
	} known[] = {
		{ { 0, 0, 256 }, "tile/0/000" },
		{ { 0, 1234067, 256 }, "tile/0/x001/x234/067" },
		{ { 1, 999, 1 }, "tile/1/999.p/1" },
		{ { 7, 1000, 255 }, "tile/7/x001/000.p/255" },
		{ { TILE_ENTRIES, 273, 112 }, "tile/entries/273.p/112" },
		{ { TILE_ENTRIES, UINT64_C(36028797018963967), 256 },
			"tile/entries/x036/x028/x797/x018/x963/967" },
	};
	static const char *const bad[] = { "", "tile/", "tile/0", "tile/0/", "tile/0/0", "tile/0/0000",
		"tile/0/x000/001", "tile/0/x001/x002", "tile/0/001/002", "tile/0/000.p/0", "tile/0/000.p/256",
		"tile/0/000.p/01", "tile/0/000.p/", "tile/0/000.p/1/", "tile/0/000.p/1.p/1", "tile/00/000",
		"tile/8/000", "tile/-1/000", "tile/x/000", "tile/entries", "tile/entry/000", "Tile/0/000",
		"tile/0/00a", "tile/0/0/0", "tile/0/x00a/000", "tile/0/y001/000", "tile/0/000.p/1a",
		"tile/0/000.p/1000", "tile/0/x001/x001/x001/x001/x001/x001/001",
		"tile/0/x001/x001/x001/x001/x001/x001/x001/x001/x001/x001/x001/001", "tile/0/0-0",
		"tile//000", "tile/1000/000" };
	char path[TILE_PATH];
	struct tile t;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		tile_path(&known[i].t, path);
		assert_string_equal(path, known[i].path);
		assert_true(tile_parse_path(bytes_of(path), &t));
		assert_true(t.level == known[i].t.level && t.idx == known[i].t.idx &&
			t.width == known[i].t.width);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_false(tile_parse_path(bytes_of(bad[i]), &t));
	tile_path(&(struct tile){ TILE_ENTRIES, UINT64_MAX, 255 }, path);
	assert_true(strlen(path) < TILE_PATH);
}

/* The example of the specification: 70 000 leaves. */
static void a_tree_has_these_tiles(void **state)
{
	(void)state;
	assert_int_equal(tile_of(70000, 0, 272).width, 256);
	assert_int_equal(tile_of(70000, 0, 273).width, 112);
	assert_int_equal(tile_of(70000, 0, 274).width, 0);
	assert_int_equal(tile_of(70000, 1, 0).width, 256);
	assert_int_equal(tile_of(70000, 1, 1).width, 17);
	assert_int_equal(tile_of(70000, 2, 0).width, 1);
	assert_int_equal(tile_of(70000, 3, 0).width, 0);
	assert_int_equal(tile_of(256, 1, 0).width, 1);
	assert_int_equal(tile_of(300, TILE_ENTRIES, 1).width, 44);
}

static void growing_in_steps_gives_the_same_tree(void **state)
{
	static const size_t steps[] = { 0, 1, 1, 3, 250, 1, 1, 255, 256, 257, 512, 1000, 63262, 1, 0, 255 };
	uint64_t size = 0;
	struct hash root, expected;

	(void)state;
	store = (struct store){ 0 };
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++)
		size = grow(size, steps[i]);
	size = grow(size, LEAVES - size);
	assert_int_equal(store.n, 2 * 274 + 2 + 1);
	for (size_t i = 0; i < store.n; i++) {
		struct tile t = tile_of(size, store.rows[i].at.level, store.rows[i].at.idx);
		assert_int_equal(store.rows[i].at.width, t.width);
	}
	for (uint64_t n = 0; n <= size; n = 3 * n + 1) {
		assert_int_equal(tile_root(&a, &source, n, &root, &e), OK);
		expected = root_of(n);
		assert_true(hash_eq(&root, &expected));
	}
}

static void check_proofs(uint64_t size, uint64_t index, uint64_t old)
{
	struct hash path[MERKLE_MAX_PATH], root = root_of(size), old_root = root_of(old);
	size_t n;

	e = (struct err){ 0 };
	assert_int_equal(tile_prove_inclusion(&a, &source, size, index, path, &n, &e), OK);
	assert_int_equal(merkle_check_inclusion(&leaves[index], index, size, path, n, &root, &e), OK);
	assert_int_equal(tile_prove_consistency(&a, &source, size, old, path, &n, &e), OK);
	assert_int_equal(merkle_check_consistency(old, size, path, n, &old_root, &root, &e), OK);
}

/* The store has all 70 000 leaves: proofs for smaller trees come from beginnings of its tiles. */
static void proofs_hold(void **state)
{
	static const uint64_t sizes[] = { 1, 2, 255, 256, 257, 511, 512, 513, 65535, 65536, 65537, 69999,
		70000 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		uint64_t n = sizes[i];
		check_proofs(n, 0, 1);
		check_proofs(n, n - 1, n);
		check_proofs(n, n / 2, n / 2 + 1);
		check_proofs(n, n / 3, n - n / 3);
		check_proofs(n, n - n / 7 - 1, n > 256 ? 256 : n);
	}
}

static void nonsense_is_refused(void **state)
{
	struct hash path[MERKLE_MAX_PATH], root = root_of(LEAVES);
	struct tile_rows rows;
	size_t n;

	(void)state;
	assert_int_equal(tile_prove_inclusion(&a, &source, 5, 5, path, &n, &e), E_INPUT);
	assert_int_equal(tile_prove_inclusion(&a, &source, UINT64_MAX, 5, path, &n, &e), E_INPUT);
	assert_int_equal(tile_prove_consistency(&a, &source, 5, 6, path, &n, &e), E_INPUT);
	assert_int_equal(tile_prove_consistency(&a, &source, 5, 0, path, &n, &e), E_INPUT);
	assert_int_equal(tile_prove_consistency(&a, &source, UINT64_MAX, 1, path, &n, &e), E_INPUT);
	assert_int_equal(tile_root(&a, &source, UINT64_MAX, path, &e), E_INPUT);
	assert_int_equal(tile_append(&a, &source, UINT64_MAX, &root, chain, 0, &rows, path, &e), E_INPUT);
	assert_int_equal(tile_append(&a, &source, INT64_MAX, &root, chain, 1, &rows, path, &e), E_INPUT);
	assert_string_equal(e.code, "TILE_RANGE");
}

/* Whatever cannot be read, or is too short, or was changed: an error, and nothing is built upon it. */
static void faults_of_the_store_are_errors(void **state)
{
	struct hash path[MERKLE_MAX_PATH], root = root_of(LEAVES), wrong = root_of(LEAVES - 1);
	struct tile_rows rows = { 0 };
	size_t n;

	(void)state;
	for (int at = 1; at <= 4; at++) {
		store.reads = 0;
		store.fail_at = at;
		assert_int_equal(tile_append(&a, &source, LEAVES, &root, chain, 1, &rows, path, &e), E_IO);
	}
	store.reads = 0;
	store.fail_at = 1;
	assert_int_equal(tile_root(&a, &source, LEAVES, path, &e), E_IO);
	store.reads = 0;
	assert_int_equal(tile_prove_inclusion(&a, &source, LEAVES, 7, path, &n, &e), E_IO);
	store.fail_at = 0;
	store.is_short = true;
	assert_int_equal(tile_root(&a, &source, LEAVES, path, &e), E_CORRUPT);
	assert_string_equal(e.code, "TILE_SHORT");
	store.is_short = false;
	assert_int_equal(tile_append(&a, &source, LEAVES, &wrong, chain, 1, &rows, path, &e), E_CORRUPT);
	assert_string_equal(e.code, "TILE_ROOT");
	assert_int_equal(rows.n, 0);
}

static void entries_are_the_chain_hashes(void **state)
{
	struct bytes bundle = { 0 }, level = { 0 };
	struct hash h;

	(void)state;
	for (size_t i = 0; i < store.n; i++)
		if (store.rows[i].at.idx == 273 && store.rows[i].at.level <= 0)
			*(store.rows[i].at.level ? &bundle : &level) = store.rows[i].data;
	assert_int_equal(bundle.n, 112 * TILE_ENTRY);
	assert_true(tile_entry(bundle, 112, 111, &h));
	assert_memory_equal(h.b, chain[69999].b, SHA256_SIZE);
	assert_false(tile_entry(bundle, 112, 112, &h));
	assert_false(tile_entry(bundle, 111, 0, &h));
	assert_true(tile_bundle_fits(bundle, level, 112));
	assert_false(tile_bundle_fits(bundle, level, 111));
	assert_false(tile_bundle_fits((struct bytes){ bundle.p, bundle.n - 1 }, level, 112));
	uint8_t *copy = arena_alloc(&a, bundle.n);
	memcpy(copy, bundle.p, bundle.n);
	copy[5] ^= 1;
	assert_false(tile_bundle_fits((struct bytes){ copy, bundle.n }, level, 112));
	copy[5] ^= 1;
	copy[0] = 1;
	assert_false(tile_bundle_fits((struct bytes){ copy, bundle.n }, level, 112));
	copy[0] = 0;
	copy[1] = 31;
	assert_false(tile_entry((struct bytes){ copy, bundle.n }, 112, 0, &h));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths_are_spelled_one_way),
		cmocka_unit_test(a_tree_has_these_tiles),
		cmocka_unit_test(growing_in_steps_gives_the_same_tree),
		cmocka_unit_test(proofs_hold),
		cmocka_unit_test(nonsense_is_refused),
		cmocka_unit_test(faults_of_the_store_are_errors),
		cmocka_unit_test(entries_are_the_chain_hashes),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
