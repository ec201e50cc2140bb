/* stream.c — an answer on its way back.  Everything here is run by the thread that talks to vendors, but for what says otherwise; so one answer is never looked at by two
 * threads, and only what is on its way to the client (`out`) has a lock.
 *
 * While a worker decides, bytes of the vendor wait; when the client reads slowly, the vendor waits; when it is gone, the vendor's connection is closed at once. */
#include "base/text.h"
#include "serve/metrics.h"
#include "serve/proxy/parts.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { FEW_BYTES = 8 << 10, PENDING_MOST = 1 << 20, CONNECT_MS = 10000, HEADERS_MOST = 40, BROKEN = -2 };

static void conclude(struct tx *t);
static void feed(struct tx *t, struct bytes in);
static void stop_large(struct tx *t);

/* ---- to the client ---- */

/* The listener is told at the end of the round, of everything at once. */
static void push(struct tx *t, const void *p, size_t n)
{
	struct proxy *x = t->p;

	if (!n)
		return;
	pthread_mutex_lock(&t->lock);
	bulk_add(&t->out, p, n);
	t->is_out_full |= !t->is_unasked && t->out.n - t->out_at > OUT_MOST;
	pthread_mutex_unlock(&t->lock);
	if (t->is_unasked) {
		if (t->out.n > (size_t)x->answer_bytes)
			stop_large(t);
		return;
	}
	if (!t->pushed) {
		call_keep(t->c);
		t->next_pushed = x->pushed;
		x->pushed = t;
	}
	t->pushed += n;
}

/* A few words of one answer are sent by this thread; of several, or of much, the listener sends one half while the next one is read here. */
void tx_flush_all(void *arg)
{
	struct proxy *p = arg;
	bool is_only = p->pushed && !p->pushed->next_pushed;

	for (struct tx *t; (t = p->pushed);) {
		bool is_little = is_only && t->pushed <= FEW_BYTES;
		p->pushed = t->next_pushed;
		t->pushed = 0;
		listen_wake_one(t->c, is_little);
		call_release(t->c);
	}
}

/* Under the lock: the digest covers what lies before `end`, too. */
static void hash_out(struct tx *t, size_t end)
{
	if (end > t->out_hashed) {
		sha256_add(&t->sent, t->out.p + t->out_hashed, end - t->out_hashed);
		t->out_hashed = end;
	}
}

const char *tx_digest(struct tx *t, struct arena *a)
{
	uint8_t digest[SHA256_SIZE];
	char hex[SHA256_HEX];

	pthread_mutex_lock(&t->lock);
	hash_out(t, t->out.n);
	struct sha256 h = t->sent;
	pthread_mutex_unlock(&t->lock);
	sha256_end(&h, digest);
	hex_encode(digest, sizeof(digest), hex);
	return arena_printf(a, "sha256:%s", hex);
}

static void end_out(struct tx *t, bool is_broken)
{
	pthread_mutex_lock(&t->lock);
	t->is_out_over = true;
	t->is_out_broken = is_broken;
	pthread_mutex_unlock(&t->lock);
	listen_wake_one(t->c, true);
}

static bool is_full(struct tx *t)
{
	pthread_mutex_lock(&t->lock);
	bool is = t->is_out_full;
	pthread_mutex_unlock(&t->lock);
	return is;
}

static void go_on(void *arg)
{
	struct tx *t = arg;

	if (t->is_paused && t->transfer) {
		t->is_paused = false;
		web_go_on(t->transfer);
	}
	call_release(t->c);
}

/* The listener's thread. */
static int64_t fill(struct events *s, char *to, size_t room)
{
	struct tx *t = (struct tx *)((char *)s - offsetof(struct tx, events));
	bool has_room = false;
	int64_t ret;

	pthread_mutex_lock(&t->lock);
	size_t n = t->out.n - t->out_at;
	n = n < room ? n : room;
	if (n) {
		memcpy(to, t->out.p + t->out_at, n);
		hash_out(t, t->out_at + n);
		t->out_at += n;
		if (t->out_at == t->out.n || t->out_at > OUT_MOST) {
			bulk_drop(&t->out, t->out_at);
			t->out_hashed -= t->out_at;
			t->out_at = 0;
		}
	}
	ret = n ? (int64_t)n : !t->is_out_over ? 0 : t->is_out_broken ? BROKEN : -1;
	if (t->is_out_full && t->out.n - t->out_at < OUT_LOW) {
		t->is_out_full = false;
		has_room = true;
	}
	pthread_mutex_unlock(&t->lock);
	if (has_room) {
		call_keep(t->c);
		web_post(t->p->loop, go_on, t);
	}
	return ret;
}

