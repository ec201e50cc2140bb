/* centre_export.c — evidence of a fleet in one file that anybody checks alone (docs/formats/fleet-pack.md). */
#include "base/file.h"
#include "base/text.h"
#include "base/zst.h"
#include "proof/fleet_pack.h"
#include "proof/tlog_proof.h"
#include "record/record.h"
#include "serve/fleet/centre.h"
#include "serve/fleet/tree.h"

#include <fcntl.h>
#include <string.h>

/* Everything is read in one transaction with one snapshot. */
struct exporting {
	struct centre *c;
	struct fleet_pack pack;
	const char *note;
	uint64_t size;
	int64_t chains, receipts;
};

static int keys_of(struct centre *c, int64_t node, struct bytes *ret, struct err *e)
{
	AUTO(pg_rows_done) struct pg_rows rows = { 0 };
	struct buf text;
	int rc = pg_ask(c->d, "SELECT link FROM node_key WHERE node_id = $1 ORDER BY sequence",
		(struct pg_value[]){ pg_i(c->a, node) }, 1, &rows, e);

	buf_init(&text, c->a);
	for (int i = 0; rc == OK && i < rows.n; i++) {
		struct bytes link = pg_bytes(&rows, i, 0);
		buf_add(&text, link.p, link.n);
		buf_addc(&text, '\n');
	}
	*ret = buf_bytes(&text);
	return rc;
}

/* The last receipt that the checkpoint covers, and that it is there. */
static int prove_end(struct exporting *x, int64_t chain_id, struct fleet_chain *ret, struct err *e)
{
	struct centre *c = x->c;
	AUTO(pg_rows_done) struct pg_rows rows = { 0 };
	const struct tile_source source = tree_source(c->d);
	struct tlog_proof proof = { .checkpoint = bytes_of(x->note) };
	uint64_t leaf;
	int rc = pg_ask(c->d,
		"SELECT s.lamport_first + least(s.n, $2 - s.leaf_first) - 1, r.chain_hash FROM span s JOIN receipt r ON r.chain_id = s.chain_id AND "
		"r.lamport = s.lamport_first + least(s.n, $2 - s.leaf_first) - 1 WHERE s.chain_id = $1 AND s.leaf_first < $2 ORDER BY s.lamport_first DESC LIMIT 1",
		(struct pg_value[]){ pg_i(c->a, chain_id), pg_i(c->a, (int64_t)x->size) }, 2, &rows, e);

	ret->last = 0;
	if (rc || !rows.n)
		return rc;
	ret->last = (uint64_t)pg_int(&rows, 0, 0);
	memcpy(ret->last_hash.b, pg_bytes(&rows, 0, 1).p, sizeof(ret->last_hash.b));
	rc = tree_leaf_of(c->d, c->a, chain_id, (int64_t)ret->last, &leaf, e);
	proof.index = leaf;
	if (rc == OK)
		rc = tile_prove_inclusion(c->a, &source, x->size, leaf, proof.path, &proof.n, e);
	if (rc == OK)
		ret->proof = bytes_of(tlog_proof_text(c->a, &proof));
	return rc;
}

/* The lines of a bundle up to a clock. */
static int unpack(
	struct arena *a, const struct pg_rows *rows, int i, uint64_t last, struct bytes *ret, struct err *e)
{
	AUTO(zst_done) struct zst z = { 0 };
	size_t raw = (size_t)pg_int(rows, i, 2);
	uint64_t first = (uint64_t)pg_int(rows, i, 0), n = (uint64_t)pg_int(rows, i, 1);
	char *text = arena_text(a, raw + 1);
	int rc = zst_unpack(&z, pg_bytes(rows, i, 3), text, raw, e);
	struct bytes rest = { (const uint8_t *)text, raw };

	for (uint64_t k = first; rc == OK && k < first + n && k <= last; k++)
		(void)text_cut(&rest, '\n');
	*ret = (struct bytes){ (const uint8_t *)text,
		rest.p ? (size_t)(rest.p - (const uint8_t *)text) : raw };
	return rc;
}

/* How many bytes its lines up to a clock are, and its first clock: before the first of them is written. */
static int measure_lines(struct centre *c, int64_t chain_id, struct fleet_chain *ret, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	AUTO(pg_rows_done) struct pg_rows whole = { 0 };
	AUTO(pg_rows_done) struct pg_rows cut = { 0 };
	const struct pg_value which[] = { pg_i(&a, chain_id), pg_i(&a, (int64_t)ret->last) };
	struct bytes text = { 0 };
	int rc = pg_ask(c->d,
		"SELECT coalesce(sum(raw::int8) FILTER (WHERE first + n - 1 <= $2), 0)::int8, coalesce(min(first), 1) FROM bundle WHERE chain_id = $1 AND first <= $2",
		which, 2, &whole, e);

	if (rc == OK)
		rc = pg_ask(c->d,
			"SELECT first, n, raw, data FROM bundle WHERE chain_id = $1 AND first <= $2 AND first + n - 1 > $2",
			which, 2, &cut, e);
	if (rc == OK && cut.n)
		rc = unpack(&a, &cut, 0, ret->last, &text, e);
	if (rc)
		return rc;
	ret->receipts_bytes = (uint64_t)pg_int(&whole, 0, 0) + text.n;
	ret->first = (uint64_t)pg_int(&whole, 0, 1);
	return OK;
}

