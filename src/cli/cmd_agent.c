/* cmd_agent.c — supervised sessions: start one, list them, tell about one, end one; and, inside, step outside.
 *
 * As far as whoever started it can tell, `helm agent CLIENT` is the client: same terminal, same exit code, same death by a signal. */
#include "base/text.h"
#include "cli/cmd.h"
#include "cli/cmd_actions.h"
#include "cli/cmd_approval.h"
#include "kernel/agent/agent.h"
#include "kernel/posture.h"
#include "kernel/task/layer.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

const struct opt agent_opts[] = {
	{ "profile", OPT_VALUE, "NAME", "the profile (default: the workspace's, else " AGENT_PROFILE ")",
		NULL, false },
	{ "cwd", OPT_VALUE, "DIR", "work there instead of here", NULL, false },
	{ "task-name", OPT_VALUE, "TEXT", "what the session is called in lists", NULL, false },
	{ "task-goal", OPT_VALUE, "TEXT", "what it is for", NULL, false },
	{ "detach", OPT_FLAG, NULL, "without this terminal: 'helm agent attach' sits down at it", NULL,
		false },
	{ 0 },
};
const struct opt agent_keep_opts[] = {
	PERSON_KEY,
	{ 0 },
};
const struct opt agent_list_opts[] = {
	{ "all", OPT_FLAG, NULL, "also those that have ended", NULL, false },
	{ 0 },
};

/* Links are resolved now, so that the directory that is judged is the one that is used. */
static int read_spec(struct cli *r, struct agent_spec *spec, struct err *e)
{
	const char *given = opt_text(r, "cwd", ".");
	char *here = realpath(given, NULL);

	if (!here)
		return err_sys(e, "RUN_CWD", "cannot work in '%s'", given);
	*spec = (struct agent_spec){ .client = r->args[0],
		.args = (const char *const *)r->child,
		.arg_count = r->child_count,
		.profile = opt_text(r, "profile", NULL),
		.cwd = arena_strdup(r->a, here),
		.name = opt_text(r, "task-name", NULL),
		.goal = opt_text(r, "task-goal", NULL) };
	free(here);
	return OK;
}

/* Whoever waits for us learns what happened to the client.  Its core, if any, is not ours. */
static int end_like(const struct run_report *report)
{
	const struct rlimit no_core = { 0, 0 };

	if (report->result && report->result->exit_signal) {
		(void)setrlimit(RLIMIT_CORE, &no_core);
		signal(report->result->exit_signal, SIG_DFL);
		(void)kill(getpid(), report->result->exit_signal);
	}
	return report->exit_code;
}

static int start_detached(struct cli *r, const struct agent_spec *spec, struct err *e)
{
	struct json *doc;
	int rc = agent_detach(r->sys, r->a, r->ws, spec, &doc, e);

	if (rc)
		return rc;
	int64_t code = json_get_int(doc, "exit_code", 0);
	if (code) {
		warn(r, "%s", json_get_text(doc, "text", ""));
		return (int)code;
	}
	const char *id = json_get_text(doc, "task_id", "");
	if (r->is_json)
		out_json(r, doc);
	else
		out(r, "%s runs.  'helm agent attach %s' sits down at it (Ctrl-] d leaves it), 'helm agent stop %s' ends it.\n",
			id, id, id);
	return 0;
}

int cmd_agent_attach(struct cli *r, struct err *e)
{
	bool has_ended;

	if (agent_is_inside())
		return err_set(e, E_DENIED, "AGENT_INSIDE", "this is inside a supervised session");
	int rc = agent_attach(r->sys, r->a, r->ws, r->arg_count ? r->args[0] : NULL, &has_ended, e);
	if (rc)
		return rc;
	out(r,
		has_ended ? "The session has ended; 'helm agent report' tells about it.\n"
			  : "Left; the session goes on.\n");
	return 0;
}

int cmd_agent(struct cli *r, struct err *e)
{
	struct agent_spec spec;
	struct run_report report;
	struct kernel k;
	size_t closed;

	if (agent_is_inside())
		return err_set(e, E_DENIED, "AGENT_INSIDE", "this is inside a supervised session already");
	int rc = read_spec(r, &spec, e);

	if (rc)
		return rc;
	json_each (one, posture_differences(r->sys, r->a, r->ws))
		warn(r, "%s (%s)", json_get_text(one, "text", ""), json_get_text(one, "remedy", ""));
	rc = run_close_left(r, false, &closed, e);
	if (rc == OK && opt_flag(r, "detach"))
		return start_detached(r, &spec, e);
	if (rc == OK)
		rc = kernel_open(r->sys, r->a, r->ws, &k, e);
	if (rc)
		return rc;
	rc = agent_run(&k, r->a, &spec, &report, e);
	kernel_close(&k);
	if (rc)
		return rc;
	run_tell(r, &report);
	if (report.result && report.result->report.exec_errno == ENOENT)
		warn(r, "install %s first, or name its program with its path: helm agent /PATH/TO/PROGRAM",
			spec.client);
	return end_like(&report);
}

