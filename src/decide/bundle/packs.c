/* packs.c — jurisdiction, industry and business packs: what law or trade asks for, beside what a policy says itself.
 *
 * A pack only adds strictness, and only while its place or trade is among the trusted facts.  What it declares without a rule is reported, so that nobody takes it
 * for enforced. */
#include "decide/bundle/parts.h"
#include "model/reason.h"

#include <string.h>

static const struct kind {
	const char *name; /* as written */
	const char *kind; /* in the document */
	const char *activates; /* the member of the metadata that says on what */
	const char *reason; /* of its deny rules */
} kinds[] = {
	{ "JurisdictionPack", "jurisdiction", "jurisdiction", "JURISDICTION_VIOLATION" },
	{ "IndustryPack", "industry", "industry", "POLICY_VIOLATION" },
	{ "BusinessPreset", "preset", "business_function", "POLICY_VIOLATION" },
};

static const char *const operators[] = { "equals", "not_equals", "in", "not_in", "empty", "not_empty",
	"missing", "greater_than", "less_than", "at_least", "contains", "equals_field" };

/* ---- codes ---- */

static bool is_code(const char *code)
{
	size_t n = strspn(code, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_");

	return code[0] >= 'A' && code[0] <= 'Z' && code[1] && code[n] == '\0';
}

/* A code that a pack declares is its own: never one of the registry, which would say something else. */
static void read_codes(struct reading *r, const struct json *spec, struct json *pack)
{
	struct json *codes = json_new(r->a, JSON_ARRAY);

	const struct json *rows_given = take_list(r, spec, "deny_codes", "PACK_INVALID");
	json_each (row, rows_given) {
		const char *code;
		if (!take_object(r, row, "a deny code", "PACK_INVALID"))
			continue;
		(void)TAKE_ONLY(r, row, "POLICY_MEMBER", "code", "description");
		code = take_text(r, row, "code", "PACK_INVALID");
		if (*code && (!is_code(code) || reason_find(code)))
			problem_at(r, POLICY_ERROR, "PACK_CODE", json_get(row, "code")->at, code,
				"write DENY_, the law or trade, and the reason, in capitals",
				reason_find(code) ? "this code is of the registry and means something else"
						  : "this is no code");
		else if (*code)
			json_pushs(r->a, codes, code);
	}
	json_set(r->a, pack, "deny_codes", codes);
}

static bool is_declared(const struct json *pack, const char *code)
{
	json_each (known, json_get(pack, "deny_codes"))
		if (text_eq(json_text(known), code))
			return true;
	return false;
}

/* ---- rules ---- */

static bool is_list_operator(const char *op)
{
	return text_eq(op, "in") || text_eq(op, "not_in");
}

static bool is_alone(const char *op)
{
	return text_eq(op, "empty") || text_eq(op, "not_empty") || text_eq(op, "missing");
}

/* The operator's other side is there, and of the kind that it compares with. */
static void check_value(struct reading *r, const struct json *c, const char *op)
{
	const struct json *value = json_get(c, "value"), *values = json_get(c, "values");
	int64_t number;

	if (is_alone(op)) {
		if (value || values)
			problem_at(r, POLICY_ERROR, "PACK_CONDITION", (value ? value : values)->at, op,
				"leave the value out", "'%s' compares with nothing", op);
		return;
	}
	if (is_list_operator(op) ? !json_is(values, JSON_ARRAY) || value : !value || values)
		problem_at(r, POLICY_ERROR, "PACK_CONDITION", c->at, op,
			is_list_operator(op) ? "write 'values: [...]'" : "write 'value: ...'",
			"'%s' needs %s", op, is_list_operator(op) ? "a list of values" : "one value");
	else if ((text_eq(op, "greater_than") || text_eq(op, "less_than") || text_eq(op, "at_least")) &&
		!json_int(value, &number))
		problem_at(r, POLICY_ERROR, "PACK_CONDITION", value->at, scalar_text(r->a, value),
			"write an integer", "'%s' compares integers", op);
	else if (text_eq(op, "equals_field") && !strchr(scalar_text(r->a, value), '.'))
		problem_at(r, POLICY_ERROR, "PACK_CONDITION", value->at, scalar_text(r->a, value),
			"write a dotted path, as in 'field'", "'equals_field' compares with another field");
}

static struct json *read_condition(struct reading *r, const struct json *c)
{
	static const char *const values[] = { "value", "values" };
	struct json *made = json_new(r->a, JSON_OBJECT);

	if (!take_object(r, c, "a condition", "PACK_CONDITION"))
		return made;
	const char *field = take_text(r, c, "field", "PACK_CONDITION"),
		   *op = take_text(r, c, "operator", "PACK_CONDITION");
	(void)TAKE_ONLY(r, c, "POLICY_MEMBER", "field", "operator", "value", "values");
	if (*field && !text_starts(field, "params.") && !text_starts(field, "context.") &&
		!text_starts(field, "facts."))
		problem_at(r, POLICY_ERROR, "PACK_CONDITION", json_get(c, "field")->at, field,
			"begin it with params., context. or facts.", "this is no path of a request");
	if (*op &&
		take_word(r, json_get(c, "operator"), "operator", operators, ARRAY_SIZE(operators),
			"PACK_CONDITION"))
		check_value(r, c, op);
	json_sets(r->a, made, "field", field);
	json_sets(r->a, made, "op", op);
	for (size_t i = 0; i < ARRAY_SIZE(values); i++)
		if (json_get(c, values[i]))
			json_set(r->a, made, values[i], json_get(c, values[i]));
	return made;
}

/* The kind says the verdict; the file must say the same. */
static const char *verdict_of(struct reading *r, const struct json *rule)
{
	const char *kind = take_text(r, rule, "kind", "PACK_RULE_KIND"),
		   *said = take_text(r, rule, "verdict", "RULE_INVALID");
	const char *verdict = text_eq(kind, "DenyRule") ? "DENY"
		: text_eq(kind, "ApprovalGate")		? "ESCALATE"
							: NULL;

	if (*kind && !verdict)
		problem_at(r, POLICY_ERROR, "PACK_RULE_KIND", json_get(rule, "kind")->at, kind,
			"write DenyRule or ApprovalGate", "rule '%s' is of a kind that is not known here",
			r->rule);
	else if (verdict && *said && !text_eq(said, verdict))
		problem_at(r, POLICY_ERROR, "RULE_INVALID", json_get(rule, "verdict")->at, said,
			arena_printf(r->a, "a %s says %s", kind, verdict),
			"the verdict does not fit the kind of the rule");
	return verdict ? verdict : "DENY";
}

static void read_rule(struct reading *r, const struct json *rule, const struct kind *kind,
	const struct json *pack, struct json *into)
{
	const struct json *match = json_get(rule, "match");
	struct json *all = json_new(r->a, JSON_ARRAY);
	const char *code = json_get_text(rule, "reason_code", ""), *effect = "";

	r->rule = NULL;
	if (!take_object(r, rule, "a rule", "RULE_INVALID"))
		return;
	r->rule = take_text(r, rule, "name", "RULE_INVALID");
	const char *verdict = verdict_of(r, rule);
	(void)TAKE_ONLY(r, rule, "POLICY_MEMBER", "kind", "name", "description", "match", "verdict",
		"reason_code", "reason");
	if (take_object(r, match, "'match'", "RULE_INVALID")) {
		effect = take_text(r, match, "effect_type", "RULE_INVALID");
		(void)TAKE_ONLY(r, match, "POLICY_MEMBER", "effect_type", "conditions");
		const struct json *conditions = take_list(r, match, "conditions", "RULE_INVALID");
		json_each (c, conditions)
			json_push(r->a, all, read_condition(r, c));
	}
	if (*code && !is_code(code))
		problem_at(r, POLICY_ERROR, "PACK_CODE", json_get(rule, "reason_code")->at, code,
			"write it in capitals", "this is no code");
	else if (*code && !reason_find(code) && !is_declared(pack, code))
		problem_at(r, POLICY_WARNING, "PACK_CODE", json_get(rule, "reason_code")->at, code,
			"add it to 'deny_codes'", "the pack does not declare this code");
	struct json *made = make_rule(r, r->rule, effect, verdict, rule);
	if (all->n)
		json_set(r->a, made, "all", all);
	make_codes(r, made, code, text_eq(verdict, "DENY") ? kind->reason : "APPROVAL_REQUIRED");
	const char *text = json_get_text(rule, "reason", json_get_text(rule, "description", ""));
	if (*text)
		json_sets(r->a, made, "text", text);
	json_push(r->a, into, made);
}

/* ---- a pack ---- */

static const struct kind *kind_of(struct reading *r, const struct json *doc)
{
	const char *word = json_get_text(doc, "kind", ""), *version = json_get_text(doc, "apiVersion", "");

	if (*version && !text_eq(version, "helm.mindburn.run/v1"))
		problem_at(r, POLICY_ERROR, "VERSION_INCOMPATIBLE", json_get(doc, "apiVersion")->at, version,
			"write 'apiVersion: helm.mindburn.run/v1'",
			"this program reads version helm.mindburn.run/v1 only");
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (text_eq(word, kinds[i].name))
			return &kinds[i];
	problem_at(r, POLICY_ERROR, "VERSION_INCOMPATIBLE",
		json_get(doc, "kind") ? json_get(doc, "kind")->at : doc->at, word,
		"write JurisdictionPack, IndustryPack or BusinessPreset",
		"there is no kind of pack of this name");
	return NULL;
}

/* On the word that its metadata says; a preset also on its own name. */
static struct json *activation(
	struct reading *r, const struct json *metadata, const struct kind *kind, const char *name)
{
	struct json *list = json_new(r->a, JSON_ARRAY);
	const char *word = scalar_text(r->a, json_get(metadata, kind->activates));

	if (*word)
		json_pushs(r->a, list, word);
	if (!text_eq(word, name) && (!*word || text_eq(kind->kind, "preset")))
		json_pushs(r->a, list, name);
	return list;
}

static void note_declared(
	struct reading *r, const struct json *doc, const struct json *spec, struct json *row)
{
	struct json *declared = json_new(r->a, JSON_ARRAY);
	static const char *const prose[] = { "governs", "state_overlays" };

	for (size_t i = 0; i < ARRAY_SIZE(prose); i++) {
		if (!json_get(spec, prose[i]))
			continue;
		json_pushs(r->a, declared, prose[i]);
		problem_at(r, POLICY_NOTE, "PACK_NO_RULE", json_get(spec, prose[i])->at, prose[i], "",
			"'%s' is declared, and no rule enforces it", prose[i]);
	}
	if (json_get_int(row, "rules", 0) == 0)
		problem_at(r, POLICY_NOTE, "PACK_NO_RULE", doc->at, json_get_text(row, "name", ""), "",
			"pack '%s' declares codes, and no rule", json_get_text(row, "name", ""));
	json_set(r->a, row, "declared_without_rule", declared);
}

static void read_pack(struct reading *r, const struct json *doc, struct json *packs, struct json *rows)
{
	const struct json *metadata = json_get(doc, "metadata"), *spec = json_get(doc, "spec");
	struct json *pack = json_new(r->a, JSON_OBJECT), *rules = json_new(r->a, JSON_ARRAY),
		    *row = json_new(r->a, JSON_OBJECT);

	const struct kind *kind = kind_of(r, doc);
	(void)TAKE_ONLY(r, doc, "POLICY_MEMBER", "apiVersion", "kind", "metadata", "spec");
	if (!kind || !take_object(r, metadata, "'metadata'", "PACK_INVALID") ||
		!take_object(r, spec, "'spec'", "PACK_INVALID"))
		return;
	const char *name = take_text(r, metadata, "name", "PACK_INVALID");
	(void)TAKE_ONLY(r, metadata, "POLICY_MEMBER", "name", "version", "description", "jurisdiction",
		"industry", "business_function", "regulations", "tags");
	(void)TAKE_ONLY(r, spec, "POLICY_MEMBER", "legal_regime", "data_residency", "applicable_regulations",
		"state_overlays", "governs", "policies", "deny_codes");
	json_sets(r->a, pack, "id", name);
	json_sets(r->a, pack, "kind", kind->kind);
	json_set(r->a, pack, "activates_on", activation(r, metadata, kind, name));
	json_set(r->a, pack, "rules", rules);
	read_codes(r, spec, pack);
	const struct json *rules_given = take_list(r, spec, "policies", "PACK_INVALID");
	json_each (rule, rules_given)
		read_rule(r, rule, kind, pack, rules);
	r->rule = NULL;
	json_sets(r->a, row, "name", name);
	json_sets(r->a, row, "kind", kind->name);
	json_sets(r->a, row, "version", scalar_text(r->a, json_get(metadata, "version")));
	json_seti(r->a, row, "rules", rules->n);
	note_declared(r, doc, spec, row);
	json_push(r->a, rows, row);
	json_push(r->a, packs, pack);
}

/* Two packs of one name would leave open which rules are meant. */
static void check_names(struct reading *r, const struct json *docs, const struct json *rows)
{
	for (size_t i = 0; i < rows->n; i++) {
		const char *name = json_get_text(rows->items[i], "name", "");
		for (size_t k = 0; k < i; k++) {
			if (!text_eq(name, json_get_text(rows->items[k], "name", "")))
				continue;
			problem_at(r, POLICY_ERROR, "POLICY_DUPLICATE", json_at(docs, i)->at, name,
				"give it another name, or leave one out",
				"there are two packs of the name '%s'", name);
			break;
		}
	}
}

void read_packs(struct reading *r)
{
	struct json *packs = json_new(r->a, JSON_ARRAY), *rows = json_new(r->a, JSON_ARRAY), *docs = r->tree;
	const char *dot = strrchr(r->file, '.'), *name = r->file;

	if (!json_is(docs, JSON_ARRAY)) {
		docs = json_new(r->a, JSON_ARRAY);
		json_push(r->a, docs, r->tree);
	}
	json_each (doc, docs)
		read_pack(r, doc, packs, rows);
	if (rows->n == docs->n)
		check_names(r, docs, rows);
	if (rows->n == 1)
		name = json_get_text(json_at(rows, 0), "name", "");
	else if (dot && dot > name)
		name = arena_strndup(r->a, name, (size_t)(dot - name));
	make_document(r, name, rows->n == 1 ? json_get_text(json_at(rows, 0), "version", "") : "", "open");
	json_set(r->a, r->document, "packs", packs);
	r->ret->report = json_new(r->a, JSON_OBJECT);
	json_set(r->a, r->ret->report, "packs", rows);
}
