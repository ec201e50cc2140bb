/* look_acts.c — acts of all machines: searched, paged, taken along, and one with its proof.
 *
 * They are in the order of the tree: the leaf of a receipt is its place in the list, its cursor and its name in an address.  A page is looked for block by block
 * from the newest leaf on, and a search that finds little ends after some of them and says how far it has come: no question reads everything. */
#include "base/text.h"
#include "serve/console.h"
#include "serve/fleet/look.h"
#include "serve/fleet/tree.h"

#include <string.h>

enum {
	LIMIT_MOST = 500,
	EXPORT_ROWS = 20000, /* in one piece of a file */
	EXPORT_BYTES = 4 << 20, /* the same: it ends with the row that reaches that */
	EXPORT_PAGE = 1000, /* rows that are in memory at once */
	COUNTED_MOST = 100000,
	BLOCK = 256, /* leaves in one question, and as many as are wanted */
	WIDE = 32768, /* the same, when something is looked for */
	BLOCKS = 4,
	VALUES_OVER = 5000, /* acts whose values can be chosen */
	VALUES = 50
};
#define LEAF "leaf-"

struct json *look_row(struct arena *a, const struct pg_rows *rows, int i)
{
	static const char *const verdicts[] = { "", "ALLOW", "DENY", "ESCALATE" };
	static const struct {
		int column;
		const char *name;
	} texts[] = { { 1, "at" }, { 4, "kind" }, { 5, "reason" }, { 6, "rule" }, { 7, "tool" }, { 8, "who" },
		{ 9, "decision_id" }, { 10, "caption" }, { 11, "session" }, { 13, "host" }, { 14, "user" },
		{ 15, "node" } };
	struct json *one = json_new(a, JSON_OBJECT);
	int64_t verdict = pg_int(rows, i, 3);

	json_sets(a, one, "id",
		pg_null(rows, i, 0) ? pg_text(rows, a, i, 9)
				    : arena_printf(a, LEAF "%lld", (long long)pg_int(rows, i, 0)));
	json_seti(a, one, "at_us", pg_int(rows, i, 2));
	for (size_t k = 0; k < ARRAY_SIZE(texts); k++)
		json_sets(a, one, texts[k].name, pg_text(rows, a, i, texts[k].column));
	json_sets(a, one, "verdict",
		verdict > 0 && verdict < (int64_t)ARRAY_SIZE(verdicts) ? verdicts[verdict] : "");
	json_seti(a, one, "clock", pg_int(rows, i, 12));
	return one;
}

/* ---- what is looked for ---- */

struct wanted {
	struct pg_value values[16]; /* from $3 on; $1 and $2 are the leaves */
	int n;
	struct buf sql; /* " AND ..." */
	bool is_any; /* nothing is left out */
};

/* Conditions are literals of ours; what is asked for goes as values. */
static int read_wanted(struct call *c, const struct looking *x, struct wanted *w, struct err *e)
{
	static const struct {
		const char *name, *sql, *rest;
	} texts[] = {
		{ "who", " AND r.principal = ", "" },
		{ "tool", " AND r.tool = ", "" },
		{ "rule", " AND r.rule = ", "" },
		{ "kind", " AND r.rtype = ", "" },
		{ "session", " AND c.session_id = ", "" },
		{ "host", " AND n.host = ", "" },
		{ "from", " AND r.at >= ", "::timestamptz" },
		{ "to", " AND r.at < ", "::timestamptz" },
		{ "q", " AND position(lower(",
			") in lower(concat_ws(' ', r.caption, r.decision_id, r.rule, r.principal, r.tool, n.host, n.owner, c.session_id))) > 0" },
	};
	const char *verdict = call_query(c, "verdict"), *node = call_query(c, "node");
	int64_t number;

	*w = (struct wanted){ .n = 2, .is_any = !x->who.machines };
	buf_init(&w->sql, c->a);
	if (verdict && text_utf8_valid(verdict, strlen(verdict)) != strlen(verdict))
		return call_refuse(c, e, 400, "BAD_REQUEST", "verdict is no text");
	if (verdict && *verdict) {
		buf_adds(&w->sql,
			text_eq(verdict, "stopped")	       ? " AND r.verdict > 1"
				: text_eq(verdict, "ALLOW")    ? " AND r.verdict = 1"
				: text_eq(verdict, "DENY")     ? " AND r.verdict = 2"
				: text_eq(verdict, "ESCALATE") ? " AND r.verdict = 3"
							       : " AND false");
		w->is_any = false;
	}
	if (node && *node) {
		if (!text_int(node, &number))
			return call_refuse(c, e, 400, "BAD_REQUEST", "the number of a machine is no number");
		w->values[w->n++] = pg_i(c->a, number);
		buf_addf(&w->sql, " AND n.node_id = $%d::int8", w->n);
		w->is_any = false;
	}
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		const char *value = call_query(c, texts[i].name);
		int64_t at;
		if (!value || !*value)
			continue;
		bool is_time = text_eq(texts[i].name, "from") || text_eq(texts[i].name, "to");
		if (text_utf8_valid(value, strlen(value)) != strlen(value))
			return call_refuse(c, e, 400, "BAD_REQUEST", "%s is no text", texts[i].name);
		if (is_time && !text_parse_time(value, strlen(value), &at))
			return call_refuse(
				c, e, 400, "BAD_REQUEST", "%s is no time of RFC 3339", texts[i].name);
		if (is_time)
			value = text_time_z(c->a, at);
		w->values[w->n++] = pg_t(value);
		buf_addf(&w->sql, "%s$%d%s", texts[i].sql, w->n, texts[i].rest);
		w->is_any = false;
	}
	return OK;
}

