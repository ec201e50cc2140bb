/* dsl.c — the suite of the policy language over nodes, edges and flows: two files of cases.
 *
 *     derived/dsl-static-cases.json       {cases: [{id, source, expected}]}; expected is "accept" or the class of the first error
 *     derived/dsl-evaluation-cases.json   {cases: [{id, source, input, expected}]}; expected is the answer without what is only for people
 *
 * A member that the expected answer does not have must not be in ours, and a member that is not known here fails the case. */
#include "audit/conform/conform.h"

#include "decide/dsl/dsl.h"

static const struct dsl_policy *compile(struct arena *a, const struct json *c, struct dsl_problems *problems)
{
	const struct json *source = json_get(c, "source");
	struct bytes text = { (const uint8_t *)"", 0 };

	if (json_is(source, JSON_STRING))
		text = (struct bytes){ (const uint8_t *)source->text, source->n };
	return dsl_compile(a, text, problems);
}

/* The class of the first error; "accept" when there is none. */
static const char *class_of(const struct dsl_problems *problems)
{
	for (size_t i = 0; i < problems->n; i++)
		if (!problems->items[i].is_warning)
			return problems->items[i].code;
	return "accept";
}

static void count(struct conform_tally *t, const char *family, const struct json *c, const struct json *got)
{
	bool is_met = json_eq(json_get(c, "expected"), got);

	conform_count(t, family, is_met ? CONFORM_PASSED : CONFORM_FAILED, json_get_text(c, "id", "?"),
		json_get(c, "expected"), got);
}

static void run_static(struct conform_tally *t, const struct json *c)
{
	AUTO(arena_done) struct arena scratch = { 0 };
	struct dsl_problems problems;

	(void)compile(&scratch, c, &problems);
	count(t, "static", c, json_string(&scratch, class_of(&problems)));
}

/* Those members of `from` that an expected answer may have. */
static struct json *members_of(struct arena *a, const struct json *from, const char *const *names, size_t n)
{
	struct json *made = json_new(a, JSON_OBJECT);

	for (size_t i = 0; i < n; i++)
		if (json_get(from, names[i]))
			json_set(a, made, names[i], json_get(from, names[i]));
	return made;
}

static struct json *answer(struct arena *a, const struct json *judged)
{
	static const char *const whole[] = { "verdict", "code", "rule" },
				 *const each[] = { "verdict", "code", "rule", "steps", "approver_role",
					 "fact_requests", "suggested_patches", "rewrites", "final_subject",
					 "error", "rewrite_limit" };
	struct json *made = members_of(a, judged, whole, ARRAY_SIZE(whole)),
		    *subjects = json_new(a, JSON_ARRAY);

	json_each (s, json_get(judged, "subjects"))
		json_push(a, subjects, members_of(a, s, each, ARRAY_SIZE(each)));
	json_set(a, made, "subjects", subjects);
	return made;
}

static void run_evaluation(struct conform_tally *t, const struct json *c)
{
	AUTO(arena_done) struct arena scratch = { 0 };
	struct dsl_problems problems;
	const struct dsl_policy *p = compile(&scratch, c, &problems);
	struct json *judged;
	struct err e = { 0 };

	if (!p)
		count(t, "evaluation", c, json_string(&scratch, class_of(&problems)));
	else if (dsl_judge(&scratch, p, json_get(c, "input"), &judged, &e))
		count(t, "evaluation", c, json_string(&scratch, e.text));
	else
		count(t, "evaluation", c, answer(&scratch, judged));
}

static int run_file(struct conform_place *p, struct conform_tally *t, const char *name,
	void (*run)(struct conform_tally *t, const struct json *c), struct err *e)
{
	struct bytes text;
	struct json *doc;

	if (conform_read(p, t->a, name, &text, e))
		return e->rc;
	if (!text.p)
		return OK;
	if (json_parse(t->a, text, name, NULL, &doc, e))
		return e->rc;
	json_each (c, json_get(doc, "cases"))
		run(t, c);
	return OK;
}

int conform_dsl(struct conform_place *p, struct conform_tally *t, struct err *e)
{
	return run_file(p, t, "derived/dsl-static-cases.json", run_static, e) ||
			run_file(p, t, "derived/dsl-evaluation-cases.json", run_evaluation, e)
		? e->rc
		: OK;
}
