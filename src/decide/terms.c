/* terms.c — does a call leave the contract of the skill it is made for?
 *
 * A program that is started by another one counts like one that is started directly: each must be named.  Shells are seen through where their
 * text was understood, and words that a shell does itself start nothing. */
#include "model/terms.h"
#include "base/file.h"
#include "base/text.h"
#include "decide/decide.h"

#include <string.h>
#include <strings.h>

struct leaving {
	struct arena *a;
	const struct terms *t;
	const struct terms_call *call;
	const struct proposal *p;
	struct terms_breach *ret;
};

__attribute__((format(printf, 5, 6))) static bool says(struct leaving *x, const char *rule,
	const char *instead, const struct effect *effect, const char *fmt, ...)
{
	char text[400];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	*x->ret = (struct terms_breach){ .rule = rule,
		.text = text_eq(x->t->skill, TERMS_OF_PLAN)
			? arena_printf(x->a, "%s; that leaves the plan of this task", text)
			: arena_printf(x->a, "%s; that leaves the contract of skill '%s'", text, x->t->skill),
		.instead = instead,
		.effect = effect };
	return true;
}

static bool has_name(const char *const *names, const char *name)
{
	for (; *names; names++)
		if (text_eq(*names, name))
			return true;
	return false;
}

/* Clients spell the same tool in several ways. */
static bool names_tool(const char *const *names, const char *tool)
{
	for (; *names; names++)
		if (strcasecmp(*names, tool) == 0)
			return true;
	return false;
}

/* ---- tools ---- */

static bool is_unknown_tool(const struct proposal *p)
{
	for (size_t i = 0; i < p->effect_count; i++)
		if (p->effects[i].tag &&
			(text_eq(p->effects[i].tag, "tool.unknown") ||
				text_eq(p->effects[i].tag, "mcp.call")))
			return true;
	return false;
}

/* By name, or, where groups are given, by what it does: decide() has denied the groups that are missing. */
static bool leaves_tools(struct leaving *x)
{
	const char *tool = x->call->tool;

	if (!x->t->has_tools || !tool || names_tool(x->t->tools, tool) ||
		(x->call->is_shell && names_tool(x->t->tools, "bash")))
		return false;
	if (x->t->groups && !is_unknown_tool(x->p))
		return false;
	return says(x, "skill.tools", "use a tool that the contract names", NULL, "it uses the tool %.100s",
		tool);
}

/* ---- commands ---- */

static bool is_shell_name(const char *program)
{
	static const char *const shells[] = { "sh", "bash", "dash", "zsh", "ksh", NULL };

	return program && has_name(shells, program);
}

/* Done by the shell itself, or by programs that only say yes or no. */
static bool starts_nothing(const char *program)
{
	static const char *const own[] = { ":", "[", "[[", "alias", "break", "case", "cd", "continue",
		"declare", "dirs", "echo", "exit", "export", "false", "for", "getopts", "hash", "if", "let",
		"local", "popd", "printf", "pushd", "pwd", "read", "readonly", "return", "set", "shift",
		"shopt", "test", "times", "true", "type", "typeset", "ulimit", "umask", "unalias", "unset",
		"until", "wait", "while", NULL };

	return has_name(own, program);
}

static bool lies_with_system(const char *head)
{
	static const char *const places[] = { "/bin/", "/sbin/", "/usr/bin/", "/usr/sbin/", "/usr/local/bin/",
		"/usr/local/sbin/" };

	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		if (text_starts(head, places[i]) && !strchr(head + strlen(places[i]), '/'))
			return true;
	return false;
}

/* A program by its name, or, where it is named with another place, by that: no file in the tree has the name of another program. */
static bool is_program(struct leaving *x, const char *wanted, const char *head)
{
	if (!strchr(wanted, '/'))
		return text_eq(wanted, head) || (lies_with_system(head) && text_eq(wanted, path_base(head)));
	const char *tree = x->call->tree ? x->call->tree : "/";
	return text_eq(path_clean(x->a, path_join(x->a, tree, wanted)),
		path_clean(x->a, path_join(x->a, tree, head)));
}

/* The text of a step is its words with one blank between them; the first is compared as a program. */
static bool step_is(struct leaving *x, const struct step *s, const struct terms_command *c)
{
	const char *rest = strchr(s->text ? s->text : "", ' ');

	if (!c->n || !is_program(x, c->words[0], s->head))
		return false;
	for (size_t i = 1; i < c->n; i++) {
		size_t n = strlen(c->words[i]);
		if (!rest || strncmp(rest + 1, c->words[i], n) != 0 || (rest[1 + n] && rest[1 + n] != ' '))
			return false;
		rest = rest[1 + n] ? rest + 1 + n : NULL;
	}
	return true;
}

static bool has_steps_below(const struct proposal *p, size_t step)
{
	for (size_t i = 0; i < p->step_count; i++)
		if (p->steps[i].parent == step)
			return true;
	return false;
}

