/* parse_rule.c — one rule: its scope, its condition, what it enforces, how it explains itself, what it suggests.
 *
 * Every function gives up at once when an error was reported (has_failed), and what it returns is then not used. */
#include "decide/dsl/parts.h"

#include <string.h>

const char *const dsl_target_names[] = { "node", "edge", "agent", "capital_flow", "data_flow" };
TABLE_COVERS(dsl_target_names, TARGETS);
const char *const dsl_action_names[] = { "deny", "require_approval", "needs_facts", "rewrite" };
TABLE_COVERS(dsl_action_names, ACTIONS);
const char *const dsl_cmp_names[] = { "==", "!=", ">", "<", ">=", "<=", "contains" };
TABLE_COVERS(dsl_cmp_names, CMP_COUNT);
const char *const dsl_function_names[] = { NULL, NULL, "fact", "known", "has_tag", "has_primitive",
	"node_type", "edge_type" };
TABLE_COVERS(dsl_function_names, OPERAND_COUNT);
static const char *const op_names[] = { "insert_node", "attach_primitive", "insert_transformer", "add_gate",
	"set_valve", "add_tag", "bind_jurisdiction" };
static const char *const layers[] = { "CPI", "PEP", "AUTH", "FACT", "SCHEMA", "EXEC" };

static struct dsl_expr *parse_or(struct dsl_parser *p, int depth);

/* ---- literals, references, arguments ---- */

static int64_t parse_int(struct dsl_parser *p, const char *what)
{
	int64_t value = p->now.number;

	if (p->has_failed || p->now.kind != TOKEN_INT) {
		dsl_fail(p, "E_SYNTAX", arena_printf(p->r->a, "expected %s", what), "write a whole number");
		return 0;
	}
	dsl_next(p);
	if (dsl_is(p, "."))
		dsl_fail(p, "E_SYNTAX", "numbers have no fraction",
			"count in a smaller unit: money(\"EUR\", 150), duration_ms(1500)");
	return value;
}

static const char *parse_string(struct dsl_parser *p, const char *what)
{
	const char *text = p->now.text;

	if (!p->has_failed && p->now.kind == TOKEN_STRING) {
		dsl_next(p);
		return text;
	}
	dsl_fail(p, "E_SYNTAX", arena_printf(p->r->a, "expected %s", what), "write a text in double quotes");
	return "";
}

static bool is_literal(const struct dsl_parser *p)
{
	return p->now.kind == TOKEN_STRING || p->now.kind == TOKEN_INT || dsl_is(p, "true") ||
		dsl_is(p, "false") || dsl_is(p, "money") || dsl_is(p, "duration_ms");
}

static struct dsl_value parse_money(struct dsl_parser *p)
{
	struct dsl_value v = { .type = TYPE_MONEY };

	dsl_next(p);
	dsl_expect(p, "(", "after 'money'");
	v.text = parse_string(p, "a currency, as in money(\"EUR\", 50000)");
	v.text_n = strlen(v.text);
	dsl_expect(p, ",", "between currency and amount");
	v.number = parse_int(p, "an amount in minor units");
	dsl_expect(p, ")", "after the amount");
	return v;
}

static struct dsl_value parse_duration(struct dsl_parser *p)
{
	struct dsl_value v = { .type = TYPE_DURATION };

	dsl_next(p);
	dsl_expect(p, "(", "after 'duration_ms'");
	v.number = parse_int(p, "a number of milliseconds");
	dsl_expect(p, ")", "after the milliseconds");
	return v;
}

static struct dsl_value parse_literal(struct dsl_parser *p)
{
	struct dsl_value v = { .type = TYPE_STRING, .text = "" };

	if (dsl_is(p, "money"))
		return parse_money(p);
	if (dsl_is(p, "duration_ms"))
		return parse_duration(p);
	if (p->now.kind == TOKEN_INT) {
		v = (struct dsl_value){ .type = TYPE_INT, .number = parse_int(p, "") };
	} else if (dsl_is(p, "true") || dsl_is(p, "false")) {
		v = (struct dsl_value){ .type = TYPE_BOOL, .number = dsl_is(p, "true") };
		dsl_next(p);
	} else {
		v.text = parse_string(p, "a literal: a string, a number, true, false, money or duration_ms");
		v.text_n = strlen(v.text);
	}
	return v;
}

