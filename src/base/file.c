/* file.c — files that survive a crash.
 *
 * Append: a file is locked, its tail is repaired, one whole line is written and synced, and only then does
 * the caller hear OK. The directory entry is synced before the first line and not after it: whoever finds
 * a line in the file may rely on the file being there after a power failure, whichever process created it.
 *
 * Replace: the new bytes are complete and synced under a name nobody reads before the rename makes them
 * visible. A reader sees the old content or the new, never a mixture.
 *
 * Trust: what was opened is what is used. Type and size are asked of the descriptor and not of the name,
 * links are refused unless a caller wants them, and a lock counts only if the name still leads to the
 * locked file. */
#include "base/file.h"

#include "base/hash.h"
#include "base/json.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/file.h>

enum { READ_STEP = 64 << 10, LIST_STEP = 8 << 10, TAIL_STEP = 4 << 10, MAX_DEPTH = 256, LOCK_POLL_US = 5000 };
#define MAX_TAIL_BYTES ((off_t)64 << 20)

static int fd_stat(struct sys *s, int fd, struct stat *st)
{
	return s->stat(s, fd, "", st, AT_EMPTY_PATH);
}

/* A failed open() in the words a user needs. ELOOP is how O_NOFOLLOW says "symbolic link", EXDEV how
 * RESOLVE_BENEATH says "outside". */
static int open_failed(struct err *e, const char *path)
{
	if (errno == ELOOP)
		return err_set(
			e, E_INPUT, "FILE_LINK", "'%s' is a symbolic link; name the file itself", path);
	if (errno == EXDEV)
		return err_set(
			e, E_INPUT, "FILE_OUTSIDE", "'%s' leads outside the directory it must stay in", path);
	return err_sys(e, "FILE_OPEN", "cannot open '%s'", path);
}

/* All bytes or -1; a short write is continued. */
static int write_all(struct sys *s, int fd, const void *from, size_t n)
{
	for (size_t done = 0; done < n;) {
		ssize_t got = s->write(s, fd, (const char *)from + done, n - done);
		if (got < 0)
			return -1;
		done += (size_t)got;
	}
	return 0;
}

/* Fill `to` from offset `at`; -1 with errno, EIO when the file ends early. */
static int pread_all(struct sys *s, int fd, void *to, size_t n, off_t at)
{
	for (size_t done = 0; done < n;) {
		ssize_t got = s->pread(s, fd, (char *)to + done, n - done, at + (off_t)done);
		if (got < 0)
			return -1;
		if (got == 0) {
			errno = EIO;
			return -1;
		}
		done += (size_t)got;
	}
	return 0;
}

/* reading */

static int too_large(struct err *e, const char *path, size_t max_bytes)
{
	return err_set(e, E_LIMIT, "FILE_TOO_LARGE", "'%s' is larger than the %zu bytes allowed here", path,
		max_bytes);
}

static int no_room(struct err *e, const char *path)
{
	return err_set(e, E_LIMIT, "FILE_MEMORY",
		"'%s' does not fit into the memory that one operation may use", path);
}

/* Reads to the end, or to one byte past the limit. `hint` is the expected size; the file may grow
 * meanwhile, so the size alone is not believed. A NUL is put behind the bytes for callers that take them
 * as text. */
static int read_to_end(struct sys *s, struct arena *a, int fd, const char *path, size_t hint,
	size_t max_bytes, struct bytes *ret, struct err *e)
{
	size_t cap = hint + 1, n = 0;

	if (!arena_has_room(a, cap + 1))
		return no_room(e, path);
	uint8_t *p = arena_alloc(a, cap + 1);

	for (;;) {
		ssize_t got = s->read(s, fd, p + n, cap - n);
		if (got < 0)
			return err_sys(e, "FILE_READ", "cannot read '%s'", path);
		n += (size_t)got;
		if (n > max_bytes)
			return too_large(e, path, max_bytes);
		if (got == 0)
			break;
		if (n == cap) {
			size_t more = cap * 2 > READ_STEP ? cap * 2 : READ_STEP;
			if (!arena_has_room(a, more + 1))
				return no_room(e, path);
			p = arena_grow(a, p, cap + 1, more + 1);
			cap = more;
		}
	}
	p[n] = '\0';
	*ret = (struct bytes){ p, n };
	return OK;
}

