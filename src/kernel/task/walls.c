/* walls.c — from profile to walls: what a run may write, what is hidden from it, what it may only read, and
 * the environment it gets.
 *
 * This is all of what a profile means to the operating system; execute/ puts it up and knows no
 * profiles. */
#include "base/file.h"
#include "base/names.h"
#include "base/text.h"
#include "clients/clients.h"
#include "execute/egress/egress.h"
#include "kernel/linked.h"
#include "kernel/posture.h"
#include "kernel/task/own_environment.h"
#include "kernel/task/parts.h"

#include <ctype.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>

extern char **environ;

/* ---- environment ---- */

/* Compares the name of a NAME=value entry. */
static bool is_listed(const char *entry, const char *const *names)
{
	size_t n = strcspn(entry, "=");

	for (; *names; names++)
		if (strlen(*names) == n && strncmp(entry, *names, n) == 0)
			return true;
	return false;
}

/* Gates, approvals and temporary directories are ours to set: a child must not hand its own on to the next
 * helm. */
static bool is_control(const char *entry)
{
	static const char *const control[] = { "HELM_GUARD_MODE", "HELM_PAUSE_GATE", "OPENCLAW_PAUSE_GATE",
		"HELM_BROWSER_GATE", "OPENCLAW_BROWSER_GATE", "HELM_APPROVAL", "TMPDIR", "TMP", "TEMP",
		NULL };

	return is_listed(entry, control);
}

/* Does the name of the variable say that it holds a credential? */
static bool names_secret(const char *entry)
{
	static const char *const parts[] = { "TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE",
		"CREDENTIAL", "APIKEY", "API_KEY", "ACCESS_KEY", "PRIVATE_KEY", "SSH_AUTH_SOCK", "COOKIE",
		"AUTHORIZATION", "SESSION_KEY", "CONNECTION_STRING", "DATABASE_URL", "SIGNING_KEY",
		"ENCRYPTION_KEY" };
	/* Only as whole words: GIT_AUTHOR_NAME and NODE_PATH are none. */
	static const char *const words[] = { "AUTH", "DSN", "PAT", "PASS", "KEY" };
	char name[128];
	size_t n = strcspn(entry, "=");

	if (n >= sizeof(name))
		return true;
	for (size_t i = 0; i < n; i++)
		name[i] = (char)toupper((unsigned char)entry[i]);
	name[n] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		if (strstr(name, parts[i]))
			return true;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		for (const char *at = name; (at = strstr(at, words[i])); at++) {
			const char *end = at + strlen(words[i]);
			if ((at == name || at[-1] == '_') && !isalpha((unsigned char)*end))
				return true;
		}
	return false;
}

/* A profile for work behind walls gets everything but what is called a credential: toolchains are steered by variables that nobody
 * can list.  A profile without network gets a short list of variables, because others often hold credentials. */
static bool may_pass(const char *entry, const struct profile *p, const struct run_session *session)
{
	static const char *const basic[] = { "PATH", "HOME", "LANG", "LC_ALL", "TERM", "SHELL", "USER",
		"LOGNAME", "SYSTEMROOT", "COMSPEC", "NO_COLOR", "COLORTERM", NULL };
	static const char *const working[] = { "PWD", "OLDPWD", "VIRTUAL_ENV", "CONDA_DEFAULT_ENV",
		"CONDA_PREFIX", NULL };

	if (is_control(entry))
		return false;
	if (profile_reach(p) == NETWORK_NAMED && egress_is_variable(entry))
		return false;
	for (const char *const *name = session ? session->variables : NULL; name && *name; name++)
		if (text_starts(entry, *name))
			return true;
	if (profile_reach(p) == NETWORK_FULL)
		return true;
	if (p->contained == CONTAINED_ALLOW)
		return !names_secret(entry);
	return is_listed(entry, basic) || text_starts(entry, "HELM_") || text_starts(entry, "OPENCLAW_") ||
		(p->writes == ALLOWANCE_YES && is_listed(entry, working));
}

