/* cmd_skill.c — skill: what there is, what it may do, which one is meant, and running one. */
#include "base/doc.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/cmd.h"
#include "cli/cmd_actions.h"
#include "cli/cmd_approval.h"
#include "kernel/person.h"
#include "kernel/skill.h"
#include "kernel/task/task.h"
#include "remember/draft.h"
#include "remember/lifecycle.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const struct opt skill_list_opts[] = {
	{ "drafts", OPT_FLAG, NULL, "also those that are still drafts", NULL, false },
	{ 0 },
};
const struct opt skill_route_opts[] = {
	{ "profile", OPT_VALUE, "NAME", "the profile it would run under (default inspect_local)", NULL,
		false },
	{ "min-score", OPT_INT, "N", "points that a skill needs (default 50)", NULL, false },
	{ "command", OPT_VALUE, "TEXT", "the command that would be run", NULL, false },
	{ 0 },
};
const struct opt skill_run_opts[] = {
	{ "profile", OPT_VALUE, "NAME", "another one of its profiles than the default", NULL, false },
	{ "task-name", OPT_VALUE, "NAME", "what this run is called in the ledger", NULL, false },
	{ 0 },
};
const struct opt skill_sessions_opts[] = {
	{ "end", OPT_VALUE, "SESSION", "the skills of this session are not active any more; takes a person",
		NULL, false },
	{ 0 },
};

static struct contract_place place(struct cli *r)
{
	return skill_place(r->sys, r->a, r->ws);
}

/* ---- looks ---- */

static struct json *listed(struct cli *r, const struct skill *s)
{
	struct json *one = json_new(r->a, JSON_OBJECT), *contract;
	const struct contract_place at = place(r);
	const char *pinned = json_get_text(skill_pinned(r->sys, r->ws, s->name), "sha256", NULL), *now = NULL;

	json_sets(r->a, one, "skill", s->name);
	json_sets(r->a, one, "path", s->dir);
	json_sets(r->a, one, "description", s->description);
	json_sets(r->a, one, "source", s->source);
	json_setb(r->a, one, "draft", s->is_draft);
	if (contract_read(&at, s->name, &contract, NULL))
		contract = NULL;
	const struct json *profiles = contract_profiles(&at, s->name, contract);
	json_set(r->a, one, "default_profile", json_get(profiles, "default_profile"));
	json_setb(r->a, one, "contract", contract != NULL);
	if (s->is_draft || !pinned)
		json_sets(r->a, one, "files", s->is_draft ? "draft" : "not used yet");
	else
		json_sets(r->a, one, "files",
			skill_digest(&at, s->dir, &now, NULL, NULL) == OK && text_eq(now, pinned)
				? "as accepted"
				: "changed");
	return one;
}

int cmd_skill_list(struct cli *r, struct err *e)
{
	static const char *const heads[] = { "skill", "profile", "contract", "files", "description" };
	const struct contract_place at = place(r);
	struct json *list = json_new(r->a, JSON_ARRAY);
	struct skill *all;
	size_t n;
	int rc = skill_list(&at, skill_rooms, &all, &n, e);

	if (rc)
		return rc;
	for (size_t i = 0; i < n; i++)
		if (!all[i].is_draft || opt_flag(r, "drafts"))
			json_push(r->a, list, listed(r, &all[i]));
	if (r->is_json) {
		out_json(r, list);
		return 0;
	}
	if (!list->n) {
		out(r, "no skills; 'helm skill new NAME' makes one\n");
		return 0;
	}
	struct out_table *t = out_table(r, heads, ARRAY_SIZE(heads));
	json_each (one, list) {
		const char *const cells[] = { safe_member(r, one, "skill"),
			safe_member(r, one, "default_profile"),
			json_get_bool(one, "contract", false) ? "yes" : "no", safe_member(r, one, "files"),
			safe_member(r, one, "description") };
		out_row(t, cells, NULL);
	}
	out_table_end(t);
	return 0;
}

int cmd_skill_show(struct cli *r, struct err *e)
{
	const struct contract_place at = place(r);
	struct json *doc, *contract, *files;
	struct skill s;
	const char *sha256;
	int rc = skill_find(&at, r->args[0], &s, e);

	if (rc == OK)
		rc = skill_contract(&at, s.name, &contract, e);
	if (rc == OK)
		rc = skill_digest(&at, s.dir, &sha256, &files, e);
	if (rc)
		return rc;
	doc = listed(r, &s);
	json_set(r->a, doc, "allowed_profiles",
		json_get(contract_profiles(&at, s.name, contract), "allowed_profiles"));
	json_sets(r->a, doc, "sha256", sha256);
	json_sets(r->a, doc, "accepted_sha256",
		json_get_text(skill_pinned(r->sys, r->ws, s.name), "sha256", NULL));
	if (text_eq(json_get_text(doc, "files", ""), "changed"))
		json_set(r->a, doc, "since_accepted", skill_differences(r->sys, r->a, r->ws, s.name, files));
	json_set(r->a, doc, "limits", contract ? contract : json_new(r->a, JSON_OBJECT));
	json_set(r->a, doc, "file_digests", files);
	out_result(r, doc);
	return 0;
}

