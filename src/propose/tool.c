/* tool.c — an agent's tool call becomes a proposal.
 *
 * Clients spell the same few things in many ways: run a command, change files, read files, fetch a page, call a server's tool.
 * One table says which tool is what.  Whatever a call does is put into the words of a command that does the same (writing a file
 * is tee, reading one is cat) and goes through the same analysis, so that a file is judged alike whoever opens it.
 *
 * A tool nobody knows, a server's above all, is judged by its arguments: paths, commands, addresses and SQL in them are effects.
 * The name of such a tool is the word of whoever wrote the server: it can make the answer stricter, never milder. */
#include "base/file.h"
#include "base/text.h"
#include "propose/propose.h"
#include "propose/walk.h"

#include <string.h>
#include <strings.h>

enum tool_kind {
	TOOL_UNKNOWN,
	TOOL_SHELL,
	TOOL_WRITE,
	TOOL_PATCH,
	TOOL_READ,
	TOOL_WEB,
	TOOL_SEARCH_WEB,
	TOOL_QUIET,
	TOOL_STDIN,
	TOOL_SEARCH,
	TOOL_LIST,
	TOOL_DELETE
};

/* Names without case.  QUIET: talks only to the client itself, or starts an agent whose own calls come here again. */
static const struct {
	const char *name;
	enum tool_kind kind;
} tools[] = {
	{ "bash", TOOL_SHELL },
	{ "terminal", TOOL_SHELL },
	{ "shell", TOOL_SHELL },
	{ "shell_command", TOOL_SHELL },
	{ "local_shell", TOOL_SHELL },
	{ "exec_command", TOOL_SHELL },
	{ "run_terminal_cmd", TOOL_SHELL },
	{ "run_command", TOOL_SHELL },
	{ "run_shell_command", TOOL_SHELL },
	{ "execute_command", TOOL_SHELL },
	{ "shell_exec", TOOL_SHELL },
	{ "powershell", TOOL_SHELL },
	{ "edit", TOOL_WRITE },
	{ "write", TOOL_WRITE },
	{ "multiedit", TOOL_WRITE },
	{ "notebookedit", TOOL_WRITE },
	{ "write_file", TOOL_WRITE },
	{ "edit_file", TOOL_WRITE },
	{ "create_file", TOOL_WRITE },
	{ "search_replace", TOOL_WRITE },
	{ "str_replace_editor", TOOL_WRITE },
	{ "str_replace_based_edit_tool", TOOL_WRITE },
	{ "write_to_file", TOOL_WRITE },
	{ "replace_in_file", TOOL_WRITE },
	{ "replace", TOOL_WRITE },
	{ "apply_patch", TOOL_PATCH },
	{ "patch", TOOL_PATCH },
	{ "delete_file", TOOL_DELETE },
	{ "read", TOOL_READ },
	{ "read_file", TOOL_READ },
	{ "view", TOOL_READ },
	{ "view_image", TOOL_READ },
	{ "notebookread", TOOL_READ },
	{ "grep", TOOL_SEARCH },
	{ "grep_search", TOOL_SEARCH },
	{ "glob", TOOL_LIST },
	{ "glob_file_search", TOOL_LIST },
	{ "codebase_search", TOOL_SEARCH },
	{ "ls", TOOL_LIST },
	{ "list_dir", TOOL_LIST },
	{ "list_files", TOOL_LIST },
	{ "search_files", TOOL_SEARCH },
	{ "search_file_content", TOOL_SEARCH },
	{ "read_many_files", TOOL_READ },
	{ "webfetch", TOOL_WEB },
	{ "web_fetch", TOOL_WEB },
	{ "fetch", TOOL_WEB },
	{ "websearch", TOOL_SEARCH_WEB },
	{ "web_search", TOOL_SEARCH_WEB },
	{ "killshell", TOOL_QUIET }, /* ends a shell the client itself started */
	{ "killbash", TOOL_QUIET },
	{ "bashoutput", TOOL_QUIET },
	{ "taskoutput", TOOL_QUIET },
	{ "write_stdin", TOOL_STDIN },
	{ "task", TOOL_QUIET },
	{ "agent", TOOL_QUIET },
	{ "todowrite", TOOL_QUIET },
	{ "todo_write", TOOL_QUIET },
	{ "todoread", TOOL_QUIET },
	{ "update_plan", TOOL_QUIET },
	{ "enterplanmode", TOOL_QUIET },
	{ "exitplanmode", TOOL_QUIET },
	{ "askuserquestion", TOOL_QUIET },
	{ "skill", TOOL_QUIET },
	{ "slashcommand", TOOL_QUIET },
	{ "toolsearch", TOOL_QUIET },
	{ "listmcpresourcestool", TOOL_QUIET },
	{ "readmcpresourcetool", TOOL_QUIET },
};

