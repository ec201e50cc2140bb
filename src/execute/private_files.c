/* private_files.c — copies over files, kept in their places; see private_files.h. */
#include "execute/private_files.h"

#include "base/file.h"
#include "base/text.h"
#include "propose/propose.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	SYS_OPEN_TREE = 428,
	SYS_MOVE_MOUNT = 429,
	SYS_MOUNT_SETATTR = 442,
	TREE_CLONE = 1,
	MOVE_FROM_EMPTY = 4,
	MOUNT_READ_ONLY = 1,
	SCRATCH_BYTES = 32 << 20,
	JUDGED_BYTES = 64 << 10
};

/* ---- mounts ---- */

/* This descriptor leads to the copies also when something lies over the directory they are in. */
void private_files_open(const struct sandbox_rules *rules, struct sandbox_report *report)
{
	if (!rules->files || !rules->files_dir)
		return;
	int dir = open(rules->files_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);

	report->files_dir = dir > 0 ? dir : 0;
}

static bool is_copy(const struct sandbox_file *f, const struct stat *st)
{
	return st->st_ino == f->ino && st->st_dev == f->dev && S_ISREG(st->st_mode);
}

/* Nothing but the copy itself is mounted: a run may have the directory of the copies under another name. */
static int cover(int dir, const struct sandbox_file *f)
{
	struct stat st;
	const struct {
		uint64_t set, clear, propagation, userns_fd;
	} writable = { .clear = MOUNT_READ_ONLY };

	AUTO(close_fd)
	int fd = (int)syscall(SYS_OPEN_TREE, dir, f->name, TREE_CLONE | AT_SYMLINK_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) || !is_copy(f, &st) ||
		syscall(SYS_MOUNT_SETATTR, fd, "", AT_EMPTY_PATH, &writable, sizeof(writable)))
		return -1;
	return (int)syscall(SYS_MOVE_MOUNT, fd, "", AT_FDCWD, f->at, MOVE_FROM_EMPTY);
}

int private_files_cover(const struct sandbox_rules *rules, const struct sandbox_report *report, size_t i)
{
	const struct sandbox_file *f = &rules->files[i];
	struct stat st;

	if (report->files_dir > 0 && cover(report->files_dir, f) == 0)
		return 0;
	return lstat(f->at, &st) && errno == ENOENT ? 0 : -1; /* it has been removed since */
}

/* Does one of the files have this name? */
static bool may_be_file(const struct supervisor *s, const char *path)
{
	for (const struct sandbox_file *f = s->files; f && f->at; f++)
		if (text_eq(path_base(path), path_base(f->at)))
			return true;
	return false;
}

/* Names that come and go in the directories of the files.  To end a watch takes the kernel some ten milliseconds, so short runs have
 * none. */
static void begin_watch(struct supervisor *s)
{
	char dir[PATH_MAX];

	s->files_watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	for (const struct sandbox_file *f = s->files; f && f->at && s->files_watch > 0; f++) {
		snprintf(dir, sizeof(dir), "%.*s", (int)(path_base(f->at) - f->at), f->at);
		(void)inotify_add_watch(s->files_watch, dir,
			IN_MOVED_TO | IN_CREATE | IN_MOVED_FROM | IN_DELETE | IN_ONLYDIR);
	}
}

/* Is one of our names among those that were heard? */
static bool is_heard(const struct supervisor *s)
{
	_Alignas(struct inotify_event) char events[4096];
	bool is_ours = false;

	for (ssize_t n; s->files_watch > 0 && (n = read(s->files_watch, events, sizeof(events))) > 0;)
		for (ssize_t at = 0; at < n;) {
			const struct inotify_event *e = (const void *)(events + at);
			is_ours |= e->mask & IN_Q_OVERFLOW || (e->len && may_be_file(s, e->name));
			at += (ssize_t)(sizeof(*e) + e->len);
		}
	return is_ours;
}

