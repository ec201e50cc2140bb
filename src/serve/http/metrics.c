/* metrics.c — GET /metrics. */
#include "serve/metrics.h"

static int metrics(struct call *c, struct err *e)
{
	struct buf text;

	(void)e;
	buf_init(&text, c->a);
	metrics_text(c->server, c->a, &text);
	call_bytes(c, 200, "text/plain; version=0.0.4; charset=utf-8", buf_bytes(&text));
	return OK;
}

const struct route http_metrics_routes[] = {
	{ "GET", "/metrics", AUTH_TENANT, SCOPE_READ, RATE_EVIDENCE, 0, metrics,
		"counts and times, in the text of Prometheus", NULL, NULL },
	{ 0 },
};
