/* decide_unknown_test.c — what a profile says about what nobody knows: programs, scripts that were not read, and names that stand for an address;
 * and which places are a contained call's own. */
#include "decide/decide.h"

#include "base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

static struct arena a;
static struct profiles profiles;
static const struct policy *shipped;

static int begin(void **state)
{
	(void)state;
	profiles_builtin(&a, &profiles);
	shipped = policy_compile(&a, NULL);
	return 0;
}

static int done(void **state)
{
	(void)state;
	arena_done(&a);
	a = (struct arena){ 0 };
	return 0;
}

/* What a profile says about programs nobody knows. */
static void a_profile_may_ask_about_or_deny_unknown_programs(void **state)
{
	static const struct {
		enum unknown_rule rule;
		enum placement placement;
		enum rule_effect want;
	} cases[] = { { UNKNOWN_ALLOW, IN_SANDBOX, ACTION_ALLOW }, { UNKNOWN_ASK, IN_SANDBOX, ACTION_ASK },
		{ UNKNOWN_DENY, IN_SANDBOX, ACTION_DENY },
		/* Where no sandbox stands, it is asked about at the least. */
		{ UNKNOWN_ALLOW, UNSANDBOXED, ACTION_ASK }, { UNKNOWN_ASK, UNSANDBOXED, ACTION_ASK },
		{ UNKNOWN_DENY, UNSANDBOXED, ACTION_DENY } };
	struct effect e = { .kind = FX_UNKNOWN, .tag = "unknown.program", .program = "frob" };
	struct effect known = { .kind = FX_READ, .program = "ls" };
	struct profile p = *profiles_find(&profiles, "service_ops");

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct proposal pr = { .readable = true, .effects = &e, .effect_count = 1 };
		struct decide_context at = { .a = &a, .placement = cases[i].placement };
		struct decision d;
		p.unknown_tool = cases[i].rule;
		decide(shipped, &p, &pr, &at, &d);
		assert_int_equal(d.action, cases[i].want);
		pr.effects = &known;
		decide(shipped, &p, &pr, &at, &d);
		assert_int_equal(d.action, ACTION_ALLOW);
	}
}

/* What a profile says about scripts that were not read; one that was read is what its text is. */
static void a_profile_may_ask_about_what_was_not_read(void **state)
{
	struct effect e = { .kind = FX_SCRIPT, .tag = "script.file", .program = "python3" };
	struct proposal pr = { .readable = true, .effects = &e, .effect_count = 1 };
	struct profile p = *profiles_find(&profiles, "service_ops");
	struct decide_context at = { .a = &a };
	struct decision d;

	(void)state;
	decide(shipped, &p, &pr, &at, &d);
	assert_int_equal(d.action, ACTION_ALLOW);
	p.unread = UNREAD_ASK;
	decide(shipped, &p, &pr, &at, &d);
	assert_int_equal(d.action, ACTION_ASK);
	assert_string_equal(d.detail_code, "profile.unread");
	e.flags = FXF_WAS_READ;
	decide(shipped, &p, &pr, &at, &d);
	assert_int_equal(d.action, ACTION_ALLOW);
}

/* Not knowing a program weighs more where nothing else is allowed: only where neither writing nor the network is. */
static void not_knowing_counts_where_nothing_is_allowed(void **state)
{
	struct effect e = { .kind = FX_UNKNOWN, .tag = "unknown.program", .program = "frob" };
	struct proposal pr = { .readable = true, .effects = &e, .effect_count = 1 };
	struct profile p = *profiles_find(&profiles, "inspect_local");
	struct decide_context at = { .a = &a };
	struct decision d;

	(void)state;
	decide(shipped, &p, &pr, &at, &d);
	assert_int_equal(d.score_hundredths, 35);
	p.network = ALLOWANCE_YES;
	decide(shipped, &p, &pr, &at, &d);
	assert_int_equal(d.score_hundredths, 0);
}