/* `echo x > file` starts nothing, and does something all the same. */
static bool changes_anything(const struct proposal *p, const struct step *s)
{
	for (size_t i = s->first_effect; i < s->first_effect + s->effect_count && i < p->effect_count; i++)
		if (p->effects[i].kind != FX_READ && p->effects[i].path_class != PATH_SINK)
			return true;
	return false;
}

static bool is_command(struct leaving *x, size_t step)
{
	const struct step *s = &x->p->steps[step];

	for (size_t i = 0; i < x->t->command_count; i++)
		if (step_is(x, s, &x->t->commands[i]))
			return true;
	if (x->t->entrypoint.n && step_is(x, s, &x->t->entrypoint))
		return true;
	return (starts_nothing(s->head) && !changes_anything(x->p, s)) ||
		(is_shell_name(path_base(s->head)) && has_steps_below(x->p, step));
}

static bool leaves_commands(struct leaving *x)
{
	if (!x->t->has_commands || !x->call->is_shell)
		return false;
	if (!x->p->readable)
		return says(x, "skill.commands", "write it so that it can be read", NULL,
			"which programs it starts is not known");
	for (size_t i = 0; i < x->p->step_count; i++) {
		const struct step *s = &x->p->steps[i];
		if (s->head && !*s->head)
			continue;
		if (!s->head)
			return says(x, "skill.commands", "name the program", NULL,
				"which program it starts is not known");
		if (!is_command(x, i))
			return says(x, "skill.commands", "run one of the commands that the contract names",
				NULL, "it runs %.150s", s->text ? s->text : s->head);
	}
	return false;
}

/* The entrypoint, directly or by a program that reads it: python3 scripts/run.py. */
static bool leaves_entrypoint(struct leaving *x)
{
	if (!x->t->is_strict || !x->call->is_shell)
		return false;
	for (size_t i = 0; i < x->p->step_count; i++)
		if (x->p->steps[i].depth == 0 && x->p->steps[i].head && *x->p->steps[i].head &&
			!step_is(x, &x->p->steps[i], &x->t->entrypoint))
			return says(x, "skill.entrypoint", "start it as the contract's runner says", NULL,
				"it runs %.150s and not the one way to start it",
				x->p->steps[i].text ? x->p->steps[i].text : x->p->steps[i].head);
	if (!x->p->readable || !x->p->step_count)
		return says(x, "skill.entrypoint", "start it as the contract's runner says", NULL,
			"it is not the one way to start it");
	return false;
}

/* ---- paths ---- */

static bool is_in(struct leaving *x, const char *path, const char *const *dirs)
{
	const char *tree = x->call->tree;

	for (; tree && path && *dirs; dirs++)
		if (path_is_below(path, path_clean(x->a, path_join(x->a, tree, *dirs))))
			return true;
	return false;
}

static bool writes_file(const struct effect *f)
{
	return f->kind == FX_WRITE || f->kind == FX_DELETE || f->kind == FX_MOVE ||
		f->kind == FX_PERMISSION || f->kind == FX_DEVICE;
}

/* Beyond files and hosts, which are judged by themselves, nothing may change where only some paths may be written. */
static bool is_harmless(const struct effect *f)
{
	return f->kind == FX_READ || f->kind == FX_NETWORK || f->kind == FX_LISTEN || f->kind == FX_REMOTE ||
		(f->flags & (FXF_DRY_RUN | FXF_DECODED)) ||
		(f->kind == FX_SCRIPT && (f->flags & FXF_WAS_READ));
}

static bool leaves_by(struct leaving *x, const struct effect *f)
{
	const char *instead = "write only below the paths that the contract names";
	const bool is_known =
		f->certainty == CERTAIN || (f->certainty == PREFIXED && !(f->flags & FXF_OPEN_END));

	if (f->path_class == PATH_SINK || (f->path_class == PATH_TMP && x->call->is_walled))
		return false;
	if (f->target && f->target[0] == '/' && is_known) {
		bool is_inside = is_in(x, f->target, x->t->writes) &&
			(!f->resolved || is_in(x, f->resolved, x->t->writes));
		return !is_inside && says(x, "skill.paths", instead, f, "it changes %.200s", f->target);
	}
	return !x->call->is_walled &&
		says(x, "skill.paths", instead, f, "what %.60s changes is not known, and no walls hold it",
			f->program ? f->program : "it");
}

/* Shows names and sizes, never what is in a file. */
static bool shows_names(const char *program)
{
	static const char *const names[] = { "ls", "find", "du", "df", "tree", "stat", "pwd", "which", "test",
		"[", "true", "date", "id", "whoami", "uname", "basename", "dirname", "realpath", "readlink",
		"cd", "echo", "printf", "Glob", "LS", NULL };

	return program && has_name(names, program);
}

/* A tool of the client that looks into files without saying which. */
static bool searches(const char *tool)
{
	return tool && (strcasestr(tool, "grep") || strcasestr(tool, "search") || strcasestr(tool, "read"));
}

