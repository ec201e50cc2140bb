/* format.c — the one layout of a policy text.
 *
 * Works on tokens, comments among them, so nothing that was written is lost and nothing is invented.  A text becomes lines: one for each
 * clause, operation and brace.  A condition that is too long for one line is broken before its outer `and` and `or`.  The white space of the
 * original plays no part but for one thing: whether a comment stood on a line of its own. */
#include "decide/dsl/parts.h"

#include <string.h>

enum { WIDTH = 100, DEEPEST = 8 };

enum block { BLOCK_TOP, BLOCK_HEADER, BLOCK_MODULE, BLOCK_RULE, BLOCK_OPS, BLOCK_SECOND };

struct formatting {
	struct arena *a;
	const char *text;
	struct dsl_token *tokens;
	size_t n;
	struct buf out;
	size_t *line; /* the tokens of the line that is being made */
	size_t line_n;
	int indent; /* of that line */
	enum block blocks[DEEPEST];
	int parens[DEEPEST]; /* how many are open inside each block */
	int depth;
	bool must_break; /* the next token begins a line */
	bool wants_blank; /* and an empty line before it */
};

/* ---- one line ---- */

static bool is(const struct dsl_token *t, const char *word)
{
	return (t->kind == TOKEN_IDENT || t->kind == TOKEN_PUNCT) && text_eq(t->text, word);
}

static bool is_any(const struct dsl_token *t, const char *words)
{
	return t->kind == TOKEN_PUNCT && strstr(words, t->text);
}

/* Words that are followed by a parenthesis without being called. */
static bool is_joining(const struct dsl_token *t)
{
	return is(t, "and") || is(t, "or") || is(t, "not");
}

/* Whether two neighbours on a line have a space between them.  A part of a reason code may begin with a digit, and is then two tokens. */
static bool has_space(const struct formatting *f, const struct dsl_token *x, const struct dsl_token *y)
{
	bool is_joined = x->mark.at + x->mark.n == y->mark.at;

	if (is_any(y, ", ) ] . :") || is_any(x, "( [ ."))
		return false;
	if (is(y, "("))
		return x->kind != TOKEN_IDENT || is_joining(x);
	return !(is_joined && y->kind == TOKEN_IDENT && f->text[x->mark.at - (x->mark.at > 0)] == '.');
}

static void new_line(struct formatting *f, int indent)
{
	buf_addc(&f->out, '\n');
	for (int i = 0; i < indent; i++)
		buf_adds(&f->out, "  ");
}

/* Columns of the line when nothing is broken; too many when a comment stands inside of it. */
static size_t flat_width(const struct formatting *f)
{
	size_t width = 2 * (size_t)f->indent;

	for (size_t i = 0; i < f->line_n; i++) {
		const struct dsl_token *t = &f->tokens[f->line[i]];
		if (t->kind == TOKEN_COMMENT)
			return i + 1 == f->line_n && !t->is_first ? width : WIDTH + 1;
		width += t->mark.n + (i && has_space(f, &f->tokens[f->line[i - 1]], t));
	}
	return width;
}

/* A comment inside a line ends it; what follows is further in. */
static void write_line(struct formatting *f)
{
	bool is_broken = flat_width(f) > WIDTH, is_when = f->line_n && is(&f->tokens[f->line[0]], "when");
	const struct dsl_token *before = NULL;
	int open = 0;

	for (size_t i = 0; i < f->line_n; i++) {
		const struct dsl_token *t = &f->tokens[f->line[i]];
		bool is_comment = t->kind == TOKEN_COMMENT;

		open += is(t, "(") - is(t, ")");
		if (!before) {
			for (int k = 0; k < f->indent; k++)
				buf_adds(&f->out, "  ");
		} else if (is_comment ? t->is_first
				      : before->kind == TOKEN_COMMENT ||
					(is_broken && is_when && open == 0 &&
						(is(t, "and") || is(t, "or")))) {
			new_line(f, f->indent + 2);
		} else if (is_comment || has_space(f, before, t)) {
			buf_addc(&f->out, ' ');
		}
		buf_add(&f->out, f->text + t->mark.at, t->mark.n);
		before = t;
	}
	if (f->line_n)
		buf_addc(&f->out, '\n');
	f->line_n = 0;
}

/* ---- lines ---- */

/* The next token that is no comment; the last is always TOKEN_END. */
static const struct dsl_token *following(const struct formatting *f, size_t i)
{
	while (f->tokens[i].kind == TOKEN_COMMENT)
		i++;
	return &f->tokens[i];
}

