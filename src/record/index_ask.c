/* index_ask.c — questions to the index: what views show.
 *
 * Every question is answered in a time that depends on what is shown and not on how much there is: lists walk
 * an index backwards and stop, numbers are kept as they change (index.c).  Rows are given one at a time,
 * each in memory that is used again for the next. */
#include "base/text.h"
#include "record/index_parts.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_GROUPS = 500 };

/* ---- documents from rows ---- */

struct giving {
	struct arena a;
	index_visit *fn;
	void *arg;
};

/* A column that holds a whole row of a ledger. */
static int give_raw(void *arg, const struct db_row *row, struct err *e)
{
	struct giving *g = arg;
	struct json *doc = NULL;
	const char *text = db_text(row, 0);
	int rc = OK;

	if (text &&
		json_parse(&g->a, bytes_of(arena_strdup(&g->a, text)), INDEX_FILE, NULL, &doc, NULL) == OK)
		rc = g->fn(g->arg, doc, e);
	arena_reset(&g->a);
	return rc;
}

/* Columns under their own names; columns called *_json become JSON again. */
static int give_columns(void *arg, const struct db_row *row, struct err *e)
{
	struct giving *g = arg;
	struct arena *a = &g->a;
	struct json *doc = json_new(a, JSON_OBJECT);

	for (int i = 0; i < db_columns(row); i++) {
		const char *name = arena_strdup(a, db_name(row, i)), *text = db_text(row, i);
		struct json *parsed = NULL;
		double real;
		if (text && text_ends(name, "_json") &&
			json_parse(a, bytes_of(arena_strdup(a, text)), name, NULL, &parsed, NULL) == OK)
			json_set(a, doc, arena_strndup(a, name, strlen(name) - 5), parsed);
		else if (db_kind(row, i) == DB_INT)
			json_seti(a, doc, name, db_int(row, i));
		else if (db_real(row, i, &real))
			json_set(a, doc, name, json_double(a, real));
		else
			json_sets(a, doc, name, text);
	}
	int rc = g->fn(g->arg, doc, e);
	arena_reset(a);
	return rc;
}

static int give(struct index *x, const char *sql, const struct db_value *values, int n, db_visit *how,
	index_visit *fn, void *arg, struct err *e)
{
	struct giving g = { .fn = fn, .arg = arg };
	int rc = db_ask(x->db, sql, values, n, how, &g, e);

	arena_done(&g.a);
	return rc;
}

static int64_t limit_of(size_t limit)
{
	return limit ? (int64_t)limit : -1; /* SQLite's word for "all" */
}

/* ---- helm db query ---- */

int index_query(
	const struct index_place *at, const struct index_query *q, index_visit *fn, void *arg, struct err *e)
{
	static const char tasks[] =
		"SELECT task_id,task_name,skill,profile,status,started_at,finished_at,source_file,source_line,"
		"raw_json FROM task_index"
		" WHERE (?1 IS NULL OR status=?1) AND (?2 IS NULL OR profile=?2) AND (?3 IS NULL OR task_id=?3)"
		" ORDER BY started_at DESC,source_line DESC LIMIT ?4";
	static const char guards[] =
		"SELECT action,risk_score,selected_profile,task_id,reasons_json,matched_rules_json,created_at FROM "
		"guard_decision_index WHERE action=?1 AND (?2 IS NULL OR selected_profile=?2) AND (?3 IS NULL OR "
		"task_id=?3) ORDER BY source_line DESC LIMIT ?4";
	const struct db_value values[] = { DB_T(q->guard_action ? q->guard_action : q->status),
		DB_T(q->profile), DB_T(q->task_id), DB_I(q->limit ? q->limit : -1) };
	AUTO(index_close) struct index *x = NULL;
	int rc = index_open(at, INDEX_ALL, &x, e);

	return rc ? rc : give(x, q->guard_action ? guards : tasks, values, 4, give_columns, fn, arg, e);
}

/* ---- tasks ---- */

