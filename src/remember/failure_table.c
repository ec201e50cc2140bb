/* failure_table.c — reads share/failures/ and matches lines with it. */
#include "remember/failure_table.h"

#include "base/embed.h"
#include "base/file.h"
#include "base/text.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

enum { MOST_STEPS = 63, SAID_MOST = 16 << 10, LINE_MOST = 512, COMMAND_MOST = 2 << 10 };

/* Programs in their own words, programs around others, and words of anybody: in this order. */
enum rank { RANK_NAMED, RANK_OF, RANK_AROUND, RANK_ANY, RANK_COUNT };

/* ---- one pattern ---- */

enum step { STEP_CHAR, STEP_ANY, STEP_DIGITS, STEP_DIGIT, STEP_NAME, STEP_BLANKS };
struct matcher {
	enum step step[MOST_STEPS];
	char c[MOST_STEPS];
	unsigned n;
	bool is_folded;
	char literal[MOST_STEPS + 1]; /* the longest; a line without it does not match */
};

static bool is_name(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '.';
}

static bool add_step(struct matcher *m, enum step step, char c)
{
	if (m->n == MOST_STEPS)
		return false;
	m->step[m->n] = step;
	m->c[m->n++] = c;
	return true;
}

static void find_literal(struct matcher *m)
{
	unsigned best = 0, from = 0;

	for (unsigned i = 0, start = 0; i <= m->n; i++) {
		if (i < m->n && m->step[i] == STEP_CHAR)
			continue;
		if (i - start > best) {
			best = i - start;
			from = start;
		}
		start = i + 1;
	}
	memcpy(m->literal, m->c + from, best);
	m->literal[best] = '\0';
}

/* false: it is longer than a pattern may be, or has nothing in it that could be looked for. */
static bool read_pattern(struct bytes text, struct matcher *ret)
{
	bool ok = true;

	memset(ret, 0, sizeof(*ret));
	if (text.n && *text.p == '~') {
		ret->is_folded = true;
		text = (struct bytes){ text.p + 1, text.n - 1 };
	}
	for (size_t i = 0; ok && i < text.n; i++) {
		char c = (char)text.p[i];
		if (c == '\\' && i + 1 < text.n)
			ok = add_step(ret, STEP_CHAR, (char)text.p[++i]);
		else if (c == ' ' || c == '\t')
			ok = (ret->n && ret->step[ret->n - 1] == STEP_BLANKS) ||
				add_step(ret, STEP_BLANKS, c);
		else
			ok = add_step(ret,
				c == '*'	   ? STEP_ANY
					: c == '#' ? STEP_DIGITS
					: c == '%' ? STEP_DIGIT
					: c == '@' ? STEP_NAME
						   : STEP_CHAR,
				c);
	}
	find_literal(ret);
	return ok && ret->literal[0];
}

static bool takes(const struct matcher *m, unsigned at, char c)
{
	switch (m->step[at]) {
	case STEP_CHAR:
		return m->is_folded ? tolower((unsigned char)c) == m->c[at] : c == m->c[at];
	case STEP_ANY:
		return true;
	case STEP_DIGITS:
	case STEP_DIGIT:
		return isdigit((unsigned char)c) != 0;
	case STEP_NAME:
		return is_name(c);
	case STEP_BLANKS:
		return c == ' ' || c == '\t';
	}
	return false;
}

/* Bit i: the first i steps are met.  All ways are followed at once, so the time is steps times characters. */
static uint64_t add_empty(const struct matcher *m, uint64_t at)
{
	for (unsigned i = 0; i < m->n; i++)
		if (m->step[i] == STEP_ANY && (at & (UINT64_C(1) << i)))
			at |= UINT64_C(1) << (i + 1);
	return at;
}

static bool is_match(const struct matcher *m, struct bytes line)
{
	const uint64_t end = UINT64_C(1) << m->n;
	uint64_t at = add_empty(m, 1);

	for (size_t k = 0; at && k < line.n; k++) {
		uint64_t next = 0;
		for (unsigned i = 0; i < m->n; i++) {
			if ((at & (UINT64_C(1) << i)) && takes(m, i, (char)line.p[k]))
				next |= UINT64_C(1) << (m->step[i] == STEP_ANY ? i : i + 1);
			/* A step that repeats and was met takes more. */
			if ((at & (UINT64_C(1) << (i + 1))) && m->step[i] >= STEP_DIGITS &&
				m->step[i] != STEP_DIGIT && takes(m, i, (char)line.p[k]))
				next |= UINT64_C(1) << (i + 1);
		}
		at = add_empty(m, next);
	}
	return (at & end) != 0;
}

