/* boundary.c — suites of what must not happen: `owasp`, `negative` and `adversarial`.
 *
 *     protocols/conformance/v1/owasp/owasp_threat_vectors.json   [{threat_id, input, expected_verdict, expected_reason_code}]
 *     derived/negative-boundary-vectors.json                     {vectors: [{id, expected_verdict, expected_reason_code, must_bind_evidence, ...}]}
 *     reference_packs/adversarial-policy-v1/vectors.json         {vectors: [{id, inputs, expected: {decision, reason_code}}]}
 *
 * The negative catalogue names situations and says nothing about requests: share/conform/boundary-worlds.json has a request and a world
 * for each, and no answer.  A situation without one is not supported. */
#include "audit/conform/world.h"

#include "decide/bounds/bounds.h"

#include <string.h>

/* A case as {input: {effect, principal, context}}. */
static struct json *as_vector(
	struct arena *a, const char *type, const char *id, const struct json *params, struct json *context)
{
	struct json *v = json_new(a, JSON_OBJECT), *in = json_new(a, JSON_OBJECT),
		    *effect = json_new(a, JSON_OBJECT);

	json_sets(a, effect, "effect_type", type);
	json_sets(a, effect, "effect_id", id);
	json_set(a, effect, "params", params ? json_copy(a, params) : json_new(a, JSON_OBJECT));
	json_set(a, in, "effect", effect);
	json_sets(a, in, "principal", "agent:case");
	json_set(a, in, "context", context);
	json_set(a, v, "input", in);
	return v;
}

static struct json *expecting(struct arena *a, const char *verdict, const char *code)
{
	struct json *o = json_new(a, JSON_OBJECT);

	json_sets(a, o, "verdict", verdict);
	json_sets(a, o, "reason_code", code);
	return o;
}

static void count(struct conform_tally *t, const char *family, const char *id, const struct json *expected,
	const struct json *got, bool is_met)
{
	conform_count(t, family, is_met ? CONFORM_PASSED : CONFORM_FAILED, id, expected, got);
}

/* ---- owasp ---- */

/* The envelope that the suite is about, as limits of the policy. */
static int bind_standard(struct scene *s, struct err *e)
{
	struct json *doc =
		json_get(conform_shipped(s->a, "share/conform/standard-envelope.json"), "envelope");

	json_sets(s->a, json_get(doc, "attestation"), "content_hash", envelope_hash_v1(s->a, doc));
	return scene_overlay(s, "limits", "envelope", doc, e);
}

/* What a gateway states of a tool that a person has approved, and of what its server lists now. */
static void state_pins(struct scene *s, const struct json *from, const char *wanted)
{
	bool is_own = text_eq(wanted, "schema_version");
	const char *pinned = json_get_text(from, wanted, NULL),
		   *seen = json_get_text(from, is_own ? "presented_schema_version" : "schema_version", NULL);
	struct json *pins = json_new(s->a, JSON_OBJECT);

	if (pinned)
		json_sets(s->a, pins, "schema_version", pinned);
	if (seen)
		json_sets(s->a, pins, "presented_schema_version", seen);
	if (json_get(from, "replay_lamport"))
		json_set(s->a, pins, "replay_lamport", json_copy(s->a, json_get(from, "replay_lamport")));
	json_seti(s->a, pins, "current_lamport", json_get_int(from, "current_lamport", 0));
	json_set(s->a, s->known, "pins", pins);
}

static struct json *owasp_params(struct arena *a, const struct json *in)
{
	const struct json *given = json_get(in, "parameters"), *cost = json_get(in, "estimated_cost_cents");
	struct json *params = given ? json_copy(a, given) : json_new(a, JSON_OBJECT);

	if (cost)
		json_set(a, params, "estimated_cost_cents", json_copy(a, cost));
	return params;
}

/* What the boundary has found out about the call. */
static struct json *owasp_context(struct arena *a, const struct json *in)
{
	static const char *const names[][2] = { { "effect_class", "effect_class" },
		{ "jurisdiction", "jurisdiction" }, { "blast_radius", "blast_radius" },
		{ "data_classification", "data_class" } };
	struct json *known = json_new(a, JSON_OBJECT);

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (json_get(in, names[i][0]))
			json_set(a, known, names[i][1], json_copy(a, json_get(in, names[i][0])));
	return known;
}