/* ident ("." ident)*, whose first name was read already. */
static const struct dsl_path *parse_path(struct dsl_parser *p, const char *first)
{
	struct arena *a = p->r->a;
	struct dsl_path *path = arena_zalloc(a, 1, sizeof *path);
	const char *names[DSL_MAX_PATH + 1];
	struct buf text;

	buf_init(&text, a);
	buf_adds(&text, first);
	names[path->n++] = first;
	while (path->n <= DSL_MAX_PATH && dsl_take(p, ".")) {
		names[path->n] = dsl_ident(p, "the name of a member after '.'");
		buf_addf(&text, ".%s", names[path->n++]);
	}
	if (path->n > DSL_MAX_PATH)
		dsl_fail(p, "E_LIMIT_DEPTH", "this path has more than 16 names", "name something less deep");
	path->names = arena_zalloc(a, path->n, sizeof *path->names);
	memcpy(path->names, names, path->n * sizeof *names);
	path->text = text.p;
	return path;
}

static const struct dsl_path *parse_ref(struct dsl_parser *p)
{
	const struct dsl_path *path = parse_path(p, dsl_ident(p, "a reference"));

	if (path->n == 1)
		dsl_fail(p, "E_SYNTAX", "expected '.' and a member after 'delta' or 'snapshot'",
			"name what you mean: delta.amount, snapshot.entity.name");
	return path;
}

static bool is_ref(const struct dsl_parser *p)
{
	return dsl_is(p, "delta") || dsl_is(p, "snapshot");
}

/* The name of `name = value` is told from a reference or literal by the sign behind it. */
static struct dsl_arg *parse_arg(struct dsl_parser *p)
{
	struct dsl_arg *arg = arena_zalloc(p->r->a, 1, sizeof *arg);
	struct dsl_parser before = *p;

	arg->mark = p->now.mark;
	if (p->now.kind == TOKEN_IDENT) {
		arg->name = p->now.text;
		dsl_next(p);
		if (p->has_failed)
			return arg;
		if (!dsl_take(p, "=")) {
			*p = before;
			arg->name = NULL;
		}
	}
	if (is_ref(p))
		arg->path = parse_ref(p);
	else if (is_literal(p))
		arg->literal = parse_literal(p);
	else
		dsl_fail(p, "E_SYNTAX", "expected an argument",
			"an argument is a string, a number, true, false, money, duration_ms, or a reference such as delta.node; it may have a name: tag = \"x\"");
	return arg;
}

/* Whether an argument of the list before it has the same name. */
static bool is_again(const struct dsl_arg *list, const struct dsl_arg *arg)
{
	for (; list != arg; list = list->next)
		if (list->name && arg->name && text_eq(list->name, arg->name))
			return true;
	return false;
}

/* arg ("," arg)* */
static struct dsl_arg *parse_arg_list(struct dsl_parser *p, size_t *ret_n)
{
	struct dsl_arg *first = NULL, **end = &first;

	*ret_n = 0;
	do {
		struct dsl_parser before = *p;
		if (++*ret_n > DSL_MAX_ARGS)
			dsl_fail(p, "E_LIMIT_PARAMS", "there are at most 16 arguments", "leave some out");
		*end = parse_arg(p);
		if (!p->has_failed && is_again(first, *end)) {
			*p = before;
			dsl_fail(p, "E_SYNTAX", "an argument of this name was given already",
				"give every argument once");
		}
		end = &(*end)->next;
	} while (dsl_take(p, ","));
	return first;
}

/* "(" (arg ("," arg)*)? ")" */
struct dsl_arg *dsl_parse_args(struct dsl_parser *p, size_t *ret_n)
{
	struct dsl_arg *first;

	*ret_n = 0;
	dsl_expect(p, "(", "before the arguments");
	if (p->has_failed || dsl_take(p, ")"))
		return NULL;
	first = parse_arg_list(p, ret_n);
	dsl_expect(p, ")", "after the arguments");
	return first;
}

/* One string, or a list of them. */
static struct json *parse_strset(struct dsl_parser *p, const char *what)
{
	struct json *set = json_new(p->r->a, JSON_ARRAY);
	bool is_list = dsl_take(p, "[");

	do {
		json_pushs(p->r->a, set, parse_string(p, what));
	} while (is_list && dsl_take(p, ","));
	if (is_list)
		dsl_expect(p, "]", "after the list");
	return set;
}

/* ---- operations ---- */

static struct dsl_op *parse_op(struct dsl_parser *p)
{
	struct dsl_op *op = arena_zalloc(p->r->a, 1, sizeof *op);
	size_t n = 0;

