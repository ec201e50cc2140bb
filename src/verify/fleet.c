/* fleet.c — what a pack of a fleet proves (docs/formats/fleet-pack.md).
 *
 * Read once, from the front to the end, one file of it in memory at a time.  A chain comes as its proof, its keys, its receipts: when the receipts are there,
 * they are followed link by link under those keys, and the last one has to be the leaf that the proof leads from.  The root that it leads to is that of the one
 * checkpoint.  What the checkpoint is worth is asked at the end: is it signed by the log that the pack names (it is what it says it is), and does it satisfy the
 * policy that the caller brought (it is what everybody sees).
 *
 * The list at the end is not believed but made anew from what was read, and compared byte by byte; so no byte of the pack is without meaning. */
#include "base/hash.h"
#include "base/tar.h"
#include "base/text.h"
#include "proof/fleet_pack.h"
#include "proof/preimage.h"
#include "proof/tlog_proof.h"
#include "verify/parts.h"

#include <string.h>

/* A file is held while it is looked at; more than that was not written by us. */
enum { CHAIN_BYTES = 512 << 20, OTHER_BYTES = 64 << 20, CHAINS_MOST = 1000000 };
#define TOTAL_BYTES ((uint64_t)64 << 30)
#define ONE_BYTES ((size_t)16 << 30)

/* What has to come next; names rise, so nothing comes twice. */
enum part {
	PART_MARK,
	PART_PROOF,
	PART_KEYS,
	PART_RECEIPTS,
	PART_CHECKPOINT,
	PART_FORKS,
	PART_ORDERS,
	PART_LIST
};

struct reading {
	struct verification *v;
	const struct fleet_trust *given;
	struct arena *a; /* what is kept to the end */
	struct arena one; /* what is looked at now */
	struct fleet_list list;
	enum part part; /* of the newest file */
	unsigned chains, forks;
	/* Of the chain that is read now. */
	struct tlog_proof proof;
	struct bytes keys;
	/* All proofs lead to one checkpoint. */
	struct bytes checkpoint;
	struct tlog_head head;
	struct bytes orders;
	struct bytes list_text;
	uint64_t receipts;
	size_t strangers; /* chains and receipts of machines of which the caller brought no key */
	unsigned late; /* chains that do not begin at their beginning */
};

static bool refute(struct reading *r, const char *path, const struct err *e)
{
	verify_at(r->v, path, NULL, NULL, NULL);
	return verify_refute_err(r->v, e);
}

static bool wrong(struct reading *r, const char *path, const char *error, const char *text)
{
	verify_at(r->v, path, NULL, NULL, NULL);
	return verify_refute(r->v, error, "%s", text);
}

/* ---- a chain ---- */

static bool take_proof(struct reading *r, const char *path, struct bytes text)
{
	struct err e = { 0 };
	struct note note;

	/* Kept until the receipts are there. */
	text.p = (const uint8_t *)arena_strndup(r->a, (const char *)text.p, text.n);
	if (tlog_proof_parse(r->a, text, path, &r->proof, &e))
		return refute(r, path, &e);
	if (r->proof.has_extra)
		return wrong(r, path, "proof extra", "the proof carries extra data, which nothing binds");
	if (r->checkpoint.p)
		return bytes_eq(r->checkpoint, r->proof.checkpoint) ||
			wrong(r, path, "several checkpoints",
				"the proof leads to another checkpoint than the one before");
	r->checkpoint = r->proof.checkpoint;
	if (note_parse(r->a, r->checkpoint, path, &note, &e) ||
		tlog_head_parse(r->a, note.text, path, &r->head, &e))
		return refute(r, path, &e);
	return true;
}

/* Trust in the keys of this chain, because the caller brought one of them; otherwise in the first key of the history, which then shows only that the chain
 * agrees with itself and with the log, and the machine is counted as a stranger. */
static bool trust_keys(struct reading *r, const char *path, struct trust *t)
{
	struct bytes rest = r->keys, first = text_cut(&rest, '\n');
	struct trusted_key *own = arena_zalloc(&r->one, 1, sizeof(*own));
	struct json *link;
	struct err e = { 0 };

	*t = *r->v->trust;
	t->root = t->old_root = NULL;
	t->allow_self_attested = false;
	if (t->key_count && trust_add_history_text(&r->one, r->keys, path, t, NULL) == OK)
		return true;
	r->strangers++;
	if (json_parse(&r->one, first, path, NULL, &link, &e))
		return refute(r, path, &e);
	if (!trust_parse_key(member_text(link, "key"), own->key))
		return wrong(r, path, "TRUST_HISTORY", "the history of keys does not begin with a key");
	own->id = "";
	t->keys = own;
	t->key_count = 1;
	return trust_add_history_text(&r->one, r->keys, path, t, &e) == OK || refute(r, path, &e);
}

