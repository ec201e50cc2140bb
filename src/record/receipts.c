/* receipts.c — reading the chain back: its files, their lines, their ends.
 *
 * Read in steps, not mapped: another process may cut a torn end off while we read, and a mapping would end
 * this process.
 *
 * Only whole lines count.  A writer may be in the middle of a line, and a crash may have left half of one;
 * both look the same to a reader, and neither was acknowledged to anybody.  Every reader here gives such an
 * end separately (is_whole false) or leaves it out. */
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "record/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

enum {
	READ_STEP = 256 << 10,
	TAIL_STEP = 4 << 10,
	FIRST_LOOK = 8 << 10,
	LARGEST_LOOK = 1 << 20,
	LINE_LIMIT = 64 << 20
};

/* 0, or -1 with errno; on -1 a part may have been written, which the caller has to cut back. */
int write_all(struct sys *s, int fd, const void *from, size_t n)
{
	for (size_t done = 0; done < n;) {
		ssize_t got = s->write(s, fd, (const char *)from + done, n - done);
		if (got < 0)
			return -1;
		done += (size_t)got;
	}
	return 0;
}

/* All n bytes or -1: a file that is shorter than it was a moment ago is an error, not a short answer. */
int pread_all(struct sys *s, int fd, void *to, size_t n, off_t at)
{
	for (size_t done = 0; done < n;) {
		ssize_t got = s->pread(s, fd, (char *)to + done, n - done, at + (off_t)done);
		if (got < 0)
			return -1;
		if (got == 0) {
			errno = EIO; /* it was longer a moment ago */
			return -1;
		}
		done += (size_t)got;
	}
	return 0;
}

/* A bound on lines keeps a file without newlines from filling memory. */
static int too_long(struct err *e, const char *file)
{
	return damaged(e, "%s has a line that is longer than any receipt", file);
}

/* The window at the end of the file grows until a whole line fits in it.  A file without any newline gives
 * an empty line and end 0: everything in it is torn. */
int tail_line(struct sys *s, struct arena *a, int fd, const char *file, struct bytes *ret_line,
	off_t *ret_end, off_t *ret_size, struct err *e)
{
	struct stat st;

	if (s->stat(s, fd, "", &st, AT_EMPTY_PATH))
		return err_sys(e, "LOG_READ", "cannot read %s", file);
	*ret_size = st.st_size;
	for (size_t window = TAIL_STEP;; window *= 4) {
		off_t from = (off_t)window < st.st_size ? st.st_size - (off_t)window : 0;
		size_t n = (size_t)(st.st_size - from);
		char *text = arena_text(a, n + 1);
		if (pread_all(s, fd, text, n, from))
			return err_sys(e, "LOG_READ", "cannot read the end of %s", file);
		const char *end = n ? memrchr(text, '\n', n) : NULL;
		const char *before = end ? memrchr(text, '\n', (size_t)(end - text)) : NULL;
		if (end && (before || from == 0)) {
			const char *start = before ? before + 1 : text;
			*ret_line = (struct bytes){ (const uint8_t *)start, (size_t)(end - start) };
			*ret_end = from + (end - text) + 1;
			return OK;
		}
		if (from == 0) {
			*ret_line = (struct bytes){ NULL, 0 };
			*ret_end = 0;
			return OK;
		}
		if (n > LINE_LIMIT)
			return too_long(e, file);
	}
}

/* A window over a file that is read from its start. */
struct lines {
	struct arena a;
	const char *file;
	char *hold;
	size_t n, cap;
	off_t at; /* of hold[0] */
	off_t end; /* nothing behind it is read; -1: all */
	uint64_t number;
};

