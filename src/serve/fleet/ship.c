/* ship.c — `helm fleet`: what this machine records goes to the ledger; what the centre orders is done here.
 *
 * Nothing of it is on the way of a hook or a run: this is a process of its own, which reads what is on disk already.  What the ledger answers is
 * handled as docs/formats/fleet-wire.md says; what ends a chain's shipping (a fork, a refusal, a key that counts no more) is never passed over, and
 * stands in the state until a person has seen to it. */
#include "serve/fleet/ship.h"
#include "base/doc.h"
#include "base/hash.h"
#include "base/text.h"
#include "kernel/freeze.h"
#include "kernel/setup/setup.h"
#include "kernel/standing.h"
#include "kernel/verdict.h"
#include "proof/note.h"
#include "record/record.h"
#include "serve/fleet/fleet.h"
#include "serve/tls.h"

#include <fcntl.h>
#include <string.h>

enum { ASK_MS = 30000 };

struct json *ship_chain_state(struct shipper *h, const char *session)
{
	return doc_part(h->a, doc_part(h->a, h->state, "chains"), session);
}

static void set_acked(struct shipper *h, struct json *st, int64_t head, const char *hash)
{
	json_seti(h->a, st, "acked", head);
	json_sets(h->a, st, "hash", hash);
}

/* ---- a chain ---- */

static const char *chain_path(struct shipper *h, const struct local_chain *c, const char *rest)
{
	return arena_printf(h->a, "/v1/fleet/chains/%s/%s", c->session, rest);
}

/* What the ledger has at a clock, "" for nothing. */
static int theirs_at(
	struct shipper *h, const struct local_chain *c, int64_t clock, struct reply *r, struct err *e)
{
	return ship_ask(h, "GET", chain_path(h, c, arena_printf(h->a, "at/%lld", (long long)clock)),
		(struct bytes){ 0 }, NULL, ASK_MS, r, e);
}

static int busy(const struct reply *r, struct err *e)
{
	return err_set(e, E_IO, "FLEET_BUSY", "the ledger answers %d: %s", r->status, r->text);
}

/* The chain hash that the ledger has at a clock, "" for none.  Any other answer says nothing about the chain: E_IO. */
static int their_hash_at(
	struct shipper *h, const struct local_chain *c, int64_t clock, const char **ret, struct err *e)
{
	struct reply r;
	int rc = theirs_at(h, c, clock, &r, e);

	if (rc == OK && r.status != 200 && r.status != 404)
		rc = busy(&r, e);
	if (rc == OK)
		*ret = json_get_text(r.doc, "chain_hash", "");
	return rc;
}

/* The first clock at which both have another receipt: it lies between one where they agree and one where they do not. */
static int first_difference(
	struct shipper *h, const struct local_chain *c, int64_t differ, int64_t *ret, struct err *e)
{
	int64_t same = 0;

	while (differ - same > 1) {
		int64_t middle = same + (differ - same) / 2;
		const char *ours, *theirs;
		int rc = local_hash_at(h, c, middle, &ours, e);
		if (rc == OK)
			rc = their_hash_at(h, c, middle, &theirs, e);
		if (rc)
			return rc;
		if (text_eq(theirs, ours))
			same = middle;
		else
			differ = middle;
	}
	*ret = differ;
	return OK;
}

/* What the batch itself needs lies in `a`. */
static int send_batch(struct shipper *h, struct arena *a, const struct local_chain *c, int64_t first,
	struct packed *p, struct reply *r, struct err *e)
{
	int rc = local_pack(h, a, c, first, p, e);

	return rc || !p->n ? rc
			   : ship_ask(h, "POST", chain_path(h, c, "receipts"), p->frame, "application/zstd",
				     ASK_MS, r, e);
}

