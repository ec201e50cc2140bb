/* sys.c — the real outside world: thin calls, retried when a signal interrupts them.
 *
 * Everything that touches the system goes through struct sys, so that tests can put a world in its place
 * that fails, crashes or lies at a chosen call. Every descriptor is opened with O_CLOEXEC: nothing leaks
 * into the programs that are run. */
#include "base/sys.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

/* Repeats a call that a signal interrupted. */
#define RETRY(call) \
	({ \
		__typeof__(call) result_; \
		do \
			result_ = (call); \
		while (result_ == -1 && errno == EINTR); \
		result_; \
	})

/* With `resolve` the kernel itself keeps the path inside the directory (openat2). Checking the path first
 * and opening it then would leave a gap in which a link could be put there. */
static int real_open(struct sys *s, int dirfd, const char *path, int flags, mode_t mode, uint64_t resolve)
{
	(void)s;
	if (!resolve)
		return RETRY(openat(dirfd, path, flags | O_CLOEXEC, mode));
	struct open_how how = { .flags = (uint64_t)(flags | O_CLOEXEC), .resolve = resolve };
	if (flags & O_CREAT)
		how.mode = mode;
	/* EAGAIN: something was renamed while the kernel walked the path; the walk is simply done again. */
	long fd;
	do
		fd = syscall(SYS_openat2, dirfd, path, &how, sizeof(how));
	while (fd == -1 && (errno == EINTR || errno == EAGAIN));
	return (int)fd;
}

static ssize_t real_read(struct sys *s, int fd, void *to, size_t n)
{
	(void)s;
	return RETRY(read(fd, to, n));
}

static ssize_t real_pread(struct sys *s, int fd, void *to, size_t n, off_t at)
{
	(void)s;
	return RETRY(pread(fd, to, n, at));
}

static ssize_t real_write(struct sys *s, int fd, const void *from, size_t n)
{
	(void)s;
	return RETRY(write(fd, from, n));
}

/* Data and the size of the file, but not its times: enough to read it back. */
static int real_sync(struct sys *s, int fd)
{
	(void)s;
	return RETRY(fdatasync(fd));
}

/* Everything about the file; for directories the names in it. */
static int real_fsync(struct sys *s, int fd)
{
	(void)s;
	return RETRY(fsync(fd));
}

/* Starts writing to disk without waiting, so that a later sync has less to do. Only a hint: its failure
 * means nothing. */
static void real_write_back(struct sys *s, int fd)
{
	(void)s;
	int saved = errno;
	(void)sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE);
	errno = saved;
}

/* One sync for many files at once. */
static int real_syncfs(struct sys *s, int fd)
{
	(void)s;
	return RETRY(syncfs(fd));
}

static off_t real_seek(struct sys *s, int fd, off_t at, int whence)
{
	(void)s;
	return lseek(fd, at, whence);
}

static ssize_t real_getdents(struct sys *s, int dirfd, void *to, size_t n)
{
	(void)s;
	return getdents64(dirfd, to, n);
}

/* What an ordinary user may still write, or -1. */
static int64_t real_free_bytes(struct sys *s, int fd)
{
	struct statvfs v;

	(void)s;
	if (fstatvfs(fd, &v))
		return -1;
	return (int64_t)(v.f_bavail * v.f_frsize);
}

static int real_truncate(struct sys *s, int fd, off_t size)
{
	(void)s;
	return RETRY(ftruncate(fd, size));
}

/* With RENAME_NOREPLACE in `flags` an existing target is kept. */
static int real_rename(
	struct sys *s, int from_dir, const char *from, int to_dir, const char *to, unsigned flags)
{
	(void)s;
	return renameat2(from_dir, from, to_dir, to, flags);
}

static int real_unlink(struct sys *s, int dirfd, const char *path, int flags)
{
	(void)s;
	return unlinkat(dirfd, path, flags);
}

static int real_mkdir(struct sys *s, int dirfd, const char *path, mode_t mode)
{
	(void)s;
	return mkdirat(dirfd, path, mode);
}

static int real_symlink(struct sys *s, const char *target, int dirfd, const char *path)
{
	(void)s;
	return symlinkat(target, dirfd, path);
}

static int real_link(struct sys *s, int from_dir, const char *from, int to_dir, const char *to)
{
	(void)s;
	return linkat(from_dir, from, to_dir, to, 0);
}

static int real_chmod(struct sys *s, int fd, mode_t mode)
{
	(void)s;
	if (fchmod(fd, mode) == 0)
		return 0;
	if (errno != EBADF)
		return -1;
	/* Opened as a place only: the same file, by the name that the kernel has for it. */
	char name[32];
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	return chmod(name, mode);
}

static int real_chown(struct sys *s, int fd, uid_t uid, gid_t gid)
{
	(void)s;
	return fchown(fd, uid, gid);
}

static int real_utimens(struct sys *s, int dirfd, const char *path, const struct timespec times[2], int flags)
{
	(void)s;
	return utimensat(dirfd, path, times, flags);
}

static int real_stat(struct sys *s, int dirfd, const char *path, struct stat *st, int flags)
{
	(void)s;
	return fstatat(dirfd, path, st, flags);
}

static ssize_t real_readlink(struct sys *s, int dirfd, const char *path, char *to, size_t n)
{
	(void)s;
	return readlinkat(dirfd, path, to, n);
}

