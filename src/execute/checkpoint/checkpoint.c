/* checkpoint.c — making a checkpoint.
 *
 * In order, each step leaving things as they were if it fails: choose (paths, rules), look (walk, limits,
 * room on the disk), read what is not known to be unchanged into one new pack, write the manifest as an
 * object, make the pack durable and read it back, and last put the record into the index.  Only that last
 * rename makes the checkpoint exist.
 *
 * What is in the store already is not believed to be whole because it once was: it is read back, all of it
 * for somebody who relies on the checkpoint, some of it otherwise, and saved anew from the files when it is
 * damaged.
 *
 * A file is saved as it was at one moment: its times are compared before and after reading, and reading is
 * tried again when they moved.  One that never stands still is saved as read and marked. */
#include "execute/checkpoint/parts.h"

#include <errno.h>
#include <stdlib.h>

enum { IGNORE_LIMIT = 1 << 20, TRIES = 3, SPACE_MARGIN = 8 << 20, SAMPLE = 64 };
/* Ticks of the kernel's clock are at most 10 ms; file systems that keep whole seconds show it by their
 * zeros. */
#define YOUNG_NS 20000000
#define YOUNG_COARSE_NS 2000000000

struct maker {
	struct checkpoint_store *st;
	const struct checkpoint_request *req;
	struct arena *a; /* of this call */
	struct checkpoint_policy policy;
	struct selection sel;
	struct entries entries;
	struct cache cache;
	struct feed feed;
	int64_t deadline_us;
	uint64_t to_read_files, to_read_bytes;
	bool is_all_known;
	const char *left_out;
	struct content tree;
	struct checkpoint_result res;
};

/* ---- choose ---- */

static int refuse_path(const char *path, const char *why, struct err *e)
{
	return err_set(e, E_INPUT, "CHECKPOINT_PATH", "cannot save '%s': %s", path, why);
}

/* The first component of the path that is left out by name, or NULL. */
static const char *hidden_part(struct maker *m, const char *path)
{
	struct bytes rest = bytes_of(path);

	while (rest.p) {
		struct bytes part = text_cut(&rest, '/');
		const char *name = arena_strndup(m->a, (const char *)part.p, part.n);
		if (selection_hides_name(&m->sel, name))
			return name;
	}
	return NULL;
}

/* Is there something at `path`, reached through real directories only?  A link as the last component is
 * fine, it is saved as a link; one before that is refused, since it may lead out of the workspace. */
static int look_at(struct maker *m, const char *path, bool *ret_exists, struct err *e)
{
	struct sys *s = m->st->sys;
	AUTO(close_fd)
	int fd = s->open(s, m->st->root_fd, path, O_PATH | O_NOFOLLOW, 0,
		RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_SYMLINKS);

	*ret_exists = true;
	if (fd >= 0)
		return OK;
	if (errno == ENOENT || errno == ENOTDIR) {
		*ret_exists = false;
		return OK;
	}
	/* O_PATH with O_NOFOLLOW opens a link itself, but RESOLVE_NO_SYMLINKS refuses it: look at the name
	 * alone. */
	const char *name = path_base(path);
	if (errno == ELOOP && name != path) {
		const char *parent = arena_strndup(m->a, path, (size_t)(name - path) - 1);
		AUTO(close_fd)
		int up = s->open(s, m->st->root_fd, parent, O_PATH | O_DIRECTORY, 0, RESOLVE_INSIDE);
		if (up >= 0)
			return OK;
		return refuse_path(path, "it is reached through a symbolic link; name the real path", e);
	}
	if (errno == ELOOP)
		return OK;
	return err_sys(e, "CHECKPOINT_PATH", "cannot save '%s'", path);
}

