/* consensus.h — a plan that work is held to: reviewed before it starts, and compared with what was touched afterwards.
 *
 * The review is by rules, not by opinion: three readers ask whether the plan says what is to be done, where, and how one would see that it was.
 * What a plan leaves open is filled from what is known (name, profile, checkpoint); where it writes and what must hold afterwards is
 * never made up, since a plan that approves itself holds nothing.  docs/formats/completion.md. */
#ifndef REMEMBER_CONSENSUS_H
#define REMEMBER_CONSENSUS_H

#include "base/json.h"

struct consensus_about {
	const char *task_id, *objective, *profile, *created_at;
	const char *const *paths; /* that the caller names as scope, when the plan has none */
	size_t path_count;
	const char *const *acceptance; /* what must hold, when a task does not say */
	size_t acceptance_count;
	bool has_checkpoint; /* the run saves files first */
};
/* {status approved|blocked, ok, round_count, plan, rounds [{round, reviews [{reviewer, decision approve|revise|block, issues[]}]}], reason?}.
 * `given` may be NULL: then only what the caller names. */
struct json *consensus_review(struct arena *a, const struct json *given, const struct consensus_about *about);

/* {ok, scope[], violations[]}: does every path lie in the scope? */
struct json *consensus_scope_gate(struct arena *a, const struct json *plan, const struct json *touched);

/* Does work of this kind ask for a plan where plans are asked for? */
bool consensus_is_asked_for(const char *profile, const char *task_name, const char *command);

/* Is work of this kind to be verified as well? */
bool consensus_is_verified(
	const char *profile, const char *task_name, const char *skill, const char *command);

/* What must hold afterwards, as claims (claim.h) that rest on the evidence which would show it: each criterion by its words, once for every type
 * that it speaks of.  One that speaks of none, or of what is not so, rests on nothing. */
struct json *consensus_criteria(struct arena *a, const struct json *plan, const struct json *evidence);

#endif
