/* http.c — HTTP/1 as the door reads it: the head of a request, the frame of its body, the head of an answer.
 *
 * A proxy that reads a message differently from the server behind it can be made to pass a request that nobody judged.  So there is
 * one spelling here for everything that decides where a message goes and where it ends: lines end in CR LF, no field is folded, Host
 * and the length are said once, a body has a length or is chunked and not both, and chunks have no extensions and no trailers.
 * Anything else is refused.  Fields that concern only one hop are not passed on, and every connection carries one request: the
 * answer says so, and the next request comes on a connection that is judged again. */
#include "execute/egress/parts.h"

#include "base/text.h"

#include <string.h>
#include <strings.h>

enum { MAX_FIELDS = 128, MAX_METHOD = 32 };

struct field {
	const char *name, *value;
	size_t name_n, value_n;
};

static bool is_token_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
		(c && strchr("!#$%&'*+-.^_`|~", c));
}

static bool is_token(const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!is_token_char(p[i]))
			return false;
	return n > 0;
}

static bool same(const char *p, size_t n, const char *word)
{
	return n == strlen(word) && strncasecmp(p, word, n) == 0;
}

/* ---- lines ---- */

/* How long the head is, with its empty line; 0: not all of it is there; -1: it is none. */
static ssize_t head_length(const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)p[i];
		if (c == '\n' && (!i || p[i - 1] != '\r'))
			return -1;
		if (c == '\r' && i + 1 < n && p[i + 1] != '\n')
			return -1;
		if ((c < ' ' && c != '\t' && c != '\r' && c != '\n') || c == 0x7f)
			return -1;
		if (c == '\n' && i >= 3 && p[i - 2] == '\n')
			return (ssize_t)i + 1;
	}
	return 0;
}

/* The next line without its end; false at the empty one. */
static bool next_line(const char **at, const char *end, const char **ret, size_t *ret_n)
{
	const char *eol = memchr(*at, '\r', (size_t)(end - *at));

	if (!eol || eol == *at)
		return false;
	*ret = *at;
	*ret_n = (size_t)(eol - *at);
	*at = eol + 2;
	return true;
}

/* False also at the end; a line that is no field leaves `*is_bad`. */
static bool next_field(const char **at, const char *end, struct field *ret, bool *is_bad)
{
	const char *line;
	size_t n;

	if (!next_line(at, end, &line, &n))
		return false;
	const char *colon = memchr(line, ':', n);
	if (!colon || !is_token(line, (size_t)(colon - line))) {
		*is_bad = true; /* folded lines begin with a blank, and so end here, too */
		return false;
	}
	*ret = (struct field){ .name = line, .name_n = (size_t)(colon - line), .value = colon + 1 };
	ret->value_n = (size_t)(line + n - ret->value);
	while (ret->value_n && strchr(" \t", ret->value[0]))
		ret->value++, ret->value_n--;
	while (ret->value_n && strchr(" \t", ret->value[ret->value_n - 1]))
		ret->value_n--;
	return true;
}

/* ---- fields of one hop ---- */

