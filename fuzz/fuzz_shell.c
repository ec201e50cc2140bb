/* fuzz_shell.c — parser, evaluator and classification on bytes nobody trusts: no crash, no hang, and the same answer
 * twice. */
#include "fuzz.h"

#include "base/text.h"
#include "propose/propose.h"

static void check_spans(const struct proposal *p)
{
	for (size_t i = 0; i < p->effect_count; i++) {
		const struct effect *e = &p->effects[i];
		if (!e->source || e->at.start > e->at.end || e->at.end > e->source->n ||
			e->step >= p->step_count)
			abort();
	}
}

void fuzz_one(const uint8_t *data, size_t size)
{
	static const struct surroundings at = { .cwd = "/home/u/ws",
		.home = "/home/u",
		.workspace = "/home/u/ws",
		.state_dir = "/home/u/ws/.helm",
		.tmpdir = "/tmp" };
	AUTO(arena_done) struct arena a = { 0 };
	struct proposal once, again;

	propose_shell(&a, &at, (struct bytes){ data, size }, &once);
	propose_shell(&a, &at, (struct bytes){ data, size }, &again);
	if (once.readable != again.readable || once.effect_count != again.effect_count ||
		once.step_count != again.step_count)
		abort();
	check_spans(&once);
}
