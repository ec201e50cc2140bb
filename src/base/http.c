/* http.c — HTTP/1 as bytes: the lines of a head, the frame of a body.
 *
 * Two programs that read a message differently can be made to pass a request that nobody judged.  So there is one spelling for everything that decides where a
 * message goes and where it ends: lines end in CR LF, no field is folded, the length is said once, a body has a length or is chunked and not both, and
 * chunks have no extensions and no trailers.  Anything else is refused. */
#include "base/http.h"

#include <string.h>
#include <strings.h>

enum { MAX_METHOD = 32, MAX_FIELDS = 128 };

static bool is_token_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
		(c && strchr("!#$%&'*+-.^_`|~", c));
}

bool http_is_token(const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!is_token_char(p[i]))
			return false;
	return n > 0;
}

bool http_is_word(const char *p, size_t n, const char *word)
{
	return n == strlen(word) && strncasecmp(p, word, n) == 0;
}

/* ---- lines ---- */

ssize_t http_head_length(const char *p, size_t n, size_t from)
{
	for (size_t i = from; i < n; i++) {
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

bool http_next_line(const char **at, const char *end, const char **ret, size_t *ret_n)
{
	const char *eol = memchr(*at, '\r', (size_t)(end - *at));

	if (!eol || eol == *at)
		return false;
	*ret = *at;
	*ret_n = (size_t)(eol - *at);
	*at = eol + 2;
	return true;
}

bool http_next_field(const char **at, const char *end, struct http_field *ret, bool *is_bad)
{
	const char *line;
	size_t n;

	if (!http_next_line(at, end, &line, &n))
		return false;
	const char *colon = memchr(line, ':', n);
	if (!colon || !http_is_token(line, (size_t)(colon - line))) {
		*is_bad = true; /* folded lines begin with a blank, and so end here, too */
		return false;
	}
	*ret = (struct http_field){ .name = line, .name_n = (size_t)(colon - line), .value = colon + 1 };
	ret->value_n = (size_t)(line + n - ret->value);
	while (ret->value_n && strchr(" \t", ret->value[0]))
		ret->value++, ret->value_n--;
	while (ret->value_n && strchr(" \t", ret->value[ret->value_n - 1]))
		ret->value_n--;
	return true;
}

/* ---- fields ---- */

bool http_is_nominated(const char *fields, const char *end, const char *name, size_t name_n)
{
	struct http_field f;
	bool is_bad = false;

	while (http_next_field(&fields, end, &f, &is_bad)) {
		if (!http_is_word(f.name, f.name_n, "connection"))
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

static bool read_length(const struct http_field *f, uint64_t *ret)
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

const char *http_framing(const char *fields, const char *end, int minor, struct http_body *ret)
{
	static const char *const fixed[] = { "host", "content-length", "transfer-encoding" };
	size_t lengths = 0, codings = 0, count = 0;
	const char *at = fields;
	struct http_field f;
	bool is_bad = false;

	*ret = (struct http_body){ 0 };
	while (http_next_field(&at, end, &f, &is_bad)) {
		if (++count > MAX_FIELDS)
			return "there are too many fields";
		if (http_is_word(f.name, f.name_n, "content-length") &&
			(lengths++ || !read_length(&f, &ret->left)))
			return "the length of the body is not said in one way";
		if (http_is_word(f.name, f.name_n, "transfer-encoding") &&
			(codings++ || !http_is_word(f.value, f.value_n, "chunked") || !minor))
			return "the body must be chunked, if it has no length";
	}
	if (is_bad)
		return "a field is not spelled as it must be";
	if (lengths && codings)
		return "the body has a length and is chunked: one of both";
	for (size_t i = 0; i < ARRAY_SIZE(fixed); i++)
		if (http_is_nominated(fields, end, fixed[i], strlen(fixed[i])))
			return "the Connection field names a field that says where the message goes or ends";
	ret->kind = codings ? BODY_CHUNKED : ret->left ? BODY_LENGTH : BODY_NONE;
	return NULL;
}

/* ---- first lines ---- */

const char *http_first_line(const char *p, size_t n, struct http_first *ret)
{
	const char *space = memchr(p, ' ', n), *last = memrchr(p, ' ', n);

	if (!space || space == last || !http_is_token(p, (size_t)(space - p)) || space - p > MAX_METHOD)
		return "the first line is no request";
	size_t version_n = (size_t)(p + n - last - 1);
	if (version_n != 8 || strncmp(last + 1, "HTTP/1.", 7) != 0 || (last[8] != '0' && last[8] != '1'))
		return "only HTTP/1.0 and HTTP/1.1 are spoken here";
	*ret = (struct http_first){ .method = p,
		.method_n = (size_t)(space - p),
		.target = space + 1,
		.target_n = (size_t)(last - space - 1),
		.minor = last[8] - '0' };
	for (size_t i = 0; i < ret->target_n; i++)
		if (ret->target[i] <= ' ' || ret->target[i] >= 0x7f || ret->target[i] == '#')
			return "the target of the request is not spelled as it must be";
	return NULL;
}

const char *http_own_request(const char *p, size_t n, struct http_body *ret)
{
	const char *at = p, *end = p + n, *line, *why;
	struct http_first first;
	struct http_field f;
	size_t line_n, hosts = 0;
	bool is_bad = false;

	if (!http_next_line(&at, end, &line, &line_n))
		return "the first line is no request";
	why = http_first_line(line, line_n, &first);
	if (!why && (!first.target_n || first.target[0] != '/'))
		why = "the target is no path of this server";
	if (!why)
		why = http_framing(at, end, first.minor, ret);
	while (!why && http_next_field(&at, end, &f, &is_bad))
		hosts += http_is_word(f.name, f.name_n, "host");
	if (!why && (hosts > 1 || (!hosts && first.minor)))
		why = hosts ? "it names two hosts" : "it names no host";
	return why;
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
