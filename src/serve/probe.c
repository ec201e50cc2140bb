/* probe.c — one question over HTTP for somebody who has no network: `helm health probe`.
 *
 * The key is named and read here, from the environment: it stands in no argument, in no address and in nothing that is printed. */
#include "base/text.h"
#include "serve/remote.h"
#include "serve/web.h"

#include <string.h>

enum { MOST_BYTES = 1 << 20, SHOWN = 64 << 10 };

int remote_probe(struct sys *sys, struct arena *a, const struct json *q, struct json **ret, struct err *e)
{
	const char *auth = json_get_text(q, "auth", "none"), *name = json_get_text(q, "secret_env", NULL),
		   *key = name ? sys->getenv(sys, name) : NULL;
	struct json *doc = json_new(a, JSON_OBJECT);
	struct web_ask w = { .url = json_get_text(q, "url", ""),
		.timeout_ms = json_get_int(q, "timeout_ms", 30000),
		.most_bytes = MOST_BYTES };
	struct web_answer said = { 0 };
	struct err why = { 0 };
	struct buf body;

	if (!text_eq(auth, "none") && (!key || !*key))
		return err_set(
			e, E_INPUT, "ASK_KEY", "the variable %s is not set", name ? name : "of the key");
	if (text_eq(auth, "bearer"))
		w.token = key;
	else if (!text_eq(auth, "none"))
		w.headers[w.header_count++] = arena_printf(a, "%s: %s", auth, key);
	buf_init(&body, a);
	if (json_get(q, "body")) {
		json_write(&body, json_get(q, "body"), 0);
		w.body = buf_bytes(&body);
	}
	int64_t began = sys->mono_us(sys);
	int rc = web_ask(a, &w, &said, &why);
	json_seti(a, doc, "latency_ms", (sys->mono_us(sys) - began) / 1000);
	json_seti(a, doc, "status", rc ? 0 : said.status);
	if (rc) {
		json_sets(a, doc, "error", text_eq(why.code, "WEB_TIMEOUT") ? "timeout" : "failed");
	} else {
		size_t n = said.body.n > SHOWN ? SHOWN : said.body.n, clean;
		const char *text = text_utf8(a, (const char *)said.body.p, n, "?", &clean);
		json_set(a, doc, "body", json_stringn(a, text, clean));
	}
	*ret = doc;
	return OK;
}
