/* harvest.c — finds the shell text in files: whole scripts, histories, Dockerfiles, package.json.
 * Makefiles are read in make.c, CI files in blocks.c.
 *
 * The readers look for the places where text is handed to a shell and for nothing else. They keep the
 * file's newlines, so that a finding can name its line, and they never fail: a file that is not what its
 * name says gives nothing. */
#include "propose/harvest/harvest.h"

#include "base/file.h"
#include "base/json.h"

#include <string.h>

static const char *const kind_names[] = {
#define SCRIPT_NAME(id, name) name,
	SCRIPT_KINDS(SCRIPT_NAME)
#undef SCRIPT_NAME
};

bool script_kind_parse(const char *name, enum script_kind *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(kind_names); i++)
		if (text_eq(kind_names[i], name)) {
			*ret = (enum script_kind)i;
			return true;
		}
	return false;
}

/* Blank text is left out, so a caller that wants to change the snippet it added must look whether there
 * is one. */
void harvest_add(struct harvest *h, struct bytes text, uint32_t line, const char *where, bool is_in_container)
{
	if (harvest_trim(text).n == 0)
		return;
	if (h->n == h->room) {
		size_t room = h->room ? 2 * h->room : 16;
		h->list = arena_grow(h->a, h->list, h->room * sizeof(*h->list), room * sizeof(*h->list));
		h->room = room;
	}
	h->list[h->n++] = (struct snippet){
		.text = text, .line = line, .where = where, .is_in_container = is_in_container
	};
}

bool harvest_line(struct line_reader *in, struct bytes *ret)
{
	if (!in->rest.p || in->rest.n == 0)
		return false;
	*ret = text_cut(&in->rest, '\n');
	in->line++;
	return true;
}

struct bytes harvest_trim(struct bytes b)
{
	while (b.n && strchr(" \t\r\n", b.p[0])) {
		b.p++;
		b.n--;
	}
	while (b.n && strchr(" \t\r\n", b.p[b.n - 1]))
		b.n--;
	return b;
}

size_t harvest_indent(struct bytes b)
{
	size_t n = 0;

	while (n < b.n && (b.p[n] == ' ' || b.p[n] == '\t'))
		n++;
	return n;
}

bool harvest_starts(struct bytes b, const char *prefix)
{
	size_t n = strlen(prefix);

	return b.n >= n && memcmp(b.p, prefix, n) == 0;
}

/* Whether the first line names a shell that speaks sh, directly or through env. */
static bool has_shell_shebang(struct bytes text)
{
	struct bytes rest = text, line = text_cut(&rest, '\n');
	char word[64];
	size_t n = line.n;

	if (!harvest_starts(line, "#!"))
		return false;
	line = harvest_trim((struct bytes){ line.p + 2, n - 2 });
	if (harvest_starts(line, "/usr/bin/env "))
		line = harvest_trim((struct bytes){ line.p + 13, line.n - 13 });
	if (harvest_starts(line, "-S "))
		line = harvest_trim((struct bytes){ line.p + 3, line.n - 3 });
	for (n = 0; n < line.n && !strchr(" \t\r", line.p[n]);)
		n++;
	if (n == 0 || n >= sizeof(word))
		return false;
	memcpy(word, line.p, n);
	word[n] = '\0';
	return shell_speaks_sh(word);
}

/* By name first, in the order of the table; a file without a telling name counts as a script only by its
 * first line. */
enum script_kind harvest_guess(const char *name, struct bytes text)
{
	static const struct {
		const char *glob;
		enum script_kind kind;
	} names[] = {
		{ "*.sh", SCRIPT_SHELL },
		{ "*.bash", SCRIPT_SHELL },
		{ "*.zsh", SCRIPT_SHELL },
		{ "*.ksh", SCRIPT_SHELL },
		{ ".bashrc", SCRIPT_SHELL },
		{ ".zshrc", SCRIPT_SHELL },
		{ ".profile", SCRIPT_SHELL },
		{ ".bash_profile", SCRIPT_SHELL },
		{ "Makefile", SCRIPT_MAKE },
		{ "makefile", SCRIPT_MAKE },
		{ "GNUmakefile", SCRIPT_MAKE },
		{ "*.mk", SCRIPT_MAKE },
		{ "Makefile.*", SCRIPT_MAKE },
		{ ".gitlab-ci.y*ml", SCRIPT_GITLAB },
		{ "*.gitlab-ci.y*ml", SCRIPT_GITLAB },
		{ "Dockerfile", SCRIPT_DOCKER },
		{ "Dockerfile.*", SCRIPT_DOCKER },
		{ "*.dockerfile", SCRIPT_DOCKER },
		{ "Containerfile", SCRIPT_DOCKER },
		{ "package.json", SCRIPT_PACKAGE_JSON },
		{ "*_history", SCRIPT_HISTORY },
		{ "*.history", SCRIPT_HISTORY },
		{ "fish_history", SCRIPT_HISTORY },
		{ "*.yml", SCRIPT_GITHUB },
		{ "*.yaml", SCRIPT_GITHUB },
	};

