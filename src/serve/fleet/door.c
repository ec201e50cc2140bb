/* door.c — the routes of a fleet's ledger that machines use (docs/formats/fleet-wire.md). */
#include "base/hash.h"
#include "base/text.h"
#include "kernel/fleet/fleet.h"
#include "record/record.h"
#include "serve/fleet/parts.h"

#include <string.h>

const char *chain_state_name(int64_t state)
{
	static const char *const names[] = { "unknown", "growing", "forked", "rolled back", "ended" };

	return names[state > 0 && state < (int64_t)ARRAY_SIZE(names) ? state : 0];
}

static const char *head_hex(struct arena *a, const struct chain_row *at)
{
	return at->head ? hash_hex(a, &at->head_hash) : "";
}

int chain_find(struct db *d, struct arena *a, int64_t node, const char *session, struct chain_row *ret,
	struct err *e)
{
	AUTO(pg_rows_done) struct pg_rows rows = { 0 };
	int rc = pg_ask_kept(d,
		"SELECT chain_id, node_id, head, key_order, state, epoch, head_hash FROM chain WHERE node_id = $2 AND session_id = $1 ORDER BY epoch DESC LIMIT 1",
		(struct pg_value[]){ pg_t(session), pg_i(a, node) }, 2, &rows, e);

	if (rc == OK && !rows.n)
		return err_set(e, E_MISSING, "FLEET_CHAIN", "there is no chain '%s'", session);
	if (rc)
		return rc;
	*ret = (struct chain_row){ pg_int(&rows, 0, 0), pg_int(&rows, 0, 1), pg_int(&rows, 0, 2),
		pg_int(&rows, 0, 3), pg_int(&rows, 0, 4), pg_int(&rows, 0, 5), { { 0 } } };
	struct bytes hash = pg_bytes(&rows, 0, 6);
	if (hash.n == sizeof(ret->head_hash.b))
		memcpy(ret->head_hash.b, hash.p, hash.n);
	return OK;
}

/* Nothing orders by these numbers. */
static int new_number(struct sys *s, int64_t *ret, struct err *e)
{
	uint8_t bytes[6];

	if (s->random(s, bytes, sizeof(bytes)))
		return err_sys(e, "FLEET_RANDOM", "cannot draw a number");
	*ret = 1;
	for (size_t i = 0; i < sizeof(bytes); i++)
		*ret = *ret << 8 | bytes[i];
	return OK;
}

static int make_chain(struct call *c, struct db *d, const struct caller_of *who, const char *session,
	int64_t epoch, struct err *e)
{
	int64_t id;
	int rc = new_number(c->server->sys, &id, e);

	return rc
		? rc
		: pg_do(d,
			  "INSERT INTO chain(tenant_id, chain_id, node_id, session_id, epoch) VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING",
			  (struct pg_value[]){ pg_i(c->a, who->tenant.id), pg_i(c->a, id),
				  pg_i(c->a, who->node.id), pg_t(session), pg_i(c->a, epoch) },
			  5, NULL, e);
}

/* Who calls, and not too often. */
static int enter(struct call *c, struct caller_of *who, struct err *e)
{
	int rc = request_check(c, false, who, e);

	return rc ? rc
		  : limited(c, limiter_ask_node(c->server->limiter, who->tenant.id, who->node.id),
			    "NODE_RATE_LIMIT_EXCEEDED", e);
}

/* ---- a batch ---- */

struct receiving {
	struct call *c;
	struct caller_of who;
	struct batch b;
	struct chain_row at;
	struct appending x;
};

static struct json *standing(struct arena *a, const struct chain_row *at)
{
	struct json *doc = json_new(a, JSON_OBJECT);

	json_seti(a, doc, "head", at->head);
	json_sets(a, doc, "head_hash", head_hex(a, at));
	json_sets(a, doc, "state", chain_state_name(at->state));
	return doc;
}

static int stands_elsewhere(
	struct call *c, const struct chain_row *at, const char *code, const char *why, struct err *e)
{
	(void)call_refuse(c, e, 409, code, "%s", why);
	call_error(c, e, standing(c->a, at));
	return OK;
}

static int does_not_verify(struct call *c, size_t line, struct err *e)
{
	struct json *more = json_new(c->a, JSON_OBJECT);
	const char *why = arena_strdup(c->a, e->text);

	json_seti(c->a, more, "line", (int64_t)line);
	json_sets(c->a, more, "why", why);
	(void)call_refuse(c, e, 422, "FLEET_RECEIPT", "line %zu: %s", line, why);
	call_error(c, e, more);
	return OK;
}

static void taken(struct call *c, const struct chain_row *at)
{
	call_answer(c, 200, standing(c->a, at));
}

