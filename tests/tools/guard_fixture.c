/* guard_fixture.c — see guard_fixture.h. */
#include "tools/guard_fixture.h"

void guard_fixture_begin(struct guard_fixture *g)
{
	*g = (struct guard_fixture){ 0 };
	profiles_builtin(&g->a, &g->profiles);
	g->policy = policy_compile(&g->a, NULL);
	g->at = (struct surroundings){ .cwd = "/home/user/work",
		.home = "/home/user",
		.workspace = "/home/user/work",
		.state_dir = "/home/user/work/.helm",
		.helm_home = "/home/user/.helm",
		.tmpdir = "/tmp",
		.inspect_scripts = true,
		.inside_run = true };
}

void guard_fixture_done(struct guard_fixture *g)
{
	arena_done(&g->a);
}

static struct decision judge(
	const struct guard_fixture *g, struct arena *a, const char *profile, const struct proposal *p)
{
	struct decide_context at = { .a = a, .workspace = g->at.workspace };
	struct decision d;

	decide(g->policy, profiles_find(&g->profiles, profile), p, &at, &d);
	return d;
}

struct decision guard_fixture_shell(
	const struct guard_fixture *g, struct arena *a, const char *profile, const char *text, size_t n)
{
	struct proposal *p = arena_zalloc(a, 1, sizeof(*p));

	propose_shell(a, &g->at, (struct bytes){ (const uint8_t *)text, n }, p);
	return judge(g, a, profile, p);
}

struct decision guard_fixture_argv(const struct guard_fixture *g, struct arena *a, const char *profile,
	const char *const *argv, size_t argc)
{
	struct proposal *p = arena_zalloc(a, 1, sizeof(*p));

	propose_argv(a, &g->at, argv, argc, p);
	return judge(g, a, profile, p);
}

struct decision guard_fixture_tool(
	const struct guard_fixture *g, struct arena *a, const char *profile, const struct tool_call *call)
{
	struct proposal *p = arena_zalloc(a, 1, sizeof(*p));

	propose_tool(a, &g->at, call, p);
	return judge(g, a, profile, p);
}
