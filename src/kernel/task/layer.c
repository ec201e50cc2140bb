/* layer.c — a session's layer from its making to the operator's decision; see layer.h.
 *
 * Making it syncs nothing: until the end of the session nothing outside depends on it, and a power cut loses what the session wrote, not what was
 * there before. */
#include "base/doc.h"
#include "base/file.h"
#include "base/text.h"
#include "kernel/task/layer_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

/* Of directories that are copied: small files, and not too many of them. */
enum { COPY_FILE_BYTES = 1 << 20, COPY_BYTES = 64 << 20, COPY_FILES = 4096, KEPT_DAYS = 30, KEPT_MOST = 50 };

static const char *layer_dir(struct arena *a, const char *helm_home, const char *task_id)
{
	return arena_printf(a, "%s/" LAYERS "/%s", helm_home, task_id);
}

/* ---- making it ---- */

struct making {
	struct sys *s;
	struct arena *a;
	const struct layer_spec *spec;
	const struct client_session *needs;
	struct layer *layer;
	struct sandbox_layer *layers;
	const char *home; /* without links */
	const char *moved_to; /* where the operator's variable leads; or NULL */
	struct json *places, *sources;
	size_t files, bytes; /* copied */
	struct err *e;
};

static int cannot_make(struct making *m, const char *path)
{
	return err_sys(m->e, "LAYER_MAKE", "cannot make the session's layer '%s'", path);
}

static int make_dir(struct making *m, const char *path)
{
	return m->s->mkdir(m->s, AT_FDCWD, path, 0700) && errno != EEXIST ? cannot_make(m, path) : OK;
}

/* `rel` below our home of the session, with every directory on the way to it. */
static int make_below_home(struct making *m, const char *rel, const char **ret)
{
	int rc = OK;

	for (const char *p = strchr(rel, '/'); p && rc == OK; p = strchr(p + 1, '/'))
		rc = make_dir(m, arena_printf(m->a, "%s/%.*s", m->layer->home, (int)(p - rel), rel));
	*ret = path_clean(m->a, arena_printf(m->a, "%s/%s", m->layer->home, rel));
	return rc;
}

static const char *resolve(struct arena *a, const char *path)
{
	char *real = realpath(path, NULL);
	const char *copy = real ? arena_strdup(a, real) : NULL;

	free(real);
	return copy;
}

static bool is_dir_of_state(const char *rel)
{
	return text_ends(rel, "/");
}

/* Transcripts and caches begin empty in a copy: they are long, and the client does not need them. */
static bool begins_empty(const struct client_session *needs, const char *rel)
{
	for (const struct client_carry *c = needs->carried; c && c->path; c++)
		if (is_dir_of_state(c->path) && text_starts(rel, c->path))
			return true;
	return layer_is_named(rel, needs->dropped);
}

/* Times before the session tell a copy that nobody touched from one that was written; see layer_carry.c. */
static int copy_file(struct making *m, int parent, const char *name, const char *to, size_t most)
{
	static const struct timespec untouched[2] = { { 1, 0 }, { 1, 0 } };
	struct bytes text;
	struct stat st;

	if (file_read(m->s, m->a, parent, name, most, 0, &text, NULL) ||
		m->s->stat(m->s, parent, name, &st, AT_SYMLINK_NOFOLLOW))
		return OK; /* it cannot be read, or is too large: the session does without it */
	int rc = file_put(m->s, AT_FDCWD, to, (st.st_mode & 0700) | 0600, text, m->e);
	if (rc == OK && m->s->utimens(m->s, AT_FDCWD, to, untouched, AT_SYMLINK_NOFOLLOW))
		rc = cannot_make(m, to);
	m->files++;
	m->bytes += text.n;
	return rc;
}

struct copying {
	struct making *m;
	const char *rel, *to; /* of the directory */
};

