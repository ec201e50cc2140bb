/* harvest_blocks.c — recipes of makefiles, and run blocks of CI files.
 *
 * Both are read line by line: what matters is which lines reach a shell and where they stand, not the rest of the format.
 * A value that make or the CI system would put in, and that is not known here, becomes a shell parameter, which the analysis
 * treats as unknown. */
#include "propose/harvest.h"

#include <string.h>

/* --- make ------------------------------------------------------------------------------------------------------------- */

struct make_variable {
	struct bytes name, value;
};
struct make {
	struct harvest *h;
	struct make_variable vars[256];
	size_t var_count;
	const char *target;
};

static bool is_name(struct bytes b)
{
	for (size_t i = 0; i < b.n; i++)
		if (!(b.p[i] == '_' || b.p[i] == '.' || b.p[i] == '-' || (b.p[i] >= '0' && b.p[i] <= '9') ||
			    ((b.p[i] | 32) >= 'a' && (b.p[i] | 32) <= 'z')))
			return false;
	return b.n > 0;
}

/* NAME = value, NAME := value, NAME ?= value; a value that refers to others is not kept. */
static void note_variable(struct make *m, struct bytes line)
{
	const uint8_t *eq = memchr(line.p, '=', line.n);
	struct bytes name, value;

	if (!eq || m->var_count == ARRAY_SIZE(m->vars))
		return;
	value = harvest_trim((struct bytes){ eq + 1, line.n - (size_t)(eq + 1 - line.p) });
	name = (struct bytes){ line.p, (size_t)(eq - line.p) };
	while (name.n && strchr(":?+ \t", name.p[name.n - 1]))
		name.n--;
	name = harvest_trim(name);
	if (harvest_starts(name, "export "))
		name = harvest_trim((struct bytes){ name.p + 7, name.n - 7 });
	if (is_name(name) && !memchr(value.p, '$', value.n))
		m->vars[m->var_count++] = (struct make_variable){ name, value };
}

static const struct bytes *find_variable(const struct make *m, struct bytes name)
{
	for (size_t i = m->var_count; i-- > 0;)
		if (bytes_eq(m->vars[i].name, name))
			return &m->vars[i].value;
	return NULL;
}

/* One $(...) or ${...} of make, at b.p[0] == '$'.  Returns its length. */
static size_t expand_one(struct make *m, struct bytes b, struct buf *out)
{
	char close = b.p[1] == '(' ? ')' : '}';
	const uint8_t *end = memchr(b.p + 2, close, b.n - 2);
	const struct bytes *value;
	struct bytes name;

	if (!end) {
		buf_adds(out, "${make}");
		return 2;
	}
	name = (struct bytes){ b.p + 2, (size_t)(end - b.p) - 2 };
	value = find_variable(m, name);
	if (value)
		buf_add(out, value->p, value->n);
	else if (bytes_is(name, "MAKE"))
		buf_adds(out, "make");
	else if (bytes_is(name, "RM"))
		buf_adds(out, "rm -f");
	else if (bytes_is(name, "CURDIR"))
		buf_adds(out, "\"$PWD\"");
	else
		buf_adds(out, "${make}");
	return (size_t)(end - b.p) + 1;
}

/* What the shell sees of a recipe: "$$" is "$", "$(X)" and "$X" are make's. */
static struct bytes expand_recipe(struct make *m, struct bytes b)
{
	struct buf out;

	buf_init(&out, m->h->a);
	for (size_t i = 0; i < b.n;) {
		if (b.p[i] != '$' || i + 1 == b.n) {
			buf_addc(&out, (char)b.p[i++]);
		} else if (b.p[i + 1] == '$') {
			buf_addc(&out, '$');
			i += 2;
		} else if (b.p[i + 1] == '(' || b.p[i + 1] == '{') {
			i += expand_one(m, (struct bytes){ b.p + i, b.n - i }, &out);
		} else {
			buf_adds(&out, "${make}");
			i += 2;
		}
	}
	return buf_bytes(&out);
}

static void add_recipe(struct make *m, struct line_reader *in, struct bytes line)
{
	uint32_t first = in->line;
	struct bytes all = { line.p + 1, line.n - 1 }, next = line;

	while (next.n && next.p[next.n - 1] == '\\' && harvest_line(in, &next))
		all.n = (size_t)(next.p + next.n - all.p);
	while (all.n && strchr("@-+ \t", all.p[0])) {
		all.p++;
		all.n--;
	}
	harvest_add(m->h, expand_recipe(m, all), first, m->target, false);
}

void harvest_make(struct harvest *h, struct bytes text)
{
	struct make *m = arena_zalloc(h->a, 1, sizeof(*m));
	struct line_reader in = { text, 0 };
	struct bytes line;

	m->h = h;
	while (harvest_line(&in, &line)) {
		const uint8_t *colon = memchr(line.p, ':', line.n);
		if (harvest_starts(line, "\t")) {
			add_recipe(m, &in, line);
		} else if (harvest_starts(line, "#")) {
			continue;
		} else if (colon && !(colon + 1 < line.p + line.n && colon[1] == '=') &&
			!memchr(line.p, '=', (size_t)(colon - line.p))) {
			m->target = arena_printf(
				h->a, "target %.*s", (int)(colon - line.p), (const char *)line.p);
		} else {
			note_variable(m, line);
		}
	}
}

/* --- CI files --------------------------------------------------------------------------------------------------------- */

