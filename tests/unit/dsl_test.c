/* dsl_test.c — the policy language: where mistakes are found and how they are told, code that must not run, answers for people, bounds, and
 * what always holds.  Acceptance and answers case by case: tests/cases/policy-dsl, run by tests/cli/policy_dsl.t. */
#include "base/hash.h"
#include "decide/dsl/run.h"
#include "tools/unit.h"

#include <string.h>

static const struct dsl_policy *compile(struct arena *a, const char *text, struct dsl_problems *problems)
{
	return dsl_compile(a, bytes_of(text), problems);
}

/* A policy that must compile. */
static const struct dsl_policy *policy(struct arena *a, const char *text)
{
	struct dsl_problems problems;
	const struct dsl_policy *p = compile(a, text, &problems);

	if (!p)
		fail_msg("%s at %u:%u: %s", problems.items[0].code, problems.items[0].line,
			problems.items[0].column, text);
	return p;
}

/* A policy of one rule about nodes in module tools. */
static const char *with_when(struct arena *a, const char *when)
{
	return arena_printf(a,
		"module tools { rule r { scope: node when: %s enforce: deny explain: CPI.TOOLS.FORBIDDEN.X } }",
		when);
}

static struct json *parse(struct arena *a, const char *text)
{
	struct json *v;
	struct err e;

	if (json_parse(a, bytes_of(text), "test", NULL, &v, &e))
		fail_msg("%s", e.text);
	return v;
}

static struct json *judge(struct arena *a, const char *text, const char *request)
{
	struct json *answer;
	struct err e;

	if (dsl_judge(a, policy(a, text), parse(a, request), &answer, &e))
		fail_msg("%s", e.text);
	return answer;
}

static const char *verdict_of(const struct json *answer)
{
	return json_get_text(answer, "verdict", "");
}

static const struct json *first(const struct json *answer)
{
	return json_at(json_get(answer, "subjects"), 0);
}

/* ---- mistakes ---- */

/* Each is told at its place with the word that stands there; columns count characters. */
static void places(void **state)
{
	static const struct {
		const char *text, *code, *word;
		uint32_t line, column;
	} rows[] = {
		{ "module tools {\n rule r { scope: ünode", "E_LEX", "ü", 2, 18 },
		{ "module tools {\n  rule r {\n    scope: nod", "E_SCOPE", "nod", 3, 12 },
		{ "// é\nmodule tools { rule r { scope: node(x == \"é\" and y = 3) ", "E_SYNTAX", "=", 2,
			52 },
		{ "module tools { rule r { scope: node when: \"\\q\"", "E_LEX", "\\q", 1, 44 },
		{ "module tools { rule r { scope: node when: delta.a == 99999999999999999999 ", "E_RANGE",
			"99999999999999999999", 1, 54 },
		{ "module fools {", "E_MODULE", "fools", 1, 8 },
		{ "module tools { rule r ", "E_SYNTAX", "", 1, 23 },
		{ "module tools { template t { explode(x = 1) } }", "E_PATCHOP", "explode", 1, 29 },
		{ "x", "E_SYNTAX", "x", 1, 1 },
		{ "module tools { rule r { scope: node when: has_tag(true \x01", "E_LEX", "\\x01", 1, 56 },
	};
	AUTO(arena_done) struct arena a = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct dsl_problems p;
		assert_null(compile(&a, rows[i].text, &p));
		assert_true(p.errors >= 1);
		const struct dsl_problem *is = &p.items[0];
		if (!text_eq(is->code, rows[i].code) || !text_eq(is->word, rows[i].word) ||
			is->line != rows[i].line || is->column != rows[i].column)
			fail_msg("row %zu: %s at %u:%u '%s'", i, is->code, is->line, is->column, is->word);
		assert_true(is->text[0] && is->fix[0] && !is->is_warning);
	}
}

/* A long word is cut between characters. */
static void long_words(void **state)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct dsl_problems p;

	(void)state;
	assert_null(compile(&a,
		arena_printf(
			&a, "module tools { rule r { scope: node when: delta.a == \"%058dé%090d\n", 0, 0),
		&p));
	assert_string_equal(p.items[0].word, arena_printf(&a, "\"%058dé", 0));
}

/* One mistake for each rule, in the order of the text, and rules after it are still read. */
static void several_mistakes(void **state)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct dsl_problems p;
	static const char *const codes[] = { "E_SCOPE", "E_UNKNOWN_GUARD", "E_ENFORCE", "E_PATCHOP",
		"E_SYNTAX", "E_MODULE", "E_TEMPLATE" };

	(void)state;
	assert_null(compile(&a,
		"module tools {\n"
		" rule a { scope: nodes when: delta.x == enforce: allow }\n"
		" rule b { scope: node when: fact(\"k\") enforce: deny explain: CPI.TOOLS.FORBIDDEN.X }\n"
		" rule c { scope: node when: delta.x == 1 enforce: allow explain: CPI.TOOLS.FORBIDDEN.X }\n"
		" template t { nothing(x = 1) }\n"
		" rule d { scope: node }\n"
		" rule good { scope: node when: delta.x == 1 enforce: deny explain: CPI.TOOLS.FORBIDDEN.X }\n"
		"}\n"
		"module wrong { rule e { scope: nothing } }\n"
		"module data { rule f { scope: node when: delta.x == 1 enforce: deny explain: CPI.TOOLS.FORBIDDEN.X patch: t() } }\n",
		&p));
	assert_int_equal(p.errors, ARRAY_SIZE(codes));
	for (size_t i = 0, at = 0; i < p.n; i++)
		if (!p.items[i].is_warning)
			assert_string_equal(p.items[i].code, codes[at++]);
}

/* However many mistakes: some are told, all are counted. */
static void many_mistakes(void **state)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct dsl_problems p;
	struct buf b;

	(void)state;
	buf_init(&b, &a);
	buf_adds(&b, "module tools { ");
	for (int i = 0; i < 150; i++)
		buf_addf(&b, "rule a%d { scope: x } ", i);
	assert_null(compile(&a, b.p, &p));
	assert_int_equal(p.errors, 150);
	assert_int_equal(p.n, DSL_MAX_PROBLEMS);
}

