/* claim_test.c — claims hold by evidence and by each other; in any order, however many, and never in a circle. */
#include "base/text.h"
#include "remember/claim.h"
#include "remember/consensus.h"
#include "tools/unit.h"

#include <string.h>

static struct json *parse(struct arena *a, const char *text)
{
	struct json *doc = NULL;
	struct err e = { 0 };

	if (json_parse(a, bytes_of(text), "test", NULL, &doc, &e))
		fail_msg("%s: %s", text, e.text);
	return doc;
}

/* The reasons of all claims, in their order. */
static const char *reasons(struct arena *a, const char *claims, const char *evidence)
{
	const struct claim_refuter none = { 0 };
	struct json *gate = claims_judge(a, parse(a, claims), parse(a, evidence), &none);
	struct buf text;

	buf_init(&text, a);
	buf_adds(&text, json_get_text(gate, "arbiter", "?"));
	json_each (one, json_get(gate, "claims"))
		buf_addf(&text, " %s", json_get_text(one, "reason", "?"));
	return text.p;
}

#define CLAIM(id, type, ref, more) \
	"{\"claim_id\":\"" id "\",\"evidence_type\":\"" type "\",\"evidence_refs\":[\"" ref "\"]" more "}"

static void judged(void **state)
{
	static const struct {
		const char *claims, *evidence, *said;
	} cases[] = {
		{ "[]", "[\"a:1\"]", "hold" },
		{ "null", "[]", "hold" },
		{ "[" CLAIM("x", "a", "a:1", "") "]", "[\"a:1\"]", "pass evidence_present" },
		{ "[" CLAIM("x", "a", "a:1", "") "]", "[\"a:2\"]", "hold required_evidence_missing" },
		{ "[" CLAIM("x", "a", "a:", "") "]", "[\"a:\"]", "hold required_evidence_missing" },
		{ "[" CLAIM("x", "a", "ab:1", "") "]", "[\"ab:1\"]", "hold required_evidence_missing" },
		{ "[" CLAIM("x", "b", "a:1", "") "]", "[\"a:1\"]", "hold required_evidence_missing" },
		{ "[" CLAIM("x", "a:", "a::1", "") "]", "[\"a::1\"]", "hold claim_not_structured" },
		{ "[" CLAIM("", "a", "a:1", "") "]", "[\"a:1\"]", "hold claim_not_structured" },
		{ "[null, 7, \"x\", []]", "[]",
			"hold claim_not_structured claim_not_structured claim_not_structured claim_not_structured" },
		{ "[" CLAIM("x", "a", "a:1", "") "," CLAIM("x", "a", "a:1", "") "]", "[\"a:1\"]",
			"hold duplicate_claim_id duplicate_claim_id" },
		{ "[" CLAIM("x", "a", "a:1", ",\"depends_on\":[\"y\"]") "," CLAIM("y", "a", "a:1", "") "]",
			"[\"a:1\"]", "pass evidence_present evidence_present" },
		{ "[" CLAIM("x", "a", "a:1", ",\"depends_on\":[\"y\"]") "," CLAIM("y", "a", "a:2", "") "]",
			"[\"a:1\"]", "hold prerequisite_claim_missing required_evidence_missing" },
		{ "[" CLAIM("x", "a", "a:1", ",\"depends_on\":[\"nobody\"]") "]", "[\"a:1\"]",
			"hold prerequisite_claim_missing" },
		{ "[" CLAIM("x", "a", "a:1", ",\"depends_on\":[\"x\"]") "]", "[\"a:1\"]",
			"hold claim_dependency_cycle" },
		{ "[" CLAIM("x", "a", "a:1", ",\"depends_on\":[\"y\"]") "," CLAIM(
			  "y", "a", "a:1", ",\"depends_on\":[\"x\"]") "]",
			"[\"a:1\"]", "hold claim_dependency_cycle claim_dependency_cycle" },
		{ "[" CLAIM("x", "a", "a:1", ",\"depends_on\":\"y\"") "]", "[\"a:1\"]",
			"hold invalid_claim_dependencies" },
		{ "[" CLAIM("x", "a", "a:1", ",\"depends_on\":[null]") "]", "[\"a:1\"]",
			"hold invalid_claim_dependencies" },
		{ "[" CLAIM("완료", "검증", "검증:통과", "") "]", "[\"검증:통과\"]",
			"pass evidence_present" },
	};
	AUTO(arena_done) struct arena a = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *said = reasons(&a, cases[i].claims, cases[i].evidence);
		if (!text_eq(said, cases[i].said))
			fail_msg("%s: '%s', wanted '%s'", cases[i].claims, said, cases[i].said);
	}
}

/* A long row of them, from the end to the beginning; one more than there may be holds nothing. */
static void many(void **state)
{
	AUTO(arena_done) struct arena a = { 0 };
	const struct claim_refuter none = { 0 };
	struct json *evidence = parse(&a, "[\"a:1\"]");

	(void)state;
	for (size_t n = CLAIMS_MOST; n <= CLAIMS_MOST + 1; n++) {
		struct buf text;
		buf_init(&text, &a);
		for (size_t i = 0; i < n; i++)
			buf_addf(&text,
				"%s{\"claim_id\":\"c%zu\",\"evidence_type\":\"a\",\"evidence_refs\":[\"a:1\"],\"depends_on\":[%s%zu%s]}",
				i ? "," : "[", i, i + 1 < n ? "\"c" : "\"c0\",\"c", i + 1 < n ? i + 1 : 0,
				i + 1 < n ? "\"" : "\"");
		buf_adds(&text, "]");
		struct json *gate = claims_judge(&a, parse(&a, text.p), evidence, &none);
		assert_false(json_get_bool(gate, "ok", true)); /* the last one closes the circle */
	}
}

