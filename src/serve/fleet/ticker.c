/* ticker.c — a thread that does one thing again and again, until it is told to stop. */
#include "serve/fleet/ticker.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct ticker {
	bool (*fn)(void *arg);
	void *arg;
	int period_ms, stop;
	pthread_t thread;
};

static void *tick(void *arg)
{
	struct ticker *t = arg;

	for (;;) {
		struct pollfd fd = { .fd = t->stop, .events = POLLIN };
		if (poll(&fd, 1, t->fn(t->arg) ? 0 : t->period_ms) > 0)
			return NULL;
	}
}

/* Signals stay with the main thread. */
struct ticker *ticker_start(int period_ms, bool (*fn)(void *arg), void *arg, struct err *e)
{
	struct ticker *t = calloc(1, sizeof(*t));
	sigset_t all, old;

	if (!t)
		mem_exhausted(0);
	*t = (struct ticker){ .fn = fn, .arg = arg, .period_ms = period_ms, .stop = eventfd(0, EFD_CLOEXEC) };
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	errno = t->stop < 0 ? errno : pthread_create(&t->thread, NULL, tick, t);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (!errno)
		return t;
	(void)err_sys(e, "SERVE_THREAD", "no thread can be started");
	close_fd(&t->stop);
	free(t);
	return NULL;
}

void ticker_stop(struct ticker *t)
{
	const uint64_t one = 1;

	if (!t)
		return;
	(void)!write(t->stop, &one, sizeof(one));
	pthread_join(t->thread, NULL);
	close_fd(&t->stop);
	free(t);
}