/* Names are compared without case, because clients write them differently. */
static enum tool_kind kind_of(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(tools); i++)
		if (strcasecmp(tools[i].name, name) == 0)
			return tools[i].kind;
	return TOOL_UNKNOWN;
}

bool propose_runs_text(const char *tool)
{
	enum tool_kind k = kind_of(tool);

	return k == TOOL_SHELL || k == TOOL_STDIN || k == TOOL_UNKNOWN;
}

const char *propose_tool_verb(const char *tool)
{
	static const struct {
		enum tool_kind kind;
		const char *verb;
	} verbs[] = { { TOOL_WRITE, "write" }, { TOOL_DELETE, "delete" }, { TOOL_READ, "read" },
		{ TOOL_SEARCH, "search for" }, { TOOL_LIST, "list" }, { TOOL_WEB, "fetch" },
		{ TOOL_SEARCH_WEB, "search the web for" } };
	enum tool_kind k = kind_of(tool);

	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++)
		if (verbs[i].kind == k)
			return verbs[i].verb;
	return NULL;
}

static bool has_member_of(const struct json *input, const char *const *names)
{
	for (; *names; names++)
		if (json_get(input, *names))
			return true;
	return false;
}

enum file_tool propose_file_tool(const char *tool, const struct json *input)
{
	static const char *const part[] = { "old_string", "old_str", "edits", "search", "diff", "new_source",
		"insert_line", "old_text", NULL };
	static const char *const whole[] = { "content", "contents", "file_text", "text", NULL };
	const enum tool_kind kind = kind_of(tool);
	const char *command = json_get_text(input, "command", "");

	if (kind == TOOL_READ || (kind == TOOL_WRITE && text_eq(command, "view")))
		return FILE_TOOL_READ;
	if (kind != TOOL_WRITE)
		return FILE_TOOL_NONE;
	return has_member_of(input, part)     ? FILE_TOOL_PATCH
		: has_member_of(input, whole) ? FILE_TOOL_REWRITE
					      : FILE_TOOL_NONE;
}

/* One proposal under construction. */
struct build {
	struct arena *a;
	const struct surroundings *at;
	const struct tool_call *call;
	struct proposal *p;
	size_t cap, step_cap;
	unsigned values; /* arguments looked at so far */
	bool writes; /* somewhere in the call stands what is written */
	bool deletes; /* the name of the tool, or a member that is true, says that something goes */
};

/* Room for n more effects and steps. */
static void reserve(struct build *b, size_t effects, size_t steps)
{
	struct proposal *p = b->p;
	if (p->effect_count + effects > b->cap) {
		size_t cap = (p->effect_count + effects) * 2;
		p->effects =
			arena_grow(b->a, p->effects, b->cap * sizeof(*p->effects), cap * sizeof(*p->effects));
		b->cap = cap;
	}
	if (p->step_count + steps > b->step_cap) {
		size_t cap = (p->step_count + steps) * 2;
		p->steps =
			arena_grow(b->a, p->steps, b->step_cap * sizeof(*p->steps), cap * sizeof(*p->steps));
		b->step_cap = cap;
	}
}

/* Adds an effect about the whole call. The pointer is valid until the next call, because the list may
 * move. */
static struct effect *add(struct build *b, enum effect_kind kind, const char *tag, const char *target)
{
	reserve(b, 1, 0);
	struct effect *fx = &b->p->effects[b->p->effect_count++];
	*fx = (struct effect){ .kind = kind,
		.tag = tag,
		.program = b->call->tool_name,
		.target = target,
		.source = b->p->source,
		.cwd = b->at->cwd,
		.at = { 0, (uint32_t)b->p->source->n } };
	return fx;
}

/* Takes over what was found in one part of the call.  `program`: these effects are the tool's own, whatever command stood
 * for it. */
