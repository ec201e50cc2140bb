/* entry_points_test.c — one question, one answer: what `guard check` foresees, what the hook of a client decides and what an entry point without a
 * sandbox decides, compared over every command of the corpora, for the same profile, directory and placement. */
#include "base/text.h"
#include "kernel/foresee.h"
#include "kernel/hook.h"
#include "kernel/settle.h"
#include "kernel/task/contain.h"
#include "tools/cases.h"
#include "tools/kernel_fixture.h"
#include "tools/unit.h"

#include <string.h>

static struct kernel_fixture x;
static struct guard guard; /* as `guard check` opens it, in the root of the workspace */
static size_t compared, moved, saved;

static int begin(void **state)
{
	(void)state;
	kernel_fixture_begin(&x);
	compared = moved = saved = 0;
	return 0;
}

static int end(void **state)
{
	(void)state;
	kernel_fixture_done(&x);
	return 0;
}

static void use(const char *profile, const char *destructive)
{
	struct json *receipt;
	struct err e = { 0 };

	if (workspace_use_profile(&x.k, &x.process, profile, destructive, &receipt, &e))
		fail_msg("%s", e.text);
}

static void contain(void)
{
	struct json *receipt;
	struct err e = { 0 };

	if (contain_set(&x.k, &x.process, "claude-code", true, "user:0", &receipt, &e))
		fail_msg("%s", e.text);
	kernel_fixture_reopen(&x);
}

/* Verdict, rule, sentence and placement. */
static const char *said(struct arena *a, const struct handling *h)
{
	return arena_printf(a, "%s %s (%s) %s by %s", verdict_name(h->verdict),
		h->decision.detail_code ? h->decision.detail_code : "-",
		h->decision.summary ? h->decision.summary : "", placement_name(h->decision.placement),
		h->settled.by ? h->settled.by : "-");
}

static void same(const char *text, const char *who, const struct handling *one, const struct handling *other)
{
	const char *a = said(one->a, one), *b = said(one->a, other);

	if (strcmp(a, b))
		fail_msg("%s\n  guard check: %s\n  %s: %s", text, a, who, b);
}

/* As a route over HTTP, the MCP gateway and the proxy ask: a tool with a command, and no sandbox. */
static void ask_unsandboxed(const char *text, struct arena *a, struct handling *ret)
{
	struct json *input = json_new(a, JSON_OBJECT);
	struct proposal *p = arena_zalloc(a, 1, sizeof(*p));
	const struct surroundings at = guard_at(&x.k.guard, a, x.ws->root);
	const char *profile;
	struct err e = { 0 };

	json_sets(a, input, "command", text);
	const struct tool_call call = { .tool_name = "Bash", .input = input };
	propose_tool(a, &at, &call, p);
	struct request q = { .who = { .door = "api", .subject_id = "agent:x" },
		.what = { .tool = "Bash",
			.action = "Bash",
			.proposal = p,
			.args = bytes_of(text),
			.params = input },
		.where = &at,
		.mode = GUARD_ENFORCE };
	assert_int_equal(workspace_default_profile(x.k.sys, a, x.ws, &profile, &e), OK);
	assert_int_equal(profiles_get(&x.k.guard.profiles, profile, &q.profile, &e), OK);
	*ret = (struct handling){ .a = a };
	kernel_decide(&x.k, &q, ret);
	would_settle(&x.k, &q, ret);
}

static void compare(const char *text)
{
	struct arena *a = &x.request;
	const struct foresee_question question = { .shell = bytes_of(text) };
	AUTO(foresight_done) struct foresight f = { 0 };
	AUTO(foresight_done) struct foresight bare = { 0 };
	struct handling hooked = { .a = a }, asked;
	struct json *input = json_new(a, JSON_OBJECT);
	struct guard none = guard;
	struct err e = { 0 };

	json_sets(a, input, "command", text);
	const struct tool_call call = {
		.tool_name = "Bash", .input = input, .session = "s", .cwd = x.ws->root
	};
	assert_int_equal(foresee(&guard, a, &question, &f, &e), OK);
	assert_int_equal(hook_foresee(&x.k, "claude-code", true, &call, NULL, NULL, &hooked, &e), OK);
	same(text, "the hook", &f.h, &hooked);
	none.placement = UNSANDBOXED;
	assert_int_equal(foresee(&none, a, &question, &bare, &e), OK);
	ask_unsandboxed(text, a, &asked);
	same(text, "HTTP, MCP and proxy", &bare.h, &asked);
	if (f.h.decision.placement == bare.h.decision.placement)
		same(text, "the same placement", &f.h, &bare.h);
	moved += f.is_moved;
	saved += f.h.settled.is_covered;
	compared++;
}