/* The receipt at which the chain was continued in another way goes to the ledger as evidence; then the chain stands. */
static int tell_fork(struct shipper *h, struct local_chain *c, struct json *st, int64_t differ, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct packed p;
	struct reply r = { 0 };
	int64_t at;
	int rc = first_difference(h, c, differ, &at, e);

	if (rc == OK)
		rc = send_batch(h, &a, c, at, &p, &r, e);
	if (rc == OK)
		ship_stop(h, st, "FLEET_FORK",
			arena_printf(h->a,
				"from receipt %lld on the ledger has other ones than this machine: the workspace was set back, copied or repaired; "
				"'helm fleet rejoin' begins again, and the ledger keeps both",
				(long long)at));
	return rc;
}

void ship_set_back(struct shipper *h, struct json *st, int64_t theirs, int64_t ours)
{
	ship_stop(h, st, "FLEET_ROLLED_BACK",
		arena_printf(h->a,
			"it was rolled back: the ledger has %lld receipts of this workspace and this machine %lld. Put the newer state back; or "
			"'helm fleet rejoin' begins again, and the ledger keeps what is missing here",
			(long long)theirs, (long long)ours));
	json_seti(h->a, json_get(st, "stopped"), "head", ours);
}

/* 409: the ledger stands elsewhere. */
static int stands_elsewhere(
	struct shipper *h, struct local_chain *c, struct json *st, const struct reply *r, struct err *e)
{
	int64_t head = json_get_int(r->doc, "head", 0);
	const char *theirs = json_get_text(r->doc, "head_hash", ""), *ours;

	if (text_eq(r->code, "FLEET_FORK") || text_eq(r->code, "FLEET_ENDED")) {
		ship_stop(h, st, r->code, r->text);
		return OK;
	}
	if (head > c->head) {
		const char *at_ours;
		int rc = their_hash_at(h, c, c->head, &at_ours, e);
		if (rc)
			return rc;
		if (!text_eq(at_ours, c->head_hash))
			return tell_fork(h, c, st, c->head, e);
		ship_set_back(h, st, head, c->head);
		return OK;
	}
	int rc = local_hash_at(h, c, head, &ours, e);
	if (rc)
		return rc;
	if (!text_eq(ours, theirs))
		return tell_fork(h, c, st, head, e);
	set_acked(h, st, head, theirs); /* the answer was lost, or the ledger has lost something */
	return OK;
}

/* 200: what was sent from `first` on is said to be durable.  That counts only for what this machine has itself, by its own hash, and must be
 * more than before: else the same is sent again and again, or something is taken for kept that is not. */
static int acknowledged(struct shipper *h, struct local_chain *c, struct json *st, int64_t first,
	const struct reply *r, struct err *e)
{
	int64_t head = json_get_int(r->doc, "head", 0);
	const char *theirs = json_get_text(r->doc, "head_hash", ""), *ours = "";

	if (head > c->head)
		return stands_elsewhere(h, c, st, r, e);
	int rc = head < first ? OK : local_hash_at(h, c, head, &ours, e);
	if (rc)
		return rc;
	if (head >= first && text_eq(ours, theirs))
		set_acked(h, st, head, theirs);
	else
		ship_stop(h, st, "FLEET_ANSWER",
			arena_printf(h->a,
				"the ledger took receipt %lld and answers that it has %lld, %s: it does not keep what it is sent; see to the "
				"ledger, then 'helm fleet rejoin' begins again",
				(long long)first, (long long)head,
				head < first ? "which is less" : "with another hash than ours there"));
	return OK;
}

/* What one answer means.  *ret_goes_on: there may be more to send. */
static int take_reply(struct shipper *h, struct local_chain *c, struct json *st, int64_t first,
	const struct reply *r, bool *ret_goes_on, struct err *e)
{
	*ret_goes_on = false;
	switch (r->status) {
	case 200:
		*ret_goes_on = true;
		return acknowledged(h, c, st, first, r, e);
	case 409:
		*ret_goes_on = true;
		return stands_elsewhere(h, c, st, r, e);
	case 400:
	case 413:
	case 422:
		ship_stop(h, st, "FLEET_REFUSED",
			arena_printf(h->a, "the ledger does not take what is recorded here: %s", r->text));
		return OK;
	case 401:
	case 403:
		ship_stop(h, h->state, r->code, r->text);
		return OK;
	case 429: /* it takes what it takes: the next round goes on */
		h->is_slowed = h->is_behind = true;
		return OK;
	default:
		return busy(r, e);
	}
}

