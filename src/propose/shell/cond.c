/* cond.c — [[ ... ]]: an expression of its own, in which words are not split and < > ( ) are operators.
 *
 * Only the operands are kept: the evaluator does not decide conditions, but substitutions inside them run. */
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

static bool is_unary(const struct shell_word *w)
{
	const struct shell_part *part = w->first;

	return !part->next && part->kind == PART_TEXT && !part->is_quoted && part->text_n == 2 &&
		part->text[0] == '-' && strchr("abcdefghknoprstuvwxzGLNORS", part->text[1]);
}

enum binary { NOT_BINARY, BINARY, REGEX };

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

/* The next operand is lexed by other rules, so it must not have been looked at yet. */
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
