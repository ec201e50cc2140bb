/* cmd_lifecycle.c — skill-lifecycle (and curator, its other name): one row of a table for each verb. */
#include "base/file.h"
#include "base/proc.h"
#include "base/text.h"
#include "cli/cmd.h"
#include "cli/cmd_actions.h"
#include "kernel/memory.h"
#include "record/record.h"
#include "remember/lifecycle.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#define APPLY \
	{ \
		"apply", OPT_FLAG, NULL, "do it; otherwise it is only said", NULL, false \
	}
#define OF_SKILL \
	{ \
		"skill", OPT_VALUE, "SKILL", "only of this skill", NULL, false \
	}
#define LAST \
	{ \
		"limit", OPT_INT, "N", "the last N (0 all)", NULL, false \
	}

const struct opt life_scan_opts[] = {
	{ "dry-run", OPT_FLAG, NULL, "look, and write nothing", NULL, false },
	{ 0 },
};
const struct opt life_apply_opts[] = { APPLY, { 0 } };
const struct opt life_report_opts[] = {
	{ "format", OPT_VALUE, "FORMAT", "markdown or json (default markdown)", "markdown|json", false },
	{ "out", OPT_VALUE, "FILE", "write it there", NULL, false },
	{ 0 },
};
const struct opt life_events_opts[] = { OF_SKILL, LAST, { 0 } };
const struct opt life_limit_opts[] = { LAST, { 0 } };
const struct opt life_claims_opts[] = {
	{ "persist", OPT_FLAG, NULL, "keep them, to be looked at again", NULL, false },
	{ "ttl-days", OPT_INT, "N", "so long each is believed (default: as configured, 30)", NULL, false },
	{ "confidence", OPT_VALUE, "NUMBER", "from 0 to 1 (default 0.6)", NULL, false },
	{ 0 },
};
const struct opt life_revalidate_opts[] = {
	{ "skill", OPT_VALUE, "SKILL", "whose claim it is", NULL, true },
	{ "claim-id", OPT_VALUE, "ID", "which one", NULL, true },
	{ "status", OPT_VALUE, "STATUS", "what holds now (default needs_review)",
		"needs_review|still_valid|resolved", false },
	{ "note", OPT_VALUE, "TEXT", "why", NULL, false },
	{ "probe-command", OPT_VALUE, "COMMAND", "what shows whether it still holds: kept with the claim",
		NULL, false },
	{ "probe", OPT_FLAG, NULL, "run that command now: exit 0 resolves the claim", NULL, false },
	{ "timeout", OPT_INT, "SECONDS", "for the command (default 30)", NULL, false },
	{ 0 },
};
const struct opt life_umbrella_opts[] = {
	{ "min-cluster-size", OPT_INT, "N", "skills that must share something (default 3)", NULL, false },
	{ 0 },
};
const struct opt life_trajectory_opts[] = {
	{ "task-id", OPT_VALUE, "ID", "this task instead of the newest that a draft can be made of", NULL,
		false },
	{ "name", OPT_VALUE, "NAME", "of the draft", NULL, true },
	{ "description", OPT_VALUE, "TEXT", "one sentence", NULL, true },
	LAST,
	APPLY,
	{ 0 },
};

static int begin(struct cli *r, struct lifecycle *l, bool to_write, struct err *e)
{
	return lifecycle_open(l, r->sys, r->a, r->ws->root_fd, r->ws->state_fd, to_write, e);
}

#define LIFECYCLE(l) AUTO(lifecycle_close) struct lifecycle l = { .dir_fd = -1, .lock = -1 }

/* The document with the workspace in front. */
static struct json *with_workspace(struct cli *r, const struct json *doc)
{
	struct json *all = json_new(r->a, JSON_OBJECT);

	json_sets(r->a, all, "workspace", r->ws->root);
	json_each_member (m, doc)
		json_set(r->a, all, m->name, m->value);
	return all;
}

int cmd_life_scan(struct cli *r, struct err *e)
{
	LIFECYCLE(l);
	struct json *doc;
	bool is_dry = opt_flag(r, "dry-run");
	int rc = begin(r, &l, !is_dry, e);

	if (rc == OK)
		rc = lifecycle_scan(&l, is_dry, &doc, e);
	if (rc == OK)
		out_result(r, with_workspace(r, doc));
	return rc;
}

