/* outputs.c — what some ordinary programs print, for $(...) and pipes.
 *
 * Scripts are full of $(pwd), $(dirname "$0") and $(mktemp -d); knowing what these can and cannot be is
 * the difference between "deletes a temporary directory" and "deletes something". There are three
 * degrees: the exact text (known), how the text begins (prefixed), and that it is not empty (is_filled,
 * which rules out `rm -rf "$(x)/"` meaning the root). Everything else stays unknown. */
#include "propose/evaluate/evaluate.h"

#include "base/file.h"

/* The program prints exactly this line. A text with markers is known only in part. */
static void known(struct walk *w, struct command *c, const char *text)
{
	const char *line = arena_printf(w->a, "%s\n", text);

	c->out = (struct feed){
		.kind = has_mark(text) ? FEED_UNKNOWN : FEED_KNOWN, .text = line, .n = strlen(line)
	};
}

/* The output begins with this text and goes on with something unknown. */
static void prefixed(struct command *c, const char *text, size_t n)
{
	c->out = (struct feed){ .kind = FEED_UNKNOWN, .text = text, .n = n, .is_filled = true };
}

/* The last word that is no option, when it is certain. */
static const char *operand(const struct command *c)
{
	for (size_t i = c->argc; i-- > 1;)
		if (c->argv[i].text[0] != '-')
			return c->argv[i].certainty == CERTAIN ? c->argv[i].text : NULL;
	return NULL;
}

static void print_pwd(struct walk *w, struct command *c)
{
	const char *cwd = walk_cwd(w, c);

	if (cwd)
		known(w, c, cwd);
	else
		c->out.is_filled = true;
}

/* Computed from the text alone, as dirname does; it is never empty. */
static void print_dirname(struct walk *w, struct command *c)
{
	const char *path = operand(c);

	c->out.is_filled = true;
	if (!path)
		return;
	size_t n = strlen(path);
	while (n > 1 && path[n - 1] == '/')
		n--;
	path = arena_strndup(w->a, path, n);
	const char *slash = strrchr(path, '/');
	if (!slash)
		known(w, c, ".");
	else
		known(w, c, slash == path ? "/" : arena_strndup(w->a, path, (size_t)(slash - path)));
}

static void print_basename(struct walk *w, struct command *c)
{
	c->out.is_filled = true;
	if (c->argc == 2 && c->argv[1].certainty == CERTAIN && c->argv[1].text_n)
		known(w, c, path_base(path_clean(w->a, c->argv[1].text)));
}

/* The path made absolute. Links are not followed here; that is done where the path is judged. */
static void print_realpath(struct walk *w, struct command *c)
{
	const char *path = operand(c), *cwd = walk_cwd(w, c);

	if (path && (path[0] == '/' || cwd))
		known(w, c, path_join(w->a, cwd ? cwd : "/", path));
}

/* A name in the temporary directory, or where the template says; what replaces the X's is not known. Any
 * option that is not certain leaves the output unknown. */
static void print_mktemp(struct walk *w, struct command *c)
{
	const char *dir = w->at->tmpdir ? w->at->tmpdir : "/tmp";
	const char *template = NULL;
	const struct value *set = walk_names_variable(w, "TMPDIR") ? scope_variable(w, "TMPDIR", 6) : NULL;

	if (set && (set->n != 1 || has_mark(set->items[0])))
		return;
	if (set && *set->items[0])
		dir = set->items[0];

	for (size_t i = 1; i < c->argc; i++) {
		const struct word *x = &c->argv[i];
		if (x->certainty != CERTAIN)
			return;
		if (text_starts(x->text, "--tmpdir=")) {
			dir = x->text + 9;
		} else if (text_eq(x->text, "-p") && i + 1 < c->argc) {
			if (c->argv[++i].certainty != CERTAIN)
				return;
			dir = c->argv[i].text;
		} else if (x->text[0] != '-') {
			template = x->text;
		}
	}
	const char *text = !template ? arena_printf(w->a, "%s/tmp.", dir)
		: strchr(template, '/')
		? arena_strndup(w->a, template, strcspn(template, "X"))
		: arena_printf(w->a, "%s/%.*s", dir, (int)strcspn(template, "X"), template);
	prefixed(c, text, strlen(text));
}

/* `git rev-parse --show-toplevel`: the work tree the command stands in, unless git is sent elsewhere. */
static void print_toplevel(struct walk *w, struct command *c)
{
	const char *top = w->at->work_tree ? w->at->work_tree : w->at->workspace, *cwd = walk_cwd(w, c);

	if (c->argc != 3 || !text_eq(c->argv[1].text, "rev-parse") || c->argv[2].certainty != CERTAIN)
		return;
	if (!text_eq(c->argv[2].text, "--show-toplevel"))
		return;
	size_t n = top ? strlen(top) : 0;
	if (n && cwd && strncmp(cwd, top, n) == 0 && (!cwd[n] || cwd[n] == '/') &&
		!walk_names_variable(w, "GIT_DIR") && !walk_names_variable(w, "GIT_WORK_TREE"))
		known(w, c, top);
	else
		c->out.is_filled = true;
}

