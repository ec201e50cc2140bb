/* shell.c — the commands of the shell's grammar: lists, pipelines, simple commands, functions.
 *
 * A recursive descent with one token of lookahead. Reserved words are words like any other until they
 * stand where a command starts. Lists and pipelines are chains, so only real nesting recurses, and that
 * is bounded by parse_enter().
 *
 * A failure needs no special way out: parse_fail() keeps the first error and makes the rest of the text
 * read as its end, so every loop stops by itself. Whoever builds a node checks is_failed and gives NULL;
 * a list keeps the commands that were complete before the failure, because a shell would have run them. */
#include "propose/shell/shell.h"

#include "propose/shell/parser.h"

#include <stdarg.h>

static const char *const keywords[] = { "", "if", "then", "else", "elif", "fi", "do", "done", "case", "esac",
	"while", "until", "for", "select", "function", "in", "time", "coproc", "{", "}", "!", "[[" };

static struct shell_node *parse_pipeline(struct parser *p);
static bool parse_redirs(struct parser *p, struct shell_redir ***end);

/* The place of the error is counted in lines and columns of the text that is being parsed, for people. */
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
	size_t line = 1, start = 0;
	for (size_t i = 0; i < at; i++)
		if (p->s[i] == '\n') {
			line++;
			start = i + 1;
		}
	p->error->code = code;
	p->error->text = arena_printf(p->a, "line %zu, column %zu: %s", line, at - start + 1, text);
	p->error->at = (struct span){ (uint32_t)at, (uint32_t)at };
	p->error->source = p->source;
	p->pos = p->n = 0;
	p->has_token = false;
}

/* The level is counted even on failure, so that callers can always count it back. */
bool parse_enter(struct parser *p)
{
	if (!p->is_failed && p->nesting >= SHELL_MAX_NESTING)
		parse_fail(p, "depth_limit", p->pos, "nested more than %d levels deep", SHELL_MAX_NESTING);
	p->nesting++;
	return !p->is_failed;
}

/* The limit is shared by all texts of one analysis (struct shell_limits), so nesting cannot multiply it. */
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

struct shell_node *parse_new_node(struct parser *p, enum shell_kind kind, size_t from)
{
	struct shell_node *n = arena_zalloc(p->a, 1, sizeof(*n));

	(void)parse_count(p);
	n->kind = kind;
	n->at.start = (uint32_t)from;
	return n;
}

/* Which reserved word this token is. A quoted word is never one. It is for the caller to know whether a
 * reserved word may stand here. */
enum keyword parse_keyword_of(const struct token *t)
{
	if (t->kind != TOK_WORD)
		return KW_NONE;
	const struct shell_part *part = t->word->first;
	if (part->next || part->kind != PART_TEXT || part->is_quoted || part->text_n > 8)
		return KW_NONE;
	for (enum keyword k = KW_IF; k <= KW_COND; k++)
		if (keywords[k][0] == part->text[0] && shell_word_is(t->word, keywords[k]))
			return k;
	return KW_NONE;
}

/* What an error message calls the token that was found. */
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

void parse_unexpected(struct parser *p, const char *expected)
{
	struct token *t = lex_peek(p);
	char found[32];

	if (p->is_failed)
		return;
	describe(p, t, found);
	parse_fail(p, "parse_error", t->at.start, "expected %s, found %s", expected, found);
}

bool parse_take_keyword(struct parser *p, enum keyword k)
{
	if (parse_keyword_of(lex_peek(p)) != k) {
		char expected[16];
		snprintf(expected, sizeof(expected), "'%s'", keywords[k]);
		parse_unexpected(p, expected);
		return false;
	}
	lex_take(p);
	return true;
}

/* Reading the first newline also reads the here-documents that wait for it, so the newlines directly
 * behind it can be skipped as plain bytes. */
