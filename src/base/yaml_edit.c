/* yaml_edit.c — lines in, lines out, and proof that nothing else changed (yaml_edit.h).
 *
 * A YAML file is edited as lines, because no library keeps a person's comments and layout. Finding the
 * right line is a guess that fits how people write such files. So each edit is proved: the text is parsed
 * before and after, and both trees must be equal but for the one item. An edit that cannot be proved is
 * refused, and the file stays as it was. */
#include "base/yaml_edit.h"

#include "base/conf.h"
#include "base/text.h"

#include <string.h>

/* ---- lines ---- */

struct line {
	size_t at, n; /* n: with its end */
	size_t indent;
	bool is_empty; /* blank, or only a comment */
};

struct lines {
	struct arena *a;
	struct bytes text;
	struct line *list;
	size_t n;
	const char *newline;
};

/* Indentation counts spaces only: YAML allows no tabs there. */
static void lines_split(struct lines *l, struct arena *a, struct bytes text)
{
	size_t cap = 1;

	for (size_t i = 0; i < text.n; i++)
		cap += text.p[i] == '\n';
	*l = (struct lines){ .a = a, .text = text, .newline = "\n" };
	l->list = arena_zalloc(a, cap, sizeof(*l->list));
	for (size_t at = 0; at < text.n;) {
		const uint8_t *end = memchr(text.p + at, '\n', text.n - at);
		struct line x = { .at = at, .n = end ? (size_t)(end - text.p) + 1 - at : text.n - at };
		while (x.indent < x.n && text.p[at + x.indent] == ' ')
			x.indent++;
		uint8_t first = x.indent < x.n ? text.p[at + x.indent] : '\n';
		x.is_empty = first == '\n' || first == '\r' || first == '#';
		if (end && end > text.p && end[-1] == '\r')
			l->newline = "\r\n";
		l->list[l->n++] = x;
		at += x.n;
	}
}

/* Whether the line begins, at its indentation, with `name:`. */
static bool line_is_key(const struct lines *l, size_t i, const char *name)
{
	const struct line *x = &l->list[i];
	size_t n = strlen(name);
	const uint8_t *p = l->text.p + x->at + x->indent;

	return !x->is_empty && x->n - x->indent > n && memcmp(p, name, n) == 0 && p[n] == ':';
}

static bool line_is_item(const struct lines *l, size_t i)
{
	const struct line *x = &l->list[i];

	return !x->is_empty && l->text.p[x->at + x->indent] == '-';
}

static size_t next_content(const struct lines *l, size_t i)
{
	while (i < l->n && l->list[i].is_empty)
		i++;
	return i;
}

/* The line of a key among siblings at `indent`, from line `from` to the first line that is further out.
 * l->n when there is none. */
static size_t find_key(const struct lines *l, size_t from, size_t indent, const char *name)
{
	for (size_t i = from; i < l->n; i++) {
		if (l->list[i].is_empty || l->list[i].indent > indent)
			continue;
		if (l->list[i].indent < indent)
			break;
		if (line_is_key(l, i, name))
			return i;
	}
	return l->n;
}

/* ---- proof ---- */

/* A file with nothing but comments is an empty mapping, although YAML calls it null. */
int yaml_edit_read(struct arena *a, struct bytes text, const char *name, struct json **ret, struct err *e)
{
	struct lines l;

	lines_split(&l, a, text);
	if (next_content(&l, 0) == l.n) { /* nothing but comments is an empty file */
		*ret = json_new(a, JSON_OBJECT);
		return OK;
	}
	return conf_parse_yaml(a, text, name, ret, e);
}

/* A file that is written in another way is left alone, and the message says why. */
static int refuse(struct err *e, const char *name, const char *outer, const char *inner)
{
	return err_set(e, E_INPUT, "YAML_EDIT_SHAPE",
		"%s: '%s: %s:' is not written as indented lines, so it cannot be edited in place", name,
		outer, inner);
}

/* The items of the list, empty when it is missing. NULL when something on the way is of another kind. */
static struct json *items_of(struct arena *a, struct json *root, const char *outer, const char *inner)
{
	struct json *box = json_get(root, outer), *list = json_get(box, inner);

	if (!json_is(root, JSON_OBJECT) || (box && !json_is(box, JSON_OBJECT) && !json_is(box, JSON_NULL)) ||
		(list && !json_is(list, JSON_ARRAY) && !json_is(list, JSON_NULL)))
		return NULL;
	return json_is(list, JSON_ARRAY) ? list : json_new(a, JSON_ARRAY);
}

/* Whether both trees are the same apart from this list. An empty list and a missing one are the same. */
static bool same_around(
	struct arena *a, const struct json *x, const struct json *y, const char *outer, const char *inner)
{
	struct json *pair[] = { json_copy(a, x), json_copy(a, y) };

	for (size_t i = 0; i < 2; i++) {
		struct json *box = json_get(pair[i], outer);
		if (json_is(box, JSON_OBJECT))
			(void)json_remove(box, inner);
		if (box && (!json_is(box, JSON_OBJECT) || !box->n))
			(void)json_remove(pair[i], outer);
	}
	return json_eq(pair[0], pair[1]);
}

/* `longer` is `shorter` with one more item at `index`. */
static bool is_one_more(const struct json *shorter, const struct json *longer, size_t index)
{
	if (!shorter || !longer || longer->n != shorter->n + 1)
		return false;
	for (size_t i = 0; i < shorter->n; i++)
		if (!json_eq(shorter->items[i], longer->items[i < index ? i : i + 1]))
			return false;
	return true;
}

/* ---- in ---- */

static void put_line(struct buf *b, size_t indent, const char *newline, const char *text)
{
	buf_addf(b, "%*s%s%s", (int)indent, "", text, newline);
}

