/* sequence.c — the thread that grows the trees and has them signed.
 *
 * Every front end has one.  Which of them works is decided anew at each tick by who gets the lock of the tenant's row: there is no leader, so none can be
 * lost.  Only a tree that is committed is signed, so a crash in between costs nothing; the signer alone remembers what was signed, so a
 * database that was set back is found out before anything is signed or folded in (FLEET_ROLLED_BACK), and then nothing goes on by itself. */
#include "base/file.h"
#include "base/text.h"
#include "kernel/log_keeper.h"
#include "serve/fleet/parts.h"
#include "serve/fleet/ticker.h"
#include "serve/fleet/tree.h"
#include "serve/witness/witness.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TICK_MS = 250, AGAIN_S = 600 };

/* What each witness cosigned last of a tenant's log, as far as we know. */
struct witnessed {
	struct witnessed *next;
	int32_t tenant;
	uint64_t sizes[TLOG_POLICY_MOST];
};

struct sequencer {
	struct fleet *f;
	struct log_line *signer;
	/* Who has to have cosigned before a checkpoint is published; NULL: nobody. */
	struct tlog_policy *policy;
	struct witnessed *witnessed;
	struct arena a;
	struct ticker *ticker;
	char last_error[512]; /* said once, not every tick */
};

/* ---- signing ---- */

static int path_from(
	struct db *d, struct arena *a, uint64_t old, uint64_t size, struct tlog_request *ret, struct err *e)
{
	const struct tile_source source = tree_source(d);
	struct hash path[MERKLE_MAX_PATH];
	int rc = OK;

	*ret = (struct tlog_request){ .old_size = old };
	if (old && old < size)
		rc = tile_prove_consistency(a, &source, size, old, path, &ret->n, e);
	if (rc == OK && ret->n > TLOG_WITNESS_PATH)
		BUG("a path is too long");
	if (rc == OK && ret->n)
		memcpy(ret->path, path, ret->n * sizeof(path[0]));
	return rc;
}

/* Is the newest one of this very tree, and not too old? */
static int is_signed(struct db *d, struct arena *a, uint64_t size, bool *ret, struct err *e)
{
	AUTO(pg_rows_done) struct pg_rows rows = { 0 };
	int rc = pg_ask(d,
		"SELECT 1 FROM checkpoint WHERE tree_size = $1 AND signed_at > now() - make_interval(secs => $2::int4)",
		(struct pg_value[]){ pg_i(a, (int64_t)size), pg_i(a, AGAIN_S) }, 2, &rows, e);

	*ret = rc == OK && rows.n;
	return rc;
}

static int keep_note(struct db *d, struct arena *a, int32_t tenant, const struct tree_at *at,
	const char *note, int64_t cosigned, struct err *e)
{
	return pg_do(d,
		"INSERT INTO checkpoint(tenant_id, tree_size, root, note, cosigned) VALUES ($1, $2, $3, $4, $5) "
		"ON CONFLICT (tenant_id, tree_size) DO UPDATE SET note = excluded.note, cosigned = excluded.cosigned, signed_at = now()",
		(struct pg_value[]){ pg_i(a, tenant), pg_i(a, (int64_t)at->size),
			pg_b((struct bytes){ at->root.b, sizeof(at->root.b) }), pg_t(note),
			pg_i(a, cosigned) },
		5, NULL, e);
}

static uint64_t *sizes_of(struct sequencer *q, int32_t tenant)
{
	struct witnessed *w = q->witnessed;

	while (w && w->tenant != tenant)
		w = w->next;
	if (!w) {
		w = arena_zalloc(&q->a, 1, sizeof(*w));
		w->tenant = tenant;
		w->next = q->witnessed;
		q->witnessed = w;
	}
	return w->sizes;
}