/* Not inside of the library's own call. */
static void cut_off(struct tx *t, const char *code)
{
	if (t->transfer)
		web_cancel(t->transfer);
	t->transfer = NULL;
	if (t->is_ended)
		return;
	t->is_ended = true;
	if (!t->failed.rc)
		(void)err_set(&t->failed, E_IO, code, "cut off");
	if (!t->is_deciding)
		conclude(t);
}

static void leave(struct tx *t)
{
	if (t->is_gone)
		return;
	t->is_gone = true;
	cut_off(t, "CLIENT_ABORTED");
}

static void on_left(void *arg)
{
	struct tx *t = arg;

	leave(t);
	call_release(t->c);
}

/* The listener's thread: the answer has left, or nobody takes it. */
static void done(struct events *s)
{
	struct tx *t = (struct tx *)((char *)s - offsetof(struct tx, events));

	web_unwatch(t->p->loop, t->fd);
	call_keep(t->c);
	web_post(t->p->loop, on_left, t);
}

void tx_gone(void *arg)
{
	leave(arg);
}

/* ---- the end ---- */

static void let_go(struct tx *t)
{
	struct proxy *p = t->p;

	*t->self = t->next;
	if (t->next)
		t->next->self = t->self;
	t->c->telemetry = NULL;
	spans_put(p->s->spans, t->c, t->began_us, p->s->sys->now_us(p->s->sys));
	pthread_mutex_lock(&p->lock);
	if (--p->live == 0)
		pthread_cond_broadcast(&p->left);
	pthread_mutex_unlock(&p->lock);
	call_release(t->c);
}

void tx_free(void *arg)
{
	struct tx *t = arg;

	form_end(&t->x);
	sse_free(&t->sse);
	mask_free(&t->mask);
	bulk_free(&t->whole);
	bulk_free(&t->held);
	bulk_free(&t->out);
	arena_done(&t->job);
	arena_done(&t->event);
	pthread_mutex_destroy(&t->lock);
	free(t);
}

/* The listener may send what stands in the call. */
static void answer(struct tx *t)
{
	void (*answered)(void *) = t->answered;

	t->answered = NULL;
	if (!t->c->stream)
		web_unwatch(t->p->loop, t->fd);
	if (answered)
		answered(t->arg);
}

/* ---- decisions ---- */

struct after {
	struct tx *t;
	void (*fn)(struct tx *);
};

/* What a worker has said about an answer that has not begun to leave. */
static void take_over(struct tx *t)
{
	struct call *c = t->c;
	const struct call *w = &t->work;

	if (!t->answered)
		return;
	c->status = w->status;
	c->answer = w->answer;
	c->type = w->type;
	c->sent_count = w->sent_count;
	memcpy(c->sent, w->sent, w->sent_count * sizeof(*c->sent));
}

static void run_after(void *arg)
{
	struct after *x = arg;
	struct tx *t = x->t;
	void (*fn)(struct tx *) = x->fn;

	free(x);
	t->is_deciding = false;
	take_over(t);
	fn(t);
}

/* The worker's thread, or our own. */
static void post_after(void *arg)
{
	struct after *x = arg;

	web_post(x->t->p->loop, run_after, x);
}

static bool is_alone(struct proxy *p)
{
	pthread_mutex_lock(&p->lock);
	bool is = p->live == 1;
	pthread_mutex_unlock(&p->lock);
	return is && !points_are_asked(p->s);
}

static void start_job(
	struct tx *t, int (*fn)(struct call *, struct err *), struct arena *a, void (*after)(struct tx *))
{
	struct after *x = calloc(1, sizeof(*x));

