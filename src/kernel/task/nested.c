/* nested.c — what steers clients and git deeper in a tree than its root: which of it was there before, and as which file.
 *
 * Times do not tell where a file was: one that is moved together with the directory it lies in keeps its own.  So each place that counts
 * is known by its path and its number before anything runs; whatever is found under such a name afterwards, and was not, is new.
 *
 * Looking needs names alone, not the state of each file.  Whoever has calls run one after the other looks once, and goes on with what the
 * walk behind a call has seen. */
#include "base/file.h"
#include "base/text.h"
#include "clients/clients.h"
#include "kernel/task/parts.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* git's index is asked for what lies beyond the walk, up to INDEX_BYTES of it. */
enum { INDEX_BYTES = 64 << 20 };

struct nested_place {
	const char *rel;
	dev_t dev;
	ino_t ino;
};

struct nested {
	struct sys *sys;
	struct arena *a;
	const char *state_name;
	struct nested_place *places;
	size_t n, room, seen, most;
	bool is_sorted, is_cut; /* is_cut: there is more than was looked at */
	struct json *settings, *states;
	struct watch *watch; /* or NULL */
	struct task *looking; /* who walks, while that lasts; or NULL */
};

struct nested *nested_new(struct arena *a, const struct task *t)
{
	struct nested *x = arena_zalloc(a, 1, sizeof(*x));

	*x = (struct nested){ .sys = t->k->sys,
		.a = a,
		.state_name = t->k->ws->state_name,
		.most = task_walk_most(t),
		.settings = json_new(a, JSON_ARRAY),
		.states = json_new(a, JSON_ARRAY) };
	return x;
}

void nested_watch(struct nested *x, struct watch *w)
{
	x->watch = w;
}

const struct json *nested_settings(const struct nested *x)
{
	return x->settings;
}

const struct json *nested_states(const struct nested *x)
{
	return x->states;
}

/* What a build makes or a package manager brings is removed as a whole: nothing in it is held by a mount. */
static bool is_made(const char *rel)
{
	static const char *const names[] = { "node_modules", "_deps", "target", "build", "dist", "out",
		"vendor", ".venv", "venv", ".cache", "site-packages" };

	for (const char *p = rel, *end; (end = strchr(p, '/')); p = end + 1)
		for (size_t i = 0; i < ARRAY_SIZE(names); i++)
			if (strlen(names[i]) == (size_t)(end - p) &&
				strncmp(p, names[i], strlen(names[i])) == 0)
				return true;
	return false;
}

const char **nested_repositories(const struct nested *x, struct arena *a, size_t most)
{
	const char **list = arena_zalloc(a, most + 1, sizeof(*list));
	size_t n = 0;

	for (size_t i = 0; x && i < x->n && n < most; i++)
		if (text_ends(x->places[i].rel, "/.git") && !is_made(x->places[i].rel))
			list[n++] = x->places[i].rel;
	return list;
}

/* ---- seeing ---- */

static void keep(struct nested *x, const char *rel, const struct stat *st)
{
	if (x->n == x->room) {
		size_t more = x->room ? 2 * x->room : 32;
		x->places =
			arena_grow(x->a, x->places, x->room * sizeof(*x->places), more * sizeof(*x->places));
		x->room = more;
	}
	x->places[x->n++] = (struct nested_place){ arena_strdup(x->a, rel), st->st_dev, st->st_ino };
	x->is_sorted = false;
	if (S_ISDIR(st->st_mode) && path_base(rel) > rel && text_eq(path_base(rel), x->state_name))
		json_pushs(x->a, x->states, rel);
}

/* Only its kind is known of what a walk by names gives. */
static void keep_at(struct nested *x, int parent, const char *name, const char *rel, const struct stat *st)
{
	struct stat now;

	if (st->st_ino)
		keep(x, rel, st);
	else if (x->sys->stat(x->sys, parent, name, &now, AT_SYMLINK_NOFOLLOW) == 0)
		keep(x, rel, &now);
}

bool nested_counts(const char *rel)
{
	const char *name = path_base(rel);

	return text_eq(name, ".envrc") || text_eq(name, ".git") || text_eq(name, "HEAD") ||
		clients_care_anywhere(rel) != CARE_NONE || armed_is_ci(rel);
}

/* The directories of a repository.  Those in which git finds what it starts are known of repositories below the root's; whoever watches has to
 * see all. */
struct inside {
	struct nested *x;
	const char *rel;
	bool is_root;
};