/* Tasks that are alike in state, profile and skill: there are few such groups, and each is in order. */
struct group {
	const char *status, *profile, *skill;
	int64_t n;
};
struct groups {
	struct arena *a;
	const struct task_filter *f;
	struct group *list;
	size_t n, cap;
};

static bool is_wanted(const struct task_filter *f, const struct group *g)
{
	bool is_state = f->state_count == 0;

	for (size_t i = 0; i < f->state_count; i++)
		is_state |= text_eq(f->states[i], g->status);
	return is_state && g->n > 0 && (!f->profile || text_eq(f->profile, g->profile)) &&
		(!f->skill || text_eq(f->skill, g->skill));
}

static int take_group(void *arg, const struct db_row *row, struct err *e)
{
	struct groups *all = arg;
	struct group g = { db_text(row, 0), db_text(row, 1), db_text(row, 2), db_int(row, 3) };

	(void)e;
	if (!g.status || !g.profile || !g.skill || !is_wanted(all->f, &g))
		return OK;
	if (all->n == all->cap) {
		size_t cap = all->cap ? 2 * all->cap : 16;
		all->list = arena_grow(
			all->a, all->list, all->cap * sizeof(*all->list), cap * sizeof(*all->list));
		all->cap = cap;
	}
	all->list[all->n++] = (struct group){ arena_strdup(all->a, g.status), arena_strdup(all->a, g.profile),
		arena_strdup(all->a, g.skill), g.n };
	return OK;
}

static int find_groups(
	struct index *x, struct arena *a, const struct task_filter *f, struct groups *ret, struct err *e)
{
	static const struct task_filter any = { 0 };

	*ret = (struct groups){ .a = a, .f = f ? f : &any };
	return db_ask(x->db, "SELECT status,profile,skill,n FROM task_counts", NULL, 0, take_group, ret, e);
}

int index_task_counts(
	struct index *x, const struct task_filter *f, struct json **ret, int64_t *ret_total, struct err *e)
{
	AUTO(arena_done) struct arena scratch = { 0 };
	struct json *counts = json_new(x->at.a, JSON_OBJECT);
	struct groups all;
	int64_t total = 0;
	int rc = find_groups(x, &scratch, f, &all, e);

	for (size_t i = 0; i < all.n; i++) {
		const char *status = all.list[i].status;
		json_seti(x->at.a, counts, arena_strdup(x->at.a, status),
			json_get_int(counts, status, 0) + all.list[i].n);
		total += all.list[i].n;
	}
	*ret = counts;
	if (ret_total)
		*ret_total = total;
	return rc;
}

struct lines_found {
	struct arena *a;
	int64_t *list;
	size_t n, cap;
};

static int take_line(void *arg, const struct db_row *row, struct err *e)
{
	struct lines_found *l = arg;

	(void)e;
	if (l->n == l->cap) {
		size_t cap = l->cap ? 2 * l->cap : 64;
		l->list = arena_grow(l->a, l->list, l->cap * sizeof(*l->list), cap * sizeof(*l->list));
		l->cap = cap;
	}
	l->list[l->n++] = db_int(row, 0);
	return OK;
}

static int newest_first(const void *x, const void *y)
{
	const int64_t *p = x, *q = y;

	return (*p < *q) - (*p > *q);
}

/* The newest of each group, and of those the newest: no row is looked at that cannot be among them. */
static int tasks_of_groups(struct index *x, struct arena *a, const struct groups *all, size_t limit,
	index_visit *fn, void *arg, struct err *e)
{
	static const char newest[] =
		"SELECT source_line FROM task_index WHERE status=? AND ifnull(profile,'')=? AND "
		"ifnull(skill,'')=? ORDER BY source_line DESC LIMIT ?";
	static const char one[] = "SELECT raw_json FROM task_index WHERE source_line=?";
	struct lines_found found = { .a = a };
	int rc = OK;

	for (size_t i = 0; rc == OK && i < all->n; i++) {
		const struct group *g = &all->list[i];
		const struct db_value v[] = { DB_T(g->status), DB_T(g->profile), DB_T(g->skill),
			DB_I((int64_t)limit) };
		rc = db_ask(x->db, newest, v, 4, take_line, &found, e);
	}
	if (found.n)
		qsort(found.list, found.n, sizeof(*found.list), newest_first);
	for (size_t i = 0; rc == OK && i < found.n && i < limit; i++) {
		const struct db_value v = DB_I(found.list[i]);
		rc = give(x, one, &v, 1, give_raw, fn, arg, e);
	}
	return rc;
}

