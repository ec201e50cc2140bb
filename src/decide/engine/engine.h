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
size_t ruleset_rule_count(const struct ruleset *r);

/* A rule as a person would look it up; false past the end.  In the order in which ties are broken. */
struct ruleset_rule {
	const char *id, *layer, *origin, *text; /* layer: its name, or that of its pack */
	enum verdict verdict;
	enum reason_code code;
	const char *detail_code; /* or NULL */
	const struct json *document;
};
bool ruleset_rule(const struct ruleset *r, size_t i, struct ruleset_rule *ret);

/* The answer.  Lives in the arena of the judging. */
struct judgement {
	enum verdict verdict;
	enum reason_code code; /* meaningful unless V_ALLOW */
	const char *detail_code, *rule, *origin, *text; /* of the gate that decided; or NULL */
	enum gate_id gate; /* which one decided; GATE_COUNT when nothing objected */
	struct gate_answer gates[GATE_COUNT];
	bool was_asked[GATE_COUNT]; /* false: a DENY came before it */
	const char *const *fired; /* ids of all rules that held, strictest first */
	size_t fired_count;
	/* What is used up when it is done: none with V_DENY.  Those of an ESCALATE count when a person says yes. */
	const struct draw *draws;
	size_t draw_count;
	const char *const *active_packs;
	size_t active_pack_count;
	const char *roster_sha256; /* over {active, inactive} */
};

void engine_judge(struct arena *a, const struct ruleset *rules, const struct submission *ask,
	const struct facts *facts, struct judgement *ret);

/* What comes after the effect: does its output fit?  May turn an ALLOW's final state into DENY SCHEMA_VIOLATION. */
void engine_output(struct arena *a, const struct ruleset *rules, const char *schema_id, const struct json *output,
	struct gate_answer *ret);

/* For receipts, --json and explain: verdict, reason_code, rule, gates with their answers, roster, draws, packs. */
struct json *judgement_to_json(struct arena *a, const struct judgement *j);
const char *gate_name(enum gate_id g);

#endif
