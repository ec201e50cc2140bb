/* mapping.c — compliance reference packs: controls of a framework, and rules that somebody could enforce for them.
 *
 * By default such a pack is a mapping: it is shown beside receipts and decides nothing.  Only when a person says so are its rules compiled, and then every variable that nothing here
 * supplies is named: a deny rule that can never be evaluated denies everything, and one that can never hold is no protection. */
#include "decide/bundle/parts.h"

#include <string.h>
#include <strings.h>

static const struct outcome {
	const char *word, *verdict, *code; /* verdict NULL: an obligation to record, no verdict */
} outcomes[] = {
	{ "deny", "DENY", "POLICY_VIOLATION" },
	{ "require_approval", "ESCALATE", "APPROVAL_REQUIRED" },
	{ "escalate", "ESCALATE", "APPROVAL_REQUIRED" },
	{ "audit", NULL, NULL },
};

/* One pack being read. */
struct mapping {
	struct reading *r;
	const char *framework;
	struct json *rules; /* of the document; NULL while it is only a mapping */
	struct json *variables; /* report: [{name, supplied, used_by}] */
	size_t count; /* of rules so far */
};

static bool is_supplied(const struct reading *r, const char *name)
{
	if (text_eq(name, "effect_type") || text_eq(name, "principal"))
		return true;
	json_each (known, r->in->known_variables)
		if (json_text(known) && text_eq(json_text(known), name))
			return true;
	return false;
}

static void note_variables(struct mapping *m, const struct condition *c, const char *rule)
{
	struct arena *a = m->r->a;

	for (size_t i = 0; i < c->n; i++) {
		struct json *row = NULL;
		json_each (seen, m->variables)
			if (text_eq(json_get_text(seen, "name", ""), c->variables[i].name))
				row = seen;
		if (!row) {
			row = json_new(a, JSON_OBJECT);
			json_sets(a, row, "name", c->variables[i].name);
			json_setb(a, row, "is_set", c->variables[i].is_set);
			json_setb(a, row, "supplied", is_supplied(m->r, c->variables[i].name));
			json_set(a, row, "used_by", json_new(a, JSON_ARRAY));
			json_push(a, m->variables, row);
		}
		json_pushs(a, json_get(row, "used_by"), rule);
	}
}

static void warn_unsupplied(
	struct mapping *m, const struct json *at, const struct condition *c, const char *verdict)
{
	for (size_t i = 0; i < c->n; i++) {
		if (is_supplied(m->r, c->variables[i].name))
			continue;
		problem_at(m->r, POLICY_WARNING, "PACK_UNSUPPLIED", at->at, c->variables[i].name,
			"have a door supply it as a fact, or leave the pack a mapping",
			text_eq(verdict, "DENY")
				? "nothing here supplies '%s': the rule denies whenever it is asked for"
				: "nothing here supplies '%s': the rule asks whenever it is asked for",
			c->variables[i].name);
	}
}

/* The control that the reason begins with, or the program itself. */
static const char *control_of(const struct json *program, const char *reason)
{
	json_each (control, json_get(program, "controls")) {
		const char *id = json_get_text(control, "control_id", "");
		if (*id && strstr(reason, id))
			return id;
	}
	return json_get_text(program, "program_id", "");
}

static const struct outcome *outcome_of(struct mapping *m, const struct json *rule, const char *member)
{
	const char *word = take_text(m->r, rule, member, "REFERENCE_PACK");
	const struct json *at = json_get(rule, member);

	for (size_t i = 0; i < ARRAY_SIZE(outcomes); i++)
		if (strcasecmp(word, outcomes[i].word) == 0)
			return &outcomes[i];
	if (*word)
		problem_at(m->r, POLICY_ERROR, "REFERENCE_PACK", at->at, word,
			"write deny, require_approval, escalate or audit",
			"this is no action of a reference pack");
	return NULL;
}

/* A rule of the document from one of the pack. */
static void add_rule(struct mapping *m, const struct json *rule, const struct outcome *o,
	const struct condition *c, const char *control)
{
	struct reading *r = m->r;
	const char *reason = json_get_text(rule, "reason", "");

	if (!m->rules || !o->verdict)
		return;
	struct json *made = make_rule(r, r->rule, "*", o->verdict, rule);
	json_sets(r->a, made, "when", c->expression);
	json_sets(r->a, made, "reason_code", o->code);
	json_sets(r->a, made, "detail_code", arena_printf(r->a, "%s:%s", m->framework, control));
	json_sets(r->a, made, "text", reason);
	json_push(r->a, m->rules, made);
	warn_unsupplied(m, rule, c, o->verdict);
}