/* Where to begin when nothing is known: where the ledger is. */
static int ask_head(struct shipper *h, struct local_chain *c, struct json *st, struct err *e)
{
	struct reply r;
	int rc = theirs_at(h, c, 0, &r, e);

	if (rc)
		return rc;
	if (r.status == 404)
		set_acked(h, st, 0, "");
	else if (r.status == 200)
		return stands_elsewhere(h, c, st, &r, e);
	else if (r.status == 401 || r.status == 403)
		ship_stop(h, h->state, r.code, r.text);
	else
		return busy(&r, e);
	return OK;
}

/* What is known of the chain before anything of it is sent; false: nothing of it may be. */
static bool begin_chain(struct shipper *h, const struct local_chain *c, struct json *st)
{
	json_sets(h->a, st, "workspace", c->root);
	json_seti(h->a, st, "head", c->head);
	/* It has moved since it was found to be set back: the newer state was put back, or it goes on from the old one. */
	const struct json *stopped = json_get(st, "stopped");
	if (stopped && text_eq(json_get_text(stopped, "code", ""), "FLEET_ROLLED_BACK") &&
		json_get_int(stopped, "head", 0) != c->head) {
		(void)json_remove(st, "stopped");
		(void)json_remove(st, "acked");
	}
	return !json_get(st, "stopped");
}

/* One batch at least, so that every chain gets on in every round. */
static bool is_round_over(const struct shipper *h, int batches)
{
	return batches >= ROUND_BATCHES || (batches && h->sys->mono_us(h->sys) >= h->until_us);
}

int ship_chain(struct shipper *h, struct local_chain *c, int64_t *ret_sent, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct json *st = c->session ? ship_chain_state(h, c->session) : NULL;
	int rc = OK;
	bool goes_on = true, has_turned = false;

	if (!st || json_get(h->state, "stopped") || !begin_chain(h, c, st))
		return OK;
	if (!json_get(st, "acked"))
		rc = ask_head(h, c, st, e);
	for (int i = 0; rc == OK && goes_on; i++) {
		int64_t acked = json_get_int(st, "acked", 0), first;
		struct packed p;
		struct reply r = { 0 };
		if (json_get(st, "stopped") || json_get(h->state, "stopped") || acked == c->head)
			return OK;
		if (is_round_over(h, i)) {
			h->is_behind = true;
			return OK;
		}
		arena_reset(&a);
		/* It was set back: the ledger says whether that is all. */
		first = acked < c->head ? acked + 1 : c->head;
		rc = send_batch(h, &a, c, first, &p, &r, e);
		if (rc || !p.n)
			return rc;
		if (first + p.n - 1 > c->head) { /* it has grown since it was opened */
			c->head = first + p.n - 1;
			c->head_hash = arena_strdup(h->a, p.last_hash);
			json_seti(h->a, st, "head", c->head);
		}
		rc = take_reply(h, c, st, first, &r, &goes_on, e);
		if (rc == OK && r.status == 200 && !json_get(st, "stopped"))
			*ret_sent += p.n;
		/* It says once in a round that it stands elsewhere; what it says then is for the next one. */
		if (r.status == 409 && has_turned)
			return rc;
		has_turned |= r.status == 409;
	}
	return rc;
}

/* ---- heartbeats ---- */

/* {client, state} for each client whose settings have our entries. */
static struct json *armed_of(struct shipper *h, struct workspace *ws)
{
	struct json *list = json_new(h->a, JSON_ARRAY);
	struct setup s;