/* Refuses what lies outside, what is never saved, and what is not there. */
static int choose_path(struct maker *m, const char *given, struct err *e)
{
	const char *path = path_clean(m->a, *given ? given : ".");
	bool exists;

	if (path[0] == '/' || (!text_eq(path, ".") && !checkpoint_path_ok(path)))
		return refuse_path(given, "it is outside the workspace", e);
	const char *hidden = text_eq(path, ".") ? NULL : hidden_part(m, path);
	if (hidden)
		return refuse_path(given,
			text_eq(hidden, ".helm") ? "it is Helm's own state"
						 : "version-control data is left out; --include-git saves it",
			e);
	if (look_at(m, path, &exists, e))
		return e->rc;
	if (!exists && !m->req->skip_missing)
		return err_set(
			e, E_MISSING, "CHECKPOINT_PATH", "cannot save '%s': there is no such file", given);
	if (exists)
		m->sel.paths[m->sel.path_count++] = path;
	return OK;
}

/* No paths mean the whole workspace; paths that all turn out to be missing do not. */
static int choose_paths(struct maker *m, struct err *e)
{
	const struct checkpoint_request *q = m->req;

	m->sel.paths = arena_zalloc(m->a, q->path_count + 1, sizeof(*m->sel.paths));
	for (size_t i = 0; i < q->path_count; i++)
		if (choose_path(m, q->paths[i], e))
			return e->rc;
	if (!q->path_count)
		m->sel.paths[m->sel.path_count++] = ".";
	if (!m->sel.path_count)
		return err_set(
			e, E_MISSING, "CHECKPOINT_PATH", "none of the %zu paths exists", q->path_count);
	return OK;
}

/* Rules of the policy, of .helmignore and of the request, in this order: the last one that matches decides.
 * Exact paths are what somebody needs to have saved, so no rule applies to them. */
static int choose_rules(struct maker *m, struct err *e)
{
	struct bytes text = { 0 };

	if (m->req->are_exact || m->req->is_whole)
		return OK;
	for (size_t i = 0; i < m->policy.exclude_count; i++)
		rules_add(m->a, &m->sel, m->policy.excludes[i], strlen(m->policy.excludes[i]));
	if (file_read(
		    m->st->sys, m->a, m->st->root_fd, ".helmignore", IGNORE_LIMIT, FILE_BENEATH, &text, e) &&
		e->rc != E_MISSING)
		return err_wrap(e, "ignore rules");
	while (text.p) {
		struct bytes line = text_cut(&text, '\n');
		if (line.n && !memchr(line.p, 0, line.n))
			rules_add(m->a, &m->sel, (const char *)line.p, line.n);
	}
	for (size_t i = 0; i < m->req->exclude_count; i++)
		rules_add(m->a, &m->sel, m->req->excludes[i], strlen(m->req->excludes[i]));
	return OK;
}

/* Everything that can be wrong with the request itself; nothing has been read or written yet. */
static int choose(struct maker *m, struct err *e)
{
	const struct checkpoint_request *q = m->req;

	if (!checkpoint_label_ok(q->label))
		return err_set(e, E_USAGE, "CHECKPOINT_LABEL",
			"label '%s' must be 1 to 64 letters, digits, '.', '_' or '-', the first a letter or "
			"digit",
			q->label);
	if (!q->is_safety && (text_eq(q->label, CHECKPOINT_SAFETY) || text_eq(q->label, "latest")))
		return err_set(
			e, E_USAGE, "CHECKPOINT_LABEL", "label '%s' is reserved; choose another", q->label);
	if (checkpoint_policy(m->st, &m->policy, e))
		return e->rc;
	m->sel.are_exact = q->are_exact;
	m->sel.with_vcs = q->include_git || q->is_whole;
	m->sel.with_state = q->include_state;
	if (choose_paths(m, e) || choose_rules(m, e))
		return e->rc;
	selection_seal(&m->sel);
	return OK;
}

/* ---- look ---- */

/* Counted again after reading, when some files may have become skipped entries. */
static void count_entries(struct maker *m)
{
	struct checkpoint_result *r = &m->res;

	r->files = r->directories = r->links = r->bytes = 0;
	m->to_read_files = m->to_read_bytes = 0;
	for (size_t i = 0; i < m->entries.n; i++) {
		const struct entry *x = &m->entries.v[i];
		r->directories += x->type == ENTRY_DIR;
		r->links += x->type == ENTRY_LINK;
		if (x->type != ENTRY_FILE)
			continue;
		r->files++;
		r->bytes += x->held_bytes;
		if (!x->is_known) {
			m->to_read_files++;
			m->to_read_bytes += x->held_bytes;
		}
	}
}