static bool is_hop_field(const struct field *f)
{
	static const char *const names[] = { "connection", "proxy-connection", "keep-alive",
		"proxy-authorization", "proxy-authenticate", "te", "trailer", "upgrade", "http2-settings" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (same(f->name, f->name_n, names[i]))
			return true;
	return false;
}

/* Does a Connection field name this one? */
static bool is_nominated(const char *fields, const char *end, const char *name, size_t name_n)
{
	struct field f;
	bool is_bad = false;

	while (next_field(&fields, end, &f, &is_bad)) {
		if (!same(f.name, f.name_n, "connection"))
			continue;
		for (const char *at = f.value, *stop = f.value + f.value_n; at < stop;) {
			while (at < stop && strchr(" \t,", *at))
				at++;
			size_t n = 0;
			while (at + n < stop && !strchr(" \t,", at[n]))
				n++;
			if (n == name_n && strncasecmp(at, name, n) == 0)
				return true;
			at += n;
		}
	}
	return false;
}

/* All fields but those of this hop, and that this connection ends here. */
static void pass_fields(struct buf *to, const char *fields, const char *end)
{
	const char *at = fields;
	struct field f;
	bool is_bad = false;

	while (next_field(&at, end, &f, &is_bad))
		if (!is_hop_field(&f) && !is_nominated(fields, end, f.name, f.name_n)) {
			buf_add(to, f.name, f.name_n);
			buf_adds(to, ": ");
			buf_add(to, f.value, f.value_n);
			buf_adds(to, "\r\n");
		}
	buf_adds(to, "Connection: close\r\n\r\n");
}

/* ---- requests ---- */

static bool read_authority(const char *p, size_t n, uint16_t port, struct egress_target *ret)
{
	const char *host;
	size_t host_n;

	ret->port = port;
	return egress_split(p, n, &host, &host_n, &ret->port) && ret->port &&
		egress_host(host, host_n, ret->host, &ret->is_address, ret->address);
}

/* METHOD http://host[:port]/path, or CONNECT host:port. */
static const char *read_target(const char *p, size_t n, struct http_request *r)
{
	static const char scheme[] = "http://";
	const size_t scheme_n = sizeof(scheme) - 1;

	for (size_t i = 0; i < n; i++)
		if (p[i] <= ' ' || p[i] >= 0x7f || p[i] == '#')
			return "the target of the request is not spelled as it must be";
	if (r->is_connect)
		return read_authority(p, n, 0, &r->target) ? NULL : "CONNECT takes host:port";
	if (n < scheme_n || strncasecmp(p, scheme, scheme_n) != 0)
		return n && p[0] == '/' ? "this is a proxy: the target must begin with http://"
					: "the target must begin with http://, or be host:port of a CONNECT";
	p += scheme_n;
	n -= scheme_n;
	size_t authority_n = 0;
	while (authority_n < n && p[authority_n] != '/' && p[authority_n] != '?')
		authority_n++;
	r->path = p + authority_n;
	r->path_n = n - authority_n;
	return read_authority(p, authority_n, 80, &r->target) ? NULL : "the target names no host";
}

static const char *read_line(const char *p, size_t n, struct http_request *r)
{
	const char *space = memchr(p, ' ', n), *last = memrchr(p, ' ', n);

	if (!space || space == last || !is_token(p, (size_t)(space - p)) || space - p > MAX_METHOD)
		return "the first line is no request";
	size_t version_n = (size_t)(p + n - last - 1);
	if (version_n != 8 || strncmp(last + 1, "HTTP/1.", 7) != 0 || (last[8] != '0' && last[8] != '1'))
		return "only HTTP/1.0 and HTTP/1.1 are spoken here";
	r->method = p;
	r->method_n = (size_t)(space - p);
	r->is_connect = r->method_n == 7 && memcmp(p, "CONNECT", 7) == 0;
	r->minor = last[8] - '0';
	return read_target(space + 1, (size_t)(last - space - 1), r);
}

static bool read_length(const struct field *f, uint64_t *ret)
{
	uint64_t value = 0;

	if (!f->value_n || f->value_n > 18)
		return false;
	for (size_t i = 0; i < f->value_n; i++) {
		if (f->value[i] < '0' || f->value[i] > '9')
			return false;
		value = value * 10 + (uint64_t)(f->value[i] - '0');
	}
	*ret = value;
	return true;
}

/* Host must say what the target says; a CONNECT may leave the port out. */
static bool host_fits(const struct field *f, const struct http_request *r)
{
	struct egress_target host;

	return read_authority(f->value, f->value_n, r->is_connect ? r->target.port : 80, &host) &&
		host.port == r->target.port && strcmp(host.host, r->target.host) == 0;
}

static const char *read_fields(const char *fields, const char *end, struct http_request *r)
{
	size_t hosts = 0, lengths = 0, codings = 0, count = 0;
	const char *at = fields;
	struct field f;
	bool is_bad = false;

	while (next_field(&at, end, &f, &is_bad)) {
		if (++count > MAX_FIELDS)
			return "there are too many fields";
		if (same(f.name, f.name_n, "host") && (hosts++ || !host_fits(&f, r)))
			return "the Host field does not say what the target says";
		if (same(f.name, f.name_n, "content-length") &&
			(lengths++ || !read_length(&f, &r->body.left)))
			return "the length of the body is not said in one way";
		if (same(f.name, f.name_n, "transfer-encoding") &&
			(codings++ || !same(f.value, f.value_n, "chunked") || !r->minor))
			return "the body must be chunked, if it has no length";
	}
	if (is_bad)
		return "a field is not spelled as it must be";
	if (lengths && codings)
		return "the body has a length and is chunked: one of both";
	if (r->is_connect && (lengths || codings))
		return "CONNECT has no body";
	if (!hosts && r->minor && !r->is_connect)
		return "there is no Host field";
	if (is_nominated(fields, end, "host", 4) || is_nominated(fields, end, "content-length", 14) ||
		is_nominated(fields, end, "transfer-encoding", 17))
		return "the Connection field names a field that says where the message goes or ends";
	r->body.kind = codings ? BODY_CHUNKED : r->body.left ? BODY_LENGTH : BODY_NONE;
	return NULL;
}

ssize_t http_request(const char *p, size_t n, struct http_request *ret, const char **ret_why)
{
	ssize_t length = head_length(p, n);
	const char *at = p, *line;
	size_t line_n;

	*ret = (struct http_request){ 0 };
	*ret_why = "a line does not end in CR LF, or has a character that does not belong there";
	if (length <= 0)
		return length;
	*ret_why = "the first line is no request";
	if (!next_line(&at, p + length, &line, &line_n))
		return -1;
	*ret_why = read_line(line, line_n, ret);
	if (!*ret_why) {
		ret->fields = at;
		ret->end = p + length;
		*ret_why = read_fields(at, p + length, ret);
	}
	return *ret_why ? -1 : length;
}

/* As the server behind the door is to see it. */
void http_forward(struct buf *to, const struct http_request *r)
{
	buf_add(to, r->method, r->method_n);
	buf_adds(to, r->path_n && r->path[0] == '/' ? " " : " /");
	buf_add(to, r->path, r->path_n);
	buf_addf(to, " HTTP/1.%d\r\n", r->minor);
	pass_fields(to, r->fields, r->end);
}

/* ---- answers ---- */

/* *ret_is_last: what follows is the body; otherwise another head follows (100 Continue). */
ssize_t http_answer(struct buf *to, const char *p, size_t n, bool *ret_is_last)
{
	ssize_t length = head_length(p, n);
	const char *at = p, *line, *fields;
	size_t line_n;
	struct field f;
	bool is_bad = false;

	if (length <= 0)
		return length;
	if (!next_line(&at, p + length, &line, &line_n) || line_n < 12 || strncmp(line, "HTTP/1.", 7) != 0)
		return -1;
	fields = at;
	while (next_field(&at, p + length, &f, &is_bad))
		;
	if (is_bad || strncmp(line + 8, " 101", 4) == 0)
		return -1;
	*ret_is_last = line[9] != '1';
	buf_add(to, line, line_n);
	buf_adds(to, "\r\n");
	if (*ret_is_last)
		pass_fields(to, fields, p + length);
	else
		buf_add(to, fields, (size_t)(p + length - fields));
	return length;
}

/* ---- bodies ---- */

static int hex_value(char c)
{
	return c >= '0' && c <= '9'    ? c - '0'
		: c >= 'a' && c <= 'f' ? c - 'a' + 10
		: c >= 'A' && c <= 'F' ? c - 'A' + 10
				       : -1;
}

/* One character of what stands between the data of chunks. */
static bool take_frame(struct http_body *b, char c)
{
	int digit = hex_value(c);

	switch (b->at) {
	case CHUNK_SIZE:
		if (digit >= 0 && b->digits++ < 8) {
			b->left = b->left << 4 | (uint64_t)digit;
			return true;
		}
		b->at = CHUNK_SIZE_LF;
		return c == '\r' && b->digits && b->digits <= 8;
	case CHUNK_SIZE_LF:
		b->at = b->left ? CHUNK_DATA : CHUNK_LAST_CR;
		return c == '\n';
	case CHUNK_DATA_CR:
		b->at = CHUNK_DATA_LF;
		return c == '\r';
	case CHUNK_DATA_LF:
		b->at = CHUNK_SIZE;
		b->digits = 0;
		b->left = 0;
		return c == '\n';
	case CHUNK_LAST_CR:
		b->at = CHUNK_LAST_LF;
		return c == '\r';
	default:
		b->kind = BODY_NONE;
		return c == '\n';
	}
}

/* How many of these bytes belong to the body; -1: its frame is broken.  kind is BODY_NONE when it has ended. */
ssize_t http_body(struct http_body *b, const char *p, size_t n)
{
	size_t i = 0;

	while (i < n && b->kind != BODY_NONE) {
		if (b->kind == BODY_LENGTH || b->at == CHUNK_DATA) {
			size_t some = b->left < n - i ? (size_t)b->left : n - i;
			b->left -= some;
			i += some;
			if (!b->left && b->kind == BODY_LENGTH)
				b->kind = BODY_NONE;
			else if (!b->left)
				b->at = CHUNK_DATA_CR;
		} else if (!take_frame(b, p[i++])) {
			return -1;
		}
	}
	return (ssize_t)i;
}