/* Nobody was quicker: the row was only locked, by who folds the chain into the tree.  Then it is put once more, a few times. */
static bool is_as_it_was(struct appending *x, const struct chain_row *at)
{
	enum { AGAIN = 20 };

	return at->state == 1 && at->chain_id == x->chain_id && at->head == x->old_head &&
		(!at->head || hash_eq(&at->head_hash, &x->old_hash)) && x->again++ < AGAIN;
}

/* By the thread that appended. */
static void appended(struct appending *x, int rc, const struct err *why)
{
	struct receiving *r = (struct receiving *)((char *)x - offsetof(struct receiving, x));
	struct call *c = r->c;
	struct err e = why ? *why : (struct err){ 0 };

	if (rc == OK) {
		r->at.head = x->old_head + x->n;
		r->at.head_hash = x->new_hash;
		taken(c, &r->at);
	} else if (text_eq(e.code, "APPEND_RACE")) {
		AUTO(lent_back) struct lent l = { 0 };
		rc = lend(c->server->fleet->pool, POOL_INGEST, x->tenant, &l, &e);
		if (rc == OK)
			rc = chain_find(l.d, c->a, r->who.node.id, r->b.session, &r->at, &e);
		if (rc == OK && is_as_it_was(x, &r->at)) {
			append_put(c->server->fleet->appender, x);
			return;
		}
		if (rc == OK)
			rc = stands_elsewhere(c, &r->at, "FLEET_HEAD", "somebody else was quicker", &e);
	}
	if (rc) {
		(void)database_refuses(c, &e);
		call_error(c, &e, NULL);
	}
	x->answered(x->answered_arg);
}

static void hand_over(struct call *c, void (*done)(void *), void *arg)
{
	struct receiving *r = c->owner;

	r->x.answered = done;
	r->x.answered_arg = arg;
	append_put(c->server->fleet->appender, &r->x);
}

/* Two signed receipts for one place: kept, and the chain goes on only after a person has looked. */
static int keep_fork(struct receiving *r, struct db *d, size_t i, const struct hash *ours, struct err *e)
{
	static const char repaired[] = "helm.log/repair";
	struct call *c = r->c;
	const struct line_of *line = &r->b.lines[i];
	struct batch until = r->b;
	struct chain_row fresh = r->at;
	size_t bad;

	until.n = i + 1;
	fresh.key_order = 0;
	int rc = batch_verify(c->a, &until, i, &fresh, &r->who.node.trust, &bad, e);
	if (rc)
		return does_not_verify(c, i + 2, e);
	bool is_repair = text_eq(json_get_text(line->receipt, "effect_id", ""), repaired);
	rc = pg_do(d,
		"INSERT INTO fork(tenant_id, chain_id, lamport, ours, theirs, receipt, is_repair) VALUES ($1, $2, $3, $4, $5, $6, $7::int4::bool) "
		"ON CONFLICT DO NOTHING",
		(struct pg_value[]){ pg_i(c->a, r->who.tenant.id), pg_i(c->a, r->at.chain_id),
			pg_i(c->a, r->b.first + (int64_t)i), pg_b((struct bytes){ ours->b, sizeof(ours->b) }),
			pg_b((struct bytes){ line->chain.b, sizeof(line->chain.b) }), pg_b(line->text),
			pg_i(c->a, is_repair) },
		7, NULL, e);
	if (rc == OK)
		rc = pg_do(d, "UPDATE chain SET state = 2 WHERE chain_id = $1",
			(struct pg_value[]){ pg_i(c->a, r->at.chain_id) }, 1, NULL, e);
	if (rc == OK)
		rc = pg_commit(d, e);
	if (rc)
		return rc;
	log_line(c->server, "error", c, "chain %s of node %lld has two receipts at %lld", r->b.session,
		(long long)r->who.node.id, (long long)(r->b.first + (int64_t)i));
	r->at.state = 2;
	return stands_elsewhere(c, &r->at, "FLEET_FORK",
		"this chain was continued in two ways: it was rolled back, copied or repaired", e);
}