/* For one who relies on the checkpoint: what cannot be saved is an error, not a note. */
static int is_missing(const char *path, const char *why, struct err *e)
{
	return err_set(e, E_INPUT, "CHECKPOINT_INCOMPLETE", "'%s' cannot be saved: %s", path, why);
}

/* A chosen path is saved although a rule excludes it.  Whoever relies on the checkpoint has not chosen the
 * path but derived it from a command, so for them an excluded path is an error. */
static int check_chosen(struct maker *m, struct err *e)
{
	for (size_t i = 0; i < m->sel.path_count; i++) {
		const char *path = m->sel.paths[i];
		for (size_t n = 0; !text_eq(path, ".");) {
			n += strcspn(path + n, "/");
			const char *part = arena_strndup(m->a, path, n);
			if (rules_exclude(&m->sel, part, true) ||
				(!path[n] && rules_exclude(&m->sel, part, false)))
				return is_missing(
					path, "it is left out by .helmignore or the checkpoint policy", e);
			if (!path[n])
				break;
			n++;
		}
	}
	return OK;
}

static bool holds_nothing(const struct entry *x)
{
	return x->type == ENTRY_SKIPPED && (text_eq(x->text, "socket") || text_eq(x->text, "fifo"));
}

static int compare_inodes(const void *x, const void *y)
{
	const struct entry *a = *(const struct entry *const *)x, *b = *(const struct entry *const *)y;

	if (a->dev != b->dev)
		return a->dev < b->dev ? -1 : 1;
	return a->ino < b->ino ? -1 : a->ino > b->ino;
}

/* A file that is also known by a name outside of what is saved; or NULL.  Builds link files within their own tree. */
static const struct entry *named_elsewhere(struct maker *m)
{
	const struct entry **list = arena_alloc(m->a, (m->entries.n + 1) * sizeof(*list));
	size_t n = 0;

	for (size_t i = 0; i < m->entries.n; i++)
		if (m->entries.v[i].type == ENTRY_FILE && m->entries.v[i].names)
			list[n++] = &m->entries.v[i];
	qsort(list, n, sizeof(*list), compare_inodes);
	for (size_t i = 0, k; i < n; i = k) {
		for (k = i + 1; k < n && compare_inodes(&list[i], &list[k]) == 0; k++)
			continue;
		if (k - i < list[i]->names)
			return list[i];
	}
	return NULL;
}

/* Called twice: before anything is read, so that a hopeless attempt costs little, and after reading, when
 * files may have turned out to be unreadable or unstable. */
static int check_complete(struct maker *m, struct err *e)
{
	if (!m->req->is_complete)
		return OK;
	if (m->left_out)
		return is_missing(m->left_out, "it is left out of checkpoints", e);
	if (m->res.unstable)
		return err_set(
			e, E_INPUT, "CHECKPOINT_INCOMPLETE", "files keep changing while they are saved");
	for (size_t i = 0; i < m->entries.n; i++) {
		const struct entry *x = &m->entries.v[i];
		if (x->type == ENTRY_SKIPPED && !(m->req->is_whole && holds_nothing(x)))
			return is_missing(x->path, x->text, e);
		if (x->type == ENTRY_LINK && !m->req->is_whole &&
			(m->req->is_plain || checkpoint_link_leaves(m->a, x)))
			return is_missing(x->path, "it is a link", e);
		if (x->names && m->req->is_plain && !m->req->is_whole)
			return is_missing(x->path, "it has a second name elsewhere", e);
	}
	const struct entry *shared = m->req->is_plain && m->req->is_whole ? named_elsewhere(m) : NULL;
	if (shared)
		return is_missing(shared->path, "it has a second name elsewhere", e);
	return check_chosen(m, e);
}

