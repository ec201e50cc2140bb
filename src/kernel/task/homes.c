/* homes.c — which homes there are, and what of each a run sees.
 *
 * A list of what must not be read cannot be complete: every tool keeps its credentials in a place of its own.  So a home is covered as a
 * whole.  Seen are the places in which the run works, toolchains and caches of packages that are found (model/toolchain.h), directories of
 * PATH, and what an operator named.  Credentials inside one of these places (model/secret.h) are hidden all the same, unless the profile
 * names them. */
#include "kernel/task/homes.h"

#include "base/file.h"
#include "base/names.h"
#include "base/text.h"
#include "model/secret.h"
#include "model/toolchain.h"
#include "propose/propose.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum {
	HOMES_LISTED = 256,
	PASSWD_BYTES = 1 << 20,
	GIT_CONFIG_BYTES = 256 << 10,
	SHOWN_MAX = 128,
	INCLUDES_MOST = 8,
	LINKS_MOST = 128
};

/* ---- which homes ---- */

/* The home of the account as /etc/passwd has it, or NULL: NAME:x:UID:GID:TEXT:HOME:SHELL. */
static const char *account_home(struct sys *s, struct arena *a)
{
	struct bytes all;

	if (file_read(s, a, AT_FDCWD, "/etc/passwd", PASSWD_BYTES, FILE_FOLLOW, &all, NULL))
		return NULL;
	while (all.p) {
		struct bytes line = text_cut(&all, '\n'), field[6];
		for (size_t i = 0; i < ARRAY_SIZE(field); i++)
			field[i] = text_cut(&line, ':');
		if (!field[5].p)
			continue;
		const char *uid = arena_strndup(a, (const char *)field[2].p, field[2].n);
		const char *dir = arena_strndup(a, (const char *)field[5].p, field[5].n);
		int64_t number;
		if (text_int(uid, &number) && number == (int64_t)geteuid())
			return dir[0] == '/' && dir[1] ? path_clean(a, dir) : NULL;
	}
	return NULL;
}

/* Could the process that starts the run look into it?  A place out of its reach needs no cover. */
static bool is_in_reach(struct sys *s, const char *path)
{
	return faccessat(AT_FDCWD, path, R_OK, AT_EACCESS) == 0 ||
		(file_is_dir(s, AT_FDCWD, path) && faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) == 0);
}

/* Its path without links: mounts and Landlock go by that.  NULL: it is none that could be covered. */
static const char *real_home(const struct homes_request *q, const char *path)
{
	char real[PATH_MAX];

	if (!path || !realpath(path, real) || !real[1] || !file_is_dir(q->s, AT_FDCWD, real) ||
		!is_in_reach(q->s, real))
		return NULL;
	return arena_strdup(q->a, real);
}

static void add_home(const struct homes_request *q, struct json *homes, const char *path)
{
	const char *real = real_home(q, path);

	json_each (one, homes)
		if (!real || text_eq(json_text(one), real))
			return;
	if (real)
		json_pushs(q->a, homes, real);
}

/* The operator's first, then that of the account, then others.  *ret_own: so many are the first two, of which places are shown. */
static struct json *list_homes(const struct homes_request *q, uint32_t *ret_own)
{
	struct json *homes = json_new(q->a, JSON_ARRAY);
	char **names = NULL;
	size_t n = 0;

	add_home(q, homes, q->home);
	add_home(q, homes, account_home(q->s, q->a));
	*ret_own = homes->n;
	if (file_list(q->s, q->a, AT_FDCWD, "/home", &names, &n, NULL))
		n = 0;
	for (size_t i = 0; i < n && i < HOMES_LISTED; i++)
		add_home(q, homes, arena_printf(q->a, "/home/%s", names[i]));
	add_home(q, homes, "/root");
	return homes;
}

/* ---- what is shown ---- */

static bool is_in_list(const char *path, const struct json *list)
{
	json_each (one, list)
		if (path_is_below(path, json_text(one)))
			return true;
	return false;
}

static bool is_in_layer(const struct homes_request *q, const char *path)
{
	for (const struct sandbox_layer *l = q->rules->layers; l && l->at && !q->is_by_names; l++)
		if (path_is_below(path, l->at))
			return true;
	return false;
}

/* Does a home, or Helm's own directory, lie in it? */
static bool holds_too_much(const struct homes_request *q, const struct json *homes, const char *path)
{
	json_each (home, homes)
		if (path_is_below(json_text(home), path))
			return true;
	if (!q->helm_home || (q->workspace && path_is_below(path, q->workspace)))
		return false;
	return path_is_below(q->helm_home, path) || path_is_below(path, q->helm_home);
}

