/* pdp.c — what an external decision point answered.
 *
 * An answer counts when it came in time and is exactly what the contract says: a point that is late, silent or says something else
 * has not allowed anything.  Codes that are not ours become PDP_DENY, and the foreign one stays as detail. */
#include "decide/authority/parts.h"

#include <string.h>

enum { DEFAULT_DEADLINE_US = 5000000 };

/* The light answer: {allow, reason_code, policy_ref, decision_hash}; its hash must be over the rest. */
static bool hash_holds(struct arena *a, const struct json *answer)
{
	return text_eq(json_get_text(answer, "decision_hash", ""), hash_without(a, answer, "decision_hash"));
}

static void no(struct judging *j, struct gate_answer *ret, const char *code)
{
	const struct reason *known = reason_find(code);
	bool is_ours = known && (known->verdicts & (REASON_DENIES | REASON_ALSO_DENIES));

	gate_deny(ret, REASON_PDP_DENY, "pdp", "The external decision point said no.");
	for (int i = 0; is_ours && i < REASON_COUNT; i++)
		if (reason_get((enum reason_code)i) == known)
			ret->code = (enum reason_code)i;
	if (*code)
		bind_text(j, ret, "pdp_reason_code", code);
}

static void fault(struct judging *j, struct gate_answer *ret, const char *why)
{
	gate_deny(ret, REASON_PDP_ERROR, "pdp",
		arena_printf(j->a, "The external decision point gave no answer that counts: %s.", why));
}

static bool has_items(const struct json *v)
{
	return json_is(v, JSON_ARRAY) && v->n;
}

static void judge_light(struct judging *j, const struct json *answer, struct gate_answer *ret)
{
	if (!hash_holds(j->a, answer))
		fault(j, ret, "its hash does not fit");
	else if (!json_get_bool(answer, "allow", false))
		no(j, ret, json_get_text(answer, "reason_code", ""));
}

static void judge_full(struct judging *j, const struct json *answer, struct gate_answer *ret)
{
	const struct json *constraints = json_get(answer, "constraints");
	const char *decision = json_get_text(answer, "decision", "");

	if (json_get(answer, "expires_at") && j->facts->now_us >= checked_time(answer, "expires_at"))
		fault(j, ret, "it has expired");
	else if (text_eq(decision, "DENY"))
		no(j, ret, "");
	else if (text_eq(decision, "ESCALATE") || has_items(json_get(constraints, "required_approvals")) ||
		has_items(json_get(constraints, "required_evidence")))
		gate_escalate(ret, REASON_APPROVAL_REQUIRED, "pdp",
			"The external decision point wants an approval or evidence first.");
}

static const char *fault_of(struct judging *j, const struct pdp_facts *f)
{
	int64_t deadline = f->deadline_us ? f->deadline_us : DEFAULT_DEADLINE_US;

	if (f->fault)
		return f->fault;
	if (!f->answer)
		return "there is none";
	if (f->answered_us - f->asked_us > deadline || f->answered_us < f->asked_us)
		return "it came too late";
	if (authority_document(j->a, "pdp-answer", f->answer, NULL))
		return "it is malformed";
	const char *version =
		json_get_text(f->answer, "policy_version", json_get_text(f->answer, "policy_ref", ""));
	return f->policy_version && !text_eq(f->policy_version, version) ? "another policy answered" : NULL;
}

void gate_pdp(struct judging *j, struct gate_answer *ret)
{
	const struct pdp_facts *f = j->facts->pdp;

	if (!f)
		return;
	ret->is_active = true;
	const char *why = fault_of(j, f);
	if (why)
		fault(j, ret, why);
	else if (json_get(f->answer, "decision"))
		judge_full(j, f->answer, ret);
	else
		judge_light(j, f->answer, ret);
	if (!why)
		bind_text(j, ret, "pdp_answer_hash", json_sha256(j->a, f->answer));
}

bool pdp_allows(struct arena *a, const struct pdp_facts *f)
{
	const struct facts facts = { .now_us = f->answered_us, .pdp = f };
	struct judging j = { .a = a, .facts = &facts };
	struct gate_answer said = { .verdict = V_ALLOW };

	gate_pdp(&j, &said);
	return said.verdict == V_ALLOW;
}