int cmd_life_status(struct cli *r, struct err *e)
{
	LIFECYCLE(l);
	struct json *doc, *all = json_new(r->a, JSON_OBJECT);
	int rc = begin(r, &l, false, e);

	if (rc == OK)
		rc = lifecycle_summary(&l, &doc, e);
	if (rc)
		return rc;
	json_sets(r->a, all, "workspace", r->ws->root);
	json_set(r->a, all, "summary", doc);
	out_result(r, all);
	return 0;
}

/* ---- report ---- */

static void put_pairs(struct buf *to, const char *title, const struct json *pairs, const char *unit)
{
	buf_addf(to, "\n## %s\n\n", title);
	json_each (pair, pairs) {
		int64_t n = 0;
		(void)json_int(json_at(pair, 1), &n);
		buf_addf(to, "- %s (%lld %s)\n", json_text(json_at(pair, 0)), (long long)n, unit);
	}
	if (!pairs->n)
		buf_adds(to, "none\n");
}

static const char *markdown(struct cli *r, const struct json *s)
{
	struct buf text;
	const struct json *counts = json_get(s, "counts");

	buf_init(&text, r->a);
	buf_addf(&text, "# Skills of %s\n\n- total: %lld\n", r->ws->root,
		(long long)json_get_int(s, "total", 0));
	json_each_member (m, counts)
		buf_addf(&text, "- %s: %lld\n", m->name, (long long)json_get_int(counts, m->name, 0));
	put_pairs(&text, "Never Used", json_get(s, "never_used"), "days");
	put_pairs(&text, "Least Recently Used", json_get(s, "least_recently_used"), "days ago");
	put_pairs(&text, "Archive Candidates", json_get(s, "archive_candidates"), "days idle");
	put_pairs(&text, "Pin Candidates", json_get(s, "pin_candidates"), "uses");
	buf_adds(&text, "\n## Umbrella Candidates\n\n");
	json_each (one, json_get(s, "umbrella_candidates")) {
		buf_addf(
			&text, "- %s %s:", json_get_text(one, "signal", ""), json_get_text(one, "token", ""));
		json_each (id, json_get(one, "skill_ids"))
			buf_addf(&text, " %s", json_text(id));
		buf_addc(&text, '\n');
	}
	buf_adds(&text, "\n## Negative Claim Revalidation Candidates\n\n");
	json_each (one, json_get(s, "negative_claim_candidates"))
		buf_addf(&text, "- %s:%lld %s\n", json_get_text(one, "skill_md", ""),
			(long long)json_get_int(one, "line_no", 0), json_get_text(one, "text", ""));
	buf_adds(&text, "\n## Recommended Actions\n\n");
	json_each (one, json_get(s, "recommended_actions"))
		buf_addf(&text, "- %s: %s (`%s`)\n", json_get_text(one, "kind", ""),
			json_get_text(one, "detail", ""), json_get_text(one, "command", ""));
	return text_safe(r->a, text.p, text.n, true);
}

int cmd_life_report(struct cli *r, struct err *e)
{
	LIFECYCLE(l);
	struct json *doc;
	const char *to = opt_text(r, "out", NULL);
	struct buf text;
	int rc = begin(r, &l, false, e);

	if (rc == OK)
		rc = lifecycle_summary(&l, &doc, e);
	if (rc)
		return rc;
	buf_init(&text, r->a);
	if (r->is_json || text_eq(opt_text(r, "format", "markdown"), "json")) {
		json_write(&text, with_workspace(r, doc), JSON_INDENT);
		buf_addc(&text, '\n');
	} else {
		buf_adds(&text, markdown(r, doc));
	}
	if (to)
		return file_replace(r->sys, AT_FDCWD, to, 0644, buf_bytes(&text), e);
	out(r, "%s", text.p);
	return 0;
}

/* ---- one skill ---- */