/* Hands out every whole line in the window, and moves the rest to its front. */
static int give_lines(struct lines *l, line_visit *fn, void *arg, struct err *e)
{
	const char *end;
	size_t used = 0;
	int rc = OK;

	while (rc == OK && (end = memchr(l->hold + used, '\n', l->n - used))) {
		struct bytes line = { (uint8_t *)l->hold + used, (size_t)(end - l->hold) - used };
		rc = fn(arg, l->at + (off_t)used, ++l->number, line, true, e);
		used += line.n + 1;
	}
	memmove(l->hold, l->hold + used, l->n - used);
	l->n -= used;
	l->at += (off_t)used;
	return rc;
}

/* Reads up to l->end, or to the end of the file.  What remains without a newline is given last, with
 * is_whole false.  A file that ends before l->end was shortened by a writer who took an append back:
 * LOG_MOVED. */
static int read_lines(struct lines *l, struct sys *s, int fd, line_visit *fn, void *arg, struct err *e)
{
	for (;;) {
		if (l->n == l->cap) {
			if (l->cap > LINE_LIMIT)
				return too_long(e, l->file);
			l->hold = arena_grow(&l->a, l->hold, l->cap, 2 * l->cap);
			l->cap *= 2;
		}
		off_t at = l->at + (off_t)l->n;
		size_t room = l->cap - l->n;
		if (l->end >= 0 && (off_t)room > l->end - at)
			room = (size_t)(l->end - at);
		ssize_t got = room ? s->pread(s, fd, l->hold + l->n, room, at) : 0;
		if (got < 0)
			return err_sys(e, "LOG_READ", "cannot read %s", l->file);
		if (got == 0 && room && l->end >= 0)
			return err_set(e, E_IO, "LOG_MOVED", "%s was shortened while it was read", l->file);
		if (got == 0)
			break;
		l->n += (size_t)got;
		int rc = give_lines(l, fn, arg, e);
		if (rc)
			return rc;
	}
	struct bytes rest = { (uint8_t *)l->hold, l->n };
	return rest.n ? fn(arg, l->at, l->number + 1, rest, false, e) : OK;
}

/* Also when the visitor never returns: one that runs out of memory in the server unwinds. */
static void lines_done(struct lines *l)
{
	arena_done(&l->a);
}

/* From `at` on; `end` -1 reads to wherever the file ends. */
int lines_of(struct sys *s, int fd, const char *file, off_t at, off_t end, line_visit *fn, void *arg,
	struct err *e)
{
	AUTO(lines_done) struct lines l = { .file = file, .cap = READ_STEP, .at = at, .end = end };

	l.hold = arena_text(&l.a, l.cap);
	return read_lines(&l, s, fd, fn, arg, e);
}

/* O_NONBLOCK and O_NOFOLLOW: neither a pipe nor a link under this name can hold or mislead a reader. */
int lines_from(
	struct sys *s, int dirfd, const char *file, off_t from, line_visit *fn, void *arg, struct err *e)
{
	AUTO(close_fd) int fd = s->open(s, dirfd, file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0, 0);

	return fd < 0 ? err_sys(e, "LOG_READ", "cannot read %s", file)
		      : lines_of(s, fd, file, from, -1, fn, arg, e);
}

int lines_each(struct sys *s, int dirfd, const char *file, line_visit *fn, void *arg, struct err *e)
{
	return lines_from(s, dirfd, file, 0, fn, arg, e);
}

/* A file that does not exist has no lines. */
int log_file_lines(
	const struct log_cut *c, const struct log_file *f, line_visit *fn, void *arg, struct err *e)
{
	return f->fd < 0 ? OK : lines_of(c->sys, f->fd, f->name, 0, f->size_bytes, fn, arg, e);
}

unsigned log_file_number(const struct log_cut *c, size_t i)
{
	if (!text_eq(c->chain[i].name, RECEIPTS))
		return (unsigned)strtoul(c->chain[i].name + strlen("receipts-"), NULL, 10);
	return i ? log_file_number(c, i - 1) + 1 : 1;
}

/* ---- backwards ---- */

