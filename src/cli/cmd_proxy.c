/* cmd_proxy.c — helm proxy: start helm-serve between programs and their models; what passed there, by model and principal.
 *
 * What the command line says is added to what --config FILE says, and helm-serve checks the whole. */
#include "actions/actions.h"
#include "base/conf.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/cmd.h"
#include "cli/cmd_approval.h"
#include "cli/cmd_serve.h"
#include "decide/bundle/bundle.h"
#include "kernel/policy/policy.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#define KEY_VARIABLE "HELM_PROXY_API_KEY"

const struct opt proxy_opts[] = {
	{ "upstream", OPT_VALUE, "URL", "where the model is: https://api.openai.com/v1", NULL, false },
	{ "config", OPT_VALUE, "FILE", "several upstreams, budgets, limits (docs/formats/proxy.md)", NULL,
		false },
	{ "policy", OPT_VALUE, "FILE", "what tools may be called; without one, and none in use, none", NULL,
		false },
	{ "api-key-env", OPT_VALUE, "VAR", "the upstream's key is in this variable; clients never see it",
		NULL, false },
	{ "api-key-file", OPT_VALUE, "FILE", "or in this file", NULL, false },
	{ "api-key", OPT_VALUE, "KEY", "or here, where others on this machine can read it", NULL, false },
	{ "on-deny", OPT_VALUE, "error|rewrite",
		"answer with an error, or put the reason in the place of the call (error)", NULL, false },
	{ "mode", OPT_VALUE, "enforce|observe",
		"observe: decide and record, and let everything through (enforce)", NULL, false },
	{ "model", OPT_LIST, "PATTERN", "only these models", NULL, false },
	{ "redact", OPT_LIST, "KIND",
		"take this out of requests: SECRET, EMAIL, ... (helm privacy scan --help)", NULL, false },
	{ "refuse", OPT_LIST, "KIND", "refuse requests that hold this", NULL, false },
	{ "daily-limit", OPT_INT, "CENTS", "money for a day, UTC", NULL, false },
	{ "monthly-limit", OPT_INT, "CENTS", "money for a month", NULL, false },
	{ "daily-tokens", OPT_INT, "N", "tokens for a day", NULL, false },
	{ "max-iterations", OPT_INT, "N", "rounds of tool calls in one session", NULL, false },
	{ "max-calls", OPT_INT, "N", "tool calls in one session", NULL, false },
	{ "max-wallclock", OPT_VALUE, "DURATION", "how old a session may become: 120s, 2h", NULL, false },
	{ "prices", OPT_VALUE, "FILE", "what models cost, instead of the shipped table", NULL, false },
	{ "principal", OPT_VALUE, "NAME", "who asks, when no key says it (agent:proxy)", NULL, false },
	{ "tenant-id", OPT_VALUE, "NAME", "and for which tenant (default)", NULL, false },
	{ "require-token", OPT_FLAG, NULL,
		"only those who show a key of 'helm serve key add'; always so beyond this machine", NULL,
		false },
	{ "client-token-env", OPT_VALUE, "VAR", "or the text in this variable", NULL, false },
	{ "port", OPT_INT, "N", "where to listen; 0: any that is free, named on standard output (9090)", NULL,
		false },
	{ "bind", OPT_VALUE, "ADDRESS", "on which address (127.0.0.1, or HELM_BIND_ADDR)", NULL, false },
	{ "listen", OPT_VALUE, "unix:PATH", "also, or with --port -1 only, on a socket of this machine", NULL,
		false },
	{ "tls-cert", OPT_VALUE, "FILE", "certificate chain in PEM", NULL, false },
	{ "tls-key", OPT_VALUE, "FILE", "and its key", NULL, false },
	{ "insecure-remote", OPT_FLAG, NULL, "listen beyond this machine without TLS", NULL, false },
	{ "workers", OPT_INT, "N", "so many decisions at once, at most 256 (32)", NULL, false },
	{ "otlp", OPT_VALUE, "URL", "send spans there (OTLP/HTTP, JSON)", NULL, false },
	{ 0 },
};
const struct opt proxy_report_opts[] = {
	{ "since", OPT_VALUE, "TIME", "only since 24h, 7d, 2026-05-01, ...", NULL, false },
	{ 0 },
};

