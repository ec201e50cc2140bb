/* entries.c — the command a client runs, and our entries in a file of its settings; see parts.h.
 *
 * An entry is recognised by what its command does, not by where it stands: people move entries, quote them
 * differently, or install the program elsewhere.  So the command is taken apart into words, and anything
 * that is more than plain words is somebody else's and is left alone.
 *
 * Removing takes out as little as possible, but never leaves an empty group or list of ours behind. */
#include "base/file.h"
#include "base/text.h"
#include "kernel/setup/parts.h"
#include "model/command.h"

#include <string.h>

enum { MAX_ENTRIES = 256 };

/* Tells a client nobody knows from one that is known but has no hook, for which walls are the remedy. */
int setup_find_client(struct arena *a, const char *name, const struct client **ret, struct err *e)
{
	const struct client *c = clients_find(name);

	if (!c)
		return err_set(e, E_USAGE, "SETUP_CLIENT", "no client is called '%s': %s", name,
			clients_with_hook(a));
	if (!c->speech)
		return err_set(e, E_INPUT, "SETUP_NO_HOOK",
			"there is no hook for %s yet; run it inside walls: 'helm agent COMMAND'", c->title);
	*ret = c;
	return OK;
}

/* ---- commands ---- */

/* If the program is gone or dies, the shell reports 127 or a signal, which clients take for "go on".  Exit
 * code 2 is a block to all of them. */
static const char or_block[] = " || exit 2";

/* The workspace is named, because the client may run the command from any directory; and so is the helm home, because a client's environment
 * can come from settings in the tree, and another home has other words about what may be done. */
char *setup_command(const struct setup *s, const struct client *c, const char *verb)
{
	const char *before = s->ws->helm_home
		? arena_printf(s->a, "HELM_HOME=%s ", text_quote(s->a, s->ws->helm_home))
		: "";

	return arena_printf(s->a, "%s%s hook %s --client %s --workspace %s%s", before,
		text_quote(s->a, s->program), verb, c->name, text_quote(s->a, s->ws->root),
		text_eq(verb, "pre-tool") ? or_block : "");
}

/* One word with its quotes taken off.  NULL when it holds anything a shell would act upon: such a command
 * is not one of ours. */
static const char *take_word(struct arena *a, const char **p)
{
	struct buf b;

	buf_init(&b, a);
	while (**p && !strchr(" \t\n", **p)) {
		char c = *(*p)++;
		if (c == '\'' || c == '"') {
			const char *end = strchr(*p, c);
			if (!end || (c == '"' && memchr(*p, '\\', (size_t)(end - *p))) ||
				(c == '"' && memchr(*p, '$', (size_t)(end - *p))) ||
				(c == '"' && memchr(*p, '`', (size_t)(end - *p))))
				return NULL;
			buf_add(&b, *p, (size_t)(end - *p));
			*p = end + 1;
		} else if (c == '\\' && **p) {
			buf_addc(&b, *(*p)++);
		} else if (strchr("|&;<>()$`\\", c)) {
			return NULL;
		} else {
			buf_addc(&b, c);
		}
	}
	return b.p;
}

