/* front_matter.c — see front_matter.h.  One pass over the lines, with a short stack of keys that stand further left. */
#include "remember/front_matter.h"

#include <string.h>

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static struct bytes trim(struct bytes t)
{
	while (t.n && is_blank((char)t.p[t.n - 1]))
		t.n--;
	while (t.n && is_blank((char)*t.p)) {
		t.p++;
		t.n--;
	}
	return t;
}

static bool begins(struct bytes t, const char *with)
{
	size_t n = strlen(with);

	return t.n >= n && memcmp(t.p, with, n) == 0;
}

static struct bytes from(struct bytes t, size_t at)
{
	return (struct bytes){ t.p + at, t.n - at };
}

/* ---- values ---- */

static bool is_digit(uint8_t c)
{
	return c >= '0' && c <= '9';
}

/* -?(0|[1-9][0-9]*)(.[0-9]+)? */
static bool is_number(struct bytes t)
{
	size_t i = t.n && t.p[0] == '-', digits = i;

	while (i < t.n && is_digit(t.p[i]))
		i++;
	if (i == digits || (t.p[digits] == '0' && i > digits + 1))
		return false;
	if (i == t.n)
		return true;
	if (t.p[i++] != '.')
		return false;
	size_t fraction = i;
	while (i < t.n && is_digit(t.p[i]))
		i++;
	return i == t.n && i > fraction;
}

static struct json *text_value(struct arena *a, struct bytes t)
{
	size_t n;
	const char *text = text_utf8(a, (const char *)t.p, t.n, TEXT_BYTE, &n);

	return json_stringn(a, text, n);
}

/* Where the quoted text that begins here ends: behind its closing quote; 0 when there is none. */
static size_t quoted_end(struct bytes t)
{
	char quote = (char)t.p[0];

	for (size_t i = 1; i < t.n; i++) {
		if (quote == '"' && t.p[i] == '\\')
			i++;
		else if (t.p[i] == (uint8_t)quote && !(quote == '\'' && i + 1 < t.n && t.p[i + 1] == '\''))
			return i + 1;
		else if (t.p[i] == (uint8_t)quote)
			i++;
	}
	return 0;
}

static struct json *unquote(struct arena *a, struct bytes t)
{
	struct buf b;

	buf_init(&b, a);
	for (size_t i = 1; i + 1 < t.n; i++) {
		char c = (char)t.p[i];
		if (t.p[0] == '\'')
			i += c == '\'';
		else if (c == '\\' && strchr("\"\\n", t.p[i + 1]) && t.p[i + 1])
			c = t.p[++i] == 'n' ? '\n' : (char)t.p[i];
		buf_addc(&b, c);
	}
	return text_value(a, buf_bytes(&b));
}

static struct json *scalar(struct arena *a, struct bytes t)
{
	if (!t.n || bytes_is(t, "null"))
		return json_new(a, JSON_NULL);
	if (bytes_is(t, "true") || bytes_is(t, "false"))
		return json_bool(a, t.p[0] == 't');
	if (is_number(t)) {
		struct json *v = json_new(a, JSON_NUMBER);
		v->text = arena_strndup(a, (const char *)t.p, t.n);
		v->n = (uint32_t)t.n;
		return v;
	}
	if ((t.p[0] == '"' || t.p[0] == '\'') && quoted_end(t) == t.n)
		return unquote(a, t);
	return text_value(a, t);
}

/* [a, "b, c"]: what stands between commas, outside of quotes. */
static struct json *list(struct arena *a, struct bytes t)
{
	struct json *v = json_new(a, JSON_ARRAY);
	struct bytes rest = trim((struct bytes){ t.p + 1, t.n - 2 });

	while (rest.n) {
		size_t end = rest.p[0] == '"' || rest.p[0] == '\'' ? quoted_end(rest) : 0;
		while (end < rest.n && rest.p[end] != ',')
			end++;
		json_push(a, v, scalar(a, trim((struct bytes){ rest.p, end })));
		rest = end < rest.n ? trim(from(rest, end + 1)) : (struct bytes){ rest.p, 0 };
	}
	return v;
}

static struct json *value_of(struct arena *a, struct bytes t)
{
	return t.n >= 2 && t.p[0] == '[' && t.p[t.n - 1] == ']' ? list(a, t) : scalar(a, t);
}

/* ---- lines ---- */

struct line {
	struct bytes all; /* with its newline */
	struct bytes said; /* without blanks at either end */
	size_t indent;
};

/* Takes one line off `rest`. */
static struct line next_line(struct bytes *rest)
{
	const uint8_t *end = memchr(rest->p, '\n', rest->n);
	size_t n = end ? (size_t)(end - rest->p) : rest->n;
	struct line l = { .all = { rest->p, end ? n + 1 : n }, .said = trim((struct bytes){ rest->p, n }) };

	l.indent = (size_t)(l.said.p - rest->p);
	*rest = from(*rest, l.all.n);
	return l;
}