static int ask_owasp(struct world *w, struct arena *a, const struct json *c, struct json **ret, struct err *e)
{
	const struct json *in = json_get(c, "input");
	struct json *vector = as_vector(a, json_get_text(in, "tool_name", ""),
		json_get_text(c, "threat_id", "?"), owasp_params(a, in), owasp_context(a, in));
	struct scene s;
	struct outcome x;
	int rc = scene_begin(&s, w, a, vector, e);

	if (!rc)
		rc = bind_standard(&s, e);
	if (!rc) {
		state_pins(&s, in, "expected_schema_version");
		rc = scene_ask(&s, json_get(json_get(vector, "input"), "effect"), &x, e);
	}
	if (!rc)
		*ret = expecting(a, verdict_name(x.verdict), x.reason_code);
	scene_done(&s);
	return rc;
}

int conform_owasp(struct conform_place *p, struct conform_tally *t, struct err *e)
{
	AUTO(world_close) struct world w = { 0 };
	struct json *doc;

	if (conform_document(p, t->a, "protocols/conformance/v1/owasp/owasp_threat_vectors.json", &doc, e))
		return e->rc;
	if (!doc)
		return OK;
	if (world_open(&w, p->sys, "share/policies/default.json", e))
		return e->rc;
	json_each (c, doc) {
		AUTO(arena_done) struct arena a = { 0 };
		struct json *got = json_new(&a, JSON_OBJECT),
			    *want = expecting(&a, json_get_text(c, "expected_verdict", ""),
				    json_get_text(c, "expected_reason_code", ""));
		struct err why = { 0 };
		if (ask_owasp(&w, &a, c, &got, &why))
			json_sets(&a, got, "could_not_run", why.text);
		count(t, "owasp", json_get_text(c, "threat_id", "?"), want, got, json_eq(want, got));
	}
	return OK;
}

/* ---- negative ---- */

static const struct json *world_of(const struct json *worlds, const char *id)
{
	json_each (v, json_get(worlds, "vectors"))
		if (text_eq(json_get_text(v, "id", ""), id))
			return v;
	return NULL;
}

static bool is_there(const struct json *v)
{
	const char *text = json_text(v);

	return v && !json_is(v, JSON_NULL) && (!text || *text);
}

/* What a receipt calls by another name. */
static const char *own_name(const char *name)
{
	static const char *const same[][2] = { { "actor_id", "executor_id" },
		{ "bundle_hash", "policy_hash" }, { "request_hash", "args_hash" } };

	for (size_t i = 0; i < ARRAY_SIZE(same); i++)
		if (text_eq(same[i][0], name))
			return same[i][1];
	return name;
}

/* Every name that must be bound: in the receipt itself, among its metadata, or in what the engine bound.  The world of a case holds no
 * evidence, so that what a door would add is not known here. */
static void count_evidence(struct conform_tally *t, const struct json *c, const struct json *receipt)
{
	const struct json *meta = json_get(receipt, "metadata");

	json_each (name, json_get(c, "must_bind_evidence")) {
		const char *text = json_text(name) ? json_text(name) : "?";
		const char *id = arena_printf(t->a, "%s: %s", json_get_text(c, "id", "?"), text);
		if (is_there(json_get(receipt, own_name(text))) || is_there(json_get(meta, text)) ||
			is_there(json_get(json_get(meta, "bound"), text)))
			conform_count(t, "negative-evidence", CONFORM_PASSED, id, NULL, NULL);
		else
			conform_leave(t, "negative-evidence", id, "neither engine nor recorder binds it");
	}
}

static void set_world(struct scene *s, const struct json *world, struct policy_facts *policy)
{
	const char *state = json_get_text(world, "policy_state", "");

	policy->is_required = true;
	if (text_eq(state, "none"))
		s->rules = NULL;
	if (text_eq(state, "stale"))
		*policy = (struct policy_facts){ .is_required = true,
			.verified_us = s->now_us - (int64_t)3600 * 1000000,
			.fresh_us = 600000000 };
	s->about = policy;
	if (json_get(world, "pins"))
		state_pins(s, json_get(world, "pins"), "schema_version");
}

static bool meets_negative(const struct json *c, const struct outcome *x)
{
	const char *code = json_get_text(c, "expected_reason_code", "");

	return x->verdict != V_ALLOW && !x->intent && x->receipt &&
		text_eq(verdict_name(x->verdict), json_get_text(c, "expected_verdict", "")) &&
		(text_eq(code, x->reason_code) || (x->detail_code && text_eq(code, x->detail_code)));
}

