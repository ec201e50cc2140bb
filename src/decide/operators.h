/* operators.h — the operators of conditions, once: what a policy file may write (bundle/) is what the engine evaluates (engine/). */
#ifndef DECIDE_OPERATORS_H
#define DECIDE_OPERATORS_H

/* Names are what policies write.  What a value that is missing, or of another type, means is in engine/condition.c. */
#define OPS(X) \
	X(EQUALS, "equals", VALUE) \
	X(NOT_EQUALS, "not_equals", VALUE) \
	X(IN, "in", VALUES) \
	X(NOT_IN, "not_in", VALUES) \
	X(EMPTY, "empty", NOTHING) \
	X(NOT_EMPTY, "not_empty", NOTHING) \
	X(MISSING, "missing", NOTHING) \
	X(GREATER_THAN, "greater_than", NUMBER) \
	X(LESS_THAN, "less_than", NUMBER) \
	X(AT_LEAST, "at_least", NUMBER) \
	X(AT_MOST, "at_most", NUMBER) \
	X(CONTAINS, "contains", VALUE) \
	X(NOT_CONTAINS, "not_contains", VALUE) \
	X(STARTS_WITH, "starts_with", TEXT) \
	X(EQUALS_FIELD, "equals_field", FIELD) \
	X(INTERSECTS, "intersects", LISTS) \
	X(PATH_UNDER, "path_under", TEXTS) \
	X(PATH_NAMES, "path_names", TEXTS) \
	X(REGION_IN, "region_in", TEXTS) \
	X(REGION_NOT_IN, "region_not_in", TEXTS) \
	X(HOST_IN, "host_in", TEXTS) \
	X(HOST_NOT_IN, "host_not_in", TEXTS) \
	X(SQL_DESTRUCTIVE, "sql_destructive", NOTHING)

#endif
