/* pack.c — the mathematics of evidence packs; see pack.h.
 *
 * Everything a pack proves comes down to three hashes: of the sorted list of its files (manifest_hash), of
 * the tree over that list (so that one line can be shown without the others), and of each file.  The
 * functions here make and check the first two; whoever has the files checks the third.
 *
 * The exporter and the verifier call the same functions.  The texts are written by hand, member by member,
 * instead of through a JSON tree: a manifest may have many entries, and the order of members is part of
 * the format. */
#include "proof/pack.h"

#include "base/tar.h"
#include "model/projection.h"
#include "model/stamp.h"

static int by_path(const void *x, const void *y)
{
	return strcmp(((const struct pack_entry *)x)->path, ((const struct pack_entry *)y)->path);
}

void pack_entries_sort(struct pack_entry *entries, size_t n)
{
	qsort(entries, n, sizeof(*entries), by_path);
}

/* The tree. */

/* One level up, in place; returns the new count.  A last node without neighbour is paired with itself.
 * This differs from the tree of merkle.h; both are fixed by their formats. */
static size_t tree_level(struct hash *nodes, size_t n)
{
	size_t up = 0;

	for (size_t i = 0; i < n; i += 2)
		nodes[up++] = merkle_node(&nodes[i], &nodes[i + 1 < n ? i + 1 : i]);
	return up;
}

static struct hash *tree_copy(struct arena *a, const struct hash *leaves, size_t n)
{
	struct hash *nodes = arena_zalloc(a, n, sizeof(*nodes));

	memcpy(nodes, leaves, n * sizeof(*nodes));
	return nodes;
}

/* The scratch copy is given back to the arena, since roots of large packs are computed more than once. */
struct hash pack_tree_root(struct arena *a, const struct hash *leaves, size_t n)
{
	struct arena_mark mark = arena_mark(a);
	struct hash *nodes, root;

	if (!n)
		BUG("a tree without leaves has no root");
	nodes = tree_copy(a, leaves, n);
	while (n > 1)
		n = tree_level(nodes, n);
	root = nodes[0];
	arena_release(a, mark);
	return root;
}

/* A node without neighbour is its own sibling, so every path of one tree has the same length.  The
 * verifier relies on that: it refuses a path whose length does not fit the count. */
size_t pack_tree_path(struct arena *a, const struct hash *leaves, size_t n, size_t index,
	struct pack_step ret[PACK_PATH_MAX])
{
	struct hash *nodes = tree_copy(a, leaves, n);
	size_t steps = 0;

	for (; n > 1; n = tree_level(nodes, n), index /= 2) {
		size_t other = index ^ 1;
		ret[steps++] = (struct pack_step){ nodes[other < n ? other : index], index % 2 == 0 };
	}
	return steps;
}

size_t pack_path_length(uint64_t leaf_count)
{
	size_t n = 0;

	while (n < 64 && (1ull << n) < leaf_count)
		n++;
	return n;
}

char *pack_hash_text(struct arena *a, const struct hash *h)
{
	char hex[SHA256_HEX];

	hex_encode(h->b, SHA256_SIZE, hex);
	return arena_printf(a, "sha256:%s", hex);
}

/* Lower case only: the text of a hash is hashed again in manifests, so it must have one spelling. */
bool pack_hash_parse(const char *s, struct hash *ret)
{
	return s && text_starts(s, "sha256:") && hex_decode(s + 7, strlen(s + 7), ret->b, SHA256_SIZE, true);
}

/* Manifest. */

static void write_text(struct buf *to, const char *s)
{
	struct json v = { .type = JSON_STRING, .n = (uint32_t)strlen(s), .text = s };

	json_canonical(to, &v);
}

/* One line of the manifest in canonical form, members in alphabetical order.  This text is the leaf as
 * well as a part of the manifest's preimage. */
static void write_entry(struct buf *to, const struct pack_entry *entry)
{
	buf_adds(to, "{\"content_hash\":");
	write_text(to, entry->content_hash);
	buf_adds(to, ",\"content_type\":");
	write_text(to, entry->content_type);
	buf_adds(to, ",\"path\":");
	write_text(to, entry->path);
	buf_addf(to, ",\"size\":%lld}", (long long)entry->size_bytes);
}

/* The buffer is used again for each entry, so a pack of many files costs one allocation. */
static struct hash leaf_of(struct buf *scratch, const struct pack_entry *entry)
{
	scratch->n = 0;
	write_entry(scratch, entry);
	return merkle_leaf(scratch->p, scratch->n);
}

