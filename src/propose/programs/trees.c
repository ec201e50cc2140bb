/* trees.c — files of the work tree that a pattern or a search selects, as they lie there now.
 *
 * `sh *.sh` and `find . -name x.sh -exec sh {} \;` run files that the text does not name.  Those that are there are found and judged
 * like files that were named.  The search is bounded; what it does not reach stays "a script whose text was not read".  It only adds
 * effects, so a file that appears later is no worse judged than before. */
#include "propose/programs/programs.h"

#include "base/file.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

enum { ENTRIES_SEEN = 4000, DEEPEST = 12 };

struct search {
	struct arena *a;
	const char *dir, *pattern;
	bool is_path; /* the pattern is for the path below `dir`, else for the name */
	const char **found;
	size_t count, max, seen;
};

static unsigned depth_of(const char *path)
{
	unsigned n = 0;

	for (; *path; path++)
		n += *path == '/';
	return n;
}

static int visit(void *arg, int parent_fd, const char *name, const char *rel_path, const struct stat *st,
	struct err *e)
{
	struct search *s = arg;

	(void)parent_fd;
	if (++s->seen > ENTRIES_SEEN || s->count == s->max)
		return err_set(e, E_LIMIT, NULL, "enough");
	unsigned deepest = s->is_path && !strstr(s->pattern, "**") ? depth_of(s->pattern) : DEEPEST;
	if (S_ISDIR(st->st_mode))
		return depth_of(rel_path) >= deepest || text_eq(name, ".git") || text_eq(name, "node_modules")
			? FILE_SKIP
			: 0;
	bool hides = name[0] == '.' && s->is_path && path_base(s->pattern)[0] != '.';
	if (!hides && (!s->pattern || text_glob(s->pattern, s->is_path ? rel_path : name, s->is_path)))
		s->found[s->count++] = path_join(s->a, s->dir, rel_path);
	return 0;
}

size_t tree_select(
	struct call *k, const char *dir, const char *pattern, bool is_path, const char **ret, size_t max)
{
	const struct surroundings *at = walk_surroundings(k->w);
	const char *resolved;
	struct search s = { .a = walk_arena(k->w),
		.dir = dir,
		.pattern = pattern,
		.is_path = is_path,
		.found = ret,
		.max = max };
	struct err e = { 0 };

	if (!dir || !project_is_read(k))
		return 0;
	enum path_class where = paths_classify(at, s.a, dir, false, &resolved);
	if (where != PATH_IN && where != PATH_UP)
		return 0;
	(void)file_walk_names(at->sys, AT_FDCWD, dir, visit, &s, &e);
	return s.count;
}

size_t tree_glob(struct call *k, const struct word *x, const char **ret, size_t max)
{
	struct arena *a = walk_arena(k->w);
	const char *cwd = walk_cwd(k->w, k->c);

	if (!x->is_glob || x->origin != ORIGIN_LITERAL || !x->text_n || strstr(x->text, "..") ||
		(x->text[0] != '/' && !cwd))
		return 0;
	const char *path = x->text[0] == '/' ? x->text : arena_printf(a, "%s/%s", cwd, x->text);
	while (strstr(path, "/./")) {
		const char *dot = strstr(path, "/./");
		path = arena_printf(a, "%.*s%s", (int)(dot - path), path, dot + 2);
	}
	size_t n = strcspn(path, "*?[");
	while (n && path[n - 1] != '/')
		n--;
	return n > 1 ? tree_select(k, arena_strndup(a, path, n - 1), path + n, true, ret, max) : 0;
}