/* Where a program lies is not known, but which one it is, and that the place is the system's: `$(which python3) x` is judged as
 * python3, and `cp x $(which git)` as a change to the system. */
static void print_place(struct walk *w, struct command *c, const struct word *name)
{
	if (name->certainty == CERTAIN && name->text_n && name->text[0] != '-')
		known(w, c,
			strchr(name->text, '/') ? name->text : arena_printf(w->a, "/usr/bin/%s", name->text));
	else
		c->out.is_filled = true;
}

static void print_which(struct walk *w, struct command *c)
{
	if (c->argc == 2)
		print_place(w, c, &c->argv[1]);
	else
		c->out.is_filled = true;
}

/* command -v NAME, type -p NAME. */
static void print_command(struct walk *w, struct command *c)
{
	if (c->argc == 3 &&
		(text_eq(c->argv[1].text, "-v") || text_eq(c->argv[1].text, "-p") ||
			text_eq(c->argv[1].text, "-P")))
		print_place(w, c, &c->argv[2]);
}

/* `date +%F` begins with a century and has no slash in it: a log named after the day lies where the log
 * is put. */
static void print_date(struct walk *w, struct command *c)
{
	const char *format = operand(c);

	(void)w;
	c->out.is_filled = true;
	if (!format || format[0] != '+' || strchr(format, '/'))
		return;
	if (text_starts(format, "+%F") || text_starts(format, "+%Y"))
		prefixed(c, "20", 2);
	else if (text_starts(format, "+%s"))
		prefixed(c, "1", 1);
}

/* "%%" is how kill and wait name the current job; programs that get it are known to mean a job of this
 * shell. */
static void print_jobs(struct walk *w, struct command *c)
{
	known(w, c, "%%");
}

/* Something unknown that is never empty. */
static void print_something(struct walk *w, struct command *c)
{
	(void)w;
	c->out.is_filled = true;
}

/* Programs that work and stay silent. */
static void print_nothing(struct walk *w, struct command *c)
{
	(void)w;
	c->out = (struct feed){ .kind = FEED_EMPTY };
}

static const struct {
	const char *name;
	void (*print)(struct walk *, struct command *);
} programs[] = {
	{ ":", print_nothing },
	{ "[", print_nothing },
	{ "basename", print_basename },
	{ "chmod", print_nothing },
	{ "command", print_command },
	{ "cp", print_nothing },
	{ "date", print_date },
	{ "dirname", print_dirname },
	{ "false", print_nothing },
	{ "git", print_toplevel },
	{ "hostname", print_something },
	{ "id", print_something },
	{ "jobs", print_jobs },
	{ "ln", print_nothing },
	{ "mkdir", print_nothing },
	{ "mktemp", print_mktemp },
	{ "mv", print_nothing },
	{ "nproc", print_something },
	{ "pwd", print_pwd },
	{ "realpath", print_realpath },
	{ "rm", print_nothing },
	{ "seq", print_something },
	{ "sleep", print_nothing },
	{ "test", print_nothing },
	{ "touch", print_nothing },
	{ "true", print_nothing },
	{ "tty", print_something },
	{ "type", print_command },
	{ "uname", print_something },
	{ "uuidgen", print_something },
	{ "which", print_which },
	{ "whoami", print_something },
};

/* eval "$(kubectl completion bash)", eval "$(brew shellenv)": settings that a program prints for the
 * shell that asked. Running the program already trusts it, so its settings are not judged as unknown
 * text. That does not hold for the programs in `relays`, which print what others wrote, nor for shells
 * and interpreters. */
static bool prints_settings(const struct command *c, const char *name)
{
	static const char *const relays[] = { "cat", "head", "tail", "sed", "awk", "grep", "echo", "printf",
		"base64", "xxd", "tr", "rev", "jq", "tac", "sort", "cut", "ssh", "git", "python", "python3",
		"perl", "node" };
	static const char *const verbs[] = { "completion", "completions", "shellenv", "docker-env",
		"podman-env", "shell.bash", "shell.zsh", "shell.posix" };
	if (text_eq(name, "dircolors") || text_eq(name, "register-python-argcomplete"))
		return true;
	if (c->argc < 2 || c->argv[1].certainty != CERTAIN || shell_is_known(name))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(relays); i++)
		if (text_eq(name, relays[i]))
			return false;
	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++)
		if (text_eq(c->argv[1].text, verbs[i]))
			return true;
	return false;
}

/* Called after a program was classified. Refines only what is still wholly unknown, and only where
 * somebody captures the output. */
void outputs_refine(struct walk *w, struct command *c)
{
	if (!w->capture || c->out.kind != FEED_UNKNOWN || c->out.text || !c->argc ||
		c->argv[0].certainty != CERTAIN)
		return;
	const char *name = path_base(c->argv[0].text);
	for (size_t i = 0; i < ARRAY_SIZE(programs); i++)
		if (programs[i].name[0] == name[0] && text_eq(programs[i].name, name)) {
			programs[i].print(w, c);
			return;
		}
	if (prints_settings(c, name))
		print_nothing(w, c);
}
