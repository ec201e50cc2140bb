/* cmd_mcp.c — servers of tools: added, looked at, approved, withdrawn. */
#include "cli/cmd_mcp.h"

#include "base/file.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SEEN \
	{ \
		"seen", OPT_FLAG, NULL, "by what it offered when it last ran; do not start it now", NULL, \
			false \
	}

const struct opt mcp_add_opts[] = {
	{ "url", OPT_VALUE, "URL", "reach it there instead of starting a command", NULL, false },
	{ "env", OPT_LIST, "NAME[=VALUE]", "a variable it gets: ours of that name, or this value", NULL,
		false },
	{ "cwd", OPT_VALUE, "DIR", "where it is started; default: here, if it may read or write here", NULL,
		false },
	{ "read", OPT_LIST, "PATH", "may read this, although it lies in the home or in /tmp", NULL, false },
	{ "write", OPT_LIST, "PATH", "may write below this", NULL, false },
	{ "host", OPT_LIST, "RULE", "may reach this host: name, name:port, *.name or @list", NULL, false },
	{ "network", OPT_VALUE, "HOW", "none: only the named hosts; full: everything", "none|full", false },
	{ "bearer-env", OPT_VALUE, "NAME", "the variable that holds the token for the url", NULL, false },
	{ "bearer-file", OPT_VALUE, "FILE", "the file that holds it", NULL, false },
	{ "oauth-token-url", OPT_VALUE, "URL", "client credentials: where a token is given", NULL, false },
	{ "oauth-client", OPT_VALUE, "ID", "client credentials: who we are", NULL, false },
	{ "oauth-secret-env", OPT_VALUE, "NAME", "the variable that holds the client's secret", NULL, false },
	{ "oauth-secret-file", OPT_VALUE, "FILE", "the file that holds it", NULL, false },
	{ "oauth-scope", OPT_VALUE, "TEXT", "what the token is to be for", NULL, false },
	{ "ca-file", OPT_VALUE, "FILE", "whose certificates count for the url", NULL, false },
	{ "timeout", OPT_INT, "SECONDS", "how long a call may take (60)", NULL, false },
	{ "start", OPT_INT, "SECONDS", "how long its start may take (30)", NULL, false },
	{ "wait", OPT_INT, "SECONDS",
		"how long a call waits for a person's answer before it is told the question (0)", NULL,
		false },
	{ "list", OPT_INT, "SECONDS", "how old its list of tools may be when one is called (60)", NULL,
		false },
	{ "result-kb", OPT_INT, "N", "the largest result that is passed on (1024)", NULL, false },
	{ "memory-mb", OPT_INT, "N", "memory of all its processes together", NULL, false },
	{ "processes", OPT_INT, "N", "how many of them", NULL, false },
	{ "pass", OPT_LIST, "WHAT",
		"also pass on its resources, prompts, completions or log; or let it ask the client's model (sampling) or person (elicitation)",
		"resources|prompts|completions|logging|sampling|elicitation", false },
	{ "prefix", OPT_VALUE, "TEXT", "what its tools' names begin with here, instead of SERVER__", NULL,
		false },
	{ "trusted", OPT_FLAG, NULL, "what it answers does not taint a session", NULL, false },
	{ "redact", OPT_FLAG, NULL, "take secrets out of its results, and say so", NULL, false },
	PERSON_KEY,
	{ 0 },
};
const struct opt mcp_person_opts[] = { { "reason", OPT_VALUE, "TEXT", "why, for the record", NULL, false },
	PERSON_KEY, { 0 } };
