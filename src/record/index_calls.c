/* index_calls.c — how many calls came by which entry point, minute by minute of the last two days.
 *
 * Views say how many calls passed, were asked about and were refused in the last hour and the last day.  Sums by the minute make that a total,
 * however many calls there were, for a few thousand rows.  When the last call came is kept without end. */
#include "base/text.h"
#include "record/index_parts.h"

#include <string.h>

static const int64_t MINUTE_US = INT64_C(60) * 1000000, KEPT_US = INT64_C(2 * 24 * 60 * 60) * 1000000;

/* As it stands before the slash of a receipt's `door`; rows of calls are of clients. */
static const char *const entry_names[] = {
	[ENTRY_CLIENT] = "client",
	[ENTRY_API] = "api",
	[ENTRY_PROXY] = "proxy",
	[ENTRY_SESSION] = "agent",
};
TABLE_COVERS(entry_names, ENTRY_POINTS);

/* ---- making ---- */

static int flush_minute(struct call_minute *m, enum entry_point entry, struct db *db, struct err *e)
{
	const struct db_value v[] = { DB_I(m->minute), DB_T(entry_names[entry]), DB_I(m->n.allowed),
		DB_I(m->n.asked), DB_I(m->n.denied), DB_I(m->n.self_tests) };
	static const char sql[] =
		"INSERT INTO entry_calls VALUES(?,?,?,?,?,?) ON CONFLICT DO UPDATE SET "
		"allowed=allowed+excluded.allowed,asked=asked+excluded.asked,denied=denied+excluded.denied,"
		"self_tests=self_tests+excluded.self_tests";

	m->n = (struct entry_tally){ 0 };
	m->is_begun = false;
	return db_run(db, sql, v, ARRAY_SIZE(v), e);
}

void call_minutes_begin(struct call_minutes *c, struct sys *s)
{
	*c = (struct call_minutes){ .from_us = s->now_us(s) - KEPT_US };
}

int call_minutes_add(struct call_minutes *c, struct db *db, enum entry_point entry, const struct json *row,
	const char *at, bool is_self_test, struct err *e)
{
	const char *verdict = json_get_text(row, "verdict", "");
	struct call_minute *m = &c->of[entry];
	int64_t us, minute;
	int rc = OK;

	if (!text_parse_time(at, strlen(at), &us))
		return OK;
	if (!is_self_test && us > m->last_us)
		m->last_us = us;
	if (us < c->from_us)
		return OK;
	minute = us / MINUTE_US;
	if (m->is_begun && m->minute != minute)
		rc = flush_minute(m, entry, db, e);
	m->minute = minute;
	m->is_begun = true;
	++*(is_self_test			       ? &m->n.self_tests
			: text_eq(verdict, "ALLOW")    ? &m->n.allowed
			: text_eq(verdict, "ESCALATE") ? &m->n.asked
						       : &m->n.denied);
	return rc;
}

int call_minutes_add_receipt(struct call_minutes *c, struct db *db, const struct json *receipt, struct err *e)
{
	const struct json *about = json_get(receipt, "metadata");
	const char *door = json_get_text(about, "door", "");
	const size_t n = strcspn(door, "/");

	for (enum entry_point i = ENTRY_CLIENT + 1; i < ENTRY_POINTS; i++)
		if (strlen(entry_names[i]) == n && memcmp(entry_names[i], door, n) == 0)
			return call_minutes_add(c, db, i, receipt, json_get_text(receipt, "timestamp", ""),
				json_get_bool(about, "self_test", false), e);
	return OK;
}

int call_minutes_flush(struct call_minutes *c, struct db *db, struct err *e)
{
	const struct db_value old = DB_I(c->from_us / MINUTE_US);
	int rc = OK;

	for (enum entry_point i = 0; rc == OK && i < ENTRY_POINTS; i++) {
		const struct db_value last[] = { DB_T(entry_names[i]), DB_I(c->of[i].last_us) };
		if (c->of[i].is_begun)
			rc = flush_minute(&c->of[i], i, db, e);
		if (rc == OK && c->of[i].last_us)
			rc = db_run(db,
				"INSERT INTO entry_last VALUES(?,?) ON CONFLICT DO UPDATE SET "
				"at=max(at,excluded.at)",
				last, 2, e);
	}
	return rc ? rc : db_run(db, "DELETE FROM entry_calls WHERE minute<?", &old, 1, e);
}

/* ---- asking ---- */

static int take_tally(void *arg, const struct db_row *row, struct err *e)
{
	struct entry_tally *t = arg;

	(void)e;
	t->allowed += db_int(row, 0);
	t->asked += db_int(row, 1);
	t->denied += db_int(row, 2);
	t->self_tests += db_int(row, 3);
	return OK;
}

int index_entry_calls(
	struct index *x, enum entry_point entry, int64_t since_us, struct entry_tally *ret, struct err *e)
{
	const struct db_value v[] = { DB_T(entry_names[entry]), DB_I(since_us / MINUTE_US) };

	*ret = (struct entry_tally){ 0 };
	return db_ask(x->db,
		"SELECT sum(allowed),sum(asked),sum(denied),sum(self_tests) FROM entry_calls WHERE entry=? AND "
		"minute>=?",
		v, 2, take_tally, ret, e);
}

int index_entry_last(struct index *x, enum entry_point entry, int64_t *ret_us, struct err *e)
{
	const struct db_value v = DB_T(entry_names[entry]);

	return db_number(x->db, "SELECT at FROM entry_last WHERE entry=?", &v, 1, 0, ret_us, e);
}