/* One session, clocks without a gap. */
static bool check_places(
	struct reading *r, const char *path, struct bytes text, const struct line_place *places, size_t n)
{
	struct bytes rest = text;
	const char *session = NULL;

	for (size_t i = 0; i < n; i++) {
		struct arena_mark mark = arena_mark(&r->one);
		struct json *receipt;
		struct bytes line = text_cut(&rest, '\n');
		if (json_parse(&r->one, line, path, NULL, &receipt, NULL))
			return wrong(r, path, "no receipt", "a line of the chain cannot be read");
		const char *id = member_text(receipt, "session_id");
		if (session && !text_eq(session, id))
			return wrong(
				r, path, "several sessions", "receipts of another chain stand among these");
		if (places[i].clock != places[0].clock + i)
			return wrong(r, path, "gap", "the clocks of the chain do not follow each other");
		session = session ? session : arena_strdup(r->a, id);
		arena_release(&r->one, mark);
	}
	fleet_list_chain(&r->list, r->a, session, places[0].clock, places[n - 1].clock, &places[n - 1].chain);
	r->late += places[0].clock != 1;
	r->receipts += n;
	return true;
}

static bool take_receipts(struct reading *r, const char *path, struct bytes text)
{
	struct verification part;
	struct line_place *places;
	struct trust trust;
	struct hash leaf;
	struct err e = { 0 };
	size_t n;

	if (!trust_keys(r, path, &trust))
		return false;
	verification_begin(&part, &r->one, &trust, "receipt chain");
	verify_receipt_places(&part, text, path, &places, &n);
	if (!n || part.integrity != ANSWER_YES || part.trusted != ANSWER_YES) {
		verify_at(r->v, arena_strdup(r->a, part.record ? part.record : path), part.member,
			part.expected, part.found);
		return verify_refute(r->v, arena_strdup(r->a, part.error ? part.error : "chain"), "%s: %s",
			path,
			arena_strdup(r->a, part.text ? part.text : "the chain does not hold under its keys"));
	}
	if (!check_places(r, path, text, places, n))
		return false;
	leaf = merkle_leaf(places[n - 1].chain.b, SHA256_SIZE);
	if (merkle_check_inclusion(
		    &leaf, r->proof.index, r->head.size, r->proof.path, r->proof.n, &r->head.root, &e))
		return refute(r, path, &e);
	return true;
}

/* ---- orders and forks ---- */

static bool check_order(struct reading *r, const struct json *order, int64_t seq, const char *before,
	const struct note_key *key)
{
	const char *hex = member_text(order, "signature");
	struct json *bare = json_copy(&r->one, order);
	uint8_t signature[SIGNATURE_SIZE];
	struct buf text;

	(void)json_remove(bare, "signature");
	buf_init(&text, &r->one);
	buf_adds(&text, "helm:fleet-order:v1\n");
	json_canonical(&text, bare);
	return json_get_int(order, "seq", -1) == seq && text_eq(member_text(order, "prev_hash"), before) &&
		text_eq(member_text(order, "origin"), r->head.origin) && parse_signature(hex, signature) &&
		verify_ed25519(key->pub, buf_bytes(&text), signature);
}

/* Each is the next one, canonical, and signed by the control key; the hash of its line is what the next one names. */
static bool check_orders(struct reading *r, const struct note_key *key)
{
	struct bytes rest = r->orders;
	const char *before = "";

	for (int64_t seq = 1; rest.n; seq++) {
		struct bytes line = text_cut(&rest, '\n');
		struct json *order;
		struct buf spelling;
		if (!rest.p || json_parse(&r->one, line, FLEET_PACK_ORDERS, NULL, &order, NULL))
			return wrong(r, FLEET_PACK_ORDERS, "orders", "an order cannot be read");
		buf_init(&spelling, &r->one);
		json_canonical(&spelling, order);
		if (!bytes_eq(buf_bytes(&spelling), line) || !check_order(r, order, seq, before, key))
			return wrong(r, FLEET_PACK_ORDERS, "orders",
				"an order is not the next one of its chain, signed by the control key");
		before = sha256_hex(&r->one, line.p, line.n);
	}
	return true;
}

