/* draft.h — skills while they are made: a scaffold, a draft of what a task did, what is missing of it, and the way into skills/. */
#ifndef REMEMBER_DRAFT_H
#define REMEMBER_DRAFT_H

#include "remember/skill.h"

struct draft_spec {
	const char *name, *description, *emoji; /* emoji may be NULL */
	const char *const *bins, *const *env; /* what it needs; or NULL */
	size_t bin_count, env_count;
	const char *profile; /* the only one of the contract; NULL: as the template says */
};
/* skills/NAME with SKILL.md, contract.json and a README in each of its folders.  E_USAGE SKILL_NAME, E_INPUT SKILL_EXISTS.  Whole or not at all. */
int skill_create(
	const struct contract_place *at, const struct draft_spec *d, struct json **ret, struct err *e);
/* skill_drafts/NAME of a task that was completed: `task` is its newest row, `commands` rows of the command log. */
int skill_draft(const struct contract_place *at, const struct draft_spec *d, const struct json *task,
	const struct json *commands, struct json **ret, struct err *e);
/* {draft, passed, checks, details}; E_MISSING SKILL_DRAFT.  Also kept in meta/assessment.json. */
int skill_assess(const struct contract_place *at, const char *name, struct json **ret, struct err *e);
/* Can it be promoted?  With `replace` the live skill of the same name is no reason against it. */
bool skill_assess_passes(const struct json *assessment, const char *name, bool replace);
/* One sentence for each check that is not passed. */
struct json *skill_assess_words(struct arena *a, const struct json *assessment);
/* The draft becomes skills/NAME; with `replace` what is there goes to skills/.archive/NAME-TIME.  E_INPUT SKILL_EXISTS.  Whole or not at all. */
int skill_promote(const struct contract_place *at, const char *name, bool replace, const char **ret_target,
	struct err *e);
/* Lines of a unified diff from the live skill to the draft: {draft, live, diff[]}. */
int skill_compare(const struct contract_place *at, const char *name, struct json **ret, struct err *e);
/* meta/rejection.json. */
int skill_reject(const struct contract_place *at, const char *name, const char *reason, struct json **ret,
	struct err *e);

/* A folder to another name, whole or not at all: neither may be there half. */
int skill_move(const struct contract_place *at, const char *from, const char *to, struct err *e);

#endif
