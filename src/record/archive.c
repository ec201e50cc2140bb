/* archive.c — closed files of the chain and of the ledgers, moved to another place.
 *
 * A file of the chain may go when every receipt in it is old enough, all before it may go too, and the file behind it sums it up
 * (proof/segment.h): then nobody needs it to go on, and its digest is signed already.  Of other directories sealed files are known
 * by their ending, and their age by their change: they are written once.
 *
 * The order of steps is the guarantee: the copy is written, made durable, read back and compared; the receipt that names it is in
 * the chain and on disk; the receipt's copy stands beside the file; then the file goes.  Each step finds out whether it is still to be
 * done.  A run that was killed between two of them leaves a file that is still here, and the next run does it again: at worst
 * a second receipt says the same. */
#include "base/file.h"
#include "base/text.h"
#include "proof/gap.h"
#include "record/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

enum { STUB_LIMIT = 16 << 20, COPY_STEP = 256 << 10, FILES_AT_ONCE = 64, FIRST_LINE = 64 << 10 };
#define ARCHIVE_LOCK LOG_DIR "/archive.lock"

struct json *segment_stub(struct sys *s, struct arena *a, int state_fd, const char *file)
{
	const char *stub = arena_printf(a, "%s" ARCHIVED, file);
	struct json *receipt;
	struct bytes text;

	if (file_read(s, a, state_fd, stub, STUB_LIMIT, 0, &text, NULL) ||
		json_parse(a, text, stub, NULL, &receipt, NULL))
		return NULL;
	return receipt;
}

char *segment_place(struct sys *s, struct arena *a, int state_fd, const char *file)
{
	const struct json *stub = segment_stub(s, a, state_fd, file);
	const char *to = json_get_text(json_get(stub, "metadata"), "to", "");

	return *to == '/' ? path_join(a, to, file) : NULL;
}

/* The copy of the receipt that stays where the file was must be signed by this user and name the file with
 * the digest that the seam behind it has: anybody can remove a file, nobody else can say that it was moved. */
bool segment_is_moved(struct recorder *r, struct arena *a, const struct closed_file *sealed)
{
	const struct json *receipt = segment_stub(r->sys, a, r->state_fd, sealed->file), *row;

	return receipt && (row = segment_moved(a, receipt, sealed->file)) != NULL &&
		text_eq(segment_moved_digest(row), hash_hex(a, &sealed->digest)) &&
		receipt_is_own(r, a, receipt);
}

/* ---- which files ---- */

struct going {
	const char *file; /* below the state */
	uint64_t size_bytes, first, last; /* clocks; 0: it is no file of the chain */
	struct hash digest; /* as it was closed; then as it was copied */
	bool is_sealed; /* the digest is known before it is read */
	bool is_mended; /* a repair has taken something out of it since it was closed: */
	struct hash closed; /* then this was its digest */
};

struct archiving {
	struct recorder *r;
	struct arena *a;
	const struct archive_how *how;
	struct going *list;
	size_t n, cap;
	uint64_t done_bytes, total_bytes;
};

static void add_going(struct archiving *x, struct going g)
{
	if (x->n == x->cap) {
		size_t cap = x->cap ? 2 * x->cap : 16;
		x->list = arena_grow(x->a, x->list, x->cap * sizeof(g), cap * sizeof(g));
		x->cap = cap;
	}
	x->list[x->n++] = g;
	x->total_bytes += g.size_bytes;
}

/* The first receipt of a file, or its last one; NULL when there is none. */
static int end_receipt(struct archiving *x, const char *file, bool is_first, struct json **ret, struct err *e)
{
	struct sys *s = x->r->sys;
	AUTO(close_fd) int fd = s->open(s, x->r->state_fd, file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0, 0);
	struct bytes line = { 0 };
	off_t end, size;
	int rc = OK;

	*ret = NULL;
	if (fd < 0)
		return err_sys(e, "LOG_READ", "cannot read %s", file);
	if (is_first) {
		char *text = arena_text(x->a, FIRST_LINE);
		ssize_t n = s->pread(s, fd, text, FIRST_LINE, 0);
		if (n < 0)
			return err_sys(e, "LOG_READ", "cannot read %s", file);
		const char *newline = n > 0 ? memchr(text, '\n', (size_t)n) : NULL;
		line = (struct bytes){ (uint8_t *)text, newline ? (size_t)(newline - text) : 0 };
	} else {
		rc = tail_line(s, x->a, fd, file, &line, &end, &size, e);
	}
	if (rc == OK && line.n && json_parse(x->a, line, file, NULL, ret, NULL))
		*ret = NULL;
	return rc;
}

