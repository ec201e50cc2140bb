/* engine.h — one engine that every door asks: a policy, a question and facts become a judgement.
 *
 * ruleset_compile() makes a policy document (docs/formats/policy-document.md) into something that answers fast: rules by action,
 * expressions compiled, schemas compiled, everything that can be wrong found and named with file, line and column.  It never
 * believes more than it understands: an unknown member, verdict, operator or gate is an error.
 *
 * engine_judge() is pure.  The same ruleset, submission and facts give the same judgement, to the byte. */
#ifndef DECIDE_ENGINE_ENGINE_H
#define DECIDE_ENGINE_ENGINE_H

#include "decide/gate.h"

/* The document is what bundle/ makes of any file that people write; its texts must live as long as the ruleset.
 * Codes: POLICY_DOCUMENT (shape), POLICY_RULE, POLICY_EXPRESSION, POLICY_SCHEMA, POLICY_GATE with E_INPUT; POLICY_SIZE with E_LIMIT. */
int ruleset_compile(struct arena *a, const struct json *document, struct ruleset **ret, struct err *e);

const char *ruleset_name(const struct ruleset *r);
const char *ruleset_version(const struct ruleset *r);
const char *ruleset_sha256(const struct ruleset *r); /* "sha256:..." over the canonical document */
uint64_t ruleset_epoch(const struct ruleset *r);
const struct json *ruleset_document(const struct ruleset *r);
/* Its limits, compiled; NULL: it has none. */
const struct limits *ruleset_limits(const struct ruleset *r);
/* A member of the document that one of the other folders understands ("limits", "egress", ...); or NULL. */
const struct json *ruleset_section(const struct ruleset *r, const char *name);
size_t ruleset_rule_count(const struct ruleset *r);
/* Must this gate be active for anything to be allowed? */
bool ruleset_requires(const struct ruleset *r, enum gate_id g);
/* Or does the policy give it something to check?  Then whoever asks states what it needs to know. */
bool ruleset_wants(const struct ruleset *r, enum gate_id g);
/* Every place that a condition compares paths with, once each, in `a`; NULL when no condition is about paths.  Whoever asks finds out where links on the way
 * to them, and to what the request names, lead: facts.places, {as it is written: where it is}. */
struct json *ruleset_places(struct arena *a, const struct ruleset *r);

/* A rule as a person would look it up; false past the end.  In the order in which ties are broken. */
struct ruleset_rule {
	const char *id, *layer, *origin, *text; /* layer: its name, or that of its pack */
	enum verdict verdict;
	enum reason_code code;
	const char *detail_code; /* or NULL */
	const struct json *document;
};
bool ruleset_rule(const struct ruleset *r, size_t i, struct ruleset_rule *ret);

/* Where a policy rests on somebody stating something: [{layer, rule?, origin?, field?, condition}].  What is not in this list cannot turn a refusal
 * into ALLOW by being left out of the facts or the request (absence.c). */
struct json *ruleset_absences(struct arena *a, const struct ruleset *r);

/* ---- what the gates of this folder need to know ---- */

/* The policy in use.  NULL: a policy is needed only when there is one. */
struct policy_facts {
	bool is_required; /* without a policy nothing is allowed */
	bool is_refused; /* there is one, and it must not be used any more: revoked, not verified, ... */
	enum reason_code refused_code;
	const char *refused_text; /* or NULL */
	int64_t verified_us; /* when it was last verified */
	int64_t fresh_us; /* for how long that counts; 0: for ever */
	bool has_promised_epoch; /* a decision before this one was made under promised_epoch */
	uint64_t promised_epoch;
};

/* What is on record.  NULL: claims about parents and signatures are not looked at. */
struct ledger_facts {
	const char *const *parents; /* hashes that are there, as "sha256:..." */
	size_t parent_count;
	const uint8_t (*keys)[32]; /* public keys that may sign what is installed */
	size_t key_count;
};

/* What was pinned when it was reviewed, for what this question uses.  All NULL: it uses nothing that can be pinned. */
struct pin_facts {
	const char *schema_version; /* NULL: not pinned */
	const char *presented_schema_version; /* what is there now; NULL: none */
	bool has_lamport;
	int64_t presented_lamport, consumed_lamport;
};

/* The sandbox that will stand around this, and what it permits.  NULL: none stands, and nothing is permitted. */
struct sandbox_facts {
	const char *runtime; /* which one it is; NULL: what runs it says so itself */
	bool may_run_generated; /* a grant for code that an agent wrote */
	bool has_network;
	const char *const *preopens; /* directories that are open inside */
	size_t preopen_count;
};

