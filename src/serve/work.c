/* work.c — what a worker does with a request: each has a kernel of its own, as if it were a process of its own.
 *
 * A worker keeps its kernel open from one request to the next, and opens it anew when what a person decided about the place, the files of rules
 * in it, or the key have changed since: so a freeze, another profile or a rotation counts for the next request.
 *
 * Several that were there at the same time and only ask for a decision are answered together: one look at what a person says, which is after all of them had
 * come; then each is decided; then their receipts are signed, written and synced in one go, and the answers leave.
 *
 * Memory.  A request has an arena with a limit.  Where it runs out before anything was written, the request ends with 413 (with 503 when the machine has
 * no more) and its worker begins anew; the server goes on.  From the moment a decision is written there is no such way back (call_handle()): what has begun is
 * finished with a reserve, and no request begins without one (decision 0110). */
#include "base/file.h"
#include "base/text.h"
#include "kernel/policy/policy.h"
#include "kernel/posture.h"
#include "serve/metrics.h"
#include "serve/parts.h"

#include <fcntl.h>
#include <malloc.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <unwind.h>

struct worker {
	struct server *s;
	struct arena a; /* of its kernel */
	struct workspace *ws;
	struct kernel k;
	bool is_open;
	bool has_git; /* as has_git() said when it was opened */
	struct posture word; /* of a person about the place, as the kernel was opened with */
	unsigned looks; /* so often it was read again, and said the same */
	struct stat files[3]; /* that it was opened with: see look_at_files() */
	const struct workspace *held; /* whose word is looked at once for all that are answered together */
	bool is_spoiled; /* a request was left in the middle: the kernel is closed when those before it are answered */
};

/* A request that is decided, and waits for those that are answered with it. */
struct parked {
	const struct request *q;
	struct handling *h;
	struct door_policy *policy; /* that it was decided by */
	int64_t began_us, decided_us;
	call_then *then;
	void *arg;
	struct recording made;
	int rc;
	struct err err;
	struct group_part *part; /* NULL: there is none yet, `rc` says why */
};

/* ---- memory that runs out ---- */

/* The way back leads through every function that was called, so that what their AUTO() holds is given back: descriptors, local arenas, locks of
 * files, the policy, the place of an Idempotency-Key.  No mutex is held where an arena is used. */
static _Thread_local jmp_buf way_back;
static _Thread_local bool has_way_back;
static _Thread_local bool system_is_out; /* not the limit of the request: memory itself */
static _Thread_local struct arena *in_use; /* of the request */
static _Thread_local uintptr_t stack_at_start; /* of what may be left */
static _Thread_local struct _Unwind_Exception leaving;
static void (*give_up)(size_t, size_t);
static _Thread_local size_t answers_left; /* of those that this thread answers together */
static _Thread_local size_t answers_apart; /* of these, later than the others */

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

/* Address space that is not touched.  It is given back when malloc() fails where nothing can be refused any more. */
enum { RESERVE_BYTES = 4 << 20, MAPPED_FROM = 128 << 10 };
static void *reserve;

