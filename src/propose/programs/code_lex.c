/* code_lex.c — inline code cut into strings, names and marks.
 *
 * One lexer for all languages: what they differ in is how comments start and how strings are written. A
 * string keeps whether something is computed inside it, and whether it is a command by itself
 * (backquotes, qx, %x). Where a language is ambiguous without a parser (is "/" a division or a pattern?)
 * the token before decides; a wrong guess can hide a string, so the guess leans towards reading code as
 * code. */
#include "propose/programs/code.h"

#include <ctype.h>

/* By the beginning of the name, so that python3 is python. */
unsigned code_language(const char *name)
{
	static const struct {
		const char *name;
		unsigned bit;
	} known[] = { { "python", PY }, { "perl", PERL }, { "ruby", RUBY }, { "node", NODE }, { "php", PHP },
		{ "lua", LUA }, { "awk", AWK } };
	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (text_starts(name, known[i].name))
			return known[i].bit;
	return OTHER;
}

/* Behind a comment at p, or p when there is none. Text in comments must not be taken for calls. */
static const char *skip_code_comment(unsigned language, const char *p, const char *end)
{
	/* Which signs start a comment in this language. */
	bool hash = language & (PY | PERL | RUBY | PHP | AWK | OTHER);
	bool slashes = language & (NODE | PHP);
	bool dashes = language & LUA;
	if ((*p == '#' && hash) || (slashes && p + 1 < end && p[0] == '/' && p[1] == '/') ||
		(dashes && p + 1 < end && p[0] == '-' && p[1] == '-')) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));
		return nl ? nl : end;
	}
	if (slashes && p + 1 < end && p[0] == '/' && p[1] == '*') {
		const char *close = memmem(p + 2, (size_t)(end - p - 2), "*/", 2);
		return close ? close + 2 : end;
	}
	return p;
}

/* The end of a string that starts at p with `open`; *ret_n is the value's length. Brackets as quotes
 * nest. */
static const char *string_end(const char *p, const char *end, char open, size_t *ret_n)
{
	static const char pairs[] = "()[]{}<>";
	const char *pair = strchr(pairs, open);
	char close = pair && open ? pair[1] : open;
	unsigned depth = 1;
	const char *q = p + 1;
	for (; q < end; q++) {
		if (*q == '\\' && q + 1 < end)
			q++;
		else if (*q == close && --depth == 0)
			break;
		else if (pair && *q == open)
			depth++;
	}
	*ret_n = (size_t)(q - p - 1);
	return q < end ? q + 1 : end;
}

/* The value of a string, its escapes removed. Zero bytes are left out, because values are texts that end
 * in NUL. */
static const char *unescaped(struct arena *a, const char *p, size_t n, size_t *ret_n)
{
	if (!memchr(p, '\\', n)) {
		*ret_n = n;
		return arena_strndup(a, p, n);
	}
	char *out = arena_text(a, n + 1);
	size_t have = 0;
	for (size_t i = 0; i < n; i++) {
		if (p[i] != '\\' || i + 1 == n) {
			out[have++] = p[i];
			continue;
		}
		char c = p[++i];
		unsigned value = 0;
		if (c == 'x' && i + 2 < n + 0 && isxdigit((unsigned char)p[i + 1]) &&
			isxdigit((unsigned char)p[i + 2])) {
			for (int d = 1; d <= 2; d++)
				value = value * 16 +
					(unsigned)(isdigit((unsigned char)p[i + (size_t)d])
							? p[i + (size_t)d] - '0'
							: (p[i + (size_t)d] | 32) - 'a' + 10);
			i += 2;
			if (value)
				out[have++] = (char)value;
		} else {
			out[have++] = c == 'n' ? '\n' : c == 't' ? '\t' : c;
		}
	}
	out[have] = '\0';
	*ret_n = have;
	return out;
}