static int copy_entry(
	void *arg, int parent, const char *name, const char *below, const struct stat *st, struct err *e)
{
	const struct copying *c = arg;
	struct making *m = c->m;
	const char *rel = arena_printf(m->a, "%s%s", c->rel, below), *to = path_join(m->a, c->to, below);

	(void)e;
	if (m->files >= COPY_FILES || m->bytes >= COPY_BYTES)
		return FILE_SKIP;
	if (S_ISDIR(st->st_mode)) {
		const bool is_empty = begins_empty(m->needs, arena_printf(m->a, "%s/", rel)) ||
			begins_empty(m->needs, arena_printf(m->a, "%s/x", rel));
		int rc = make_dir(m, to);
		return rc ? rc : is_empty ? FILE_SKIP : 0;
	}
	if (S_ISLNK(st->st_mode)) {
		char target[PATH_MAX];
		ssize_t n = m->s->readlink(m->s, parent, name, target, sizeof(target));
		if (n > 0 && n < (ssize_t)sizeof(target))
			(void)m->s->symlink(m->s, arena_strndup(m->a, target, (size_t)n), AT_FDCWD, to);
		return 0;
	}
	if (!S_ISREG(st->st_mode) || st->st_size > COPY_FILE_BYTES || layer_is_named(rel, m->needs->dropped))
		return 0;
	return copy_file(m, parent, name, to, COPY_FILE_BYTES);
}

static int copy_dir(struct making *m, const char *rel, const char *real, const char *to)
{
	struct copying c = { m, rel, to };
	int rc = make_dir(m, to);

	return rc ? rc : file_walk(m->s, AT_FDCWD, real, copy_entry, &c, m->e);
}

/* A path of one of these cannot be told to the kernel. */
static bool is_plain(const char *path)
{
	return !strpbrk(path, ",:\\");
}

static int add_overlay(struct making *m, const char *rel, const char *real)
{
	const size_t n = m->layer->layer_count;
	const char *upper = arena_printf(m->a, "%s/u%zu", m->layer->dir, n),
		   *work = arena_printf(m->a, "%s/w%zu", m->layer->dir, n);
	struct json *source = json_new(m->a, JSON_OBJECT);
	int rc = make_dir(m, upper);

	if (rc == OK)
		rc = make_dir(m, work);
	if (rc)
		return rc;
	m->layers[n] = (struct sandbox_layer){ real, upper, work };
	m->layer->layer_count++;
	json_sets(m->a, source, "rel", rel);
	json_sets(m->a, source, "dir", path_base(upper));
	json_push(m->a, m->sources, source);
	return OK;
}

static void add_place(struct making *m, const char *rel, const char *real)
{
	struct json *one = json_new(m->a, JSON_OBJECT);
	struct stat st;

	json_sets(m->a, one, "rel", rel);
	json_sets(m->a, one, "real", real);
	if (m->s->stat(m->s, AT_FDCWD, real, &st, 0) == 0) {
		json_seti(m->a, one, "dev", (int64_t)st.st_dev);
		json_seti(m->a, one, "ino", (int64_t)st.st_ino);
	}
	json_push(m->a, m->places, one);
}

/* One directory of its state.  `is_first`: the one that the client's variable moves. */
static int make_state_dir(struct making *m, const char *rel, bool is_first)
{
	const struct layer_spec *spec = m->spec;
	const char *named = is_first && m->moved_to
		? m->moved_to
		: path_clean(m->a, arena_printf(m->a, "%s/%s", m->home, rel));
	const char *real = resolve(m->a, named), *to;
	int rc = make_below_home(m, rel, &to);

	if (rc)
		return rc;
	if (!real || !file_is_dir(m->s, AT_FDCWD, real))
		return make_dir(m, to);
	/* It may lie elsewhere: behind a link, or where the operator's variable says. */
	if (!text_eq(real, path_clean(m->a, arena_printf(m->a, "%s/%s", m->home, rel))))
		add_place(m, rel, real);
	if (!spec->has_mounts || !spec->has_overlay || !is_plain(real) || !is_plain(m->layer->dir))
		return copy_dir(m, rel, real, to);
	rc = add_overlay(m, rel, real);
	if (rc || text_eq(real, path_clean(m->a, arena_printf(m->a, "%s/%s", m->home, rel))) ||
		(is_first && m->moved_to))
		return rc;
	(void)m->s->unlink(m->s, AT_FDCWD, to, AT_REMOVEDIR);
	return m->s->symlink(m->s, real, AT_FDCWD, to) ? cannot_make(m, to) : OK;
}

