/* court.c — the authority court: what a dangerous effect must pass beside the pipeline, and the token that lets it be done once.
 *
 * It is no second engine: the pipeline's answer about the same effects comes in, and is the last stage.  The stages are in the order of
 * docs/formats/authority-court.md, before them what the others stand on (epoch, types, memory); the first that fails is the answer. */
#include "decide/bounds/parts.h"

#include "base/decimal.h"
#include "base/embed.h"
#include "base/hash.h"
#include "base/schema.h"

#include <string.h>

struct hearing {
	struct arena *a;
	const struct json *request, *draft;
	const struct court_facts *facts;
	int class; /* the worst of its effects */
};

/* ---- stages ---- */

static bool epoch_is_current(const struct hearing *h)
{
	return text_eq(text_of(h->request, "policy_epoch"), h->facts->policy_epoch);
}

static bool effects_are_typed(const struct hearing *h)
{
	json_each (v, json_get(h->request, "effects")) {
		const struct effect_type *t = effect_type_find(word_of(v));
		if (!t || !(t->flags & EFFECT_CANONICAL))
			return false;
	}
	return true;
}

/* Retrieved at a known moment that is not too long ago, and signed by who it comes from. */
static bool is_authentic(const struct json *capsule, int64_t now_us)
{
	const struct json *fresh = json_get(capsule, "freshness"),
			  *signatures = json_get(json_get(capsule, "provenance"), "signatures");
	const char *text = text_of(fresh, "retrieved_at");
	int64_t at = INT64_MIN, ttl = json_get_int(fresh, "ttl_seconds", 0), until;

	(void)text_parse_time(text, strlen(text), &at);
	return json_is(signatures, JSON_ARRAY) && signatures->n &&
		!__builtin_mul_overflow(ttl, 1000000, &ttl) && !__builtin_add_overflow(at, ttl, &until) &&
		now_us <= until;
}

static bool memory_is_authentic(const struct hearing *h)
{
	json_each (v, json_get(h->request, "context_capsules"))
		if (!is_authentic(v, h->facts->now_us))
			return false;
	return true;
}

static bool schemas_are_pinned(const struct hearing *h)
{
	static const char *const members[] = { "input_schema_hash", "output_schema_hash" };
	const struct json *pins = json_get(h->facts->manifest, "schema_pins");
	const char *version = text_of(h->draft, "tool_version");

	for (size_t i = 0; i < ARRAY_SIZE(members); i++)
		if (!text_eq(text_of(h->draft, members[i]), text_of(pins, members[i])))
			return false;
	return text_eq(text_of(h->draft, "tool_id"), text_of(h->facts->manifest, "tool_id")) &&
		(!*version || text_eq(version, text_of(h->facts->manifest, "version")));
}

/* Numbers are compared as the decimals they are.  What is bounded and not known is over it. */
static bool is_within(const struct json *most, const struct json *given)
{
	struct decimal x, y;

	return !most ||
		(json_is(most, JSON_NUMBER) && json_is(given, JSON_NUMBER) && decimal_read(most->text, &x) &&
			decimal_read(given->text, &y) && decimal_cmp(&y, &x) <= 0);
}

static bool radius_is_within(const char *most, const char *given)
{
	static const char *const words[] = { "single_record", "dataset", "tenant", "system_wide" };

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (text_eq(words[i], given))
			return true;
		if (text_eq(words[i], most))
			return false;
	}
	return false;
}

static bool ceilings_hold(const struct hearing *h)
{
	static const char *const pairs[][2] = { { "max_budget_usd", "cost_usd" }, { "max_ops", "ops" },
		{ "max_regions", "regions" }, { "max_tenants", "tenants" },
		{ "max_rate_per_minute", "rate_per_minute" } };
	const struct json *ceilings = h->facts->ceilings, *estimate = h->facts->estimate;

	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++)
		if (!is_within(json_get(ceilings, pairs[i][0]), json_get(estimate, pairs[i][1])))
			return false;
	json_each_member (m, json_get(ceilings, "custom"))
		if (!is_within(m->value, json_get(json_get(estimate, "custom"), m->name)))
			return false;
	return !json_get(ceilings, "max_blast_radius") ||
		radius_is_within(text_of(ceilings, "max_blast_radius"), text_of(estimate, "blast_radius"));
}

static bool counterfactuals_hold(const struct hearing *h)
{
	const struct json *ceilings = h->facts->ceilings, *estimate = h->facts->estimate;

	if (h->class >= 3 && !json_get_bool(estimate, "rollback_plan", false))
		return false;
	return h->class < 4 ||
		(json_get_bool(estimate, "dual_control", false) &&
			radius_is_within(json_get_text(ceilings, "max_blast_radius", "system_wide"),
				text_of(estimate, "blast_radius")));
}