/* Under both names, ours and the one that older tools read. */
static void put(struct arena *a, const char **env, size_t *n, const char *name, const char *value)
{
	if (!value)
		return;
	env[(*n)++] = arena_printf(a, "HELM_%s=%s", name, value);
	env[(*n)++] = arena_printf(a, "OPENCLAW_%s=%s", name, value);
}

/* Where the run's temporary files go, and its caches where no mounts lie over them.  `env` has room for OWN_ENVIRONMENT_MAX more. */
static size_t put_own(const struct task *t, const char **env, size_t n)
{
	static const char *const names[] = { "TMPDIR", "TMP", "TEMP" };
	const struct profile *p = t->profile;
	const struct own_environment own = { .s = t->k->sys,
		.a = t->a,
		.dir = t->tmp.path,
		.home = t->k->ws->home,
		.layers = p->layers,
		.layer_count = p->layer_count,
		.write_paths = t->rules.write_paths };

	for (size_t i = 0; t->tmpdir && i < (t->rules.own_by_environment ? ARRAY_SIZE(names) : 1); i++)
		env[n++] = arena_printf(t->a, "%s=%s", names[i], t->tmpdir);
	if (t->own_home) {
		for (size_t i = 0; i < n; i++)
			if (text_starts(env[i], "HOME="))
				env[i] = arena_printf(t->a, "HOME=%s", t->own_home);
		env[n++] = arena_printf(t->a, "HELM_HOME=%s", t->k->ws->helm_home);
	}
	return t->rules.own_by_environment ? own_environment(&own, env, n) : n;
}

/* The state cannot be read inside: the run gets a copy of the newest resume card among its temporary files.  NULL: there is none. */
static const char *copy_card(const struct task *t)
{
	enum { CARD_BYTES = 256 << 10 };
	static const char name[] = ".previous-state.md";
	struct bytes text;

	if (!t->cards.newest || !t->tmp_from ||
		file_read(t->k->sys, t->a, AT_FDCWD, t->cards.newest, CARD_BYTES, 0, &text, NULL) ||
		file_put(t->k->sys, AT_FDCWD, path_join(t->a, t->tmp_from, name), 0600, text, NULL))
		return NULL;
	return path_join(t->a, t->tmpdir, name);
}

/* Without mounts: where a session's client has its state.  `env` has room for one more of each. */
static const char *const *lead_home(const char *const *to, const char **env, size_t n)
{
	for (; to && *to; to++) {
		const size_t name_n = strcspn(*to, "=") + 1;
		size_t i = 0;
		while (i < n && strncmp(env[i], *to, name_n) != 0)
			i++;
		env[i] = *to;
		n += i == n;
	}
	return env;
}

/* By profile, with the task's own variables. */
static const char *const *environment_of(const struct task *t)
{
	struct arena *a = t->a;
	size_t n = 0, have = 0;

	while (environ[have])
		have++;
	const char **env = arena_zalloc(a, have + 48 + OWN_ENVIRONMENT_MAX, sizeof(*env));
	for (size_t i = 0; i < have; i++)
		if (may_pass(environ[i], t->profile, t->spec->session) &&
			!text_starts(environ[i], "HELM_TASK_") && !text_starts(environ[i], "OPENCLAW_TASK_"))
			env[n++] = environ[i];
	put(a, env, &n, "TASK_ID", t->id);
	put(a, env, &n, "TASK_PROFILE", t->spec->profile);
	put(a, env, &n, "TASK_SKILL", t->spec->skill);
	put(a, env, &n, "TASK_NAME", t->spec->task_name);
	put(a, env, &n, "PREVIOUS_STATE_SNAPSHOT", copy_card(t));
	env[n++] = arena_printf(a, "HELM_WORKSPACE=%s", t->k->ws->root);
	for (const char *const *one = egress_environment(a, t->door); *one; one++)
		env[n++] = *one;
	n = put_own(t, env, n);
	if (t->tmpdir && t->spec->session && t->spec->session->tmp_variable)
		env[n++] = arena_printf(a, "%s=%s", t->spec->session->tmp_variable, t->tmpdir);
	return t->spec->session ? lead_home(t->spec->session->environment, env, n) : env;
}