/* A request may lower the policy's limits.  It may raise them only if nobody relies on it being
 * complete. */
static uint64_t limit(const struct checkpoint_request *q, uint64_t asked, uint64_t policy)
{
	return asked && (!q->is_complete || asked < policy) ? asked : policy;
}

/* Only a few caches are kept.  Single operands that are about to be deleted must not push out those of
 * whole trees. */
static bool is_cached(const struct maker *m)
{
	return !m->req->are_exact && (!m->req->is_complete || text_eq(m->sel.paths[0], "."));
}

/* Walks the tree, finds out what has to be read, and refuses when there is no room for it on the disk. */
static int look(struct maker *m, struct err *e)
{
	const struct checkpoint_request *q = m->req;
	struct scan sc = { .st = m->st,
		.a = m->a,
		.sel = &m->sel,
		.to = &m->entries,
		.spared = q->spared,
		.max_files = limit(q, q->max_files, m->policy.max_files),
		.max_bytes = limit(q, q->max_bytes, m->policy.max_bytes),
		.deadline_us = m->deadline_us,
		.progress = q->progress };

	if (is_cached(m))
		cache_load(m->st, m->a, &m->sel, &m->cache);
	m->entries.cap = (size_t)m->cache.count + 64;
	m->entries.v = arena_alloc(m->a, m->entries.cap * sizeof(*m->entries.v));
	if (checkpoint_scan(&sc, e))
		return e->rc;
	m->res.excluded = sc.excluded_count;
	m->left_out = sc.left_out;
	if (check_complete(m, e))
		return e->rc;
	m->is_all_known = cache_match(&m->cache, &m->entries);
	count_entries(m);
	int64_t room = m->st->sys->free_bytes(m->st->sys, m->st->state_fd);
	if (room >= 0 && m->to_read_bytes + SPACE_MARGIN > (uint64_t)room && m->to_read_bytes)
		return err_set(e, E_LIMIT, "CHECKPOINT_SPACE",
			"%llu MiB to save, but only %lld MiB are free; free some or leave files out with "
			"--exclude",
			(unsigned long long)(m->to_read_bytes >> 20), (long long)(room >> 20));
	return OK;
}

/* ---- what is known is in the store ---- */

/* Called for every object of a content; an error ends the walk. */
static int check_object(void *arg, const struct object_id *id, struct err *e)
{
	struct maker *m = arg;

	return pool_check(m->st->pool, id, e);
}

/* Every object of it was read back and is what its name says. */
static bool is_whole(struct maker *m, const struct content *c)
{
	struct err why;

	return content_objects(m->st->pool, m->a, c, check_object, m, &why) == OK;
}

/* The store's index has it; its bytes were not read. */
static bool is_there(struct maker *m, const struct content *c)
{
	return pool_find(m->st->pool, c->is_list ? &c->list : &c->sha) != NULL;
}

/* A file that the cache knows is not read, so its copy in the store must be good.  All copies are read back
 * for somebody who relies on the checkpoint, otherwise a sample that differs from time to time.  One
 * damaged copy in the sample makes all of them be read.  What is damaged is saved anew like a new file. */
static int check_known(struct maker *m, struct err *e)
{
	struct sys *s = m->st->sys;
	size_t known = m->res.files - m->to_read_files, stride = known / SAMPLE + 1, k = 0;
	bool is_damaged = false;

	if (!known)
		return OK;
	if (pool_load(m->st->pool, e))
		return e->rc;
	if (m->req->is_complete && !m->req->is_whole)
		stride = 1;
	size_t first = (size_t)s->now_us(s) % stride;
	for (size_t i = 0; i < m->entries.n; i++) {
		struct entry *x = &m->entries.v[i];
		if (!x->is_known)
			continue;
		bool is_due = k++ % stride == first;
		x->is_known = is_due ? is_whole(m, &x->content) : is_there(m, &x->content);
		is_damaged |= !x->is_known;
		if (m->deadline_us && s->mono_us(s) > m->deadline_us)
			return err_set(e, E_LIMIT, "CHECKPOINT_TIME", "reading the store back took too long");
	}
	for (size_t i = 0; is_damaged && i < m->entries.n; i++) {
		struct entry *x = &m->entries.v[i];
		x->is_known = x->is_known && is_whole(m, &x->content);
	}
	m->is_all_known = m->is_all_known && !is_damaged && is_whole(m, &m->cache.tree);
	return OK;
}

