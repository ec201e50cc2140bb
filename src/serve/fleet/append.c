/* append.c — what workers have verified goes into the database: one statement for everything that waits at that moment.
 *
 * While statements are under way the next batches gather, so the commits are as few as the disk is slow and nobody waits for a timer.  Few threads do
 * it, so that one commit waits for the disk while the next is made ready; a chain that two of them have at once is set by the first.  The statement
 * compares and sets the head of each chain and writes only what belongs to those that it could set; a chain that has moved meanwhile is simply not
 * among the rows that come back.  So there is no error to resolve and nothing can be there twice. */
#include "base/hash.h"
#include "base/text.h"
#include "serve/fleet/parts.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum { GROUP_MOST = 256, GROUP_RECEIPTS = 16384, TRIES = 4, THREADS = 3 };

struct appender {
	struct fleet *f;
	pthread_t threads[THREADS];
	size_t thread_count;
	pthread_mutex_t lock;
	pthread_cond_t arrived;
	struct appending *first, **last;
	bool is_over;
};

/* ---- the projection of a receipt ---- */

void columns_begin(struct receipt_columns *c, struct arena *a)
{
	struct pg_array *const texts[] = { &c->type, &c->reason, &c->rule, &c->tool, &c->principal,
		&c->decision, &c->caption };
	struct pg_array *const numbers[] = { &c->chain, &c->lamport, &c->at };

	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		pg_array_begin(numbers[i], a, DB_INT8);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		pg_array_begin(texts[i], a, DB_TEXT);
	pg_array_begin(&c->hash, a, DB_BYTES);
	pg_array_begin(&c->verdict, a, DB_INT4);
}

/* The rule that fired; of what was done by order of the centre, which one that was. */
static const char *rule_of(struct arena *a, const struct json *about)
{
	const char *order = json_get_text(json_get(about, "order"), "hash", NULL);

	if (!order)
		return json_get_text(about, "rule", "");
	return arena_printf(a, "order:%s%s", order, json_get(about, "refused") ? ":refused" : "");
}

void columns_add(struct receipt_columns *c, int64_t chain_id, const struct json *receipt,
	const struct hash *chain, const char *caption)
{
	const char *at = json_get_text(receipt, "timestamp", "");
	const struct json *about = json_get(receipt, "metadata");
	int64_t us = 0;

	(void)text_parse_time(at, strlen(at), &us);
	pg_array_int(&c->chain, chain_id);
	pg_array_int(&c->lamport, json_get_int(receipt, "lamport_clock", 0));
	pg_array_int(&c->at, us);
	pg_array_bytes(&c->hash, (struct bytes){ chain->b, sizeof(chain->b) });
	pg_array_int(&c->verdict, verdict_number(receipt));
	pg_array_text(&c->type, json_get_text(receipt, "type", ""));
	pg_array_text(&c->reason, json_get_text(receipt, "reason_code", ""));
	pg_array_text(&c->rule, rule_of(c->rule.b.a, about));
	pg_array_text(&c->tool, json_get_text(receipt, "tool_name", json_get_text(receipt, "effect_id", "")));
	pg_array_text(&c->principal, json_get_text(receipt, "executor_id", ""));
	pg_array_text(&c->decision, json_get_text(receipt, "decision_id", ""));
	pg_array_text(&c->caption, caption);
}

/* ---- the statement ---- */

/* Whether a row is of a chain that could be set is asked of a table of these (IS TRUE keeps it one): however many rows there are, and the plan is
 * made once for all numbers of them. */