/* One place, as it is: a link shows what it leads to, under both names where both lie in a home. */
static void show_place(struct homes_request *q, const struct json *homes, const char *path)
{
	char real[PATH_MAX];

	if (!is_in_list(path, homes) || holds_too_much(q, homes, path) || !realpath(path, real) ||
		path_is_in_one(path, q->rules->write_paths) || is_in_layer(q, path) ||
		is_in_list(path, q->shown) || q->shown->n >= SHOWN_MAX)
		return;
	if (!text_eq(real, path)) {
		if (holds_too_much(q, homes, real))
			return;
		if (is_in_list(real, homes))
			show_place(q, homes, arena_strdup(q->a, real));
	}
	json_pushs(q->a, q->shown, path);
}

static void show_toolchains(struct homes_request *q, const struct json *homes, const char *home)
{
	struct names there, cached;
	const char *place;

	names_look(q->s, AT_FDCWD, home, &there);
	names_look(q->s, AT_FDCWD, arena_printf(q->a, "%s/.cache", home), &cached);
	for (size_t i = 0; (place = toolchain_place_at(i)); i++)
		if (names_may_have(&there, place) &&
			(!text_starts(place, ".cache/") ||
				names_may_have(&cached, place + strlen(".cache/"))))
			show_place(q, homes, path_clean(q->a, arena_printf(q->a, "%s/%s", home, place)));
}

/* A directory above places of credentials is more than programs. */
static bool is_above_credentials(const char *home, const char *dir)
{
	const char *rel = dir + strlen(home) + 1, *place;
	const size_t n = strlen(rel);

	for (size_t i = 0; (place = secret_place_at(i)); i++)
		if (strncmp(place, rel, n) == 0 && place[n] == '/' && place[n + 1])
			return true;
	return secret_place_holds(dir);
}

/* A program may be a link to where it was installed: that directory is shown, where no credentials lie below it. */
static void show_link_targets(struct homes_request *q, const struct json *homes, const char *dir)
{
	char **names = NULL, real[PATH_MAX];
	size_t n = 0;

	if (!is_in_list(dir, homes) || file_list(q->s, q->a, AT_FDCWD, dir, &names, &n, NULL))
		return;
	for (size_t i = 0; i < n && i < LINKS_MOST; i++) {
		const char *path = arena_printf(q->a, "%s/%s", dir, names[i]);
		struct stat st;
		if (q->s->stat(q->s, AT_FDCWD, path, &st, AT_SYMLINK_NOFOLLOW) || !S_ISLNK(st.st_mode) ||
			!realpath(path, real) || !is_in_list(real, homes) || is_in_list(real, q->shown) ||
			secret_place_holds(real))
			continue;
		const char *place = arena_strndup(q->a, real, (size_t)(path_base(real) - real) - 1);
		bool is_plain = true;
		json_each (home, homes)
			is_plain &= !path_is_below(place, json_text(home)) ||
				(!text_eq(place, json_text(home)) &&
					!is_above_credentials(json_text(home), place));
		show_place(q, homes, is_plain ? place : arena_strdup(q->a, real));
	}
}

static void show_programs(struct homes_request *q, const struct json *homes, const char *dir)
{
	static const char *const beside[] = { "lib", "lib64", "libexec" };
	const char *name = path_base(dir), *above = arena_strndup(q->a, dir, (size_t)(name - dir - 1));

	json_each (home, homes)
		if (path_is_below(dir, json_text(home)) &&
			(text_eq(dir, json_text(home)) || is_above_credentials(json_text(home), dir)))
			return;
	show_place(q, homes, dir);
	show_link_targets(q, homes, dir);
	if (!text_eq(name, "bin"))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(beside); i++)
		show_place(q, homes, arena_printf(q->a, "%s/%s", above, beside[i]));
}

/* Programs are looked for there. */
static void show_path(struct homes_request *q, const struct json *homes)
{
	const char *path = q->s->getenv(q->s, "PATH");
	struct bytes all = bytes_of(path ? path : "");

	while (all.p) {
		struct bytes one = text_cut(&all, ':');
		if (one.n && one.p[0] == '/')
			show_programs(
				q, homes, path_clean(q->a, arena_strndup(q->a, (const char *)one.p, one.n)));
	}
}

/* Credentials that the profile names, and the operator's own settings of git where those for git are among them. */
static void show_secrets(struct homes_request *q, const struct json *homes, const char *home)
{
	const struct profile *p = q->profile;

	for (size_t i = 0; p && i < p->secret_count; i++) {
		show_place(q, homes, path_clean(q->a, arena_printf(q->a, "%s/%s", home, p->secrets[i])));
		if (text_eq(p->secrets[i], ".git-credentials")) {
			show_place(q, homes, arena_printf(q->a, "%s/.gitconfig", home));
			show_place(q, homes, arena_printf(q->a, "%s/.config/git/config", home));
		}
	}
}

