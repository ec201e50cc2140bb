/* look_events.c — what happens on all machines, as it happens: short rows, for pages that are open.
 *
 * One thread asks the database each second for the leaves behind those that were given on, once for each tenant that somebody listens to.  The id of an event is
 * one more than its leaf, so that Last-Event-ID goes on where a page stopped, at this front end or another.  Whoever was away for so long that they would
 * have to read very much is told to look anew instead (`lost`).  A token that was revoked hears nothing more. */
#include "base/text.h"
#include "serve/feed.h"
#include "serve/fleet/look.h"
#include "serve/fleet/ticker.h"

#include <pthread.h>

enum {
	LOOK_MS = 1000,
	SIGN_S = 15,
	ROWS_MOST = 2000,
	BEHIND_MOST = 2000,
	PENDING_MOST = 256 << 10,
	TOKEN_S = 3
};

struct ears {
	struct fleet *f;
	pthread_mutex_t lock;
	struct ear *first;
	struct ticker *ticker;
	int64_t asked_us; /* when the tokens were last looked at */
};

struct ear {
	struct feed feed;
	struct ears *of;
	int32_t tenant;
	const char *machines; /* that it hears of; NULL: all of the tenant */
	int64_t until_us; /* when its session is over; 0: that of a token, which is asked for */
	int64_t at; /* the next leaf */
	int64_t checkpoint; /* how far the newest one reached that it was told of */
	const char *token;
	struct arena pending_in;
	struct buf pending;
	bool is_over;
	struct ear *next, **self;
};

/* ---- one who listens ---- */

static void take_pending(struct feed *f)
{
	struct ear *x = (struct ear *)f;
	int64_t now = f->server->sys->mono_us(f->server->sys);

	pthread_mutex_lock(&x->of->lock);
	buf_add(&f->text, x->pending.p, x->pending.n);
	arena_reset(&x->pending_in);
	buf_init(&x->pending, &x->pending_in);
	pthread_mutex_unlock(&x->of->lock);
	if (!f->text.n && now - f->beat_us >= (int64_t)SIGN_S * 1000000)
		buf_adds(&f->text, ": here\n\n");
	if (f->text.n)
		f->beat_us = now;
}

static bool may_listen(struct feed *f)
{
	struct ear *x = (struct ear *)f;

	pthread_mutex_lock(&x->of->lock);
	bool is_over = x->is_over;
	pthread_mutex_unlock(&x->of->lock);
	return !is_over;
}

static void gone(struct feed *f)
{
	struct ear *x = (struct ear *)f;

	pthread_mutex_lock(&x->of->lock);
	*x->self = x->next;
	if (x->next)
		x->next->self = x->self;
	pthread_mutex_unlock(&x->of->lock);
	arena_done(&x->pending_in);
}

static int events_of(struct call *c, struct looking *l, struct err *e)
{
	AUTO(pg_rows_done) struct pg_rows rows = { 0 };
	const char *last = call_header(c, "Last-Event-ID");
	struct ears *of = c->server->fleet->ears;
	int64_t at = -1;
	int rc = pg_ask(l->l.d, "SELECT tree_size FROM log", NULL, 0, &rows, e);

	last = last ? last : call_query(c, "since");
	if (rc == OK && last && (!text_int(last, &at) || at < 0))
		rc = call_refuse(c, e, 400, "BAD_REQUEST", "Last-Event-ID is the number of an event");
	if (rc)
		return rc;
	int64_t size = rows.n ? pg_int(&rows, 0, 0) : 0;
	bool is_lost = at >= 0 && (at > size || size - at > BEHIND_MOST);
	struct ear *x = feed_new(c, sizeof(*x), take_pending, may_listen);
	x->feed.gone = gone;
	x->of = of;
	x->tenant = l->who.tenant.id;
	x->machines = l->who.machines ? arena_strdup(&x->feed.a, l->who.machines) : NULL;
	x->until_us = l->until_us;
	x->at = at < 0 || is_lost ? size : at;
	x->token = arena_strdup(&x->feed.a, looking_token(c));
	buf_init(&x->pending, &x->pending_in);
	buf_addf(&x->feed.text, "retry: 2000\nid: %lld\nevent: begin\ndata: {\"clock\":%lld%s}\n\n",
		(long long)x->at, (long long)x->at, is_lost ? ",\"lost\":true" : "");
	pthread_mutex_lock(&of->lock);
	x->next = of->first;
	x->self = &of->first;
	if (x->next)
		x->next->self = &x->next;
	of->first = x;
	pthread_mutex_unlock(&of->lock);
	feed_start(c, &x->feed);
	return OK;
}

LOOKS(events)
{
	return look(c, events_of, e);
}

/* ---- the thread ---- */

static const char *event_of(const struct json *row)
{
	const char *type = json_get_text(row, "kind", ""), *verdict = json_get_text(row, "verdict", "");

	if (text_eq(type, "grant") || text_eq(type, "denial") || text_eq(type, "revocation") ||
		text_eq(type, "assertion"))
		return "answered";
	return text_eq(verdict, "ESCALATE") ? "asked" : text_eq(verdict, "DENY") ? "stopped" : "act";
}

static void tell(struct ear *x, int64_t leaf, const struct json *row)
{
	if (leaf < x->at || x->is_over)
		return;
	buf_addf(&x->pending, "id: %lld\nevent: %s\ndata: ", (long long)leaf + 1, event_of(row));
	json_write(&x->pending, row, 0);
	buf_adds(&x->pending, "\n\n");
	x->at = leaf + 1;
	/* Whoever does not listen comes again and goes on. */
	x->is_over = x->pending.n > PENDING_MOST;
}

