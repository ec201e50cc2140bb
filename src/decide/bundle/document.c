/* document.c — the policy document as people write it: the same members, with shorter spellings for what is written most.
 *
 * Only what a person can mistype is looked at here, with its place.  The engine checks everything once more when it compiles the document. */
#include "decide/bundle/parts.h"
#include "decide/dsl/dsl.h"
#include "decide/operators.h"

#include <string.h>

/* Every member that such a file may have (checks.def). */
static const char *const members[] = {
#define MEMBER(name, reader, page) #name,
#include "decide/checks.def"
#undef MEMBER
};

static const char *const operators[] = {
#define OP_NAME(id, name, takes) name,
	OPS(OP_NAME)
#undef OP_NAME
};

/* ---- a rule ---- */

static const char *check_verdict(struct reading *r, const struct json *rule)
{
	static const char *const words[][2] = { { "ALLOW", "ALLOW" }, { "DENY", "DENY" },
		{ "ESCALATE", "ESCALATE" }, { "BLOCK", "DENY" }, { "REQUIRE_APPROVAL", "ESCALATE" } };
	const char *word = take_text(r, rule, "verdict", "POLICY_RULE");

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (text_eq(word, words[i][0]))
			return words[i][1];
	if (*word)
		problem_at(r, POLICY_ERROR, "POLICY_RULE", json_get(rule, "verdict")->at, word,
			"write ALLOW, DENY or ESCALATE", "this is no verdict");
	return "DENY";
}

static void check_condition(struct reading *r, const struct json *c)
{
	if (!take_object(r, c, "a condition", "POLICY_CONDITION"))
		return;
	(void)take_text(r, c, "field", "POLICY_CONDITION");
	const struct json *op = json_get(c, "op");
	if (!op)
		(void)take_text(r, c, "op", "POLICY_CONDITION");
	else
		(void)take_word(r, op, "operator", operators, ARRAY_SIZE(operators), "POLICY_CONDITION");
	(void)TAKE_ONLY(r, c, "POLICY_MEMBER", "field", "op", "value", "values", "value_field");
}

/* `action` or `actions`: always a list in the document. */
static struct json *actions_of(struct reading *r, const struct json *rule)
{
	const struct json *one = json_get(rule, "action"), *many = json_get(rule, "actions");
	struct json *list = json_new(r->a, JSON_ARRAY);

	if (one && many)
		problem_at(r, POLICY_ERROR, "POLICY_RULE", one->at, "action", "keep one of them",
			"the rule has both 'action' and 'actions'");
	else if (one && take_action(r, one, "POLICY_ACTION"))
		json_pushs(r->a, list, scalar_text(r->a, one));
	const struct json *named = take_list(r, rule, "actions", "POLICY_RULE");
	json_each (action, named)
		if (take_action(r, action, "POLICY_ACTION"))
			json_pushs(r->a, list, scalar_text(r->a, action));
	if (list->n == 0)
		problem_at(r, POLICY_ERROR, "POLICY_RULE", rule->at, "",
			"write 'action: name', a prefix with *, or '*'", "the rule names no action");
	return list;
}

/* The code must exist and be one of that verdict: what stands in a receipt is registered. */
static void check_code(struct reading *r, const struct json *code, const char *verdict)
{
	if (text_eq(verdict, "ALLOW"))
		problem_at(r, POLICY_ERROR, "POLICY_RULE", code->at, scalar_text(r->a, code), "leave it out",
			"a rule that allows has no reason code");
	else if (!is_reason_of(scalar_text(r->a, code), verdict))
		problem_at(r, POLICY_ERROR, "POLICY_RULE", code->at, scalar_text(r->a, code),
			"take one of docs/reason-codes.md; a code of your own goes to 'detail_code'",
			"this is no registered reason code of %s", verdict);
}

