/* changes.c — which files a call or a run has changed.
 *
 * Nobody watches the file system here.  Before the call the names are noted that its effects speak of, and
 * which of those that would go are there; afterwards they are looked at again.  Only what runs a program
 * whose effects are not known makes a look at the whole work tree worth its time, and that look sees new
 * times, not what is gone.  Where a checkpoint was made just before, it is compared with the disk instead,
 * and sees all of it. */
#include "kernel/changes.h"

#include "base/file.h"
#include "base/text.h"
#include "execute/checkpoint/checkpoint.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

enum { NAMED_MAX = 32, SHOWN_MAX = 100, SEEN_MAX = 20000 };

/* ---- before ---- */

/* Effects that do not happen to files here: dry runs, remote sides, containers. */
static bool is_elsewhere(const struct effect *e)
{
	return e->flags & (FXF_DRY_RUN | FXF_DECODED | FXF_REMOTE_SIDE | FXF_INSIDE_CONTAINER);
}

/* Kinds of effects after which a file can be another one.  Programs that are not known count. */
static bool changes_files(const struct effect *e)
{
	switch (e->kind) {
	case FX_WRITE:
	case FX_DELETE:
	case FX_MOVE:
	case FX_PERMISSION:
	case FX_GIT:
	case FX_PERSISTENCE:
	case FX_SCRIPT:
	case FX_UNKNOWN:
	case FX_PACKAGE:
	case FX_DYNAMIC_EXEC:
	case FX_DECODE_EXEC:
	case FX_FETCH_EXEC:
	case FX_STDIN_SHELL:
		return true;
	default:
		return false;
	}
}

/* Does the effect name one certain file?  Then that file alone has to be looked at. */
static bool is_named(const struct effect *e)
{
	return e->target && e->target[0] == '/' && e->certainty == CERTAIN && !(e->flags & FXF_FIND) &&
		!strpbrk(e->target, "*?[") && e->kind <= FX_PERMISSION;
}

static bool goes_away(const struct effect *e)
{
	return e->kind == FX_DELETE || (e->kind == FX_MOVE && e->tag && text_eq(e->tag, "move.from"));
}

/* Without duplicates, up to a limit: these lists are for people. */
static void push_new(struct arena *a, struct json *list, const char *path, uint32_t max)
{
	json_each (known, list)
		if (text_eq(json_text(known), path))
			return;
	if (list->n < max)
		json_pushs(a, list, path);
}

/* The tree that a program with unknown effects may have changed. */
static const char *tree_of(const struct kernel *k, const struct surroundings *at)
{
	if (at->work_tree)
		return at->work_tree;
	return at->cwd && path_is_below(at->cwd, k->ws->root) ? k->ws->root : NULL;
}

/* Called before; what it returns is kept in the row and given to changes_find() afterwards.  NULL when no
 * change is to be expected. */
struct json *changes_expect(
	struct kernel *k, struct arena *a, const struct surroundings *at, const struct proposal *p)
{
	struct json *doc = json_new(a, JSON_OBJECT), *writes = json_new(a, JSON_ARRAY),
		    *removes = json_new(a, JSON_ARRAY);
	bool is_open = !p->readable;

	for (size_t i = 0; i < p->effect_count; i++) {
		const struct effect *e = &p->effects[i];
		if (is_elsewhere(e) || !changes_files(e))
			continue;
		if (!is_named(e))
			is_open = true;
		else if (!goes_away(e))
			push_new(a, writes, e->target, NAMED_MAX);
		else if (file_exists(k->sys, AT_FDCWD, e->target))
			push_new(a, removes, e->target, NAMED_MAX);
	}
	if (writes->n)
		json_set(a, doc, "writes", writes);
	if (removes->n)
		json_set(a, doc, "removes", removes);
	const char *tree = is_open ? tree_of(k, at) : NULL;
	if (tree)
		json_sets(a, doc, "tree", tree);
	return doc->n ? doc : NULL;
}

/* ---- after ---- */

struct look {
	struct kernel *k;
	struct arena *a;
	struct changes *to;
	const char *root; /* of the walk */
	int64_t since_us;
	size_t seen;
};

static const char *shown(const struct look *l, const char *path)
{
	const char *root = l->k->ws->root;
	const char *relative =
		path_is_below(path, root) && !text_eq(path, root) ? path + strlen(root) + 1 : path;

	return text_safe(l->a, relative, strlen(relative), false);
}

