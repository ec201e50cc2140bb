/* merkle.c — the append-only Merkle tree of RFC 6962; see merkle.h.
 *
 * The tree is never stored as nodes.  A growing tree keeps the perfect subtrees of its right edge (one per
 * bit of its size); proofs are computed from the leaf hashes.  Checking a proof walks from the leaf to the
 * root with two counters: fn, the node's number at this height, and sn, the number of the last node.  A
 * node that is last and even has no sibling at this height, so the walk goes up until it has one. */
#include "proof/merkle.h"

#include <string.h>

/* Leaves and nodes are hashed with different first bytes (0 and 1).  Without that, the two child hashes of
 * a node could be presented as the content of a leaf, and a proof for a leaf that never existed would
 * hold. */
struct hash merkle_leaf(const void *input, size_t n)
{
	static const uint8_t prefix = 0;
	struct sha256 h;
	struct hash out;

	sha256_begin(&h);
	sha256_add(&h, &prefix, 1);
	sha256_add(&h, input, n);
	sha256_end(&h, out.b);
	return out;
}

struct hash merkle_node(const struct hash *left, const struct hash *right)
{
	uint8_t text[1 + 2 * SHA256_SIZE];
	struct hash out;

	text[0] = 1;
	memcpy(text + 1, left->b, SHA256_SIZE);
	memcpy(text + 1 + SHA256_SIZE, right->b, SHA256_SIZE);
	sha256(text, sizeof(text), out.b);
	return out;
}

/* Works like adding one to a binary number: while there already is a perfect subtree of the carried size,
 * the two are joined and the carry is twice as large.  The place where it comes to rest is the lowest bit
 * of size that was not set. */
void merkle_append(struct merkle *m, const struct hash *leaf)
{
	struct hash carry = *leaf;
	unsigned k = 0;

	for (; m->size >> k & 1; k++)
		carry = merkle_node(&m->edge[k], &carry);
	m->edge[k] = carry;
	m->size++;
}

/* Folds the perfect subtrees from the smallest, which lies rightmost, to the largest.  Each larger one is
 * the left child. */
struct hash merkle_head(const struct merkle *m)
{
	struct hash root;
	bool has_root = false;

	if (m->size == 0) {
		sha256("", 0, root.b);
		return root;
	}
	for (unsigned k = 0; k < MERKLE_MAX_PATH; k++) {
		if (!(m->size >> k & 1))
			continue;
		root = has_root ? merkle_node(&m->edge[k], &root) : m->edge[k];
		has_root = true;
	}
	return root;
}

struct hash merkle_root(const struct hash *leaves, uint64_t n)
{
	struct merkle m = { 0 };

	for (uint64_t i = 0; i < n; i++)
		merkle_append(&m, &leaves[i]);
	return merkle_head(&m);
}

/* Largest power of two below n; n >= 2. */
static uint64_t split(uint64_t n)
{
	return UINT64_C(1) << (63 - __builtin_clzll(n - 1));
}

/* Walks down from the root to the leaf and notes the half that is not entered.  A path is given from the leaf
 * upwards, so it is reversed at the end. */
size_t merkle_inclusion_ranges(uint64_t n, uint64_t index, struct merkle_range *ret)
{
	struct merkle_range down[MERKLE_MAX_PATH];
	uint64_t from = 0;
	size_t depth = 0;

	while (n > 1) {
		uint64_t k = split(n);
		if (index < k) {
			down[depth++] = (struct merkle_range){ from + k, n - k };
			n = k;
		} else {
			down[depth++] = (struct merkle_range){ from, k };
			from += k;
			index -= k;
			n -= k;
		}
	}
	for (size_t i = 0; i < depth; i++)
		ret[i] = down[depth - 1 - i];
	return depth;
}

/* Walks down along the right edge of the old tree.  The walk ends at the subtree that both trees share;
 * its root is part of the path unless it is the whole old tree, whose root the verifier brings himself. */
