/* code.h — inside the reading of inline code: the tokens code_lex.c cuts, and code.c looks at. */
#ifndef PROPOSE_PROGRAMS_CODE_H
#define PROPOSE_PROGRAMS_CODE_H

#include "propose/programs/programs.h"

#include <string.h>

enum { PY = 1, PERL = 2, RUBY = 4, NODE = 8, PHP = 16, LUA = 32, AWK = 64, OTHER = 128, ANY = 255 };
enum token_kind { T_END, T_NAME, T_STRING, T_NUMBER, T_MARK };

/* A piece of code. Texts of strings are copies with their escapes removed; all others point into the
 * code. */
struct token {
	enum token_kind kind;
	const char *text; /* of a string: the value */
	size_t n;
	bool is_computed; /* a string with ${...}, #{...} or f"{...}" in it */
	bool is_command; /* `...`, qx(...), %x(...) */
	bool is_read; /* the literal name of a file that is only read */
};

enum { TOKENS_MAX = 1 << 16, IMPORTS_MAX = 64, IMPORTED_NAMES = 128 };

/* One text of code being looked at. */
struct code {
	struct call *k;
	unsigned language;
	struct token *v;
	size_t n;
	/* what was seen anywhere, for what only the whole can tell */
	size_t imports[IMPORTS_MAX], import_count; /* places of `as` and `from` */
	bool writes_unknown; /* a file is changed whose name is not a literal */
	bool reads_unknown; /* a file is read whose name is not a literal */
	bool has_socket, has_dup, has_shell_text, decodes, fetches, loops, forks, child_process, any,
		imports_overflow;
};

enum { STRINGS_MAX = 32 };
/* The arguments of a call, as far as they are literal. */
struct arguments {
	struct word strings[STRINGS_MAX];
	size_t at[STRINGS_MAX]; /* their tokens */
	size_t n;
	bool is_list; /* an array, or several strings */
	bool is_computed; /* something that is no literal stands among them */
	bool says_recursive;
	const char *mode; /* mode='w' */
	bool says_write; /* O_WRONLY, 1, inplace=True */
	bool has_parens;
};

/* code_files.c: the arguments of a call, from the token behind the function's name. */
void read_arguments(struct code *c, size_t i, struct arguments *r);
/* Some string was put together from pieces.  A command that was is not taken at its word: that is how names are hidden. */
bool is_joined(const struct code *c, size_t i);
struct word dynamic_word(struct code *c); /* an operand nobody knows */
/* What calls do to files; `i` is the function's name. */
void file_effect(struct code *c, size_t i, enum tag t, unsigned flags, size_t count);
void write_effect(struct code *c, size_t i, unsigned flags);
void move_effect(struct code *c, size_t i);
void permit_effect(struct code *c, size_t i);
void open_effect(struct code *c, size_t i);
void read_effect(struct code *c, size_t i);
void copy_effect(struct code *c, size_t i, unsigned flags);
void link_effect(struct code *c, size_t i);
void extract_effect(struct code *c, size_t i);
void load_effect(struct code *c, size_t i);
/* The last thing: files whose names are put together are judged by the paths that the code mentions, and by its operands. */
void mentioned_effects(struct code *c);

/* The bit of a language by its name; OTHER for what is not known. */
unsigned code_language(const char *name);
/* Fill c->v, which has room for n + 3 tokens (TOKENS_MAX + 2 at most); the last one is T_END. */
void code_lex(struct code *c, const char *p, const char *end);

static inline bool is_mark(const struct token *t, const char *mark)
{
	return t->kind == T_MARK && t->n == strlen(mark) && memcmp(t->text, mark, t->n) == 0;
}

static inline bool is_name(const struct token *t, const char *list)
{
	return t->kind == T_NAME && list_has(list, t->text, t->n);
}

#endif
