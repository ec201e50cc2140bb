/* orders.c — what the centre tells its machines: asked for by them, answered when there is something.
 *
 * Who waits costs a connection and no worker.  One thread asks the database for the newest number of each tenant that somebody waits for. */
#include "serve/fleet/orders.h"
#include "base/text.h"
#include "serve/fleet/parts.h"
#include "serve/fleet/ticker.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { LOOK_MS = 250, WAIT_S = 25, ORDERS_AT_ONCE = 256, ORDERS_BYTES = 2 << 20 };

struct waiter {
	struct call *c;
	int32_t tenant;
	int64_t after, until_us;
	void (*done)(void *);
	void *arg;
	struct waiter *next;
};

struct waiting_room {
	struct fleet *f;
	pthread_mutex_t lock;
	struct waiter *first;
	bool is_over;
	struct ticker *ticker;
};

/* As many as a machine takes in one answer; one at least, and the others when it has that. */
int orders_behind(struct db *d, struct arena *a, int64_t after, struct json **ret, struct err *e)
{
	AUTO(pg_rows_done) struct pg_rows rows = { 0 };
	int rc = pg_ask(d, "SELECT body FROM directive WHERE seq > $1 ORDER BY seq LIMIT $2",
		(struct pg_value[]){ pg_i(a, after), pg_i(a, ORDERS_AT_ONCE) }, 2, &rows, e);
	struct json *list = json_new(a, JSON_ARRAY);
	size_t bytes = 0;

	for (int i = 0; rc == OK && i < rows.n; i++) {
		struct json *one;
		bytes += pg_bytes(&rows, i, 0).n;
		if (i && bytes > ORDERS_BYTES)
			break;
		rc = json_parse(a, pg_bytes(&rows, i, 0), "order", NULL, &one, e);
		if (rc == OK)
			json_push(a, list, one);
	}
	if (rc == OK)
		*ret = list;
	return rc;
}

static void give(struct waiter *w, struct json *list)
{
	struct json *doc = json_new(w->c->a, JSON_OBJECT);

	json_set(w->c->a, doc, "orders", list ? json_copy(w->c->a, list) : json_new(w->c->a, JSON_ARRAY));
	call_answer(w->c, 200, doc);
	w->done(w->arg);
}

/* Those of one tenant, taken out of the room when there is something for them, or their time is over. */
static void look_for(struct waiting_room *r, int32_t tenant)
{
	AUTO(arena_done) struct arena a = { 0 };
	AUTO(lent_back) struct lent l = { 0 };
	AUTO(pg_rows_done) struct pg_rows rows = { 0 };
	struct waiter *ready = NULL;
	struct err e = { 0 };
	int64_t now = r->f->s->sys->mono_us(r->f->s->sys), newest = 0;
	int rc = lend(r->f->pool, POOL_READ, tenant, &l, &e);

	if (rc == OK)
		rc = pg_ask(l.d, "SELECT coalesce(max(seq), 0) FROM directive", NULL, 0, &rows, &e);
	if (rc == OK)
		newest = pg_int(&rows, 0, 0);
	pthread_mutex_lock(&r->lock);
	for (struct waiter **at = &r->first; *at;) {
		struct waiter *w = *at;
		if (w->tenant == tenant && (w->after < newest || now >= w->until_us || r->is_over)) {
			*at = w->next;
			w->next = ready;
			ready = w;
		} else {
			at = &w->next;
		}
	}
	pthread_mutex_unlock(&r->lock);
	while (ready) {
		struct waiter *w = ready;
		struct json *list = NULL;
		ready = w->next;
		if (w->after < newest)
			(void)orders_behind(l.d, &a, w->after, &list, &e);
		give(w, list);
	}
}

static bool look(void *arg)
{
	struct waiting_room *r = arg;
	int32_t tenants[64];
	size_t n = 0;

	pthread_mutex_lock(&r->lock);
	for (struct waiter *w = r->first; w && n < ARRAY_SIZE(tenants); w = w->next) {
		size_t i = 0;
		while (i < n && tenants[i] != w->tenant)
			i++;
		if (i == n)
			tenants[n++] = w->tenant;
	}
	pthread_mutex_unlock(&r->lock);
	for (size_t i = 0; i < n; i++)
		look_for(r, tenants[i]);
	return false;
}

static void sit_down(struct call *c, void (*done)(void *), void *arg)
{
	struct waiter *w = c->owner;
	struct waiting_room *r = c->server->fleet->waiting;

	w->done = done;
	w->arg = arg;
	pthread_mutex_lock(&r->lock);
	bool is_over = r->is_over;
	if (!is_over) {
		w->next = r->first;
		r->first = w;
	}
	pthread_mutex_unlock(&r->lock);
	if (is_over)
		give(w, NULL);
}

void orders_wait(struct call *c, int32_t tenant, int64_t after)
{
	struct waiter *w = arena_zalloc(c->a, 1, sizeof(*w));

	*w = (struct waiter){ .c = c,
		.tenant = tenant,
		.after = after,
		.until_us = c->server->sys->mono_us(c->server->sys) + WAIT_S * 1000000LL };
	c->owner = w;
	c->defer = sit_down;
}

int orders_start(struct fleet *f, struct err *e)
{
	struct waiting_room *r = calloc(1, sizeof(*r));

	if (!r)
		mem_exhausted(0);
	r->f = f;
	pthread_mutex_init(&r->lock, NULL);
	r->ticker = ticker_start(LOOK_MS, look, r, e);
	if (!r->ticker) {
		free(r);
		return e->rc;
	}
	f->waiting = r;
	return OK;
}

/* Whoever waits is told that there is nothing. */
void orders_quiesce(struct fleet *f)
{
	struct waiting_room *r = f->waiting;

	if (!r)
		return;
	pthread_mutex_lock(&r->lock);
	r->is_over = true;
	struct waiter *all = r->first;
	r->first = NULL;
	pthread_mutex_unlock(&r->lock);
	while (all) {
		struct waiter *w = all;
		all = w->next;
		give(w, NULL);
	}
}

void orders_stop(struct fleet *f)
{
	if (f->waiting)
		ticker_stop(f->waiting->ticker);
	free(f->waiting);
	f->waiting = NULL;
}
