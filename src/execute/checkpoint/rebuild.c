/* rebuild.c — the index again, when index.json is damaged, missing or an old one.
 *
 * In the order of how much is known: the copies of the records (records.c), each with its digest; the records of the damaged
 * index that can still be read, as long as their manifest is there; and last, where copies are missing, the manifests in the
 * packs and the archives of older versions.  A manifest says which files and paths, not label, time or task: such a checkpoint
 * is labelled "recovered" and has the time of its pack.
 *
 * Manifests that a prune has left in its packs come back this way, too.  That loses nothing; the next prune removes them. */
#include "base/file.h"
#include "execute/checkpoint/parts.h"

#include <stdlib.h>

enum { INDEX_MAX = 64 << 20, TREE_START = 24 };
#define RECOVERED "recovered"

struct rebuilder {
	struct checkpoint_store *st;
	struct arena *a; /* of the store: the records live on */
	struct copies copies;
	struct rebuilt res;
};

/* ---- what a damaged index still holds ---- */

/* One record whose text is damaged: its members stand on lines of their own, and those that can be read are kept. */
static struct json *read_members(struct arena *a, struct bytes text)
{
	struct json *record = json_new(a, JSON_OBJECT), *one;
	struct err why;

	while (text.p) {
		struct bytes line = text_cut(&text, '\n');
		while (line.n && (line.p[line.n - 1] == ',' || line.p[line.n - 1] == '\r'))
			line.n--;
		if (!line.n || line.n > 4096)
			continue;
		const char *doc = arena_printf(a, "{%.*s}", (int)line.n, (const char *)line.p);
		if (json_parse(a, bytes_of(doc), "record", NULL, &one, &why) || one->n != 1)
			continue;
		json_set(a, record, one->members[0].name, one->members[0].value);
	}
	return record;
}

/* Where a record of an indented index begins: a line of two spaces and a brace. */
static size_t next_record(struct bytes text, size_t from)
{
	static const char mark[] = "\n  {";

	for (size_t i = from; i + 4 <= text.n; i++)
		if (memcmp(text.p + i, mark, 4) == 0)
			return i + 1;
	return text.n;
}

/* Records of the index as far as they can be read, whole ones and parts of others. */
static struct json *read_damaged(struct arena *a, struct bytes text)
{
	struct json *all = json_new(a, JSON_ARRAY), *doc;
	struct err why;

	if (text.n && json_parse(a, text, "index.json", NULL, &doc, &why) == OK && json_is(doc, JSON_ARRAY)) {
		json_each (v, doc)
			if (json_is(v, JSON_OBJECT))
				json_push(a, all, v);
		return all;
	}
	for (size_t at = next_record(text, 0); at < text.n;) {
		size_t end = next_record(text, at);
		json_push(a, all, read_members(a, (struct bytes){ text.p + at, end - at }));
		at = end;
	}
	return all;
}

/* ---- is a record true? ---- */

static bool has_archive(struct rebuilder *b, const char *id)
{
	return file_exists(b->st->sys, b->st->dir_fd, arena_printf(b->a, "%s/snapshot.tar.gz", id));
}

/* A record without a digest is believed as far as it leads to something that is there. */
static bool is_true(struct rebuilder *b, const struct json *record)
{
	AUTO(arena_done) struct arena a = { .limit_bytes = (size_t)4 << 30 };
	const char *id = json_get_text(record, "checkpoint_id", "");
	struct content c;
	struct bytes text;
	struct tree tree;
	struct err why;

	if (!checkpoint_id_ok(id))
		return false;
	if (!text_eq(json_get_text(record, "format", ""), "objects/1"))
		return has_archive(b, id);
	return checkpoint_record_tree(record, &c, &why) == OK &&
		content_load(b->st->pool, &a, &c, TREE_LIMIT, &text, &why) == OK &&
		tree_parse(&a, text, &tree, &why) == OK;
}

