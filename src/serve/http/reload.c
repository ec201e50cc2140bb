/* reload.c — what this door was started with, read again because somebody asks: policy, authority and certificates, as SIGHUP does. */
#include "serve/http/http.h"

#include "base/text.h"
#include "decide/engine/engine.h"

static int reconcile(struct call *c, struct err *e)
{
	struct json *doc = json_new(c->a, JSON_OBJECT);
	struct err why = { 0 };

	call_hold(c);
	if (server_reload(c->server, &why))
		return call_refuse(
			c, e, 409, "POLICY_NOT_READY", "what was in force stays in force: %s", why.text);
	struct door_policy *now = policy_take(c->server);
	json_setb(c->a, doc, "reloaded", true);
	json_sets(c->a, doc, "policy_sha256", ruleset_sha256(now->rules));
	json_sets(c->a, doc, "policy_version", ruleset_version(now->rules));
	json_sets(c->a, doc, "loaded_at", text_time_z(c->a, now->loaded_us));
	policy_drop(c->server, now);
	call_answer(c, 200, doc);
	return OK;
}

const struct route http_reload_routes[] = {
	{ "POST", "/internal/policy/reconcile", AUTH_SERVICE, SCOPE_SERVICE, RATE_ADMIN,
		TAKES_JSON | BODY_OPTIONAL, reconcile, "read policy, authority and certificates again",
		"ReloadRequest", "ReloadResult" },
	{ 0 },
};