const struct opt mcp_show_opts[] = { SEEN, { 0 } };
const struct opt mcp_approve_opts[] = {
	{ "tool", OPT_LIST, "NAME", "only this tool; * and ? stand for any text", NULL, false },
	{ "effect", OPT_LIST, "EFFECT", "only tools that do no more than this", "read|write|destroy", false },
	{ "argument", OPT_LIST, "NAME=PATTERN", "only with this value; * and ? stand for any text", NULL,
		false },
	{ "for", OPT_VALUE, "DURATION", "until 8h, 30d, ... have passed", NULL, false },
	{ "set", OPT_VALUE, "SHA256", "only if this is what is offered (as 'helm mcp show' prints it)", NULL,
		false },
	SEEN,
	CONFIRM_OPTIONS,
	PERSON_KEY,
	{ 0 },
};
const struct opt mcp_revoke_opts[] = { { "tool", OPT_VALUE, "NAME", "only this tool", NULL, false },
	{ "reason", OPT_VALUE, "TEXT", "why, for the record", NULL, false }, PERSON_KEY, { 0 } };

/* ---- shared ---- */

const char *mcp_safe(struct cli *r, const char *s)
{
	return text_safe(r->a, s, strlen(s), false);
}

int mcp_open(struct cli *r, bool loosens, struct kernel *k, struct person *who, struct err *e)
{
	int rc = loosens ? person_loosens(r, who, e) : person_here(r, who, e);

	return rc ? rc : kernel_open(r->sys, r->a, r->ws, k, e);
}

int mcp_confirm(struct cli *r, const struct person *who, const char *what, struct err *e)
{
	return who->key ? OK : confirm_approve(r, what, e);
}

/* What may be shown of a row: names of variables, not what they hold. */
static struct json *shown_row(struct cli *r, const char *id, const struct json *row)
{
	struct json *copy = json_copy(r->a, row);

	(void)json_remove(copy, "tools");
	json_each_member (m, json_get(copy, "env"))
		m->value = json_string(r->a, "...");
	json_each_member (m, json_get(copy, "headers"))
		m->value = json_string(r->a, "...");
	json_sets(r->a, copy, "server_id", id);
	json_sets(r->a, copy, "state", mcp_state(row, r->sys->now_us(r->sys)));
	return copy;
}

const char *mcp_how_in_words(struct cli *r, const struct json *row)
{
	struct buf text;

	buf_init(&text, r->a);
	buf_adds(&text, json_get_text(row, "command", json_get_text(row, "url", "")));
	json_each (arg, json_get(row, "args"))
		buf_addf(&text, " %s", json_text(arg));
	return mcp_safe(r, text.p);
}

static int load_row(struct cli *r, const char *id, struct json **ret, struct err *e)
{
	struct json *registry;
	int rc = mcp_load(r->sys, r->a, r->ws, &registry, e);

	return rc ? rc : mcp_find(r->a, registry, id, ret, e);
}

/* What it offers: asked now, or what was seen last. */
static int offered(struct cli *r, const char *id, const struct json **ret, struct err *e)
{
	struct json *ids = json_new(r->a, JSON_ARRAY), *doc;
	int rc;

	json_pushs(r->a, ids, id);
	if (opt_flag(r, "seen")) {
		rc = mcp_seen_load(r->sys, r->a, r->ws, &doc, e);
		if (rc)
			return rc;
		*ret = json_get(json_get(json_get(doc, "servers"), id), "tools");
		return *ret ? OK
			    : err_set(e, E_MISSING, "MCP_NOT_SEEN",
				      "server '%s' has not run yet; leave out --seen", id);
	}
	rc = mcp_ask(r, ids, &doc, e);
	if (rc)
		return rc;
	const struct json *said = json_get(doc, id);
	*ret = json_get(said, "tools");
	return *ret ? OK
		    : err_set(e, E_IO, "MCP_START", "server '%s' does not say what it offers: %s", id,
			      json_get_text(said, "error", "it does not answer"));
}

/* ---- add, remove ---- */

static void copy_list(struct cli *r, const char *option, struct json *how, const char *member)
{
	const char **all;
	size_t n = opt_list(r, option, &all);
	struct json *list = json_new(r->a, JSON_ARRAY);
	char *cwd = getcwd(NULL, 0);
	bool is_path = text_eq(option, "read") || text_eq(option, "write");

	for (size_t i = 0; i < n; i++)
		json_pushs(r->a, list,
			is_path && cwd && all[i][0] != '~' ? path_clean(r->a, path_join(r->a, cwd, all[i]))
							   : all[i]);
	free(cwd);
	if (n)
		json_set(r->a, how, member, list);
}

