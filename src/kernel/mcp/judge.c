/* judge.c — may a tool be called with these arguments, as far as a person has said so?
 *
 * The order is that of decide/authority: the server, its approval for the tool and the effect, what the server lists now, the pin of the
 * schemas.  Behind it comes what the registry knows beyond that: the pin of everything else that the tool says, arguments that
 * were approved, and an end.  Policies, guard rules and freezes have their own say later, and can only be stricter. */
#include "kernel/mcp/mcp.h"

#include "base/schema.h"
#include "base/text.h"
#include "decide/authority/authority.h"

#include <string.h>

/* The row as the gate reads it: the approval of this one tool. */
static struct json *servers_of(struct arena *a, const struct mcp_question *q, const char *effect)
{
	struct json *servers = json_new(a, JSON_OBJECT), *server = json_new(a, JSON_OBJECT),
		    *tools = json_new(a, JSON_ARRAY), *effects = json_new(a, JSON_ARRAY);
	const struct json *pinned = json_get(json_get(q->row, "tools"), q->tool);

	json_sets(a, server, "state", mcp_state(q->row, q->now_us));
	if (pinned)
		json_pushs(a, tools, q->tool);
	json_pushs(a, effects, json_get_text(pinned, "effect", effect));
	json_set(a, server, "tools", tools);
	json_set(a, server, "effects", effects);
	if (json_get(pinned, "expires_at"))
		json_set(a, server, "expires_at", json_get(pinned, "expires_at"));
	json_set(a, servers, q->server, server);
	return servers;
}

static struct json *catalogue_of(struct arena *a, const struct mcp_question *q)
{
	struct json *catalogue = json_new(a, JSON_OBJECT), *tool = json_new(a, JSON_OBJECT);

	if (!q->seen)
		return catalogue;
	json_sets(a, tool, "server", q->server);
	if (json_get(q->seen, "inputSchema"))
		json_set(a, tool, "schema", json_get(q->seen, "inputSchema"));
	if (json_get(q->seen, "outputSchema"))
		json_set(a, tool, "output_schema", json_get(q->seen, "outputSchema"));
	json_set(a, catalogue, q->tool, tool);
	return catalogue;
}

static void say(struct mcp_answer *ret, enum rule_effect action, enum reason_code code, const char *rule,
	const char *text)
{
	ret->action = action;
	ret->code = code;
	ret->rule = rule;
	ret->text = text;
}

/* A tool that was never approved waits for a person; the gate calls it outside of the approval, which is a no for good. */
static bool is_new_tool(const struct mcp_question *q)
{
	return text_eq(mcp_state(q->row, q->now_us), "approved") &&
		!json_get(json_get(q->row, "tools"), q->tool);
}

static void judge_pins(struct arena *a, const struct mcp_question *q, struct mcp_answer *ret)
{
	const struct json *pinned = json_get(json_get(q->row, "tools"), q->tool);

	if (!text_eq(json_get_text(pinned, "text_sha256", ""), ret->pin.text))
		say(ret, ACTION_DENY, REASON_SCHEMA_VIOLATION, "mcp.changed",
			arena_printf(a,
				"The tool does not say of itself what it said when it was approved; 'helm mcp diff %s' shows the difference.",
				q->server));
}

static bool is_in(const struct json *globs, const char *value)
{
	json_each (one, globs)
		if (json_text(one) && text_glob(json_text(one), value, false))
			return true;
	return false;
}

/* Every argument that is named must be there, be a text (or a list of them), and fit.  ".." could lead out of what a pattern means. */
static const char *unfit_argument(struct arena *a, const struct json *wanted, const struct json *args)
{
	json_each_member (m, wanted) {
		const struct json *v = json_get(args, m->name);
		bool fits = json_text(v) && !strstr(json_text(v), "..") && is_in(m->value, json_text(v));
		json_each (one, v) {
			fits = json_text(one) && !strstr(json_text(one), "..") &&
				is_in(m->value, json_text(one));
			if (!fits)
				break;
		}
		if (!fits)
			return arena_strdup(a, m->name);
	}
	return NULL;
}

static void judge_arguments(struct arena *a, const struct mcp_question *q, struct mcp_answer *ret)
{
	const struct json *wanted = json_get(json_get(json_get(q->row, "tools"), q->tool), "arguments");
	const char *unfit = unfit_argument(a, wanted, q->args);

	if (unfit)
		say(ret, ACTION_ASK, REASON_APPROVAL_REQUIRED, "mcp.arguments",
			arena_printf(
				a, "The approval does not reach this value of the argument '%.80s'.", unfit));
}