static int set_pinned(struct cli *r, bool is_pinned, struct err *e)
{
	LIFECYCLE(l);
	bool is_changed;
	int rc = begin(r, &l, true, e);
	struct json *doc = json_new(r->a, JSON_OBJECT);

	if (rc == OK)
		rc = lifecycle_set_pinned(&l, r->args[0], is_pinned, &is_changed, e);
	if (rc)
		return rc;
	json_sets(r->a, doc, "skill_id", r->args[0]);
	json_setb(r->a, doc, "pinned", is_pinned);
	json_setb(r->a, doc, "changed", is_changed);
	out_result(r, doc);
	return 0;
}

int cmd_life_pin(struct cli *r, struct err *e)
{
	return set_pinned(r, true, e);
}

int cmd_life_unpin(struct cli *r, struct err *e)
{
	return set_pinned(r, false, e);
}

int cmd_life_stale(struct cli *r, struct err *e)
{
	LIFECYCLE(l);
	bool apply = opt_flag(r, "apply");
	struct json *list, *doc = json_new(r->a, JSON_OBJECT);
	int rc = begin(r, &l, apply, e);

	if (rc == OK)
		rc = lifecycle_stale(&l, apply, &list, e);
	if (rc)
		return rc;
	json_sets(r->a, doc, "workspace", r->ws->root);
	json_setb(r->a, doc, "apply", apply);
	json_set(r->a, doc, "candidates", list);
	out_result(r, doc);
	return 0;
}

typedef int life_move(
	struct lifecycle *l, const char *skill_id, bool apply, struct json **ret, struct err *e);

static int move(struct cli *r, life_move *fn, struct err *e)
{
	LIFECYCLE(l);
	bool apply = opt_flag(r, "apply");
	struct json *doc;
	int rc = begin(r, &l, apply, e);

	if (rc == OK)
		rc = fn(&l, r->args[0], apply, &doc, e);
	if (rc == OK)
		out_result(r, doc);
	return rc;
}

int cmd_life_archive(struct cli *r, struct err *e)
{
	return move(r, lifecycle_archive, e);
}

int cmd_life_restore(struct cli *r, struct err *e)
{
	return move(r, lifecycle_restore, e);
}

int cmd_life_observe(struct cli *r, struct err *e)
{
	LIFECYCLE(l);
	struct json *doc;
	bool is_dry = opt_flag(r, "dry-run");
	int rc = begin(r, &l, !is_dry, e);

	if (rc == OK)
		rc = lifecycle_observe(&l, is_dry, &doc, e);
	if (rc == OK)
		out_result(r, with_workspace(r, doc));
	return rc;
}

int cmd_life_view(struct cli *r, struct err *e)
{
	LIFECYCLE(l);
	struct json *doc = json_new(r->a, JSON_OBJECT);
	int rc = begin(r, &l, false, e);

	if (rc == OK && l.is_new)
		return err_set(e, E_USAGE, "SKILL_UNKNOWN",
			"no skill was seen here; 'helm skill-lifecycle scan' looks for them");
	lifecycle_close(&l);
	if (rc == OK)
		rc = begin(r, &l, true, e);
	if (rc == OK)
		rc = lifecycle_view(&l, r->args[0], e);
	if (rc)
		return rc;
	json_sets(r->a, doc, "viewed", r->args[0]);
	out_result(r, doc);
	return 0;
}

/* ---- events ---- */

int cmd_life_events(struct cli *r, struct err *e)
{
	LIFECYCLE(l);
	struct json *list;
	int rc = begin(r, &l, false, e);

	if (rc == OK)
		rc = lifecycle_events(
			&l, opt_text(r, "skill", NULL), (size_t)opt_int(r, "limit", 0), &list, e);
	if (rc == OK)
		out_result(r, list);
	return rc;
}

/* Each event with the newest row of its task beside it. */
int cmd_life_ledger(struct cli *r, struct err *e)
{
	static const struct {
		const char *to, *from;
	} names[] = { { "task_name", "task_name" }, { "task_status", "status" },
		{ "task_started_at", "started_at" }, { "task_finished_at", "finished_at" },
		{ "task_exit_code", "exit_code" }, { "task_profile", "profile" } };
	LIFECYCLE(l);
	struct memory_place m = memory_place_of(r->sys, r->ws);
	struct json *list;
	int rc = begin(r, &l, false, e);

	if (rc == OK)
		rc = lifecycle_events(
			&l, opt_text(r, "skill", NULL), (size_t)opt_int(r, "limit", 0), &list, e);
	if (rc)
		return rc;
	json_each (row, list) {
		const char *id = json_get_text(row, "task_id", NULL);
		struct json *task = NULL;
		if (id && memory_task(&m, r->a, id, &task, NULL))
			task = NULL;
		for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
			struct json *v = json_get(task, names[i].from);
			json_set(r->a, row, names[i].to, v ? v : json_new(r->a, JSON_NULL));
		}
	}
	out_result(r, list);
	return 0;
}

