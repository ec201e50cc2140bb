/* schema_node.h — a compiled schema, between schema.c (which makes it) and schema_check.c (which walks it). */
#ifndef BASE_SCHEMA_NODE_H
#define BASE_SCHEMA_NODE_H

#include "base/decimal.h"
#include "base/json.h"
#include "base/pattern.h"

struct schema_node;

struct schema_list {
	struct schema_node **nodes;
	uint32_t n;
};

struct schema_property {
	const char *name;
	uint32_t name_n;
	struct schema_node *node;
};

struct schema_pattern {
	struct pattern *pattern;
	const char *text;
	struct schema_node *node; /* of patternProperties */
};

struct schema_dependency {
	const char *name;
	const struct json *required; /* array of strings */
};

/* A number a value is compared with; text NULL when the keyword is absent. */
struct schema_bound {
	struct decimal value;
	const char *text;
};

/* A pair of sizes; -1 when absent. */
struct schema_range {
	int64_t min, max;
};

enum schema_format { FORMAT_NONE, FORMAT_DATE_TIME, FORMAT_URI, FORMAT_UUID };

enum {
	TYPE_NULL = 1,
	TYPE_BOOLEAN = 2,
	TYPE_NUMBER = 4,
	TYPE_INTEGER = 8,
	TYPE_STRING = 16,
	TYPE_ARRAY = 32,
	TYPE_OBJECT = 64
};

struct schema_node {
	bool is_never; /* the schema `false` */
	unsigned types; /* 0 = any */
	const char *type_text; /* "string or null" */
	struct bytes *values; /* keys (schema_key) of const and enum */
	uint32_t value_count;
	const char *values_keyword, *values_text;
	struct schema_node *ref;
	struct schema_list all_of, any_of, one_of;
	struct schema_node *negated, *condition, *then, *otherwise;
	/* objects */
	struct schema_property *properties; /* sorted by bytes of the name */
	uint32_t property_count;
	struct schema_pattern *patterns;
	uint32_t pattern_count;
	struct schema_node *additional, *names;
	const struct json *required;
	struct schema_dependency *dependencies;
	uint32_t dependency_count;
	struct schema_range members, count, length;
	/* arrays */
	struct schema_list prefix;
	struct schema_node *items, *contains;
	bool is_unique;
	/* strings and numbers */
	struct schema_pattern pattern;
	enum schema_format format;
	const char *format_text;
	struct schema_bound minimum, maximum, above, below, multiple;
};

struct schema {
	struct schema_node *root;
	const char *name;
};

/* One text per value, whatever its spelling: members sorted, numbers in one form.  Equal values have equal keys.  False
 * when some number's exponent is beyond what we compare. */
bool schema_key(struct buf *to, const struct json *v);

#endif
