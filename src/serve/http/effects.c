/* effects.c — effects of a gateway: submitted, decided, completed, looked up (docs/formats/serve-effects.md).
 *
 * There is no table of effects: what became of one is read from the chain.  A submission that is answered with ALLOW or DENY uses up its key
 * in the same write as its receipt, so that the same key is answered once, also by two servers; what is asked of a person uses up nothing,
 * because it is submitted again when the person has answered.  An intent is that ALLOW in other words; its completion uses it up. */
#include "serve/http/http.h"

#include "audit/audit.h"
#include "base/hash.h"
#include "base/text.h"
#include "decide/bounds/bounds.h"
#include "kernel/policy/policy.h"
#include "proof/preimage.h"

#include <string.h>

#define INTENT_DOMAIN "HELM/EffectIntent/v1\n"
enum { INTENT_S = 300, KEY_S = 24 * 3600 };

/* ---- what is submitted ---- */

struct submitted {
	const char *type, *id, *tool, *principal, *session;
	const struct json *params;
	struct json *context;
	const char *key; /* digest of the idempotency key, with whose it is */
	bool has_key; /* without an id and a header it stands for itself */
	struct draw draw; /* of that key */
};

static const char *text_or(const struct json *o, const char *name)
{
	return json_get_text(o, name, "");
}

static const char *tool_of(const char *type, const struct json *params)
{
	const char *named = json_get_text(params, "tool_name", json_get_text(params, "tool", ""));

	return *named ? named : *type ? type : "unknown";
}

/* Of one caller: nobody else's key is the same. */
static const char *key_of(struct call *c, const char *key)
{
	const char *text = draw_key(c->a, c->who.tenant, c->who.principal, key, NULL);

	return sha256_hex(c->a, text, strlen(text));
}

/* An effect or a principal of the wrong kind is none: it is denied, on record, and not merely refused. */
static int read_submitted(struct call *c, struct submitted *ret, struct err *e)
{
	const struct json *effect = json_get(c->body, "effect"), *context = json_get(c->body, "context");
	const char *key = call_header(c, "Idempotency-Key");

	if (json_get(c->body, "harness") && !c->server->o.is_conformance)
		return call_refuse(c, e, 403, "FORBIDDEN",
			"only a server that was started with --conformance lets a harness describe the world");
	if (key && (!*key || strlen(key) > 255))
		return call_refuse(c, e, 400, "BAD_REQUEST", "Idempotency-Key has 1 to 255 characters");
	*ret = (struct submitted){ .type = text_or(effect, "effect_type"),
		.id = text_or(effect, "effect_id"),
		.params = json_get(effect, "params"),
		.session = json_get_text(context, "session_id", NULL) };
	ret->tool = tool_of(ret->type, ret->params);
	ret->context = call_context(c, context);
	key = key ? key : ret->id;
	ret->has_key = *key != '\0';
	ret->key = key_of(c, key);
	int64_t now = c->server->sys->now_us(c->server->sys);
	ret->draw = (struct draw){ .kind = DRAW_NONCE,
		.key = draw_key(c->a, "effect", ret->key, NULL),
		.amount = 1,
		.limit = 1,
		.window_length_us = draw_until(now + (int64_t)KEY_S * 1000000) };
	int rc = call_context_add(
		c, ret->context, "sandbox_grant_hash", json_get(c->body, "sandbox_grant_hash"), e);
	if (rc == OK)
		rc = call_context_add(c, ret->context, "code_hash", json_get(c->body, "code_hash"), e);
	return rc ? rc : call_principal(c, text_or(c->body, "principal"), &ret->principal, e);
}

/* ---- what is on record ---- */

struct effect_record {
	const struct json *decision, *outcome; /* or NULL */
};

struct effect_search {
	struct call *c;
	const char *member, *value; /* of the metadata */
	const char *decision; /* its id; NULL: the newest */
	struct effect_record *found;
};

static int look(
	void *arg, const char *file, off_t at, struct bytes text, const struct json *receipt, struct err *e)
{
	struct effect_search *q = arg;
	const struct json *about = json_get(receipt, "metadata");
	const char *type = text_or(receipt, "type");

	(void)file;
	(void)at;
	(void)text;
	(void)e;
	if (!text_eq(text_or(about, q->member), q->value) ||
		!text_eq(text_or(about, "tenant"), q->c->who.tenant) ||
		(q->decision && !text_eq(text_or(receipt, "decision_id"), q->decision)))
		return 0;
	if (text_eq(type, "outcome") && !q->found->outcome)
		q->found->outcome = json_copy(q->c->a, receipt);
	if (!text_eq(type, "decision"))
		return 0;
	q->found->decision = json_copy(q->c->a, receipt);
	/* An outcome of an earlier submission of the same id is not that of this one. */
	if (q->found->outcome &&
		!text_eq(text_or(q->found->outcome, "decision_id"), text_or(receipt, "decision_id")))
		q->found->outcome = NULL;
	return 1;
}

