/* act.c — acts of people in a console, of one workspace or of a fleet: the bytes that say them, written here and read again. */
#include "base/hash.h"
#include "base/text.h"
#include "kernel/passkey.h"
#include "serve/console.h"

#include <string.h>

enum { OLDEST_S = 600 };
static const int64_t SECOND_US = 1000000;

int console_new_act(struct call *c, const char *verb, const char *kind, const char *place, struct json **ret,
	struct err *e)
{
	struct json *act = json_new(c->a, JSON_OBJECT);
	uint8_t nonce[SHA256_SIZE];
	int rc = console_challenge(c, nonce, e);

	if (rc)
		return rc;
	json_sets(c->a, act, "act", verb);
	json_sets(c->a, act, kind, place);
	json_sets(c->a, act, "at",
		text_time_z(c->a, c->server->sys->now_us(c->server->sys) / SECOND_US * SECOND_US));
	json_sets(c->a, act, "nonce", base64_encode(c->a, nonce, sizeof(nonce), BASE64_URL, false));
	*ret = act;
	return OK;
}

const char *console_reason(const struct json *doc)
{
	const char *text = json_get_text(doc, "reason", "");

	return strlen(text) <= CONSOLE_REASON_MOST ? text : NULL;
}

int console_read_act(struct call *c, const char *verb, const char *kind, const char *place,
	struct bytes *ret_message, struct json **ret, struct err *e)
{
	const char *text = json_get_text(c->body, "message", "");
	const size_t n = strlen(PASSKEY_ACT_DOMAIN);
	int64_t at = 0, now = c->server->sys->now_us(c->server->sys);
	struct json *act;
	struct bytes nonce;

	if (!text_starts(text, PASSKEY_ACT_DOMAIN) ||
		json_parse(c->a, bytes_of(text + n), "act", NULL, &act, NULL) ||
		!bytes_eq(passkey_message(c->a, act), bytes_of(text)))
		return call_refuse(c, e, 400, "BAD_REQUEST", "this is no act that was written here");
	const char *when = json_get_text(act, "at", ""), *word = json_get_text(act, "nonce", "");
	if (!text_eq(json_get_text(act, "act", ""), verb) || !text_eq(json_get_text(act, kind, ""), place))
		return call_refuse(c, e, 403, "ACT_OTHER", "this was signed for something else");
	if (!text_parse_time(when, strlen(when), &at) || at > now + 60 * SECOND_US ||
		at < now - OLDEST_S * SECOND_US ||
		!base64_decode(c->a, word, strlen(word), BASE64_URL, false, &nonce) ||
		nonce.n != SHA256_SIZE || !console_take_challenge(c, nonce.p))
		return call_refuse(c, e, 403, "CHALLENGE_USED",
			"this was signed too long ago, or was shown before; look again, and sign anew");
	*ret_message = bytes_of(text);
	*ret = act;
	return OK;
}

int console_read_terms(struct call *c, const struct json *request, struct approval_terms *ret, struct err *e)
{
	const char *reach = json_get_text(c->body, "reach", "once");
	int64_t now = c->server->sys->now_us(c->server->sys), hours = json_get_int(c->body, "hours", 8);
	const char *end = json_get_text(request, "expires_at", "");
	bool is_once = text_eq(reach, "once");

	if (!is_once && !text_eq(reach, "shape"))
		return call_refuse(c, e, 400, "BAD_REQUEST", "reach is once or shape");
	if (hours < 1 || hours > 720)
		return call_refuse(c, e, 400, "BAD_REQUEST", "hours is 1 to 720");
	*ret = (struct approval_terms){ .reach = is_once ? REACH_EXACT : REACH_SHAPE,
		.is_once = is_once,
		.expires_us = (now + hours * 3600 * SECOND_US) / SECOND_US * SECOND_US };
	if (is_once && !text_parse_time(end, strlen(end), &ret->expires_us))
		return err_set(e, E_CORRUPT, "APPROVAL_TIME", "the request has no end");
	ret->expires_us = ret->expires_us / SECOND_US * SECOND_US;
	return OK;
}