int cmd_agent_list(struct cli *r, struct err *e)
{
	static const char *const headings[] = { "SESSION", "CLIENT", "PROFILE", "STATUS", "STARTED",
		"WHERE" };
	struct json *doc;
	int rc = agent_list(r->sys, r->a, r->ws, opt_flag(r, "all"), &doc, e);

	if (rc)
		return rc;
	if (r->is_json) {
		out_json(r, doc);
		return 0;
	}
	if (!json_get(doc, "sessions")->n) {
		out(r, "No session is running%s.\n", opt_flag(r, "all") ? ", and none was" : "");
		return 0;
	}
	struct out_table *t = out_table(r, headings, ARRAY_SIZE(headings));
	json_each (one, json_get(doc, "sessions")) {
		const char *cells[] = { json_get_text(one, "task_id", ""), json_get_text(one, "client", ""),
			json_get_text(one, "profile", ""),
			arena_printf(r->a, "%s%s", json_get_text(one, "status", ""),
				json_get_bool(one, "running", false) && json_get_bool(one, "detached", false)
					? ", detached"
					: ""),
			json_get_text(one, "started_at", ""), json_get_text(one, "cwd", "") };
		out_row(t, cells, NULL);
	}
	out_table_end(t);
	return 0;
}

/* "3 refused:" and a line for each; nothing when there is none. */
static void print_calls(struct cli *r, const struct json *doc, const char *name, const char *what)
{
	const struct json *list = json_get(doc, name);
	int64_t n = json_get_int(json_get(doc, "calls"), name, list ? list->n : 0);

	if (!list || !list->n)
		return;
	out(r, "\n%s%lld %s%s\n", paint(r, PAINT_BOLD), (long long)n, what, paint(r, PAINT_OFF));
	json_each (one, list) {
		const char *rule = json_get_text(one, "rule", json_get_text(one, "status", NULL)),
			   *why = json_get_text(one, "why", NULL),
			   *approval = json_get_text(one, "approval_id", NULL),
			   *undo = json_get_text(one, "checkpoint_id", NULL),
			   *said = json_get_text(one, "preview", json_get_text(one, "command", ""));
		out(r, "  %s", text_safe(r->a, said, strlen(said) > 160 ? 160 : strlen(said), false));
		if (rule && !undo)
			out(r, "  (%s)", rule);
		if (why)
			out(r, "  %s", text_safe(r->a, why, strlen(why), false));
		json_each (left, why ? NULL : json_get(one, "left_behind"))
			out(r, "  left behind %s (%s)", json_get_text(left, "path", ""),
				json_get_text(left, "what", ""));
		if (approval)
			out(r, "  helm approval show %s", approval);
		if (undo)
			out(r, "  helm checkpoint restore %s", undo);
		out(r, "\n");
	}
	if (n > list->n)
		out(r, "  ... and %lld more\n", (long long)(n - list->n));
}

static void print_paths(struct cli *r, const struct json *list, const char *what)
{
	enum { SHOWN = 12 };
	size_t n = 0;

	if (!list || !list->n)
		return;
	out(r, "\n%s%u file%s %s%s\n", paint(r, PAINT_BOLD), list->n, list->n == 1 ? "" : "s", what,
		paint(r, PAINT_OFF));
	json_each (path, list) {
		if (n++ == SHOWN) {
			out(r, "  ... and %zu more\n", (size_t)list->n - SHOWN);
			return;
		}
		out(r, "  %s\n", text_safe(r->a, json_text(path), strlen(json_text(path)), false));
	}
}

