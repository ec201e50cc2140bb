/* tail.c — notices that the chain has grown, whoever wrote to it: this server, another one, the command line, a hook.
 *
 * What counts is log/leaves: a receipt has its leaf when it is known to be on disk.  The kernel tells when that file changes; where it
 * does not, a look every second does. */
#include "record/record.h"
#include "serve/serve.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

struct tail {
	struct server *s;
	int events, stop; /* descriptors */
	pthread_t thread;
	void (*grown)(void *);
	void *arg;
	atomic_ullong length;
};

static void look(struct tail *t)
{
	uint64_t n;

	if (log_leaf_count(t->s->sys, t->s->ws->state_fd, &n, NULL) == OK)
		atomic_store(&t->length, n);
}

static void watch(struct tail *t)
{
	AUTO(arena_done) struct arena a = { 0 };

	/* The directory, because the files in it may be made anew; it is made with the first receipt. */
	if (t->events >= 0)
		(void)inotify_add_watch(t->events, arena_printf(&a, "%s/" LOG_DIR, t->s->ws->state_dir),
			IN_MODIFY | IN_CLOSE_WRITE | IN_MOVED_TO | IN_CREATE);
}

static void *follow(void *arg)
{
	struct tail *t = arg;
	char events[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
	int64_t looked_us = 0;

	for (;;) {
		struct pollfd fds[] = { { .fd = t->stop, .events = POLLIN },
			{ .fd = t->events, .events = POLLIN } };
		int n = poll(fds, ARRAY_SIZE(fds), 1000);
		if (fds[0].revents)
			return NULL;
		if (n > 0 && fds[1].revents)
			(void)!read(t->events, events, sizeof(events));
		if (n == 0)
			watch(t);
		look(t);
		t->grown(t->arg);
		int64_t now = t->s->sys->mono_us(t->s->sys);
		if (now - looked_us >= 1000000) {
			looked_us = now;
			policy_look(t->s);
		}
	}
}

struct tail *tail_start(struct server *s, void (*grown)(void *), void *arg, struct err *e)
{
	struct tail *t = calloc(1, sizeof(*t));
	sigset_t all, old;

	if (!t)
		BUG("out of memory");
	*t = (struct tail){ .s = s, .grown = grown, .arg = arg };
	t->events = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	t->stop = eventfd(0, EFD_CLOEXEC);
	watch(t);
	look(t);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	errno = pthread_create(&t->thread, NULL, follow, t);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (!errno)
		return t;
	err_sys(e, "SERVE_THREAD", "no thread can be started");
	close_fd(&t->events);
	close_fd(&t->stop);
	free(t);
	return NULL;
}

void tail_stop(struct tail *t)
{
	const uint64_t one = 1;

	if (!t)
		return;
	(void)!write(t->stop, &one, sizeof(one));
	pthread_join(t->thread, NULL);
	close_fd(&t->events);
	close_fd(&t->stop);
	free(t);
}

uint64_t tail_length(struct tail *t)
{
	return atomic_load(&t->length);
}
