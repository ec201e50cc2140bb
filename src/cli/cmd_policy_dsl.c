/* cmd_policy_dsl.c — helm policy lint, explain, fmt: for people who write policies in the language of rules over nodes, edges and flows.
 *
 * All three only read. A policy with a mistake is never half used: explain and fmt name the mistakes as lint does and end with 1. */
#include "base/file.h"
#include "cli/cmd.h"
#include "cli/cmd_policy.h"
#include "cli/cmd_policy_files.h"
#include "decide/dsl/dsl.h"

#include <fcntl.h>

enum { LARGEST_REQUEST_BYTES = 1 << 20 };

const struct opt policy_lint_opts[] = {
	{ "strict", OPT_FLAG, NULL, "warnings count as mistakes", NULL, false },
	{ 0 },
};

const struct opt policy_explain_opts[] = {
	{ "policy", OPT_VALUE, "FILE", "by this policy instead of the one in use", NULL, false },
	{ "command", OPT_VALUE, "TEXT",
		"the request is this shell command, asked about as 'helm run' would here", NULL, false },
	{ "as", OPT_VALUE, "CLIENT", "ask as the hook of this agent client would here", NULL, false },
	{ "request", OPT_VALUE, "REQ",
		"the request to judge, where the argument is a policy in the language of rules over graphs",
		NULL, false },
	{ "facts", OPT_VALUE, "FACTS",
		"facts that are not in the request: a JSON object, or a file that holds one", NULL, false },
	{ "fact", OPT_LIST, "NAME=VALUE", "one more of them", NULL, false },
	{ "lang", OPT_VALUE, "LANG", "the language of the reasons, with --request: en, de", NULL, false },
	{ 0 },
};

const struct opt policy_fmt_opts[] = {
	{ "check", OPT_FLAG, NULL, "print nothing; fail unless the text has its layout already", NULL,
		false },
	{ 0 },
};

static const char *shown_name(const char *path)
{
	return text_eq(path, "-") ? "standard input" : path;
}

/* A text that is too large is read one byte too far, so that the language itself says so. */
static int read_policy(struct cli *r, struct bytes *ret, struct err *e)
{
	return file_read(r->sys, r->a, AT_FDCWD, r->args[0], DSL_MAX_BYTES + 1, FILE_FOLLOW, ret, e);
}

static int read_json(struct cli *r, const char *path, struct json **ret, struct err *e)
{
	struct bytes text;

	if (file_read(r->sys, r->a, AT_FDCWD, path, LARGEST_REQUEST_BYTES, FILE_FOLLOW, &text, e))
		return e->rc;
	return json_parse(r->a, text, shown_name(path), NULL, ret, e);
}

/* ---- lint ---- */

static struct json *problems_json(struct cli *r, const struct dsl_problems *problems)
{
	struct json *list = json_new(r->a, JSON_ARRAY);

	for (size_t i = 0; i < problems->n; i++) {
		const struct dsl_problem *p = &problems->items[i];
		struct json *row = json_new(r->a, JSON_OBJECT);
		json_sets(r->a, row, "code", p->code);
		json_sets(r->a, row, "severity", p->is_warning ? "warning" : "error");
		json_seti(r->a, row, "line", p->line);
		json_seti(r->a, row, "column", p->column);
		json_sets(r->a, row, "word", p->word);
		json_sets(r->a, row, "text", p->text);
		json_sets(r->a, row, "fix", p->fix);
		json_push(r->a, list, row);
	}
	return list;
}

static void show_problems(struct cli *r, const struct dsl_problems *problems)
{
	for (size_t i = 0; i < problems->n; i++) {
		const struct dsl_problem *p = &problems->items[i];
		out(r, "%s:%u:%u: %s%s%s: %s", shown_name(r->args[0]), p->line, p->column,
			paint(r, p->is_warning ? PAINT_WARN : PAINT_BAD), p->code, paint(r, PAINT_OFF),
			p->text);
		out(r, p->word[0] ? ", at '%s'\n" : ", at the end of the text%s\n", p->word);
		out(r, "  %s\n", p->fix);
	}
}

