/* cmd_policy_test.c — helm policy test, coverage: the tests that stand beside a policy, and which rules none of them reaches.
 *
 * A test asks the policy alone: what profiles and guard rules would say is not part of it, so that a policy can be tested anywhere. */
#include "base/file.h"
#include "base/text.h"
#include "cli/cmd.h"
#include "cli/cmd_policy.h"

#include <fcntl.h>
#include <string.h>

/* One file of tests and the policy it is about. */
struct testing {
	struct cli *r;
	const char *tests_path;
	struct policy_file policy;
	struct policy_tests tests;
	struct json *results; /* [{name, ok, got, differs}] */
	struct json *fired; /* {rule id: number of tests} */
	int64_t passed, failed;
};

static bool is_test_file(const char *path)
{
	return text_ends(path, ".test.yaml") || text_ends(path, ".test.yml") || text_ends(path, ".test.json");
}

static const char *without_suffix(struct arena *a, const char *path)
{
	const char *base = path_base(path), *dot = strrchr(base, '.');

	return dot ? arena_strndup(a, path, (size_t)(dot - path)) : path;
}

/* The tests of a policy, by its name. */
static const char *tests_beside(struct cli *r, const char *policy)
{
	static const char *const suffixes[] = { ".test.yaml", ".test.yml", ".test.json" };

	for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++) {
		const char *path = arena_printf(r->a, "%s%s", without_suffix(r->a, policy), suffixes[i]);
		if (file_exists(r->sys, AT_FDCWD, path))
			return path;
	}
	return NULL;
}

/* The policy of a file of tests: what it names, or what stands beside it. */
static const char *policy_beside(struct cli *r, const char *tests, const char *named)
{
	static const char *const suffixes[] = { ".yaml", ".yml", ".json", ".toml", ".policy" };
	const char *slash = strrchr(tests, '/');
	const char *stem = without_suffix(r->a, without_suffix(r->a, tests));

	if (named)
		return slash ? arena_printf(r->a, "%.*s/%s", (int)(slash - tests), tests, named) : named;
	for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++) {
		const char *path = arena_printf(r->a, "%s%s", stem, suffixes[i]);
		if (file_exists(r->sys, AT_FDCWD, path))
			return path;
	}
	return arena_printf(r->a, "%s.yaml", stem);
}

static int open_tests(struct testing *t, const char *path, struct err *e)
{
	struct cli *r = t->r;
	struct bytes text;

	if (!file_exists(r->sys, AT_FDCWD, path))
		return err_set(e, E_MISSING, "FILE_MISSING", "there is no file %s", path);
	t->tests_path = is_test_file(path) ? path : tests_beside(r, path);
	if (!t->tests_path)
		return err_set(e, E_MISSING, "POLICY_TESTS",
			"there are no tests beside %s; write %s.test.yaml (docs/formats/policy-test.md)",
			path, without_suffix(r->a, path));
	int rc = file_read(r->sys, r->a, AT_FDCWD, t->tests_path, POLICY_MAX_BYTES, FILE_FOLLOW, &text, e);
	if (rc == OK)
		rc = policy_tests_read(r->a, text, t->tests_path, &t->tests, e);
	if (rc)
		return rc;
	const char *policy = is_test_file(path) ? policy_beside(r, path, t->tests.policy) : path;
	return policy_file_open(r, policy, NULL, 0, &t->policy, e);
}

/* ---- one test ---- */

/* The request of the test and what is known in it, as one question. */
static int question_of(struct testing *t, const struct json *test, struct policy_question *ret, struct err *e)
{
	struct cli *r = t->r;
	struct json *doc = json_copy(r->a, json_get(test, "request"));
	const struct json *facts = json_get(test, "facts");
	const char *command = json_get_text(doc, "command", NULL);

	if (facts)
		json_set(r->a, doc, "facts", json_copy(r->a, facts));
	int rc = policy_question_read(r->a, doc, ret, e);
	if (rc)
		return rc;
	if (!*ret->principal)
		ret->principal = "test";
	if (!ret->effect_id)
		ret->effect_id = "test";
	return command && !policy_request_guard(r, ret, command, e) ? e->rc : OK;
}

