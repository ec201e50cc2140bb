/* parse.c — tokens to modules, templates and rules; the inside of a rule is read by parse_rule.c.
 *
 * One rule or template has at most one error.  After it the parser goes on at the next word `rule`, `template` or `module`, so that
 * a person sees the mistakes of a whole text at once, and a brace that is missing does not spoil what follows. */
#include "decide/dsl/parts.h"

#include <string.h>

const char *const dsl_module_names[] = { "jurisdiction", "licenses", "treasury", "authority", "data", "tools",
	"risk", "contracts", "simulation", "merge" };
TABLE_COVERS(dsl_module_names, MODULES);

void dsl_next(struct dsl_parser *p)
{
	p->now = dsl_lex(&p->lexer);
	if (p->now.kind == TOKEN_BAD)
		p->has_failed = true;
}

/* A bad token was reported by the lexer already. */
void dsl_fail(struct dsl_parser *p, const char *code, const char *text, const char *fix)
{
	if (!p->has_failed)
		dsl_problem(p->r, p->now.mark, code, text, fix);
	p->has_failed = true;
}

bool dsl_is(const struct dsl_parser *p, const char *word)
{
	return (p->now.kind == TOKEN_IDENT || p->now.kind == TOKEN_PUNCT) && text_eq(p->now.text, word);
}

bool dsl_take(struct dsl_parser *p, const char *word)
{
	if (p->has_failed || !dsl_is(p, word))
		return false;
	dsl_next(p);
	return true;
}

void dsl_expect(struct dsl_parser *p, const char *word, const char *after)
{
	struct arena *a = p->r->a;

	if (dsl_take(p, word) || p->has_failed)
		return;
	dsl_fail(p, "E_SYNTAX", arena_printf(a, "expected '%s' %s", word, after),
		arena_printf(a, "write '%s' here", word));
}

const char *dsl_ident(struct dsl_parser *p, const char *what)
{
	const char *name = p->now.text;

	if (!p->has_failed && p->now.kind == TOKEN_IDENT) {
		dsl_next(p);
		return name;
	}
	dsl_fail(p, "E_SYNTAX", arena_printf(p->r->a, "expected %s", what),
		"a name is letters, digits and '_', and does not begin with a digit");
	return "";
}

int dsl_which(const struct dsl_parser *p, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (p->now.kind == TOKEN_IDENT && names[i] && text_eq(names[i], p->now.text))
			return (int)i;
	return -1;
}

static bool is_start(const struct dsl_parser *p)
{
	return dsl_is(p, "rule") || dsl_is(p, "template") || dsl_is(p, "module");
}

/* Behind an error: where the next rule, template or module seems to begin. */
static void recover(struct dsl_parser *p)
{
	do {
		dsl_next(p);
	} while (p->now.kind != TOKEN_END && !is_start(p));
	p->has_failed = false;
}

static bool has_template(const struct dsl_module *m, const char *name)
{
	for (const struct dsl_template *t = m->templates; t; t = t->next)
		if (text_eq(t->name, name))
			return true;
	return false;
}

static void parse_template(struct dsl_parser *p, struct dsl_module *m)
{
	struct dsl_template *t = arena_zalloc(p->r->a, 1, sizeof *t), **end = &m->templates;

	dsl_next(p);
	t->mark = p->now.mark;
	if (++m->template_count > DSL_MAX_TEMPLATES) {
		dsl_fail(p, "E_LIMIT_TEMPLATES", "a module has at most 256 templates",
			"join templates, or move some to another module");
		return;
	}
	if (p->now.kind == TOKEN_IDENT && has_template(m, p->now.text)) {
		dsl_fail(p, "E_DUP_TEMPLATE", "this module has a template of that name already",
			"give one of them another name");
		return;
	}
	t->name = dsl_ident(p, "the name of the template");
	t->ops = dsl_parse_ops(p);
	if (p->has_failed)
		return;
	while (*end)
		end = &(*end)->next;
	*end = t;
}

static bool has_rule(const struct dsl_module *m, const char *name)
{
	for (const struct dsl_rule *r = m->rules; r; r = r->next)
		if (text_eq(r->name, name))
			return true;
	return false;
}

