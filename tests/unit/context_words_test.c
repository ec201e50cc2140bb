/* context_words_test.c — what a word is and when it is found: the rule that searches with and without an index share. */
#include "remember/words.h"
#include "tools/unit.h"

#include "base/text.h"

#include <stdlib.h>
#include <string.h>

static bool is_in(const char *word, const char *text)
{
	AUTO(arena_done) struct arena a = { 0 };

	return word_is_in(words_fold(&a, word, strlen(word)), words_fold(&a, text, strlen(text)));
}

static void test_where_a_word_is_found(void **state)
{
	(void)state;
	assert_true(is_in("zebra", "A ZEBRA, here"));
	assert_true(is_in("zeb", "zebra")); /* at the beginning */
	assert_true(is_in("ebra", "zebra")); /* inside letters */
	assert_false(is_in("br", "zebra")); /* too short for that */
	assert_true(is_in("ze", "zebra"));
	assert_true(is_in("config", "parseConfig"));
	assert_true(is_in("config", "parse_config_file"));
	assert_true(is_in("256", "sha256sum")); /* where letters and digits meet */
	assert_false(is_in("9b7", "0f3a9b77c1")); /* a piece of a digest is no word */
	assert_true(is_in("gpu-box", "on GPU-BOX now"));
	assert_true(is_in("\"status\": \"failed\"", "{\"status\": \"failed\"}"));
	assert_false(is_in("nothing", ""));
}

static void test_scripts_without_blanks(void **state)
{
	(void)state;
	assert_true(is_in("서버", "메인서버가 멈췄다"));
	assert_true(is_in("決定", "今日決定した"));
	assert_true(is_in("数据", "重新加载数据库"));
	assert_false(is_in("서고", "메인서버가 멈췄다"));
	assert_true(is_in("config", "설정config파일"));
}

static enum fit fits(const char *question, const char *text)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct question q;

	question_make(&a, question, &q);
	struct folded f = words_fold(&a, text, strlen(text));
	enum fit fit = question_fit(&q, f);
	return fit == FIT_NONE && question_fits_nearly(&a, &q, f) ? FIT_TYPO : fit;
}

static void test_degrees(void **state)
{
	(void)state;
	assert_int_equal(fits("tar checkpoints", "use tar checkpoints"), FIT_PHRASE);
	assert_int_equal(fits("tar checkpoints", "checkpoints are made with tar"), FIT_WORDS);
	assert_int_equal(fits("parseConfig", "the parse of a config"), FIT_PARTS);
	assert_int_equal(fits("HTTPServerPort", "server: http, port 80"), FIT_PARTS);
	assert_int_equal(fits("how did we fix the router timeout", "router timeout: raised"), FIT_SOME);
	assert_int_equal(fits("tar checkpoints", "tar alone"), FIT_NONE);
	assert_int_equal(fits("ruoter", "the router"), FIT_TYPO);
	assert_int_equal(fits("chekpont", "a checkpoint"), FIT_TYPO);
	assert_int_equal(fits("tra", "tar"), FIT_NONE); /* too short for a slip */
	assert_int_equal(fits("", "anything"), FIT_PHRASE);
}

static void test_slips(void **state)
{
	static const struct {
		const char *x, *y;
		bool near;
	} cases[] = { { "router", "ruoter", true }, { "router", "routr", true },
		{ "router", "routter", true }, { "router", "rooter", true }, { "router", "rotor", false },
		{ "decision", "descision", true }, { "decision", "desicsion", true },
		{ "decision", "precise", false }, { "tar", "tat", false }, { "größe", "grösse", false },
		{ "größer", "grösser", false }, { "café", "cafe", true } };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(words_are_near((struct folded){ cases[i].x, strlen(cases[i].x) },
					 (struct folded){ cases[i].y, strlen(cases[i].y) }),
			cases[i].near);
}

/* ---- what the index keeps leads to everything that the rule finds ---- */

struct kept {
	const char *want;
	size_t n;
	bool is_found;
};

