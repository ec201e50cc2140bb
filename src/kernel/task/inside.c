/* inside.c — a repository that was hidden in another one.
 *
 * git takes any directory for a repository that has the right things in it, also one that lies among the objects, refs or logs of another,
 * where nobody looks.  Its hooks and settings would start programs for whoever can be led there.  Only submodules and further work
 * trees have repositories of their own inside one, each at its place. */
#include "base/file.h"
#include "base/text.h"
#include "kernel/task/parts.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

enum { DIRECTORIES_MOST = 200000 };

/* What a directory is, by the way that leads to it. */
enum role {
	ROLE_REPOSITORY, /* of the work tree, or of a submodule */
	ROLE_MODULES, /* holds repositories of submodules, perhaps some levels down */
	ROLE_TREES, /* holds what is kept of further work trees */
	ROLE_TREE,
	ROLE_OTHER /* nothing in it is a repository */
};

struct way {
	struct task *t;
	int root_fd;
	size_t seen;
};

bool armed_is_repository(struct sys *s, int dir)
{
	return file_exists(s, dir, "HEAD") &&
		(file_exists(s, dir, "commondir") ||
			(file_is_dir(s, dir, "objects") && file_is_dir(s, dir, "refs")));
}

static enum role role_of(enum role above, const char *name, bool is_repository)
{
	switch (above) {
	case ROLE_REPOSITORY:
		return text_eq(name, "modules")	     ? ROLE_MODULES
			: text_eq(name, "worktrees") ? ROLE_TREES
						     : ROLE_OTHER;
	case ROLE_MODULES:
		return is_repository ? ROLE_REPOSITORY : ROLE_MODULES;
	case ROLE_TREES:
		return ROLE_TREE;
	default:
		return ROLE_OTHER;
	}
}

static void look(struct way *w, int dir, const char *rel, enum role role, bool is_newer_above);

/* A directory without others in it, to which nothing came since the run began, can hold nothing new: not even its names are read.  Some
 * file systems count no links of directories; there every one is entered. */
static bool is_settled(const struct way *w, const struct stat *st)
{
	return st->st_nlink == 2 && !armed_is_newer(w->t, st);
}

static void look_at(
	struct way *w, int parent, const char *name, const char *rel, enum role above, bool is_newer)
{
	struct sys *s = w->t->k->sys;
	struct stat st;

	if (s->stat(s, parent, name, &st, AT_SYMLINK_NOFOLLOW))
		return;
	if (S_ISREG(st.st_mode))
		armed_strip_set_ids(w->t, parent, name, rel, &st);
	if (!S_ISDIR(st.st_mode) || strstr(name, HELD))
		return;
	if (++w->seen > DIRECTORIES_MOST) {
		if (w->seen == DIRECTORIES_MOST + 1)
			armed_say(w->t, rel, "left", "it has too many directories to be looked at");
		return;
	}
	if (above != ROLE_MODULES && !is_newer && is_settled(w, &st))
		return;
	AUTO(close_fd) int dir = rights_enter(w->t, parent, name, rel);
	if (dir < 0)
		return;
	bool is_repository = armed_is_repository(s, dir);
	enum role role = role_of(above, name, is_repository);
	if (is_repository && role == ROLE_OTHER)
		armed_away(w->t, w->root_fd, rel, "it is a repository that nobody would look for there");
	else
		look(w, dir, rel, role, is_newer || armed_is_newer(w->t, &st));
}

static void look(struct way *w, int dir, const char *rel, enum role role, bool is_newer_above)
{
	AUTO(arena_done) struct arena a = { 0 };
	char **names = NULL;
	size_t n = 0;

	if (w->seen > DIRECTORIES_MOST)
		return;
	struct err e = { 0 };
	if (file_list(w->t->k->sys, &a, dir, ".", &names, &n, &e)) {
		rights_cannot(w->t, rel, e.text);
		return;
	}
	for (size_t i = 0; i < n; i++)
		look_at(w, dir, names[i], arena_printf(&a, "%s/%s", rel, names[i]), role, is_newer_above);
}

void armed_look_inside(struct task *t, const char *rel)
{
	AUTO(close_fd) int root_fd = -1;
	struct way w = { .t = t };

	if (rights_open_root(t, task_tree(t), &root_fd))
		return;
	AUTO(close_fd) int dir = rights_enter(t, root_fd, rel, rel);
	w.root_fd = root_fd;
	if (dir >= 0)
		look(&w, dir, rel, ROLE_REPOSITORY, false);
}
