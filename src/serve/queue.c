/* queue.c — requests that wait, and the threads that take them out and answer them (work.c).
 *
 * Decisions come first: what reads the record may take long, so only some of the workers do that at once, and only one with something large.  What only asks for a
 * decision is taken out by several at a time, and by no more threads than have something to compute: others would only be woken to wait for the same
 * disk. */
#include "serve/http/http.h"
#include "serve/parts.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

enum kind { ASKS, DECIDES, READS, IS_LARGE, KINDS };
struct queue {
	pthread_mutex_t lock;
	pthread_cond_t arrived, left;
	struct line {
		struct job *first, **last;
		size_t working, most, waiting, room;
	} lines[KINDS];
	size_t waiting, idle, workers, most;
	uint64_t taken; /* out of the lines, ever */
	bool is_over;
};

static _Thread_local struct line *at; /* whose requests this thread answers */
static _Thread_local bool is_here; /* work_here() or work_all() has called us */

/* What waits for somebody else, or for its own first answer, holds nobody up who asks with it. */
static enum kind kind_of(const struct call *c)
{
	const struct route *r = c->route;
	bool reads = !c->resume && (!r || r->rate == RATE_EVIDENCE || r->rate == RATE_PUBLIC);

	if (!c->resume && r && r->flags & ASKS_ONLY && c->raw.n <= ASKS_MOST &&
		!call_header(c, "Idempotency-Key") && !points_are_asked(c->server))
		return ASKS;
	return !reads ? DECIDES : c->raw.n > BODY_MOST ? IS_LARGE : READS;
}

/* The first of a line, and of those that are answered together some more; NULL: nobody waits there, or all who may are at work. */
static struct job *take_from(struct queue *q, struct line *l)
{
	struct job *first = l->working < l->most ? l->first : NULL, **end = &l->first;

	if (!first)
		return NULL;
	for (size_t n = 0; *end && n < (first->is_together ? TOGETHER_MOST : 1); n++) {
		end = &(*end)->next;
		l->waiting--;
		q->waiting--;
		q->taken++;
	}
	l->first = *end;
	if (!l->first)
		l->last = &l->first;
	*end = NULL;
	l->working++;
	return first;
}

static struct job *next_jobs(struct queue *q, struct line **ret_line)
{
	struct job *j = NULL;

	q->idle++;
	for (;;) {
		for (*ret_line = q->lines; *ret_line < q->lines + KINDS; ++*ret_line)
			if ((j = take_from(q, *ret_line)))
				break;
		if (j || (q->is_over && !q->waiting))
			break;
		pthread_cond_wait(&q->arrived, &q->lock);
	}
	q->idle--;
	return j;
}

size_t work_descriptors(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files))
		return 256;
	files.rlim_cur = files.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &files);
	(void)getrlimit(RLIMIT_NOFILE, &files);
	return (size_t)files.rlim_cur;
}

/* A worker that cannot open anything answers nobody: there are only as many as half of the descriptors are enough for. */
static size_t worker_limit(const struct server *s)
{
	enum { OWN = 24, EACH = 6 };
	size_t half = work_descriptors() / 2, most = half > OWN + EACH ? (half - OWN) / EACH : 1;

	return most < (size_t)s->o.workers ? most : (size_t)s->o.workers;
}

/* As many as there are processors, and one that waits for the disk. */
static size_t askers(void)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN);

	return n > 1 ? (size_t)n + 1 : 2;
}

int work_start(struct server *s, struct err *e)
{
	struct queue *q = calloc(1, sizeof(*q));

	(void)e;
	if (!q)
		mem_exhausted(0);
	pthread_mutex_init(&q->lock, NULL);
	pthread_cond_init(&q->arrived, NULL);
	pthread_cond_init(&q->left, NULL);
	q->most = worker_limit(s);
	for (size_t i = 0; i < KINDS; i++)
		q->lines[i].last = &q->lines[i].first;
	q->lines[ASKS].most = q->most < askers() ? q->most : askers();
	q->lines[ASKS].room = QUEUE_MOST;
	q->lines[DECIDES].most = q->most;
	q->lines[DECIDES].room = QUEUE_MOST;
	q->lines[READS].most = q->most > 1 ? q->most / 2 : 1;
	q->lines[READS].room = QUEUE_MOST / 2;
	q->lines[IS_LARGE].most = 1;
	q->lines[IS_LARGE].room = QUEUE_MOST / 64;
	s->queue = q;
	work_prepare(s);
	return OK;
}

