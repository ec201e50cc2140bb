/* describe.c — what a policy says as one JSON document, and the digest of that.
 *
 * Layout, comments, the order of modules and rules in the text, and one or two braces make no difference; everything that can change an
 * answer does.  Two texts with one digest are one policy. */
#include "base/hash.h"
#include "decide/dsl/parts.h"

static struct json *arg_json(struct arena *a, const struct dsl_arg *arg)
{
	struct json *made = json_new(a, JSON_OBJECT);

	if (arg->name)
		json_sets(a, made, "name", arg->name);
	if (arg->path)
		json_sets(a, made, "ref", arg->path->text);
	else
		json_set(a, made, "value", dsl_value_json(a, &arg->literal));
	return made;
}

static struct json *args_json(struct arena *a, const struct dsl_arg *args)
{
	struct json *list = json_new(a, JSON_ARRAY);

	for (; args; args = args->next)
		json_push(a, list, arg_json(a, args));
	return list;
}

static struct json *operand_json(struct arena *a, const struct dsl_operand *o)
{
	struct json *made = json_new(a, JSON_OBJECT);

	if (o->kind == OPERAND_LITERAL)
		json_set(a, made, "value", dsl_value_json(a, &o->literal));
	else if (o->kind == OPERAND_REF)
		json_sets(a, made, "ref", o->path->text);
	else if (o->kind == OPERAND_FACT || o->kind == OPERAND_KNOWN)
		json_sets(a, made, dsl_function_names[o->kind], o->key);
	else
		json_set(a, made, dsl_function_names[o->kind], args_json(a, o->args));
	return made;
}

static struct json *expr_json(struct arena *a, const struct dsl_expr *x)
{
	struct json *made = json_new(a, JSON_OBJECT), *list = json_new(a, JSON_ARRAY);

	switch (x->kind) {
	case EXPR_TEST:
		return operand_json(a, &x->x);
	case EXPR_NOT:
		json_set(a, made, "not", expr_json(a, x->parts));
		return made;
	case EXPR_COMPARE:
		json_push(a, list, operand_json(a, &x->x));
		json_push(a, list, operand_json(a, &x->y));
		json_set(a, made, dsl_cmp_names[x->cmp], list);
		return made;
	default:
		for (const struct dsl_expr *part = x->parts; part; part = part->next)
			json_push(a, list, expr_json(a, part));
		json_set(a, made, x->kind == EXPR_AND ? "and" : "or", list);
		return made;
	}
}

static struct json *scope_json(struct arena *a, const struct dsl_rule *rule)
{
	struct json *made = json_new(a, JSON_OBJECT), *where = json_new(a, JSON_ARRAY);

	json_sets(a, made, "target", dsl_target_names[rule->target]);
	for (const struct dsl_pred *p = rule->preds; p; p = p->next) {
		struct json *pred = json_new(a, JSON_ARRAY);
		json_pushs(a, pred, p->path->text);
		json_pushs(a, pred, dsl_cmp_names[p->cmp]);
		json_push(a, pred, dsl_value_json(a, &p->literal));
		json_push(a, where, pred);
	}
	if (where->n)
		json_set(a, made, "where", where);
	if (rule->in)
		json_set(a, made, "in", rule->in);
	if (rule->tagged)
		json_set(a, made, "tagged", rule->tagged);
	return made;
}

static struct json *ops_json(struct arena *a, const struct dsl_op *ops)
{
	struct json *list = json_new(a, JSON_ARRAY);

	for (; ops; ops = ops->next) {
		struct json *op = json_new(a, JSON_OBJECT);
		json_sets(a, op, "op", ops->name);
		json_set(a, op, "args", args_json(a, ops->args));
		json_push(a, list, op);
	}
	return list;
}

static struct json *action_json(struct arena *a, const struct dsl_rule *rule)
{
	struct json *made = json_new(a, JSON_OBJECT);

	json_sets(a, made, "action", dsl_action_names[rule->action]);
	if (rule->action == ACTION_APPROVAL)
		json_sets(a, made, "role", rule->role);
	if (rule->action == ACTION_FACTS)
		json_set(a, made, "facts", rule->facts);
	if (rule->action == ACTION_REWRITE)
		json_set(a, made, "ops", ops_json(a, rule->ops));
	return made;
}

static struct json *rule_json(struct arena *a, const struct dsl_rule *rule)
{
	struct json *made = json_new(a, JSON_OBJECT), *patches = json_new(a, JSON_ARRAY);

	json_sets(a, made, "rule", rule->name);
	json_seti(a, made, "priority", rule->priority);
	json_set(a, made, "scope", scope_json(a, rule));
	json_set(a, made, "when", expr_json(a, rule->when));
	json_set(a, made, "enforce", action_json(a, rule));
	json_sets(a, made, "explain", rule->code);
	json_set(a, made, "args", args_json(a, rule->args));
	for (const struct dsl_invoke *i = rule->patches; i; i = i->next) {
		struct json *patch = json_new(a, JSON_OBJECT);
		json_sets(a, patch, "template", i->name);
		json_set(a, patch, "args", args_json(a, i->args));
		json_push(a, patches, patch);
	}
	json_set(a, made, "patch", patches);
	return made;
}

/* Templates by name: what an object's members are in canonical form anyway. */
static struct json *module_json(struct arena *a, const struct dsl_policy *p, int which)
{
	struct json *made = json_new(a, JSON_OBJECT), *templates = json_new(a, JSON_OBJECT),
		    *rules = json_new(a, JSON_ARRAY);

	json_sets(a, made, "module", dsl_module_names[which]);
	for (const struct dsl_template *t = p->modules[which].templates; t; t = t->next)
		json_set(a, templates, t->name, ops_json(a, t->ops));
	json_set(a, made, "templates", templates);
	for (size_t i = 0; i < p->rule_n; i++)
		if (p->order[i]->module == which)
			json_push(a, rules, rule_json(a, p->order[i]));
	json_set(a, made, "rules", rules);
	return made;
}

void dsl_describe(struct arena *a, struct dsl_policy *p)
{
	struct json *doc = json_new(a, JSON_OBJECT), *modules = json_new(a, JSON_ARRAY);
	struct buf b;

	if (p->name) {
		json_sets(a, doc, "name", p->name);
		json_sets(a, doc, "cpi", p->cpi);
	}
	json_seti(a, doc, "source_syntax_version", 1);
	for (int i = 0; i < MODULES; i++)
		if (p->modules[i].is_there)
			json_push(a, modules, module_json(a, p, i));
	json_set(a, doc, "modules", modules);
	buf_init(&b, a);
	buf_adds(&b, "HELM/PolicyDSL/v1\n");
	json_canonical(&b, doc);
	p->document = doc;
	p->hash = sha256_prefixed(a, b.p, b.n);
}
