/* health.c — models: the policy that ranks them, what probes found, and which one to use now.
 *
 * Keys are known by the names of their variables.  What a provider answers is cut and cleaned before it is kept; of what it was asked nothing
 * is. */
#include "remember/health.h"

#include "base/doc.h"
#include "base/file.h"
#include "base/text.h"
#include "privacy/privacy.h"
#include "remember/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_BYTES = 16 << 20, DETAIL = 200, LAST_PRIORITY = 9999, FIRST_WAIT_S = 30, LONGEST_WAIT_S = 3600 };
#define POLICY "references/model_recovery_policy.json"

/* ---- who there is ---- */

static const struct provider {
	const char *name, *required[3], *weak; /* weak may be NULL */
	const char *base; /* of those that speak like OpenAI; or NULL */
} providers[] = {
	{ "anthropic", { "ANTHROPIC_API_KEY" }, NULL, NULL },
	{ "openai", { "OPENAI_API_KEY" }, NULL, "https://api.openai.com/v1" },
	{ "google_gemini", { "GEMINI_API_KEY" }, "GOOGLE_API_KEY", NULL },
	{ "openrouter", { "OPENROUTER_API_KEY" }, NULL, "https://openrouter.ai/api/v1" },
	{ "azure_openai", { "AZURE_OPENAI_API_KEY" }, NULL, NULL },
	{ "aws_bedrock", { "AWS_ACCESS_KEY_ID" }, NULL, NULL },
	{ "google_vertex", { "GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_CLOUD_PROJECT" }, NULL, NULL },
	{ "mistral", { "MISTRAL_API_KEY" }, NULL, "https://api.mistral.ai/v1" },
	{ "groq", { "GROQ_API_KEY" }, NULL, "https://api.groq.com/openai/v1" },
	{ "together", { "TOGETHER_API_KEY" }, NULL, "https://api.together.xyz/v1" },
	{ "fireworks", { "FIREWORKS_API_KEY" }, NULL, "https://api.fireworks.ai/inference/v1" },
	{ "cohere", { "COHERE_API_KEY" }, NULL, NULL },
	{ "deepseek", { "DEEPSEEK_API_KEY" }, NULL, "https://api.deepseek.com/v1" },
	{ "xai", { "XAI_API_KEY" }, NULL, "https://api.x.ai/v1" },
	{ "replicate", { "REPLICATE_API_TOKEN" }, NULL, NULL },
	{ "perplexity", { "PERPLEXITY_API_KEY" }, NULL, "https://api.perplexity.ai" },
	{ "huggingface", { "HF_TOKEN" }, "HUGGINGFACE_TOKEN", NULL },
	{ "cerebras", { "CEREBRAS_API_KEY" }, NULL, "https://api.cerebras.ai/v1" },
	{ "nvidia_nim", { "NGC_API_KEY" }, "NVIDIA_API_KEY", "https://integrate.api.nvidia.com/v1" },
};
static const struct {
	const char *name;
	uint16_t port;
} locals[] = { { "ollama", 11434 }, { "lm_studio", 1234 }, { "llama_cpp", 8080 }, { "vllm", 8000 },
	{ "free_router", 4567 } };

static bool is_set(struct sys *s, const char *name)
{
	const char *value = name ? s->getenv(s, name) : NULL;

	return value && *value;
}

static const struct provider *provider_of(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(providers); i++)
		if (text_eq(providers[i].name, name))
			return &providers[i];
	return NULL;
}

/* How sure it is that it can be used: 2 all names, 1 the weak one, 0 not. */
static int configured(struct sys *s, const struct provider *p)
{
	for (size_t i = 0; i < ARRAY_SIZE(p->required) && p->required[i]; i++)
		if (!is_set(s, p->required[i]))
			return is_set(s, p->weak) ? 1 : 0;
	return 2;
}

static void put_provider(struct arena *a, struct json *list, const char *name, const char *kind,
	bool is_there, const char *confidence, struct json *names)
{
	struct json *one = json_new(a, JSON_OBJECT);

	json_sets(a, one, "provider", name);
	json_sets(a, one, "kind", kind);
	json_setb(a, one, "configured", is_there);
	json_sets(a, one, "confidence", confidence);
	json_set(a, one, "detected_env_names", names);
	json_push(a, list, one);
}

