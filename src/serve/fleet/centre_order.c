/* centre_order.c — orders are given: signed by the keeper of the control key as the next link of their chain, then kept.
 *
 * Killed in between, an order is signed and nobody has it; the keeper gives it back for the next one, and it is kept first.  So the chain that
 * machines follow has no second order under one number. */
#include "base/hash.h"
#include "base/text.h"
#include "kernel/fleet/fleet.h"
#include "serve/fleet/centre.h"

#include <string.h>

static int newest(struct centre *c, int64_t *ret_seq, const char **ret_hash, struct err *e)
{
	AUTO(pg_rows_done) struct pg_rows rows = { 0 };
	int rc = pg_ask(c->d, "SELECT seq, body FROM directive ORDER BY seq DESC LIMIT 1", NULL, 0, &rows, e);
	struct json *last;

	*ret_seq = 0;
	*ret_hash = "";
	if (rc || !rows.n)
		return rc;
	rc = json_parse(c->a, pg_bytes(&rows, 0, 1), "order", NULL, &last, e);
	*ret_seq = pg_int(&rows, 0, 0);
	if (rc == OK)
		*ret_hash = log_order_hash(c->a, last);
	return rc;
}

/* From the moment that the order says, so that an audit can tell whether the row was moved. */
static int end_key(struct centre *c, const struct json *order, struct err *e)
{
	const char *hex = json_get_text(json_get(order, "body"), "key", "");
	uint8_t key[KEY_SIZE];

	if (!text_eq(json_get_text(order, "kind", ""), "revoke_key") || !trust_parse_key(hex, key))
		return OK;
	return pg_do(c->d,
		"INSERT INTO revoked_key(tenant_id, key, since, seq) VALUES ($1, $2, least(now(), $4::timestamptz), $3) ON CONFLICT DO NOTHING",
		(struct pg_value[]){ pg_i(c->a, c->tenant.id), pg_b((struct bytes){ key, sizeof(key) }),
			pg_i(c->a, json_get_int(order, "seq", 0)), pg_t(json_get_text(order, "at", "")) },
		4, NULL, e);
}

/* What it has sent stays; it is expected no more. */
static int retire_nodes(struct centre *c, const struct json *order, struct err *e)
{
	int rc = OK;

	if (!text_eq(json_get_text(order, "kind", ""), "retire"))
		return OK;
	json_each (one, json_get(order, "nodes")) {
		rc = pg_do(c->d, "UPDATE node SET retired_at = now(), retired_seq = $2 WHERE node_id = $1",
			(struct pg_value[]){
				pg_t(json_text(one)), pg_i(c->a, json_get_int(order, "seq", 0)) },
			2, NULL, e);
		if (rc)
			break;
	}
	return rc;
}

static int put_root(struct centre *c, const struct json *order, struct err *e)
{
	if (!text_eq(json_get_text(order, "kind", ""), "root"))
		return OK;
	return pg_do(c->d, "UPDATE tenant SET root_key = decode($2, 'hex') WHERE tenant_id = $1",
		(struct pg_value[]){ pg_i(c->a, c->tenant.id),
			pg_t(json_get_text(json_get(json_get(order, "body"), "statement"), "new_key", "")) },
		2, NULL, e);
}

static int keep(struct centre *c, const struct json *order, struct err *e)
{
	const char *by = json_get_text(c->q, "by", "");
	struct buf text;
	struct hash h;
	int64_t changed = 0;

	/* It may be somebody else's, who could not keep it. */
	if (text_eq(json_get_text(order, "kind", ""), ORDER_TAKEN))
		by = json_get_text(json_get(order, "body"), "by", by);
	buf_init(&text, c->a);
	json_canonical(&text, order);
	(void)hash_from_hex(log_order_hash(c->a, order), &h);
	/* Somebody who wanted this number, too, may have kept it for us, with all that follows: the keeper signs one order under a number. */
	int rc = pg_do(c->d,
		"INSERT INTO directive(tenant_id, seq, kind, body, hash, made_by) VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING",
		(struct pg_value[]){ pg_i(c->a, c->tenant.id), pg_i(c->a, json_get_int(order, "seq", 0)),
			pg_t(json_get_text(order, "kind", "")), pg_b(buf_bytes(&text)),
			pg_b((struct bytes){ h.b, sizeof(h.b) }), pg_t(by) },
		6, &changed, e);
	if (rc || !changed)
		return rc;
	rc = end_key(c, order, e);
	if (rc == OK)
		rc = retire_nodes(c, order, e);
	return rc ? rc : put_root(c, order, e);
}

