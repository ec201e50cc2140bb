/* gzip.c — the only file that knows zlib (docs/decisions/0005).
 *
 * A compressed file promises an amount of memory, and whoever wrote the file chose it. So the output is
 * counted while it is produced, against an absolute limit and against the input that produced it. The
 * first 4 MiB are exempt from the ratio, because archives of small files begin with long runs of zeros.
 * zlib's memory comes from the caller's arena, so nothing has to be given back. */
#include "base/gzip.h"

#include <zlib.h>

enum { RATIO_FREE_BYTES = 4 << 20 };

struct gzip {
	struct stream stream;
	struct stream *in;
	struct arena *a;
	struct gzip_limits lim;
	z_stream z;
	uint64_t in_bytes, out_bytes;
	bool is_done;
	Bytef piece[1 << 14];
};

static voidpf gzip_alloc(voidpf arena, uInt count, uInt size)
{
	return arena_zalloc(arena, count, size);
}

static void gzip_free(voidpf arena, voidpf p)
{
	(void)arena;
	(void)p;
}

/* Input that ends before the gzip data does is an error and not an end: half an archive must not pass for
 * a whole one. */
static int more_input(struct gzip *g, struct err *e)
{
	size_t got = 0;
	int rc = g->in->read(g->in, g->piece, sizeof(g->piece), &got, e);

	if (rc)
		return rc;
	if (!got)
		return err_set(e, E_INPUT, "GZIP_TRUNCATED", "the gzip file ends before its data does");
	g->in_bytes += got;
	g->z.next_in = g->piece;
	g->z.avail_in = (uInt)got;
	return OK;
}

/* One gzip member is one document. Bytes behind it would be read by some programs and not by others, so
 * they are refused. */
static int at_end(struct gzip *g, struct err *e)
{
	char extra;
	size_t got = 0;
	int rc = g->in->read(g->in, &extra, 1, &got, e);

	if (rc)
		return rc;
	if (g->z.avail_in || got)
		return err_set(
			e, E_INPUT, "GZIP_TRAILING", "there are bytes behind the end of the gzip data");
	g->is_done = true;
	return OK;
}

/* Checked after each piece, and a piece is at most 1 MiB, so a bomb is stopped before it does harm. */
static int check_limits(const struct gzip *g, struct err *e)
{
	if (g->out_bytes > g->lim.max_bytes)
		return err_set(e, E_LIMIT, "GZIP_TOO_LARGE", "the gzip file unpacks to more than %llu bytes",
			(unsigned long long)g->lim.max_bytes);
	if (g->out_bytes > RATIO_FREE_BYTES && g->out_bytes / g->lim.max_ratio > g->in_bytes)
		return err_set(e, E_LIMIT, "GZIP_RATIO",
			"the gzip file unpacks to more than %u times its size, as a decompression bomb does",
			g->lim.max_ratio);
	return OK;
}

/* Goes on until there is some output or the data ends; *ret_n is 0 only at the end. */
static int gzip_read(struct stream *stream, void *to, size_t n, size_t *ret_n, struct err *e)
{
	struct gzip *g = (struct gzip *)stream;
	uInt room = (uInt)(n > 1u << 20 ? 1u << 20 : n);
	int rc;

	g->z.next_out = to;
	g->z.avail_out = room;
	while (!g->is_done && g->z.avail_out == room) {
		if (!g->z.avail_in && (rc = more_input(g, e)))
			return rc;
		int z = inflate(&g->z, Z_NO_FLUSH);
		if (z == Z_STREAM_END) {
			if ((rc = at_end(g, e)))
				return rc;
		} else if (z != Z_OK && z != Z_BUF_ERROR)
			return err_set(e, E_INPUT, "GZIP_DAMAGED", "the gzip data is damaged: %s",
				g->z.msg ? g->z.msg : "no reason given");
	}
	*ret_n = room - g->z.avail_out;
	g->out_bytes += *ret_n;
	return check_limits(g, e);
}

int gzip_open(
	struct arena *a, struct stream *in, const struct gzip_limits *lim, struct stream **ret, struct err *e)
{
	struct gzip *g = arena_zalloc(a, 1, sizeof(*g));

	g->stream.read = gzip_read;
	g->in = in;
	g->a = a;
	if (lim)
		g->lim = *lim;
	if (!g->lim.max_bytes)
		g->lim.max_bytes = 1ull << 30;
	if (!g->lim.max_ratio)
		g->lim.max_ratio = 250;
	g->z.zalloc = gzip_alloc;
	g->z.zfree = gzip_free;
	g->z.opaque = a;
	/* 15 is the largest window; 16 more accepts the gzip header only, no raw or zlib data. */
	if (inflateInit2(&g->z, 15 + 16) != Z_OK)
		return err_set(e, E_INPUT, "GZIP_DAMAGED", "the gzip reader cannot start");
	*ret = &g->stream;
	return OK;
}

bool gzip_is(struct bytes start)
{
	return start.n >= 2 && start.p[0] == 0x1f && start.p[1] == 0x8b;
}

static void *pack_alloc(void *arena, unsigned n, unsigned size)
{
	return arena_zalloc(arena, n, size);
}

static void pack_free(void *arena, void *p)
{
	(void)arena;
	(void)p;
}

struct bytes gzip_pack(struct arena *a, struct bytes in)
{
	z_stream z = { .zalloc = pack_alloc, .zfree = pack_free, .opaque = a };

	if (deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
		BUG("deflateInit2");
	size_t room = deflateBound(&z, in.n);
	uint8_t *to = arena_alloc(a, room + 1);
	z.next_in = (uint8_t *)(uintptr_t)in.p;
	z.next_out = to;
	size_t left = in.n, out = 0;
	int rc;
	do { /* lengths of zlib are 32 bits wide */
		z.avail_in = left > UINT32_MAX ? UINT32_MAX : (unsigned)left;
		z.avail_out = room - out > UINT32_MAX ? UINT32_MAX : (unsigned)(room - out);
		unsigned given = z.avail_in, had = z.avail_out;
		rc = deflate(&z, left > UINT32_MAX ? Z_NO_FLUSH : Z_FINISH);
		left -= given - z.avail_in;
		out += had - z.avail_out;
	} while (rc == Z_OK);
	if (rc != Z_STREAM_END)
		BUG("deflate");
	return (struct bytes){ to, out };
}
