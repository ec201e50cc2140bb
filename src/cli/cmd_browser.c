/* cmd_browser.c — sessions of browsers: may one begin, and what became of it. */
#include "base/text.h"
#include "cli/cmd.h"
#include "kernel/harness.h"
#include "kernel/skill.h"
#include "remember/browser.h"

const struct opt browser_check_opts[] = {
	{ "profile", OPT_VALUE, "PROFILE", "under which profile", NULL, true },
	{ "action", OPT_VALUE, "ACTION", "what it does: " BROWSER_ACTIONS, NULL, false },
	{ "url-pattern", OPT_VALUE, "URL", "where", NULL, false },
	{ "logged-in", OPT_FLAG, NULL, "as somebody who is logged in", NULL, false },
	{ "parallel", OPT_FLAG, NULL, "in several sessions at once", NULL, false },
	{ "site-note", OPT_VALUE, "FILE", "a note of the workspace about the site", NULL, false },
	{ 0 },
};
const struct opt browser_cleanup_opts[] = {
	{ "status", OPT_VALUE, "STATUS", "how it was left", BROWSER_CLEANUPS, true },
	{ "evidence", OPT_VALUE, "TEXT", "what shows it", NULL, false },
	{ 0 },
};
enum { EXIT_CONFIRM = 24, EXIT_BLOCKED = 27 };

int cmd_browser_check(struct cli *r, struct err *e)
{
	const struct contract_place at = skill_place(r->sys, r->a, r->ws);
	const struct browser_request q = { .action = opt_text(r, "action", NULL),
		.url_pattern = opt_text(r, "url-pattern", NULL),
		.profile = opt_text(r, "profile", NULL),
		.needs_login = opt_flag(r, "logged-in"),
		.wants_parallel = opt_flag(r, "parallel"),
		.site_note = opt_text(r, "site-note", NULL) };
	struct json *doc = browser_verify(&at, &q, 0);

	(void)e;
	out_result(r, doc);
	return !json_get_bool(doc, "allow_single_session", false)   ? EXIT_BLOCKED
		: json_get_bool(doc, "require_confirmation", false) ? EXIT_CONFIRM
								    : 0;
}

int cmd_browser_cleanup(struct cli *r, struct err *e)
{
	struct memory_place m = memory_place_of(r->sys, r->ws);
	struct json *members = json_new(r->a, JSON_OBJECT), *row;
	const char *evidence = opt_text(r, "evidence", NULL);
	struct harness_addition x = { .task_id = r->args[0], .members = members };
	struct kernel k = { 0 };
	int rc = memory_task(&m, r->a, x.task_id, &row, e);

	if (rc)
		return rc;
	if (!json_is(json_get(row, "browser_recon"), JSON_OBJECT))
		return err_set(e, E_USAGE, "BROWSER_TASK", "task '%s' used no browser", x.task_id);
	json_sets(r->a, members, "cleanup_status", opt_text(r, "status", ""));
	if (evidence)
		json_sets(r->a, members, "cleanup_evidence", evidence);
	if (text_eq(json_get_text(row, "status", ""), "browser_cleanup_required"))
		json_sets(r->a, members, "status", "completed");
	rc = kernel_open(r->sys, r->a, r->ws, &k, e);
	if (rc == OK)
		rc = harness_add(&k, r->a, &x, &row, e);
	kernel_close(&k);
	if (rc == OK)
		out_result(r, row);
	return rc;
}
