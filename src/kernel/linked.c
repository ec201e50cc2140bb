/* linked.c — is this work tree linked to a repository elsewhere, and do both sides know?
 *
 * The tree has a file .git that names <common>/worktrees/NAME; there `gitdir` names the tree's file, and `commondir` leads to the
 * repository.  Every step must agree with the others as the paths really are, without links. */
#include "kernel/linked.h"
#include "base/file.h"
#include "base/text.h"
#include "kernel/workspace.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The path without links; NULL when there is nothing. */
static const char *real_path(struct arena *a, const char *path)
{
	char real[PATH_MAX];

	return realpath(path, real) ? arena_strdup(a, real) : NULL;
}

static const char *parent_of(struct arena *a, const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash > path ? arena_strndup(a, path, (size_t)(slash - path)) : NULL;
}

/* The one line of a file of git's, behind `word`; NULL when it is none. */
static const char *line_of(struct sys *s, struct arena *a, const char *file, const char *word)
{
	struct bytes text;

	if (file_read(s, a, AT_FDCWD, file, PATH_MAX, 0, &text, NULL) ||
		!text_starts((const char *)text.p, word))
		return NULL;
	const char *line = (const char *)text.p + strlen(word);
	return *line && *line != '\n' ? arena_strndup(a, line, strcspn(line, "\n")) : NULL;
}

static bool is_repository(struct sys *s, struct arena *a, const char *common)
{
	return file_exists(s, AT_FDCWD, arena_printf(a, "%s/HEAD", common)) &&
		file_is_dir(s, AT_FDCWD, arena_printf(a, "%s/objects", common)) &&
		file_is_dir(s, AT_FDCWD, arena_printf(a, "%s/refs", common));
}

static bool is_of_same_user(struct sys *s, const char *x, const char *y)
{
	struct stat one, two;

	return s->stat(s, AT_FDCWD, x, &one, 0) == 0 && s->stat(s, AT_FDCWD, y, &two, 0) == 0 &&
		one.st_uid == two.st_uid;
}

bool linked_find(struct sys *s, struct arena *a, const char *tree, const char *home, struct linked *ret)
{
	const char *file = arena_printf(a, "%s/.git", tree), *to = line_of(s, a, file, "gitdir: ");
	const char *own = to ? real_path(a, path_join(a, tree, to)) : NULL;
	const char *all = own ? parent_of(a, own) : NULL;

	if (!all || !text_eq(path_base(all), "worktrees"))
		return false;
	const char *common = parent_of(a, all),
		   *leads = line_of(s, a, arena_printf(a, "%s/commondir", own), ""),
		   *back = line_of(s, a, arena_printf(a, "%s/gitdir", own), "");
	if (!common || !leads || !back || !is_repository(s, a, common))
		return false;
	const char *really = real_path(a, path_join(a, own, leads)),
		   *returns = real_path(a, path_join(a, own, back)), *here = real_path(a, file);
	if (!really || !text_eq(really, common) || !returns || !here || !text_eq(returns, here))
		return false;
	const char *around = text_eq(path_base(common), ".git") ? parent_of(a, common) : common;
	if (!around || place_is_too_much(home, NULL, around) || !is_of_same_user(s, tree, common))
		return false;
	*ret = (struct linked){ common, own };
	return true;
}