/* The decision with that id about it, or the newest, and its outcome.  404 when there is none. */
static int find_decided(struct call *c, const char *member, const char *value, const char *decision,
	struct effect_record *ret, struct err *e)
{
	struct effect_search q = { c, member, value, decision, ret };
	const struct receipts_wanted want = { .text = text_is_plain(value) ? value : NULL };

	*ret = (struct effect_record){ 0 };
	int rc = receipts_back(c->server->sys, c->server->ws->state_fd, &want, look, &q, e);
	if (rc == OK && !ret->decision)
		rc = call_refuse(c, e, 404, "NOT_FOUND", "there is no such effect on record");
	return rc;
}

static int find_effect(
	struct call *c, const char *member, const char *value, struct effect_record *ret, struct err *e)
{
	return find_decided(c, member, value, NULL, ret, e);
}

static const char *state_of(const struct effect_record *r)
{
	const char *verdict = text_or(r->decision, "verdict");

	if (r->outcome)
		return text_eq(text_or(r->outcome, "status"), "COMPLETED") ? "COMPLETED" : "FAILED";
	return text_eq(verdict, "ALLOW") ? "APPROVED" : text_eq(verdict, "ESCALATE") ? "ESCALATED" : "DENIED";
}

/* ---- as the API shows it ---- */

static const char *base64_of_hex(struct arena *a, const char *hex)
{
	size_t n = strlen(hex) / 2;
	uint8_t *raw = arena_alloc(a, n + 1);

	return hex_decode(hex, 2 * n, raw, n, true) ? base64_encode(a, raw, n, BASE64_STD, true) : "";
}

/* The receipt in the shape of this API; the whole one is at /api/v1/receipts/{id}. */
static struct json *receipt_view(struct call *c, const struct json *receipt)
{
	struct json *doc = json_new(c->a, JSON_OBJECT), *more = json_new(c->a, JSON_OBJECT);
	const struct json *about = json_get(receipt, "metadata");
	const char *mark = receipt_id_mark(text_or(receipt, "receipt_id"));
	const char *const same[][2] = { { "decision_id", "decision_id" }, { "verdict", "verdict" },
		{ "principal", "executor_id" }, { "tool", "tool_name" }, { "action", "effect_id" },
		{ "timestamp", "timestamp" }, { "payload_hash", "args_hash" },
		{ "signer_key_id", "key_id" } };
	uint8_t hash[SHA256_SIZE];
	char hex[SHA256_HEX];
	struct err e = { 0 };

	json_sets(c->a, doc, "receipt_version", "1.0");
	json_sets(c->a, doc, "receipt_id", mark ? mark : text_or(receipt, "receipt_id"));
	for (size_t i = 0; i < ARRAY_SIZE(same); i++)
		json_sets(c->a, doc, same[i][0], text_or(receipt, same[i][1]));
	json_sets(c->a, doc, "effect_id", text_or(about, "effect_id"));
	json_seti(c->a, doc, "lamport", json_get_int(receipt, "lamport_clock", 0));
	json_sets(c->a, doc, "signature", base64_of_hex(c->a, text_or(receipt, "signature")));
	if (*text_or(receipt, "reason_code"))
		json_sets(c->a, doc, "reason_code", text_or(receipt, "reason_code"));
	if (receipt_chain_hash(c->a, receipt, hash, &e) == OK) {
		hex_encode(hash, SHA256_SIZE, hex);
		json_sets(c->a, doc, "proofgraph_node", hex);
	}
	json_sets(c->a, more, "policy_hash", text_or(receipt, "policy_hash"));
	json_sets(c->a, more, "receipt_id", text_or(receipt, "receipt_id"));
	if (*text_or(about, "active_packs"))
		json_sets(c->a, more, "active_packs", text_or(about, "active_packs"));
	json_set(c->a, doc, "metadata", more);
	return doc;
}