	op->mark = p->now.mark;
	if (p->now.kind == TOKEN_IDENT && dsl_which(p, op_names, ARRAY_SIZE(op_names)) < 0)
		dsl_fail(p, "E_PATCHOP", "there is no such operation",
			"operations are insert_node, attach_primitive, insert_transformer, add_gate, set_valve, add_tag and bind_jurisdiction");
	op->name = dsl_ident(p, "an operation");
	op->args = dsl_parse_args(p, &n);
	if (!p->has_failed && n == 0) {
		p->now.mark = op->mark;
		dsl_fail(p, "E_SYNTAX", "this operation has no argument",
			"say what to do: add_tag(tag = \"x\")");
	}
	return op;
}

/* Operations in one pair of braces, or in two. */
struct dsl_op *dsl_parse_ops(struct dsl_parser *p)
{
	struct dsl_op *first = NULL, **end = &first;
	bool is_double;
	size_t n = 0;

	dsl_expect(p, "{", "before the operations");
	is_double = dsl_take(p, "{");
	do {
		if (++n > DSL_MAX_OPS)
			dsl_fail(p, "E_LIMIT_PATCHOPS", "there are at most 32 operations in one block",
				"split it into two templates");
		*end = parse_op(p);
		end = &(*end)->next;
	} while (!p->has_failed && !dsl_is(p, "}"));
	dsl_expect(p, "}", "after the operations");
	if (is_double)
		dsl_expect(p, "}", "after the operations, once more");
	return first;
}

/* ---- conditions ---- */

/* known(fact("k")) and the other functions. */
static void parse_call(struct dsl_parser *p, struct dsl_operand *o)
{
	size_t n;

	dsl_next(p);
	if (o->kind != OPERAND_KNOWN) {
		o->args = dsl_parse_args(p, &n);
		return;
	}
	dsl_expect(p, "(", "after 'known'");
	dsl_expect(p, "fact", "inside known(...)");
	dsl_expect(p, "(", "after 'fact'");
	o->key = parse_string(p, "the key of a fact");
	dsl_expect(p, ")", "after the key");
	dsl_expect(p, ")", "after fact(...)");
}

static struct dsl_operand parse_operand(struct dsl_parser *p)
{
	struct dsl_operand o = { .kind = OPERAND_LITERAL, .mark = p->now.mark };
	int which = dsl_which(p, dsl_function_names, ARRAY_SIZE(dsl_function_names));

	if (which >= 0) {
		o.kind = (enum dsl_operand_kind)which;
		parse_call(p, &o);
	} else if (is_ref(p)) {
		o.kind = OPERAND_REF;
		o.path = parse_ref(p);
	} else if (is_literal(p)) {
		o.literal = parse_literal(p);
	} else {
		dsl_fail(p, "E_SYNTAX", "expected a condition or a value",
			"use a comparison (delta.amount > 5), or known, fact, has_tag, has_primitive, node_type or edge_type with its arguments");
	}
	return o;
}

/* The comparison at this token, or -1. */
static int which_cmp(const struct dsl_parser *p)
{
	for (size_t i = 0; i < ARRAY_SIZE(dsl_cmp_names); i++)
		if (dsl_is(p, dsl_cmp_names[i]))
			return (int)i;
	return -1;
}

static struct dsl_expr *new_expr(struct dsl_parser *p, enum dsl_expr_kind kind)
{
	struct dsl_expr *x = arena_zalloc(p->r->a, 1, sizeof *x);

	x->kind = kind;
	x->mark = p->now.mark;
	return x;
}

static bool is_too_deep(struct dsl_parser *p, int depth)
{
	if (depth > DSL_MAX_DEPTH)
		dsl_fail(p, "E_LIMIT_DEPTH", "this condition is more than 16 levels deep",
			"take away parentheses that change nothing, or make two rules of it");
	return p->has_failed;
}

static struct dsl_expr *parse_prim(struct dsl_parser *p, int depth)
{
	struct dsl_expr *x = new_expr(p, EXPR_TEST);
	int cmp;

	if (dsl_take(p, "(")) {
		if (is_too_deep(p, depth + 1))
			return x;
		x = parse_or(p, depth + 1);
		dsl_expect(p, ")", "after the condition in parentheses");
		return x;
	}
	x->x = parse_operand(p);
	cmp = which_cmp(p);
	if (p->has_failed || (cmp < 0 && x->x.kind > OPERAND_REF))
		return x;
	if (cmp < 0) {
		dsl_fail(p, "E_SYNTAX", "a value alone is no condition; expected a comparison",
			"compare it: delta.amount > 5; the comparisons are == != > < >= <= contains");
		return x;
	}
	x->kind = EXPR_COMPARE;
	x->cmp = (enum dsl_cmp)cmp;
	dsl_next(p);
	x->y = parse_operand(p);
	return x;
}