int cmd_life_outcomes(struct cli *r, struct err *e)
{
	LIFECYCLE(l);
	struct json *doc;
	int rc = begin(r, &l, false, e);

	if (rc == OK)
		rc = lifecycle_outcomes(&l, &doc, e);
	if (rc == OK)
		out_result(r, doc);
	return rc;
}

int cmd_life_candidates(struct cli *r, struct err *e)
{
	LIFECYCLE(l);
	struct json *doc;
	int rc = begin(r, &l, false, e);

	if (rc == OK)
		rc = lifecycle_candidates(&l, (size_t)opt_int(r, "limit", 0), &doc, e);
	if (rc == OK)
		out_result(r, doc);
	return rc;
}

int cmd_life_selection(struct cli *r, struct err *e)
{
	LIFECYCLE(l);
	struct json *doc;
	int rc = begin(r, &l, false, e);

	if (rc == OK)
		rc = lifecycle_selection(
			&l, opt_text(r, "skill", NULL), (size_t)opt_int(r, "limit", 0), &doc, e);
	if (rc == OK)
		out_result(r, doc);
	return rc;
}

/* The newest of the outcomes worth a look whose task was completed: of others no draft can be made. */
int cmd_life_trajectory(struct cli *r, struct err *e)
{
	LIFECYCLE(l);
	struct memory_place m = memory_place_of(r->sys, r->ws);
	const char *id = opt_text(r, "task-id", NULL), *name = opt_text(r, "name", ""),
		   *described = opt_text(r, "description", "");
	struct json *list, *task, *doc = json_new(r->a, JSON_OBJECT);
	int rc = begin(r, &l, false, e);

	if (rc == OK)
		rc = lifecycle_candidates(&l, 0, &list, e);
	if (rc)
		return rc;
	json_each (row, list) {
		const char *of = json_get_text(row, "task_id", NULL);
		if (!id && of && memory_task(&m, r->a, of, &task, NULL) == OK &&
			text_eq(json_get_text(task, "status", ""), "completed"))
			id = of;
	}
	if (!id)
		return err_set(e, E_MISSING, "SKILL_TRAJECTORY",
			"no completed task among the outcomes worth a look");
	json_sets(r->a, doc, "task_id", id);
	json_sets(r->a, doc, "command",
		arena_printf(r->a, "helm skill draft-from-task --task-id %s --name %s --description %s", id,
			text_quote(r->a, name), text_quote(r->a, described)));
	json_setb(r->a, doc, "applied", opt_flag(r, "apply"));
	if (opt_flag(r, "apply")) {
		rc = skill_draft_from(r, id, name, described, e);
		if (rc)
			return rc;
	}
	out_result(r, doc);
	return 0;
}

/* ---- claims ---- */

int cmd_life_umbrella(struct cli *r, struct err *e)
{
	LIFECYCLE(l);
	struct json *list;
	int64_t least = opt_int(r, "min-cluster-size", 3);
	int rc = least < 1 ? err_set(e, E_USAGE, "OPTION", "--min-cluster-size must be at least 1")
			   : begin(r, &l, false, e);

	if (rc == OK)
		rc = lifecycle_umbrella(&l, (size_t)least, &list, e);
	if (rc == OK)
		out_result(r, list);
	return rc;
}

int cmd_life_claims(struct cli *r, struct err *e)
{
	LIFECYCLE(l);
	bool persist = opt_flag(r, "persist");
	struct json *found, *kept, *doc = json_new(r->a, JSON_OBJECT);
	int rc = begin(r, &l, persist, e);

	if (rc == OK)
		rc = claims_find(&l, &found, e);
	if (rc)
		return rc;
	json_set(r->a, doc, "candidates", claims_open(&l, found));
	if (persist) {
		rc = claims_persist(&l, found,
			opt_int(r, "ttl-days", json_get_int(l.config, "negative_claim_ttl_days", 30)),
			strtod(opt_text(r, "confidence", "0.6"), NULL), &kept, e);
		if (rc)
			return rc;
		json_set(r->a, doc, "persisted", kept);
	}
	out_result(r, doc);
	return 0;
}

