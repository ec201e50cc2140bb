/* variables.c — assignments that change what programs do: what they load, run, read and write.
 *
 * A variable in front of a command is as much part of it as its words: LD_PRELOAD loads code, GIT_PAGER names a program, PS4 is
 * expanded with every traced command, GIT_CONFIG_KEY_0 is a setting.  One table says which names mean what; the value then
 * decides whether it matters. */
#include "propose/programs/programs.h"

#include "base/file.h"

#include <ctype.h>
#include <fcntl.h>
#include <string.h>
#include <strings.h>

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

bool names_local_host(const char *url)
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

/* GOPROXY=https://proxy.golang.org,direct: a list of places that everybody gets modules from. */
static bool names_known_sources(const char *list)
{
	static const char *const known[] = { "https://proxy.golang.org", "https://goproxy.io",
		"https://goproxy.cn" };
	for (size_t n; *list; list += n + (list[n] != '\0')) {
		bool is_known = false;
		n = strcspn(list, ",|");
		for (size_t i = 0; i < ARRAY_SIZE(known); i++)
			is_known |= strlen(known[i]) == n && memcmp(known[i], list, n) == 0;
		if (!is_known && !list_has("direct off", list, n) && !names_local_host(list))
			return false;
	}
	return true;
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
	if (text_eq(x->name, "GOPROXY"))
		return names_known_sources(v->text);
	if (list_has("DOCKER_HOST GH_HOST", x->name, strlen(x->name)))
		return text_starts(v->text, "unix://") || text_eq(v->text, "github.com") ||
			names_local_host(v->text);
	if (text_eq(x->name, "GH_REPO")) {
		const char *slash = strchr(v->text, '/');
		return text_starts(v->text, "github.com/") ||
			(slash && !strchr(slash + 1, '/') && !strpbrk(v->text, ":@"));
	}
	if (list_has("GITLAB_HOST GITLAB_URI GL_HOST", x->name, strlen(x->name)))
		return text_eq(v->text, "gitlab.com") || text_eq(v->text, "https://gitlab.com") ||
			names_local_host(v->text);
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
	SAYS_HOME, /* where every program looks for its settings */
	SAYS_PLACE, /* where one program finds settings or code, and a project may keep its own */
	SAYS_OPTIONS, /* options of a program, as on its command line */
	SAYS_TRUST, /* whom to believe on the network */
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
	  "GIT_WORK_TREE GIT_DIR GIT_COMMON_DIR VIMINIT EXINIT DOTNET_STARTUP_HOOKS CORECLR_PROFILER_PATH COR_PROFILER_PATH "
	  "ERL_FLAGS ERL_AFLAGS ERL_ZFLAGS ELIXIR_ERL_OPTIONS",
		SAYS_LOADER },
	{ "PATH PYTHONPATH NODE_PATH PERL5LIB RUBYLIB CLASSPATH GOPATH LUA_PATH LUA_CPATH FPATH", SAYS_PATH },
	{ "PAGER EDITOR VISUAL GIT_SSH GIT_SSH_COMMAND GIT_EDITOR GIT_PAGER GIT_SEQUENCE_EDITOR GIT_ASKPASS SSH_ASKPASS "
	  "MANPAGER GIT_EXTERNAL_DIFF GIT_PROXY_COMMAND SHELL BROWSER LESSOPEN LESSCLOSE GH_PAGER GH_EDITOR GH_BROWSER "
	  "SUDO_ASKPASS SYSTEMD_PAGER BAT_PAGER DELTA_PAGER FZF_DEFAULT_COMMAND KUBE_EDITOR CC CXX CPP LD AR RUSTC "
	  "RUSTC_WRAPPER RUSTC_WORKSPACE_WRAPPER RUSTDOC CARGO_BUILD_RUSTC CARGO_BUILD_RUSTDOC "
	  "CARGO_BUILD_RUSTC_WRAPPER CARGO_BUILD_RUSTC_WORKSPACE_WRAPPER LESSEDIT CCACHE_PREFIX CCACHE_COMPILER "
	  "CMAKE_C_COMPILER_LAUNCHER CMAKE_CXX_COMPILER_LAUNCHER",
		SAYS_PROGRAM },
	{ "GIT_CONFIG_GLOBAL GIT_CONFIG_SYSTEM GIT_CONFIG RIPGREP_CONFIG_PATH ACKRC INPUTRC WGETRC CURL_HOME "
	  "PIP_CONFIG_FILE PYTEST_PLUGINS",
		SAYS_SETTINGS },
	{ "HOME XDG_CONFIG_HOME XDG_CONFIG_DIRS XDG_DATA_HOME XDG_DATA_DIRS ZDOTDIR", SAYS_HOME },
	{ "CARGO_HOME RUSTUP_HOME RUSTUP_TOOLCHAIN GOENV GOTOOLCHAIN GOROOT GRADLE_USER_HOME MAVEN_HOME M2_HOME JAVA_HOME "
	  "GEM_HOME GEM_PATH BUNDLE_GEMFILE BUNDLE_PATH PYTHONUSERBASE UV_CONFIG_FILE PIPX_HOME YARN_RC_FILENAME "
	  "YARN_YARN_PATH PNPM_HOME BUN_INSTALL DENO_DIR LUA_INIT PHPRC PHP_INI_SCAN_DIR R_PROFILE R_PROFILE_USER "
	  "R_ENVIRON R_ENVIRON_USER R_LIBS R_LIBS_USER JULIA_DEPOT_PATH JULIA_PROJECT LESSKEY LESSKEYIN CMAKE_TOOLCHAIN_FILE "
	  "CMAKE_PROJECT_INCLUDE CMAKE_PREFIX_PATH CMAKE_MODULE_PATH CCACHE_CONFIGPATH OPENSSL_CONF OPENSSL_MODULES "
	  "OPENSSL_ENGINES LOCPATH GNUPGHOME DOCKER_CONFIG KUBECONFIG AWS_CONFIG_FILE AWS_SHARED_CREDENTIALS_FILE "
	  "CLOUDSDK_CONFIG AZURE_CONFIG_DIR TF_CLI_CONFIG_FILE TF_PLUGIN_CACHE_DIR ANSIBLE_CONFIG GH_CONFIG_DIR SCREENRC "
	  "PSQLRC PGSERVICEFILE PGPASSFILE MYSQL_HOME MISE_CONFIG_FILE MISE_GLOBAL_CONFIG_FILE MISE_CONFIG_DIR "
	  "DIRENV_CONFIG NVIM_APPNAME VIMRUNTIME",
		SAYS_PLACE },
	{ "MAKEFLAGS GNUMAKEFLAGS GOFLAGS JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS MAVEN_OPTS GRADLE_OPTS SBT_OPTS JAVA_OPTS",
		SAYS_OPTIONS },
	{ "CURL_CA_BUNDLE SSL_CERT_FILE SSL_CERT_DIR REQUESTS_CA_BUNDLE NODE_EXTRA_CA_CERTS GIT_SSL_CAINFO "
	  "GIT_SSL_NO_VERIFY NODE_TLS_REJECT_UNAUTHORIZED PYTHONHTTPSVERIFY",
		SAYS_TRUST },
	{ "GOPROXY DOCKER_HOST GH_HOST GH_REPO GITLAB_HOST GITLAB_URI GL_HOST", SAYS_PROXY },
	{ "http_proxy https_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY all_proxy", SAYS_PROXY },
	{ "IFS", SAYS_IFS },
	{ "GIT_OBJECT_DIRECTORY GIT_INDEX_FILE LD_DEBUG_OUTPUT SQLITE_HISTORY PSQL_HISTORY MYSQL_HISTFILE NODE_REPL_HISTORY "
	  "PYTHON_HISTORY LESSHISTFILE",
		SAYS_FILE },
};

