/* flight.c — one request of a guest on its way: to a worker, to an upstream, back, answered. */
#include "serve/mcp/mcp.h"

#include "base/text.h"

#include <stdlib.h>

/* Before it is answered: whoever has the answer may use its id again. */
static void leave_guest(struct flight *f)
{
	pthread_mutex_lock(&f->g->lock);
	f->guest->flight_count--;
	*f->self = f->next;
	if (f->next)
		f->next->self = f->self;
	pthread_mutex_unlock(&f->g->lock);
}

/* Whoever ends the gateway waits until there is none: the last step touches nothing of it. */
static void flight_end(struct flight *f)
{
	struct gateway *g = f->g;

	snapshot_drop(g, f->snap);
	guest_drop(f->guest);
	arena_done(&f->a);
	free(f);
	pthread_mutex_lock(&g->lock);
	g->flights--;
	pthread_cond_broadcast(&g->idle);
	pthread_mutex_unlock(&g->lock);
}

/* The whole answer, or the word that there is none. */
static void deliver(struct flight *f)
{
	struct buf text;
	bool is_wanted = f->answer && !__atomic_load_n(&f->is_cancelled, __ATOMIC_SEQ_CST);

	leave_guest(f);
	buf_init(&text, &f->a);
	if (is_wanted)
		json_write(&text, f->answer, 0);
	f->send(f, is_wanted ? buf_bytes(&text) : (struct bytes){ 0 }, true);
}

/* ---- those that wait for a person ---- */

/* Wakes whoever slept long enough, or is not wanted any more. */
static void *be_ticker(void *arg)
{
	struct gateway *g = arg;
	struct sys *s = g->server->sys;

	pthread_mutex_lock(&g->lock);
	while (g->asleep) {
		struct flight *due = NULL, **p = &g->asleep;
		int64_t now = s->mono_us(s);
		for (struct flight *f; (f = *p);) {
			if (f->wake_us > now && !g->is_over &&
				!__atomic_load_n(&f->is_cancelled, __ATOMIC_SEQ_CST)) {
				p = &f->next_asleep;
				continue;
			}
			*p = f->next_asleep;
			f->next_asleep = due;
			due = f;
		}
		pthread_mutex_unlock(&g->lock);
		for (struct flight *next; due; due = next) {
			next = due->next_asleep;
			flight_go(due);
		}
		s->sleep_us(s, 100000);
		pthread_mutex_lock(&g->lock);
	}
	g->has_ticker = false;
	pthread_cond_broadcast(&g->idle);
	pthread_mutex_unlock(&g->lock);
	return NULL;
}

static void sleep_until(struct flight *f)
{
	struct gateway *g = f->g;
	pthread_t thread;

	pthread_mutex_lock(&g->lock);
	f->next_asleep = g->asleep;
	g->asleep = f;
	if (f->ask.p)
		question_ask(f);
	if (!g->has_ticker && pthread_create(&thread, NULL, be_ticker, g) == 0) {
		pthread_detach(thread);
		g->has_ticker = true;
	}
	pthread_mutex_unlock(&g->lock);
}

/* The worker has left it; what its step asked for happens now.  While the step ran it held one of f->wants itself, so that nobody whom it waits
 * for takes the flight from under it. */
static void after_worker(void *arg)
{
	struct flight *f = arg;
	struct upstream *to = f->to;

	if (__atomic_sub_fetch(&f->wants, 1, __ATOMIC_SEQ_CST))
		return;
	if (f->is_waiting) {
		flight_go(f);
	} else if (f->wake_us) {
		sleep_until(f);
	} else if (to) {
		f->to = NULL;
		upstream_send(to, f);
	} else {
		/* Memory ran out before anything was written. */
		if (f->call.status && !f->answer)
			flight_refuse(f, RPC_INTERNAL, "it takes more memory than one request may have");
		deliver(f);
		flight_end(f);
	}
}

static int run_step(struct call *c, struct err *e)
{
	struct flight *f = (struct flight *)((char *)c - offsetof(struct flight, call));
	int (*step)(struct flight *, struct err *) = f->step;

	if (step(f, e)) {
		f->to = NULL;
		f->is_waiting = false;
		flight_refuse(f, RPC_INTERNAL, "it could not be decided about, so it was not done");
	}
	c->status = 0;
	return OK;
}

void flight_go_here(struct flight *f, struct worker *w)
{
	f->call.sent_count = 0;
	f->call.resume = run_step;
	f->call.status = 1; /* until the step has come to its end */
	f->has_waited |= f->awaits_start;
	f->is_waiting = false;
	f->wake_us = 0;
	f->answer = NULL;
	__atomic_store_n(&f->wants, 1, __ATOMIC_SEQ_CST);
	bool may = w && (!f->is_clear || f->is_clear(f));
	if ((may && work_here(w, &f->call, after_worker, f)) ||
		work_put(f->g->server, &f->call, after_worker, f))
		return;
	flight_refuse(f, RPC_INTERNAL, "the gateway is ending");
	deliver(f);
	flight_end(f);
}

void flight_go(struct flight *f)
{
	flight_go_here(f, NULL);
}

static int refuse_many(struct flight *f, struct err *e)
{
	(void)e;
	flight_refuse(f, RPC_INTERNAL, "too many requests of this session are on their way");
	return OK;
}

struct flight *flight_new(struct guest *u, struct bytes text, unsigned scopes)
{
	struct gateway *g = u->g;
	struct flight *f = calloc(1, sizeof(*f));

	if (!f)
		mem_exhausted(0);
	f->g = g;
	f->guest = u;
	f->snap = snapshot_take(g);
	f->call = (struct call){ .server = g->server,
		.a = &f->a,
		.method = "",
		.path = "/mcp",
		.request_id = u->id,
		.correlation_id = u->id,
		.fd = -1,
		.who = { u->principal, u->tenant, NULL, scopes } };
	f->step = flight_begin;
	f->began_us = g->server->sys->mono_us(g->server->sys);
	rpc_read(&f->a, text, &f->rpc);
	f->progress_token = json_get(json_get(f->rpc.params, "_meta"), "progressToken");
	pthread_mutex_lock(&g->lock);
	g->flights++;
	f->number = ++g->next_number;
	if (u->flight_count++ >= MCP_FLIGHTS_EACH)
		f->step = refuse_many;
	f->next = u->flights;
	f->self = &u->flights;
	if (u->flights)
		u->flights->self = &f->next;
	u->flights = f;
	pthread_mutex_unlock(&g->lock);
	return f;
}

void flight_back(struct flight *f, const char *trouble)
{
	f->trouble = trouble ? arena_strdup(&f->a, trouble) : NULL;
	flight_go(f);
}

void flight_back_here(struct flight *f, struct worker *w)
{
	f->trouble = NULL;
	flight_go_here(f, w);
}

void flight_answer(struct flight *f, struct json *result)
{
	f->answer = rpc_result(&f->a, f->rpc.id, result);
}

void flight_refuse(struct flight *f, int code, const char *text)
{
	f->answer = rpc_error(&f->a, f->rpc.id, code, text);
}
