/* git_text.c — a git configuration file as git itself reads it, with where each setting stands in the text.
 *
 * git_settings() takes whatever could be a setting, for those who look for danger.  This reader is for a file that is written again: it
 * follows git's own grammar (config.c of git), and a text that git would refuse, or that has more than it can hold, is not read at all. */
#include "propose/git_text.h"

#include "base/text.h"

#include <ctype.h>
#include <string.h>

/* A character as git sees it: CR before LF is none, and the end of the text ends its line. */
static int next_char(struct git_text *x)
{
	if (x->at >= x->text.n) {
		x->is_end = true;
		x->at++;
		return '\n';
	}
	if (x->text.p[x->at] == '\r' && x->at + 1 < x->text.n && x->text.p[x->at + 1] == '\n')
		x->at++;
	return x->text.p[x->at++];
}

/* git's own blanks: form feed is none. */
static bool is_space(int c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool is_key_char(int c)
{
	return isalnum(c) || c == '-';
}

/* Behind [NAME and a blank: "NAME OF ITS OWN"]. */
static bool read_own_name(struct git_text *x, int c, struct buf *name)
{
	do {
		if (c == '\n')
			return false;
		c = next_char(x);
	} while (is_space(c));
	if (c != '"')
		return false;
	buf_addc(name, '.');
	for (;;) {
		c = next_char(x);
		if (c == '"')
			break;
		if (c == '\\')
			c = next_char(x);
		if (c == '\n')
			return false;
		buf_addc(name, (char)c);
	}
	return next_char(x) == ']';
}

static bool read_section(struct git_text *x)
{
	struct git_section s = { .from = x->at - 1 };
	struct buf name;

	if (x->section_count == GIT_SETTINGS_MOST)
		return false;
	buf_init(&name, x->a);
	buf_adds(&name, "");
	for (;;) {
		int c = next_char(x);
		if (x->is_end)
			return false;
		if (c == ']')
			break;
		if (is_space(c)) {
			if (!read_own_name(x, c, &name))
				return false;
			break;
		}
		if (!is_key_char(c) && c != '.')
			return false;
		buf_addc(&name, (char)tolower(c));
	}
	s.name = name.p;
	s.to = x->at;
	x->sections[x->section_count++] = s;
	return name.n > 0;
}

/* To the end of the line that it ends with. */
static bool read_value(struct git_text *x, struct buf *value)
{
	bool is_quoted = false, is_comment = false;
	size_t trim = 0;

	buf_adds(value, "");
	for (;;) {
		int c = next_char(x);
		if (c == '\n') {
			if (is_quoted)
				return false;
			if (trim && trim < value->n)
				value->p[value->n = trim] = '\0';
			return true;
		}
		if (is_comment)
			continue;
		if (is_space(c) && !is_quoted) {
			trim = trim ? trim : value->n;
			if (value->n)
				buf_addc(value, (char)c);
			continue;
		}
		if (!is_quoted && (c == ';' || c == '#')) {
			is_comment = true;
			trim = trim ? trim : value->n;
			continue;
		}
		trim = 0;
		if (c == '"') {
			is_quoted = !is_quoted;
			continue;
		}
		if (c == '\\') {
			c = next_char(x);
			/* Behind the last line a further one would become a part of it. */
			if (x->is_end)
				return false;
			if (c == '\n')
				continue;
			if (!strchr("tbn\\\"", c))
				return false;
			c = c == 't' ? '\t' : c == 'b' ? '\b' : c == 'n' ? '\n' : c;
		}
		buf_addc(value, (char)c);
	}
}

static bool read_setting(struct git_text *x, int c)
{
	struct git_setting s = { .section = x->section_count - 1, .from = x->at - 1 };
	struct buf name, value;

	if (!x->section_count || x->count == GIT_SETTINGS_MOST)
		return false;
	buf_init(&name, x->a);
	for (; is_key_char(c) && !x->is_end; c = next_char(x))
		buf_addc(&name, (char)tolower(c));
	s.name = name.p;
	s.name_to = x->at - 1;
	while (c == ' ' || c == '\t')
		c = next_char(x);
	if (c != '\n') {
		buf_init(&value, x->a);
		if (c != '=' || !read_value(x, &value))
			return false;
		s.value = value.p;
	}
	s.to = x->at - 1 > x->text.n ? x->text.n : x->at - 1;
	if (s.to > s.from && s.to < x->text.n && x->text.p[s.to - 1] == '\r')
		s.to--;
	x->settings[x->count++] = s;
	return true;
}

bool git_text_read(struct arena *a, struct bytes text, struct git_text *x)
{
	bool is_comment = false;

	*x = (struct git_text){ .a = a, .text = text };
	if (text.n > GIT_TEXT_BYTES || (text.n && memchr(text.p, '\0', text.n)))
		return false;
	x->sections = arena_zalloc(a, GIT_SETTINGS_MOST, sizeof(*x->sections));
	x->settings = arena_zalloc(a, GIT_SETTINGS_MOST, sizeof(*x->settings));
	if (text.n >= 3 && memcmp(text.p, "\xef\xbb\xbf", 3) == 0)
		x->at = 3;
	for (;;) {
		int c = next_char(x);
		if (c == '\n') {
			if (x->is_end)
				return true;
			is_comment = false;
		} else if (is_comment || is_space(c)) {
			continue;
		} else if (c == '#' || c == ';') {
			is_comment = true;
		} else if (c == '[') {
			if (!read_section(x))
				return false;
		} else if (!isalpha(c) || !read_setting(x, c)) {
			return false;
		}
		if (x->is_end)
			return true;
	}
}
