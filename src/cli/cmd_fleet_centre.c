/* cmd_fleet_centre.c — helm fleet at the centre: for a person who has the ledger's database. */
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "base/url.h"
#include "cli/cmd.h"
#include "cli/cmd_approval.h"
#include "cli/cmd_fleet.h"
#include "cli/cmd_serve.h"
#include "kernel/passkey.h"
#include "kernel/person.h"
#include "kernel/workspace.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

const struct opt serve_fleet_opts[] = {
	DATABASE,
	SIGNER,
	{ "witnesses", OPT_VALUE, "FILE",
		"whose cosignatures a checkpoint needs before it is published (c2sp.org/tlog-policy)", NULL,
		false },
	TENANT,
	{ "days", OPT_INT, "N", "retain: months that ended before so many days are detached (400)", NULL,
		false },
	{ "login", OPT_VALUE, "ROLE", "migrate: the role that servers log in as; made when there is none",
		NULL, false },
	{ "port", OPT_INT, "N", "where to listen; 0: any that is free, named on standard output (7715)", NULL,
		false },
	{ "bind", OPT_VALUE, "ADDRESS", "on which address (127.0.0.1)", NULL, false },
	{ "origin", OPT_VALUE, "URL", "where browsers reach the console: https://ledger.example.com", NULL,
		false },
	{ "listen", OPT_VALUE, "unix:PATH", "also, or with --port -1 only, on a socket of this machine", NULL,
		false },
	{ "tls-cert", OPT_VALUE, "FILE", "certificate chain in PEM", NULL, false },
	{ "tls-key", OPT_VALUE, "FILE", "and its key", NULL, false },
	{ "insecure-remote", OPT_FLAG, NULL,
		"listen beyond this machine without TLS: what is recorded can be read on the way", NULL,
		false },
	{ "patience", OPT_INT, "SECONDS", "a statement that takes the database longer is given up (20)", NULL,
		false },
	{ "workers", OPT_INT, "N", "so many requests are verified at once, at most 256 (32)", NULL, false },
	{ 0 },
};
const struct opt fleet_tenant_opts[] = {
	DATABASE,
	SIGNER,
	{ "root", OPT_VALUE, "KEY",
		"add: who may answer questions from the centre is said by this key, in 64 hex digits, which is kept elsewhere",
		NULL, false },
	{ 0 },
};
const struct opt fleet_token_opts[] = {
	DATABASE,
	TENANT,
	{ "uses", OPT_INT, "N", "so many machines may join with it (1)", NULL, false },
	{ "expires", OPT_VALUE, "DURATION", "it opens nothing after 12h, 30d, ... (1d)", NULL, false },
	{ 0 },
};
const struct opt fleet_audit_opts[] = {
	DATABASE,
	TENANT,
	SIGNER,
	{ "deep", OPT_FLAG, NULL, "also hold every row against what was received, and that against the log",
		NULL, false },
	{ 0 },
};
const struct opt fleet_view_opts[] = {
	DATABASE,
	TENANT,
	LEDGER_URL,
	{ 0 },
};

/* Not every command here takes every option. */
static bool takes(const struct cli *r, const char *name)
{
	for (const struct opt *o = r->cmd->opts; o && o->name; o++)
		if (text_eq(o->name, name))
			return true;
	return false;
}

