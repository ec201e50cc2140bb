/* cmd_run.c — profile run, and its short form run.
 *
 * Options become a run_spec, and kernel/task does the rest: judge, record, run behind walls, record again.
 * What is decided here is who may loosen the guard: nobody from inside a guarded run, and no agent for
 * what it runs itself. */
#include "base/doc.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/cmd.h"
#include "cli/cmd_approval.h"
#include "kernel/posture.h"
#include "kernel/task/layer.h"
#include "model/command.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RUN_OPTIONS \
	{ "task-name", OPT_VALUE, "NAME", "what this run is called in the ledger", NULL, false }, \
		{ "task-goal", OPT_VALUE, "TEXT", "what it is for", NULL, false }, \
		{ "task-id", OPT_VALUE, "ID", "use this id instead of a new one", NULL, false }, \
		{ "parent-task-id", OPT_VALUE, "ID", "the task this one continues", NULL, false }, \
		{ "skill", OPT_VALUE, "NAME", \
			"the skill it belongs to; its contract must allow the profile", NULL, false }, \
		{ "meta-json", OPT_VALUE, "OBJECT", "a JSON object kept with the task", NULL, false }, \
		{ "label", OPT_VALUE, "LABEL", "label of the checkpoint", NULL, false }, \
		{ "runtime-target", OPT_VALUE, "PLACE", "where a handed-off task is to be done", NULL, \
			false }, \
		{ "runtime-note", OPT_VALUE, "TEXT", "a note for whoever does it", NULL, false }, \
		{ "delivery-mode", OPT_VALUE, "MODE", "recorded with the task", \
			"inline|background|announce|none", false }, \
		{ "guard-mode", OPT_VALUE, "MODE", \
			"enforce; audit records and never blocks; off does not look", "enforce|audit|off", \
			false }, \
		{ "approve-risk", OPT_FLAG, NULL, "you approve what the guard asks about; a denial stays", \
			NULL, false }, \
		{ "approval-id", OPT_VALUE, "ID", \
			"go on with what a person approved there; refused when it is not approved", NULL, \
			false }, \
		{ "guard-json", OPT_FLAG, NULL, "print the guard's decision and run nothing", NULL, false }, \
		{ "browser-action", OPT_VALUE, "ACTION", \
			"it uses a browser, for this (docs/formats/browser.md)", NULL, false }, \
		{ "browser-url-pattern", OPT_VALUE, "URL", "where", NULL, false }, \
		{ "browser-logged-in", OPT_FLAG, NULL, "as somebody who is logged in", NULL, false }, \
		{ "browser-parallel", OPT_FLAG, NULL, "in several sessions at once", NULL, false }, \
		{ "browser-site-note", OPT_VALUE, "FILE", "a note of the workspace about the site", NULL, \
			false }, \
		{ "governance-live-source-confirmed", OPT_FLAG, NULL, \
			"the source was looked at just now (docs/formats/governance.md)", NULL, false }, \
		{ "consensus-plan", OPT_VALUE, "FILE", \
			"a plan that it is held to: it writes nowhere else (docs/formats/completion.md)", \
			NULL, false }, \
		{ "acceptance", OPT_LIST, "TEXT", "what must hold afterwards, for that plan", NULL, false }, \
		{ "evidence-command-json", OPT_LIST, "ARRAY", \
			"a command to be run afterwards, as a list of words: what it shows counts (docs/formats/completion.md)", \
			NULL, false }, \
		{ "service-evidence-json", OPT_LIST, "OBJECT", \
			"a service to be asked afterwards: {source, command}, by a command that a person accepted for that", \
			NULL, false }, \
		{ "verified-execution", OPT_FLAG, NULL, \
			"each task of the plan by up to three attempts, until everything is shown that it asks for; else exit 30", \
			NULL, false }, \
		{ "timeout", OPT_VALUE, "SECONDS", \
			"end everything after this time (default 1800, 0 or less: none)", NULL, false }, \
	{ \
		"cwd", OPT_VALUE, "DIR", "run there instead of here; 'workspace' means its root", NULL, \
			false \
	}