/* Limits that no published case has. */
static void limits(void **state)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct dsl_problems p;
	struct buf b;

	(void)state;
	char *large = arena_alloc(&a, DSL_MAX_BYTES + 1);
	memset(large, ' ', DSL_MAX_BYTES + 1);
	assert_null(dsl_compile(&a, (struct bytes){ (uint8_t *)large, DSL_MAX_BYTES + 1 }, &p));
	assert_string_equal(p.items[0].code, "E_LIMIT_SIZE");
	assert_null(dsl_compile(&a, (struct bytes){ (uint8_t *)large, DSL_MAX_BYTES }, &p));
	assert_string_equal(p.items[0].code, "E_SYNTAX");
	assert_null(compile(&a, "module tools {\n \xff", &p));
	assert_string_equal(p.items[0].code, "E_LEX");
	assert_int_equal(p.items[0].line, 2);
	assert_int_equal(p.items[0].column, 2);

	for (int n = DSL_MAX_FACTS; n <= DSL_MAX_FACTS + 1; n++) {
		buf_init(&b, &a);
		for (int i = 0; i < n; i++)
			buf_addf(&b, "%sknown(fact(\"k%d\"))", i ? " or " : "", i);
		assert_true((compile(&a, with_when(&a, b.p), &p) != NULL) == (n == DSL_MAX_FACTS));
	}
	assert_string_equal(p.items[0].code, "E_LIMIT_FACTS");
	buf_init(&b, &a);
	buf_adds(&b, "module tools { ");
	for (int i = 0; i <= DSL_MAX_TEMPLATES; i++)
		buf_addf(&b, "template t%d { add_tag(tag = \"x\") } ", i);
	assert_null(compile(&a, b.p, &p));
	assert_string_equal(p.items[0].code, "E_LIMIT_TEMPLATES");
	buf_init(&b, &a);
	for (int i = 0; i < 10; i++)
		buf_adds(&b, i ? ", t()" : "t()");
	assert_null(compile(&a,
		arena_printf(&a,
			"module tools { template t { add_tag(tag = \"x\") } rule r { scope: node when: delta.x == 1 enforce: deny explain: CPI.TOOLS.FORBIDDEN.X patch: [%s] } }",
			b.p),
		&p));
	assert_string_equal(p.items[0].code, "E_LIMIT_PATCHES");
	buf_init(&b, &a);
	for (int i = 0; i < 17; i++)
		buf_addf(&b, "%s%d", i ? ", " : "", i);
	assert_null(compile(&a, arena_printf(&a, "module tools { template t { add_tag(%s) } }", b.p), &p));
	assert_string_equal(p.items[0].code, "E_LIMIT_PARAMS");
	memset(large, 'x', 129);
	large[129] = 0;
	assert_null(compile(&a, arena_printf(&a, "module tools { rule %s ", large), &p));
	assert_string_equal(p.items[0].code, "E_LEX");
}

/* Warnings do not refuse; they name the rule through which an absent fact makes an answer milder, and no other. */
static void warnings(void **state)
{
	static const struct {
		const char *when, *enforce, *code;
	} rows[] = {
		{ "known(fact(\"k\")) and fact(\"k\") == 1", "deny", "W_FACT_ABSENT" },
		{ "not known(fact(\"k\")) or fact(\"k\") == 1", "deny", NULL },
		{ "not known(fact(\"k\"))", "deny", NULL },
		{ "not known(fact(\"k\")) and delta.x == 1", "deny", NULL },
		{ "(not known(fact(\"k\")) or fact(\"k\") == 1) and delta.x == 1", "deny", "W_FACT_ABSENT" },
		{ "not (known(fact(\"k\")) and fact(\"k\") == 1)", "deny", NULL },
		{ "not (not known(fact(\"k\")))", "deny", "W_FACT_ABSENT" },
		{ "known(fact(\"k\")) == false", "deny", "W_FACT_ABSENT" },
		{ "false == known(fact(\"k\"))", "deny", "W_FACT_ABSENT" },
		{ "not known(fact(\"k\"))", "rewrite({ add_tag(tag = \"x\") })", "W_FACT_ABSENT" },
		{ "delta.x == 1", "rewrite({ add_tag(tag = \"x\") })", NULL },
		{ "delta.x == 1", "rewrite({ add_tag(label = \"x\") add_gate(label = \"x\") })",
			"W_REWRITE" },
	};
	AUTO(arena_done) struct arena a = { 0 };
	struct dsl_problems p;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_non_null(compile(&a,
			arena_printf(&a,
				"module tools { rule r { scope: node when: %s enforce: %s explain: CPI.TOOLS.FORBIDDEN.X } }",
				rows[i].when, rows[i].enforce),
			&p));
		if (p.n != (rows[i].code ? 1 : 0) ||
			(rows[i].code && !text_eq(p.items[0].code, rows[i].code)))
			fail_msg("%s: %zu problems", rows[i].when, p.n);
	}
	assert_non_null(compile(&a,
		"module tools { rule r { scope: node when: delta.x == 1 enforce: deny explain: CPI.WEATHER.RAIN.X } "
		"rule s { scope: node when: delta.x == 1 enforce: deny explain: CPI.LICENSE.MISSING_PRIMITIVE.MICA, jurisdiction_id = 1, 2 } }",
		&p));
	assert_int_equal(p.n, 3);
	assert_string_equal(p.items[0].code, "W_CATEGORY");
	assert_string_equal(p.items[1].code, "W_DOMAIN");
	assert_string_equal(p.items[2].code, "W_EXPLAIN");
	assert_int_equal(p.errors, 0);
}

/* ---- code ---- */