/* Words of a command line, for which the row of the program speaks. */
static const struct {
	const char *names, *program;
} lines[] = { { "FZF_DEFAULT_OPTS", "fzf" }, { "TAR_OPTIONS", "tar" }, { "MANOPT", "man" },
	{ "LESS", "less" }, { "ZIPOPT", "zip" }, { "PYTEST_ADDOPTS", "pytest" }, { "MAVEN_ARGS", "mvn" },
	{ "ANT_ARGS", "ant" }, { "RUSTFLAGS RUSTDOCFLAGS CARGO_BUILD_RUSTFLAGS", "rustc" },
	{ "CFLAGS CXXFLAGS CPPFLAGS LDFLAGS CGO_CFLAGS CGO_CXXFLAGS CGO_LDFLAGS", "gcc" } };

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

/* The next part of a list of places, with its unknown parts in place; NULL after the last one. */
static const char *next_place(struct arena *a, const char **rest)
{
	size_t n = strcspn(*rest, ":;");
	if (!**rest)
		return NULL;
	const char *part = arena_strndup(a, *rest, n);
	*rest += n + ((*rest)[n] != 0);
	return part;
}

/* Below a place where everybody writes, and not the work tree that lies there. */
static bool is_open_place(struct call *k, const char *place)
{
	static const char *const open[] = { "/tmp", "/var/tmp", "/dev/shm" };
	struct arena *a = walk_arena(k->w);
	const char *resolved;
	place += *place == '@';
	if (*place != '/')
		return false;
	place = path_clean(a, place);
	for (size_t i = 0; i < ARRAY_SIZE(open); i++)
		if (path_is_below(place, open[i]))
			return paths_classify(walk_surroundings(k->w), a, place, false, &resolved) != PATH_IN;
	return false;
}

