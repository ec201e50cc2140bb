/* ship_run.c — joining, one round, and rounds without end. */
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "kernel/fleet/fleet.h"
#include "kernel/workspace.h"
#include "record/record.h"
#include "serve/fleet/fleet.h"
#include "serve/fleet/ship.h"
#include "serve/fleet/ticker.h"
#include "serve/serve.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>

enum { BEAT_MS = 30000, SETTLE_MS = 200, FIRST_WAIT_MS = 1000, LONGEST_WAIT_MS = 300000, POLL_MS = 35000 };
/* While there is more to send than one round takes: how often this machine is heard and hears meanwhile, and how long it waits when it is asked to slow down. */
enum { BEHIND_BEAT_MS = 5000, SLOWED_MS = 500 };
/* 'helm fleet sync' ends before whoever has started it gives it up (cmd_fleet.c). */
enum { SYNC_MS = 240000 };

/* A random part of the whole, so that a thousand machines do not come back at once. */
static int64_t jittered(struct sys *s, int64_t ms)
{
	uint32_t r = 0;

	(void)s->random(s, &r, sizeof(r));
	return 1 + (int64_t)((uint64_t)r * (uint64_t)ms >> 32);
}

/* ---- opening ---- */

static void done(struct shipper *h)
{
	key_free(&h->key);
}

static int open_shipper(struct sys *s, struct arena *a, struct shipper *ret, struct err *e)
{
	*ret = (struct shipper){ .sys = s, .a = a };
	int rc = workspace_helm_home(s, a, &ret->helm_home, e);

	if (rc == OK)
		rc = fleet_joined(s, a, ret->helm_home, &ret->joined, e);
	if (rc == OK)
		rc = fleet_state(s, a, ret->helm_home, &ret->state, e);
	if (rc == OK)
		rc = keys_load(s, AT_FDCWD, arena_printf(a, "%s/keys", ret->helm_home), &ret->key, e);
	if (rc == OK)
		ret->ahead_s = json_get_int(ret->state, "clock_ahead_s", 0);
	return rc;
}

static int need_joined(const struct shipper *h, struct err *e)
{
	return h->joined ? OK
			 : err_set(e, E_MISSING, "FLEET_NOT_JOINED",
				   "this user has joined no fleet: helm fleet join URL --token-file FILE");
}

/* One of them at a time: two would only hinder each other. */
static int lock(struct shipper *h, int *ret_fd, struct err *e)
{
	const char *dir = arena_printf(h->a, "%s/" FLEET_DIR, h->helm_home);
	int rc = file_mkdirs(h->sys, AT_FDCWD, dir, 0700, e);

	if (rc == OK)
		rc = file_lock(h->sys, AT_FDCWD, arena_printf(h->a, "%s/lock", dir), 60000, ret_fd, e);
	return rc;
}

/* ---- joining ---- */

static int read_token(struct shipper *h, const char *token, struct json **ret, struct err *e)
{
	static const char mark[] = "hft_";
	struct bytes text;

	if (!text_starts(token, mark) ||
		!base64_decode(
			h->a, token + strlen(mark), strlen(token + strlen(mark)), BASE64_URL, false, &text) ||
		json_parse(h->a, text, "token", NULL, ret, NULL) ||
		!text_eq(json_get_text(*ret, "version", ""), "helm-fleet-token/1"))
		return err_set(e, E_INPUT, "FLEET_TOKEN",
			"this is no token of a fleet: 'helm fleet token' at the centre makes one");
	return OK;
}

static int read_history(struct shipper *h, struct json **ret, struct err *e)
{
	struct bytes text;
	int rc = file_read(h->sys, h->a, AT_FDCWD, arena_printf(h->a, "%s/keys/" KEY_HISTORY, h->helm_home),
		1 << 20, 0, &text, e);

	if (rc)
		return rc;
	*ret = json_new(h->a, JSON_ARRAY);
	while (rc == OK && text.n) {
		struct json *link;
		struct bytes line = text_cut(&text, '\n');
		if (!text.p)
			break; /* torn: never acknowledged */
		rc = json_parse(h->a, line, KEY_HISTORY, NULL, &link, e);
		if (rc == OK)
			json_push(h->a, *ret, link);
	}
	return rc;
}

