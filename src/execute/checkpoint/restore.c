/* restore.c — bringing files back.
 *
 * A file is written under a temporary name beside its target, made durable, and then renamed, so that at
 * every moment it is the old or the new one.  Beside, and not in a directory of ours: so it lies on the
 * right file system, and where that directory's other files lie.  Temporary names that a crash left are
 * never saved, and removed by the next restore or prune.
 *
 * A few files are synced one by one.  For thousands that would take minutes; there, one barrier over the
 * whole file system stands between writing and renaming, and another at the end.
 *
 * Every directory on the way is opened beneath the root and through no link.  A directory that was replaced
 * by a link after the plan was made is therefore an error for the entries below it, never a way out.
 *
 * What is about to be replaced or removed is saved first.  An entry that cannot be saved is not replaced.
 *
 * One entry that cannot be brought back does not end the restore: it is named with the reason, counted as not back, and the
 * others follow.  Left alone on purpose (a rule, version control, a link that leads out) is another thing: see plan.c.
 *
 * What `written` guarantees of a file: each byte was compared with its digest before it was written, every write took all of
 * its bytes, the file has the length that was saved, and sync succeeded before it got its name.  With `verify` every file is
 * read back, too, after the kernel was asked to forget what it has of it in memory.
 *
 * The order of steps: first what is new is removed, from the inside out, to make room; then directories and
 * files are made, in the order of paths, so that a directory comes before what is in it; last, modes and
 * times of directories, from the inside out. */
#include "base/diff.h"
#include "execute/checkpoint/parts.h"

#include <errno.h>

enum { BATCH_FILES = 20000, BATCH_BYTES = 512 << 20, FEW = 24, DIFF_LIMIT = 1 << 20, MISSED_NAMED = 20 };

struct restorer {
	struct plan plan;
	struct checkpoint_store *st;
	const struct checkpoint_restore *req;
	struct arena *a;
	const char *parent; /* path of the directory that parent_fd is; NULL: none */
	int parent_fd;
	struct step **batch;
	size_t batch_n;
	uint64_t batch_bytes;
	uint64_t work_done, work_total;
	bool is_few; /* each is synced by itself; otherwise everything by a barrier over the whole file system */
	struct checkpoint_restored res;
};

/* Steps with a note are left alone. */
static bool is_work(const struct step *t)
{
	return !t->note && t->state != CHECKPOINT_SAME && t->state != CHECKPOINT_UNSAVED;
}

/* This entry is not back; the others still can be. */
static void miss(struct step *t, const char *why)
{
	t->note = why;
	t->is_missed = true;
}

/* After a failed call: why this entry is not back. */
static void miss_by_errno(struct restorer *r, struct step *t, int error)
{
	switch (error) {
	case EROFS:
		miss(t, "read-only file system");
		break;
	case ENOSPC:
		miss(t, "disk full");
		break;
	case EDQUOT:
		miss(t, "disk quota exceeded");
		break;
	case EACCES:
		miss(t, "no permission");
		break;
	case EPERM:
		miss(t,
			r->st->sys->euid(r->st->sys) == 0
				? "not permitted: the file or its directory is immutable or append-only (lsattr shows it)"
				: "not permitted: it belongs to another user, or is immutable (lsattr shows it)");
		break;
	case EEXIST:
	case EISDIR:
		miss(t, "something else appeared there");
		break;
	default:
		miss(t, arena_strdup(r->a, strerror(error)));
	}
}

/* After a failed step: damage in the store is told with its pack. */
static void miss_by_err(struct restorer *r, struct step *t, const struct err *e)
{
	if (e->rc == E_CORRUPT)
		miss(t, arena_printf(r->a, "damaged in the store: %s", e->text));
	else if (e->sys && !text_eq(e->code, "CHECKPOINT_READ"))
		miss_by_errno(r, t, e->sys);
	else
		miss(t, arena_strdup(r->a, e->text));
}

/* ---- directories on the way ---- */

static void close_parent(struct restorer *r)
{
	close_fd(&r->parent_fd);
	r->parent_fd = -1;
	r->parent = NULL;
}

