/* look_views.c — how a fleet stands: what was stopped, its machines, its log; and evidence to take along.
 *
 * What commands at the centre say is asked of the same functions (centre.h), so that page and command cannot differ. */
#include "base/file.h"
#include "base/text.h"
#include "serve/fleet/look.h"

#include <sys/mman.h>
#include <unistd.h>

enum { NOT_RIGHT = 6 }; /* kinds of how_bad() */
enum {
	NOW_SHOWN = 20,
	WRONG_SHOWN = 50,
	COUNTED_MOST = 100000,
	CHECKPOINTS = 200,
	FORKS = 50,
	PACK_MOST = 48 << 20
};

/* ---- now ---- */

static int count(struct db *d, const char *sql, int64_t *ret, struct err *e)
{
	AUTO(pg_rows_done) struct pg_rows rows = { 0 };
	int rc = pg_ask(d, sql, NULL, 0, &rows, e);

	if (rc == OK)
		*ret = rows.n ? pg_int(&rows, 0, 0) : 0;
	return rc;
}

/* How bad a machine stands, 0 the worst; -1: it is right.  One that does not believe our log comes first: there we may be what is wrong. */
static int how_bad(const struct json *one)
{
	static const char *const order[] = { "red", "dark", "unarmed", "yellow" };
	const char *standing = json_get_text(one, "standing", ""),
		   *log = json_get_text(json_get(one, "log"), "standing", "");
	int64_t skew = json_get_int(one, "skew_ms", 0);

	if (text_eq(standing, "retired"))
		return -1;
	if (text_eq(log, "failed"))
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(order); i++)
		if (text_eq(standing, order[i]))
			return 1 + (int)i;
	return text_eq(log, "old") || skew > 300000 || skew < -300000 ? NOT_RIGHT - 1 : -1;
}

/* Machines that somebody should look at, the worst first. */
static struct json *not_right(struct call *c, const struct json *nodes)
{
	struct json *list = json_new(c->a, JSON_ARRAY);

	for (int bad = 0; bad < NOT_RIGHT; bad++)
		json_each (one, nodes)
			if (how_bad(one) == bad)
				json_push(c->a, list, one);
	return list;
}

static int now_of(struct call *c, struct looking *x, struct err *e)
{
	AUTO(pg_rows_done) struct pg_rows rows = { 0 };
	struct json *doc = json_new(c->a, JSON_OBJECT), *list = json_new(c->a, JSON_ARRAY), *nodes;
	struct centre at = looking_centre(c, x, c->body);
	int64_t day = 0, all = 0, waiting = 0;
	int rc = count(x->l.d,
		"SELECT count(*) FROM (SELECT 1 FROM receipt WHERE verdict > 1 AND received_at > now() - interval '24 hours' LIMIT 100000) x",
		&day, e);

	if (rc == OK)
		rc = count(x->l.d,
			"SELECT count(*) FROM (SELECT 1 FROM receipt WHERE verdict > 1 LIMIT 100000) x", &all,
			e);
	if (rc == OK)
		rc = count(x->l.d,
			"SELECT count(*) FROM asked q WHERE q.expires_at > now() AND NOT EXISTS (SELECT FROM settled s WHERE s.chain_id = q.chain_id AND s.approval_id = q.approval_id)",
			&waiting, e);
	if (rc == OK)
		rc = centre_nodes(&at, &nodes, e);
	if (rc == OK)
		rc = pg_ask(x->l.d,
			"SELECT " LEAF_OF ", " ACT_COLUMNS
			" FROM (SELECT * FROM receipt WHERE verdict > 1 ORDER BY received_at DESC, at DESC, lamport DESC LIMIT $1) r"
			" JOIN chain c USING (chain_id) JOIN node n ON n.node_id = c.node_id ORDER BY r.received_at DESC, r.at DESC, r.lamport DESC",
			(struct pg_value[]){ pg_i(c->a, NOW_SHOWN) }, 1, &rows, e);
	if (rc)
		return rc;
	for (int i = 0; i < rows.n; i++)
		json_push(c->a, list, look_row(c->a, &rows, i));
	json_seti(c->a, doc, "stopped_24h", day);
	json_seti(c->a, doc, "stopped_all", all);
	json_seti(c->a, doc, "waiting", waiting);
	json_seti(c->a, doc, "machines", (int64_t)nodes->n);
	struct json *wrong = not_right(c, nodes);
	json_seti(c->a, doc, "wrong_all", (int64_t)wrong->n);
	wrong->n = wrong->n < WRONG_SHOWN ? wrong->n : WRONG_SHOWN;
	json_set(c->a, doc, "wrong", wrong);
	json_set(c->a, doc, "stopped", list);
	call_answer(c, 200, doc);
	return OK;
}

