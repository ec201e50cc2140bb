/* segments.c — a ledger as one continuous text, whatever files it lies in.
 *
 * A ledger grows for years, so it is put aside piece by piece.  The newest rows are in <name>.jsonl, which is
 * the only file anybody appends to.  When it is large it is renamed to segments/waiting/<name>-NNNNNN.jsonl
 * (ledger.c): that is all a writer in a hurry has to do.  Later somebody with time seals it (seal.c): packed
 * as segments/<name>-NNNNNN.jsonl.zst, its digest in the chain, and then the plain file goes.
 *
 * A reader beside all that sees every row exactly once.  Files move in one direction only: from the newest to
 * the waiting ones to the sealed ones, and a sealed file is there before the waiting one goes.  So a reader
 * opens the newest file first and then lists the waiting and the sealed ones, in this order: nothing can
 * slip past it.  If the newest file has got another name meanwhile, it looks again.
 *
 * A place in the ledger is one number: the piece it lies in, and the offset there (LEDGER_PLACE_BITS).  It
 * stays the same when the piece is put aside, sealed, or when older pieces are taken away.
 *
 * The packed form is a plain .zst file that `zstd -d` reads: frames of whole lines, and behind them the seek
 * table of zstd's seekable format, so that one frame can be read without the others. */
#include "record/segments.h"
#include "base/file.h"
#include "base/text.h"
#include "base/zst.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

enum { READ_STEP = 256 << 10, LINE_LIMIT = 64 << 20, TABLE_ENTRY = 8, TABLE_FOOTER = 9, SKIP_HEADER = 8 };
enum { MAX_FRAMES = 1 << 22 };
static const uint32_t SKIP_MAGIC = 0x184D2A5E, SEEK_MAGIC = 0x8F92EAB1;

/* ---- names ---- */

static int stem_length(const char *file)
{
	size_t n = strlen(file);

	return (int)(text_ends(file, ".jsonl") ? n - strlen(".jsonl") : n);
}

char *ledger_waiting_name(struct arena *a, const char *file, unsigned number)
{
	return arena_printf(a, LEDGER_WAITING "/%.*s-%06u.jsonl", stem_length(file), file, number);
}

char *ledger_sealed_name(struct arena *a, const char *file, unsigned number)
{
	return arena_printf(a, LEDGER_SEGMENTS "/%.*s-%06u.jsonl.zst", stem_length(file), file, number);
}

bool ledger_is_archived(struct sys *s, struct arena *a, int state_fd, const char *file, unsigned number)
{
	const char *sealed = ledger_sealed_name(a, file, number);

	return file_exists(s, state_fd, arena_printf(a, "%s" ARCHIVED, sealed)) &&
		!file_exists(s, state_fd, sealed) &&
		!file_exists(s, state_fd, ledger_waiting_name(a, file, number));
}

/* The number of a piece of this ledger, 0 when the name is another one.  *ret_rest is what follows the
 * number. */
static unsigned number_in(const char *name, const char *file, const char **ret_rest)
{
	size_t n = (size_t)stem_length(file);
	char *end;

	if (strncmp(name, file, n) != 0 || name[n] != '-' || strspn(name + n + 1, "0123456789") != 6)
		return 0;
	unsigned long number = strtoul(name + n + 1, &end, 10);
	*ret_rest = end;
	return *end == '.' ? (unsigned)number : 0;
}

/* A directory that is not there is empty. */
int ledger_names(struct sys *s, struct arena *a, int state_fd, const char *dir, char ***ret, size_t *ret_n,
	struct err *e)
{
	struct err why = { 0 };
	int rc = file_list(s, a, state_fd, dir, ret, ret_n, &why);

	if (rc == E_MISSING) {
		*ret_n = 0;
		return OK;
	}
	if (rc && e)
		*e = why;
	return rc;
}

/* ---- which pieces there are ---- */

static void add_part(struct ledger_cut *c, unsigned number, bool is_sealed)
{
	c->next = number >= c->next ? number + 1 : c->next;
	for (size_t i = 0; i < c->n; i++)
		if (c->parts[i].number == number) { /* sealed a moment ago, or about to be */
			c->parts[i].is_sealed |= is_sealed;
			return;
		}
	c->parts[c->n++] = (struct ledger_part){ number, is_sealed };
}

static int by_number(const void *x, const void *y)
{
	const struct ledger_part *p = x, *q = y;

	return (p->number > q->number) - (p->number < q->number);
}

