/* remote.c — `helm ... --url`: one question to a boundary elsewhere, for the program that has no network of its own.
 *
 * The key comes from a file or from HELM_KEY, never from the command line, where everybody on the machine could read it. */
#include "serve/remote.h"

#include "base/file.h"
#include "base/text.h"
#include "serve/web.h"

#include <fcntl.h>
#include <string.h>

enum { ASK_MS = 30000, ANSWER_MOST = 64 << 20 };

static int read_key(struct sys *s, struct arena *a, const struct json *o, const char **ret, struct err *e)
{
	const char *file = json_get_text(o, "key_file", NULL);
	struct bytes text;

	*ret = s->getenv(s, "HELM_KEY");
	if (!file)
		return OK;
	int rc = file_read(s, a, AT_FDCWD, file, 4096, FILE_FOLLOW, &text, e);
	if (rc)
		return rc;
	char *key = arena_strndup(a, (const char *)text.p, text.n);
	key[strcspn(key, "\r\n")] = '\0';
	*ret = key;
	return *key ? OK : err_set(e, E_INPUT, "ASK_KEY", "%s holds no key", file);
}

int remote_ask(struct sys *s, struct arena *a, const struct json *o, struct json **ret, struct err *e)
{
	static const char local[] = "unix:";
	const char *url = json_get_text(o, "url", ""), *path = json_get_text(o, "path", "");
	const struct json *body = json_get(o, "body");
	bool is_local = text_starts(url, local);
	struct web_ask q = { .method = json_get_text(o, "method", "GET"),
		.socket = is_local ? url + strlen(local) : NULL,
		.url = arena_printf(a, "%s%s", is_local ? "http://localhost" : url, path),
		.ca_file = json_get_text(o, "ca", NULL),
		.cert_file = json_get_text(o, "client_cert", NULL),
		.key_file = json_get_text(o, "client_key", NULL),
		.timeout_ms = ASK_MS,
		.most_bytes = ANSWER_MOST };
	struct web_answer answer;
	struct json *doc;
	struct buf text;
	int rc = read_key(s, a, o, &q.token, e);

	if (rc)
		return rc;
	buf_init(&text, a);
	if (body) {
		json_write(&text, body, 0);
		q.body = buf_bytes(&text);
	}
	rc = web_ask(a, &q, &answer, e);
	if (rc)
		return err_wrap(e, "%s", url);
	if (json_parse(a, answer.body, "answer", NULL, &doc, NULL))
		return err_set(e, E_INPUT, "ASK_ANSWER", "%s answers %d, and no JSON: is it 'helm serve'?",
			url, answer.status);
	*ret = json_new(a, JSON_OBJECT);
	json_seti(a, *ret, "status", answer.status);
	json_set(a, *ret, "body", doc);
	return OK;
}
