/* language.c — the suite of the expression language: three files of cases, each in its publisher's own form.
 *
 *     derived/expression-cases.json        {variables, cases: [{id, expression, expected}], requirement_results: [...]}
 *     cel/cel-subset.jsonl                 official cases of CEL: {id, expr, bindings, value | error}
 *     derived/policy-language-cases.json   requests, and what each policy of a corpus answers
 *
 * Each case is compiled and evaluated as a policy's expression is; what came out is compared, and nothing is known beforehand. */
#include "audit/conform/conform.h"

#include "decide/expression/expression.h"

/* One case: where its answer is counted, and what it is. */
struct asked {
	struct conform_tally *t;
	struct arena *a; /* of this case only */
	const char *family, *id;
	const struct json *expected;
	struct json *got;
};

static void begin(struct asked *q, struct conform_tally *t, struct arena *scratch, const char *family,
	const char *id, const struct json *expected)
{
	*q = (struct asked){ t, scratch, family, id, expected, json_new(scratch, JSON_OBJECT) };
}

static void end(const struct asked *q, bool passed)
{
	conform_count(q->t, q->family, passed ? CONFORM_PASSED : CONFORM_FAILED, q->id, q->expected, q->got);
}

/* Compile and evaluate: `value`, or `outcome` reject or error with `why`. */
static void evaluate(struct asked *q, const struct json *expression, const struct json *variables)
{
	struct bytes text = { (const uint8_t *)(json_is(expression, JSON_STRING) ? expression->text : ""),
		json_is(expression, JSON_STRING) ? expression->n : 0 };
	struct expression *x;
	struct json *value;
	struct err e = { 0 };
	const char *outcome = NULL;

	if (expression_compile(q->a, text, q->id, &x, &e))
		outcome = "reject";
	else if (expression_value(x, variables, q->a, &value, &e))
		outcome = "error";
	if (!outcome) {
		json_set(q->a, q->got, "value", value);
		return;
	}
	json_sets(q->a, q->got, "outcome", outcome);
	json_sets(q->a, q->got, "why", e.text);
}

/* ---- derived/expression-cases.json ---- */

/* An expectation that is not known here is met by nothing. */
static bool meets(const struct json *expected, const struct json *got)
{
	const char *wanted = json_get_text(expected, "outcome", "");
	const char *outcome = json_get_text(got, "outcome", "");

	if (!json_is(expected, JSON_OBJECT) || expected->n != 1)
		return false;
	if (json_get(expected, "value"))
		return json_eq(json_get(expected, "value"), json_get(got, "value"));
	return outcome[0] && (text_eq(wanted, "refuse") || (wanted[0] && text_eq(wanted, outcome)));
}

static void run_expression(struct conform_tally *t, const struct json *c, const struct json *variables)
{
	AUTO(arena_done) struct arena scratch = { 0 };
	struct asked q;

	begin(&q, t, &scratch, "expressions", json_get_text(c, "id", "?"), json_get(c, "expected"));
	evaluate(&q, json_get(c, "expression"), variables);
	end(&q, meets(q.expected, q.got));
}

/* An expression that does not compile is an error of its requirement. */
static void run_requirement(struct conform_tally *t, const struct json *c, const struct json *variables)
{
	AUTO(arena_done) struct arena scratch = { 0 };
	enum requirement result = REQUIREMENT_ERROR;
	const char *text = json_get_text(c, "expression", "");
	struct expression *x;
	struct err e = { 0 };
	struct asked q;

	begin(&q, t, &scratch, "requirements", json_get_text(c, "id", "?"), json_get(c, "expected"));
	if (expression_compile(&scratch, bytes_of(text), q.id, &x, &e) == OK)
		result = expression_requirement(x, variables, &scratch, &e);
	json_sets(&scratch, q.got, "result", requirement_name(result));
	json_sets(&scratch, q.got, "why", e.text);
	end(&q, json_text(q.expected) && text_eq(json_text(q.expected), requirement_name(result)));
}

static int run_expressions(struct conform_place *p, struct conform_tally *t, struct err *e)
{
	static const char name[] = "derived/expression-cases.json";
	struct bytes text;
	struct json *doc;

	if (conform_read(p, t->a, name, &text, e))
		return e->rc;
	if (!text.p)
		return OK;
	if (json_parse(t->a, text, name, NULL, &doc, e))
		return e->rc;
	json_each (c, json_get(doc, "cases"))
		run_expression(t, c, json_get(doc, "variables"));
	json_each (c, json_get(doc, "requirement_results"))
		run_requirement(t, c, json_get(doc, "variables"));
	return OK;
}

/* ---- cel/cel-subset.jsonl ---- */

/* {"$int": "5"} is 5, {"$map": {...}} an object; any other name with a dollar sign is a kind that this language does not have. */
static struct json *plain(struct arena *a, const struct json *v, bool *is_known)
{
	struct json *made = json_is(v, JSON_ARRAY) ? json_new(a, JSON_ARRAY) : json_new(a, JSON_OBJECT);
	int64_t number;

	if (json_is(v, JSON_ARRAY)) {
		json_each (item, v)
			json_push(a, made, plain(a, item, is_known));
		return made;
	}
	if (!json_is(v, JSON_OBJECT))
		return v ? json_copy(a, v) : json_new(a, JSON_NULL);
	const char *digits = json_text(json_get(v, "$int"));
	if (digits && text_int(digits, &number))
		return json_number(a, number);
	const struct json *members = json_get(v, "$map") ? json_get(v, "$map") : v;
	json_each_member (m, members) {
		*is_known = *is_known && m->name[0] != '$';
		json_set(a, made, m->name, plain(a, m->value, is_known));
	}
	return made;
}

