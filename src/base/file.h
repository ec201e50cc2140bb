/* file.h — files that survive: durable append, atomic replace, reading with limits, contained paths, tree walk.
 *
 * Every path is relative to a directory descriptor (AT_FDCWD where the user named it).  Nothing here follows a symbolic
 * link in the last component unless it says so. */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include "base/err.h"
#include "base/mem.h"
#include "base/sys.h"

#include <stdbool.h>

/* Read a whole regular file of at most max_bytes.  FILE_FOLLOW: the user named it, links are fine, and "-" is standard
 * input.  FILE_BENEATH: no component may leave dirfd (openat2 RESOLVE_BENEATH, no links out).  Errors: E_MISSING when it
 * does not exist, FILE_LINK, FILE_OUTSIDE, FILE_TOO_LARGE, FILE_NOT_REGULAR, FILE_READ.  The bytes are followed by a NUL. */
enum { FILE_FOLLOW = 1, FILE_BENEATH = 2 };
int file_read(struct sys *s, struct arena *a, int dirfd, const char *path, size_t max_bytes, unsigned flags,
	struct bytes *ret, struct err *e);

/* Every append is whole or absent for those who come after, also on a full disk or after a kill.  A file system that cannot
 * lock is refused (FILE_LOCK): without the lock nobody could tell a torn line from one being written.
 *
 * Append one line (without its newline; it must not contain one) so that it is on disk when this returns OK: lock
 * exclusively, repair a torn tail (a last line without newline that is not complete is cut to the last whole one and
 * kept in "<path>.torn"; a complete JSON line that only lacks its newline gets it), write line and newline in one write,
 * sync, unlock.  Creates the file with `mode`, and syncs the directory when it did.  On failure the file is as it was:
 * a short write is cut back.  ret_offset, when not NULL, receives where the line starts. */
int file_append_line(struct sys *s, int dirfd, const char *path, mode_t mode, struct bytes line,
	off_t *ret_offset, struct err *e);
/* The same without waiting for the disk: *ret_fd is for the caller's own sync, which may cover several lines and files. */
int file_append_later(struct sys *s, int dirfd, const char *path, mode_t mode, struct bytes line, int *ret_fd,
	struct err *e);
/* Several of them in one write, with newlines in between. */
int file_append_lines(struct sys *s, int dirfd, const char *path, mode_t mode, struct bytes lines,
	int *ret_fd, struct err *e);

/* Replace a file by new bytes atomically: temporary in the same directory, fsync, rename, fsync of the directory.  A
 * reader sees the old or the new bytes, never a mixture, and after OK the new ones survive a crash.  An existing
 * symbolic link is refused.  A process killed meanwhile may leave ".NAME.<hex>.tmp" behind, which nobody reads. */
int file_replace(
	struct sys *s, int dirfd, const char *path, mode_t mode, struct bytes content, struct err *e);
/* The same for content that is made while it is written: `fill` writes it to fd, or returns a negative rc with *e filled,
 * and then nothing has changed. */
typedef int file_fill(void *arg, struct sys *s, int fd, struct err *e);
int file_replace_by(
	struct sys *s, int dirfd, const char *path, mode_t mode, file_fill *fill, void *arg, struct err *e);

/* The same for a name that must be free: FILE_EXISTS otherwise.  Of several at once exactly one wins. */
int file_create(struct sys *s, int dirfd, const char *path, mode_t mode, struct bytes content, struct err *e);
int file_create_by(
	struct sys *s, int dirfd, const char *path, mode_t mode, file_fill *fill, void *arg, struct err *e);

/* Write a whole file by temporary and rename, without waiting for the disk: a reader never sees half of it, a power cut may
 * lose it.  For what can be made again. */
int file_put(struct sys *s, int dirfd, const char *path, mode_t mode, struct bytes content, struct err *e);

/* Remove a tree of our own making, never following a link.  What cannot be removed stays. */
void file_remove_tree(struct sys *s, int dirfd, const char *path);

/* Make a directory and its missing parents, each with `mode`; existing ones are fine.  A new directory is synced into
 * its parent. */
int file_mkdirs(struct sys *s, int dirfd, const char *path, mode_t mode, struct err *e);

/* Hold an exclusive lock on "<path>" (created 0600) for a read-modify-write of several files.  Close the descriptor to
 * let go.  wait_ms < 0 waits for ever, else E_IO with code FILE_LOCKED when time runs out. */
int file_lock(struct sys *s, int dirfd, const char *path, int wait_ms, int *ret_fd, struct err *e);

/* Open a directory for use as dirfd. */
int file_open_dir(struct sys *s, int dirfd, const char *path, int *ret_fd, struct err *e);

bool file_exists(struct sys *s, int dirfd, const char *path); /* also true for a dangling link */
bool file_is_dir(struct sys *s, int dirfd, const char *path); /* follows links */

/* Names in a directory, without "." and "..", sorted by bytes. */
int file_list(struct sys *s, struct arena *a, int dirfd, const char *path, char ***ret_names, size_t *ret_n,
	struct err *e);

/* Visit a tree depth first, names sorted by bytes, never following links.  `fn` gets the path relative to the start, the
 * parent's descriptor and the name there; it returns 0 to go on, FILE_SKIP not to enter a directory, or a negative rc
 * (with *e filled) to stop.  A directory is visited before its content. */
enum { FILE_SKIP = 1 };
typedef int file_visit(void *arg, int parent_fd, const char *name, const char *rel_path,
	const struct stat *st, struct err *e);
int file_walk(struct sys *s, int dirfd, const char *path, file_visit *fn, void *arg, struct err *e);
/* The same by names alone, where nobody asks for more: of *st only the kind in st_mode is known, and st_ino is 0; where the directory does
 * not say the kind, all of it. */
int file_walk_names(struct sys *s, int dirfd, const char *path, file_visit *fn, void *arg, struct err *e);
/* Both below `fd`, where somebody else opens the directories: `opens` returns a descriptor, or -1 for one that is passed over.
 * What cannot be looked at in one is passed over, too. */
typedef int file_opener(void *arg, int parent_fd, const char *name, const char *rel_path);
int file_walk_by(
	struct sys *s, int fd, bool names, file_visit *fn, file_opener *opens, void *arg, struct err *e);

/* Lexical cleaning, no file system: "." and empty components dropped, ".." applied, trailing slash dropped.  An absolute
 * path stays absolute; a relative one may start with "..".  path_join puts `path` on `base` unless it is absolute. */
char *path_clean(struct arena *a, const char *path);
char *path_join(struct arena *a, const char *base, const char *path);
const char *path_base(const char *path); /* after the last slash */
/* path is `dir` itself or below it; both clean and absolute. */
bool path_is_below(const char *path, const char *dir);
bool path_is_in_one(
	const char *path, const char *const *dirs); /* the same of some; NULL-terminated, NULL is none */

#endif
