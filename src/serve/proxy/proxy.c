/* proxy.c — from start to end, and the few routes that are no vendor's. */
#include "serve/proxy/parts.h"

#include "base/text.h"
#include "base/url.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { DRAIN_S = 5 };

/* ---- routes ---- */

static int health(struct call *c, struct err *e)
{
	struct json *doc = json_new(c->a, JSON_OBJECT);

	(void)e;
	json_sets(c->a, doc, "status", "ok");
	json_sets(c->a, doc, "version", HELM_VERSION);
	call_answer(c, 200, doc);
	return OK;
}

/* Whoever is on this machine, or has a key. */
static int may_read(struct call *c, struct err *e)
{
	static const char bearer[] = "Bearer ";
	const char *given = call_header(c, "Authorization");
	struct proxy *p = c->server->proxy;

	c->who = (struct who){ p->principal, p->tenant, NULL, SCOPE_READ };
	if (given && text_starts(given, bearer)) {
		int rc = auth_token(c, given + strlen(bearer), e);
		if (rc || c->who.scopes & SCOPE_READ)
			return rc;
	} else if ((c->peer.is_loopback || c->peer.is_local) && !p->needs_token && !is_from_a_page(c)) {
		return OK;
	}
	return call_refuse(c, e, 401, "UNAUTHENTICATED", "a key with the scope read is needed");
}

static int receipts_of(struct call *c, struct receipts_page *page, struct err *e)
{
	struct receipts_filter w;
	int64_t limit, since;
	int rc = may_read(c, e);

	if (rc == OK)
		rc = receipts_read_filter(c, &w, e);
	if (rc == OK)
		rc = call_query_int(c, "limit", 1000, 1, 10000, &limit, e);
	if (rc == OK)
		rc = call_query_int(c, "since", 0, 0, INT64_MAX, &since, e);
	return rc ? rc : receipts_page(c, &w, (uint64_t)since, limit, page, e);
}

static int receipts(struct call *c, struct err *e)
{
	struct receipts_page page;
	struct buf text;
	int rc = receipts_of(c, &page, e);

	if (rc)
		return rc;
	buf_init(&text, c->a);
	json_each (r, page.list) {
		json_write(&text, r, 0);
		buf_addc(&text, '\n');
	}
	call_bytes(c, 200, "application/x-ndjson", buf_bytes(&text));
	return OK;
}

/* Receipts as nodes, each bound to the one before it. */
static int proofgraph(struct call *c, struct err *e)
{
	struct json *doc = json_new(c->a, JSON_OBJECT), *nodes = json_new(c->a, JSON_ARRAY);
	static const char *const members[] = { "receipt_id", "decision_id", "verdict", "reason_code",
		"effect_id", "tool_name", "timestamp", "prev_hash" };
	struct receipts_page page;
	int rc = receipts_of(c, &page, e);

	if (rc)
		return rc;
	json_each (r, page.list) {
		struct json *node = json_new(c->a, JSON_OBJECT);
		for (size_t i = 0; i < ARRAY_SIZE(members); i++)
			json_sets(c->a, node, members[i], json_get_text(r, members[i], ""));
		json_seti(c->a, node, "lamport_clock", json_get_int(r, "lamport_clock", 0));
		json_push(c->a, nodes, node);
	}
	json_set(c->a, doc, "nodes", nodes);
	call_answer(c, 200, doc);
	return OK;
}

static const struct route own[] = {
	{ "GET", "/health", AUTH_PUBLIC, 0, RATE_PUBLIC, 0, health, "is it there", NULL, NULL },
	{ "GET", "/healthz", AUTH_PUBLIC, 0, RATE_PUBLIC, 0, health, "is it there", NULL, NULL },
	{ "GET", "/helm/receipts", AUTH_PUBLIC, 0, RATE_EVIDENCE, 0, receipts, "receipts, one a line", NULL,
		NULL },
	{ "GET", "/helm/proofgraph", AUTH_PUBLIC, 0, RATE_EVIDENCE, 0, proofgraph, "receipts as a graph",
		NULL, NULL },
};
static const struct route vendors = { "*", "/{*path}", AUTH_PUBLIC, 0, RATE_KERNEL, TAKES_BYTES, forward,
	"to the vendor", NULL, NULL };

const struct route *proxy_route(const char *method, const char *path)
{
	for (size_t i = 0; i < ARRAY_SIZE(own); i++)
		if (text_eq(path, own[i].path) && text_eq(method, own[i].method))
			return &own[i];
	return &vendors;
}

/* The same of `helm serve`, for clients that know only one address. */
static int chat(struct call *c, struct err *e)
{
	if (c->server->proxy)
		return forward(c, e);
	return call_refuse(c, e, 501, "NOT_OFFERED",
		"not offered: a model behind this port; HELM_UPSTREAM_URL names one, or use 'helm proxy'");
}

const struct route http_chat_routes[] = {
	{ "POST", "/v1/chat/completions", AUTH_PUBLIC, 0, RATE_KERNEL, TAKES_BYTES, chat,
		"ask a model; its calls of tools are decided (HELM_UPSTREAM_URL)", NULL, NULL },
	{ 0 },
};

/* ---- from start to end ---- */

int proxy_start(struct server *s, const struct json *doc, struct err *e)
{
	struct proxy *p = calloc(1, sizeof(*p));

	if (!p)
		mem_exhausted(0);
	p->s = s;
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->left, NULL);
	s->proxy = p;
	int rc = config_read(p, doc, e);
	if (rc)
		return rc;
	if (!s->policy)
		log_line(s, "warn", NULL,
			"no --policy: unless one is in use here, every call of a tool is denied");
	if (p->is_observing)
		log_line(s, "warn", NULL,
			"observing: what would be refused is passed on, and the record says so");
	for (size_t i = 0; i < p->upstream_n; i++)
		if (!url_is_private(p->upstreams[i].url))
			log_line(s, "warn", NULL,
				"%s: over %s everybody on the way reads what is asked, and the clients' own keys: use https://",
				p->upstreams[i].id, p->upstreams[i].url);
	p->w = worker_new(s);
	rc = web_loop_start(s->sys, &p->loop, e);
	if (rc == OK) {
		web_on_gone(p->loop, tx_gone);
		web_on_round(p->loop, tx_flush_all, p);
	}
	return rc;
}

static void wait_until_left(struct server *s, struct proxy *p)
{
	struct timespec until = { .tv_sec = s->sys->now_us(s->sys) / 1000000 + DRAIN_S };

	pthread_mutex_lock(&p->lock);
	while (p->live && pthread_cond_timedwait(&p->left, &p->lock, &until) != ETIMEDOUT)
		;
	pthread_mutex_unlock(&p->lock);
}

/* What is under way has some seconds to end; then it is cut off, and recorded as that. */
void proxy_quiesce(struct server *s)
{
	struct proxy *p = s->proxy;

	if (!p || !p->loop)
		return;
	wait_until_left(s, p);
	web_post(p->loop, tx_cut_all, p);
	wait_until_left(s, p);
}

void proxy_stop(struct server *s)
{
	if (!s->proxy)
		return;
	web_loop_stop(s->proxy->loop);
	s->proxy->loop = NULL;
	worker_free(s->proxy->w);
	s->proxy->w = NULL;
}
