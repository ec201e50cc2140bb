/* authority.c — the authority court over HTTP: evaluate, preflight, commit (docs/formats/authority-court.md).
 *
 * The court is stages around the kernel's answer: a stage that fails enters the kernel as a denial, so that there is one decision and one
 * receipt.  What the court believes about a tool (manifest, ceilings, estimate) comes from the file that the server was started with, never from
 * who asks.  A token is on record when it is given, and its use is a draw: the second use finds it used, whichever process is asked. */
#include "serve/http/http.h"

#include "base/hash.h"
#include "base/text.h"
#include "decide/bounds/bounds.h"
#include "decide/engine/engine.h"

#include <string.h>

enum { TOKEN_S = 300 };

struct court {
	const struct json *request, *draft;
	const char *tool;
	struct court_facts facts;
	struct json *estimate;
	struct draw preflight; /* what a passed preflight of this draft leaves */
};

static const char *text_or(const struct json *o, const char *name)
{
	return json_get_text(o, name, "");
}

static const char *epoch_of(struct call *c)
{
	return arena_printf(
		c->a, "%llu", (unsigned long long)(call_policy(c) ? ruleset_epoch(call_policy(c)) : 0));
}

/* Sums of the chain, as they are now. */
static int drawn_of(struct call *c, const struct drawn **ret, struct err *e)
{
	return recorder_drawn(&c->k->recorder, c->a, ret, e);
}

static int convene(struct call *c, const struct json *request, struct court *ret, struct err *e)
{
	const struct json *about = c->policy->authority;
	const struct json *draft = json_get(request, "tool_call_draft"), *known;
	const struct drawn *drawn;
	int64_t now = c->server->sys->now_us(c->server->sys);
	int rc = drawn_of(c, &drawn, e);

	if (rc)
		return rc;
	*ret = (struct court){ .request = request, .draft = draft, .tool = text_or(draft, "tool_id") };
	known = json_get(json_get(about, "estimates"), ret->tool);
	ret->estimate = known ? json_copy(c->a, known) : json_new(c->a, JSON_OBJECT);
	ret->preflight = (struct draw){ .kind = DRAW_NONCE,
		.key = draw_key(c->a, "preflight", c->who.principal, json_sha256(c->a, draft),
			text_or(request, "idempotency_key"), NULL),
		.amount = 1,
		.limit = 1,
		.window_length_us = draw_until(now + (int64_t)TOKEN_S * 1000000) };
	const struct drawn_entry *seen = drawn_find(drawn, DRAW_NONCE, ret->preflight.key, 0);
	json_setb(c->a, ret->estimate, "preflight",
		seen && seen->used && now - seen->last_us < (int64_t)TOKEN_S * 1000000);
	ret->facts = (struct court_facts){ .manifest = json_get(json_get(about, "manifests"), ret->tool),
		.ceilings = json_get(about, "ceilings") ? json_get(about, "ceilings")
							: json_new(c->a, JSON_OBJECT),
		.policy_epoch = epoch_of(c),
		.pipeline = V_ALLOW,
		.estimate = ret->estimate,
		.now_us = now,
		.ttl_us = (int64_t)TOKEN_S * 1000000,
		.decision_id = "",
		.token_id = "" };
	return OK;
}

/* The first stage that fails, before anybody asks the kernel; NULL: none. */
static const char *objection(struct call *c, const struct court *court)
{
	struct json *answer, *token;

	court_judge(c->a, court->request, &court->facts, &answer, &token);
	return token ? NULL : json_text(json_at(json_get(answer, "reason_codes"), 0));
}

/* Each effect through the kernel, until one is not allowed; the last decision is the one that counts. */
static int ask_kernel(
	struct call *c, const struct court *court, const char *refused, struct handling *h, struct err *e)
{
	const struct json *effects = json_get(court->request, "effects");
	size_t n = json_is(effects, JSON_ARRAY) && effects->n && !refused ? effects->n : 1;
	int rc = OK;

