/* gate.h — inside decide/: what every gate of the pipeline sees and says.
 *
 * One question (struct submission), what is known about the world (struct facts) and a compiled policy (struct ruleset) go through a
 * fixed row of gates (checks.def).  Each gate is a pure function: no I/O, no clock but facts.now_us, memory only in the
 * arena given; it cannot fail, at worst it says DENY.  DENY ends the row.  The first ESCALATE is kept while the rest is still asked.
 *
 * What the caller says is never believed about the world: it stands in the submission.  What is believed stands in the facts, which
 * only a door fills, from what it knows itself.  Nothing is consumed while judging: what an ALLOW would use up is listed as draws,
 * and whoever records the decision commits exactly those, under the lock of the chain (record/).
 *
 * A gate without configuration lets everything pass and is listed as inactive; a policy can name gates that must be active. */
#ifndef DECIDE_GATE_H
#define DECIDE_GATE_H

#include "base/json.h"
#include "base/mem.h"
#include "model/decision.h"
#include "model/draw.h"
#include "model/effect.h"
#include "model/reason.h"
#include "model/verdict.h"

#include <stdbool.h>
#include <stdint.h>

/* The checks, in the order in which they are asked: checks.def has them all. */
enum gate_id {
#define CHECK(id, name, due, known, member, page) GATE_##id,
#include "decide/checks.def"
#undef CHECK
	GATE_COUNT
};

/* What somebody wants to do, in their own words. */
struct submission {
	const char *effect_type; /* "file_read", "mcp_tool_call", "EXECUTE_COMMAND", ...; "" when missing */
	const char *effect_id; /* "" when missing */
	const char *principal; /* as claimed; facts.principal is who it is */
	const char *tool; /* or NULL */
	bool is_tool_unknown; /* it is one, and nobody knows which: conditions on it are in doubt */
	bool is_tool_beside; /* what a tool starts: rules that forbid it hold, and none has to allow it */
	const char *budget_id; /* or NULL */
	const struct json *params; /* NULL: none */
	const struct json
		*context; /* the caller's own remarks; rules can read them, no gate believes them; or NULL */
	const struct proposal *proposal; /* of a command or tool call that was understood; or NULL */
};

/* What each gate needs to know of the world.  NULL: not configured, so the gate is inactive.  The structs are in the headers of the
 * folder that owns the gate: engine/, bounds/, authority/. */
struct facts {
	int64_t now_us;
	const char *principal, *workspace, *session; /* as authenticated; NULL when unknown */
	const struct json *
		known; /* further trusted facts by name, for rules and packs: jurisdiction, industry, ...; or NULL */

	/* From here on: what some gate waits for. */
	const char *tenant; /* as authenticated */
	const struct json *taint; /* labels on what led here: a list of texts; or NULL */
	const struct stop_facts *stop; /* authority/ */
	const struct policy_facts *policy; /* engine/: epoch, freshness, revocation */
	const struct ledger_facts *ledger; /* engine/: which parents and keys are known */
	const struct pin_facts *pins; /* engine/ */
	const struct identity_facts *identity; /* authority/ */
	const struct delegation_facts *delegation;
	const struct capability_facts *capability;
	const struct mcp_facts *mcp;
	const struct pdp_facts *pdp;
	const struct sandbox_facts *sandbox;
	const struct egress_facts *egress;
	const struct privilege_facts *privilege;
	const struct envelope_facts *envelope; /* bounds/: the bound envelope with its counters */
	const struct velocity_facts *velocity; /* bounds/ */
	const struct budget_facts *budget; /* bounds/ */
	const struct decision *guard; /* engine/: what decide() said about submission.proposal */
};

/* What one gate said.  verdict V_ALLOW means "no objection". */
struct gate_answer {
	enum verdict verdict;
	bool is_active;
	enum reason_code code; /* meaningful unless V_ALLOW */
	const char *detail_code; /* finer: a rule's or pack's own code; or NULL */
	const char *rule; /* id of the rule that spoke; or NULL */
	const char *origin; /* "file:line:column" of it; or NULL */
	const char *text; /* one sentence for a person; or NULL */
	const struct json *
		bound; /* further members that the receipt must bind (evidence, counterfactual, fact requests, approvers); or NULL */
};

struct ruleset; /* engine/: a compiled policy */

/* One question on its way through the gates. */
struct judging {
	struct arena *a;
	const struct ruleset *rules; /* NULL: no policy in use */
	const struct json
		*document; /* what it was compiled from, for gates with a section of their own; NULL: none */
	const struct limits *limits; /* bounds/: those of the policy, compiled; NULL: it bounds nothing */
	const struct submission *ask;
	const struct facts *facts;
	const struct json *variables; /* what expressions see; made once, on first use (gate_variables) */
	struct draw *
		draws; /* what is used up when it is done, so far: no two have the same kind, key and window */
	size_t draw_count, draw_room;
	const char **active_packs; /* in the order of their activation */
	size_t active_pack_count;
	struct matched *matched; /* engine/: which rules speak about it */
};

/* A gate: fills *ret, which comes in as { V_ALLOW, inactive }.  It sets is_active when it was configured. */
typedef void gate_fn(struct judging *j, struct gate_answer *ret);

/* gate.c, for gates; gate_variables() is in engine/. */
void gate_deny(struct gate_answer *ret, enum reason_code code, const char *rule, const char *text);
void gate_escalate(struct gate_answer *ret, enum reason_code code, const char *rule, const char *text);
void gate_draw(struct judging *j, const struct draw *d);
/* Does the list draw on the same thing already (kind, key, window)?  Then that is one draw of both: with is_sum of what both take, otherwise of
 * the larger, where two policies count the same deed; and by the smaller limit. */
bool draw_join(struct draw *list, size_t n, const struct draw *d, bool is_sum);
const struct json *gate_variables(struct judging *j);

/* Those of authority/ and bounds/ lie there, the others in engine/. */
#define CHECK(id, name, due, known, member, page) gate_fn gate_##name;
#include "decide/checks.def"
#undef CHECK

#endif