static bool names_open_place(struct call *k, const struct word *list)
{
	const char *rest = walk_marked(k->w, list), *part;
	while ((part = next_place(walk_arena(k->w), &rest)))
		if (is_open_place(k, part))
			return true;
	return false;
}

/* A toolchain that was unpacked below /tmp: there, and with no program of a name that the system has. */
static bool is_toolchain(struct call *k, const char *dir)
{
	static const char *const system[] = { "/usr/bin", "/bin", "/usr/sbin", "/usr/local/bin" };
	enum { MAX_TOOLS = 4096 };
	const struct surroundings *at = walk_surroundings(k->w);
	struct arena *a = walk_arena(k->w);
	char **names;
	size_t n;

	if (!at->sys || !at->inspect_scripts || file_list(at->sys, a, AT_FDCWD, dir, &names, &n, NULL) ||
		!n || n > MAX_TOOLS)
		return false;
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < ARRAY_SIZE(system); j++)
			if (file_exists(at->sys, AT_FDCWD, path_join(a, system[j], names[i])))
				return false;
	return true;
}

/* PATH=/tmp:$PATH, PATH=/tmp/x:$PATH: whoever writes there decides what `ls` is. */
static bool is_open_path(struct call *k, const struct assignment *x)
{
	const char *rest = walk_marked(k->w, &x->value), *part;

	while ((part = next_place(walk_arena(k->w), &rest)))
		if (is_open_place(k, part) && !is_toolchain(k, part))
			return true;
	return false;
}

static void judge_path(struct call *k, const struct assignment *x)
{
	bool is_open = text_eq(x->name, "PATH") ? is_open_path(k, x) : names_open_place(k, &x->value);
	fx_name(k, is_open ? TAG_ENVIRONMENT_LOADER : TAG_ENVIRONMENT_PATH, x->name, 0);
}

/* The file of this name in one directory of a search path; NULL: there is none.  *ret_stops: what the system has is found first. */
static const char *found_in(struct call *k, const char *dir, bool *ret_stops)
{
	const struct surroundings *at = walk_surroundings(k->w);
	struct arena *a = walk_arena(k->w);
	const char *cwd = walk_cwd(k->w, k->c), *resolved;
	struct feed content;

	if (strpbrk(dir, WALK_MARKS) || (*dir != '/' && !cwd)) /* a part of it is not known */
		return NULL;
	dir = path_clean(a, path_join(a, cwd ? cwd : "/", dir));
	enum path_class where = paths_classify(at, a, dir, false, &resolved);
	const char *file = path_join(a, dir, k->c->argv[0].text);
	bool is_there = note_find(k, file, &content) || note_program(k, file) ||
		(at->sys && at->inspect_scripts && file_exists(at->sys, AT_FDCWD, file));
	*ret_stops = is_there;
	return is_there && (where == PATH_IN || where == PATH_TMP || where == PATH_UP) ? file : NULL;
}

