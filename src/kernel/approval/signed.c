/* signed.c — a person answers with a key of OpenSSH, also one in a hardware authenticator.
 *
 * The answer is written down first, signed by `ssh-keygen -Y sign`, and then brought here.  What is signed is the grant itself, whole,
 * and the digest of the question it answers:
 *
 *	helm:approval:v2 NEWLINE {"grant":{...},"request_sha256":"sha256:..."}
 *
 * in canonical JSON.  So nothing is left to whoever carries the file: how far the answer reaches and when it ends is in the signed
 * bytes.  Here the grant is drafted again from the question as it stands on record, on the terms that the file names; only when that
 * gives the same bytes is it what a person would have been shown. */
#include "base/file.h"
#include "base/text.h"
#include "kernel/act.h"
#include "kernel/approval/parts.h"
#include "kernel/passkey.h"

#include <string.h>

#define SSH_RESPONDER "a registered ssh key" /* metadata.approver says which */
#define FLEET_RESPONDER "an approver of the fleet"
enum { LATEST_S = 24 * 3600, EARLY_S = 60, LONGEST_S = 30 * 24 * 3600 };

static struct bytes message_of(struct arena *a, const struct grant *g, const char *request_sha256)
{
	return act_message_ssh(a, grant_to_json(a, g), request_sha256);
}

int approval_message_for(struct sys *s, struct arena *a, const struct json *request,
	const struct approval_terms *t, enum signed_with with, struct bytes *ret, struct err *e)
{
	static const char *const responders[] = { SSH_RESPONDER, PASSKEY_RESPONDER, FLEET_RESPONDER };
	TABLE_COVERS(responders, SIGNED_WITHS);
	struct grant g;
	char *name;
	int rc = grant_draft(a, request, t, &g, e);

	if (rc == OK)
		rc = record_new_id(a, s, "", &name, e);
	if (rc)
		return rc;
	g.id = arena_printf(a, "grant-%.12s", name);
	g.created_us = s->now_us(s) / 1000000 * 1000000;
	g.responder = responders[with];
	*ret = message_of(a, &g, json_sha256(a, request));
	return OK;
}

int approval_message(struct kernel *k, struct arena *a, const char *id, const struct approval_terms *t,
	enum signed_with with, struct bytes *ret, struct err *e)
{
	struct json *entry;
	int rc = approval_get(k, a, id, &entry, e);

	if (rc)
		return rc;
	const char *state = request_state(entry, k->sys->now_us(k->sys));
	if (!text_eq(state, "pending"))
		return err_set(e, E_INPUT, "APPROVAL_SETTLED", "request %s is %s already", id, state);
	if (with == SIGNED_WITH_PASSKEY && quorum_of(json_get(entry, "request")) > 1)
		return quorum_message(k, a, entry, ret, e);
	return approval_message_for(k->sys, a, json_get(entry, "request"), t, with, ret, e);
}

int approval_message_read(struct arena *a, struct bytes text, struct grant *ret, struct err *e)
{
	const size_t n = sizeof(ACT_DOMAIN_SSH) - 1;
	struct json *doc;
	struct err why = { 0 };

	if (text.n <= n || memcmp(text.p, ACT_DOMAIN_SSH, n) != 0 ||
		json_parse(a, (struct bytes){ text.p + n, text.n - n }, "answer", NULL, &doc, &why) ||
		grant_from_json(a, json_get(doc, "grant"), ret, &why) ||
		!bytes_eq(text, message_of(a, ret, json_get_text(doc, "request_sha256", ""))))
		return err_set(e, E_INPUT, "APPROVAL_MESSAGE",
			"this is no answer to sign; 'helm approval message REQUEST' writes one");
	return OK;
}

/* What the command line checks when a person names the terms, asked again of the file. */
static int check_terms(struct kernel *k, struct arena *a, const struct grant *g, struct err *e)
{
	const int64_t second = 1000000, now = k->sys->now_us(k->sys);

	if (g->created_us > now + EARLY_S * second || g->created_us < now - LATEST_S * second)
		return err_set(e, E_INPUT, "APPROVAL_MESSAGE",
			"this answer was written on another day; 'helm approval message REQUEST' writes a new "
			"one");
	if (g->expires_us <= now || g->expires_us > g->created_us + LONGEST_S * second)
		return err_set(e, E_INPUT, "APPROVAL_END",
			"what this answer grants is over already, or would last longer than 30 days");
	if (g->path &&
		(path_is_below(k->ws->root, g->path) || (k->ws->home && path_is_below(k->ws->home, g->path))))
		return err_set(e, E_INPUT, "APPROVAL_PATH",
			"'%s' holds the whole workspace or home: name a directory inside", g->path);
	const char *host = g->host ? host_of(a, g->host) : NULL;
	if (g->host && (!host || strcasecmp(host, g->host) != 0))
		return err_set(e, E_INPUT, "APPROVAL_HOST", "'%s' is no plain name of a host", g->host);
	return text_is_id(g->id) && text_starts(g->id, "grant-")
		? OK
		: err_set(e, E_INPUT, "APPROVAL_MESSAGE", "the answer's own name is not one of ours");
}

/* Drafted again on the terms of `said`, for this session only or not: is it the very same? */
static bool is_drafted(struct arena *a, const struct json *request, const struct grant *said,
	bool is_for_session, struct bytes message)
{
	struct approval_terms t = { .reach = said->reach,
		.is_once = said->is_once,
		.is_for_session = is_for_session,
		.path = said->path,
		.host = said->host,
		.expires_us = said->expires_us };
	struct grant g;

	if (grant_draft(a, request, &t, &g, NULL))
		return false;
	g.id = said->id;
	g.created_us = said->created_us;
	g.responder = said->responder;
	return bytes_eq(message, message_of(a, &g, json_sha256(a, request)));
}

/* The kind of key that has signed, as the answer itself names it. */
static const char *responder_of(const struct person *who)
{
	if (json_get(who->proof, "ssh_key"))
		return SSH_RESPONDER;
	return json_get(who->proof, "authenticator_data") ? PASSKEY_RESPONDER : FLEET_RESPONDER;
}

int approval_check_signed(struct kernel *k, struct arena *a, const struct json *request, struct bytes message,
	const struct person *who, struct grant *ret, struct err *e)
{
	struct grant said;
	int rc = approval_message_read(a, message, &said, e);

	if (rc == OK)
		rc = check_terms(k, a, &said, e);
	if (rc)
		return rc;
	/* One of several people has signed something else, which is counted elsewhere: it is no answer by itself. */
	if (!who->proof)
		return err_set(e, E_DENIED, "APPROVER_UNKNOWN", "nobody has signed this answer");
	if (!text_eq(said.responder ? said.responder : "", responder_of(who)))
		return err_set(
			e, E_DENIED, "APPROVAL_MESSAGE", "this answer was written for another kind of key");
	if (!is_drafted(a, request, &said, false, message) && !is_drafted(a, request, &said, true, message))
		return err_set(e, E_DENIED, "APPROVAL_MESSAGE",
			"this answer is not about request %s as it was asked",
			json_get_text(request, "approval_id", ""));
	*ret = said;
	return OK;
}
