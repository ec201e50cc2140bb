/* tasks.c — the latest state of tasks.
 *
 * The ledger only grows: each change of a task's state is a new row, and the newest row of a task holds. The
 * index knows that row of each task, and where the others are. */
#include "actions/actions_internal.h"
#include "actions/figures.h"
#include "base/doc.h"
#include "base/file.h"
#include "base/text.h"
#include "execute/checkpoint/checkpoint.h"
#include "remember/contract.h"

#include <fcntl.h>
#include <string.h>

/* So many active tasks are looked at; nobody has more, and a list that is longer is one of dead ones. */
/* RECENT_MOST: rows of a period that are held; all are counted.  OLDER_MOST: a clock that was put back makes no list end early. */
enum { MAX_ACTIVE = 10000, MANY = 1000, RECENT_MOST = 10000, OLDER_MOST = 1000 };

enum index_how actions_how(const struct actions_place *o, enum index_how how)
{
	return o->is_quick ? how : INDEX_ALL;
}

int actions_index(const struct actions_place *o, enum index_how how, struct index **ret, struct err *e)
{
	struct index_place at = { o->sys, o->a, o->state_dir, o->state_fd };

	return index_open_shown(&at, actions_how(o, how), o->shown, ret, e);
}

int keep_row(void *arg, struct json *row, struct err *e)
{
	struct kept_rows *k = arg;

	(void)e;
	json_push(k->o->a, k->rows, json_copy(k->o->a, true_row(k->o, k->o->a, row)));
	return OK;
}

/* Its run may have ended well since the row was read, so the ledger is asked again. */
struct json *true_row(const struct actions_place *o, struct arena *a, struct json *row)
{
	struct json *now = NULL;

	if (!open_run_is_over(o->sys, o->state_fd, row))
		return row;
	if (row_newest(o->sys, a, o->state_fd, json_get_text(row, "task_id", ""), &now, NULL) || !now)
		now = row;
	if (!row_is_open(now))
		return now;
	now = json_copy(a, now);
	json_sets(a, now, "status", "failed");
	json_sets(a, now, "failure_stage", "execution");
	json_sets(a, now, "failure_reason",
		"helm was ended before the run was; the next run puts that on record, or 'helm task doctor --fix'");
	json_setb(a, now, "is_unclosed", true);
	return now;
}

struct correcting {
	const struct actions_place *o;
	struct json *counts;
};

static void move_count(struct correcting *c, const char *status, int64_t by)
{
	int64_t n = json_get_int(c->counts, status, 0) + by;

	if (n > 0)
		json_seti(c->o->a, c->counts, arena_strdup(c->o->a, status), n);
	else
		(void)json_remove(c->counts, status);
}

static int correct_count(void *arg, struct json *row, struct err *e)
{
	AUTO(arena_done) struct arena scratch = { 0 };
	struct correcting *c = arg;
	const struct json *now = true_row(c->o, &scratch, row);

	(void)e;
	if (now == row)
		return OK;
	move_count(c, json_get_text(row, "status", ""), -1);
	move_count(c, json_get_text(now, "status", ""), 1);
	return OK;
}

static const char *const open_states[] = { "running", "queued" };
const struct task_filter open_tasks = { .states = open_states, .state_count = ARRAY_SIZE(open_states) };

int true_counts(
	const struct actions_place *o, struct index *x, struct json **ret, int64_t *ret_total, struct err *e)
{
	struct correcting c = { .o = o };
	int rc = index_task_counts(x, NULL, &c.counts, ret_total, e);

	*ret = c.counts;
	return rc ? rc : index_tasks(x, &open_tasks, MAX_ACTIVE, correct_count, &c, e);
}

/* Questions are answered newest first, lists are read oldest first. */
void turn_round(struct json *rows)
{
	for (uint32_t i = 0; i < rows->n / 2; i++) {
		struct json *other = rows->items[i];
		rows->items[i] = rows->items[rows->n - 1 - i];
		rows->items[rows->n - 1 - i] = other;
	}
}

int actions_tasks(const struct actions_place *o, size_t limit, struct json **ret, struct err *e)
{
	AUTO(index_close) struct index *x = NULL;
	struct kept_rows kept = { o, json_new(o->a, JSON_ARRAY) };
	int rc = actions_index(o, INDEX_SOON, &x, e);

	if (rc == OK)
		rc = index_tasks(x, NULL, limit, keep_row, &kept, e);
	turn_round(kept.rows);
	*ret = kept.rows;
	return rc;
}