static void absorb(struct build *b, const struct proposal *part, const char *program)
{
	struct proposal *p = b->p;
	uint32_t step = (uint32_t)p->step_count, effect = (uint32_t)p->effect_count;

	reserve(b, part->effect_count, part->step_count);
	for (size_t i = 0; i < part->step_count; i++) {
		struct step s = part->steps[i];
		s.parent = s.parent == UINT32_MAX ? 0 : s.parent + step;
		if (program && s.head && text_eq(s.head, program))
			s.head = "";
		s.first_effect += effect;
		p->steps[p->step_count++] = s;
	}
	for (size_t i = 0; i < part->effect_count; i++) {
		struct effect e = part->effects[i];
		e.step += step;
		if (program && (!e.program || text_eq(e.program, program)))
			e.program = b->call->tool_name;
		p->effects[p->effect_count++] = e;
	}
	if (p->readable && !part->readable) {
		p->readable = false;
		p->unreadable_code = part->unreadable_code;
		p->unreadable_text = part->unreadable_text;
	}
	ambiguity_raise(p, part->ambiguity, part->ambiguity_text, part->ambiguity_instead);
}

/* As if these words were a command; the effects are the tool's. */
static void as_command(struct build *b, const char *const *argv, size_t argc)
{
	struct proposal part;
	const char **copy = arena_zalloc(b->a, argc + 1, sizeof(*copy));

	memcpy(copy, argv, argc * sizeof(*copy));
	propose_argv(b->a, b->at, copy, argc, &part);
	absorb(b, &part, argv[0]);
}

static void as_path(struct build *b, const char *program, const char *path)
{
	const char *argv[] = { program, "--", path };

	as_command(b, argv, ARRAY_SIZE(argv));
}

static void as_shell(struct build *b, const char *text)
{
	struct proposal part;

	propose_shell(b->a, b->at, bytes_of(text), &part);
	absorb(b, &part, NULL);
}

/* The first of these members that is a text and not empty: clients name the same thing differently. */
static const char *first_text(const struct json *input, const char *const *names)
{
	for (; *names; names++) {
		const char *v = json_get_text(input, *names, NULL);
		if (v && *v)
			return v;
	}
	return NULL;
}

static const char *const path_names[] = { "file_path", "path", "target_file", "notebook_path", "filePath",
	"file", "relative_workspace_path", "absolute_path", "dir_path", NULL };
static const char *const text_names[] = { "command", "cmd", "patch", "diff", "input", NULL };

/* Marks the proposal so that a person is asked; nothing is guessed from a call that does not say what it
 * changes. */
static void unreadable(struct build *b, const char *text)
{
	b->p->readable = false;
	b->p->unreadable_code = "parse_error";
	b->p->unreadable_text = text;
}

/* An edit must name its file, or carry a patch that does. */
static void propose_edit(struct build *b, enum tool_kind kind)
{
	const struct json *input = b->call->input;
	const char *path = first_text(input, path_names), *text = first_text(input, text_names);

	/* The editor of some clients has a command that only shows. */
	if (kind == TOOL_WRITE && path && text_eq(json_get_text(input, "command", ""), "view")) {
		as_path(b, "cat", path);
		return;
	}
	if (path)
		as_path(b, kind == TOOL_DELETE ? "rm" : "tee", path);
	if (kind == TOOL_PATCH && text) {
		const char *argv[] = { "apply_patch", text };
		as_command(b, argv, ARRAY_SIZE(argv));
	}
	if (!path && !(kind == TOOL_PATCH && text))
		unreadable(b, "the edit names no file");
}

static void propose_read(struct build *b, enum tool_kind kind)
{
	const struct json *input = b->call->input, *many = json_get(input, "paths");
	const char *path = first_text(input, path_names), *glob = json_get_text(input, "glob", NULL);
	const char *shows = json_get_text(input, "output_mode", "content");

	if (path && kind == TOOL_SEARCH) {
		const char *argv[] = { "grep", "-r", "--", "pattern", path };
		as_command(b, argv, ARRAY_SIZE(argv));
	} else if (path) {
		as_path(b, kind == TOOL_LIST ? "ls" : "cat", path);
	}
	/* A search that shows the lines of files with a secret's name. */
	if (kind == TOOL_SEARCH && glob && text_eq(shows, "content"))
		as_path(b, "cat", path ? arena_printf(b->a, "%s/%s", path, glob) : glob);
	if (kind == TOOL_READ && json_is(many, JSON_ARRAY))
		json_each (item, many)
			if (json_text(item))
				as_path(b, "cat", json_text(item));
	if (!b->p->effect_count)
		add(b, FX_READ, "read.file", NULL);
}

