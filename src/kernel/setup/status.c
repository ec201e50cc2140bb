/* status.c — is the guard really armed?
 *
 * Settings that name us prove little: the program may be gone, the client may have been told to skip hooks, and Codex skips
 * without a word every hook a person has not trusted.  So each of these is looked at, and a doubt is never called armed. */
#include "base/doc.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "kernel/setup/parts.h"

#include <fcntl.h>
#include <string.h>

struct look {
	const struct setup *s;
	const struct setup_client *c;
	const char *scope, *root, *path;
	struct json *warnings;
	const char *state, *detail;
};

static void look_is(struct look *l, const char *state, const char *detail)
{
	l->state = state;
	l->detail = detail;
}

static bool is_armed(const struct look *l)
{
	return text_eq(l->state, "armed");
}

/* ---- what lets a client skip hooks ---- */

static struct json *read_json(const struct look *l, const char *path)
{
	struct json *doc = NULL;

	if (doc_read(l->s->sys, l->s->a, AT_FDCWD, path, SETUP_FILE_LIMIT, FILE_FOLLOW, &doc, NULL))
		return NULL;
	return doc;
}

static void check_disabled(struct look *l, const char *path)
{
	struct json *doc = read_json(l, path);

	if (json_get_bool(doc, "disableAllHooks", false))
		look_is(l, "not_armed",
			arena_printf(l->s->a, "'%s' says disableAllHooks: no hook runs", path));
	if (json_get_bool(doc, "allowManagedHooksOnly", false))
		look_is(l, "not_armed",
			arena_printf(l->s->a, "'%s' says allowManagedHooksOnly: ours is skipped", path));
}

static void look_at_claude(struct look *l, const struct setup_place *p)
{
	struct arena *a = l->s->a;
	const char *roots[] = { l->s->home, l->s->project, l->root };

	if (!text_eq(json_get_text(p->entry, "onFailure", ""), "block"))
		json_pushs(a, l->warnings,
			"the entry lacks \"onFailure\": \"block\": a call passes when Helm is ended by a "
			"time-out");
	for (size_t i = 0; i < ARRAY_SIZE(roots); i++) {
		if (!roots[i])
			continue;
		check_disabled(l, arena_printf(a, "%s/.claude/settings.json", roots[i]));
		check_disabled(l, arena_printf(a, "%s/.claude/settings.local.json", roots[i]));
	}
	check_disabled(l, "/etc/claude-code/managed-settings.json");
}

/* ---- Codex: trust ---- */

/* `name = value` below the table `header` of a TOML file, as written; NULL when it is not there in that plain form. */
static const char *toml_value(struct arena *a, struct bytes text, const char *header, const char *name)
{
	bool is_in = false;

	for (struct bytes rest = text; rest.p && rest.n;) {
		struct bytes line = text_cut(&rest, '\n');
		while (line.n && strchr(" \t", line.p[0])) {
			line.p++;
			line.n--;
		}
		while (line.n && strchr(" \t\r", line.p[line.n - 1]))
			line.n--;
		const char *one = arena_strndup(a, (const char *)line.p, line.n);
		if (*one == '[')
			is_in = text_eq(one, header);
		if (!is_in || !text_starts(one, name))
			continue;
		one += strlen(name);
		one += strspn(one, " \t");
		if (*one == '=')
			return one + 1 + strspn(one + 1, " \t");
	}
	return NULL;
}

/* What Codex hashes when a person trusts a hook: event, matcher and handler, canonical, defaults filled in. */
static const char *codex_hash(struct arena *a, const struct setup_place *p)
{
	struct json *doc = json_new(a, JSON_OBJECT), *list = json_new(a, JSON_ARRAY),
		    *one = json_new(a, JSON_OBJECT);
	struct buf text;

	json_setb(a, one, "async", json_get_bool(p->entry, "async", false));
	json_sets(a, one, "command", json_get_text(p->entry, "command", ""));
	if (json_get_text(p->entry, "statusMessage", NULL))
		json_sets(a, one, "statusMessage", json_get_text(p->entry, "statusMessage", ""));
	json_seti(a, one, "timeout", json_get_int(p->entry, "timeout", 600));
	json_sets(a, one, "type", "command");
	json_push(a, list, one);
	json_sets(a, doc, "event_name", "pre_tool_use");
	json_set(a, doc, "hooks", list);
	if (json_get_text(p->box, "matcher", NULL))
		json_sets(a, doc, "matcher", json_get_text(p->box, "matcher", ""));
	buf_init(&text, a);
	json_canonical(&text, doc);
	return sha256_prefixed(a, text.p, text.n);
}