/* What a program must not be: one that the compiler never makes, but a damaged one could. */
static void verifier(void **state)
{
	struct dsl_value consts[] = { { .type = TYPE_STRING, .text = "k" }, { .type = TYPE_BOOL },
		{ .type = TYPE_LIST } };
	const char *names[] = { "delta", "x" };
	const struct dsl_path path = { names, 2, "delta.x" }, *paths[] = { &path };
	static const struct {
		struct dsl_instr code[8];
		size_t n;
		const char *why;
	} rows[] = {
		{ { { OP_CONST, 0, 1 }, { OP_RETURN, 0, 0 } }, 2, NULL },
		{ { { OP_KNOWN, 0, 0 }, { OP_JUMP_FALSE, 0, 4 }, { OP_POP, 0, 0 }, { OP_KNOWN, 0, 0 },
			  { OP_RETURN, 0, 0 } },
			5, NULL },
		{ { { OP_CONST, 0, 1 } }, 1, "no end" },
		{ { { 99, 0, 0 } }, 1, "an instruction that does not exist" },
		{ { { OP_RETURN, 0, 0 } }, 1, "a value that is not there" },
		{ { { OP_CONST, 0, 0 }, { OP_COMPARE, 0, 0 } }, 2, "a value that is not there" },
		{ { { OP_CONST, 0, 0 }, { OP_RETURN, 0, 0 } }, 2, "something else where a bool is needed" },
		{ { { OP_REF, 0, 0 }, { OP_NOT, 0, 0 } }, 2, "something else where a bool is needed" },
		{ { { OP_CONST, 0, 3 } }, 1, "a constant that is not there" },
		{ { { OP_FACT, 0, 1 } }, 1, "a fact without a key" },
		{ { { OP_KNOWN, 0, 3 } }, 1, "a fact without a key" },
		{ { { OP_IN, 0, 0 } }, 1, "a set that is no list" },
		{ { { OP_TAGGED, 0, 3 } }, 1, "a set that is no list" },
		{ { { OP_REF, 0, 1 } }, 1, "a path that is not there" },
		{ { { OP_MEMBER, 0, 1 } }, 1, "a path that is not there" },
		{ { { OP_CONST, 0, 0 }, { OP_CONST, 0, 0 }, { OP_COMPARE, 7, 0 } }, 3,
			"a comparison that does not exist" },
		{ { { OP_KNOWN, 0, 0 }, { OP_JUMP_TRUE, 0, 1 }, { OP_RETURN, 0, 0 } }, 3,
			"a jump that does not lead forward inside the program" },
		{ { { OP_KNOWN, 0, 0 }, { OP_JUMP_TRUE, 0, 3 }, { OP_RETURN, 0, 0 } }, 3,
			"a jump that does not lead forward inside the program" },
		{ { { OP_CONST, 0, 0 }, { OP_KNOWN, 0, 0 }, { OP_JUMP_TRUE, 0, 3 }, { OP_RETURN, 0, 0 } }, 4,
			"a jump with more than one value" },
		{ { { OP_KNOWN, 0, 0 }, { OP_JUMP_TRUE, 0, 3 }, { OP_RETURN, 0, 0 }, { OP_RETURN, 0, 0 } }, 4,
			"a jump behind the end" },
		{ { { OP_KNOWN, 0, 0 }, { OP_JUMP_TRUE, 0, 3 }, { OP_POP, 0, 0 }, { OP_CONST, 0, 1 },
			  { OP_RETURN, 0, 0 } },
			5, "a jump to where there is not one bool" },
		{ { { OP_KNOWN, 0, 0 }, { OP_JUMP_TRUE, 0, 3 }, { OP_CONST, 0, 1 }, { OP_RETURN, 0, 0 } }, 4,
			"a jump to where there is not one bool" },
		{ { { OP_KNOWN, 0, 0 }, { OP_JUMP_TRUE, 0, 4 }, { OP_POP, 0, 0 }, { OP_CONST, 0, 0 },
			  { OP_BOOL, 0, 0 }, { OP_RETURN, 0, 0 } },
			6, "a jump to where there is not one bool" },
		{ { { OP_KNOWN, 0, 0 }, { OP_KNOWN, 0, 0 }, { OP_RETURN, 0, 0 } }, 3,
			"more than one value at the end" },
		{ { { OP_KNOWN, 0, 0 }, { OP_KNOWN, 0, 0 }, { OP_KNOWN, 0, 0 }, { OP_KNOWN, 0, 0 },
			  { OP_KNOWN, 0, 0 } },
			5, "more values than there is room for" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct dsl_instr copy[8];
		uint8_t lands[8] = { 0 };
		struct dsl_code code = { .instrs = copy,
			.n = rows[i].n,
			.consts = consts,
			.const_n = 3,
			.paths = paths,
			.path_n = 1 };
		memcpy(copy, rows[i].code, sizeof copy);
		const char *why = dsl_verify(&code, 0, lands);
		if (rows[i].why ? !why || !text_eq(why, rows[i].why) : why != NULL)
			fail_msg("row %zu: %s", i, why ? why : "accepted");
	}
}

/* ---- answers ---- */

static void witness(void **state)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct json *answer = judge(&a,
		"bundle b { cpi: sha256:abababababababababababababababababababababababababababababababab }\n"
		"module treasury { template gate { add_gate(kind = \"cfo\", on = delta.flow, note = delta.memo) }\n"
		"rule pay { scope: capital_flow when: known(fact(\"limit\")) and delta.flow.amount > fact(\"limit\") and not has_primitive(delta.flow, \"cap\")\n"
		"enforce: require_approval(\"cfo\") explain: AUTH.TREASURY.NEEDS_APPROVAL.PAYMENT_OVER_THRESHOLD, amount_cents = delta.flow.amount, threshold_cents = 5, currency = \"EUR\", delta.none\n"
		"patch: gate(x = delta.big) } }",
		"{\"subjects\":[{\"id\":\"f1\",\"target\":\"capital_flow\",\"value\":{\"amount\":{\"money\":[\"EUR\",70000]}}}],"
		"\"delta\":{\"memo\":\"rent\",\"big\":{\"a\":1}},\"facts\":{\"limit\":{\"money\":[\"EUR\",50000]}}}");
	const struct json *s = first(answer);
	struct json *want = parse(&a,
		"{\"id\":\"f1\",\"target\":\"capital_flow\",\"verdict\":\"ESCALATE\",\"rule\":\"treasury.pay\","
		"\"code\":\"AUTH.TREASURY.NEEDS_APPROVAL.PAYMENT_OVER_THRESHOLD\",\"reason_code\":\"APPROVAL_REQUIRED\","
		"\"inputs\":{\"fact(limit)\":{\"money\":[\"EUR\",50000]},\"delta.flow.amount\":{\"money\":[\"EUR\",70000]},\"primitives\":[]},"
		"\"missing_primitives\":[\"cap\"],\"approver_role\":\"cfo\",\"suggested_patches\":[\"gate\"],"
		"\"patches\":[{\"template\":\"gate\",\"args\":{\"x\":{\"ref\":\"delta.big\"}},\"ops\":[{\"op\":\"add_gate\",\"args\":{\"kind\":\"cfo\",\"on\":{\"ref\":\"delta.flow\"},\"note\":\"rent\"}}]}],"
		"\"explain\":{\"key\":\"reason.auth_treasury_needs_approval_payment_over_threshold.summary\",\"args\":{\"amount_cents\":{\"money\":[\"EUR\",70000]},\"threshold_cents\":5,\"currency\":\"EUR\",\"arg4\":null}},"
		"\"steps\":[[\"treasury.pay\",\"FAIL\"]]}");

	(void)state;
	json_each_member (m, want) {
		if (!json_eq(m->value, json_get(s, m->name)))
			fail_msg("member %s", m->name);
	}
	assert_int_equal(s->n, want->n);
	assert_string_equal(json_get_text(answer, "reason_code", ""), "APPROVAL_REQUIRED");
	assert_string_equal(json_get_text(answer, "cpi", ""),
		"sha256:abababababababababababababababababababababababababababababababab");
	assert_int_equal(strlen(json_get_text(answer, "input_hash", "")), 71);
}

