/* toml.h — the part of TOML that policy files use, into the JSON tree.
 *
 * Read: comments, tables `[a.b]`, keys (bare or quoted), texts ("..." with escapes, '...'), decimal integers, true and false, lists of these, and tables in braces.
 * Everything else that TOML has (dates, floats, dotted keys, lists of tables, texts of several lines, other bases) is refused by
 * name (TOML_UNSUPPORTED), never read half.  Limits: 1 MiB, lists and tables in braces 16 deep.  `at` of each value is the byte where it begins.
 * Errors: "name:line:column: expected ..., found ...", codes TOML_SYNTAX, TOML_UNSUPPORTED, TOML_DUPLICATE_KEY, TOML_UTF8 with E_INPUT,
 * TOML_SIZE with E_LIMIT. */
#ifndef BASE_TOML_H
#define BASE_TOML_H

#include "base/json.h"

int toml_parse(struct arena *a, struct bytes text, const char *name, struct json **ret, struct err *e);

#endif