static int run_cel(struct conform_tally *t, struct bytes line, const char *name, struct err *e)
{
	AUTO(arena_done) struct arena scratch = { 0 };
	bool is_known = true;
	struct json *c;
	struct asked q;

	if (json_parse(&scratch, line, name, NULL, &c, e))
		return e->rc;
	const struct json *value = json_get(c, "value");
	begin(&q, t, &scratch, "cel", json_get_text(c, "id", "?"), c);
	struct json *variables = plain(&scratch, json_get(c, "bindings"), &is_known);
	struct json *wanted = value ? plain(&scratch, value, &is_known) : NULL;
	if (!is_known) {
		conform_count(t, q.family, CONFORM_NOT_SUPPORTED, q.id, NULL, q.got);
		return OK;
	}
	evaluate(&q, json_get(c, "expr"), variables);
	if (wanted)
		end(&q, json_eq(wanted, json_get(q.got, "value")));
	else
		end(&q, json_get_bool(c, "error", false) && json_get(q.got, "outcome"));
	return OK;
}

static int run_cel_file(struct conform_place *p, struct conform_tally *t, struct err *e)
{
	static const char name[] = "cel/cel-subset.jsonl";
	struct bytes text;
	size_t number = 0;

	if (conform_read(p, t->a, name, &text, e))
		return e->rc;
	while (text.p && text.n > 0) {
		struct bytes line = text_cut(&text, '\n');
		number++;
		if (line.n > 0 && run_cel(t, line, name, e))
			return err_wrap(e, "line %zu", number);
	}
	return OK;
}

/* ---- derived/policy-language-cases.json ---- */

/* A policy of the corpus is one expression; its file is NAME.cel or NAME/policy.cel. */
static int load_policy(struct conform_place *p, struct conform_tally *t, const char *corpus, const char *name,
	struct expression **ret, struct err *e)
{
	struct conform_place quiet = { p->sys, p->dirfd, json_new(t->a, JSON_ARRAY) };
	const char *path = arena_printf(t->a, "%s/%s.cel", corpus, name);
	struct bytes text;

	*ret = NULL;
	if (conform_read(&quiet, t->a, path, &text, e))
		return e->rc;
	if (!text.p) {
		path = arena_printf(t->a, "%s/%s/policy.cel", corpus, name);
		if (conform_read(&quiet, t->a, path, &text, e))
			return e->rc;
	}
	if (!text.p)
		return OK;
	return expression_compile(t->a, text, path, ret, e);
}

/* Only a condition that is met allows. */
static void run_policy(
	struct conform_tally *t, const struct expression *x, const char *name, const struct json *request)
{
	AUTO(arena_done) struct arena scratch = { 0 };
	struct err e = { 0 };
	struct asked q;

	begin(&q, t, &scratch, "corpus", name, json_get(json_get(request, "expected"), name));
	bool is_met = expression_requirement(x, request, &scratch, &e) == REQUIREMENT_SATISFIED;
	json_sets(&scratch, q.got, "verdict", is_met ? "ALLOW" : "DENY");
	json_sets(&scratch, q.got, "why", e.text);
	json_set(&scratch, q.got, "request", json_copy(&scratch, request));
	end(&q, json_text(q.expected) && text_eq(json_text(q.expected), is_met ? "ALLOW" : "DENY"));
}

static void not_supported(struct conform_tally *t, const char *family, size_t n)
{
	for (size_t i = 0; i < n; i++)
		conform_count(t, family, CONFORM_NOT_SUPPORTED, NULL, NULL, NULL);
}

/* All requests against one policy.  A corpus that is not there proves nothing about this program. */
static int run_corpus_policy(struct conform_place *p, struct conform_tally *t, const struct json *doc,
	const char *name, struct err *e)
{
	const char *corpus = json_get_text(doc, "corpus", "");
	struct expression *x;

	if (load_policy(p, t, corpus, name, &x, e))
		return e->rc;
	if (!x)
		json_pushs(t->a, p->absent, arena_printf(t->a, "%s/%s.cel", corpus, name));
	json_each (request, json_get(doc, "requests")) {
		if (x)
			run_policy(t, x, name, request);
		else
			not_supported(t, "corpus", 1);
	}
	return OK;
}

/* Other languages than CEL, and the examples, which are written for an environment of their own, are counted and not run. */
static int run_corpus(struct conform_place *p, struct conform_tally *t, struct err *e)
{
	static const char name[] = "derived/policy-language-cases.json";
	struct bytes text;
	struct json *doc;

	if (conform_read(p, t->a, name, &text, e))
		return e->rc;
	if (!text.p)
		return OK;
	if (json_parse(t->a, text, name, NULL, &doc, e))
		return e->rc;
	const struct json *requests = json_get(doc, "requests"), *policies;
	if (!json_is(requests, JSON_ARRAY))
		return err_set(e, E_INPUT, "CONFORM_CASE", "%s has no list of requests", name);
	policies = json_get(json_at(requests, 0), "expected");
	json_each (language, json_get(doc, "languages")) {
		const char *which = json_text(language);
		json_each_member (m, policies) {
			if (!which || !text_eq(which, "cel"))
				not_supported(t, "corpus", requests->n);
			else if (run_corpus_policy(p, t, doc, m->name, e))
				return e->rc;
		}
	}
	if (json_is(json_get(doc, "example_requests"), JSON_ARRAY))
		not_supported(t, "examples", json_get(doc, "example_requests")->n);
	return OK;
}

int conform_language(struct conform_place *p, struct conform_tally *t, struct err *e)
{
	return run_expressions(p, t, e) || run_cel_file(p, t, e) || run_corpus(p, t, e) ? e->rc : OK;
}
