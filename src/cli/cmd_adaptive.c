/* cmd_adaptive.c — the harness: what work must bring before it starts, and what must be seen before it counts as done. */
#include "base/text.h"
#include "cli/cmd.h"
#include "cli/cmd_actions.h"
#include "cli/cmd_approval.h"
#include "kernel/harness.h"
#include "kernel/skill.h"
#include "kernel/sources.h"
#include "kernel/task/task.h"
#include "remember/harness.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HYDRATION_LINES = 20, EXIT_BEFORE = 2, EXIT_AFTER = 3 };

#define EVIDENCE_OPTIONS \
	{ "browser-evidence-json", OPT_VALUE, "OBJECT", "what a browser showed", NULL, false }, \
		{ "retrieval-evidence-json", OPT_VALUE, "OBJECT", \
			"how far an attempt to fetch came ('helm harness retrieval')", NULL, false }, \
	{ \
		"file-intake-evidence-json", OPT_VALUE, "OBJECT", \
			"what a file really is ('helm harness file-intake')", NULL, false \
	}
#define WORK_OPTIONS \
	{ "profile", OPT_VALUE, "PROFILE", "the profile it runs under", NULL, true }, \
		{ "skill", OPT_VALUE, "SKILL", "the skill it belongs to", NULL, false }, \
		{ "model", OPT_VALUE, "MODEL", "which model works; sets how strict it is", NULL, false }, \
		{ "model-tier", OPT_VALUE, "TIER", "the same by its tier", NULL, false }, \
		{ "task-id", OPT_VALUE, "ID", "use this id instead of a new one", NULL, false }, \
		{ "task-name", OPT_VALUE, "NAME", "what it is called", NULL, false }, \
		{ "request", OPT_VALUE, "TEXT", "what was asked for", NULL, false }, \
		{ "runtime-target", OPT_VALUE, "PLACE", "where a handed-off task is to be done", NULL, \
			false }, \
		{ "runtime-note", OPT_VALUE, "TEXT", "a note for whoever does it", NULL, false }, \
		{ "label", OPT_VALUE, "LABEL", "label of the checkpoint", NULL, false }, \
		{ "delivery-mode", OPT_VALUE, "MODE", "recorded with the task", \
			"inline|background|announce|none", false }, \
		{ "context-confirmed", OPT_FLAG, NULL, "what is known was looked up", NULL, false }, \
		{ "auto-hydrate", OPT_FLAG, NULL, "look it up first", NULL, false }, \
		{ "route-decision-json", OPT_VALUE, "OBJECT", "which way was chosen", NULL, false }, \
		EVIDENCE_OPTIONS
const struct opt harness_work_opts[] = { WORK_OPTIONS, { 0 } };
const struct opt harness_contract_opts[] = {
	{ "skill", OPT_VALUE, "SKILL", "whose contract", NULL, true },
	{ 0 },
};
const struct opt harness_task_opts[] = {
	{ "task-id", OPT_VALUE, "TASK", "which task", NULL, true },
	{ 0 },
};
const struct opt harness_reply_opts[] = {
	{ "task-id", OPT_VALUE, "TASK", "which task (default: the newest)", NULL, false },
	{ 0 },
};
const struct opt harness_record_opts[] = {
	{ "task-id", OPT_VALUE, "TASK", "which task", NULL, true },
	EVIDENCE_OPTIONS,
	{ "write-validation-json", OPT_VALUE, "OBJECT", "whether what was written holds: {ok, checked_paths}",
		NULL, false },
	{ "completion-evidence", OPT_LIST, "KIND:VALUE", "what shows that it is done", NULL, false },
	{ 0 },
};
const struct opt harness_backfill_opts[] = {
	{ "task-id", OPT_LIST, "TASK", "only these", NULL, false },
	{ "skill", OPT_VALUE, "SKILL", "only of this skill", NULL, false },
	{ "limit", OPT_INT, "N", "at most so many of the newest tasks (50)", NULL, false },
	{ "all-entries", OPT_FLAG, NULL, "also where no contract asks for it", NULL, false },
	{ 0 },
};

static struct contract_place place(struct cli *r)
{
	return skill_place(r->sys, r->a, r->ws);
}

static int object_option(struct cli *r, const char *name, const struct json **ret, struct err *e)
{
	const char *text = opt_text(r, name, NULL);
	struct json *doc;

	*ret = NULL;
	if (!text)
		return OK;
	if (json_parse(r->a, bytes_of(text), name, NULL, &doc, e))
		return err_set(e, E_USAGE, "HARNESS_JSON", "--%s takes a JSON object", name);
	*ret = doc;
	return OK;
}

