/* words.c — runs, questions and how they fit (words.h). */
#include "remember/words.h"

#include "base/text.h"

#include <string.h>

/* Punctuation and signs beyond ASCII; every other character there counts as a letter. */
static bool is_sign(uint32_t cp)
{
	static const struct {
		uint32_t from, to;
	} signs[] = { { 0x80, 0xa9 }, { 0xab, 0xb4 }, { 0xb6, 0xb9 }, { 0xbb, 0xbf }, { 0xd7, 0xd7 },
		{ 0xf7, 0xf7 }, { 0x2000, 0x206f }, { 0x20a0, 0x20cf }, { 0x2100, 0x2bff },
		{ 0x2e00, 0x2e7f }, { 0x3000, 0x3004 }, { 0x3008, 0x3020 }, { 0x3030, 0x3030 },
		{ 0x30fb, 0x30fb }, { 0xfe10, 0xfe1f }, { 0xfe30, 0xfe6f }, { 0xff00, 0xff0f },
		{ 0xff1a, 0xff20 }, { 0xff3b, 0xff40 }, { 0xff5b, 0xff65 }, { 0xfff0, 0xffff },
		{ 0x1f000, 0x1faff } };

	for (size_t i = 0; i < ARRAY_SIZE(signs); i++)
		if (cp <= signs[i].to)
			return cp >= signs[i].from;
	return false;
}

static bool is_unspaced(uint32_t cp)
{
	return (cp >= 0x0e00 && cp <= 0x0eff) || (cp >= 0x1000 && cp <= 0x11ff) ||
		(cp >= 0x1780 && cp <= 0x17ff) || (cp >= 0x3005 && cp <= 0x318f) ||
		(cp >= 0x31f0 && cp <= 0x31ff) || (cp >= 0x3400 && cp <= 0x9fff) ||
		(cp >= 0xac00 && cp <= 0xd7ff) || (cp >= 0xf900 && cp <= 0xfaff) ||
		(cp >= 0xff66 && cp <= 0xffdc) || (cp >= 0x20000 && cp <= 0x3ffff);
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
	return ((unsigned char)c | 0x20) >= 'a' && ((unsigned char)c | 0x20) <= 'z';
}

enum kind { KIND_NONE, KIND_LETTER, KIND_DIGIT, KIND_UNSPACED };

/* What stands at p, and how long it is; a byte that is no UTF-8 is nothing. */
static enum kind kind_at(const char *p, size_t n, size_t *ret_n)
{
	uint32_t cp = 0;

	*ret_n = 1;
	if (is_letter(*p))
		return KIND_LETTER;
	if (is_digit(*p))
		return KIND_DIGIT;
	if (!(*p & 0x80))
		return KIND_NONE;
	size_t len = text_decode(p, n, &cp);
	if (!len)
		return KIND_NONE;
	*ret_n = len;
	return is_sign(cp) ? KIND_NONE : is_unspaced(cp) ? KIND_UNSPACED : KIND_LETTER;
}

bool run_next(const char *text, size_t n, size_t *at, struct run *ret)
{
	size_t i = *at, len = 1;
	enum kind first = KIND_NONE, k;

	while (i < n && (first = kind_at(text + i, n - i, &len)) == KIND_NONE)
		i += len;
	*ret = (struct run){ .p = text + i, .is_unspaced = first == KIND_UNSPACED };
	for (; i < n && (k = kind_at(text + i, n - i, &len)) != KIND_NONE; i += len) {
		if ((k == KIND_UNSPACED) != ret->is_unspaced)
			break;
		ret->has_digit |= k == KIND_DIGIT;
	}
	ret->n = (size_t)(text + i - ret->p);
	*at = i;
	return ret->n > 0;
}

/* Sixteen bytes at once: most of what a search does is folding what it looks at. */
typedef unsigned char wide __attribute__((vector_size(16)));

static bool is_zero(wide v)
{
	unsigned char all = 0;

	for (size_t i = 0; i < sizeof(v); i++)
		all |= v[i];
	return !all;
}

/* Most text is ASCII without NUL.  False: this one is not. */
static bool fold_plain(struct arena *a, const char *text, size_t n, struct folded *ret)
{
	size_t whole = n - n % sizeof(wide);
	wide odd = { 0 };
	char *to = arena_text(a, n + 1);

	for (size_t i = 0; i < whole; i += sizeof(wide)) {
		wide v;
		memcpy(&v, text + i, sizeof(v));
		odd |= (v & 0x80) | ((wide)(v == 0) & 0x80);
		v += (wide)((v >= 'A') & (v <= 'Z')) & ('a' - 'A');
		memcpy(to + i, &v, sizeof(v));
	}
	bool is_odd = !is_zero(odd);
	for (size_t i = whole; i < n; i++) {
		is_odd |= !text[i] || text[i] & 0x80;
		to[i] = (char)(text[i] + ((text[i] >= 'A' && text[i] <= 'Z') ? 'a' - 'A' : 0));
	}
	to[n] = '\0';
	*ret = (struct folded){ to, n };
	return !is_odd;
}