static void look_at_codex(struct look *l, const struct setup_place *p)
{
	static const char how[] =
		"configured, not armed: Codex skips a hook without a word until you trust it; start codex "
		"and trust it with /hooks";
	struct arena *a = l->s->a;
	const char *moved = l->s->sys->getenv(l->s->sys, "CODEX_HOME");
	const char *config = moved && *moved ? arena_printf(a, "%s/config.toml", moved)
					     : arena_printf(a, "%s/.codex/config.toml", l->s->home);
	struct bytes text = { 0 };

	(void)!file_read(l->s->sys, a, AT_FDCWD, config, SETUP_FILE_LIMIT, FILE_FOLLOW, &text, NULL);
	const char *key =
		arena_printf(a, "[hooks.state.\"%s:pre_tool_use:%zu:%zu\"]", l->path, p->group, p->handler);
	const char *trusted = toml_value(a, text, key, "trusted_hash"),
		   *enabled = toml_value(a, text, key, "enabled"),
		   *feature = toml_value(a, text, "[features]", "hooks"),
		   *older = toml_value(a, text, "[features]", "codex_hooks");
	const char *wanted = arena_printf(a, "\"%s\"", codex_hash(a, p));

	const char *level = toml_value(a, text, arena_printf(a, "[projects.\"%s\"]", l->root), "trust_level");
	if ((feature && text_starts(feature, "false")) || (older && text_starts(older, "false")))
		look_is(l, "not_armed", "Codex's hooks are switched off in config.toml ([features])");
	else if (enabled && text_starts(enabled, "false"))
		look_is(l, "not_armed", "the hook is switched off in Codex; switch it on with /hooks");
	else if (!trusted)
		look_is(l, "not_armed", how);
	else if (!text_starts(trusted, wanted))
		look_is(l, "not_armed",
			"configured, not armed: what you trusted in Codex is another version of the hook; "
			"trust it "
			"again with /hooks");
	else if (text_eq(l->scope, "project") && (!level || !text_starts(level, "\"trusted\"")))
		look_is(l, "not_armed",
			"configured, not armed: Codex does not trust this project and reads no hooks from "
			"it");
}

/* ---- one file ---- */

static bool can_run(const struct look *l, const char *program)
{
	struct stat st;

	return l->s->sys->stat(l->s->sys, AT_FDCWD, program, &st, 0) == 0 && S_ISREG(st.st_mode) &&
		st.st_mode & 0111;
}

/* Does the command it names exist, and does it decide by a workspace that is there? */
static void look_at_command(struct look *l, const struct setup_place *p)
{
	struct arena *a = l->s->a;
	const char *command = json_get_text(p->entry, "command", "");
	struct json *words = setup_words(a, command);
	const char *program = json_text(json_at(words, 0));

	if (!text_ends(command, "|| exit 2"))
		json_pushs(a, l->warnings,
			"the command does not end in \"|| exit 2\": a call passes when Helm cannot run");
	if (program[0] != '/' || !can_run(l, program)) {
		look_is(l, "broken", arena_printf(a, "'%s' is not there or cannot be executed", program));
		return;
	}
	for (size_t i = 1; i + 1 < words->n; i++) {
		const char *place = json_text(json_at(words, i + 1));
		if (text_eq(json_text(json_at(words, i)), "--workspace") &&
			!file_is_dir(l->s->sys, AT_FDCWD, place))
			look_is(l, "broken", arena_printf(a, "the workspace '%s' is gone", place));
	}
}

