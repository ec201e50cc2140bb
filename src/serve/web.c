/* web.c — asking others over HTTP by libcurl: the only file that knows it.
 *
 * One question, one answer, within a time and a size.  No redirect is followed, no proxy is taken from the environment, certificates are
 * verified.  What comes back is bytes: whoever asked says what they may be. */
#include "serve/web.h"
#include "base/text.h"

#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>

struct taking {
	char *p;
	size_t n, most;
	bool is_too_much;
};

/* Not in the arena: running out of it must not jump over the library. */
static size_t take(char *data, size_t size, size_t n, void *arg)
{
	struct taking *t = arg;

	n *= size;
	if (n > t->most - t->n) {
		t->is_too_much = true;
		return 0;
	}
	char *more = realloc(t->p, t->n + n + 1);
	if (!more)
		return 0;
	memcpy(more + t->n, data, n);
	t->p = more;
	t->n += n;
	return n;
}

static void free_taking(struct taking *t)
{
	free(t->p);
}

static void free_list(struct curl_slist **l)
{
	curl_slist_free_all(*l);
}

static void free_easy(CURL **h)
{
	curl_easy_cleanup(*h);
}

int web_start(struct err *e)
{
	return curl_global_init(CURL_GLOBAL_DEFAULT) ? err_set(e, E_IO, "WEB_START", "libcurl does not start")
						     : OK;
}

static void set_up(CURL *h, const struct web_ask *q, struct curl_slist *headers, struct taking *t)
{
	curl_easy_setopt(h, CURLOPT_URL, q->url);
	curl_easy_setopt(h, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(h, CURLOPT_PROXY, "");
	curl_easy_setopt(h, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(h, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(h, CURLOPT_TIMEOUT_MS, (long)q->timeout_ms);
	curl_easy_setopt(h, CURLOPT_HTTPHEADER, headers);
	curl_easy_setopt(h, CURLOPT_WRITEFUNCTION, take);
	curl_easy_setopt(h, CURLOPT_WRITEDATA, t);
	if (q->socket)
		curl_easy_setopt(h, CURLOPT_UNIX_SOCKET_PATH, q->socket);
	if (q->ca_file)
		curl_easy_setopt(h, CURLOPT_CAINFO, q->ca_file);
	if (q->cert_file) {
		curl_easy_setopt(h, CURLOPT_SSLCERT, q->cert_file);
		curl_easy_setopt(h, CURLOPT_SSLKEY, q->key_file);
	}
	if (q->body.p) {
		curl_easy_setopt(h, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)q->body.n);
		curl_easy_setopt(h, CURLOPT_POSTFIELDS, q->body.p);
	}
	if (q->method)
		curl_easy_setopt(h, CURLOPT_CUSTOMREQUEST, q->method);
}

static int fault_of(CURLcode code, const struct taking *t, struct err *e)
{
	if (t->is_too_much)
		return err_set(e, E_LIMIT, "WEB_TOO_LARGE", "the answer is larger than %zu bytes", t->most);
	if (code == CURLE_OPERATION_TIMEDOUT)
		return err_set(e, E_IO, "WEB_TIMEOUT", "there was no answer in time");
	return err_set(e, E_IO, "WEB_UNREACHABLE", "%s", curl_easy_strerror(code));
}

int web_ask(struct arena *a, const struct web_ask *q, struct web_answer *ret, struct err *e)
{
	AUTO(free_taking) struct taking t = { .most = q->most_bytes ? q->most_bytes : 1 << 20 };
	AUTO(free_list) struct curl_slist *headers = NULL;
	AUTO(free_easy) CURL *h = curl_easy_init();
	long status = 0;

	if (!h)
		return err_set(e, E_IO, "WEB_START", "libcurl does not start");
	for (size_t i = 0; i < q->header_count; i++)
		headers = curl_slist_append(headers, q->headers[i]);
	if (q->token)
		headers = curl_slist_append(headers, arena_printf(a, "Authorization: Bearer %s", q->token));
	if (q->body.p)
		headers = curl_slist_append(headers, "Content-Type: application/json");
	set_up(h, q, headers, &t);
	CURLcode code = curl_easy_perform(h);
	if (code != CURLE_OK)
		return fault_of(code, &t, e);
	(void)curl_easy_getinfo(h, CURLINFO_RESPONSE_CODE, &status);
	ret->status = (int)status;
	ret->body = (struct bytes){ (const uint8_t *)arena_strndup(a, t.p ? t.p : "", t.n), t.n };
	return OK;
}
