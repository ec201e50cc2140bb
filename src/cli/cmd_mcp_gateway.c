/* cmd_mcp_gateway.c — helm mcp gateway: what a client's settings start; and what became of the calls. */
#include "base/file.h"
#include "base/text.h"
#include "base/toml.h"
#include "cli/cmd_mcp.h"
#include "cli/cmd_serve.h"
#include "kernel/agent/agent.h"
#include "kernel/mcp/mcp.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>

enum { ASK_MS = 120000, KEPT_MOST = 100000 };

const struct opt mcp_gateway_opts[] = {
	{ "server", OPT_LIST, "SERVER", "only this one; with one alone its tools keep their names", NULL,
		false },
	{ "config", OPT_VALUE, "FILE", "a gateway.toml that says which servers, and less than was approved",
		NULL, false },
	{ "client", OPT_VALUE, "CLIENT", "who calls: agent:CLIENT in receipts, policies and freezes", NULL,
		false },
	{ "transport", OPT_VALUE, "HOW", "standard input and output, or HTTP at /mcp (stdio)", "stdio|http",
		false },
	{ "port", OPT_INT, "N", "http: where to listen; 0: any that is free, named on standard output (9100)",
		NULL, false },
	{ "auth", OPT_VALUE, "HOW", "http: none, for this machine only, or keys of 'helm serve key' (none)",
		"none|key", false },
	{ "origin", OPT_LIST, "ORIGIN", "http: let pages of this origin in", NULL, false },
	{ "stream", OPT_FLAG, NULL,
		"http: sessions may open a stream for news, also where no server passes on more than tools",
		NULL, false },
	{ "no-own-tools", OPT_FLAG, NULL, "do not offer Helm's own tools", NULL, false },
	{ "workers", OPT_INT, "N", "so many calls are decided at once (8)", NULL, false },
	{ 0 },
};
const struct opt mcp_receipts_opts[] = { { "limit", OPT_INT, "N", "the newest N (50)", NULL, false }, { 0 } };
const struct opt mcp_authorize_opts[] = {
	{ "args", OPT_VALUE, "JSON", "the arguments of the call ({})", NULL, false },
	{ "client", OPT_VALUE, "CLIENT", "who would call", NULL, false },
	{ 0 },
};
const struct opt mcp_shadow_opts[] = {
	{ "for", OPT_VALUE, "DURATION",
		"let pass what would not be allowed, for 8h, 2d, ..., and record what would have been said",
		NULL, false },
	{ "off", OPT_FLAG, NULL, "end it", NULL, false },
	PERSON_KEY,
	{ 0 },
};

/* ---- Helm's own tools ---- */

static struct json *typed(struct arena *a, const char *type, const char *about)
{
	struct json *doc = json_new(a, JSON_OBJECT);

	json_sets(a, doc, "type", type);
	if (about)
		json_sets(a, doc, "description", about);
	return doc;
}

static struct json *texts(struct arena *a, const char *about)
{
	struct json *doc = typed(a, "array", about);

	json_set(a, doc, "items", typed(a, "string", NULL));
	return doc;
}

static struct json *option_schema(struct arena *a, const struct opt *o)
{
	struct json *doc, *choices;
	struct bytes rest;

	if (o->kind == OPT_LIST || o->kind == OPT_WORDS)
		return texts(a, o->help);
	doc = typed(a, o->kind == OPT_FLAG ? "boolean" : o->kind == OPT_INT ? "integer" : "string", o->help);
	if (!o->choices)
		return doc;
	choices = json_new(a, JSON_ARRAY);
	rest = bytes_of(o->choices);
	while (rest.p) {
		struct bytes one = text_cut(&rest, '|');
		json_push(a, choices, json_stringn(a, (const char *)one.p, one.n));
	}
	json_set(a, doc, "enum", choices);
	return doc;
}

/* What an agent may say to a command of ours: a number, a word of a list, a name of something inside the workspace.  Whatever names a file, a place
 * or an address is not among it, so a new option is no part of a tool until its value is one of these. */
