/* tail.c — notices that the chain has grown, whoever wrote to it: this server, another one, the command line, a hook.
 *
 * What counts is log/leaves: a receipt has its leaf when it is known to be on disk.  While somebody listens, the kernel tells when that file changes; where it
 * does not, a look every second does.  While nobody does, nobody is woken by every receipt, and who asks is told what a look says. */
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
	int events, wake; /* descriptors */
	int watched; /* by `events`; -1: nothing.  Of the thread. */
	atomic_bool is_heeded, is_over;
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

/* The directory, because the files in it may be made anew; it is made with the first receipt. */
static void watch(struct tail *t)
{
	AUTO(arena_done) struct arena a = { 0 };
	bool is_heeded = atomic_load(&t->is_heeded);

	if (t->events < 0)
		return;
	if (is_heeded && t->watched < 0)
		t->watched =
			inotify_add_watch(t->events, arena_printf(&a, "%s/" LOG_DIR, t->s->ws->state_dir),
				IN_MODIFY | IN_CLOSE_WRITE | IN_MOVED_TO | IN_CREATE);
	if (!is_heeded && t->watched >= 0) {
		(void)inotify_rm_watch(t->events, t->watched);
		t->watched = -1;
	}
}

/* What was told; a directory that is gone is watched no more. */
static void hear(struct tail *t)
{
	char events[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
	ssize_t n = read(t->events, events, sizeof(events));

	for (const char *at = events; n > 0 && at < events + n;) {
		const struct inotify_event *event = (const void *)at;
		if (event->mask & IN_IGNORED && event->wd == t->watched)
			t->watched = -1;
		at += sizeof(*event) + event->len;
	}
}

static void *follow(void *arg)
{
	struct tail *t = arg;
	int64_t looked_us = 0;
	uint64_t count;

	for (;;) {
		struct pollfd fds[] = { { .fd = t->wake, .events = POLLIN },
			{ .fd = t->events, .events = POLLIN } };
		int n = poll(fds, ARRAY_SIZE(fds), 1000);
		if (atomic_load(&t->is_over))
			return NULL;
		if (n > 0 && fds[0].revents)
			(void)!read(t->wake, &count, sizeof(count));
		if (n > 0 && fds[1].revents)
			hear(t);
		watch(t); /* before the look: what comes after it is told */
		look(t);
		t->grown(t->arg);
		int64_t now = t->s->sys->mono_us(t->s->sys);
		if (now - looked_us >= 1000000) {
			looked_us = now;
			policy_look(t->s);
		}
	}
}

static void wake(struct tail *t)
{
	const uint64_t one = 1;

	(void)!write(t->wake, &one, sizeof(one));
}

/* Who begins to listen knows the length of that moment, not that of the last look. */
void tail_heed(struct tail *t, bool is_heeded)
{
	if (t && is_heeded && !atomic_load(&t->is_heeded))
		look(t);
	if (t && atomic_exchange(&t->is_heeded, is_heeded) != is_heeded)
		wake(t);
}

struct tail *tail_start(struct server *s, void (*grown)(void *), void *arg, struct err *e)
{
	struct tail *t = calloc(1, sizeof(*t));
	sigset_t all, old;

	if (!t)
		mem_exhausted(0);
	*t = (struct tail){ .s = s, .grown = grown, .arg = arg, .watched = -1 };
	t->events = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	t->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	look(t);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	errno = pthread_create(&t->thread, NULL, follow, t);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (!errno)
		return t;
	err_sys(e, "SERVE_THREAD", "no thread can be started");
	close_fd(&t->events);
	close_fd(&t->wake);
	free(t);
	return NULL;
}

void tail_stop(struct tail *t)
{
	if (!t)
		return;
	atomic_store(&t->is_over, true);
	wake(t);
	pthread_join(t->thread, NULL);
	close_fd(&t->events);
	close_fd(&t->wake);
	free(t);
}

uint64_t tail_length(struct tail *t)
{
	if (!atomic_load(&t->is_heeded))
		look(t);
	return atomic_load(&t->length);
}