	if (!x)
		mem_exhausted(0);
	*x = (struct after){ t, after };
	if (a == &t->job)
		arena_reset(&t->job);
	t->ruling = (struct ruling){ 0 };
	t->is_deciding = true;
	/* The listener may be sending what stands in the call: workers have one of their own. */
	t->work = *t->c;
	t->work.a = a;
	t->work.resume = fn;
	t->work.telemetry = NULL;
	/* Where no other answer is on its way nobody is held up: this thread decides itself, and nobody has to be woken for it. */
	/* A key may be what a command says, which is waited for. */
	if (fn != forward_again && is_alone(t->p) && work_here(t->p->w, &t->work, post_after, x))
		return;
	if (!work_put(t->p->s, &t->work, post_after, x)) {
		t->work.resume = NULL;
		post_after(x);
	}
}

/* ---- what is told at the end of a stream ---- */

static struct refusal failure(struct tx *t, const char *kind, const char *message)
{
	return (struct refusal){ .status = 502,
		.kind = kind,
		.code = kind,
		.message = message,
		.correlation_id = t->c->correlation_id,
		.receipt_id = t->receipt_id };
}

/* The client is sent events from now on. */
static void begin_events(struct tx *t)
{
	struct call *c = t->c;
	const char *type = c->type;

	t->events = (struct events){ .fill = fill, .done = done, .is_many = true };
	call_stream(c, &t->events);
	c->status = t->status;
	c->type = type;
	if (t->receipt_id && *t->receipt_id)
		call_send_header(c, "X-Helm-Receipt-ID", t->receipt_id);
	if (t->decision_id)
		call_send_header(c, "X-Helm-Decision-ID", t->decision_id);
	if (t->phase == TX_STREAM)
		call_send_header(c, "X-Helm-SSE", "governed");
	answer(t);
}

/* Nothing has left: the whole answer is an error, with its status. */
static void tell_whole(struct tx *t, const struct refusal *r)
{
	struct call *c = t->c;

	c->sent_count = 0;
	refuse_call(c, t->asked.form, r);
	pthread_mutex_lock(&t->lock);
	bulk_free(&t->out);
	t->out_at = t->out_hashed = 0;
	sha256_begin(&t->sent);
	sha256_add(&t->sent, c->answer.p, c->answer.n);
	pthread_mutex_unlock(&t->lock);
}

static void answer_unasked(struct tx *t)
{
	if (!t->is_refused && t->is_recorded && !t->is_gone) {
		struct refusal lost = failure(
			t, "GOVERNANCE_ERROR", "the answer could not be recorded, so it is not passed on");
		lost.status = 503;
		tell_whole(t, &lost);
		t->is_refused = true;
	}
	if (t->is_refused)
		answer(t);
	else
		begin_events(t);
}

static void after_outcome(struct tx *t)
{
	if (t->is_unasked)
		answer_unasked(t);
	bool has_events = t->phase == TX_STREAM && !(t->is_unasked && t->is_refused);
	if (has_events && t->receipt_id && *t->receipt_id && !t->is_gone) {
		const char *line = arena_printf(&t->job, ": helm-receipt=%s\n\n", t->receipt_id);
		push(t, line, strlen(line));
	}
	end_out(t, t->phase == TX_RAW && t->failed.rc != OK);
	let_go(t);
}

/* What was let go leaves first: nobody waits for the record of how it ended but the end itself. */
static void finish(struct tx *t, const char *kind)
{
	t->kind = kind;
	tx_flush_all(t->p);
	start_job(t, govern_outcome, &t->job, after_outcome);
}

static void tell(struct tx *t, const struct refusal *r)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct buf text;

	buf_init(&text, &a);
	t->x.form->error_events(&a, &t->x, r, &text);
	push(t, text.p, text.n);
}

