/* group.c — group commit: writers that wait at the same time share one write and one sync.
 *
 * Who finds nobody at work becomes the leader, takes everything that has queued up, appends it in one go and wakes the others.
 * Nobody waits for a timer: while the leader syncs, the next group forms by itself. */
#include "record/parts.h"

#include <pthread.h>
#include <string.h>

struct waiting {
	const struct draft *drafts;
	size_t n;
	int rc;
	struct err err;
	bool done;
	struct waiting *next;
};

struct recorder_group {
	struct recorder *r;
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	struct waiting *first, **last;
	bool busy;
};

struct recorder_group *recorder_group_new(struct recorder *r)
{
	struct recorder_group *g = calloc(1, sizeof(*g));

	if (!g)
		BUG("out of memory");
	g->r = r;
	g->last = &g->first;
	pthread_mutex_init(&g->mutex, NULL);
	pthread_cond_init(&g->changed, NULL);
	return g;
}

void recorder_group_free(struct recorder_group *g)
{
	if (!g)
		return;
	pthread_mutex_destroy(&g->mutex);
	pthread_cond_destroy(&g->changed);
	free(g);
}

/* The leader's work, outside the mutex: one append for the whole list. */
static void commit(struct recorder *r, struct waiting *list)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct err e = { 0 };
	size_t n = 0, at = 0;

	for (struct waiting *w = list; w; w = w->next)
		n += w->n;
	struct draft *all = arena_alloc(&a, n * sizeof(*all));
	for (struct waiting *w = list; w; w = w->next) {
		memcpy(all + at, w->drafts, w->n * sizeof(*all));
		at += w->n;
	}
	int rc = recorder_append(r, &a, all, n, NULL, &e);
	for (struct waiting *w = list; w; w = w->next) {
		w->rc = rc;
		w->err = e;
		/* One of them is not writable as a receipt: find out which. */
		if (rc == E_INPUT && list->next)
			w->rc = recorder_append(r, &a, w->drafts, w->n, NULL, &w->err);
	}
}

int recorder_group_append(struct recorder_group *g, const struct draft *drafts, size_t n, struct err *e)
{
	struct waiting own = { .drafts = drafts, .n = n };

	pthread_mutex_lock(&g->mutex);
	*g->last = &own;
	g->last = &own.next;
	while (!own.done) {
		if (g->busy) {
			pthread_cond_wait(&g->changed, &g->mutex);
			continue;
		}
		struct waiting *list = g->first;
		g->first = NULL;
		g->last = &g->first;
		g->busy = true;
		pthread_mutex_unlock(&g->mutex);
		commit(g->r, list);
		pthread_mutex_lock(&g->mutex);
		for (struct waiting *w = list, *next; w; w = next) {
			next = w->next; /* its owner may leave as soon as it sees `done` */
			w->done = true;
		}
		g->busy = false;
		pthread_cond_broadcast(&g->changed);
	}
	pthread_mutex_unlock(&g->mutex);
	if (own.rc && e)
		*e = own.err;
	return own.rc;
}