static void look_at_entry(struct look *l, const struct json *doc)
{
	struct setup_place place, after;
	struct arena *a = l->s->a;
	size_t events = 0, found = 0;

	if (!setup_find_entry(a, l->c, doc, "pre-tool", &place)) {
		look_is(l, "absent", arena_printf(a, "not guarded; 'helm setup %s' installs it", l->c->name));
		return;
	}
	look_is(l, "armed", "every tool call is decided and recorded");
	if (!text_eq(json_get_text(place.box, "matcher", ".*"), ".*"))
		json_pushs(a, l->warnings, "the matcher leaves some tools out");
	for (const struct setup_event *ev = l->c->events; ev->event; ev++) {
		struct json *only = json_new(a, JSON_OBJECT), *hooks = json_new(a, JSON_OBJECT);
		struct json *groups = json_get(json_get(doc, "hooks"), ev->event);
		json_set(a, only, "hooks", hooks);
		if (groups)
			json_set(a, hooks, ev->event, groups);
		found += setup_find_entry(a, l->c, only, ev->verb, &after);
		events++;
	}
	if (found < events)
		look_is(l, "degraded",
			arena_printf(a, "%zu of %zu entries are missing; 'helm setup %s' restores them",
				events - found, events, l->c->name));
	if (text_eq(l->c->name, "hermes") && !json_get_bool(place.entry, "fail_closed", false))
		json_pushs(a, l->warnings,
			"the entry lacks fail_closed: true: a call passes when Helm is ended by a time-out");
	if (text_eq(l->c->name, "cursor"))
		json_pushs(a, l->warnings,
			"Cursor asks before commands, MCP calls and reads; its edits are not stopped by "
			"this");
	look_at_command(l, &place);
	if (text_eq(l->c->name, "claude-code"))
		look_at_claude(l, &place);
	if (text_eq(l->c->name, "codex") && !text_eq(l->state, "broken"))
		look_at_codex(l, &place);
}

static void look_at_file(struct look *l)
{
	struct bytes text, recovery;
	struct json *doc, *pending = NULL;
	struct err e = { 0 };
	const struct setup *s = l->s;

	if (setup_read(s, l->root, l->c->file, &text, NULL, NULL, &e) ||
		(text.p && setup_parse(s->a, l->c, text, l->path, &doc, &e)))
		look_is(l, "broken", arena_strdup(s->a, e.text));
	else if (!text.p)
		look_is(l, "absent",
			arena_printf(s->a, "not guarded; 'helm setup %s' installs it", l->c->name));
	else
		look_at_entry(l, doc);
	if (s->ws->state_fd >= 0 &&
		file_read(s->sys, s->a, s->ws->state_fd, SETUP_RECOVERY, SETUP_FILE_LIMIT, 0, &recovery,
			NULL) == OK &&
		json_parse(s->a, recovery, SETUP_RECOVERY, NULL, &pending, NULL) == OK &&
		text_eq(json_get_text(pending, "path", ""), l->path))
		look_is(l, "recovery_required",
			arena_printf(
				s->a, "a change was interrupted; run 'helm setup repair %s'", l->c->name));
}

static void add_row(const struct setup *s, const struct setup_client *c, const char *scope, const char *root,
	struct json *rows)
{
	struct arena *a = s->a;
	struct look l = { s, c, scope, root, arena_printf(a, "%s/%s", root, c->file), json_new(a, JSON_ARRAY),
		"absent", "" };
	struct json *row = json_new(a, JSON_OBJECT);

	look_at_file(&l);
	json_sets(a, row, "client", c->name);
	json_sets(a, row, "scope", scope);
	json_sets(a, row, "file", l.path);
	json_sets(a, row, "state", l.state);
	json_setb(a, row, "armed", is_armed(&l));
	json_sets(a, row, "detail", l.detail);
	json_set(a, row, "warnings", l.warnings);
	json_push(a, rows, row);
}

struct json *setup_status(const struct setup *s, const char *client)
{
	struct json *rows = json_new(s->a, JSON_ARRAY), *records = NULL;
	const struct setup_client *c;

	if (s->ws->state_fd >= 0)
		(void)!setup_records(s, &records, NULL);
	for (size_t i = 0; (c = setup_client_at(i)); i++) {
		if (!c->file || (client && !text_eq(client, c->name)))
			continue;
		if (s->home)
			add_row(s, c, "user", s->home, rows);
		if (s->project && !c->is_of_user)
			add_row(s, c, "project", s->project, rows);
		json_each (record, records) {
			const char *root = json_get_text(record, "root", "");
			if (text_eq(json_get_text(record, "client", ""), c->name) && *root &&
				!(s->home && text_eq(root, s->home)) &&
				!(s->project && text_eq(root, s->project)))
				add_row(s, c, json_get_text(record, "scope", ""), root, rows);
		}
	}
	return rows;
}
