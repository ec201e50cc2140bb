/* identity.c — one credential, one principal; how much somebody may.
 *
 * Whoever uses a credential first owns it for ever: the chain remembers, through a draw that only one can make. */
#include "decide/authority/parts.h"

#include <string.h>

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
				.key = once_key(j, "credential", f->credential),
				.amount = 1,
				.limit = 1 });
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