/* PATH=$PWD/b:$PATH ls runs b/ls, where there is one; PATH= looks where the command stands. */
const char *file_of_path(struct call *k)
{
	const char *value, *part, *file = NULL;

	for (size_t i = 0; !file && (value = walk_value(k->w, "PATH", i)); i++) {
		bool stops = false;
		if (!*value)
			file = found_in(k, "", &stops);
		while (!stops && (part = next_place(walk_arena(k->w), &value)))
			file = found_in(k, part, &stops);
	}
	return file;
}

/* HOME=/tmp/x git status: the settings there may name programs.  A directory that was made a moment ago and in which nothing was
 * written is empty. */
static bool is_strange_home(struct call *k, const struct assignment *x)
{
	struct arena *a = walk_arena(k->w);
	const struct word *v = &x->value;
	const char *cwd = walk_cwd(k->w, k->c), *resolved, *rest = walk_marked(k->w, v), *part;
	struct feed content;
	if (v->certainty != CERTAIN)
		return names_open_place(k, v) &&
			!(word_starts(v, "/tmp/tmp.") && !note_find(k, NULL, &content));
	while ((part = next_place(a, &rest))) {
		if (!*part || (*part != '/' && !cwd))
			continue;
		enum path_class where = paths_classify(walk_surroundings(k->w), a,
			path_clean(a, path_join(a, cwd ? cwd : "/", part)), false, &resolved);
		if (where == PATH_IN || where == PATH_TMP || where == PATH_UP)
			return true;
	}
	return false;
}

static bool runs_from_open_place(const struct effect *e)
{
	return e->kind == FX_SCRIPT && e->path_class == PATH_TMP;
}

/* NAME="words of a command line": the program's own row knows what they mean.  Parts that are not known stay unknown words.  A
 * program from where everybody writes runs under another one's name, as in judge_program(). */
static void judge_line(struct call *k, const struct assignment *x, const char *program)
{
	const char *text = arena_printf(walk_arena(k->w), "%s %s", program, walk_marked(k->w, &x->value));
	struct word line = walk_word(k->w, text, x->value.at);
	struct command inner = *k->c;
	inner.assign_count = 0;
	if (walk_attempt(k->w, &inner, NULL, 0, &line, runs_from_open_place))
		fx_name(k, TAG_ENVIRONMENT_LOADER, x->name, 0);
	walk_text(k->w, &inner, &line, x->name);
}

/* npm_config_script_shell=x is npm --script-shell=x. */
static void judge_npm(struct call *k, const struct assignment *x)
{
	char *name = arena_strdup(walk_arena(k->w), x->name + strlen("npm_config_"));
	for (char *p = name; *p; p++)
		*p = *p == '_' ? '-' : (char)tolower((unsigned char)*p);
	struct word v[] = { walk_word(k->w, "npm", x->value.at), x->value };
	v[1].text = arena_printf(walk_arena(k->w), "--%s=%s", name, x->value.text);
	size_t added = strlen(v[1].text) - x->value.text_n;
	v[1].text_n += added;
	v[1].known_n += added;
	v[1].marked = NULL;
	struct call at = *k;
	at.program = program_find("npm", 3);
	at.head = "npm";
	at.rest = v + 1;
	at.rest_count = 1;
	classify_values(&at);
}

/* Another authority than the machine's, or none. */
static bool is_other_trust(struct call *k, const struct assignment *x)
{
	if (text_ends(x->name, "_NO_VERIFY"))
		return !word_is_any(&x->value, "0 false") && x->value.text_n;
	if (text_ends(x->name, "UNAUTHORIZED") || text_ends(x->name, "VERIFY"))
		return word_is(&x->value, "0");
	return names_open_place(k, &x->value) || is_loose_program(&x->value);
}