struct folded words_fold(struct arena *a, const char *text, size_t n)
{
	struct folded plain;
	size_t valid_n;

	if (fold_plain(a, text, n, &plain))
		return plain;
	const char *valid = text_utf8(a, text, n, "?", &valid_n);
	/* NUL bytes would end the folded text early. */
	if (memchr(valid, 0, valid_n)) {
		char *copy = arena_strndup(a, valid, valid_n);
		for (size_t i = 0; i < valid_n; i++)
			copy[i] = copy[i] ? copy[i] : ' ';
		valid = copy;
	}
	const char *p = text_fold(a, valid, valid_n);
	return (struct folded){ p, strlen(p) };
}

/* ---- finding a word ---- */

/* Does a part begin at `place` of this run: at its start, or where letters and digits meet, the first three times? */
static bool begins_part(const struct run *r, size_t place)
{
	int met = 0;

	if (!place)
		return true;
	if (!r->has_digit)
		return false;
	for (size_t i = 1; i <= place && met < RUN_PARTS; i++)
		if (is_digit(r->p[i]) != is_digit(r->p[i - 1]) && (r->p[i] & 0xc0) != 0x80) {
			met++;
			if (i == place)
				return true;
		}
	return false;
}

/* Letters of a word, as people count them. */
static size_t length_of(struct folded w)
{
	size_t n = 0;

	for (size_t i = 0; i < w.n; i++)
		n += (w.p[i] & 0xc0) != 0x80;
	return n;
}

/* May the word be found at this place of the run? */
static bool counts_at(const struct run *r, size_t place, struct folded word)
{
	return r->is_unspaced || begins_part(r, place) ||
		(!r->has_digit && r->n <= MAX_TERM_BYTES && length_of(word) >= 3);
}

/* The run that covers a place, as far as it matters: nothing is found behind the first MAX_TERM_BYTES of a run, and no more than that is
 * looked at, however long somebody made it.  n 0: the place is behind them. */
static struct run run_at(struct folded text, size_t place)
{
	size_t from = place, at = 0, len;
	struct run r = { .p = text.p + place };

	while (from > 0) {
		size_t before = from - 1;
		while (before > 0 && (text.p[before] & 0xc0) == 0x80)
			before--;
		enum kind k = kind_at(text.p + before, text.n - before, &len);
		if (k == KIND_NONE || k == KIND_UNSPACED)
			break;
		if (place - before > MAX_TERM_BYTES)
			return r;
		from = before;
	}
	size_t most = text.n - from < 3 * MAX_TERM_BYTES ? text.n - from : 3 * MAX_TERM_BYTES;
	(void)run_next(text.p + from, most, &at, &r);
	return r;
}

/* Every run of the word must be allowed where it stands. */
static bool stands_at(struct folded word, struct folded text, size_t place)
{
	size_t at = 0;
	struct run w;

	while (run_next(word.p, word.n, &at, &w)) {
		size_t there = place + (size_t)(w.p - word.p);
		if (w.is_unspaced)
			continue; /* anywhere */
		struct run r = run_at(text, there);
		if (!r.n || !counts_at(&r, there - (size_t)(r.p - text.p), (struct folded){ w.p, w.n }))
			return false;
	}
	return true;
}

bool word_is_in(struct folded word, struct folded text)
{
	const char *p = text.p, *end = text.p + text.n;

	while (word.n && (p = memmem(p, (size_t)(end - p), word.p, word.n))) {
		if (stands_at(word, text, (size_t)(p - text.p)))
			return true;
		p++;
	}
	return false;
}

size_t word_count_in(struct folded word, struct folded text, size_t *ret_whole)
{
	const char *p = text.p, *end = text.p + text.n;
	size_t count = 0;

	*ret_whole = 0;
	while (word.n && (p = memmem(p, (size_t)(end - p), word.p, word.n))) {
		size_t place = (size_t)(p - text.p);
		if (!stands_at(word, text, place)) {
			p++;
			continue;
		}
		size_t stop = place + word.n - 1, len;
		while (stop > place && (text.p[stop] & 0xc0) == 0x80)
			stop--;
		struct run first = run_at(text, place), last = run_at(text, stop);
		count++;
		*ret_whole += kind_at(p, (size_t)(text.p + text.n - p), &len) == KIND_UNSPACED ||
			(first.p >= p && last.p + last.n <= p + word.n);
		p += word.n;
	}
	return count;
}

