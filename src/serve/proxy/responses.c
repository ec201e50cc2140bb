/* responses.c — OpenAI's Responses: items of an output, each added, told in pieces and done; at the end all of them again.
 *
 * Some items are calls that the client carries out, others were carried out by the vendor before we see them (those are decided on the request, too).  Of both,
 * every type that is not known to be harmless is a call; one that nobody knows is refused. */
#include "base/text.h"
#include "privacy/privacy.h"
#include "serve/proxy/form.h"

#include <string.h>

enum item_kind { ITEM_PASSES, ITEM_CALL, ITEM_UNKNOWN };

static enum item_kind kind_of(const char *type)
{
	static const char *const passes[] = { "message", "reasoning", "compaction", "mcp_list_tools" };
	static const char *const calls[] = { "function_call", "custom_tool_call", "local_shell_call",
		"shell_call", "apply_patch_call", "computer_call", "mcp_call", "mcp_approval_request",
		"code_interpreter_call", "web_search_call", "file_search_call", "image_generation_call",
		"tool_search_call" };

	for (size_t i = 0; i < ARRAY_SIZE(passes); i++)
		if (text_eq(type, passes[i]))
			return ITEM_PASSES;
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
		if (text_eq(type, calls[i]))
			return ITEM_CALL;
	return text_ends(type, "_output") ? ITEM_PASSES : ITEM_UNKNOWN;
}

static const char *key_of(struct arena *a, const struct json *index)
{
	int64_t n;

	return json_int(index, &n) ? arena_printf(a, "o%lld", (long long)n) : "o";
}

/* ---- reading ---- */

static void take_usage(struct assembly *x, const struct json *response)
{
	const struct json *usage = json_get(response, "usage");
	int64_t input;

	if (json_int(json_get(usage, "input_tokens"), &input))
		x->usage = (struct usage){ true, input, json_get_int(usage, "output_tokens", 0),
			json_get_int(json_get(usage, "input_tokens_details"), "cached_tokens", 0) };
}

/* Which item it is: what is known when it begins. */
static void take_label(struct assembly *x, struct tool_use *u, const struct json *item)
{
	const char *type = json_get_text(item, "type", "?"), *id = NULL, *name = NULL;

	if (u->type && !text_eq(u->type, type))
		call_fault(u, "two calls have one place");
	u->type = arena_strdup(&x->a, type);
	if (call_text(u, json_get(item, "call_id"), &id) || call_text(u, json_get(item, "id"), &id))
		u->id = arena_strdup(&x->a, id);
	if (call_text(u, json_get(item, "name"), &name) && *name)
		call_name(x, u, json_get(item, "name"));
	else if (kind_of(type) == ITEM_CALL && !text_eq(type, "function_call") &&
		!text_eq(type, "custom_tool_call"))
		u->name = u->type;
	u->is_text = text_eq(type, "custom_tool_call");
	if (kind_of(type) == ITEM_UNKNOWN)
		call_fault(u, arena_printf(&x->a, "items of type '%s' are not known", type));
}

/* Where an item keeps its arguments as a text; NULL: in members of its own. */
static const char *args_member(const char *type)
{
	return text_eq(type, "custom_tool_call") ? "input"
		: text_eq(type, "function_call") || text_eq(type, "mcp_call") ||
			text_eq(type, "mcp_approval_request")
		? "arguments"
		: NULL;
}

static void call_whole(struct assembly *x, struct tool_use *u, const struct json *item)
{
	const char *member = args_member(json_get_text(item, "type", ""));
	const struct json *args = member ? json_get(item, member) : NULL;

	take_label(x, u, item);
	if (member && !json_is(args, JSON_STRING))
		call_fault(u, "its arguments are no text");
	/* What was told in pieces must be what is told at the end: clients use one or the other. */
	if (member && u->has_args && json_is(args, JSON_STRING) &&
		!bytes_eq(buf_bytes(&u->args), (struct bytes){ (const uint8_t *)args->text, args->n }))
		call_fault(u, "its arguments were told in two ways");
	if (member && !u->has_args)
		call_add_args(u, args);
	if (!member)
		u->has_args = false;
	/* The name of a server stands beside the arguments. */
	if (!member || text_starts(u->type, "mcp_"))
		u->item = json_copy(&x->a, item);
	call_close(x, u);
}

static bool is_call_item(const struct json *item)
{
	return json_is(item, JSON_OBJECT) && kind_of(json_get_text(item, "type", "?")) != ITEM_PASSES;
}

/* All items of an answer.  One that was decided about is known by its digest; a client that reads only the end reads the same. */
static size_t take_output(struct assembly *x, const struct json *response)
{
	const struct json *output = json_get(response, "output");
	size_t place = 0, calls = 0;

	take_usage(x, response);
	if (output && !json_is(output, JSON_ARRAY) && !json_is(output, JSON_NULL))
		form_fault(x, "output is no list");
	json_each (item, output) {
		const char *key = arena_printf(&x->scratch, "o%zu", place++);
		if (!is_call_item(item))
			continue;
		calls++;
		struct settled *before = call_settled(x, key);
		if (before) {
			struct tool_use again = { .key = key };
			buf_init(&again.args, &x->scratch);
			call_whole(x, &again, item);
			if (!call_is_settled(x, &again))
				form_fault(x, "a call is not the one that was decided about");
			continue;
		}
		struct tool_use *u = call_at(x, key);
		if (u && u->is_closed)
			call_fault(u, "two calls have one place");
		else if (u)
			call_whole(x, u, item);
	}
	return calls;
}