/* An answer repeats a bounded part of what was read, each thing once, and a rewrite may make the first delta. */
static void bounded_answers(void **state)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct buf when;

	(void)state;
	buf_init(&when, &a);
	for (int i = 0; i < 40; i++)
		buf_addf(&when, "%snot has_primitive(delta.node, \"p%d\")", i ? " and " : "", i / 2);
	const struct json *s = first(
		judge(&a, with_when(&a, when.p), "{\"subjects\":[{\"target\":\"node\",\"value\":{}}]}"));
	assert_int_equal(json_get(s, "missing_primitives")->n, RUN_NOTES / 2);
	s = first(judge(&a,
		"module tools { rule r { scope: node when: not has_tag(delta.node, \"x\") enforce: rewrite({ add_tag(\"x\") add_gate(a = snapshot.long, b = snapshot.list, c = snapshot.short) }) explain: CPI.TOOLS.FORBIDDEN.X } }",
		arena_printf(&a,
			"{\"subjects\":[{\"target\":\"node\",\"value\":{}}],\"snapshot\":{\"long\":\"%0257d\",\"list\":[\"%0200d\",\"%0200d\"],\"short\":\"%0256d\"}}",
			0, 0, 0, 0)));
	assert_true(json_eq(json_get(s, "final_delta"),
		parse(&a,
			arena_printf(&a,
				"{\"add_gate\":[{\"a\":{\"ref\":\"snapshot.long\"},\"b\":{\"ref\":\"snapshot.list\"},\"c\":\"%0256d\"}]}",
				0))));
}

/* The registered code beside the policy's own. */
static void registered_codes(void **state)
{
	static const char *const rows[][2] = { { "CPI.TOOLS.FORBIDDEN.X", "POLICY_VIOLATION" },
		{ "CPI.JURISDICTION.FORBIDDEN.X", "JURISDICTION_VIOLATION" },
		{ "PEP.TREASURY.LIMIT_EXCEEDED.X", "BUDGET_EXCEEDED" },
		{ "SCHEMA.MERGE.CONFLICT.X", "POLICY_EPOCH_CHANGED" },
		{ "SCHEMA.MERGE.INVARIANT_BREACH.X", "SCHEMA_VIOLATION" },
		{ "EXEC.BANKING.EFFECT_FAILED.X", "VERIFICATION_FAILURE" },
		{ "EXEC.BANKING.CONNECTOR_UNREADY.X", "VERIFICATION_FAILURE" },
		{ "AUTH.DATA.NEEDS_APPROVAL.X", "POLICY_VIOLATION" } };
	AUTO(arena_done) struct arena a = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct json *answer = judge(&a,
			arena_printf(&a,
				"module tools { rule r { scope: node when: not has_tag(delta.node, \"x\") enforce: deny explain: %s } }",
				rows[i][0]),
			"{\"subjects\":[{\"target\":\"node\",\"value\":{}}]}");
		assert_string_equal(json_get_text(answer, "reason_code", ""), rows[i][1]);
		assert_string_equal(json_get_text(answer, "code", ""), rows[i][0]);
	}
}

static void requests_of_another_shape(void **state)
{
	static const char *const rows[] = { "[]", "{}", "{\"subjects\":{}}", "{\"subjects\":[],\"fact\":{}}",
		"{\"subjects\":[],\"facts\":[]}", "{\"subjects\":[],\"delta\":1}",
		"{\"subjects\":[],\"snapshot\":null}", "{\"subjects\":[1]}",
		"{\"subjects\":[{\"target\":\"node\"}]}",
		"{\"subjects\":[{\"target\":\"server\",\"value\":{}}]}", "{\"subjects\":[{\"value\":{}}]}",
		"{\"subjects\":[{\"target\":\"node\",\"value\":{},\"tags\":[]}]}" };
	AUTO(arena_done) struct arena a = { 0 };
	const struct dsl_policy *p = policy(&a, with_when(&a, "delta.x == 1"));
	struct json *answer = NULL, *many = parse(&a, "{\"subjects\":[]}");
	struct err e;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (dsl_judge(&a, p, parse(&a, rows[i]), &answer, &e) != E_INPUT)
			fail_msg("%s", rows[i]);
	assert_null(answer);
	for (int i = 0; i <= DSL_MAX_SUBJECTS; i++)
		json_push(&a, json_get(many, "subjects"), parse(&a, "{\"target\":\"node\",\"value\":{}}"));
	assert_int_equal(dsl_judge(&a, p, many, &answer, &e), E_LIMIT);
}