/* ---- the lines of the table ---- */

enum kind { LINE_NONE, LINE_BLOCK, LINE_LAST, LINE_EXIT, LINE_ANSWER, LINE_RULE, LINE_BAD };
struct line {
	enum kind kind;
	enum rank rank; /* of a block: RANK_OF, RANK_AROUND or RANK_ANY */
	struct bytes names; /* of a block; the words of an answer, without brackets */
	struct bytes error_class, text;
	int64_t code;
	bool is_own; /* a rule that counts only where the command names the program */
};

static struct bytes take_blanks(struct bytes text)
{
	while (text.n && (*text.p == ' ' || *text.p == '\t'))
		text = (struct bytes){ text.p + 1, text.n - 1 };
	return text;
}

static struct bytes take_word(struct bytes *rest)
{
	size_t n = 0;

	*rest = take_blanks(*rest);
	while (n < rest->n && rest->p[n] != ' ' && rest->p[n] != '\t')
		n++;
	const struct bytes word = { rest->p, n };
	*rest = take_blanks((struct bytes){ rest->p + n, rest->n - n });
	return word;
}

static bool read_code(struct bytes *rest, int64_t *ret)
{
	const struct bytes word = take_word(rest);

	*ret = 0;
	for (size_t i = 0; i < word.n; i++) {
		if (!isdigit(word.p[i]) || i > 2)
			return false;
		*ret = *ret * 10 + (word.p[i] - '0');
	}
	return word.n > 0 && *ret < 256;
}

static bool is_class(struct bytes word)
{
	for (size_t i = 0; i < word.n; i++)
		if (!islower(word.p[i]) && !isdigit(word.p[i]) && word.p[i] != '_')
			return false;
	return word.n > 0;
}

static struct line read_answer(struct bytes rest)
{
	struct line l = { .kind = LINE_ANSWER };

	if (!read_code(&rest, &l.code))
		return (struct line){ .kind = LINE_BAD };
	if (rest.n && *rest.p == '[') {
		const uint8_t *end = memchr(rest.p, ']', rest.n);
		if (!end)
			return (struct line){ .kind = LINE_BAD };
		l.names = (struct bytes){ rest.p + 1, (size_t)(end - rest.p) - 1 };
		rest = take_blanks((struct bytes){ end + 1, rest.n - l.names.n - 2 });
	}
	l.text = rest;
	return rest.n ? l : (struct line){ .kind = LINE_BAD };
}

static struct line read_line(struct bytes text)
{
	struct bytes rest = text, first = take_word(&rest);
	struct line l = { .error_class = first, .text = rest };

	if (!first.n || *first.p == '#')
		return l;
	if (bytes_is(first, "of") || bytes_is(first, "around") || bytes_is(first, "any"))
		return (struct line){ .kind = LINE_BLOCK,
			.rank = bytes_is(first, "of")	    ? RANK_OF
				: bytes_is(first, "around") ? RANK_AROUND
							    : RANK_ANY,
			.names = rest };
	if (bytes_is(first, "last"))
		return (struct line){ .kind = LINE_LAST };
	if (bytes_is(first, "answer"))
		return read_answer(rest);
	if (bytes_is(first, "exit")) {
		l.kind = read_code(&rest, &l.code) ? LINE_EXIT : LINE_BAD;
		l.error_class = rest;
		return is_class(rest) ? l : (struct line){ .kind = LINE_BAD };
	}
	l.kind = is_class(first) && rest.n ? LINE_RULE : LINE_BAD;
	l.is_own = rest.n && *rest.p == '!';
	if (l.is_own)
		l.text = (struct bytes){ rest.p + 1, rest.n - 1 };
	return l;
}

static struct bytes next_line(struct bytes *rest)
{
	struct bytes line = text_cut(rest, '\n');

	while (line.n && strchr(" \t\r", line.p[line.n - 1]))
		line.n--;
	return line;
}

