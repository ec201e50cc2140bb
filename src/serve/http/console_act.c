/* console_act.c — what a person does in the console: answer, deny, freeze, lift a freeze.
 *
 * In two steps.  First the page gets the exact bytes that say the act, shows what they say, and has the person's key sign their digest.  Then bytes and
 * signature come back, and the kernel finds out by itself whether they are about the question as it stands on record and whether a registered
 * key has signed them, before anything happens.  Nothing that the server says in between can widen what was signed. */
#include "base/hash.h"
#include "base/text.h"
#include "kernel/approval/approval.h"
#include "kernel/freeze.h"
#include "kernel/passkey.h"
#include "serve/http/console.h"
#include "serve/tls.h"

#include <string.h>

static int refused(struct call *c, struct err *e)
{
	bool is_theirs = e->rc == E_DENIED || e->rc == E_INPUT || e->rc == E_MISSING;
	bool is_settled = text_eq(e->code, "APPROVAL_SETTLED") || text_eq(e->code, "APPROVAL_TWICE");

	return is_theirs ? call_refuse(c, e,
				   is_settled			? 409
					   : e->rc == E_MISSING ? 404
								: 403,
				   arena_strdup(c->a, e->code), "%s", arena_strdup(c->a, e->text))
			 : e->rc;
}

static void answer_message(struct call *c, struct bytes message)
{
	struct json *doc = json_new(c->a, JSON_OBJECT), *ids = NULL;
	struct err why = { 0 };

	(void)!passkey_credentials(c->server->sys, c->a, console_rp_id(c), &ids, &why);
	json_sets(c->a, doc, "message", arena_strndup(c->a, (const char *)message.p, message.n));
	json_sets(c->a, doc, "rp_id", console_rp_id(c));
	json_set(c->a, doc, "credentials", ids ? ids : json_new(c->a, JSON_ARRAY));
	call_answer(c, 200, doc);
}

/* Who has signed the message of this request. */
static int signer_of(struct call *c, struct bytes message, struct person *ret, struct err *e)
{
	const struct passkey_given given = { console_origin(c), console_rp_id(c), tls_es256,
		json_get(c->body, "assertion") };

	return person_open_passkey(c->server->sys, c->a, message, &given, ret, NULL, e) ? refused(c, e) : OK;
}

static void answer_receipt(struct call *c, const struct json *receipt)
{
	struct json *doc = json_new(c->a, JSON_OBJECT);

	json_sets(c->a, doc, "receipt_id", json_get_text(receipt, "receipt_id", ""));
	json_sets(c->a, doc, "decision_id", json_get_text(receipt, "decision_id", ""));
	json_seti(c->a, doc, "clock", json_get_int(receipt, "lamport_clock", 0));
	const struct json *so_far = json_get(json_get(receipt, "metadata"), "assertion");
	if (so_far)
		json_seti(c->a, doc, "missing",
			json_get_int(so_far, "approvers", 0) - json_get_int(so_far, "so_far", 0));
	call_answer(c, 200, doc);
}

/* An act of this verb in this workspace. */
static int read_act(
	struct call *c, const char *verb, struct bytes *ret_message, struct json **ret, struct err *e)
{
	return console_read_act(c, verb, "workspace", c->server->ws->root, ret_message, ret, e);
}

/* With the signed text beside the signature, so that the receipt alone can be checked. */
static void keep_message(struct call *c, struct person *who, struct bytes message)
{
	struct json *proof = json_copy(c->a, who->proof);

	json_sets(c->a, proof, "message", arena_strndup(c->a, (const char *)message.p, message.n));
	who->proof = proof;
}

/* ---- answering ---- */

static int find_question(struct call *c, struct json **ret, struct err *e)
{
	if (!text_eq(c->who.tenant, auth_home_tenant(c->server)))
		return call_refuse(c, e, 404, "NOT_FOUND", "there is no such question");
	return approval_get(c->k, c->a, c->args[0], ret, e) ? refused(c, e) : OK;
}

static int denial_message(struct call *c, const struct json *entry, struct bytes *ret, struct err *e)
{
	struct json *act;
	const char *reason = console_reason(c->body);

	if (!reason)
		return call_refuse(
			c, e, 400, "BAD_REQUEST", "a reason has at most %d bytes", CONSOLE_REASON_MOST);
	int rc = console_new_act(c, "deny", "workspace", c->server->ws->root, &act, e);
	if (rc)
		return rc;
	json_sets(c->a, act, "approval_id", c->args[0]);
	json_sets(c->a, act, "request_sha256", json_sha256(c->a, json_get(entry, "request")));
	json_sets(c->a, act, "reason", reason);
	*ret = passkey_message(c->a, act);
	return OK;
}

static int message(struct call *c, struct err *e)
{
	struct approval_terms terms;
	struct json *entry;
	struct bytes text;
	bool denies = text_eq(json_get_text(c->body, "answer", ""), "deny");
	int rc = find_question(c, &entry, e);

	if (rc == OK && denies)
		rc = denial_message(c, entry, &text, e);
	else if (rc == OK)
		rc = console_read_terms(c, json_get(entry, "request"), &terms, e);
	if (rc)
		return rc;
	if (!denies && approval_message(c->k, c->a, c->args[0], &terms, SIGNED_WITH_PASSKEY, &text, e))
		return refused(c, e);
	answer_message(c, text);
	return OK;
}

