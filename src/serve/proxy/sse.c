/* sse.c — a stream of events, cut out of bytes as they come. */
#include "serve/proxy/sse.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

enum { BULK_KEPT = 512 << 10 };

/* ---- bytes ---- */

void bulk_add(struct bulk *b, const void *p, size_t n)
{
	if (b->room - b->n < n) {
		size_t room = 2 * b->room + n + 256;
		char *more = realloc(b->p, room);
		if (!more)
			mem_exhausted(0);
		b->p = more;
		b->room = room;
	}
	if (n)
		memcpy(b->p + b->n, p, n);
	b->n += n;
}

void bulk_drop(struct bulk *b, size_t n)
{
	if (n < b->n)
		memmove(b->p, b->p + n, b->n - n);
	b->n -= n;
	/* What was needed for one large event is not kept for a thousand small ones. */
	if (!b->n && b->room > BULK_KEPT)
		bulk_free(b);
}

void bulk_free(struct bulk *b)
{
	free(b->p);
	*b = (struct bulk){ 0 };
}

/* ---- where an event ends ---- */

static size_t line_end(const uint8_t *p, size_t n)
{
	const uint8_t *lf = memchr(p, '\n', n), *cr = memchr(p, '\r', lf ? (size_t)(lf - p) : n);

	return cr ? (size_t)(cr - p) : lf ? (size_t)(lf - p) : n;
}

int sse_take(struct sse *s, struct bytes in, size_t *ret_taken, bool *ret_is_whole, struct err *e)
{
	size_t at = 0;

	*ret_is_whole = false;
	/* The second half of a CRLF whose first half has ended an event goes on by itself. */
	if (s->is_after_cr && in.n && in.p[0] == '\n') {
		at = 1;
		*ret_is_whole = !s->event.n;
	}
	if (in.n)
		s->is_after_cr = false;
	while (at < in.n && !*ret_is_whole) {
		size_t n = line_end(in.p + at, in.n - at);
		s->has_line |= n > 0;
		at += n;
		if (at == in.n)
			break;
		bool is_cr = in.p[at++] == '\r';
		if (is_cr && at < in.n && in.p[at] == '\n')
			at++;
		else
			s->is_after_cr = is_cr && at == in.n;
		*ret_is_whole = !s->has_line;
		s->has_line = false;
	}
	if (s->event.n + at > s->most_bytes)
		return err_set(e, E_LIMIT, "SSE_SIZE", "one event has more than %zu bytes", s->most_bytes);
	bulk_add(&s->event, in.p, at);
	*ret_taken = at;
	return OK;
}

void sse_next(struct sse *s)
{
	s->has_begun |= s->event.n > 0;
	bulk_drop(&s->event, s->event.n);
}

void sse_free(struct sse *s)
{
	bulk_free(&s->event);
}

/* ---- what it says ---- */

static struct bytes next_line(struct bytes *rest)
{
	size_t n = line_end(rest->p, rest->n);
	struct bytes line = { rest->p, n };

	if (n < rest->n)
		n += rest->p[n] == '\r' && n + 1 < rest->n && rest->p[n + 1] == '\n' ? 2 : 1;
	rest->p += n;
	rest->n -= n;
	return line;
}

static bool is_field(struct bytes name, const char *field)
{
	return bytes_is(name, field);
}

static void read_line(struct arena *a, struct bytes line, struct buf *data, struct sse_event *ret)
{
	struct bytes value = line, name = text_cut(&value, ':');

	if (!value.p)
		value = (struct bytes){ line.p + line.n, 0 };
	if (value.n && value.p[0] == ' ')
		value = (struct bytes){ value.p + 1, value.n - 1 };
	if (memchr(line.p, '\0', line.n))
		ret->odd = "it has a NUL";
	if (!name.n)
		return; /* a comment */
	if (is_field(name, "data")) {
		if (ret->has_data)
			buf_addc(data, '\n');
		buf_add(data, value.p, value.n);
		ret->has_data = true;
	} else if (is_field(name, "event")) {
		if (ret->name)
			ret->odd = "it has two names";
		ret->name = arena_strndup(a, (const char *)value.p, value.n);
	} else if (!is_field(name, "id") && !is_field(name, "retry")) {
		/* Some readers are lenient about blanks and case; others pass over the line. */
		ret->odd = "it has a line that readers take in different ways";
	}
}

void sse_read(const struct sse *s, struct arena *a, struct sse_event *ret)
{
	static const uint8_t mark[] = { 0xef, 0xbb, 0xbf };
	struct bytes rest = bulk_bytes(&s->event);
	struct buf data;

	*ret = (struct sse_event){ .raw = rest };
	buf_init(&data, a);
	if (!s->has_begun && rest.n >= sizeof(mark) && memcmp(rest.p, mark, sizeof(mark)) == 0)
		rest = (struct bytes){ rest.p + sizeof(mark), rest.n - sizeof(mark) };
	while (rest.n) {
		struct bytes line = next_line(&rest);
		if (line.n)
			read_line(a, line, &data, ret);
	}
	ret->data = buf_bytes(&data);
}