/* ---- read ---- */

static void skip(struct entry *x, const char *why)
{
	*x = (struct entry){ .path = x->path, .type = ENTRY_SKIPPED, .text = why };
}

/* Why a file that cannot be opened or read is left out of the checkpoint.  NULL: the error is not about
 * this file, and ends the whole attempt. */
static const char *skip_reason(int error)
{
	switch (error) {
	case EACCES:
	case EPERM:
		return "unreadable";
	case EIO:
		return "read error";
	case ENOENT:
	case ENOTDIR:
	case ELOOP:
	case EXDEV:
	case ENXIO:
		return "changed";
	default:
		return NULL;
	}
}

/* Changed so recently that another change within the same tick of the clock would not show in its times. */
static bool is_young(const struct entry *x, int64_t now_ns)
{
	bool is_coarse = x->mtime_ns % 1000000000 == 0 && x->ctime_ns % 1000000000 == 0;
	int64_t last = x->mtime_ns > x->ctime_ns ? x->mtime_ns : x->ctime_ns;

	return last > now_ns - (is_coarse ? YOUNG_COARSE_NS : YOUNG_NS);
}

/* Reads n bytes, or to the end when n is UINT64_MAX.  -1 with errno when reading failed; *e is filled when
 * storing failed. */
static int feed_from(struct maker *m, int fd, uint64_t n, uint64_t *ret_got, struct err *e)
{
	struct sys *s = m->st->sys;
	uint8_t *to;
	size_t room;

	while (n) {
		if (feed_room(&m->feed, &to, &room, e))
			return e->rc;
		ssize_t got = s->read(s, fd, to, room < n ? room : (size_t)n);
		if (got < 0)
			return -1;
		if (got == 0)
			return OK;
		feed_filled(&m->feed, (size_t)got);
		*ret_got += (uint64_t)got;
		n -= n == UINT64_MAX ? 0 : (uint64_t)got;
	}
	return OK;
}

/* Holes of a sparse file are not read: only its extents are, one after the other. */
static int feed_file(struct maker *m, int fd, struct entry *x, uint64_t *ret_got, struct err *e)
{
	struct sys *s = m->st->sys;

	*ret_got = 0;
	feed_begin(&m->feed, m->st->pool, m->a, false);
	if (x->is_sparse && checkpoint_extents(s, m->a, fd, x))
		return -1;
	if (!x->is_sparse)
		return feed_from(m, fd, UINT64_MAX, ret_got, e);
	for (uint32_t i = 0; i < x->extent_count; i++) {
		if (s->seek(s, fd, (off_t)x->extents[i].at, SEEK_SET) < 0)
			return -1;
		if (feed_from(m, fd, x->extents[i].n, ret_got, e))
			return e->rc ? e->rc : -1;
	}
	return OK;
}

enum outcome { STEADY, MOVED, GONE };

/* One attempt at reading a file as it was at one moment.  STEADY: it did not change meanwhile.  MOVED: it
 * did, and unless this was the last attempt nothing was stored.  GONE: the entry has become a skipped
 * one. */