/* ---- starting ---- */

static int read_config(struct cli *r, struct json **ret, struct err *e)
{
	const char *file = opt_text(r, "config", NULL);
	struct bytes text;

	*ret = json_new(r->a, JSON_OBJECT);
	if (!file)
		return OK;
	int rc = file_read(r->sys, r->a, AT_FDCWD, file, 4 << 20, FILE_FOLLOW, &text, e);
	if (rc == OK)
		rc = conf_parse_yaml(r->a, text, file, ret, e);
	if (rc == OK && !json_is(*ret, JSON_OBJECT))
		rc = err_set(e, E_USAGE, "USAGE", "%s is no object; docs/formats/proxy.md says what it holds",
			file);
	return rc;
}

/* The key never stands among the words of a process. */
static int add_key(struct cli *r, struct json *upstream, struct err *e)
{
	static const struct {
		const char *option, *member;
	} ways[] = { { "api-key-env", "env" }, { "api-key-file", "file" } };
	const char *plain = opt_text(r, "api-key", NULL);
	struct json *key = json_new(r->a, JSON_OBJECT);

	for (size_t i = 0; i < ARRAY_SIZE(ways); i++)
		if (opt_text(r, ways[i].option, NULL))
			json_sets(r->a, key, ways[i].member, opt_text(r, ways[i].option, NULL));
	if (plain && !setenv(KEY_VARIABLE, plain, 1))
		json_sets(r->a, key, "env", KEY_VARIABLE);
	if (key->n > 1 || (plain && opt_text(r, "api-key-env", NULL)))
		return err_set(e, E_USAGE, "USAGE", "say once where the upstream's key is");
	if (key->n)
		json_set(r->a, upstream, "key", key);
	return OK;
}

static int add_upstream(struct cli *r, struct json *doc, struct err *e)
{
	const char *url = opt_text(r, "upstream", NULL);
	struct json *list = json_get(doc, "upstreams"), *upstream = json_new(r->a, JSON_OBJECT);

	/* What is wrong with a file is told when it is checked as a whole. */
	if (!url && !list && !opt_text(r, "config", NULL))
		return err_set(e, E_USAGE, "USAGE",
			"say where the model is: --upstream https://api.openai.com/v1, or --config FILE");
	if (!url)
		return OK;
	if (!text_starts(url, "https://") && !text_starts(url, "http://"))
		return err_set(e, E_USAGE, "USAGE",
			"--upstream takes an address such as https://api.openai.com/v1, not '%s'", url);
	if (list)
		return err_set(
			e, E_USAGE, "USAGE", "--upstream and the upstreams of --config exclude each other");
	json_sets(r->a, upstream, "id", "upstream");
	json_sets(r->a, upstream, "url", url);
	list = json_new(r->a, JSON_ARRAY);
	json_push(r->a, list, upstream);
	json_set(r->a, doc, "upstreams", list);
	return add_key(r, upstream, e);
}

static void add_list(struct cli *r, struct json *doc, const char *option, const char *member)
{
	const char **words;
	size_t n = opt_list(r, option, &words);
	struct json *list = json_get(doc, member);

	if (!n)
		return;
	if (!json_is(list, JSON_ARRAY))
		json_set(r->a, doc, member, list = json_new(r->a, JSON_ARRAY));
	for (size_t i = 0; i < n; i++)
		json_pushs(r->a, list, words[i]);
}

static void add_budgets(struct cli *r, struct json *doc)
{
	static const struct {
		const char *option, *unit, *period, *per;
	} rows[] = { { "daily-limit", "cents", "day", "all" }, { "monthly-limit", "cents", "month", "all" },
		{ "daily-tokens", "tokens", "day", "all" },
		{ "max-iterations", "rounds", "total", "session" },
		{ "max-calls", "calls", "total", "session" } };
	struct json *list = json_get(doc, "budgets");

	if (!json_is(list, JSON_ARRAY))
		json_set(r->a, doc, "budgets", list = json_new(r->a, JSON_ARRAY));
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct json *b = json_new(r->a, JSON_OBJECT);
		int64_t limit = opt_int(r, rows[i].option, -1);
		if (limit < 0)
			continue;
		json_sets(r->a, b, "id", rows[i].option);
		json_sets(r->a, b, "unit", rows[i].unit);
		json_seti(r->a, b, "limit", limit);
		json_sets(r->a, b, "period", rows[i].period);
		json_sets(r->a, b, "per", rows[i].per);
		json_push(r->a, list, b);
	}
}