static void look(void *arg, const char *token, size_t n, bool is_letters)
{
	struct kept *k = arg;

	if (n >= k->n && memcmp(token, k->want, k->n) == 0)
		k->is_found = true;
	if (is_letters && memmem(token, n, k->want, k->n))
		k->is_found = true;
}

/* Every pair of unspaced letters, or the single one. */
static bool has_pairs(struct folded text, const struct run *r)
{
	size_t len, next;
	uint32_t cp;

	for (size_t i = 0; i < r->n; i += len) {
		len = text_decode(r->p + i, r->n - i, &cp);
		next = i + len < r->n ? text_decode(r->p + i + len, r->n - i - len, &cp) : 0;
		struct kept k = { r->p + i, len + next, false };
		if (i && !next)
			return true;
		words_tokens(text, look, &k);
		if (!k.is_found)
			return false;
	}
	return true;
}

static bool index_leads_to(struct folded text, struct folded word)
{
	size_t at = 0;
	struct run r;

	while (run_next(word.p, word.n, &at, &r)) {
		struct kept k = { r.p, r.n, false };
		words_tokens(text, look, &k);
		if (r.is_unspaced ? !has_pairs(text, &r) : !k.is_found)
			return false;
	}
	return true;
}

static void random_text(struct buf *to, unsigned *seed, size_t n)
{
	static const char *const pieces[] = { "a", "b", "Z", "ab", "config", "1", "22", "-", " ", "_", ".",
		"서", "버", "数", "é", "ß", "\"", ": " };

	for (size_t i = 0; i < n; i++)
		buf_adds(to, pieces[(size_t)rand_r(seed) % ARRAY_SIZE(pieces)]);
}

static void test_index_leads_to_everything(void **state)
{
	AUTO(arena_done) struct arena a = { 0 };
	unsigned seed = 7;
	size_t found = 0;

	(void)state;
	for (int i = 0; i < 6000; i++) {
		struct buf text, word;
		buf_init(&text, &a);
		buf_init(&word, &a);
		random_text(&text, &seed, 12);
		random_text(&word, &seed, 1 + (size_t)i % 3);
		struct folded t = words_fold(&a, text.p, text.n), w = words_fold(&a, word.p, word.n);
		if (word_is_in(w, t)) {
			found++;
			if (!index_leads_to(t, w))
				fail_msg("'%s' is in '%s', and the index does not know", word.p, text.p);
		}
		arena_reset(&a);
	}
	assert_true(found > 1000);
}

/* Rows of megabytes cost what they are long, not that squared. */
#ifdef __SANITIZE_ADDRESS__
enum { LONG = 256 << 10 }; /* squared that is still minutes */
#else
enum { LONG = 4 << 20 };
#endif
static void test_long_rows(void **state)
{
	AUTO(arena_done) struct arena a = { 0 };
	char *text = arena_alloc(&a, LONG);
	struct kept k = { "nothing", 7, false };
	size_t whole;

	(void)state;
	memset(text, '1', LONG);
	memcpy(text, "x2", 2);
	struct folded f = { text, LONG };
	assert_false(word_is_in((struct folded){ "11x", 3 }, f));
	assert_int_equal(word_count_in((struct folded){ "111", 3 }, f, &whole), 0);
	assert_true(word_is_in((struct folded){ "2111", 4 }, f)); /* where a part begins */
	words_tokens(f, look, &k);
	memset(text, 'a', LONG);
	assert_false(word_is_in((struct folded){ "ab", 2 }, f));
	assert_true(word_is_in((struct folded){ "aaa", 3 }, f));
	words_tokens(f, look, &k);
}

static void test_bytes_that_are_no_text(void **state)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct folded f = words_fold(&a, "ab\xff\0cd", 6);

	(void)state;
	assert_true(word_is_in((struct folded){ "cd", 2 }, f));
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_where_a_word_is_found),
		cmocka_unit_test(test_scripts_without_blanks), cmocka_unit_test(test_degrees),
		cmocka_unit_test(test_slips), cmocka_unit_test(test_index_leads_to_everything),
		cmocka_unit_test(test_long_rows), cmocka_unit_test(test_bytes_that_are_no_text) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