static struct json *draft(struct centre *c, int64_t seq, const char *prev)
{
	struct json *doc = json_new(c->a, JSON_OBJECT);

	json_sets(c->a, doc, "version", FLEET_ORDER_V1);
	json_sets(c->a, doc, "origin", c->tenant.origin);
	json_seti(c->a, doc, "seq", seq);
	json_sets(c->a, doc, "kind", json_get_text(c->q, "kind", ""));
	json_set(c->a, doc, "nodes", json_copy(c->a, json_get(c->q, "nodes")));
	json_set(c->a, doc, "body", json_copy(c->a, json_get(c->q, "body")));
	json_sets(c->a, doc, "at", text_time_z(c->a, c->sys->now_us(c->sys)));
	json_sets(c->a, doc, "prev_hash", prev);
	return doc;
}

/* Nor a statement about the root key: by the one that is in force here, or by the one that it makes so. */
static int check_root(struct centre *c, struct err *e)
{
	const struct json *said = json_get(json_get(c->q, "body"), "statement");
	const char *now = c->tenant.root_key ? c->tenant.root_key : "";

	if (!text_eq(json_get_text(c->q, "kind", ""), "root"))
		return OK;
	int rc = fleet_root_check(c->a, c->tenant.origin, said, e);
	if (rc == OK && !text_eq(json_get_text(said, "old_key", ""), now) &&
		!text_eq(json_get_text(said, "new_key", ""), now))
		rc = err_set(e, E_DENIED, "FLEET_ROOT",
			"the root key of this fleet is %s, and has not signed that",
			*now ? now : "not named");
	return rc;
}

/* All of them are machines of this tenant. */
static int check_retired(struct centre *c, struct err *e)
{
	const struct json *nodes = json_get(c->q, "nodes");

	if (!text_eq(json_get_text(c->q, "kind", ""), "retire"))
		return OK;
	if (!nodes || !nodes->n)
		return err_set(
			e, E_USAGE, "USAGE", "say which machines are retired; 'helm fleet nodes' shows them");
	json_each (one, nodes) {
		AUTO(pg_rows_done) struct pg_rows rows = { 0 };
		int rc = pg_ask(c->d, "SELECT 1 FROM node WHERE node_id = $1",
			(struct pg_value[]){ pg_t(json_text(one)) }, 1, &rows, e);
		if (rc)
			return rc;
		if (!rows.n)
			return err_set(e, E_MISSING, "FLEET_NODE", "there is no machine %s in this fleet",
				json_text(one));
	}
	return OK;
}

/* A list that no machine would take is not given. */
static int check_list(struct centre *c, struct err *e)
{
	const struct json *list = json_get(json_get(c->q, "body"), "list");
	uint32_t unread = 0;

	if (!text_eq(json_get_text(c->q, "kind", ""), "approvers"))
		return OK;
	int rc = fleet_approvers_check(c->a, c->tenant.root_key, c->tenant.origin, list, e);
	if (rc == OK)
		(void)fleet_approvers_readable(c->a, list, &unread);
	return unread ? err_set(e, E_INPUT, "FLEET_APPROVERS",
				"the list of approvers has a key that cannot be read here")
		      : rc;
}

