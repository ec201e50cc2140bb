/* gzip.h — reading gzip (RFC 1952) from strangers: one member, checked to the last byte, never a bomb. */
#ifndef BASE_GZIP_H
#define BASE_GZIP_H

#include "base/stream.h"

struct gzip_limits {
	uint64_t max_bytes; /* of output; 0 = 1 GiB */
	uint32_t max_ratio; /* output to input, once more than 4 MiB came out; 0 = 250 */
};

/* A stream of the uncompressed bytes of `in`.  About 60 KiB, all in the arena.  The checksum and length at the end must
 * be right and nothing may follow them.  Error codes: GZIP_DAMAGED, GZIP_TRUNCATED, GZIP_TRAILING, GZIP_TOO_LARGE,
 * GZIP_RATIO. */
int gzip_open(struct arena *a, struct stream *in, const struct gzip_limits *lim, struct stream **ret,
	struct err *e);

/* One member with these bytes: the same for the same bytes, without a time or a name.  In `a`. */
struct bytes gzip_pack(struct arena *a, struct bytes in);

/* The first two bytes of every gzip file. */
bool gzip_is(struct bytes start);

#endif