/* A rule with an error in it is kept as a name, so that a second one of that name is found. */
static void add_rule(struct dsl_parser *p, struct dsl_module *m, struct dsl_rule *rule)
{
	rule->is_bad = p->has_failed;
	if (!rule->name[0])
		return;
	if (has_rule(m, rule->name)) {
		if (!rule->is_bad)
			dsl_problem(p->r, rule->mark, "E_DUP_RULE",
				"this module has a rule of that name already",
				"give one of them another name");
		return;
	}
	if (++m->rule_count > DSL_MAX_RULES) {
		if (m->rule_count == DSL_MAX_RULES + 1)
			dsl_problem(p->r, rule->mark, "E_LIMIT_RULES", "a module has at most 256 rules",
				"join rules, or move some to another module");
		return;
	}
	rule->next = m->rules;
	m->rules = rule;
}

static void parse_header(struct dsl_parser *p, struct dsl_policy *policy)
{
	dsl_next(p);
	policy->name = dsl_ident(p, "the name of the bundle");
	dsl_expect(p, "{", "after the name of the bundle");
	dsl_expect(p, "cpi", "in the header of a bundle");
	dsl_expect(p, ":", "after 'cpi'");
	if (!p->has_failed && p->now.kind != TOKEN_HASH)
		dsl_fail(p, "E_SYNTAX", "expected a hash",
			"a hash is sha256: and 64 lower-case hexadecimal digits");
	policy->cpi = p->now.text;
	if (!p->has_failed)
		dsl_next(p);
	dsl_expect(p, "}", "at the end of the header");
	if (p->has_failed)
		recover(p);
}

/* What follows `module`: its name and its brace; NULL when it cannot be used. */
static struct dsl_module *begin_module(struct dsl_parser *p, struct dsl_policy *policy, int *ret_which)
{
	struct dsl_module *m = NULL;

	dsl_next(p);
	*ret_which = dsl_which(p, dsl_module_names, MODULES);
	if (p->now.kind == TOKEN_IDENT && *ret_which < 0)
		dsl_fail(p, "E_MODULE", "there is no such module",
			"modules are jurisdiction, licenses, treasury, authority, data, tools, risk, contracts, simulation and merge");
	else if (*ret_which >= 0)
		m = &policy->modules[*ret_which];
	if (m && m->is_there) {
		dsl_fail(p, "E_DUP_MODULE", "this module stands in the text already",
			"put its rules into the first one");
		return NULL;
	}
	(void)dsl_ident(p, "the name of a module");
	dsl_expect(p, "{", "after the name of the module");
	if (!p->has_failed)
		m->is_there = true;
	return p->has_failed ? NULL : m;
}

static void parse_module(struct dsl_parser *p, struct dsl_policy *policy)
{
	int which;
	struct dsl_module *m = begin_module(p, policy, &which);
	bool is_empty = true;

	if (!m) {
		/* The rules inside belong to no module; they are passed over. */
		do {
			recover(p);
		} while (p->now.kind != TOKEN_END && !dsl_is(p, "module"));
		return;
	}
	while (!dsl_is(p, "}") || is_empty) {
		is_empty = false;
		if (dsl_is(p, "rule"))
			add_rule(p, m, dsl_parse_rule(p, which));
		else if (dsl_is(p, "template"))
			parse_template(p, m);
		else
			dsl_fail(p, "E_SYNTAX", "expected a rule, a template or the end of the module",
				"a module is { and one or more rules and templates and }");
		if (!p->has_failed && (p->now.kind == TOKEN_END || dsl_is(p, "module"))) {
			dsl_fail(p, "E_SYNTAX", "expected '}' at the end of the module", "write '}' here");
			p->has_failed = false;
			return;
		}
		if (!p->has_failed)
			continue;
		recover(p);
		if (p->now.kind == TOKEN_END || dsl_is(p, "module"))
			return; /* the brace that closes the module was passed over */
	}
	dsl_next(p);
}

void dsl_parse(struct dsl_reading *r, struct dsl_policy *policy)
{
	struct dsl_parser p = { .r = r, .lexer = { .r = r, .line = 1, .is_line_new = true } };

	dsl_next(&p);
	if (dsl_is(&p, "bundle"))
		parse_header(&p, policy);
	if (p.now.kind == TOKEN_END)
		dsl_fail(&p, "E_SYNTAX", "expected a module; there is none in this text",
			"a policy has one module or more: module data { rule ... }");
	while (p.now.kind != TOKEN_END) {
		if (dsl_is(&p, "module"))
			parse_module(&p, policy);
		else
			dsl_fail(&p, "E_SYNTAX", "expected a module",
				"outside of modules there is only the header, bundle NAME { cpi: HASH }, at the top");
		if (p.has_failed)
			recover(&p);
	}
}
