/* conform.h — inside serve/: published vectors against a boundary over HTTP. */
#ifndef SERVE_CONFORM_H
#define SERVE_CONFORM_H

#include "base/json.h"
#include "base/sys.h"
#include "record/record.h"

/* `o`: {endpoint, vectors, binding, token_env, timeout_ms, tenant, principal}.  OK also when vectors fail; E_IO CONFORM_UNREACHABLE when nothing
 * answered at all. */
int conform_remote(struct sys *s, struct arena *a, const struct json *o, struct json **ret, struct err *e);

#endif
