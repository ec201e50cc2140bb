/* group.c — group commit: writers that wait at the same time share one write and one sync.
 *
 * Who finds nobody at work becomes the leader, takes what has queued up, signs and writes it, and hands the lead to the
 * first who has queued up meanwhile; then it waits for the disk and wakes its group.  So there are two stages: while one
 * group waits for the disk the next one is signed, and who was woken prepares its next record on another
 * processor.  Nobody waits for a timer: groups form by themselves.  Each writer sleeps on a semaphore of its own and is woken
 * exactly once.
 *
 * Two groups at most are on their way, so that the edge has room for their leaves.  They end in the order they began: a group
 * is told that it is on disk only when the one before it is.  Each waits by a descriptor that it opened itself, because the
 * kernel tells a failed write once to each of those; and when it fails for one, those that were written behind it
 * fail, too, and all of it is cut off. */
#include "base/file.h"
#include "record/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <string.h>

/* One writer in the queue; lives on that writer's stack until it is woken.  What it brought is never divided between two groups. */
struct waiting {
	struct group_part *first, *last;
	size_t n; /* drafts, of all parts */
	bool leads; /* woken to lead the next group, this writer included */
	sem_t wake;
	struct waiting *next;
};

enum { ON_THE_WAY = 2 };
_Static_assert(ON_THE_WAY *(RECORDER_GROUP_MOST + SEAMS) <= RECENT_LEAVES,
	"the edge has no room for the leaves of all groups");

struct recorder_group {
	struct recorder *r;
	pthread_mutex_t mutex; /* of the queue */
	struct waiting *first, **last; /* queued up */
	bool busy; /* somebody leads */
	pthread_mutex_t work; /* of the recorder, and of what follows; taken before the other one */
	pthread_cond_t turn; /* a group has ended */
	uint64_t begun, ended; /* groups so far */
	uint64_t failed; /* those up to this number stand on one that could not be synced */
	off_t cut_from, cut_to; /* the lines of those that could not */
	uint64_t cut_clock; /* of the last receipt before these */
};

struct recorder_group *recorder_group_new(struct recorder *r)
{
	struct recorder_group *g = calloc(1, sizeof(*g));

	if (!g)
		mem_exhausted(0);
	g->r = r;
	g->last = &g->first;
	pthread_mutex_init(&g->mutex, NULL);
	pthread_mutex_init(&g->work, NULL);
	pthread_cond_init(&g->turn, NULL);
	return g;
}

void recorder_group_free(struct recorder_group *g)
{
	if (!g)
		return;
	pthread_mutex_destroy(&g->mutex);
	pthread_mutex_destroy(&g->work);
	pthread_cond_destroy(&g->turn);
	free(g);
}

static void sleep_until_woken(struct waiting *w)
{
	while (sem_wait(&w->wake) && errno == EINTR)
		;
}

/* What has queued up, the first writer in any case, and not more than there is room for; the parts of all of them are one list. */
static struct waiting *take_queued(struct recorder_group *g, size_t *ret_n)
{
	pthread_mutex_lock(&g->mutex);
	struct waiting *list = g->first, **end = &g->first;
	size_t n = 0;
	while (*end && (!n || n + (*end)->n <= RECORDER_GROUP_MOST)) {
		n += (*end)->n;
		end = &(*end)->next;
	}
	g->first = *end;
	if (!g->first)
		g->last = &g->first;
	*end = NULL;
	pthread_mutex_unlock(&g->mutex);
	for (struct waiting *w = list; w && w->next; w = w->next)
		w->last->next = w->next->first;
	*ret_n = n;
	return list;
}

/* `busy` is decided under the mutex together with the choice of the heir: nobody can queue up in between
 * and find neither a leader nor a reason to lead. */
static void hand_over(struct recorder_group *g)
{
	pthread_mutex_lock(&g->mutex);
	struct waiting *heir = g->first;
	g->busy = heir != NULL;
	pthread_mutex_unlock(&g->mutex);
	if (heir) {
		heir->leads = true;
		sem_post(&heir->wake);
	}
}

/* The file that the batch is in, opened for this sync alone; -1 when that cannot be had. */
static int open_own(struct recorder *r)
{
	struct sys *s = r->sys;
	AUTO(close_fd) int fd = s->open(s, r->state_fd, RECEIPTS, O_RDWR | O_NOFOLLOW | O_NONBLOCK, 0, 0);
	struct stat st;

	if (fd < 0 || s->stat(s, fd, "", &st, AT_EMPTY_PATH) || st.st_ino != r->at.file.ino ||
		st.st_dev != r->at.file.dev)
		return -1;
	int own = fd;
	fd = -1;
	return own;
}

/* May the next group begin before this one is on disk?  Not while the chain is locked for it, and not when a head is due, which
 * speaks only of what is on disk. */
static bool may_go_on(const struct recorder *r, const struct batch *b)
{
	return !b->is_locked && r->at.clock - r->at.heads_at < r->head_interval;
}

/* The group could not be synced, or stands on one that could not.  Whatever is written by now stands on it, and fails, too; who
 * ends last finds the lines of all of them at the end of the file. */
static void note_failure(struct recorder_group *g, struct batch *b, uint64_t number)
{
	if (number <= g->failed && b->start == g->cut_to) {
		b->start = g->cut_from;
		b->clock_before = g->cut_clock;
	}
	g->cut_from = b->start;
	g->cut_clock = b->clock_before;
	g->cut_to = b->end;
	g->failed = g->begun;
}

