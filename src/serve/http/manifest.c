/* manifest.c — what this boundary is among other products: which questions it takes, what leaves it, and what its telemetry says.  All of it follows from the
 * table of routes and from how the server was started. */
#include "serve/http/http.h"

#include "base/hash.h"
#include "base/text.h"
#include "decide/engine/engine.h"

static void push_all(struct call *c, struct json *o, const char *name, const char *const *words)
{
	struct json *list = json_new(c->a, JSON_ARRAY);

	for (; *words; words++)
		json_pushs(c->a, list, *words);
	json_set(c->a, o, name, list);
}

/* Paths of the routes that this scope opens. */
static struct json *paths_of(struct call *c, enum apikey_scope scope)
{
	struct json *list = json_new(c->a, JSON_ARRAY);
	const struct route *r;

	for (size_t i = 0; (r = route_at(i)); i++)
		if (r->scope == scope && r->response)
			json_pushs(c->a, list, arena_printf(c->a, "%s %s", r->method, r->path));
	return list;
}

static int coexistence(struct call *c, struct err *e)
{
	static const char *const bindings[] = { "receipt.v5", "decision_record.v4", NULL };
	struct json *doc = json_new(c->a, JSON_OBJECT);

	(void)e;
	json_sets(c->a, doc, "authority", "helm");
	json_sets(c->a, doc, "boundary_role", "decision point and record; it executes nothing itself");
	json_set(c->a, doc, "supported_inputs", paths_of(c, SCOPE_EVALUATE));
	json_set(c->a, doc, "export_surfaces", paths_of(c, SCOPE_READ));
	push_all(c, doc, "receipt_bindings", bindings);
	json_sets(c->a, doc, "manifest_id", json_sha256(c->a, doc));
	json_sets(c->a, doc, "generated_at", text_time_z(c->a, c->server->sys->now_us(c->server->sys)));
	call_answer(c, 200, doc);
	return OK;
}

static int telemetry(struct call *c, struct err *e)
{
	static const char *const attributes[][2] = { { "http.request.method", "the method" },
		{ "http.route", "the route, not the path" }, { "http.response.status_code", "the status" },
		{ "helm.decision_id", "of a decision" }, { "helm.receipt_id", "of its receipt" },
		{ "helm.verdict", "ALLOW, DENY or ESCALATE" },
		{ "helm.reason_code", "of what was not allowed" } };
	static const char *const spans[] = { "traces", NULL }, *const none[] = { NULL };
	struct json *doc = json_new(c->a, JSON_OBJECT), *told = json_new(c->a, JSON_OBJECT);

	(void)e;
	json_sets(c->a, doc, "service_name", "helm-serve");
	json_sets(c->a, doc, "signal_type", "span");
	json_setb(c->a, doc, "authoritative", false);
	for (size_t i = 0; i < ARRAY_SIZE(attributes); i++)
		json_sets(c->a, told, attributes[i][0], attributes[i][1]);
	json_set(c->a, doc, "span_attributes", told);
	push_all(c, doc, "exported_signals", c->server->spans ? spans : none);
	call_answer(c, 200, doc);
	return OK;
}

/* Who may do what is said by keys and by the policy: by which, and whether both can be read now. */
static int authz_health(struct call *c, struct err *e)
{
	struct json *doc = json_new(c->a, JSON_OBJECT), *keys;
	struct err why = { 0 };
	bool is_well =
		apikeys_load(c->server->sys, c->a, c->server->ws, &keys, &why) == OK && c->policy != NULL;

	(void)e;
	json_sets(c->a, doc, "status", is_well ? "ready" : "degraded");
	json_sets(c->a, doc, "resolver", "keys and policy of this boundary");
	json_sets(c->a, doc, "model_id", c->policy ? ruleset_sha256(c->policy->rules) : "");
	json_sets(c->a, doc, "relationship_hash", is_well ? json_sha256(c->a, keys) : "");
	json_sets(c->a, doc, "checked_at", text_time_z(c->a, c->server->sys->now_us(c->server->sys)));
	call_answer(c, 200, doc);
	return OK;
}

const struct route http_manifest_routes[] = {
	{ "GET", "/api/v1/coexistence/capabilities", AUTH_TENANT, SCOPE_READ, RATE_EVIDENCE, 0, coexistence,
		"what this boundary takes and gives, for other products", NULL, "CoexistenceManifest" },
	{ "GET", "/api/v1/telemetry/otel/config", AUTH_TENANT, SCOPE_READ, RATE_EVIDENCE, 0, telemetry,
		"what spans of this server hold, and whether any leave", NULL, "TelemetryConfig" },
	{ "GET", "/api/v1/authz/health", AUTH_ADMIN, SCOPE_ADMIN, RATE_ADMIN, 0, authz_health,
		"by what it is said who may do what", NULL, "AuthzHealth" },
	{ 0 },
};