struct hash pack_entry_leaf(struct arena *a, const struct pack_entry *entry)
{
	struct buf b;

	buf_init(&b, a);
	return leaf_of(&b, entry);
}

static struct hash *entry_leaves(struct arena *a, const struct pack_entry *entries, size_t n)
{
	struct hash *leaves = arena_zalloc(a, n, sizeof(*leaves));
	struct buf b;

	buf_init(&b, a);
	for (size_t i = 0; i < n; i++)
		leaves[i] = leaf_of(&b, &entries[i]);
	return leaves;
}

struct hash pack_entries_root(struct arena *a, const struct pack_entry *entries, size_t n)
{
	return pack_tree_root(a, entry_leaves(a, entries, n), n);
}

static int bad_manifest(struct err *e, const char *what, const char *where)
{
	return err_set(e, E_INPUT, "PACK_MANIFEST", "the manifest's %s: %s", where, what);
}

/* Paths are checked as those of archives are: an entry must not lead out of the place where a pack is
 * unpacked. */
static int parse_entry(const struct json *v, struct pack_entry *ret, struct err *e)
{
	struct hash ignored;
	int rc;

	ret->path = json_text(json_get(v, "path"));
	ret->content_hash = json_text(json_get(v, "content_hash"));
	ret->content_type = json_text(json_get(v, "content_type"));
	if (!ret->path)
		return bad_manifest(e, "it has no path", "entry");
	if ((rc = tar_check_path(ret->path, strlen(ret->path), e)))
		return rc;
	if (!pack_hash_parse(ret->content_hash, &ignored))
		return bad_manifest(
			e, "content_hash is not 'sha256:' and 64 lower-case hex digits", ret->path);
	if (!ret->content_type)
		return bad_manifest(e, "content_type is not a text", ret->path);
	if (!json_int(json_get(v, "size"), &ret->size_bytes) || ret->size_bytes < 0 ||
		ret->size_bytes > 9007199254740991)
		return bad_manifest(e, "size is not a whole number", ret->path);
	return OK;
}

/* Sorted first, so that a path that stands twice is found next to itself.  Two lines for one path would
 * let each reader believe another one. */
int pack_manifest_entries(
	struct arena *a, const struct json *manifest, struct pack_entry **ret, size_t *ret_n, struct err *e)
{
	const struct json *list = json_get(manifest, "entries");
	struct pack_entry *entries;
	size_t n = 0;
	int rc;

	if (!json_is(list, JSON_ARRAY) || !list->n)
		return bad_manifest(e, "it is not a list with at least one entry", "entries");
	entries = arena_zalloc(a, list->n, sizeof(*entries));
	json_each (v, list) {
		if ((rc = parse_entry(v, &entries[n++], e)))
			return rc;
	}
	pack_entries_sort(entries, n);
	for (size_t i = 1; i < n; i++)
		if (text_eq(entries[i - 1].path, entries[i].path))
			return bad_manifest(e, "the path stands twice", entries[i].path);
	*ret = entries;
	*ret_n = n;
	return OK;
}

/* `after` is the text that follows the member. */
static int write_member(
	struct buf *to, const struct json *manifest, const char *name, const char *after, struct err *e)
{
	const char *text = json_text(json_get(manifest, name));

	if (!text)
		return bad_manifest(e, "it is missing or not a text", name);
	buf_addf(to, "\"%s\":", name);
	write_text(to, text);
	buf_adds(to, after);
	return OK;
}

/* Members in alphabetical order, as canonical JSON has them.  The time is brought to one spelling; the
 * entries must be sorted already. */
int pack_manifest_preimage(struct arena *a, const struct json *manifest, const struct pack_entry *entries,
	size_t n, struct bytes *ret, struct err *e)
{
	const char *created = json_text(json_get(manifest, "created_at"));
	struct buf b;
	int rc;

	created = created ? stamp_canonical(a, created, strlen(created), false) : NULL;
	if (!created)
		return bad_manifest(e, "it is not a time", "created_at");
	buf_init(&b, a);
	buf_addc(&b, '{');
	if ((rc = write_member(&b, manifest, "actor_did", ",\"created_at\":", e)))
		return rc;
	write_text(&b, created);
	buf_adds(&b, ",\"entries\":[");
	for (size_t i = 0; i < n; i++) {
		if (i)
			buf_addc(&b, ',');
		write_entry(&b, &entries[i]);
	}
	buf_adds(&b, "],");
	if ((rc = write_member(&b, manifest, "intent_id", ",", e)) ||
		(rc = write_member(&b, manifest, "pack_id", ",", e)) ||
		(rc = write_member(&b, manifest, "policy_hash", ",", e)) ||
		(rc = write_member(&b, manifest, "version", "}", e)))
		return rc;
	*ret = buf_bytes(&b);
	return OK;
}

