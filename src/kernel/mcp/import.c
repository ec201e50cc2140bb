/* import.c — servers in the settings of agent clients, as this registry has them.
 *
 * A client's entry says how a server is started and nothing about what it needs.  What can be guessed is guessed narrowly and shown to the
 * person who imports it: directories and files among its arguments, the project it is started in, where its program lies, and the
 * package registry that its runner fetches from. */
#include "kernel/mcp/mcp.h"

#include "base/doc.h"
#include "base/file.h"
#include "base/text.h"
#include "base/toml.h"
#include "model/command.h"

#include <ctype.h>
#include <fcntl.h>
#include <string.h>

enum { SETTINGS_BYTES = 16 << 20 };

static const struct settings {
	const char *client, *scope, *file, *member;
	bool is_toml;
} places[] = {
	{ "claude-code", "project", ".mcp.json", "mcpServers", false },
	{ "claude-code", "user", ".claude.json", "mcpServers", false },
	{ "cursor", "project", ".cursor/mcp.json", "mcpServers", false },
	{ "cursor", "user", ".cursor/mcp.json", "mcpServers", false },
	{ "vscode", "project", ".vscode/mcp.json", "servers", false },
	{ "codex", "project", ".codex/config.toml", "mcp_servers", true },
	{ "codex", "user", ".codex/config.toml", "mcp_servers", true },
	{ "claude-desktop", "user", ".config/Claude/claude_desktop_config.json", "mcpServers", false },
	{ "other", "project", "mcp.json", "mcpServers", false },
};

struct finding_servers {
	struct sys *sys;
	struct arena *a;
	const char *home, *project;
	struct json *found, *notes;
};

/* ---- what it needs ---- */

static void add_text(struct arena *a, struct json *how, const char *name, const char *text)
{
	struct json *list = json_get(how, name);

	if (!list) {
		list = json_new(a, JSON_ARRAY);
		json_set(a, how, name, list);
	}
	json_each (one, list)
		if (text_eq(json_text(one), text))
			return;
	json_pushs(a, list, text);
}

static const char *directory_of(struct arena *a, const char *path)
{
	const char *modules = strstr(path, "/node_modules/");

	if (modules)
		return arena_strndup(a, path, (size_t)(modules - path));
	size_t n = strlen(path) - strlen(path_base(path));
	return arena_strndup(a, path, n > 1 ? n - 1 : n);
}

/* A directory is what it works in; a file is its program, which lies among its own. */
static void need_argument(struct finding_servers *f, struct json *how, const char *word)
{
	const char *path = text_starts(word, "~/") && f->home
		? arena_printf(f->a, "%s%s", f->home, word + 1)
		: path_join(f->a, f->project ? f->project : "/", word);

	if (word[0] == '-' || !strchr(word, '/') || strchr(word, '$'))
		return;
	path = path_clean(f->a, path);
	if (text_eq(path, "/") || (f->home && text_eq(path, f->home)) || !file_exists(f->sys, AT_FDCWD, path))
		return;
	if (file_is_dir(f->sys, AT_FDCWD, path))
		add_text(f->a, how, "write", path);
	else
		add_text(f->a, how, "read", directory_of(f->a, path));
}

/* A program below the home, or one that stands in PATH there, with what was installed beside it. */
static void need_program(struct finding_servers *f, struct json *how, const char *command)
{
	const char *path = f->sys->getenv(f->sys, "PATH"), *at = strchr(command, '/') ? command : NULL;
	struct bytes rest = bytes_of(path ? path : "");

	while (!at && rest.p) {
		struct bytes dir = text_cut(&rest, ':');
		const char *one = arena_printf(f->a, "%.*s/%s", (int)dir.n, (const char *)dir.p, command);
		if (dir.n && file_exists(f->sys, AT_FDCWD, one))
			at = one;
	}
	if (!at || !f->home || !path_is_below(at, f->home))
		return;
	const char *dir = directory_of(f->a, at);
	if (text_eq(path_base(dir), "bin") && !text_eq(directory_of(f->a, dir), f->home))
		dir = directory_of(f->a, dir);
	if (!text_eq(dir, f->home))
		add_text(f->a, how, "read", dir);
}