/* With a policy only what its quorum has cosigned is published; nothing else waits for that. */
static int witness(struct sequencer *q, struct db *d, struct arena *a, int32_t tenant, const char **note,
	int64_t *ret_cosigned, struct err *e)
{
	const struct tile_source source = tree_source(d);
	struct witness_result result = { 0 };

	*ret_cosigned = 0;
	if (!q->policy)
		return OK;
	int rc = witness_ask(q->f->s->sys, a, q->policy, *note, &source, sizes_of(q, tenant), &result, e);
	if (rc == OK) {
		*note = result.note;
		*ret_cosigned = (int64_t)result.cosigned;
	}
	return rc;
}

/* LOG_SMALLER and LOG_DIFFERENT are what a database that was set back is told. */
static int set_back(struct err *e)
{
	char why[sizeof(e->text)];

	if (!text_eq(e->code, "LOG_SMALLER") && !text_eq(e->code, "LOG_DIFFERENT"))
		return e->rc;
	memcpy(why, e->text, sizeof(why));
	return err_set(e, E_DENIED, "FLEET_ROLLED_BACK",
		"the database was set back or changed: %s. Nothing is signed until a person says how to go on (docs/guides/fleet.md)",
		why);
}

/* In a transaction of its own, behind the one that grew the tree: what is signed is committed. */
static int sign_tree(
	struct sequencer *q, struct db *d, struct arena *a, const struct tenant *t, struct err *e)
{
	struct tree_at at;
	struct log_facts facts;
	struct tlog_request proof;
	const char *note, *newest = NULL;
	uint64_t newest_size;
	int64_t cosigned = 0;
	bool is_done = false;
	int rc = pg_begin(d, t->id, e);

	if (rc == OK)
		rc = tree_state(d, a, true, &at, e);
	if (rc == OK && at.size)
		rc = is_signed(d, a, at.size, &is_done, e);
	if (rc || is_done || !at.size)
		return rc;
	const struct tlog_head next = { t->origin, at.size, at.root };
	rc = tree_checkpoint(d, a, &newest, &newest_size, e);
	if (rc == E_MISSING)
		rc = OK;
	if (rc == OK)
		rc = log_ask_facts(q->signer, a, t->name, &facts, e);
	if (rc == OK)
		rc = path_from(d, a, facts.last.size <= at.size ? facts.last.size : 0, at.size, &proof, e);
	if (rc == OK)
		rc = log_ask_head(q->signer, a, t->name, &next, &proof, newest, &note, e);
	if (rc == OK)
		rc = witness(q, d, a, t->id, &note, &cosigned, e);
	if (rc == OK)
		rc = keep_note(d, a, t->id, &at, note, cosigned, e);
	return rc ? set_back(e) : pg_commit(d, e);
}

/* ---- growing ---- */

/* Without an answer of the signer the tree grows all the same, and is signed later. */
static int check_signer(
	struct sequencer *q, struct arena *a, const struct tenant *t, uint64_t size, struct err *e)
{
	struct log_facts facts;
	struct err away = { 0 };

	if (log_ask_facts(q->signer, a, t->name, &facts, &away) || facts.last.size <= size)
		return OK;
	return err_set(e, E_DENIED, "FLEET_ROLLED_BACK",
		"a tree of %llu leaves was signed, and the database has %llu: it was set back to an older copy. Nothing is folded in until "
		"a person says how to go on (docs/guides/fleet.md)",
		(unsigned long long)facts.last.size, (unsigned long long)size);
}

static int grow(struct sequencer *q, struct db *d, struct arena *a, const struct tenant *t, size_t *ret_added,
	struct err *e)
{
	struct tree_at at;
	int rc = pg_begin(d, t->id, e);

	*ret_added = 0;
	if (rc == OK)
		rc = tree_state(d, a, true, &at, e);
	if (rc == OK)
		rc = tree_tick(d, a, t->id, &at, ret_added, e);
	if (rc == OK && *ret_added)
		rc = check_signer(q, a, t, at.size, e);
	if (rc == OK && *ret_added)
		rc = pg_commit(d, e);
	else
		pg_rollback(d);
	return rc;
}

