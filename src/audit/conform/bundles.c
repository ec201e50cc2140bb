/* bundles.c — the suites of policy files: bundles, stacks of layers, packs, and files that only have to be read.
 *
 *     derived/policy-bundle-cases.json    {cases: [{id, yaml, expected}], compose: [{id, bundles, expected}]}
 *     derived/cpi-stack-cases.json        {cases: [{id, layers, expected_validate, expected_compiled_hash | expected_compile}]}
 *     protocols/bundles (yaml), policies (toml), examples/policy-packs and release.high_risk.v3.toml: files without an answer beside them; each must be read, and say
 *     what its kind says. */
#include "audit/conform/conform.h"

#include "base/file.h"
#include "decide/bundle/bundle.h"

#include <stdlib.h>
#include <string.h>

static void count(struct conform_tally *t, const char *family, const struct json *c,
	const struct json *expected, const struct json *got)
{
	conform_count(t, family, json_eq(expected, got) ? CONFORM_PASSED : CONFORM_FAILED,
		json_get_text(c, "id", "?"), expected, got);
}

/* ---- bundles ---- */

/* Of the load rules of the format.  What is refused beyond them (an unknown version, a rule twice) is this program's own care, and no answer of the cases. */
static const char *load_error(const struct policy_problems *problems)
{
	static const char *const rules[] = { "BUNDLE_INVALID", "RULE_INVALID" };

	for (size_t i = 0; i < problems->n; i++) {
		const struct policy_problem *x = &problems->items[i];
		if (text_starts(x->code, "CONF_"))
			return "BUNDLE_INVALID";
		for (size_t k = 0; k < ARRAY_SIZE(rules); k++)
			if (text_eq(x->code, rules[k]))
				return rules[k];
	}
	return NULL;
}

static int by_text(const void *x, const void *y)
{
	return strcmp(json_text(*(struct json *const *)x), json_text(*(struct json *const *)y));
}

/* The actions of all rules, sorted, each once. */
static struct json *actions_of(struct arena *a, const struct json *rules)
{
	struct json *all = json_new(a, JSON_ARRAY), *made = json_new(a, JSON_ARRAY);

	json_each (rule, rules)
		json_pushs(a, all, json_get_text(rule, "action", ""));
	if (all->n)
		qsort(all->items, all->n, sizeof(*all->items), by_text);
	json_each (x, all)
		if (made->n == 0 || !json_eq(made->items[made->n - 1], x))
			json_push(a, made, x);
	return made;
}

/* False: it has not even the shape of a bundle. */
static bool read_yaml(struct arena *a, const struct json *yaml, struct policy_reading *ret)
{
	struct err e = { 0 };
	struct policy_input in = {
		.text = { (const uint8_t *)"", 0 }, .name = "case.yaml", .shape = POLICY_SHAPE_BUNDLE
	};

	if (json_is(yaml, JSON_STRING))
		in.text = (struct bytes){ (const uint8_t *)yaml->text, yaml->n };
	return policy_document_read(a, &in, ret, &e) == OK || !text_eq(e.code, "POLICY_SHAPE");
}

static void run_bundle(struct conform_tally *t, const struct json *c)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct json *got = json_new(&a, JSON_OBJECT);
	struct policy_reading reading;

	const char *error = read_yaml(&a, json_get(c, "yaml"), &reading) ? load_error(&reading.problems)
									 : "BUNDLE_INVALID";
	json_setb(&a, got, "valid", !error);
	if (error) {
		json_sets(&a, got, "error", error);
	} else {
		const struct json *rules = json_get(reading.source, "rules");
		json_sets(&a, got, "hash", reading.content_hash);
		json_seti(&a, got, "rule_count", json_is(rules, JSON_ARRAY) ? rules->n : 0);
		json_set(&a, got, "actions", actions_of(&a, rules));
	}
	count(t, "bundle", c, json_get(c, "expected"), got);
}

static struct json *column(struct arena *a, const struct json *rows, const char *name)
{
	struct json *list = json_new(a, JSON_ARRAY);

