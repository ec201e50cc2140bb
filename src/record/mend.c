/* mend.c — changing files of ledgers, which nothing but a repair does.
 *
 * A ledger is only ever appended to, and rows are known by their places.  So a row that is taken out leaves a line of blanks of
 * its length, and everything else stays where it is.
 *
 * Before the seam is in the chain, a copy of each file as it is (FILE.damaged-MARK) and of what it will be (FILE.mended-MARK) are on disk,
 * and the seam says both digests.  After it each file is replaced by one rename.  Killed in between, the next writer finds the seam at the
 * end of the chain and does the rest; rows that were appended meanwhile go with the file, and a file that was put aside meanwhile is
 * found under its new name.
 *
 * Who holds the log's lock takes those of ledgers here.  That is safe because nobody who holds one of those waits for anything. */
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "record/segments.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

enum { SEAL_WAIT_MS = 20000 };
#define FILE_LIMIT ((size_t)1 << 32)

/* ---- looking ---- */

int ledger_files(struct sys *s, struct arena *a, int state_fd, const char *ledger, struct ledger_file **ret,
	size_t *ret_n, struct err *e)
{
	AUTO(ledger_cut_close) struct ledger_cut c = { .now_fd = -1 };
	int rc = ledger_cut_take(s, a, state_fd, ledger, &c, e);
	struct ledger_file *list = arena_zalloc(a, c.n + 1, sizeof(*list));
	size_t n = 0;

	for (size_t i = 0; rc == OK && i < c.n; i++) {
		const char *waiting = ledger_waiting_name(a, ledger, c.parts[i].number),
			   *sealed = ledger_sealed_name(a, ledger, c.parts[i].number);
		bool is_sealed = file_exists(s, state_fd, sealed);
		if (is_sealed || file_exists(s, state_fd, waiting))
			list[n++] = (struct ledger_file){ ledger, is_sealed ? sealed : waiting,
				c.parts[i].number, is_sealed };
	}
	if (rc == OK && c.now_fd >= 0)
		list[n++] = (struct ledger_file){ ledger, ledger, c.next, false };
	*ret = list;
	*ret_n = n;
	return rc;
}

int ledger_file_text(struct sys *s, struct arena *a, int state_fd, const struct ledger_file *f,
	struct bytes *ret, struct err *e)
{
	AUTO(piece_close) struct piece g = { .fd = -1 };

	if (!f->is_sealed)
		return file_read(s, a, state_fd, f->name, FILE_LIMIT, 0, ret, e);
	int rc = piece_open(s, state_fd, f->name, &g, e);
	if (rc)
		return rc;
	char *text = arena_text(a, (size_t)g.size + 1);
	for (size_t i = 0; rc == OK && i < g.frame_count; i++) {
		const struct piece_frame *frame = &g.frames[i];
		struct bytes part;
		rc = piece_frame(&g, i, &part, e);
		if (rc == OK && part.n)
			memcpy(text + frame->offset, part.p, part.n);
		if (rc == E_CORRUPT && frame->plain) {
			memset(text + frame->offset, ' ', frame->plain);
			text[frame->offset + frame->plain - 1] = '\n';
			rc = OK;
		}
	}
	*ret = (struct bytes){ (const uint8_t *)text, (size_t)g.size };
	return rc;
}

/* ---- holding ---- */

int ledger_hold_pieces(struct recorder *r, struct ledger_hold *ret, struct err *e)
{
	*ret = (struct ledger_hold){ .seal_fd = -1 };
	if (!file_is_dir(r->sys, r->state_fd, LEDGER_SEGMENTS))
		return OK; /* nobody has ever sealed one */
	return file_lock(r->sys, r->state_fd, LEDGER_LOCK, SEAL_WAIT_MS, &ret->seal_fd, e);
}

int ledger_hold_files(
	struct recorder *r, const char *const *ledgers, size_t n, struct ledger_hold *h, struct err *e)
{
	int rc = OK;

	for (size_t i = 0; rc == OK && i < n && h->n < ARRAY_SIZE(h->fds); i++) {
		if (!file_exists(r->sys, r->state_fd, ledgers[i]))
			continue; /* a lock would make it */
		rc = file_lock(r->sys, r->state_fd, ledgers[i], SEAL_WAIT_MS, &h->fds[h->n], e);
		h->n += rc == OK;
	}
	r->holds_ledgers = rc == OK;
	return rc;
}

void ledger_hold_end(struct recorder *r, struct ledger_hold *h)
{
	for (size_t i = 0; i < h->n; i++)
		close_fd(&h->fds[i]);
	h->n = 0;
	close_fd(&h->seal_fd);
	h->seal_fd = -1;
	r->holds_ledgers = false;
}