/* Nothing more of this answer leaves. */
static void refuse(struct tx *t, const struct refusal *r)
{
	/* What was said about the calls ends with the job that said it. */
	const char *kind = arena_strdup(t->home, r->kind);

	t->is_refused = true;
	t->code = arena_strdup(t->home, r->code);
	if (t->transfer)
		web_cancel(t->transfer);
	t->transfer = NULL;
	t->is_ended = true;
	bulk_free(&t->held);
	bulk_free(&t->whole);
	(t->is_unasked ? tell_whole : tell)(t, r);
	finish(t, kind);
}

/* ---- held, and let go ---- */

/* False: what was refused cannot be taken out, and nothing left. */
static bool push_rewritten(struct tx *t, struct bytes events)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct buf text;

	buf_init(&text, &a);
	if (!form_rewrite(&t->x, &a, events, &text))
		return false;
	push(t, text.p, text.n);
	return true;
}

/* Bytes that came meanwhile; then the end, if it came. */
static void catch_up(struct tx *t)
{
	struct bulk waited = t->whole;

	t->whole = (struct bulk){ 0 };
	feed(t, bulk_bytes(&waited));
	bulk_free(&waited);
	if (t->is_deciding || t->is_refused)
		return;
	if (t->is_ended) {
		conclude(t);
	} else if (t->is_paused && !is_full(t)) {
		t->is_paused = false;
		web_go_on(t->transfer);
	}
}

static void after_calls(struct tx *t)
{
	struct ruling *r = &t->ruling;

	if (!r->is_made) {
		struct refusal lost = failure(t, "GOVERNANCE_ERROR",
			"the calls could not be decided and recorded, so they are not passed on");
		lost.status = 503;
		refuse(t, &lost);
		return;
	}
	bool may_rewrite = t->p->on_deny == DENY_REWRITE && r->why && !t->x.fault && r->refusal.status != 429;
	/* What does not fit is not here any more: also who only observes cannot pass it on. */
	if ((!r->is_allowed && !may_rewrite) || t->is_too_large) {
		refuse(t, &r->refusal);
		return;
	}
	if (r->is_allowed) {
		form_settle(&t->x, NULL);
		t->x.fault = NULL; /* only watched */
		push(t, t->held.p, t->held.n);
	} else {
		form_settle(&t->x, r->why);
		if (!push_rewritten(t, bulk_bytes(&t->held))) {
			refuse(t, &r->refusal);
			return;
		}
		t->is_rewriting = true;
		t->code = NULL;
	}
	bulk_drop(&t->held, t->held.n);
	catch_up(t);
}

/* One whole event; false: what follows must wait. */
static bool take_event(struct tx *t)
{
	struct sse_event ev;

	arena_reset(&t->event);
	sse_read(&t->sse, &t->event, &ev);
	enum seen seen = form_see(&t->x, &ev);
	alike_forget(&t->alike);
	if (seen == SEEN_PASS && t->is_rewriting && !push_rewritten(t, ev.raw)) {
		form_fault(&t->x, "a call that was refused is told once more");
		seen = SEEN_DECIDE;
	}
	if (seen != SEEN_PASS)
		bulk_add(&t->held, ev.raw.p, ev.raw.n);
	else if (!t->is_rewriting)
		push(t, ev.raw.p, ev.raw.n);
	if (seen == SEEN_PASS && !t->is_rewriting && ev.has_data)
		alike_learn(&t->alike, ev.raw);
	sse_next(&t->sse);
	if (t->held.n > (size_t)t->p->hold_bytes) {
		t->is_too_large = true;
		form_fault(&t->x, "the calls of the answer are larger than may be held");
		seen = SEEN_DECIDE;
	}
	if (seen != SEEN_DECIDE)
		return true;
	start_job(t, govern_calls, &t->job, after_calls);
	return false;
}

static void feed(struct tx *t, struct bytes in)
{
	while (in.n && !t->is_refused) {
		struct err e = { 0 };
		size_t taken = 0, alike;
		bool is_whole = false;
		if (!t->sse.event.n && !t->sse.is_after_cr && (taken = alike_take(&t->alike, in, &alike))) {
			push(t, in.p, taken);
			t->x.sequence += (int64_t)alike;
			in = (struct bytes){ in.p + taken, in.n - taken };
			continue;
		}
		if (sse_take(&t->sse, in, &taken, &is_whole, &e)) {
			t->is_too_large = true;
			form_fault(&t->x, "an event is larger than may be held");
			start_job(t, govern_calls, &t->job, after_calls);
			return;
		}
		in = (struct bytes){ in.p + taken, in.n - taken };
		if (is_whole && !take_event(t)) {
			bulk_add(&t->whole, in.p, in.n);
			return;
		}
	}
}

