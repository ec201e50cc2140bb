/* supervise_files.c — calls that change files, carried out where the run may write.
 *
 * A path is resolved by the kernel, relative to the caller's own directory, into a descriptor that gives no access (O_PATH).  /proc then
 * says where that object lies.  It must lie below a writable place and not in a closed one; the call is made on that very
 * descriptor, so nothing can be exchanged in between.  For a name that does not exist yet the same holds for its directory.
 *
 * A directory cannot come to lie in a closed place later: moving one there is refused, and so is moving one that holds a closed place. */
#include "execute/supervise.h"

#include "base/file.h"
#include "base/text.h"
#include "execute/private_files.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <utime.h>

enum {
	LINKS_MOST = 40,
	ATTRIBUTE_MOST = 64 << 10,
	OUTSIDE = -EROFS,
	RENAME_FLAGS = 3 /* NOREPLACE, EXCHANGE */
};

static void object_done(struct object *o)
{
	close_fd(&o->dir);
	close_fd(&o->fd);
	o->dir = o->fd = -1;
}

/* ---- where something lies ---- */

static int where(int fd, char to[PATH_MAX])
{
	char link[64];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t n = readlink(link, to, PATH_MAX - 1);
	to[n > 0 ? n : 0] = '\0';
	return n > 0 && n < PATH_MAX - 1 ? 0 : -ENAMETOOLONG;
}

static bool is_in(const char *path, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (path_is_below(path, list[i]))
			return true;
	return false;
}

static bool holds_one(const char *path, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (path_is_below(list[i], path))
			return true;
	return false;
}

static bool holds_closed(const struct supervisor *s, const char *path)
{
	return holds_one(path, s->closed, s->closed_count);
}

/* What has no name in the file system is the caller's own. */
static bool is_nameless(const char *path)
{
	return text_starts(path, "pipe:[") || text_starts(path, "socket:[") ||
		text_starts(path, "anon_inode:") || text_starts(path, "/memfd:");
}

static bool may_change(const struct supervisor *s, const char *path)
{
	return is_in(path, s->writable, s->writable_count) && !is_in(path, s->closed, s->closed_count);
}

/* The very file that an operator opened, under its own name. */
static bool is_opened(const struct supervisor *s, const struct object *o)
{
	for (const struct sandbox_opening *x = s->openings; x && x->at; x++)
		if (x->is_writable && text_eq(x->at, o->path) && x->dev == o->st.st_dev &&
			x->ino == o->st.st_ino)
			return true;
	return false;
}

/* A name in a directory: whoever changes it changes the directory, which must itself be writable. */
static bool may_change_name(const struct supervisor *s, const char *path)
{
	char dir[PATH_MAX];
	const char *slash = strrchr(path, '/');

	snprintf(dir, sizeof(dir), "%.*s", slash && slash > path ? (int)(slash - path) : 1, path);
	return may_change(s, path) && is_in(dir, s->writable, s->writable_count);
}

/* ---- resolving ---- */

/* Links of /proc lead to what only we have open, so they are never followed. */
static int open_path(int base, const char *path, int flags)
{
	struct open_how how = { .flags = (uint64_t)(O_PATH | O_CLOEXEC | flags),
		.resolve = RESOLVE_NO_MAGICLINKS };
	int fd = (int)syscall(SYS_openat2, base, path, &how, sizeof(how));

	return fd >= 0 ? fd : errno == ELOOP && !(flags & O_NOFOLLOW) ? -EACCES : -errno;
}

static int open_of_caller(const struct notified *c, int fd)
{
	char path[64];

	if (fd == AT_FDCWD)
		snprintf(path, sizeof(path), "/proc/%d/cwd", (int)c->asked.pid);
	else
		snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)c->asked.pid, fd);
	int got = open(path, O_PATH | O_CLOEXEC);
	return got >= 0 ? got : errno == ENOENT ? (fd == AT_FDCWD ? -ENOENT : -EBADF) : -EACCES;
}

