/* rows.c — reading ledgers: every row in order, or the newest first.
 *
 * A ledger lies in several files (segments.c); whoever reads here sees one.  Reading forwards takes everything at
 * one moment.  Reading backwards begins with the newest file and looks for older ones only when that was not
 * enough, because whoever wants the last rows should not pay for how many there are.  Nothing is mapped and
 * no more than a window is held, so that neither a long ledger nor one that is cut meanwhile can end this
 * process. */
#include "base/file.h"
#include "base/text.h"
#include "record/segments.h"

#include <ctype.h>
#include <fcntl.h>
#include <string.h>

enum { SAME_END = 4096 };

/* Rows of older versions can hold bytes that are no UTF-8; they are read as json_write() writes them now. */
struct json *row_parse(struct arena *a, struct bytes line, const char *file)
{
	struct json *row;
	size_t n;
	const char *text = text_utf8(a, (const char *)line.p, line.n, TEXT_BYTE_JSON, &n);

	if (json_parse(a, (struct bytes){ (const uint8_t *)text, n }, file, NULL, &row, NULL) ||
		!json_is(row, JSON_OBJECT))
		return NULL;
	return row;
}

bool row_is_blank(struct bytes line)
{
	for (size_t i = 0; i < line.n; i++)
		if (line.p[i] != ' ')
			return false;
	return true;
}

/* ---- forwards ---- */

struct each {
	const char *file;
	row_visit *fn;
	void *arg;
	struct arena a;
};

static int each_line(void *arg, off_t place, uint64_t line, struct bytes text, bool is_whole, struct err *e)
{
	struct each *x = arg;

	(void)is_whole;
	if (row_is_blank(text))
		return OK;
	int rc = x->fn(x->arg, place, line, row_parse(&x->a, text, x->file), e);
	arena_reset(&x->a);
	return rc;
}

int rows_each(struct sys *s, int dirfd, const char *file, off_t from, row_visit *fn, void *arg, struct err *e)
{
	struct each x = { .file = file, .fn = fn, .arg = arg };
	int rc = ledger_lines(s, dirfd, file, from, each_line, &x, e);

	arena_done(&x.a);
	return rc;
}

struct one_row {
	struct arena *a;
	const char *file;
	struct json *row;
};

static int take_one(void *arg, off_t place, uint64_t line, struct bytes text, bool is_whole, struct err *e)
{
	struct one_row *x = arg;

	(void)place;
	(void)line;
	(void)is_whole;
	(void)e;
	struct bytes kept = { (const uint8_t *)arena_strndup(x->a, (const char *)text.p, text.n), text.n };
	x->row = row_parse(x->a, kept, x->file);
	return 1;
}

int row_at(struct sys *s, struct arena *a, int dirfd, const char *file, off_t place, struct json **ret,
	struct err *e)
{
	struct one_row x = { .a = a, .file = file };
	int rc = ledger_lines(s, dirfd, file, place, take_one, &x, e);

	*ret = x.row;
	return rc;
}

/* ---- backwards ---- */

/* In letters, digits and signs that no writer escapes. */
bool text_is_plain(const char *word)
{
	size_t n = strlen(word);

	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)word[i]) && !strchr("_-.:", word[i]))
			return false;
	return n > 0;
}

/* A walk from the end of a ledger to its beginning. */
struct walk_back {
	struct ledger_cut c;
	struct arena *a; /* for rows; NULL: each is forgotten when it was seen */
	struct arena row;
	const char *word; /* NULL: every row */
	size_t lines_left;
	row_wanted *is_wanted; /* NULL: every line */
	row_back *fn;
	void *arg;
	size_t lines, unreadable; /* met so far */
	bool is_over; /* the visitor has seen enough */
	bool leaves_sealed, is_more; /* packed pieces are not looked at; there are some */
};

