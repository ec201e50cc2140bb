/* cut.c — the log at one moment, for whoever reads while others write.
 *
 * Writers change the log only under its lock, and leave it whole when they let go: every receipt is a line
 * with an end, every leaf and every head has its receipt.  So the lengths of all files, taken under that
 * lock, are one consistent state.  What is appended later lies behind those lengths; a file that is put
 * aside or replaced later is still the one that is open here.  Reading itself needs no lock, and holds
 * nobody up. */
#include "base/file.h"
#include "base/text.h"
#include "record/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>

/* A file that is not there is an empty one (fd -1); anything but a regular file is refused. */
static int open_file(struct log_cut *c, int state_fd, const char *name, struct log_file *ret, struct err *e)
{
	struct sys *s = c->sys;
	struct stat st;

	*ret = (struct log_file){ .name = name };
	ret->fd = s->open(s, state_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0, 0);
	if (ret->fd < 0)
		return errno == ENOENT ? OK : err_sys(e, "LOG_READ", "cannot read %s", name);
	if (s->stat(s, ret->fd, "", &st, AT_EMPTY_PATH))
		return err_sys(e, "LOG_READ", "cannot read %s", name);
	if (!S_ISREG(st.st_mode))
		return err_set(e, E_CORRUPT, "LOG_READ", "%s is not a regular file", name);
	ret->size_bytes = st.st_size;
	ret->mark = mark_of(&st);
	return OK;
}

/* Readers take a shared lock: they do not hold each other up, only writers.  If nobody has ever written
 * here there is no lock file, and so nothing to wait for. */
static int lock_shared(struct log_cut *c, int state_fd, struct err *e)
{
	struct sys *s = c->sys;

	c->lock_fd = s->open(s, state_fd, LOG_LOCK, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0, 0);
	if (c->lock_fd < 0)
		return errno == ENOENT || errno == ENOTDIR
			? OK
			: err_sys(e, "LOG_LOCK", "cannot open %s", LOG_LOCK);
	return s->lock(s, c->lock_fd, LOCK_SH) ? err_sys(e, "LOG_LOCK", "cannot lock %s", LOG_LOCK) : OK;
}

/* A file of the chain that was moved away is read where it is now, if it can be.  Whether the receipt in its
 * place tells the truth is asked by who checks the log; the bytes are receipts that prove themselves. */
static void open_moved(
	struct log_cut *c, struct arena *a, int state_fd, const char *name, struct log_file *ret)
{
	struct err none = { 0 };

	*ret = (struct log_file){ .name = name, .fd = -1 };
	ret->moved = segment_stub(c->sys, a, state_fd, name);
	const char *to = json_get_text(json_get(ret->moved, "metadata"), "to", "");
	ret->moved_to = *to == '/' ? to : NULL;
	if (!ret->moved_to)
		return;
	struct log_file there;
	if (open_file(c, AT_FDCWD, path_join(a, to, name), &there, &none)) {
		close_fd(&there.fd);
		return;
	}
	ret->fd = there.fd;
	ret->size_bytes = there.size_bytes;
	ret->mark = there.mark;
}

static int open_all(struct log_cut *c, struct arena *a, int state_fd, struct err *e)
{
	char **names;
	size_t n;
	int rc = segments_all(c->sys, a, state_fd, &names, &n, e);

	if (rc)
		return rc;
	c->chain = arena_zalloc(a, n + 1, sizeof(*c->chain));
	for (; rc == OK && c->n < n; c->n += rc == OK)
		if (text_ends(names[c->n], ARCHIVED))
			open_moved(c, a, state_fd,
				arena_strndup(a, names[c->n], strlen(names[c->n]) - strlen(ARCHIVED)),
				&c->chain[c->n]);
		else
			rc = open_file(c, state_fd, names[c->n], &c->chain[c->n], e);
	if (rc == OK)
		rc = open_file(c, state_fd, LEAVES, &c->leaves, e);
	if (rc == OK)
		rc = open_file(c, state_fd, HEADS, &c->heads, e);
	if (rc == OK)
		edge_look(c->sys, state_fd, &c->left);
	return rc;
}

/* On failure nothing stays open or locked. */
int log_cut_take(
	struct sys *s, struct arena *a, int state_fd, enum cut_lock lock, struct log_cut *ret, struct err *e)
{
	*ret = (struct log_cut){ .sys = s,
		.lock_fd = -1,
		.leaves = { .name = LEAVES, .fd = -1 },
		.heads = { .name = HEADS, .fd = -1 } };
	int rc = lock == CUT_LOCKED ? OK : lock_shared(ret, state_fd, e);
	if (rc == OK)
		rc = open_all(ret, a, state_fd, e);
	if (rc)
		log_cut_close(ret);
	else if (lock == CUT_MOMENT)
		log_cut_release(ret);
	return rc;
}

void log_cut_release(struct log_cut *c)
{
	close_fd(&c->lock_fd);
	c->lock_fd = -1;
}

void log_cut_close(struct log_cut *c)
{
	for (size_t i = 0; i < c->n; i++)
		close_fd(&c->chain[i].fd);
	close_fd(&c->leaves.fd);
	close_fd(&c->heads.fd);
	close_fd(&c->lock_fd);
	*c = (struct log_cut){ .lock_fd = -1, .leaves = { .fd = -1 }, .heads = { .fd = -1 } };
}

/* Any doubt counts as a change. */
static bool is_as_it_was(const struct log_cut *c, const struct log_file *f)
{
	struct stat st;

	if (f->fd < 0)
		return true;
	if (c->sys->stat(c->sys, f->fd, "", &st, AT_EMPTY_PATH))
		return false;
	struct file_mark now = mark_of(&st);
	return mark_eq(&now, &f->mark);
}

bool log_cut_is_current(const struct log_cut *c)
{
	for (size_t i = 0; i < c->n; i++)
		if (!is_as_it_was(c, &c->chain[i]))
			return false;
	return is_as_it_was(c, &c->leaves) && is_as_it_was(c, &c->heads);
}

/* Only bytes within the cut are read.  The file becomes shorter than that only when an append that failed
 * is taken back; such bytes were never acknowledged. */
int log_file_read(
	const struct log_cut *c, const struct log_file *f, void *to, size_t n, off_t at, struct err *e)
{
	if (at + (off_t)n <= f->size_bytes && pread_all(c->sys, f->fd, to, n, at) == 0)
		return OK;
	return err_set(e, E_IO, "LOG_MOVED", "%s was shortened while it was read", f->name);
}
