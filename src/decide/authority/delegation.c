/* delegation.c — what somebody has given to somebody else, for a time.
 *
 * A delegated session grants what it lists and nothing else.  Its nonce begins one session of the delegate, and no other: both stand in the chain, as
 * draws, after every other check has passed.
 *
 * Sessions that count are those of a policy that a person has put in use (section "delegation"); what its delegators have is written there, too, and a
 * session that holds more than that does not compile. */
#include "decide/authority/parts.h"

#include <string.h>

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

/* ---- using one ---- */

/* One session that may be the one. */
struct trying {
	struct judging *j;
	const struct delegation_facts *f;
	const struct json *session;
	const char *nonce,
		*begun; /* keys of what is drawn once: its nonce, and that it began this session of the caller */
};

static void begin(struct trying *t, struct judging *j, const struct json *session)
{
	const struct delegation_facts *f = j->facts->delegation;
	const char *nonce = json_get_text(session, "nonce", "");

	*t = (struct trying){ .j = j,
		.f = f,
		.session = session,
		.nonce = once_key(j, "delegation", nonce),
		.begun = draw_key(j->a, "delegation-of", nonce, f->run ? f->run : "", NULL) };
}

static bool is_drawn(const struct trying *t, const char *key)
{
	return drawn_find(t->f->drawn, DRAW_NONCE, key, 0) != NULL;
}