int cmd_skill_validate(struct cli *r, struct err *e)
{
	const struct contract_place at = place(r);
	struct json *all = contract_validate(&at), *doc = json_new(r->a, JSON_OBJECT),
		    *issues = json_new(r->a, JSON_ARRAY), *warnings = json_new(r->a, JSON_ARRAY), *quality;
	const char *name = r->arg_count ? r->args[0] : NULL;
	struct skill s;
	int rc = name ? skill_find(&at, name, &s, e) : OK;

	if (rc == OK)
		rc = skill_quality(&at, &quality, e);
	if (rc)
		return rc;
	json_each (one, json_get(all, "issues"))
		if (!name || strstr(json_text(one), arena_printf(r->a, "/%s/", name)) ||
			strstr(json_text(one), arena_printf(r->a, "skill '%s'", name)) ||
			text_starts(json_text(one), arena_printf(r->a, "skills/%s:", name)))
			json_push(r->a, issues, one);
	json_each (item, json_get(quality, "items"))
		if (!name || text_eq(json_get_text(item, "skill", ""), name))
			json_each (one, json_get(item, "warnings"))
				json_pushs(r->a, warnings,
					arena_printf(r->a, "%s: %s", json_get_text(item, "skill", ""),
						json_text(one)));
	json_set(r->a, doc, "issues", issues);
	json_set(r->a, doc, "warnings", warnings);
	json_setb(r->a, doc, "ok", issues->n == 0);
	if (r->is_json) {
		out_json(r, doc);
		return issues->n ? EXIT_NO : 0;
	}
	json_each (one, issues)
		out(r, "issue=%s\n", text_safe(r->a, json_text(one), one->n, false));
	json_each (one, warnings)
		out(r, "warning=%s\n", text_safe(r->a, json_text(one), one->n, false));
	out(r, "validation=%s\n", issues->n ? "failed" : "ok");
	return issues->n ? EXIT_NO : 0;
}

int cmd_profile_audit_quality(struct cli *r, struct err *e)
{
	const struct contract_place at = place(r);
	struct json *doc;
	int rc = skill_quality(&at, &doc, e);

	if (rc)
		return rc;
	out_result(r, doc);
	return json_get_bool(doc, "ok", false) ? 0 : EXIT_USAGE;
}

int cmd_skill_route(struct cli *r, struct err *e)
{
	const struct contract_place at = place(r);
	struct buf words;
	struct json *doc;

	buf_init(&words, r->a);
	for (size_t i = 0; i < r->arg_count; i++)
		buf_addf(&words, "%s%s", i ? " " : "", r->args[i]);
	const struct skill_request q = { .request = words.p,
		.command = opt_text(r, "command", NULL),
		.profile = opt_text(r, "profile", "inspect_local") };
	int rc = skill_route(&at, &q, opt_int(r, "min-score", 50), 8, &doc, e);
	if (rc)
		return rc;
	out_result(r, doc);
	return text_eq(json_get_text(doc, "decision", ""), "none") ? EXIT_NO : 0;
}

int cmd_skill_usage(struct cli *r, struct err *e)
{
	static const char *const heads[] = { "skill", "runs", "ok", "failed", "stopped", "other",
		"left contract", "seconds", "cost", "last worked", "last failure" };
	struct actions_place o = actions_place_from(r);
	struct json *list;
	int rc = actions_skill_usage(&o, r->arg_count ? r->args[0] : NULL, &list, e);

	if (rc)
		return rc;
	if (r->is_json) {
		out_json(r, list);
		return 0;
	}
	if (!list->n) {
		out(r, "no run was made for %s\n", r->arg_count ? "that skill" : "a skill");
		return 0;
	}
	struct out_table *t = out_table(r, heads, ARRAY_SIZE(heads));
	json_each (one, list) {
		const char *cells[ARRAY_SIZE(heads)];
		static const char *const names[] = { "skill", "runs", "completed", "failed", "blocked",
			"other", "left_contract", "seconds", "cost_usd", "last_success_at", "last_failure" };
		for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
			const struct json *v = json_get(one, names[i]);
			cells[i] = json_is(v, JSON_NUMBER) ? v->text : safe_member(r, one, names[i]);
			if (text_eq(names[i], "seconds") && json_is(v, JSON_NUMBER))
				cells[i] = arena_printf(r->a, "%.1f", strtod(v->text, NULL));
		}
		out_row(t, cells, NULL);
	}
	out_table_end(t);
	return 0;
}

