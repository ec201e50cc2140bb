/* change.c — changing a file that people and other programs change, too, without losing what either of them wrote.
 *
 * Our own writers take turns (the lock).  An editor does not know the lock: so the new text is exchanged with the file in one step, and what
 * comes out of the exchange is compared with what was read.  When it is something else, somebody saved in between, and both changes
 * are merged.  The file that came out is removed only then. */
#include "base/file.h"
#include "base/hash.h"
#include "remember/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#ifndef RENAME_EXCHANGE
#define RENAME_EXCHANGE (1 << 1)
#endif

struct changing {
	struct memory_place *m;
	struct arena *a;
	const char *file;
	int dir; /* of the file: no link on the way can be exchanged any more */
	const char *name; /* in there */
	const char *
		aside; /* beginning of the names that a text has while it is exchanged; only under the lock */
	mode_t mode;
};

static int read_text(
	struct changing *c, const char *name, struct bytes *ret, bool *ret_is_there, struct err *e)
{
	struct err why = { 0 };
	int rc = file_read(c->m->sys, c->a, c->dir, name, MEMORY_FILE_BYTES, 0, ret, &why);

	*ret_is_there = rc == OK;
	if (rc == E_MISSING) {
		*ret = (struct bytes){ (const uint8_t *)"", 0 };
		return OK;
	}
	if (rc && e)
		*e = why;
	return rc;
}

/* The directory of the file, made when it is missing, part by part: no link is followed. */
static int open_place(struct changing *c, struct err *e)
{
	struct bytes rest = bytes_of(c->file);
	struct sys *s = c->m->sys;
	struct stat st;
	int rc = file_open_dir(s, c->m->root_fd, ".", &c->dir, e);

	while (rc == OK && memchr(rest.p, '/', rest.n)) {
		struct bytes part = text_cut(&rest, '/');
		const char *name = arena_strndup(c->a, (const char *)part.p, part.n);
		AUTO(close_fd) int above = c->dir;
		c->dir = -1;
		if (s->mkdir(s, above, name, 0755) == 0)
			(void)s->fsync(s, above);
		c->dir = s->open(s, above, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, 0);
		if (c->dir < 0)
			rc = err_sys(e, "MEMORY_PLACE", "'%s' of '%s' is no directory of the workspace", name,
				c->file);
	}
	if (rc)
		return rc;
	c->name = arena_strndup(c->a, (const char *)rest.p, rest.n);
	c->aside = arena_printf(c->a, ".%s.helm-memory-", c->name);
	c->mode = s->stat(s, c->dir, c->name, &st, AT_SYMLINK_NOFOLLOW) == 0 ? st.st_mode & 0777 : 0644;
	return OK;
}

