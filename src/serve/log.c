/* log.c — what the server says about itself: one JSON object a line on standard error, or text (HELM_LOG_FORMAT=text).
 *
 * No arguments, no commands, no keys: who asked for what stands in the chain. */
#include "base/text.h"
#include "serve/serve.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void log_line(struct server *s, const char *level, const struct call *c, const char *fmt, ...)
{
	AUTO(arena_done) struct arena a = { 0 };
	const char *format = s->sys->getenv(s->sys, "HELM_LOG_FORMAT");
	struct json *doc = json_new(&a, JSON_OBJECT);
	char text[1024];
	struct buf line;
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	buf_init(&line, &a);
	if (format && text_eq(format, "text")) {
		buf_addf(&line, "helm-serve: %s: %s\n", level, text_safe(&a, text, strlen(text), false));
	} else {
		json_sets(&a, doc, "time", text_time_z(&a, s->sys->now_us(s->sys)));
		json_sets(&a, doc, "level", level);
		json_sets(&a, doc, "msg", text);
		if (c) {
			json_sets(&a, doc, "surface", "api");
			json_sets(&a, doc, "method", c->method);
			json_sets(&a, doc, "route", c->route ? c->route->path : NULL);
			json_sets(&a, doc, "correlation_id", c->correlation_id);
			if (c->trace.trace_id[0])
				json_sets(&a, doc, "trace_id", c->trace.trace_id);
			if (json_get(c->telemetry, "receipt_id"))
				json_set(&a, doc, "receipt_id", json_get(c->telemetry, "receipt_id"));
		}
		json_write(&line, doc, 0);
		buf_addc(&line, '\n');
	}
	(void)!s->sys->write(s->sys, 2, line.p, line.n);
}
