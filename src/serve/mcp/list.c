/* list.c — what a guest asks first: who is there, what is offered.
 *
 * Two eras of the protocol are spoken.  In the older one a guest says hello once and has a session; in the newer one every request says what the
 * hello said. */
#include "serve/mcp/mcp.h"

#include "base/text.h"

#include <string.h>

#define META "io.modelcontextprotocol/"
enum { LIST_TTL_MS = 5000 };

static struct json *capabilities_of(struct flight *f)
{
	static const char *const passed[] = { "resources", "prompts", "completions", "logging" };
	struct arena *a = &f->a;
	struct json *all = json_new(a, JSON_OBJECT), *tools = json_new(a, JSON_OBJECT);
	bool is_told = f->guest->is_told && !f->is_stateless;

	json_setb(a, tools, "listChanged", is_told);
	json_set(a, all, "tools", tools);
	for (size_t i = 0; i < ARRAY_SIZE(passed); i++) {
		struct json *one = json_new(a, JSON_OBJECT);
		if (is_told && i < 2)
			json_setb(a, one, "listChanged", true);
		if (is_told && i == 0)
			json_setb(a, one, "subscribe", true);
		if (some_pass(f, passed[i]))
			json_set(a, all, passed[i], one);
	}
	return all;
}

static struct json *server_info(struct arena *a)
{
	struct json *info = json_new(a, JSON_OBJECT);

	json_sets(a, info, "name", "helm-governance");
	json_sets(a, info, "title", "Helm");
	json_sets(a, info, "version", HELM_VERSION);
	return info;
}

static const char instructions[] =
	"Every call is decided about and recorded by Helm.  A result that says \"Access Denied\" names the reason and, where a person can "
	"permit the call, the id of the question; do not try other spellings of the same call.";

static int initialize(struct flight *f)
{
	struct arena *a = &f->a;
	struct json *result = json_new(a, JSON_OBJECT);
	struct guest *u = f->guest;
	const struct json *said = json_get(f->rpc.params, "capabilities");
	const char *asked = json_get_text(f->rpc.params, "protocolVersion", NULL),
		   *name = json_get_text(json_get(f->rpc.params, "clientInfo"), "name", "");

	if (!asked) {
		flight_refuse(f, RPC_BAD_PARAMS, "protocolVersion is missing");
		return OK;
	}
	/* One that is not known gets the newest that is, as the protocol asks, and decides itself. */
	const char *version = mcp_speaks(asked) ? asked : MCP_LATEST;
	name = text_safe(a, name, strlen(name), false);
	pthread_mutex_lock(&f->g->lock);
	snprintf(u->version, sizeof(u->version), "%s", version);
	snprintf(u->client, sizeof(u->client), "%.64s", name);
	u->may_sample = json_is(json_get(said, "sampling"), JSON_OBJECT);
	u->may_elicit = json_is(json_get(said, "elicitation"), JSON_OBJECT);
	pthread_mutex_unlock(&f->g->lock);
	json_sets(a, result, "protocolVersion", version);
	json_set(a, result, "capabilities", capabilities_of(f));
	json_set(a, result, "serverInfo", server_info(a));
	json_sets(a, result, "instructions", instructions);
	flight_answer(f, result);
	return OK;
}

struct json *result_of_era(struct flight *f, struct json *result, bool is_list)
{
	if (!f->is_stateless)
		return result;
	json_sets(&f->a, result, "resultType", "complete");
	if (is_list) {
		json_seti(&f->a, result, "ttlMs", LIST_TTL_MS);
		json_sets(&f->a, result, "cacheScope", "private");
	}
	return result;
}

static int discover(struct flight *f)
{
	struct arena *a = &f->a;
	struct json *result = json_new(a, JSON_OBJECT), *versions = json_new(a, JSON_ARRAY),
		    *meta = json_new(a, JSON_OBJECT);

	f->is_stateless = true;
	mcp_push_versions(a, versions);
	json_set(a, result, "supportedVersions", versions);
	json_set(a, result, "capabilities", capabilities_of(f));
	json_sets(a, result, "instructions", instructions);
	json_set(a, meta, META "serverInfo", server_info(a));
	json_set(a, result, "_meta", meta);
	flight_answer(f, result_of_era(f, result, true));
	return OK;
}

/* ---- tools ---- */

bool is_served(const struct gateway *g, const char *id)
{
	const struct json *only = json_get(g->o, "servers");

	if (!only || !only->n)
		return true;
	json_each (one, only)
		if (json_text(one) && text_eq(json_text(one), id))
			return true;
	return false;
}

