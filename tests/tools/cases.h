/* cases.h — tables of cases as data: one JSON object per line in tests/cases/NAME.jsonl, {"name","given","expect"}. */
#ifndef TOOLS_CASES_H
#define TOOLS_CASES_H

#include "base/json.h"

/* Calls fn for each line; a file that is missing, empty or unreadable aborts the test. */
typedef void cases_fn(struct arena *a, const char *name, const struct json *given, const struct json *expect);
void cases_run(const char *file, cases_fn *fn);

/* A whole file of the source tree, or abort. */
struct bytes cases_read(struct arena *a, const char *path);

/* The bytes a case means: a string stands for itself, {"hex": "..."} for what JSON text cannot hold. */
struct bytes cases_bytes(struct arena *a, const struct json *given);

#endif