/* A whole copy of a record that this damaged one once was: the same files, and the index does not have the copy's own id. */
static bool is_twin(struct rebuilder *b, const struct json *salvaged, const struct json *record)
{
	const char *tree = json_get_text(record, "tree", "-");

	json_each (copy, b->copies.all)
		if (text_eq(json_get_text(copy, "tree", ""), tree) &&
			!record_of(salvaged, json_get_text(copy, "checkpoint_id", "")))
			return true;
	return false;
}

/* What a list needs of a record, from its id where the member itself is damaged. */
static void complete_record(struct rebuilder *b, struct json *r)
{
	const char *id = json_get_text(r, "checkpoint_id", "");
	static const char *const counts[] = { "files", "bytes", "stored_bytes", "skipped" };

	if (!json_get_text(r, "label", NULL))
		json_sets(b->a, r, "label", id + 17);
	if (!json_get_text(r, "created_at", NULL))
		json_sets(b->a, r, "created_at", arena_strndup(b->a, id, 16));
	if (!json_is(json_get(r, "paths"), JSON_ARRAY))
		json_set(b->a, r, "paths", json_new(b->a, JSON_ARRAY));
	bool is_ours = text_eq(json_get_text(r, "format", ""), "objects/1");
	if (!json_get_text(r, "archive", NULL))
		json_set(b->a, r, "archive",
			is_ours ? json_stringf(b->a, "%s/checkpoints/objects", b->st->where)
				: json_stringf(b->a, "%s/checkpoints/%s/snapshot.tar.gz", b->st->where, id));
	for (size_t i = 0; is_ours && i < ARRAY_SIZE(counts); i++)
		if (json_get_int(r, counts[i], -1) < 0)
			json_seti(b->a, r, counts[i], 0);
}

/* ---- manifests without a record ---- */

static bool is_tree_named(const struct json *array, const char *hex)
{
	json_each (v, array)
		if (text_eq(json_get_text(v, "tree", ""), hex))
			return true;
	return false;
}

static const char *free_id(struct rebuilder *b, const char *created)
{
	const char *id = arena_printf(b->a, "%s-" RECOVERED, created);

	for (int i = 2; record_of(b->res.array, id); i++)
		id = arena_printf(b->a, "%s-" RECOVERED "-%d", created, i);
	return id;
}

static const char *pack_time(struct rebuilder *b, const struct object_id *id)
{
	struct sys *s = b->st->sys;
	const char *pack = pool_pack_of(b->st->pool, id);
	struct stat sb;

	if (!pack || s->stat(s, b->st->pool->dir_fd, pack, &sb, AT_SYMLINK_NOFOLLOW))
		return text_time_compact(b->a, s->now_us(s));
	return text_time_compact(b->a, (int64_t)sb.st_mtim.tv_sec * 1000000);
}

static void add_recovered(struct rebuilder *b, const struct content *c, const struct tree *tree)
{
	struct json *r = json_new(b->a, JSON_OBJECT), *paths = json_new(b->a, JSON_ARRAY);
	const char *created = pack_time(b, c->is_list ? &c->list : &c->sha);
	int64_t files = 0, bytes = 0, skipped = 0;
	char hex[SHA256_HEX];

	for (size_t i = 0; i < tree->entries.n; i++) {
		const struct entry *x = &tree->entries.v[i];
		files += x->type == ENTRY_FILE;
		bytes += x->type == ENTRY_FILE ? (int64_t)x->held_bytes : 0;
		skipped += x->type == ENTRY_SKIPPED;
	}
	for (size_t i = 0; i < tree->sel.path_count; i++)
		json_pushs(
			b->a, paths, text_safe(b->a, tree->sel.paths[i], strlen(tree->sel.paths[i]), false));
	json_sets(b->a, r, "checkpoint_id", free_id(b, created));
	json_sets(b->a, r, "label", RECOVERED);
	json_sets(b->a, r, "created_at", created);
	json_set(b->a, r, "paths", paths);
	json_set(b->a, r, "archive", json_stringf(b->a, "%s/checkpoints/objects", b->st->where));
	json_sets(b->a, r, "format", "objects/1");
	hex_encode(c->sha.b, SHA256_SIZE, hex);
	json_sets(b->a, r, "tree", hex);
	hex_encode(c->list.b, SHA256_SIZE, hex);
	if (c->is_list)
		json_sets(b->a, r, "tree_chunks", hex);
	json_seti(b->a, r, "tree_bytes", (int64_t)c->n);
	json_seti(b->a, r, "files", files);
	json_seti(b->a, r, "bytes", bytes);
	json_seti(b->a, r, "stored_bytes", 0);
	json_seti(b->a, r, "skipped", skipped);
	json_push(b->a, b->res.array, r);
	b->res.recovered++;
}