/* ---- a slip of the pen ---- */

enum { NEAR_LETTERS = 32 };

static size_t letters_of(struct folded w, uint32_t to[NEAR_LETTERS])
{
	size_t n = 0, len;

	for (size_t i = 0; i < w.n; i += len) {
		if (n == NEAR_LETTERS)
			return 0;
		len = text_decode(w.p + i, w.n - i, &to[n]);
		if (!len)
			return 0;
		n++;
	}
	return n;
}

static int least(int x, int y)
{
	return x < y ? x : y;
}

/* Steps from x to y, two neighbours swapped being one: rows of the usual table, three at a time. */
static int distance(const uint32_t *x, size_t xn, const uint32_t *y, size_t yn)
{
	int rows[3][NEAR_LETTERS + 1];

	for (size_t j = 0; j <= yn; j++)
		rows[0][j] = (int)j;
	for (size_t i = 1; i <= xn; i++) {
		int *now = rows[i % 3], *before = rows[(i + 2) % 3], *earlier = rows[(i + 1) % 3];
		now[0] = (int)i;
		for (size_t j = 1; j <= yn; j++) {
			now[j] = least(
				least(now[j - 1], before[j]) + 1, before[j - 1] + (x[i - 1] != y[j - 1]));
			if (i > 1 && j > 1 && x[i - 1] == y[j - 2] && x[i - 2] == y[j - 1])
				now[j] = least(now[j], earlier[j - 2] + 1);
		}
	}
	return rows[xn % 3][yn];
}

bool words_are_near(struct folded x, struct folded y)
{
	uint32_t xs[NEAR_LETTERS], ys[NEAR_LETTERS];
	size_t gap = x.n > y.n ? x.n - y.n : y.n - x.n;

	if (gap > 8 || x.n < 4)
		return false;
	size_t xn = letters_of(x, xs), yn = letters_of(y, ys);
	if (xn < 4 || yn < 3)
		return false;
	int most = xn >= 8 ? 2 : 1;
	gap = xn > yn ? xn - yn : yn - xn;
	return gap <= (size_t)most && distance(xs, xn, ys, yn) <= most;
}

/* A word of letters in the text that is nearly this one. */
static bool near_in(struct folded word, struct folded text)
{
	size_t at = 0;
	struct run r;

	while (run_next(text.p, text.n, &at, &r))
		if (!r.is_unspaced && !r.has_digit && words_are_near(word, (struct folded){ r.p, r.n }))
			return true;
	return false;
}

/* ---- questions ---- */

/* Words that stand in every sentence.  They count when somebody asks for nothing else. */
static bool is_filler(struct folded w)
{
	static const char fillers[] =
		" a an and are as at be by did do does for from had has have how i in is it its of on or our "
		"that the their then there these this those to was we were what when where which who why with "
		"you your der die das ein eine und oder ist sind wie was wo warum mit von zu le la les un une "
		"et ou est el los de del y que ";
	char padded[16];

	if (w.n > 6)
		return false;
	snprintf(padded, sizeof(padded), " %.*s ", (int)w.n, w.p);
	return strstr(fillers, padded) != NULL;
}

static void add_term(struct folded *list, size_t *count, struct folded w)
{
	if (!w.n || w.n > MAX_TERM_BYTES)
		return;
	for (size_t i = 0; i < *count; i++)
		if (list[i].n == w.n && memcmp(list[i].p, w.p, w.n) == 0)
			return;
	if (*count < MAX_TERMS)
		list[(*count)++] = w;
}

/* Where a name in camelCase goes on: a capital behind a small letter, or the last capital before a small one. */
static size_t camel_end(const char *p, size_t n, size_t from)
{
	size_t i = from + 1;

	for (; i < n; i++) {
		bool up = p[i] >= 'A' && p[i] <= 'Z', was_up = p[i - 1] >= 'A' && p[i - 1] <= 'Z';
		bool then_low = i + 1 < n && p[i + 1] >= 'a' && p[i + 1] <= 'z';
		if (up && (!was_up || (then_low && i - 1 > from)))
			break;
	}
	return i;
}

static void add_parts(struct arena *a, const struct run *r, struct question *q)
{
	for (size_t from = 0, end; from < r->n; from = end) {
		end = r->is_unspaced ? r->n : camel_end(r->p, r->n, from);
		add_term(q->parts, &q->part_count, words_fold(a, r->p + from, end - from));
	}
}