/* Adds a string, and notes whether the language would compute something inside it. */
static void add_string(struct code *c, const char *p, size_t n, char open, bool is_command, bool is_f)
{
	struct token *t = &c->v[c->n++];
	*t = (struct token){ .kind = T_STRING, .is_command = is_command };
	t->text = unescaped(walk_arena(c->k->w), p, n, &t->n);
	if (is_f || (c->language & NODE && open == '`'))
		t->is_computed = memchr(p, '{', n) != NULL;
	else if (c->language & RUBY && open != '\'')
		t->is_computed = memmem(p, n, "#{", 2) != NULL;
	else if (c->language & (PERL | PHP) && open != '\'')
		t->is_computed = memchr(p, '$', n) || (c->language & PERL && memchr(p, '@', n));
}

/* q(..), qq{..}, qx/../ and qw of perl; p is behind the name. NULL when it is none. */
static const char *quote_operator(
	struct code *c, const char *name, size_t name_n, const char *p, const char *end)
{
	bool is_perl = c->language & PERL && (list_has("q qq qx qw", name, name_n));
	if (!is_perl || p >= end)
		return NULL;
	while (p < end && *p == ' ')
		p++;
	if (p >= end || isalnum((unsigned char)*p) || strchr(",;=)", *p))
		return NULL;
	size_t n;
	const char *after = string_end(p, end, *p, &n);
	add_string(
		c, p + 1, n, name_n > 1 && name[1] != 'w' ? '"' : '\'', name_n > 1 && name[1] == 'x', false);
	return after;
}

/* The end of a pattern that starts at p with a slash. It stands on one line, and a class in it may hold
 * slashes. */
static const char *pattern_end(const char *p, const char *end)
{
	bool in_class = false;
	for (const char *q = p + 1; q < end && *q != '\n'; q++) {
		if (*q == '\\')
			q++;
		else if (*q == '[')
			in_class = true;
		else if (*q == ']')
			in_class = false;
		else if (*q == '/' && !in_class)
			return q + 1;
	}
	return NULL;
}

/* A slash where no value stands before it begins a regular expression; NULL when it is a division. */
static const char *skip_pattern(const struct code *c, const char *p, const char *end)
{
	if (!(c->language & (NODE | PERL | RUBY | AWK)) || *p != '/')
		return NULL;
	const struct token *last = c->n ? &c->v[c->n - 1] : NULL, *older = c->n > 1 ? last - 1 : NULL;
	bool is_operand = last &&
		(last->kind == T_STRING || last->kind == T_NUMBER ||
			(last->kind == T_NAME &&
				!list_has("return if unless and or not split grep when case in of typeof "
					  "print puts "
					  "while until elsif else map join",
					last->text, last->n)) ||
			(last->kind == T_MARK && strchr(")]}", last->text[0])) ||
			(older && last->kind == T_MARK && older->kind == T_MARK &&
				strchr("+-", last->text[0]) && older->text[0] == last->text[0]));
	return is_operand ? NULL : pattern_end(p, end);
}

/* m/../ qr/../ tr/../../ s/../../ of perl, skipped as a whole. With /e the replacement is code, and
 * stays to be read. */
static const char *skip_match_operator(
	const struct code *c, const char *name, size_t n, const char *p, const char *end)
{
	const struct token *last = c->n ? &c->v[c->n - 1] : NULL;
	if (!(c->language & PERL) || p >= end || !list_has("m qr tr y s", name, n) ||
		!strchr("/|#!,{([", *p) || (last && last->kind == T_MARK && strchr("$@%&-{", last->text[0])))
		return NULL;
	size_t len;
	char open = *p;
	const char *pattern = string_end(p, end, open, &len), *replacement = pattern;
	if (list_has("m qr", name, n))
		return pattern;
	if (strchr("{([", open))
		replacement += strspn(replacement, " ");
	else
		replacement--;
	if (replacement >= end)
		return NULL;
	const char *after = string_end(replacement, end, *replacement, &len);
	for (const char *flag = after; flag < end && isalpha((unsigned char)*flag); flag++)
		if (*flag == 'e' && *name == 's')
			return pattern;
	return after;
}

