/* run_trace.h — what a run did, in the shape that people compare and learn from.
 *
 * A trace is a view: of a task it is made from its newest row, whenever somebody looks, so nothing is written for it and nothing can disagree with
 * the record.  Files of <state>/traces/ that the Python Helm or another runtime left are read beside it (docs/formats/traces.md). */
#ifndef REMEMBER_RUN_TRACE_H
#define REMEMBER_RUN_TRACE_H

#include "base/err.h"
#include "base/json.h"
#include "base/sys.h"

struct trace_place {
	struct sys *sys;
	struct arena *a;
	int state_fd;
	const char *dir; /* another directory of files than traces/; or NULL */
};

enum { TRACES_LOOKED_AT = 200 };

/* {taskId, startedAt, profile, skill, inputSummary, toolSequence, changedFiles, governanceDecisions, evidenceContracts, validationGates, failureSignature, outcome, status,
 * replayHint, skillCandidate} of a row. */
struct json *trace_of_row(struct arena *a, const struct json *row);
/* The newest, at most so many, newest first. */
int trace_newest(const struct trace_place *t, size_t most, struct json **ret, struct err *e);
/* One of them.  E_USAGE TRACE_ID, E_MISSING TRACE_UNKNOWN. */
int trace_get(const struct trace_place *t, const char *id, struct json **ret, struct err *e);

/* What repeats among traces (newest first): {scaffold [{skill, task_name, name, count, sample_trace_ids}], repair [{fingerprint, count,
 * example_skill, sample_trace_ids}], compound [{skill, sequence, count, sample_trace_ids}]}. */
struct trace_least {
	size_t success, failures, repeats;
};
struct json *trace_candidates(struct arena *a, const struct json *traces, const struct trace_least *least);
/* A name without case and superfluous blanks. */
const char *trace_normal(struct arena *a, const char *name);
/* [{field, before, after}] of two of them. */
struct json *trace_diff(struct arena *a, const struct json *x, const struct json *y);
/* A row that ends a task as a span of OpenTelemetry (GenAI conventions): one line of OTLP JSON. */
void trace_span_put(struct buf *to, const struct json *row);

#endif
