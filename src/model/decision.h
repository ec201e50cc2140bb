/* decision.h — the answer to a proposal, with everything a person or a receipt needs to understand it.
 *
 * Two vocabularies for one answer: the guard's action (allow, warn, require_approval, deny) is what the rules said; the
 * verdict is what happens, after the tool groups of the profile have had their say.  Both only ever get stricter while a
 * decision is made. */
#ifndef MODEL_DECISION_H
#define MODEL_DECISION_H

#include "model/effect.h"
#include "model/profile.h"
#include "model/reason.h"
#include "model/verdict.h"

#include <stdint.h>

/* In rising severity. */
enum rule_effect { ACTION_ALLOW, ACTION_WARN, ACTION_ASK, ACTION_DENY, ACTION_COUNT };
const char *action_name(enum rule_effect a); /* "allow", "warn", "require_approval", "deny" */
bool action_parse(const char *name, enum rule_effect *ret); /* "ask" is understood too */
enum verdict action_verdict(enum rule_effect a); /* anything out of range is V_DENY */

enum guard_mode { GUARD_ENFORCE, GUARD_AUDIT, GUARD_OFF, GUARD_MODES };
const char *guard_mode_name(enum guard_mode m);
bool guard_mode_parse(const char *name, enum guard_mode *ret);

/* Where it runs, and who carries it out: in the sandbox of its profile; without one, by whoever was answered; or by a process that Helm
 * supervises, in a sandbox of that process's own, on which no rule relies.  As far apart as verdicts are; a value that is none of the three
 * counts as UNSANDBOXED. */
enum placement { IN_SANDBOX = 0x30bcace7, UNSANDBOXED = 0x4599f4b4, BY_SUPERVISOR = 0x0d0d7f43 };
const char *placement_name(enum placement p); /* "in_sandbox", "unsandboxed", "by_supervisor" */
const char *containment_name(
	enum placement p); /* as receipts say it: "walls" where a sandbox stands, else "none" */

/* What can bring back what a rule asks about: a checkpoint of its operands; or, behind walls, which keep every other loss from
 * happening, a checkpoint of the whole work tree with git's own data. */
enum undo { UNDO_NONE, UNDO_CHECKPOINT, UNDO_TREE };

/* One thing a rule had to say about one effect. */
struct finding {
	enum rule_effect action;
	const char *rule; /* "deny.rm_root"; never NULL */
	enum reason_code reason;
	const char *text; /* what was understood, one sentence */
	const char *instead; /* what to do instead; or NULL */
	const char *recommended_profile; /* or NULL */
	const struct effect *effect; /* what it is about; NULL when it is about the whole command */
	const struct source *source; /* the text `at` points into; or NULL */
	struct span at;
	bool is_destructive;
	enum undo undo;
};

/* One reason to ask.  Findings are for people and say a rule once per command; reasons are complete: to answer a question is to
 * answer every one of them. */
struct ask {
	const char *rule;
	const struct effect *effect; /* NULL: about the whole command */
	enum undo undo; /* without an effect: of the destructive ones, each of which says so itself */
};

/* Parts of the risk score, in hundredths. */
struct score_part {
	const char *name;
	int hundredths;
};
enum { MAX_SCORE_PARTS = 10 };

struct decision {
	enum verdict verdict; /* what happens */
	enum rule_effect action; /* what the guard's rules said */
	enum reason_code
		reason_code; /* of the registry; meaningful unless verdict is V_ALLOW without a finding */
	const char *detail_code; /* id of the rule that decided; or NULL */
	const char *summary; /* one sentence: what was understood */

	struct finding *findings; /* worst first, then in the order of the command */
	size_t finding_count;
	struct ask *asks; /* every rule that asks, about every effect it asks about */
	size_t ask_count;
	bool has_more_asks; /* there were too many to keep */
	int approvers; /* how many people must say yes, each with a key of their own; 0 and 1: one is enough */
	const struct finding *decisive; /* the finding that decided; NULL when nothing spoke */

	int score_hundredths;
	struct score_part parts[MAX_SCORE_PARTS];
	size_t part_count;

	const struct profile *profile;
	const char *recommended_profile; /* or NULL */
	const struct proposal *proposal;
	enum guard_mode mode;
	enum placement placement; /* IN_SANDBOX only where every guarantee of the sandbox holds */
	int policy_version;
	const char *policy_sha256;
	const struct policy *policy; /* that it was decided by, to explain it; NULL: none is at hand */
	const char *workspace; /* or NULL */
	const char *task_name, *task_goal; /* or NULL */
	int64_t evaluated_us;

	bool writes, network, destructive, privilege, remote;
	const char **categories;
	size_t category_count;
	const char **target_paths;
	size_t target_path_count;

	/* Tool groups the command really uses, in order of appearance; those the profile denies make the verdict V_DENY. */
	enum tool_group used[GROUP_COUNT];
	size_t used_count;
	bool has_denied_group;
	enum tool_group denied_used[GROUP_COUNT];
	size_t denied_used_count;
};

/* The rule that denies input which was not understood; no mode, grant or profile stands above it. */
#define NOT_UNDERSTOOD_RULE "read.not_understood"

/* Has a stricter finding already spoken about the effect of finding i?  Then a person need not read it. */
bool decision_is_outspoken(const struct decision *d, size_t i);

/* What the runner acts upon: the verdict under enforce; in audit and off nothing is blocked. */
enum verdict decision_effective(const struct decision *d);

/* Exit code of ops-cli: 0, 24 or 25, from the effective verdict. */
int decision_exit(const struct decision *d);

/* The object kept in the ledger under "guard" and printed by --json. */
struct json *decision_to_json(struct arena *a, const struct decision *d);

/* "low", "medium", "high", "critical" for display. */
const char *risk_level(int score_hundredths);

#endif
