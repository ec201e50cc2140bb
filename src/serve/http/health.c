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

const struct route http_health_routes[] = {
	{ "GET", "/healthz", AUTH_PUBLIC, 0, RATE_PUBLIC, 0, health, "is it there", NULL, "Health" },
	{ "GET", "/health", AUTH_PUBLIC, 0, RATE_PUBLIC, 0, health, "the same", NULL, "Health" },
	{ "GET", "/version", AUTH_PUBLIC, 0, RATE_PUBLIC, 0, version, "which version this is", NULL,
		"Version" },
	{ "GET", "/openapi.yaml", AUTH_PUBLIC, 0, RATE_PUBLIC, 0, route_openapi, "this table as OpenAPI",
		NULL, NULL },
	{ "GET", "/openapi.json", AUTH_PUBLIC, 0, RATE_PUBLIC, 0, route_openapi, "the same", NULL, NULL },
	{ 0 },
};
