/* shell.c — the commands of the shell's grammar: lists, pipelines, compound commands, functions.
 *
 * A recursive descent with one token of lookahead.  Reserved words are words like any other until they stand where a
 * command starts.  Lists and pipelines are chains, so only real nesting recurses, and that is bounded. */
#include "propose/shell.h"

#include "propose/shell_internal.h"

#include <stdarg.h>

enum keyword {
	KW_NONE,
	KW_IF,
	KW_THEN,
	KW_ELSE,
	KW_ELIF,
	KW_FI,
	KW_DO,
	KW_DONE,
	KW_CASE,
	KW_ESAC,
	KW_WHILE,
	KW_UNTIL,
	KW_FOR,
	KW_SELECT,
	KW_FUNCTION,
	KW_IN,
	KW_TIME,
	KW_COPROC,
	KW_OPEN, /* { */
	KW_CLOSE, /* } */
	KW_NOT,
	KW_COND /* [[ */
};

static const char *const keywords[] = { "", "if", "then", "else", "elif", "fi", "do", "done", "case", "esac",
	"while", "until", "for", "select", "function", "in", "time", "coproc", "{", "}", "!", "[[" };

static struct shell_node *parse_list(struct parser *p);
static struct shell_node *parse_pipeline(struct parser *p);
static struct shell_node *parse_command(struct parser *p);
static bool parse_redirs(struct parser *p, struct shell_redir ***end);

void parse_fail(struct parser *p, const char *code, size_t at, const char *fmt, ...)
{
	char text[160];
	va_list ap;

	if (p->is_failed)
		return;
	p->is_failed = true;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (!p->error->code) {
		size_t line = 1, start = 0;
		if (at > p->source->n)
			at = p->source->n;
		for (size_t i = 0; i < at; i++)
			if (p->s[i] == '\n') {
				line++;
				start = i + 1;
			}
		p->error->code = code;
		p->error->text = arena_printf(p->a, "line %zu, column %zu: %s", line, at - start + 1, text);
		p->error->at = (struct span){ (uint32_t)at, (uint32_t)at };
		p->error->source = p->source;
	}
	p->pos = p->n = 0;
	p->has_token = false;
}

bool parse_enter(struct parser *p)
{
	if (!p->is_failed && p->nesting >= SHELL_MAX_NESTING)
		parse_fail(p, "depth_limit", p->pos, "nested more than %d levels deep", SHELL_MAX_NESTING);
	p->nesting++;
	return !p->is_failed;
}

bool parse_count(struct parser *p)
{
	if (p->limits->nodes >= p->limits->max_nodes) {
		parse_fail(p, "node_limit", p->pos, "more than %u words and commands", p->limits->max_nodes);
		return false;
	}
	p->limits->nodes++;
	return true;
}

bool shell_word_is(const struct shell_word *w, const char *text)
{
	const struct shell_part *part = w->first;
	size_t n = strlen(text);

	return part && !part->next && part->kind == PART_TEXT && !part->is_quoted && part->text_n == n &&
		memcmp(part->text, text, n) == 0;
}

static struct shell_node *new_node(struct parser *p, enum shell_kind kind, size_t from)
{
	struct shell_node *n = arena_zalloc(p->a, 1, sizeof(*n));

	(void)parse_count(p);
	n->kind = kind;
	n->at.start = (uint32_t)from;
	return n;
}

static enum keyword keyword_of(const struct token *t)
{
	if (t->kind != TOK_WORD)
		return KW_NONE;
	const struct shell_part *part = t->word->first;
	if (!part || part->next || part->kind != PART_TEXT || part->is_quoted || part->text_n > 8)
		return KW_NONE;
	for (enum keyword k = KW_IF; k <= KW_COND; k++)
		if (keywords[k][0] == part->text[0] && shell_word_is(t->word, keywords[k]))
			return k;
	return KW_NONE;
}

