/* ask.h — inside serve/: one question to a boundary elsewhere. */
#ifndef SERVE_ASK_H
#define SERVE_ASK_H

#include "base/json.h"
#include "base/sys.h"

/* `o`: {url (http:, https:, or unix:PATH), method, path, body?, key_file?, ca?}.  *ret is {status, body}, for any status. */
int ask_remote(struct sys *s, struct arena *a, const struct json *o, struct json **ret, struct err *e);

/* `helm health probe`: a question to a provider of models, with the key that a variable holds: {status, body, error, latency_ms} (probe.c). */
int ask_probe(struct sys *s, struct arena *a, const struct json *q, struct json **ret, struct err *e);

#endif