static bool is_in(const struct task_filter *f, const char *status)
{
	bool is_found = f->state_count == 0;

	for (size_t i = 0; i < f->state_count; i++)
		is_found |= text_eq(f->states[i], status);
	return is_found;
}

/* A list by states is one by true states: what is over is not listed as running, but as what it is. */
struct true_list {
	const struct actions_place *o;
	const struct task_filter *f;
	int64_t of, open; /* tasks that pass; those that say they are open */
	int64_t left; /* so many of the oldest are passed over */
	index_visit *fn;
	void *arg;
};

static int count_open(void *arg, struct json *row, struct err *e)
{
	AUTO(arena_done) struct arena scratch = { 0 };
	struct true_list *l = arg;
	const struct json *now = true_row(l->o, &scratch, row);

	(void)e;
	l->open++;
	l->of +=
		is_in(l->f, json_get_text(now, "status", "")) - is_in(l->f, json_get_text(row, "status", ""));
	return OK;
}

static int give_true(void *arg, struct json *row, struct err *e)
{
	AUTO(arena_done) struct arena scratch = { 0 };
	struct true_list *l = arg;
	struct json *now = true_row(l->o, &scratch, row);

	if (!is_in(l->f, json_get_text(now, "status", "")) || l->left-- > 0)
		return OK;
	return l->fn(l->arg, now, e);
}

/* The given states, and those in which a row can be that is wrong by now. */
static struct task_filter with_open(const struct actions_place *o, const struct task_filter *f)
{
	struct task_filter wide = *f;
	const char **states = arena_zalloc(o->a, f->state_count + ARRAY_SIZE(open_states), sizeof(*states));

	if (!f->state_count)
		return wide;
	for (size_t i = 0; i < f->state_count; i++)
		states[i] = f->states[i];
	for (size_t i = 0; i < ARRAY_SIZE(open_states); i++)
		if (!is_in(f, open_states[i]))
			states[wide.state_count++] = open_states[i];
	wide.states = states;
	return wide;
}

static int list_true(struct index *x, struct true_list *l, const struct task_filter *wide, struct part *ret,
	size_t limit, struct err *e)
{
	struct json *counts;
	const struct task_filter open = { open_states, ARRAY_SIZE(open_states), l->f->profile, l->f->skill };
	int rc = index_task_counts(x, l->f, &counts, &l->of, e);

	if (rc == OK)
		rc = index_tasks(x, &open, MAX_ACTIVE, count_open, l, e);
	if (rc)
		return rc;
	ret->note = index_note(x);
	ret->of = l->of;
	ret->shown = limit && (int64_t)limit < ret->of ? (int64_t)limit : ret->of;
	l->left = ret->of - ret->shown;
	if (ret->shown > MANY) /* too long to be held: everything is walked, and the oldest are passed over */
		return index_tasks_forth(x, wide, give_true, l, e);
	struct kept_rows kept = { l->o, json_new(l->o->a, JSON_ARRAY) };
	rc = index_tasks(x, wide, (size_t)(ret->shown + l->open) + 1, keep_row, &kept, e);
	for (uint32_t i = kept.rows->n; i-- > 0;)
		if (!is_in(l->f, json_get_text(kept.rows->items[i], "status", "")))
			memmove(kept.rows->items + i, kept.rows->items + i + 1,
				(--kept.rows->n - i) * sizeof(*kept.rows->items));
	for (int64_t i = kept.rows->n < ret->shown ? kept.rows->n : ret->shown; rc == OK && i-- > 0;)
		rc = l->fn(l->arg, kept.rows->items[i], e);
	return rc > 0 ? OK : rc;
}

bool actions_task_time(const struct json *row, int64_t *ret_us)
{
	static const char *const names[] = { "updated_at", "finished_at", "started_at" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const char *at = json_get_text(row, names[i], "");
		if (text_parse_time(at, strlen(at), ret_us))
			return true;
	}
	return false;
}

/* Tasks of a period, the newest first: rows are in the order in which they were written, so the first that are all too old end it. */
struct recent_list {
	const struct actions_place *o;
	const struct task_filter *f;
	int64_t since_us, limit;
	int64_t of, older;
	struct json *rows;
};

static int take_recent(void *arg, struct json *row, struct err *e)
{
	AUTO(arena_done) struct arena scratch = { 0 };
	struct recent_list *l = arg;
	int64_t us;

	(void)e;
	if (!actions_task_time(row, &us) || us < l->since_us)
		return ++l->older > OLDER_MOST;
	struct json *now = true_row(l->o, &scratch, row);
	if (!is_in(l->f, json_get_text(now, "status", "")) ||
		(l->f->profile && !text_eq(l->f->profile, json_get_text(row, "profile", ""))) ||
		(l->f->skill && !text_eq(l->f->skill, json_get_text(row, "skill", ""))))
		return 0;
	if (++l->of <= l->limit)
		json_push(l->o->a, l->rows, json_copy(l->o->a, now));
	return 0;
}

