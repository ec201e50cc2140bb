/* zst.c — the only file that knows zstd.
 *
 * The contexts are made on first use and kept, because making one costs more than packing a block. The
 * size of the result is known to whoever unpacks, so a damaged or hostile frame can never write more than
 * that. */
#include "base/zst.h"

#include <zstd.h>

void zst_done(struct zst *z)
{
	ZSTD_freeCCtx(z->pack);
	ZSTD_freeDCtx(z->unpack);
	*z = (struct zst){ 0 };
}

size_t zst_bound(size_t n)
{
	return ZSTD_compressBound(n);
}

int zst_pack(struct zst *z, struct bytes from, int level, void *to, size_t room, size_t *ret_n, struct err *e)
{
	if (!z->pack && !(z->pack = ZSTD_createCCtx()))
		mem_exhausted(0);
	size_t n = ZSTD_compressCCtx(z->pack, to, room, from.p, from.n, level);
	if (ZSTD_isError(n))
		return err_set(e, E_LIMIT, "ZST_PACK", "cannot compress %zu bytes: %s", from.n,
			ZSTD_getErrorName(n));
	*ret_n = n;
	return OK;
}

/* Exactly n bytes must come out; fewer mean that the frame is another one. */
int zst_unpack(struct zst *z, struct bytes frame, void *to, size_t n, struct err *e)
{
	if (!z->unpack && !(z->unpack = ZSTD_createDCtx()))
		mem_exhausted(0);
	size_t got = ZSTD_decompressDCtx(z->unpack, to, n, frame.p, frame.n);
	if (ZSTD_isError(got))
		return err_set(e, E_CORRUPT, "ZST_CORRUPT", "compressed block is damaged: %s",
			ZSTD_getErrorName(got));
	if (got != n)
		return err_set(
			e, E_CORRUPT, "ZST_LENGTH", "compressed block holds %zu bytes, expected %zu", got, n);
	return OK;
}

int zst_says(struct bytes frame, size_t *ret_n, struct err *e)
{
	unsigned long long n = ZSTD_getFrameContentSize(frame.p, frame.n);
	size_t packed = ZSTD_findFrameCompressedSize(frame.p, frame.n);

	if (n == ZSTD_CONTENTSIZE_UNKNOWN || n == ZSTD_CONTENTSIZE_ERROR || n > SIZE_MAX / 2)
		return err_set(
			e, E_CORRUPT, "ZST_CORRUPT", "this is no zstd frame that says how much it holds");
	if (ZSTD_isError(packed) || packed != frame.n)
		return err_set(e, E_CORRUPT, "ZST_CORRUPT", "this is not exactly one whole zstd frame");
	*ret_n = (size_t)n;
	return OK;
}