/* Over HTTP, as a reader: for commands that have LEDGER_URL among their options. */
static int start_remote(struct cli *r, const char *verb, struct json **ret, struct err *e)
{
	const char *file = opt_text(r, "token-file", NULL), *url = opt_text(r, "url", "");
	struct bytes text = { 0 };
	struct json *q = json_new(r->a, JSON_OBJECT);
	size_t n = strlen(url);

	if (!file || opt_text(r, "database", NULL))
		return err_set(e, E_USAGE, "USAGE",
			"with --url goes --token-file, a token of 'helm fleet reader add', and no --database");
	if (!url_is_private(url))
		return err_set(e, E_USAGE, "USAGE", "'%s' is not https://, and not of this machine", url);
	int rc = file_read(r->sys, r->a, AT_FDCWD, file, 4096, FILE_FOLLOW, &text, e);
	if (rc)
		return rc;
	char *token = arena_strndup(r->a, (const char *)text.p, text.n);
	token[strcspn(token, " \r\n")] = '\0';
	json_sets(r->a, q, "do", verb);
	json_sets(r->a, q, "url", arena_strndup(r->a, url, n && url[n - 1] == '/' ? n - 1 : n));
	json_sets(r->a, q, "token", token);
	if (opt_text(r, "ca", NULL))
		json_sets(r->a, q, "ca", workspace_named(r->sys, r->a, opt_text(r, "ca", "")));
	*ret = q;
	return OK;
}

/* With one statement of the database; each command has its own when nothing is said. */
static int add_patience(struct cli *r, struct json *q, struct err *e)
{
	const char *text = r->sys->getenv(r->sys, "HELM_FLEET_PATIENCE");
	int64_t seconds;

	if (!text || !*text)
		return OK;
	if (!text_int(text, &seconds) || seconds < 1 || seconds > 3600)
		return err_set(e, E_USAGE, "USAGE", "HELM_FLEET_PATIENCE takes seconds, from 1 to 3600");
	json_seti(r->a, q, "patience_s", seconds);
	return OK;
}

int fleet_start(struct cli *r, const char *verb, struct json **ret, struct err *e)
{
	const char *database = opt_text(r, "database", r->sys->getenv(r->sys, "HELM_FLEET_DATABASE"));

	if (takes(r, "url") && opt_text(r, "url", NULL))
		return start_remote(r, verb, ret, e);
	if (!database || !*database)
		return err_set(e, E_USAGE, "USAGE",
			"say where the ledger is: --database 'host=/run/postgresql dbname=helm', or HELM_FLEET_DATABASE");
	*ret = json_new(r->a, JSON_OBJECT);
	json_sets(r->a, *ret, "do", verb);
	json_sets(r->a, *ret, "database", database);
	return add_patience(r, *ret, e);
}

void fleet_add_tenant(struct cli *r, struct json *q)
{
	if (opt_text(r, "tenant", NULL))
		json_sets(r->a, q, "tenant", opt_text(r, "tenant", ""));
}

void fleet_add_signer(struct cli *r, struct json *q)
{
	const char *socket = opt_text(r, "signer", r->sys->getenv(r->sys, "HELM_FLEET_SIGNER"));

	json_sets(r->a, q, "signer", socket && *socket ? socket : "/run/helm-log/socket");
}

int fleet_ask(struct cli *r, struct json *q, struct json **ret, struct err *e)
{
	struct json *options = json_new(r->a, JSON_OBJECT);
	int code;

	json_set(r->a, options, "fleet_do", q);
	return serve_ask(r, options, 600000, ret, &code, e);
}

int fleet_ask_and_show(struct cli *r, struct json *q, struct err *e)
{
	struct json *answer;
	int rc = fleet_ask(r, q, &answer, e);

	if (rc == OK)
		out_result(r, answer);
	return rc;
}

/* A list as a table of its own, or the sentence that it is empty. */
const char *fleet_cell(struct cli *r, const struct json *doc, const char *name)
{
	const char *text = json_get_text(doc, name, "");

	return text_safe(r->a, text, strlen(text), false);
}

static int list_answer(struct cli *r, struct json *answer, const char *empty,
	void (*print)(struct cli *, const struct json *))
{
	if (r->is_json)
		out_json(r, answer);
	else if (!answer->n)
		out(r, "%s\n", empty);
	else
		print(r, answer);
	return 0;
}

