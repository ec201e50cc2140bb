/* config.c — what the proxy was started with (docs/formats/proxy.md): checked whole before the first request. */
#include "base/embed.h"
#include "base/file.h"
#include "base/text.h"
#include "base/url.h"
#include "decide/authority/authority.h"
#include "decide/bundle/bundle.h"
#include "serve/proxy/parts.h"

#include <fcntl.h>
#include <string.h>

static int wrong(struct err *e, const char *what, const char *instead)
{
	return err_set(e, E_USAGE, "PROXY_CONFIG", "%s: %s", what, instead);
}

/* The shape is the schema's business; its error says which member. */
static int fits(struct proxy *p, const char *schema, const struct json *doc, struct err *e)
{
	int rc = authority_document(&p->a, schema, doc, e);

	if (rc == OK)
		return OK;
	e->rc = E_USAGE;
	return err_wrap(
		e, "%s", text_eq(schema, "proxy") ? "the configuration of the proxy" : "the table of prices");
}

/* A list of texts, ending in NULL; NULL when it is not there. */
static const char *const *texts_of(struct arena *a, const struct json *list)
{
	size_t n = 0;

	if (!list)
		return NULL;
	const char **texts = arena_zalloc(a, list->n + 1, sizeof(*texts));
	json_each (v, list)
		texts[n++] = json_text(v) ? json_text(v) : "";
	return texts;
}

/* ---- vendors ---- */

static void read_key(struct proxy *p, struct upstream *u, const struct json *key)
{
	static const struct {
		const char *name;
		enum key_from from;
	} ways[] = { { "env", KEY_ENV }, { "file", KEY_FILE }, { "credential", KEY_CREDENTIAL } };

	for (size_t i = 0; i < ARRAY_SIZE(ways); i++)
		if ((u->key_name = json_get_text(key, ways[i].name, NULL))) {
			u->key_from = ways[i].from;
			return;
		}
	u->key_command = texts_of(&p->a, json_get(key, "command"));
	u->key_from = u->key_command ? KEY_COMMAND : KEY_NONE;
}

/* The name by which prices and policies know a vendor. */
static const char *provider_of(const char *url)
{
	return strstr(url, "anthropic.com") ? "anthropic" : strstr(url, "openai.com") ? "openai" : "custom";
}

static int read_upstream(struct proxy *p, const struct json *doc, struct err *e)
{
	static const char *const any[] = { "*", NULL };
	struct upstream *u = &p->upstreams[p->upstream_n];

	u->id = json_get_text(doc, "id", "upstream");
	u->url = json_get_text(doc, "url", "");
	u->models = json_get(doc, "models") ? texts_of(&p->a, json_get(doc, "models")) : any;
	u->ca_file = json_get_text(doc, "ca_file", NULL);
	u->fallback_id = json_get_text(doc, "fallback", NULL);
	u->provider = json_get_text(doc, "provider", provider_of(u->url));
	for (size_t i = 0; i < p->upstream_n; i++)
		if (text_eq(p->upstreams[i].id, u->id))
			return wrong(e, u->id, "two upstreams have this id");
	pthread_mutex_init(&u->lock, NULL);
	p->upstream_n++;
	read_key(p, u, json_get(doc, "key"));
	return OK;
}

/* A key that is not there now would fail every request.  What a command gives may come later. */
static int check_key(struct proxy *p, const struct upstream *u, struct err *e)
{
	static const struct {
		const char *what, *remedy;
	} ways[] = {
		[KEY_ENV] = { "the variable",
			"is not set, or holds no key; export it before the proxy is started" },
		[KEY_FILE] = { "the file", "holds no key that can be read; write the key into it" },
		[KEY_CREDENTIAL] = { "the credential", "is not there; LoadCredential= in the unit gives it" },
	};
	const char *key;

	if (u->key_from != KEY_NONE && !url_is_private(u->url))
		return err_set(e, E_USAGE, "PROXY_CONFIG",
			"%s: over %s everybody on the way reads the key: use https:// for other machines",
			u->id, u->url);
	if (u->key_from == KEY_NONE || u->key_from == KEY_COMMAND || upstream_key(p, u, &p->a, &key, e) == OK)
		return OK;
	return err_set(e, E_USAGE, "PROXY_CONFIG", "%s: its key: %s %s %s", u->id, ways[u->key_from].what,
		u->key_name, ways[u->key_from].remedy);
}

