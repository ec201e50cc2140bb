/* console_login.c — coming in, by a link that works once or with a registered key; and registering a key, by invitation.
 *
 * A link lets its bearer look.  An invitation lets its bearer register one key; whoever opened the console at a terminal of their own is invited by
 * that.  Nothing here lets anybody act: each act is signed by itself (console_act.c). */
#include "base/hash.h"
#include "base/text.h"
#include "kernel/passkey.h"
#include "serve/http/console.h"
#include "serve/tls.h"

#include <string.h>

static const int64_t LASTS_US = INT64_C(8) * 3600 * 1000000;

static int begin_session(struct call *c, const struct console_session *who, struct err *e)
{
	struct json *doc = json_new(c->a, JSON_OBJECT);
	const char *page;
	int rc = console_begin(c, who, LASTS_US, &page, e);

	if (rc)
		return rc;
	json_sets(c->a, doc, "page", page);
	if (who->key_id) {
		json_sets(c->a, doc, "key_id", who->key_id);
		json_sets(c->a, doc, "label", who->label);
	}
	call_answer(c, 200, doc);
	return OK;
}

/* Whoever brings the word of the link may look; it has worked then. */
static int enter(struct call *c, struct err *e)
{
	const char *invite;
	int rc = console_check_browser(c, e);

	if (rc)
		return rc;
	if (!console_take_link(c, json_get_text(c->body, "token", ""), &invite))
		return call_refuse(c, e, 403, "LINK_USED",
			"this link has been used, or its time is over; 'helm open' makes another one");
	return begin_session(c, &(struct console_session){ .may_register = invite }, e);
}

static int leave(struct call *c, struct err *e)
{
	(void)e;
	console_end(c);
	call_answer(c, 200, json_new(c->a, JSON_OBJECT));
	return OK;
}

/* ---- with a key ---- */

/* A challenge, and the keys that may answer it. */
static int challenge(struct call *c, struct err *e)
{
	struct json *doc = json_new(c->a, JSON_OBJECT), *ids;
	uint8_t bytes[SHA256_SIZE];
	int rc = console_check_browser(c, e);

	if (rc == OK)
		rc = passkey_credentials(c->server->sys, c->a, console_rp_id(c), &ids, e);
	if (rc == OK)
		rc = console_challenge(c, bytes, e);
	if (rc)
		return rc;
	json_sets(c->a, doc, "challenge", base64_encode(c->a, bytes, sizeof(bytes), BASE64_URL, false));
	json_sets(c->a, doc, "rp_id", console_rp_id(c));
	json_set(c->a, doc, "credentials", ids);
	call_answer(c, 200, doc);
	return OK;
}

static int take_challenge(struct call *c, uint8_t ret[SHA256_SIZE], struct err *e)
{
	const char *text = json_get_text(c->body, "challenge", "");
	struct bytes bytes;

	if (!base64_decode(c->a, text, strlen(text), BASE64_URL, false, &bytes) || bytes.n != SHA256_SIZE ||
		!console_take_challenge(c, bytes.p))
		return call_refuse(c, e, 403, "CHALLENGE_USED",
			"this challenge was used, or its time is over; try again");
	memcpy(ret, bytes.p, SHA256_SIZE);
	return OK;
}

static int refused(struct call *c, struct err *e)
{
	return e->rc == E_DENIED || e->rc == E_INPUT
		? call_refuse(c, e, 403, arena_strdup(c->a, e->code), "%s", arena_strdup(c->a, e->text))
		: e->rc;
}

static int login(struct call *c, struct err *e)
{
	const struct passkey_given given = { console_origin(c), console_rp_id(c), tls_es256,
		json_get(c->body, "assertion") };
	uint8_t bytes[SHA256_SIZE];
	const char *key_id, *label;
	int rc = console_check_browser(c, e);

	if (rc == OK)
		rc = take_challenge(c, bytes, e);
	if (rc)
		return rc;
	if (passkey_login(c->server->sys, c->a, bytes, &given, &key_id, &label, e)) {
		log_line(c->server, "warning", c, "401 for %s: %s", c->peer.address ? c->peer.address : "?",
			e->code);
		return refused(c, e);
	}
	return begin_session(c, &(struct console_session){ .label = label, .key_id = key_id }, e);
}

/* ---- registering ---- */

