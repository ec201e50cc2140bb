/* stream.c — sources and sinks of bytes: memory, a descriptor, or bytes that were already read joined with
 * the rest; see stream.h.
 *
 * Archives and compressed files are read through these, so that a reader does not care where its bytes
 * come from. The descriptor's sink hashes what passes through it: the hash of a written file is known
 * without reading it again. */
#include "base/stream.h"

#include <errno.h>

/* Zero bytes mean the end. */
static int read_bytes(struct stream *stream, void *to, size_t n, size_t *ret_n, struct err *e)
{
	struct stream_bytes *s = (struct stream_bytes *)stream;

	(void)e;
	if (n > s->rest.n)
		n = s->rest.n;
	if (n)
		memcpy(to, s->rest.p, n);
	s->rest.p += n;
	s->rest.n -= n;
	*ret_n = n;
	return OK;
}

struct stream *stream_from_bytes(struct stream_bytes *s, struct bytes from)
{
	*s = (struct stream_bytes){ { read_bytes }, from };
	return &s->stream;
}

/* One read() of the descriptor; a signal does not end it. */
static int read_ahead(struct stream_fd *s, void *to, size_t n, size_t *ret_n, struct err *e)
{
	ssize_t got;

	do
		got = s->sys->read(s->sys, s->fd, to, n);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return err_sys(e, "FILE_READ", "cannot read '%s'", s->name);
	*ret_n = (size_t)got;
	return OK;
}

/* Small reads are served from a buffer; large ones go straight to the caller's memory. */
static int read_fd(struct stream *stream, void *to, size_t n, size_t *ret_n, struct err *e)
{
	struct stream_fd *s = (struct stream_fd *)stream;
	int rc;

	if (s->at == s->held) {
		if (n >= sizeof(s->hold))
			return read_ahead(s, to, n, ret_n, e);
		if ((rc = read_ahead(s, s->hold, sizeof(s->hold), &s->held, e)))
			return rc;
		s->at = 0;
	}
	if (n > s->held - s->at)
		n = s->held - s->at;
	memcpy(to, s->hold + s->at, n);
	s->at += n;
	*ret_n = n;
	return OK;
}

struct stream *stream_from_fd(struct stream_fd *s, struct sys *sys, int fd, const char *name)
{
	s->stream.read = read_fd;
	s->sys = sys;
	s->fd = fd;
	s->name = name;
	s->at = s->held = 0;
	return &s->stream;
}

/* First the bytes that somebody looked at to tell the format, then the rest of the stream. */
static int read_joined(struct stream *stream, void *to, size_t n, size_t *ret_n, struct err *e)
{
	struct stream_joined *s = (struct stream_joined *)stream;

	if (!s->first.n)
		return s->rest->read(s->rest, to, n, ret_n, e);
	if (n > s->first.n)
		n = s->first.n;
	memcpy(to, s->first.p, n);
	s->first.p += n;
	s->first.n -= n;
	*ret_n = n;
	return OK;
}

struct stream *stream_join(struct stream_joined *s, struct bytes first, struct stream *rest)
{
	*s = (struct stream_joined){ { read_joined }, first, rest };
	return &s->stream;
}

/* Reads until n bytes are there or the stream ends; *ret_n below n means the end. */
int stream_fill(struct stream *s, void *to, size_t n, size_t *ret_n, struct err *e)
{
	size_t have = 0;

	while (have < n) {
		size_t got = 0;
		int rc = s->read(s, (char *)to + have, n - have, &got, e);
		if (rc)
			return rc;
		if (!got)
			break;
		have += got;
	}
	*ret_n = have;
	return OK;
}

static int write_buf(struct sink *sink, const void *p, size_t n, struct err *e)
{
	(void)e;
	buf_add(((struct sink_buf *)sink)->to, p, n);
	return OK;
}

struct sink *sink_to_buf(struct sink_buf *s, struct buf *to)
{
	*s = (struct sink_buf){ { write_buf }, to };
	return &s->sink;
}

/* All bytes or an error that names the file. */
static int write_all(struct sink_fd *s, const char *p, size_t n, struct err *e)
{
	while (n) {
		ssize_t done = s->sys->write(s->sys, s->fd, p, n);
		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return err_sys(e, "FILE_WRITE", "cannot write '%s'", s->name);
		p += done;
		n -= (size_t)done;
	}
	return OK;
}

/* What is held back stays held when it cannot be written. */
int sink_fd_flush(struct sink_fd *s, struct err *e)
{
	int rc = write_all(s, s->hold, s->held, e);

	if (!rc)
		s->held = 0;
	return rc;
}

/* The hash and the size count what was handed in, whether or not it is on disk already. */
static int write_fd(struct sink *sink, const void *p, size_t n, struct err *e)
{
	struct sink_fd *s = (struct sink_fd *)sink;

	sha256_add(&s->digest, p, n);
	s->size_bytes += n;
	if (n > sizeof(s->hold) - s->held) {
		int rc = sink_fd_flush(s, e);
		if (rc)
			return rc;
		if (n >= sizeof(s->hold))
			return write_all(s, p, n, e);
	}
	memcpy(s->hold + s->held, p, n);
	s->held += n;
	return OK;
}

/* The caller flushes at the end: closing without that loses what is held. */
struct sink *sink_to_fd(struct sink_fd *s, struct sys *sys, int fd, const char *name)
{
	s->sink.write = write_fd;
	s->sys = sys;
	s->fd = fd;
	s->name = name;
	s->size_bytes = 0;
	s->held = 0;
	sha256_begin(&s->digest);
	return &s->sink;
}
