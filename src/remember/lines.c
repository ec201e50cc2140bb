/* lines.c — lines of entries in a text: put in, struck when something newer holds, taken out again.
 *
 * A line is found by the mark at its end, wherever a person moved it, and touched only while it says what was written. */
#include "remember/parts.h"

#include <string.h>

/* Is this one of the lines, as it was written or struck? */
bool memory_is_line(struct arena *a, const struct json *lines, struct bytes text)
{
	json_each (line, lines) {
		const char *said = json_text(line);
		if (said && (bytes_is(text, said) || bytes_is(text, memory_struck(a, said))))
			return true;
	}
	return false;
}

const char *memory_struck(struct arena *a, const char *line)
{
	size_t mark = strspn(line, " \t");

	if (line[mark] && strchr("-*+", line[mark]) && line[mark + 1] == ' ')
		mark += 2;
	return arena_printf(a, "%.*s~~%s~~", (int)mark, line, line + mark);
}

/* Exactly one of these? */
static bool is_listed(const struct json *lines, struct bytes text)
{
	json_each (line, lines)
		if (json_text(line) && bytes_is(text, json_text(line)))
			return true;
	return false;
}

int memory_edit_add(void *arg, struct arena *a, struct bytes text, struct buf *ret, struct err *e)
{
	struct memory_lines *l = arg;

	(void)a;
	(void)e;
	buf_add(ret, text.p, text.n);
	if (!text.n && l->heading)
		buf_addf(ret, "%s\n\n", l->heading);
	if (ret->n && ret->p[ret->n - 1] != '\n')
		buf_addc(ret, '\n');
	json_each (line, l->lines) {
		buf_addf(ret, "%s <!-- %s -->\n", json_text(line), l->id);
		l->done++;
	}
	return OK;
}

/* Every line of the entry is given to `with`, which puts another one in its place, or none. */
typedef void put_line(struct arena *a, struct buf *to, const char *id, const char *said);

static int edit_lines(
	struct memory_lines *l, struct arena *a, struct bytes text, struct buf *ret, put_line *with)
{
	while (text.p) {
		char id[MEMORY_ID + 1];
		struct bytes bare, line = text_cut(&text, '\n');
		bool is_ours = memory_line_entry(line, id, &bare) && text_eq(id, l->id);
		if (is_ours && (l->always || memory_is_line(a, l->lines, bare))) {
			with(a, ret, id, arena_strndup(a, (const char *)bare.p, bare.n));
			l->done++;
			continue;
		}
		l->left += is_ours;
		buf_add(ret, line.p, line.n);
		if (text.p)
			buf_addc(ret, '\n');
	}
	return OK;
}

static void put_struck(struct arena *a, struct buf *to, const char *id, const char *said)
{
	buf_addf(to, "%s <!-- %s -->\n", strstr(said, "~~") ? said : memory_struck(a, said), id);
}

static void put_bare(struct arena *a, struct buf *to, const char *id, const char *said)
{
	size_t n = strlen(said);
	const char *open = strstr(said, "~~");

	(void)a;
	if (open && n >= 4 && text_ends(said, "~~") && open + 2 <= said + n - 2)
		buf_addf(to, "%.*s%.*s <!-- %s -->\n", (int)(open - said), said,
			(int)(said + n - 2 - (open + 2)), open + 2, id);
	else
		buf_addf(to, "%s <!-- %s -->\n", said, id);
}

static void put_nothing(struct arena *a, struct buf *to, const char *id, const char *said)
{
	(void)a;
	(void)to;
	(void)id;
	(void)said;
}

int memory_edit_strike(void *arg, struct arena *a, struct bytes text, struct buf *ret, struct err *e)
{
	(void)e;
	return edit_lines(arg, a, text, ret, put_struck);
}

int memory_edit_unstrike(void *arg, struct arena *a, struct bytes text, struct buf *ret, struct err *e)
{
	(void)e;
	return edit_lines(arg, a, text, ret, put_bare);
}

int memory_edit_remove(void *arg, struct arena *a, struct bytes text, struct buf *ret, struct err *e)
{
	(void)e;
	return edit_lines(arg, a, text, ret, put_nothing);
}

int memory_edit_name(void *arg, struct arena *a, struct bytes text, struct buf *ret, struct err *e)
{
	struct memory_lines *l = arg;

	(void)e;
	while (text.p) {
		char id[MEMORY_ID + 1];
		struct bytes bare, line = text_cut(&text, '\n');
		bool is_named = memory_line_entry(line, id, &bare);
		const struct json *of = is_named ? memory_entry(l->entries, id) : NULL;
		bool is_ours = is_listed(l->lines, bare) && !memory_is_line(a, json_get(of, "lines"), bare);
		if (is_ours) {
			buf_add(ret, bare.p, bare.n);
			buf_addf(ret, " <!-- %s -->", l->id);
			l->done++;
		} else {
			buf_add(ret, line.p, line.n);
		}
		if (text.p)
			buf_addc(ret, '\n');
	}
	return OK;
}