static int list_recent(
	struct index *x, struct recent_list *l, struct part *ret, index_visit *fn, void *arg, struct err *e)
{
	int rc = index_tasks(x, NULL, 0, take_recent, l, e);

	*ret = (struct part){ l->rows->n, l->of, index_note(x) };
	for (uint32_t i = l->rows->n; rc >= 0 && i-- > 0;)
		rc = fn(arg, l->rows->items[i], e);
	return rc > 0 ? OK : rc;
}

int actions_task_list(const struct actions_place *o, const struct task_filter *f, int64_t since_us,
	size_t limit, struct part *ret, index_visit *fn, void *arg, struct err *e)
{
	AUTO(index_close) struct index *x = NULL;
	struct true_list l = { .o = o, .f = f, .fn = fn, .arg = arg };
	struct task_filter wide = with_open(o, f);
	int rc = actions_index(o, limit ? INDEX_SOON : INDEX_ALL, &x, e);

	*ret = (struct part){ 0 };
	if (rc || !since_us)
		return rc ? rc : list_true(x, &l, &wide, ret, limit, e);
	struct recent_list recent = { .o = o,
		.f = f,
		.since_us = since_us,
		.limit = limit && limit < RECENT_MOST ? (int64_t)limit : RECENT_MOST,
		.rows = json_new(o->a, JSON_ARRAY) };
	return list_recent(x, &recent, ret, fn, arg, e);
}

struct looking_for {
	bool (*is_it)(const struct json *row);
	struct arena *a;
	struct json *found;
};

static int look_for(void *arg, struct json *row, struct err *e)
{
	struct looking_for *l = arg;

	(void)e;
	if (!l->is_it(row))
		return OK;
	l->found = json_copy(l->a, row);
	return 1;
}

int actions_newest_task(const struct actions_place *o, bool (*is_it)(const struct json *row),
	struct json **ret, struct err *e)
{
	AUTO(index_close) struct index *x = NULL;
	struct looking_for l = { is_it, o->a, NULL };
	int rc = actions_index(o, INDEX_SOON, &x, e);

	if (rc == OK)
		rc = index_tasks(x, NULL, 0, look_for, &l, e);
	*ret = l.found;
	return rc;
}

/* The rows of one task among those of others, between its first and its last one. */
struct task_rows {
	const struct actions_place *o;
	struct task_span span;
	struct json *rows;
};

static int take_own(void *arg, off_t place, uint64_t line, struct bytes text, bool is_whole, struct err *e)
{
	struct task_rows *t = arg;

	(void)line;
	(void)is_whole;
	(void)e;
	if (place > t->span.last)
		return 1;
	struct arena_mark mark = arena_mark(t->o->a);
	struct bytes kept = { (const uint8_t *)arena_strndup(t->o->a, (const char *)text.p, text.n), text.n };
	struct json *row = row_parse(t->o->a, kept, TASK_LEDGER);
	if (row && text_eq(json_get_text(row, "task_id", ""), t->span.id))
		json_push(t->o->a, t->rows, row);
	else
		arena_release(t->o->a, mark);
	return OK;
}

int actions_task(const struct actions_place *o, const char *id, struct json **ret_rows, struct err *e)
{
	AUTO(index_close) struct index *x = NULL;
	struct task_rows t = { .o = o, .rows = json_new(o->a, JSON_ARRAY) };
	int rc = actions_index(o, INDEX_ALL, &x, e);

	if (rc == OK)
		rc = index_task_find(x, id, &t.span, e);
	if (rc == OK)
		rc = ledger_lines(o->sys, o->state_fd, TASK_LEDGER, t.span.first, take_own, &t, e);
	if (rc == OK && !t.rows->n)
		rc = err_set(e, E_CORRUPT, "TASK_ROWS",
			"the index knows the task '%s', but the ledger does not; 'helm db rebuild' makes it anew",
			t.span.id);
	if (rc == OK)
		t.rows->items[t.rows->n - 1] = true_row(o, o->a, t.rows->items[t.rows->n - 1]);
	*ret_rows = t.rows;
	return rc;
}