static bool invariants_hold(const struct hearing *h)
{
	return *text_of(h->request, "idempotency_key") != '\0';
}

static bool preflight_passed(const struct hearing *h)
{
	return h->class < 3 || json_get_bool(h->facts->estimate, "preflight", false);
}

static bool pipeline_allows(const struct hearing *h)
{
	return h->facts->pipeline == V_ALLOW;
}

static const struct {
	const char *name;
	bool (*holds)(const struct hearing *h);
	enum reason_code code;
} stages[] = {
	{ "epoch", epoch_is_current, REASON_DENY_POLICY_EPOCH_EXPIRED },
	{ "effects_typed", effects_are_typed, REASON_DENY_EFFECT_NOT_TYPED },
	{ "memory", memory_is_authentic, REASON_DENY_UNAUTHENTICATED_MEMORY },
	{ "schema_pins", schemas_are_pinned, REASON_DENY_SCHEMA_DRIFT },
	{ "ceilings", ceilings_hold, REASON_DENY_CEILING_EXCEEDED },
	{ "counterfactuals", counterfactuals_hold, REASON_DENY_COUNTERFACTUAL_FAIL },
	{ "invariants", invariants_hold, REASON_DENY_INVARIANT_FAIL },
	{ "preflight", preflight_passed, REASON_DENY_PREFLIGHT_FAIL },
	{ "pipeline", pipeline_allows, REASON_COUNT }, /* its own code */
};

/* ---- the decision ---- */

static bool is_formed(struct arena *a, const struct json *request)
{
	static const char name[] = "schemas/authorization-request.schema.json";
	struct bytes text;
	struct json *source;
	struct schema *schema;
	struct err e;

	if (!embed_find(name, &text) || json_parse(a, text, name, NULL, &source, &e) ||
		schema_compile(a, source, name, &schema, &e))
		BUG("the schema of authorization requests is part of the program");
	return schema_check(schema, request, &e) == OK;
}

static int worst_class(const struct json *effects)
{
	int worst = 0;

	json_each (v, effects) {
		const struct effect_type *t = effect_type_find(word_of(v));
		if (t && t->class > worst)
			worst = t->class;
	}
	return worst;
}

static struct json *token_of(const struct hearing *h)
{
	struct arena *a = h->a;
	struct json *t = json_new(a, JSON_OBJECT);

	json_sets(a, t, "token_id", h->facts->token_id);
	json_sets(a, t, "bound_draft_hash", json_sha256(a, h->draft));
	json_sets(a, t, "bound_ceilings_hash", json_sha256(a, h->facts->ceilings));
	json_sets(a, t, "bound_epoch", h->facts->policy_epoch);
	json_sets(a, t, "bound_idempotency_key", text_of(h->request, "idempotency_key"));
	json_sets(a, t, "bound_decision_id", h->facts->decision_id);
	json_setb(a, t, "preflight_required", h->class >= 3);
	json_sets(a, t, "issued_at", text_time_z(a, h->facts->now_us));
	json_sets(a, t, "expires_at", text_time_z(a, h->facts->now_us + h->facts->ttl_us));
	json_sets(a, t, "token_hash", json_sha256(a, t));
	json_setb(a, t, "consumed", false);
	return t;
}

/* What a decision shows of a token. */
static struct json *embedded(struct arena *a, const struct json *token)
{
	static const char *const members[] = { "token_hash", "bound_draft_hash", "bound_ceilings_hash",
		"bound_epoch", "bound_idempotency_key", "expires_at" };
	struct json *t = json_new(a, JSON_OBJECT);

	for (size_t i = 0; i < ARRAY_SIZE(members); i++)
		json_set(a, t, members[i], json_get(token, members[i]));
	return t;
}

static struct json *decision_of(const struct hearing *h, const char *result, const char *code, size_t passed)
{
	struct arena *a = h->a;
	struct json *d = json_new(a, JSON_OBJECT), *codes = json_new(a, JSON_ARRAY),
		    *trace = json_new(a, JSON_OBJECT), *names = json_new(a, JSON_ARRAY);

