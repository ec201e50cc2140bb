/* centre_keep.c — keeping a ledger: its projection made again, what is old detached, its log as files. */
#include "base/file.h"
#include "base/text.h"
#include "base/zst.h"
#include "proof/preimage.h"
#include "serve/fleet/audit.h"
#include "serve/fleet/tree.h"

#include <fcntl.h>
#include <string.h>

enum { BUNDLES_AT_ONCE = 8, TILES_AT_ONCE = 256 };

/* ---- the projection ---- */

/* The columns copy what they keep: a bundle's text is held while it is read, a receipt's tree until the next one. */
static int add_bundle(const struct bundle_walk *w, struct bytes frame, size_t raw, struct receipt_columns *to,
	struct err *e)
{
	AUTO(zst_done) struct zst z = { 0 };
	AUTO(arena_done) struct arena unpacked = { 0 };
	AUTO(arena_done) struct arena a = { 0 };

	if (raw > BATCH_RAW)
		return err_set(e, E_CORRUPT, "BUNDLE",
			"it says that it has %zu bytes, and none has more than %d", raw, BATCH_RAW);
	char *text = arena_text(&unpacked, raw + 1);
	struct bytes rest = { (const uint8_t *)text, raw };
	int rc = zst_unpack(&z, frame, text, raw, e);

	while (rc == OK && rest.n) {
		struct json *receipt;
		struct hash chain;
		rc = json_parse(&a, text_cut(&rest, '\n'), "receipt", NULL, &receipt, e);
		if (rc == OK)
			rc = receipt_chain_hash(&a, receipt, chain.b, e);
		if (rc == OK)
			columns_add(to, w->chain_id, receipt, &chain,
				json_get_text(json_get(receipt, "metadata"), "preview_sha256", ""));
		if (rc == OK && w->see)
			w->see(w->arg, w->chain_id, receipt);
		arena_reset(&a);
	}
	return rc;
}

static int insert_columns(struct centre *c, struct arena *a, struct receipt_columns *r, struct err *e)
{
	return pg_do(c->d,
		"INSERT INTO receipt(tenant_id, chain_id, lamport, received_at, at, chain_hash, verdict, rtype, reason, rule, tool, principal, decision_id)"
		" SELECT $1::int4, r.chain_id, r.lamport, b.received_at, to_timestamp(r.at / 1000000.0), r.hash, r.verdict::int2, r.rtype, r.reason, r.rule,"
		" r.tool, r.principal, r.decision_id FROM unnest($2::int8[], $3::int8[], $4::int8[], $5::bytea[], $6::int4[], $7::text[], $8::text[],"
		" $9::text[], $10::text[], $11::text[], $12::text[])"
		" AS r(chain_id, lamport, at, hash, verdict, rtype, reason, rule, tool, principal, decision_id)"
		" JOIN bundle b ON b.chain_id = r.chain_id AND r.lamport >= b.first AND r.lamport < b.first + b.n",
		(struct pg_value[]){ pg_i(a, c->tenant.id), pg_array_value(&r->chain),
			pg_array_value(&r->lamport), pg_array_value(&r->at), pg_array_value(&r->hash),
			pg_array_value(&r->verdict), pg_array_value(&r->type), pg_array_value(&r->reason),
			pg_array_value(&r->rule), pg_array_value(&r->tool), pg_array_value(&r->principal),
			pg_array_value(&r->decision) },
		12, NULL, e);
}

int bundle_walk(struct bundle_walk *w, struct arena *a, struct receipt_columns *to, struct err *e)
{
	AUTO(pg_rows_done) struct pg_rows rows = { 0 };
	int rc = pg_ask(w->d,
		"SELECT chain_id, first, raw, data FROM bundle WHERE (chain_id, first) > ($1, $2) ORDER BY chain_id, first LIMIT $3",
		(struct pg_value[]){ pg_i(a, w->chain_id), pg_i(a, w->first), pg_i(a, BUNDLES_AT_ONCE) }, 3,
		&rows, e);

	for (int i = 0; rc == OK && i < rows.n; i++) {
		w->chain_id = pg_int(&rows, i, 0);
		w->first = pg_int(&rows, i, 1);
		w->bundles++;
		rc = add_bundle(w, pg_bytes(&rows, i, 3), (size_t)pg_int(&rows, i, 2), to, e);
	}
	w->is_over = rc == OK && !rows.n;
	return rc;
}