static int try_file(struct maker *m, struct entry *x, bool is_last, enum outcome *ret, struct err *e)
{
	struct sys *s = m->st->sys;
	struct stat before, after;
	uint64_t got;
	int64_t now_ns = s->now_us(s) * 1000;
	AUTO(close_fd)
	int fd = s->open(s, m->st->root_fd, x->path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0, RESOLVE_INSIDE);

	*ret = GONE;
	e->rc = OK;
	int failed = fd < 0 || s->stat(s, fd, "", &before, AT_EMPTY_PATH);
	if (!failed && !S_ISREG(before.st_mode)) {
		skip(x, "changed");
		return OK;
	}
	if (!failed) {
		entry_from_stat(x, &before);
		failed = feed_file(m, fd, x, &got, e) || s->stat(s, fd, "", &after, AT_EMPTY_PATH);
	}
	if (failed) {
		const char *why = skip_reason(errno);
		if (e->rc)
			return e->rc;
		if (!why)
			return err_sys(e, "CHECKPOINT_READ", "cannot read '%s'", x->path);
		skip(x, why);
		return OK;
	}
	struct entry now = { 0 };
	entry_from_stat(&now, &after);
	bool is_steady = now.size == x->size && now.mtime_ns == x->mtime_ns && now.ctime_ns == x->ctime_ns &&
		got == x->held_bytes;
	*ret = is_steady ? STEADY : MOVED;
	if (!is_steady && !is_last)
		return OK;
	if (!is_steady) {
		x->is_unstable = true;
		x->is_sparse = false;
		x->size = x->held_bytes = got;
	}
	x->is_racy = is_young(x, now_ns);
	return feed_end(&m->feed, &x->content, e);
}

/* A file that keeps changing is saved as it was read the last time, and marked. */
static int read_file(struct maker *m, struct entry *x, struct err *e)
{
	enum outcome how = MOVED;

	for (int i = 1; how == MOVED && i <= TRIES; i++) {
		if (try_file(m, x, i == TRIES, &how, e))
			return err_wrap(e, "saving '%s'", x->path);
	}
	m->res.unstable += x->is_unstable;
	if (x->type == ENTRY_FILE) {
		m->res.read_files++;
		m->res.read_bytes += x->held_bytes;
	}
	return OK;
}

/* The time limit is checked between files. */
static int read_files(struct maker *m, struct err *e)
{
	struct sys *s = m->st->sys;
	const struct checkpoint_progress *p = m->req->progress;

	for (size_t i = 0; i < m->entries.n; i++) {
		struct entry *x = &m->entries.v[i];
		if (x->type != ENTRY_FILE || x->is_known)
			continue;
		if (read_file(m, x, e))
			return e->rc;
		if (p && m->res.read_files % 64 == 0)
			p->step(p->arg, "saving files", m->res.read_files, m->to_read_files);
		if (m->deadline_us && s->mono_us(s) > m->deadline_us)
			return err_set(e, E_LIMIT, "CHECKPOINT_TIME", "saving the files took too long");
	}
	return OK;
}

/* The manifest goes into the store as content like any other, so unchanged parts of it are shared. */
static int save_tree(struct maker *m, struct err *e)
{
	struct buf text;

	buf_init(&text, m->a);
	tree_write(&text, &m->sel, &m->entries);
	/* Without its manifest a checkpoint is worth nothing, so parts that are in the store already are
	 * read back. */
	m->st->pool->checks_all = true; /* without its manifest a checkpoint is nothing */
	feed_begin(&m->feed, m->st->pool, m->a, true);
	if (feed_add(&m->feed, buf_bytes(&text), e) || feed_end(&m->feed, &m->tree, e))
		return err_wrap(e, "manifest");
	return OK;
}

/* ---- record ---- */

/* By a record, or by a directory of an older version. */
static bool is_id_taken(struct maker *m, const struct json *array, const char *id)
{
	json_each (v, array)
		if (text_eq(json_get_text(v, "checkpoint_id", ""), id))
			return true;
	return file_exists(m->st->sys, m->st->dir_fd, id);
}

/* Time and label; a number is added when two are made in the same second. */
static const char *new_id(struct maker *m, const struct json *array, const char *created)
{
	struct arena *a = m->st->a;
	const char *id = arena_printf(a, "%s-%s", created, m->req->label);

	for (int i = 2; is_id_taken(m, array, id); i++)
		id = arena_printf(a, "%s-%s-%d", created, m->req->label, i);
	return id;
}

static void set_digest(struct arena *a, struct json *to, const char *name, const struct object_id *id)
{
	char hex[SHA256_HEX];

	hex_encode(id->b, SHA256_SIZE, hex);
	json_sets(a, to, name, hex);
}

