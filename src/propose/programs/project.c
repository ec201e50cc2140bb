/* project.c — scripts and build files that a command starts: read as far as their language is known.
 *
 * A shell script is judged like the text of the command (shells.c).  Code, makefiles and package.json are the project's own work,
 * which builds, cleans and talks as it likes; there only what reaches out of the project counts: files of the system,
 * start-up files, keys, the guard itself.  Such files are read for literal calls and recipes, modules they take in
 * are not followed, and what is put together when it runs stays unknown: the effect "a script is run" stands for all of
 * that, and the profile's `unread` says whether it is asked about. */
#include "propose/programs/programs.h"

#include "base/conf.h"
#include "base/file.h"
#include "base/json.h"
#include "base/toml.h"
#include "propose/propose.h"

#include <fcntl.h>
#include <string.h>
#include <strings.h>

/* Larger files are not read. */
enum { FILE_MAX = 256 << 10, MAX_RULES = 2048, MAX_GOALS = 64 };

/* Written out, and no place where a project works. */
static bool reaches_out(const struct effect *e)
{
	if (e->flags & (FXF_DRY_RUN | FXF_DECODED | FXF_REMOTE_SIDE | FXF_INSIDE_CONTAINER) ||
		e->certainty != CERTAIN)
		return false;
	switch (e->kind) {
	case FX_WRITE:
	case FX_MOVE:
	case FX_PERMISSION:
		return e->path_class >= PATH_SYS;
	case FX_DELETE:
		return e->path_class >= PATH_SYS || (e->path_class >= PATH_HOME && e->flags & FXF_RECURSIVE);
	case FX_DEVICE:
	case FX_TAMPER:
		return true;
	case FX_PERSISTENCE:
		return e->path_class != PATH_NONE && e->path_class != PATH_IN;
	case FX_SECRET_READ:
		return e->path_class >= PATH_HOME && e->target && e->target[0] == '/';
	default:
		return false;
	}
}

bool project_is_read(const struct call *k)
{
	const struct surroundings *at = walk_surroundings(k->w);

	return at->sys && at->inspect_scripts && !(k->c->flags & (FXF_REMOTE_SIDE | FXF_INSIDE_CONTAINER));
}

bool project_text(struct call *k, const char *path, struct bytes *ret)
{
	const struct surroundings *at = walk_surroundings(k->w);
	struct feed content;
	const char *resolved;

	if (note_find(k, path, &content)) {
		*ret = (struct bytes){ (const uint8_t *)content.text, content.n };
		return content.kind == FEED_KNOWN;
	}
	return project_is_read(k) &&
		paths_classify(at, walk_arena(k->w), path, false, &resolved) == PATH_IN &&
		file_read(at->sys, walk_arena(k->w), AT_FDCWD, path, FILE_MAX, FILE_FOLLOW, ret, NULL) == 0 &&
		!memchr(ret->p, 0, ret->n);
}

const char *project_here(struct call *k, const char *name)
{
	const char *cwd = walk_cwd(k->w, k->c);

	return cwd ? path_clean(walk_arena(k->w), path_join(walk_arena(k->w), cwd, name)) : NULL;
}

void project_code(struct call *k, const char *path, const char *language)
{
	struct bytes text;
	struct walk_mark mark = walk_mark(k->w);
	unsigned bit = 0;
	static const char *const known[] = { "python", "perl", "ruby", "node", "php", "lua", "awk", "gawk",
		"mawk", "rust", "groovy", "go" };

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		bit |= text_starts(language, known[i]);
	if (text_eq(language, "cmake"))
		project_document(k, path, language);
	if (!bit || !path || !project_text(k, path, &text))
		return;
	struct command inner = *k->c;
	struct call at = *k;
	at.c = &inner;
	classify_code_bytes(&at, text_ends(language, "awk") ? "awk" : language, (const char *)text.p, text.n);
	walk_keep(k->w, mark, reaches_out);
}

void project_recipe(struct call *k, struct bytes text, const char *via)
{
	struct walk_mark mark = walk_mark(k->w);
	struct command inner = *k->c; /* what a recipe prints is not followed */

	walk_bytes(k->w, &inner, (const char *)text.p, text.n, k->c->at, via);
	walk_keep(k->w, mark, reaches_out);
}

