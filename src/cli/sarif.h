/* sarif.h — findings in files, as SARIF 2.1.0: what code-scanning views read. */
#ifndef CLI_SARIF_H
#define CLI_SARIF_H

#include "base/json.h"

struct sarif {
	struct arena *a;
	struct json *rules, *results;
};

struct sarif_result {
	const char *rule; /* its id */
	const char *about_rule, *help; /* of the rule, the same for all its results */
	const char *text; /* what was found */
	const char *file;
	uint32_t line; /* from 1 */
	const char *snippet; /* of the file; NULL where it must not be repeated */
	bool is_error; /* otherwise a warning */
};

/* One run; rules are listed as they are met. */
void sarif_begin(struct sarif *s, struct arena *a);
void sarif_add(struct sarif *s, const struct sarif_result *r);
struct json *sarif_end(const struct sarif *s);

#endif
