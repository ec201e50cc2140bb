/* graph.c — ProofGraph nodes and condensation checkpoints.
 *
 * A node's hash covers its parents' hashes, so a graph of sound nodes whose parents are all present has no
 * cycle.  Clocks are checked all the same: a parent's clock precedes its child's.
 *
 * A condensation checkpoint replaces many receipts by the root of a tree over their hashes.  That tree
 * hashes hex texts, not bytes, and has no prefixes; it is another tree than that of proof/merkle.h. */
#include "model/records.h"
#include "proof/merkle.h"
#include "proof/preimage.h"
#include "verify/parts.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_PAYLOAD_BYTES = 1 << 20 };

static bool node_hash(struct arena *a, const struct json *node, char **ret, struct err *e)
{
	struct buf b;

	buf_init(&b, a);
	if (projection_write(&b, &proofgraph_node_projection, NULL, node, e))
		return false;
	*ret = preimage_hex(a, buf_bytes(&b));
	return true;
}

/* A signature's purpose, where one is stated, must be a known one. */
static bool check_purpose(struct verification *v, const struct json *node)
{
	static const char *const legal[] = { "author", "witness", "countersign", "audit" };
	const char *purpose = member_text(node, "sig_purpose");

	if (!*member_text(node, "sig") || !*purpose)
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(legal); i++)
		if (text_eq(purpose, legal[i]))
			return true;
	return verify_refute(v, "invalid signature purpose", "sig_purpose \"%s\" is not known", purpose);
}

/* References in one spelling only, so that equal references are equal texts. */
static bool check_refs(struct verification *v, const struct json *node)
{
	if (!is_bare_hash(member_text(node, "node_hash")))
		return verify_refute(v, "invalid node_hash ref", "node_hash is not 64 lower-case hex digits");
	if (json_get(node, "parents") && !json_is(json_get(node, "parents"), JSON_ARRAY) &&
		!json_is(json_get(node, "parents"), JSON_NULL))
		return verify_refute(v, "invalid parents ref", "parents is not a list");
	json_each (parent, json_get(node, "parents")) {
		if (!json_text(parent) || !is_bare_hash(json_text(parent)))
			return verify_refute(
				v, "invalid parents ref", "a parent is not 64 lower-case hex digits");
	}
	return true;
}

/* The limit is on the canonical form, which does not depend on white space. */
static bool check_payload(struct verification *v, const struct json *node)
{
	struct buf b;

	buf_init(&b, v->a);
	if (json_get(node, "payload"))
		json_canonical(&b, json_get(node, "payload"));
	return b.n <= MAX_PAYLOAD_BYTES ||
		verify_refute(
			v, "payload too large", "the payload is larger than %d bytes", MAX_PAYLOAD_BYTES);
}

/* A node by itself.  On failure the report names the node by its place in the list. */
static bool check_node(struct verification *v, const struct json *node, size_t i)
{
	const char *stored = member_text(node, "node_hash");
	struct err e = { 0 };
	char *computed;

	v->record = NULL;
	if (!check_purpose(v, node) || !check_refs(v, node) || !check_payload(v, node))
		goto at;
	if (!node_hash(v->a, node, &computed, &e)) {
		(void)verify_refute_err(v, &e);
		goto at;
	}
	if (text_eq(stored, computed))
		return true;
	verify_at(v, arena_printf(v->a, "node %zu", i), "node_hash", computed, stored);
	(void)verify_refute(v, "node hash mismatch", "node %zu: node hash mismatch", i);
at:
	verify_at(v, arena_printf(v->a, "node %zu", i), NULL, NULL, NULL);
	json_seti(v->a, v->values, "node_index", (int64_t)i);
	return false;
}

/* Nodes by hash, sorted, to find parents.  is_parent marks those that some node names; the others are the
 * heads. */
struct entry {
	const char *hash;
	const struct json *node;
	bool is_parent;
};

static int by_hash(const void *x, const void *y)
{
	return strcmp(((const struct entry *)x)->hash, ((const struct entry *)y)->hash);
}

static struct entry *find_node(struct entry *entries, size_t n, const char *hash)
{
	struct entry key = { .hash = hash };