/* The client's own, as far as the profile has it: without Helm's switches, and without credentials where the profile keeps those from
 * work behind walls.  Marked like that of a run. */
const char *const *contained_environment(const struct task *t, const char *const *given)
{
	const struct profile *p = t->profile;
	size_t n = 0, have = 0;

	while (given[have])
		have++;
	const char **env = arena_zalloc(t->a, have + 48 + OWN_ENVIRONMENT_MAX, sizeof(*env));
	for (size_t i = 0; i < have; i++)
		if (!is_control(given[i]) && !text_starts(given[i], "HELM_TASK_ID=") &&
			!(profile_reach(p) == NETWORK_NAMED && egress_is_variable(given[i])) &&
			!(p->contained == CONTAINED_ALLOW && names_secret(given[i])))
			env[n++] = t->commands && text_starts(given[i], "PATH=")
				? arena_printf(t->a, "%s:%s", given[i], t->commands)
				: given[i];
	env[n++] = arena_printf(t->a, "HELM_TASK_ID=%s", t->id);
	for (const char *const *one = egress_environment(t->a, t->door); *one; one++)
		env[n++] = *one;
	(void)put_own(t, env, n);
	return env;
}

/* ---- places ---- */

const char *task_tree(const struct task *t)
{
	return t->at.work_tree ? t->at.work_tree : t->k->ws->root;
}

bool task_is_beside(const struct task *t)
{
	const struct workspace *ws = t->k->ws;

	return t->profile->contained == CONTAINED_ALLOW && t->at.work_tree &&
		!path_is_below(t->at.work_tree, ws->root) && text_eq(t->at.work_tree, ws->tree);
}

/* The path without links, NULL when there is nothing. */
static const char *real_path(const struct task *t, const char *path)
{
	struct sys *s = t->k->sys;
	char real[PATH_MAX];
	AUTO(close_fd) int fd = s->open(s, AT_FDCWD, path, O_PATH, 0, 0);
	ssize_t n = fd < 0
		? -1
		: s->readlink(s, AT_FDCWD, arena_printf(t->a, "/proc/self/fd/%d", fd), real, sizeof(real));

	return n > 0 && n < (ssize_t)sizeof(real) ? arena_strndup(t->a, real, (size_t)n) : NULL;
}

/* Where git keeps the commits and branches of a work tree whose repository lies elsewhere, and its own things there.  Configuration, hooks
 * and whatever else the repository has stay closed. */
static void add_linked(const struct task *t, struct json *list)
{
	static const char *const names[] = { "objects", "refs", "logs" };
	struct linked to;

	if (!linked_find(t->k->sys, t->a, task_tree(t), t->k->ws->home, &to))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const char *path = arena_printf(t->a, "%s/%s", to.common, names[i]),
			   *real = real_path(t, path);
		/* A link in its place, which a run in the repository itself can make, would open where it leads. */
		if (real && text_eq(real, path) && file_is_dir(t->k->sys, AT_FDCWD, path))
			place_add(t->a, list, path);
	}
	place_add(t->a, list, to.own);
}

/* What a contract names, where no link is on the way: one that an earlier run left in its place would open where it leads. */
static void add_contracted(const struct task *t, struct json *list)
{
	const char *tree = real_path(t, task_tree(t));

	for (const char *const *p = t->profile->terms->writes;
		tree && *p && t->profile->writes == ALLOWANCE_YES; p++) {
		const char *path = path_clean(t->a, path_join(t->a, tree, *p)), *real = real_path(t, path);
		if (real && text_eq(real, path))
			place_add(t->a, list, path);
	}
}