static bool is_harmless(const struct opt *o)
{
	static const char *const values[] = { "TEXT", "NAME", "ID", "TIME", "DURATION", "TASK", "SKILL",
		"PROFILE", "SESSION", "VERDICT", "STATUS", "MODE", "KIND", "TYPE", "HASH", "COMMAND",
		"WHAT" };

	if (o->kind == OPT_FLAG || o->kind == OPT_INT || o->choices)
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(values); i++)
		if (text_eq(values[i], o->value))
			return true;
	return false;
}

static struct json *input_schema(struct arena *a, const struct cmd *cmd)
{
	struct json *doc = typed(a, "object", NULL), *properties = json_new(a, JSON_OBJECT),
		    *required = json_new(a, JSON_ARRAY);

	for (const struct opt *o = cmd->opts; o && o->name; o++) {
		if (!is_harmless(o))
			continue;
		json_set(a, properties, o->name, option_schema(a, o));
		if (o->is_required)
			json_pushs(a, required, o->name);
	}
	if (cmd->max_args)
		json_set(a, properties, "args", texts(a, cmd->args));
	if (cmd->min_args)
		json_pushs(a, required, "args");
	if (cmd->needs & CHILD_ARGV)
		json_set(a, properties, "command",
			texts(a, "the command, one word an item; it is only looked at"));
	json_set(a, doc, "properties", properties);
	if (required->n)
		json_set(a, doc, "required", required);
	json_setb(a, doc, "additionalProperties", false);
	return doc;
}

static struct json *output_schema(struct arena *a)
{
	struct json *doc = typed(a, "object", NULL), *properties = json_new(a, JSON_OBJECT),
		    *required = json_new(a, JSON_ARRAY), *any = json_new(a, JSON_OBJECT);

	json_set(a, properties, "exit_code", typed(a, "integer", "how the command ended"));
	json_sets(a, any, "description", "what it printed");
	json_set(a, properties, "output", any);
	json_pushs(a, required, "exit_code");
	json_pushs(a, required, "output");
	json_set(a, doc, "properties", properties);
	json_set(a, doc, "required", required);
	return doc;
}

/* Only what looks: whatever acts is done by who may act. */
static struct json *own_tool(struct arena *a, const struct cmd *cmd)
{
	struct json *tool = json_new(a, JSON_OBJECT), *definition = json_new(a, JSON_OBJECT),
		    *says = json_new(a, JSON_OBJECT), *words = json_new(a, JSON_ARRAY);
	struct bytes rest = bytes_of(cmd->is->name);

	json_sets(a, definition, "name", cmd->is->tool);
	json_sets(a, definition, "title", arena_printf(a, "helm %s", cmd->is->name));
	json_sets(a, definition, "description",
		cmd->about ? arena_printf(a, "%s.  %s", cmd->help, cmd->about) : cmd->help);
	json_set(a, definition, "inputSchema", input_schema(a, cmd));
	json_set(a, definition, "outputSchema", output_schema(a));
	json_setb(a, says, "readOnlyHint", true);
	json_setb(a, says, "openWorldHint", false);
	json_set(a, definition, "annotations", says);
	while (rest.p) {
		struct bytes one = text_cut(&rest, ' ');
		json_push(a, words, json_stringn(a, (const char *)one.p, one.n));
	}
	json_set(a, tool, "definition", definition);
	json_set(a, tool, "words", words);
	return tool;
}

static struct json *own_tools(struct arena *a)
{
	struct json *list = json_new(a, JSON_ARRAY);

	for (size_t i = 0; i < command_count; i++)
		if (commands[i]->is->tool && commands[i]->is->class == COMMAND_LOOKS &&
			!commands[i]->is->turn)
			json_push(a, list, own_tool(a, commands[i]));
	return list;
}

/* ---- starting ---- */

const char *serve_own_program(struct cli *r)
{
	char exe[PATH_MAX];
	ssize_t n = r->sys->readlink(r->sys, AT_FDCWD, "/proc/self/exe", exe, sizeof(exe) - 1);

	exe[n > 0 ? n : 0] = '\0';
	return n > 0 ? arena_strdup(r->a, exe) : "helm";
}

struct json *mcp_options(struct cli *r, const char *transport)
{
	struct json *mcp = json_new(r->a, JSON_OBJECT);

	json_sets(r->a, mcp, "transport", transport);
	json_sets(r->a, mcp, "program", serve_own_program(r));
	json_set(r->a, mcp, "servers", json_new(r->a, JSON_ARRAY));
	json_set(r->a, mcp, "own_tools", own_tools(r->a));
	return mcp;
}

