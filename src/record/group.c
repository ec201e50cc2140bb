/* group.c — group commit: writers that wait at the same time share one write and one sync.
 *
 * Who finds nobody at work becomes the leader, takes everything that has queued up, appends it in one go,
 * hands the lead to the first who has queued up meanwhile, and wakes its own group.  Nobody waits for a
 * timer: while the leader signs and syncs, the next group forms by itself.  Each writer sleeps on a
 * semaphore of its own and is woken exactly once. */
#include "record/parts.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <string.h>

/* One writer in the queue; lives on that writer's stack until it is woken. */
struct waiting {
	const struct draft *drafts;
	size_t n;
	int rc;
	struct err err;
	bool leads; /* woken to lead the next group, this writer included */
	sem_t wake;
	struct waiting *next;
};

struct recorder_group {
	struct recorder *r;
	pthread_mutex_t mutex;
	struct waiting *first, **last; /* queued up */
	bool busy; /* somebody leads */
};

struct recorder_group *recorder_group_new(struct recorder *r)
{
	struct recorder_group *g = calloc(1, sizeof(*g));

	if (!g)
		BUG("out of memory");
	g->r = r;
	g->last = &g->first;
	pthread_mutex_init(&g->mutex, NULL);
	return g;
}

void recorder_group_free(struct recorder_group *g)
{
	if (!g)
		return;
	pthread_mutex_destroy(&g->mutex);
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
		/* One draft cannot be signed, and so nothing of the group was written.  Each writer's
		 * drafts are appended alone now: the faulty one gets its own error, and the others are not
		 * affected. */
		if (rc == E_INPUT && list->next)
			w->rc = recorder_append(r, &a, w->drafts, w->n, NULL, &w->err);
	}
}

static void sleep_until_woken(struct waiting *w)
{
	while (sem_wait(&w->wake) && errno == EINTR)
		;
}

/* The next leader is woken before the own group, so that the next append starts as early as possible.
 * `busy` is decided under the mutex together with the choice of the heir: nobody can queue up in between
 * and find neither a leader nor a reason to lead. */
static void lead(struct recorder_group *g, const struct waiting *own)
{
	pthread_mutex_lock(&g->mutex);
	struct waiting *list = g->first;
	g->first = NULL;
	g->last = &g->first;
	pthread_mutex_unlock(&g->mutex);
	commit(g->r, list);
	pthread_mutex_lock(&g->mutex);
	struct waiting *heir = g->first;
	g->busy = heir != NULL;
	pthread_mutex_unlock(&g->mutex);
	if (heir) {
		heir->leads = true;
		sem_post(&heir->wake);
	}
	for (struct waiting *w = list, *next; w; w = next) {
		next = w->next; /* its owner leaves as soon as it is woken */
		if (w != own)
			sem_post(&w->wake);
	}
}

/* Either leads at once, or sleeps until it is woken: with its result, or as the leader of the next group,
 * which it is itself the first of. */
int recorder_group_append(struct recorder_group *g, const struct draft *drafts, size_t n, struct err *e)
{
	struct waiting own = { .drafts = drafts, .n = n };

	sem_init(&own.wake, 0, 0);
	pthread_mutex_lock(&g->mutex);
	*g->last = &own;
	g->last = &own.next;
	own.leads = !g->busy;
	g->busy = true;
	bool leads = own.leads;
	pthread_mutex_unlock(&g->mutex);
	if (!leads) {
		sleep_until_woken(&own);
		leads = own.leads;
	}
	if (leads)
		lead(g, &own);
	sem_destroy(&own.wake);
	if (own.rc && e)
		*e = own.err;
	return own.rc;
}