	json_sets(a, d, "decision_id", h->facts->decision_id);
	json_sets(a, d, "request_id", text_of(h->request, "request_id"));
	json_sets(a, d, "result", result);
	if (*code)
		json_pushs(a, codes, code);
	json_set(a, d, "reason_codes", codes);
	json_sets(a, d, "policy_epoch", h->facts->policy_epoch);
	json_sets(a, d, "issued_at", text_time_z(a, h->facts->now_us));
	json_sets(a, d, "expires_at", text_time_z(a, h->facts->now_us + h->facts->ttl_us));
	json_set(a, d, "ceilings_snapshot", json_copy(a, h->facts->ceilings));
	for (size_t i = 0; i < passed; i++)
		json_pushs(a, names, stages[i].name);
	json_set(a, trace, "pipeline_stages_passed", names);
	json_set(a, d, "evaluation_trace", trace);
	return d;
}

void court_judge(struct arena *a, const struct json *request, const struct court_facts *facts,
	struct json **ret, struct json **ret_token)
{
	struct hearing h = {
		.a = a, .request = request, .draft = json_get(request, "tool_call_draft"), .facts = facts
	};
	size_t passed = 0;

	*ret_token = NULL;
	if (!is_formed(a, request)) {
		*ret = decision_of(&h, "DENY", reason_get(REASON_DENY_INVARIANT_FAIL)->code, 0);
		return;
	}
	h.class = worst_class(json_get(request, "effects"));
	while (passed < ARRAY_SIZE(stages) && stages[passed].holds(&h))
		passed++;
	if (passed == ARRAY_SIZE(stages)) {
		*ret = decision_of(&h, "ALLOW", "", passed);
		*ret_token = token_of(&h);
		json_set(a, *ret, "commit_token", embedded(a, *ret_token));
		return;
	}
	bool is_asked = stages[passed].code == REASON_COUNT && facts->pipeline == V_ESCALATE;
	enum reason_code code =
		stages[passed].code == REASON_COUNT ? facts->pipeline_code : stages[passed].code;
	*ret = decision_of(&h, is_asked ? "REQUIRE_APPROVAL" : "DENY", reason_get(code)->code, passed);
}

/* ---- the token ---- */

/* Without what is made over it, and what becomes of it. */
static char *token_hash(struct arena *a, const struct json *token)
{
	static const char *const members[] = { "token_hash", "signature", "consumed", "consumed_at" };
	struct json *view = json_copy(a, token);

	for (size_t i = 0; i < ARRAY_SIZE(members); i++)
		(void)json_remove(view, members[i]);
	return json_sha256(a, view);
}

struct bytes court_token_preimage(struct arena *a, const struct json *token)
{
	return bytes_of(arena_printf(a, "HELM/CommitToken/v1\n%s", token_hash(a, token)));
}

static bool is_signed(struct arena *a, const struct json *token, const uint8_t authority[SIGN_PUBLIC])
{
	const char *text = text_of(token, "signature");
	uint8_t signature[SIGN_SIZE];

	return hex_decode(text, strlen(text), signature, SIGN_SIZE, true) &&
		sign_verify(authority, court_token_preimage(a, token), signature);
}

const char *court_commit(struct arena *a, const struct json *token, const struct json *draft,
	const struct json *ceilings, const char *epoch, const char *idempotency_key,
	const uint8_t authority[SIGN_PUBLIC], int64_t now_us, const struct drawn *drawn,
	struct draw *ret_draw)
{
	const char *until = text_of(token, "expires_at");
	int64_t until_us;

	if (!json_is(token, JSON_OBJECT) || !is_signed(a, token, authority))
		return "TOKEN_SIGNATURE";
	if (!text_eq(text_of(token, "token_hash"), token_hash(a, token)))
		return "TOKEN_HASH";
	if (!text_parse_time(until, strlen(until), &until_us) || now_us >= until_us)
		return "TOKEN_EXPIRED";
	if (!draft || !text_eq(text_of(token, "bound_draft_hash"), json_sha256(a, draft)))
		return "TOKEN_DRAFT";
	if (!ceilings || !text_eq(text_of(token, "bound_ceilings_hash"), json_sha256(a, ceilings)))
		return "TOKEN_CEILINGS";
	if (!text_eq(text_of(token, "bound_epoch"), epoch))
		return "TOKEN_EPOCH";
	if (!text_eq(text_of(token, "bound_idempotency_key"), idempotency_key))
		return "TOKEN_IDEMPOTENCY";
	*ret_draw = (struct draw){ .kind = DRAW_PERMIT,
		.key = draw_key(a, "token", text_of(token, "token_id"), NULL),
		.amount = 1,
		.limit = 1,
		.window_length_us = draw_until(until_us) };
	if (json_get_bool(token, "consumed", false) || drawn_check(drawn, ret_draw, now_us) != DRAW_FITS)
		return "TOKEN_USED";
	return NULL;
}
