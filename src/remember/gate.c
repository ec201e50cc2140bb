/* gate.c — what is not worth a line: junk, what memory says already, and what an agent only repeats from it.
 *
 * A memory that keeps everything is read by nobody.  So each line is compared with what is there, without regard to case, blanks, list
 * marks and the place that recall names behind it; a line that shares nearly all of its words with one that is there says nothing
 * new.  Secrets are taken out before anything is compared or kept. */
#include "base/embed.h"
#include "base/file.h"
#include "base/hash.h"
#include "privacy/privacy.h"
#include "remember/parts.h"

#include <stdlib.h>
#include <string.h>

enum {
	KNOWN_BYTES = 64 << 20, /* so much of memory is looked through */
	LONGEST_LINE = 4000,
	FEWEST_WORDS = 5, /* shorter lines are the same or not */
	SAME_WORDS_PERCENT = 85
};

static const char *const answer_names[] = { "new", "junk", "duplicate", "recalled" };
TABLE_COVERS(answer_names, GATE_ANSWERS);

const char *gate_answer_name(enum gate_answer g)
{
	return answer_names[g];
}

/* ---- what is there ---- */

struct known_line {
	uint64_t whole; /* of the line in its normal form */
	uint64_t *words; /* sorted */
	size_t word_count;
	const char *file;
	uint32_t line;
};

struct memory_known {
	struct memory_place *m;
	struct arena *a;
	struct known_line *lines;
	size_t n, room;
	size_t bytes_left;
	struct bytes junk; /* lines that say nothing, one each */
};

static uint64_t hash_of(const char *p, size_t n)
{
	uint8_t h[SHA256_SIZE];
	uint64_t v;

	sha256(p, n, h);
	memcpy(&v, h, sizeof(v));
	return v;
}

static bool is_word_byte(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || (unsigned char)c >= 0x80;
}

/* "(MEMORY.md:12)", "[source: ...]" and the like at the end: where recall says that it has it from. */
static size_t without_place(const char *p, size_t n)
{
	char open = n && p[n - 1] == ')' ? '(' : n && p[n - 1] == ']' ? '[' : 0;
	const char *at = open ? memrchr(p, open, n) : NULL;

	if (!at || at == p || (at[-1] != ' ' && at[-1] != '\t') || !memchr(at, ':', n - (size_t)(at - p)))
		return n;
	return (size_t)(at - p);
}

/* Words in lower case with one blank between them; marks around and between them do not count. */
static const char *normal(struct arena *a, struct bytes line, size_t *ret_n)
{
	char id[MEMORY_ID + 1];
	struct bytes text;
	struct buf b;

	(void)memory_line_entry(line, id, &text);
	size_t n = without_place((const char *)text.p, text.n);
	const char *low = memory_lower(a, (const char *)text.p, n);
	buf_init(&b, a);
	for (const char *p = low; *p; p++) {
		if (is_word_byte(*p))
			buf_addc(&b, *p);
		else if (b.n && b.p[b.n - 1] != ' ')
			buf_addc(&b, ' ');
	}
	while (b.n && b.p[b.n - 1] == ' ')
		b.p[--b.n] = '\0';
	*ret_n = b.n;
	return b.p;
}

static int by_value(const void *x, const void *y)
{
	uint64_t p = *(const uint64_t *)x, q = *(const uint64_t *)y;

	return p < q ? -1 : p > q;
}

static void words_of(struct arena *a, const char *text, size_t n, struct known_line *to)
{
	uint64_t *list = arena_zalloc(a, n / 2 + 1, sizeof(*list));
	size_t count = 0, unique = 0;

	for (size_t i = 0; i < n;) {
		const char *blank = memchr(text + i, ' ', n - i);
		size_t end = blank ? (size_t)(blank - text) : n;
		if (end > i)
			list[count++] = hash_of(text + i, end - i);
		i = end + 1;
	}
	qsort(list, count, sizeof(*list), by_value);
	for (size_t i = 0; i < count; i++)
		if (!i || list[i] != list[i - 1])
			list[unique++] = list[i];
	to->words = list;
	to->word_count = unique;
}

