/* rights.c — looking with our own rights: the owner of a directory chooses its mode, and a run is the owner of what it works in.
 *
 * A directory that cannot be read, entered or written hides what lies in it from whoever cleans up behind the run.  So before anything is
 * looked at, its owner's rights are given back: by a descriptor of the very directory, links not followed.  The look before a run notes the
 * modes of the directories on the way to auto-run files, and of those that it had to open, which it closes again at once.  Behind the run
 * a directory that the run closed has its noted mode again; one that nobody knew stays open to its owner, and is told.
 *
 * Directories of others are left alone where the run could not write in them either: it is the same user. */
#include "base/file.h"
#include "base/text.h"
#include "kernel/task/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { BELOW = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS, LOOKS = S_IRUSR | S_IXUSR };

static struct known_mode *known(const struct task *t, const struct stat *st)
{
	for (struct known_mode *m = t->modes; m; m = m->next)
		if (m->ino == st->st_ino && m->dev == st->st_dev)
			return m;
	return NULL;
}

struct known_mode *mode_add(struct task *t, const char *path, const struct known_mode *what)
{
	struct known_mode *m = arena_zalloc(t->a, 1, sizeof(*m));

	*m = *what;
	m->path = arena_strdup(t->a, path);
	m->next = t->modes;
	t->modes = m;
	return m;
}

/* The absolute path of what a descriptor is open on. */
static const char *path_of(struct task *t, int fd)
{
	struct sys *s = t->k->sys;
	char link[40], path[PATH_MAX];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t n = s->readlink(s, AT_FDCWD, link, path, sizeof(path));
	return n > 0 && n < (ssize_t)sizeof(path) ? arena_strndup(t->a, path, (size_t)n) : NULL;
}

/* As the record calls it: below the work tree, where it lies there. */
static const char *told_as(const struct task *t, const char *path)
{
	const char *tree = task_tree(t);

	if (!path || !path_is_below(path, tree))
		return path ? path : "a directory";
	path += strlen(tree);
	return *path ? path + 1 : ".";
}

void rights_cannot(struct task *t, const char *rel, const char *why)
{
	if (!t->is_noting)
		armed_say(t, rel, "left", arena_printf(t->a, "it cannot be looked into: %s", why));
}

/* `fd`: O_PATH.  Its owner may read, enter and write it afterwards. */
static bool widen(struct task *t, int fd, const struct stat *st)
{
	struct sys *s = t->k->sys;
	struct known_mode *m = known(t, st);
	const char *path = path_of(t, fd);

	if (!m && t->is_noting && path)
		m = mode_add(t, path,
			&(struct known_mode){
				.dev = st->st_dev, .ino = st->st_ino, .mode = st->st_mode & 07777 });
	/* What was taken is given back; what was closed before is closed again when everybody has looked. */
	mode_t was = m ? m->mode : st->st_mode & 07777, to = was | S_IRWXU;
	if (s->chmod(s, fd, to))
		return false;
	if (m && (m->mode & S_IRWXU) != S_IRWXU)
		m->is_open = true;
	if (t->is_noting)
		return true;
	if (!m)
		armed_say(t, told_as(t, path), "opened", "nobody could have looked into it");
	else if (m->mode & S_IRWXU & ~st->st_mode)
		armed_say(t, told_as(t, path), "put_back",
			"its mode was changed so that nobody could look into it");
	return true;
}

/* Is something missing that is needed to look, or that was there before the run? */
static bool is_narrow(const struct task *t, const struct stat *st)
{
	const struct known_mode *m;

	if (!S_ISDIR(st->st_mode) || st->st_uid != t->k->sys->euid(t->k->sys) ||
		(st->st_mode & S_IRWXU) == S_IRWXU)
		return false;
	if ((st->st_mode & LOOKS) != LOOKS)
		return true;
	return !t->is_noting && (m = known(t, st)) && m->mode & S_IWUSR;
}

/* `full` NULL: as the descriptor says. */
static void see(struct task *t, int fd, const char *full, const struct stat *st)
{
	if (is_narrow(t, st))
		(void)widen(t, fd, st);
	else if (t->is_noting && !known(t, st) && (full || (full = path_of(t, fd))))
		mode_add(t, full,
			&(struct known_mode){
				.dev = st->st_dev, .ino = st->st_ino, .mode = st->st_mode & 07777 });
}

void rights_see(struct task *t, const char *root, int dir, const char *path, const struct stat *st)
{
	struct sys *s = t->k->sys;
	AUTO(close_fd) int fd = -1;
	struct stat now;

	if (!S_ISDIR(st->st_mode))
		return;
	if (!is_narrow(t, st)) {
		see(t, -1, t->is_noting ? arena_printf(t->a, "%s/%s", root, path) : "", st);
		return;
	}
	fd = s->open(s, dir, path, O_PATH | O_DIRECTORY | O_NOFOLLOW, 0, BELOW);
	if (fd >= 0 && s->stat(s, fd, "", &now, AT_EMPTY_PATH) == 0)
		see(t, fd, NULL, &now);
}

