/* limit.c — how often somebody may call: a bucket for each address, before anybody knows who it is; and for each caller one for each class of
 * routes, so that nobody uses up what is another's.
 *
 * One table of fixed size, no memory for each request; where two addresses share a place, the newer one takes it over with an empty
 * account of what it used.  Whoever calls from this machine has a hundred times as much: an agent that works asks often.
 * HELM_LIMIT_<CLASS>=RATE[/BURST] changes a class, HELM_LIMIT_IP that of addresses, HELM_LIMIT_NODE that of a machine of a fleet; 0 takes
 * the limit away.  Behind one address of an office there may be a thousand machines of a fleet, each with a key and a bucket of its own. */
#include "base/hash.h"
#include "base/text.h"
#include "serve/serve.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

enum { PLACES = 4096, CALLERS = 1024, LOCAL_FACTOR = 100 };

struct rate {
	int64_t per_s, burst;
};
struct bucket {
	uint64_t whose;
	int64_t at_us; /* when it was looked at */
	int64_t tokens; /* in millionths */
};

struct limiter {
	struct sys *s;
	pthread_mutex_t lock;
	struct rate classes[RATE_COUNT], address, node;
	struct bucket by_class[RATE_COUNT][CALLERS];
	struct bucket by_address[PLACES], by_node[PLACES];
};

static struct rate read_rate(struct sys *s, const char *name, struct rate fallback)
{
	const char *text = s->getenv(s, name), *slash = text ? strchr(text, '/') : NULL;
	char first[32];
	struct rate r;

	if (!text || (slash ? (size_t)(slash - text) : strlen(text)) >= sizeof(first))
		return fallback;
	snprintf(first, sizeof(first), "%.*s", (int)(slash ? slash - text : (int)strlen(text)), text);
	if (!text_int(first, &r.per_s) || r.per_s < 0 || r.per_s > 1000000000)
		return fallback;
	r.burst = 2 * r.per_s;
	if (slash && (!text_int(slash + 1, &r.burst) || r.burst < r.per_s || r.burst > 1000000000))
		return fallback;
	return r;
}

struct limiter *limiter_new(struct sys *s, bool is_fleet)
{
	static const struct rate usual[RATE_COUNT] = { { 120, 240 }, { 60, 120 }, { 40, 80 }, { 20, 40 },
		{ 20, 40 } };
	static const char *const names[RATE_COUNT] = { "HELM_LIMIT_PUBLIC", "HELM_LIMIT_KERNEL",
		"HELM_LIMIT_EVIDENCE", "HELM_LIMIT_ADMIN", "HELM_LIMIT_STREAM" };
	struct limiter *l = calloc(1, sizeof(*l));

	if (!l)
		mem_exhausted(0);
	l->s = s;
	pthread_mutex_init(&l->lock, NULL);
	for (size_t i = 0; i < RATE_COUNT; i++)
		l->classes[i] = read_rate(s, names[i], usual[i]);
	l->address = read_rate(
		s, "HELM_LIMIT_IP", is_fleet ? (struct rate){ 1000, 4000 } : (struct rate){ 60, 120 });
	l->node = read_rate(s, "HELM_LIMIT_NODE", (struct rate){ 20, 60 });
	return l;
}

void limiter_free(struct limiter *l)
{
	free(l);
}

/* Seconds to wait; 0: one was taken. */
static int64_t draw(struct bucket *b, struct rate r, uint64_t whose, int64_t now_us)
{
	const int64_t one = 1000000;

	if (!r.per_s)
		return 0;
	if (b->whose != whose || !b->at_us)
		*b = (struct bucket){ .whose = whose, .at_us = now_us, .tokens = r.burst * one };
	int64_t passed = now_us - b->at_us;
	if (passed > 0) {
		b->tokens = passed > 1000000000 ? r.burst * one : b->tokens + passed * r.per_s;
		if (b->tokens > r.burst * one)
			b->tokens = r.burst * one;
		b->at_us = now_us;
	}
	if (b->tokens < one)
		return 1 + (one - b->tokens) / (r.per_s * one);
	b->tokens -= one;
	return 0;
}

static struct rate for_local(struct rate r, bool is_local)
{
	return is_local ? (struct rate){ r.per_s * LOCAL_FACTOR, r.burst * LOCAL_FACTOR } : r;
}

static uint64_t number_of(const char *who, const char *of)
{
	struct sha256 h;
	uint8_t digest[SHA256_SIZE];
	uint64_t n;

	sha256_begin(&h);
	sha256_add(&h, who, strlen(who) + 1);
	sha256_add(&h, of, strlen(of));
	sha256_end(&h, digest);
	memcpy(&n, digest, sizeof(n));
	return n;
}

static bool is_near(const struct call *c)
{
	return c->peer.is_local || c->peer.is_loopback;
}

/* Whoever has one address of the sixth version has 2^64 of them: the network counts. */
static uint64_t number_of_address(const char *address)
{
	struct in6_addr at;
	char network[2 * sizeof(at) + 1];

	if (!address)
		return number_of("", "");
	if (inet_pton(AF_INET6, address, &at) != 1 || IN6_IS_ADDR_V4MAPPED(&at))
		return number_of(address, "");
	hex_encode(at.s6_addr, sizeof(at) / 2, network);
	return number_of(network, "/64");
}

int64_t limiter_ask_address(struct limiter *l, const struct call *c)
{
	uint64_t whose = number_of_address(c->peer.address);

	pthread_mutex_lock(&l->lock);
	int64_t wait_s = draw(&l->by_address[whose % PLACES], for_local(l->address, is_near(c)), whose,
		l->s->mono_us(l->s));
	pthread_mutex_unlock(&l->lock);
	return wait_s;
}

int64_t limiter_ask_node(struct limiter *l, int64_t tenant, int64_t node)
{
	char who[64], of[32];

	snprintf(who, sizeof(who), "node %lld", (long long)node);
	snprintf(of, sizeof(of), "%lld", (long long)tenant);
	uint64_t whose = number_of(who, of);
	pthread_mutex_lock(&l->lock);
	int64_t wait_s = draw(&l->by_node[whose % PLACES], l->node, whose, l->s->mono_us(l->s));
	pthread_mutex_unlock(&l->lock);
	return wait_s;
}

int64_t limiter_ask_class(struct limiter *l, const struct call *c)
{
	enum rate_class class = c->route ? c->route->rate : RATE_PUBLIC;
	uint64_t whose = c->who.principal
		? number_of(c->who.key_id ? c->who.key_id : c->who.principal, c->who.tenant)
		: ~number_of_address(c->peer.address);

	pthread_mutex_lock(&l->lock);
	int64_t wait_s = draw(&l->by_class[class][whose % CALLERS], for_local(l->classes[class], is_near(c)),
		whose, l->s->mono_us(l->s));
	pthread_mutex_unlock(&l->lock);
	return wait_s;
}

int limited(struct call *c, int64_t wait_s, const char *why, struct err *e)
{
	if (!wait_s)
		return OK;
	call_send_header(c, "Retry-After", arena_printf(c->a, "%lld", (long long)wait_s));
	call_send_header(c, "X-Helm-Limiter-Reason", why);
	return call_refuse(c, e, 429, why, "too many requests; try again after %lld s", (long long)wait_s);
}