int fleet_ask_and_list(struct cli *r, struct json *q, const char *empty,
	void (*print)(struct cli *, const struct json *), struct err *e)
{
	struct json *answer;
	int rc = fleet_ask(r, q, &answer, e);

	return rc ? rc : list_answer(r, answer, empty, print);
}

/* ---- the server ---- */

static int migrate(struct cli *r, struct err *e)
{
	struct json *q, *answer;
	int rc = fleet_start(r, "migrate", &q, e);

	if (rc == OK && opt_text(r, "login", NULL))
		json_sets(r->a, q, "login", opt_text(r, "login", ""));
	if (rc == OK)
		rc = fleet_ask(r, q, &answer, e);
	if (rc)
		return rc;
	if (r->is_json)
		out_json(r, answer);
	else
		out(r, "The ledger is at version %lld (it was at %lld).\n",
			(long long)json_get_int(answer, "to", 0), (long long)json_get_int(answer, "from", 0));
	return 0;
}

/* rebuild, retain, tiles DIR: what is done now and then. */
static int keep(struct cli *r, struct err *e)
{
	struct json *q;
	bool is_tiles = text_eq(r->args[0], "tiles");

	if (r->arg_count != (is_tiles ? 2 : 1) ||
		(!is_tiles && !text_eq(r->args[0], "rebuild") && !text_eq(r->args[0], "retain")))
		return err_set(
			e, E_USAGE, "USAGE", "say migrate, rebuild, retain, tiles DIR, or nothing to serve");
	int rc = fleet_start(r, r->args[0], &q, e);
	if (rc)
		return rc;
	fleet_add_tenant(r, q);
	json_seti(r->a, q, "days", opt_int(r, "days", 400));
	if (is_tiles)
		json_sets(r->a, q, "dir", workspace_named(r->sys, r->a, r->args[1]));
	return fleet_ask_and_show(r, q, e);
}

int cmd_serve_fleet(struct cli *r, struct err *e)
{
	struct json *doc = json_new(r->a, JSON_OBJECT), *q;

	if (r->arg_count)
		return text_eq(r->args[0], "migrate") && r->arg_count == 1 ? migrate(r, e) : keep(r, e);
	int rc = fleet_start(r, "serve", &q, e);
	if (rc == OK && opt_text(r, "witnesses", NULL))
		json_sets(r->a, q, "witnesses", workspace_named(r->sys, r->a, opt_text(r, "witnesses", "")));
	if (rc == OK && (opt_int(r, "patience", 20) < 1 || opt_int(r, "patience", 20) > 3600))
		rc = err_set(e, E_USAGE, "USAGE", "--patience takes a number from 1 to 3600");
	if (rc == OK)
		rc = serve_listening(r, 7715, doc, e);
	if (rc == OK)
		rc = serve_console(r, doc, e);
	if (rc)
		return rc;
	fleet_add_signer(r, q);
	json_seti(r->a, q, "patience_s", opt_int(r, "patience", 20));
	json_set(r->a, doc, "fleet", q);
	return serve_become(r, doc, e);
}

/* ---- tenants and tokens ---- */

int cmd_fleet_tenant(struct cli *r, struct err *e)
{
	struct json *q;
	bool is_add = text_eq(r->args[0], "add") && r->arg_count == 2;

	if (!is_add && !(text_eq(r->args[0], "list") && r->arg_count == 1))
		return err_set(e, E_USAGE, "USAGE", "say add NAME, or list");
	int rc = fleet_start(r, is_add ? "tenant add" : "tenants", &q, e);
	if (rc)
		return rc;
	fleet_add_signer(r, q);
	if (is_add)
		json_sets(r->a, q, "name", r->args[1]);
	if (is_add && opt_text(r, "root", NULL))
		json_sets(r->a, q, "root", opt_text(r, "root", ""));
	return fleet_ask_and_show(r, q, e);
}

