/* check.c — what the grammar cannot say: names that exist, types that fit, and no fact used before it is known.
 *
 * The last is computed over the condition as it is evaluated, from left to right and no further than needed.  For every part it is known
 * which facts are known when it is true (T) and when it is false (F); a comparison with a fact is legal only where the parts before it
 * prove that fact.  So `known(fact("a")) and fact("a") > 3` compiles and the reverse does not, and nothing can go wrong for an
 * unknown fact when the policy is used.
 *
 * From the same sets follows through which rules the absence of a fact can make an answer milder; those are listed as warnings. */
#include "decide/dsl/parts.h"

#include <string.h>

/* Facts of one condition as bits. */
struct proof {
	uint64_t if_true, if_false;
};

struct checking {
	struct dsl_reading *r;
	struct dsl_rule *rule;
	const char *keys[DSL_MAX_FACTS];
	size_t key_n;
	uint64_t required; /* known() where its truth makes the condition truer */
	uint64_t compared; /* used as a value */
};

static void refuse(
	struct checking *c, struct dsl_mark at, const char *code, const char *text, const char *fix)
{
	if (!c->rule->is_bad)
		dsl_problem(c->r, at, code, text, fix);
	c->rule->is_bad = true;
}

/* The bit of a fact. */
static uint64_t bit_of(struct checking *c, const struct dsl_operand *o)
{
	for (size_t i = 0; i < c->key_n; i++)
		if (text_eq(c->keys[i], o->key))
			return UINT64_C(1) << i;
	if (c->key_n == DSL_MAX_FACTS) {
		refuse(c, o->mark, "E_LIMIT_FACTS", "a condition uses at most 64 different facts",
			"make several rules of it");
		return 0;
	}
	c->keys[c->key_n++] = o->key;
	return UINT64_C(1) << (c->key_n - 1);
}

/* ---- types ---- */

/* What is known about the type before anything is evaluated; OTHER means: anything. */
static enum dsl_type static_type(const struct dsl_operand *o)
{
	static const enum dsl_type types[] = { [OPERAND_KNOWN] = TYPE_BOOL,
		[OPERAND_HAS_TAG] = TYPE_BOOL,
		[OPERAND_HAS_PRIMITIVE] = TYPE_BOOL,
		[OPERAND_NODE_TYPE] = TYPE_STRING,
		[OPERAND_EDGE_TYPE] = TYPE_STRING };
	TABLE_COVERS(types, OPERAND_COUNT);

	return o->kind == OPERAND_LITERAL ? o->literal.type : types[o->kind];
}

/* Whether a value of this type can be on this side of the comparison. */
static bool can_be(enum dsl_cmp cmp, enum dsl_type t)
{
	if (t == TYPE_OTHER || cmp == CMP_EQ || cmp == CMP_NE)
		return true;
	if (cmp == CMP_CONTAINS)
		return t == TYPE_STRING;
	return t == TYPE_INT || t == TYPE_MONEY || t == TYPE_DURATION;
}

/* Two sides of which something is known; `x` and `y` are the literals where the sides are such. */
static const char *clash(enum dsl_cmp cmp, enum dsl_type tx, enum dsl_type ty, const struct dsl_value *x,
	const struct dsl_value *y)
{
	if (!can_be(cmp, tx) || !can_be(cmp, ty))
		return cmp == CMP_CONTAINS ? "'contains' looks for a string in a string or a list of strings"
					   : "only integers, amounts of money and durations have an order";
	if (tx != TYPE_OTHER && ty != TYPE_OTHER && tx != ty)
		return "the two sides of this comparison have different types";
	if (tx == TYPE_MONEY && ty == TYPE_MONEY && !text_eq(x->text, y->text))
		return "amounts of two currencies cannot be compared";
	return NULL;
}

/* The arguments of has_tag and its like: a reference, and for some a string. */
static void check_object_call(struct checking *c, const struct dsl_operand *o, bool has_text)
{
	const struct dsl_arg *object = o->args, *text = object ? object->next : NULL,
			     *more = text ? text->next : NULL;
	struct arena *a = c->r->a;
	bool is_good =
		object && object->path && !object->name && (has_text ? text != NULL : text == NULL) && !more;

	if (is_good && text)
		is_good = !text->name && (text->path || text->literal.type == TYPE_STRING);
	if (!is_good)
		refuse(c, o->mark, "E_TYPE",
			arena_printf(a, "'%s' takes a reference to an object%s", dsl_function_names[o->kind],
				has_text ? " and a string" : ""),
			arena_printf(a, "write %s(delta.node%s)", dsl_function_names[o->kind],
				has_text ? ", \"x\"" : ""));
}

