/* hidden.c — what a run must not see at all: Helm's keys and decisions, people's credentials, the machine's, and homes of others.
 *
 * Files that nobody but their owner may read are closed by the system already, but a run of root's has no such limit, and a run of a
 * person's reads what that person reads.  So every place of the one list (model/secret.h) that exists and could be reached is
 * covered: below HOME, below the home of the account where HOME is another one, and those of the system.  Homes of others are covered
 * as wholes.  A profile opens a place by naming it; what the run works in stays open. */
#include "base/file.h"
#include "base/names.h"
#include "base/text.h"
#include "kernel/task/parts.h"
#include "model/secret.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { HOMES_MAX = 256, PASSWD_BYTES = 1 << 20 };

void place_add(struct arena *a, struct json *list, const char *path)
{
	if (path)
		json_pushs(a, list, path);
}

const char *const *place_list(struct arena *a, const struct json *list)
{
	const char **all = arena_zalloc(a, (size_t)list->n + 1, sizeof(*all));

	for (size_t i = 0; i < list->n; i++)
		all[i] = json_text(list->items[i]);
	return all;
}

/* Could whoever starts the run look into it?  What they cannot reach needs no cover. */
static bool is_in_reach(const struct task *t, const char *path)
{
	return faccessat(AT_FDCWD, path, R_OK, AT_EACCESS) == 0 ||
		(file_is_dir(t->k->sys, AT_FDCWD, path) && faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) == 0);
}

/* Does the run work in it? */
static bool is_at_work_below(const struct task *t, const char *path)
{
	const struct profile *p = t->profile;

	for (size_t i = 0; i < p->write_path_count; i++)
		if (path_is_below(path_clean(t->a, path_join(t->a, t->k->ws->root, p->write_paths[i])), path))
			return true;
	return path_is_below(t->k->ws->root, path) || path_is_below(task_tree(t), path);
}

/* A place that the profile names, or in which the run works, stays open. */
static bool is_open_place(const struct task *t, const char *place, const char *path)
{
	const struct profile *p = t->profile;
	size_t n = strlen(place) - text_ends(place, "/");

	for (size_t i = 0; i < p->secret_count; i++)
		if (strncmp(p->secrets[i], place, n) == 0 &&
			(!p->secrets[i][n] || text_eq(p->secrets[i] + n, "/")))
			return true;
	if (t->spec->session && path_is_in_one(path, t->spec->session->own))
		return true; /* the client's own credentials */
	return is_at_work_below(t, path);
}

static void hide_place(const struct task *t, const char *place, const char *path, struct json *list)
{
	if (file_exists(t->k->sys, AT_FDCWD, path) && is_in_reach(t, path) && !is_open_place(t, place, path))
		place_add(t->a, list, path);
}

/* People's credentials in one home: of all places that there are, most are in no home. */
static void hide_in_home(const struct task *t, const char *home, struct json *list)
{
	struct names there;
	const char *place;

	names_look(t->k->sys, AT_FDCWD, home, &there);
	for (size_t i = 0; (place = secret_place_at(i)); i++)
		if (names_may_have(&there, place))
			hide_place(
				t, place, path_clean(t->a, arena_printf(t->a, "%s/%s", home, place)), list);
}

static void hide_system(const struct task *t, struct json *list)
{
	const char *place;

	for (size_t i = 0; (place = secret_system_at(i)); i++)
		hide_place(t, place, path_clean(t->a, place), list);
}

/* Where a person's ssh keys are open, the agent that holds them is, too: everything around its socket is hidden, and it is not. */
static void hide_around(const struct task *t, const char *place, const char *path, struct json *list)
{
	const char *agent = t->k->sys->getenv(t->k->sys, "SSH_AUTH_SOCK");
	char **names = NULL;
	size_t n = 0;

	if (!agent || agent[0] != '/' || !path_is_below(path_clean(t->a, agent), path) ||
		!is_open_place(t, ".ssh/", "/")) {
		hide_place(t, place, path, list);
		return;
	}
	if (!file_is_dir(t->k->sys, AT_FDCWD, path) ||
		file_list(t->k->sys, t->a, AT_FDCWD, path, &names, &n, NULL))
		return;
	for (size_t i = 0; i < n; i++)
		hide_around(t, place, arena_printf(t->a, "%s/%s", path, names[i]), list);
}