/* The parts of a text: what is between the fences, and behind them.  False: there is no front matter. */
static bool split(struct bytes text, struct bytes *ret_head, struct bytes *ret_body)
{
	struct bytes rest = begins(text, "\xef\xbb\xbf") ? from(text, 3) : text, head;

	if (!begins(rest, "---"))
		return false;
	(void)next_line(&rest);
	head = (struct bytes){ rest.p, 0 };
	while (rest.n && head.n <= FRONT_MATTER_BYTES) {
		struct line l = next_line(&rest);
		if (begins(l.all, "---")) {
			*ret_head = head;
			*ret_body = rest;
			return true;
		}
		head.n += l.all.n;
	}
	return false;
}

/* Where the key of a line ends; 0: it has none. */
static size_t key_end(const struct line *l)
{
	const uint8_t *colon = l->said.n && l->said.p[0] != '#' ? memchr(l->said.p, ':', l->said.n) : NULL;

	return colon ? (size_t)(colon - l->said.p) : 0;
}

static bool is_item(const struct line *l)
{
	return begins(l->said, "- ") || bytes_is(l->said, "-");
}

/* ---- reading ---- */

struct level {
	size_t indent; /* of the keys in it */
	struct json *fields;
};

struct reading {
	struct arena *a;
	struct bytes rest;
	struct level levels[FRONT_MATTER_DEPTH];
	size_t depth;
	/* The key that has no value yet: what follows may be it. */
	const char *open;
	size_t open_indent;
	size_t keys;
};

/* | or >, perhaps with - or +: how the lines below become one text. */
static char block_kind(struct bytes t)
{
	bool is_block = (t.n == 1 || (t.n == 2 && (t.p[1] == '-' || t.p[1] == '+'))) &&
		(t.p[0] == '|' || t.p[0] == '>');

	return is_block ? (char)t.p[0] : 0;
}

static struct json *block(struct reading *r, char kind, size_t indent)
{
	struct buf b;

	buf_init(&b, r->a);
	while (r->rest.n) {
		struct bytes after = r->rest;
		struct line l = next_line(&after);
		if (l.said.n && l.indent <= indent)
			break;
		r->rest = after;
		if (b.n)
			buf_addc(&b, kind == '|' || !l.said.n ? '\n' : ' ');
		buf_add(&b, l.said.p, l.said.n);
	}
	while (b.n && (is_blank(b.p[b.n - 1]) || b.p[b.n - 1] == '\n'))
		b.n--;
	return text_value(r->a, buf_bytes(&b));
}

static struct level *level_for(struct reading *r, size_t indent)
{
	struct level *top = &r->levels[r->depth - 1];

	if (r->open && indent > r->open_indent && r->depth < FRONT_MATTER_DEPTH) {
		struct json *inner = json_new(r->a, JSON_OBJECT);
		json_set(r->a, top->fields, r->open, inner);
		r->levels[r->depth++] = (struct level){ indent, inner };
		return &r->levels[r->depth - 1];
	}
	while (r->depth > 1 && indent < r->levels[r->depth - 1].indent)
		r->depth--;
	return &r->levels[r->depth - 1];
}

static void take_item(struct reading *r, const struct line *l)
{
	struct level *top = &r->levels[r->depth - 1];
	struct json *items;

	if (!r->open || l->indent < r->open_indent)
		return;
	items = json_get(top->fields, r->open);
	if (!json_is(items, JSON_ARRAY)) {
		items = json_new(r->a, JSON_ARRAY);
		json_set(r->a, top->fields, r->open, items);
	}
	if (items->n < FRONT_MATTER_KEYS)
		json_push(r->a, items, scalar(r->a, trim(from(l->said, 1))));
}

static void take_line(struct reading *r, const struct line *l)
{
	size_t n = key_end(l);
	struct bytes key = trim((struct bytes){ l->said.p, n });

	if (is_item(l)) {
		take_item(r, l);
		return;
	}
	if (!key.n || key.p[0] == '-' || ++r->keys > FRONT_MATTER_KEYS)
		return;
	struct level *to = level_for(r, l->indent);
	struct bytes said = trim(from(l->said, n + 1));
	char kind = block_kind(said);
	const struct json *name = text_value(r->a, key);
	if (!json_text(name)) /* a NUL inside */
		return;
	json_set(r->a, to->fields, name->text, kind ? block(r, kind, l->indent) : value_of(r->a, said));
	r->open = said.n ? NULL : name->text;
	r->open_indent = l->indent;
}

void front_matter_parse(struct arena *a, struct bytes text, struct front_matter *ret)
{
	struct reading r = { .a = a, .depth = 1 };
	struct bytes head, body;

	*ret = (struct front_matter){ .fields = json_new(a, JSON_OBJECT), .body = text };
	if (!split(text, &head, &body))
		return;
	ret->is_there = true;
	ret->body = body;
	r.rest = head;
	r.levels[0].fields = ret->fields;
	while (r.rest.n) {
		struct line l = next_line(&r.rest);
		take_line(&r, &l);
	}
}

