/* centre_read.c — what was recorded on all machines: searched, and audited. */
#include "base/text.h"
#include "serve/fleet/audit.h"
#include "serve/fleet/tree.h"

#include <stdlib.h>
#include <string.h>

/* ---- search ---- */

enum { SEARCH_MOST = 10001, /* one more than are shown */ RECENT_DAYS = 40, FOUND_MOST = 1000 };

#define SEARCHED \
	"SELECT r.received_at::text, r.at::text, n.host, n.owner, c.session_id, r.lamport, r.verdict, r.rtype, r.reason, r.rule, r.tool, r.principal, " \
	"r.decision_id, coalesce(r.caption, ''), n.node_id FROM receipt r JOIN chain c USING (chain_id) JOIN node n ON n.node_id = c.node_id WHERE true"

/* Conditions are literals of ours; what is asked for goes as values, so that the partial index can answer. */
static const char *search_sql(struct centre *c)
{
	struct buf sql;

	buf_init(&sql, c->a);
	buf_adds(&sql, SEARCHED);
	if (json_get_bool(c->q, "stopped", false))
		buf_adds(&sql, " AND r.verdict > 1");
	buf_adds(&sql,
		" AND ($1::text IS NULL OR r.principal = $1) AND ($2::text IS NULL OR r.tool = $2) AND ($3::text IS NULL OR r.rule = $3)"
		" AND ($4::int8 IS NULL OR n.node_id = $4) AND ($5::int8 IS NULL OR r.received_at > now() - make_interval(secs => $5::float8))"
		" AND ($6::text IS NULL OR position(lower($6) in lower(r.caption)) > 0) AND ($7::text IS NULL OR r.decision_id = $7)"
		" AND r.received_at > $9::timestamptz AND r.received_at <= $10::timestamptz ORDER BY r.received_at DESC, r.chain_id, r.lamport DESC LIMIT $8");
	return sql.p;
}

static const char *verdict_text(int64_t n)
{
	static const char *const names[] = { "", "ALLOW", "DENY", "ESCALATE" };

	return names[n >= 0 && n < (int64_t)ARRAY_SIZE(names) ? n : 0];
}

/* Of a time, which leaves the partitions outside it alone: with years of them, and two ahead, planning takes longer than finding. */
struct period {
	const char *from, *until;
};

static int search_in(
	struct centre *c, const struct period *p, int64_t limit, struct pg_rows *ret, struct err *e)
{
	int64_t since = json_get_int(c->q, "since_s", 0);

	return pg_ask(c->d, search_sql(c),
		(struct pg_value[]){ pg_t(json_get_text(c->q, "principal", NULL)),
			pg_t(json_get_text(c->q, "tool", NULL)), pg_t(json_get_text(c->q, "rule", NULL)),
			pg_t(json_get_text(c->q, "node", NULL)), since ? pg_i(c->a, since) : pg_t(NULL),
			pg_t(json_get_text(c->q, "text", NULL)), pg_t(json_get_text(c->q, "decision", NULL)),
			pg_i(c->a, limit), pg_t(p->from), pg_t(p->until) },
		10, ret, e);
}

/* What pages ask again and again: the newest of all, or of those that were stopped.  Without a value that could change the plan it is made once; a day ahead, because
 * now() is when the transaction began. */
#define NEWEST(which) \
	SEARCHED which \
		" AND r.received_at > now() - interval '40 days' AND r.received_at <= now() + interval '1 day' ORDER BY r.received_at DESC, r.chain_id, r.lamport DESC LIMIT 101"
static const char newest_sql[] = NEWEST(""), newest_stopped_sql[] = NEWEST(" AND r.verdict > 1");
enum { NEWEST_MOST = 101 }; /* one more than are shown */

static bool is_plain(const struct json *q, int64_t limit)
{
	static const char *const filters[] = { "principal", "tool", "rule", "node", "since_s", "text",
		"decision" };

	for (size_t i = 0; i < ARRAY_SIZE(filters); i++)
		if (json_get(q, filters[i]))
			return false;
	return limit <= NEWEST_MOST;
}