/* "${{ expression }}" is put in by the CI system before the shell starts: unknown. */
static struct bytes without_expressions(struct arena *a, struct bytes b)
{
	struct buf out;

	if (!memmem(b.p, b.n, "${{", 3))
		return b;
	buf_init(&out, a);
	for (size_t i = 0; i < b.n;) {
		struct bytes rest = { b.p + i, b.n - i };
		const uint8_t *end = harvest_starts(rest, "${{") ? memmem(rest.p, rest.n, "}}", 2) : NULL;
		if (!end) {
			buf_addc(&out, (char)b.p[i++]);
			continue;
		}
		buf_adds(&out, "${expression}");
		i += (size_t)(end - rest.p) + 2;
	}
	return buf_bytes(&out);
}

/* A plain or quoted scalar on one line. */
static struct bytes scalar(struct arena *a, struct bytes b)
{
	struct buf out;

	b = harvest_trim(b);
	if (b.n < 2 || (b.p[0] != '\'' && b.p[0] != '"') || b.p[b.n - 1] != b.p[0])
		return b;
	buf_init(&out, a);
	for (size_t i = 1; i + 1 < b.n; i++) {
		if (b.p[0] == '\'' && b.p[i] == '\'' && b.p[i + 1] == '\'' && i + 2 < b.n)
			i++;
		else if (b.p[0] == '"' && b.p[i] == '\\' && i + 2 < b.n && strchr("\"\\/", b.p[i + 1]))
			i++;
		buf_addc(&out, (char)b.p[i]);
	}
	return buf_bytes(&out);
}

/* The lines below a "|" or ">" that are indented deeper than `indent`, as they stand, the common indentation blanked.  With
 * ">" YAML folds lines into one; to the shell a folded list reads as one command, so a newline becomes a continuation. */
static void add_block(
	struct harvest *h, struct line_reader *in, size_t indent, bool is_folded, const char *where)
{
	uint32_t first = in->line + 1;
	struct line_reader ahead = *in;
	struct bytes line;
	struct buf out;
	size_t cut = 0;

	buf_init(&out, h->a);
	while (harvest_line(&ahead, &line)) {
		size_t own = harvest_indent(line);
		bool is_blank = harvest_trim(line).n == 0;
		if (!is_blank && own <= indent)
			break;
		*in = ahead;
		if (!cut && !is_blank)
			cut = own;
		if (ahead.line > first)
			buf_adds(&out, is_folded && !is_blank ? " \\\n" : "\n");
		if (!is_blank && own >= cut)
			buf_add(&out, line.p + cut, line.n - cut);
	}
	harvest_add(h, without_expressions(h->a, buf_bytes(&out)), first, where, false);
}

static bool is_block_mark(struct bytes value)
{
	return value.n && (value.p[0] == '|' || value.p[0] == '>') && value.n <= 3;
}

/* What stands behind "run:" or behind a dash of a script list. */
static void add_value(
	struct harvest *h, struct line_reader *in, struct bytes value, size_t indent, const char *where)
{
	value = harvest_trim(value);
	if (is_block_mark(value))
		add_block(h, in, indent, value.p[0] == '>', where);
	else if (value.n)
		harvest_add(h, without_expressions(h->a, scalar(h->a, value)), in->line, where, false);
}

/* GitLab: "script:" is a list of lines, or one line. */
static void add_list(struct harvest *h, struct line_reader *in, size_t indent, const char *where)
{
	struct line_reader ahead = *in;
	struct bytes line;

	while (harvest_line(&ahead, &line)) {
		size_t own = harvest_indent(line);
		struct bytes item = harvest_trim(line);
		if (item.n == 0 || item.p[0] == '#') {
			*in = ahead;
			continue;
		}
		if (own < indent || item.p[0] != '-')
			return;
		*in = ahead;
		add_value(h, in, (struct bytes){ item.p + 1, item.n - 1 }, own, where);
		ahead = *in;
	}
}

/* The value behind `key`, when the line is "key: value" or "- key: value"; *ret_indent is the key's column. */
static bool value_of(struct bytes line, const char *key, struct bytes *ret, size_t *ret_indent)
{
	size_t indent = harvest_indent(line), n = strlen(key);
	struct bytes b = { line.p + indent, line.n - indent };

	if (harvest_starts(b, "- ")) {
		size_t more = 1 + harvest_indent((struct bytes){ b.p + 1, b.n - 1 });
		b = (struct bytes){ b.p + more, b.n - more };
		indent += more;
	}
	if (b.n < n + 1 || memcmp(b.p, key, n) != 0 || b.p[n] != ':' ||
		(b.n > n + 1 && !strchr(" \t\r", b.p[n + 1])))
		return false;
	*ret = harvest_trim((struct bytes){ b.p + n + 1, b.n - n - 1 });
	*ret_indent = indent;
	return true;
}

void harvest_yaml(struct harvest *h, struct bytes text, bool is_gitlab)
{
	static const char *const lists[] = { "script", "before_script", "after_script" };
	struct line_reader in = { text, 0 };
	struct bytes line, value;
	size_t indent;

	while (harvest_line(&in, &line)) {
		if (!is_gitlab && value_of(line, "run", &value, &indent))
			add_value(h, &in, value, indent, "run");
		for (size_t i = 0; is_gitlab && i < ARRAY_SIZE(lists); i++) {
			if (!value_of(line, lists[i], &value, &indent))
				continue;
			if (value.n)
				add_value(h, &in, value, indent, lists[i]);
			else
				add_list(h, &in, indent, lists[i]);
		}
	}
}