/* The waiting ones first: what is sealed meanwhile is found in the second list. */
int ledger_list(struct ledger_cut *c, struct arena *a, struct err *e)
{
	static const char *const dirs[] = { LEDGER_WAITING, LEDGER_SEGMENTS };
	char **names[2];
	size_t count[2];
	const char *rest;
	int rc = OK;

	for (int i = 0; i < 2 && rc == OK; i++)
		rc = ledger_names(c->sys, a, c->state_fd, dirs[i], &names[i], &count[i], e);
	if (rc)
		return rc;
	c->parts = arena_zalloc(a, count[0] + count[1] + 1, sizeof(*c->parts));
	c->n = 0;
	c->next = 1;
	for (int i = 0; i < 2; i++)
		for (size_t k = 0; k < count[i]; k++) {
			unsigned number = number_in(names[i][k], c->file, &rest);
			if (number &&
				(text_eq(rest, i ? ".jsonl.zst" : ".jsonl") ||
					text_eq(rest, ".jsonl.zst" ARCHIVED)))
				add_part(c, number, i == 1);
			else if (number && number >= c->next) /* its place is kept */
				c->next = number + 1;
		}
	qsort(c->parts, c->n, sizeof(*c->parts), by_number);
	return OK;
}

int ledger_open_now(struct ledger_cut *c, int *ret_fd, struct stat *ret, struct err *e)
{
	struct sys *s = c->sys;

	*ret_fd = s->open(s, c->state_fd, c->file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0, 0);
	if (*ret_fd < 0)
		return errno == ENOENT ? OK : err_sys(e, "LEDGER_READ", "cannot read %s", c->file);
	if (s->stat(s, *ret_fd, "", ret, AT_EMPTY_PATH))
		return err_sys(e, "LEDGER_READ", "cannot read %s", c->file);
	if (!S_ISREG(ret->st_mode))
		return err_set(e, E_CORRUPT, "LEDGER_READ", "%s is not a regular file", c->file);
	return OK;
}

bool ledger_is_now(struct ledger_cut *c)
{
	struct stat named, held;

	if (c->sys->stat(c->sys, c->state_fd, c->file, &named, AT_SYMLINK_NOFOLLOW))
		return c->now_fd < 0 && errno == ENOENT;
	return c->now_fd >= 0 && c->sys->stat(c->sys, c->now_fd, "", &held, AT_EMPTY_PATH) == 0 &&
		named.st_ino == held.st_ino && named.st_dev == held.st_dev;
}

void ledger_cut_close(struct ledger_cut *c)
{
	close_fd(&c->now_fd);
	c->now_fd = -1;
}

/* Rotations are rare, so the second look is almost always the last one. */
int ledger_cut_take(
	struct sys *s, struct arena *a, int state_fd, const char *file, struct ledger_cut *ret, struct err *e)
{
	struct stat st;

	for (;;) {
		*ret = (struct ledger_cut){ .sys = s, .state_fd = state_fd, .file = file, .now_fd = -1 };
		int rc = ledger_open_now(ret, &ret->now_fd, &st, e);
		if (rc == OK)
			rc = ledger_list(ret, a, e);
		if (rc == OK && ledger_is_now(ret)) {
			ret->now_size = ret->now_fd >= 0 ? st.st_size : 0;
			return OK;
		}
		ledger_cut_close(ret);
		if (rc)
			return rc;
	}
}

/* ---- one piece, opened ---- */

