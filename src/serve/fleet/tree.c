/* tree.c — the Merkle log of a tenant in the database: its tiles, one tick of its growth, proofs from it, and both over HTTP.
 *
 * One transaction reads the size and root under the row's lock, takes what chains have beyond what was sequenced in the order of chain and clock,
 * and writes tiles, spans, how far each chain is, and the new size and root.  No number orders receipts before that, so none can be skipped by one
 * that commits late.  tile_append() recomputes the root it builds upon from the tiles: tiles that were changed stop it. */
#include "serve/fleet/tree.h"
#include "base/text.h"
#include "serve/fleet/parts.h"

#include <stdlib.h>
#include <string.h>

enum { CHAINS_A_TICK = 512, LEAVES_A_TICK = 16384 };

/* ---- tiles ---- */

static int read_tile(void *arg, struct arena *a, const struct tile *t, struct bytes *ret, struct err *e)
{
	AUTO(pg_rows_done) struct pg_rows rows = { 0 };
	int rc = pg_ask(arg, "SELECT data FROM tile WHERE level = $1 AND idx = $2",
		(struct pg_value[]){ pg_i(a, t->level), pg_i(a, (int64_t)t->idx) }, 2, &rows, e);

	if (rc)
		return rc;
	struct bytes data = rows.n ? pg_bytes(&rows, 0, 0) : (struct bytes){ 0 };
	if (data.n < tile_bytes(t))
		return err_set(e, E_CORRUPT, "TILE_MISSING", "a tile of the tree is not in the database");
	*ret = (struct bytes){ (const uint8_t *)arena_strndup(a, (const char *)data.p, data.n), data.n };
	return OK;
}

struct tile_source tree_source(struct db *d)
{
	return (struct tile_source){ read_tile, d };
}

int tree_state(struct db *d, struct arena *a, bool is_locked, struct tree_at *ret, struct err *e)
{
	AUTO(pg_rows_done) struct pg_rows rows = { 0 };
	int rc = pg_ask(d,
		is_locked ? "SELECT tree_size, root FROM log FOR UPDATE SKIP LOCKED"
			  : "SELECT tree_size, root FROM log",
		NULL, 0, &rows, e);

	(void)a;
	if (rc)
		return rc;
	if (!rows.n)
		return err_set(e, E_MISSING, "FLEET_BUSY", "another front end is at this log");
	ret->size = (uint64_t)pg_int(&rows, 0, 0);
	memcpy(ret->root.b, pg_bytes(&rows, 0, 1).p, sizeof(ret->root.b));
	return OK;
}

/* ---- one tick ---- */

struct growth {
	struct hash *leaves;
	size_t n;
	struct pg_array chain, first, count, leaf, until; /* spans, and how far each chain is */
};

/* Of each chain as much as still goes into this tick: what waits behind that is not read. */
static const char leaves_sql[] =
	"SELECT r.chain_id, r.lamport, r.chain_hash, t.sequenced FROM"
	" (SELECT chain_id, sequenced, least(head, sequenced + $2 - before) AS until FROM"
	"  (SELECT chain_id, sequenced, head, (sum(head - sequenced) OVER (ORDER BY chain_id))::int8 - (head - sequenced) AS before FROM"
	"   (SELECT chain_id, sequenced, head FROM chain WHERE is_new ORDER BY chain_id LIMIT $1) c) b WHERE before < $2 OFFSET 0) t"
	" CROSS JOIN LATERAL (SELECT chain_id, lamport, chain_hash FROM receipt WHERE chain_id = t.chain_id AND lamport > t.sequenced"
	"  AND lamport <= t.until OFFSET 0) r ORDER BY 1, 2";

