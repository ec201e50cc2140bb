/* cmd_mcp_import.c — servers of tools in the settings of clients: taken over, and looked at for what is wrong with them. */
#include "cli/cmd_mcp.h"

#include "base/file.h"
#include "base/text.h"
#include "kernel/setup/setup.h"

#include <fcntl.h>
#include <string.h>

const struct opt mcp_import_opts[] = {
	{ "client", OPT_VALUE, "CLIENT", "only from the settings of this client", NULL, false },
	{ "project", OPT_VALUE, "DIR", "the project; default: the one the current directory is in", NULL,
		false },
	{ "network", OPT_VALUE, "HOW",
		"what they may reach: none, beyond what their runners fetch from; full: everything",
		"none|full", false },
	{ "quarantine", OPT_FLAG, NULL, "approve nothing", NULL, false },
	CONFIRM_OPTIONS,
	PERSON_KEY,
	{ 0 },
};
const struct opt mcp_scan_opts[] = {
	{ "project", OPT_VALUE, "DIR", "the project; default: the one the current directory is in", NULL,
		false },
	{ "manifest", OPT_VALUE, "FILE", "look at this list of tools instead", NULL, false },
	{ "fail-on", OPT_VALUE, "SEVERITY", "end with 1 from this severity on (high)",
		"low|medium|high|critical", false },
	{ 0 },
};

/* ---- import ---- */

static int find_servers(struct cli *r, struct json **ret, struct json **ret_notes, struct err *e)
{
	struct setup s;
	int rc = setup_open(r->sys, r->a, r->ws, opt_text(r, "project", NULL), &s, e);

	if (rc == OK)
		*ret = mcp_find_servers(r->sys, r->a, s.home, s.project, ret_notes);
	return rc;
}

static void print_places(struct cli *r, const struct json *how, const char *member, const char *what)
{
	const struct json *list = json_get(how, member);

	if (!list || !list->n)
		return;
	out(r, "    %s:", what);
	json_each (one, list)
		out(r, " %s", mcp_safe(r, json_text(one)));
	out(r, "\n");
}

/* Names alone, for values may be secrets; one that only names a variable is shown. */
static void print_names(struct cli *r, const struct json *how, const char *member, const char *what)
{
	const struct json *map = json_get(how, member);

	if (!map || !map->n)
		return;
	out(r, "    %s:", what);
	json_each_member (m, map) {
		const char *value = json_text(m->value) ? json_text(m->value) : "";
		out(r, strstr(value, "${") ? " %s=%s" : " %s", mcp_safe(r, m->name), mcp_safe(r, value));
	}
	out(r, "\n");
}

/* What it is handed of this user's. */
static void print_handed(struct cli *r, const struct json *how)
{
	const char *bearer = json_get_text(how, "bearer_env", NULL);

	print_names(r, how, "env", "gets the variables of the settings");
	print_places(r, how, "pass", "gets your variables");
	print_names(r, how, "headers", "is sent the headers");
	if (bearer)
		out(r, "    is sent as its key: the variable %s\n", mcp_safe(r, bearer));
}

static void print_found(struct cli *r, const struct json *registry, const struct json *found)
{
	json_each (one, found) {
		const struct json *how = json_get(one, "how");
		if (json_get_bool(one, "is_ours", false))
			continue;
		out(r, "%s: %s\n    from %s\n", json_get_text(one, "id", ""), mcp_how_in_words(r, how),
			mcp_safe(r, json_get_text(one, "path", "")));
		print_places(r, how, "read", "may read");
		print_places(r, how, "write", "may write");
		print_places(r, how, "hosts", "may reach");
		if (text_eq(json_get_text(how, "network", ""), "full"))
			out(r, "    may reach everything\n");
		print_handed(r, how);
		const struct json *old =
			json_get(json_get(registry, "servers"), json_get_text(one, "id", ""));
		if (old)
			out(r, "    takes the place of the one that is here (%s): %s\n",
				mcp_state(old, r->sys->now_us(r->sys)), mcp_how_in_words(r, old));
	}
}

/* One that is there with the same entry is left alone. */
static bool is_known(const struct json *registry, const struct json *found)
{
	const struct json *row = json_get(json_get(registry, "servers"), json_get_text(found, "id", ""));

	return row &&
		text_eq(json_get_text(json_get(row, "source"), "entry_sha256", ""),
			json_get_text(found, "entry_sha256", "-"));
}

static struct json *wanted_servers(struct cli *r, const struct json *registry, const struct json *all)
{
	struct json *list = json_new(r->a, JSON_ARRAY);
	const char *client = opt_text(r, "client", NULL), *network = opt_text(r, "network", NULL);

