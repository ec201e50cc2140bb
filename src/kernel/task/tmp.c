/* tmp.c — a private place for temporary files, new for every run, but seldom made.
 *
 * Most commands never write a temporary file, and making and removing a directory for each run costs as
 * much as its walls.  So a few spare directories wait in /tmp/helm-<uid>, which is ours alone: a run takes
 * one, locks it, and puts it back if nobody ever did anything to it.  That is known from the inode: it was
 * last changed when it was made.  One that was used, however little, is removed and replaced by a new one;
 * nobody ever gets the directory of somebody else, neither its files nor its modes or attributes.
 *
 * Clocks of file systems tick coarsely: a change within the tick of the making would not show.  So a spare
 * one rests before it is handed out, and who finds none makes its own beside them.  The lock also tells cleaners of
 * /tmp that it is in use, and others which of those that somebody made can go: a run that was killed removes nothing. */
#include "base/file.h"
#include "base/text.h"
#include "kernel/task/parts.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

enum { SPARES = 8, REST_US = 50000, SURE_US = 10000000, IN_USE = -2 };
#define OWN "own-"

/* /tmp is open to everybody, so a directory of the right name may be somebody else's. */
static bool is_ours(const struct stat *st, uid_t uid)
{
	return S_ISDIR(st->st_mode) && st->st_uid == uid && (st->st_mode & 07777) == 0700;
}

static int open_dir(struct sys *s, int dirfd, const char *path)
{
	return s->open(s, dirfd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, 0);
}

/* The directory of the spare ones, or -1. */
static int open_rack(struct sys *s, const char *path)
{
	int fd = open_dir(s, AT_FDCWD, path);
	struct stat st;

	if (fd < 0 && s->mkdir(s, AT_FDCWD, path, 0700) == 0)
		fd = open_dir(s, AT_FDCWD, path);
	if (fd >= 0 && (s->stat(s, fd, "", &st, AT_EMPTY_PATH) || !is_ours(&st, s->euid(s)))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* Was nothing ever done to it?  Its change time equals the time it was made, which stat() does not tell and
 * statx() does.  In doubt false, and then it is replaced. */
static bool is_untouched(struct sys *s, int fd, int64_t *ret_made_us)
{
	struct statx x;
	struct stat st;

	if (s->stat(s, fd, "", &st, AT_EMPTY_PATH) || !is_ours(&st, s->euid(s)) ||
		statx(fd, "", AT_EMPTY_PATH, STATX_BTIME, &x) || !(x.stx_mask & STATX_BTIME))
		return false;
	*ret_made_us = x.stx_btime.tv_sec * 1000000 + x.stx_btime.tv_nsec / 1000;
	return st.st_ctim.tv_sec == x.stx_btime.tv_sec && st.st_ctim.tv_nsec == x.stx_btime.tv_nsec;
}

/* Only who has locked the very directory of that name may replace it: who waited for one that was replaced
 * meanwhile has not. */
static void replace(struct sys *s, int rack, const char *name, int fd)
{
	struct stat held, named;

	if (s->stat(s, fd, "", &held, AT_EMPTY_PATH) || s->stat(s, rack, name, &named, AT_SYMLINK_NOFOLLOW) ||
		held.st_dev != named.st_dev || held.st_ino != named.st_ino)
		return;
	file_remove_tree(s, rack, name);
	(void)s->mkdir(s, rack, name, 0700);
}

/* A spare one that has rested, locked; -1 when it is not ready, IN_USE when somebody has it.  A missing or
 * soiled one is made anew for those who come later. */
static int take_spare(struct sys *s, int rack, const char *name)
{
	AUTO(close_fd) int fd = open_dir(s, rack, name);
	int64_t made_us, now_us = s->now_us(s);

	if (fd < 0) {
		(void)s->mkdir(s, rack, name, 0700);
		return -1;
	}
	if (s->lock(s, fd, LOCK_EX | LOCK_NB))
		return IN_USE;
	if (!is_untouched(s, fd, &made_us)) {
		replace(s, rack, name, fd);
		return -1;
	}
	if (made_us > now_us - REST_US)
		return -1;
	int taken = fd;
	fd = -1;
	return taken;
}

/* Those that runs made for themselves, and did not live to remove. */
static void sweep(struct sys *s, struct arena *a, int rack)
{
	char **names = NULL;
	size_t n = 0;

	if (file_list(s, a, rack, ".", &names, &n, NULL))
		return;
	for (size_t i = 0; i < n; i++) {
		if (!text_starts(names[i], OWN))
			continue;
		AUTO(close_fd) int fd = open_dir(s, rack, names[i]);
		int64_t made_us;
		/* One that has only just been made may not be locked yet. */
		if (fd >= 0 && s->lock(s, fd, LOCK_EX | LOCK_NB) == 0 &&
			(!is_untouched(s, fd, &made_us) || made_us < s->now_us(s) - SURE_US))
			file_remove_tree(s, rack, names[i]);
	}
}

static void make_own(struct sys *s, struct arena *a, const char *rack_path, struct task_tmp *ret)
{
	char *own = arena_printf(a, ret->rack >= 0 ? "%s/" OWN "XXXXXX" : "%s-XXXXXX", rack_path);

	if (ret->rack >= 0)
		sweep(s, a, ret->rack);
	ret->path = mkdtemp(own) ? own : NULL;
	ret->name = NULL;
	ret->fd = ret->path ? open_dir(s, AT_FDCWD, ret->path) : -1;
	/* Whoever looks at it just now lets go at once.  One that is not locked would be taken for one that was left. */
	if (ret->path && (ret->fd < 0 || s->lock(s, ret->fd, LOCK_EX))) {
		file_remove_tree(s, AT_FDCWD, ret->path);
		ret->path = NULL;
	}
}

/* Never fails: without a directory path is NULL, and the run has no place for temporary files. */
void task_tmp_take(struct sys *s, struct arena *a, const char *base, struct task_tmp *ret)
{
	const char *rack_path = arena_printf(a, "%s/helm-%u", base, s->euid(s));

	*ret = (struct task_tmp){ .fd = IN_USE, .rack = open_rack(s, rack_path) };
	if (ret->rack >= 0)
		ret->all = rack_path;
	for (int i = 0; ret->rack >= 0 && ret->fd == IN_USE && i < SPARES; i++) {
		ret->name = arena_printf(a, "%d", i);
		ret->fd = take_spare(s, ret->rack, ret->name);
		if (ret->fd >= 0) {
			ret->path = arena_printf(a, "%s/%d", rack_path, i);
			return;
		}
	}
	make_own(s, a, rack_path, ret);
}

/* A directory made for this run alone is removed; a spare one goes back if it is untouched, and is replaced
 * if it is not. */
void task_tmp_give(struct sys *s, struct task_tmp *tmp)
{
	int64_t made_us;

	if (tmp->path && !tmp->name)
		file_remove_tree(s, AT_FDCWD, tmp->path);
	else if (tmp->path && !is_untouched(s, tmp->fd, &made_us))
		replace(s, tmp->rack, tmp->name, tmp->fd);
	close_fd(&tmp->fd);
	close_fd(&tmp->rack);
	*tmp = (struct task_tmp){ .fd = -1, .rack = -1 };
}
