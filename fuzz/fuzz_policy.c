/* fuzz_policy.c — any bytes as a policy file of any shape.  Whatever they are: reading ends, an error has a problem and no document, a document fits the engine or the engine says why, and
 * laying out twice changes nothing.  The first byte chooses what the file is called, and so what it is taken for. */
#include "decide/bundle/bundle.h"
#include "decide/engine/engine.h"
#include "fuzz.h"

#include <stdlib.h>

static void must(bool truth)
{
	if (!truth)
		abort();
}

void fuzz_one(const uint8_t *data, size_t size)
{
	static const char *const names[] = { "p.yaml", "p.json", "p.toml", "p", "p.policy" };
	AUTO(arena_done) struct arena a = { 0 };
	struct policy_input in = { .is_import = true };
	struct policy_reading r;
	struct ruleset *rules;
	struct err e = { 0 };

	if (size == 0)
		return;
	in.name = names[data[0] % ARRAY_SIZE(names)];
	in.as_policy = data[0] & 0x80;
	in.text = (struct bytes){ data + 1, size - 1 };
	int rc = policy_document_read(&a, &in, &r, &e);
	must((rc == OK) == (r.document != NULL) && (rc == OK) == (r.problems.errors == 0));
	for (size_t i = 0; i < r.problems.n; i++)
		must(policy_problem_line(&a, &r.problems.items[i])[0] != 0);
	if (rc)
		return;
	policy_lint(&a, r.document, in.name, &r.problems);
	(void)ruleset_compile(&a, r.document, &rules, &e);
	struct bytes made = policy_format(&a, in.text, r.shape, r.source);
	must(bytes_eq(made, policy_format(&a, made, r.shape, r.source)));
}
