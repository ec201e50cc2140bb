/* approvals.c — questions that wait for a person, and their answers.
 *
 * A ceremony is a request of the kernel (docs/formats/approvals.md): it comes from an ESCALATE, is bound to who asked, to the exact input and to
 * its session, and a yes is used up by the next such call, on record.  Who answers is who the key belongs to, never who asked; what takes
 * several people, or a registered key, is answered with those ('helm approval approve --key'). */
#include "base/text.h"
#include "kernel/approval/approval.h"
#include "kernel/posture.h"
#include "serve/http/http.h"

#include <string.h>

/* ---- as documents ---- */

static const char *state_of(struct call *c, const struct json *entry, const struct json *doc)
{
	int64_t now_us = c->server->sys->now_us(c->server->sys);
	const char *state = request_state(entry, now_us), *grant = json_get_text(entry, "grant_id", NULL);
	const struct json *given = grant ? json_get(json_get(doc, "grants"), grant) : NULL;

	if (grant && !given && text_is_id(grant))
		given = approvals_find_settled(c->server->sys, c->a, c->server->ws, true, grant);
	if (given && text_eq(grant_state(given, now_us), "revoked"))
		return "revoked";
	return text_eq(state, "answered in the client") ? "approved" : state;
}

/* Everything but its own hash. */
static struct json *ceremony(struct call *c, const struct json *entry, const struct json *doc)
{
	const struct json *q = json_get(entry, "request");
	struct json *o = json_new(c->a, JSON_OBJECT), *approvers = json_new(c->a, JSON_ARRAY);
	const char *created = json_get_text(q, "created_at", "");
	int64_t quorum = json_get_int(q, "approvers", 1);

	if (json_get_text(entry, "responder", NULL))
		json_pushs(c->a, approvers, json_get_text(entry, "responder", ""));
	json_sets(c->a, o, "approval_id", json_get_text(q, "approval_id", ""));
	json_sets(c->a, o, "subject", json_get_text(q, "preview", ""));
	json_sets(c->a, o, "action", json_get_text(q, "pending_action", ""));
	json_sets(c->a, o, "args_sha256", json_get_text(q, "args_sha256", ""));
	json_sets(c->a, o, "state", state_of(c, entry, doc));
	json_sets(c->a, o, "requested_by", json_get_text(q, "principal", ""));
	json_set(c->a, o, "approvers", approvers);
	json_seti(c->a, o, "quorum", quorum > 1 ? quorum : 1);
	json_sets(c->a, o, "timelock_until", created);
	json_sets(c->a, o, "expires_at", json_get_text(q, "expires_at", ""));
	json_setb(c->a, o, "break_glass", false);
	json_sets(c->a, o, "reason", json_get_text(q, "risk_reason", ""));
	json_sets(c->a, o, "receipt_id", json_get_text(json_get(entry, "receipt"), "receipt_id", ""));
	json_sets(c->a, o, "created_at", created);
	json_sets(c->a, o, "updated_at", json_get_text(entry, "resolved_at", created));
	json_sets(c->a, o, "ceremony_hash", json_sha256(c->a, o));
	return o;
}

/* What another tenant asked is nobody else's; what was asked by a run or a hook is the installation's. */
static bool is_mine(struct call *c, const struct json *entry)
{
	const char *tenant = json_get_text(
		json_get(json_get(entry, "receipt"), "metadata"), "tenant", auth_home_tenant(c->server));

	return text_eq(tenant, c->who.tenant);
}

enum { LIST_USUAL = 200, LIST_MOST = 1000, OFFSET_MOST = 10000 };

/* What waits, and unless only that is asked for, the newest that are settled. */
static int load_list(
	struct call *c, bool only_waiting, int64_t most, struct json **ret, bool *ret_more, struct err *e)
{
	struct sys *s = c->server->sys;
	int rc = approvals_load(s, c->a, c->server->ws, ret, e);

	*ret_more = false;
	if (rc == OK && most > LIST_USUAL)
		rc = approvals_add_waiting(s, c->a, c->server->ws, SIZE_MAX, *ret, e);
	if (rc || only_waiting)
		return rc;
	return approvals_add_settled(s, c->a, c->server->ws, (size_t)most, *ret, ret_more, e);
}

/* A page of them, `offset` counted from the newest; the oldest of a page comes first.  The answer is an array, so its headers say how many there
 * are.  X-Total-Count is there when that is known: of what waits always. */