/* All lines of the text, the last one first, but for one that begins before it: *ret_start is how many bytes at the front belong to that. */
int text_back(struct bytes text, bool is_start, line_back *fn, void *arg, size_t *ret_start, struct err *e)
{
	const uint8_t *first = is_start ? text.p : memchr(text.p, '\n', text.n), *end = text.p + text.n;
	int rc = OK;

	*ret_start = first ? (size_t)(first - text.p) : text.n;
	while (first && rc == OK && end > first) {
		const uint8_t *newline = memrchr(first, '\n', (size_t)(end - first));
		const uint8_t *line = newline ? newline + 1 : first;
		struct bytes found = { line, (size_t)(end - line) };
		bool is_whole = end < text.p + text.n;
		if (found.n)
			rc = fn(arg, line - text.p, found, is_whole, e);
		end = newline ? newline : first;
	}
	return rc;
}

/* What lines_back() gives on: where the block lies, and whether what follows it was given already. */
struct block {
	line_back *fn;
	void *arg;
	off_t at;
	bool is_behind;
};

static int block_line(void *arg, off_t at, struct bytes text, bool is_whole, struct err *e)
{
	const struct block *b = arg;

	return b->fn(b->arg, b->at + at, text, is_whole || b->is_behind, e);
}

/* From the end in blocks, so that the last lines of a long file cost as much as those of a short one.  A line longer than the block makes
 * the block grow until it fits. */
int lines_back(struct sys *s, int fd, const char *file, off_t size, line_back *fn, void *arg, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct block b = { .fn = fn, .arg = arg };
	size_t window = FIRST_LOOK, start;
	int rc = OK;

	for (off_t end = size; rc == OK && end > 0;) {
		size_t n = (off_t)window < end ? window : (size_t)end;
		b.at = end - (off_t)n;
		arena_reset(&a);
		char *text = arena_text(&a, n + 1);
		if (pread_all(s, fd, text, n, b.at))
			return err_sys(e, "LOG_READ", "cannot read %s", file);
		rc = text_back((struct bytes){ (uint8_t *)text, n }, b.at == 0, block_line, &b, &start, e);
		if (rc || b.at == 0)
			break;
		if (start == n && n > LINE_LIMIT)
			return err_set(e, E_CORRUPT, "LINE_LENGTH",
				"%s has a line that is longer than any record", file);
		/* The newline that this block begins with ends the next line. */
		if (start < n) {
			end = b.at + (off_t)start;
			b.is_behind = true;
		}
		window = start == n || window < LARGEST_LOOK ? 4 * window : window;
	}
	return rc;
}

struct each {
	const char *file;
	receipt_visit *fn;
	void *arg;
	struct arena a;
};

static void each_done(struct each *x)
{
	arena_done(&x->a);
}

/* The row lives until the visitor returns; the scratch memory is used again for the next line. */
static int each_line(void *arg, off_t offset, uint64_t line, struct bytes text, bool is_whole, struct err *e)
{
	struct each *each = arg;
	struct json *receipt = NULL;

	(void)offset;
	if (!is_whole)
		return OK; /* a torn end was never acknowledged */
	if (json_parse(&each->a, text, each->file, NULL, &receipt, NULL) || !json_is(receipt, JSON_OBJECT))
		receipt = NULL;
	int rc = each->fn(each->arg, each->file, line, text, receipt, e);
	arena_reset(&each->a);
	return rc;
}

int log_cut_receipts(const struct log_cut *c, receipt_visit *fn, void *arg, struct err *e)
{
	AUTO(each_done) struct each each = { .fn = fn, .arg = arg };
	int rc = OK;

	for (size_t i = c->first; rc == OK && i < c->n; i++) {
		each.file = c->chain[i].name;
		rc = log_file_lines(c, &c->chain[i], each_line, &each, e);
	}
	return rc > 0 ? OK : rc;
}