static uint32_t little(const uint8_t *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static void put_little(uint8_t *p, uint32_t v)
{
	for (int i = 0; i < 4; i++)
		p[i] = (uint8_t)(v >> (8 * i));
}

static int damaged_segment(struct err *e, const char *name, const char *what)
{
	return err_set(e, E_CORRUPT, "LEDGER_SEGMENT",
		"%s is damaged (%s); put it back from a copy, or 'helm log repair' keeps it aside and puts the loss on record",
		name, what);
}

/* The seek table from the end of the file.  Every number is checked against the size of the file before
 * anything is read by it. */
static int read_table(struct piece *g, struct sys *s, off_t size, struct err *e)
{
	uint8_t foot[TABLE_FOOTER];

	if (size < SKIP_HEADER + TABLE_FOOTER || pread_all(s, g->fd, foot, TABLE_FOOTER, size - TABLE_FOOTER))
		return damaged_segment(e, g->name, "it has no end");
	uint32_t n = little(foot);
	off_t table = (off_t)n * TABLE_ENTRY;
	if (little(foot + 5) != SEEK_MAGIC || foot[4] || n > MAX_FRAMES ||
		size < table + SKIP_HEADER + TABLE_FOOTER)
		return damaged_segment(e, g->name, "its table cannot be read");
	uint8_t *raw = arena_alloc(&g->a, (size_t)table + 1);
	if (pread_all(s, g->fd, raw, (size_t)table, size - TABLE_FOOTER - table))
		return err_sys(e, "LEDGER_READ", "cannot read %s", g->name);
	g->frames = arena_zalloc(&g->a, n + 1, sizeof(*g->frames));
	off_t at = 0, offset = 0;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t packed = little(raw + (size_t)i * TABLE_ENTRY),
			 plain = little(raw + (size_t)i * TABLE_ENTRY + 4);
		if (plain > LINE_LIMIT + READ_STEP || packed > zst_bound(LINE_LIMIT + READ_STEP))
			return damaged_segment(e, g->name, "its table cannot be right");
		g->frames[i] = (struct piece_frame){ at, offset, packed, plain };
		at += packed;
		offset += plain;
	}
	if (at + SKIP_HEADER + table + TABLE_FOOTER != size)
		return damaged_segment(e, g->name, "its table does not fit its size");
	g->frame_count = n;
	g->size = offset;
	return OK;
}

void piece_close(struct piece *g)
{
	close_fd(&g->fd);
	zst_done(&g->zst);
	arena_done(&g->step);
	arena_done(&g->a);
	*g = (struct piece){ .fd = -1 };
}

int piece_open(struct sys *s, int state_fd, const char *name, struct piece *ret, struct err *e)
{
	struct stat st;

	*ret = (struct piece){ .fd = s->open(s, state_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0, 0),
		.sys = s };
	if (ret->fd < 0 || s->stat(s, ret->fd, "", &st, AT_EMPTY_PATH)) {
		int rc = err_sys(e, "LEDGER_READ", "cannot read %s", name);
		piece_close(ret);
		return rc;
	}
	ret->name = arena_strdup(&ret->a, name);
	int rc = read_table(ret, s, st.st_size, e);
	if (rc)
		piece_close(ret);
	return rc;
}

int ledger_piece_open(
	struct ledger_cut *c, struct arena *a, unsigned number, struct piece *ret, struct err *e)
{
	const char *name = ledger_sealed_name(a, c->file, number), *place;
	struct err why = { 0 };
	int rc = piece_open(c->sys, c->state_fd, name, ret, &why);

	if (rc == E_MISSING && file_exists(c->sys, c->state_fd, arena_printf(a, "%s" ARCHIVED, name))) {
		place = segment_place(c->sys, a, c->state_fd, name);
		return place && piece_open(c->sys, AT_FDCWD, place, ret, NULL) == OK ? OK : 1;
	}
	if (rc && e)
		*e = why;
	return rc;
}

/* The text of one frame, valid until the next one is read. */
int piece_frame(struct piece *g, size_t i, struct bytes *ret, struct err *e)
{
	const struct piece_frame *f = &g->frames[i];

	arena_reset(&g->step);
	uint8_t *packed = arena_alloc(&g->step, (size_t)f->packed + 1);
	char *text = arena_text(&g->step, (size_t)f->plain + 1);
	if (pread_all(g->sys, g->fd, packed, f->packed, f->at))
		return err_sys(e, "LEDGER_READ", "cannot read %s", g->name);
	if (zst_unpack(&g->zst, (struct bytes){ packed, f->packed }, text, f->plain, NULL))
		return damaged_segment(e, g->name, "a frame cannot be unpacked");
	*ret = (struct bytes){ (const uint8_t *)text, f->plain };
	return OK;
}

/* ---- lines, forwards ---- */

/* Hands out the whole lines of a text that starts at `place`; *ret_used is where the rest begins. */
static int give(struct bytes text, off_t place, off_t from, uint64_t *line, line_visit *fn, void *arg,
	size_t *ret_used, struct err *e)
{
	const uint8_t *at = text.p, *end = text.p + text.n, *stop;
	int rc = OK;

	while (rc == OK && at < end && (stop = memchr(at, '\n', (size_t)(end - at)))) {
		struct bytes one = { at, (size_t)(stop - at) };
		off_t here = place + (at - text.p);
		if (here >= from)
			rc = fn(arg, here, ++*line, one, true, e);
		at = stop + 1;
	}
	*ret_used = (size_t)(at - text.p);
	return rc;
}