/* ---- before the seam ---- */

struct packing {
	struct bytes text;
};

static int pack(void *arg, struct sys *s, int fd, struct err *e)
{
	struct bytes rest = ((struct packing *)arg)->text;
	struct piece_writer w;
	int rc = OK;

	piece_writer_begin(&w, s, fd);
	while (rc == OK && rest.n) {
		bool is_whole = memchr(rest.p, '\n', rest.n) != NULL;
		rc = piece_add(&w, text_cut(&rest, '\n'), is_whole, e);
	}
	if (rc == OK)
		rc = piece_finish(&w, e);
	piece_writer_done(&w);
	return rc;
}

static char *mended_name(struct arena *a, const char *file, const char *mark)
{
	return arena_printf(a, "%s.mended-%s", file, mark);
}

/* The two copies, and the row of the seam about them. */
static int prepare(struct recorder *r, struct arena *a, const struct ledger_mend *m, const char *mark,
	struct json *row, struct err *e)
{
	AUTO(arena_done) struct arena scratch = { 0 };
	const char *kept = arena_printf(a, "%s.damaged-%s", m->file.name, mark);
	const char *mended = mended_name(a, m->file.name, mark);
	struct packing p = { m->text };
	struct bytes was, will;
	int rc = file_read(r->sys, &scratch, r->state_fd, m->file.name, FILE_LIMIT, 0, &was, e);

	if (rc == OK)
		rc = file_replace(r->sys, r->state_fd, kept, 0600, was, e);
	if (rc == OK && !m->is_gone)
		rc = m->file.is_sealed ? file_replace_by(r->sys, r->state_fd, mended, 0600, pack, &p, e)
				       : file_replace(r->sys, r->state_fd, mended, 0600, m->text, e);
	if (rc == OK && !m->is_gone)
		rc = file_read(r->sys, &scratch, r->state_fd, mended, FILE_LIMIT, 0, &will, e);
	if (rc)
		return rc;
	json_sets(a, row, "ledger", m->file.ledger);
	json_sets(a, row, "file", m->file.name);
	json_seti(a, row, "number", m->file.number);
	json_seti(a, row, "bytes", (int64_t)was.n);
	json_seti(a, row, "rows", (int64_t)m->rows);
	json_sets(a, row, "sha256_before", sha256_hex(a, was.p, was.n));
	json_sets(a, row, "sha256_after", m->is_gone ? "" : sha256_hex(a, will.p, will.n));
	json_sets(a, row, "kept_as", kept);
	return OK;
}

int mends_prepare(
	struct recorder *r, struct arena *a, const struct log_plan *plan, struct json *about, struct err *e)
{
	const char *mark = json_get_text(about, "mark", "");
	struct json *rows = json_new(a, JSON_ARRAY);
	int rc = OK;

	for (size_t i = 0; rc == OK && i < plan->ledger_n; i++) {
		struct json *row = json_new(a, JSON_OBJECT);
		rc = prepare(r, a, &plan->ledgers[i], mark, row, e);
		json_push(a, rows, row);
	}
	if (rows->n)
		json_set(a, about, "ledgers", rows);
	if (plan->lost)
		json_set(a, about, "lost", plan->lost);
	return rc;
}

void mends_forget(struct recorder *r, struct arena *a, const struct log_plan *plan, const char *mark)
{
	for (size_t i = 0; i < plan->ledger_n; i++) {
		const char *file = plan->ledgers[i].file.name;
		(void)r->sys->unlink(r->sys, r->state_fd, mended_name(a, file, mark), 0);
		(void)r->sys->unlink(r->sys, r->state_fd, arena_printf(a, "%s.damaged-%s", file, mark), 0);
	}
}

/* ---- behind the seam ---- */

/* The name comes from a file: only a ledger, or a piece of one. */
static bool is_ledger_file(const char *name)
{
	const char *base = path_base(name);

	return !strstr(name, "..") && name[0] != '/' && base[0] != '.' &&
		(text_ends(base, ".jsonl") || text_ends(base, ".jsonl.zst")) &&
		(base == name || text_starts(name, LEDGER_SEGMENTS "/") || !strchr(name, ':'));
}

static bool has_digest(struct arena *a, struct bytes text, size_t n, const char *hex)
{
	return text.n >= n && text_eq(sha256_hex(a, text.p, n), hex);
}

