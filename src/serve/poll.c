/* poll.c — who waits for a listener, and runs it.
 *
 * The library reads requests and sends answers in one function that any thread may call, one at a time.  So nobody has to be woken for that: who has read requests
 * answers them, while a second thread waits in its place; and who has answers sends them.  A thread that is woken costs more than most of what a decision
 * needs, twice for each request.
 *
 * What is locked: `running` is held by who runs; `wanted` says that somebody wants it to be run once more, and is looked at again after `running` was given back,
 * so that whoever could not have it need not wait.  The two threads wait in `set` for an event that is told once (EPOLLONESHOT): who runs next, which may be
 * another one than who was told, arms it again (`is_told`).  A connection that is put back among those that are run does not wake them by itself: who did that runs, or rings. */
#include "serve/parts.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { THREADS = 2, LOOK_MS = 1000, RUNS_MOST = 16 };

struct poller {
	struct server *s;
	struct poller_spec spec;
	int set, bell; /* descriptors */
	pthread_mutex_t running;
	atomic_bool wanted, is_over, is_told;
	atomic_int answering; /* threads that do not come back at once */
	pthread_t threads[THREADS];
	size_t started;
};

/* Of the thread, while it runs: what it will do afterwards. */
static _Thread_local struct {
	struct poller *of; /* NULL: it is none of ours */
	void *what[WORK_ALL_MOST];
	size_t n;
} taken;
static _Thread_local const struct poller *own; /* that this thread waits for */

static void arm(struct poller *p)
{
	struct epoll_event ev = { .events = EPOLLIN | EPOLLONESHOT, .data.fd = p->spec.fd };

	(void)epoll_ctl(p->set, EPOLL_CTL_MOD, p->spec.fd, &ev);
}

/* Each ring is told to one thread, whatever the count. */
static void ring(struct poller *p)
{
	const uint64_t one = 1;

	(void)!write(p->bell, &one, sizeof(one));
}

/* Who has something of its own to do runs so often at most, and who has taken a request not once more: the rest is for the two who have not. */
void poller_run(struct poller *p)
{
	int runs = 0;

	atomic_store(&p->wanted, true);
	while (atomic_load(&p->wanted)) {
		bool is_bounded = taken.of != p || atomic_load(&p->is_over);
		if (taken.n || (is_bounded && runs++ == RUNS_MOST)) {
			ring(p);
			return;
		}
		if (pthread_mutex_trylock(&p->running))
			return;
		atomic_store(&p->wanted, false);
		if (p->spec.run(p->spec.arg))
			atomic_store(&p->wanted, true);
		if (atomic_exchange(&p->is_told, false))
			arm(p);
		pthread_mutex_unlock(&p->running);
	}
}

void poller_hold(struct poller *p)
{
	pthread_mutex_lock(&p->running);
}

void poller_release(struct poller *p)
{
	pthread_mutex_unlock(&p->running);
	poller_run(p);
}

void poller_wake(struct poller *p)
{
	atomic_store(&p->wanted, true);
	ring(p);
}

bool poller_is_own(const struct poller *p)
{
	return own == p;
}

bool poller_take(void *what)
{
	if (!taken.of || taken.n == WORK_ALL_MOST)
		return false;
	taken.what[taken.n++] = what;
	return true;
}

/* Runs, and does what was taken meanwhile, as long as there is something: an answer that is there is sent by running again. */
static void run_and_answer(struct poller *p, struct worker *w)
{
	for (bool is_over = false;; is_over = atomic_load(&p->is_over)) {
		taken.of = is_over ? NULL : p; /* what is read now is refused by the queue */
		poller_run(p);
		taken.of = NULL;
		if (!taken.n)
			return;
		bool is_alone = atomic_fetch_add(&p->answering, 1) > 0;
		p->spec.found(w, taken.what, taken.n, is_alone);
		atomic_fetch_sub(&p->answering, 1);
		taken.n = 0;
	}
}

static void *be_poller(void *arg)
{
	struct poller *p = arg;
	struct worker *w = worker_new(p->s);

	own = p;
	while (!atomic_load(&p->is_over)) {
		struct epoll_event ev;
		if (epoll_wait(p->set, &ev, 1, LOOK_MS) == 1 && ev.data.fd == p->spec.fd)
			atomic_store(&p->is_told, true);
		run_and_answer(p, w);
	}
	worker_free(w);
	ring(p); /* for the other one */
	return NULL;
}

int poller_start(struct server *s, const struct poller_spec *spec, struct poller **ret, struct err *e)
{
	struct poller *p = calloc(1, sizeof(*p));
	struct epoll_event told = { .events = EPOLLIN | EPOLLET, .data.fd = -1 },
			   once = { .events = EPOLLIN | EPOLLONESHOT, .data.fd = spec->fd };
	sigset_t all, old;

	if (!p)
		mem_exhausted(0);
	p->s = s;
	p->spec = *spec;
	p->set = epoll_create1(EPOLL_CLOEXEC);
	p->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	pthread_mutex_init(&p->running, NULL);
	errno = p->set < 0 || p->bell < 0 || epoll_ctl(p->set, EPOLL_CTL_ADD, p->bell, &told) ||
			epoll_ctl(p->set, EPOLL_CTL_ADD, spec->fd, &once)
		? errno
		: 0;
	*ret = p; /* before the first of them reads a request: who answers it looks there */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	while (!errno && p->started < THREADS) {
		errno = pthread_create(&p->threads[p->started], NULL, be_poller, p);
		p->started += !errno;
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (p->started == THREADS)
		return OK;
	err_sys(e, "SERVE_THREAD", "no thread can be started");
	poller_stop(p);
	*ret = NULL;
	return e->rc;
}

void poller_stop(struct poller *p)
{
	if (!p)
		return;
	atomic_store(&p->is_over, true);
	ring(p);
	for (size_t i = 0; i < p->started; i++)
		pthread_join(p->threads[i], NULL);
	close_fd(&p->set);
	close_fd(&p->bell);
	pthread_mutex_destroy(&p->running);
	free(p);
}