/* "-" is standard input, but only for paths that a person gave (FILE_FOLLOW). */
int file_read(struct sys *s, struct arena *a, int dirfd, const char *path, size_t max_bytes, unsigned flags,
	struct bytes *ret, struct err *e)
{
	if ((flags & FILE_FOLLOW) && strcmp(path, "-") == 0)
		return read_to_end(s, a, STDIN_FILENO, "standard input", READ_STEP, max_bytes, ret, e);

	/* O_NONBLOCK: opening a FIFO that somebody put here would wait for a writer, before its type can
	 * be asked. */
	int how = O_RDONLY | O_NONBLOCK | O_NOCTTY | (flags & FILE_FOLLOW ? 0 : O_NOFOLLOW);
	uint64_t resolve = flags & FILE_BENEATH ? RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS : 0;
	AUTO(close_fd) int fd = s->open(s, dirfd, path, how, 0, resolve);
	struct stat st;

	if (fd < 0)
		return open_failed(e, path);
	if (fd_stat(s, fd, &st))
		return err_sys(e, "FILE_READ", "cannot read '%s'", path);
	if (!S_ISREG(st.st_mode))
		return err_set(e, E_INPUT, "FILE_NOT_REGULAR", "'%s' is %s, not a file", path,
			S_ISDIR(st.st_mode) ? "a directory" : "a device, pipe or socket");
	if ((uint64_t)st.st_size > max_bytes)
		return too_large(e, path, max_bytes);
	return read_to_end(s, a, fd, path, (size_t)st.st_size, max_bytes, ret, e);
}

/* locks */

/* Waits up to wait_ms for the lock; a negative time waits for ever. flock() has no time-out, so it is
 * polled. */
static int lock_until(struct sys *s, int fd, int wait_ms)
{
	if (wait_ms < 0)
		return s->lock(s, fd, LOCK_EX);
	int64_t deadline = s->mono_us(s) + (int64_t)wait_ms * 1000;
	while (s->lock(s, fd, LOCK_EX | LOCK_NB)) {
		if (errno != EWOULDBLOCK || s->mono_us(s) >= deadline)
			return -1;
		s->sleep_us(s, LOCK_POLL_US);
	}
	return 0;
}

/* Whether the name still leads to the locked file. Between open and lock another process may have renamed
 * a new file into its place; then the lock is on something nobody uses. */
static bool is_still(struct sys *s, int dirfd, const char *path, int fd)
{
	struct stat now, held;

	return s->stat(s, dirfd, path, &now, AT_SYMLINK_NOFOLLOW) == 0 && fd_stat(s, fd, &held) == 0 &&
		now.st_dev == held.st_dev && now.st_ino == held.st_ino;
}

/* Opens and locks, and begins again when the file was replaced meanwhile. */
static int open_locked(struct sys *s, int dirfd, const char *path, int flags, mode_t mode, int wait_ms,
	int *ret_fd, struct err *e)
{
	for (;;) {
		AUTO(close_fd)
		int fd = s->open(s, dirfd, path, flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, mode, 0);
		if (fd < 0 && errno == EISDIR)
			return err_set(e, E_INPUT, "FILE_NOT_REGULAR",
				"'%s' is a directory, and must be a file; put it aside: mv '%s' '%s.damaged'",
				path, path, path);
		if (fd < 0)
			return open_failed(e, path);
		if (lock_until(s, fd, wait_ms)) {
			if (errno == EWOULDBLOCK)
				return err_set(e, E_IO, "FILE_LOCKED",
					"'%s' is locked by another process; try again when it is done", path);
			return err_sys(e, "FILE_LOCK", "cannot lock '%s'", path);
		}
		if (!is_still(s, dirfd, path, fd))
			continue;
		*ret_fd = fd;
		fd = -1;
		return OK;
	}
}

