/* mcp.c — calls to tools of servers: approved, known, in scope, and still what they were.
 *
 * A server is approved by a person, for tools and effects.  What it says about its tools is pinned by a hash: another schema is
 * another tool.  Listing uses the same approval and never replaces the check of a call. */
#include "decide/authority/parts.h"

#include "proof/preimage.h"

#include <string.h>

#define METADATA "/.well-known/oauth-protected-resource"

const char *mcp_schema_hash(struct arena *a, const char *tool, const struct json *entry)
{
	static const char *const names[] = { "schema", "output_schema" };
	struct json *hashed = json_new(a, JSON_OBJECT);

	json_sets(a, hashed, "name", tool);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (json_get(entry, names[i]))
			json_set(a, hashed, names[i], json_get(entry, names[i]));
	return hash_without(a, hashed, NULL);
}

/* One call, with what is known about both sides. */
struct calling {
	struct judging *j;
	const struct mcp_facts *f;
	const struct json *server, *tool; /* their entries; or NULL */
	const char *effect, *pin;
	bool needs_pin;
};

/* What the door found wins over nothing; what the policy says about a server wins over both. */
static void begin(struct calling *c, struct judging *j, const struct mcp_facts *f)
{
	const struct json *section = section_of(j, "mcp");
	const struct json *ours = json_get(json_get(section, "servers"), f->server);

	*c = (struct calling){ .j = j,
		.f = f,
		.server = ours ? ours : json_get(f->servers, f->server),
		.tool = json_get(f->catalogue, f->tool),
		.effect = f->effect ? f->effect : "read",
		.needs_pin = json_get_bool(section, "require_pin", false) };
	c->pin = f->pin ? f->pin : json_get_text(json_get(c->server, "pins"), f->tool, NULL);
}

/* Absent means read: more must be said. */
static bool is_in_approval(const struct calling *c)
{
	const struct json *tools = json_get(c->server, "tools"), *effects = json_get(c->server, "effects");

	return (texts_have(tools, c->f->tool) || texts_have(tools, "*")) &&
		(effects ? texts_have(effects, c->effect) : text_eq(c->effect, "read"));
}

static bool has_scopes(const struct calling *c)
{
	json_each (scope, json_get(c->tool, "scopes"))
		if (!json_text(scope) || !texts_have(c->f->scopes, json_text(scope)))
			return false;
	return true;
}

static void judge_server(const struct calling *c, struct gate_answer *ret)
{
	const char *state = json_get_text(c->server, "state", "discovered");
	int64_t until;
	bool is_over = json_get(c->server, "expires_at") &&
		!(member_time(c->server, "expires_at", &until) && c->j->facts->now_us < until);

	if (text_eq(state, "revoked") || text_eq(state, "expired") || is_over)
		gate_deny(ret, REASON_APPROVAL_TIMEOUT, "mcp",
			"The server's approval was withdrawn or is over.");
	else if (!text_eq(state, "approved"))
		gate_escalate(ret, REASON_APPROVAL_REQUIRED, "mcp",
			arena_printf(c->j->a, "Nobody has approved server '%.80s'.", c->f->server));
	else if (!is_in_approval(c))
		gate_deny(ret, REASON_APPROVAL_REQUIRED, "mcp",
			"The server's approval does not reach this tool, or not this kind of effect.");
}

static void judge_tool(const struct calling *c, struct gate_answer *ret)
{
	if (!c->tool || !text_eq(json_get_text(c->tool, "server", ""), c->f->server)) {
		gate_escalate(ret, REASON_SCHEMA_VIOLATION, "mcp", "The server does not list this tool.");
		return;
	}
	if (!has_scopes(c)) {
		gate_deny(ret, REASON_INSUFFICIENT_PRIVILEGE, "mcp",
			"The caller lacks a scope that the tool needs.");
		return;
	}
	const char *hash = mcp_schema_hash(c->j->a, c->f->tool, c->tool);
	if (!hash)
		gate_deny(ret, REASON_SCHEMA_VIOLATION, "mcp", "The tool's schema has no canonical form.");
	else if (!c->pin && c->needs_pin)
		gate_escalate(ret, REASON_SCHEMA_VIOLATION, "mcp", "The tool must be pinned, and is not.");
	else if (c->pin && !text_eq(c->pin, hash))
		gate_deny(ret, REASON_SCHEMA_VIOLATION, "mcp",
			"The tool is not the one that was pinned: its schema has changed.");
	if (hash)
		bind_text(c->j, ret, "schema_hash", hash);
}

void gate_mcp(struct judging *j, struct gate_answer *ret)
{
	const struct mcp_facts *f = j->facts->mcp;
	struct calling c;

	ret->is_active = f || section_of(j, "mcp");
	if (!f || !f->server || !f->tool)
		return;
	begin(&c, j, f);
	judge_server(&c, ret);
	if (ret->verdict == V_ALLOW)
		judge_tool(&c, ret);
}

/* ---- tokens ---- */

/* A claim that may be one text or a list of them. */
static bool claims_text(const struct json *claims, const char *name, const char *want)
{
	const struct json *v = json_get(claims, name);

	return (json_text(v) && text_eq(json_text(v), want)) || texts_have(v, want);
}

/* "scope" is a text of words. */
static bool has_scope(const char *scope, const char *want)
{
	size_t n = strlen(want);

	for (const char *at = scope; *at; at += strspn(at, " ")) {
		size_t word = strcspn(at, " ");
		if (word == n && memcmp(at, want, n) == 0)
			return true;
		at += word;
	}
	return false;
}

const char *mcp_token_fault(const struct json *claims, const struct mcp_expected *want)
{
	int64_t expires;

	if (!json_is(claims, JSON_OBJECT))
		return "invalid_token";
	if (!text_eq(json_get_text(claims, "iss", ""), want->issuer))
		return "invalid_issuer";
	if (want->audience && !claims_text(claims, "aud", want->audience))
		return "invalid_audience";
	if (!claims_text(claims, "resource", want->resource))
		return "invalid_resource";
	if (json_get(claims, "exp") &&
		(!json_int(json_get(claims, "exp"), &expires) || expires <= want->now_us / 1000000))
		return "expired_token";
	json_each (scope, want->scopes)
		if (!json_text(scope) || !has_scope(json_get_text(claims, "scope", ""), json_text(scope)))
			return "insufficient_scope";
	return NULL;
}

struct json *mcp_resource_document(struct arena *a, const char *path, const struct mcp_expected *want,
	const struct json *scopes_supported)
{
	struct json *doc = json_new(a, JSON_OBJECT), *servers = json_new(a, JSON_ARRAY);
	struct json *methods = json_new(a, JSON_ARRAY);

	if (!text_eq(path, METADATA) && !text_starts(path, METADATA "/"))
		return NULL;
	json_pushs(a, servers, want->issuer);
	json_pushs(a, methods, "header");
	json_sets(a, doc, "resource", want->resource);
	json_set(a, doc, "authorization_servers", servers);
	json_set(a, doc, "scopes_supported",
		scopes_supported ? json_copy(a, scopes_supported) : json_new(a, JSON_ARRAY));
	json_set(a, doc, "bearer_methods_supported", methods);
	return doc;
}
