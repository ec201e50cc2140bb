/* judge.c — a request against a policy: every subject through the rules, the strictest answer for all.
 *
 * The answer is a witness: which rules were tried and how each ended, what the deciding rule has read, and what it asks for.  Texts are not in it:
 * it has keys and arguments, and explain.c makes sentences of them for a person. */
#include "decide/dsl/run.h"
#include "model/reason.h"

#include <string.h>

enum step { STEP_SKIP, STEP_PASS, STEP_FAIL, STEP_COUNT };
static const char *const step_names[] = { "SKIP", "PASS", "FAIL" };
TABLE_COVERS(step_names, STEP_COUNT);

/* How it ended for one subject. */
struct outcome {
	enum verdict verdict;
	const struct dsl_rule *rule; /* that decided; NULL when none did */
	const char *error; /* why the rule could not be judged; or NULL */
	bool is_rewrite_limit;
	uint8_t *steps; /* of the last round */
	size_t step_n;
	const struct dsl_rule *rewrites[DSL_MAX_REWRITES];
	size_t rewrite_n;
};

/* ---- judging ---- */

static void forget(struct run *run)
{
	run->note_n = 0;
	run->missing_n = 0;
}

static enum step try_rule(struct run *run, const struct dsl_rule *rule)
{
	forget(run);
	if (rule->target != run->target)
		return STEP_SKIP;
	if (!run_code(run, rule->scope_pc))
		return run->error ? STEP_FAIL : STEP_SKIP;
	return run_code(run, rule->when_pc) || run->error ? STEP_FAIL : STEP_PASS;
}

/* The first rule that holds or cannot be judged, or NULL. */
static const struct dsl_rule *try_all(struct run *run, const struct dsl_policy *p, struct outcome *o)
{
	o->step_n = 0;
	for (size_t i = 0; i < p->rule_n; i++) {
		enum step step = try_rule(run, p->order[i]);
		o->steps[o->step_n++] = (uint8_t)step;
		if (step == STEP_FAIL)
			return p->order[i];
	}
	return NULL;
}

/* Rewritten subjects begin again from the first rule.  A rule that would rewrite once too often denies. */
static void judge_subject(struct run *run, const struct dsl_policy *p, struct outcome *o)
{
	o->steps = arena_zalloc(run->a, p->rule_n + 1, 1);
	for (;;) {
		o->rule = try_all(run, p, o);
		if (!o->rule || run->error || o->rule->action != ACTION_REWRITE)
			break;
		if (o->rewrite_n == DSL_MAX_REWRITES) {
			o->is_rewrite_limit = true;
			break;
		}
		run_rewrite(run, o->rule->ops);
		if (run->error)
			break;
		o->rewrites[o->rewrite_n++] = o->rule;
	}
	o->error = run->error;
	o->verdict = V_DENY;
	if (!o->rule)
		o->verdict = V_ALLOW;
	else if (!o->error && (o->rule->action == ACTION_APPROVAL || o->rule->action == ACTION_FACTS))
		o->verdict = V_ESCALATE;
}

/* ---- codes ---- */

static const char *error_code(struct arena *a, const struct dsl_rule *rule)
{
	char *code = arena_printf(a, "SCHEMA.SCHEMA.INVARIANT_BREACH.%s", rule->name);

	for (char *c = code; *c; c++)
		if (*c >= 'a') /* of the characters of a name, small letters are the last */
			*c = (char)(*c - 'a' + 'A');
	return code;
}

/* The registered code beside the policy's own: by what is asked for, else by domain and category of the own one. */
static enum reason_code registered(const char *code, const struct outcome *o)
{
	static const struct {
		const char *category;
		enum reason_code reason;
	} rows[] = { { "LIMIT_EXCEEDED", REASON_BUDGET_EXCEEDED },
		{ "CONFLICT", REASON_POLICY_EPOCH_CHANGED }, { "INVARIANT_BREACH", REASON_SCHEMA_VIOLATION },
		{ "CONNECTOR_UNREADY", REASON_VERIFICATION_FAILURE },
		{ "EFFECT_FAILED", REASON_VERIFICATION_FAILURE } };
	struct bytes rest = bytes_of(code), domain, category;

	if (o->verdict == V_ESCALATE)
		return o->rule->action == ACTION_FACTS ? REASON_MISSING_REQUIREMENT
						       : REASON_APPROVAL_REQUIRED;
	(void)text_cut(&rest, '.');
	domain = text_cut(&rest, '.');
	category = text_cut(&rest, '.');
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (bytes_is(category, rows[i].category))
			return rows[i].reason;
	return bytes_is(domain, "JURISDICTION") ? REASON_JURISDICTION_VIOLATION : REASON_POLICY_VIOLATION;
}

/* ---- the witness ---- */

static struct json *steps_json(struct arena *a, const struct dsl_policy *p, const struct outcome *o)
{
	struct json *steps = json_new(a, JSON_ARRAY);

