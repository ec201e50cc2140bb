/* registry.c — which servers there are, and what a person has said about them.
 *
 * The act is on record before the registry changes: a server whose approval is not in the chain has none. */
#include "kernel/mcp/mcp.h"

#include "base/doc.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/sealed.h"
#include "base/text.h"
#include "kernel/operator_files.h"

#include <fcntl.h>
#include <string.h>

enum { REGISTRY_BYTES = 32 << 20, NAMES_SHOWN = 20 };

static const struct doc REGISTRY = { .file = MCP_REGISTRY,
	.lock = MCP_REGISTRY ".lock",
	.type = JSON_OBJECT,
	.max_bytes = REGISTRY_BYTES,
	.code = "MCP_REGISTRY",
	.newest = 1 };
static const struct doc SEEN = { .file = MCP_SEEN,
	.lock = MCP_SEEN ".lock",
	.type = JSON_OBJECT,
	.max_bytes = REGISTRY_BYTES,
	.code = "MCP_SEEN",
	.newest = 1 };

const char *mcp_path(struct arena *a, const struct workspace *ws)
{
	const char *dir = workspace_beside(a, ws);

	return dir ? arena_printf(a, "%s/" MCP_REGISTRY, dir) : NULL;
}

static int load(struct sys *s, struct arena *a, const struct workspace *ws, const struct doc *which,
	struct json **ret, struct err *e)
{
	AUTO(close_fd) int fd = -1;
	struct err why = { 0 };
	int rc = workspace_open_beside(s, a, ws, false, &fd, &why);

	if (rc == E_MISSING) {
		*ret = json_new(a, JSON_OBJECT);
		return OK;
	}
	return rc		     ? err_set(e, rc, why.code, "%s", why.text)
		: which == &REGISTRY ? sealed_load(s, a, fd, which, MCP_REGISTRY_NAME, ret, e)
				     : doc_load(s, a, fd, which, ret, e);
}

int mcp_load(struct sys *s, struct arena *a, const struct workspace *ws, struct json **ret, struct err *e)
{
	return load(s, a, ws, &REGISTRY, ret, e);
}

int mcp_seen_load(
	struct sys *s, struct arena *a, const struct workspace *ws, struct json **ret, struct err *e)
{
	return load(s, a, ws, &SEEN, ret, e);
}

bool mcp_is_id(const char *id)
{
	size_t n = strlen(id);

	return n && n <= 63 && id[0] != '-' && id[0] != '_' && !strstr(id, "__") &&
		strspn(id, "abcdefghijklmnopqrstuvwxyz0123456789_-") == n;
}

int mcp_find(struct arena *a, const struct json *registry, const char *id, struct json **ret, struct err *e)
{
	const struct json *servers = json_get(registry, "servers");
	struct buf names;
	size_t n = 0;

	*ret = json_get(servers, id);
	if (*ret)
		return OK;
	buf_init(&names, a);
	json_each_member (m, servers)
		if (n++ < NAMES_SHOWN)
			buf_addf(&names, "%s%s", names.n ? ", " : "", m->name);
	return err_set(e, E_MISSING, "MCP_UNKNOWN",
		names.n ? "there is no server '%.80s' here; there are: %s"
			: "there is no server '%.80s' here; 'helm mcp add' and 'helm mcp import' add some%s",
		id, names.p);
}

static bool is_over(const struct json *row, int64_t now_us)
{
	const char *end = json_get_text(row, "expires_at", NULL);
	int64_t us;

	return end && (!text_parse_time(end, strlen(end), &us) || now_us >= us);
}

const char *mcp_state(const struct json *row, int64_t now_us)
{
	const char *state = json_get_text(row, "state", "discovered");

	return text_eq(state, "approved") && is_over(row, now_us) ? "expired" : state;
}

const char *mcp_observed(const struct json *row, int64_t now_us)
{
	const struct json *grant = json_get(row, "observe");
	const char *state = mcp_state(row, now_us);

	if (text_eq(state, "revoked") || text_eq(state, "expired"))
		return NULL;
	return json_get(grant, "expires_at") && !is_over(grant, now_us)
		? json_get_text(grant, "grant_id", NULL)
		: NULL;
}

