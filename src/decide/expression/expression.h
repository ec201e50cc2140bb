/* expression.h — the expression language of policies: a subset of CEL, compiled once and evaluated often.
 *
 * The values are null, bool, int (64 bits), string, list and map; variables come as one JSON object.  There is no I/O, no clock and no
 * chance: the same expression over the same variables gives the same answer.  docs/formats/expression.md is the language.
 *
 * Compiling finds everything that can be known without variables: what is no expression, what is too large, and what can only
 * fail, whatever the variables are.  The kinds of variables are known when they are used: a clash is an error of the evaluation, never
 * false.  As in CEL, `&&`, `||`, all() and exists() overlook an error when another operand decides.
 *
 * Both steps are bounded by the limits below, whatever is given, and allocate in the given arena only.  Errors begin with
 * "name:line:column: ", name the offending word and say what to do. */
#ifndef DECIDE_EXPRESSION_EXPRESSION_H
#define DECIDE_EXPRESSION_EXPRESSION_H

#include "base/json.h"

enum {
	EXPRESSION_BYTES = 64 << 10, /* of its text */
	EXPRESSION_NODES = 1000, /* operators, literals, names and calls */
	EXPRESSION_NESTING = 20, /* of lists, maps, calls and indexes in each other */
	EXPRESSION_PARENTHESES = 100, /* of parentheses and conditionals in each other */
	EXPRESSION_COST = 100000 /* of an evaluation: 1 per node and element, more for long texts */
};

struct expression;

/* `name` is for messages.  Codes: EXPRESSION_SYNTAX, EXPRESSION_KIND (it can only fail), EXPRESSION_PATTERN with E_INPUT;
 * EXPRESSION_SIZE with E_LIMIT. */
int expression_compile(
	struct arena *a, struct bytes text, const char *name, struct expression **ret, struct err *e);

/* Could its value be true or false?  When not, it is no condition. */
bool expression_may_be_bool(const struct expression *x);

/* A part that can only fail although the whole need not: `unknown(1) || flag`.  Its message, or NULL when there is none.  A policy that
 * has such a part most likely does not say what its author meant. */
const char *expression_doubt(const struct expression *x, struct arena *a);

/* What it looks at: variables and their members as dotted paths, each once. */
struct expression_read {
	const char *path; /* "input.params.path" */
	bool is_asked, is_read; /* by has(); otherwise */
};
const struct expression_read *expression_reads(const struct expression *x, struct arena *a, size_t *ret_n);
/* Is this variable compared with a text by == or != somewhere? */
bool expression_compares_text(const struct expression *x, struct arena *a, const char *path);
/* Is it `true` or `false`, whatever the variables are? */
bool expression_is_constant(const struct expression *x, bool *ret_value);

/* The value as JSON.  EXPRESSION_VALUE with E_INPUT when the evaluation fails or JSON has no such value (a map whose keys are no
 * strings); EXPRESSION_COST with E_LIMIT when it was given up. */
int expression_value(const struct expression *x, const struct json *variables, struct arena *a,
	struct json **ret, struct err *e);

/* A requirement of a policy.  Only REQUIREMENT_SATISFIED is met; the others have the reason codes of their names.  An error is never
 * "not met": e says what went wrong, and a value that is no bool is an error, too. */
enum requirement { REQUIREMENT_SATISFIED, REQUIREMENT_MISSING, REQUIREMENT_ERROR };
enum requirement expression_requirement(
	const struct expression *x, const struct json *variables, struct arena *a, struct err *e);
/* SATISFIED, MISSING_REQUIREMENT, PRG_EVALUATION_ERROR */
const char *requirement_name(enum requirement r);

#endif
