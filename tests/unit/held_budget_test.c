/* held_budget_test.c — money that is reserved is not there for others: held by decisions whose outcome is not known, claimed by what is just being
 * written, and reserved in a spend envelope.  Each alone, at its edge: one unit more must be refused. */
#include "decide/bounds/bounds.h"
#include "decide/engine/engine.h"
#include "model/draw.h"
#include "tools/unit.h"

#include <string.h>

static const int64_t now = INT64_C(1780272000000000); /* 2026-06-01T00:00:00Z */

static struct draw of(int64_t amount)
{
	return (struct draw){
		.kind = DRAW_BUDGET, .key = "b", .amount = amount, .limit = 10, .is_held = true
	};
}

/* A receipt of this decision: draws `held`, or settles what it held with `used` (-1: it settles nothing). */
static void receipt(struct drawn *d, const char *decision, int64_t held, int64_t used)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct json *doc = json_new(&a, JSON_OBJECT), *metadata = json_new(&a, JSON_OBJECT);
	struct draw x = of(held);
	struct draw_settled s = { .kind = DRAW_BUDGET, .key = "b", .amount = used };

	if (held)
		json_set(&a, metadata, DRAWS_MEMBER, draws_json(&a, &x, 1));
	if (used >= 0)
		json_set(&a, metadata, SETTLES_MEMBER, settles_json(&a, &s, 1));
	json_set(&a, doc, "metadata", metadata);
	json_sets(&a, doc, "decision_id", decision);
	json_sets(&a, doc, "timestamp", text_time_z(&a, now));
	assert_true(drawn_receipt(d, doc));
}

/* So much fits, and one more does not. */
static void fits_just(const struct drawn *d, int64_t amount)
{
	struct draw x = of(amount), more = of(amount + 1);

	assert_int_equal(drawn_check(d, &x, now), DRAW_FITS);
	assert_int_equal(drawn_check(d, &more, now), DRAW_FULL);
}

static void what_is_held_is_not_left(void **state)
{
	struct drawn d = { 0 };

	(void)state;
	fits_just(&d, 10);
	receipt(&d, "dec-1", 4, -1);
	fits_just(&d, 6);
	receipt(&d, "dec-2", 3, -1);
	fits_just(&d, 3);
	receipt(&d, "dec-1", 0, 1); /* it cost 1 of the 4 */
	fits_just(&d, 6);
	receipt(&d, "dec-1", 0, 1); /* told twice, counted once */
	fits_just(&d, 6);
	receipt(&d, "dec-2", 0, 0); /* it did not happen */
	fits_just(&d, 9);
	receipt(&d, "dec-3", 0, 5); /* who held nothing settles nothing */
	fits_just(&d, 9);
	receipt(&d, "dec-4", 2, -1);
	receipt(&d, "dec-4", 0, 6); /* it cost more than was held */
	fits_just(&d, 3);
	drawn_done(&d);
}

static void what_is_claimed_is_not_left(void **state)
{
	struct drawn d = { 0 };
	struct draw x = of(3), y = of(2);

	(void)state;
	receipt(&d, "dec-1", 4, -1);
	drawn_claim(&d, &x);
	fits_just(&d, 3);
	drawn_claim(&d, &y);
	fits_just(&d, 1);
	drawn_unclaim(&d, &x);
	fits_just(&d, 4);
	drawn_unclaim(&d, &y);
	fits_just(&d, 6);
	drawn_done(&d);
}

/* A sum that is kept between starts keeps what is held, and whose it is. */
static void what_is_held_outlives_the_program(void **state)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct drawn d = { 0 }, again = { 0 };

	(void)state;
	receipt(&d, "dec-1", 4, -1);
	receipt(&d, "dec-2", 2, -1);
	assert_true(drawn_from_json(&again, drawn_json(&a, &d)));
	fits_just(&again, 4);
	receipt(&again, "dec-1", 0, 1);
	fits_just(&again, 7);
	drawn_done(&d);
	drawn_done(&again);
}

static struct json *parse(struct arena *a, const char *text)
{
	struct json *v;
	struct err e;

	if (json_parse(a, bytes_of(text), "test", NULL, &v, &e))
		fail_msg("%s: %s", e.text, text);
	return v;
}

