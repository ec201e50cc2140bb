/* import.c — three older shapes of policies, read once to become a policy document: "loader", "managed" and "lint".
 *
 * None of them can allow more than the document says afterwards: what only logs, warns or encrypts has no verdict here and is named. */
#include "base/hash.h"
#include "decide/bundle/parts.h"

#include <string.h>
#include <strings.h>

enum { MANY_RULES = 1000 };

/* What differs between the shapes. */
struct older {
	const char *id, *condition; /* members of a rule */
	const char *code; /* of what is wrong with a rule */
};

static const struct older shapes[POLICY_SHAPE_COUNT] = {
	[POLICY_SHAPE_LOADER] = { "id", "expression", "RULE_INVALID" },
	[POLICY_SHAPE_MANAGED] = { "rule_id", "condition", "RULE_INVALID" },
	[POLICY_SHAPE_LINT] = { "name", "conditions", "LINT004" },
};

/* Words of all three.  NULL: no verdict, an obligation at most. */
static const char *const words[][2] = { { "BLOCK", "DENY" }, { "DENY", "DENY" }, { "ALLOW", "ALLOW" },
	{ "ESCALATE", "ESCALATE" }, { "REQUIRE_APPROVAL", "ESCALATE" }, { "DEFER", "ESCALATE" },
	{ "WARN", NULL }, { "LOG", NULL }, { "ENCRYPT", NULL }, { "AUDIT", NULL } };

/* False when there is no such word. */
static bool verdict_of(const char *word, const char **ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (strcasecmp(word, words[i][0]) == 0) {
			*ret = words[i][1];
			return true;
		}
	}
	return false;
}

/* {"key": value}: each must be equal, or in a list. */
static struct json *conditions_of(struct reading *r, const struct json *map)
{
	struct json *all = json_new(r->a, JSON_ARRAY);

	json_each_member (m, map) {
		struct json *c = json_new(r->a, JSON_OBJECT);
		bool is_path = text_starts(m->name, "params.") || text_starts(m->name, "context.") ||
			text_starts(m->name, "facts.");
		bool is_list = json_is(m->value, JSON_ARRAY);
		json_sets(r->a, c, "field", is_path ? m->name : arena_printf(r->a, "context.%s", m->name));
		json_sets(r->a, c, "op", is_list ? "in" : "equals");
		json_set(r->a, c, is_list ? "values" : "value", json_copy(r->a, m->value));
		json_push(r->a, all, c);
	}
	return all;
}

static void add_condition(
	struct reading *r, const struct json *rule, const struct older *shape, struct json *made)
{
	const struct json *v = json_get(rule, shape->condition);

	if (json_is(v, JSON_OBJECT)) {
		struct json *all = conditions_of(r, v);
		if (all->n)
			json_set(r->a, made, "all", all);
	} else if (v && *scalar_text(r->a, v) && take_condition(r, v)) {
		json_sets(r->a, made, "when", json_text(v));
	}
	if (!json_get(made, "all") && !json_get(made, "when"))
		problem_at(r, POLICY_WARNING, "LINT010", rule->at, r->rule, "say when it holds",
			"the rule has no condition: it always holds");
}

static void read_rule(
	struct reading *r, const struct json *rule, const struct older *shape, struct json *into)
{
	const char *verdict = NULL, *action, *word;

	r->rule = NULL;
	if (!take_object(r, rule, "a rule", shape->code))
		return;
	r->rule = take_text(r, rule, shape->id, shape->code);
	word = take_text(r, rule, "action", shape->code);
	if (*word && !verdict_of(word, &verdict)) {
		problem_at(r, POLICY_ERROR, shape->code, json_get(rule, "action")->at, word,
			"write one of ALLOW, DENY, BLOCK, REQUIRE_APPROVAL, LOG",
			"this is no action of a rule");
		return;
	}
	if (json_is(json_get(rule, "enabled"), JSON_FALSE) || !*word)
		return;
	if (!verdict) {
		problem_at(r, POLICY_NOTE, "IMPORT_NO_VERDICT", rule->at, word, "",
			"a rule that says %s has no verdict and is left out", word);
		return;
	}
	action = json_get_text(rule, "effect", "*");
	struct json *made = make_rule(r, r->rule, *action ? action : "*", verdict, rule);
	add_condition(r, rule, shape, made);
	const char *text = json_get_text(rule, "description", json_get_text(rule, "name", ""));
	if (*text && !text_eq(text, r->rule))
		json_sets(r->a, made, "text", text);
	json_push(r->a, into, made);
}

/* ---- the linter's catalogue, where it is about the file ---- */

static void check_twice(
	struct reading *r, const struct json *rules, const char *member, const char *code, const char *what)
{
	struct json *seen = json_new(r->a, JSON_OBJECT);

	json_each (rule, rules) {
		const char *text = scalar_text(r->a, json_get(rule, member));
		if (*text && json_get(seen, text))
			problem_at(r, POLICY_WARNING, code, json_get(rule, member)->at, text,
				"make them different", "two rules have the same %s", what);
		json_setb(r->a, seen, text, true);
	}
}

