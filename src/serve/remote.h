/* remote.h — inside serve/: one question to a boundary elsewhere. */
#ifndef SERVE_REMOTE_H
#define SERVE_REMOTE_H

#include "base/json.h"
#include "base/sys.h"

/* `o`: {url (http:, https:, or unix:PATH), method, path, body?, key_file?, ca?, client_cert?, client_key?}.  *ret is {status, body}, for any status. */
int remote_ask(struct sys *s, struct arena *a, const struct json *o, struct json **ret, struct err *e);

/* `helm health probe`: a question to a provider of models, with the key that a variable holds: {status, body, error, latency_ms} (probe.c). */
int remote_probe(struct sys *s, struct arena *a, const struct json *q, struct json **ret, struct err *e);

#endif
