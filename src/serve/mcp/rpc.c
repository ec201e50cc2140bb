/* rpc.c — reading and writing JSON-RPC; see rpc.h.
 *
 * A message is one JSON object: batches went out of the protocol, and nobody sends them.  What cannot be read ends nothing: it is answered
 * as the protocol says, and the next one is read. */
#include "serve/mcp/rpc.h"

#include "base/text.h"
#include "privacy/privacy.h"

#include <stdlib.h>
#include <string.h>

enum { DEPTH = 64, NODES = 400000, PIECE = 1 << 16 };

static void bad(struct rpc *ret, int code, const char *why)
{
	ret->kind = RPC_BAD;
	ret->code = code;
	ret->why = why;
}

static bool is_id(const struct json *id)
{
	return json_is(id, JSON_NUMBER) || (json_is(id, JSON_STRING) && id->n <= 1024);
}

static void read_response(struct rpc *ret, const struct json *doc)
{
	ret->kind = RPC_RESPONSE;
	ret->result = json_get(doc, "result");
	ret->error = json_get(doc, "error");
	if (!is_id(ret->id) || !ret->result == !ret->error ||
		(ret->error && !json_is(ret->error, JSON_OBJECT)))
		bad(ret, RPC_INVALID_REQUEST, "a response has an id, and a result or an error");
}

static void read_call(struct rpc *ret, const struct json *doc)
{
	const struct json *method = json_get(doc, "method");

	ret->kind = ret->id ? RPC_REQUEST : RPC_NOTIFICATION;
	ret->method = json_text(method);
	ret->params = json_get(doc, "params");
	if (!ret->method || !*ret->method || method->n > 256)
		bad(ret, RPC_INVALID_REQUEST, "the method is no text");
	else if (ret->id && !is_id(ret->id))
		bad(ret, RPC_INVALID_REQUEST, "an id is a text or a number");
	else if (ret->params && !json_is(ret->params, JSON_OBJECT))
		bad(ret, RPC_INVALID_REQUEST, "params are an object");
}

/* Behind the text that begins at `i`; the end when it has none. */
static size_t skip_text(struct bytes t, size_t i)
{
	for (i++; i < t.n && t.p[i] != '"'; i++)
		i += t.p[i] == '\\';
	return i < t.n ? i + 1 : t.n;
}

/* The number that is the id of a message which cannot be read, outermost and once: whoever waits for it need not wait longer. */
static bool find_id(struct bytes text, int64_t *ret)
{
	static const char name[] = "\"id\":";
	unsigned depth = 0, found = 0;

	for (size_t i = 0; i < text.n;) {
		const char *at = (const char *)text.p + i;
		size_t left = text.n - i, n = sizeof(name) - 1;
		if (depth == 1 && left > n && memcmp(at, name, n) == 0) {
			char digits[20];
			size_t from = n + (at[n] == ' '), k = 0;
			while (from + k < left && k + 1 < sizeof(digits) && at[from + k] >= '0' &&
				at[from + k] <= '9') {
				digits[k] = at[from + k];
				k++;
			}
			digits[k] = '\0';
			found += k > 0 && text_int(digits, ret);
		}
		depth += *at == '{' || *at == '[';
		depth -= depth && (*at == '}' || *at == ']');
		i = *at == '"' ? skip_text(text, i) : i + 1;
	}
	return found == 1;
}

void rpc_read(struct arena *a, struct bytes text, struct rpc *ret)
{
	const struct json_limits limits = { .depth = DEPTH, .size_bytes = 64 << 20, .max_nodes = NODES };
	struct json *doc;
	struct err e = { 0 };
	int64_t id;

	*ret = (struct rpc){ .kind = RPC_BAD };
	if (json_parse(a, text, "message", &limits, &doc, &e)) {
		bad(ret, RPC_PARSE, arena_strdup(a, e.text));
		ret->id = find_id(text, &id) ? json_number(a, id) : NULL;
		return;
	}
	if (!json_is(doc, JSON_OBJECT)) {
		bad(ret, RPC_INVALID_REQUEST, "a message is an object");
		return;
	}
	ret->id = json_get(doc, "id");
	if (!text_eq(json_get_text(doc, "jsonrpc", ""), "2.0"))
		bad(ret, RPC_INVALID_REQUEST, "jsonrpc is not \"2.0\"");
	else if (json_get(doc, "method"))
		read_call(ret, doc);
	else
		read_response(ret, doc);
	if (ret->kind == RPC_BAD && !is_id(ret->id))
		ret->id = NULL;
}

