/* identity.c — who is known here: the principals of the keys that open something now. */
#include "base/text.h"
#include "serve/http/http.h"

static struct json *entry_of(struct call *c, struct json *list, const char *principal)
{
	json_each (one, list)
		if (text_eq(json_get_text(one, "agent_id", ""), principal))
			return one;
	struct json *made = json_new(c->a, JSON_OBJECT);
	json_sets(c->a, made, "agent_id", principal);
	json_sets(c->a, made, "tenant_id", c->who.tenant);
	json_set(c->a, made, "key_ids", json_new(c->a, JSON_ARRAY));
	json_push(c->a, list, made);
	return made;
}

static int agents(struct call *c, struct err *e)
{
	struct sys *s = c->server->sys;
	struct json *keys, *list = json_new(c->a, JSON_ARRAY);
	int rc = apikeys_load(s, c->a, c->server->ws, &keys, e);

	if (rc)
		return rc;
	json_each_member (m, json_get(keys, "keys"))
		if (!apikey_over(m->value, s->now_us(s)) &&
			text_eq(json_get_text(m->value, "tenant", ""), c->who.tenant))
			json_pushs(c->a,
				json_get(entry_of(c, list, json_get_text(m->value, "principal", "")),
					"key_ids"),
				m->name);
	call_answer(c, 200, list);
	return OK;
}

const struct route http_identity_routes[] = {
	{ "GET", "/api/v1/identity/agents", AUTH_ADMIN, SCOPE_ADMIN, RATE_ADMIN, 0, agents,
		"principals with a key", NULL, "[]AgentIdentity" },
	{ 0 },
};
