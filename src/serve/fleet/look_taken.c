/* look_taken.c — what leaves by the console of a fleet, packs and exports, is on record first: who, over what, when, and the digest of the bytes.
 *
 * The centre has one chain of its own, the orders: each is the next link, signed by the keeper of the control key, followed by every machine and part of every
 * pack.  So this is an order of the kind `taken`, for no machine.  What cannot be put there is not given. */
#include "base/hash.h"
#include "base/text.h"
#include "serve/fleet/look.h"

#include <string.h>

enum { LISTED = 50, LISTED_MOST = 200, AN_HOUR = 600, OVER_MOST = 2048 };

/* Machines read every order: a reader who takes without end would make them read without end.  Counted on a connection of its own: that of an engineer does
 * not see what is for no machine. */
static int check_often(struct call *c, struct looking *x, const char *by, struct err *e)
{
	AUTO(lent_back) struct lent l = { 0 };
	AUTO(pg_rows_done) struct pg_rows rows = { 0 };

	lent_back(&x->l); /* nothing is read by it any more, and nobody needs two at once */
	int rc = lend(c->server->fleet->pool, POOL_READ, x->who.tenant.id, &l, e);

	if (rc == OK)
		rc = pg_ask(l.d,
			"SELECT count(*) FROM directive WHERE kind = '" ORDER_TAKEN
			"' AND made_by = $1 AND made_at > now() - interval '1 hour'",
			(struct pg_value[]){ pg_t(by) }, 1, &rows, e);

	if (rc == OK && pg_int(&rows, 0, 0) >= AN_HOUR)
		rc = call_refuse(c, e, 429, "TAKEN_TOO_OFTEN",
			"%d packs or pieces of exports were taken by you within an hour; try again later",
			AN_HOUR);
	return rc;
}

int look_record_taken(struct call *c, struct looking *x, struct taken *t, struct err *e)
{
	const char *by = arena_printf(c->a, "reader:%s", x->who.name);
	struct json *body = json_new(c->a, JSON_OBJECT), *nodes = json_new(c->a, JSON_ARRAY), *given;
	struct err why = { 0 };
	struct buf over;
	int rc = check_often(c, x, by, e);

	if (rc)
		return rc;
	/* Every machine reads it. */
	buf_init(&over, c->a);
	json_canonical(&over, t->over);
	if (over.n > OVER_MOST)
		return call_refuse(c, e, 400, "BAD_REQUEST",
			"this filter is too long to be put on record; %d bytes are taken", OVER_MOST);
	json_sets(c->a, body, "what", t->what);
	json_sets(c->a, body, "by", by);
	json_set(c->a, body, "over", t->over);
	json_sets(c->a, body, "sha256",
		arena_printf(c->a, "sha256:%s", sha256_hex(c->a, t->bytes.p, t->bytes.n)));
	json_seti(c->a, body, "bytes", (int64_t)t->bytes.n);
	if (t->rows >= 0)
		json_seti(c->a, body, "rows", t->rows);
	json_pushs(c->a, nodes, ORDER_FOR_NOBODY);
	if (look_order(c, x, ORDER_TAKEN, nodes, body, by, &given, &why)) {
		log_line(c->server, "error", c, "%s for %s is not given: %s", t->what, by, why.text);
		return call_refuse(c, e, 503, "NOT_ON_RECORD",
			"it cannot be put on record now, so it is not given; try again, or look at the signer of the front end");
	}
	call_send_header(
		c, "Helm-Order", arena_printf(c->a, "%lld", (long long)json_get_int(given, "seq", 0)));
	return OK;
}

/* ---- what was taken ---- */

static int add_row(struct centre *c, const struct pg_rows *rows, int i, struct json *to, struct err *e)
{
	static const char *const members[] = { "what", "by", "over", "sha256", "bytes", "rows" };
	struct json *order, *one = json_new(c->a, JSON_OBJECT);
	int rc = json_parse(c->a, pg_bytes(rows, i, 1), "order", NULL, &order, e);

	if (rc)
		return rc;
	json_seti(c->a, one, "order", pg_int(rows, i, 0));
	json_sets(c->a, one, "hash", pg_text(rows, c->a, i, 2));
	json_sets(c->a, one, "at", json_get_text(order, "at", ""));
	for (size_t k = 0; k < ARRAY_SIZE(members); k++)
		if (json_get(json_get(order, "body"), members[k]))
			json_set(c->a, one, members[k], json_get(json_get(order, "body"), members[k]));
	json_push(c->a, to, one);
	return OK;
}

int centre_taken(struct centre *c, struct json **ret, struct err *e)
{
	AUTO(pg_rows_done) struct pg_rows rows = { 0 };
	int64_t before = json_get_int(c->q, "before", INT64_MAX), limit = json_get_int(c->q, "limit", LISTED);
	int rc = centre_open(c, ROLE_READ, e);

	limit = limit < 1 || limit > LISTED_MOST + 1 ? LISTED_MOST + 1 : limit;
	if (rc == OK)
		rc = pg_ask(c->d,
			"SELECT seq, body, encode(hash, 'hex') FROM directive WHERE kind = '" ORDER_TAKEN
			"' AND seq < $1 ORDER BY seq DESC LIMIT $2",
			(struct pg_value[]){ pg_i(c->a, before), pg_i(c->a, limit) }, 2, &rows, e);
	*ret = json_new(c->a, JSON_ARRAY);
	for (int i = 0; rc == OK && i < rows.n; i++)
		rc = add_row(c, &rows, i, *ret, e);
	return rc;
}

static int taken_of(struct call *c, struct looking *x, struct err *e)
{
	struct json *doc = json_new(c->a, JSON_OBJECT), *q = json_new(c->a, JSON_OBJECT), *list;
	int64_t limit, before;
	int rc = call_query_int(c, "limit", LISTED, 1, LISTED_MOST, &limit, e);

	if (rc == OK)
		rc = call_query_int(c, "before", INT64_MAX, 1, INT64_MAX, &before, e);
	if (rc)
		return rc;
	json_seti(c->a, q, "limit", limit + 1);
	json_seti(c->a, q, "before", before);
	struct centre at = looking_centre(c, x, q);
	rc = centre_taken(&at, &list, e);
	if (rc)
		return rc;
	bool has_more = list->n > limit;
	if (has_more)
		list->n = (uint32_t)limit;
	json_set(c->a, doc, "taken", list);
	json_sets(c->a, doc, "next",
		has_more ? arena_printf(c->a, "%lld",
				   (long long)json_get_int(json_at(list, list->n - 1), "order", 0))
			 : NULL);
	call_answer(c, 200, doc);
	return OK;
}

LOOKS(taken)
{
	return look(c, taken_of, e);
}
