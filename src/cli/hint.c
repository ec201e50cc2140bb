/* hint.c — commands that we advise, for the workspace that was named, by the name that this program has here.
 *
 * Whoever says --path W and is told to run 'helm db rebuild' would mend another workspace with it.  So the option goes into every command of ours
 * that stands in a text, right behind its words. */
#include "base/text.h"
#include "cli/cli.h"
#include "kernel/workspace.h"
#include "model/command.h"

#include <ctype.h>
#include <string.h>

/* Do these words begin the text, and end there? */
static size_t begins_with(const char *text, const char *words)
{
	size_t n = strlen(words);

	return strncmp(text, words, n) == 0 && !isalnum((unsigned char)text[n]) && text[n] != '-' &&
			text[n] != '_'
		? n
		: 0;
}

/* The longest command whose words the text begins with. */
static const struct cmd *command_at(const char *text, size_t *ret_n)
{
	const struct cmd *found = NULL;

	*ret_n = 0;
	for (size_t i = 0; i < command_count; i++) {
		size_t n = begins_with(text, commands[i]->is->name);
		if (n > *ret_n) {
			*ret_n = n;
			found = commands[i];
		}
	}
	return found;
}

static bool is_plain(const char *path)
{
	return path[strspn(path, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+")] ==
		'\0';
}

/* Does it name a workspace already, before the next command begins? */
static bool names_one(const char *text)
{
	const char *next = strstr(text, "helm "), *path = strstr(text, "--path"),
		   *other = strstr(text, "--workspace");

	return (path && (!next || path < next)) || (other && (!next || other < next));
}

/* A command of ours at p, which stands behind "helm "; *ret_n is how long its words are.  NULL: it is something else, as "helm home". */
static const struct cmd *advised(const char *text, const char *p, size_t *ret_n)
{
	*ret_n = 0;
	return strncmp(p, "helm ", 5) == 0 && (p == text || !(isalnum((unsigned char)p[-1]) || p[-1] == '-'))
		? command_at(p + 5, ret_n)
		: NULL;
}

/* A family whose verb is left out ("helm serve key ..."), or the forms of a usage line. */
static bool is_mention(const char *text, const char *p)
{
	if (strncmp(p, "helm ", 5) != 0 || (p != text && (isalnum((unsigned char)p[-1]) || p[-1] == '-')))
		return false;
	if (p[5] == '<' || p[5] == '-' || begins_with(p + 5, "WORD"))
		return true;
	for (size_t i = 0; i < family_count; i++)
		if (begins_with(p + 5, families[i].name))
			return true;
	return false;
}

const char *called(struct arena *a, const char *text)
{
	struct buf b;

	if (text_eq(command_program(), "helm") || !strstr(text, "helm "))
		return text;
	buf_init(&b, a);
	for (const char *p = text; *p;) {
		size_t n;
		if (advised(text, p, &n) || is_mention(text, p)) {
			buf_adds(&b, command_program());
			p += 4;
		} else {
			buf_addc(&b, *p++);
		}
	}
	return b.p;
}

/* A word for a shell.  What would command the terminal is written as $'\x1b', which shells read as it was. */
static const char *quoted(struct arena *a, const char *path)
{
	struct buf b;

	if (is_plain(path))
		return path;
	if (text_eq(text_safe(a, path, strlen(path), false), path))
		return text_quote(a, path);
	buf_init(&b, a);
	buf_adds(&b, "$'");
	for (const unsigned char *p = (const unsigned char *)path; *p; p++)
		if (*p < ' ' || *p >= 0x7f || *p == '\'' || *p == '\\')
			buf_addf(&b, "\\x%02x", *p);
		else
			buf_addc(&b, (char)*p);
	buf_addc(&b, '\'');
	return b.p;
}

const char *hint(const struct cli *r, const char *text)
{
	const char *root = r->path_option && r->ws ? r->ws->root : NULL;
	struct buf b;

	if (!root || !strstr(text, "helm "))
		return called(r->a, text);
	root = quoted(r->a, root);
	buf_init(&b, r->a);
	for (const char *p = text; *p;) {
		size_t n;
		const struct cmd *c = advised(text, p, &n);
		if (!c ||
			!(c->needs &
				(NEEDS_WORKSPACE | MAY_WORKSPACE | NEW_WORKSPACE | ANY_WORKSPACE |
					MADE_WORKSPACE)) ||
			names_one(p + 5)) {
			buf_addc(&b, *p++);
			continue;
		}
		buf_add(&b, p, 5 + n);
		buf_addf(&b, " --path %s", root);
		p += 5 + n;
	}
	return called(r->a, b.p);
}

void hint_json(const struct cli *r, struct json *v)
{
	static const char *const names[] = { "next", "remedy", "detail", "note", "text", "suggested_action",
		"restore_command" };

	if (!r->path_option && text_eq(command_program(), "helm"))
		return;
	json_each (item, v)
		hint_json(r, item);
	json_each_member (m, v) {
		bool is_advice = false;
		for (size_t i = 0; i < ARRAY_SIZE(names); i++)
			is_advice |= text_eq(m->name, names[i]);
		if (is_advice && json_text(m->value))
			m->value = json_string(r->a, hint(r, json_text(m->value)));
		else if (!is_advice)
			hint_json(r, m->value);
	}
}
