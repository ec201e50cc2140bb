/* cache.c — which files are as they were when they were last read.
 *
 * A file whose inode, size, mtime and ctime are the recorded ones is not read again.  That is safe only
 * when a later change would have shown: times move in ticks, so a file changed in the same tick in which it
 * was read keeps its time.  Such young files are marked when the cache is written and read again next time
 * (git's "racily clean" rule).
 *
 * One cache per selection of paths and rules, named by the selection's digest.  It is derived and local:
 * host byte order, thrown away whenever something about it is odd.  It names the packs that hold what it
 * promises; when one of them is gone, so is the promise. */
#include "execute/checkpoint/parts.h"

enum { CACHE_LIMIT = 512 << 20, CACHES_KEPT = 8 };
static const char magic[8] = "HELMSC1\n";

struct cache_head {
	char magic[8];
	uint64_t count, pack_count;
	uint8_t selection[SHA256_SIZE];
	struct content tree;
};

struct cache_row {
	uint64_t size, dev, ino, held_bytes;
	int64_t mtime_ns, ctime_ns;
	uint32_t mode, uid, gid, extent_count, path_n, text_n;
	uint8_t type, is_racy, is_unstable, is_sparse;
	uint8_t has_list, pad[3];
	struct object_id sha, list;
	uint64_t content_n;
};

/* Named by the selection, so that each selection has its own. */
static void cache_name(const struct selection *sel, char name[48])
{
	char hex[SHA256_HEX];

	hex_encode(sel->digest, SHA256_SIZE, hex);
	snprintf(name, 48, "stat-%.32s.cache", hex);
}

/* ---- loading ---- */

/* The next n bytes, or NULL when there are fewer.  All reading goes through here, so a damaged cache cannot
 * lead outside of it. */
static const void *take(struct bytes *rest, size_t n)
{
	const void *p = rest->p;

	if (n > rest->n)
		return NULL;
	rest->p += n;
	rest->n -= n;
	return p;
}

/* Checks the names only; whether the objects in them are whole is checked when they are used. */
static bool packs_are_there(struct checkpoint_store *st, struct bytes *rest, uint64_t count)
{
	struct stat s;

	for (uint64_t i = 0; i < count; i++) {
		const char *name = take(rest, 48);
		if (!name || name[47] ||
			st->sys->stat(st->sys, st->pool->dir_fd, name, &s, AT_SYMLINK_NOFOLLOW))
			return false;
	}
	return true;
}

/* The next row; what it points to stays in the text, extents are copied for their alignment. */
static bool next_row(struct arena *a, struct bytes *rest, struct entry *x)
{
	struct cache_row r;
	const void *p = take(rest, sizeof(r));

	if (!p)
		return false;
	memcpy(&r, p, sizeof(r));
	const char *path = take(rest, r.path_n + (size_t)1), *text = take(rest, r.text_n + (size_t)1);
	const void *extents = take(rest, r.extent_count * sizeof(struct extent));
	if (!path || !text || !extents || path[r.path_n] || text[r.text_n])
		return false;
	*x = (struct entry){ .path = path,
		.text = r.text_n ? text : NULL,
		.type = r.type,
		.is_racy = r.is_racy,
		.is_unstable = r.is_unstable,
		.is_sparse = r.is_sparse,
		.mode = r.mode,
		.uid = r.uid,
		.gid = r.gid,
		.size = r.size,
		.dev = r.dev,
		.ino = r.ino,
		.held_bytes = r.held_bytes,
		.mtime_ns = r.mtime_ns,
		.ctime_ns = r.ctime_ns,
		.content = { .sha = r.sha, .list = r.list, .n = r.content_n, .is_list = r.has_list },
		.extent_count = r.extent_count };
	if (r.extent_count) {
		x->extents = arena_alloc(a, r.extent_count * sizeof(*x->extents));
		memcpy(x->extents, extents, r.extent_count * sizeof(*x->extents));
	}
	return true;
}

/* The digest at the end is checked, then the selection and the packs.  Any doubt gives an empty cache, and
 * then every file is read. */
void cache_load(struct checkpoint_store *st, struct arena *a, const struct selection *sel, struct cache *ret)
{
	struct cache c = { 0 };
	struct cache_head h;
	struct bytes text;
	struct err e;
	char name[48];
	uint8_t digest[SHA256_SIZE];

	*ret = c;
	cache_name(sel, name);
	if (st->dir_fd < 0 || !st->pool || st->pool->dir_fd < 0)
		return;
	if (file_read(st->sys, a, st->dir_fd, name, CACHE_LIMIT, 0, &text, &e) || text.n < SHA256_SIZE)
		return;
	text.n -= SHA256_SIZE;
	sha256(text.p, text.n, digest);
	if (memcmp(digest, text.p + text.n, SHA256_SIZE))
		return;
	const void *p = take(&text, sizeof(h));
	if (!p)
		return;
	memcpy(&h, p, sizeof(h));
	if (memcmp(h.magic, magic, 8) || memcmp(h.selection, sel->digest, SHA256_SIZE) ||
		!packs_are_there(st, &text, h.pack_count))
		return;
	if (h.count > text.n / sizeof(struct cache_row))
		return;
	c.rows = text;
	c.count = h.count;
	c.a = a;
	c.tree = h.tree;
	c.is_found = true;
	*ret = c;
}

/* ---- saving ---- */

