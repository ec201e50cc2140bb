/* cmd_status.c — helm status: how things stand here, on one screen, as sentences, as name=value lines or as JSON.
 *
 * The document comes from actions/ and from standing() of the kernel.  Whatever a row says was written by an agent or taken from its
 * commands, so it goes through text_safe() before it reaches a terminal. */
#include "base/text.h"
#include "cli/cmd.h"
#include "cli/cmd_actions.h"
#include "kernel/agent/agent.h"
#include "kernel/standing.h"

#include <string.h>

const struct opt status_opts[] = {
	{ "brief", OPT_FLAG, NULL, "a few plain sentences", NULL, false },
	{ "verbose", OPT_FLAG, NULL, "one line per task", NULL, false },
	{ "plain", OPT_FLAG, NULL, "name=value lines, for scripts", NULL, false },
	{ "public", OPT_FLAG, NULL, "without local paths and output", NULL, false },
	URL_OPTIONS,
	{ 0 },
};
static const char *safe_text(struct cli *r, const char *text)
{
	return text_safe(r->a, text, strlen(text), false);
}

/* "completed 2, failed 1" */
static const char *counts_text(struct cli *r, const struct json *counts)
{
	struct buf text;

	buf_init(&text, r->a);
	json_each_member (m, counts)
		buf_addf(&text, "%s%s %s", m == counts->members ? "" : ", ", m->name, m->value->text);
	return text.n ? safe_text(r, text.p) : "-";
}

static void print_calls(struct cli *r, const char *name, const struct json *n)
{
	out(r, "%s=passed %lld, asked %lld, refused %lld\n", name, (long long)json_get_int(n, "passed", 0),
		(long long)json_get_int(n, "asked", 0), (long long)json_get_int(n, "refused", 0));
}

/* What is in force and what needs a person, one name=value per line for scripts. */
static void print_standing(struct cli *r, const struct json *doc)
{
	const struct json *freeze = json_get(doc, "freeze"), *calls = json_get(doc, "calls"),
			  *approvals = json_get(doc, "approvals");

	out(r, "health=%s\n", safe_member(r, doc, "health"));
	json_each (why, json_get(doc, "reasons"))
		out(r, "attention=%s\n", safe_text(r, json_text(why)));
	json_each (w, json_get(doc, "wrong"))
		out(r, "remedy=%s\n", safe_member(r, w, "remedy"));
	if (json_get(json_get(doc, "record"), "text"))
		out(r, "record=%s\n", safe_member(r, json_get(doc, "record"), "text"));
	out(r, "profile=%s\ndestructive=%s\n", safe_member(r, json_get(doc, "profile"), "name"),
		safe_member(r, json_get(doc, "profile"), "destructive"));
	const struct json *policy = json_get(doc, "policy_in_use");
	if (policy)
		out(r, "policy=%s %s, %s\n", safe_member(r, policy, "name"),
			safe_member(r, policy, "version"),
			json_get_text(policy, "coverage", "cannot be read: everything is denied"));
	json_each (f, freeze)
		out(r, "frozen=%s\n", safe_text(r, actions_freeze_text(r->a, f, r->sys->now_us(r->sys))));
	if (!freeze || !freeze->n)
		out(r, "frozen=no\n");
	json_each (p, json_get(doc, "paused"))
		out(r, "paused=%s\n", safe_text(r, actions_pause_text(r->a, p, r->sys->now_us(r->sys))));
	out(r, "containment=%s\n", safe_member(r, json_get(doc, "containment"), "text"));
	print_calls(r, "agent_calls_last_hour", json_get(calls, "last_hour"));
	print_calls(r, "agent_calls_last_24_hours", json_get(calls, "last_24_hours"));
	if (json_get_text(json_get(calls, "other_doors"), "last_at", NULL))
		print_calls(r, "other_doors_last_24_hours",
			json_get(json_get(calls, "other_doors"), "last_24_hours"));
	out(r, "pending_approvals=%lld\ngrants_in_force=%lld\n",
		(long long)json_get_int(approvals, "pending", 0),
		(long long)json_get_int(approvals, "grants_in_force", 0));
}