static void describe(const struct parser *p, const struct token *t, char to[32])
{
	size_t n = t->at.end - t->at.start;

	if (t->kind == TOK_END)
		snprintf(to, 32, "the end");
	else if (t->kind == TOK_NEWLINE)
		snprintf(to, 32, "a newline");
	else
		snprintf(to, 32, "'%.*s'", n > 20 ? 20 : (int)n, p->s + t->at.start);
}

static void unexpected(struct parser *p, const char *expected)
{
	struct token *t = lex_peek(p);
	char found[32];

	if (p->is_failed)
		return;
	describe(p, t, found);
	parse_fail(p, "parse_error", t->at.start, "expected %s, found %s", expected, found);
}

static bool take_keyword(struct parser *p, enum keyword k)
{
	if (keyword_of(lex_peek(p)) != k) {
		char expected[16];
		snprintf(expected, sizeof(expected), "'%s'", keywords[k]);
		unexpected(p, expected);
		return false;
	}
	lex_take(p);
	return true;
}

static void skip_newlines(struct parser *p)
{
	while (lex_peek(p)->kind == TOK_NEWLINE)
		lex_take(p);
}

static bool ends_list(const struct token *t)
{
	switch (t->kind) {
	case TOK_END:
	case TOK_CLOSE:
	case TOK_BREAK:
	case TOK_FALL:
	case TOK_TEST_NEXT:
		return true;
	case TOK_WORD:
		break;
	default:
		return false;
	}
	switch (keyword_of(t)) {
	case KW_THEN:
	case KW_ELSE:
	case KW_ELIF:
	case KW_FI:
	case KW_DO:
	case KW_DONE:
	case KW_ESAC:
	case KW_CLOSE:
	case KW_IN:
		return true;
	default:
		return false;
	}
}

static struct shell_node *parse_and_or(struct parser *p)
{
	struct shell_node *first = parse_pipeline(p), *last = first;

	if (p->is_failed)
		return NULL;
	struct shell_node *group = NULL;
	for (struct token *t = lex_peek(p); t->kind == TOK_AND || t->kind == TOK_OR; t = lex_peek(p)) {
		enum shell_join join = t->kind == TOK_AND ? JOIN_AND : JOIN_OR;
		if (!group) {
			group = new_node(p, SH_AND_OR, first->at.start);
			group->items = first;
		}
		lex_take(p);
		skip_newlines(p);
		struct shell_node *n = parse_pipeline(p);
		if (p->is_failed)
			return NULL;
		n->join = join;
		last = last->next = n;
	}
	if (!group)
		return first;
	group->at.end = last->at.end;
	return group;
}

/* and-or lists with their separators, up to a token that cannot start one.  On failure what was complete remains. */
static struct shell_node *parse_list(struct parser *p)
{
	struct shell_node *first = NULL, **end = &first;

	for (;;) {
		skip_newlines(p);
		if (ends_list(lex_peek(p)))
			return first;
		struct shell_node *n = parse_and_or(p);
		enum token_kind after = lex_peek(p)->kind;
		if (p->is_failed)
			return first;
		*end = n;
		end = &n->next;
		if (after == TOK_SEMI || after == TOK_AMP) {
			n->is_background = after == TOK_AMP;
			lex_take(p);
		} else if (after != TOK_NEWLINE) {
			return first;
		}
	}
}

/* A list that must hold a command. */
static struct shell_node *parse_body(struct parser *p)
{
	struct shell_node *list = parse_list(p);

	if (!list)
		unexpected(p, "a command");
	return list;
}

static bool is_compound(const struct token *t)
{
	if (t->kind == TOK_OPEN)
		return true;
	switch (keyword_of(t)) {
	case KW_IF:
	case KW_CASE:
	case KW_WHILE:
	case KW_UNTIL:
	case KW_FOR:
	case KW_SELECT:
	case KW_OPEN:
	case KW_COND:
		return true;
	default:
		return false;
	}
}