/* One step of the way: from `dir` to `name`.  -1 with errno. */
static int step(struct task *t, int dir, const char *name)
{
	struct sys *s = t->k->sys;
	struct stat st;
	int fd = s->open(s, dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW, 0, BELOW);

	if (fd >= 0 && s->stat(s, fd, "", &st, AT_EMPTY_PATH) == 0 && is_narrow(t, &st))
		(void)widen(t, fd, &st);
	return fd;
}

void rights_reach(struct task *t, int dir, const char *path)
{
	struct sys *s = t->k->sys;
	AUTO(close_fd) int at = -1;
	struct stat st;

	/* Nothing can be opened below one that cannot be entered, not even itself. */
	if (s->stat(s, dir, "", &st, AT_EMPTY_PATH) == 0 && is_narrow(t, &st))
		(void)widen(t, dir, &st);
	for (int from = dir; *path && from >= 0; from = at) {
		size_t n = strcspn(path, "/");
		const char *name = arena_strndup(t->a, path, n);
		path += n + (path[n] == '/');
		if (!n)
			continue;
		int next = step(t, from, name);
		close_fd(&at);
		at = next;
	}
}

int rights_open(struct task *t, int dir, const char *path)
{
	struct sys *s = t->k->sys;
	struct stat st;
	int fd = s->open(s, dir, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, BELOW);

	if (fd < 0 ? errno == EACCES : s->stat(s, fd, "", &st, AT_EMPTY_PATH) == 0 && is_narrow(t, &st)) {
		close_fd(&fd);
		rights_reach(t, dir, path);
		fd = s->open(s, dir, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, BELOW);
	}
	return fd;
}

int rights_open_root(struct task *t, const char *root, int *ret)
{
	struct sys *s = t->k->sys;
	AUTO(close_fd) int fd = s->open(s, AT_FDCWD, root, O_PATH | O_DIRECTORY, 0, 0);
	struct stat st;

	if (fd >= 0 && s->stat(s, fd, "", &st, AT_EMPTY_PATH) == 0)
		see(t, fd, root, &st);
	*ret = fd < 0 ? -1 : s->open(s, fd, ".", O_RDONLY | O_DIRECTORY, 0, 0);
	if (*ret < 0 && errno != ENOENT)
		rights_cannot(t, root, strerror(errno));
	return *ret < 0 ? E_IO : OK;
}

/* Nobody of our user can have written there, so nobody can have hidden anything. */
static bool is_out_of_reach(int parent, const char *name, const struct stat *st, uid_t us)
{
	return st->st_uid != us && faccessat(parent, name, W_OK | X_OK, AT_EACCESS) != 0;
}

int rights_enter(struct task *t, int parent, const char *name, const char *rel)
{
	struct sys *s = t->k->sys;
	struct stat st;
	int fd = rights_open(t, parent, name);

	if (fd >= 0 || errno == ENOENT || errno == ENOTDIR || errno == ELOOP)
		return fd;
	const char *why = strerror(errno);
	if (s->stat(s, parent, name, &st, AT_SYMLINK_NOFOLLOW) ||
		!is_out_of_reach(parent, name, &st, s->euid(s)))
		rights_cannot(t, rel, why);
	return -1;
}

int rights_rename(struct task *t, int dir, const char *from, const char *to)
{
	enum { NOREPLACE = 1 };
	struct sys *s = t->k->sys;
	struct stat st;
	int rc = s->rename(s, dir, from, dir, to, NOREPLACE);

	if (!rc || errno != EACCES)
		return rc;
	if (s->stat(s, dir, "", &st, AT_EMPTY_PATH) || s->chmod(s, dir, (st.st_mode & 07777) | S_IRWXU)) {
		errno = EACCES;
		return -1;
	}
	rc = s->rename(s, dir, from, dir, to, NOREPLACE);
	int why = errno;
	(void)s->chmod(s, dir, st.st_mode & 07777);
	errno = why;
	return rc;
}

void rights_give_back(struct task *t)
{
	struct sys *s = t->k->sys;
	struct stat st;

	for (struct known_mode *m = t->modes; m; m = m->next) {
		AUTO(close_fd)
		int fd = s->open(s, AT_FDCWD, m->path, O_PATH | O_DIRECTORY | O_NOFOLLOW, 0, 0);
		if (fd >= 0 && s->stat(s, fd, "", &st, AT_EMPTY_PATH) == 0 && st.st_ino == m->ino &&
			st.st_dev == m->dev && m->mode & S_IRWXU & ~st.st_mode)
			(void)s->chmod(s, fd, m->mode);
	}
}

void rights_put_back(struct task *t)
{
	struct sys *s = t->k->sys;
	struct stat st;

	for (struct known_mode *m = t->modes; m; m = m->next) {
		if (!m->is_open)
			continue;
		m->is_open = false;
		AUTO(close_fd)
		int fd = s->open(s, AT_FDCWD, m->path, O_PATH | O_DIRECTORY | O_NOFOLLOW, 0, 0);
		if (fd >= 0 && s->stat(s, fd, "", &st, AT_EMPTY_PATH) == 0 && st.st_ino == m->ino &&
			st.st_dev == m->dev)
			(void)s->chmod(s, fd, m->mode);
	}
}
