/* sse.h — inside serve/proxy/: a stream of events, cut out of bytes as they come; pure.
 *
 * Lines end in LF, CRLF or CR; an empty line ends an event.  The bytes of events, put together, are the bytes that came, whatever they were cut into,
 * so what is let through is let through unchanged.  What an event says is read when it is whole. */
#ifndef SERVE_PROXY_SSE_H
#define SERVE_PROXY_SSE_H

#include "base/err.h"
#include "base/mem.h"

#include <stdbool.h>

/* Bytes in memory of their own: streams live long, and an arena gives nothing back. */
struct bulk {
	char *p;
	size_t n, room;
};
void bulk_add(struct bulk *b, const void *p, size_t n);
void bulk_drop(struct bulk *b, size_t n); /* the first n */
void bulk_free(struct bulk *b);
static inline struct bytes bulk_bytes(const struct bulk *b)
{
	return (struct bytes){ (const uint8_t *)b->p, b->n };
}

struct sse {
	struct bulk event; /* as far as it has come */
	size_t most_bytes; /* of one event */
	bool has_line, is_after_cr, has_begun;
};

struct sse_event {
	struct bytes raw;
	const char *name; /* NULL: none was said */
	struct bytes data; /* lines joined by LF */
	bool has_data;
	const char *odd; /* why readers may not agree about it; or NULL */
};

/* Take bytes up to the end of one event: so many were taken, and *ret_is_whole says that one ends there.  SSE_SIZE with E_LIMIT when it is too large. */
int sse_take(struct sse *s, struct bytes in, size_t *ret_taken, bool *ret_is_whole, struct err *e);
/* What the event that is whole, or at the end of the stream what is left of one, says; memory in `a`.  `raw` lives until sse_next(). */
void sse_read(const struct sse *s, struct arena *a, struct sse_event *ret);
void sse_next(struct sse *s);
void sse_free(struct sse *s);

#endif
