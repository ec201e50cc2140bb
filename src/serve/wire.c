/* wire.c — the bytes of requests, checked before the library reads them.
 *
 * libmicrohttpd is lenient (bare LF, NUL, folded fields, extensions of chunks), and whoever stands before us may not be: what one takes for the end of a request is the
 * middle of another for the other.  So everything that is received goes through here first (wire_hooks.c), and is read in one way or not at all (base/http.h).
 * A request that is refused never reaches the library: it is answered from here, once, and the connection ends.
 *
 * A connection belongs to one listener, whose thread reads it; the table is only looked at by others, for descriptors that are none of ours. */
#include "base/http.h"
#include "serve/parts.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { HEAD_MOST = 64 << 10, DRAIN_BYTES = 256 << 10 };

struct wire {
	int fd;
	bool is_tls, is_in_body, is_told;
	size_t drained; /* behind the refusal */
	const char *why; /* it is refused; what was before it is still answered */
	struct http_body body;
	char *head; /* what has come of the next one, own */
	size_t n, scanned;
	atomic_uint passed; /* heads that were checked, and that nobody has asked about yet */
};

static _Atomic(struct wire *) *wires;
static size_t wire_room;

void wire_prepare(size_t descriptors)
{
	if (wires)
		return;
	wire_room = descriptors + 1;
	wires = calloc(wire_room, sizeof(*wires));
	if (!wires)
		mem_exhausted(0);
}

void *wire_open(int fd, bool is_tls)
{
	struct wire *w = calloc(1, sizeof(*w));

	if (!w)
		mem_exhausted(0);
	w->fd = fd;
	w->is_tls = is_tls;
	if (fd >= 0 && (size_t)fd < wire_room)
		atomic_store(&wires[fd], w);
	return w;
}

void wire_close(void *wire)
{
	struct wire *w = wire;

	if (!w)
		return;
	if (w->fd >= 0 && (size_t)w->fd < wire_room && atomic_load(&wires[w->fd]) == w)
		atomic_store(&wires[w->fd], NULL);
	free(w->head);
	free(w);
}

static struct wire *find(int fd)
{
	return wires && fd >= 0 && (size_t)fd < wire_room ? atomic_load(&wires[fd]) : NULL;
}

struct wire *wire_of(int fd, bool is_tls)
{
	struct wire *w = find(fd);

	return w && w->is_tls == is_tls ? w : NULL;
}

/* Nothing is answered that did not come by here: a library that reads in another way has no request. */
bool wire_take(int fd)
{
	struct wire *w = find(fd);

	if (!w || !atomic_load(&w->passed))
		return false;
	atomic_fetch_sub(&w->passed, 1);
	return true;
}

/* ---- what comes ---- */

static void keep_head(struct wire *w, const char *p, size_t n)
{
	if (!n)
		return;
	char *more = realloc(w->head, w->n + n);
	if (!more)
		mem_exhausted(0);
	memcpy(more + w->n, p, n);
	w->head = more;
	w->n += n;
}

/* So many of these bytes belong to the head; all of them when it goes on. */
static size_t take_head(struct wire *w, const char *p, size_t n)
{
	const size_t before = w->n;
	const char *head = p;
	size_t head_n = n;

	if (before) {
		keep_head(w, p, n);
		head = w->head;
		head_n = w->n;
	}
	ssize_t length = http_head_length(head, head_n, w->scanned);
	if (length < 0 || (!length && head_n > HEAD_MOST)) {
		w->why = length
			? "a line does not end in CR LF, or has a character that does not belong there"
			: "the head of the request is too long";
		return n;
	}
	if (!length) {
		/* The last byte is looked at again: a CR waits for its LF. */
		w->scanned = head_n - 1;
		if (!before)
			keep_head(w, p, n);
		return n;
	}
	w->why = http_own_request(head, (size_t)length, &w->body);
	w->is_in_body = !w->why && w->body.kind != BODY_NONE;
	if (!w->why)
		atomic_fetch_add(&w->passed, 1);
	w->n = w->scanned = 0;
	free(w->head);
	w->head = NULL;
	return (size_t)length - before;
}

size_t wire_check(struct wire *w, const char *p, size_t n)
{
	size_t at = 0, whole = 0;

	while (at < n && !w->why) {
		if (!w->is_in_body) {
			at += take_head(w, p + at, n - at);
		} else {
			ssize_t own = http_body(&w->body, p + at, n - at);
			if (own < 0)
				w->why = "the body of the request is not framed as it must be";
			else
				at += (size_t)own;
			w->is_in_body = own < 0 || w->body.kind != BODY_NONE;
		}
		if (!w->why && !w->is_in_body && !w->n)
			whole = at;
	}
	/* Requests that came whole before it are answered first. */
	return w->why ? whole : n;
}

/* The library waits for more to come, and the refusal is told when it reads: now is its turn, when everything before it was answered. */
void wire_answered(int fd)
{
	struct wire *w = find(fd);

	if (w && w->why && !w->is_told && !atomic_load(&w->passed))
		(void)shutdown(fd, SHUT_RD);
}

/* ---- what is said ---- */

bool wire_is_refused(const struct wire *w)
{
	return w->why;
}

size_t wire_refusal(struct wire *w, char *to, size_t room)
{
	char body[1024];

	if (w->is_told)
		return 0;
	w->is_told = true;
	int n = snprintf(body, sizeof(body),
		"{\"type\":\"https://helm.mindburn.run/errors/400\",\"title\":\"Bad Request\",\"status\":400,\"detail\":\"%s\","
		"\"instance\":\"\",\"trace_id\":\"\",\"error\":{\"message\":\"%s\",\"type\":\"invalid_request\",\"code\":\"BAD_REQUEST\","
		"\"reason_code\":\"BAD_REQUEST\",\"details\":{}}}",
		w->why, w->why);
	int all = snprintf(to, room,
		"HTTP/1.1 400 Bad Request\r\nContent-Type: application/problem+json\r\nContent-Length: %d\r\n"
		"X-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n%s",
		n, body);

	return all > 0 && (size_t)all < room ? (size_t)all : 0;
}

/* Who is still sending hears the answer only when it is not cut off: what comes is read away, up to a bound, until the other side has ended or the library's patience has. */
bool wire_linger(struct wire *w)
{
	char rest[4096];
	ssize_t got = 1;

	while (w->drained < DRAIN_BYTES &&
		(got = recvfrom(w->fd, rest, sizeof(rest), MSG_DONTWAIT, NULL, NULL)) > 0)
		w->drained += (size_t)got;
	return got < 0 && (errno == EAGAIN || errno == EINTR);
}
