/* metrics.h — inside serve/: what the server tells about itself: counts and times (metrics.c), spans (trace.c). */
#ifndef SERVE_METRICS_H
#define SERVE_METRICS_H

#include "base/text.h"
#include "serve/serve.h"

struct metrics *metrics_new(void);
void metrics_free(struct metrics *m);
/* One request was answered. */
void metrics_request(struct metrics *m, const struct call *c, int64_t us);
/* One decision is on record.  `reason` is a text of the registry, or "". */
void metrics_decision(struct metrics *m, enum verdict verdict, const char *rule, const char *reason,
	int64_t decide_us, int64_t record_us);
void metrics_text(struct server *s, struct arena *a, struct buf *b);

/* The caller's trace goes on (W3C trace context), or a new one begins; the answer names it. */
void trace_begin(struct call *c);
/* "traceparent: ..." for whoever is asked on behalf of this call. */
const char *trace_header(struct call *c);

/* Spans over OTLP/HTTP as JSON, by a thread of its own; what does not fit into its queue is dropped and counted.  NULL: nobody wants them. */
struct spans;
struct spans *spans_start(struct server *s, struct err *e);
void spans_put(struct spans *t, const struct call *c, int64_t began_us, int64_t ended_us);
void spans_stop(struct spans *t); /* what is left is sent, within a second */
uint64_t spans_dropped(const struct spans *t);

#endif