LOOKS(now)
{
	return look(c, now_of, e);
}

/* ---- machines ---- */

static int machines_of(struct call *c, struct looking *x, struct err *e)
{
	struct json *doc = json_new(c->a, JSON_OBJECT), *nodes, *orders;
	struct centre at = looking_centre(c, x, c->body);
	int rc = centre_nodes(&at, &nodes, e);

	if (rc == OK)
		rc = centre_orders(&at, &orders, e);
	if (rc)
		return rc;
	json_set(c->a, doc, "machines", nodes);
	json_set(c->a, doc, "orders", orders);
	call_answer(c, 200, doc);
	return OK;
}

LOOKS(machines)
{
	return look(c, machines_of, e);
}

static int add_chains(struct call *c, struct db *d, int64_t node, struct json *doc, struct err *e)
{
	AUTO(pg_rows_done) struct pg_rows rows = { 0 };
	struct json *list = json_new(c->a, JSON_ARRAY);
	int rc = pg_ask(d,
		"SELECT session_id, epoch, head, local_head, sequenced, state, to_char(seen_at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"') FROM chain"
		" WHERE node_id = $1 ORDER BY session_id, epoch",
		(struct pg_value[]){ pg_i(c->a, node) }, 1, &rows, e);

	for (int i = 0; rc == OK && i < rows.n; i++) {
		struct json *one = json_new(c->a, JSON_OBJECT);
		json_sets(c->a, one, "session", pg_text(&rows, c->a, i, 0));
		json_seti(c->a, one, "epoch", pg_int(&rows, i, 1));
		json_seti(c->a, one, "head", pg_int(&rows, i, 2));
		json_seti(c->a, one, "local_head", pg_int(&rows, i, 3));
		json_seti(c->a, one, "sequenced", pg_int(&rows, i, 4));
		json_sets(c->a, one, "state", chain_state_name(pg_int(&rows, i, 5)));
		json_sets(c->a, one, "seen_at", pg_text(&rows, c->a, i, 6));
		json_push(c->a, list, one);
	}
	json_set(c->a, doc, "chains", list);
	return rc;
}

static int add_keys(struct call *c, struct db *d, int64_t node, struct json *doc, struct err *e)
{
	AUTO(pg_rows_done) struct pg_rows rows = { 0 };
	struct json *list = json_new(c->a, JSON_ARRAY);
	int rc = pg_ask(d,
		"SELECT k.sequence, encode(k.key, 'hex'), to_char(v.since AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"') FROM node_key k"
		" LEFT JOIN revoked_key v ON v.key = k.key WHERE k.node_id = $1 ORDER BY k.sequence",
		(struct pg_value[]){ pg_i(c->a, node) }, 1, &rows, e);

	for (int i = 0; rc == OK && i < rows.n; i++) {
		struct json *one = json_new(c->a, JSON_OBJECT);
		json_seti(c->a, one, "sequence", pg_int(&rows, i, 0));
		json_sets(c->a, one, "key", pg_text(&rows, c->a, i, 1));
		json_sets(
			c->a, one, "revoked_since", pg_null(&rows, i, 2) ? NULL : pg_text(&rows, c->a, i, 2));
		json_push(c->a, list, one);
	}
	json_set(c->a, doc, "keys", list);
	return rc;
}

/* Both receipts, side by side. */
static int add_forks(struct call *c, struct db *d, int64_t node, struct json *doc, struct err *e)
{
	AUTO(pg_rows_done) struct pg_rows rows = { 0 };
	struct json *list = json_new(c->a, JSON_ARRAY);
	int rc = pg_ask(d,
		"SELECT c.session_id, f.chain_id, f.lamport, f.receipt, f.is_repair, to_char(f.seen_at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"')"
		" FROM fork f JOIN chain c USING (chain_id) WHERE c.node_id = $1 ORDER BY f.seen_at DESC LIMIT $2",
		(struct pg_value[]){ pg_i(c->a, node), pg_i(c->a, FORKS) }, 2, &rows, e);

	for (int i = 0; rc == OK && i < rows.n; i++) {
		struct json *one = json_new(c->a, JSON_OBJECT);
		struct bytes ours = { 0 }, theirs = pg_bytes(&rows, i, 3);
		struct err why = { 0 };
		json_sets(c->a, one, "session", pg_text(&rows, c->a, i, 0));
		json_seti(c->a, one, "clock", pg_int(&rows, i, 2));
		if (ledger_line(d, c->a, pg_int(&rows, i, 1), pg_int(&rows, i, 2), &ours, &why) == OK)
			json_sets(c->a, one, "ours", arena_strndup(c->a, (const char *)ours.p, ours.n));
		json_sets(c->a, one, "theirs", arena_strndup(c->a, (const char *)theirs.p, theirs.n));
		json_setb(c->a, one, "is_repair", pg_int(&rows, i, 4) != 0);
		json_sets(c->a, one, "seen_at", pg_text(&rows, c->a, i, 5));
		json_push(c->a, list, one);
	}
	json_set(c->a, doc, "forks", list);
	return rc;
}

