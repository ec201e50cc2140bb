/* sys.h — the only door to the operating system.
 *
 * Code below src/cli never calls open(), time(), getenv(), getrandom() or fork() itself; it asks the `struct sys` it was
 * given.  The functions keep the shape of the system calls: they return -1 and set errno.  Tests pass a twin
 * (tests/tools/fault_sys.c) that has a fixed clock and a counted schedule of failures and kills, so that "the disk
 * filled up between the line and its newline" is an ordinary test.
 *
 * Calls that change the world are counted by the twin: write, sync, syncfs, truncate, rename, unlink, mkdir, symlink, link, chmod, chown,
 * open with O_CREAT or O_TRUNC, spawn. */
#ifndef BASE_SYS_H
#define BASE_SYS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

struct sys {
	/* resolve: 0, or RESOLVE_* of openat2(2).  O_CLOEXEC is always added. */
	int (*open)(struct sys *, int dirfd, const char *path, int flags, mode_t mode, uint64_t resolve);
	ssize_t (*read)(struct sys *, int fd, void *to, size_t n);
	ssize_t (*pread)(struct sys *, int fd, void *to, size_t n, off_t at);
	ssize_t (*write)(struct sys *, int fd, const void *from, size_t n);
	int (*sync)(struct sys *, int fd); /* fdatasync: the bytes and the size */
	int (*fsync)(struct sys *, int fd); /* everything; the one for directories */
	void (*write_back)(struct sys *, int fd); /* begin what sync will wait for; a hint that cannot fail */
	int (*syncfs)(struct sys *,
		int fd); /* everything on fd's file system: one barrier for thousands of files */
	int (*truncate)(struct sys *, int fd, off_t size);
	off_t (*seek)(struct sys *, int fd, off_t at, int whence); /* lseek, with SEEK_DATA and SEEK_HOLE */
	/* getdents64(2): whole struct dirent64 records; 0 at the end */
	ssize_t (*getdents)(struct sys *, int dirfd, void *to, size_t n);
	int64_t (*free_bytes)(
		struct sys *, int fd); /* what an ordinary user may still write on fd's file system */
	/* flags: 0, or RENAME_NOREPLACE / RENAME_EXCHANGE of renameat2(2) */
	int (*rename)(
		struct sys *, int from_dir, const char *from, int to_dir, const char *to, unsigned flags);
	int (*unlink)(struct sys *, int dirfd, const char *path, int flags);
	int (*mkdir)(struct sys *, int dirfd, const char *path, mode_t mode);
	int (*symlink)(struct sys *, const char *target, int dirfd, const char *path);
	int (*link)(struct sys *, int from_dir, const char *from, int to_dir, const char *to);
	int (*chmod)(struct sys *, int fd, mode_t mode); /* O_PATH is enough */
	int (*chown)(struct sys *, int fd, uid_t uid, gid_t gid);
	int (*utimens)(struct sys *, int dirfd, const char *path, const struct timespec times[2], int flags);
	int (*stat)(struct sys *, int dirfd, const char *path, struct stat *st, int flags); /* fstatat */
	ssize_t (*readlink)(struct sys *, int dirfd, const char *path, char *to, size_t n);
	int (*lock)(struct sys *, int fd, int op); /* flock(2): LOCK_EX, LOCK_SH, LOCK_UN, LOCK_NB */
	int64_t (*now_us)(struct sys *); /* wall clock, microseconds since 1970 */
	int64_t (*mono_us)(struct sys *); /* monotonic, for durations and deadlines */
	void (*sleep_us)(struct sys *, int64_t us); /* only between polls; may return early */
	int (*random)(struct sys *, void *to, size_t n);
	const char *(*getenv)(struct sys *, const char *name);
	uid_t (*euid)(struct sys *);
	bool (*port_open)(struct sys *, uint16_t port); /* does something listen on loopback? */
	/* Stream sockets of this machine, by path.  Connected ones give up reading and writing after timeout_ms.  Listening replaces a
	 * socket that nobody listens on any more; accepting says who connected. */
	int (*connect_local)(struct sys *, const char *path, int timeout_ms);
	int (*listen_local)(struct sys *, const char *path, mode_t mode); /* of the socket: who may connect */
	int (*accept_local)(struct sys *, int fd, uid_t *ret_uid);
	int (*datagram_local)(
		struct sys *); /* to tell somebody of this machine something, and nothing back */
	pid_t (*fork)(struct sys *); /* counted as a spawn; see proc.h for how children are started */
};

/* The real one.  One per process; has no state. */
struct sys *sys_real(void);

/* The one main() uses: sys_real() in helm, the twin in the test programs. */
struct sys *sys_default(void);

#endif