static int sealed_lines(struct ledger_cut *c, struct arena *a, unsigned number, off_t from, uint64_t *line,
	line_visit *fn, void *arg, struct err *e)
{
	AUTO(piece_close) struct piece g;
	off_t base = ledger_place(number, 0);
	struct bytes text;
	size_t used;
	int rc = ledger_piece_open(c, a, number, &g, e);

	if (rc > 0 || (rc == E_CORRUPT && c->passes_damage))
		return OK; /* whoever checks the log says that it could not be read */
	for (size_t i = 0; rc == OK && i < g.frame_count; i++) {
		off_t place = base + g.frames[i].offset;
		if (place + (off_t)g.frames[i].plain <= from)
			continue;
		rc = piece_frame(&g, i, &text, e);
		if (rc == E_CORRUPT && c->passes_damage) {
			rc = OK;
			continue;
		}
		if (rc == OK)
			rc = give(text, place, from, line, fn, arg, &used, e);
		if (rc == OK && used < text.n && place + (off_t)used >= from)
			rc = fn(arg, place + (off_t)used, ++*line,
				(struct bytes){ text.p + used, text.n - used }, false, e);
	}
	return rc;
}

/* Read in steps, not mapped: a file that becomes shorter under a mapping, or a disk that fails, would end
 * this process.  What lies behind `size` is not looked at. */
static int plain_lines(struct sys *s, const char *file, int fd, off_t size, off_t base, off_t from,
	uint64_t *line, line_visit *fn, void *arg, struct err *e)
{
	AUTO(arena_done) struct arena a = { .limit_bytes = (size_t)4 * LINE_LIMIT };
	size_t cap = READ_STEP, n = 0, used;
	char *hold = arena_text(&a, cap);
	off_t at = from > base ? from - base : 0; /* of hold[0] */

	while (at + (off_t)n < size) {
		if (n == cap && cap > LINE_LIMIT)
			return err_set(e, E_CORRUPT, "LEDGER_LINE",
				"%s has a line that is longer than any row", file);
		if (n == cap) {
			hold = arena_grow(&a, hold, cap, 2 * cap);
			cap *= 2;
		}
		off_t left = size - at - (off_t)n;
		size_t room = (off_t)(cap - n) < left ? cap - n : (size_t)left;
		ssize_t got = s->pread(s, fd, hold + n, room, at + (off_t)n);
		if (got < 0)
			return err_sys(e, "LEDGER_READ", "cannot read %s", file);
		if (got == 0) /* a torn end was taken back meanwhile */
			break;
		n += (size_t)got;
		int rc = give((struct bytes){ (uint8_t *)hold, n }, base + at, from, line, fn, arg, &used, e);
		if (rc)
			return rc;
		memmove(hold, hold + used, n - used);
		n -= used;
		at += (off_t)used;
	}
	return n ? fn(arg, base + at, ++*line, (struct bytes){ (uint8_t *)hold, n }, false, e) : OK;
}

/* A piece that was waiting when it was listed may be sealed by now. */
static int part_lines(struct ledger_cut *c, struct arena *a, const struct ledger_part *p, off_t from,
	uint64_t *line, line_visit *fn, void *arg, struct err *e)
{
	off_t base = ledger_place(p->number, 0);
	struct stat st;
	AUTO(close_fd) int fd = -1;

	if (!p->is_sealed)
		fd = c->sys->open(c->sys, c->state_fd, ledger_waiting_name(a, c->file, p->number),
			O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0, 0);
	if (fd < 0)
		return sealed_lines(c, a, p->number, from, line, fn, arg, e);
	if (c->sys->stat(c->sys, fd, "", &st, AT_EMPTY_PATH))
		return err_sys(e, "LEDGER_READ", "cannot read %s", c->file);
	return plain_lines(c->sys, c->file, fd, st.st_size, base, from, line, fn, arg, e);
}

int ledger_cut_lines(
	struct ledger_cut *c, struct arena *a, off_t from, line_visit *fn, void *arg, struct err *e)
{
	uint64_t line = 0;
	int rc = OK;

