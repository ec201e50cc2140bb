/* upstream.c — a server of the registry: whether it is there, what it offers, who waits for it.
 *
 * It is started when somebody first needs it, and again after it has ended: at once the first time, then later and later.  A server that
 * does not answer keeps its own flights waiting and nobody else's: it has a thread of its own, and workers never wait for it. */
#include "serve/mcp/mcp.h"

#include "base/text.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { BACKOFF_US = 200000, BACKOFF_MOST_US = 30000000 };

struct offer *offer_new(void)
{
	struct offer *o = calloc(1, sizeof(*o));

	if (!o)
		mem_exhausted(0);
	o->refs = 1;
	o->tools = json_new(&o->a, JSON_ARRAY);
	return o;
}

/* A definition that has no name, or one that another has, is none. */
bool offer_add(struct offer *o, const struct json *page)
{
	json_each (tool, json_get(page, "tools")) {
		const char *name = json_get_text(tool, "name", NULL);
		if (name && *name && strlen(name) <= 128 && !mcp_tool_in(o->tools, name))
			json_push(&o->a, o->tools, json_copy(&o->a, tool));
	}
	return o->tools->n <= MCP_TOOLS_MOST;
}

static void offer_unref(struct offer *o)
{
	if (o && --o->refs == 0) {
		arena_done(&o->a);
		free(o);
	}
}

void offer_drop(struct upstream *u, struct offer *o)
{
	pthread_mutex_lock(&u->lock);
	offer_unref(o);
	pthread_mutex_unlock(&u->lock);
}

static struct upstream *upstream_new(struct gateway *g, const char *id, const struct json *row)
{
	struct upstream *u = calloc(1, sizeof(*u));

	if (!u)
		mem_exhausted(0);
	u->g = g;
	u->id = arena_strdup(&g->a, id);
	u->launch = arena_strdup(&g->a, json_get_text(row, "launch_sha256", ""));
	u->is_web = json_get(row, "url") != NULL;
	u->is_own = text_eq(id, MCP_OWN) && json_get_bool(row, "own", false);
	u->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	pthread_mutex_init(&u->lock, NULL);
	return u;
}

/* One that is started in another way is another one; what the old one has begun it ends. */
struct upstream *upstream_get(struct gateway *g, const char *id, const struct json *row)
{
	const char *launch = json_get_text(row, "launch_sha256", "");
	struct upstream *found = NULL;

	pthread_mutex_lock(&g->lock);
	for (struct upstream *u = g->upstreams; u && !found; u = u->next)
		if (text_eq(u->id, id) && text_eq(u->launch, launch))
			found = u;
	if (!found) {
		found = upstream_new(g, id, row);
		found->next = g->upstreams;
		g->upstreams = found;
	}
	pthread_mutex_unlock(&g->lock);
	return found;
}

const struct json *upstream_row(const struct upstream *u, const struct snapshot *s)
{
	const struct json *row = s ? json_get(json_get(s->registry, "servers"), u->id) : NULL;

	return text_eq(json_get_text(row, "launch_sha256", ""), u->launch) ? row : NULL;
}

/* ---- ready or not ---- */

/* Under the lock; whoever waited is told outside of it. */
static struct want *take_wants(struct upstream *u)
{
	struct want *all = u->wants;

	u->wants = NULL;
	return all;
}

static void tell_wants(struct want *w)
{
	for (struct want *next; w; w = next) {
		struct flight *f = w->f;
		next = w->next; /* before the flight goes, in whose memory it lies */
		if (__atomic_sub_fetch(&f->wants, 1, __ATOMIC_SEQ_CST) == 0)
			flight_go(f);
	}
}

void upstream_is_ready(struct upstream *u, struct offer *o)
{
	pthread_mutex_lock(&u->lock);
	bool is_changed = u->offer && !json_eq(u->offer->tools, o->tools);
	offer_unref(u->offer);
	u->offer = o;
	u->state = UP_READY;
	u->is_listing = u->must_list = false;
	u->listed_us = u->g->server->sys->mono_us(u->g->server->sys);
	u->failures = 0;
	struct want *w = take_wants(u);
	pthread_mutex_unlock(&u->lock);
	tell_wants(w);
	if (is_changed)
		guests_tell(u->g, "notifications/tools/list_changed");
}

