/* people.c — people come in: with a passkey, which they register by an invitation that works once; and their sessions.
 *
 * Coming in only opens the view.  A session is a row of the database, so that any front end knows it, and it is gone everywhere when the person leaves, the key or
 * what they may see is changed, or eight hours are over.  The browser has two words, of which digests are kept: a cookie that no script reads, and one
 * that only pages of this origin have, because cookies of a host go to all of its ports. */
#include "base/hash.h"
#include "base/text.h"
#include "kernel/passkey.h"
#include "serve/console.h"
#include "serve/fleet/look.h"
#include "serve/tls.h"

#include <string.h>

enum { LASTS_S = 8 * 3600, WORD_BYTES = 32, HANDLE = 16 };
#define LOGIN "login"
#define REGISTER "register"
#define INVITE_OVER \
	"this invitation was used, or its time is over, or this key is registered already; another one: helm fleet reader invite NAME --link URL"

static struct bytes digest_of(struct arena *a, const char *word)
{
	uint8_t *digest = arena_alloc(a, SHA256_SIZE);

	sha256(word, strlen(word), digest);
	return (struct bytes){ digest, SHA256_SIZE };
}

/* ---- sessions ---- */

static int no_session(struct call *c, struct err *e)
{
	return call_refuse(
		c, e, 401, READER_WANTED, "this session is over, or its key opens nothing any more");
}

static int find_session(struct call *c, const char *cookie, struct lent *l, struct tenant *tenant,
	struct pg_rows *ret, struct err *e)
{
	int rc = word_tenant(c, SESSION_WORD, cookie, l, tenant, e);

	if (rc == OK)
		rc = pg_ask(l->d,
			"SELECT p.name, p.machines::text, s.page_sha256, (extract(epoch FROM s.until) * 1000000)::int8, p.credential_id FROM session s JOIN person p USING (tenant_id, name)"
			" WHERE s.cookie_sha256 = $1 AND s.until > now() AND p.ended_at IS NULL AND p.credential_id = s.credential_id",
			(struct pg_value[]){ pg_b(digest_of(c->a, cookie)) }, 1, ret, e);
	return rc == E_MISSING || (rc == OK && !ret->n) ? no_session(c, e) : rc;
}

const char *session_cookie(const struct call *c)
{
	const char *cookie = console_cookie(c);

	return cookie && text_starts(cookie, SESSION_WORD) ? cookie : NULL;
}

static const char *key_name(struct arena *a, const char *credential)
{
	struct bytes raw;

	return base64_decode(a, credential, strlen(credential), BASE64_URL, false, &raw)
		? arena_printf(a, "webauthn:%.32s", sha256_hex(a, raw.p, raw.n))
		: "";
}

int session_begin(struct call *c, const char *cookie, struct looking *ret, struct err *e)
{
	AUTO(pg_rows_done) struct pg_rows rows = { 0 };
	const char *page = call_header(c, "X-Helm-Page");
	int rc = find_session(c, cookie, &ret->l, &ret->who.tenant, &rows, e);

	if (rc)
		return rc;
	if (!page || !bytes_eq(pg_bytes(&rows, 0, 2), digest_of(c->a, page)))
		return no_session(c, e);
	ret->who.name = pg_text(&rows, c->a, 0, 0);
	ret->who.machines = pg_null(&rows, 0, 1) ? NULL : pg_text(&rows, c->a, 0, 1);
	ret->until_us = pg_int(&rows, 0, 3);
	ret->who.expires_at = text_time_z(c->a, ret->until_us);
	ret->who.key_id = key_name(c->a, pg_text(&rows, c->a, 0, 4));
	return ret->who.machines ? pg_narrow(ret->l.d, ret->who.machines, e) : OK;
}

int session_still(struct call *c, const char *cookie, struct err *e)
{
	AUTO(lent_back) struct lent l = { 0 };
	AUTO(pg_rows_done) struct pg_rows rows = { 0 };
	struct tenant tenant;

	return find_session(c, cookie, &l, &tenant, &rows, e);
}