static bool is_before(const struct archiving *x, const struct json *receipt)
{
	const char *time = json_get_text(receipt, "timestamp", "");
	int64_t us;

	return text_parse_time(time, strlen(time), &us) && us < x->how->before_us;
}

/* May this file go?  The one behind it must sum it up. */
static int choose_file(struct archiving *x, const char *file, const char *next, bool *ret_goes, struct err *e)
{
	struct json *first, *last, *seam;
	struct closed_file sealed;
	int rc = end_receipt(x, file, true, &first, e);

	if (rc == OK)
		rc = end_receipt(x, file, false, &last, e);
	if (rc == OK)
		rc = end_receipt(x, next, true, &seam, e);
	*ret_goes = rc == OK && first && last && seam && is_before(x, last) &&
		segment_read(x->a, seam, &sealed) && text_eq(sealed.file, file) &&
		receipt_is_own(x->r, x->a, seam);
	if (*ret_goes)
		add_going(x,
			(struct going){ .file = file,
				.size_bytes = sealed.size_bytes,
				.first = (uint64_t)json_get_int(first, "lamport_clock", 0),
				.last = sealed.clock,
				.digest = sealed.digest,
				.is_sealed = true });
	return rc;
}

/* From the oldest file on, as far as all may go.  One that was brought back, when the next one was not, waits for that. */
static int choose_chain(struct archiving *x, struct err *e)
{
	bool goes = true;
	char **files;
	size_t n;
	int rc = segments_all(x->r->sys, x->a, x->r->state_fd, &files, &n, e);

	for (size_t i = 0; rc == OK && goes && i + 1 < n; i++)
		if (!text_ends(files[i], ARCHIVED) && !text_ends(files[i + 1], ARCHIVED))
			rc = choose_file(x, files[i], files[i + 1], &goes, e);
	return rc;
}

/* Sealed files of ledgers are written once, and hold rows that were there before. */
static int choose_ledgers(struct archiving *x, struct err *e)
{
	struct sys *s = x->r->sys;
	char **names;
	size_t n;
	int rc = file_list(s, x->a, x->r->state_fd, LEDGER_SEGMENTS, &names, &n, e);

	for (size_t i = 0; rc == OK && i < n; i++) {
		const char *file = arena_printf(x->a, LEDGER_SEGMENTS "/%s", names[i]);
		struct stat st;
		if (!text_ends(names[i], ".zst") || names[i][0] == '.')
			continue;
		if (s->stat(s, x->r->state_fd, file, &st, AT_SYMLINK_NOFOLLOW))
			return err_sys(e, "LOG_READ", "cannot look at %s", file);
		if (S_ISREG(st.st_mode) &&
			(int64_t)st.st_mtim.tv_sec * 1000000 + st.st_mtim.tv_nsec / 1000 < x->how->before_us)
			add_going(x, (struct going){ .file = file, .size_bytes = (uint64_t)st.st_size });
	}
	return rc == E_MISSING ? OK : rc;
}

/* ---- the copy ---- */

struct copying {
	struct archiving *x;
	const char *file;
	int from;
	struct sha256 digest;
	uint64_t n;
};

/* To fd, or with -1 only through the digest. */
static int copy_file(void *arg, struct sys *s, int fd, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	char *step = arena_text(&a, COPY_STEP);
	struct copying *c = arg;
	ssize_t n;

	sha256_begin(&c->digest);
	for (c->n = 0; (n = s->pread(s, c->from, step, COPY_STEP, (off_t)c->n)) > 0; c->n += (uint64_t)n) {
		sha256_add(&c->digest, step, (size_t)n);
		if (fd >= 0 && write_all(s, fd, step, (size_t)n))
			return err_sys(e, "ARCHIVE_COPY", "cannot copy %s", c->file);
		if (fd >= 0 && c->x->how->step)
			c->x->how->step(c->x->how->arg, c->x->done_bytes += (uint64_t)n, c->x->total_bytes);
	}
	return n < 0 ? err_sys(e, "ARCHIVE_COPY", "cannot read %s", c->file) : OK;
}

/* Digest and length of what is there; E_MISSING when nothing is. */
static int look_at_file(
	struct archiving *x, int dirfd, const char *path, struct hash *ret, uint64_t *ret_n, struct err *e)
{
	struct sys *s = x->r->sys;
	AUTO(close_fd) int fd = s->open(s, dirfd, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0, 0);
	struct copying c = { .x = x, .file = path, .from = fd };

	if (fd < 0)
		return err_sys(e, "ARCHIVE_COPY", "cannot read %s", path);
	int rc = copy_file(&c, s, -1, e);
	sha256_end(&c.digest, ret->b);
	*ret_n = c.n;
	return rc;
}

