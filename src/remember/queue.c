/* queue.c — what is open: captures that were planned and not made, what may contradict something, and what the ledgers of memory say about
 * tasks that nobody knows. */
#include "record/record.h"
#include "remember/parts.h"

#include <stdlib.h>
#include <string.h>

struct json *doc_part_list(struct arena *a, struct json *doc, const char *name)
{
	struct json *v = json_get(doc, name);

	if (v)
		return v;
	v = json_new(a, JSON_ARRAY);
	json_set(a, doc, name, v);
	return v;
}

/* ---- order and names ---- */

int64_t memory_row_time(const struct json *row, enum memory_order by)
{
	static const char *const starts[] = { "started_at", "created_at", "finished_at", NULL },
				 *const ends[] = { "finished_at", "started_at", "created_at", NULL };
	int64_t us;

	for (const char *const *m = by == MEMORY_BY_START ? starts : ends; *m; m++) {
		const char *text = json_get_text(row, *m, NULL);
		if (text && memory_time(text, &us))
			return us;
	}
	return INT64_MIN;
}

struct timed {
	struct json *row;
	int64_t at;
	size_t place;
};

static int by_time(const void *x, const void *y)
{
	const struct timed *p = x, *q = y;

	if (p->at != q->at)
		return p->at < q->at ? 1 : -1;
	return p->place < q->place ? -1 : p->place > q->place;
}

void memory_sort_rows(struct arena *a, struct json *rows, enum memory_order by)
{
	struct timed *list = arena_zalloc(a, rows->n + 1, sizeof(*list));
	int64_t last = INT64_MAX;

	for (size_t i = 0; i < rows->n; i++) {
		int64_t at = memory_row_time(rows->items[i], by);
		last = at == INT64_MIN ? last : at; /* a row without a time stays where it stands */
		list[i] = (struct timed){ rows->items[i], last, i };
	}
	qsort(list, rows->n, sizeof(*list), by_time);
	for (size_t i = 0; i < rows->n; i++)
		rows->items[i] = list[i].row;
}

static int by_bytes(const void *x, const void *y)
{
	return strcmp(*(const char *const *)x, *(const char *const *)y);
}

void names_add(struct names *x, const char *name)
{
	if (!name || !*name)
		return;
	if (x->n == x->room) {
		size_t room = x->room ? 2 * x->room : 64;
		x->list = arena_grow(x->a, x->list, x->n * sizeof(*x->list), room * sizeof(*x->list));
		x->room = room;
	}
	x->list[x->n++] = arena_strdup(x->a, name);
	x->is_sorted = false;
}

bool names_has(struct names *x, const char *name)
{
	if (!x->n)
		return false;
	if (!x->is_sorted)
		qsort(x->list, x->n, sizeof(*x->list), by_bytes);
	x->is_sorted = true;
	return bsearch(&name, x->list, x->n, sizeof(*x->list), by_bytes) != NULL;
}

static bool is_text(const struct json *obj, const char *member, const char *value)
{
	return text_eq(json_get_text(obj, member, ""), value);
}

/* ---- the newest row of each task ---- */

struct view {
	struct memory_place *m;
	struct arena *a;
	size_t limit;
	bool pending_only;
	struct json *rows;
	bool is_cut; /* there are more than `limit` */
};

static int each_task(struct memory_place *m, struct arena *a, enum index_how how, index_visit *fn, void *arg,
	const char **ret_note, struct err *e)
{
	struct index_place at = { m->sys, a, m->state_dir, m->state_fd };
	AUTO(index_close) struct index *x = NULL;
	int rc = index_open(&at, how, &x, e);

	if (rc == OK)
		rc = index_tasks(x, NULL, 0, fn, arg, e);
	if (rc >= 0)
		*ret_note = index_note(x) ? arena_strdup(a, index_note(x)) : NULL;
	return rc < 0 ? rc : OK;
}

static const struct json *plan_of(const struct json *row)
{
	const struct json *plan = json_get(row, "memory_capture");

	return json_is(plan, JSON_OBJECT) ? plan : NULL;
}