	return bsearch(&key, entries, n, sizeof(*entries), by_hash);
}

/* Every parent is in this graph and earlier. */
static bool check_parents(
	struct verification *v, struct entry *entries, size_t n, const struct json *node, size_t i)
{
	int64_t clock = json_get_int(node, "lamport", 0);

	json_each (parent, json_get(node, "parents")) {
		struct entry *p = find_node(entries, n, json_text(parent));
		if (!p) {
			verify_at(v, arena_printf(v->a, "node %zu", i), "parents", json_text(parent),
				"(absent)");
			return verify_refute(v, "not found", "node %s not found", json_text(parent));
		}
		if (json_get_int(p->node, "lamport", 0) >= clock) {
			verify_at(v, arena_printf(v->a, "node %zu", i), "lamport", NULL, NULL);
			return verify_refute(v, "clock order", "node %zu does not come after its parent", i);
		}
		p->is_parent = true;
	}
	return true;
}

/* The nodes nobody names as parent, in the order of the document, and the highest clock. */
static void add_heads(struct verification *v, struct entry *entries, size_t n, const struct json *nodes)
{
	struct json *heads = json_new(v->a, JSON_ARRAY);
	int64_t clock = 0;

	json_each (node, nodes) {
		struct entry *x = find_node(entries, n, member_text(node, "node_hash"));
		if (x && !x->is_parent && x->node == node)
			json_pushs(v->a, heads, x->hash);
		if (json_get_int(node, "lamport", 0) > clock)
			clock = json_get_int(node, "lamport", 0);
	}
	json_set(v->a, v->values, "heads", heads);
	json_seti(v->a, v->values, "lamport", clock);
}

/* All nodes are sound before any parent is looked up: the search works on hashes that were verified. */
void verify_proofgraph(struct verification *v, const struct json *nodes)
{
	size_t n = json_is(nodes, JSON_ARRAY) ? nodes->n : 0;
	struct entry *entries = arena_zalloc(v->a, n + 1, sizeof(*entries));

	if (n == 0) {
		(void)verify_fail(v, "no nodes supplied", "the graph holds no nodes");
		return;
	}
	for (size_t i = 0; i < n; i++) {
		if (!check_node(v, nodes->items[i], i))
			return;
		entries[i] =
			(struct entry){ member_text(nodes->items[i], "node_hash"), nodes->items[i], false };
	}
	qsort(entries, n, sizeof(*entries), by_hash);
	for (size_t i = 0; i < n; i++)
		if (!check_parents(v, entries, n, nodes->items[i], i))
			return;
	add_heads(v, entries, n, nodes);
	v->integrity = ANSWER_YES;
	verify_note(v, "what a node's sig signs is not published; node signatures are not established");
}

static int by_text(const void *x, const void *y)
{
	return strcmp(*(const char *const *)x, *(const char *const *)y);
}

/* Adds the hashes of one replica.  Stops at the first bad node; v->error then says so. */
static size_t take_replica(struct verification *v, const struct json *nodes, const char **hashes, size_t n)
{
	for (size_t i = 0; json_is(nodes, JSON_ARRAY) && i < nodes->n; i++) {
		if (!check_node(v, nodes->items[i], i))
			return n;
		hashes[n++] = member_text(nodes->items[i], "node_hash");
	}
	return n;
}

/* Nodes are named by their content, so merging two replicas is the union of their hashes. */
void verify_proofgraph_merge(struct verification *v, const struct json *x, const struct json *y)
{
	size_t cap = (json_is(x, JSON_ARRAY) ? x->n : 0) + (json_is(y, JSON_ARRAY) ? y->n : 0), n;
	const char **hashes = arena_zalloc(v->a, cap + 1, sizeof(*hashes));
	struct json *sorted = json_new(v->a, JSON_ARRAY);

	n = take_replica(v, x, hashes, 0);
	n = v->error ? n : take_replica(v, y, hashes, n);
	if (v->error)
		return;
	qsort(hashes, n, sizeof(*hashes), by_text);
	for (size_t i = 0; i < n; i++)
		if (i == 0 || !text_eq(hashes[i], hashes[i - 1]))
			json_pushs(v->a, sorted, hashes[i]);
	json_set(v->a, v->values, "node_hashes_sorted", sorted);
	v->integrity = ANSWER_YES;
}