/* A search names no address, and so can be covered by no grant for a host. */
static void propose_web(struct build *b)
{
	const char *url = json_get_text(b->call->input, "url", NULL);

	struct effect *fx = add(b, FX_NETWORK, "net.fetch", url ? url : "the web");
	fx->flags |= url ? FXF_ONE_HOST : 0;
}

/* ---- tools that are judged by their arguments ---- */

enum { MAX_VALUES = 512, MAX_DEPTH = 16 };

static bool is_one_of(const char *word, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcasecmp(word, list[i]) == 0)
			return true;
	return false;
}

/* Does some word of the name, cut at _ - . and capitals, stand in this list? */
static bool name_says(const char *name, const char *const *list, size_t n)
{
	const char *last = name;

	for (const char *p = name; (p = strstr(p, "__")); p += 2)
		last = p + 2;
	for (const char *p = last; *p;) {
		char word[32] = { 0 };
		size_t len = 0;
		while (*p && strchr("_-. ", *p))
			p++;
		do
			if (len + 1 < sizeof(word))
				word[len++] = *p;
		while (*p && *++p && !strchr("_-. ", *p) && !(*p >= 'A' && *p <= 'Z'));
		if (len && is_one_of(word, list, n))
			return true;
	}
	return false;
}

static bool says_delete(const char *name)
{
	static const char *const verbs[] = { "delete", "remove", "rm", "unlink", "rmdir", "destroy", "trash",
		"purge" };

	return name_says(name, verbs, ARRAY_SIZE(verbs));
}

static bool says_write(const char *name)
{
	static const char *const verbs[] = { "write", "create", "edit", "update", "append", "save", "put",
		"set", "move", "rename", "copy", "replace", "insert", "patch", "mkdir", "touch", "overwrite",
		"modify", "apply" };

	return name_says(name, verbs, ARRAY_SIZE(verbs));
}

/* Such a tool opens whatever lies below the place it is given. */
static bool says_search(const char *name)
{
	static const char *const verbs[] = { "search", "grep", "find", "scan", "archive", "zip", "tar",
		"upload", "sync" };

	return name_says(name, verbs, ARRAY_SIZE(verbs));
}

/* Members that hold what is written: content, new_content, fileContents. */
static bool names_content(const char *name)
{
	static const char *const names[] = { "content", "contents", "text", "data", "new_string", "new_str",
		"new_text", "edits", "replacement", "file_text", "insert_text", "body", "bytes", "base64" };
	static const char *const ends[] = { "content", "contents" };

	return is_one_of(name, names, ARRAY_SIZE(names)) || name_says(name, ends, ARRAY_SIZE(ends));
}

/* What the call as a whole says about the places that it names, wherever in it they stand. */
static void survey(struct build *b, const struct json *v, unsigned depth)
{
	if (depth > MAX_DEPTH)
		return;
	if (json_is(v, JSON_ARRAY))
		json_each (item, v)
			survey(b, item, depth + 1);
	if (json_is(v, JSON_OBJECT))
		json_each_member (m, v) {
			b->writes |= names_content(m->name) && !json_is(m->value, JSON_NULL);
			b->deletes |= says_delete(m->name) && json_get_bool(v, m->name, false);
			survey(b, m->value, depth + 1);
		}
}

/* A tool that is called after a shell takes commands, whatever its argument is called. */
static bool says_shell(const char *name)
{
	static const char *const words[] = { "shell", "bash", "exec", "terminal", "command", "cmd", "console",
		"repl" };

	return name_says(name, words, ARRAY_SIZE(words));
}

static bool is_address(const char *v)
{
	static const char *const schemes[] = { "http://", "https://", "ftp://", "ws://", "wss://", "ssh://",
		"git://" };

	for (size_t i = 0; i < ARRAY_SIZE(schemes); i++)
		if (strncasecmp(v, schemes[i], strlen(schemes[i])) == 0)
			return !strpbrk(v, " \t\n");
	return false;
}

