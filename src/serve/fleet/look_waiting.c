/* look_waiting.c — what people do in the console of a fleet: answer the question of a machine, freeze machines, let them go on.
 *
 * In two steps, as in a workspace's own console (serve/act.c).  The page gets the bytes that say the act and has the person's passkey sign them; they come back with
 * the signature, and become an order that carries both.  Here it is looked at whether the signature is of somebody whom the tenant's root key names, so that nobody
 * else has the control key sign anything; each machine looks again, by the list that lies there. */
#include "base/text.h"
#include "kernel/approval/approval.h"
#include "kernel/fleet/fleet.h"
#include "kernel/passkey.h"
#include "serve/console.h"
#include "serve/fleet/look.h"
#include "serve/tls.h"

#include <string.h>

enum { ASKED_MOST = 200, ANSWERED_SHOWN = 100, NODES_MOST = 1000 };

/* ---- what waits ---- */

/* The decision as the receipt has it: the page holds the question against its digest. */
static int add_decision(
	struct call *c, struct db *d, int64_t chain_id, int64_t clock, struct json *to, struct err *e)
{
	struct bytes line = { 0 };
	struct json *receipt;
	int rc = ledger_line(d, c->a, chain_id, clock, &line, e);

	if (rc == E_MISSING)
		return OK;
	if (rc == OK)
		rc = json_parse(c->a, line, "receipt", NULL, &receipt, e);
	if (rc)
		return rc;
	json_sets(c->a, to, "decision_id", json_get_text(receipt, "decision_id", ""));
	if (json_get(receipt, "subject"))
		json_set(c->a, to, "decision", json_get(receipt, "subject"));
	return OK;
}

/* Orders are read once, and not for each question. */
static const char open_sql[] =
	"WITH d AS MATERIALIZED (SELECT x.doc #>> '{body,approval_id}' AS id, x.doc #>> '{body,session_id}' AS session, max(x.seq) AS seq, max(x.made_at) AS at,"
	" max(x.seq) FILTER (WHERE x.kind = 'deny') AS no FROM (SELECT seq, kind, made_at, convert_from(body, 'UTF8')::json AS doc FROM directive WHERE kind IN ('grant', 'deny')) x GROUP BY 1, 2)"
	" SELECT q.request, c.session_id, n.node_id::text, n.host, n.owner, q.chain_id, q.lamport, d.seq, d.no, count(*) OVER ()"
	" FROM asked q JOIN chain c USING (chain_id) JOIN node n ON n.node_id = c.node_id"
	" LEFT JOIN d ON d.id = q.approval_id AND d.session = c.session_id AND d.at >= q.seen_at"
	" WHERE NOT EXISTS (SELECT FROM settled s WHERE s.chain_id = q.chain_id AND s.approval_id = q.approval_id) AND q.expires_at > now()"
	" AND ($1::text IS NULL OR q.approval_id = $1) AND ($2::int8 IS NULL OR n.node_id = $2) ORDER BY q.seen_at LIMIT $3";

/* Of what takes several people one order is not the answer: who has said yes so far stands beside it. */
static int add_people(struct call *c, struct looking *x, const struct pg_rows *rows, int i, struct json *one,
	struct several *q, struct err *e)
{
	*q = (struct several){ .request = json_get(one, "request"),
		.id = json_get_text(json_get(one, "request"), "approval_id", ""),
		.session = json_get_text(one, "session_id", ""),
		.chain_id = pg_int(rows, i, 5),
		.clock = pg_int(rows, i, 6) };
	int rc = look_several(c, x, q, e);

	if (rc == OK)
		json_set(c->a, one, "said_yes", q->yes);
	return rc;
}

static int question(struct call *c, struct looking *x, const struct pg_rows *rows, int i, struct json **ret,
	struct several *ret_several, struct err *e)
{
	struct json *one = json_new(c->a, JSON_OBJECT), *request;
	int rc = json_parse(c->a, pg_bytes(rows, i, 0), "request", NULL, &request, e);