static void read_rule(struct reading *r, const struct json *rule, struct json *into)
{
	struct json *made = json_new(r->a, JSON_OBJECT);
	static const char *const kept[] = { "effects", "when", "all", "detail_code", "text", "approvers",
		"binds" };

	r->rule = NULL;
	if (!take_object(r, rule, "a rule", "POLICY_RULE"))
		return;
	r->rule = take_text(r, rule, "id", "POLICY_RULE");
	(void)TAKE_ONLY(r, rule, "POLICY_MEMBER", "id", "action", "actions", "effects", "when", "all",
		"verdict", "reason_code", "detail_code", "text", "approvers", "binds", "origin");
	json_sets(r->a, made, "id", r->rule);
	json_set(r->a, made, "actions", actions_of(r, rule));
	const char *verdict = check_verdict(r, rule);
	json_sets(r->a, made, "verdict", verdict);
	if (json_get(rule, "when"))
		(void)take_condition(r, json_get(rule, "when"));
	const struct json *conditions = take_list(r, rule, "all", "POLICY_RULE");
	json_each (c, conditions)
		check_condition(r, c);
	if (json_get(rule, "reason_code")) {
		check_code(r, json_get(rule, "reason_code"), verdict);
		json_sets(r->a, made, "reason_code", scalar_text(r->a, json_get(rule, "reason_code")));
	}
	for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
		if (json_get(rule, kept[i]))
			json_set(r->a, made, kept[i], json_get(rule, kept[i]));
	const char *origin = json_get_text(rule, "origin", NULL);
	json_sets(r->a, made, "origin", origin ? origin : origin_at(r, rule->at));
	json_push(r->a, into, made);
}

static void read_rules(struct reading *r, const struct json *list, struct json *into)
{
	json_each (rule, list)
		read_rule(r, rule, into);
	r->rule = NULL;
}

/* ---- layers and packs ---- */

static void read_layer(struct reading *r, const struct json *layer)
{
	int64_t priority = 1;

	if (!take_object(r, layer, "a layer", "POLICY_LAYER"))
		return;
	(void)TAKE_ONLY(r, layer, "POLICY_MEMBER", "name", "priority", "rules");
	const struct json *number = json_get(layer, "priority");
	if (!json_int(number, &priority) || priority < 0)
		problem_at(r, POLICY_ERROR, "POLICY_LAYER", number ? number->at : layer->at,
			scalar_text(r->a, number), "write 'priority: 0' for the highest, 1, 2, ... below it",
			"the layer has no priority");
	struct json *rules = make_layer(r, take_text(r, layer, "name", "POLICY_LAYER"), priority);
	read_rules(r, take_list(r, layer, "rules", "POLICY_LAYER"), rules);
}

static void read_pack(struct reading *r, const struct json *pack, struct json *into)
{
	struct json *made = json_new(r->a, JSON_OBJECT), *rules = json_new(r->a, JSON_ARRAY);
	const struct json *kind = json_get(pack, "kind"), *words;

	if (!take_object(r, pack, "a pack", "POLICY_PACK"))
		return;
	(void)TAKE_ONLY(r, pack, "POLICY_MEMBER", "id", "kind", "activates_on", "rules", "deny_codes");
	json_sets(r->a, made, "id", take_text(r, pack, "id", "POLICY_PACK"));
	if (!kind)
		(void)take_text(r, pack, "kind", "POLICY_PACK");
	else if (TAKE_WORD(r, kind, "kind of pack", "POLICY_PACK", "jurisdiction", "industry", "preset"))
		json_sets(r->a, made, "kind", scalar_text(r->a, kind));
	words = take_list(r, pack, "activates_on", "POLICY_PACK");
	if (!words || words->n == 0)
		problem_at(r, POLICY_ERROR, "POLICY_PACK", pack->at, "activates_on",
			"write 'activates_on: [EU]'", "nothing activates the pack");
	else
		json_set(r->a, made, "activates_on", json_copy(r->a, words));
	read_rules(r, take_list(r, pack, "rules", "POLICY_PACK"), rules);
	json_set(r->a, made, "rules", rules);
	if (json_get(pack, "deny_codes"))
		json_set(r->a, made, "deny_codes", json_get(pack, "deny_codes"));
	json_push(r->a, into, made);
}

/* ---- the document ---- */

