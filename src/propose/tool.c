/* tool.c — an agent's tool call becomes a proposal.
 *
 * Clients spell the same few things in many ways: run a command, change files, read files, fetch a page, call a server's tool.
 * One table says which tool is what; shell text goes through the same analysis as everywhere.  A tool nobody knows is one
 * unknown effect, tagged, so that the profile can say what happens with it. */
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
	TOOL_KILL,
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
	{ "edit", TOOL_WRITE },
	{ "write", TOOL_WRITE },
	{ "multiedit", TOOL_WRITE },
	{ "notebookedit", TOOL_WRITE },
	{ "write_file", TOOL_WRITE },
	{ "edit_file", TOOL_WRITE },
	{ "create_file", TOOL_WRITE },
	{ "search_replace", TOOL_WRITE },
	{ "str_replace_editor", TOOL_WRITE },
	{ "apply_patch", TOOL_PATCH },
	{ "patch", TOOL_PATCH },
	{ "delete_file", TOOL_DELETE },
	{ "read", TOOL_READ },
	{ "read_file", TOOL_READ },
	{ "view", TOOL_READ },
	{ "view_image", TOOL_READ },
	{ "notebookread", TOOL_READ },
	{ "grep", TOOL_READ },
	{ "grep_search", TOOL_READ },
	{ "glob", TOOL_READ },
	{ "glob_file_search", TOOL_READ },
	{ "codebase_search", TOOL_READ },
	{ "ls", TOOL_READ },
	{ "list_dir", TOOL_READ },
	{ "webfetch", TOOL_WEB },
	{ "web_fetch", TOOL_WEB },
	{ "fetch", TOOL_WEB },
	{ "websearch", TOOL_SEARCH_WEB },
	{ "web_search", TOOL_SEARCH_WEB },
	{ "killshell", TOOL_QUIET }, /* ends a shell the client itself started */
	{ "killbash", TOOL_QUIET },
	{ "bashoutput", TOOL_QUIET },
	{ "taskoutput", TOOL_QUIET },
	{ "write_stdin", TOOL_SHELL },
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

/* One proposal under construction. */
struct build {
	struct arena *a;
	const struct surroundings *at;
	const struct tool_call *call;
	struct proposal *p;
	size_t cap;
};

/* Adds an effect about the whole call. The pointer is valid until the next call, because the list may
 * move. */
static struct effect *add(struct build *b, enum effect_kind kind, const char *tag, const char *target)
{
	if (b->p->effect_count == b->cap) {
		size_t cap = b->cap ? b->cap * 2 : 8;
		b->p->effects = arena_grow(
			b->a, b->p->effects, b->cap * sizeof(*b->p->effects), cap * sizeof(*b->p->effects));
		b->cap = cap;
	}
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

/* Adds an effect on a path, judged as a redirection to it in a shell would be. Writing a file that a
 * client trusts adds a second effect. */
static void add_path(struct build *b, enum effect_kind kind, const char *tag, const char *path)
{
	const char *base = b->at->cwd ? b->at->cwd : "/", *resolved = NULL;
	const char *home = b->at->home;
	const char *plain =
		path[0] == '~' && path[1] == '/' && home ? arena_printf(b->a, "%s%s", home, path + 1) : path;
	const char *full = path_clean(b->a, path_join(b->a, base, plain));

	if (kind == FX_READ && paths_is_secret(b->at, full)) {
		kind = FX_SECRET_READ;
		tag = "secret.file";
	}
	struct effect *fx = add(b, kind, tag, full);
	fx->path_class = paths_classify(b->at, b->a, full, false, &resolved);
	fx->resolved = resolved;
	fx->certainty = b->at->cwd || plain[0] == '/' ? CERTAIN : DYNAMIC;
	if (kind != FX_WRITE)
		return;
	fx->flags |= FXF_OVERWRITE;
	if (clients_care_anywhere(resolved ? resolved : full) || clients_care_anywhere(full)) {
		enum path_class class = fx->path_class;
		fx = add(b, FX_PERSISTENCE, "persistence.client", full);
		fx->path_class = class;
	}
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
	"file", "relative_workspace_path", NULL };
static const char *const text_names[] = { "command", "cmd", "patch", "diff", "input", NULL };

/* Marks the proposal so that a person is asked; nothing is guessed from a call that does not say what it
 * changes. */
static bool unreadable(struct build *b, const char *text)
{
	b->p->readable = false;
	b->p->unreadable_code = "parse_error";
	b->p->unreadable_text = text;
	return false;
}

/* Every file a patch names: added, changed, deleted, moved to; also in the unified form. A patch that
 * names none is unreadable. */
static void patch_paths(struct build *b, const char *text)
{
	static const struct {
		const char *mark;
		enum effect_kind kind;
	} marks[] = { { "*** Add File: ", FX_WRITE }, { "*** Update File: ", FX_WRITE },
		{ "*** Delete File: ", FX_DELETE }, { "*** Move to: ", FX_WRITE }, { "+++ b/", FX_WRITE },
		{ "+++ ", FX_WRITE }, { "--- a/", FX_WRITE }, { "rename to ", FX_WRITE } };
	struct bytes rest = bytes_of(text);
	size_t found = 0;

	while (rest.p) {
		struct bytes line = text_cut(&rest, '\n');
		char *copy = arena_strndup(b->a, (const char *)line.p, line.n);
		for (size_t i = 0; i < ARRAY_SIZE(marks); i++) {
			if (!text_starts(copy, marks[i].mark))
				continue;
			char *path = copy + strlen(marks[i].mark);
			path[strcspn(path, "\t\r")] = '\0';
			if (*path && !text_eq(path, "/dev/null")) {
				add_path(b, marks[i].kind,
					marks[i].kind == FX_DELETE ? "delete.file" : "write.edit", path);
				found++;
			}
			break;
		}
	}
	if (!found)
		(void)unreadable(b, "the patch names no file");
}

/* An edit must name its file, or carry a patch that does. */
static void propose_edit(struct build *b, enum tool_kind kind)
{
	const struct json *input = b->call->input;
	const char *path = first_text(input, path_names), *text = first_text(input, text_names);

	if (path)
		add_path(b, kind == TOOL_DELETE ? FX_DELETE : FX_WRITE,
			kind == TOOL_DELETE ? "delete.file" : "write.edit", path);
	if (kind == TOOL_PATCH && text)
		patch_paths(b, text);
	if (!path && !(kind == TOOL_PATCH && text))
		(void)unreadable(b, "the edit names no file");
}

static void propose_read(struct build *b)
{
	const char *path = first_text(b->call->input, path_names);

	if (path)
		add_path(b, FX_READ, "read.file", path);
	else
		add(b, FX_READ, "read.file", NULL);
}

/* A search names no address, and so can be covered by no grant for a host. */
static void propose_web(struct build *b)
{
	const char *url = json_get_text(b->call->input, "url", NULL);

	struct effect *fx = add(b, FX_NETWORK, "net.fetch", url ? url : "the web");
	fx->flags |= url ? FXF_ONE_HOST : 0;
}

/* A server's tool whose name starts with a verb that only looks. The name stands behind the last "__" of
 * "mcp__server__name". */
static bool only_looks(const char *name)
{
	static const char *const verbs[] = { "get", "list", "read", "search", "find", "query", "describe",
		"fetch", "show", "view", "lookup", "status", "count", "check", "browse", "resolve", NULL };
	const char *last = name;

	for (const char *p = name; (p = strstr(p, "__")); p += 2)
		last = p + 2;
	for (const char *const *v = verbs; *v; v++) {
		size_t n = strlen(*v);
		if (strncasecmp(last, *v, n) == 0 &&
			(!last[n] || last[n] == '_' || last[n] == '-' || (last[n] >= 'A' && last[n] <= 'Z')))
			return true;
	}
	return false;
}

/* The name is all that is known of such a tool: one that only looks is a read, any other is unknown. */
static void propose_server_tool(struct build *b)
{
	const char *name = b->call->tool_name;

	add(b, only_looks(name) ? FX_READ : FX_UNKNOWN, only_looks(name) ? "mcp.read" : "mcp.call", name);
}

/* A command is a text for a shell, or an argv, whose shell is looked through like any other. */
static void propose_command(
	struct arena *a, const struct surroundings *at, const struct tool_call *call, struct proposal *ret)
{
	static const char *const names[] = { "command", "cmd", "script", "chars", NULL };
	const char *text = first_text(call->input, names);
	const struct json *list = json_get(call->input, "command");

