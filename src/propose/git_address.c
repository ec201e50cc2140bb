/* git_address.c — the address behind the name of a remote, and where hooks lie.
 *
 * `git push origin` goes where the repository's settings say that origin is, and whoever may write in the repository may change them.  So
 * a person is asked about the address, and an answer is bound to it.  Read as git-config(1), git-remote(1) and gitrepository-layout(5)
 * have it: the person's own files, the repository's, the work tree's, what they include, and the old files in .git/remotes and
 * .git/branches.  A condition of an include is taken to hold: an address too many is asked about once more, never one too few. */
#include "base/file.h"
#include "base/text.h"
#include "propose/git.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <strings.h>

enum { CONFIG_BYTES = 1 << 20, INCLUDES_DEEP = 4, DIRECTORIES_UP = 64 };

struct remotes {
	struct arena *a;
	const struct surroundings *at;
	const char *own,
		*common; /* the repository's directory for this work tree, and for all; NULL: there is none */
	const char *branch; /* that is checked out; or NULL */
	const char *remote; /* its name, or an address */
	bool is_push;
	struct json *settings; /* ["key", "value", ...] */
	const char *file; /* that is read */
	int depth;
};

static bool read_text(struct remotes *r, const char *path, struct bytes *ret)
{
	return file_read(r->at->sys, r->a, AT_FDCWD, path, CONFIG_BYTES, FILE_FOLLOW, ret, NULL) == OK;
}

/* ---- which repository ---- */

static const char *first_line(struct remotes *r, const char *path, const char *word)
{
	struct bytes text;

	if (!read_text(r, path, &text) || !text_starts((const char *)text.p, word))
		return NULL;
	const char *line = (const char *)text.p + strlen(word);
	return arena_strndup(r->a, line, strcspn(line, "\n"));
}

static const char *below(struct remotes *r, const char *dir, const char *name)
{
	return path_clean(r->a, path_join(r->a, dir, name));
}

static bool is_repository(struct remotes *r, const char *dir)
{
	struct sys *s = r->at->sys;

	return file_exists(s, AT_FDCWD, below(r, dir, "HEAD")) &&
		(file_exists(s, AT_FDCWD, below(r, dir, "commondir")) ||
			(file_is_dir(s, AT_FDCWD, below(r, dir, "objects")) &&
				file_is_dir(s, AT_FDCWD, below(r, dir, "refs"))));
}

/* As git looks for it: from the directory upwards, a ".git" that is a repository or leads to one, or a repository itself. */
static void find_repository(struct remotes *r, const char *cwd)
{
	const char *dir = path_clean(r->a, cwd);

	for (int i = 0; i < DIRECTORIES_UP && !r->own; i++) {
		const char *git = below(r, dir, ".git"), *to = first_line(r, git, "gitdir: ");
		if (to)
			r->own = below(r, dir, to);
		else if (is_repository(r, git))
			r->own = git;
		else if (is_repository(r, dir))
			r->own = dir;
		const char *slash = strrchr(dir, '/');
		if (!slash || !dir[1])
			break;
		dir = arena_strndup(r->a, dir, (size_t)(slash - dir) + (slash == dir));
	}
	if (!r->own)
		return;
	const char *common = first_line(r, below(r, r->own, "commondir"), ""),
		   *head = first_line(r, below(r, r->own, "HEAD"), "ref: refs/heads/");
	r->common = common ? below(r, r->own, common) : r->own;
	r->branch = head;
}

/* ---- settings ---- */

static void read_config(struct remotes *r, const char *path);

static void note(void *arg, const char *key, const char *value)
{
	struct remotes *r = arg;
	const char *dot = strrchr(key, '.');

	json_pushs(r->a, r->settings, key);
	json_pushs(r->a, r->settings, value);
	if (strncasecmp(key, "include", 7) != 0 || strcasecmp(dot, ".path") != 0 || !*value)
		return;
	const char *slash = strrchr(r->file, '/'), *home = r->at->home;
	read_config(r,
		value[0] == '~' && value[1] == '/' && home
			? below(r, home, value + 2)
			: below(r, arena_strndup(r->a, r->file, (size_t)(slash - r->file) + 1), value));
}