/* The row, then path and text with their NUL, then the extents. */
static void save_row(struct buf *to, const struct entry *x)
{
	struct cache_row r = { .size = x->size,
		.dev = x->dev,
		.ino = x->ino,
		.held_bytes = x->held_bytes,
		.mtime_ns = x->mtime_ns,
		.ctime_ns = x->ctime_ns,
		.mode = x->mode,
		.uid = x->uid,
		.gid = x->gid,
		.extent_count = x->extent_count,
		.path_n = (uint32_t)strlen(x->path),
		.text_n = x->text ? (uint32_t)strlen(x->text) : 0,
		.type = x->type,
		.is_racy = x->is_racy,
		.is_unstable = x->is_unstable,
		.is_sparse = x->is_sparse,
		.has_list = x->content.is_list,
		.sha = x->content.sha,
		.list = x->content.list,
		.content_n = x->content.n };

	buf_add(to, &r, sizeof(r));
	buf_add(to, x->path, r.path_n + (size_t)1);
	buf_add(to, x->text ? x->text : "", r.text_n + (size_t)1);
	buf_add(to, x->extents, r.extent_count * sizeof(*x->extents));
}

/* The oldest cache goes when there are too many, so that selections that were used once do not pile up. */
static void drop_old_caches(struct checkpoint_store *st, struct arena *a, const char *kept)
{
	char **names;
	const char *oldest = NULL;
	struct timespec oldest_time = { 0 };
	size_t n, count = 0;
	struct err e;

	if (file_list(st->sys, a, st->dir_fd, ".", &names, &n, &e))
		return;
	for (size_t i = 0; i < n; i++) {
		struct stat s;
		if (!text_starts(names[i], "stat-") || text_eq(names[i], kept) ||
			st->sys->stat(st->sys, st->dir_fd, names[i], &s, AT_SYMLINK_NOFOLLOW))
			continue;
		count++;
		if (!oldest || s.st_mtim.tv_sec < oldest_time.tv_sec) {
			oldest = names[i];
			oldest_time = s.st_mtim;
		}
	}
	if (count >= CACHES_KEPT)
		(void)st->sys->unlink(st->sys, st->dir_fd, oldest, 0);
}

/* Replaced whole, so a reader sees the old one or the new one. */
int cache_save(struct checkpoint_store *st, struct arena *a, const struct selection *sel,
	const struct entries *entries, const struct content *tree, struct err *e)
{
	struct buf to;
	char name[48], pack[48];
	uint8_t digest[SHA256_SIZE];

	if (pool_load(st->pool, e))
		return e->rc;
	struct cache_head h = { .count = entries->n, .pack_count = st->pool->pack_count, .tree = *tree };

	memcpy(h.magic, magic, 8);
	memcpy(h.selection, sel->digest, SHA256_SIZE);
	buf_init(&to, a);
	buf_add(&to, &h, sizeof(h));
	for (size_t i = 0; i < st->pool->pack_count; i++) {
		memset(pack, 0, sizeof(pack));
		snprintf(pack, sizeof(pack), "%s", st->pool->packs[i].name);
		buf_add(&to, pack, sizeof(pack));
	}
	for (size_t i = 0; i < entries->n; i++)
		save_row(&to, &entries->v[i]);
	sha256(to.p, to.n, digest);
	buf_add(&to, digest, SHA256_SIZE);
	cache_name(sel, name);
	drop_old_caches(st, a, name);
	if (file_replace(st->sys, st->dir_fd, name, 0600, buf_bytes(&to), e))
		return err_wrap(e, "stat cache");
	return OK;
}

/* ---- using ---- */

static bool is_same_text(const char *x, const char *y)
{
	return x == y || (x && y && text_eq(x, y));
}

/* Enough for directories and links, whose content is compared otherwise. */
static bool is_same_stat(const struct entry *x, const struct entry *y)
{
	return x->type == y->type && x->mode == y->mode && x->uid == y->uid && x->gid == y->gid &&
		x->mtime_ns == y->mtime_ns;
}

/* Inode, size and both times say that the content is the recorded one.  ctime cannot be set back by a
 * program, unlike mtime. */
static bool is_known(const struct entry *was, const struct entry *now)
{
	return is_same_stat(was, now) && was->size == now->size && was->ctime_ns == now->ctime_ns &&
		was->ino == now->ino && was->dev == now->dev && !was->is_racy && !was->is_unstable;
}

/* Takes over what is known about the content.  False: the entry is not as it was. */
static bool match_one(const struct entry *was, struct entry *now)
{
	if (now->type == ENTRY_SKIPPED)
		return was->type == ENTRY_SKIPPED && is_same_text(was->text, now->text);
	if (now->type == ENTRY_LINK)
		return is_same_stat(was, now) && is_same_text(was->text, now->text);
	if (now->type == ENTRY_DIR)
		return is_same_stat(was, now);
	if (!is_known(was, now))
		return false;
	now->content = was->content;
	now->is_sparse = was->is_sparse;
	now->extents = was->extents;
	now->extent_count = was->extent_count;
	now->held_bytes = was->held_bytes;
	now->is_known = true;
	return true;
}

/* Both lists are sorted by path, so this is a merge. */
bool cache_match(const struct cache *c, struct entries *entries)
{
	bool is_all = c->is_found && c->count == entries->n;
	struct bytes rest = c->rows;
	struct entry was;
	bool has_row = c->is_found && next_row(c->a, &rest, &was);

	for (size_t k = 0; k < entries->n && has_row; k++) {
		int order;
		while ((order = checkpoint_path_cmp(was.path, entries->v[k].path)) < 0)
			if (!(has_row = next_row(c->a, &rest, &was)))
				return false;
		if (order != 0 || !match_one(&was, &entries->v[k]))
			is_all = false;
	}
	return is_all;
}