static int project_some(struct centre *c, struct bundle_walk *w, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct receipt_columns r;

	columns_begin(&r, &a);
	int rc = bundle_walk(w, &a, &r, e);
	return rc || w->is_over ? rc : insert_columns(c, &a, &r, e);
}

/* In one transaction, as the owner.  Captions are no part of what machines signed the bytes of; those that were taken stay. */
int centre_rebuild(struct centre *c, struct json **ret, struct err *e)
{
	int64_t captions = 0;
	int rc = centre_open(c, ROLE_OWNER, e);
	struct bundle_walk w = { .d = c->d };

	if (rc == OK)
		rc = pg_script(c->d,
			"CREATE TEMP TABLE kept_caption ON COMMIT DROP AS SELECT chain_id, lamport, chain_hash, caption FROM receipt WHERE caption IS NOT NULL; "
			"DELETE FROM receipt",
			e);
	while (rc == OK && !w.is_over)
		rc = project_some(c, &w, e);
	if (rc == OK)
		rc = pg_do(c->d,
			"UPDATE receipt r SET caption = k.caption FROM kept_caption k WHERE r.chain_id = k.chain_id AND r.lamport = k.lamport AND r.chain_hash = k.chain_hash",
			NULL, 0, &captions, e);
	if (rc == OK)
		rc = pg_commit(c->d, e);
	if (rc)
		return rc;
	*ret = json_new(c->a, JSON_OBJECT);
	json_seti(c->a, *ret, "bundles", w.bundles);
	json_seti(c->a, *ret, "captions", captions);
	return OK;
}

/* ---- what is old ---- */

/* How far each chain goes in a month that is to go.  What is not in the tree yet stays. */
static int mark_detached(struct centre *c, const char *part, struct err *e)
{
	AUTO(pg_rows_done) struct pg_rows tenants = { 0 };
	int rc = pg_ask(c->d, "SELECT tenant_id FROM tenant", NULL, 0, &tenants, e);

	for (int i = 0; rc == OK && i < tenants.n; i++) {
		AUTO(pg_rows_done) struct pg_rows open = { 0 };
		int64_t tenant = pg_int(&tenants, i, 0);
		rc = pg_script(
			c->d, arena_printf(c->a, "SET LOCAL helm.tenant = '%lld'", (long long)tenant), e);
		if (rc == OK)
			rc = pg_ask(c->d,
				arena_printf(c->a,
					"SELECT c.session_id FROM fleet.%s p JOIN chain c USING (chain_id) WHERE p.lamport > c.sequenced LIMIT 1",
					part),
				NULL, 0, &open, e);
		if (rc == OK && open.n)
			return err_set(e, E_INPUT, "FLEET_RETAIN",
				"%s has receipts that are not in the tree yet", part);
		if (rc == OK)
			rc = pg_do(c->d,
				arena_printf(c->a,
					"UPDATE chain SET detached = greatest(detached, s.hi) FROM (SELECT chain_id, max(lamport) hi FROM fleet.%s WHERE tenant_id = $1 GROUP BY 1) s "
					"WHERE chain.chain_id = s.chain_id",
					part),
				(struct pg_value[]){ pg_i(c->a, tenant) }, 1, NULL, e);
	}
	return rc;
}

/* Questions whose time was over so long ago, and answers to questions that are no more: an answer comes after its question, or with it. */
static int forget_questions(struct centre *c, int64_t days, struct err *e)
{
	AUTO(pg_rows_done) struct pg_rows tenants = { 0 };
	int rc = pg_ask(c->d, "SELECT tenant_id FROM tenant", NULL, 0, &tenants, e);

	for (int i = 0; rc == OK && i < tenants.n; i++) {
		rc = pg_script(c->d,
			arena_printf(
				c->a, "SET LOCAL helm.tenant = '%lld'", (long long)pg_int(&tenants, i, 0)),
			e);
		if (rc == OK)
			rc = pg_do(c->d,
				"DELETE FROM asked WHERE expires_at < now() - make_interval(days => $1::int4)",
				(struct pg_value[]){ pg_i(c->a, days) }, 1, NULL, e);
		if (rc == OK)
			rc = pg_do(c->d,
				"DELETE FROM settled s WHERE NOT EXISTS (SELECT FROM asked q WHERE q.chain_id = s.chain_id AND q.approval_id = s.approval_id)",
				NULL, 0, NULL, e);
	}
	return rc;
}