static int64_t time_of(const struct json *receipt)
{
	const char *text = text_or(receipt, "timestamp");
	int64_t us = 0;

	(void)text_parse_time(text, strlen(text), &us);
	return us;
}

/* What an ALLOW is good for.  Signed where the key is here; where another user keeps it, the signed receipt alone proves it. */
static struct json *intent_of(struct call *c, const struct json *decision)
{
	struct json *doc = json_new(c->a, JSON_OBJECT);
	const char *id = text_or(decision, "decision_id");
	int64_t at = time_of(decision);
	uint8_t signature[SIGN_SIZE];
	char hex[2 * SIGN_SIZE + 1], key[KEY_ID];
	struct buf text;

	json_sets(c->a, doc, "intent_id", arena_printf(c->a, "intent-%s", id));
	json_sets(c->a, doc, "decision_id", id);
	json_sets(c->a, doc, "effect_id", text_or(json_get(decision, "metadata"), "effect_id"));
	json_sets(c->a, doc, "principal", text_or(decision, "executor_id"));
	json_sets(c->a, doc, "issued_at", text_time_z(c->a, at));
	json_sets(c->a, doc, "expires_at", text_time_z(c->a, at + (int64_t)INTENT_S * 1000000));
	key_id(key_public(c->k->key), key);
	json_sets(c->a, doc, "signer_key_id", key);
	if (key_keeper(c->k->key))
		return doc;
	buf_init(&text, c->a);
	buf_adds(&text, INTENT_DOMAIN);
	json_canonical(&text, doc);
	key_sign(c->k->key, buf_bytes(&text), signature);
	hex_encode(signature, SIGN_SIZE, hex);
	json_sets(c->a, doc, "signature", hex);
	return doc;
}

static void tell(struct call *c, const struct json *decision, const char *reason)
{
	struct json *doc = json_new(c->a, JSON_OBJECT);
	const char *verdict = text_or(decision, "verdict"), *code = text_or(decision, "reason_code");
	const struct reason *known = reason_find(code);

	json_sets(c->a, doc, "verdict", verdict);
	if (*code)
		json_sets(c->a, doc, "reason_code", code);
	if (*code)
		json_sets(c->a, doc, "reason", reason ? reason : known ? known->meaning : "");
	json_set(c->a, doc, "receipt", receipt_view(c, decision));
	if (text_eq(verdict, "ALLOW"))
		json_set(c->a, doc, "intent", intent_of(c, decision));
	if (*text_or(json_get(decision, "metadata"), "approval_id"))
		json_sets(c->a, doc, "approval_id", text_or(json_get(decision, "metadata"), "approval_id"));
	call_answer(c, 200, doc);
}

/* ---- submit ---- */

/* The key was used: the first answer, when it is about the same; a key does not stand for two effects. */
static int tell_again(struct call *c, const struct submitted *s, const char *request, struct err *e)
{
	struct effect_record r;
	int rc = find_effect(c, "effect_key", s->key, &r, e);

	if (rc)
		return rc;
	if (!text_eq(text_or(json_get(r.decision, "metadata"), "effect_sha256"), request))
		return call_refuse(c, e, 409, "IDEMPOTENCY_CONFLICT",
			"this key was used for another effect; give each its own effect_id or Idempotency-Key");
	/* A yes that was given before a freeze is none now. */
	struct decision stopped = { 0 };
	const char *profile;
	rc = workspace_default_profile(c->server->sys, c->a, c->k->ws, &profile, e);
	if (rc)
		return rc;
	if (text_eq(text_or(r.decision, "verdict"), "ALLOW") &&
		kernel_stops(c->k, c->a, s->principal, profile, &stopped))
		return call_refuse(c, e, 403, reason_get(stopped.reason_code)->code, "%s",
			stopped.summary ? stopped.summary : "everything is stopped");
	call_send_header(c, "Idempotency-Replayed", "true");
	tell(c, r.decision, NULL);
	return OK;
}

static bool was_answered(struct call *c, const struct submitted *s)
{
	const struct drawn *drawn;
	struct err e = { 0 };

	return s->has_key && recorder_drawn(&c->k->recorder, c->a, &drawn, &e) == OK &&
		drawn_find(drawn, s->draw.kind, s->draw.key, 0);
}

static struct json *about_of(struct call *c, const struct submitted *s, const char *request)
{
	struct json *about = json_new(c->a, JSON_OBJECT);

	json_sets(c->a, about, "effect_id", s->id);
	json_sets(c->a, about, "effect_key", s->key);
	json_sets(c->a, about, "effect_sha256", request);
	return about;
}

