/* variables.c — assignments that change what programs do: what they load, run, read and write.
 *
 * A variable in front of a command is as much part of it as its words: LD_PRELOAD loads code, GIT_PAGER names a program, PS4 is
 * expanded with every traced command, GIT_CONFIG_KEY_0 is a setting.  One table says which names mean what; the value then
 * decides whether it matters. */
#include "propose/programs/programs.h"

#include "base/file.h"

#include <ctype.h>
#include <string.h>

/* A list of directories for the loader that holds only those of the system and of the workspace, and
 * what was there before. */
static bool is_plain_search_path(struct call *k, const struct word *value)
{
	struct arena *a = walk_arena(k->w);
	const char *text = walk_marked(k->w, value), *cwd = walk_cwd(k->w, k->c);
	struct bytes rest = { (const uint8_t *)text, strlen(text) };
	while (rest.p && rest.n) {
		struct bytes part = text_cut(&rest, ':');
		const char *dir = arena_strndup(a, (const char *)part.p, part.n);
		/* An empty entry, or one that is only an unknown part: the old value of the variable. */
		if (!part.n || (part.n == 1 && (unsigned char)dir[0] < ' '))
			continue;
		if (dir[0] != '/' && !cwd)
			return false;
		const char *resolved;
		enum path_class where = paths_classify(walk_surroundings(k->w), a,
			path_clean(a, path_join(a, cwd ? cwd : "/", dir)), false, &resolved);
		if (where != PATH_IN && where != PATH_SYS && !text_eq(dir, "."))
			return false;
	}
	return true;
}

static bool names_local_host(const char *url)
{
	const char *host = strstr(url, "://");
	host = host ? host + 3 : url;
	static const char *const hosts[] = { "localhost", "127.0.0.1", "[::1]" };
	for (size_t i = 0; i < ARRAY_SIZE(hosts); i++) {
		size_t n = strlen(hosts[i]);
		if (strncmp(host, hosts[i], n) == 0 && (!host[n] || host[n] == ':' || host[n] == '/'))
			return true;
	}
	return false;
}

/* The variable is one that matters, but this value of it does not: ENV=test,
 * NODE_OPTIONS=--max-old-space-size=4096. */
static bool is_plain_value(struct call *k, const struct assignment *x)
{
	const struct word *v = &x->value;
	if (v->certainty == CERTAIN && !v->text_n)
		return true;
	if (list_has("LD_LIBRARY_PATH DYLD_LIBRARY_PATH", x->name, strlen(x->name)))
		return is_plain_search_path(k, v);
	/* A repository in a place where everybody writes has settings of everybody. */
	if (list_has("GIT_DIR GIT_COMMON_DIR", x->name, strlen(x->name)))
		return !word_starts(v, "/tmp/") && !word_starts(v, "/var/tmp/") &&
			!word_starts(v, "/dev/shm/");
	if (v->certainty != CERTAIN)
		return false;
	if (text_eq(x->name, "ENV"))
		return !strpbrk(v->text, "/.~");
	if (text_eq(x->name, "GIT_WORK_TREE"))
		return !strchr("/~", v->text[0]) && !text_starts(v->text, "..");
	if (text_eq(x->name, "NODE_OPTIONS"))
		return !strstr(v->text, "-r") && !strstr(v->text, "--import") && !strstr(v->text, "loader");
	if (list_has("RUBYOPT PERL5OPT", x->name, strlen(x->name)))
		return !strpbrk(v->text, "rIMm");
	return strcasestr(x->name, "_proxy") && names_local_host(v->text);
}

/* Not one of the machine's programs: a file of the workspace, or of a place everybody can write to. */
bool is_loose_program(const struct word *x)
{
	return word_starts(x, "./") || word_starts(x, "../") || word_starts(x, "/tmp/") ||
		word_starts(x, "/var/tmp/") || word_starts(x, "/dev/shm/");
}

/* LESSOPEN="| filter %s", "|| filter %s", "-filter": the sign says how less reads it. */
static const char *named_program(const struct assignment *x)
{
	const char *text = x->value.text;
	return text_eq(x->name, "LESSOPEN") ? text + strspn(text, "|- ") : text;
}

/* What a variable of this name means to the programs that read it. */
enum variable_kind {
	SAYS_LOADER, /* code that is loaded first */
	SAYS_PATH, /* where programs or modules are found */
	SAYS_PROGRAM, /* a program that others run with a file as its argument */
	SAYS_SETTINGS, /* a file of settings that can name programs */
	SAYS_OPTIONS, /* options of a program, as on its command line */
	SAYS_PROXY,
	SAYS_IFS,
	SAYS_FILE, /* a file that is written */
};