static const char *finalization(const struct json *plan)
{
	return json_get_text(plan, "finalization_status", "unknown");
}

static bool is_pending(const struct json *plan)
{
	return text_eq(finalization(plan), "capture_planned") ||
		text_eq(finalization(plan), "capture_partial");
}

/* A part of a plan, empty where there is none: readers need not ask. */
static struct json *part(struct arena *a, const struct json *plan, const char *name, enum json_type type)
{
	const struct json *v = json_get(plan, name);

	return json_is(v, type) ? json_copy(a, v) : json_new(a, type);
}

static struct json *state_item(struct arena *a, const struct json *row)
{
	static const char *const texts[] = { "task_id", "task_name", "status", "profile", "skill",
		"started_at", "finished_at" };
	const struct json *plan = plan_of(row);
	struct json *item = json_new(a, JSON_OBJECT);

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		json_sets(a, item, texts[i], json_get_text(row, texts[i], NULL));
	json_sets(a, item, "finalization_status", finalization(plan));
	json_set(a, item, "recommended_layers", part(a, plan, "recommended_layers", JSON_ARRAY));
	json_set(a, item, "claim_state", part(a, plan, "claim_state", JSON_OBJECT));
	json_set(a, item, "retention", part(a, plan, "retention", JSON_OBJECT));
	json_set(a, item, "supersession", part(a, plan, "supersession", JSON_OBJECT));
	json_set(a, item, "crystallization", part(a, plan, "crystallization", JSON_OBJECT));
	json_set(a, item, "review_flags", part(a, plan, "review_flags", JSON_ARRAY));
	return item;
}

static int keep_state(void *arg, struct json *row, struct err *e)
{
	struct view *v = arg;

	(void)e;
	if (v->pending_only && !is_pending(plan_of(row)))
		return 0;
	if (v->limit && v->rows->n == v->limit) {
		v->is_cut = true;
		return 1;
	}
	json_push(v->a, v->rows, state_item(v->a, row));
	return 0;
}

static void turn_round(struct json *list)
{
	for (uint32_t i = 0; i < list->n / 2; i++) {
		struct json *x = list->items[i];
		list->items[i] = list->items[list->n - 1 - i];
		list->items[list->n - 1 - i] = x;
	}
}

static struct json *answer(struct arena *a, struct json *items, const char *note)
{
	struct json *doc = json_new(a, JSON_OBJECT);

	json_seti(a, doc, "count", items->n);
	json_set(a, doc, "items", items);
	if (note)
		json_sets(a, doc, "note", note);
	return doc;
}

int memory_recent_state(struct memory_place *m, struct arena *a, bool pending_only, size_t limit,
	struct json **ret, struct err *e)
{
	struct view v = { m, a, limit, pending_only, json_new(a, JSON_ARRAY), false };
	const char *note;
	int rc = each_task(m, a, INDEX_SOON, keep_state, &v, &note, e);

	if (rc)
		return rc;
	memory_sort_rows(a, v.rows, MEMORY_BY_START);
	turn_round(v.rows);
	*ret = answer(a, v.rows, note);
	json_setb(a, *ret, "pending_only", pending_only);
	json_setb(a, *ret, "has_more", v.is_cut);
	return OK;
}

/* ---- what was recorded about tasks ---- */

struct recorded {
	struct names resolved; /* superseded by others, archived, rolled back */
	struct names superseding; /* tasks that recorded what they supersede */
	struct names crystallized;
};

static int look_at_operation(void *arg, off_t place, uint64_t line, const struct json *row, struct err *e)
{
	struct recorded *r = arg;
	const char *task = json_get_text(row, "task_id", NULL);

	(void)place;
	(void)line;
	(void)e;
	if (is_text(row, "operation", "archive") || is_text(row, "operation", "rollback"))
		names_add(&r->resolved, task);
	if (!is_text(row, "operation", "supersede"))
		return 0;
	names_add(&r->superseding, task);
	json_each (old, json_get(row, "supersedes"))
		names_add(&r->resolved, json_text(old));
	return 0;
}

