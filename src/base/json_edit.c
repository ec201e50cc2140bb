/* json_edit.c — insertions and removals in the text of a JSON document; see json_edit.h.
 *
 * People's settings files are edited, so everything that is not ours must stay byte for byte: comments are
 * no JSON, but order, spacing and number spellings are kept. Only the inserted piece is written, in the
 * indentation and line ends of the file, and its span is returned so that it can be taken out again
 * exactly.
 *
 * The parser tells where each value begins. Where it ends is found by skipping over text that is known to
 * be well-formed: what is looked at lies inside an array or object, so its closing bracket stops every
 * search. */
#include "base/json_edit.h"

#include <string.h>

struct edit {
	struct arena *a;
	const char *t; /* the text */
	size_t n;
	const char *newline;
	const char *unit; /* one step of indentation */
	bool is_tall; /* written over several lines, or nothing that would say */
};

/* Ends at the first byte that is no white space; inside a container there always is one. */
static size_t skip_space(const struct edit *x, size_t at)
{
	while (strchr(" \t\r\n", x->t[at]))
		at++;
	return at;
}

/* Behind the closing quote; an escaped character is stepped over. */
static size_t string_end(const struct edit *x, size_t at)
{
	for (at++; x->t[at] != '"'; at++)
		at += x->t[at] == '\\';
	return at + 1;
}

/* Behind the value at `at`. Brackets are counted without looking which kind: the text is well-formed. */
static size_t value_end(const struct edit *x, size_t at)
{
	size_t depth = 0;

	if (x->t[at] == '"')
		return string_end(x, at);
	if (x->t[at] != '{' && x->t[at] != '[') {
		while (!strchr(",]} \t\r\n", x->t[at]))
			at++;
		return at;
	}
	for (;; at++) {
		if (x->t[at] == '"')
			at = string_end(x, at) - 1;
		else if (x->t[at] == '{' || x->t[at] == '[')
			depth++;
		else if ((x->t[at] == '}' || x->t[at] == ']') && --depth == 0)
			return at + 1;
	}
}

static bool has_newline(const struct edit *x, size_t from, size_t to)
{
	return to > from && memchr(x->t + from, '\n', to - from);
}

/* The white space the line of `at` begins with. */
static const char *line_indent(const struct edit *x, size_t at)
{
	size_t start = at, end;

	while (start > 0 && x->t[start - 1] != '\n')
		start--;
	for (end = start; end < at && (x->t[end] == ' ' || x->t[end] == '\t');)
		end++;
	return arena_strndup(x->a, x->t + start, end - start);
}

/* Learns the file's habits: line ends from its first line, indentation from its first member, one line or
 * several from the whole. */
static void edit_begin(struct edit *x, struct arena *a, struct bytes text, const struct json *root)
{
	*x = (struct edit){ a, (const char *)text.p, text.n, "\n", "  ", root->n == 0 };
	x->is_tall |= has_newline(x, root->at, value_end(x, root->at));
	const char *first_line = memchr(x->t, '\n', x->n);
	if (first_line && first_line > x->t && first_line[-1] == '\r')
		x->newline = "\r\n";
	size_t first = skip_space(x, root->at + 1);
	if (root->n && has_newline(x, root->at, first)) {
		const char *found = line_indent(x, first);
		x->unit = *found ? found : x->unit;
	}
}

/* Writes a value with the writer's two spaces per step turned into the file's own indentation. */
static void add_indented(struct buf *to, const struct edit *x, const struct json *v, const char *indent)
{
	struct buf plain;

	buf_init(&plain, x->a);
	json_write(&plain, v, JSON_INDENT);
	for (const char *p = plain.p;;) {
		size_t n = strcspn(p, "\n");
		buf_add(to, p, n);
		p += n;
		if (!*p)
			break;
		size_t spaces = strspn(++p, " ");
		buf_adds(to, x->newline);
		buf_adds(to, indent);
		for (size_t i = 0; i < spaces / 2; i++)
			buf_adds(to, x->unit);
		p += spaces;
	}
}

static void add_value(
	struct buf *to, const struct edit *x, const char *member, const struct json *v, const char *indent)
{
	if (member) {
		json_write(to, json_string(x->a, member), 0);
		buf_adds(to, ": ");
	}
	if (indent)
		add_indented(to, x, v, indent);
	else
		json_write(to, v, JSON_SPACED);
}

/* Where an array or object's last value ends. */
static size_t last_end(const struct edit *x, const struct json *box)
{
	const struct json *last =
		box->type == JSON_ARRAY ? box->items[box->n - 1] : box->members[box->n - 1].value;

	return value_end(x, last->at);
}

/* Puts a value behind the last one of an array or object. It is written on a line of its own if its
 * neighbours are; an empty container follows the habit of the file. */
static void insert(const struct edit *x, const struct json *box, const char *member, const struct json *v,
	struct bytes *ret, struct json_span *ret_span)
{
	size_t first = skip_space(x, box->at + 1), at = box->at + 1;
	bool is_tall = box->n ? has_newline(x, box->at, first) : x->is_tall;
	const char *outer = line_indent(x, box->at);
	const char *inner =
		box->n && is_tall ? line_indent(x, first) : arena_printf(x->a, "%s%s", outer, x->unit);
	struct buf piece, all;

