/* repair.c — make the store usable again after damage, and say what is lost.
 *
 * The index is made anew when it is damaged (rebuild.c).  Every byte of every pack is read.  What a damaged pack still holds
 * whole goes into a new pack; content that is damaged and still lies in the work tree is saved anew from there; and what is
 * then still missing is named, path by path, and marked in a new manifest of its checkpoint, so that the rest of it can be
 * restored, and pruned, as ever.  A checkpoint whose manifest is gone cannot be restored at all: it is named and leaves the
 * index.
 *
 * Nothing is removed: the damaged index, the damaged packs and the records that left are kept in checkpoints/damaged.
 *
 * The order makes a repair that is killed harmless: first the new pack, then the index, then the copies of its records, and
 * only then do damaged packs leave.  Doing it again finishes it, and once more changes nothing. */
#include "base/file.h"
#include "execute/checkpoint/parts.h"

#include <errno.h>

struct repairer {
	struct checkpoint_store *st;
	const struct checkpoint_repair *how;
	struct rebuilt index;
	struct json *whole; /* manifests that need nothing */
	struct json *gone; /* records that leave the index */
	bool *is_out; /* per pack: leaves */
	size_t packs; /* before anything is written */
	bool are_records_new;
	struct feed feed;
	struct checkpoint_repaired res;
};

static void add_lost(struct repairer *r, const struct json *record, const char *path, const char *why)
{
	struct arena *a = r->st->a;
	struct json *row = json_new(a, JSON_OBJECT);

	json_sets(a, row, "checkpoint_id", json_get_text(record, "checkpoint_id", "?"));
	json_sets(a, row, "path", path ? text_safe(a, path, strlen(path), false) : NULL);
	json_sets(a, row, "reason", why);
	json_push(a, r->res.lost, row);
}

static int has_object(void *arg, const struct object_id *id, struct err *e)
{
	const struct repairer *r = arg;

	return pool_find(r->st->pool, id) ? OK : err_set(e, E_CORRUPT, "CHECKPOINT_OBJECT", "not there");
}

static bool is_whole(struct repairer *r, struct arena *a, const struct content *c)
{
	struct err why;

	return content_objects(r->st->pool, a, c, has_object, r, &why) == OK;
}

/* ---- from the work tree ---- */

/* The bytes of an open file where the entry has data, as content of the store. */
static int feed_again(struct repairer *r, struct arena *a, int fd, const struct entry *x, struct content *ret,
	struct err *e)
{
	struct sys *s = r->st->sys;
	struct extent all = { 0, x->size };
	const struct extent *v = x->is_sparse ? x->extents : &all;
	uint8_t *to;
	size_t room;

	r->feed.buf = NULL;
	feed_begin(&r->feed, r->st->pool, a, false);
	for (size_t i = 0; i < (x->is_sparse ? x->extent_count : 1); i++)
		for (uint64_t done = 0; done < v[i].n;) {
			if (feed_room(&r->feed, &to, &room, e))
				return e->rc;
			size_t want = room < v[i].n - done ? room : (size_t)(v[i].n - done);
			ssize_t got = s->pread(s, fd, to, want, (off_t)(v[i].at + done));
			if (got <= 0)
				return err_set(e, E_INPUT, "CHECKPOINT_READ", "'%s' changed", x->path);
			feed_filled(&r->feed, (size_t)got);
			done += (size_t)got;
		}
	return feed_end(&r->feed, ret, e);
}

/* True when the work tree still has the very content, and it was saved anew (a dry run: could be). */
static bool save_again(struct repairer *r, struct arena *a, struct entry *x, bool *ret_moved)
{
	struct sys *s = r->st->sys;
	struct object_id now;
	struct content c;
	struct stat sb;
	struct err why;
	AUTO(close_fd)
	int fd = s->open(s, r->st->root_fd, x->path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0, RESOLVE_INSIDE);

	if (fd < 0 || s->stat(s, fd, "", &sb, AT_EMPTY_PATH) || !S_ISREG(sb.st_mode) ||
		(uint64_t)sb.st_size != x->size || entry_digest(s, a, fd, x, &now) ||
		!object_eq(&now, &x->content.sha))
		return false;
	if (r->how->is_dry_run)
		return true;
	if (feed_again(r, a, fd, x, &c, &why) || !object_eq(&c.sha, &x->content.sha))
		return false;
	*ret_moved |= c.is_list != x->content.is_list || !object_eq(&c.list, &x->content.list);
	x->content = c;
	return true;
}