/* Where package.json lies: below what -C, --prefix, --dir or --cwd name, else where the command stands. */
static const char *manifest(struct call *k)
{
	static const char *const options[] = { "-C", "--prefix", "--dir", "--cwd" };
	struct arena *a = walk_arena(k->w);
	const char *dir = ".";

	for (size_t i = 1; i < k->c->argc; i++)
		for (size_t j = 0; j < ARRAY_SIZE(options); j++) {
			const struct word *x = &k->c->argv[i];
			size_t n = strlen(options[j]);
			if (word_is(x, options[j]) && i + 1 < k->c->argc)
				dir = k->c->argv[i + 1].text;
			else if (word_starts(x, options[j]) && x->text[n] == '=')
				dir = x->text + n + 1;
		}
	return project_here(k, path_join(a, dir, "package.json"));
}

/* Does the command name this script?  Names that are patterns (run-s "test:*", pnpm run "/^t/") or are not known may be any. */
static bool is_script_meant(const struct word *name, const char *script)
{
	const char *wanted = word_is_any(name, "t tst") ? "test" : name->text;

	if (name->certainty != CERTAIN || wanted[0] == '/' || strpbrk(wanted, "*?{("))
		return true;
	return text_eq(script, wanted) || (text_starts(script, "pre") && text_eq(script + 3, wanted)) ||
		(text_starts(script, "post") && text_eq(script + 4, wanted));
}

/* npm run NAME: the script of that name, and those before and after it. */
void project_script(struct call *k, const struct word *name)
{
	const char *path = manifest(k);
	struct bytes text;
	struct json *doc;

	if (!path || !project_text(k, path, &text) ||
		json_parse(walk_arena(k->w), text, "package.json", NULL, &doc, NULL) ||
		!json_is(json_get(doc, "scripts"), JSON_OBJECT))
		return;
	json_each_member (m, json_get(doc, "scripts"))
		if (json_is(m->value, JSON_STRING) && is_script_meant(name, m->name))
			project_recipe(k, bytes_of(m->value->text),
				arena_printf(walk_arena(k->w), "package.json: %s", m->name));
}

/* ---- make ---- */

struct goals {
	const char *names[MAX_GOALS];
	size_t n;
	bool is_over; /* there were more */
};

static void add_goal(struct goals *g, const char *name)
{
	for (size_t i = 0; i < g->n; i++)
		if (text_eq(g->names[i], name))
			return;
	if (g->n < MAX_GOALS)
		g->names[g->n++] = name;
	else
		g->is_over = true;
}

/* What the rules say that these goals need, until nothing new comes; without a goal it is the first target.  Variables
 * in the names of targets are not followed. */
static void close_goals(struct call *k, struct bytes text, struct goals *g)
{
	struct arena *a = walk_arena(k->w);
	size_t before;

	do {
		struct bytes rest = text;
		before = g->n;
		for (size_t lines = 0; rest.p && rest.n; lines++) {
			if (lines == MAX_RULES) {
				g->is_over = true;
				break;
			}
			struct bytes line = text_cut(&rest, '\n');
			char *rule = arena_strndup(a, (const char *)line.p, line.n),
			     *colon = strchr(rule, ':');
			if (!colon || strchr("\t#. ", rule[0]) || colon[1] == '=' ||
				memchr(rule, '=', (size_t)(colon - rule)))
				continue;
			bool is_meant = !g->n;
			for (size_t i = 0; i < g->n; i++)
				is_meant |= list_has(arena_strndup(a, rule, (size_t)(colon - rule)),
					g->names[i], strlen(g->names[i]));
			if (!g->n)
				add_goal(g, arena_strndup(a, rule, strcspn(rule, " :")));
			for (char *p = colon + 1; is_meant && *p;) {
				p += strspn(p, " \t:|");
				size_t n = strcspn(p, " \t;#");
				if (n && !strchr(p, '$'))
					add_goal(g, arena_strndup(a, p, n));
				p += n;
				if (*p == ';' || *p == '#')
					break;
			}
		}
	} while (g->n > before);
}

static void add_makefile(struct call *k, struct bytes text, struct buf *to, struct goals *seen);

