/* bundle_test.c — policy files: what each shape becomes, and everything that is refused, with its place. */
#include "base/conf.h"
#include "base/hash.h"
#include "decide/bundle/bundle.h"
#include "proof/key.h"
#include "tools/cases.h"
#include "tools/unit.h"

#include <string.h>

/* Files that a case has beside it. */
static int fetch(void *ctx, const char *name, struct bytes *ret, struct err *e)
{
	const struct json *text = json_get(ctx, name);

	if (!text)
		return err_set(e, E_MISSING, "FILE_MISSING", "there is no %s", name);
	*ret = (struct bytes){ (const uint8_t *)text->text, text->n };
	return OK;
}

/* "CODE line:column" of each problem, in order. */
static struct json *problems_of(struct arena *a, const struct policy_problems *p)
{
	struct json *list = json_new(a, JSON_ARRAY);

	for (size_t i = 0; i < p->n; i++) {
		struct json *row =
			json_stringf(a, "%s %u:%u", p->items[i].code, p->items[i].line, p->items[i].column);
		json_push(a, list, row);
		assert_non_null(p->items[i].text);
		assert_non_null(p->items[i].fix);
		assert_true(strlen(policy_problem_line(a, &p->items[i])) > 4);
	}
	return list;
}

/* Every member that is expected is there, at every depth; lists are equal in length. */
static bool includes(const struct json *want, const struct json *got)
{
	if (json_is(want, JSON_OBJECT)) {
		json_each_member (m, want)
			if (!includes(m->value, json_get(got, m->name)))
				return false;
		return json_is(got, JSON_OBJECT);
	}
	if (!json_is(want, JSON_ARRAY))
		return json_eq(want, got);
	if (!json_is(got, JSON_ARRAY) || got->n != want->n)
		return false;
	for (size_t i = 0; i < want->n; i++)
		if (!includes(want->items[i], got->items[i]))
			return false;
	return true;
}

static const char *text_of(struct arena *a, const struct json *v)
{
	struct buf b;

	if (!v)
		return "nothing";
	buf_init(&b, a);
	json_write(&b, v, 0);
	return b.p;
}

static void run_case(struct arena *a, const char *name, const struct json *given, const struct json *expect)
{
	const struct json *want = json_get(expect, "problems"), *document = json_get(expect, "document"),
			  *report = json_get(expect, "report"), *lint = json_get(expect, "lint");
	const char *text = json_get_text(given, "text", ""), *shape = json_get_text(given, "shape", "detect");
	struct policy_input in = { .text = bytes_of(text),
		.name = json_get_text(given, "file", "dir/p.yaml"),
		.as_policy = json_get_bool(given, "as_policy", false),
		.is_import = json_get_bool(given, "import", false),
		.known_variables = json_get(given, "known"),
		.fetch = json_get(given, "beside") ? fetch : NULL,
		.fetch_ctx = json_get(given, "beside") };
	struct policy_reading r;
	struct err e = { 0 };

	if (!text_eq(shape, "detect"))
		in.shape = policy_shape_find(shape);
	int rc = policy_document_read(a, &in, &r, &e);
	const struct json *got = problems_of(a, &r.problems);
	if (!json_eq(got, want ? want : json_new(a, JSON_ARRAY)))
		fail_msg("%s: problems %s (%s)", name, text_of(a, got), e.text);
	if ((rc == OK) != (r.problems.errors == 0) || (rc == OK) != (r.document != NULL))
		fail_msg("%s: rc %d", name, rc);
	if (document && !includes(document, r.document))
		fail_msg("%s: document %s", name, text_of(a, r.document));
	if (report && !includes(report, r.report))
		fail_msg("%s: report %s", name, text_of(a, r.report));
	if (json_get(expect, "shape") &&
		!text_eq(json_get_text(expect, "shape", ""), policy_shape_name(r.shape)))
		fail_msg("%s: read as %s", name, policy_shape_name(r.shape));
	if (json_get(expect, "hash") &&
		!text_eq(json_get_text(expect, "hash", ""), r.content_hash ? r.content_hash : ""))
		fail_msg("%s: hash %s", name, r.content_hash ? r.content_hash : "none");
	if (json_get(expect, "error") && !text_eq(json_get_text(expect, "error", ""), e.text))
		fail_msg("%s: error %s", name, e.text);
	if (lint) {
		struct policy_problems found = { 0 };
		policy_lint(a, r.document, in.name, &found);
		if (!json_eq(problems_of(a, &found), lint))
			fail_msg("%s: lint %s", name, text_of(a, problems_of(a, &found)));
		assert_int_equal(policy_problems_json(a, &found)->n, found.n);
	}
}