void parse_skip_newlines(struct parser *p)
{
	while (lex_peek(p)->kind == TOK_NEWLINE) {
		lex_take(p);
		while (p->pos < p->n && p->s[p->pos] == '\n')
			p->pos++;
	}
}

/* Tokens that cannot start a command: they end the list, and the construct around it decides whether
 * they fit. */
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
	switch (parse_keyword_of(t)) {
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

/* Pipelines joined by && and ||. A single pipeline is returned as it is, without a node around it. */
static struct shell_node *parse_and_or(struct parser *p)
{
	struct shell_node *first = parse_pipeline(p), *last = first;

	if (p->is_failed)
		return NULL;
	struct shell_node *group = NULL;
	for (struct token *t = lex_peek(p); t->kind == TOK_AND || t->kind == TOK_OR; t = lex_peek(p)) {
		enum shell_join join = t->kind == TOK_AND ? JOIN_AND : JOIN_OR;
		if (!group) {
			group = parse_new_node(p, SH_AND_OR, first->at.start);
			group->items = first;
		}
		lex_take(p);
		parse_skip_newlines(p);
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

/* and-or lists with their separators, up to a token that cannot start one. On failure what was complete
 * remains. */
struct shell_node *parse_list(struct parser *p)
{
	struct shell_node *first = NULL, **end = &first;

	for (;;) {
		parse_skip_newlines(p);
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

/* A list that must hold a command: the shell refuses an empty body. */
struct shell_node *parse_body(struct parser *p)
{
	struct shell_node *list = parse_list(p);

	if (!list)
		parse_unexpected(p, "a command");
	return list;
}

/* Whether the token starts a compound command that may be the body of a function. */
bool parse_is_compound(const struct token *t)
{
	if (t->kind == TOK_OPEN)
		return true;
	switch (parse_keyword_of(t)) {
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

/* "time", its -p and --, and "!" in any number. Each "!" turns the sense round. */
static void parse_prefixes(struct parser *p, bool *ret_negated, bool *ret_timed)
{
	for (;;) {
		enum keyword k = parse_keyword_of(lex_peek(p));
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

/* Commands joined by | and |&. "!" and "time" may also stand alone, as in bash; then the command is
 * empty. */
static struct shell_node *parse_pipeline(struct parser *p)
{
	size_t from = lex_peek(p)->at.start;
	bool is_negated = false, is_timed = false, has_prefix = false;

	if (lex_peek(p)->kind == TOK_WORD) {
		enum keyword k = parse_keyword_of(lex_peek(p));
		has_prefix = k == KW_NOT || k == KW_TIME;
	}
	parse_prefixes(p, &is_negated, &is_timed);
	struct shell_node *first;
	if (has_prefix && ends_pipeline(lex_peek(p)))
		first = parse_new_node(p, SH_SIMPLE, from);
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
			pipe = parse_new_node(p, SH_PIPELINE, from);
			pipe->items = first;
		}
		lex_take(p);
		parse_skip_newlines(p);
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

/* The body of a here-document starts behind the end of the present line; until then the redirection
 * waits in a queue. */
static void add_pending(struct parser *p, struct shell_redir *r)
{
	*p->pending_end = r;
	p->pending_end = &r->next_pending;
}

/* One redirection with its word. */
static bool parse_redir(struct parser *p, struct shell_redir ***end)
{
	/* A copy, because reading the word overwrites the token. */
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
			parse_unexpected(p, "a word behind the redirection");
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

/* Commands whose arguments may be NAME=(...): behind them an array is allowed where otherwise "(" is an
 * error. */
static bool declares(const struct shell_word *w)
{
	static const char *const names[] = { "declare", "typeset", "local", "export", "readonly", "alias",
		"eval", "let" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (shell_word_is(w, names[i]))
			return true;
	return false;
}

/* Any compound command may be the body of a function. */
struct shell_node *parse_function_body(struct parser *p, struct shell_node *n)
{
	parse_skip_newlines(p);
	if (!parse_is_compound(lex_peek(p))) {
		parse_unexpected(p, "the body of a function");
		return NULL;
	}
	n->items = parse_command(p);
	n->at.end = (uint32_t)p->pos;
	return p->is_failed ? NULL : n;
}

/* The name of a function or variable, with its quotes removed. */
void parse_set_name(struct parser *p, struct shell_node *n, const struct shell_word *w)
{
	struct buf b;

	buf_init(&b, p->a);
	for (const struct shell_part *part = w->first; part; part = part->next)
		if (part->kind == PART_TEXT)
			buf_add(&b, part->text, part->text_n);
	n->name = b.p;
	n->name_n = b.n;
}

/* name () body; the next token is "(". */
static struct shell_node *parse_function(struct parser *p, struct shell_word *name)
{
	struct shell_node *n = parse_new_node(p, SH_FUNCTION, name->at.start);

	parse_set_name(p, n, name);
	lex_take(p);
	if (lex_peek(p)->kind != TOK_CLOSE) {
		parse_unexpected(p, "')'");
		return NULL;
	}
	lex_take(p);
	return parse_function_body(p, n);
}

/* A simple command, or the definition of a function, which cannot be told apart before the "(" is seen.
 * `taken` is the first word when it was already read. assign_ok tells the lexer before each word whether
 * NAME=(...) may stand there. */
struct shell_node *parse_simple(struct parser *p, struct shell_word *taken)
{
	struct shell_node *n = parse_new_node(p, SH_SIMPLE, taken ? taken->at.start : lex_peek(p)->at.start);
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
		parse_unexpected(p, "a command");
	return p->is_failed ? NULL : n;
}

/* A compound or simple command with the redirections behind it. A word directly behind a compound
 * command is an error. */
struct shell_node *parse_command(struct parser *p)
{
	if (!parse_enter(p))
		return NULL;
	enum keyword k = parse_keyword_of(lex_peek(p));
	/* A reserved word that cannot start a command is an error here, as in bash. */
	if (k == KW_NOT || (ends_list(lex_peek(p)) && k != KW_NONE)) {
		parse_unexpected(p, "a command");
		return NULL;
	}
	struct shell_node *n = parse_compound(p);
	if (n && !p->is_failed) {
		struct shell_redir **end = &n->redirs;
		n->at.end = (uint32_t)(p->has_token ? p->token.at.start : p->pos);
		/* The redirections behind these belong to their body, which has taken them already. */
		if (n->kind != SH_FUNCTION && n->kind != SH_COPROC)
			(void)parse_redirs(p, &end);
		if (lex_peek(p)->kind == TOK_WORD || lex_peek(p)->kind == TOK_OPEN) {
			if (parse_keyword_of(lex_peek(p)) == KW_NONE || !ends_list(lex_peek(p)))
				parse_unexpected(p, "the end of the command");
		}
	} else if (!p->is_failed) {
		n = parse_simple(p, NULL);
	}
	p->nesting--;
	return p->is_failed ? NULL : n;
}

/* The commands inside $( ), <( ) or >( ), with pos behind the "(". They are parsed in place, in the same
 * text; the state of the outer command (token, here-documents waiting) is put aside meanwhile. */
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
		parse_unexpected(p, "')'");
	lex_take(p);
	/* A here-document opened inside whose body has not started yet starts behind the line that holds
	 * the whole substitution; its turn comes after those that were waiting outside. */
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

/* Another text, such as what stands between backquotes after its backslashes were removed. It becomes a
 * source of its own, and an error in it is an error of the whole. */
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
		parse_unexpected(&inner, "a command");
	if (inner.is_failed) {
		p->is_failed = true;
		p->pos = p->n = 0;
	}
	p->nesting--;
	return script;
}

/* A text with a NUL byte is refused: a shell would drop the byte or stop there, and the two readings
 * differ. */
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
		parse_unexpected(&p, "a command");
}