bool is_offered(const struct flight *f, const char *id)
{
	const struct json *row = f->snap ? json_get(json_get(f->snap->registry, "servers"), id) : NULL;

	if (!f->has_own && text_eq(id, MCP_OWN) && json_get_bool(row, "own", false))
		return false;
	return is_served(f->g, id);
}

/* A configuration may name some of them. */
static bool is_tool_offered(const struct flight *f, const char *server, const char *tool)
{
	const struct json *only = json_get(json_get(json_get(f->g->o, "upstreams"), server), "tools");

	if (!only)
		return true;
	json_each (one, only)
		if (json_text(one) && text_glob(json_text(one), tool, false))
			return true;
	return false;
}

const char *exposed_name(struct arena *a, const struct flight *f, const char *server, const char *tool)
{
	const struct json *row = json_get(json_get(f->snap->registry, "servers"), server),
			  *only = json_get(f->g->o, "servers");
	const char *prefix = json_get_text(row, "prefix", NULL);

	if (text_eq(server, MCP_OWN) && json_get_bool(row, "own", false))
		return tool;
	if (prefix || (only && only->n == 1))
		return arena_printf(a, "%s%s", prefix ? prefix : "", tool);
	return arena_printf(a, "%s__%s", server, tool);
}

/* By the registry first, whose tools have been approved; then by what servers say, so that a tool that nobody approved is asked about and not
 * merely unknown. */
const struct json *tool_by_name(
	struct flight *f, const char *exposed, const char **ret_server, const char **ret_tool)
{
	const struct json *servers = f->snap ? json_get(f->snap->registry, "servers") : NULL;

	for (int pass = 0; pass < 2; pass++)
		json_each_member (m, servers) {
			if (!is_offered(f, m->name))
				continue;
			const struct json *pinned = json_get(m->value, "tools");
			const char *before = exposed_name(&f->a, f, m->name, "");
			if (!text_starts(exposed, before) || !exposed[strlen(before)])
				continue;
			*ret_server = m->name;
			*ret_tool = exposed + strlen(before);
			if (!is_tool_offered(f, m->name, *ret_tool))
				continue;
			if (pass == 0 && json_get(pinned, *ret_tool))
				return m->value;
			if (pass == 1 && (*before || servers->n == 1 || json_get(f->g->o, "servers")))
				return m->value;
		}
	return NULL;
}

/* As it was approved, not as it is said now: what the model reads is what a person has seen. */
static void list_tool(struct flight *f, struct upstream *u, const struct offer *o, const struct json *row,
	const struct json_member *m, struct json *tools)
{
	struct arena *a = &f->a;
	struct mcp_answer said;
	const struct json *definition = json_get(m->value, "definition");
	const struct mcp_question q = { .server = u->id,
		.tool = m->name,
		.row = row,
		.seen = o ? mcp_tool_in(o->tools, m->name) : definition,
		.now_us = f->g->server->sys->now_us(f->g->server->sys) };

	mcp_judge(a, &q, &said);
	bool is_shape = said.rule && text_eq(said.rule, "mcp.arguments");
	bool is_seen = is_tool_offered(f, u->id, m->name) &&
		(said.action == ACTION_ALLOW || is_shape || mcp_observed(row, q.now_us));
	if (!is_seen ||
		text_eq(json_get_text(json_get(definition, "execution"), "taskSupport", ""), "required"))
		return;
	struct json *tool = json_copy(a, definition);
	json_sets(a, tool, "name", exposed_name(a, f, u->id, m->name));
	json_push(a, tools, tool);
}

/* Two of one name: the one of the first server counts, and the others are not called by it. */
static bool has_name(const struct json *tools, const char *name)
{
	return mcp_tool_in(tools, name) != NULL;
}

static void list_server(struct flight *f, const char *id, const struct json *row, struct json *tools)
{
	struct upstream *u = upstream_get(f->g, id, row);
	char why[400] = "";
	struct offer *o = upstream_offer(u, why);
	struct json *mine = json_new(&f->a, JSON_ARRAY);

	json_each_member (m, json_get(row, "tools"))
		list_tool(f, u, o, row, m, mine);
	json_each (tool, mine)
		if (!has_name(tools, json_get_text(tool, "name", "")))
			json_push(&f->a, tools, tool);
	if (o)
		offer_drop(u, o);
}