/* "time", its -p and --, and "!" in any number. */
static void parse_prefixes(struct parser *p, bool *ret_negated, bool *ret_timed)
{
	for (;;) {
		enum keyword k = keyword_of(lex_peek(p));
		if (k == KW_NOT) {
			*ret_negated = !*ret_negated;
			lex_take(p);
		} else if (k == KW_TIME) {
			*ret_timed = true;
			lex_take(p);
			if (lex_peek(p)->kind == TOK_WORD && shell_word_is(lex_peek(p)->word, "-p"))
				lex_take(p);
			if (lex_peek(p)->kind == TOK_WORD && shell_word_is(lex_peek(p)->word, "--"))
				lex_take(p);
		} else {
			return;
		}
	}
}

static bool ends_pipeline(const struct token *t)
{
	return t->kind == TOK_END || t->kind == TOK_NEWLINE || t->kind == TOK_SEMI || t->kind == TOK_AMP ||
		t->kind == TOK_AND || t->kind == TOK_OR || t->kind == TOK_CLOSE;
}

static struct shell_node *parse_pipeline(struct parser *p)
{
	size_t from = lex_peek(p)->at.start;
	bool is_negated = false, is_timed = false, has_prefix = false;

	if (lex_peek(p)->kind == TOK_WORD) {
		enum keyword k = keyword_of(lex_peek(p));
		has_prefix = k == KW_NOT || k == KW_TIME;
	}
	parse_prefixes(p, &is_negated, &is_timed);
	struct shell_node *first;
	if (has_prefix && ends_pipeline(lex_peek(p)))
		first = new_node(p, SH_SIMPLE, from);
	else
		first = parse_command(p);
	if (p->is_failed)
		return NULL;
	first->is_negated = is_negated;
	first->is_timed = is_timed;
	struct shell_node *last = first, *pipe = NULL;
	for (struct token *t = lex_peek(p); t->kind == TOK_PIPE || t->kind == TOK_PIPE_BOTH;
		t = lex_peek(p)) {
		enum shell_join join = t->kind == TOK_PIPE ? JOIN_PIPE : JOIN_PIPE_BOTH;
		if (!pipe) {
			pipe = new_node(p, SH_PIPELINE, from);
			pipe->items = first;
		}
		lex_take(p);
		skip_newlines(p);
		struct shell_node *n = parse_command(p);
		if (p->is_failed)
			return NULL;
		n->join = join;
		last = last->next = n;
	}
	if (!pipe)
		return first;
	pipe->at.end = last->at.end;
	return pipe;
}

static void add_pending(struct parser *p, struct shell_redir *r)
{
	*p->pending_end = r;
	p->pending_end = &r->next_pending;
}

static bool parse_redir(struct parser *p, struct shell_redir ***end)
{
	struct token t = *lex_peek(p);
	struct shell_redir *r = arena_zalloc(p->a, 1, sizeof(*r));

	(void)parse_count(p);
	r->op = t.op;
	r->fd = t.fd;
	r->is_fd_name = t.is_fd_name;
	r->strips_tabs = t.strips_tabs;
	r->at = t.at;
	lex_take(p);
	if (t.op == REDIR_HEREDOC) {
		if (!lex_delimiter(p, r))
			return false;
		add_pending(p, r);
		/* An empty body until the line ends, should the text end first. */
		r->word = arena_zalloc(p->a, 1, sizeof(*r->word));
		r->at.end = (uint32_t)p->pos;
	} else {
		p->assign_ok = false;
		if (lex_peek(p)->kind != TOK_WORD) {
			unexpected(p, "a word behind the redirection");
			return false;
		}
		r->word = lex_peek(p)->word;
		r->at.end = lex_peek(p)->at.end;
		lex_take(p);
	}
	**end = r;
	*end = &r->next;
	return !p->is_failed;
}

static bool parse_redirs(struct parser *p, struct shell_redir ***end)
{
	while (lex_peek(p)->kind == TOK_REDIR)
		if (!parse_redir(p, end))
			return false;
	return !p->is_failed;
}