#define OF_THESE " WHERE (chain_id IN (SELECT chain_id FROM l)) IS TRUE"
#define APPEND \
	"WITH w AS (SELECT * FROM unnest($2::int8[], $3::int8[], $4::int4[], $5::bytea[], $6::bytea[], $7::int4[], $8::bytea[], $9::int4[])" \
	" AS w(chain_id, old, n, old_hash, new_hash, key_order, frame, raw))," \
	" l AS (SELECT c.chain_id FROM chain c JOIN w ON w.chain_id = c.chain_id AND w.old = c.head AND w.old_hash = c.head_hash" \
	"  WHERE c.state IN (1, 3) ORDER BY c.chain_id FOR UPDATE OF c SKIP LOCKED)," \
	" c AS (UPDATE chain SET head = w.old + w.n, head_hash = w.new_hash, key_order = w.key_order, state = 1," \
	"  local_head = greatest(local_head, w.old + w.n), seen_at = now()" \
	"  FROM (SELECT * FROM w" OF_THESE \
	" OFFSET 0) w WHERE chain.chain_id = w.chain_id RETURNING chain.chain_id)," \
	" b AS (INSERT INTO bundle(tenant_id, chain_id, first, n, received_at, raw, data)" \
	"  SELECT $1::int4, chain_id, old + 1, n, now(), raw, frame FROM w" OF_THESE ")," \
	" r AS (INSERT INTO receipt(tenant_id, chain_id, lamport, received_at, at, chain_hash, verdict, rtype, reason, rule, tool," \
	"  principal, decision_id, caption)" \
	"  SELECT $1::int4, chain_id, lamport, now(), to_timestamp(at / 1000000.0), hash, verdict::int2, rtype, reason," \
	"  rule, tool, principal, decision_id, caption" \
	"  FROM unnest($10::int8[], $11::int8[], $12::int8[], $13::bytea[], $14::int4[], $15::text[], $16::text[], $17::text[]," \
	"  $18::text[], $19::text[], $20::text[], $21::text[])" \
	"  AS r(chain_id, lamport, at, hash, verdict, rtype, reason, rule, tool, principal, decision_id, caption)" OF_THESE \
	")"
#define ASKED \
	", q AS (INSERT INTO asked(tenant_id, chain_id, approval_id, lamport, request, expires_at)" \
	"  SELECT DISTINCT ON (chain_id, id) $1::int4, chain_id, id, lamport, request, least(to_timestamp(expires / 1000000.0), now() + interval '30 days')" \
	"  FROM unnest($22::int8[], $23::int8[], $24::text[], $25::bytea[], $26::int8[]) AS q(chain_id, lamport, id, request, expires)" OF_THESE \
	" ORDER BY chain_id, id, lamport ON CONFLICT DO NOTHING)," \
	" s AS (INSERT INTO settled(tenant_id, chain_id, approval_id, lamport)" \
	"  SELECT DISTINCT ON (chain_id, id) $1::int4, chain_id, id, lamport" \
	"  FROM unnest($27::int8[], $28::int8[], $29::text[]) AS s(chain_id, lamport, id)" OF_THESE \
	" ORDER BY chain_id, id, lamport ON CONFLICT DO NOTHING)"
#define WHICH " SELECT chain_id FROM c"
/* Most groups have no question and no answer. */
static const char append_sql[] = APPEND WHICH, append_asked_sql[] = APPEND ASKED WHICH;
enum { APPEND_VALUES = 21 };

struct batch_columns {
	struct pg_array chain, old, n, old_hash, new_hash, order, frame, raw;
};

static struct bytes hash_or_nothing(const struct hash *h, int64_t head)
{
	return head ? (struct bytes){ h->b, sizeof(h->b) } : (struct bytes){ (const uint8_t *)"", 0 };
}

/* Questions that came along, and answers: of a receipt that says yes or no to one. */
struct question_columns {
	struct pg_array chain, lamport, id, request, expires, settled_chain, settled_lamport, settled;
};

static void questions_begin(struct question_columns *q, struct arena *a)
{
	struct pg_array *const numbers[] = { &q->chain, &q->lamport, &q->expires, &q->settled_chain,
		&q->settled_lamport };

	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		pg_array_begin(numbers[i], a, DB_INT8);
	pg_array_begin(&q->id, a, DB_TEXT);
	pg_array_begin(&q->settled, a, DB_TEXT);
	pg_array_begin(&q->request, a, DB_BYTES);
}

static void questions_add(
	struct question_columns *q, int64_t chain_id, int64_t lamport, const struct line_of *line)
{
	const struct json *about = json_get(line->receipt, "metadata");
	const char *yes = json_get_text(json_get(about, "grant"), "approval_id", NULL),
		   *no = json_get_text(json_get(about, "denial"), "approval_id", NULL);