	if (rc)
		return rc;
	json_set(c->a, one, "request", request);
	json_sets(c->a, one, "state", "pending");
	json_sets(c->a, one, "session_id", pg_text(rows, c->a, i, 1));
	json_sets(c->a, one, "node", pg_text(rows, c->a, i, 2));
	json_sets(c->a, one, "host", pg_text(rows, c->a, i, 3));
	json_sets(c->a, one, "user", pg_text(rows, c->a, i, 4));
	const int order = approval_people(request) > 1 ? 8 : 7;
	if (!pg_null(rows, i, order))
		json_seti(c->a, one, "order", pg_int(rows, i, order));
	*ret = one;
	if (approval_people(request) > 1)
		rc = add_people(c, x, rows, i, one, ret_several, e);
	return rc ? rc : add_decision(c, x->l.d, pg_int(rows, i, 5), pg_int(rows, i, 6), one, e);
}

static int answered(struct call *c, struct db *d, struct json *to, struct err *e)
{
	AUTO(pg_rows_done) struct pg_rows rows = { 0 };
	int rc = pg_ask(d,
		"SELECT q.request, n.host, n.owner, n.node_id::text, r.rtype, to_char(coalesce(r.at, q.expires_at) AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"'),"
		" r.decision_id, r.principal FROM asked q JOIN chain c USING (chain_id) JOIN node n ON n.node_id = c.node_id"
		" LEFT JOIN settled s ON s.chain_id = q.chain_id AND s.approval_id = q.approval_id LEFT JOIN receipt r ON r.chain_id = s.chain_id AND r.lamport = s.lamport"
		" WHERE s.lamport IS NOT NULL OR q.expires_at <= now() ORDER BY coalesce(r.at, q.expires_at) DESC LIMIT $1",
		(struct pg_value[]){ pg_i(c->a, ANSWERED_SHOWN + 1) }, 1, &rows, e);

	for (int i = 0; rc == OK && i < rows.n && i < ANSWERED_SHOWN; i++) {
		struct json *one = json_new(c->a, JSON_OBJECT), *request;
		const char *type = pg_text(&rows, c->a, i, 4);
		rc = json_parse(c->a, pg_bytes(&rows, i, 0), "request", NULL, &request, e);
		if (rc)
			return rc;
		json_set(c->a, one, "request", request);
		json_sets(c->a, one, "host", pg_text(&rows, c->a, i, 1));
		json_sets(c->a, one, "user", pg_text(&rows, c->a, i, 2));
		json_sets(c->a, one, "node", pg_text(&rows, c->a, i, 3));
		json_sets(c->a, one, "state",
			text_eq(type, "grant")		  ? "approved"
				: text_eq(type, "denial") ? "denied"
				: *type			  ? "answered"
							  : "expired");
		json_sets(c->a, one, "resolved_at", pg_text(&rows, c->a, i, 5));
		json_sets(c->a, one, "decision_id", pg_text(&rows, c->a, i, 6));
		json_sets(c->a, one, "responder", pg_text(&rows, c->a, i, 7));
		json_push(c->a, to, one);
	}
	return rc ? rc : rows.n > ANSWERED_SHOWN;
}

static int waiting_of(struct call *c, struct looking *x, struct err *e)
{
	AUTO(pg_rows_done) struct pg_rows rows = { 0 };
	struct json *doc = json_new(c->a, JSON_OBJECT), *open = json_new(c->a, JSON_ARRAY),
		    *past = json_new(c->a, JSON_ARRAY), *one;
	struct several several;
	int rc = pg_ask(x->l.d, open_sql,
		(struct pg_value[]){ pg_t(NULL), pg_t(NULL), pg_i(c->a, ASKED_MOST + 1) }, 3, &rows, e);

	for (int i = 0; rc == OK && i < rows.n && i < ASKED_MOST; i++) {
		rc = question(c, x, &rows, i, &one, &several, e);
		if (rc == OK)
			json_push(c->a, open, one);
	}
	if (rc == OK)
		rc = answered(c, x->l.d, past, e);
	if (rc < 0)
		return rc;
	json_set(c->a, doc, "waiting", open);
	json_seti(c->a, doc, "shown", open->n);
	json_seti(c->a, doc, "total", rows.n ? pg_int(&rows, 0, 9) : 0);
	json_setb(c->a, doc, "is_cut", rows.n > ASKED_MOST);
	json_set(c->a, doc, "answered", past);
	json_setb(c->a, doc, "more", rc > 0);
	call_answer(c, 200, doc);
	return OK;
}