/* A string at p, with the triple quotes of python. */
static const char *lex_string(struct code *c, const char *p, const char *end, bool is_f)
{
	size_t n;
	if (c->language & PY && end - p >= 3 && p[1] == *p && p[2] == *p) {
		const char mark[3] = { *p, *p, *p };
		const char *close = memmem(p + 3, (size_t)(end - p - 3), mark, 3);
		add_string(c, p + 3, (size_t)((close ? close : end) - p - 3), *p, false, is_f);
		return close ? close + 3 : end;
	}
	/* In these languages backquotes are strings or nothing; in all others they run a command. */
	const struct token *before = c->n ? &c->v[c->n - 1] : NULL;
	/* $`rm x`, Bun.$`rm x`: the template is a command line. */
	bool is_tagged = c->language & NODE && before && before->text + before->n == p && p[-1] == '$';
	bool is_command = *p == '`' && (is_tagged || !(c->language & (NODE | PY | LUA | AWK)));
	const char *after = string_end(p, end, *p, &n);
	add_string(c, p + 1, n, *p, is_command, is_f);
	return after;
}

/* At the limit of tokens it just stops; classify_code_bytes() sees that and calls the code dynamic. */
void code_lex(struct code *c, const char *p, const char *end)
{
	while (p < end && c->n + 2 < TOKENS_MAX) {
		const char *after = skip_code_comment(c->language, p, end);
		if (after != p || isspace((unsigned char)*p)) {
			/* A line's end separates where a semicolon is not needed. */
			if (*p == '\n')
				c->v[c->n++] = (struct token){ .kind = T_MARK, .text = ";", .n = 1 };
			p = after != p ? after : p + 1;
			continue;
		}
		const char *past = skip_pattern(c, p, end);
		if (past) {
			/* A pattern stands where a value can stand, and is of no further interest. */
			c->v[c->n++] = (struct token){ .kind = T_NUMBER, .text = p, .n = 1 };
			p = past;
		} else if (*p == '"' || *p == '\'' || *p == '`') {
			p = lex_string(c, p, end, false);
		} else if (isalpha((unsigned char)*p) || *p == '_') {
			const char *from = p;
			while (p < end &&
				(isalnum((unsigned char)*p) || *p == '_' || *p == '!' || *p == '?')) {
				if ((*p == '!' || *p == '?') && !(c->language & RUBY))
					break;
				p++;
			}
			size_t n = (size_t)(p - from);
			/* f"...", rb'...': letters in front of a string of python. */
			bool prefix = c->language & PY && p < end && (*p == '"' || *p == '\'') && n <= 2;
			const char *quoted = prefix
				? lex_string(c, p, end, memchr(from, 'f', n) || memchr(from, 'F', n))
				: quote_operator(c, from, n, p, end);
			if (!quoted)
				quoted = skip_match_operator(c, from, n, p, end);
			if (quoted)
				p = quoted;
			else
				c->v[c->n++] = (struct token){ .kind = T_NAME, .text = from, .n = n };
		} else if (isdigit((unsigned char)*p)) {
			const char *from = p;
			while (p < end && (isalnum((unsigned char)*p) || *p == '.'))
				p++;
			c->v[c->n++] =
				(struct token){ .kind = T_NUMBER, .text = from, .n = (size_t)(p - from) };
		} else if (c->language & RUBY && *p == '%' && p + 2 < end && strchr("xqQwW", p[1]) &&
			strchr("([{<|/!", p[2])) {
			size_t n;
			after = string_end(p + 2, end, p[2], &n);
			add_string(c, p + 3, n, p[1] == 'q' ? '\'' : '"', p[1] == 'x', false);
			p = after;
		} else {
			size_t n = p + 1 < end &&
					((p[0] == ':' && p[1] == ':') || (p[0] == '-' && p[1] == '>') ||
						(p[0] == '>' && p[1] == '>') || (p[0] == '|' && p[1] == '&'))
				? 2
				: 1;
			c->v[c->n++] = (struct token){ .kind = T_MARK, .text = p, .n = n };
			p += n;
		}
	}
	c->v[c->n] = (struct token){ .kind = T_END, .text = "", .n = 0 };
}