/* A workspace without an index has no checkpoints, which is no error. */
int actions_checkpoints(const struct actions_place *o, size_t limit, struct json **ret, struct err *e)
{
	struct json *all = NULL, *last = json_new(o->a, JSON_ARRAY);
	AUTO(close_fd) int points = -1;
	int rc = o->points_dir ? file_open_dir(o->sys, AT_FDCWD, o->points_dir, &points, e) : OK;

	*ret = last;
	if (rc == OK)
		rc = checkpoint_list_in(o->sys, o->a, o->points_dir ? points : o->state_fd, &all, e);
	if (rc)
		return rc == E_MISSING ? OK : rc;
	uint32_t n = all->n;
	for (uint32_t i = limit && n > limit ? n - (uint32_t)limit : 0; i < n; i++)
		json_push(o->a, last, all->items[i]);
	return OK;
}

/* ---- doctor ---- */

/* One finding with the command that a person can use to settle it. */
static void finding(struct arena *a, struct json *to, const struct json *row, const char *severity,
	const char *kind, const char *action)
{
	struct json *f = json_new(a, JSON_OBJECT);

	json_sets(a, f, "severity", severity);
	json_sets(a, f, "kind", kind);
	json_sets(a, f, "task_id", json_get_text(row, "task_id", ""));
	json_sets(a, f, "task_name", json_get_text(row, "task_name", ""));
	json_sets(a, f, "status", json_get_text(row, "status", ""));
	json_sets(a, f, "suggested_action", action);
	json_push(a, to, f);
}

/* A run writes its sign of life to a side file, which is newer than any row of the ledger. A run that is
 * too young to have one has only its rows. The id becomes part of a path, so it is checked first. */
const char *actions_heartbeat(const struct actions_place *o, const struct json *row)
{
	const char *id = json_get_text(row, "task_id", "");
	struct json *doc;

	if (text_is_id(id) &&
		doc_read(o->sys, o->a, o->state_fd, arena_printf(o->a, "heartbeats/%s.json", id), 4096, 0,
			&doc, NULL) == OK)
		return json_get_text(doc, "heartbeat_at", json_get_text(row, "heartbeat_at", NULL));
	return json_get_text(row, "heartbeat_at", NULL);
}

/* What shows that a task that is called completed did something: evidence that was given, an exit code, or
 * a checkpoint. */
static bool has_evidence(const struct json *row)
{
	const struct json *given = json_get(row, "completion_evidence");

	return (given && given->n) || json_get(row, "exit_code") || json_get_text(row, "checkpoint_id", NULL);
}

/* Adds what is suspicious about one task. "Not alive" and "stale" exclude each other: a dead process
 * explains the silence. Warnings mean that the record and the world disagree; "info" only asks for a look. */
static void examine(
	const struct actions_place *o, const struct json *row, int64_t stale_us, struct json *findings)
{
	struct arena *a = o->a;
	const char *status = json_get_text(row, "status", ""), *id = json_get_text(row, "task_id", "");
	bool active = row_is_open(row);
	const char *beat = active ? actions_heartbeat(o, row) : NULL;
	const char *since = beat ? beat : json_get_text(row, "started_at", "");
	int64_t at = 0;

	if (json_get_bool(row, "is_unclosed", false))
		finding(a, findings, row, "warning", "active_process_not_alive", "helm task doctor --fix");
	else if (active && text_parse_time(since, strlen(since), &at) &&
		o->sys->now_us(o->sys) - at > stale_us)
		finding(a, findings, row, "warning", "stale_active_task",
			arena_printf(a, "helm task mark-stale %s --reason 'no sign of life'", id));
	if (active && json_get_text(row, "finished_at", NULL))
		finding(a, findings, row, "warning", "active_task_has_finished_at",
			arena_printf(a, "helm task show %s", id));
	if (text_eq(status, "completed") && !has_evidence(row))
		finding(a, findings, row, "info", "completed_without_evidence",
			arena_printf(a, "helm task complete %s --evidence test:NAME", id));
	if (json_get(row, "max_retries") &&
		json_get_int(row, "retry_count", 0) >= json_get_int(row, "max_retries", 0))
		finding(a, findings, row, "info", "retry_limit_reached",
			arena_printf(a, "helm task show %s", id));
}

struct examining {
	const struct actions_place *o;
	int64_t stale_us;
	struct json *findings;
	bool passes_active; /* they were looked at already */
};

static int examine_row(void *arg, struct json *row, struct err *e)
{
	AUTO(arena_done) struct arena scratch = { 0 };
	struct examining *x = arg;

	(void)e;
	if (!x->passes_active || !row_is_open(row))
		examine(x->o, true_row(x->o, &scratch, row), x->stale_us, x->findings);
	return OK;
}