static int take_leaves(struct db *d, struct arena *a, uint64_t size, struct growth *g, struct err *e)
{
	AUTO(pg_rows_done) struct pg_rows rows = { 0 };
	int rc = pg_ask_kept(d, leaves_sql,
		(struct pg_value[]){ pg_i(a, CHAINS_A_TICK), pg_i(a, LEAVES_A_TICK) }, 2, &rows, e);

	if (rc)
		return rc;
	pg_array_begin(&g->chain, a, DB_INT8);
	pg_array_begin(&g->first, a, DB_INT8);
	pg_array_begin(&g->count, a, DB_INT8);
	pg_array_begin(&g->leaf, a, DB_INT8);
	pg_array_begin(&g->until, a, DB_INT8);
	g->n = (size_t)rows.n;
	g->leaves = arena_zalloc(a, g->n + 1, sizeof(*g->leaves));
	for (int i = 0; i < rows.n;) {
		int64_t chain = pg_int(&rows, i, 0), clock = pg_int(&rows, i, 3);
		int from = i;
		for (; i < rows.n && pg_int(&rows, i, 0) == chain; i++) {
			if (pg_int(&rows, i, 1) != ++clock)
				return err_set(e, E_CORRUPT, "FLEET_GAP",
					"chain %lld has no receipt %lld: the projection has a hole; helm serve fleet rebuild",
					(long long)chain, (long long)clock);
			memcpy(g->leaves[i].b, pg_bytes(&rows, i, 2).p, sizeof(g->leaves[i].b));
		}
		pg_array_int(&g->chain, chain);
		pg_array_int(&g->first, pg_int(&rows, from, 1));
		pg_array_int(&g->count, i - from);
		pg_array_int(&g->leaf, (int64_t)size + from);
		pg_array_int(&g->until, clock);
	}
	return OK;
}

static int put_tiles(
	struct db *d, struct arena *a, int32_t tenant, const struct tile_rows *tiles, struct err *e)
{
	struct pg_array level, idx, width, data;

	pg_array_begin(&level, a, DB_INT4);
	pg_array_begin(&idx, a, DB_INT8);
	pg_array_begin(&width, a, DB_INT4);
	pg_array_begin(&data, a, DB_BYTES);
	for (size_t i = 0; i < tiles->n; i++) {
		pg_array_int(&level, tiles->list[i].at.level);
		pg_array_int(&idx, (int64_t)tiles->list[i].at.idx);
		pg_array_int(&width, tiles->list[i].at.width);
		pg_array_bytes(&data, tiles->list[i].data);
	}
	return pg_do(d,
		"INSERT INTO tile(tenant_id, level, idx, width, data) SELECT $1::int4, t.level::int2, t.idx, t.width::int2, t.data "
		"FROM unnest($2::int4[], $3::int8[], $4::int4[], $5::bytea[]) AS t(level, idx, width, data) "
		"ON CONFLICT (tenant_id, level, idx) DO UPDATE SET width = excluded.width, data = excluded.data",
		(struct pg_value[]){ pg_i(a, tenant), pg_array_value(&level), pg_array_value(&idx),
			pg_array_value(&width), pg_array_value(&data) },
		5, NULL, e);
}

static int put_spans(struct db *d, struct arena *a, int32_t tenant, struct growth *g, struct err *e)
{
	int rc = pg_do(d,
		"INSERT INTO span(tenant_id, chain_id, lamport_first, n, leaf_first) SELECT $1::int4, * "
		"FROM unnest($2::int8[], $3::int8[], $4::int8[], $5::int8[])",
		(struct pg_value[]){ pg_i(a, tenant), pg_array_value(&g->chain), pg_array_value(&g->first),
			pg_array_value(&g->count), pg_array_value(&g->leaf) },
		5, NULL, e);

	return rc
		? rc
		: pg_do(d,
			  "UPDATE chain SET sequenced = u.until FROM unnest($1::int8[], $2::int8[]) AS u(chain_id, until) "
			  "WHERE chain.chain_id = u.chain_id",
			  (struct pg_value[]){ pg_array_value(&g->chain), pg_array_value(&g->until) }, 2,
			  NULL, e);
}

int tree_tick(struct db *d, struct arena *a, int32_t tenant, const struct tree_at *at, size_t *ret_added,
	struct err *e)
{
	const struct tile_source source = tree_source(d);
	struct tile_rows tiles = { 0 };
	struct growth g;
	struct hash root;
	int rc = take_leaves(d, a, at->size, &g, e);