static void test_cases(void **state)
{
	(void)state;
	cases_run("tests/cases/policy_files.jsonl", run_case);
}

/* ---- layouts ---- */

static void run_format(struct arena *a, const char *name, const struct json *given, const struct json *expect)
{
	struct policy_input in = { .text = bytes_of(json_get_text(given, "text", "")),
		.name = json_get_text(given, "file", "p.yaml") };
	struct policy_reading r;
	struct err e = { 0 };

	if (policy_document_read(a, &in, &r, &e))
		fail_msg("%s: %s", name, e.text);
	struct bytes made = policy_format(a, in.text, r.shape, r.source), again;
	if (!bytes_is(made, json_text(expect)))
		fail_msg("%s: %.*s", name, (int)made.n, (const char *)made.p);
	again = policy_format(a, made, r.shape, r.source);
	assert_true(bytes_eq(made, again));
}

static void test_layouts(void **state)
{
	(void)state;
	cases_run("tests/cases/policy_layout.jsonl", run_format);
}

/* ---- tests beside a policy ---- */

static void run_tests_file(
	struct arena *a, const char *name, const struct json *given, const struct json *expect)
{
	struct policy_tests t;
	struct err e = { 0 };
	int rc = policy_tests_read(a, bytes_of(json_text(given)), "p.test.yaml", &t, &e);
	const struct json *want = json_get(expect, "problems");

	if (json_get(expect, "error")) {
		assert_string_equal(e.code, json_get_text(expect, "error", ""));
		return;
	}
	if (want && !json_eq(problems_of(a, &t.problems), want))
		fail_msg("%s: %s", name, text_of(a, problems_of(a, &t.problems)));
	if (!want && (rc || !includes(json_get(expect, "tests"), t.tests)))
		fail_msg("%s: %s %s", name, e.text, text_of(a, t.tests));
}

static void test_tests(void **state)
{
	(void)state;
	cases_run("tests/cases/policy_tests.jsonl", run_tests_file);
}

/* ---- composing ---- */

static const struct json *tree(struct arena *a, const char *text)
{
	struct json *v;

	assert_int_equal(conf_parse_yaml(a, bytes_of(text), "t", &v, NULL), OK);
	return v;
}

static void the_strictest_wins_in_any_order(void **state)
{
	AUTO(arena_done) struct arena a = { 0 };
	const struct json *
		x = tree(&a,
		       "rules:\n- {id: r1, action: a, verdict: Block}\n- {id: r2, action: b, verdict: ALLOW}\n"),
	       *y = tree(&a,
		       "rules:\n- {id: r1, action: a, verdict: ALLOW}\n- {id: r2, action: b, verdict: allow}\n"),
	       *none = tree(&a, "x: 1\n");
	const struct json *both[] = { x, y }, *back[] = { y, x };
	struct bundle_composed c;

	(void)state;
	bundle_compose(&a, both, 2, false, &c);
	assert_string_equal(json_get_text(json_at(c.rules, 0), "verdict", ""), "Block");
	bundle_compose(&a, back, 2, false, &c);
	assert_string_equal(json_get_text(json_at(c.rules, 0), "verdict", ""), "Block");
	assert_int_equal(c.conflicts->n, 1);
	assert_int_equal(json_get(json_at(c.conflicts, 0), "verdicts")->n, 2);
	bundle_compose(&a, back, 2, true, &c);
	assert_string_equal(json_get_text(json_at(c.rules, 0), "verdict", ""), "ALLOW");
	bundle_compose(&a, &none, 1, false, &c);
	assert_int_equal(c.rules->n, 0);
	assert_null(bundle_verdict("DENY"));
}

/* ---- layers ---- */