/* The caller's own descriptor by a name of it: /proc/self/fd/3, /dev/fd/3, /dev/stdout.  -1: it is no such name. */
static int descriptor_named(const struct notified *c, const char *path)
{
	static const char *const streams[] = { "/dev/stdin", "/dev/stdout", "/dev/stderr" };
	char own[64];
	const char *const places[] = { "/proc/self/fd/", "/proc/thread-self/fd/", "/dev/fd/", own };
	char *end;

	snprintf(own, sizeof(own), "/proc/%d/fd/", (int)c->asked.pid);
	for (int i = 0; i < 3; i++)
		if (text_eq(path, streams[i]))
			return i;
	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		if (text_starts(path, places[i]) && path[strlen(places[i])] >= '0' &&
			path[strlen(places[i])] <= '9') {
			long n = strtol(path + strlen(places[i]), &end, 10);
			return *end == '\0' && n < INT_MAX ? (int)n : -1;
		}
	return -1;
}

int notified_open_dir(const struct notified *c, int at, const char *path)
{
	AUTO(close_fd) int base = *path == '/' ? -1 : open_of_caller(c, at);

	return *path != '/' && base < 0 ? -1 : open_path(base < 0 ? AT_FDCWD : base, path, O_DIRECTORY);
}

static int look_at(struct object *o)
{
	return fstat(o->fd, &o->st) ? -errno : where(o->fd, o->path);
}

/* The directory of the last name in `path`, and that name.  Of "." and ".." the object itself. */
static int find_dir(const struct supervisor *s, int base, const char *path, struct object *o)
{
	size_t n = strlen(path);
	char parent[PATH_MAX];

	while (n > 1 && path[n - 1] == '/')
		n--;
	o->is_dir_wanted = path[n] == '/';
	size_t from = n;
	while (from && path[from - 1] != '/')
		from--;
	if (n - from > NAME_MAX)
		return -ENAMETOOLONG;
	snprintf(o->name, sizeof(o->name), "%.*s", (int)(n - from), path + from);
	if (text_eq(path, "/") || text_eq(o->name, ".") || text_eq(o->name, "..")) {
		o->name[0] = '\0';
		o->fd = open_path(base, path, O_DIRECTORY);
		return o->fd < 0 ? o->fd : look_at(o);
	}
	snprintf(parent, sizeof(parent), "%.*s", (int)from, path);
	o->dir = open_path(base, from ? parent : ".", O_DIRECTORY);
	if (o->dir < 0)
		return o->dir;
	int rc = where(o->dir, o->path);
	if (rc == 0 && s->shm && text_eq(o->path, "/dev/shm")) {
		close(o->dir);
		o->dir = open(s->shm, O_PATH | O_DIRECTORY | O_CLOEXEC);
		rc = o->dir < 0 ? -EACCES : where(o->dir, o->path);
	}
	size_t length = strlen(o->path);
	if (rc == 0)
		snprintf(o->path + length, sizeof(o->path) - length, "%s%s", length == 1 ? "" : "/", o->name);
	return rc;
}