static struct dsl_expr *parse_not(struct dsl_parser *p, int depth)
{
	struct dsl_expr *x;

	if (!dsl_is(p, "not"))
		return parse_prim(p, depth);
	x = new_expr(p, EXPR_NOT);
	dsl_next(p);
	if (is_too_deep(p, depth + 1))
		return x;
	if (dsl_is(p, "not"))
		dsl_fail(p, "E_SYNTAX", "'not not' is not allowed", "leave both out, or write not (not ...)");
	x->parts = parse_prim(p, depth + 1);
	return x;
}

/* part (WORD part)*; a single part stands for itself. */
static struct dsl_expr *parse_chain(struct dsl_parser *p, int depth, enum dsl_expr_kind kind,
	const char *word, struct dsl_expr *(*part)(struct dsl_parser *p, int depth))
{
	struct dsl_expr *chain = new_expr(p, kind), **end;

	chain->parts = part(p, depth);
	end = &chain->parts->next;
	while (dsl_take(p, word)) {
		*end = part(p, depth);
		end = &(*end)->next;
	}
	return chain->parts->next ? chain : chain->parts;
}

static struct dsl_expr *parse_and(struct dsl_parser *p, int depth)
{
	return parse_chain(p, depth, EXPR_AND, "and", parse_not);
}

static struct dsl_expr *parse_or(struct dsl_parser *p, int depth)
{
	return parse_chain(p, depth, EXPR_OR, "or", parse_and);
}

/* ---- clauses ---- */

static void parse_preds(struct dsl_parser *p, struct dsl_rule *rule)
{
	struct dsl_pred **end = &rule->preds;
	int cmp;

	do {
		struct dsl_pred *pred = arena_zalloc(p->r->a, 1, sizeof *pred);
		pred->mark = p->now.mark;
		pred->path = parse_path(p, dsl_ident(p, "a member of the subject"));
		cmp = which_cmp(p);
		if (cmp < 0) {
			dsl_fail(p, "E_SYNTAX", "expected a comparison",
				"a scope compares members with literals: node(risk >= 3)");
			return;
		}
		pred->cmp = (enum dsl_cmp)cmp;
		dsl_next(p);
		pred->literal = parse_literal(p);
		*end = pred;
		end = &pred->next;
	} while (dsl_take(p, "and"));
	dsl_expect(p, ")", "after the predicates");
}

static void parse_scope(struct dsl_parser *p, struct dsl_rule *rule)
{
	int target = dsl_which(p, dsl_target_names, TARGETS);

	if (p->now.kind == TOKEN_IDENT && target < 0)
		dsl_fail(p, "E_SCOPE", "there is no such target",
			"targets are node, edge, agent, capital_flow and data_flow");
	(void)dsl_ident(p, "a target");
	rule->target = (enum dsl_target)(target < 0 ? 0 : target);
	if (dsl_take(p, "("))
		parse_preds(p, rule);
	if (dsl_take(p, "in"))
		rule->in = parse_strset(p, "a jurisdiction, or a list of them");
	if (dsl_take(p, "tagged"))
		rule->tagged = parse_strset(p, "a tag, or a list of them");
}

static void parse_action(struct dsl_parser *p, struct dsl_rule *rule)
{
	int action = dsl_which(p, dsl_action_names, ACTIONS);

	if (p->now.kind == TOKEN_IDENT && action < 0)
		dsl_fail(p, "E_ENFORCE",
			dsl_is(p, "allow") ? "a rule cannot allow; it can only restrict"
					   : "there is no such action",
			"actions are deny, require_approval(\"role\"), needs_facts([\"key\"]) and rewrite({ ... })");
	(void)dsl_ident(p, "an action");
	rule->action = (enum dsl_action)(action < 0 ? 0 : action);
	if (rule->action == ACTION_DENY)
		return;
	dsl_expect(p, "(", "after the action");
	if (rule->action == ACTION_APPROVAL)
		rule->role = parse_string(p, "the role that may approve");
	else if (rule->action == ACTION_FACTS)
		rule->facts = parse_strset(p, "the key of a fact, or a list of them");
	else
		rule->ops = dsl_parse_ops(p);
	dsl_expect(p, ")", "after the action");
}