/* What the session wrote in the home directory: what came back, and what waits for the operator. */
static void print_left(struct cli *r, const struct json *doc)
{
	const struct json *left = json_get(doc, "session_left"), *carried = json_get(doc, "session_carried");
	const int64_t n = json_get_int(doc, "session_left_count", 0),
		      dropped = json_get_int(doc, "session_dropped", 0);
	const char *id = json_get_text(doc, "task_id", ""), *first = NULL;

	if (carried && carried->n)
		out(r, "\n%u file%s of the client's history came back into the home directory\n", carried->n,
			carried->n == 1 ? "" : "s");
	if (dropped)
		out(r, "%s of caches and traces %s removed\n", text_count(r->a, dropped, "file"),
			dropped == 1 ? "was" : "were");
	if (n <= 0)
		return;
	out(r, "\n%s%s in the home directory %s not kept%s\n", paint(r, PAINT_BOLD),
		text_count(r->a, n, "file"), n == 1 ? "was" : "were", paint(r, PAINT_OFF));
	json_each (one, left) {
		const char *path = json_get_text(one, "path", "");
		const bool is_kept = json_get_bool(one, "kept_aside", false);
		out(r, "  ~/%s  %lld bytes%s  (%s)\n", text_safe(r->a, path, strlen(path), false),
			(long long)json_get_int(one, "bytes", 0), is_kept ? "" : ", no longer kept aside",
			safe_member(r, one, "why"));
		first = first || !is_kept ? first : path;
	}
	if (left && n > left->n)
		out(r, "  ... and %lld more\n", (long long)(n - left->n));
	if (first)
		out(r, "To put one into its place, or to remove all of them:\n  helm agent keep %s %s\n  helm agent discard %s\n",
			id, text_safe(r->a, first, strlen(first), false), id);
}

static void print_report(struct cli *r, const struct json *doc)
{
	const struct json *calls = json_get(doc, "calls");
	const char *missing = json_get_text(json_get(doc, "protections"), "missing", ""),
		   *why = json_get_text(doc, "failure_reason", NULL),
		   *end = json_get_text(doc, "finished_at", NULL);

	out(r, "%s%s%s  %s under %s: %s\n", paint(r, PAINT_BOLD), json_get_text(doc, "task_id", ""),
		paint(r, PAINT_OFF), json_get_text(doc, "client", ""), json_get_text(doc, "profile", ""),
		json_get_text(doc, "status", ""));
	out(r, "  in %s, from %s to %s\n", json_get_text(doc, "cwd", ""),
		json_get_text(doc, "started_at", ""), end ? end : "now");
	if (why)
		out(r, "  %s\n", text_safe(r->a, why, strlen(why), false));
	if (*missing)
		out(r, "  %swithout these guarantees: %s%s\n", paint(r, PAINT_BAD), missing,
			paint(r, PAINT_OFF));
	out(r, "  %s: %lld only read, %lld allowed, %lld asked, %lld refused; %lld carried out outside the walls\n",
		text_count(r->a, json_get_int(calls, "all", 0), "call"),
		(long long)json_get_int(calls, "only_read", 0), (long long)json_get_int(calls, "allowed", 0),
		(long long)json_get_int(calls, "asked", 0), (long long)json_get_int(calls, "refused", 0),
		(long long)json_get_int(calls, "outside", 0));
	print_calls(r, doc, "outside", "left the walls");
	print_calls(r, doc, "asked", "asked about");
	print_calls(r, doc, "refused", "refused");
	print_calls(r, doc, "undo", "can be undone");
	print_paths(r, json_get(doc, "touched_paths"), "changed");
	print_paths(r, json_get(doc, "deleted_paths"), "deleted");
	print_left(r, doc);
}

int cmd_agent_report(struct cli *r, struct err *e)
{
	struct json *doc;
	int rc = agent_report(r->sys, r->a, r->ws, r->arg_count ? r->args[0] : NULL, &doc, e);

	if (rc)
		return rc;
	if (r->is_json)
		out_json(r, doc);
	else
		print_report(r, doc);
	return 0;
}

int cmd_agent_keep(struct cli *r, struct err *e)
{
	struct person who = { 0 };
	struct kernel k;
	int rc = person_loosens(r, &who, e);

	if (rc == OK)
		rc = kernel_open(r->sys, r->a, r->ws, &k, e);
	if (rc == OK) {
		for (size_t i = 1; i < r->arg_count && rc == OK; i++) {
			const char *at = NULL;
			rc = agent_keep(&k, r->a, r->args[0], r->args[i], who.name, &at, e);
			if (rc == OK)
				out(r, "kept=%s\n", text_safe(r->a, at, strlen(at), false));
		}
		kernel_close(&k);
	}
	key_free(&who.key);
	return rc;
}

int cmd_agent_discard(struct cli *r, struct err *e)
{
	int rc = person_is_there(r, e);

	if (rc == OK)
		rc = layer_discard(r->sys, r->a, r->ws->helm_home, r->args[0], e);
	if (rc == OK)
		out(r, "discarded=%s\n", r->args[0]);
	return rc;
}

int cmd_agent_stop(struct cli *r, struct err *e)
{
	struct json *doc;
	int rc = agent_stop(r->sys, r->a, r->ws, r->args[0], &doc, e);

	if (rc)
		return rc;
	out_result(r, doc);
	return 0;
}

int cmd_outside(struct cli *r, struct err *e)
{
	int code, rc = agent_ask_outside(r->sys, r->a, r->args[0], &code, e);

	return rc ? rc : code;
}
