/* harness.h — what work must bring before it starts and after it ended, by how far its model can be relied upon and by its skill's contract.
 *
 * It asks for names, context and evidence; it permits nothing.  What it lets pass still goes through guard, profile and contract.  Reads only.
 * docs/formats/harness.md. */
#ifndef REMEMBER_HARNESS_H
#define REMEMBER_HARNESS_H

#include "remember/skill.h"

enum harness_level { LEVEL_LIGHT, LEVEL_BALANCED, LEVEL_STRICT, LEVEL_COUNT };
const char *harness_level_name(enum harness_level l);

/* Kinds of evidence, by their member of meta.harness, the section of the contract that asks for them, and how checks call them. */
enum harness_kind { EVIDENCE_BROWSER, EVIDENCE_RETRIEVAL, EVIDENCE_FILE, EVIDENCE_KINDS };
struct harness_evidence {
	const char *member, *section, *name;
};
extern const struct harness_evidence harness_evidence[EVIDENCE_KINDS];

/* The shipped policy, over it references/adaptive_harness_policy.json and references/adaptive_harness.d/ in the order of their names. */
int harness_policy(const struct contract_place *at, struct json **ret, struct err *e);

/* One piece of work that is about to start. */
struct harness_request {
	const char *profile; /* must be there */
	const char *skill, *model, *model_tier, *task_id, *task_name, *request, *runtime_target; /* or NULL */
	const char *const *argv;
	size_t argc;
	bool has_context; /* somebody says that it was looked up, or it will be */
	const struct json *evidence[EVIDENCE_KINDS]; /* as it was passed; or NULL */
	const struct json *route; /* a decision; NULL: one is made up from what is known */
};
/* {task_id, skill, profile, model, model_tier, enforcement_level, contract, context_required, hydration_commands[][], browser_evidence, ...,
 * route_decision, interaction_workflow, skill_relevance, downgrade_hints[], checks [{name, ok, detail}], warnings[], ok} */
int harness_preflight(
	const struct contract_place *at, const struct harness_request *q, struct json **ret, struct err *e);
/* What of that is kept with the task, as meta.harness. */
struct json *harness_meta(struct arena *a, const struct harness_request *q, const struct json *preflight);

/* The program that a command line is really about: the module or script of an interpreter, the first word behind -c of a shell. */
const char *harness_tool(struct arena *a, const char *const *argv, size_t argc);

/* ---- harness_after.c ---- */

/* What a row says by itself: {browser_evidence?, retrieval_evidence?, file_intake_evidence?}, each with inferred: true.  Only what it has not got, and
 * only what `contract` asks for when `is_demanded`. */
struct json *harness_infer(const struct contract_place *at, const struct json *row,
	const struct json *contract, bool is_demanded);
/* Does the newest row of a task show this signal ("process_exit", "file_diff", ...)?  One that nobody knows it does not. */
bool harness_shows(struct arena *a, const struct json *row, const char *signal);
/* {task_id, entry, checks[], warnings[], ok}; `row` NULL: there is no such task. */
int harness_postflight(const struct contract_place *at, const char *task_id, const struct json *row,
	struct json **ret, struct err *e);
/* May somebody say that it is done?  {ok, reason reply_allowed|reply_blocked|task_not_found, task, checks[]} */
int harness_reply(const struct contract_place *at, const struct json *row, struct json **ret, struct err *e);

#endif