	json_each (one, all) {
		if (json_get_bool(one, "is_ours", false) || is_known(registry, one) ||
			(client && !text_eq(client, json_get_text(one, "client", ""))))
			continue;
		bool is_twice = false;
		json_each (other, list)
			is_twice |= text_eq(json_get_text(other, "id", ""), json_get_text(one, "id", ""));
		if (is_twice)
			continue;
		if (network && json_get(json_get(one, "how"), "command"))
			json_sets(r->a, json_get(one, "how"), "network", network);
		json_push(r->a, list, one);
	}
	return list;
}

/* A server that speaks to the model instead of about itself stays in quarantine. */
static int approve_imported(struct cli *r, struct kernel *k, const struct person *who, const char *id,
	const struct json *said, struct json *result, struct err *e)
{
	const struct json *tools = json_get(said, "tools");
	const struct mcp_terms terms = { 0 };
	struct json *findings = mcp_inspect_tools(r->a, tools), *row;

	json_set(r->a, result, "findings", findings);
	if (!tools) {
		json_sets(r->a, result, "error", json_get_text(said, "error", "it does not answer"));
		return OK;
	}
	if (mcp_severity(mcp_worst(findings)) >= mcp_severity("high") || !tools->n)
		return OK;
	int rc = mcp_approve(k, r->a, id, tools, &terms, who, &row, e);
	if (rc == OK)
		json_sets(r->a, result, "state", "approved");
	json_seti(r->a, result, "tools", tools->n);
	return rc;
}

static int import_all(struct cli *r, struct kernel *k, const struct person *who, const struct json *wanted,
	struct json *results, struct err *e)
{
	struct json *ids = json_new(r->a, JSON_ARRAY), *said = NULL, *row;

	json_each (one, wanted) {
		const char *id = json_get_text(one, "id", "");
		int rc = mcp_add(k, r->a, id, json_get(one, "how"), who, &row, e);
		if (rc)
			return err_wrap(e, "%s", json_get_text(one, "path", ""));
		json_pushs(r->a, ids, id);
	}
	int rc = opt_flag(r, "quarantine") || !ids->n ? OK : mcp_ask(r, ids, &said, e);
	json_each (id, ids) {
		struct json *result = json_new(r->a, JSON_OBJECT);
		json_sets(r->a, result, "server_id", json_text(id));
		json_sets(r->a, result, "state", "quarantined");
		if (rc == OK && said)
			rc = approve_imported(
				r, k, who, json_text(id), json_get(said, json_text(id)), result, e);
		json_push(r->a, results, result);
	}
	return rc;
}

static void print_imported(struct cli *r, const struct json *results)
{
	json_each (one, results) {
		const char *error = json_get_text(one, "error", NULL),
			   *id = json_get_text(one, "server_id", "");
		out(r, "%s: %s", id, json_get_text(one, "state", ""));
		if (error)
			out(r, ", because it does not start: %s", mcp_safe(r, error));
		else if (json_get(one, "tools"))
			out(r, ", %lld tool%s", (long long)json_get_int(one, "tools", 0),
				json_get_int(one, "tools", 0) == 1 ? "" : "s");
		out(r, "\n");
		mcp_print_findings(r, json_get(one, "findings"));
	}
	out(r, "\nNow put them behind the gateway in your client's settings: helm setup CLIENT\n");
}

int cmd_mcp_import(struct cli *r, struct err *e)
{
	AUTO(kernel_close) struct kernel k = { 0 };
	struct json *all, *notes, *registry, *results = json_new(r->a, JSON_ARRAY);
	struct person who;
	int rc = find_servers(r, &all, &notes, e);

	if (rc == OK)
		rc = mcp_load(r->sys, r->a, r->ws, &registry, e);
	if (rc)
		return rc;
	struct json *wanted = wanted_servers(r, registry, all);
	json_each (note, notes)
		warn(r, "%s", mcp_safe(r, json_text(note)));
	if (!r->is_json)
		print_found(r, registry, wanted);
	if (!wanted->n || opt_flag(r, "dry-run")) {
		if (r->is_json)
			out_json(r, wanted);
		else
			out(r,
				wanted->n ? "Nothing was added.\n"
					  : "There is no server that is not here already.\n");
		return 0;
	}
	rc = mcp_open(r, true, &k, &who, e);
	if (rc == OK)
		rc = mcp_confirm(r, &who,
			"They are added as they stand here, started inside walls, and their tools approved as they are now.",
			e);
	if (rc == OK)
		rc = import_all(r, &k, &who, wanted, results, e);
	if (rc)
		return rc;
	if (r->is_json)
		out_json(r, results);
	else
		print_imported(r, results);
	return 0;
}

/* ---- scan ---- */