/* What is here already must be the same; *ret_new is the first line that is not here.  A negative number or OK with an answer given: nothing is left to do. */
static int compare(struct receiving *r, struct db *d, size_t *ret_new, bool *ret_is_answered, struct err *e)
{
	AUTO(pg_rows_done) struct pg_rows rows = { 0 };
	struct call *c = r->c;
	int64_t last = r->b.first + (int64_t)r->b.n - 1, until = last < r->at.head ? last : r->at.head;
	int rc = pg_ask_kept(d,
		"SELECT lamport, chain_hash FROM receipt WHERE chain_id = $1 AND lamport BETWEEN $2 AND $3 ORDER BY lamport",
		(struct pg_value[]){
			pg_i(c->a, r->at.chain_id), pg_i(c->a, r->b.first - 1), pg_i(c->a, until) },
		3, &rows, e);

	if (rc)
		return rc;
	*ret_is_answered = true;
	if (rows.n != until - (r->b.first - 1) + 1 - (r->b.first == 1))
		return stands_elsewhere(c, &r->at, "FLEET_HEAD", "the ledger stands elsewhere", e);
	for (int i = 0; i < rows.n; i++) {
		int64_t at = pg_int(&rows, i, 0) - r->b.first;
		struct hash ours;
		memcpy(ours.b, pg_bytes(&rows, i, 1).p, sizeof(ours.b));
		if (at < 0 && !hash_eq(&ours, &r->b.before))
			return stands_elsewhere(
				c, &r->at, "FLEET_HEAD", "the ledger has another receipt there", e);
		if (at >= 0 && !hash_eq(&ours, &r->b.lines[at].chain))
			return keep_fork(r, d, (size_t)at, &ours, e);
	}
	*ret_is_answered = false;
	*ret_new = (size_t)(until - r->b.first + 1);
	return OK;
}

/* Where the batch stands against the chain: *ret_new is where what is new begins. */
static int place(struct receiving *r, struct db *d, size_t *ret_new, bool *ret_is_answered, struct err *e)
{
	struct call *c = r->c;

	*ret_new = 0;
	*ret_is_answered = true;
	if (r->at.state == 2)
		return stands_elsewhere(c, &r->at, "FLEET_FORK",
			"this chain was continued in two ways; a person says 'helm fleet rejoin'", e);
	if (r->at.state == 4)
		return stands_elsewhere(c, &r->at, "FLEET_ENDED", "this chain has ended", e);
	if (r->b.first - 1 > r->at.head)
		return stands_elsewhere(c, &r->at, "FLEET_HEAD", "the ledger has less than that", e);
	*ret_is_answered = false;
	if (r->b.first - 1 < r->at.head)
		return compare(r, d, ret_new, ret_is_answered, e);
	if (hash_eq(&r->b.before, &r->at.head_hash))
		return OK;
	*ret_is_answered = true;
	return stands_elsewhere(c, &r->at, "FLEET_HEAD", "the ledger has another receipt there", e);
}

static int find_place(struct receiving *r, size_t *ret_new, bool *ret_is_answered, struct err *e)
{
	struct call *c = r->c;
	AUTO(lent_back) struct lent l = { 0 };
	int rc = lend(c->server->fleet->pool, POOL_INGEST, r->who.tenant.id, &l, e);

	if (rc == OK)
		rc = chain_find(l.d, c->a, r->who.node.id, r->b.session, &r->at, e);
	if (rc == E_MISSING) { /* it is made when its first batch was verified */
		r->at = (struct chain_row){ .node_id = r->who.node.id, .state = 1, .epoch = 1 };
		rc = OK;
	}
	return rc ? rc : place(r, l.d, ret_new, ret_is_answered, e);
}

/* Two first batches at once find the one that was quicker. */
static int begin_chain(struct receiving *r, struct err *e)
{
	struct call *c = r->c;
	AUTO(lent_back) struct lent l = { 0 };
	struct chain_row made;
	int rc = lend(c->server->fleet->pool, POOL_INGEST, r->who.tenant.id, &l, e);

	if (rc == OK)
		rc = make_chain(c, l.d, &r->who, r->b.session, 1, e);
	if (rc == OK)
		rc = chain_find(l.d, c->a, r->who.node.id, r->b.session, &made, e);
	if (rc == OK)
		rc = pg_commit(l.d, e);
	if (rc == OK)
		r->at.chain_id = made.chain_id;
	return rc;
}