bool private_files_renew(struct supervisor *s)
{
	bool is_whole = true, is_first = !s->files_watch;
	struct stat st;

	if (is_first)
		begin_watch(s);
	if (!is_heard(s) && !is_first && !s->is_uncovered)
		return true;
	for (const struct sandbox_file *f = s->files; f && f->at && s->files_dir > 0; f++)
		if (lstat(f->at, &st) || !is_copy(f, &st))
			is_whole &= cover(s->files_dir, f) == 0;
	return is_whole;
}

/* ---- renames onto a copy ---- */

/* All of a regular file, as the caller.  The number of bytes, or a negative errno. */
static ssize_t read_as_caller(const struct notified *c, int at, const char *path, char *to, size_t room)
{
	struct owner owner;
	struct stat st;
	size_t n = 0;

	notified_be_caller(c, &owner);
	AUTO(close_fd) int fd = openat(at, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	int why = errno;
	notified_be_self(&owner);
	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode))
		return fd < 0 ? -why : -EINVAL;
	for (ssize_t got; n < room && (got = read(fd, to + n, room - n)) > 0;)
		n += (size_t)got;
	return n < room ? (ssize_t)n : -EFBIG;
}

static int write_as_caller(const struct notified *c, int file, const char *text, size_t n)
{
	struct owner owner;
	char link[64];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", file);
	notified_be_caller(c, &owner);
	AUTO(close_fd) int fd = open(link, O_WRONLY | O_CLOEXEC);
	int why = errno;
	notified_be_self(&owner);
	if (fd < 0)
		return -why;
	if (pwrite(fd, text, n, 0) != (ssize_t)n || ftruncate(fd, (off_t)n))
		return -EIO;
	return 0;
}

/* The numbers of processes in /proc are ours; in some containers they are those of another pid namespace. */
static bool has_own_proc(void)
{
	char link[32];
	ssize_t n = readlink("/proc/self", link, sizeof(link) - 1);

	link[n > 0 ? n : 0] = '\0';
	return strtol(link, NULL, 10) == getpid();
}

