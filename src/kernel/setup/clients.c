/* clients.c — the clients whose settings can be edited, and finding our entries in them; see setup.h. */
#include "base/file.h"
#include "base/text.h"
#include "kernel/setup/parts.h"

#include <string.h>

enum { CLIENT_TIMEOUT_S = 30, MAX_ENTRIES = 256 };

static const struct setup_client clients[] = {
	{ "claude-code", ".claude/settings.json", "{}\n", false, true, false, false,
		{ { "PreToolUse", "pre-tool" }, { "PostToolUse", "post-tool" } } },
	{ "codex", ".codex/hooks.json", "{}\n", false, false, false, false,
		{ { "PreToolUse", "pre-tool" }, { "PostToolUse", "post-tool" } } },
	{ "cursor", ".cursor/hooks.json", "{\n  \"version\": 1\n}\n", true, false, false, false,
		{ { "beforeShellExecution", "pre-tool" }, { "beforeMCPExecution", "pre-tool" },
			{ "beforeReadFile", "pre-tool" } } },
	{ "hermes", ".hermes/config.yaml", "", true, false, true, true, { { "pre_tool_call", "pre-tool" } } },
	{ .name = "deepseek" },
	{ .name = "vscode" },
};

const struct setup_client *setup_client_at(size_t i)
{
	return i < ARRAY_SIZE(clients) ? &clients[i] : NULL;
}

int setup_find_client(const char *name, const struct setup_client **ret, struct err *e)
{
	for (size_t i = 0; i < ARRAY_SIZE(clients); i++)
		if (text_eq(clients[i].name, name)) {
			*ret = &clients[i];
			return OK;
		}
	return err_set(e, E_USAGE, "SETUP_CLIENT",
		"no client is called '%s': claude-code, codex, cursor, hermes, deepseek, vscode", name);
}

/* ---- commands ---- */

/* A program that is gone, or dies, would be exit code 127 or a signal, and that clients take for "go on".  2 is a block to all. */
static const char or_block[] = " || exit 2";

char *setup_command(const struct setup *s, const struct setup_client *c, const char *verb)
{
	const char *moved = s->sys->getenv(s->sys, "HELM_HOME");
	const char *before = moved && *moved
		? arena_printf(s->a, "HELM_HOME=%s ", text_quote(s->a, s->ws->helm_home))
		: "";

	return arena_printf(s->a, "%s%s hook %s --client %s --workspace %s%s", before,
		text_quote(s->a, s->program), verb, c->name, text_quote(s->a, s->ws->root),
		text_eq(verb, "pre-tool") ? or_block : "");
}

/* Hermes: what fails is a block only where the entry says so. */
static struct json *hermes_entry(const struct setup *s, const struct setup_client *c)
{
	struct json *one = json_new(s->a, JSON_OBJECT);

	json_sets(s->a, one, "matcher", ".*");
	json_sets(s->a, one, "command", setup_command(s, c, "pre-tool"));
	json_setb(s->a, one, "fail_closed", true);
	json_seti(s->a, one, "timeout", CLIENT_TIMEOUT_S);
	return one;
}

struct json *setup_entry(const struct setup *s, const struct setup_client *c, const struct setup_event *ev)
{
	struct arena *a = s->a;
	struct json *group = json_new(a, JSON_OBJECT), *handlers = json_new(a, JSON_ARRAY),
		    *one = json_new(a, JSON_OBJECT);

	if (c->is_yaml)
		return hermes_entry(s, c);
	if (!c->is_flat)
		json_sets(a, one, "type", "command");
	json_sets(a, one, "command", setup_command(s, c, ev->verb));
	json_seti(a, one, "timeout", CLIENT_TIMEOUT_S);
	if (c->is_flat) {
		json_setb(a, one, "failClosed", true);
		return one;
	}
	if (text_eq(ev->verb, "pre-tool")) {
		json_sets(a, one, "statusMessage", "Checking HELM policy");
		if (c->can_block)
			json_sets(a, one, "onFailure", "block");
	}
	json_push(a, handlers, one);
	json_sets(a, group, "matcher", ".*");
	json_set(a, group, "hooks", handlers);
	return group;
}

/* One word, quotes taken off.  NULL when it holds what a shell would act upon. */
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