static bool has_reserve(void)
{
	void *none = NULL;

	if (__atomic_load_n(&reserve, __ATOMIC_ACQUIRE))
		return true;
	void *p = mmap(NULL, RESERVE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return false;
	if (!__atomic_compare_exchange_n(&reserve, &none, p, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		(void)munmap(p, RESERVE_BYTES); /* another worker was quicker */
	return true;
}

static bool free_reserve(void)
{
	void *p = __atomic_exchange_n(&reserve, NULL, __ATOMIC_ACQ_REL);

	return p && munmap(p, RESERVE_BYTES) == 0;
}

static void on_exhausted(size_t wanted, size_t limit)
{
	if (has_way_back) {
		has_way_back = false;
		in_use->limit_bytes = 0; /* what cleans up may need a little */
		system_is_out = limit == 0;
		leaving = (struct _Unwind_Exception){ 0 };
		(void)_Unwind_ForcedUnwind(&leaving, step_back, NULL);
	}
	if (limit || !free_reserve())
		give_up(wanted, limit);
}

static void release(const struct workspace **held)
{
	posture_release(held);
	*held = NULL;
}

void call_wait(struct call *c)
{
	release(&c->held);
	if (c->together)
		release(&c->together->held);
}

static void end_hold(struct call **c)
{
	release(&(*c)->held);
}

/* One moment decides: that of the request's beginning, unless somebody was waited for since. */
static void decide_now(struct call *c, const struct request *q, struct handling *h)
{
	AUTO(posture_release) const struct workspace *held = posture_hold(c->k->sys, c->k->ws);

	kernel_decide(c->k, q, h);
	kernel_make_shown(
		c->k, q, h); /* while there is a way back: it takes memory by the size of the request */
}

/* How it went, for whoever watches. */
static void count_decision(struct call *c, const struct handling *h, int64_t began_us, int64_t decided_us)
{
	struct sys *s = c->server->sys;

	metrics_decision(c->server->metrics, h->verdict,
		h->decision.detail_code		       ? h->decision.detail_code
			: h->policy && h->policy->rule ? h->policy->rule
						       : "",
		h->verdict == V_ALLOW ? "" : reason_get(h->decision.reason_code)->code, decided_us - began_us,
		s->mono_us(s) - decided_us);
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
		count_decision(c, h, began, decided);
	return rc;
}

int call_handle_then(struct call *c, const struct request *q, struct handling *h, call_then *then, void *arg,
	struct err *e)
{
	struct sys *s = c->server->sys;

	if (!c->together)
		return then(c, call_handle(c, q, h, e), arg, e);
	struct parked *p = arena_zalloc(c->a, 1, sizeof(*p));
	*p = (struct parked){ .q = q, .h = h, .then = then, .arg = arg, .began_us = s->mono_us(s) };
	decide_now(c, q, h);
	p->decided_us = s->mono_us(s);
	c->parked = p;
	return OK;
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

/* Is the tree that calls are judged in a repository?  When that changes, the tree may be another one. */
static bool has_git(struct worker *w, struct arena *a)
{
	const char *tree = w->k.guard.at.work_tree;

	return tree && file_exists(w->s->sys, AT_FDCWD, arena_printf(a, "%s/.git", tree));
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
	/* Whoever calls is nowhere on this machine. */
	w->k.guard.at = guard_at(&w->k.guard, &w->a, workspace_call_dir(s->sys, &w->a, w->ws));
	w->has_git = has_git(w, &w->a);
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

/* Once for all that are answered together: while one of them waits, the kernel that it was decided by stays open. */
static int freshen(struct worker *w, struct call *c, struct err *e)
{
	const struct workspace **held = c->together ? &w->held : &c->held;

	if (*held)
		return OK;
	if (w->is_open) {
		*held = posture_hold(w->s->sys, w->ws);
		if (is_same_word(w, posture_of(w->s->sys, w->ws)) && are_same_files(w) &&
			has_git(w, c->a) == w->has_git)
			return OK;
		release(held);
	}
	worker_close(w);
	int rc = worker_open(w, e);
	if (rc == OK)
		*held = posture_hold(w->s->sys, w->ws);
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

static void enter(struct worker *w, struct call *c, const struct door_policy *p)
{
	c->policy = p;
	c->k = &w->k;
}

static void leave(struct call *c)
{
	c->k = NULL;
	c->policy = NULL;
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
	enter(w, c, taken.policy);
	rc = fn(c, e);
	leave(c);
	if (c->parked) {
		c->parked->policy = taken.policy;
		taken.policy = NULL;
	}
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
				  c->server->o.witness ? "there is no route %s"
						       : "there is no route %s; GET /openapi.yaml lists them",
				  c->path);
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

static void refuse_without_memory(struct call *c)
{
	struct err e = { 0 };

	(void)call_refuse(c, &e, 503, "OUT_OF_MEMORY",
		"this server has no memory left; nothing was decided; try again later");
	call_error(c, &e, NULL);
}

static void serve_one(struct worker *w, struct call *c)
{
	struct err e = { 0 };

	if (!c->is_made && !c->resume && !has_reserve()) {
		refuse_without_memory(c);
		return;
	}
	c->a->limit_bytes = c->is_made
		? 0
		: w->s->call_memory + (c->route && c->route->flags & TAKES_BYTES ? 16 * c->raw.n : 0);
	if (setjmp(way_back)) {
		/* Nothing was written.  What the worker had open is in no known state. */
		c->a->limit_bytes = 0;
		c->sent_count = 0;
		c->k = NULL;
		c->policy = NULL;
		c->parked = NULL;
		if (system_is_out) {
			refuse_without_memory(c);
		} else {
			(void)call_refuse(c, &e, 413, "TOO_LARGE",
				"answering this takes more memory than one request may have");
			call_error(c, &e, NULL);
		}
		if (c->together)
			w->is_spoiled = true;
		else
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

/* ---- from its beginning to whoever waits for it ---- */

static void begin(struct worker *w, struct job *j)
{
	struct sys *s = w->s->sys;

	j->began_us = s->mono_us(s);
	j->at_us = s->now_us(s);
	j->is_resumed = j->c->resume != NULL;
	if (!j->is_resumed)
		trace_begin(j->c);
	serve_one(w, j->c);
}

/* Counted and timed, and given on. */
static void end(struct worker *w, const struct job *j)
{
	struct call *c = j->c;
	void (*defer)(struct call *, void (*)(void *), void *) = c->defer;

	answers_left--;
	c->defer = NULL;
	c->together = NULL;
	if (!j->is_resumed && !defer) {
		int64_t us = w->s->sys->mono_us(w->s->sys) - j->began_us;
		if (c->trace.span_id[0])
			call_send_header(c, "traceparent", trace_header(c) + strlen("traceparent: "));
		metrics_request(w->s->metrics, c, us);
		spans_put(w->s->spans, c, j->at_us, j->at_us + us);
	}
	if (defer)
		defer(c, j->done, j->arg);
	else
		j->done(j->arg);
}

/* The draft of its receipt.  A question may be answered already, which is looked up, and kept: that is done for each alone. */
static bool draft(struct worker *w, struct call *c, struct group_part *ret)
{
	struct parked *p = c->parked;

	c->a->limit_bytes = 0;
	if (p->h->verdict == V_ESCALATE)
		return false;
	enter(w, c, p->policy);
	p->rc = kernel_record_begin(&w->k, p->q, p->h, &p->made, &p->err);
	leave(c);
	if (p->rc == OK)
		*ret = (struct group_part){
			.a = p->h->a, .drafts = &p->made.draft, .n = 1, .receipts = &p->h->decision_receipt
		};
	p->part = p->rc ? NULL : ret;
	return p->rc == OK;
}

/* What was parked, once its receipt is on disk, or is not. */
static void go_on_parked(struct worker *w, const struct job *j)
{
	struct call *c = j->c;
	struct parked *p = c->parked;
	struct err e = p->part ? p->part->err : p->err;
	int rc = p->part ? p->part->rc : p->rc;

	c->parked = NULL;
	enter(w, c, p->policy);
	if (!p->part && !rc)
		decide_now(c, p->q, p->h); /* others were waited for: what a person said meanwhile counts */
	rc = p->part || rc ? kernel_record_end(&w->k, p->q, p->h, &p->made, rc, &e)
			   : kernel_record(&w->k, p->q, p->h, &e);
	call_recorded(c, rc, &e);
	if (rc == OK)
		count_decision(c, p->h, p->began_us, p->decided_us);
	rc = p->then(c, rc, p->arg, &e);
	leave(c);
	policy_drop(w->s, p->policy);
	if (rc)
		call_error(c, &e, NULL);
	end(w, j);
}

static void record_together(struct worker *w, struct job *const *jobs, size_t n)
{
	struct group_part parts[TOGETHER_MOST];
	bool is_written[TOGETHER_MOST];
	struct err none = { 0 };
	size_t drafts = 0;

	/* One look for all of them, again; what has to be finished first, and may be waited for, is finished before it. */
	if (n && kernel_arm(&w->k, &none) == OK)
		w->held = posture_hold(w->s->sys, w->ws);
	for (size_t i = 0; i < n; i++) {
		is_written[i] = draft(w, jobs[i]->c, &parts[drafts]);
		drafts += is_written[i];
	}
	release(&w->held);
	recorder_group_append_all(w->k.group, parts, drafts);
	/* Those that are on disk need not wait for those that are put there one by one. */
	answers_apart = answers_left - drafts;
	for (size_t i = 0; i < n; i++)
		if (is_written[i])
			go_on_parked(w, jobs[i]);
	answers_apart = 0;
	if (drafts < n)
		work_leave_line(w->s);
	for (size_t i = 0; i < n; i++)
		if (!is_written[i])
			go_on_parked(w, jobs[i]);
}

/* As many as one look at what a person says is enough for, and as have no more memory together than one request may have; the last of them may go
 * beyond that.  The first that is left. */
static struct job *answer_some(struct worker *w, struct job *j)
{
	struct job *parked[TOGETHER_MOST];
	size_t n = 0, bytes = 0;

	do {
		struct job *next = j->next;
		j->c->together = j->is_together ? w : NULL;
		begin(w, j);
		if (j->c->parked) {
			parked[n++] = j;
			bytes += j->c->a->used_bytes;
		} else {
			end(w, j);
		}
		j = next;
	} while (j && n < TOGETHER_MOST && bytes < w->s->call_memory && w->held && !w->is_spoiled);
	release(&w->held);
	record_together(w, parked, n);
	if (w->is_spoiled)
		worker_close(w);
	return j;
}

void worker_answer(struct worker *w, struct job *jobs)
{
	for (struct job *j = jobs; j; j = j->next)
		answers_left++;
	while (jobs)
		jobs = answer_some(w, jobs);
}

bool work_more_follow(void)
{
	return answers_left > answers_apart;
}

bool work_is_last(void)
{
	return !answers_left;
}

struct worker *worker_new(struct server *s)
{
	struct worker *w = calloc(1, sizeof(*w));

	if (!w)
		mem_exhausted(0);
	w->s = s;
	return w;
}

void worker_free(struct worker *w)
{
	if (w)
		worker_close(w);
	free(w);
}

void work_prepare(struct server *s)
{
	const char *memory = s->sys->getenv(s->sys, "HELM_LIMIT_MEMORY");
	int64_t bytes;

	s->call_memory = memory && text_int(memory, &bytes) && bytes > 0 ? (size_t)bytes : CALL_MEMORY;
	give_up = arena_on_exhausted;
	arena_on_exhausted = on_exhausted;
	(void)has_reserve();
	/* Large blocks are mappings of their own, and go back to the system with the request: what one was refused for is there for the next.  The library would raise the
	 * limit with each that is freed, and keep them. */
	(void)mallopt(M_MMAP_THRESHOLD, MAPPED_FROM);
}