static const char *dir_of(struct restorer *r, const char *path)
{
	const char *name = path_base(path);

	return name == path ? "." : arena_strndup(r->a, path, (size_t)(name - path) - 1);
}

/* A directory of ours without write permission gets it for the time being, and its mode is remembered for
 * finish_dir(). */
static void make_writable(struct restorer *r, const char *path, int fd)
{
	struct sys *s = r->st->sys;
	struct step *t = plan_find(&r->plan, path);
	struct stat st;

	if (t)
		t->is_dirty = true;
	if (s->stat(s, fd, "", &st, AT_EMPTY_PATH) || (st.st_mode & 0300) == 0300)
		return;
	if (t && !t->was_mode && s->chmod(s, fd, (st.st_mode & 07777) | 0700) == 0)
		t->was_mode = st.st_mode & 07777;
}

/* Makes r->parent_fd the directory of `path`, creating missing directories when `make`.  -1 with errno.
 * Kept open between entries, since neighbours follow each other.  It is always opened from the root and
 * through no link, so a directory that was exchanged meanwhile cannot lead elsewhere. */
static int open_parent(struct restorer *r, const char *path, bool make)
{
	struct sys *s = r->st->sys;
	const char *dir = dir_of(r, path);

	if (r->parent && text_eq(r->parent, dir))
		return 0;
	close_parent(r);
	int fd = s->open(s, r->st->root_fd, dir, O_RDONLY | O_DIRECTORY, 0, RESOLVE_INSIDE);
	if (fd < 0 && errno == ENOENT && make && !text_eq(dir, ".")) {
		if (open_parent(r, dir, true) ||
			(s->mkdir(s, r->parent_fd, path_base(dir), 0777) && errno != EEXIST))
			return -1;
		close_parent(r);
		fd = s->open(s, r->st->root_fd, dir, O_RDONLY | O_DIRECTORY, 0, RESOLVE_INSIDE);
	}
	if (fd < 0)
		return -1;
	make_writable(r, dir, fd);
	r->parent = dir;
	r->parent_fd = fd;
	return 0;
}

/* The directory of an entry that could not be opened; errno says why.  Through a link nothing is written. */
static void miss_parent(struct restorer *r, struct step *t)
{
	if (errno == ELOOP || errno == ENOTDIR || errno == ENOENT || errno == EXDEV)
		miss(t, "its directory is a link, a file or missing");
	else
		miss_by_errno(r, t, errno);
}

/* ---- one file into a temporary name ---- */

struct putter {
	struct sys *sys;
	int fd;
	const struct entry *x;
	uint32_t extent; /* where the next byte of a sparse file goes */
	uint64_t in_extent;
};

static int put_bytes(struct putter *w, const uint8_t *p, size_t n, struct err *e)
{
	for (size_t done = 0; done < n;) {
		ssize_t put = w->sys->write(w->sys, w->fd, p + done, n - done);
		if (put < 0)
			return err_sys(e, "CHECKPOINT_RESTORE", "cannot write '%s'", w->x->path);
		done += (size_t)put;
	}
	return OK;
}

/* Pieces of a sparse file's content go where its extents lie; holes stay holes. */
static int put_piece(void *arg, struct bytes piece, struct err *e)
{
	struct putter *w = arg;

	if (!w->x->is_sparse)
		return put_bytes(w, piece.p, piece.n, e);
	while (piece.n) {
		if (w->extent == w->x->extent_count)
			return err_set(e, E_CORRUPT, "CHECKPOINT_OBJECT",
				"content is longer than the manifest says");
		const struct extent *x = &w->x->extents[w->extent];
		size_t step = piece.n < x->n - w->in_extent ? piece.n : (size_t)(x->n - w->in_extent);
		if (w->sys->seek(w->sys, w->fd, (off_t)(x->at + w->in_extent), SEEK_SET) < 0)
			return err_sys(e, "CHECKPOINT_RESTORE", "cannot write '%s'", w->x->path);
		if (put_bytes(w, piece.p, step, e))
			return e->rc;
		piece.p += step;
		piece.n -= step;
		w->in_extent += step;
		if (w->in_extent == x->n) {
			w->extent++;
			w->in_extent = 0;
		}
	}
	return OK;
}