	for (size_t i = 0; i < o->step_n; i++) {
		struct json *step = json_new(a, JSON_ARRAY);
		json_pushs(a, step, p->order[i]->id);
		json_pushs(a, step, step_names[o->steps[i]]);
		json_push(a, steps, step);
	}
	return steps;
}

static void add_inputs(struct run *run, struct json *to)
{
	struct json *inputs = json_new(run->a, JSON_OBJECT), *missing = json_new(run->a, JSON_ARRAY);

	for (size_t i = 0; i < run->note_n; i++) {
		const struct run_note *n = &run->notes[i];
		const char *name = n->is_fact ? arena_printf(run->a, "fact(%s)", n->name) : n->name;
		json_set(run->a, inputs, name, run_shown(run->a, n->value, name));
	}
	if (inputs->n)
		json_set(run->a, to, "inputs", inputs);
	for (size_t i = 0; i < run->missing_n; i++)
		if (!dsl_list_has(missing, run->missing[i].text, run->missing[i].text_n))
			json_push(run->a, missing, dsl_value_json(run->a, &run->missing[i]));
	if (missing->n)
		json_set(run->a, to, "missing_primitives", missing);
}

/* What the suggested templates would do, with their references resolved.  Nobody applies it. */
static void add_patches(struct run *run, const struct dsl_rule *rule, struct json *to)
{
	struct arena *a = run->a;
	struct json *names = json_new(a, JSON_ARRAY), *patches = json_new(a, JSON_ARRAY);

	for (const struct dsl_invoke *i = rule->patches; i; i = i->next) {
		struct json *patch = json_new(a, JSON_OBJECT), *ops = json_new(a, JSON_ARRAY);
		json_pushs(a, names, i->name);
		json_sets(a, patch, "template", i->name);
		json_set(a, patch, "args", run_args(run, i->args));
		for (const struct dsl_op *op = i->is->ops; op; op = op->next) {
			struct json *made = json_new(a, JSON_OBJECT);
			json_sets(a, made, "op", op->name);
			json_set(a, made, "args", run_args(run, op->args));
			json_push(a, ops, made);
		}
		json_set(a, patch, "ops", ops);
		json_push(a, patches, patch);
	}
	json_set(a, to, "suggested_patches", names);
	json_set(a, to, "patches", patches);
}

static void add_reason(struct run *run, const struct outcome *o, struct json *to)
{
	struct arena *a = run->a;
	const char *code = o->error ? error_code(a, o->rule) : o->rule->code;
	struct json *explain = json_new(a, JSON_OBJECT);

	json_sets(a, to, "rule", o->rule->id);
	json_sets(a, to, "code", code);
	json_sets(a, to, "reason_code", reason_get(registered(code, o))->code);
	json_sets(a, explain, "key", dsl_message_key(a, code));
	json_set(a, explain, "args", run_args(run, o->rule->args));
	json_set(a, to, "explain", explain);
	if (o->error) {
		json_setb(a, to, "error", true);
		json_sets(a, to, "error_text", o->error);
		return;
	}
	if (o->is_rewrite_limit)
		json_setb(a, to, "rewrite_limit", true);
	if (o->rule->action == ACTION_APPROVAL)
		json_sets(a, to, "approver_role", o->rule->role);
	if (o->rule->action == ACTION_FACTS)
		json_set(a, to, "fact_requests", json_copy(a, o->rule->facts));
	if (o->rule->patches)
		add_patches(run, o->rule, to);
}

static struct json *subject_json(struct run *run, const struct dsl_policy *p, const struct outcome *o,
	const struct json *id, const struct json *first_delta)
{
	struct arena *a = run->a;
	struct json *made = json_new(a, JSON_OBJECT), *rewrites = json_new(a, JSON_ARRAY);

	if (id)
		json_set(a, made, "id", json_copy(a, id));
	json_sets(a, made, "target", dsl_target_names[run->target]);
	json_sets(a, made, "verdict", verdict_name(o->verdict));
	if (o->rule) {
		add_inputs(run, made);
		add_reason(run, o, made);
	}
	json_set(a, made, "steps", steps_json(a, p, o));
	for (size_t i = 0; i < o->rewrite_n; i++)
		json_pushs(a, rewrites, o->rewrites[i]->id);
	if (o->rewrite_n) {
		json_set(a, made, "rewrites", rewrites);
		json_set(a, made, "final_subject", json_copy(a, run->subject));
		if (run->delta != first_delta)
			json_set(a, made, "final_delta", json_copy(a, run->delta));
	}
	return made;
}

/* ---- the request ---- */

/* An object or nothing. */
static int check_object(const struct json *request, const char *name, struct err *e)
{
	const struct json *v = json_get(request, name);

	if (v && !json_is(v, JSON_OBJECT))
		return err_set(e, E_INPUT, "DSL_REQUEST",
			"member '%s' of the request must be an object, not %s", name, json_type_name(v));
	return OK;
}