void question_make(struct arena *a, const char *text, struct question *ret)
{
	size_t valid_n, at = 0;
	const char *valid = text_utf8(a, text, strlen(text), "?", &valid_n);
	struct run r;

	*ret = (struct question){ 0 };
	/* Blanks around it are not meant. */
	while (valid_n && (valid[0] == ' ' || valid[0] == '\t' || valid[0] == '\n')) {
		valid++;
		valid_n--;
	}
	while (valid_n &&
		(valid[valid_n - 1] == ' ' || valid[valid_n - 1] == '\t' || valid[valid_n - 1] == '\n'))
		valid_n--;
	if (!valid_n)
		return;
	ret->whole = words_fold(a, valid, valid_n);
	for (size_t i = 0; i < ret->whole.n;) {
		size_t end = i;
		while (end < ret->whole.n && !strchr(" \t\r\n", ret->whole.p[end]))
			end++;
		add_term(ret->words, &ret->word_count, (struct folded){ ret->whole.p + i, end - i });
		i = end + 1;
	}
	while (run_next(valid, valid_n, &at, &r))
		add_parts(a, &r, ret);
	for (size_t i = 0; i < ret->part_count; i++)
		if (!is_filler(ret->parts[i]))
			add_term(ret->key, &ret->key_count, ret->parts[i]);
	if (!ret->key_count) {
		memcpy(ret->key, ret->parts, sizeof(ret->key));
		ret->key_count = ret->part_count;
	}
	/* Of ASCII each part is a piece of the whole and of a word, so that nothing fits without it; of three words one may be missing. */
	bool is_plain = true;
	for (size_t i = 0; i < ret->whole.n; i++)
		is_plain &= (unsigned char)ret->whole.p[i] < 0x80;
	ret->needs_key = is_plain && ret->key_count < 3;
}

static size_t how_many_in(const struct folded *list, size_t n, struct folded text)
{
	size_t found = 0;

	for (size_t i = 0; i < n; i++)
		found += word_is_in(list[i], text);
	return found;
}

static bool are_all_in(const struct folded *list, size_t n, struct folded text)
{
	while (n > 0)
		if (!word_is_in(list[--n], text))
			return false;
	return true;
}

const char *fit_name(enum fit f)
{
	static const char *const names[] = { "none", "typo", "some_words", "parts", "words", "phrase" };
	TABLE_COVERS(names, FIT_COUNT);

	return names[f];
}

/* Some of many words are an answer when at least two and half of them are there. */
enum fit question_fit(const struct question *q, struct folded text)
{
	for (size_t i = q->needs_key ? q->key_count : 0; i-- > 0;)
		if (!memmem(text.p, text.n, q->key[i].p, q->key[i].n))
			return FIT_NONE;
	if (!q->whole.n || word_is_in(q->whole, text))
		return FIT_PHRASE;
	if (q->word_count && are_all_in(q->words, q->word_count, text))
		return FIT_WORDS;
	if (q->key_count && are_all_in(q->key, q->key_count, text))
		return FIT_PARTS;
	size_t some = q->key_count >= 3 ? how_many_in(q->key, q->key_count, text) : 0;
	return some >= 2 && 2 * some >= q->key_count ? FIT_SOME : FIT_NONE;
}

bool question_fits_nearly(struct arena *a, const struct question *q, struct folded text)
{
	(void)a;
	for (size_t i = 0; i < q->key_count; i++)
		if (!word_is_in(q->key[i], text) && !near_in(q->key[i], text))
			return false;
	return q->key_count > 0;
}

/* ---- what the index keeps ---- */

static void unspaced_tokens(const struct run *r, token_visit *fn, void *arg)
{
	size_t len, next;

	for (size_t i = 0; i < r->n; i += len) {
		(void)kind_at(r->p + i, r->n - i, &len);
		next = 0;
		if (i + len < r->n)
			(void)kind_at(r->p + i + len, r->n - i - len, &next);
		fn(arg, r->p + i, len + next, false);
	}
}

void words_tokens(struct folded text, token_visit *fn, void *arg)
{
	size_t at = 0;
	struct run r;

	while (run_next(text.p, text.n, &at, &r)) {
		if (r.is_unspaced) {
			unspaced_tokens(&r, fn, arg);
			continue;
		}
		/* Of a very long run the beginning: whoever asks for more of it looks without the index. */
		fn(arg, r.p, r.n < MAX_TERM_BYTES ? r.n : MAX_TERM_BYTES, !r.has_digit);
		for (size_t i = 1; r.has_digit && i < r.n && i <= MAX_TERM_BYTES; i++)
			if ((r.p[i] & 0xc0) != 0x80 && begins_part(&r, i))
				fn(arg, r.p + i, r.n - i < MAX_TERM_BYTES ? r.n - i : MAX_TERM_BYTES, false);
	}
}
