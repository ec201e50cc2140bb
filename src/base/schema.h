/* schema.h — the subset of JSON Schema (2020-12, and draft-07 where they agree) that our contracts use.
 *
 * Known: type, const, enum, properties, required, additionalProperties, patternProperties, propertyNames, minProperties,
 * maxProperties, items, prefixItems, contains, minItems, maxItems, uniqueItems, minLength, maxLength, pattern, format
 * (date-time, uri, uuid checked; others are annotations), minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf,
 * allOf, anyOf, oneOf, not, if/then/else, dependentRequired, $ref within the document (#, #/..., $id-relative to itself),
 * $defs and definitions; titles and other annotations, and names that start with x-.  Any other keyword is refused
 * at compile time (SCHEMA_UNSUPPORTED): a schema we only half understand must not say "valid".  Numbers are compared as the
 * decimals they are, never as doubles. */
#ifndef BASE_SCHEMA_H
#define BASE_SCHEMA_H

#include "base/json.h"

struct schema;

/* Errors: SCHEMA_UNSUPPORTED, SCHEMA_INVALID, SCHEMA_REF, each with the place in the schema.  The result lives in `a` and
 * needs `doc` no longer. */
int schema_compile(
	struct arena *a, const struct json *doc, const char *name, struct schema **ret, struct err *e);

/* OK, or E_INPUT with code SCHEMA_VIOLATION and the first violation: path of the value, keyword, what was expected and
 * found.  A value's own rules come before those of its members, and members in document order.  E_LIMIT (SCHEMA_LIMIT,
 * SCHEMA_NUMBER, PATTERN_LIMIT) when there is no answer: treat it as not valid. */
int schema_check(const struct schema *s, const struct json *instance, struct err *e);

#endif
