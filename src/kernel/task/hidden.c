/* hidden.c — places that a run must not see: Helm's keys and state, homes but for what homes.c shows of them, the machine's credentials.
 *
 * Files that nobody but their owner may read are closed by the system already, but a run of root has no such limit, and a run of an
 * operator reads what that operator reads.  So every system place of the one list (model/secret.h) that exists and could be reached is
 * covered.  A profile opens a place by naming it; the places the run works in stay open. */
#include "base/file.h"
#include "base/text.h"
#include "kernel/allow.h"
#include "kernel/linked.h"
#include "kernel/task/homes.h"
#include "kernel/task/parts.h"
#include "model/secret.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* ---- homes ---- */

/* The directory that the program really lies in, with what is beside it; of one that lies in a home itself, the file. */
static void name_program(const struct task *t, const char *path, struct json *named)
{
	char real[PATH_MAX];

	if (!path || !realpath(path, real))
		return;
	const char *dir = arena_strndup(t->a, real, (size_t)(path_base(real) - real) - 1);
	place_add(t->a, named, arena_strdup(t->a, path));
	place_add(t->a, named, arena_strdup(t->a, real));
	if (!text_eq(path_base(dir), "bin") && !secret_place_holds(dir))
		place_add(t->a, named, dir);
}

/* Places that are shown wherever they lie: in which the run works or stands, which an operator allowed to read, and its programs. */
static struct json *named_places(const struct task *t)
{
	struct json *named = json_new(t->a, JSON_ARRAY);
	struct linked to;
	const char *const *readable = allowed_to_read(t->k->sys, t->a, t->k->ws);
	char helm[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", helm, sizeof(helm) - 1);

	helm[n > 0 ? n : 0] = '\0';
	place_add(t->a, named, task_tree(t));
	if (!task_is_beside(t))
		place_add(t->a, named, t->k->ws->root);
	if (t->spec->cwd && !secret_place_holds(t->spec->cwd))
		place_add(t->a, named, t->spec->cwd);
	for (const char *const *p = t->at.allowed; p && *p; p++)
		place_add(t->a, named, *p);
	for (const char *const *p = readable; p && *p; p++)
		place_add(t->a, named, *p);
	if (linked_find(t->k->sys, t->a, task_tree(t), t->k->ws->home, &to))
		place_add(t->a, named, to.common);
	place_add(t->a, named, n > 0 ? arena_strdup(t->a, helm) : NULL);
	name_program(t, t->program.path, named);
	return named;
}

/* A session has a home of its own (layer.h), which it may write.  git's settings are put there as a file that it did not write. */
static void use_session_home(const struct task *t, struct sandbox_home *h)
{
	static const struct timespec untouched[2] = { { 1, 0 }, { 1, 0 } };
	const struct run_session *session = t->spec->session;
	struct sys *s = t->k->sys;

	if (!session || !session->home || !session->is_home_mounted)
		return;
	const char *path = arena_printf(t->a, "%s/.gitconfig", session->home);
	if (h->git_config && file_put(s, AT_FDCWD, path, 0600, bytes_of(h->git_config), NULL) == OK)
		(void)s->utimens(s, AT_FDCWD, path, untouched, AT_SYMLINK_NOFOLLOW);
	h->git_config = NULL;
	h->from = session->home;
	h->is_writable = true;
}

/* Which homes are covered and what is shown of them is settled once, when the sandbox is made; what is hidden is looked up for each call
 * of a session. */
static void look_at_homes(struct task *t, struct json *hidden)
{
	struct homes_request q = { .s = t->k->sys,
		.a = t->a,
		.home = t->k->ws->home,
		.helm_home = t->k->ws->helm_home,
		.workspace = task_is_beside(t) ? NULL : t->k->ws->root,
		.profile = t->profile,
		.rules = &t->rules,
		.own = t->spec->session ? t->spec->session->own : NULL,
		.is_by_names = t->rules.kind == SANDBOX_SUPERVISED,
		.has_toolchains = true,
		.named = named_places(t),
		.tree = task_tree(t),
		.hidden = hidden };

	homes_look(&q);
	if (t->rules.homes)
		return;
	char real[PATH_MAX];
	for (struct sandbox_home *h = q.homes; h->at; h++)
		if (q.home && realpath(q.home, real) && text_eq(h->at, real)) {
			h->git_config = homes_git_config(&q);
			use_session_home(t, h);
		}
	t->rules.homes = q.homes;
	t->rules.shown = place_list(t->a, q.shown);
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

/* Helm's state is not read inside.  Without mounts nothing can be hidden in a place that may be written: there it stays readable. */
static bool can_hide_state(const struct task *t)
{
	return t->rules.kind == SANDBOX_NAMESPACES ||
		!path_is_in_one(t->k->ws->state_dir, t->rules.write_paths);
}

const char *const *task_hidden(struct task *t)
{
	struct json *list = json_new(t->a, JSON_ARRAY);

	hide_helm_home(t, list);
	if (can_hide_state(t))
		place_add(t->a, list, t->k->ws->state_dir);
	look_at_homes(t, list);
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