/* The leaves from `low` to before `before`, the newest first. */
static int ask_block(struct call *c, struct db *d, struct wanted *w, int64_t low, int64_t before,
	int64_t limit, struct pg_rows *ret, struct err *e)
{
	w->values[0] = pg_i(c->a, low);
	w->values[1] = pg_i(c->a, before);
	return pg_ask(d,
		arena_printf(c->a,
			"SELECT s.leaf_first + r.lamport - s.lamport_first, " ACT_COLUMNS FROM_SPANS
			" WHERE s.leaf_first >= $1 AND s.leaf_first < $2 AND s.leaf_first + r.lamport - s.lamport_first < $2%s"
			" ORDER BY 1 DESC LIMIT %lld",
			w->sql.p, (long long)limit),
		w->values, w->n, ret, e);
}

/* Where the block begins that has so many leaves, or some more: spans are not cut. */
static int block_start(
	struct call *c, struct db *d, int64_t before, int64_t leaves, int64_t *ret, struct err *e)
{
	AUTO(pg_rows_done) struct pg_rows rows = { 0 };
	int64_t wish = before > leaves ? before - leaves : 0;
	int rc = pg_ask(d, "SELECT coalesce(max(leaf_first), 0) FROM span WHERE leaf_first <= $1",
		(struct pg_value[]){ pg_i(c->a, wish) }, 1, &rows, e);

	if (rc == OK)
		*ret = rows.n ? pg_int(&rows, 0, 0) : 0;
	return rc;
}

/* Up to `limit` rows behind `before`, in memory of `a`.  *ret_next is where the next page begins, -1: there is none. */
static int list(struct call *c, struct arena *a, struct db *d, struct wanted *w, int64_t before,
	int64_t limit, struct json *to, int64_t *ret_next, struct err *e)
{
	int rc = OK;

	for (int i = 0; rc == OK && i < BLOCKS && before > 0 && to->n < limit; i++) {
		AUTO(pg_rows_done) struct pg_rows rows = { 0 };
		int64_t low = 0, room = limit - to->n;
		rc = block_start(c, d, before, w->is_any ? BLOCK + room : WIDE, &low, e);
		if (rc == OK)
			rc = ask_block(c, d, w, low, before, room, &rows, e);
		for (int k = 0; rc == OK && k < rows.n; k++)
			json_push(a, to, look_row(a, &rows, k));
		/* the whole block, or up to the last that there was room for */
		before = rc == OK && rows.n == room ? pg_int(&rows, rows.n - 1, 0) : low;
	}
	*ret_next = before > 0 ? before : -1;
	return rc;
}

static int read_before(struct call *c, struct db *d, int64_t *ret, struct err *e)
{
	AUTO(pg_rows_done) struct pg_rows rows = { 0 };
	const char *text = call_query(c, "before");
	int rc = pg_ask(d, "SELECT tree_size FROM log", NULL, 0, &rows, e);

	if (rc)
		return rc;
	int64_t size = rows.n ? pg_int(&rows, 0, 0) : 0;
	*ret = size;
	if (text && *text && (!text_int(text, ret) || *ret < 0))
		return call_refuse(c, e, 400, "BAD_REQUEST", "before is the number of a leaf");
	if (*ret > size)
		*ret = size;
	return OK;
}

static void set_next(struct call *c, struct json *doc, int64_t next)
{
	json_sets(c->a, doc, "next", next < 0 ? NULL : arena_printf(c->a, "%lld", (long long)next));
}

