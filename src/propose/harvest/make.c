/* make.c — recipes of makefiles, as the shell would see them.
 *
 * Make's own language is not run: variables are put in where the file says what they are, its functions are unknown.  Two
 * habits of makefiles are taken at their word, because otherwise every recipe would be "something unknown is run":
 * automatic variables name files of the build, and a variable where a program stands is called like the program, so that
 * "$(DOCKER) rm -f x" is docker rm -f x.  Anything else becomes a shell parameter, which the analysis treats as unknown. */
#include "propose/harvest/harvest.h"

#include <ctype.h>
#include <string.h>

enum { MAKE_MAX_VARIABLES = 512, MAKE_MAX_DEPTH = 8, MAKE_MAX_TEXT = 1 << 16 };

struct make_variable {
	struct bytes name, value;
};
struct make {
	struct harvest *h;
	struct make_variable vars[MAKE_MAX_VARIABLES];
	size_t var_count;
	struct bytes goal; /* the target as it is written */
	const char *target; /* for people */
	unsigned depth;
};

static const char unknown[] = "${make}";

/* Names that a variable of make usually has. */
static bool is_name(struct bytes b)
{
	for (size_t i = 0; i < b.n; i++)
		if (!isalnum(b.p[i]) && !strchr("_.-", b.p[i]))
			return false;
	return b.n > 0;
}

/* The definition nearest above counts; conditionals of make are not followed. */
static const struct bytes *find_variable(const struct make *m, struct bytes name)
{
	for (size_t i = m->var_count; i-- > 0;)
		if (bytes_eq(m->vars[i].name, name))
			return &m->vars[i].value;
	return NULL;
}

/* NAME = value, NAME := value, NAME ?= value, NAME += more. NAME != command is left out: its value is
 * what a command prints. */
static void note_variable(struct make *m, struct bytes line)
{
	const uint8_t *eq = memchr(line.p, '=', line.n);
	struct bytes name, value;

	if (!eq || m->var_count == ARRAY_SIZE(m->vars))
		return;
	value = harvest_trim((struct bytes){ eq + 1, line.n - (size_t)(eq + 1 - line.p) });
	name = (struct bytes){ line.p, (size_t)(eq - line.p) };
	bool appends = name.n && name.p[name.n - 1] == '+', runs = name.n && name.p[name.n - 1] == '!';
	while (name.n && strchr(":?+! \t", name.p[name.n - 1]))
		name.n--;
	name = harvest_trim(name);
	if (harvest_starts(name, "export "))
		name = harvest_trim((struct bytes){ name.p + 7, name.n - 7 });
	const struct bytes *before = appends ? find_variable(m, name) : NULL;
	if (before)
		value = bytes_of(arena_printf(m->h->a, "%.*s %.*s", (int)before->n, (const char *)before->p,
			(int)value.n, (const char *)value.p));
	if (is_name(name) && !runs && value.n < MAKE_MAX_TEXT)
		m->vars[m->var_count++] = (struct make_variable){ name, value };
}

/* Where the bracket that opens at b.p[1] closes; 0 when it does not. */
static size_t closing(struct bytes b)
{
	char open = (char)b.p[1], close = open == '(' ? ')' : '}';
	unsigned depth = 0;

	for (size_t i = 1; i < b.n; i++) {
		depth += b.p[i] == open;
		if (b.p[i] == close && --depth == 0)
			return i;
	}
	return 0;
}

/* Whether a program's name comes next in the text written so far: behind nothing, an operator, a word of
 * the grammar, or assignments. */
static bool is_at_command(const struct buf *out)
{
	static const char *const before[] = { "if", "elif", "while", "until", "then", "do", "else", "!",
		"time", "exec", "env" };
	size_t n = out->n;

	for (;;) {
		while (n && strchr(" \t", out->p[n - 1]))
			n--;
		if (!n || strchr(";|&({`\n\\", out->p[n - 1]))
			return true;
		size_t from = n;
		while (from && !strchr(" \t;|&(\n", out->p[from - 1]))
			from--;
		struct bytes word = { (const uint8_t *)out->p + from, n - from };
		const uint8_t *eq = memchr(word.p, '=', word.n);
		if (eq && is_name((struct bytes){ word.p, (size_t)(eq - word.p) })) {
			n = from;
			continue;
		}
		for (size_t i = 0; i < ARRAY_SIZE(before); i++)
			if (bytes_is(word, before[i]))
				return true;
		return false;
	}
}

/* $(GO), $(CC): a variable in the place of a program is taken for the program of that name, unless the
 * name is a word of the shell's grammar. $(Q) and its kin only silence the line and vanish. */
static void add_program(struct make *m, struct bytes name, struct bytes after, struct buf *out)
{
	static const char silent[] = " Q V E AT QUIET SILENT hide NO_ECHO ECHO_PREFIX QUIET_CC QUIET_GEN ";
	static const char words[] =
		" cmd command shell do done if then else fi for while case esac in time exec "
		"until function select ";
	char *low = arena_printf(m->h->a, " %.*s ", (int)name.n, (const char *)name.p);

	/* A variable directly followed by another one is a prefix of it, and vanishes too. */
	if (strstr(silent, low) || (after.n && after.p[0] == '$'))
		return;
	for (char *p = low; *p; p++)
		*p = (char)tolower((unsigned char)*p);
	buf_add(out, low + 1, name.n);
	if (strstr(words, low))
		buf_adds(out, "-variable");
}

static void expand(struct make *m, struct bytes b, struct buf *out);