static void read_config(struct remotes *r, const char *path)
{
	const char *outer = r->file;
	struct bytes text;

	if (r->depth >= INCLUDES_DEEP || !read_text(r, path, &text))
		return;
	r->file = path;
	r->depth++;
	git_settings(r->a, text, note, r);
	r->depth--;
	r->file = outer;
}

static const char *variable(const struct surroundings *at, const char *name)
{
	const size_t n = strlen(name);

	for (const char *const *v = at->environment; v && *v; v++)
		if (strncmp(*v, name, n) == 0 && (*v)[n] == '=')
			return *v + n + 1;
	return NULL;
}

static void read_all(struct remotes *r)
{
	const char *home = r->at->home, *xdg = variable(r->at, "XDG_CONFIG_HOME");

	read_config(r, "/etc/gitconfig");
	if (xdg && *xdg == '/')
		read_config(r, below(r, xdg, "git/config"));
	else if (home)
		read_config(r, below(r, home, ".config/git/config"));
	if (home)
		read_config(r, below(r, home, ".gitconfig"));
	if (!r->common)
		return;
	read_config(r, below(r, r->common, "config"));
	read_config(r, below(r, r->own, "config.worktree"));
}

/* Section and last part are without case, what stands between them is not. */
static bool is_key(const char *key, const char *section, const char *name, const char *last)
{
	size_t n = strlen(section), m = name ? strlen(name) : 0;

	if (strncasecmp(key, section, n) != 0 || key[n] != '.')
		return false;
	key += n + 1;
	if (name && (strncmp(key, name, m) != 0 || key[m] != '.'))
		return false;
	return strcasecmp(name ? key + m + 1 : key, last) == 0;
}

/* The last one counts. */
static const char *setting(const struct remotes *r, const char *section, const char *name, const char *last)
{
	const char *found = NULL;

	for (uint32_t i = 0; i + 1 < r->settings->n; i += 2)
		if (is_key(json_text(r->settings->items[i]), section, name, last))
			found = json_text(r->settings->items[i + 1]);
	return found && *found ? found : NULL;
}

/* ---- the address ---- */

static const char *chosen_remote(const struct remotes *r)
{
	const char *name = NULL;

	if (r->is_push && r->branch)
		name = setting(r, "branch", r->branch, "pushremote");
	if (!name && r->is_push)
		name = setting(r, "remote", NULL, "pushdefault");
	if (!name && r->branch)
		name = setting(r, "branch", r->branch, "remote");
	return name ? name : "origin";
}

/* The longest beginning that a setting url.BASE.insteadOf names is replaced by BASE.  Those for pushes count for an address that was not
 * given for pushes. */
static const char *rewritten(const struct remotes *r, const char *url, const char *last)
{
	size_t best = 0;
	const char *base = NULL;

	for (uint32_t i = 0; i + 1 < r->settings->n; i += 2) {
		const char *key = json_text(r->settings->items[i]),
			   *from = json_text(r->settings->items[i + 1]), *dot = strrchr(key, '.');
		if (strncasecmp(key, "url.", 4) != 0 || dot < key + 4 || strcasecmp(dot + 1, last) != 0 ||
			strlen(from) <= best || !text_starts(url, from))
			continue;
		best = strlen(from);
		base = arena_strndup(r->a, key + 4, (size_t)(dot - key - 4));
	}
	return base ? arena_printf(r->a, "%s%s", base, url + best) : NULL;
}

/* Without the password: https://name:word@host/x. */
static const char *without_password(struct arena *a, const char *url)
{
	const char *host = strstr(url, "://"), *end, *at, *colon;

	if (!host)
		return url;
	host += 3;
	end = host + strcspn(host, "/?#");
	at = memrchr(host, '@', (size_t)(end - host));
	colon = at ? memchr(host, ':', (size_t)(at - host)) : NULL;
	return colon ? arena_printf(a, "%.*s%s", (int)(colon - url), url, at) : url;
}

