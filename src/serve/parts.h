/* parts.h — inside serve/: what its own files share. */
#ifndef SERVE_PARTS_H
#define SERVE_PARTS_H

#include "serve/serve.h"

enum {
	BODY_MOST = 1 << 20, /* of a JSON body */
	ASKS_MOST = 16
		<< 10, /* of one that is answered together with others: what is long to judge holds nobody up */
	BYTES_MOST = 64 << 20, /* of a pack that is sent to be verified */
	HELD_MOST = 256 << 20, /* of all bodies that are here at once */
	CALL_MEMORY = 64 << 20, /* of one request */
	STREAMS_MOST = 256,
};

/* What can be read in two ways is read in one way by us and in another by whoever stands before us: then the rest of a body becomes somebody's
 * request, or the tenant another one.  NULL: there is nothing of that. */
const char *call_ambiguity(const struct call *c);

/* ---- queue.c and work.c: what waits, and what a worker does with it ---- */

struct worker;
enum { TOGETHER_MOST = 16, WORK_ALL_MOST = 64 };
struct job {
	struct call *c;
	void (*done)(void *);
	void *arg;
	int kind; /* which line of the queue it is for */
	bool is_together; /* it only asks for a decision: its receipt is written with those of the others */
	bool is_resumed, is_refused;
	int64_t began_us, at_us;
	struct job *next;
};
/* Each is answered and given to its `done`.  Behind that a call may be gone; the jobs are not. */
void worker_answer(struct worker *w, struct job *jobs);
bool work_is_last(void); /* the same: it has no other */
bool work_more_follow(void); /* inside of `done`: this thread has more answers of the same moment */
void work_prepare(struct server *s);
void work_leave_line(struct server *
		s); /* what this thread has left to answer is done one by one: another one may take those that only ask */
/* Several requests that were read in one go are put into the queue; where `may_here`, this thread answers some of what is there, before it returns.  Those with is_refused
 * were not taken: too many wait.  At most WORK_ALL_MOST. */
void work_all(struct worker *w, struct server *s, struct job *jobs, size_t n, bool may_here);

/* ---- poll.c: who waits for a listener, and runs it ---- */

struct poller;
/* Two threads wait for `fd`.  `run` is called by one thread at a time: one of these when there is something to read, and every second; or whoever calls poller_run().
 * `found` is called after it, with what poller_take() was given meanwhile, and `run` behind that: `is_alone` is false for one thread at a time, while the other one runs or waits
 * in its place. */
struct poller_spec {
	int fd;
	void *arg;
	bool (*run)(void *arg); /* true: there is more to do at once */
	void (*found)(struct worker *w, void **what, size_t n, bool is_alone);
};
/* *ret is there before the first thread is. */
int poller_start(struct server *s, const struct poller_spec *spec, struct poller **ret, struct err *e);
void poller_stop(struct poller *p);
/* Now, by this thread; where another one is at it, that one does it once more.  Not inside of run(), nor with a lock that run() takes. */
void poller_run(struct poller *p);
void poller_wake(struct poller *p); /* soon, by another thread */
bool poller_is_own(const struct poller *p); /* this thread is one of the two: it runs when found() returns */
/* Inside of run(), by one of the two: `what` is given to found() afterwards.  False: it is another thread, or there is no room. */
bool poller_take(void *what);
/* While it is held, run() is not called. */
void poller_hold(struct poller *p);
void poller_release(struct poller *p);

/* ---- wire.c: bytes of requests, before the library has them ---- */

struct wire;
void wire_prepare(size_t descriptors); /* before the first connection */
void *wire_open(int fd, bool is_tls);
void wire_close(void *wire); /* or NULL */
/* Was the head of the next request of this connection checked?  Each counts once. */
bool wire_take(int fd);
void wire_answered(int fd); /* the request that was taken last */
struct wire *wire_of(int fd, bool is_tls); /* NULL: it is no connection of a listener, or of the other kind */
/* How many of the bytes the library may have; fewer than there are when something in them is refused. */
size_t wire_check(struct wire *w, const char *p, size_t n);
bool wire_is_refused(const struct wire *w);
size_t wire_refusal(struct wire *w, char *to, size_t room); /* the answer to it; 0 when it was given */
bool wire_linger(struct wire *w); /* behind the answer: does the other side go on? */

#endif