/* include a.mk b.mk, -include, sinclude: each file once, where it stands.  One from where everybody writes is somebody else's. */
static void add_included(struct call *k, struct bytes line, struct buf *to, struct goals *seen)
{
	struct arena *a = walk_arena(k->w);
	const char *p = arena_strndup(a, (const char *)line.p, line.n), *resolved;
	struct bytes text;

	for (p += strcspn(p, " \t"); *p && *p != '#';) {
		p += strspn(p, " \t\r");
		size_t n = strcspn(p, " \t\r#"), before = seen->n;
		const char *path = n && !memchr(p, '$', n) ? project_here(k, arena_strndup(a, p, n)) : NULL;
		p += n;
		if (path)
			add_goal(seen, path);
		if (seen->n == before)
			continue;
		if (paths_classify(walk_surroundings(k->w), a, path, false, &resolved) == PATH_TMP)
			fx_name(k, TAG_ENVIRONMENT_LOADER, path, 0);
		else if (project_text(k, path, &text))
			add_makefile(k, text, to, seen);
	}
}

static void add_makefile(struct call *k, struct bytes text, struct buf *to, struct goals *seen)
{
	static const char *const words[] = { "include", "-include", "sinclude" };

	while (text.p && text.n) {
		struct bytes line = text_cut(&text, '\n');
		bool is_include = false;
		for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
			size_t n = strlen(words[i]);
			is_include |=
				line.n > n && memcmp(line.p, words[i], n) == 0 && strchr(" \t", line.p[n]);
		}
		if (is_include)
			add_included(k, line, to, seen);
		buf_add(to, is_include ? "" : (const char *)line.p, is_include ? 0 : line.n);
		buf_addc(to, '\n');
	}
}

/* A makefile with the files that it includes in their places; more of them than anybody has are not read, and asked about. */
struct bytes project_included(struct call *k, struct bytes text)
{
	struct goals seen = { 0 };
	struct buf all;

	buf_init(&all, walk_arena(k->w));
	add_makefile(k, text, &all, &seen);
	if (seen.is_over)
		fx_name(k, TAG_ENVIRONMENT_LOADER, "include", 0);
	return (struct bytes){ (const uint8_t *)all.p, all.n };
}

/* The recipes of a makefile's text for these goals (words of the command line); where they need more than is followed, all of them. */
static void run_goals(
	struct call *k, const char *path, struct bytes text, const struct word *goals, size_t count)
{
	struct goals g = { 0 };
	struct snippet *list;
	size_t n;

	for (size_t i = 0; i < count; i++)
		if (goals[i].certainty == CERTAIN)
			add_goal(&g, goals[i].text);
	close_goals(k, text, &g);
	harvest(walk_arena(k->w), SCRIPT_MAKE, text, &list, &n);
	for (size_t i = 0; i < n; i++) {
		bool is_target = list[i].where && text_starts(list[i].where, "target "), is_meant = g.is_over;
		for (size_t j = 0; is_target && !is_meant && j < g.n; j++)
			is_meant = list_has(list[i].where + 7, g.names[j], strlen(g.names[j]));
		if (is_target && is_meant)
			project_recipe(k, list[i].text,
				arena_printf(walk_arena(k->w), "%s: %s", path, list[i].where));
	}
}

void project_makefile(struct call *k, const char *path, const struct word *goals, size_t count)
{
	struct bytes text;

	if (path && project_text(k, path, &text))
		run_goals(k, path, project_included(k, text), goals, count);
}

/* ---- just ---- */

/* "name args: dep (dep arg) && dep" as make writes it; "alias b := build" as "b: build".  Settings and variables are left out. */
static void add_just_rule(struct buf *to, const char *line)
{
	bool is_alias = text_starts(line, "alias ");
	const char *name = is_alias ? line + 6 : line + (*line == '@'), *colon = strchr(line, ':');
	size_t n = strcspn(name, " \t:");

	if (!colon || !n || (colon[1] == '=' && !is_alias) || strchr("#[", *line))
		return;
	buf_add(to, name, n);
	buf_addc(to, ':');
	for (const char *p = colon + 1; *p && *p != '#'; p += n) {
		p += strspn(p, " \t\r=&()");
		bool is_call = p[-1] == '(';
		n = strcspn(p, " \t\r()");
		buf_addc(to, ' ');
		buf_add(to, p, n);
		if (is_call)
			n = strcspn(p, ")");
	}
	buf_addc(to, '\n');
}

