/* stream.h — bytes that come or go in pieces: from memory, a descriptor or a compressed file, to a buffer or a file.
 *
 * A reader of a format takes a `struct stream` and never knows where the bytes come from; a writer takes a `struct sink`.
 * Nothing here holds more than one piece in memory. */
#ifndef BASE_STREAM_H
#define BASE_STREAM_H

#include "base/err.h"
#include "base/hash.h"
#include "base/sys.h"
#include "base/text.h"

struct stream {
	/* Up to n bytes (n > 0) into `to`; *ret_n is 0 only at the end. */
	int (*read)(struct stream *s, void *to, size_t n, size_t *ret_n, struct err *e);
};

struct stream_bytes {
	struct stream stream;
	struct bytes rest;
};
struct stream *stream_from_bytes(struct stream_bytes *s, struct bytes from);

struct stream_fd {
	struct stream stream;
	struct sys *sys;
	int fd;
	const char *name; /* for messages */
	size_t at, held; /* bytes read ahead: formats ask for small pieces */
	uint8_t hold[1 << 16];
};
struct stream *stream_from_fd(struct stream_fd *s, struct sys *sys, int fd, const char *name);

/* Bytes that were looked at to tell what a file is, given back in front of the rest. */
struct stream_joined {
	struct stream stream;
	struct bytes first;
	struct stream *rest;
};
struct stream *stream_join(struct stream_joined *s, struct bytes first, struct stream *rest);

/* Exactly n bytes, or fewer only at the end. */
int stream_fill(struct stream *s, void *to, size_t n, size_t *ret_n, struct err *e);

struct sink {
	int (*write)(struct sink *s, const void *p, size_t n, struct err *e);
};

struct sink_buf {
	struct sink sink;
	struct buf *to;
};
struct sink *sink_to_buf(struct sink_buf *s, struct buf *to);

/* Gathers small writes, and keeps the digest of everything that went through. */
struct sink_fd {
	struct sink sink;
	struct sys *sys;
	int fd;
	const char *name;
	struct sha256 digest;
	uint64_t size_bytes;
	size_t held;
	char hold[1 << 16];
};
struct sink *sink_to_fd(struct sink_fd *s, struct sys *sys, int fd, const char *name);
int sink_fd_flush(struct sink_fd *s, struct err *e);

#endif
