/* upstream.c — vendors: which one serves a model, its key, and what is sent there.
 *
 * A key lives in a file, a variable, a credential of systemd, or comes from a command.  It stands in the header that is sent and nowhere else: no error,
 * log line or receipt repeats it, nor what a command said. */
#include "base/file.h"
#include "base/proc.h"
#include "base/text.h"
#include "serve/proxy/parts.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { KEY_MOST = 16 << 10, KEY_MS = 10000, KEY_S = 300 };

static bool is_listed(const char *const *patterns, const char *word)
{
	for (; *patterns; patterns++)
		if (text_glob(*patterns, word, false))
			return true;
	return false;
}

const struct upstream *upstream_for(const struct proxy *p, const char *model)
{
	for (size_t i = 0; i < p->upstream_n; i++)
		if (is_listed(p->upstreams[i].models, model))
			return &p->upstreams[i];
	/* A path without a model (a list of them, a file) goes to the first. */
	return *model ? NULL : &p->upstreams[0];
}

bool upstream_is_allowed(const struct proxy *p, const struct upstream *u, const char *model)
{
	return (!p->providers || is_listed(p->providers, u->provider)) &&
		(!p->models || !*model || is_listed(p->models, model));
}

/* ---- keys ---- */

/* The first line, without blanks at its end.  One with anything but visible characters is none. */
static const char *clean(struct arena *a, const char *text, size_t n)
{
	char *line = arena_strndup(a, text, n);

	line[strcspn(line, "\r\n")] = '\0';
	for (size_t i = strlen(line); i && strchr(" \t", line[i - 1]); i--)
		line[i - 1] = '\0';
	for (const char *p = line; *p; p++)
		if (*p <= ' ' || *p > '~')
			return NULL;
	return *line ? line : NULL;
}

static const char *from_file(struct sys *s, struct arena *a, const char *file)
{
	struct bytes text;

	return file_read(s, a, AT_FDCWD, file, KEY_MOST, FILE_FOLLOW, &text, NULL)
		? NULL
		: clean(a, (const char *)text.p, text.n);
}

/* What the command said is kept for some minutes.  No lock is held where an arena is used. */
static const char *from_command(struct sys *s, struct arena *a, struct upstream *u)
{
	const struct proc_spec spec = PROC_SPEC(u->key_command);
	struct proc_output said;
	struct err e = { 0 };
	char copy[KEY_MOST] = "";

	pthread_mutex_lock(&u->lock);
	if (u->key && s->mono_us(s) - u->key_at_us < (int64_t)KEY_S * 1000000)
		snprintf(copy, sizeof(copy), "%s", u->key);
	pthread_mutex_unlock(&u->lock);
	if (*copy)
		return arena_strdup(a, copy);
	if (proc_capture(s, a, &spec, (struct bytes){ 0 }, KEY_MOST, KEY_MS, &said, &e) || said.end.code)
		return NULL;
	const char *key = clean(a, (const char *)said.out.p, said.out.n);
	if (!key || strlen(key) >= sizeof(copy))
		return NULL;
	pthread_mutex_lock(&u->lock);
	free(u->key);
	u->key = strdup(key);
	u->key_at_us = s->mono_us(s);
	pthread_mutex_unlock(&u->lock);
	return key;
}

int upstream_key(struct proxy *p, const struct upstream *u, struct arena *a, const char **ret, struct err *e)
{
	struct sys *s = p->s->sys;
	const char *key = NULL, *dir;

	*ret = NULL;
	switch (u->key_from) {
	case KEY_NONE:
		return OK;
	case KEY_ENV:
		key = s->getenv(s, u->key_name);
		key = key ? clean(a, key, strlen(key)) : NULL;
		break;
	case KEY_FILE:
		key = from_file(s, a, u->key_name);
		break;
	case KEY_CREDENTIAL:
		dir = s->getenv(s, "CREDENTIALS_DIRECTORY");
		key = dir && !strchr(u->key_name, '/')
			? from_file(s, a, arena_printf(a, "%s/%s", dir, u->key_name))
			: NULL;
		break;
	case KEY_COMMAND:
		key = from_command(s, a, (struct upstream *)(uintptr_t)u);
		break;
	}
	*ret = key;
	return key ? OK
		   : err_set(e, E_IO, "PROXY_KEY",
			     "there is no key for the upstream '%s'; look at its configuration", u->id);
}

