/* conf.h — YAML into the JSON tree, for the files people write (policies, loops, packs).
 *
 * libyaml's event interface only, with limits: depth 64, 8 MiB, 500 000 nodes, no anchors and aliases, no
 * tags but the core ones, no duplicate or non-string keys.  Plain scalars follow the YAML 1.2 core schema (null, true,
 * false, integers, floats; everything else is a string: "no" and "12:30" stay text).
 * `at` of each value is the byte where it begins in the text, as for JSON. */
#ifndef BASE_CONF_H
#define BASE_CONF_H

#include "base/json.h"

/* One document; a second is refused. */
int conf_parse_yaml(struct arena *a, struct bytes text, const char *name, struct json **ret, struct err *e);
/* All documents of the text, at least one, as a list. */
int conf_parse_yaml_all(
	struct arena *a, struct bytes text, const char *name, struct json **ret, struct err *e);

#endif