static bool is_assignment(const char *word)
{
	size_t n = strspn(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_");

	return n && word[n] == '=';
}

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

static const char *word_at(const struct json *words, size_t i)
{
	const char *word = json_text(json_at(words, i));

	return word ? word : "";
}

bool setup_is_ours(struct arena *a, const struct json *command, const char *client)
{
	const char *text = json_text(command);
	struct json *words = text ? setup_words(a, text) : NULL;

	if (!words || !text_starts(path_base(word_at(words, 0)), "helm") ||
		!text_eq(word_at(words, 1), "hook") ||
		!(text_eq(word_at(words, 2), "pre-tool") || text_eq(word_at(words, 2), "post-tool")))
		return false;
	for (size_t i = 3; i + 1 < words->n; i++)
		if (text_eq(word_at(words, i), "--client") && text_eq(word_at(words, i + 1), client))
			return true;
	return false;
}

/* ---- entries ---- */

static bool matches(struct arena *a, const struct setup_client *c, const struct json *entry, const char *verb)
{
	const struct json *command = json_get(entry, "command");

	return setup_is_ours(a, command, c->name) &&
		(!verb || text_eq(word_at(setup_words(a, json_text(command)), 2), verb));
}

static bool find_in_group(struct arena *a, const struct setup_client *c, const struct json *group,
	const char *verb, struct setup_place *ret)
{
	const struct json *handlers = json_get(group, "hooks");

	ret->box = group;
	ret->handler = 0;
	if (c->is_flat) {
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

bool setup_find_entry(struct arena *a, const struct setup_client *c, const struct json *doc, const char *verb,
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

/* How much goes: the handler, or whatever holds nothing else. */
static size_t removal_path(const struct setup_client *c, const struct json *doc, const struct setup_place *p,
	struct json_step *path)
{
	const struct json *hooks = json_get(doc, "hooks"), *groups = json_get(hooks, p->event),
			  *handlers = json_get(p->box, "hooks");

	path[0] = (struct json_step){ "hooks", 0 };
	path[1] = (struct json_step){ p->event, 0 };
	path[2] = (struct json_step){ NULL, p->group };
	path[3] = (struct json_step){ "hooks", 0 };
	path[4] = (struct json_step){ NULL, p->handler };
	if (!c->is_flat && handlers->n > 1)
		return 5;
	if (groups->n > 1)
		return 3;
	return hooks->n > 1 ? 2 : 1;
}

int setup_parse(struct arena *a, const struct setup_client *c, struct bytes text, const char *name,
	struct json **ret, struct err *e)
{
	return c->is_yaml ? yaml_edit_read(a, text, name, ret, e) : json_parse(a, text, name, NULL, ret, e);
}

int setup_drop_entries(struct arena *a, const struct setup_client *c, struct bytes text, const char *name,
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
		if (c->is_yaml)
			rc = yaml_edit_remove(a, text, name, "hooks", place.event, place.group, &text, e);
		else
			rc = json_edit_remove(
				a, text, name, path, removal_path(c, doc, &place, path), &text, e);
		if (rc)
			return rc;
	}
	return err_set(e, E_LIMIT, "SETUP_ENTRIES", "%s: more than %d entries of ours", name, MAX_ENTRIES);
}

const char *setup_snippet(const struct setup *s, const char *client, struct err *e)
{
	const struct setup_client *c;

	if (setup_find_client(client, &c, e) || c->file)
		return NULL;
	const char *command = setup_command(s, c, "pre-tool");
	if (text_eq(client, "deepseek"))
		return arena_printf(s->a,
			"The DeepSeek harness loads hooks by a plugin named in a YAML file, which cannot be "
			"edited "
			"byte for byte.\n"
			"Enable @deepseek-ai/dsh-hooks-claude-code in cordis.patch.yml with configPath "
			"~/.dsh/hooks.json and\nfail_closed: true, and let that file run, before every "
			"tool:\n\n%s\n",
			command);
	return arena_printf(s->a,
		"VS Code has no settings file for hooks that this program knows.  Where your version reads "
		"Claude "
		"Code's\nsettings, 'helm setup claude-code --scope project' guards it; otherwise let its "
		"hook for "
		"tool calls run:\n\n%s\n",
		command);
}