int cmd_life_due(struct cli *r, struct err *e)
{
	LIFECYCLE(l);
	int rc = begin(r, &l, false, e);

	if (rc == OK)
		out_result(r, claims_due(&l));
	return rc;
}

static const char *tail(struct arena *a, struct bytes said)
{
	enum { MOST = 2000 };
	size_t n = said.n > MOST ? MOST : said.n;

	return text_safe(a, (const char *)said.p + said.n - n, n, true);
}

/* Without a shell, in the workspace.  What it says is kept; exit 0 says that the claim does not hold any more. */
static int run_probe(struct cli *r, const char *command, const char *const *argv, struct json **ret,
	const char **ret_status, struct err *e)
{
	struct proc_spec spec = PROC_SPEC(argv);
	struct proc_output said = { 0 };
	struct json *doc = json_new(r->a, JSON_OBJECT);
	struct err why = { 0 };

	spec.cwd_fd = r->ws->root_fd;
	json_sets(r->a, doc, "command", command);
	json_sets(r->a, doc, "started_at", text_time_iso(r->a, r->sys->now_us(r->sys)));
	int64_t seconds = opt_int(r, "timeout", 30);
	int rc = proc_capture(
		r->sys, r->a, &spec, (struct bytes){ 0 }, 64 << 10, (int)(seconds * 1000), &said, &why);
	json_sets(r->a, doc, "finished_at", text_time_iso(r->a, r->sys->now_us(r->sys)));
	if (rc == E_LIMIT)
		json_seti(r->a, doc, "timeout_seconds", seconds);
	json_set(r->a, doc, "exit_code", rc ? json_new(r->a, JSON_NULL) : json_number(r->a, said.end.code));
	json_sets(r->a, doc, "stdout", rc ? "" : tail(r->a, said.out));
	json_sets(r->a, doc, "stderr", rc ? why.text : tail(r->a, said.err));
	(void)e;
	*ret = doc;
	*ret_status = rc == OK && said.end.code == 0 ? "resolved" : "still_valid";
	return OK;
}

int cmd_life_revalidate(struct cli *r, struct err *e)
{
	LIFECYCLE(l);
	const char *skill = opt_text(r, "skill", ""), *status = opt_text(r, "status", "needs_review"),
		   *note = opt_text(r, "note", NULL), *command = opt_text(r, "probe-command", NULL);
	const char *const *argv;
	size_t argc;
	struct json *claim, *probe = NULL, *more = json_new(r->a, JSON_OBJECT);
	int rc = begin(r, &l, true, e);

	if (rc == OK)
		rc = claims_get(&l, skill, opt_text(r, "claim-id", ""), &claim, e);
	if (rc)
		return rc;
	if (opt_flag(r, "probe")) {
		const char *run = command ? command : json_get_text(claim, "probe_command", NULL);
		if (!run)
			return err_set(e, E_USAGE, "CLAIM_PROBE",
				"this claim has no probe: name one with --probe-command");
		if (!claims_may_probe(&l, run, &argv, &argc))
			return err_set(e, E_USAGE, "CLAIM_PROBE",
				"'%.200s' does not begin with one of negative_claim_safe_probe_prefixes in skill-lifecycle/config.json",
				run);
		rc = run_probe(r, run, argv, &probe, &status, e);
		note = text_eq(status, "resolved") ? "the probe succeeded" : "the probe did not succeed";
	}
	if (rc == OK && command) {
		json_sets(r->a, claim, "probe_command", command);
		json_sets(r->a, more, "claim_id", json_get_text(claim, "claim_id", ""));
		rc = lifecycle_event(&l, "negative_claim_probe_set", skill, more, e);
	}
	if (rc == OK)
		rc = claims_update(&l, skill, claim, status, note, probe, e);
	if (rc == OK)
		out_result(r, claim);
	return rc;
}