/* ---- one checkpoint ---- */

static void set_tree(struct repairer *r, struct json *record, const struct content *c)
{
	struct arena *a = r->st->a;
	char hex[SHA256_HEX];

	hex_encode(c->sha.b, SHA256_SIZE, hex);
	json_sets(a, record, "tree", hex);
	json_seti(a, record, "tree_bytes", (int64_t)c->n);
	json_remove(record, "tree_chunks");
	hex_encode(c->list.b, SHA256_SIZE, hex);
	if (c->is_list)
		json_sets(a, record, "tree_chunks", hex);
}

static void change_count(struct arena *a, struct json *record, const char *name, int64_t by)
{
	int64_t n = json_get_int(record, name, 0) + by;

	json_seti(a, record, name, n > 0 ? n : 0);
}

/* The manifest again, with the lost files marked. */
static int write_tree(
	struct repairer *r, struct arena *a, struct json *record, const struct tree *tree, struct err *e)
{
	struct content c;
	struct buf text;

	buf_init(&text, a);
	tree_write(&text, &tree->sel, &tree->entries);
	r->feed.buf = NULL;
	feed_begin(&r->feed, r->st->pool, a, true);
	if (feed_add(&r->feed, buf_bytes(&text), e) || feed_end(&r->feed, &c, e))
		return e->rc;
	set_tree(r, record, &c);
	r->are_records_new = true;
	return OK;
}

static int repair_files(
	struct repairer *r, struct arena *a, struct json *record, struct tree *tree, struct err *e)
{
	int64_t lost = 0, bytes = 0;
	bool is_moved = false;

	for (size_t i = 0; i < tree->entries.n; i++) {
		struct entry *x = &tree->entries.v[i];
		if (x->type != ENTRY_FILE || is_whole(r, a, &x->content))
			continue;
		if (save_again(r, a, x, &is_moved)) {
			r->res.resaved++;
			continue;
		}
		add_lost(r, record, x->path,
			"its saved content is damaged, and the file is not as it was saved");
		lost++;
		bytes += (int64_t)x->held_bytes;
		*x = (struct entry){ .path = x->path, .type = ENTRY_SKIPPED, .text = ENTRY_LOST };
	}
	if ((!lost && !is_moved) || r->how->is_dry_run)
		return OK;
	change_count(r->st->a, record, "files", -lost);
	change_count(r->st->a, record, "bytes", -bytes);
	change_count(r->st->a, record, "skipped", lost);
	change_count(r->st->a, record, "lost", lost);
	return write_tree(r, a, record, tree, e);
}

static bool has_archive(struct repairer *r, const char *id)
{
	return checkpoint_id_ok(id) &&
		file_exists(r->st->sys, r->st->dir_fd, arena_printf(r->st->a, "%s/snapshot.tar.gz", id));
}

/* False: nothing of the checkpoint can be restored. */
static int repair_record(struct repairer *r, struct json *record, bool *ret_stays, struct err *e)
{
	AUTO(arena_done) struct arena a = { .limit_bytes = (size_t)4 << 30 };
	const char *hex = json_get_text(record, "tree", "");
	uint32_t before = r->res.lost->n;
	struct content c;
	struct bytes text;
	struct tree tree;
	struct err why = { 0 };

	*ret_stays = true;
	if (!text_eq(json_get_text(record, "format", ""), "objects/1")) {
		*ret_stays = has_archive(r, json_get_text(record, "checkpoint_id", ""));
		if (!*ret_stays)
			add_lost(r, record, NULL, "its archive is not there");
		return OK;
	}
	if (json_get(r->whole, hex))
		return OK;
	if (checkpoint_record_tree(record, &c, &why) || !is_whole(r, &a, &c) ||
		content_load(r->st->pool, &a, &c, TREE_LIMIT, &text, &why) ||
		tree_parse(&a, text, &tree, &why)) {
		add_lost(r, record, NULL, "its list of files is damaged; nothing of it can be restored");
		*ret_stays = false;
		return OK;
	}
	if (repair_files(r, &a, record, &tree, e))
		return e->rc;
	if (r->res.lost->n == before)
		json_setb(r->st->a, r->whole, json_get_text(record, "tree", ""), true);
	return OK;
}