/* A harness asks what would be answered in a world that it describes.  Nothing of it is on record, and its intent completes nothing. */
static int submit_to_world(struct call *c, struct err *e)
{
	struct json *vector = json_copy(c->a, json_get(c->body, "harness")),
		    *input = json_copy(c->a, c->body);
	struct json *answer;

	if (!json_is(vector, JSON_OBJECT))
		return call_refuse(c, e, 400, "BAD_REQUEST", "harness is no object");
	(void)json_remove(input, "harness");
	json_set(c->a, vector, "input", input);
	(void)call_hold(c);
	int rc = conform_in_world(c->server->sys, c->a, vector, &answer, e);
	if (rc)
		return rc;
	json_setb(c->a, answer, "harness", true);
	call_answer(c, 200, answer);
	return OK;
}

static int submit(struct call *c, struct err *e)
{
	struct handling h = { .a = c->a };
	struct submitted s;
	int rc = read_submitted(c, &s, e);

	if (rc)
		return rc;
	if (json_get(c->body, "harness"))
		return submit_to_world(c, e);
	struct json *whole = json_copy(c->a, c->body);
	json_sets(c->a, whole, "principal", s.principal);
	const char *request = json_sha256(c->a, whole);
	if (was_answered(c, &s))
		return tell_again(c, &s, request, e);
	rc = decide_tool(c,
		&(struct tool_question){ .tool = s.tool,
			.action = s.type,
			.session = s.session,
			.effect_id = s.id,
			.args = s.params,
			.context = s.context,
			.about = about_of(c, &s, request),
			.source = "api.effects",
			.principal = s.principal,
			.budget_id = json_get_text(json_get(c->body, "effect"), "budget_id", NULL),
			.draws = &s.draw,
			.draw_count = s.has_key },
		&h, e);
	if (rc && text_eq(e->code, "DRAW_REFUSED"))
		return tell_again(c, &s, request, e);
	if (rc == OK)
		tell(c, h.decision_receipt, h.verdict == V_ALLOW ? NULL : h.decision.summary);
	return rc;
}

/* ---- complete ---- */

static const struct draw_settled *settled_of(struct arena *a, const struct json *decision, size_t *ret_n)
{
	const struct json *draws = json_get(json_get(decision, "metadata"), DRAWS_MEMBER);
	struct draw_settled *list = arena_zalloc(a, (draws ? draws->n : 0) + 1, sizeof(*list));
	struct draw d;

	*ret_n = 0;
	json_each (one, draws)
		if (draw_read(one, &d) && d.is_held)
			list[(*ret_n)++] = (struct draw_settled){ d.kind, d.key, d.window_us, d.amount };
	return list;
}

/* The intent must be the live one of this effect. */
static int check_intent(struct call *c, const struct effect_record *r, struct err *e)
{
	const char *id = arena_printf(c->a, "intent-%s", text_or(r->decision, "decision_id"));
	const char *who = text_or(r->decision, "executor_id");
	int64_t now = c->server->sys->now_us(c->server->sys);

	if (!text_eq(who, c->who.principal) && !(c->who.scopes & SCOPE_ADMIN))
		return call_refuse(c, e, 403, "FORBIDDEN", "this effect was allowed to somebody else");
	if (!text_eq(text_or(r->decision, "verdict"), "ALLOW"))
		return call_refuse(c, e, 409, "EFFECT_NOT_APPROVED",
			"this effect is %s; nothing may follow it", state_of(r));
	if (r->outcome)
		return call_refuse(c, e, 409, "INTENT_USED", "this effect is %s already", state_of(r));
	if (!text_eq(text_or(c->body, "intent_id"), id))
		return call_refuse(c, e, 409, "INTENT_INVALID", "that is not the intent of this effect");
	if (now >= time_of(r->decision) + (int64_t)INTENT_S * 1000000)
		return call_refuse(c, e, 409, "INTENT_EXPIRED",
			"the intent held for %d s; submit the effect again", INTENT_S);
	return OK;
}

static struct json *happened_of(struct call *c, const struct effect_record *r, struct err *e)
{
	struct json *about = json_new(c->a, JSON_OBJECT);
	const char *output = text_or(c->body, "output"), *why = text_or(c->body, "error_message");
	struct bytes raw = { 0 };