static void refuted(void **state)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct json *claims = parse(&a, "[" CLAIM("x", "a", "a:1", "") "]"), *seen = parse(&a, "[\"a:1\"]");

	(void)state;
	for (int i = 0; i < 4; i++) {
		const struct claim_refuter against = { .has_scope_violation = i & 1, .is_pending = i & 2 };
		assert_int_equal(json_get_bool(claims_judge(&a, claims, seen, &against), "ok", i), i == 0);
	}
}

/* Whatever is asked for, a plan is never approved that leaves the workspace or has no criterion of somebody's own. */
static void planned(void **state)
{
	static const struct {
		const char *plan, *acceptance;
		bool ok;
	} cases[] = {
		{ "{}", NULL, false },
		{ "{}", "it is there", false },
		{ "null", "it is there", false },
		{ "{\"scope\":[\"docs\"]}", NULL, false },
		{ "{\"scope\":[\"docs\"]}", "it is there", true },
		{ "{\"scope\":[\"docs/\"]}", "있다", true },
		{ "{\"scope\":[\"docs\",\"a/../..\"]}", "x", false },
		{ "{\"scope\":[\"a/..\"]}", "x", false },
		{ "{\"scope\":[\"~\"]}", "x", false },
		{ "{\"scope\":[\"\"]}", "x", false },
		{ "{\"scope\":[\"a\\nb\"]}", "x", false },
		{ "{\"scope\":[\"docs\"],\"tasks\":[{\"task_id\":\"a\",\"title\":\"t\",\"scope\":[\"docsx\"]}]}",
			"x", false },
		{ "{\"scope\":[\"docs\"],\"tasks\":[{\"task_id\":\"a\",\"title\":\"t\",\"scope\":[\"docs/x\"]}]}",
			"x", true },
		{ "{\"scope\":[\"docs\"],\"tasks\":[null]}", "x", false },
		{ "{\"scope\":[\"docs\"],\"tasks\":{}}", "x", false },
		{ "{\"scope\":[\"docs\"],\"schema_version\":2}", "x", false },
		{ "{\"scope\":[\"docs\"],\"profile\":\"service_ops\"}", "x", false },
		{ "{\"scope\":[\"docs\"],\"verification\":[]}", "x", false },
		{ "{\"scope\":[\"docs\"],\"tasks\":[{\"task_id\":\"a\",\"title\":\"t\",\"acceptance_criteria\":[\" \"]}]}",
			"x", false },
	};
	AUTO(arena_done) struct arena a = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct consensus_about about = { .task_id = "t",
			.objective = "o",
			.profile = "risky_edit",
			.acceptance = &cases[i].acceptance,
			.acceptance_count = cases[i].acceptance ? 1 : 0,
			.has_checkpoint = true };
		struct json *review = consensus_review(&a, parse(&a, cases[i].plan), &about);
		if (json_get_bool(review, "ok", false) != cases[i].ok)
			fail_msg("%s: %s", cases[i].plan, json_get_text(review, "reason", "approved"));
	}
}

static void criteria(void **state)
{
	static const char evidence[] =
		"[\"process_exit:0\",\"test_result:passed\",\"scope_gate:ok\",\"filesystem_stat:docs/a.md#sha256=00\",\"filesystem_stat:docs/gone#absent\"]";
	static const struct {
		const char *criterion, *types;
		bool holds;
	} cases[] = {
		{ "all tests pass", "test_result", true },
		{ "The Command exits with 0", "process_exit", true },
		{ "docs/a.md is there", "filesystem_stat", true },
		{ "the file is written", "filesystem_stat", true },
		{ "docs/a.md.", "filesystem_stat", true },
		{ "docs/a.md and the tests", "test_result filesystem_stat", true },
		{ "changes stay in scope", "scope_gate", true },
		{ "docs/gone is there", "filesystem_stat", false },
		{ "docs/a.mdx is there", "filesystem_stat", false },
		{ "other/docs/a.md is there", "filesystem_stat", false },
		{ "the service answers and the tests pass", "test_result service_readback", false },
		{ "it is beautiful", "unprovable", false },
		{ "the contest is won", "unprovable", false },
		{ "no tests fail", "unprovable", false },
		{ "the tests don't fail", "unprovable", false },
		{ "the command exits without an error", "unprovable", false },
	};
	const struct claim_refuter none = { 0 };
	struct arena a = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct json *plan = parse(&a,
			arena_printf(
				&a, "{\"tasks\":[{\"acceptance_criteria\":[\"%s\"]}]}", cases[i].criterion));
		struct json *claims = consensus_criteria(&a, plan, parse(&a, evidence));
		struct buf types;
		buf_init(&types, &a);
		json_each (one, claims)
			buf_addf(
				&types, "%s%s", types.n ? " " : "", json_get_text(one, "evidence_type", "?"));
		assert_string_equal(types.p, cases[i].types);
		if (json_get_bool(claims_judge(&a, claims, parse(&a, evidence), &none), "ok", false) !=
			cases[i].holds)
			fail_msg("%s", cases[i].criterion);
	}
	arena_done(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(judged),
		cmocka_unit_test(many),
		cmocka_unit_test(refuted),
		cmocka_unit_test(planned),
		cmocka_unit_test(criteria),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
