/* touch.c — what people sign with passkeys in the console of a fleet's front end, looked at where it takes effect (docs/formats/fleet-orders.md).
 *
 * The front end looks at it, too, before it asks for an order; a front end that was taken over is why each machine does so again, by the list that the
 * root key has signed.  The act names the fleet, the kind of order, the machines and the reason: it is good for nothing else. */
#include "base/text.h"
#include "kernel/fleet/parts.h"
#include "kernel/passkey.h"

#include <stdlib.h>
#include <string.h>

static bool is_same(struct arena *a, const struct json *x, const struct json *y)
{
	return x && y && text_eq(json_sha256(a, x), json_sha256(a, y));
}

/* Does this act, as a passkey signs it, say this order: its kind, origin, machines and reason? */
static bool is_act_of(struct arena *a, const char *message, const struct json *order)
{
	const struct json *body = json_get(order, "body");
	struct json *act;

	return text_starts(message, PASSKEY_ACT_DOMAIN) &&
		json_parse(a, bytes_of(message + sizeof(PASSKEY_ACT_DOMAIN) - 1), "act", NULL, &act, NULL) ==
		OK &&
		bytes_eq(passkey_message(a, act), bytes_of(message)) &&
		text_eq(json_get_text(act, "act", ""), json_get_text(order, "kind", "?")) &&
		text_eq(json_get_text(act, "origin", ""), json_get_text(order, "origin", "?")) &&
		text_eq(json_get_text(act, "reason", ""), json_get_text(body, "reason", "")) &&
		text_eq(json_get_text(act, "approval_id", ""), json_get_text(body, "approval_id", "")) &&
		text_eq(json_get_text(act, "session_id", ""), json_get_text(body, "session_id", "")) &&
		is_same(a, json_get(act, "nodes"), json_get(order, "nodes"));
}

/* An act that was signed long ago makes no new order. */
static bool is_of_that_time(
	const char *message, const struct json *order, struct arena *a, const char **ret_at)
{
	enum { APART_S = 900 };
	const char *ordered = json_get_text(order, "at", ""), *acted;
	int64_t x, y;
	struct json *act;

	if (json_parse(a, bytes_of(message + sizeof(PASSKEY_ACT_DOMAIN) - 1), "act", NULL, &act, NULL))
		return false;
	*ret_at = acted = json_get_text(act, "at", "");
	return text_parse_time(acted, strlen(acted), &x) && text_parse_time(ordered, strlen(ordered), &y) &&
		llabs(x - y) <= APART_S * 1000000LL;
}

int fleet_order_person(struct sys *s, struct arena *a, const char *helm_home, const struct json *joined,
	const struct json *order, webauthn_es256 *es256, const struct json **ret, struct err *e)
{
	const struct json *signed_by = json_get(json_get(order, "body"), "signed");
	const char *message = json_get_text(signed_by, "message", ""), *signed_at = "";
	struct json *list, *proof;
	struct person who;

	*ret = NULL;
	if (!signed_by)
		return OK;
	if (!is_act_of(a, message, order))
		return err_set(e, E_DENIED, "FLEET_TOUCH", "what a person has signed is not this order");
	if (!is_of_that_time(message, order, a, &signed_at))
		return err_set(e, E_DENIED, "FLEET_TOUCH",
			"what a person has signed is of another time than this order");
	const struct fleet_answer answer = { .message = bytes_of(message),
		.passkey = json_get(signed_by, "passkey"),
		.signature = json_get_text(signed_by, "signature", ""),
		.es256 = es256 };
	int rc = fleet_approvers(s, a, helm_home, joined, &list, e);
	if (rc == OK)
		rc = fleet_person(a, list, &answer, NULL, &who, e);
	if (rc)
		return rc;
	proof = json_copy(a, who.proof);
	json_sets(a, proof, "message", message);
	json_sets(a, proof, "signed_at", signed_at);
	*ret = proof;
	return OK;
}