static int look_at_crystal(void *arg, off_t place, uint64_t line, const struct json *row, struct err *e)
{
	struct recorded *r = arg;

	(void)place;
	(void)line;
	(void)e;
	names_add(&r->crystallized, json_get_text(row, "task_id", NULL));
	return 0;
}

static int load_recorded(struct memory_place *m, struct arena *a, struct recorded *ret, struct err *e)
{
	*ret = (struct recorded){ { .a = a }, { .a = a }, { .a = a } };
	int rc = rows_each(m->sys, m->state_fd, MEMORY_OPERATIONS, 0, look_at_operation, ret, e);

	return rc ? rc : rows_each(m->sys, m->state_fd, MEMORY_CRYSTALS, 0, look_at_crystal, ret, e);
}

int memory_is_crystallized(
	struct memory_place *m, struct arena *a, const char *task_id, bool *ret, struct err *e)
{
	struct recorded r;
	int rc = load_recorded(m, a, &r, e);

	if (rc == OK)
		*ret = names_has(&r.crystallized, task_id);
	return rc;
}

int memory_task(
	struct memory_place *m, struct arena *a, const char *task_id, struct json **ret, struct err *e)
{
	struct json *row = NULL;
	int rc = row_newest(m->sys, a, m->state_fd, task_id, &row, e);

	if (rc == OK && !row)
		rc = err_set(e, E_MISSING, "MEMORY_TASK",
			"there is no task '%s' in the ledger of this workspace", task_id);
	if (rc == OK)
		*ret = row;
	return rc;
}

/* ---- the queue ---- */

struct queue {
	struct arena *a;
	int64_t now_us;
	struct recorded recorded;
	struct json *items; /* with the times of their rows, until they are sorted */
	struct names *tasks; /* every task that is seen; or NULL */
};

struct blocking {
	struct arena *a;
	struct json *blockers, *actions;
};

static void blocked(struct blocking *b, const char *blocker, const char *action)
{
	if (blocker)
		json_pushs(b->a, b->blockers, blocker);
	json_each (have, b->actions)
		if (text_eq(json_text(have), action))
			return;
	json_pushs(b->a, b->actions, action);
}

static void find_blockers(struct queue *q, const struct json *row, const struct json *plan,
	const struct json *label, struct blocking *b)
{
	const char *task = json_get_text(row, "task_id", ""), *status = finalization(plan);
	const struct json *old = json_get(json_get(plan, "supersession"), "supersedes_task_ids");

	if (is_pending(plan))
		blocked(b, arena_printf(q->a, "finalization=%s", status), "complete durable capture");
	json_each (flag, json_get(plan, "review_flags")) {
		const char *type = json_get_text(flag, "type", "");
		blocked(b, *type ? arena_printf(q->a, "review_flag=%s", type) : NULL, "resolve review flags");
	}
	if (json_get_bool(plan, "relevant", false) && text_eq(status, "capture_written") &&
		!names_has(&q->recorded.crystallized, task))
		blocked(b, "missing_crystallization", "crystallize durable outcome");
	if (json_is(old, JSON_ARRAY) && old->n && !names_has(&q->recorded.superseding, task))
		blocked(b, "missing_supersede_op", "record supersede operation");
	if (is_text(json_get(plan, "claim_state"), "confidence_hint", "low"))
		blocked(b, "low_confidence", "reconfirm evidence before promotion");
	if (is_text(label, "status", "stale"))
		blocked(b, "memory_quality=stale", "revalidate stale memory against live sources");
}

static bool is_looked_at(const struct json *plan)
{
	const struct json *old = json_get(json_get(plan, "supersession"), "supersedes_task_ids");

	return json_get_bool(plan, "relevant", false) || is_pending(plan) ||
		text_eq(finalization(plan), "capture_written") || (json_is(old, JSON_ARRAY) && old->n);
}