/* Commands whose arguments may be NAME=(...). */
static bool declares(const struct shell_word *w)
{
	static const char *const names[] = { "declare", "typeset", "local", "export", "readonly", "alias",
		"eval", "let" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (shell_word_is(w, names[i]))
			return true;
	return false;
}

static struct shell_node *parse_function_body(struct parser *p, struct shell_node *n)
{
	skip_newlines(p);
	if (!is_compound(lex_peek(p))) {
		unexpected(p, "the body of a function");
		return NULL;
	}
	n->items = parse_command(p);
	n->at.end = (uint32_t)p->pos;
	return p->is_failed ? NULL : n;
}

static void set_name(struct parser *p, struct shell_node *n, const struct shell_word *w)
{
	struct buf b;

	buf_init(&b, p->a);
	for (const struct shell_part *part = w->first; part; part = part->next)
		if (part->kind == PART_TEXT)
			buf_add(&b, part->text, part->text_n);
	n->name = b.p;
	n->name_n = b.n;
}

/* name () body, with pos behind the name and "(" as the next token. */
static struct shell_node *parse_function(struct parser *p, struct shell_word *name)
{
	struct shell_node *n = new_node(p, SH_FUNCTION, name->at.start);

	set_name(p, n, name);
	lex_take(p);
	if (lex_peek(p)->kind != TOK_CLOSE) {
		unexpected(p, "')'");
		return NULL;
	}
	lex_take(p);
	return parse_function_body(p, n);
}

/* A simple command, or a function's definition.  `taken`: its first word when that was already read. */
static struct shell_node *parse_simple(struct parser *p, struct shell_word *taken)
{
	struct shell_node *n = new_node(p, SH_SIMPLE, taken ? taken->at.start : lex_peek(p)->at.start);
	struct shell_word **assign_end = &n->assigns, **word_end = &n->words;
	struct shell_redir **redir_end = &n->redirs;
	bool is_declaring = false;

	if (taken) {
		*word_end = taken;
		word_end = &taken->next;
		n->at.end = taken->at.end;
		is_declaring = declares(taken);
		p->assign_ok = is_declaring;
	}
	for (struct token *t = lex_peek(p); !p->is_failed; t = lex_peek(p)) {
		if (t->kind == TOK_REDIR) {
			if (!parse_redir(p, &redir_end))
				return NULL;
		} else if (t->kind == TOK_WORD && !n->words && t->word->name_n) {
			*assign_end = t->word;
			assign_end = &t->word->next;
			lex_take(p);
		} else if (t->kind == TOK_WORD) {
			if (!n->words)
				is_declaring = declares(t->word);
			*word_end = t->word;
			word_end = &t->word->next;
			lex_take(p);
		} else if (t->kind == TOK_OPEN && n->words && !n->words->next && !n->assigns && !n->redirs) {
			return parse_function(p, n->words);
		} else {
			break;
		}
		n->at.end = (uint32_t)p->pos;
		p->assign_ok = !n->words || is_declaring;
	}
	if (!n->words && !n->assigns && !n->redirs)
		unexpected(p, "a command");
	return p->is_failed ? NULL : n;
}

static struct shell_node *parse_group(struct parser *p)
{
	struct shell_node *n = new_node(p, SH_GROUP, lex_peek(p)->at.start);

	lex_take(p);
	n->items = parse_body(p);
	return take_keyword(p, KW_CLOSE) ? n : NULL;
}

static struct shell_node *parse_subshell(struct parser *p)
{
	struct shell_node *n = new_node(p, SH_SUBSHELL, lex_peek(p)->at.start);

	lex_take(p);
	n->items = parse_body(p);
	if (lex_peek(p)->kind != TOK_CLOSE) {
		unexpected(p, "')'");
		return NULL;
	}
	lex_take(p);
	return n;
}

/* (( ... )): NULL without failure when it is not arithmetic but a subshell in a subshell. */
static struct shell_node *parse_arith(struct parser *p)
{
	size_t from = lex_peek(p)->at.start, inner = lex_peek(p)->at.end;

	if (inner >= p->n || p->s[inner] != '(')
		return NULL;
	size_t close = lex_arith_end(p, inner + 1);
	if (close == SIZE_MAX)
		return NULL;
	struct shell_node *n = new_node(p, SH_ARITH, from);
	lex_take(p);
	p->pos = inner + 1;
	n->words = lex_bounded(p, close, false);
	p->pos = p->is_failed ? 0 : close + 2;
	return n;
}

static struct shell_node *parse_if(struct parser *p)
{
	struct shell_node *n = new_node(p, SH_IF, lex_peek(p)->at.start);
	struct shell_clause **end = &n->clauses;

	for (enum keyword k = KW_IF; k != KW_FI; k = keyword_of(lex_peek(p))) {
		struct shell_clause *c = arena_zalloc(p->a, 1, sizeof(*c));
		*end = c;
		end = &c->next;
		lex_take(p);
		if (k != KW_ELSE) {
			c->condition = parse_body(p);
			if (!take_keyword(p, KW_THEN))
				return NULL;
		}
		c->body = parse_body(p);
		enum keyword next = keyword_of(lex_peek(p));
		if (next != KW_FI && (k == KW_ELSE || (next != KW_ELIF && next != KW_ELSE))) {
			unexpected(p, "'fi'");
			return NULL;
		}
	}
	lex_take(p);
	return n;
}

/* do ... done, or { ... } where bash allows it. */
static struct shell_node *parse_loop_body(struct parser *p, bool allows_brace)
{
	bool is_brace = allows_brace && keyword_of(lex_peek(p)) == KW_OPEN;

	if (is_brace)
		lex_take(p);
	else if (!take_keyword(p, KW_DO))
		return NULL;
	struct shell_node *body = parse_body(p);
	return take_keyword(p, is_brace ? KW_CLOSE : KW_DONE) ? body : NULL;
}

static struct shell_node *parse_while(struct parser *p)
{
	struct shell_node *n = new_node(p, SH_WHILE, lex_peek(p)->at.start);

	lex_take(p);
	n->items = parse_body(p);
	n->body = parse_loop_body(p, false);
	return n;
}

/* for ((init; condition; step)), with pos behind the first parenthesis. */
static struct shell_node *parse_for_arith(struct parser *p, size_t from, size_t inner)
{
	struct shell_node *n = new_node(p, SH_FOR_ARITH, from);
	size_t close = lex_arith_end(p, inner);
	int separators = 0;

	if (close == SIZE_MAX) {
		parse_fail(p, "parse_error", inner, "this '((' is never closed");
		return NULL;
	}
	for (size_t i = inner; i < close; i++)
		separators += p->s[i] == ';';
	if (separators != 2)
		parse_fail(p, "parse_error", inner, "expected two ';' in 'for ((', found %d", separators);
	lex_take(p);
	p->pos = inner;
	n->words = lex_bounded(p, close, false);
	p->pos = p->is_failed ? 0 : close + 2;
	if (lex_peek(p)->kind == TOK_SEMI)
		lex_take(p);
	skip_newlines(p);
	n->body = parse_loop_body(p, true);
	return n;
}

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
		unexpected(p, "';' or a newline");
	else
		lex_take(p);
}