/* One name=value per line, for scripts. */
static void print_plain(struct cli *r, const struct json *doc, bool verbose)
{
	out(r, "workspace=%s\nlayout=%s\nstate_dir=%s\n", safe_member(r, doc, "workspace"),
		safe_member(r, doc, "layout"), safe_member(r, doc, "state_dir"));
	if (json_get(doc, "tree"))
		out(r, "tree=%s\n", safe_member(r, doc, "tree"));
	print_standing(r, doc);
	out(r, "task_status_counts=%s (of %s)\n", counts_text(r, json_get(doc, "task_status_counts")),
		text_count(r->a, json_get_int(doc, "tasks_counted", 0), "task"));
	/* These are lists of the newest, so their lengths count nothing: each says where more of it is. */
	out(r, "recent_tasks=%u (the newest; %s)\n", json_get(doc, "recent_tasks")->n,
		hint(r, "'helm task list'"));
	out(r, "recent_failed_commands=%u (the newest; %s)\n", json_get(doc, "recent_failed_commands")->n,
		hint(r, "'helm ops commands'"));
	out(r, "recent_checkpoints=%u (the newest; %s)\n", json_get(doc, "recent_checkpoints")->n,
		hint(r, "'helm checkpoint list'"));
	out(r, "context_sources=%u (this workspace among them; %s)\n", json_get(doc, "context_sources")->n,
		hint(r, "'helm sources'"));
	out(r, "finalization_counts=%s (of the last ten tasks)\n",
		counts_text(r, json_get(doc, "finalization_counts")));
	out(r, "memory_review_queue=%s (%s)\n",
		json_is(json_get(doc, "memory_review_queue_count"), JSON_NUMBER)
			? json_get(doc, "memory_review_queue_count")->text
			: "-",
		hint(r, "'helm memory review-queue'"));
	out(r, "onboarding_actions=%u (%s names them)\n", json_get(json_get(doc, "onboarding"), "actions")->n,
		hint(r, "'helm status --verbose'"));
	json_each (source, json_get(doc, "context_sources"))
		if (verbose)
			out(r, "context_source=%s kind=%s root=%s\n", safe_member(r, source, "name"),
				safe_member(r, source, "kind"), safe_member(r, source, "root"));
	json_each (action, json_get(json_get(doc, "onboarding"), "actions"))
		if (verbose && json_text(action))
			out(r, "onboarding=%s\n", safe_text(r, json_text(action)));
	json_each (row, json_get(doc, "recent_tasks"))
		if (verbose)
			out(r, "task=%s status=%s profile=%s name=%s\n", safe_member(r, row, "task_id"),
				safe_member(r, row, "status"), safe_member(r, row, "profile"),
				safe_member(r, row, "task_name"));
	if (json_get(doc, "note"))
		out(r, "note=%s\n", safe_member(r, doc, "note"));
	out(r, "next=%s\n", safe_member(r, doc, "next"));
}

/* ---- for people ---- */

/* A line, unless there is nothing to say. */
static void line(struct cli *r, const char *name, const char *text)
{
	if (text && *text)
		out(r, "%-10s  %s\n", name, hint(r, safe_text(r, text)));
}

/* "12 in the last hour, 40 in the last 24 hours: 36 passed, 1 asked, 3 refused"; NULL: there was none. */
static const char *calls_words(struct cli *r, const struct json *calls)
{
	static const char *const kinds[] = { "passed", "asked", "refused" };
	const struct json *hour = json_get(calls, "last_hour"), *day = json_get(calls, "last_24_hours");
	int64_t in_hour = 0, in_day = 0;

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		in_hour += json_get_int(hour, kinds[i], 0);
		in_day += json_get_int(day, kinds[i], 0);
	}
	if (!in_day)
		return NULL;
	return arena_printf(r->a,
		"%lld in the last 24 hours, %lld of them in the last hour: %lld passed, %lld asked, %lld refused",
		(long long)in_day, (long long)in_hour, (long long)json_get_int(day, "passed", 0),
		(long long)json_get_int(day, "asked", 0), (long long)json_get_int(day, "refused", 0));
}