/* The line is copied, because the window is used again.  Also a last line without an end is a row, if it can be read as one. */
static int visit_line(void *arg, off_t at, struct bytes line, bool is_whole, struct err *e)
{
	struct walk_back *w = arg;
	struct arena *a = w->a ? w->a : &w->row;

	(void)at;
	(void)is_whole;
	(void)e;
	if (!w->lines_left)
		return 1;
	if (row_is_blank(line))
		return 0;
	w->lines_left--;
	int wanted = w->is_wanted ? w->is_wanted(w->arg, line) : 1;
	if (wanted < 0) {
		w->is_over = true;
		return 1;
	}
	if (wanted && (!w->word || memmem(line.p, line.n, w->word, strlen(w->word)))) {
		struct bytes kept = { (const uint8_t *)arena_strndup(a, (const char *)line.p, line.n),
			line.n };
		struct json *row = row_parse(a, kept, w->c.file);
		w->lines++;
		w->unreadable += !row;
		w->is_over = row && w->fn && w->fn(w->arg, row);
		arena_reset(&w->row);
	}
	w->is_over |= !w->lines_left;
	return w->is_over;
}

static int back_through_file(struct walk_back *w, int fd, off_t size, struct err *e)
{
	int rc = lines_back(w->c.sys, fd, w->c.file, size, visit_line, w, e);

	return rc > 0 ? OK : rc;
}

static int back_through_segment(struct walk_back *w, struct arena *a, unsigned number, struct err *e)
{
	AUTO(piece_close) struct piece g;
	struct bytes text;
	size_t start;
	int rc = ledger_piece_open(&w->c, a, number, &g, e);

	for (size_t i = rc ? 0 : g.frame_count; rc == OK && i-- > 0 && !w->is_over;) {
		rc = piece_frame(&g, i, &text, e);
		if (rc == OK)
			rc = text_back(text, true, visit_line, w, &start, e);
	}
	return rc > 0 ? OK : rc;
}

static int open_waiting(struct walk_back *w, struct arena *a, unsigned number, struct stat *st)
{
	struct sys *s = w->c.sys;
	int fd = s->open(s, w->c.state_fd, ledger_waiting_name(a, w->c.file, number),
		O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0, 0);

	if (fd >= 0 && s->stat(s, fd, "", st, AT_EMPTY_PATH)) {
		close_fd(&fd);
		return -1;
	}
	return fd;
}

static int back_through_part(struct walk_back *w, struct arena *a, const struct ledger_part *p, struct err *e)
{
	struct stat st;
	AUTO(close_fd) int fd = p->is_sealed ? -1 : open_waiting(w, a, p->number, &st);

	if (fd < 0 && w->leaves_sealed) {
		w->is_more = true;
		return OK;
	}
	return fd >= 0 ? back_through_file(w, fd, st.st_size, e) : back_through_segment(w, a, p->number, e);
}

/* Is this older piece the file that was open as the newest one?  It can have been put aside while it was
 * read, and even sealed: then its text has the same size and the same end. */
static bool is_what_was_read(struct walk_back *w, struct arena *a, const struct ledger_part *p)
{
	struct sys *s = w->c.sys;
	struct stat held, st;
	struct piece g;
	struct bytes text;
	char end[SAME_END];

	if (s->stat(s, w->c.now_fd, "", &held, AT_EMPTY_PATH))
		return false;
	AUTO(close_fd) int fd = p->is_sealed ? -1 : open_waiting(w, a, p->number, &st);
	if (fd >= 0)
		return st.st_ino == held.st_ino && st.st_dev == held.st_dev;
	if (ledger_piece_open(&w->c, a, p->number, &g, NULL))
		return false;
	bool is_same = g.size == held.st_size && g.frame_count &&
		piece_frame(&g, g.frame_count - 1, &text, NULL) == OK;
	size_t n = is_same && text.n < sizeof(end) ? text.n : sizeof(end);
	is_same = is_same && pread_all(s, w->c.now_fd, end, n, held.st_size - (off_t)n) == 0 &&
		memcmp(end, text.p + text.n - n, n) == 0;
	piece_close(&g);
	return is_same;
}

