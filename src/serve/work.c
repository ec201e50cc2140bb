/* work.c — the queue, and workers that answer, each with a kernel of its own as if it were a process of its own.
 *
 * A worker keeps its kernel open from one request to the next, and opens it anew when what a person decided about the place, the files of rules
 * in it, or the key have changed since: so a freeze, another profile or a rotation counts for the next request.
 *
 * Memory.  A request has an arena with a limit.  Where it runs out before anything was written, the request ends with 413 and its
 * worker begins anew; the server goes on.  From the moment a decision is written there is no such way back (call_handle()). */
#include "base/file.h"
#include "base/text.h"
#include "kernel/policy/policy.h"
#include "kernel/posture.h"
#include "serve/metrics.h"
#include "serve/parts.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unwind.h>

struct job {
	struct call *c;
	void (*done)(void *);
	void *arg;
	struct job *next;
};

/* Decisions come first: what reads the record may take long, so only some of the workers do that at once, and only one with something large. */
enum kind { DECIDES, READS, IS_LARGE, KINDS };
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

struct worker {
	struct server *s;
	struct arena a; /* of its kernel */
	struct workspace *ws;
	struct kernel k;
	bool is_open;
	struct posture word; /* of a person about the place, as the kernel was opened with */
	unsigned looks; /* so often it was read again, and said the same */
	struct stat files[3]; /* that it was opened with: see look_at_files() */
};

/* ---- memory that runs out ---- */

/* The way back leads through every function that was called, so that what their AUTO() holds is given back: descriptors, local arenas, locks of
 * files, the policy, the place of an Idempotency-Key.  No mutex is held where an arena is used. */
static _Thread_local jmp_buf way_back;
static _Thread_local bool has_way_back;
static _Thread_local struct arena *in_use; /* of the request */
static _Thread_local uintptr_t stack_at_start; /* of what may be left */
static _Thread_local struct _Unwind_Exception leaving;
static void (*give_up)(size_t);

static _Unwind_Reason_Code step_back(int version, _Unwind_Action actions, _Unwind_Exception_Class class,
	struct _Unwind_Exception *x, struct _Unwind_Context *frame, void *arg)
{
	(void)version;
	(void)class;
	(void)x;
	(void)arg;
	if (actions & _UA_END_OF_STACK || (uintptr_t)_Unwind_GetCFA(frame) > stack_at_start)
		longjmp(way_back, 1);
	return _URC_NO_REASON;
}

static void on_exhausted(size_t wanted)
{
	if (has_way_back) {
		has_way_back = false;
		in_use->limit_bytes = 0; /* what cleans up may need a little */
		leaving = (struct _Unwind_Exception){ 0 };
		(void)_Unwind_ForcedUnwind(&leaving, step_back, NULL);
	}
	give_up(wanted);
	abort();
}

void call_wait(struct call *c)
{
	posture_release(&c->held);
	c->held = NULL;
}

static void end_hold(struct call **c)
{
	call_wait(*c);
}

/* One moment decides: that of the request's beginning, unless somebody was waited for since. */
static void decide_now(struct call *c, const struct request *q, struct handling *h)
{
	AUTO(posture_release) const struct workspace *held = posture_hold(c->k->sys, c->k->ws);

	kernel_decide(c->k, q, h);
}

int call_handle(struct call *c, const struct request *q, struct handling *h, struct err *e)
{
	struct sys *s = c->server->sys;
	size_t limit = c->a->limit_bytes;
	int64_t began = s->mono_us(s);

	decide_now(c, q, h);
	int64_t decided = s->mono_us(s);
	/* From here on it is written, and others wait for the same lock and the same disk. */
	bool had = call_hold(c);
	int rc = kernel_record(c->k, q, h, e);
	call_recorded(c, rc, e);
	c->a->limit_bytes = limit;
	has_way_back = had;
	if (rc == OK)
		metrics_decision(c->server->metrics, h->verdict,
			h->decision.detail_code		       ? h->decision.detail_code
				: h->policy && h->policy->rule ? h->policy->rule
							       : "",
			h->verdict == V_ALLOW ? "" : reason_get(h->decision.reason_code)->code,
			decided - began, s->mono_us(s) - decided);
	return rc;
}

void call_recorded(struct call *c, int rc, const struct err *e)
{
	if (rc == OK || !text_eq(e->code, "DRAW_REFUSED"))
		__atomic_store_n(&c->server->is_failing, rc != OK, __ATOMIC_RELAXED);
}

bool call_hold(struct call *c)
{
	bool had = has_way_back;

	call_wait(c);
	has_way_back = false;
	c->a->limit_bytes = 0;
	return had;
}