const char *failure_table_fault(struct arena *a, struct bytes text)
{
	bool has_block = false;
	unsigned number = 0;

	for (struct bytes rest = text; rest.p && rest.n;) {
		const struct line l = read_line(next_line(&rest));
		struct matcher m;
		number++;
		has_block |= l.kind == LINE_BLOCK;
		if (l.kind == LINE_BAD || (l.kind != LINE_NONE && !has_block) ||
			(l.kind == LINE_RULE && !read_pattern(l.text, &m)))
			return arena_printf(a, "line %u is no rule", number);
	}
	return NULL;
}

/* ---- which blocks a command names ---- */

static bool has_word(struct bytes names, const char *word)
{
	while (names.n)
		if (bytes_is(take_word(&names), word))
			return true;
	return false;
}

/* Does a word of the command, whatever it is divided by, name the program? */
static bool is_named(struct bytes names, const char *command)
{
	static const char divided[] = " \t\r\n;&|()<>'\"`$={}";

	for (const char *p = command + strspn(command, divided); *p; p += strspn(p, divided)) {
		size_t n = strcspn(p, divided), base = n;
		char word[64];
		while (base && p[base - 1] != '/')
			base--;
		if (n - base && n - base < sizeof(word)) {
			memcpy(word, p + base, n - base);
			word[n - base] = '\0';
			if (has_word(names, word))
				return true;
		}
		p += n;
	}
	return false;
}

/* ---- what was printed ---- */

struct lines {
	struct bytes *of;
	size_t n;
};

/* The line behind it is of a source, and says nothing of what happened. */
static bool is_place(struct bytes line)
{
	return line.n > 6 && memcmp(line.p, "File \"", 6) == 0 && memmem(line.p, line.n, "\", line ", 8);
}

/* Without colours, control characters, blanks around and the sources that a traceback shows: each line for itself. */
static struct lines divide_lines(struct arena *a, struct bytes said)
{
	const size_t n = said.n > SAID_MOST ? SAID_MOST : said.n;
	uint8_t *text = arena_alloc(a, n + 1);
	size_t count = 1, to = 0;
	struct lines ret = { NULL, 0 };

	for (size_t i = 0; i < n; i++) {
		const uint8_t c = said.p[i];
		if (c == 0x1b && i + 1 < n && said.p[i + 1] == '[') {
			for (i += 2; i < n && (said.p[i] < 0x40 || said.p[i] > 0x7e); i++)
				;
			continue;
		}
		text[to++] = c == '\r' ? '\n' : c < ' ' && c != '\n' && c != '\t' ? '?' : c;
		count += text[to - 1] == '\n';
	}
	ret.of = arena_zalloc(a, count, sizeof(*ret.of));
	bool is_source = false;
	for (struct bytes rest = { text, to }; rest.p && rest.n;) {
		const struct bytes whole = next_line(&rest);
		struct bytes line = take_blanks(whole);
		if (line.n > LINE_MOST)
			line.n = LINE_MOST;
		if (line.n && !(is_source && line.n < whole.n))
			ret.of[ret.n++] = line;
		is_source = is_place(line);
	}
	return ret;
}

static bool holds(struct bytes line, const struct matcher *m)
{
	const size_t n = strlen(m->literal);

	if (!m->is_folded)
		return memmem(line.p, line.n, m->literal, n) != NULL;
	for (size_t i = 0; i + n <= line.n; i++)
		if (strncasecmp((const char *)line.p + i, m->literal, n) == 0)
			return true;
	return false;
}

/* ---- asking the table ---- */

struct asking {
	struct arena *a;
	const char *command;
	struct lines said;
	enum rank rank;
	struct failure_found *ret;
};

static bool set_found(const struct asking *q, const struct line *rule, struct bytes line)
{
	q->ret->error_class = arena_strndup(q->a, (const char *)rule->error_class.p, rule->error_class.n);
	q->ret->line = arena_strndup(q->a, (const char *)line.p, line.n);
	return true;
}

/* The first rule that any line meets. */
static bool match_first(const struct asking *q, struct bytes block)
{
	while (block.p && block.n) {
		const struct line l = read_line(next_line(&block));
		struct matcher m;
		if (l.kind == LINE_BLOCK)
			return false;
		if (l.kind != LINE_RULE || (l.is_own && q->rank != RANK_NAMED) || !read_pattern(l.text, &m))
			continue;
		for (size_t i = 0; i < q->said.n; i++)
			if (holds(q->said.of[i], &m) && is_match(&m, q->said.of[i]))
				return set_found(q, &l, q->said.of[i]);
	}
	return false;
}