static int evidence_options(struct cli *r, const struct json *ret[EVIDENCE_KINDS], struct err *e)
{
	static const char *const names[EVIDENCE_KINDS] = { "browser-evidence-json", "retrieval-evidence-json",
		"file-intake-evidence-json" };
	int rc = OK;

	for (enum harness_kind k = 0; k < EVIDENCE_KINDS && rc == OK; k++)
		rc = object_option(r, names[k], &ret[k], e);
	return rc;
}

static int read_request(struct cli *r, struct harness_request *q, struct err *e)
{
	*q = (struct harness_request){ .profile = opt_text(r, "profile", NULL),
		.skill = opt_text(r, "skill", NULL),
		.model = opt_text(r, "model", NULL),
		.model_tier = opt_text(r, "model-tier", NULL),
		.task_id = opt_text(r, "task-id", NULL),
		.task_name = opt_text(r, "task-name", NULL),
		.request = opt_text(r, "request", NULL),
		.runtime_target = opt_text(r, "runtime-target", NULL),
		.argv = (const char *const *)r->child,
		.argc = r->child_count,
		.has_context = opt_flag(r, "context-confirmed") || opt_flag(r, "auto-hydrate") };
	int rc = evidence_options(r, q->evidence, e);

	if (!r->child_count)
		return err_set(e, E_USAGE, "RUN_COMMAND", "say what to run, after --");
	return rc ? rc : object_option(r, "route-decision-json", &q->route, e);
}

int cmd_harness_policy(struct cli *r, struct err *e)
{
	const struct contract_place at = place(r);
	struct json *doc;
	int rc = harness_policy(&at, &doc, e);

	if (rc == OK)
		out_result(r, doc);
	return rc;
}

int cmd_harness_contract(struct cli *r, struct err *e)
{
	const struct contract_place at = place(r);
	const char *skill = opt_text(r, "skill", "");
	struct skill found;
	struct json *own;
	int rc = skill_find(&at, skill, &found, e);

	if (rc == OK)
		rc = skill_contract(&at, skill, &own, e);
	if (rc)
		return rc;
	struct json *doc = skill_contract_whole(r->a, own), *profiles = contract_profiles(&at, skill, own);
	json_sets(r->a, doc, "skill", skill);
	json_set(r->a, doc, "allowed_profiles", json_get(profiles, "allowed_profiles"));
	json_set(r->a, doc, "default_profile", json_get(profiles, "default_profile"));
	out_result(r, doc);
	return 0;
}

int cmd_harness_preflight(struct cli *r, struct err *e)
{
	const struct contract_place at = place(r);
	struct harness_request q;
	struct json *doc;
	int rc = read_request(r, &q, e);

	if (rc == OK)
		rc = harness_preflight(&at, &q, &doc, e);
	if (rc)
		return rc;
	out_result(r, doc);
	return json_get_bool(doc, "ok", false) ? 0 : EXIT_BEFORE;
}

/* ---- run ---- */

static unsigned areas_in(const struct json *argv)
{
	unsigned areas = 0;

	json_each (word, argv)
		for (int i = 0; i < AREA_COUNT; i++)
			if (json_text(word) && text_eq(json_text(word), area_names[i]))
				areas |= 1u << i;
	return areas;
}

/* One of the questions that a contract asks first: here, without another process. */
static int hydrate_one(struct cli *r, const struct json *argv, struct json *list, struct err *e)
{
	struct context_place at = sources_place(r->sys, r->a, r->ws);
	const char *second = json_text(json_at(argv, 2));
	struct context_query q = { .areas = areas_in(argv), .latest_tasks = true };
	struct context_answer answer = { 0 };
	struct json *one = json_new(r->a, JSON_OBJECT), *lines = json_new(r->a, JSON_ARRAY);
	int64_t limit = 0;

	q.text = second && second[0] != '-' ? second : NULL;
	json_each (word, argv)
		q.failed_only |= json_text(word) && text_eq(json_text(word), "--failed-only");
	(void)text_int(json_text(json_at(argv, argv->n - 1)), &limit);
	q.limit = limit;
	int rc = context_ask(&at, &q, &answer, e);
	if (rc)
		return rc;
	json_each (hit, answer.results)
		if (lines->n < HYDRATION_LINES)
			json_push(r->a, lines,
				json_stringf(r->a, "[%s:%s] %s: %s", json_get_text(hit, "source", ""),
					json_get_text(hit, "kind", ""), json_get_text(hit, "title", ""),
					json_get_text(hit, "excerpt", "")));
	json_set(r->a, one, "command", json_copy(r->a, argv));
	json_seti(r->a, one, "exit_code", 0);
	json_set(r->a, one, "stdout", lines);
	json_set(r->a, one, "stderr", answer.warnings ? answer.warnings : json_new(r->a, JSON_ARRAY));
	json_push(r->a, list, one);
	return OK;
}