/* Both for one place of one chain, different, and each signed by a key of who wrote it: nobody else could have made them. */
static bool take_fork(struct reading *r, const char *path, struct bytes text)
{
	const struct json *receipts, *links;
	struct json *doc, *one[2];
	struct hash chain[2];
	struct buf keys;
	struct err e = { 0 };

	if (json_parse(&r->one, text, path, NULL, &doc, &e))
		return refute(r, path, &e);
	receipts = json_get(doc, "receipts");
	links = json_get(doc, "keys");
	if (!json_is(receipts, JSON_ARRAY) || receipts->n != 2 || !json_is(links, JSON_ARRAY) || !links->n)
		return wrong(r, path, "fork", "a fork has two receipts, and the keys of who signed them");
	buf_init(&keys, &r->one);
	json_each (link, links) {
		json_canonical(&keys, link);
		buf_addc(&keys, '\n');
	}
	r->keys = buf_bytes(&keys);
	for (int i = 0; i < 2; i++) {
		struct verification part;
		struct trust trust;
		one[i] = receipts->items[i];
		if (!trust_keys(r, path, &trust))
			return false;
		verification_begin(&part, &r->one, &trust, "receipt");
		verify_receipt(&part, one[i]);
		if (part.integrity != ANSWER_YES || part.trusted != ANSWER_YES ||
			receipt_chain_hash(&r->one, one[i], chain[i].b, NULL))
			return wrong(
				r, path, "fork", "a receipt of the fork is not signed by one of its keys");
		if (json_get_int(one[i], "lamport_clock", -1) != json_get_int(doc, "lamport_clock", 0) ||
			!text_eq(member_text(one[i], "session_id"), member_text(doc, "session_id")))
			return wrong(
				r, path, "fork", "a receipt of the fork has another place than the fork");
	}
	return !hash_eq(&chain[0], &chain[1]) ||
		wrong(r, path, "fork", "the receipts of the fork are one and the same");
}

/* ---- the parts in their order ---- */

static bool take_mark(struct reading *r, const char *path, struct bytes text)
{
	return bytes_is(text, FLEET_PACK_V1 "\n") ||
		wrong(r, path, "version", "the pack is of a version that is not known here");
}

static bool take_keys(struct reading *r, const char *path, struct bytes text)
{
	(void)path;
	r->keys =
		(struct bytes){ (const uint8_t *)arena_strndup(r->a, (const char *)text.p, text.n), text.n };
	return true;
}

static bool take_checkpoint(struct reading *r, const char *path, struct bytes text)
{
	struct err e = { 0 };
	struct note note;

	if (r->checkpoint.p)
		return bytes_eq(r->checkpoint, text) ||
			wrong(r, path, "several checkpoints",
				"the proofs lead to another checkpoint than this one");
	/* A pack without chains: nothing but orders, or forks. */
	r->checkpoint =
		(struct bytes){ (const uint8_t *)arena_strndup(r->a, (const char *)text.p, text.n), text.n };
	return (note_parse(r->a, r->checkpoint, path, &note, &e) == OK &&
		       tlog_head_parse(r->a, note.text, path, &r->head, &e) == OK) ||
		refute(r, path, &e);
}

static bool take_orders(struct reading *r, const char *path, struct bytes text)
{
	(void)path;
	r->orders =
		(struct bytes){ (const uint8_t *)arena_strndup(r->a, (const char *)text.p, text.n), text.n };
	for (size_t i = 0; i < text.n; i++)
		r->list.orders += text.p[i] == '\n';
	return true;
}

static bool take_list(struct reading *r, const char *path, struct bytes text)
{
	(void)path;
	r->list_text =
		(struct bytes){ (const uint8_t *)arena_strndup(r->a, (const char *)text.p, text.n), text.n };
	return true;
}

/* Which part a name is, and that it is the very next one; false for every other name. */
static bool part_of(struct reading *r, const char *path, enum part *ret)
{
	static const char *const in_chain[] = { "end.tlog-proof", "keys.jsonl", "receipts.jsonl" };
	bool was_chain = r->part == PART_RECEIPTS || r->part == PART_MARK;

	if (r->part >= PART_PROOF && r->part < PART_RECEIPTS) {
		*ret = r->part + 1;
		return text_eq(path,
			arena_printf(&r->one, "chains/%08u/%s", r->chains, in_chain[*ret - PART_PROOF]));
	}
	if (was_chain && text_eq(path, arena_printf(&r->one, "chains/%08u/%s", r->chains + 1, in_chain[0]))) {
		*ret = PART_PROOF;
		return ++r->chains <= CHAINS_MOST;
	}
	if (was_chain) {
		*ret = PART_CHECKPOINT;
		return text_eq(path, FLEET_PACK_CHECKPOINT);
	}
	if (r->part <= PART_FORKS && text_eq(path, arena_printf(&r->one, "forks/%08u.json", r->forks + 1))) {
		*ret = PART_FORKS;
		r->list.forks = ++r->forks;
		return true;
	}
	*ret = r->part < PART_ORDERS ? PART_ORDERS : PART_LIST;
	return r->part < PART_LIST &&
		text_eq(path, r->part < PART_ORDERS ? FLEET_PACK_ORDERS : FLEET_PACK_LIST);
}