static const char *settings_words(struct cli *r, const struct json *doc)
{
	const struct json *profile = json_get(doc, "profile"), *policy = json_get(doc, "policy_in_use");
	const char *own = arena_printf(r->a, "profile %s, on delete: %s", json_get_text(profile, "name", "-"),
		json_get_text(profile, "destructive", "-"));

	if (!policy)
		return own;
	return arena_printf(r->a, "%s, policy %s %s (%s)", own, json_get_text(policy, "name", "-"),
		json_get_text(policy, "version", ""),
		json_get_text(policy, "coverage", "cannot be read: everything is denied"));
}

/* The name of the line says what its sentence begins with. */
static const char *containment_words(const struct json *containment)
{
	static const char name[] = "Sandbox of runs: ";
	const char *text = json_get_text(containment, "text", "");

	return text_starts(text, name) ? text + strlen(name) : text;
}

static void print_reasons(struct cli *r, const struct json *doc)
{
	json_each (why, json_get(doc, "reasons"))
		line(r, "Attention", json_text(why));
	json_each (w, json_get(doc, "wrong"))
		line(r, "To mend", json_get_text(w, "remedy", NULL));
	json_each (f, json_get(doc, "freeze"))
		line(r, "Frozen", actions_freeze_text(r->a, f, r->sys->now_us(r->sys)));
	json_each (p, json_get(doc, "paused"))
		line(r, "Paused", actions_pause_text(r->a, p, r->sys->now_us(r->sys)));
}

static void print_counts(struct cli *r, const struct json *doc)
{
	const struct json *calls = json_get(doc, "calls"), *approvals = json_get(doc, "approvals"),
			  *queue = json_get(doc, "memory_review_queue_count"),
			  *states = json_get(doc, "action_states");
	const int64_t waiting = json_get_int(approvals, "pending", 0),
		      grants = json_get_int(approvals, "grants_in_force", 0),
		      tasks = json_get_int(doc, "tasks_counted", 0);

	line(r, "Calls", calls_words(r, calls));
	line(r, "Others", calls_words(r, json_get(calls, "other_doors")));
	if (states && states->n)
		line(r, "Actions", arena_printf(r->a, "%s in the last 24 hours", counts_text(r, states)));
	if (waiting)
		line(r, "Waiting",
			arena_printf(r->a, "%s: helm approval list", text_count(r->a, waiting, "request")));
	if (grants)
		line(r, "Grants", arena_printf(r->a, "%lld in force: helm approval list", (long long)grants));
	if (tasks)
		line(r, "Tasks",
			arena_printf(r->a, "%s (of %s)", counts_text(r, json_get(doc, "task_status_counts")),
				text_count(r->a, tasks, "task")));
	if (json_is(queue, JSON_NUMBER) && !text_eq(queue->text, "0"))
		line(r, "Memory", arena_printf(r->a, "%s to review: helm memory review-queue", queue->text));
}

static void print_status(struct cli *r, const struct json *doc, bool verbose)
{
	const bool is_well = text_eq(json_get_text(doc, "health", ""), "ok");

	out(r, "%s%s%s\n", paint(r, is_well ? PAINT_GOOD : PAINT_WARN),
		is_well ? hint(r, safe_text(r, actions_headline(r->a, doc))) : "Needs attention.",
		paint(r, PAINT_OFF));
	print_reasons(r, doc);
	line(r, "Workspace", json_get_text(doc, "workspace", NULL));
	line(r, "Work tree", json_get_text(doc, "tree", NULL));
	line(r, "Settings", settings_words(r, doc));
	line(r, "Record", json_get_text(json_get(doc, "record"), "text", NULL));
	line(r, "Sandbox", containment_words(json_get(doc, "containment")));
	print_counts(r, doc);
	json_each (source, json_get(doc, "context_sources"))
		if (verbose)
			line(r, "Source",
				arena_printf(r->a, "%s, %s: %s", json_get_text(source, "name", "-"),
					json_get_text(source, "kind", "-"),
					json_get_text(source, "root", "-")));
	json_each (action, json_get(json_get(doc, "onboarding"), "actions"))
		if (verbose && json_text(action))
			line(r, "Could do", json_text(action));
	json_each (row, json_get(doc, "recent_tasks"))
		if (verbose)
			line(r, "Task",
				arena_printf(r->a, "%s under %s: %s (%s)", json_get_text(row, "status", "-"),
					json_get_text(row, "profile", "-"),
					json_get_text(row, "task_name", "-"),
					json_get_text(row, "task_id", "-")));
	line(r, "Note", json_get_text(doc, "note", NULL));
	line(r, "Next", json_get_text(doc, "next", NULL));
}