static bool looks_like_path(const char *v)
{
	/* //etc/x is /etc/x here, and // x is a remark in many languages. */
	return (v[0] == '/' || text_starts(v, "~/") || text_starts(v, "./") || text_starts(v, "../") ||
		       strncasecmp(v, "file:/", 6) == 0) &&
		(!text_starts(v, "//") || !strpbrk(v, " \t")) && !strchr(v, '\n') && v[1];
}

static bool is_path_name(const char *name)
{
	static const char *const names[] = { "path", "file", "file_path", "filepath", "filename", "file_name",
		"directory", "dir", "folder", "root", "source", "src", "destination", "dest", "dst", "target",
		"target_file", "from", "to", "old_path", "new_path", "paths", "files", "output",
		"output_path", "input_path", "local_path", "uri", "absolute_path", "relative_path",
		"notebook_path", "cwd", "workdir" };

	return is_one_of(name, names, ARRAY_SIZE(names));
}

static bool is_command_name(const char *name)
{
	static const char *const names[] = { "command", "cmd", "commands", "shell", "bash", "script",
		"shell_command", "command_line", "commandline", "exec", "run", "sh", "terminal", "chars" };

	return is_one_of(name, names, ARRAY_SIZE(names));
}

static bool is_input_name(const char *name)
{
	static const char *const names[] = { "input", "line", "lines", "keys", "value", "stdin" };

	return is_one_of(name, names, ARRAY_SIZE(names));
}

/* The interpreter that stands for code of this name, or NULL. */
static const char *const *interpreter_for(const struct json *input, const char *name)
{
	static const char *const python[] = { "python3", "-c" }, *const node[] = { "node", "-e" },
				 *const ruby[] = { "ruby", "-e" }, *const perl[] = { "perl", "-e" };
	static const char *const code[] = { "code", "source_code", "expression", "function", "python",
		"javascript", "js", "snippet", "program", "eval" };
	const char *language = json_get_text(input, "language", name);

	if (!is_one_of(name, code, ARRAY_SIZE(code)))
		return NULL;
	return strcasestr(language, "rub")     ? ruby
		: strcasestr(language, "perl") ? perl
		: strcasestr(language, "js") || strcasestr(language, "javascript") ||
			strcasestr(language, "node") || strcasestr(language, "function")
		? node
		: python;
}

/* A statement, as against a question to a search. */
static bool is_sql(const char *name, const char *v)
{
	static const char *const names[] = { "sql", "statement", "query", "sql_query", "queries" };
	static const char *const starts[] = { "select ", "insert into ", "update ", "delete from ", "drop ",
		"alter ", "truncate ", "create ", "grant ", "revoke ", "copy ", "attach ", "vacuum", "with ",
		"call ", "exec " };
	const char *text = v + strspn(v, " \t\n(");

	if (!is_one_of(name, names, ARRAY_SIZE(names)))
		return false;
	if (strncasecmp(name, "sql", 3) == 0 || strcasecmp(name, "statement") == 0)
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(starts); i++)
		if (strncasecmp(text, starts[i], strlen(starts[i])) == 0)
			return strpbrk(text, "(*;=,") || strcasestr(text, " from ") ||
				strcasestr(text, " table") || strcasestr(text, " into ") ||
				strcasestr(text, " database");
	return false;
}

/* The tool is given this path; whether it is read, written or removed, the name of the tool and the call as a whole say. */
static void judge_path(struct build *b, const char *name, const char *path)
{
	const char *tool = b->call->tool_name;
	bool is_old = is_one_of(
		name, (const char *const[]){ "source", "src", "from", "cwd", "workdir", "root" }, 6);

	if (b->deletes)
		as_path(b, "rm", path);
	else if (!is_old && (says_write(tool) || b->writes))
		as_path(b, "tee", path);
	else if (says_search(tool)) {
		const char *argv[] = { "grep", "-r", "--", "pattern", path };
		as_command(b, argv, ARRAY_SIZE(argv));
	} else {
		as_path(b, "cat", path);
	}
}

/* A URL as those read it who drop blanks around it and line breaks inside it; NULL when that changes nothing. */
static const char *loose_address(struct arena *a, const char *name, const char *v)
{
	static const char *const words[] = { "url", "uri", "href", "link", "endpoint", "address" };
	struct buf b;

	if (!strpbrk(v, " \t\r\n") || !name_says(name, words, ARRAY_SIZE(words)))
		return NULL;
	buf_init(&b, a);
	for (v += strspn(v, " \t\r\n"); *v; v++)
		if (!strchr("\t\r\n", *v))
			buf_addc(&b, *v);
	while (b.n && b.p[b.n - 1] == ' ')
		b.p[--b.n] = '\0';
	return is_address(b.p) ? b.p : NULL;
}