static int receive(struct call *c, struct err *e)
{
	struct receiving *r = arena_zalloc(c->a, 1, sizeof(*r));
	bool is_answered = false;
	size_t from = 0, bad;
	int rc = enter(c, &r->who, e);

	r->c = c;
	if (rc == OK && (rc = batch_read(c->a, c->raw, c->args[0], &r->b, e)))
		return call_refuse(c, e, 400, "FLEET_BATCH", "%s", arena_strdup(c->a, e->text));
	if (rc == OK)
		rc = find_place(r, &from, &is_answered, e);
	if (rc || is_answered)
		return rc ? database_refuses(c, e) : OK;
	if (from == r->b.n) {
		taken(c, &r->at);
		return OK;
	}
	if (batch_verify(c->a, &r->b, from, &r->at, &r->who.node.trust, &bad, e))
		return does_not_verify(c, bad + 2, e);
	if (!r->at.chain_id && (rc = begin_chain(r, e)))
		return database_refuses(c, e);
	r->x = (struct appending){ .tenant = r->who.tenant.id,
		.chain_id = r->at.chain_id,
		.old_head = r->at.head,
		.n = (int64_t)(r->b.n - from),
		.order = r->b.lines[r->b.n - 1].order,
		.old_hash = r->at.head_hash,
		.new_hash = r->b.lines[r->b.n - 1].chain,
		.lines = r->b.lines + from,
		.done = appended };
	rc = batch_pack(c->a, &r->b, from, &r->x.frame, &r->x.raw_bytes, e);
	if (rc)
		return rc;
	c->owner = r;
	c->defer = hand_over;
	return OK;
}

/* What the ledger has at a clock: for whoever looks for the first difference. */
static int at_clock(struct call *c, struct err *e)
{
	AUTO(lent_back) struct lent l = { 0 };
	AUTO(pg_rows_done) struct pg_rows rows = { 0 };
	struct caller_of who = { 0 };
	struct chain_row at;
	int64_t clock;
	int rc = enter(c, &who, e);

	if (rc == OK && (!text_int(c->args[1], &clock) || clock < 0))
		rc = call_refuse(c, e, 400, "BAD_REQUEST", "the clock is no number");
	if (rc == OK)
		rc = lend(c->server->fleet->pool, POOL_INGEST, who.tenant.id, &l, e);
	if (rc == OK)
		rc = chain_find(l.d, c->a, who.node.id, c->args[0], &at, e);
	if (rc == OK)
		rc = pg_ask(l.d, "SELECT chain_hash FROM receipt WHERE chain_id = $1 AND lamport = $2",
			(struct pg_value[]){ pg_i(c->a, at.chain_id), pg_i(c->a, clock) }, 2, &rows, e);
	if (rc)
		return database_refuses(c, e);
	struct json *doc = standing(c->a, &at);
	if (rows.n) {
		struct hash h;
		memcpy(h.b, pg_bytes(&rows, 0, 0).p, sizeof(h.b));
		json_sets(c->a, doc, "chain_hash", hash_hex(c->a, &h));
	}
	call_answer(c, 200, doc);
	return OK;
}

/* A chain that was continued in two ways begins again, as the next epoch of the same place. */
static int rejoin(struct call *c, struct err *e)
{
	AUTO(lent_back) struct lent l = { 0 };
	struct caller_of who = { 0 };
	struct chain_row at;
	int rc = enter(c, &who, e);

	if (rc == OK)
		rc = lend(c->server->fleet->pool, POOL_INGEST, who.tenant.id, &l, e);
	if (rc == OK)
		rc = chain_find(l.d, c->a, who.node.id, c->args[0], &at, e);
	if (rc == OK && at.state == 1)
		rc = call_refuse(c, e, 409, "FLEET_HEAD", "this chain goes on as it is");
	if (rc == OK)
		rc = pg_do(l.d, "UPDATE chain SET state = 4 WHERE chain_id = $1 AND state = 3",
			(struct pg_value[]){ pg_i(c->a, at.chain_id) }, 1, NULL, e);
	if (rc == OK)
		rc = make_chain(c, l.d, &who, c->args[0], at.epoch + 1, e);
	if (rc == OK)
		rc = chain_find(l.d, c->a, who.node.id, c->args[0], &at, e);
	if (rc == OK)
		rc = pg_commit(l.d, e);
	if (rc)
		return database_refuses(c, e);
	taken(c, &at);
	return OK;
}

/* ---- joining ---- */

/* Every key and link of what was sent, and that it verifies under the key that signed the request. */
struct history_sent {
	struct bytes text; /* a link a line */
	struct bytes *links;
	struct json **docs;
	size_t n;
};

