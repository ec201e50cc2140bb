/* messages.c — Anthropic's Messages: blocks of content, each started, told in pieces and stopped.  tool_use is carried out by the client,
 * server_tool_use and mcp_tool_use by the vendor. */
#include "base/text.h"
#include "privacy/privacy.h"
#include "serve/proxy/form.h"

#include <string.h>

static bool is_call_block(const char *type)
{
	return text_ends(type, "tool_use");
}

static bool passes(const char *type)
{
	static const char *const names[] = { "text", "thinking", "redacted_thinking", "container_upload",
		"compaction" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (text_eq(type, names[i]))
			return true;
	return text_ends(type, "_tool_result");
}

static const char *key_of(struct arena *a, const struct json *index)
{
	int64_t n;

	return json_int(index, &n) ? arena_printf(a, "b%lld", (long long)n) : "b";
}

/* ---- reading ---- */

/* Counts of a stream grow: those at its end are the whole. */
static void take_usage(struct assembly *x, const struct json *usage, bool is_last)
{
	int64_t n;

	if (!json_is(usage, JSON_OBJECT))
		return;
	if (json_int(json_get(usage, "input_tokens"), &n) && n > 0) {
		x->usage.cached = json_get_int(usage, "cache_read_input_tokens", 0);
		x->usage.input = n + x->usage.cached + json_get_int(usage, "cache_creation_input_tokens", 0);
	}
	x->usage.output = json_get_int(usage, "output_tokens", x->usage.output);
	x->usage.is_known |= is_last;
}

/* The beginning of a call: its name, and what there is of its input already. */
static void take_block(struct assembly *x, struct tool_use *u, const struct json *block)
{
	const char *id = NULL;
	struct buf text;

	if (u->type)
		call_fault(u, "two calls have one place");
	u->type = arena_strdup(&x->a, json_get_text(block, "type", "?"));
	if (call_text(u, json_get(block, "id"), &id))
		u->id = arena_strdup(&x->a, id);
	call_name(x, u, json_get(block, "name"));
	const struct json *input = json_get(block, "input");
	if (input && !json_is(input, JSON_OBJECT)) {
		call_fault(u, "its input is no object");
		return;
	}
	/* An empty one stands for what comes in pieces. */
	if (!input || !input->n)
		return;
	buf_init(&text, &x->a);
	json_write(&text, input, 0);
	call_add_args(u, json_stringn(&x->a, text.p, text.n));
}

static void close_block(struct assembly *x, struct tool_use *u)
{
	/* Nothing was said: a call without arguments. */
	if (!u->has_args)
		call_add_args(u, json_string(&x->a, "{}"));
	call_close(x, u);
}

static size_t take_content(struct assembly *x, const struct json *content)
{
	size_t place = 0, calls = 0;

	if (content && !json_is(content, JSON_ARRAY))
		form_fault(x, "content is no list");
	json_each (block, content) {
		const char *type = json_get_text(block, "type", "?");
		const char *key = arena_printf(&x->scratch, "b%zu", place++);
		if (passes(type))
			continue;
		calls++;
		struct tool_use *u = call_at(x, key);
		if (!u)
			continue;
		if (!is_call_block(type))
			call_fault(u, arena_printf(&x->a, "blocks of type '%s' are not known", type));
		take_block(x, u, block);
		close_block(x, u);
	}
	return calls;
}

static size_t take_start(struct assembly *x, const struct json *data)
{
	const struct json *block = json_get(data, "content_block");
	const char *type = json_get_text(block, "type", "?");
	struct tool_use *u;

	if (passes(type))
		return 0;
	u = call_at(x, key_of(&x->scratch, json_get(data, "index")));
	if (!u)
		return 1;
	if (!is_call_block(type))
		call_fault(u, arena_printf(&x->a, "blocks of type '%s' are not known", type));
	take_block(x, u, block);
	return is_call_block(type);
}

static void take_delta(struct assembly *x, const struct json *data)
{
	const struct json *delta = json_get(data, "delta");
	const char *key = key_of(&x->scratch, json_get(data, "index"));
	struct tool_use *u = call_find(x, key);

	if (!text_eq(json_get_text(delta, "type", ""), "input_json_delta") &&
		!json_get(delta, "partial_json"))
		return;
	/* Of a block that was never started: it has no name, and is refused. */
	if (!u)
		u = call_at(x, key);
	if (u)
		call_add_args(u, json_get(delta, "partial_json"));
}

static void read_event(struct assembly *x, const struct sse_event *ev, const struct json *data)
{
	const char *type = json_get_text(data, "type", "");
	const struct json *message = json_get(data, "message");
	size_t calls = 0;

	if (ev->name && *ev->name && *type && !text_eq(ev->name, type))
		form_fault(x, "an event has two names");
	if (json_is(message, JSON_OBJECT)) {
		if (!x->model && json_get_text(message, "model", NULL))
			x->model = arena_strdup(&x->kept, json_get_text(message, "model", ""));
		take_usage(x, json_get(message, "usage"), false);
		calls += take_content(x, json_get(message, "content"));
	}
	take_usage(x, json_get(data, "usage"), true);
	if (json_is(json_get(data, "content_block"), JSON_OBJECT))
		calls += take_start(x, data);
	if (json_is(json_get(data, "delta"), JSON_OBJECT))
		take_delta(x, data);
	if (text_eq(type, "content_block_stop")) {
		struct tool_use *u = call_find(x, key_of(&x->scratch, json_get(data, "index")));
		if (u && !u->is_closed)
			close_block(x, u);
	}
	if (text_eq(type, "message_stop"))
		x->is_finished = true;
	if (calls_alike(data) > calls)
		form_fault(x, "an event has a call at a place where none belongs");
}

static void read_document(struct assembly *x, const struct json *doc)
{
	take_usage(x, json_get(doc, "usage"), true);
	(void)take_content(x, json_get(doc, "content"));
}

/* ---- errors ---- */

static struct json *shape_error(struct arena *a, const struct refusal *r)
{
	struct json *doc = json_new(a, JSON_OBJECT), *error = json_new(a, JSON_OBJECT);

	json_sets(a, doc, "type", "error");
	json_sets(a, error, "type",
		r->status == 403	   ? "permission_error"
			: r->status == 429 ? "rate_limit_error"
			: r->status == 401 ? "authentication_error"
			: r->status == 413 ? "request_too_large"
			: r->status < 500  ? "invalid_request_error"
					   : "api_error");
	json_sets(a, error, "message", privacy_redact_text(a, r->message));
	json_sets(a, error, "code", r->code);
	json_sets(a, error, "reason_code", r->code);
	json_set(a, doc, "error", error);
	json_set(a, doc, "helm", shape_helm(a, r));
	return doc;
}

/* Without the line that names the event a client sees an empty answer that succeeded. */
static void write_error(struct arena *a, const struct assembly *x, const struct refusal *r, struct buf *to)
{
	(void)x;
	shape_event(to, "error", shape_error(a, r));
}

/* ---- without what was refused ---- */

static struct json *text_block(struct arena *a, const char *text)
{
	struct json *block = json_new(a, JSON_OBJECT);

	json_sets(a, block, "type", "text");
	json_sets(a, block, "text", text);
	return block;
}

static bool strip_content(struct arena *a, struct assembly *x, struct json *message)
{
	struct json *content = json_get(message, "content");
	bool is_changed = false;

	for (size_t i = 0; json_is(content, JSON_ARRAY) && i < content->n; i++) {
		struct settled *s = call_settled(x, arena_printf(a, "b%zu", i));
		if (!s || s->is_allowed)
			continue;
		content->items[i] = text_block(a, s->why);
		is_changed = true;
	}
	return is_changed;
}

/* Nothing is left to be carried out: the turn ends here. */
static bool mend_stop(struct arena *a, const struct assembly *x, struct json *o)
{
	if (!x->settled_n || calls_allowed(x, "") ||
		!text_eq(json_get_text(o, "stop_reason", ""), "tool_use"))
		return false;
	json_sets(a, o, "stop_reason", "end_turn");
	return true;
}

static void rewrite_document(struct arena *a, struct assembly *x, struct json *doc)
{
	(void)strip_content(a, x, doc);
	(void)mend_stop(a, x, doc);
}

static void tell(struct arena *a, const struct settled *s, int64_t index, struct buf *to)
{
	struct json *doc = json_new(a, JSON_OBJECT), *delta = json_new(a, JSON_OBJECT);

	json_sets(a, doc, "type", "content_block_start");
	json_seti(a, doc, "index", index);
	json_set(a, doc, "content_block", text_block(a, ""));
	shape_event(to, "content_block_start", doc);
	doc = json_new(a, JSON_OBJECT);
	json_sets(a, doc, "type", "content_block_delta");
	json_seti(a, doc, "index", index);
	json_sets(a, delta, "type", "text_delta");
	json_sets(a, delta, "text", s->why);
	json_set(a, doc, "delta", delta);
	shape_event(to, "content_block_delta", doc);
	doc = json_new(a, JSON_OBJECT);
	json_sets(a, doc, "type", "content_block_stop");
	json_seti(a, doc, "index", index);
	shape_event(to, "content_block_stop", doc);
}

static bool rewrite_event(struct arena *a, struct assembly *x, struct json *data, struct buf *to)
{
	struct json *index = json_get(data, "index"), *message = json_get(data, "message");
	struct settled *s = index ? call_settled(x, key_of(a, index)) : NULL;

	if (s && !s->is_allowed) {
		if (!s->is_told)
			tell(a, s, json_get_int(data, "index", 0), to);
		s->is_told = true;
		return true;
	}
	bool is_changed =
		json_is(message, JSON_OBJECT) && (strip_content(a, x, message) | mend_stop(a, x, message));
	if (json_is(json_get(data, "delta"), JSON_OBJECT))
		is_changed |= mend_stop(a, x, json_get(data, "delta"));
	if (is_changed)
		shape_event(to, json_get_text(data, "type", "message"), data);
	return is_changed;
}

const struct form form_messages = { "messages", read_event, read_document, shape_error, write_error,
	rewrite_document, rewrite_event };