/* Options that carry code or name programs, whichever program reads them. */
static void judge_options(struct call *k, const struct assignment *x)
{
	static const char *const parts[] = { "eval", "$(", "${", "-f", "SHELL=", "exec", "vettool", "agent",
		"@/" };
	bool carries = false;
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		carries |= word_has(&x->value, parts[i]);
	fx_name(k, carries ? TAG_ENVIRONMENT_LOADER : TAG_ENVIRONMENT_PLAIN, x->name, 0);
}

/* git's settings by environment: GIT_CONFIG_KEY_0 names one, GIT_TRACE=/file writes one. */
static void judge_git(struct call *k, const struct assignment *x)
{
	if (text_starts(x->name, "GIT_CONFIG_KEY_") &&
		(x->value.certainty != CERTAIN || git_key_runs(x->value.text) ||
			git_key_is_proxy(x->value.text) || word_starts_caseless(&x->value, "alias.")))
		fx_name(k, TAG_ENVIRONMENT_LOADER, x->name, 0);
	if (text_starts(x->name, "GIT_TRACE") && (word_starts(&x->value, "/") || word_starts(&x->value, "~")))
		(void)fx_path(k, TAG_WRITE_FILE, &x->value, FXF_APPEND);
}

static void judge_variable(struct call *k, const struct assignment *x, enum variable_kind kind)
{
	switch (kind) {
	case SAYS_LOADER:
		if (text_eq(x->name, "PROMPT_COMMAND"))
			run_text(k, &x->value, 0, x->name);
		else if (list_has("BASH_ENV ENV", x->name, strlen(x->name)) && !is_plain_value(k, x))
			run_script(k, &x->value, "sh");
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
	case SAYS_HOME:
		fx_name(k, is_strange_home(k, x) ? TAG_ENVIRONMENT_LOADER : TAG_ENVIRONMENT_PLAIN, x->name,
			0);
		break;
	case SAYS_PLACE:
		fx_name(k, names_open_place(k, &x->value) ? TAG_ENVIRONMENT_LOADER : TAG_ENVIRONMENT_PATH,
			x->name, 0);
		break;
	case SAYS_TRUST:
		fx_name(k, is_other_trust(k, x) ? TAG_NETWORK_OVERRIDE : TAG_ENVIRONMENT_PLAIN, x->name, 0);
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

/* Names that say by their end what they are, whichever program reads them: HG_EDITOR, CVS_RSH, EMACSLOADPATH. */
static const char *const programs_by_end[] = { "PAGER", "_COMMAND", "_ASKPASS", "_EDITOR", "_RSH", "_SSH",
	"_BROWSER", "_WRAPPER", "_LAUNCHER", NULL };
static const char *const places_by_end[] = { "RCPATH", "LOADPATH", "_HOME", "_CONFIG_FILE", "_CONFIG_DIR",
	"_CONFIG_HOME", "_CONFIG_PATH", "_RCFILE", NULL };

static bool ends_in_any(const char *name, const char *const *ends)
{
	for (; *ends; ends++)
		if (text_ends(name, *ends))
			return true;
	return false;
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
	if (n == 3 && x->name[0] == 'P' && x->name[1] == 'S' && x->name[2] >= '0' && x->name[2] <= '4')
		judge_prompt(k, x);
	if (text_starts(x->name, "GIT_"))
		judge_git(k, x);
	if (text_starts(x->name, "CARGO_TARGET_") && names_command(x->name, n))
		judge_variable(k, x, SAYS_PROGRAM);
	if (strncasecmp(x->name, "npm_config_", 11) == 0)
		judge_npm(k, x);
	bool is_listed = false;
	for (size_t i = 0; i < ARRAY_SIZE(variables); i++)
		if (list_has(variables[i].names, x->name, n)) {
			judge_variable(k, x, variables[i].kind);
			is_listed = true;
		}
	if (!is_listed && ends_in_any(x->name, programs_by_end))
		judge_program(k, x);
	if (!is_listed && ends_in_any(x->name, places_by_end) && names_open_place(k, &x->value))
		fx_name(k, TAG_ENVIRONMENT_LOADER, x->name, 0);
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		if (list_has(lines[i].names, x->name, n))
			judge_line(k, x, lines[i].program);
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
	if (text_eq(as.name, "PATH") || names_host_variable(as.name))
		walk_may_be(k->w, as.name, &as.value);
}