/* ---- a kernel that is up to date ---- */

/* The key, and what in the tree of the workspace may make rules stricter. */
static void look_at_files(struct worker *w, struct stat ret[3])
{
	AUTO(arena_done) struct arena a = { 0 };
	struct sys *s = w->s->sys;
	const char *const names[] = { arena_printf(&a, "%s/keys/root.key", w->ws->helm_home),
		"references/execution_profiles.json", "references/guard_policy.json" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (s->stat(s, w->ws->root_fd, names[i], &ret[i], i ? 0 : AT_SYMLINK_NOFOLLOW))
			ret[i] = (struct stat){ 0 };
}

static bool is_same_file(const struct stat *x, const struct stat *y)
{
	return x->st_dev == y->st_dev && x->st_ino == y->st_ino && x->st_size == y->st_size &&
		x->st_ctim.tv_sec == y->st_ctim.tv_sec && x->st_ctim.tv_nsec == y->st_ctim.tv_nsec;
}

static void worker_close(struct worker *w)
{
	if (w->is_open)
		kernel_close(&w->k);
	workspace_close(w->ws);
	arena_done(&w->a);
	*w = (struct worker){ .s = w->s };
}

static int worker_open(struct worker *w, struct err *e)
{
	struct server *s = w->s;
	int rc = workspace_open(s->sys, &w->a, s->ws->root, 0, &w->ws, e);

	/* Before they are read: what changes meanwhile is noticed the next time. */
	if (rc == OK)
		look_at_files(w, w->files);
	if (rc == OK)
		rc = kernel_open(s->sys, &w->a, w->ws, &w->k, e);
	if (rc) {
		worker_close(w);
		return rc;
	}
	w->is_open = true;
	w->k.group = s->group;
	/* Whoever calls is nowhere on this machine: what they say is about the workspace. */
	w->k.guard.at = guard_at(&w->k.guard, &w->a, w->ws->root);
	w->word = *posture_of(s->sys, w->ws);
	return OK;
}

static bool is_same_text(const char *x, const char *y)
{
	return x && y ? text_eq(x, y) : x == y;
}

/* Does a person's word about the place say what it said?  It is read again every second where a place above could speak, and what was read before is kept
 * as long as the kernel is open: so that is done anew at times. */
static bool is_same_word(struct worker *w, const struct posture *now)
{
	enum { LOOKS_MOST = 60 };
	const struct posture *then = &w->word;

	if (now->word == then->word)
		return true;
	if (w->looks++ == LOOKS_MOST || !json_eq(now->word, then->word) || !json_eq(now->own, then->own) ||
		!is_same_text(now->broken, then->broken) || !is_same_text(now->outer, then->outer) ||
		!is_same_text(now->dir, then->dir) || now->is_unfinished != then->is_unfinished ||
		now->is_signed_above != then->is_signed_above)
		return false;
	w->word = *now;
	return true;
}

static bool are_same_files(struct worker *w)
{
	struct stat now[ARRAY_SIZE(w->files)];
	bool are_same = true;

	look_at_files(w, now);
	for (size_t i = 0; i < ARRAY_SIZE(now); i++)
		are_same &= is_same_file(&now[i], &w->files[i]);
	return are_same;
}

/* The tree that the workspace lies in is still one. */
static bool is_same_tree(struct worker *w, struct arena *a)
{
	const char *tree = w->k.guard.at.work_tree;

	return !tree || file_exists(w->s->sys, AT_FDCWD, arena_printf(a, "%s/.git", tree));
}

static int freshen(struct worker *w, struct call *c, struct err *e)
{
	if (w->is_open) {
		c->held = posture_hold(w->s->sys, w->ws);
		if (is_same_word(w, posture_of(w->s->sys, w->ws)) && are_same_files(w) &&
			is_same_tree(w, c->a))
			return OK;
		call_wait(c);
	}
	worker_close(w);
	int rc = worker_open(w, e);
	if (rc == OK)
		c->held = posture_hold(w->s->sys, w->ws);
	return rc;
}

/* ---- one request ---- */

static bool is_json_type(const char *type)
{
	static const char json[] = "application/json";

	return type && strncasecmp(type, json, strlen(json)) == 0 &&
		(!type[strlen(json)] || strchr("; \t", type[strlen(json)]));
}

static int read_body(struct call *c, struct err *e)
{
	const struct json_limits limits = { .depth = 32, .size_bytes = BODY_MOST, .max_nodes = 100000 };

	const char *coding = call_header(c, "Content-Encoding");

	/* Whoever stands before us may have read something else in it. */
	if (c->raw.n && coding && strcasecmp(coding, "identity") != 0)
		return call_refuse(c, e, 415, "UNSUPPORTED_MEDIA_TYPE",
			"a body that is compressed cannot be looked at; send it as it is");
	if (!(c->route->flags & TAKES_JSON))
		return OK;
	c->body = json_new(c->a, JSON_OBJECT);
	if (!c->raw.n && c->route->flags & BODY_OPTIONAL)
		return OK;
	if (!is_json_type(call_header(c, "Content-Type")))
		return call_refuse(
			c, e, 415, "UNSUPPORTED_MEDIA_TYPE", "send Content-Type: application/json");
	int rc = json_parse(c->a, c->raw, "body", &limits, &c->body, e);
	if (rc)
		return call_refuse(c, e, rc == E_LIMIT ? 413 : 400,
			rc == E_LIMIT ? "TOO_LARGE" : "BAD_REQUEST", "%s", arena_strdup(c->a, e->text));
	if (!json_is(c->body, JSON_OBJECT))
		return call_refuse(c, e, 400, "BAD_REQUEST", "the body is %s; it must be a JSON object",
			json_type_name(c->body));
	rc = route_check(c->route, c->body, e);
	return rc ? call_refuse(c, e, 400, "BAD_REQUEST", "%s", arena_strdup(c->a, e->text)) : OK;
}

struct place {
	struct call *c;
	const char *key;
	bool is_answered;
};

static void end_place(struct place *p)
{
	if (!p->is_answered)
		p->c->status = 0;
	once_end(p->c->server->once, p->c, p->key);
}

/* A yes that was given before a freeze is none now. */
static bool is_stopped(struct call *c)
{
	struct decision stopped = { 0 };
	struct err why = { 0 };
	const char *profile;

	return workspace_default_profile(c->server->sys, c->a, c->k->ws, &profile, &why) ||
		kernel_stops(c->k, c->a, c->who.principal, profile, &stopped);
}

static int run_once(struct call *c, struct err *e)
{
	const char *key = c->route->flags & IS_ONCE ? call_header(c, "Idempotency-Key") : NULL;

	if (!key || is_stopped(c))
		return c->route->fn(c, e);
	if (!*key || strlen(key) > 255)
		return call_refuse(c, e, 400, "BAD_REQUEST", "Idempotency-Key has 1 to 255 characters");
	switch (once_begin(c->server->once, c, key)) {
	case ONCE_SAME:
		call_send_header(c, "Idempotency-Replayed", "true");
		return OK;
	case ONCE_OTHER:
		return call_refuse(c, e, 409, "IDEMPOTENCY_CONFLICT",
			"this Idempotency-Key was used for another request");
	case ONCE_BUSY:
		call_send_header(c, "Retry-After", "1");
		return call_refuse(c, e, 409, "IDEMPOTENCY_CONFLICT",
			"the first request with this key is not answered yet");
	default:
		break;
	}
	AUTO(end_place) struct place place = { c, key, false };
	int rc = c->route->fn(c, e);
	if (rc)
		call_error(c, e, NULL);
	place.is_answered = true;
	return OK;
}

struct taken {
	struct server *server;
	struct door_policy *policy;
};

static void drop_taken(struct taken *t)
{
	policy_drop(t->server, t->policy);
}

static int with_kernel(
	struct worker *w, struct call *c, int (*fn)(struct call *, struct err *), struct err *e)
{
	AUTO(end_hold) struct call *holding = c;
	int rc = freshen(w, c, e);

	if (rc) {
		log_line(c->server, "error", c, "the kernel cannot be opened: %s", e->text);
		call_send_header(c, "Retry-After", "1");
		return call_refuse(
			c, e, 503, "POLICY_NOT_READY", "the boundary is not ready; ask 'helm doctor'");
	}
	AUTO(drop_taken) struct taken taken = { c->server, policy_take(c->server) };
	w->k.policy = taken.policy ? taken.policy->rules : NULL;
	c->policy = taken.policy;
	c->k = &w->k;
	rc = fn(c, e);
	c->k = NULL;
	c->policy = NULL;
	w->k.policy = NULL;
	return rc;
}

static int answer(struct worker *w, struct call *c, struct err *e)
{
	int rc = OK;

	if (!c->route) {
		if (c->allowed)
			call_send_header(c, "Allow", c->allowed);
		rc = c->allowed
			? call_refuse(c, e, 405, "METHOD_NOT_ALLOWED", "%s has %s", c->path, c->allowed)
			: call_refuse(c, e, 404, "NOT_FOUND",
				  "there is no route %s; GET /openapi.yaml lists them", c->path);
	}
	if (rc == OK)
		rc = auth_check(c, e);
	if (rc == OK && !(c->route->flags & NO_KERNEL))
		rc = limited(c, limiter_ask_class(c->server->limiter, c), "ENDPOINT_RATE_LIMIT_EXCEEDED", e);
	if (rc == OK && c->raw.n > BODY_MOST && !(c->route->flags & TAKES_BYTES))
		rc = call_refuse(
			c, e, 413, "TOO_LARGE", "a body of this route has at most %d bytes", BODY_MOST);
	if (rc == OK)
		rc = read_body(c, e);
	if (rc == OK && c->route->flags & NO_KERNEL)
		return c->route->fn(c, e);
	return rc ? rc : with_kernel(w, c, run_once, e);
}

/* A call that goes on: it was let in when it began. */
static int go_on(struct worker *w, struct call *c, struct err *e)
{
	int (*fn)(struct call *, struct err *) = c->resume;

	c->resume = NULL;
	return with_kernel(w, c, fn, e);
}

/* Whatever is called from here may be left in the middle. */
static __attribute__((noinline)) int leavable(struct worker *w, struct call *c, struct err *e)
{
	stack_at_start = (uintptr_t)__builtin_frame_address(0);
	in_use = c->a;
	has_way_back = !c->is_made;
	int rc = c->resume ? go_on(w, c, e) : answer(w, c, e);
	has_way_back = false;
	return rc;
}

static void serve_one(struct worker *w, struct call *c)
{
	struct err e = { 0 };

	c->a->limit_bytes = c->is_made
		? 0
		: w->s->call_memory + (c->route && c->route->flags & TAKES_BYTES ? 16 * c->raw.n : 0);
	if (setjmp(way_back)) {
		/* Nothing was written.  What the worker had open is in no known state. */
		c->a->limit_bytes = 0;
		c->sent_count = 0;
		c->k = NULL;
		c->policy = NULL;
		(void)call_refuse(c, &e, 413, "TOO_LARGE",
			"answering this takes more memory than one request may have");
		call_error(c, &e, NULL);
		worker_close(w);
		return;
	}
	bool is_resumed = c->resume != NULL;
	int rc = leavable(w, c, &e);
	c->a->limit_bytes = 0;
	/* What goes on says itself how it ended. */
	if (rc && !is_resumed)
		call_error(c, &e, NULL);
}

/* The same, counted and timed. */
static void observed(struct worker *w, struct call *c)
{
	struct sys *s = w->s->sys;
	int64_t began = s->mono_us(s), at = s->now_us(s);
	bool is_resumed = c->resume != NULL;

	if (!is_resumed)
		trace_begin(c);
	serve_one(w, c);
	if (is_resumed || c->defer)
		return;
	int64_t us = s->mono_us(s) - began;
	if (c->trace.span_id[0])
		call_send_header(c, "traceparent", trace_header(c) + strlen("traceparent: "));
	metrics_request(w->s->metrics, c, us);
	spans_put(w->s->spans, c, at, at + us);
}

/* ---- threads ---- */

static enum kind kind_of(const struct call *c)
{
	bool reads =
		!c->resume && (!c->route || c->route->rate == RATE_EVIDENCE || c->route->rate == RATE_PUBLIC);

	return !reads ? DECIDES : c->raw.n > BODY_MOST ? IS_LARGE : READS;
}

/* The first of a line that has a worker left for it; NULL: nobody waits, or all of these are at work. */
static struct job *first_job(struct queue *q)
{
	for (struct line *l = q->lines; l < q->lines + KINDS; l++) {
		struct job *j = l->working < l->most ? l->first : NULL;
		if (!j)
			continue;
		l->first = j->next;
		if (!l->first)
			l->last = &l->first;
		l->working++;
		l->waiting--;
		q->waiting--;
		q->taken++;
		return j;
	}
	return NULL;
}

static struct job *next_job(struct queue *q)
{
	struct job *j;

	q->idle++;
	while (!(j = first_job(q)) && (!q->is_over || q->waiting))
		pthread_cond_wait(&q->arrived, &q->lock);
	q->idle--;
	return j;
}

static _Thread_local bool is_here; /* work_here() has called us */

/* One job from its beginning to whoever waits for it. */
static void run_job(struct worker *w, const struct job *j)
{
	observed(w, j->c);
	void (*defer)(struct call *, void (*)(void *), void *) = j->c->defer;
	j->c->defer = NULL;
	if (defer)
		defer(j->c, j->done, j->arg);
	else
		j->done(j->arg);
}

/* Under the lock.  Somebody may wait because this was the last one that could. */
static void end_job(struct queue *q, enum kind kind)
{
	struct line *l = &q->lines[kind];

	if (l->working-- == l->most && l->first)
		pthread_cond_signal(&q->arrived);
}

static void *be_worker(void *arg)
{
	struct worker w = { .s = arg };
	struct queue *q = w.s->queue;
	struct job *j;

	pthread_mutex_lock(&q->lock);
	while ((j = next_job(q))) {
		enum kind kind = kind_of(j->c);
		pthread_mutex_unlock(&q->lock);
		run_job(&w, j);
		free(j);
		pthread_mutex_lock(&q->lock);
		end_job(q, kind);
	}
	pthread_cond_broadcast(&q->arrived);
	q->workers--;
	pthread_cond_signal(&q->left);
	pthread_mutex_unlock(&q->lock);
	worker_close(&w);
	return NULL;
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

int work_start(struct server *s, struct err *e)
{
	struct queue *q = calloc(1, sizeof(*q));

	(void)e;
	if (!q)
		BUG("out of memory");
	pthread_mutex_init(&q->lock, NULL);
	pthread_cond_init(&q->arrived, NULL);
	pthread_cond_init(&q->left, NULL);
	q->most = worker_limit(s);
	for (size_t i = 0; i < KINDS; i++)
		q->lines[i].last = &q->lines[i].first;
	q->lines[DECIDES].most = q->most;
	q->lines[DECIDES].room = QUEUE_MOST;
	q->lines[READS].most = q->most > 1 ? q->most / 2 : 1;
	q->lines[READS].room = QUEUE_MOST / 2;
	q->lines[IS_LARGE].most = 1;
	q->lines[IS_LARGE].room = QUEUE_MOST / 64;
	s->queue = q;
	const char *memory = s->sys->getenv(s->sys, "HELM_LIMIT_MEMORY");
	int64_t bytes;
	s->call_memory = memory && text_int(memory, &bytes) && bytes > 0 ? (size_t)bytes : CALL_MEMORY;
	give_up = arena_on_exhausted;
	arena_on_exhausted = on_exhausted;
	return OK;
}

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

bool work_put(struct server *s, struct call *c, void (*done)(void *), void *arg)
{
	struct queue *q = s->queue;
	struct job *j = calloc(1, sizeof(*j));

	if (!j)
		BUG("out of memory");
	*j = (struct job){ .c = c, .done = done, .arg = arg };
	pthread_mutex_lock(&q->lock);
	if (q->waiting >= q->idle && q->workers < q->most && more_workers(s))
		q->workers++;
	struct line *l = &q->lines[kind_of(c)];
	/* What was begun is ended: the second half of a call is never refused, and there are no more of those than connections. */
	bool is_taken =
		q->workers && (c->resume || (!q->is_over && q->waiting < QUEUE_MOST && l->waiting < l->room));
	if (is_taken) {
		*l->last = j;
		l->last = &j->next;
		l->waiting++;
		q->waiting++;
		pthread_cond_signal(&q->arrived);
	}
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

bool work_here(struct worker *w, struct call *c, void (*done)(void *), void *arg)
{
	struct queue *q = w->s->queue;
	const struct job j = { .c = c, .done = done, .arg = arg };

	pthread_mutex_lock(&q->lock);
	bool is_taken = kind_of(c) == DECIDES && is_quiet(q);
	q->taken += is_taken;
	q->lines[DECIDES].working += is_taken;
	pthread_mutex_unlock(&q->lock);
	if (!is_taken)
		return false;
	is_here = true;
	run_job(w, &j);
	is_here = false;
	pthread_mutex_lock(&q->lock);
	end_job(q, DECIDES);
	pthread_cond_signal(&q->left);
	pthread_mutex_unlock(&q->lock);
	return true;
}

bool work_is_quiet(struct server *s)
{
	pthread_mutex_lock(&s->queue->lock);
	bool is = is_quiet(s->queue);
	pthread_mutex_unlock(&s->queue->lock);
	return is;
}

bool work_is_here(void)
{
	return is_here;
}

struct worker *worker_new(struct server *s)
{
	struct worker *w = calloc(1, sizeof(*w));

	if (!w)
		BUG("out of memory");
	w->s = s;
	return w;
}

void worker_free(struct worker *w)
{
	if (w)
		worker_close(w);
	free(w);
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
	/* Also those who are in work_here(). */
	while (q->workers || q->lines[DECIDES].working)
		pthread_cond_wait(&q->left, &q->lock);
	pthread_mutex_unlock(&q->lock);
}
