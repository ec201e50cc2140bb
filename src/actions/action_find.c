/* action_find.c — asking for actions: rows as struct action, with what is known only at this moment. */
#include "actions/action_index_internal.h"
#include "base/text.h"
#include "kernel/approval/approval.h"
#include "record/record.h"

#include <string.h>

enum { QUESTIONS_MOST = 10000 };

/* ---- what a row does not say ---- */

/* Is this question open?  Without the list of them nobody can tell, and then it is not said that somebody could answer. */
static bool is_waiting(struct action_index *x, const char *approval_id)
{
	struct sys *s = x->sys;
	struct json *doc = NULL;

	if (!x->questions &&
		(approvals_load(s, x->a, x->ws, &doc, NULL) ||
			approvals_add_waiting(s, x->a, x->ws, QUESTIONS_MOST, doc, NULL)))
		doc = json_new(x->a, JSON_OBJECT);
	if (doc)
		x->questions =
			json_get(doc, "requests") ? json_get(doc, "requests") : json_new(x->a, JSON_OBJECT);
	const struct json *entry = json_get(x->questions, approval_id);
	return entry && text_eq(request_state(entry, s->now_us(s)), "pending");
}

/* Its run is on, or says that it is and was ended from outside. */
static void put_run(struct action_index *x, const struct db_row *row, int first, struct action *ret)
{
	AUTO(arena_done) struct arena a = { 0 };
	static const char *const names[] = { "status", "open_run", "pid", "pid_start" };
	struct json *run = json_new(&a, JSON_OBJECT);

	for (int i = 0; i < (int)ARRAY_SIZE(names); i++)
		if (db_kind(row, first + i) == DB_INT)
			json_seti(&a, run, names[i], db_int(row, first + i));
		else if (db_text(row, first + i))
			json_sets(&a, run, names[i], db_text(row, first + i));
	if (!row_is_open(run))
		return;
	ret->was_left = open_run_is_over(x->sys, x->ws->state_fd, run);
	ret->is_running = !ret->was_left;
}

/* ---- rows ---- */

/* The order is that of take_row(). */
#define COLUMNS \
	"a.id,a.at,a.n,a.kind,a.verdict,a.reason,a.rule,a.who,a.session,a.tool,a.door,a.caption,a.status,a.clock,a.outcome_clock," \
	"a.approval_id,a.task_id,a.place,a.self_test,a.exit_code,coalesce(a.changed,r.changed),coalesce(a.deleted,r.deleted)," \
	"coalesce(a.checkpoint_id,r.checkpoint_id),q.answer,q.who,(SELECT s.at FROM restores s WHERE s.checkpoint_id=" \
	"coalesce(a.checkpoint_id,r.checkpoint_id) AND s.at>a.at),CASE WHEN q.answer=1 AND a.verdict='ESCALATE' THEN (SELECT g.id FROM acts " \
	"g WHERE g.by_grant=1 AND g.args=a.args AND g.at>=a.at ORDER BY g.at LIMIT 1) END,r.status,r.open_run,r.pid,r.pid_start"
#define JOINS " LEFT JOIN runs r ON r.task_id=a.task_id LEFT JOIN answers q ON q.approval_id=a.approval_id"

struct giving {
	struct action_index *x;
	struct arena a;
	action_visit *fn;
	void *arg;
};

/* A text outlives the statement in the arena. */
static const char *text_at(struct arena *a, const struct db_row *row, int i)
{
	const char *text = db_text(row, i);

	return text && *text ? arena_strdup(a, text) : NULL;
}

static int64_t number_at(const struct db_row *row, int i, int64_t otherwise)
{
	return db_kind(row, i) == DB_INT ? db_int(row, i) : otherwise;
}

static const char *client_of(struct arena *a, const struct action *x)
{
	static const char before[] = "agent:";

	if (x->door && text_starts(x->door, "hook/"))
		return arena_strdup(a, x->door + strlen("hook/"));
	return x->who && text_starts(x->who, before) ? x->who + strlen(before) : NULL;
}

