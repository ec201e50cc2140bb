/* guard_fixture.h — commands judged as a person would mean them: a workspace in a home directory, nothing on disk. */
#ifndef TOOLS_GUARD_FIXTURE_H
#define TOOLS_GUARD_FIXTURE_H

#include "decide/decide.h"
#include "propose/propose.h"

struct guard_fixture {
	struct arena a; /* profiles and policy */
	struct profiles profiles;
	const struct policy *policy;
	struct surroundings at;
};

void guard_fixture_begin(struct guard_fixture *g);
void guard_fixture_done(struct guard_fixture *g);

/* The decision and everything it points to live in `a`. */
struct decision guard_fixture_shell(
	const struct guard_fixture *g, struct arena *a, const char *profile, const char *text, size_t n);
struct decision guard_fixture_argv(const struct guard_fixture *g, struct arena *a, const char *profile,
	const char *const *argv, size_t argc);
struct decision guard_fixture_tool(
	const struct guard_fixture *g, struct arena *a, const char *profile, const struct tool_call *call);

#endif
