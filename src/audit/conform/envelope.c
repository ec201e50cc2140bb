/* envelope.c — two suites of what bounds: autonomy envelopes, and the states of an effect.
 *
 *     derived/autonomy-envelope-cases.json   {clock_start, envelope, gate_sequences: [{id, envelope?, steps: [{at_seconds, request, expected_allowed,
 *                                            expected_violation, expected_escalation}], final_counters}], validation: [{id, envelope, expected_valid,
 *                                            expected_errors: ["field:CODE"]}]}
 *     protocols/conformance/v1/test-vectors.json   {lifecycle_fixtures: [{id, transitions: [{from, to}]}]}
 *
 * One gate for each sequence: what a step uses up is there for the next one, and a step that is refused uses up nothing.  Of a validation the
 * valid flag and the set of errors count, not their order. */
#include "audit/conform/conform.h"

#include "decide/bounds/bounds.h"

#include <string.h>

static void count(struct conform_tally *t, const char *family, const struct json *c, struct json *expected,
	struct json *got)
{
	conform_count(t, family, json_eq(expected, got) ? CONFORM_PASSED : CONFORM_FAILED,
		json_get_text(c, "id", "?"), expected, got);
}

/* ---- validation ---- */

/* As a set: members of an object. */
static struct json *set_of(struct arena *a, const struct json *list)
{
	struct json *set = json_new(a, JSON_OBJECT);

	json_each (v, list)
		json_setb(a, set, json_text(v) ? json_text(v) : "?", true);
	return set;
}

static void run_validation(struct conform_tally *t, const struct json *c, int64_t start_us)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct json *expected = json_new(&a, JSON_OBJECT), *got = json_new(&a, JSON_OBJECT),
		    *errors = json_new(&a, JSON_OBJECT);
	struct envelope_problems problems;
	bool is_valid = envelope_validate(&a, json_get(c, "envelope"), start_us, &problems);

	for (size_t i = 0; i < problems.n; i++)
		json_setb(&a, errors,
			arena_printf(&a, "%s:%s", problems.items[i].field, problems.items[i].code), true);
	json_setb(&a, expected, "valid", json_get_bool(c, "expected_valid", false));
	json_set(&a, expected, "errors", set_of(&a, json_get(c, "expected_errors")));
	json_setb(&a, got, "valid", is_valid);
	json_set(&a, got, "errors", errors);
	count(t, "validation", c, expected, got);
}

/* ---- sequences ---- */

struct sequence {
	struct arena *a;
	const struct envelope *bound;
	struct envelope_facts facts;
	struct drawn drawn;
	int64_t start_us, now_us;
};

/* What is used up is summed up as it is from a receipt. */
static void use(struct sequence *s, const struct envelope_answer *answer)
{
	struct json *receipt = json_new(s->a, JSON_OBJECT), *metadata = json_new(s->a, JSON_OBJECT);

	json_set(s->a, metadata, DRAWS_MEMBER, draws_json(s->a, answer->draws, answer->draw_count));
	json_set(s->a, receipt, "metadata", metadata);
	json_sets(s->a, receipt, "timestamp", text_time_z(s->a, s->now_us));
	(void)drawn_receipt(&s->drawn, receipt);
}

static struct json *run_step(struct sequence *s, const struct json *step)
{
	const struct json *q = json_get(step, "request");
	struct json *got = json_new(s->a, JSON_OBJECT);
	struct envelope_request request = { .effect_class = json_get_text(q, "effect_class", ""),
		.effect_type = json_get_text(q, "effect_type", ""),
		.jurisdiction = json_get_text(q, "jurisdiction", ""),
		.data_class = json_get_text(q, "data_class", ""),
		.blast_radius = json_get_text(q, "blast_radius", ""),
		.estimated_cost = json_get_int(q, "estimated_cost", 0),
		.resources = json_get(q, "resources"),
		.from_region = "",
		.to_region = "",
		.category = "" };
	struct envelope_answer answer;

	s->now_us = s->start_us + json_get_int(step, "at_seconds", 0) * 1000000;
	s->facts.drawn = &s->drawn;
	envelope_check(s->a, s->bound, &request, &s->facts, s->now_us, &answer);
	json_setb(s->a, got, "allowed", !answer.is_refused);
	json_sets(s->a, got, "violation", answer.is_refused ? reason_get(answer.first)->code : "");
	json_sets(s->a, got, "escalation", answer.escalation ? answer.escalation : "");
	if (!answer.is_refused)
		use(s, &answer);
	return got;
}

