/* config.c — what the proxy was started with (docs/formats/proxy.md): checked whole before the first request. */
#include "base/embed.h"
#include "base/file.h"
#include "base/text.h"
#include "decide/bounds/bounds.h"
#include "serve/proxy/parts.h"

#include <fcntl.h>
#include <string.h>

static int wrong(struct err *e, const char *what, const char *instead)
{
	return err_set(e, E_USAGE, "PROXY_CONFIG", "%s: %s", what, instead);
}

static int only_known(const struct json *doc, const char *where, const char *const *names, struct err *e)
{
	json_each_member (m, doc) {
		bool is_known = false;
		for (size_t i = 0; names[i]; i++)
			is_known |= text_eq(names[i], m->name);
		if (!is_known)
			return err_set(e, E_USAGE, "PROXY_CONFIG", "%s has no member '%s'", where, m->name);
	}
	return OK;
}

/* A list of texts, ending in NULL; *ret stays NULL when it is not there. */
static int read_texts(
	struct arena *a, const struct json *doc, const char *name, const char *const **ret, struct err *e)
{
	const struct json *list = json_get(doc, name);
	size_t n = 0;

	if (!list)
		return OK;
	const char **texts = arena_zalloc(a, json_is(list, JSON_ARRAY) ? list->n + 1 : 1, sizeof(*texts));
	json_each (v, list)
		if (!(texts[n++] = json_text(v)))
			return wrong(e, name, "a list of texts");
	if (!json_is(list, JSON_ARRAY))
		return wrong(e, name, "a list of texts");
	*ret = texts;
	return OK;
}

/* ---- vendors ---- */

static int read_key(struct proxy *p, struct upstream *u, const struct json *key, struct err *e)
{
	static const struct {
		const char *name;
		enum key_from from;
	} ways[] = { { "env", KEY_ENV }, { "file", KEY_FILE }, { "credential", KEY_CREDENTIAL } };

	if (!key)
		return OK;
	if (!json_is(key, JSON_OBJECT) || key->n != 1)
		return wrong(e, u->id, "its key is one of {env}, {file}, {credential}, {command}");
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++)
		if ((u->key_name = json_get_text(key, ways[i].name, NULL))) {
			u->key_from = ways[i].from;
			return *u->key_name ? OK : wrong(e, u->id, "its key has no name");
		}
	u->key_from = KEY_COMMAND;
	int rc = read_texts(&p->a, key, "command", &u->key_command, e);
	if (rc)
		return rc;
	return u->key_command && u->key_command[0]
		? OK
		: wrong(e, u->id, "its key is one of {env}, {file}, {credential}, {command}");
}

/* The name by which prices and policies know a vendor. */
static const char *provider_of(const char *url)
{
	return strstr(url, "anthropic.com") ? "anthropic" : strstr(url, "openai.com") ? "openai" : "custom";
}

static int read_upstream(struct proxy *p, const struct json *doc, struct err *e)
{
	static const char *const names[] = { "id", "url", "provider", "models", "key", "ca_file", "fallback",
		NULL };
	static const char *const any[] = { "*", NULL };
	struct upstream *u = &p->upstreams[p->upstream_n];
	int rc = only_known(doc, "an upstream", names, e);

	if (rc)
		return rc;
	if (p->upstream_n == UPSTREAMS_MOST)
		return wrong(e, "upstreams", "there are too many");
	u->id = json_get_text(doc, "id", "upstream");
	u->url = json_get_text(doc, "url", "");
	u->models = any;
	u->ca_file = json_get_text(doc, "ca_file", NULL);
	u->fallback_id = json_get_text(doc, "fallback", NULL);
	if ((!text_starts(u->url, "https://") && !text_starts(u->url, "http://")) ||
		strpbrk(u->url, " ?#@\r\n") || !strchr("/", u->url[strcspn(u->url, ":") + 1]))
		return err_set(e, E_USAGE, "PROXY_CONFIG",
			"'%s' is no address of a vendor; write https://HOST/v1, without user, query or fragment",
			u->url);
	for (size_t i = 0; i < p->upstream_n; i++)
		if (text_eq(p->upstreams[i].id, u->id))
			return wrong(e, u->id, "two upstreams have this id");
	u->provider = json_get_text(doc, "provider", provider_of(u->url));
	pthread_mutex_init(&u->lock, NULL);
	p->upstream_n++;
	rc = read_texts(&p->a, doc, "models", &u->models, e);
	return rc ? rc : read_key(p, u, json_get(doc, "key"), e);
}