static int write_copy(struct archiving *x, const struct going *g, const char *to, struct err *e)
{
	struct sys *s = x->r->sys;
	AUTO(close_fd) int fd = s->open(s, x->r->state_fd, g->file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0, 0);
	struct copying c = { .x = x, .file = g->file, .from = fd };

	if (fd < 0)
		return err_sys(e, "ARCHIVE_COPY", "cannot read %s", g->file);
	return file_replace_by(s, AT_FDCWD, to, 0600, copy_file, &c, e);
}

/* A repair has taken something out of a closed file, and said what it left. */
struct mended {
	struct recorder *r;
	struct arena *a;
	const char *file, *digest;
	bool is_it;
};

static int is_left_by_repair(
	void *arg, const char *file, off_t at, struct bytes text, const struct json *receipt, struct err *e)
{
	struct mended *m = arg;

	(void)file;
	(void)at;
	(void)text;
	(void)e;
	if (!receipt || !gap_is_seam(m->a, receipt) || !receipt_is_own(m->r, m->a, receipt))
		return 0;
	json_each (row, json_get(json_get(receipt, "metadata"), "files"))
		m->is_it |= text_eq(json_get_text(row, "file", ""), m->file) &&
			text_eq(json_get_text(row, "sha256_after", ""), m->digest);
	return m->is_it;
}

/* Is a closed file that is not as it was closed what a repair on record has left of it? */
static bool is_mended(struct archiving *x, const char *file, const struct hash *now)
{
	const struct receipts_wanted want = { .text = REPAIR_EFFECT };
	struct mended m = { .r = x->r, .a = x->a, .file = file, .digest = hash_hex(x->a, now) };

	(void)receipts_back(x->r->sys, x->r->state_fd, &want, is_left_by_repair, &m, NULL);
	return m.is_it;
}

/* A copy that an earlier run has made is taken; another file of that name is never replaced. */
static int copy_one(struct archiving *x, struct going *g, struct err *e)
{
	const char *to = path_join(x->a, x->how->to, g->file);
	const char *dir = arena_strndup(x->a, to, (size_t)(strrchr(to, '/') - to));
	struct hash here, there;
	uint64_t n, m;
	int rc = look_at_file(x, x->r->state_fd, g->file, &here, &n, e);

	if (rc)
		return rc;
	if (g->is_sealed && (n != g->size_bytes || !hash_eq(&here, &g->digest))) {
		if (!is_mended(x, g->file, &here))
			return damaged(e, "%s has changed since it was closed", g->file);
		g->is_mended = true;
		g->closed = g->digest;
	}
	g->digest = here;
	g->size_bytes = n;
	rc = file_mkdirs(x->r->sys, AT_FDCWD, dir, 0700, e);
	if (rc == OK && !file_exists(x->r->sys, AT_FDCWD, to))
		rc = write_copy(x, g, to, e);
	if (rc == OK)
		rc = look_at_file(x, AT_FDCWD, to, &there, &m, e);
	if (rc == OK && (m != n || !hash_eq(&there, &here)))
		rc = err_set(e, E_CORRUPT, "ARCHIVE_CONFLICT",
			"'%s' is there already and is another file; archive elsewhere, or take it away", to);
	return rc;
}

/* ---- on record, and gone ---- */

static struct json *going_json(struct arena *a, const struct going *g)
{
	struct json *row = json_new(a, JSON_OBJECT);

	json_sets(a, row, "file", g->file);
	json_seti(a, row, "bytes", (int64_t)g->size_bytes);
	if (g->is_sealed) {
		json_seti(a, row, "first", (int64_t)g->first);
		json_seti(a, row, "last", (int64_t)g->last);
	}
	json_sets(a, row, "sha256", hash_hex(a, &g->digest));
	if (g->is_mended)
		json_sets(a, row, "closed_sha256", hash_hex(a, &g->closed));
	return row;
}

static int sign_move(
	struct archiving *x, const struct going *list, size_t n, struct json **ret, struct err *e)
{
	struct arena *a = x->a;
	struct json *about = json_new(a, JSON_OBJECT), *files = json_new(a, JSON_ARRAY);
	char *id;
	int rc = record_new_id(a, x->r->sys, "archive-", &id, e);

	if (rc)
		return rc;
	for (size_t i = 0; i < n; i++)
		json_push(a, files, going_json(a, &list[i]));
	json_sets(a, about, "to", x->how->to);
	json_sets(a, about, "before", text_time_z(a, x->how->before_us));
	json_set(a, about, "files", files);
	struct draft d = { .decision_id = id,
		.effect_id = ARCHIVE_EFFECT,
		.status = "ARCHIVED",
		.type = "archive",
		.output_hash = json_sha256(a, about),
		.metadata = about,
		.is_summed = true };
	return recorder_append(x->r, a, &d, 1, ret, e);
}