/* If the file begins as the seam says that it was, it becomes what the seam says, with what was appended since.  *ret_done: that is it. */
static int mend_file(struct recorder *r, struct arena *a, const char *file, const struct json *row,
	struct bytes mended, bool *ret_done, struct err *e)
{
	const char *before = json_get_text(row, "sha256_before", "");
	size_t bytes = (size_t)json_get_int(row, "bytes", 0);
	AUTO(close_fd) int lock = -1;
	struct bytes now;
	struct buf text;
	struct err why = { 0 };
	/* Read before it is locked, too: a lock would make a file that is not there. */
	int rc = file_read(r->sys, a, r->state_fd, file, FILE_LIMIT, 0, &now, &why);

	*ret_done = false;
	if (rc == E_MISSING)
		return OK;
	if (rc == OK && !r->holds_ledgers && !text_ends(file, ".zst"))
		rc = file_lock(r->sys, r->state_fd, file, -1, &lock, &why);
	if (rc == OK)
		rc = file_read(r->sys, a, r->state_fd, file, FILE_LIMIT, 0, &now, &why);
	if (rc && e)
		*e = why;
	if (rc || !has_digest(a, now, bytes, before))
		return rc;
	*ret_done = true;
	buf_init(&text, a);
	buf_add(&text, mended.p, mended.n);
	buf_add(&text, now.p + bytes, now.n - bytes);
	return file_replace(r->sys, r->state_fd, file, 0600, buf_bytes(&text), e);
}

/* A file that nothing takes the place of lies aside already. */
static int drop_file(
	struct recorder *r, struct arena *a, const char *file, const struct json *row, struct err *e)
{
	struct bytes now;
	struct err why = { 0 };

	int rc = file_read(r->sys, a, r->state_fd, file, FILE_LIMIT, 0, &now, &why);
	if (rc && rc != E_MISSING && e)
		*e = why;
	if (rc || !text_eq(sha256_hex(a, now.p, now.n), json_get_text(row, "sha256_before", "")))
		return rc == E_MISSING ? OK : rc;
	return r->sys->unlink(r->sys, r->state_fd, file, 0) && errno != ENOENT
		? err_sys(e, "LOG_REPAIR", "cannot take %s away", file)
		: OK;
}

static int finish_file(struct recorder *r, const struct json *row, const char *mark, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	const char *file = json_get_text(row, "file", ""), *ledger = json_get_text(row, "ledger", "");
	const char *mended = mended_name(&a, file, mark);
	struct bytes text;
	struct err why = { 0 };
	bool is_done = false;

	if (!is_ledger_file(file) || !is_ledger_file(ledger))
		return OK;
	if (!*json_get_text(row, "sha256_after", ""))
		return drop_file(r, &a, file, row, e);
	int rc = file_read(r->sys, &a, r->state_fd, mended, FILE_LIMIT, 0, &text, &why);
	if (rc == E_MISSING)
		return OK; /* done before */
	if (rc) {
		if (e)
			*e = why;
		return rc;
	}
	/* What is not what was prepared is not used: the check tells what is still wrong. */
	if (text_eq(sha256_hex(&a, text.p, text.n), json_get_text(row, "sha256_after", ""))) {
		rc = mend_file(r, &a, file, row, text, &is_done, e);
		if (rc == OK && !is_done && text_eq(file, ledger))
			rc = mend_file(r, &a,
				ledger_waiting_name(&a, ledger, (unsigned)json_get_int(row, "number", 0)),
				row, text, &is_done, e);
	}
	if (rc == OK && r->sys->unlink(r->sys, r->state_fd, mended, 0) && errno != ENOENT)
		rc = err_sys(e, "LOG_REPAIR", "cannot remove %s", mended);
	return rc;
}

/* Indexes are projections that are caught up by place: they would not see that a row is gone. */
static void forget_indexes(struct recorder *r)
{
	AUTO(arena_done) struct arena a = { 0 };
	char **names;
	size_t n = 0;

	if (file_list(r->sys, &a, r->state_fd, ".", &names, &n, NULL))
		return;
	for (size_t i = 0; i < n; i++)
		if (text_glob("*-index.sqlite3*", names[i], true))
			(void)r->sys->unlink(r->sys, r->state_fd, names[i], 0);
}

int mends_finish(struct recorder *r, const struct json *about, struct err *e)
{
	const struct json *rows = json_get(about, "ledgers");
	const char *mark = json_get_text(about, "mark", "repair");
	int rc = OK;

	json_each (row, rows)
		if (rc == OK)
			rc = finish_file(r, row, mark, e);
	if (rc == OK && rows && rows->n)
		forget_indexes(r);
	return rc;
}