/* Where the person stands, if the server will see that. */
static void choose_cwd(struct cli *r, struct json *how)
{
	static const char *const members[] = { "read", "write" };
	char *cwd = getcwd(NULL, 0);

	for (size_t i = 0; i < ARRAY_SIZE(members) && cwd && json_get(how, "command"); i++)
		json_each (path, json_get(how, members[i]))
			if (!json_get(how, "cwd") && path_is_below(cwd, json_text(path)))
				json_sets(r->a, how, "cwd", cwd);
	free(cwd);
}

static void copy_env(struct cli *r, struct json *how)
{
	const char **all;
	size_t n = opt_list(r, "env", &all);
	struct json *env = json_new(r->a, JSON_OBJECT), *pass = json_new(r->a, JSON_ARRAY);

	for (size_t i = 0; i < n; i++) {
		const char *value = strchr(all[i], '=');
		if (value)
			json_sets(
				r->a, env, arena_strndup(r->a, all[i], (size_t)(value - all[i])), value + 1);
		else
			json_pushs(r->a, pass, all[i]);
	}
	if (env->n)
		json_set(r->a, how, "env", env);
	if (pass->n)
		json_set(r->a, how, "pass", pass);
}

static void copy_oauth(struct cli *r, struct json *how)
{
	static const struct {
		const char *option, *member;
	} members[] = { { "oauth-token-url", "token_url" }, { "oauth-client", "client_id" },
		{ "oauth-secret-env", "client_secret_env" }, { "oauth-secret-file", "client_secret_file" },
		{ "oauth-scope", "scope" } };
	struct json *oauth = json_new(r->a, JSON_OBJECT);

	for (size_t i = 0; i < ARRAY_SIZE(members); i++)
		if (opt_text(r, members[i].option, NULL))
			json_sets(r->a, oauth, members[i].member, opt_text(r, members[i].option, ""));
	if (oauth->n)
		json_set(r->a, how, "oauth", oauth);
}

static struct json *how_of(struct cli *r)
{
	static const struct {
		const char *option, *member;
	} texts[] = { { "url", "url" }, { "cwd", "cwd" }, { "network", "network" },
		{ "bearer-env", "bearer_env" }, { "bearer-file", "bearer_file" }, { "ca-file", "ca_file" },
		{ "prefix", "prefix" } },
	  numbers[] = { { "timeout", "timeout_s" }, { "start", "start_s" }, { "wait", "wait_s" },
		  { "list", "list_s" }, { "result-kb", "result_kb" }, { "memory-mb", "memory_mb" },
		  { "processes", "processes" } };
	struct json *how = json_new(r->a, JSON_OBJECT), *args = json_new(r->a, JSON_ARRAY);

	if (r->child_count)
		json_sets(r->a, how, "command", r->child[0]);
	for (size_t i = 1; i < r->child_count; i++)
		json_pushs(r->a, args, r->child[i]);
	if (args->n)
		json_set(r->a, how, "args", args);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (opt_text(r, texts[i].option, NULL))
			json_sets(r->a, how, texts[i].member, opt_text(r, texts[i].option, ""));
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		if (opt_int(r, numbers[i].option, -1) >= 0)
			json_seti(r->a, how, numbers[i].member, opt_int(r, numbers[i].option, 0));
	copy_list(r, "read", how, "read");
	copy_list(r, "write", how, "write");
	copy_list(r, "host", how, "hosts");
	copy_list(r, "pass", how, "passes");
	choose_cwd(r, how);
	copy_env(r, how);
	copy_oauth(r, how);
	if (opt_flag(r, "trusted"))
		json_setb(r->a, how, "trusted", true);
	if (opt_flag(r, "redact"))
		json_setb(r->a, how, "redact", true);
	return how;
}