/* A justfile as a makefile: lines that stand further in are the recipe, $ is the shell's, {{x}} is not known. */
static struct bytes from_just(struct call *k, struct bytes text)
{
	struct arena *a = walk_arena(k->w);
	struct buf to;

	buf_init(&to, a);
	while (text.p && text.n) {
		struct bytes cut = text_cut(&text, '\n');
		const char *line = arena_strndup(a, (const char *)cut.p, cut.n);
		if (*line != ' ' && *line != '\t') {
			add_just_rule(&to, line);
			continue;
		}
		buf_addc(&to, '\t');
		for (const char *p = line + strspn(line, " \t"); *p; p++) {
			const char *end = text_starts(p, "{{") ? strstr(p, "}}") : NULL;
			if (end) {
				buf_add(&to, "$(just)", 7);
				p = end + 1;
			} else {
				buf_add(&to, "$$", *p == '$' ? 2 : 0);
				if (*p != '$')
					buf_addc(&to, *p);
			}
		}
		buf_addc(&to, '\n');
	}
	return (struct bytes){ (const uint8_t *)to.p, to.n };
}

/* The recipes that just would run for these words. */
void project_justfile(struct call *k, const struct word *file, const struct word *goals, size_t count)
{
	static const char *const names[] = { "justfile", "Justfile", ".justfile", "JUSTFILE" };
	struct bytes text;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const char *path = project_here(k, file ? file->text : names[i]);
		if (path && project_text(k, path, &text)) {
			run_goals(k, path, from_just(k, text), goals, count);
			return;
		}
	}
}

/* ---- task ---- */

/* A command of a Taskfile; {{.X}} is not known. */
static void run_templated(struct call *k, const struct json *x, const char *via)
{
	struct buf to;

	buf_init(&to, walk_arena(k->w));
	for (const char *p = x->text; *p; p++) {
		const char *end = text_starts(p, "{{") ? strstr(p, "}}") : NULL;
		if (end)
			buf_adds(&to, "${template}");
		else
			buf_addc(&to, *p);
		p = end ? end + 1 : p;
	}
	project_recipe(k, buf_bytes(&to), via);
}

/* What a task, or a part of it, runs; the tasks that it names are added to the goals. */
static void run_task_part(
	struct call *k, const struct json *x, bool is_command, struct goals *g, const char *via)
{
	static const char commands[] = "cmd cmds sh status preconditions defer", others[] = "deps vars env";

	if (json_is(x, JSON_STRING) && is_command)
		run_templated(k, x, via);
	if (json_is(x, JSON_ARRAY))
		json_each (item, x)
			run_task_part(k, item, is_command, g, via);
	if (!json_is(x, JSON_OBJECT))
		return;
	json_each_member (m, x) {
		bool runs = list_has(commands, m->name, m->name_n);
		if (text_eq(m->name, "task") && json_is(m->value, JSON_STRING))
			add_goal(g, m->value->text);
		else if (text_eq(m->name, "deps"))
			json_each (item, m->value)
				if (json_is(item, JSON_STRING))
					add_goal(g, item->text);
		if (runs || list_has(others, m->name, m->name_n) ||
			(!is_command && json_is(m->value, JSON_OBJECT)))
			run_task_part(k, m->value, runs, g, via);
	}
}

static bool has_alias(const struct json *task, const char *name)
{
	json_each (item, json_get(task, "aliases"))
		if (json_is(item, JSON_STRING) && text_eq(item->text, name))
			return true;
	return false;
}

/* The tasks of a Taskfile for one goal; NULL: all of them.  False: it has none of that name. */
static bool run_task(
	struct call *k, const struct json *doc, const char *name, struct goals *g, const char *via)
{
	const struct json *tasks = json_get(doc, "tasks");
	bool found = false;

	if (json_is(tasks, JSON_OBJECT))
		json_each_member (m, tasks)
			if (!name || text_eq(m->name, name) || has_alias(m->value, name)) {
				run_task_part(k, m->value, true, g, via);
				found = true;
			}
	return found;
}