static struct shell_node *parse_for(struct parser *p)
{
	size_t from = lex_peek(p)->at.start;
	bool is_select = keyword_of(lex_peek(p)) == KW_SELECT;

	lex_take(p);
	struct token *t = lex_peek(p);
	if (!is_select && t->kind == TOK_OPEN && t->at.end < p->n && p->s[t->at.end] == '(')
		return parse_for_arith(p, from, t->at.end + 1);
	if (t->kind != TOK_WORD) {
		unexpected(p, "a variable's name");
		return NULL;
	}
	struct shell_node *n = new_node(p, SH_FOR, from);
	set_name(p, n, t->word);
	lex_take(p);
	bool allows_brace = false;
	if (lex_peek(p)->kind == TOK_SEMI) {
		lex_take(p);
		allows_brace = true;
		skip_newlines(p);
	} else {
		skip_newlines(p);
		if (keyword_of(lex_peek(p)) == KW_IN) {
			parse_for_words(p, n);
			allows_brace = true;
			skip_newlines(p);
		}
	}
	n->body = parse_loop_body(p, allows_brace);
	return n;
}

static bool parse_patterns(struct parser *p, struct shell_clause *c)
{
	struct shell_word **end = &c->patterns;

	for (;;) {
		struct token *t = lex_peek(p);
		if (t->kind != TOK_WORD) {
			unexpected(p, "a pattern");
			return false;
		}
		*end = t->word;
		end = &t->word->next;
		lex_take(p);
		p->assign_ok = false;
		enum token_kind after = lex_peek(p)->kind;
		if (after != TOK_PIPE && after != TOK_CLOSE) {
			unexpected(p, "'|' or ')'");
			return false;
		}
		lex_take(p);
		if (after == TOK_CLOSE)
			return true;
		p->assign_ok = false;
	}
}

