/* make.c — the parts of a policy document, in the order in which they are written. */
#include "decide/bundle/parts.h"
#include "model/reason.h"

struct json *make_document(struct reading *r, const char *name, const char *version, const char *coverage)
{
	struct json *d = json_new(r->a, JSON_OBJECT);

	json_sets(r->a, d, "format", "helm.policy.v1");
	json_sets(r->a, d, "name", name);
	json_sets(r->a, d, "version", version);
	json_seti(r->a, d, "epoch", 0);
	json_sets(r->a, d, "coverage", coverage);
	r->ret->name = name;
	r->ret->version = version;
	r->document = d;
	return d;
}

/* Without a search for members: a document has few, its lists have many. */
static struct json *list_of(struct reading *r, struct json *of, const char *name)
{
	struct json *list = json_get(of, name);

	if (!list) {
		list = json_new(r->a, JSON_ARRAY);
		json_set(r->a, of, name, list);
	}
	return list;
}

struct json *make_layer(struct reading *r, const char *name, int64_t priority)
{
	struct json *layer = json_new(r->a, JSON_OBJECT), *rules = json_new(r->a, JSON_ARRAY);

	json_sets(r->a, layer, "name", name);
	json_seti(r->a, layer, "priority", priority);
	json_set(r->a, layer, "rules", rules);
	json_push(r->a, list_of(r, r->document, "layers"), layer);
	return rules;
}

struct json *make_rule(
	struct reading *r, const char *id, const char *action, const char *verdict, const struct json *at)
{
	struct json *rule = json_new(r->a, JSON_OBJECT), *actions = json_new(r->a, JSON_ARRAY);

	json_sets(r->a, rule, "id", id);
	json_pushs(r->a, actions, action);
	json_set(r->a, rule, "actions", actions);
	json_sets(r->a, rule, "verdict", verdict);
	json_sets(r->a, rule, "origin", origin_at(r, at->at));
	return rule;
}

bool is_reason_of(const char *code, const char *verdict)
{
	const struct reason *known = reason_find(code);
	unsigned fits = text_eq(verdict, "DENY") ? REASON_DENIES | REASON_ALSO_DENIES
						 : REASON_ESCALATES | REASON_ALSO_ESCALATES;

	return known && (known->verdicts & fits);
}

void make_codes(struct reading *r, struct json *rule, const char *code, const char *fallback)
{
	if (*code && is_reason_of(code, json_get_text(rule, "verdict", ""))) {
		json_sets(r->a, rule, "reason_code", code);
		return;
	}
	json_sets(r->a, rule, "reason_code", fallback);
	if (*code)
		json_sets(r->a, rule, "detail_code", code);
}