/* How many of the listed pieces are older than what was read as the newest file. */
static size_t count_older(struct walk_back *w, struct arena *a)
{
	size_t n = w->c.n;

	if (w->c.now_fd < 0 || ledger_is_now(&w->c))
		return n;
	while (n > 0)
		if (is_what_was_read(w, a, &w->c.parts[--n]))
			return n;
	return w->c.n;
}

static int walk_back(struct walk_back *w, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct stat st;
	int rc = ledger_open_now(&w->c, &w->c.now_fd, &st, e);

	if (rc == OK && w->c.now_fd >= 0)
		rc = back_through_file(w, w->c.now_fd, st.st_size, e);
	if (rc == OK && !w->is_over)
		rc = ledger_list(&w->c, &a, e);
	if (rc == OK && !w->is_over)
		for (size_t i = count_older(w, &a); rc == OK && i-- > 0 && !w->is_over;)
			rc = back_through_part(w, &a, &w->c.parts[i], e);
	ledger_cut_close(&w->c);
	arena_done(&w->row);
	return rc;
}

int rows_back(struct sys *s, struct arena *a, int dirfd, const char *file, size_t n, const char *word,
	row_back *fn, void *arg, struct err *e)
{
	struct walk_back w = { .c = { .sys = s, .state_fd = dirfd, .file = file, .now_fd = -1 },
		.a = a,
		.word = word && text_is_plain(word) ? word : NULL,
		.lines_left = n ? n : SIZE_MAX,
		.fn = fn,
		.arg = arg };

	return walk_back(&w, e);
}

int rows_back_recent(struct sys *s, struct arena *a, int dirfd, const char *file, const char *word,
	row_back *fn, void *arg, bool *ret_is_more, struct err *e)
{
	struct walk_back w = { .c = { .sys = s, .state_fd = dirfd, .file = file, .now_fd = -1 },
		.a = a,
		.word = word && text_is_plain(word) ? word : NULL,
		.lines_left = SIZE_MAX,
		.fn = fn,
		.arg = arg,
		.leaves_sealed = true };
	int rc = walk_back(&w, e);

	*ret_is_more = w.is_more;
	return rc;
}

int rows_back_wanted(struct sys *s, struct arena *a, int dirfd, const char *file, row_wanted *is_wanted,
	row_back *fn, void *arg, struct err *e)
{
	struct walk_back w = { .c = { .sys = s, .state_fd = dirfd, .file = file, .now_fd = -1 },
		.a = a,
		.lines_left = SIZE_MAX,
		.is_wanted = is_wanted,
		.fn = fn,
		.arg = arg,
		.leaves_sealed = true };

	return walk_back(&w, e);
}

int rows_check(struct sys *s, int dirfd, const char *file, size_t n, size_t *ret_lines,
	size_t *ret_unreadable, struct err *e)
{
	struct walk_back w = { .c = { .sys = s, .state_fd = dirfd, .file = file, .now_fd = -1 },
		.lines_left = n };
	int rc = walk_back(&w, e);

	*ret_lines = w.lines;
	*ret_unreadable = w.unreadable;
	return rc;
}

struct tail {
	struct arena *a;
	struct json *rows;
	size_t n;
};

static int add_to_tail(void *arg, struct json *row)
{
	struct tail *t = arg;

	json_push(t->a, t->rows, row);
	return t->rows->n == t->n;
}

/* The last n rows in the order of the file. */
int rows_tail(struct sys *s, struct arena *a, int dirfd, const char *file, size_t n, struct json **ret,
	struct err *e)
{
	struct tail t = { a, json_new(a, JSON_ARRAY), n };
	int rc = rows_back(s, a, dirfd, file, 0, NULL, add_to_tail, &t, e);

	for (uint32_t i = 0; i < t.rows->n / 2; i++) {
		struct json *other = t.rows->items[i];
		t.rows->items[i] = t.rows->items[t.rows->n - 1 - i];
		t.rows->items[t.rows->n - 1 - i] = other;
	}
	*ret = t.rows;
	return rc;
}