struct json *health_providers(struct sys *s, struct arena *a)
{
	struct json *doc = json_new(a, JSON_OBJECT), *cloud = json_new(a, JSON_ARRAY),
		    *names = json_new(a, JSON_ARRAY), *local = json_new(a, JSON_ARRAY),
		    *all = json_new(a, JSON_ARRAY);

	for (size_t i = 0; i < ARRAY_SIZE(providers); i++) {
		const struct provider *p = &providers[i];
		struct json *own = json_new(a, JSON_ARRAY);
		int sure = configured(s, p);
		for (size_t j = 0; j < ARRAY_SIZE(p->required) && p->required[j]; j++)
			if (is_set(s, p->required[j]))
				json_pushs(a, own, p->required[j]);
		if (is_set(s, p->weak))
			json_pushs(a, own, p->weak);
		json_each (name, own)
			json_push(a, names, name);
		if (sure)
			json_pushs(a, cloud, p->name);
		put_provider(a, all, p->name, "cloud", sure, sure == 2 ? "high" : sure ? "low" : "none", own);
	}
	for (size_t i = 0; i < ARRAY_SIZE(locals); i++) {
		bool is_open = s->port_open(s, locals[i].port);
		if (is_open)
			json_pushs(a, local, locals[i].name);
		put_provider(a, all, locals[i].name, "local", is_open,
			is_open ? "port_open_unverified" : "none", json_new(a, JSON_ARRAY));
	}
	json_sets(a, doc, "mode",
		cloud->n && local->n ? "hybrid"
			: cloud->n   ? "api_only"
			: local->n   ? "local_only"
				     : "unavailable");
	json_sets(a, doc, "readiness", cloud->n || local->n ? "ready" : "degraded");
	json_set(a, doc, "cloud", cloud);
	json_set(a, doc, "detected_env_names", names);
	json_set(a, doc, "local", local);
	json_set(a, doc, "providers", all);
	return doc;
}

/* ---- the policy ---- */

static int64_t priority(const struct json *model)
{
	return json_get_int(model, "priority", LAST_PRIORITY);
}

/* By priority; equal ones as they are written. */
static struct json *ranked(struct arena *a, const struct json *models)
{
	struct json *list = json_new(a, JSON_ARRAY);

	json_each (one, models)
		if (json_is(one, JSON_OBJECT) && json_get_text(one, "ref", NULL))
			json_push(a, list, one);
	for (size_t i = 1; i < list->n; i++)
		for (size_t j = i; j > 0 && priority(list->items[j - 1]) > priority(list->items[j]); j--) {
			struct json *x = list->items[j];
			list->items[j] = list->items[j - 1];
			list->items[j - 1] = x;
		}
	return list;
}

static void derive(
	struct arena *a, struct json *list, const char *provider, const char *ref, const char *kind)
{
	struct json *one = json_new(a, JSON_OBJECT), *probe = json_new(a, JSON_OBJECT);

	json_sets(a, one, "ref", ref);
	json_sets(a, one, "provider", provider);
	json_seti(a, one, "priority", (int64_t)(list->n + 1) * 10);
	json_sets(a, probe, "kind", kind);
	json_sets(a, probe, "model", strchr(ref, '/') + 1);
	json_set(a, one, "probe", probe);
	json_push(a, list, one);
}

/* Without models in the policy: those of this machine, then the configured ones. */
static struct json *derived(const struct health_place *at)
{
	struct arena *a = at->a;
	struct json *list = json_new(a, JSON_ARRAY), *found = health_providers(at->sys, a);

	json_each (name, json_get(found, "local"))
		if (text_eq(json_text(name), "ollama"))
			derive(a, list, "ollama", "ollama/llama3.2:latest", "ollama_generate");
	json_each (name, json_get(found, "cloud")) {
		const char *p = json_text(name);
		if (text_eq(p, "openai"))
			derive(a, list, p, "openai/gpt-4.1-mini", "openai_chat_completion");
		else if (text_eq(p, "google_gemini"))
			derive(a, list, p, "google_gemini/gemini-2.5-flash", "google_generate_content");
		else if (provider_of(p)->base)
			derive(a, list, p, arena_printf(a, "%s/%s-default", p, p),
				"openai_compatible_chat_completion");
	}
	return list;
}