/* A condition, a scope, a list or a rewrite that takes too long denies. */
static void fuel(void **state)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct buf when, request;

	(void)state;
	buf_init(&when, &a);
	for (int i = 0; i < 3000; i++)
		buf_addf(&when, "%snot has_tag(delta.node, \"x\")", i ? " and " : "");
	struct json *answer =
		judge(&a, with_when(&a, when.p), "{\"subjects\":[{\"target\":\"node\",\"value\":{}}]}");
	assert_string_equal(verdict_of(answer), "DENY");
	assert_true(json_get_bool(first(answer), "error", false));
	assert_non_null(strstr(json_get_text(first(answer), "error_text", ""), "more steps"));

	buf_init(&request, &a);
	buf_adds(&request, "{\"subjects\":[{\"target\":\"node\",\"value\":{\"tags\":[");
	for (int i = 0; i < 20000; i++)
		buf_addf(&request, "%s\"t%d\"", i ? "," : "", i);
	buf_adds(&request, "]}}]}");
	assert_string_equal(
		verdict_of(judge(&a, with_when(&a, "has_tag(delta.node, \"x\")"), request.p)), "ALLOW");
	buf_init(&when, &a);
	for (int i = 0; i < 40; i++)
		buf_addf(&when, "%shas_tag(delta.node, \"x\")", i ? " or " : "");
	assert_string_equal(verdict_of(judge(&a, with_when(&a, when.p), request.p)), "DENY");
	buf_init(&when, &a);
	for (int i = 0; i < 40; i++)
		buf_addf(&when, "%s\"x\"", i ? ", " : "");
	assert_string_equal(
		verdict_of(judge(&a,
			arena_printf(&a,
				"module tools { rule r { scope: node tagged [%s] when: delta.x == 1 enforce: deny explain: CPI.TOOLS.FORBIDDEN.X } }",
				when.p),
			request.p)),
		"DENY");
	static const char *const rewrites[] = {
		"add_tag(tag = \"x\") add_tag(tag = \"y\") add_tag(tag = \"z\") add_tag(tag = \"w\")",
		"bind_jurisdiction(\"EU\")"
	};
	for (int i = 0; i < 2; i++) {
		if (i == 1) { /* many members */
			buf_init(&request, &a);
			buf_adds(&request, "{\"subjects\":[{\"target\":\"node\",\"value\":{\"a\":1");
			for (int k = 0; k < 100000; k++)
				buf_addf(&request, ",\"m%d\":1", k);
			buf_adds(&request, "}}]}");
		}
		answer = judge(&a,
			arena_printf(&a,
				"module tools { rule r { scope: node when: snapshot.a == 1 or snapshot.a == 2 enforce: rewrite({ %s }) explain: CPI.TOOLS.FORBIDDEN.X } }",
				rewrites[i]),
			arena_printf(&a, "%.*s,\"snapshot\":{\"a\":1}}", (int)request.n - 1, request.p));
		assert_string_equal(verdict_of(answer), "DENY");
		assert_true(json_get_bool(first(answer), "error", false));
	}
}

/* Looking through an object with many members costs, too. */
static void fuel_of_long_objects(void **state)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct buf when, request;

	(void)state;
	buf_init(&when, &a);
	for (int i = 0; i < 10; i++)
		buf_addf(&when, "%ssnapshot.none.x == 1", i ? " or not " : "not ");
	buf_init(&request, &a);
	buf_adds(&request,
		"{\"subjects\":[{\"target\":\"node\",\"value\":{}}],\"snapshot\":{\"none\":{\"x\":1}");
	for (int i = 0; i < 100000; i++)
		buf_addf(&request, ",\"m%d\":1", i);
	buf_adds(&request, "}}");
	struct json *answer = judge(&a, with_when(&a, when.p), request.p);
	assert_non_null(strstr(json_get_text(first(answer), "error_text", ""), "more steps"));
}

/* Same input, same bytes. */
static void is_pure(void **state)
{
	AUTO(arena_done) struct arena a = { 0 };
	const char *text = with_when(&a, "has_tag(delta.node, \"a\") or delta.x == 5");
	const char *request =
		"{\"subjects\":[{\"target\":\"node\",\"value\":{\"tags\":[\"b\"]}}],\"delta\":{\"x\":5}}";
	struct buf x, y;

	(void)state;
	buf_init(&x, &a);
	buf_init(&y, &a);
	json_canonical(&x, judge(&a, text, request));
	json_canonical(&y, judge(&a, text, request));
	assert_string_equal(x.p, y.p);
}

/* ---- layout and digest ---- */