/* The name of a remote is told with what it stands for. */
static void a_remote_is_told_with_its_address(void **state)
{
	static const struct {
		const char *target, *resolved, *text;
	} cases[] = {
		{ "origin", "https://x.example", "to origin (https://x.example)" },
		{ NULL, "https://x.example", "to https://x.example" },
		{ "", "https://x.example", "to https://x.example" },
		{ "origin", NULL, "to origin" },
		{ NULL, NULL, "to something that is not named" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct effect e = { .kind = FX_NETWORK,
			.tag = "network.git_push",
			.flags = FXF_MUTATING,
			.program = "git",
			.target = cases[i].target,
			.resolved = cases[i].resolved };
		struct proposal pr = { .readable = true, .effects = &e, .effect_count = 1 };
		struct decide_context at = { .a = &a };
		struct decision d;
		decide(shipped, profiles_find(&profiles, "service_ops"), &pr, &at, &d);
		assert_non_null(strstr(d.summary, cases[i].text));
	}
}

/* By name of a host: what a remote stands for counts, where that is one place. */
static void the_host_of_a_remote_is_that_of_its_address(void **state)
{
	static const struct {
		const char *target, *resolved;
		enum rule_effect want;
		unsigned flags;
	} cases[] = {
		{ "origin", "https://github.com/acme/app.git", ACTION_ALLOW, 0 },
		{ "origin", "https://github.com/acme/app.git", ACTION_ASK, FXF_MUTATING },
		{ "origin", "https://elsewhere.example/app.git", ACTION_ASK, 0 },
		{ "origin", "https://github.com/a, https://elsewhere.example/b", ACTION_ASK, 0 },
		{ "https://github.com/acme/app.git", NULL, ACTION_ALLOW, 0 },
		{ "origin", NULL, ACTION_ASK, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct effect e = { .kind = FX_NETWORK,
			.tag = "network.git",
			.program = "git",
			.flags = cases[i].flags,
			.target = cases[i].target,
			.resolved = cases[i].resolved };
		struct proposal pr = { .readable = true, .effects = &e, .effect_count = 1 };
		struct decide_context at = { .a = &a, .placement = IN_SANDBOX };
		struct decision d;
		decide(shipped, profiles_find(&profiles, "develop"), &pr, &at, &d);
		assert_int_equal(d.action, cases[i].want);
		/* Only what leaves the walls is carried out outside of them. */
		bool leaves = false;
		for (size_t f = 0; f < d.finding_count; f++)
			leaves |= text_eq(d.findings[f].rule, "profile.network");
		assert_int_equal(leaves, cases[i].want == ACTION_ASK);
	}
}

/* Of a place below the home that the profile names the call has a layer of its own, also behind links; of its neighbours it has none. */
static void layers_are_the_calls_own(void **state)
{
	static const struct {
		const char *target, *resolved;
		bool is_own;
	} cases[] = { { "/home/u/.cache/f", NULL, true }, { "/home/u/.cache", NULL, true },
		{ "/home/u/.cachet/f", NULL, false }, { "/home/u/.config/f", NULL, false },
		{ "/home/us/.cache/f", NULL, false }, { "/home/u/.cache/f", "/home/u/.config/f", false },
		{ "/home/u/.cache/f", "/home/u/.npm/f", true }, { "/home/u/go/pkg/mod", NULL, true },
		{ "/home/u/go/bin/x", NULL, false } };
	const struct profile *p = profiles_find(&profiles, "develop");

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct effect e = { .kind = FX_DELETE,
			.tag = "delete.file",
			.target = cases[i].target,
			.resolved = cases[i].resolved,
			.path_class = PATH_HOME };
		struct proposal pr = { .readable = true, .effects = &e, .effect_count = 1 };
		struct decide_context at = { .a = &a, .home = "/home/u", .placement = IN_SANDBOX };
		struct decision d;
		decide(shipped, p, &pr, &at, &d);
		if ((d.verdict == V_ALLOW) != cases[i].is_own)
			fail_msg("%s: %s", cases[i].target, action_name(d.action));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_profile_may_ask_about_or_deny_unknown_programs),
		cmocka_unit_test(layers_are_the_calls_own),
		cmocka_unit_test(a_profile_may_ask_about_what_was_not_read),
		cmocka_unit_test(a_remote_is_told_with_its_address),
		cmocka_unit_test(the_host_of_a_remote_is_that_of_its_address),
		cmocka_unit_test(not_knowing_counts_where_nothing_is_allowed),
	};
	return cmocka_run_group_tests_name("decide_unknown", tests, begin, done);
}