	for (size_t i = 0; rc == OK && i < c->n; i++)
		if (ledger_place(c->parts[i].number + 1, 0) > from)
			rc = part_lines(c, a, &c->parts[i], from, &line, fn, arg, e);
	if (rc == OK && c->now_fd >= 0)
		rc = plain_lines(c->sys, c->file, c->now_fd, c->now_size, ledger_place(c->next, 0), from,
			&line, fn, arg, e);
	return rc > 0 ? OK : rc;
}

int ledger_lines(
	struct sys *s, int state_fd, const char *file, off_t from, line_visit *fn, void *arg, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	AUTO(ledger_cut_close) struct ledger_cut c = { .now_fd = -1 };
	int rc = ledger_cut_take(s, &a, state_fd, file, &c, e);

	return rc ? rc : ledger_cut_lines(&c, &a, from, fn, arg, e);
}

int ledger_lines_past(
	struct sys *s, int state_fd, const char *file, off_t from, line_visit *fn, void *arg, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	AUTO(ledger_cut_close) struct ledger_cut c = { .now_fd = -1 };
	int rc = ledger_cut_take(s, &a, state_fd, file, &c, e);

	c.passes_damage = true;
	return rc ? rc : ledger_cut_lines(&c, &a, from, fn, arg, e);
}

int ledger_end(struct sys *s, int state_fd, const char *file, off_t *ret, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	AUTO(ledger_cut_close) struct ledger_cut c = { .now_fd = -1 };
	int rc = ledger_cut_take(s, &a, state_fd, file, &c, e);

	if (rc == OK)
		*ret = ledger_place(c.next, c.now_size);
	return rc;
}

/* ---- the newest part of it ---- */

/* The first line that starts at `at` or later. */
static int line_from(struct sys *s, const char *file, int fd, off_t at, off_t size, off_t *ret, struct err *e)
{
	char step[4096];

	for (at = at > 0 ? at - 1 : 0; at < size;) {
		ssize_t n = s->pread(s, fd, step, sizeof(step), at);
		if (n < 0)
			return err_sys(e, "LEDGER_READ", "cannot read %s", file);
		const char *end = n > 0 ? memchr(step, '\n', (size_t)n) : NULL;
		if (end || n == 0) {
			*ret = end ? at + (end - step) + 1 : size;
			return OK;
		}
		at += n;
	}
	*ret = size;
	return OK;
}

static int recent_in_part(struct ledger_cut *c, struct arena *a, off_t bytes, off_t *ret, struct err *e)
{
	const struct ledger_part *p = &c->parts[c->n - 1];
	AUTO(piece_close) struct piece g;
	size_t i = 0;

	*ret = ledger_place(p->number, 0);
	int rc = ledger_piece_open(c, a, p->number, &g, e);
	if (rc)
		return rc < 0 && p->is_sealed ? rc : OK; /* one that waits is taken whole */
	while (i + 1 < g.frame_count && g.frames[i].offset + bytes < g.size)
		i++;
	if (i)
		*ret = ledger_place(p->number, g.frames[i].offset);
	return OK;
}

int ledger_recent(struct sys *s, int state_fd, const char *file, off_t bytes, off_t *ret, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	AUTO(ledger_cut_close) struct ledger_cut c = { .now_fd = -1 };
	int rc = ledger_cut_take(s, &a, state_fd, file, &c, e);
	off_t at = 0;

	if (rc)
		return rc;
	if (c.now_size <= bytes && c.n)
		return recent_in_part(&c, &a, bytes, ret, e);
	if (c.now_size > bytes)
		rc = line_from(s, file, c.now_fd, c.now_size - bytes, c.now_size, &at, e);
	*ret = ledger_place(c.next, at);
	return rc;
}

/* ---- the chain, by the same places ---- */

int receipts_lines(
	struct sys *s, int state_fd, const char *file, off_t from, line_visit *fn, void *arg, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	AUTO(log_cut_close) struct log_cut c = { 0 };
	uint64_t line = 0;
	int rc = log_cut_take(s, &a, state_fd, CUT_MOMENT, &c, e);

	(void)file;
	for (size_t i = 0; rc == OK && i < c.n; i++) {
		unsigned number = log_file_number(&c, i);
		if (c.chain[i].fd >= 0 && ledger_place(number + 1, 0) > from)
			rc = plain_lines(s, c.chain[i].name, c.chain[i].fd, c.chain[i].size_bytes,
				ledger_place(number, 0), from, &line, fn, arg, e);
	}
	return rc > 0 ? OK : rc;
}