int health_open(struct health *h, const struct health_place *at, struct err *e)
{
	struct json *policy;
	int rc = doc_read(at->sys, at->a, at->root_fd, POLICY, MAX_BYTES, FILE_BENEATH, &policy, e);

	if (rc == E_MISSING) {
		policy = json_new(at->a, JSON_OBJECT);
		rc = OK;
	}
	if (rc)
		return rc;
	*h = (struct health){
		.at = *at, .policy = policy, .models = ranked(at->a, json_get(policy, "models"))
	};
	if (!h->models->n)
		h->models = derived(at);
	const char *path = json_get_text(policy, "state_path", NULL);
	h->state_path = path && *path && path[0] != '/' && !strstr(path, "..")
		? path
		: arena_printf(at->a, "%s/model-health-state.json", at->state_name);
	return OK;
}

struct json *health_model(const struct health *h, const char *ref)
{
	json_each (one, h->models)
		if (text_eq(json_get_text(one, "ref", ""), ref))
			return one;
	return NULL;
}

const char *health_provider(const struct json *model)
{
	const char *said = json_get_text(model, "provider", NULL), *ref = json_get_text(model, "ref", "");
	static _Thread_local char name[64];

	if (said)
		return said;
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(ref, "/"), ref);
	return name;
}

/* ---- state ---- */

static struct doc state_doc(const struct health *h)
{
	return (struct doc){ .file = h->state_path,
		.lock = arena_printf(h->at.a, "%s.lock", h->state_path),
		.type = JSON_OBJECT,
		.max_bytes = MAX_BYTES,
		.mode = 0644,
		.code = "HEALTH_STATE",
		.newest = 1 };
}

int health_state(const struct health *h, struct json **ret, struct err *e)
{
	const struct doc d = state_doc(h);
	int rc = doc_load(h->at.sys, h->at.a, h->at.root_fd, &d, ret, e);

	if (rc == OK && !json_get(*ret, "version"))
		json_seti(h->at.a, *ret, "version", 1);
	if (rc == OK && !json_is(doc_part(h->at.a, *ret, "models"), JSON_OBJECT))
		json_set(h->at.a, *ret, "models", json_new(h->at.a, JSON_OBJECT));
	return rc;
}

static const char *now_text(const struct health *h)
{
	return text_time_iso(h->at.a, h->at.sys->now_us(h->at.sys));
}

/* Within so many seconds; a time in the future is fresh. */
static bool is_within(const struct health *h, const char *text, int64_t seconds)
{
	int64_t us;

	return text && memory_time(text, &us) && h->at.sys->now_us(h->at.sys) - us <= seconds * 1000000;
}

static const struct json *entry_of(const struct json *state, const struct json *model)
{
	const struct json *entry = json_get(json_get(state, "models"), json_get_text(model, "ref", ""));

	return json_is(entry, JSON_OBJECT) ? entry : NULL;
}

/* ---- which one ---- */

static struct json *choice(struct arena *a, const char *model, const char *reason, const char *source)
{
	struct json *doc = json_new(a, JSON_OBJECT);

	json_sets(a, doc, "model", model);
	json_sets(a, doc, "reason", reason);
	json_sets(a, doc, "source", source);
	return doc;
}

static struct json *choose(const struct health *h, const struct json *state)
{
	struct arena *a = h->at.a;
	const int64_t fresh = json_get_int(h->policy, "fresh_after_seconds", 300),
		      stale = json_get_int(h->policy, "fallback_stale_after_seconds", 1800);
	bool is_passed = false;

