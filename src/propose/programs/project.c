/* project.c — scripts and build files that a command starts: read as far as their language is known.
 *
 * A shell script is judged like the text of the command (shells.c).  Code, makefiles and package.json are the project's own work,
 * which builds, cleans and talks as it likes; there only what reaches out of the project counts: files of the system,
 * start-up files, keys, the guard itself.  Such files are read for literal calls and recipes, modules they take in
 * are not followed, and what is put together when it runs stays unknown: the effect "a script is run" stands for all of
 * that, and the profile's `unread` says whether it is asked about. */
#include "propose/programs/programs.h"

#include "base/file.h"
#include "base/json.h"
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

static bool can_read(const struct call *k)
{
	const struct surroundings *at = walk_surroundings(k->w);

	return at->sys && at->inspect_scripts && !(k->c->flags & (FXF_REMOTE_SIDE | FXF_INSIDE_CONTAINER));
}

/* The text of a file, as the command has written it a moment ago, or as it lies in the workspace. */
static bool project_text(struct call *k, const char *path, struct bytes *ret)
{
	const struct surroundings *at = walk_surroundings(k->w);
	struct feed content;
	const char *resolved;

	if (note_find(k, path, &content)) {
		*ret = (struct bytes){ (const uint8_t *)content.text, content.n };
		return content.kind == FEED_KNOWN;
	}
	return can_read(k) && paths_classify(at, walk_arena(k->w), path, false, &resolved) == PATH_IN &&
		file_read(at->sys, walk_arena(k->w), AT_FDCWD, path, FILE_MAX, FILE_FOLLOW, ret, NULL) == 0 &&
		!memchr(ret->p, 0, ret->n);
}

/* A file next to where the command stands. */
static const char *here(struct call *k, const char *name)
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
		"mawk" };

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		bit |= text_starts(language, known[i]);
	if (!bit || !project_text(k, path, &text))
		return;
	struct command inner = *k->c;
	struct call at = *k;
	at.c = &inner;
	classify_code_bytes(&at, text_ends(language, "awk") ? "awk" : language, (const char *)text.p, text.n);
	walk_keep(k->w, mark, reaches_out);
}

static void run_recipe(struct call *k, struct bytes text, const char *via)
{
	struct walk_mark mark = walk_mark(k->w);
	struct command inner = *k->c; /* what a recipe prints is not followed */

	walk_bytes(k->w, &inner, (const char *)text.p, text.n, k->c->at, via);
	walk_keep(k->w, mark, reaches_out);
}

/* npm run NAME: the script of that name, and those before and after it. */
void project_script(struct call *k, const struct word *name)
{
	static const char *const around[] = { "pre", "", "post" };
	const char *path = here(k, "package.json");
	struct bytes text;
	struct json *doc;

	if (!path || name->certainty != CERTAIN || !project_text(k, path, &text) ||
		json_parse(walk_arena(k->w), text, "package.json", NULL, &doc, NULL))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(around); i++) {
		const char *script = json_get_text(json_get(doc, "scripts"),
			arena_printf(walk_arena(k->w), "%s%s", around[i], name->text), NULL);
		if (script)
			run_recipe(k, bytes_of(script),
				arena_printf(walk_arena(k->w), "package.json: %s", name->text));
	}
}

/* ---- make ---- */

struct goals {
	const char *names[MAX_GOALS];
	size_t n;
};

static void add_goal(struct goals *g, const char *name)
{
	for (size_t i = 0; i < g->n; i++)
		if (text_eq(g->names[i], name))
			return;
	if (g->n < MAX_GOALS)
		g->names[g->n++] = name;
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
		for (size_t lines = 0; rest.p && rest.n && lines < MAX_RULES; lines++) {
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

/* The recipes that make would run for these goals (words of the command line). */
void project_makefile(struct call *k, const char *path, const struct word *goals, size_t count)
{
	struct bytes text;
	struct goals g = { 0 };
	struct snippet *list;
	size_t n;

	if (!path || !project_text(k, path, &text))
		return;
	for (size_t i = 0; i < count; i++)
		if (goals[i].certainty == CERTAIN)
			add_goal(&g, goals[i].text);
	close_goals(k, text, &g);
	harvest(walk_arena(k->w), SCRIPT_MAKE, text, &list, &n);
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < g.n; j++)
			if (list[i].where && text_starts(list[i].where, "target ") &&
				list_has(list[i].where + 7, g.names[j], strlen(g.names[j]))) {
				run_recipe(k, list[i].text,
					arena_printf(walk_arena(k->w), "%s: %s", path, list[i].where));
				break;
			}
}

/* ---- git: settings and hooks that a command of it starts ---- */

/* The repository that git would find from here, as far as it is the workspace's. */
static const char *repository(struct call *k, struct bytes *ret_config)
{
	struct arena *a = walk_arena(k->w);
	const char *dir = here(k, ".");

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
			run_recipe(k, text, path);
		fx_name(k, TAG_SCRIPT_BUILD, path, 0);
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
	const char *git = repository(k, &config), *hooks;

	if (!git)
		return;
	hooks = path_join(a, git, "hooks");
	json_each (x, propose_git_commands(a, config)) {
		const char *value = strchr(x->text, '=') + 1;
		const size_t n = (size_t)(value - 1 - x->text);
		bool is_alias = strncasecmp(x->text, "alias.", 6) == 0;
		if (n == 14 && strncasecmp(x->text, "core.hookspath", n) == 0)
			hooks = path_join(a, path_join(a, git, ".."), value);
		else if (!is_alias || (n - 6 == strlen(verb) && strncmp(x->text + 6, verb, n - 6) == 0))
			run_recipe(k,
				(struct bytes){ (const uint8_t *)value + (*value == '!'),
					strlen(value) - (*value == '!') },
				arena_strndup(a, x->text, n));
	}
	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		if (list_has(table[i].verbs, verb, strlen(verb)))
			run_hooks(k, hooks, table[i].hooks);
}