	buf_init(&piece, x->a);
	if (box->n) {
		at = last_end(x, box);
		buf_adds(&piece, is_tall ? "," : ", ");
	}
	if (is_tall)
		buf_addf(&piece, "%s%s", x->newline, inner);
	add_value(&piece, x, member, v, is_tall ? inner : NULL);
	if (!box->n && is_tall && !has_newline(x, at, first))
		buf_addf(&piece, "%s%s", x->newline, outer);
	buf_init(&all, x->a);
	buf_add(&all, x->t, at);
	buf_add(&all, piece.p, piece.n);
	buf_add(&all, x->t + at, x->n - at);
	*ret = buf_bytes(&all);
	*ret_span = (struct json_span){ at, piece.n };
}

/* Walks down as far as the path exists. What is missing of it is built around the value from the inside
 * out, and the whole is inserted once. */
int json_edit_append(struct arena *a, struct bytes text, const char *name, const char *const *path,
	size_t depth, const struct json *value, struct bytes *ret, struct json_span *ret_span, struct err *e)
{
	struct json *root, *wrapped = json_copy(a, value);
	struct edit x;
	size_t i = 0;
	int rc = json_parse(a, text, name, NULL, &root, e);

	if (rc)
		return rc;
	const struct json *box = root, *next = root;
	for (; next; i++) {
		if (!json_is(next, i == depth ? JSON_ARRAY : JSON_OBJECT))
			return err_set(e, E_INPUT, "JSON_EDIT_SHAPE", "%s: %s%s%s must be %s, and is %s",
				name, i ? "'" : "the document", i ? path[i - 1] : "", i ? "'" : "",
				i == depth ? "an array" : "an object", json_type_name(next));
		box = next;
		next = i < depth ? json_get(box, path[i]) : NULL;
	}
	edit_begin(&x, a, text, root);
	if (json_is(box, JSON_ARRAY)) {
		insert(&x, box, NULL, wrapped, ret, ret_span);
		return OK;
	}
	struct json *inner = json_new(a, JSON_ARRAY);
	json_push(a, inner, wrapped);
	for (size_t k = depth - 1; k >= i; k--) {
		struct json *outer = json_new(a, JSON_OBJECT);
		json_set(a, outer, path[k], inner);
		inner = outer;
	}
	insert(&x, box, path[i - 1], inner, ret, ret_span);
	return OK;
}

/* Takes a span out that an insertion returned, which gives the old text back byte for byte. */
struct bytes json_edit_cut(struct arena *a, struct bytes text, struct json_span span)
{
	struct buf all;

	if (span.at > text.n || span.n > text.n - span.at)
		BUG("a span beyond the text");
	buf_init(&all, a);
	buf_add(&all, text.p, span.at);
	buf_add(&all, text.p + span.at + span.n, text.n - span.at - span.n);
	return buf_bytes(&all);
}

/* The value one step down, by name or by index, and its place among its siblings. */
static const struct json *child(const struct json *box, struct json_step step, size_t *ret_index)
{
	if (!step.name) {
		*ret_index = step.index;
		return json_at(box, step.index);
	}
	json_each_member (m, box)
		if (strlen(step.name) == m->name_n && memcmp(m->name, step.name, m->name_n) == 0) {
			*ret_index = (size_t)(m - box->members);
			return m->value;
		}
	return NULL;
}

static const struct json *sibling(const struct json *box, size_t i)
{
	return box->type == JSON_ARRAY ? box->items[i] : box->members[i].value;
}

/* Takes the comma along: the one before the value, or for a first value the one behind it. */
int json_edit_remove(struct arena *a, struct bytes text, const char *name, const struct json_step *path,
	size_t depth, struct bytes *ret, struct err *e)
{
	struct json *root;
	const struct json *box, *v;
	struct edit x;
	size_t index = 0;
	int rc = json_parse(a, text, name, NULL, &root, e);

	if (rc)
		return rc;
	box = v = root;
	for (size_t i = 0; v && i < depth; i++) {
		box = v;
		v = child(box, path[i], &index);
	}
	if (!v)
		return err_set(e, E_MISSING, "JSON_EDIT_PATH", "%s: nothing to take out", name);
	edit_begin(&x, a, text, root);
	size_t from, to = value_end(&x, v->at);
	if (index > 0) {
		from = value_end(&x, sibling(box, index - 1)->at);
	} else if (box->n > 1) { /* up to where the next one begins */
		from = skip_space(&x, box->at + 1);
		to = skip_space(&x, skip_space(&x, to) + 1);
	} else { /* the only one: everything between the brackets */
		from = box->at + 1;
		to = value_end(&x, box->at) - 1;
	}
	*ret = json_edit_cut(a, text, (struct json_span){ from, to - from });
	return OK;
}

/* On one line where the old one was, else in the indentation of its line. */
int json_edit_replace(struct arena *a, struct bytes text, const char *name, const struct json_step *path,
	size_t depth, const struct json *value, struct bytes *ret, struct bytes *ret_old, struct err *e)
{
	const struct json *v;
	struct json *root;
	struct edit x;
	struct buf all;
	size_t index = 0;
	int rc = json_parse(a, text, name, NULL, &root, e);

	if (rc)
		return rc;
	v = root;
	for (size_t i = 0; v && i < depth; i++)
		v = child(v, path[i], &index);
	if (!v || !depth)
		return err_set(e, E_MISSING, "JSON_EDIT_PATH", "%s: nothing to replace", name);
	edit_begin(&x, a, text, root);
	size_t end = value_end(&x, v->at);
	*ret_old = (struct bytes){ (const uint8_t *)arena_strndup(a, x.t + v->at, end - v->at), end - v->at };
	buf_init(&all, a);
	buf_add(&all, x.t, v->at);
	add_value(&all, &x, NULL, value, has_newline(&x, v->at, end) ? line_indent(&x, v->at) : NULL);
	buf_add(&all, x.t + end, x.n - end);
	*ret = buf_bytes(&all);
	return OK;
}