/* ---- the store, open for a change ---- */

struct store {
	int fd, lock;
	const struct doc *which;
	struct json *doc, *servers;
};

static void store_close(struct store *st)
{
	close_fd(&st->lock);
	close_fd(&st->fd);
}

static int store_open(struct sys *s, struct arena *a, const struct workspace *ws, const struct doc *which,
	struct store *st, struct err *e)
{
	int rc = workspace_open_beside(s, a, ws, true, &st->fd, e);

	st->which = which;
	if (rc == OK)
		rc = doc_lock(s, st->fd, which, &st->lock, e);
	if (rc == OK)
		rc = which == &REGISTRY ? sealed_load(s, a, st->fd, which, MCP_REGISTRY_NAME, &st->doc, e)
					: doc_load(s, a, st->fd, which, &st->doc, e);
	if (rc)
		return rc;
	json_seti(a, st->doc, "version", 1);
	st->servers = doc_part(a, st->doc, "servers");
	return OK;
}

static int store_keep(struct sys *s, struct arena *a, const struct store *st, struct err *e)
{
	return st->which == &REGISTRY ? sealed_replace(s, a, st->fd, st->which, st->doc, e)
				      : doc_replace(s, a, st->fd, st->which, st->doc, e);
}

int mcp_seen_put(struct sys *s, struct arena *a, const struct workspace *ws, const char *id,
	const struct json *tools, struct err *e)
{
	AUTO(store_close) struct store st = { .fd = -1, .lock = -1 };
	struct json *row;
	int rc = store_open(s, a, ws, &SEEN, &st, e);

	if (rc)
		return rc;
	row = json_get(st.servers, id);
	if (row && json_eq(json_get(row, "tools"), tools))
		return OK;
	row = json_new(a, JSON_OBJECT);
	json_sets(a, row, "at", text_time_z(a, s->now_us(s)));
	json_set(a, row, "tools", json_copy(a, tools));
	json_set(a, st.servers, id, row);
	return store_keep(s, a, &st, e);
}

/* ---- how a server is started ---- */

enum member { TEXT, TEXTS, MAP, NUMBER, TRUTH, OAUTH };
static const struct {
	const char *name;
	enum member type;
	bool is_launch; /* another one is another server */
} members[] = {
	{ "command", TEXT, true },
	{ "args", TEXTS, true },
	{ "env", MAP, true },
	{ "pass", TEXTS, true },
	{ "cwd", TEXT, true },
	{ "read", TEXTS, true },
	{ "write", TEXTS, true },
	{ "layers", TEXTS, true },
	{ "hosts", TEXTS, true },
	{ "network", TEXT, true },
	{ "url", TEXT, true },
	{ "headers", MAP, true },
	{ "bearer_env", TEXT, true },
	{ "bearer_file", TEXT, true },
	{ "ca_file", TEXT, true },
	{ "oauth", OAUTH, true },
	{ "timeout_s", NUMBER, false },
	{ "start_s", NUMBER, false },
	{ "wait_s", NUMBER, false },
	{ "list_s", NUMBER, false },
	{ "result_kb", NUMBER, false },
	{ "memory_mb", NUMBER, false },
	{ "processes", NUMBER, false },
	{ "trusted", TRUTH, false },
	{ "redact", TRUTH, false },
	{ "passes", TEXTS, false },
	{ "prefix", TEXT, false },
	{ "source", MAP, false },
};

static bool is_texts(const struct json *v)
{
	if (!json_is(v, JSON_ARRAY))
		return false;
	json_each (one, v)
		if (!json_text(one))
			return false;
	return true;
}

static bool is_map(const struct json *v)
{
	if (!json_is(v, JSON_OBJECT))
		return false;
	json_each_member (m, v)
		if (!json_text(m->value))
			return false;
	return true;
}

static bool fits(const struct json *v, enum member type)
{
	int64_t n;

	switch (type) {
	case TEXT:
		return json_text(v);
	case TEXTS:
		return is_texts(v);
	case NUMBER:
		return json_int(v, &n) && n >= 0 && n <= 1000000;
	case TRUTH:
		return json_is_bool(v);
	case MAP:
	case OAUTH:
	default:
		return is_map(v);
	}
}

