/* request.c — who calls: a request signed by the machine's own key, for one tenant's origin, at this time.
 *
 * TLS authenticates the server; the key authenticates each request, whatever stands in between.  A request names its origin, method, path, body
 * and time in what it signs, so it is good for nothing else and nowhere else.  Sent again within its five minutes it says the same again:
 * receipts are idempotent, and a heartbeat has a number that counts once (door.c). */
#include "base/hash.h"
#include "base/text.h"
#include "kernel/fleet/fleet.h"
#include "serve/fleet/parts.h"

#include <stdlib.h>
#include <string.h>

int tenant_find(struct db *d, struct arena *a, const char *name, const char *origin, struct tenant *ret,
	struct err *e)
{
	AUTO(pg_rows_done) struct pg_rows rows = { 0 };
	int rc = pg_ask_kept(d,
		"SELECT tenant_id, name, origin, log_vkey, control_vkey, encode(root_key, 'hex') FROM tenant WHERE name = $1 OR origin = $2",
		(struct pg_value[]){ pg_t(name), pg_t(origin) }, 2, &rows, e);

	if (rc == OK && rows.n != 1)
		rc = err_set(e, E_MISSING, "FLEET_TENANT", "there is no tenant '%s' in this ledger",
			name ? name : origin);
	if (rc == OK)
		*ret = (struct tenant){ (int32_t)pg_int(&rows, 0, 0), pg_text(&rows, a, 0, 1),
			pg_text(&rows, a, 0, 2), pg_text(&rows, a, 0, 3), pg_text(&rows, a, 0, 4),
			pg_null(&rows, 0, 5) ? NULL : pg_text(&rows, a, 0, 5) };
	return rc;
}

/* ---- keys of a node ---- */

static int end_revoked(struct db *d, struct arena *a, struct trust *t, struct err *e)
{
	AUTO(pg_rows_done) struct pg_rows rows = { 0 };
	int rc = pg_ask_kept(d,
		"SELECT key, to_char(since AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"') FROM revoked_key",
		NULL, 0, &rows, e);
	struct trusted_key *keys = arena_zalloc(a, t->key_count + 1, sizeof(*keys));

	if (rc)
		return rc;
	memcpy(keys, t->keys, t->key_count * sizeof(*keys));
	for (int i = 0; i < rows.n; i++)
		for (size_t k = 0; k < t->key_count; k++)
			if (bytes_eq(pg_bytes(&rows, i, 0), (struct bytes){ keys[k].key, KEY_SIZE }) &&
				!keys[k].not_after)
				keys[k].not_after = pg_text(&rows, a, i, 1);
	t->keys = keys;
	return OK;
}

int node_trust(struct db *d, struct arena *a, int64_t node_id, struct trust *ret, struct err *e)
{
	AUTO(pg_rows_done) struct pg_rows rows = { 0 };
	struct trusted_key *first = arena_zalloc(a, 1, sizeof(*first));
	struct buf text;
	int rc = pg_ask_kept(d, "SELECT key, link FROM node_key WHERE node_id = $1 ORDER BY sequence",
		(struct pg_value[]){ pg_i(a, node_id) }, 1, &rows, e);

	if (rc)
		return rc;
	buf_init(&text, a);
	for (int i = 0; i < rows.n; i++) {
		struct bytes link = pg_bytes(&rows, i, 1), key = pg_bytes(&rows, i, 0);
		if (key.n == KEY_SIZE && i == 0)
			memcpy(first->key, key.p, KEY_SIZE);
		buf_add(&text, link.p, link.n);
		buf_addc(&text, '\n');
	}
	first->id = "";
	*ret = (struct trust){ .keys = first, .key_count = 1 };
	rc = trust_add_history_text(a, buf_bytes(&text), "the node's keys", ret, e);
	return rc ? rc : end_revoked(d, a, ret, e);
}

/* ---- the request ---- */

int database_refuses(struct call *c, struct err *e)
{
	if (!text_starts(e->code, "DB_") || text_eq(e->code, "DB_WRONG") || text_eq(e->code, "DB_REFUSED"))
		return e->rc;
	log_line(c->server, "error", c, "%s: %s", e->code, e->text);
	call_send_header(c, "Retry-After", "2");
	return call_refuse(c, e, 503, "FLEET_DATABASE", "the database cannot take it now; try again");
}

static int refuse_clock(struct call *c, int64_t now_us, struct err *e)
{
	return call_refuse(c, e, 401, "FLEET_CLOCK",
		"the clock of the caller differs from ours by more than %d s; here it is %lld", CLOCK_SLACK_S,
		(long long)(now_us / 1000000));
}