	for (size_t i = 0; rc == OK && i < n; i++) {
		const char *type = json_text(json_at(effects, i));
		struct json *about = json_new(c->a, JSON_OBJECT);
		json_sets(c->a, about, "authority_request", text_or(court->request, "request_id"));
		json_sets(c->a, about, "draft_sha256", json_sha256(c->a, court->draft));
		*h = (struct handling){ .a = c->a };
		rc = decide_tool(c,
			&(struct tool_question){ .tool = *court->tool ? court->tool : "unknown",
				.action = type ? type : "unknown",
				.context = call_context(c, NULL),
				.draft = court->draft,
				.about = about,
				.source = "api.authority",
				.refused = refused ? arena_printf(c->a, "court:%s", refused) : NULL,
				.why = "The authority court does not let it pass." },
			h, e);
		if (rc == OK && h->verdict != V_ALLOW)
			break;
	}
	return rc;
}

static int new_token_id(struct call *c, const char **ret, struct err *e)
{
	char *id;
	int rc = record_new_task_id(c->a, c->server->sys, &id, e);

	if (rc == OK)
		*ret = id;
	return rc;
}

/* Given when it is on record. */
static int issue(struct call *c, const struct court *court, struct json *token, struct err *e)
{
	struct json *about = json_new(c->a, JSON_OBJECT), *receipt;
	uint8_t signature[SIGN_SIZE];
	char hex[2 * SIGN_SIZE + 1];

	if (key_keeper(c->k->key))
		return call_refuse(c, e, 503, "SIGNER_KEEPS_KEY",
			"another user keeps the key, and signs receipts only: no tokens are given here");
	key_sign(c->k->key, court_token_preimage(c->a, token), signature);
	hex_encode(signature, SIGN_SIZE, hex);
	json_sets(c->a, token, "signature", hex);
	json_sets(c->a, about, "tenant", c->who.tenant);
	json_sets(c->a, about, "token_id", text_or(token, "token_id"));
	json_sets(c->a, about, "token_hash", text_or(token, "token_hash"));
	json_sets(c->a, about, "expires_at", text_or(token, "expires_at"));
	json_sets(c->a, about, "source", "api.authority");
	return call_record(c,
		&(struct draft){ .receipt_id = arena_printf(
					 c->a, "rcpt_%s_token", text_or(token, "bound_decision_id")),
			.decision_id = text_or(token, "bound_decision_id"),
			.effect_id = "helm.authority/token",
			.status = "ISSUED",
			.verdict = "ALLOW",
			.policy_hash = call_policy(c) ? ruleset_sha256(call_policy(c)) : c->k->policy_hash,
			.args_hash = text_or(token, "bound_draft_hash"),
			.output_hash = text_or(token, "token_hash"),
			.executor_id = c->who.principal,
			.type = "permit",
			.tool_name = court->tool,
			.metadata = about },
		&receipt, e);
}

static int evaluate(struct call *c, struct err *e)
{
	struct json *answer, *token;
	struct handling h;
	struct court court;
	int rc = convene(c, c->body, &court, e);

	if (rc == OK)
		rc = ask_kernel(c, &court, objection(c, &court), &h, e);
	if (rc == OK)
		rc = new_token_id(c, &court.facts.token_id, e);
	if (rc)
		return rc;
	court.facts.decision_id = h.decision_id;
	court.facts.pipeline = h.verdict;
	court.facts.pipeline_code = h.decision.reason_code;
	court_judge(c->a, c->body, &court.facts, &answer, &token);
	if (token && (rc = issue(c, &court, token, e)))
		return rc;
	/* The whole token beside what the decision shows of it: without it nothing can be committed. */
	struct json *doc = json_new(c->a, JSON_OBJECT);
	json_set(c->a, doc, "decision", answer);
	if (token)
		json_set(c->a, doc, "token", token);
	json_sets(c->a, doc, "receipt_id", text_or(h.decision_receipt, "receipt_id"));
	if (h.question && h.is_question_kept)
		json_sets(c->a, doc, "approval_id", text_or(h.question, "approval_id"));
	call_answer(c, 200, doc);
	return OK;
}