/* The lock file is made when it is missing. Closing the descriptor gives the lock up. */
int file_lock(struct sys *s, int dirfd, const char *path, int wait_ms, int *ret_fd, struct err *e)
{
	return open_locked(s, dirfd, path, O_RDWR | O_CREAT, 0600, wait_ms, ret_fd, e);
}

/* directories */

/* Links are followed here: the caller names a directory it trusts. */
int file_open_dir(struct sys *s, int dirfd, const char *path, int *ret_fd, struct err *e)
{
	int fd = s->open(s, dirfd, path, O_RDONLY | O_DIRECTORY, 0, 0);

	if (fd < 0)
		return err_sys(e, "FILE_OPEN_DIR", "cannot open directory '%s'", path);
	*ret_fd = fd;
	return OK;
}

/* The directory that holds `path`, and the last component. */
static int open_parent(
	struct sys *s, int dirfd, const char *path, int *ret_fd, const char **ret_name, struct err *e)
{
	const char *name = path_base(path);
	size_t n = (size_t)(name - path);
	char dir[4096];

	if (n >= sizeof(dir))
		return err_set(e, E_INPUT, "FILE_NAME", "the path '%.60s...' is too long", path);
	if (name[0] == '\0' || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return err_set(e, E_INPUT, "FILE_NAME", "'%s' does not name a file", path);
	memcpy(dir, path, n);
	dir[n] = '\0';
	int rc = file_open_dir(s, dirfd, n ? dir : ".", ret_fd, e);
	if (!rc)
		*ret_name = name;
	return rc;
}

/* Makes a new name durable. Without it a file may be whole and yet be gone after a power failure. */
static int sync_parent(struct sys *s, int dirfd, const char *path, struct err *e)
{
	AUTO(close_fd) int dir = -1;
	const char *name;
	int rc = open_parent(s, dirfd, path, &dir, &name, e);

	if (rc)
		return rc;
	if (s->fsync(s, dir))
		return err_sys(e, "FILE_SYNC", "cannot make the directory of '%s' durable", path);
	return OK;
}

/* The new entry is made durable at once. Another process may make the same directory first, which is as
 * good. */
static int make_dir(struct sys *s, int dirfd, const char *path, mode_t mode, struct err *e)
{
	if (s->mkdir(s, dirfd, path, mode) == 0)
		return sync_parent(s, dirfd, path, e);
	int why = errno;
	if (why == EEXIST && file_is_dir(s, dirfd, path))
		return OK;
	if (why == EEXIST)
		return err_set(e, E_INPUT, "FILE_NOT_DIR", "'%s' is in the way: it is not a directory", path);
	errno = why;
	return err_sys(e, "FILE_MKDIR", "cannot make directory '%s'", path);
}

/* Cuts the path at each '/' in turn and makes what is missing, from the top down. */
int file_mkdirs(struct sys *s, int dirfd, const char *path, mode_t mode, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	char *clean = path_clean(&a, path);

	if (file_is_dir(s, dirfd, clean))
		return OK;
	for (char *p = clean + 1;; p++) {
		if (*p && *p != '/')
			continue;
		char kept = *p;
		*p = '\0';
		if (!file_is_dir(s, dirfd, clean)) {
			int rc = make_dir(s, dirfd, clean, mode, e);
			if (rc)
				return rc;
		}
		if (!kept)
			return OK;
		*p = kept;
	}
}

/* A dangling link exists, too. */
bool file_exists(struct sys *s, int dirfd, const char *path)
{
	struct stat st;

	return s->stat(s, dirfd, path, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Links are followed. */
bool file_is_dir(struct sys *s, int dirfd, const char *path)
{
	struct stat st;

	return s->stat(s, dirfd, path, &st, 0) == 0 && S_ISDIR(st.st_mode);
}

/* append */

/* Whether a last line without a newline was written to its end. No proper beginning of a JSON object or
 * array is one itself, so a line that parses is whole and only its newline is missing. */
static bool is_whole_line(struct arena *a, const char *p, size_t n)
{
	struct json *line;

	return n && (p[0] == '{' || p[0] == '[') &&
		json_parse(a, (struct bytes){ (const uint8_t *)p, n }, "", NULL, &line, NULL) == OK;
}

/* Where the line without a newline starts: behind the last newline, or at 0. Read backwards in steps,
 * since the file may be huge and the line is short; and not further than a line can be long, since it may be a hole. */
static int find_tail(struct sys *s, int fd, off_t size, off_t *ret_start)
{
	char step[TAIL_STEP];

	for (off_t end = size; end > 0;) {
		if (size - end > MAX_TAIL_BYTES) {
			*ret_start = end;
			return 0;
		}
		size_t n = end < (off_t)sizeof(step) ? (size_t)end : sizeof(step);
		off_t at = end - (off_t)n;
		if (pread_all(s, fd, step, n, at))
			return -1;
		const char *newline = memrchr(step, '\n', n);
		if (newline) {
			*ret_start = at + (newline - step) + 1;
			return 0;
		}
		end = at;
	}
	*ret_start = 0;
	return 0;
}

/* Keeps the bytes that are about to be cut off in a file beside it. Nobody acknowledged them, but they may
 * still tell a person what happened. */
static int keep_torn(struct sys *s, struct arena *a, int dirfd, const char *path, mode_t mode,
	const char *tail, size_t n, struct err *e)
{
	const char *torn = arena_printf(a, "%s.torn", path);
	AUTO(close_fd) int fd = -1;
	int rc = open_locked(s, dirfd, torn, O_WRONLY | O_APPEND | O_CREAT, mode, -1, &fd, e);

	if (rc)
		return rc;
	if (write_all(s, fd, tail, n) || write_all(s, fd, "\n", 1) || s->sync(s, fd))
		return err_sys(e, "FILE_WRITE", "cannot keep the torn line of '%s' in '%s'", path, torn);
	return sync_parent(s, dirfd, torn, e);
}

/* Brings a file whose last byte is not a newline back to whole lines. A line that is whole gets its
 * newline; a torn one is moved aside first and cut off after that, so a crash in between loses nothing. */
static int repair_tail(
	struct sys *s, int fd, int dirfd, const char *path, mode_t mode, off_t *size, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	off_t start;

	if (find_tail(s, fd, *size, &start))
		return err_sys(e, "FILE_READ", "cannot read the end of '%s'", path);
	if (*size - start > MAX_TAIL_BYTES)
		return err_set(e, E_CORRUPT, "FILE_TORN",
			"the last line of '%s' has no end; is it the right file?", path);
	size_t n = (size_t)(*size - start);
	char *tail = arena_text(&a, n);
	if (pread_all(s, fd, tail, n, start))
		return err_sys(e, "FILE_READ", "cannot read the end of '%s'", path);

	if (is_whole_line(&a, tail, n)) {
		if (write_all(s, fd, "\n", 1))
			return err_sys(e, "FILE_WRITE", "cannot end the last line of '%s'", path);
		*size += 1;
		return OK;
	}
	int rc = keep_torn(s, &a, dirfd, path, mode, tail, n, e);
	if (rc)
		return rc;
	if (s->truncate(s, fd, start) || s->sync(s, fd))
		return err_sys(e, "FILE_WRITE", "cannot cut the torn line off '%s'", path);
	*size = start;
	return OK;
}

/* The size to append at, after repair. An empty file may be new, so its directory entry is synced before
 * anything is written to it. */
static int check_tail(
	struct sys *s, int fd, int dirfd, const char *path, mode_t mode, off_t *ret_size, struct err *e)
{
	struct stat st;
	char last;

	if (fd_stat(s, fd, &st))
		return err_sys(e, "FILE_READ", "cannot read '%s'", path);
	if (!S_ISREG(st.st_mode))
		return err_set(e, E_INPUT, "FILE_NOT_REGULAR", "'%s' is not a regular file", path);
	*ret_size = st.st_size;
	if (st.st_size == 0)
		return sync_parent(s, dirfd, path, e);
	if (pread_all(s, fd, &last, 1, st.st_size - 1))
		return err_sys(e, "FILE_READ", "cannot read the end of '%s'", path);
	return last == '\n' ? OK : repair_tail(s, fd, dirfd, path, mode, ret_size, e);
}

/* Writes line and newline in one call, and syncs unless the caller will. On failure the file is cut back
 * to its old size, so that no half line stays; if even that fails, the error says so. */
static int write_line(
	struct sys *s, int fd, const char *path, off_t size, struct bytes line, bool sync_now, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	char *whole = arena_text(&a, line.n + 1);

	if (line.n)
		memcpy(whole, line.p, line.n);
	whole[line.n] = '\n';
	if (write_all(s, fd, whole, line.n + 1) == 0 && (!sync_now || s->sync(s, fd) == 0))
		return OK;
	int rc = err_sys(e, "FILE_WRITE", "cannot append to '%s'", path);
	if (s->truncate(s, fd, size) || s->sync(s, fd))
		return err_wrap(e, "the line could not be taken back");
	return rc;
}

/* The lock is held in *ret_fd until the caller closes it. */
static int append_line(struct sys *s, int dirfd, const char *path, mode_t mode, struct bytes line,
	bool sync_now, int *ret_fd, off_t *ret_offset, struct err *e)
{
	off_t size = 0;

	int rc = open_locked(s, dirfd, path, O_RDWR | O_APPEND | O_CREAT, mode, -1, ret_fd, e);
	if (!rc)
		rc = check_tail(s, *ret_fd, dirfd, path, mode, &size, e);
	if (!rc)
		rc = write_line(s, *ret_fd, path, size, line, sync_now, e);
	if (!rc && ret_offset)
		*ret_offset = size;
	return rc;
}

static int check_one_line(const char *path, struct bytes line, struct err *e)
{
	return line.n && memchr(line.p, '\n', line.n)
		? err_set(e, E_INPUT, "FILE_NEWLINE", "a line for '%s' must not contain a newline", path)
		: OK;
}

int file_append_line(struct sys *s, int dirfd, const char *path, mode_t mode, struct bytes line,
	off_t *ret_offset, struct err *e)
{
	AUTO(close_fd) int fd = -1;
	int rc = check_one_line(path, line, e);

	return rc ? rc : append_line(s, dirfd, path, mode, line, true, &fd, ret_offset, e);
}

int file_append_later(struct sys *s, int dirfd, const char *path, mode_t mode, struct bytes line, int *ret_fd,
	struct err *e)
{
	int rc = check_one_line(path, line, e);

	return rc ? rc : file_append_lines(s, dirfd, path, mode, line, ret_fd, e);
}

/* For many lines that are synced together: the lock is given up, the descriptor kept, and the caller syncs
 * it before it calls anything done. */
int file_append_lines(struct sys *s, int dirfd, const char *path, mode_t mode, struct bytes lines,
	int *ret_fd, struct err *e)
{
	AUTO(close_fd) int fd = -1;
	int rc = append_line(s, dirfd, path, mode, lines, false, &fd, NULL, e);

	if (rc)
		return rc;
	if (s->lock(s, fd, LOCK_UN))
		return err_sys(e, "FILE_LOCK", "cannot unlock '%s'", path);
	*ret_fd = fd;
	fd = -1;
	return OK;
}

/* replace */

static int exists_already(struct err *e, const char *path)
{
	return err_set(e, E_INPUT, "FILE_EXISTS", "'%s' exists already", path);
}

/* What stands at the name may be replaced: only a regular file, never a link or device. This is for a
 * clear message; the rename itself never follows a link. */
static int check_target(
	struct sys *s, int dir, const char *name, const char *path, bool must_be_new, struct err *e)
{
	struct stat st;

	if (s->stat(s, dir, name, &st, AT_SYMLINK_NOFOLLOW))
		return errno == ENOENT ? OK : err_sys(e, "FILE_OPEN", "cannot look at '%s'", path);
	if (must_be_new)
		return exists_already(e, path);
	if (S_ISLNK(st.st_mode))
		return err_set(e, E_INPUT, "FILE_LINK", "'%s' is a symbolic link; it is not replaced", path);
	if (!S_ISREG(st.st_mode))
		return err_set(e, E_INPUT, "FILE_NOT_REGULAR",
			"'%s' is not a regular file; it is not replaced", path);
	return OK;
}

/* A new file beside `name`, under a name nobody reads: hidden and random. In the same directory, because a
 * rename works only within one file system. Returns its descriptor or -1. */
static int open_temporary(
	struct sys *s, struct arena *a, int dir, const char *name, mode_t mode, const char **ret_temp)
{
	uint8_t salt[8];
	char hex[2 * sizeof(salt) + 1];

	for (int tries = 0;; tries++) {
		if (s->random(s, salt, sizeof(salt)))
			return -1;
		hex_encode(salt, sizeof(salt), hex);
		*ret_temp = arena_printf(a, ".%.200s.%s.tmp", name, hex);
		int fd = s->open(s, dir, *ret_temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode, 0);
		if (fd >= 0 || errno != EEXIST || tries == 100)
			return fd;
	}
}

/* Gives the temporary its name, which must be free. A file system without RENAME_NOREPLACE says EINVAL;
 * there a hard link, which never replaces, does the same. */
static int rename_new(struct sys *s, int dir, const char *temp, const char *name)
{
	if (s->rename(s, dir, temp, dir, name, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EINVAL)
		return -1;
	if (s->link(s, dir, temp, dir, name))
		return -1;
	return s->unlink(s, dir, temp, 0);
}

enum { PUT_NEW = 1, PUT_UNSYNCED = 2 };

/* The order is the guarantee: write, sync the bytes, rename, sync the directory. A crash before the rename
 * leaves the old file; after it the new one is whole. The temporary is removed on every failure. */
static int put_file(struct sys *s, int dirfd, const char *path, mode_t mode, file_fill *fill, void *arg,
	unsigned how, struct err *e)
{
	bool must_be_new = how & PUT_NEW, is_synced = !(how & PUT_UNSYNCED);
	AUTO(arena_done) struct arena a = { 0 };
	AUTO(close_fd) int dir = -1;
	AUTO(close_fd) int fd = -1;
	const char *name, *temp;

	int rc = open_parent(s, dirfd, path, &dir, &name, e);
	if (!rc)
		rc = check_target(s, dir, name, path, must_be_new, e);
	if (rc)
		return rc;
	fd = open_temporary(s, &a, dir, name, mode, &temp);
	if (fd < 0)
		return err_sys(e, "FILE_WRITE", "cannot write next to '%s'", path);
	if (!(rc = fill(arg, s, fd, e)) && is_synced && s->fsync(s, fd))
		rc = err_sys(e, "FILE_WRITE", "cannot write '%s'", path);
	else if (!rc &&
		(must_be_new ? rename_new(s, dir, temp, name) : s->rename(s, dir, temp, dir, name, 0)))
		rc = errno == EEXIST ? exists_already(e, path)
				     : err_sys(e, "FILE_WRITE", "cannot put the new '%s' in place", path);
	if (rc) {
		(void)s->unlink(s, dir, temp, 0);
		return rc;
	}
	if (is_synced && s->fsync(s, dir))
		return err_sys(e, "FILE_SYNC",
			"the new '%s' is in place, but may not survive a power failure", path);
	return OK;
}

struct whole {
	struct bytes content;
	const char *path;
};

static int fill_whole(void *arg, struct sys *s, int fd, struct err *e)
{
	const struct whole *w = arg;

	if (write_all(s, fd, w->content.p, w->content.n))
		return err_sys(e, "FILE_WRITE", "cannot write '%s'", w->path);
	return OK;
}

int file_replace(struct sys *s, int dirfd, const char *path, mode_t mode, struct bytes content, struct err *e)
{
	return put_file(s, dirfd, path, mode, fill_whole, &(struct whole){ content, path }, 0, e);
}

/* Never replaces: two processes that create the same file cannot both succeed. */
int file_create(struct sys *s, int dirfd, const char *path, mode_t mode, struct bytes content, struct err *e)
{
	return put_file(s, dirfd, path, mode, fill_whole, &(struct whole){ content, path }, PUT_NEW, e);
}

int file_create_by(
	struct sys *s, int dirfd, const char *path, mode_t mode, file_fill *fill, void *arg, struct err *e)
{
	return put_file(s, dirfd, path, mode, fill, arg, PUT_NEW, e);
}

int file_replace_by(
	struct sys *s, int dirfd, const char *path, mode_t mode, file_fill *fill, void *arg, struct err *e)
{
	return put_file(s, dirfd, path, mode, fill, arg, 0, e);
}

/* Not synced: for files that can be made again, or that the caller syncs together. */
int file_put(struct sys *s, int dirfd, const char *path, mode_t mode, struct bytes content, struct err *e)
{
	return put_file(s, dirfd, path, mode, fill_whole, &(struct whole){ content, path }, PUT_UNSYNCED, e);
}

/* lists and trees */

static int by_bytes(const void *x, const void *y)
{
	return strcmp(*(char *const *)x, *(char *const *)y);
}

/* Names are sorted by bytes, so that every walk and every hash over a tree has one order. Before each name stands one byte: its kind as
 * the directory has it, DT_UNKNOWN where it does not say. */
static int list_fd(struct sys *s, struct arena *a, int fd, const char *path, char ***ret_names, size_t *ret_n,
	struct err *e)
{
	char **names = NULL;
	size_t n = 0, cap = 0;
	/* Filled before it is read. */
	_Alignas(struct dirent64) char step[LIST_STEP] __attribute__((uninitialized));
	ssize_t got;

	while ((got = s->getdents(s, fd, step, sizeof(step))) > 0) {
		for (ssize_t at = 0; at < got;) {
			const struct dirent64 *d = (const struct dirent64 *)(step + at);
			at += d->d_reclen;
			if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
				continue;
			if (n == cap) {
				size_t more = cap ? 2 * cap : 64;
				names = arena_grow(a, names, cap * sizeof(*names), more * sizeof(*names));
				cap = more;
			}
			const size_t length = strlen(d->d_name) + 1;
			char *kept = arena_text(a, length + 1);
			kept[0] = (char)d->d_type;
			names[n++] = memcpy(kept + 1, d->d_name, length);
		}
	}
	if (got < 0)
		return err_sys(e, "FILE_READ", "cannot list directory '%s'", path);
	if (n)
		qsort(names, n, sizeof(*names), by_bytes);
	*ret_names = names;
	*ret_n = n;
	return OK;
}

int file_list(struct sys *s, struct arena *a, int dirfd, const char *path, char ***ret_names, size_t *ret_n,
	struct err *e)
{
	AUTO(close_fd) int fd = -1;
	int rc = file_open_dir(s, dirfd, path, &fd, e);

	return rc ? rc : list_fd(s, a, fd, path, ret_names, ret_n, e);
}

struct walk {
	struct sys *s;
	struct arena a;
	file_visit *fn;
	file_opener *opens; /* or NULL */
	void *arg;
	bool is_by_names;
};

static int walk_dir(struct walk *w, int fd, const char *rel, unsigned depth, struct err *e);

/* What vanished since it was listed is passed over: trees change while they are walked. Links are visited,
 * but never followed. */
static int walk_one(struct walk *w, int fd, const char *name, const char *rel, unsigned depth, struct err *e)
{
	struct stat st = { .st_mode = DTTOIF((unsigned char)name[-1]) };
	struct sys *s = w->s;

	if ((!w->is_by_names || !st.st_mode) && s->stat(s, fd, name, &st, AT_SYMLINK_NOFOLLOW))
		return errno == ENOENT || w->opens ? OK : err_sys(e, "FILE_READ", "cannot look at '%s'", rel);
	int rc = w->fn(w->arg, fd, name, rel, &st, e);
	if (rc < 0 || rc == FILE_SKIP || !S_ISDIR(st.st_mode))
		return rc < 0 ? rc : OK;

	AUTO(close_fd)
	int sub = w->opens ? w->opens(w->arg, fd, name, rel)
			   : s->open(s, fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, 0);
	if (sub < 0)
		return w->opens || errno == ENOENT
			? OK
			: err_sys(e, "FILE_OPEN_DIR", "cannot open directory '%s'", rel);
	return walk_dir(w, sub, rel, depth + 1, e);
}

/* Each level gives its memory back, so a walk costs what one path of directories costs. */
static int walk_dir(struct walk *w, int fd, const char *rel, unsigned depth, struct err *e)
{
	struct arena_mark mark = arena_mark(&w->a);
	char **names = NULL;
	size_t n = 0;

	if (depth > MAX_DEPTH)
		return err_set(
			e, E_LIMIT, "FILE_DEPTH", "'%s' is more than %d directories deep", rel, MAX_DEPTH);
	int rc = list_fd(w->s, &w->a, fd, rel[0] ? rel : ".", &names, &n, e);
	for (size_t i = 0; i < n && !rc; i++) {
		const char *below = rel[0] ? arena_printf(&w->a, "%s/%s", rel, names[i]) : names[i];
		rc = walk_one(w, fd, names[i], below, depth, e);
	}
	arena_release(&w->a, mark);
	return rc;
}

/* Caches of packages are read-only, directories and all; some directories cannot even be listed. */
static void open_up(struct sys *s, int fd, const char *name)
{
	AUTO(close_fd) int sub = s->open(s, fd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW, 0, 0);

	if (sub >= 0)
		(void)s->chmod(s, sub, 0700);
}

/* Removes as much as it can. unlink() is tried first; what is no file is entered by descriptor and never
 * through a link, so nothing outside the tree is touched. */
static void remove_inside(struct sys *s, int fd, int depth)
{
	AUTO(arena_done) struct arena a = { 0 };
	char **names;
	size_t n;

	if (depth > 256 || list_fd(s, &a, fd, ".", &names, &n, NULL))
		return;
	for (size_t i = 0; i < n; i++) {
		if (s->unlink(s, fd, names[i], 0) == 0)
			continue;
		if (s->unlink(s, fd, names[i], AT_REMOVEDIR) == 0) /* also one that cannot be entered */
			continue;
		open_up(s, fd, names[i]);
		AUTO(close_fd) int sub = s->open(s, fd, names[i], O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, 0);
		if (sub < 0)
			continue;
		remove_inside(s, sub, depth + 1);
		(void)s->unlink(s, fd, names[i], AT_REMOVEDIR);
	}
}

/* Says nothing: it cleans up, and what stays does no harm. */
void file_remove_tree(struct sys *s, int dirfd, const char *path)
{
	AUTO(close_fd) int fd = s->open(s, dirfd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, 0);

	if (fd < 0)
		return;
	remove_inside(s, fd, 0);
	(void)s->unlink(s, dirfd, path, AT_REMOVEDIR);
}

static int walk_from(struct walk *w, int dirfd, const char *path, struct err *e)
{
	AUTO(close_fd) int fd = -1;
	int rc = file_open_dir(w->s, dirfd, path, &fd, e);

	if (!rc)
		rc = walk_dir(w, fd, "", 0, e);
	arena_done(&w->a);
	return rc;
}

/* Depth first, names in byte order; the callback may skip a directory or end the walk. */
int file_walk(struct sys *s, int dirfd, const char *path, file_visit *fn, void *arg, struct err *e)
{
	struct walk w = { .s = s, .fn = fn, .arg = arg };

	return walk_from(&w, dirfd, path, e);
}

int file_walk_by(
	struct sys *s, int fd, bool names, file_visit *fn, file_opener *opens, void *arg, struct err *e)
{
	struct walk w = { .s = s, .fn = fn, .opens = opens, .arg = arg, .is_by_names = names };
	int rc = walk_dir(&w, fd, "", 0, e);

	arena_done(&w.a);
	return rc;
}

int file_walk_names(struct sys *s, int dirfd, const char *path, file_visit *fn, void *arg, struct err *e)
{
	struct walk w = { .s = s, .fn = fn, .arg = arg, .is_by_names = true };

	return walk_from(&w, dirfd, path, e);
}
