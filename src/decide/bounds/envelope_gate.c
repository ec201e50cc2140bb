/* envelope_gate.c — the gate of the envelope: from a question to what an envelope is asked, and its conditions.
 *
 * Where the effect goes and how sensitive its data are is known from the facts where the door knows it, and else is what the request says
 * itself: that can only be believed when it is against the request. */
#include "decide/bounds/parts.h"

#include "decide/expression/expression.h"

/* What the door knows comes first. */
static const char *said(const struct judging *j, const char *name)
{
	return json_get_text(j->facts->known, name, json_get_text(j->ask->params, name, ""));
}

/* The first condition that denies; else the first that asks for a person.  One that cannot be evaluated denies: nobody knows whether it
 * holds. */
static void ask_triggers(struct judging *j, const struct envelope *env, struct gate_answer *ret)
{
	for (size_t i = 0; i < env->trigger_count; i++) {
		const struct json *doc = env->triggers[i].doc;
		const char *action = text_of(doc, "action"), *condition = text_of(doc, "condition");
		struct err e;
		enum requirement r =
			expression_requirement(env->triggers[i].condition, gate_variables(j), j->a, &e);
		bool is_denied = r == REQUIREMENT_ERROR || text_eq(action, "abort");
		if (r == REQUIREMENT_MISSING || (!is_denied && ret->verdict == V_ESCALATE))
			continue;
		if (r == REQUIREMENT_ERROR)
			gate_deny(ret, REASON_PRG_EVALUATION_ERROR, condition, arena_strdup(j->a, e.text));
		else if (is_denied)
			gate_deny(ret, REASON_POLICY_VIOLATION, condition, "The envelope ends the run here.");
		else
			gate_escalate(ret, REASON_ESCALATION_REQUIRED, condition,
				"The envelope asks for a person here.");
		ret->detail_code = action;
		ret->bound = doc;
		if (is_denied)
			return;
	}
}

static void judge(struct judging *j, const struct envelope_facts *f, struct gate_answer *ret)
{
	struct envelope_request q = { .effect_class = json_get_text(j->facts->known, "effect_class",
					      effect_class(j->ask->effect_type, j->ask->proposal)),
		.effect_type = j->ask->effect_type,
		.jurisdiction = json_get_text(j->facts->known, "jurisdiction", ""),
		.data_class = said(j, "data_class"),
		.blast_radius = said(j, "blast_radius"),
		.from_region = said(j, "source_region"),
		.to_region = said(j, "destination_region"),
		.resources = json_get(j->ask->params, "resources"),
		.is_encrypted = json_get_bool(j->facts->known, "encrypted", false),
		.evidence = json_get(j->facts->known, "evidence"),
		.category = said(j, "category") };
	struct envelope_answer answer;
	const char *tenant = f->bound ? text_of(f->bound->doc, "tenant_id") : "";

	ret->is_active = true;
	if (f->error)
		return gate_deny(ret, REASON_RATE_LIMIT_STORE_ERROR, NULL, f->error);
	if (*tenant && !(j->facts->tenant && text_eq(j->facts->tenant, tenant)))
		return gate_deny(ret, REASON_TENANT_ISOLATION, f->bound->id,
			"The envelope is that of another tenant.");
	if (!limit_amount(j, "estimated_cost_cents", 0, &q.estimated_cost) ||
		!limit_amount(j, "compute_units", 0, &q.compute_units))
		return gate_deny(ret, REASON_COST_CEILING_EXCEEDED, NULL,
			"The cost that the request names is no amount.");
	envelope_check(j->a, f->bound, &q, f, j->facts->now_us, &answer);
	for (size_t i = 0; i < answer.draw_count; i++)
		gate_draw(j, &answer.draws[i]);
	if (answer.is_refused) {
		*ret = (struct gate_answer){ .verdict = answer.verdict,
			.is_active = true,
			.code = answer.code,
			.detail_code = answer.detail,
			.rule = f->bound ? f->bound->id : NULL,
			.text = answer.text };
	}
	if (answer.verdict != V_DENY)
		ask_triggers(j, f->bound, ret);
}

void gate_envelope(struct judging *j, struct gate_answer *ret)
{
	static const struct envelope_facts none = { .run = "" };
	bool is_configured = j->limits && limits_envelope(j->limits);

	if (j->facts->envelope || is_configured)
		judge(j, j->facts->envelope ? j->facts->envelope : &none, ret);
}
