/* git_config.c — which programs a git configuration file would make git start.
 *
 * For whoever looks at a repository that something else has written to: a line in .git/config is enough to have a program run at
 * the next `git status`.  Which settings those are stands in one place, beside the judgement of `git -c` (programs/git.c). */
#include "base/json.h"
#include "base/text.h"
#include "propose/git.h"
#include "propose/programs/programs.h"
#include "propose/propose.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

struct config {
	struct arena *a;
	const char *at, *end;
	const char *section; /* "core", "filter.lfs" */
};

static void skip_blanks(struct config *c)
{
	while (c->at < c->end && (*c->at == ' ' || *c->at == '\t' || *c->at == '\r'))
		c->at++;
}

/* [section "subsection"] or [section.subsection]. */
static void read_section(struct config *c)
{
	bool is_quoted = false;
	struct buf name;

	buf_init(&name, c->a);
	for (c->at++; c->at < c->end && *c->at != '\n' && (is_quoted || *c->at != ']'); c->at++) {
		if (*c->at == '"') {
			is_quoted = !is_quoted;
		} else if (is_quoted && *c->at == '\\' && c->at + 1 < c->end) {
			buf_addc(&name, *++c->at);
		} else if (!is_quoted && (*c->at == ' ' || *c->at == '\t')) {
			if (name.n && name.p[name.n - 1] != '.')
				buf_addc(&name, '.');
		} else {
			buf_addc(&name, *c->at);
		}
	}
	c->section = name.n ? name.p : "";
	if (c->at < c->end && *c->at == ']')
		c->at++;
}

/* To the end of the line, over lines that end in a backslash, without quotes and comments. */
static const char *read_value(struct config *c)
{
	bool is_quoted = false;
	struct buf value;

	buf_init(&value, c->a);
	buf_adds(&value, "");
	for (; c->at < c->end && *c->at != '\n'; c->at++) {
		if (*c->at == '\\' && c->at + 1 < c->end) {
			c->at += c->at[1] == '\r' && c->at + 2 < c->end;
			if (*++c->at != '\n')
				buf_addc(&value, *c->at);
		} else if (*c->at == '"') {
			is_quoted = !is_quoted;
		} else if (!is_quoted && (*c->at == '#' || *c->at == ';')) {
			while (c->at + 1 < c->end && c->at[1] != '\n')
				c->at++;
		} else {
			buf_addc(&value, *c->at);
		}
	}
	while (value.n && isspace((unsigned char)value.p[value.n - 1]))
		value.p[--value.n] = '\0';
	return value.p;
}

/* Switches are no programs, where git knows a switch: core.fsmonitor=true is git's own.  Elsewhere "on" is a name like any other;
 * nothing at all names nothing. */
static bool is_switch(const char *key, const char *value)
{
	static const char *const words[] = { "true", "false", "yes", "no", "on", "off", "0", "1" };

	if (!*value)
		return true;
	if (strcasecmp(key, "core.fsmonitor") != 0 && strncasecmp(key, "pager.", 6) != 0)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strcasecmp(value, words[i]) == 0)
			return true;
	return false;
}

bool git_setting_runs(const char *key, const char *value)
{
	if (*value == '!' || strncasecmp(value, "ext::", 5) == 0)
		return true;
	if (strcasecmp(key, "protocol.ext.allow") == 0 || strcasecmp(key, "protocol.allow") == 0)
		return strcasecmp(value, "never") != 0;
	return git_key_runs(key) && !is_switch(key, value);
}

void git_settings(struct arena *a, struct bytes text, git_setting_fn *fn, void *arg)
{
	const char *start = (const char *)text.p;
	struct config c = { .a = a, .at = start, .end = start + text.n, .section = "" };

	while (c.at < c.end) {
		skip_blanks(&c);
		start = c.at;
		while (c.at < c.end && (isalnum((unsigned char)*c.at) || *c.at == '-'))
			c.at++;
		if (c.at > start) {
			const char *key = arena_printf(a, "%s.%.*s", c.section, (int)(c.at - start), start);
			skip_blanks(&c);
			if (c.at < c.end && *c.at == '=')
				c.at++;
			skip_blanks(&c);
			fn(arg, key, read_value(&c));
		} else if (c.at < c.end && *c.at == '[') {
			read_section(&c);
		} else if (c.at < c.end && (*c.at == '#' || *c.at == ';')) {
			while (c.at < c.end && *c.at != '\n')
				c.at++;
		} else {
			c.at += c.at < c.end;
		}
	}
}

struct commands {
	struct arena *a;
	struct json *list;
};

static void add_command(void *arg, const char *key, const char *value)
{
	struct commands *x = arg;

	if (git_setting_runs(key, value))
		json_pushs(x->a, x->list, arena_printf(x->a, "%s=%s", key, value));
}

struct json *propose_git_commands(struct arena *a, struct bytes text)
{
	struct commands x = { a, json_new(a, JSON_ARRAY) };

	git_settings(a, text, add_command, &x);
	return x.list;
}
