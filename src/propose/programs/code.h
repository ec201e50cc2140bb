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
	bool has_socket, has_dup, has_shell_text, decodes, fetches, loops, forks, child_process, any,
		imports_overflow;
};

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
