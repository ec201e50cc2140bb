/* authorize.c — a call that somebody asks about without making it: decided and on record like one that comes through the gateway. */
#include "kernel/mcp/mcp.h"

#include "base/file.h"
#include "base/text.h"
#include "clients/clients.h"

#include <string.h>

enum placement mcp_placement(const struct json *row)
{
	return row && !json_get(row, "url") ? BY_SUPERVISOR : UNSANDBOXED;
}

void mcp_surround(
	struct sys *s, struct arena *a, const struct json *row, const char *home, struct surroundings *at)
{
	const struct json *granted = json_get(row, "write");
	size_t n = 0;

	while (at->allowed && at->allowed[n])
		n++;
	const char **all = arena_zalloc(a, n + (granted ? (size_t)granted->n : 0) + 1, sizeof(*all));
	if (n)
		memcpy(all, at->allowed, n * sizeof(*all));
	json_each (one, granted) {
		const char *path = mcp_expanded(s, a, json_text(one));
		if (text_starts(path, "~/") && home)
			path = arena_printf(a, "%s%s", home, path + 1);
		if (path[0] == '/')
			all[n++] = path_clean(a, path);
	}
	at->allowed = all;
}

int mcp_authorize(struct kernel *k, const char *server, const char *tool, const struct json *args,
	const char *client, struct handling *h, struct err *e)
{
	struct arena *a = h->a;
	struct json *registry, *seen, *about = json_new(a, JSON_OBJECT);
	struct surroundings at = guard_at(&k->guard, a, workspace_call_dir(k->sys, a, k->ws));
	struct proposal proposal = { 0 };
	struct mcp_answer said;
	const char *profile;
	int rc = mcp_load(k->sys, a, k->ws, &registry, e);

	if (rc == OK)
		rc = mcp_seen_load(k->sys, a, k->ws, &seen, e);
	if (rc == OK)
		rc = workspace_default_profile(k->sys, a, k->ws, &profile, e);
	if (rc)
		return rc;
	const struct json *row = json_get(json_get(registry, "servers"), server);
	const struct json *now = json_get(json_get(json_get(seen, "servers"), server), "tools");
	const struct mcp_question question = { .server = server,
		.tool = tool,
		.row = row,
		.seen = now ? mcp_tool_in(now, tool)
			    : json_get(json_get(json_get(row, "tools"), tool), "definition"),
		.args = args,
		.now_us = k->sys->now_us(k->sys) };
	mcp_judge(a, &question, &said);
	const struct tool_call call = { .tool_name = arena_printf(a, "mcp__%s__%s", server, tool),
		.input = json_copy(a, args) };
	mcp_surround(k->sys, a, row, k->ws->home, &at);
	propose_tool(a, &at, &call, &proposal);
	json_sets(a, about, "mcp_server_id", server);
	json_sets(a, about, "tool_effect", said.effect);
	json_sets(a, about, "mcp_args_hash", json_sha256(a, args));
	json_sets(a, about, "source", "mcp.authorize-call");
	struct request q = { .who = { .door = "mcp",
				     .subject_id = client
					     ? arena_printf(a, "agent:%s", client)
					     : arena_printf(a, "user:%u", k->sys->euid(k->sys)) },
		.what = { .tool = call.tool_name,
			.action = "AGENT_TOOL_CALL",
			.proposal = &proposal,
			.args = bytes_of(tool_call_sha256(a, call.tool_name, args)),
			.params = args,
			.preview = call.tool_name,
			.about = about },
		.where = &at,
		.placement = mcp_placement(row),
		.mode = GUARD_ENFORCE };
	if (said.action != ACTION_ALLOW) {
		q.at_least.action = said.action;
		q.at_least.rule = said.rule;
		q.at_least.text = said.text;
		q.at_least.code = &said.code;
	}
	rc = profiles_get(&k->guard.profiles, profile, &q.profile, e);
	return rc ? rc : kernel_handle(k, &q, h, e);
}