static void layers_that_widen_are_found(void **state)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct json *r;
	struct err e = { 0 };

	(void)state;
	r = stack_validate(&a,
		tree(&a,
			"- {name: P1, priority: 1, rules: [{id: b, action: pay, verdict: ALLOW}, {id: c, action: 'x.y*', verdict: ALLOW}]}\n"
			"- {name: P0, priority: 0, rules: [{id: a, action: pay, verdict: ESCALATE}, {id: c, action: 'x*', verdict: DENY}]}\n"
			"- {name: P2, priority: 1}\n"
			"- {name: P3, priority: 2, rules: [{id: e, action: z, verdict: DENY, conditions: []}, {id: f, action: w, verdict: ALLOW, conditions: [a]}]}\n"
			"- {name: P4, priority: 3, rules: [{id: g, action: z, verdict: DENY}, {id: h, action: w, verdict: ALLOW}]}\n"));
	assert_string_equal(json_get_text(r, "verdict", ""), "CONFLICT");
	assert_int_equal(json_get(r, "conflicts")->n, 1);
	assert_int_equal(json_get(r, "findings")->n, 2);
	assert_string_equal(
		json_get_text(json_at(json_get(r, "findings"), 0), "code", ""), "WIDENS_ESCALATE");
	assert_string_equal(json_get_text(json_at(json_get(r, "findings"), 1), "code", ""), "DUPLICATE_ID");
	r = stack_validate(&a, NULL);
	assert_string_equal(json_get_text(r, "hash", ""),
		"2e1cfa82b035c26cbbbdae632cea070514eb8b773f616aaeaf668e2f0be8f10d");
	assert_string_equal(stack_compiled_hash(&a, NULL, &e),
		"2e1cfa82b035c26cbbbdae632cea070514eb8b773f616aaeaf668e2f0be8f10d");
	static const char *const incomplete[] = { "[{name: P0, rules: [{id: '', action: x, verdict: DENY}]}]",
		"[{name: P0, rules: [{id: a, action: '', verdict: DENY}]}]", "[{rules: []}]",
		"[{name: P0, rules: [{id: a, action: x, verdict: deny}]}]" };
	for (size_t i = 0; i < ARRAY_SIZE(incomplete); i++) {
		assert_null(stack_compiled_hash(&a, tree(&a, incomplete[i]), &e));
		assert_string_equal(e.code, "LAYER_INVALID");
	}
	assert_non_null(stack_compiled_hash(
		&a, tree(&a, "[{name: P0, rules: [{id: a, action: x, verdict: ESCALATE}]}]"), &e));
	assert_true(action_overlap("a.*", "a.b"));
	assert_true(action_overlap("a.b", "*"));
	assert_false(action_overlap("a.b", "a.c"));
	assert_true(action_covers("a*", "a.b*"));
	assert_false(action_covers("a.b", "a*"));
}

/* ---- requirement sets ---- */

static void requirement_hashes_are_the_text_form(void **state)
{
	AUTO(arena_done) struct arena a = { 0 };
	const struct json *graph = tree(&a,
		"b: {id: s, logic: AND, requirements: [{id: r, artifact_type: t, expression: 'true'}], children: [{id: c, logic: OR}]}\n"
		"a: {id: t}\n");
	const char *child = sha256_prefixed(&a, "id=c:logic=OR:", 14);
	const char *set = arena_printf(&a, "id=s:logic=AND:req=r:t:true;child=%s;", child);
	const char *first = sha256_prefixed(&a, "id=t:logic=:", 12);

	(void)state;
	set = sha256_prefixed(&a, set, strlen(set));
	assert_string_equal(requirement_set_hash(&a, json_get(graph, "b")), set);
	const char *whole = arena_printf(&a, "a=%s;b=%s;", first, set);
	assert_string_equal(requirement_graph_hash(&a, graph), sha256_hex(&a, whole, strlen(whole)));
	assert_string_equal(requirement_graph_hash(&a, json_new(&a, JSON_OBJECT)), "");
}

/* ---- trust ---- */

static void must_refuse(
	struct arena *a, const struct json *doc, const struct policy_trust *t, const char *code)
{
	struct err e = { 0 };

	assert_int_equal(policy_trust_check(a, doc, "00ff", t, &e), E_DENIED);
	assert_string_equal(e.code, code);
}