/* What the first component of a path stands for. */
static const struct {
	const char *prefix, *node_type, *content_type;
	bool is_counted; /* in the summary's node_types */
} places[] = {
	{ "receipts/", "ATTESTATION", "application/json", true },
	{ "policy/", "INTENT", "application/json", true },
	{ "transcripts/", "EFFECT", "application/json", true },
	{ "network/", "EFFECT", "text/plain", true },
	{ "host_evidence/", "EFFECT", "application/json", false },
	{ "diffs/", "EFFECT", "text/x-diff", true },
	{ "secrets/", "TRUST_EVENT", "application/json", true },
	{ "ports/", "EFFECT", "application/json", false },
	{ "replay/", "CHECKPOINT", "application/json", true },
	{ "transparency/", NULL, "application/json", false },
	{ "signatures/", NULL, "application/json", false },
};

const char *pack_content_type(const char *path)
{
	if (text_ends(path, ".jsonl"))
		return "application/x-ndjson";
	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		if (text_starts(path, places[i].prefix))
			return places[i].content_type;
	return text_ends(path, ".json") ? "application/json" : "application/octet-stream";
}

/* Summary. */

/* Some entry lies in a place that stands for that type of node. */
static bool has_type(const struct pack_entry *entries, size_t n, const char *type)
{
	for (size_t p = 0; p < ARRAY_SIZE(places); p++)
		if (places[p].is_counted && text_eq(places[p].node_type, type))
			for (size_t i = 0; i < n; i++)
				if (text_starts(entries[i].path, places[p].prefix))
					return true;
	return false;
}

/* A pack has one time, its creation; first and last event both show it.  summary_hash covers all members
 * set before it and so must be set last. */
struct json *pack_summary(struct arena *a, const struct json *manifest, const struct pack_entry *entries,
	size_t n, const char *generated_at)
{
	static const char *const types[] = { "ATTESTATION", "CHECKPOINT", "EFFECT", "INTENT", "TRUST_EVENT" };
	struct json *s = json_new(a, JSON_OBJECT), *found = json_new(a, JSON_ARRAY);
	const char *created = json_get_text(manifest, "created_at", "");
	int64_t total = 0, signatures = 0;

	created = stamp_canonical(a, created, strlen(created), false);
	generated_at = stamp_canonical(a, generated_at, strlen(generated_at), false);
	if (!created || !generated_at)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		total += entries[i].size_bytes;
		signatures += text_starts(entries[i].path, "signatures/");
	}
	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if (has_type(entries, n, types[i]))
			json_pushs(a, found, types[i]);
	json_sets(a, s, "pack_id", json_get_text(manifest, "pack_id", ""));
	json_sets(a, s, "manifest_hash", json_get_text(manifest, "manifest_hash", ""));
	json_seti(a, s, "entry_count", (int64_t)n);
	json_seti(a, s, "total_bytes", total);
	json_set(a, s, "node_types", found);
	json_sets(a, s, "first_event", created);
	json_sets(a, s, "last_event", created);
	json_seti(a, s, "signature_count", signatures);
	json_sets(a, s, "policy_hash", json_get_text(manifest, "policy_hash", ""));
	json_sets(a, s, "generated_at", generated_at);
	json_sets(a, s, "summary_hash", json_sha256(a, s));
	return s;
}

/* Seals of the native layout. */

PROJECTION(seal_signer_projection, MEMBER("algorithm", TEXT, ALWAYS), MEMBER("key_id", TEXT, ALWAYS),
	MEMBER("type", TEXT, ALWAYS));

PROJECTION(seal_anchor_projection, MEMBER("status", TEXT, ALWAYS), MEMBER("time", TIME, UNSET),
	MEMBER("type", TEXT, ALWAYS), MEMBER("uri", TEXT, OMIT), MEMBER("url", TEXT, OMIT));

