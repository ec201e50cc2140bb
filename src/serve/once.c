/* once.c — Idempotency-Key: the same request of the same caller is carried out once, and answered the same again.
 *
 * Kept in memory, the newest PLACES of them, with at most so many bytes together, for some minutes, and only while policies and what a person said about the place are the same.  What was answered before is found by caller, route and key; another body under the
 * same key is refused.  A server that was started anew knows none: then the request is decided again, and is on record twice. */
#include "base/hash.h"
#include "base/text.h"
#include "decide/engine/engine.h"
#include "serve/serve.h"

#include <stdlib.h>
#include <string.h>

enum { PLACES = 4096, ANSWER_MOST = 64 << 10, KEPT_BYTES = 32 << 20 };
static const int64_t KEPT_US = 10LL * 60 * 1000000;

struct kept {
	struct hash id, body; /* of caller, route and key; of the request */
	bool is_used, is_done;
	int64_t at_us;
	int status;
	char *answer; /* own */
	size_t n;
	const char *type; /* a literal */
};

struct idempotency {
	struct sys *s;
	pthread_mutex_t lock;
	size_t held_bytes; /* of all answers */
	struct kept places[PLACES];
};

static void forget(struct idempotency *o, struct kept *k)
{
	o->held_bytes -= k->answer ? k->n : 0;
	free(k->answer);
	*k = (struct kept){ 0 };
}

struct idempotency *once_new(struct sys *s)
{
	struct idempotency *o = calloc(1, sizeof(*o));

	if (!o)
		mem_exhausted(0);
	o->s = s;
	pthread_mutex_init(&o->lock, NULL);
	return o;
}

void once_free(struct idempotency *o)
{
	for (size_t i = 0; o && i < PLACES; i++)
		free(o->places[i].answer);
	free(o);
}

static void add_text(struct sha256 *h, const char *text)
{
	sha256_add(h, text ? text : "", strlen(text ? text : "") + 1);
}

static struct hash id_of(const struct call *c, const char *key)
{
	struct sha256 h;
	struct hash id;

	sha256_begin(&h);
	add_text(&h, c->who.tenant);
	add_text(&h, c->who.principal);
	add_text(&h, c->route->method);
	add_text(&h, c->path);
	add_text(&h, key);
	/* Another policy may decide otherwise: then it is asked. */
	add_text(&h, c->policy ? ruleset_sha256(c->policy->rules) : NULL);
	add_text(&h, c->k->policy_hash);
	sha256_end(&h, id.b);
	return id;
}

/* Four places that this one may have, so that one collision does not forget another caller's. */
static struct kept *place_of(struct idempotency *o, const struct hash *id, int64_t now_us)
{
	size_t first = (size_t)(id->b[0] | id->b[1] << 8) % PLACES;
	struct kept *oldest = NULL;

	for (size_t i = 0; i < 4; i++) {
		struct kept *k = &o->places[(first + i) % PLACES];
		if (k->is_used && k->is_done && now_us - k->at_us > KEPT_US)
			forget(o, k);
		if (k->is_used && hash_eq(&k->id, id))
			return k;
		/* One that is being answered is not given away. */
		if (!k->is_used || k->is_done)
			if (!oldest || !k->is_used || (oldest->is_used && k->at_us < oldest->at_us))
				oldest = k;
	}
	return oldest;
}

static void free_copy(char **p)
{
	free(*p);
}

enum once once_begin(struct idempotency *o, struct call *c, const char *key)
{
	struct hash id = id_of(c, key), body;
	int64_t now_us = o->s->mono_us(o->s);
	enum once found = ONCE_NEW;
	AUTO(free_copy) char *copy = NULL;
	const char *type = NULL;
	int status = 0;
	size_t n = 0;

	sha256(c->raw.p ? c->raw.p : (const uint8_t *)"", c->raw.n, body.b);
	pthread_mutex_lock(&o->lock);
	struct kept *k = place_of(o, &id, now_us);
	if (!k) {
		found = ONCE_BUSY;
	} else if (!k->is_used || !hash_eq(&k->id, &id)) {
		forget(o, k);
		*k = (struct kept){ .id = id, .body = body, .is_used = true, .at_us = now_us };
	} else if (!hash_eq(&k->body, &body)) {
		found = ONCE_OTHER;
	} else if (!k->is_done) {
		found = ONCE_BUSY;
	} else {
		copy = malloc(k->n + 1);
		found = copy ? ONCE_SAME : ONCE_BUSY;
		n = copy ? k->n : 0;
		if (copy)
			memcpy(copy, k->answer, n);
		type = k->type;
		status = k->status;
	}
	pthread_mutex_unlock(&o->lock);
	/* Memory of a request may run out: not while everybody waits. */
	if (found == ONCE_SAME)
		call_bytes(
			c, status, type, (struct bytes){ (const uint8_t *)arena_strndup(c->a, copy, n), n });
	return found;
}

/* What may come out otherwise the next time is not kept: that it could not be recorded, that there was too much to do, or that there is no answer. */
void once_end(struct idempotency *o, struct call *c, const char *key)
{
	struct hash id = id_of(c, key);
	int64_t now_us = o->s->mono_us(o->s);
	char *copy = c->status && c->status < 500 && c->status != 429 && c->answer.n <= ANSWER_MOST
		? malloc(c->answer.n + 1)
		: NULL;

	pthread_mutex_lock(&o->lock);
	struct kept *k = place_of(o, &id, now_us);
	bool is_mine = k && k->is_used && hash_eq(&k->id, &id);
	if (is_mine && (!copy || o->held_bytes + c->answer.n > KEPT_BYTES)) {
		forget(o, k);
	} else if (is_mine) {
		k->is_done = true;
		k->status = c->status;
		k->type = c->type;
		k->n = c->answer.n;
		memcpy(copy, c->answer.p, c->answer.n);
		k->answer = copy;
		o->held_bytes += k->n;
		copy = NULL;
	}
	pthread_mutex_unlock(&o->lock);
	free(copy);
}