/* Those who see the same hear the same. */
struct group {
	int32_t tenant;
	const char *machines;
	int64_t from;
};

static bool is_in(const struct group *g, const struct ear *x)
{
	return x->tenant == g->tenant && !x->machines == !g->machines &&
		(!x->machines || text_eq(x->machines, g->machines));
}

/* The leaves that at least one has not been told of yet. */
static void look_for(struct ears *of, const struct group *g)
{
	AUTO(arena_done) struct arena a = { 0 };
	AUTO(lent_back) struct lent l = { 0 };
	AUTO(pg_rows_done) struct pg_rows rows = { 0 };
	AUTO(pg_rows_done) struct pg_rows trees = { 0 };
	struct err e = { 0 };
	int rc = lend(of->f->pool, POOL_READ, g->tenant, &l, &e);

	if (rc == OK && g->machines)
		rc = pg_narrow(l.d, g->machines, &e);
	if (rc == OK)
		rc = pg_ask(l.d,
			"SELECT coalesce(max(tree_size), 0), (SELECT tree_size FROM log) FROM checkpoint",
			NULL, 0, &trees, &e);
	if (rc == OK) /* a span before it may reach behind it */
		rc = pg_ask(l.d,
			"SELECT s.leaf_first + r.lamport - s.lamport_first, " ACT_COLUMNS FROM_SPANS
			" WHERE s.leaf_first >= (SELECT coalesce(max(leaf_first), 0) FROM span WHERE leaf_first <= $1)"
			" AND s.leaf_first + r.lamport - s.lamport_first >= $1 ORDER BY 1 LIMIT $2",
			(struct pg_value[]){ pg_i(&a, g->from), pg_i(&a, ROWS_MOST) }, 2, &rows, &e);
	if (rc)
		return; /* the database is away: next time */
	pthread_mutex_lock(&of->lock);
	for (int i = 0; i < rows.n; i++) {
		const struct json *row = look_row(&a, &rows, i);
		for (struct ear *x = of->first; x; x = x->next)
			if (is_in(g, x) &&
				x->at >= g->from) /* who has come meanwhile and is behind: next time */
				tell(x, pg_int(&rows, i, 0), row);
	}
	for (struct ear *x = of->first; x; x = x->next) {
		if (!is_in(g, x) || x->is_over || x->at < g->from)
			continue;
		/* What others sent is not looked through again. */
		if (rows.n < ROWS_MOST && x->at < pg_int(&trees, 0, 1))
			x->at = pg_int(&trees, 0, 1);
		if (x->checkpoint == pg_int(&trees, 0, 0))
			continue;
		x->checkpoint = pg_int(&trees, 0, 0);
		buf_addf(&x->pending, "event: checkpoint\ndata: {\"tree_size\":%lld}\n\n",
			(long long)x->checkpoint);
	}
	pthread_mutex_unlock(&of->lock);
}

/* Tokens are few, and asked for outside of the lock. */
static void look_at_tokens(struct ears *of)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct json *tokens = json_new(&a, JSON_OBJECT);
	int64_t now = of->f->s->sys->mono_us(of->f->s->sys);

	if (now - of->asked_us < (int64_t)TOKEN_S * 1000000)
		return;
	of->asked_us = now;
	pthread_mutex_lock(&of->lock);
	for (struct ear *x = of->first; x; x = x->next)
		json_setb(&a, tokens, arena_strdup(&a, x->token), true);
	pthread_mutex_unlock(&of->lock);
	json_each_member (m, tokens)
		json_setb(&a, tokens, m->name, reader_still(of->f->s, &a, m->name));
	pthread_mutex_lock(&of->lock);
	for (struct ear *x = of->first; x; x = x->next)
		x->is_over |= !json_get_bool(tokens, x->token, true);
	pthread_mutex_unlock(&of->lock);
}

static bool look_round(void *arg)
{
	enum { GROUPS = 256 }; /* as many as there are streams */
	AUTO(arena_done) struct arena a = { 0 };
	struct ears *of = arg;
	struct group list[GROUPS];
	const int64_t now = of->f->s->sys->now_us(of->f->s->sys);
	size_t n = 0;

	pthread_mutex_lock(&of->lock);
	for (struct ear *x = of->first; x; x = x->next) {
		size_t i = 0;
		x->is_over |= x->until_us && now >= x->until_us;
		if (x->is_over) /* it hears nothing more, and holds nobody back */
			continue;
		while (i < n && !is_in(&list[i], x))
			i++;
		if (i == n && n == GROUPS)
			continue;
		if (i == n)
			list[n++] = (struct group){ x->tenant,
				x->machines ? arena_strdup(&a, x->machines) : NULL, x->at };
		if (x->at < list[i].from)
			list[i].from = x->at;
	}
	bool is_any = of->first != NULL;
	pthread_mutex_unlock(&of->lock);
	for (size_t i = 0; i < n; i++)
		look_for(of, &list[i]);
	if (is_any) {
		look_at_tokens(of);
		listen_wake(of->f->s);
	}
	return false;
}

int look_start(struct fleet *f, struct err *e)
{
	struct ears *of = arena_zalloc(&f->s->a, 1, sizeof(*of));

	of->f = f;
	pthread_mutex_init(&of->lock, NULL);
	of->ticker = ticker_start(LOOK_MS, look_round, of, e);
	f->ears = of;
	return of->ticker ? OK : e->rc;
}

/* Streams end with their connections, which may be after this: the room they leave stays. */
void look_stop(struct fleet *f)
{
	if (f->ears) {
		ticker_stop(f->ears->ticker);
		f->ears->ticker = NULL;
	}
}
