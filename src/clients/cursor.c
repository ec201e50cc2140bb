/* cursor.c — Cursor.
 *
 * Its payload names an event instead of a tool, so the event is translated to the tool that the guard
 * knows. It asks before shell commands, calls of MCP servers and reads of files, but not before edits;
 * `helm setup status` warns about that. */
#include "base/text.h"
#include "clients/parts.h"

#include <string.h>

/* As it is, also with a NUL in it, which is judged then. */
static void set_text(struct arena *a, struct json *input, const char *name, const struct json *from)
{
	const struct json *v = json_get(from, name);

	json_set(a, input, name, json_is(v, JSON_STRING) ? json_copy(a, v) : json_string(a, ""));
}

/* Events that begin with "before" are Cursor's; any other payload is read by the common members. An
 * unknown "before" event is an error, so that a new kind of call is refused and not waved through. */
static int cursor_read(
	struct arena *a, const struct json *doc, struct tool_call *ret, bool *ret_is_read, struct err *e)
{
	const char *event = json_get_text(doc, "hook_event_name", "");
	struct json *input = json_new(a, JSON_OBJECT);

	if (!text_starts(event, "before"))
		return OK;
	if (text_eq(event, "beforeShellExecution")) {
		ret->tool_name = "Bash";
		set_text(a, input, "command", doc);
	} else if (text_eq(event, "beforeReadFile")) {
		ret->tool_name = "Read";
		set_text(a, input, "file_path", doc);
	} else if (text_eq(event, "beforeMCPExecution")) {
		/* Cursor sends the input of an MCP call as JSON inside a text, or as it is. */
		struct json *given = json_get(doc, "tool_input");
		if (json_text(given) &&
			json_parse(a, bytes_of(json_text(given)), "tool_input", NULL, &given, e))
			return e->rc;
		if (given && !json_is(given, JSON_OBJECT) && !json_is(given, JSON_NULL))
			return err_set(e, E_INPUT, "HOOK_PAYLOAD", "'tool_input' is %s, not an object",
				json_type_name(given));
		input = json_is(given, JSON_OBJECT) ? given : input;
		/* It does not tell the server; a tool's own name must not look as if it did. */
		const char *name = json_get_text(doc, "tool_name", "unknown");
		ret->tool_name = arena_printf(a, strstr(name, "__") ? "mcp____%s" : "mcp__%s", name);
	} else {
		return err_set(e, E_INPUT, "HOOK_PAYLOAD", "the event '%.60s' is not known", event);
	}
	ret->input = input;
	*ret_is_read = true;
	return OK;
}

static struct json *cursor_answer(struct arena *a, const char *word, const char *text, const char *person)
{
	struct json *doc = json_new(a, JSON_OBJECT);

	json_sets(a, doc, "permission", word);
	json_sets(a, doc, "user_message", person);
	json_sets(a, doc, "agent_message", text);
	return doc;
}

static const char *cursor_denial(const struct json *answer)
{
	return text_eq(json_get_text(answer, "permission", ""), "deny")
		? json_get_text(answer, "agent_message", NULL)
		: NULL;
}

static struct json *cursor_payload(struct arena *a, const char *command)
{
	struct json *doc = json_new(a, JSON_OBJECT);

	json_sets(a, doc, "hook_event_name", "beforeShellExecution");
	json_sets(a, doc, "command", command);
	return doc;
}

/* failClosed: Cursor blocks the call when the hook crashes or takes too long. */
static struct json *cursor_entry(struct arena *a, const char *command, const char *verb)
{
	struct json *one = json_new(a, JSON_OBJECT);

	(void)verb;
	json_sets(a, one, "command", command);
	json_seti(a, one, "timeout", CLIENT_TIMEOUT_S);
	json_setb(a, one, "failClosed", true);
	return one;
}

static void cursor_look(struct client_look *l)
{
	json_pushs(l->a, l->warnings,
		"Cursor asks before commands, MCP calls and reads; its edits are not stopped by this");
}

static const struct client_speech speech = { .can_ask = true,
	.read = cursor_read,
	.answer = cursor_answer,
	.denial = cursor_denial,
	.payload = cursor_payload };

static const struct client_setup setup = { .file = ".cursor/hooks.json",
	.fresh = "{\n  \"version\": 1\n}\n",
	.is_flat = true,
	.events = { { "beforeShellExecution", "pre-tool" }, { "beforeMCPExecution", "pre-tool" },
		{ "beforeReadFile", "pre-tool" } },
	.entry = cursor_entry,
	.look = cursor_look };

const struct client client_cursor = { .name = "cursor",
	.title = "Cursor",
	.marks = MARKS("CURSOR_AGENT"),
	.files = FILES({ ".cursor/hooks.json", CARE_CLOSED }, { ".cursor/hooks/", CARE_CLOSED },
		{ ".cursor/mcp.json", CARE_ASK }),
	.speech = &speech,
	.setup = &setup };