/* A single file is copied, and once more beside it: what the session changed in it is known from the two. */
static int make_state_file(struct making *m, const char *rel)
{
	const bool is_moved = layer_is_named(rel, m->needs->moved);
	const char *dir = m->needs->state[0], *to,
		   *real = is_moved && m->moved_to ? path_join(m->a, m->moved_to, rel)
						   : path_join(m->a, m->home, rel);
	int rc = make_below_home(m,
		is_moved && (m->moved_to || !m->layer->is_mounted) ? arena_printf(m->a, "%s%s", dir, rel)
								   : rel,
		&to);
	struct bytes text;

	if (rc || file_read(m->s, m->a, AT_FDCWD, real, LAYER_JSON_BYTES, FILE_FOLLOW, &text, NULL))
		return rc;
	rc = file_put(m->s, AT_FDCWD, arena_printf(m->a, "%s/" LAYER_WAS "/%s", m->layer->dir, rel), 0600,
		text, m->e);
	/* In an overlay it is there already. */
	if (rc == OK && !(is_moved && m->moved_to && m->layer->layer_count))
		rc = copy_file(m, AT_FDCWD, resolve(m->a, real), to, LAYER_JSON_BYTES);
	return rc;
}

static const char *const *list_of(struct making *m, const char *const *names, bool only_existing)
{
	size_t n = 0;

	while (names && names[n])
		n++;
	const char **all = arena_zalloc(m->a, n + 1, sizeof(*all));
	const char *root = m->layer->is_mounted ? m->home : m->layer->home;
	n = 0;
	for (; names && *names; names++) {
		const char *outside = path_clean(m->a, arena_printf(m->a, "%s/%s", m->home, *names));
		if (!only_existing || file_exists(m->s, AT_FDCWD, outside))
			all[n++] = path_clean(m->a, arena_printf(m->a, "%s/%s", root, *names));
	}
	return all;
}

/* Without mounts a variable leads the client to its state; where it knows none, the session's home is its HOME. */
static void lead_there(struct making *m)
{
	const char **env = arena_zalloc(m->a, 2, sizeof(*env));
	const char *dir = m->needs->state ? m->needs->state[0] : "",
		   *home = m->layer->is_mounted ? m->home : m->layer->home; /* as it sees it */

	if (m->needs->home_variable)
		env[0] = arena_printf(m->a, "%s=%s", m->needs->home_variable,
			path_clean(m->a, arena_printf(m->a, "%s/%s", home, dir)));
	else
		env[0] = arena_printf(m->a, "HOME=%s", m->layer->home);
	m->layer->environment = env;
}

static int take_lock(struct making *m)
{
	const char *path = arena_printf(m->a, "%s/" LAYER_LOCK, m->layer->dir);

	m->layer->lock = m->s->open(m->s, AT_FDCWD, path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600, 0);
	if (m->layer->lock < 0 || m->s->lock(m->s, m->layer->lock, LOCK_EX | LOCK_NB))
		return cannot_make(m, path);
	return OK;
}

static int put_doc(struct making *m)
{
	const struct layer_spec *spec = m->spec;
	struct json *doc = json_new(m->a, JSON_OBJECT);
	struct buf text;

	add_place(m, "", m->home);
	json_seti(m->a, doc, "version", 1);
	json_sets(m->a, doc, "task_id", spec->task_id);
	json_sets(m->a, doc, "client", spec->client->name);
	json_sets(m->a, doc, "workspace", spec->workspace);
	json_sets(m->a, doc, "started_at", text_time_iso(m->a, m->s->now_us(m->s)));
	json_setb(m->a, doc, "ended", false);
	json_setb(m->a, doc, "moved", m->needs->home_variable && (m->moved_to || !m->layer->is_mounted));
	json_setb(m->a, doc, "moved_outside", m->moved_to);
	json_set(m->a, doc, "places", m->places);
	json_set(m->a, doc, "sources", m->sources);
	buf_init(&text, m->a);
	json_write(&text, doc, JSON_INDENT);
	buf_addc(&text, '\n');
	return file_put(m->s, AT_FDCWD, arena_printf(m->a, "%s/" LAYER_FILE, m->layer->dir), 0600,
		(struct bytes){ (const uint8_t *)text.p, text.n }, m->e);
}