static void read_rule(struct mapping *m, const struct json *program, const struct json *rule,
	bool is_candidate, struct json *rows)
{
	struct reading *r = m->r;
	struct condition c;
	struct err why;
	const char *reason_member = is_candidate ? "rationale" : "reason",
		   *condition_member = is_candidate ? "candidate_condition" : "condition";

	r->rule = arena_printf(r->a, "%s-%zu", json_get_text(program, "program_id", "program"), ++m->count);
	if (!take_object(r, rule, "a rule", "REFERENCE_PACK"))
		return;
	const struct outcome *o = outcome_of(m, rule, is_candidate ? "candidate_outcome" : "action");
	const char *text = take_text(r, rule, condition_member, "REFERENCE_PACK");
	const char *reason = take_text(r, rule, reason_member, "REFERENCE_PACK");
	if (!o || !*text)
		return;
	if (condition_compile(r->a, text, o->verdict && text_eq(o->verdict, "ESCALATE"), &c, &why)) {
		problem_at(r, POLICY_ERROR, "POLICY_EXPRESSION", json_get(rule, condition_member)->at, text,
			"write name == VALUE, name IN [A, B], joined by AND and OR", "%s", why.text);
		return;
	}
	const char *control = control_of(program, reason);
	struct json *row = json_new(r->a, JSON_OBJECT);
	json_sets(r->a, row, "id", r->rule);
	json_sets(r->a, row, "action", o->word);
	json_sets(r->a, row, "condition", text);
	json_sets(r->a, row, "expression", c.expression);
	json_sets(r->a, row, "control", control);
	json_setb(r->a, row, "candidate", is_candidate);
	json_push(r->a, rows, row);
	note_variables(m, &c, r->rule);
	if (!is_candidate)
		add_rule(m, rule, o, &c, control);
}

static struct json *read_controls(struct mapping *m, const struct json *program)
{
	static const char *const kept[] = { "control_id", "description", "enforcement", "mapping_status",
		"helm_surface" };
	struct json *list = json_new(m->r->a, JSON_ARRAY);

	const struct json *controls = take_list(m->r, program, "controls", "REFERENCE_PACK");
	json_each (control, controls) {
		struct json *row = json_new(m->r->a, JSON_OBJECT);
		if (!take_object(m->r, control, "a control", "REFERENCE_PACK"))
			continue;
		(void)take_text(m->r, control, "control_id", "REFERENCE_PACK");
		for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
			if (json_get(control, kept[i]))
				json_set(m->r->a, row, kept[i], json_get(control, kept[i]));
		json_sets(m->r->a, row, "detail_code",
			arena_printf(
				m->r->a, "%s:%s", m->framework, json_get_text(control, "control_id", "")));
		json_push(m->r->a, list, row);
	}
	return list;
}

static void read_program(struct mapping *m, const struct json *program, struct json *into)
{
	struct json *row = json_new(m->r->a, JSON_OBJECT), *rules = json_new(m->r->a, JSON_ARRAY);
	const char *status = json_get_text(program, "status", "active");
	struct json *kept = m->rules;

	m->r->rule = NULL;
	if (!take_object(m->r, program, "a program", "REFERENCE_PACK"))
		return;
	json_sets(m->r->a, row, "program_id", take_text(m->r, program, "program_id", "REFERENCE_PACK"));
	json_sets(m->r->a, row, "label", json_get_text(program, "label", ""));
	json_sets(m->r->a, row, "status", status);
	json_set(m->r->a, row, "controls", read_controls(m, program));
	if (json_get(program, "status") &&
		!TAKE_WORD(m->r, json_get(program, "status"), "status", "REFERENCE_PACK", "active", "paused",
			"archived"))
		return;
	if (!text_eq(status, "active"))
		m->rules = NULL;
	const struct json *rules_given = take_list(m->r, program, "policy_rules", "REFERENCE_PACK");
	json_each (rule, rules_given)
		read_rule(m, program, rule, false, rules);
	const struct json *candidates =
		take_list(m->r, program, "candidate_policy_mappings", "REFERENCE_PACK");
	json_each (rule, candidates)
		read_rule(m, program, rule, true, rules);
	m->rules = kept;
	m->r->rule = NULL;
	json_set(m->r->a, row, "rules", rules);
	json_push(m->r->a, into, row);
}

/* A pack that says of itself that it is no policy is none. */
static bool may_be_policy(struct reading *r)
{
	const struct json *kind = json_get(r->tree, "artifact_kind"),
			  *enforced = json_get(r->tree, "runtime_enforcement");

	if (!r->in->as_policy)
		return false;
	if (!json_is(enforced, JSON_FALSE) && !text_eq(scalar_text(r->a, kind), "COMPLIANCE_MAPPING"))
		return true;
	problem_at(r, POLICY_ERROR, "PACK_IS_MAPPING", (enforced ? enforced : kind)->at, "",
		"use it as a mapping: leave '--as policy' out",
		"the pack says of itself that it is not to be enforced");
	return false;
}

void read_mapping(struct reading *r)
{
	struct mapping m = { .r = r, .variables = json_new(r->a, JSON_ARRAY) };
	struct json *programs = json_new(r->a, JSON_ARRAY), *report = json_new(r->a, JSON_OBJECT);
	const char *id = take_text(r, r->tree, "pack_id", "REFERENCE_PACK");

	m.framework = take_text(r, r->tree, "compliance_framework", "REFERENCE_PACK");
	make_document(r, id, take_text(r, r->tree, "version", "REFERENCE_PACK"), "open");
	if (may_be_policy(r))
		m.rules = make_layer(r, "P1", 1);
	const struct json *programs_given = take_list(r, r->tree, "programs", "REFERENCE_PACK");
	json_each (program, programs_given)
		read_program(&m, program, programs);
	json_sets(r->a, report, "pack_id", id);
	json_sets(r->a, report, "framework", m.framework);
	json_sets(r->a, report, "label", json_get_text(r->tree, "label", ""));
	json_sets(r->a, report, "as", r->in->as_policy ? "policy" : "mapping");
	json_set(r->a, report, "programs", programs);
	json_set(r->a, report, "variables", m.variables);
	r->ret->report = report;
}