/* Its newest acts by its own chains, which are few. */
static int add_acts(struct call *c, struct db *d, int64_t node, struct json *doc, struct err *e)
{
	AUTO(pg_rows_done) struct pg_rows rows = { 0 };
	struct json *list = json_new(c->a, JSON_ARRAY);
	int rc = pg_ask(d,
		"SELECT " LEAF_OF ", " ACT_COLUMNS
		" FROM chain c JOIN node n ON n.node_id = c.node_id CROSS JOIN LATERAL (SELECT * FROM receipt x WHERE x.chain_id = c.chain_id ORDER BY x.lamport DESC LIMIT $2) r"
		" WHERE c.node_id = $1 ORDER BY r.received_at DESC, r.lamport DESC LIMIT $2",
		(struct pg_value[]){ pg_i(c->a, node), pg_i(c->a, 50) }, 2, &rows, e);

	for (int i = 0; rc == OK && i < rows.n; i++)
		json_push(c->a, list, look_row(c->a, &rows, i));
	json_set(c->a, doc, "acts", list);
	return rc;
}

static int machine_of(struct call *c, struct looking *x, struct err *e)
{
	struct json *doc = json_new(c->a, JSON_OBJECT), *nodes, *orders;
	struct centre at = looking_centre(c, x, c->body);
	int64_t node;

	if (!text_int(c->args[0], &node))
		return call_refuse(c, e, 404, "NOT_FOUND", "there is no such machine in this fleet");
	int rc = centre_nodes(&at, &nodes, e);
	json_each (one, rc ? NULL : nodes)
		if (text_eq(json_get_text(one, "node", ""), c->args[0]))
			json_set(c->a, doc, "machine", one);
	if (rc == OK && !json_get(doc, "machine"))
		return call_refuse(c, e, 404, "NOT_FOUND", "there is no such machine in this fleet");
	if (rc == OK)
		rc = add_chains(c, x->l.d, node, doc, e);
	if (rc == OK)
		rc = add_keys(c, x->l.d, node, doc, e);
	if (rc == OK)
		rc = add_forks(c, x->l.d, node, doc, e);
	if (rc == OK)
		rc = add_acts(c, x->l.d, node, doc, e);
	if (rc == OK)
		rc = centre_orders(&at, &orders, e);
	if (rc)
		return rc;
	json_set(c->a, doc, "orders", orders);
	call_answer(c, 200, doc);
	return OK;
}

LOOKS(machine)
{
	return look(c, machine_of, e);
}

/* ---- the log ---- */

/* What each machine last found when it held a checkpoint against the one before; what is wrong first. */
static struct json *checks_of(struct call *c, const struct json *nodes)
{
	static const char *const order[] = { "failed", "old", "never", "good" },
				 *const copied[] = { "node", "host", "user", "log" };
	struct json *list = json_new(c->a, JSON_ARRAY);

	for (size_t i = 0; i < ARRAY_SIZE(order); i++)
		json_each (one, nodes) {
			struct json *row = json_new(c->a, JSON_OBJECT);
			if (text_eq(json_get_text(one, "standing", ""), "retired") ||
				!text_eq(json_get_text(json_get(one, "log"), "standing", ""), order[i]))
				continue;
			for (size_t k = 0; k < ARRAY_SIZE(copied); k++)
				json_set(c->a, row, copied[k], json_get(one, copied[k]));
			json_push(c->a, list, row);
		}
	return list;
}

