/* words.h — inside remember/: what a word is, when a word of a question is found in a text, and which words are nearly the same.
 *
 * One rule for whoever searches, with an index or without: the index only says where looking is worth while, and what is found there is
 * compared by the functions here.
 *
 * A run is a row of letters and digits.  Where letters and digits meet inside a run a part begins (the first three of a run).  A word of a
 * question is found at the beginning of a run or part; with three letters or more also anywhere inside a run of letters only, so that
 * `config` is found in parseConfig, and no piece of a digest is taken for a word.  Nothing is found behind the first MAX_TERM_BYTES of a run.  Scripts that put no blanks between words (Chinese,
 * Japanese, Korean, Thai, ...) are runs of their own, and anything inside is found. */
#ifndef REMEMBER_WORDS_H
#define REMEMBER_WORDS_H

#include "base/mem.h"

#include <stdbool.h>

struct run {
	const char *p;
	size_t n;
	bool is_unspaced; /* of a script without blanks */
	bool has_digit;
};
/* The next run at or behind *at, which moves behind it; false at the end.  The text is well-formed UTF-8. */
bool run_next(const char *text, size_t n, size_t *at, struct run *ret);

enum { MAX_TERMS = 24, MAX_TERM_BYTES = 96, RUN_PARTS = 3 };

/* A folded text with its length. */
struct folded {
	const char *p;
	size_t n;
};
/* Any bytes: what is no UTF-8 is replaced first. */
struct folded words_fold(struct arena *a, const char *text, size_t n);

/* A question, taken apart. */
struct question {
	bool needs_key; /* each word of `key` stands in every text that fits */
	struct folded whole; /* as asked; n 0: nothing is asked for */
	struct folded words[MAX_TERMS]; /* between blanks */
	size_t word_count;
	struct folded parts[MAX_TERMS]; /* identifiers taken apart: parse, config of parseConfig */
	size_t part_count;
	struct folded key[MAX_TERMS]; /* parts that say something: without "the", "und", ... */
	size_t key_count;
};
void question_make(struct arena *a, const char *text, struct question *ret);

/* How well a text answers. */
enum fit { FIT_NONE, FIT_TYPO, FIT_SOME, FIT_PARTS, FIT_WORDS, FIT_PHRASE, FIT_COUNT };
const char *fit_name(enum fit f);
enum fit question_fit(const struct question *q, struct folded text);
/* The same when nothing else was found: every part occurs, or a word that differs by a slip of the pen. */
bool question_fits_nearly(struct arena *a, const struct question *q, struct folded text);

/* Is this folded word found in the text, by the rule above? */
bool word_is_in(struct folded word, struct folded text);
/* So many times; *ret_whole of them are whole runs. */
size_t word_count_in(struct folded word, struct folded text, size_t *ret_whole);
/* Equal but for one slip (from four letters on) or two (from eight on): a letter too many, too few, another one, two swapped. */
bool words_are_near(struct folded x, struct folded y);

/* What the index keeps of a text: each run, its parts, pairs of unspaced letters and the last one of each row.  A token is folded text
 * without blanks. */
typedef void token_visit(void *arg, const char *token, size_t n, bool is_letters);
void words_tokens(struct folded text, token_visit *fn, void *arg);

#endif
