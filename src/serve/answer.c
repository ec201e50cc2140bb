/* answer.c — reading a call, and the body of its answer.
 *
 * An error is one object that holds both shapes clients know: the members of application/problem+json, and `error` with message, type, code
 * and reason_code.  The text of what went wrong inside never leaves: it goes to the log. */
#include "base/hash.h"
#include "base/text.h"
#include "privacy/privacy.h"
#include "serve/parts.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static const char *find(const struct pair *list, size_t n, const char *name, bool is_exact)
{
	for (size_t i = 0; i < n; i++)
		if (is_exact ? text_eq(list[i].name, name) : strcasecmp(list[i].name, name) == 0)
			return list[i].value;
	return NULL;
}

const char *call_header(const struct call *c, const char *name)
{
	return find(c->headers, c->header_count, name, false);
}

const char *call_query(const struct call *c, const char *name)
{
	return find(c->query, c->query_count, name, true);
}

int call_query_int(struct call *c, const char *name, int64_t fallback, int64_t least, int64_t most,
	int64_t *ret, struct err *e)
{
	const char *text = call_query(c, name);

	*ret = fallback;
	if (!text)
		return OK;
	if (!text_int(text, ret) || *ret < least || *ret > most)
		return call_refuse(c, e, 400, "BAD_REQUEST", "%s is a whole number from %lld to %lld", name,
			(long long)least, (long long)most);
	return OK;
}

void call_bytes(struct call *c, int status, const char *type, struct bytes body)
{
	c->status = status;
	c->type = type;
	c->answer = body;
}

void call_answer(struct call *c, int status, const struct json *body)
{
	struct buf text;

	buf_init(&text, c->a);
	json_write(&text, body, 0);
	call_bytes(c, status, "application/json", buf_bytes(&text));
}

void call_send_header(struct call *c, const char *name, const char *value)
{
	if (c->sent_count == ARRAY_SIZE(c->sent))
		BUG("too many headers");
	c->sent[c->sent_count++] = (struct pair){ name, value };
}

void call_stream(struct call *c, struct events *s)
{
	c->status = 200;
	c->type = "text/event-stream";
	c->stream = s;
}

int call_refuse(struct call *c, struct err *e, int status, const char *code, const char *fmt, ...)
{
	va_list args;
	char text[sizeof(e->text)];

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	c->status = status;
	*e = (struct err){ 0 };
	return err_set(e, E_INPUT, code, "%s", text);
}

/* ---- errors ---- */

static int status_of(enum rc rc)
{
	switch (rc) {
	case E_INPUT:
	case E_USAGE:
		return 400;
	case E_DENIED:
	case E_ESCALATE:
		return 403;
	case E_MISSING:
		return 404;
	case E_LIMIT:
		return 413;
	default:
		return 500;
	}
}

static const char *type_of(int status)
{
	return status == 401	? "authentication_error"
		: status == 403 ? "permission_denied"
		: status == 404 ? "not_found"
		: status >= 500 ? "internal_error"
				: "invalid_request";
}

static const char *title_of(int status)
{
	static const struct {
		int status;
		const char *title;
	} titles[] = { { 400, "Bad Request" }, { 401, "Unauthorized" }, { 403, "Forbidden" },
		{ 404, "Not Found" }, { 405, "Method Not Allowed" }, { 409, "Conflict" },
		{ 413, "Content Too Large" }, { 415, "Unsupported Media Type" },
		{ 428, "Precondition Required" }, { 429, "Too Many Requests" },
		{ 500, "Internal Server Error" }, { 501, "Not Implemented" },
		{ 503, "Service Unavailable" } };

	for (size_t i = 0; i < ARRAY_SIZE(titles); i++)
		if (titles[i].status == status)
			return titles[i].title;
	return "Error";
}

