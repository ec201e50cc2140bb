/* heredoc.c — here-documents: the delimiter where it is named, the body where the line ends.
 *
 * The redirection waits in the parser's queue until the newline (lex_operator), and then the bodies of
 * all that wait are read in order. A body is a slice of the source wherever possible; it is copied only
 * when tabs are stripped or lines joined, and is then parsed as a text of its own. A body with an
 * unquoted delimiter is expanded like double-quoted text, so commands inside it run and are found. */
#include "propose/shell/parser.h"

/* The word behind <<: nothing is expanded in it, quotes are removed, and any quote makes the body
 * literal. */
bool lex_delimiter(struct parser *p, struct shell_redir *r)
{
	struct buf to;

	lex_blanks(p);
	size_t from = p->pos;
	buf_init(&to, p->a);
	for (char c = lex_cur(p); p->pos < p->n && !strchr(" \t\n|&;()<>", c); c = lex_cur(p)) {
		p->pos++;
		if (c == '\\' && p->pos < p->n) {
			r->is_quoted = true;
			buf_addc(&to, p->s[p->pos++]);
		} else if (c == '\'' || c == '"') {
			r->is_quoted = true;
			const char *close = memchr(p->s + p->pos, c, p->n - p->pos);
			if (!close) {
				parse_fail(p, "parse_error", p->pos - 1, "this quote is never closed");
				return false;
			}
			buf_add(&to, p->s + p->pos, (size_t)(close - p->s) - p->pos);
			p->pos = (size_t)(close - p->s) + 1;
		} else {
			buf_addc(&to, c);
		}
	}
	r->delimiter = to.p;
	r->delimiter_n = to.n;
	if (p->pos == from || (p->pos == p->n && p->s[p->n - 1] == '\\'))
		parse_fail(p, "parse_error", from, "expected the delimiter of a here-document");
	return !p->is_failed;
}

/* The body read so far. */
struct body {
	size_t from, to; /* of the slice, when nothing had to be taken out */
	struct buf copy; /* else */
	bool is_copied;
};

/* One line of the body at p->pos, joined with the next ones where an unquoted backslash ends it: so does
 * the shell, before it compares the line with the delimiter. An even number of backslashes does not
 * continue. */
static struct bytes read_line(
	struct parser *p, const struct shell_redir *r, struct buf *joined, bool *ret_joined)
{
	size_t from = p->pos;

	if (r->strips_tabs)
		while (from < p->n && p->s[from] == '\t')
			from++;
	*ret_joined = false;
	for (;;) {
		const char *newline = memchr(p->s + from, '\n', p->n - from);
		size_t end = newline ? (size_t)(newline - p->s) : p->n;
		size_t slashes = 0;
		while (end - slashes > from && p->s[end - slashes - 1] == '\\')
			slashes++;
		p->pos = newline ? end + 1 : p->n;
		/* In a quoted here-document a backslash is an ordinary byte. */
		bool goes_on = !r->is_quoted && newline && slashes % 2 == 1 && p->pos < p->n;
		if (!goes_on && !*ret_joined)
			return (struct bytes){ (const uint8_t *)p->s + from, end - from };
		if (!*ret_joined)
			buf_init(joined, p->a);
		*ret_joined = true;
		buf_add(joined, p->s + from, end - from - goes_on);
		if (!goes_on)
			return buf_bytes(joined);
		from = p->pos;
	}
}

/* Adds a line to the body. The first line that differs from the source starts a copy of all lines so
 * far. */
static void keep_line(struct parser *p, struct body *b, struct bytes line, size_t line_at, bool must_copy)
{
	if (!b->is_copied && must_copy) {
		b->is_copied = true;
		buf_init(&b->copy, p->a);
		buf_add(&b->copy, p->s + b->from, line_at - b->from);
	}
	if (b->is_copied) {
		buf_add(&b->copy, line.p, line.n);
		if (p->s[p->pos - 1] == '\n')
			buf_addc(&b->copy, '\n');
	}
	b->to = p->pos;
}

/* A copied body is parsed as a text of its own; its place in the parent is the whole body. */
static struct shell_word *expand_copy(struct parser *p, struct buf *text, struct span at)
{
	struct source *source = arena_alloc(p->a, sizeof(*source));

	*source = (struct source){ text->p, text->n, p->source, at, "here-document" };
	struct parser inner = *p;
	inner.source = source;
	inner.s = text->p;
	inner.n = text->n;
	inner.pos = 0;
	inner.pending = NULL;
	inner.pending_end = &inner.pending;
	struct shell_word *w = lex_bounded(&inner, text->n, true);
	if (inner.is_failed) {
		p->is_failed = true;
		p->pos = p->n = 0;
	}
	return w;
}

/* The body as a word: parsed for expansions, or one literal part when the delimiter was quoted. */
static struct shell_word *body_word(struct parser *p, const struct shell_redir *r, struct body *b)
{
	struct span at = { (uint32_t)b->from, (uint32_t)b->to };

	if (!r->is_quoted) {
		if (b->is_copied)
			return expand_copy(p, &b->copy, at);
		size_t back = p->pos;
		p->pos = b->from;
		struct shell_word *w = lex_bounded(p, b->to, true);
		if (!p->is_failed)
			p->pos = back;
		return w;
	}
	struct shell_word *w = arena_zalloc(p->a, 1, sizeof(*w));
	struct shell_part **end = &w->first;
	w->at = at;
	if (b->is_copied)
		part_add_text(p, w, &end, b->copy.p, b->copy.n, true, b->from);
	else
		part_add_text(p, w, &end, p->s + b->from, b->to - b->from, true, b->from);
	return w;
}

/* Reads up to the delimiter. */
static void read_body(struct parser *p, struct shell_redir *r)
{
	struct body b = { .from = p->pos, .to = p->pos };
	struct bytes delimiter = { (const uint8_t *)r->delimiter, r->delimiter_n };

	while (p->pos < p->n) {
		struct buf joined;
		bool is_joined;
		size_t line_at = p->pos;
		struct bytes line = read_line(p, r, &joined, &is_joined);
		if (bytes_eq(line, delimiter))
			break;
		/* The line starts behind its tabs, so it is no longer the slice of the source. */
		bool is_stripped = line.n > 0 && !is_joined && line.p != (const uint8_t *)p->s + line_at;
		keep_line(p, &b, line, line_at, is_joined || is_stripped || (r->strips_tabs && line.n == 0));
	}
	/* Without its delimiter the body runs to the end of the text, as in the shell. */
	r->word = body_word(p, r, &b);
}

/* The queue is emptied first: a body may itself hold substitutions with here-documents. */
void lex_heredocs(struct parser *p)
{
	struct shell_redir *r = p->pending;

	p->pending = NULL;
	p->pending_end = &p->pending;
	for (; r && !p->is_failed; r = r->next_pending)
		read_body(p, r);
}
