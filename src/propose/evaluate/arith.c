/* arith.c — the shell's arithmetic on what is known: C's operators over 64-bit integers, and variables.
 *
 * Used for $((...)), ((...)), let, array indices and slices. Only constants matter here: a result is
 * worth having when it turns an index or a path into something certain. So everything odd (a name whose
 * value is not a number, an array element, a division by zero, too deep nesting) sets is_wrong, and the
 * caller treats the whole expression as not known. A text with markers must not come here; callers test
 * that first.
 *
 * The parser is a recursive descent with precedence climbing for the binary operators. Assignments
 * inside the expression are made at once, as the shell does. */
#include "propose/evaluate/evaluate.h"

#include <errno.h>

/* One expression being read. is_wrong is never taken back; all loops and recursions end once it is set. */
struct expression {
	struct walk *w;
	const char *p;
	bool is_wrong;
	uint32_t depth;
};

static int64_t parse_assignment(struct expression *e);
static int64_t parse_commas(struct expression *e);

static void blanks(struct expression *e)
{
	while (*e->p == ' ' || *e->p == '\t' || *e->p == '\n')
		e->p++;
}

static bool is_alpha(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_number(char c)
{
	return c >= '0' && c <= '9';
}

/* The value of a digit in any base up to 36; 99, which is no digit in any of them, for other bytes. */
static int digit_value(char c)
{
	if (is_number(c))
		return c - '0';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'Z' ? c - 'A' + 10 : 99;
}

/* Decimal, 0x..., 0... (octal) and BASE#digits. Overflow wraps around, as in the shell. A letter or
 * digit left behind the number makes the expression wrong: 08 is an error in the shell too. */
static int64_t parse_number(struct expression *e)
{
	uint64_t value = 0, base = 10;
	const char *start = e->p;

	if (e->p[0] == '0' && (e->p[1] | 0x20) == 'x') {
		base = 16;
		e->p += 2;
	} else if (e->p[0] == '0') {
		base = 8;
	}
	for (;; e->p++) {
		if (*e->p == '#' && base == 10 && e->p > start && value >= 2 && value <= 36) {
			base = value;
			value = 0;
			continue;
		}
		int digit = digit_value(*e->p);
		if ((uint64_t)digit >= base)
			break;
		value = value * base + (uint64_t)digit;
	}
	e->is_wrong |= is_alpha(*e->p) || is_number(*e->p);
	return (int64_t)value;
}

/* The value of a variable. Unset and empty are 0, as in the shell. More than one possible value, or a
 * text that is no plain number (the shell would evaluate that text again), is not known. */
static int64_t variable(struct expression *e, const char *name, size_t n)
{
	const struct value *v = scope_variable(e->w, name, n);
	int64_t value = 0;

	if (v->n == 0 || (v->n == 1 && !*v->items[0]))
		return 0;
	if (v->n != 1 || !text_int(v->items[0], &value))
		e->is_wrong = true;
	return value;
}

/* When the value is not known the variable still changes: it then holds some text that is not empty (the
 * marker \2). */
static void assign(struct expression *e, const char *name, size_t n, int64_t value)
{
	const char *text = e->is_wrong ? "\2" : arena_printf(e->w->a, "%lld", (long long)value);

	scope_set_variable(e->w, name, n, value_text(e->w, text));
}

/* One binary operator. Sums, products and shifts are made on unsigned numbers, where overflow is
 * defined; a division that would trap is wrong. */
static int64_t compute(struct expression *e, char op, char op2, int64_t x, int64_t y)
{
	uint64_t ux = (uint64_t)x, uy = (uint64_t)y;

	switch (op) {
	case '+':
		return (int64_t)(ux + uy);
	case '-':
		return (int64_t)(ux - uy);
	case '*':
		if (op2 == '*') {
			uint64_t power = 1;
			e->is_wrong |= y < 0 || y > 64;
			for (int64_t i = 0; !e->is_wrong && i < y; i++)
				power *= ux;
			return (int64_t)power;
		}
		return (int64_t)(ux * uy);
	case '/':
	case '%':
		if (y == 0 || (y == -1 && x == INT64_MIN)) {
			e->is_wrong = true;
			return 0;
		}
		return op == '/' ? x / y : x % y;
	case '<':
		return op2 == '<' ? (int64_t)(ux << (uy & 63)) : op2 == '=' ? x <= y : x < y;
	case '>':
		return op2 == '>' ? x >> (uy & 63) : op2 == '=' ? x >= y : x > y;
	case '=':
		return x == y;
	case '!':
		return x != y;
	case '&':
		return op2 == '&' ? x && y : x & y;
	case '|':
		return op2 == '|' ? x || y : x | y;
	default:
		return x ^ y;
	}
}

/* A variable, with whatever may follow it: ++ and --, an assignment, or an operator with "=" behind it. */
static int64_t parse_name(struct expression *e)
{
	const char *name = e->p;

	while (is_alpha(*e->p) || is_number(*e->p))
		e->p++;
	size_t n = (size_t)(e->p - name);
	blanks(e);
	if (*e->p == '[') { /* an element: not followed */
		e->is_wrong = true;
		return 0;
	}
	if ((e->p[0] == '+' && e->p[1] == '+') || (e->p[0] == '-' && e->p[1] == '-')) {
		int64_t before = variable(e, name, n);
		assign(e, name, n,
			*e->p == '+' ? before + (before < INT64_MAX) : before - (before > INT64_MIN));
		e->p += 2;
		return before;
	}
	if (e->p[0] == '=' && e->p[1] != '=') {
		e->p++;
		int64_t value = parse_assignment(e);
		assign(e, name, n, value);
		return value;
	}
	/* <= and >= compare; only <<= and >>= assign. */
	size_t op_n = (e->p[0] == '<' && e->p[1] == '<') || (e->p[0] == '>' && e->p[1] == '>') ? 2 : 1;
	if (*e->p && strchr("+-*/%&|^<>", *e->p) && e->p[op_n] == '=' &&
		(op_n == 2 || (*e->p != '<' && *e->p != '>'))) {
		char op = e->p[0], op2 = op_n == 2 ? e->p[1] : '\0';
		e->p += op_n + 1;
		int64_t before = variable(e, name, n);
		int64_t value = compute(e, op, op2, before, parse_assignment(e));
		assign(e, name, n, value);
		return value;
	}
	return variable(e, name, n);
}

/* A sign or another unary operator, a parenthesis, ++x and --x, a number or a name. The depth is counted
 * here and in parse_binary(), the two places through which every recursion goes. */
static int64_t parse_unary(struct expression *e)
{
	int64_t value = 0;

	blanks(e);
	if (++e->depth > SHELL_MAX_NESTING)
		e->is_wrong = true;
	if (e->is_wrong) {
		e->depth--;
		return 0;
	}
	char c = *e->p;
	if (c && strchr("+-!~", c) && !(c == e->p[1] && (c == '+' || c == '-'))) {
		e->p++;
		value = parse_unary(e);
		value = c == '-'   ? (int64_t)(0 - (uint64_t)value)
			: c == '!' ? !value
			: c == '~' ? ~value
				   : value;
	} else if (c == '(') {
		e->p++;
		value = parse_commas(e);
		blanks(e);
		e->is_wrong |= *e->p != ')';
		e->p += *e->p == ')';
	} else if ((c == '+' || c == '-') && c == e->p[1]) {
		e->p += 2;
		blanks(e);
		const char *name = e->p;
		while (is_alpha(*e->p) || is_number(*e->p))
			e->p++;
		value = variable(e, name, (size_t)(e->p - name)) + (c == '+' ? 1 : -1);
		assign(e, name, (size_t)(e->p - name), value);
	} else if (is_number(c)) {
		value = parse_number(e);
	} else if (is_alpha(c)) {
		value = parse_name(e);
	} else {
		e->is_wrong = true;
	}
	e->depth--;
	return value;
}

/* How strongly the operator at p binds, and its length; 0 when there is none. Operators of two bytes
 * stand first in the table, so that "<<" is not read as "<". */
static int binds(const char *p, size_t *ret_n)
{
	static const struct {
		const char op[3];
		int level;
	} ops[] = { { "**", 12 }, { "<<", 9 }, { ">>", 9 }, { "<=", 8 }, { ">=", 8 }, { "==", 7 },
		{ "!=", 7 }, { "&&", 3 }, { "||", 2 }, { "*", 11 }, { "/", 11 }, { "%", 11 }, { "+", 10 },
		{ "-", 10 }, { "<", 8 }, { ">", 8 }, { "&", 6 }, { "^", 5 }, { "|", 4 } };

	for (size_t i = 0; i < ARRAY_SIZE(ops); i++) {
		size_t n = strlen(ops[i].op);
		if (strncmp(p, ops[i].op, n) == 0) {
			*ret_n = n;
			return ops[i].level;
		}
	}
	return 0;
}

/* Precedence climbing: takes operators that bind at least as strongly as `least`. The right side must
 * bind more strongly than the operator, so all operators associate to the left. */
static int64_t parse_binary(struct expression *e, int least)
{
	int64_t x = parse_unary(e);

	for (;;) {
		size_t n = 0;
		blanks(e);
		int level = binds(e->p, &n);
		if (level == 0 || level < least || e->is_wrong)
			return x;
		char op = e->p[0], op2 = n == 2 ? e->p[1] : '\0';
		e->p += n;
		if (++e->depth > SHELL_MAX_NESTING)
			e->is_wrong = true;
		int64_t y = e->is_wrong ? 0 : parse_binary(e, level + 1);
		e->depth--;
		x = compute(e, op, op2, x, y);
	}
}

/* A binary expression, or one with ?: behind it. Both arms of ?: are evaluated, and assignments in both
 * are made. */
static int64_t parse_assignment(struct expression *e)
{
	int64_t x = parse_binary(e, 1);

	blanks(e);
	if (*e->p == '?' && !e->is_wrong && ++e->depth <= SHELL_MAX_NESTING) {
		e->p++;
		int64_t yes = parse_assignment(e);
		blanks(e);
		e->is_wrong |= *e->p != ':';
		e->p += *e->p == ':';
		int64_t no = parse_assignment(e);
		x = x ? yes : no;
		e->depth--;
	}
	return x;
}

static int64_t parse_commas(struct expression *e)
{
	int64_t x = parse_assignment(e);

	for (blanks(e); *e->p == ',' && !e->is_wrong; blanks(e)) {
		e->p++;
		x = parse_assignment(e);
	}
	return x;
}

/* An empty expression is 0, as in the shell. Text left behind the expression makes it unknown. */
bool arith_eval(struct walk *w, const char *text, int64_t *ret)
{
	struct expression e = { .w = w, .p = text };

	blanks(&e);
	int64_t value = *e.p ? parse_commas(&e) : 0;
	blanks(&e);
	if (e.is_wrong || *e.p)
		return false;
	*ret = value;
	return true;
}
