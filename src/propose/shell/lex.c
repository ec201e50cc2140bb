/* lex.c — tokens and words of the shell: operators, quoting, arrays.
 *
 * There is no separate token stream: what a byte means depends on where the parser stands (a word,
 * double quotes, ${...}, arithmetic), and a word may hold whole commands, which are parsed where they
 * stand. A token must therefore not be looked at before the parser knows by which rules it is to be
 * read; assign_ok is set before lex_peek() for that reason.
 *
 * Literal text is a slice of the source; it is copied only where a line continuation or tab stripping
 * takes bytes out of it. All scans go forward, so the work is linear; the searches for a closing
 * parenthesis of arithmetic are bounded. */
#include "propose/shell/parser.h"

/* Classes of bytes, as bits: a byte may be of several. */
enum { META = 1, QUOTE = 2, LIVE = 4, BRACE = 8 };

/* META ends a word, QUOTE starts something, LIVE may be a glob or tilde when it is not quoted. */
static const uint8_t classes[256] = {
	['\0'] = META,
	[' '] = META,
	['\t'] = META,
	['\n'] = META,
	['|'] = META,
	['&'] = META,
	[';'] = META,
	['('] = META,
	[')'] = META,
	['<'] = META,
	['>'] = META,
	['\\'] = QUOTE,
	['\''] = QUOTE,
	['"'] = QUOTE,
	['$'] = QUOTE,
	['`'] = QUOTE,
	['*'] = LIVE,
	['?'] = LIVE,
	['['] = LIVE,
	['~'] = LIVE,
	['{'] = LIVE | BRACE,
};

static uint8_t class_of(char c)
{
	return classes[(unsigned char)c];
}

/* Appends a part to a word. The first part is paid for by the word itself; each further one counts as a
 * node. */
struct shell_part *part_add(struct parser *p, struct shell_word *w, struct shell_part ***end,
	enum part_kind kind, bool is_quoted, size_t from)
{
	struct shell_part *part = arena_alloc(p->a, sizeof(*part));

	if (w->first)
		(void)parse_count(p);
	*part = (struct shell_part){
		.kind = kind, .is_quoted = is_quoted, .at = { (uint32_t)from, (uint32_t)p->pos }
	};
	**end = part;
	*end = &part->next;
	return part;
}

void part_add_text(struct parser *p, struct shell_word *w, struct shell_part ***end, const char *text,
	size_t n, bool is_quoted, size_t from)
{
	struct shell_part *part = part_add(p, w, end, PART_TEXT, is_quoted, from);

	part->text = text;
	part->text_n = n;
}

/* 'text': everything up to the next quote. */
void lex_single(struct parser *p, struct shell_word *w, struct shell_part ***end)
{
	size_t from = p->pos++;
	const char *close = memchr(p->s + p->pos, '\'', p->n - p->pos);

	if (!close) {
		parse_fail(p, "parse_error", from, "this single quote is never closed");
		return;
	}
	const char *text = p->s + p->pos;
	p->pos = (size_t)(close - p->s) + 1;
	part_add_text(p, w, end, text, (size_t)(close - text), true, from);
}

/* A backslash in double quotes keeps its meaning before these only. */
static bool escapes_in_double(char c, bool is_heredoc)
{
	return c == '$' || c == '`' || c == '\\' || (c == '"' && !is_heredoc);
}