static int make_all(struct making *m)
{
	const char *const *state = m->needs->state;
	int rc = make_dir(m, arena_printf(m->a, "%s/" LAYERS, m->spec->helm_home));

	if (rc == OK && m->s->mkdir(m->s, AT_FDCWD, m->layer->dir, 0700))
		rc = cannot_make(m, m->layer->dir);
	if (rc == OK)
		rc = take_lock(m);
	if (rc == OK)
		rc = make_dir(m, m->layer->home);
	if (rc == OK)
		rc = make_dir(m, arena_printf(m->a, "%s/" LAYER_WAS, m->layer->dir));
	/* Directories first: a file may lie in one of them. */
	for (size_t i = 0; rc == OK && state && state[i]; i++)
		if (is_dir_of_state(state[i]))
			rc = make_state_dir(m, state[i], i == 0);
	for (size_t i = 0; rc == OK && state && state[i]; i++)
		if (!is_dir_of_state(state[i]))
			rc = make_state_file(m, state[i]);
	return rc ? rc : put_doc(m);
}

int layer_begin(
	struct sys *s, struct arena *a, const struct layer_spec *spec, struct layer *ret, struct err *e)
{
	const struct client_session *needs = spec->client->session;
	const char *moved = needs->home_variable ? s->getenv(s, needs->home_variable) : NULL;
	size_t n = 0;

	while (needs->state && needs->state[n])
		n++;
	struct layer layer = { .dir = layer_dir(a, spec->helm_home, spec->task_id),
		.lock = -1,
		.is_mounted = spec->has_mounts };
	struct making m = { .s = s,
		.a = a,
		.spec = spec,
		.needs = needs,
		.layer = &layer,
		.layers = arena_zalloc(a, n + 1, sizeof(struct sandbox_layer)),
		.home = resolve(a, spec->home),
		.places = json_new(a, JSON_ARRAY),
		.sources = json_new(a, JSON_ARRAY),
		.e = e };

	if (!m.home)
		return err_sys(e, "LAYER_MAKE", "the home directory '%s' cannot be found", spec->home);
	if (moved && *moved == '/' &&
		!text_eq(path_clean(a, moved),
			path_clean(a, arena_printf(a, "%s/%s", m.home, needs->state[0]))))
		m.moved_to = path_clean(a, moved);
	layer.home = arena_printf(a, "%s/" LAYER_HOME, layer.dir);
	int rc = m.moved_to ? file_mkdirs(s, AT_FDCWD, m.moved_to, 0700, e) : OK;
	if (rc == OK)
		rc = make_all(&m);
	if (rc) {
		close_fd(&layer.lock);
		file_remove_tree(s, AT_FDCWD, layer.dir);
		return rc;
	}
	layer.layers = m.layers;
	layer.closed = list_of(&m, needs->closed, true);
	if (layer.is_mounted)
		layer.own = list_of(&m, needs->state, false);
	/* Also where the operator's variable names a directory that had to be copied. */
	if (!layer.is_mounted || (m.moved_to && !layer.layer_count))
		lead_there(&m);
	*ret = layer;
	return OK;
}

void layer_close(struct layer *l)
{
	close_fd(&l->lock);
}

/* ---- those that were left ---- */

static struct json *read_doc(struct sys *s, struct arena *a, const char *helm_home, const char *task_id)
{
	struct json *doc;

	if (!helm_home || !text_is_id(task_id) ||
		doc_read(s, a, AT_FDCWD, arena_printf(a, "%s/" LAYER_FILE, layer_dir(a, helm_home, task_id)),
			LAYER_JSON_BYTES, 0, &doc, NULL) ||
		!json_is(doc, JSON_OBJECT) || !text_eq(json_get_text(doc, "task_id", ""), task_id))
		return NULL;
	return doc;
}