static const char *const *writable_paths(const struct task *t)
{
	struct arena *a = t->a;
	struct json *list = json_new(a, JSON_ARRAY);

	if (!t->rules.own)
		place_add(a, list, t->tmp.path);
	if (t->profile->terms && t->profile->terms->has_writes) {
		add_contracted(t, list);
		return place_list(a, list);
	}
	if (t->profile->writes == ALLOWANCE_YES) {
		if (!task_is_beside(t))
			place_add(a, list, t->k->ws->root);
		place_add(a, list, t->at.work_tree);
		if (!t->rules.own_by_environment) /* it has mounts, or the supervisor leads it to rules.shm */
			place_add(a, list, "/dev/shm");
		add_linked(t, list);
	}
	for (const char *const *p = t->at.allowed; p && *p && t->profile->writes == ALLOWANCE_YES; p++)
		place_add(a, list, *p);
	for (size_t i = 0; i < t->profile->write_path_count && t->profile->writes == ALLOWANCE_YES; i++)
		place_add(a, list, path_clean(a, path_join(a, t->k->ws->root, t->profile->write_paths[i])));
	return place_list(a, list);
}

/* What is there, lies where the run may write, and is not listed yet.  A mount lies on what a link leads to, and the
 * link itself can be replaced: so what it leads to is listed, and the link is armed.c's. */
static void freeze(const struct task *t, const char *const *writable, const char *path, struct json *list)
{
	const char *real = path_is_in_one(path, writable) ? real_path(t, path) : NULL;

	json_each (one, list)
		if (!real || path_is_below(real, json_text(one)))
			return;
	if (real && path_is_in_one(real, writable))
		place_add(t->a, list, real);
}

/* The directory that holds a client's settings is closed as a whole, so that no other file of settings appears in it.  One that the
 * client shares with others (.github) is not. */
static const char *holder(struct arena *a, const char *root, const char *row)
{
	size_t n = strlen(row) - text_ends(row, "/");
	const char *slash = memrchr(row, '/', n);
	size_t dir = slash ? (size_t)(slash - row) : n;

	if (dir == strlen(".github") && text_starts(row, ".github/"))
		dir = n;
	return arena_printf(a, "%s/%.*s", root, (int)dir, row);
}

static void freeze_armed(
	const struct task *t, const char *const *writable, const char *root, struct json *list)
{
	const struct client *c;
	const char *other;
	struct names there;

	names_look(t->k->sys, AT_FDCWD, root, &there);
	for (size_t i = 0; (c = clients_at(i)); i++)
		for (const struct client_file *f = c->files; f->path; f++) {
			if (!names_may_have(&there, f->path))
				continue;
			freeze(t, writable, holder(t->a, root, f->path), list);
		}
	for (size_t i = 0; (other = armed_closed_at(t->a, i)); i++)
		if (names_may_have(&there, other))
			freeze(t, writable, path_clean(t->a, arena_printf(t->a, "%s/%s", root, other)), list);
}

/* ---- the same deeper in the tree ---- */

/* So many places at most: each is a mount.  What lies beyond is found afterwards (armed.c). */
enum { NESTED_CLOSED = 64 };

/* Settings that lie deeper than the root are closed by the directory that holds them. */
static const char *holder_below(struct arena *a, const char *root, const char *rel)
{
	for (const char *p = strchr(rel, '/'); p; p = strchr(p + 1, '/')) {
		const char *below = p + 1, *slash = strchr(below, '/');
		if (clients_care(below) == CARE_NONE && !text_eq(below, ".envrc"))
			continue;
		if (text_starts(below, ".github/") || text_starts(below, ".config/"))
			slash = strrchr(below, '/');
		return arena_printf(
			a, "%s/%.*s", root, (int)(slash ? (size_t)(slash - rel) : strlen(rel)), rel);
	}
	return NULL;
}

/* Hooks of repositories below are looked at afterwards: trees of builds hold such repositories, and a mount in one would keep a run from
 * removing it. */
static void freeze_deeper(struct task *t, const char *const *writable, const char *root, struct json *list)
{
	const uint32_t before = list->n;

	if (!t->nested) {
		t->nested = nested_new(t->a, t);
		nested_look(t->nested, t, root);
	}
	json_each (rel, nested_settings(t->nested)) {
		const char *path = holder_below(t->a, root, json_text(rel));
		if (path && list->n - before < NESTED_CLOSED)
			freeze(t, writable, path, list);
	}
}

/* What decides about runs must not be changed by one, although it lies where a run may write: state, the
 * workspace's own rules, the settings that arm the guard in agent clients, and hooks.  What does not exist yet is armed.c's. */
