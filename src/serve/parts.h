/* parts.h — inside serve/: what its own files share. */
#ifndef SERVE_PARTS_H
#define SERVE_PARTS_H

#include "serve/serve.h"

enum {
	BODY_MOST = 1 << 20, /* of a JSON body */
	BYTES_MOST = 64 << 20, /* of a pack that is sent to be verified */
	HELD_MOST = 256 << 20, /* of all bodies that are here at once */
	CALL_MEMORY = 64 << 20, /* of one request */
	STREAMS_MOST = 256,
};

/* What can be read in two ways is read in one way by us and in another by whoever stands before us: then the rest of a body becomes somebody's
 * request, or the tenant another one.  NULL: there is nothing of that. */
const char *call_ambiguity(const struct call *c);

/* ---- poll.c: who waits for a listener, and runs it ---- */

struct poller;
struct worker;
/* Two threads wait for `fd`.  `run` is called by one thread at a time: one of these when there is something to read, and every second; or whoever calls poller_run().
 * `found` is called after it, with what poller_take() was given meanwhile. */
struct poller_spec {
	int fd;
	void *arg;
	bool (*run)(void *arg); /* true: there is more to do at once */
	void (*found)(struct worker *w, void *what);
};
/* *ret is there before the first thread is. */
int poller_start(struct server *s, const struct poller_spec *spec, struct poller **ret, struct err *e);
void poller_stop(struct poller *p);
/* Now, by this thread; where another one is at it, that one does it once more.  Not inside of run(), nor with a lock that run() takes. */
void poller_run(struct poller *p);
void poller_wake(struct poller *p); /* soon, by another thread */
/* Inside of run(): may this thread do `what` afterwards, because another one waits meanwhile? */
bool poller_take(void *what);
/* While it is held, run() is not called. */
void poller_hold(struct poller *p);
void poller_release(struct poller *p);

#endif