static bool read_taskfile(struct call *k, const char *path, struct json **ret)
{
	struct bytes text;

	return path && project_text(k, path, &text) &&
		conf_parse_yaml(walk_arena(k->w), text, path, ret, NULL) == 0;
}

static const char *const taskfiles[] = { "Taskfile.yml", "taskfile.yml", "Taskfile.yaml", "taskfile.yaml",
	"Taskfile.dist.yml", "taskfile.dist.yml", "Taskfile.dist.yaml", "taskfile.dist.yaml" };

/* docs:build: of what the file includes as `docs` everything counts; NULL: of all that it includes. */
static bool run_included(struct call *k, const struct json *doc, const char *name, struct goals *g)
{
	struct arena *a = walk_arena(k->w);
	const struct json *includes = json_get(doc, "includes");
	struct json *inner;
	bool found = false;

	if (!json_is(includes, JSON_OBJECT))
		return false;
	json_each_member (m, includes) {
		const char *place = json_is(m->value, JSON_OBJECT) ? json_get_text(m->value, "taskfile", NULL)
								   : json_text(m->value);
		if (!place || (name && (!text_starts(name, m->name) || name[m->name_n] != ':')))
			continue;
		const char *path = project_here(k, place);
		bool is_read = read_taskfile(k, path, &inner);
		for (size_t i = 0; !is_read && i < ARRAY_SIZE(taskfiles); i++) {
			path = project_here(k, path_join(a, place, taskfiles[i]));
			is_read = read_taskfile(k, path, &inner);
		}
		if (is_read)
			(void)run_task(k, inner, NULL, g, path);
		found |= is_read;
	}
	return found;
}

/* The commands that task would run for these words. */
void project_taskfile(struct call *k, const struct word *file, const struct word *goals, size_t count)
{
	struct goals g = { 0 };
	struct json *doc = NULL;
	const char *path = NULL;

	for (size_t i = 0; !doc && i < ARRAY_SIZE(taskfiles); i++) {
		path = project_here(k, file ? file->text : taskfiles[i]);
		if (!read_taskfile(k, path, &doc))
			doc = NULL;
	}
	if (!doc)
		return;
	for (size_t i = 0; i < count; i++)
		if (goals[i].certainty == CERTAIN && !strchr(goals[i].text, '='))
			add_goal(&g, goals[i].text);
		else if (goals[i].certainty != CERTAIN)
			g.is_over = true;
	if (!g.n)
		add_goal(&g, "default");
	run_task_part(k, json_get(doc, "vars"), false, &g, path);
	run_task_part(k, json_get(doc, "env"), false, &g, path);
	/* A name that nobody has may fit a pattern, or be one that another file gives. */
	for (size_t i = 0; i < g.n; i++)
		g.is_over |= !run_task(k, doc, g.names[i], &g, path) && !run_included(k, doc, g.names[i], &g);
	if (g.is_over) {
		(void)run_task(k, doc, NULL, &g, path);
		(void)run_included(k, doc, NULL, &g);
	}
}

/* ---- git: settings and hooks that a command of it starts ---- */

/* The repository that git would find from here, as far as it is the workspace's. */
static const char *repository(struct call *k, struct bytes *ret_config)
{
	struct arena *a = walk_arena(k->w);
	const char *dir = project_here(k, ".");

	for (int up = 0; dir && up < 32; up++) {
		const char *git = path_clean(a, path_join(a, dir, ".git"));
		if (project_text(k, path_join(a, git, "config"), ret_config))
			return git;
		const char *slash = strrchr(dir, '/');
		if (!slash || slash == dir)
			break;
		dir = arena_strndup(a, dir, (size_t)(slash - dir));
	}
	return NULL;
}