int mcp_ask(struct cli *r, const struct json *ids, struct json **ret, struct err *e)
{
	struct json *options = json_new(r->a, JSON_OBJECT), *mcp = json_new(r->a, JSON_OBJECT);
	int code;

	json_sets(r->a, mcp, "transport", "ask");
	json_sets(r->a, mcp, "program", serve_own_program(r));
	json_set(r->a, mcp, "servers", json_copy(r->a, ids));
	json_sets(r->a, options, "workspace", r->ws->root);
	json_set(r->a, options, "mcp", mcp);
	return serve_ask(r, options, ASK_MS, ret, &code, e);
}

/* [upstreams.ID] with `tools` and `timeout_s`; how a server is started is a person's word, and not this file's. */
static int read_config(struct cli *r, const char *file, struct json *mcp, struct err *e)
{
	struct json *doc, *servers = json_get(mcp, "servers");
	struct bytes text;
	int rc = file_read(r->sys, r->a, AT_FDCWD, file, 1 << 20, FILE_FOLLOW, &text, e);

	if (rc == OK)
		rc = toml_parse(r->a, text, file, &doc, e);
	if (rc)
		return rc;
	json_each_member (m, json_get(doc, "upstreams")) {
		if (!json_is(m->value, JSON_OBJECT))
			return err_set(
				e, E_INPUT, "MCP_CONFIG", "%s: upstreams.%s must be a table", file, m->name);
		json_each_member (s, m->value)
			if (!text_eq(s->name, "tools"))
				return err_set(e, E_INPUT, "MCP_CONFIG",
					"%s: upstreams.%s.%s: a configuration says which servers and which of their 'tools'; how one is started is said by 'helm mcp add'",
					file, m->name, s->name);
		json_pushs(r->a, servers, m->name);
	}
	if (!servers->n)
		return err_set(e, E_INPUT, "MCP_CONFIG", "%s names no server: [upstreams.NAME]", file);
	json_set(r->a, mcp, "upstreams", json_get(doc, "upstreams"));
	return OK;
}

/* In a supervised session the supervisor runs it outside, with our streams. */
static int gateway_inside(struct cli *r, const char **names, size_t n, struct err *e)
{
	struct json *servers = json_new(r->a, JSON_ARRAY);
	int code = 0;

	for (size_t i = 0; i < n; i++)
		json_pushs(r->a, servers, names[i]);
	int rc = agent_ask_gateway(r->sys, r->a, servers, &code, e);
	return rc ? rc : code;
}

int cmd_mcp_gateway(struct cli *r, struct err *e)
{
	const char *transport = opt_text(r, "transport", "stdio"), *config = opt_text(r, "config", NULL),
		   **names;
	struct json *doc = json_new(r->a, JSON_OBJECT), *mcp = mcp_options(r, transport),
		    *origins = json_new(r->a, JSON_ARRAY);
	size_t n = opt_list(r, "server", &names);
	int64_t port = opt_int(r, "port", 9100);

	if (port < 0 || port > 65535)
		return err_set(e, E_USAGE, "USAGE", "--port takes a number from 0 to 65535");
	if (agent_is_inside() && text_eq(transport, "stdio") && !config)
		return gateway_inside(r, names, n, e);
	/* There is neither the registry nor a key in there. */
	if (r->sys->getenv(r->sys, "HELM_TASK_ID"))
		return err_set(e, E_DENIED, "MCP_INSIDE",
			"the gateway does not run here; inside a supervised session it does, over its streams and without --config; elsewhere start 'helm mcp gateway --transport http' outside, and name its url in the client's settings");
	for (size_t i = 0; i < n; i++)
		json_pushs(r->a, json_get(mcp, "servers"), names[i]);
	int rc = r->ws ? OK : workspace_open(r->sys, r->a, r->path_option, 0, &r->ws, e);
	if (rc == OK && config)
		rc = read_config(r, config, mcp, e);
	if (rc)
		return rc;
	if (opt_flag(r, "no-own-tools") || n)
		(void)json_remove(mcp, "own_tools");
	if (opt_flag(r, "stream"))
		json_setb(r->a, mcp, "stream", true);
	if (opt_text(r, "client", NULL))
		json_sets(r->a, mcp, "client", opt_text(r, "client", ""));
	n = opt_list(r, "origin", &names);
	for (size_t i = 0; i < n; i++)
		json_pushs(r->a, origins, names[i]);
	json_set(r->a, mcp, "origins", origins);
	json_sets(r->a, doc, "workspace", r->ws->root);
	json_seti(r->a, doc, "port", port);
	json_seti(r->a, doc, "workers", opt_int(r, "workers", 8));
	json_setb(r->a, doc, "open", text_eq(opt_text(r, "auth", "none"), "none"));
	json_set(r->a, doc, "mcp", mcp);
	return serve_become(r, doc, e);
}

