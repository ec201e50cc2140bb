/* facts_test.c — what a decision says about a command besides its verdict, and what a contained call may call its own. */
#include "decide/decide.h"
#include "decide/policy/policy.h"

#include "base/text.h"
#include "tools/unit.h"

#include <string.h>

static struct arena a;

/* Below the home only those places, whole names, as they are written and as their links lead. */
static void layers_are_the_call_s_own(void **state)
{
	static const char *const layers[] = { ".cache", ".npm" };
	const struct profile p = { .name = "test", .layers = layers, .layer_count = ARRAY_SIZE(layers) };
	static const struct {
		const char *home, *target, *resolved;
		bool is_own;
	} cases[] = {
		{ "/home/u", "/home/u/.cache", NULL, true },
		{ "/home/u", "/home/u/.cache/x", NULL, true },
		{ "/home/u", "/home/u/.npm/x", NULL, true },
		{ "/home/u", "/home/u/.npm/x", "/home/u/.cache/y", true },
		{ "/home/u", "/home/u/.npm/x", "/home/u/y", false },
		{ "/home/u", "/home/u/y", "/home/u/.cache/y", false },
		{ "/home/u", "/home/u/.cachet", NULL, false },
		{ "/home/u", "/home/u/.cach", NULL, false },
		{ "/home/u", "/home/u", NULL, false },
		{ "/home/u", "/home/u/x/.cache", NULL, false },
		{ "/home/u", "/home/uu/.cache", NULL, false },
		{ "/home/u", "/home/u-.cache", NULL, false },
		{ "/home/u", "/home/v/.cache", NULL, false },
		{ "/home/u", NULL, NULL, false },
		{ "", "/.cache", NULL, false },
		{ NULL, "/home/u/.cache", NULL, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct effect e = { .kind = FX_WRITE,
			.path_class = PATH_HOME,
			.certainty = CERTAIN,
			.target = cases[i].target,
			.resolved = cases[i].resolved };
		const struct decide_context at = { .a = &a, .home = cases[i].home };
		if (facts_is_its_own(&e, &p, &at) != cases[i].is_own)
			fail_msg(
				"%s, %s", cases[i].target, cases[i].resolved ? cases[i].resolved : "no link");
	}
}

/* Behind walls these kinds do no harm there, and no others; nor does one with other rights, or in another place. */
static void only_plain_changes_are_its_own(void **state)
{
	const struct profile p = { .name = "test", .reach = NETWORK_LOOPBACK };
	const struct profile open = { .name = "open", .reach = NETWORK_FULL };
	const struct decide_context at = { .a = &a, .home = "/home/u" };
	static const enum effect_kind own[] = { FX_WRITE, FX_DELETE, FX_MOVE, FX_PERMISSION };
	static const unsigned elsewhere[] = { FXF_SETUID, FXF_PRIVILEGED, FXF_UNSET_ROOT, FXF_OPEN_END,
		FXF_HOST_MOUNT, FXF_INSIDE_CONTAINER, FXF_REMOTE_SIDE };
	struct effect e = { .path_class = PATH_TMP, .certainty = CERTAIN, .target = "/tmp/x" };

	(void)state;
	for (int kind = 0; kind < FX_KIND_COUNT; kind++) {
		bool is_own = false;
		for (size_t i = 0; i < ARRAY_SIZE(own); i++)
			is_own |= own[i] == (enum effect_kind)kind;
		e.kind = (enum effect_kind)kind;
		if (e.kind != FX_NETWORK && facts_is_its_own(&e, &p, &at) != is_own)
			fail_msg("%s", effect_kind_clause(e.kind));
	}
	e.kind = FX_WRITE;
	for (size_t i = 0; i < ARRAY_SIZE(elsewhere); i++) {
		e.flags = elsewhere[i];
		assert_false(facts_is_its_own(&e, &p, &at));
	}
	e.flags = 0;
	e.certainty = DYNAMIC;
	assert_false(facts_is_its_own(&e, &p, &at));
	e.certainty = CERTAIN;
	e.path_class = PATH_OUT;
	assert_false(facts_is_its_own(&e, &p, &at));
	e = (struct effect){ .kind = FX_PERMISSION, .path_class = PATH_TMP, .tag = "permission.setuid" };
	assert_false(facts_is_its_own(&e, &p, &at));
	e.tag = "permission.capability";
	assert_false(facts_is_its_own(&e, &p, &at));
	e = (struct effect){ .kind = FX_NETWORK, .certainty = CERTAIN, .target = "localhost" };
	assert_true(facts_is_its_own(&e, &p, &at));
	assert_false(facts_is_its_own(&e, &open, &at)); /* that one is everybody's */
	e.target = "example.org";
	assert_false(facts_is_its_own(&e, &p, &at));
	e.target = "localhost";
	e.certainty = PREFIXED;
	assert_false(facts_is_its_own(&e, &p, &at));
}

static struct decision judge(struct effect *effects, size_t n)
{
	struct profiles profiles;
	struct source *source = arena_zalloc(&a, 1, sizeof(*source));
	struct proposal *p = arena_zalloc(&a, 1, sizeof(*p));
	const struct decide_context at = { .a = &a, .workspace = "/home/u/ws" };
	struct decision d;

	*source = (struct source){ .text = "x", .n = 1 };
	*p = (struct proposal){ .readable = true,
		.source = source,
		.normalized_command = "x",
		.effect_count = n,
		.effects = effects };
	profiles_builtin(&a, &profiles);
	decide(policy_compile(&a, NULL), profiles_find(&profiles, "workspace_edit"), p, &at, &d);
	return d;
}

/* Each kind once, what goes nowhere and what was only decoded not at all. */
static void the_summary_names_each_kind_once(void **state)
{
	struct effect two[] = { { .kind = FX_READ, .path_class = PATH_IN, .target = "/home/u/ws/a" },
		{ .kind = FX_READ, .path_class = PATH_IN, .target = "/home/u/ws/b", .step = 1 } };

	(void)state;
	assert_string_equal(judge(two, 2).summary, judge(two, 1).summary);
	assert_non_null(strstr(judge(two, 1).summary, effect_kind_clause(FX_READ)));
	struct effect sink = { .kind = FX_WRITE, .path_class = PATH_SINK, .target = "/dev/null" };
	assert_string_equal(judge(&sink, 1).summary, "it would change nothing");
	assert_string_equal(judge(NULL, 0).summary, "it would change nothing");
}

/* What leaves the machine by another program's connection is told apart from what does not. */
static void what_is_remote_is_said(void **state)
{
	struct effect there = { .kind = FX_REMOTE, .target = "host", .certainty = CERTAIN };
	struct effect here = { .kind = FX_READ, .path_class = PATH_IN, .target = "/home/u/ws/a" };
	struct effect root = { .kind = FX_PRIVILEGE };

	(void)state;
	assert_true(judge(&there, 1).remote);
	assert_false(judge(&here, 1).remote);
	assert_false(judge(&here, 1).privilege);
	assert_true(judge(&root, 1).privilege);
}

static int done(void **state)
{
	(void)state;
	arena_done(&a);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(layers_are_the_call_s_own),
		cmocka_unit_test(only_plain_changes_are_its_own),
		cmocka_unit_test(the_summary_names_each_kind_once),
		cmocka_unit_test(what_is_remote_is_said),
	};
	return cmocka_run_group_tests_name("facts", tests, NULL, done);
}