/* ---- preflight ---- */

/* What the manifest wants to be looked at, and the installation has not said to hold; NULL: all of it holds. */
static const char *unchecked(const struct court *court)
{
	json_each (name, json_get(court->facts.manifest, "required_preflight_checks"))
		if (json_text(name) &&
			!json_get_bool(json_get(court->estimate, "checks"), json_text(name), false))
			return json_text(name);
	return NULL;
}

/* Everything but the kernel's answer, before anything is asked: on record, and good for the evaluation that follows. */
static int preflight(struct call *c, struct err *e)
{
	struct json *doc = json_new(c->a, JSON_OBJECT), *about = json_new(c->a, JSON_OBJECT), *receipt;
	struct court court;
	char *id;
	int rc = convene(c, c->body, &court, e);

	if (rc == OK)
		rc = record_new_id(c->a, c->server->sys, "dec-", &id, e);
	if (rc)
		return rc;
	bool was_passed = json_get_bool(court.estimate, "preflight", false);
	json_setb(c->a, court.estimate, "preflight", true);
	const char *code = objection(c, &court), *missing = code ? NULL : unchecked(&court);
	bool is_passed = !code && !missing;
	json_sets(c->a, about, "tenant", c->who.tenant);
	json_sets(c->a, about, "draft_sha256", json_sha256(c->a, court.draft));
	json_sets(c->a, about, "source", "api.authority");
	struct draft d = { .decision_id = id,
		.effect_id = "helm.authority/preflight",
		.status = is_passed ? "PASSED" : "FAILED",
		.policy_hash = c->k->policy_hash,
		.args_hash = json_sha256(c->a, court.draft),
		.output_hash = json_sha256(c->a, court.estimate),
		.executor_id = c->who.principal,
		.type = "preflight",
		.tool_name = court.tool,
		.metadata = about,
		.draws = &court.preflight,
		.draw_count = is_passed && !was_passed };
	rc = call_record(c, &d, &receipt, e);
	if (rc && text_eq(e->code, "DRAW_REFUSED"))
		return call_refuse(c, e, 409, "PREFLIGHT_USED",
			"this draft had its preflight; ask with another idempotency_key");
	if (rc)
		return rc;
	json_setb(c->a, doc, "performed", true);
	json_setb(c->a, doc, "passed", is_passed);
	json_sets(c->a, doc, "reason_code", code ? code : missing ? "DENY_PREFLIGHT_FAIL" : "");
	if (missing)
		json_sets(c->a, doc, "missing_check", missing);
	json_set(c->a, doc, "effect_estimate", court.estimate);
	json_sets(c->a, doc, "simulation_hash", json_sha256(c->a, court.estimate));
	json_sets(c->a, doc, "receipt_id", text_or(receipt, "receipt_id"));
	call_answer(c, 200, doc);
	return OK;
}

/* ---- commit ---- */

/* Was it given to who brings it?  The receipt of the giving says to whom. */
static bool is_holder(struct call *c, const struct json *token)
{
	struct json *given;
	struct err e = { 0 };

	return receipts_find(c, arena_printf(c->a, "rcpt_%s_token", text_or(token, "bound_decision_id")),
		       &given, &e) == OK &&
		text_eq(text_or(given, "output_hash"), text_or(token, "token_hash")) &&
		text_eq(text_or(json_get(given, "metadata"), "tenant"), c->who.tenant) &&
		text_eq(text_or(given, "executor_id"), c->who.principal);
}

