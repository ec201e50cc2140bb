/* lex.c — the words of an expression: names, numbers, strings, operators.
 *
 * A word that is no part of the language but is one of CEL's (1.5, 1u, b"") has a message of its own that says so, because whoever
 * wrote it knows CEL and would look for the mistake elsewhere. */
#include "decide/expression/parts.h"

#include <string.h>

struct lexer {
	struct arena *a;
	const char *p, *end, *text;
	struct token t;
};

static struct token finish(struct lexer *l, int type)
{
	l->t.type = type;
	l->t.word.n = (uint32_t)(l->p - l->text) - l->t.word.at;
	return l->t;
}

static struct token bad(struct lexer *l, const char *why)
{
	l->t.why = why;
	return finish(l, TOKEN_BAD);
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_name_start(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_name(char c)
{
	return is_name_start(c) || is_digit(c);
}

/* 0..15, or 16 for what is no digit. */
static unsigned digit_value(char c)
{
	if (is_digit(c))
		return (unsigned)(c - '0');
	c = (char)(c | 32);
	return c >= 'a' && c <= 'f' ? (unsigned)(c - 'a' + 10) : 16;
}

/* The byte at an offset from here; NUL behind the end. */
static char peek(const struct lexer *l, size_t i)
{
	return (size_t)(l->end - l->p) > i ? l->p[i] : '\0';
}

/* Spaces and comments. */
static void skip_space(struct lexer *l)
{
	for (;;) {
		while (peek(l, 0) && strchr(" \t\r\n\f", peek(l, 0)))
			l->p++;
		if (peek(l, 0) != '/' || peek(l, 1) != '/')
			return;
		while (l->p < l->end && *l->p != '\n')
			l->p++;
	}
}

static const char *const reserved[] = { "as", "break", "const", "continue", "else", "for", "function", "if",
	"import", "let", "loop", "package", "namespace", "return", "var", "void", "while" };

static struct token lex_name(struct lexer *l)
{
	static const struct {
		const char *text;
		int type;
	} words[] = { { "true", TOKEN_TRUE }, { "false", TOKEN_FALSE }, { "null", TOKEN_NULL },
		{ "in", TOKEN_IN } };
	const char *start = l->p;

	while (is_name(peek(l, 0)))
		l->p++;
	l->t.text = (struct bytes){ (const uint8_t *)start, (size_t)(l->p - start) };
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (bytes_is(l->t.text, words[i].text))
			return finish(l, words[i].type);
	for (size_t i = 0; i < ARRAY_SIZE(reserved); i++)
		if (bytes_is(l->t.text, reserved[i]))
			return finish(l, TOKEN_RESERVED);
	return finish(l, TOKEN_NAME);
}

/* Member names that are no plain names. */
static struct token lex_quoted_name(struct lexer *l)
{
	const char *start = ++l->p;

	while (is_name(peek(l, 0)) || (peek(l, 0) && strchr("-./ ", peek(l, 0))))
		l->p++;
	l->t.text = (struct bytes){ (const uint8_t *)start, (size_t)(l->p - start) };
	if (l->t.text.n == 0 || peek(l, 0) != '`')
		return bad(l,
			"between backquotes stand letters, digits and _ - . / only; any other key is written [\"key\"]");
	l->p++;
	return finish(l, TOKEN_QUOTED_NAME);
}

/* Digits of a base; false when they do not fit 64 bits. */
static bool read_number(struct lexer *l, unsigned base)
{
	bool is_good = true;

	for (; digit_value(peek(l, 0)) < base; l->p++)
		if (__builtin_mul_overflow(l->t.number, base, &l->t.number) ||
			__builtin_add_overflow(l->t.number, digit_value(*l->p), &l->t.number))
			is_good = false;
	return is_good;
}

/* The whole of it is the word that is to blame. */
static struct token bad_fraction(struct lexer *l)
{
	while (is_name(peek(l, 0)) || peek(l, 0) == '.')
		l->p++;
	return bad(l,
		"numbers with a fraction or an exponent are no part of this language; use whole numbers of a smaller unit");
}

static struct token lex_number(struct lexer *l)
{
	bool is_hex = peek(l, 0) == '0' && (peek(l, 1) | 32) == 'x';

	l->p += is_hex ? 2 : 0;
	const char *digits = l->p;
	bool is_good = read_number(l, is_hex ? 16 : 10);
	if ((peek(l, 0) == '.' && is_digit(peek(l, 1))) || (!is_hex && (peek(l, 0) | 32) == 'e'))
		return bad_fraction(l);
	if ((peek(l, 0) | 32) == 'u' && !is_name(peek(l, 1)))
		return bad(l, "unsigned numbers are no part of this language; leave out the 'u'");
	if (is_name(peek(l, 0)))
		return bad(l, "a number ends with a digit");
	if (l->p == digits)
		return bad(l, "digits are missing behind 0x");
	if (!is_good || l->t.number > (uint64_t)INT64_MAX + 1)
		return bad(l, "a number has at most 64 bits, one of them its sign");
	return finish(l, TOKEN_INT);
}

/* ---- strings ---- */

static bool read_code_point(struct lexer *l, unsigned base, size_t digits, struct buf *to)
{
	uint32_t cp = 0;
	char utf8[4];

	for (size_t i = 0; i < digits; i++) {
		unsigned d = digit_value(peek(l, 0));
		if (d >= base || cp > 0x10ffff)
			return false;
		cp = cp * base + d;
		l->p++;
	}
	if (cp > 0x10ffff || (cp >= 0xd800 && cp <= 0xdfff) || (base == 8 && cp > 255))
		return false;
	buf_add(to, utf8, text_encode(cp, utf8));
	return true;
}

/* Behind a backslash. */
static bool read_escape(struct lexer *l, struct buf *to)
{
	static const char letters[] = "abfnrtv\\?\"'`", meant[] = "\a\b\f\n\r\t\v\\?\"'`";
	const char *found = peek(l, 0) ? strchr(letters, peek(l, 0)) : NULL;

	if (found) {
		buf_addc(to, meant[found - letters]);
		l->p++;
		return true;
	}
	if (is_digit(peek(l, 0)))
		return read_code_point(l, 8, 3, to);
	switch (*l->p++) {
	case 'x':
	case 'X':
		return read_code_point(l, 16, 2, to);
	case 'u':
		return read_code_point(l, 16, 4, to);
	case 'U':
		return read_code_point(l, 16, 8, to);
	}
	return false;
}

/* The quotes that end it: one, or three of the same. */
static bool at_quotes(const struct lexer *l, char quote, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (peek(l, i) != quote)
			return false;
	return true;
}

static struct token lex_string(struct lexer *l, bool is_raw)
{
	char quote = *l->p;
	size_t quotes = at_quotes(l, quote, 3) ? 3 : 1;
	struct buf b;

	l->p += quotes;
	buf_init(&b, l->a);
	while (!at_quotes(l, quote, quotes)) {
		if (l->p == l->end)
			return bad(l, "the string does not end; close it with the quotes it began with");
		if (quotes == 1 && (*l->p == '\n' || *l->p == '\r'))
			return bad(l,
				"a string in single quotes ends on its line; write \\n, or use three quotes");
		if (*l->p != '\\' || is_raw) {
			buf_addc(&b, *l->p++);
			continue;
		}
		l->t.word.at = (uint32_t)(l->p - l->text);
		l->p++;
		if (l->p == l->end || !read_escape(l, &b))
			return bad(l,
				"no such escape; there are \\n \\t \\\\ \\\" \\' \\xHH \\uHHHH \\UHHHHHHHH \\ooo and others; r\"...\" has none");
	}
	l->p += quotes;
	l->t.text = buf_bytes(&b);
	return finish(l, TOKEN_STRING);
}

/* Letters that belong to the string behind them. */
static size_t string_prefix(const struct lexer *l, bool *is_raw, bool *is_bytes)
{
	size_t n = 0;

	*is_raw = *is_bytes = false;
	for (; n < 2; n++) {
		char c = (char)(peek(l, n) | 32);
		if (c == 'r' && !*is_raw)
			*is_raw = true;
		else if (c == 'b' && !*is_bytes)
			*is_bytes = true;
		else
			break;
	}
	return n;
}

static struct token lex_operator(struct lexer *l)
{
	static const struct {
		char text[3];
		int type;
	} doubles[] = { { "&&", TOKEN_AND }, { "||", TOKEN_OR }, { "==", TOKEN_EQUAL },
		{ "!=", TOKEN_UNEQUAL }, { "<=", TOKEN_LESS_EQUAL }, { ">=", TOKEN_GREATER_EQUAL } };
	char c = *l->p;

	for (size_t i = 0; i < ARRAY_SIZE(doubles); i++) {
		if (c == doubles[i].text[0] && peek(l, 1) == doubles[i].text[1]) {
			l->p += 2;
			return finish(l, doubles[i].type);
		}
	}
	if (c && strchr("()[]{}.,:?!<>+-*/%", c)) {
		l->p++;
		return finish(l, c);
	}
	/* The whole character: the text was checked to be UTF-8. */
	l->p += text_decode(l->p, (size_t)(l->end - l->p), &(uint32_t){ 0 });
	if (c == '=')
		return bad(l, "nothing is assigned here; equality is written ==");
	if (c == '&' || c == '|')
		return bad(l, "'and' is written &&, 'or' is written ||");
	return bad(l, "no word of this language begins so");
}

struct token lex(struct arena *a, struct bytes text, uint32_t at)
{
	struct lexer l = { .a = a, .text = (const char *)text.p };
	bool is_raw, is_bytes;

	l.p = l.text + at;
	l.end = l.text + text.n;
	skip_space(&l);
	l.t.word.at = (uint32_t)(l.p - l.text);
	if (l.p == l.end)
		return finish(&l, TOKEN_END);
	size_t prefix = string_prefix(&l, &is_raw, &is_bytes);
	if (peek(&l, prefix) == '"' || peek(&l, prefix) == '\'') {
		l.p += prefix;
		return is_bytes ? bad(&l, "bytes are no part of this language; leave out the 'b'")
				: lex_string(&l, is_raw);
	}
	if (is_name_start(*l.p))
		return lex_name(&l);
	if (is_digit(*l.p))
		return lex_number(&l);
	if (*l.p == '.' && is_digit(peek(&l, 1)))
		return bad_fraction(&l);
	return *l.p == '`' ? lex_quoted_name(&l) : lex_operator(&l);
}