size_t merkle_consistency_ranges(uint64_t n, uint64_t old_n, struct merkle_range *ret)
{
	struct merkle_range down[MERKLE_MAX_PATH];
	uint64_t from = 0;
	size_t depth = 0;

	while (old_n < n) {
		uint64_t k = split(n);
		if (old_n <= k) {
			down[depth++] = (struct merkle_range){ from + k, n - k };
			n = k;
		} else {
			down[depth++] = (struct merkle_range){ from, k };
			from += k;
			old_n -= k;
			n -= k;
		}
	}
	if (from) /* else the old tree's root itself is the starting point, and known to the verifier */
		down[depth++] = (struct merkle_range){ from, n };
	for (size_t i = 0; i < depth; i++)
		ret[i] = down[depth - 1 - i];
	return depth;
}

/* Hashes nearly the whole tree once for each proof, which is fine for single proofs and slow for very many. */
static size_t roots_of(
	const struct hash *leaves, const struct merkle_range *ranges, size_t n, struct hash *ret_path)
{
	for (size_t i = 0; i < n; i++)
		ret_path[i] = merkle_root(leaves + ranges[i].from, ranges[i].n);
	return n;
}

size_t merkle_prove_inclusion(const struct hash *leaves, uint64_t n, uint64_t index, struct hash *ret_path)
{
	struct merkle_range ranges[MERKLE_MAX_PATH];

	return roots_of(leaves, ranges, merkle_inclusion_ranges(n, index, ranges), ret_path);
}

size_t merkle_prove_consistency(const struct hash *leaves, uint64_t n, uint64_t old_n, struct hash *ret_path)
{
	struct merkle_range ranges[MERKLE_MAX_PATH];

	return roots_of(leaves, ranges, merkle_consistency_ranges(n, old_n, ranges), ret_path);
}

/* Goes up while the node is a last node without sibling.  Ends, because the caller only comes here with fn
 * odd, or with fn equal to sn and neither being 0. */
static void up_to_sibling(uint64_t *fn, uint64_t *sn)
{
	while (!(*fn & 1)) {
		*fn >>= 1;
		*sn >>= 1;
	}
}

/* Never recurses and never looks beyond the given path: a path that is too long or too short for a tree of
 * that size is refused even when the hashes would fold to the right root.  The order of the checks
 * matters: size - 1 above is meaningless for an empty tree, so the sizes are judged before fn and sn are
 * used. */
int merkle_check_inclusion(const struct hash *leaf, uint64_t index, uint64_t size, const struct hash *path,
	size_t path_n, const struct hash *trusted_root, struct err *e)
{
	uint64_t fn = index, sn = size - 1;
	struct hash r = *leaf;

	if (size == 0 || index >= size)
		return err_set(e, E_INPUT, "MERKLE_INDEX",
			"index not below size: leaf index %llu, tree size %llu", (unsigned long long)index,
			(unsigned long long)size);
	for (size_t i = 0; i < path_n; i++) {
		if (sn == 0)
			return err_set(e, E_INPUT, "MERKLE_PATH_LONG",
				"audit path longer than expected: %zu hashes for a tree of %llu", path_n,
				(unsigned long long)size);
		if ((fn & 1) || fn == sn) {
			r = merkle_node(&path[i], &r);
			up_to_sibling(&fn, &sn);
		} else {
			r = merkle_node(&r, &path[i]);
		}
		fn >>= 1;
		sn >>= 1;
	}
	if (sn != 0)
		return err_set(e, E_INPUT, "MERKLE_PATH_SHORT",
			"audit path shorter than expected: %zu hashes for a tree of %llu", path_n,
			(unsigned long long)size);
	if (!hash_eq(&r, trusted_root))
		return err_set(e, E_INPUT, "MERKLE_ROOT",
			"inclusion proof root mismatch: the path leads to another root than the trusted one");
	return OK;
}

