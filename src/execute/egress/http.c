/* http.c — HTTP/1 as the door reads it: the head of a request, the frame of its body, the head of an answer.
 *
 * There is one spelling for everything that decides where a message goes and where it ends (base/http.h), and anything else is refused.
 * Fields that concern only one hop are not passed on, and every connection carries one request: the
 * answer says so, and the next request comes on a connection that is judged again. */
#include "execute/egress/parts.h"

#include <string.h>
#include <strings.h>

/* ---- fields of one hop ---- */

static bool is_hop_field(const struct http_field *f)
{
	static const char *const names[] = { "connection", "proxy-connection", "keep-alive",
		"proxy-authorization", "proxy-authenticate", "te", "trailer", "upgrade", "http2-settings" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (http_is_word(f->name, f->name_n, names[i]))
			return true;
	return false;
}

/* All fields but those of this hop, and that this connection ends here. */
static void pass_fields(struct buf *to, const char *fields, const char *end)
{
	const char *at = fields;
	struct http_field f;
	bool is_bad = false;

	while (http_next_field(&at, end, &f, &is_bad))
		if (!is_hop_field(&f) && !http_is_nominated(fields, end, f.name, f.name_n)) {
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
	struct http_first first;
	const char *why = http_first_line(p, n, &first);

	if (why)
		return why;
	r->method = first.method;
	r->method_n = first.method_n;
	r->is_connect = r->method_n == 7 && memcmp(p, "CONNECT", 7) == 0;
	r->minor = first.minor;
	return read_target(first.target, first.target_n, r);
}

/* Host must say what the target says; a CONNECT may leave the port out. */
static bool host_fits(const struct http_field *f, const struct http_request *r)
{
	struct egress_target host;

	return read_authority(f->value, f->value_n, r->is_connect ? r->target.port : 80, &host) &&
		host.port == r->target.port && strcmp(host.host, r->target.host) == 0;
}

static const char *read_fields(const char *fields, const char *end, struct http_request *r)
{
	const char *at = fields, *why = http_framing(fields, end, r->minor, &r->body);
	struct http_field f;
	size_t hosts = 0;
	bool is_bad = false;

	while (!why && http_next_field(&at, end, &f, &is_bad))
		if (http_is_word(f.name, f.name_n, "host") && (hosts++ || !host_fits(&f, r)))
			why = "the Host field does not say what the target says";
		else if (r->is_connect &&
			(http_is_word(f.name, f.name_n, "content-length") || r->body.kind != BODY_NONE))
			why = "CONNECT has no body";
	if (why)
		return why;
	return !hosts && r->minor && !r->is_connect ? "there is no Host field" : NULL;
}

ssize_t http_request(const char *p, size_t n, struct http_request *ret, const char **ret_why)
{
	ssize_t length = http_head_length(p, n, 0);
	const char *at = p, *line;
	size_t line_n;

	*ret = (struct http_request){ 0 };
	*ret_why = "a line does not end in CR LF, or has a character that does not belong there";
	if (length <= 0)
		return length;
	*ret_why = "the first line is no request";
	if (!http_next_line(&at, p + length, &line, &line_n))
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
	ssize_t length = http_head_length(p, n, 0);
	const char *at = p, *line, *fields;
	size_t line_n;
	struct http_field f;
	bool is_bad = false;

	if (length <= 0)
		return length;
	if (!http_next_line(&at, p + length, &line, &line_n) || line_n < 12 ||
		strncmp(line, "HTTP/1.", 7) != 0)
		return -1;
	fields = at;
	while (http_next_field(&at, p + length, &f, &is_bad))
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