void upstream_keep(struct upstream *u, const struct offer *o)
{
	struct server *s = u->g->server;
	AUTO(arena_done) struct arena a = { 0 };
	struct err e = { 0 };

	if (mcp_seen_put(s->sys, &a, s->ws, u->id, o->tools, &e))
		log_line(s, "warning", NULL, "what '%s' offers could not be kept: %s", u->id, e.text);
}

/* What is still to be sent has nowhere to go. */
void upstream_has_failed(struct upstream *u, const char *why)
{
	struct sys *s = u->g->server->sys;

	pthread_mutex_lock(&u->lock);
	int64_t wait = u->failures ? BACKOFF_US << (u->failures > 7 ? 7 : u->failures) : 0;
	u->failures++;
	u->retry_us = s->mono_us(s) + (wait > BACKOFF_MOST_US ? BACKOFF_MOST_US : wait);
	u->state = UP_FAILED;
	u->is_listing = u->must_list = false;
	u->has_thread = false;
	snprintf(u->why, sizeof(u->why), "%s", why);
	struct want *w = take_wants(u);
	struct flight *lost = u->pending, *unsent = u->sending;
	struct saying *saying = u->saying;
	u->pending = u->sending = NULL;
	u->saying = NULL;
	pthread_mutex_unlock(&u->lock);
	tell_wants(w);
	for (struct saying *next; saying; saying = next) {
		next = saying->next;
		free(saying);
	}
	for (struct flight *next; lost; lost = next) {
		next = lost->next_pending;
		flight_back(lost, "the server ended before it answered");
	}
	for (struct flight *next; unsent; unsent = next) {
		next = unsent->next_pending;
		flight_back(unsent, "the server ended before it was asked");
	}
}

static void wake(struct upstream *u)
{
	const uint64_t one = 1;

	(void)!write(u->wake, &one, sizeof(one));
}

/* A thread of its own, without signals: they are the main thread's. */
static bool start_thread(struct upstream *u)
{
	sigset_t all, old;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	bool is_there = pthread_create(&u->thread, NULL, u->is_web ? upstream_web : upstream_child, u) == 0;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (is_there)
		pthread_detach(u->thread);
	return is_there;
}

/* Under the lock. */
static void begin(struct upstream *u)
{
	u->state = UP_STARTING;
	u->starts++;
	u->has_thread = true;
	u->is_dismissed = false;
	if (start_thread(u))
		return;
	u->has_thread = false;
	u->state = UP_FAILED;
	u->retry_us = 0;
	snprintf(u->why, sizeof(u->why), "no thread can be started for it");
}

static void own_offer(struct upstream *u)
{
	struct offer *o = offer_new();

	o->tools = own_tools(u->g, &o->a);
	u->offer = o;
	u->state = UP_READY;
}

/* Under the lock.  One that says nothing when its tools change is found out here, before a call relies on what it said long ago. */
static void list_if_old(struct upstream *u, const struct flight *f, int64_t old_s)
{
	bool is_old = u->state == UP_READY && !u->is_own && !u->is_listing && !u->must_list &&
		json_get(u->offer->capabilities, "tools") && u->listed_us + old_s * 1000000 < f->began_us;

	if (!is_old || (u->is_web && u->has_thread))
		return;
	u->must_list = true;
	u->has_thread = true;
	if (u->is_web && !start_thread(u))
		u->must_list = u->has_thread = false;
}

bool upstream_want(struct upstream *u, struct flight *f)
{
	struct sys *s = u->g->server->sys;
	int64_t old_s = json_get_int(upstream_row(u, f->snap), "list_s", MCP_LIST_S);
	struct want *w = arena_alloc(&f->a, sizeof(*w)); /* not under the lock: memory may run out */

	pthread_mutex_lock(&u->lock);
	if (u->is_own && !u->offer)
		own_offer(u);
	if (!u->is_ending &&
		((u->state == UP_IDLE && !u->has_thread) ||
			(u->state == UP_FAILED && s->mono_us(s) >= u->retry_us && !u->has_thread &&
				!f->has_waited)))
		begin(u);
	list_if_old(u, f, old_s);
	bool is_asked = u->must_list || u->is_listing;
	bool is_settled = u->is_ending || (u->state == UP_READY && !is_asked) || u->state == UP_FAILED;
	if (!is_settled) {
		*w = (struct want){ f, u->wants };
		u->wants = w;
		f->is_waiting = true;
		f->awaits_start |= u->state == UP_STARTING;
		__atomic_add_fetch(&f->wants, 1, __ATOMIC_SEQ_CST);
	}
	bool is_told = u->must_list && !u->is_web;
	pthread_mutex_unlock(&u->lock);
	if (is_told)
		wake(u);
	return is_settled;
}

