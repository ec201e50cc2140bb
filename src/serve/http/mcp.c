/* mcp.c — may this call of an MCP server's tool be made?  Decided like a call that a client makes itself: as mcp__SERVER__TOOL, and of a server that the
 * registry knows, not without the registry.  The registry is the workspace's own (kernel/mcp/): here it is read, and approvals are withdrawn; to add or to
 * approve takes a person at a terminal. */
#include "kernel/mcp/mcp.h"
#include "base/text.h"
#include "kernel/act.h"
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

/* One more voice: of a server that the registry does not know it says nothing, and policies decide. */
static int ask_registry(struct call *c, const char *server, const char *tool, const struct json *args,
	struct mcp_answer *ret, struct err *e)
{
	struct json *registry, *seen;
	int rc = mcp_load(c->server->sys, c->a, c->server->ws, &registry, e);

	*ret = (struct mcp_answer){ .action = ACTION_ALLOW };
	if (rc == OK)
		rc = mcp_seen_load(c->server->sys, c->a, c->server->ws, &seen, e);
	const struct json *row = rc ? NULL : json_get(json_get(registry, "servers"), server);
	if (!row)
		return rc;
	const struct json *now = json_get(json_get(json_get(seen, "servers"), server), "tools");
	const struct mcp_question q = { .server = server,
		.tool = tool,
		.row = row,
		.seen = now ? mcp_tool_in(now, tool)
			    : json_get(json_get(json_get(row, "tools"), tool), "definition"),
		.args = args,
		.now_us = c->server->sys->now_us(c->server->sys) };
	mcp_judge(c->a, &q, ret);
	return OK;
}

/* ---- the registry ---- */

/* What the worst of its approved tools does. */
static const char *risk_of(const struct json *row)
{
	const char *risk = "unknown";

	json_each_member (m, json_get(row, "tools")) {
		const char *effect = json_get_text(m->value, "effect", "destroy");
		if (text_eq(effect, "destroy"))
			return "high";
		if (text_eq(effect, "write"))
			risk = "medium";
		else if (text_eq(risk, "unknown"))
			risk = "low";
	}
	return risk;
}

/* How a server is started stands in no answer: words and variables of it may be private. */
static struct json *server_json(struct call *c, const char *id, const struct json *row)
{
	static const char *const same[] = { "approved_at", "approved_by", "approval_receipt_id", "revoked_at",
		"expires_at", "reason" };
	struct json *doc = json_new(c->a, JSON_OBJECT), *tools = json_new(c->a, JSON_ARRAY);

	json_sets(c->a, doc, "server_id", id);
	json_sets(c->a, doc, "name", id);
	json_sets(c->a, doc, "transport", json_get(row, "url") ? "http" : "stdio");
	json_each_member (m, json_get(row, "tools"))
		json_pushs(c->a, tools, m->name);
	json_set(c->a, doc, "tool_names", tools);
	json_sets(c->a, doc, "risk", risk_of(row));
	json_sets(c->a, doc, "state", mcp_state(row, c->server->sys->now_us(c->server->sys)));
	json_sets(c->a, doc, "discovered_at", json_get_text(row, "added_at", "1970-01-01T00:00:00Z"));
	for (size_t i = 0; i < ARRAY_SIZE(same); i++)
		if (json_get_text(row, same[i], NULL))
			json_sets(c->a, doc, same[i], json_get_text(row, same[i], ""));
	return doc;
}

/* The servers of the workspace are of the tenant of the installation. */
static int servers_of(struct call *c, const struct json **ret, struct err *e)
{
	struct json *registry;
	int rc = mcp_load(c->server->sys, c->a, c->server->ws, &registry, e);

	if (rc == OK)
		*ret = text_eq(c->who.tenant, auth_home_tenant(c->server)) ? json_get(registry, "servers")
									   : NULL;
	return rc;
}