int cmd_fleet_token(struct cli *r, struct err *e)
{
	struct json *q, *answer;
	int64_t us = 86400000000LL;
	int rc = fleet_start(r, "token", &q, e);

	if (rc == OK)
		rc = opt_span(r, "expires", &us, e);
	if (rc)
		return rc;
	fleet_add_tenant(r, q);
	json_seti(r->a, q, "uses", opt_int(r, "uses", 1));
	json_seti(r->a, q, "seconds", us / 1000000);
	json_sets(r->a, q, "by", arena_printf(r->a, "user:%u", (unsigned)r->sys->euid(r->sys)));
	rc = fleet_ask(r, q, &answer, e);
	if (rc)
		return rc;
	if (r->is_json)
		out_json(r, answer);
	else
		out(r, "%s\n", json_get_text(answer, "token", ""));
	return 0;
}

/* ---- machines ---- */

/* Its chains, its own record, and what it thinks of the log. */
static const char *node_wrong(struct cli *r, const struct json *one)
{
	const char *chains = fleet_cell(r, one, "wrong"),
		   *log = json_get_text(json_get(one, "log"), "standing", "");

	if (text_eq(json_get_text(json_get(one, "record"), "standing", ""), "not sound"))
		chains = arena_printf(r->a, "%s%srecord not sound", chains, *chains ? ", " : "");
	if (!text_eq(log, "failed") && !text_eq(log, "old"))
		return chains;
	return arena_printf(r->a, "%s%slog check %s", chains, *chains ? ", " : "", log);
}

static void print_nodes(struct cli *r, const struct json *list)
{
	static const char *const heads[] = { "NODE", "HOST", "USER", "STANDS", "SILENT", "RECEIPTS",
		"BACKLOG", "ORDER", "WRONG" };
	struct out_table *t = out_table(r, heads, ARRAY_SIZE(heads));

	json_each (one, list) {
		int64_t silent = json_get_int(one, "silent_s", -1);
		const char *cells[] = { fleet_cell(r, one, "node"), fleet_cell(r, one, "host"),
			fleet_cell(r, one, "user"),
			json_get_bool(one, "frozen", false)
				? arena_printf(r->a, "%s, frozen", fleet_cell(r, one, "standing"))
				: fleet_cell(r, one, "standing"),
			silent < 0 ? "never" : arena_printf(r->a, "%lld s", (long long)silent),
			arena_printf(r->a, "%lld", (long long)json_get_int(one, "receipts", 0)),
			json_get(one, "backlog")
				? arena_printf(r->a, "%lld", (long long)json_get_int(one, "backlog", 0))
				: "?",
			arena_printf(r->a, "%lld", (long long)json_get_int(one, "order", 0)),
			node_wrong(r, one) };
		out_row(t, cells, NULL);
	}
	out_table_end(t);
}

int cmd_fleet_nodes(struct cli *r, struct err *e)
{
	struct json *q;
	int rc = fleet_start(r, "nodes", &q, e);

	if (rc)
		return rc;
	fleet_add_tenant(r, q);
	return fleet_ask_and_list(r, q, "No machine has joined yet.", print_nodes, e);
}

/* ---- orders ---- */

#define ORDER \
	DATABASE, TENANT, SIGNER, \
		{ "node", OPT_LIST, "NODE", "only this machine, by its number; without it: all", NULL, \
			false }, \
		WHY
const struct opt fleet_order_opts[] = { ORDER, { 0 } };
const struct opt fleet_freeze_opts[] = {
	ORDER,
	{ "key", OPT_VALUE, "FILE",
		"sign it with your own key, NAME.key, which the list of approvers has; what a person has signed is lifted by nobody else",
		NULL, false },
	{ 0 },
};