/* One step: the directory, and what lies in it under that name, without following a link. */
static int find_step(const struct supervisor *s, int base, const char *path, struct object *o)
{
	*o = (struct object){ .dir = -1, .fd = -1 };
	int rc = find_dir(s, base, path, o);
	if (rc || o->fd >= 0)
		return rc;
	o->fd = openat(o->dir, o->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (o->fd < 0)
		return errno == ENOENT ? 0 : -errno;
	return fstat(o->fd, &o->st) ? -errno : 0;
}

/* The last name is a link that is to be followed: where it leads, relative to its directory.  `base` is that directory afterwards. */
static int follow_link(struct object *o, int *base, char path[PATH_MAX])
{
	ssize_t n = readlinkat(o->fd, "", path, PATH_MAX - 1);

	if (n <= 0 || n >= PATH_MAX - 1)
		return -ENAMETOOLONG;
	path[n] = '\0';
	close_fd(base);
	*base = o->dir;
	o->dir = -1;
	object_done(o);
	return 0;
}

/* What `path` names for the caller, relative to its descriptor `at`.  On success the caller ends it with object_done(). */
static int find(const struct notified *c, int at, const char *given, bool follow, struct object *o)
{
	AUTO(close_fd) int base = -1;
	char path[PATH_MAX];
	int rc = 0, named = descriptor_named(c, given);

	*o = (struct object){ .dir = -1, .fd = -1 };
	if (!*given)
		return -ENOENT;
	if (named >= 0 && follow) {
		o->fd = open_of_caller(c, named);
		return o->fd < 0 ? (o->fd == -EBADF ? -ENOENT : o->fd) : look_at(o);
	}
	if (given[0] != '/' && (base = open_of_caller(c, at)) < 0)
		return base;
	snprintf(path, sizeof(path), "%s", given);
	for (int i = 0; i < LINKS_MOST; i++) {
		rc = find_step(c->s, base < 0 ? AT_FDCWD : base, path, o);
		bool is_link =
			rc == 0 && o->fd >= 0 && S_ISLNK(o->st.st_mode) && (follow || o->is_dir_wanted);
		if (is_link)
			rc = follow_link(o, &base, path);
		if (rc)
			object_done(o);
		if (rc || !is_link)
			return rc;
		if ((named = descriptor_named(c, path)) >= 0) {
			o->fd = open_of_caller(c, named);
			return o->fd < 0 ? o->fd : look_at(o);
		}
	}
	object_done(o);
	return -ELOOP;
}

/* The path at `address` in the caller's memory. */
static int find_at(const struct notified *c, int at, uint64_t address, bool follow, struct object *o)
{
	char path[PATH_MAX];
	int rc = notified_read_text(c, address, path, sizeof(path));

	*o = (struct object){ .dir = -1, .fd = -1 };
	return rc ? rc : !notified_is_valid(c) ? -EINTR : find(c, at, path, follow, o);
}

static int find_descriptor(const struct notified *c, int fd, struct object *o)
{
	*o = (struct object){ .dir = -1, .fd = open_of_caller(c, fd) };
	int rc = o->fd < 0 ? o->fd : look_at(o);
	return rc == 0 && !notified_is_valid(c) ? -EINTR : rc;
}

/* ---- as whom ---- */

void notified_be_caller(const struct notified *c, struct owner *o)
{
	char text[4096];
	unsigned uid[4] = { 0 }, gid[4] = { 0 }, mask = 022;
	const char *at;

	*o = (struct owner){ .umask = 022 };
	if (proc_status((pid_t)c->asked.pid, text, sizeof(text)))
		return;
	if ((at = strstr(text, "\nUmask:")))
		mask = (unsigned)strtoul(at + strlen("\nUmask:"), NULL, 8);
	o->umask = mask;
	if (!c->s->is_root)
		return;
	if ((at = strstr(text, "\nUid:")))
		(void)!sscanf(at, "\nUid: %u %u %u %u", uid, uid + 1, uid + 2, uid + 3);
	if ((at = strstr(text, "\nGid:")))
		(void)!sscanf(at, "\nGid: %u %u %u %u", gid, gid + 1, gid + 2, gid + 3);
	o->is_other = uid[3] || gid[3];
	if (o->is_other) {
		setfsgid(gid[3]);
		setfsuid(uid[3]);
	}
}

void notified_be_self(const struct owner *o)
{
	if (o->is_other) {
		setfsuid(0);
		setfsgid(getegid());
	}
}

/* ---- opening ---- */

static const char *link_to(int fd, char to[64])
{
	snprintf(to, 64, "/proc/self/fd/%d", fd);
	return to;
}

/* In a process of its own: a FIFO waits for its other end. */
static void open_waiting(struct notified *c, int fd, int flags)
{
	char link[64];
	int got = open(link_to(fd, link), flags);
	int64_t rc = got < 0 ? -errno : notified_give(c, &got, flags & O_CLOEXEC);

	if (rc)
		notified_answer(c, rc);
}

/* The object exists: opened once more, for what the flags say. */
static int64_t open_object(struct notified *c, const struct object *o, int flags, mode_t mode)
{
	const int again = (flags & ~(O_CREAT | O_EXCL | O_NOFOLLOW)) | O_NOCTTY | O_CLOEXEC;
	bool is_unnamed = (flags & O_TMPFILE) == O_TMPFILE;
	char link[64];

	if (S_ISLNK(o->st.st_mode))
		return -ELOOP;
	if (S_ISBLK(o->st.st_mode))
		return -EACCES;
	if (S_ISCHR(o->st.st_mode))
		return supervise_device(c, o->fd, o->path, &o->st, flags);
	if (S_ISDIR(o->st.st_mode) && !is_unnamed)
		return flags & O_PATH ? notified_lend(c, o->fd, flags & O_CLOEXEC) : -EISDIR;
	if (!S_ISDIR(o->st.st_mode) && (o->is_dir_wanted || flags & O_DIRECTORY))
		return -ENOTDIR;
	if (flags & O_PATH)
		return notified_lend(c, o->fd, flags & O_CLOEXEC);
	if (!may_change(c->s, o->path) && !is_nameless(o->path) && !is_opened(c->s, o))
		return OUTSIDE;
	if (S_ISFIFO(o->st.st_mode) && !(flags & O_NONBLOCK) && (flags & O_ACCMODE) != O_RDWR)
		return notified_later(c, open_waiting, o->fd, again);
	struct owner owner;
	notified_be_caller(c, &owner);
	AUTO(close_fd) int fd = open(link_to(o->fd, link), again, mode & ~owner.umask & 01777);
	int why = errno;
	notified_be_self(&owner);
	return fd < 0 ? -why : notified_give(c, &fd, flags & O_CLOEXEC);
}

/* A new file.  -EEXIST: somebody else was faster, which is tried again. */
static int64_t make_file(struct notified *c, const struct object *o, int flags, mode_t mode)
{
	struct owner owner;

	if (o->is_dir_wanted)
		return -EISDIR;
	if (!may_change_name(c->s, o->path))
		return OUTSIDE;
	notified_be_caller(c, &owner);
	AUTO(close_fd)
	int fd = openat(o->dir, o->name, flags | O_EXCL | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC,
		mode & ~owner.umask & 01777);
	int why = errno;
	notified_be_self(&owner);
	return fd < 0 ? -why : notified_give(c, &fd, flags & O_CLOEXEC);
}

/* A directory to be listed.  Landlock gives the right to list only with all that lies below, so a directory above a hidden place has none:
 * the caller gets it from us, and with it only names.  Every other one it opens itself. */
static int64_t do_list(struct notified *c, int at, uint64_t address, int flags)
{
	AUTO(object_done) struct object o = { .dir = -1, .fd = -1 };
	const struct supervisor *s = c->s;
	char link[64];

	int64_t rc = flags & O_PATH ? -ENOENT : find_at(c, at, address, !(flags & O_NOFOLLOW), &o);
	bool is_above = rc == 0 && o.fd >= 0 && S_ISDIR(o.st.st_mode) && where(o.fd, o.path) == 0 &&
		!is_in(o.path, s->hidden, s->hidden_count) && !path_is_below(o.path, "/dev") &&
		!path_is_below(o.path, "/proc") &&
		(text_eq(o.path, "/") || holds_one(o.path, s->hidden, s->hidden_count));
	if (!is_above) {
		notified_continue(c);
		return 0;
	}
	struct owner owner;
	notified_be_caller(c, &owner);
	AUTO(close_fd)
	int fd = open(link_to(o.fd, link), O_RDONLY | O_DIRECTORY | O_CLOEXEC | (flags & O_NONBLOCK));
	int why = errno;
	notified_be_self(&owner);
	return fd < 0 ? -why : notified_give(c, &fd, flags & O_CLOEXEC);
}

static bool is_changing(int flags)
{
	return (flags & O_ACCMODE) != O_RDONLY || flags & (O_CREAT | O_TRUNC) ||
		(flags & O_TMPFILE) == O_TMPFILE;
}

static int64_t do_open(struct notified *c, int at, uint64_t address, int flags, mode_t mode)
{
	const bool follow = !(flags & O_NOFOLLOW) && (flags & (O_CREAT | O_EXCL)) != (O_CREAT | O_EXCL);
	int64_t rc = -EEXIST;

	if (!is_changing(flags))
		return do_list(c, at, address, flags);
	for (int i = 0; i < LINKS_MOST && rc == -EEXIST; i++) {
		AUTO(object_done) struct object o = { .dir = -1, .fd = -1 };
		rc = find_at(c, at, address, follow, &o);
		if (rc)
			return rc;
		if (o.fd >= 0)
			return (flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL)
				? -EEXIST
				: open_object(c, &o, flags, mode);
		if (!(flags & O_CREAT))
			return -ENOENT;
		rc = make_file(c, &o, flags, mode);
	}
	return rc;
}

/* ---- names in directories ---- */

/* Something new is to have this name. */
static int64_t find_new(const struct notified *c, int at, uint64_t address, struct object *o)
{
	int64_t rc = find_at(c, at, address, false, o);

	if (rc)
		return rc;
	return o->fd >= 0 ? -EEXIST : may_change_name(c->s, o->path) ? 0 : OUTSIDE;
}

/* What has this name is to lose it.  A directory that holds a closed place is said to lie elsewhere, as if that were a mount: mv copies it. */
static int64_t find_old(const struct notified *c, int at, uint64_t address, struct object *o)
{
	int64_t rc = find_at(c, at, address, false, o);

	if (rc)
		return rc;
	if (o->fd < 0)
		return -ENOENT;
	if (!o->name[0])
		return -EBUSY;
	if (!may_change_name(c->s, o->path))
		return OUTSIDE;
	return holds_closed(c->s, o->path) ? -EXDEV : 0;
}

static int64_t do_mkdir(struct notified *c, int at, uint64_t address, mode_t mode)
{
	AUTO(object_done) struct object o = { .dir = -1, .fd = -1 };
	struct owner owner;
	int64_t rc = find_new(c, at, address, &o);

	if (rc)
		return rc;
	notified_be_caller(c, &owner);
	rc = mkdirat(o.dir, o.name, mode & ~owner.umask & 01777) ? -errno : 0;
	notified_be_self(&owner);
	return rc;
}

/* No devices. */
static int64_t do_mknod(struct notified *c, int at, uint64_t address, mode_t mode)
{
	AUTO(object_done) struct object o = { .dir = -1, .fd = -1 };
	struct owner owner;

	if ((mode & S_IFMT) && !S_ISREG(mode) && !S_ISFIFO(mode) && !S_ISSOCK(mode))
		return -EPERM;
	int64_t rc = find_new(c, at, address, &o);
	if (rc)
		return rc;
	notified_be_caller(c, &owner);
	rc = mknodat(o.dir, o.name, (mode & S_IFMT) | (mode & ~owner.umask & 0777), 0) ? -errno : 0;
	notified_be_self(&owner);
	return rc;
}

static int64_t do_symlink(struct notified *c, uint64_t to, int at, uint64_t address)
{
	AUTO(object_done) struct object o = { .dir = -1, .fd = -1 };
	char text[PATH_MAX];
	struct owner owner;
	int64_t rc = notified_read_text(c, to, text, sizeof(text));

	if (rc == 0)
		rc = find_new(c, at, address, &o);
	if (rc)
		return rc;
	if (holds_closed(c->s, o.path))
		return OUTSIDE;
	notified_be_caller(c, &owner);
	rc = o.is_dir_wanted ? -ENOENT : symlinkat(text, o.dir, o.name) ? -errno : 0;
	notified_be_self(&owner);
	return rc;
}

/* A second name for a file is a second way to change it. */
static int64_t do_link(struct notified *c, int from_at, uint64_t from, int at, uint64_t address, int flags)
{
	AUTO(object_done) struct object old = { .dir = -1, .fd = -1 };
	AUTO(object_done) struct object o = { .dir = -1, .fd = -1 };
	struct owner owner;
	char link[64], first = 1;
	int64_t rc = notified_read(c, from, &first, 1);

	if (rc == 0 && !first && flags & AT_EMPTY_PATH)
		rc = find_descriptor(c, from_at, &old);
	else if (rc == 0)
		rc = find_at(c, from_at, from, flags & AT_SYMLINK_FOLLOW, &old);
	if (rc == 0)
		rc = old.fd < 0 ? -ENOENT : S_ISDIR(old.st.st_mode) ? -EPERM : find_new(c, at, address, &o);
	if (rc)
		return rc;
	if (!may_change(c->s, old.path))
		return -EXDEV;
	notified_be_caller(c, &owner);
	rc = linkat(AT_FDCWD, link_to(old.fd, link), o.dir, o.name, AT_SYMLINK_FOLLOW) ? -errno : 0;
	notified_be_self(&owner);
	return rc;
}

static int64_t do_rename(
	struct notified *c, int from_at, uint64_t from, int at, uint64_t address, unsigned flags)
{
	AUTO(object_done) struct object old = { .dir = -1, .fd = -1 };
	AUTO(object_done) struct object o = { .dir = -1, .fd = -1 };
	struct owner owner;

	if (flags & ~(unsigned)RENAME_FLAGS)
		return -EINVAL;
	int64_t rc = find_old(c, from_at, from, &old);
	if (rc == 0)
		rc = find_at(c, at, address, false, &o);
	if (rc)
		return rc;
	if (!o.name[0])
		return -EBUSY;
	if (judged_is_file(c->s, o.path) && !flags && S_ISREG(old.st.st_mode))
		return judged_replace(c, &old, &o);
	if (!may_change_name(c->s, o.path))
		return OUTSIDE;
	if (holds_closed(c->s, o.path))
		return -EXDEV;
	if ((old.is_dir_wanted || o.is_dir_wanted) && !S_ISDIR(old.st.st_mode))
		return -ENOTDIR;
	notified_be_caller(c, &owner);
	rc = syscall(SYS_renameat2, old.dir, old.name, o.dir, o.name, flags) ? -errno : 0;
	notified_be_self(&owner);
	return rc;
}

static int64_t do_unlink(struct notified *c, int at, uint64_t address, int flags)
{
	AUTO(object_done) struct object o = { .dir = -1, .fd = -1 };
	struct owner owner;
	int64_t rc = find_old(c, at, address, &o);

	if (rc == -EXDEV)
		return -EBUSY;
	if (rc)
		return rc == -EBUSY && flags & AT_REMOVEDIR ? -EINVAL : rc;
	if (o.is_dir_wanted && !S_ISDIR(o.st.st_mode))
		return -ENOTDIR;
	notified_be_caller(c, &owner);
	rc = unlinkat(o.dir, o.name, flags & AT_REMOVEDIR) ? -errno : 0;
	notified_be_self(&owner);
	return rc;
}

/* ---- what is there already ---- */

/* The object that a call about modes, owners, times or attributes names: by path, or with an empty or no path by descriptor. */
static int64_t find_existing(const struct notified *c, int at, uint64_t address, int flags, struct object *o)
{
	char first = 1;
	int64_t rc = 0;

	*o = (struct object){ .dir = -1, .fd = -1 };
	if (!address && !(flags & AT_EMPTY_PATH))
		return -EFAULT;
	if (address && flags & AT_EMPTY_PATH)
		rc = notified_read(c, address, &first, 1);
	if (rc == 0)
		rc = address && first ? find_at(c, at, address, !(flags & AT_SYMLINK_NOFOLLOW), o)
				      : find_descriptor(c, at, o);
	if (rc)
		return rc;
	if (o->fd < 0)
		return -ENOENT;
	rc = where(o->fd, o->path);
	if (rc == 0 && !may_change(c->s, o->path) && !is_nameless(o->path) && !is_opened(c->s, o))
		rc = OUTSIDE;
	return rc;
}

static int64_t do_chmod(struct notified *c, int at, uint64_t address, mode_t mode, int flags)
{
	AUTO(object_done) struct object o = { .dir = -1, .fd = -1 };
	struct owner owner;
	char link[64];

	if (mode & S_ISUID)
		return -EPERM; /* a file that runs as its owner is left for others to use */
	int64_t rc = find_existing(c, at, address, flags, &o);
	if (rc)
		return rc;
	if (S_ISLNK(o.st.st_mode))
		return -EOPNOTSUPP;
	notified_be_caller(c, &owner);
	rc = chmod(link_to(o.fd, link), mode & 07777) ? -errno : 0;
	notified_be_self(&owner);
	return rc;
}

static int64_t do_chown(struct notified *c, int at, uint64_t address, uid_t uid, gid_t gid, int flags)
{
	AUTO(object_done) struct object o = { .dir = -1, .fd = -1 };
	struct owner owner;
	int64_t rc = find_existing(c, at, address, flags, &o);

	if (rc)
		return rc;
	notified_be_caller(c, &owner);
	rc = fchownat(o.fd, "", uid, gid, AT_EMPTY_PATH) ? -errno : 0;
	notified_be_self(&owner);
	return rc;
}

/* Times come in three forms; none at all means now. */
enum times_form { TIMES_NS, TIMES_US, TIMES_S };
static int64_t read_times(
	const struct notified *c, uint64_t address, enum times_form form, struct timespec to[2])
{
	struct timeval us[2];
	struct utimbuf s;
	int64_t rc = 0;

	to[0] = to[1] = (struct timespec){ .tv_nsec = UTIME_NOW };
	if (!address)
		return 0;
	if (form == TIMES_NS)
		return notified_read(c, address, to, 2 * sizeof(*to));
	if (form == TIMES_US)
		rc = notified_read(c, address, us, sizeof(us));
	else
		rc = notified_read(c, address, &s, sizeof(s));
	for (int i = 0; rc == 0 && i < 2; i++) {
		if (form == TIMES_US && (us[i].tv_usec < 0 || us[i].tv_usec >= 1000000))
			return -EINVAL;
		to[i] = form == TIMES_US ? (struct timespec){ us[i].tv_sec, us[i].tv_usec * 1000 }
					 : (struct timespec){ i ? s.modtime : s.actime, 0 };
	}
	return rc;
}

static int64_t do_times(
	struct notified *c, int at, uint64_t address, uint64_t times, enum times_form form, int flags)
{
	AUTO(object_done) struct object o = { .dir = -1, .fd = -1 };
	struct timespec to[2];
	struct owner owner;
	int64_t rc = read_times(c, times, form, to);

	if (rc == 0)
		rc = find_existing(c, at, address, flags, &o);
	if (rc)
		return rc;
	notified_be_caller(c, &owner);
	rc = utimensat(o.fd, "", to, AT_EMPTY_PATH) ? -errno : 0;
	notified_be_self(&owner);
	return rc;
}

static int64_t do_truncate(struct notified *c, uint64_t address, off_t length)
{
	AUTO(object_done) struct object o = { .dir = -1, .fd = -1 };
	struct owner owner;
	char link[64];
	int64_t rc = find_existing(c, AT_FDCWD, address, 0, &o);

	if (rc)
		return rc;
	notified_be_caller(c, &owner);
	rc = S_ISDIR(o.st.st_mode)			? -EISDIR
		: !S_ISREG(o.st.st_mode)		? -EINVAL
		: truncate(link_to(o.fd, link), length) ? -errno
							: 0;
	notified_be_self(&owner);
	return rc;
}

/* Only attributes that a plain user may set: others are privileges, and we may have more of these than the caller. */
static int64_t do_attribute(struct notified *c, int at, uint64_t address, int flags, bool is_removed)
{
	char value[ATTRIBUTE_MOST];
	AUTO(object_done) struct object o = { .dir = -1, .fd = -1 };
	char name[XATTR_NAME_MAX + 1], link[64];
	size_t n = is_removed ? 0 : (size_t)ARGUMENT(c, 3);
	struct owner owner;
	int64_t rc = notified_read_text(c, ARGUMENT(c, 1), name, sizeof(name));

	if (rc)
		return rc == -ENAMETOOLONG ? -ERANGE : rc;
	if (!text_starts(name, "user.") && !text_starts(name, "system.posix_acl_"))
		return -EPERM;
	rc = n > sizeof(value) ? -E2BIG : n ? notified_read(c, ARGUMENT(c, 2), value, n) : 0;
	if (rc == 0)
		rc = find_existing(c, at, address, flags, &o);
	if (rc)
		return rc;
	if (S_ISLNK(o.st.st_mode))
		return -EPERM;
	notified_be_caller(c, &owner);
	rc = is_removed ? removexattr(link_to(o.fd, link), name)
			: setxattr(link_to(o.fd, link), name, value, n, (int)ARGUMENT(c, 4));
	rc = rc ? -errno : 0;
	notified_be_self(&owner);
	return rc;
}

/* ---- by number ---- */

#define A(n) ARGUMENT(c, n)
#define AT(n) ((int)ARGUMENT(c, n))
#define MODE(n) ((mode_t)ARGUMENT(c, n))

#ifdef SYS_mkdir
/* The older calls of x86-64, which have no descriptor to start from. */
static int64_t supervise_older(struct notified *c)
{
	switch (c->asked.data.nr) {
	case SYS_open:
		return do_open(c, AT_FDCWD, A(0), AT(1), MODE(2));
	case SYS_creat:
		return do_open(c, AT_FDCWD, A(0), O_CREAT | O_WRONLY | O_TRUNC, MODE(1));
	case SYS_mkdir:
		return do_mkdir(c, AT_FDCWD, A(0), MODE(1));
	case SYS_mknod:
		return do_mknod(c, AT_FDCWD, A(0), MODE(1));
	case SYS_rename:
		return do_rename(c, AT_FDCWD, A(0), AT_FDCWD, A(1), 0);
	case SYS_link:
		return do_link(c, AT_FDCWD, A(0), AT_FDCWD, A(1), 0);
	case SYS_symlink:
		return do_symlink(c, A(0), AT_FDCWD, A(1));
	case SYS_unlink:
		return do_unlink(c, AT_FDCWD, A(0), 0);
	case SYS_rmdir:
		return do_unlink(c, AT_FDCWD, A(0), AT_REMOVEDIR);
	case SYS_chmod:
		return do_chmod(c, AT_FDCWD, A(0), MODE(1), 0);
	case SYS_chown:
		return do_chown(c, AT_FDCWD, A(0), (uid_t)A(1), (gid_t)A(2), 0);
	case SYS_lchown:
		return do_chown(c, AT_FDCWD, A(0), (uid_t)A(1), (gid_t)A(2), AT_SYMLINK_NOFOLLOW);
	case SYS_utime:
		return do_times(c, AT_FDCWD, A(0), A(1), TIMES_S, 0);
	case SYS_utimes:
		return do_times(c, AT_FDCWD, A(0), A(1), TIMES_US, 0);
	case SYS_futimesat:
		return do_times(c, AT(0), A(1), A(2), TIMES_US, A(1) ? 0 : AT_EMPTY_PATH);
	default:
		return -ENOSYS;
	}
}
#else
static int64_t supervise_older(struct notified *c)
{
	(void)c;
	return -ENOSYS;
}
#endif

static int64_t supervise_metadata(struct notified *c)
{
	switch (c->asked.data.nr) {
	case SYS_fchmod:
		return do_chmod(c, AT(0), 0, MODE(1), AT_EMPTY_PATH);
	case SYS_fchmodat:
		return do_chmod(c, AT(0), A(1), MODE(2), 0);
	case 452: /* fchmodat2 */
		return do_chmod(c, AT(0), A(1), MODE(2), AT(3));
	case SYS_fchown:
		return do_chown(c, AT(0), 0, (uid_t)A(1), (gid_t)A(2), AT_EMPTY_PATH);
	case SYS_fchownat:
		return do_chown(c, AT(0), A(1), (uid_t)A(2), (gid_t)A(3), AT(4));
	case SYS_utimensat:
		return do_times(c, AT(0), A(1), A(2), TIMES_NS, AT(3) | (A(1) ? 0 : AT_EMPTY_PATH));
	case SYS_setxattr:
		return do_attribute(c, AT_FDCWD, A(0), 0, false);
	case SYS_lsetxattr:
		return do_attribute(c, AT_FDCWD, A(0), AT_SYMLINK_NOFOLLOW, false);
	case SYS_fsetxattr:
		return do_attribute(c, AT(0), 0, AT_EMPTY_PATH, false);
	case SYS_removexattr:
		return do_attribute(c, AT_FDCWD, A(0), 0, true);
	case SYS_lremovexattr:
		return do_attribute(c, AT_FDCWD, A(0), AT_SYMLINK_NOFOLLOW, true);
	case SYS_fremovexattr:
		return do_attribute(c, AT(0), 0, AT_EMPTY_PATH, true);
	default:
		return supervise_older(c);
	}
}

int64_t supervise_file(struct notified *c)
{
	switch (c->asked.data.nr) {
	case SYS_openat:
		return do_open(c, AT(0), A(1), AT(2), MODE(3));
	case SYS_mkdirat:
		return do_mkdir(c, AT(0), A(1), MODE(2));
	case SYS_mknodat:
		return do_mknod(c, AT(0), A(1), MODE(2));
	case SYS_symlinkat:
		return do_symlink(c, A(0), AT(1), A(2));
	case SYS_linkat:
		return do_link(c, AT(0), A(1), AT(2), A(3), AT(4));
#ifdef SYS_renameat
	case SYS_renameat:
		return do_rename(c, AT(0), A(1), AT(2), A(3), 0);
#endif
	case SYS_renameat2:
		return do_rename(c, AT(0), A(1), AT(2), A(3), (unsigned)A(4));
	case SYS_unlinkat:
		return do_unlink(c, AT(0), A(1), AT(2));
	case SYS_truncate:
		return do_truncate(c, A(0), (off_t)A(1));
	default:
		return supervise_metadata(c);
	}
}
