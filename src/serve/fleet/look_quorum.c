/* look_quorum.c — a question that takes several people, at the console of a fleet: who has said yes so far, and what the next one signs.
 *
 * All sign one challenge.  What the machine has counted stands in its newest receipt about the question, signed by it; what was said here since is an order
 * that it has neither confirmed nor refused.  Nothing is collected at the centre: each yes is an order of its own, and the machine counts. */
#include "base/text.h"
#include "kernel/approval/approval.h"
#include "kernel/passkey.h"
#include "serve/fleet/look.h"

#include <string.h>

enum { LOOKED_AT = 64 };

/* The label of a key of the list: by the name under which it stands in records, or by that of a browser. */
static const char *label_of(
	struct arena *a, const struct json *list, const char *key_id, const char *credential)
{
	json_each (row, json_get(list, "keys")) {
		const struct json *p = json_get(row, "passkey");
		const char *hex = json_get_text(row, "public_key_hex", NULL);
		if (p &&
			((*credential && text_eq(json_get_text(p, "credential_id", ""), credential)) ||
				text_eq(passkey_row_id(a, row), key_id)))
			return json_get_text(row, "label", "");
		if (hex && text_starts(key_id, "ed25519:") && text_eq(key_id + strlen("ed25519:"), hex))
			return json_get_text(row, "label", "");
	}
	return "";
}

static void add_yes(struct arena *a, const char *key_id, const char *label, int64_t order, struct several *to)
{
	struct json *one = json_new(a, JSON_OBJECT);

	json_sets(a, one, "key_id", key_id);
	json_sets(a, one, "label", label);
	if (order)
		json_seti(a, one, "order", order);
	json_push(a, to->yes, one);
}

static bool has_said(struct arena *a, const struct several *q, const char *label)
{
	json_each (one, q->yes)
		if (approval_same_person(a, json_get_text(one, "label", ""), label))
			return true;
	return false;
}

/* The newest receipt of the machine about it: {challenge, assertions}, or NULL. */
static int counted(
	struct call *c, struct db *d, const struct several *q, const struct json **ret, struct err *e)
{
	AUTO(pg_rows_done) struct pg_rows rows = { 0 };
	int rc = pg_ask(d,
		"SELECT lamport FROM receipt WHERE chain_id = $1 AND lamport > $2 AND rtype = 'assertion' ORDER BY lamport DESC LIMIT $3",
		(struct pg_value[]){ pg_i(c->a, q->chain_id), pg_i(c->a, q->clock), pg_i(c->a, LOOKED_AT) },
		3, &rows, e);

	*ret = NULL;
	for (int i = 0; rc == OK && i < rows.n; i++) {
		struct bytes line = { 0 };
		struct json *receipt;
		rc = ledger_line(d, c->a, q->chain_id, pg_int(&rows, i, 0), &line, e);
		if (rc == OK)
			rc = json_parse(c->a, line, "receipt", NULL, &receipt, e);
		const struct json *about = rc ? NULL : json_get(receipt, "metadata");
		if (about && text_eq(json_get_text(json_get(about, "assertion"), "approval_id", ""), q->id)) {
			*ret = json_get(about, "quorum");
			return OK;
		}
	}
	return rc == E_MISSING ? OK : rc;
}

/* Said here, and the machine has not said yet what became of it. */
static int on_the_way(
	struct call *c, struct db *d, const struct several *q, struct pg_rows *ret, struct err *e)
{
	return pg_ask(d,
		"SELECT x.seq, x.body FROM (SELECT seq, body, hash, convert_from(body, 'UTF8')::json AS doc FROM directive WHERE kind = 'grant') x"
		" WHERE x.doc #>> '{body,approval_id}' = $1 AND x.doc #>> '{body,session_id}' = $2"
		" AND NOT EXISTS (SELECT FROM receipt r WHERE r.rule LIKE 'order:%' AND r.chain_id = $3 AND"
		" r.rule IN ('order:' || encode(x.hash, 'hex'), 'order:' || encode(x.hash, 'hex') || ':refused')) ORDER BY x.seq LIMIT $4",
		(struct pg_value[]){
			pg_t(q->id), pg_t(q->session), pg_i(c->a, q->chain_id), pg_i(c->a, LOOKED_AT) },
		4, ret, e);
}

/* What the machine has counted counts while its challenge is good; then all begin anew. */
int look_several(struct call *c, struct looking *x, struct several *q, struct err *e)
{
	AUTO(pg_rows_done) struct pg_rows rows = { 0 };
	struct sys *s = c->server->sys;
	const struct json *list, *quorum;
	int rc = looking_approvers(c, x, &list, e);

	if (rc == OK)
		rc = counted(c, x->l.d, q, &quorum, e);
	if (rc == OK)
		rc = on_the_way(c, x->l.d, q, &rows, e);
	if (rc)
		return rc;
	q->yes = json_new(c->a, JSON_ARRAY);
	if (quorum) {
		struct bytes message = approval_quorum_bytes(c->a, json_get(quorum, "challenge"));
		if (approval_quorum_is_live(s, c->a, q->request, message)) {
			q->message = message;
			json_each (one, json_get(quorum, "assertions")) {
				const char *id = json_get_text(one, "key_id", "");
				add_yes(c->a, id, label_of(c->a, list, id, ""), 0, q);
			}
		}
	}
	for (int i = 0; i < rows.n; i++) {
		struct json *order;
		rc = json_parse(c->a, pg_bytes(&rows, i, 1), "order", NULL, &order, e);
		if (rc)
			return rc;
		const struct json *body = json_get(order, "body");
		const char *id = json_get_text(json_get(body, "assertion"), "key_id", ""),
			   *label = label_of(
				   c->a, list, id, json_get_text(json_get(body, "passkey"), "id", ""));
		struct bytes message = bytes_of(json_get_text(body, "message", ""));
		/* Those that the machine will refuse are none. */
		if (!*label || has_said(c->a, q, label) ||
			!approval_quorum_is_live(s, c->a, q->request, message) ||
			(q->message.n && !bytes_eq(q->message, message)))
			continue;
		q->message = message;
		add_yes(c->a, id, label, pg_int(&rows, i, 0), q);
	}
	return OK;
}

int look_several_message(struct call *c, const struct several *q, struct bytes *ret, struct err *e)
{
	*ret = q->message;
	return q->message.n ? OK : approval_quorum_message(c->server->sys, c->a, q->request, ret, e);
}

int look_several_check(
	struct call *c, const struct several *q, struct bytes message, const char *label, struct err *e)
{
	if (has_said(c->a, q, label))
		return call_refuse(c, e, 409, "APPROVAL_TWICE",
			"%s has said yes already; somebody else must, too", label);
	if ((int64_t)q->yes->n >= approval_people(q->request))
		return call_refuse(c, e, 409, "FLEET_QUESTION",
			"enough have said yes; the machine has not confirmed it yet");
	if (!approval_quorum_is_live(c->server->sys, c->a, q->request, message))
		return call_refuse(c, e, 403, "ACT_OTHER",
			"this was signed about another question, or was shown too long ago");
	return q->message.n && !bytes_eq(q->message, message)
		? call_refuse(c, e, 409, "APPROVAL_MESSAGE",
			  "somebody else has said yes since this was shown; look again, and sign anew")
		: OK;
}