/* Does this row pass?  For lists that are so long, or groups that are so many, that all rows are walked. */
struct passing {
	const struct task_filter *f;
	index_visit *fn;
	void *arg;
	size_t left;
};

static int pass(void *arg, struct json *row, struct err *e)
{
	struct passing *p = arg;
	struct group g = { json_get_text(row, "status", ""), json_get_text(row, "profile", ""),
		json_get_text(row, "skill", ""), 1 };

	if (p->f && !is_wanted(p->f, &g))
		return OK;
	int rc = p->fn(p->arg, row, e);
	return rc ? rc : --p->left == 0;
}

int index_tasks(
	struct index *x, const struct task_filter *f, size_t limit, index_visit *fn, void *arg, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct passing p = { f, fn, arg, limit ? limit : SIZE_MAX };
	struct groups all = { .a = &a };
	int rc = f && limit ? find_groups(x, &a, f, &all, e) : OK;

	if (rc)
		return rc;
	if (f && limit && all.n <= MAX_GROUPS)
		return tasks_of_groups(x, &a, &all, limit, fn, arg, e);
	return give(x, "SELECT raw_json FROM task_index ORDER BY source_line DESC", NULL, 0, give_raw, pass,
		&p, e);
}

int index_tasks_forth(struct index *x, const struct task_filter *f, index_visit *fn, void *arg, struct err *e)
{
	struct passing p = { f, fn, arg, SIZE_MAX };

	return give(
		x, "SELECT raw_json FROM task_index ORDER BY source_line", NULL, 0, give_raw, pass, &p, e);
}

/* One question for each row: that the visitor has seen enough must outlast it. */
struct stopping {
	index_visit *fn;
	void *arg;
	bool is_over;
};

static int notice_stop(void *arg, struct json *row, struct err *e)
{
	struct stopping *s = arg;
	int rc = s->fn(s->arg, row, e);

	s->is_over = rc > 0;
	return rc;
}

/* The order is made of numbers alone: rows are long, and most callers stop early. */
int index_tasks_begun(struct index *x, index_visit *fn, void *arg, struct err *e)
{
	static const char one[] = "SELECT raw_json FROM task_index WHERE rowid=?";
	AUTO(arena_done) struct arena a = { 0 };
	struct lines_found found = { .a = &a };
	struct stopping stop = { fn, arg, false };
	int rc = db_ask(x->db, "SELECT rowid FROM task_index ORDER BY first_place DESC", NULL, 0, take_line,
		&found, e);

	for (size_t i = 0; rc == OK && i < found.n && !stop.is_over; i++) {
		const struct db_value v = DB_I(found.list[i]);
		rc = give(x, one, &v, 1, give_raw, notice_stop, &stop, e);
	}
	return rc;
}

struct found_id {
	struct arena *a;
	const char *ids[2];
	int64_t first, last;
	size_t n;
};

static int take_id(void *arg, const struct db_row *row, struct err *e)
{
	struct found_id *f = arg;

	(void)e;
	if (f->n == 0 && db_columns(row) > 2) {
		f->first = db_int(row, 1);
		f->last = db_int(row, 2);
	}
	if (f->n < 2)
		f->ids[f->n++] = arena_strdup(f->a, db_text(row, 0));
	return OK;
}