static int count_of(
	struct call *c, struct db *d, struct wanted *w, int64_t size, struct json *doc, struct err *e)
{
	AUTO(pg_rows_done) struct pg_rows rows = { 0 };
	w->values[0] = pg_i(c->a, 0);
	w->values[1] = pg_i(c->a, size);
	int rc = pg_ask(d,
		arena_printf(c->a,
			"SELECT count(*) FROM (SELECT 1 FROM receipt r JOIN chain c USING (chain_id) JOIN node n ON n.node_id = c.node_id"
			" WHERE $1::int8 <= $2::int8%s LIMIT %d) x",
			w->sql.p, COUNTED_MOST),
		w->values, w->n, &rows, e);

	if (rc == OK)
		json_seti(c->a, doc, "count", pg_int(&rows, 0, 0));
	return rc;
}

static int acts_of(struct call *c, struct looking *x, struct err *e)
{
	struct json *doc = json_new(c->a, JSON_OBJECT), *rows = json_new(c->a, JSON_ARRAY);
	const char *count = call_query(c, "count");
	struct wanted w;
	int64_t limit, before, next;
	int rc = call_query_int(c, "limit", 50, 1, LIMIT_MOST, &limit, e);

	if (rc == OK)
		rc = read_wanted(c, x, &w, e);
	if (rc == OK)
		rc = read_before(c, x->l.d, &before, e);
	if (rc == OK)
		rc = list(c, c->a, x->l.d, &w, before, limit, rows, &next, e);
	if (rc == OK && count && text_eq(count, "1"))
		rc = count_of(c, x->l.d, &w, before, doc, e);
	if (rc)
		return rc;
	json_set(c->a, doc, "acts", rows);
	set_next(c, doc, next);
	/* The list ended before it was full: what was looked through has no more of it. */
	json_setb(c->a, doc, "is_cut", next >= 0 && rows->n < limit);
	call_answer(c, 200, doc);
	return OK;
}

LOOKS(acts)
{
	return look(c, acts_of, e);
}

static int values_of(struct call *c, struct looking *x, struct err *e)
{
	static const struct {
		const char *name, *column;
	} lists[] = { { "who", "r.principal" }, { "tool", "r.tool" }, { "rule", "r.rule" },
		{ "kind", "r.rtype" }, { "host", "n.host" } };
	struct json *doc = json_new(c->a, JSON_OBJECT);
	int64_t size, low = 0;
	int rc = read_before(c, x->l.d, &size, e);

	if (rc == OK)
		rc = block_start(c, x->l.d, size, VALUES_OVER, &low, e);
	for (size_t i = 0; rc == OK && i < ARRAY_SIZE(lists); i++) {
		AUTO(pg_rows_done) struct pg_rows rows = { 0 };
		struct json *list = json_new(c->a, JSON_ARRAY);
		rc = pg_ask(x->l.d,
			arena_printf(c->a,
				"SELECT %s, count(*)" FROM_SPANS " WHERE s.leaf_first >= $1 AND %s <> ''"
				" AND %s NOT LIKE 'order:%%' GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT %d",
				lists[i].column, lists[i].column, lists[i].column, VALUES),
			(struct pg_value[]){ pg_i(c->a, low) }, 1, &rows, e);
		for (int k = 0; rc == OK && k < rows.n; k++) {
			struct json *one = json_new(c->a, JSON_OBJECT);
			json_sets(c->a, one, "value", pg_text(&rows, c->a, k, 0));
			json_seti(c->a, one, "count", pg_int(&rows, k, 1));
			json_push(c->a, list, one);
		}
		json_set(c->a, doc, lists[i].name, list);
	}
	if (rc == OK)
		call_answer(c, 200, doc);
	return rc;
}

LOOKS(values)
{
	return look(c, values_of, e);
}

/* ---- as a file ---- */

static const char *const exported[] = { "at", "verdict", "kind", "host", "user", "who", "tool", "rule",
	"reason", "caption", "session", "clock", "decision_id", "node", "id" };

static void write_row(struct buf *to, const struct json *row, bool is_csv)
{
	for (size_t i = 0; is_csv && i < ARRAY_SIZE(exported); i++) {
		if (i)
			buf_addc(to, ',');
		console_csv_cell(to, json_get(row, exported[i]));
	}
	if (!is_csv)
		json_write(to, row, 0);
	buf_adds(to, is_csv ? "\r\n" : "\n");
}

/* The filters as they were given, and where the piece begins. */
static struct json *said_of(struct call *c, int64_t before)
{
	static const char *const names[] = { "verdict", "node", "who", "tool", "rule", "kind", "session",
		"host", "from", "to", "q" };
	struct json *over = json_new(c->a, JSON_OBJECT);

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (call_query(c, names[i]) && *call_query(c, names[i]))
			json_sets(c->a, over, names[i], call_query(c, names[i]));
	json_seti(c->a, over, "before", before);
	return over;
}