static bool has_deny(const struct json *rules)
{
	json_each (rule, rules) {
		const char *verdict = NULL;
		if (verdict_of(json_get_text(rule, "action", ""), &verdict) && verdict &&
			text_eq(verdict, "DENY"))
			return true;
	}
	return false;
}

static void lint_older(struct reading *r, const struct json *rules, const struct older *shape)
{
	static const char *const ids[] = { "id", "bundle_id", "name" };
	const char *id = "";

	for (size_t i = 0; i < ARRAY_SIZE(ids) && !*id; i++)
		id = scalar_text(r->a, json_get(r->tree, ids[i]));
	if (!*scalar_text(r->a, json_get(r->tree, "version")))
		problem_at(r, POLICY_ERROR, "LINT001", r->tree->at, "", "add 'version'",
			"the bundle has no version");
	if (!*id)
		problem_at(r, POLICY_ERROR, "LINT002", r->tree->at, "", "add 'id'", "the bundle has no id");
	if (!rules || rules->n == 0) {
		problem_at(
			r, POLICY_ERROR, "LINT003", r->tree->at, "", "add rules", "the bundle has no rule");
		return;
	}
	check_twice(r, rules, shape->id, "LINT005", "name");
	check_twice(r, rules, "priority", "LINT006", "priority");
	if (!has_deny(rules))
		problem_at(r, POLICY_WARNING, "LINT007", rules->at, "", "say what is forbidden",
			"no rule denies anything");
	if (!json_get(r->tree, "content_hash") && !json_get(r->tree, "hash"))
		problem_at(r, POLICY_NOTE, "LINT008", r->tree->at, "", "",
			"the bundle has no hash of its content");
	if (rules->n > MANY_RULES)
		problem_at(r, POLICY_WARNING, "LINT009", rules->at, "", "split it",
			"the bundle has more than %d rules", MANY_RULES);
}

/* Canonical JSON over these members; a hash that the file states must be right. */
static void check_managed_hash(struct reading *r)
{
	static const char *const members[] = { "bundle_id", "name", "jurisdiction", "category", "version",
		"rules" };
	struct json *made = json_new(r->a, JSON_OBJECT);
	const char *said = json_get_text(r->tree, "content_hash", "");

	for (size_t i = 0; i < ARRAY_SIZE(members); i++)
		if (json_get(r->tree, members[i]))
			json_set(r->a, made, members[i], json_get(r->tree, members[i]));
	const char *real = json_sha256(r->a, made);
	if (*said && !text_eq(said, real) && !text_eq(said, real + strlen("sha256:")))
		problem_at(r, POLICY_ERROR, "POLICY_HASH_MISMATCH", json_get(r->tree, "content_hash")->at,
			said, arena_printf(r->a, "its content has the hash %s", real),
			"the hash is not that of the content");
	r->ret->content_hash = real + strlen("sha256:");
}

/* Rules of a place go into a pack that speaks only there. */
static struct json *rules_of(struct reading *r, const char *name)
{
	const char *place =
		r->ret->shape == POLICY_SHAPE_MANAGED ? json_get_text(r->tree, "jurisdiction", "") : "";
	struct json *packs, *pack, *words_of, *rules;

	if (!*place || text_eq(place, "*") || strcasecmp(place, "global") == 0)
		return make_layer(r, "P1", 1);
	packs = json_new(r->a, JSON_ARRAY);
	pack = json_new(r->a, JSON_OBJECT);
	words_of = json_new(r->a, JSON_ARRAY);
	rules = json_new(r->a, JSON_ARRAY);
	json_sets(r->a, pack, "id", name);
	json_sets(r->a, pack, "kind", "jurisdiction");
	json_pushs(r->a, words_of, place);
	json_set(r->a, pack, "activates_on", words_of);
	json_set(r->a, pack, "rules", rules);
	json_push(r->a, packs, pack);
	json_set(r->a, r->document, "packs", packs);
	return rules;
}

void read_older(struct reading *r)
{
	const struct older *shape = &shapes[r->ret->shape];
	const struct json *rules = take_list(r, r->tree, "rules", "LINT003");
	const char *name = json_get_text(
		r->tree, "name", json_get_text(r->tree, "id", json_get_text(r->tree, "bundle_id", "")));

	lint_older(r, rules, shape);
	if (r->ret->shape == POLICY_SHAPE_MANAGED)
		check_managed_hash(r);
	make_document(r, name, scalar_text(r->a, json_get(r->tree, "version")), "open");
	struct json *into = rules_of(r, name);
	json_each (rule, rules)
		read_rule(r, rule, shape, into);
	r->rule = NULL;
	json_each (rule, into)
		if (text_eq(json_get_text(rule, "verdict", ""), "ALLOW"))
			json_sets(r->a, r->document, "coverage", "closed");
}