int session_leave(struct call *c, const char *cookie, struct err *e)
{
	AUTO(lent_back) struct lent read = { 0 };
	AUTO(lent_back) struct lent l = { 0 };
	const char *page = call_header(c, "X-Helm-Page");
	struct tenant tenant;
	int rc = word_tenant(c, SESSION_WORD, cookie, &read, &tenant, e);

	if (rc == E_MISSING || !page)
		return OK; /* there is none */
	if (rc == OK)
		rc = lend(c->server->fleet->pool, POOL_CONSOLE, tenant.id, &l, e);
	if (rc == OK)
		rc = pg_do(l.d, "DELETE FROM session WHERE cookie_sha256 = $1 AND page_sha256 = $2",
			(struct pg_value[]){ pg_b(digest_of(c->a, cookie)), pg_b(digest_of(c->a, page)) }, 2,
			NULL, e);
	return rc ? rc : pg_commit(l.d, e);
}

/* ---- who comes ---- */

struct coming {
	int32_t tenant;
	const char *tenant_name, *name;
	struct json *row; /* {passkey} */
	const char *credential;
	uint32_t counter;
	uint8_t challenge[SHA256_SIZE];
};

static int refused(struct call *c, const char *what, struct err *e)
{
	if (e->rc != E_DENIED && e->rc != E_INPUT)
		return e->rc;
	log_line(c->server, "warning", c, "403 for %s, %s: %s", c->peer.address ? c->peer.address : "?", what,
		e->code);
	return call_refuse(c, e, 403, arena_strdup(c->a, e->code), "%s", arena_strdup(c->a, e->text));
}

static int challenge_over(struct call *c, struct err *e)
{
	return call_refuse(
		c, e, 403, "CHALLENGE_USED", "this challenge was used, or its time is over; try again");
}

static int read_challenge(struct call *c, const char *purpose, struct coming *x, struct err *e)
{
	const char *text = json_get_text(c->body, "challenge", "");
	struct bytes bytes;

	if (!base64_decode(c->a, text, strlen(text), BASE64_URL, false, &bytes) || bytes.n != SHA256_SIZE ||
		!challenge_is_ours(c, purpose, bytes.p))
		return challenge_over(c, e);
	memcpy(x->challenge, bytes.p, SHA256_SIZE);
	return OK;
}

static int new_word(struct call *c, const char **ret, struct err *e)
{
	uint8_t bytes[WORD_BYTES];

	if (c->server->sys->random(c->server->sys, bytes, sizeof(bytes)))
		return err_sys(e, "RANDOM", "the system gives no random bytes");
	*ret = base64_encode(c->a, bytes, sizeof(bytes), BASE64_URL, false);
	return OK;
}

/* What was checked takes effect: the challenge is used, `change` is done for exactly one row, and there is a session; all of it or nothing. */
static int admit(struct call *c, const struct coming *x, const char *change, const struct pg_value *values,
	int n, const char *otherwise, struct err *e)
{
	AUTO(lent_back) struct lent l = { 0 };
	struct json *doc = json_new(c->a, JSON_OBJECT);
	const char *secret = "", *page = "";
	bool is_fresh = false;
	int64_t changed = 0;
	int rc = lend(c->server->fleet->pool, POOL_CONSOLE, x->tenant, &l, e);

	if (rc == OK)
		rc = challenge_use(l.d, x->challenge, &is_fresh, e);
	if (rc == OK && !is_fresh)
		return challenge_over(c, e);
	if (rc == OK)
		rc = pg_do(l.d, change, values, n, &changed, e);
	if (rc == OK && changed != 1)
		return call_refuse(c, e, 403, "PASSKEY_REFUSED", "%s", otherwise);
	if (rc == OK)
		rc = new_word(c, &secret, e);
	if (rc == OK)
		rc = new_word(c, &page, e);
	const char *cookie = arena_printf(c->a, SESSION_WORD "%s.%s", x->tenant_name, secret);
	if (rc == OK)
		rc = pg_do(l.d, "DELETE FROM session WHERE until < now()", NULL, 0, NULL, e);
	if (rc == OK)
		rc = pg_do(l.d,
			"INSERT INTO session(tenant_id, cookie_sha256, page_sha256, name, credential_id, until) VALUES ($1, $2, $3, $4, $5, now() + make_interval(secs => $6::int4))",
			(struct pg_value[]){ pg_i(c->a, x->tenant), pg_b(digest_of(c->a, cookie)),
				pg_b(digest_of(c->a, page)), pg_t(x->name), pg_t(x->credential),
				pg_i(c->a, LASTS_S) },
			6, NULL, e);
	if (rc == OK)
		rc = pg_commit(l.d, e);
	if (rc)
		return rc;
	log_line(c->server, "info", c, "%s of %s came in with the key %s", x->name, x->tenant_name,
		key_name(c->a, x->credential));
	console_set_cookie(c, cookie, LASTS_S);
	json_sets(c->a, doc, "page", page);
	json_sets(c->a, doc, "label", x->name);
	json_sets(c->a, doc, "key_id", key_name(c->a, x->credential));
	call_answer(c, 200, doc);
	return OK;
}