/* An exact id comes first in the order of ids, and wins over longer ones that begin alike. */
static int find_id(struct index *x, const char *sql, const char *start, struct found_id *ret, struct err *e)
{
	const struct db_value v[] = { DB_T(start), DB_T(arena_printf(x->at.a, "%s\xf4\x8f\xbf\xbf", start)) };

	*ret = (struct found_id){ .a = x->at.a };
	return *start ? db_ask(x->db, sql, v, 2, take_id, ret, e) : OK;
}

int index_task_find(struct index *x, const char *start, struct task_span *ret, struct err *e)
{
	struct found_id f;
	int rc = find_id(x,
		"SELECT task_id,first_place,place FROM task_index WHERE task_id>=? AND task_id<? ORDER BY task_id "
		"LIMIT 2",
		start, &f, e);

	if (rc)
		return rc;
	if (f.n == 0)
		return err_set(e, E_MISSING, "TASK_MISSING",
			"no task is called '%s'; 'helm task list' shows them", start);
	if (f.n > 1 && !text_eq(f.ids[0], start))
		return err_set(e, E_INPUT, "TASK_AMBIGUOUS", "more than one task starts with '%s'", start);
	*ret = (struct task_span){ f.ids[0], (off_t)f.first, (off_t)f.last };
	return OK;
}

/* ---- commands, sessions, calls ---- */

int index_failed_commands(struct index *x, size_t limit, index_visit *fn, void *arg, struct err *e)
{
	const struct db_value v = DB_I(limit_of(limit));

	return give(x, "SELECT raw_json FROM command_index WHERE exit_code<>0 ORDER BY id DESC LIMIT ?", &v,
		1, give_raw, fn, arg, e);
}

int index_sessions(struct index *x, size_t limit, index_visit *fn, void *arg, struct err *e)
{
	const struct db_value v = DB_I(limit_of(limit));

	return give(x,
		"SELECT session,client,first_at,last_at,calls,allowed,asked,denied,changed_files,self_test FROM "
		"session_index ORDER BY place DESC LIMIT ?",
		&v, 1, give_columns, fn, arg, e);
}

int index_sessions_forth(struct index *x, size_t skip, index_visit *fn, void *arg, struct err *e)
{
	const struct db_value v = DB_I((int64_t)skip);

	return give(x,
		"SELECT session,client,first_at,last_at,calls,allowed,asked,denied,changed_files,self_test FROM "
		"session_index ORDER BY place LIMIT -1 OFFSET ?",
		&v, 1, give_columns, fn, arg, e);
}

int index_session_find(
	struct index *x, const char *start, const char **ret, int64_t *ret_calls, struct err *e)
{
	struct found_id f;
	int rc = find_id(x,
		"SELECT session,calls,calls FROM session_index WHERE session>=? AND session<? AND calls>0 ORDER BY session "
		"LIMIT 2",
		start, &f, e);

	if (rc)
		return rc;
	if (f.n == 0)
		return err_set(e, E_MISSING, "SESSION_MISSING",
			"no session is called '%s'; 'helm log sessions' lists them", start);
	if (f.n > 1 && !text_eq(f.ids[0], start))
		return err_set(
			e, E_INPUT, "SESSION_AMBIGUOUS", "more than one session starts with '%s'", start);
	*ret = f.ids[0];
	*ret_calls = f.first;
	return OK;
}

struct calls {
	struct index *x;
	struct arena a;
	index_visit *fn;
	void *arg;
};

/* The row itself is in the ledger; the index only knows where. */
static int give_call(void *arg, const struct db_row *row, struct err *e)
{
	struct calls *c = arg;
	struct json *call = NULL;
	int64_t place = db_int(row, 0);
	int rc = row_at(c->x->at.sys, &c->a, c->x->at.state_fd, TOOL_CALLS, (off_t)place, &call, e);

	if (rc == OK && call) {
		json_seti(&c->a, call, "place", place);
		rc = c->fn(c->arg, call, e);
	}
	arena_reset(&c->a);
	return rc;
}