static void digest(void **state)
{
	AUTO(arena_done) struct arena a = { 0 };
	static const char *const same[] = {
		"module data { template t { add_tag(tag = \"x\") } rule a { scope: node when: delta.x == 1 enforce: deny explain: CPI.DATA.FORBIDDEN.X patch: t() } } module tools { rule b { scope: node when: delta.x == 1 enforce: deny explain: CPI.DATA.FORBIDDEN.X } }",
		"// c\nmodule tools { rule b [priority = 1000] { scope:node when:delta.x==1 enforce:deny explain:CPI.DATA.FORBIDDEN.X } }\nmodule data { rule a { scope: node when: (delta.x == 1) enforce: deny explain: CPI.DATA.FORBIDDEN.X patch: [t()] } template t {{ add_tag(tag = \"x\") }} }"
	};
	static const char *const other[] = { "delta.x == 2", "delta.x != 1", "delta.y == 1",
		"snapshot.x == 1", "not delta.x == 1", "delta.x == \"1\"", "delta.x == 1 or delta.x == 1",
		"delta.x == 1 and delta.x == 1", "delta.x == duration_ms(1)", "delta.x == money(\"EUR\", 1)",
		"delta.x == true" };
	const char *plain = dsl_hash(policy(&a, with_when(&a, "delta.x == 1")));
	struct buf b;

	(void)state;
	assert_string_equal(dsl_hash(policy(&a, same[0])), dsl_hash(policy(&a, same[1])));
	for (size_t i = 0; i < ARRAY_SIZE(other); i++)
		assert_string_not_equal(plain, dsl_hash(policy(&a, with_when(&a, other[i]))));
	static const char header[] = "bundle %s { cpi: sha256:%064d } %s";
	const char *named = dsl_hash(policy(&a, arena_printf(&a, header, "a", 1, same[0])));
	assert_string_not_equal(named, dsl_hash(policy(&a, same[0])));
	assert_string_not_equal(named, dsl_hash(policy(&a, arena_printf(&a, header, "b", 1, same[0]))));
	assert_string_not_equal(named, dsl_hash(policy(&a, arena_printf(&a, header, "a", 2, same[0]))));
	buf_init(&b, &a);
	buf_adds(&b, "HELM/PolicyDSL/v1\n");
	json_canonical(&b, dsl_document(policy(&a, same[0])));
	assert_string_equal(sha256_prefixed(&a, b.p, b.n), dsl_hash(policy(&a, same[1])));
}

/* The layout, comments where they were, and nothing to do the second time. */
static void layout(void **state)
{
	AUTO(arena_done) struct arena a = { 0 };
	static const char given[] =
		"// first\n\n// second\nbundle b{cpi:sha256:abababababababababababababababababababababababababababababababab}// head\n"
		"// about data\nmodule data{// open\n//in\ntemplate t{{add_tag(tag=\"x\")//op\n//last\n}}rule a[priority=-5]{scope:node(k==\"T\" and r>=3)in[\"EU\",\"US\"]tagged\"x\"\n"
		"  // why \t\r\n\n when:(delta.a==1 or not(delta.b==2))and not known(fact(\"k\"))enforce:rewrite({add_tag(tag=\"y\")bind_jurisdiction(\"EU\")})explain:CPI.DATA.FORBIDDEN.3DS.X,a=delta.node,scope=5 patch:[t(),t(a=1)]}\n"
		"rule b{scope:node when:delta.a==1//one\n//two\nor delta.b==2 enforce:needs_facts([\"k\",\"j\"])explain:CPI.DATA.FORBIDDEN.X\n//end\n}}\n//bye";
	static const char wanted[] =
		"// first\n// second\nbundle b {\n  cpi: sha256:abababababababababababababababababababababababababababababababab\n} // head\n\n"
		"// about data\nmodule data { // open\n  //in\n  template t {\n    add_tag(tag = \"x\") //op\n    //last\n  }\n\n"
		"  rule a [priority = -5] {\n    scope: node(k == \"T\" and r >= 3) in [\"EU\", \"US\"] tagged \"x\"\n    // why\n"
		"    when: (delta.a == 1 or not (delta.b == 2)) and not known(fact(\"k\"))\n    enforce: rewrite({\n      add_tag(tag = \"y\")\n"
		"      bind_jurisdiction(\"EU\")\n    })\n    explain: CPI.DATA.FORBIDDEN.3DS.X, a = delta.node, scope = 5\n    patch: [t(), t(a = 1)]\n  }\n\n"
		"  rule b {\n    scope: node\n    when: delta.a == 1 //one\n        //two\n        or delta.b == 2\n    enforce: needs_facts([\"k\", \"j\"])\n"
		"    explain: CPI.DATA.FORBIDDEN.X\n    //end\n  }\n}\n\n//bye\n";
	struct bytes once = dsl_format(&a, bytes_of(given)), twice = dsl_format(&a, once);

	(void)state;
	assert_string_equal((const char *)once.p, wanted);
	assert_string_equal((const char *)twice.p, wanted);
	assert_string_equal(dsl_hash(policy(&a, given)), dsl_hash(policy(&a, wanted)));
}

/* Long conditions are broken before their outer words only. */
static void long_lines(void **state)
{
	AUTO(arena_done) struct arena a = { 0 };
	const char *text = with_when(&a,
		"(delta.aaaaaaaaaaaaaaaaaaaaaaaaaaaaa == 1 or delta.bbbbbbbbbbbbbbbbbbbbbbbbb == 2) and delta.ccccccccccccccccccccc == 3 or delta.d == 4");
	struct bytes once = dsl_format(&a, bytes_of(text));

	(void)state;
	assert_non_null(strstr((const char *)once.p,
		"    when: (delta.aaaaaaaaaaaaaaaaaaaaaaaaaaaaa == 1 or delta.bbbbbbbbbbbbbbbbbbbbbbbbb == 2)\n"
		"        and delta.ccccccccccccccccccccc == 3\n        or delta.d == 4\n    enforce: deny\n"));
	assert_true(bytes_eq(once, dsl_format(&a, once)));
}

/* ---- texts ---- */