/* NULL, or what is wrong with the session itself. */
static const char *session_fault(const struct trying *t)
{
	const struct delegation_facts *f = t->f;
	const struct json *s = t->session;
	const char *binding = json_get_text(s, "verifier_binding", NULL);

	if (!s || authority_document(t->j->a, "delegation-session", s, NULL))
		return "the session is not known, or is none";
	if (t->j->facts->now_us >= checked_time(s, "expires_at"))
		return "the session has expired";
	if (f->error)
		return "it is not known what was used";
	if (!is_drawn(t, t->begun) && is_drawn(t, t->nonce))
		return "its nonce was used before";
	if (binding && (!f->proof || !text_eq(binding, f->proof)))
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
static const char *scope_fault(const struct trying *t)
{
	const struct submission *q = t->j->ask;
	const struct json *s = t->session, *capabilities = json_get(s, "capabilities");
	const char *resource = q->tool ? q->tool : q->effect_type;
	const char *ceiling = json_get_text(s, "risk_ceiling", NULL);

	if (!texts_have(json_get(s, "allowed_tools"), resource))
		return "the session does not list this tool";
	if (json_is(capabilities, JSON_ARRAY) && capabilities->n &&
		!grants(capabilities, resource, q->effect_type))
		return "the session does not grant this action";
	if (ceiling && risk_rank(t->f->risk ? t->f->risk : "") > risk_rank(ceiling))
		return "the effect is riskier than the session permits, or its risk is not known";
	return NULL;
}

static void judge_session(const struct trying *t, struct gate_answer *ret)
{
	const char *why = session_fault(t);

	if (why) {
		gate_deny(ret, REASON_DELEGATION_INVALID, "delegation",
			arena_printf(t->j->a, "Delegation: %s.", why));
		return;
	}
	if (!text_eq(json_get_text(t->session, "delegate", ""), who_asks(t->j))) {
		gate_deny(ret, REASON_DELEGATION_PRINCIPAL_MISMATCH, "delegation",
			"The session was given to somebody else.");
		return;
	}
	why = scope_fault(t);
	if (why)
		gate_deny(ret, REASON_DELEGATION_SCOPE_VIOLATION, "delegation",
			arena_printf(t->j->a, "Delegation: %s.", why));
	else
		bind_text(t->j, ret, "delegation_session_id", json_get_text(t->session, "session_id", ""));
}

static void draw_once(const struct trying *t, const char *key)
{
	gate_draw(t->j,
		&(struct draw){ .kind = DRAW_NONCE,
			.key = key,
			.amount = 1,
			.limit = 1,
			.window_length_us = draw_until(checked_time(t->session, "expires_at")) });
}

/* Does this one let it pass?  Then it is used. */
static bool try_session(struct judging *j, const struct json *session, struct gate_answer *ret)
{
	struct trying t;

	begin(&t, j, session);
	judge_session(&t, ret);
	if (ret->verdict != V_ALLOW)
		return false;
	if (!is_drawn(&t, t.begun)) {
		draw_once(&t, t.nonce);
		draw_once(&t, t.begun);
	}
	return true;
}

static const struct json *session_named(const struct json *sessions, const char *id)
{
	json_each (s, sessions)
		if (text_eq(json_get_text(s, "session_id", ""), id))
			return s;
	return NULL;
}

/* Of several that were given to who asks one is enough; when none is, the first says why. */
static void try_own(struct judging *j, const struct delegation_facts *f, struct gate_answer *ret)
{
	struct gate_answer first = { .verdict = V_ALLOW }, x;

	json_each (s, f->sessions) {
		if (!text_eq(json_get_text(s, "delegate", ""), who_asks(j)))
			continue;
		x = (struct gate_answer){ .verdict = V_ALLOW, .is_active = true };
		if (try_session(j, s, &x)) {
			*ret = x;
			return;
		}
		if (first.verdict == V_ALLOW)
			first = x;
	}
	if (first.verdict != V_ALLOW)
		*ret = first;
	else
		gate_deny(ret, REASON_DELEGATION_INVALID, "delegation",
			"Delegation: nobody has given anything to who asks.");
}

/* What a tool starts is the tool's matter: the session lists tools. */
void gate_delegation(struct judging *j, struct gate_answer *ret)
{
	const struct delegation_facts *f = j->facts->delegation;

	if (!f)
		return;
	ret->is_active = true;
	if (j->ask->is_tool_beside)
		return;
	if (f->named)
		(void)try_session(j, session_named(f->sessions, f->named), ret);
	else
		try_own(j, f, ret);
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

/* ---- the section of a policy ---- */

/* What the section says its delegator has; false: nothing. */
static bool delegator_of(const struct json *section, const char *principal, struct delegator *ret)
{
	json_each (d, json_get(section, "delegators")) {
		if (!text_eq(json_get_text(d, "principal", ""), principal))
			continue;
		*ret = (struct delegator){ .principal = principal,
			.tools = json_get(d, "tools"),
			.capabilities = json_get(d, "capabilities"),
			.risk_ceiling = json_get_text(d, "risk_ceiling", NULL),
			.expires_us = json_get(d, "expires_at") ? checked_time(d, "expires_at") : 0 };
		return true;
	}
	return false;
}

static int check_session(struct arena *a, const struct json *section, const struct json *s, struct err *e)
{
	struct delegator from;

	if (authority_document(a, "delegation-session", s, e))
		return e->rc;
	const char *principal = json_get_text(s, "delegator", "");
	if (!delegator_of(section, principal, &from))
		return err_set(e, E_INPUT, "DELEGATION_DOCUMENT",
			"its delegator '%s' is none of \"delegators\"", principal);
	return delegation_mint(a, s, &from, checked_time(s, "created_at"), e);
}

int delegation_section(struct arena *a, const struct json *section, struct err *e)
{
	const struct json *sessions = json_get(section, "sessions");

	json_each (s, sessions) {
		const char *id = json_get_text(s, "session_id", "");
		struct err why = { 0 };
		if (session_named(sessions, id) != s)
			return err_set(e, E_INPUT, "POLICY_DOCUMENT",
				"policy: section \"delegation\" has two sessions with the id '%s'", id);
		if (check_session(a, section, s, &why))
			return err_set(e, E_INPUT, "POLICY_DOCUMENT",
				"policy: section \"delegation\", session '%s': %s", id, why.text);
	}
	return OK;
}