static void compare_row(struct arena *a, const struct json *row)
{
	const char *text = json_get_text(row, "shell", NULL);

	(void)a;
	if (text)
		compare(text);
	arena_reset(&x.request);
}

static void compare_all(void)
{
	static const char *const files[] = { "guard", "guard_safe", "guard_destructive", "guard_classes",
		"effects", "everyday" };
	struct err e = { 0 };

	assert_int_equal(guard_open(x.k.sys, &x.process, x.ws, x.ws->root, &guard, &e), OK);
	if (!guard.is_by_client)
		guard.placement = UNSANDBOXED; /* as the hook of a client that nobody has set up */
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		AUTO(arena_done) struct arena a = { 0 };
		AUTO(arena_done) struct arena line_arena = { 0 };
		struct bytes rest = cases_read(&a, arena_printf(&a, "tests/cases/%s.jsonl", files[i]));
		while (rest.n) {
			struct bytes line = text_cut(&rest, '\n');
			struct json *row;
			if (line.n && json_parse(&line_arena, line, files[i], NULL, &row, &e) == OK)
				compare_row(&line_arena, row);
			arena_reset(&line_arena);
		}
	}
	assert_true(compared > 5000);
}

static void as_shipped(void **state)
{
	(void)state;
	compare_all();
}

static void in_the_sandbox(void **state)
{
	(void)state;
	contain();
	compare_all();
	assert_true(moved > 100);
}

static void developing_with_files_saved_first(void **state)
{
	(void)state;
	contain();
	use("develop", "checkpoint");
	compare_all();
	assert_true(moved > 100);
	assert_true(saved > 20);
}

/* Whatever its name: what a vendor carries out does nothing here, and the same call that is made here does. */
static void effects_elsewhere_are_none_here(void **state)
{
	static const struct {
		enum tool_effects effects;
		enum verdict verdict;
	} cases[] = { { EFFECTS_HERE, V_DENY }, { EFFECTS_ELSEWHERE, V_ALLOW } };
	struct arena *a = &x.request;
	struct json *input = json_new(a, JSON_OBJECT);

	(void)state;
	json_sets(a, input, "command", "rm -rf /");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct tool_call call = {
			.tool_name = "Bash", .input = input, .effects = cases[i].effects
		};
		struct proposal p = { 0 };
		struct request q = kernel_fixture_shell(&x, "");
		struct handling h = { .a = a };
		propose_tool(a, &x.at, &call, &p);
		q.what.proposal = &p;
		kernel_decide(&x.k, &q, &h);
		assert_string_equal(verdict_name(h.verdict), verdict_name(cases[i].verdict));
	}
}

/* A word that was never set, or of which a bit has flipped, is no sandbox. */
static void a_placement_that_is_none_counts_as_none(void **state)
{
	static const unsigned words[] = { 0, 1, ~0u, IN_SANDBOX ^ 1u, (unsigned)V_ALLOW };
	const struct profile *p = profiles_find(&x.k.guard.profiles, "develop");

	(void)state;
	assert_int_equal(guard_relied(x.k.sys, x.ws, p, IN_SANDBOX), IN_SANDBOX);
	assert_int_equal(guard_relied(x.k.sys, x.ws, p, BY_SUPERVISOR), BY_SUPERVISOR);
	assert_int_equal(guard_relied(x.k.sys, NULL, p, IN_SANDBOX), UNSANDBOXED);
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		assert_int_equal(guard_relied(x.k.sys, x.ws, p, (enum placement)words[i]), UNSANDBOXED);
		assert_string_equal(containment_name((enum placement)words[i]), "none");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(effects_elsewhere_are_none_here, begin, end),
		cmocka_unit_test_setup_teardown(a_placement_that_is_none_counts_as_none, begin, end),
		cmocka_unit_test_setup_teardown(as_shipped, begin, end),
		cmocka_unit_test_setup_teardown(in_the_sandbox, begin, end),
		cmocka_unit_test_setup_teardown(developing_with_files_saved_first, begin, end),
	};

	return cmocka_run_group_tests_name("entry points", tests, NULL, NULL);
}
