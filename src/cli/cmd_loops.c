/* cmd_loops.c — loops: checked, shown, run and resumed; shadow-report. */
#include "actions/shadow.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/cmd.h"
#include "cli/cmd_actions.h"
#include "cli/cmd_approval.h"
#include "kernel/loop.h"
#include "kernel/skill.h"
#include "kernel/task/task.h"
#include "remember/harness.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

const struct opt shadow_report_opts[] = {
	{ "since", OPT_VALUE, "TIME", "how far back: days (14), or 36h, yesterday, 2026-05-01", NULL, false },
	{ "feature", OPT_LIST, "NAME", "only this one", NULL, false },
	{ "format", OPT_VALUE, "FORMAT", "md or json (md)", "md|json", false },
	{ "with-recommendations", OPT_FLAG, NULL, "also whether each could be switched on", NULL, false },
	{ "out", OPT_VALUE, "FILE", "write it there", NULL, false },
	{ 0 },
};

const struct opt loops_inspect_opts[] = {
	{ "task-id", OPT_VALUE, "TASK", "also which of the required evidence this task shows", NULL, false },
	{ 0 },
};

static void tell(struct cli *r, const struct json *warnings)
{
	json_each (one, warnings)
		warn(r, "%s", json_text(one));
}

static bool is_shipped(const char *path)
{
	return text_starts(path, LOOP_SHIPPED);
}

/* NULL: it can be run.  Else why not, and what makes it one that can. */
static const char *why_not_run(struct cli *r, const struct json *loop, const char *path)
{
	struct loop_plan plan;
	struct err e = { 0 };
	const char *file = is_shipped(path)
		? arena_printf(r->a, "%s/references/loops/%s", r->ws->root, path + strlen(LOOP_SHIPPED))
		: path;

	if (loop_plan(r->a, loop, &plan, &e) == OK)
		return NULL;
	return arena_printf(r->a,
		"%s; what can be run has `profile: NAME` and a step such as `{name: check, run: \"make check\"}`, %s %s ('helm help loops run' has an example)",
		arena_strdup(r->a, e.text), is_shipped(path) ? "as its own file in" : "in",
		text_safe(r->a, file, strlen(file), false));
}

int cmd_loops_list(struct cli *r, struct err *e)
{
	static const char *const heads[] = { "LOOP", "VALID", "CAN RUN", "FILE", "TITLE" };
	const struct contract_place at = skill_place(r->sys, r->a, r->ws);
	struct json *list, *warnings = json_new(r->a, JSON_ARRAY);
	bool cannot = false;
	int rc = loop_list(&at, warnings, &list, e);

	if (rc)
		return rc;
	tell(r, warnings);
	if (r->is_json) {
		out_json(r, list);
		return 0;
	}
	struct out_table *t = out_table(r, heads, ARRAY_SIZE(heads));
	json_each (one, list) {
		const char *const cells[] = { safe_member(r, one, "id"),
			json_get_bool(one, "ok", false) ? "yes" : "no",
			json_get_bool(one, "can_run", false) ? "yes" : "no",
			is_shipped(json_get_text(one, "path", "")) ? "shipped" : safe_member(r, one, "path"),
			safe_member(r, one, "title") };
		out_row(t, cells, NULL);
		cannot |= !json_get_bool(one, "can_run", false);
	}
	out_table_end(t);
	if (cannot)
		out(r, "\nWhat others need to be run: %s.\n", hint(r, "'helm loops inspect LOOP'"));
	return 0;
}

static void print_validation(struct cli *r, const struct json *v)
{
	out(r, "loop=%s\nvalidation=%s\n", safe_member(r, v, "id"),
		json_get_bool(v, "ok", false) ? "ok" : "failed");
	json_each (one, json_get(v, "issues"))
		out(r, "issue=%s\n", text_safe(r->a, json_text(one), one->n, false));
	json_each (one, json_get(v, "warnings"))
		out(r, "warning=%s\n", text_safe(r->a, json_text(one), one->n, false));
}

/* Below the workspace, or else where one stands. */
static int read_named(struct cli *r, const char *name, struct json **ret, struct err *e)
{
	struct contract_place at = skill_place(r->sys, r->a, r->ws);

	if (!file_exists(r->sys, at.root_fd, name) && file_exists(r->sys, AT_FDCWD, name))
		at.root_fd = AT_FDCWD;
	return loop_read(&at, name, ret, e);
}