/* One step of text that is expanded but not split: double quotes, here-documents, arithmetic. */
static void lex_quoted_step(struct parser *p, struct shell_word *w, struct shell_part ***end, bool is_heredoc)
{
	size_t from = p->pos;
	char c = p->s[p->pos];

	if (c == '\\' && p->pos + 1 < p->n && p->s[p->pos + 1] == '\n') {
		p->pos += 2;
	} else if (c == '\\' && p->pos + 1 < p->n && escapes_in_double(p->s[p->pos + 1], is_heredoc)) {
		p->pos += 2;
		part_add_text(p, w, end, p->s + from + 1, 1, true, from);
	} else if (c == '$') {
		lex_dollar(p, w, end, true);
	} else if (c == '`') {
		lex_backquote(p, w, end, true);
	} else {
		do
			p->pos++;
		while (p->pos < p->n && p->s[p->pos] != '\\' && p->s[p->pos] != '$' && p->s[p->pos] != '`' &&
			(is_heredoc || p->s[p->pos] != '"'));
		part_add_text(p, w, end, p->s + from, p->pos - from, true, from);
	}
}

/* "text", with pos at the quote. */
void lex_double(struct parser *p, struct shell_word *w, struct shell_part ***end)
{
	size_t from = p->pos++;

	if (!parse_enter(p))
		return;
	struct shell_part **before = *end;
	while (p->pos < p->n && p->s[p->pos] != '"')
		lex_quoted_step(p, w, end, false);
	if (p->pos >= p->n)
		parse_fail(p, "parse_error", from, "this double quote is never closed");
	p->pos++;
	p->nesting--;
	if (*end == before) /* "" is a word, if an empty one */
		part_add_text(p, w, end, "", 0, true, from);
}

/* The end of the text is moved to `stop` meanwhile, so that nothing inside can read beyond it. */
struct shell_word *lex_bounded(struct parser *p, size_t stop, bool is_heredoc)
{
	size_t n = p->n;
	struct shell_word *w = arena_zalloc(p->a, 1, sizeof(*w));
	struct shell_part **end = &w->first;

	if (!parse_enter(p))
		return w;
	w->at = (struct span){ (uint32_t)p->pos, (uint32_t)stop };
	p->n = stop;
	while (p->pos < p->n) {
		if (!is_heredoc && p->s[p->pos] == '"')
			lex_double(p, w, &end);
		else
			lex_quoted_step(p, w, &end, is_heredoc);
	}
	p->nesting--;
	if (!p->is_failed) {
		p->n = n;
		p->pos = stop;
	}
	return w;
}

/* `commands`: the text inside loses one level of backslashes and is then parsed on its own. */
void lex_backquote(struct parser *p, struct shell_word *w, struct shell_part ***end, bool in_quotes)
{
	size_t from = p->pos++, at = p->pos;

	while (at < p->n && p->s[at] != '`')
		at += p->s[at] == '\\' && at + 1 < p->n ? 2 : 1;
	if (at >= p->n) {
		parse_fail(p, "parse_error", from, "this backquote is never closed");
		return;
	}
	char *text = arena_text(p->a, at - p->pos + 1);
	size_t n = 0;
	for (size_t i = p->pos; i < at; i++) {
		char next = i + 1 < at ? p->s[i + 1] : '\0';
		if (p->s[i] == '\\' &&
			(next == '`' || next == '\\' || next == '$' || (in_quotes && next == '"')))
			i++;
		text[n++] = p->s[i];
	}
	text[n] = '\0';
	p->pos = at + 1;
	struct span at_span = { (uint32_t)from, (uint32_t)p->pos };
	struct shell_script *script = parse_other(p, text, n, at_span, "backquotes");
	struct shell_part *part = part_add(p, w, end, PART_COMMAND, in_quotes, from);
	part->script = script;
}

