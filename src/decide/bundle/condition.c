/* condition.c — the condition language of compliance reference packs, into the expression language.
 *
 *     cond  = conj ("OR" conj)*      conj = atom ("AND" atom)*
 *     atom  = "true" | ident | ident op operand | ident ["NOT"] "IN" set
 *     op    = == != < <= > >=        operand = WORD | 'text' | number | true | false
 *     set   = "[" WORD ("," WORD)* "]" | ident
 *
 * A bare word on the right is a symbol, compared as text.  Three variables are ordered symbols; a value outside of their order is an error, and so denies.  A decimal is
 * counted in thousandths (trust_score < 0.7 is 700 of 1000): there are no fractions in the expression language. */
#include "decide/bundle/parts.h"

#include <string.h>

enum { LONGEST = 4096, MOST_ATOMS = 64 };

struct scan {
	struct arena *a;
	const char *text, *p;
	struct condition *ret;
	struct buf out;
	bool is_lenient; /* a missing variable makes its atom true: for rules that ask */
	struct err *e;
};

/* Symbols in their order. */
static const struct order {
	const char *variable;
	const char *symbols[6]; /* NULL at the end */
} orders[] = {
	{ "privilege_tier", { "RESTRICTED", "STANDARD", "ELEVATED", "SYSTEM" } },
	{ "risk_level", { "LOW", "MEDIUM", "HIGH", "CRITICAL" } },
	{ "temporal_response_level", { "OBSERVE", "THROTTLE", "INTERRUPT", "QUARANTINE", "FAIL_CLOSED" } },
};

/* What the engine itself knows under another name. */
static const char *const supplied[][2] = { { "effect_type", "input.effect.type" },
	{ "principal", "input.principal" } };

static int refuse(struct scan *s, const char *wanted)
{
	size_t n = strcspn(s->p, " \t");

	return err_set(s->e, E_INPUT, "CONDITION", "1:%zu: expected %s, found %s%s%s",
		(size_t)(s->p - s->text) + 1, wanted, *s->p ? "'" : "the end",
		*s->p ? text_safe(s->a, s->p, n < 40 ? n : 40, false) : "", *s->p ? "'" : "");
}

static void skip(struct scan *s)
{
	s->p += strspn(s->p, " \t");
}

static bool is_name(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* The word at hand, or "" when there is none. */
static const char *peek(const struct scan *s)
{
	size_t n = 0;

	while (is_name(s->p[n]))
		n++;
	return arena_strndup(s->a, s->p, n);
}

static bool accept_word(struct scan *s, const char *word)
{
	if (!text_eq(peek(s), word))
		return false;
	s->p += strlen(word);
	skip(s);
	return true;
}

static bool accept_char(struct scan *s, char c)
{
	if (*s->p != c)
		return false;
	s->p++;
	skip(s);
	return true;
}

/* A variable as an expression reads it, and on the list of those that are read. */
static const char *variable(struct scan *s, const char *name, bool is_set)
{
	size_t i = 0;

	while (i < s->ret->n && !text_eq(s->ret->variables[i].name, name))
		i++;
	if (i == s->ret->n)
		s->ret->variables[s->ret->n++] = (struct condition_variable){ name, is_set };
	for (size_t k = 0; k < ARRAY_SIZE(supplied); k++)
		if (text_eq(name, supplied[k][0]))
			return supplied[k][1];
	return arena_printf(s->a, "facts.%s", name);
}

/* A name that is no keyword. */
static int read_name(struct scan *s, const char **ret)
{
	const char *word = peek(s);
	static const char *const keywords[] = { "AND", "OR", "NOT", "IN" };

	for (size_t i = 0; i < ARRAY_SIZE(keywords); i++)
		if (text_eq(word, keywords[i]))
			return refuse(s, "a name");
	if (*word <= '9') /* a digit, or nothing */
		return refuse(s, "a name");
	s->p += strlen(word);
	skip(s);
	*ret = word;
	return OK;
}

/* ---- atoms ---- */

/* A number: an integer, or up to three digits behind the point, in thousandths. */
static int read_number(struct scan *s, const char **ret)
{
	size_t minus = *s->p == '-', whole = strspn(s->p + minus, "0123456789");
	const char *start = s->p;
	int64_t value = 0;

	if (whole == 0 || whole > 12)
		return refuse(s, "a number of at most 12 digits");
	s->p += minus + whole;
	const char *number = arena_strndup(s->a, start, minus + whole);
	if (*s->p == '.') {
		size_t digits = strspn(s->p + 1, "0123456789");
		if (digits == 0 || digits > 3)
			return refuse(s, "at most three digits behind the point");
		number = arena_printf(
			s->a, "%s%.*s%.*s", number, (int)digits, s->p + 1, (int)(3 - digits), "000");
		s->p += 1 + digits;
	}
	(void)text_int(number, &value); /* at most 15 digits */
	if (is_name(*s->p))
		return refuse(s, "a number");
	skip(s);
	*ret = arena_printf(s->a, "%lld", (long long)value);
	return OK;
}

static const char *quoted(struct scan *s, const char *text, size_t n)
{
	struct buf b;

	buf_init(&b, s->a);
	json_write(&b, json_stringn(s->a, text, n), 0);
	return b.p;
}

static int read_operand(struct scan *s, const char **ret)
{
	const char *word;

	if (*s->p == '\'') {
		const char *end = strchr(s->p + 1, '\'');
		if (!end)
			return refuse(s, "the closing '");
		*ret = quoted(s, s->p + 1, (size_t)(end - s->p - 1));
		s->p = end + 1;
		skip(s);
		return OK;
	}
	if ((*s->p >= '0' && *s->p <= '9') || *s->p == '-')
		return read_number(s, ret);
	if (read_name(s, &word))
		return s->e->rc;
	*ret = text_eq(word, "true") || text_eq(word, "false") ? word : quoted(s, word, strlen(word));
	return OK;
}

static const struct order *order_of(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(orders); i++)
		if (text_eq(name, orders[i].variable))
			return &orders[i];
	return NULL;
}