/* A record that leads nowhere may be a damaged one: where no copy shows what it was, its manifest is looked for.  If there is one
 * such record and one such manifest, they belong together. */
static int recover_gone(struct repairer *r, struct err *e)
{
	struct arena *a = r->st->a;
	struct json *array = r->index.array, *gone = json_at(r->gone, 0), *v;
	uint32_t before = array->n, n = 0;
	struct copies copies;

	records_load(r->st, &copies);
	if (!gone || copies.are_complete)
		return OK;
	if (checkpoint_recover(r->st, array, &n, e))
		return e->rc;
	r->res.recovered += n;
	if (n != 1 || r->gone->n != 1)
		return OK;
	v = array->items[before];
	static const char *const kept[] = { "checkpoint_id", "label", "created_at", "task_id", "pinned",
		"whole" };
	for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
		if (json_get(gone, kept[i]))
			json_set(a, v, kept[i], json_get(gone, kept[i]));
	struct json *lost = json_new(a, JSON_ARRAY);
	json_each (row, r->res.lost)
		if (json_get_text(row, "path", NULL))
			json_push(a, lost, row);
	r->res.lost = lost;
	return OK;
}

static int repair_records(struct repairer *r, struct err *e)
{
	struct arena *a = r->st->a;
	struct json *left = json_new(a, JSON_ARRAY);

	json_each (record, r->index.array) {
		struct json *mine = json_copy(a, record);
		bool stays;
		if (repair_record(r, mine, &stays, e))
			return e->rc;
		json_push(a, stays ? left : r->gone, mine);
	}
	r->are_records_new |= r->gone->n > 0;
	r->index.array = left;
	return recover_gone(r, e);
}

/* ---- packs ---- */

static bool is_named(const struct pool *p, const char *name)
{
	for (size_t i = 0; i < p->damaged_count; i++)
		if (text_eq(p->damaged[i], name))
			return true;
	return false;
}

static void choose_packs(struct repairer *r)
{
	struct pool *pool = r->st->pool;
	struct arena *a = r->st->a;

	r->packs = pool->pack_count;
	r->is_out = arena_zalloc(a, r->packs + 1, sizeof(*r->is_out));
	for (size_t i = 0; i < pool->count; i++)
		r->is_out[pool->all[i].pack] |= pool->all[i].is_bad;
	for (size_t i = 0; i < pool->count; i++)
		r->res.bad_objects += pool->all[i].is_bad;
	for (size_t i = 0; i < pool->damaged_count; i++)
		json_pushs(a, r->res.packs, pool->damaged[i]);
	for (size_t i = 0; i < r->packs; i++) {
		r->is_out[i] |= pool->packs[i].has_bad_head;
		if (is_named(pool, pool->packs[i].name))
			r->is_out[i] = true;
		else if (r->is_out[i])
			json_pushs(a, r->res.packs, pool->packs[i].name);
	}
}

/* What is whole in packs that leave, and nowhere else. */
static int copy_whole(struct repairer *r, struct err *e)
{
	struct pool *pool = r->st->pool;
	size_t n = pool->count;

	for (size_t i = 0; i < n; i++) {
		const struct object *o = &pool->all[i];
		if (o->is_bad || o->pack >= r->packs || !r->is_out[o->pack] || pool_find(pool, &o->id) != o)
			continue;
		if ((!pool->writer && pool_begin(pool, e)) || pool_copy(pool, i, e))
			return e->rc;
	}
	return OK;
}

