/* pool.c — connections to the database that are kept open: one role each, taken by whoever needs one and given back. */
#include "serve/fleet/parts.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { KEPT = 16 }; /* of each role; more are opened when they are needed, and closed afterwards */

struct dbpool {
	const char *conninfo;
	struct sys *sys;
	int patience_s;
	pthread_mutex_t lock;
	struct db *kept[POOL_ROLES][KEPT];
	size_t n[POOL_ROLES];
};

struct dbpool *dbpool_new(struct sys *s, const char *conninfo, int patience_s)
{
	struct dbpool *p = calloc(1, sizeof(*p));

	if (!p)
		mem_exhausted(0);
	p->sys = s;
	p->conninfo = conninfo;
	p->patience_s = patience_s;
	pthread_mutex_init(&p->lock, NULL);
	return p;
}

void dbpool_free(struct dbpool *p)
{
	for (size_t r = 0; p && r < POOL_ROLES; r++)
		for (size_t i = 0; i < p->n[r]; i++)
			pg_close(&p->kept[r][i]);
	free(p);
}

int dbpool_take(struct dbpool *p, enum dbpool_role role, struct db **ret, struct err *e)
{
	static const char *const roles[] = { ROLE_INGEST, ROLE_SEQ, ROLE_READ, ROLE_CONSOLE };
	TABLE_COVERS(roles, POOL_ROLES);
	struct db *d = NULL;

	pthread_mutex_lock(&p->lock);
	if (p->n[role])
		d = p->kept[role][--p->n[role]];
	pthread_mutex_unlock(&p->lock);
	if (d) {
		*ret = d;
		return OK;
	}
	int rc = pg_open_patient(p->conninfo, roles[role], p->sys, p->patience_s, &d, e);
	/* What is asked here takes milliseconds, and costs are guessed as if each month had rows: compiling it first takes half a second. */
	if (rc == OK)
		rc = pg_script(d, "SET jit = off", e);
	/* Who writes asks the same few statements for ever, by whole keys: planning anew for each set of values finds nothing better, and a bitmap only adds
	 * keys that begin with the tenant, which are all of its rows. */
	if (rc == OK && (role == POOL_INGEST || role == POOL_SEQ))
		rc = pg_script(d, "SET plan_cache_mode = force_generic_plan; SET enable_bitmapscan = off", e);
	if (rc)
		pg_close(&d);
	else
		*ret = d;
	return rc;
}

void dbpool_give(struct dbpool *p, enum dbpool_role role, struct db *d)
{
	if (!d)
		return;
	pg_rollback(d);
	pg_widen(d);
	pthread_mutex_lock(&p->lock);
	if (!pg_is_broken(d) && p->n[role] < KEPT) {
		p->kept[role][p->n[role]++] = d;
		d = NULL;
	}
	pthread_mutex_unlock(&p->lock);
	pg_close(&d);
}

void lent_back(struct lent *l)
{
	dbpool_give(l->p, l->role, l->d);
	l->d = NULL;
}

int lend_bare(struct dbpool *p, enum dbpool_role role, struct lent *ret, struct err *e)
{
	for (;;) {
		*ret = (struct lent){ .p = p, .role = role };
		int rc = dbpool_take(p, role, &ret->d, e);
		if (rc || !pg_was_cut(ret->d))
			return rc;
		pg_close(&ret->d);
	}
}

/* A connection that was kept may have been cut since, as may the others: then another one is tried, until a new one is no better.  A database that
 * does not answer would keep us for each of them. */
int lend(struct dbpool *p, enum dbpool_role role, int32_t tenant, struct lent *ret, struct err *e)
{
	int rc = OK;

	for (int i = 0; i <= KEPT; i++) {
		*ret = (struct lent){ .p = p, .role = role };
		rc = dbpool_take(p, role, &ret->d, e);
		if (rc == OK)
			rc = pg_begin(ret->d, tenant, e);
		if (rc == OK || !ret->d || !pg_is_broken(ret->d))
			return rc;
		lent_back(ret);
		if (text_eq(e->code, "DB_STALLED"))
			return rc;
	}
	return rc;
}