/* ---- the question ---- */

/* What an entry point asks, in the words that policies use.  What it knows stands in `known`, by the names that question_judge() says. */
struct policy_question {
	const char *action; /* "EXECUTE_COMMAND", "AGENT_TOOL_CALL", or what a request names */
	const char *tool, *principal, *session; /* tool and session may be NULL */
	const struct json *
		tools; /* programs that it starts, each once; null among them: one that is not known; or NULL */
	const char *effect_id, *budget_id; /* or NULL */
	const struct json *params, *context; /* or NULL */
	const struct proposal *proposal; /* what was understood; or NULL */
	const struct json *known; /* what the door knows: {door, profile, containment, cwd, ...}; or NULL */
	int64_t now_us;
	const struct drawn *drawn; /* what was used up so far; NULL: nothing */
	const char *drawn_error; /* why that is not known; or NULL */
	const struct pdp_facts *pdp; /* what an external decision point said; NULL: none is asked */
};

struct judgement;
/* How one tool is asked about: as the tool of the question, or as what that starts. */
struct as_tool {
	const char *name; /* or NULL */
	bool is_unknown, is_beside;
};

/* The one way from a question to a judgement: every entry point and conformance go through it.  `about` is what is known about the policy itself, `guard` what the
 * guard rules said; either may be NULL.  What the checks need to know is taken from `known` (supply.c):
 *
 *	stop	{reason?, code?}		pins	{schema_version?, presented_schema_version?, replay_lamport?, current_lamport?}
 *	ledger	{parents: [...], keys: [hex]}	sandbox	{runtime?, network, preopens: [...], generated}
 *	tenant, taint, key_id, key_principal, privilege_tier, trust_level, delegation_session, delegation_proof, graph */
void question_judge(struct arena *a, const struct ruleset *rules, const struct policy_facts *about,
	const struct policy_question *q, const struct decision *guard, struct as_tool tool,
	struct judgement *ret);

/* ---- the answer ---- */

/* Lives in the arena of the judging.  Bits of gates are 1 << gate_id. */
struct judgement {
	enum verdict verdict;
	enum reason_code code; /* meaningful unless V_ALLOW */
	const char *detail_code, *rule, *origin, *text; /* of the gate that decided; or NULL */
	const struct json *bound; /* what a receipt must bind; or NULL */
	enum gate_id gate; /* which one decided; GATE_COUNT when nothing objected */
	uint32_t asked; /* bits: not set when a DENY came before it */
	uint32_t active; /* bits: the gate was configured */
	uint32_t spoke; /* bits: answers[gate] says something; otherwise it had no objection */
	struct gate_answer answers[GATE_COUNT];
	const char *const *fired; /* ids of all rules that held, strictest first */
	size_t fired_count;
	/* What is used up when it is done: none with V_DENY.  Those of an ESCALATE count when a person says yes. */
	const struct draw *draws;
	size_t draw_count;
	const char *const *active_packs;
	size_t active_pack_count;
	const char *const *unknown_packs; /* jurisdictions and the like that no pack knows */
	size_t unknown_pack_count;
};

void engine_judge(struct arena *a, const struct ruleset *rules, const struct submission *ask,
	const struct facts *facts, struct judgement *ret);

/* Of each rule about effects that speaks about this question, with each effect of its kinds: [{layer, rule, origin?, effect, holds, because}], as
 * decide_reason() says it of guard rules. */
struct json *engine_reasons(struct arena *a, const struct ruleset *rules, const struct submission *ask,
	const struct facts *facts);

/* What comes after the effect: does its output fit?  May turn an ALLOW's final state into DENY SCHEMA_VIOLATION. */
void engine_output(struct arena *a, const struct ruleset *rules, const char *schema_id,
	const struct json *output, struct gate_answer *ret);

/* For receipts, --json and explain: verdict, reason_code, rule, gates with their answers, roster, draws, packs. */
struct json *judgement_to_json(struct arena *a, const struct judgement *j);
/* {active, inactive}, by name, and its digest: "sha256:...". */
struct json *judgement_roster(struct arena *a, const struct judgement *j);
const char *judgement_roster_sha256(struct arena *a, const struct judgement *j);
/* What one gate said; "no objection" when it had nothing to say. */
struct gate_answer judgement_answer(const struct judgement *j, enum gate_id g);
const char *gate_name(enum gate_id g);
/* The member of a document without which it has nothing to check; NULL: it needs none. */
const char *gate_member(enum gate_id g);
bool gate_parse(const char *name, enum gate_id *ret);

#endif