static int read_upstreams(struct proxy *p, const struct json *doc, struct err *e)
{
	int rc = OK;

	json_each (one, json_get(doc, "upstreams"))
		if (rc == OK)
			rc = read_upstream(p, one, e);
	if (rc == OK && !p->upstream_n)
		rc = err_set(e, E_USAGE, "PROXY_CONFIG",
			"say where the model is: --upstream https://api.openai.com/v1, or upstreams in --config FILE");
	for (size_t i = 0; i < p->upstream_n && rc == OK; i++) {
		struct upstream *u = &p->upstreams[i];
		for (size_t k = 0; u->fallback_id && k < p->upstream_n; k++)
			if (k != i && text_eq(p->upstreams[k].id, u->fallback_id))
				u->fallback = &p->upstreams[k];
		if (u->fallback_id && !u->fallback)
			rc = err_set(e, E_USAGE, "PROXY_CONFIG", "%s: its fallback '%s' is no other upstream",
				u->id, u->fallback_id);
	}
	return rc;
}

/* ---- budgets and prices ---- */

static bool is_one_of(const char *word, const char *const *list)
{
	for (; *list; list++)
		if (text_eq(word, *list))
			return true;
	return false;
}

static int read_budget(struct proxy *p, const struct json *doc, struct err *e)
{
	static const char *const names[] = { "id", "unit", "limit", "period", "per", NULL };
	static const char *const units[] = { "cents", "tokens", "requests", "calls", "rounds", NULL };
	static const char *const whose[] = { "all", "principal", "session", "model", NULL };
	struct budget *b = &p->budgets[p->budget_n];
	int64_t start, length, limit = 0;
	int rc = only_known(doc, "a budget", names, e);

	if (rc)
		return rc;
	if (p->budget_n == BUDGETS_MOST)
		return wrong(e, "budgets", "there are too many");
	*b = (struct budget){ .id = json_get_text(doc, "id", ""),
		.unit = json_get_text(doc, "unit", ""),
		.period = json_get_text(doc, "period", "total"),
		.per = json_get_text(doc, "per", "all") };
	if (!*b->id || !is_one_of(b->unit, units) || !is_one_of(b->per, whose) ||
		!period_at(b->period, 0, &start, &length))
		return wrong(e, *b->id ? b->id : "a budget",
			"it has an id, a unit (cents, tokens, requests, calls, rounds), a limit, a period (total, hour, day, week, month, quarter) and per (all, principal, session, model)");
	b->is_held = text_eq(b->unit, "cents") || text_eq(b->unit, "tokens");
	if (!json_int(json_get(doc, "limit"), &limit) || limit < 0 || limit > INT64_MAX / 1000000)
		return wrong(e, b->id, "its limit is a whole number from 0 on");
	b->limit = text_eq(b->unit, "cents") ? limit * 1000000 : limit;
	for (size_t i = 0; i < p->budget_n; i++)
		if (text_eq(p->budgets[i].id, b->id))
			return wrong(e, b->id, "two budgets have this id");
	p->budget_n++;
	return OK;
}

static int check_prices(const struct json *prices, const char *file, struct err *e)
{
	static const char *const parts[] = { "input_per_million_cents", "output_per_million_cents" };
	int64_t n;

	if (!text_eq(json_get_text(prices, "format", ""), "helm.prices.v1") ||
		!*json_get_text(prices, "date", "") || !json_is(json_get(prices, "models"), JSON_OBJECT))
		return wrong(e, file, "a price table has format helm.prices.v1, a date, and models");
	json_each_member (m, json_get(prices, "models"))
		for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
			if (!json_int(json_get(m->value, parts[i]), &n) || n < 0 || n > 1000000000)
				return err_set(e, E_USAGE, "PROXY_CONFIG", "%s: %s has no %s", file, m->name,
					parts[i]);
	return OK;
}

/* The one inside the program, unless another one is named.  Receipts say which it was. */
static int read_prices(struct proxy *p, const char *file, struct err *e)
{
	static const char shipped[] = "share/serve/prices.json";
	struct json *doc = NULL;
	struct bytes text;
	int rc = OK;

	if (!file && !embed_find(shipped, &text))
		BUG("share/serve/prices.json");
	if (file)
		rc = file_read(p->s->sys, &p->a, AT_FDCWD, file, 4 << 20, FILE_FOLLOW, &text, e);
	if (rc == OK)
		rc = json_parse(&p->a, text, file ? file : shipped, NULL, &doc, e);
	if (rc == OK)
		rc = check_prices(doc, file ? file : shipped, e);
	if (rc)
		return rc;
	p->prices = doc;
	p->prices_sha256 = json_sha256(&p->a, doc);
	return OK;
}

/* ---- all of it ---- */