static void ask_negative(
	struct world *w, struct conform_tally *t, const struct json *world, const struct json *c)
{
	AUTO(arena_done) struct arena scratch = { 0 };
	struct arena *a = &scratch;
	struct json *got = json_new(a, JSON_OBJECT);
	const char *id = json_get_text(c, "id", "?");
	struct err e = { 0 };
	struct policy_facts policy = { 0 };
	struct scene s;
	struct outcome x;

	if (!world) {
		conform_leave(t, "negative", id, "boundary-worlds.json has no such situation");
		return;
	}
	int rc = scene_begin(&s, w, a, world, &e);
	if (!rc) {
		set_world(&s, world, &policy);
		rc = scene_ask(&s, json_get(json_get(world, "input"), "effect"), &x, &e);
	}
	scene_done(&s);
	if (rc) {
		json_sets(a, got, "could_not_run", e.text);
		conform_count(t, "negative", CONFORM_FAILED, id, c, got);
		return;
	}
	json_sets(a, got, "verdict", verdict_name(x.verdict));
	json_sets(a, got, "reason_code", x.reason_code);
	json_sets(a, got, "detail_code", x.detail_code);
	json_setb(a, got, "dispatched", x.intent != NULL);
	json_set(a, got, "receipt", x.receipt);
	count(t, "negative", id, c, got, meets_negative(c, &x));
	count_evidence(t, c, x.receipt);
}

int conform_negative(struct conform_place *p, struct conform_tally *t, struct err *e)
{
	AUTO(world_close) struct world w = { 0 };
	struct json *doc;

	if (conform_document(p, t->a, "derived/negative-boundary-vectors.json", &doc, e))
		return e->rc;
	if (!doc)
		return OK;
	if (world_open(&w, p->sys, "share/policies/boundary.json", e))
		return e->rc;
	const struct json *worlds = conform_shipped(t->a, "share/conform/boundary-worlds.json");
	json_each (c, json_get(doc, "vectors"))
		ask_negative(&w, t, world_of(worlds, json_get_text(c, "id", "")), c);
	return OK;
}

/* ---- adversarial ---- */

/* An ALLOW has no reason; the rule that held may name one.  NULL when it does not. */
static const char *code_of_rule(const struct json *policy, const struct judgement *j)
{
	json_each (layer, json_get(policy, "layers"))
		json_each (rule, json_get(layer, "rules"))
			if (j->fired_count && text_eq(json_get_text(rule, "id", ""), j->fired[0]))
				return json_get_text(rule, "detail_code", NULL);
	return NULL;
}

static int ask_adversarial(
	struct world *w, struct arena *a, const struct json *c, struct json *got, struct err *e)
{
	struct json *vector = as_vector(a, "capability_call", json_get_text(c, "id", "?"),
		json_get(c, "inputs"), json_new(a, JSON_OBJECT));
	struct scene s;
	struct outcome x;
	int rc = scene_begin(&s, w, a, vector, e);

	if (!rc)
		rc = scene_ask(&s, json_get(json_get(vector, "input"), "effect"), &x, e);
	scene_done(&s);
	if (rc)
		return rc;
	json_sets(a, got, "decision", verdict_name(x.verdict));
	json_sets(
		a, got, "reason_code", x.reason_code ? x.reason_code : code_of_rule(w->policy, &x.judgement));
	return OK;
}

int conform_adversarial(struct conform_place *p, struct conform_tally *t, struct err *e)
{
	AUTO(world_close) struct world w = { 0 };
	struct json *doc;

	if (conform_document(p, t->a, "reference_packs/adversarial-policy-v1/vectors.json", &doc, e))
		return e->rc;
	if (!doc)
		return OK;
	if (world_open(&w, p->sys, "share/policies/capability-table.json", e))
		return e->rc;
	json_each (c, json_get(doc, "vectors")) {
		AUTO(arena_done) struct arena a = { 0 };
		struct json *got = json_new(&a, JSON_OBJECT);
		struct err why = { 0 };
		if (ask_adversarial(&w, &a, c, got, &why))
			json_sets(&a, got, "could_not_run", why.text);
		count(t, "adversarial", json_get_text(c, "id", "?"), json_get(c, "expected"), got,
			world_meets(json_get(c, "expected"), got));
	}
	return OK;
}
