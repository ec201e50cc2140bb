/* decide.h — a proposal, a profile and a policy become a decision.
 *
 * Rules are data over effects: the shipped ones (share/guard_rules.json) plus, where a workspace has one, its
 * guard_policy.json.  A workspace only ever adds strictness.  decide() is a pure function: no I/O, no clock, no failure; at
 * worst it says DENY.  Everything it finds counts, and the strictest finding decides, so an added command, wrapper or rule
 * can never lower an answer. */
#ifndef DECIDE_DECIDE_H
#define DECIDE_DECIDE_H

#include "base/mem.h"
#include "model/decision.h"
#include "model/effect.h"
#include "model/grant.h"
#include "model/profile.h"

#include <stdbool.h>
#include <stdint.h>

struct policy;

struct policy_source {
	struct bytes file; /* text of the workspace's guard_policy.json; p NULL when there is none */
	const char *file_name; /* for messages */
	const char
		*read_error; /* the file is there but could not be read: the policy fails closed; or NULL */
	bool override_accepted; /* a person has accepted this very file's `override` member */
};

/* The shipped rules, which are part of the program, and, when given, the file.  Never fails: a file that is not understood gives a policy that
 * keeps every shipped rule and asks about everything (policy_error says why, version 0).  `from` may be NULL. */
const struct policy *policy_compile(struct arena *a, const struct policy_source *from);

int policy_version(const struct policy *p);
const char *policy_error(const struct policy *p); /* NULL when all was understood */
bool policy_wants_override(
	const struct policy *p); /* the file asks to lower rules and that was not accepted */
enum guard_mode policy_default_mode(const struct policy *p);
bool policy_permits_off(const struct policy *p); /* "allow_guard_off" */
/* SHA-256 over everything the policy was compiled from.  NULL: of the shipped rules alone. */
const char *policy_sha256(struct arena *a, const struct policy *p);

/* For `guard rules`: the i-th rule, in the order they are tried; NULL past the end. */
struct rule_view {
	const char *id, *text, *instead, *recommended_profile;
	enum rule_effect action;
	enum reason_code reason;
	const char *origin; /* "built-in" or the file's name */
	const struct json *when; /* the condition as written; or NULL */
	const struct json *patterns; /* of substring and regex rules; or NULL */
};
bool policy_rule(const struct policy *p, size_t i, struct rule_view *ret);

/* Does a sandbox stand around the call, and does the profile rely on it instead of asking? */
static inline bool profile_is_contained(const struct profile *profile, enum placement placement)
{
	return placement == IN_SANDBOX && profile->contained == CONTAINED_ALLOW;
}

/* Which rule a finding comes from, and why it holds: {layer, rule, origin, effect, holds, because}; NULL: no rule about effects.  With reason_line() as
 * one sentence, the same of guard rules and of rules of a policy (engine_reasons()). */
struct json *decide_reason(struct arena *a, const struct decision *d, const struct finding *f);
const char *reason_line(struct arena *a, const struct json *reason);

struct decide_context {
	struct arena *a; /* findings and texts live here */
	enum guard_mode mode;
	enum placement placement; /* where it will run: rules rely on IN_SANDBOX alone */
	const char *workspace, *home; /* absolute and clean; or NULL */
	const char *task_name, *task_goal; /* or NULL */
	const char *policy_sha256; /* recorded as given; or NULL */
	int64_t now_us; /* recorded as evaluated_at */
};

void decide(const struct policy *policy, const struct profile *profile, const struct proposal *proposal,
	const struct decide_context *at, struct decision *ret);

/* A decision names the profile that its rules have in mind.  Keep that name only when the command is allowed under that profile: advice
 * that leads to the next refusal is none.  For whoever shows the decision to somebody. */
void decide_advice(const struct policy *policy, const struct profiles *profiles,
	const struct proposal *proposal, const struct decide_context *at, struct decision *d);

/* ---- contracts of skills (terms.c) ---- */

struct terms;
/* A call that is made under terms. */
struct terms_call {
	const char *tree; /* that paths of the contract are below; absolute */
	const char *
		state; /* of the workspace: it has copies of files, so what hides some hides it, too; or NULL */
	const char *tool; /* the client's; NULL: a command that is run here */
	bool is_shell; /* it runs a text or an argv */
	bool is_walled; /* the walls of the narrowed profile will stand around it */
};
struct terms_breach {
	const char *rule; /* "skill.paths", "skill.commands", ... */
	const char *text, *instead;
	const struct effect *effect; /* or NULL */
};
/* Does it leave the contract?  Then *ret says where.  What is not known is left to the walls where they stand, and leaves it where they do not.
 * Hosts and groups of tools are the narrowed profile's, which decide() has judged by. */
bool decide_terms(struct arena *a, const struct terms *t, const struct terms_call *call,
	const struct proposal *p, struct terms_breach *ret);

/* ---- answers ---- */

/* Why a decision asks, in the form that grants speak about; equal reasons once.  In `a`. */
struct cover *covers_of(struct arena *a, const struct decision *d, size_t *ret_n);
/* May an answer reach further than this very input?  Not for what is dynamic, opaque or about the command as a whole. */
bool cover_may_widen(const struct cover *c);
/* Can it be something else the next time, although the input is the same? */
bool cover_is_once_only(const struct cover *c);

/* Who asks, from where, with what. */
struct question {
	const char *principal, *session; /* session may be NULL */
	const char *profile, *cwd, *args_sha256;
	const char *request_id; /* only grants that answer this one; or NULL */
	int64_t now_us;
};

/* Is everything the decision asks answered by these grants?  ret_used[i] says whether grants[i] was needed.  Pure.  Only ever true
 * for a decision that is ESCALATE: a denial is never lifted.  Every reason to ask needs a grant that is in force, is meant for who
 * asks, and covers that rule on that effect; what cannot be known beforehand is covered only by an exact grant for one use. */
bool grants_answer(struct arena *a, const struct decision *d, const struct question *q,
	const struct grant *grants, size_t n, bool *ret_used);

/* Would a REACH_SHAPE grant answer everything of this, whoever asks and whenever? */
bool grant_covers(const struct grant *g, const struct cover *asked, size_t n);

/* The directory of this machine that git pushes to or fetches from; NULL: it is none, or nobody knows. */
const char *facts_directory(const struct effect *e);

/* The host of a URL, of user@host:path or of a bare name, in lower case; NULL when the text leaves any doubt. */
const char *host_of(struct arena *a, const char *target);

#endif
