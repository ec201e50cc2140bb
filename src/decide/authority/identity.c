/* identity.c — one credential, one principal; what was delegated; how much somebody may.
 *
 * Whoever uses a credential first owns it for ever: the chain remembers, through a draw that only one can make.  A delegated session
 * grants what it lists and nothing else; its nonce is spent after every other check. */
#include "decide/authority/parts.h"

#include <string.h>

/* Parts with their lengths in front: no two things share a key. */
static const char *key_of(struct judging *j, const char *kind, const char *name)
{
	return arena_printf(j->a, "%s:%zu:%s", kind, strlen(name), name);
}

void gate_identity(struct judging *j, struct gate_answer *ret)
{
	const struct identity_facts *f = j->facts->identity;
	const char *who = who_asks(j), *claimed = j->ask->principal;

	if (!f)
		return;
	ret->is_active = true;
	if (!f->credential) {
		gate_deny(ret, REASON_IDENTITY_ISOLATION_VIOLATION, "identity",
			"The caller proved nothing about itself.");
		return;
	}
	const char *owner = json_get_text(f->owners, f->credential, NULL);
	if (!text_eq(who, claimed) || (owner && !text_eq(owner, who))) {
		gate_deny(ret, REASON_IDENTITY_ISOLATION_VIOLATION, "identity",
			"The credential belongs to another principal than the one that asks.");
		bind_text(j, ret, "credential_hash", f->credential);
		return;
	}
	if (!owner)
		gate_draw(j,
			&(struct draw){ .kind = DRAW_NONCE,
				.key = key_of(j, "credential", f->credential),
				.amount = 1,
				.limit = 1 });
}

/* ---- delegation ---- */

