/* tar.h — archives: a reader that trusts nothing and a writer that always makes the same bytes.
 *
 * The reader streams: it holds one block of content and the names seen so far.  It accepts POSIX ustar and pax, and GNU
 * tar's form with its long names, with any blocking factor, mode, owner and time, and with directory entries.  It refuses
 * whatever two programs could read in two ways or what could reach outside the archive: absolute names, "..", empty and "."
 * components, backslashes, drive letters, control characters, ill-formed UTF-8, links, devices, fifos, sparse files, unknown
 * types, the same name twice or in another case, a file where a directory is, wrong checksums, non-zero padding, sizes past
 * the limits, pax records that are malformed or change the size, and anything but zeros behind the end.
 *
 * The writer's form is docs/formats/tar.md: files only, ascending by path bytes, mode 0644, owner 0, time 0, two zero
 * blocks at the end. */
#ifndef BASE_TAR_H
#define BASE_TAR_H

#include "base/stream.h"

enum {
	TAR_BLOCK = 512,
	TAR_PATH_MAX = 1024, /* bytes of one path */
	TAR_HEADER_MAX = 5 * TAR_BLOCK /* x header, up to three blocks of records, header */
};

struct tar_limits {
	uint64_t total_bytes; /* of all content; 0 = 1 GiB */
	uint64_t entry_bytes; /* of one file; 0 = total_bytes */
	uint32_t max_entries; /* files and directories; 0 = 200 000 */
};

struct tar_entry {
	const char *path; /* clean, relative, without "./" and final "/"; in the reader's arena */
	uint64_t size_bytes;
	bool is_dir;
};

struct tar_names;
struct tar_reader {
	struct stream *in;
	struct arena *a;
	struct tar_limits lim;
	struct tar_names *names;
	uint64_t left_bytes; /* of the current file's content */
	uint64_t total_bytes;
	uint32_t pad_bytes;
	uint32_t entries;
	const char *last_path;
	/* Why this archive is not in the writer's form, or NULL when it is; final after the last tar_next(). */
	const char *departure;
	uint8_t raw[TAR_HEADER_MAX]; /* header blocks of the current entry as they stand */
	size_t raw_n;
	bool is_ended;
};

/* lim NULL = defaults. */
void tar_open(struct tar_reader *r, struct arena *a, struct stream *in, const struct tar_limits *lim);

/* The next entry; what was not read of the current one is skipped and checked.  *ret_more false: the end, and the
 * archive was whole.  Error codes: TAR_TRUNCATED, TAR_HEADER, TAR_CHECKSUM, TAR_NAME, TAR_TYPE, TAR_LINK, TAR_DUPLICATE,
 * TAR_CASE, TAR_SIZE, TAR_PAX, TAR_PADDING, TAR_TRAILING, TAR_LIMIT. */
int tar_next(struct tar_reader *r, struct tar_entry *ret, bool *ret_more, struct err *e);

/* Content of the current file; *ret_n is 0 at its end. */
int tar_read(struct tar_reader *r, void *to, size_t n, size_t *ret_n, struct err *e);

/* OK when the path is one the reader would accept and the writer may write. */
int tar_check_path(const char *path, size_t n, struct err *e);

struct tar_writer {
	struct sink *to;
	uint64_t left_bytes;
	uint32_t pad_bytes;
	char last_path[TAR_PATH_MAX + 1];
};
void tar_begin(struct tar_writer *w, struct sink *to);
/* Paths ascend by bytes; exactly size_bytes of content follow in any number of pieces.  Breaking that is a BUG; a path that
 * tar_check_path refuses is TAR_NAME. */
int tar_add(struct tar_writer *w, const char *path, uint64_t size_bytes, struct err *e);
int tar_put(struct tar_writer *w, const void *p, size_t n, struct err *e);
int tar_end(struct tar_writer *w, struct err *e);

/* The header blocks the writer makes for a path that tar_check_path accepts; returns their size.  size_bytes < 8 GiB. */
size_t tar_header(const char *path, uint64_t size_bytes, uint8_t to[TAR_HEADER_MAX]);

#endif