struct offer *upstream_offer(struct upstream *u, char why[400])
{
	struct offer *o = NULL;

	pthread_mutex_lock(&u->lock);
	if (u->state == UP_READY) {
		o = u->offer;
		o->refs++;
	} else {
		snprintf(why, 400, "%s", u->is_ending ? "the gateway is ending" : u->why);
	}
	pthread_mutex_unlock(&u->lock);
	return o;
}

/* ---- sending ---- */

int64_t upstream_next_id(struct upstream *u)
{
	return __atomic_add_fetch(&u->last_id, 1, __ATOMIC_SEQ_CST);
}

void upstream_send(struct upstream *u, struct flight *f)
{
	struct sys *s = u->g->server->sys;
	const char *trouble = NULL;
	bool wakes = true;

	f->result = f->error = NULL;
	f->trouble = NULL;
	f->deadline_us = s->mono_us(s) + f->timeout_us;
	pthread_mutex_lock(&u->lock);
	bool is_alone = u->child && !u->is_listing && !u->sending && !u->saying;
	if (u->state != UP_READY || u->is_ending) {
		trouble = "the server ended before it was asked";
	} else if (!u->is_web && !(is_alone && child_send_now(u->child, f, &wakes))) {
		struct flight **last = &u->sending;
		while (*last)
			last = &(*last)->next_pending;
		f->next_pending = NULL;
		*last = f;
	}
	pthread_mutex_unlock(&u->lock);
	if (trouble)
		flight_back(f, trouble);
	else if (u->is_web)
		upstream_send_web(u, f);
	else if (wakes)
		wake(u);
}

void upstreams_wake(struct gateway *g)
{
	pthread_mutex_lock(&g->lock);
	for (struct upstream *u = g->upstreams; u; u = u->next)
		wake(u);
	pthread_mutex_unlock(&g->lock);
}

void upstreams_dismiss(struct gateway *g, const struct snapshot *now)
{
	int64_t at = g->server->sys->now_us(g->server->sys);

	pthread_mutex_lock(&g->lock);
	for (struct upstream *u = g->upstreams; u; u = u->next) {
		const struct json *row = upstream_row(u, now);
		const char *state = mcp_state(row, at);
		if (row && !text_eq(state, "revoked") && !text_eq(state, "expired"))
			continue;
		pthread_mutex_lock(&u->lock);
		u->is_dismissed = u->has_thread;
		pthread_mutex_unlock(&u->lock);
		wake(u);
	}
	pthread_mutex_unlock(&g->lock);
}

/* Its thread sees it, ends the child and gives back every flight; this waits for that. */
void upstream_stop(struct upstream *u)
{
	struct sys *s = u->g->server->sys;

	pthread_mutex_lock(&u->lock);
	u->is_ending = true;
	pthread_mutex_unlock(&u->lock);
	wake(u);
	for (;;) {
		pthread_mutex_lock(&u->lock);
		bool is_over = !u->has_thread && !u->threads;
		pthread_mutex_unlock(&u->lock);
		if (is_over)
			return;
		s->sleep_us(s, 2000);
	}
}

/* ---- messages that nobody waits for ---- */

void upstream_say(struct upstream *u, uint64_t starts, struct bytes message)
{
	enum { SAYING_MOST = 256 };
	struct saying *s = calloc(1, sizeof(*s) + message.n), **last = &u->saying;
	size_t n = 0;

	if (!s)
		mem_exhausted(0);
	s->n = message.n;
	memcpy(s->text, message.p, message.n);
	pthread_mutex_lock(&u->lock);
	bool is_same = u->state == UP_READY && !u->is_ending && (!starts || starts == u->starts);
	for (; *last; last = &(*last)->next)
		n++;
	bool is_taken = is_same && !u->is_web && n < SAYING_MOST;
	if (is_taken)
		*last = s;
	pthread_mutex_unlock(&u->lock);
	if (is_taken)
		wake(u);
	else
		free(s);
	if (is_same && u->is_web)
		upstream_say_web(u, message);
}
