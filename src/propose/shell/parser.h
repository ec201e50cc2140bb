/* parser.h — what the halves of the parser share: lex.c (words, quoting, here-documents) and shell.c
 * (commands).  They call each other, because a word may hold commands. */
#ifndef PROPOSE_SHELL_PARSER_H
#define PROPOSE_SHELL_PARSER_H

#include "base/text.h"
#include "propose/shell/shell.h"

enum token_kind {
	TOK_END,
	TOK_NEWLINE,
	TOK_WORD,
	TOK_REDIR,
	TOK_SEMI,
	TOK_AMP,
	TOK_AND,
	TOK_OR,
	TOK_PIPE,
	TOK_PIPE_BOTH,
	TOK_OPEN,
	TOK_CLOSE,
	TOK_BREAK, /* ;; */
	TOK_FALL, /* ;& */
	TOK_TEST_NEXT /* ;;& */
};

/* One token of lookahead. Its word may hold whole commands, which are parsed by then. */
struct token {
	enum token_kind kind;
	struct span at;
	struct shell_word *word; /* WORD */
	enum redirect_op op; /* REDIR */
	bool strips_tabs, is_fd_name;
	int fd;
};

/* In the order of the table `keywords` in shell.c. */
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

/* The state of one parse. Text inside $(...) is parsed with the same state, in place; backquotes and
 * copied here-documents are texts of their own and get a parser of their own. */
struct parser {
	struct arena *a;
	const struct source *source;
	struct shell_limits *limits;
	struct shell_error *error;
	const char *s;
	size_t n, pos; /* n is lowered while a bounded piece is parsed */
	uint32_t nesting;
	bool is_failed;
	bool assign_ok; /* the next word may be NAME=(...) */
	bool has_token;
	struct token token;
	struct shell_redir *pending, **pending_end; /* here-documents whose body starts at the next newline */
};

/* The first failure is kept; the rest of the text then reads as its end, so every loop stops. */
void parse_fail(struct parser *p, const char *code, size_t at, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
bool parse_enter(struct parser *p); /* one level deeper; false: failed */
bool parse_count(struct parser *p); /* one node more; false: failed */

/* shell.c */
enum keyword parse_keyword_of(const struct token *t);
void parse_unexpected(struct parser *p, const char *expected); /* fails at the next token */
bool parse_take_keyword(struct parser *p, enum keyword k); /* false: failed */
void parse_skip_newlines(struct parser *p);
bool parse_is_compound(const struct token *t); /* starts a compound command */
struct shell_node *parse_new_node(struct parser *p, enum shell_kind kind, size_t from);
void parse_set_name(struct parser *p, struct shell_node *n, const struct shell_word *w);
/* Each gives NULL when it fails, and a list also when there is no command. */
struct shell_node *parse_list(struct parser *p);
struct shell_node *parse_body(struct parser *p); /* a list that must hold a command */
struct shell_node *parse_command(struct parser *p);
struct shell_node *parse_simple(struct parser *p, struct shell_word *taken);
struct shell_node *parse_function_body(struct parser *p, struct shell_node *n);
/* compound.c: NULL without failure when the next token starts none. */
struct shell_node *parse_compound(struct parser *p);
struct shell_script *parse_nested(
	struct parser *p, size_t open_at); /* pos is behind "(": reads through ")" */
struct shell_script *parse_other(struct parser *p, const char *text, size_t n, struct span in_parent,
	const char *via); /* another text, as its own source */

/* cond.c: [[ ... ]], which is the next token. */
struct shell_node *parse_cond(struct parser *p);

/* lex.c */
struct token *lex_peek(struct parser *p);
void lex_take(struct parser *p);
void lex_blanks(struct parser *p);
struct shell_word *lex_word(struct parser *p);
struct shell_word *lex_regex(struct parser *p); /* right side of =~ : parentheses and bars are ordinary */
/* The parts between pos and end, read as if between double quotes; pos is end afterwards. */
struct shell_word *lex_bounded(struct parser *p, size_t end, bool is_heredoc);
/* With pos behind the first "(" of "((": where the matching "))" starts, or SIZE_MAX when this is no arithmetic. */
size_t lex_arith_end(const struct parser *p, size_t from);
size_t lex_close_bracket(const struct parser *p, size_t from);

/* heredoc.c */
bool lex_delimiter(struct parser *p, struct shell_redir *r); /* the word behind << */
void lex_heredocs(struct parser *p); /* the pending bodies, which start at pos */

/* param.c */
void lex_dollar(struct parser *p, struct shell_word *w, struct shell_part ***end, bool in_quotes);

/* Parts are appended at *end. */
struct shell_part *part_add(struct parser *p, struct shell_word *w, struct shell_part ***end,
	enum part_kind kind, bool is_quoted, size_t from);
void part_add_text(struct parser *p, struct shell_word *w, struct shell_part ***end, const char *text,
	size_t n, bool is_quoted, size_t from);
void lex_single(struct parser *p, struct shell_word *w, struct shell_part ***end);
void lex_double(struct parser *p, struct shell_word *w, struct shell_part ***end);
void lex_backquote(struct parser *p, struct shell_word *w, struct shell_part ***end, bool in_quotes);
void lex_ansi(struct parser *p, struct shell_word *w, struct shell_part ***end);
/* The expression from pos to at.end, and behind it `skip` closing bytes; at.start is where the construct began. */
void lex_arith(struct parser *p, struct shell_word *w, struct shell_part ***end, struct span at, size_t skip,
	bool is_quoted);

/* One byte ahead in a text where backslash-newline is nothing. */
static inline char lex_cur(struct parser *p)
{
	while (p->pos + 1 < p->n && p->s[p->pos] == '\\' && p->s[p->pos + 1] == '\n')
		p->pos += 2;
	return p->pos < p->n ? p->s[p->pos] : '\0';
}
static inline char lex_next(struct parser *p) /* the byte behind lex_cur() */
{
	size_t at = p->pos + 1;

	while (at + 1 < p->n && p->s[at] == '\\' && p->s[at + 1] == '\n')
		at += 2;
	return at < p->n ? p->s[at] : '\0';
}
static inline void lex_skip(struct parser *p)
{
	p->pos++;
	(void)lex_cur(p);
}
static inline bool is_name_start(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
static inline bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}
static inline bool is_name_char(char c)
{
	return is_name_start(c) || is_digit(c);
}

#endif