void mcp_judge(struct arena *a, const struct mcp_question *q, struct mcp_answer *ret)
{
	const struct json *pinned = json_get(json_get(q->row, "tools"), q->tool);

	*ret = (struct mcp_answer){ .action = ACTION_DENY, .code = REASON_SCHEMA_VIOLATION, .rule = "mcp" };
	mcp_pin(a, q->seen, &ret->pin);
	ret->effect = json_get_text(pinned, "effect", NULL);
	if (!ret->effect)
		ret->effect = mcp_effect(q->server, q->seen);
	const struct mcp_facts mcp = { .server = q->server,
		.tool = q->tool,
		.effect = ret->effect,
		.servers = servers_of(a, q, ret->effect),
		.catalogue = catalogue_of(a, q),
		.pin = json_get_text(pinned, "schema_sha256", NULL) };
	const struct facts facts = { .now_us = q->now_us, .mcp = &mcp };
	struct judging j = { .a = a, .facts = &facts };
	struct gate_answer said = { .verdict = V_ALLOW };

	if (is_new_tool(q)) {
		say(ret, ACTION_ASK, REASON_APPROVAL_REQUIRED, "mcp.tool",
			arena_printf(a, "Nobody has approved this tool of server '%.80s'.", q->server));
		return;
	}
	gate_mcp(&j, &said);
	if (said.verdict != V_ALLOW) {
		say(ret, said.verdict == V_ESCALATE ? ACTION_ASK : ACTION_DENY, said.code,
			said.code == REASON_SCHEMA_VIOLATION ? "mcp.changed" : "mcp.server", said.text);
		return;
	}
	say(ret, ACTION_ALLOW, REASON_SCHEMA_VIOLATION, NULL, NULL);
	judge_pins(a, q, ret);
	if (ret->action == ACTION_ALLOW)
		judge_arguments(a, q, ret);
}

/* ---- arguments ---- */

static const char *code_of(const char *text)
{
	return strstr(text, "required") ? "ERR_TOOL_ARGS_MISSING_REQUIRED"
		: strstr(text, "additionalProperties") || strstr(text, "not allowed") ||
			strstr(text, "unknown")
		? "ERR_TOOL_ARGS_UNKNOWN_FIELD"
		: "ERR_TOOL_ARGS_TYPE_MISMATCH";
}

/* Members that the schema declares nothing about are refused where it declares some, and does not say otherwise. */
static struct json *closed(struct arena *a, const struct json *schema)
{
	struct json *doc = json_copy(a, schema);

	if (json_is(doc, JSON_OBJECT) && json_is(json_get(doc, "properties"), JSON_OBJECT) &&
		!json_get(doc, "additionalProperties") && !json_get(doc, "patternProperties") &&
		!json_get(doc, "allOf") && !json_get(doc, "anyOf") && !json_get(doc, "oneOf") &&
		!json_get(doc, "if") && !json_get(doc, "$ref") && !json_get(doc, "unevaluatedProperties"))
		json_setb(a, doc, "additionalProperties", false);
	return doc;
}

/* What the words of a schema mean is said by its dialect; without one it is the newest. */
static int check_dialect(const struct json *schema, struct err *e)
{
	static const char *const known[] = { "http://json-schema.org/draft-07/schema",
		"https://json-schema.org/draft-07/schema", "https://json-schema.org/draft/2019-09/schema",
		"https://json-schema.org/draft/2020-12/schema" };
	const struct json *said = json_get(schema, "$schema");
	size_t n = json_text(said) ? strcspn(json_text(said), "#") : 0;

	for (size_t i = 0; said && i < ARRAY_SIZE(known); i++)
		if (n == strlen(known[i]) && strncmp(json_text(said), known[i], n) == 0)
			return OK;
	return said ? err_set(e, E_INPUT, "MCP_SCHEMA",
			      "its schema is of the dialect '%.80s', which is not known",
			      json_text(said) ? json_text(said) : "?")
		    : OK;
}

static int compile(struct arena *a, const struct json *tool, struct schema **ret, struct err *e)
{
	const struct json *schema = json_get(tool, "inputSchema");

	if (!json_is(schema, JSON_OBJECT))
		return err_set(e, E_INPUT, "MCP_SCHEMA", "the tool has no schema of its arguments");
	if (check_dialect(schema, e))
		return E_INPUT;
	if (schema_compile(a, closed(a, schema), json_get_text(tool, "name", "tool"), ret, e))
		return err_set(e, E_INPUT, "MCP_SCHEMA", "%s", arena_strdup(a, e->text));
	return OK;
}

/* Clients take no list in which one tool has a schema that is none of an object. */
int mcp_check_tool(struct arena *a, const struct json *tool, struct err *e)
{
	const struct json *output = json_get(tool, "outputSchema");
	struct schema *compiled;
	int rc = compile(a, tool, &compiled, e);

	if (rc == OK && !text_eq(json_get_text(json_get(tool, "inputSchema"), "type", ""), "object"))
		rc = err_set(e, E_INPUT, "MCP_SCHEMA", "the schema of its arguments is not of an object");
	if (rc == OK && output && !json_is(output, JSON_OBJECT))
		rc = err_set(e, E_INPUT, "MCP_SCHEMA", "the schema of its result is no schema");
	if (rc == OK)
		rc = check_dialect(output, e);
	if (rc == OK && output &&
		schema_compile(a, output, json_get_text(tool, "name", "tool"), &compiled, e))
		rc = err_set(e, E_INPUT, "MCP_SCHEMA", "%s", arena_strdup(a, e->text));
	return rc;
}

int mcp_check_args(struct arena *a, const struct json *tool, const struct json *args, struct err *e)
{
	struct schema *compiled;

	if (!json_is(args, JSON_OBJECT))
		return err_set(e, E_INPUT, "ERR_TOOL_ARGS_TYPE_MISMATCH", "arguments must be an object");
	if (compile(a, tool, &compiled, e))
		return E_INPUT;
	if (schema_check(compiled, args, e) == OK)
		return OK;
	const char *text = arena_strdup(a, e->text);
	return err_set(e, E_INPUT, code_of(text), "%s", text);
}