static int read_history(struct call *c, const struct caller_of *who, struct history_sent *ret, struct err *e)
{
	const struct json *list = json_get(c->body, "history");
	struct trusted_key own = { .id = "" };
	struct trust t = { .keys = &own, .key_count = 1 };
	struct buf text;

	if (!json_is(list, JSON_ARRAY) || !list->n || list->n > 1000)
		return call_refuse(c, e, 400, "FLEET_HISTORY", "history has 1 to 1000 links");
	ret->links = arena_zalloc(c->a, list->n, sizeof(*ret->links));
	ret->docs = arena_zalloc(c->a, list->n, sizeof(struct json *));
	buf_init(&text, c->a);
	json_each (link, list) {
		struct buf line;
		buf_init(&line, c->a);
		json_canonical(&line, link);
		buf_add(&text, line.p, line.n);
		buf_addc(&text, '\n');
		ret->docs[ret->n] = link;
		ret->links[ret->n++] = buf_bytes(&line);
	}
	ret->text = buf_bytes(&text);
	memcpy(own.key, who->key, KEY_SIZE);
	int rc = trust_add_history_text(c->a, ret->text, "history", &t, e);
	if (rc)
		return call_refuse(c, e, 422, "FLEET_HISTORY", "%s", arena_strdup(c->a, e->text));
	/* The key in force is the one that signs. */
	const char *active = "";
	char hex[2 * SIGN_PUBLIC + 1];
	hex_encode(who->key, SIGN_PUBLIC, hex);
	for (size_t i = 0; i < ret->n; i++)
		if (!text_eq(json_get_text(ret->docs[i], "event", ""), "revoked"))
			active = json_get_text(ret->docs[i], "key", "");
	return text_eq(active, hex)
		? OK
		: call_refuse(c, e, 422, "FLEET_HISTORY",
			  "the request is not signed by the key that the history has in force");
}

/* The node whose first link this is; 0: none. */
static int node_of(struct call *c, struct db *d, const struct history_sent *h, int64_t *ret_node,
	int64_t *ret_known, struct err *e)
{
	AUTO(pg_rows_done) struct pg_rows rows = { 0 };
	int rc = pg_ask(d,
		"SELECT node_id, (SELECT count(*) FROM node_key x WHERE x.node_id = k.node_id) FROM node_key k WHERE sequence = 1 AND link = $1",
		(struct pg_value[]){ pg_b(h->links[0]) }, 1, &rows, e);

	(void)c;
	*ret_node = rc == OK && rows.n ? pg_int(&rows, 0, 0) : 0;
	*ret_known = rc == OK && rows.n ? pg_int(&rows, 0, 1) : 0;
	return rc;
}

/* The centre's word ends a key: neither it nor what it names as its successor from then on is taken.  A successor that was known before goes on. */
static int refuse_revoked(
	struct call *c, struct db *d, const struct history_sent *h, int64_t known, struct err *e)
{
	AUTO(pg_rows_done) struct pg_rows rows = { 0 };
	int rc = pg_ask(d, "SELECT encode(key, 'hex') FROM revoked_key", NULL, 0, &rows, e);
	size_t from = 0;

	/* The last key that is known signs the first link that is not. */
	for (size_t i = 0; i < h->n && (int64_t)i < known; i++)
		if (!text_eq(json_get_text(h->docs[i], "event", ""), "revoked"))
			from = i;
	for (size_t i = from; rc == OK && i < h->n; i++)
		for (int k = 0; k < rows.n; k++)
			if (!text_eq(json_get_text(h->docs[i], "event", ""), "revoked") &&
				text_eq(json_get_text(h->docs[i], "key", ""), pg_text(&rows, c->a, k, 0)))
				return call_refuse(c, e, 403, "FLEET_KEY_REVOKED",
					"a key of this history was revoked by the centre, and has no successor");
	return rc;
}

/* Of what is here nothing changes: it must be the beginning of what was sent. */
static int add_links(struct call *c, struct db *d, int32_t tenant, int64_t node, const struct history_sent *h,
	struct err *e)
{
	AUTO(pg_rows_done) struct pg_rows rows = { 0 };
	int rc = pg_ask(d, "SELECT link FROM node_key WHERE node_id = $1 ORDER BY sequence",
		(struct pg_value[]){ pg_i(c->a, node) }, 1, &rows, e);

	for (int i = 0; rc == OK && i < rows.n; i++)
		if ((size_t)i >= h->n || !bytes_eq(pg_bytes(&rows, i, 0), h->links[i]))
			return call_refuse(c, e, 409, "FLEET_HISTORY",
				"the ledger has another history of these keys: a machine with a copied home has gone on");
	for (size_t i = (size_t)rows.n; rc == OK && i < h->n; i++) {
		const char *hex = json_get_text(h->docs[i], "key", "");
		uint8_t key[SIGN_PUBLIC] = { 0 };
		(void)hex_decode(hex, strlen(hex), key, sizeof(key), true);
		rc = pg_do(d,
			"INSERT INTO node_key(tenant_id, node_id, sequence, key, link) VALUES ($1, $2, $3, $4, $5)",
			(struct pg_value[]){ pg_i(c->a, tenant), pg_i(c->a, node), pg_i(c->a, (int64_t)i + 1),
				pg_b((struct bytes){ key, sizeof(key) }), pg_b(h->links[i]) },
			5, NULL, e);
	}
	return rc;
}

