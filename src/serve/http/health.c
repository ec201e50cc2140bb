/* health.c — is it there, what is it, what can it do. */
#include "base/hash.h"
#include "base/text.h"
#include "serve/serve.h"

#include <string.h>

#define SPEC_VERSION "1.0.0"

static int health(struct call *c, struct err *e)
{
	struct json *doc = json_new(c->a, JSON_OBJECT);

	(void)e;
	json_sets(c->a, doc, "status", "ok");
	json_sets(c->a, doc, "version", HELM_VERSION);
	call_answer(c, 200, doc);
	return OK;
}

/* go_version is the name that clients know. */
static int version(struct call *c, struct err *e)
{
	struct json *doc = json_new(c->a, JSON_OBJECT);

	(void)e;
	json_sets(c->a, doc, "version", HELM_VERSION);
	json_sets(c->a, doc, "commit", "");
	json_sets(c->a, doc, "build_time", "");
	json_sets(c->a, doc, "go_version", "");
	json_sets(c->a, doc, "spec_version", SPEC_VERSION);
	call_answer(c, 200, doc);
	return OK;
}

/* JSON is YAML, so one text serves both names. */
static int openapi(struct call *c, struct err *e)
{
	const char *seen = call_header(c, "If-None-Match");
	struct buf text;

	(void)e;
	buf_init(&text, c->a);
	json_write(&text, routes_openapi(c->a), JSON_INDENT);
	buf_addc(&text, '\n');
	const char *tag = arena_printf(c->a, "\"%s\"", sha256_hex(c->a, text.p, text.n));
	call_send_header(c, "ETag", tag);
	call_send_header(c, "Cache-Control", "no-cache");
	if (seen && text_eq(seen, tag))
		call_bytes(c, 304, NULL, (struct bytes){ 0 });
	else
		call_bytes(c, 200, text_ends(c->path, ".json") ? "application/json" : "application/yaml",
			buf_bytes(&text));
	return OK;
}

const struct route http_health_routes[] = {
	{ "GET", "/healthz", AUTH_PUBLIC, 0, RATE_PUBLIC, 0, health, "is it there", NULL, "Health" },
	{ "GET", "/health", AUTH_PUBLIC, 0, RATE_PUBLIC, 0, health, "the same", NULL, "Health" },
	{ "GET", "/version", AUTH_PUBLIC, 0, RATE_PUBLIC, 0, version, "which version this is", NULL,
		"Version" },
	{ "GET", "/openapi.yaml", AUTH_PUBLIC, 0, RATE_PUBLIC, 0, openapi, "this table as OpenAPI", NULL,
		NULL },
	{ "GET", "/openapi.json", AUTH_PUBLIC, 0, RATE_PUBLIC, 0, openapi, "the same", NULL, NULL },
	{ 0 },
};
