/* cmd_conform.c — helm conform: published test cases against our answers, and gates over evidence.
 *
 * The cases come from a directory, so that a new edition can be checked without a new program. No case
 * passed is a failure, too: an empty directory proves nothing. */
#include "cli/cmd_conform.h"
#include "audit/audit.h"
#include "cli/cmd.h"

#include <fcntl.h>
#include <string.h>

const struct opt conform_run_opts[] = {
	{ "cases", OPT_VALUE, "DIR", "directory with a cases.jsonl, or with the files of the suite", NULL,
		false },
	{ "suite", OPT_VALUE, "NAME", "run this suite instead of cases.jsonl ('helm conform list')", NULL,
		false },
	{ "family", OPT_VALUE, "NAME", "only cases of this family", NULL, false },
	{ "endpoint", OPT_VALUE, "URL", "run --vectors against a boundary over HTTP", NULL, false },
	{ "vectors", OPT_VALUE, "FILE", "the published test-vectors.json", NULL, false },
	{ "binding", OPT_VALUE, "NAME", "how it is asked: effects (/v1/effects) or decide (/v1/decide)", NULL,
		false },
	{ "token-env", OPT_VALUE, "VAR", "the variable with the key for it (HELM_KEY)", NULL, false },
	{ "tenant", OPT_VALUE, "NAME", "sent as X-Helm-Tenant-ID", NULL, false },
	{ "principal", OPT_VALUE, "NAME", "sent as X-Helm-Principal-ID", NULL, false },
	{ "timeout", OPT_VALUE, "DURATION", "of one question (5s)", NULL, false },
	{ "allow-http-remote", OPT_FLAG, NULL, "also over http:// beyond this machine: the key can be read",
		NULL, false },
	{ "level", OPT_VALUE, "L", "run the gates of this gate_level over --evidence: L1, L2", NULL, false },
	{ "profile", OPT_VALUE, "NAME",
		"run the gates of this profile over --evidence: SMB, CORE, ENTERPRISE, L3, ...", NULL,
		false },
	{ "gate", OPT_LIST, "ID", "only this gate", NULL, false },
	{ "evidence", OPT_VALUE, "PACK", "an evidence pack in the numbered layout: directory, tar or tar.gz",
		NULL, false },
	{ "jurisdiction", OPT_VALUE, "CC", "the jurisdiction that gate G9 looks for", NULL, false },
	{ "key", OPT_LIST, "KEY",
		"a public key that you trust for receipts: 64 hex digits, or a file with them", NULL, false },
	{ "trust", OPT_VALUE, "FILE", "a file of such keys (JSON)", NULL, false },
	{ "signed", OPT_FLAG, NULL, "sign the report with your key and write it to --output", NULL, false },
	{ "output", OPT_VALUE, "DIR", "where --signed writes (the current directory)", NULL, false },
	{ "revision", OPT_VALUE, "SHA",
		"the 40 hexadecimal digits of the revision that was tested, for --signed", NULL, false },
	{ "registry-entry", OPT_FLAG, NULL, "print the row for a registry of runtimes instead of the report",
		NULL, false },
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

/* Levels and profiles with their gates; what is named in the published list and not here says why. */
static void list_gates(struct cli *r, struct json *doc)
{
	struct json *sets = json_new(r->a, JSON_ARRAY), *gates = json_new(r->a, JSON_ARRAY);
	const struct conform_set *s;
	const char *id, *about;

	for (size_t i = 0; (s = conform_set_at(i)); i++) {
		struct json *row = json_new(r->a, JSON_OBJECT);
		json_sets(r->a, row, "scale", s->scale);
		json_sets(r->a, row, "name", s->name);
		json_sets(r->a, row, "gates", s->gates);
		json_push(r->a, sets, row);
	}
	for (size_t i = 0; (id = conform_gate_at(i, &about)); i++) {
		struct json *row = json_new(r->a, JSON_OBJECT);
		json_sets(r->a, row, "gate", id);
		json_sets(r->a, row, "about", about);
		json_push(r->a, gates, row);
	}
	json_set(r->a, doc, "sets", sets);
	json_set(r->a, doc, "gates", gates);
	json_sets(r->a, doc, "not_here", "GX_SDK_DRIFT: there is no client library here that could drift");
}

/* What is there to run: suites, families of cases.jsonl, and gates. */
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
	list_gates(r, doc);
	out_result(r, doc);
	return OK;
}

static bool wants_gates(struct cli *r)
{
	const char **gates;

	return opt_text(r, "level", NULL) || opt_text(r, "profile", NULL) || opt_list(r, "gate", &gates);
}

static int run(struct cli *r, struct json **ret_report, struct err *e)
{
	const char *dir = opt_text(r, "cases", NULL), *suite = opt_text(r, "suite", NULL);
	const char *family = opt_text(r, "family", NULL);

	if (wants_gates(r) && (dir || suite || family))
		return err_set(e, E_USAGE, "USAGE",
			"gates look at --evidence and suites at --cases; run one after the other");
	if (wants_gates(r))
		return conform_run_gates(r, ret_report, e);
	if (!dir)
		return err_set(e, E_USAGE, "USAGE",
			"give --cases DIR with the published cases, or --level or --profile with --evidence PACK");
	if (suite && family)
		return err_set(e, E_USAGE, "USAGE", "--family is for cases.jsonl; leave it out with --suite");
	return suite ? conform_run_suite(r->sys, r->a, AT_FDCWD, dir, suite, ret_report, e)
		     : conform_run(r->sys, r->a, AT_FDCWD, dir, family, ret_report, e);
}

static const char *shown(struct cli *r, const struct json *row, const char *name)
{
	const char *text = json_get_text(row, name, "");

	return text_safe(r->a, text, strlen(text), false);
}

static void show(struct cli *r, const struct json *report)
{
	if (json_get(report, "gate_results")) {
		conform_show_gates(r, report);
		return;
	}
	show_failures(r, report);
	show_families(r, report);
	json_each (row, json_get(report, "left_out"))
		out(r, "not supported: %s: %s\n", shown(r, row, "id"), shown(r, row, "reason"));
	json_each (name, json_get(report, "absent"))
		out(r, "not there: %s\n", text_safe(r->a, name->text, name->n, false));
	out(r, "%lld passed, %lld failed, %lld not supported\n", (long long)json_get_int(report, "passed", 0),
		(long long)json_get_int(report, "failed", 0),
		(long long)json_get_int(report, "not_supported", 0));
}

int cmd_conform_run(struct cli *r, struct err *e)
{
	struct json *report, *said = NULL;

	if (opt_text(r, "endpoint", NULL))
		return conform_endpoint(r, e);
	int rc = run(r, &report, e);

	if (rc == OK && opt_flag(r, "signed"))
		rc = conform_sign(r, report, &said, e);
	if (rc == OK && opt_flag(r, "registry-entry"))
		rc = conform_registry_entry(r, report, &said, e);
	if (rc)
		return rc;
	if (opt_flag(r, "registry-entry"))
		out_result(r, said);
	else if (r->is_json)
		out_json(r, report);
	else
		show(r, report);
	if (opt_flag(r, "signed") && !r->is_json)
		out(r, "signed by %s\n", json_get_text(said, "signer_id", "this user's key"));
	/* Nothing passed means nothing was tested; a gate that was not run has not passed. */
	return json_get_int(report, "failed", 0) == 0 && json_get_int(report, "not_run", 0) == 0 &&
			json_get_int(report, "passed", 0) > 0
		? 0
		: EXIT_NO;
}