	json_each (model, h->models) {
		const struct json *entry = entry_of(state, model);
		if (text_eq(json_get_text(entry, "status", ""), "healthy") &&
			is_within(h, json_get_text(entry, "checked_at", NULL), fresh))
			return choice(a, json_get_text(model, "ref", NULL), "it answered a moment ago",
				"model-health-state");
	}
	json_each (model, h->models) {
		const struct json *entry = entry_of(state, model);
		const char *status = json_get_text(entry, "status", "");
		if (is_passed && is_within(h, json_get_text(entry, "last_ok_at", NULL), stale))
			return choice(a, json_get_text(model, "ref", NULL),
				"a better one is down, and this one answered before", "model-health-state");
		is_passed |= (text_eq(status, "down") || text_eq(status, "degraded")) &&
			is_within(h, json_get_text(entry, "checked_at", NULL), fresh);
	}
	/* That somebody listens here says that it can be asked; a key in the environment says nothing about a model. */
	json_each (model, h->models)
		for (size_t i = 0; i < ARRAY_SIZE(locals); i++)
			if (text_eq(locals[i].name, health_provider(model)) &&
				h->at.sys->port_open(h->at.sys, locals[i].port))
				return choice(a, json_get_text(model, "ref", NULL),
					"its provider listens on this machine", "runtime-discovery");
	const char *first = json_get_text(json_at(h->models, 0), "ref", NULL);
	return choice(a, first, first ? "nothing fresh is known about any model" : "no model is configured",
		"default");
}

int health_select(const struct health *h, bool save, struct json **ret, struct err *e)
{
	struct arena *a = h->at.a;
	const struct doc d = state_doc(h);
	AUTO(close_fd) int lock = -1;
	struct json *state;
	int rc = save ? doc_lock(h->at.sys, h->at.root_fd, &d, &lock, e) : OK;

	if (rc == OK)
		rc = health_state(h, &state, e);
	if (rc)
		return rc;
	*ret = choose(h, state);
	if (!save || !json_get_text(*ret, "model", NULL))
		return OK;
	struct json *kept = json_copy(a, *ret);
	json_sets(a, kept, "checked_at", now_text(h));
	json_set(a, state, "selected_model", kept);
	json_sets(a, state, "updated_at", now_text(h));
	return doc_replace(h->at.sys, a, h->at.root_fd, &d, state, e);
}

/* ---- what probes found ---- */

/* Twice as long after each failure, with some difference between machines so that they do not all ask at once. */
static int64_t wait_s(const struct health *h, int64_t failures, int64_t said)
{
	int64_t wait = FIRST_WAIT_S;
	uint8_t some = 0;

	if (said > 0)
		return said > LONGEST_WAIT_S ? LONGEST_WAIT_S : said;
	while (--failures > 0 && wait < LONGEST_WAIT_S)
		wait *= 2;
	wait = wait > LONGEST_WAIT_S ? LONGEST_WAIT_S : wait;
	(void)h->at.sys->random(h->at.sys, &some, sizeof(some));
	return wait + wait * some / 1024;
}

static void keep_one(const struct health *h, struct json *models, const struct json *result)
{
	struct arena *a = h->at.a;
	const char *ref = json_get_text(result, "model", "");
	struct json *old = json_get(models, ref), *entry = json_copy(a, result);
	bool is_ok = text_eq(json_get_text(result, "status", ""), "healthy");
	int64_t failures = is_ok ? 0 : json_get_int(old, "failures", 0) + 1,
		retry = json_get_int(result, "retry_after_seconds", 0);

	(void)json_remove(entry, "retry_after_seconds");
	if (is_ok)
		json_set(a, entry, "last_ok_at", json_copy(a, json_get(result, "checked_at")));
	else if (json_get(old, "last_ok_at"))
		json_set(a, entry, "last_ok_at", json_copy(a, json_get(old, "last_ok_at")));
	json_seti(a, entry, "failures", failures);
	json_sets(a, entry, "next_probe_at",
		failures ? text_time_iso(
				   a, h->at.sys->now_us(h->at.sys) + wait_s(h, failures, retry) * 1000000)
			 : NULL);
	json_set(a, models, ref, entry);
}

int health_keep(const struct health *h, const struct json *results, struct err *e)
{
	const struct doc d = state_doc(h);
	AUTO(close_fd) int lock = -1;
	struct json *state;
	int rc = doc_lock(h->at.sys, h->at.root_fd, &d, &lock, e);

	if (rc == OK)
		rc = health_state(h, &state, e);
	if (rc)
		return rc;
	json_each (one, results)
		if (health_model(h, json_get_text(one, "model", "")) && !json_get_bool(one, "skipped", false))
			keep_one(h, json_get(state, "models"), one);
	json_sets(h->at.a, state, "updated_at", now_text(h));
	return doc_replace(h->at.sys, h->at.a, h->at.root_fd, &d, state, e);
}