static int add_wallclock(struct cli *r, struct json *doc, struct err *e)
{
	struct json *limits = json_get(doc, "limits");
	int64_t us = 0;
	int rc = opt_span(r, "max-wallclock", &us, e);

	if (rc || !us)
		return rc;
	if (!json_is(limits, JSON_OBJECT))
		json_set(r->a, doc, "limits", limits = json_new(r->a, JSON_OBJECT));
	json_seti(r->a, limits, "wallclock_seconds", us / 1000000);
	return OK;
}

static int read_proxy(struct cli *r, struct json **ret, struct err *e)
{
	static const struct {
		const char *option, *member;
	} texts[] = { { "on-deny", "on_deny" }, { "mode", "mode" }, { "prices", "prices" },
		{ "principal", "principal" }, { "tenant-id", "tenant" },
		{ "client-token-env", "client_token_env" } };
	struct json *doc;
	int rc = read_config(r, &doc, e);

	if (rc == OK)
		rc = add_upstream(r, doc, e);
	if (rc == OK)
		rc = add_wallclock(r, doc, e);
	if (rc)
		return rc;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (opt_text(r, texts[i].option, NULL))
			json_sets(r->a, doc, texts[i].member, opt_text(r, texts[i].option, NULL));
	if (opt_flag(r, "require-token"))
		json_setb(r->a, doc, "require_token", true);
	add_list(r, doc, "model", "models");
	add_list(r, doc, "redact", "redact");
	add_list(r, doc, "refuse", "refuse");
	add_budgets(r, doc);
	*ret = doc;
	return OK;
}

int cmd_proxy(struct cli *r, struct err *e)
{
	struct json *options = json_new(r->a, JSON_OBJECT), *proxy;
	const char *policy = opt_text(r, "policy", NULL), *bind = r->sys->getenv(r->sys, "HELM_BIND_ADDR");
	struct ruleset *rules;
	int rc = read_proxy(r, &proxy, e);

	if (rc == OK)
		rc = serve_listening(r, 9090, options, e);
	if (rc == OK)
		serve_spans(r, options);
	if (rc == OK && policy)
		rc = policy_source_compile(r->sys, r->a, policy, &rules, e);
	if (rc)
		return rc;
	if (policy)
		json_sets(r->a, options, "policy", policy);
	if (bind && *bind && !opt_text(r, "bind", NULL))
		json_sets(r->a, options, "bind", bind);
	json_set(r->a, options, "proxy", proxy);
	return serve_become(r, options, e);
}

/* ---- definitions of tools ---- */

static const char *name_of(const struct json *tool)
{
	const struct json *inner =
		json_get(tool, "function") ? json_get(tool, "function") : json_get(tool, "custom");

	return json_get_text(inner ? inner : tool, "name", json_get_text(tool, "type", NULL));
}

int cmd_proxy_pin(struct cli *r, struct err *e)
{
	struct json *doc, *pins = json_new(r->a, JSON_OBJECT);
	const char *file = r->args[0];
	struct bytes text;
	int rc = file_read(r->sys, r->a, AT_FDCWD, file, 64 << 20, FILE_FOLLOW, &text, e);

	if (rc == OK)
		rc = json_parse(r->a, text, file, NULL, &doc, e);
	if (rc)
		return rc;
	json_each (tool, json_is(doc, JSON_ARRAY) ? doc : json_get(doc, "tools"))
		if (name_of(tool))
			json_sets(r->a, pins, name_of(tool), json_sha256(r->a, tool));
	if (!pins->n)
		return err_set(e, E_INPUT, "PROXY_PIN",
			"%s has no tools: it is a request with the member 'tools', or such a list", file);
	if (r->is_json) {
		out_json(r, pins);
		return 0;
	}
	out(r, "pins:\n");
	json_each_member (m, pins)
		out(r, "  \"%s\": \"%s\"\n", m->name, json_text(m->value));
	return 0;
}

