/* lex.c — a policy text as words, numbers, strings and signs.
 *
 * The lexer reports what is wrong with a token itself (E_LEX, E_RANGE) and gives TOKEN_BAD; it always moves on, so whoever calls it until
 * TOKEN_END comes to an end.  Words are not reserved: `node` is a target in one place and a member in another. */
#include "base/hash.h"
#include "decide/dsl/parts.h"

#include <string.h>

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_word(char c)
{
	return is_letter(c) || is_digit(c);
}

/* The byte at a place, and 0 behind the end. */
static char peek(const struct dsl_lexer *x, size_t at)
{
	return at < x->r->n ? x->r->text[at] : 0;
}

static struct dsl_mark mark_at(const struct dsl_lexer *x, size_t at, size_t n)
{
	return (struct dsl_mark){ (uint32_t)at, (uint32_t)n, x->line, (uint32_t)x->line_at };
}

static struct dsl_token bad(
	struct dsl_lexer *x, size_t at, size_t end, const char *code, const char *text, const char *fix)
{
	struct dsl_token t = { .kind = TOKEN_BAD, .mark = mark_at(x, at, end - at), .text = "" };

	dsl_problem(x->r, t.mark, code, text, fix);
	x->at = end;
	return t;
}

static struct dsl_token made(struct dsl_lexer *x, enum dsl_token_kind kind, size_t end)
{
	struct dsl_token t = { .kind = kind, .mark = mark_at(x, x->at, end - x->at) };

	t.text = arena_strndup(x->r->a, x->r->text + x->at, end - x->at);
	x->at = end;
	return t;
}

/* White space, and comments unless they are wanted. */
static void skip_blank(struct dsl_lexer *x)
{
	for (; x->at < x->r->n; x->at++) {
		char c = x->r->text[x->at];

		if (c == '\n') {
			x->line++;
			x->line_at = x->at + 1;
			x->is_line_new = true;
		} else if (c == '/' && peek(x, x->at + 1) == '/' && !x->keeps_comments) {
			while (peek(x, x->at + 1) != '\n' && x->at + 1 < x->r->n)
				x->at++;
		} else if (c != ' ' && c != '\t' && c != '\r') {
			return;
		}
	}
}

/* The value of four hexadecimal digits, or -1. */
static int32_t hex4(const struct dsl_lexer *x, size_t at)
{
	uint8_t two[2];

	if (at + 4 > x->r->n || !hex_decode(x->r->text + at, 4, two, 2, false))
		return -1;
	return two[0] << 8 | two[1];
}

/* A \uXXXX, or a pair of them for what needs one.  Returns the bytes read behind the backslash; 0 when it is none: NUL and halves of pairs
 * are none. */
static size_t unicode_escape(const struct dsl_lexer *x, size_t at, struct buf *to)
{
	int32_t first = hex4(x, at + 1), second;
	size_t used = 5;
	uint32_t cp = (uint32_t)first;
	char bytes[4];

	if (first <= 0)
		return 0;
	if (first >= 0xd800 && first <= 0xdbff && peek(x, at + 5) == '\\' && peek(x, at + 6) == 'u') {
		second = hex4(x, at + 7);
		if (second >= 0xdc00 && second <= 0xdfff) {
			cp = 0x10000 + ((uint32_t)(first - 0xd800) << 10) + (uint32_t)(second - 0xdc00);
			used = 11;
		}
	}
	if (cp >= 0xd800 && cp <= 0xdfff)
		return 0;
	buf_add(to, bytes, text_encode(cp, bytes));
	return used;
}

/* One escape; returns the bytes read behind the backslash, 0 when there is no such escape. */
static size_t escape(const struct dsl_lexer *x, size_t at, struct buf *to)
{
	static const char from[] = "\"\\nrt", means[] = "\"\\\n\r\t";
	char c = peek(x, at);
	const char *found = c ? strchr(from, c) : NULL;

	if (c == 'u')
		return unicode_escape(x, at, to);
	if (!found)
		return 0;
	buf_addc(to, means[found - from]);
	return 1;
}

static struct dsl_token string(struct dsl_lexer *x)
{
	size_t from = x->at, at = from + 1;
	struct dsl_token t = { .kind = TOKEN_STRING };
	struct buf b;