static void only_trusted_policies_are_used(void **state)
{
	AUTO(arena_done) struct arena a = { 0 };
	static const uint8_t seed[SIGN_SEED] = { 7 };
	uint8_t secret[SIGN_SECRET], pub[SIGN_PUBLIC], sig[SIGN_SIZE];
	char id[KEY_ID];
	const char *keys[] = { "ed25519:00", id };
	struct policy_trust t = { .keys = keys, .key_count = 2, .must_be_signed = true };
	const struct json *bare = tree(&a, "format: helm.policy.v1\nname: x\nepoch: 3\n");
	struct err e = { 0 };

	(void)state;
	sign_expand(seed, secret, pub);
	key_id(pub, id);
	sign_message(secret, policy_signed_bytes(&a, bare), sig);
	struct json *doc = policy_signed(&a, bare, pub, sig);
	assert_true(bytes_eq(policy_signed_bytes(&a, doc), policy_signed_bytes(&a, bare)));
	assert_true(text_starts(
		(const char *)policy_signed_bytes(&a, bare).p, "HELM/PolicyBundle/v1\n{\"epoch\":3"));
	assert_int_equal(policy_trust_check(&a, doc, NULL, &t, &e), OK);

	must_refuse(&a, bare, &t, "POLICY_SIGNATURE_INVALID");
	t.must_be_signed = false;
	assert_int_equal(policy_trust_check(&a, bare, NULL, &t, &e), OK);
	t.key_count = 1;
	must_refuse(&a, doc, &t, "POLICY_SIGNATURE_INVALID");
	t.key_count = 2;

	struct json *changed = json_copy(&a, doc);
	json_sets(&a, changed, "name", "y");
	must_refuse(&a, changed, &t, "POLICY_SIGNATURE_INVALID");
	static const char *const members[][2] = { { "algorithm", "rsa" }, { "key", "ed25519:12" },
		{ "value", "00" } };
	for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
		changed = json_copy(&a, doc);
		json_sets(&a, json_get(changed, "signature"), members[i][0], members[i][1]);
		must_refuse(&a, changed, &t, "POLICY_SIGNATURE_INVALID");
	}

	t.least_epoch = 3;
	assert_int_equal(policy_trust_check(&a, doc, NULL, &t, &e), OK);
	t.least_epoch = 4;
	must_refuse(&a, doc, &t, "POLICY_EPOCH_CHANGED");
	t.least_epoch = 0;
	must_refuse(&a, tree(&a, "metadata: {epoch: -1}\n"), &t, "POLICY_EPOCH_CHANGED");

	t.fresh_us = 10;
	t.verified_us = 100;
	t.now_us = 110;
	assert_int_equal(policy_trust_check(&a, doc, NULL, &t, &e), OK);
	t.now_us = 111;
	must_refuse(&a, doc, &t, "POLICY_NOT_READY");
	t.now_us = 99;
	must_refuse(&a, doc, &t, "POLICY_NOT_READY");
	t.fresh_us = 0;

	t.revoked = tree(&a, "[other, 'sha256:00ff']");
	must_refuse(&a, doc, &t, "POLICY_REVOKED");
	t.revoked = tree(&a, arena_printf(&a, "[{hash: '%s'}]", json_sha256(&a, bare)));
	must_refuse(&a, doc, &t, "POLICY_REVOKED");
}

/* ---- limits ---- */

static void many_problems_are_counted_and_few_are_kept(void **state)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct policy_input in = { .name = "p.yaml" };
	struct policy_reading r;
	struct err e = { 0 };
	struct buf b;

	(void)state;
	buf_init(&b, &a);
	buf_adds(&b, "metadata: {name: x}\nrules:\n");
	for (int i = 0; i < 300; i++)
		buf_adds(&b, "- {id: a, action: b, verdict: MAYBE}\n");
	in.text = buf_bytes(&b);
	assert_int_equal(policy_document_read(&a, &in, &r, &e), E_INPUT);
	assert_int_equal(r.problems.errors, 300);
	assert_int_equal(r.problems.n, 200);
	assert_string_equal(e.code, "RULE_INVALID");
	in.text = (struct bytes){ arena_zalloc(&a, 1, POLICY_MAX_BYTES + 1), POLICY_MAX_BYTES + 1 };
	assert_int_equal(policy_document_read(&a, &in, &r, &e), E_LIMIT);
	assert_int_equal(policy_document_read(&a, &in, &r, NULL), E_LIMIT);
	assert_int_equal(policy_shape_find("no such"), POLICY_SHAPE_COUNT);
	assert_string_equal(policy_severity_name(POLICY_NOTE), "note");
}

/* An error is kept even behind more warnings than are. */
static void an_error_behind_warnings_is_told(void **state)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct policy_input in = { .name = "p.json", .is_import = true };
	struct policy_reading r;
	struct err e = { 0 };
	struct buf b;

	(void)state;
	buf_init(&b, &a);
	buf_adds(&b, "{\"version\": \"1\", \"name\": \"x\", \"hash\": \"h\", \"rules\": [");
	for (int i = 0; i < 1100; i++)
		buf_addf(&b, "{\"id\": \"r%d\", \"action\": \"BLOCK\"},", i);
	buf_adds(&b, "{\"id\": \"r\", \"action\": \"NOPE\"}]}");
	in.text = buf_bytes(&b);
	assert_int_equal(policy_document_read(&a, &in, &r, &e), E_INPUT);
	assert_string_equal(e.code, "RULE_INVALID");
	assert_int_equal(r.problems.n, 201);
}