	*ret_added = 0;
	if (rc || !g.n)
		return rc;
	rc = tile_append(a, &source, at->size, &at->root, g.leaves, g.n, &tiles, &root, e);
	if (rc == OK)
		rc = put_tiles(d, a, tenant, &tiles, e);
	if (rc == OK)
		rc = put_spans(d, a, tenant, &g, e);
	if (rc == OK)
		rc = pg_do(d, "UPDATE log SET tree_size = $1, root = $2",
			(struct pg_value[]){ pg_i(a, (int64_t)(at->size + g.n)),
				pg_b((struct bytes){ root.b, sizeof(root.b) }) },
			2, NULL, e);
	*ret_added = g.n;
	return rc;
}

/* ---- proofs ---- */

int tree_leaf_of(struct db *d, struct arena *a, int64_t chain_id, int64_t clock, uint64_t *ret, struct err *e)
{
	AUTO(pg_rows_done) struct pg_rows rows = { 0 };
	int rc = pg_ask(d,
		"SELECT leaf_first + $2 - lamport_first FROM span WHERE chain_id = $1 AND lamport_first <= $2 AND $2 < lamport_first + n",
		(struct pg_value[]){ pg_i(a, chain_id), pg_i(a, clock) }, 2, &rows, e);

	if (rc == OK && !rows.n)
		return err_set(e, E_MISSING, "FLEET_PROOF", "this receipt is not in the tree yet");
	if (rc == OK)
		*ret = (uint64_t)pg_int(&rows, 0, 0);
	return rc;
}

int tree_checkpoint(struct db *d, struct arena *a, const char **ret_note, uint64_t *ret_size, struct err *e)
{
	AUTO(pg_rows_done) struct pg_rows rows = { 0 };
	int rc = pg_ask(d, "SELECT note, tree_size FROM checkpoint ORDER BY tree_size DESC LIMIT 1", NULL, 0,
		&rows, e);

	if (rc == OK && !rows.n)
		return err_set(e, E_MISSING, "FLEET_CHECKPOINT", "nothing of this log is signed yet");
	if (rc == OK) {
		*ret_note = pg_text(&rows, a, 0, 0);
		*ret_size = (uint64_t)pg_int(&rows, 0, 1);
	}
	return rc;
}

static struct json *path_json(struct arena *a, const struct hash *path, size_t n)
{
	struct json *list = json_new(a, JSON_ARRAY);

	for (size_t i = 0; i < n; i++)
		json_pushs(a, list, hash_hex(a, &path[i]));
	return list;
}

int tree_place(
	struct db *d, struct arena *a, int64_t chain_id, int64_t clock, struct json **ret, struct err *e)
{
	const struct tile_source source = tree_source(d);
	struct hash path[MERKLE_MAX_PATH];
	const char *note;
	uint64_t size, leaf = 0;
	size_t n;
	int rc = tree_checkpoint(d, a, &note, &size, e);

	if (rc == OK)
		rc = tree_leaf_of(d, a, chain_id, clock, &leaf, e);
	if (rc == OK && leaf >= size)
		rc = err_set(e, E_MISSING, "FLEET_PROOF", "the newest checkpoint does not reach so far yet");
	if (rc == OK)
		rc = tile_prove_inclusion(a, &source, size, leaf, path, &n, e);
	if (rc)
		return rc;
	*ret = json_new(a, JSON_OBJECT);
	json_seti(a, *ret, "leaf_index", (int64_t)leaf);
	json_set(a, *ret, "audit_path", path_json(a, path, n));
	json_sets(a, *ret, "checkpoint", note);
	return OK;
}

/* The newest checkpoint, the place of the receipt in it, and that it goes on from the tree of `old` leaves. */
static int prove(struct call *c, struct db *d, int64_t chain_id, int64_t clock, uint64_t old,
	struct json *doc, struct err *e)
{
	const struct tile_source source = tree_source(d);
	struct hash path[MERKLE_MAX_PATH];
	const char *note;
	uint64_t size, leaf = 0;
	size_t n;
	int rc = tree_checkpoint(d, c->a, &note, &size, e);

