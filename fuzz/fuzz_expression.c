/* fuzz_expression.c — any bytes as an expression, and as JSON variables behind the first NUL byte.
 *
 * Compiling and evaluating end, within the limits, with a value or an error that has a place.  The same again gives the same.  A pattern of
 * matches() is reached through expressions, and alone. */
#include "base/regex.h"
#include "decide/expression/expression.h"
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

static void must(bool truth)
{
	if (!truth)
		abort();
}

/* The cost of a search is bounded by what is left, whatever the pattern is. */
static void search(struct arena *a, struct bytes pattern, struct bytes text)
{
	uint64_t budget = 100000;
	struct regex *r;
	struct err e;

	if (regex_compile(a, pattern, &r, &e))
		return;
	must(regex_states(r) <= REGEX_STATES);
	int found = regex_search(r, a, text, &budget);
	must(found == 0 || found == 1 || (found == E_LIMIT && budget == 0));
}

void fuzz_one(const uint8_t *data, size_t size)
{
	AUTO(arena_done) struct arena a = { .limit_bytes = 64 << 20 };
	const uint8_t *nul = size ? memchr(data, 0, size) : NULL;
	struct bytes text = { data, nul ? (size_t)(nul - data) : size }, rest = { data, 0 };
	struct json *variables = NULL, *first, *second;
	struct expression *x;
	struct err e = { 0 }, again = { 0 };

	if (nul)
		rest = (struct bytes){ nul + 1, size - text.n - 1 };
	search(&a, text, rest);
	if (json_parse(&a, rest, "fuzz", NULL, &variables, NULL))
		variables = NULL;
	if (expression_compile(&a, text, "fuzz", &x, &e)) {
		must(strncmp(e.text, "fuzz:", 5) == 0);
		return;
	}
	(void)expression_doubt(x, &a);
	int rc = expression_value(x, variables, &a, &first, &e);
	must(rc == expression_value(x, variables, &a, &second, &again));
	if (rc) {
		must(strncmp(e.text, "fuzz:", 5) == 0 && strcmp(e.text, again.text) == 0);
		return;
	}
	must(json_eq(first, second));
	/* A requirement says the same as the value does. */
	enum requirement r = expression_requirement(x, variables, &a, &e);
	must((r == REQUIREMENT_SATISFIED) == json_is(first, JSON_TRUE));
	must((r == REQUIREMENT_MISSING) == json_is(first, JSON_FALSE));
	must(expression_may_be_bool(x) || r == REQUIREMENT_ERROR);
}