/* The history as it is now; with a secret the first time. */
static int introduce(struct shipper *h, const char *secret, struct reply *r, struct err *e)
{
	struct json *doc = json_new(h->a, JSON_OBJECT), *history;
	struct buf text;
	int rc = read_history(h, &history, e);

	if (rc)
		return rc;
	json_sets(h->a, doc, "version", FLEET_JOIN_V1);
	json_sets(h->a, doc, "token", secret);
	json_set(h->a, doc, "history", history);
	buf_init(&text, h->a);
	json_canonical(&text, doc);
	rc = ship_ask(h, "POST", "/v1/fleet/join", buf_bytes(&text), NULL, 30000, r, e);
	if (rc == OK && r->status != 200)
		rc = err_set(e, r->status >= 500 ? E_IO : E_DENIED, *r->code ? r->code : "FLEET_JOIN", "%s",
			r->text);
	if (rc == OK)
		json_seti(h->a, h->state, "links", history->n);
	return rc;
}

static void add_workspace(struct shipper *h, const char *root)
{
	struct json *list = json_get(h->joined, "workspaces");

	if (!list) {
		list = json_new(h->a, JSON_ARRAY);
		json_set(h->a, h->joined, "workspaces", list);
	}
	json_each (one, list)
		if (text_eq(json_text(one), root))
			return;
	json_pushs(h->a, list, root);
}

static int join_new(struct shipper *h, const struct json *q, struct json **ret, struct err *e)
{
	static const char *const pinned[] = { "origin", "log_vkey", "control_vkey" };
	struct json *token;
	struct reply r = { 0 };
	int rc = read_token(h, json_get_text(q, "token", ""), &token, e);

	if (rc)
		return rc;
	h->joined = json_new(h->a, JSON_OBJECT);
	json_sets(h->a, h->joined, "version", "helm-fleet-joined/1");
	for (size_t i = 0; i < ARRAY_SIZE(pinned); i++)
		json_sets(h->a, h->joined, pinned[i], json_get_text(token, pinned[i], ""));
	const char *root = json_get_text(token, "root_key", NULL), *wanted = json_get_text(q, "root", NULL);
	if (wanted && !text_eq(root ? root : "", wanted))
		return err_set(e, E_DENIED, "FLEET_ROOT",
			"the token names %s as the root key of this fleet, and not the one that was given",
			root ? root : "none");
	if (wanted) /* whoever makes tokens could name any key: only what a person said counts */
		json_sets(h->a, h->joined, "root_key", wanted);
	json_sets(h->a, h->joined, "url", json_get_text(q, "url", ""));
	if (json_get_text(q, "ca", NULL))
		json_sets(h->a, h->joined, "ca", json_get_text(q, "ca", ""));
	json_sets(h->a, h->joined, "ship", json_get_text(q, "ship", "receipts"));
	rc = introduce(h, json_get_text(token, "secret", ""), &r, e);
	if (rc)
		return rc;
	if (!text_eq(json_get_text(r.doc, "origin", ""), json_get_text(token, "origin", "?")))
		return err_set(e, E_DENIED, "FLEET_JOIN",
			"the server answers for another origin than the token names");
	json_sets(h->a, h->joined, "node", json_get_text(r.doc, "node", ""));
	json_sets(h->a, h->joined, "tenant", json_get_text(r.doc, "tenant", ""));
	json_sets(h->a, h->joined, "at", text_time_z(h->a, h->sys->now_us(h->sys)));
	*ret = r.doc;
	return OK;
}

static int join(struct shipper *h, const struct json *q, struct json **ret, struct err *e)
{
	AUTO(close_fd) int held = -1;
	int rc = lock(h, &held, e);

	if (rc == OK && !h->joined)
		rc = join_new(h, q, ret, e);
	else if (rc == OK && json_get_text(q, "token", NULL))
		rc = err_set(e, E_INPUT, "FLEET_JOINED",
			"this user has joined %s already; 'helm fleet leave' first, or without a token to add this workspace",
			json_get_text(h->joined, "origin", ""));
	if (rc)
		return rc;
	add_workspace(h, json_get_text(q, "workspace", ""));
	rc = fleet_state_save(h->sys, h->a, h->helm_home, h->state, e);
	if (rc == OK)
		rc = fleet_join_save(h->sys, h->a, h->helm_home, h->joined, e);
	*ret = h->joined;
	return rc;
}