static void add_line(struct memory_known *k, const char *file, uint32_t number, struct bytes line)
{
	size_t n;
	const char *text = normal(k->a, line, &n);

	if (!n)
		return;
	if (k->n == k->room) {
		size_t room = k->room ? 2 * k->room : 256;
		k->lines = arena_grow(k->a, k->lines, k->n * sizeof(*k->lines), room * sizeof(*k->lines));
		k->room = room;
	}
	struct known_line *to = &k->lines[k->n++];
	*to = (struct known_line){ .whole = hash_of(text, n), .file = file, .line = number };
	words_of(k->a, text, n, to);
}

static int add_file(struct memory_known *k, const char *file)
{
	struct bytes text, rest;
	uint32_t number = 0;

	if (file_read(k->m->sys, k->a, k->m->root_fd, file, k->bytes_left, FILE_BENEATH, &text, NULL))
		return OK; /* what cannot be read is not known */
	k->bytes_left -= text.n;
	rest = text;
	while (rest.p) {
		struct bytes line = text_cut(&rest, '\n');
		add_line(k, file, ++number, line);
	}
	return k->bytes_left ? OK : E_LIMIT;
}

struct walking {
	struct memory_known *k;
	const char *top;
};

static int add_note(
	void *arg, int parent, const char *name, const char *rel, const struct stat *st, struct err *e)
{
	struct walking *w = arg;

	(void)parent;
	(void)e;
	if (S_ISDIR(st->st_mode))
		return name[0] == '.' || text_eq(name, "ontology") ? FILE_SKIP : 0;
	if (!S_ISREG(st->st_mode) || (!text_ends(name, ".md") && !text_ends(name, ".txt")))
		return 0;
	return add_file(w->k, arena_printf(w->k->a, "%s/%s", w->top, rel));
}

int memory_known_load(struct memory_place *m, struct arena *a, struct memory_known **ret, struct err *e)
{
	static const char *const tops[] = { "memory", "notes" };
	struct memory_known *k = arena_zalloc(a, 1, sizeof(*k));

	*k = (struct memory_known){ .m = m, .a = a, .bytes_left = KNOWN_BYTES };
	if (!embed_find("share/memory/junk.txt", &k->junk))
		return err_set(e, E_MISSING, "MEMORY_JUNK", "share/memory/junk.txt is not in this program");
	(void)add_file(k, "MEMORY.md");
	for (size_t i = 0; i < ARRAY_SIZE(tops); i++) {
		struct walking w = { k, tops[i] };
		(void)file_walk_names(m->sys, m->root_fd, tops[i], add_note, &w, NULL);
	}
	*ret = k;
	return OK;
}

/* ---- one line ---- */

static bool is_same_words(const struct known_line *x, const struct known_line *y)
{
	size_t common = 0, i = 0, j = 0;

	if (x->word_count < FEWEST_WORDS || 2 * y->word_count < x->word_count ||
		2 * x->word_count < y->word_count)
		return false;
	while (i < x->word_count && j < y->word_count) {
		if (x->words[i] == y->words[j]) {
			common++;
			i++;
			j++;
		} else if (x->words[i] < y->words[j]) {
			i++;
		} else {
			j++;
		}
	}
	return 100 * common >= SAME_WORDS_PERCENT * (x->word_count + y->word_count - common);
}

static bool is_number_word(const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (p[i] < '0' || p[i] > '9')
			return false;
	return n > 0;
}

/* A sentence with another number in it says something else. */
static bool has_other_numbers(struct arena *a, const char *text, size_t n, const struct known_line *y)
{
	(void)a;
	for (size_t i = 0; i < n;) {
		const char *blank = memchr(text + i, ' ', n - i);
		size_t end = blank ? (size_t)(blank - text) : n;
		uint64_t h = end > i && is_number_word(text + i, end - i) ? hash_of(text + i, end - i) : 0;
		if (h && !bsearch(&h, y->words, y->word_count, sizeof(h), by_value))
			return true;
		i = end + 1;
	}
	return false;
}

static const struct known_line *find_known(
	const struct memory_known *k, const struct known_line *x, const char *text, size_t n)
{
	for (size_t i = 0; i < k->n; i++)
		if (k->lines[i].whole == x->whole)
			return &k->lines[i];
	for (size_t i = 0; i < k->n; i++)
		if (is_same_words(x, &k->lines[i]) && !has_other_numbers(k->a, text, n, &k->lines[i]))
			return &k->lines[i];
	return NULL;
}