static int use_token(struct call *c, struct db *d, struct err *e)
{
	const char *token = json_get_text(c->body, "token", "");
	uint8_t digest[SHA256_SIZE];
	int64_t changed = 0;

	sha256(token, strlen(token), digest);
	int rc = pg_do(d,
		"UPDATE join_token SET uses_left = uses_left - 1 WHERE token_sha256 = $1 AND uses_left > 0 AND expires_at > now()",
		(struct pg_value[]){ pg_b((struct bytes){ digest, sizeof(digest) }) }, 1, &changed, e);
	return rc == OK && !changed
		? call_refuse(c, e, 403, "FLEET_TOKEN",
			  "this token is not known, was used up or has expired; ask the centre for another")
		: rc;
}

/* What the links say of where they were made; a request may add nothing to it. */
static const char *said_by(const struct history_sent *h, const char *member)
{
	for (size_t i = h->n; i-- > 0;)
		if (json_get_text(h->docs[i], member, NULL))
			return json_get_text(h->docs[i], member, "");
	return "";
}

static int make_node(struct call *c, struct db *d, const struct caller_of *who, const struct history_sent *h,
	int64_t *ret, struct err *e)
{
	int rc = new_number(c->server->sys, ret, e);

	if (rc == OK)
		rc = use_token(c, d, e);
	return rc
		? rc
		: pg_do(d,
			  "INSERT INTO node(tenant_id, node_id, host, owner, seen_at) VALUES ($1, $2, $3, $4, now())",
			  (struct pg_value[]){ pg_i(c->a, who->tenant.id), pg_i(c->a, *ret),
				  pg_t(said_by(h, "host")), pg_t(said_by(h, "user")) },
			  4, NULL, e);
}

/* Retired, and joining again: the centre's token is its word. */
static int come_back(struct call *c, struct db *d, int64_t node, struct err *e)
{
	AUTO(pg_rows_done) struct pg_rows rows = { 0 };
	int rc = pg_ask(d, "SELECT 1 FROM node WHERE node_id = $1 AND retired_at IS NOT NULL",
		(struct pg_value[]){ pg_i(c->a, node) }, 1, &rows, e);

	if (rc || !rows.n)
		return rc;
	rc = use_token(c, d, e);
	return rc ? rc
		  : pg_do(d, "UPDATE node SET retired_at = NULL, retired_seq = NULL WHERE node_id = $1",
			    (struct pg_value[]){ pg_i(c->a, node) }, 1, NULL, e);
}

/* With a token for the first time; again, or with a further key, without one. */
static int join(struct call *c, struct err *e)
{
	AUTO(lent_back) struct lent l = { 0 };
	struct caller_of who = { 0 };
	struct history_sent h = { 0 };
	int64_t node, known;
	int rc = request_check(c, true, &who, e);

	if (rc == OK && !text_eq(json_get_text(c->body, "version", ""), FLEET_JOIN_V1))
		rc = call_refuse(c, e, 400, "BAD_REQUEST", "this version of joining is not known here");
	if (rc == OK)
		rc = read_history(c, &who, &h, e);
	if (rc == OK)
		rc = lend(c->server->fleet->pool, POOL_INGEST, who.tenant.id, &l, e);
	if (rc == OK)
		rc = node_of(c, l.d, &h, &node, &known, e);
	if (rc == OK)
		rc = refuse_revoked(c, l.d, &h, known, e);
	if (rc == OK && node && *json_get_text(c->body, "token", ""))
		rc = come_back(c, l.d, node, e);
	if (rc == OK && !node)
		rc = make_node(c, l.d, &who, &h, &node, e);
	if (rc == OK)
		rc = add_links(c, l.d, who.tenant.id, node, &h, e);
	if (rc == OK)
		rc = pg_commit(l.d, e);
	if (rc)
		return database_refuses(c, e);
	struct json *doc = json_new(c->a, JSON_OBJECT);
	json_sets(c->a, doc, "node", arena_printf(c->a, "%lld", (long long)node));
	json_sets(c->a, doc, "tenant", who.tenant.name);
	json_sets(c->a, doc, "origin", who.tenant.origin);
	call_answer(c, 200, doc);
	return OK;
}

/* ---- heartbeats ---- */

/* A head below ours: the machine was set back. */
static int look_at_heads(
	struct call *c, struct db *d, const struct caller_of *who, struct json *answer, struct err *e)
{
	struct json *chains = json_new(c->a, JSON_OBJECT);
	int rc = OK;