static bool same_set(const struct json *expected, const struct json *got, bool in_order)
{
	size_t i = 0;

	if (!json_is(expected, JSON_ARRAY) || !got || expected->n != got->n)
		return false;
	json_each (x, expected) {
		bool found = false;
		for (size_t k = 0; k < got->n && !found; k++)
			found = (!in_order || k == i) && json_eq(x, got->items[k]);
		if (!found)
			return false;
		i++;
	}
	return true;
}

static bool is_met(const char *name, const struct json *expected, const struct json *judgement)
{
	if (text_eq(name, "fired"))
		return same_set(expected, json_get(judgement, "rules_fired"), false);
	if (text_eq(name, "packs"))
		return same_set(expected, json_get(judgement, "active_packs"), true);
	const struct json *got = json_get(judgement, text_eq(name, "code") ? "reason_code" : name);
	return got && json_eq(expected, got);
}

static const char *got_text(struct cli *r, const struct json *judgement)
{
	const char *code = json_get_text(judgement, "reason_code", NULL),
		   *rule = json_get_text(judgement, "rule", NULL);

	return arena_printf(r->a, "%s%s%s%s%s", json_get_text(judgement, "verdict", ""), code ? " " : "",
		code ? code : "", rule ? " by " : "", rule ? rule : "");
}

static void count_fired(struct testing *t, const struct json *judgement)
{
	struct arena *a = t->r->a;

	json_each (id, json_get(judgement, "rules_fired"))
		if (json_text(id))
			json_seti(a, t->fired, json_text(id), json_get_int(t->fired, json_text(id), 0) + 1);
}

static void run_test(struct testing *t, const struct json *test)
{
	static const struct policy_facts about = { .is_required = true };
	struct cli *r = t->r;
	struct json *row = json_new(r->a, JSON_OBJECT), *differs = json_new(r->a, JSON_ARRAY);
	struct policy_question q;
	struct err e = { 0 };

	json_sets(r->a, row, "name", json_get_text(test, "name", ""));
	json_sets(r->a, row, "origin", json_get_text(test, "origin", NULL));
	if (question_of(t, test, &q, &e)) {
		json_sets(r->a, row, "error", e.text);
		json_pushs(r->a, differs, "request");
	} else {
		const struct policy_answer *p = policy_judge(r->a, t->policy.rules, &about, &q, NULL);
		const struct json *judgement = policy_judgement(r->a, p);
		count_fired(t, judgement);
		json_sets(r->a, row, "got", got_text(r, judgement));
		json_each_member (m, json_get(test, "expect"))
			if (!is_met(m->name, m->value, judgement))
				json_pushs(r->a, differs, m->name);
	}
	json_setb(r->a, row, "ok", !differs->n);
	json_set(r->a, row, "differs", differs);
	json_set(r->a, row, "expected", json_copy(r->a, json_get(test, "expect")));
	json_push(r->a, t->results, row);
	differs->n ? t->failed++ : t->passed++;
}

static int run_tests(struct cli *r, const char *path, struct testing *t, struct err *e)
{
	*t = (struct testing){
		.r = r, .results = json_new(r->a, JSON_ARRAY), .fired = json_new(r->a, JSON_OBJECT)
	};
	int rc = open_tests(t, path, e);

	if (rc)
		return rc;
	json_each (test, t->tests.tests)
		run_test(t, test);
	return OK;
}

/* ---- test ---- */

static struct json *report_of(const struct testing *t)
{
	struct arena *a = t->r->a;
	struct json *doc = json_new(a, JSON_OBJECT);

