/* format.c — a policy file in its one layout; comments stay.
 *
 * YAML: two columns for each level, lists indented below their key, one blank line at most, nothing behind the end of a line.  JSON: indented.  TOML and everything that another
 * layout could change: only the ends of lines.  Whatever is made is read again, and thrown away when it is not the same tree. */
#include "base/conf.h"
#include "decide/bundle/parts.h"
#include "decide/dsl/dsl.h"

#include <string.h>

enum { MOST_LEVELS = 128 };

/* A column of the old layout and what it becomes.  A list may stand in the column of its key. */
struct level {
	size_t column, becomes;
	bool is_list;
};

struct layout {
	struct buf out;
	struct level levels[MOST_LEVELS];
	size_t depth;
	size_t block; /* lines of a text block are deeper than this column; SIZE_MAX: none */
	size_t block_from, block_to; /* its first line's column, old and new */
	size_t blanks; /* since the last line */
	struct comment {
		struct bytes text;
		bool is_apart; /* a blank line stood before it */
	} * comments; /* that wait for the line they are about */
	size_t comment_n, comment_room;
};

/* Without blanks and carriage returns at the end. */
static struct bytes trimmed(struct bytes line)
{
	while (line.n > 0 && strchr(" \t\r", line.p[line.n - 1]))
		line.n--;
	return line;
}

static size_t indent_of(struct bytes line)
{
	size_t n = 0;

	while (n < line.n && line.p[n] == ' ')
		n++;
	return n;
}

static bool is_dash(struct bytes line, size_t at)
{
	return at < line.n && line.p[at] == '-' && (at + 1 == line.n || line.p[at + 1] == ' ');
}

static void put_blanks(struct layout *l, size_t column, bool is_apart)
{
	if (is_apart && l->out.n)
		buf_addc(&l->out, '\n');
	for (size_t i = 0; i < column; i++)
		buf_addc(&l->out, ' ');
}

/* Comments stand in the column of what they are about. */
static void start_line(struct layout *l, size_t column)
{
	for (size_t i = 0; i < l->comment_n; i++) {
		put_blanks(l, column, l->comments[i].is_apart);
		buf_add(&l->out, l->comments[i].text.p, l->comments[i].text.n);
		buf_addc(&l->out, '\n');
	}
	l->comment_n = 0;
	put_blanks(l, column, l->blanks > 0);
	l->blanks = 0;
}

/* The level of something in this column; made when it is new. */
static size_t level_at(struct layout *l, size_t column, bool is_list)
{
	while (l->depth > 0 &&
		(l->levels[l->depth - 1].column > column ||
			(l->levels[l->depth - 1].column == column && l->levels[l->depth - 1].is_list &&
				!is_list)))
		l->depth--;
	const struct level *top = l->depth ? &l->levels[l->depth - 1] : NULL;
	if (top && top->column == column && top->is_list == is_list)
		return top->becomes;
	if (l->depth == MOST_LEVELS)
		return top->becomes;
	size_t becomes = top ? top->becomes + 2 : 0;
	l->levels[l->depth++] = (struct level){ column, becomes, is_list };
	return becomes;
}

/* Does the line end in | or > (with - + or a number), so that a text follows? */
static bool opens_block(struct bytes line)
{
	size_t n = line.n;

	while (n > 0 && strchr("-+0123456789", line.p[n - 1]))
		n--;
	return n > 1 && (line.p[n - 1] == '|' || line.p[n - 1] == '>') && line.p[n - 2] == ' ';
}

/* "- - key: value": each dash is a level, and so is what stands behind the last. */
static void add_structure(struct layout *l, struct bytes line)
{
	size_t column = indent_of(line), at = column, becomes = 0;
	bool is_first = true;

	while (is_dash(line, at)) {
		becomes = level_at(l, at, true);
		if (is_first)
			start_line(l, becomes);
		is_first = false;
		buf_adds(&l->out, at + 1 < line.n ? "- " : "-");
		at++;
		while (at < line.n && line.p[at] == ' ')
			at++;
	}
	if (at == line.n)
		return;
	if (is_first || memchr(line.p + at, ':', line.n - at)) {
		becomes = level_at(l, at, false);
		if (is_first)
			start_line(l, becomes);
	}
	buf_add(&l->out, line.p + at, line.n - at);
	if (opens_block(line)) {
		l->block = column;
		l->block_from = SIZE_MAX;
		l->block_to = becomes + 2;
	}
}