static void take_row(struct action_index *x, struct arena *a, const struct db_row *row, struct action *ret)
{
	const char **const texts[] = { &ret->kind, &ret->verdict, &ret->reason, &ret->rule, &ret->who,
		&ret->session, &ret->tool, &ret->door, &ret->sentence, &ret->status };

	*ret = (struct action){ .id = text_at(a, row, 0), .at_us = db_int(row, 1), .n = db_int(row, 2) };
	for (int i = 0; i < (int)ARRAY_SIZE(texts); i++)
		*texts[i] = text_at(a, row, 3 + i);
	ret->clock = number_at(row, 13, 0);
	ret->outcome_clock = number_at(row, 14, 0);
	ret->approval_id = text_at(a, row, 15);
	ret->task_id = text_at(a, row, 16);
	ret->place = number_at(row, 17, -1);
	ret->is_self_test = number_at(row, 18, 0);
	ret->has_exit_code = db_kind(row, 19) == DB_INT;
	ret->exit_code = number_at(row, 19, 0);
	ret->changed = number_at(row, 20, -1);
	ret->deleted = number_at(row, 21, -1);
	ret->checkpoint_id = text_at(a, row, 22);
	ret->answer = (enum action_answer)number_at(row, 23, NOT_ANSWERED);
	ret->answered_by = text_at(a, row, 24);
	ret->undone_us = number_at(row, 25, 0);
	ret->again_id = text_at(a, row, 26);
	ret->client = client_of(a, ret);
	if (!ret->sentence)
		ret->sentence = action_sentence(a, ret->tool, ret->door, NULL, NULL);
	if (!ret->sentence)
		ret->sentence = ret->kind ? ret->kind : "";
	if (!ret->status)
		put_run(x, row, 27, ret);
	if (!ret->answer && ret->approval_id)
		ret->is_waiting = is_waiting(x, ret->approval_id);
}

static int give_row(void *arg, const struct db_row *row, struct err *e)
{
	struct giving *g = arg;
	struct action one;

	take_row(g->x, &g->a, row, &one);
	int rc = g->fn(g->arg, &one, e);
	arena_reset(&g->a);
	return rc;
}

/* Text for LIKE, with its own signs taken for themselves. */
static const char *like(struct arena *a, const char *text)
{
	struct buf b;

	if (!text || !*text)
		return NULL;
	buf_init(&b, a);
	buf_addc(&b, '%');
	for (; *text; text++) {
		if (strchr("%_\\", *text))
			buf_addc(&b, '\\');
		buf_addc(&b, *text);
	}
	buf_addc(&b, '%');
	return b.p;
}

#define OF_TENANT "(?10 IS NULL OR ifnull(a.tenant,?9)=?10)"
#define WHERE \
	" WHERE (?1 IS NULL OR a.verdict=?1) AND (?2 IS NULL OR a.who=?2) AND (?3 IS NULL OR a.tool=?3) AND (?4 IS NULL OR a.rule=?4) AND (?5 IS " \
	"NULL OR a.kind=?5) AND (?6 IS NULL OR a.caption LIKE ?6 ESCAPE '\\' OR a.id LIKE ?6 ESCAPE '\\' OR a.rule LIKE ?6 ESCAPE '\\' OR a.who LIKE " \
	"?6 ESCAPE '\\' OR a.session LIKE ?6 ESCAPE '\\' OR a.approval_id LIKE ?6 ESCAPE '\\') AND a.at>=?7 AND a.at<?8 AND " OF_TENANT \
	" AND (a.at,a.n)<(?11,?12) AND (?14=0 OR a.self_test IS NULL)"

struct asked {
	struct db_value v[15];
	int n;
};

static void bind_filter(struct action_index *x, const struct action_filter *f, struct action_cursor from,
	int64_t limit, struct asked *ret)
{
	bool is_stopped = f->verdict && text_eq(f->verdict, "stopped");
	const struct db_value v[] = { DB_T(is_stopped ? NULL : f->verdict), DB_T(f->who), DB_T(f->tool),
		DB_T(f->rule), DB_T(f->kind), DB_T(like(x->a, f->text)), DB_I(f->from_us),
		DB_I(f->to_us ? f->to_us : INT64_MAX), DB_T(x->whose.home), DB_T(x->whose.tenant),
		DB_I(from.at_us ? from.at_us : INT64_MAX), DB_I(from.n), DB_I(limit),
		DB_I(f->leaves_out_self_tests), DB_T(f->session) };

	memcpy(ret->v, v, sizeof(v));
	ret->n = f->session ? 15 : 14;
}

