/* fuzz_words.c — any bytes as a question and a text: what is found by the rule is led to by what the index keeps. */
#include "fuzz.h"
#include "remember/words.h"

#include <stdlib.h>
#include <string.h>

static void take(void *arg, const char *token, size_t n, bool is_letters)
{
	(void)is_letters;
	if (!n || memchr(token, ' ', n) || memchr(token, '"', n))
		abort(); /* a token is pasted into a question to the index */
	*(size_t *)arg += n;
}

void fuzz_one(const uint8_t *data, size_t size)
{
	AUTO(arena_done) struct arena a = { 0 };
	size_t cut = size ? data[0] % size : 0, total = 0;
	struct question q;

	if (!size)
		return;
	question_make(&a, arena_strndup(&a, (const char *)data + 1, cut), &q);
	struct folded text = words_fold(&a, (const char *)data + cut, size - cut);
	enum fit fit = question_fit(&q, text);
	(void)question_fits_nearly(&a, &q, text);
	words_tokens(text, take, &total);
	if (fit == FIT_PHRASE && q.whole.n && !memmem(text.p, text.n, q.whole.p, q.whole.n))
		abort();
}