static struct json *message(struct arena *a)
{
	struct json *doc = json_new(a, JSON_OBJECT);

	json_sets(a, doc, "jsonrpc", "2.0");
	return doc;
}

static struct json *answer_to(struct arena *a, const struct json *id)
{
	struct json *doc = message(a);

	json_set(a, doc, "id", id ? json_copy(a, id) : json_new(a, JSON_NULL));
	return doc;
}

struct json *rpc_result(struct arena *a, const struct json *id, struct json *result)
{
	struct json *doc = answer_to(a, id);

	json_set(a, doc, "result", result);
	return doc;
}

struct json *rpc_error(struct arena *a, const struct json *id, int code, const char *text)
{
	struct json *doc = answer_to(a, id), *error = json_new(a, JSON_OBJECT);

	json_seti(a, error, "code", code);
	json_sets(a, error, "message", privacy_redact_text(a, text));
	json_set(a, doc, "error", error);
	return doc;
}

struct json *rpc_notification(struct arena *a, const char *method, struct json *params)
{
	struct json *doc = message(a);

	json_sets(a, doc, "method", method);
	if (params)
		json_set(a, doc, "params", params);
	return doc;
}

struct json *rpc_request(struct arena *a, int64_t id, const char *method, struct json *params)
{
	struct json *doc = message(a);

	json_seti(a, doc, "id", id);
	json_sets(a, doc, "method", method);
	if (params)
		json_set(a, doc, "params", params);
	return doc;
}

/* ---- lines ---- */

void rpc_lines_put(struct rpc_lines *l, const void *from, size_t n)
{
	if (l->at) {
		memmove(l->p, l->p + l->at, l->n - l->at);
		l->n -= l->at;
		l->looked -= l->at;
		l->at = 0;
	}
	if (l->n + n > l->room) {
		l->room = 2 * (l->n + n) + PIECE;
		l->p = realloc(l->p, l->room);
		if (!l->p)
			mem_exhausted(0);
	}
	if (n)
		memcpy(l->p + l->n, from, n);
	l->n += n;
}

static struct bytes trimmed(const char *p, size_t n)
{
	while (n && strchr(" \t\r", p[n - 1]))
		n--;
	while (n && strchr(" \t\r", *p)) {
		p++;
		n--;
	}
	return (struct bytes){ (const uint8_t *)p, n };
}

enum rpc_line rpc_lines_next(struct rpc_lines *l, struct bytes *ret)
{
	const char *end;

	while (l->n > l->looked && (end = memchr(l->p + l->looked, '\n', l->n - l->looked))) {
		bool was_skipping = l->is_skipping;
		size_t n = (size_t)(end - l->p) - l->at;
		*ret = trimmed(l->p + l->at, n);
		l->at += n + 1;
		l->looked = l->at;
		l->is_skipping = false;
		if (!was_skipping && n > l->most)
			return RPC_LONG_LINE;
		if (!was_skipping && ret->n) /* an empty line is nothing */
			return RPC_LINE;
	}
	l->looked = l->n;
	bool is_long = l->n - l->at > l->most && !l->is_skipping;
	l->is_skipping |= is_long;
	if (l->is_skipping)
		l->at = l->n;
	return is_long ? RPC_LONG_LINE : RPC_NO_LINE;
}

bool rpc_lines_has_more(const struct rpc_lines *l)
{
	return l->n > l->looked && memchr(l->p + l->looked, '\n', l->n - l->looked);
}

void rpc_lines_free(struct rpc_lines *l)
{
	free(l->p);
	*l = (struct rpc_lines){ .most = l->most };
}