/* Some frames at a time: a chain may be longer than memory. */
static int write_lines(struct exporting *x, int64_t chain_id, const struct fleet_chain *chain, struct err *e)
{
	enum { FRAMES = 16 };
	int64_t after = 0;
	uint64_t bytes = 0;
	int rc = OK;

	for (bool is_over = false; rc == OK && !is_over;) {
		AUTO(arena_done) struct arena a = { 0 };
		AUTO(pg_rows_done) struct pg_rows rows = { 0 };
		rc = pg_ask(x->c->d,
			"SELECT first, n, raw, data FROM bundle WHERE chain_id = $1 AND first <= $2 AND first > $3 ORDER BY first LIMIT $4",
			(struct pg_value[]){ pg_i(&a, chain_id), pg_i(&a, (int64_t)chain->last),
				pg_i(&a, after), pg_i(&a, FRAMES) },
			4, &rows, e);
		for (int i = 0; rc == OK && i < rows.n; i++) {
			AUTO(arena_done) struct arena one = { 0 };
			struct bytes text;
			rc = unpack(&one, &rows, i, chain->last, &text, e);
			bytes += rc ? 0 : text.n;
			if (rc == OK && bytes <= chain->receipts_bytes)
				fleet_pack_receipts(&x->pack, text);
			after = pg_int(&rows, i, 0);
		}
		is_over = rows.n < FRAMES || bytes > chain->receipts_bytes;
	}
	return rc || bytes == chain->receipts_bytes
		? rc
		: err_set(e, E_CORRUPT, "FLEET_EXPORT",
			  "what is kept of chain %s is not as long as the ledger says; run: helm fleet audit --deep",
			  chain->session_id);
}

static int add_chain(struct exporting *x, const char *session, int64_t chain_id, int64_t node, struct err *e)
{
	struct fleet_chain chain = { .session_id = session };
	int rc = prove_end(x, chain_id, &chain, e);

	if (rc || !chain.last)
		return rc;
	rc = keys_of(x->c, node, &chain.keys, e);
	if (rc == OK)
		rc = measure_lines(x->c, chain_id, &chain, e);
	if (rc)
		return rc;
	fleet_pack_chain(&x->pack, &chain);
	rc = write_lines(x, chain_id, &chain, e);
	x->chains++;
	x->receipts += (int64_t)(chain.last - chain.first + 1);
	return rc;
}

static int add_chains(struct exporting *x, struct err *e)
{
	struct centre *c = x->c;
	AUTO(pg_rows_done) struct pg_rows rows = { 0 };
	int rc = pg_ask(c->d,
		"SELECT session_id, chain_id, node_id FROM chain WHERE ($1::int8 IS NULL OR node_id = $1) AND sequenced > 0 ORDER BY session_id, epoch",
		(struct pg_value[]){ pg_t(json_get_text(c->q, "node", NULL)) }, 1, &rows, e);

	for (int i = 0; rc == OK && i < rows.n; i++)
		rc = add_chain(x, pg_text(&rows, c->a, i, 0), pg_int(&rows, i, 1), pg_int(&rows, i, 2), e);
	if (rc == OK && !x->chains)
		return err_set(
			e, E_MISSING, "FLEET_EXPORT", "there is nothing in the signed tree to export yet");
	return rc;
}

int ledger_line(
	struct db *d, struct arena *a, int64_t chain_id, int64_t lamport, struct bytes *ret, struct err *e)
{
	AUTO(pg_rows_done) struct pg_rows rows = { 0 };
	struct bytes text;
	int rc = pg_ask(d,
		"SELECT first, n, raw, data FROM bundle WHERE chain_id = $1 AND first <= $2 AND $2 < first + n",
		(struct pg_value[]){ pg_i(a, chain_id), pg_i(a, lamport) }, 2, &rows, e);

	if (rc == OK && !rows.n)
		return err_set(e, E_MISSING, "FLEET_EXPORT", "this receipt is not kept any more");
	if (rc == OK)
		rc = unpack(a, &rows, 0, (uint64_t)lamport, &text, e);
	while (rc == OK && text.n)
		*ret = text_cut(&text, '\n');
	return rc;
}

/* The receipt of ours, by its place in its bundle. */
static int our_receipt(struct centre *c, int64_t chain_id, int64_t lamport, struct json **ret, struct err *e)
{
	struct bytes line = { 0 };
	int rc = ledger_line(c->d, c->a, chain_id, lamport, &line, e);

	return rc ? rc : json_parse(c->a, line, "receipt", NULL, ret, e);
}

