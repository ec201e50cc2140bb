/* view.c — looking at a ledger over HTTP: by a token of the tenant's, without the database (docs/formats/fleet-wire.md).
 *
 * A token names its tenant and opens nothing else: what is asked runs in a transaction of that tenant, as the role that only reads.  The functions
 * are those of a person at the centre. */
#include "base/hash.h"
#include "base/text.h"
#include "serve/fleet/centre.h"
#include "serve/web.h"

#include <string.h>

enum { QUESTIONS_MOST = 1001 }; /* one more than are shown, so that it is known that there are more */

static const struct {
	const char *name;
	centre_verb *fn;
} views[] = {
	{ "search", centre_search },
	{ "nodes", centre_nodes },
	{ "orders", centre_orders },
	{ "questions", centre_questions },
	{ "taken", centre_taken },
};

/* ---- questions that wait ---- */

/* What was said to it from here so far: of a question that takes several people each signs the same. */
static int add_answers(struct centre *c, struct json *one, struct err *e)
{
	AUTO(pg_rows_done) struct pg_rows rows = { 0 };
	struct json *list = json_new(c->a, JSON_ARRAY), *order;
	int rc = pg_ask(c->d,
		"SELECT body FROM (SELECT seq, body, convert_from(body, 'UTF8')::json AS doc FROM directive WHERE kind = 'grant') x"
		" WHERE doc #>> '{body,approval_id}' = $1 AND doc #>> '{body,session_id}' = $2 ORDER BY seq DESC LIMIT 64",
		(struct pg_value[]){ pg_t(json_get_text(one, "approval_id", "")),
			pg_t(json_get_text(one, "session_id", "")) },
		2, &rows, e);

	for (int i = 0; rc == OK && i < rows.n; i++) {
		rc = json_parse(c->a, pg_bytes(&rows, i, 0), "order", NULL, &order, e);
		if (rc == OK)
			json_push(c->a, list, json_get(order, "body"));
	}
	json_set(c->a, one, "answers", list);
	return rc;
}

int centre_questions(struct centre *c, struct json **ret, struct err *e)
{
	AUTO(pg_rows_done) struct pg_rows rows = { 0 };
	const char *id = json_get_text(c->q, "id", NULL), *node = json_get_text(c->q, "node", NULL);
	int64_t limit = json_get_int(c->q, "limit", QUESTIONS_MOST);
	int rc = centre_open(c, ROLE_READ, e);

	limit = limit < 1 || limit > QUESTIONS_MOST ? QUESTIONS_MOST : limit;
	if (rc == OK) /* orders are read once, and not for each question */
		rc = pg_ask(c->d,
			"WITH d AS MATERIALIZED (SELECT x.doc #>> '{body,approval_id}' AS id, x.doc #>> '{body,session_id}' AS session, max(x.seq) AS seq"
			" FROM (SELECT seq, convert_from(body, 'UTF8')::json AS doc FROM directive WHERE kind IN ('grant', 'deny')) x GROUP BY 1, 2)"
			" SELECT q.approval_id, c.session_id, n.node_id, n.host, n.owner, q.request, q.seen_at::text, extract(epoch FROM q.expires_at - now())::int8, d.seq, count(*) OVER ()"
			" FROM asked q JOIN chain c USING (chain_id) JOIN node n ON n.node_id = c.node_id LEFT JOIN d ON d.id = q.approval_id AND d.session = c.session_id"
			" WHERE NOT EXISTS (SELECT FROM settled s WHERE s.chain_id = q.chain_id AND s.approval_id = q.approval_id)"
			" AND q.expires_at > now() AND ($1::text IS NULL OR q.approval_id = $1) AND ($2::int8 IS NULL OR n.node_id = $2)"
			" ORDER BY q.seen_at, q.approval_id LIMIT $3",
			(struct pg_value[]){ pg_t(id), pg_t(node), pg_i(c->a, limit) }, 3, &rows, e);
	if (rc)
		return rc;
	*ret = json_new(c->a, JSON_ARRAY);
	for (int i = 0; i < rows.n; i++) {
		static const char *const names[] = { "host", "user" };
		struct json *one = json_new(c->a, JSON_OBJECT), *request;
		rc = json_parse(c->a, pg_bytes(&rows, i, 5), "request", NULL, &request, e);
		if (rc)
			return rc;
		json_sets(c->a, one, "approval_id", pg_text(&rows, c->a, i, 0));
		json_sets(c->a, one, "session_id", pg_text(&rows, c->a, i, 1));
		json_sets(c->a, one, "node", arena_printf(c->a, "%lld", (long long)pg_int(&rows, i, 2)));
		for (int k = 0; k < 2; k++)
			json_sets(c->a, one, names[k], pg_text(&rows, c->a, i, 3 + k));
		json_set(c->a, one, "request", request);
		json_sets(c->a, one, "seen_at", pg_text(&rows, c->a, i, 6));
		json_seti(c->a, one, "expires_s", pg_int(&rows, i, 7));
		json_seti(c->a, one, "total", pg_int(&rows, i, 9)); /* of all that wait */
		if (!pg_null(&rows, i, 8))
			json_seti(c->a, one, "order", pg_int(&rows, i, 8));
		if (id && !pg_null(&rows, i, 8))
			rc = add_answers(c, one, e);
		if (rc)
			return rc;
		json_push(c->a, *ret, one);
	}
	return OK;
}

/* ---- the route ---- */

