/* cond.c — [[ ... ]]: an expression of its own, in which words are not split and < > ( ) are operators.
 *
 * Only the operands are kept, in one chain: the evaluator does not decide conditions, but substitutions
 * inside them run, and must be found. The grammar is still checked as bash does, because a text that
 * bash refuses must not be judged as if it ran. assign_ok is switched off after each token, so that a
 * word like a=(b) is not read as an array. */
#include "propose/shell/parser.h"

static void parse_or(struct parser *p, struct shell_word ***end);

static void skip_lines(struct parser *p)
{
	while (lex_peek(p)->kind == TOK_NEWLINE)
		lex_take(p);
}

static bool is_word(struct parser *p, const char *text)
{
	struct token *t = lex_peek(p);

	return t->kind == TOK_WORD && shell_word_is(t->word, text);
}

static void wrong(struct parser *p, const char *expected)
{
	parse_fail(p, "parse_error", lex_peek(p)->at.start, "expected %s in [[ ... ]]", expected);
}

/* Adds the word at the next token to the chain of operands. */
static void keep(struct parser *p, struct shell_word ***end)
{
	**end = lex_peek(p)->word;
	*end = &(**end)->next;
	lex_take(p);
	p->assign_ok = false;
}

static void operand(struct parser *p, struct shell_word ***end)
{
	if (lex_peek(p)->kind != TOK_WORD || is_word(p, "]]"))
		wrong(p, "an operand");
	else
		keep(p, end);
}

/* -f, -z and the like. Such a word is an operator only when no binary operator follows it: [[ -f = x ]]
 * compares texts. */
static bool is_unary(const struct shell_word *w)
{
	const struct shell_part *part = w->first;

	return !part->next && part->kind == PART_TEXT && !part->is_quoted && part->text_n == 2 &&
		part->text[0] == '-' && strchr("abcdefghknoprstuvwxzGLNORS", part->text[1]);
}

enum binary { NOT_BINARY, BINARY, REGEX };

/* Whether an operator with two operands comes next. < and > arrive as redirections. */
static enum binary binary_of(struct parser *p)
{
	static const char *const names[] = { "=", "==", "!=", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt",
		"-ot", "-ef" };
	struct token *t = lex_peek(p);

	if (t->kind == TOK_REDIR)
		return t->fd < 0 && (t->op == REDIR_IN || t->op == REDIR_OUT) ? BINARY : NOT_BINARY;
	if (t->kind != TOK_WORD)
		return NOT_BINARY;
	if (shell_word_is(t->word, "=~"))
		return REGEX;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (shell_word_is(t->word, names[i]))
			return BINARY;
	return NOT_BINARY;
}

/* The pattern behind =~. It is lexed by other rules (parentheses and bars are ordinary), so lex_peek()
 * must not have looked at it yet. */
static void regex_operand(struct parser *p, struct shell_word ***end)
{
	lex_take(p);
	p->assign_ok = false;
	lex_blanks(p);
	if (p->pos >= p->n || strchr("\n;&)", p->s[p->pos])) {
		wrong(p, "a pattern behind =~");
		return;
	}
	**end = lex_regex(p);
	*end = &(**end)->next;
}

/* A parenthesis, a unary test, a comparison, or a single word. */
static void parse_primary(struct parser *p, struct shell_word ***end)
{
	struct token *t = lex_peek(p);

	if (t->kind == TOK_OPEN) {
		if (!parse_enter(p))
			return;
		lex_take(p);
		p->assign_ok = false;
		parse_or(p, end);
		if (lex_peek(p)->kind != TOK_CLOSE)
			wrong(p, "')'");
		lex_take(p);
		p->assign_ok = false;
		skip_lines(p);
		p->nesting--;
		return;
	}
	if (t->kind != TOK_WORD || is_word(p, "]]")) {
		wrong(p, "an operand");
		return;
	}
	bool unary = is_unary(t->word);
	keep(p, end);
	enum binary op = binary_of(p);
	if (unary && op == NOT_BINARY) {
		operand(p, end);
		return;
	}
	if (op == REGEX) {
		regex_operand(p, end);
	} else if (op == BINARY) {
		lex_take(p);
		p->assign_ok = false;
		operand(p, end);
	}
}

static void parse_not(struct parser *p, struct shell_word ***end)
{
	while (is_word(p, "!")) {
		lex_take(p);
		p->assign_ok = false;
	}
	skip_lines(p);
	parse_primary(p, end);
}

/* && and || bind differently, but only operands are wanted, so both are read in one loop. */
static void parse_or(struct parser *p, struct shell_word ***end)
{
	for (;;) {
		skip_lines(p);
		parse_not(p, end);
		enum token_kind after = lex_peek(p)->kind;
		if (after != TOK_AND && after != TOK_OR)
			return;
		lex_take(p);
		p->assign_ok = false;
	}
}

/* [[ expression ]], which is the next token. */
struct shell_node *parse_cond(struct parser *p)
{
	struct shell_node *n = arena_zalloc(p->a, 1, sizeof(*n));
	struct shell_word **end = &n->words;

	(void)parse_count(p);
	n->kind = SH_COND;
	n->at.start = lex_peek(p)->at.start;
	lex_take(p);
	p->assign_ok = false;
	parse_or(p, &end);
	skip_lines(p);
	if (!is_word(p, "]]"))
		wrong(p, "']]'");
	lex_take(p);
	return n;
}