/* Condensation.  Hex texts are hashed, an odd last node pairs with itself. */

/* Parents are hashes of the two hex texts joined. */
static char *pair(struct arena *a, const char *left, const char *right)
{
	char *text = arena_printf(a, "%s%s", left, right);

	return sha256_hex(a, text, strlen(text));
}

/* Works in `row`, which is overwritten.  No leaves have the hash of nothing. */
static const char *condensed_root(struct arena *a, const char **row, size_t n)
{
	if (n == 0)
		return sha256_hex(a, "", 0);
	for (; n > 1; n = (n + 1) / 2)
		for (size_t i = 0; i < n; i += 2)
			row[i / 2] = pair(a, row[i], i + 1 < n ? row[i + 1] : row[i]);
	return row[0];
}

void verify_condensation(
	struct verification *v, const struct json *leaves, int64_t window_start, int64_t window_end)
{
	size_t n = json_is(leaves, JSON_ARRAY) ? leaves->n : 0;
	const char **row = arena_zalloc(v->a, n + 1, sizeof(*row));

	for (size_t i = 0; i < n; i++) {
		row[i] = json_text(leaves->items[i]);
		if (!row[i] || !is_bare_hash(row[i])) {
			(void)verify_refute(
				v, "undecodable hash", "leaf %zu is not 64 lower-case hex digits", i);
			return;
		}
	}
	const char *root = condensed_root(v->a, row, n);
	char *seed = arena_printf(v->a, "%s%lld-%lld", root, (long long)window_start, (long long)window_end);
	verify_value(v, "merkle_root", root);
	verify_value(
		v, "checkpoint_id", arena_printf(v->a, "cp-%.12s", sha256_hex(v->a, seed, strlen(seed))));
	v->integrity = ANSWER_YES;
}

/* How many siblings a proof in a tree of n leaves has. */
static size_t tree_height(int64_t n)
{
	size_t height = 0;

	for (; n > 1; n = (n + 1) / 2)
		height++;
	return height;
}

/* The length of the path follows from the count; without that check a node could be presented as a leaf of
 * a smaller tree. */
void verify_condensation_proof(struct verification *v, const struct json *proof)
{
	int64_t index = json_get_int(proof, "leaf_index", -1), count = json_get_int(proof, "leaf_count", 0);
	const struct json *siblings = json_get(proof, "siblings");
	const char *at = member_text(proof, "receipt_hash"), *root = member_text(proof, "merkle_root");

	if (count <= 0 || index < 0 || index >= count) {
		(void)verify_refute(v, "index not below size", "leaf index %lld is not below leaf count %lld",
			(long long)index, (long long)count);
		return;
	}
	if (siblings && !json_is(siblings, JSON_ARRAY)) {
		(void)verify_refute(v, "undecodable hash", "siblings is not a list");
		return;
	}
	if (!is_bare_hash(at)) {
		(void)verify_refute(v, "undecodable hash", "receipt_hash is not 64 lower-case hex digits");
		return;
	}
	if ((siblings ? siblings->n : 0) != tree_height(count)) {
		(void)verify_refute(v, "path length", "a tree of %lld leaves needs %zu siblings",
			(long long)count, tree_height(count));
		return;
	}
	json_each (sibling, siblings) {
		const char *other = json_text(sibling);
		if (!other || !is_bare_hash(other)) {
			(void)verify_refute(
				v, "undecodable hash", "a sibling is not 64 lower-case hex digits");
			return;
		}
		at = index % 2 == 0 ? pair(v->a, at, other) : pair(v->a, other, at);
		index /= 2;
	}
	if (!text_eq(at, root)) {
		verify_at(v, NULL, "merkle_root", at, root);
		(void)verify_refute(v, "root mismatch", "the path does not lead to merkle_root");
		return;
	}
	v->integrity = ANSWER_YES;
	verify_note(v, "the root is the proof's own: it must be compared with a checkpoint from elsewhere");
}