static struct json *expected_step(struct arena *a, const struct json *step)
{
	struct json *expected = json_new(a, JSON_OBJECT);

	json_setb(a, expected, "allowed", json_get_bool(step, "expected_allowed", false));
	json_sets(a, expected, "violation", json_get_text(step, "expected_violation", ""));
	json_sets(a, expected, "escalation", json_get_text(step, "expected_escalation", ""));
	return expected;
}

static void run_sequence(
	struct conform_tally *t, const struct json *c, const struct json *envelope, int64_t start_us)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct sequence s = { .a = &a, .start_us = start_us, .now_us = start_us };
	struct json *expected = json_new(&a, JSON_ARRAY), *got = json_new(&a, JSON_ARRAY);
	const struct json *own = json_get(c, "envelope"), *counters = json_get(c, "final_counters");
	struct err e = { 0 };

	s.facts = (struct envelope_facts){ .run = "run", .bound_us = start_us };
	if (envelope_bind(&a, own ? own : envelope, NULL, start_us, &s.bound, &e))
		json_pushs(&a, got, e.text);
	json_each (step, json_get(c, "steps")) {
		json_push(&a, expected, expected_step(&a, step));
		json_push(&a, got, run_step(&s, step));
	}
	if (json_is(counters, JSON_OBJECT) && s.bound) {
		json_push(&a, expected, json_copy(&a, counters));
		json_push(&a, got, envelope_counters(&a, s.bound, &s.facts, s.now_us));
	}
	count(t, "sequence", c, expected, got);
	drawn_done(&s.drawn);
}

int conform_envelope(struct conform_place *p, struct conform_tally *t, struct err *e)
{
	const char *start;
	struct json *doc;
	int64_t start_us;

	if (conform_document(p, t->a, "derived/autonomy-envelope-cases.json", &doc, e))
		return e->rc;
	if (!doc)
		return OK;
	start = json_get_text(doc, "clock_start", "");
	if (!text_parse_time(start, strlen(start), &start_us))
		return err_set(e, E_INPUT, "CONFORM_CASE", "clock_start is no time");
	json_each (c, json_get(doc, "gate_sequences"))
		run_sequence(t, c, json_get(doc, "envelope"), start_us);
	json_each (c, json_get(doc, "validation"))
		run_validation(t, c, start_us);
	return OK;
}

/* ---- lifecycles ---- */

/* Which state of an effect may follow which (docs/formats/lifecycle.md).  What the table does not have is refused. */
static bool may_follow(const char *from, const char *to)
{
	static const char *const steps[][2] = { { "", "SUBMITTED" }, { "SUBMITTED", "APPROVED" },
		{ "SUBMITTED", "DENIED" }, { "SUBMITTED", "ESCALATED" }, { "ESCALATED", "APPROVED" },
		{ "ESCALATED", "DENIED" }, { "APPROVED", "EXECUTING" }, { "EXECUTING", "COMPLETED" },
		{ "EXECUTING", "FAILED" }, { "COMPLETED", "COMPENSATED" }, { "FAILED", "COMPENSATED" } };

	for (size_t i = 0; i < ARRAY_SIZE(steps); i++)
		if (text_eq(steps[i][0], from) && text_eq(steps[i][1], to))
			return true;
	return false;
}

/* Two ways out of one state stand in one fixture: each transition begins where the fixture says, and must have been reached.  None can be
 * taken back, and a fixture without any shows nothing. */
static void run_lifecycle(struct conform_tally *t, const struct json *c)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct json *expected = json_new(&a, JSON_ARRAY), *got = json_new(&a, JSON_ARRAY),
		    *reached = json_new(&a, JSON_OBJECT);

	json_each (v, json_get(c, "transitions")) {
		const char *from = json_get_text(v, "from", ""), *to = json_get_text(v, "to", "");
		bool may = (!*from || json_get(reached, from)) && may_follow(from, to);
		json_setb(&a, reached, to, true);
		json_pushs(&a, expected, to);
		bool is_two_way = *from && may_follow(to, from);
		json_pushs(&a, got, !may ? "refused" : is_two_way ? "can be taken back" : to);
	}
	if (expected->n == 0)
		json_pushs(&a, got, "no transition");
	count(t, "lifecycle", c, expected, got);
}

int conform_lifecycle(struct conform_place *p, struct conform_tally *t, struct err *e)
{
	struct json *doc;

	if (conform_document(p, t->a, "protocols/conformance/v1/test-vectors.json", &doc, e))
		return e->rc;
	json_each (c, json_get(doc, "lifecycle_fixtures"))
		run_lifecycle(t, c);
	return OK;
}