static int check(struct centre *c, struct err *e)
{
	enum { MOST = 128 << 10 }; /* bytes: a list of approvers is the longest */
	uint8_t key[KEY_SIZE];
	struct buf body;
	int64_t id;

	/* It stays for ever, every machine reads it, and the database looks into it: there no text has a zero. */
	buf_init(&body, c->a);
	if (json_get(c->q, "body"))
		json_canonical(&body, json_get(c->q, "body"));
	if (body.n > MOST || (body.n && strstr(body.p, "\\u0000")))
		return err_set(e, E_INPUT, "FLEET_ORDER",
			"an order is at most %d bytes, without the character U+0000", MOST);
	if (text_eq(json_get_text(c->q, "kind", ""), "revoke_key") &&
		!trust_parse_key(json_get_text(json_get(c->q, "body"), "key", ""), key))
		return err_set(e, E_USAGE, "USAGE",
			"a key is 64 hex digits; 'helm fleet nodes --json' shows those of machines");
	json_each (one, json_get(c->q, "nodes"))
		if (!json_text(one) || !text_int(json_text(one), &id))
			return err_set(e, E_USAGE, "USAGE",
				"--node takes the number of a machine; 'helm fleet nodes' shows them");
	return OK;
}

/* *ret_is_done false: an order that was lost was kept instead, and this one is to be made again behind it. */
static int give(struct centre *c, bool may_be_late, struct json **ret, bool *ret_is_done, struct err *e)
{
	int64_t seq;
	const char *prev;
	struct json *signed_order = NULL;
	int rc = newest(c, &seq, &prev, e);

	if (rc)
		return rc;
	rc = log_ask_order(c->signer, c->a, c->tenant.name, draft(c, seq + 1, prev), &signed_order, e);
	*ret_is_done = rc == OK;
	if (rc && text_eq(e->code, "LOG_SMALLER") && may_be_late) {
		/* others were quicker since we looked */
		pg_rollback(c->d);
		return OK;
	}
	if (rc && (!text_eq(e->code, "LOG_ORDER_TAKEN") || !signed_order))
		return rc;
	rc = keep(c, signed_order, e);
	if (rc == OK)
		rc = pg_commit(c->d, e);
	*ret = signed_order;
	return rc;
}

int centre_order(struct centre *c, struct json **ret, struct err *e)
{
	/* What was taken may be asked for again; what stops machines must get through beside it. */
	const int most = text_eq(json_get_text(c->q, "kind", ""), ORDER_TAKEN) ? 20 : 200;
	struct json *given = NULL;
	bool is_done = false;
	int rc = check(c, e);

	if (rc == OK)
		rc = centre_open(c, ROLE_CONSOLE, e);
	if (rc == OK)
		rc = check_list(c, e);
	if (rc == OK)
		rc = check_root(c, e);
	if (rc == OK)
		rc = check_retired(c, e);
	if (rc == OK)
		rc = centre_signer(c, e);
	for (int tries = 0; rc == OK && !is_done && tries < most; tries++) {
		rc = give(c, tries + 1 < most, &given, &is_done, e);
		if (rc == OK && !is_done)
			rc = pg_begin(c->d, c->tenant.id, e);
	}
	if (rc == OK && !is_done)
		rc = err_set(e, E_IO, "FLEET_BUSY",
			"others give orders at the same time, and this one was not given; try again");
	if (rc)
		return rc;
	*ret = json_new(c->a, JSON_OBJECT);
	json_seti(c->a, *ret, "seq", json_get_int(given, "seq", 0));
	json_sets(c->a, *ret, "hash", log_order_hash(c->a, given));
	json_set(c->a, *ret, "order", given);
	return OK;
}

/* ---- who has obeyed ---- */

enum { ORDERS_SHOWN = 50, NOT_YET_SHOWN = 100 };