static int add_fork(struct exporting *x, const struct pg_rows *rows, int i, struct err *e)
{
	struct centre *c = x->c;
	struct json *doc = json_new(c->a, JSON_OBJECT), *links = json_new(c->a, JSON_ARRAY),
		    *both = json_new(c->a, JSON_ARRAY), *ours, *theirs;
	struct bytes keys;
	int rc = our_receipt(c, pg_int(rows, i, 1), pg_int(rows, i, 2), &ours, e);

	if (rc == OK)
		rc = json_parse(c->a, pg_bytes(rows, i, 3), "receipt", NULL, &theirs, e);
	if (rc == OK)
		rc = keys_of(c, pg_int(rows, i, 4), &keys, e);
	while (rc == OK && keys.n) {
		struct json *link;
		rc = json_parse(c->a, text_cut(&keys, '\n'), "link", NULL, &link, e);
		if (rc == OK)
			json_push(c->a, links, link);
	}
	if (rc)
		return rc;
	json_push(c->a, both, ours);
	json_push(c->a, both, theirs);
	json_sets(c->a, doc, "session_id", pg_text(rows, c->a, i, 0));
	json_seti(c->a, doc, "lamport_clock", pg_int(rows, i, 2));
	json_set(c->a, doc, "keys", links);
	json_set(c->a, doc, "receipts", both);
	fleet_pack_fork(&x->pack, doc);
	return OK;
}

static int add_rest(struct exporting *x, struct err *e)
{
	struct centre *c = x->c;
	AUTO(pg_rows_done) struct pg_rows forks = { 0 };
	AUTO(pg_rows_done) struct pg_rows orders = { 0 };
	struct buf lines;
	int rc = pg_ask(c->d,
		"SELECT c.session_id, f.chain_id, f.lamport, f.receipt, c.node_id FROM fork f JOIN chain c USING (chain_id) WHERE ($1::int8 IS NULL OR c.node_id = $1) "
		"ORDER BY c.session_id, f.lamport, f.theirs",
		(struct pg_value[]){ pg_t(json_get_text(c->q, "node", NULL)) }, 1, &forks, e);

	fleet_pack_checkpoint(&x->pack, bytes_of(x->note));
	for (int i = 0; rc == OK && i < forks.n; i++)
		rc = add_fork(x, &forks, i, e);
	if (rc == OK && !c->is_part)
		rc = pg_ask(c->d, "SELECT body FROM directive ORDER BY seq", NULL, 0, &orders, e);
	buf_init(&lines, c->a);
	for (int i = 0; rc == OK && i < orders.n; i++) {
		struct bytes line = pg_bytes(&orders, i, 0);
		buf_add(&lines, line.p, line.n);
		buf_addc(&lines, '\n');
	}
	if (rc == OK)
		fleet_pack_orders(&x->pack, buf_bytes(&lines));
	return rc;
}

static int fill(void *arg, struct sys *s, int fd, struct err *e)
{
	struct exporting *x = arg;
	struct centre *c = x->c;
	struct sink_fd file;

	fleet_pack_begin(&x->pack, c->a, sink_to_fd(&file, s, fd, json_get_text(c->q, "out", "")),
		c->tenant.origin, c->tenant.log_vkey, c->tenant.control_vkey);
	int rc = add_chains(x, e);
	if (rc == OK)
		rc = add_rest(x, e);
	if (rc == OK)
		rc = fleet_pack_end(&x->pack, e);
	return rc ? rc : sink_fd_flush(&file, e);
}

static int begin(struct exporting *x, struct err *e)
{
	int rc = centre_open(x->c, ROLE_READ, e);

	if (rc == OK)
		rc = pg_script(x->c->d, "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ", e);
	return rc ? rc : tree_checkpoint(x->c->d, x->c->a, &x->note, &x->size, e);
}

int centre_export_to(struct centre *c, int fd, struct err *e)
{
	struct exporting x = { .c = c };
	int rc = begin(&x, e);

	return rc ? rc : fill(&x, c->sys, fd, e);
}

int centre_export(struct centre *c, struct json **ret, struct err *e)
{
	struct exporting x = { .c = c };
	int rc = begin(&x, e);

	if (rc == OK)
		rc = file_replace_by(c->sys, AT_FDCWD, json_get_text(c->q, "out", ""), 0644, fill, &x, e);
	if (rc)
		return rc;
	*ret = json_new(c->a, JSON_OBJECT);
	json_sets(c->a, *ret, "file", json_get_text(c->q, "out", ""));
	json_seti(c->a, *ret, "chains", x.chains);
	json_seti(c->a, *ret, "receipts", x.receipts);
	json_seti(c->a, *ret, "leaves", (int64_t)x.size);
	return OK;
}