int receipts_each(struct sys *s, int state_fd, receipt_visit *fn, void *arg, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	AUTO(log_cut_close) struct log_cut cut;
	int rc = log_cut_take(s, &a, state_fd, CUT_MOMENT, &cut, e);

	return rc ? rc : log_cut_receipts(&cut, fn, arg, e);
}

/* A walk from the newest receipt to the oldest. */
struct back {
	const struct receipts_wanted *want;
	const char *file;
	receipt_back *fn;
	void *arg;
	struct arena a;
};

static int back_line(void *arg, off_t at, struct bytes text, bool is_whole, struct err *e)
{
	struct back *b = arg;
	const char *word = b->want->text;
	struct json *receipt = NULL;

	if (!is_whole || (word && !memmem(text.p, text.n, word, strlen(word))))
		return OK;
	if (json_parse(&b->a, text, b->file, NULL, &receipt, NULL) || !json_is(receipt, JSON_OBJECT))
		receipt = NULL;
	int rc = b->fn(b->arg, b->file, at, text, receipt, e);
	arena_reset(&b->a);
	return rc;
}

int log_file_back(const struct log_cut *c, const struct log_file *f, const char *text, receipt_back *fn,
	void *arg, struct err *e)
{
	const struct receipts_wanted want = { .text = text };
	struct back b = { .want = &want, .file = f->name, .fn = fn, .arg = arg };
	int rc = f->fd < 0 ? OK : lines_back(c->sys, f->fd, f->name, f->size_bytes, back_line, &b, e);

	arena_done(&b.a);
	return rc;
}

/* The clock of the line that begins at or behind `at`; *ret_start is where, the end of the file when there is none. */
static int64_t clock_at(struct sys *s, const struct log_file *f, off_t at, off_t *ret_start)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct json *receipt;
	size_t n = 0, room = FIRST_LOOK;
	char *text = arena_text(&a, room);
	off_t from = at > 0 ? at - 1 : 0;

	*ret_start = f->size_bytes;
	while (from + (off_t)n < f->size_bytes && n < LINE_LIMIT) {
		if (n == room) {
			text = arena_grow(&a, text, room, 4 * room);
			room *= 4;
		}
		off_t left = f->size_bytes - from - (off_t)n;
		ssize_t got = s->pread(s, f->fd, text + n, (off_t)(room - n) < left ? room - n : (size_t)left,
			from + (off_t)n);
		if (got <= 0)
			return -1;
		n += (size_t)got;
		/* What begins before it is passed over; a line at the very beginning has nothing before it. */
		const char *start = at > 0 ? memchr(text, '\n', n) : text - 1;
		const char *end = start ? memchr(start + 1, '\n', (size_t)(text + n - start - 1)) : NULL;
		if (!end)
			continue;
		*ret_start = from + (start + 1 - text);
		const struct bytes line = { (const uint8_t *)start + 1, (size_t)(end - start - 1) };
		return json_parse(&a, line, f->name, NULL, &receipt, NULL)
			? 0
			: json_get_int(receipt, "lamport_clock", 0);
	}
	return -1;
}

/* Of the first line that is a receipt; 0 when it is none. */
static int64_t first_clock(struct sys *s, const struct log_file *f)
{
	off_t start;
	int64_t clock = f->fd < 0 ? 0 : clock_at(s, f, 0, &start);

	return clock > 0 ? clock : 0;
}

/* The file that has this clock, if any has: of all that begin at or before it the last one.  Only a few are looked at.  One that does not say where
 * it begins, because it is away or damaged, makes it the first, and *ret_is_sure false. */
static size_t file_of_clock(struct sys *s, const struct log_cut *c, int64_t clock, bool *ret_is_sure)
{
	size_t low = 0, high = c->n;

	*ret_is_sure = true;
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;
		int64_t first = first_clock(s, &c->chain[middle]);
		*ret_is_sure = first > 0;
		if (!first)
			return 0;
		if (first <= clock)
			low = middle;
		else
			high = middle;
	}
	return low;
}