/* {"LOW": 0, ...}[x] < 2: a symbol that is not in the order is an error of the evaluation. */
static int add_ordered(struct scan *s, const struct order *o, const char *read, const char *op,
	const char *operand, struct buf *to)
{
	size_t place = ARRAY_SIZE(o->symbols), n = strlen(operand);

	buf_adds(to, "{");
	for (size_t i = 0; o->symbols[i]; i++) {
		buf_addf(to, "%s\"%s\": %zu", i ? ", " : "", o->symbols[i], i);
		if (n == strlen(o->symbols[i]) + 2 && memcmp(operand + 1, o->symbols[i], n - 2) == 0)
			place = i;
	}
	if (place == ARRAY_SIZE(o->symbols))
		return err_set(s->e, E_INPUT, "CONDITION", "1:%zu: %s is no value of %s",
			(size_t)(s->p - s->text) + 1, operand, o->variable);
	buf_addf(to, "}[%s] %s %zu", read, op, place);
	return OK;
}

static int add_comparison(struct scan *s, const char *name, const char *op, struct buf *to)
{
	const char *operand, *read = variable(s, name, false);
	const struct order *order = order_of(name);

	if (read_operand(s, &operand))
		return s->e->rc;
	if (order)
		return add_ordered(s, order, read, op, operand, to);
	if (*operand == '"' && op[0] != '=' && op[0] != '!')
		return err_set(s->e, E_INPUT, "CONDITION",
			"1:%zu: %s has no order: '%s' compares numbers and ranked symbols",
			(size_t)(s->p - s->text) + 1, operand, op);
	buf_addf(to, "%s %s %s", read, op, operand);
	return OK;
}

static int add_membership(struct scan *s, const char *name, bool is_not, struct buf *to)
{
	const char *word, *read = variable(s, name, false);
	struct buf set;

	buf_init(&set, s->a);
	if (accept_char(s, '[')) {
		do {
			if (read_name(s, &word))
				return s->e->rc;
			buf_addf(&set, "%s%s", set.n ? ", " : "", quoted(s, word, strlen(word)));
		} while (accept_char(s, ','));
		if (!accept_char(s, ']'))
			return refuse(s, "',' or ']'");
		buf_addf(to, "%s(%s in [%s])", is_not ? "!" : "", read, set.p);
		return OK;
	}
	if (read_name(s, &word))
		return s->e->rc;
	buf_addf(to, "%s(%s in %s)", is_not ? "!" : "", read, variable(s, word, true));
	return OK;
}

/* `== ` and the like at hand; NULL when there is none. */
static const char *accept_operator(struct scan *s)
{
	static const char *const operators[] = { "==", "!=", "<=", ">=", "<", ">" };

	for (size_t i = 0; i < ARRAY_SIZE(operators); i++) {
		if (text_starts(s->p, operators[i])) {
			s->p += strlen(operators[i]);
			skip(s);
			return operators[i];
		}
	}
	return NULL;
}

static int read_atom(struct scan *s)
{
	const char *name, *op;
	size_t before = s->ret->n;
	struct buf atom;

	if (accept_word(s, "true")) {
		buf_adds(&s->out, "true");
		return OK;
	}
	if (before + 2 > MOST_ATOMS)
		return refuse(s, "fewer variables");
	if (read_name(s, &name))
		return s->e->rc;
	buf_init(&atom, s->a);
	op = accept_operator(s);
	int rc = OK;
	if (op)
		rc = add_comparison(s, name, op, &atom);
	else if (accept_word(s, "NOT"))
		rc = accept_word(s, "IN") ? add_membership(s, name, true, &atom) : refuse(s, "IN");
	else if (accept_word(s, "IN"))
		rc = add_membership(s, name, false, &atom);
	else
		buf_adds(&atom, variable(s, name, false));
	if (rc)
		return rc;
	buf_addf(&s->out, s->is_lenient ? "(!has(%s) || %s)" : "%.0s%s", variable(s, name, false), atom.p);
	return OK;
}

/* AND binds closer than OR. */
static int read_condition(struct scan *s)
{
	do {
		if (s->out.n)
			buf_adds(&s->out, " || ");
		buf_adds(&s->out, "(");
		if (read_atom(s))
			return s->e->rc;
		while (accept_word(s, "AND")) {
			buf_adds(&s->out, " && ");
			if (read_atom(s))
				return s->e->rc;
		}
		buf_adds(&s->out, ")");
	} while (accept_word(s, "OR"));
	return *s->p ? refuse(s, "AND, OR or the end") : OK;
}

int condition_compile(
	struct arena *a, const char *text, bool is_lenient, struct condition *ret, struct err *e)
{
	struct condition made = { .variables = arena_zalloc(a, MOST_ATOMS, sizeof(*made.variables)) };
	struct scan s = { .a = a, .text = text, .p = text, .ret = &made, .is_lenient = is_lenient, .e = e };

	if (strlen(text) > LONGEST)
		return err_set(e, E_LIMIT, "CONDITION", "the condition has more than %d bytes", LONGEST);
	buf_init(&s.out, a);
	skip(&s);
	if (read_condition(&s))
		return s.e->rc;
	made.expression = s.out.p;
	*ret = made;
	return OK;
}