/* Rows until the piece is full, a page of them at a time.  *ret_next is where the next piece begins. */
static int write_rows(struct call *c, struct db *d, struct wanted *w, int64_t before, bool is_csv,
	struct buf *to, int64_t *ret_written, int64_t *ret_next, struct err *e)
{
	int64_t written = 0, n = EXPORT_PAGE, next = before;
	int rc = OK;

	while (rc == OK && next > 0 && n == EXPORT_PAGE && written < EXPORT_ROWS && to->n < EXPORT_BYTES) {
		AUTO(arena_done) struct arena a = { 0 };
		struct json *rows = json_new(&a, JSON_ARRAY);
		rc = list(c, &a, d, w, next, EXPORT_PAGE, rows, &next, e);
		n = rc == OK ? rows->n : 0;
		for (int64_t i = 0; i < n; i++) {
			const struct json *row = json_at(rows, (uint32_t)i);
			write_row(to, row, is_csv);
			written++;
			if (to->n >= EXPORT_BYTES && i + 1 < n) { /* behind this one */
				(void)text_int(json_get_text(row, "id", LEAF) + strlen(LEAF), &next);
				break;
			}
		}
	}
	*ret_written = written;
	*ret_next = next;
	return rc;
}

/* One piece of the file; Helm-Next says where the next begins.  Each is on record by itself. */
static int export_of(struct call *c, struct looking *x, struct err *e)
{
	const char *format = call_query(c, "format");
	bool is_csv = format && text_eq(format, "csv"), is_first = !call_query(c, "before");
	struct wanted w;
	struct buf text;
	int64_t before, written, next;
	int rc = read_wanted(c, x, &w, e);

	if (rc == OK && (!format || (!is_csv && !text_eq(format, "jsonl"))))
		rc = call_refuse(c, e, 400, "BAD_REQUEST", "format is csv or jsonl");
	if (rc == OK)
		rc = read_before(c, x->l.d, &before, e);
	if (rc)
		return rc;
	buf_init(&text, c->a);
	for (size_t i = 0; is_csv && is_first && i < ARRAY_SIZE(exported); i++)
		buf_addf(&text, "%s\"%s\"%s", i ? "," : "", exported[i],
			i + 1 == ARRAY_SIZE(exported) ? "\r\n" : "");
	rc = write_rows(c, x->l.d, &w, before, is_csv, &text, &written, &next, e);
	if (rc)
		return rc;
	struct taken t = { .what = is_csv ? "csv" : "jsonl",
		.over = said_of(c, before),
		.bytes = buf_bytes(&text),
		.rows = written };
	rc = look_record_taken(c, x, &t, e);
	if (rc)
		return rc;
	if (next > 0)
		call_send_header(c, "Helm-Next", arena_printf(c->a, "%lld", (long long)next));
	call_send_header(c, "Content-Disposition",
		is_csv ? "attachment; filename=\"acts.csv\"" : "attachment; filename=\"acts.jsonl\"");
	call_bytes(c, 200, is_csv ? "text/csv; charset=utf-8" : "application/jsonl", t.bytes);
	return OK;
}

LOOKS(export)
{
	return look(c, export_of, e);
}

/* ---- one ---- */

/* By its leaf, or the newest receipt of a decision. */
static int find_act(struct call *c, struct db *d, struct pg_rows *ret, struct err *e)
{
	enum { LEAVES_MOST_BITS = 53 };
	const char *id = c->args[0];
	int64_t leaf;

	if (text_starts(id, LEAF) && text_int(id + strlen(LEAF), &leaf) && leaf >= 0 &&
		leaf < INT64_C(1) << LEAVES_MOST_BITS)
		return pg_ask(d,
			"SELECT $1::int8, " ACT_COLUMNS
			" FROM (SELECT * FROM span WHERE leaf_first <= $1 ORDER BY leaf_first DESC LIMIT 1) s JOIN receipt r ON r.chain_id = s.chain_id"
			" AND r.lamport = s.lamport_first + $1 - s.leaf_first AND r.lamport < s.lamport_first + s.n"
			" JOIN chain c ON c.chain_id = s.chain_id JOIN node n ON n.node_id = c.node_id",
			(struct pg_value[]){ pg_i(c->a, leaf) }, 1, ret, e);
	return pg_ask(d,
		"SELECT " LEAF_OF ", " ACT_COLUMNS
		" FROM receipt r JOIN chain c USING (chain_id) JOIN node n ON n.node_id = c.node_id WHERE r.decision_id = $1"
		" ORDER BY r.received_at, r.lamport LIMIT 1",
		(struct pg_value[]){ pg_t(id) }, 1, ret, e);
}