/* Made safe line by line: the newlines between sentences are ours, those inside are not. */
static void print_brief(struct cli *r, const struct json *doc)
{
	struct bytes rest = bytes_of(actions_brief_text(r->a, doc, r->sys->now_us(r->sys)));

	while (rest.p && rest.n) {
		struct bytes line = text_cut(&rest, '\n');
		out(r, "%s\n", hint(r, text_safe(r->a, (const char *)line.p, line.n, false)));
	}
}

/* Of the last day, as report and console count them. */
static void put_states(struct cli *r, struct json *doc)
{
	AUTO(action_index_close) struct action_index *x = actions_of_cli(r);
	struct json *states;

	if (x && actions_day_states(x, r->sys->now_us(r->sys), &states, NULL) == OK)
		json_set(r->a, doc, "action_states", states);
}

static void print_session(struct cli *r, const struct json *session)
{
	out(r, "inside session %s (%s under %s): %lld calls, %lld asked, %lld refused\n",
		json_get_text(session, "task_id", ""), json_get_text(session, "client", ""),
		json_get_text(session, "profile", ""), (long long)json_get_int(session, "calls", 0),
		(long long)json_get_int(session, "asked", 0), (long long)json_get_int(session, "refused", 0));
}

/* Inside a session the record is not shown: its supervisor tells about this session, and about nothing else. */
static int inside_status(struct cli *r, struct err *e)
{
	struct json *doc = json_new(r->a, JSON_OBJECT), *session;
	int rc = agent_ask_status(r->sys, r->a, &session, e);

	if (rc)
		return rc;
	json_set(r->a, doc, "agent_session", session);
	if (r->is_json)
		out_json(r, doc);
	else
		print_session(r, session);
	return 0;
}

/* What was recorded is made public before `tree` is added, and `tree`, a local path, is left out of a
 * public status. */
int cmd_status(struct cli *r, struct err *e)
{
	if (opt_text(r, "url", NULL))
		return remote_status(r, e);
	if (!r->ws)
		return inside_status(r, e);
	struct actions_place o = actions_place_from(r);
	struct machine m;
	machine_look(r->sys, r->a, r->ws->helm_home, &m); /* for standing(), which only recalls it */
	o.is_quick = opt_flag(r, "brief"); /* for prompts and hooks, which wait for it */
	struct json *doc, *session, *now = standing_from(r, &o);
	bool brief = o.is_quick;
	const bool is_inside = agent_ask_status(r->sys, r->a, &session, e) == OK;
	int rc = brief ? actions_brief(&o, now, &doc, e) : actions_status(&o, now, &doc, e);

	if (rc)
		return rc;
	if (!brief) {
		put_waiting(r, doc, json_get_int(doc, "tasks_counted", 0));
		put_states(r, doc);
	}
	hint_json(r, doc);
	if (opt_flag(r, "public"))
		actions_make_public(r->a, doc, r->ws->home);
	if (is_inside)
		json_set(r->a, doc, "agent_session", session);
	if (!r->path_option)
		workspace_stand(r->sys, r->a, r->ws, NULL);
	/* Only told when the user stands in another tree than the workspace's own. */
	if (!text_eq(r->ws->tree, r->ws->root) && !opt_flag(r, "public"))
		json_sets(r->a, doc, "tree", text_safe(r->a, r->ws->tree, strlen(r->ws->tree), false));
	if (is_inside && !r->is_json)
		print_session(r, session);
	if (r->is_json)
		out_json(r, doc);
	else if (brief)
		print_brief(r, doc);
	else if (opt_flag(r, "plain"))
		print_plain(r, doc, opt_flag(r, "verbose"));
	else
		print_status(r, doc, opt_flag(r, "verbose"));
	return 0;
}