/* ---- from the vendor ---- */

static bool is_hidden(const char *name)
{
	static const char *const names[] = { "connection", "keep-alive", "proxy-authenticate",
		"proxy-connection", "te", "trailer", "transfer-encoding", "upgrade", "content-length",
		"content-encoding", "date", "server", "alt-svc", "strict-transport-security",
		"x-content-type-options", "x-frame-options", "content-security-policy", "referrer-policy",
		"permissions-policy", "access-control-allow-origin", "traceparent" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strcasecmp(name, names[i]) == 0)
			return true;
	/* What Helm says, Helm says. */
	return strncasecmp(name, "x-helm-", 7) == 0;
}

static void on_header(void *arg, const char *name, const char *value)
{
	struct tx *t = arg;
	struct call *c = t->c;

	if (mask_has(&t->mask, value))
		return;
	if (strcasecmp(name, "content-type") == 0)
		c->type = arena_strdup(t->home, value);
	else if (strcasecmp(name, "x-request-id") == 0)
		c->request_id = arena_strdup(t->home, value);
	else if (!is_hidden(name) && c->sent_count < HEADERS_MOST)
		call_send_header(c, arena_strdup(t->home, name), arena_strdup(t->home, value));
}

static bool may_try_again(const struct tx *t)
{
	static const int statuses[] = { 0, 500, 502, 503, 504, 529 };

	for (size_t i = 0; t->up->fallback && i < ARRAY_SIZE(statuses); i++)
		if (t->status == statuses[i])
			return true;
	return false;
}

/* Trusting neither what was asked for nor what the answer says it is: only events are let through as they come, and whatever may hold a call is read. */
static enum phase phase_of(const struct tx *t)
{
	const char *type = t->c->type ? t->c->type : "";
	bool is_good = t->status / 100 == 2;

	if (may_try_again(t))
		return TX_AGAIN;
	if (is_good && strcasestr(type, "event-stream"))
		return TX_STREAM;
	if (is_good && t->asked.is_stream && !strcasestr(type, "json"))
		return TX_STREAM;
	bool may_be_answers = strcasestr(type, "json") || strcasestr(type, "text/") ||
		strcasestr(type, "eventstream") || path_may_hold_answers(t->c->path);
	if (is_good && t->asked.form == &form_other && !may_be_answers)
		return TX_RAW;
	return TX_WHOLE;
}

static void on_begin(void *arg, int status)
{
	struct tx *t = arg;

	t->status = status;
	t->phase = phase_of(t);
	if (t->phase != TX_STREAM && t->phase != TX_RAW)
		return;
	form_begin(&t->x, t->asked.form, t->asked.names);
	/* Who asked for a document looks at the status: an error among the events would be read as an answer. */
	t->is_unasked = t->phase == TX_STREAM && !t->asked.is_stream && t->asked.form != &form_other;
	if (!t->is_unasked)
		begin_events(t);
}

static void on_too_large(void *arg)
{
	struct tx *t = arg;

	cut_off(t, "WEB_TOO_LARGE");
	call_release(t->c);
}

/* Once. */
static void stop_large(struct tx *t)
{
	if (t->failed.rc)
		return;
	(void)err_set(&t->failed, E_LIMIT, "WEB_TOO_LARGE", "the answer is larger than %lld bytes",
		(long long)t->p->answer_bytes);
	call_keep(t->c);
	web_post(t->p->loop, on_too_large, t);
}

static void take_whole(struct tx *t, struct bytes some)
{
	if (t->failed.rc)
		return;
	if (t->whole.n + some.n > (size_t)t->p->answer_bytes)
		stop_large(t);
	else
		bulk_add(&t->whole, some.p, some.n);
}