/* {"tools": [...]}, a list of them, or what a client's settings hold. */
static int scan_manifest(struct cli *r, const char *file, struct json *findings, struct err *e)
{
	struct bytes text;
	struct json *doc;
	int rc = file_read(r->sys, r->a, AT_FDCWD, file, 16 << 20, FILE_FOLLOW, &text, e);

	if (rc == OK)
		rc = json_parse(r->a, text, file, NULL, &doc, e);
	if (rc)
		return rc;
	const struct json *tools = json_is(doc, JSON_ARRAY) ? doc : json_get(doc, "tools");
	json_each (tool, tools) /* as some write it */
		if (json_get(tool, "input_schema") && !json_get(tool, "inputSchema"))
			json_set(r->a, (struct json *)(uintptr_t)tool, "inputSchema",
				json_copy(r->a, json_get(tool, "input_schema")));
	json_each (one, mcp_inspect_tools(r->a, tools))
		json_push(r->a, findings, one);
	return OK;
}

/* One server, how it is started and what it said last.  `path` is where that stands. */
static void scan_server(struct cli *r, const char *id, const char *path, const struct json *how,
	const struct json *others, const struct json *seen, struct json *findings)
{
	struct json *here = mcp_inspect_server(r->a, id, how, others);

	json_each (f, mcp_inspect_tools(r->a, json_get(json_get(json_get(seen, "servers"), id), "tools")))
		json_push(r->a, here, f);
	json_each (f, here) {
		json_sets(r->a, f, "server", id);
		json_sets(r->a, f, "path", path);
		json_push(r->a, findings, f);
	}
}

/* Servers that stand in the settings of clients, and those that were added here: once settings start the gateway, only these say what is started. */
static int scan_all(
	struct cli *r, struct json *findings, struct json *unread, uint32_t *ret_servers, struct err *e)
{
	struct json *all, *notes, *seen, *registry;
	struct json *others = json_new(r->a, JSON_OBJECT), *done = json_new(r->a, JSON_OBJECT);
	int rc = find_servers(r, &all, &notes, e);

	if (rc == OK)
		rc = mcp_seen_load(r->sys, r->a, r->ws, &seen, e);
	if (rc == OK)
		rc = mcp_load(r->sys, r->a, r->ws, &registry, e);
	if (rc)
		return rc;
	json_each (note, notes) {
		warn(r, "not looked at: %s", mcp_safe(r, json_text(note)));
		json_pushs(r->a, unread, json_text(note));
	}
	json_each (one, all)
		if (!json_get_bool(one, "is_ours", false)) {
			json_set(r->a, others, json_get_text(one, "id", ""), json_get(one, "how"));
			if (is_known(registry, one))
				json_setb(r->a, done, json_get_text(one, "id", ""), true);
		}
	json_each_member (m, json_get(registry, "servers"))
		if (text_eq(mcp_state(m->value, r->sys->now_us(r->sys)), "revoked"))
			json_setb(r->a, done, m->name, true);
		else if (!json_get(others, m->name))
			json_set(r->a, others, m->name, m->value);
	json_each (one, all)
		if (!json_get_bool(one, "is_ours", false))
			scan_server(r, json_get_text(one, "id", ""), json_get_text(one, "path", ""),
				json_get(one, "how"), others, seen, findings);
	json_each_member (m, json_get(registry, "servers"))
		if (!json_get(done, m->name))
			scan_server(r, m->name, mcp_path(r->a, r->ws), m->value, others, seen, findings);
	*ret_servers = others->n;
	return OK;
}

/* That nothing was found says how much was looked at. */
static void print_nothing(struct cli *r, const char *file, uint32_t servers)
{
	if (file)
		out(r, "Nothing was found in %s.\n", mcp_safe(r, file));
	else if (servers)
		out(r, "Nothing was found; servers looked at: %u.\n", servers);
	else
		out(r, "There are no servers in the settings of your agent clients and none was added here, so nothing was looked at; 'helm mcp add' adds one.\n");
}

int cmd_mcp_scan(struct cli *r, struct err *e)
{
	const char *file = opt_text(r, "manifest", NULL), *limit = opt_text(r, "fail-on", "high");
	struct json *doc = json_new(r->a, JSON_OBJECT), *findings = json_new(r->a, JSON_ARRAY),
		    *unread = json_new(r->a, JSON_ARRAY);
	uint32_t servers = 0;
	int rc = file ? scan_manifest(r, file, findings, e) : scan_all(r, findings, unread, &servers, e);

	if (rc)
		return rc;
	json_sets(r->a, doc, "schema", "helm-ai-kernel.mcp-scan.v1");
	json_set(r->a, doc, "findings", findings);
	json_sets(r->a, doc, "worst", mcp_worst(findings));
	json_set(r->a, doc, "unread", unread);
	if (r->is_json)
		out_json(r, doc);
	else if (findings->n)
		mcp_print_findings(r, findings);
	else
		print_nothing(r, file, servers);
	return unread->n || mcp_severity(mcp_worst(findings)) >= mcp_severity(limit) ? EXIT_NO : 0;
}
