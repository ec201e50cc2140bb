/* toml.c — the part of TOML that policy files use; see toml.h.
 *
 * One pass, one line after the other.  Recursion only follows lists, whose depth is checked. */
#include "base/toml.h"

#include "base/hash.h"

#include <string.h>

enum { LARGEST_BYTES = 1 << 20, DEEPEST = 16 };

struct toml {
	struct arena *a;
	const char *text, *p, *end; /* `end` has a NUL */
	const char *name;
	struct err *e;
};

static int read_value(struct toml *t, int depth, struct json **ret);
static int read_key(struct toml *t, struct json **ret);

/* ---- errors ---- */

/* What stands at p, for a message: a few characters, harmless for a terminal. */
static const char *found_at(struct toml *t, const char *p)
{
	size_t n = 0;

	if (p == t->end)
		return "the end of the text";
	if (*p == '\n' || *p == '\r')
		return "the end of the line";
	while (p + n < t->end && n < 24 && !strchr(" \t\r\n,]=#", p[n]))
		n++;
	n += n == 0;
	while (p + n < t->end && (p[n] & 0xC0) == 0x80)
		n++;
	return arena_printf(t->a, "'%s'", text_safe(t->a, p, n, false));
}

static int refuse(struct toml *t, const char *p, const char *code, const char *wanted)
{
	unsigned line = 1, column = 1;

	for (const char *s = t->text; s < p; s++) {
		if (*s == '\n') {
			line++;
			column = 1;
		} else {
			column += (*s & 0xC0) != 0x80;
		}
	}
	return err_set(t->e, E_INPUT, code, "%s:%u:%u: expected %s, found %s", t->name, line, column, wanted,
		found_at(t, p));
}

/* ---- white space ---- */

static void skip_blanks(struct toml *t)
{
	while (*t->p == ' ' || *t->p == '\t')
		t->p++;
}

/* A comment has no control characters but the tab, as TOML says: what a terminal hides must not stand in a policy. */
static int skip_comment(struct toml *t)
{
	if (*t->p != '#')
		return OK;
	for (; *t->p != '\n' && t->p < t->end; t->p++)
		if (((uint8_t)*t->p < 0x20 && *t->p != '\t' && !(*t->p == '\r' && t->p[1] == '\n')) ||
			*t->p == 0x7F)
			return refuse(t, t->p, "TOML_SYNTAX", "a comment without control characters");
	return OK;
}

/* The rest of a line: nothing but blanks and a comment. */
static int end_line(struct toml *t)
{
	skip_blanks(t);
	if (skip_comment(t))
		return t->e->rc;
	if (*t->p == '\r' && t->p[1] == '\n')
		t->p++;
	if (*t->p != '\n' && t->p != t->end)
		return refuse(t, t->p, "TOML_SYNTAX", "the end of the line");
	t->p += t->p != t->end;
	return OK;
}

/* Inside a list lines may end anywhere. */
static int skip_lines(struct toml *t)
{
	for (;;) {
		skip_blanks(t);
		if (*t->p == '#' && skip_comment(t))
			return t->e->rc;
		if (*t->p == '\n')
			t->p++;
		else if (*t->p == '\r' && t->p[1] == '\n')
			t->p += 2;
		else
			return OK;
	}
}

/* ---- texts ---- */