static bool take_file(struct reading *r, const char *path, struct bytes text)
{
	static bool (*const takers[])(struct reading * r, const char *path, struct bytes text) = { take_mark,
		take_proof, take_keys, take_receipts, take_checkpoint, take_fork, take_orders, take_list };
	struct hash digest;

	sha256(text.p, text.n, digest.b);
	if (r->part != PART_LIST)
		fleet_list_file(&r->list, r->a, path, text.n, &digest);
	return takers[r->part](r, path, text);
}

/* ---- reading ---- */

static int read_content(struct reading *r, struct tar_reader *tar, const struct tar_entry *at,
	struct bytes *ret, struct err *e)
{
	uint64_t most = r->part == PART_RECEIPTS ? CHAIN_BYTES : OTHER_BYTES;
	size_t n = 0, got = 1;
	int rc = OK;

	if (at->size_bytes > most)
		return err_set(e, E_LIMIT, "PACK_LIMIT", "%s is longer than %llu bytes", at->path,
			(unsigned long long)most);
	uint8_t *text = arena_alloc(&r->one, at->size_bytes + 1);
	for (; rc == OK && got && n < at->size_bytes; n += got)
		rc = tar_read(tar, text + n, at->size_bytes - n, &got, e);
	text[n] = '\0';
	*ret = (struct bytes){ text, n };
	return rc;
}

/* False: something is wrong, and said. */
static bool read_pack(struct reading *r, struct stream *in)
{
	AUTO(arena_done) struct arena names = { 0 };
	const struct tar_limits limits = { .total_bytes = TOTAL_BYTES, .max_entries = 3 * CHAINS_MOST + 100 };
	struct tar_reader tar;
	struct tar_entry at;
	struct bytes text = { 0 };
	struct err e = { 0 };
	enum part next = PART_MARK;
	bool has_more, is_first = true;

	tar_open(&tar, &names, in, &limits);
	for (;;) {
		arena_reset(&r->one);
		if (tar_next(&tar, &at, &has_more, &e))
			return refute(r, "archive", &e);
		if (!has_more)
			break;
		if (at.is_dir ||
			(is_first ? !text_eq(at.path, FLEET_PACK_MARK) : !part_of(r, at.path, &next)))
			return wrong(r, arena_strdup(r->a, at.path), "order",
				"this file has no place here: the pack was put together by something else");
		r->part = next;
		if (read_content(r, &tar, &at, &text, &e))
			return refute(r, arena_strdup(r->a, at.path), &e);
		if (!take_file(r, arena_strdup(r->a, at.path), text))
			return false;
		is_first = false;
	}
	if (r->part != PART_LIST)
		return wrong(r, "archive", "order", "the pack ends before its list");
	return !tar.departure || wrong(r, "archive", "form", tar.departure);
}

/* ---- the end ---- */

/* The list says which keys it was made with; under those the rest must hold, and it must be the list of exactly this. */
static bool check_list(struct reading *r, struct note_key *ret_log, struct note_key *ret_control)
{
	struct json *doc;
	struct err e = { 0 };

	if (json_parse(&r->one, r->list_text, FLEET_PACK_LIST, NULL, &doc, &e))
		return refute(r, FLEET_PACK_LIST, &e);
	const char *log = member_text(doc, "log_key"), *control = member_text(doc, "control_key");
	if (note_key_parse(r->a, bytes_of(log), "log_key", ret_log, &e) ||
		note_key_parse(r->a, bytes_of(control), "control_key", ret_control, &e))
		return refute(r, FLEET_PACK_LIST, &e);
	struct bytes ours = fleet_list_text(&r->one, &r->list, r->head.origin, log, control);
	return bytes_eq(ours, r->list_text) ||
		wrong(r, FLEET_PACK_LIST, "list",
			"the list at the end is not the list of what is in the pack");
}