static int hex_value(char c)
{
	if (is_digit(c))
		return c - '0';
	c = (char)(c | 0x20);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Reads up to `max` digits of a base at *at, which is moved behind them. */
static uint32_t read_digits(const char *s, size_t n, size_t *at, int max, int base)
{
	uint32_t value = 0;

	for (; max > 0 && *at < n; max--, ++*at) {
		int digit = hex_value(s[*at]);
		if (digit < 0 || digit >= base)
			break;
		value = value * (uint32_t)base + (uint32_t)digit;
	}
	return value;
}

/* Escapes of one letter; 0 when it is none. */
static char simple_escape(char c)
{
	static const char from[] = "abeEfnrtv\\'\"?", to[] = "\a\b\033\033\f\n\r\t\v\\'\"?";
	const char *found = strchr(from, c);

	return found ? to[found - from] : '\0';
}

/* One escape of $'...'; *at is just behind the backslash. An escape that is not known stays as it is. */
static void decode_escape(struct buf *to, const char *s, size_t n, size_t *at)
{
	size_t from = *at;
	char c = s[(*at)++], utf8[4];

	if (simple_escape(c)) {
		buf_addc(to, simple_escape(c));
	} else if (c >= '0' && c <= '7') {
		*at = from;
		buf_addc(to, (char)read_digits(s, n, at, 3, 8));
	} else if (c == 'x' || c == 'u' || c == 'U') {
		size_t digits = *at;
		uint32_t value = read_digits(s, n, at, c == 'x' ? 2 : c == 'u' ? 4 : 8, 16);
		if (*at == digits)
			buf_add(to, s + from - 1, 2);
		else if (c == 'x' || value < 0x80)
			buf_addc(to, (char)value);
		else
			buf_add(to, utf8, text_encode(value, utf8));
	} else if (c == 'c' && *at < n) {
		buf_addc(to, (char)(s[(*at)++] & 0x1f));
	} else {
		buf_add(to, s + from - 1, 2);
	}
}

/* $'text', with pos at the quote. */
void lex_ansi(struct parser *p, struct shell_word *w, struct shell_part ***end)
{
	size_t from = p->pos - 1, at = p->pos + 1;
	struct buf to;

	buf_init(&to, p->a);
	while (at < p->n && p->s[at] != '\'') {
		if (p->s[at] == '\\' && at + 1 < p->n) {
			at++;
			decode_escape(&to, p->s, p->n, &at);
		} else {
			buf_addc(&to, p->s[at++]);
		}
	}
	if (at >= p->n) {
		parse_fail(p, "parse_error", from, "this $' is never closed");
		return;
	}
	p->pos = at + 1;
	/* A NUL ends the string, as it does in the shell. */
	part_add_text(p, w, end, to.p, strnlen(to.p, to.n), true, from);
}

/* Where the quoted text that starts at `at` ends; only to find out where an expression ends, not to read
 * it. */
static size_t skip_quoted(const struct parser *p, size_t at)
{
	char quote = p->s[at++];

	while (at < p->n && p->s[at] != quote)
		at += p->s[at] == '\\' && quote != '\'' ? 2 : 1;
	return at + 1;
}

/* Longer than any expression: beyond it, what looks like arithmetic is not taken for it. The bound keeps
 * a text full of open brackets from costing the square of its length. */
enum { LONGEST_EXPRESSION = 64 << 10 };

/* Where the bracket closes that was opened before `at`, with quotes and backslashes respected; SIZE_MAX
 * when it does not. */
static size_t find_close(const struct parser *p, size_t at, char open, char close)
{
	size_t stop = p->n - at > LONGEST_EXPRESSION ? at + LONGEST_EXPRESSION : p->n;

	for (size_t depth = 1; at < stop;) {
		char c = p->s[at];
		if (c == '\'' || c == '"' || c == '`') {
			at = skip_quoted(p, at);
			continue;
		}
		if (c == '\\') {
			at += 2;
			continue;
		}
		if (c == open)
			depth++;
		else if (c == close && --depth == 0)
			return at;
		at++;
	}
	return SIZE_MAX;
}

/* What begins with "((" is arithmetic only when "))" closes it; otherwise it is a subshell inside a
 * subshell. */
size_t lex_arith_end(const struct parser *p, size_t from)
{
	size_t at = find_close(p, from, '(', ')');

	return at != SIZE_MAX && at + 1 < p->n && p->s[at + 1] == ')' ? at : SIZE_MAX;
}

size_t lex_close_bracket(const struct parser *p, size_t from)
{
	return find_close(p, from, '[', ']');
}

/* Arithmetic is kept as its parts, because expansions in it run before it is computed. */
void lex_arith(struct parser *p, struct shell_word *w, struct shell_part ***end, struct span at, size_t skip,
	bool is_quoted)
{
	struct shell_word *inner = lex_bounded(p, at.end, false);

	if (p->is_failed)
		return;
	p->pos = at.end + skip;
	part_add(p, w, end, PART_ARITH, is_quoted, at.start)->arith = inner;
}

/* A run of ordinary bytes. Line continuations inside it vanish, so that `i\<newline>f` is still one
 * text. Returns the classes of the bytes seen. */
static uint8_t lex_run(struct parser *p, struct shell_word *w, struct shell_part ***end)
{
	size_t from = p->pos;
	uint8_t seen = 0;
	struct buf joined = { 0 };

	for (size_t start = p->pos;;) {
		while (p->pos < p->n && !(class_of(p->s[p->pos]) & (META | QUOTE)))
			seen |= class_of(p->s[p->pos++]);
		if (p->pos + 1 < p->n && p->s[p->pos] == '\\' && p->s[p->pos + 1] == '\n') {
			if (!joined.a)
				buf_init(&joined, p->a);
			buf_add(&joined, p->s + start, p->pos - start);
			p->pos += 2;
			start = p->pos;
			continue;
		}
		if (joined.a)
			buf_add(&joined, p->s + start, p->pos - start);
		break;
	}
	if (joined.a)
		part_add_text(p, w, end, joined.p, joined.n, false, from);
	else
		part_add_text(p, w, end, p->s + from, p->pos - from, false, from);
	return seen;
}

/* <(commands) or >(commands) */
static void lex_process(struct parser *p, struct shell_word *w, struct shell_part ***end)
{
	size_t from = p->pos;
	enum part_kind kind = p->s[p->pos] == '<' ? PART_PROC_IN : PART_PROC_OUT;

	lex_skip(p);
	p->pos++;
	struct shell_script *script = parse_nested(p, from);
	part_add(p, w, end, kind, false, from)->script = script;
}

/* Whether the "(" at pos, inside a word, belongs to ?( *( +( @( or !( of an extended glob. */
static bool starts_extglob(const struct parser *p, const struct shell_word *w)
{
	if (p->pos + 1 >= p->n || p->s[p->pos + 1] == ')')
		return false;
	char before = p->s[p->pos - 1];
	if (before == '!' && p->pos - 1 == w->at.start && p->assign_ok)
		return false; /* !(command) */
	return before == '?' || before == '*' || before == '+' || before == '@' || before == '!';
}

/* A backslash outside quotes: the next byte is literal, and a newline vanishes. */
static void lex_escape(struct parser *p, struct shell_word *w, struct shell_part ***end)
{
	size_t from = p->pos;

	if (p->pos + 1 >= p->n) { /* a lone backslash at the very end stands for itself */
		p->pos++;
		part_add_text(p, w, end, "\\", 1, true, from);
		return;
	}
	p->pos += 2;
	if (p->s[from + 1] != '\n')
		part_add_text(p, w, end, p->s + from + 1, 1, true, from);
}

/* Something that quotes or expands, at the current byte. */
static void lex_quoting(struct parser *p, struct shell_word *w, struct shell_part ***end)
{
	switch (p->s[p->pos]) {
	case '\\':
		lex_escape(p, w, end);
		break;
	case '\'':
		lex_single(p, w, end);
		break;
	case '"':
		lex_double(p, w, end);
		break;
	case '`':
		lex_backquote(p, w, end, false);
		break;
	default:
		lex_dollar(p, w, end, false);
	}
}

/* The parts of one word. `depth` counts open parentheses of extended globs and regular expressions,
 * inside which blanks and operators are ordinary bytes. */
static void lex_parts(struct parser *p, struct shell_word *w, struct shell_part ***end, bool is_regex)
{
	uint32_t depth = 0;
	uint8_t seen = 0;

	while (p->pos < p->n) {
		char c = p->s[p->pos];
		if (class_of(c) & QUOTE) {
			lex_quoting(p, w, end);
		} else if (!(class_of(c) & META)) {
			seen |= lex_run(p, w, end);
		} else if ((c == '<' || c == '>') && lex_next(p) == '(') {
			lex_process(p, w, end);
		} else if (depth > 0 || (c == '(' && (is_regex || starts_extglob(p, w))) ||
			(c == '|' && is_regex)) {
			if (c == '(')
				depth++;
			else if (c == ')')
				depth--;
			w->is_extglob = true;
			p->pos++;
			part_add_text(p, w, end, p->s + p->pos - 1, 1, false, p->pos - 1);
		} else {
			break;
		}
	}
	if (depth > 0)
		parse_fail(p, "parse_error", w->at.start, "this pattern's parenthesis is never closed");
	/* What was seen decides later which expansions have to be tried at all. */
	w->has_brace = seen & BRACE;
	w->is_plain = w->first && !w->first->next && w->first->kind == PART_TEXT && !w->first->is_quoted &&
		!(seen & LIVE);
}

/* Where an assignment may stand, everything between the brackets of NAME[...] belongs to the word,
 * blanks and quotes too. With "=" behind the bracket it is the index of an assignment; otherwise the
 * parts become ordinary parts of the word. */
static void lex_index(struct parser *p, struct shell_word *w, struct shell_part ***end)
{
	size_t from = p->pos, at = from;

	while (at < p->n && is_name_char(p->s[at]))
		at++;
	if (at >= p->n || p->s[at] != '[')
		return;
	size_t close = lex_close_bracket(p, at + 1);
	if (close == SIZE_MAX) {
		parse_fail(p, "parse_error", at, "this bracket is never closed");
		return;
	}
	p->pos = at + 1;
	struct shell_word *index = lex_bounded(p, close, false);
	if (p->is_failed)
		return;
	p->pos = close + 1;
	bool is_append = lex_cur(p) == '+' && lex_next(p) == '=';
	if (is_append || (p->pos < p->n && p->s[p->pos] == '=')) {
		p->pos += 1 + is_append;
		w->index = index;
		w->name_n = (uint32_t)(at - from);
		w->value_skip = (uint32_t)(p->pos - from);
		w->is_append = is_append;
		part_add_text(p, w, end, p->s + from, p->pos - from, false, from);
		return;
	}
	part_add_text(p, w, end, p->s + from, at + 1 - from, true, from);
	**end = index->first;
	while (**end)
		*end = &(**end)->next;
	part_add_text(p, w, end, "]", 1, true, close);
}

/* Recognises NAME= and NAME+= at the start of a word. Whether it is an assignment depends on where the
 * word stands; the parser decides that. */
static void find_assignment(struct shell_word *w)
{
	const struct shell_part *part = w->first;
	size_t i = 0;

	if (w->index || !part || part->kind != PART_TEXT || part->is_quoted || !is_name_start(part->text[0]))
		return;
	while (i < part->text_n && is_name_char(part->text[i]))
		i++;
	bool is_append = i + 1 < part->text_n && part->text[i] == '+' && part->text[i + 1] == '=';
	if (!is_append && (i >= part->text_n || part->text[i] != '='))
		return;
	w->name_n = (uint32_t)i;
	w->value_skip = (uint32_t)(i + 1 + is_append);
	w->is_append = is_append;
}

/* One word by the rules of its place: a regular expression, an element of an array, or an ordinary word. */
static struct shell_word *lex_word_in(struct parser *p, bool is_regex, bool is_element)
{
	struct shell_word *w = arena_zalloc(p->a, 1, sizeof(*w));
	struct shell_part **end = &w->first;

	(void)parse_count(p);
	w->at.start = (uint32_t)p->pos;
	/* NAME[...] is special only where an assignment may stand; [...]= only inside an array. */
	if ((p->assign_ok && is_name_start(p->s[p->pos])) || (is_element && p->s[p->pos] == '['))
		lex_index(p, w, &end);
	lex_parts(p, w, &end, is_regex);
	find_assignment(w);
	w->at.end = (uint32_t)p->pos;
	return w;
}

static void lex_comment(struct parser *p)
{
	const char *newline = memchr(p->s + p->pos, '\n', p->n - p->pos);

	p->pos = newline ? (size_t)(newline - p->s) : p->n;
}

/* Skips blanks, line continuations and a comment. */
void lex_blanks(struct parser *p)
{
	char c = lex_cur(p);

	while (c == ' ' || c == '\t') {
		p->pos++;
		c = lex_cur(p);
	}
	if (c == '#')
		lex_comment(p);
}

/* The elements of name=( ... ), with pos behind "(". Newlines separate them, unless a here-document
 * waits for one. */
static void lex_array(struct parser *p, struct shell_word *w)
{
	size_t open = p->pos - 1;
	struct shell_word **end = &w->elements;
	bool assign_ok = p->assign_ok;

	w->is_array = true;
	if (!parse_enter(p))
		return;
	p->assign_ok = false;
	for (;;) {
		lex_blanks(p);
		char c = lex_cur(p);
		if (c == '\n' && !p->pending) {
			p->pos++;
			continue;
		}
		bool is_process = (c == '<' || c == '>') && lex_next(p) == '(';
		if (p->pos >= p->n || c == ')' || ((class_of(c) & META) && !is_process))
			break;
		*end = lex_word_in(p, false, true);
		end = &(*end)->next;
	}
	if (p->pos >= p->n)
		parse_fail(p, "parse_error", open, "this array's parenthesis is never closed");
	else if (p->s[p->pos] != ')')
		parse_fail(p, "parse_error", p->pos, "expected a word or ')' in an array, found '%c'",
			p->s[p->pos]);
	p->pos++;
	p->nesting--;
	p->assign_ok = assign_ok;
}

/* An ordinary word, or NAME=( ... ) where that is allowed. */
struct shell_word *lex_word(struct parser *p)
{
	struct shell_word *w = lex_word_in(p, false, false);
	const struct shell_part *part = w->first;

	/* NAME=( only when nothing stands between. */
	if (p->assign_ok && w->name_n && !part->next && part->text_n == w->value_skip && lex_cur(p) == '(') {
		p->pos++;
		lex_array(p, w);
		w->at.end = (uint32_t)p->pos;
		w->is_plain = false;
	}
	return w;
}

struct shell_word *lex_regex(struct parser *p)
{
	return lex_word_in(p, true, false);
}

static bool take_if(struct parser *p, char c)
{
	if (lex_cur(p) != c)
		return false;
	p->pos++;
	return true;
}

/* Operators that start with "<", the first byte already taken. */
static enum redirect_op lex_less(struct parser *p, struct token *t)
{
	if (take_if(p, '<')) {
		if (take_if(p, '<'))
			return REDIR_HERESTRING;
		t->strips_tabs = take_if(p, '-');
		return REDIR_HEREDOC;
	}
	if (take_if(p, '&'))
		return REDIR_DUP_IN;
	return take_if(p, '>') ? REDIR_RDWR : REDIR_IN;
}

/* Operators that start with ">", the first byte already taken. */
static enum redirect_op lex_greater(struct parser *p)
{
	if (take_if(p, '>'))
		return REDIR_APPEND;
	if (take_if(p, '&'))
		return REDIR_DUP_OUT;
	return take_if(p, '|') ? REDIR_CLOBBER : REDIR_OUT;
}

/* 2> and {fd}>: digits or a name in braces with the operator right behind. False, and nothing is taken,
 * when it is none. */
static bool lex_fd(struct parser *p, struct token *t)
{
	size_t at = p->pos;

	if (p->s[at] == '{') {
		for (at++; at < p->n && is_name_char(p->s[at]); at++)
			;
		if (at >= p->n || p->s[at] != '}' || at == p->pos + 1)
			return false;
		t->is_fd_name = true;
		at++;
	} else {
		int64_t fd = 0;
		for (; at < p->n && is_digit(p->s[at]); at++)
			fd = fd < 100000 ? fd * 10 + (p->s[at] - '0') : fd;
		t->fd = (int)fd;
	}
	if (at >= p->n || (p->s[at] != '<' && p->s[at] != '>') || (at + 1 < p->n && p->s[at + 1] == '(')) {
		t->fd = -1;
		t->is_fd_name = false;
		return false;
	}
	p->pos = at;
	return true;
}

/* & && &> &>> */
static enum token_kind lex_amp(struct parser *p, struct token *t)
{
	if (take_if(p, '&'))
		return TOK_AND;
	if (lex_cur(p) == '>' && lex_next(p) != '(') {
		p->pos++;
		t->op = take_if(p, '>') ? REDIR_BOTH_APPEND : REDIR_BOTH;
		return TOK_REDIR;
	}
	return TOK_AMP;
}

/* ; ;; ;& and ;;& */
static enum token_kind lex_semi(struct parser *p)
{
	if (take_if(p, '&'))
		return TOK_FALL;
	if (!take_if(p, ';'))
		return TOK_SEMI;
	return take_if(p, '&') ? TOK_TEST_NEXT : TOK_BREAK;
}

static enum token_kind lex_pipe(struct parser *p)
{
	if (take_if(p, '|'))
		return TOK_OR;
	return take_if(p, '&') ? TOK_PIPE_BOTH : TOK_PIPE;
}

/* The operator at pos. A newline is the place where waiting here-documents are read. */
static enum token_kind lex_operator(struct parser *p, struct token *t)
{
	char c = p->s[p->pos++];

	switch (c) {
	case '\n':
		if (p->pending)
			lex_heredocs(p);
		return TOK_NEWLINE;
	case '&':
		return lex_amp(p, t);
	case ';':
		return lex_semi(p);
	case '|':
		return lex_pipe(p);
	case '(':
		return TOK_OPEN;
	case ')':
		return TOK_CLOSE;
	case '<':
		t->op = lex_less(p, t);
		return TOK_REDIR;
	default:
		t->op = lex_greater(p);
		return TOK_REDIR;
	}
}

/* The next token, kept until lex_take(). After a failure it is always the end. */
struct token *lex_peek(struct parser *p)
{
	if (p->has_token)
		return &p->token;
	struct token t = { .kind = TOK_END, .fd = -1 };
	lex_blanks(p);
	t.at.start = (uint32_t)p->pos;
	char c = lex_cur(p);
	if (p->pos < p->n) {
		bool is_process = (c == '<' || c == '>') && lex_next(p) == '(';
		/* A number or {name} is part of a redirection only when the operator follows at once. */
		if ((is_digit(c) || c == '{') && lex_fd(p, &t))
			t.kind = lex_operator(p, &t);
		else if ((class_of(c) & META) && !is_process)
			t.kind = lex_operator(p, &t);
		else {
			t.word = lex_word(p);
			t.kind = TOK_WORD;
		}
	}
	if (p->is_failed)
		t.kind = TOK_END;
	t.at.end = (uint32_t)p->pos;
	p->token = t;
	p->has_token = true;
	return &p->token;
}

/* Behind any token an assignment may stand, unless the caller switches that off. */
void lex_take(struct parser *p)
{
	p->has_token = false;
	p->assign_ok = true;
}