/* Who may register, and under which name: by an invitation, or by the session of a link that was made at a terminal. */
static int invited(struct call *c, bool take, const char **ret_label, const char **ret_by, struct err *e)
{
	const char *word = json_get_text(c->body, "invite", NULL);
	struct console_session who;
	int rc = console_check_browser(c, e);

	if (rc)
		return rc;
	if (word) {
		*ret_by = "an invitation";
		return passkey_invited(c->server->sys, c->a, c->server->ws, word, take, ret_label, e)
			? refused(c, e)
			: OK;
	}
	if (!console_session_of(c, &who) || !who.may_register)
		return call_refuse(c, e, 403, "PASSKEY_INVITE",
			"a key is registered by invitation: helm serve invite --name NAME, or helm open at a terminal of your own");
	*ret_label = who.may_register;
	*ret_by = "the link of helm open";
	if (take)
		console_registered(c);
	return OK;
}

static int register_begin(struct call *c, struct err *e)
{
	struct json *doc = json_new(c->a, JSON_OBJECT), *ids;
	uint8_t bytes[SHA256_SIZE];
	const char *label, *by;
	int rc = invited(c, false, &label, &by, e);

	if (rc == OK)
		rc = passkey_credentials(c->server->sys, c->a, console_rp_id(c), &ids, e);
	if (rc == OK)
		rc = console_challenge(c, bytes, e);
	if (rc)
		return rc;
	json_sets(c->a, doc, "challenge", base64_encode(c->a, bytes, sizeof(bytes), BASE64_URL, false));
	json_sets(c->a, doc, "rp_id", console_rp_id(c));
	json_sets(c->a, doc, "label", label);
	json_set(c->a, doc, "credentials", ids);
	call_answer(c, 200, doc);
	return OK;
}

static bool decoded(struct call *c, const char *name, struct bytes *ret)
{
	const char *text = json_get_text(c->body, name, "");

	return *text && base64_decode(c->a, text, strlen(text), BASE64_URL, false, ret);
}

static int register_end(struct call *c, struct err *e)
{
	struct webauthn_wanted w = { .origin = console_origin(c), .rp_id = console_rp_id(c) };
	struct bytes client, object;
	const char *label, *by, *key_id;
	int rc = invited(c, false, &label, &by, e);

	if (rc == OK)
		rc = take_challenge(c, w.challenge, e);
	if (rc)
		return rc;
	if (!decoded(c, "client_data_json", &client) || !decoded(c, "attestation_object", &object))
		return call_refuse(c, e, 400, "BAD_REQUEST", "a part of the new key is missing");
	struct err why = { 0 };
	if (person_may_loosen(c->server->sys, c->a, c->k->ws, &why))
		return call_refuse(c, e, 403, "SYSTEM_FROZEN", "%s", why.text);
	/* It is used up first: two who come at once with one invitation have one key. */
	rc = invited(c, true, &label, &by, e);
	if (rc)
		return rc;
	call_hold(c);
	if (passkey_add(c->k, c->a, &w, client, object, label, arena_printf(c->a, "%s for %s", by, label),
		    &key_id, e))
		return refused(c, e);
	return begin_session(c, &(struct console_session){ .label = label, .key_id = key_id }, e);
}

#define COME_IN AUTH_PUBLIC, 0, RATE_PUBLIC, TAKES_JSON
const struct route http_console_login_routes[] = {
	{ "POST", "/api/v1/console/enter", COME_IN, enter, "come in by a one-time link", "ConsoleEnter",
		"ConsoleSession" },
	{ "POST", "/api/v1/console/leave", AUTH_TENANT, SCOPE_READ, RATE_EVIDENCE, TAKES_JSON | BODY_OPTIONAL,
		leave, "end the session", NULL, "Empty" },
	{ "POST", "/api/v1/console/challenge", COME_IN | BODY_OPTIONAL, challenge, "what a key is to sign",
		NULL, "ConsoleChallenge" },
	{ "POST", "/api/v1/console/login", COME_IN, login, "come in with a registered key", "ConsoleLogin",
		"ConsoleSession" },
	{ "POST", "/api/v1/console/register/begin", COME_IN | BODY_OPTIONAL, register_begin,
		"begin to register a key, by invitation", "ConsoleInvited", "ConsoleChallenge" },
	{ "POST", "/api/v1/console/register", COME_IN, register_end, "register the key that was made",
		"ConsoleRegister", "ConsoleSession" },
	{ 0 },
};