int cmd_mcp_child(struct cli *r, struct err *e)
{
	int code = 0;
	int rc = mcp_child(r->sys, r->a, r->ws, r->args[0], &code, e);

	return rc ? rc : code;
}

/* ---- what became of it ---- */

struct wanted {
	struct cli *r;
	const char *server, *type;
	size_t most;
	struct json *list;
	bool is_cut; /* there are more than `most` */
};

static int take_receipt(void *arg, struct json *row)
{
	struct wanted *w = arg;
	const struct json *about = json_get(row, "metadata");
	const char *server = json_get_text(
		about, "mcp_server_id", json_get_text(json_get(about, "mcp"), "server_id", NULL));

	if (!server || (w->server && !text_eq(server, w->server)) ||
		(w->type && !text_eq(json_get_text(row, "type", ""), w->type)))
		return 0;
	w->is_cut = w->list->n == w->most;
	if (!w->is_cut)
		json_push(w->r->a, w->list, json_copy(w->r->a, row));
	return w->is_cut;
}

/* The newest `most`, and whether there are more. */
static int find_receipts(struct cli *r, const char *server, const char *type, size_t most, struct json **ret,
	bool *ret_is_cut, struct err *e)
{
	struct wanted w = { r, server, type, most, json_new(r->a, JSON_ARRAY), false };
	int rc = rows_back(
		r->sys, NULL, r->ws->state_fd, "receipts.jsonl", 0, "server_id", take_receipt, &w, e);

	*ret = w.list;
	*ret_is_cut = w.is_cut;
	return rc;
}

int cmd_mcp_receipts(struct cli *r, struct err *e)
{
	static const char *const heads[] = { "AT", "SERVER", "TOOL", "TYPE", "STATUS", "REASON", "RECEIPT" };
	int64_t limit = opt_int(r, "limit", 50);
	struct json *list;
	bool is_cut;

	if (limit < 1)
		return err_set(e, E_USAGE, "USAGE", "--limit takes a number from 1 on");
	int rc = find_receipts(r, r->arg_count ? r->args[0] : NULL, NULL, (size_t)limit, &list, &is_cut, e);
	if (rc)
		return rc;
	if (is_cut)
		warn(r, "the newest %s; there are more, with --limit N", text_thousands(r->a, list->n));
	if (r->is_json) {
		out_json(r, list);
		return 0;
	}
	if (!list->n) {
		out(r, "There are no receipts of calls.\n");
		return 0;
	}
	struct out_table *t = out_table(r, heads, ARRAY_SIZE(heads));
	json_each (row, list) {
		const struct json *about = json_get(row, "metadata");
		const char *cells[] = { json_get_text(row, "timestamp", ""),
			json_get_text(about, "mcp_server_id",
				json_get_text(json_get(about, "mcp"), "server_id", "")),
			json_get_text(row, "tool_name", json_get_text(row, "effect_id", "")),
			json_get_text(row, "type", ""), json_get_text(row, "status", ""),
			json_get_text(row, "reason_code", ""), json_get_text(row, "receipt_id", "") };
		out_row(t, cells, NULL);
	}
	out_table_end(t);
	return 0;
}