static int queue_task(void *arg, struct json *row, struct err *e)
{
	struct queue *q = arg;
	const struct json *plan = plan_of(row);
	const char *task = json_get_text(row, "task_id", "");
	struct blocking b = { q->a, json_new(q->a, JSON_ARRAY), json_new(q->a, JSON_ARRAY) };

	(void)e;
	if (q->tasks)
		names_add(q->tasks, task);
	if (!is_looked_at(plan) || names_has(&q->recorded.resolved, task))
		return 0;
	struct json *label = memory_label_today(q->a, json_get(plan, "quality_label"), q->now_us);
	find_blockers(q, row, plan, label, &b);
	if (!b.actions->n)
		return 0;
	struct json *item = state_item(q->a, row);
	json_set(q->a, item, "blockers", b.blockers);
	json_set(q->a, item, "actions", b.actions);
	json_set(q->a, item, "quality_label", label ? label : json_new(q->a, JSON_NULL));
	json_push(q->a, q->items, item);
	return 0;
}

static int load_queue(
	struct memory_place *m, struct arena *a, struct queue *q, const char **ret_note, struct err *e)
{
	q->a = a;
	q->now_us = m->sys->now_us(m->sys);
	q->items = json_new(a, JSON_ARRAY);
	int rc = load_recorded(m, a, &q->recorded, e);
	if (rc == OK)
		/* Whether a task is known can only be said of all of them. */
		rc = each_task(m, a, q->tasks ? INDEX_ALL : INDEX_SOON, queue_task, q, ret_note, e);
	if (rc == OK)
		memory_sort_rows(a, q->items, MEMORY_BY_END);
	return rc;
}

/* Entries that a person has not answered yet. */
static int add_waiting(struct memory_place *m, struct arena *a, struct json *doc, struct err *e)
{
	struct json *entries, *waiting = json_new(a, JSON_ARRAY);
	size_t damaged;
	int rc = memory_entries(m, a, &entries, &damaged, e);

	if (rc)
		return rc;
	json_each_member (entry, entries)
		if (is_text(entry->value, "state", "waiting"))
			json_push(a, waiting, entry->value);
	json_set(a, doc, "waiting", waiting);
	return OK;
}

/* ---- the same thing once ---- */

struct gathered {
	struct json *item;
	size_t count, place;
};

static int most_first(const void *x, const void *y)
{
	const struct gathered *p = x, *q = y;

	if (p->count != q->count)
		return p->count < q->count ? 1 : -1;
	return p->place < q->place ? -1 : p->place > q->place;
}

/* Tasks of one name that wait for the same are one item, the newest of them, with `task_count` and `task_ids`; the largest first. */
static void gather_same(struct arena *a, struct json *items)
{
	enum { IDS_MOST = 100 };
	struct json *places = json_new(a, JSON_OBJECT);
	struct gathered *all = arena_zalloc(a, items->n + 1, sizeof(*all));
	size_t n = 0;

	json_each (item, items) {
		struct buf key;
		buf_init(&key, a);
		buf_addf(&key, "%s\x1f", json_get_text(item, "task_name", ""));
		json_write(&key, json_get(item, "blockers"), 0);
		json_write(&key, json_get(item, "actions"), 0);
		int64_t i = json_get_int(places, key.p, -1);
		if (i < 0) {
			i = (int64_t)n++;
			json_seti(a, places, key.p, i);
			all[i] = (struct gathered){ item, 0, (size_t)i };
			json_set(a, item, "task_ids", json_new(a, JSON_ARRAY));
		}
		if (all[i].count++ < IDS_MOST)
			json_pushs(
				a, json_get(all[i].item, "task_ids"), json_get_text(item, "task_id", NULL));
		json_seti(a, all[i].item, "task_count", (int64_t)all[i].count);
	}
	qsort(all, n, sizeof(*all), most_first);
	for (size_t i = 0; i < n; i++)
		items->items[i] = all[i].item;
	items->n = (uint32_t)n;
}

int memory_review_queue(
	struct memory_place *m, struct arena *a, size_t limit, struct json **ret, struct err *e)
{
	struct queue q = { 0 };
	const char *note;
	int rc = load_queue(m, a, &q, &note, e);

	if (rc)
		return rc;
	const uint32_t tasks = q.items->n;
	gather_same(a, q.items);
	const uint32_t total = q.items->n;
	if (limit && q.items->n > limit)
		q.items->n = (uint32_t)limit;
	*ret = answer(a, q.items, note);
	json_seti(a, *ret, "total", total);
	json_seti(a, *ret, "tasks", tasks);
	return add_waiting(m, a, *ret, e);
}