	if (json_is(list, JSON_ARRAY) && list->n) {
		const char **argv = arena_zalloc(a, (size_t)list->n + 1, sizeof(*argv));
		for (uint32_t i = 0; i < list->n; i++) {
			argv[i] = json_text(list->items[i]);
			if (!argv[i])
				goto unknown;
		}
		propose_argv(a, at, argv, list->n, ret);
		return;
	}
	if (text) {
		propose_shell(a, at, bytes_of(text), ret);
		return;
	}
unknown:
	propose_shell(a, at, (struct bytes){ (const uint8_t *)"", 0 }, ret);
	ret->readable = false;
	ret->unreadable_code = "parse_error";
	ret->unreadable_text = "the call has no command that can be read";
}

/* Shell tools go through the analysis of commands. All others become one step with the effects their
 * kind has. */
void propose_tool(
	struct arena *a, const struct surroundings *at, const struct tool_call *call, struct proposal *ret)
{
	enum tool_kind kind = kind_of(call->tool_name);
	struct source *source = arena_zalloc(a, 1, sizeof(*source));
	struct build b = { a, at, call, ret, 0 };

	if (kind == TOOL_SHELL) {
		propose_command(a, at, call, ret);
		return;
	}
	*source = (struct source){ .text = call->tool_name, .n = strlen(call->tool_name) };
	*ret = (struct proposal){ .source = source, .readable = true, .normalized_command = call->tool_name };
	ret->steps = arena_zalloc(a, 1, sizeof(*ret->steps));
	ret->step_count = 1;
	ret->steps[0] = (struct step){ .parent = UINT32_MAX,
		.source = source,
		.at = { 0, (uint32_t)source->n },
		.program = call->tool_name,
		.text = call->tool_name };
	if (kind == TOOL_WRITE || kind == TOOL_PATCH || kind == TOOL_DELETE)
		propose_edit(&b, kind);
	else if (kind == TOOL_READ)
		propose_read(&b);
	else if (kind == TOOL_WEB || kind == TOOL_SEARCH_WEB)
		propose_web(&b);
	else if (kind == TOOL_QUIET)
		add(&b, FX_READ, "tool.quiet", NULL);
	else if (text_starts(call->tool_name, "mcp_"))
		propose_server_tool(&b);
	else
		add(&b, FX_UNKNOWN, "tool.unknown", call->tool_name);
	ret->steps[0].effect_count = (uint32_t)ret->effect_count;
	propose_mark_plain(ret);
}