/* /tmp/tmux-*: each that is there. */
static void hide_named(const struct task *t, const char *place, struct json *list)
{
	const char *slash = strrchr(place, '/'), *dir = arena_strndup(t->a, place, (size_t)(slash - place));
	const size_t n = strlen(slash + 1) - 1;
	char **names = NULL;
	size_t count = 0;

	if (file_list(t->k->sys, t->a, AT_FDCWD, dir, &names, &count, NULL))
		return;
	for (size_t i = 0; i < count; i++)
		if (strncmp(names[i], slash + 1, n) == 0)
			hide_place(t, place, arena_printf(t->a, "%s/%s", dir, names[i]), list);
}

/* The socket that a variable names: TMUX=/path,1,0, unix:path=/path,guid=..., unix:///path. */
static void hide_variable(const struct task *t, const char *variable, const char *place, struct json *list)
{
	const char *value = t->k->sys->getenv(t->k->sys, variable), *from = value ? strchr(value, '/') : NULL;

	if (!from || (value[0] != '/' && !text_starts(value, "unix:")))
		return;
	from += strspn(from, "/") - 1;
	hide_around(t, place, path_clean(t->a, arena_strndup(t->a, from, strcspn(from, ",;"))), list);
}

/* A run with the whole network may use sockets in the file system, too.  Those behind which somebody starts programs for it would lead
 * out of its walls. */
static void hide_doors(const struct task *t, struct json *list)
{
	static const char *const variables[][2] = { { "TMUX", "/tmp/tmux-*" },
		{ "XDG_RUNTIME_DIR", "/run/user/" }, { "DBUS_SESSION_BUS_ADDRESS", "/run/user/" },
		{ "DBUS_SYSTEM_BUS_ADDRESS", "/run/dbus/" }, { "DOCKER_HOST", "/run/docker.sock" },
		{ "CONTAINER_HOST", "/run/podman/" } };
	const char *place, *home = t->k->ws->home;

	for (size_t i = 0; (place = secret_door_at(i)); i++) {
		if (text_ends(place, "*"))
			hide_named(t, place, list);
		else if (place[0] == '/')
			hide_around(t, place, path_clean(t->a, place), list);
		else if (home)
			hide_place(
				t, place, path_clean(t->a, arena_printf(t->a, "%s/%s", home, place)), list);
	}
	for (size_t i = 0; i < ARRAY_SIZE(variables); i++)
		hide_variable(t, variables[i][0], variables[i][1], list);
}

/* Is a program that the run may start looked for there? */
static bool has_programs(const struct task *t, const char *dir)
{
	const char *path = t->k->sys->getenv(t->k->sys, "PATH");
	struct bytes all = bytes_of(path ? path : "");

	while (all.p) {
		struct bytes one = text_cut(&all, ':');
		if (path_is_below(arena_strndup(t->a, (const char *)one.p, one.n), dir))
			return true;
	}
	return t->program.path && path_is_below(t->program.path, dir);
}

static bool is_allowed_below(const struct task *t, const char *dir)
{
	for (const char *const *p = t->at.allowed; p && *p; p++)
		if (path_is_below(*p, dir))
			return true;
	return t->spec->cwd && path_is_below(t->spec->cwd, dir);
}

/* One that holds something of the run's loses only its credentials. */
static void hide_home_of_other(const struct task *t, const char *dir, struct json *list)
{
	if (is_at_work_below(t, dir) || is_allowed_below(t, dir) || has_programs(t, dir))
		hide_in_home(t, dir, list);
	else if (is_in_reach(t, dir))
		place_add(t->a, list, dir);
}

