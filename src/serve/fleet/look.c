/* look.c — the console of a fleet: who looks, and its routes.
 *
 * People come in with a passkey (people.c); a program has a token of `helm fleet reader add`.  A browser that has a token gets a session, too: the token itself, in
 * two halves that say nothing alone, one in a cookie that no script reads and one in the storage of this origin, which no other port gets.  What a token or a
 * session opens, and until when, is asked of the database each time, at whichever front end.
 *
 * What an engineer sees is decided in one place: look() hands a view a connection that sees their machines and nothing else, by the rules of the database. */
#include "serve/fleet/look.h"
#include "base/hash.h"
#include "base/text.h"
#include "kernel/fleet/fleet.h"
#include "serve/console.h"

#include <stdlib.h>
#include <string.h>

enum { LASTS_S = 8 * 3600, TOKEN_MOST = 256, TAG = 32 };
static const int64_t SECOND_US = 1000000;

/* ---- a session in two halves ---- */

/* So that eight hours are eight hours also for whoever keeps both halves; the token alone makes another one. */
static const char *tag_of(struct arena *a, const char *token, int64_t until_s)
{
	const char *text = arena_printf(a, "helm:fleet-session:v1\n%s\n%lld", token, (long long)until_s);

	return arena_printf(a, "%.*s", TAG, sha256_hex(a, text, strlen(text)));
}

static bool halves(struct arena *a, struct bytes x, struct bytes y, char **ret)
{
	if (x.n != y.n || !x.n || x.n > TOKEN_MOST)
		return false;
	*ret = arena_text(a, x.n + 1);
	for (size_t i = 0; i < x.n; i++)
		(*ret)[i] = (char)(x.p[i] ^ y.p[i]);
	(*ret)[x.n] = '\0';
	return true;
}

/* "HALF.UNTIL.TAG". */
static const char *session_token(struct call *c, int64_t *ret_until_us)
{
	const char *cookie = console_cookie(c), *page = call_header(c, "X-Helm-Page");
	const char *dot = cookie ? strchr(cookie, '.') : NULL, *last = dot ? strchr(dot + 1, '.') : NULL;
	struct bytes x, y;
	int64_t until_s;
	char *token;

	if (!page || !last || !text_int(arena_strndup(c->a, dot + 1, (size_t)(last - dot - 1)), &until_s) ||
		until_s < 0 || until_s > INT64_MAX / SECOND_US ||
		until_s * SECOND_US <= c->server->sys->now_us(c->server->sys) ||
		!base64_decode(c->a, cookie, (size_t)(dot - cookie), BASE64_URL, false, &x) ||
		!base64_decode(c->a, page, strlen(page), BASE64_URL, false, &y) ||
		!halves(c->a, x, y, &token) || !text_eq(last + 1, tag_of(c->a, token, until_s)))
		return NULL;
	*ret_until_us = until_s * SECOND_US;
	return token;
}

static int token_refused(struct call *c, int rc, struct err *e)
{
	return rc && c->status == 401
		? call_refuse(c, e, 401, READER_WANTED, "%s", arena_strdup(c->a, e->text))
		: rc;
}

static int enter(struct call *c, struct err *e)
{
	AUTO(looking_done) struct looking x = { 0 };
	const char *token = json_get_text(c->body, "token", "");
	struct json *doc = json_new(c->a, JSON_OBJECT);
	size_t n = strlen(token);
	uint8_t pad[TOKEN_MOST];
	char *other;
	int rc = console_check_browser(c, e);

	if (rc == OK && (!n || n > TOKEN_MOST))
		rc = call_refuse(c, e, 401, READER_WANTED, "this is no token of 'helm fleet reader add'");
	if (rc == OK)
		rc = token_refused(c, reader_find(c, token, &x.l, &x.who, e), e);
	if (rc)
		return database_refuses(c, e);
	if (c->server->sys->random(c->server->sys, pad, n))
		return err_sys(e, "RANDOM", "the system gives no random bytes");
	if (!halves(c->a, bytes_of(token), (struct bytes){ pad, n }, &other))
		return err_set(e, E_INPUT, "BAD_REQUEST", "this is no token");
	int64_t until_s = c->server->sys->now_us(c->server->sys) / SECOND_US + LASTS_S;
	console_set_cookie(c,
		arena_printf(c->a, "%s.%lld.%s",
			base64_encode(c->a, (const uint8_t *)other, n, BASE64_URL, false), (long long)until_s,
			tag_of(c->a, token, until_s)),
		LASTS_S);
	json_sets(c->a, doc, "page", base64_encode(c->a, pad, n, BASE64_URL, false));
	call_answer(c, 200, doc);
	return OK;
}