/* The content that an object is, if it is a manifest or the list of a manifest's chunks.  The sum of a list's lengths is its
 * length, and its digest is computed from the chunks. */
static bool as_tree(struct rebuilder *b, struct arena *a, const struct object_id *id, struct content *ret)
{
	static const char start[] = "{\"format\":\"helm-checkpo";
	struct bytes raw;
	struct err why;

	if (pool_read(b->st->pool, id, &raw, &why))
		return false;
	if (raw.n > TREE_START && memcmp(raw.p, start, sizeof(start) - 1) == 0) {
		*ret = (struct content){ .sha = *id, .n = raw.n };
		return true;
	}
	return content_of_list(b->st->pool, a, id, start, ret);
}

static int recover_trees(struct rebuilder *b, struct err *e)
{
	struct pool *pool = b->st->pool;

	if (pool_load(pool, e))
		return e->rc;
	for (size_t i = 0; i < pool->count; i++) {
		AUTO(arena_done) struct arena a = { .limit_bytes = (size_t)4 << 30 };
		struct object_id id = pool->all[i].id;
		struct content c;
		struct bytes text;
		struct tree tree;
		struct err why;
		char hex[SHA256_HEX];
		if (!as_tree(b, &a, &id, &c))
			continue;
		hex_encode(c.sha.b, SHA256_SIZE, hex);
		if (is_tree_named(b->res.array, hex) || content_load(pool, &a, &c, TREE_LIMIT, &text, &why) ||
			tree_parse(&a, text, &tree, &why))
			continue;
		add_recovered(b, &c, &tree);
	}
	return OK;
}

/* Archives of the program Helm descends from lie in a directory named like their record. */
static int recover_archives(struct rebuilder *b, struct err *e)
{
	char **names;
	size_t n;

	if (file_list(b->st->sys, b->a, b->st->dir_fd, ".", &names, &n, e))
		return e->rc;
	for (size_t i = 0; i < n; i++) {
		if (!checkpoint_id_ok(names[i]) || record_of(b->res.array, names[i]) ||
			!has_archive(b, names[i]))
			continue;
		struct json *r = json_new(b->a, JSON_OBJECT);
		json_sets(b->a, r, "checkpoint_id", names[i]);
		complete_record(b, r);
		json_push(b->a, b->res.array, r);
		b->res.recovered++;
	}
	return OK;
}

/* ---- all of it ---- */

static int by_created(const void *x, const void *y)
{
	const struct json *p = *(struct json *const *)x, *q = *(struct json *const *)y;
	int order = strcmp(json_get_text(p, "created_at", ""), json_get_text(q, "created_at", ""));

	return order ? order
		     : strcmp(json_get_text(p, "checkpoint_id", ""), json_get_text(q, "checkpoint_id", ""));
}

/* The newest version of each copy, in the order in which they were made. */
static void take_copies(struct rebuilder *b)
{
	json_each (copy, b->copies.all) {
		const char *id = json_get_text(copy, "checkpoint_id", "");
		if (!record_of(b->res.array, id))
			json_push(b->a, b->res.array, record_of(b->copies.all, id));
	}
}

/* Records that have no copy: an older version of Helm made them, or it was killed before it could copy them. */
static void take_salvaged(struct rebuilder *b)
{
	const struct json *salvaged = read_damaged(b->a, b->res.was);

	json_each (r, salvaged) {
		const char *id = json_get_text(r, "checkpoint_id", "");
		if (record_of(b->res.array, id) || is_twin(b, salvaged, r) || !is_true(b, r))
			continue;
		complete_record(b, r);
		json_push(b->a, b->res.array, r);
	}
}