/* Both names stand in one directory, as of whoever saves by renaming.  1: the call continues. */
static int64_t rename_onto(struct notified *c, int from_at, uint64_t from, int at, uint64_t to)
{
	const struct sandbox_file *f = c->s->files;
	char path[PATH_MAX], source[PATH_MAX];
	struct stat st;

	if (notified_read_text(c, to, path, sizeof(path)) || !may_be_file(c->s, path) || !has_own_proc() ||
		notified_read_text(c, from, source, sizeof(source)) || !notified_is_valid(c))
		return 1;
	size_t n = (size_t)(path_base(path) - path);
	if (strncmp(path, source, n) != 0 || strchr(source + n, '/') || !source[n] ||
		(*path != '/' && from_at != at))
		return 1;
	path[n ? n - 1 : 0] = n > 1 ? '\0' : path[0];
	AUTO(close_fd) int dir = notified_open_dir(c, at, n > 1 ? path : n ? "/" : ".");
	path[n ? n - 1 : 0] = n > 1 ? '/' : path[0];
	AUTO(close_fd) int target = dir < 0 ? -1 : openat(dir, path + n, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (target < 0 || fstat(target, &st))
		return 1;
	while (f->at && !is_copy(f, &st))
		f++;
	if (!f->at)
		return 1;
	char *text = mmap(NULL, PRIVATE_FILE_BYTES, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (text == MAP_FAILED)
		return -ENOMEM;
	ssize_t got = read_as_caller(c, dir, source + n, text, PRIVATE_FILE_BYTES);
	int64_t rc = got < 0 ? got : write_as_caller(c, target, text, (size_t)got);
	munmap(text, PRIVATE_FILE_BYTES);
	struct owner owner;
	notified_be_caller(c, &owner);
	if (rc == 0)
		rc = unlinkat(dir, source + n, 0) ? -errno : 0;
	notified_be_self(&owner);
	return rc;
}

int64_t private_files_call(struct notified *c)
{
	int64_t rc = 1;

	switch (c->asked.data.nr) {
#ifdef SYS_rename
	case SYS_rename:
		rc = rename_onto(c, AT_FDCWD, ARGUMENT(c, 0), AT_FDCWD, ARGUMENT(c, 1));
		break;
#endif
#ifdef SYS_renameat
	case SYS_renameat:
		rc = rename_onto(c, (int)ARGUMENT(c, 0), ARGUMENT(c, 1), (int)ARGUMENT(c, 2), ARGUMENT(c, 3));
		break;
#endif
	case SYS_renameat2:
		if (!(unsigned)ARGUMENT(c, 4))
			rc = rename_onto(
				c, (int)ARGUMENT(c, 0), ARGUMENT(c, 1), (int)ARGUMENT(c, 2), ARGUMENT(c, 3));
		break;
	}
	if (rc == 1)
		notified_continue(c);
	return rc == 1 ? 0 : rc;
}

/* ---- without mounts ---- */

bool judged_is_file(const struct supervisor *s, const char *path)
{
	for (const struct sandbox_file *f = s->files; f && f->at; f++)
		if (text_eq(f->at, path))
			return true;
	return false;
}

/* In memory of its own, because the heap is helm's. */
static bool is_harmless(const struct supervisor *s, struct bytes old, struct bytes new)
{
	struct git_merge m;
	void *room = mmap(NULL, SCRATCH_BYTES, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (room == MAP_FAILED)
		return false;
	struct arena a = arena_in(room, SCRATCH_BYTES);
	propose_git_merge_approved(&a, old, old, new, s->git_approved, &m);
	bool is_so = !m.is_unread && !m.dropped_count;
	munmap(room, SCRATCH_BYTES);
	return is_so;
}

/* The caller may still have the file open that it renames: so what was judged is written to a file of ours, which then takes the name.
 * Nobody opens that one for writing meanwhile, because it is we who open. */
static int64_t put_judged(
	struct notified *c, const struct object *from, const struct object *to, const char *text, size_t n)
{
	char name[64];
	struct owner owner;

	snprintf(name, sizeof(name), ".helm-%d-%llx", (int)getpid(), (unsigned long long)c->asked.id);
	notified_be_caller(c, &owner);
	int64_t rc = 0;
	int fd = openat(
		to->dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, from->st.st_mode & 0666);
	if (fd < 0)
		rc = -errno;
	else if (write(fd, text, n) != (ssize_t)n)
		rc = -EIO;
	close_fd(&fd);
	if (rc == 0 && renameat(to->dir, name, to->dir, to->name))
		rc = -errno;
	if (rc == 0)
		rc = unlinkat(from->dir, from->name, 0) ? -errno : 0;
	else if (fd >= 0)
		(void)unlinkat(to->dir, name, 0);
	notified_be_self(&owner);
	return rc;
}

int64_t judged_replace(struct notified *c, const struct object *from, const struct object *to)
{
	char *text = mmap(NULL, 2 * JUDGED_BYTES, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (text == MAP_FAILED)
		return -ENOMEM;
	char *old = text + JUDGED_BYTES;
	ssize_t n = read_as_caller(c, from->dir, from->name, text, JUDGED_BYTES),
		old_n = to->fd < 0 ? 0 : read_as_caller(c, to->dir, to->name, old, JUDGED_BYTES);
	int64_t rc = n < 0 ? n : old_n < 0 ? old_n : 0;
	if (rc == 0 &&
		!is_harmless(c->s, (struct bytes){ (const uint8_t *)old, (size_t)old_n },
			(struct bytes){ (const uint8_t *)text, (size_t)n }))
		rc = -EPERM;
	if (rc == 0)
		rc = put_judged(c, from, to, text, (size_t)n);
	munmap(text, 2 * JUDGED_BYTES);
	return rc;
}
