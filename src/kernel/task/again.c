/* again.c — the walk behind a call, where it is known which directories changed since the last one (watch.c).
 *
 * Looked at are: every entry of a directory in which something happened; all of a directory that came; a repository inside of which something
 * happened; and all places that are known to count, wherever they are, because a file can be changed through another name of it.  A name that
 * counts, appeared and was not heard to appear does not exist where the watch is whole.  So nothing is left out that a walk over everything would
 * find, but a file in another directory that was made to run as its owner through a second name, which is gone by now: the walk at the end of the
 * session finds that. */
#include "base/file.h"
#include "base/text.h"
#include "kernel/task/parts.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

struct again {
	struct task *t;
	struct watch_news news;
	int root;
	const char *dir; /* that is walked now, below the root */
};

static int by_path(const void *x, const void *y)
{
	return strcmp(*(const char *const *)x, *(const char *const *)y);
}

/* In order, and each of them once. */
static struct watch_list sorted(struct arena *a, const struct watch_list *from)
{
	struct watch_list to = { arena_alloc(a, (from->n + 1) * sizeof(*to.paths)), 0 };

	if (from->n)
		memcpy(to.paths, from->paths, from->n * sizeof(*to.paths));
	qsort(to.paths, from->n, sizeof(*to.paths), by_path);
	for (size_t i = 0; i < from->n; i++)
		if (!to.n || !text_eq(to.paths[to.n - 1], to.paths[i]))
			to.paths[to.n++] = to.paths[i];
	return to;
}

static bool has(const struct watch_list *list, const char *path)
{
	return list->n && bsearch(&path, list->paths, list->n, sizeof(*list->paths), by_path);
}

static bool has_above(const struct watch_list *list, const char *rel)
{
	AUTO(arena_done) struct arena a = { 0 };

	for (const char *end = rel; *end; end++)
		if (end[1] == '/' || !end[1])
			if (has(list, arena_strndup(&a, rel, (size_t)(end - rel) + 1)))
				return true;
	return false;
}

/* A directory that is looked at as a whole, and not entered. */
static bool is_whole(const struct again *x, const char *name)
{
	return text_eq(name, ".git") || text_eq(name, x->t->k->ws->state_name);
}

/* Is it in a directory whose entries are looked at, in one that came, or inside a repository that has grown?  A repository beside a
 * file that changed is not looked at for that. */
static bool is_seen(void *arg, const char *rel)
{
	AUTO(arena_done) struct arena a = { 0 };
	const struct again *x = arg;
	const struct watch_news *n = &x->news;
	const char *name = path_base(rel);

	return (!is_whole(x, name) &&
		       has(&n->heard, arena_strndup(&a, rel, name > rel ? (size_t)(name - rel) - 1 : 0))) ||
		has_above(&n->fresh, rel) || has_above(&n->grown, rel);
}

static void see(struct again *x, int parent, const char *name, const char *rel, const struct stat *st)
{
	armed_look(x->t, parent, name, rel, st);
	(void)nested_see(x->t->nested_next, parent, name, rel, st);
}

static const char *full(const struct again *x, const char *below)
{
	return *x->dir ? arena_printf(x->t->a, "%s/%s", x->dir, below) : below;
}

static int see_below(
	void *arg, int parent, const char *name, const char *below, const struct stat *st, struct err *e)
{
	struct again *x = arg;

	(void)e;
	see(x, parent, name, full(x, below), st);
	return S_ISDIR(st->st_mode) && is_whole(x, name) ? FILE_SKIP : 0;
}

/* Files, and directories that came; what lies in one that was there is heard by itself. */
static int see_entry(
	void *arg, int parent, const char *name, const char *below, const struct stat *st, struct err *e)
{
	struct again *x = arg;
	const char *rel = full(x, below);

	(void)e;
	/* A file ".git" that is known is looked at with all that are. */
	if (S_ISDIR(st->st_mode) ? has(&x->news.fresh, rel)
				 : !is_whole(x, name) || nested_is_new(x->t->nested, rel, st))
		see(x, parent, name, rel, st);
	return S_ISDIR(st->st_mode) ? FILE_SKIP : 0;
}

static int enter(void *arg, int parent, const char *name, const char *below)
{
	struct again *x = arg;

	return rights_enter(x->t, parent, name, full(x, below));
}

/* What lies in it where it is now; the directory that it lies in was heard to change. */
static void walk(struct again *x, const char *rel, file_visit *fn)
{
	struct sys *s = x->t->k->sys;
	AUTO(close_fd) int dir = rights_enter(x->t, x->root, *rel ? rel : ".", rel);
	struct err e = { 0 };

	x->dir = rel;
	int rc = dir < 0 ? OK : file_walk_by(s, dir, false, fn, enter, x, &e);
	if (rc && rc != E_LIMIT)
		rights_cannot(x->t, rel, e.text);
}