static int check_member(const char *id, const struct json_member *m, struct err *e)
{
	for (size_t i = 0; i < ARRAY_SIZE(members); i++)
		if (text_eq(members[i].name, m->name))
			return fits(m->value, members[i].type)
				? OK
				: err_set(e, E_INPUT, "MCP_SERVER",
					  "server '%s': '%s' is not what it must be", id, m->name);
	return err_set(e, E_INPUT, "MCP_SERVER", "server '%s' has no member '%.80s'", id, m->name);
}

static int check_hosts(struct arena *a, const char *id, const struct json *how, struct err *e)
{
	struct egress_rules rules = { 0 };
	const char *network = json_get_text(how, "network", "none");

	if (!text_eq(network, "none") && !text_eq(network, "full"))
		return err_set(e, E_INPUT, "MCP_SERVER",
			"server '%s': 'network' is none or full; hosts are named by 'hosts'", id);
	json_each (host, json_get(how, "hosts"))
		if (egress_add(a, &rules, json_text(host), id, e))
			return E_INPUT;
	return OK;
}

/* Where host and port begin: behind the scheme and name:password@. */
static const char *authority_of(const char *url)
{
	const char *at = strstr(url, "://");

	at = at ? at + 3 : url;
	for (size_t n = strcspn(at, "/?#"); n; n--)
		if (at[n - 1] == '@')
			return at + n;
	return at;
}

/* What could be read in two ways is not this machine. */
static bool is_this_machine(const char *url)
{
	static const char *const names[] = { "127.0.0.1", "[::1]", "localhost" };

	if (!text_starts(url, "http://") || strpbrk(url, "@\\"))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const char *host = authority_of(url);
		if (text_starts(host, names[i]) && strchr(":/?#", host[strlen(names[i])]))
			return true;
	}
	return false;
}

/* As it may stand in a receipt: without what a key could be in. */
static const char *bare_url(struct arena *a, const char *url)
{
	const char *scheme = strstr(url, "://"), *from = authority_of(url);

	return arena_printf(
		a, "%.*s%.*s", scheme ? (int)(scheme - url) + 3 : 0, url, (int)strcspn(from, "?#"), from);
}

static int check_how(struct arena *a, const char *id, const struct json *how, struct err *e)
{
	const char *command = json_get_text(how, "command", NULL), *url = json_get_text(how, "url", NULL);

	if (!mcp_is_id(id))
		return err_set(e, E_USAGE, "MCP_ID",
			"'%.80s' is no name for a server: small letters, digits, - and _, no two _ together, at most 63",
			id);
	json_each_member (m, how)
		if (check_member(id, m, e))
			return E_INPUT;
	if (!command == !url)
		return err_set(e, E_INPUT, "MCP_SERVER",
			"server '%s' is started by a command or reached by a url, one of both", id);
	if (command && !*command)
		return err_set(e, E_INPUT, "MCP_SERVER", "server '%s': the command is empty", id);
	if (url && !text_starts(url, "https://") && !is_this_machine(url))
		return err_set(e, E_INPUT, "MCP_SERVER",
			"server '%s': a url begins with https://, or leads to this machine", id);
	return check_hosts(a, id, how, e);
}

static const char *launch_sha256(struct arena *a, const struct json *how)
{
	struct json *doc = json_new(a, JSON_OBJECT);

	for (size_t i = 0; i < ARRAY_SIZE(members); i++)
		if (members[i].is_launch && json_get(how, members[i].name))
			json_set(a, doc, members[i].name, json_get(how, members[i].name));
	return json_sha256(a, doc);
}

/* ---- acts ---- */

/* What of a row is told in the receipt: no values of variables, no definitions. */
static struct json *told(struct arena *a, const char *id, const struct json *row)
{
	static const char *const names[] = { "state", "launch_sha256", "set_sha256", "expires_at" };
	struct json *what = json_new(a, JSON_OBJECT);

