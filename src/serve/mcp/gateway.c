/* gateway.c — the gateway from start to end, the registry it works by, and its guests. */
#include "serve/mcp/mcp.h"

#include "base/hash.h"
#include "base/text.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

static const char *const spoken[] = { MCP_LATEST, "2025-06-18", "2025-03-26" };

void mcp_push_versions(struct arena *a, struct json *to)
{
	json_pushs(a, to, MCP_STATELESS);
	for (size_t i = 0; i < ARRAY_SIZE(spoken); i++)
		json_pushs(a, to, spoken[i]);
}

/* The first one differs in nothing that is used here: who knows no other is answered in it.  It is not offered. */
bool mcp_speaks(const char *version)
{
	if (text_eq(version, "2024-11-05"))
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(spoken); i++)
		if (text_eq(spoken[i], version))
			return true;
	return false;
}

/* ---- the registry ---- */

static void snapshot_unref(struct snapshot *s)
{
	if (s && --s->refs == 0) {
		arena_done(&s->a);
		free(s);
	}
}

static bool is_same_file(const struct stat *x, const struct stat *y)
{
	return x->st_dev == y->st_dev && x->st_ino == y->st_ino && x->st_size == y->st_size &&
		x->st_mtim.tv_sec == y->st_mtim.tv_sec && x->st_mtim.tv_nsec == y->st_mtim.tv_nsec;
}

static struct snapshot *load_snapshot(struct gateway *g)
{
	struct snapshot *s = calloc(1, sizeof(*s));
	struct server *server = g->server;
	struct err e = { 0 };

	if (!s)
		mem_exhausted(0);
	if (mcp_load(server->sys, &s->a, server->ws, &s->registry, &e)) {
		log_line(server, "error", NULL, "no server of tools is offered: %s", e.text);
		arena_done(&s->a);
		free(s);
		return NULL;
	}
	struct json *servers = json_get(s->registry, "servers");
	if (!servers) {
		servers = json_new(&s->a, JSON_OBJECT);
		json_set(&s->a, s->registry, "servers", servers);
	}
	if (json_get(g->o, "own_tools"))
		json_set(&s->a, servers, MCP_OWN, own_row(g, &s->a));
	s->refs = 1;
	return s;
}

/* Looked at each time, and read again only when it is another file. */
struct snapshot *snapshot_take(struct gateway *g)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct sys *s = g->server->sys;
	const char *path = mcp_path(&a, g->server->ws);
	struct stat st = { 0 };

	if (!path || s->stat(s, AT_FDCWD, path, &st, AT_SYMLINK_NOFOLLOW))
		st = (struct stat){ 0 };
	pthread_mutex_lock(&g->lock);
	bool is_other = g->snapshot && !is_same_file(&st, &g->looked_at);
	if (!g->snapshot || is_other) {
		snapshot_unref(g->snapshot);
		g->snapshot = load_snapshot(g);
		g->looked_at = st;
	}
	struct snapshot *snap = g->snapshot;
	if (snap)
		snap->refs++;
	pthread_mutex_unlock(&g->lock);
	if (is_other) { /* a person has approved or withdrawn something */
		upstreams_dismiss(g, snap);
		guests_tell(g, "notifications/tools/list_changed");
	}
	return snap;
}

void snapshot_drop(struct gateway *g, struct snapshot *s)
{
	pthread_mutex_lock(&g->lock);
	snapshot_unref(s);
	pthread_mutex_unlock(&g->lock);
}

/* ---- guests ---- */

static void guest_unref(struct guest *u)
{
	if (--u->refs == 0) {
		arena_done(&u->a);
		free(u);
	}
}

static void copy(char *to, size_t room, const char *from)
{
	snprintf(to, room, "%.*s", (int)room - 1, from);
}

/* Takes it out of the list; the reference of the list goes. */
static void forget(struct gateway *g, struct guest *u)
{
	for (struct guest **p = &g->guests; *p; p = &(*p)->next)
		if (*p == u) {
			*p = u->next;
			g->guest_count--;
			u->is_over = true;
			guest_unref(u);
			return;
		}
}

static void forget_old(struct gateway *g)
{
	int64_t limit = g->server->sys->mono_us(g->server->sys) - MCP_IDLE_S * INT64_C(1000000);

	for (struct guest *u = g->guests, *next; u; u = next) {
		next = u->next;
		if (u->used_us < limit && !u->flights && !u->tell)
			forget(g, u);
	}
}

/* One caller does not take all of them. */
static bool is_full(const struct gateway *g, const struct guest *u)
{
	size_t mine = 0;

	for (const struct guest *o = g->guests; o; o = o->next)
		mine += text_eq(o->principal, u->principal) && text_eq(o->tenant, u->tenant);
	return g->guest_count >= MCP_SESSIONS || mine >= MCP_SESSIONS_EACH;
}

struct guest *guest_new(struct gateway *g, const char *principal, const char *tenant, struct err *e)
{
	struct sys *s = g->server->sys;
	struct guest *u = calloc(1, sizeof(*u));
	uint8_t id[16];