	json_each (one, json_get(c->body, "heads")) {
		const char *session = json_get_text(one, "session_id", "");
		int64_t head = json_get_int(one, "head", -1), changed = 0;
		struct chain_row at;
		rc = chain_find(d, c->a, who->node.id, session, &at, e);
		if (rc == E_MISSING) {
			rc = OK;
			continue;
		}
		if (rc)
			return rc;
		const int64_t as_read = at.state;
		if (at.state == 1 && head >= 0 && head < at.head)
			at.state = 3;
		else if (at.state == 3 && head == at.head &&
			text_eq(json_get_text(one, "head_hash", ""), head_hex(c->a, &at)))
			at.state = 1;
		rc = pg_do(d,
			"UPDATE chain SET local_head = $2, state = $3, seen_at = now() WHERE chain_id = $1 AND state = $4",
			(struct pg_value[]){ pg_i(c->a, at.chain_id), pg_i(c->a, head), pg_i(c->a, at.state),
				pg_i(c->a, as_read) },
			4, &changed, e);
		if (rc == OK && !changed) /* it was found to be forked meanwhile, say: that stays */
			rc = chain_find(d, c->a, who->node.id, session, &at, e);
		if (rc)
			return rc;
		json_set(c->a, chains, session, standing(c->a, &at));
	}
	json_set(c->a, answer, "chains", chains);
	return OK;
}

static int add_news(struct call *c, struct db *d, struct json *answer, struct err *e)
{
	AUTO(pg_rows_done) struct pg_rows rows = { 0 };
	int rc = pg_ask_kept(d,
		"SELECT coalesce((SELECT max(seq) FROM directive), 0), (SELECT note FROM checkpoint ORDER BY tree_size DESC LIMIT 1)",
		NULL, 0, &rows, e);

	if (rc)
		return rc;
	json_seti(c->a, answer, "order", pg_int(&rows, 0, 0));
	if (!pg_null(&rows, 0, 1))
		json_sets(c->a, answer, "checkpoint", pg_text(&rows, c->a, 0, 1));
	json_seti(c->a, answer, "time", c->server->sys->now_us(c->server->sys) / 1000000);
	return OK;
}

/* The number that orders the heartbeats of a machine, part of what it signs.  An older helm has none: its signed time is it, to the second. */
static int beat_number(struct call *c, int64_t *ret, struct err *e)
{
	const struct json *said = json_get(c->body, "sent_us");
	int64_t time_s;

	if (said)
		return json_int(said, ret) && *ret > 0
			? OK
			: call_refuse(c, e, 400, "BAD_REQUEST", "sent_us is no number of a heartbeat");
	if (!text_int(call_header(c, "Helm-Time"), &time_s))
		return call_refuse(c, e, 401, "UNAUTHENTICATED", "a header of the signature cannot be read");
	*ret = time_s * 1000000;
	return OK;
}

/* The row of the machine, as its newest heartbeat says; 409 for one that is not the newest.  Two at once wait for each other at the row. */
static int store_beat(
	struct call *c, struct db *d, const struct caller_of *who, int64_t number, struct err *e)
{
	AUTO(pg_rows_done) struct pg_rows rows = { 0 };
	int64_t changed = 0;
	int rc = pg_do(d,
		"UPDATE node SET seen_at = now(), skew_ms = $2, order_seen = greatest(order_seen, $3), beat = $4, beat_us = $5"
		" WHERE node_id = $1 AND beat_us < $5",
		(struct pg_value[]){ pg_i(c->a, who->node.id), pg_i(c->a, who->skew_ms),
			pg_i(c->a, json_get_int(c->body, "order", 0)), pg_b(c->raw), pg_i(c->a, number) },
		5, &changed, e);

	if (rc || changed)
		return rc;
	rc = pg_ask_kept(d, "SELECT beat_us FROM node WHERE node_id = $1",
		(struct pg_value[]){ pg_i(c->a, who->node.id) }, 1, &rows, e);
	return rc ? rc
		  : call_refuse(c, e, 409, "FLEET_REPLAY",
			    "this heartbeat was sent before, or a newer one was taken; the last one is %lld",
			    rows.n ? (long long)pg_int(&rows, 0, 0) : 0);
}

static int beat(struct call *c, struct err *e)
{
	AUTO(lent_back) struct lent l = { 0 };
	struct caller_of who = { 0 };
	struct json *answer = json_new(c->a, JSON_OBJECT);
	int64_t number = 0, local_us;
	int rc = enter(c, &who, e);

	if (rc == OK)
		rc = beat_number(c, &number, e);
	if (rc == OK)
		rc = lend(c->server->fleet->pool, POOL_INGEST, who.tenant.id, &l, e);
	const char *at = json_get_text(c->body, "at", "");
	/* What it signs is by our clock; what it says is by its own. */
	if (text_parse_time(at, strlen(at), &local_us))
		who.skew_ms = (local_us - c->server->sys->now_us(c->server->sys)) / 1000;
	if (rc == OK)
		rc = store_beat(c, l.d, &who, number, e);
	if (rc == OK)
		rc = look_at_heads(c, l.d, &who, answer, e);
	if (rc == OK)
		rc = add_news(c, l.d, answer, e);
	if (rc == OK)
		rc = pg_commit(l.d, e);
	if (rc)
		return database_refuses(c, e);
	call_answer(c, 200, answer);
	return OK;
}

