/* fuzz_dsl.c — any bytes as a policy, and behind a NUL as a request for it.  Whatever they are: the compiler ends, an accepted policy keeps its
 * digest when it is laid out anew, laying out twice changes nothing, and a request gets one of three verdicts. */
#include "base/json.h"
#include "decide/dsl/dsl.h"
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

static void must(bool truth)
{
	if (!truth)
		abort();
}

static void judge(struct arena *a, const struct dsl_policy *p, struct bytes text)
{
	struct json *request, *answer;
	struct err e;

	if (json_parse(a, text, "fuzz", NULL, &request, &e) || dsl_judge(a, p, request, &answer, &e))
		return;
	const char *verdict = json_get_text(answer, "verdict", "");
	must(text_eq(verdict, "ALLOW") == (json_get(answer, "rule") == NULL));
	must(text_eq(verdict, "ALLOW") || text_eq(verdict, "DENY") || text_eq(verdict, "ESCALATE"));
	json_each (s, json_get(answer, "subjects"))
		must(dsl_explain(a, s, "de")[0] != 0);
}

void fuzz_one(const uint8_t *data, size_t size)
{
	AUTO(arena_done) struct arena a = { 0 };
	const uint8_t *end = size ? memchr(data, 0, size) : NULL;
	struct bytes text = { data, end ? (size_t)(end - data) : size };
	struct dsl_problems problems;
	const struct dsl_policy *p = dsl_compile(&a, text, &problems), *again;

	must((p == NULL) == (problems.errors > 0));
	must(problems.errors == 0 || problems.n > 0);
	if (!p)
		return;
	struct bytes once = dsl_format(&a, text);
	again = dsl_compile(&a, once, &problems);
	must(again && text_eq(dsl_hash(p), dsl_hash(again)));
	must(bytes_eq(once, dsl_format(&a, once)));
	if (end)
		judge(&a, p, (struct bytes){ end + 1, size - text.n - 1 });
}