/* OK with fewer than were asked for: there may be older ones. */
static int search_newest(struct centre *c, int64_t limit, struct pg_rows *ret, struct err *e)
{
	bool is_stopped = json_get_bool(c->q, "stopped", false);
	int rc = pg_ask_kept(c->d, is_stopped ? newest_stopped_sql : newest_sql, NULL, 0, ret, e);

	if (rc == OK && ret->n > limit)
		ret->n = (int)limit;
	return rc;
}

/* The newest come first, so where the last weeks have enough of them nothing older is wanted.  By the clock of the database, which dated them. */
static int search_recent(struct centre *c, int64_t limit, struct pg_rows *ret, struct err *e)
{
	AUTO(pg_rows_done) struct pg_rows now = { 0 };
	int rc = pg_ask(c->d,
		"SELECT (clock_timestamp() - make_interval(days => $1::int4))::text, clock_timestamp()::text",
		(struct pg_value[]){ pg_i(c->a, RECENT_DAYS) }, 1, &now, e);

	if (rc)
		return rc;
	const struct period recent = { pg_text(&now, c->a, 0, 0), pg_text(&now, c->a, 0, 1) };
	return search_in(c, &recent, limit, ret, e);
}

static int search_rows(struct centre *c, struct pg_rows *ret, struct err *e)
{
	int64_t limit = json_get_int(c->q, "limit", 100);

	limit = limit < 1 || limit > SEARCH_MOST ? SEARCH_MOST : limit;
	int rc = is_plain(c->q, limit) ? search_newest(c, limit, ret, e) : search_recent(c, limit, ret, e);
	if (rc || ret->n >= limit)
		return rc;
	pg_rows_done(ret);
	return search_in(c, &(struct period){ "-infinity", "infinity" }, limit, ret, e);
}

int centre_search(struct centre *c, struct json **ret, struct err *e)
{
	static const char *const names[] = { "received_at", "at", "host", "user", "session_id" },
				 *const later[] = { "type", "reason_code", "rule", "tool", "principal",
					 "decision_id", "caption" };
	AUTO(pg_rows_done) struct pg_rows rows = { 0 };
	int rc = centre_open(c, ROLE_READ, e);

	if (rc == OK)
		rc = search_rows(c, &rows, e);
	if (rc)
		return rc;
	*ret = json_new(c->a, JSON_ARRAY);
	for (int i = 0; i < rows.n; i++) {
		struct json *one = json_new(c->a, JSON_OBJECT);
		for (size_t k = 0; k < ARRAY_SIZE(names); k++)
			json_sets(c->a, one, names[k], pg_text(&rows, c->a, i, (int)k));
		json_seti(c->a, one, "lamport_clock", pg_int(&rows, i, 5));
		json_sets(c->a, one, "verdict", verdict_text(pg_int(&rows, i, 6)));
		for (size_t k = 0; k < ARRAY_SIZE(later); k++)
			json_sets(c->a, one, later[k], pg_text(&rows, c->a, i, (int)k + 7));
		json_sets(c->a, one, "node", arena_printf(c->a, "%lld", (long long)pg_int(&rows, i, 14)));
		json_push(c->a, *ret, one);
	}
	return OK;
}

/* ---- audit ---- */

void audit_find(struct auditing *x, const char *kind, const char *what, const char *text)
{
	struct json *one = json_new(x->c->a, JSON_OBJECT);

	json_sets(x->c->a, one, "kind", kind);
	json_sets(x->c->a, one, "what", what);
	json_sets(x->c->a, one, "text", text);
	json_push(x->c->a, x->findings, one);
}

int audit_find_rows(struct auditing *x, const char *kind, const char *sql, const struct pg_value *values,
	int n, struct err *e)
{
	AUTO(pg_rows_done) struct pg_rows rows = { 0 };
	int rc = pg_ask(x->c->d, sql, values, n, &rows, e);

	for (int i = 0; rc == OK && i < rows.n && i < FOUND_MOST; i++)
		audit_find(x, kind, pg_text(&rows, x->c->a, i, 0), pg_text(&rows, x->c->a, i, 1));
	if (rc == OK && rows.n > FOUND_MOST)
		audit_find(x, kind, "more", arena_printf(x->c->a, "%d more like these", rows.n - FOUND_MOST));
	return rc;
}