static void add(struct look *l, struct json *list, const char *path)
{
	l->to->is_partial |= list->n == SHOWN_MAX;
	push_new(l->a, list, shown(l, path), SHOWN_MAX);
}

/* By ctime, which a program cannot set back. */
static bool is_newer(const struct look *l, const struct stat *st)
{
	int64_t changed = (int64_t)st->st_ctim.tv_sec * 1000000 + st->st_ctim.tv_nsec / 1000;

	return changed >= l->since_us - 10000; /* the file system's clock ticks more coarsely than ours */
}

/* Version-control data and Helm's state change all the time and are left out. */
static int visit(
	void *arg, int parent, const char *name, const char *relative, const struct stat *st, struct err *e)
{
	struct look *l = arg;

	(void)parent;
	if (++l->seen > SEEN_MAX)
		return err_set(e, E_LIMIT, "CHANGES", "too many files");
	if (S_ISDIR(st->st_mode))
		return text_eq(name, ".git") || text_eq(name, l->k->ws->state_name) ? FILE_SKIP : 0;
	if (is_newer(l, st))
		add(l, l->to->changed, arena_printf(l->a, "%s/%s", l->root, relative));
	return 0;
}

static void walk(struct look *l, const char *root)
{
	struct err e;

	l->root = root;
	l->to->is_partial |= file_walk(l->k->sys, AT_FDCWD, root, visit, l, &e) != OK;
}

/* A directory is walked, a file looked at; what is gone is found by find_gone(). */
static void look_at(struct look *l, const char *path)
{
	struct sys *s = l->k->sys;
	struct stat st;

	if (s->stat(s, AT_FDCWD, path, &st, AT_SYMLINK_NOFOLLOW))
		return;
	if (S_ISDIR(st.st_mode))
		walk(l, path);
	else if (is_newer(l, &st))
		add(l, l->to->changed, path);
}

/* What the checkpoint has and the disk has not, or has otherwise.  False when it could not be compared. */
static bool compare(struct look *l, const char *id)
{
	struct kernel *k = l->k;
	struct checkpoint_store store;
	struct checkpoint_restored now;
	struct checkpoint_restore how = { .id = id, .is_dry_run = true };
	struct err e;

	if (workspace_checkpoints(k->sys, l->a, k->ws, false, &store, &e))
		return false;
	int rc = checkpoint_restore(&store, &how, &now, &e);
	for (size_t i = 0; rc == OK && i < now.change_count; i++) {
		const struct checkpoint_change *c = &now.changes[i];
		const char *path = arena_printf(l->a, "%s/%s", k->ws->tree, c->path);
		if (c->state == CHECKPOINT_MISSING && !text_eq(c->kind, "dir"))
			add(l, l->to->deleted, path);
		else if ((c->state == CHECKPOINT_CHANGED || c->state == CHECKPOINT_NEW) &&
			!text_eq(c->kind, "dir"))
			add(l, l->to->changed, path);
	}
	checkpoint_close(&store);
	return rc == OK;
}

static void find_gone(struct look *l, const struct json *expected)
{
	json_each (path, json_get(expected, "removes"))
		if (!file_exists(l->k->sys, AT_FDCWD, json_text(path)))
			add(l, l->to->deleted, json_text(path));
}

struct json *changes_gone(
	struct kernel *k, struct arena *a, const struct json *expected, const char *checkpoint_id)
{
	struct changes found = { json_new(a, JSON_ARRAY), json_new(a, JSON_ARRAY), false };
	struct look l = { .k = k, .a = a, .to = &found };

	if (checkpoint_id)
		(void)compare(&l, checkpoint_id);
	find_gone(&l, expected);
	return found.deleted;
}

/* is_partial says that more may have changed: too many files, or a walk by times, which does not show what
 * is gone. */
void changes_find(struct kernel *k, struct arena *a, const struct json *expected, const char *checkpoint_id,
	int64_t since_us, struct changes *ret)
{
	struct changes found = { json_new(a, JSON_ARRAY), json_new(a, JSON_ARRAY), false };
	struct look l = { .k = k, .a = a, .to = &found, .since_us = since_us };
	const char *tree = json_get_text(expected, "tree", NULL);
	bool was_saved = checkpoint_id && compare(&l, checkpoint_id);

	find_gone(&l, expected);
	json_each (path, json_get(expected, "writes"))
		look_at(&l, json_text(path));
	if (tree)
		walk(&l, tree);
	/* Times do not tell what is gone. */
	found.is_partial |= tree && !was_saved;
	*ret = found;
}