static int log_of(struct call *c, struct looking *x, struct err *e)
{
	AUTO(pg_rows_done) struct pg_rows rows = { 0 };
	struct json *doc = json_new(c->a, JSON_OBJECT), *list = json_new(c->a, JSON_ARRAY), *nodes;
	struct centre at = looking_centre(c, x, c->body);
	int64_t size = 0, waits = 0;
	int rc = pg_ask(x->l.d,
		"SELECT tree_size, encode(root, 'hex'), to_char(signed_at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"'), cosigned, note FROM checkpoint"
		" ORDER BY tree_size DESC LIMIT $1",
		(struct pg_value[]){ pg_i(c->a, CHECKPOINTS) }, 1, &rows, e);

	if (rc == OK)
		rc = count(x->l.d, "SELECT tree_size FROM log", &size, e);
	if (rc == OK)
		rc = count(x->l.d,
			"SELECT coalesce(sum(head - sequenced), 0)::int8 FROM chain WHERE head > sequenced",
			&waits, e);
	if (rc == OK)
		rc = centre_nodes(&at, &nodes, e);
	if (rc)
		return rc;
	for (int i = 0; i < rows.n; i++) {
		struct json *one = json_new(c->a, JSON_OBJECT);
		json_seti(c->a, one, "tree_size", pg_int(&rows, i, 0));
		json_sets(c->a, one, "root_hash", pg_text(&rows, c->a, i, 1));
		json_sets(c->a, one, "timestamp", pg_text(&rows, c->a, i, 2));
		json_seti(c->a, one, "cosigned", pg_int(&rows, i, 3));
		json_sets(c->a, one, "note", pg_text(&rows, c->a, i, 4));
		json_push(c->a, list, one);
	}
	json_seti(c->a, doc, "receipts", size);
	json_seti(c->a, doc, "not_in_the_tree", waits);
	json_sets(c->a, doc, "origin", x->who.tenant.origin);
	json_sets(c->a, doc, "log_vkey", x->who.tenant.log_vkey);
	json_set(c->a, doc, "checkpoints", list);
	json_set(c->a, doc, "checks", checks_of(c, nodes));
	call_answer(c, 200, doc);
	return OK;
}

LOOKS(log)
{
	return look(c, log_of, e);
}

/* ---- evidence ---- */

/* Before anything is written: it would all be in memory. */
static int check_size(struct call *c, struct looking *x, const char *node, struct err *e)
{
	AUTO(pg_rows_done) struct pg_rows rows = { 0 };
	int rc = pg_ask(x->l.d,
		"SELECT coalesce(sum(b.raw), 0)::int8 FROM bundle b JOIN chain c USING (chain_id) WHERE $1::int8 IS NULL OR c.node_id = $1",
		(struct pg_value[]){ pg_t(node) }, 1, &rows, e);

	if (rc == OK && pg_int(&rows, 0, 0) > 4 * (int64_t)PACK_MOST)
		rc = call_refuse(c, e, 413, "TOO_LARGE",
			"this pack is larger than a page takes; at the centre: helm fleet export --out FILE");
	return rc;
}

static int evidence_of(struct call *c, struct looking *x, struct err *e)
{
	AUTO(close_fd) int fd = -1;
	struct json *q = json_new(c->a, JSON_OBJECT), *over = json_new(c->a, JSON_OBJECT);
	const char *node = json_get_text(c->body, "node", "");
	struct bytes pack;
	int64_t number;

	if (*node && !text_int(node, &number))
		return call_refuse(c, e, 400, "BAD_REQUEST", "the number of a machine is no number");
	if (*node) {
		json_sets(c->a, q, "node", node);
		json_sets(c->a, over, "node", node);
	}
	int too_large = check_size(c, x, *node ? node : NULL, e);
	if (too_large)
		return too_large;
	fd = memfd_create("pack", MFD_CLOEXEC);
	if (fd < 0)
		return err_sys(e, "FLEET_EXPORT", "there is no room to write the pack");
	/* One snapshot of everything, which begins with the transaction. */
	pg_rollback(x->l.d);
	int rc = pg_begin(x->l.d, x->who.tenant.id, e);
	struct centre at = looking_centre(c, x, q);
	if (rc == OK)
		rc = centre_export_to(&at, fd, e);
	if (rc == E_MISSING)
		return call_refuse(c, e, 404, "NOT_FOUND", "%s", arena_strdup(c->a, e->text));
	if (rc)
		return rc;
	off_t n = lseek(fd, 0, SEEK_END);
	if (n < 0 || n > PACK_MOST)
		return call_refuse(c, e, 413, "TOO_LARGE",
			"this pack is larger than a page takes; at the centre: helm fleet export --out FILE");
	pack = (struct bytes){ mmap(NULL, (size_t)n + 1, PROT_READ, MAP_PRIVATE, fd, 0), (size_t)n };
	if (pack.p == MAP_FAILED)
		return err_sys(e, "FLEET_EXPORT", "the pack cannot be read again");
	char *copy = arena_text(c->a, (size_t)n + 1);
	memcpy(copy, pack.p, (size_t)n);
	(void)munmap((void *)(uintptr_t)pack.p, (size_t)n + 1);
	struct taken t = {
		.what = "pack", .over = over, .bytes = { (const uint8_t *)copy, (size_t)n }, .rows = -1
	};
	rc = look_record_taken(c, x, &t, e);
	if (rc)
		return rc;
	call_send_header(c, "Content-Disposition", "attachment; filename=\"fleet.helmpack\"");
	call_bytes(c, 200, "application/octet-stream", t.bytes);
	return OK;
}

LOOKS(evidence)
{
	return look(c, evidence_of, e);
}