static int read_upstreams(struct proxy *p, const struct json *doc, struct err *e)
{
	int rc = OK;

	json_each (one, json_get(doc, "upstreams"))
		if (rc == OK)
			rc = read_upstream(p, one, e);
	for (size_t i = 0; i < p->upstream_n && rc == OK; i++)
		rc = check_key(p, &p->upstreams[i], e);
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

static int read_budget(struct proxy *p, const struct json *doc, struct err *e)
{
	struct budget *b = &p->budgets[p->budget_n];
	int64_t limit = json_get_int(doc, "limit", 0);

	*b = (struct budget){ .id = json_get_text(doc, "id", ""),
		.unit = json_get_text(doc, "unit", ""),
		.period = json_get_text(doc, "period", "total"),
		.per = json_get_text(doc, "per", "all") };
	b->is_held = text_eq(b->unit, "cents") || text_eq(b->unit, "tokens");
	b->limit = text_eq(b->unit, "cents") ? limit * 1000000 : limit;
	for (size_t i = 0; i < p->budget_n; i++)
		if (text_eq(p->budgets[i].id, b->id))
			return wrong(e, b->id, "two budgets have this id");
	p->budget_n++;
	return OK;
}

static bool is_trusted(const struct json *keys, const char *key)
{
	json_each (one, keys)
		if (json_text(one) && text_eq(json_text(one), key))
			return true;
	return false;
}

/* A signature that is there must hold, and where keys are named it must be by one of them. */
static int check_prices(
	struct proxy *p, const char *file, const struct json *doc, const struct json *keys, struct err *e)
{
	const char *key = json_get_text(json_get(doc, "signature"), "key", "");

	if (json_get(doc, "signature") && !document_is_signed(&p->a, PRICES_DOMAIN, doc))
		return err_set(e, E_DENIED, "PROXY_PRICES",
			"%s: its signature is none of these prices; sign it again: helm proxy sign-prices FILE",
			file);
	if (keys && keys->n && !is_trusted(keys, key))
		return err_set(e, E_DENIED, "PROXY_PRICES",
			"%s: it is not signed by a key of price_keys; 'helm proxy sign-prices FILE' signs it",
			file);
	return OK;
}

/* The one inside the program, unless another one is named.  Receipts say which it was. */
static int read_prices(struct proxy *p, const char *file, const struct json *keys, struct err *e)
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
		rc = fits(p, "prices", doc, e);
	if (rc == OK && file)
		rc = check_prices(p, file, doc, keys, e);
	if (rc)
		return rc;
	p->prices = doc;
	p->prices_sha256 = json_sha256(&p->a, doc);
	return OK;
}

/* ---- all of it ---- */

static unsigned labels_of(const struct json *list)
{
	enum privacy_label label;
	unsigned bits = 0;

	json_each (v, list)
		if (json_text(v) && privacy_label_parse(json_text(v), strlen(json_text(v)), &label))
			bits |= 1u << label;
	return bits;
}

static void read_limits(struct proxy *p, const struct json *limits)
{
	p->request_bytes = json_get_int(limits, "request_bytes", 32 << 20);
	p->answer_bytes = json_get_int(limits, "answer_bytes", 32 << 20);
	p->hold_bytes = json_get_int(limits, "hold_bytes", 8 << 20);
	p->idle_s = json_get_int(limits, "idle_seconds", 300);
	p->assumed_output = json_get_int(limits, "assumed_output_tokens", 4096);
	p->wallclock_us = json_get_int(limits, "wallclock_seconds", 0) * 1000000;
}

static int read_words(struct proxy *p, const struct json *doc, struct err *e)
{
	const char *variable = json_get_text(doc, "client_token_env", NULL);

	p->on_deny = text_eq(json_get_text(doc, "on_deny", "error"), "rewrite") ? DENY_REWRITE : DENY_ERROR;
	p->is_observing = text_eq(json_get_text(doc, "mode", "enforce"), "observe");
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
	int rc = fits(p, "proxy", doc, e);

	if (rc == OK)
		rc = read_upstreams(p, doc, e);
	json_each (one, json_get(doc, "budgets"))
		if (rc == OK)
			rc = read_budget(p, one, e);
	if (rc == OK)
		rc = read_words(p, doc, e);
	if (rc)
		return rc;
	read_limits(p, json_get(doc, "limits"));
	p->models = texts_of(&p->a, json_get(doc, "models"));
	p->providers = texts_of(&p->a, json_get(doc, "providers"));
	p->redact = labels_of(json_get(doc, "redact"));
	p->refuse = labels_of(json_get(doc, "refuse"));
	p->pins = json_get(doc, "pins");
	return read_prices(p, json_get_text(doc, "prices", NULL), json_get(doc, "price_keys"), e);
}