/* The home of the account as /etc/passwd has it, or NULL: NAME:x:UID:GID:TEXT:HOME:SHELL. */
static const char *account_home(const struct task *t)
{
	struct bytes all;

	if (file_read(t->k->sys, t->a, AT_FDCWD, "/etc/passwd", PASSWD_BYTES, FILE_FOLLOW, &all, NULL))
		return NULL;
	while (all.p) {
		struct bytes line = text_cut(&all, '\n'), field[6];
		for (size_t i = 0; i < ARRAY_SIZE(field); i++)
			field[i] = text_cut(&line, ':');
		if (!field[5].p)
			continue;
		const char *uid = arena_strndup(t->a, (const char *)field[2].p, field[2].n);
		const char *dir = arena_strndup(t->a, (const char *)field[5].p, field[5].n);
		int64_t number;
		if (text_int(uid, &number) && number == (int64_t)geteuid())
			return dir[0] == '/' && dir[1] ? path_clean(t->a, dir) : NULL;
	}
	return NULL;
}

static void hide_homes(const struct task *t, struct json *list)
{
	const char *home = t->k->ws->home, *of_account = account_home(t);
	char **names = NULL;
	size_t n = 0;

	if (home)
		hide_in_home(t, home, list);
	if (of_account && !(home && text_eq(home, of_account)))
		hide_in_home(t, of_account, list);
	if (file_list(t->k->sys, t->a, AT_FDCWD, "/home", &names, &n, NULL))
		n = 0;
	for (size_t i = 0; i <= n && i < HOMES_MAX; i++) {
		const char *dir = i < n ? arena_printf(t->a, "/home/%s", names[i]) : "/root";
		bool is_mine =
			(home && path_is_below(home, dir)) || (of_account && path_is_below(of_account, dir));
		if (!is_mine && file_is_dir(t->k->sys, AT_FDCWD, dir))
			hide_home_of_other(t, dir, list);
	}
}

/* ~/.helm is closed.  If the workspace itself lies in it, everything is that does not lead there. */
static void hide_helm_home(const struct task *t, struct json *list)
{
	const char *home = t->k->ws->helm_home;
	char **names = NULL;
	size_t n = 0;

	if (!home)
		return;
	if (!path_is_below(t->k->ws->root, home)) {
		place_add(t->a, list, home);
		return;
	}
	if (file_list(t->k->sys, t->a, AT_FDCWD, home, &names, &n, NULL))
		n = 0;
	for (size_t i = 0; i < n; i++) {
		const char *path = arena_printf(t->a, "%s/%s", home, names[i]);
		if (!path_is_below(t->k->ws->root, path))
			place_add(t->a, list, path);
	}
}

/* A run that may not write has no business in the state, either; and one that must not see all of the tree none in checkpoints and bundles. */
const char *const *task_hidden(const struct task *t)
{
	const struct terms *terms = t->profile->terms;
	struct json *list = json_new(t->a, JSON_ARRAY);

	hide_helm_home(t, list);
	if (t->profile->writes != ALLOWANCE_YES || (terms && terms->hidden && *terms->hidden))
		place_add(t->a, list, t->k->ws->state_dir);
	hide_homes(t, list);
	hide_system(t, list);
	/* Without mounts the directories of other runs lie beside its own. */
	if (t->rules.own_by_environment && t->tmp.all)
		place_add(t->a, list, t->tmp.all);
	if (profile_reach(t->profile) == NETWORK_FULL)
		hide_doors(t, list);
	for (const char *const *p = t->profile->terms ? t->profile->terms->hidden : NULL; p && *p; p++) {
		const char *path = path_clean(t->a, path_join(t->a, task_tree(t), *p));
		if (file_exists(t->k->sys, AT_FDCWD, path))
			place_add(t->a, list, path);
	}
	return place_list(t->a, list);
}
