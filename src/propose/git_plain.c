/* git_plain.c — settings of git that a sandboxed run may know: no credentials, no addresses, no programs. */
#include "propose/git.h"

#include "base/text.h"

#include <string.h>
#include <strings.h>

/* Sections and keys without credentials, addresses and programs. */
static bool is_plain_setting(const char *key, const char *value)
{
	static const char *const sections[] = { "init.", "pull.", "push.", "merge.", "diff.", "rebase.",
		"rerere.", "fetch.", "branch.", "log.", "status.", "color.", "column.", "advice.", "help.",
		"safe.", "feature.", "index.", "pack.", "checkout.", "clone.", "grep.", "alias.", "pretty.",
		"i18n.", "stash.", "blame.", "apply.", "versionsort." };
	static const char *const keys[] = { "user.name", "user.email", "core.autocrlf", "core.eol",
		"core.quotepath", "core.precomposeunicode", "core.whitespace", "core.abbrev",
		"core.excludesfile", "core.attributesfile", "core.safecrlf", "tag.sort", "commit.verbose",
		"commit.cleanup", "format.pretty", "submodule.recurse" };

	if (*value == '!' || strstr(value, "://") || strpbrk(value, "\n\r"))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (strcasecmp(key, keys[i]) == 0)
			return true;
	for (size_t i = 0; i < ARRAY_SIZE(sections); i++)
		if (strncasecmp(key, sections[i], strlen(sections[i])) == 0)
			return true;
	return false;
}

static void add_quoted(struct buf *to, const char *text)
{
	buf_addc(to, '"');
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			buf_addc(to, '\\');
		buf_addc(to, *text);
	}
	buf_addc(to, '"');
}

/* "section.sub.name" as a section of its own. */
static void add_setting(void *arg, const char *key, const char *value)
{
	struct buf *to = arg;
	const char *dot = strchr(key, '.'), *last = strrchr(key, '.');

	if (!dot || !value || !is_plain_setting(key, value) || strpbrk(key, "\n\r\""))
		return;
	buf_addf(to, "[%.*s", (int)(dot - key), key);
	if (last > dot) {
		buf_addc(to, ' ');
		add_quoted(to, arena_strndup(to->a, dot + 1, (size_t)(last - dot - 1)));
	}
	buf_addf(to, "]\n\t%s = ", last + 1);
	add_quoted(to, value);
	buf_addc(to, '\n');
}

void propose_git_plain(struct arena *a, struct bytes text, struct buf *to)
{
	git_settings(a, text, add_setting, to);
}

void propose_git_each(struct arena *a, struct bytes text,
	void (*fn)(void *arg, const char *key, const char *value), void *arg)
{
	git_settings(a, text, fn, arg);
}