/* ---- one round ---- */

/* A further key of this line is told before anything that it signed is sent. */
static int tell_keys(struct shipper *h, struct err *e)
{
	struct json *history;
	struct reply r;
	int rc = read_history(h, &history, e);

	return rc || json_get_int(h->state, "links", 0) == (int64_t)history->n ? rc : introduce(h, "", &r, e);
}

static int note_in(struct shipper *h, const char *root, struct err *e)
{
	AUTO(fleet_close) struct workspace *ws = NULL;
	AUTO(kernel_close) struct kernel k = { 0 };
	int rc = workspace_open(h->sys, h->a, root, 0, &ws, e);

	if (rc == OK)
		rc = kernel_open(h->sys, h->a, ws, &k, e);
	return rc ? rc : fleet_note_checkpoint(&k, h->a, h->joined, h->state, "day", e);
}

/* A chain that was set back must not go on by our doing. */
static bool is_stopped(const struct shipper *h, const char *root)
{
	json_each_member (m, json_get(h->state, "chains"))
		if (json_get(m->value, "stopped") && text_eq(json_get_text(m->value, "workspace", ""), root))
			return true;
	return false;
}

/* In the first workspace that is there. */
static int note_daily(struct shipper *h, struct err *e)
{
	int64_t today = h->sys->now_us(h->sys) / 86400000000LL;
	int rc = OK;

	if (!json_get_text(h->state, "checkpoint", NULL) || json_get_int(h->state, "noted_day", 0) == today ||
		json_get(h->state, "alarm"))
		return OK;
	json_each (root, json_get(h->joined, "workspaces")) {
		if (is_stopped(h, json_text(root)))
			return OK;
		rc = note_in(h, json_text(root), e);
		if (rc == OK)
			json_seti(h->a, h->state, "noted_day", today);
		if (rc != E_MISSING)
			return rc;
	}
	return OK;
}

static int ship_all(struct shipper *h, int64_t *ret_sent, struct err *e)
{
	int rc = OK;

	json_each (root, json_get(h->joined, "workspaces")) {
		AUTO(local_close) struct local_chain c = { 0 };
		struct err why = { 0 };
		if (local_open(h, json_text(root), &c, &why)) {
			struct json *st = ship_chain_state(h, json_text(root));
			ship_stop(h, st, why.code, why.text);
			continue;
		}
		int one = ship_chain(h, &c, ret_sent, &why);
		if (one && rc == OK) {
			rc = one;
			*e = why;
		}
	}
	return rc;
}

/* The state here may have been set back together with the chain: the ledger knows. */
static void look_at_standing(struct shipper *h, const struct json *chains)
{
	json_each_member (m, chains) {
		struct json *st = ship_chain_state(h, m->name);
		int64_t head = json_get_int(m->value, "head", 0), ours = json_get_int(st, "head", 0);
		if (head > ours && !json_get(st, "stopped"))
			ship_set_back(h, st, head, ours);
	}
}

/* What was found goes with the next sign of life; at once, where it is not what was told before. */
static int check_log(struct shipper *h, const char *checkpoint, struct err *e)
{
	struct json *heard;
	const char *before = json_get_text(json_get(h->state, "checked"), "result", "");
	int rc = ship_check_log(h, checkpoint, e);

	return rc || text_eq(before, json_get_text(json_get(h->state, "checked"), "result", ""))
		? rc
		: ship_beat(h, &heard, e);
}

static int hear(struct shipper *h, struct err *e)
{
	struct json *news;
	int rc = ship_beat(h, &news, e);

	if (rc || !news)
		return rc;
	json_sets(h->a, h->state, "contact", text_time_z(h->a, h->sys->now_us(h->sys)));
	(void)json_remove(h->state, "away");
	look_at_standing(h, json_get(news, "chains"));
	if (json_get_text(news, "checkpoint", NULL))
		rc = check_log(h, json_get_text(news, "checkpoint", ""), e);
	if (rc == OK)
		rc = ship_orders(h, json_get_int(news, "order", 0), e);
	/* Whoever is not believed renews nothing.  Without a word about a lease the file stays: the state may have been lost. */
	bool has_shown = json_get(news, "checkpoint") || !json_get(h->state, "checkpoint");
	if (rc == OK && has_shown && json_get(h->state, "lease") && !json_get(h->state, "alarm") &&
		!h->has_orders)
		rc = fleet_lease_renew(h->sys, h->a, h->helm_home, json_get_int(h->state, "lease", 0), e);
	return rc ? rc : note_daily(h, e);
}