int cmd_loops_validate(struct cli *r, struct err *e)
{
	struct json *loop;
	int rc = read_named(r, r->args[0], &loop, e);

	if (rc)
		return rc;
	struct json *v = loop_validate(r->a, loop, r->args[0]);
	if (r->is_json)
		out_json(r, v);
	else
		print_validation(r, v);
	return json_get_bool(v, "ok", false) ? 0 : EXIT_NO;
}

/* {task_id, ok, evidence {name: bool}} of a task, by what the loop must leave. */
static int evidence_of(struct cli *r, const struct json *loop, struct json *doc, struct err *e)
{
	const char *id = opt_text(r, "task-id", NULL);
	struct actions_place o = actions_place_from(r);
	struct json *rows, *there = json_new(r->a, JSON_OBJECT);
	bool ok = true;

	if (!id)
		return OK;
	int rc = actions_task(&o, id, &rows, e);
	if (rc)
		return rc;
	const struct json *row = rows->items[rows->n - 1];
	json_each (one, json_get(loop, "required_evidence"))
		if (json_text(one)) {
			bool is_there = harness_shows(r->a, row, json_text(one));
			json_setb(r->a, there, json_text(one), is_there);
			ok &= is_there;
		}
	struct json *task = json_new(r->a, JSON_OBJECT);
	json_sets(r->a, task, "task_id", json_get_text(row, "task_id", ""));
	json_setb(r->a, task, "ok", ok);
	json_set(r->a, task, "evidence", there);
	json_set(r->a, doc, "task", task);
	return OK;
}

static void print_evidence(struct cli *r, const struct json *evidence)
{
	json_each_member (m, evidence)
		out(r, "evidence=%s %s\n", text_safe(r->a, m->name, m->name_n, false),
			m->value->type == JSON_TRUE ? "is there" : "is missing");
}

int cmd_loops_inspect(struct cli *r, struct err *e)
{
	const struct contract_place at = skill_place(r->sys, r->a, r->ws);
	struct json *loop, *doc = json_new(r->a, JSON_OBJECT), *warnings = json_new(r->a, JSON_ARRAY);
	const char *path;
	int rc = loop_find(&at, r->args[0], &loop, &path, warnings, e);

	tell(r, warnings);
	if (rc == E_MISSING && r->is_json) {
		json_setb(r->a, doc, "ok", false);
		json_sets(r->a, doc, "error", e->text);
		out_json(r, doc);
		return EXIT_NO;
	}
	if (rc)
		return rc;
	struct json *v = loop_validate(r->a, loop, path);
	json_set(r->a, doc, "loop", loop);
	json_sets(r->a, doc, "path", path);
	json_set(r->a, doc, "validation", v);
	const char *why = why_not_run(r, loop, path);
	json_setb(r->a, doc, "can_run", !why);
	json_sets(r->a, doc, "why_not", why);
	rc = evidence_of(r, loop, doc, e);
	if (rc)
		return rc;
	if (r->is_json) {
		out_json(r, doc);
	} else {
		print_validation(r, v);
		out(r, "path=%s\n", text_safe(r->a, path, strlen(path), false));
		out(r, "can_run=%s\n", why ? "no" : "yes");
		if (why)
			out(r, "why=%s\n", why);
		print_evidence(r, json_get(json_get(doc, "task"), "evidence"));
		out(r, "\n");
		out_pretty(r, loop);
	}
	return json_get_bool(v, "ok", false) ? 0 : EXIT_NO;
}

/* ---- running ---- */

/* "1 h 12 min", between two times of a document. */
static const char *span(struct cli *r, const char *from, const char *to)
{
	int64_t start, end;

	if (!text_parse_time(from, strlen(from), &start) || !text_parse_time(to, strlen(to), &end) ||
		end < start)
		return "-";
	const long long s = (long long)((end - start) / 1000000);
	return s < 60	   ? arena_printf(r->a, "%lld s", s)
		: s < 3600 ? arena_printf(r->a, "%lld min %lld s", s / 60, s % 60)
			   : arena_printf(r->a, "%lld h %lld min", s / 3600, s / 60 % 60);
}

enum { TURNS_SHOWN = 10 };

/* What of a turn did not go well, in one cell. */
static const char *failed_steps(struct cli *r, const struct json *turn)
{
	struct buf text;

	buf_init(&text, r->a);
	json_each (step, json_get(turn, "steps"))
		if (json_get_text(step, "held", NULL))
			buf_addf(&text, "%s%s %s", text.n ? ", " : "", safe_member(r, step, "name"),
				safe_member(r, step, "held"));
		else if (json_get_int(step, "exit_code", 0))
			buf_addf(&text, "%s%s ended with %lld", text.n ? ", " : "",
				safe_member(r, step, "name"), (long long)json_get_int(step, "exit_code", 0));
	return text.n ? text.p : "-";
}