	name = path_base(name);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (text_glob(names[i].glob, name, false))
			return names[i].kind;
	return has_shell_shebang(text) ? SCRIPT_SHELL : SCRIPT_KIND_COUNT;
}

/* --- history: one command per line, in the dialects of bash, zsh and fish -------------------------------------------- */

/* zsh puts ": 1700000000:0;" in front of each command. */
static struct bytes without_zsh_stamp(struct bytes line)
{
	size_t i = 2;

	if (!harvest_starts(line, ": "))
		return line;
	while (i < line.n && strchr("0123456789:", line.p[i]))
		i++;
	if (i < line.n && line.p[i] == ';')
		return (struct bytes){ line.p + i + 1, line.n - i - 1 };
	return line;
}

/* One command per line, in the dialects of bash, zsh and fish. */
static void harvest_history(struct harvest *h, struct bytes text)
{
	struct line_reader in = { text, 0 };
	struct bytes line;
	/* fish writes YAML-like entries; only the line with the command matters. */
	bool is_fish = harvest_starts(text, "- cmd: ");

	while (harvest_line(&in, &line)) {
		if (is_fish) {
			if (harvest_starts(line, "- cmd: "))
				harvest_add(
					h, (struct bytes){ line.p + 7, line.n - 7 }, in.line, NULL, false);
		} else if (!harvest_starts(line, "#")) {
			harvest_add(h, without_zsh_stamp(line), in.line, NULL, false);
		}
	}
}

/* --- Dockerfile ------------------------------------------------------------------------------------------------------- */

/* Instructions of a Dockerfile are written in any case. */
static bool is_instruction(struct bytes line, const char *name)
{
	size_t n = strlen(name);

	return line.n > n && strncasecmp((const char *)line.p, name, n) == 0 && strchr(" \t", line.p[n]);
}

/* --mount=..., --network=... stand between RUN and the command. */
static struct bytes without_run_options(struct bytes b)
{
	b = harvest_trim(b);
	while (harvest_starts(b, "--")) {
		size_t i = 0;
		while (i < b.n && !strchr(" \t\n", b.p[i]))
			i++;
		b = (struct bytes){ b.p + i, b.n - i };
		while (b.n && strchr(" \t\\\n", b.p[0])) {
			b.p++;
			b.n--;
		}
	}
	return b;
}

/* ["sh", "-c", "..."] as a line that a shell would read the same way. */
static struct bytes exec_form(struct arena *a, struct bytes b)
{
	struct json *list;
	struct buf out;

	if (json_parse(a, b, "RUN", NULL, &list, NULL) || !json_is(list, JSON_ARRAY))
		return b;
	buf_init(&out, a);
	json_each (word, list) {
		const char *text = json_text(word);
		buf_addf(&out, "%s%s", out.n ? " " : "", text_quote(a, text ? text : ""));
	}
	return buf_bytes(&out);
}

/* RUN <<EOF: the following lines are the program, up to the line that is the tag. */
static bool heredoc_tag(struct bytes b, struct bytes *ret)
{
	size_t n = 0;

	if (!harvest_starts(b, "<<"))
		return false;
	b = (struct bytes){ b.p + 2, b.n - 2 };
	while (b.n && strchr("-'\"", b.p[0])) {
		b.p++;
		b.n--;
	}
	while (n < b.n && !strchr(" \t\r\n'\"", b.p[n]))
		n++;
	*ret = (struct bytes){ b.p, n };
	return n > 0;
}