int index_calls(struct index *x, const char *session, size_t limit, index_visit *fn, void *arg, struct err *e)
{
	struct calls c = { .x = x, .fn = fn, .arg = arg };
	const struct db_value v[] = { DB_T(session), DB_I(limit_of(limit)) };
	int rc = session
		? db_ask(x->db,
			  "SELECT place FROM call_index WHERE session=? AND verdict IS NOT NULL ORDER "
			  "BY place DESC LIMIT ?",
			  v, 2, give_call, &c, e)
		: db_ask(x->db,
			  "SELECT place FROM call_index WHERE verdict<>'ALLOW' ORDER BY place DESC "
			  "LIMIT ?",
			  v + 1, 1, give_call, &c, e);

	arena_done(&c.a);
	return rc;
}

struct start {
	struct index *x;
	const char *use_id;
	struct json *found;
};

/* Eight bytes of a hash may be those of two ids: the row says which it is. */
static int take_start(void *arg, const struct db_row *row, struct err *e)
{
	struct start *q = arg;
	struct json *call = NULL;
	const struct index_place *at = &q->x->at;
	int rc = row_at(at->sys, at->a, at->state_fd, TOOL_CALLS, (off_t)db_int(row, 0), &call, e);

	if (rc || !text_eq(json_get_text(call, "tool_use_id", ""), q->use_id))
		return rc;
	q->found = call;
	return 1;
}

int index_call_start(struct index *x, const char *use_id, struct json **ret, struct err *e)
{
	struct start q = { x, use_id, NULL };
	const struct db_value v = key_of(use_id);
	int rc = db_ask(x->db,
		"SELECT place FROM call_index WHERE use_key=? AND verdict IS NOT NULL ORDER BY place DESC",
		&v, 1, take_start, &q, e);

	*ret = q.found;
	return rc < 0 ? rc : OK;
}

static int next_call(
	struct index *x, const char *sql, const char *key, int64_t place, int64_t *ret, struct err *e)
{
	const struct db_value v[] = { key_of(key), DB_I(place) };

	*ret = -1;
	return key ? db_number(x->db, sql, v, 2, -1, ret, e) : OK;
}

int index_call_end(struct index *x, const char *use_id, int64_t place, int64_t *ret, struct err *e)
{
	return next_call(x,
		"SELECT place FROM call_index WHERE use_key=? AND place>? AND verdict IS NULL ORDER BY place LIMIT "
		"1",
		use_id, place, ret, e);
}

/* ---- numbers and words ---- */

struct word {
	struct arena *a;
	const char *text;
};

static int take_word(void *arg, const struct db_row *row, struct err *e)
{
	struct word *w = arg;

	(void)e;
	w->text = db_text(row, 0) ? arena_strdup(w->a, db_text(row, 0)) : NULL;
	return 1;
}

int index_last_receipt(struct index *x, const char **ret, struct err *e)
{
	struct word w = { .a = x->at.a, .text = "" };
	int rc = db_ask(
		x->db, "SELECT value FROM schema_info WHERE key='last_receipt'", NULL, 0, take_word, &w, e);

	*ret = w.text ? w.text : "";
	return rc;
}

int index_count(struct index *x, const char *name, int64_t *ret, struct err *e)
{
	const struct db_value v = DB_T(name);

	return db_number(x->db, "SELECT n FROM counts WHERE name=?", &v, 1, 0, ret, e);
}

struct index_part index_part(struct index *x)
{
	struct index_part part = { 0 };
	uint64_t of = 0;

	(void)!index_count(x, "receipts", &part.receipts, NULL);
	(void)!log_leaf_count(x->at.sys, x->at.state_fd, &of, NULL);
	part.of = (int64_t)of > part.receipts ? (int64_t)of : part.receipts;
	return part;
}

const char *index_note(const struct index *x)
{
	return x->note;
}

bool index_is_whole(const struct index *x)
{
	return x->is_whole;
}
