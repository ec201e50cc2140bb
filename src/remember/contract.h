/* contract.h — what a skill may do and must bring: skills/NAME/contract.json, and the profiles that references/ names for it.
 *
 * Reads only.  A contract of a live skill takes the place of a draft's of the same name; the directory's name is the skill's.  A contract that is
 * no object, or an empty one, counts as none. */
#ifndef REMEMBER_CONTRACT_H
#define REMEMBER_CONTRACT_H

#include "base/err.h"
#include "base/json.h"
#include "base/sys.h"

#include <stdbool.h>

struct contract_place {
	struct sys *sys;
	struct arena *a;
	int root_fd;
};

/* Where skills lie, those that count first: ours, then the folders that agent clients read, then drafts.  Ends in NULL. */
#define SKILL_DRAFTS "skill_drafts"
extern const char *const skill_rooms[];

/* The contract as it was written; NULL when there is none.  An error when one is there that cannot be read. */
int contract_read(const struct contract_place *at, const char *skill, struct json **ret, struct err *e);
/* {allowed_profiles, default_profile} of a skill: what its contract says, else what references/skill_profile_policies.json says; [] and null. */
struct json *contract_profiles(
	const struct contract_place *at, const char *skill, const struct json *contract);
/* Does this section (browser_work, retrieval_policy, file_intake, artifact_validation) ask for evidence about this row of a task?  It does
 * when it is required, or when one of its when_any hints stands in what the row says. */
bool contract_demands(const struct json *contract, const char *section, const struct json *row);

/* What is wrong with the contract of one skill, in sentences; `profiles` as contract_profiles() gives them, `known` the names of profiles, ended
 * by NULL. */
struct json *contract_issues(const struct contract_place *at, const char *skill, const struct json *contract,
	const struct json *profiles, const char *known[]);

/* Do profiles, the profiles of skills, and contracts fit together?  {profile_count, skill_policy_count, manifest_count, profiles,
 * missing_contract_skills, issues, ok}; an issue is a sentence that names file and member. */
struct json *contract_validate(const struct contract_place *at);

#endif