/* The last line that meets a rule: what a traceback ends with. */
static bool match_last(const struct asking *q, struct bytes block)
{
	size_t best = 0;
	struct line found = { 0 };

	while (block.p && block.n) {
		const struct line l = read_line(next_line(&block));
		struct matcher m;
		if (l.kind == LINE_BLOCK)
			break;
		if (l.kind != LINE_RULE || (l.is_own && q->rank != RANK_NAMED) || !read_pattern(l.text, &m))
			continue;
		for (size_t i = q->said.n; i > best; i--)
			if (holds(q->said.of[i - 1], &m) && is_match(&m, q->said.of[i - 1])) {
				best = i;
				found = l;
				break;
			}
	}
	return best && set_found(q, &found, q->said.of[best - 1]);
}

static bool is_last(struct bytes block)
{
	while (block.p && block.n) {
		const struct line l = read_line(next_line(&block));
		if (l.kind != LINE_NONE)
			return l.kind == LINE_LAST;
	}
	return false;
}

static bool each_block(struct asking *q, struct bytes text)
{
	while (text.p && text.n) {
		const struct line l = read_line(next_line(&text));
		if (l.kind != LINE_BLOCK || (q->rank == RANK_NAMED ? l.rank != RANK_OF : l.rank != q->rank) ||
			(q->rank == RANK_NAMED && !is_named(l.names, q->command)))
			continue;
		if (is_last(text) ? match_last(q, text) : match_first(q, text))
			return true;
	}
	return false;
}

static bool is_table(const char *name)
{
	return text_starts(name, "share/failures/") && text_ends(name, ".txt");
}

bool failure_read(struct arena *a, const char *command, struct bytes said, struct failure_found *ret)
{
	struct asking q = { .a = a, .ret = ret };
	const char *name;
	struct bytes text;

	if (!said.n)
		return false;
	q.command = arena_strndup(a, command, strnlen(command, COMMAND_MOST));
	q.said = divide_lines(a, said);
	for (q.rank = RANK_NAMED; q.rank < RANK_COUNT; q.rank++)
		for (size_t i = 0; embed_at(i, &name, &text); i++)
			if (is_table(name) && each_block(&q, text))
				return true;
	return false;
}

/* ---- exit codes ---- */

static bool has_any(struct bytes wanted, const char *const *words, size_t n)
{
	if (!wanted.n)
		return true;
	for (size_t i = 1; i < n; i++)
		if (has_word(wanted, words[i]))
			return true;
	return false;
}

static bool find_code(
	struct bytes text, enum kind kind, const char *const *words, size_t n, int64_t code, struct line *ret)
{
	bool is_in = false;

	while (text.p && text.n) {
		const struct line l = read_line(next_line(&text));
		if (l.kind == LINE_BLOCK)
			is_in = words ? l.rank == RANK_OF && has_word(l.names, path_base(words[0]))
				      : l.rank == RANK_ANY;
		if (!is_in || l.kind != kind || l.code != code || !has_any(l.names, words, n))
			continue;
		*ret = l;
		return true;
	}
	return false;
}

static bool find_exit(enum kind kind, const char *const *words, size_t n, int64_t code, struct line *ret)
{
	const char *name;
	struct bytes text;

	if (words && !n)
		return false;
	for (size_t i = 0; embed_at(i, &name, &text); i++)
		if (is_table(name) && find_code(text, kind, words, n, code, ret))
			return true;
	return false;
}

bool failure_exit(
	struct arena *a, const char *const *words, size_t n, int64_t code, struct failure_found *ret)
{
	struct line l;

	if (!find_exit(LINE_EXIT, words, n, code, &l))
		return false;
	ret->error_class = arena_strndup(a, (const char *)l.error_class.p, l.error_class.n);
	ret->line = NULL;
	return true;
}

const char *failure_exit_answer(struct arena *a, const char *const *words, size_t n, int64_t code)
{
	struct line l;

	return words && find_exit(LINE_ANSWER, words, n, code, &l)
		? arena_strndup(a, (const char *)l.text.p, l.text.n)
		: NULL;
}