/* Months that end before the time and are folded in whole.  Spans and tiles stay, so that old proofs hold. */
int centre_retain(struct centre *c, struct json **ret, struct err *e)
{
	AUTO(pg_rows_done) struct pg_rows rows = { 0 };
	int64_t days = json_get_int(c->q, "days", 400);
	struct json *list = json_new(c->a, JSON_ARRAY);
	int rc = centre_connect(c, ROLE_OWNER, e);

	if (rc == OK && days < 1)
		rc = err_set(e, E_USAGE, "USAGE", "--days takes at least one day");
	if (rc == OK)
		rc = pg_begin(c->d, 0, e);
	if (rc == OK)
		rc = pg_ask(c->d,
			"SELECT p.relname FROM pg_inherits i JOIN pg_class p ON p.oid = i.inhrelid "
			"WHERE i.inhparent IN ('fleet.bundle'::regclass, 'fleet.receipt'::regclass) AND p.relname ~ '_[0-9]{4}_[0-9]{2}$' "
			"AND to_date(right(p.relname, 7), 'YYYY_MM') + interval '1 month' < now() - make_interval(days => $1::int4) ORDER BY 1",
			(struct pg_value[]){ pg_i(c->a, days) }, 1, &rows, e);
	for (int i = 0; rc == OK && i < rows.n; i++) {
		const char *part = pg_text(&rows, c->a, i, 0),
			   *of = text_starts(part, "bundle") ? "bundle" : "receipt";
		if (text_eq(of, "receipt"))
			rc = mark_detached(c, part, e);
		if (rc == OK)
			rc = pg_script(c->d,
				arena_printf(
					c->a, "ALTER TABLE fleet.%s DETACH PARTITION fleet.%s", of, part),
				e);
		json_pushs(c->a, list, part);
	}
	if (rc == OK)
		rc = forget_questions(c, days, e);
	if (rc == OK)
		rc = pg_commit(c->d, e);
	*ret = list;
	return rc;
}

/* ---- the log as files ---- */

static int put_tile(struct centre *c, const char *dir, const struct tile *t, struct bytes data, struct err *e)
{
	char name[TILE_PATH];

	tile_path(t, name);
	const char *path = arena_printf(c->a, "%s/%s", dir, name);
	const char *folder = arena_strndup(c->a, path, (size_t)(path_base(path) - path));
	if (file_exists(c->sys, AT_FDCWD, path))
		return OK; /* the same name is the same bytes for ever */
	int rc = file_mkdirs(c->sys, AT_FDCWD, folder, 0755, e);
	return rc ? rc
		  : file_replace(c->sys, AT_FDCWD, path, 0644, (struct bytes){ data.p, tile_bytes(t) }, e);
}

/* Tiles first, the checkpoint that needs them last. */
int centre_tiles(struct centre *c, struct json **ret, struct err *e)
{
	const char *dir = json_get_text(c->q, "dir", ""), *note;
	uint64_t size = 0;
	int64_t level = -2, idx = 0, written = 0, n = 1;
	int rc = centre_open(c, ROLE_READ, e);

	if (rc == OK)
		rc = tree_checkpoint(c->d, c->a, &note, &size, e);
	while (rc == OK && n) {
		AUTO(pg_rows_done) struct pg_rows rows = { 0 };
		rc = pg_ask(c->d,
			"SELECT level, idx, data FROM tile WHERE (level, idx) > ($1, $2) ORDER BY level, idx LIMIT $3",
			(struct pg_value[]){ pg_i(c->a, level), pg_i(c->a, idx), pg_i(c->a, TILES_AT_ONCE) },
			3, &rows, e);
		n = rc == OK ? rows.n : 0;
		for (int i = 0; rc == OK && i < rows.n; i++) {
			level = pg_int(&rows, i, 0);
			idx = pg_int(&rows, i, 1);
			struct tile t = tile_of(size, (int)level, (uint64_t)idx);
			struct bytes data = pg_bytes(&rows, i, 2);
			if (t.width && data.n >= tile_bytes(&t)) {
				rc = put_tile(c, dir, &t, data, e);
				written++;
			}
		}
	}
	if (rc == OK)
		rc = file_replace(
			c->sys, AT_FDCWD, arena_printf(c->a, "%s/checkpoint", dir), 0644, bytes_of(note), e);
	if (rc)
		return rc;
	*ret = json_new(c->a, JSON_OBJECT);
	json_seti(c->a, *ret, "tiles", written);
	json_seti(c->a, *ret, "leaves", (int64_t)size);
	return OK;
}