	json_sets(a, what, "server_id", id);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (json_get_text(row, names[i], NULL))
			json_sets(a, what, names[i], json_get_text(row, names[i], ""));
	if (json_get_text(row, "url", NULL))
		json_sets(a, what, "url", bare_url(a, json_get_text(row, "url", "")));
	if (json_get_text(row, "command", NULL))
		json_sets(a, what, "command", json_get_text(row, "command", ""));
	return what;
}

static int record_act(struct kernel *k, struct arena *a, const char *effect, struct json *what,
	const struct person *who, const char **ret_id, struct err *e)
{
	struct json *about = json_new(a, JSON_OBJECT), *receipt;

	json_set(a, about, "mcp", what);
	act_sign(a, who, what, about);
	int rc = act_record(k, a,
		&(struct act){ .effect_id = effect,
			.type = "setting",
			.output_hash = json_sha256(a, what),
			.executor_id = who->name,
			.about = about },
		&receipt, e);
	if (rc == OK)
		*ret_id = json_get_text(receipt, "receipt_id", "");
	return rc;
}

int mcp_add(struct kernel *k, struct arena *a, const char *id, const struct json *how,
	const struct person *who, struct json **ret_row, struct err *e)
{
	AUTO(store_close) struct store st = { .fd = -1, .lock = -1 };
	const char *receipt;
	int rc = check_how(a, id, how, e);

	if (rc == OK)
		rc = store_open(k->sys, a, k->ws, &REGISTRY, &st, e);
	if (rc)
		return rc;
	static const char *const kept[] = { "state", "tools", "set_sha256", "expires_at", "approved_at",
		"approved_by", "approval_receipt_id" };
	const struct json *old = json_get(st.servers, id);
	struct json *row = json_copy(a, how);
	const char *launch = launch_sha256(a, how);
	bool is_same = text_eq(json_get_text(old, "launch_sha256", ""), launch);
	json_sets(a, row, "launch_sha256", launch);
	json_sets(a, row, "state", "quarantined");
	for (size_t i = 0; i < ARRAY_SIZE(kept) && is_same; i++)
		if (json_get(old, kept[i]))
			json_set(a, row, kept[i], json_get(old, kept[i]));
	json_sets(a, row, "added_at", text_time_z(a, k->sys->now_us(k->sys)));
	json_sets(a, row, "added_by", who->name);
	rc = record_act(k, a, "helm.mcp/add", told(a, id, row), who, &receipt, e);
	if (rc)
		return rc;
	json_sets(a, row, "receipt_id", receipt);
	json_set(a, st.servers, id, row);
	*ret_row = row;
	return store_keep(k->sys, a, &st, e);
}

static int open_row(
	struct kernel *k, struct arena *a, const char *id, struct store *st, struct json **ret, struct err *e)
{
	int rc = store_open(k->sys, a, k->ws, &REGISTRY, st, e);

	return rc ? rc : mcp_find(a, st->doc, id, ret, e);
}

int mcp_remove(struct kernel *k, struct arena *a, const char *id, const struct person *who, struct err *e)
{
	AUTO(store_close) struct store st = { .fd = -1, .lock = -1 };
	struct json *row;
	const char *receipt;
	int rc = open_row(k, a, id, &st, &row, e);

	if (rc == OK)
		rc = record_act(k, a, "helm.mcp/remove", told(a, id, row), who, &receipt, e);
	if (rc)
		return rc;
	(void)json_remove(st.servers, id);
	return store_keep(k->sys, a, &st, e);
}

static bool is_named(const char *name, const char **list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (text_glob(list[i], name, false))
			return true;
	return n == 0;
}

/* Does it do no more than one of these? */
static bool is_within(const char *effect, const char **list, size_t n)
{
	static const char *const rising[] = { "read", "write", "destroy" };
	size_t mine = 0, most = 0;

	for (size_t k = 0; k < ARRAY_SIZE(rising); k++) {
		mine = text_eq(rising[k], effect) ? k : mine;
		for (size_t i = 0; i < n; i++)
			most = text_eq(rising[k], list[i]) ? k : most;
	}
	return n == 0 || mine <= most;
}

