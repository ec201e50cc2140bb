/* identifier.h — names of things across systems: urn:helm:<type>:<identifier>. */
#ifndef MODEL_IDENTIFIER_H
#define MODEL_IDENTIFIER_H

#include "base/mem.h"

#include <stdbool.h>

/* Well-formed: scheme in lower case, a known type, 1 to 255 of [A-Za-z0-9._-]; content-addressed types (receipt, decision,
 * pgnode, effect-digest, bundle-hash) carry exactly a bare SHA-256 hash. */
bool urn_is_valid(const char *s);

#endif