static int list(struct call *c, struct err *e)
{
	struct json *doc, *all = json_new(c->a, JSON_ARRAY), *out = json_new(c->a, JSON_ARRAY);
	const char *state = call_query(c, "state");
	bool is_more, only_waiting = state && text_eq(state, "pending");
	int64_t limit, offset, total;
	int rc = call_query_int(c, "limit", LIST_USUAL, 1, LIST_MOST, &limit, e);

	if (rc == OK)
		rc = call_query_int(c, "offset", 0, 0, OFFSET_MOST, &offset, e);
	if (rc == OK)
		rc = load_list(c, only_waiting, limit + offset, &doc, &is_more, e);
	if (rc)
		return rc;
	json_each_member (m, json_get(doc, "requests")) {
		if (!is_mine(c, m->value))
			continue;
		struct json *o = ceremony(c, m->value, doc);
		if (!state || text_eq(state, json_get_text(o, "state", "")))
			json_push(c->a, all, o);
	}
	total = all->n;
	if (!state || only_waiting)
		total += (int64_t)approvals_moved(doc, c->server->sys->now_us(c->server->sys), c->who.tenant,
			auth_home_tenant(c->server));
	int64_t end = (int64_t)all->n - offset, from = end > limit ? end - limit : 0;
	for (int64_t i = from; i < end; i++)
		json_push(c->a, out, all->items[i]);
	if (!is_more)
		call_send_header(c, "X-Total-Count", arena_printf(c->a, "%lld", (long long)total));
	call_send_header(c, "X-Has-More", is_more || offset + out->n < total ? "true" : "false");
	call_answer(c, 200, out);
	return OK;
}

/* The request as the kernel proves it to be what was asked, with everything else that is kept. */
static int find(struct call *c, struct json **ret_entry, struct json **ret_doc, struct err *e)
{
	int rc = approvals_load(c->server->sys, c->a, c->server->ws, ret_doc, e);

	if (rc == OK)
		rc = approval_get(c->k, c->a, c->args[0], ret_entry, e);
	if (rc == E_MISSING || (rc == OK && !is_mine(c, *ret_entry)))
		return call_refuse(c, e, 404, "NOT_FOUND", "there is no such approval");
	return rc;
}

static int one(struct call *c, struct err *e)
{
	struct json *entry, *doc;
	int rc = find(c, &entry, &doc, e);

	if (rc == OK)
		call_answer(c, 200, ceremony(c, entry, doc));
	return rc;
}

/* ---- asking ---- */

static int read_time(struct call *c, const char *name, int64_t *ret, struct err *e)
{
	const char *text = json_get_text(c->body, name, "");

	if (!text_parse_time(text, strlen(text), ret))
		return call_refuse(c, e, 400, "BAD_REQUEST", "%s must be there, as a time of RFC 3339", name);
	return OK;
}

/* A question is made by asking the kernel, which alone knows whether one is needed. */
static int create(struct call *c, struct err *e)
{
	const char *action = json_get_text(c->body, "action", ""),
		   *by = json_get_text(c->body, "requested_by", NULL);
	int64_t timelock_us = 0, expires_us = 0;
	struct handling h = { .a = c->a };
	int rc = read_time(c, "timelock_until", &timelock_us, e);

	if (rc == OK)
		rc = read_time(c, "expires_at", &expires_us, e);
	if (rc)
		return rc;
	if (!*action)
		return call_refuse(c, e, 400, "BAD_REQUEST", "action must be there");
	if (by && !text_eq(by, c->who.principal))
		return call_refuse(
			c, e, 403, "FORBIDDEN", "requested_by must be who asks: %s", c->who.principal);
	if (timelock_us > c->server->sys->now_us(c->server->sys))
		return call_refuse(c, e, 501, "NOT_OFFERED",
			"a question waits for nothing but its answer; a policy can require a hold");
	rc = decide_tool(c,
		&(struct tool_question){ .tool = action,
			.session = "approvals",
			.args = json_get(c->body, "args"),
			.context = call_context(c, json_get(c->body, "context")) },
		&h, e);
	if (rc)
		return rc;
	if (h.verdict != V_ESCALATE || !h.is_question_kept)
		return call_refuse(c, e, 409,
			h.verdict == V_ALLOW ? "CONFLICT" : reason_get(h.decision.reason_code)->code,
			h.verdict == V_ALLOW ? "nothing has to be approved: it is allowed (%s)"
					     : "it cannot be approved: it is denied (%s)",
			json_get_text(h.decision_receipt, "receipt_id", ""));
	c->args[0] = json_get_text(h.question, "approval_id", "");
	struct json *entry, *doc;
	rc = find(c, &entry, &doc, e);
	if (rc == OK)
		call_answer(c, 201, ceremony(c, entry, doc));
	return rc;
}

/* ---- answering ---- */