/* Waits for the disk, and for the group before this one.  `work` is held before and after. */
static int settle(struct recorder_group *g, struct arena *a, struct batch *b, struct err *e)
{
	struct recorder *r = g->r;
	const uint64_t number = ++g->begun;
	AUTO(close_fd) int own = open_own(r);
	bool goes_on = own >= 0 && may_go_on(r, b);

	if (goes_on) {
		pthread_mutex_unlock(&g->work);
		hand_over(g);
	}
	int rc = batch_sync(r, own >= 0 ? own : r->fd, e);
	if (goes_on)
		pthread_mutex_lock(&g->work);
	while (g->ended != number - 1)
		pthread_cond_wait(&g->turn, &g->work);
	if (rc == OK && number <= g->failed)
		rc = err_set(e, E_IO, "LOG_APPEND", "cannot append to %s: what stands before it was lost",
			RECEIPTS);
	if (rc)
		note_failure(g, b, number);
	rc = batch_end(r, a, b, own >= 0 ? own : r->fd, rc, e);
	g->ended = number;
	pthread_cond_broadcast(&g->turn);
	if (!goes_on)
		hand_over(g);
	return rc;
}

/* One draft of the group cannot be signed, and so nothing of it was written.  The drafts of each are appended alone now: the
 * faulty one gets its own error, and the others are not affected. */
static void append_each(struct recorder_group *g, struct arena *a, struct group_part *list)
{
	while (g->ended != g->begun)
		pthread_cond_wait(&g->turn, &g->work);
	for (struct group_part *p = list; p; p = p->next)
		if (!p->is_refused)
			p->rc = recorder_append(
				g->r, p->receipts ? p->a : a, p->drafts, p->n, p->receipts, &p->err);
}

/* The drafts of all who are not refused; each has its receipt made where it is wanted, so that nothing is copied. */
static size_t gather(struct group_part *list, struct draft *ret)
{
	size_t n = 0;

	for (struct group_part *p = list; p; p = p->next)
		if (!p->is_refused) {
			memcpy(ret + n, p->drafts, p->n * sizeof(*ret));
			for (size_t i = 0; p->receipts && i < p->n; i++)
				ret[n + i].into = p->a;
			n += p->n;
		}
	return n;
}

/* The one that a refused draft belongs to is left out. */
static void leave_out(struct group_part *list, size_t draft, const struct err *e)
{
	struct group_part *p = list;

	for (size_t at = 0; p; p = p->next) {
		if (!p->is_refused && draft < at + p->n)
			break;
		at += p->is_refused ? 0 : p->n;
	}
	p->is_refused = true;
	p->rc = e->rc;
	p->err = *e;
}

/* What each of them wrote, which is behind the seams of the batch.  The batch itself ends with its leader. */
static void give_receipts(struct group_part *list, const struct batch *b, size_t n)
{
	struct json **next = b->receipts + (b->n - n);

	for (struct group_part *p = list; p; p = p->next) {
		if (p->is_refused)
			continue;
		for (size_t i = 0; p->receipts && i < p->n; i++)
			p->receipts[i] = next[i];
		next += p->n;
	}
}

/* One write and one sync for the whole list, and the lead handed over as early as can be.  `work` is held. */
static void commit(struct recorder_group *g, struct group_part *list, size_t n)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct err e = { 0 };
	struct batch *b;

	struct draft *all = arena_alloc(&a, n * sizeof(*all));
	int rc = rows_sync(g->r, &e);
	while (rc == OK && (n = gather(list, all))) {
		rc = batch_begin(g->r, &a, all, n, &b, &e);
		if (!rc || g->r->refused == SIZE_MAX)
			break;
		leave_out(list, g->r->refused, &e);
		rc = OK;
	}
	if (rc == OK && n) {
		rc = settle(g, &a, b, &e);
		if (rc == OK)
			give_receipts(list, b, n);
	} else {
		if (rc == E_INPUT && list->next) {
			append_each(g, &a, list);
			list = NULL;
		}
		hand_over(g);
	}
	for (struct group_part *p = list; p; p = p->next) {
		if (p->is_refused)
			continue;
		p->rc = rc;
		p->err = e;
	}
}

/* The leader's work, `own` included. */
static void lead(struct recorder_group *g, const struct waiting *own)
{
	size_t n;

	pthread_mutex_lock(&g->work);
	/* Behind one that failed nobody begins before everything that stands on it has ended. */
	while (g->begun - g->ended >= ON_THE_WAY || g->ended < g->failed)
		pthread_cond_wait(&g->turn, &g->work);
	struct waiting *list = take_queued(g, &n);
	commit(g, list->first, n);
	pthread_mutex_unlock(&g->work);
	for (struct waiting *w = list, *next; w; w = next) {
		next = w->next; /* its owner leaves as soon as it is woken */
		if (w != own)
			sem_post(&w->wake);
	}
}

/* Either leads at once, or sleeps until it is woken: with its result, or as the leader of the next group,
 * which it is itself the first of. */
void recorder_group_append_all(struct recorder_group *g, struct group_part *parts, size_t n)
{
	if (!n)
		return;
	struct waiting own = { .first = parts, .last = parts + n - 1 };
	for (size_t i = 0; i < n; i++) {
		parts[i].next = i + 1 < n ? &parts[i + 1] : NULL;
		own.n += parts[i].n;
	}
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
}

int recorder_group_append(struct recorder_group *g, struct arena *a, const struct draft *drafts, size_t n,
	struct json **ret_receipts, struct err *e)
{
	struct group_part own = { .a = a, .drafts = drafts, .n = n, .receipts = ret_receipts };

	recorder_group_append_all(g, &own, 1);
	if (own.rc && e)
		*e = own.err;
	return own.rc;
}