static void need_runner(struct finding_servers *f, struct json *how, const char *command)
{
	static const struct {
		const char *runner, *hosts, *cache;
	} known[] = { { "npx", "@npm", "~/.npm" }, { "bunx", "@npm", "~/.bun" },
		{ "pnpx", "@npm", "~/.cache" }, { "uvx", "@pypi", "~/.cache/uv" },
		{ "uv", "@pypi", "~/.cache/uv" }, { "pipx", "@pypi", "~/.cache" } };

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (text_eq(path_base(command), known[i].runner)) {
			add_text(f->a, how, "hosts", known[i].hosts);
			add_text(f->a, how, "layers", known[i].cache);
		}
}

/* ---- one entry ---- */

static void copy_texts(struct arena *a, struct json *how, const char *name, const struct json *from)
{
	if (json_is(from, JSON_ARRAY))
		json_each (one, from)
			if (json_text(one))
				add_text(a, how, name, json_text(one));
}

/* Arguments may be there twice. */
static void copy_args(struct arena *a, struct json *how, const struct json *from)
{
	struct json *list = json_new(a, JSON_ARRAY);

	json_each (one, from)
		if (json_text(one))
			json_pushs(a, list, json_text(one));
	if (list->n)
		json_set(a, how, "args", list);
}

static void copy_map(struct arena *a, struct json *how, const char *name, const struct json *from)
{
	struct json *map = json_new(a, JSON_OBJECT);

	json_each_member (m, from)
		if (json_text(m->value))
			json_sets(a, map, m->name, json_text(m->value));
	if (map->n)
		json_set(a, how, name, map);
}

static struct json *how_of(struct finding_servers *f, const struct json *entry)
{
	struct arena *a = f->a;
	struct json *how = json_new(a, JSON_OBJECT);
	const char *command = json_get_text(entry, "command", NULL), *url = json_get_text(entry, "url", NULL);

	if (url) {
		json_sets(a, how, "url", url);
		copy_map(a, how, "headers",
			json_get(entry, "headers") ? json_get(entry, "headers")
						   : json_get(entry, "http_headers"));
		if (json_get_text(entry, "bearer_token_env_var", NULL))
			json_sets(a, how, "bearer_env", json_get_text(entry, "bearer_token_env_var", ""));
		return how;
	}
	if (!command || !*command)
		return NULL;
	json_sets(a, how, "command", command);
	copy_args(a, how, json_get(entry, "args"));
	copy_map(a, how, "env", json_get(entry, "env"));
	copy_texts(a, how, "pass", json_get(entry, "env_vars"));
	need_program(f, how, command);
	need_runner(f, how, command);
	json_each (arg, json_get(entry, "args"))
		if (json_text(arg))
			need_argument(f, how, json_text(arg));
	const char *cwd = json_get_text(entry, "cwd", f->project);
	if (cwd && !(f->home && text_eq(cwd, f->home)) && file_is_dir(f->sys, AT_FDCWD, cwd)) {
		json_sets(a, how, "cwd", cwd);
		add_text(a, how, "read", cwd);
	}
	return how;
}

/* An id from whatever a client calls it. */
static const char *id_of(struct arena *a, const char *name)
{
	char *id = arena_strndup(a, name, strlen(name) > 63 ? 63 : strlen(name)), *to = id;

	for (const char *p = id; *p; p++) {
		char c = (char)tolower((unsigned char)*p);
		bool is_fine = isalnum((unsigned char)c) || c == '-' || c == '_';
		if (!is_fine)
			c = '-';
		if ((c == '-' || c == '_') && (to == id || to[-1] == c))
			continue;
		*to++ = c;
	}
	*to = '\0';
	return mcp_is_id(id) ? id : arena_printf(a, "server-%zu", strlen(name));
}

static bool is_ours(const struct json *entry)
{
	const char *command = json_get_text(entry, "command", "");

	return command_is_program(path_base(command)) &&
		text_eq(json_text(json_at(json_get(entry, "args"), 0))
				? json_text(json_at(json_get(entry, "args"), 0))
				: "",
			"mcp");
}