	json_each (row, rows)
		json_pushs(a, list, json_get_text(row, name, ""));
	return list;
}

/* The strictest of what any bundle says about each rule, in both orders: an order must not weaken anything. */
static void run_strictest(
	struct conform_tally *t, struct arena *a, const struct json *c, const struct json **trees, size_t n)
{
	struct bundle_composed forward, backward;
	const struct json **reversed = arena_zalloc(a, n + 1, sizeof(*reversed));

	for (size_t i = 0; i < n; i++)
		reversed[i] = trees[n - 1 - i];
	bundle_compose(a, trees, n, false, &forward);
	bundle_compose(a, reversed, n, false, &backward);
	count(t, "compose-strictest", c, column(a, forward.rules, "verdict"),
		column(a, backward.rules, "verdict"));
}

static void run_compose(struct conform_tally *t, const struct json *c)
{
	AUTO(arena_done) struct arena a = { 0 };
	const struct json *list = json_get(c, "bundles"),
			  **trees = arena_zalloc(&a, list ? list->n + 1 : 1, sizeof(*trees));
	struct json *got = json_new(&a, JSON_OBJECT);
	struct bundle_composed made;
	size_t n = 0;

	json_each (yaml, list) {
		struct policy_reading reading;
		(void)read_yaml(&a, yaml, &reading);
		trees[n++] = reading.source;
	}
	bundle_compose(&a, trees, n, true, &made);
	json_set(&a, got, "rule_ids", column(&a, made.rules, "id"));
	json_set(&a, got, "verdicts", column(&a, made.rules, "verdict"));
	json_set(&a, got, "conflict_rule_ids", column(&a, made.conflicts, "rule"));
	json_sets(&a, got, "hash", made.hash);
	count(t, "compose", c, json_get(c, "expected"), got);
	run_strictest(t, &a, c, trees, n);
}

int conform_bundles(struct conform_place *p, struct conform_tally *t, struct err *e)
{
	struct json *doc;

	if (conform_document(p, t->a, "derived/policy-bundle-cases.json", &doc, e))
		return e->rc;
	json_each (c, json_get(doc, "cases"))
		run_bundle(t, c);
	json_each (c, json_get(doc, "compose"))
		run_compose(t, c);
	return OK;
}

/* ---- stacks ---- */

/* The answer without what is ours alone; no conflicts are left out, as the cases do. */
static struct json *stack_answer(struct arena *a, const struct json *layers)
{
	struct json *got = stack_validate(a, layers);

	(void)json_remove(got, "findings");
	if (json_is(json_get(got, "conflicts"), JSON_NULL))
		(void)json_remove(got, "conflicts");
	return got;
}

static void run_stack(struct conform_tally *t, const struct json *c)
{
	AUTO(arena_done) struct arena a = { 0 };
	const struct json *layers = json_get(c, "layers"), *validate = json_get(c, "expected_validate"),
			  *hash = json_get(c, "expected_compiled_hash");
	struct json *expected = json_new(&a, JSON_OBJECT), *got = json_new(&a, JSON_OBJECT);
	struct err why = { 0 };
	const char *compiled = stack_compiled_hash(&a, layers, &why);

	if (validate) {
		json_set(&a, expected, "validate", json_copy(&a, validate));
		json_set(&a, got, "validate", stack_answer(&a, layers));
	}
	if (hash || json_get(c, "expected_compile")) {
		json_sets(&a, expected, "compile", json_get_text(c, "expected_compile", json_text(hash)));
		json_sets(&a, got, "compile", compiled ? compiled : "reject");
	}
	if (expected->n == 0)
		json_setb(&a, got, "expects_nothing", true);
	count(t, "stack", c, expected, got);
}

int conform_stacks(struct conform_place *p, struct conform_tally *t, struct err *e)
{
	struct json *doc;

	if (conform_document(p, t->a, "derived/cpi-stack-cases.json", &doc, e))
		return e->rc;
	json_each (c, json_get(doc, "cases"))
		run_stack(t, c);
	return OK;
}