static struct json *challenge_doc(struct call *c, const uint8_t challenge[SHA256_SIZE])
{
	struct json *doc = json_new(c->a, JSON_OBJECT);

	json_sets(c->a, doc, "challenge", base64_encode(c->a, challenge, SHA256_SIZE, BASE64_URL, false));
	json_sets(c->a, doc, "rp_id", console_rp_id(c));
	json_set(c->a, doc, "credentials", json_new(c->a, JSON_ARRAY));
	return doc;
}

/* ---- with a key ---- */

/* No key is named: which there are is nobody's business who is not known. */
int people_challenge(struct call *c, struct err *e)
{
	uint8_t bytes[SHA256_SIZE];
	int rc = console_check_browser(c, e);

	if (rc == OK)
		rc = challenge_make(c, LOGIN, bytes, e);
	if (rc == OK)
		call_answer(c, 200, challenge_doc(c, bytes));
	return rc;
}

/* What a key remembers of its owner begins with the number of the tenant.  It only says where to look: the key must be there. */
static int32_t handle_tenant(struct call *c, const struct json *assertion)
{
	const char *text = json_get_text(assertion, "user_handle", "");
	struct bytes b;

	if (!base64_decode(c->a, text, strlen(text), BASE64_URL, false, &b) || b.n != HANDLE || b.p[0] & 0x80)
		return 0;
	return (int32_t)((uint32_t)b.p[0] << 24 | (uint32_t)b.p[1] << 16 | (uint32_t)b.p[2] << 8 | b.p[3]);
}

static int find_key(struct call *c, const struct json *assertion, struct coming *x, struct err *e)
{
	AUTO(lent_back) struct lent l = { 0 };
	AUTO(pg_rows_done) struct pg_rows rows = { 0 };
	const char *id = json_get_text(assertion, "id", "");
	struct json *passkey;

	x->tenant = handle_tenant(c, assertion);
	if (x->tenant && text_utf8_valid(id, strlen(id)) == strlen(id)) {
		int rc = lend(c->server->fleet->pool, POOL_READ, x->tenant, &l, e);
		if (rc == OK)
			rc = pg_ask(l.d,
				"SELECT t.name, p.name, p.passkey FROM person p JOIN tenant t USING (tenant_id) WHERE p.credential_id = $1 AND p.ended_at IS NULL",
				(struct pg_value[]){ pg_t(id) }, 1, &rows, e);
		if (rc)
			return rc;
	}
	if (!rows.n) {
		(void)err_set(e, E_DENIED, "PASSKEY_UNKNOWN",
			"this key opens nothing here: it was not registered, or was removed; whoever keeps the fleet invites you: helm fleet reader invite NAME --link URL");
		return refused(c, "a key that is not known", e);
	}
	x->tenant_name = pg_text(&rows, c->a, 0, 0);
	x->name = pg_text(&rows, c->a, 0, 1);
	x->credential = id;
	x->row = json_new(c->a, JSON_OBJECT);
	int rc = json_parse(c->a, pg_bytes(&rows, 0, 2), "passkey", NULL, &passkey, e);
	if (rc == OK)
		json_set(c->a, x->row, "passkey", passkey);
	return rc;
}

static int log_in(struct call *c, struct err *e)
{
	const struct json *assertion = json_get(c->body, "assertion");
	const struct passkey_given given = { console_origin(c), console_rp_id(c), tls_es256, assertion };
	struct coming x = { 0 };
	int rc = console_check_browser(c, e);

	if (rc == OK)
		rc = read_challenge(c, LOGIN, &x, e);
	if (rc == OK)
		rc = find_key(c, assertion, &x, e);
	if (rc)
		return rc;
	if (passkey_signed(c->a, x.row, x.challenge, &given, &x.counter, e))
		return refused(c, x.name, e);
	/* One that counts never counts back: a copy of it would. */
	return admit(c, &x,
		"UPDATE person SET counter = $3::int8 WHERE name = $1 AND credential_id = $2 AND ended_at IS NULL AND (counter < $3::int8 OR (counter = 0 AND $3::int8 = 0))",
		(struct pg_value[]){ pg_t(x.name), pg_t(x.credential), pg_i(c->a, x.counter) }, 3,
		"this key was removed, or has signed more often than it says: then there are two of it", e);
}