static int work_for(
	struct sequencer *q, struct db *d, const struct tenant *t, size_t *ret_added, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	int rc = grow(q, d, &a, t, ret_added, e);

	pg_rollback(d);
	if (rc == OK)
		rc = sign_tree(q, d, &a, t, e);
	pg_rollback(d);
	return text_eq(e->code, "FLEET_BUSY") ? OK : rc;
}

static int list_tenants(struct db *d, struct arena *a, struct tenant **ret, size_t *ret_n, struct err *e)
{
	AUTO(pg_rows_done) struct pg_rows rows = { 0 };
	int rc =
		pg_ask(d, "SELECT tenant_id, name, origin FROM tenant ORDER BY tenant_id", NULL, 0, &rows, e);

	if (rc)
		return rc;
	*ret_n = (size_t)rows.n;
	*ret = arena_zalloc(a, *ret_n + 1, sizeof(**ret));
	for (int i = 0; i < rows.n; i++)
		(*ret)[i] = (struct tenant){ .id = (int32_t)pg_int(&rows, i, 0),
			.name = pg_text(&rows, a, i, 1),
			.origin = pg_text(&rows, a, i, 2) };
	return OK;
}

static void say(struct sequencer *q, const struct tenant *t, const struct err *e)
{
	char text[sizeof(q->last_error)];

	snprintf(text, sizeof(text), "%s: %s: %s", t ? t->name : "-", e->code, e->text);
	if (strcmp(text, q->last_error) != 0)
		log_line(q->f->s, "error", NULL, "sequencer: %s", text);
	memcpy(q->last_error, text, sizeof(text));
}

/* True: there is more than one tick takes. */
static bool round_of(void *arg)
{
	struct sequencer *q = arg;
	AUTO(arena_done) struct arena a = { 0 };
	AUTO(lent_back) struct lent l = { 0 };
	struct tenant *list;
	size_t n = 0;
	bool is_more = false;
	struct err e = { 0 };
	int rc = lend(q->f->pool, POOL_SEQ, 0, &l, &e);

	if (rc == OK)
		rc = list_tenants(l.d, &a, &list, &n, &e);
	if (rc) {
		say(q, NULL, &e);
		return false;
	}
	pg_rollback(l.d);
	for (size_t i = 0; i < n; i++) {
		size_t added = 0;
		e = (struct err){ 0 };
		if (work_for(q, l.d, &list[i], &added, &e))
			say(q, &list[i], &e);
		is_more |= added >= 4096;
	}
	return is_more;
}

static int read_policy(struct sequencer *q, const char *file, struct err *e)
{
	struct bytes text;

	if (!file)
		return OK;
	int rc = file_read(q->f->s->sys, &q->a, AT_FDCWD, file, TLOG_POLICY_LIMIT, FILE_FOLLOW, &text, e);
	q->policy = arena_zalloc(&q->a, 1, sizeof(*q->policy));
	return rc ? rc : tlog_policy_parse(&q->a, text, file, q->policy, e);
}

int sequence_start(struct fleet *f, const struct json *options, struct err *e)
{
	struct sequencer *q = calloc(1, sizeof(*q));

	if (!q)
		mem_exhausted(0);
	q->f = f;
	f->sequencer = q;
	int rc = log_line_open(f->s->sys, json_get_text(options, "signer", ""), NULL, &q->signer, e);
	if (rc == OK)
		rc = read_policy(q, json_get_text(options, "witnesses", NULL), e);
	if (rc)
		return rc;
	q->ticker = ticker_start(TICK_MS, round_of, q, e);
	return q->ticker ? OK : e->rc;
}

void sequence_stop(struct fleet *f)
{
	if (!f->sequencer)
		return;
	ticker_stop(f->sequencer->ticker);
	log_line_close(&f->sequencer->signer);
	arena_done(&f->sequencer->a);
	free(f->sequencer);
	f->sequencer = NULL;
}