/* What a list shows, and what is needed to find the manifest. */
static struct json *new_record(struct maker *m, const char *created)
{
	struct arena *a = m->st->a;
	struct json *r = json_new(a, JSON_OBJECT), *paths = json_new(a, JSON_ARRAY);

	json_sets(a, r, "checkpoint_id", m->res.id);
	json_sets(a, r, "label", m->req->label);
	json_sets(a, r, "created_at", created);
	for (size_t i = 0; i < m->sel.path_count; i++)
		json_pushs(a, paths, text_safe(a, m->sel.paths[i], strlen(m->sel.paths[i]), false));
	json_set(a, r, "paths", paths);
	json_set(a, r, "archive", json_stringf(a, "%s/checkpoints/objects", m->st->where));
	json_sets(a, r, "format", "objects/1");
	if (m->req->task_id)
		json_sets(a, r, "task_id", m->req->task_id);
	set_digest(a, r, "tree", &m->tree.sha);
	if (m->tree.is_list)
		set_digest(a, r, "tree_chunks", &m->tree.list);
	json_seti(a, r, "tree_bytes", (int64_t)m->tree.n);
	json_seti(a, r, "files", (int64_t)m->res.files);
	json_seti(a, r, "bytes", (int64_t)m->res.bytes);
	json_seti(a, r, "stored_bytes", (int64_t)m->res.stored_bytes);
	json_seti(a, r, "skipped", (int64_t)m->res.skipped_count);
	if (m->req->is_whole)
		json_setb(a, r, "whole", true);
	if (m->res.repaired)
		json_seti(a, r, "repaired", (int64_t)m->res.repaired);
	return r;
}

/* The newest automatic checkpoint of this very tree, if it is not about to be thinned out; or NULL. */
static struct json *same_as_before(struct maker *m, const struct json *array)
{
	char hex[SHA256_HEX];

	if (!text_eq(m->req->label, CHECKPOINT_UNDO) || !m->res.is_same)
		return NULL;
	hex_encode(m->tree.sha.b, SHA256_SIZE, hex);
	for (size_t i = array->n, looked = 0; i-- > 0 && looked < CHECKPOINT_KEEP_RECENT; looked++)
		if (text_eq(json_get_text(array->items[i], "label", ""), CHECKPOINT_UNDO) &&
			json_get_bool(array->items[i], "whole", false) == m->req->is_whole &&
			text_eq(json_get_text(array->items[i], "tree", ""), hex))
			return array->items[i];
	return NULL;
}

/* The moment from which the checkpoint exists. */
static int put_record(struct maker *m, struct json *array, struct err *e)
{
	const char *created = text_time_compact(m->st->a, m->st->sys->now_us(m->st->sys));
	struct json *before = same_as_before(m, array);

	if (before) {
		m->res.record = before;
		m->res.id = json_get_text(before, "checkpoint_id", "");
		return OK;
	}
	m->res.id = new_id(m, array, created);
	m->res.record = new_record(m, created);
	json_push(m->st->a, array, m->res.record);
	/* Without the copy of its record the checkpoint exists and can be restored; whoever relies on it is told that the disk is not
	 * well. */
	if (checkpoint_save_index(m->st, array, e) || records_add(m->st, array, e))
		return e->rc;
	return OK;
}

/* ---- all of it ---- */

/* Copied, because the entries live no longer than this call. */
static void list_skipped(struct maker *m)
{
	struct checkpoint_result *r = &m->res;
	size_t n = 0;

	for (size_t i = 0; i < m->entries.n; i++)
		n += m->entries.v[i].type == ENTRY_SKIPPED;
	r->skipped = arena_zalloc(m->st->a, n + 1, sizeof(*r->skipped));
	for (size_t i = 0; i < m->entries.n; i++)
		if (m->entries.v[i].type == ENTRY_SKIPPED)
			r->skipped[r->skipped_count++] =
				(struct checkpoint_skip){ arena_strdup(m->st->a, m->entries.v[i].path),
					m->entries.v[i].text };
}