static int see_inside(
	void *arg, int parent, const char *name, const char *rel, const struct stat *st, struct err *e)
{
	struct inside *in = arg;
	struct nested *x = in->x;
	char first[16];

	(void)e;
	if (!S_ISDIR(st->st_mode))
		return 0;
	snprintf(first, sizeof(first), "%.*s", (int)strcspn(rel, "/"), rel);
	watch_repository(x->watch, parent, name, in->rel);
	if (!armed_is_store(first) && !in->is_root)
		keep_at(x, parent, name, arena_printf(x->a, "%s/%s", in->rel, rel), st);
	return armed_is_store(first) && !x->watch ? FILE_SKIP : 0;
}

static int enter_inside(void *arg, int parent, const char *name, const char *rel)
{
	struct inside *in = arg;
	struct nested *x = in->x;

	return x->looking ? rights_enter(x->looking, parent, name, arena_printf(x->a, "%s/%s", in->rel, rel))
			  : x->sys->open(x->sys, parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, 0);
}

static void see_repository(struct nested *x, int parent, const char *name, const char *rel)
{
	struct inside in = { x, rel, text_eq(rel, name) };
	AUTO(close_fd) int fd = -1;

	if (!x->watch && in.is_root)
		return;
	fd = x->looking ? rights_enter(x->looking, parent, name, rel)
			: x->sys->open(x->sys, parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, 0);
	if (fd >= 0 && file_walk_by(x->sys, fd, true, see_inside, enter_inside, &in, NULL))
		x->is_cut = true;
}

/* Settings that a run is kept from: a package that is installed must go as it came. */
static void add_settings(struct nested *x, const char *rel)
{
	for (const char *p = strchr(rel, '/'); p; p = strchr(p + 1, '/'))
		if (clients_care(p + 1) != CARE_NONE || text_eq(p + 1, ".envrc")) {
			if (!text_starts(rel, "node_modules/") && !strstr(rel, "/node_modules/"))
				json_pushs(x->a, x->settings, rel);
			return;
		}
}

int nested_see(struct nested *x, int parent, const char *name, const char *rel, const struct stat *st)
{
	bool is_dir = S_ISDIR(st->st_mode);

	if (++x->seen > x->most) {
		x->is_cut = true;
		watch_end(x->watch);
		return E_LIMIT;
	}
	if (is_dir && text_eq(name, x->state_name)) {
		keep_at(x, parent, name, rel, st);
		return FILE_SKIP;
	}
	if (is_dir)
		watch_directory(x->watch, parent, name, rel);
	if (is_dir && text_eq(name, ".git")) {
		keep_at(x, parent, name, rel, st);
		see_repository(x, parent, name, rel);
		return FILE_SKIP;
	}
	if (is_dir || !nested_counts(rel))
		return 0;
	keep_at(x, parent, name, rel, st);
	add_settings(x, rel);
	return 0;
}

static int visit(
	void *arg, int parent, const char *name, const char *rel, const struct stat *st, struct err *e)
{
	(void)e;
	return nested_see(arg, parent, name, rel, st);
}

static int enter(void *arg, int parent, const char *name, const char *rel)
{
	struct nested *x = arg;

	return rights_enter(x->looking, parent, name, rel);
}

/* ---- what git knows of a tree that is too large ---- */