/* By their receipts, which name the order, not by their word. */
static const char standing_sql[] =
	"WITH said AS (SELECT c.node_id, bool_or(r.rule = $2) AS obeyed FROM receipt r JOIN chain c USING (chain_id)"
	"  WHERE r.rule LIKE 'order:%' AND r.rule IN ($2, $2 || ':refused') GROUP BY 1),"
	" meant AS (SELECT n.node_id, n.host, s.obeyed FROM node n LEFT JOIN said s USING (node_id)"
	"  WHERE (n.retired_at IS NULL OR n.retired_seq >= $1) AND (cardinality($3::text[]) = 0 OR n.node_id::text = ANY ($3)))"
	" SELECT count(*), count(*) FILTER (WHERE obeyed), count(*) FILTER (WHERE NOT obeyed), (SELECT coalesce(json_agg(x.t), '[]')::text FROM"
	"  (SELECT node_id || ' (' || host || ')' AS t FROM meant WHERE obeyed IS NULL ORDER BY host, node_id LIMIT $4) x) FROM meant";

/* Counts of all machines that it is for, and the names of some that have not answered: a list that is cut says so in its last line. */
static int add_standing(
	struct centre *c, const struct json *order, const char *hash, struct json *to, struct err *e)
{
	AUTO(pg_rows_done) struct pg_rows rows = { 0 };
	struct pg_array nodes;
	struct json *missing;

	pg_array_begin(&nodes, c->a, DB_TEXT);
	json_each (one, json_get(order, "nodes"))
		pg_array_text(&nodes, json_text(one) ? json_text(one) : "");
	int rc = pg_ask(c->d, standing_sql,
		(struct pg_value[]){ pg_i(c->a, json_get_int(order, "seq", 0)),
			pg_t(arena_printf(c->a, "order:%s", hash)), pg_array_value(&nodes),
			pg_i(c->a, NOT_YET_SHOWN) },
		4, &rows, e);
	if (rc == OK)
		rc = json_parse(c->a, bytes_of(pg_text(&rows, c->a, 0, 3)), "machines", NULL, &missing, e);
	if (rc)
		return rc;
	int64_t meant = pg_int(&rows, 0, 0), obeyed = pg_int(&rows, 0, 1), refused = pg_int(&rows, 0, 2),
		left = meant - obeyed - refused - missing->n;
	if (left > 0)
		json_pushs(c->a, missing, arena_printf(c->a, "and %lld more", (long long)left));
	json_seti(c->a, to, "meant", meant);
	json_seti(c->a, to, "obeyed", obeyed);
	json_seti(c->a, to, "refused", refused);
	json_set(c->a, to, "missing", missing);
	return OK;
}

int centre_orders(struct centre *c, struct json **ret, struct err *e)
{
	AUTO(pg_rows_done) struct pg_rows rows = { 0 };
	int rc = centre_open(c, ROLE_READ, e);

	if (rc == OK)
		rc = pg_ask(c->d,
			"SELECT seq, body, made_at::text, encode(hash, 'hex'), (SELECT count(*) FROM directive WHERE kind <> '" ORDER_TAKEN
			"') FROM directive WHERE kind <> '" ORDER_TAKEN "' ORDER BY seq DESC LIMIT $1",
			(struct pg_value[]){ pg_i(c->a, ORDERS_SHOWN) }, 1, &rows, e);
	*ret = json_new(c->a, JSON_ARRAY);
	for (int i = 0; rc == OK && i < rows.n; i++) {
		struct json *one = json_new(c->a, JSON_OBJECT), *order;
		rc = json_parse(c->a, pg_bytes(&rows, i, 1), "order", NULL, &order, e);
		if (rc == OK)
			rc = add_standing(c, order, pg_text(&rows, c->a, i, 3), one, e);
		if (rc)
			break;
		json_sets(c->a, one, "at", pg_text(&rows, c->a, i, 2));
		json_seti(c->a, one, "seq", pg_int(&rows, i, 0));
		json_sets(c->a, one, "kind", json_get_text(order, "kind", ""));
		json_set(c->a, one, "order", order);
		json_push(c->a, *ret, one);
		if (i + 1 == rows.n)
			json_seti(c->a, one, "older", pg_int(&rows, i, 4) - (int64_t)(*ret)->n);
	}
	return rc;
}