static int may_answer(struct call *c, const struct json *entry, struct err *e)
{
	const struct json *word = posture_of(c->server->sys, c->k->ws)->word;
	struct err why = { 0 };

	const struct json *about = json_get(json_get(entry, "receipt"), "metadata");
	if (text_eq(json_get_text(json_get(entry, "request"), "principal", ""), c->who.principal) ||
		text_eq(json_get_text(about, "asked_by", ""), c->who.principal))
		return call_refuse(c, e, 403, "FORBIDDEN", "who asked does not answer");
	if (json_get_bool(word, "require_key", false))
		return call_refuse(c, e, 403, "FORBIDDEN",
			"this place takes answers only with a registered approver's key: helm approval approve --key");
	if (person_may_loosen(c->server->sys, c->a, c->k->ws, &why))
		return call_refuse(c, e, 403, "SYSTEM_FROZEN", "%s", why.text);
	return OK;
}

static const struct {
	const char *verb, *from;
} moves[] = { { "approve", "pending" }, { "deny", "pending" }, { "revoke", "approved" } };

static int check_move(struct call *c, const struct json *now, struct err *e)
{
	const char *want = json_get_text(c->body, "expected_ceremony_hash", NULL);
	const char *state = json_get_text(now, "state", ""), *from = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(moves); i++)
		if (text_eq(moves[i].verb, c->args[1]))
			from = moves[i].from;
	if (!from)
		return call_refuse(
			c, e, 404, "NOT_FOUND", "an approval is answered with approve, deny or revoke");
	if (!want || !*want)
		return call_refuse(
			c, e, 428, "PRECONDITION_REQUIRED", "send expected_ceremony_hash of what you saw");
	if (!text_eq(want, json_get_text(now, "ceremony_hash", "")))
		return call_refuse(c, e, 409, "CONFLICT", "the approval has changed since; it is %s", state);
	return text_eq(from, state)
		? OK
		: call_refuse(c, e, 409, "CONFLICT", "an approval that is %s cannot be answered so", state);
}

static int move(struct call *c, const struct json *entry, struct err *e)
{
	const struct person who = { .name = arena_printf(c->a, "%s by key %s", c->who.principal,
					    c->who.key_id ? c->who.key_id : "of the environment") };
	const char *reason = json_get_text(c->body, "reason", NULL);
	const struct json *q = json_get(entry, "request");
	const char *end = json_get_text(q, "expires_at", "");
	struct approval_terms terms = { .reach = REACH_EXACT, .is_once = true };
	struct json *receipt;

	if (text_eq(c->args[1], "deny"))
		return approval_deny(c->k, c->a, c->args[0], reason, &who, &receipt, e);
	if (text_eq(c->args[1], "revoke"))
		return grant_revoke(
			c->k, c->a, json_get_text(entry, "grant_id", ""), reason, &who, &receipt, e);
	if (!text_parse_time(end, strlen(end), &terms.expires_us))
		return err_set(e, E_CORRUPT, "APPROVAL_TIME", "the request has no end");
	return approval_approve(c->k, c->a, c->args[0], &terms, &who, &receipt, e);
}

static int answer(struct call *c, struct err *e)
{
	struct json *entry, *doc;
	int rc = find(c, &entry, &doc, e);

	if (rc == OK)
		rc = check_move(c, ceremony(c, entry, doc), e);
	if (rc == OK && !text_eq(c->args[1], "deny"))
		rc = may_answer(c, entry, e);
	if (rc)
		return rc;
	call_hold(c);
	rc = move(c, entry, e);
	if (rc == E_INPUT && text_eq(e->code, "APPROVAL_SETTLED"))
		return call_refuse(c, e, 409, "CONFLICT", "somebody else has answered meanwhile");
	if (rc == OK)
		rc = find(c, &entry, &doc, e);
	if (rc == OK)
		call_answer(c, 200, ceremony(c, entry, doc));
	return rc;
}

const struct route http_approvals_routes[] = {
	{ "GET", "/api/v1/approvals", AUTH_ADMIN, SCOPE_APPROVE, RATE_ADMIN, 0, list,
		"questions, and their answers", NULL, "[]ApprovalCeremony" },
	{ "POST", "/api/v1/approvals", AUTH_ADMIN, SCOPE_APPROVE, RATE_ADMIN, TAKES_JSON | IS_ONCE, create,
		"ask for an approval beforehand", "ApprovalCreate", "ApprovalCeremony" },
	{ "GET", "/api/v1/approvals/{id}", AUTH_ADMIN, SCOPE_APPROVE, RATE_ADMIN, 0, one, "one of them", NULL,
		"ApprovalCeremony" },
	{ "POST", "/api/v1/approvals/{id}/{action}", AUTH_ADMIN, SCOPE_APPROVE, RATE_ADMIN,
		TAKES_JSON | BODY_OPTIONAL | IS_ONCE, answer, "approve, deny or revoke", "ApprovalMove",
		"ApprovalCeremony" },
	{ 0 },
};