/* All active tasks, however old: those are the ones that can be stuck. "ok" only means that there is no
 * warning; notes may be there. */
int examine_tasks(const struct actions_place *o, struct index *x, size_t limit, int64_t stale_minutes,
	struct json **ret, struct err *e)
{
	struct json *doc = json_new(o->a, JSON_OBJECT);
	struct examining looking = { o, stale_minutes * 60 * 1000000, json_new(o->a, JSON_ARRAY), false };
	int rc = index_tasks(x, &open_tasks, MAX_ACTIVE, examine_row, &looking, e);
	bool ok = true;

	looking.passes_active = true;
	if (rc == OK)
		rc = index_tasks(x, NULL, limit, examine_row, &looking, e);
	if (rc)
		return rc;
	json_each (f, looking.findings)
		ok &= !text_eq(json_get_text(f, "severity", ""), "warning");
	json_sets(o->a, doc, "workspace", o->root);
	json_set(o->a, doc, "findings", looking.findings);
	if (index_note(x))
		json_sets(o->a, doc, "note", index_note(x));
	json_setb(o->a, doc, "ok", ok);
	*ret = doc;
	return OK;
}

int actions_task_doctor(
	const struct actions_place *o, size_t limit, int64_t stale_minutes, struct json **ret, struct err *e)
{
	AUTO(index_close) struct index *x = NULL;
	int rc = actions_index(o, INDEX_SOON, &x, e);

	return rc ? rc : examine_tasks(o, x, limit, stale_minutes, ret, e);
}

/* Three yes or no, and the names of what there is. */
static void put_evidence(struct arena *a, struct json *doc, const struct json *row, const struct json *h)
{
	static const char *const kinds[] = { "browser_evidence", "retrieval_evidence",
		"file_intake_evidence" };
	struct json *list = json_new(a, JSON_ARRAY);

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		const char *name = arena_printf(a, "%s_present", kinds[i]);
		bool is_there = json_is(json_get(h, kinds[i]), JSON_OBJECT) || json_get_bool(h, name, false);
		json_setb(a, doc, name, is_there);
		if (is_there)
			json_pushs(a, list, kinds[i]);
	}
	json_each (ref, json_get(row, "evidence_refs"))
		json_push(a, list, ref);
	json_each (ref, json_get(row, "completion_evidence"))
		json_push(a, list, ref);
	json_set(a, doc, "evidence", list);
}

/* Members that a row does not have are null, so that two tasks can be compared member by member. */
struct json *actions_capabilities(const struct actions_place *o, const struct json *row)
{
	static const char *const fields[] = { "task_id", "task_name", "status", "skill", "profile",
		"runtime_backend", "runtime_target_kind", "runtime_target", "delivery_mode", "checkpoint_id",
		"tool_grant", "protections" };
	static const char *const tiers[] = { "model_tier", "enforcement_level", "context_satisfied" };
	struct arena *a = o->a;
	const struct contract_place at = { o->sys, a, o->root_fd };
	const struct json *h = json_get(json_get(row, "meta"), "harness");
	const char *skill = json_get_text(row, "skill", NULL);
	struct json *doc = json_new(a, JSON_OBJECT), *nothing = json_new(a, JSON_NULL), *contract = NULL;

	if (skill)
		(void)contract_read(&at, skill, &contract, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		struct json *v = json_get(row, fields[i]);
		json_set(a, doc, fields[i], v ? v : nothing);
	}
	if (!json_get_text(row, "runtime_backend", NULL))
		json_sets(a, doc, "runtime_backend", json_get_text(row, "backend", NULL));
	for (size_t i = 0; i < ARRAY_SIZE(tiers); i++) {
		struct json *v = json_get(h, tiers[i]);
		json_set(a, doc, tiers[i], v ? v : nothing);
	}
	json_setb(a, doc, "context_required",
		json_get_bool(h, "context_required",
			json_get_bool(json_get(contract, "context"), "required", false)));
	json_setb(a, doc, "skill_contract_present",
		json_get_bool(h, "skill_contract_present", contract != NULL));
	put_evidence(a, doc, row, h);
	const struct json *profiles = contract_profiles(&at, skill ? skill : "", contract);
	json_set(a, doc, "allowed_profiles", json_get(profiles, "allowed_profiles"));
	json_set(a, doc, "default_profile", json_get(profiles, "default_profile"));
	json_set(a, doc, "context_sources", figure_source_names(o));
	struct json *action = json_get(json_get(row, "guard"), "action");
	json_set(a, doc, "guard_action", action ? action : nothing);
	return doc;
}
