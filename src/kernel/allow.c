/* allow.c — an operator's act that lets runs write or read in one more place, and takes it back.
 *
 * What must stay closed to every run cannot be allowed: Helm's own places, credentials, the home directory as a whole, the
 * system, and whatever lies above one of them.  A path is allowed as it really is: one that leads through a link would mean
 * something else tomorrow. */
#include "kernel/allow.h"

#include "base/doc.h"
#include "base/file.h"
#include "base/text.h"
#include "kernel/posture.h"
#include "model/secret.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define ALLOWED "allowed_paths"
#define READABLE "readable_paths"

static const char *const *list_paths(struct arena *a, const struct json *all)
{
	const char **list = arena_zalloc(a, (all ? (size_t)all->n : 0) + 1, sizeof(*list));
	size_t n = 0;

	json_each_member (m, all)
		if (m->name[0] == '/')
			list[n++] = arena_strdup(a, m->name);
	return list;
}

const char *const *allowed_paths(struct sys *s, struct arena *a, const struct workspace *ws)
{
	return list_paths(a, json_get(posture_of(s, ws)->word, ALLOWED));
}

const char *const *allowed_to_read(struct sys *s, struct arena *a, const struct workspace *ws)
{
	return list_paths(a, json_get(posture_of(s, ws)->word, READABLE));
}

static int refuse(const char *path, const char *why, struct err *e)
{
	return err_set(e, E_INPUT, "ALLOW_PATH", "'%s' cannot be allowed: %s", path, why);
}

static bool touches(const char *path, const char *place)
{
	return place && (path_is_below(path, place) || path_is_below(place, path));
}

static int check(struct kernel *k, const char *path, struct err *e)
{
	static const char *const system[] = { "/bin", "/boot", "/dev", "/etc", "/lib", "/lib64", "/proc",
		"/run", "/sbin", "/sys", "/usr" };
	const struct workspace *ws = k->ws;
	char real[PATH_MAX];

	if (path[0] != '/' || !text_utf8_valid(path, strlen(path)) || strlen(path) >= PATH_MAX)
		return refuse(path, "it must be an absolute path", e);
	if (!realpath(path, real))
		return refuse(path, "there is no such place", e);
	if (!text_eq(real, path))
		return err_set(e, E_INPUT, "ALLOW_PATH", "'%s' leads to '%s'; allow that", path, real);
	for (size_t i = 0; i < ARRAY_SIZE(system); i++)
		if (path_is_below(path, system[i]) || path_is_below(system[i], path))
			return refuse(path, "it is the system's", e);
	if (touches(path, ws->helm_home) || touches(path, ws->state_dir))
		return refuse(path, "Helm's own records and keys lie there", e);
	if ((ws->home && path_is_below(ws->home, path)) || place_is_too_much(ws->home, ws->helm_home, path))
		return refuse(path, "that is more than one place; name the directory that is needed", e);
	if (secret_place_holds(path))
		return refuse(path, "credentials lie there", e);
	return OK;
}

struct change {
	const char *path, *at;
	enum allowing what;
};

static int edit(void *arg, struct arena *a, struct json *word, struct err *e)
{
	const struct change *c = arg;
	struct json *all = doc_part(a, word, c->what == ALLOW_READ ? READABLE : ALLOWED);

	if (c->what != ALLOW_NO_MORE) {
		json_sets(a, all, c->path, c->at);
		/* Whoever lets more happen here than around it is a person, and lets it stand alone. */
		json_setb(a, word, "stands_alone", true);
		return OK;
	}
	bool was_written = json_remove(all, c->path),
	     was_read = json_remove(json_get(word, READABLE), c->path);
	if (!was_written && !was_read)
		return err_set(e, E_MISSING, "ALLOW_UNKNOWN", "nobody has allowed '%s' here", c->path);
	return OK;
}

int allow_path(struct kernel *k, struct arena *a, const char *path, enum allowing what, const char *executor,
	struct json **ret_receipt, struct err *e)
{
	static const char *const effects[] = { [ALLOW_WRITE] = "helm.path/allow",
		[ALLOW_READ] = "helm.path/allow-read",
		[ALLOW_NO_MORE] = "helm.path/forbid" };
	struct change c = { path, text_time_iso(a, k->sys->now_us(k->sys)), what };
	struct json *about = json_new(a, JSON_OBJECT);
	int rc = what == ALLOW_NO_MORE ? OK : check(k, path, e);

	if (rc)
		return rc;
	json_sets(a, about, "path", path);
	return posture_change(k, a,
		&(struct act){ .effect_id = effects[what],
			.type = "setting",
			.executor_id = executor,
			.about = about },
		edit, &c, ret_receipt, e);
}