/* The order comes from an index in each case, so that a page costs what it shows. */
#define BY_FILTER(select, behind) \
	{ \
		select " FROM acts a" JOINS WHERE behind, \
			select " FROM acts a INDEXED BY acts_stopped" JOINS WHERE \
			       " AND a.verdict IN ('DENY','ESCALATE')" behind, \
			select " FROM acts a INDEXED BY acts_by_session" JOINS WHERE \
			       " AND a.session=?15" behind, \
			select " FROM acts a INDEXED BY acts_by_session" JOINS WHERE \
			       " AND a.session=?15 AND a.verdict IN ('DENY','ESCALATE')" behind \
	}

static const char *by_filter(const char *const texts[4], const struct action_filter *f)
{
	return texts[(f->session ? 2 : 0) + (f->verdict && text_eq(f->verdict, "stopped") ? 1 : 0)];
}

int action_list(struct action_index *x, const struct action_filter *f, struct action_cursor from,
	size_t limit, action_visit *fn, void *arg, struct err *e)
{
	static const char *const texts[] =
		BY_FILTER("SELECT " COLUMNS, " ORDER BY a.at DESC,a.n DESC LIMIT ?13");
	struct giving g = { .x = x, .fn = fn, .arg = arg };
	struct asked q;

	bind_filter(x, f, from, (int64_t)limit, &q);
	int rc = db_ask(x->db, by_filter(texts, f), q.v, q.n, give_row, &g, e);
	arena_done(&g.a);
	return rc < 0 ? rc : OK;
}

int action_count(
	struct action_index *x, const struct action_filter *f, int64_t most, int64_t *ret, struct err *e)
{
	static const char *const texts[] = BY_FILTER("SELECT count(*) FROM (SELECT 1", " LIMIT ?13)");
	struct asked q;

	bind_filter(x, f, (struct action_cursor){ 0 }, most, &q);
	return db_number(x->db, by_filter(texts, f), q.v, q.n, 0, ret, e);
}

struct states {
	struct arena *a;
	int64_t n[ACTION_STATES];
};

static int count_state(void *arg, const struct action *row, struct err *e)
{
	struct states *s = arg;

	(void)e;
	s->n[action_state_of(row)]++;
	return 0;
}

int action_states(struct action_index *x, const struct action_filter *f, struct json **ret, struct err *e)
{
	struct states s = { .a = x->a };
	int rc = action_list(x, f, (struct action_cursor){ 0 }, INT32_MAX, count_state, &s, e);

	*ret = json_new(x->a, JSON_OBJECT);
	for (int i = 0; i < ACTION_STATES; i++)
		if (s.n[i] && i != ACTION_RECORDED)
			json_seti(x->a, *ret, action_state_name((enum action_state)i), s.n[i]);
	return rc;
}

struct found {
	struct action_index *x;
	struct action *row;
	int n;
};

static int take_found(void *arg, const struct db_row *row, struct err *e)
{
	struct found *f = arg;

	(void)e;
	f->row = arena_zalloc(f->x->a, 1, sizeof(*f->row));
	take_row(f->x, f->x->a, row, f->row);
	return ++f->n > 1;
}

/* rcpt_DECISION.MARK, rcpt_DECISION_outcome, DECISION, or a beginning of that. */
static const char *decision_of(struct arena *a, const char *id)
{
	static const char before[] = "rcpt_", behind[] = "_outcome";
	char *own = arena_strdup(a, text_starts(id, before) ? id + strlen(before) : id);

	own[strcspn(own, ".")] = '\0';
	if (text_ends(own, behind))
		own[strlen(own) - strlen(behind)] = '\0';
	return own;
}