static int shadow_report(struct cli *r, const char *server, struct err *e)
{
	struct json *list, *doc = json_new(r->a, JSON_OBJECT), *by = json_new(r->a, JSON_OBJECT);
	bool is_cut;
	int rc = find_receipts(r, server, "counterfactual", KEPT_MOST, &list, &is_cut, e);

	if (rc)
		return rc;
	if (is_cut)
		warn(r, "the newest %s; there are more, in: helm receipts export",
			text_thousands(r->a, list->n));
	json_each (row, list) {
		const char *key = arena_printf(r->a, "%s: %s %s", json_get_text(row, "tool_name", ""),
			json_get_text(json_get(row, "metadata"), "would_have_verdict", ""),
			json_get_text(row, "reason_code", ""));
		json_seti(r->a, by, key, json_get_int(by, key, 0) + 1);
	}
	json_seti(r->a, doc, "let_pass", list->n);
	json_set(r->a, doc, "would_have_been", by);
	if (r->is_json) {
		json_set(r->a, doc, "receipts", list);
		out_json(r, doc);
		return 0;
	}
	if (list->n)
		out(r, "%s let pass that would not have been allowed:\n", text_count(r->a, list->n, "call"));
	else
		out(r, "No call was let pass that would not have been allowed.\n");
	json_each_member (m, by)
		out(r, "  %lld x %s\n", (long long)json_get_int(by, m->name, 0),
			text_safe(r->a, m->name, m->name_n, false));
	return 0;
}

int cmd_mcp_shadow(struct cli *r, struct err *e)
{
	AUTO(kernel_close) struct kernel k = { 0 };
	const char *lasts = opt_text(r, "for", NULL);
	struct person who;
	struct json *row;
	int64_t us = 0;

	if (text_eq(r->args[0], "report"))
		return shadow_report(r, r->arg_count > 1 ? r->args[1] : NULL, e);
	if (!lasts == !opt_flag(r, "off"))
		return err_set(e, E_USAGE, "USAGE", "say --for 8h, or --off; or 'helm mcp shadow report'");
	int rc = opt_span(r, "for", &us, e);
	if (rc == OK)
		rc = mcp_open(r, lasts != NULL, &k, &who, e);
	if (rc == OK)
		rc = mcp_observe(
			&k, r->a, r->args[0], lasts ? r->sys->now_us(r->sys) + us : 0, &who, &row, e);
	if (rc)
		return rc;
	if (r->is_json)
		out_json(
			r, json_get(row, "observe") ? json_get(row, "observe") : json_new(r->a, JSON_OBJECT));
	else
		out(r,
			lasts ? "Calls of %s are let pass until %s, whatever would have been said; 'helm mcp shadow report' tells it.\n"
			      : "%s is governed again%s.\n",
			r->args[0], lasts ? json_get_text(json_get(row, "observe"), "expires_at", "") : "");
	return 0;
}

/* ---- authorize-call ---- */

int cmd_mcp_authorize_call(struct cli *r, struct err *e)
{
	AUTO(kernel_close) struct kernel k = { 0 };
	const char *text = opt_text(r, "args", "{}");
	struct handling h = { .a = r->a };
	struct json *args, *doc = json_new(r->a, JSON_OBJECT);
	int rc = json_parse(r->a, bytes_of(text), "--args", NULL, &args, e);

	if (rc == OK)
		rc = kernel_open(r->sys, r->a, r->ws, &k, e);
	if (rc == OK)
		rc = mcp_authorize(&k, r->args[0], r->args[1], args, opt_text(r, "client", NULL), &h, e);
	if (rc)
		return rc;
	const char *reason = h.verdict == V_ALLOW ? "" : reason_get(h.decision.reason_code)->code;
	json_sets(r->a, doc, "record_id", h.decision_id);
	json_sets(r->a, doc, "verdict", verdict_name(h.verdict));
	json_sets(r->a, doc, "reason_code", reason);
	json_sets(r->a, doc, "mcp_server_id", r->args[0]);
	json_sets(r->a, doc, "tool_name", r->args[1]);
	json_sets(r->a, doc, "args_hash", json_sha256(r->a, args));
	json_sets(r->a, doc, "receipt_id", json_get_text(h.decision_receipt, "receipt_id", ""));
	if (h.decision.summary && h.verdict != V_ALLOW)
		json_sets(r->a, doc, "reason", h.decision.summary);
	if (h.question && h.is_question_kept)
		json_sets(r->a, doc, "approval_id", json_get_text(h.question, "approval_id", ""));
	out_result(r, doc);
	return h.verdict == V_ALLOW ? 0 : EXIT_NO;
}