	buf_init(&b, x->r->a);
	while (peek(x, at) != '"') {
		char c = peek(x, at);
		if (c == '\n' || c == '\r' || c == 0)
			return bad(x, from, at, "E_LEX", "this string does not end on its line",
				"close it with '\"'; a line break inside is written \\n");
		at++;
		if (c != '\\') {
			buf_addc(&b, c);
			continue;
		}
		size_t used = escape(x, at, &b);
		if (used == 0)
			return bad(x, at - 1, at + (peek(x, at) != 0 && peek(x, at) != '\n'), "E_LEX",
				"there is no such escape in a string",
				"the escapes are \\\" \\\\ \\n \\r \\t and \\uXXXX");
		at += used;
	}
	if (b.n > DSL_MAX_STRING)
		return bad(x, from, at + 1, "E_LEX", "this string is longer than 4096 bytes", "shorten it");
	t.mark = mark_at(x, from, at + 1 - from);
	t.text = b.p;
	x->at = at + 1;
	return t;
}

static struct dsl_token number(struct dsl_lexer *x)
{
	size_t end = x->at + 1;
	struct dsl_token t;

	while (is_digit(peek(x, end)))
		end++;
	t = made(x, TOKEN_INT, end);
	if (!text_int(t.text, &t.number)) {
		dsl_problem(x->r, t.mark, "E_RANGE", "this number does not fit into 64 bits",
			"use a number from -9223372036854775808 to 9223372036854775807");
		t.kind = TOKEN_BAD;
	}
	return t;
}

/* `sha256:` and 64 digits is one token; with anything else behind it, `sha256` is a word like others. */
static struct dsl_token word(struct dsl_lexer *x)
{
	size_t end = x->at, n;
	uint8_t digest[SHA256_SIZE];

	while (is_word(peek(x, end)))
		end++;
	n = end - x->at;
	if (n == 6 && memcmp(x->r->text + x->at, "sha256", 6) == 0 && end + 65 <= x->r->n &&
		peek(x, end) == ':' && !is_word(peek(x, end + 65)) &&
		hex_decode(x->r->text + end + 1, 64, digest, sizeof digest, true))
		return made(x, TOKEN_HASH, end + 65);
	if (n > DSL_MAX_NAME)
		return bad(x, x->at, end, "E_LEX", "this name is longer than 128 bytes", "shorten it");
	return made(x, TOKEN_IDENT, end);
}

static struct dsl_token sign(struct dsl_lexer *x)
{
	char c = peek(x, x->at), then = peek(x, x->at + 1);
	uint32_t cp;
	size_t n;

	if (c && then == '=' && strchr("=!<>", c))
		return made(x, TOKEN_PUNCT, x->at + 2);
	if (c && strchr("{}()[]:,=.<>", c))
		return made(x, TOKEN_PUNCT, x->at + 1);
	n = text_decode(x->r->text + x->at, x->r->n - x->at, &cp); /* the whole text is UTF-8 */
	return bad(x, x->at, x->at + n, "E_LEX", "no part of the language begins with this character",
		"remove it, or put it inside a string");
}

struct dsl_token dsl_lex(struct dsl_lexer *x)
{
	struct dsl_token t;
	bool is_first;
	char c;

	skip_blank(x);
	is_first = x->is_line_new;
	x->is_line_new = false;
	c = peek(x, x->at);
	if (x->at >= x->r->n) {
		t = made(x, TOKEN_END, x->at);
	} else if (c == '/' && peek(x, x->at + 1) == '/') { /* only when they are kept */
		size_t end = x->at;
		while (end < x->r->n && x->r->text[end] != '\n')
			end++;
		while (strchr(" \t\r", x->r->text[end - 1]))
			end--;
		t = made(x, TOKEN_COMMENT, end);
	} else if (c == '"') {
		t = string(x);
	} else if (is_digit(c) || (c == '-' && is_digit(peek(x, x->at + 1)))) {
		t = number(x);
	} else if (is_letter(c)) {
		t = word(x);
	} else {
		t = sign(x);
	}
	t.is_first = is_first;
	return t;
}

struct dsl_token dsl_lex_code(struct dsl_lexer *x, const struct dsl_token *from)
{
	size_t end;

	x->at = from->mark.at;
	for (end = x->at; is_word(peek(x, end)) || peek(x, end) == '.'; end++)
		;
	return made(x, TOKEN_IDENT, end);
}