/* The only tenant, or the one that was named. */
static int find_origin(struct cli *r, const char **ret, struct err *e)
{
	const char *wanted = opt_text(r, "tenant", NULL);
	struct json *q, *list;
	int rc = fleet_start(r, "tenants", &q, e);

	if (rc == OK)
		rc = fleet_ask(r, q, &list, e);
	if (rc)
		return rc;
	json_each (one, list)
		if (wanted ? text_eq(json_get_text(one, "tenant", ""), wanted) : list->n == 1) {
			*ret = json_get_text(one, "origin", "");
			return OK;
		}
	return err_set(e, E_INPUT, "FLEET_TENANT",
		wanted ? "there is no tenant '%s'" : "say which tenant with --tenant", wanted);
}

/* A person's own word, as a passkey says it in the console (docs/formats/fleet-orders.md). */
static int sign_act(
	struct cli *r, const char *kind, const struct json *nodes, struct json *body, struct err *e)
{
	AUTO(key_free) struct key *key = NULL;
	struct json *act = json_new(r->a, JSON_OBJECT), *by = json_new(r->a, JSON_OBJECT);
	uint8_t nonce[SHA256_SIZE], signature[SIGN_SIZE];
	char hex[2 * SIGN_SIZE + 1];
	const char *origin = "";
	int rc = person_load_key(r->sys, r->a, opt_text(r, "key", ""), &key, e);

	if (rc == OK)
		rc = find_origin(r, &origin, e);
	if (rc == OK && r->sys->random(r->sys, nonce, sizeof(nonce)))
		rc = err_sys(e, "FLEET_RANDOM", "cannot draw a nonce");
	if (rc)
		return rc;
	json_sets(r->a, act, "act", kind);
	json_sets(r->a, act, "origin", origin);
	/* Whole seconds, as a page writes them: of two acts in one second neither is before the other. */
	json_sets(r->a, act, "at", text_time_z(r->a, r->sys->now_us(r->sys) / 1000000 * 1000000));
	json_sets(r->a, act, "nonce", base64_encode(r->a, nonce, sizeof(nonce), BASE64_URL, false));
	json_set(r->a, act, "nodes", json_copy(r->a, nodes));
	json_sets(r->a, act, "reason", json_get_text(body, "reason", ""));
	struct bytes message = passkey_message(r->a, act);
	key_sign(key, message, signature);
	hex_encode(signature, sizeof(signature), hex);
	json_sets(r->a, by, "message", arena_strndup(r->a, (const char *)message.p, message.n));
	json_sets(r->a, by, "signature", hex);
	json_set(r->a, body, "signed", by);
	return OK;
}

int fleet_order(struct cli *r, const char *kind, struct json *body, const char *node, struct err *e)
{
	struct json *q, *answer, *nodes = json_new(r->a, JSON_ARRAY);
	const char **list;
	size_t n = node || !takes(r, "node") ? 0 : opt_list(r, "node", &list);
	int rc = fleet_start(r, "order", &q, e);

	if (rc)
		return rc;
	for (size_t i = 0; i < n; i++)
		json_pushs(r->a, nodes, list[i]);
	if (node)
		json_pushs(r->a, nodes, node);
	fleet_add_tenant(r, q);
	fleet_add_signer(r, q);
	json_sets(r->a, q, "kind", kind);
	json_set(r->a, q, "nodes", nodes);
	if (takes(r, "reason") && opt_text(r, "reason", NULL))
		json_sets(r->a, body, "reason", opt_text(r, "reason", ""));
	if ((text_eq(kind, "freeze") || text_eq(kind, "unfreeze")) && opt_text(r, "key", NULL))
		rc = sign_act(r, kind, nodes, body, e);
	if (rc)
		return rc;
	json_set(r->a, q, "body", body);
	json_sets(r->a, q, "by", arena_printf(r->a, "user:%u", (unsigned)r->sys->euid(r->sys)));
	rc = fleet_ask(r, q, &answer, e);
	if (rc)
		return rc;
	if (r->is_json)
		out_json(r, answer);
	else
		out(r, "Order %lld is given.  'helm fleet orders' says who has obeyed.\n",
			(long long)json_get_int(answer, "seq", 0));
	return 0;
}