static void judge_address(struct build *b, const char *v)
{
	struct effect *fx = add(b, FX_NETWORK, "net.fetch", v);

	fx->flags |=
		FXF_ONE_HOST | (b->writes || b->deletes || says_write(b->call->tool_name) ? FXF_MUTATING : 0);
}

/* One text among the arguments. */
static void judge_text(struct build *b, const struct json *input, const char *name, const char *v)
{
	const char *tool = b->call->tool_name;
	const char *const *interpreter = interpreter_for(input, name);
	const char *option = strchr(v, '='), *address;
	size_t seen_n;

	if (!*v || b->values++ > MAX_VALUES)
		return;
	const char *seen = ambiguity_seen_as(b->a, v, strlen(v), &seen_n);
	if (seen) /* both readings count */
		judge_text(b, input, name, seen);
	if (is_command_name(name) || (is_input_name(name) && says_shell(tool))) {
		as_shell(b, v);
	} else if (interpreter) {
		const char *argv[] = { interpreter[0], interpreter[1], v };
		as_command(b, argv, ARRAY_SIZE(argv));
	} else if (is_sql(name, v)) {
		/* Which database it is nobody says; files are opened by those that are a file themselves. */
		const char *argv[] = { "psql", "-c", v }, *file[] = { "sqlite3", ":memory:", v };
		as_command(b, argv, ARRAY_SIZE(argv));
		as_command(b, file, ARRAY_SIZE(file));
	} else if (v[0] == '-' && option && looks_like_path(option + 1)) {
		/* {"options": "--output=/etc/x"}: what it means is not known, so the worse of both is taken. */
		as_path(b, "cat", option + 1);
		as_path(b, "tee", option + 1);
	} else if (is_address(v)) {
		judge_address(b, v);
	} else if ((address = loose_address(b->a, name, v))) {
		judge_address(b, v); /* as it is written, which is denied */
		judge_address(b, address);
	} else {
		bool is_path = looks_like_path(v) || is_path_name(name);
		const char *there = names_content(name) && !is_path
			? NULL
			: ambiguity_foreign_path(b->a, name, v, is_path, b->p);
		if (there && *there)
			judge_path(b, name, there);
		if (is_path && !strpbrk(v, "\n") && !strstr(v, "://") && strncasecmp(v, "file:", 5) != 0)
			judge_path(b, name, v);
	}
}

static void judge_value(
	struct build *b, const struct json *input, const char *name, const struct json *v, unsigned depth)
{
	if (depth > MAX_DEPTH || b->values > MAX_VALUES) {
		unreadable(b, "the call has more arguments than are looked at");
	} else if (json_text(v)) {
		judge_text(b, input, name, json_text(v));
	} else if (json_is(v, JSON_ARRAY)) {
		json_each (item, v)
			judge_value(b, input, name, item, depth + 1);
	} else if (json_is(v, JSON_OBJECT)) {
		json_each_member (m, v) {
			/* {"files": {"/etc/x": "text"}}: the name of a member is a path, and its value what is written there. */
			if (looks_like_path(m->name)) {
				const char *there = ambiguity_foreign_path(b->a, name, m->name, true, b->p);
				as_path(b,
					b->deletes		      ? "rm"
						: json_text(m->value) ? "tee"
								      : "cat",
					there ? there : m->name);
			}
			judge_value(b, v, m->name, m->value, depth + 1);
		}
	}
}

