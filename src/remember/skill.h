/* skill.h — skills: folders with a SKILL.md that says how something is done, and a contract.json that says within what.
 *
 * The same layout as the agent clients read (SKILL.md with front matter, files beside it), so that one folder serves all.  Reads only. */
#ifndef REMEMBER_SKILL_H
#define REMEMBER_SKILL_H

#include "model/terms.h"
#include "remember/contract.h"

struct skill {
	const char *name; /* of the directory */
	const char *dir; /* below the workspace: "skills/NAME" */
	const char *id; /* `name` of its front matter, else the directory's */
	const char *description, *source; /* "" when it says none; source: workspace, bundled, hub */
	const struct json *front; /* all of the front matter */
	bool is_draft, has_text, has_contract;
};
/* Every skill below these directories (ends in NULL), by room and name; of the same name in several rooms the first counts.  A folder without
 * SKILL.md counts when it has a contract. */
int skill_list(const struct contract_place *at, const char *const *rooms, struct skill **ret, size_t *ret_n,
	struct err *e);
/* One of them.  E_USAGE SKILL_NAME, E_MISSING SKILL_UNKNOWN with the nearest name. */
int skill_find(const struct contract_place *at, const char *name, struct skill *ret, struct err *e);
bool skill_is_name(const char *name); /* [a-z0-9][a-z0-9-]{0,63} */
/* Front matter, description and source of SKILL.md of that directory; false: there is none. */
bool skill_read(const struct contract_place *at, const char *dir, const char *name, struct skill *ret);

/* "sha256:..." over names and digests of all files of its folder, and {path: sha256} of them.  Links count by what they say and are not followed.
 * E_LIMIT SKILL_SIZE. */
int skill_digest(const struct contract_place *at, const char *dir, const char **ret_sha256,
	struct json **ret_files, struct err *e);

/* The contract with what the front matter says where the contract is silent: `allowed-tools` are its tools and, of Bash(x y:*), its commands.
 * NULL: neither says anything.  An error when one is there that cannot be read. */
int skill_contract(const struct contract_place *at, const char *name, struct json **ret, struct err *e);
/* The same over the defaults of the specification, member by member. */
struct json *skill_contract_whole(struct arena *a, const struct json *contract);

/* ---- route.c: which skill is meant ---- */

struct skill_request {
	const char *task_name, *request, *command, *profile; /* or NULL */
};
/* {score, verdict strong|weak|poor|direct, reasons[], fallback}; `skill` NULL: none is asked for. */
struct json *skill_relevance(struct arena *a, const char *skill, const struct json *contract,
	const struct json *profiles, const struct skill_request *q);
/* {decision direct|candidates|none, skill?, score?, candidates[]} among all skills. */
int skill_route(const struct contract_place *at, const struct skill_request *q, int64_t min_score,
	size_t limit, struct json **ret, struct err *e);

/* ---- quality.c ---- */

/* {manifest_count, flagged_count, items [{skill, allowed_profiles, default_profile, warnings[]}], ok} */
int skill_quality(const struct contract_place *at, struct json **ret, struct err *e);
/* Sentences of the shipped templates, ours and the Python Helm's, that stand in this text as whole lines. */
struct json *skill_placeholders(struct arena *a, const char *text);

#endif