int64_t mcp_quarantined(struct call *c)
{
	const struct json *servers;
	int64_t n = 0, now = c->server->sys->now_us(c->server->sys);
	struct err e = { 0 };

	if (servers_of(c, &servers, &e))
		return 0;
	json_each_member (m, servers)
		n += text_eq(mcp_state(m->value, now), "quarantined");
	return n;
}

static int list(struct call *c, struct err *e)
{
	struct json *all = json_new(c->a, JSON_ARRAY);
	const struct json *servers;
	int rc = servers_of(c, &servers, e);

	if (rc)
		return rc;
	json_each_member (m, servers)
		json_push(c->a, all, server_json(c, m->name, m->value));
	call_answer(c, 200, all);
	return OK;
}

static int one(struct call *c, struct err *e)
{
	const struct json *servers;
	int rc = servers_of(c, &servers, e);
	const struct json *row = rc ? NULL : json_get(servers, c->args[0]);

	if (rc == OK && !row)
		return call_refuse(
			c, e, 404, "NOT_FOUND", "there is no such server; 'helm mcp add' makes one known");
	if (rc == OK)
		call_answer(c, 200, server_json(c, c->args[0], row));
	return rc;
}

/* Withdrawing takes nobody at a terminal: it only makes things stricter. */
static int withdraw(struct call *c, struct err *e)
{
	const struct person who = { .name = arena_printf(c->a, "%s by key %s", c->who.principal,
					    c->who.key_id ? c->who.key_id : "of the environment") };
	const struct json *servers;
	struct json *row;
	int rc = servers_of(c, &servers, e);

	if (rc == OK && !json_get(servers, c->args[0]))
		return call_refuse(c, e, 404, "NOT_FOUND", "there is no such server");
	if (rc)
		return rc;
	(void)call_hold(c);
	rc = mcp_revoke(c->k, c->a, c->args[0], NULL, json_get_text(c->body, "reason", NULL), &who, &row, e);
	if (rc == OK)
		call_answer(c, 200, server_json(c, c->args[0], row));
	return rc;
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
	const struct tool_question q = { .tool = arena_printf(c->a, "mcp__%s__%s", server, tool),
		.session = json_get_text(c->body, "session_id", "mcp"),
		.args = args,
		.context = context,
		.draft = bound->n ? bound : NULL,
		.door = "api/mcp" };
	struct mcp_answer said;
	struct request *r;
	int rc = ask_registry(c, server, tool, args, &said, e);
	if (rc == OK)
		rc = decide_prepare(c, &q, &r, e);
	if (rc == OK && said.action != ACTION_ALLOW) {
		r->at_least.action = said.action;
		r->at_least.rule = said.rule;
		r->at_least.text = said.text;
		r->at_least.code = &said.code;
	}
	if (rc == OK)
		rc = decide_run(c, r, &h, e);
	if (rc == OK)
		tell(c, &h);
	return rc;
}

const struct route http_mcp_routes[] = {
	{ "POST", "/api/v1/mcp/authorize-call", AUTH_ADMIN, SCOPE_ADMIN, RATE_KERNEL, TAKES_JSON | IS_ONCE,
		authorize, "decide about a call of an MCP server's tool", "McpCall", "BoundaryRecord" },
	{ "GET", "/api/v1/mcp/registry", AUTH_ADMIN, SCOPE_ADMIN, RATE_ADMIN, 0, list,
		"servers of tools that this workspace knows", NULL, "[]McpServer" },
	{ "GET", "/api/v1/mcp/registry/{id}", AUTH_ADMIN, SCOPE_ADMIN, RATE_ADMIN, 0, one, "one of them",
		NULL, "McpServer" },
	{ "POST", "/api/v1/mcp/registry/{id}/revoke", AUTH_ADMIN, SCOPE_ADMIN, RATE_ADMIN,
		TAKES_JSON | BODY_OPTIONAL, withdraw, "withdraw the approval of one", "McpWithdrawal",
		"McpServer" },
	{ 0 },
};