int cmd_mcp_add(struct cli *r, struct err *e)
{
	AUTO(kernel_close) struct kernel k = { 0 };
	struct person who;
	struct json *row;

	if (!r->child_count == !opt_text(r, "url", NULL))
		return err_set(e, E_USAGE, "USAGE",
			"say how it is started, -- COMMAND ARGS..., or where it is, --url URL");
	int rc = mcp_open(r, true, &k, &who, e);
	if (rc == OK)
		rc = mcp_add(&k, r->a, r->args[0], how_of(r), &who, &row, e);
	if (rc)
		return rc;
	if (r->is_json)
		out_json(r, shown_row(r, r->args[0], row));
	else
		out(r, "Server %s is %s.  What it offers: helm mcp show %s.  To let agents call it: helm mcp approve %s\n",
			r->args[0], mcp_state(row, r->sys->now_us(r->sys)), r->args[0], r->args[0]);
	return 0;
}

int cmd_mcp_remove(struct cli *r, struct err *e)
{
	AUTO(kernel_close) struct kernel k = { 0 };
	struct person who;
	int rc = mcp_open(r, false, &k, &who, e);

	if (rc == OK)
		rc = mcp_remove(&k, r->a, r->args[0], &who, e);
	if (rc)
		return rc;
	struct json *doc = json_new(r->a, JSON_OBJECT);
	json_sets(r->a, doc, "server_id", r->args[0]);
	json_sets(r->a, doc, "state", "removed");
	if (r->is_json)
		out_json(r, doc);
	else
		out(r, "Server %s is not known here any more.\n", r->args[0]);
	return 0;
}

/* ---- list, show, diff ---- */

int cmd_mcp_list(struct cli *r, struct err *e)
{
	static const char *const heads[] = { "SERVER", "STATE", "APPROVED", "HOW" };
	struct json *registry, *seen = NULL, *list = json_new(r->a, JSON_ARRAY);
	int rc = mcp_load(r->sys, r->a, r->ws, &registry, e);

	if (rc == OK)
		rc = mcp_seen_load(r->sys, r->a, r->ws, &seen, e);
	if (rc)
		return rc;
	struct out_table *t = r->is_json ? NULL : out_table(r, heads, ARRAY_SIZE(heads));
	json_each_member (m, json_get(registry, "servers")) {
		struct json *row = shown_row(r, m->name, m->value);
		const struct json *tools = json_get(m->value, "tools"),
				  *offered = json_get(json_get(json_get(seen, "servers"), m->name), "tools");
		json_seti(r->a, row, "approved_tools", tools ? tools->n : 0);
		json_sets(r->a, row, "state_text",
			mcp_state_text(r->a, m->value, offered, r->sys->now_us(r->sys)));
		json_push(r->a, list, row);
		const char *cells[] = { m->name, json_get_text(row, "state_text", ""),
			tools && tools->n
				? arena_printf(r->a, "%u tool%s", tools->n, tools->n == 1 ? "" : "s")
				: "no tools",
			mcp_how_in_words(r, m->value) };
		if (t)
			out_row(t, cells, NULL);
	}
	if (!t)
		out_json(r, list);
	else if (list->n)
		out_table_end(t);
	else
		out(r, "There are no servers; 'helm mcp import' takes those of your agent clients, 'helm mcp add' adds one.\n");
	return 0;
}

/* What a tool is, seen from here. */
static const char *tool_state(const struct json *row, const struct json *drift, const char *name)
{
	json_each (one, drift)
		if (text_eq(json_get_text(one, "tool", ""), name))
			return json_get(one, "parts") ? "changed" : json_get_text(one, "change", "");
	return json_get(json_get(row, "tools"), name) ? "approved" : "new";
}