static void texts(void **state)
{
	static const struct {
		const char *subject, *language, *text;
	} rows[] = {
		{ "{\"verdict\":\"ALLOW\"}", "en", "Allowed: this policy has no objection." },
		{ "{\"verdict\":\"ALLOW\",\"rewrites\":[\"a.b\",\"a.c\"]}", "en",
			"Allowed: this policy has no objection. The change was rewritten by a.b, a.c; only the rewritten one was judged." },
		{ "{\"verdict\":\"DENY\",\"code\":\"CPI.TOOLS.FORBIDDEN.X\",\"rule\":\"tools.r\",\"target\":\"node\"}",
			"en", "Denied. Rule tools.r forbids this node (CPI.TOOLS.FORBIDDEN.X)." },
		{ "{\"verdict\":\"DENY\",\"code\":\"CPI.TOOLS.FORBIDDEN.X\",\"rule\":\"tools.r\",\"target\":\"node\"}",
			"de", "Abgelehnt. Die Regel tools.r verbietet das (CPI.TOOLS.FORBIDDEN.X)." },
		{ "{\"verdict\":\"DENY\",\"code\":\"CPI.A.NEW_CATEGORY.X\"}", "de", "Abgelehnt." },
		/* What the rule gives counts before what is always there. */
		{ "{\"verdict\":\"DENY\",\"code\":\"CPI.A.FORBIDDEN.X\",\"rule\":\"a.b\",\"explain\":{\"key\":\"\",\"args\":{\"rule\":\"own\"}}}",
			"de", "Abgelehnt. Die Regel own verbietet das (CPI.A.FORBIDDEN.X)." },
		{ "{\"verdict\":\"DENY\",\"code\":\"CPI.A.FORBIDDEN.X\"}", "de",
			"Abgelehnt. Die Regel {rule} verbietet das (CPI.A.FORBIDDEN.X)." },
		{ "{\"verdict\":\"ESCALATE\",\"code\":\"A.B.NEEDS_FACTS.X\",\"rule\":\"a.b\",\"fact_requests\":[\"k\",\"j\"]}",
			"de",
			"Noch nicht: zuerst muss jemand etwas tun. Die Regel a.b kann nicht entscheiden, bevor mehr bekannt ist (A.B.NEEDS_FACTS.X). Herausfinden und angeben: k, j." },
		{ "{\"verdict\":\"ESCALATE\",\"code\":\"AUTH.X.NEEDS_APPROVAL.Y\",\"rule\":\"a.b\",\"target\":\"edge\",\"approver_role\":\"cfo\"}",
			"xx",
			"Not yet: somebody has to act first. Rule a.b leaves this edge to a person (AUTH.X.NEEDS_APPROVAL.Y). Ask the role 'cfo' for approval." },
		/* In English where the language has no text; an argument that is not there stays as it is. */
		{ "{\"verdict\":\"DENY\",\"code\":\"CPI.TOOLS.FORBIDDEN.TOOL_NOT_IN_ALLOWLIST\",\"explain\":{\"key\":\"reason.cpi_tools_forbidden_tool_not_in_allowlist.summary\",\"args\":{\"tool_id\":\"hammer\",\"role_id\":null}}}",
			"de", "Abgelehnt. {role_id} may not use hammer: it is not on the list." },
		{ "{\"verdict\":\"DENY\",\"code\":\"PEP.TREASURY.LIMIT_EXCEEDED.PER_VENDOR_CAP\",\"explain\":{\"key\":\"reason.pep_treasury_limit_exceeded_per_vendor_cap.summary\",\"args\":{\"vendor_id\":7,\"current_cents\":{\"money\":[\"EUR\",-50]},\"limit_cents\":{\"money\":[\"JPY\",12]}}}}",
			"en", "Denied. Spending with 7 of -0.50 EUR would pass its limit of 12 JPY." },
		{ "{\"verdict\":\"DENY\",\"code\":\"PEP.TREASURY.LIMIT_EXCEEDED.PER_VENDOR_CAP\",\"explain\":{\"key\":\"reason.pep_treasury_limit_exceeded_per_vendor_cap.summary\",\"args\":{\"vendor_id\":{\"duration_ms\":3},\"current_cents\":{\"money\":[\"KWD\",1002]},\"limit_cents\":{\"money\":[\"EUR\",-9223372036854775808]}}}}",
			"en",
			"Denied. Spending with 3 ms of 1.002 KWD would pass its limit of -92233720368547758.08 EUR." },
	};
	AUTO(arena_done) struct arena a = { 0 };
	const char *all;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_string_equal(
			dsl_explain(&a, parse(&a, rows[i].subject), rows[i].language), rows[i].text);
	assert_true(dsl_language(&a, "en", &all));
	assert_true(dsl_language(&a, "de", &all));
	assert_false(dsl_language(&a, "xx", &all));
	assert_string_equal(all, "de, en");
}

/* A translation has no key that English has not, and uses no argument that the English text does not use. */
static void translations_agree(void **state)
{
	AUTO(arena_done) struct arena a = { 0 };
	const struct json *english = dsl_messages(&a, "en"), *german = dsl_messages(&a, "de");

	(void)state;
	json_each_member (m, german) {
		const char *theirs = json_text(m->value), *ours = json_get_text(english, m->name, NULL);
		if (!ours)
			fail_msg("%s is not in English", m->name);
		for (const char *at = strchr(theirs, '{'); at; at = strchr(at + 1, '{'))
			if (!strstr(ours, arena_strndup(&a, at, strcspn(at, "}") + 1)))
				fail_msg("%s: %s", m->name, at);
	}
}

/* ---- what always holds ---- */

static uint32_t seed;
static uint32_t pick(uint32_t n)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 8) % n;
}

/* A condition that compiles, with facts that are guarded one way or the other, and parts that fail for some requests. */
static void add_condition(struct buf *b, int depth)
{
	unsigned f = pick(3);

	switch (pick(depth > 2 ? 6 : 9)) {
	case 0:
	case 1:
		buf_addf(b, "has_tag(delta.node, \"t%u\")", pick(3));
		return;
	case 2:
		buf_addf(b, "%sknown(fact(\"f%u\"))", pick(2) ? "not " : "", f);
		return;
	case 3:
		buf_addf(b, "(known(fact(\"f%u\")) and fact(\"f%u\") > %u)", f, f, pick(3));
		return;
	case 4:
		buf_addf(b, "(not known(fact(\"f%u\")) or fact(\"f%u\") > %u)", f, f, pick(3));
		return;
	case 5:
		buf_addf(b, "delta.x %s %u", pick(2) ? "==" : "<", pick(3));
		return;
	case 6:
		buf_adds(b, "not (");
		add_condition(b, depth + 1);
		buf_addc(b, ')');
		return;
	default:
		buf_addc(b, '(');
		add_condition(b, depth + 1);
		buf_adds(b, pick(2) ? " and " : " or ");
		add_condition(b, depth + 1);
		buf_addc(b, ')');
	}
}

