/* terms.h — what a skill's contract leaves of a profile: tools, paths, hosts, commands, budget and the one way to start it.
 *
 * A contract only ever narrows.  Its terms become two things, and both hold at once: a profile that is at most the one it was made of
 * (terms_narrow), from which the walls are put up, and a judgement of each call (decide_terms in decide.h).  A member that the contract does
 * not have limits nothing; an empty list permits nothing.  docs/formats/skill-contract.md has the members. */
#ifndef MODEL_TERMS_H
#define MODEL_TERMS_H

#include "base/err.h"
#include "base/json.h"
#include "model/profile.h"

/* The first words of a command that may be run. */
struct terms_command {
	const char *const *words;
	size_t n;
};

/* No skill is called like this: the terms are those of a plan that one task is held to. */
#define TERMS_OF_PLAN "(plan)"

struct terms {
	const char *skill; /* whose they are */
	const char *sha256; /* of all files of the skill as they were read; or NULL: it has no folder */
	bool has_tools;
	unsigned groups; /* bits of enum tool_group; 0: only names are given */
	const char *const *tools; /* names of a client's tools; ends in NULL */
	bool has_writes;
	const char *const *writes; /* below the tree, clean; "." is all of it; ends in NULL */
	const char *const *hidden; /* the same: cannot be read; ends in NULL */
	bool has_hosts;
	const char *const *hosts; /* rules of egress.h; ends in NULL */
	bool has_commands;
	const struct terms_command *commands;
	size_t command_count;
	int64_t seconds, calls_per_day; /* 0: no limit */
	const char *budget_of; /* the skill whose calls a day are counted; or NULL */
	struct run_limits limits;
	struct terms_command entrypoint; /* n 0: none */
	bool is_strict; /* nothing but the entrypoint is started */
};

/* The terms of a contract (an object).  E_INPUT SKILL_TERMS names the first member that is not understood: such a contract permits nothing. */
int terms_read(
	struct arena *a, const char *skill, const struct json *contract, struct terms *ret, struct err *e);
/* Does it limit anything beyond which profiles it may run under? */
bool terms_bind(const struct terms *t);

/* The profile with these terms, named like the one it was made of; never more than that. */
const struct profile *terms_narrow(struct arena *a, const struct profile *p, const struct terms *t);
/* Both at once: what either forbids is forbidden.  For a session that two skills are active in. */
const struct terms *terms_both(struct arena *a, const struct terms *x, const struct terms *y);

#endif