/* One after the other they send everything, however much it is: each ends after some batches, has an arena of its own, and leaves on disk how far
 * it came. */
struct rounds {
	struct sys *sys;
	int64_t beat_us; /* when the ledger is to be told that we are there, and asked for orders; 0: in the next round */
	int64_t sent; /* in all rounds */
	bool is_behind, is_slowed; /* as the last one has found it */
	bool is_heard; /* and said with its end that this is all */
};

/* A ledger that answers and takes no batch is heard all the same: it may have an order. */
static int send_and_hear(struct shipper *h, struct rounds *x, bool is_due, struct err *e)
{
	struct err unheard = { 0 };
	bool is_first = is_due && x->is_behind;
	int rc = is_first ? hear(h, e) : OK;

	if (rc == OK && !json_get(h->state, "stopped"))
		rc = ship_all(h, &x->sent, e);
	if (!is_due || is_first || json_get(h->state, "stopped") || h->is_slowed)
		return rc;
	if (rc) {
		if (text_eq(e->code, "FLEET_BUSY"))
			(void)hear(h, &unheard);
		return rc;
	}
	rc = hear(h, e);
	/* What came of an order is sent, too. */
	if (rc == OK && !h->is_behind && !json_get(h->state, "stopped"))
		rc = ship_all(h, &x->sent, e);
	x->is_heard = rc == OK && !h->is_behind && !h->has_orders;
	return rc;
}

static int work_round(struct shipper *h, struct rounds *x, bool is_due, struct err *e)
{
	AUTO(close_fd) int held = -1;
	struct err e2 = { 0 };
	int rc = lock(h, &held, e);

	if (rc)
		return rc;
	(void)json_remove(h->state, "stopped"); /* it is asked again: a person may have seen to it */
	h->until_us = h->sys->mono_us(h->sys) + ROUND_MS * 1000LL;
	rc = tell_keys(h, e);
	if (rc == E_DENIED) {
		ship_stop(h, h->state, e->code, e->text);
		rc = OK;
	}
	if (rc == OK)
		rc = send_and_hear(h, x, is_due, e);
	if (rc) {
		struct json *away = json_new(h->a, JSON_OBJECT);
		json_sets(h->a, away, "why", e->text);
		json_sets(h->a, away, "at", text_time_z(h->a, h->sys->now_us(h->sys)));
		json_set(h->a, h->state, "away", away);
	}
	int kept = fleet_state_save(h->sys, h->a, h->helm_home, h->state, rc ? &e2 : e);
	return rc ? rc : kept;
}

/* Send, say that we are there, hear, and send what came of that; as much as one round may. */
static int one_round(struct rounds *x, struct shipper *h, struct err *e)
{
	struct sys *s = x->sys;
	int64_t now = s->mono_us(s);
	bool is_due = now >= x->beat_us, was_behind = x->is_behind;

	x->is_heard = false;
	int rc = work_round(h, x, is_due, e);
	x->is_behind = rc == OK && h->is_behind;
	x->is_slowed = rc == OK && h->is_slowed;
	/* At once: for the next orders, to say that all of it is there now, or because the ledger had no room for it. */
	if (rc || h->has_orders || (was_behind && !x->is_behind) || (h->is_slowed && !was_behind))
		x->beat_us = 0;
	else if (is_due)
		x->beat_us = now +
			(x->is_behind ? BEHIND_BEAT_MS : BEAT_MS - BEAT_MS / 10 + jittered(s, BEAT_MS / 5)) *
				1000LL;
	return rc;
}

static int sync_round(struct rounds *x, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	AUTO(done) struct shipper h = { 0 };
	int rc = open_shipper(x->sys, &a, &h, e);

	if (rc == OK)
		rc = need_joined(&h, e);
	return rc ? rc : one_round(x, &h, e);
}