/* ---- what is sent ---- */

static void add_escaped(struct buf *to, const char *text)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~:@,";

	for (; *text; text++)
		if (strchr(plain, *text))
			buf_addc(to, *text);
		else
			buf_addf(to, "%%%02X", (unsigned char)*text);
}

/* /v1/x is x of a base that has a path of its own; of one that is only a host, the whole path. */
const char *upstream_url(struct call *c, const struct upstream *u)
{
	const char *path = c->path, *host = strstr(u->url, "://") + 3;
	bool has_path = host[strcspn(host, "/")] && host[strcspn(host, "/") + 1];
	size_t n = strlen(u->url);
	struct buf url;

	if (has_path && (text_starts(path, "/v1/") || text_eq(path, "/v1")))
		path += 3;
	while (n && u->url[n - 1] == '/')
		n--;
	buf_init(&url, c->a);
	buf_add(&url, u->url, n);
	buf_adds(&url, path);
	for (size_t i = 0; i < c->query_count; i++) {
		buf_addc(&url, i ? '&' : '?');
		add_escaped(&url, c->query[i].name);
		buf_addc(&url, '=');
		add_escaped(&url, c->query[i].value);
	}
	return url.p;
}

/* Of this connection, ours, or set anew. */
static bool is_dropped(const struct call *c, const char *name, bool has_key)
{
	static const char *const always[] = { "host", "connection", "keep-alive", "proxy-authenticate",
		"proxy-authorization", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
		"content-length", "accept-encoding", "expect", "traceparent", "tracestate" };
	static const char *const keys[] = { "authorization", "x-api-key", "api-key" };
	const char *connection = call_header(c, "Connection");

	for (size_t i = 0; i < ARRAY_SIZE(always); i++)
		if (strcasecmp(name, always[i]) == 0)
			return true;
	for (size_t i = 0; has_key && i < ARRAY_SIZE(keys); i++)
		if (strcasecmp(name, keys[i]) == 0)
			return true;
	return strncasecmp(name, "x-helm-", 7) == 0 || (connection && strcasestr(connection, name));
}

/* A key of ours, or the text that opens this proxy: for nobody else, whatever the vendor's is and whichever header has it. */
static bool is_for_us(const struct call *c, const char *value)
{
	static const char bearer[] = "Bearer ";
	const char *token = c->server->proxy->client_token;

	if (strncasecmp(value, bearer, strlen(bearer)) == 0)
		value += strlen(bearer);
	return text_starts(value, "helm_") || (token && text_eq(value, token));
}

const char **upstream_headers(struct call *c, const struct form *form, const char *key)
{
	const char **lines = arena_zalloc(c->a, c->header_count + 6, sizeof(*lines));
	bool has_type = call_header(c, "Content-Type") != NULL;
	size_t n = 0;

	for (size_t i = 0; i < c->header_count; i++) {
		const struct pair *h = &c->headers[i];
		bool is_ours = strstr(h->value, "helm_") != NULL || is_of_the_boundary(c);
		if (!is_for_us(c, h->value) && !is_dropped(c, h->name, key || is_ours))
			lines[n++] = *h->value ? arena_printf(c->a, "%s: %s", h->name, h->value)
					       : arena_printf(c->a, "%s;", h->name);
	}
	if (key)
		lines[n++] = form == &form_messages ? arena_printf(c->a, "x-api-key: %s", key)
						    : arena_printf(c->a, "Authorization: Bearer %s", key);
	if (c->trace.trace_id[0])
		lines[n++] = arena_printf(c->a, "traceparent: 00-%s-%s-%s", c->trace.trace_id,
			c->trace.span_id, c->trace.is_sampled ? "01" : "00");
	lines[n++] = "Expect:";
	if (!has_type)
		lines[n++] = "Content-Type:";
	return lines;
}