int cmd_fleet_freeze(struct cli *r, struct err *e)
{
	return fleet_order(r, "freeze", json_new(r->a, JSON_OBJECT), NULL, e);
}

int cmd_fleet_unfreeze(struct cli *r, struct err *e)
{
	return fleet_order(r, "unfreeze", json_new(r->a, JSON_OBJECT), NULL, e);
}

int cmd_fleet_lease(struct cli *r, struct err *e)
{
	struct json *body = json_new(r->a, JSON_OBJECT);
	int64_t us = 0;

	if (!text_eq(r->args[0], "off") && (!text_span(r->args[0], &us) || us < 60 * 1000000LL))
		return err_set(e, E_USAGE, "USAGE", "'%s' is no lease: 15m, 1h, at least one minute, or off",
			r->args[0]);
	json_seti(r->a, body, "seconds", us / 1000000);
	return fleet_order(r, "lease", body, NULL, e);
}

const struct opt fleet_retire_opts[] = {
	DATABASE,
	TENANT,
	SIGNER,
	WHY,
	{ 0 },
};

int cmd_fleet_retire(struct cli *r, struct err *e)
{
	return fleet_order(r, "retire", json_new(r->a, JSON_OBJECT), r->args[0], e);
}

int cmd_fleet_revoke_key(struct cli *r, struct err *e)
{
	struct json *body = json_new(r->a, JSON_OBJECT);

	json_sets(r->a, body, "key", r->args[0]);
	return fleet_order(r, "revoke_key", body, NULL, e);
}

static void print_orders(struct cli *r, const struct json *list)
{
	static const char *const heads[] = { "ORDER", "KIND", "GIVEN", "OBEYED", "REFUSED", "NOT YET" };
	struct out_table *t = out_table(r, heads, ARRAY_SIZE(heads));

	json_each (one, list) {
		struct buf missing;
		buf_init(&missing, r->a);
		json_each (node, json_get(one, "missing"))
			buf_addf(&missing, "%s%s", missing.n ? ", " : "", json_text(node));
		const char *cells[] = { arena_printf(r->a, "%lld", (long long)json_get_int(one, "seq", 0)),
			fleet_cell(r, one, "kind"), fleet_cell(r, one, "at"),
			arena_printf(r->a, "%lld of %lld", (long long)json_get_int(one, "obeyed", 0),
				(long long)json_get_int(one, "meant", 0)),
			arena_printf(r->a, "%lld", (long long)json_get_int(one, "refused", 0)), missing.p };
		out_row(t, cells, NULL);
	}
	out_table_end(t);
	int64_t older = list->n ? json_get_int(json_at(list, list->n - 1), "older", 0) : 0;
	if (older > 0)
		out(r, "Only the newest %u are shown; %lld %s older.\n", list->n, (long long)older,
			older == 1 ? "is" : "are");
}

const struct opt fleet_orders_opts[] = {
	DATABASE,
	TENANT,
	LEDGER_URL,
	{ "taken", OPT_FLAG, NULL,
		"instead: packs and exports that were taken from the console, by whom and over what", NULL,
		false },
	{ "before", OPT_INT, "N", "with --taken: only those before this number", NULL, false },
	{ 0 },
};

enum { TAKEN_SHOWN = 100 };
static void print_taken(struct cli *r, const struct json *list)
{
	static const char *const heads[] = { "ORDER", "TAKEN", "WHAT", "BY", "ROWS", "OVER", "DIGEST" };
	struct out_table *t = out_table(r, heads, ARRAY_SIZE(heads));
	uint32_t n = list->n < TAKEN_SHOWN ? list->n : TAKEN_SHOWN;

	for (uint32_t i = 0; i < n; i++) {
		const struct json *one = json_at(list, i);
		struct buf over;
		buf_init(&over, r->a);
		json_canonical(&over, json_get(one, "over"));
		const char *cells[] = { arena_printf(r->a, "%lld", (long long)json_get_int(one, "order", 0)),
			fleet_cell(r, one, "at"), fleet_cell(r, one, "what"), fleet_cell(r, one, "by"),
			json_get(one, "rows")
				? arena_printf(r->a, "%lld", (long long)json_get_int(one, "rows", 0))
				: "",
			over.p, fleet_cell(r, one, "sha256") };
		out_row(t, cells, NULL);
	}
	out_table_end(t);
	if (list->n > n)
		out(r, "Only %u are shown; those before with --before %lld.\n", n,
			(long long)json_get_int(json_at(list, n - 1), "order", 0));
}