/* Two trees of one size are the same tree or two stories about one log: a log that shows different roots
 * to different readers. */
static int check_equal_sizes(
	uint64_t size, size_t path_n, const struct hash *old_root, const struct hash *new_root, struct err *e)
{
	if (path_n > 0)
		return err_set(e, E_INPUT, "MERKLE_PATH_LONG",
			"consistency path longer than expected: equal sizes need none");
	if (!hash_eq(old_root, new_root))
		return err_set(e, E_INPUT, "MERKLE_EQUIVOCATION",
			"equivocation: two distinct roots at tree size %llu", (unsigned long long)size);
	return OK;
}

/* The same path must lead to both roots.  One that leads to only one of them means that the log was
 * rewritten between the two heads. */
static int check_roots(const struct hash *fr, const struct hash *sr, const struct hash *old_root,
	const struct hash *new_root, struct err *e)
{
	if (!hash_eq(fr, old_root))
		return err_set(e, E_INPUT, "MERKLE_SPLIT_VIEW",
			"does not reproduce old root (split view): the path leads elsewhere");
	if (!hash_eq(sr, new_root))
		return err_set(e, E_INPUT, "MERKLE_SPLIT_VIEW",
			"does not reproduce new root (split view): the path leads elsewhere");
	return OK;
}

/* Folds the path twice at once: fr into the old root, sr into the new one.  Siblings on the left belong to
 * both trees, siblings on the right only to the new one. */
int merkle_check_consistency(uint64_t old_size, uint64_t new_size, const struct hash *path, size_t path_n,
	const struct hash *old_root, const struct hash *new_root, struct err *e)
{
	uint64_t fn = old_size - 1, sn = new_size - 1;
	struct hash fr = *old_root, sr = *old_root;
	size_t i = 0;

	if (old_size == 0 || old_size > new_size)
		return err_set(e, E_INPUT, "MERKLE_SIZES",
			"sizes out of order: consistency needs 1 <= old size <= new size");
	if (old_size == new_size)
		return check_equal_sizes(new_size, path_n, old_root, new_root, e);
	/* Skip the levels at which the old tree is perfect: its last node has no part in the path below
	 * them. */
	for (; fn & 1; fn >>= 1)
		sn >>= 1;
	if (path_n == 0)
		return err_set(e, E_INPUT, "MERKLE_PATH_SHORT",
			"consistency path shorter than expected: it is empty");
	/* When the old tree is a perfect subtree its own root starts the fold; otherwise the path brings
	 * the start. */
	if (fn != 0)
		fr = sr = path[i++];
	for (; i < path_n; i++) {
		if (sn == 0)
			return err_set(e, E_INPUT, "MERKLE_PATH_LONG",
				"consistency path longer than expected: %zu hashes", path_n);
		if ((fn & 1) || fn == sn) {
			fr = merkle_node(&path[i], &fr);
			sr = merkle_node(&path[i], &sr);
			up_to_sibling(&fn, &sn);
		} else {
			sr = merkle_node(&sr, &path[i]);
		}
		fn >>= 1;
		sn >>= 1;
	}
	if (sn != 0)
		return err_set(e, E_INPUT, "MERKLE_PATH_SHORT",
			"consistency path shorter than expected: %zu hashes", path_n);
	return check_roots(&fr, &sr, old_root, new_root, e);
}

/* Hashes here are public; no constant-time comparison is needed. */
bool hash_eq(const struct hash *x, const struct hash *y)
{
	return memcmp(x->b, y->b, SHA256_SIZE) == 0;
}

bool hash_from_hex(const char *s, struct hash *ret)
{
	return s && hex_decode(s, strlen(s), ret->b, SHA256_SIZE, false);
}

char *hash_hex(struct arena *a, const struct hash *h)
{
	char *text = arena_text(a, SHA256_HEX);

	hex_encode(h->b, SHA256_SIZE, text);
	return text;
}
