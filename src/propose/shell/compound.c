/* compound.c — compound commands: groups, conditions, loops, case, functions, coprocesses.
 *
 * Each function is called with the word or token that starts the command as the next token, and takes
 * everything through the word that ends it. Redirections behind it are read by parse_command(). A
 * function gives NULL, or a node that is not complete, when parsing has failed; callers look at
 * is_failed and never use such a node. */
#include "propose/shell/parser.h"

/* { list; } */
static struct shell_node *parse_group(struct parser *p)
{
	struct shell_node *n = parse_new_node(p, SH_GROUP, lex_peek(p)->at.start);

	lex_take(p);
	n->items = parse_body(p);
	return parse_take_keyword(p, KW_CLOSE) ? n : NULL;
}

/* ( list ) */
static struct shell_node *parse_subshell(struct parser *p)
{
	struct shell_node *n = parse_new_node(p, SH_SUBSHELL, lex_peek(p)->at.start);

	lex_take(p);
	n->items = parse_body(p);
	if (lex_peek(p)->kind != TOK_CLOSE) {
		parse_unexpected(p, "')'");
		return NULL;
	}
	lex_take(p);
	return n;
}

/* (( ... )). NULL without failure when it is not arithmetic but a subshell in a subshell: which of the
 * two it is can be told only by looking for the "))" at the end. */
static struct shell_node *parse_arith(struct parser *p)
{
	size_t from = lex_peek(p)->at.start, inner = lex_peek(p)->at.end;

	if (inner >= p->n || p->s[inner] != '(')
		return NULL;
	size_t close = lex_arith_end(p, inner + 1);
	if (close == SIZE_MAX)
		return NULL;
	struct shell_node *n = parse_new_node(p, SH_ARITH, from);
	lex_take(p);
	p->pos = inner + 1;
	n->words = lex_bounded(p, close, false);
	p->pos = p->is_failed ? 0 : close + 2;
	return n;
}

/* if, elif and else become a chain of clauses; the one of else has no condition. */
static struct shell_node *parse_if(struct parser *p)
{
	struct shell_node *n = parse_new_node(p, SH_IF, lex_peek(p)->at.start);
	struct shell_clause **end = &n->clauses;

	for (enum keyword k = KW_IF; k != KW_FI; k = parse_keyword_of(lex_peek(p))) {
		struct shell_clause *c = arena_zalloc(p->a, 1, sizeof(*c));
		*end = c;
		end = &c->next;
		lex_take(p);
		if (k != KW_ELSE) {
			c->condition = parse_body(p);
			if (!parse_take_keyword(p, KW_THEN))
				return NULL;
		}
		c->body = parse_body(p);
		enum keyword next = parse_keyword_of(lex_peek(p));
		/* Behind else only fi may come; behind any other clause also elif and else. */
		if (next != KW_FI && (k == KW_ELSE || (next != KW_ELIF && next != KW_ELSE))) {
			parse_unexpected(p, "'fi'");
			return NULL;
		}
	}
	lex_take(p);
	return n;
}

/* do ... done, or { ... } where bash allows it. */
static struct shell_node *parse_loop_body(struct parser *p, bool allows_brace)
{
	bool is_brace = allows_brace && parse_keyword_of(lex_peek(p)) == KW_OPEN;

	if (is_brace)
		lex_take(p);
	else if (!parse_take_keyword(p, KW_DO))
		return NULL;
	struct shell_node *body = parse_body(p);
	return parse_take_keyword(p, is_brace ? KW_CLOSE : KW_DONE) ? body : NULL;
}

static struct shell_node *parse_while(struct parser *p)
{
	struct shell_node *n = parse_new_node(p, SH_WHILE, lex_peek(p)->at.start);

	lex_take(p);
	n->items = parse_body(p);
	n->body = parse_loop_body(p, false);
	return n;
}