/* {"command": "git", "args": ["push"]}, {"command": ["git", "push"]}: an argument list.  NULL: it is none. */
static const char **argument_list(struct arena *a, const struct json *input, size_t *ret_n)
{
	static const char *const heads[] = { "command", "cmd", "program", "executable" };
	static const char *const tails[] = { "args", "argv", "arguments" };
	const struct json *head = NULL, *tail = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(heads) && !head; i++)
		head = json_get(input, heads[i]);
	for (size_t i = 0; i < ARRAY_SIZE(tails) && !tail; i++)
		tail = json_get(input, tails[i]);
	if (!head && json_is(json_get(input, "argv"), JSON_ARRAY)) {
		head = json_get(input, "argv"); /* the whole of it */
		tail = NULL;
	}
	if (!head &&
		json_is(tail, JSON_ARRAY)) { /* {"args": ["git", "push"]}: no other word says what runs */
		head = tail;
		tail = NULL;
	}
	bool is_list = json_is(head, JSON_ARRAY) && head->n;
	if (!is_list && !(json_text(head) && json_is(tail, JSON_ARRAY)))
		return NULL;
	size_t n = 0, room = (is_list ? head->n : 1) + (json_is(tail, JSON_ARRAY) ? tail->n : 0);
	const char **argv = arena_zalloc(a, room + 1, sizeof(*argv));
	if (is_list)
		json_each (item, head)
			argv[n++] = json_text(item);
	else
		argv[n++] = json_text(head);
	if (json_is(tail, JSON_ARRAY))
		json_each (item, tail)
			argv[n++] = json_text(item);
	for (size_t i = 0; i < n; i++)
		if (!argv[i])
			return NULL;
	*ret_n = n;
	return argv;
}

/* {"env": {"NAME": "value"}} as words for env; NULL: the call has none. */
static const char **variables(struct arena *a, const struct json *input, size_t *ret_n)
{
	static const char *const names[] = { "env", "environment", "environment_variables", "envs",
		"variables" };
	const struct json *list = NULL;
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(names) && !json_is(list, JSON_OBJECT); i++)
		list = json_get(input, names[i]);
	if (!json_is(list, JSON_OBJECT) || !list->n)
		return NULL;
	const char **argv = arena_zalloc(a, list->n + 2, sizeof(*argv));
	argv[n++] = "env";
	json_each_member (m, list)
		if (json_text(m->value))
			argv[n++] = arena_printf(a, "%s=%s", m->name, json_text(m->value));
	*ret_n = n;
	return argv;
}

/* The tool itself is not known; that is one effect, and its arguments say the rest. */
static void propose_unknown(struct build *b, const char *tag)
{
	const struct json *input = b->call->input;
	size_t n = 0;
	const char **argv = argument_list(b->a, input, &n);

	size_t variable_count = 0;
	const char **env = variables(b->a, input, &variable_count);

	add(b, FX_UNKNOWN, tag, b->call->tool_name);
	survey(b, input, 0);
	b->deletes |= says_delete(b->call->tool_name);
	if (argv)
		as_command(b, argv, n);
	if (env && variable_count > 1) {
		env[variable_count++] = "true";
		as_command(b, env, variable_count);
	}
	json_each_member (m, input)
		if (!argv || !(is_command_name(m->name) || text_eq(m->name, "argv")))
			judge_value(b, input, m->name, m->value, 0);
}

/* ---- commands ---- */

/* The directory a call names for itself: what it runs is judged there. */
static struct surroundings place_of(struct arena *a, const struct surroundings *at, const struct json *input)
{
	static const char *const names[] = { "workdir", "cwd", "working_directory", "directory", "dir_path",
		NULL };
	struct surroundings there = *at;
	const char *dir = first_text(input, names);

	if (dir && (dir[0] == '/' || at->cwd))
		there.cwd = path_clean(a, path_join(a, at->cwd ? at->cwd : "/", dir));
	else if (dir && text_starts(dir, "~/") && at->home)
		there.cwd = path_clean(a, arena_printf(a, "%s%s", at->home, dir + 1));
	return there;
}

/* A command is a text for a shell, or an argv, whose shell is looked through like any other. */
static void propose_command(
	struct arena *a, const struct surroundings *at, const struct tool_call *call, struct proposal *ret)
{
	static const char *const names[] = { "command", "cmd", "script", NULL };
	const char *text = first_text(call->input, names);
	struct surroundings there = place_of(a, at, call->input);
	struct surroundings *kept = arena_zalloc(a, 1, sizeof(*kept));
	size_t n = 0;
	const char **argv = argument_list(a, call->input, &n);

	size_t count = 0;
	const char **env = variables(a, call->input, &count);