/* Round after round until everything is there and every order is heard, or its time is over: `behind` says which. */
static int sync_all(struct shipper *h, const struct json *q, struct json **ret, struct err *e)
{
	struct rounds x = { .sys = h->sys };
	const int64_t until_us = h->sys->mono_us(h->sys) + SYNC_MS * 1000LL;
	int rc = need_joined(h, e);

	(void)q;
	while (rc == OK && !x.is_heard && h->sys->mono_us(h->sys) < until_us) {
		if (x.is_slowed)
			h->sys->sleep_us(h->sys, SLOWED_MS * 1000LL);
		rc = sync_round(&x, e);
		if (rc == OK && !x.is_behind && x.beat_us)
			break; /* nothing more is taken of this machine: the state says why */
	}
	if (rc == OK)
		rc = fleet_state(h->sys, h->a, h->helm_home, &h->state, e);
	if (rc)
		return rc;
	*ret = json_copy(h->a, h->state);
	json_seti(h->a, *ret, "sent", x.sent);
	json_setb(h->a, *ret, "behind", x.is_behind);
	json_sets(h->a, *ret, "origin", json_get_text(h->joined, "origin", ""));
	return OK;
}

static int rejoin(struct shipper *h, const struct json *q, struct json **ret, struct err *e)
{
	AUTO(close_fd) int held = -1;
	AUTO(local_close) struct local_chain c = { 0 };
	struct reply r;
	int rc = need_joined(h, e);

	if (rc == OK)
		rc = lock(h, &held, e);
	if (rc == OK)
		rc = local_open(h, json_get_text(q, "workspace", ""), &c, e);
	if (rc == OK && !c.session)
		rc = err_set(e, E_MISSING, "FLEET_CHAIN", "nothing is recorded in this workspace yet");
	if (rc == OK)
		rc = ship_ask(h, "POST", arena_printf(h->a, "/v1/fleet/chains/%s/rejoin", c.session),
			BYTES_LITERAL("{}"), NULL, 30000, &r, e);
	if (rc == OK && r.status != 200)
		rc = err_set(e, E_DENIED, *r.code ? r.code : "FLEET_REJOIN", "%s", r.text);
	if (rc)
		return rc;
	struct json *chains = json_get(h->state, "chains");
	(void)json_remove(chains, c.session);
	*ret = r.doc;
	return fleet_state_save(h->sys, h->a, h->helm_home, h->state, e);
}

/* ---- rounds without end ---- */

/* Whether there is an order is waited for beside the rest: a thread that only asks and wakes. */
struct listening {
	struct sys *sys;
	int wake;
	int is_over; /* atomic */
};

static bool listen_once(void *arg)
{
	struct listening *l = arg;
	AUTO(arena_done) struct arena a = { 0 };
	AUTO(done) struct shipper h = { 0 };
	struct reply r = { 0 };
	struct err e = { 0 };
	const uint64_t one = 1;

	if (open_shipper(l->sys, &a, &h, &e) || !h.joined)
		return false;
	int rc = ship_ask(&h, "GET",
		arena_printf(&a, "/v1/fleet/orders/%lld", (long long)json_get_int(h.state, "order", 0)),
		(struct bytes){ 0 }, NULL, POLL_MS, &r, &e);
	const struct json *list = rc == OK && r.status == 200 ? json_get(r.doc, "orders") : NULL;
	if (list && list->n) {
		(void)!h.sys->write(h.sys, l->wake, &one, sizeof(one));
		return false;
	}
	return list != NULL;
}

struct running {
	struct sys *sys;
	int inotify, wake, signals;
	int64_t wait_ms;
	struct rounds rounds;
};

/* Where nothing was recorded yet there is no log to look at: then for its coming. */
static void watch(struct running *x, const struct shipper *h)
{
	json_each (root, json_get(h->joined, "workspaces"))
		if (inotify_add_watch(x->inotify, arena_printf(h->a, "%s/.helm/" LOG_DIR, json_text(root)),
			    IN_MODIFY | IN_CLOSE_WRITE | IN_CREATE) < 0)
			(void)inotify_add_watch(x->inotify, arena_printf(h->a, "%s/.helm", json_text(root)),
				IN_CREATE | IN_MOVED_TO | IN_ONESHOT);
}