static int leave(struct call *c, struct err *e)
{
	int rc = console_check_browser(c, e);

	if (rc == OK && session_cookie(c))
		rc = session_leave(c, session_cookie(c), e);
	if (rc)
		return database_refuses(c, e);
	console_set_cookie(c, "", 0);
	call_answer(c, 200, json_new(c->a, JSON_OBJECT));
	return OK;
}

/* ---- who looks ---- */

void looking_done(struct looking *x)
{
	lent_back(&x->l);
}

const char *looking_token(struct call *c)
{
	int64_t until_us = 0;
	const char *bearer = reader_bearer(c), *cookie = session_cookie(c);

	return bearer ? bearer : cookie ? cookie : session_token(c, &until_us);
}

int looking_begin(struct call *c, struct looking *ret, struct err *e)
{
	const char *token = reader_bearer(c);

	if (!token) {
		int rc = console_check_browser(c, e);
		if (rc)
			return rc;
		if (session_cookie(c))
			return session_begin(c, session_cookie(c), ret, e);
		token = session_token(c, &ret->until_us);
		if (!token)
			return call_refuse(c, e, 401, READER_WANTED,
				"a registered key opens this console, or a reader's token");
	}
	return token_refused(c, reader_find(c, token, &ret->l, &ret->who, e), e);
}

bool reader_still(struct server *s, struct arena *a, const char *token)
{
	AUTO(lent_back) struct lent l = { 0 };
	struct call c = { .server = s, .a = a };
	struct reader who;
	struct err e = { 0 };
	int rc = text_starts(token, SESSION_WORD) ? session_still(&c, token, &e)
						  : reader_find(&c, token, &l, &who, &e);

	/* What the database does not say now it says later. */
	return rc == OK || c.status != 401;
}

struct centre looking_centre(struct call *c, struct looking *x, const struct json *q)
{
	return (struct centre){ .sys = c->server->sys,
		.a = c->a,
		.q = q,
		.d = x->l.d,
		.tenant = x->who.tenant,
		.is_part = x->who.machines != NULL };
}

/* Is this number one of "{1,2}"? */
static bool is_among(struct arena *a, const char *machines, const char *number)
{
	return strstr(arena_printf(a, ",%.*s,", (int)strcspn(machines + 1, "}"), machines + 1),
		       arena_printf(a, ",%s,", number)) != NULL;
}

/* The database shows an engineer nothing of others anyway; here they are told why, and whether there is such a machine is not said. */
static int check_part(struct call *c, const struct reader *who, struct err *e)
{
	static const char one[] = "/machines/{id}";
	const char *node = json_get_text(c->body, "node", NULL);

	if (!node || !*node)
		node = call_query(c, "node");
	if (c->route && strlen(c->route->path) > strlen(one) &&
		text_eq(c->route->path + strlen(c->route->path) - strlen(one), one))
		node = c->args[0];
	if (c->route && c->route->flags & ALL_MACHINES)
		return call_refuse(c, e, 403, "ENGINEER",
			"this is about all machines of the fleet, and %s sees some of them; an auditor's key opens it",
			who->name);
	if (node && *node && !is_among(c->a, who->machines, node))
		return call_refuse(c, e, 403, "ENGINEER",
			"this machine is not one of those that %s sees; at the centre: helm fleet reader set %s --machines LIST",
			who->name, who->name);
	return OK;
}

int look(struct call *c, look_view *fn, struct err *e)
{
	AUTO(looking_done) struct looking x = { 0 };
	int rc = looking_begin(c, &x, e);

	if (rc == OK && x.who.machines)
		rc = check_part(c, &x.who, e);
	if (rc == OK)
		rc = fn(c, &x, e);
	if (rc && x.who.machines && text_eq(e->code, "DB_REFUSED")) {
		log_line(c->server, "error", c, "%s: %s", e->code, e->text);
		return call_refuse(c, e, 403, "ENGINEER", "this is not for who sees some machines");
	}
	return rc ? database_refuses(c, e) : OK;
}