int cmd_proxy_sign_prices(struct cli *r, struct err *e)
{
	AUTO(key_free) struct key *k = NULL;
	uint8_t sig[SIGN_SIZE];
	struct bytes text;
	struct json *doc;
	const char *home;

	if (file_read(r->sys, r->a, AT_FDCWD, r->args[0], 4 << 20, FILE_FOLLOW, &text, e) ||
		json_parse(r->a, text, r->args[0], NULL, &doc, e))
		return e->rc;
	if (!text_eq(json_get_text(doc, "format", ""), "helm.prices.v1"))
		return err_set(e, E_INPUT, "PROXY_PRICES",
			"%s is no table of prices: format is helm.prices.v1", r->args[0]);
	if (person_is_outside(r->sys, r->a, r->ws, e) || workspace_helm_home(r->sys, r->a, &home, e) ||
		keys_load(r->sys, AT_FDCWD, path_join(r->a, home, "keys"), &k, e))
		return e->rc;
	if (key_keeper(k))
		return err_set(e, E_INPUT, "PROXY_PRICES",
			"this user's key is kept by another user, who signs receipts only; sign with a key of your own");
	key_sign(k, document_signed_bytes(r->a, PRICES_DOMAIN, doc), sig);
	out_json(r, policy_signed(r->a, doc, key_public(k), sig));
	return 0;
}

/* ---- what passed ---- */

static const char *money(struct arena *a, int64_t micro_cents)
{
	return arena_printf(a, "%lld.%04lld", (long long)(micro_cents / 100000000),
		(long long)(micro_cents / 10000 % 10000));
}

/* A request to a model without a price is counted nowhere: that is said, not shown as nothing. */
static const char *money_of(struct arena *a, const struct json *row)
{
	int64_t micro = json_get_int(row, "cost_micro_cents", 0);

	if (json_get_int(row, "unpriced", 0) == 0)
		return money(a, micro);
	return micro == 0 ? "no price" : arena_printf(a, "%s, some without a price", money(a, micro));
}

static void print_rows(struct cli *r, const char *what, const struct json *rows)
{
	const char *heads[] = { what, "REQUESTS", "REFUSED", "CALLS", "DENIED", "TOKENS IN", "TOKENS OUT",
		"MONEY" };
	static const char *const members[] = { "requests", "refused", "calls", "denied", "input_tokens",
		"output_tokens" };
	struct out_table *t = out_table(r, heads, ARRAY_SIZE(heads));

	json_each (row, rows) {
		const char *cells[ARRAY_SIZE(heads)] = { json_get_text(row, "name", "") };
		for (size_t i = 0; i < ARRAY_SIZE(members); i++)
			cells[i + 1] =
				arena_printf(r->a, "%lld", (long long)json_get_int(row, members[i], 0));
		cells[ARRAY_SIZE(heads) - 1] = money_of(r->a, row);
		out_row(t, cells, NULL);
	}
	out_table_end(t);
}

int cmd_proxy_report(struct cli *r, struct err *e)
{
	struct json *doc;
	int64_t since = 0;
	int rc = opt_since(r, "since", &since, e);

	if (rc == OK)
		rc = actions_proxy(r->sys, r->a, r->ws->state_fd, since, &doc, e);
	if (rc)
		return rc;
	if (r->is_json) {
		out_json(r, doc);
		return 0;
	}
	if (!json_get_int(doc, "requests", 0)) {
		out(r, "Nothing has passed the proxy%s.\n", since ? " since then" : " yet");
		return 0;
	}
	print_rows(r, "MODEL", json_get(doc, "models"));
	out(r, "\n");
	print_rows(r, "PRINCIPAL", json_get(doc, "principals"));
	if (json_get(doc, "denials")->n) {
		out(r, "\nWhat was denied:\n");
		json_each (row, json_get(doc, "denials"))
			out(r, "  %lld  %s  %s\n", (long long)json_get_int(row, "count", 0),
				json_get_text(row, "tool", ""), json_get_text(row, "rule", ""));
	}
	return 0;
}
