/* ops.c — `helm ops`: rows of the ledgers as they are, and counts over the newest of them.
 *
 * Rows are looked for from the end of the ledger back, so that the last ten cost the same whatever its length. */
#include "actions/actions_internal.h"
#include "actions/figures.h"
#include "base/text.h"
#include "remember/contract.h"

#include <string.h>

enum { DAILY_SHOWN = 5, DAILY_LINES = 100, DAILY_DRAFTS = 10 };

/* ---- rows ---- */

struct taking {
	const struct actions_place *o;
	const struct ops_filter *f;
	struct json *rows; /* newest first */
};

static bool is_text(const struct json *row, const char *name, const char *wanted)
{
	return !wanted || text_eq(json_get_text(row, name, ""), wanted);
}

static bool is_wanted(const struct ops_filter *f, const struct json *row)
{
	if (f->failed_only &&
		!(f->is_commands ? figure_is_failed(row)
				 : text_eq(json_get_text(row, "status", ""), "failed")))
		return false;
	return is_text(row, "status", f->status) && is_text(row, "profile", f->profile) &&
		is_text(row, "skill", f->skill) && is_text(row, "delivery_mode", f->delivery_mode) &&
		is_text(row, "task_id", f->task_id) && is_text(row, "component", f->component) &&
		is_text(row, "label", f->label);
}

static int take(void *arg, struct json *row)
{
	struct taking *t = arg;

	if (!is_wanted(t->f, row))
		return 0;
	json_push(t->o->a, t->rows, json_copy(t->o->a, row));
	return t->f->limit && t->rows->n >= t->f->limit;
}

static int take_task(void *arg, struct json *row, struct err *e)
{
	(void)e;
	return take(arg, row);
}

int actions_ops_rows(
	const struct actions_place *o, const struct ops_filter *f, struct json **ret, struct err *e)
{
	struct taking t = { o, f, json_new(o->a, JSON_ARRAY) };
	int rc;

	if (f->is_latest) {
		AUTO(index_close) struct index *x = NULL;
		rc = actions_index(o, INDEX_ALL, &x, e);
		if (rc == OK)
			rc = index_tasks_begun(x, take_task, &t, e);
	} else {
		rc = rows_back(o->sys, NULL, o->state_fd, f->is_commands ? COMMAND_LOG : TASK_LEDGER, 0, NULL,
			take, &t, e);
	}
	turn_round(t.rows);
	*ret = t.rows;
	return rc;
}

/* ---- what rows of tasks say, counted ---- */

static const struct {
	const char *name, *section; /* of meta.harness; of the contract */
} evidence[] = {
	{ "browser_evidence", "browser_work" },
	{ "retrieval_evidence", "retrieval_policy" },
	{ "file_intake_evidence", "file_intake" },
};

static const struct json *harness(const struct json *row)
{
	return json_get(json_get(row, "meta"), "harness");
}

static struct json *contract_of(const struct actions_place *o, const struct json *row)
{
	const struct contract_place at = { o->sys, o->a, o->root_fd };
	const char *skill = json_get_text(row, "skill", NULL);
	struct json *contract = NULL;

	if (skill)
		(void)contract_read(&at, skill, &contract, NULL);
	return contract;
}

static const char *class_of(const struct json *row, const struct json *contract, size_t kind)
{
	const struct json *found = json_get(harness(row), evidence[kind].name);

	if (json_is(found, JSON_OBJECT))
		return json_get_bool(found, "inferred", false) ? "inferred" : "present";
	return contract_demands(contract, evidence[kind].section, row) ? "missing_required"
								       : "missing_optional";
}

const char *actions_ops_evidence(struct arena *a, const struct json *row)
{
	const struct json *h = harness(row);

	return arena_printf(a, "browser=%s retrieval=%s file=%s",
		json_is(json_get(h, "browser_evidence"), JSON_OBJECT) ? "B" : "-",
		json_get_text(json_get(h, "retrieval_evidence"), "exit_classification", "-"),
		json_is(json_get(h, "file_intake_evidence"), JSON_OBJECT) ? "F" : "-");
}

static void add_text(
	struct arena *a, struct json *doc, const char *counter, const struct json *in, const char *name)
{
	const char *value = json_get_text(in, name, NULL);

	if (value && *value)
		figure_add(a, json_get(doc, counter), value);
}