int cmd_fleet_orders(struct cli *r, struct err *e)
{
	struct json *q;
	bool is_taken = opt_flag(r, "taken");
	int rc = fleet_start(r, is_taken ? "taken" : "orders", &q, e);

	if (rc)
		return rc;
	fleet_add_tenant(r, q);
	if (is_taken) {
		json_seti(r->a, q, "before", opt_int(r, "before", INT64_MAX));
		json_seti(r->a, q, "limit", TAKEN_SHOWN + 1);
		return fleet_ask_and_list(r, q, "Nothing was taken from the console yet.", print_taken, e);
	}
	return fleet_ask_and_list(r, q, "Nothing was ordered yet.", print_orders, e);
}

/* ---- what was recorded ---- */

const struct opt fleet_search_opts[] = {
	DATABASE,
	TENANT,
	LEDGER_URL,
	{ "stopped", OPT_FLAG, NULL, "only what was denied or asked about", NULL, false },
	{ "principal", OPT_VALUE, "WHO", "only of this one: agent:claude-code, user:1000", NULL, false },
	{ "tool", OPT_VALUE, "NAME", "only of this tool or program", NULL, false },
	{ "rule", OPT_VALUE, "RULE", "only what this rule decided", NULL, false },
	{ "node", OPT_VALUE, "NODE", "only of this machine", NULL, false },
	{ "decision", OPT_VALUE, "ID", "only this decision", NULL, false },
	{ "text", OPT_VALUE, "TEXT", "only what has this in its caption, where captions are shipped", NULL,
		false },
	{ "since", OPT_VALUE, "TIME", "only what came since 12h, 30d, 2026-05-01, ...", NULL, false },
	{ "limit", OPT_INT, "N", "at most so many, newest first (100)", NULL, false },
	{ 0 },
};

enum { SEARCH_MOST = 10000 };

static void print_found(struct cli *r, const struct json *list)
{
	static const char *const heads[] = { "RECEIVED", "HOST", "USER", "VERDICT", "TOOL", "PRINCIPAL",
		"RULE", "CAPTION" };
	struct out_table *t = out_table(r, heads, ARRAY_SIZE(heads));

	json_each (one, list) {
		const char *cells[] = { arena_strndup(r->a, fleet_cell(r, one, "received_at"), 19),
			fleet_cell(r, one, "host"), fleet_cell(r, one, "user"),
			*json_get_text(one, "verdict", "") ? fleet_cell(r, one, "verdict")
							   : fleet_cell(r, one, "type"),
			fleet_cell(r, one, "tool"), fleet_cell(r, one, "principal"),
			fleet_cell(r, one, "rule"), fleet_cell(r, one, "caption") };
		out_row(t, cells, NULL);
	}
	out_table_end(t);
}

