/* ship_ask.c — this machine asks the ledger: signed by its own key, by the ledger's clock. */
#include "base/hash.h"
#include "base/text.h"
#include "serve/fleet/ship.h"
#include "serve/web.h"

#include <stdlib.h>
#include <string.h>

static int send_once(struct shipper *h, const char *method, const char *path, struct bytes body,
	const char *type, int64_t timeout_ms, struct reply *ret, struct err *e)
{
	struct arena *a = h->a;
	const char *origin = json_get_text(h->joined, "origin", ""),
		   *url = json_get_text(h->joined, "url", "");
	struct fleet_request q = { origin, method, path, body,
		h->sys->now_us(h->sys) / 1000000 + h->ahead_s };
	uint8_t signature[SIGN_SIZE];
	char hex[2 * SIGN_SIZE + 1], id[KEY_ID];
	struct web_answer answer;
	int rc = fleet_sign(a, h->key, &q, signature, e);

	if (rc)
		return rc;
	hex_encode(signature, sizeof(signature), hex);
	key_id(key_public(h->key), id);
	static const char local[] = "unix:";
	bool is_local = text_starts(url, local);
	struct web_ask ask = { .method = method,
		.socket = is_local ? url + strlen(local) : NULL,
		.url = arena_printf(a, "%s%s", is_local ? "http://localhost" : url, path),
		.ca_file = json_get_text(h->joined, "ca", NULL),
		.headers = { arena_printf(a, "Helm-Origin: %s", origin), arena_printf(a, "Helm-Key: %s", id),
			arena_printf(a, "Helm-Time: %lld", (long long)q.time_s),
			arena_printf(a, "Helm-Signature: %s", hex) },
		.header_count = 4,
		.body = body,
		.type = type,
		.timeout_ms = timeout_ms,
		.most_bytes = 8 << 20 };
	rc = web_ask(a, &ask, &answer, e);
	if (rc)
		return rc;
	*ret = (struct reply){ .status = answer.status, .code = "", .text = "" };
	if (json_parse(a, answer.body, "answer", NULL, &ret->doc, NULL) || !json_is(ret->doc, JSON_OBJECT))
		return err_set(e, E_IO, "FLEET_ANSWER", "%s answers %d, and not as a ledger does", url,
			answer.status);
	const struct json *error = json_get(ret->doc, "error");
	ret->code = json_get_text(error, "code", "");
	ret->text = json_get_text(error, "message", "");
	return OK;
}

/* "...; here it is 1767225600" */
static bool read_clock(const struct reply *r, int64_t *ret_s)
{
	static const char words[] = "here it is ";
	const char *at = strstr(r->text, words);

	return at && text_int(at + strlen(words), ret_s);
}

int ship_ask(struct shipper *h, const char *method, const char *path, struct bytes body, const char *type,
	int64_t timeout_ms, struct reply *ret, struct err *e)
{
	int64_t theirs;
	int rc = send_once(h, method, path, body, type, timeout_ms, ret, e);

	if (rc || ret->status != 401 || !text_eq(ret->code, "FLEET_CLOCK") || !read_clock(ret, &theirs))
		return rc;
	h->ahead_s = theirs - h->sys->now_us(h->sys) / 1000000;
	json_seti(h->a, h->state, "clock_ahead_s", h->ahead_s);
	return send_once(h, method, path, body, type, timeout_ms, ret, e);
}

void ship_stop(struct shipper *h, struct json *where, const char *code, const char *why)
{
	struct json *doc = json_new(h->a, JSON_OBJECT);

	json_sets(h->a, doc, "code", code);
	json_sets(h->a, doc, "why", why);
	json_sets(h->a, doc, "at", text_time_z(h->a, h->sys->now_us(h->sys)));
	json_set(h->a, where, "stopped", doc);
}
