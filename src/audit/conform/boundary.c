/* boundary.c — suites of what must not happen: `owasp`, `negative` and `adversarial`.
 *
 *     protocols/conformance/v1/owasp/owasp_threat_vectors.json   [{threat_id, input, expected_verdict, expected_reason_code}]
 *     derived/negative-boundary-vectors.json                     {vectors: [{id, expected_verdict, expected_reason_code, must_bind_evidence, ...}]}
 *     reference_packs/adversarial-policy-v1/vectors.json         {vectors: [{id, inputs, expected: {decision, reason_code}}]}
 *
 * The negative catalogue names situations and says nothing about requests: share/conform/boundary-worlds.json has a request and a world
 * for each, and no answer.  A situation without one is not supported. */
#include "audit/conform/world.h"

#include "base/embed.h"
#include "decide/bounds/bounds.h"

#include <string.h>

static int read_document(
	struct conform_place *p, struct conform_tally *t, const char *name, struct json **ret, struct err *e)
{
	struct bytes text;

	*ret = NULL;
	if (conform_read(p, t->a, name, &text, e))
		return e->rc;
	return text.p ? json_parse(t->a, text, name, NULL, ret, e) : OK;
}

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

/* Jurisdiction US, E0 to E3, data up to confidential, 10000 cents, blast radius of one dataset. */
static const char standard_envelope[] =
	"{\"envelope_id\":\"standard\",\"version\":\"1.0.0\",\"format_version\":\"1.0.0\",\"valid_from\":\"2000-01-01T00:00:00Z\","
	"\"valid_until\":\"2100-01-01T00:00:00Z\","
	"\"jurisdiction_scope\":{\"allowed_jurisdictions\":[\"US\"],\"regulatory_mode\":\"strict\"},"
	"\"data_handling\":{\"max_classification\":\"confidential\",\"redaction_policy\":\"none\"},"
	"\"allowed_effects\":[{\"effect_class\":\"E0\",\"allowed\":true},{\"effect_class\":\"E1\",\"allowed\":true},"
	"{\"effect_class\":\"E2\",\"allowed\":true},{\"effect_class\":\"E3\",\"allowed\":true}],"
	"\"budgets\":{\"cost_ceiling_cents\":10000,\"time_ceiling_seconds\":3600,\"tool_call_cap\":1000,\"blast_radius\":\"dataset\"},"
	"\"required_evidence\":[],\"escalation_policy\":{\"default_mode\":\"autonomous\"},\"attestation\":{\"content_hash\":\"\"}}";

static int bind_standard(struct arena *a, int64_t now_us, const struct envelope **ret, struct err *e)
{
	struct json *doc;

	if (json_parse(a, bytes_of(standard_envelope), "envelope", NULL, &doc, e))
		return e->rc;
	json_sets(a, json_get(doc, "attestation"), "content_hash", envelope_hash_v1(a, doc));
	return envelope_bind(a, doc, NULL, now_us, ret, e);
}

