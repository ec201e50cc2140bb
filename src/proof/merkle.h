/* merkle.h — the append-only Merkle tree of RFC 6962: roots, inclusion and consistency proofs.
 *
 * leaf = SHA-256(0x00 | input), node = SHA-256(0x01 | left | right), the empty tree is SHA-256 of nothing, and a tree of n
 * leaves splits at the largest power of two below n.  The prefixes keep a leaf from being presented as a node. */
#ifndef PROOF_MERKLE_H
#define PROOF_MERKLE_H

#include "base/err.h"
#include "base/hash.h"

enum { MERKLE_MAX_PATH = 64 };

struct hash {
	uint8_t b[SHA256_SIZE];
};

struct hash merkle_leaf(const void *input, size_t n);
struct hash merkle_node(const struct hash *left, const struct hash *right);
/* Of n leaf hashes in order. */
struct hash merkle_root(const struct hash *leaves, uint64_t n);

/* A growing tree: only its right edge is kept.  `{ 0 }` is the empty tree.  Appending costs two hashes on average. */
struct merkle {
	uint64_t size;
	struct hash edge
		[MERKLE_MAX_PATH]; /* edge[k] is the perfect subtree of 2^k leaves when bit k of size is set */
};
void merkle_append(struct merkle *m, const struct hash *leaf);
struct hash merkle_head(const struct merkle *m);

/* Part of a list of leaves.  A path consists of the roots of such parts, none of which overlap: so whoever can compute the root of a
 * part needs no list.  ret has MERKLE_MAX_PATH entries; returns how many, from the leaf upwards. */
struct merkle_range {
	uint64_t from, n;
};
size_t merkle_inclusion_ranges(uint64_t n, uint64_t index, struct merkle_range *ret); /* index < n */
size_t merkle_consistency_ranges(uint64_t n, uint64_t old_n, struct merkle_range *ret); /* 0 < old_n <= n */

/* The path that shows leaf `index` in the tree of the first n leaves; ret_path has MERKLE_MAX_PATH entries.  Returns its
 * length.  index < n. */
size_t merkle_prove_inclusion(const struct hash *leaves, uint64_t n, uint64_t index, struct hash *ret_path);
/* The path that shows the tree of old_n leaves to be a beginning of that of n; 0 < old_n <= n. */
size_t merkle_prove_consistency(const struct hash *leaves, uint64_t n, uint64_t old_n, struct hash *ret_path);

/* A failed check says why; the text begins with these words and a colon: "audit path longer than expected", "audit path
 * shorter than expected", "inclusion proof root mismatch", "index not below size".  Codes: MERKLE_PATH_LONG,
 * MERKLE_PATH_SHORT, MERKLE_ROOT, MERKLE_INDEX. */
int merkle_check_inclusion(const struct hash *leaf, uint64_t index, uint64_t size, const struct hash *path,
	size_t path_n, const struct hash *trusted_root, struct err *e);
/* The same: "consistency path longer than expected", "... shorter than expected", "equivocation", "does not reproduce old root
 * (split view)", "does not reproduce new root (split view)", "sizes out of order".  Codes as above, and
 * MERKLE_EQUIVOCATION, MERKLE_SPLIT_VIEW, MERKLE_SIZES. */
int merkle_check_consistency(uint64_t old_size, uint64_t new_size, const struct hash *path, size_t path_n,
	const struct hash *old_root, const struct hash *new_root, struct err *e);

bool hash_eq(const struct hash *x, const struct hash *y);
/* 64 hex digits, lower case on writing, either case on reading; NULL is no hash. */
bool hash_from_hex(const char *s, struct hash *ret);
char *hash_hex(struct arena *a, const struct hash *h);

#endif