static bool is_clause(const struct formatting *f, const struct dsl_token *t)
{
	static const char *const names[] = { "scope", "when", "enforce", "explain", "patch" };
	bool is_name = false;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		is_name |= is(t, names[i]);
	return is_name && is(following(f, (size_t)(t - f->tokens) + 1), ":");
}

/* Whether a token begins a line wherever it stands. */
static bool begins_line(const struct formatting *f, const struct dsl_token *t)
{
	if (is(t, "}"))
		return true;
	if (t->kind != TOKEN_IDENT || f->parens[f->depth] > 0)
		return false;
	switch (f->blocks[f->depth]) {
	case BLOCK_RULE:
		return is_clause(f, t);
	case BLOCK_OPS:
	case BLOCK_SECOND:
		return true;
	default:
		return false;
	}
}

static void begin_line(struct formatting *f)
{
	write_line(f);
	if (f->wants_blank)
		buf_addc(&f->out, '\n');
	f->wants_blank = f->must_break = false;
	f->indent = 0;
	for (int i = 1; i <= f->depth; i++)
		f->indent += f->blocks[i] != BLOCK_SECOND;
}

static void add(struct formatting *f, size_t i)
{
	f->line[f->line_n++] = i;
}

/* A comment of its own line stays one; between clauses it belongs to what follows. */
static void add_comment(struct formatting *f, size_t i)
{
	if (f->tokens[i].is_first && (f->must_break || begins_line(f, following(f, i)))) {
		begin_line(f);
		f->must_break = true;
	}
	add(f, i);
}

static enum block block_of(const struct formatting *f, const struct dsl_token *before)
{
	const struct dsl_token *first = &f->tokens[f->line[0]];

	if (is(before, "{"))
		return BLOCK_SECOND;
	return is(first, "bundle")    ? BLOCK_HEADER
		: is(first, "module") ? BLOCK_MODULE
		: is(first, "rule")   ? BLOCK_RULE
				      : BLOCK_OPS;
}

static void open_block(struct formatting *f, size_t i, const struct dsl_token *before)
{
	enum block kind = block_of(f, before);

	if (kind != BLOCK_SECOND)
		add(f, i);
	f->blocks[++f->depth] = kind;
	f->parens[f->depth] = 0;
	f->must_break = true;
}

static void close_block(struct formatting *f, size_t i)
{
	enum block kind = f->blocks[f->depth--];
	bool is_inside = f->parens[f->depth] > 0; /* of rewrite( ... ) */

	if (kind == BLOCK_SECOND)
		return;
	f->wants_blank = false;
	begin_line(f);
	add(f, i);
	f->must_break = !is_inside;
	f->wants_blank = !is_inside;
}

static void add_token(struct formatting *f, size_t i, const struct dsl_token *before)
{
	const struct dsl_token *t = &f->tokens[i];

	if (is(t, "}")) {
		close_block(f, i);
		return;
	}
	if (f->must_break ? !is(t, "{") : begins_line(f, t)) /* a brace there is the second of two */
		begin_line(f);
	if (is(t, "{")) {
		open_block(f, i, before);
		return;
	}
	f->parens[f->depth] += is(t, "(") - is(t, ")");
	add(f, i);
}

/* All tokens, ending in TOKEN_END. */
static void read_tokens(struct formatting *f, struct bytes text)
{
	struct dsl_problems ignored = { 0 };
	struct dsl_reading r = { .a = f->a, .text = f->text, .n = text.n, .problems = &ignored };
	struct dsl_lexer lexer = { .r = &r, .line = 1, .keeps_comments = true, .is_line_new = true };
	size_t room = 256;

	f->tokens = arena_alloc(f->a, room * sizeof *f->tokens);
	do {
		if (f->n == room) {
			f->tokens = arena_grow(
				f->a, f->tokens, room * sizeof *f->tokens, 2 * room * sizeof *f->tokens);
			room *= 2;
		}
		f->tokens[f->n++] = dsl_lex(&lexer);
	} while (f->tokens[f->n - 1].kind != TOKEN_END);
}

struct bytes dsl_format(struct arena *a, struct bytes text)
{
	struct formatting f = { .a = a, .text = (const char *)text.p, .must_break = true };
	struct dsl_token none = { .text = "" };
	const struct dsl_token *before = &none;

	read_tokens(&f, text);
	f.line = arena_alloc(a, f.n * sizeof *f.line);
	buf_init(&f.out, a);
	for (size_t i = 0; i + 1 < f.n; i++) {
		if (f.tokens[i].kind == TOKEN_COMMENT) {
			add_comment(&f, i);
			continue;
		}
		add_token(&f, i, before);
		before = &f.tokens[i];
	}
	write_line(&f);
	return buf_bytes(&f.out);
}