/* ---- what is hidden all the same ---- */

static bool is_named_by_profile(const struct homes_request *q, const char *place)
{
	const struct profile *p = q->profile;
	const size_t n = strlen(place) - text_ends(place, "/");

	for (size_t i = 0; p && i < p->secret_count; i++)
		if (strncmp(p->secrets[i], place, n) == 0 &&
			(!p->secrets[i][n] || text_eq(p->secrets[i] + n, "/")))
			return true;
	return false;
}

/* Does the run work in it, or is it the client's own? */
static bool is_needed(const struct homes_request *q, const char *path)
{
	for (const char *const *p = q->rules->write_paths; p && *p; p++)
		if (path_is_below(*p, path))
			return true;
	return path_is_in_one(path, q->own);
}

/* `is_covered`: only what is shown of this home can be reached. */
static void hide_credentials(struct homes_request *q, const char *home, bool is_covered)
{
	struct names there;
	const char *place;

	names_look(q->s, AT_FDCWD, home, &there);
	for (size_t i = 0; (place = secret_place_at(i)); i++) {
		if (!names_may_have(&there, place) || is_named_by_profile(q, place))
			continue;
		const char *path = path_clean(q->a, arena_printf(q->a, "%s/%s", home, place));
		if (is_covered && !is_in_list(path, q->shown) && !is_in_layer(q, path) &&
			!path_is_in_one(path, q->rules->write_paths))
			continue;
		if (!is_needed(q, path) && file_exists(q->s, AT_FDCWD, path) && is_in_reach(q->s, path))
			json_pushs(q->a, q->hidden, path);
	}
}

/* Every program may have a cache in ~/.cache: browsers and mail, too.  Of a layer over all of it only toolchains' are seen. */
static void hide_other_caches(struct homes_request *q, const char *home)
{
	const char *dir = arena_printf(q->a, "%s/.cache", home);
	char **names = NULL;
	size_t n = 0;

	if (!is_in_layer(q, dir) || file_list(q->s, q->a, AT_FDCWD, dir, &names, &n, NULL))
		return;
	for (size_t i = 0; i < n; i++)
		if (!toolchain_has_cache(names[i]) &&
			!is_in_list(arena_printf(q->a, "%s/%s", dir, names[i]), q->named))
			json_pushs(q->a, q->hidden, arena_printf(q->a, "%s/%s", dir, names[i]));
}

/* ---- all of it ---- */

/* Is something in it that the run needs? */
static bool has_anything(const struct homes_request *q, const char *home)
{
	for (const char *const *p = q->rules->write_paths; p && *p; p++)
		if (path_is_below(*p, home))
			return true;
	for (const struct sandbox_layer *l = q->rules->layers; l && l->at; l++)
		if (path_is_below(l->at, home))
			return true;
	json_each (one, q->shown)
		if (path_is_below(json_text(one), home))
			return true;
	return false;
}

static int by_length(const void *x, const void *y)
{
	size_t m = strlen(((const struct sandbox_home *)x)->at),
	       n = strlen(((const struct sandbox_home *)y)->at);

	return m < n ? -1 : m > n;
}

/* A place inside another one that came later is shown with that. */
static struct json *without_inner(struct arena *a, const struct json *list)
{
	struct json *kept = json_new(a, JSON_ARRAY);

	json_each (one, list) {
		bool is_inner = false;
		json_each (other, list)
			is_inner |= other != one && path_is_below(json_text(one), json_text(other));
		if (!is_inner)
			json_push(a, kept, one);
	}
	return kept;
}

/* Toolchains and credentials in homes of others are not shown, although root could read them. */
static void show_all(struct homes_request *q, const struct json *homes, uint32_t own)
{
	json_each (one, q->named)
		show_place(q, homes, json_text(one));
	for (uint32_t i = 0; i < own; i++) {
		show_secrets(q, homes, json_text(homes->items[i]));
		if (q->has_toolchains)
			show_toolchains(q, homes, json_text(homes->items[i]));
	}
	if (q->has_toolchains)
		show_path(q, homes);
	for (const struct sandbox_layer *l = q->rules->layers; l && l->at && q->is_by_names; l++)
		show_place(q, homes, l->at);
	q->shown = without_inner(q->a, q->shown);
}