/* ---- does it fit together? ---- */

struct auditing {
	struct arena *a;
	struct names *tasks;
	struct json *issues;
};

static struct json *issue(struct auditing *x, const char *kind)
{
	struct json *v = json_new(x->a, JSON_OBJECT);

	json_sets(x->a, v, "kind", kind);
	json_push(x->a, x->issues, v);
	return v;
}

static int audit_operation(void *arg, off_t place, uint64_t line, const struct json *row, struct err *e)
{
	struct auditing *x = arg;
	const char *id = json_get_text(row, "id", NULL), *task = json_get_text(row, "task_id", "");

	(void)place;
	(void)line;
	(void)e;
	if (*task && !names_has(x->tasks, task)) {
		struct json *v = issue(x, "memory_operation_unknown_task");
		json_sets(x->a, v, "operation_id", id);
		json_sets(x->a, v, "task_id", task);
	}
	json_each (old, json_get(row, "supersedes"))
		if (json_text(old) && !names_has(x->tasks, json_text(old))) {
			struct json *v = issue(x, "memory_operation_supersedes_unknown_task");
			json_sets(x->a, v, "operation_id", id);
			json_sets(x->a, v, "supersedes", json_text(old));
		}
	return 0;
}

static int audit_crystal(void *arg, off_t place, uint64_t line, const struct json *row, struct err *e)
{
	struct auditing *x = arg;
	const char *task = json_get_text(row, "task_id", "");

	(void)place;
	(void)line;
	(void)e;
	if (!row || names_has(x->tasks, task))
		return 0;
	struct json *v = issue(x, "crystallized_session_unknown_task");
	json_sets(x->a, v, "crystallization_id", json_get_text(row, "id", NULL));
	json_sets(x->a, v, "task_id", task);
	return 0;
}

int memory_audit(struct memory_place *m, struct arena *a, struct json **ret, struct err *e)
{
	struct names tasks = { .a = a };
	struct queue q = { .tasks = &tasks };
	struct auditing x = { a, &tasks, json_new(a, JSON_ARRAY) };
	const char *note;
	int rc = load_queue(m, a, &q, &note, e);

	if (rc)
		return rc;
	json_each (item, q.items) {
		struct json *v = issue(&x, "memory_review_queue_blocker");
		json_sets(a, v, "task_id", json_get_text(item, "task_id", NULL));
		json_sets(a, v, "task_name", json_get_text(item, "task_name", NULL));
		json_set(a, v, "blockers", json_get(item, "blockers"));
		json_set(a, v, "actions", json_get(item, "actions"));
	}
	rc = rows_each(m->sys, m->state_fd, MEMORY_OPERATIONS, 0, audit_operation, &x, e);
	if (rc == OK)
		rc = rows_each(m->sys, m->state_fd, MEMORY_CRYSTALS, 0, audit_crystal, &x, e);
	if (rc)
		return rc;
	struct json *doc = json_new(a, JSON_OBJECT);
	json_setb(a, doc, "ok", x.issues->n == 0);
	json_seti(a, doc, "issue_count", x.issues->n);
	json_set(a, doc, "issues", x.issues);
	if (note)
		json_sets(a, doc, "note", note);
	*ret = doc;
	return OK;
}

int memory_history(struct memory_place *m, struct arena *a, size_t limit, struct json **ret, struct err *e)
{
	struct json *rows;
	/* One more than is shown, to know whether there are any. */
	int rc = rows_tail(m->sys, a, m->state_fd, MEMORY_OPERATIONS, limit ? limit + 1 : 0, &rows, e);

	if (rc)
		return rc;
	const bool is_cut = limit && rows->n > limit;
	if (is_cut)
		memmove(rows->items, rows->items + 1, --rows->n * sizeof(*rows->items));
	*ret = answer(a, rows, NULL);
	json_setb(a, *ret, "has_more", is_cut);
	return OK;
}
