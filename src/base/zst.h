/* zst.h — zstd, one frame at a time, for blocks whose size is known beforehand.
 *
 * A frame never says how big its content is to us: the caller knows from its own index, and a frame that unpacks to
 * anything else is refused.  Compression contexts are costly to make, so one `struct zst` serves thousands of blocks. */
#ifndef BASE_ZST_H
#define BASE_ZST_H

#include "base/err.h"
#include "base/mem.h"

#include <stdbool.h>

struct zst {
	void *pack, *unpack; /* made when first needed */
};
void zst_done(struct zst *z);

/* Room that zst_pack needs for n bytes in the worst case. */
size_t zst_bound(size_t n);

/* Compress to at most `room` bytes (zst_bound is always enough); level 1 is the fastest, 19 the smallest.  Returns the
 * length. */
int zst_pack(
	struct zst *z, struct bytes from, int level, void *to, size_t room, size_t *ret_n, struct err *e);

/* Decompress one whole frame that must give exactly `n` bytes.  E_CORRUPT otherwise. */
int zst_unpack(struct zst *z, struct bytes frame, void *to, size_t n, struct err *e);

/* What a frame of somebody else says about its size, for whoever has a limit and no index: exactly one frame, with its size in its header.
 * E_CORRUPT otherwise.  It is a claim; zst_unpack() holds it to that. */
int zst_says(struct bytes frame, size_t *ret_n, struct err *e);

#endif