	if (!u)
		mem_exhausted(0);
	if (s->random(s, id, sizeof(id))) {
		free(u);
		err_sys(e, "MCP_SESSION", "no random bytes for a session");
		return NULL;
	}
	hex_encode(id, sizeof(id), u->id);
	u->g = g;
	u->refs = 2;
	u->used_us = s->mono_us(s);
	u->taint = json_new(&u->a, JSON_ARRAY);
	u->watched = json_new(&u->a, JSON_OBJECT);
	u->level = MCP_LEVEL;
	copy(u->principal, sizeof(u->principal), principal);
	copy(u->tenant, sizeof(u->tenant), tenant);
	copy(u->version, sizeof(u->version), "2025-03-26");
	pthread_mutex_lock(&g->lock);
	forget_old(g);
	bool has_room = !is_full(g, u);
	if (has_room) {
		u->next = g->guests;
		g->guests = u;
		g->guest_count++;
	}
	pthread_mutex_unlock(&g->lock);
	if (has_room)
		return u;
	arena_done(&u->a);
	free(u);
	err_set(e, E_LIMIT, "MCP_SESSIONS", "there are too many sessions");
	return NULL;
}

struct guest *guest_find(struct gateway *g, const char *id)
{
	struct guest *found = NULL;

	pthread_mutex_lock(&g->lock);
	forget_old(g);
	for (struct guest *u = g->guests; u && !found; u = u->next)
		if (text_eq(u->id, id))
			found = u;
	if (found) {
		found->refs++;
		found->used_us = g->server->sys->mono_us(g->server->sys);
	}
	pthread_mutex_unlock(&g->lock);
	return found;
}

void guest_hold(struct guest *u)
{
	pthread_mutex_lock(&u->g->lock);
	u->refs++;
	pthread_mutex_unlock(&u->g->lock);
}

void guest_drop(struct guest *u)
{
	struct gateway *g = u->g;

	pthread_mutex_lock(&g->lock);
	guest_unref(u);
	pthread_mutex_unlock(&g->lock);
}

void guest_end(struct guest *u)
{
	struct gateway *g = u->g;

	pthread_mutex_lock(&g->lock);
	for (struct flight *f = u->flights; f; f = f->next)
		__atomic_store_n(&f->is_cancelled, 1, __ATOMIC_SEQ_CST);
	u->tell = NULL;
	forget(g, u);
	pthread_mutex_unlock(&g->lock);
	upstreams_wake(g);
}

bool guest_cancel(struct guest *u, const struct json *id)
{
	struct gateway *g = u->g;
	bool is_there = false;

	pthread_mutex_lock(&g->lock);
	for (struct flight *f = u->flights; f && id; f = f->next)
		if (!f->is_question && f->rpc.id && json_eq(f->rpc.id, id)) {
			__atomic_store_n(&f->is_cancelled, 1, __ATOMIC_SEQ_CST);
			is_there = true;
		}
	pthread_mutex_unlock(&g->lock);
	if (is_there)
		upstreams_wake(g);
	return is_there;
}

void guests_tell(struct gateway *g, const char *method)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct buf line;

	buf_init(&line, &a);
	json_write(&line, rpc_notification(&a, method, NULL), 0);
	pthread_mutex_lock(&g->lock);
	for (struct guest *u = g->guests; u; u = u->next)
		if (u->tell)
			u->tell(u, buf_bytes(&line));
	pthread_mutex_unlock(&g->lock);
}

/* ---- from start to end ---- */

int gateway_start(struct server *s, const struct json *options, struct err *e)
{
	struct gateway *g = calloc(1, sizeof(*g));
	struct json *registry;

	if (!g)
		mem_exhausted(0);
	g->server = s;
	g->o = options;
	pthread_mutex_init(&g->lock, NULL);
	pthread_cond_init(&g->idle, NULL);
	s->gateway = g;
	int rc = mcp_load(s->sys, &g->a, s->ws, &registry, e);
	json_each (id, json_get(options, "servers")) {
		struct json *row;
		if (rc == OK && json_text(id))
			rc = mcp_find(&g->a, registry, json_text(id), &row, e);
	}
	return rc;
}

/* Every flight is ended by whoever has it, so that each call that was begun has its outcome on record. */
void gateway_stop(struct gateway *g)
{
	if (!g)
		return;
	pthread_mutex_lock(&g->lock);
	g->is_over = true;
	for (struct guest *u = g->guests; u; u = u->next)
		for (struct flight *f = u->flights; f; f = f->next)
			__atomic_store_n(&f->is_cancelled, 1, __ATOMIC_SEQ_CST);
	struct upstream *all = g->upstreams;
	pthread_mutex_unlock(&g->lock);
	for (struct upstream *u = all; u; u = u->next)
		upstream_stop(u);
	pthread_mutex_lock(&g->lock);
	while (g->flights || g->has_ticker)
		pthread_cond_wait(&g->idle, &g->lock);
	pthread_mutex_unlock(&g->lock);
}

void gateway_free(struct gateway *g)
{
	if (!g)
		return;
	while (g->guests)
		forget(g, g->guests);
	snapshot_unref(g->snapshot);
	for (struct upstream *u = g->upstreams, *next; u; u = next) {
		next = u->next;
		offer_drop(u, u->offer);
		close_fd(&u->wake);
		free(u->token);
		free(u);
	}
	arena_done(&g->a);
	free(g);
}