/* ---- acts ---- */

/* What a person accepts is what lies there now. */
int cmd_skill_accept(struct cli *r, struct err *e)
{
	const struct contract_place at = place(r);
	struct kernel k = { 0 };
	struct skill s;
	const char *sha256;
	struct json *receipt, *files = NULL, *doc = json_new(r->a, JSON_OBJECT);
	int rc = person_is_outside(r->sys, r->a, r->ws, e);

	if (rc == OK)
		rc = skill_find(&at, r->args[0], &s, e);
	if (rc == OK)
		rc = skill_digest(&at, s.dir, &sha256, &files, e);
	if (rc == OK)
		rc = kernel_open(r->sys, r->a, r->ws, &k, e);
	if (rc == OK)
		rc = skill_pin(&k, r->a, s.name, sha256, files, arena_printf(r->a, "user:%u", getuid()),
			&receipt, e);
	kernel_close(&k);
	if (rc)
		return rc;
	json_sets(r->a, doc, "skill", s.name);
	json_sets(r->a, doc, "sha256", sha256);
	json_sets(r->a, doc, "receipt_id", json_get_text(receipt, "receipt_id", NULL));
	out_result(r, doc);
	return 0;
}

int cmd_skill_sessions(struct cli *r, struct err *e)
{
	const char *end = opt_text(r, "end", NULL);
	struct kernel k = { 0 };
	struct json *doc;
	int rc;

	if (!end) {
		rc = skill_sessions(r->sys, r->a, r->ws, &doc, e);
		if (rc == OK)
			out_result(r, doc);
		return rc;
	}
	rc = person_is_outside(r->sys, r->a, r->ws, e);
	if (rc == OK)
		rc = kernel_open(r->sys, r->a, r->ws, &k, e);
	if (rc == OK)
		rc = skill_session_end(&k, r->a, end, arena_printf(r->a, "user:%u", getuid()), &doc, e);
	kernel_close(&k);
	if (rc == OK)
		out(r, "ended: no skill is active in session %s\n", text_safe(r->a, end, strlen(end), false));
	return rc;
}

/* The entrypoint of its contract, with what is behind --. */
static int entry_argv(struct cli *r, const struct terms *t, const char *name, const char *const **ret,
	size_t *ret_n, struct err *e)
{
	const char **argv = arena_zalloc(r->a, t->entrypoint.n + r->child_count + 1, sizeof(*argv));

	if (!t->entrypoint.n)
		return err_set(e, E_INPUT, "SKILL_RUNNER",
			"skill '%s' does not say how it is started: its contract needs runner.entrypoint, or use 'helm run --skill %s -- COMMAND'",
			name, name);
	memcpy(argv, t->entrypoint.words, t->entrypoint.n * sizeof(*argv));
	for (size_t i = 0; i < r->child_count; i++)
		argv[t->entrypoint.n + i] = r->child[i];
	*ret = argv;
	*ret_n = t->entrypoint.n + r->child_count;
	return OK;
}

int cmd_skill_run(struct cli *r, struct err *e)
{
	const struct contract_place at = place(r);
	const char *name = r->args[0];
	struct run_spec spec = { .skill = name,
		.task_name = opt_text(r, "task-name", NULL),
		.mode = GUARD_ENFORCE,
		.mode_source = "default",
		.timeout_s = 1800,
		.cwd = r->ws->root,
		.is_terminal = r->is_tty && isatty(2) };
	struct kernel k = { 0 };
	struct run_report report;
	struct json *contract;
	struct skill s;
	struct terms t = { 0 };
	int rc = skill_find(&at, name, &s, e);

	if (rc == OK)
		rc = skill_contract(&at, name, &contract, e);
	if (rc == OK)
		rc = terms_read(r->a, name, contract, &t, e);
	if (rc == OK)
		rc = entry_argv(r, &t, name, &spec.argv, &spec.argc, e);
	if (rc == OK)
		rc = kernel_open(r->sys, r->a, r->ws, &k, e);
	if (rc)
		return rc;
	spec.profile = opt_text(r, "profile",
		json_get_text(contract_profiles(&at, name, contract), "default_profile", "inspect_local"));
	rc = task_run(&k, r->a, &spec, &report, e);
	kernel_close(&k);
	if (rc)
		return rc;
	if (report.printed)
		out_json(r, report.printed);
	run_tell(r, &report);
	return report.exit_code;
}
