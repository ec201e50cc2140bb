/* audit_orders.c — orders are as they were given, none is missing, and what the tables say follows from them.
 *
 * The chain of orders shows by itself what was changed or taken out of its middle.  Its end is held by others than the database: the keeper of the control
 * key remembers the last one it signed, and machines name those that they have heard in receipts, which are in the tree.  Keys that were revoked and the root
 * key of the tenant are rows that follow from orders; they are derived anew, and machines say which root key they have pinned. */
#include "base/hash.h"
#include "base/text.h"
#include "kernel/fleet/fleet.h"
#include "serve/fleet/audit.h"

#include <string.h>

/* What one look at all orders gathers. */
struct orders {
	struct auditing *x;
	const char *hash; /* of the last one that holds */
	const char *root; /* by the orders so far; NULL: none has said yet */
	struct json *lists; /* [{seq, list}] before the first that says it */
	struct pg_array seq, key, at; /* keys that were revoked */
	struct pg_array act_seq, act; /* what people have signed, by digest */
};

static void find_order(struct orders *o, int64_t seq, const char *text)
{
	audit_find(o->x, "order", "orders", arena_printf(o->x->c->a, "order %lld %s", (long long)seq, text));
}

/* What stands beside an order is what it says itself. */
static bool is_row_of(struct arena *a, const struct pg_rows *rows, int i, const struct json *order)
{
	struct bytes kept = pg_bytes(rows, i, 3);
	struct hash said;

	return pg_int(rows, i, 0) == i + 1 &&
		text_eq(pg_text(rows, a, i, 2), json_get_text(order, "kind", "")) &&
		hash_from_hex(log_order_hash(a, order), &said) && kept.n == sizeof(said.b) &&
		memcmp(kept.p, said.b, sizeof(said.b)) == 0;
}

/* ---- what follows from each ---- */

static void see_revoked(struct orders *o, const struct json *order)
{
	const char *at = json_get_text(order, "at", "");
	uint8_t key[KEY_SIZE];
	int64_t us = 0;

	if (!text_eq(json_get_text(order, "kind", ""), "revoke_key") ||
		!trust_parse_key(json_get_text(json_get(order, "body"), "key", ""), key))
		return;
	(void)text_parse_time(at, strlen(at), &us);
	pg_array_int(&o->seq, json_get_int(order, "seq", 0));
	pg_array_bytes(&o->key, (struct bytes){ key, sizeof(key) });
	pg_array_int(&o->at, us);
}

static void see_act(struct orders *o, const struct json *order)
{
	const char *message = json_get_text(json_get(json_get(order, "body"), "signed"), "message", NULL);
	struct hash h;

	if (!message)
		return;
	sha256(message, strlen(message), h.b);
	pg_array_int(&o->act_seq, json_get_int(order, "seq", 0));
	pg_array_bytes(&o->act, (struct bytes){ h.b, sizeof(h.b) });
}

static void check_list(
	struct orders *o, const struct json *list, int64_t seq, const char *root, const char * or)
{
	struct centre *c = o->x->c;

	if (fleet_approvers_check(c->a, root, c->tenant.origin, list, NULL) &&
		(! or || fleet_approvers_check(c->a, or, c->tenant.origin, list, NULL)))
		find_order(o, seq,
			arena_printf(c->a,
				"names approvers whom the root key %s has not signed: that key was changed in the database, or whoever gave the order is not the centre",
				root && *root ? root : "(none)"));
}

/* Which key was in force before the first that is named by an order is known by that order; lists of that time wait for it. */
static void see_root(struct orders *o, const struct json *order)
{
	struct centre *c = o->x->c;
	const struct json *said = json_get(json_get(order, "body"), "statement");
	const char *old = json_get_text(said, "old_key", ""), *new = json_get_text(said, "new_key", "");
	int64_t seq = json_get_int(order, "seq", 0);

	if (fleet_root_check(c->a, c->tenant.origin, said, NULL)) {
		find_order(o, seq, "names another root key, and the one before has not signed that");
		return;
	}
	if (o->root && !text_eq(o->root, old) && !text_eq(o->root, new)) {
		find_order(o, seq,
			arena_printf(
				c->a, "goes on from the root key %s, and %s was in force", old, o->root));
		return;
	}
	if (!o->root) {
		json_each (one, o->lists)
			check_list(o, json_get(one, "list"), json_get_int(one, "seq", 0), old, new);
		pg_array_text(&o->x->roots, old);
	}
	o->root = new;
	pg_array_text(&o->x->roots, new);
}