static void add(struct remotes *r, struct buf *to, const char *url, bool is_for_push)
{
	const char *other = r->is_push && !is_for_push ? rewritten(r, url, "pushinsteadof") : NULL;

	if (!other)
		other = rewritten(r, url, "insteadof");
	buf_addf(to, "%s%s", to->n ? ", " : "", without_password(r->a, other ? other : url));
}

static void add_settings(struct remotes *r, struct buf *to, const char *last)
{
	for (uint32_t i = 0; i + 1 < r->settings->n; i += 2)
		if (is_key(json_text(r->settings->items[i]), "remote", r->remote, last))
			add(r, to, json_text(r->settings->items[i + 1]), text_eq(last, "pushurl"));
}

/* .git/remotes/NAME has lines "URL: ...", .git/branches/NAME has an address and perhaps a '#' and a branch. */
static void add_old_files(struct remotes *r, struct buf *to)
{
	struct bytes text;

	if (!r->common || strchr(r->remote, '/') || r->remote[0] == '.')
		return;
	if (read_text(r, below(r, r->common, arena_printf(r->a, "remotes/%s", r->remote)), &text)) {
		while (text.p) {
			struct bytes line = text_cut(&text, '\n');
			const char *one = arena_strndup(r->a, (const char *)line.p, line.n);
			if (text_starts(one, "URL:"))
				add(r, to, one + 4 + strspn(one + 4, " \t"), false);
		}
	} else if (read_text(r, below(r, r->common, arena_printf(r->a, "branches/%s", r->remote)), &text)) {
		const char *line = (const char *)text.p;
		add(r, to, arena_strndup(r->a, line, strcspn(line, "#\n")), false);
	}
}

/* Between git and the address there may be somebody else. */
static void add_proxy(struct remotes *r, struct buf *to)
{
	const char *proxy = setting(r, "remote", r->remote, "proxy");

	if (!proxy)
		proxy = setting(r, "http", NULL, "proxy");
	if (proxy && to->n)
		buf_addf(to, " through %s", without_password(r->a, proxy));
}

const char *git_address(
	struct arena *a, const struct surroundings *at, const char *cwd, const char *remote, bool is_push)
{
	struct remotes r = { .a = a, .at = at, .is_push = is_push, .settings = json_new(a, JSON_ARRAY) };
	struct buf to;

	if (!at->sys || !cwd || *cwd != '/')
		return NULL;
	find_repository(&r, cwd);
	read_all(&r);
	r.remote = remote && *remote ? remote : chosen_remote(&r);
	buf_init(&to, a);
	if (is_push)
		add_settings(&r, &to, "pushurl");
	if (!to.n)
		add_settings(&r, &to, "url");
	if (!to.n)
		add_old_files(&r, &to);
	if (!to.n)
		add(&r, &to, r.remote, false);
	add_proxy(&r, &to);
	return text_eq(to.p, remote ? remote : "") ? NULL : to.p;
}

/* A tool that makes such a directory for itself ("_") keeps the scripts that it starts beside it. */
struct json *propose_git_hooks(struct arena *a, const struct surroundings *at, const char *tree)
{
	struct remotes r = { .a = a, .at = at, .settings = json_new(a, JSON_ARRAY) };
	struct json *list = json_new(a, JSON_ARRAY);

	if (!at->sys)
		return list;
	find_repository(&r, tree);
	read_all(&r);
	for (uint32_t i = 0; i + 1 < r.settings->n; i += 2) {
		const char *value = json_text(r.settings->items[i + 1]);
		if (!is_key(json_text(r.settings->items[i]), "core", NULL, "hookspath") || !*value)
			continue;
		char *dir = arena_strdup(a,
			value[0] == '~' && value[1] == '/' && at->home ? below(&r, at->home, value + 2)
								       : below(&r, tree, value));
		if (text_ends(dir, "/_"))
			dir[strlen(dir) - 2] = '\0';
		json_pushs(a, list, dir);
	}
	return list;
}