/* Pack, then cache, then record: each is durable before the next one names it. */
static int make(struct maker *m, struct json *array, struct err *e)
{
	struct pool *pool = m->st->pool;

	/* The index is there before the first pack is: one that is missing beside packs was lost. */
	if (!array->n && !file_exists(m->st->sys, m->st->dir_fd, "index.json") &&
		checkpoint_save_index(m->st, array, e))
		return e->rc;
	pool->checks_all = m->req->is_complete && !m->req->is_whole;
	pool->reused = pool->replaced = 0;
	if (check_known(m, e))
		return e->rc;
	m->tree = m->cache.tree;
	m->res.is_same = m->is_all_known;
	if (!m->is_all_known) {
		if (read_files(m, e) || check_complete(m, e) || save_tree(m, e))
			return e->rc;
		count_entries(m);
		m->res.is_same = m->cache.is_found && object_eq(&m->tree.sha, &m->cache.tree.sha);
	}
	list_skipped(m);
	m->res.repaired = pool->replaced;
	m->res.damaged_packs = pool->damaged_count;
	if (pool_commit(pool, &m->res.stored_bytes, e))
		return e->rc;
	if (!m->is_all_known && is_cached(m) && cache_save(m->st, m->a, &m->sel, &m->entries, &m->tree, e))
		return e->rc;
	return put_record(m, array, e);
}

/* The limit keeps a tree of absurd size from taking all memory. */
static int prepare(struct maker *m, struct checkpoint_store *st, const struct checkpoint_request *req,
	struct arena *a, struct err *e)
{
	m->st = st;
	m->req = req;
	m->a = a;
	a->limit_bytes = (size_t)4 << 30;
	m->deadline_us = req->time_limit_ms ? st->sys->mono_us(st->sys) + req->time_limit_ms * 1000 : 0;
	return choose(m, e);
}

/* A damaged index that can be made anew is.  What a killed attempt left is removed, since nobody else works here while the lock is held. */
static int open_index(struct maker *m, struct json **ret_array, struct err *e)
{
	struct checkpoint_store *st = m->st;

	if (checkpoint_list_healed(st, ret_array, &m->res.healed, e))
		return e->rc;
	checkpoint_remove_temps(st, m->a);
	return OK;
}

/* On failure the unfinished pack is removed. */
int checkpoint_create_locked(struct checkpoint_store *st, const struct checkpoint_request *req,
	struct checkpoint_result *ret, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct maker m = { 0 };
	struct json *array;

	if (prepare(&m, st, req, &a, e) || open_index(&m, &array, e) || look(&m, e))
		return e->rc;
	if (make(&m, array, e)) {
		pool_drop(st->pool);
		return e->rc;
	}
	*ret = m.res;
	return OK;
}

/* Looks only; takes no lock, so the numbers may be out of date at once. */
static int dry_run(struct checkpoint_store *st, const struct checkpoint_request *req,
	struct checkpoint_result *ret, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct maker m = { 0 };

	if (prepare(&m, st, req, &a, e) || look(&m, e))
		return e->rc;
	list_skipped(&m);
	m.res.read_files = m.to_read_files;
	m.res.read_bytes = m.to_read_bytes;
	m.res.is_same = m.is_all_known;
	*ret = m.res;
	return OK;
}

int checkpoint_create(struct checkpoint_store *st, const struct checkpoint_request *req,
	struct checkpoint_result *ret, struct err *e)
{
	AUTO(close_fd) int lock = -1;

	if (req->is_dry_run)
		return dry_run(st, req, ret, e);
	AUTO(arena_done) struct arena a = { 0 };
	struct maker m = { 0 };
	/* What is wrong with the request itself is said before a directory is made for it. */
	if (prepare(&m, st, req, &a, e))
		return e->rc;
	if (checkpoint_make_dirs(st, e) || checkpoint_lock(st, req->time_limit_ms, &lock, e))
		return e->rc;
	return checkpoint_create_locked(st, req, ret, e);
}