int64_t health_wait_until(const struct json *state, const char *ref)
{
	int64_t us;

	return memory_time(json_get_text(json_get(json_get(state, "models"), ref), "next_probe_at", ""), &us)
		? us
		: 0;
}

/* ---- asking ---- */

static struct json *result_of(
	const struct health *h, const struct json *model, const char *status, const char *detail)
{
	struct arena *a = h->at.a;
	struct json *doc = json_new(a, JSON_OBJECT);

	json_sets(a, doc, "model", json_get_text(model, "ref", ""));
	json_sets(a, doc, "provider", health_provider(model));
	json_sets(a, doc, "status", status);
	json_sets(a, doc, "checked_at", now_text(h));
	json_sets(a, doc, "detail", detail);
	json_sets(a, doc, "auth_status", NULL);
	json_sets(a, doc, "generation_status", NULL);
	return doc;
}

static struct json *chat_body(struct arena *a, const char *model, const char *prompt)
{
	struct json *body = json_new(a, JSON_OBJECT), *messages = json_new(a, JSON_ARRAY),
		    *one = json_new(a, JSON_OBJECT);

	json_sets(a, one, "role", "user");
	json_sets(a, one, "content", prompt);
	json_push(a, messages, one);
	json_sets(a, body, "model", model);
	json_set(a, body, "messages", messages);
	json_seti(a, body, "temperature", 0);
	json_seti(a, body, "max_tokens", 5);
	return body;
}

static struct json *google_body(struct arena *a, const char *prompt)
{
	struct json *body = json_new(a, JSON_OBJECT), *contents = json_new(a, JSON_ARRAY),
		    *one = json_new(a, JSON_OBJECT), *parts = json_new(a, JSON_ARRAY),
		    *part = json_new(a, JSON_OBJECT);

	json_sets(a, part, "text", prompt);
	json_push(a, parts, part);
	json_set(a, one, "parts", parts);
	json_push(a, contents, one);
	json_set(a, body, "contents", contents);
	return body;
}

static struct json *ollama_body(struct arena *a, const char *model, const char *prompt)
{
	struct json *body = json_new(a, JSON_OBJECT);

	json_sets(a, body, "model", model);
	json_sets(a, body, "prompt", prompt);
	json_setb(a, body, "stream", false);
	return body;
}

/* The name of the variable that holds the key, when it is set; NULL: none is. */
static const char *key_name(const struct health *h, const struct json *probe, const char *provider)
{
	const char *said = json_get_text(probe, "api_key_env", NULL);
	const struct provider *p = provider_of(provider);

	if (said)
		return is_set(h->at.sys, said) ? said : NULL;
	if (p && is_set(h->at.sys, p->required[0]))
		return p->required[0];
	return p && is_set(h->at.sys, p->weak) ? p->weak : NULL;
}

static const char *base_of(const struct health *h, const struct json *probe, const char *provider)
{
	static const char *const openai[] = { "OPENAI_BASE_URL", "OPENAI_API_BASE" };
	const char *said = json_get_text(probe, "base_url_env", NULL), *value;
	const struct provider *p = provider_of(provider);

	if (said && (value = h->at.sys->getenv(h->at.sys, said)) && *value)
		return value;
	for (size_t i = 0; i < ARRAY_SIZE(openai) && text_eq(provider, "openai"); i++)
		if ((value = h->at.sys->getenv(h->at.sys, openai[i])) && *value)
			return value;
	return p ? p->base : NULL;
}

int health_request(const struct health *h, const struct json *model, struct json **ret_request,
	struct json **ret_result, struct err *e)
{
	struct arena *a = h->at.a;
	const struct json *probe = json_get(model, "probe");
	const char *kind = json_get_text(probe, "kind", ""), *name = json_get_text(probe, "model", ""),
		   *prompt = json_get_text(probe, "prompt", "Answer with the single word ok."),
		   *provider = health_provider(model), *url = json_get_text(probe, "url", NULL), *key = NULL;
	bool is_ollama = text_eq(kind, "ollama_generate"),
	     is_google = text_eq(kind, "google_generate_content"),
	     is_chat = text_eq(kind, "openai_chat_completion") ||
		text_eq(kind, "openai_compatible_chat_completion");
	struct json *q = json_new(a, JSON_OBJECT);