static void check_fact(struct checking *c, struct dsl_operand *o, uint64_t known)
{
	const struct dsl_arg *key = o->args;
	uint64_t bit;

	if (!key || key->next || key->name || key->path || key->literal.type != TYPE_STRING) {
		refuse(c, o->mark, "E_TYPE", "'fact' takes the key of one fact, as a string",
			"write fact(\"key\")");
		o->key = "";
		return;
	}
	o->key = key->literal.text;
	bit = bit_of(c, o);
	c->compared |= bit;
	if (!(known & bit))
		refuse(c, o->mark, "E_UNKNOWN_GUARD",
			arena_printf(c->r->a, "fact(\"%s\") is used where it may be unknown", o->key),
			arena_printf(c->r->a,
				"write known(fact(\"%s\")) and ... before it, or not known(fact(\"%s\")) or ...",
				o->key, o->key));
}

static void check_operand(struct checking *c, struct dsl_operand *o, uint64_t known)
{
	if (o->kind == OPERAND_FACT)
		check_fact(c, o, known);
	else if (o->kind == OPERAND_HAS_TAG || o->kind == OPERAND_HAS_PRIMITIVE)
		check_object_call(c, o, true);
	else if (o->kind == OPERAND_NODE_TYPE || o->kind == OPERAND_EDGE_TYPE)
		check_object_call(c, o, false);
}

/* ---- conditions ---- */

static struct proof check_expr(struct checking *c, struct dsl_expr *x, uint64_t known, bool is_positive);

static struct proof check_test(struct checking *c, struct dsl_expr *x, uint64_t known, bool is_positive)
{
	check_operand(c, &x->x, known);
	if (x->x.kind == OPERAND_KNOWN) {
		uint64_t bit = bit_of(c, &x->x);
		c->required |= is_positive ? bit : 0;
		return (struct proof){ bit, 0 };
	}
	if (static_type(&x->x) == TYPE_STRING)
		refuse(c, x->mark, "E_TYPE", "this is a string, not a condition",
			"compare it: node_type(delta.node) == \"TOOL\"");
	return (struct proof){ 0 };
}

/* known(...) == true proves nothing: only the bare form does.  It may count either way, so it counts as required. */
static struct proof check_compare(struct checking *c, struct dsl_expr *x, uint64_t known)
{
	const char *why;

	check_operand(c, &x->x, known);
	check_operand(c, &x->y, known);
	if (x->x.kind == OPERAND_KNOWN)
		c->required |= bit_of(c, &x->x);
	if (x->y.kind == OPERAND_KNOWN)
		c->required |= bit_of(c, &x->y);
	why = clash(x->cmp, static_type(&x->x), static_type(&x->y), &x->x.literal, &x->y.literal);
	if (why)
		refuse(c, x->mark, "E_TYPE", why, "compare values of one type");
	return (struct proof){ 0 };
}

/* a and b: both are true when it is true; b is evaluated only when a was true.  `or` is the same with true and false exchanged. */
static struct proof check_chain(struct checking *c, struct dsl_expr *x, uint64_t known, bool is_positive)
{
	struct proof all = check_expr(c, x->parts, known, is_positive);

	for (struct dsl_expr *part = x->parts->next; part; part = part->next) {
		uint64_t before = x->kind == EXPR_AND ? all.if_true : all.if_false;
		struct proof more = check_expr(c, part, known | before, is_positive);
		if (x->kind == EXPR_AND)
			all = (struct proof){ all.if_true | more.if_true, all.if_false & more.if_false };
		else
			all = (struct proof){ all.if_true & more.if_true, all.if_false | more.if_false };
	}
	return all;
}

static struct proof check_expr(struct checking *c, struct dsl_expr *x, uint64_t known, bool is_positive)
{
	struct proof inner;

	switch (x->kind) {
	case EXPR_NOT:
		inner = check_expr(c, x->parts, known, !is_positive);
		return (struct proof){ inner.if_false, inner.if_true };
	case EXPR_TEST:
		return check_test(c, x, known, is_positive);
	case EXPR_COMPARE:
		return check_compare(c, x, known);
	default:
		return check_chain(c, x, known, is_positive);
	}
}

/* ---- names and warnings ---- */

static void warn(struct checking *c, struct dsl_mark at, const char *code, const char *text, const char *fix)
{
	dsl_problem(c->r, at, code, text, fix);
}

/* A rule through which a request may fare better when a fact is taken away: it needs the fact to hold, it changes the subject, or it
 * compares the fact and does not hold without it. */
static void warn_facts(struct checking *c, struct proof whole)
{
	uint64_t milder = c->required | (c->compared & ~whole.if_false);
	struct arena *a = c->r->a;

	if (c->rule->action == ACTION_REWRITE)
		milder = c->key_n ? UINT64_MAX >> (64 - c->key_n) : 0;
	for (size_t i = 0; i < c->key_n; i++)
		if (milder & UINT64_C(1) << i)
			warn(c, c->rule->when_mark, "W_FACT_ABSENT",
				arena_printf(a, "without fact \"%s\" rule %s may have no objection",
					c->keys[i], c->rule->id),
				arena_printf(a,
					"if that is not meant, add a rule: when: not known(fact(\"%s\")) enforce: needs_facts(\"%s\")",
					c->keys[i], c->keys[i]));
}

