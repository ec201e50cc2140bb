/* openings.c — see openings.h.  A descriptor of outside cannot be mounted in another mount namespace, so the warden opens the path
 * itself and compares numbers.  The caller of the sandbox holds a descriptor of the object: its number is nobody else's meanwhile. */
#include "execute/openings.h"

#include "base/file.h"
#include "base/text.h"
#include "execute/own.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The newer mount calls, for which older C libraries have no names. */
enum {
	SYS_OPEN_TREE = 428,
	SYS_MOVE_MOUNT = 429,
	SYS_MOUNT_SETATTR = 442,
	TREE_CLONE = 1,
	MOVE_FROM_EMPTY = 4,
	MOUNT_READ_ONLY = 1
};

bool openings_match(const struct sandbox_opening *o, int fd, struct stat *ret)
{
	return fstat(fd, ret) == 0 && ret->st_dev == o->dev && ret->st_ino == o->ino &&
		(o->is_dir ? S_ISDIR(ret->st_mode) : S_ISREG(ret->st_mode));
}

void openings_keep(const struct sandbox_rules *rules, int fds[OPENINGS_MAX])
{
	for (size_t i = 0; rules->openings && rules->openings[i].at && i < OPENINGS_MAX; i++) {
		const struct sandbox_opening *o = &rules->openings[i];
		struct stat st;
		int fd = (int)syscall(SYS_OPEN_TREE, AT_FDCWD, o->at,
			TREE_CLONE | AT_SYMLINK_NOFOLLOW | O_CLOEXEC | (o->is_dir ? AT_RECURSIVE : 0));
		if (fd >= 0 && !openings_match(o, fd, &st))
			close_fd(&fd);
		fds[i] = fd;
	}
}

bool openings_are_below(const struct sandbox_rules *rules, const char *dir)
{
	for (const struct sandbox_opening *o = rules->openings; o && o->at; o++)
		if (path_is_below(o->at, dir) && !text_eq(o->at, dir))
			return true;
	return false;
}

bool openings_show(const struct sandbox_rules *rules, const char *hidden)
{
	for (const struct sandbox_opening *o = rules->openings; o && o->at; o++)
		if (o->is_dir && path_is_below(hidden, o->at) && !text_eq(o->at, hidden))
			return true;
	return false;
}

int openings_cover(const struct sandbox_rules *rules, const char *dir)
{
	const unsigned long closed = MS_NOSUID | MS_NODEV | MS_NOEXEC;
	static const char options[] = "size=64k,mode=0111";

	if (access(dir, F_OK))
		return errno == ENOENT || errno == ENOTDIR ? 0 : -1;
	if (mount("none", dir, "tmpfs", closed, options))
		return -1;
	for (const struct sandbox_opening *o = rules->openings; o && o->at; o++)
		if (path_is_below(o->at, dir) && !own_make_way(o->at, o->is_dir ? S_IFDIR : S_IFREG))
			return -1;
	return mount("none", dir, NULL, MS_REMOUNT | closed | MS_RDONLY, options);
}

static int put_one(const struct sandbox_opening *o, int fd)
{
	const struct {
		uint64_t set, clear, propagation, userns_fd;
	} change = { .set = o->is_writable ? 0 : MOUNT_READ_ONLY,
		.clear = o->is_writable ? MOUNT_READ_ONLY : 0 };

	if (fd < 0 ||
		syscall(SYS_MOUNT_SETATTR, fd, "", AT_EMPTY_PATH | AT_RECURSIVE, &change, sizeof(change)))
		return -1;
	return (int)syscall(SYS_MOVE_MOUNT, fd, "", AT_FDCWD, o->at, MOVE_FROM_EMPTY);
}

int openings_put(const struct sandbox_rules *rules, int fds[OPENINGS_MAX])
{
	int rc = 0;

	for (size_t i = 0; rules->openings && rules->openings[i].at && i < OPENINGS_MAX; i++) {
		rc |= put_one(&rules->openings[i], fds[i]);
		close_fd(&fds[i]);
	}
	return rc ? -1 : 0;
}