const struct opt profile_run_opts[] = {
	RUN_OPTIONS,
	{ "include", OPT_LIST, "PATH", "save only this in the checkpoint", NULL, false },
	{ 0 },
};
const struct opt run_opts[] = {
	{ "profile", OPT_VALUE, "NAME", "the profile (default: the workspace's, else workspace_edit)", NULL,
		false },
	RUN_OPTIONS,
	{ 0 },
};

/* The option wins over the environment. A mode that is not understood enforces. Only callers outside of
 * any guarded run may loosen it or approve a risk. */
static int guard_mode(struct cli *r, struct run_spec *spec, struct err *e)
{
	const char *given = opt_text(r, "guard-mode", NULL), *env = r->sys->getenv(r->sys, "HELM_GUARD_MODE");

	/* Whatever is not said or not understood below leaves the guard on. */
	spec->mode = GUARD_ENFORCE;
	spec->mode_source = "default";
	if (given) {
		spec->mode_source = "cli";
		(void)guard_mode_parse(given, &spec->mode);
	} else if (env && *env) {
		spec->mode_source = "env";
		/* An environment variable is easily misspelled; a misspelled one must not switch anything
		 * off. */
		if (!guard_mode_parse(env, &spec->mode)) {
			warn(r, "HELM_GUARD_MODE is '%s', which is no mode; enforcing", env);
			spec->mode = GUARD_ENFORCE;
		}
	}
	/* What runs under the guard cannot take it off. */
	if (spec->mode != GUARD_ENFORCE && r->sys->getenv(r->sys, "HELM_TASK_ID"))
		return err_set(
			e, E_DENIED, "GUARD_MODE", "the guard cannot be loosened from inside a guarded run");
	if (spec->approve_risk && r->sys->getenv(r->sys, "HELM_TASK_ID"))
		return err_set(e, E_DENIED, "GUARD_APPROVAL",
			"a guarded run cannot approve its own risk; ask a person");
	/* Nor can an agent, for what it runs itself. */
	int rc = spec->approve_risk || spec->mode != GUARD_ENFORCE ? person_is_outside(r->sys, r->a, r->ws, e)
								   : OK;
	if (rc)
		return rc;
	/* Said every time, and recorded, because nothing else will be looked at. */
	if (spec->mode == GUARD_OFF)
		warn(r, "the guard is off for this run; that is recorded");
	return OK;
}

/* Links are resolved now, so that the directory that is judged is the directory that is used. */
static int working_directory(struct cli *r, struct run_spec *spec, struct err *e)
{
	const char *given = opt_text(r, "cwd", NULL);
	char *here = realpath(given && !text_eq(given, "workspace") ? given : ".", NULL);

	if (given && text_eq(given, "workspace")) {
		spec->cwd = r->ws->root;
	} else if (here) {
		spec->cwd = arena_strdup(r->a, here);
	} else {
		return err_sys(e, "RUN_CWD", "cannot run in '%s'", given ? given : ".");
	}
	free(here);
	return OK;
}

static void read_browser(struct cli *r, struct run_spec *spec)
{
	const char *action = opt_text(r, "browser-action", NULL);
	struct run_browser *b = arena_zalloc(r->a, 1, sizeof(*b));

	if (!action)
		return;
	*b = (struct run_browser){ .action = action,
		.url_pattern = opt_text(r, "browser-url-pattern", NULL),
		.site_note = opt_text(r, "browser-site-note", NULL),
		.needs_login = opt_flag(r, "browser-logged-in"),
		.wants_parallel = opt_flag(r, "browser-parallel") };
	spec->browser = b;
}

