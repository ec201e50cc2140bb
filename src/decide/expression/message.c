/* message.c — errors for people: where, which word, what is wrong and what to do. */
#include "decide/expression/parts.h"

#include <stdio.h>
#include <string.h>

/* Line and column of an offset, both from 1; columns count characters. */
static void find_place(struct bytes text, uint32_t at, unsigned *ret_line, unsigned *ret_column)
{
	unsigned line = 1, column = 1;

	for (uint32_t i = 0; i < at; i++) {
		column += (text.p[i] & 0xc0) != 0x80;
		if (text.p[i] == '\n') {
			line++;
			column = 1;
		}
	}
	*ret_line = line;
	*ret_column = column;
}

const char *message_word(struct arena *a, const struct expression *x, struct word w)
{
	return text_safe(a, (const char *)x->text.p + w.at, w.n < 48 ? w.n : 48, false);
}

int message_set(struct err *e, const struct expression *x, enum rc rc, const char *code, struct word at,
	const char *fmt, ...)
{
	char what[400];
	unsigned line, column;
	va_list args;

	find_place(x->text, at.at, &line, &column);
	va_start(args, fmt);
	(void)vsnprintf(what, sizeof(what), fmt, args);
	va_end(args);
	return err_set(e, rc, code, "%s:%u:%u: %s", x->name, line, column, what);
}

/* "int", "string or list", "anything". */
static const char *kinds_text(struct arena *a, unsigned kinds)
{
	static const char *const names[] = { "null", "bool", "int", "string", "list", "map" };
	struct buf b;

	if (kinds == KIND_ANY)
		return "what it is";
	buf_init(&b, a);
	for (unsigned i = 0; i < ARRAY_SIZE(names); i++) {
		if (!(kinds & 1u << i))
			continue;
		kinds &= ~(1u << i);
		buf_adds(&b, b.n == 0 ? "" : kinds ? ", " : " or ");
		buf_adds(&b, names[i]);
	}
	return b.p;
}

static int fail_kind(struct err *e, const struct expression *x, const struct value *v)
{
	AUTO(arena_done) struct arena a = { 0 };
	const char *word = message_word(&a, x, v->blame), *left = kinds_text(&a, v->left);

	if (!v->right)
		return message_set(e, x, E_INPUT, "EXPRESSION_KIND", v->blame,
			"'%s' cannot be done with a value that is %s; compare or convert it first", word,
			left);
	return message_set(e, x, E_INPUT, "EXPRESSION_KIND", v->blame,
		"'%s' cannot be done with %s on the left and %s on the right; both must be of a kind that it knows",
		word, left, kinds_text(&a, v->right));
}

static int fail_function(struct err *e, const struct expression *x, const struct value *v)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct bytes name = { x->text.p + v->blame.at, v->blame.n };
	const char *near = function_nearest(&a, name);

	return message_set(e, x, E_INPUT, "EXPRESSION_KIND", v->blame,
		"there is no function '%s' with these arguments; %s%s%s", message_word(&a, x, v->blame),
		near ? "did you mean '"
		     : "there are size, startsWith, endsWith, contains, matches, has, all, exists",
		near ? near : ", exists_one, map, filter and taint_contains", near ? "'?" : "");
}

/* The other failures: one sentence each, around the word. */
static const char *const sentences[] = {
	[FAIL_VARIABLE] = "no variable '%s' is given; name one that the input has",
	[FAIL_MEMBER] = "there is no member '%s'; ask has(...) first, when it may be missing",
	[FAIL_KEY] = "the map has no such key at '%s'; ask 'key in map' first, when it may be missing",
	[FAIL_INDEX] = "the index at '%s' is outside of the list; ask size(...) first",
	[FAIL_OVERFLOW] = "the result of '%s' does not fit 64 bits; use smaller numbers",
	[FAIL_ZERO] = "'%s' by zero; compare the divisor with 0 first",
	[FAIL_DUPLICATE] = "the map has the key at '%s' already; each key stands once",
	[FAIL_NUMBER] =
		"the value of '%s' is a number but no whole one of 64 bits; give it as such or as a string",
	[FAIL_PATTERN] =
		"the pattern given to '%s' is no regular expression, or too large; write one of the RE2 syntax",
	[FAIL_NOT_JSON] =
		"the value of '%s' has a map with keys that are no strings, and JSON has no such; use strings",
	[FAIL_NOT_BOOL] =
		"a requirement must be true or false, and '%s' is neither; compare it with something",
};
TABLE_COVERS(sentences, FAIL_COUNT);

int message_fail(struct err *e, const struct expression *x, const struct value *v)
{
	AUTO(arena_done) struct arena a = { 0 };
	char what[400];

	if (v->why == FAIL_COST)
		return message_set(e, x, E_LIMIT, "EXPRESSION_COST", v->blame,
			"given up after %d steps; go through shorter lists, or match shorter texts",
			EXPRESSION_COST);
	if (v->why == FAIL_KIND)
		return fail_kind(e, x, v);
	if (v->why == FAIL_FUNCTION)
		return fail_function(e, x, v);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	(void)snprintf(what, sizeof(what), sentences[v->why], message_word(&a, x, v->blame));
#pragma GCC diagnostic pop
	return message_set(e, x, E_INPUT, "EXPRESSION_VALUE", v->blame, "%s", what);
}
