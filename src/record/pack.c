/* pack.c — evidence packs; see record.h.
 *
 * The manifest is made in layers, each over the one before: the list of files and its hash; the signature
 * over that hash, which every reader of EvidencePack v1 understands; and the seal over the whole manifest,
 * so that what the signature leaves open (who, when) cannot be changed either.  Ed25519 is deterministic,
 * and so is everything else.
 *
 * The caller gives content in memory, or names length and digest of what it will give when its turn comes; the
 * manifest stands at the front of the archive and has to be signed first.  Nothing of the machine goes into it
 * but what the caller put in: no owner, no mode, no time except the one that was given. */
#include "record/record.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/tar.h"
#include "model/stamp.h"
#include "proof/pack.h"

#define PACK_VERSION "1.1.0"

static int by_path(const void *x, const void *y)
{
	return strcmp(((const struct pack_item *)x)->path, ((const struct pack_item *)y)->path);
}

static int by_text(const void *x, const void *y)
{
	return strcmp(*(char *const *)x, *(char *const *)y);
}

/* Refuses, before anything is signed, whatever the reader of an archive would refuse: unsafe paths, an own
 * manifest.json, and two names that are the same on a file system that ignores case. */
static int check_items(struct arena *a, const struct pack_item *items, size_t n, struct err *e)
{
	char **folded = arena_zalloc(a, n + 1, sizeof(*folded));
	int rc;

	if (!n)
		return err_set(e, E_INPUT, "PACK_EMPTY", "there is nothing to put into the pack");
	for (size_t i = 0; i < n; i++) {
		if ((rc = tar_check_path(items[i].path, strlen(items[i].path), e)))
			return rc;
		if (text_eq(items[i].path, "manifest.json"))
			return err_set(e, E_INPUT, "PACK_PATH", "manifest.json is the pack's own");
		folded[i] = text_fold(a, items[i].path, strlen(items[i].path));
	}
	qsort(folded, n, sizeof(*folded), by_text);
	for (size_t i = 1; i < n; i++)
		if (text_eq(folded[i - 1], folded[i]))
			return err_set(e, E_INPUT, "PACK_PATH", "two files of the pack would be called '%s'",
				folded[i]);
	return OK;
}

/* Path, hash, type and size of every file; in the order of the items, which are sorted. */
static struct pack_entry *make_entries(struct arena *a, const struct pack_item *items, size_t n)
{
	struct pack_entry *entries = arena_zalloc(a, n, sizeof(*entries));

	for (size_t i = 0; i < n; i++) {
		const struct pack_item *it = &items[i];
		entries[i] = (struct pack_entry){
			.path = it->path,
			.content_hash = it->give ? pack_hash_text(a, &it->digest)
						 : sha256_prefixed(a, it->content.p, it->content.n),
			.content_type = it->content_type ? it->content_type : pack_content_type(it->path),
			.size_bytes = (int64_t)(it->give ? it->size_bytes : it->content.n),
		};
	}
	return entries;
}

/* The list as it stands in the manifest; the hash is computed over the entries, not over this text. */
static struct json *entries_json(struct arena *a, const struct pack_entry *entries, size_t n)
{
	struct json *list = json_new(a, JSON_ARRAY);

	for (size_t i = 0; i < n; i++) {
		struct json *row = json_new(a, JSON_OBJECT);
		json_sets(a, row, "path", entries[i].path);
		json_sets(a, row, "content_hash", entries[i].content_hash);
		json_seti(a, row, "size", entries[i].size_bytes);
		json_sets(a, row, "content_type", entries[i].content_type);
		json_push(a, list, row);
	}
	return list;
}

/* "sha256:" and the hash of the manifest's preimage as it stands now; called before and after the pack has
 * its name. */