static bool is_taken(const struct finding_servers *f, const char *id, const char *digest)
{
	json_each (one, f->found)
		if (text_eq(json_get_text(one, "id", ""), id))
			return !text_eq(json_get_text(one, "entry_sha256", ""), digest);
	return false;
}

static void take_entry(struct finding_servers *f, const struct settings *at, const char *path,
	const char *project, const struct json_member *m)
{
	struct arena *a = f->a;
	struct json *row = json_new(a, JSON_OBJECT), *how;
	const char *digest = json_sha256(a, m->value), *id = id_of(a, m->name);

	json_setb(a, row, "is_ours", is_ours(m->value));
	how = how_of(f, m->value);
	if (!how) {
		json_pushs(a, f->notes,
			arena_printf(a, "%s: server '%s' has neither a command nor a url", path,
				text_safe(a, m->name, m->name_n, false)));
		return;
	}
	if (is_taken(f, id, digest))
		id = arena_printf(a, "%.40s-%s", id, at->client);
	json_sets(a, row, "id", id);
	json_sets(a, row, "name", m->name);
	json_sets(a, row, "client", at->client);
	json_sets(a, row, "scope", at->scope);
	json_sets(a, row, "path", path);
	json_sets(a, row, "member", at->member);
	if (project)
		json_sets(a, row, "project", project);
	json_sets(a, row, "entry_sha256", digest);
	struct json *source = json_new(a, JSON_OBJECT);
	json_sets(a, source, "client", at->client);
	json_sets(a, source, "path", path);
	json_sets(a, source, "name", m->name);
	json_sets(a, source, "entry_sha256", digest);
	json_set(a, how, "source", source);
	json_set(a, row, "how", how);
	json_push(a, f->found, row);
}

/* ---- one file ---- */

/* Only the tables of servers: the rest of Codex's settings may hold what is not read here. */
static struct bytes toml_servers(struct arena *a, struct bytes text)
{
	struct bytes rest = text;
	bool is_in = false;
	struct buf to;

	buf_init(&to, a);
	while (rest.p) {
		struct bytes line = text_cut(&rest, '\n');
		const char *s = arena_strndup(a, (const char *)line.p, line.n);
		s += strspn(s, " \t");
		if (*s == '[')
			is_in = text_starts(s, "[mcp_servers.");
		if (is_in)
			buf_addf(&to, "%s\n", s);
	}
	return buf_bytes(&to);
}

static void read_file(struct finding_servers *f, const struct settings *at, const char *root)
{
	const char *path = arena_printf(f->a, "%s/%s", root, at->file);
	struct err e = { 0 };
	struct bytes text;
	struct json *doc;

	if (file_read(f->sys, f->a, AT_FDCWD, path, SETTINGS_BYTES, FILE_FOLLOW, &text, &e)) {
		if (e.rc != E_MISSING)
			json_pushs(f->a, f->notes, e.text);
		return;
	}
	if (at->is_toml ? toml_parse(f->a, toml_servers(f->a, text), path, &doc, &e)
			: json_parse(f->a, text, path, NULL, &doc, &e)) {
		json_pushs(f->a, f->notes, e.text);
		return;
	}
	const struct json *all = json_get(doc, at->member),
			  *here = f->project ? json_get(json_get(doc, "projects"), f->project) : NULL;
	json_each_member (m, all)
		take_entry(f, at, path, NULL, m);
	json_each_member (m, json_get(here, at->member))
		take_entry(f, at, path, f->project, m);
}

struct json *mcp_find_servers(
	struct sys *s, struct arena *a, const char *home, const char *project, struct json **ret_notes)
{
	struct finding_servers f = { .sys = s,
		.a = a,
		.home = home,
		.project = project,
		.found = json_new(a, JSON_ARRAY),
		.notes = json_new(a, JSON_ARRAY) };

	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		const char *root = text_eq(places[i].scope, "user") ? home : project;
		if (root &&
			!(home && project && text_eq(home, project) && text_eq(places[i].scope, "project")))
			read_file(&f, &places[i], root);
	}
	*ret_notes = f.notes;
	return f.found;
}