/* A line of a text block keeps its place in the block. */
static void add_block_line(struct layout *l, struct bytes line, size_t column)
{
	if (l->block_from == SIZE_MAX)
		l->block_from = column;
	size_t inside = column > l->block_from ? column - l->block_from : 0;
	for (; l->blanks; l->blanks--)
		buf_addc(&l->out, '\n');
	for (size_t i = 0; i < l->block_to + inside; i++)
		buf_addc(&l->out, ' ');
	buf_add(&l->out, line.p + column, line.n - column);
}

static void add_line(struct layout *l, struct bytes line)
{
	if (bytes_is(line, "---")) {
		start_line(l, 0);
		l->depth = 0;
		buf_adds(&l->out, "---\n");
	} else {
		add_structure(l, line);
		buf_addc(&l->out, '\n');
	}
}

static void keep_comment(struct layout *l, struct bytes text)
{
	if (l->comment_n == l->comment_room) {
		size_t room = l->comment_room * 2 + 8;
		l->comments = arena_grow(l->out.a, l->comments, l->comment_n * sizeof(*l->comments),
			room * sizeof(*l->comments));
		l->comment_room = room;
	}
	l->comments[l->comment_n++] = (struct comment){ text, l->blanks > 0 };
	l->blanks = 0;
}

static struct bytes format_yaml(struct arena *a, struct bytes text)
{
	struct layout *l = arena_zalloc(a, 1, sizeof(*l));

	buf_init(&l->out, a);
	l->block = SIZE_MAX;
	while (text.p && text.n > 0) {
		struct bytes line = trimmed(text_cut(&text, '\n'));
		size_t column = indent_of(line);
		if (line.n == 0) {
			l->blanks++;
		} else if (l->block != SIZE_MAX && column > l->block) {
			add_block_line(l, line, column);
			buf_addc(&l->out, '\n');
		} else if (line.p[column] == '#') {
			l->block = SIZE_MAX;
			keep_comment(l, (struct bytes){ line.p + column, line.n - column });
		} else {
			l->block = SIZE_MAX;
			add_line(l, line);
		}
	}
	l->blanks = 0;
	start_line(l, 0);
	return buf_bytes(&l->out);
}

/* Ends of lines only. */
static struct bytes format_lines(struct arena *a, struct bytes text)
{
	struct layout *l = arena_zalloc(a, 1, sizeof(*l));

	buf_init(&l->out, a);
	while (text.p && text.n > 0) {
		struct bytes line = trimmed(text_cut(&text, '\n'));
		if (line.n == 0) {
			l->blanks++;
			continue;
		}
		start_line(l, 0);
		buf_add(&l->out, line.p, line.n);
		buf_addc(&l->out, '\n');
	}
	return buf_bytes(&l->out);
}

static bool is_same_yaml(struct arena *a, struct bytes one, struct bytes two)
{
	struct json *x, *y;

	if (conf_parse_yaml_all(a, one, "x", &x, NULL))
		BUG("an accepted policy is no YAML");
	return !conf_parse_yaml_all(a, two, "x", &y, NULL) && json_eq(x, y);
}

struct bytes policy_format(
	struct arena *a, struct bytes text, enum policy_shape shape, const struct json *source)
{
	struct bytes made;
	struct json *x;
	struct buf b;

	if (shape == POLICY_SHAPE_GRAPH)
		return dsl_format(a, text);
	if (shape == POLICY_SHAPE_SERVE || shape == POLICY_SHAPE_LAUNCH)
		return format_lines(a, text);
	if (!json_parse(a, text, "x", NULL, &x, NULL)) {
		buf_init(&b, a);
		json_write(&b, source, JSON_INDENT);
		buf_addc(&b, '\n');
		return buf_bytes(&b);
	}
	made = format_yaml(a, text);
	return is_same_yaml(a, text, made) ? made : text;
}