static enum verdict judged(struct arena *a, const struct limits *l, struct drawn *d, int64_t cents)
{
	struct submission q = { .effect_type = "x",
		.effect_id = "e",
		.principal = "p",
		.tool = "tool",
		.params = parse(a,
			arena_printf(a, "{\"provider\":\"a\",\"model\":\"s\",\"estimated_cost_cents\":%lld}",
				(long long)cents)) };
	struct budget_facts budget = { .drawn = d };
	struct facts f = { .now_us = now, .principal = "p", .budget = &budget };
	struct judging j = { .a = a, .limits = l, .ask = &q, .facts = &f };
	struct gate_answer x = { .verdict = V_ALLOW };

	gate_budget(&j, &x);
	return x.verdict;
}

static const struct limits *spending(struct arena *a, int64_t used, int64_t reserved)
{
	struct limits *l;
	struct err e;
	const char *text = arena_printf(a,
		"{\"spend\":[{\"id\":\"m\",\"currency\":\"EUR\",\"period\":\"MONTHLY\",\"max_amount_cents\":100,"
		"\"allowed_providers\":[\"a\"],\"allowed_models\":[\"s\"],\"active\":true,\"used_amount_cents\":%lld,"
		"\"reserved_amount_cents\":%lld}]}",
		(long long)used, (long long)reserved);

	if (limits_compile(a, parse(a, text), &l, &e))
		fail_msg("%s", e.text);
	return l;
}

static void a_spend_envelope_counts_what_was_used_and_reserved(void **state)
{
	static const struct {
		int64_t used, reserved, left;
	} rows[] = { { 0, 0, 100 }, { 30, 0, 70 }, { 0, 30, 70 }, { 60, 30, 10 }, { 30, 60, 10 },
		{ 1, 98, 1 } };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		AUTO(arena_done) struct arena a = { 0 };
		struct drawn d = { 0 };
		const struct limits *l = spending(&a, rows[i].used, rows[i].reserved);
		assert_int_equal(judged(&a, l, &d, rows[i].left), V_ALLOW);
		assert_int_equal(judged(&a, l, &d, rows[i].left + 1), V_DENY);
		drawn_done(&d);
	}
}

/* What people see is what the gate counts with. */
static void what_is_left_is_shown_without_what_is_held(void **state)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct drawn d = { 0 };
	struct limits *l;
	struct err e;

	(void)state;
	assert_int_equal(
		limits_compile(&a, parse(&a, "{\"budgets\":[{\"id\":\"b\",\"limit\":10}]}"), &l, &e), OK);
	const char *key = draw_key(&a, "budget", "b", "", NULL);
	struct draw x = { .kind = DRAW_BUDGET, .key = key, .amount = 4, .limit = 10, .is_held = true },
		    y = { .kind = DRAW_BUDGET, .key = key, .amount = 3, .limit = 10 };
	struct json *doc = json_new(&a, JSON_OBJECT), *metadata = json_new(&a, JSON_OBJECT);
	json_set(&a, metadata, DRAWS_MEMBER, draws_json(&a, (struct draw[]){ x, y }, 2));
	json_set(&a, doc, "metadata", metadata);
	json_sets(&a, doc, "decision_id", "dec-1");
	json_sets(&a, doc, "timestamp", text_time_z(&a, now));
	assert_true(drawn_receipt(&d, doc));
	struct json *row = json_at(json_get(json_at(limits_view(&a, l, &d, now), 0), "rows"), 0);
	assert_int_equal(json_get_int(row, "used", -1), 3);
	assert_int_equal(json_get_int(row, "held", -1), 4);
	assert_int_equal(json_get_int(row, "left", -1), 3);
	assert_int_equal(judged(&a, l, &d, 3), V_ALLOW);
	assert_int_equal(judged(&a, l, &d, 4), V_DENY);
	drawn_done(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_held_is_not_left),
		cmocka_unit_test(what_is_claimed_is_not_left),
		cmocka_unit_test(what_is_held_outlives_the_program),
		cmocka_unit_test(a_spend_envelope_counts_what_was_used_and_reserved),
		cmocka_unit_test(what_is_left_is_shown_without_what_is_held),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
