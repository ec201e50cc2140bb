/* decisions.c — suites of decisions: `v1` (published vectors and the fixtures in the same file) and `mutations` (the same kind of vectors, other values).
 *
 *     protocols/conformance/v1/test-vectors.json   {vectors, receipt_invariants, hash_chain_vectors, golden_receipts,
 *                                                   jurisdiction_fixtures, evidence_bundle_fixture}
 *     derived/decision-mutations.json              {vectors}
 *
 * A vector is {id, input: {effect | effects, principal, context}, expected}; pdp_behavior, budget_behavior and output_override stand beside
 * the input and describe the world.  A member of `expected` that is not known here fails the vector. */
#include "audit/conform/v1.h"

#include "base/hash.h"
#include "verify/verify.h"

#include <string.h>

/* ---- one vector ---- */

static void set_one(struct arena *a, struct json *got, const struct outcome *x)
{
	struct json *packs = json_new(a, JSON_ARRAY);

	for (size_t i = 0; i < x->judgement.active_pack_count; i++)
		json_pushs(a, packs, x->judgement.active_packs[i]);
	json_sets(a, got, "verdict", verdict_name(x->verdict));
	json_sets(a, got, "reason_code", x->reason_code);
	json_setb(a, got, "receipt_present", x->receipt != NULL);
	json_setb(a, got, "intent_present", x->intent != NULL);
	json_set(a, got, "active_packs", packs);
	json_setb(a, got, "quarantined", x->is_quarantined);
}

static int ask_one(
	struct scene *s, const struct json *effect, struct json *got, struct v1_run *run, struct err *e)
{
	struct outcome x;

	if (scene_ask(s, effect, &x, e))
		return e->rc;
	v1_keep_receipt(run, x.receipt, effect, json_get_text(json_get(s->vector, "input"), "principal", ""));
	set_one(s->a, got, &x);
	return OK;
}

/* Several effects, one after the other in one session. */
static int ask_many(
	struct scene *s, const struct json *effects, struct json *got, struct v1_run *run, struct err *e)
{
	struct json *verdicts = json_new(s->a, JSON_ARRAY), *codes = json_new(s->a, JSON_ARRAY);
	bool rising = true, all = true;
	int64_t last = 0;

	json_each (effect, effects) {
		struct outcome x;
		if (scene_ask(s, effect, &x, e))
			return e->rc;
		v1_keep_receipt(
			run, x.receipt, effect, json_get_text(json_get(s->vector, "input"), "principal", ""));
		int64_t clock = json_get_int(x.receipt, "lamport_clock", 0);
		rising = rising && clock > last;
		last = clock;
		all = all && x.receipt;
		json_pushs(s->a, verdicts, verdict_name(x.verdict));
		json_push(s->a, codes,
			x.reason_code ? json_string(s->a, x.reason_code) : json_new(s->a, JSON_NULL));
	}
	json_set(s->a, got, "verdicts", verdicts);
	json_set(s->a, got, "reason_codes", codes);
	json_setb(s->a, got, "receipts_present", all);
	json_setb(s->a, got, "lamport_strictly_increasing", rising);
	return OK;
}

static int answer_vector(struct world *w, struct arena *a, const struct json *vector, struct v1_run *run,
	struct json *got, struct err *e)
{
	const struct json *input = json_get(vector, "input"), *effects = json_get(input, "effects");
	struct scene s;

	if (json_get(input, "replay_from"))
		return v1_replay(w, a, vector, got, e);
	int rc = scene_begin(&s, w, a, vector, e);
	if (!rc)
		rc = effects ? ask_many(&s, effects, got, run, e)
			     : ask_one(&s, json_get(input, "effect"), got, run, e);
	scene_done(&s);
	return rc;
}

/* What code would have computed: no code is run here. */
static bool is_about_code(const char *member)
{
	return text_starts(member, "wasm_");
}

/* Without what is about code; NULL when nothing was. */
static struct json *without_code(struct arena *a, const struct json *expected)
{
	struct json *rest = json_new(a, JSON_OBJECT);

	json_each_member (m, expected)
		if (!is_about_code(m->name))
			json_set(a, rest, m->name, m->value);
	return json_is(expected, JSON_OBJECT) && rest->n < expected->n ? rest : NULL;
}

static void run_vector(struct world *w, struct conform_tally *t, const char *family,
	const struct json *vector, struct v1_run *run)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct json *got = json_new(&a, JSON_OBJECT);
	const struct json *expected = json_get(vector, "expected"), *rest = without_code(&a, expected);
	const char *id = json_get_text(vector, "id", "?");
	struct err e = { 0 };
	bool is_met = rest && rest->n == 0;

	if (!is_met) {
		if (answer_vector(w, &a, vector, run, got, &e))
			json_sets(&a, got, "could_not_run", e.text);
		else
			is_met = world_meets(rest ? rest : expected, got);
	}
	if (is_met && rest)
		conform_leave(t, family, id, "no code is run here, so that nothing is known of its output");
	else
		conform_count(t, family, is_met ? CONFORM_PASSED : CONFORM_FAILED, id, expected, got);
}

/* ---- the suites ---- */

int conform_mutations(struct conform_place *p, struct conform_tally *t, struct err *e)
{
	AUTO(world_close) struct world w = { 0 };
	struct v1_run run = { .a = t->a };
	struct json *doc;

	if (conform_document(p, t->a, "derived/decision-mutations.json", &doc, e))
		return e->rc;
	if (!doc)
		return OK;
	if (world_open(&w, p->sys, "share/policies/default.json", e))
		return e->rc;
	json_each (v, json_get(doc, "vectors"))
		run_vector(&w, t, "mutations", v, &run);
	return OK;
}

static bool is_published(const struct json *edition)
{
	AUTO(arena_done) struct arena a = { 0 };

	json_each (row, json_get(conform_shipped(&a, "share/conform/editions.json"), "editions"))
		if (json_eq(row, edition))
			return true;
	return false;
}

/* Which edition of the vectors this is, by what the file says and by its digest. */
static struct json *edition_of(struct arena *a, const struct json *doc)
{
	const struct json *vectors = json_get(doc, "vectors");
	struct json *o = json_new(a, JSON_OBJECT);

	json_sets(a, o, "version", json_get_text(doc, "version", ""));
	json_seti(a, o, "vectors", json_is(vectors, JSON_ARRAY) ? vectors->n : 0);
	json_sets(a, o, "sha256", json_sha256(a, doc));
	bool is_known = is_published(o);
	json_setb(a, o, "is_published", is_known);
	return o;
}

int conform_v1(struct conform_place *p, struct conform_tally *t, struct err *e)
{
	AUTO(world_close) struct world w = { 0 };
	struct v1_run run = { .a = t->a };
	struct json *doc;

	if (conform_document(p, t->a, "protocols/conformance/v1/test-vectors.json", &doc, e))
		return e->rc;
	if (!doc)
		return OK;
	if (world_open(&w, p->sys, "share/policies/default.json", e))
		return e->rc;
	t->edition = edition_of(t->a, doc);
	json_each (v, json_get(doc, "vectors"))
		run_vector(&w, t, "vectors", v, &run);
	json_each (v, json_get(doc, "jurisdiction_fixtures"))
		run_vector(&w, t, "jurisdiction_fixtures", v, &run);
	v1_invariants(&w, t, json_get(json_get(doc, "receipt_invariants"), "rules"), &run);
	v1_fixtures(t, doc);
	return OK;
}