	*kept = there;
	if (env && count > 1 && (argv || text)) { /* a command with variables of its own */
		const char *shell[] = { "sh", "-c", text };
		size_t more = argv ? n : ARRAY_SIZE(shell);
		const char **all = arena_zalloc(a, count + more + 1, sizeof(*all));
		memcpy(all, env, count * sizeof(*all));
		memcpy(all + count, argv ? argv : shell, more * sizeof(*all));
		propose_argv(a, kept, all, count + more, ret);
	} else if (argv) {
		propose_argv(a, kept, argv, n, ret);
	} else if (text) {
		propose_shell(a, kept, bytes_of(text), ret);
	} else {
		propose_shell(a, kept, (struct bytes){ (const uint8_t *)"", 0 }, ret);
		ret->readable = false;
		ret->unreadable_code = "parse_error";
		ret->unreadable_text = "the call has no command that can be read";
	}
}

/* An answer to a question: y, no, 2, a key. */
static bool is_short_answer(const char *text)
{
	size_t n = strlen(text);

	while (n && strchr(" \r\n", text[n - 1]))
		n--;
	if (n <= 1)
		return true;
	for (size_t i = 0; i < n; i++)
		if (!(text[i] >= '0' && text[i] <= '9') && (unsigned char)text[i] >= ' ')
			return n <= 3 &&
				(strncasecmp(text, "yes", n) == 0 || strncasecmp(text, "no", n) == 0 ||
					strncasecmp(text, "all", n) == 0);
	return true;
}

/* What is typed into a program that runs already: which program reads it is not known here.  Looking at its output and short
 * answers pass; anything longer may be a command in any language, and is asked about as such. */
static void propose_stdin(struct build *b)
{
	const char *chars = json_get_text(b->call->input, "chars", "");

	if (is_short_answer(chars)) {
		add(b, FX_READ, "tool.quiet", NULL);
		return;
	}
	as_shell(b, chars);
	add(b, FX_STDIN_SHELL, "stdin.shell", "a running session");
}

/* All of the call, also the parts that are not judged: a text that json_text() does not give would be judged as if it were not there. */
static void check_call(struct arena *a, const struct tool_call *call, struct proposal *p)
{
	size_t n = strlen(call->tool_name);

	if (text_first_unseen(call->tool_name, n) < n)
		ambiguity_raise(p, AMBIGUITY_DENIED,
			arena_printf(a, "the name of the tool holds characters that are not seen: %s",
				text_seen(a, call->tool_name, n, false)),
			"call the tool by its own name");
	propose_check_document(a, "argument", call->input, p);
}

/* Shell tools go through the analysis of commands. All others become one step with the effects their
 * kind has. */
void propose_tool(
	struct arena *a, const struct surroundings *at, const struct tool_call *call, struct proposal *ret)
{
	enum tool_kind kind = call->effects == EFFECTS_ELSEWHERE ? TOOL_QUIET : kind_of(call->tool_name);
	struct source *source = arena_zalloc(a, 1, sizeof(*source));
	struct build b = { .a = a, .at = at, .call = call, .p = ret };

	if (kind == TOOL_SHELL) {
		propose_command(a, at, call, ret);
		check_call(a, call, ret);
		return;
	}
	*source = (struct source){ .text = call->tool_name, .n = strlen(call->tool_name) };
	*ret = (struct proposal){ .source = source, .readable = true, .normalized_command = call->tool_name };
	reserve(&b, 8, 8);
	ret->step_count = 1;
	ret->steps[0] = (struct step){ .parent = UINT32_MAX,
		.source = source,
		.at = { 0, (uint32_t)source->n },
		.program = call->tool_name,
		.head = "",
		.text = call->tool_name };
	if (kind == TOOL_WRITE || kind == TOOL_PATCH || kind == TOOL_DELETE)
		propose_edit(&b, kind);
	else if (kind == TOOL_READ || kind == TOOL_SEARCH || kind == TOOL_LIST)
		propose_read(&b, kind);
	else if (kind == TOOL_WEB || kind == TOOL_SEARCH_WEB)
		propose_web(&b);
	else if (kind == TOOL_STDIN)
		propose_stdin(&b);
	else if (kind == TOOL_QUIET)
		add(&b, FX_READ, "tool.quiet", NULL);
	else
		propose_unknown(
			&b, strncasecmp(call->tool_name, "mcp_", 4) == 0 ? "mcp.call" : "tool.unknown");
	ret->steps[0].effect_count = (uint32_t)ret->effect_count;
	check_call(a, call, ret);
	ambiguity_check_effects(a, ret);
	propose_mark_plain(ret);
}