/* for ((init; condition; step)); `inner` is the place behind the two parentheses. */
static struct shell_node *parse_for_arith(struct parser *p, size_t from, size_t inner)
{
	struct shell_node *n = parse_new_node(p, SH_FOR_ARITH, from);
	size_t close = lex_arith_end(p, inner);
	int separators = 0;

	if (close == SIZE_MAX) {
		parse_fail(p, "parse_error", inner, "this '((' is never closed");
		return NULL;
	}
	for (size_t i = inner; i < close; i++)
		separators += p->s[i] == ';';
	/* A substitution with a semicolon in it would be counted too; such a loop is refused, which is
	 * the safe side. */
	if (separators != 2)
		parse_fail(p, "parse_error", inner, "expected two ';' in 'for ((', found %d", separators);
	lex_take(p);
	p->pos = inner;
	n->words = lex_bounded(p, close, false);
	p->pos = p->is_failed ? 0 : close + 2;
	if (lex_peek(p)->kind == TOK_SEMI)
		lex_take(p);
	parse_skip_newlines(p);
	n->body = parse_loop_body(p, true);
	return n;
}

/* The words behind "in". NAME=(...) is no assignment there. */
static void parse_for_words(struct parser *p, struct shell_node *n)
{
	struct shell_word **end = &n->words;

	n->has_in = true;
	lex_take(p);
	p->assign_ok = false;
	while (lex_peek(p)->kind == TOK_WORD) {
		*end = lex_peek(p)->word;
		end = &(*end)->next;
		lex_take(p);
		p->assign_ok = false;
	}
	if (lex_peek(p)->kind != TOK_SEMI && lex_peek(p)->kind != TOK_NEWLINE)
		parse_unexpected(p, "';' or a newline");
	else
		lex_take(p);
}

/* for and select. Without "in" the loop goes over the arguments; braces as a body are allowed only
 * behind a separator. */
static struct shell_node *parse_for(struct parser *p)
{
	size_t from = lex_peek(p)->at.start;
	bool is_select = parse_keyword_of(lex_peek(p)) == KW_SELECT;

	lex_take(p);
	struct token *t = lex_peek(p);
	if (!is_select && t->kind == TOK_OPEN && t->at.end < p->n && p->s[t->at.end] == '(')
		return parse_for_arith(p, from, t->at.end + 1);
	if (t->kind != TOK_WORD) {
		parse_unexpected(p, "a variable's name");
		return NULL;
	}
	struct shell_node *n = parse_new_node(p, SH_FOR, from);
	parse_set_name(p, n, t->word);
	lex_take(p);
	bool allows_brace = false;
	if (lex_peek(p)->kind == TOK_SEMI) {
		lex_take(p);
		allows_brace = true;
		parse_skip_newlines(p);
	} else {
		parse_skip_newlines(p);
		if (parse_keyword_of(lex_peek(p)) == KW_IN) {
			parse_for_words(p, n);
			allows_brace = true;
			parse_skip_newlines(p);
		}
	}
	n->body = parse_loop_body(p, allows_brace);
	return n;
}

/* pattern | pattern ) of one clause of case. */
static bool parse_patterns(struct parser *p, struct shell_clause *c)
{
	struct shell_word **end = &c->patterns;

	for (;;) {
		struct token *t = lex_peek(p);
		if (t->kind != TOK_WORD) {
			parse_unexpected(p, "a pattern");
			return false;
		}
		*end = t->word;
		end = &t->word->next;
		lex_take(p);
		p->assign_ok = false;
		enum token_kind after = lex_peek(p)->kind;
		if (after != TOK_PIPE && after != TOK_CLOSE) {
			parse_unexpected(p, "'|' or ')'");
			return false;
		}
		lex_take(p);
		if (after == TOK_CLOSE)
			return true;
		p->assign_ok = false;
	}
}

/* ;; ;& and ;;& all just end a clause: the evaluator judges every clause anyway. */
static struct shell_node *parse_case(struct parser *p)
{
	struct shell_node *n = parse_new_node(p, SH_CASE, lex_peek(p)->at.start);
	struct shell_clause **end = &n->clauses;