	if (setup_open(h->sys, h->a, ws, ws->root, &s, NULL))
		return list;
	json_each (row, setup_status(&s, NULL)) {
		const char *state = json_get_text(row, "state", "");
		struct json *one = json_new(h->a, JSON_OBJECT);
		if (text_eq(state, "absent") || text_eq(state, "unknown"))
			continue;
		json_sets(h->a, one, "client", json_get_text(row, "client", ""));
		json_sets(h->a, one, "scope", json_get_text(row, "scope", ""));
		json_sets(h->a, one, "state", state);
		json_push(h->a, list, one);
	}
	return list;
}

/* {active, expected} and how many things need attention, as `helm status` on this machine says. */
static void put_standing(struct shipper *h, struct workspace *ws, struct json *doc)
{
	const struct json *how = standing(h->sys, h->a, ws), *guard = json_get(how, "guard");
	struct json *said = json_new(h->a, JSON_OBJECT);

	json_setb(h->a, said, "active", json_get_bool(guard, "active", false));
	json_setb(h->a, said, "expected", json_get_bool(guard, "expected", true));
	json_set(h->a, doc, "guard", said);
	json_seti(h->a, doc, "attention", json_get(how, "reasons")->n);
}

/* {sound, checked, checked_at?, receipts?, unchecked_receipts, why?}: the verdict on the record, as every view here shows it. */
static struct json *record_of(struct shipper *h, const struct workspace *ws)
{
	struct record_verdict v;

	workspace_verdict_quick(h->sys, h->a, ws, VERDICT_QUICK_BYTES, &v);
	struct json *doc = audit_verdict_json(h->a, &v);
	(void)json_remove(doc, "findings");
	(void)json_remove(doc, "remedy");
	return doc;
}

static void add_workspace(struct shipper *h, const char *root, struct json *doc, int64_t *ret_backlog)
{
	AUTO(local_close) struct local_chain c = { 0 };
	struct json *head, *frozen;

	if (local_open(h, root, &c, NULL) || !c.session)
		return;
	head = json_new(h->a, JSON_OBJECT);
	json_sets(h->a, head, "session_id", c.session);
	json_seti(h->a, head, "head", c.head);
	json_sets(h->a, head, "head_hash", c.head_hash);
	json_set(h->a, head, "record", record_of(h, c.ws));
	json_push(h->a, doc_part(h->a, doc, "heads"), head);
	int64_t acked = json_get_int(ship_chain_state(h, c.session), "acked", 0);
	*ret_backlog += c.head > acked ? c.head - acked : 0;
	if (!json_get(doc, "armed")) {
		json_set(h->a, doc, "armed", armed_of(h, c.ws));
		put_standing(h, c.ws, doc);
	}
	if (freeze_load(h->sys, h->a, c.ws, &frozen, NULL) || frozen->n)
		json_setb(h->a, doc, "frozen", true);
}

static struct bytes written(struct arena *a, const struct json *doc)
{
	struct buf text;

	buf_init(&text, a);
	json_canonical(&text, doc);
	return buf_bytes(&text);
}

/* Above every one before, by the ledger's clock where that has gone on. */
static void number_beat(struct shipper *h, struct json *doc)
{
	int64_t now_us = h->sys->now_us(h->sys) + h->ahead_s * 1000000,
		last_us = json_get_int(h->state, "beat_us", 0);

	json_seti(h->a, h->state, "beat_us", now_us > last_us ? now_us : last_us + 1);
	json_seti(h->a, doc, "sent_us", json_get_int(h->state, "beat_us", 0));
}

/* "...; the last one is 1767225600000000": this machine's own number was lost, or its clock stood elsewhere then. */
static bool read_last_beat(struct shipper *h, const struct reply *r)
{
	static const char words[] = "the last one is ";
	const char *at = strstr(r->text, words);
	int64_t last_us;

	if (r->status != 409 || !text_eq(r->code, "FLEET_REPLAY") || !at ||
		!text_int(at + strlen(words), &last_us) || last_us >= INT64_MAX)
		return false;
	json_seti(h->a, h->state, "beat_us", last_us);
	return true;
}