static void see_approvers(struct orders *o, const struct json *order)
{
	struct json *list = json_get(json_get(order, "body"), "list"), *one;
	int64_t seq = json_get_int(order, "seq", 0);

	if (o->root) {
		check_list(o, list, seq, o->root, NULL);
		return;
	}
	one = json_new(o->x->c->a, JSON_OBJECT);
	json_seti(o->x->c->a, one, "seq", seq);
	json_set(o->x->c->a, one, "list", list);
	json_push(o->x->c->a, o->lists, one);
}

static void see(struct orders *o, const struct json *order)
{
	const char *kind = json_get_text(order, "kind", "");

	see_revoked(o, order);
	see_act(o, order);
	if (text_eq(kind, "root"))
		see_root(o, order);
	else if (text_eq(kind, "approvers"))
		see_approvers(o, order);
}

/* ---- against the tables ---- */

/* The row says what the first order about the key said, within the difference of two clocks. */
static const char revoked_sql[] =
	"WITH w AS (SELECT DISTINCT ON (key) key, seq, to_timestamp(at / 1000000.0) AS at FROM unnest($1::int8[], $2::bytea[], $3::int8[]) AS u(seq, key, at) ORDER BY key, seq)"
	" SELECT 'revoked', 'order ' || w.seq || ' revokes the key ' || encode(w.key, 'hex') || ' at ' || w.at || ', and ' ||"
	" CASE WHEN r.key IS NULL THEN 'it does not stand as revoked' ELSE 'it stands as revoked since ' || r.since || ' by order ' || r.seq END"
	" FROM w LEFT JOIN revoked_key r ON r.key = w.key WHERE r.key IS NULL OR r.seq <> w.seq OR abs(extract(epoch FROM r.since - w.at)) > 300"
	" UNION ALL SELECT 'revoked', 'the key ' || encode(r.key, 'hex') || ' stands as revoked, and no order says so' FROM revoked_key r"
	" WHERE NOT EXISTS (SELECT FROM w WHERE w.key = r.key) ORDER BY 2";
static const char twice_sql[] =
	"SELECT 'orders', 'order ' || b.seq || ' carries what a person has signed for order ' || min(a.seq) FROM unnest($1::int8[], $2::bytea[]) AS a(seq, act)"
	" JOIN unnest($1::int8[], $2::bytea[]) AS b(seq, act) ON a.act = b.act AND a.seq < b.seq GROUP BY b.seq ORDER BY b.seq";

static int compare_tables(struct orders *o, struct err *e)
{
	struct centre *c = o->x->c;
	const char *now = c->tenant.root_key ? c->tenant.root_key : "";
	int rc = audit_find_rows(o->x, "order", revoked_sql,
		(struct pg_value[]){
			pg_array_value(&o->seq), pg_array_value(&o->key), pg_array_value(&o->at) },
		3, e);

	if (rc == OK)
		rc = audit_find_rows(o->x, "order", twice_sql,
			(struct pg_value[]){ pg_array_value(&o->act_seq), pg_array_value(&o->act) }, 2, e);
	if (o->root && !text_eq(o->root, now))
		audit_find(o->x, "order", "root key",
			arena_printf(c->a,
				"the orders made %s the root key of this fleet, and %s stands here", o->root,
				*now ? now : "none"));
	if (!o->root)
		json_each (one, o->lists)
			check_list(o, json_get(one, "list"), json_get_int(one, "seq", 0), now, NULL);
	pg_array_text(&o->x->roots, now);
	return rc;
}

/* ---- against the keeper of the control key ---- */

static void ask_keeper(struct orders *o, int64_t newest, struct json *report)
{
	struct centre *c = o->x->c;
	struct log_facts facts;
	struct err away = { 0 };

	if (centre_signer(c, &away) || log_ask_facts(c->signer, c->a, c->tenant.name, &facts, &away)) {
		json_sets(c->a, report, "keeper_away", arena_strdup(c->a, away.text));
		return;
	}
	if (!text_eq(note_key_text(c->a, &facts.control), c->tenant.control_vkey) ||
		!text_eq(note_key_text(c->a, &facts.log), c->tenant.log_vkey))
		audit_find(o->x, "order", "keys", "the keys of the log are not those that its keeper has");
	if (facts.order_seq > newest)
		find_order(o, facts.order_seq,
			arena_printf(c->a,
				"was signed, and the newest here is %lld: those behind it were removed, or the last one was never kept; the next order shows which",
				(long long)newest));
	else if (facts.order_seq < newest || !text_eq(facts.order_hash, o->hash))
		find_order(o, newest,
			arena_printf(c->a,
				"is the newest here, and the keeper of the control key has signed another, %lld",
				(long long)facts.order_seq));
}