static int hash_manifest(struct arena *a, const struct json *m, const struct pack_entry *entries, size_t n,
	char **ret, struct err *e)
{
	struct arena_mark mark = arena_mark(a);
	struct bytes preimage;
	uint8_t digest[SHA256_SIZE];
	char hex[SHA256_HEX];
	int rc = pack_manifest_preimage(a, m, entries, n, &preimage, e);

	if (rc)
		return rc;
	sha256(preimage.p, preimage.n, digest);
	arena_release(a, mark);
	hex_encode(digest, sizeof(digest), hex);
	*ret = arena_printf(a, "sha256:%s", hex);
	return OK;
}

/* Ed25519 is deterministic, so signing again gives the same text. */
static char *sign_text(struct arena *a, const struct key *key, struct bytes message)
{
	uint8_t sig[SIGN_SIZE];
	char *hex = arena_text(a, 2 * SIGN_SIZE + 1);

	key_sign(key, message, sig);
	hex_encode(sig, sizeof(sig), hex);
	return hex;
}

/* The signature every reader of EvidencePack v1 knows: over the text of the manifest's hash. */
static void add_signature(
	struct arena *a, struct json *m, const char *hash, const char *at, const struct key *key)
{
	struct json *list = json_new(a, JSON_ARRAY), *sig = json_new(a, JSON_OBJECT);
	char id[KEY_ID];

	key_id(key_public(key), id);
	json_sets(a, sig, "signer_id", id);
	json_sets(a, sig, "signature", sign_text(a, key, bytes_of(hash)));
	json_sets(a, sig, "algorithm", "Ed25519");
	json_sets(a, sig, "signed_at", at);
	json_sets(a, sig, "key_id", id);
	json_push(a, list, sig);
	json_set(a, m, "signatures", list);
}

/* Signs the whole manifest in canonical form, as it stands without the seal's own signature. */
static void add_seal(struct arena *a, struct json *m, const char *at, const struct key *key)
{
	struct json *seal = json_new(a, JSON_OBJECT);
	char hex[2 * SIGN_PUBLIC + 1];
	struct buf b;

	hex_encode(key_public(key), SIGN_PUBLIC, hex);
	json_sets(a, seal, "version", "helm-pack-seal/v1");
	json_sets(a, seal, "algorithm", "ed25519");
	json_sets(a, seal, "public_key", hex);
	json_sets(a, seal, "signed_at", at);
	json_set(a, m, "seal", seal);
	buf_init(&b, a);
	json_canonical(&b, m);
	json_sets(a, seal, "signature", sign_text(a, key, buf_bytes(&b)));
}

/* Same items, time and key give the same manifest, byte for byte: items are sorted, and nothing random goes
 * in.  The pack's name is derived from the hash of the manifest with an empty name; then the hash is taken
 * again with the name in it. */
int pack_manifest_build(struct arena *a, const struct pack_about *about, struct pack_item *items, size_t n,
	const struct key *key, struct json **ret, struct err *e)
{
	struct json *m = json_new(a, JSON_OBJECT);
	char *at = stamp_canonical(a, about->created_at, strlen(about->created_at), true), *hash;
	struct pack_entry *entries;
	struct hash root;
	int rc = check_items(a, items, n, e);

	if (rc)
		return rc;
	if (!at)
		return err_set(e, E_INPUT, "PACK_TIME", "'%.40s' is not a time", about->created_at);
	qsort(items, n, sizeof(*items), by_path);
	entries = make_entries(a, items, n);
	json_sets(a, m, "version", PACK_VERSION);
	json_sets(a, m, "pack_id", "");
	json_sets(a, m, "created_at", at);
	json_sets(a, m, "actor_did", about->actor_did);
	json_sets(a, m, "intent_id", about->intent_id);
	json_sets(a, m, "policy_hash", about->policy_hash);
	json_set(a, m, "entries", entries_json(a, entries, n));
	/* The name of a pack follows from what is in it. */
	if ((rc = hash_manifest(a, m, entries, n, &hash, e)))
		return rc;
	json_set(a, m, "pack_id", json_stringf(a, "pack-%.32s", hash + strlen("sha256:")));
	if ((rc = hash_manifest(a, m, entries, n, &hash, e)))
		return rc;
	root = pack_entries_root(a, entries, n);
	json_sets(a, m, "manifest_hash", hash);
	json_sets(a, m, "entries_merkle_root", pack_hash_text(a, &root));
	add_signature(a, m, hash, at, key);
	add_seal(a, m, at, key);
	*ret = m;
	return OK;
}