static void *be_worker(void *arg);

/* Signals stay with the main thread. */
static bool more_workers(struct server *s)
{
	sigset_t all, old;
	pthread_t thread;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	bool is_there = pthread_create(&thread, NULL, be_worker, s) == 0;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (is_there)
		pthread_detach(thread);
	return is_there;
}

/* Under the lock: somebody takes up what waits in this line, where anybody may who is not at it. */
static void call_somebody(struct server *s, const struct line *l)
{
	struct queue *q = s->queue;

	if (!l->first || l->working >= l->most)
		return; /* who ends calls again */
	if (q->waiting > q->idle && q->workers < q->most && more_workers(s))
		q->workers++;
	pthread_cond_signal(&q->arrived);
}

/* Under the lock.  Somebody may wait because this was the last one that could. */
static void end_jobs(struct server *s)
{
	at->working--;
	call_somebody(s, at);
	pthread_cond_signal(&s->queue->left);
}

void work_leave_line(struct server *s)
{
	struct queue *q = s->queue;
	struct line *l = at;

	pthread_mutex_lock(&q->lock);
	at = &q->lines[DECIDES];
	at->working++;
	l->working--;
	call_somebody(s, l);
	pthread_mutex_unlock(&q->lock);
}

static void free_jobs(struct job *j)
{
	for (struct job *next; j; j = next) {
		next = j->next;
		free(j);
	}
}

static void *be_worker(void *arg)
{
	struct server *s = arg;
	struct worker *w = worker_new(s);
	struct queue *q = s->queue;
	struct job *j;

	pthread_mutex_lock(&q->lock);
	while ((j = next_jobs(q, &at))) {
		pthread_mutex_unlock(&q->lock);
		worker_answer(w, j);
		free_jobs(j);
		pthread_mutex_lock(&q->lock);
		end_jobs(s);
	}
	pthread_cond_broadcast(&q->arrived);
	pthread_mutex_unlock(&q->lock);
	worker_free(w);
	pthread_mutex_lock(&q->lock);
	q->workers--;
	pthread_cond_signal(&q->left);
	pthread_mutex_unlock(&q->lock);
	return NULL;
}

static struct job *new_job(const struct job *from)
{
	struct job *j = calloc(1, sizeof(*j));

	if (!j)
		mem_exhausted(0);
	*j = *from;
	j->kind = kind_of(j->c);
	j->is_together = j->kind == ASKS;
	return j;
}

/* Under the lock.  What was begun is ended: the second half of a call is never refused, and there are no more of those than connections. */
static bool put(struct server *s, struct job *j)
{
	struct queue *q = s->queue;
	struct line *l = &q->lines[j->kind];

	if (!q->workers && more_workers(s))
		q->workers++;
	if (!q->workers ||
		(!j->c->resume && (q->is_over || q->waiting >= QUEUE_MOST || l->waiting >= l->room)))
		return false;
	*l->last = j;
	l->last = &j->next;
	l->waiting++;
	q->waiting++;
	return true;
}

bool work_put(struct server *s, struct call *c, void (*done)(void *), void *arg)
{
	struct queue *q = s->queue;
	struct job *j = new_job(&(struct job){ .c = c, .done = done, .arg = arg });

	pthread_mutex_lock(&q->lock);
	bool is_taken = put(s, j);
	if (is_taken)
		call_somebody(s, &q->lines[j->kind]);
	pthread_mutex_unlock(&q->lock);
	if (!is_taken)
		free(j);
	return is_taken;
}

