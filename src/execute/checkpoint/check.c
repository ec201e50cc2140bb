/* check.c — is everything there that the checkpoints need?
 *
 * The structure: the index says what its copies say, every pack can be read, every manifest is whole, and every object that a
 * checkpoint needs is in some pack.  With read_data every byte of every pack is read, too, and compared with its digest.
 * Changes nothing and takes no lock: a prune beside it may take checkpoints away, which is then no damage.
 *
 * A restore reads what it needs itself, and a prune what stays. */
#include "base/file.h"
#include "execute/checkpoint/parts.h"

struct checker {
	struct checkpoint_store *st;
	const struct checkpoint_check *how;
	const char *id; /* the checkpoint that is looked at */
	struct json *seen; /* manifests that are whole with all they need */
	struct object_id missing;
	struct checkpoint_checked res;
};

static void add_finding(
	struct checker *c, const char *kind, const char *path, const char *pack, const char *text)
{
	struct arena *a = c->st->a;
	struct json *row = json_new(a, JSON_OBJECT);

	json_sets(a, row, "kind", kind);
	if (c->id)
		json_sets(a, row, "checkpoint_id", c->id);
	if (path)
		json_sets(a, row, "path", text_safe(a, path, strlen(path), false));
	if (pack)
		json_sets(a, row, "pack", pack);
	json_sets(a, row, "text", text);
	json_push(a, c->res.findings, row);
}

/* Everything one checkpoint needs: its manifest and the content of all its files. */
int checkpoint_objects(
	struct checkpoint_store *st, const struct json *record, content_object *fn, void *arg, struct err *e)
{
	AUTO(arena_done) struct arena a = { .limit_bytes = (size_t)4 << 30 };
	struct pool *pool = st->pool;
	struct content c;
	struct bytes text;
	struct tree tree;

	/* Archives of older versions hold their files themselves. */
	if (!text_eq(json_get_text(record, "format", ""), "objects/1"))
		return OK;
	if (checkpoint_record_tree(record, &c, e) || content_objects(pool, &a, &c, fn, arg, e) ||
		content_load(pool, &a, &c, TREE_LIMIT, &text, e) || tree_parse(&a, text, &tree, e))
		return e->rc;
	for (size_t i = 0; i < tree.entries.n; i++)
		if (tree.entries.v[i].type == ENTRY_FILE &&
			content_objects(pool, &a, &tree.entries.v[i].content, fn, arg, e))
			return e->rc;
	return OK;
}

/* Whether an object is whole is known by now, where data is read at all. */
static int is_there(void *arg, const struct object_id *id, struct err *e)
{
	struct checker *c = arg;

	if (pool_find(c->st->pool, id))
		return OK;
	c->missing = *id;
	return err_set(e, E_CORRUPT, "CHECKPOINT_OBJECT", "its content is %s",
		pool_pack_of(c->st->pool, id) ? "damaged" : "missing from the store");
}

/* A checkpoint that was taken away meanwhile is not damaged. */
static bool is_still_there(struct checkpoint_store *st, const struct json *record)
{
	struct err e = { 0 };
	struct json *now;

	return checkpoint_find(st, json_get_text(record, "checkpoint_id", ""), &now, &e) != E_MISSING;
}

static void check_files(struct checker *c, struct arena *a, const struct tree *tree)
{
	struct err why;

	for (size_t i = 0; i < tree->entries.n; i++) {
		const struct entry *x = &tree->entries.v[i];
		if (x->type == ENTRY_SKIPPED && text_eq(x->text, ENTRY_LOST))
			c->res.lost++;
		if (x->type == ENTRY_FILE && content_objects(c->st->pool, a, &x->content, is_there, c, &why))
			add_finding(c, "file", x->path, pool_pack_of(c->st->pool, &c->missing), why.text);
	}
}