/* What lint says, and what the others say of a policy that cannot be used. */
static void report(struct cli *r, const struct dsl_policy *p, const struct dsl_problems *problems)
{
	struct json *doc = json_new(r->a, JSON_OBJECT);

	if (!r->is_json) {
		show_problems(r, problems);
		if (p)
			out(r, "%s: can be used (%s)\n", shown_name(r->args[0]), dsl_hash(p));
		return;
	}
	json_sets(r->a, doc, "file", r->args[0]);
	json_setb(r->a, doc, "valid", p != NULL);
	json_sets(r->a, doc, "policy_hash", p ? dsl_hash(p) : NULL);
	json_set(r->a, doc, "problems", problems_json(r, problems));
	if (p)
		json_set(r->a, doc, "policy", json_copy(r->a, dsl_document(p)));
	out_json(r, doc);
}

/* Which kind of file it is.  A text over graphs is judged by its own language, any other file by what it becomes. */
static int read_any(struct cli *r, struct policy_way way, struct bytes *ret_text, struct policy_reading *ret,
	struct err *e)
{
	struct err why = { 0 };
	int rc = policy_source_read(r->sys, r->a, r->args[0], way, ret_text, ret, &why);

	return rc && ret->problems.errors == 0 ? err_set(e, why.rc, why.code, "%s", why.text) : OK;
}

int cmd_policy_lint(struct cli *r, struct err *e)
{
	struct policy_reading reading;
	struct dsl_problems problems;
	struct bytes text;

	if (read_any(r, (struct policy_way){ .is_import = true }, &text, &reading, e))
		return e->rc;
	if (reading.shape != POLICY_SHAPE_GRAPH)
		return policy_lint_file(r, &reading);
	const struct dsl_policy *p = dsl_compile(r->a, text, &problems);
	report(r, p, &problems);
	return p && !(opt_flag(r, "strict") && problems.n) ? 0 : EXIT_NO;
}

/* ---- explain ---- */

/* Facts come from one place: two that differ would leave open which were meant. */
static int read_request(struct cli *r, struct json **ret, struct err *e)
{
	const char *facts = opt_text(r, "facts", NULL), *request = opt_text(r, "request", NULL);
	struct json *given;
	int rc;

	if (facts && text_eq(facts, "-") && text_eq(request, "-"))
		return err_set(
			e, E_USAGE, "USAGE", "only one of --request and --facts can be standard input");
	rc = read_json(r, request, ret, e);
	if (rc == OK)
		rc = policy_facts_given(r, &given, e);
	if (rc || !given)
		return rc;
	if (json_get(*ret, "facts"))
		return err_set(e, E_INPUT, "DSL_FACTS",
			"%s has facts already; leave them out there, or leave out --facts",
			shown_name(request));
	if (!json_is(*ret, JSON_OBJECT))
		return err_set(e, E_INPUT, "DSL_REQUEST", "%s must hold an object, not %s",
			shown_name(request), json_type_name(*ret));
	json_set(r->a, *ret, "facts", given);
	return OK;
}

/* Bytes of a request are nobody's friend: they are shown with what a terminal would obey made visible. */
static const char *compact(struct cli *r, const struct json *v)
{
	struct buf b;

	buf_init(&b, r->a);
	json_write(&b, v, JSON_SPACED);
	return text_safe(r->a, b.p, b.n, false);
}

static void show_steps(struct cli *r, const struct json *subject)
{
	json_each (step, json_get(subject, "steps"))
		out(r, "  %-4s  %s\n", json_text(json_at(step, 1)), json_text(json_at(step, 0)));
}

static void show_subject(struct cli *r, const struct json *s, size_t number, const char *language)
{
	static const char *const shown[][2] = { { "code", "code" }, { "inputs", "read" },
		{ "missing_primitives", "missing" }, { "patches", "suggested" },
		{ "final_subject", "rewritten to" } };
	const char *text = dsl_explain(r->a, s, language);

	out(r, "%s %zu: %s\n", json_get_text(s, "target", ""), number, json_get_text(s, "verdict", ""));
	show_steps(r, s);
	for (size_t i = 0; i < ARRAY_SIZE(shown); i++) {
		const struct json *v = json_get(s, shown[i][0]);
		if (v)
			out(r, "  %s: %s\n", shown[i][1], compact(r, v));
	}
	out(r, "  %s\n", text_safe(r->a, text, __builtin_strlen(text), false));
}