static void run_hooks(struct call *k, const char *dir, const char *names)
{
	struct arena *a = walk_arena(k->w);
	struct bytes rest = { (const uint8_t *)names, strlen(names) }, text;

	while (rest.p && rest.n) {
		struct bytes name = text_cut(&rest, ' ');
		const char *path =
			path_clean(a, path_join(a, dir, arena_strndup(a, (const char *)name.p, name.n)));
		if (!project_text(k, path, &text))
			continue;
		const void *end = memchr(text.p, '\n', text.n);
		size_t first = end ? (size_t)((const uint8_t *)end - text.p) : text.n;
		if (memmem(text.p, first, "python", 6))
			project_code(k, path, "python");
		else if (memmem(text.p, first, "node", 4))
			project_code(k, path, "node");
		else
			project_recipe(k, text, path);
		fx_name(k, TAG_SCRIPT_BUILD, path, 0);
	}
}

enum { INCLUDES_DEEP = 10, INCLUDES_MAX = 64 }; /* git itself goes ten deep; and files in all */

/* What git would read of a repository's settings, for one verb. */
struct settings {
	struct call *k;
	const char *verb;
	const char *git; /* the directory of the repository */
	const char *hooks;
	unsigned included; /* files that were taken in */
};

static void run_settings(struct settings *s, struct bytes config, const char *dir, unsigned depth);

/* include.path, includeIf.*.path: a condition is taken to hold.  One of the work tree is read as if its lines stood here; one from
 * where everybody writes is somebody else's, and so are those beyond what anybody has, which are not read. */
static void run_include(struct settings *s, const char *value, const char *dir, unsigned depth)
{
	struct arena *a = walk_arena(s->k->w);
	const struct surroundings *at = walk_surroundings(s->k->w);
	const char *resolved, *home = at->home ? at->home : "/";
	const char *path =
		value[0] == '~' && value[1] == '/' ? path_join(a, home, value + 2) : path_join(a, dir, value);
	struct bytes text;

	path = path_clean(a, path);
	if (s->included > INCLUDES_MAX)
		return;
	if (paths_classify(at, a, path, false, &resolved) == PATH_TMP || ++s->included > INCLUDES_MAX)
		fx_name(s->k, TAG_ENVIRONMENT_LOADER, path, 0);
	else if (depth < INCLUDES_DEEP && project_text(s->k, path, &text)) {
		const char *slash = strrchr(path, '/');
		run_settings(s, text, arena_strndup(a, path, (size_t)(slash - path)), depth + 1);
	}
}

static void run_settings(struct settings *s, struct bytes config, const char *dir, unsigned depth)
{
	struct arena *a = walk_arena(s->k->w);

	json_each (x, propose_git_commands(a, config)) {
		const char *value = strchr(x->text, '=') + 1;
		const size_t n = (size_t)(value - 1 - x->text);
		bool is_alias = strncasecmp(x->text, "alias.", 6) == 0;
		if (strncasecmp(x->text, "include", 7) == 0)
			run_include(s, value, dir, depth);
		else if (n == 14 && strncasecmp(x->text, "core.hookspath", n) == 0)
			s->hooks = path_join(a, path_join(a, s->git, ".."), value);
		else if (!is_alias ||
			(n - 6 == strlen(s->verb) && strncasecmp(x->text + 6, s->verb, n - 6) == 0))
			project_recipe(s->k,
				(struct bytes){ (const uint8_t *)value + (*value == '!'),
					strlen(value) - (*value == '!') },
				arena_strndup(a, x->text, n));
	}
}

/* A repository that was unpacked or copied brings its settings and hooks along. */
void project_repository(struct call *k, const char *verb)
{
	static const struct {
		const char *verbs, *hooks;
	} table[] = { { "commit", "pre-commit prepare-commit-msg commit-msg post-commit" },
		{ "merge pull", "pre-merge-commit post-merge prepare-commit-msg commit-msg" },
		{ "checkout switch clone worktree", "post-checkout" },
		{ "rebase", "pre-rebase post-rewrite" },
		{ "am", "applypatch-msg pre-applypatch post-applypatch" }, { "push", "pre-push" } };
	struct arena *a = walk_arena(k->w);
	struct bytes config;
	const char *git = repository(k, &config);

	if (!git)
		return;
	struct settings s = { .k = k, .verb = verb, .git = git, .hooks = path_join(a, git, "hooks") };
	run_settings(&s, config, git, 0);
	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		if (list_has(table[i].verbs, verb, strlen(verb)))
			run_hooks(k, s.hooks, table[i].hooks);
}