	if (line->question) {
		pg_array_int(&q->chain, chain_id);
		pg_array_int(&q->lamport, lamport);
		pg_array_text(&q->id, line->question);
		pg_array_bytes(&q->request, line->request);
		pg_array_int(&q->expires, line->expires_us);
	}
	if (yes || no) {
		pg_array_int(&q->settled_chain, chain_id);
		pg_array_int(&q->settled_lamport, lamport);
		pg_array_text(&q->settled, yes ? yes : no);
	}
}

static void add_batch(struct batch_columns *b, struct receipt_columns *r, struct question_columns *q,
	const struct appending *x)
{
	pg_array_int(&b->chain, x->chain_id);
	pg_array_int(&b->old, x->old_head);
	pg_array_int(&b->n, x->n);
	pg_array_bytes(&b->old_hash, hash_or_nothing(&x->old_hash, x->old_head));
	pg_array_bytes(&b->new_hash, hash_or_nothing(&x->new_hash, 1));
	pg_array_int(&b->order, x->order);
	pg_array_bytes(&b->frame, x->frame);
	pg_array_int(&b->raw, (int64_t)x->raw_bytes);
	for (int64_t i = 0; i < x->n; i++) {
		columns_add(r, x->chain_id, x->lines[i].receipt, &x->lines[i].chain, x->lines[i].caption);
		questions_add(q, x->chain_id, x->old_head + 1 + i, &x->lines[i]);
	}
}

/* One transaction. */
static int run_statement(
	struct db *d, struct arena *a, struct appending *group, struct pg_rows *ret, struct err *e)
{
	struct batch_columns b;
	struct receipt_columns r;
	struct question_columns q;

	pg_array_begin(&b.chain, a, DB_INT8);
	pg_array_begin(&b.old, a, DB_INT8);
	pg_array_begin(&b.n, a, DB_INT4);
	pg_array_begin(&b.old_hash, a, DB_BYTES);
	pg_array_begin(&b.new_hash, a, DB_BYTES);
	pg_array_begin(&b.order, a, DB_INT4);
	pg_array_begin(&b.frame, a, DB_BYTES);
	pg_array_begin(&b.raw, a, DB_INT4);
	columns_begin(&r, a);
	questions_begin(&q, a);
	for (struct appending *x = group; x; x = x->next)
		add_batch(&b, &r, &q, x);
	const struct pg_value values[] = { pg_i(a, group->tenant), pg_array_value(&b.chain),
		pg_array_value(&b.old), pg_array_value(&b.n), pg_array_value(&b.old_hash),
		pg_array_value(&b.new_hash), pg_array_value(&b.order), pg_array_value(&b.frame),
		pg_array_value(&b.raw), pg_array_value(&r.chain), pg_array_value(&r.lamport),
		pg_array_value(&r.at), pg_array_value(&r.hash), pg_array_value(&r.verdict),
		pg_array_value(&r.type), pg_array_value(&r.reason), pg_array_value(&r.rule),
		pg_array_value(&r.tool), pg_array_value(&r.principal), pg_array_value(&r.decision),
		pg_array_value(&r.caption), pg_array_value(&q.chain), pg_array_value(&q.lamport),
		pg_array_value(&q.id), pg_array_value(&q.request), pg_array_value(&q.expires),
		pg_array_value(&q.settled_chain), pg_array_value(&q.settled_lamport),
		pg_array_value(&q.settled) };
	bool is_asked = q.id.n || q.settled.n;
	return pg_transact(d, group->tenant, is_asked ? append_asked_sql : append_sql, values,
		is_asked ? (int)ARRAY_SIZE(values) : APPEND_VALUES, ret, e);
}

/* All of a group in one transaction; which of them were appended says *ret. */
static int append_group(
	struct fleet *f, struct arena *a, struct appending *group, struct pg_rows *ret, struct err *e)
{
	int rc = OK;

	for (int i = 0; i < TRIES; i++) {
		AUTO(lent_back) struct lent l = { 0 };
		rc = lend_bare(f->pool, POOL_INGEST, &l, e);
		if (rc == OK)
			rc = run_statement(l.d, a, group, ret, e);
		if (rc == OK)
			return OK;
		if (!text_eq(e->code, "DB_RETRY"))
			return rc;
	}
	return rc;
}