static void errors_of_readers_have_their_place(void **state)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct policy_input in = { .text = BYTES_LITERAL("a: 1\nb: \xff\n"), .name = "p.yaml" };
	struct policy_reading r;
	char name[600] = { 0 };

	(void)state;
	assert_int_equal(policy_document_read(&a, &in, &r, NULL), E_INPUT);
	assert_int_equal(r.problems.items[0].line, 2);
	assert_int_equal(r.problems.items[0].column, 1);
	memset(name, 'x', sizeof(name) - 1);
	in.name = name;
	assert_int_equal(policy_document_read(&a, &in, &r, NULL), E_INPUT);
	assert_int_equal(r.problems.items[0].line, 0);
}

static void many_rules_are_noted(void **state)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct policy_problems found = { 0 };
	struct buf b;

	(void)state;
	buf_init(&b, &a);
	buf_adds(&b, "version: '1'\nlayers:\n- name: P\n  priority: 1\n  rules:\n");
	for (int i = 0; i < 1001; i++)
		buf_addf(&b, "  - {id: r%d, actions: [a%d], verdict: DENY}\n", i, i);
	policy_lint(&a, tree(&a, b.p), "p.yaml", &found);
	assert_int_equal(found.n, 2);
	assert_string_equal(found.items[0].code, "POLICY_ALLOWS_NOTHING");
	assert_string_equal(found.items[1].code, "LINT009");
	/* What no reader would let through is looked at and not believed. */
	found = (struct policy_problems){ 0 };
	policy_lint(&a,
		tree(&a,
			"version: '1'\ncoverage: open\nlayers: [{name: P, priority: 0, rules: [{id: a, actions: [x], verdict: DENY, when: '('}, {id: b, actions: [y], "
			"verdict: DENY, when: '1'}]}]\nrequirements: {a: {requirements: [{id: q, expression: '('}]}}\n"),
		"p.yaml", &found);
	assert_int_equal(found.n, 0);
	struct bytes toml = policy_format(&a, BYTES_LITERAL("a = 1  \n"), POLICY_SHAPE_SERVE, NULL);
	assert_true(bytes_is(toml, "a = 1\n"));
}

static void what_a_policy_rests_on_is_noted_once(void **state)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct policy_problems found = { 0 };

	(void)state;
	policy_lint(&a,
		tree(&a,
			"version: '1'\ncoverage: open\nlayers: [{name: P, priority: 0, rules: [{id: a, actions: [x], verdict: DENY, all: [{field: facts.x, op: equals, value: 1}]}]}]\n"),
		"p.yaml", &found);
	assert_int_equal(found.n, 1);
	policy_lint_absences(&a,
		tree(&a,
			"[{layer: P, rule: a, field: facts.x, condition: equals}, {layer: P, rule: a, field: facts.y, condition: equals, origin: 'p.yaml:3:5'}, "
			"{layer: requirements, rule: q, condition: NOT}, {layer: eu, field: facts.jurisdiction, condition: activates_on}]"),
		"p.yaml", &found);
	assert_int_equal(found.n, 4);
	for (size_t i = 1; i < found.n; i++) {
		assert_string_equal(found.items[i].code, "POLICY_RESTS_ON");
		assert_int_equal(found.items[i].severity, POLICY_NOTE);
	}
	assert_int_equal(found.items[1].line, 3);
	assert_string_equal(found.items[2].word, "NOT");
	assert_string_equal(found.items[3].word, "facts.jurisdiction");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_policy_rests_on_is_noted_once),
		cmocka_unit_test(test_cases),
		cmocka_unit_test(test_layouts),
		cmocka_unit_test(test_tests),
		cmocka_unit_test(the_strictest_wins_in_any_order),
		cmocka_unit_test(layers_that_widen_are_found),
		cmocka_unit_test(requirement_hashes_are_the_text_form),
		cmocka_unit_test(only_trusted_policies_are_used),
		cmocka_unit_test(many_problems_are_counted_and_few_are_kept),
		cmocka_unit_test(an_error_behind_warnings_is_told),
		cmocka_unit_test(errors_of_readers_have_their_place),
		cmocka_unit_test(many_rules_are_noted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