static struct timespec timespec_of(int64_t ns)
{
	int64_t seconds = ns / 1000000000, part = ns % 1000000000;

	if (part < 0) {
		seconds--;
		part += 1000000000;
	}
	return (struct timespec){ .tv_sec = seconds, .tv_nsec = part };
}

/* Owner first, because chown clears the set-id bits.  Whoever may not give files away keeps them as their
 * own; then a set-id bit would mean another user than it did, so it is dropped.  Nor does a file that runs as somebody else come
 * back unless that was asked for: whoever could put one into a checkpoint would have it made by the restore. */
static int set_meta(
	struct restorer *r, int fd, int dir_fd, const char *name, const struct entry *x, struct err *e)
{
	struct sys *s = r->st->sys;
	struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, timespec_of(x->mtime_ns) };
	struct stat st;

	if (s->stat(s, fd, "", &st, AT_EMPTY_PATH))
		return err_sys(e, "CHECKPOINT_RESTORE", "cannot look at '%s'", x->path);
	if (x->type == ENTRY_FILE && (uint64_t)st.st_size != x->size)
		return err_set(e, E_IO, "CHECKPOINT_RESTORE", "%lld bytes instead of %llu",
			(long long)st.st_size, (unsigned long long)x->size);
	uint32_t mode = plan_mode(r->req, x, st.st_mode);
	if (x->uid != st.st_uid || x->gid != st.st_gid) {
		if (x->type == ENTRY_FILE && !r->req->set_ids)
			mode &= 01777;
		if (s->chown(s, fd, x->uid, x->gid))
			mode &= 01777;
	}
	if (s->chmod(s, fd, mode) || s->utimens(s, dir_fd, name, times, AT_SYMLINK_NOFOLLOW))
		return err_sys(e, "CHECKPOINT_RESTORE", "cannot set mode and time of '%s'", x->path);
	return OK;
}

/* Created exclusively: a name that somebody else made beforehand is never written to. */
static int put_file(
	struct restorer *r, int dir_fd, const char *name, const struct entry *x, bool sync, struct err *e)
{
	struct sys *s = r->st->sys;
	AUTO(close_fd) int fd = s->open(s, dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600, 0);
	struct putter w = { .sys = s, .fd = fd, .x = x };

	if (fd < 0)
		return err_sys(e, "CHECKPOINT_RESTORE", "cannot write '%s'", x->path);
	if (content_read(r->st->pool, r->a, &x->content, put_piece, &w, e))
		return e->rc;
	if (x->is_sparse && s->truncate(s, fd, (off_t)x->size))
		return err_sys(e, "CHECKPOINT_RESTORE", "cannot write '%s'", x->path);
	if (set_meta(r, fd, dir_fd, name, x, e))
		return e->rc;
	if (sync && s->sync(s, fd))
		return err_sys(e, "CHECKPOINT_RESTORE", "cannot make '%s' durable", x->path);
	return OK;
}

static int put_entry(
	struct restorer *r, int dir_fd, const char *name, const struct entry *x, bool sync, struct err *e)
{
	struct sys *s = r->st->sys;
	struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, timespec_of(x->mtime_ns) };

	if (x->type == ENTRY_FILE)
		return put_file(r, dir_fd, name, x, sync, e);
	if (s->symlink(s, x->text, dir_fd, name))
		return err_sys(e, "CHECKPOINT_RESTORE", "cannot write link '%s'", x->path);
	(void)s->utimens(s, dir_fd, name, times, AT_SYMLINK_NOFOLLOW);
	return OK;
}

/* ---- batches ---- */

/* The number of the step makes it unique within one restore. */
static const char *temp_name(struct restorer *r, const struct step *t)
{
	return arena_printf(r->a, RESTORE_TEMP "%zx", (size_t)(t - r->plan.steps));
}

static void count_written(struct restorer *r, struct step *t)
{
	r->res.written++;
	if (t->want->type == ENTRY_FILE)
		r->res.written_bytes += t->want->held_bytes;
}