int action_find(struct action_index *x, const char *id, struct action **ret, struct err *e)
{
	static const char exact[] = "SELECT " COLUMNS " FROM acts a" JOINS " WHERE a.id=?1 AND " OF_TENANT,
			  start[] = "SELECT " COLUMNS " FROM acts a" JOINS
				    " WHERE a.id>=?1 AND a.id<?2 AND " OF_TENANT " ORDER BY a.id LIMIT 2";
	const char *own = decision_of(x->a, id);
	struct db_value v[10] = { DB_T(own), DB_T(arena_printf(x->a, "%s\xf4\x8f\xbf\xbf", own)) };
	struct found f = { .x = x };

	v[8] = DB_T(x->whose.home);
	v[9] = DB_T(x->whose.tenant);
	int rc = *own ? db_ask(x->db, exact, v, ARRAY_SIZE(v), take_found, &f, e) : OK;
	if (rc >= 0 && !f.n && strlen(own) >= 6)
		rc = db_ask(x->db, start, v, ARRAY_SIZE(v), take_found, &f, e);
	*ret = f.n == 1 ? f.row : NULL;
	return rc < 0 ? rc : OK;
}

struct values {
	struct arena a;
	index_visit *fn;
	void *arg;
};

static int give_value(void *arg, const struct db_row *row, struct err *e)
{
	struct values *g = arg;
	struct json *doc = json_new(&g->a, JSON_OBJECT);

	json_sets(&g->a, doc, "value", db_text(row, 0));
	json_seti(&g->a, doc, "count", db_int(row, 1));
	int rc = g->fn(g->arg, doc, e);
	arena_reset(&g->a);
	return rc;
}

int action_values(
	struct action_index *x, const char *column, size_t limit, index_visit *fn, void *arg, struct err *e)
{
#define VALUES_OF(c) \
	{ \
#c, \
			"SELECT " #c " AS value,count(*) AS count FROM (SELECT " #c \
			" FROM acts a WHERE (?3 IS NULL OR ifnull(a.tenant,?2)=?3) ORDER BY at DESC LIMIT 5000) WHERE " #c \
			" IS NOT NULL GROUP BY 1 ORDER BY 2 DESC LIMIT ?1" \
	}
	static const struct {
		const char *column, *sql;
	} known[] = { VALUES_OF(who), VALUES_OF(tool), VALUES_OF(rule), VALUES_OF(session), VALUES_OF(kind) };
	const struct db_value v[] = { DB_I((int64_t)limit), DB_T(x->whose.home), DB_T(x->whose.tenant) };
	struct values g = { .fn = fn, .arg = arg };
	int rc = OK;

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (text_eq(known[i].column, column))
			rc = db_ask(x->db, known[i].sql, v, 3, give_value, &g, e);
	arena_done(&g.a);
	return rc < 0 ? rc : OK;
}

static void bind_question(struct action_index *x, const char *approval_id, struct db_value v[10])
{
	v[0] = DB_T(approval_id);
	v[8] = DB_T(x->whose.home);
	v[9] = DB_T(x->whose.tenant);
}

int action_list_question(
	struct action_index *x, const char *approval_id, action_visit *fn, void *arg, struct err *e)
{
	struct giving g = { .x = x, .fn = fn, .arg = arg };
	struct db_value v[10] = { 0 };

	bind_question(x, approval_id, v);
	int rc = db_ask(x->db,
		"SELECT " COLUMNS " FROM acts a" JOINS
		" WHERE a.approval_id=?1 AND a.approval_id IS NOT NULL AND " OF_TENANT
		" ORDER BY a.at LIMIT 100",
		v, ARRAY_SIZE(v), give_row, &g, e);
	arena_done(&g.a);
	return rc < 0 ? rc : OK;
}

int action_of_question(struct action_index *x, const char *approval_id, struct action **ret, struct err *e)
{
	struct found f = { .x = x };
	struct db_value v[10] = { 0 };

	bind_question(x, approval_id, v);
	int rc = db_ask(x->db,
		"SELECT " COLUMNS " FROM acts a" JOINS
		" WHERE a.approval_id=?1 AND a.approval_id IS NOT NULL AND a.kind IN ('decision','call') AND " OF_TENANT
		" ORDER BY a.at DESC LIMIT 1",
		v, ARRAY_SIZE(v), take_found, &f, e);
	*ret = f.row;
	return rc < 0 ? rc : OK;
}