/* \uXXXX and \UXXXXXXXX. */
static int read_code_point(struct toml *t, struct buf *b)
{
	size_t n = *t->p == 'u' ? 4 : 8;
	uint8_t bytes[4] = { 0 };
	char utf8[4];
	uint32_t cp, again;

	if ((size_t)(t->end - t->p) <= n || !hex_decode(t->p + 1, n, bytes + (n == 4 ? 2 : 0), n / 2, false))
		return refuse(t, t->p - 1, "TOML_SYNTAX",
			n == 4 ? "\\u and four hex digits" : "\\U and eight hex digits");
	cp = (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
	size_t made = cp <= 0x10FFFF ? text_encode(cp, utf8) : 0;
	if (made == 0 || text_decode(utf8, made, &again) != made)
		return refuse(t, t->p - 1, "TOML_SYNTAX", "a character of Unicode");
	buf_add(b, utf8, made);
	t->p += n + 1;
	return OK;
}

static int read_escape(struct toml *t, struct buf *b)
{
	static const char from[] = "btnfr\"\\", to[] = "\b\t\n\f\r\"\\";
	const char *known;

	t->p++;
	if (*t->p == 'u' || *t->p == 'U')
		return read_code_point(t, b);
	known = *t->p ? strchr(from, *t->p) : NULL;
	if (!known)
		return refuse(t, t->p - 1, "TOML_SYNTAX", "one of \\b \\t \\n \\f \\r \\\" \\\\ \\uXXXX");
	buf_addc(b, to[known - from]);
	t->p++;
	return OK;
}

static int read_text(struct toml *t, struct json **ret)
{
	const char *start = t->p;
	char quote = *t->p++;
	struct buf b;

	if (*t->p == quote && t->p[1] == quote)
		return refuse(t, start, "TOML_UNSUPPORTED", "a text on one line");
	buf_init(&b, t->a);
	while (*t->p != quote) {
		if (((uint8_t)*t->p < 0x20 && *t->p != '\t') || *t->p == 0x7F)
			return refuse(
				t, t->p, "TOML_SYNTAX", quote == '"' ? "the closing \"" : "the closing '");
		if (*t->p == '\\' && quote == '"') {
			if (read_escape(t, &b))
				return t->e->rc;
		} else {
			buf_addc(&b, *t->p++);
		}
	}
	t->p++;
	*ret = json_stringn(t->a, b.p, b.n);
	return OK;
}

/* ---- other values ---- */

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
		c == '-';
}

/* A decimal integer of 64 bits, or nothing that is read here. */
static int read_number(struct toml *t, const char *word, struct json **ret)
{
	const char *digits = word + (*word == '-' || *word == '+');
	int64_t value;

	if (*digits < '0' || *digits > '9')
		return refuse(t, t->p, "TOML_SYNTAX", "a text in quotes, an integer, true, false or a list");
	if (strspn(digits, "0123456789") != strlen(digits) || (*digits == '0' && digits[1]) ||
		!text_int(*word == '+' ? digits : word, &value))
		return refuse(t, t->p, "TOML_UNSUPPORTED",
			"a decimal integer of at most 64 bits (quote a version or a date)");
	*ret = json_number(t->a, value);
	return OK;
}

static int read_plain(struct toml *t, struct json **ret)
{
	const char *start = t->p, *p = t->p;

	while (is_word(*p) || *p == '.' || *p == ':' || *p == '+')
		p++;
	const char *word = arena_strndup(t->a, start, (size_t)(p - start));
	if (text_eq(word, "true") || text_eq(word, "false"))
		*ret = json_bool(t->a, *word == 't');
	else if (read_number(t, word, ret))
		return t->e->rc;
	t->p = p;
	return OK;
}

static int read_list(struct toml *t, int depth, struct json **ret)
{
	struct json *list = json_new(t->a, JSON_ARRAY), *item;

	if (depth == DEEPEST)
		return refuse(t, t->p, "TOML_SYNTAX", "lists at most 16 deep");
	t->p++;
	for (;;) {
		if (skip_lines(t))
			return t->e->rc;
		if (*t->p == ']')
			break;
		if (read_value(t, depth + 1, &item) || skip_lines(t))
			return t->e->rc;
		json_push(t->a, list, item);
		if (*t->p == ',')
			t->p++;
		else if (*t->p != ']')
			return refuse(t, t->p, "TOML_SYNTAX", "',' or ']'");
	}
	t->p++;
	*ret = list;
	return OK;
}

/* { a = 1, "b" = "x" } on one line. */
static int read_inline(struct toml *t, int depth, struct json **ret)
{
	struct json *table = json_new(t->a, JSON_OBJECT), *key, *value;

	if (depth == DEEPEST)
		return refuse(t, t->p, "TOML_SYNTAX", "tables at most 16 deep");
	t->p++;
	skip_blanks(t);
	while (*t->p != '}') {
		const char *start = t->p;
		if (read_key(t, &key))
			return t->e->rc;
		if (*t->p != '=')
			return refuse(t, t->p, "TOML_SYNTAX", "'='");
		t->p++;
		skip_blanks(t);
		if (json_get(table, key->text))
			return refuse(t, start, "TOML_DUPLICATE_KEY", "each key once");
		if (read_value(t, depth + 1, &value))
			return t->e->rc;
		json_set(t->a, table, key->text, value);
		skip_blanks(t);
		if (*t->p == ',' && t->p++)
			skip_blanks(t);
		else if (*t->p != '}')
			return refuse(t, t->p, "TOML_SYNTAX", "',' or '}'");
	}
	t->p++;
	*ret = table;
	return OK;
}

