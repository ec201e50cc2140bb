/* absence.c — through which conditions something that is not known can make an answer laxer.
 *
 * A rule that forbids when a fact says so does not forbid when nobody states the fact; a rule that allows when something is missing allows then.  Both can be
 * meant.  This lists them all, so that whoever reviews a policy sees what it rests on.  Whatever is not listed here cannot turn a refusal into ALLOW by being left out. */
#include "decide/engine/parts.h"

struct listing {
	struct arena *a;
	struct json *list;
	const char *layer, *rule, *origin; /* each may be NULL */
};

static void add(struct listing *l, const char *field, const char *condition)
{
	struct json *o = json_new(l->a, JSON_OBJECT);
	const struct {
		const char *name, *value;
	} members[] = { { "layer", l->layer }, { "rule", l->rule }, { "origin", l->origin },
		{ "field", field }, { "condition", condition } };

	for (size_t i = 0; i < ARRAY_SIZE(members); i++)
		if (members[i].value)
			json_sets(l->a, o, members[i].name, members[i].value);
	json_push(l->a, l->list, o);
}

/* Only has(), and what looks at all facts at once, can tell that one is not there without failing.  A word that merely contains it is listed too. */
static bool looks_for_absence(const char *text)
{
	for (const char *p = text; (p = strstr(p, "facts")); p += strlen("facts"))
		if (p[strlen("facts")] != '.')
			return true;
	return strstr(text, "has") != NULL;
}

/* An allowing rule by what is missing; any other by what must be there. */
static void list_test(struct listing *l, const struct json *test, bool allows, bool is_strict)
{
	const char *op = json_get_text(test, "op", ""), *other = json_get_text(test, "value_field", NULL);
	bool is_about_absence = text_eq(op, "missing") || text_eq(op, "empty");

	if (allows != is_about_absence || (!allows && is_strict))
		return;
	add(l, json_get_text(test, "field", ""), op);
	if (text_eq(op, "equals_field") || text_eq(op, "intersects"))
		other = json_get_text(test, "value", NULL);
	if (other)
		add(l, other, op);
}

static void list_rule(struct listing *l, const struct ruleset *r, const struct rule *rule)
{
	const struct group *g = &r->groups[rule->group];
	const char *when = json_get_text(rule->document, "when", NULL);

	l->layer = g->name;
	l->rule = rule->id;
	l->origin = rule->about ? rule->about->origin : NULL;
	json_each (test, json_get(rule->document, "all"))
		list_test(l, test, rule->verdict == V_ALLOW, g->is_pack && r->is_strict);
	if (when && looks_for_absence(when))
		add(l, NULL, when);
}

static void list_set(struct listing *l, const struct json *set)
{
	l->rule = json_get_text(set, "id", l->rule);
	if (text_eq(json_get_text(set, "logic", ""), "NOT"))
		add(l, NULL, "NOT");
	json_each (leaf, json_get(set, "requirements")) {
		const char *text = json_get_text(leaf, "expression", "");
		if (looks_for_absence(text))
			add(l, NULL, text);
	}
	json_each (child, json_get(set, "children"))
		list_set(l, child);
}

struct json *ruleset_absences(struct arena *a, const struct ruleset *r)
{
	struct listing l = { .a = a, .list = json_new(a, JSON_ARRAY) };

	for (size_t i = 0; i < r->rule_n; i++)
		list_rule(&l, r, r->rules[i]);
	l = (struct listing){ .a = a, .list = l.list };
	for (size_t i = r->layer_n; i < r->group_n; i++) {
		l.layer = r->groups[i].name;
		if (text_eq(r->groups[i].fact, "jurisdiction"))
			add(&l, "facts.jurisdictions", "activates_on");
		add(&l, arena_printf(a, "facts.%s", r->groups[i].fact), "activates_on");
	}
	l.layer = "requirements";
	json_each_member (m, json_get(r->document, "requirements")) {
		l.rule = m->name;
		list_set(&l, m->value);
	}
	return l.list;
}