int receipts_back(struct sys *s, int state_fd, const struct receipts_wanted *want, receipt_back *fn,
	void *arg, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	AUTO(log_cut_close) struct log_cut cut;
	struct back b = { .want = want, .fn = fn, .arg = arg };
	off_t looked = 0;
	int rc = log_cut_take(s, &a, state_fd, CUT_MOMENT, &cut, e);
	bool is_sure = false;
	size_t only = rc == OK && want->clock > 0 ? file_of_clock(s, &cut, want->clock, &is_sure) : 0;

	for (size_t i = rc ? 0 : is_sure && only < cut.n ? only + 1 : cut.n; rc == OK && i-- > only;) {
		const struct log_file *f = &cut.chain[i];
		if (f->fd < 0)
			continue;
		if (want->bytes && looked > want->bytes)
			break;
		looked += f->size_bytes;
		b.file = f->name;
		rc = lines_back(s, f->fd, f->name, f->size_bytes, back_line, &b, e);
	}
	arena_done(&b.a);
	return rc > 0 ? OK : rc;
}

/* Where the first receipt with at least this clock begins: clocks grow from line to line.  A line that is none stops the search early, and more is
 * read than need be. */
off_t offset_of_clock(struct sys *s, const struct log_file *f, uint64_t clock)
{
	off_t low = 0, high = f->size_bytes, start;

	while (high - low > FIRST_LOOK) {
		off_t middle = low + (high - low) / 2;
		int64_t found = clock_at(s, f, middle, &start);
		if (found == 0)
			break;
		if (found < 0 || (uint64_t)found >= clock)
			high = middle;
		else
			low = start;
	}
	return low;
}

struct from_clock {
	uint64_t clock;
	receipt_visit *fn;
	void *arg;
};

static int from_line(void *arg, const char *file, uint64_t line, struct bytes text,
	const struct json *receipt, struct err *e)
{
	const struct from_clock *x = arg;

	if (json_get_int(receipt, "lamport_clock", 0) < (int64_t)x->clock)
		return OK;
	return x->fn(x->arg, file, line, text, receipt, e);
}

int receipts_from(struct sys *s, int state_fd, uint64_t clock, receipt_visit *fn, void *arg, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	AUTO(log_cut_close) struct log_cut cut;
	struct from_clock from = { clock, fn, arg };
	AUTO(each_done) struct each each = { .fn = from_line, .arg = &from };
	int rc = log_cut_take(s, &a, state_fd, CUT_MOMENT, &cut, e);
	bool is_sure;

	for (size_t i = rc ? 0 : file_of_clock(s, &cut, (int64_t)clock, &is_sure); rc == OK && i < cut.n;
		i++) {
		const struct log_file *f = &cut.chain[i];
		if (f->fd < 0)
			continue;
		each.file = f->name;
		rc = lines_of(
			s, f->fd, f->name, offset_of_clock(s, f, clock), f->size_bytes, each_line, &each, e);
	}
	return rc > 0 ? OK : rc;
}

struct counting {
	off_t at;
	uint64_t line;
};

static int count_line(void *arg, off_t offset, uint64_t line, struct bytes text, bool is_whole, struct err *e)
{
	struct counting *c = arg;

	(void)text;
	(void)is_whole;
	(void)e;
	c->line = line;
	return offset >= c->at;
}

int receipts_line_at(struct sys *s, int state_fd, const char *file, off_t at, uint64_t *ret, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	AUTO(log_cut_close) struct log_cut cut;
	struct counting c = { .at = at };
	int rc = log_cut_take(s, &a, state_fd, CUT_MOMENT, &cut, e);

	for (size_t i = 0; rc == OK && i < cut.n; i++)
		if (text_eq(cut.chain[i].name, file))
			rc = log_file_lines(&cut, &cut.chain[i], count_line, &c, e);
	*ret = c.line;
	return rc > 0 ? OK : rc;
}