static struct shell_node *parse_case(struct parser *p)
{
	struct shell_node *n = new_node(p, SH_CASE, lex_peek(p)->at.start);
	struct shell_clause **end = &n->clauses;

	lex_take(p);
	p->assign_ok = false;
	if (lex_peek(p)->kind != TOK_WORD) {
		unexpected(p, "a word");
		return NULL;
	}
	n->words = lex_peek(p)->word;
	lex_take(p);
	skip_newlines(p);
	if (!take_keyword(p, KW_IN))
		return NULL;
	for (;;) {
		p->assign_ok = false;
		skip_newlines(p);
		if (keyword_of(lex_peek(p)) == KW_ESAC)
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
		else if (keyword_of(lex_peek(p)) == KW_ESAC)
			break;
		else {
			unexpected(p, "';;' or 'esac'");
			return NULL;
		}
	}
	lex_take(p);
	return n;
}

static struct shell_node *parse_function_keyword(struct parser *p)
{
	size_t from = lex_peek(p)->at.start;

	lex_take(p);
	p->assign_ok = false;
	if (lex_peek(p)->kind != TOK_WORD) {
		unexpected(p, "the name of a function");
		return NULL;
	}
	struct shell_node *n = new_node(p, SH_FUNCTION, from);
	set_name(p, n, lex_peek(p)->word);
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

static struct shell_node *parse_coproc(struct parser *p)
{
	struct shell_node *n = new_node(p, SH_COPROC, lex_peek(p)->at.start);

	lex_take(p);
	n->is_background = true;
	struct token *t = lex_peek(p);
	if (t->kind != TOK_WORD || t->word->name_n || keyword_of(t) != KW_NONE) {
		n->items = parse_command(p);
		return n;
	}
	struct shell_word *first = t->word;
	lex_take(p);
	if (is_compound(lex_peek(p))) { /* coproc NAME { ...; } */
		set_name(p, n, first);
		n->items = parse_command(p);
	} else {
		n->items = parse_simple(p, first);
	}
	return n;
}

/* The compound command at the next token; NULL without failure when there is none. */
static struct shell_node *parse_compound(struct parser *p)
{
	struct token *t = lex_peek(p);