/* LAYER.DOMAIN.CATEGORY.CAUSE[.SPEC] in capitals. */
static bool is_code(const char *code)
{
	struct bytes rest = bytes_of(code), part = text_cut(&rest, '.');
	bool has_layer = false;
	size_t n = 1;

	for (size_t i = 0; i < ARRAY_SIZE(layers); i++)
		has_layer |= bytes_is(part, layers[i]);
	for (; rest.p; n++) {
		part = text_cut(&rest, '.');
		if (part.n == 0)
			return false;
	}
	return has_layer && (n == 4 || n == 5) && strlen(code) <= 2 * DSL_MAX_NAME &&
		strspn(code, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.") == strlen(code);
}

static void parse_explain(struct dsl_parser *p, struct dsl_rule *rule)
{
	size_t n;

	if (!p->has_failed && p->now.kind != TOKEN_IDENT)
		dsl_fail(p, "E_SYNTAX", "expected a reason code",
			"write one such as CPI.DATA.FORBIDDEN.EXPORT");
	if (p->has_failed)
		return;
	p->now = dsl_lex_code(&p->lexer, &p->now);
	rule->code_mark = p->now.mark;
	rule->code = p->now.text;
	if (!is_code(rule->code)) {
		dsl_fail(p, "E_REASON", "this is no reason code",
			"a code is LAYER.DOMAIN.CATEGORY.CAUSE in capitals, with one more part at most; layers are CPI, PEP, AUTH, FACT, SCHEMA and EXEC");
		return;
	}
	dsl_next(p);
	if (dsl_take(p, ","))
		rule->args = parse_arg_list(p, &n);
}

static void parse_patches(struct dsl_parser *p, struct dsl_rule *rule)
{
	struct dsl_invoke **end = &rule->patches;
	bool is_list = dsl_take(p, "[");
	size_t n, count = 0;

	do {
		struct dsl_invoke *i = arena_zalloc(p->r->a, 1, sizeof *i);
		if (++count > DSL_MAX_PATCHES)
			dsl_fail(p, "E_LIMIT_PATCHES", "a rule suggests at most 8 patches", "leave some out");
		i->mark = p->now.mark;
		i->name = dsl_ident(p, "the name of a template");
		i->args = dsl_parse_args(p, &n);
		if (!p->has_failed && n > DSL_MAX_PARAMS) {
			p->now.mark = i->mark;
			dsl_fail(p, "E_LIMIT_PARAMS", "a template is given at most 8 arguments",
				"leave some out");
		}
		*end = i;
		end = &i->next;
	} while (is_list && dsl_take(p, ","));
	if (is_list)
		dsl_expect(p, "]", "after the list of templates");
}

static void begin_clause(struct dsl_parser *p, const char *word)
{
	dsl_expect(p, word, "here; the clauses are scope, when, enforce, explain and patch, in this order");
	dsl_expect(p, ":", arena_printf(p->r->a, "after '%s'", word));
}

/* Never NULL; has_failed says whether it can be used. */
struct dsl_rule *dsl_parse_rule(struct dsl_parser *p, int module)
{
	struct dsl_rule *rule = arena_zalloc(p->r->a, 1, sizeof *rule);

	dsl_next(p);
	rule->mark = p->now.mark;
	rule->module = module;
	rule->priority = 1000;
	rule->name = dsl_ident(p, "the name of the rule");
	rule->id = arena_printf(p->r->a, "%s.%s", dsl_module_names[module], rule->name);
	if (dsl_take(p, "[")) {
		dsl_expect(p, "priority", "after '['");
		dsl_expect(p, "=", "after 'priority'");
		rule->priority = parse_int(p, "a priority");
		dsl_expect(p, "]", "after the priority");
	}
	dsl_expect(p, "{", "before the clauses of the rule");
	begin_clause(p, "scope");
	parse_scope(p, rule);
	begin_clause(p, "when");
	rule->when_mark = p->now.mark;
	rule->when = parse_or(p, 1);
	begin_clause(p, "enforce");
	parse_action(p, rule);
	begin_clause(p, "explain");
	parse_explain(p, rule);
	if (dsl_take(p, "patch")) {
		dsl_expect(p, ":", "after 'patch'");
		parse_patches(p, rule);
	}
	dsl_expect(p, "}", "at the end of the rule; what may follow is one 'patch:' clause");
	return rule;
}