void homes_look(struct homes_request *q)
{
	uint32_t own = 0;
	struct json *homes = list_homes(q, &own);
	size_t n = 0;

	q->shown = json_new(q->a, JSON_ARRAY);
	if (!q->hidden)
		q->hidden = json_new(q->a, JSON_ARRAY);
	q->homes = arena_zalloc(q->a, HOMES_MAX + 1, sizeof(*q->homes));
	show_all(q, homes, own);
	for (uint32_t i = 0; i < homes->n; i++) {
		const char *home = json_text(homes->items[i]);
		bool is_mine = i == 0; /* it exists for programs, though little may be in it */
		bool is_covered = !path_is_in_one(home, q->rules->write_paths);
		/* One more than can be covered piece by piece is closed as a whole, too. */
		if (is_covered && ((!is_mine && !has_anything(q, home)) || n == HOMES_MAX)) {
			json_pushs(q->a, q->hidden, home);
			continue;
		}
		if (is_covered)
			q->homes[n++] = (struct sandbox_home){ .at = home };
		hide_credentials(q, home, is_covered);
		hide_other_caches(q, home);
	}
	qsort(q->homes, n, sizeof(*q->homes), by_length);
}

/* ---- settings of git ---- */

struct including {
	const struct homes_request *q;
	struct buf *to;
	int depth;
};

/* "gitdir:~/company/" fits every repository below that directory.  Other conditions are not known here. */
static bool fits_tree(const struct homes_request *q, const char *pattern)
{
	const size_t n = strlen(pattern);

	if (text_starts(pattern, "~/"))
		pattern = arena_printf(q->a, "%s%s", q->home, pattern + 1);
	return q->tree && n && pattern[0] == '/' && text_ends(pattern, "/") &&
		text_starts(arena_printf(q->a, "%s/", q->tree), pattern);
}

static void read_settings(struct including *x, const char *path);

/* Files that the operator's settings take in, as far as they count for this tree. */
static void include_file(void *arg, const char *key, const char *value)
{
	struct including *x = arg;
	const char *last = strrchr(key, '.');
	bool is_for_all = strcasecmp(key, "include.path") == 0;
	bool is_conditional =
		strncasecmp(key, "includeif.gitdir:", 17) == 0 && last && strcasecmp(last, ".path") == 0;

	if (!value || x->depth >= INCLUDES_MOST || (!is_for_all && !is_conditional) ||
		(is_conditional &&
			!fits_tree(x->q, arena_strndup(x->q->a, key + 17, (size_t)(last - key) - 17))))
		return;
	if (text_starts(value, "~/"))
		value = arena_printf(x->q->a, "%s%s", x->q->home, value + 1);
	else if (*value != '/')
		value = arena_printf(x->q->a, "%s/%s", x->q->home, value);
	x->depth++;
	read_settings(x, value);
}

static void read_settings(struct including *x, const char *path)
{
	const struct homes_request *q = x->q;
	struct bytes text;

	if (file_read(q->s, q->a, AT_FDCWD, path, GIT_CONFIG_BYTES, FILE_FOLLOW, &text, NULL))
		return;
	propose_git_plain(q->a, text, x->to);
	propose_git_each(q->a, text, include_file, x);
}

const char *homes_git_config(const struct homes_request *q)
{
	static const char *const files[] = { ".config/git/config", ".gitconfig" };
	struct buf all;
	struct including x = { q, &all, 0 };

	buf_init(&all, q->a);
	for (size_t i = 0; q->home && i < ARRAY_SIZE(files); i++) {
		const char *path = arena_printf(q->a, "%s/%s", q->home, files[i]);
		if (is_in_list(path, q->shown))
			return NULL;
		read_settings(&x, path);
	}
	return all.n ? all.p : NULL;
}

struct json *homes_list(struct sys *s, struct arena *a, const char *home, const char *helm_home,
	const struct profile *p, const char *const *readable)
{
	struct sandbox_layer *layers = arena_zalloc(a, p->layer_count + 1, sizeof(*layers));
	struct json *doc = json_new(a, JSON_OBJECT), *list = json_new(a, JSON_ARRAY);
	size_t n = 0;

	for (size_t i = 0; home && i < p->layer_count; i++) {
		const char *at = path_clean(a, arena_printf(a, "%s/%s", home, p->layers[i]));
		if (!file_is_dir(s, AT_FDCWD, at))
			continue;
		layers[n++].at = at;
		json_pushs(a, list, at);
	}
	const struct sandbox_rules rules = { .layers = layers };
	struct homes_request q = { .s = s,
		.a = a,
		.home = home,
		.helm_home = helm_home,
		.profile = p,
		.rules = &rules,
		.has_toolchains = true,
		.named = json_new(a, JSON_ARRAY) };
	for (; readable && *readable; readable++)
		json_pushs(a, q.named, *readable);
	homes_look(&q);
	json_set(a, doc, "readable", q.shown);
	json_set(a, doc, "layers", list);
	return doc;
}