struct json *layer_result(struct sys *s, struct arena *a, const char *helm_home, const char *task_id)
{
	struct json *doc = read_doc(s, a, helm_home, task_id);

	return json_get_bool(doc, "ended", false) ? doc : NULL;
}

/* Nobody ends one that is in use: its supervisor holds the lock, and so does everything that it started and that has not ended. */
static struct json *finish_one(struct sys *s, struct arena *a, const char *helm_home, const char *id)
{
	const char *dir = layer_dir(a, helm_home, id);
	AUTO(close_fd)
	int lock = s->open(s, AT_FDCWD, arena_printf(a, "%s/" LAYER_LOCK, dir), O_RDWR | O_NOFOLLOW, 0, 0);

	if (lock < 0 || s->lock(s, lock, LOCK_EX | LOCK_NB))
		return NULL;
	struct stat st;
	if (s->stat(s, AT_FDCWD, arena_printf(a, "%s/" LAYER_FILE, dir), &st, AT_SYMLINK_NOFOLLOW)
			? errno == ENOENT
			: !st.st_size) {
		file_remove_tree(s, AT_FDCWD, dir); /* it never began, or a power cut took it */
		return NULL;
	}
	struct json *doc = read_doc(s, a, helm_home, id);
	const bool has_ended =
		json_get_bool(doc, "ended", false); /* all but removing what it no longer needs */
	struct err e = { 0 };
	struct json *result = layer_end(s, a, helm_home, id, &e);
	if (!result) {
		result = json_new(a, JSON_OBJECT);
		json_sets(a, result, "task_id", id);
		json_sets(a, result, "error", e.text);
	}
	return has_ended ? NULL : result;
}

/* How many have ended after this one. */
static size_t count_newer(
	struct sys *s, const char *layers, char *const *names, size_t n, const struct stat *than)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct stat st;
	size_t newer = 0;

	for (size_t i = 0; i < n; i++)
		newer += s->stat(s, AT_FDCWD, path_join(&a, layers, names[i]), &st, AT_SYMLINK_NOFOLLOW) ==
				0 &&
			st.st_mtim.tv_sec > than->st_mtim.tv_sec;
	return newer;
}

/* So old, or so many newer ones, that nobody will decide about it.  One without a lock has ended, or never began. */
static bool is_spent(
	struct sys *s, struct arena *a, const char *layers, char *const *names, size_t n, size_t i)
{
	const char *dir = path_join(a, layers, names[i]);
	const int64_t now = s->now_us(s) / 1000000;
	struct stat st;

	return !file_exists(s, AT_FDCWD, arena_printf(a, "%s/" LAYER_LOCK, dir)) &&
		s->stat(s, AT_FDCWD, dir, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		(st.st_mtim.tv_sec < now - (int64_t)KEPT_DAYS * 86400 ||
			(n > KEPT_MOST && st.st_mtim.tv_sec < now - 60 &&
				count_newer(s, layers, names, n, &st) >= KEPT_MOST));
}

struct json *layers_finish(struct sys *s, struct arena *a, const char *helm_home)
{
	struct json *list = json_new(a, JSON_ARRAY);
	const char *layers = arena_printf(a, "%s/" LAYERS, helm_home ? helm_home : "");
	char **names = NULL;
	size_t n = 0;