int ship_beat(struct shipper *h, struct json **ret_answer, struct err *e)
{
	struct json *doc = json_new(h->a, JSON_OBJECT);
	struct reply r;
	int64_t backlog = 0;

	json_set(h->a, doc, "heads", json_new(h->a, JSON_ARRAY));
	json_each (root, json_get(h->joined, "workspaces"))
		add_workspace(h, json_text(root), doc, &backlog);
	json_seti(h->a, doc, "backlog", backlog);
	json_seti(h->a, doc, "order", json_get_int(h->state, "order", 0));
	json_sets(h->a, doc, "helm_version", HELM_VERSION);
	json_sets(h->a, doc, "at", text_time_z(h->a, h->sys->now_us(h->sys)));
	if (json_get(h->state, "checked"))
		json_set(h->a, doc, "checked", json_copy(h->a, json_get(h->state, "checked")));
	number_beat(h, doc);
	int rc = ship_ask(h, "POST", "/v1/fleet/beat", written(h->a, doc), NULL, ASK_MS, &r, e);
	if (rc == OK && read_last_beat(h, &r)) {
		number_beat(h, doc);
		rc = ship_ask(h, "POST", "/v1/fleet/beat", written(h->a, doc), NULL, ASK_MS, &r, e);
	}
	if (rc)
		return rc;
	*ret_answer = NULL;
	if (r.status == 401 || r.status == 403)
		ship_stop(h, h->state, r.code, r.text);
	else if (r.status != 200)
		return busy(&r, e);
	else
		*ret_answer = r.doc;
	return OK;
}

/* ---- orders ---- */

static int obey_in(
	struct shipper *h, const char *root, const struct json *order, const char *hash, struct err *e)
{
	AUTO(fleet_close) struct workspace *ws = NULL;
	AUTO(kernel_close) struct kernel k = { 0 };
	const char *done = "";
	int rc = workspace_open(h->sys, h->a, root, 0, &ws, e);

	if (rc == OK)
		rc = kernel_open(h->sys, h->a, ws, &k, e);
	if (rc == OK)
		rc = fleet_obey(&k, h->a, h->joined, order, hash, tls_es256, &done, e);
	if (rc == OK && text_eq(json_get_text(order, "kind", ""), "freeze") &&
		json_get_text(h->state, "checkpoint", NULL))
		rc = fleet_note_checkpoint(&k, h->a, h->joined, h->state, "freeze", e);
	return rc;
}

/* An answer is for the chain in which the question was asked. */
static bool is_chain_of(struct shipper *h, const char *root, const char *session)
{
	AUTO(local_close) struct local_chain c = { 0 };

	return local_open(h, root, &c, NULL) == OK && text_eq(c.session ? c.session : "", session);
}

/* The workspace that an order names, or NULL: all.  One that names none of ours is refused in each of them, on record. */
static const char *only_in(struct shipper *h, const struct json *order)
{
	const char *session = json_get_text(json_get(order, "body"), "session_id", NULL);

	json_each (root, session ? json_get(h->joined, "workspaces") : NULL)
		if (is_chain_of(h, json_text(root), session))
			return json_text(root);
	return NULL;
}

static bool has_missed(const struct json *missed, const char *root)
{
	json_each (one, missed)
		if (text_eq(json_get_text(one, "workspace", ""), root))
			return true;
	return false;
}

static void miss(struct shipper *h, struct json *missed, const char *root, const struct json *order,
	const char *hash, const char *why)
{
	struct json *one = json_new(h->a, JSON_OBJECT);

	json_sets(h->a, one, "workspace", root);
	json_sets(h->a, one, "hash", hash);
	json_sets(h->a, one, "why", why);
	json_set(h->a, one, "order", json_copy(h->a, order));
	json_push(h->a, missed, one);
}