static void take(struct tx *t, struct bytes some)
{
	if (t->phase == TX_WHOLE || t->phase == TX_HEAD)
		take_whole(t, some);
	else if (t->phase == TX_RAW)
		push(t, some.p, some.n);
	else if (t->is_deciding)
		bulk_add(&t->whole, some.p, some.n);
	else
		feed(t, some);
}

static bool on_data(void *arg, struct bytes some)
{
	struct tx *t = arg;
	bool is_whole = t->phase == TX_WHOLE || t->phase == TX_HEAD;

	if (t->is_refused || t->is_gone || t->phase == TX_AGAIN)
		return true;
	if (!is_whole && (is_full(t) || (t->is_deciding && t->whole.n > PENDING_MOST))) {
		t->is_paused = true;
		return false;
	}
	take(t, mask_take(&t->mask, some));
	return true;
}

static void on_end(void *arg, const struct err *failed)
{
	struct tx *t = arg;

	struct bytes rest = mask_rest(&t->mask);
	if (rest.n && !t->is_refused && !t->is_gone && t->phase != TX_AGAIN)
		take(t, rest);
	t->transfer = NULL;
	t->is_ended = true;
	if (failed && !t->failed.rc)
		t->failed = *failed;
	if (!t->is_deciding && !t->is_refused)
		conclude(t);
}

static void send(struct tx *t)
{
	const struct web_spec spec = { .method = t->c->method,
		.url = t->url,
		.ca_file = t->up->ca_file,
		.headers = t->headers,
		.body = t->asked.body.n || strcmp(t->c->method, "GET") != 0
			? (struct bytes){ t->asked.body.n ? t->asked.body.p : (const uint8_t *)"",
				  t->asked.body.n }
			: (struct bytes){ 0 },
		.connect_ms = CONNECT_MS,
		.idle_s = t->p->idle_s,
		.arg = t,
		.header = on_header,
		.begin = on_begin,
		.data = on_data,
		.end = on_end };

	t->phase = TX_HEAD;
	t->status = 0;
	t->is_ended = false;
	t->failed = (struct err){ 0 };
	t->c->type = NULL;
	t->transfer = web_send(t->p->loop, &spec);
}

/* ---- the end of an answer ---- */

static void after_whole(struct tx *t)
{
	if (!t->ruling.is_made) {
		struct refusal lost = failure(t, "GOVERNANCE_ERROR",
			"the answer could not be decided and recorded, so it is not passed on");
		lost.status = 503;
		t->c->sent_count = 0;
		t->c->a = &t->job;
		refuse_call(t->c, t->asked.form, &lost);
	}
	answer(t);
	let_go(t);
}

/* The vendor gave no answer: what was held is free again, and the client is told. */
static void after_failure(struct tx *t)
{
	bool is_gone = text_eq(t->failed.code, "CLIENT_ABORTED");
	struct refusal r =
		failure(t, t->kind, is_gone ? "the client is gone" : "the model did not give a whole answer");

	t->c->a = &t->job;
	t->c->sent_count = 0;
	if (text_eq(t->failed.code, "WEB_UNREACHABLE"))
		r.message = arena_printf(
			&t->job, "the upstream '%s' cannot be reached: %s", t->up->id, t->failed.text);
	else if (text_eq(t->failed.code, "WEB_INCOMPLETE"))
		r.message = arena_printf(&t->job, "the upstream '%s' did not give a whole answer: %s",
			t->up->id, t->failed.text);
	else if (text_eq(t->failed.code, "WEB_TIMEOUT")) {
		r.status = 504;
		r.message = arena_printf(&t->job, "the upstream '%s' did not give a whole answer in time: %s",
			t->up->id, t->failed.text);
	} else if (text_eq(t->failed.code, "WEB_TOO_LARGE"))
		r.message = "the answer is larger than may be passed on";
	refuse_call(t->c, t->asked.form, &r);
	answer(t);
	let_go(t);
}

