/* pretty.c — documents for people: what --json prints as an object is lines of "name value"; a list of
 * objects is a table.
 *
 * For commands whose result needs no layout of its own. Nothing is left out: what is too deep for a line
 * is written as a value of its path ("limits max files"). */
#include "cli/cli.h"

#include "base/text.h"

#include <ctype.h>
#include <string.h>

enum { TABLE_COLUMNS = 6, CELL_LONGEST = 60 };

static bool is_plain(const struct json *v)
{
	return !json_is(v, JSON_OBJECT) && !json_is(v, JSON_ARRAY);
}

/* Told by its first item. */
static bool is_list_of_objects(const struct json *v)
{
	return json_is(v, JSON_ARRAY) && v->n && json_is(v->items[0], JSON_OBJECT);
}

/* Yes and no for truth values, "-" for nothing, lists joined by commas. */
static void add_value(struct buf *to, const struct json *v)
{
	if (json_text(v) && *json_text(v)) {
		buf_adds(to, text_safe(to->a, json_text(v), strlen(json_text(v)), false));
	} else if (json_text(v) || json_is(v, JSON_NULL) || (!is_plain(v) && !v->n)) {
		buf_addc(to, '-');
	} else if (json_is_bool(v)) {
		buf_adds(to, json_is(v, JSON_TRUE) ? "yes" : "no");
	} else if (json_is(v, JSON_ARRAY)) {
		for (uint32_t i = 0; i < v->n; i++) {
			buf_adds(to, i ? ", " : "");
			add_value(to, v->items[i]);
		}
	} else {
		json_write(to, v, JSON_SPACED);
	}
}

static const char *value_text(struct cli *r, const struct json *v)
{
	struct buf text;

	buf_init(&text, r->a);
	add_value(&text, v);
	return text.p;
}

/* "max_files" below "limits" is "limits max files". */
static const char *label(struct cli *r, const char *above, const char *name, bool is_heading)
{
	char *text = arena_printf(r->a, "%s%s%s", above, *above ? " " : "", name);

	for (char *p = text; *p; p++)
		*p = *p == '_' ? ' ' : is_heading ? (char)toupper((unsigned char)*p) : *p;
	return text_safe(r->a, text, strlen(text), false);
}

/* The lines of one object, including those of objects in it. Called twice: first only to measure the
 * names, then to print. */
static size_t lines(struct cli *r, const struct json *v, const char *above, size_t widest, bool prints)
{
	json_each_member (m, v) {
		const char *name = label(r, above, m->name, false);
		if (json_is(m->value, JSON_OBJECT) && m->value->n) {
			widest = lines(r, m->value, name, widest, prints);
		} else if (!is_list_of_objects(m->value)) {
			size_t n = text_width(name, strlen(name));
			if (prints)
				out(r, "%s%s%s%*s  %s\n", paint(r, PAINT_MUTED), name, paint(r, PAINT_OFF),
					(int)(widest - n), "", value_text(r, m->value));
			widest = n > widest ? n : widest;
		}
	}
	return widest;
}

static void lists_inside(struct cli *r, const struct json *v, const char *above);

/* Lines first, then the lists that did not fit into lines. */
static void object(struct cli *r, const struct json *v)
{
	lines(r, v, "", lines(r, v, "", 0, false), true);
	lists_inside(r, v, "");
}

/* A table fits few members with short values that are the same in every row. The last column may be long. */
static bool fits_table(struct cli *r, const struct json *list)
{
	const struct json *first = list->items[0];

	if (!first->n || first->n > TABLE_COLUMNS)
		return false;
	json_each (row, list) {
		if (!json_is(row, JSON_OBJECT) || row->n > first->n)
			return false;
		json_each_member (m, row)
			if (!json_get(first, m->name) || json_is(m->value, JSON_OBJECT) ||
				is_list_of_objects(m->value) ||
				/* Compared by address: it asks whether m is the last member. */
				(m->name != row->members[row->n - 1].name &&
					strlen(value_text(r, m->value)) > CELL_LONGEST))
				return false;
	}
	return true;
}

/* A table where it fits; otherwise one block of lines per object. */
static void list_of_objects(struct cli *r, const struct json *list)
{
	const char *cells[TABLE_COLUMNS];
	const struct json *first = list->items[0];

	if (!fits_table(r, list)) {
		bool is_first = true;
		json_each (row, list) {
			if (!is_first)
				out(r, "\n");
			is_first = false;
			out_pretty(r, row);
		}
		return;
	}
	for (uint32_t i = 0; i < first->n; i++)
		cells[i] = label(r, "", first->members[i].name, true);
	struct out_table *t = out_table(r, cells, first->n);
	json_each (row, list) {
		for (uint32_t i = 0; i < first->n; i++) {
			const struct json *v = json_get(row, first->members[i].name);
			cells[i] = v ? value_text(r, v) : "-";
		}
		out_row(t, cells, NULL);
	}
	out_table_end(t);
}

/* Lists of objects, each under the name of its path. */
static void lists_inside(struct cli *r, const struct json *v, const char *above)
{
	json_each_member (m, v) {
		const char *name = label(r, above, m->name, false);
		if (json_is(m->value, JSON_OBJECT))
			lists_inside(r, m->value, name);
		if (!is_list_of_objects(m->value))
			continue;
		out(r, "\n%s%s%s\n", paint(r, PAINT_ACCENT), name, paint(r, PAINT_OFF));
		list_of_objects(r, m->value);
	}
}

/* An empty object or list is said to be empty. */
void out_pretty(struct cli *r, const struct json *v)
{
	if (json_is(v, JSON_OBJECT) && v->n)
		object(r, v);
	else if (is_list_of_objects(v))
		list_of_objects(r, v);
	else if (json_is(v, JSON_ARRAY) && v->n)
		json_each (one, v)
			out(r, "%s\n", value_text(r, one));
	else
		out(r, "%s\n", is_plain(v) ? value_text(r, v) : "nothing to list");
}

/* The one rule for results: the document for --json, lines and tables otherwise. */
void out_result(struct cli *r, const struct json *v)
{
	if (r->is_json)
		out_json(r, v);
	else
		out_pretty(r, v);
}