void call_error(struct call *c, const struct err *e, const struct json *more)
{
	struct json *doc = json_new(c->a, JSON_OBJECT), *error = json_new(c->a, JSON_OBJECT);
	bool is_said = c->status != 0; /* by whoever refused it: then text and code are for the caller */

	if (!is_said)
		c->status = status_of(e->rc);
	bool is_inside = !is_said && c->status >= 500;
	if (is_inside)
		log_line(c->server, "error", c, "%s: %s", e->code, e->text);
	const char *text = is_inside
		? "it could not be done; the log of the server says why"
		: privacy_redact_text(c->a, text_safe(c->a, e->text, strlen(e->text), false));
	const char *code = is_inside ? "ERROR_INTERNAL" : e->code;
	json_sets(c->a, error, "message", text);
	json_sets(c->a, error, "type", type_of(c->status));
	json_sets(c->a, error, "code", code);
	json_sets(c->a, error, "reason_code", code);
	json_set(c->a, error, "details", json_new(c->a, JSON_OBJECT));
	json_sets(c->a, doc, "type", arena_printf(c->a, "https://helm.mindburn.run/errors/%d", c->status));
	json_sets(c->a, doc, "title", title_of(c->status));
	json_seti(c->a, doc, "status", c->status);
	json_sets(c->a, doc, "detail", text);
	json_sets(c->a, doc, "instance", privacy_redact_text(c->a, c->path));
	json_sets(c->a, doc, "trace_id", c->correlation_id);
	json_set(c->a, doc, "error", error);
	json_each_member (m, more)
		json_set(c->a, doc, m->name, m->value);
	int status = c->status;
	call_answer(c, status, doc);
	c->type = "application/problem+json";
}

/* The library that sends refuses any other status, and the caller would be left without a word. */
struct call *call_with_answer(struct call *c)
{
	struct err e = { 0 };

	if (c->status >= 200 && c->status <= 999)
		return c;
	log_line(c->server, "error", c, "%s %s ended with status %d and no answer", c->method, c->path,
		c->status);
	if (c->stream)
		c->stream->done(c->stream);
	c->stream = NULL;
	c->sent_count = 0;
	(void)call_refuse(c, &e, 500, "ERROR_INTERNAL", "it ended without an answer");
	call_error(c, &e, NULL);
	return c;
}

/* ---- multipart ---- */

static const char *boundary_of(struct call *c)
{
	const char *type = call_header(c, "Content-Type"), *at = type ? strcasestr(type, "boundary=") : NULL;

	if (!at || strncasecmp(type, "multipart/form-data", strlen("multipart/form-data")) != 0)
		return NULL;
	at += strlen("boundary=");
	bool is_quoted = *at == '"';
	at += is_quoted;
	size_t n = strcspn(at, is_quoted ? "\"" : "; \t");
	return n && n <= 200 ? arena_printf(c->a, "--%.*s", (int)n, at) : NULL;
}

/* The head of a part names what we look for. */
static bool is_part(struct arena *a, struct bytes head, const char *name)
{
	const char *text = arena_strndup(a, (const char *)head.p, head.n);
	const char *want = arena_printf(a, "name=\"%s\"", name), *bare = arena_printf(a, "name=%s", name);
	const char *at = strstr(text, want), *plain = strstr(text, bare);

	return strcasestr(text, "content-disposition:") &&
		(at || (plain && strchr("\r\n;", plain[strlen(bare)])));
}

int call_part(struct call *c, const char *name, struct bytes *ret, struct err *e)
{
	const char *mark = boundary_of(c);
	const uint8_t *p = c->raw.p, *end = c->raw.p + c->raw.n;

	if (!mark) {
		const char *type = call_header(c, "Content-Type");
		if (type && strncasecmp(type, "multipart/", strlen("multipart/")) == 0)
			return call_refuse(c, e, 400, "BAD_REQUEST", "the multipart body has no boundary");
		*ret = c->raw;
		return OK;
	}
	const char *next = arena_printf(c->a, "\r\n%s", mark);
	p = c->raw.n ? memmem(p, (size_t)(end - p), mark, strlen(mark)) : NULL;
	while (p) {
		p += strlen(mark);
		const uint8_t *body = memmem(p, (size_t)(end - p), "\r\n\r\n", 4);
		const uint8_t *stop =
			body ? memmem(body + 2, (size_t)(end - body - 2), next, strlen(next)) : NULL;
		if (!stop)
			break;
		if (is_part(c->a, (struct bytes){ p, (size_t)(body - p) }, name)) {
			body += 4;
			*ret = (struct bytes){ body, stop > body ? (size_t)(stop - body) : 0 };
			return OK;
		}
		p = stop + 2;
	}
	return call_refuse(c, e, 400, "BAD_REQUEST", "the multipart body has no part '%s'", name);
}