/* NAME= in front of the command, as setup_command() writes it. */
static bool is_assignment(const char *word)
{
	size_t n = strspn(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_");

	return n && word[n] == '=';
}

/* Understands only what setup_command() writes, and what a person may have made of it by quoting
 * differently. */
struct json *setup_words(struct arena *a, const char *command)
{
	struct json *words = json_new(a, JSON_ARRAY);

	if (text_ends(command, or_block))
		command = arena_strndup(a, command, strlen(command) - strlen(or_block));
	for (;;) {
		command += strspn(command, " \t\n");
		if (!*command)
			return words;
		const char *word = take_word(a, &command);
		if (!word)
			return NULL;
		if (words->n || !is_assignment(word))
			json_pushs(a, words, word);
	}
}

/* "" behind the end, so that callers need not count. */
static const char *word_at(const struct json *words, size_t i)
{
	const char *word = json_text(json_at(words, i));

	return word ? word : "";
}

/* The word behind --workspace; NULL when the command has none or cannot be read. */
const char *setup_workspace_of(struct arena *a, const struct json *entry)
{
	const struct json *words = setup_words(a, json_get_text(entry, "command", ""));

	for (size_t i = 1; words && i + 1 < words->n; i++)
		if (text_eq(word_at(words, i), "--workspace"))
			return word_at(words, i + 1);
	return NULL;
}

/* By program, verb and client, wherever the program lies. */
bool setup_is_ours(struct arena *a, const struct json *command, const char *client)
{
	const char *text = json_text(command);
	struct json *words = text ? setup_words(a, text) : NULL;

	if (!words ||
		!(text_starts(path_base(word_at(words, 0)), "helm") ||
			command_is_program(path_base(word_at(words, 0)))) ||
		!text_eq(word_at(words, 1), "hook") ||
		!(text_eq(word_at(words, 2), "pre-tool") || text_eq(word_at(words, 2), "post-tool") ||
			text_eq(word_at(words, 2), "session-start")))
		return false;
	for (size_t i = 3; i + 1 < words->n; i++)
		if (text_eq(word_at(words, i), "--client") && text_eq(word_at(words, i + 1), client))
			return true;
	return false;
}

/* ---- entries ---- */

/* Is this entry ours, and for this verb?  Verb NULL: any of ours. */
static bool matches(struct arena *a, const struct client *c, const struct json *entry, const char *verb)
{
	const struct json *command = json_get(entry, "command");

	return setup_is_ours(a, command, c->name) &&
		(!verb || text_eq(word_at(setup_words(a, json_text(command)), 2), verb));
}

/* Flat clients have the command in the group itself, others a list of handlers in it. */
static bool find_in_group(struct arena *a, const struct client *c, const struct json *group, const char *verb,
	struct setup_place *ret)
{
	const struct json *handlers = json_get(group, "hooks");

	ret->box = group;
	ret->handler = 0;
	if (c->setup->is_flat) {
		ret->entry = group;
		return matches(a, c, group, verb);
	}
	for (; handlers && json_is(handlers, JSON_ARRAY) && ret->handler < handlers->n; ret->handler++) {
		ret->entry = json_at(handlers, ret->handler);
		if (matches(a, c, ret->entry, verb))
			return true;
	}
	return false;
}

/* The first entry of ours, in the order of the file. */
bool setup_find_entry(struct arena *a, const struct client *c, const struct json *doc, const char *verb,
	struct setup_place *ret)
{
	const struct json *hooks = json_get(doc, "hooks");

	json_each_member (m, hooks) {
		*ret = (struct setup_place){ .event = m->name };
		for (; json_is(m->value, JSON_ARRAY) && ret->group < m->value->n; ret->group++)
			if (find_in_group(a, c, json_at(m->value, ret->group), verb, ret))
				return true;
	}
	return false;
}

/* How much goes: the handler, or whatever would be empty without it. */
static size_t removal_path(
	const struct client *c, const struct json *doc, const struct setup_place *p, struct json_step *path)
{
	const struct json *hooks = json_get(doc, "hooks"), *groups = json_get(hooks, p->event),
			  *handlers = json_get(p->box, "hooks");

	path[0] = (struct json_step){ "hooks", 0 };
	path[1] = (struct json_step){ p->event, 0 };
	path[2] = (struct json_step){ NULL, p->group };
	path[3] = (struct json_step){ "hooks", 0 };
	path[4] = (struct json_step){ NULL, p->handler };
	if (!c->setup->is_flat && handlers->n > 1)
		return 5;
	if (groups->n > 1)
		return 3;
	return hooks->n > 1 ? 2 : 1;
}

int setup_parse(struct arena *a, const struct client *c, struct bytes text, const char *name,
	struct json **ret, struct err *e)
{
	return c->setup->is_yaml ? yaml_edit_read(a, text, name, ret, e)
				 : json_parse(a, text, name, NULL, ret, e);
}

/* One entry at a time, parsing anew after each, because every removal moves what follows. */
int setup_drop_entries(struct arena *a, const struct client *c, struct bytes text, const char *name,
	struct bytes *ret, struct err *e)
{
	for (size_t i = 0; i < MAX_ENTRIES; i++) {
		struct json_step path[5];
		struct setup_place place;
		struct json *doc;
		int rc = setup_parse(a, c, text, name, &doc, e);
		if (rc)
			return rc;
		if (!setup_find_entry(a, c, doc, NULL, &place)) {
			*ret = text;
			return OK;
		}
		if (c->setup->is_yaml)
			rc = yaml_edit_remove(a, text, name, "hooks", place.event, place.group, &text, e);
		else
			rc = json_edit_remove(
				a, text, name, path, removal_path(c, doc, &place, path), &text, e);
		if (rc)
			return rc;
	}
	return err_set(e, E_LIMIT, "SETUP_ENTRIES", "%s: more than %d entries of ours", name, MAX_ENTRIES);
}

/* For clients whose settings are not edited: a text to paste.  NULL for all others. */
const char *setup_snippet(const struct setup *s, const char *client, struct err *e)
{
	const struct client *c;

	if (setup_find_client(s->a, client, &c, e) || c->setup)
		return NULL;
	return arena_printf(s->a, "%s\n\n%s\n", c->paste, setup_command(s, c, "pre-tool"));
}