static size_t letters(const char *text, size_t n)
{
	size_t count = 0;

	for (size_t i = 0; i < n;) {
		uint32_t cp;
		size_t len = text_decode(text + i, n - i, &cp);
		count += (cp >= 'a' && cp <= 'z') || cp >= 0x80 ? 1 + (cp >= 0x1100) : 0;
		i += len ? len : 1;
	}
	return count;
}

static bool is_in_list(struct bytes list, const char *text)
{
	while (list.p) {
		struct bytes line = text_cut(&list, '\n');
		if (line.n && line.p[0] != '#' && bytes_is(line, text))
			return true;
	}
	return false;
}

/* Lines that programs print: they are in the record already. */
static bool is_log_line(const char *text)
{
	static const char *const begins[] = { "Traceback (most recent call last)", "at async ", "  File \"" };
	char begin[20];
	int64_t us;

	while (*text == '[')
		text++;
	for (size_t i = 0; i < ARRAY_SIZE(begins); i++)
		if (text_starts(text, begins[i]))
			return true;
	if (strlen(text) < sizeof(begin))
		return false;
	memcpy(begin, text, sizeof(begin) - 1);
	begin[sizeof(begin) - 1] = '\0';
	return memory_time(begin, &us);
}

static const char *junk(const struct memory_known *k, const char *said, const char *text, size_t n)
{
	size_t longest = 0, run = 0;

	if (memory_has_unseen(said))
		return "it has characters that nobody sees";
	if (letters(text, n) < 4)
		return "it says nothing";
	if (is_in_list(k->junk, text))
		return "it says nothing that stays true";
	if (is_log_line(said))
		return "it is a line of a log";
	for (const char *p = said; *p; p++) {
		run = *p == ' ' ? 0 : run + 1;
		longest = run > longest ? run : longest;
	}
	if (longest >= 120 && !strstr(said, "://"))
		return "it has a word that is no word";
	return NULL;
}

/* Without what must not be kept: control characters, marks of entries, secrets. */
static const char *clean(struct arena *a, struct bytes line, bool *ret_is_redacted)
{
	char id[MEMORY_ID + 1];
	size_t n;

	while (memory_line_entry(line, id, &line))
		;
	while (line.n && (line.p[0] == ' ' || line.p[0] == '\t')) {
		line.p++;
		line.n--;
	}
	const char *shown = text_safe(a, (const char *)line.p, line.n, false);
	const char *kept = privacy_redact(a, shown, strlen(shown), &n);
	*ret_is_redacted = n != strlen(shown) || memcmp(kept, shown, n) != 0;
	return arena_strndup(a, kept, n);
}

bool memory_has_secret(struct arena *a, const char *text)
{
	size_t n, len = strlen(text);
	const char *kept = privacy_redact(a, text, len, &n);

	return n != len || memcmp(kept, text, n) != 0;
}

void memory_gate(
	struct memory_known *k, struct arena *a, const char *file, struct bytes line, struct gated *ret)
{
	struct known_line x = { 0 };
	size_t n;

	*ret = (struct gated){ .is = GATE_NEW };
	ret->text = clean(a, line, &ret->is_redacted);
	const char *text = normal(k->a, bytes_of(ret->text), &n);
	ret->why = strlen(ret->text) > LONGEST_LINE ? "it is longer than 4000 bytes: make it a note"
						    : junk(k, ret->text, text, n);
	if (ret->why) {
		ret->is = GATE_JUNK;
		return;
	}
	x.whole = hash_of(text, n);
	words_of(k->a, text, n, &x);
	const struct known_line *have = find_known(k, &x, text, n);
	if (!have) {
		add_line(k, file, 0, bytes_of(ret->text));
		return;
	}
	ret->is = text_eq(have->file, file) ? GATE_DUPLICATE : GATE_RECALLED;
	ret->known_at = have->line ? arena_printf(a, "%s:%u", have->file, have->line) : "the same text";
	ret->why = arena_printf(a, "memory says it already (%s)", ret->known_at);
}