	if (*output && !base64_decode(c->a, output, strlen(output), BASE64_STD, true, &raw)) {
		(void)call_refuse(c, e, 400, "BAD_REQUEST", "output is no base64");
		return NULL;
	}
	json_sets(c->a, about, "effect_id", text_or(json_get(r->decision, "metadata"), "effect_id"));
	json_sets(c->a, about, "tenant", c->who.tenant);
	json_sets(c->a, about, "source", "api.effects");
	json_sets(c->a, about, "output_sha256", sha256_prefixed(c->a, raw.p, raw.n));
	/* What went wrong is the caller's text, which may hold anything: its digest is enough to compare. */
	if (*why)
		json_sets(c->a, about, "error_sha256", sha256_prefixed(c->a, why, strlen(why)));
	return about;
}

static int complete(struct call *c, struct err *e)
{
	struct json *answer = json_new(c->a, JSON_OBJECT), *receipt;
	struct effect_record r;
	struct draft d;
	/* Others may have submitted an effect of the same id since: the intent says which one is meant. */
	static const char mark[] = "intent-";
	const char *intent = text_or(c->body, "intent_id");
	int rc = text_starts(intent, mark)
		? find_decided(c, "effect_id", c->args[0], intent + strlen(mark), &r, e)
		: E_MISSING;

	if (rc)
		rc = find_effect(c, "effect_id", c->args[0], &r, e);

	if (rc == OK)
		rc = check_intent(c, &r, e);
	struct json *about = rc ? NULL : happened_of(c, &r, e);
	if (!about)
		return rc ? rc : e->rc;
	const char *id = text_or(r.decision, "decision_id");
	const struct draw used = { .kind = DRAW_PERMIT,
		.key = draw_key(c->a, "intent", id, NULL),
		.amount = 1,
		.limit = 1,
		.window_length_us = draw_until(time_of(r.decision) + (int64_t)INTENT_S * 1000000) };
	d = (struct draft){ .receipt_id = arena_printf(c->a, "rcpt_%s_outcome", id),
		.decision_id = id,
		.effect_id = text_or(r.decision, "effect_id"),
		.status = json_get_bool(c->body, "success", false) ? "COMPLETED" : "FAILED",
		.verdict = "ALLOW",
		.policy_hash = text_or(r.decision, "policy_hash"),
		.args_hash = text_or(r.decision, "args_hash"),
		.output_hash = json_sha256(c->a, about),
		.executor_id = text_or(r.decision, "executor_id"),
		.correlation_id = text_or(r.decision, "correlation_id"),
		.type = "outcome",
		.tool_name = text_or(r.decision, "tool_name"),
		.metadata = about,
		.draws = &used,
		.draw_count = 1 };
	d.settles = settled_of(c->a, r.decision, &d.settle_count);
	rc = call_record(c, &d, &receipt, e);
	if (rc && text_eq(e->code, "DRAW_REFUSED"))
		return call_refuse(c, e, 409, "INTENT_USED", "this effect was completed already");
	if (rc)
		return rc;
	struct json *view = receipt_view(c, receipt);
	json_set(c->a, answer, "receipt", view);
	json_sets(c->a, answer, "proofgraph_node", text_or(view, "proofgraph_node"));
	call_answer(c, 200, answer);
	return OK;
}

/* ---- looking ---- */

static int lifecycle(struct call *c, struct err *e)
{
	struct json *doc = json_new(c->a, JSON_OBJECT);
	struct effect_record r;
	int rc = find_effect(c, "effect_id", c->args[0], &r, e);

	if (rc)
		return rc;
	json_sets(c->a, doc, "effect_id", c->args[0]);
	json_sets(c->a, doc, "state", state_of(&r));
	json_sets(c->a, doc, "pdp_decision_id", text_or(r.decision, "decision_id"));
	if (r.outcome) {
		json_sets(c->a, doc, "executed_at", text_or(r.outcome, "timestamp"));
		json_sets(c->a, doc, "completed_at", text_or(r.outcome, "timestamp"));
	}
	call_answer(c, 200, doc);
	return OK;
}

static int idempotency(struct call *c, struct err *e)
{
	struct json *doc = json_new(c->a, JSON_OBJECT);
	struct effect_record r;
	int rc = find_effect(c, "effect_key", key_of(c, c->args[0]), &r, e);

	if (rc && c->status != 404)
		return rc;
	c->status = 0;
	json_setb(c->a, doc, "exists", rc == OK);
	json_sets(c->a, doc, "existing_effect_id",
		rc ? NULL : text_or(json_get(r.decision, "metadata"), "effect_id"));
	call_answer(c, 200, doc);
	return OK;
}

