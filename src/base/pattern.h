/* pattern.h — regular expressions with walls around them (PCRE2, UTF-8).
 *
 * Patterns come from policies, schemas and rule files, the text from anybody, so every match has a budget: a pattern
 * that backtracks too long gives an error, never an answer.  The caller treats that error as it treats everything it did
 * not understand: not allowed, not valid, report it.
 *
 * A compiled pattern lives in the arena and is not changed by matching. */
#ifndef BASE_PATTERN_H
#define BASE_PATTERN_H

#include "base/err.h"
#include "base/mem.h"

#include <stdbool.h>
#include <stddef.h>

enum {
	PATTERN_CASELESS = 1,
	PATTERN_MULTILINE = 4, /* ^ and $ at line ends, too */
	PATTERN_DOTALL = 8, /* . matches a newline */
	PATTERN_ECMA =
		16, /* what JSON Schema means: \d \w \s are ASCII, $ is the very end, \uHHHH is known */
	PATTERN_BYTES =
		32 /* bytes, not characters: for any text; searching on from a hit costs no check of the rest */
};

struct pattern;

/* PATTERN_SYNTAX names the offset and the reason.  Patterns longer than 64 KiB are refused (PATTERN_SIZE). */
int pattern_compile(
	struct arena *a, const char *regex, size_t n, unsigned flags, struct pattern **ret, struct err *e);

struct pattern_span {
	size_t start, end;
};

/* Search `text` from offset `from` on.  1: found, *ret (may be NULL) says where; 0: not there; negative: E_LIMIT with
 * PATTERN_LIMIT when the budget ran out, E_INPUT with PATTERN_TEXT when the text is not UTF-8. */
int pattern_search(const struct pattern *p, const char *text, size_t n, size_t from, struct pattern_span *ret,
	struct err *e);

#endif