static int risk_rank(const char *risk)
{
	static const char *const names[] = { "low", "medium", "high", "critical" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (text_eq(names[i], risk))
			return (int)i;
	return (int)ARRAY_SIZE(names);
}

/* Does the list grant this action on this resource? */
static bool grants(const struct json *capabilities, const char *resource, const char *action)
{
	json_each (c, capabilities) {
		const char *name = json_get_text(c, "resource", "");
		if ((text_eq(name, resource) || text_eq(name, "*")) &&
			(texts_have(json_get(c, "actions"), action) ||
				texts_have(json_get(c, "actions"), "*")))
			return true;
	}
	return false;
}

/* NULL, or what is wrong with the session itself. */
static const char *session_fault(struct judging *j, const struct delegation_facts *f)
{
	const struct json *s = f->session;
	const char *binding = json_get_text(s, "verifier_binding", NULL),
		   *nonce = json_get_text(s, "nonce", "");

	if (!s || authority_document(j->a, "delegation-session", s, NULL))
		return "the session is not known, or is none";
	if (j->facts->now_us >= checked_time(s, "expires_at"))
		return "the session has expired";
	if (!f->is_begun && json_get(f->spent, nonce))
		return "its nonce was used before";
	if (binding && (!f->verifier || !text_eq(binding, json_sha256(j->a, json_string(j->a, f->verifier)))))
		return "what was shown does not fit the session";
	if (f->policy_hash && !text_eq(f->policy_hash, json_get_text(s, "policy_hash", "")))
		return "it was made under another policy";
	if (texts_have(f->revoked, json_get_text(s, "session_id", "")))
		return "it was revoked";
	if (f->needs_mfa && !json_get_bool(s, "created_with_mfa", false))
		return "it was made without a second factor";
	return f->principal_seq < json_get_int(s, "principal_seq_floor", 0)
		? "the caller's sequence is too low"
		: NULL;
}

/* NULL, or what the session does not cover. */
static const char *scope_fault(struct judging *j, const struct delegation_facts *f)
{
	const struct json *s = f->session, *capabilities = json_get(s, "capabilities");
	const char *resource = j->ask->tool ? j->ask->tool : j->ask->effect_type;
	const char *ceiling = json_get_text(s, "risk_ceiling", NULL);

	if (!texts_have(json_get(s, "allowed_tools"), resource))
		return "the session does not list this tool";
	if (json_is(capabilities, JSON_ARRAY) && capabilities->n &&
		!grants(capabilities, resource, j->ask->effect_type))
		return "the session does not grant this action";
	if (ceiling && risk_rank(f->risk ? f->risk : "") > risk_rank(ceiling))
		return "the effect is riskier than the session permits, or its risk is not known";
	return NULL;
}

void gate_delegation(struct judging *j, struct gate_answer *ret)
{
	const struct delegation_facts *f = j->facts->delegation;

	if (!f)
		return;
	ret->is_active = true;
	const char *why = session_fault(j, f);
	if (why) {
		gate_deny(ret, REASON_DELEGATION_INVALID, "delegation",
			arena_printf(j->a, "Delegation: %s.", why));
		return;
	}
	if (!text_eq(json_get_text(f->session, "delegate", ""), who_asks(j))) {
		gate_deny(ret, REASON_DELEGATION_PRINCIPAL_MISMATCH, "delegation",
			"The session was given to somebody else.");
		return;
	}
	why = scope_fault(j, f);
	if (why)
		gate_deny(ret, REASON_DELEGATION_SCOPE_VIOLATION, "delegation",
			arena_printf(j->a, "Delegation: %s.", why));
	else if (!f->is_begun)
		gate_draw(j,
			&(struct draw){ .kind = DRAW_NONCE,
				.key = key_of(j, "delegation", json_get_text(f->session, "nonce", "")),
				.amount = 1,
				.limit = 1 });
}

/* ---- minting ---- */

static int wider(struct err *e, const char *what, const char *which)
{
	return err_set(e, E_DENIED, "DELEGATION_WIDER",
		"the session would hold %s '%s', which its delegator does not have", what, which);
}

static int check_capabilities(const struct json *session, const struct delegator *from, struct err *e)
{
	json_each (c, json_get(session, "capabilities")) {
		const char *resource = json_get_text(c, "resource", "");
		json_each (action, json_get(c, "actions"))
			if (!grants(from->capabilities, resource, action->text))
				return wider(e, "an action on", resource);
	}
	return OK;
}

int delegation_mint(struct arena *a, const struct json *session, const struct delegator *from, int64_t now_us,
	struct err *e)
{
	const char *ceiling = json_get_text(session, "risk_ceiling", NULL);

	if (authority_document(a, "delegation-session", session, e))
		return err_set(e, E_DENIED, "DELEGATION_DOCUMENT", "this is no delegation session");
	if (!text_eq(json_get_text(session, "delegator", ""), from->principal))
		return err_set(e, E_DENIED, "DELEGATION_DOCUMENT", "the session names another delegator");
	json_each (tool, json_get(session, "allowed_tools"))
		if (!texts_have(from->tools, tool->text) && !texts_have(from->tools, "*"))
			return wider(e, "the tool", tool->text);
	int rc = check_capabilities(session, from, e);
	if (rc)
		return rc;
	if (from->risk_ceiling && (!ceiling || risk_rank(ceiling) > risk_rank(from->risk_ceiling)))
		return wider(e, "the risk", ceiling ? ceiling : "unbounded");
	int64_t expires = checked_time(session, "expires_at");
	if (expires <= now_us || (from->expires_us && expires > from->expires_us))
		return err_set(e, E_DENIED, "DELEGATION_TIME",
			"the session would end before it begins, or after its delegator's own authority");
	return OK;
}

/* ---- tiers ---- */

static const char *const tiers[] = { "RESTRICTED", "STANDARD", "ELEVATED", "SYSTEM" };
TABLE_COVERS(tiers, TIER_COUNT);

const char *tier_name(enum tier t)
{
	return tiers[t];
}

static bool tier_parse(const char *name, enum tier *ret)
{
	for (size_t i = 0; name && i < ARRAY_SIZE(tiers); i++)
		if (text_eq(tiers[i], name)) {
			*ret = (enum tier)i;
			return true;
		}
	return false;
}

enum tier privilege_required(const struct json *section, const char *effect_type)
{
	static const struct {
		const char *type;
		enum tier tier;
	} table[] = {
		{ "SOFTWARE_PUBLISH", TIER_ELEVATED },
		{ "CI_CREDENTIAL_ACCESS", TIER_ELEVATED },
		{ "CLOUD_COMPUTE_BUDGET", TIER_ELEVATED },
		{ "EXECUTE_PAYMENT", TIER_ELEVATED },
		{ "FILE_WRITE", TIER_ELEVATED },
		{ "INFRA_DESTROY", TIER_SYSTEM },
		{ "ENV_RECREATE", TIER_SYSTEM },
		{ "PROTECTED_INFRA_STRUCTURE", TIER_SYSTEM },
		{ "TUNNEL_START", TIER_SYSTEM },
	};
	enum tier t = TIER_STANDARD;

	if (tier_parse(json_get_text(json_get(section, "required"), effect_type, NULL), &t))
		return t;
	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		if (text_eq(table[i].type, effect_type))
			return table[i].tier;
	(void)tier_parse(json_get_text(section, "default", NULL), &t);
	return t;
}

/* What is left of a tier under this trust. */
static enum tier capped(enum tier t, const char *trust)
{
	if (trust && text_eq(trust, "HOSTILE"))
		return TIER_RESTRICTED;
	return trust && text_eq(trust, "SUSPECT") && t > TIER_STANDARD ? TIER_STANDARD : t;
}

void gate_privilege(struct judging *j, struct gate_answer *ret)
{
	const struct privilege_facts *f = j->facts->privilege;
	const struct json *section = section_of(j, "privilege");
	enum tier has = TIER_RESTRICTED;

	if (!f && !section)
		return;
	ret->is_active = true;
	if (!tier_parse(f ? f->tier : NULL, &has))
		(void)tier_parse(json_get_text(json_get(section, "principals"), who_asks(j), NULL), &has);
	has = capped(has, f ? f->trust : NULL);
	enum tier needs = privilege_required(section, j->ask->effect_type);
	if (has >= needs)
		return;
	gate_deny(ret, REASON_INSUFFICIENT_PRIVILEGE, "privilege",
		arena_printf(j->a, "It needs tier %s, and who asks has %s.", tiers[needs], tiers[has]));
}
