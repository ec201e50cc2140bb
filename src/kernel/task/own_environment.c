/* own_environment.c — toolchain caches of a run's own, by variables.
 *
 * With mounts a cache is a layer (execute/own.c): the run reads what is there and writes into a copy.  Without mounts the cache itself is
 * read-only, and a variable leads its program to an empty directory of the run.  Where the program can read a second place, it is told the
 * old one; where its directory holds more than a cache, the rest is linked. */
#include "kernel/task/own_environment.h"

#include "base/file.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

enum how {
	SET, /* the variable names a directory, which is made */
	TELL, /* the variable gets this value where the old cache exists and the variable is not set */
	APPEND, /* options for a program: added to those that are there */
	PREPEND /* a list with colons: put in front */
};

/* By layer of share/execution_profiles.json.  In values "@" is the run's directory and "~" the home. */
static const struct {
	const char *layer, *variable, *value;
	enum how how;
	const char *
		unless; /* TELL: not where this file exists, in which the program may have been told something else */
} variables[] = {
	{ ".cache", "XDG_CACHE_HOME", "@/cache", SET,
		NULL }, /* uv, poetry, deno, coursier, pre-commit and others go by it */
	{ ".cache", "PIP_CACHE_DIR", "@/cache/pip", SET, NULL },
	{ ".cache", "GOCACHE", "@/cache/go-build", SET, NULL },
	{ ".npm", "npm_config_cache", "@/npm", SET, NULL },
	{ ".yarn", "YARN_CACHE_FOLDER", "@/yarn", SET, NULL },
	{ ".yarn", "YARN_GLOBAL_FOLDER", "@/yarn-global", SET, NULL },
	{ ".bun", "BUN_INSTALL_CACHE_DIR", "@/bun", SET, NULL },
	{ ".local/share/pnpm", "npm_config_store_dir", "@/pnpm", SET, NULL },
	{ ".cargo", "CARGO_HOME", "@/cargo", SET, NULL },
	/* ".rustup" has no variable: its toolchains are only read. */
	{ "go/pkg", "GOMODCACHE", "@/go/pkg/mod", SET, NULL },
	{ "go/pkg", "GOPATH", "@/go:~/go", PREPEND, NULL }, /* go writes pkg/sumdb in the first one */
	{ "go/pkg", "GOFLAGS", "-modcacherw", APPEND, NULL },
	{ "go/pkg", "GOPROXY", "file://~/go/pkg/mod/cache/download,https://proxy.golang.org,direct", TELL,
		"~/.config/go/env" },
	{ ".gradle", "GRADLE_USER_HOME", "@/gradle", SET, NULL },
	{ ".gradle", "GRADLE_RO_DEP_CACHE", "~/.gradle/caches", TELL, NULL },
	{ ".m2/repository", "MAVEN_OPTS",
		"-Dmaven.repo.local=@/maven -Dmaven.repo.local.tail=~/.m2/repository", APPEND, NULL },
	{ ".ivy2", "SBT_OPTS", "-Dsbt.ivy.home=@/ivy", APPEND, NULL },
	{ ".nuget", "NUGET_PACKAGES", "@/nuget", SET, NULL },
	{ ".nuget", "NUGET_FALLBACK_PACKAGES", "~/.nuget/packages", TELL, NULL },
	{ ".gem", "GEM_SPEC_CACHE", "@/gem", SET, NULL },
	{ ".bundle", "BUNDLE_USER_CACHE", "@/bundle", SET, NULL },
	{ ".composer", "COMPOSER_CACHE_DIR", "@/composer", SET, NULL },
	{ ".ccache", "CCACHE_DIR", "@/ccache", SET, NULL },
};
_Static_assert(ARRAY_SIZE(variables) <= OWN_ENVIRONMENT_MAX, "room for every variable");

/* What is linked from the old directory: so many levels of directories are made, and what lies below them is a link. */
static const struct {
	const char *variable, *name;
	int levels;
} linked[] = {
	{ "CARGO_HOME", "config", 0 },
	{ "CARGO_HOME", "config.toml", 0 },
	{ "CARGO_HOME", "bin", 0 },
	{ "CARGO_HOME", "registry", 3 }, /* registry/{cache,src,index}/REGISTRY/CRATE */
	{ "CARGO_HOME", "git/db", 1 },
	{ "CARGO_HOME", "git/checkouts", 2 },
	{ "GRADLE_USER_HOME", "wrapper", 4 }, /* wrapper/dists/NAME/HASH/... */
	{ "GRADLE_USER_HOME", "jdks", 0 },
	{ "GRADLE_USER_HOME", "init.d", 0 },
	{ "XDG_CACHE_HOME", "ms-playwright", 0 },
	{ "XDG_CACHE_HOME", "puppeteer", 0 },
	{ "XDG_CACHE_HOME", "Cypress", 0 },
	{ "XDG_CACHE_HOME", "huggingface", 0 },
	{ "XDG_CACHE_HOME", "torch", 0 },
};
enum { LINKS_MAX = 8192 };