/* The one with the highest number, as machines take it: one that was given again later does not bring back who has left. */
int looking_approvers(struct call *c, struct looking *x, const struct json **ret, struct err *e)
{
	enum { LISTS = 50 };
	AUTO(pg_rows_done) struct pg_rows rows = { 0 };
	int64_t highest = 0;
	int rc = pg_ask(x->l.d,
		"SELECT body FROM directive WHERE kind = 'approvers' ORDER BY seq DESC LIMIT $1",
		(struct pg_value[]){ pg_i(c->a, LISTS) }, 1, &rows, e);

	*ret = NULL;
	for (int i = 0; rc == OK && i < rows.n; i++) {
		struct json *order;
		rc = json_parse(c->a, pg_bytes(&rows, i, 0), "order", NULL, &order, e);
		if (rc)
			return rc;
		const struct json *list = json_get(json_get(order, "body"), "list");
		int64_t serial = json_get_int(list, "serial", 0);
		if (serial > highest &&
			fleet_approvers_check(
				c->a, x->who.tenant.root_key, x->who.tenant.origin, list, NULL) == OK) {
			highest = serial;
			*ret = fleet_approvers_readable(c->a, list, NULL);
		}
	}
	return rc;
}

/* ---- me ---- */

static int me_of(struct call *c, struct looking *x, struct err *e)
{
	AUTO(pg_rows_done) struct pg_rows rows = { 0 };
	struct json *doc = json_new(c->a, JSON_OBJECT);
	const struct json *list;
	const char *rp_id = console_rp_id(c);
	int64_t keys = 0;
	int rc = looking_approvers(c, x, &list, e);

	if (rc == OK)
		rc = pg_ask(x->l.d, "SELECT tree_size FROM log", NULL, 0, &rows, e);
	if (rc)
		return rc;
	json_each (row, json_get(list, "keys"))
		keys += rp_id && text_eq(json_get_text(json_get(row, "passkey"), "rp_id", ""), rp_id);
	json_sets(c->a, doc, "kind", "fleet");
	json_sets(c->a, doc, "principal", arena_printf(c->a, "reader:%s", x->who.name));
	json_sets(c->a, doc, "reader", x->who.name);
	json_sets(c->a, doc, "role", x->who.machines ? "engineer" : "auditor");
	json_sets(c->a, doc, "key_id", x->who.key_id);
	json_setb(c->a, doc, "has_keys", keys > 0);
	json_setb(c->a, doc, "has_root", x->who.tenant.root_key != NULL);
	json_setb(c->a, doc, "has_fleet", true);
	json_sets(c->a, doc, "tenant", x->who.tenant.name);
	json_sets(c->a, doc, "log_origin", x->who.tenant.origin);
	json_sets(c->a, doc, "log_vkey", x->who.tenant.log_vkey);
	json_sets(c->a, doc, "expires_at", x->until_us ? text_time_z(c->a, x->until_us) : x->who.expires_at);
	json_sets(c->a, doc, "token_ends_at", x->who.expires_at);
	json_sets(c->a, doc, "origin", console_origin(c));
	json_sets(c->a, doc, "rp_id", rp_id);
	json_seti(c->a, doc, "length", rows.n ? pg_int(&rows, 0, 0) : 0);
	json_sets(c->a, doc, "version", HELM_VERSION);
	call_answer(c, 200, doc);
	return OK;
}

static int me(struct call *c, struct err *e)
{
	return look(c, me_of, e);
}