static int read_labels(const struct json *doc, const char *name, unsigned *ret, struct err *e)
{
	enum privacy_label label;

	json_each (v, json_get(doc, name)) {
		const char *word = json_text(v) ? json_text(v) : "";
		if (!privacy_label_parse(word, strlen(word), &label))
			return err_set(e, E_USAGE, "PROXY_CONFIG",
				"%s: '%s' is none of SECRET, EMAIL, KOREAN_RRN, CREDIT_CARD, IBAN, MAC_ADDRESS, IP_ADDRESS, PHONE",
				name, word);
		*ret |= 1u << label;
	}
	return OK;
}

static int read_number(
	const struct json *doc, const char *name, int64_t fallback, int64_t most, int64_t *ret, struct err *e)
{
	const struct json *v = json_get(doc, name);

	*ret = fallback;
	if (v && (!json_int(v, ret) || *ret < 1 || *ret > most))
		return err_set(e, E_USAGE, "PROXY_CONFIG", "%s is a whole number from 1 to %lld", name,
			(long long)most);
	return OK;
}

static int read_limits(struct proxy *p, const struct json *doc, struct err *e)
{
	static const char *const names[] = { "request_bytes", "answer_bytes", "hold_bytes", "idle_seconds",
		"wallclock_seconds", "assumed_output_tokens", NULL };
	const struct json *limits = json_get(doc, "limits");
	int64_t seconds = 0;
	int rc = only_known(limits, "limits", names, e);

	if (rc == OK)
		rc = read_number(limits, "request_bytes", 32 << 20, 64 << 20, &p->request_bytes, e);
	if (rc == OK)
		rc = read_number(limits, "answer_bytes", 32 << 20, 256 << 20, &p->answer_bytes, e);
	if (rc == OK)
		rc = read_number(limits, "hold_bytes", 8 << 20, 64 << 20, &p->hold_bytes, e);
	if (rc == OK)
		rc = read_number(limits, "idle_seconds", 300, 86400, &p->idle_s, e);
	if (rc == OK)
		rc = read_number(limits, "assumed_output_tokens", 4096, 1 << 24, &p->assumed_output, e);
	if (rc == OK && json_get(limits, "wallclock_seconds"))
		rc = read_number(limits, "wallclock_seconds", 0, 86400 * 366, &seconds, e);
	p->wallclock_us = seconds * 1000000;
	return rc;
}

static int read_words(struct proxy *p, const struct json *doc, struct err *e)
{
	const char *on_deny = json_get_text(doc, "on_deny", "error"),
		   *mode = json_get_text(doc, "mode", "enforce");
	const char *variable = json_get_text(doc, "client_token_env", NULL);

	if (!text_eq(on_deny, "error") && !text_eq(on_deny, "rewrite"))
		return wrong(e, "on_deny", "error or rewrite");
	if (!text_eq(mode, "enforce") && !text_eq(mode, "observe"))
		return wrong(e, "mode", "enforce or observe");
	p->on_deny = text_eq(on_deny, "rewrite") ? DENY_REWRITE : DENY_ERROR;
	p->is_observing = text_eq(mode, "observe");
	p->needs_token = json_get_bool(doc, "require_token", false) || variable;
	p->principal = json_get_text(doc, "principal", "agent:proxy");
	p->tenant = json_get_text(doc, "tenant", "default");
	p->client_token = variable ? p->s->sys->getenv(p->s->sys, variable) : NULL;
	if (variable && (!p->client_token || !*p->client_token))
		return err_set(e, E_USAGE, "PROXY_CONFIG", "--client-token-env: the variable %s is not set",
			variable);
	return OK;
}

int config_read(struct proxy *p, const struct json *doc, struct err *e)
{
	static const char *const names[] = { "format", "upstreams", "budgets", "prices", "limits", "on_deny",
		"mode", "require_token", "client_token_env", "principal", "tenant", "models", "providers",
		"pins", "redact", "refuse", NULL };
	int rc = only_known(doc, "the configuration", names, e);

	if (rc == OK && !text_eq(json_get_text(doc, "format", "helm.proxy.v1"), "helm.proxy.v1"))
		rc = wrong(e, "format", "helm.proxy.v1");
	if (rc == OK)
		rc = read_upstreams(p, doc, e);
	json_each (one, json_get(doc, "budgets"))
		if (rc == OK)
			rc = read_budget(p, one, e);
	if (rc == OK)
		rc = read_limits(p, doc, e);
	if (rc == OK)
		rc = read_words(p, doc, e);
	if (rc == OK)
		rc = read_texts(&p->a, doc, "models", &p->models, e);
	if (rc == OK)
		rc = read_texts(&p->a, doc, "providers", &p->providers, e);
	if (rc == OK)
		rc = read_labels(doc, "redact", &p->redact, e);
	if (rc == OK)
		rc = read_labels(doc, "refuse", &p->refuse, e);
	p->pins = json_get(doc, "pins");
	return rc ? rc : read_prices(p, json_get_text(doc, "prices", NULL), e);
}