int memory_check_place(struct memory_place *m, struct arena *a, const char *file, struct err *e)
{
	struct stat st;

	for (const char *slash = strchr(file, '/'); slash; slash = strchr(slash + 1, '/')) {
		const char *dir = arena_strndup(a, file, (size_t)(slash - file));
		if (m->sys->stat(m->sys, m->root_fd, dir, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
			!S_ISDIR(st.st_mode))
			return err_set(e, E_IO, "MEMORY_PLACE",
				"'%s' of '%s' is no directory of the workspace", dir, file);
	}
	if (m->sys->stat(m->sys, m->root_fd, file, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		(!S_ISREG(st.st_mode) || st.st_size > MEMORY_FILE_BYTES))
		return err_set(e, E_IO, "MEMORY_PLACE", "'%s' is no plain file of at most %d MiB", file,
			MEMORY_FILE_BYTES >> 20);
	return OK;
}

static int keep_beside(struct changing *c, struct bytes text, const char **ret_kept, struct err *e)
{
	const char *t = text_time_compact(c->a, c->m->sys->now_us(c->m->sys));
	const char *name =
		arena_printf(c->a, "%s.conflict-%s-%.8s.md", c->name, t, sha256_hex(c->a, text.p, text.n));
	const char *slash = strrchr(c->file, '/');
	int rc = file_replace(c->m->sys, c->dir, name, c->mode, text, e);

	if (rc == OK)
		*ret_kept =
			slash ? arena_printf(c->a, "%.*s/%s", (int)(slash - c->file), c->file, name) : name;
	return rc;
}

/* The name says what the new text is and what it takes the place of, so that whoever finds it knows whether something else is in it. */
static const char *aside_of(struct changing *c, struct bytes ours, struct bytes base)
{
	return arena_printf(c->a, "%s%.16s-%.16s", c->aside, sha256_hex(c->a, ours.p, ours.n),
		sha256_hex(c->a, base.p, base.n));
}

/* A writer was ended in between: it left its own text, or the one that it had read, or one that somebody saved in that moment. */
static int take_up_one(struct changing *c, const char *name, const char **ret_kept, struct err *e)
{
	struct bytes text;
	bool is_there;
	int rc = read_text(c, name, &text, &is_there, e);

	if (rc || !is_there)
		return rc;
	if (!strstr(name + strlen(c->aside), arena_printf(c->a, "%.16s", sha256_hex(c->a, text.p, text.n))))
		rc = keep_beside(c, text, ret_kept, e);
	if (rc == OK)
		(void)c->m->sys->unlink(c->m->sys, c->dir, name, 0);
	return rc;
}

/* What writers left that were ended before they were done. */
static int take_up(struct changing *c, const char **ret_kept, struct err *e)
{
	const char *half = arena_printf(c->a, ".%s", c->aside),
		   *half_new = arena_printf(c->a, ".%s.", c->name);
	char **names;
	size_t n;
	int rc = file_list(c->m->sys, c->a, c->dir, ".", &names, &n, e);

	for (size_t i = 0; rc == OK && i < n; i++) {
		bool is_half = text_ends(names[i], ".tmp") &&
			(text_starts(names[i], half) || text_starts(names[i], half_new));
		if (is_half)
			(void)c->m->sys->unlink(c->m->sys, c->dir, names[i], 0);
		else if (text_starts(names[i], c->aside))
			rc = take_up_one(c, names[i], ret_kept, e);
	}
	return rc;
}

/* The text that a new one takes the place of.  When it is gone, nobody knows what it said: that is no empty text. */
static int read_old(struct changing *c, const char *name, struct bytes *ret, struct err *e)
{
	bool is_there;
	int rc = read_text(c, name, ret, &is_there, e);

	if (rc || is_there)
		return rc;
	return err_set(e, E_IO, "MEMORY_WRITE",
		"'%s' was taken away while '%s' was written; look whether it says everything, and try again",
		name, c->file);
}

/* OK: the new text is there, and *ret_was is what it took the place of. */
static int exchange(
	struct changing *c, struct bytes base, struct bytes text, struct bytes *ret_was, struct err *e)
{
	struct sys *s = c->m->sys;
	const char *aside = aside_of(c, text, base);
	int rc = file_replace(s, c->dir, aside, c->mode, text, e);

	if (rc)
		return rc;
	if (s->rename(s, c->dir, aside, c->dir, c->name, RENAME_EXCHANGE)) {
		if (errno != EINVAL && errno != ENOSYS)
			return err_sys(e, "MEMORY_WRITE", "'%s' cannot be replaced", c->file);
		/* A file system that cannot exchange: the moment between reading and renaming stays open. */
		rc = read_old(c, c->name, ret_was, e);
		if (rc == OK && s->rename(s, c->dir, aside, c->dir, c->name, 0))
			rc = err_sys(e, "MEMORY_WRITE", "'%s' cannot be replaced", c->file);
		return rc		      ? rc
			: s->fsync(s, c->dir) ? err_sys(e, "MEMORY_WRITE", "'%s' is not on disk", c->file)
					      : OK;
	}
	if (s->fsync(s, c->dir))
		return err_sys(e, "MEMORY_WRITE", "'%s' may not be on disk", c->file);
	rc = read_old(c, aside, ret_was, e);
	if (rc == OK && s->unlink(s, c->dir, aside, 0))
		rc = err_sys(e, "MEMORY_WRITE", "'%s' cannot be removed", aside);
	return rc;
}

static int put_text(struct changing *c, struct bytes base, bool is_there, struct bytes ours,
	struct json **conflicts, struct err *e)
{
	enum { TRIES = 10 };
	struct bytes was;

	if (!is_there) {
		int rc = file_create(c->m->sys, c->dir, c->name, c->mode, ours, e);
		if (rc == OK || !text_eq(e->code, "FILE_EXISTS"))
			return rc;
		*e = (struct err){ 0 };
	}
	for (int i = 0; i < TRIES; i++) {
		struct json *more = NULL;
		struct buf merged;
		int rc = exchange(c, base, ours, &was, e);
		if (rc || bytes_eq(was, base))
			return rc;
		buf_init(&merged, c->a);
		memory_merge(c->a, base, ours, was, &merged, &more);
		if (more && !*conflicts)
			*conflicts = json_new(c->a, JSON_ARRAY);
		json_each (one, more)
			json_push(c->a, *conflicts, one);
		base = ours;
		ours = buf_bytes(&merged);
	}
	return err_set(
		e, E_IO, "MEMORY_BUSY", "'%s' changes faster than it can be written; try again", c->file);
}

static struct bytes conflict_text(struct changing *c, const struct json *conflicts)
{
	struct buf b;

	buf_init(&b, c->a);
	buf_addf(&b, "# Lines for %s that somebody else changed in the same moment\n", c->file);
	json_each (one, conflicts) {
		buf_addf(&b, "\nAt line %lld, where it says now:\n\n",
			(long long)json_get_int(one, "line", 0));
		json_each (line, json_get(one, "theirs"))
			buf_addf(&b, "> %s\n", json_text(line) ? json_text(line) : "");
		buf_adds(&b, "\nthis was to be written:\n\n");
		json_each (line, json_get(one, "ours"))
			buf_addf(&b, "> %s\n", json_text(line) ? json_text(line) : "");
	}
	return buf_bytes(&b);
}

static int change(struct changing *c, memory_edit *edit, void *arg, struct json **ret_conflicts,
	const char **ret_kept, struct err *e)
{
	struct bytes text;
	struct buf ours;
	bool is_there;
	int rc = take_up(c, ret_kept, e);

	if (rc == OK)
		rc = read_text(c, c->name, &text, &is_there, e);
	buf_init(&ours, c->a);
	if (rc == OK)
		rc = edit(arg, c->a, text, &ours, e);
	if (rc || bytes_eq(buf_bytes(&ours), text))
		return rc;
	rc = put_text(c, text, is_there, buf_bytes(&ours), ret_conflicts, e);
	if (rc == OK && *ret_conflicts)
		rc = keep_beside(c, conflict_text(c, *ret_conflicts), ret_kept, e);
	return rc;
}

int memory_change_file(struct memory_place *m, struct arena *a, const char *file, memory_edit *edit,
	void *arg, struct json **ret_conflicts, const char **ret_kept, struct err *e)
{
	struct changing c = { .m = m, .a = a, .file = file, .dir = -1 };
	int rc = open_place(&c, e);

	*ret_conflicts = NULL;
	*ret_kept = NULL;
	if (rc == OK)
		rc = change(&c, edit, arg, ret_conflicts, ret_kept, e);
	close_fd(&c.dir);
	return rc;
}

int memory_keep_conflicts(struct memory_place *m, struct arena *a, const char *file,
	const struct json *conflicts, const char **ret_kept, struct err *e)
{
	struct changing c = { .m = m, .a = a, .file = file, .dir = -1 };
	int rc = open_place(&c, e);

	if (rc == OK)
		rc = keep_beside(&c, conflict_text(&c, conflicts), ret_kept, e);
	close_fd(&c.dir);
	return rc;
}

int memory_append_row(
	struct memory_place *m, struct arena *a, const char *file, struct bytes row, struct err *e)
{
	struct changing c = { .m = m, .a = a, .file = file, .dir = -1 };
	int rc = open_place(&c, e);

	if (rc == OK)
		rc = file_append_line(m->sys, c.dir, c.name, 0644, row, NULL, e);
	close_fd(&c.dir);
	return rc;
}