static int read_value(struct toml *t, int depth, struct json **ret)
{
	uint32_t at = (uint32_t)(t->p - t->text);
	int rc;

	if (*t->p == '"' || *t->p == '\'')
		rc = read_text(t, ret);
	else if (*t->p == '[')
		rc = read_list(t, depth, ret);
	else if (*t->p == '{')
		rc = read_inline(t, depth, ret);
	else
		rc = read_plain(t, ret);
	if (!rc)
		(*ret)->at = at;
	return rc;
}

/* ---- keys and tables ---- */

/* Bare or quoted; the text is the key. */
static int read_key(struct toml *t, struct json **ret)
{
	const char *start = t->p;

	if (*t->p == '"' || *t->p == '\'') {
		if (read_text(t, ret))
			return t->e->rc;
	} else {
		while (is_word(*t->p))
			t->p++;
		*ret = json_stringn(t->a, start, (size_t)(t->p - start));
	}
	if ((*ret)->n == 0 || !json_text(*ret))
		return refuse(t, start, "TOML_SYNTAX", "a key");
	skip_blanks(t);
	return OK;
}

static int read_pair(struct toml *t, struct json *table)
{
	const char *start = t->p;
	struct json *key, *value;

	if (read_key(t, &key))
		return t->e->rc;
	if (*t->p == '.')
		return refuse(t, t->p, "TOML_UNSUPPORTED", "'=' (write a dotted key as a table)");
	if (*t->p != '=')
		return refuse(t, t->p, "TOML_SYNTAX", "'='");
	t->p++;
	skip_blanks(t);
	if (json_get(table, key->text))
		return refuse(t, start, "TOML_DUPLICATE_KEY", "each key once");
	if (read_value(t, 0, &value))
		return t->e->rc;
	json_set(t->a, table, key->text, value);
	return end_line(t);
}

/* [a.b]: the table is made, and those above it where they are not there.  Each may be opened once. */
static int open_table(struct toml *t, struct json *root, struct json *opened, struct json **ret)
{
	const char *start = t->p++;
	struct json *table = root, *key;
	struct buf path;

	buf_init(&path, t->a);
	if (*t->p == '[')
		return refuse(t, start, "TOML_UNSUPPORTED", "no list of tables");
	for (;;) {
		skip_blanks(t);
		if (read_key(t, &key))
			return t->e->rc;
		buf_addf(&path, "%zu:%s", (size_t)key->n, key->text);
		struct json *inner = json_get(table, key->text);
		if (!inner) {
			inner = json_new(t->a, JSON_OBJECT);
			inner->at = (uint32_t)(start - t->text);
			json_set(t->a, table, key->text, inner);
		}
		if (!json_is(inner, JSON_OBJECT))
			return refuse(t, start, "TOML_DUPLICATE_KEY", "a table that is no value already");
		table = inner;
		if (*t->p == ']')
			break;
		if (*t->p != '.')
			return refuse(t, t->p, "TOML_SYNTAX", "'.' or ']'");
		t->p++;
	}
	t->p++;
	if (json_get(opened, path.p))
		return refuse(t, start, "TOML_DUPLICATE_KEY", "each table once");
	json_setb(t->a, opened, path.p, true);
	*ret = table;
	return end_line(t);
}

static int read_document(struct toml *t, struct json **ret)
{
	struct json *root = json_new(t->a, JSON_OBJECT), *table = root, *opened = json_new(t->a, JSON_OBJECT);

	for (;;) {
		if (skip_lines(t))
			return t->e->rc;
		if (t->p == t->end)
			break;
		if (*t->p == '[' ? open_table(t, root, opened, &table) : read_pair(t, table))
			return t->e->rc;
	}
	*ret = root;
	return OK;
}

int toml_parse(struct arena *a, struct bytes text, const char *name, struct json **ret, struct err *e)
{
	struct err local;
	struct toml t = { .a = a, .name = name ? name : "input", .e = e ? e : &local };

	if (text.n > LARGEST_BYTES)
		return err_set(t.e, E_LIMIT, "TOML_SIZE", "%s: expected at most %d bytes, found %zu", t.name,
			LARGEST_BYTES, text.n);
	t.text = t.p = arena_strndup(a, (const char *)text.p, text.n);
	t.end = t.text + text.n;
	size_t valid = text_utf8_valid(t.text, text.n), nul = strlen(t.text);
	if (valid < text.n || nul < text.n)
		return refuse(&t, t.text + (valid < nul ? valid : nul), "TOML_UTF8", "UTF-8 text");
	return read_document(&t, ret);
}
