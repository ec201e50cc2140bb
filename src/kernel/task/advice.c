/* advice.c — a command that its profile denies: which other one permits it, and what to type. */
#include "base/text.h"
#include "decide/decide.h"
#include "kernel/task/parts.h"

const char *task_profile_advice(struct task *t)
{
	const struct decision *d = &t->report->handling.decision;
	const char *rule = d->detail_code ? d->detail_code : "";
	enum verdict other;

	if ((!text_starts(rule, "profile.") && !d->has_denied_group) || t->spec->skill || t->profile->terms ||
		t->report->handling.policy)
		return NULL;
	const struct profile *p =
		guard_permitting(&t->k->guard, t->a, t->profile, &t->report->handling.proposal, d, &other);
	if (!p)
		return NULL;
	return arena_printf(t->a,
		"the profile %s does not permit that; %s %s\nto run it: helm run --profile %s -- %s",
		t->profile->name, p->name,
		other == V_ALLOW ? "does" : "does, and asks you to approve it first", p->name,
		task_preview(t->a, t->spec->argv, t->spec->argc));
}

/* Advice stays inside the contract of a skill: never the same command without it. */
const char *task_other_profile(struct task *t, const char *profile)
{
	const struct contract_place at = skill_place(t->k->sys, t->a, t->k->ws);
	const char *skill = t->spec->skill;

	if (!skill)
		return arena_printf(
			t->a, "another profile may permit it: helm run --profile %s -- COMMAND", profile);
	json_each (one, json_get(contract_profiles(&at, skill, t->skill.contract), "allowed_profiles"))
		if (json_text(one) && text_eq(json_text(one), profile))
			return arena_printf(t->a,
				"another profile of the skill may permit it: helm run --profile %s --skill %s -- COMMAND",
				profile, skill);
	return arena_printf(t->a,
		"the contract of skill '%s' does not have the profile that this takes; what it has: helm skill show %s",
		skill, skill);
}