	(void)e;
	*ret_request = *ret_result = NULL;
	if (!is_ollama && !is_google && !is_chat) {
		*ret_result = result_of(h, model, "unknown", "nobody knows how to ask this kind of model");
		return OK;
	}
	if (!is_ollama && !(key = key_name(h, probe, provider))) {
		*ret_result = result_of(h, model, "down", "no key for it is in the environment");
		json_sets(a, *ret_result, "auth_status", "missing");
		return OK;
	}
	if (!url && is_ollama)
		url = "http://127.0.0.1:11434/api/generate";
	if (!url && is_google)
		url = arena_printf(a,
			"https://generativelanguage.googleapis.com/v1beta/models/%s:generateContent", name);
	if (!url) {
		const char *base = base_of(h, probe, provider);
		if (!base) {
			*ret_result = result_of(
				h, model, "unknown", "it is not known where this provider is reached");
			return OK;
		}
		url = arena_printf(a, "%s%schat/completions", base, text_ends(base, "/") ? "" : "/");
	}
	json_sets(a, q, "url", url);
	json_sets(a, q, "auth", is_ollama ? "none" : is_google ? "x-goog-api-key" : "bearer");
	json_sets(a, q, "secret_env", key);
	json_seti(a, q, "timeout_ms", json_get_int(probe, "timeout_seconds", is_ollama ? 30 : 45) * 1000);
	json_set(a, q, "body",
		is_ollama	    ? ollama_body(a, name, prompt)
			: is_google ? google_body(a, prompt)
				    : chat_body(a, name, prompt));
	*ret_request = q;
	return OK;
}

/* Is there something in what it answered? */
static bool has_text(struct arena *a, const char *kind, struct bytes body)
{
	struct json *doc;

	if (json_parse(a, body, "answer", NULL, &doc, NULL))
		return false;
	if (text_eq(kind, "ollama_generate"))
		return json_get_text(doc, "response", "")[0];
	const struct json *list =
		json_get(doc, text_eq(kind, "google_generate_content") ? "candidates" : "choices");
	return list && list->n;
}

/* A sentence of what came back, without secrets. */
static const char *detail_of(struct arena *a, int status, struct bytes body)
{
	size_t n;
	const char *clean = privacy_redact(a, (const char *)body.p, body.n > DETAIL ? DETAIL : body.n, &n);

	return arena_printf(a, "HTTP %d%s%s", status, n ? ": " : "", text_safe(a, clean, n, false));
}

struct json *health_result(const struct health *h, const struct json *model, const struct health_answer *x)
{
	struct arena *a = h->at.a;
	const char *kind = json_get_text(json_get(model, "probe"), "kind", "");
	bool is_local = text_eq(kind, "ollama_generate");
	struct json *doc;

	if (x->error) {
		doc = result_of(h, model, "down", arena_printf(a, "it could not be reached: %s", x->error));
		json_sets(a, doc, "auth_status", is_local ? "local" : NULL);
		json_sets(a, doc, "generation_status", x->error);
	} else if (x->status == 429 || x->status == 402) {
		doc = result_of(h, model, "degraded", detail_of(a, x->status, x->body));
		json_sets(a, doc, "auth_status", is_local ? "local" : "healthy");
		json_sets(a, doc, "generation_status", x->status == 429 ? "rate_limit" : "quota");
		if (x->retry_after_s > 0)
			json_seti(a, doc, "retry_after_seconds", x->retry_after_s);
	} else if (x->status < 200 || x->status >= 300) {
		doc = result_of(h, model, "down", detail_of(a, x->status, x->body));
		json_sets(a, doc, "auth_status", is_local ? "local" : "failed");
		json_sets(a, doc, "generation_status", "failed");
	} else {
		bool is_there = has_text(a, kind, x->body);
		doc = result_of(h, model, is_there ? "healthy" : "down",
			is_there ? "it answered" : "it answered with nothing");
		json_sets(a, doc, "auth_status", is_local ? "local" : "healthy");
		json_sets(a, doc, "generation_status", is_there ? "healthy" : "empty");
	}
	json_seti(a, doc, "latency_ms", x->latency_ms);
	return doc;
}