/* A JSON scalar is a YAML scalar, so values are written as JSON and need no quoting rules of YAML. */
static void put_item(struct buf *b, const struct lines *l, size_t indent, const struct json *item)
{
	json_each_member (m, item) {
		struct buf value;
		buf_init(&value, l->a);
		json_write(&value, m->value, 0); /* a JSON scalar is a YAML scalar */
		buf_addf(b, "%*s%s%s: %s%s", (int)indent, "", m == item->members ? "- " : "  ", m->name,
			value.p, l->newline);
	}
}

/* Where the lines go, and what is missing above them. */
struct spot {
	size_t line; /* before this one */
	size_t indent;
	bool needs_outer, needs_inner;
};

/* Where our item goes: before the first item of the list, or below the innermost key that is there. */
static struct spot find_spot(const struct lines *l, const char *outer, const char *inner)
{
	size_t top = find_key(l, 0, 0, outer);

	if (top == l->n)
		return (struct spot){ l->n, 0, true, true };
	size_t child = next_content(l, top + 1);
	if (child == l->n || l->list[child].indent == 0)
		return (struct spot){ top + 1, 2, false, true };
	size_t key = find_key(l, child, l->list[child].indent, inner);
	if (key == l->n)
		return (struct spot){ child, l->list[child].indent, false, true };
	size_t item = next_content(l, key + 1);
	if (item < l->n && line_is_item(l, item) && l->list[item].indent >= l->list[key].indent)
		return (struct spot){ item, l->list[item].indent, false, false };
	return (struct spot){ key + 1, l->list[key].indent + 2, false, false };
}

/* Builds the new text, then proves it: same tree around the list, and exactly this item more at its head. */
int yaml_edit_insert(struct arena *a, struct bytes text, const char *name, const char *outer,
	const char *inner, const struct json *item, struct bytes *ret, struct json_span *ret_span,
	struct err *e)
{
	struct json *before, *after;
	struct lines l;
	struct buf add, all;
	int rc = yaml_edit_read(a, text, name, &before, e);

	if (rc)
		return rc;
	lines_split(&l, a, text);
	struct spot s = find_spot(&l, outer, inner);
	size_t at = s.line < l.n ? l.list[s.line].at : text.n;
	buf_init(&add, a);
	if (at && text.p[at - 1] != '\n')
		buf_adds(&add, l.newline);
	if (s.needs_outer)
		put_line(&add, 0, l.newline, arena_printf(a, "%s:", outer));
	s.indent += s.needs_outer ? 2 : 0;
	if (s.needs_inner)
		put_line(&add, s.indent, l.newline, arena_printf(a, "%s:", inner));
	put_item(&add, &l, s.indent + (s.needs_inner ? 2 : 0), item);
	buf_init(&all, a);
	buf_add(&all, text.p, at);
	buf_add(&all, add.p, add.n);
	buf_add(&all, text.p + at, text.n - at);
	if (yaml_edit_read(a, buf_bytes(&all), name, &after, NULL) ||
		!same_around(a, before, after, outer, inner) ||
		!is_one_more(items_of(a, before, outer, inner), items_of(a, after, outer, inner), 0) ||
		!json_eq(items_of(a, after, outer, inner)->items[0], item))
		return refuse(e, name, outer, inner);
	*ret = buf_bytes(&all);
	*ret_span = (struct json_span){ at, add.n };
	return OK;
}

/* ---- out ---- */

/* The lines [*ret_from, *ret_to) of an item: up to the next content that is not further in than its dash. */
static bool find_item(const struct lines *l, size_t key, size_t index, size_t *ret_from, size_t *ret_to)
{
	size_t i = next_content(l, key + 1);
	size_t indent = i < l->n ? l->list[i].indent : 0;

	for (size_t count = 0; i < l->n && line_is_item(l, i) && l->list[i].indent == indent; count++) {
		size_t to = i + 1; /* behind the last content seen */
		size_t next = next_content(l, i + 1);
		while (next < l->n && l->list[next].indent > indent) {
			to = next + 1;
			next = next_content(l, to);
		}
		if (count == index) {
			*ret_from = i;
			*ret_to = to;
			return true;
		}
		i = next;
	}
	return false;
}

/* Takes the keys above along when the item was their only content, so that an insertion is undone
 * completely. */
int yaml_edit_remove(struct arena *a, struct bytes text, const char *name, const char *outer,
	const char *inner, size_t index, struct bytes *ret, struct err *e)
{
	struct json *before, *after;
	struct lines l;
	size_t from, to;
	int rc = yaml_edit_read(a, text, name, &before, e);

	if (rc)
		return rc;
	lines_split(&l, a, text);
	size_t top = find_key(&l, 0, 0, outer), child = next_content(&l, top + 1);
	size_t key = child < l.n ? find_key(&l, child, l.list[child].indent, inner) : l.n;
	if (key == l.n || !find_item(&l, key, index, &from, &to))
		return refuse(e, name, outer, inner);
	const struct json *box = json_get(before, outer), *list = json_get(box, inner);
	if (list->n == 1 && key + 1 == from) {
		from = key;
		if (box->n == 1 && top + 1 == key)
			from = top;
	}
	size_t at = l.list[from].at, end = to < l.n ? l.list[to].at : text.n;
	struct bytes rest = json_edit_cut(a, text, (struct json_span){ at, end - at });
	if (yaml_edit_read(a, rest, name, &after, NULL) || !same_around(a, before, after, outer, inner) ||
		!is_one_more(items_of(a, after, outer, inner), items_of(a, before, outer, inner), index))
		return refuse(e, name, outer, inner);
	*ret = rest;
	return OK;
}