static void count_task(const struct actions_place *o, struct json *doc, const struct json *row)
{
	static const char *const counters[] = { "browser_evidence", "retrieval_evidence",
		"file_intake_evidence" };
	struct arena *a = o->a;
	const struct json *h = harness(row), *contract = contract_of(o, row),
			  *intake = json_get(h, "file_intake_evidence"),
			  *found = json_get(h, "retrieval_evidence");
	const char *skill = json_get_text(row, "skill", "-");

	figure_add(a, json_get(doc, "status"), json_get_text(row, "status", "-"));
	figure_add(a, json_get(doc, "profile"), json_get_text(row, "profile", "-"));
	figure_add(a, json_get(doc, "skill"), skill);
	figure_add(a, json_get(doc, "finalization"), figure_finalization(row));
	figure_add(a, json_get(doc, "enforcement_level"), json_get_text(h, "enforcement_level", "-"));
	figure_add(a, json_get(doc, "model_tier"), json_get_text(h, "model_tier", "-"));
	for (size_t i = 0; i < ARRAY_SIZE(evidence); i++) {
		const char *class = class_of(row, contract, i);
		figure_add(a, json_get(doc, counters[i]), class);
		if (text_eq(class, "missing_required"))
			figure_add(a, json_get(doc, "missing_required_by_skill"),
				arena_printf(a, "%s: %s", skill, evidence[i].section));
	}
	add_text(a, doc, "file_intake_routes", intake, "route_decision");
	add_text(a, doc, "file_intake_detectors", intake, "detector");
	if (json_get_bool(intake, "mismatch", false))
		figure_add(a, json_get(doc, "file_intake_warnings"), "mismatch");
	if (json_is(intake, JSON_OBJECT) && json_get(intake, "safe_to_parse") &&
		!json_get_bool(intake, "safe_to_parse", true))
		figure_add(a, json_get(doc, "file_intake_warnings"), "unsafe_or_manual_review");
	add_text(a, doc, "retrieval_exit_classes", found, "exit_classification");
	add_text(a, doc, "retrieval_next_stages", found, "next_attempt_stage");
}

static struct json *counters(struct arena *a, const char *const *names, size_t n)
{
	struct json *doc = json_new(a, JSON_OBJECT);

	for (size_t i = 0; i < n; i++)
		json_set(a, doc, names[i], json_new(a, JSON_OBJECT));
	return doc;
}

static struct json *task_summary(const struct actions_place *o, const struct json *rows)
{
	static const char *const names[] = { "status", "profile", "skill", "finalization",
		"enforcement_level", "model_tier", "browser_evidence", "retrieval_evidence",
		"file_intake_evidence", "file_intake_routes", "file_intake_detectors", "file_intake_warnings",
		"retrieval_exit_classes", "retrieval_next_stages", "missing_required_by_skill" };
	struct json *doc = counters(o->a, names, ARRAY_SIZE(names));

	json_each (row, rows)
		count_task(o, doc, row);
	return doc;
}

/* The ten that came most often; of as many, those that came first. */
static struct json *most_often(struct arena *a, const struct json *counts)
{
	struct json *top = json_new(a, JSON_OBJECT);

	while (top->n < 10 && top->n < counts->n) {
		const struct json_member *best = NULL;
		int64_t most = 0, n;
		json_each_member (m, counts)
			if (json_int(m->value, &n) && n > most && !json_get(top, m->name)) {
				best = m;
				most = n;
			}
		if (!best)
			break;
		json_seti(a, top, best->name, most);
	}
	return top;
}

static struct json *command_summary(struct arena *a, const struct json *rows)
{
	static const char *const names[] = { "components", "exit_codes", "tasks", "labels" };
	struct json *doc = counters(a, names, ARRAY_SIZE(names));

	json_each (row, rows) {
		const struct json *code = json_get(row, "exit_code");
		figure_add(a, json_get(doc, "components"), json_get_text(row, "component", "-"));
		figure_add(a, json_get(doc, "exit_codes"), json_is(code, JSON_NUMBER) ? code->text : "-");
		figure_add(a, json_get(doc, "tasks"), json_get_text(row, "task_id", "-"));
		figure_add(a, json_get(doc, "labels"), json_get_text(row, "label", "-"));
	}
	json_set(a, doc, "labels", most_often(a, json_get(doc, "labels")));
	return doc;
}

struct json *actions_ops_summary(
	const struct actions_place *o, const struct ops_filter *f, const struct json *rows)
{
	return f->is_commands ? command_summary(o->a, rows) : task_summary(o, rows);
}

/* ---- windows of tasks ---- */

static bool is_one_of(const char *status, const char *const *states)
{
	while (*states && !text_eq(*states, status))
		states++;
	return *states;
}

/* The newest of a window that are in one of these states, oldest first. */
static struct json *in_states(struct arena *a, const struct json *window, const char *const *states)
{
	struct json *rows = json_new(a, JSON_ARRAY);