/* A member nobody knows is refused: a misspelled `facts` must not look like having none. */
static int check_names(
	const struct json *v, const char *what, const char *const *names, size_t n, struct err *e)
{
	json_each_member (m, v) {
		bool is_known = false;
		for (size_t i = 0; i < n; i++)
			is_known |= text_eq(m->name, names[i]);
		if (!is_known)
			return err_set(e, E_INPUT, "DSL_REQUEST", "%s has a member '%s' that nobody reads",
				what, m->name);
	}
	return OK;
}

static int check_request(const struct json *request, struct err *e)
{
	static const char *const names[] = { "subjects", "delta", "snapshot", "facts" };
	const struct json *subjects = json_get(request, "subjects");

	if (!json_is(request, JSON_OBJECT) || !json_is(subjects, JSON_ARRAY))
		return err_set(e, E_INPUT, "DSL_REQUEST",
			"a request is an object with a list 'subjects', and objects 'delta', 'snapshot' and 'facts' where there are such");
	if (subjects->n > DSL_MAX_SUBJECTS)
		return err_set(e, E_LIMIT, "DSL_REQUEST", "a request has at most %d subjects, not %u",
			DSL_MAX_SUBJECTS, subjects->n);
	if (check_names(request, "the request", names, ARRAY_SIZE(names), e) ||
		check_object(request, "delta", e) || check_object(request, "snapshot", e) ||
		check_object(request, "facts", e))
		return E_INPUT;
	return OK;
}

static int check_subject(const struct json *subject, size_t i, enum dsl_target *ret_target, struct err *e)
{
	static const char *const names[] = { "target", "value", "id" };
	const char *target = json_get_text(subject, "target", "");

	if (!json_is(subject, JSON_OBJECT) || !json_is(json_get(subject, "value"), JSON_OBJECT))
		return err_set(e, E_INPUT, "DSL_REQUEST",
			"subject %zu must be an object with 'target' and an object 'value'", i + 1);
	if (check_names(subject, "a subject", names, ARRAY_SIZE(names), e))
		return E_INPUT;
	for (size_t t = 0; t < TARGETS; t++)
		if (text_eq(dsl_target_names[t], target)) {
			*ret_target = (enum dsl_target)t;
			return OK;
		}
	return err_set(e, E_INPUT, "DSL_REQUEST",
		"'target' of subject %zu must be node, edge, agent, capital_flow or data_flow", i + 1);
}

static int strictness(const char *verdict)
{
	return text_eq(verdict, "ALLOW") ? 0 : text_eq(verdict, "ESCALATE") ? 1 : 2;
}

/* The strictest subject speaks for the request; of equals the first. */
static struct json *overall(
	struct arena *a, const struct dsl_policy *p, const struct json *request, struct json *subjects)
{
	static const char *const members[] = { "verdict", "reason_code", "code", "rule" };
	struct json *made = json_new(a, JSON_OBJECT), *worst = NULL;

	json_each (s, subjects) {
		if (!worst ||
			strictness(json_get_text(s, "verdict", "")) >
				strictness(json_get_text(worst, "verdict", "")))
			worst = s;
	}
	json_sets(a, made, "verdict",
		verdict_name(V_ALLOW)); /* without a subject there is nothing to object to */
	for (size_t i = 0; i < ARRAY_SIZE(members); i++)
		if (json_get(worst, members[i]))
			json_set(a, made, members[i], json_copy(a, json_get(worst, members[i])));
	json_sets(a, made, "policy_hash", p->hash);
	if (p->cpi)
		json_sets(a, made, "cpi", p->cpi);
	json_sets(a, made, "input_hash", json_sha256(a, request));
	json_set(a, made, "subjects", subjects);
	return made;
}

int dsl_judge(struct arena *a, const struct dsl_policy *p, const struct json *request, struct json **ret,
	struct err *e)
{
	struct json *subjects = json_new(a, JSON_ARRAY);
	size_t i = 0;
	int rc = check_request(request, e);

	if (rc)
		return rc;
	json_each (s, json_get(request, "subjects")) {
		struct run run = { .a = a, .code = &p->code, .fuel = DSL_FUEL };
		struct outcome o = { .verdict = V_DENY };
		if (check_subject(s, i++, &run.target, e))
			return E_INPUT;
		run.subject = json_get(s, "value");
		run.delta = json_get(request, "delta");
		run.snapshot = json_get(request, "snapshot");
		run.facts = json_get(request, "facts");
		judge_subject(&run, p, &o);
		json_push(a, subjects,
			subject_json(&run, p, &o, json_get(s, "id"), json_get(request, "delta")));
	}
	*ret = overall(a, p, request, subjects);
	return OK;
}