static const char *const *frozen_paths(struct task *t, const char *const *writable)
{
	struct arena *a = t->a;
	const char *roots[] = { t->k->ws->root, t->at.work_tree, t->k->ws->home };
	struct json *list = json_new(a, JSON_ARRAY);

	place_add(a, list, t->k->ws->state_dir);
	place_add(a, list, t->own_home);
	for (const char *const *p = t->spec->session ? t->spec->session->closed : NULL; p && *p; p++)
		place_add(a, list, *p);
	freeze(t, writable, arena_printf(a, "%s/references", t->k->ws->root), list);
	for (size_t i = 0; i < ARRAY_SIZE(roots); i++)
		if (roots[i])
			freeze_armed(t, writable, roots[i], list);
	freeze_deeper(t, writable, task_tree(t), list);
	git_private_places(t, writable, list);
	return place_list(a, list);
}

/* Runs in the child, as the last thing before it becomes the command. */
static bool last_look(void *arg, char *why, size_t why_n)
{
	return task_program_is_same(arg, why, why_n);
}

/* ---- directories of its own ---- */

/* Is it a part of what is worked in? */
static bool is_at_work(const struct task *t, const char *path)
{
	return path_is_below(path, t->k->ws->root) || path_is_below(path, task_tree(t));
}

/* One directory below the private one; NULL when it cannot be made. */
static const char *make_below(const struct task *t, const char *name)
{
	struct sys *s = t->k->sys;
	const char *path = arena_printf(t->a, "%s/%s", t->tmp.path, name);

	return s->mkdir(s, AT_FDCWD, path, 0700) == 0 ? path : NULL;
}

/* Those caches that exist: there is nothing to lay over another one.  Whatever fails here leaves its place read-only. */
static const struct sandbox_layer *choose_layers(const struct task *t)
{
	const struct profile *p = t->profile;
	struct sandbox_layer *list = arena_zalloc(t->a, p->layer_count + 1, sizeof(*list));
	const char *home = t->k->ws->home ? real_path(t, t->k->ws->home) : NULL;
	struct stat st;
	size_t n = 0;

	for (size_t i = 0; home && !strpbrk(home, ":,\\") && i < p->layer_count; i++) {
		const char *at = path_clean(t->a, arena_printf(t->a, "%s/%s", home, p->layers[i]));
		if (t->k->sys->stat(t->k->sys, AT_FDCWD, at, &st, AT_SYMLINK_NOFOLLOW) ||
			!S_ISDIR(st.st_mode) || is_at_work(t, at) || path_is_below(task_tree(t), at) ||
			path_is_below(t->k->ws->root, at))
			continue;
		const char *upper = make_below(t, arena_printf(t->a, "upper%zu", n)),
			   *work = make_below(t, arena_printf(t->a, "work%zu", n));
		if (upper && work)
			list[n++] = (struct sandbox_layer){ at, upper, work };
	}
	return n ? list : NULL;
}

/* Where the temporary directory is everybody's, the run's own lies over the one that those of all runs are in: it reads nothing of theirs. */
static void cover_others(struct task *t)
{
	struct sandbox_own *own = arena_zalloc(t->a, 2, sizeof(*own));

	if (!t->tmp.all)
		return;
	/* Copies of files (git_private.c) lie beside it, out of the run's sight. */
	const char *from = t->profile->writes == ALLOWANCE_YES ? make_below(t, "tmp") : NULL;
	own[0] = (struct sandbox_own){ t->tmp.all, from ? from : t->tmp.path };
	t->rules.own = own;
	t->tmpdir = t->tmp.all;
	t->tmp_from = own[0].from;
}

/* Without mounts: temporary files, shared memory and caches have directories below the private one (own_environment.c). */
static void lead_to_own(struct task *t)
{
	const char *tmp = make_below(t, "tmp");

	t->rules.own_by_environment = true;
	t->rules.own_dir = t->tmp.path;
	t->rules.shm = t->profile->writes == ALLOWANCE_YES ? make_below(t, "shm") : NULL;
	t->tmpdir = t->tmp_from = tmp ? tmp : t->tmp.path;
}