struct writing {
	const struct pack_item *items;
	size_t n;
	struct bytes manifest;
	const char *name;
	struct sink_fd *sink;
};

static int add_file(struct tar_writer *w, const char *path, struct bytes content, struct err *e)
{
	int rc = tar_add(w, path, content.n, e);

	return rc ? rc : tar_put(w, content.p, content.n, e);
}

/* What an item gives on its way into the archive: counted and hashed, because the manifest is signed. */
struct given {
	struct sink sink;
	struct tar_writer *w;
	const struct pack_item *item;
	uint64_t left;
	struct sha256 digest;
};

static int has_changed(const struct pack_item *item, struct err *e)
{
	return err_set(e, E_IO, "PACK_CHANGED", "'%s' changed while it was exported", item->path);
}

static int take_given(struct sink *s, const void *p, size_t n, struct err *e)
{
	struct given *g = (struct given *)s;

	if (n > g->left)
		return has_changed(g->item, e);
	g->left -= n;
	sha256_add(&g->digest, p, n);
	return tar_put(g->w, p, n, e);
}

static int add_item(struct tar_writer *w, const struct pack_item *item, struct err *e)
{
	struct given g = { { take_given }, w, item, item->size_bytes, { { 0 } } };
	struct hash digest;

	if (!item->give)
		return add_file(w, item->path, item->content, e);
	sha256_begin(&g.digest);
	int rc = tar_add(w, item->path, item->size_bytes, e);
	if (rc == OK)
		rc = item->give(item, &g.sink, e);
	if (rc)
		return rc;
	sha256_end(&g.digest, digest.b);
	return g.left || !hash_eq(&digest, &item->digest) ? has_changed(item, e) : OK;
}

/* Files in path order, with the manifest in its place among them, so that equal packs are equal
 * archives. */
static int write_files(const struct writing *wr, struct tar_writer *w, struct err *e)
{
	size_t i = 0;
	int rc;

	for (; i < wr->n && strcmp(wr->items[i].path, "manifest.json") < 0; i++)
		if ((rc = add_item(w, &wr->items[i], e)))
			return rc;
	if ((rc = add_file(w, "manifest.json", wr->manifest, e)))
		return rc;
	for (; i < wr->n; i++)
		if ((rc = add_item(w, &wr->items[i], e)))
			return rc;
	return OK;
}

/* Called by file_replace_by() with the temporary file. */
static int fill_archive(void *arg, struct sys *s, int fd, struct err *e)
{
	const struct writing *wr = arg;
	struct tar_writer w;
	int rc;

	tar_begin(&w, sink_to_fd(wr->sink, s, fd, wr->name));
	if ((rc = write_files(wr, &w, e)) || (rc = tar_end(&w, e)))
		return rc;
	return sink_fd_flush(wr->sink, e);
}

/* The archive is written beside its place and renamed: a pack that exists is complete. */
int pack_write(struct sys *s, struct arena *a, int dirfd, const char *path, const struct pack_about *about,
	struct pack_item *items, size_t n, const struct key *key, struct pack_written *ret, struct err *e)
{
	struct writing wr = {
		.items = items, .n = n, .name = path, .sink = arena_alloc(a, sizeof(*wr.sink))
	};
	struct pack_written done = { 0 };
	struct buf text;
	int rc = pack_manifest_build(a, about, items, n, key, &done.manifest, e);

	if (rc)
		return rc;
	buf_init(&text, a);
	json_write(&text, done.manifest, JSON_INDENT | JSON_HTML_SAFE);
	wr.manifest = buf_bytes(&text);
	if ((rc = file_replace_by(s, dirfd, path, 0644, fill_archive, &wr, e)))
		return rc;
	done.size_bytes = wr.sink->size_bytes;
	sha256_end(&wr.sink->digest, done.digest.b);
	*ret = done;
	return OK;
}
