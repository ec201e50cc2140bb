/* pack.h — the pure mathematics of evidence packs: leaves, roots, preimages, inclusion proofs, summaries, seals.
 *
 * No files, no clock, no keys: documents in, documents and hashes out.  docs/formats/evidence-pack.md and native-pack.md
 * are the prose of what stands here. */
#ifndef PROOF_PACK_H
#define PROOF_PACK_H

#include "base/json.h"
#include "proof/merkle.h"

/* One line of a manifest. */
struct pack_entry {
	const char *path;
	const char *content_hash; /* "sha256:" and 64 lower-case digits */
	const char *content_type;
	int64_t size_bytes;
};

void pack_entries_sort(struct pack_entry *entries, size_t n); /* by path bytes */

/* The tree of evidence packs: neighbours pair, an odd last node pairs with itself, one leaf is its own root.  Lists that
 * differ only in such a repeated tail share a root, so a count must always be checked beside it.  n > 0. */
struct hash pack_tree_root(struct arena *a, const struct hash *leaves, size_t n);

struct pack_step {
	struct hash sibling;
	bool is_right; /* the sibling stands on the right */
};
enum { PACK_PATH_MAX = 64 };
/* From leaf `index` up to the root; returns the number of steps, which is pack_path_length(n). */
size_t pack_tree_path(struct arena *a, const struct hash *leaves, size_t n, size_t index,
	struct pack_step ret[PACK_PATH_MAX]);
size_t pack_path_length(uint64_t leaf_count); /* ceil(log2(count)) */

/* EvidencePack v1. */

struct hash pack_entry_leaf(struct arena *a, const struct pack_entry *entry);
/* Of entries in sorted order; n > 0. */
struct hash pack_entries_root(struct arena *a, const struct pack_entry *entries, size_t n);

/* Entries of a manifest, sorted.  Refused (E_INPUT, PACK_MANIFEST): a missing or ill-typed member, a path that
 * tar_check_path refuses, a path twice, a hash in another spelling, a size that is not an interoperable integer >= 0. */
int pack_manifest_entries(
	struct arena *a, const struct json *manifest, struct pack_entry **ret, size_t *ret_n, struct err *e);

/* The canonical bytes manifest_hash is made of: seven members, entries sorted, created_at in canonical spelling.
 * Everything else in the manifest is outside. */
int pack_manifest_preimage(struct arena *a, const struct json *manifest, const struct pack_entry *entries,
	size_t n, struct bytes *ret, struct err *e);

/* "sha256:" and hex. */
char *pack_hash_text(struct arena *a, const struct hash *h);
bool pack_hash_parse(const char *s, struct hash *ret); /* exactly that spelling */

/* The content type the builder writes for a path. */
const char *pack_content_type(const char *path);

/* evidence summary: all members and summary_hash.  NULL when generated_at is not a time. */
struct json *pack_summary(struct arena *a, const struct json *manifest, const struct pack_entry *entries,
	size_t n, const char *generated_at);

/* A proof that entries[index] is in the pack, showing that line and nothing else of it. */
int pack_prove(struct arena *a, const struct json *manifest, const struct pack_entry *entries, size_t n,
	size_t index, struct json **ret, struct err *e);

/* What an inclusion proof establishes.  expected_root: the root the caller has from elsewhere, or NULL; expected_path: the
 * entry asked for, or NULL.  `errors` is a list of all failure words found.  is_member is true only with no errors and an
 * expected_root that is reached; without expected_root a sound proof is self_attested and shows nothing. */
struct pack_proof_result {
	struct json *errors;
	bool is_member, is_self_attested;
	const char *path, *content_hash; /* of the entry, or NULL */
	int64_t size_bytes;
};
void pack_check_proof(struct arena *a, const struct json *proof, const char *expected_root,
	const char *expected_path, struct pack_proof_result *ret);

/* Hash of a run or of its replay: over the compact list of the payload (or output) hashes, in order. */
char *pack_run_hash(struct arena *a, const struct json *hashes);

/* Native layout. */

/* Root over raw 32-byte digests in path order; no entries give the hash of nothing. */
struct hash pack_native_root(struct arena *a, const struct hash *digests, size_t n);

/* The signed bytes of a seal.  PACK_SEAL_LEGACY is what old seals signed: with signer.public_key, without the later anchor
 * and storage members. */
enum pack_seal_form { PACK_SEAL_CURRENT, PACK_SEAL_LEGACY };
int pack_seal_payload(
	struct arena *a, const struct json *seal, enum pack_seal_form form, struct bytes *ret, struct err *e);

/* Redacted object views. */

/* Leaf of a JSON pointer and its value; refused (PACK_VIEW) when the value holds a number that is not whole, a text with a NUL,
 * or two names that are the same when composed. */
int pack_view_leaf(
	struct arena *a, const char *pointer, const struct json *value, struct hash *ret, struct err *e);
struct hash pack_view_node(const struct hash *left, const struct hash *right);
/* Every proof of the view leads from its leaf to its root, disclosed values match their leaves, and nothing is disclosed that
 * no proof speaks of.  Errors as words. */
void pack_check_view(
	struct arena *a, const struct json *view, const char *expected_root, struct pack_proof_result *ret);

#endif