static void take_item(struct assembly *x, const char *type, const struct json *data)
{
	const struct json *item = json_get(data, "item");
	struct tool_use *u;

	if (!is_call_item(item))
		return;
	u = call_at(x, key_of(&x->scratch, json_get(data, "output_index")));
	if (!u)
		return;
	if (text_eq(type, "response.output_item.done"))
		call_whole(x, u, item);
	else
		take_label(x, u, item);
}

/* Pieces of the arguments of a call, and the whole of them. */
static void take_piece(struct assembly *x, const char *type, const struct json *data)
{
	static const char *const wholes[] = { "arguments", "input" };
	const char *key = key_of(&x->scratch, json_get(data, "output_index"));
	struct tool_use *u = call_find(x, key);

	if (!u)
		u = call_at(x, key); /* of an item that was never added: it has no name, and is refused */
	if (!u)
		return;
	if (text_ends(type, ".delta")) {
		call_add_args(u, json_get(data, "delta"));
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(wholes); i++) {
		const struct json *whole = json_get(data, wholes[i]);
		if (whole && u->has_args &&
			!(json_is(whole, JSON_STRING) &&
				bytes_eq(buf_bytes(&u->args),
					(struct bytes){ (const uint8_t *)whole->text, whole->n })))
			call_fault(u, "its arguments were told in two ways");
		else if (whole && !u->has_args)
			call_add_args(u, whole);
	}
}

static bool is_piece(const char *type)
{
	return text_starts(type, "response.function_call_arguments.") ||
		text_starts(type, "response.custom_tool_call_input.") ||
		text_starts(type, "response.mcp_call_arguments.");
}

static void read_event(struct assembly *x, const struct sse_event *ev, const struct json *data)
{
	const char *type = json_get_text(data, "type", "");
	const struct json *response = json_get(data, "response");
	size_t calls = is_call_item(json_get(data, "item"));

	/* Clients go by the name of the event or by its type. */
	if (ev->name && *ev->name && *type && !text_eq(ev->name, type))
		form_fault(x, "an event has two names");
	x->sequence = json_get_int(data, "sequence_number", x->sequence);
	if (json_is(response, JSON_OBJECT)) {
		if (!x->id && json_get_text(response, "id", NULL))
			x->id = arena_strdup(&x->kept, json_get_text(response, "id", ""));
		if (!x->model && json_get_text(response, "model", NULL))
			x->model = arena_strdup(&x->kept, json_get_text(response, "model", ""));
		calls += take_output(x, response);
	}
	if (text_eq(type, "response.output_item.added") || text_eq(type, "response.output_item.done") ||
		is_call_item(json_get(data, "item")))
		take_item(x, type, data);
	else if (is_piece(type))
		take_piece(x, type, data);
	if (text_eq(type, "response.completed") || text_eq(type, "response.incomplete") ||
		text_eq(type, "response.failed"))
		x->is_finished = true;
	if (calls_alike(data) > calls)
		form_fault(x, "an event has a call at a place where none belongs");
}

static void read_document(struct assembly *x, const struct json *doc)
{
	(void)take_output(x, doc);
}

/* ---- errors ---- */

/* How the vendor itself says that an answer failed.  Its codes are a closed list; the one for what may not be asked ends a client that would ask again for others. */
static struct json *failed_response(struct arena *a, const struct assembly *x, const struct refusal *r)
{
	struct json *doc = json_new(a, JSON_OBJECT), *response = json_new(a, JSON_OBJECT),
		    *error = json_new(a, JSON_OBJECT);

	json_sets(a, error, "code", r->status >= 500 ? "server_error" : "invalid_prompt");
	json_sets(a, error, "message", privacy_redact_text(a, r->message));
	json_sets(a, response, "id", x->id ? x->id : "resp_helm");
	json_sets(a, response, "object", "response");
	json_sets(a, response, "model", x->model ? x->model : "");
	json_sets(a, response, "status", "failed");
	json_set(a, response, "error", error);
	json_set(a, response, "output", json_new(a, JSON_ARRAY));
	json_sets(a, doc, "type", "response.failed");
	json_seti(a, doc, "sequence_number", x->sequence + 1);
	json_set(a, doc, "response", response);
	return doc;
}

