/* proofgraph.c — receipts by session, and by hash, as the SDKs ask for them. */
#include "base/hash.h"
#include "base/text.h"
#include "proof/preimage.h"
#include "serve/http/http.h"

#include <string.h>

enum { TABLE = 1 << 14, PAGE_MOST = 1000, SESSION_MOST = 1000 };

/* ---- sessions ---- */

struct one_session {
	const char *id, *created_at;
	int64_t receipts, last;
	struct one_session *next_in_place, *next;
};
struct sessions {
	struct arena *a;
	struct receipts_filter mine;
	int64_t length;
	struct one_session *places[TABLE];
	struct one_session *first, **last;
};

static struct one_session *place_of(struct sessions *s, const char *id)
{
	uint8_t digest[SHA256_SIZE];
	struct one_session *x;

	sha256(id, strlen(id), digest);
	struct one_session **place = &s->places[(digest[0] | digest[1] << 8) % TABLE];
	for (x = *place; x; x = x->next_in_place)
		if (text_eq(x->id, id))
			return x;
	x = arena_zalloc(s->a, 1, sizeof(*x));
	x->id = arena_strdup(s->a, id);
	x->next_in_place = *place;
	*place = x;
	*s->last = x;
	s->last = &x->next;
	return x;
}

static int count(void *arg, const char *file, uint64_t line, struct bytes text, const struct json *receipt,
	struct err *e)
{
	struct sessions *s = arg;
	const char *id = receipt ? receipt_session(receipt) : "";

	(void)file;
	(void)line;
	(void)text;
	(void)e;
	if (json_get_int(receipt, "lamport_clock", 0) > s->length)
		return 1;
	if (!*id || !receipts_is_wanted(&s->mine, receipt))
		return 0;
	struct one_session *x = place_of(s, id);
	if (!x->receipts++)
		x->created_at = arena_strdup(s->a, json_get_text(receipt, "timestamp", ""));
	x->last = json_get_int(receipt, "lamport_clock", 0);
	return 0;
}

static int sessions(struct call *c, struct err *e)
{
	struct sessions *s = arena_zalloc(c->a, 1, sizeof(*s));
	struct json *out = json_new(c->a, JSON_ARRAY);
	int64_t limit, offset;
	int rc = call_query_int(c, "limit", 50, 1, PAGE_MOST, &limit, e);

	if (rc == OK)
		rc = call_query_int(c, "offset", 0, 0, INT32_MAX, &offset, e);
	if (rc)
		return rc;
	s->a = c->a;
	s->last = &s->first;
	s->mine = receipts_mine(c);
	s->length = (int64_t)tail_length(c->server->tail);
	rc = receipts_each(c->server->sys, c->server->ws->state_fd, count, s, e);
	if (rc)
		return rc;
	int64_t total = 0;
	for (struct one_session *x = s->first; x; x = x->next) {
		if (total++ < offset || out->n == limit)
			continue;
		struct json *row = json_new(c->a, JSON_OBJECT);
		json_sets(c->a, row, "session_id", x->id);
		json_sets(c->a, row, "created_at", x->created_at);
		json_seti(c->a, row, "receipt_count", x->receipts);
		json_seti(c->a, row, "last_lamport_clock", x->last);
		json_push(c->a, out, row);
	}
	call_send_header(c, "X-Total-Count", arena_printf(c->a, "%lld", (long long)total));
	call_send_header(c, "X-Has-More", offset + out->n < total ? "true" : "false");
	call_answer(c, 200, out);
	return OK;
}

static int of_session(struct call *c, struct err *e)
{
	struct receipts_filter w = receipts_mine(c);
	struct receipts_page page;

	w.session = c->args[0];
	int rc = receipts_page(c, &w, 0, SESSION_MOST, &page, e);

	if (rc)
		return rc;
	if (page.is_more)
		return call_refuse(c, e, 413, "TOO_LARGE",
			"this session has more than %d receipts; page through GET /api/v1/receipts?session_id=",
			SESSION_MOST);
	call_answer(c, 200, page.list);
	return OK;
}

/* ---- by hash ---- */

struct search {
	struct call *c;
	struct receipts_filter mine;
	const char *hash;
	struct json *found;
};

static int look(
	void *arg, const char *file, off_t at, struct bytes text, const struct json *receipt, struct err *e)
{
	struct search *q = arg;
	AUTO(arena_done) struct arena a = { 0 };
	struct hash chain;
	char hex[SHA256_HEX];

	(void)file;
	(void)at;
	(void)text;
	(void)e;
	if (!receipt || receipt_chain_hash(&a, receipt, chain.b, NULL))
		return 0;
	hex_encode(chain.b, SHA256_SIZE, hex);
	if (!text_eq(hex, q->hash) || !receipts_is_wanted(&q->mine, receipt))
		return 0;
	q->found = json_copy(q->c->a, receipt);
	return 1;
}

/* The hash by which the next receipt of the chain names it; an id is understood, too. */
static int by_hash(struct call *c, struct err *e)
{
	const char *hash = text_starts(c->args[0], "sha256:") ? c->args[0] + strlen("sha256:") : c->args[0];
	struct search q = { .c = c, .mine = receipts_mine(c), .hash = hash };
	uint8_t bytes[SHA256_SIZE];
	int rc = OK;

	if (hex_decode(hash, strlen(hash), bytes, sizeof(bytes), true))
		rc = receipts_back(
			c->server->sys, c->server->ws->state_fd, &(struct receipts_wanted){ 0 }, look, &q, e);
	if (rc == OK && !q.found)
		rc = receipts_find(c, c->args[0], &q.found, e);
	if (rc == OK)
		call_answer(c, 200, q.found);
	return rc;
}

const struct route http_proofgraph_routes[] = {
	{ "GET", "/api/v1/proofgraph/sessions", AUTH_TENANT, SCOPE_READ, RATE_EVIDENCE, 0, sessions,
		"sessions on record", NULL, "[]Session" },
	{ "GET", "/api/v1/proofgraph/sessions/{id}/receipts", AUTH_TENANT, SCOPE_READ, RATE_EVIDENCE, 0,
		of_session, "the receipts of one session", NULL, "[]Receipt" },
	{ "GET", "/api/v1/proofgraph/receipts/{hash}", AUTH_TENANT, SCOPE_READ, RATE_EVIDENCE, 0, by_hash,
		"the receipt of this hash", NULL, "Receipt" },
	{ 0 },
};