/* flock(): the lock belongs to the open file, so it ends with the process that holds it. */
static int real_lock(struct sys *s, int fd, int op)
{
	(void)s;
	return RETRY(flock(fd, op));
}

static int64_t clock_us(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static int64_t real_now_us(struct sys *s)
{
	(void)s;
	return clock_us(CLOCK_REALTIME);
}

/* For measuring time: it never jumps, unlike the clock on the wall. */
static int64_t real_mono_us(struct sys *s)
{
	(void)s;
	return clock_us(CLOCK_MONOTONIC);
}

static void real_sleep_us(struct sys *s, int64_t us)
{
	(void)s;
	struct timespec t = { .tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000 };

	(void)nanosleep(&t, NULL);
}

/* From the kernel, never from a generator of our own. */
static int real_random(struct sys *s, void *to, size_t n)
{
	(void)s;
	for (size_t done = 0; done < n;) {
		ssize_t got = RETRY(getrandom((char *)to + done, n - done, 0));
		if (got < 0)
			return -1;
		done += (size_t)got;
	}
	return 0;
}

static const char *real_getenv(struct sys *s, const char *name)
{
	(void)s;
	return getenv(name);
}

/* Whether somebody listens on this port of the machine itself. Loopback answers at once, yes or no; the
 * half second is for a machine under load. */
static bool real_port_open(struct sys *s, uint16_t port)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(port) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	(void)s;
	if (fd < 0)
		return false;
	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	int rc = connect(fd, (struct sockaddr *)&to, sizeof(to));
	if (rc && errno == EINPROGRESS) {
		struct pollfd p = { fd, POLLOUT, 0 };
		int error = 1;
		socklen_t n = sizeof(error);
		if (poll(&p, 1, 500) == 1 && getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &n) == 0)
			rc = error;
	}
	close(fd);
	return rc == 0;
}

static bool local_address(const char *path, struct sockaddr_un *ret)
{
	*ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if (strlen(path) >= sizeof(ret->sun_path)) {
		errno = ENAMETOOLONG;
		return false;
	}
	memcpy(ret->sun_path, path, strlen(path) + 1);
	return true;
}

static int real_connect_local(struct sys *s, const char *path, int timeout_ms)
{
	struct timeval limit = { timeout_ms / 1000, timeout_ms % 1000 * 1000 };
	struct sockaddr_un to;

	(void)s;
	if (!local_address(path, &to))
		return -1;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) == 0 &&
		setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) == 0 &&
		connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0)
		return fd;
	int error = errno;
	close(fd);
	errno = error;
	return -1;
}

/* A socket file that a killed process left refuses connections; only such a one is replaced. */
static int real_listen_local(struct sys *s, const char *path, mode_t mode)
{
	struct sockaddr_un at;
	struct stat st;
	int old = real_connect_local(s, path, 1000);

	if (old >= 0) {
		close(old);
		errno = EADDRINUSE;
		return -1;
	}
	if (errno == ECONNREFUSED && lstat(path, &st) == 0 && S_ISSOCK(st.st_mode))
		(void)unlink(path);
	if (!local_address(path, &at))
		return -1;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -1;
	if (bind(fd, (struct sockaddr *)&at, sizeof(at)) == 0 && chmod(path, mode) == 0 &&
		listen(fd, 64) == 0)
		return fd;
	int error = errno;
	close(fd);
	errno = error;
	return -1;
}

static int real_accept_local(struct sys *s, int fd, uid_t *ret_uid)
{
	struct ucred who;
	socklen_t n = sizeof(who);
	int to = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	(void)s;
	if (to < 0)
		return -1;
	if (getsockopt(to, SOL_SOCKET, SO_PEERCRED, &who, &n)) {
		close(to);
		return -1;
	}
	*ret_uid = who.uid;
	return to;
}

static int real_datagram_local(struct sys *s)
{
	(void)s;
	return socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
}

static uid_t real_euid(struct sys *s)
{
	(void)s;
	return geteuid();
}

static pid_t real_fork(struct sys *s)
{
	(void)s;
	return fork();
}

/* One table for the whole process; it is never changed. */
struct sys *sys_real(void)
{
	static struct sys real = {
		.open = real_open,
		.read = real_read,
		.pread = real_pread,
		.write = real_write,
		.sync = real_sync,
		.fsync = real_fsync,
		.write_back = real_write_back,
		.syncfs = real_syncfs,
		.truncate = real_truncate,
		.seek = real_seek,
		.getdents = real_getdents,
		.free_bytes = real_free_bytes,
		.rename = real_rename,
		.unlink = real_unlink,
		.mkdir = real_mkdir,
		.symlink = real_symlink,
		.link = real_link,
		.chmod = real_chmod,
		.chown = real_chown,
		.utimens = real_utimens,
		.stat = real_stat,
		.readlink = real_readlink,
		.lock = real_lock,
		.now_us = real_now_us,
		.mono_us = real_mono_us,
		.sleep_us = real_sleep_us,
		.random = real_random,
		.getenv = real_getenv,
		.euid = real_euid,
		.port_open = real_port_open,
		.connect_local = real_connect_local,
		.listen_local = real_listen_local,
		.accept_local = real_accept_local,
		.datagram_local = real_datagram_local,
		.fork = real_fork,
	};
	return &real;
}