static struct json *tool_rows(struct cli *r, const char *id, const struct json *row, const struct json *tools,
	const struct json *drift)
{
	struct json *list = json_new(r->a, JSON_ARRAY);

	json_each (tool, tools) {
		struct json *one = json_new(r->a, JSON_OBJECT);
		const char *name = json_get_text(tool, "name", ""), *state = tool_state(row, drift, name);
		struct mcp_pin pin;
		mcp_pin(r->a, tool, &pin);
		json_sets(r->a, one, "tool", name);
		json_sets(r->a, one, "state", text_eq(state, "added") ? "new" : state);
		json_sets(r->a, one, "effect", mcp_effect(id, tool));
		json_sets(r->a, one, "schema_sha256", pin.schema);
		json_sets(r->a, one, "text_sha256", pin.text);
		json_sets(r->a, one, "description", json_get_text(tool, "description", ""));
		json_push(r->a, list, one);
	}
	return list;
}

void mcp_print_findings(struct cli *r, const struct json *findings)
{
	json_each (one, findings)
		out(r, "%s%s%s: %s%s%s: %s\n", paint(r, PAINT_WARN), json_get_text(one, "severity", ""),
			paint(r, PAINT_OFF), json_get_text(one, "finding", ""),
			json_get(one, "tool") ? " in " : "", mcp_safe(r, json_get_text(one, "tool", "")),
			mcp_safe(r, json_get_text(one, "evidence", "")));
}

int cmd_mcp_show(struct cli *r, struct err *e)
{
	static const char *const heads[] = { "TOOL", "STATE", "EFFECT", "DESCRIPTION" };
	const char *id = r->args[0];
	const struct json *tools;
	struct json *row;
	int rc = load_row(r, id, &row, e);

	if (rc == OK)
		rc = offered(r, id, &tools, e);
	if (rc)
		return rc;
	struct json *drift = mcp_drift(r->a, row, tools), *doc = shown_row(r, id, row),
		    *rows = tool_rows(r, id, row, tools, drift), *findings = mcp_inspect_tools(r->a, tools);
	json_set(r->a, doc, "tools", rows);
	json_set(r->a, doc, "findings", findings);
	json_sets(r->a, doc, "offered_sha256", mcp_set_sha256(r->a, tools));
	if (r->is_json) {
		out_json(r, doc);
		return 0;
	}
	out(r, "%s: %s, %s\n", id, json_get_text(doc, "state", ""), mcp_how_in_words(r, row));
	struct out_table *t = out_table(r, heads, ARRAY_SIZE(heads));
	json_each (one, rows) {
		const char *text = json_get_text(one, "description", "");
		size_t first = strcspn(text, "\n");
		const char *cells[] = { mcp_safe(r, json_get_text(one, "tool", "")),
			json_get_text(one, "state", ""), json_get_text(one, "effect", ""),
			mcp_safe(r,
				arena_printf(r->a, "%.*s%s", (int)first, text, text[first] ? " ..." : "")) };
		out_row(t, cells, NULL);
	}
	out_table_end(t);
	mcp_print_findings(r, findings);
	out(r, "offered: %s\n", json_get_text(doc, "offered_sha256", ""));
	return 0;
}

static void print_drift(struct cli *r, const struct json *drift)
{
	json_each (one, drift) {
		out(r, "%s%s%s: %s\n", paint(r, PAINT_BOLD), mcp_safe(r, json_get_text(one, "tool", "")),
			paint(r, PAINT_OFF), json_get_text(one, "change", ""));
		json_each (part, json_get(one, "parts")) {
			const char *was = json_get_text(part, "was", NULL),
				   *now = json_get_text(part, "now", NULL);
			out(r, "  %s\n", mcp_safe(r, json_get_text(part, "at", "")));
			if (was)
				out(r, "  %s- %s%s\n", paint(r, PAINT_BAD), was, paint(r, PAINT_OFF));
			if (now)
				out(r, "  %s+ %s%s\n", paint(r, PAINT_GOOD), now, paint(r, PAINT_OFF));
		}
	}
}