int receipts_end(struct sys *s, int state_fd, const char *file, off_t *ret, struct err *e)
{
	return receipts_recent(s, state_fd, file, 0, ret, e);
}

int receipts_recent(struct sys *s, int state_fd, const char *file, off_t bytes, off_t *ret, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	AUTO(log_cut_close) struct log_cut c = { 0 };
	int rc = log_cut_take(s, &a, state_fd, CUT_MOMENT, &c, e);
	size_t i = c.n;

	(void)file;
	*ret = 0;
	while (rc == OK && i-- > 0) {
		const struct log_file *f = &c.chain[i];
		off_t at = 0;
		if (f->fd >= 0 && f->size_bytes > bytes)
			rc = line_from(s, f->name, f->fd, f->size_bytes - bytes, f->size_bytes, &at, e);
		*ret = ledger_place(log_file_number(&c, i), at);
		if (at || bytes == 0)
			break;
		bytes -= f->size_bytes < bytes ? f->size_bytes : bytes;
		if (!bytes)
			break;
	}
	return rc;
}

/* ---- packing ---- */

static int put(struct piece_writer *w, const void *p, size_t n, struct err *e)
{
	w->packed_bytes += n;
	sha256_add(&w->packed, p, n);
	return write_all(w->sys, w->fd, p, n) ? err_sys(e, "LEDGER_SEAL", "cannot write a segment") : OK;
}

static int put_frame(struct piece_writer *w, struct bytes text, struct err *e)
{
	size_t room = zst_bound(text.n), n;

	arena_reset(&w->step);
	uint8_t *packed = arena_alloc(&w->step, room);
	int rc = zst_pack(&w->zst, text, SEGMENT_LEVEL, packed, room, &n, e);
	if (rc)
		return rc;
	if (w->n == w->cap) {
		size_t cap = w->cap ? 2 * w->cap : 256;
		w->table = arena_grow(&w->a, w->table, w->cap * TABLE_ENTRY, cap * TABLE_ENTRY);
		w->cap = cap;
	}
	put_little(w->table + w->n * TABLE_ENTRY, (uint32_t)n);
	put_little(w->table + w->n++ * TABLE_ENTRY + 4, (uint32_t)text.n);
	return put(w, packed, n, e);
}

/* Lines are gathered to frames of about SEGMENT_FRAME; a longer line is a frame of its own. */
int piece_add(struct piece_writer *w, struct bytes line, bool is_whole, struct err *e)
{
	if (w->held.n && w->held.n + line.n >= SEGMENT_FRAME) {
		int rc = put_frame(w, buf_bytes(&w->held), e);
		if (rc)
			return rc;
		w->held.n = 0;
	}
	if (!w->held.a)
		buf_init(&w->held, &w->hold);
	size_t before = w->held.n;
	buf_add(&w->held, line.p, line.n);
	if (is_whole)
		buf_addc(&w->held, '\n');
	sha256_add(&w->plain, w->held.p + before, w->held.n - before);
	w->plain_bytes += w->held.n - before;
	w->rows++;
	return OK;
}

int piece_finish(struct piece_writer *w, struct err *e)
{
	uint8_t head[SKIP_HEADER], foot[TABLE_FOOTER] = { 0 };
	int rc = w->held.n ? put_frame(w, buf_bytes(&w->held), e) : OK;

	put_little(head, SKIP_MAGIC);
	put_little(head + 4, (uint32_t)(w->n * TABLE_ENTRY + TABLE_FOOTER));
	put_little(foot, (uint32_t)w->n);
	put_little(foot + 5, SEEK_MAGIC);
	if (rc == OK)
		rc = put(w, head, sizeof(head), e);
	if (rc == OK && w->n)
		rc = put(w, w->table, w->n * TABLE_ENTRY, e);
	return rc ? rc : put(w, foot, sizeof(foot), e);
}

void piece_writer_begin(struct piece_writer *w, struct sys *s, int fd)
{
	*w = (struct piece_writer){ .sys = s, .fd = fd };
	sha256_begin(&w->plain);
	sha256_begin(&w->packed);
}

void piece_writer_done(struct piece_writer *w)
{
	zst_done(&w->zst);
	arena_done(&w->step);
	arena_done(&w->hold);
	arena_done(&w->a);
}