/* {receipt, previous, proof}: exact lines, and the place in the tree. */
static int receipt_of(
	struct call *c, struct db *d, int64_t chain_id, int64_t clock, struct json **ret, struct err *e)
{
	struct json *doc = json_new(c->a, JSON_OBJECT), *proof = NULL;
	struct bytes line = { 0 }, before = { 0 };
	struct err why = { 0 };
	int rc = ledger_line(d, c->a, chain_id, clock, &line, e);

	if (rc)
		return rc;
	json_sets(c->a, doc, "receipt", arena_strndup(c->a, (const char *)line.p, line.n));
	if (clock > 1 && ledger_line(d, c->a, chain_id, clock - 1, &before, &why) == OK)
		json_sets(c->a, doc, "previous", arena_strndup(c->a, (const char *)before.p, before.n));
	rc = tree_place(d, c->a, chain_id, clock, &proof, e);
	if (rc && rc != E_MISSING)
		return rc;
	if (rc == OK)
		json_set(c->a, doc, "proof", proof);
	*ret = doc;
	return OK;
}

static int add_keys(struct call *c, struct db *d, const char *node, struct json *doc, struct err *e)
{
	AUTO(pg_rows_done) struct pg_rows rows = { 0 };
	struct json *list = json_new(c->a, JSON_ARRAY);
	int rc = pg_ask(d, "SELECT link FROM node_key WHERE node_id = $1::int8 ORDER BY sequence",
		(struct pg_value[]){ pg_t(node) }, 1, &rows, e);

	for (int i = 0; rc == OK && i < rows.n; i++)
		json_pushs(c->a, list, pg_text(&rows, c->a, i, 0));
	json_set(c->a, doc, "keys", list);
	return rc;
}

/* What else the same chain has about the same decision, and the answer to its question. */
static int add_related(struct call *c, struct db *d, int64_t chain_id, const struct json *act,
	struct json *doc, struct err *e)
{
	AUTO(pg_rows_done) struct pg_rows rows = { 0 };
	struct json *list = json_new(c->a, JSON_ARRAY);
	int rc = pg_ask(d,
		"SELECT " LEAF_OF ", " ACT_COLUMNS
		" FROM receipt r JOIN chain c USING (chain_id) JOIN node n ON n.node_id = c.node_id WHERE (r.decision_id = $1 AND r.chain_id = $2)"
		" OR (r.chain_id = $2 AND r.lamport IN (SELECT s.lamport FROM settled s JOIN asked q USING (chain_id, approval_id) WHERE q.chain_id = $2 AND q.lamport = $3))"
		" ORDER BY r.lamport LIMIT 50",
		(struct pg_value[]){ pg_t(json_get_text(act, "decision_id", "")), pg_i(c->a, chain_id),
			pg_i(c->a, json_get_int(act, "clock", 0)) },
		3, &rows, e);

	for (int i = 0; rc == OK && i < rows.n; i++)
		if (pg_int(&rows, i, 12) != json_get_int(act, "clock", 0))
			json_push(c->a, list, look_row(c->a, &rows, i));
	json_set(c->a, doc, "related", list);
	return rc;
}

static int act_of(struct call *c, struct looking *x, struct err *e)
{
	AUTO(pg_rows_done) struct pg_rows rows = { 0 };
	struct json *doc = json_new(c->a, JSON_OBJECT), *receipt;
	int rc = find_act(c, x->l.d, &rows, e);

	if (rc == OK && !rows.n)
		return call_refuse(c, e, 404, "NOT_FOUND",
			"there is no such act; its leaf, or the id of its decision, names it");
	if (rc)
		return rc;
	struct json *act = look_row(c->a, &rows, 0);
	int64_t chain_id = pg_int(&rows, 0, 16);
	json_set(c->a, doc, "act", act);
	rc = receipt_of(c, x->l.d, chain_id, json_get_int(act, "clock", 0), &receipt, e);
	if (rc == OK)
		json_set(c->a, doc, "decision", receipt);
	else if (rc == E_MISSING)
		rc = OK; /* it was old, and was detached; its leaf is there */
	if (rc == OK)
		rc = add_keys(c, x->l.d, json_get_text(act, "node", "0"), doc, e);
	if (rc == OK)
		rc = add_related(c, x->l.d, chain_id, act, doc, e);
	if (rc == OK)
		call_answer(c, 200, doc);
	return rc;
}

LOOKS(act)
{
	return look(c, act_of, e);
}