/* What was just named or removed in the current directory is durable.  Otherwise the entry counts as not back. */
static bool sync_parent(struct restorer *r, struct step *t)
{
	if (!r->is_few || r->st->sys->fsync(r->st->sys, r->parent_fd) == 0)
		return true;
	miss(t, arena_printf(r->a, "could not be made durable (%s)", strerror(errno)));
	return false;
}

/* One sync of the whole file system instead of one for every file. */
static int barrier(struct restorer *r, struct err *e)
{
	if (r->st->sys->syncfs(r->st->sys, r->st->root_fd))
		return err_sys(e, "CHECKPOINT_RESTORE", "cannot make the restored files durable");
	return OK;
}

/* Gives a finished temporary file its name.  This is the moment the old file is replaced. */
static void place(struct restorer *r, struct step *t)
{
	struct sys *s = r->st->sys;
	const char *name = path_base(t->path);

	if (open_parent(r, t->path, false)) {
		miss_parent(r, t);
		return;
	}
	/* A directory stands where a file belongs: it may go only when it is empty. */
	bool is_dir = t->have && t->have->type == ENTRY_DIR;
	if (is_dir && s->unlink(s, r->parent_fd, name, AT_REMOVEDIR)) {
		if (errno == ENOTEMPTY || errno == EEXIST)
			miss(t, "a directory with content is in the way");
		else
			miss_by_errno(r, t, errno);
		return;
	}
	/* Something that came after the plan was made was not saved: it is not overwritten. */
	unsigned flags = t->have && !is_dir ? 0 : RENAME_NOREPLACE;
	if (s->rename(s, r->parent_fd, temp_name(r, t), r->parent_fd, name, flags)) {
		miss_by_errno(r, t, errno);
		return;
	}
	t->is_placed = true;
	if (sync_parent(r, t))
		count_written(r, t);
}

/* Temporary files that did not get their names. */
static void drop_temps(struct restorer *r)
{
	for (size_t i = 0; i < r->batch_n; i++)
		if (!r->batch[i]->is_placed && open_parent(r, r->batch[i]->path, false) == 0)
			(void)r->st->sys->unlink(r->st->sys, r->parent_fd, temp_name(r, r->batch[i]), 0);
	r->batch_n = 0;
	r->batch_bytes = 0;
}

/* All content is durable before the first file of the batch gets its name; if it cannot be made so, none gets it. */
static void flush_batch(struct restorer *r)
{
	struct err why = { 0 };
	bool is_durable = r->is_few || !r->batch_n || barrier(r, &why) == OK;

	for (size_t i = 0; i < r->batch_n; i++) {
		if (is_durable)
			place(r, r->batch[i]);
		else
			miss_by_err(r, r->batch[i], &why);
	}
	drop_temps(r);
}

/* Writes an entry under its temporary name.  A batch is bounded, so that not too much room is taken by
 * files that exist twice. */
static void stage(struct restorer *r, struct step *t)
{
	struct err why = { 0 };

	if (open_parent(r, t->path, true)) {
		miss_parent(r, t);
		return;
	}
	if (put_entry(r, r->parent_fd, temp_name(r, t), t->want, r->is_few, &why)) {
		(void)r->st->sys->unlink(r->st->sys, r->parent_fd, temp_name(r, t), 0);
		miss_by_err(r, t, &why);
		return;
	}
	r->batch[r->batch_n++] = t;
	r->batch_bytes += t->want->held_bytes;
	if (r->batch_n == BATCH_FILES || r->batch_bytes >= BATCH_BYTES)
		flush_batch(r);
}

/* ---- the steps ---- */

/* A directory goes only when it is empty; what is in it was removed before, if it was to go.  What stays in it on purpose
 * keeps it. */
static void remove_new(struct restorer *r, struct step *t)
{
	struct sys *s = r->st->sys;
	int flags = t->have->type == ENTRY_DIR ? AT_REMOVEDIR : 0;

	if (open_parent(r, t->path, false)) {
		miss_parent(r, t);
		return;
	}
	if (s->unlink(s, r->parent_fd, path_base(t->path), flags) && errno != ENOENT) {
		if (errno == ENOTEMPTY || errno == EEXIST)
			t->note = "not empty";
		else
			miss_by_errno(r, t, errno);
		return;
	}
	if (sync_parent(r, t))
		r->res.deleted++;
}