static uint32_t big(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* The paths in git's index, versions 2 and 3, as gitformat-index(5) has them.  The file comes from the tree: each number
 * is checked, and a path only says where to look. */
static void look_in_index(struct nested *x, struct bytes index)
{
	enum { HEAD = 12, FIXED = 62, FLAGS = 60, EXTENDED = 0x40 };

	if (index.n < HEAD || memcmp(index.p, "DIRC", 4) != 0 ||
		(big(index.p + 4) != 2 && big(index.p + 4) != 3))
		return;
	uint32_t n = big(index.p + 8);
	for (size_t at = HEAD; n > 0 && at + FIXED + 1 < index.n; n--) {
		size_t name = at + FIXED + (index.p[at + FLAGS] & EXTENDED ? 2 : 0);
		const uint8_t *end = name < index.n ? memchr(index.p + name, '\0', index.n - name) : NULL;
		if (!end)
			return;
		const char *rel = (const char *)index.p + name;
		if (*rel != '/' && !strstr(rel, ".."))
			add_settings(x, rel);
		size_t length = (size_t)(end - index.p) - at;
		at += (length + 8) & ~(size_t)7;
	}
}

/* Before the run: directories that are closed to their owner are opened for it, and closed again. */
void nested_look(struct nested *x, struct task *t, const char *root)
{
	AUTO(close_fd) int fd = -1;
	AUTO(arena_done) struct arena a = { .limit_bytes = 2 * (size_t)INDEX_BYTES };
	struct bytes index;

	t->is_noting = true;
	x->looking = t;
	int rc = rights_open_root(t, root, &fd);
	if (rc == OK) {
		watch_directory(x->watch, fd, ".", "");
		rc = file_walk_by(x->sys, fd, true, visit, enter, x, NULL);
	}
	x->looking = NULL;
	t->is_noting = false;
	rights_put_back(t);
	x->is_cut |= rc != OK;
	if (fd >= 0 && x->is_cut &&
		file_read(x->sys, &a, fd, ".git/index", INDEX_BYTES, FILE_BENEATH, &index, NULL) == OK)
		look_in_index(x, index);
}

/* ---- once more ---- */

void nested_carry(struct nested *next, const struct nested *was, const struct nested_again *again)
{
	struct sys *s = next->sys;
	AUTO(close_fd) int parent = -1;
	const char *dir = NULL;
	struct stat st;

	next->seen = was->seen;
	for (size_t i = 0; i < was->n; i++) {
		const char *rel = was->places[i].rel, *name = path_base(rel);
		size_t n = name > rel ? (size_t)(name - rel) - 1 : 0;
		if (again->is_seen(again->arg, rel))
			continue;
		if (!dir || strlen(dir) != n || strncmp(dir, rel, n) != 0) {
			dir = arena_strndup(next->a, rel, n);
			close_fd(&parent);
			parent = rights_open(again->t, again->root, n ? dir : ".");
		}
		if (parent < 0 || s->stat(s, parent, name, &st, AT_SYMLINK_NOFOLLOW))
			continue;
		keep(next, rel, &st);
		if (!S_ISDIR(st.st_mode))
			add_settings(next, next->places[next->n - 1].rel);
		again->look(again->arg, parent, name, rel, &st);
	}
}

/* ---- on disk ---- */

enum { PLACES_KEPT = 4000 };

void nested_write(const struct nested *x, struct arena *a, struct json *to)
{
	struct json *places = json_new(a, JSON_ARRAY);
	bool is_cut = !x || x->is_cut || x->n > PLACES_KEPT;

	for (size_t i = 0; !is_cut && i < x->n; i++) {
		const struct nested_place *p = &x->places[i];
		is_cut = text_utf8_valid(p->rel, strlen(p->rel)) != strlen(p->rel);
		json_push(a, places,
			json_stringf(a, "%llu:%llu %s", (unsigned long long)p->dev,
				(unsigned long long)p->ino, p->rel));
	}
	json_setb(a, to, "places_cut", is_cut);
	json_set(a, to, "places", is_cut ? json_new(a, JSON_ARRAY) : places);
}

int nested_read(struct arena *a, const struct task *t, const struct json *from, struct nested **ret)
{
	struct nested *x = nested_new(a, t);

	x->is_cut = json_get_bool(from, "places_cut", true);
	json_each (one, json_get(from, "places")) {
		const char *text = json_text(one);
		struct stat st = { 0 };
		char *end;
		if (!text)
			return E_CORRUPT;
		st.st_dev = strtoull(text, &end, 10);
		if (*end != ':')
			return E_CORRUPT;
		st.st_ino = strtoull(end + 1, &end, 10);
		if (*end != ' ' || !end[1])
			return E_CORRUPT;
		keep(x, end + 1, &st);
	}
	*ret = x;
	return OK;
}

void nested_renumber(struct nested *x, dev_t was, dev_t now)
{
	for (size_t i = 0; i < x->n; i++)
		if (x->places[i].dev == was)
			x->places[i].dev = now;
}

bool nested_is_whole(const struct nested *x)
{
	return x && !x->is_cut;
}

/* ---- afterwards ---- */

static int by_path(const void *x, const void *y)
{
	return strcmp(((const struct nested_place *)x)->rel, ((const struct nested_place *)y)->rel);
}

bool nested_is_new(struct nested *x, const char *rel, const struct stat *st)
{
	const struct nested_place want = { .rel = rel };

	/* Of a tree that is too large to be known, times tell. */
	if (!x || x->is_cut)
		return false;
	if (!x->is_sorted && x->n)
		qsort(x->places, x->n, sizeof(*x->places), by_path);
	x->is_sorted = true;
	const struct nested_place *was =
		x->n ? bsearch(&want, x->places, x->n, sizeof(*x->places), by_path) : NULL;
	return !was || was->dev != st->st_dev || was->ino != st->st_ino;
}