static int read_plan(struct cli *r, struct run_spec *spec, struct err *e)
{
	enum { PLAN_BYTES = 256 << 10 };
	const char *file = opt_text(r, "consensus-plan", NULL), **texts;
	struct json *doc = NULL;

	spec->acceptance_count = opt_list(r, "acceptance", &texts);
	spec->acceptance = texts;
	if (!file)
		return OK;
	int rc = doc_read(r->sys, r->a, AT_FDCWD, file, PLAN_BYTES, FILE_FOLLOW, &doc, e);
	if (rc == OK && !json_is(doc, JSON_OBJECT))
		rc = err_set(e, E_USAGE, "RUN_PLAN", "--consensus-plan takes the file of a JSON object");
	spec->plan = doc;
	return rc;
}

static bool is_words(const struct json *argv)
{
	if (!json_is(argv, JSON_ARRAY) || !argv->n)
		return false;
	json_each (word, argv)
		if (!json_text(word) || !json_text(word)[0])
			return false;
	return true;
}

/* {source, command}: a name that stays on its line, and what reads back. */
static bool is_service(const struct json *doc)
{
	enum { NAME_BYTES = 200 };
	const char *source = json_get_text(doc, "source", "");

	for (const char *p = source; *p; p++)
		if ((unsigned char)*p < ' ')
			return false;
	return *source && strlen(source) <= NAME_BYTES &&
		(!json_get(doc, "command") || is_words(json_get(doc, "command")));
}

/* All documents of an option that can be repeated; what may be run of them is asked when it is their turn. */
static int read_documents(struct cli *r, const char *option, bool (*is_one)(const struct json *),
	const char *form, const struct json **ret, struct err *e)
{
	const char **texts;
	size_t n = opt_list(r, option, &texts);
	struct json *list = json_new(r->a, JSON_ARRAY), *doc;

	for (size_t i = 0; i < n; i++) {
		if (json_parse(r->a, bytes_of(texts[i]), option, NULL, &doc, e) || !is_one(doc))
			return err_set(e, E_USAGE, "RUN_EVIDENCE", "--%s takes %s", option, form);
		json_push(r->a, list, doc);
	}
	*ret = n ? list : NULL;
	return OK;
}

static int read_evidence(struct cli *r, struct run_spec *spec, struct err *e)
{
	int rc = read_documents(r, "evidence-command-json", is_words,
		"a JSON array of words: '[\"npm\", \"test\"]'", &spec->evidence_commands, e);

	return rc ? rc
		  : read_documents(r, "service-evidence-json", is_service,
			    "a JSON object: '{\"source\": NAME, \"command\": [WORD...]}'",
			    &spec->service_evidence, e);
}

/* Everything that can be wrong with the words is found before the kernel is opened. */
static int read_spec(struct cli *r, struct run_spec *spec, struct err *e)
{
	const char *meta = opt_text(r, "meta-json", NULL);
	struct json *doc = NULL;
	int rc = OK;

	/* What to run always stands behind "--" or behind our own arguments. */
	if (!r->child_count)
		return err_set(e, E_USAGE, "RUN_COMMAND", "say what to run, after --");
	spec->argv = (const char *const *)r->child;
	spec->argc = r->child_count;
	spec->task_name = opt_text(r, "task-name", NULL);
	spec->task_goal = opt_text(r, "task-goal", NULL);
	spec->task_id = opt_text(r, "task-id", NULL);
	spec->parent_task_id = opt_text(r, "parent-task-id", NULL);
	spec->skill = opt_text(r, "skill", NULL);
	spec->label = opt_text(r, "label", NULL);
	spec->runtime_target = opt_text(r, "runtime-target", NULL);
	spec->runtime_note = opt_text(r, "runtime-note", NULL);
	spec->delivery_mode = opt_text(r, "delivery-mode", NULL);
	spec->approve_risk = opt_flag(r, "approve-risk");
	spec->approval_id = opt_text(r, "approval-id", NULL);
	spec->guard_json = opt_flag(r, "guard-json");
	spec->is_live_confirmed = opt_flag(r, "governance-live-source-confirmed");
	spec->is_verified = opt_flag(r, "verified-execution");
	spec->is_terminal = r->is_tty && isatty(2);
	/* Kept with the task as it is; it has no meaning for the guard. */
	if (meta &&
		(json_parse(r->a, bytes_of(meta), "--meta-json", NULL, &doc, e) ||
			!json_is(doc, JSON_OBJECT)))
		return err_set(e, E_USAGE, "RUN_META", "--meta-json takes a JSON object");
	spec->meta = doc;
	read_browser(r, spec);
	/* Who comes from the Python Helm says -1 for no limit. */
	if (!text_int(opt_text(r, "timeout", "1800"), &spec->timeout_s))
		return err_set(e, E_USAGE, "USAGE_NUMBER", "--timeout takes a whole number, not '%.40s'",
			opt_text(r, "timeout", ""));
	spec->timeout_s = spec->timeout_s < 0 ? 0 : spec->timeout_s;
	rc = read_plan(r, spec, e);
	if (rc == OK)
		rc = read_evidence(r, spec, e);
	if (rc == OK)
		rc = guard_mode(r, spec, e);
	return rc ? rc : working_directory(r, spec, e);
}