int people_login(struct call *c, struct err *e)
{
	return log_in(c, e) ? database_refuses(c, e) : OK;
}

/* ---- registering ---- */

static int invited(struct call *c, struct coming *x, struct err *e)
{
	AUTO(lent_back) struct lent l = { 0 };
	AUTO(pg_rows_done) struct pg_rows rows = { 0 };
	const char *word = json_get_text(c->body, "invite", "");
	struct tenant tenant;
	int rc = console_check_browser(c, e);

	if (rc)
		return rc;
	rc = word_tenant(c, INVITE_WORD, word, &l, &tenant, e);
	if (rc == OK)
		rc = pg_ask(l.d,
			"SELECT name FROM person WHERE invite_sha256 = $1 AND invite_until > now() AND ended_at IS NULL",
			(struct pg_value[]){ pg_b(digest_of(c->a, word)) }, 1, &rows, e);
	if (rc == E_MISSING || (rc == OK && !rows.n)) {
		(void)err_set(e, E_DENIED, "PASSKEY_INVITE", "%s", INVITE_OVER);
		return refused(c, "an invitation", e);
	}
	if (rc)
		return rc;
	x->tenant = tenant.id;
	x->tenant_name = tenant.name;
	x->name = pg_text(&rows, c->a, 0, 0);
	return OK;
}

static int begin_key(struct call *c, struct err *e)
{
	struct coming x = { 0 };
	uint8_t handle[HANDLE];
	int rc = invited(c, &x, e);

	if (rc == OK)
		rc = challenge_make(c, REGISTER, x.challenge, e);
	if (rc)
		return rc;
	if (c->server->sys->random(c->server->sys, handle, sizeof(handle)))
		return err_sys(e, "RANDOM", "the system gives no random bytes");
	for (int i = 0; i < 4; i++)
		handle[i] = (uint8_t)((uint32_t)x.tenant >> (24 - 8 * i));
	struct json *doc = challenge_doc(c, x.challenge);
	json_sets(c->a, doc, "label", x.name);
	json_sets(c->a, doc, "user_handle", base64_encode(c->a, handle, sizeof(handle), BASE64_URL, false));
	call_answer(c, 200, doc);
	return OK;
}

int people_register_begin(struct call *c, struct err *e)
{
	return begin_key(c, e) ? database_refuses(c, e) : OK;
}

static bool decoded(struct call *c, const char *name, struct bytes *ret)
{
	const char *text = json_get_text(c->body, name, "");

	return *text && base64_decode(c->a, text, strlen(text), BASE64_URL, false, ret);
}

static int add_key(struct call *c, struct err *e)
{
	struct webauthn_wanted w = { .origin = console_origin(c), .rp_id = console_rp_id(c) };
	struct coming x = { 0 };
	struct bytes client, object;
	struct json *passkey;
	struct buf text;
	int rc = invited(c, &x, e);

	if (rc == OK)
		rc = read_challenge(c, REGISTER, &x, e);
	if (rc == OK &&
		(!decoded(c, "client_data_json", &client) || !decoded(c, "attestation_object", &object)))
		rc = call_refuse(c, e, 400, "BAD_REQUEST", "a part of the new key is missing");
	if (rc)
		return rc;
	memcpy(w.challenge, x.challenge, sizeof(w.challenge));
	if (passkey_made(c->a, &w, client, object, &passkey, &x.counter, e))
		return refused(c, x.name, e);
	x.credential = json_get_text(passkey, "credential_id", "");
	buf_init(&text, c->a);
	json_canonical(&text, passkey);
	/* Two who come at once with one invitation: the row changes for one of them. */
	return admit(c, &x,
		"UPDATE person SET passkey = $2, credential_id = $3, counter = $4::int8, key_at = now(), invite_sha256 = NULL, invite_until = NULL WHERE name = $1 AND invite_sha256 = $5"
		" AND invite_until > now() AND ended_at IS NULL AND NOT EXISTS (SELECT FROM person o WHERE o.credential_id = $3)",
		(struct pg_value[]){ pg_t(x.name), pg_t(text.p), pg_t(x.credential), pg_i(c->a, x.counter),
			pg_b(digest_of(c->a, json_get_text(c->body, "invite", ""))) },
		5, INVITE_OVER, e);
}

int people_register(struct call *c, struct err *e)
{
	return add_key(c, e) ? database_refuses(c, e) : OK;
}