static int check_signature(struct call *c, const char *origin, struct caller_of *ret, struct err *e)
{
	const char *key = call_header(c, "Helm-Key"), *at = call_header(c, "Helm-Time"),
		   *signature = call_header(c, "Helm-Signature");
	int64_t time_s, now_us = c->server->sys->now_us(c->server->sys);
	uint8_t sig[SIGN_SIZE];

	if (!origin || !key || !at || !signature)
		return call_refuse(c, e, 401, "UNAUTHENTICATED",
			"Helm-Origin, Helm-Key, Helm-Time and Helm-Signature are needed");
	if (!trust_parse_key(key, ret->key) || !text_int(at, &time_s) ||
		!hex_decode(signature, strlen(signature), sig, sizeof(sig), true))
		return call_refuse(c, e, 401, "UNAUTHENTICATED", "a header of the signature cannot be read");
	ret->skew_ms = time_s * 1000 - now_us / 1000;
	const struct fleet_request q = { origin, c->method, c->path, c->raw, time_s };
	if (!sign_verify(ret->key, fleet_message(c->a, &q), sig))
		return call_refuse(c, e, 401, "UNAUTHENTICATED", "the signature does not hold");
	/* Only whoever holds the key is told that only the clock is wrong. */
	if (llabs(ret->skew_ms) > CLOCK_SLACK_S * 1000LL)
		return refuse_clock(c, now_us, e);
	return OK;
}

/* Until it has confirmed that, what it still has is taken: in each chain that it named last, and not in the first alone. */
static int check_retired(struct call *c, struct db *d, int64_t node, struct err *e)
{
	AUTO(pg_rows_done) struct pg_rows rows = { 0 };
	int rc = pg_ask_kept(d,
		"WITH done AS (SELECT DISTINCT r.chain_id FROM node n JOIN directive o ON o.seq = n.retired_seq"
		"  JOIN receipt r ON r.rule LIKE 'order:%' AND r.rule = 'order:' || encode(o.hash, 'hex') JOIN chain c USING (chain_id)"
		"  WHERE n.node_id = $1 AND c.node_id = $1),"
		" named AS (SELECT convert_from(beat, 'UTF8')::jsonb -> 'heads' AS heads FROM node WHERE node_id = $1 AND beat IS NOT NULL)"
		" SELECT EXISTS (SELECT FROM done), EXISTS (SELECT FROM named, chain c WHERE c.node_id = $1 AND c.state = 1"
		"  AND named.heads @> jsonb_build_array(jsonb_build_object('session_id', c.session_id)) AND c.chain_id NOT IN (SELECT chain_id FROM done))",
		(struct pg_value[]){ pg_i(c->a, node) }, 1, &rows, e);

	if (rc)
		return rc;
	return pg_int(&rows, 0, 0) && !pg_int(&rows, 0, 1)
		? call_refuse(c, e, 403, "FLEET_RETIRED",
			  "this machine was retired by the centre, and has confirmed it: nothing more of it is taken")
		: OK;
}

/* Which node's key it is, and whether anything of it is taken. */
static int find_node(struct call *c, struct db *d, struct caller_of *ret, struct err *e)
{
	AUTO(pg_rows_done) struct pg_rows rows = { 0 };
	int rc = pg_ask_kept(d,
		"SELECT n.node_id, EXISTS (SELECT FROM revoked_key r WHERE r.key = k.key), n.retired_at IS NOT NULL FROM node_key k JOIN node n USING (tenant_id, node_id) "
		"WHERE k.key = $1 ORDER BY k.sequence LIMIT 1",
		(struct pg_value[]){ pg_b((struct bytes){ ret->key, SIGN_PUBLIC }) }, 1, &rows, e);

	if (rc)
		return rc;
	if (!rows.n)
		return call_refuse(c, e, 403, "FLEET_KEY_UNKNOWN", "this key has not joined");
	if (pg_int(&rows, 0, 1))
		return call_refuse(c, e, 403, "FLEET_KEY_REVOKED", "this key was revoked by the centre");
	ret->node.id = pg_int(&rows, 0, 0);
	if (pg_int(&rows, 0, 2) && (rc = check_retired(c, d, ret->node.id, e)))
		return rc;
	rc = node_trust(d, c->a, ret->node.id, &ret->node.trust, e);
	if (rc)
		return rc;
	for (size_t i = 0; i < ret->node.trust.key_count; i++)
		if (memcmp(ret->node.trust.keys[i].key, ret->key, SIGN_PUBLIC) == 0 &&
			ret->node.trust.keys[i].not_after)
			return call_refuse(
				c, e, 403, "FLEET_KEY_REVOKED", "this key was revoked by its own line");
	return OK;
}

int request_check(struct call *c, bool is_new, struct caller_of *ret, struct err *e)
{
	const char *origin = call_header(c, "Helm-Origin");
	int rc = check_signature(c, origin, ret, e);

	if (rc)
		return rc;
	AUTO(lent_back) struct lent l = { 0 };
	rc = lend(c->server->fleet->pool, POOL_INGEST, 0, &l, e);
	if (rc == OK)
		rc = tenant_find(l.d, c->a, NULL, origin, &ret->tenant, e);
	if (rc == E_MISSING)
		return call_refuse(c, e, 403, "FLEET_KEY_UNKNOWN", "there is no such origin here");
	if (rc == OK && !is_new) {
		pg_rollback(l.d);
		rc = pg_begin(l.d, ret->tenant.id, e);
		if (rc == OK)
			rc = find_node(c, l.d, ret, e);
	}
	return rc ? database_refuses(c, e) : OK;
}
