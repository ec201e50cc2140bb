/* mcp.c — may this call of an MCP server's tool be made?  Decided like a call that a client makes itself: as mcp__SERVER__TOOL. */
#include "base/text.h"
#include "serve/http/http.h"

#include <string.h>

static bool is_name(const char *s)
{
	size_t n = strlen(s);

	return n && n <= 128 && !strstr(s, "__") &&
		strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-/") == n;
}

/* The record of the decision; when it is no ALLOW, with the error beside it that clients read. */
static void tell(struct call *c, const struct handling *h)
{
	const struct json *receipt = h->decision_receipt;
	struct json *o = json_new(c->a, JSON_OBJECT);
	struct err why = { 0 };

	json_sets(c->a, o, "record_id", h->decision_id);
	json_sets(c->a, o, "verdict", verdict_name(h->verdict));
	json_sets(c->a, o, "reason_code", json_get_text(receipt, "reason_code", ""));
	json_sets(c->a, o, "tool_name", json_get_text(c->body, "tool_name", ""));
	json_sets(c->a, o, "args_hash",
		json_get_text(c->body, "args_hash", json_get_text(receipt, "args_hash", "")));
	json_sets(c->a, o, "policy_epoch", json_get_text(json_get(receipt, "subject"), "policy_epoch", "0"));
	json_sets(c->a, o, "mcp_server_id", json_get_text(c->body, "server_id", ""));
	json_sets(c->a, o, "receipt_id", json_get_text(receipt, "receipt_id", ""));
	json_sets(c->a, o, "record_hash", json_get_text(receipt, "output_hash", ""));
	json_sets(c->a, o, "created_at", json_get_text(receipt, "timestamp", ""));
	if (h->question && h->is_question_kept)
		json_sets(c->a, o, "approval_id", json_get_text(h->question, "approval_id", ""));
	if (h->verdict == V_ALLOW) {
		call_answer(c, 200, o);
		return;
	}
	const struct reason *reason = reason_get(h->decision.reason_code);
	(void)call_refuse(c, &why, 403, reason->code, "%s",
		h->decision.summary ? h->decision.summary : reason->meaning);
	call_error(c, &why, o);
}

static int authorize(struct call *c, struct err *e)
{
	const char *server = json_get_text(c->body, "server_id", ""),
		   *tool = json_get_text(c->body, "tool_name", "");
	struct json *args = json_new(c->a, JSON_OBJECT), *context = call_context(c, NULL),
		    *bound = json_new(c->a, JSON_OBJECT);
	static const char *const known[] = { "args_hash", "granted_scopes", "pinned_schema_hash",
		"oauth_resource", "receipt_id" };
	struct handling h = { .a = c->a };

	if (!is_name(server) || !is_name(tool))
		return call_refuse(c, e, 400, "BAD_REQUEST",
			"server_id and tool_name are made of letters, digits and . _ - /");
	json_each_member (m, json_get(c->body, "args"))
		json_set(c->a, args, m->name, m->value);
	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (json_get(c->body, known[i]))
			json_set(c->a, context, known[i], json_get(c->body, known[i]));
	/* Who sends no arguments is bound by the digest of them. */
	if (json_get(c->body, "args_hash"))
		json_set(c->a, bound, "args_hash", json_copy(c->a, json_get(c->body, "args_hash")));
	int rc = decide_tool(c,
		&(struct tool_question){ .tool = arena_printf(c->a, "mcp__%s__%s", server, tool),
			.session = json_get_text(c->body, "session_id", "mcp"),
			.args = args,
			.context = context,
			.draft = bound->n ? bound : NULL,
			.door = "api/mcp" },
		&h, e);
	if (rc == OK)
		tell(c, &h);
	return rc;
}

const struct route http_mcp_routes[] = {
	{ "POST", "/api/v1/mcp/authorize-call", AUTH_ADMIN, SCOPE_EVALUATE, RATE_KERNEL, TAKES_JSON | IS_ONCE,
		authorize, "decide about a call of an MCP server's tool", "McpCall", "BoundaryRecord" },
	{ 0 },
};
