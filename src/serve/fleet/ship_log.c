/* ship_log.c — this machine checks the ledger: what it shows now goes on from what it showed before, and has in it what it acknowledged. */
#include "base/doc.h"
#include "base/text.h"
#include "proof/merkle.h"
#include "proof/tlog_policy.h"
#include "serve/fleet/ship.h"

#include <string.h>

enum { ASK_MS = 30000, ROUND_MOST_S = 60 };
static const char ALARM[] = "FLEET_LOG";

/* For the centre, with the next sign of life: from which tree to which one this machine has looked, and what it found.  Behind one that failed none is good
 * until a person has looked. */
static void note_check(struct shipper *h, int64_t from, int64_t to, const char *why)
{
	struct json *doc = json_new(h->a, JSON_OBJECT);

	if (!why && text_eq(json_get_text(json_get(h->state, "alarm"), "code", ""), ALARM))
		return;
	json_sets(h->a, doc, "at", text_time_z(h->a, h->sys->now_us(h->sys)));
	json_seti(h->a, doc, "from", from);
	json_seti(h->a, doc, "to", to);
	json_sets(h->a, doc, "result", why ? "bad" : "good");
	if (why)
		json_sets(h->a, doc, "why", why);
	json_set(h->a, h->state, "checked", doc);
}

static void sound(struct shipper *h, int64_t shown, const char *why)
{
	struct json *doc = json_new(h->a, JSON_OBJECT);

	note_check(h, json_get_int(h->state, "checkpoint_size", 0), shown, why);

	json_sets(h->a, doc, "code", ALARM);
	json_sets(h->a, doc, "why", why);
	json_sets(h->a, doc, "at", text_time_z(h->a, h->sys->now_us(h->sys)));
	json_set(h->a, h->state, "alarm", doc);
}

static size_t read_path(const struct json *list, struct hash *ret)
{
	size_t n = 0;

	json_each (one, list)
		if (n < MERKLE_MAX_PATH && hash_from_hex(json_text(one), &ret[n]))
			n++;
		else
			return SIZE_MAX;
	return n;
}

static int read_checkpoint(struct shipper *h, const char *note, struct tlog_head *ret, struct err *e)
{
	struct note_key log;
	struct tlog_seen seen;
	int rc = note_key_parse(h->a, bytes_of(json_get_text(h->joined, "log_vkey", "")), "log key", &log, e);

	if (rc)
		return rc;
	const struct tlog_policy policy = tlog_policy_of(h->a, &log, NULL, 0);
	rc = tlog_policy_check(h->a, &policy, bytes_of(note), "checkpoint", &seen, e);
	if (rc == OK)
		*ret = seen.head;
	return rc;
}

/* The newest chain that has something acknowledged. */
static const char *some_chain(struct shipper *h, int64_t *ret_acked, struct hash *ret_hash)
{
	json_each_member (m, json_get(h->state, "chains")) {
		*ret_acked = json_get_int(m->value, "acked", 0);
		if (*ret_acked && !json_get(m->value, "stopped") &&
			hash_from_hex(json_get_text(m->value, "hash", ""), ret_hash))
			return m->name;
	}
	*ret_acked = 0;
	return "-";
}

static int check_growth(
	const struct json *doc, const struct tlog_head *old, const struct tlog_head *now, struct err *e)
{
	struct hash path[MERKLE_MAX_PATH];
	size_t n = read_path(json_get(doc, "consistency"), path);

	if (now->size < old->size)
		return err_set(e, E_DENIED, "FLEET_LOG",
			"the ledger shows %llu leaves, and had shown %llu before",
			(unsigned long long)now->size, (unsigned long long)old->size);
	if (!old->size)
		return OK;
	return n == SIZE_MAX
		? err_set(e, E_DENIED, "FLEET_LOG", "a proof of the ledger cannot be read")
		: merkle_check_consistency(old->size, now->size, path, n, &old->root, &now->root, e);
}

static int check_inclusion(
	const struct json *doc, const struct hash *chain, const struct tlog_head *now, struct err *e)
{
	struct hash path[MERKLE_MAX_PATH], leaf = merkle_leaf(chain->b, sizeof(chain->b));
	size_t n = read_path(json_get(doc, "inclusion"), path);

	return n == SIZE_MAX ? err_set(e, E_DENIED, "FLEET_LOG", "a proof of the ledger cannot be read")
			     : merkle_check_inclusion(&leaf, (uint64_t)json_get_int(doc, "index", -1),
				       now->size, path, n, &now->root, e);
}