/* ---- links ---- */

/* Makes `to` like the directory `from`.  Locks of programs stay behind: they are taken anew. */
static void link_tree(
	const struct own_environment *o, const char *from, const char *to, int levels, unsigned *left)
{
	struct sys *s = o->s;
	char **names = NULL;
	size_t n = 0;

	if (!levels || !file_is_dir(s, AT_FDCWD, from)) {
		if (*left && file_exists(s, AT_FDCWD, from)) {
			--*left;
			(void)s->symlink(s, from, AT_FDCWD, to);
		}
		return;
	}
	if (file_mkdirs(s, AT_FDCWD, to, 0700, NULL) || file_list(s, o->a, AT_FDCWD, from, &names, &n, NULL))
		return;
	for (size_t i = 0; i < n && *left; i++)
		if (!text_ends(names[i], ".lck") && !text_starts(names[i], ".package-cache"))
			link_tree(o, path_join(o->a, from, names[i]), path_join(o->a, to, names[i]),
				levels - 1, left);
}

static void link_rest(const struct own_environment *o, const char *variable, const char *old, const char *dir)
{
	unsigned left = LINKS_MAX;

	for (size_t i = 0; i < ARRAY_SIZE(linked); i++) {
		const char *from = path_join(o->a, old, linked[i].name),
			   *to = path_join(o->a, dir, linked[i].name);
		if (!text_eq(linked[i].variable, variable) || !file_exists(o->s, AT_FDCWD, from))
			continue;
		(void)file_mkdirs(o->s, AT_FDCWD, arena_strndup(o->a, to, (size_t)(path_base(to) - to) - 1),
			0700, NULL);
		link_tree(o, from, to, linked[i].levels, &left);
	}
}

/* ---- variables ---- */

static const char *expand(const struct own_environment *o, const char *text)
{
	struct buf to;

	buf_init(&to, o->a);
	for (; *text; text++) {
		if (*text == '@')
			buf_adds(&to, o->dir);
		else if (*text == '~')
			buf_adds(&to, o->home);
		else
			buf_addc(&to, *text);
	}
	return to.p;
}

/* Where the variable stands in `env`, or n. */
static size_t find(const char **env, size_t n, const char *name)
{
	size_t length = strlen(name), i = 0;

	while (i < n && (strncmp(env[i], name, length) != 0 || env[i][length] != '='))
		i++;
	return i;
}

static bool has_layer(const struct own_environment *o, const char *layer)
{
	for (size_t i = 0; i < o->layer_count; i++)
		if (text_eq(o->layers[i], layer))
			return true;
	return false;
}

/* The new directory, made and filled once; NULL when the old one can be written as it is, or the new one not be made. */
static const char *make_directory(const struct own_environment *o, size_t i, const char *given)
{
	const char *dir = expand(o, variables[i].value);
	const char *old = given && *given == '/' ? path_clean(o->a, given)
						 : path_join(o->a, o->home, variables[i].layer);

	if (given && path_is_in_one(old, o->write_paths))
		return NULL;
	if (file_is_dir(o->s, AT_FDCWD, dir))
		return dir;
	if (file_mkdirs(o->s, AT_FDCWD, dir, 0700, NULL))
		return NULL;
	link_rest(o, variables[i].variable, old, dir);
	return dir;
}

/* The new value; NULL: it stays as it is. */
static const char *value_of(const struct own_environment *o, size_t i, const char *given)
{
	const char *value = expand(o, variables[i].value);

	switch (variables[i].how) {
	case SET:
		return make_directory(o, i, given);
	case TELL:
		return given || !file_is_dir(o->s, AT_FDCWD, path_join(o->a, o->home, variables[i].layer)) ||
				(variables[i].unless &&
					file_exists(o->s, AT_FDCWD, expand(o, variables[i].unless)))
			? NULL
			: value;
	case APPEND:
		return given && *given ? arena_printf(o->a, "%s %s", given, value) : value;
	case PREPEND:
		return given && *given ? arena_printf(o->a, "%.*s:%s", (int)strcspn(value, ":"), value, given)
				       : value;
	}
	return NULL;
}

size_t own_environment(const struct own_environment *o, const char **env, size_t n)
{
	for (size_t i = 0; o->home && o->dir && i < ARRAY_SIZE(variables); i++) {
		const char *name = variables[i].variable;
		if (!has_layer(o, variables[i].layer))
			continue;
		size_t at = find(env, n, name);
		const char *value = value_of(o, i, at < n ? env[at] + strlen(name) + 1 : NULL);
		if (!value)
			continue;
		env[at] = arena_printf(o->a, "%s=%s", name, value);
		n += at == n;
	}
	return n;
}