	if (t->kind == TOK_OPEN) {
		struct shell_node *n = parse_arith(p);
		return n || p->is_failed ? n : parse_subshell(p);
	}
	switch (keyword_of(t)) {
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

static struct shell_node *parse_command(struct parser *p)
{
	if (!parse_enter(p))
		return NULL;
	enum keyword k = keyword_of(lex_peek(p));
	if (k == KW_NOT || (ends_list(lex_peek(p)) && k != KW_NONE)) {
		unexpected(p, "a command");
		return NULL;
	}
	struct shell_node *n = parse_compound(p);
	if (n && !p->is_failed) {
		struct shell_redir **end = &n->redirs;
		n->at.end = (uint32_t)(p->has_token ? p->token.at.start : p->pos);
		if (n->kind != SH_FUNCTION && n->kind != SH_COPROC)
			(void)parse_redirs(p, &end);
		if (lex_peek(p)->kind == TOK_WORD || lex_peek(p)->kind == TOK_OPEN) {
			if (keyword_of(lex_peek(p)) == KW_NONE || !ends_list(lex_peek(p)))
				unexpected(p, "the end of the command");
		}
	} else if (!p->is_failed) {
		n = parse_simple(p, NULL);
	}
	p->nesting--;
	return p->is_failed ? NULL : n;
}

struct shell_script *parse_nested(struct parser *p, size_t open_at)
{
	struct shell_script *script = arena_zalloc(p->a, 1, sizeof(*script));
	struct shell_redir *pending = p->pending, **pending_end = p->pending_end;
	bool assign_ok = p->assign_ok;

	script->source = p->source;
	if (!parse_enter(p))
		return script;
	p->pending = NULL;
	p->pending_end = &p->pending;
	p->has_token = false;
	p->assign_ok = true;
	script->first = parse_list(p);
	if (!p->is_failed && lex_peek(p)->kind == TOK_END)
		parse_fail(p, "parse_error", open_at, "this '(' is never closed");
	else if (!p->is_failed && lex_peek(p)->kind != TOK_CLOSE)
		unexpected(p, "')'");
	lex_take(p);
	/* A body that did not start inside starts behind the line that holds the whole substitution. */
	if (pending) {
		*pending_end = p->pending;
		if (!p->pending)
			p->pending_end = pending_end;
		p->pending = pending;
	}
	p->assign_ok = assign_ok;
	p->nesting--;
	return script;
}

struct shell_script *parse_other(
	struct parser *p, const char *text, size_t n, struct span in_parent, const char *via)
{
	struct shell_script *script = arena_zalloc(p->a, 1, sizeof(*script));
	struct source *source = arena_alloc(p->a, sizeof(*source));

	*source = (struct source){ text, n, p->source, in_parent, via };
	script->source = source;
	if (!parse_enter(p))
		return script;
	struct parser inner = { .a = p->a,
		.source = source,
		.limits = p->limits,
		.error = p->error,
		.s = text,
		.n = n,
		.nesting = p->nesting,
		.assign_ok = true };
	inner.pending_end = &inner.pending;
	script->first = parse_list(&inner);
	if (!inner.is_failed && lex_peek(&inner)->kind != TOK_END)
		unexpected(&inner, "a command");
	if (inner.is_failed) {
		p->is_failed = true;
		p->pos = p->n = 0;
	}
	p->nesting--;
	return script;
}

void shell_parse(struct arena *a, const struct source *source, struct shell_limits *limits,
	struct shell_script *ret, struct shell_error *ret_error)
{
	struct parser p = { .a = a,
		.source = source,
		.limits = limits,
		.error = ret_error,
		.s = source->text,
		.n = source->n,
		.assign_ok = true };
	const char *nul = source->n ? memchr(source->text, '\0', source->n) : NULL;

	p.pending_end = &p.pending;
	*ret_error = (struct shell_error){ 0 };
	*ret = (struct shell_script){ source, NULL };
	if (source->n > WALK_MAX_TEXT) {
		parse_fail(&p, "size_limit", 0, "longer than %d bytes", WALK_MAX_TEXT);
		return;
	}
	if (nul) {
		parse_fail(&p, "parse_error", (size_t)(nul - source->text), "a NUL byte");
		return;
	}
	ret->first = parse_list(&p);
	if (!p.is_failed && lex_peek(&p)->kind != TOK_END)
		unexpected(&p, "a command");
}