static int hydrate(struct cli *r, const struct json *before, struct json *list, struct err *e)
{
	int rc = OK;

	if (!opt_flag(r, "auto-hydrate"))
		return OK;
	json_each (argv, json_get(before, "hydration_commands"))
		rc = rc ? rc : hydrate_one(r, argv, list, e);
	return rc;
}

/* What the child prints goes to standard error: standard output is the document. */
static int run_aside(
	struct cli *r, struct kernel *k, const struct run_spec *spec, struct run_report *ret, struct err *e)
{
	int kept, rc = out_set_aside(r, &kept, e);

	if (rc)
		return rc;
	rc = task_run(k, r->a, spec, ret, e);
	return out_put_back(kept, rc, e);
}

static int work(struct cli *r, struct kernel *k, const struct harness_request *q, const struct json *before,
	struct run_report *ret, struct err *e)
{
	struct json *meta = json_new(r->a, JSON_OBJECT);
	char *here = realpath(".", NULL);
	const struct run_spec spec = { .profile = q->profile,
		.argv = q->argv,
		.argc = q->argc,
		.task_name = q->task_name,
		.task_goal = q->request,
		.task_id = q->task_id,
		.skill = q->skill,
		.label = opt_text(r, "label", NULL),
		.meta = meta,
		.runtime_target = q->runtime_target,
		.runtime_note = opt_text(r, "runtime-note", NULL),
		.delivery_mode = opt_text(r, "delivery-mode", NULL),
		.mode = GUARD_ENFORCE,
		.mode_source = "default",
		.timeout_s = 1800,
		.cwd = here ? arena_strdup(r->a, here) : r->ws->root };

	free(here);
	json_set(r->a, meta, "harness", harness_meta(r->a, q, before));
	return run_aside(r, k, &spec, ret, e);
}

/* What the row shows by itself is written down, and then it is judged. */
static int look_after(struct cli *r, struct kernel *k, const char *task_id, bool is_good,
	struct json **ret_after, struct err *e)
{
	const struct contract_place at = place(r);
	struct memory_place m = memory_place_of(r->sys, r->ws);
	struct json *row, *own = NULL, *found;
	int rc = memory_task(&m, r->a, task_id, &row, e);

	if (rc == OK && json_get_text(row, "skill", NULL))
		rc = skill_contract(&at, json_get_text(row, "skill", ""), &own, e);
	if (rc)
		return rc;
	found = harness_infer(&at, row, own, true);
	if (found->n) {
		const struct harness_addition x = { .task_id = task_id, .harness = found };
		rc = harness_add(k, r->a, &x, &row, e);
	}
	if (rc == OK)
		rc = harness_postflight(&at, task_id, row, ret_after, e);
	if (rc || !is_good)
		return rc;
	json_each (check, json_get(*ret_after, "checks")) {
		if (!text_eq(json_get_text(check, "name", ""), "completion_policy") ||
			json_get_bool(check, "ok", false))
			continue;
		const struct harness_addition x = { .task_id = task_id,
			.needs = json_get_text(check, "detail", "") };
		rc = harness_add(k, r->a, &x, &row, e);
	}
	return rc;
}