/* `all`: directories in it are watched that nobody knows yet. */
static void look_at_repository(struct again *x, const char *rel, bool all)
{
	struct sys *s = x->t->k->sys;
	const char *name = path_base(rel);
	AUTO(close_fd)
	int parent = rights_open(
		x->t, x->root, name > rel ? arena_strndup(x->t->a, rel, (size_t)(name - rel) - 1) : ".");
	struct stat st;

	if (parent < 0 || s->stat(s, parent, name, &st, AT_SYMLINK_NOFOLLOW))
		return;
	if (all)
		see(x, parent, name, rel, &st);
	else
		armed_look(x->t, parent, name, rel, &st);
}

/* A place that was known before.  The settings of a repository lie beside what it is known by. */
static void look_once_more(void *arg, int parent, const char *name, const char *rel, const struct stat *st)
{
	static const char *const beside[] = { "config", "commondir" };
	struct again *x = arg;
	struct sys *s = x->t->k->sys;
	struct stat other;

	armed_look(x->t, parent, name, rel, st);
	for (size_t i = 0; i < ARRAY_SIZE(beside) && text_eq(name, "HEAD"); i++)
		if (s->stat(s, parent, beside[i], &other, AT_SYMLINK_NOFOLLOW) == 0)
			armed_look(x->t, parent, beside[i],
				arena_printf(x->t->a, "%.*s%s", (int)(name - rel), rel, beside[i]), &other);
}

/* The directory of a repository is watched like any other, and stands for the repository. */
static void take_repositories(struct again *x, const struct watch_news *news)
{
	struct watch_list heard = news->heard, fresh = news->fresh;
	struct arena *a = x->t->a;
	struct watch_list grown = { arena_alloc(a, (news->grown.n + fresh.n + 1) * sizeof(*grown.paths)), 0 };
	struct watch_list inside = {
		arena_alloc(a, (news->repositories.n + heard.n + 1) * sizeof(*inside.paths)), 0
	};
	struct watch_list dirs = { arena_alloc(a, (heard.n + 1) * sizeof(*dirs.paths)), 0 };
	struct watch_list came = { arena_alloc(a, (fresh.n + 1) * sizeof(*came.paths)), 0 };

	for (size_t i = 0; i < news->repositories.n; i++)
		inside.paths[inside.n++] = news->repositories.paths[i];
	for (size_t i = 0; i < news->grown.n; i++)
		grown.paths[grown.n++] = news->grown.paths[i];
	for (size_t i = 0; i < heard.n; i++)
		if (text_eq(path_base(heard.paths[i]), ".git"))
			inside.paths[inside.n++] = heard.paths[i];
		else
			dirs.paths[dirs.n++] = heard.paths[i];
	for (size_t i = 0; i < fresh.n; i++) {
		const char *name = path_base(fresh.paths[i]);
		const char *in = name > fresh.paths[i]
			? arena_strndup(a, fresh.paths[i], (size_t)(name - fresh.paths[i]) - 1)
			: "";
		if (text_eq(path_base(in), ".git"))
			grown.paths[grown.n++] = in;
		else
			came.paths[came.n++] = fresh.paths[i];
	}
	x->news = (struct watch_news){ sorted(a, &dirs), sorted(a, &inside), sorted(a, &grown),
		sorted(a, &came) };
}

void task_touched_again(struct task *t, const struct watch_news *news)
{
	struct again x = { .t = t, .root = -1 };

	if (rights_open_root(t, task_tree(t), &x.root))
		return;
	AUTO(close_fd) int root = x.root;
	take_repositories(&x, news);
	const struct watch_list *heard = &x.news.heard, *fresh = &x.news.fresh,
				*inside = &x.news.repositories;
	nested_carry(
		t->nested_next, t->nested, &(struct nested_again){ &x, t, root, is_seen, look_once_more });
	for (size_t i = 0; i < heard->n; i++)
		if (!has_above(fresh, heard->paths[i]))
			walk(&x, heard->paths[i], see_entry);
	for (size_t i = 0; i < fresh->n; i++)
		if (!is_whole(&x, path_base(fresh->paths[i])))
			walk(&x, fresh->paths[i], see_below);
	for (size_t i = 0; i < inside->n; i++)
		look_at_repository(&x, inside->paths[i], has(&x.news.grown, inside->paths[i]));
	rights_put_back(t);
}

/* What was only told, and nothing done about it, is left out. */
struct json *left_without_notes(struct arena *a, const struct json *left)
{
	struct json *rest = json_new(a, JSON_ARRAY);

	json_each (one, left)
		if (!text_eq(json_get_text(one, "what", ""), "noted"))
			json_push(a, rest, one);
	return rest->n ? rest : NULL;
}