LOOKS(waiting)
{
	return look(c, waiting_of, e);
}

/* ---- signing ---- */

/* The passkeys of the list that this origin's pages can use; *ret_list NULL: there is no list. */
static int answer_message(struct call *c, struct looking *x, struct bytes message, struct err *e)
{
	struct json *doc = json_new(c->a, JSON_OBJECT), *ids = json_new(c->a, JSON_ARRAY);
	const char *rp_id = console_rp_id(c);
	const struct json *list;
	int rc = looking_approvers(c, x, &list, e);

	if (rc)
		return rc;
	json_each (row, json_get(list, "keys")) {
		const struct json *p = json_get(row, "passkey");
		if (p && rp_id && text_eq(json_get_text(p, "rp_id", ""), rp_id))
			json_pushs(c->a, ids, json_get_text(p, "credential_id", ""));
	}
	json_sets(c->a, doc, "message", arena_strndup(c->a, (const char *)message.p, message.n));
	json_sets(c->a, doc, "rp_id", rp_id);
	json_set(c->a, doc, "credentials", ids);
	call_answer(c, 200, doc);
	return OK;
}

static int refused(struct call *c, struct err *e)
{
	bool is_theirs = e->rc == E_DENIED || e->rc == E_INPUT || e->rc == E_MISSING;

	return is_theirs ? call_refuse(c, e, e->rc == E_MISSING ? 404 : 403, arena_strdup(c->a, e->code),
				   "%s", arena_strdup(c->a, e->text))
			 : e->rc;
}

/* Somebody of the list has signed it, at this console. */
static int signer_of(
	struct call *c, struct looking *x, struct bytes message, struct person *ret, struct err *e)
{
	const struct json *list;
	int rc = looking_approvers(c, x, &list, e);

	if (rc)
		return rc;
	if (!list)
		return call_refuse(c, e, 403, "FLEET_APPROVERS",
			"no list of approvers that the root key has signed was given to the machines yet");
	if (passkey_in_rows(
		    c->a, json_get(list, "keys"), message, json_get(c->body, "assertion"), tls_es256, ret, e))
		return refused(c, e);
	if (!text_eq(json_get_text(ret->proof, "origin", ""), console_origin(c)))
		return call_refuse(c, e, 403, "WEBAUTHN_ORIGIN", "this key signs at another address");
	return OK;
}

/* What machines read of it, and nothing else: an order stays for ever, and what a browser adds would, too. */
static struct json *assertion_of(struct call *c)
{
	static const char *const parts[] = { "id", "authenticator_data", "client_data_json", "signature" };
	struct json *x = json_new(c->a, JSON_OBJECT);

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		json_sets(c->a, x, parts[i], json_get_text(json_get(c->body, "assertion"), parts[i], ""));
	return x;
}

/* {message, passkey}, for the machines. */
static struct json *signed_of(struct call *c, struct bytes message)
{
	struct json *doc = json_new(c->a, JSON_OBJECT);

	json_sets(c->a, doc, "message", arena_strndup(c->a, (const char *)message.p, message.n));
	json_set(c->a, doc, "passkey", assertion_of(c));
	return doc;
}

int look_order(struct call *c, struct looking *x, const char *kind, const struct json *nodes,
	struct json *body, const char *by, struct json **ret, struct err *e)
{
	struct json *q = json_new(c->a, JSON_OBJECT);
	struct fleet *f = c->server->fleet;