/* What came a moment ago is signed a moment later: only what stays behind for some seconds is a finding. */
static int find_unsigned(struct auditing *x, const char *sql, struct err *e)
{
	enum { LOOKS = 20 };
	int rc = OK;

	for (int i = 0; rc == OK && i < LOOKS; i++) {
		AUTO(pg_rows_done) struct pg_rows rows = { 0 };
		rc = pg_ask(x->c->d, sql, NULL, 0, &rows, e);
		if (rc || !rows.n)
			return rc;
		rc = pg_script(x->c->d, "SELECT pg_sleep(0.25)", e);
	}
	return rc ? rc : audit_find_rows(x, "unsigned", sql, NULL, 0, e);
}

/* Every chain has each of its receipts once, from the oldest that is kept to its head; the same of its bundles. */
static const char gaps_sql[] =
	"SELECT c.session_id, 'epoch ' || c.epoch || ': ' || coalesce(s.n, 0) || ' receipts from ' || coalesce(s.lo, 0) || ' to ' || coalesce(s.hi, 0)"
	" || ', and the head is ' || c.head FROM chain c LEFT JOIN (SELECT chain_id, count(*) n, min(lamport) lo, max(lamport) hi FROM receipt GROUP BY 1) s"
	" USING (chain_id) WHERE c.head > c.detached AND (s.hi IS DISTINCT FROM c.head OR s.n <> s.hi - s.lo + 1 OR s.lo > c.detached + 1)"
	" UNION ALL SELECT c.session_id, 'epoch ' || c.epoch || ': bundles hold ' || coalesce(b.n, 0) || ' receipts up to ' || coalesce(b.hi, 0)"
	" || ', and the head is ' || c.head FROM chain c LEFT JOIN (SELECT chain_id, sum(n) n, min(first) lo, max(first + n - 1) hi FROM bundle GROUP BY 1) b"
	" USING (chain_id) WHERE c.head > c.detached AND (b.hi IS DISTINCT FROM c.head OR b.n <> b.hi - b.lo + 1 OR b.lo > c.detached + 1)";
static const char forks_sql[] =
	"SELECT c.session_id, n.host || ' ' || n.owner || ' (node ' || n.node_id || '): two receipts at ' || f.lamport ||"
	" CASE WHEN f.is_repair THEN ', a repair' ELSE '' END || ', seen ' || f.seen_at FROM fork f JOIN chain c USING (chain_id) JOIN node n ON n.node_id = c.node_id";
static const char back_sql[] =
	"SELECT c.session_id, n.host || ' ' || n.owner || ' (node ' || n.node_id || '): the ledger has ' || c.head || ' receipts, the machine ' || c.local_head"
	" FROM chain c JOIN node n ON n.node_id = c.node_id WHERE c.state = 3";
static const char dark_sql[] =
	"SELECT node_id::text, host || ' ' || owner || ': not heard for ' || coalesce(extract(epoch FROM now() - seen_at)::int8, -1) || ' s' FROM node"
	" WHERE (seen_at IS NULL OR seen_at < now() - interval '90 seconds') AND NOT " RETIRED;
/* The row says so, and no order does; or the order does, and it is heard all the same. */
static const char retired_sql[] =
	"SELECT node_id::text, host || ' ' || owner || ': it stands as retired, and no order says so' FROM node WHERE retired_at IS NOT NULL AND NOT " RETIRED
	" UNION ALL SELECT node_id::text, host || ' ' || owner || ': it was retired, and is heard since' FROM node WHERE seen_at > retired_at + interval '10 minutes' AND " RETIRED;
static const char skew_sql[] =
	"SELECT node_id::text, host || ' ' || owner || ': its clock differs by ' || skew_ms / 1000 || ' s' FROM node WHERE abs(skew_ms) > 300000 AND NOT " RETIRED;
static const char behind_sql[] =
	"SELECT 'log', 'the newest checkpoint has ' || coalesce(max(k.tree_size), 0) || ' leaves of ' || l.tree_size || ', and was signed ' ||"
	" coalesce(max(k.signed_at)::text, 'never') FROM log l LEFT JOIN checkpoint k USING (tenant_id) GROUP BY l.tree_size"
	" HAVING l.tree_size > 0 AND (max(k.tree_size) IS DISTINCT FROM l.tree_size OR max(k.signed_at) < now() - interval '15 minutes')";