/* In every workspace that was joined.  One that cannot obey holds up no other: what it missed is kept, told and tried again, in order.
 * The last order and its hash are on disk before the next one is looked at. */
static int obey_everywhere(struct shipper *h, const struct json *order, const char *hash, struct err *e)
{
	struct json *missed = json_get(h->state, "missed");

	if (!missed) {
		missed = json_new(h->a, JSON_ARRAY);
		json_set(h->a, h->state, "missed", missed);
	}
	const char *only = only_in(h, order);
	json_each (root, json_get(h->joined, "workspaces")) {
		struct err why = { 0 };
		if (only && !text_eq(only, json_text(root)))
			continue;
		if (has_missed(missed, json_text(root))) {
			miss(h, missed, json_text(root), order, hash,
				"it has not obeyed an earlier order yet");
		} else if (obey_in(h, json_text(root), order, hash, &why)) {
			if (text_eq(why.code, "FLEET_ORDER")) {
				*e = why;
				return why.rc;
			}
			miss(h, missed, json_text(root), order, hash, why.text);
		}
	}
	return OK;
}

/* What could not be obeyed where it should: again, the oldest first. */
static void obey_missed(struct shipper *h)
{
	const struct json *before = json_get(h->state, "missed");
	struct json *left = json_new(h->a, JSON_ARRAY);

	json_each (one, before) {
		const char *root = json_get_text(one, "workspace", ""),
			   *hash = json_get_text(one, "hash", "");
		const struct json *order = json_get(one, "order");
		struct err why = { 0 };
		if (has_missed(left, root))
			miss(h, left, root, order, hash, json_get_text(one, "why", ""));
		else if (obey_in(h, root, order, hash, &why))
			miss(h, left, root, order, hash, why.text);
	}
	if (before)
		json_set(h->a, h->state, "missed", left);
}

static int take_order(struct shipper *h, const struct json *order, struct err *e)
{
	const char *hash = "";
	int rc = fleet_order_check(h->a, h->joined, order, json_get_int(h->state, "order", 0),
		json_get_text(h->state, "order_hash", ""), &hash, e);

	if (rc)
		return rc;
	const bool is_ours = fleet_order_is_for(order, json_get_text(h->joined, "node", ""));
	if (is_ours)
		rc = obey_everywhere(h, order, hash, e);
	if (rc)
		return rc;
	if (is_ours && text_eq(json_get_text(order, "kind", ""), "lease"))
		json_seti(h->a, h->state, "lease", json_get_int(json_get(order, "body"), "seconds", 0));
	json_seti(h->a, h->state, "order", json_get_int(order, "seq", 0));
	json_sets(h->a, h->state, "order_hash", hash);
	return fleet_state_save(h->sys, h->a, h->helm_home, h->state, e);
}

int ship_orders(struct shipper *h, int64_t newest, struct err *e)
{
	struct reply r;
	int64_t after = json_get_int(h->state, "order", 0);

	if (!json_get(h->state, "alarm"))
		obey_missed(h);
	if (after >= newest || json_get(h->state, "alarm"))
		return OK;
	int rc = ship_ask(h, "GET", arena_printf(h->a, "/v1/fleet/orders/%lld", (long long)after),
		(struct bytes){ 0 }, NULL, ASK_MS, &r, e);
	if (rc == OK && r.status != 200)
		rc = busy(&r, e);
	const struct json *list = rc == OK ? json_get(r.doc, "orders") : NULL;
	json_each (order, list) {
		rc = take_order(h, order, e);
		if (rc)
			break;
	}
	if (rc && text_eq(e->code, "FLEET_ORDER")) {
		struct json *alarm = doc_part(h->a, h->state, "alarm");
		json_sets(h->a, alarm, "code", e->code);
		json_sets(h->a, alarm, "why", e->text);
		return OK;
	}
	const int64_t heard = json_get_int(h->state, "order", 0);
	h->has_orders = rc == OK && heard > after && heard < newest;
	return rc;
}