static void read_pins(const struct json *from, const char *wanted, struct pin_facts *ret)
{
	ret->schema_version = json_get_text(from, wanted, NULL);
	ret->presented_schema_version = json_get_text(from,
		text_eq(wanted, "schema_version") ? "presented_schema_version" : "schema_version", NULL);
	ret->has_lamport = json_int(json_get(from, "replay_lamport"), &ret->presented_lamport);
	ret->consumed_lamport = json_get_int(from, "current_lamport", 0);
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
	struct envelope_facts envelope = { .run = "owasp" };
	struct pin_facts pins = { 0 };
	struct scene s;
	struct outcome x;
	int rc = scene_begin(&s, w, a, vector, e);

	if (!rc)
		rc = bind_standard(a, s.base.now_us, &envelope.bound, e);
	if (!rc) {
		envelope.drawn = &s.drawn;
		envelope.bound_us = s.base.now_us;
		read_pins(in, "expected_schema_version", &pins);
		s.base.envelope = &envelope;
		s.base.pins = &pins;
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

	if (read_document(p, t, "protocols/conformance/v1/owasp/owasp_threat_vectors.json", &doc, e))
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

/* What the boundary holds as evidence of the situation: something for every name that must be bound. */
static struct json *evidence_for(struct arena *a, const struct json *c)
{
	struct json *o = json_new(a, JSON_OBJECT);

	json_each (name, json_get(c, "must_bind_evidence"))
		if (json_text(name))
			json_sets(a, o, name->text, json_sha256(a, name));
	return o;
}

/* Named in the receipt itself, or among the evidence that it binds, with the value that the world has. */
static bool is_bound(const struct json *receipt, const struct json *evidence, const char *name)
{
	const struct json *meta = json_get(receipt, "metadata");
	const char *bound = json_get_text(json_get(meta, "evidence"), name, NULL);

	if (json_get_text(receipt, name, "")[0] || json_get_text(meta, name, "")[0])
		return true;
	return bound && text_eq(bound, json_get_text(evidence, name, ""));
}

static void set_world(
	struct scene *s, const struct json *world, struct policy_facts *policy, struct pin_facts *pins)
{
	const char *state = json_get_text(world, "policy_state", "");

	policy->is_required = true;
	if (text_eq(state, "none"))
		s->rules = NULL;
	if (text_eq(state, "stale"))
		*policy = (struct policy_facts){ .is_required = true,
			.verified_us = s->base.now_us - (int64_t)3600 * 1000000,
			.fresh_us = 600000000 };
	s->base.policy = policy;
	if (json_get(world, "pins")) {
		read_pins(json_get(world, "pins"), "schema_version", pins);
		s->base.pins = pins;
	}
}

static bool meets_negative(const struct json *c, const struct outcome *x, const struct json *evidence)
{
	const char *code = json_get_text(c, "expected_reason_code", "");

	json_each (name, json_get(c, "must_bind_evidence"))
		if (!json_text(name) || !is_bound(x->receipt, evidence, name->text))
			return false;
	return x->verdict != V_ALLOW && !x->intent && x->receipt &&
		text_eq(verdict_name(x->verdict), json_get_text(c, "expected_verdict", "")) &&
		(text_eq(code, x->reason_code) || (x->detail_code && text_eq(code, x->detail_code)));
}

static enum conform_outcome ask_negative(struct world *w, struct arena *a, const struct json *worlds,
	const struct json *c, struct json *got, struct err *e)
{
	const struct json *world = world_of(worlds, json_get_text(c, "id", ""));
	struct policy_facts policy = { 0 };
	struct pin_facts pins = { 0 };
	struct scene s;
	struct outcome x;

	if (!world)
		return CONFORM_NOT_SUPPORTED;
	int rc = scene_begin(&s, w, a, world, e);
	struct json *evidence = evidence_for(a, c);
	if (!rc) {
		set_world(&s, world, &policy, &pins);
		json_set(a, s.known, "evidence", evidence);
		rc = scene_ask(&s, json_get(json_get(world, "input"), "effect"), &x, e);
	}
	scene_done(&s);
	if (rc) {
		json_sets(a, got, "could_not_run", e->text);
		return CONFORM_FAILED;
	}
	json_sets(a, got, "verdict", verdict_name(x.verdict));
	json_sets(a, got, "reason_code", x.reason_code);
	json_sets(a, got, "detail_code", x.detail_code);
	json_setb(a, got, "dispatched", x.intent != NULL);
	json_set(a, got, "receipt", x.receipt);
	return meets_negative(c, &x, evidence) ? CONFORM_PASSED : CONFORM_FAILED;
}

int conform_negative(struct conform_place *p, struct conform_tally *t, struct err *e)
{
	AUTO(world_close) struct world w = { 0 };
	struct json *doc, *worlds;
	struct bytes text;

	if (read_document(p, t, "derived/negative-boundary-vectors.json", &doc, e))
		return e->rc;
	if (!doc)
		return OK;
	if (!embed_find("share/conform/boundary-worlds.json", &text))
		BUG("the situations of the catalogue are not shipped");
	if (json_parse(t->a, text, "boundary-worlds.json", NULL, &worlds, e) ||
		world_open(&w, p->sys, "share/policies/boundary.json", e))
		return e->rc;
	json_each (c, json_get(doc, "vectors")) {
		AUTO(arena_done) struct arena a = { 0 };
		struct json *got = json_new(&a, JSON_OBJECT);
		struct err why = { 0 };
		enum conform_outcome o = ask_negative(&w, &a, worlds, c, got, &why);
		conform_count(t, "negative", o, json_get_text(c, "id", "?"), c, got);
	}
	return OK;
}

/* ---- adversarial ---- */

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
	json_sets(a, got, "reason_code", x.reason_code ? x.reason_code : "within_policy");
	return OK;
}

int conform_adversarial(struct conform_place *p, struct conform_tally *t, struct err *e)
{
	AUTO(world_close) struct world w = { 0 };
	struct json *doc;

	if (read_document(p, t, "reference_packs/adversarial-policy-v1/vectors.json", &doc, e))
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