/* What machines themselves have found out about the log that they are shown. */
static int find_checks(struct auditing *x, struct err *e)
{
	struct json *nodes;
	int rc = centre_nodes(x->c, &nodes, e);

	json_each (one, rc ? NULL : nodes) {
		const struct json *check = json_get(one, "log");
		const char *standing = json_get_text(check, "standing", "");
		bool failed = text_eq(standing, "failed");
		if (text_eq(json_get_text(one, "standing", ""), "retired") ||
			(!failed && !text_eq(standing, "old")))
			continue;
		audit_find(x, "log check", json_get_text(one, "node", ""),
			failed ? arena_printf(x->c->a, "%s %s does not believe the log: %s",
					 json_get_text(one, "host", ""), json_get_text(one, "user", ""),
					 json_get_text(check, "why", ""))
			       : arena_printf(x->c->a, "%s %s has last checked the log %lld s ago",
					 json_get_text(one, "host", ""), json_get_text(one, "user", ""),
					 (long long)json_get_int(check, "age_s", 0)));
	}
	return rc;
}

static int audit_tree(struct auditing *x, struct json *report, struct err *e)
{
	struct centre *c = x->c;
	const struct tile_source source = tree_source(c->d);
	struct tree_at at;
	struct hash root;
	int rc = tree_state(c->d, c->a, false, &at, e);

	if (rc)
		return rc;
	json_seti(c->a, report, "leaves", (int64_t)at.size);
	if (tile_root(c->a, &source, at.size, &root, e) || !hash_eq(&root, &at.root))
		audit_find(x, "tree", "log",
			"the tiles do not lead to the root that the log has: they were changed");
	return OK;
}

static int count(struct auditing *x, struct json *report, struct err *e)
{
	AUTO(pg_rows_done) struct pg_rows rows = { 0 };
	int rc = pg_ask(x->c->d,
		"SELECT (SELECT count(*) FROM node), (SELECT count(*) FROM chain), (SELECT coalesce(sum(head), 0)::int8 FROM chain), (SELECT count(*) FROM node WHERE " RETIRED
		")",
		NULL, 0, &rows, e);

	if (rc)
		return rc;
	json_seti(x->c->a, report, "machines", pg_int(&rows, 0, 0));
	json_seti(x->c->a, report, "retired", pg_int(&rows, 0, 3));
	json_seti(x->c->a, report, "chains", pg_int(&rows, 0, 1));
	json_seti(x->c->a, report, "receipts", pg_int(&rows, 0, 2));
	return OK;
}

int centre_audit(struct centre *c, struct json **ret, struct err *e)
{
	static const struct {
		const char *kind, *sql;
	} looks[] = { { "gap", gaps_sql }, { "fork", forks_sql }, { "rolled back", back_sql },
		{ "dark", dark_sql }, { "clock", skew_sql }, { "retired", retired_sql } };
	struct auditing x = { .c = c, .findings = json_new(c->a, JSON_ARRAY) };
	struct json *report = json_new(c->a, JSON_OBJECT);
	int rc = centre_open(c, ROLE_READ, e);

	if (rc == OK)
		rc = count(&x, report, e);
	for (size_t i = 0; rc == OK && i < ARRAY_SIZE(looks); i++)
		rc = audit_find_rows(&x, looks[i].kind, looks[i].sql, NULL, 0, e);
	if (rc == OK)
		rc = find_unsigned(&x, behind_sql, e);
	if (rc == OK)
		rc = audit_tree(&x, report, e);
	if (rc == OK)
		rc = find_checks(&x, e);
	if (rc == OK)
		rc = audit_orders(&x, report, e);
	if (rc == OK && json_get_bool(c->q, "deep", false))
		rc = audit_deep(&x, e);
	if (rc)
		return rc;
	json_sets(c->a, report, "tenant", c->tenant.name);
	json_set(c->a, report, "findings", x.findings);
	*ret = report;
	return OK;
}