static struct json *pinned_tool(
	struct arena *a, const char *id, const struct json *tool, const struct mcp_terms *t)
{
	struct json *one = json_new(a, JSON_OBJECT);
	struct mcp_pin pin;

	mcp_pin(a, tool, &pin);
	json_set(a, one, "definition", json_copy(a, tool));
	json_sets(a, one, "schema_sha256", pin.schema);
	json_sets(a, one, "text_sha256", pin.text);
	json_sets(a, one, "effect", mcp_effect(id, tool));
	if (t->arguments && t->arguments->n)
		json_set(a, one, "arguments", json_copy(a, t->arguments));
	if (t->expires_us)
		json_sets(a, one, "expires_at", text_time_z(a, t->expires_us));
	return one;
}

/* Tools that were approved before stay as they were, unless they are named again. */
static int pin_tools(struct arena *a, const char *id, const struct json *seen, const struct mcp_terms *t,
	struct json *row, struct json *names, struct err *e)
{
	struct json *tools = doc_part(a, row, "tools");
	struct err unreadable = { 0 };
	struct mcp_pin pin;

	json_each (tool, seen) {
		const char *name = json_get_text(tool, "name", "");
		if (!is_named(name, t->tools, t->tool_count) ||
			!is_within(mcp_effect(id, tool), t->effects, t->effect_count))
			continue;
		if (mcp_check_tool(a, tool, &unreadable))
			continue;
		mcp_pin(a, tool, &pin);
		if (!pin.schema)
			return err_set(e, E_INPUT, "MCP_PIN",
				"tool '%.80s': its schema has no canonical form", name);
		json_set(a, tools, name, pinned_tool(a, id, tool, t));
		json_pushs(a, names, name);
	}
	if (!names->n && unreadable.rc)
		return err_set(e, E_INPUT, "MCP_SCHEMA", "what it is called with could not be checked: %s",
			unreadable.text);
	if (!names->n)
		return err_set(e, E_MISSING, "MCP_NO_TOOL",
			"no tool of '%s' is named by this; 'helm mcp show %s' lists them", id, id);
	return OK;
}

int mcp_approve(struct kernel *k, struct arena *a, const char *id, const struct json *seen,
	const struct mcp_terms *t, const struct person *who, struct json **ret_row, struct err *e)
{
	AUTO(store_close) struct store st = { .fd = -1, .lock = -1 };
	struct json *row, *names = json_new(a, JSON_ARRAY), *what;
	const char *receipt, *set = mcp_set_sha256(a, seen);

	if (t->set_sha256 && !text_eq(t->set_sha256, set))
		return err_set(e, E_INPUT, "MCP_CHANGED",
			"the tools of '%s' are not those that were looked at (%.20s...); look again: helm mcp diff %s",
			id, set + strlen("sha256:"), id);
	int rc = open_row(k, a, id, &st, &row, e);
	/* What was withdrawn comes back by being named again. */
	if (rc == OK && !text_eq(mcp_state(row, k->sys->now_us(k->sys)), "approved"))
		(void)json_remove(row, "tools");
	if (rc == OK)
		rc = pin_tools(a, id, seen, t, row, names, e);
	if (rc)
		return rc;
	json_sets(a, row, "state", "approved");
	json_sets(a, row, "set_sha256", set);
	(void)json_remove(row, "expires_at");
	(void)json_remove(row, "reason");
	json_sets(a, row, "approved_at", text_time_z(a, k->sys->now_us(k->sys)));
	json_sets(a, row, "approved_by", who->name);
	what = told(a, id, row);
	json_set(a, what, "tools", names);
	if (t->arguments && t->arguments->n)
		json_set(a, what, "arguments", json_copy(a, t->arguments));
	if (t->expires_us)
		json_sets(a, what, "until", text_time_z(a, t->expires_us));
	rc = record_act(k, a, "helm.mcp/approve", what, who, &receipt, e);
	if (rc)
		return rc;
	json_sets(a, row, "approval_receipt_id", receipt);
	*ret_row = row;
	return store_keep(k->sys, a, &st, e);
}