int cmd_harness_run(struct cli *r, struct err *e)
{
	const struct contract_place at = place(r);
	struct harness_request q;
	struct json *before, *after, *doc = json_new(r->a, JSON_OBJECT),
				     *hydration = json_new(r->a, JSON_ARRAY);
	struct run_report report;
	struct kernel k = { 0 };
	int rc = read_request(r, &q, e);

	if (rc == OK)
		rc = harness_preflight(&at, &q, &before, e);
	if (rc)
		return rc;
	json_set(r->a, doc, "preflight", before);
	if (!json_get_bool(before, "ok", false)) {
		out_result(r, doc);
		return EXIT_BEFORE;
	}
	rc = hydrate(r, before, hydration, e);
	if (rc == OK)
		rc = kernel_open(r->sys, r->a, r->ws, &k, e);
	if (rc == OK)
		rc = work(r, &k, &q, before, &report, e);
	if (rc == OK)
		rc = look_after(r, &k, report.task_id, report.exit_code == 0, &after, e);
	kernel_close(&k);
	if (rc)
		return rc;
	const struct json *follows = json_get(json_get(after, "entry"), "policy_transition");
	json_set(r->a, doc, "hydration", hydration);
	json_sets(r->a, doc, "task_id", report.task_id);
	json_seti(r->a, doc, "run_exit_code", report.exit_code);
	json_set(r->a, doc, "postflight", after);
	if (follows)
		json_set(r->a, doc, "policy_transition", json_copy(r->a, follows));
	out_result(r, doc);
	run_tell(r, &report);
	return report.exit_code ? report.exit_code : json_get_bool(after, "ok", false) ? 0 : EXIT_AFTER;
}

/* ---- afterwards ---- */

/* NULL when there is no such task, which is for the checks to say. */
static int newest_row(struct cli *r, const char *task_id, struct json **ret, struct err *e)
{
	struct memory_place m = memory_place_of(r->sys, r->ws);
	int rc = memory_task(&m, r->a, task_id, ret, e);

	if (rc == E_MISSING)
		*ret = NULL;
	return rc == E_MISSING ? OK : rc;
}

int cmd_harness_postflight(struct cli *r, struct err *e)
{
	const struct contract_place at = place(r);
	const char *id = opt_text(r, "task-id", "");
	struct json *row, *doc;
	int rc = newest_row(r, id, &row, e);

	if (rc == OK)
		rc = harness_postflight(&at, id, row, &doc, e);
	if (rc)
		return rc;
	out_result(r, doc);
	return json_get_bool(doc, "ok", false) ? 0 : EXIT_BEFORE;
}

static bool is_any(const struct json *row)
{
	return json_get_text(row, "task_id", NULL) != NULL;
}

int cmd_harness_reply(struct cli *r, struct err *e)
{
	const struct contract_place at = place(r);
	const struct actions_place o = actions_place_from(r);
	const char *id = opt_text(r, "task-id", NULL);
	struct json *row = NULL, *doc;
	int rc = id ? newest_row(r, id, &row, e) : actions_newest_task(&o, is_any, &row, e);

	if (rc == OK)
		rc = harness_reply(&at, row, &doc, e);
	if (rc)
		return rc;
	out_result(r, doc);
	return json_get_bool(doc, "ok", false) ? 0 : EXIT_AFTER;
}

int cmd_harness_record(struct cli *r, struct err *e)
{
	const struct contract_place at = place(r);
	const struct json *evidence[EVIDENCE_KINDS], *valid;
	struct json *members = json_new(r->a, JSON_OBJECT), *row, *after, *doc = json_new(r->a, JSON_OBJECT);
	const char **items;
	struct harness_addition x = { .task_id = opt_text(r, "task-id", ""), .harness = members };
	struct kernel k = { 0 };
	int rc = evidence_options(r, evidence, e);

	if (rc == OK)
		rc = object_option(r, "write-validation-json", &valid, e);
	if (rc)
		return rc;
	for (enum harness_kind i = 0; i < EVIDENCE_KINDS; i++)
		if (evidence[i] && !json_is(evidence[i], JSON_OBJECT))
			return err_set(e, E_USAGE, "HARNESS_JSON", "evidence is a JSON object");
		else if (evidence[i])
			json_set(r->a, members, harness_evidence[i].member, json_copy(r->a, evidence[i]));
	if (valid)
		json_set(r->a, members, "write_validation", json_copy(r->a, valid));
	x.evidence_count = opt_list(r, "completion-evidence", &items);
	x.evidence = items;
	if (!members->n && !x.evidence_count)
		return err_set(e, E_USAGE, "HARNESS_EVIDENCE", "say what was seen: give one of its options");
	rc = kernel_open(r->sys, r->a, r->ws, &k, e);
	if (rc == OK)
		rc = harness_add(&k, r->a, &x, &row, e);
	kernel_close(&k);
	if (rc == OK)
		rc = harness_postflight(&at, x.task_id, row, &after, e);
	if (rc)
		return rc;
	json_set(r->a, doc, "entry", row);
	json_set(r->a, doc, "postflight", after);
	out_result(r, doc);
	return json_get_bool(after, "ok", false) ? 0 : EXIT_AFTER;
}

