/* tests.c — the tests beside a policy (docs/formats/policy-test.md): read and checked, not run. */
#include "base/conf.h"
#include "decide/bundle/parts.h"

#include <string.h>

static void check_request(struct reading *r, const struct json *request)
{
	static const char *const objects[] = { "params", "context" };

	if (!take_object(r, request, "'request'", "POLICY_TEST"))
		return;
	(void)TAKE_ONLY(r, request, "POLICY_TEST", "action", "command", "effect_id", "tool", "principal",
		"session", "budget_id", "params", "context");
	if (!json_text(json_get(request, "action")) == !json_text(json_get(request, "command")))
		problem_at(r, POLICY_ERROR, "POLICY_TEST", request->at, "",
			"write one of 'action' and 'command'",
			"the request must have an action or a command");
	for (size_t i = 0; i < ARRAY_SIZE(objects); i++)
		if (json_get(request, objects[i]))
			(void)take_object(r, json_get(request, objects[i]), objects[i], "POLICY_TEST");
}

static void check_expected(struct reading *r, const struct json *expect)
{
	if (!take_object(r, expect, "'expect'", "POLICY_TEST"))
		return;
	(void)TAKE_ONLY(
		r, expect, "POLICY_TEST", "verdict", "code", "detail_code", "rule", "gate", "fired", "packs");
	if (*take_text(r, expect, "verdict", "POLICY_TEST"))
		(void)TAKE_WORD(r, json_get(expect, "verdict"), "verdict", "POLICY_TEST", "ALLOW", "DENY",
			"ESCALATE");
	(void)take_list(r, expect, "fired", "POLICY_TEST");
	(void)take_list(r, expect, "packs", "POLICY_TEST");
}

/* What all tests know, with the test's own facts over it. */
static struct json *facts_of(struct reading *r, const struct json *common, const struct json *own)
{
	struct json *made = common ? json_copy(r->a, common) : json_new(r->a, JSON_OBJECT);

	json_each_member (m, own)
		json_set(r->a, made, m->name, m->value);
	return made;
}

static void read_test(struct reading *r, const struct json *test, const struct json *common,
	struct json *seen, struct json *into)
{
	struct json *made = json_new(r->a, JSON_OBJECT);

	r->rule = NULL;
	if (!take_object(r, test, "a test", "POLICY_TEST"))
		return;
	const char *name = take_text(r, test, "name", "POLICY_TEST");
	r->rule = name;
	(void)TAKE_ONLY(r, test, "POLICY_TEST", "name", "request", "facts", "expect");
	if (json_get(seen, name))
		problem_at(r, POLICY_ERROR, "POLICY_TEST", test->at, name, "give it another name",
			"two tests have this name");
	json_setb(r->a, seen, name, true);
	check_request(r, json_get(test, "request"));
	check_expected(r, json_get(test, "expect"));
	if (json_get(test, "facts"))
		(void)take_object(r, json_get(test, "facts"), "'facts'", "POLICY_TEST");
	json_sets(r->a, made, "name", name);
	json_set(r->a, made, "request", json_get(test, "request"));
	json_set(r->a, made, "facts", facts_of(r, common, json_get(test, "facts")));
	json_set(r->a, made, "expect", json_get(test, "expect"));
	json_sets(r->a, made, "origin", origin_at(r, test->at));
	json_push(r->a, into, made);
}

int policy_tests_read(
	struct arena *a, struct bytes text, const char *name, struct policy_tests *ret, struct err *e)
{
	struct policy_input in = { .text = text, .name = name };
	struct policy_reading reading = { 0 };
	const char *slash = strrchr(name, '/');
	struct reading r = { .a = a,
		.in = &in,
		.file = slash ? slash + 1 : name,
		.ret = &reading,
		.problems = &ret->problems };
	struct json *tests = json_new(a, JSON_ARRAY), *seen = json_new(a, JSON_OBJECT);

	*ret = (struct policy_tests){ 0 };
	if (conf_parse_yaml(a, text, name, &r.tree, e))
		return e->rc;
	if (!take_object(&r, r.tree, "the file", "POLICY_TEST"))
		return problems_error(a, &ret->problems, e);
	if (!text_eq(json_get_text(r.tree, "format", ""), "helm.policy-test.v1"))
		problem_at(&r, POLICY_ERROR, "VERSION_INCOMPATIBLE", 0, json_get_text(r.tree, "format", ""),
			"write 'format: helm.policy-test.v1'",
			"this program reads tests of format helm.policy-test.v1 only");
	(void)TAKE_ONLY(&r, r.tree, "POLICY_TEST", "format", "policy", "facts", "tests");
	const struct json *common = json_get(r.tree, "facts"),
			  *list = take_list(&r, r.tree, "tests", "POLICY_TEST");
	if (common && !take_object(&r, common, "'facts'", "POLICY_TEST"))
		common = NULL;
	json_each (test, list)
		read_test(&r, test, common, seen, tests);
	r.rule = NULL;
	if (!list || list->n == 0)
		problem_at(&r, POLICY_ERROR, "POLICY_TEST", r.tree->at, "tests",
			"write 'tests:' and a list below it", "there is no test in it");
	if (ret->problems.errors)
		return problems_error(a, &ret->problems, e);
	ret->policy = json_get_text(r.tree, "policy", NULL);
	ret->tests = tests;
	return OK;
}