static void print_turns(struct cli *r, const struct json *turns, bool goes_on)
{
	static const char *const heads[] = { "TURN", "OUTCOME", "TOOK", "FILES CHANGED", "FAILED" };
	const size_t n = turns ? turns->n : 0, from = n > TURNS_SHOWN ? n - TURNS_SHOWN : 0;
	struct out_table *t;

	if (!n)
		return;
	out(r, "\n");
	t = out_table(r, heads, ARRAY_SIZE(heads));
	for (size_t i = from; i < n; i++) {
		const struct json *turn = turns->items[i];
		int64_t changed = 0;
		json_each (step, json_get(turn, "steps"))
			changed += json_get_int(step, "changed_files", 0);
		const char *const cells[] = { arena_printf(
						      r->a, "%lld", (long long)json_get_int(turn, "turn", 0)),
			json_get_text(turn, "outcome", NULL) ? safe_member(r, turn, "outcome")
				: goes_on		     ? "goes on"
							     : "cut off",
			span(r, json_get_text(turn, "started_at", ""),
				json_get_text(turn, "finished_at", "")),
			arena_printf(r->a, "%lld", (long long)changed), failed_steps(r, turn) };
		out_row(t, cells, NULL);
	}
	out_table_end(t);
	if (from)
		out(r, "the last %d of %zu turns; all with --json\n", TURNS_SHOWN, n);
}

/* Why it stopped, how far it came, and how the last turns went: what somebody reads in the morning. */
static void print_run(struct cli *r, const struct json *doc)
{
	const struct json *turns = json_get(doc, "turns"), *resumed = json_get(doc, "resumed_at");
	struct loop_plan plan = { 0 };
	const char *end = json_get_text(doc, "finished_at", json_get_text(doc, "updated_at", ""));
	int64_t clean = 0, failed = 0;

	(void)loop_plan(r->a, json_get(doc, "loop"), &plan, NULL); /* one that is run could be read */
	json_each (turn, turns) {
		clean += text_eq(json_get_text(turn, "outcome", ""), "clean");
		failed += text_eq(json_get_text(turn, "outcome", ""), "failed");
	}
	out(r, "run=%s loop=%s status=%s turns=%lld\nwhy=%s\n", safe_member(r, doc, "run_id"),
		safe_member(r, doc, "loop_id"), safe_member(r, doc, "status"),
		(long long)json_get_int(doc, "turn", 0), safe_member(r, doc, "why"));
	out(r, "started=%s\n%s=%s (%s)\ndeadline=%s\n", safe_member(r, doc, "started_at"),
		json_get_text(doc, "finished_at", NULL) ? "finished" : "last_sign",
		text_safe(r->a, end, strlen(end), false), span(r, json_get_text(doc, "started_at", ""), end),
		safe_member(r, doc, "deadline_at"));
	out(r, "limits=%s, %s\nclean=%lld failed=%lld\nresumed=%s\n", text_count(r->a, plan.turns, "turn"),
		text_count(r->a, plan.minutes, "minute"), (long long)clean, (long long)failed,
		text_count(r->a, json_is(resumed, JSON_ARRAY) ? resumed->n : 0, "time"));
	print_evidence(r, json_get(doc, "evidence"));
	print_turns(r, turns, text_eq(json_get_text(doc, "status", ""), "running"));
}

static int show_run(struct cli *r, const struct json *state)
{
	const char *status = json_get_text(state, "status", "");
	struct json *doc = json_copy(r->a, state);

	if (r->is_json) {
		(void)json_remove(doc, "loop");
		out_json(r, doc);
	} else {
		print_run(r, doc);
	}
	return text_eq(status, "success") ? 0 : EXIT_NO;
}

static int go(struct cli *r, struct kernel *k, const char *run, struct err *e)
{
	struct json *state;
	size_t closed;
	int kept = -1, rc = run_close_left(r, false, &closed, e);

	if (rc == OK && r->is_json) /* the document alone */
		rc = out_set_aside(r, &kept, e);
	if (rc == OK)
		rc = loop_go(k, r->a, run, &state, e);
	if (kept >= 0)
		rc = out_put_back(kept, rc, e);
	return rc ? rc : show_run(r, state);
}

