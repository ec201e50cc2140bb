/* schema.h — the subset of JSON Schema (2020-12, and draft-07 where they agree) that our contracts use.
 *
 * Known: type, const, enum, properties, required, additionalProperties, patternProperties, propertyNames, minProperties,
 * maxProperties, items, prefixItems, contains, minItems, maxItems, uniqueItems, minLength, maxLength, pattern, format
 * (date-time, uri, uuid checked; others are annotations), minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf,
 * allOf, anyOf, oneOf, not, if/then/else, dependentRequired, $ref within the document (#, #/..., $id-relative to itself),
 * $defs and definitions.  A keyword that would constrain and is not known is refused at compile time
 * (SCHEMA_UNSUPPORTED): a schema we only half understand must not say "valid". */
#ifndef BASE_SCHEMA_H
#define BASE_SCHEMA_H

#include "base/json.h"

struct schema;

int schema_compile(
	struct arena *a, const struct json *doc, const char *name, struct schema **ret, struct err *e);

/* OK, or E_INPUT with code SCHEMA_VIOLATION and the first violation in document order: instance path, keyword, and what
 * was expected and found. */
int schema_check(const struct schema *s, const struct json *instance, struct err *e);

#endif