int cmd_mcp_diff(struct cli *r, struct err *e)
{
	const char *id = r->args[0];
	const struct json *tools;
	struct json *row, *doc = json_new(r->a, JSON_OBJECT);
	int rc = load_row(r, id, &row, e);

	if (rc == OK)
		rc = offered(r, id, &tools, e);
	if (rc)
		return rc;
	struct json *drift = mcp_drift(r->a, row, tools), *findings = mcp_inspect_tools(r->a, tools);
	json_sets(r->a, doc, "server_id", id);
	json_set(r->a, doc, "differences", drift);
	json_set(r->a, doc, "findings", findings);
	json_sets(r->a, doc, "offered_sha256", mcp_set_sha256(r->a, tools));
	if (r->is_json) {
		out_json(r, doc);
	} else if (!drift->n) {
		out(r, "%s offers what was approved.\n", id);
	} else {
		r->is_document = true;
		print_drift(r, drift);
		mcp_print_findings(r, findings);
		out(r, "\nTo approve it as it is now: helm mcp approve %s --set %s\n", id,
			json_get_text(doc, "offered_sha256", ""));
	}
	return drift->n ? EXIT_NO : 0;
}

/* ---- approve, revoke, quarantine ---- */

static int read_arguments(struct cli *r, struct json *to, struct err *e)
{
	const char **all;
	size_t n = opt_list(r, "argument", &all);

	for (size_t i = 0; i < n; i++) {
		const char *value = strchr(all[i], '=');
		if (!value || value == all[i])
			return err_set(e, E_USAGE, "USAGE", "--argument takes NAME=PATTERN");
		const char *name = arena_strndup(r->a, all[i], (size_t)(value - all[i]));
		struct json *list = json_get(to, name);
		if (!list) {
			list = json_new(r->a, JSON_ARRAY);
			json_set(r->a, to, name, list);
		}
		json_pushs(r->a, list, value + 1);
	}
	return OK;
}

/* Everything that a model or a client reads of it, whole, with what nobody sees spelled out. */
static void add_members(struct cli *r, struct buf *text, const struct json *tool)
{
	json_each_member (m, tool) {
		struct buf value;
		buf_init(&value, r->a);
		if (text_eq(m->name, "name"))
			continue;
		if (m->value->type == JSON_STRING)
			buf_add(&value, m->value->text, m->value->n);
		else
			json_write(&value, m->value, 0);
		buf_addf(text, "      %s: %s\n", mcp_safe(r, m->name),
			mcp_visible(r->a, value.p ? value.p : "", value.n));
	}
}

static const char *offer_in_words(
	struct cli *r, const char *id, const struct json *tools, const struct mcp_terms *t)
{
	struct buf text;

	buf_init(&text, r->a);
	buf_addf(&text, "Server %s offers:\n", id);
	json_each (tool, tools) {
		buf_addf(&text, "  %s (%s)\n", mcp_safe(r, json_get_text(tool, "name", "")),
			mcp_effect(id, tool));
		add_members(r, &text, tool);
	}
	json_each (one, mcp_inspect_tools(r->a, tools))
		buf_addf(&text, "  %s: %s in %s: %s\n", json_get_text(one, "severity", ""),
			json_get_text(one, "finding", ""), mcp_safe(r, json_get_text(one, "tool", "")),
			mcp_safe(r, json_get_text(one, "evidence", "")));
	buf_addf(&text, "Agents may call %s of it%s, as it is now.",
		t->tool_count || t->effect_count ? "what you named" : "all",
		t->expires_us ? " until then" : "");
	return text.p;
}

/* Of what was offered: [{tool, why}] whose arguments or results nobody could check.  These stay in quarantine. */
static struct json *left_out(struct cli *r, const struct json *tools)
{
	struct json *all = json_new(r->a, JSON_ARRAY);