static int exit_of(const struct json *judged)
{
	const char *verdict = json_get_text(judged, "verdict", "");

	return text_eq(verdict, "ALLOW") ? 0 : text_eq(verdict, "ESCALATE") ? EXIT_APPROVAL : EXIT_DENIED;
}

static void show(struct cli *r, struct json *judged, const char *language)
{
	size_t number = 0;

	json_each (s, json_get(judged, "subjects")) {
		if (r->is_json)
			json_sets(r->a, s, "text", dsl_explain(r->a, s, language));
		else
			show_subject(r, s, ++number, language);
	}
	if (r->is_json)
		out_json(r, judged);
	else
		out(r, "%s%s%s by policy %s\n", json_get_text(judged, "verdict", ""),
			json_get(judged, "rule") ? " by rule " : "", json_get_text(judged, "rule", ""),
			json_get_text(judged, "policy_hash", ""));
}

static int explain_graph(struct cli *r, struct err *e)
{
	const char *language = opt_text(r, "lang", "en"), *languages;
	struct dsl_problems problems;
	struct json *request, *judged;
	struct bytes text;

	if (!dsl_language(r->a, language, &languages))
		return err_set(e, E_USAGE, "DSL_LANGUAGE",
			"there are no texts in language '%s'; there are: %s", language, languages);
	if (read_policy(r, &text, e) || read_request(r, &request, e))
		return e->rc;
	const struct dsl_policy *p = dsl_compile(r->a, text, &problems);
	if (!p) {
		report(r, NULL, &problems);
		return EXIT_NO;
	}
	if (dsl_judge(r->a, p, request, &judged, e))
		return err_wrap(e, "%s", shown_name(opt_text(r, "request", NULL)));
	show(r, judged, language);
	return exit_of(judged);
}

/* A request and a policy, or the other way round with --request, as for rules over graphs. */
int cmd_policy_explain(struct cli *r, struct err *e)
{
	const char *request = opt_text(r, "request", NULL), *command = opt_text(r, "command", NULL);

	if (request && (command || opt_text(r, "policy", NULL) || opt_text(r, "as", NULL) || !r->arg_count))
		return err_set(e, E_USAGE, "USAGE",
			"--request goes with a policy FILE as the argument, and with nothing else");
	if (request)
		return explain_graph(r, e);
	if (opt_text(r, "lang", NULL))
		return err_set(e, E_USAGE, "USAGE",
			"--lang goes with --request; rules of other policies say what their author wrote");
	if ((command != NULL) == (r->arg_count == 1))
		return err_set(e, E_USAGE, "USAGE", "say what to explain: REQUEST, or --command TEXT");
	return policy_explain_request(
		r, opt_text(r, "policy", NULL), command ? NULL : r->args[0], command, e);
}

/* ---- fmt ---- */

int cmd_policy_fmt(struct cli *r, struct err *e)
{
	struct policy_reading reading;
	struct dsl_problems problems;
	struct bytes text, made;

	if (read_any(r, (struct policy_way){ 0 }, &text, &reading, e))
		return e->rc;
	if (reading.shape != POLICY_SHAPE_GRAPH)
		return policy_fmt_file(r, text, &reading);
	if (!dsl_compile(r->a, text, &problems)) {
		report(r, NULL, &problems);
		return EXIT_NO;
	}
	made = dsl_format(r->a, text);
	bool is_same = bytes_eq(text, made), is_check = opt_flag(r, "check");
	if (r->is_json) {
		struct json *doc = json_new(r->a, JSON_OBJECT);
		json_sets(r->a, doc, "file", r->args[0]);
		json_setb(r->a, doc, "formatted", is_same);
		json_set(r->a, doc, "text", json_stringn(r->a, (const char *)made.p, made.n));
		out_json(r, doc);
	} else if (!is_check) {
		buf_add(r->out, made.p, made.n);
	} else if (!is_same) {
		out(r, "%s: not in its layout; 'helm policy fmt' prints it\n", shown_name(r->args[0]));
	}
	return is_check && !is_same ? EXIT_NO : OK;
}