/* The receipt's copy is durable beside the file before that goes. */
static int remove_one(struct archiving *x, const struct going *g, struct bytes receipt, struct err *e)
{
	struct sys *s = x->r->sys;
	int rc =
		file_replace(s, x->r->state_fd, arena_printf(x->a, "%s" ARCHIVED, g->file), 0600, receipt, e);

	if (rc == OK && s->unlink(s, x->r->state_fd, g->file, 0) && errno != ENOENT)
		rc = err_sys(e, "ARCHIVE_REMOVE", "cannot remove %s, which is archived", g->file);
	return rc;
}

/* Writers wait meanwhile: it takes a moment, and the next one finds the chain as it is then. */
static int remove_all(
	struct archiving *x, const struct going *list, size_t n, const struct json *receipt, struct err *e)
{
	struct recorder *r = x->r;
	struct buf text;
	int rc = recorder_lock(r, e);

	if (rc)
		return rc;
	buf_init(&text, x->a);
	json_canonical(&text, receipt);
	buf_addc(&text, '\n');
	for (size_t i = 0; rc == OK && i < n; i++)
		rc = remove_one(x, &list[i], buf_bytes(&text), e);
	if (rc == OK && r->sys->fsync(r->sys, r->state_fd))
		rc = err_sys(e, "ARCHIVE_REMOVE", "cannot make the move durable");
	chain_forget(r);
	if (rc == OK)
		rc = chain_settle(r, x->a, e);
	recorder_unlock(r);
	return rc;
}

static int move_some(struct archiving *x, struct going *list, size_t n, struct json *report, struct err *e)
{
	struct json *receipt;
	int rc = OK;

	for (size_t i = 0; rc == OK && i < n; i++)
		rc = copy_one(x, &list[i], e);
	if (rc == OK)
		rc = sign_move(x, list, n, &receipt, e);
	if (rc == OK)
		rc = remove_all(x, list, n, receipt, e);
	if (rc)
		return rc;
	json_pushs(x->a, json_get(report, "receipts"), json_get_text(receipt, "receipt_id", ""));
	return OK;
}

/* The files are chosen while nobody writes, behind a look at the chain: a rotation that was interrupted, or
 * damage, is met before anything moves. */
static int choose(struct archiving *x, struct err *e)
{
	int rc = recorder_lock(x->r, e);

	if (rc)
		return rc;
	rc = chain_settle(x->r, x->a, e);
	if (rc == OK)
		rc = choose_chain(x, e);
	if (rc == OK)
		rc = choose_ledgers(x, e);
	recorder_unlock(x->r);
	return rc;
}

int log_archive(struct recorder *r, struct arena *a, const struct archive_how *how, struct json **ret_report,
	struct err *e)
{
	struct archiving x = { .r = r, .a = a, .how = how };
	struct json *report = json_new(a, JSON_OBJECT), *files = json_new(a, JSON_ARRAY);
	AUTO(close_fd) int lock = -1;

	if (!r->key)
		return err_set(e, E_DENIED, "LOG_KEY", "no signing key; 'helm key create' makes one");
	int rc = choose(&x, e);
	if (rc == OK && !how->is_dry)
		rc = file_lock(r->sys, r->state_fd, ARCHIVE_LOCK, 0, &lock, e);
	if (rc == OK && !how->is_dry)
		rc = draws_keep(r, a, e);
	if (rc)
		return rc;
	json_sets(a, report, "to", how->to);
	json_sets(a, report, "before", text_time_z(a, how->before_us));
	json_setb(a, report, "dry_run", how->is_dry);
	json_seti(a, report, "bytes", (int64_t)x.total_bytes);
	json_set(a, report, "receipts", json_new(a, JSON_ARRAY));
	for (size_t i = 0; rc == OK && !how->is_dry && i < x.n; i += FILES_AT_ONCE)
		rc = move_some(&x, x.list + i, x.n - i < FILES_AT_ONCE ? x.n - i : FILES_AT_ONCE, report, e);
	for (size_t i = 0; i < x.n; i++) {
		struct json *row = going_json(a, &x.list[i]);
		if (how->is_dry && !x.list[i].is_sealed)
			json_remove(row, "sha256"); /* known when it is read */
		json_push(a, files, row);
	}
	json_set(a, report, "files", files);
	*ret_report = report;
	return rc;
}