/* Under the lock: nobody waits, and nobody is at work. */
static bool is_quiet(const struct queue *q)
{
	size_t working = q->waiting;

	for (size_t i = 0; i < KINDS; i++)
		working += q->lines[i].working;
	return !working && !q->is_over;
}

/* By this thread itself, which has taken them out of `l`. */
static void answer_here(struct worker *w, struct server *s, struct line *l, struct job *jobs)
{
	is_here = true;
	at = l;
	worker_answer(w, jobs);
	is_here = false;
	pthread_mutex_lock(&s->queue->lock);
	end_jobs(s);
	pthread_mutex_unlock(&s->queue->lock);
}

bool work_here(struct worker *w, struct call *c, void (*done)(void *), void *arg)
{
	struct server *s = c->server;
	struct queue *q = s->queue;
	struct job j = { .c = c, .done = done, .arg = arg, .kind = kind_of(c) };

	j.is_together = j.kind == ASKS;
	pthread_mutex_lock(&q->lock);
	bool is_taken = (j.kind == ASKS || j.kind == DECIDES) && is_quiet(q);
	q->taken += is_taken;
	q->lines[j.kind].working += is_taken;
	pthread_mutex_unlock(&q->lock);
	if (is_taken)
		answer_here(w, s, &q->lines[j.kind], &j);
	return is_taken;
}

/* What is left of those that only ask is for others, each of whom takes several; of anything else each is for somebody. */
void work_all(struct worker *w, struct server *s, struct job *jobs, size_t n, bool may_here)
{
	struct queue *q = s->queue;
	struct line *asks = &q->lines[ASKS];
	struct job *own = NULL, *made[WORK_ALL_MOST];

	for (size_t i = 0; i < n; i++)
		made[i] = new_job(&jobs[i]);
	pthread_mutex_lock(&q->lock);
	for (size_t i = 0; i < n; i++) {
		jobs[i].is_refused = !put(s, made[i]);
		if (jobs[i].is_refused)
			free(made[i]);
		else if (made[i]->kind != ASKS)
			call_somebody(s, &q->lines[made[i]->kind]);
	}
	if (may_here)
		own = take_from(q, asks);
	for (size_t left = asks->waiting; left; left -= left < TOGETHER_MOST ? left : TOGETHER_MOST)
		call_somebody(s, asks);
	pthread_mutex_unlock(&q->lock);
	if (!own)
		return;
	answer_here(w, s, asks, own);
	free_jobs(own);
}

bool work_is_here(void)
{
	return is_here;
}

/* What waits to be answered together waits with those that wait for somebody, when other decision points are asked from now on. */
void work_reloaded(struct server *s)
{
	struct queue *q = s->queue;
	struct line *from = &q->lines[ASKS], *to = &q->lines[DECIDES];

	if (!points_are_asked(s))
		return;
	pthread_mutex_lock(&q->lock);
	for (struct job *j; (j = from->first);) {
		from->first = j->next;
		j->next = NULL;
		j->kind = DECIDES;
		j->is_together = false;
		*to->last = j;
		to->last = &j->next;
		from->waiting--;
		to->waiting++;
		call_somebody(s, to);
	}
	from->last = &from->first;
	pthread_mutex_unlock(&q->lock);
}

uint64_t work_taken(struct server *s)
{
	pthread_mutex_lock(&s->queue->lock);
	uint64_t n = s->queue->taken;
	pthread_mutex_unlock(&s->queue->lock);
	return n;
}

size_t work_waiting(struct server *s)
{
	pthread_mutex_lock(&s->queue->lock);
	size_t n = s->queue->waiting;
	pthread_mutex_unlock(&s->queue->lock);
	return n;
}

void work_stop(struct server *s)
{
	struct queue *q = s->queue;

	if (!q)
		return;
	pthread_mutex_lock(&q->lock);
	q->is_over = true;
	pthread_cond_broadcast(&q->arrived);
	/* Also those who do it themselves. */
	while (q->workers || q->lines[DECIDES].working || q->lines[ASKS].working)
		pthread_cond_wait(&q->left, &q->lock);
	pthread_mutex_unlock(&q->lock);
}
