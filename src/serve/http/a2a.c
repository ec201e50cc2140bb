/* a2a.c — another agent wants to agree on features (docs/formats/a2a.md).
 *
 * Who the origin is says its signature, by a key that the installation trusts; nothing else is looked at before.  Either answer is on record.
 * An agreement authorises no effect: those are decided one by one. */
#include "serve/http/http.h"

#include "base/hash.h"
#include "base/text.h"
#include "decide/authority/authority.h"

#include <string.h>

static int negotiate(struct call *c, struct err *e)
{
	const struct json *us = json_get(c->policy->authority, "a2a");
	struct json *about = json_new(c->a, JSON_OBJECT), *receipt;
	struct decision stopped = { 0 };
	int64_t now = c->server->sys->now_us(c->server->sys);
	const char *profile;
	char *id;
	int rc = record_new_id(c->a, c->server->sys, "dec-", &id, e);

	if (rc == OK)
		rc = workspace_default_profile(c->server->sys, c->a, c->k->ws, &profile, e);
	if (rc)
		return rc;
	if (!us)
		return call_refuse(c, e, 501, "NOT_OFFERED",
			"this server was started without the member a2a in its --authority file");
	if (kernel_stops(c->k, c->a, c->who.principal, profile, &stopped))
		return call_refuse(c, e, 403, reason_get(stopped.reason_code)->code, "everything is stopped");
	struct json *answer = a2a_negotiate(c->a, c->body,
		&(struct a2a_local){ .features = json_get(us, "features"),
			.keys = json_get(us, "keys"),
			.rules = json_get(us, "rules"),
			.agent_id = json_get_text(us, "agent_id", NULL),
			.receipt_id = arena_printf(c->a, "a2a-neg:%.8s", id + strlen("dec-")),
			.begun_us = now,
			.now_us = c->server->sys->now_us(c->server->sys) });
	bool is_agreed = json_get_bool(answer, "accepted", false);
	json_sets(c->a, about, "tenant", c->who.tenant);
	json_sets(c->a, about, "negotiation_id", json_get_text(answer, "receipt_id", ""));
	json_sets(c->a, about, "envelope_sha256", a2a_hash(c->a, c->body, 2));
	json_sets(c->a, about, "source", "api.a2a");
	if (!is_agreed)
		json_sets(c->a, about, "deny_reason", json_get_text(answer, "deny_reason", ""));
	rc = call_record(c,
		&(struct draft){ .decision_id = id,
			.effect_id = "helm.a2a/negotiate",
			.status = is_agreed ? "ACCEPTED" : "REFUSED",
			.policy_hash = c->k->policy_hash,
			.args_hash = json_sha256(c->a, c->body),
			.output_hash = json_sha256(c->a, answer),
			.executor_id = c->who.principal,
			.type = "negotiation",
			.metadata = about },
		&receipt, e);
	if (rc == OK)
		call_answer(c, 200, answer);
	return rc;
}

const struct route http_a2a_routes[] = {
	{ "POST", "/v1/a2a/negotiate", AUTH_TENANT, SCOPE_EVALUATE, RATE_KERNEL, TAKES_JSON | IS_ONCE,
		negotiate, "agree with another agent on features, by a signed envelope", NULL, "A2aAnswer" },
	{ 0 },
};