static void link_in_home(const struct task *t, const char *path)
{
	struct sys *s = t->k->sys;
	const char *home = t->k->ws->home;

	if (!path_is_below(path, home) || text_eq(path, home))
		return;
	const char *to = arena_printf(t->a, "%s%s", t->own_home, path + strlen(home));
	(void)file_mkdirs(s, AT_FDCWD, arena_strndup(t->a, to, (size_t)(path_base(to) - to) - 1), 0700, NULL);
	(void)s->symlink(s, path, AT_FDCWD, to);
}

/* Without mounts: the run's home is a directory of links to the places of the real one that it may read. */
static void link_home(struct task *t)
{
	struct sys *s = t->k->sys;
	const char *home = t->k->ws->home;

	if (!home || !t->k->ws->helm_home || !t->rules.own_by_environment ||
		!(t->own_home = make_below(t, "home")))
		return;
	for (int i = 0; i < 2; i++)
		for (const char *const *p = i ? t->rules.write_paths : t->rules.shown; p && *p; p++)
			link_in_home(t, *p);
	/* What lies in a place that is linked already is reached through it. */
	for (size_t i = 0; i < t->opening_count; i++)
		if (t->openings[i].what != OPENS_HOST &&
			!path_is_in_one(t->openings[i].target, t->rules.shown) &&
			!path_is_in_one(t->openings[i].target, t->rules.write_paths))
			link_in_home(t, t->openings[i].target);
	for (const struct sandbox_home *h = t->rules.homes; h && h->at; h++)
		if (h->git_config)
			(void)file_put(s, AT_FDCWD, arena_printf(t->a, "%s/.gitconfig", t->own_home), 0600,
				bytes_of(h->git_config), NULL);
}

/* Layers over the state of a session's client come before those of the profile: there may be more than there is room for. */
static void add_session_layers(struct task *t)
{
	const struct run_session *session = t->spec->session;
	size_t n = 0, more = 0;

	if (!session || !session->home)
		return;
	if (!session->is_home_mounted)
		t->rules.own_home = session->home;
	while (t->rules.layers && t->rules.layers[n].at)
		n++;
	while (session->layers && session->layers[more].at)
		more++;
	struct sandbox_layer *layers = arena_zalloc(t->a, n + more + 1, sizeof(*layers));
	if (more)
		memcpy(layers, session->layers, more * sizeof(*layers));
	if (n)
		memcpy(layers + more, t->rules.layers, n * sizeof(*layers));
	t->rules.layers = layers;
}

/* Programs make ~/.cache where there is none.  A home that has none cannot have a layer over it, and is read-only: an empty one is put there. */
static const char *missing_cache(const struct task *t)
{
	const struct profile *p = t->profile;
	const char *home = t->k->ws->home ? real_path(t, t->k->ws->home) : NULL;
	const char *cache = home ? arena_printf(t->a, "%s/.cache", home) : NULL;
	bool is_layer = false;

	for (size_t i = 0; i < p->layer_count; i++)
		is_layer |= text_eq(p->layers[i], ".cache");
	return cache && is_layer && !is_at_work(t, cache) && !path_is_below(task_tree(t), cache) &&
			!file_exists(t->k->sys, AT_FDCWD, cache)
		? cache
		: NULL;
}

/* One private directory serves all places.  Layers keep theirs beside it, out of the run's sight. */
static void choose_own(struct task *t)
{
	const struct profile *p = t->profile;

	t->tmpdir = t->tmp_from = t->tmp.path;
	if (!t->tmp.path)
		return;
	if (t->rules.kind == SANDBOX_SUPERVISED) {
		lead_to_own(t);
		return;
	}
	/* Where mounts may be missing, a run sees its directory under its own name. */
	if (posture_waived(t->k->sys, t->a, t->k->ws) & DEMAND_OWN)
		return;
	if (!p->own_path_count) {
		cover_others(t);
		return;
	}
	struct sandbox_own *own = arena_zalloc(t->a, p->own_path_count + 2, sizeof(*own));
	size_t n = 0;
	t->rules.layers = choose_layers(t);
	/* Beside it lie layers and copies of files (git_private.c), out of the run's sight. */
	const char *from = t->rules.layers || p->writes == ALLOWANCE_YES ? make_below(t, "tmp") : t->tmp.path;
	for (size_t i = 0; from && i < p->own_path_count; i++)
		if (!is_at_work(t, p->own_paths[i]))
			own[n++] = (struct sandbox_own){ p->own_paths[i], from };
	if (!n) {
		t->rules.layers = NULL;
		return;
	}
	const char *cache = from ? missing_cache(t) : NULL,
		   *own_cache = cache ? make_below(t, "cache") : NULL;
	if (own_cache)
		own[n] = (struct sandbox_own){ cache, own_cache };
	t->rules.own = own;
	t->tmpdir = own[0].at;
	t->tmp_from = from;
}