/* ---- a decision point ---- */

static struct json *obligations_of(struct call *c, const struct handling *h)
{
	struct json *list = json_new(c->a, JSON_ARRAY), *one = json_new(c->a, JSON_OBJECT);

	if (h->verdict != V_ESCALATE)
		return list;
	json_sets(c->a, one, "id", json_get_text(h->question, "approval_id", h->decision_id));
	json_sets(c->a, one, "type", "approval");
	json_sets(c->a, one, "description", h->decision.summary ? h->decision.summary : "a person decides");
	if (json_get_text(h->question, "expires_at", NULL))
		json_sets(c->a, one, "deadline", json_get_text(h->question, "expires_at", ""));
	json_push(c->a, list, one);
	return list;
}

static int pdp_evaluate(struct call *c, struct err *e)
{
	const struct json *effect = json_get(c->body, "effect"), *subject = json_get(c->body, "subject");
	const struct json *params = json_get(effect, "params");
	const char *type = text_or(effect, "effect_type"), *principal;
	struct json *doc = json_new(c->a, JSON_OBJECT), *about = json_new(c->a, JSON_OBJECT);
	struct handling h = { .a = c->a };
	int rc = call_principal(c, json_get_text(subject, "principal", c->who.principal), &principal, e);

	if (rc)
		return rc;
	if (!text_eq(json_get_text(subject, "tenant", c->who.tenant), c->who.tenant))
		return call_refuse(c, e, 403, "TENANT_ISOLATION", "this key does not belong to that tenant");
	struct json *context = call_context(c, json_get(c->body, "context"));
	rc = call_context_add(c, context, "roles", json_get(subject, "roles"), e);
	if (rc)
		return rc;
	json_sets(c->a, about, "effect_id", text_or(effect, "effect_id"));
	rc = decide_tool(c,
		&(struct tool_question){ .tool = tool_of(type, params),
			.action = type,
			.effect_id = text_or(effect, "effect_id"),
			.budget_id = json_get_text(effect, "budget_id", NULL),
			.args = params,
			.context = context,
			.about = about,
			.source = "api.pdp",
			.principal = principal },
		&h, e);
	if (rc)
		return rc;
	const struct json *receipt = h.decision_receipt;
	json_setb(c->a, doc, "allow", h.verdict == V_ALLOW);
	json_sets(c->a, doc, "reason_code", text_or(receipt, "reason_code"));
	json_sets(c->a, doc, "policy_ref", text_or(receipt, "policy_hash"));
	json_sets(c->a, doc, "decision_hash", json_sha256(c->a, doc));
	json_set(c->a, doc, "obligations", obligations_of(c, &h));
	json_sets(c->a, doc, "decision_id", h.decision_id);
	json_sets(c->a, doc, "receipt_id", text_or(receipt, "receipt_id"));
	call_answer(c, 200, doc);
	return OK;
}

const struct route http_effects_routes[] = {
	{ "POST", "/v1/effects", AUTH_TENANT, SCOPE_EVALUATE, RATE_KERNEL, TAKES_JSON, submit,
		"submit an effect: decided, and with ALLOW an intent", "EffectRequest", "EffectResponse" },
	{ "POST", "/v1/decide", AUTH_TENANT, SCOPE_EVALUATE, RATE_KERNEL, TAKES_JSON, submit, "the same",
		"EffectRequest", "EffectResponse" },
	{ "GET", "/v1/effects/idempotency/{key}", AUTH_TENANT, SCOPE_READ, RATE_EVIDENCE, 0, idempotency,
		"was an effect submitted with this key", NULL, "EffectIdempotency" },
	{ "POST", "/v1/effects/{effectId}/complete", AUTH_TENANT, SCOPE_EVALUATE, RATE_KERNEL, TAKES_JSON,
		complete, "say what became of an effect; its intent is used up", "EffectCompletion",
		"EffectCompleted" },
	{ "GET", "/v1/effects/{effectId}/lifecycle", AUTH_TENANT, SCOPE_READ, RATE_EVIDENCE, 0, lifecycle,
		"the state of an effect", NULL, "EffectLifecycle" },
	{ "POST", "/v1/pdp/evaluate", AUTH_TENANT, SCOPE_EVALUATE, RATE_KERNEL, TAKES_JSON, pdp_evaluate,
		"decide about an effect, with what must be done first", "PdpRequest", "PdpResponse" },
	{ 0 },
};