static int orders(struct call *c, struct err *e)
{
	struct caller_of who = { 0 };
	int64_t after;
	int rc = enter(c, &who, e);

	if (rc == OK && (!text_int(c->args[0], &after) || after < 0))
		rc = call_refuse(c, e, 400, "BAD_REQUEST", "the number of an order is no number");
	if (rc == OK)
		orders_wait(c, who.tenant.id, after);
	return rc;
}

static int health(struct call *c, struct err *e)
{
	struct json *doc = json_new(c->a, JSON_OBJECT);

	(void)e;
	json_sets(c->a, doc, "status", "ok");
	json_sets(c->a, doc, "version", HELM_VERSION);
	call_answer(c, 200, doc);
	return OK;
}

int fleet_enter(struct call *c, struct caller_of *who, struct err *e)
{
	return enter(c, who, e);
}

enum { HERE = NO_KERNEL };
const struct route fleet_routes[] = {
	{ "POST", "/v1/fleet/join", AUTH_MACHINE, 0, RATE_KERNEL, HERE | TAKES_JSON, join,
		"enrol a machine, or a further key of one", NULL, NULL },
	{ "POST", "/v1/fleet/chains/{session}/receipts", AUTH_MACHINE, 0, RATE_KERNEL, HERE | TAKES_BYTES,
		receive, "append a batch of receipts", NULL, NULL },
	{ "GET", "/v1/fleet/chains/{session}/at/{clock}", AUTH_MACHINE, 0, RATE_KERNEL, HERE, at_clock,
		"what the ledger has at a place of a chain", NULL, NULL },
	{ "POST", "/v1/fleet/chains/{session}/rejoin", AUTH_MACHINE, 0, RATE_KERNEL, HERE | TAKES_JSON,
		rejoin, "begin again with a chain that was continued in two ways", NULL, NULL },
	{ "POST", "/v1/fleet/beat", AUTH_MACHINE, 0, RATE_KERNEL, HERE | TAKES_JSON, beat,
		"a machine is there", NULL, NULL },
	{ "GET", "/v1/fleet/orders/{after}", AUTH_MACHINE, 0, RATE_KERNEL, HERE, orders,
		"orders behind a number; waits for one", NULL, NULL },
	{ "GET", "/v1/fleet/proofs/{session}/{clock}/{size}", AUTH_MACHINE, 0, RATE_KERNEL, HERE,
		fleet_proofs, "that a receipt is in the tree, and that the tree has only grown", NULL, NULL },
	{ "POST", "/v1/fleet/view/{what}", AUTH_READER, 0, RATE_KERNEL, HERE | TAKES_JSON, fleet_view,
		"search, nodes, orders, questions, by a reader's token", NULL, NULL },
	{ "GET", "/log/{tenant}/{*rest}", AUTH_PUBLIC, 0, RATE_PUBLIC, HERE, fleet_log,
		"checkpoint and tiles of a tenant's log", NULL, NULL },
	{ "GET", "/openapi.yaml", AUTH_PUBLIC, 0, RATE_PUBLIC, HERE, route_openapi, "this table as OpenAPI",
		NULL, NULL },
	{ "GET", "/openapi.json", AUTH_PUBLIC, 0, RATE_PUBLIC, HERE, route_openapi, "the same", NULL, NULL },
	{ "GET", "/healthz", AUTH_PUBLIC, 0, RATE_PUBLIC, HERE, health, "is this a ledger, and which helm",
		NULL, NULL },
	{ 0 },
};

/* Those of the ledger, then those of its console. */
const struct route *fleet_route_at(size_t i)
{
	const size_t own = ARRAY_SIZE(fleet_routes) - 1;

	if (i < own)
		return &fleet_routes[i];
	for (const struct route *r = fleet_look_routes; r->path; r++)
		if (i-- == own)
			return r;
	return NULL;
}

const struct route *fleet_route(struct arena *a, const char *method, const char *path,
	const char *args[ROUTE_ARGS], const char **ret_allowed)
{
	return route_find_in(fleet_route_at, a, method, path, args, ret_allowed);
}
