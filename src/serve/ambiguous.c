/* ambiguous.c — what of a request's head can be read in two ways, though each of its lines is well-formed (wire.c). */
#include "serve/parts.h"

#include <string.h>
#include <strings.h>

enum { PAIRS_MOST = 100 }; /* headers, and names in the query */

static bool is_twice(const struct pair *list, size_t n, const char *const *may_repeat, size_t most)
{
	for (size_t i = 0; i < n; i++) {
		bool counts = true;
		for (size_t k = 0; k < most; k++)
			counts &= strcasecmp(list[i].name, may_repeat[k]) != 0;
		for (size_t k = 0; counts && k < i; k++)
			if (strcasecmp(list[i].name, list[k].name) == 0)
				return true;
	}
	return false;
}

/* What can be read in two ways is read in one way by us and in another by whoever stands before us: then the rest of a body becomes somebody's
 * request, or the tenant another one.  NULL: there is nothing of that. */
const char *call_ambiguity(const struct call *c)
{
	static const char *const both[] = { "X-Request-ID", "X-Helm-Correlation-ID", "Accept", "Cookie",
		"Via", "Forwarded", "X-Forwarded-For", "tracestate" };

	if (c->header_count > PAIRS_MOST || c->query_count > PAIRS_MOST)
		return "there are more than 100 headers, or names in the query";
	if (is_twice(c->headers, c->header_count, both, ARRAY_SIZE(both)))
		return "a header stands there twice";
	if (is_twice(c->query, c->query_count, NULL, 0))
		return "a name stands in the query twice";
	return NULL;
}