	json_sets(a, doc, "policy", t->policy.path);
	json_sets(a, doc, "tests", t->tests_path);
	json_sets(a, doc, "sha256", ruleset_sha256(t->policy.rules));
	json_seti(a, doc, "passed", t->passed);
	json_seti(a, doc, "failed", t->failed);
	json_set(a, doc, "results", t->results);
	return doc;
}

static const char *compact(struct cli *r, const struct json *v)
{
	struct buf b;

	buf_init(&b, r->a);
	json_write(&b, v, JSON_SPACED);
	return text_safe(r->a, b.p, b.n, false);
}

static void print_results(struct testing *t)
{
	struct cli *r = t->r;

	json_each (row, t->results) {
		bool is_ok = json_get_bool(row, "ok", false);
		out(r, "%s%s%s %s\n", paint(r, is_ok ? PAINT_GOOD : PAINT_BAD), is_ok ? "ok  " : "FAIL",
			paint(r, PAINT_OFF), policy_shown(r, json_get_text(row, "name", "")));
		if (is_ok)
			continue;
		if (json_get_text(row, "origin", NULL))
			out(r, "       at       %s\n", policy_shown(r, json_get_text(row, "origin", "")));
		out(r, "       expected %s\n", compact(r, json_get(row, "expected")));
		out(r, "       got      %s\n",
			policy_shown(r, json_get_text(row, "got", json_get_text(row, "error", ""))));
	}
	out(r, "%s: %lld passed, %lld failed\n", policy_shown(r, t->tests_path), (long long)t->passed,
		(long long)t->failed);
}

/* Nothing passed means nothing was tested. */
int cmd_policy_test(struct cli *r, struct err *e)
{
	struct json *all = json_new(r->a, JSON_ARRAY);
	int64_t passed = 0, failed = 0;

	for (size_t i = 0; i < r->arg_count; i++) {
		struct testing t;
		int rc = run_tests(r, r->args[i], &t, e);
		if (rc)
			return rc;
		json_push(r->a, all, report_of(&t));
		passed += t.passed;
		failed += t.failed;
		if (!r->is_json)
			print_results(&t);
	}
	if (r->is_json)
		out_json(r, r->arg_count == 1 ? all->items[0] : all);
	return failed == 0 && passed > 0 ? 0 : EXIT_NO;
}

/* ---- coverage ---- */

static void print_coverage(struct testing *t, const struct json *silent, size_t n)
{
	struct cli *r = t->r;

	out(r, "%zu of %zu rules of %s are reached by %u tests\n", n - silent->n, n,
		policy_shown(r, t->policy.path), t->results->n);
	json_each (rule, silent)
		out(r, "no test reaches %s %s (%s)\n", json_get_text(rule, "verdict", ""),
			policy_shown(r, json_get_text(rule, "rule", "")),
			policy_shown(r, json_get_text(rule, "origin", "-")));
}

int cmd_policy_coverage(struct cli *r, struct err *e)
{
	struct json *silent = json_new(r->a, JSON_ARRAY);
	struct ruleset_rule rule;
	struct testing t;
	size_t n = 0;
	int rc = run_tests(r, r->args[0], &t, e);

	if (rc)
		return rc;
	for (; ruleset_rule(t.policy.rules, n, &rule); n++) {
		if (json_get(t.fired, rule.id))
			continue;
		struct json *row = json_new(r->a, JSON_OBJECT);
		json_sets(r->a, row, "rule", rule.id);
		json_sets(r->a, row, "layer", rule.layer);
		json_sets(r->a, row, "verdict", verdict_name(rule.verdict));
		json_sets(r->a, row, "origin", rule.origin);
		json_push(r->a, silent, row);
	}
	if (r->is_json) {
		struct json *doc = report_of(&t);
		(void)json_remove(doc, "results");
		json_seti(r->a, doc, "rules", (int64_t)n);
		json_set(r->a, doc, "fired", t.fired);
		json_set(r->a, doc, "not_reached", silent);
		out_json(r, doc);
	} else {
		print_coverage(&t, silent, n);
	}
	return silent->n || t.failed ? EXIT_NO : 0;
}