int word_tenant(struct call *c, const char *prefix, const char *word, struct lent *l, struct tenant *ret,
	struct err *e)
{
	const char *dot = word && text_starts(word, prefix) ? strrchr(word, '.') : NULL;

	if (!dot || text_utf8_valid(word, strlen(word)) != strlen(word))
		return err_set(e, E_MISSING, "FLEET_TENANT", "this is no word of ours");
	const char *name = word + strlen(prefix);
	int rc = lend(c->server->fleet->pool, POOL_READ, 0, l, e);
	if (rc == OK)
		rc = tenant_find(l->d, c->a, arena_strndup(c->a, name, (size_t)(dot - name)), NULL, ret, e);
	if (rc)
		return rc;
	pg_rollback(l->d);
	return pg_begin(l->d, ret->id, e);
}

/* The tenant that a token names; whether it opens anything there the database says. */
int reader_find(struct call *c, const char *token, struct lent *l, struct reader *ret, struct err *e)
{
	AUTO(pg_rows_done) struct pg_rows rows = { 0 };
	uint8_t digest[SHA256_SIZE];

	if (!token || !text_starts(token, READER_WORD))
		return call_refuse(
			c, e, 401, "UNAUTHENTICATED", "a token of 'helm fleet reader add' is needed");
	int rc = word_tenant(c, READER_WORD, token, l, &ret->tenant, e);
	sha256(token, strlen(token), digest);
	if (rc == OK)
		rc = pg_ask(l->d,
			"SELECT name, to_char(expires_at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"') FROM reader"
			" WHERE token_sha256 = $1 AND revoked_at IS NULL AND expires_at > now()",
			(struct pg_value[]){ pg_b((struct bytes){ digest, sizeof(digest) }) }, 1, &rows, e);
	if (rc == E_MISSING || (rc == OK && !rows.n))
		return call_refuse(c, e, 401, "UNAUTHENTICATED",
			"this token opens nothing: it is not known, or its time is over");
	if (rc == OK) {
		ret->name = pg_text(&rows, c->a, 0, 0);
		ret->expires_at = pg_text(&rows, c->a, 0, 1);
	}
	return rc;
}

const char *reader_bearer(const struct call *c)
{
	static const char bearer[] = "Bearer ";
	const char *given = call_header(c, "Authorization");

	return given && text_starts(given, bearer) ? given + strlen(bearer) : NULL;
}

int fleet_view(struct call *c, struct err *e)
{
	AUTO(lent_back) struct lent l = { 0 };
	struct centre x = { .sys = c->server->sys, .a = c->a, .q = c->body };
	struct json *doc = json_new(c->a, JSON_OBJECT), *list;
	centre_verb *fn = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(views); i++)
		if (text_eq(views[i].name, c->args[0]))
			fn = views[i].fn;
	struct reader who = { 0 };
	int rc = reader_find(c, reader_bearer(c), &l, &who, e);
	x.tenant = who.tenant;
	if (rc == OK && !fn)
		rc = call_refuse(c, e, 404, "NOT_FOUND", "there is no such view");
	const char *node = json_get_text(c->body, "node", NULL);
	int64_t number;
	if (rc == OK && node && !text_int(node, &number))
		rc = call_refuse(c, e, 400, "BAD_REQUEST", "the number of a machine is no number");
	x.d = l.d;
	if (rc == OK)
		rc = fn(&x, &list, e);
	if (rc)
		return database_refuses(c, e);
	json_set(c->a, doc, "rows", list);
	call_answer(c, 200, doc);
	return OK;
}

int view_ask(struct arena *a, const struct json *q, struct json **ret, struct err *e)
{
	static const char *const ours[] = { "do", "url", "token", "ca", "tenant", "database" };
	static const char local[] = "unix:";
	const char *url = json_get_text(q, "url", "");
	bool is_local = text_starts(url, local);
	struct json *body = json_copy(a, q), *doc;
	struct web_answer answer;
	struct buf text;

	for (size_t i = 0; i < ARRAY_SIZE(ours); i++)
		(void)json_remove(body, ours[i]);
	buf_init(&text, a);
	json_canonical(&text, body);
	const struct web_ask ask = { .method = "POST",
		.socket = is_local ? url + strlen(local) : NULL,
		.url = arena_printf(a, "%s/v1/fleet/view/%s", is_local ? "http://localhost" : url,
			json_get_text(q, "do", "")),
		.ca_file = json_get_text(q, "ca", NULL),
		.token = json_get_text(q, "token", ""),
		.body = buf_bytes(&text),
		.timeout_ms = 60000,
		.most_bytes = 64 << 20 };
	int rc = web_ask(a, &ask, &answer, e);
	if (rc)
		return rc;
	if (json_parse(a, answer.body, "answer", NULL, &doc, NULL) || !json_is(doc, JSON_OBJECT))
		return err_set(e, E_IO, "FLEET_ANSWER", "%s answers %d, and not as a ledger does", url,
			answer.status);
	if (answer.status != 200 || !json_is(json_get(doc, "rows"), JSON_ARRAY))
		return err_set(e, answer.status == 401 ? E_DENIED : E_IO,
			json_get_text(json_get(doc, "error"), "code", "FLEET_ANSWER"),
			"the ledger answers %d: %s", answer.status,
			json_get_text(json_get(doc, "error"), "message", ""));
	*ret = json_get(doc, "rows");
	return OK;
}