	if (rc == OK && clock)
		rc = tree_leaf_of(d, c->a, chain_id, clock, &leaf, e);
	if (rc == OK && (old > size || (clock && leaf >= size)))
		rc = err_set(e, E_MISSING, "FLEET_PROOF", "the newest checkpoint does not reach so far yet");
	if (rc)
		return rc;
	json_sets(c->a, doc, "checkpoint", note);
	if (clock) {
		rc = tile_prove_inclusion(c->a, &source, size, leaf, path, &n, e);
		if (rc)
			return rc;
		json_seti(c->a, doc, "index", (int64_t)leaf);
		json_set(c->a, doc, "inclusion", path_json(c->a, path, n));
	}
	if (!old)
		return OK;
	rc = tile_prove_consistency(c->a, &source, size, old, path, &n, e);
	if (rc == OK)
		json_set(c->a, doc, "consistency", path_json(c->a, path, n));
	return rc;
}

int fleet_proofs(struct call *c, struct err *e)
{
	AUTO(lent_back) struct lent l = { 0 };
	struct caller_of who = { 0 };
	struct chain_row at = { 0 };
	struct json *doc = json_new(c->a, JSON_OBJECT);
	int64_t clock, old;
	int rc = fleet_enter(c, &who, e);

	if (rc == OK &&
		(!text_int(c->args[1], &clock) || clock < 0 || !text_int(c->args[2], &old) || old < 0))
		rc = call_refuse(c, e, 400, "BAD_REQUEST", "clock and size are whole numbers");
	if (rc == OK)
		rc = lend(c->server->fleet->pool, POOL_READ, who.tenant.id, &l, e);
	if (rc == OK && clock)
		rc = chain_find(l.d, c->a, who.node.id, c->args[0], &at, e);
	if (rc == OK)
		rc = prove(c, l.d, at.chain_id, clock, (uint64_t)old, doc, e);
	if (rc)
		return database_refuses(c, e);
	call_answer(c, 200, doc);
	return OK;
}

/* ---- the log as anybody reads it ---- */

static int give_tile(struct call *c, struct db *d, const struct tile *t, struct err *e)
{
	struct bytes data;
	struct tree_at now;
	int rc = tree_state(d, c->a, false, &now, e);

	if (rc == OK && tile_of(now.size, t->level, t->idx).width < t->width)
		rc = err_set(e, E_MISSING, "NOT_FOUND", "the tree has no such tile yet");
	if (rc == OK)
		rc = read_tile(d, c->a, t, &data, e);
	if (rc)
		return rc;
	call_send_header(c, "Cache-Control", "public, max-age=31536000, immutable");
	call_bytes(c, 200, "application/octet-stream", (struct bytes){ data.p, tile_bytes(t) });
	return OK;
}

int fleet_log(struct call *c, struct err *e)
{
	AUTO(lent_back) struct lent l = { 0 };
	struct tenant tenant;
	const char *rest = strchr(c->path + strlen("/log/"), '/'), *note;
	struct tile t;
	uint64_t size;
	int rc = lend(c->server->fleet->pool, POOL_READ, 0, &l, e);

	rest = rest ? rest + 1 : "";
	if (rc == OK)
		rc = tenant_find(l.d, c->a, c->args[0], NULL, &tenant, e);
	if (rc == OK) {
		pg_rollback(l.d);
		rc = pg_begin(l.d, tenant.id, e);
	}
	if (rc)
		return database_refuses(c, e);
	if (tile_parse_path(bytes_of(rest), &t))
		rc = give_tile(c, l.d, &t, e);
	else if (!text_eq(rest, "checkpoint"))
		return call_refuse(c, e, 404, "NOT_FOUND", "a log has checkpoint and tile/...");
	else if ((rc = tree_checkpoint(l.d, c->a, &note, &size, e)) == OK) {
		call_send_header(c, "Cache-Control", "public, max-age=1");
		call_bytes(c, 200, "text/plain; charset=utf-8", bytes_of(note));
	}
	return rc ? database_refuses(c, e) : OK;
}