/* {token, tool_call_draft, idempotency_key}: the token is used up, and whoever has this answer may act, once. */
static int commit(struct call *c, struct err *e)
{
	const struct json *token = json_get(c->body, "token"), *draft = json_get(c->body, "tool_call_draft");
	const struct json *ceilings = json_get(c->policy->authority, "ceilings");
	struct json *doc = json_new(c->a, JSON_OBJECT), *about = json_new(c->a, JSON_OBJECT), *receipt;
	struct decision stopped = { 0 };
	const struct drawn *drawn;
	const char *profile;
	struct draw used;
	int rc = workspace_default_profile(c->server->sys, c->a, c->k->ws, &profile, e);

	if (rc == OK)
		rc = drawn_of(c, &drawn, e);
	if (rc)
		return rc;
	if (kernel_stops(c->k, c->a, c->who.principal, profile, &stopped))
		return call_refuse(c, e, 403, reason_get(stopped.reason_code)->code, "%s",
			stopped.summary ? stopped.summary : "everything is stopped");
	const char *why = court_commit(c->a, token, draft, ceilings ? ceilings : json_new(c->a, JSON_OBJECT),
		epoch_of(c), text_or(c->body, "idempotency_key"), key_public(c->k->key),
		c->server->sys->now_us(c->server->sys), drawn, &used);
	if (why)
		return call_refuse(c, e, 409, why, "this token authorises nothing: %s", why);
	const char *id = text_or(token, "bound_decision_id");
	if (!is_holder(c, token))
		return call_refuse(c, e, 409, "TOKEN_HOLDER", "this token was given to somebody else");
	json_sets(c->a, about, "tenant", c->who.tenant);
	json_sets(c->a, about, "token_id", text_or(token, "token_id"));
	json_sets(c->a, about, "token_hash", text_or(token, "token_hash"));
	json_sets(c->a, about, "source", "api.authority");
	rc = call_record(c,
		&(struct draft){ .receipt_id = arena_printf(c->a, "rcpt_%s_commit", id),
			.decision_id = id,
			.effect_id = "helm.authority/commit",
			.status = "COMMITTED",
			.verdict = "ALLOW",
			.policy_hash = call_policy(c) ? ruleset_sha256(call_policy(c)) : c->k->policy_hash,
			.args_hash = text_or(token, "bound_draft_hash"),
			.output_hash = text_or(token, "token_hash"),
			.executor_id = c->who.principal,
			.type = "commit",
			.tool_name = text_or(draft, "tool_id"),
			.metadata = about,
			.draws = &used,
			.draw_count = 1 },
		&receipt, e);
	if (rc && text_eq(e->code, "DRAW_REFUSED"))
		return call_refuse(c, e, 409, "TOKEN_USED", "this token authorises nothing: TOKEN_USED");
	if (rc)
		return rc;
	json_setb(c->a, doc, "committed", true);
	json_sets(c->a, doc, "decision_id", id);
	json_sets(c->a, doc, "receipt_id", text_or(receipt, "receipt_id"));
	json_sets(c->a, doc, "committed_at", text_or(receipt, "timestamp"));
	call_answer(c, 200, doc);
	return OK;
}

const struct route http_authority_routes[] = {
	{ "POST", "/v1/authority/evaluate", AUTH_TENANT, SCOPE_EVALUATE, RATE_KERNEL, TAKES_JSON | IS_ONCE,
		evaluate, "the authority court about a draft; with ALLOW a commit token",
		"AuthorizationRequest", "AuthorizationAnswer" },
	{ "POST", "/v1/authority/preflight", AUTH_TENANT, SCOPE_EVALUATE, RATE_KERNEL, TAKES_JSON | IS_ONCE,
		preflight, "estimate and checks of a draft, before it is evaluated", "AuthorizationRequest",
		"PreflightResult" },
	{ "POST", "/v1/authority/commit", AUTH_TENANT, SCOPE_EVALUATE, RATE_KERNEL, TAKES_JSON, commit,
		"use up a commit token", "CommitRequest", "CommitResult" },
	{ 0 },
};