	lent_back(&x->l); /* nothing is read by it any more, and nobody needs two at once */
	json_sets(c->a, q, "signer", json_get_text(c->server->o.fleet, "signer", ""));
	json_sets(c->a, q, "kind", kind);
	json_set(c->a, q, "nodes", json_copy(c->a, nodes));
	json_set(c->a, q, "body", body);
	json_sets(c->a, q, "by", by);
	struct centre at = { .sys = c->server->sys, .a = c->a, .q = q, .tenant = x->who.tenant };
	int rc = pg_open_patient(f->conninfo, ROLE_CONSOLE, c->server->sys, DATABASE_S, &at.d, e);
	if (rc == OK)
		rc = pg_begin(at.d, x->who.tenant.id, e);
	if (rc == OK)
		rc = centre_order(&at, ret, e);
	pg_close(&at.d);
	log_line_close(&at.signer);
	if (rc == OK)
		log_line(c->server, "info", c, "order %lld, %s, by %s",
			(long long)json_get_int(*ret, "seq", 0), kind, by);
	return rc;
}

static int give_order(struct call *c, struct looking *x, const char *kind, const struct json *nodes,
	struct json *body, const struct person *who, struct err *e)
{
	struct json *given, *doc = json_new(c->a, JSON_OBJECT);
	int rc = look_order(c, x, kind, nodes, body,
		arena_printf(c->a, "%s, %s", json_get_text(who->proof, "label", ""),
			json_get_text(who->proof, "key_id", "")),
		&given, e);

	if (rc)
		return rc;
	json_seti(c->a, doc, "order", json_get_int(given, "seq", 0));
	json_sets(c->a, doc, "hash", json_get_text(given, "hash", ""));
	call_answer(c, 200, doc);
	return OK;
}

/* ---- answering ---- */

/* The question with this id that waits, of the machine that the body names where several have it.  `ret_several` is for one that takes several people. */
static int find_question(
	struct call *c, struct looking *x, struct json **ret, struct several *ret_several, struct err *e)
{
	AUTO(pg_rows_done) struct pg_rows rows = { 0 };
	const char *node = json_get_text(c->body, "node", NULL);
	int64_t number = 0;

	if (node && !text_int(node, &number))
		return call_refuse(c, e, 400, "BAD_REQUEST", "the number of a machine is no number");
	int rc = pg_ask(x->l.d, open_sql, (struct pg_value[]){ pg_t(c->args[0]), pg_t(node), pg_i(c->a, 2) },
		3, &rows, e);
	if (rc)
		return rc;
	if (rows.n != 1)
		return call_refuse(c, e, rows.n ? 409 : 404, "FLEET_QUESTION",
			rows.n ? "several machines ask this: say which one"
			       : "this question does not wait any more");
	return question(c, x, &rows, 0, ret, ret_several, e);
}

static struct json *nodes_of(struct call *c, const struct json *one)
{
	struct json *nodes = json_new(c->a, JSON_ARRAY);

	json_pushs(c->a, nodes, json_get_text(one, "node", ""));
	return nodes;
}

static int denial(struct call *c, struct looking *x, const struct json *one, struct bytes *ret, struct err *e)
{
	const char *reason = console_reason(c->body);
	struct json *act;

	if (!reason)
		return call_refuse(
			c, e, 400, "BAD_REQUEST", "a reason has at most %d bytes", CONSOLE_REASON_MOST);
	int rc = console_new_act(c, "deny", "origin", x->who.tenant.origin, &act, e);
	if (rc)
		return rc;
	json_set(c->a, act, "nodes", nodes_of(c, one));
	json_sets(c->a, act, "approval_id", c->args[0]);
	json_sets(c->a, act, "session_id", json_get_text(one, "session_id", ""));
	json_sets(c->a, act, "request_sha256", json_sha256(c->a, json_get(one, "request")));
	json_sets(c->a, act, "reason", reason);
	*ret = passkey_message(c->a, act);
	return OK;
}

static int answer_message_of(struct call *c, struct looking *x, struct err *e)
{
	struct approval_terms terms;
	struct json *one;
	struct bytes text;
	bool denies = text_eq(json_get_text(c->body, "answer", ""), "deny"), several = false;
	struct several q;
	int rc = find_question(c, x, &one, &q, e);

	if (rc == OK)
		several = !denies && approval_people(json_get(one, "request")) > 1;
	if (rc == OK && denies)
		rc = denial(c, x, one, &text, e);
	else if (rc == OK && several && look_several_message(c, &q, &text, e))
		rc = refused(c, e);
	else if (rc == OK && !several)
		rc = console_read_terms(c, json_get(one, "request"), &terms, e);
	if (rc == OK && !denies && !several &&
		approval_message_for(c->server->sys, c->a, json_get(one, "request"), &terms,
			SIGNED_WITH_PASSKEY, &text, e))
		rc = refused(c, e);
	return rc ? rc : answer_message(c, x, text, e);
}