static int change_state(struct kernel *k, struct arena *a, const char *id, const char *state,
	const char *reason, const char *effect, const struct person *who, struct json **ret_row,
	struct err *e)
{
	AUTO(store_close) struct store st = { .fd = -1, .lock = -1 };
	struct json *row, *what;
	const char *receipt;
	int rc = open_row(k, a, id, &st, &row, e);

	if (rc)
		return rc;
	json_sets(a, row, "state", state);
	(void)json_remove(row, "observe");
	json_sets(a, row, arena_printf(a, "%s_at", state), text_time_z(a, k->sys->now_us(k->sys)));
	if (reason)
		json_sets(a, row, "reason", reason);
	what = told(a, id, row);
	if (reason)
		json_sets(a, what, "reason", reason);
	rc = record_act(k, a, effect, what, who, &receipt, e);
	if (rc)
		return rc;
	*ret_row = row;
	return store_keep(k->sys, a, &st, e);
}

static int revoke_tool(struct kernel *k, struct arena *a, const char *id, const char *tool,
	const char *reason, const struct person *who, struct json **ret_row, struct err *e)
{
	AUTO(store_close) struct store st = { .fd = -1, .lock = -1 };
	struct json *row, *what;
	const char *receipt;
	int rc = open_row(k, a, id, &st, &row, e);

	if (rc == OK && !json_get(json_get(row, "tools"), tool))
		rc = err_set(e, E_MISSING, "MCP_NO_TOOL", "no tool '%.80s' of '%s' is approved", tool, id);
	if (rc)
		return rc;
	(void)json_remove(json_get(row, "tools"), tool);
	what = told(a, id, row);
	json_sets(a, what, "tool", tool);
	if (reason)
		json_sets(a, what, "reason", reason);
	rc = record_act(k, a, "helm.mcp/revoke", what, who, &receipt, e);
	if (rc)
		return rc;
	*ret_row = row;
	return store_keep(k->sys, a, &st, e);
}

int mcp_revoke(struct kernel *k, struct arena *a, const char *id, const char *tool, const char *reason,
	const struct person *who, struct json **ret_row, struct err *e)
{
	return tool ? revoke_tool(k, a, id, tool, reason, who, ret_row, e)
		    : change_state(k, a, id, "revoked", reason, "helm.mcp/revoke", who, ret_row, e);
}

int mcp_quarantine(struct kernel *k, struct arena *a, const char *id, const char *reason,
	const struct person *who, struct json **ret_row, struct err *e)
{
	return change_state(k, a, id, "quarantined", reason, "helm.mcp/quarantine", who, ret_row, e);
}

int mcp_observe(struct kernel *k, struct arena *a, const char *id, int64_t until_us, const struct person *who,
	struct json **ret_row, struct err *e)
{
	AUTO(store_close) struct store st = { .fd = -1, .lock = -1 };
	struct json *row, *what, *grant = json_new(a, JSON_OBJECT);
	const char *receipt;
	char *grant_id;
	int rc = open_row(k, a, id, &st, &row, e);
	const char *state = rc ? "" : mcp_state(row, k->sys->now_us(k->sys));

	if (until_us && (text_eq(state, "revoked") || text_eq(state, "expired")))
		rc = err_set(e, E_DENIED, "MCP_OVER", "'%s' is %s; nothing of it passes: helm mcp approve %s",
			id, state, id);
	if (rc == OK)
		rc = record_new_id(a, k->sys, "obs-", &grant_id, e);
	if (rc)
		return rc;
	what = told(a, id, row);
	if (until_us) {
		json_sets(a, grant, "grant_id", grant_id);
		json_sets(a, grant, "expires_at", text_time_z(a, until_us));
		json_set(a, row, "observe", grant);
		json_set(a, what, "observe", json_copy(a, grant));
	} else {
		(void)json_remove(row, "observe");
		json_sets(a, what, "observe", "ended");
	}
	rc = record_act(k, a, "helm.mcp/observe", what, who, &receipt, e);
	if (rc)
		return rc;
	*ret_row = row;
	return store_keep(k->sys, a, &st, e);
}