/* It is there after all. */
static void proven(struct shipper *h)
{
	(void)json_remove(h->state, "behind");
	if (json_get(json_get(h->state, "alarm"), "unproven"))
		(void)json_remove(h->state, "alarm");
}

/* Once a smaller tree was shown than before, or one that does not go on from it, nothing that this ledger says is believed until a person has looked. */
static int judge(
	struct shipper *h, const struct reply *r, const struct hash *chain, bool has_chain, struct err *e)
{
	const char *before = json_get_text(h->state, "checkpoint", NULL),
		   *note = json_get_text(r->doc, "checkpoint", "");
	struct tlog_head old = { 0 }, now = { 0 };
	int rc = read_checkpoint(h, note, &now, e);

	if (rc == OK && before)
		rc = read_checkpoint(h, before, &old, e);
	if (rc == OK)
		rc = check_growth(r->doc, &old, &now, e);
	if (rc == OK && has_chain)
		rc = check_inclusion(r->doc, chain, &now, e);
	if (rc) {
		sound(h, (int64_t)now.size,
			arena_printf(h->a, "the ledger's log does not hold: %s", e->text));
		return OK;
	}
	if (has_chain)
		proven(h);
	note_check(h, (int64_t)old.size, (int64_t)now.size, NULL);
	json_sets(h->a, h->state, "checkpoint", note);
	json_seti(h->a, h->state, "checkpoint_size", (int64_t)now.size);
	return OK;
}

/* A log that stands still is behind: whoever signs it is away, and nothing contradicts.  One that grows and grows without it leaves it out.
 * Only time in which it grew counts, and of one round only so much: clocks are set. */
static void wait_for_proof(struct shipper *h, const struct tlog_head *shown)
{
	int64_t now = h->sys->now_us(h->sys) / 1000000, size = (int64_t)shown->size;
	bool is_new = !json_get(h->state, "behind");
	struct json *behind = doc_part(h->a, h->state, "behind");

	if (is_new)
		json_seti(h->a, behind, "since_s", now);
	if (!is_new && size > json_get_int(behind, "size", 0)) {
		int64_t passed = now - json_get_int(behind, "at_s", now);
		passed = passed < 0 ? 0 : passed > ROUND_MOST_S ? ROUND_MOST_S : passed;
		json_seti(h->a, behind, "grown_s", json_get_int(behind, "grown_s", 0) + passed);
	}
	json_seti(h->a, behind, "size", size);
	json_seti(h->a, behind, "at_s", now);
	if (json_get_int(behind, "grown_s", 0) <= FLEET_PATIENCE_S || json_get(h->state, "alarm"))
		return;
	sound(h, size,
		"the ledger has acknowledged a receipt, and its tree grows for ten minutes without it");
	json_setb(h->a, json_get(h->state, "alarm"), "unproven", true);
}

int ship_check_log(struct shipper *h, const char *checkpoint, struct err *e)
{
	struct hash chain;
	struct tlog_head shown = { 0 };
	int64_t acked, old = json_get_int(h->state, "checkpoint_size", 0);
	const char *session = some_chain(h, &acked, &chain);
	struct reply r;

	if (read_checkpoint(h, checkpoint, &shown, e)) {
		sound(h, 0, arena_printf(h->a, "the ledger's checkpoint does not hold: %s", e->text));
		return OK;
	}
	if ((int64_t)shown.size < old) {
		sound(h, (int64_t)shown.size,
			arena_printf(h->a,
				"the ledger shows %llu leaves, and had shown %lld before: it was set back",
				(unsigned long long)shown.size, (long long)old));
		return OK;
	}
	int rc = ship_ask(h, "GET",
		arena_printf(
			h->a, "/v1/fleet/proofs/%s/%lld/%lld", session, (long long)acked, (long long)old),
		(struct bytes){ 0 }, NULL, ASK_MS, &r, e);
	/* What was acknowledged a moment ago is folded in within a second: the tree alone is looked at then. */
	bool has_chain = acked > 0;
	if (rc == OK && r.status == 404 && has_chain) {
		has_chain = false;
		wait_for_proof(h, &shown);
		rc = ship_ask(h, "GET", arena_printf(h->a, "/v1/fleet/proofs/-/0/%lld", (long long)old),
			(struct bytes){ 0 }, NULL, ASK_MS, &r, e);
	}
	if (rc || r.status != 200)
		return rc ? rc
			  : err_set(e, E_IO, "FLEET_BUSY", "the ledger answers %d: %s", r.status, r.text);
	return judge(h, &r, &chain, has_chain, e);
}