int cmd_fleet_search(struct cli *r, struct err *e)
{
	static const char *const texts[] = { "principal", "tool", "rule", "node", "decision", "text" };
	struct json *q, *found;
	int64_t since_us = 0, limit = opt_int(r, "limit", 100), node;
	int rc = fleet_start(r, "search", &q, e);

	if (rc == OK)
		rc = opt_since(r, "since", &since_us, e);
	if (rc == OK && opt_text(r, "node", NULL) && !text_int(opt_text(r, "node", ""), &node))
		rc = err_set(e, E_USAGE, "USAGE",
			"--node takes the number of a machine; 'helm fleet nodes' shows them");
	if (rc == OK && (limit < 1 || limit > SEARCH_MOST))
		rc = err_set(e, E_USAGE, "USAGE", "--limit takes a number from 1 to 10000");
	if (rc)
		return rc;
	fleet_add_tenant(r, q);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (opt_text(r, texts[i], NULL))
			json_sets(r->a, q, texts[i], opt_text(r, texts[i], ""));
	json_setb(r->a, q, "stopped", opt_flag(r, "stopped"));
	json_seti(r->a, q, "since_s", since_us ? (r->sys->now_us(r->sys) - since_us) / 1000000 : 0);
	json_seti(r->a, q, "limit", limit + 1); /* one more, so that it is known whether there are more */
	rc = fleet_ask(r, q, &found, e);
	if (rc)
		return rc;
	if (found->n > limit) {
		found->n = (uint32_t)limit;
		warn(r, "the newest %s; there are more, %s", text_thousands(r->a, limit),
			limit < SEARCH_MOST ? "with --limit N, up to 10000"
					    : "of a shorter time with --since");
	}
	return list_answer(r, found, "Nothing was found.", print_found);
}

int cmd_fleet_audit(struct cli *r, struct err *e)
{
	struct json *q, *answer;
	int rc = fleet_start(r, "audit", &q, e);

	if (rc)
		return rc;
	fleet_add_tenant(r, q);
	fleet_add_signer(r, q);
	json_setb(r->a, q, "deep", opt_flag(r, "deep"));
	rc = fleet_ask(r, q, &answer, e);
	if (rc)
		return rc;
	const struct json *findings = json_get(answer, "findings");
	if (r->is_json) {
		out_json(r, answer);
		return findings->n ? 1 : 0;
	}
	out(r, "%s, %s, %s; leaves in the tree: %lld\n",
		text_count(r->a, json_get_int(answer, "machines", 0), "machine"),
		text_count(r->a, json_get_int(answer, "chains", 0), "chain"),
		text_count(r->a, json_get_int(answer, "receipts", 0), "receipt"),
		(long long)json_get_int(answer, "leaves", 0));
	json_each (one, findings)
		out(r, "%s  %s: %s\n", fleet_cell(r, one, "kind"), fleet_cell(r, one, "what"),
			fleet_cell(r, one, "text"));
	if (json_get(answer, "keeper_away"))
		out(r, "The keeper of the keys was not asked (%s): orders that it signed last and that no machine has heard are not missed here.\n",
			fleet_cell(r, answer, "keeper_away"));
	if (!findings->n)
		out(r, "Every chain is whole, the tiles lead to the root, orders are as they were given, every machine was heard.%s\n",
			opt_flag(r, "deep") ? "  Every row is what was received, and what the log has." : "");
	return findings->n ? 1 : 0;
}

const struct opt fleet_export_opts[] = {
	DATABASE,
	TENANT,
	{ "out", OPT_VALUE, "FILE", "where to write it", NULL, true },
	{ "node", OPT_VALUE, "NODE", "only of this machine", NULL, false },
	{ 0 },
};

int cmd_fleet_export(struct cli *r, struct err *e)
{
	struct json *q;
	int64_t node;
	int rc = fleet_start(r, "export", &q, e);

	if (rc == OK && opt_text(r, "node", NULL) && !text_int(opt_text(r, "node", ""), &node))
		rc = err_set(e, E_USAGE, "USAGE",
			"--node takes the number of a machine; 'helm fleet nodes' shows them");
	if (rc)
		return rc;
	fleet_add_tenant(r, q);
	if (opt_text(r, "node", NULL))
		json_sets(r->a, q, "node", opt_text(r, "node", ""));
	json_sets(r->a, q, "out", workspace_named(r->sys, r->a, opt_text(r, "out", "")));
	return fleet_ask_and_show(r, q, e);
}
