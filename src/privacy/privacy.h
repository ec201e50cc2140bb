/* privacy.h — what must not be written down.
 *
 * One scanner for everything that is logged: command lines, reasons, the tails of output.  It looks for the shapes that
 * credentials have and replaces them by [REDACTED]; what a person needs to recognise the line stays. */
#ifndef PRIVACY_PRIVACY_H
#define PRIVACY_PRIVACY_H

#include "base/json.h"
#include "base/mem.h"

#define REDACTED "[REDACTED]"

/* The text with secrets replaced, in one pass; the same pointer when there was nothing to replace. */
const char *privacy_redact(struct arena *a, const char *text, size_t n, size_t *ret_n);

/* Every string in a tree, in place; a member whose name says "password" and the like is replaced whole. */
void privacy_redact_json(struct arena *a, struct json *v);

#endif