/* Something that stands in the way and is no directory was saved by back_up(), unless that was not wanted,
 * and is removed.  The directory stays private until finish_dir() sets its final mode. */
static void make_dir(struct restorer *r, struct step *t)
{
	struct sys *s = r->st->sys;
	const char *name = path_base(t->path);

	if (open_parent(r, t->path, true)) {
		miss_parent(r, t);
		return;
	}
	if ((t->have && s->unlink(s, r->parent_fd, name, 0) && errno != ENOENT) ||
		s->mkdir(s, r->parent_fd, name, 0700)) {
		miss_by_errno(r, t, errno);
		return;
	}
	t->is_dirty = true;
	if (sync_parent(r, t))
		r->res.written++;
}

/* Mode, owner and time of something whose content is right.  Directories follow at the end. */
static void touch(struct restorer *r, struct step *t)
{
	struct sys *s = r->st->sys;
	struct err why = { 0 };

	if (t->want->type == ENTRY_LINK) {
		r->res.touched++;
		return;
	}
	if (open_parent(r, t->path, false)) {
		miss_parent(r, t);
		return;
	}
	AUTO(close_fd)
	int fd = s->open(s, r->parent_fd, path_base(t->path), O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0, 0);
	if (fd < 0)
		miss_by_errno(r, t, errno);
	else if (set_meta(r, fd, r->parent_fd, path_base(t->path), t->want, &why))
		miss_by_err(r, t, &why);
	else if (r->is_few && s->fsync(s, fd))
		miss(t, arena_printf(r->a, "could not be made durable (%s)", strerror(errno)));
	else
		r->res.touched++;
}

static void do_step(struct restorer *r, struct step *t)
{
	const struct checkpoint_progress *p = r->req->progress;

	if (p && r->work_done % 64 == 0)
		p->step(p->arg, "restoring files", r->work_done, r->work_total);
	r->work_done++;
	if (t->want->type == ENTRY_DIR && t->state == CHECKPOINT_TOUCHED)
		t->is_dirty = true; /* counted by finish_dir() */
	else if (t->want->type == ENTRY_DIR)
		make_dir(r, t);
	else if (t->state == CHECKPOINT_TOUCHED)
		touch(r, t);
	else
		stage(r, t);
}

/* Modes and times of directories come last, inner ones first, since writing into a directory changes its
 * time and may need another mode.  A directory that was only written into is as it was but for its time, which nobody asked
 * for: that it cannot be set is no loss. */
static void finish_dir(struct restorer *r, struct step *t)
{
	struct sys *s = r->st->sys;
	bool is_wanted = t->want && t->want->type == ENTRY_DIR && !t->note;
	bool is_asked = is_wanted && is_work(t);
	struct err why = { 0 };
	AUTO(close_fd)
	int fd = s->open(s, r->st->root_fd, t->path, O_RDONLY | O_DIRECTORY, 0, RESOLVE_INSIDE);

	if (fd < 0 && is_asked)
		miss_by_errno(r, t, errno);
	else if (fd >= 0 && !is_wanted && t->was_mode)
		(void)s->chmod(s, fd, t->was_mode);
	if (fd < 0 || !is_wanted)
		return;
	int rc = set_meta(r, fd, fd, ".", t->want, &why);
	if (!rc && r->is_few && s->fsync(s, fd))
		rc = err_sys(&why, "CHECKPOINT_RESTORE", "cannot make '%s' durable", t->path);
	if (rc && is_asked)
		miss_by_err(r, t, &why);
	else if (is_asked && t->state == CHECKPOINT_TOUCHED)
		r->res.touched++;
}