static int deny(struct call *c, const struct json *entry, struct err *e)
{
	struct person who;
	struct bytes text;
	struct json *act, *receipt;
	int rc = read_act(c, "deny", &text, &act, e);

	if (rc)
		return rc;
	if (!text_eq(json_get_text(act, "approval_id", ""), c->args[0]) ||
		!text_eq(json_get_text(act, "request_sha256", ""),
			json_sha256(c->a, json_get(entry, "request"))))
		return call_refuse(c, e, 403, "ACT_OTHER", "this was signed about another question");
	rc = signer_of(c, text, &who, e);
	if (rc)
		return rc;
	keep_message(c, &who, text);
	call_hold(c);
	if (approval_deny(c->k, c->a, c->args[0], json_get_text(act, "reason", ""), &who, &receipt, e))
		return refused(c, e);
	answer_receipt(c, receipt);
	return OK;
}

static int answer(struct call *c, struct err *e)
{
	const struct bytes text = bytes_of(json_get_text(c->body, "message", ""));
	struct json *entry, *receipt;
	struct person who;
	struct err why = { 0 };
	int rc = find_question(c, &entry, e);

	if (rc)
		return rc;
	if (text_starts((const char *)text.p, PASSKEY_ACT_DOMAIN))
		return deny(c, entry, e);
	if (person_may_loosen(c->server->sys, c->a, c->k->ws, &why))
		return call_refuse(c, e, 403, "SYSTEM_FROZEN", "%s", why.text);
	rc = signer_of(c, text, &who, e);
	if (rc)
		return rc;
	call_hold(c);
	if (approval_approve_signed(c->k, c->a, c->args[0], text, &who, &receipt, e))
		return refused(c, e);
	answer_receipt(c, receipt);
	return OK;
}

/* ---- stopping ---- */

static int freeze_message(struct call *c, struct err *e)
{
	const char *verb = json_get_text(c->body, "act", ""), *reason = console_reason(c->body);
	struct json *act;

	if (!text_eq(c->who.tenant, auth_home_tenant(c->server)))
		return call_refuse(c, e, 403, "TENANT_ISOLATION", "this is about the installation");
	if (!text_eq(verb, "freeze") && !text_eq(verb, "unfreeze"))
		return call_refuse(c, e, 400, "BAD_REQUEST", "act is freeze or unfreeze");
	if (!reason || !*json_get_text(c->body, "principal", ""))
		return call_refuse(c, e, 400, "BAD_REQUEST",
			"principal must be there, and a reason has at most %d bytes", CONSOLE_REASON_MOST);
	int rc = console_new_act(c, verb, "workspace", c->server->ws->root, &act, e);
	if (rc)
		return rc;
	json_sets(c->a, act, "principal", json_get_text(c->body, "principal", ""));
	json_sets(c->a, act, "reason", reason);
	answer_message(c, passkey_message(c->a, act));
	return OK;
}

static int freeze(struct call *c, struct err *e)
{
	bool lifts = strstr(json_get_text(c->body, "message", ""), "\"act\":\"unfreeze\"") != NULL;
	struct person who;
	struct bytes text;
	struct json *act, *receipt;
	int rc = read_act(c, lifts ? "unfreeze" : "freeze", &text, &act, e);

	if (rc == OK)
		rc = signer_of(c, text, &who, e);
	if (rc)
		return rc;
	const char *principal = json_get_text(act, "principal", ""),
		   *reason = json_get_text(act, "reason", "");
	keep_message(c, &who, text);
	call_hold(c);
	c->k->person = &who;
	rc = lifts ? freeze_lift(c->k, c->a, principal, reason, &receipt, e)
		   : freeze_set(c->k, c->a, principal, reason, &receipt, e);
	c->k->person = NULL;
	if (rc)
		return refused(c, e);
	answer_receipt(c, receipt);
	return OK;
}

#define ACT AUTH_TENANT, SCOPE_READ, RATE_ADMIN, TAKES_JSON
const struct route http_console_act_routes[] = {
	{ "POST", "/api/v1/console/waiting/{id}/message", ACT, message,
		"the bytes that a key signs to answer a question", "ConsoleAnswerAsk", "ConsoleMessage" },
	{ "POST", "/api/v1/console/waiting/{id}/answer", ACT, answer,
		"an answer that a registered key has signed", "ConsoleSigned", "ConsoleDone" },
	{ "POST", "/api/v1/console/freeze/message", ACT, freeze_message,
		"the bytes that a key signs to freeze, or to lift it", "ConsoleFreezeAsk", "ConsoleMessage" },
	{ "POST", "/api/v1/console/freeze", ACT, freeze,
		"a freeze or its end that a registered key has signed", "ConsoleSigned", "ConsoleDone" },
	{ 0 },
};