enum { HERE = NO_KERNEL };
#define READ AUTH_READER, 0, RATE_KERNEL
#define API "/api/v1/console/"
const struct route fleet_look_routes[] = {
	{ "POST", API "enter", AUTH_PUBLIC, 0, RATE_PUBLIC, HERE | TAKES_JSON, enter,
		"a session for a reader's token", NULL, NULL },
	{ "POST", API "challenge", AUTH_PUBLIC, 0, RATE_PUBLIC, HERE | TAKES_JSON | BODY_OPTIONAL,
		people_challenge, "what a key is to sign to come in", NULL, NULL },
	{ "POST", API "login", AUTH_PUBLIC, 0, RATE_PUBLIC, HERE | TAKES_JSON, people_login,
		"come in with a registered key", NULL, NULL },
	{ "POST", API "register/begin", AUTH_PUBLIC, 0, RATE_PUBLIC, HERE | TAKES_JSON, people_register_begin,
		"begin to register a key, by invitation", NULL, NULL },
	{ "POST", API "register", AUTH_PUBLIC, 0, RATE_PUBLIC, HERE | TAKES_JSON, people_register,
		"register the key that was made", NULL, NULL },
	{ "POST", API "leave", AUTH_PUBLIC, 0, RATE_PUBLIC, HERE | TAKES_JSON | BODY_OPTIONAL, leave,
		"end it", NULL, NULL },
	{ "GET", API "me", READ, HERE, me, "who looks, and at which tenant", NULL, NULL },
	{ "GET", API "now", READ, HERE, look_now, "what is stopped, waits or is not right", NULL, NULL },
	{ "GET", API "waiting", READ, HERE, look_waiting, "questions of all machines", NULL, NULL },
	{ "POST", API "waiting/{id}/message", READ, HERE | TAKES_JSON, look_answer_message,
		"the bytes that a passkey signs to answer one", NULL, NULL },
	{ "POST", API "waiting/{id}/answer", READ, HERE | TAKES_JSON, look_answer,
		"an answer that a passkey has signed becomes an order", NULL, NULL },
	{ "GET", API "machines", READ, HERE, look_machines, "every machine and how it stands", NULL, NULL },
	{ "GET", API "machines/{id}", READ, HERE, look_machine, "one machine", NULL, NULL },
	{ "GET", API "acts", READ, HERE, look_acts, "acts of all machines, searched and paged", NULL, NULL },
	{ "GET", API "acts/values", READ, HERE, look_values, "what can be chosen for a filter", NULL, NULL },
	{ "GET", API "acts/export", READ, HERE, look_export, "the same as a file: csv or jsonl", NULL, NULL },
	{ "GET", API "acts/{id}", READ, HERE, look_act, "one act with what proves it", NULL, NULL },
	{ "GET", API "freeze", READ, HERE | ALL_MACHINES, look_freeze,
		"who is frozen, and which orders said so", NULL, NULL },
	{ "POST", API "freeze/message", READ, HERE | TAKES_JSON | ALL_MACHINES, look_freeze_message,
		"the bytes that a passkey signs to freeze, or to lift it", NULL, NULL },
	{ "POST", API "freeze", READ, HERE | TAKES_JSON | ALL_MACHINES, look_freeze_order,
		"a freeze that a passkey has signed becomes an order", NULL, NULL },
	{ "GET", API "log", READ, HERE | ALL_MACHINES, look_log, "checkpoints and their cosignatures", NULL,
		NULL },
	{ "GET", API "evidence", READ, HERE | ALL_MACHINES, look_taken,
		"packs and exports that were taken, by whom and over what", NULL, NULL },
	{ "POST", API "evidence", READ, HERE | TAKES_JSON, look_evidence,
		"a pack of the tenant, or of a machine", NULL, NULL },
	{ "GET", API "events", AUTH_READER, 0, RATE_STREAM, HERE | IS_STREAM, look_events,
		"what happens on all machines, as it happens", NULL, NULL },
	{ "GET", "/console", AUTH_PUBLIC, 0, RATE_PUBLIC, HERE, console_page,
		"the console: a page without data", NULL, NULL },
	{ "GET", "/console/{*page}", AUTH_PUBLIC, 0, RATE_PUBLIC, HERE, console_page, "its pages and files",
		NULL, NULL },
	{ "GET", "/docs", AUTH_PUBLIC, 0, RATE_PUBLIC, HERE, console_document,
		"the documents, where they are installed", NULL, NULL },
	{ "GET", "/docs/{*page}", AUTH_PUBLIC, 0, RATE_PUBLIC, HERE, console_document, "their pages", NULL,
		NULL },
	{ 0 },
};