	for (uint32_t i = window->n; i-- > 0 && rows->n < DAILY_SHOWN;)
		if (is_one_of(json_get_text(window->items[i], "status", ""), states))
			json_push(a, rows, window->items[i]);
	turn_round(rows);
	return rows;
}

struct since {
	struct kept_rows kept;
	int64_t us;
};

/* Newest first: with the first that began earlier there is no need to look on. */
static int keep_since(void *arg, struct json *row, struct err *e)
{
	struct since *w = arg;
	const char *at = json_get_text(row, "started_at", json_get_text(row, "created_at", ""));
	int64_t us;

	if (text_parse_time(at, strlen(at), &us) && us < w->us)
		return 1;
	return keep_row(&w->kept, row, e);
}

/* Without `days` the last tasks, whenever they were; with it those that began since. */
static int window_of(
	const struct actions_place *o, size_t limit, int64_t days, struct json **ret, struct err *e)
{
	AUTO(index_close) struct index *x = NULL;
	struct since w = { { o, json_new(o->a, JSON_ARRAY) },
		o->sys->now_us(o->sys) - days * 86400 * 1000000 };

	if (!days)
		return actions_tasks(o, limit, ret, e);
	int rc = actions_index(o, INDEX_SOON, &x, e);
	if (rc == OK)
		rc = index_tasks(x, NULL, 0, keep_since, &w, e);
	turn_round(w.kept.rows);
	*ret = w.kept.rows;
	return rc;
}

int actions_ops_daily(
	const struct actions_place *o, size_t limit, int64_t days, struct json **ret, struct err *e)
{
	static const char *const failed[] = { "failed", "timeout", NULL },
				 *const handed[] = { "handoff_required", NULL };
	struct arena *a = o->a;
	struct json *doc = json_new(a, JSON_OBJECT), *states = json_new(a, JSON_OBJECT), *window, *points;
	int rc = window_of(o, limit, days, &window, e);

	if (rc)
		return rc;
	json_each (row, window)
		figure_add(a, states, json_get_text(row, "status", "-"));
	if (actions_checkpoints(o, DAILY_SHOWN, &points, NULL))
		points = json_new(a, JSON_ARRAY);
	json_set(a, doc, "recent_task_status_counts", states);
	json_set(a, doc, "recent_finalization_counts", figure_finalizations(a, window));
	json_set(a, doc, "recent_failed_tasks", in_states(a, window, failed));
	json_set(a, doc, "recent_handoff_tasks", in_states(a, window, handed));
	json_set(a, doc, "recent_failed_commands", figure_failed_commands(o, DAILY_LINES, DAILY_SHOWN, NULL));
	json_set(a, doc, "recent_checkpoints", points);
	json_set(a, doc, "draft_assessments", figure_drafts(o, DAILY_DRAFTS));
	*ret = doc;
	return OK;
}

static struct json *pending_item(struct arena *a, const struct json *row)
{
	static const char *const fields[] = { "task_id", "task_name", "profile", "status" };
	const struct json *plan = json_get(row, "memory_capture");
	struct json *item = json_new(a, JSON_OBJECT), *layers = json_get(plan, "recommended_layers"),
		    *flags = json_get(plan, "review_flags"), *sure = json_get(plan, "confidence_hint");

	if (!sure)
		sure = json_get(json_get(plan, "claim_state"), "confidence_hint");
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		json_sets(a, item, fields[i], json_get_text(row, fields[i], NULL));
	json_sets(a, item, "finalization_status", figure_finalization(row));
	json_set(a, item, "recommended_layers", layers ? layers : json_new(a, JSON_ARRAY));
	json_set(a, item, "review_flags", flags ? flags : json_new(a, JSON_ARRAY));
	json_set(a, item, "confidence_hint", sure ? sure : json_new(a, JSON_NULL));
	return item;
}

int actions_ops_capture(const struct actions_place *o, size_t limit, struct json **ret, struct err *e)
{
	static const char *const pending[] = { "capture_planned", "capture_partial", NULL };
	struct arena *a = o->a;
	struct json *doc = json_new(a, JSON_OBJECT), *items = json_new(a, JSON_ARRAY), *window;
	int rc = actions_tasks(o, limit, &window, e);

	if (rc)
		return rc;
	json_each (row, window)
		if (is_one_of(figure_finalization(row), pending))
			json_push(a, items, pending_item(a, row));
	json_sets(a, doc, "workspace", o->root);
	json_seti(a, doc, "window", window->n);
	json_set(a, doc, "finalization_counts", figure_finalizations(a, window));
	json_set(a, doc, "pending_tasks", items);
	*ret = doc;
	return OK;
}