/* Everything that is needed of them is in other packs by now, on disk. */
static int move_packs(struct repairer *r, struct err *e)
{
	struct checkpoint_store *st = r->st;
	struct sys *s = st->sys;
	AUTO(close_fd) int aside = -1;

	if (!r->res.packs->n)
		return OK;
	if (file_mkdirs(s, st->dir_fd, CHECKPOINT_DAMAGED, 0700, e) ||
		file_open_dir(s, st->dir_fd, CHECKPOINT_DAMAGED, &aside, e))
		return e->rc;
	json_each (name, r->res.packs)
		if (s->rename(s, st->pool->dir_fd, json_text(name), aside, json_text(name), 0))
			return err_sys(e, "CHECKPOINT_WRITE", "cannot move pack '%s' to checkpoints/%s",
				json_text(name), CHECKPOINT_DAMAGED);
	if (s->fsync(s, aside) || s->fsync(s, st->pool->dir_fd))
		return err_sys(e, "CHECKPOINT_SYNC", "cannot make the move of damaged packs durable");
	return OK;
}

static int keep_gone(struct repairer *r, struct err *e)
{
	struct checkpoint_store *st = r->st;

	if (r->gone->n && file_mkdirs(st->sys, st->dir_fd, CHECKPOINT_DAMAGED, 0700, e))
		return e->rc;
	json_each (record, r->gone) {
		struct buf line;
		buf_init(&line, st->a);
		json_write(&line, record, 0);
		if (file_append_line(st->sys, st->dir_fd, CHECKPOINT_DAMAGED "/records.jsonl", 0600,
			    buf_bytes(&line), NULL, e))
			return e->rc;
	}
	return OK;
}

/* ---- all of it ---- */

static int write_all(struct repairer *r, struct err *e)
{
	struct checkpoint_store *st = r->st;
	struct copies copies;
	uint64_t written;

	if (copy_whole(r, e) || pool_commit(st->pool, &written, e) || keep_gone(r, e))
		return e->rc;
	records_load(st, &copies);
	bool is_index_new = r->index.why || r->are_records_new;
	if (is_index_new && checkpoint_put_index(st, &r->index, e))
		return e->rc;
	if (!is_index_new && !copies.are_complete && r->index.array->n &&
		records_replace(st, r->index.array, e))
		return e->rc;
	r->res.is_changed = is_index_new || r->res.packs->n || written;
	return move_packs(r, e);
}

static int repair_locked(struct repairer *r, struct err *e)
{
	struct checkpoint_store *st = r->st;

	if (pool_load(st->pool, e) || pool_load_damaged(st->pool, e) ||
		pool_read_all(st->pool, r->how->progress, e) || checkpoint_rebuild(st, &r->index, e))
		return e->rc;
	r->res.index = r->index.why;
	r->res.recovered = r->index.recovered;
	choose_packs(r);
	if (!r->how->is_dry_run)
		checkpoint_remove_temps(st, st->a);
	if (repair_records(r, e))
		return e->rc;
	r->res.checkpoints = r->index.array->n;
	if (r->how->is_dry_run) {
		r->res.is_changed =
			r->index.why || r->gone->n || r->res.packs->n || r->res.lost->n || r->res.resaved;
		return OK;
	}
	return write_all(r, e);
}

int checkpoint_repair_store(struct checkpoint_store *st, const struct checkpoint_repair *how,
	struct checkpoint_repaired *ret, struct err *e)
{
	AUTO(close_fd) int lock = -1;
	struct repairer r = { .st = st, .how = how, .whole = json_new(st->a, JSON_OBJECT) };

	r.gone = json_new(st->a, JSON_ARRAY);
	r.res.packs = json_new(st->a, JSON_ARRAY);
	r.res.lost = json_new(st->a, JSON_ARRAY);
	if (st->dir_fd < 0) {
		*ret = r.res;
		return OK;
	}
	if (!how->is_dry_run && (checkpoint_make_dirs(st, e) || checkpoint_lock(st, 0, &lock, e)))
		return e->rc;
	int rc = repair_locked(&r, e);
	pool_drop(st->pool);
	pool_forget(st->pool);
	if (rc)
		return rc;
	*ret = r.res;
	return OK;
}