/* Some clients notice only the one, some only the other. */
static void write_error(struct arena *a, const struct assembly *x, const struct refusal *r, struct buf *to)
{
	struct json *doc = json_new(a, JSON_OBJECT), *body = shape_openai_error(a, r);

	shape_event(to, "response.failed", failed_response(a, x, r));
	json_sets(a, doc, "type", "error");
	json_sets(a, doc, "code", r->code);
	json_sets(a, doc, "message", privacy_redact_text(a, r->message));
	json_set(a, doc, "param", json_new(a, JSON_NULL));
	json_seti(a, doc, "sequence_number", x->sequence + 2);
	json_each_member (m, body)
		json_set(a, doc, m->name, m->value);
	shape_event(to, "error", doc);
}

/* ---- without what was refused ---- */

static struct json *said_item(struct arena *a, const char *key, const char *text)
{
	struct json *item = json_new(a, JSON_OBJECT), *content = json_new(a, JSON_ARRAY),
		    *part = json_new(a, JSON_OBJECT);

	json_sets(a, item, "id", arena_printf(a, "msg_helm_%s", key));
	json_sets(a, item, "type", "message");
	json_sets(a, item, "status", "completed");
	json_sets(a, item, "role", "assistant");
	json_sets(a, part, "type", "output_text");
	json_sets(a, part, "text", text);
	json_set(a, part, "annotations", json_new(a, JSON_ARRAY));
	json_push(a, content, part);
	json_set(a, item, "content", content);
	return item;
}

static bool strip_output(struct arena *a, struct assembly *x, struct json *response)
{
	struct json *output = json_get(response, "output");
	bool is_changed = false;

	for (size_t i = 0; json_is(output, JSON_ARRAY) && i < output->n; i++) {
		const char *key = arena_printf(a, "o%zu", i);
		struct settled *s = call_settled(x, key);
		if (!s || s->is_allowed || !is_call_item(output->items[i]))
			continue;
		output->items[i] = said_item(a, key, s->why);
		is_changed = true;
	}
	return is_changed;
}

static void rewrite_document(struct arena *a, struct assembly *x, struct json *doc)
{
	(void)strip_output(a, x, doc);
}

static struct json *told(struct arena *a, const struct assembly *x, const char *type, const struct json *data)
{
	struct json *doc = json_new(a, JSON_OBJECT);

	(void)x;
	json_sets(a, doc, "type", type);
	json_seti(a, doc, "sequence_number", json_get_int(data, "sequence_number", 0));
	json_set(a, doc, "output_index", json_number(a, json_get_int(data, "output_index", 0)));
	return doc;
}

/* A message in the place of the call, told as the vendor would. */
static void tell(
	struct arena *a, struct assembly *x, const struct settled *s, const struct json *data, struct buf *to)
{
	struct json *item = said_item(a, s->key, s->why), *begun = json_copy(a, item), *doc;
	struct json *part = json_at(json_get(item, "content"), 0), *empty = json_copy(a, part);
	const char *id = json_get_text(item, "id", "");

	json_sets(a, begun, "status", "in_progress");
	json_set(a, begun, "content", json_new(a, JSON_ARRAY));
	json_sets(a, empty, "text", "");
	doc = told(a, x, "response.output_item.added", data);
	json_set(a, doc, "item", begun);
	shape_event(to, "response.output_item.added", doc);
	doc = told(a, x, "response.content_part.added", data);
	json_sets(a, doc, "item_id", id);
	json_seti(a, doc, "content_index", 0);
	json_set(a, doc, "part", empty);
	shape_event(to, "response.content_part.added", doc);
	doc = told(a, x, "response.output_text.delta", data);
	json_sets(a, doc, "item_id", id);
	json_seti(a, doc, "content_index", 0);
	json_sets(a, doc, "delta", s->why);
	json_set(a, doc, "logprobs", json_new(a, JSON_ARRAY));
	shape_event(to, "response.output_text.delta", doc);
	doc = told(a, x, "response.output_text.done", data);
	json_sets(a, doc, "item_id", id);
	json_seti(a, doc, "content_index", 0);
	json_sets(a, doc, "text", s->why);
	json_set(a, doc, "logprobs", json_new(a, JSON_ARRAY));
	shape_event(to, "response.output_text.done", doc);
	doc = told(a, x, "response.content_part.done", data);
	json_sets(a, doc, "item_id", id);
	json_seti(a, doc, "content_index", 0);
	json_set(a, doc, "part", part);
	shape_event(to, "response.content_part.done", doc);
	doc = told(a, x, "response.output_item.done", data);
	json_set(a, doc, "item", item);
	shape_event(to, "response.output_item.done", doc);
}

static bool rewrite_event(struct arena *a, struct assembly *x, struct json *data, struct buf *to)
{
	const char *type = json_get_text(data, "type", "");
	struct json *index = json_get(data, "output_index");
	struct settled *s = index ? call_settled(x, key_of(a, index)) : NULL;

	if (s && !s->is_allowed) {
		if (!s->is_told)
			tell(a, x, s, data, to);
		s->is_told = true;
		return true;
	}
	if (!strip_output(a, x, json_get(data, "response")))
		return false;
	shape_event(to, type, data);
	return true;
}

const struct form form_responses = { "responses", read_event, read_document, shape_openai_error, write_error,
	rewrite_document, rewrite_event };