LOOKS(answer_message)
{
	return look(c, answer_message_of, e);
}

static struct json *body_of(struct call *c, const struct json *one)
{
	struct json *body = json_new(c->a, JSON_OBJECT);

	json_sets(c->a, body, "approval_id", c->args[0]);
	json_sets(c->a, body, "session_id", json_get_text(one, "session_id", ""));
	return body;
}

static int deny(struct call *c, struct looking *x, const struct json *one, struct err *e)
{
	struct json *act, *body = body_of(c, one);
	struct bytes text;
	struct person who;
	int rc = console_read_act(c, "deny", "origin", x->who.tenant.origin, &text, &act, e);

	if (rc == OK &&
		(!text_eq(json_get_text(act, "approval_id", ""), c->args[0]) ||
			!text_eq(
				json_get_text(act, "session_id", ""), json_get_text(one, "session_id", "")) ||
			!text_eq(json_get_text(act, "request_sha256", ""),
				json_sha256(c->a, json_get(one, "request")))))
		rc = call_refuse(c, e, 403, "ACT_OTHER", "this was signed about another question");
	if (rc == OK)
		rc = signer_of(c, x, text, &who, e);
	if (rc)
		return rc;
	json_sets(c->a, body, "reason", json_get_text(act, "reason", ""));
	json_set(c->a, body, "signed", signed_of(c, text));
	return give_order(c, x, "deny", nodes_of(c, one), body, &who, e);
}

/* The yes of one person.  By signature first: whoever is in nobody's list is told nothing about others. */
static int give_yes(struct call *c, struct looking *x, const struct json *one, const struct several *q,
	struct bytes message, struct err *e)
{
	struct json *body = body_of(c, one);
	struct person who;
	int rc = signer_of(c, x, message, &who, e);

	if (rc == OK && q)
		rc = look_several_check(c, q, message, json_get_text(who.proof, "label", ""), e);
	if (rc)
		return rc;
	json_sets(c->a, body, "message", arena_strndup(c->a, (const char *)message.p, message.n));
	json_set(c->a, body, "passkey", assertion_of(c));
	return give_order(c, x, "grant", nodes_of(c, one), body, &who, e);
}

static int answer_of(struct call *c, struct looking *x, struct err *e)
{
	const char *message = json_get_text(c->body, "message", "");
	const struct bytes text = bytes_of(message);
	struct json *one;
	struct several q;
	struct grant said;
	int rc = find_question(c, x, &one, &q, e);

	if (rc)
		return rc;
	if (text_starts(message, PASSKEY_ACT_DOMAIN))
		return deny(c, x, one, e);
	if (approval_people(json_get(one, "request")) > 1)
		return give_yes(c, x, one, &q, text, e);
	if (approval_message_read(c->a, text, &said, e))
		return refused(c, e);
	if (!text_eq(said.request_id ? said.request_id : "", c->args[0]))
		return call_refuse(c, e, 403, "ACT_OTHER", "this was signed about another question");
	if (json_get_int(one, "order", 0))
		return call_refuse(c, e, 409, "FLEET_QUESTION",
			"order %lld answers it already; the machine has not said so yet",
			(long long)json_get_int(one, "order", 0));
	return give_yes(c, x, one, NULL, text, e);
}

LOOKS(answer)
{
	return look(c, answer_of, e);
}

/* ---- stopping ---- */