PROJECTION(seal_storage_projection, MEMBER("bucket", TEXT, OMIT), MEMBER("endpoint", TEXT, OMIT),
	MEMBER("immutable", BOOL, OMIT), MEMBER("key", TEXT, OMIT), MEMBER("object_lock", BOOL, OMIT),
	MEMBER("object_lock_mode", TEXT, OMIT), MEMBER("prefix", TEXT, OMIT), MEMBER("receipt", FREE, OMIT),
	MEMBER("region", TEXT, OMIT), MEMBER("retain_until", TIME, UNSET),
	MEMBER("retention_days", INT, OMIT), MEMBER("status", TEXT, ALWAYS), MEMBER("type", TEXT, ALWAYS),
	MEMBER("uri", TEXT, OMIT));

PROJECTION(seal_projection, MEMBER_OF("anchor", OBJECT, ALWAYS, seal_anchor_projection),
	MEMBER("anchor_receipts", FREE, OMIT), MEMBER("entry_count", INT, ALWAYS),
	MEMBER("index_hash", TEXT, ALWAYS), MEMBER("merkle_root", TEXT, ALWAYS),
	MEMBER("pack_id", TEXT, ALWAYS), MEMBER("profile", TEXT, ALWAYS), MEMBER("signed_at", UTC, ALWAYS),
	MEMBER_OF("signer", OBJECT, ALWAYS, seal_signer_projection),
	MEMBER_OF("storage", OBJECT, ALWAYS, seal_storage_projection), MEMBER("version", TEXT, ALWAYS));

/* What seals signed before the later members existed.  Kept unchanged, so that old seals keep verifying. */
PROJECTION(seal_legacy_signer_projection, MEMBER("algorithm", TEXT, ALWAYS), MEMBER("key_id", TEXT, ALWAYS),
	MEMBER("public_key", TEXT, OMIT), MEMBER("type", TEXT, ALWAYS));

PROJECTION(seal_legacy_anchor_projection, MEMBER("status", TEXT, ALWAYS), MEMBER("time", TIME, UNSET),
	MEMBER("type", TEXT, ALWAYS), MEMBER("uri", TEXT, OMIT));

PROJECTION(seal_legacy_storage_projection, MEMBER("immutable", BOOL, OMIT), MEMBER("object_lock", BOOL, OMIT),
	MEMBER("status", TEXT, ALWAYS), MEMBER("type", TEXT, ALWAYS), MEMBER("uri", TEXT, OMIT));

PROJECTION(seal_legacy_projection, MEMBER_OF("anchor", OBJECT, ALWAYS, seal_legacy_anchor_projection),
	MEMBER("entry_count", INT, ALWAYS), MEMBER("index_hash", TEXT, ALWAYS),
	MEMBER("merkle_root", TEXT, ALWAYS), MEMBER("pack_id", TEXT, ALWAYS), MEMBER("profile", TEXT, ALWAYS),
	MEMBER("signed_at", UTC, ALWAYS), MEMBER_OF("signer", OBJECT, ALWAYS, seal_legacy_signer_projection),
	MEMBER_OF("storage", OBJECT, ALWAYS, seal_legacy_storage_projection),
	MEMBER("version", TEXT, ALWAYS));

/* What a seal may carry besides the members listed above is not signed and has no meaning to a verifier. */
int pack_seal_payload(
	struct arena *a, const struct json *seal, enum pack_seal_form form, struct bytes *ret, struct err *e)
{
	const struct projection *p = form == PACK_SEAL_CURRENT ? &seal_projection : &seal_legacy_projection;
	struct buf b;
	int rc;

	buf_init(&b, a);
	if ((rc = projection_write(&b, p, NULL, seal, e)))
		return rc;
	*ret = buf_bytes(&b);
	return OK;
}

struct hash pack_native_root(struct arena *a, const struct hash *digests, size_t n)
{
	struct hash *leaves = arena_zalloc(a, n + 1, sizeof(*leaves)), empty;

	sha256("", 0, empty.b);
	for (size_t i = 0; i < n; i++)
		leaves[i] = merkle_leaf(digests[i].b, SHA256_SIZE);
	return n ? pack_tree_root(a, leaves, n) : empty;
}

/* Escaped as the writers of run hashes escape, so that their hashes are reproduced. */
char *pack_run_hash(struct arena *a, const struct json *hashes)
{
	struct buf b;

	buf_init(&b, a);
	json_write(&b, hashes, JSON_HTML_SAFE);
	return sha256_prefixed(a, b.p, b.n);
}