/* Lines that end in a backslash go on; comment lines between them do not end the instruction. */
static struct bytes whole_instruction(struct line_reader *in, struct bytes first)
{
	struct bytes line = first, all = first;

	while (harvest_trim(line).n &&
		(harvest_trim(line).p[harvest_trim(line).n - 1] == '\\' ||
			harvest_starts(harvest_trim(line), "#")) &&
		harvest_line(in, &line))
		all.n = (size_t)(line.p + line.n - all.p);
	return all;
}

/* Comment lines inside an instruction are dropped by the builder before the shell sees them. A lone
 * backslash in their place keeps the number of lines and continues the command. */
static struct bytes without_comment_lines(struct arena *a, struct bytes b)
{
	struct line_reader in = { b, 0 };
	struct bytes line;
	struct buf out;

	buf_init(&out, a);
	while (harvest_line(&in, &line)) {
		if (in.line > 1)
			buf_addc(&out, '\n');
		if (in.line > 1 && harvest_starts(harvest_trim(line), "#"))
			buf_adds(&out, "\\");
		else
			buf_add(&out, line.p, line.n);
	}
	return buf_bytes(&out);
}

/* One RUN instruction in any of its three forms. */
static void harvest_run(struct harvest *h, struct line_reader *in, struct bytes line, size_t skip)
{
	uint32_t first = in->line;
	struct bytes all = whole_instruction(in, line), tag, body_line;

	all = without_run_options((struct bytes){ all.p + skip, all.n - skip });
	if (heredoc_tag(all, &tag)) {
		const uint8_t *start = in->rest.p;
		size_t n = 0;
		while (harvest_line(in, &body_line) && !bytes_eq(harvest_trim(body_line), tag))
			n = (size_t)(body_line.p + body_line.n - start);
		/* The body starts on the line behind RUN. */
		harvest_add(h, (struct bytes){ start, n }, first + 1, "RUN", true);
	} else if (harvest_starts(all, "[")) {
		harvest_add(h, exec_form(h->a, all), first, "RUN", true);
	} else {
		harvest_add(h, without_comment_lines(h->a, all), first, "RUN", true);
	}
}

static void harvest_docker(struct harvest *h, struct bytes text)
{
	struct line_reader in = { text, 0 };
	struct bytes line, trimmed;

	while (harvest_line(&in, &line)) {
		trimmed = harvest_trim(line);
		if (is_instruction(trimmed, "RUN"))
			harvest_run(h, &in, line, harvest_indent(line) + 4);
	}
}

/* --- package.json ----------------------------------------------------------------------------------------------------- */

/* The line of a place in a text, from 1. */
static uint32_t line_of(struct bytes text, size_t at)
{
	uint32_t line = 1;

	for (size_t i = 0; i < at && i < text.n; i++)
		line += text.p[i] == '\n';
	return line;
}

/* The members of "scripts"; npm runs each with a shell. */
static void harvest_package_json(struct harvest *h, struct bytes text)
{
	struct json *doc;

	if (json_parse(h->a, text, "package.json", NULL, &doc, NULL))
		return;
	json_each_member (m, json_get(doc, "scripts"))
		if (json_is(m->value, JSON_STRING))
			harvest_add(h, (struct bytes){ (const uint8_t *)m->value->text, m->value->n },
				line_of(text, m->value->at), arena_printf(h->a, "script %s", m->name), false);
}

/* One reader for each kind of file; all add their snippets to the same list. */
void harvest(struct arena *a, enum script_kind kind, struct bytes text, struct snippet **ret, size_t *ret_n)
{
	struct harvest h = { .a = a };

	switch (kind) {
	case SCRIPT_SHELL:
		harvest_add(&h, text, 1, NULL, false);
		break;
	case SCRIPT_MAKE:
		harvest_make(&h, text);
		break;
	case SCRIPT_GITHUB:
	case SCRIPT_GITLAB:
		harvest_yaml(&h, text, kind == SCRIPT_GITLAB);
		break;
	case SCRIPT_DOCKER:
		harvest_docker(&h, text);
		break;
	case SCRIPT_PACKAGE_JSON:
		harvest_package_json(&h, text);
		break;
	case SCRIPT_HISTORY:
		harvest_history(&h, text);
		break;
	case SCRIPT_KIND_COUNT:
		break;
	}
	*ret = h.list;
	*ret_n = h.n;
}