int cmd_loops_run(struct cli *r, struct err *e)
{
	const struct contract_place at = skill_place(r->sys, r->a, r->ws);
	struct json *loop, *warnings = json_new(r->a, JSON_ARRAY);
	struct kernel k = { 0 };
	const char *path, *run;
	char *here = realpath(".", NULL);
	const char *cwd = here ? arena_strdup(r->a, here) : r->ws->root;
	int rc = loop_find(&at, r->args[0], &loop, &path, warnings, e);

	free(here);
	tell(r, warnings);
	const char *why = rc == OK ? why_not_run(r, loop, path) : NULL;
	if (why)
		return err_set(e, E_INPUT, "LOOP_PLAN", "%s", why);
	if (rc == OK)
		rc = kernel_open(r->sys, r->a, r->ws, &k, e);
	if (rc == OK)
		rc = loop_begin(&k, r->a, loop, path, cwd, &run, e);
	if (rc == OK) {
		if (!r->is_json) {
			out(r, "run=%s\n", run);
			out_flush(r);
		}
		rc = go(r, &k, run, e);
	}
	kernel_close(&k);
	return rc;
}

int cmd_loops_resume(struct cli *r, struct err *e)
{
	struct kernel k = { 0 };
	int rc = kernel_open(r->sys, r->a, r->ws, &k, e);

	if (rc == OK)
		rc = go(r, &k, r->args[0], e);
	kernel_close(&k);
	return rc;
}

int cmd_loops_runs(struct cli *r, struct err *e)
{
	static const char *const heads[] = { "RUN", "LOOP", "STATUS", "TURNS", "STARTED", "WHY" };
	struct json *list;
	int rc;

	if (r->arg_count) {
		rc = loop_look(r->sys, r->a, r->ws, r->args[0], &list, e);
		if (rc == OK && r->is_json)
			out_json(r, list);
		else if (rc == OK)
			print_run(r, list);
		return rc;
	}
	rc = loop_runs(r->sys, r->a, r->ws, &list, e);
	if (rc || r->is_json) {
		if (rc == OK)
			out_json(r, list);
		return rc;
	}
	if (!list->n) {
		out(r, "No loop has run here yet.\n");
		return OK;
	}
	struct out_table *t = out_table(r, heads, ARRAY_SIZE(heads));
	json_each (one, list) {
		const char *const cells[] = { safe_member(r, one, "run_id"), safe_member(r, one, "loop_id"),
			safe_member(r, one, "status"),
			arena_printf(r->a, "%lld", (long long)json_get_int(one, "turn", 0)),
			safe_member(r, one, "started_at"), safe_member(r, one, "why") };
		out_row(t, cells, NULL);
	}
	out_table_end(t);
	return OK;
}

/* ---- shadow ---- */

/* The original's `--since 14` are days; it ends with 1 where there are none. */
static int shadow_since(struct cli *r, int64_t *ret_us, struct err *e)
{
	int64_t now = r->sys->now_us(r->sys), days = 14;

	if (!text_int(opt_text(r, "since", "14"), &days))
		return opt_since(r, "since", ret_us, e);
	if (days < 1 || days > 1000000)
		return err_set(e, E_INPUT, "SHADOW_WINDOW",
			"--since takes a number of days above 0, or a time: " TEXT_WHEN_FORMS);
	*ret_us = now - days * INT64_C(86400) * 1000000;
	return OK;
}

int cmd_shadow_report(struct cli *r, struct err *e)
{
	const struct shadow_place p = { r->sys, r->a, r->ws->state_fd };
	const char **features, *to = opt_text(r, "out", NULL);
	struct shadow_ask q = { .advise = opt_flag(r, "with-recommendations") };
	struct json *doc;
	struct buf text;

	q.feature_count = opt_list(r, "feature", &features);
	q.features = (const char *const *)features;
	int rc = shadow_since(r, &q.since_us, e);
	if (rc)
		return rc;
	for (size_t i = 0; i < q.feature_count; i++)
		if (!shadow_is_feature(features[i]) && !text_eq(features[i], "all"))
			return err_set(
				e, E_USAGE, "SHADOW_FEATURE", "there is no feature '%.60s'", features[i]);
	rc = shadow_report(&p, &q, &doc, e);
	if (rc)
		return rc;
	buf_init(&text, r->a);
	if (r->is_json || text_eq(opt_text(r, "format", "md"), "json")) {
		json_write(&text, doc, JSON_INDENT);
		buf_addc(&text, '\n');
	} else {
		const char *page = shadow_markdown(r->a, doc);
		buf_adds(&text, text_safe(r->a, page, strlen(page), true));
	}
	if (to)
		return file_replace(r->sys, AT_FDCWD, to, 0644, buf_bytes(&text), e);
	out(r, "%s", text.p);
	return 0;
}