	lex_take(p);
	p->assign_ok = false;
	if (lex_peek(p)->kind != TOK_WORD) {
		parse_unexpected(p, "a word");
		return NULL;
	}
	n->words = lex_peek(p)->word;
	lex_take(p);
	parse_skip_newlines(p);
	if (!parse_take_keyword(p, KW_IN))
		return NULL;
	for (;;) {
		p->assign_ok = false;
		parse_skip_newlines(p);
		if (parse_keyword_of(lex_peek(p)) == KW_ESAC)
			break;
		struct shell_clause *c = arena_zalloc(p->a, 1, sizeof(*c));
		*end = c;
		end = &c->next;
		if (lex_peek(p)->kind == TOK_OPEN) {
			lex_take(p);
			p->assign_ok = false;
		}
		if (!parse_patterns(p, c))
			return NULL;
		c->body = parse_list(p);
		enum token_kind after = lex_peek(p)->kind;
		if (after == TOK_BREAK || after == TOK_FALL || after == TOK_TEST_NEXT)
			lex_take(p);
		else if (parse_keyword_of(lex_peek(p)) == KW_ESAC)
			break;
		else {
			parse_unexpected(p, "';;' or 'esac'");
			return NULL;
		}
	}
	lex_take(p);
	return n;
}

/* function NAME [()] body */
static struct shell_node *parse_function_keyword(struct parser *p)
{
	size_t from = lex_peek(p)->at.start;

	lex_take(p);
	p->assign_ok = false;
	if (lex_peek(p)->kind != TOK_WORD) {
		parse_unexpected(p, "the name of a function");
		return NULL;
	}
	struct shell_node *n = parse_new_node(p, SH_FUNCTION, from);
	parse_set_name(p, n, lex_peek(p)->word);
	lex_take(p);
	if (lex_peek(p)->kind == TOK_OPEN) {
		/* `function f (a)` has a subshell for a body; `function f () body` has an empty pair first. */
		size_t at = p->pos;
		while (at < p->n && (p->s[at] == ' ' || p->s[at] == '\t'))
			at++;
		if (at < p->n && p->s[at] == ')') {
			lex_take(p);
			(void)lex_peek(p);
			lex_take(p);
		}
	}
	return parse_function_body(p, n);
}

/* coproc [NAME] command. A first word is a name only when a compound command follows; otherwise it is
 * the program. */
static struct shell_node *parse_coproc(struct parser *p)
{
	struct shell_node *n = parse_new_node(p, SH_COPROC, lex_peek(p)->at.start);

	lex_take(p);
	/* A coprocess runs beside the shell. */
	n->is_background = true;
	struct token *t = lex_peek(p);
	if (t->kind != TOK_WORD || t->word->name_n || parse_keyword_of(t) != KW_NONE) {
		n->items = parse_command(p);
		return n;
	}
	struct shell_word *first = t->word;
	lex_take(p);
	if (parse_is_compound(lex_peek(p))) { /* coproc NAME { ...; } */
		parse_set_name(p, n, first);
		n->items = parse_command(p);
	} else {
		n->items = parse_simple(p, first);
	}
	return n;
}

/* The compound command at the next token; NULL without failure when there is none. */
struct shell_node *parse_compound(struct parser *p)
{
	struct token *t = lex_peek(p);

	if (t->kind == TOK_OPEN) {
		struct shell_node *n = parse_arith(p);
		return n ? n : parse_subshell(p);
	}
	switch (parse_keyword_of(t)) {
	case KW_IF:
		return parse_if(p);
	case KW_WHILE:
	case KW_UNTIL:
		return parse_while(p);
	case KW_FOR:
	case KW_SELECT:
		return parse_for(p);
	case KW_CASE:
		return parse_case(p);
	case KW_OPEN:
		return parse_group(p);
	case KW_COND:
		return parse_cond(p);
	case KW_FUNCTION:
		return parse_function_keyword(p);
	case KW_COPROC:
		return parse_coproc(p);
	default:
		return NULL;
	}
}
