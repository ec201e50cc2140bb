/* effects.c — what a rule of a policy document says about the effect at hand, in the form that guard rules have (decide/when.h).
 *
 * "effects" is a list of kinds, or an object of conditions as guard rules have them.  A condition of "all" on a field whose values are words of a
 * fixed list ({"field": "effect.class", "op": "in", "values": ["sys"]}) is read into the same form, so that a word that is none is an
 * error and both spellings are asked by the same function. */
#include "decide/decide.h"
#include "decide/engine/parts.h"

#include <string.h>

int effects_read(const struct when_reader *at, const struct json *v, struct when *ret)
{
	struct json *kinds;

	*ret = (struct when){ .first = at->to->n };
	if (!v)
		return OK;
	if (json_is(v, JSON_OBJECT)) {
		if (when_read(at, v, ret))
			return at->e->rc;
		return ret->kinds ? OK
				  : err_set(at->e, E_INPUT, at->code,
					    "%s: \"effects\" leaves out every kind of effect", at->where);
	}
	if (!json_is(v, JSON_ARRAY) || v->n == 0)
		return err_set(at->e, E_INPUT, at->code,
			"%s: must be a list with at least one kind, or an object of conditions: 'effects'",
			at->where);
	kinds = json_new(at->to->a, JSON_OBJECT);
	json_set(at->to->a, kinds, "kind", (struct json *)v);
	return when_read(at, kinds, ret);
}

/* effect.NAME, also with "input." in front. */
static bool field_of(const char *text, enum when_field *ret)
{
	static const char input[] = "input.", effect[] = "effect.";

	if (text_starts(text, input))
		text += strlen(input);
	if (!text_starts(text, effect))
		return false;
	text += strlen(effect);
	return when_field_parse(text, strlen(text), ret);
}

/* Is the operator one that asks for words?  Then *ret_not says which way. */
static bool is_about_words(enum when_field f, const char *op, const struct json *values, bool *ret_not)
{
	static const struct {
		const char *op;
		bool is_list, takes_values, is_not;
	} ops[] = { { "equals", false, false, false }, { "not_equals", false, false, true },
		{ "in", false, true, false }, { "not_in", false, true, true },
		{ "contains", true, false, false }, { "not_contains", true, false, true } };

	if (!when_field_is_word(f) && !when_field_is_list(f))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(ops); i++)
		if (text_eq(ops[i].op, op)) {
			*ret_not = ops[i].is_not;
			return ops[i].is_list == when_field_is_list(f) && (ops[i].takes_values || !values);
		}
	return false;
}

int effects_take(const struct when_reader *at, const struct json *test, struct when *w, bool *ret_taken)
{
	const struct json *value = json_get(test, "value"), *values = json_get(test, "values"),
			  *words = value ? value : values;
	enum when_field f;
	bool is_not;

	*ret_taken = field_of(json_get_text(test, "field", ""), &f) &&
		is_about_words(f, json_get_text(test, "op", ""), values, &is_not) && !value != !values &&
		!json_get(test, "value_field") && (value || values->n > 0);
	if (!*ret_taken)
		return OK;
	if (is_not && json_is_bool(words)) {
		words = json_new(at->to->a, json_is(words, JSON_TRUE) ? JSON_FALSE : JSON_TRUE);
		is_not = false;
	}
	return when_add(at, f, is_not, words, w);
}

struct when_at effects_place(const struct judging *j)
{
	const struct decision *guard = j->facts->guard;
	const struct json *known = j->facts->known, *contained = json_get(known, "contained"),
			  *writes = json_get(known, "profile_writes");

	if (guard && guard->profile)
		return when_at_profile(guard->profile, guard->placement, guard->workspace);
	return (struct when_at){ .workspace = json_get_text(known, "workspace", NULL),
		.profile = json_get_text(known, "profile", NULL),
		.contained = json_is_bool(contained) ? json_is(contained, JSON_TRUE) : WHEN_NOT_KNOWN,
		.profile_writes = json_is_bool(writes) ? json_is(writes, JSON_TRUE) : WHEN_NOT_KNOWN };
}

enum holds effects_hold(const struct judging *j, const struct rule *r, const struct effect *e)
{
	if (!r->effects.n)
		return HOLDS_YES;
	if (!e)
		return HOLDS_LACKS;
	const struct when_at at = effects_place(j);
	return when_holds(&j->rules->conditions, &r->effects, e, &at, r->verdict == V_ALLOW) ? HOLDS_YES
											     : HOLDS_NO;
}

/* ---- explaining ---- */

static bool names_action(const struct rule *r, const struct submission *ask)
{
	json_each (one, json_get(r->document, "actions")) {
		size_t n = strlen(one->text) - 1;
		bool is_prefix = one->text[n] == '*';
		if (is_prefix ? strncmp(ask->effect_type, one->text, n) == 0 ||
					(ask->tool && strncmp(ask->tool, one->text, n) == 0)
			      : text_eq(ask->effect_type, one->text) ||
					(ask->tool && text_eq(ask->tool, one->text)))
			return true;
	}
	return false;
}

struct json *engine_reasons(
	struct arena *a, const struct ruleset *rules, const struct submission *ask, const struct facts *facts)
{
	const struct judging j = { .a = a, .rules = rules, .ask = ask, .facts = facts };
	const struct proposal *p = ask->proposal;
	const struct when_at at = effects_place(&j);
	struct json *list = json_new(a, JSON_ARRAY);

	for (size_t i = 0; p && i < rules->rule_n; i++) {
		const struct rule *r = rules->rules[i];
		const struct rule_place place = { rules->groups[r->group].name, r->id,
			r->about ? r->about->origin : NULL };
		for (size_t k = 0; k < p->effect_count && names_action(r, ask); k++)
			if (r->effects.kinds >> p->effects[k].kind & 1) {
				struct json *one = when_reason(a, &place, &rules->conditions, &r->effects,
					&p->effects[k], &at, r->verdict == V_ALLOW);
				json_setb(a, one, "has_more", r->test_n || r->when);
				json_push(a, list, one);
			}
	}
	return list;
}