/* The whole archive is read: it has no digest but the one inside its compression. */
static void check_archive(struct checker *c, struct json *record)
{
	AUTO(arena_done) struct arena a = { .limit_bytes = (size_t)4 << 30 };
	struct checkpoint_restore req = { .is_dry_run = true };
	struct plan plan = { .st = c->st, .req = &req, .a = &a, .record = record };
	struct err why = { 0 };

	if (!c->how->read_data &&
		file_exists(c->st->sys, c->st->dir_fd, arena_printf(&a, "%s/snapshot.tar.gz", c->id)))
		return;
	if (checkpoint_load_archive(&plan, &why))
		add_finding(c, "archive", NULL, NULL, arena_strdup(c->st->a, why.text));
}

static void check_record(struct checker *c, struct json *record)
{
	AUTO(arena_done) struct arena a = { .limit_bytes = (size_t)4 << 30 };
	const char *hex = json_get_text(record, "tree", "");
	uint32_t before = c->res.findings->n;
	struct content tree = { 0 };
	struct bytes text;
	struct tree parsed;
	struct err why = { 0 };

	c->id = json_get_text(record, "checkpoint_id", "?");
	if (!text_eq(json_get_text(record, "format", ""), "objects/1")) {
		check_archive(c, record);
	} else if (json_get(c->seen, hex)) {
		c->id = NULL;
		return;
	} else if (checkpoint_record_tree(record, &tree, &why) ||
		content_load(c->st->pool, &a, &tree, TREE_LIMIT, &text, &why) ||
		tree_parse(&a, text, &parsed, &why)) {
		add_finding(c, "manifest", NULL,
			pool_pack_of(c->st->pool, tree.is_list ? &tree.list : &tree.sha),
			arena_printf(c->st->a, "nothing of it can be restored: %s", why.text));
	} else {
		check_files(c, &a, &parsed);
	}
	c->id = NULL;
	if (c->res.findings->n == before)
		json_setb(c->st->a, c->seen, hex, true);
	else if (!is_still_there(c->st, record))
		c->res.findings->n = before;
}

/* A damaged copy of an object counts also where another one is whole: it is the copy that fails next. */
static void check_packs(struct checker *c)
{
	struct pool *pool = c->st->pool;
	struct arena *a = c->st->a;

	for (size_t i = 0; i < pool->damaged_count; i++)
		add_finding(c, "pack", NULL, pool->damaged[i], "its list of objects cannot be read");
	for (uint32_t k = 0; k < pool->pack_count; k++) {
		uint32_t bad = 0;
		for (uint32_t i = 0; i < pool->packs[k].count; i++)
			bad += pool->all[pool->packs[k].first + i].is_bad;
		if (bad)
			add_finding(c, "pack", NULL, pool->packs[k].name,
				arena_printf(
					a, "%u of its %u objects are damaged", bad, pool->packs[k].count));
		else if (pool->packs[k].has_bad_head)
			add_finding(c, "pack", NULL, pool->packs[k].name,
				"its first bytes are damaged; its objects are whole");
	}
	c->res.packs = pool->pack_count + pool->damaged_count;
	c->res.objects = pool->count;
}

int checkpoint_check_store(struct checkpoint_store *st, const struct checkpoint_check *how,
	struct checkpoint_checked *ret, struct err *e)
{
	struct checker c = { .st = st, .how = how, .seen = json_new(st->a, JSON_OBJECT) };
	const struct checkpoint_progress *progress = how->progress;
	struct rebuilt index = { 0 };
	struct json *all;
	int rc = checkpoint_list(st, &all, e);

	c.res.findings = json_new(st->a, JSON_ARRAY);
	if (rc == E_CORRUPT) {
		add_finding(&c, "index", NULL, NULL, arena_strdup(st->a, e->text));
		/* What a repair would list is looked at. */
		if (checkpoint_rebuild(st, &index, e))
			return e->rc;
		all = index.array;
	} else if (rc) {
		return rc;
	}
	if (pool_load(st->pool, e) || (how->read_data && pool_read_all(st->pool, progress, e)))
		return e->rc;
	check_packs(&c);
	json_each (record, all) {
		if (progress)
			progress->step(progress->arg, "checkpoints", c.res.checkpoints, all->n);
		check_record(&c, record);
		c.res.checkpoints++;
	}
	*ret = c.res;
	return OK;
}