/* ---- what older tasks lack ---- */

struct filling {
	struct cli *r;
	struct contract_place at;
	const char *const *only;
	size_t only_count;
	struct json *rows;
	int64_t inspected, without_contract, without_requirement;
};

static bool is_wanted(const struct filling *f, const char *id)
{
	for (size_t i = 0; i < f->only_count; i++)
		if (text_eq(f->only[i], id))
			return true;
	return !f->only_count;
}

static bool demands_any(const struct json *contract, const struct json *row)
{
	for (enum harness_kind k = 0; k < EVIDENCE_KINDS; k++)
		if (contract_demands(contract, harness_evidence[k].section, row))
			return true;
	return false;
}

static int consider(void *arg, struct json *row, struct err *e)
{
	struct filling *f = arg;
	const char *skill = json_get_text(row, "skill", NULL), *of = opt_text(f->r, "skill", NULL);
	struct json *contract = NULL;

	(void)e;
	if (!is_wanted(f, json_get_text(row, "task_id", "")) || (of && (!skill || !text_eq(of, skill))))
		return 0;
	f->inspected++;
	if (skill && skill_contract(&f->at, skill, &contract, NULL))
		contract = NULL;
	if (!opt_flag(f->r, "all-entries") && !contract) {
		f->without_contract++;
		return 0;
	}
	if (!opt_flag(f->r, "all-entries") && !demands_any(contract, row)) {
		f->without_requirement++;
		return 0;
	}
	json_push(f->r->a, f->rows, json_copy(f->r->a, row));
	return 0;
}

/* Counts what was added, by kind. */
static int fill(struct filling *f, struct kernel *k, struct json *doc, struct err *e)
{
	static const char *const counts[EVIDENCE_KINDS] = { "browser_backfilled", "retrieval_backfilled",
		"file_intake_backfilled" };
	struct arena *a = f->r->a;
	struct json *ids = json_new(a, JSON_ARRAY), *changed;
	int64_t by_kind[EVIDENCE_KINDS] = { 0 }, without = 0;
	int rc = OK;

	json_each (row, f->rows) {
		const char *id = json_get_text(row, "task_id", ""),
			   *skill = json_get_text(row, "skill", NULL);
		struct json *contract = NULL, *found;
		if (skill && skill_contract(&f->at, skill, &contract, NULL))
			contract = NULL;
		found = harness_infer(&f->at, row, contract, !opt_flag(f->r, "all-entries"));
		if (!found->n) {
			without++;
			continue;
		}
		const struct harness_addition x = { .task_id = id, .harness = found };
		rc = harness_add(k, a, &x, &changed, e);
		if (rc)
			return rc;
		json_pushs(a, ids, id);
		for (enum harness_kind i = 0; i < EVIDENCE_KINDS; i++)
			by_kind[i] += json_get(found, harness_evidence[i].member) != NULL;
	}
	json_seti(a, doc, "inspected", f->inspected);
	json_seti(a, doc, "updated", ids->n);
	for (enum harness_kind i = 0; i < EVIDENCE_KINDS; i++)
		json_seti(a, doc, counts[i], by_kind[i]);
	json_seti(a, doc, "skipped_without_contract", f->without_contract);
	json_seti(a, doc, "skipped_without_active_requirement", f->without_requirement);
	json_seti(a, doc, "skipped_without_inference", without);
	json_set(a, doc, "task_ids", ids);
	return OK;
}

int cmd_harness_backfill(struct cli *r, struct err *e)
{
	const struct actions_place o = actions_place_from(r);
	struct filling f = { .r = r, .at = place(r), .rows = json_new(r->a, JSON_ARRAY) };
	const char **only;
	struct part part;
	const struct task_filter all = { 0 };
	struct json *doc = json_new(r->a, JSON_OBJECT);
	struct kernel k = { 0 };

	f.only_count = opt_list(r, "task-id", &only);
	f.only = only;
	int64_t limit = opt_int(r, "limit", 50);
	int rc = actions_task_list(
		&o, &all, 0, f.only_count || limit <= 0 ? 0 : (size_t)limit, &part, consider, &f, e);
	if (rc == OK)
		say_part(r, &part, "tasks looked at");
	if (rc == OK)
		rc = kernel_open(r->sys, r->a, r->ws, &k, e);
	if (rc == OK)
		rc = fill(&f, &k, doc, e);
	kernel_close(&k);
	if (rc == OK)
		out_result(r, doc);
	return rc;
}