static bool is_among(const struct pg_rows *rows, int64_t chain_id)
{
	for (int i = 0; i < rows->n; i++)
		if (pg_int(rows, i, 0) == chain_id)
			return true;
	return false;
}

static void tell(struct appending *group, const struct pg_rows *rows, int rc, const struct err *why)
{
	struct err moved = { 0 };

	(void)err_set(&moved, E_INPUT, "APPEND_RACE", "the chain has moved meanwhile");
	while (group) {
		struct appending *x = group;
		group = x->next;
		if (rc)
			x->done(x, rc, why);
		else if (is_among(rows, x->chain_id))
			x->done(x, OK, NULL);
		else
			x->done(x, E_INPUT, &moved);
	}
}

/* One that the database cannot take must not keep out the others. */
static void append(struct fleet *f, struct appending *group)
{
	AUTO(arena_done) struct arena a = { .limit_bytes = (size_t)4 << 30 };
	AUTO(pg_rows_done) struct pg_rows rows = { 0 };
	struct err e = { 0 };
	int rc = append_group(f, &a, group, &rows, &e);

	if (rc && text_eq(e.code, "DB_WRONG") && group->next) {
		while (group) {
			struct appending *x = group;
			group = x->next;
			x->next = NULL;
			append(f, x);
		}
		return;
	}
	tell(group, &rows, rc, &e);
}

/* ---- the thread ---- */

static bool has_chain(const struct appending *group, int64_t chain_id)
{
	for (; group; group = group->next)
		if (group->chain_id == chain_id)
			return true;
	return false;
}

/* Of one tenant, and of each chain one: a statement sets a head once. */
static struct appending *take_group(struct appender *p)
{
	struct appending *group = NULL, **end = &group, **from = &p->first;
	int64_t receipts = 0;
	size_t n = 0;

	while (*from && n < GROUP_MOST) {
		struct appending *x = *from;
		if ((group && x->tenant != group->tenant) || has_chain(group, x->chain_id) ||
			(n && receipts + x->n > GROUP_RECEIPTS)) {
			from = &x->next;
			continue;
		}
		*from = x->next;
		x->next = NULL;
		*end = x;
		end = &x->next;
		receipts += x->n;
		n++;
	}
	p->last = &p->first;
	while (*p->last)
		p->last = &(*p->last)->next;
	return group;
}

static void *be_appender(void *arg)
{
	struct appender *p = arg;

	pthread_mutex_lock(&p->lock);
	for (;;) {
		while (!p->first && !p->is_over)
			pthread_cond_wait(&p->arrived, &p->lock);
		if (!p->first)
			break;
		struct appending *group = take_group(p);
		pthread_mutex_unlock(&p->lock);
		append(p->f, group);
		pthread_mutex_lock(&p->lock);
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

int append_start(struct fleet *f, struct appender **ret, struct err *e)
{
	struct appender *p = calloc(1, sizeof(*p));

	if (!p)
		mem_exhausted(0);
	p->f = f;
	p->last = &p->first;
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->arrived, NULL);
	while (p->thread_count < THREADS &&
		pthread_create(&p->threads[p->thread_count], NULL, be_appender, p) == 0)
		p->thread_count++;
	if (!p->thread_count) {
		free(p);
		return err_set(e, E_IO, "FLEET_THREAD", "cannot start a thread");
	}
	*ret = p;
	return OK;
}

void append_stop(struct appender *p)
{
	if (!p)
		return;
	pthread_mutex_lock(&p->lock);
	p->is_over = true;
	pthread_cond_broadcast(&p->arrived);
	pthread_mutex_unlock(&p->lock);
	for (size_t i = 0; i < p->thread_count; i++)
		pthread_join(p->threads[i], NULL);
	free(p);
}

void append_put(struct appender *p, struct appending *x)
{
	x->next = NULL;
	pthread_mutex_lock(&p->lock);
	*p->last = x;
	p->last = &x->next;
	pthread_cond_signal(&p->arrived);
	pthread_mutex_unlock(&p->lock);
}
