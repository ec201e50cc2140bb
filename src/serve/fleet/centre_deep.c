/* centre_deep.c — audit of everything: that what is shown is what was received, and that it is what the tree has.
 *
 * Whoever has the database can change rows of the projection, and every search would show that.  What was received is the truth: each frame is unpacked,
 * its receipts are hashed, and the rows must say the same.  The hashes must be the entries of the tree, whose root is signed and cosigned.  That the
 * receipts are signed by their machines is left to `helm verify` and a pack. */
#include "base/text.h"
#include "serve/fleet/audit.h"

/* ---- rows against frames ---- */

static const char differs_sql[] =
	"SELECT c.session_id, 'receipt ' || w.lamport || ' is not what was received' FROM"
	" unnest($1::int8[], $2::int8[], $3::int8[], $4::bytea[], $5::int4[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[], $11::text[], $12::text[])"
	" AS w(chain_id, lamport, at, hash, verdict, rtype, reason, rule, tool, principal, decision_id, digest) JOIN chain c USING (chain_id)"
	" LEFT JOIN receipt r ON r.chain_id = w.chain_id AND r.lamport = w.lamport"
	" WHERE w.lamport > c.detached AND (r.chain_hash, r.verdict::int4, r.rtype, r.reason, r.rule, r.tool, r.principal, r.decision_id, r.at)"
	" IS DISTINCT FROM (w.hash, w.verdict, w.rtype, w.reason, w.rule, w.tool, w.principal, w.decision_id, to_timestamp(w.at / 1000000.0))"
	" OR w.lamport > c.detached AND encode(sha256(convert_to(r.caption, 'UTF8')), 'hex') <> w.digest"
	" ORDER BY 1, w.lamport";

static int compare_rows(struct auditing *x, struct receipt_columns *r, struct err *e)
{
	const struct pg_value values[] = { pg_array_value(&r->chain), pg_array_value(&r->lamport),
		pg_array_value(&r->at), pg_array_value(&r->hash), pg_array_value(&r->verdict),
		pg_array_value(&r->type), pg_array_value(&r->reason), pg_array_value(&r->rule),
		pg_array_value(&r->tool), pg_array_value(&r->principal), pg_array_value(&r->decision),
		pg_array_value(&r->caption) };

	return audit_find_rows(x, "changed", differs_sql, values, ARRAY_SIZE(values), e);
}

static int audit_rows(struct auditing *x, struct err *e)
{
	struct anchors said;
	struct bundle_walk w = { .d = x->c->d, .see = anchors_see, .arg = &said };
	int rc = OK;

	while (rc == OK && !w.is_over) {
		AUTO(arena_done) struct arena a = { 0 };
		struct receipt_columns r;
		struct err why = { 0 };
		columns_begin(&r, &a);
		anchors_begin(&said, &a, x->c->tenant.origin);
		rc = bundle_walk(&w, &a, &r, &why);
		if (rc == E_CORRUPT ||
			rc == E_INPUT) { /* what can be read no more is told, and the rest is looked at */
			audit_find(x, "changed", "bundle",
				arena_printf(x->c->a, "of chain %lld, from receipt %lld on: %s",
					(long long)w.chain_id, (long long)w.first, why.text));
			rc = OK;
		} else if (rc) {
			*e = why;
		}
		if (rc == OK && r.chain.n)
			rc = compare_rows(x, &r, e);
		if (rc == OK)
			rc = audit_anchors(x, &said, e);
	}
	return rc;
}

/* ---- rows against the tree ---- */

/* An entry is two bytes of length and the hash. */
static const char entries_sql[] =
	"SELECT c.session_id, 'receipt ' || l.lamport || ' is not the entry ' || l.leaf || ' of the log' FROM"
	" (SELECT r.chain_id, r.lamport, r.chain_hash, s.leaf_first + r.lamport - s.lamport_first AS leaf FROM receipt r JOIN span s ON s.chain_id = r.chain_id"
	"  AND r.lamport >= s.lamport_first AND r.lamport < s.lamport_first + s.n) l JOIN chain c USING (chain_id)"
	" LEFT JOIN tile t ON t.level = -1 AND t.idx = l.leaf / 256"
	" WHERE substr(t.data, (l.leaf % 256)::int4 * 34 + 3, 32) IS DISTINCT FROM l.chain_hash ORDER BY 1, l.lamport";
static const char unproven_sql[] =
	"SELECT c.session_id, 'receipts up to ' || c.sequenced || ' are said to be in the log, and ' || coalesce(s.n, 0) || ' are' FROM chain c"
	" LEFT JOIN (SELECT chain_id, sum(n)::int8 AS n FROM span GROUP BY 1) s USING (chain_id) WHERE coalesce(s.n, 0) <> c.sequenced";
/* Level 0 has the hashes of the entries; the root follows from it. */
static const char leaves_sql[] =
	"SELECT 'log', 'entries from ' || t.idx * 256 || ' on are not what the tree was made of' FROM tile t LEFT JOIN tile z ON z.level = 0 AND z.idx = t.idx"
	" WHERE t.level = -1 AND EXISTS (SELECT FROM generate_series(0, t.width - 1) i"
	"  WHERE sha256('\\x00'::bytea || substr(t.data, i * 34 + 3, 32)) IS DISTINCT FROM substr(z.data, i * 32 + 1, 32))";

int audit_deep(struct auditing *x, struct err *e)
{
	int rc = audit_rows(x, e);

	if (rc == OK)
		rc = audit_find_rows(x, "changed", entries_sql, NULL, 0, e);
	if (rc == OK)
		rc = audit_find_rows(x, "changed", unproven_sql, NULL, 0, e);
	return rc ? rc : audit_find_rows(x, "changed", leaves_sql, NULL, 0, e);
}