static void warn_code(struct checking *c)
{
	static const char *const domains[] = { "JURISDICTION", "LICENSE", "TAX", "BANKING", "TREASURY",
		"DATA", "IDENTITY", "CONTRACT", "TOOLS", "RISK", "SIM", "MERGE", "REPLAY" };
	static const char *const categories[] = { "MISSING_PRIMITIVE", "FORBIDDEN", "LIMIT_EXCEEDED",
		"REQUIRES_TRANSFORMER", "INVALID_SCOPE", "NEEDS_APPROVAL", "NEEDS_FACTS", "CONFLICT",
		"INVARIANT_BREACH", "CONNECTOR_UNREADY", "EFFECT_FAILED" };
	struct bytes rest = bytes_of(c->rule->code), domain, category;
	bool has_domain = false, has_category = false;

	(void)text_cut(&rest, '.');
	domain = text_cut(&rest, '.');
	category = text_cut(&rest, '.');
	for (size_t i = 0; i < ARRAY_SIZE(domains); i++)
		has_domain |= bytes_is(domain, domains[i]);
	for (size_t i = 0; i < ARRAY_SIZE(categories); i++)
		has_category |= bytes_is(category, categories[i]);
	if (!has_domain)
		warn(c, c->rule->code_mark, "W_DOMAIN", "the second part of this code is no known domain",
			"domains are JURISDICTION, LICENSE, TAX, BANKING, TREASURY, DATA, IDENTITY, CONTRACT, TOOLS, RISK, SIM, MERGE and REPLAY");
	if (!has_category)
		warn(c, c->rule->code_mark, "W_CATEGORY", "the third part of this code is no known category",
			"categories are MISSING_PRIMITIVE, FORBIDDEN, LIMIT_EXCEEDED, REQUIRES_TRANSFORMER, INVALID_SCOPE, NEEDS_APPROVAL, NEEDS_FACTS, CONFLICT, INVARIANT_BREACH, CONNECTOR_UNREADY and EFFECT_FAILED");
}

/* A text that speaks of something the rule does not give would show "{name}" to people. */
static void warn_text(struct checking *c)
{
	struct arena *a = c->r->a;
	const char *text, *open, *close;

	if (!c->r->messages)
		c->r->messages = dsl_messages(a, "en");
	text = json_get_text(c->r->messages, dsl_message_key(a, c->rule->code), "");
	for (; (open = strchr(text, '{')); text = close) {
		close = open + strcspn(open, "}");
		const char *name = arena_strndup(a, open + 1, (size_t)(close - open - 1));
		const struct dsl_arg *arg = c->rule->args;
		while (arg && !(arg->name && text_eq(arg->name, name)))
			arg = arg->next;
		if (!arg)
			warn(c, c->rule->code_mark, "W_EXPLAIN",
				arena_printf(a,
					"the text of this code speaks of '%s', which the rule does not give",
					name),
				arena_printf(a, "add it behind the code: , %s = ...", name));
	}
}

/* An operation of a rewrite that cannot be done makes the rule deny. */
static void warn_ops(struct checking *c)
{
	const char *member;

	for (const struct dsl_op *op = c->rule->ops; op; op = op->next) {
		const char *name = dsl_about_name(op, &member);
		if (name && !dsl_about(op, name))
			warn(c, op->mark, "W_REWRITE", "this operation cannot be done, so the rule will deny",
				arena_printf(c->r->a, "write %s(%s = \"...\")", op->name, name));
	}
}

static void find_templates(struct checking *c, const struct dsl_module *m)
{
	for (struct dsl_invoke *i = c->rule->patches; i; i = i->next) {
		for (const struct dsl_template *t = m->templates; t; t = t->next)
			if (text_eq(t->name, i->name))
				i->is = t;
		if (!i->is)
			refuse(c, i->mark, "E_TEMPLATE", "this module has no template of that name",
				"write the template in the same module, or correct the name");
	}
}

static void check_preds(struct checking *c)
{
	for (const struct dsl_pred *p = c->rule->preds; p; p = p->next) {
		const char *why = clash(p->cmp, TYPE_OTHER, p->literal.type, &p->literal, &p->literal);
		if (why)
			refuse(c, p->mark, "E_TYPE", why, "compare values of one type");
	}
}

static void check_rule(struct dsl_reading *r, const struct dsl_module *m, struct dsl_rule *rule)
{
	struct checking c = { .r = r, .rule = rule };
	struct proof whole;

	check_preds(&c);
	whole = check_expr(&c, rule->when, 0, true);
	find_templates(&c, m);
	if (rule->is_bad)
		return;
	warn_code(&c);
	warn_text(&c);
	warn_ops(&c);
	warn_facts(&c, whole);
}

void dsl_check(struct dsl_reading *r, struct dsl_policy *p)
{
	for (int i = 0; i < MODULES; i++)
		for (struct dsl_rule *rule = p->modules[i].rules; rule; rule = rule->next)
			if (!rule->is_bad)
				check_rule(r, &p->modules[i], rule);
}