/* Is something hidden at this place, above it or below it?  Of a pattern, the directory before its first star counts. */
static bool is_about_hidden(struct leaving *x, const char *path)
{
	const char *const dirs[] = { x->call->state, NULL };
	size_t n = path ? strcspn(path, "*?[{") : 0;
	const char *place = path;

	if (!path)
		return false;
	if (path[n])
		place = path_clean(x->a, arena_printf(x->a, "%.*s/..", (int)n, path));
	if (is_in(x, place, x->t->hidden) || (x->call->state && path_is_in_one(place, dirs)))
		return true;
	for (const char *const *h = x->t->hidden; x->call->tree && *h; h++)
		if (path_is_below(path_clean(x->a, path_join(x->a, x->call->tree, *h)), place))
			return true;
	return false;
}

/* Walls keep what is hidden out of sight; without them a reader of a directory above it, or one whose files are not known, sees it. */
static bool reads_hidden(struct leaving *x, const struct effect *f)
{
	const char *const state[] = { x->call->state, NULL },
			  *who = x->call->is_shell ? f->program : x->call->tool;
	const char *const places[] = { f->target, f->resolved };

	if (!*x->t->hidden || f->kind != FX_READ)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		if (is_in(x, places[i], x->t->hidden) ||
			(state[0] && places[i] && path_is_in_one(places[i], state)))
			return says(x, "skill.paths", "do without it", f, "it reads %.200s", places[i]);
	if (x->call->is_walled || shows_names(who))
		return false;
	if (!f->target || f->target[0] != '/')
		return (x->call->is_shell || searches(who)) &&
			says(x, "skill.paths",
				"name the files, or run it with 'helm run --skill', inside walls", f,
				"which files %.60s reads is not known, and no walls hold it",
				who ? who : "it");
	return (is_about_hidden(x, f->target) || is_about_hidden(x, f->resolved)) &&
		says(x, "skill.paths", "name the files, or run it with 'helm run --skill', inside walls", f,
			"%.200s has what the contract hides, and no walls hold it", f->target);
}

/* What it does shows only when it runs. */
static bool is_known_later(const struct effect *f)
{
	return f->kind == FX_DYNAMIC_EXEC || f->kind == FX_DECODE_EXEC || f->kind == FX_FETCH_EXEC ||
		f->kind == FX_STDIN_SHELL || f->kind == FX_UNKNOWN ||
		(f->kind == FX_SCRIPT && !(f->flags & FXF_WAS_READ));
}

static bool leaves_hidden(struct leaving *x)
{
	for (size_t i = 0; *x->t->hidden && i < x->p->effect_count; i++) {
		const struct effect *f = &x->p->effects[i];
		if (reads_hidden(x, f))
			return true;
		if (!x->call->is_walled && is_known_later(f))
			return says(x, "skill.paths", "run it with 'helm run --skill', inside walls", f,
				"which files %.60s reads is not known, and no walls hold it",
				f->program ? f->program : "it");
	}
	return *x->t->hidden && !x->p->readable && !x->call->is_walled &&
		says(x, "skill.paths", "write it so that it can be read", NULL,
			"it could not be read to its end, and no walls hold it");
}

static bool leaves_paths(struct leaving *x)
{
	if (leaves_hidden(x))
		return true;
	for (size_t i = 0; i < x->p->effect_count; i++) {
		const struct effect *f = &x->p->effects[i];
		if (!x->t->has_writes || (f->flags & (FXF_DRY_RUN | FXF_DECODED)))
			continue;
		if (writes_file(f) && leaves_by(x, f))
			return true;
		if (!writes_file(f) && !is_harmless(f) && !x->call->is_walled)
			return says(x, "skill.paths", "run it with 'helm run --skill', inside walls", f,
				"it would %.80s, and no walls hold it", effect_kind_clause(f->kind));
	}
	return x->t->has_writes && !x->p->readable && !x->call->is_walled &&
		says(x, "skill.paths", "write it so that it can be read", NULL,
			"it could not be read to its end, and no walls hold it");
}

/* What is only known when it runs can reach any host, unless a door stands in the way. */
static bool leaves_hosts(struct leaving *x)
{
	if (!x->t->has_hosts || x->call->is_walled)
		return false;
	for (size_t i = 0; i < x->p->effect_count; i++) {
		const struct effect *f = &x->p->effects[i];
		if (is_known_later(f))
			return says(x, "skill.hosts", "run it with 'helm run --skill', inside walls", f,
				"which hosts %.60s reaches is not known, and no walls hold it",
				f->program ? f->program : "it");
	}
	return !x->p->readable &&
		says(x, "skill.hosts", "write it so that it can be read", NULL,
			"which hosts it reaches is not known, and no walls hold it");
}

bool decide_terms(struct arena *a, const struct terms *t, const struct terms_call *call,
	const struct proposal *p, struct terms_breach *ret)
{
	struct leaving x = { a, t, call, p, ret };

	return leaves_tools(&x) || leaves_entrypoint(&x) || leaves_commands(&x) || leaves_paths(&x) ||
		leaves_hosts(&x);
}