/* Tells a person on standard error what must be known; the command's own output went through already. */
void run_tell(struct cli *r, const struct run_report *report)
{
	struct buf text;

	buf_init(&text, r->a);
	if (report->message)
		buf_addf(&text, "%s: %s\n", command_program(),
			hint(r, text_safe(r->a, report->message, strlen(report->message), true)));
	if (report->hint)
		buf_addf(&text, "Hint: %s\n",
			hint(r, text_safe(r->a, report->hint, strlen(report->hint), true)));
	if (report->result && report->result->report.missing[0])
		buf_addf(&text, "%s: warning: degraded: not guaranteed on this machine: %s\n",
			command_program(), report->result->report.missing);
	out_say(r, text.p, text.n);
}

int run_close_left(struct cli *r, bool all, size_t *ret_closed, struct err *e)
{
	const struct json *finished = layers_finish(r->sys, r->a, r->ws->helm_home);

	json_each (one, finished) {
		const char *id = json_get_text(one, "task_id", ""), *line = layer_line(r->a, one);
		if (!json_get_text(one, "error", NULL))
			warn(r, "session %s was ended with its helm; what it wrote in the home directory was put in order",
				id);
		if (line)
			warn(r, "%s", line);
	}
	return task_close_orphans(r->sys, r->ws, all, ret_closed, e);
}

/* Runs that died without a last word are closed first, so that the ledger is right before a new one
 * begins. The exit code is that of the command. */
static int run_with(struct cli *r, struct run_spec *spec, struct err *e)
{
	struct kernel k;
	struct run_report report;
	size_t closed;
	int rc = read_spec(r, spec, e);

	if (rc == OK)
		rc = kernel_open(r->sys, r->a, r->ws, &k, e);
	/* Now, when a choice that was interrupted is finished. */
	if (rc == OK && !spec->profile)
		rc = workspace_default_profile(r->sys, r->a, r->ws, &spec->profile, e);
	if (rc)
		return rc;
	const struct json *differences = posture_differences(r->sys, r->a, r->ws);
	json_each (one, differences)
		warn(r, "%s (%s)", json_get_text(one, "text", ""), json_get_text(one, "remedy", ""));
	rc = run_close_left(r, false, &closed, e);
	if (rc == OK)
		rc = task_run_verified(&k, r->a, spec, &report, e);
	kernel_close(&k);
	if (rc)
		return rc;
	if (report.printed)
		out_json(r, report.printed);
	run_tell(r, &report);
	return report.exit_code;
}

int cmd_profile_run(struct cli *r, struct err *e)
{
	struct run_spec spec = { .profile = r->args[0] };
	const char **paths;
	size_t n = opt_list(r, "include", &paths);

	spec.checkpoint_paths = n ? paths : NULL;
	spec.checkpoint_path_count = n;
	return run_with(r, &spec, e);
}

/* Without --profile the workspace's choice holds. */
int cmd_run(struct cli *r, struct err *e)
{
	struct run_spec spec = { .profile = opt_text(r, "profile", NULL) };

	return run_with(r, &spec, e);
}