static int freeze_of(struct call *c, struct looking *x, struct err *e)
{
	struct json *doc = json_new(c->a, JSON_OBJECT), *nodes, *orders, *frozen = json_new(c->a, JSON_ARRAY),
		    *given = json_new(c->a, JSON_ARRAY);
	struct centre at = looking_centre(c, x, c->body);
	int rc = centre_nodes(&at, &nodes, e);

	if (rc == OK)
		rc = centre_orders(&at, &orders, e);
	if (rc)
		return rc;
	json_each (one, nodes)
		if (json_get(one, "frozen"))
			json_push(c->a, frozen, one);
	json_each (one, orders)
		if (text_eq(json_get_text(one, "kind", ""), "freeze") ||
			text_eq(json_get_text(one, "kind", ""), "unfreeze"))
			json_push(c->a, given, one);
	json_set(c->a, doc, "frozen", frozen);
	json_set(c->a, doc, "machines", nodes);
	json_set(c->a, doc, "orders", given);
	call_answer(c, 200, doc);
	return OK;
}

LOOKS(freeze)
{
	return look(c, freeze_of, e);
}

/* Numbers of machines that this tenant has; an empty list is all of them. */
static int check_nodes(struct call *c, struct looking *x, const struct json *nodes, struct err *e)
{
	if (!json_is(nodes, JSON_ARRAY) || nodes->n > NODES_MOST)
		return call_refuse(c, e, 400, "BAD_REQUEST", "nodes is a list of at most %d numbers as texts",
			NODES_MOST);
	json_each (one, nodes) {
		AUTO(pg_rows_done) struct pg_rows rows = { 0 };
		int64_t number;
		if (!json_text(one) || !text_int(json_text(one), &number))
			return call_refuse(c, e, 400, "BAD_REQUEST", "the number of a machine is no number");
		int rc = pg_ask(x->l.d, "SELECT 1 FROM node WHERE node_id = $1",
			(struct pg_value[]){ pg_i(c->a, number) }, 1, &rows, e);
		if (rc == OK && !rows.n)
			return call_refuse(c, e, 404, "NOT_FOUND", "there is no such machine in this fleet");
		if (rc)
			return rc;
	}
	return OK;
}

static bool is_verb(const char *text)
{
	return text_eq(text, "freeze") || text_eq(text, "unfreeze");
}

static int freeze_message_of(struct call *c, struct looking *x, struct err *e)
{
	const char *verb = json_get_text(c->body, "act", ""), *reason = console_reason(c->body);
	struct json *act;

	if (!is_verb(verb))
		return call_refuse(c, e, 400, "BAD_REQUEST", "act is freeze or unfreeze");
	if (!reason)
		return call_refuse(
			c, e, 400, "BAD_REQUEST", "a reason has at most %d bytes", CONSOLE_REASON_MOST);
	int rc = check_nodes(c, x, json_get(c->body, "nodes"), e);
	if (rc == OK)
		rc = console_new_act(c, verb, "origin", x->who.tenant.origin, &act, e);
	if (rc)
		return rc;
	json_set(c->a, act, "nodes", json_copy(c->a, json_get(c->body, "nodes")));
	json_sets(c->a, act, "reason", reason);
	return answer_message(c, x, passkey_message(c->a, act), e);
}

LOOKS(freeze_message)
{
	return look(c, freeze_message_of, e);
}

static int freeze_order_of(struct call *c, struct looking *x, struct err *e)
{
	bool lifts = strstr(json_get_text(c->body, "message", ""), "\"act\":\"unfreeze\"") != NULL;
	const char *verb = lifts ? "unfreeze" : "freeze";
	struct json *act, *body = json_new(c->a, JSON_OBJECT);
	struct bytes text;
	struct person who;
	int rc = console_read_act(c, verb, "origin", x->who.tenant.origin, &text, &act, e);

	if (rc == OK)
		rc = check_nodes(c, x, json_get(act, "nodes"), e);
	if (rc == OK)
		rc = signer_of(c, x, text, &who, e);
	if (rc)
		return rc;
	json_sets(c->a, body, "reason", json_get_text(act, "reason", ""));
	json_set(c->a, body, "signed", signed_of(c, text));
	return give_order(c, x, verb, json_get(act, "nodes"), body, &who, e);
}

LOOKS(freeze_order)
{
	return look(c, freeze_order_of, e);
}
