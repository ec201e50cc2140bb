/* tile.h — a transparency log kept as tiles: growing it, its root, and proofs from it (docs/formats/fleet-tiles.md).
 *
 * A tile is 256 hashes side by side: those of level 0 are leaves, each of level n + 1 is the root of one full tile of level n.  Full tiles
 * never change, so anybody may keep and serve them; the last one of each level is partial, and a partial tile is a beginning of the later
 * one (c2sp.org/tlog-tiles).  The tree itself is that of merkle.h.
 *
 * Entries of this log are the 32 bytes of a receipt's chain hash, its leaves are merkle_leaf() of those: the very leaves of the log of the
 * machine that wrote it.  Entry bundles are counted as level -1. */
#ifndef PROOF_TILE_H
#define PROOF_TILE_H

#include "proof/merkle.h"

enum {
	TILE_WIDTH = 256,
	TILE_HEIGHT = 8, /* 2^8 is the width */
	TILE_LEVELS = 8, /* enough for 2^63 leaves */
	TILE_ENTRIES = -1, /* the level of entry bundles */
	TILE_ENTRY = 2 + SHA256_SIZE, /* bytes of one: its length, big endian, and a chain hash */
	TILE_PATH = 64 /* characters of a path and its NUL, at most */
};

struct tile {
	int level; /* TILE_ENTRIES to TILE_LEVELS - 1 */
	uint64_t idx;
	unsigned width; /* 1 to TILE_WIDTH; full ones have the whole */
};

/* How many bytes a tile has. */
size_t tile_bytes(const struct tile *t);
/* The tile of this level and index in a tree of `size` leaves; width 0 when the tree has none there. */
struct tile tile_of(uint64_t size, int level, uint64_t idx);
/* "tile/0/x001/234", "tile/entries/000.p/7". */
void tile_path(const struct tile *t, char ret_path[TILE_PATH]);
/* The other way; false for every other spelling. */
bool tile_parse_path(struct bytes path, struct tile *ret);

/* Where tiles come from.  `read` gives at least tile_bytes(t) bytes, of which only those are looked at; what it gives lives in `a`. */
struct tile_source {
	int (*read)(void *arg, struct arena *a, const struct tile *t, struct bytes *ret, struct err *e);
	void *arg;
};

/* A tile that is new or has grown: what is to be written in the place of (level, idx). */
struct tile_row {
	struct tile at;
	struct bytes data;
};
struct tile_rows {
	struct tile_row *list;
	size_t n, cap;
};

/* Append n entries to a tree of `size` leaves, of which the root is `root`.  TILE_ROOT when the tiles lead to another one: then they were
 * changed, and nothing may be built upon them.  *ret_rows has each tile once: entry bundles first, then levels upwards, each by index. */
int tile_append(struct arena *a, const struct tile_source *from, uint64_t size, const struct hash *root,
	const struct hash *chain_hashes, size_t n, struct tile_rows *ret_rows, struct hash *ret_root,
	struct err *e);

/* The root of the first `size` leaves. */
int tile_root(
	struct arena *a, const struct tile_source *from, uint64_t size, struct hash *ret, struct err *e);
/* As merkle_prove_inclusion() and merkle_prove_consistency(), without the leaves; ret_path has MERKLE_MAX_PATH entries.  Of a log that is
 * not empty, index < size, and 0 < old_size <= size (TILE_RANGE). */
int tile_prove_inclusion(struct arena *a, const struct tile_source *from, uint64_t size, uint64_t index,
	struct hash *ret_path, size_t *ret_n, struct err *e);
int tile_prove_consistency(struct arena *a, const struct tile_source *from, uint64_t size, uint64_t old_size,
	struct hash *ret_path, size_t *ret_n, struct err *e);

/* Entry i of a bundle of `width` entries; false when the bundle is not spelled as ours are. */
bool tile_entry(struct bytes bundle, unsigned width, unsigned i, struct hash *ret_chain);
/* Does each entry of a bundle hash to its leaf in the tile of level 0? */
bool tile_bundle_fits(struct bytes bundle, struct bytes leaves, unsigned width);

#endif