int step_list(struct flight *f, struct err *e)
{
	struct arena *a = &f->a;
	const struct json *servers = f->snap ? json_get(f->snap->registry, "servers") : NULL;
	struct json *result = json_new(a, JSON_OBJECT), *tools = json_new(a, JSON_ARRAY);
	int64_t now = f->g->server->sys->now_us(f->g->server->sys);
	bool is_settled = true;

	(void)e;
	json_each_member (m, servers)
		if (is_offered(f, m->name) && text_eq(mcp_state(m->value, now), "approved"))
			is_settled &= upstream_want(upstream_get(f->g, m->name, m->value), f);
	if (!is_settled)
		return OK;
	json_each_member (m, servers)
		if (is_offered(f, m->name))
			list_server(f, m->name, m->value, tools);
	json_set(a, result, "tools", tools);
	flight_answer(f, result_of_era(f, result, true));
	return OK;
}

/* ---- which step ---- */

/* What an era without sessions says with every request.  False: it was refused. */
static bool check_era(struct flight *f)
{
	const struct json *meta = json_get(f->rpc.params, "_meta");
	const char *version = json_get_text(meta, META "protocolVersion", NULL);

	f->is_stateless = version != NULL;
	if (!version || text_eq(version, MCP_STATELESS))
		return true;
	flight_refuse(f, RPC_VERSION, "this version of the protocol is not spoken here");
	struct json *data = json_new(&f->a, JSON_OBJECT), *supported = json_new(&f->a, JSON_ARRAY);
	json_pushs(&f->a, supported, MCP_STATELESS);
	json_set(&f->a, data, "supported", supported);
	json_sets(&f->a, data, "requested", version);
	json_set(&f->a, json_get(f->answer, "error"), "data", data);
	return false;
}

int flight_begin(struct flight *f, struct err *e)
{
	static const struct {
		const char *method;
		int (*step)(struct flight *, struct err *);
	} steps[] = { { "tools/list", step_list }, { "tools/call", step_call },
		{ "resources/list", step_pass }, { "resources/templates/list", step_pass },
		{ "resources/read", step_pass }, { "resources/subscribe", step_pass },
		{ "resources/unsubscribe", step_pass }, { "prompts/list", step_pass },
		{ "prompts/get", step_pass }, { "completion/complete", step_pass },
		{ "logging/setLevel", step_level } };
	const char *method = f->rpc.method;

	if (f->rpc.kind == RPC_BAD) {
		flight_refuse(f, f->rpc.code, f->rpc.why);
		return OK;
	}
	if (!check_era(f))
		return OK;
	if (text_eq(method, "initialize") && !f->is_stateless)
		return initialize(f);
	if (text_eq(method, "server/discover"))
		return discover(f);
	if (text_eq(method, "ping")) {
		flight_answer(f, json_new(&f->a, JSON_OBJECT));
		return OK;
	}
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++)
		if (text_eq(method, steps[i].method)) {
			f->step = steps[i].step;
			return f->step(f, e);
		}
	flight_refuse(f, RPC_NO_METHOD, "Method not found");
	return OK;
}

void guest_heard(struct guest *u, const struct rpc *m)
{
	if (m->kind == RPC_RESPONSE)
		question_answered(u, m);
	if (m->kind == RPC_NOTIFICATION && text_eq(m->method, "notifications/cancelled"))
		(void)guest_cancel(u, json_get(m->params, "requestId"));
}

/* ---- what servers offer, for a person ---- */

int step_ask(struct flight *f, struct err *e)
{
	struct arena *a = &f->a;
	struct json *all = json_new(a, JSON_OBJECT);
	bool is_settled = true;

	if (!f->snap)
		return err_set(e, E_IO, "MCP_REGISTRY", "the registry cannot be read");
	json_each (id, json_get(f->g->o, "servers")) {
		const struct json *row = json_get(json_get(f->snap->registry, "servers"), json_text(id));
		is_settled &= !row || upstream_want(upstream_get(f->g, json_text(id), row), f);
	}
	if (!is_settled)
		return OK;
	json_each (id, json_get(f->g->o, "servers")) {
		const struct json *row = json_get(json_get(f->snap->registry, "servers"), json_text(id));
		struct upstream *u = upstream_get(f->g, json_text(id), row);
		struct json *one = json_new(a, JSON_OBJECT);
		char why[400] = "";
		struct offer *o = upstream_offer(u, why);
		if (o)
			json_set(a, one, "tools", json_copy(a, o->tools));
		else
			json_sets(a, one, "error", why);
		if (o)
			offer_drop(u, o);
		json_set(a, all, json_text(id), one);
	}
	f->answer = all;
	return OK;
}