int checkpoint_recover(
	struct checkpoint_store *st, struct json *array, uint32_t *ret_recovered, struct err *e)
{
	struct rebuilder b = { .st = st, .a = st->a, .res.array = array };

	if (recover_trees(&b, e) || recover_archives(&b, e))
		return e->rc;
	*ret_recovered += b.res.recovered;
	return OK;
}

int checkpoint_rebuild(struct checkpoint_store *st, struct rebuilt *ret, struct err *e)
{
	struct rebuilder b = { .st = st, .a = st->a };
	struct err why = { 0 };
	int rc = checkpoint_list_locked(st, &b.res.array, &why);

	if (rc && rc != E_CORRUPT) {
		*e = why;
		return rc;
	}
	if (rc == OK) {
		*ret = b.res;
		return OK;
	}
	b.res.why = arena_strdup(st->a, why.text);
	b.res.array = json_new(st->a, JSON_ARRAY);
	rc = file_read(st->sys, st->a, st->dir_fd, "index.json", INDEX_MAX, 0, &b.res.was, e);
	if (rc && rc != E_MISSING)
		return rc;
	records_load(st, &b.copies);
	take_copies(&b);
	uint32_t from_copies = b.res.array->n;
	take_salvaged(&b);
	if (!b.copies.are_complete && checkpoint_recover(st, b.res.array, &b.res.recovered, e))
		return e->rc;
	if (b.res.array->n > from_copies)
		qsort(b.res.array->items, b.res.array->n, sizeof(struct json *), by_created);
	*ret = b.res;
	return OK;
}

/* Kept under its digest, so that keeping the same one twice is keeping it once. */
static int keep_aside(struct checkpoint_store *st, struct bytes was, struct err *e)
{
	uint8_t digest[SHA256_SIZE];
	char hex[SHA256_HEX];

	if (!was.n)
		return OK;
	sha256(was.p, was.n, digest);
	hex_encode(digest, SHA256_SIZE, hex);
	if (file_mkdirs(st->sys, st->dir_fd, CHECKPOINT_DAMAGED, 0700, e))
		return e->rc;
	return file_replace(st->sys, st->dir_fd,
		arena_printf(st->a, CHECKPOINT_DAMAGED "/index-%.16s.json", hex), 0600, was, e);
}

/* The copies follow the index here: until they do, the next repair takes the same records from them. */
int checkpoint_put_index(struct checkpoint_store *st, const struct rebuilt *r, struct err *e)
{
	if (keep_aside(st, r->why ? r->was : (struct bytes){ 0 }, e) ||
		checkpoint_save_index(st, r->array, e) || records_replace(st, r->array, e))
		return e->rc;
	return OK;
}

int checkpoint_list_healed(
	struct checkpoint_store *st, struct json **ret_array, const char **ret_healed, struct err *e)
{
	struct rebuilt r;
	struct err why = { 0 };
	int rc = checkpoint_list_locked(st, ret_array, e);

	*ret_healed = NULL;
	if (rc != E_CORRUPT)
		return rc;
	/* Behind a damaged pack there may be more than can be listed now: that is for a repair, which says what is lost. */
	if (pool_load(st->pool, &why) || st->pool->damaged_count || checkpoint_rebuild(st, &r, &why))
		return rc;
	json_each (v, r.array)
		if (json_get(v, "tree") && !is_true(&(struct rebuilder){ .st = st, .a = st->a }, v))
			return rc;
	*e = (struct err){ 0 };
	if (checkpoint_put_index(st, &r, e))
		return e->rc;
	*ret_array = r.array;
	*ret_healed = arena_printf(st->a,
		"the list of checkpoints was damaged and was made anew: %u checkpoints, %u of them without label, time and task; the old list is kept in checkpoints/" CHECKPOINT_DAMAGED,
		r.array->n, r.recovered);
	return OK;
}