/* Each continues the one before, and the control key has signed it. */
int audit_orders(struct auditing *x, struct json *report, struct err *e)
{
	AUTO(pg_rows_done) struct pg_rows rows = { 0 };
	struct centre *c = x->c;
	struct json *joined = json_new(c->a, JSON_OBJECT), *order;
	struct orders o = { .x = x, .hash = "", .lists = json_new(c->a, JSON_ARRAY) };
	bool is_whole = true;
	int rc = pg_ask(c->d, "SELECT seq, body, kind, hash FROM directive ORDER BY seq", NULL, 0, &rows, e);

	pg_array_begin(&x->roots, c->a, DB_TEXT);
	pg_array_begin(&o.seq, c->a, DB_INT8);
	pg_array_begin(&o.key, c->a, DB_BYTES);
	pg_array_begin(&o.at, c->a, DB_INT8);
	pg_array_begin(&o.act_seq, c->a, DB_INT8);
	pg_array_begin(&o.act, c->a, DB_BYTES);
	json_sets(c->a, joined, "origin", c->tenant.origin);
	json_sets(c->a, joined, "control_vkey", c->tenant.control_vkey);
	for (int i = 0; rc == OK && is_whole && i < rows.n; i++) {
		is_whole = json_parse(c->a, pg_bytes(&rows, i, 1), "order", NULL, &order, NULL) == OK &&
			fleet_order_check(c->a, joined, order, i, o.hash, &o.hash, NULL) == OK &&
			is_row_of(c->a, &rows, i, order);
		if (is_whole)
			see(&o, order);
		else
			find_order(&o, i + 1,
				"is not there, or not as it was given: machines obey none from it on");
	}
	x->knows_roots = is_whole;
	if (rc == OK && is_whole)
		rc = compare_tables(&o, e);
	if (rc == OK && is_whole)
		ask_keeper(&o, rows.n, report);
	return rc;
}

/* ---- against what machines say ---- */

void anchors_begin(struct anchors *x, struct arena *a, const char *origin)
{
	x->origin = origin;
	pg_array_begin(&x->chain, a, DB_INT8);
	pg_array_begin(&x->seq, a, DB_INT8);
	pg_array_begin(&x->hash, a, DB_TEXT);
	pg_array_begin(&x->root_chain, a, DB_INT8);
	pg_array_begin(&x->root, a, DB_TEXT);
}

/* An order that was obeyed or refused, or the newest that was heard.  What it heard of another fleet, before it came here, is not ours. */
void anchors_see(void *arg, int64_t chain_id, const struct json *receipt)
{
	struct anchors *x = arg;
	const struct json *about = json_get(receipt, "metadata"), *order = json_get(about, "order"),
			  *heard = order ? order : json_get(about, "heard");
	const char *origin = json_get_text(order ? order : about, "origin", "");

	if (!text_eq(origin, x->origin))
		return;
	if (json_get_text(heard, "hash", NULL)) {
		pg_array_int(&x->chain, chain_id);
		pg_array_int(&x->seq, json_get_int(heard, "seq", 0));
		pg_array_text(&x->hash, json_get_text(heard, "hash", ""));
	}
	if (json_get_text(about, "root_key", NULL)) {
		pg_array_int(&x->root_chain, chain_id);
		pg_array_text(&x->root, json_get_text(about, "root_key", ""));
	}
}

static const char unheard_sql[] =
	"SELECT 'orders', 'order ' || w.seq || ' is on record at ' || string_agg(DISTINCT n.host || ' ' || n.owner, ', ') || ', and is not here' FROM"
	" unnest($1::int8[], $2::int8[], $3::text[]) AS w(chain_id, seq, hash) JOIN chain c USING (chain_id) JOIN node n USING (node_id)"
	" WHERE NOT EXISTS (SELECT FROM directive d WHERE d.seq = w.seq AND encode(d.hash, 'hex') = w.hash) GROUP BY w.seq ORDER BY w.seq";
static const char pinned_sql[] =
	"SELECT 'root key', string_agg(DISTINCT n.host || ' ' || n.owner, ', ') || ' has pinned the root key ' || w.root || ', which is none of this fleet' FROM"
	" unnest($1::int8[], $2::text[]) AS w(chain_id, root) JOIN chain c USING (chain_id) JOIN node n USING (node_id)"
	" WHERE w.root <> ALL($3::text[]) GROUP BY w.root ORDER BY w.root";

int audit_anchors(struct auditing *x, struct anchors *said, struct err *e)
{
	int rc = audit_find_rows(x, "order", unheard_sql,
		(struct pg_value[]){ pg_array_value(&said->chain), pg_array_value(&said->seq),
			pg_array_value(&said->hash) },
		3, e);

	return rc || !x->knows_roots
		? rc
		: audit_find_rows(x, "order", pinned_sql,
			  (struct pg_value[]){ pg_array_value(&said->root_chain), pg_array_value(&said->root),
				  pg_array_value(&x->roots) },
			  3, e);
}