static const struct {
	const char *names;
	enum variable_kind kind;
} variables[] = {
	{ "LD_PRELOAD LD_LIBRARY_PATH LD_AUDIT DYLD_INSERT_LIBRARIES DYLD_LIBRARY_PATH BASH_ENV ENV "
	  "PROMPT_COMMAND PYTHONSTARTUP PYTHONHOME PYTHONBREAKPOINT NODE_OPTIONS PERL5OPT PERL5DB RUBYOPT GCONV_PATH "
	  "NODE_REPL_EXTERNAL_MODULE GIT_CONFIG_PARAMETERS GIT_EXEC_PATH GIT_TEMPLATE_DIR MAKEFILES "
	  "GIT_WORK_TREE GIT_DIR GIT_COMMON_DIR VIMINIT EXINIT",
		SAYS_LOADER },
	{ "PATH PYTHONPATH NODE_PATH PERL5LIB RUBYLIB CLASSPATH GOPATH LUA_PATH LUA_CPATH", SAYS_PATH },
	{ "PAGER EDITOR VISUAL GIT_SSH GIT_SSH_COMMAND GIT_EDITOR GIT_PAGER GIT_SEQUENCE_EDITOR GIT_ASKPASS SSH_ASKPASS "
	  "MANPAGER GIT_EXTERNAL_DIFF GIT_PROXY_COMMAND SHELL BROWSER LESSOPEN LESSCLOSE GH_PAGER GH_EDITOR GH_BROWSER "
	  "SUDO_ASKPASS SYSTEMD_PAGER BAT_PAGER DELTA_PAGER FZF_DEFAULT_COMMAND KUBE_EDITOR CC CXX CPP LD AR RUSTC "
	  "RUSTC_WRAPPER RUSTC_WORKSPACE_WRAPPER RUSTDOC CARGO_BUILD_RUSTC CARGO_BUILD_RUSTDOC "
	  "CARGO_BUILD_RUSTC_WRAPPER CARGO_BUILD_RUSTC_WORKSPACE_WRAPPER LESSEDIT npm_config_script_shell NPM_CONFIG_SCRIPT_SHELL",
		SAYS_PROGRAM },
	{ "GIT_CONFIG_GLOBAL GIT_CONFIG_SYSTEM GIT_CONFIG RIPGREP_CONFIG_PATH ACKRC INPUTRC WGETRC CURL_HOME "
	  "PIP_CONFIG_FILE NPM_CONFIG_USERCONFIG npm_config_userconfig",
		SAYS_SETTINGS },
	{ "MAKEFLAGS GNUMAKEFLAGS GOFLAGS FZF_DEFAULT_OPTS TAR_OPTIONS MANOPT LESS ZIPOPT JAVA_TOOL_OPTIONS _JAVA_OPTIONS MAVEN_OPTS",
		SAYS_OPTIONS },
	{ "http_proxy https_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY all_proxy", SAYS_PROXY },
	{ "IFS", SAYS_IFS },
	{ "GIT_OBJECT_DIRECTORY GIT_INDEX_FILE", SAYS_FILE },
};

/* The value names a program that others will run with a file as its argument; so it is judged as that command.  A file from
 * here runs under another program's name. */
static void judge_program(struct call *k, const struct assignment *x)
{
	const char *text = named_program(x);
	struct word program = word_tail(&x->value, (size_t)(text - x->value.text));
	if (x->value.certainty == CERTAIN && strpbrk(text, " `$;|")) {
		struct word line =
			walk_word(k->w, arena_printf(walk_arena(k->w), "%s file", text), x->value.at);
		run_text(k, &line, 0, x->name);
	}
	fx_name(k, is_loose_program(&program) ? TAG_ENVIRONMENT_LOADER : TAG_ENVIRONMENT_EXEC, x->name, 0);
}

/* PATH=/tmp:$PATH: whoever writes there decides what runs. */
static void judge_path(struct call *k, const struct assignment *x)
{
	static const char *const open[] = { "/tmp", "/var/tmp", "/dev/shm" };
	bool is_open = false;
	for (size_t i = 0; i < ARRAY_SIZE(open); i++) {
		size_t n = strlen(open[i]);
		is_open |= word_starts(&x->value, open[i]) &&
			(text_eq(x->name, "PATH") ? x->value.text[n] == ':'
						  : !x->value.text[n] || strchr(":/", x->value.text[n]));
	}
	fx_name(k, is_open ? TAG_ENVIRONMENT_LOADER : TAG_ENVIRONMENT_PATH, x->name, 0);
}

/* Options that carry code or name programs, whichever program reads them. */
static void judge_options(struct call *k, const struct assignment *x)
{
	static const char *const parts[] = { "eval", "$(", "${", "-f", "SHELL=", "exec", "vettool", "agent" };
	/* These are words of a command line, for which the program's own row speaks. */
	static const struct {
		const char *name, *program;
	} lines[] = { { "FZF_DEFAULT_OPTS", "fzf" }, { "TAR_OPTIONS", "tar" }, { "MANOPT", "man" },
		{ "LESS", "less" }, { "ZIPOPT", "zip" } };
	bool carries = false;
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		if (text_eq(x->name, lines[i].name)) {
			struct word line = walk_word(k->w,
				arena_printf(walk_arena(k->w), "%s %s", lines[i].program, x->value.text),
				x->value.at);
			run_text(k, &line, 0, x->name);
			return;
		}
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		carries |= word_has(&x->value, parts[i]);
	fx_name(k, carries ? TAG_ENVIRONMENT_LOADER : TAG_ENVIRONMENT_PLAIN, x->name, 0);
}