/* ---- writing ---- */

/* Would it be read as something else than this text? */
static bool needs_quotes(const char *s, size_t n)
{
	static const char number[] = "0123456789+-.eE_";
	struct bytes t = { (const uint8_t *)s, n };

	if (!n || is_blank(s[0]) || is_blank(s[n - 1]) || strchr("-'|>", s[0]))
		return true;
	if (strcasecmp(s, "null") == 0 || strcasecmp(s, "true") == 0 || strcasecmp(s, "false") == 0)
		return true;
	for (size_t i = 0; i < n; i++)
		if (memchr(":#\n\r\",[]", s[i], 8))
			return true;
	return is_number(t) || strspn(s, number) == n;
}

static void write_text(struct buf *to, const char *s, size_t n)
{
	if (!needs_quotes(s, n)) {
		buf_add(to, s, n);
		return;
	}
	buf_addc(to, '"');
	for (size_t i = 0; i < n; i++) {
		if (s[i] == '"' || s[i] == '\\')
			buf_addc(to, '\\');
		if (s[i] == '\n')
			buf_adds(to, "\\n");
		else if (s[i])
			buf_addc(to, s[i]);
	}
	buf_addc(to, '"');
}

static void write_scalar(struct buf *to, const struct json *v)
{
	if (json_is(v, JSON_STRING))
		write_text(to, v->text, v->n);
	else if (json_is(v, JSON_OBJECT) || json_is(v, JSON_ARRAY)) /* deeper than the format goes */
		write_text(to, "", 0);
	else
		json_write(to, v, 0);
}

static void write_field(struct buf *to, const char *name, const struct json *v, size_t depth)
{
	buf_addf(to, "%*s%s:", (int)(2 * depth), "", name);
	if (json_is(v, JSON_OBJECT) && v->n && depth + 1 < FRONT_MATTER_DEPTH) {
		buf_addc(to, '\n');
		json_each_member (m, v)
			write_field(to, m->name, m->value, depth + 1);
		return;
	}
	buf_addc(to, ' ');
	if (json_is(v, JSON_ARRAY)) {
		buf_addc(to, '[');
		for (uint32_t i = 0; i < v->n; i++) {
			buf_adds(to, i ? ", " : "");
			write_scalar(to, v->items[i]);
		}
		buf_addc(to, ']');
	} else {
		write_scalar(to, v);
	}
	buf_addc(to, '\n');
}

void front_matter_write(struct buf *to, const struct json *fields, struct bytes body)
{
	buf_adds(to, "---\n");
	json_each_member (m, fields)
		write_field(to, m->name, m->value, 0);
	buf_adds(to, "---\n");
	while (body.n && (is_blank((char)body.p[body.n - 1]) || body.p[body.n - 1] == '\n'))
		body.n--;
	buf_add(to, body.p, body.n);
	if (body.n)
		buf_addc(to, '\n');
}

/* The lines of the field at the top, with what hangs below it; n 0 when it is not there. */
static struct bytes field_lines(struct bytes head, const char *name)
{
	struct bytes rest = head, found = { head.p + head.n, 0 };
	bool is_in = false;

	while (rest.n) {
		struct line l = next_line(&rest);
		size_t n = key_end(&l);
		if (is_in && l.said.n && l.said.p[0] != '#' && (l.indent || is_item(&l))) {
			found.n = (size_t)(l.all.p + l.all.n - found.p);
			continue;
		}
		if (l.said.n)
			is_in = false;
		if (!l.indent && n && !is_item(&l) && bytes_is(trim((struct bytes){ l.said.p, n }), name)) {
			found = l.all;
			is_in = true;
		}
	}
	return found;
}

/* The text with these lines of it exchanged for the field. */
static void put_field(
	struct buf *to, struct bytes text, struct bytes old, const char *name, const struct json *value)
{
	buf_add(to, text.p, (size_t)(old.p - text.p));
	if (value)
		write_field(to, name, value, 0);
	buf_add(to, old.p + old.n, (size_t)(text.p + text.n - (old.p + old.n)));
}

void front_matter_set(struct buf *to, struct bytes text, const char *name, const struct json *value)
{
	struct bytes head, body;
	struct front_matter f;
	size_t before = to->n;

	if (!split(text, &head, &body)) {
		buf_adds(to, "---\n");
		if (value)
			write_field(to, name, value, 0);
		buf_adds(to, "---\n");
		buf_add(to, text.p, text.n);
		return;
	}
	put_field(to, text, field_lines(head, name), name, value);
	front_matter_parse(to->a, (struct bytes){ (const uint8_t *)to->p + before, to->n - before }, &f);
	if (!value || json_eq(json_get(f.fields, name), value))
		return;
	/* Another line of that name, oddly indented, comes later: the last one counts. */
	to->n = before;
	put_field(to, text, (struct bytes){ head.p + head.n, 0 }, name, value);
}
