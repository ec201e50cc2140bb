/* trace.c — W3C trace context in and out, and spans over OTLP/HTTP.
 *
 * A span has method, route, status, and of a decision its ids, verdict and reason code; neither arguments nor keys nor who asked. */
#include "base/hash.h"
#include "base/text.h"
#include "serve/metrics.h"
#include "serve/web.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SPANS_MOST = 2048, BATCH = 128, SEND_MS = 1000 };

/* ---- context ---- */

static bool is_hex(const char *p, size_t n)
{
	bool is_set = false;

	for (size_t i = 0; i < n; i++) {
		if (!strchr("0123456789abcdef", p[i]) || !p[i])
			return false;
		is_set |= p[i] != '0';
	}
	return is_set;
}

/* "00-<32>-<16>-<2>"; later versions may have more behind it, ff is none. */
static bool read_parent(const char *text, struct trace *t)
{
	uint8_t flags;

	if (!text || strlen(text) < 55 || text[2] != '-' || text[35] != '-' || text[52] != '-' ||
		strncmp(text, "ff", 2) == 0 || !strchr("0123456789abcdef", text[0]) ||
		!strchr("0123456789abcdef", text[1]) || (strncmp(text, "00", 2) == 0 && text[55]) ||
		(text[55] && text[55] != '-') || !is_hex(text + 3, 32) || !is_hex(text + 36, 16) ||
		!hex_decode(text + 53, 2, &flags, 1, true))
		return false;
	snprintf(t->trace_id, sizeof(t->trace_id), "%.32s", text + 3);
	snprintf(t->parent_id, sizeof(t->parent_id), "%.16s", text + 36);
	t->is_sampled = flags & 1;
	return true;
}

void trace_begin(struct call *c)
{
	struct sys *s = c->server->sys;
	struct trace *t = &c->trace;
	uint8_t raw[24];

	if (s->random(s, raw, sizeof(raw)))
		return;
	/* Who calls from elsewhere does not say what our traces are, only which of theirs this belongs to. */
	bool is_far = !c->peer.is_local && !c->peer.is_loopback;
	if (read_parent(call_header(c, "traceparent"), t) && is_far)
		memcpy(t->linked_id, t->trace_id, sizeof(t->linked_id));
	if (!t->trace_id[0] || is_far) {
		hex_encode(raw, 16, t->trace_id);
		t->is_sampled = true;
	}
	hex_encode(raw + 16, 8, t->span_id);
}

const char *trace_header(struct call *c)
{
	return arena_printf(c->a, "traceparent: 00-%s-%s-%s", c->trace.trace_id, c->trace.span_id,
		c->trace.is_sampled ? "01" : "00");
}

/* ---- spans ---- */

struct spans {
	struct server *s;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t arrived;
	char *list[SPANS_MOST];
	size_t n;
	uint64_t dropped;
	bool is_over;
	const char *url;
};

static void attribute(struct arena *a, struct json *list, const char *name, const char *value)
{
	struct json *row = json_new(a, JSON_OBJECT), *v = json_new(a, JSON_OBJECT);

	if (!value || !*value)
		return;
	json_sets(a, v, "stringValue", value);
	json_sets(a, row, "key", name);
	json_set(a, row, "value", v);
	json_push(a, list, row);
}

static struct json *span_of(struct arena *a, const struct call *c, int64_t began_us, int64_t ended_us)
{
	static const char *const members[][2] = { { "decision_id", "helm.decision_id" },
		{ "receipt_id", "helm.receipt_id" }, { "verdict", "helm.verdict" },
		{ "reason_code", "helm.reason_code" } };
	struct json *span = json_new(a, JSON_OBJECT), *list = json_new(a, JSON_ARRAY),
		    *status = json_new(a, JSON_OBJECT);
	const char *route = c->route ? c->route->path : "(none)";

	json_sets(a, span, "traceId", c->trace.trace_id);
	json_sets(a, span, "spanId", c->trace.span_id);
	if (c->trace.linked_id[0]) {
		struct json *links = json_new(a, JSON_ARRAY), *link = json_new(a, JSON_OBJECT);
		json_sets(a, link, "traceId", c->trace.linked_id);
		json_sets(a, link, "spanId", c->trace.parent_id);
		json_push(a, links, link);
		json_set(a, span, "links", links);
	} else if (c->trace.parent_id[0]) {
		json_sets(a, span, "parentSpanId", c->trace.parent_id);
	}
	json_sets(a, span, "name", arena_printf(a, "%s %s", c->route ? c->route->method : "HTTP", route));
	json_seti(a, span, "kind", 2);
	json_sets(a, span, "startTimeUnixNano", arena_printf(a, "%lld000", (long long)began_us));
	json_sets(a, span, "endTimeUnixNano", arena_printf(a, "%lld000", (long long)ended_us));
	attribute(a, list, "http.request.method", c->route ? c->route->method : NULL);
	attribute(a, list, "http.route", route);
	attribute(a, list, "http.response.status_code", arena_printf(a, "%d", c->status));
	for (size_t i = 0; i < ARRAY_SIZE(members); i++)
		attribute(a, list, members[i][1], json_get_text(c->telemetry, members[i][0], ""));
	json_set(a, span, "attributes", list);
	json_seti(a, status, "code", c->status >= 500 ? 2 : 0);
	json_set(a, span, "status", status);
	return span;
}

