/* fuzz_bounds.c — any document as an envelope, limits of a policy, a request to the court, a token, a receipt that draws, and a kept sum.
 *
 * Whatever it says: what is not signed permits nothing, and no budget is ever drawn below nothing. */
#include "decide/bounds/bounds.h"
#include "fuzz.h"

#include <stdlib.h>

static const int64_t now_us = INT64_C(1780315200) * 1000000;

static void must(bool is)
{
	if (!is)
		abort();
}

/* Whatever a bound envelope says, what it lets pass can be drawn. */
static void try_envelope(struct arena *a, const struct json *doc)
{
	static const struct envelope_request q = { .effect_class = "E1",
		.effect_type = "mail",
		.jurisdiction = "DE",
		.data_class = "internal",
		.blast_radius = "dataset",
		.estimated_cost = 3,
		.compute_units = 1,
		.from_region = "EU",
		.to_region = "US",
		.category = "legal" };
	struct envelope_facts f = { .run = "r" };
	struct envelope_problems problems;
	struct envelope_answer x;
	struct err e;

	bool is_valid = envelope_validate(a, doc, now_us, &problems);
	must(is_valid == !problems.n);
	if (envelope_bind(a, doc, NULL, now_us, &f.bound, &e)) {
		must(!f.bound);
		return;
	}
	must(is_valid && envelope_hash_v1(a, doc) && envelope_hash_v2(a, doc));
	envelope_check(a, f.bound, &q, &f, now_us, &x);
	for (size_t i = 0; i < x.draw_count && !x.is_refused; i++)
		must(drawn_check(NULL, &x.draws[i], now_us) == DRAW_FITS);
	(void)envelope_counters(a, f.bound, &f, now_us);
}

static void try_limits(struct arena *a, const struct json *doc)
{
	struct submission q = { .effect_type = "pay", .effect_id = "e", .principal = "p", .params = doc };
	struct drawn d = { 0 };
	struct budget_facts budget = { .drawn = &d };
	struct velocity_facts velocity = { .drawn = &d };
	struct facts f = {
		.now_us = now_us, .principal = "p", .known = doc, .budget = &budget, .velocity = &velocity
	};
	struct limits *l;
	struct err e;

	if (limits_compile(a, doc, &l, &e))
		return;
	struct judging j = { .a = a, .limits = l, .ask = &q, .facts = &f };
	struct gate_answer x = { .verdict = V_ALLOW }, y = x;
	gate_budget(&j, &x);
	gate_velocity(&j, &y);
	for (size_t i = 0; i < j.draw_count && x.verdict == V_ALLOW; i++)
		must(drawn_check(NULL, &j.draws[i], now_us) == DRAW_FITS);
	(void)limits_view(a, l, &d, now_us);
}

static void try_sum(struct arena *a, const struct json *doc)
{
	struct drawn d = { 0 }, again = { 0 };

	if (drawn_receipt(&d, doc)) {
		drawn_sweep(&d);
		must(drawn_from_json(&again, drawn_json(a, &d)) && again.n == d.n);
	}
	drawn_done(&again);
	if (drawn_from_json(&again, doc))
		(void)drawn_json(a, &again);
	drawn_done(&again);
	drawn_done(&d);
}

static const uint8_t nobody[SIGN_PUBLIC];

void fuzz_one(const uint8_t *data, size_t size)
{
	AUTO(arena_done) struct arena a = { .limit_bytes = 256 << 20 };
	struct court_facts court = { .ceilings = json_new(&a, JSON_OBJECT),
		.policy_epoch = "7",
		.pipeline = V_DENY,
		.pipeline_code = REASON_POLICY_VIOLATION,
		.now_us = now_us,
		.ttl_us = 1,
		.decision_id = "d",
		.token_id = "t" };
	struct json *doc, *decision, *token;
	struct draw draws[3];

	if (json_parse(&a, (struct bytes){ data, size }, "fuzz", NULL, &doc, NULL))
		return;
	try_envelope(&a, doc);
	try_limits(&a, doc);
	try_sum(&a, doc);
	court_judge(&a, doc, &court, &decision, &token);
	must(!token);
	must(court_commit(&a, doc, doc, doc, "7", "k", nobody, now_us, NULL, draws) != NULL);
}