	json_each (tool, tools) {
		struct err why = { 0 };
		if (mcp_check_tool(r->a, tool, &why) == OK)
			continue;
		struct json *one = json_new(r->a, JSON_OBJECT);
		json_sets(r->a, one, "tool", json_get_text(tool, "name", ""));
		json_sets(r->a, one, "why", why.text);
		json_push(r->a, all, one);
	}
	return all;
}

int cmd_mcp_approve(struct cli *r, struct err *e)
{
	AUTO(kernel_close) struct kernel k = { 0 };
	const char *id = r->args[0], *lasts = opt_text(r, "for", NULL);
	struct json *row, *arguments = json_new(r->a, JSON_OBJECT);
	struct mcp_terms t = { .arguments = arguments, .set_sha256 = opt_text(r, "set", NULL) };
	const struct json *tools;
	struct person who;
	int64_t us = 0;
	int rc = load_row(r, id, &row, e);

	if (rc == OK)
		rc = opt_span(r, "for", &us, e);
	if (rc == OK)
		rc = read_arguments(r, arguments, e);
	if (rc == OK)
		rc = mcp_open(r, true, &k, &who, e);
	if (rc == OK)
		rc = offered(r, id, &tools, e);
	if (rc)
		return rc;
	t.tool_count = opt_list(r, "tool", &t.tools);
	t.effect_count = opt_list(r, "effect", &t.effects);
	t.expires_us = lasts ? r->sys->now_us(r->sys) + us : 0;
	const char *offer = offer_in_words(r, id, tools, &t);
	if (opt_flag(r, "dry-run")) {
		out(r, "%s\nNothing was approved.\n", offer);
		return 0;
	}
	rc = mcp_confirm(r, &who, offer, e);
	if (rc == OK)
		rc = mcp_approve(&k, r->a, id, tools, &t, &who, &row, e);
	if (rc)
		return rc;
	struct json *doc = shown_row(r, id, row), *names = json_new(r->a, JSON_ARRAY);
	json_each_member (m, json_get(row, "tools"))
		json_pushs(r->a, names, m->name);
	json_set(r->a, doc, "tools", names);
	json_set(r->a, doc, "left_out", left_out(r, tools));
	if (r->is_json) {
		out_json(r, doc);
		return 0;
	}
	out(r, "approved: %u tool%s of %s (receipt %s)\n", names->n, names->n == 1 ? "" : "s", id,
		json_get_text(row, "approval_receipt_id", ""));
	json_each (one, json_get(doc, "left_out"))
		out(r, "not approved, and not offered: %s: %s\n", mcp_safe(r, json_get_text(one, "tool", "")),
			mcp_safe(r, json_get_text(one, "why", "")));
	return 0;
}

static int changed(struct cli *r, const char *id, const struct json *row, const char *what)
{
	if (r->is_json)
		out_json(r, shown_row(r, id, row));
	else
		out(r, "%s: %s\n", id, what);
	return 0;
}

int cmd_mcp_revoke(struct cli *r, struct err *e)
{
	AUTO(kernel_close) struct kernel k = { 0 };
	struct person who;
	struct json *row;
	const char *tool = opt_text(r, "tool", NULL);
	int rc = mcp_open(r, false, &k, &who, e);

	if (rc == OK)
		rc = mcp_revoke(&k, r->a, r->args[0], tool, opt_text(r, "reason", NULL), &who, &row, e);
	return rc ? rc
		  : changed(r, r->args[0], row,
			    tool ? "this tool may not be called any more"
				 : "nothing of it may be called any more");
}

int cmd_mcp_quarantine(struct cli *r, struct err *e)
{
	AUTO(kernel_close) struct kernel k = { 0 };
	struct person who;
	struct json *row;
	int rc = mcp_open(r, false, &k, &who, e);

	if (rc == OK)
		rc = mcp_quarantine(&k, r->a, r->args[0], opt_text(r, "reason", NULL), &who, &row, e);
	return rc ? rc : changed(r, r->args[0], row, "quarantined: calls of it are asked about");
}