static void after_again(struct tx *t)
{
	if (t->url) {
		t->is_unsent = false;
		bulk_drop(&t->whole, t->whole.n);
		send(t);
		return;
	}
	if (!t->c->status) { /* no worker has come to its end with it */
		struct refusal lost =
			failure(t, "GOVERNANCE_ERROR", "it could not be decided, so it was not sent on");
		lost.status = 503;
		t->c->sent_count = 0;
		refuse_call(t->c, t->asked.form, &lost);
	}
	answer(t); /* it was refused, and says so */
	let_go(t);
}

/* Without a worker that decides, nothing is sent: not even to the same upstream once more. */
static void decide_again(struct tx *t)
{
	t->url = NULL;
	t->c->status = 0;
	start_job(t, forward_again, t->home, after_again);
}

static void fail(struct tx *t)
{
	bool is_gone = text_eq(t->failed.code, "CLIENT_ABORTED");

	/* A vendor that refuses, or is not there, has done nothing that costs. */
	t->is_unsent = t->phase == TX_AGAIN || text_eq(t->failed.code, "WEB_UNREACHABLE");
	t->kind = is_gone	       ? "CLIENT_ABORTED"
		: t->phase == TX_AGAIN ? "UPSTREAM_ERROR"
		: t->is_unsent	       ? "UPSTREAM_UNREACHABLE"
				       : "INCOMPLETE";
	t->code = t->kind;
	bool is_again = !is_gone && may_try_again(t);
	start_job(t, govern_outcome, &t->job, is_again ? decide_again : after_failure);
}

/* What is left when the vendor has said everything. */
static void conclude_stream(struct tx *t)
{
	bool is_broken = t->failed.rc != OK;

	if (t->is_gone) {
		finish(t, "CLIENT_ABORTED");
		return;
	}
	/* An event without its empty line at the end: some clients read it all the same. */
	if (!is_broken && t->sse.event.n && !take_event(t))
		return;
	if (is_broken || t->x.n) {
		struct refusal r = failure(t, "INCOMPLETE",
			"the model's answer broke off; calls that were not complete are not passed on");
		refuse(t, &r);
		return;
	}
	finish(t, t->is_rewriting ? "REWRITTEN" : t->denied ? "OBSERVED" : "APPROVED");
}

/* A question to a model has an answer.  Where there is none something was lost, as of what was packed and cut off. */
static bool lacks_answer(const struct tx *t)
{
	return t->status == 200 && !t->whole.n && t->asked.form != &form_other &&
		text_eq(t->c->method, "POST");
}

static void conclude(struct tx *t)
{
	bool is_whole = t->phase != TX_STREAM && t->phase != TX_RAW && t->phase != TX_AGAIN;

	if (is_whole && !t->failed.rc && lacks_answer(t))
		(void)err_set(&t->failed, E_IO, "WEB_INCOMPLETE", "the answer is empty");
	if (t->phase == TX_STREAM)
		conclude_stream(t);
	else if (t->phase == TX_RAW)
		finish(t, t->is_gone ? "CLIENT_ABORTED" : t->failed.rc ? "INCOMPLETE" : "APPROVED");
	else if (t->failed.rc || t->phase == TX_AGAIN)
		fail(t);
	else
		start_job(t, govern_whole, &t->job, after_whole);
}

/* ---- the beginning ---- */

static void begin(void *arg)
{
	struct tx *t = arg;

	t->next = t->p->first;
	t->self = &t->p->first;
	if (t->next)
		t->next->self = &t->next;
	t->p->first = t;
	web_watch(t->p->loop, t->fd, t);
	send(t);
}

void tx_cut_all(void *arg)
{
	struct proxy *p = arg;

	for (struct tx *t = p->first, *next; t; t = next) {
		next = t->next;
		cut_off(t, "WEB_INCOMPLETE");
	}
}

/* The worker's thread. */
void tx_start(struct call *c, void (*answered)(void *), void *arg)
{
	struct tx *t = c->owner;
	struct proxy *p = t->p;

	t->answered = answered;
	t->arg = arg;
	t->began_us = p->s->sys->now_us(p->s->sys);
	t->home = c->a;
	t->fd = listen_fd(c);
	call_keep(c);
	pthread_mutex_lock(&p->lock);
	p->live++;
	pthread_mutex_unlock(&p->lock);
	web_post(p->loop, begin, t);
}
