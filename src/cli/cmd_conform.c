/* cmd_conform.c — helm conform: published test cases against our answers.
 *
 * The cases come from a directory, so that a new edition can be checked without a new program. No case
 * passed is a failure, too: an empty directory proves nothing. */
#include "audit/audit.h"
#include "cli/cmd.h"

#include <fcntl.h>

const struct opt conform_run_opts[] = {
	{ "cases", OPT_VALUE, "DIR", "directory with a cases.jsonl, or with the files of the suite", NULL,
		true },
	{ "suite", OPT_VALUE, "NAME", "run this suite instead of cases.jsonl ('helm conform list')", NULL,
		false },
	{ "family", OPT_VALUE, "NAME", "only cases of this family", NULL, false },
	{ 0 },
};

static const char *compact(struct cli *r, const struct json *v)
{
	struct buf b;

	buf_init(&b, r->a);
	json_write(&b, v, 0);
	return text_safe(r->a, b.p, b.n, false);
}

/* One row per family of cases. What is not supported is counted apart and never as passed. */
static void show_families(struct cli *r, const struct json *report)
{
	static const char *const headings[] = { "FAMILY", "PASSED", "FAILED", "NOT SUPPORTED", "UNSCORED" };
	static const char *const members[] = { "passed", "failed", "not_supported", "unscored" };
	struct out_table *t = out_table(r, headings, ARRAY_SIZE(headings));

	json_each (row, json_get(report, "families")) {
		const char *cells[ARRAY_SIZE(headings)] = { json_get_text(row, "family", "") };
		for (size_t i = 0; i < ARRAY_SIZE(members); i++)
			cells[i + 1] =
				arena_printf(r->a, "%lld", (long long)json_get_int(row, members[i], 0));
		out_row(t, cells, NULL);
	}
	out_table_end(t);
}

/* The expected answer beside ours, as compact JSON. */
static void show_failures(struct cli *r, const struct json *report)
{
	json_each (f, json_get(report, "failures")) {
		out(r, "%sFAIL%s %s\n", paint(r, PAINT_BAD), paint(r, PAINT_OFF), json_get_text(f, "id", ""));
		out(r, "  expected %s\n", compact(r, json_get(f, "expected")));
		out(r, "  got      %s\n", compact(r, json_get(f, "got")));
	}
}

/* What is there to run: suites, and families of cases.jsonl. */
int cmd_conform_list(struct cli *r, struct err *e)
{
	struct json *doc = json_new(r->a, JSON_OBJECT), *suites = json_new(r->a, JSON_ARRAY);
	struct json *known = json_new(r->a, JSON_ARRAY);
	const struct conform_suite *s;
	const char *family;

	(void)e;
	for (size_t i = 0; (s = conform_suite_at(i)); i++) {
		struct json *row = json_new(r->a, JSON_OBJECT);
		json_sets(r->a, row, "suite", s->name);
		json_sets(r->a, row, "about", s->what);
		json_sets(r->a, row, "reads", s->reads);
		json_push(r->a, suites, row);
	}
	for (size_t i = 0; (family = conform_family_at(i)); i++)
		json_pushs(r->a, known, family);
	json_set(r->a, doc, "suites", suites);
	json_set(r->a, doc, "families", known);
	out_result(r, doc);
	return OK;
}

static int run(struct cli *r, struct json **ret_report, struct err *e)
{
	const char *dir = opt_text(r, "cases", NULL), *suite = opt_text(r, "suite", NULL);
	const char *family = opt_text(r, "family", NULL);

	if (suite && family)
		return err_set(e, E_USAGE, "USAGE", "--family is for cases.jsonl; leave it out with --suite");
	return suite ? conform_run_suite(r->sys, r->a, AT_FDCWD, dir, suite, ret_report, e)
		     : conform_run(r->sys, r->a, AT_FDCWD, dir, family, ret_report, e);
}

int cmd_conform_run(struct cli *r, struct err *e)
{
	struct json *report;

	if (run(r, &report, e))
		return e->rc;
	int64_t passed = json_get_int(report, "passed", 0), failed = json_get_int(report, "failed", 0);
	int64_t unknown = json_get_int(report, "not_supported", 0);
	if (r->is_json) {
		out_json(r, report);
	} else {
		show_failures(r, report);
		show_families(r, report);
		json_each (name, json_get(report, "absent"))
			out(r, "not there: %s\n", text_safe(r->a, name->text, name->n, false));
		out(r, "%lld passed, %lld failed, %lld not supported\n", (long long)passed, (long long)failed,
			(long long)unknown);
	}
	/* Nothing passed means nothing was tested. */
	return failed == 0 && passed > 0 ? 0 : EXIT_NO;
}