/* false: told to end. */
static bool wait_for_news(struct running *x, int64_t ms)
{
	char events[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
	struct pollfd fds[] = { { .fd = x->signals, .events = POLLIN }, { .fd = x->wake, .events = POLLIN },
		{ .fd = x->inotify, .events = POLLIN } };

	if (poll(fds, ARRAY_SIZE(fds), (int)ms) <= 0)
		return true;
	if (fds[0].revents)
		return false;
	if (fds[1].revents) {
		uint64_t n;
		(void)!x->sys->read(x->sys, x->wake, &n, sizeof(n));
		x->rounds.beat_us = 0;
	}
	if (fds[2].revents) {
		/* What follows at once goes with it. */
		struct pollfd stop = { .fd = x->signals, .events = POLLIN };
		if (poll(&stop, 1, x->rounds.is_behind ? 0 : SETTLE_MS) > 0)
			return false;
		(void)!x->sys->read(x->sys, x->inotify, events, sizeof(events));
	}
	return true;
}

/* true: go on. */
static bool round_and_wait(struct running *x)
{
	AUTO(arena_done) struct arena a = { 0 };
	AUTO(done) struct shipper h = { 0 };
	struct err e = { 0 };
	int rc = open_shipper(x->sys, &a, &h, &e);

	if (rc == OK && !h.joined)
		return false; /* it was left */
	if (rc == OK)
		watch(x, &h);
	if (rc == OK)
		rc = one_round(&x->rounds, &h, &e);
	if (rc) {
		int64_t wait = jittered(x->sys, x->wait_ms);
		fprintf(stderr, "helm: %s; again in %lld ms\n", e.text, (long long)wait);
		x->wait_ms = x->wait_ms * 2 > LONGEST_WAIT_MS ? LONGEST_WAIT_MS : x->wait_ms * 2;
		x->rounds.beat_us = 0;
		struct pollfd stop = { .fd = x->signals, .events = POLLIN };
		return poll(&stop, 1, (int)wait) <= 0;
	}
	x->wait_ms = FIRST_WAIT_MS;
	int64_t until_beat = (x->rounds.beat_us - x->sys->mono_us(x->sys)) / 1000;
	if (x->rounds.is_behind)
		until_beat = x->rounds.is_slowed ? SLOWED_MS : 0;
	return wait_for_news(x, until_beat < 0 ? 0 : until_beat);
}

static int run(struct shipper *h, const struct json *q, struct json **ret, struct err *e)
{
	sigset_t mine;
	struct running x = { .sys = h->sys, .wait_ms = FIRST_WAIT_MS, .rounds = { .sys = h->sys } };
	int rc = need_joined(h, e);

	(void)q;
	if (rc)
		return rc;
	sigemptyset(&mine);
	sigaddset(&mine, SIGTERM);
	sigaddset(&mine, SIGINT);
	sigaddset(&mine, SIGHUP);
	x.signals = signalfd(-1, &mine, SFD_CLOEXEC);
	x.wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	x.inotify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	struct listening l = { .sys = h->sys, .wake = x.wake };
	struct ticker *t = ticker_start(1000, listen_once, &l, e);
	if (!t)
		return e->rc;
	while (round_and_wait(&x))
		;
	/* The thread may wait for an answer for half a minute: nothing is lost when it is cut off. */
	*ret = json_new(h->a, JSON_OBJECT);
	json_setb(h->a, *ret, "ended", true);
	return OK;
}

int ship_do(struct sys *s, struct arena *a, const struct json *q, struct json **ret, struct err *e)
{
	static const struct {
		const char *name;
		int (*fn)(struct shipper *h, const struct json *q, struct json **ret, struct err *e);
	} verbs[] = { { "join", join }, { "sync", sync_all }, { "run", run }, { "rejoin", rejoin } };
	AUTO(done) struct shipper h = { 0 };
	int rc = open_shipper(s, a, &h, e);

	for (size_t i = 0; rc == OK && i < ARRAY_SIZE(verbs); i++)
		if (text_eq(verbs[i].name, json_get_text(q, "do", "")))
			return verbs[i].fn(&h, q, ret, e);
	return rc ? rc : err_set(e, E_USAGE, "USAGE", "helm-serve is started by 'helm fleet'");
}