void spans_put(struct spans *t, const struct call *c, int64_t began_us, int64_t ended_us)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct buf text;

	if (!t || !c->trace.is_sampled || !c->trace.span_id[0])
		return;
	buf_init(&text, &a);
	json_write(&text, span_of(&a, c, began_us, ended_us), 0);
	char *copy = strdup(text.p);
	pthread_mutex_lock(&t->lock);
	if (copy && t->n < SPANS_MOST) {
		t->list[t->n++] = copy;
		copy = NULL;
		pthread_cond_signal(&t->arrived);
	} else {
		__atomic_add_fetch(&t->dropped, 1, __ATOMIC_RELAXED);
	}
	pthread_mutex_unlock(&t->lock);
	free(copy);
}

uint64_t spans_dropped(const struct spans *t)
{
	return t ? __atomic_load_n(&t->dropped, __ATOMIC_RELAXED) : 0;
}

static void send_spans(struct spans *t, char **list, size_t n)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct web_answer answer;
	struct buf text;
	struct err e = { 0 };

	buf_init(&text, &a);
	buf_adds(&text,
		"{\"resourceSpans\":[{\"resource\":{\"attributes\":[{\"key\":\"service.name\",\"value\":{\"stringValue\":\"helm-serve\"}}]},"
		"\"scopeSpans\":[{\"scope\":{\"name\":\"helm\",\"version\":\"" HELM_VERSION
		"\"},\"spans\":[");
	for (size_t i = 0; i < n; i++) {
		buf_addf(&text, "%s%s", i ? "," : "", list[i]);
		free(list[i]);
	}
	buf_adds(&text, "]}]}]}");
	const struct web_ask q = { .url = t->url, .body = buf_bytes(&text), .timeout_ms = SEND_MS };
	if (web_ask(&a, &q, &answer, &e) || answer.status / 100 != 2) {
		pthread_mutex_lock(&t->lock);
		__atomic_add_fetch(&t->dropped, n, __ATOMIC_RELAXED);
		pthread_mutex_unlock(&t->lock);
	}
}

static void *be_sender(void *arg)
{
	struct spans *t = arg;
	char *batch[BATCH];

	pthread_mutex_lock(&t->lock);
	for (;;) {
		while (!t->n && !t->is_over)
			pthread_cond_wait(&t->arrived, &t->lock);
		if (!t->n)
			break;
		size_t n = t->n < BATCH ? t->n : BATCH;
		memcpy(batch, t->list, n * sizeof(*batch));
		memmove(t->list, t->list + n, (t->n - n) * sizeof(*t->list));
		t->n -= n;
		pthread_mutex_unlock(&t->lock);
		send_spans(t, batch, n);
		pthread_mutex_lock(&t->lock);
		/* Whoever takes nothing does not hold up the end. */
		if (t->is_over && t->dropped) {
			while (t->n)
				free(t->list[--t->n]);
			break;
		}
	}
	pthread_mutex_unlock(&t->lock);
	return NULL;
}

struct spans *spans_start(struct server *s, struct err *e)
{
	const char *base = s->o.otlp ? s->o.otlp : s->sys->getenv(s->sys, "OTEL_EXPORTER_OTLP_ENDPOINT");

	if (!base || !*base)
		base = s->sys->getenv(s->sys, "HELM_OTLP_ENDPOINT");
	sigset_t all, old;

	(void)e;
	if (!base || !*base)
		return NULL;
	struct spans *t = calloc(1, sizeof(*t));
	if (!t)
		mem_exhausted(0);
	t->s = s;
	t->url = arena_printf(&s->a, "%s%s", base, text_ends(base, "/v1/traces") ? "" : "/v1/traces");
	pthread_mutex_init(&t->lock, NULL);
	pthread_cond_init(&t->arrived, NULL);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	if (pthread_create(&t->thread, NULL, be_sender, t))
		BUG("no thread");
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return t;
}

void spans_stop(struct spans *t)
{
	if (!t)
		return;
	pthread_mutex_lock(&t->lock);
	t->is_over = true;
	pthread_cond_signal(&t->arrived);
	pthread_mutex_unlock(&t->lock);
	pthread_join(t->thread, NULL);
	free(t);
}