static void read_version(struct reading *r)
{
	const struct json *format = json_get(r->tree, "format");

	if (!text_eq(scalar_text(r->a, format), "helm.policy.v1"))
		problem_at(r, POLICY_ERROR, "VERSION_INCOMPATIBLE", format->at, scalar_text(r->a, format),
			"write 'format: helm.policy.v1'",
			"this program reads policies of format helm.policy.v1 only");
}

/* Unquoted, YAML takes one of the words for something else. */
static void read_missing(struct reading *r, const struct json *v)
{
	const char *word = v ? TAKE_WORD(r, v, "'missing_is'", "POLICY_DOCUMENT", "false", "escalate") : NULL;

	if (word)
		json_sets(r->a, r->document, "missing_is", word);
}

/* Has a reader here, also where what it read made nothing of it. */
static bool is_read_apart(const char *name)
{
	static const char *const names[] = { "format", "name", "version", "epoch", "coverage", "missing_is",
		"layers", "rules", "packs", "requirements", "signature" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (text_eq(names[i], name))
			return true;
	return false;
}

static void read_members(struct reading *r)
{
	const struct json *packs = take_list(r, r->tree, "packs", "POLICY_PACK");
	const struct json *requirements = json_get(r->tree, "requirements");

	const struct json *layers = take_list(r, r->tree, "layers", "POLICY_LAYER");
	json_each (layer, layers)
		read_layer(r, layer);
	if (json_get(r->tree, "rules"))
		read_rules(r, take_list(r, r->tree, "rules", "POLICY_LAYER"), make_layer(r, "P1", 1));
	if (packs) {
		struct json *list = json_new(r->a, JSON_ARRAY);
		json_each (pack, packs)
			read_pack(r, pack, list);
		json_set(r->a, r->document, "packs", list);
	}
	if (requirements && take_object(r, requirements, "'requirements'", "POLICY_REQUIREMENT")) {
		struct json *made = json_new(r->a, JSON_OBJECT);
		json_each_member (m, requirements)
			if (read_requirement_set(r, m->value, m->name))
				json_set(r->a, made, m->name, requirement_set_made(r, m->value));
		json_set(r->a, r->document, "requirements", made);
	}
	read_missing(r, json_get(r->tree, "missing_is"));
	/* What needs no reading of its own is taken as it is: the engine checks it. */
	for (size_t i = 0; i < ARRAY_SIZE(members); i++)
		if (json_get(r->tree, members[i]) && !json_get(r->document, members[i]) &&
			!is_read_apart(members[i]))
			json_set(r->a, r->document, members[i],
				json_copy(r->a, json_get(r->tree, members[i])));
}

void read_document(struct reading *r)
{
	read_version(r);
	(void)take_only(r, r->tree, members, ARRAY_SIZE(members), "POLICY_MEMBER");
	make_document(r, take_text(r, r->tree, "name", "POLICY_DOCUMENT"),
		scalar_text(r->a, json_get(r->tree, "version")), "closed");
	take_settings(r, r->tree);
	read_members(r);
}

/* ---- rules over graphs ---- */

/* Such a text can only restrict, so it adds strictness to what is there. */
void read_graph(struct reading *r)
{
	struct dsl_problems problems;
	const char *name = r->file, *dot = strrchr(name, '.');

	const struct dsl_policy *p = dsl_compile(r->a, r->in->text, &problems);
	for (size_t i = 0; i < problems.n; i++) {
		const struct dsl_problem *x = &problems.items[i];
		problem_add(r->a, r->problems,
			&(struct policy_problem){ .severity = x->is_warning ? POLICY_WARNING : POLICY_ERROR,
				.code = x->code,
				.file = r->in->name,
				.line = x->line,
				.column = x->column,
				.word = x->word,
				.text = x->text,
				.fix = x->fix });
	}
	if (!p)
		return;
	make_document(
		r, dot && dot > name ? arena_strndup(r->a, name, (size_t)(dot - name)) : name, "", "open");
	json_set(r->a, r->document, "graph", json_stringn(r->a, (const char *)r->in->text.p, r->in->text.n));
	r->ret->content_hash = dsl_hash(p);
}