/* The three passes; see the top of this file. */
static void apply(struct restorer *r)
{
	struct plan *p = &r->plan;

	for (size_t i = p->n; i-- > 0;)
		if (p->steps[i].state == CHECKPOINT_NEW && is_work(&p->steps[i]))
			remove_new(r, &p->steps[i]);
	for (size_t i = 0; i < p->n; i++)
		if (p->steps[i].want && is_work(&p->steps[i]))
			do_step(r, &p->steps[i]);
	flush_batch(r);
	close_parent(r);
	for (size_t i = p->n; i-- > 0;)
		if (p->steps[i].is_dirty || p->steps[i].was_mode)
			finish_dir(r, &p->steps[i]);
}

/* Reads one file back.  Files that were left as they are, because they are the same, are read as well. */
static void verify_file(struct restorer *r, struct step *t)
{
	struct sys *s = r->st->sys;
	struct object_id got;
	struct stat st;
	AUTO(close_fd)
	int fd = s->open(s, r->st->root_fd, t->path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0, RESOLVE_INSIDE);

	if (fd < 0 || s->stat(s, fd, "", &st, AT_EMPTY_PATH)) {
		miss_by_errno(r, t, errno);
		return;
	}
	(void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	if (entry_digest(s, r->a, fd, t->want, &got))
		miss(t, arena_printf(r->a, "cannot be read back (%s)", strerror(errno)));
	else if ((uint64_t)st.st_size != t->want->size || !object_eq(&got, &t->want->content.sha))
		miss(t, "read back, it is not what was saved: the disk is bad, or somebody else writes it");
	else
		r->res.verified++;
}

static void verify_all(struct restorer *r)
{
	const struct checkpoint_progress *p = r->req->progress;

	for (size_t i = 0; i < r->plan.n; i++) {
		struct step *t = &r->plan.steps[i];
		if (p && i % 64 == 0)
			p->step(p->arg, "reading files back", i, r->plan.n);
		if (t->want && t->want->type == ENTRY_FILE && !t->note)
			verify_file(r, t);
	}
}

/* ---- before and after ---- */

/* The entries that could not be saved are not replaced: those, and what a directory in the way holds. */
static void spare_unsaved(struct restorer *r, const struct checkpoint_result *saved)
{
	for (size_t i = 0; i < saved->skipped_count; i++) {
		struct step *t = plan_find(&r->plan, saved->skipped[i].path);
		if (t && is_work(t))
			miss(t,
				arena_printf(r->a,
					"what is there now cannot be saved first (%s); --no-backup replaces it all the same",
					saved->skipped[i].reason));
	}
}

/* Saves exactly the entries that are about to be replaced, removed or touched.  If nothing can be saved (a full disk), the
 * restore ends before anything was changed. */
static int back_up(struct restorer *r, struct err *e)
{
	struct plan *p = &r->plan;
	const char **paths = arena_zalloc(r->a, p->n + 1, sizeof(*paths));
	struct checkpoint_request q = { .label = CHECKPOINT_SAFETY,
		.is_safety = true,
		.paths = paths,
		.are_exact = true,
		.skip_missing = true,
		.include_git = r->req->include_git,
		.include_state = r->req->include_state,
		.max_files = UINT64_MAX,
		.max_bytes = UINT64_MAX,
		.progress = r->req->progress };
	struct checkpoint_result saved;

	for (size_t i = 0; i < p->n; i++)
		if (is_work(&p->steps[i]) && p->steps[i].have)
			paths[q.path_count++] = p->steps[i].path;
	if (!q.path_count || r->req->no_backup)
		return OK;
	if (checkpoint_create_locked(r->st, &q, &saved, e))
		return err_wrap(e, "nothing was restored, because what would be replaced could not be saved");
	spare_unsaved(r, &saved);
	r->res.backup_id = saved.id;
	return OK;
}

static void count_missed(struct restorer *r)
{
	r->res.missed = 0;
	for (size_t i = 0; i < r->plan.n; i++)
		r->res.missed += r->plan.steps[i].is_missed;
}

/* What is not back, for the ledger: all are counted, the first are named. */
static struct json *missed_json(struct restorer *r)
{
	struct arena *a = r->st->a;
	struct json *list = json_new(a, JSON_ARRAY);

	for (size_t i = 0; i < r->plan.n && list->n < MISSED_NAMED; i++) {
		const struct step *t = &r->plan.steps[i];
		if (!t->is_missed)
			continue;
		struct json *row = json_new(a, JSON_OBJECT);
		json_sets(a, row, "path", text_safe(a, t->path, strlen(t->path), false));
		json_sets(a, row, "reason", t->note);
		json_push(a, list, row);
	}
	return list;
}

/* "started" is on record before anything changes; if that fails nothing is done. */
static int record(struct restorer *r, const char *stage, struct err *e)
{
	struct arena *a = r->st->a;
	struct json *row = json_new(a, JSON_OBJECT);

	if (!r->req->record)
		return OK;
	json_sets(a, row, "event", "checkpoint_restore");
	json_sets(a, row, "stage", stage);
	json_sets(a, row, "checkpoint_id", json_get_text(r->plan.record, "checkpoint_id", ""));
	json_sets(a, row, "backup_id", r->res.backup_id);
	json_setb(a, row, "delete_new", r->req->delete_new);
	json_seti(a, row, "planned", (int64_t)r->work_total);
	json_seti(a, row, "written", (int64_t)r->res.written);
	json_seti(a, row, "touched", (int64_t)r->res.touched);
	json_seti(a, row, "deleted", (int64_t)r->res.deleted);
	json_seti(a, row, "not_back", (int64_t)r->res.missed);
	if (r->req->verify)
		json_seti(a, row, "verified", (int64_t)r->res.verified);
	if (r->res.missed)
		json_set(a, row, "not_back_first", missed_json(r));
	return r->req->record(r->req->record_arg, row, e);
}

/* What an interrupted restore left behind.  One that cannot be removed stays, and is not told as removed. */
static void remove_temps(struct restorer *r)
{
	struct entries *v = &r->plan.temps;
	struct step unused = { 0 };
	size_t n = 0;

	for (size_t i = 0; i < v->n; i++)
		if (open_parent(r, v->v[i].path, false) == 0 &&
			r->st->sys->unlink(r->st->sys, r->parent_fd, path_base(v->v[i].path), 0) == 0 &&
			sync_parent(r, &unused))
			v->v[n++] = v->v[i];
	v->n = n;
}

/* An error leaves a mixture of old and new files, each of them whole; running it again completes the
 * work. */
static int run(struct restorer *r, struct err *e)
{
	struct plan *p = &r->plan;

	for (size_t i = 0; i < p->n; i++)
		r->work_total += is_work(&p->steps[i]);
	r->work_total += p->temps.n;
	r->is_few = r->work_total <= FEW;
	if (!r->work_total && !r->req->verify)
		return OK;
	if (back_up(r, e) || record(r, "started", e))
		return e->rc;
	r->batch = arena_alloc(r->a, (BATCH_FILES + 1) * sizeof(struct step *));
	remove_temps(r);
	apply(r);
	close_parent(r);
	if (!r->is_few && barrier(r, e))
		return err_wrap(e, "restore is not complete (run it again to go on)");
	if (r->req->verify)
		verify_all(r);
	count_missed(r);
	return record(r, "finished", e);
}

/* ---- what the caller gets ---- */

static int load_saved(struct restorer *r, const struct entry *x, struct bytes *ret, struct err *e)
{
	if (x->text) {
		*ret = (struct bytes){ (const uint8_t *)x->text, x->content.n };
		return OK;
	}
	return content_load(r->st->pool, r->a, &x->content, DIFF_LIMIT, ret, e);
}

/* Only for text of moderate size; everything else is reported as binary. */
static int load_diff(struct restorer *r, const struct step *t, struct checkpoint_change *c, struct err *e)
{
	struct sys *s = r->st->sys;
	struct bytes saved = { 0 }, disk = { 0 };
	bool is_file = t->want && t->want->type == ENTRY_FILE;
	bool is_stored = text_eq(json_get_text(r->plan.record, "format", ""), "objects/1");

	c->is_binary = true;
	if (is_file &&
		(t->want->held_bytes > DIFF_LIMIT || t->want->is_sparse || (!is_stored && !t->want->text)))
		return OK;
	if (is_file && load_saved(r, t->want, &saved, e))
		return e->rc;
	if (t->have && t->have->type == ENTRY_FILE &&
		file_read(s, r->a, r->st->root_fd, t->path, DIFF_LIMIT, FILE_BENEATH, &disk, e))
		return OK;
	/* From what is on disk to what the checkpoint has: what a restore would change. */
	c->diff = diff_unified(r->st->a, arena_printf(r->st->a, "disk/%s", t->path), disk,
		arena_printf(r->st->a, "checkpoint/%s", t->path), saved);
	c->is_binary = !c->diff;
	return OK;
}

static int add_change(struct restorer *r, const struct step *t, struct err *e)
{
	static const char *const kinds[] = { "", "dir", "file", "link", "other" };
	TABLE_COVERS(kinds, ENTRY_TYPES);
	struct checkpoint_change *c = &r->res.changes[r->res.change_count++];
	const struct entry *x = t->want ? t->want : t->have;
	bool is_file = x->type == ENTRY_FILE || (t->have && t->have->type == ENTRY_FILE);

	*c = (struct checkpoint_change){ .path = arena_strdup(r->st->a, t->path),
		.state = t->state,
		.kind = kinds[x->type],
		.note = t->note ? arena_strdup(r->st->a, t->note) : NULL,
		.is_missed = t->is_missed,
		.size = x->size };
	if (t->state == CHECKPOINT_SAME)
		r->res.unchanged++;
	else if (t->note && t->state != CHECKPOINT_NEW && !t->is_missed)
		r->res.skipped++;
	bool is_shown = t->state == CHECKPOINT_CHANGED || t->state == CHECKPOINT_MISSING ||
		(t->state == CHECKPOINT_NEW && !t->note);
	if (!r->req->with_diff || !is_file || !is_shown)
		return OK;
	return load_diff(r, t, c, e);
}

/* The result is copied into memory of the store, which outlives this call. */
static int report(struct restorer *r, struct err *e)
{
	struct plan *p = &r->plan;

	count_missed(r);
	r->res.record = p->record;
	r->res.leftovers = json_new(r->st->a, JSON_ARRAY);
	for (size_t i = 0; i < p->temps.n; i++)
		json_pushs(r->st->a, r->res.leftovers,
			text_safe(r->st->a, p->temps.v[i].path, strlen(p->temps.v[i].path), false));
	r->res.changes = arena_zalloc(r->st->a, p->n + 1, sizeof(*r->res.changes));
	for (size_t i = 0; i < p->n; i++)
		if (add_change(r, &p->steps[i], e))
			return e->rc;
	return OK;
}

/* A dry run takes no lock and writes nothing. */
int checkpoint_restore(struct checkpoint_store *st, const struct checkpoint_restore *req,
	struct checkpoint_restored *ret, struct err *e)
{
	AUTO(arena_done) struct arena a = { .limit_bytes = (size_t)4 << 30 };
	AUTO(close_fd) int lock = -1;
	struct checkpoint_restore all = *req;
	struct json *record;

	/* One that was made of everything brings everything back. */
	if (checkpoint_find(st, req->id, &record, e))
		return e->rc;
	if (json_get_bool(record, "whole", false)) {
		all.include_git = all.all_links = true;
		req = &all;
	}
	struct restorer r = { .st = st, .req = req, .a = &a, .parent_fd = -1 };
	for (size_t i = 0; i < req->only_count; i++)
		if (!text_eq(req->only[i], ".") && !checkpoint_path_ok(req->only[i]))
			return err_set(e, E_INPUT, "CHECKPOINT_PATH",
				"'%s' is not a path inside the workspace", req->only[i]);
	if (!req->is_dry_run && st->dir_fd >= 0 && checkpoint_lock(st, 0, &lock, e))
		return e->rc;
	if (plan_make(&r.plan, st, req, &a, e))
		return e->rc;
	if (!req->is_dry_run && run(&r, e))
		return e->rc;
	if (report(&r, e))
		return e->rc;
	*ret = r.res;
	return OK;
}