	if (!helm_home || file_list(s, a, AT_FDCWD, layers, &names, &n, NULL))
		return list;
	for (size_t i = 0; i < n; i++) {
		struct json *one = text_is_id(names[i]) ? finish_one(s, a, helm_home, names[i]) : NULL;
		if (one)
			json_push(a, list, one);
	}
	for (size_t i = 0; i < n; i++)
		if (is_spent(s, a, layers, names, n, i))
			file_remove_tree(s, AT_FDCWD, path_join(a, layers, names[i]));
	return list;
}

/* ---- telling ---- */

void layer_tell(struct arena *a, const struct json *result, struct json *row)
{
	static const char *const from[] = { "carried", "left", "left_count", "dropped", "deleted" },
				 *const to[] = { "session_carried", "session_left", "session_left_count",
					 "session_dropped", "session_deleted" };

	for (size_t i = 0; i < ARRAY_SIZE(from); i++)
		if (json_get(result, from[i]))
			json_set(a, row, to[i], json_copy(a, json_get(result, from[i])));
}

const char *layer_line(struct arena *a, const struct json *result)
{
	const int64_t n = json_get_int(result, "left_count", 0);
	const struct client *c = clients_find(json_get_text(result, "client", ""));

	if (json_get_text(result, "error", NULL))
		return arena_printf(a,
			"what session %s wrote in the home directory could not be put in order: %s",
			json_get_text(result, "task_id", ""), json_get_text(result, "error", ""));
	if (n <= 0)
		return NULL;
	return arena_printf(a,
		"%s that the session wrote in the home directory %s not kept (%s's settings or others): helm agent report %s",
		text_count(a, n, "file"), n == 1 ? "was" : "were", c ? c->title : "the client",
		json_get_text(result, "task_id", ""));
}

/* ---- the operator's decision ---- */

static int open_kept(struct sys *s, struct arena *a, const char *helm_home, const char *task_id,
	struct json **ret_doc, int *ret_fd, struct err *e)
{
	*ret_doc = layer_result(s, a, helm_home, task_id);
	*ret_fd = *ret_doc
		? s->open(s, AT_FDCWD, arena_printf(a, "%s/" LAYER_KEPT, layer_dir(a, helm_home, task_id)),
			  O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, 0)
		: -1;
	if (*ret_fd >= 0)
		return OK;
	return err_set(e, E_MISSING, "LAYER_UNKNOWN",
		"nothing of session '%s' is kept aside; 'helm agent report %s' tells about it", task_id,
		task_id);
}

bool layer_is_kept(
	struct sys *s, struct arena *a, const char *helm_home, const char *task_id, const char *path)
{
	struct json *doc;
	struct stat st;
	AUTO(close_fd) int kept = -1;

	return helm_home && open_kept(s, a, helm_home, task_id, &doc, &kept, NULL) == OK && *path &&
		s->stat(s, kept, path, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode);
}

int layer_read_kept(struct sys *s, struct arena *a, const char *helm_home, const char *task_id,
	const char *path, struct bytes *ret, struct err *e)
{
	AUTO(close_fd) int kept = -1;
	struct json *doc;
	int rc = open_kept(s, a, helm_home, task_id, &doc, &kept, e);

	return rc ? rc : file_read(s, a, kept, path, LAYER_LINES_BYTES, FILE_BENEATH, ret, e);
}

int layer_keep(struct sys *s, struct arena *a, const char *helm_home, const char *task_id, const char *path,
	struct bytes content, struct err *e)
{
	AUTO(close_fd) int kept = -1;
	struct layer_ending x = { .s = s, .a = a };
	const char *name;
	struct json *doc;
	struct stat st;
	int rc = open_kept(s, a, helm_home, task_id, &doc, &kept, e);

	if (rc == OK)
		rc = layer_read(&x, doc, e);
	if (rc)
		return rc;
	if (s->stat(s, kept, path, &st, AT_SYMLINK_NOFOLLOW))
		return err_sys(e, "LAYER_FILE", "cannot read '%s'", path);
	AUTO(close_fd) int parent = layer_open_real(&x, path, true, &name);
	if (parent < 0)
		return err_sys(e, "LAYER_FILE",
			"the directory of '%s/%s' cannot be opened without following links", x.home.real,
			path);
	rc = file_replace(s, parent, name, (st.st_mode & 0100) | 0600, content, e);
	if (rc == OK)
		(void)s->unlink(s, kept, path, 0);
	return rc;
}

int layer_discard(struct sys *s, struct arena *a, const char *helm_home, const char *task_id, struct err *e)
{
	AUTO(close_fd) int kept = -1;
	struct json *doc;
	int rc = open_kept(s, a, helm_home, task_id, &doc, &kept, e);

	if (rc == OK)
		file_remove_tree(
			s, AT_FDCWD, arena_printf(a, "%s/" LAYER_KEPT, layer_dir(a, helm_home, task_id)));
	return rc;
}