/* What the caller trusts: the log and its witnesses, and who gives orders. */
static void check_trust(struct reading *r, const struct note_key *control)
{
	struct tlog_seen seen;
	struct err e = { 0 };

	r->v->trusted = ANSWER_UNKNOWN;
	if (!r->given->policy) {
		(void)verify_fail(r->v, "no trusted log key",
			"nothing was given to trust the log by; give its key and those of witnesses: --log-key, --witness-key, or --policy");
		return;
	}
	if (tlog_policy_check(
		    r->a, r->given->policy, r->checkpoint, "the checkpoint of the pack", &seen, &e)) {
		r->v->trusted = ANSWER_NO;
		(void)verify_fail(r->v, arena_strdup(r->a, e.code), "%s", arena_strdup(r->a, e.text));
		return;
	}
	if (r->given->control && r->orders.n &&
		memcmp(r->given->control->pub, control->pub, SIGN_PUBLIC) != 0) {
		r->v->trusted = ANSWER_NO;
		(void)verify_fail(r->v, "control key",
			"the orders are signed by another control key than the one given");
		return;
	}
	if (r->v->trust->key_count && r->strangers) {
		(void)verify_fail(r->v, "unknown machine",
			"%zu chains are of machines whose history has none of the keys that were given",
			r->strangers);
		return;
	}
	r->v->trusted = ANSWER_YES;
	r->v->signer = seen.log->key.name;
	verify_check(r->v, "witnesses", seen.cosigned ? CHECK_PASS : CHECK_NOT_APPLICABLE,
		seen.cosigned ? arena_printf(r->a, "%zu cosigned, first at %s", seen.cosigned,
					text_time_z(r->a, (int64_t)seen.first_time * 1000000))
			      : "none was asked for, so others may have been shown another log");
}

static bool check_end(struct reading *r, struct note_key *ret_control)
{
	struct note_key log;
	struct tlog_policy own;
	struct tlog_seen seen;
	struct err e = { 0 };

	arena_reset(&r->one);
	if (!check_list(r, &log, ret_control))
		return false;
	own = tlog_policy_of(r->a, &log, NULL, 0);
	if (tlog_policy_check(&r->one, &own, r->checkpoint, "the checkpoint", &seen, &e))
		return refute(r, FLEET_PACK_CHECKPOINT, &e);
	return check_orders(r, ret_control);
}

static void tell(struct reading *r)
{
	struct verification *v = r->v;

	verify_check(v, "chains", CHECK_PASS,
		arena_printf(r->a, "%u, %llu receipts, each last one in the log of %llu", r->chains,
			(unsigned long long)r->receipts, (unsigned long long)r->head.size));
	verify_check(v, "orders", r->list.orders ? CHECK_PASS : CHECK_NOT_APPLICABLE,
		arena_printf(r->a, "%lld", (long long)r->list.orders));
	verify_check(v, "forks", CHECK_NOT_APPLICABLE,
		arena_printf(r->a, "%u machines told two stories", r->forks));
	verify_value(v, "origin", r->head.origin);
	verify_value(v, "tree_size", arena_printf(r->a, "%llu", (unsigned long long)r->head.size));
	verify_value(v, "root_hash", hash_hex(r->a, &r->head.root));
	/* That a machine recorded everything, and that all machines are in the pack, nobody can show from here: complete stays not established. */
	verify_note(v,
		"each chain is whole up to its last receipt; that a machine recorded everything, and that every machine is in the pack, is not shown by it");
	if (r->late)
		verify_note(v,
			arena_printf(r->a,
				"%u chains do not begin with their first receipt: what came before is not in the pack",
				r->late));
	if (!v->trust->key_count)
		verify_note(v,
			"whose keys the machines' are is what the ledger says; give some with --key to check them");
}

void verify_fleet(struct verification *v, struct stream *in, const struct fleet_trust *given)
{
	struct reading r = { .v = v, .given = given, .a = v->a, .one = { .limit_bytes = ONE_BYTES } };
	struct note_key control;

	v->kind = "fleet pack";
	fleet_list_begin(&r.list, r.a);
	if (read_pack(&r, in) && check_end(&r, &control)) {
		v->integrity = ANSWER_YES;
		check_trust(&r, &control);
		tell(&r);
	}
	arena_done(&r.one);
}

bool verify_fleet_is_one(struct bytes start)
{
	return start.n >= TAR_BLOCK && memcmp(start.p, FLEET_PACK_MARK, sizeof(FLEET_PACK_MARK)) == 0;
}