/* The lists live in the task's memory and must stay there until the run has ended. */
void task_rules(struct task *t)
{
	const struct profile *p = t->profile;

	t->rules = (struct sandbox_rules){
		.network = profile_reach(p),
		.door = t->door ? egress_inside(t->door) : 0,
		.limits = p->limits,
		.desk = t->spec->session,
		.kind = machine_kind(t->k->sys, t->a, t->k->ws->helm_home),
		.waived = (DEMAND_ALL & ~guarantees_of_walls(p->requires)) |
			posture_waived(t->k->sys, t->a, t->k->ws),
	};
	t->rules.proxy_port = t->door && t->rules.kind == SANDBOX_SUPERVISED ? egress_port(t->door) : 0;
	choose_own(t);
	add_session_layers(t);
	t->rules.exec_paths = task_programs(t);
	t->rules.write_paths = writable_paths(t);
	t->rules.hidden = task_hidden(t);
	link_home(t);
	task_places(t);
	openings_rule(t);
	openings_rule_git(t);
	git_private_begin(t);
}

/* The state of other workspaces in the tree is not shown, either; see can_hide_state() in hidden.c. */
static void hide_nested_states(struct task *t)
{
	struct json *list = json_new(t->a, JSON_ARRAY);

	if (!t->nested || t->rules.kind != SANDBOX_NAMESPACES || !nested_states(t->nested)->n)
		return;
	for (const char *const *p = t->rules.hidden; *p; p++)
		place_add(t->a, list, *p);
	json_each (rel, nested_states(t->nested))
		place_add(t->a, list, path_join(t->a, task_tree(t), json_text(rel)));
	t->rules.hidden = place_list(t->a, list);
}

static const char *const *own_home_only(const struct task *t)
{
	const char **list = arena_zalloc(t->a, 2, sizeof(*list));

	list[0] = t->own_home;
	return t->own_home ? list : NULL;
}

void task_places(struct task *t)
{
	t->rules.hidden = task_hidden(t);
	t->rules.read_only = t->profile->writes == ALLOWANCE_YES || t->spec->session
		? frozen_paths(t, t->rules.write_paths)
		: own_home_only(t);
	hide_nested_states(t);
}

void task_walls(struct task *t)
{
	const char **argv = arena_zalloc(t->a, t->spec->argc + 1, sizeof(*argv));

	memcpy(argv, t->spec->argv, t->spec->argc * sizeof(*argv));
	task_rules(t);
	t->run = (struct run_request){ .argv = argv,
		.program = t->program.path,
		.last_look = last_look,
		.arg = &t->program,
		.environment = environment_of(t),
		.cwd = t->spec->cwd,
		.timeout_ms = t->timeout_s * 1000,
		.capture = !t->spec->is_terminal && !t->spec->session,
		.quiet = t->spec->is_evidence,
		.is_session = t->spec->session,
		.alone = t->spec->session ? t->spec->session->alone : NULL,
		.rules = &t->rules };
	task_egress_listen(t);
}

void walls_probe(struct sys *s, struct arena *a, const struct workspace *ws, struct machine *ret)
{
	const struct machine_places at = { ws->root, ws->state_dir,
		ws->helm_home ? arena_printf(a, "%s/keys", ws->helm_home) : NULL, NULL };

	machine_probe(s, a, &at, ret);
}