/* $@, $<, $(@D): files of the build. $@ is the goal when that is one plain name; otherwise a harmless
 * name stands for the file. */
static void add_automatic(struct make *m, char which, bool is_dir, struct buf *out)
{
	bool is_plain = m->goal.n && !memchr(m->goal.p, '%', m->goal.n) && !memchr(m->goal.p, ' ', m->goal.n);

	if (which == '@' && is_plain && !is_dir && m->depth < MAKE_MAX_DEPTH)
		expand(m, m->goal, out);
	else
		buf_adds(out, is_dir ? "make-directory" : which == '@' ? "make-target" : "make-source");
}

/* $(NAME): its value, a well-known meaning, the program of that name, or unknown. */
static void add_variable(struct make *m, struct bytes name, struct bytes after, struct buf *out)
{
	const struct bytes *value = find_variable(m, name);

	if (value && m->depth < MAKE_MAX_DEPTH && out->n < MAKE_MAX_TEXT)
		expand(m, *value, out);
	else if (bytes_is(name, "RM"))
		buf_adds(out, "rm -f");
	else if (bytes_is(name, "DESTDIR")) /* where an installation is put together, before it is one */
		buf_adds(out, "make-destdir");
	else if (bytes_is(name, "CURDIR"))
		buf_adds(out, "\"$PWD\"");
	else if (name.n == 2 && strchr("@<^?*+|", name.p[0]) && strchr("DF", name.p[1]))
		add_automatic(m, (char)name.p[0], name.p[1] == 'D', out);
	else if (is_name(name) && is_at_command(out))
		add_program(m, name, after, out);
	else if (is_at_command(out) && !harvest_starts(name, "shell "))
		buf_adds(out, "make-function");
	else
		buf_adds(out, unknown);
}

/* What the shell sees of a text: "$$" is "$", "$(X)" and "$X" are make's. */
static void expand(struct make *m, struct bytes b, struct buf *out)
{
	m->depth++;
	for (size_t i = 0; i < b.n;) {
		struct bytes rest = { b.p + i, b.n - i };
		if (b.p[i] != '$' || i + 1 == b.n) {
			buf_addc(out, (char)b.p[i++]);
		} else if (b.p[i + 1] == '$') {
			buf_addc(out, '$');
			i += 2;
		} else if (b.p[i + 1] == '(' || b.p[i + 1] == '{') {
			size_t end = closing(rest);
			if (end)
				add_variable(m, (struct bytes){ rest.p + 2, end - 2 },
					(struct bytes){ rest.p + end + 1, rest.n - end - 1 }, out);
			else
				buf_adds(out, unknown);
			i += end ? end + 1 : 2;
		} else if (strchr("@<^?*+|%", b.p[i + 1])) {
			add_automatic(m, (char)b.p[i + 1], false, out);
			i += 2;
		} else {
			buf_adds(out, unknown);
			i += 2;
		}
	}
	m->depth--;
}

/* One recipe line with its continuations. The marks @ - + in front are make's own. */
static void add_recipe(struct make *m, struct line_reader *in, struct bytes line)
{
	uint32_t first = in->line;
	struct bytes all = { line.p + 1, line.n - 1 }, next = line;
	struct buf out;

	while (next.n && next.p[next.n - 1] == '\\' && harvest_line(in, &next))
		all.n = (size_t)(next.p + next.n - all.p);
	while (all.n && strchr("@-+ \t", all.p[0])) {
		all.p++;
		all.n--;
	}
	buf_init(&out, m->h->a);
	expand(m, all, &out);
	size_t before = m->h->n;
	harvest_add(m->h, buf_bytes(&out), first, m->target, false);
	if (m->h->n > before)
		m->h->list[before].shown = all;
}

/* "target: ..." and not "NAME := value". */
static bool is_rule(struct bytes line, const uint8_t *colon)
{
	return colon && !(colon + 1 < line.p + line.n && colon[1] == '=') &&
		!memchr(line.p, '=', (size_t)(colon - line.p));
}

/* A definition that goes on on the next lines, joined with blanks as make does. */
static struct bytes whole_line(struct make *m, struct line_reader *in, struct bytes line)
{
	struct bytes next = line;
	struct buf out;

	if (!line.n || line.p[line.n - 1] != '\\')
		return line;
	buf_init(&out, m->h->a);
	buf_add(&out, line.p, line.n - 1);
	while (next.n && next.p[next.n - 1] == '\\' && harvest_line(in, &next)) {
		bool goes_on = next.n && next.p[next.n - 1] == '\\';
		buf_addc(&out, ' ');
		buf_add(&out, next.p, next.n - goes_on);
	}
	return buf_bytes(&out);
}

/* Definitions are collected while reading, so a recipe sees those above it. */
void harvest_make(struct harvest *h, struct bytes text)
{
	struct make *m = arena_zalloc(h->a, 1, sizeof(*m));
	struct line_reader in = { text, 0 };
	struct bytes line;

	m->h = h;
	while (harvest_line(&in, &line)) {
		if (harvest_starts(line, "\t")) {
			add_recipe(m, &in, line);
			continue;
		}
		line = whole_line(m, &in, line);
		const uint8_t *colon = memchr(line.p, ':', line.n);
		if (harvest_starts(line, "#")) {
			continue;
		} else if (is_rule(line, colon)) {
			m->goal = harvest_trim((struct bytes){ line.p, (size_t)(colon - line.p) });
			m->target =
				arena_printf(h->a, "target %.*s", (int)m->goal.n, (const char *)m->goal.p);
		} else {
			note_variable(m, line);
		}
	}
}