/* git's settings by environment: GIT_CONFIG_KEY_0 names one, GIT_TRACE=/file writes one. */
static void judge_git(struct call *k, const struct assignment *x)
{
	if (text_starts(x->name, "GIT_CONFIG_KEY_") &&
		(x->value.certainty != CERTAIN || git_key_runs(x->value.text) ||
			word_starts(&x->value, "alias.")))
		fx_name(k, TAG_ENVIRONMENT_LOADER, x->name, 0);
	if (text_starts(x->name, "GIT_TRACE") && (word_starts(&x->value, "/") || word_starts(&x->value, "~")))
		(void)fx_path(k, TAG_WRITE_FILE, &x->value, FXF_APPEND);
}

static void judge_variable(struct call *k, const struct assignment *x, enum variable_kind kind)
{
	switch (kind) {
	case SAYS_LOADER:
		fx_name(k, is_plain_value(k, x) ? TAG_ENVIRONMENT_PLAIN : TAG_ENVIRONMENT_LOADER, x->name, 0);
		break;
	case SAYS_PATH:
		judge_path(k, x);
		break;
	case SAYS_PROGRAM:
		judge_program(k, x);
		break;
	case SAYS_SETTINGS:
		fx_name(k,
			word_is_any(&x->value, "/dev/null") ||
					(x->value.certainty == CERTAIN && !x->value.text_n)
				? TAG_ENVIRONMENT_PLAIN
				: TAG_ENVIRONMENT_LOADER,
			x->name, 0);
		break;
	case SAYS_OPTIONS:
		judge_options(k, x);
		break;
	case SAYS_PROXY:
		fx_name(k, is_plain_value(k, x) ? TAG_ENVIRONMENT_PLAIN : TAG_ENVIRONMENT_PROXY, x->name, 0);
		break;
	case SAYS_IFS:
		fx_name(k, TAG_ENVIRONMENT_IFS, x->name, 0);
		break;
	case SAYS_FILE:
		(void)fx_path(k, TAG_WRITE_FILE, &x->value, FXF_APPEND);
		break;
	}
}

/* PS4 and its kin are expanded whenever they are shown; PS4 with every command that is traced. */
static void judge_prompt(struct call *k, const struct assignment *x)
{
	if (x->value.certainty != CERTAIN && !x->value.known_n && text_eq(x->name, "PS4"))
		fx_name(k, TAG_DYNAMIC_TEXT, x->name, 0);
	walk_prompt(k->w, k->c, walk_marked(k->w, &x->value));
}

/* Assignments, in front of a command or alone, that change how programs are found, loaded or reached.
 * Setting one of our own variables is an attempt on the guard; setting the history's to nothing hides
 * what was done. */
void classify_assignment(struct call *k, const struct assignment *x)
{
	size_t n = strlen(x->name);
	if (text_starts(x->name, "HELM_") || text_starts(x->name, "OPENCLAW_")) {
		fx_name(k, TAG_TAMPER_VARIABLE, x->name, 0);
		return;
	}
	/* Settings after which the shell no longer keeps what was typed. */
	bool forgets = text_eq(x->name, "HISTFILE") || text_eq(x->name, "HISTIGNORE") ||
		text_eq(x->name, "HISTCONTROL") ||
		((text_eq(x->name, "HISTSIZE") || text_eq(x->name, "HISTFILESIZE")) &&
			word_is(&x->value, "0"));
	if (forgets)
		fx_name(k, TAG_DELETE_HISTORY, x->name, 0);
	if ((text_ends(x->name, "PAGER") || text_ends(x->name, "_COMMAND") ||
		    text_ends(x->name, "_ASKPASS")) &&
		is_loose_program(&x->value))
		fx_name(k, TAG_ENVIRONMENT_LOADER, x->name, 0);
	if (n == 3 && x->name[0] == 'P' && x->name[1] == 'S' && x->name[2] >= '0' && x->name[2] <= '4')
		judge_prompt(k, x);
	if (text_starts(x->name, "GIT_"))
		judge_git(k, x);
	if (text_starts(x->name, "CARGO_TARGET_") && names_command(x->name, n))
		judge_variable(k, x, SAYS_PROGRAM);
	for (size_t i = 0; i < ARRAY_SIZE(variables); i++)
		if (list_has(variables[i].names, x->name, n))
			judge_variable(k, x, variables[i].kind);
}

/* NAME=... with the name and the sign known. */
bool is_assignment(const struct word *x)
{
	size_t n = strspn(x->text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_");
	return n && n < x->known_n && x->text[n] == '=' && !isdigit((unsigned char)x->text[0]);
}

void note_assignment(struct call *k, const struct word *x)
{
	size_t n = strcspn(x->text, "=");
	struct assignment as = { .name = arena_strndup(walk_arena(k->w), x->text, n) };
	as.value = word_tail(x, n < x->text_n ? n + 1 : n);
	classify_assignment(k, &as);
}
