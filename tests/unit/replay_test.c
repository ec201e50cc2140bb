/* replay_test.c — decisions of two ledgers are asked again in the order of time, each once, however many there are. */
#include "kernel/policy/policy.h"
#include "kernel/workspace.h"
#include "record/record.h"
#include "tools/scratch.h"
#include "tools/unit.h"

#include <string.h>

#include "base/text.h"

/* One row; the principal says which it is.  Runs say when they started. */
static void add_row(struct buf *b, const char *ledger, size_t i, unsigned second)
{
	buf_addf(b,
		"{\"%s\":\"2026-01-01T%02u:%02u:%02u+00:00\",%s\"guard_action\":\"allow\",\"asked\":"
		"{\"action\":\"A\",\"principal\":\"%s-%zu\"}}\n",
		text_eq(ledger, "call") ? "at" : "started_at", second / 3600, second / 60 % 60, second % 60,
		text_eq(ledger, "call") ? "\"verdict\":\"ALLOW\"," : "", ledger, i);
}

struct seen {
	struct arena a;
	size_t calls, runs, n;
	const char *last;
};

static int see(void *arg, const struct policy_recorded *x, struct err *e)
{
	struct seen *s = arg;
	bool is_call = text_starts(x->question.principal, "call-");
	size_t *count = is_call ? &s->calls : &s->runs;
	const char *want = arena_printf(&s->a, "%s-%zu", is_call ? "call" : "run", *count);

	(void)e;
	assert_string_equal(x->question.principal, want);
	if (s->last && strcmp(s->last, x->at) >= 0)
		fail_msg("%s came behind %s", x->at, s->last);
	s->last = arena_strdup(&s->a, x->at);
	++*count;
	s->n++;
	return OK;
}

/* Calls at even seconds, runs at odd ones; of each as many as are said.  One line of each that is no row stands in between. */
static void replay(size_t calls, size_t runs)
{
	AUTO(scratch_done) struct scratch t;
	struct seen s = { 0 };
	struct buf b;
	struct policy_replay r;
	struct err e = { 0 };

	scratch_open(&t);
	buf_init(&b, &s.a);
	for (size_t i = 0; i < calls; i++) {
		add_row(&b, "call", i, (unsigned)(2 * i));
		if (i == 255)
			buf_adds(&b, "[]\n");
	}
	scratch_put(&t, TOOL_CALLS, calls ? b.p : "");
	buf_init(&b, &s.a);
	for (size_t i = 0; i < runs; i++) {
		add_row(&b, "run", i, (unsigned)(2 * i + 1));
		if (i == 256)
			buf_adds(&b, "[]\n");
	}
	scratch_put(&t, TASK_LEDGER, runs ? b.p : "");
	struct workspace ws = { .root = t.path, .root_fd = -1, .state_fd = t.fd };
	if (policy_replay_each(sys_real(), &ws, 0, see, &s, &r, &e))
		fail_msg("%zu calls, %zu runs: %s", calls, runs, e.text);
	assert_int_equal(s.calls, calls);
	assert_int_equal(s.runs, runs);
	assert_int_equal(r.seen, calls + runs);
	assert_int_equal(r.replayed, calls + runs);
	assert_int_equal(r.not_kept + r.stopped + r.inexact, 0);
	arena_done(&s.a);
}

static void each_is_asked_once_in_order(void **state)
{
	static const size_t counts[] = { 0, 1, 255, 256, 257, 512, 513 };

	(void)state;
	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++)
		for (size_t k = 0; k < sizeof(counts) / sizeof(*counts); k++)
			replay(counts[i], counts[k]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_is_asked_once_in_order),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
