/* blocks.c — run blocks of CI files: "run:" of GitHub workflows, "script:" of GitLab files.
 *
 * YAML is not parsed. The files are read line by line by their indentation: what matters is which lines
 * reach a shell and where they stand, not the rest of the format. A value that the CI system would put
 * in, and that is not known here, becomes a shell parameter, which the analysis treats as unknown. */
#include "propose/harvest/harvest.h"

#include <string.h>

/* "${{ expression }}" is replaced by the CI system before the shell starts; the parameter ${expression}
 * stands for it here. */
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

/* The text is judged with its expressions replaced, and shown as it stands in the file. */
static void add_text(struct harvest *h, struct bytes text, uint32_t line, const char *where)
{
	size_t before = h->n;

	harvest_add(h, without_expressions(h->a, text), line, where, false);
	if (h->n > before)
		h->list[before].shown = text;
}

/* A plain or quoted scalar on one line, with the quotes and their escapes removed. */
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
	add_text(h, buf_bytes(&out), first, where);
}

/* "|", ">", with "-" or "+" or a digit behind it: the text is in the following lines. */
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
		add_text(h, scalar(h->a, value), in->line, where);
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

/* Whether the step names an interpreter that is no shell, such as "shell: python". `in` stands behind
 * the line of its "run:". */
static bool is_other_language(struct line_reader in, size_t indent)
{
	static const char *const languages[] = { "python", "pwsh", "powershell", "cmd", "node", "perl",
		"ruby" };
	struct bytes line, value;
	size_t own;

	while (harvest_line(&in, &line)) {
		size_t n = harvest_indent(line);
		if (harvest_trim(line).n && (n < indent || (n == indent && line.p[n] == '-')))
			return false;
		if (!value_of(line, "shell", &value, &own) || own != indent)
			continue;
		for (size_t i = 0; i < ARRAY_SIZE(languages); i++)
			if (harvest_starts(value, languages[i]))
				return true;
		return false;
	}
	return false;
}

/* "shell:" may stand before or behind the "run:" of its step, so both directions are looked at. */
void harvest_yaml(struct harvest *h, struct bytes text, bool is_gitlab)
{
	static const char *const lists[] = { "script", "before_script", "after_script" };
	struct line_reader in = { text, 0 };
	struct bytes line, value;
	size_t indent,
		shell_indent = SIZE_MAX; /* of a "shell:" above the "run:" of the same step, and no shell */

	while (harvest_line(&in, &line)) {
		struct line_reader here = { { line.p, line.n }, 0 };
		bool starts_item = harvest_starts(harvest_trim(line), "-");
		if (starts_item)
			shell_indent = SIZE_MAX;
		if (!is_gitlab && value_of(line, "shell", &value, &indent) && is_other_language(here, indent))
			shell_indent = indent;
		if (!is_gitlab && value_of(line, "run", &value, &indent) && shell_indent != indent &&
			!is_other_language(in, indent))
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
