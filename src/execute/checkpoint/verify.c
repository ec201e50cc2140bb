/* verify.c — can every checkpoint still be restored?
 *
 * Reads every object that any checkpoint needs, once, and says of each checkpoint that lacks one which it is.  Changes
 * nothing and takes no lock: a prune beside it may take checkpoints away, which is then no damage.  For `helm
 * doctor --deep`; a restore reads what it needs itself, and a prune what stays. */
#include "base/text.h"
#include "execute/checkpoint/parts.h"

struct verifier {
	struct checkpoint_store *st;
	uint8_t *state; /* of each object of the pool: 0 not read yet, 1 whole */
};

static int look(void *arg, const struct object_id *id, struct err *e)
{
	struct verifier *v = arg;
	struct pool *pool = v->st->pool;
	const struct object *o = pool_find(pool, id);

	if (o && v->state[o - pool->all])
		return OK;
	if (pool_check(pool, id, e))
		return e->rc;
	v->state[pool_find(pool, id) - pool->all] = 1;
	return OK;
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

/* A checkpoint that was taken away meanwhile is not damaged. */
static bool is_still_there(struct checkpoint_store *st, const struct json *record)
{
	struct err e = { 0 };
	struct json *now;

	return checkpoint_find(st, json_get_text(record, "checkpoint_id", ""), &now, &e) == OK;
}

int checkpoint_verify(struct checkpoint_store *st, const struct checkpoint_progress *progress,
	struct checkpoint_verified *ret, struct err *e)
{
	struct verifier v = { .st = st };
	struct json *all;

	*ret = (struct checkpoint_verified){ .damaged = json_new(st->a, JSON_ARRAY) };
	if (checkpoint_list(st, &all, e))
		return e->rc;
	if (!all->n)
		return OK;
	if (pool_load(st->pool, e))
		return e->rc;
	v.state = arena_zalloc(st->a, st->pool->count + 1, 1);
	json_each (record, all) {
		struct err why = { 0 };
		if (progress)
			progress->step(progress->arg, "checkpoints", ret->checkpoints, all->n);
		if (checkpoint_objects(st, record, look, &v, &why) && is_still_there(st, record))
			json_push(st->a, ret->damaged,
				json_stringf(st->a, "%s (%s)", json_get_text(record, "checkpoint_id", "?"),
					why.text));
		ret->checkpoints++;
	}
	return OK;
}