static void add_rule(struct buf *b, const char *name, const char *enforce)
{
	static const char *const actions[] = { "deny", "require_approval(\"x\")", "needs_facts(\"f0\")",
		"rewrite({ add_tag(tag = \"t1\") })" };

	buf_addf(b, "rule %s [priority = %u] { scope: node when: ", name, pick(5));
	add_condition(b, 0);
	buf_addf(b, " enforce: %s explain: CPI.TOOLS.FORBIDDEN.X }\n", enforce ? enforce : actions[pick(4)]);
}

static struct json *random_request(struct arena *a)
{
	struct buf b;

	buf_init(&b, a);
	buf_addf(&b,
		"{\"subjects\":[{\"target\":\"node\",\"value\":{\"tags\":[%s]}}],\"delta\":{%s},\"facts\":{",
		pick(2)		  ? "\"t0\""
			: pick(2) ? "\"t0\",\"t2\""
				  : "",
		pick(4) ? pick(2) ? "\"x\":1" : "\"x\":2" : "");
	for (unsigned i = 0, n = 0; i < 3; i++)
		if (pick(2))
			buf_addf(&b, "%s\"f%u\":%s", n++ ? "," : "", i,
				pick(5) ? pick(2) ? "0" : "2" : "\"no\"");
	buf_adds(&b, "}}");
	return parse(a, b.p);
}

static bool allows(struct arena *a, const struct dsl_policy *p, const struct json *request)
{
	struct json *answer;

	assert_int_equal(dsl_judge(a, p, request, &answer, NULL), OK);
	return text_eq(verdict_of(answer), "ALLOW");
}

static const struct dsl_policy *random_policy(
	struct arena *a, struct dsl_problems *problems, const char **ret_rules)
{
	struct buf b;

	buf_init(&b, a);
	for (unsigned i = 0, n = 1 + pick(4); i < n; i++)
		add_rule(&b, arena_printf(a, "r%u", i), NULL);
	*ret_rules = b.p;
	const struct dsl_policy *p = compile(a, arena_printf(a, "module tools { %s }", b.p), problems);
	if (!p)
		fail_msg("%s: %s", problems->items[0].text, b.p);
	return p;
}

static void a_deny_rule_never_allows(void **state)
{
	AUTO(arena_done) struct arena a = { 0 };
	int mattered = 0;

	(void)state;
	seed = 1;
	for (int i = 0; i < 3000; i++) {
		struct dsl_problems problems;
		const char *rules;
		struct buf more;
		const struct dsl_policy *p = random_policy(&a, &problems, &rules), *stricter;
		struct json *request = random_request(&a);

		buf_init(&more, &a);
		add_rule(&more, "added", "deny");
		stricter = policy(&a, arena_printf(&a, "module tools { %s%s }", rules, more.p));
		if (!allows(&a, p, request) && allows(&a, stricter, request))
			fail_msg("%s + %s", rules, more.p);
		mattered += allows(&a, p, request) && !allows(&a, stricter, request);
		arena_reset(&a);
	}
	assert_true(mattered > 100);
}

/* Whether a warning names this fact. */
static bool is_listed(const struct dsl_problems *problems, const char *quoted)
{
	for (size_t i = 0; i < problems->n; i++)
		if (text_eq(problems->items[i].code, "W_FACT_ABSENT") &&
			strstr(problems->items[i].text, quoted))
			return true;
	return false;
}

static void an_absent_fact_allows_only_where_listed(void **state)
{
	AUTO(arena_done) struct arena a = { 0 };
	int milder = 0, unlisted = 0;

	(void)state;
	seed = 2;
	for (int i = 0; i < 6000; i++) {
		struct dsl_problems problems;
		const char *rules;
		const struct dsl_policy *p = random_policy(&a, &problems, &rules);
		struct json *request = random_request(&a);
		bool before = allows(&a, p, request);

		for (unsigned k = 0; k < 3; k++) {
			struct json *less = json_copy(&a, request);
			if (!json_remove(json_get(less, "facts"), arena_printf(&a, "f%u", k)))
				continue;
			bool is_told = is_listed(&problems, arena_printf(&a, "\"f%u\"", k));
			unlisted += !is_told;
			if (!before && allows(&a, p, less)) {
				milder++;
				if (!is_told)
					fail_msg("without f%u: %s", k, rules);
			}
		}
		arena_reset(&a);
	}
	assert_true(milder > 100 && unlisted > 100);
}

/* Layout never changes what a policy says. */
static void layout_keeps_the_digest(void **state)
{
	AUTO(arena_done) struct arena a = { 0 };

	(void)state;
	seed = 3;
	for (int i = 0; i < 500; i++) {
		struct dsl_problems problems;
		const char *rules;
		const struct dsl_policy *p = random_policy(&a, &problems, &rules);
		struct bytes once = dsl_format(&a, bytes_of(arena_printf(&a, "module tools { %s }", rules)));
		assert_string_equal(dsl_hash(p), dsl_hash(policy(&a, (const char *)once.p)));
		assert_true(bytes_eq(once, dsl_format(&a, once)));
		arena_reset(&a);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(places),
		cmocka_unit_test(long_words),
		cmocka_unit_test(several_mistakes),
		cmocka_unit_test(many_mistakes),
		cmocka_unit_test(limits),
		cmocka_unit_test(warnings),
		cmocka_unit_test(verifier),
		cmocka_unit_test(witness),
		cmocka_unit_test(bounded_answers),
		cmocka_unit_test(registered_codes),
		cmocka_unit_test(requests_of_another_shape),
		cmocka_unit_test(fuel),
		cmocka_unit_test(fuel_of_long_objects),
		cmocka_unit_test(is_pure),
		cmocka_unit_test(digest),
		cmocka_unit_test(layout),
		cmocka_unit_test(long_lines),
		cmocka_unit_test(texts),
		cmocka_unit_test(translations_agree),
		cmocka_unit_test(a_deny_rule_never_allows),
		cmocka_unit_test(an_absent_fact_allows_only_where_listed),
		cmocka_unit_test(layout_keeps_the_digest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
