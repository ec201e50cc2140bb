/* respond.c — a tool named respond, for models that must answer with a tool call: put among the tools, and taken out of the answer again. */
#include "remember/evidence.h"

#include "base/text.h"

#define RESPOND "respond"

static const struct json *function_of(const struct json *v)
{
	const struct json *inner = json_get(v, "function");

	return json_is(inner, JSON_OBJECT) ? inner : v;
}

static bool is_respond(const struct json *v)
{
	return text_eq(json_get_text(function_of(v), "name", ""), RESPOND);
}

struct json *respond_inject(struct arena *a, const struct json *tools)
{
	static const char tool[] =
		"{\"type\":\"function\",\"function\":{\"name\":\"" RESPOND
		"\",\"description\":\"Say something to the person.\",\"parameters\":{\"type\":\"object\","
		"\"properties\":{\"message\":{\"type\":\"string\"}},\"required\":[\"message\"]}}}";
	struct json *list = json_new(a, JSON_ARRAY), *own;

	json_each (one, tools)
		json_push(a, list, json_copy(a, one));
	json_each (one, tools)
		if (is_respond(one))
			return list;
	if (json_parse(a, BYTES_LITERAL(tool), RESPOND, NULL, &own, NULL))
		BUG("the tool respond is no JSON");
	json_push(a, list, own);
	return list;
}

/* What the call says; NULL: it cannot be read. */
static const char *message_of(struct arena *a, const struct json *call)
{
	struct json *args = json_get(function_of(call), "arguments");
	const char *text = json_text(args);

	if (text && json_parse(a, bytes_of(text), "arguments", NULL, &args, NULL))
		return NULL;
	return json_get_text(args, "message", NULL);
}

struct json *respond_strip(struct arena *a, const struct json *reply)
{
	struct json *doc = json_copy(a, reply), *others = json_new(a, JSON_ARRAY);
	const struct json *first = NULL;

	json_each (call, json_get(reply, "tool_calls")) {
		if (!is_respond(call))
			json_push(a, others, json_copy(a, call));
		else if (!first)
			first = call;
	}
	if (!first)
		return doc;
	const char *said = message_of(a, first);
	if (!said) {
		json_sets(a, doc, "_strip_warning", "the arguments of respond cannot be read");
		return doc;
	}
	json_sets(a, doc, "content", said);
	json_set(a, doc, "tool_calls", others);
	return doc;
}

struct json *respond_finalize(struct arena *a, const struct json *reply, bool tool_required)
{
	struct json *doc = respond_strip(a, reply);
	bool has_one = false;

	json_each (call, json_get(reply, "tool_calls"))
		has_one |= is_respond(call);
	if (tool_required && !has_one)
		json_sets(a, doc, "_finalize_warning", "terminal_without_respond");
	return doc;
}