/* Segments of a rotated chain are receipts-000001.jsonl and on; the newest rows are in receipts.jsonl. */
static bool is_segment(const char *name)
{
	return text_glob("receipts-[0-9][0-9][0-9][0-9][0-9][0-9].jsonl", name, true);
}

char *segment_name(struct arena *a, unsigned number)
{
	return arena_printf(a, "receipts-%06u.jsonl", number);
}

static bool is_moved_segment(const char *name)
{
	return text_glob("receipts-[0-9][0-9][0-9][0-9][0-9][0-9].jsonl" ARCHIVED, name, true);
}

/* Segments first, by number, then the newest file: the order of the chain, and that of the bytes of their
 * names.  A file that was put back counts, and not what says that it was moved. */
int segments_all(struct sys *s, struct arena *a, int state_fd, char ***ret, size_t *ret_n, struct err *e)
{
	char **names;
	size_t n, kept = 0;
	int rc = file_list(s, a, state_fd, ".", &names, &n, e);

	if (rc)
		return rc;
	char **all = arena_zalloc(a, n + 1, sizeof(*all));
	for (size_t i = 0; i < n; i++) {
		const char *last = kept ? all[kept - 1] : "";
		if (is_segment(names[i]) || text_eq(names[i], RECEIPTS) ||
			(is_moved_segment(names[i]) && !text_starts(names[i], *last ? last : "-")))
			all[kept++] = names[i];
	}
	*ret = all;
	*ret_n = kept;
	return OK;
}

int receipts_files(struct sys *s, struct arena *a, int state_fd, char ***ret, size_t *ret_n, struct err *e)
{
	size_t n, kept = 0;
	char **all;
	int rc = segments_all(s, a, state_fd, &all, &n, e);

	if (rc)
		return rc;
	for (size_t i = 0; i < n; i++)
		if (!is_moved_segment(all[i]))
			all[kept++] = all[i];
	*ret = all;
	*ret_n = kept;
	return OK;
}

static int last_closed(struct sys *s, struct arena *a, int state_fd, unsigned *ret, struct err *e)
{
	char **files;
	size_t n;
	int rc = segments_all(s, a, state_fd, &files, &n, e);

	if (rc)
		return rc;
	while (n && text_eq(files[n - 1], RECEIPTS))
		n--;
	*ret = 0;
	if (n)
		*ret = (unsigned)strtoul(files[n - 1] + strlen("receipts-"), NULL, 10);
	return OK;
}

/* The highest number that is in use, also by what was moved away. */
int newest_segment(struct recorder *r, struct arena *a, unsigned *ret, struct err *e)
{
	return last_closed(r->sys, a, r->state_fd, ret, e);
}

int receipts_newest(struct sys *s, int state_fd, unsigned *ret, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	unsigned closed;
	int rc = last_closed(s, &a, state_fd, &closed, e);

	if (rc == OK)
		*ret = closed + 1;
	return rc;
}

/* Cheap: it looks at names, sizes and times, and reads no content. */
int segments_mark(struct recorder *r, struct arena *a, struct hash *ret, struct err *e)
{
	struct sha256 h;
	char **files;
	size_t n;
	int rc = receipts_files(r->sys, a, r->state_fd, &files, &n, e);

	if (rc)
		return rc;
	sha256_begin(&h);
	for (size_t i = 0; i < n && !text_eq(files[i], RECEIPTS); i++) {
		struct stat st;
		if (r->sys->stat(r->sys, r->state_fd, files[i], &st, AT_SYMLINK_NOFOLLOW))
			return err_sys(e, "LOG_READ", "cannot look at %s", files[i]);
		struct file_mark mark = mark_of(&st);
		sha256_add(&h, files[i], strlen(files[i]) + 1);
		sha256_add(&h, &mark, sizeof(mark));
	}
	sha256_end(&h, ret->b);
	return OK;
}
