/* ledger.c — rows of JSON, one per line, appended and never changed.
 *
 * The ledgers are what a person reads in the morning and what the index is built from.  A row is written
 * with its keys sorted and ", " and ": " between them, as the files of older workspaces are.  Credentials
 * are taken out before a row is written; the digest of what was written goes into the receipt, so that a
 * row changed later is found. */
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "privacy/privacy.h"
#include "record/parts.h"

#include <ctype.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>

/* How much of a file is looked at first, and at most at once. */
enum { FIRST_LOOK = 8 << 10, LARGEST_LOOK = 1 << 20 };

/* What is written: a copy of the row without credentials, in the one form the digest is taken of. */
static void row_text(struct buf *line, struct arena *a, const struct json *row)
{
	struct json *clean = json_copy(a, row);

	privacy_redact_json(a, clean);
	buf_init(line, a);
	json_write(line, clean, JSON_SPACED | JSON_SORT_BYTES);
}

/* The digest of the line without its newline. */
static void row_digest(const struct buf *line, char ret_digest[SHA256_HEX])
{
	uint8_t hash[SHA256_SIZE];

	if (!ret_digest)
		return;
	sha256(line->p, line->n, hash);
	hex_encode(hash, SHA256_SIZE, ret_digest);
}

/* Durable on return.  For rows that no receipt follows. */
int ledger_append(struct sys *s, struct arena *a, int state_fd, const char *file, const struct json *row,
	char ret_digest[SHA256_HEX], struct err *e)
{
	struct buf line;

	row_text(&line, a, row);
	int rc = file_append_line(s, state_fd, file, 0600, buf_bytes(&line), NULL, e);
	if (rc == OK)
		row_digest(&line, ret_digest);
	return rc;
}

/* One descriptor per ledger, the newest: a sync of it covers all rows before.  Only a handful of ledgers
 * exist, so a full table is a mistake of the program. */
static void keep_late(struct recorder *r, const char *file, int fd)
{
	size_t i = 0;

	while (i < r->late_count && !text_eq(r->late[i].file, file))
		i++;
	if (i == ARRAY_SIZE(r->late))
		BUG("rows in too many ledgers");
	if (i == r->late_count)
		r->late_count++;
	else
		close_fd(&r->late[i].fd);
	r->late[i] = (struct late_row){ file, fd };
}

int recorder_row(struct recorder *r, struct arena *a, const char *file, const struct json *row,
	char ret_digest[SHA256_HEX], struct err *e)
{
	struct buf line;
	int fd;

	row_text(&line, a, row);
	int rc = file_append_later(r->sys, r->state_fd, file, 0600, buf_bytes(&line), &fd, e);
	if (rc)
		return rc;
	keep_late(r, file, fd);
	row_digest(&line, ret_digest);
	return OK;
}

/* With several files the kernel is asked to start writing all of them first; the syncs then wait for work
 * that is already under way.  After this no row is waiting, also when one failed. */
int rows_sync(struct recorder *r, struct err *e)
{
	int rc = OK;

	for (size_t i = 0; i < r->late_count && r->late_count > 1; i++)
		r->sys->write_back(r->sys, r->late[i].fd);
	for (size_t i = 0; i < r->late_count; i++) { /* all of them, also behind one that fails */
		if (r->sys->sync(r->sys, r->late[i].fd) && rc == OK)
			rc = err_sys(e, "LEDGER_APPEND", "cannot make %s durable", r->late[i].file);
		close_fd(&r->late[i].fd);
	}
	r->late_count = 0;
	return rc;
}

/* A row that may be lost in a power cut: written under the file's lock, but not synced. */
int ledger_note(
	struct sys *s, struct arena *a, int state_fd, const char *file, const struct json *row, struct err *e)
{
	struct buf line;
	struct stat st;
	char last = '\n';
	AUTO(close_fd) int fd = s->open(s, state_fd, file, O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW, 0600, 0);

	if (fd < 0 || s->lock(s, fd, LOCK_EX) || s->stat(s, fd, "", &st, AT_EMPTY_PATH))
		return err_sys(e, "LEDGER_OPEN", "cannot open %s", file);
	if (st.st_size && s->pread(s, fd, &last, 1, st.st_size - 1) != 1)
		return err_sys(e, "LEDGER_READ", "cannot read %s", file);
	row_text(&line, a, row);
	buf_addc(&line, '\n');
	/* A torn last line stays alone on its line; readers pass over it. */
	struct bytes text = buf_bytes(&line);
	if ((last != '\n' && s->write(s, fd, "\n", 1) != 1) || write_all(s, fd, text.p, text.n))
		return err_sys(e, "LEDGER_APPEND", "cannot append to %s", file);
	return OK;
}

/* One line of a ledger, or NULL when it is no object.  Rows of older versions can hold bytes that are no
 * UTF-8; they are read as json_write() writes them now. */
static struct json *read_row(struct arena *a, struct bytes line, const char *file)
{
	struct json *row;
	size_t n;
	const char *text = text_utf8(a, (const char *)line.p, line.n, TEXT_BYTE_JSON, &n);

	if (json_parse(a, (struct bytes){ (const uint8_t *)text, n }, file, NULL, &row, NULL) ||
		!json_is(row, JSON_OBJECT))
		return NULL;
	return row;
}

/* Visits every row from byte `from` on, which must be the start of a line.  The file is mapped, so that a
 * long ledger need not fit into memory of ours.  A last line without an end is visited as well. */
int rows_each(struct sys *s, int dirfd, const char *file, off_t from, row_visit *fn, void *arg, struct err *e)
{
	struct stat st;
	AUTO(close_fd) int fd = s->open(s, dirfd, file, O_RDONLY | O_NOFOLLOW, 0, 0);

	if (fd < 0 || s->stat(s, fd, "", &st, AT_EMPTY_PATH)) {
		int rc = err_sys(e, "LEDGER_READ", "cannot read %s", file);
		return rc == E_MISSING ? OK : rc;
	}
	if (st.st_size <= from)
		return OK;
	void *map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED)
		return err_sys(e, "LEDGER_READ", "cannot read %s", file);
	AUTO(arena_done) struct arena a = { 0 };
	const uint8_t *start = map, *at = start + from, *end = start + st.st_size;
	int rc = OK;
	for (uint64_t line = 1; rc == OK && at < end; line++) {
		const uint8_t *stop = memchr(at, '\n', (size_t)(end - at));
		struct bytes text = { at, (size_t)((stop ? stop : end) - at) };
		if (text.n)
			rc = fn(arg, at - start, line, read_row(&a, text, file), e);
		arena_reset(&a);
		at = stop ? stop + 1 : end;
	}
	munmap(map, (size_t)st.st_size);
	return rc > 0 ? OK : rc;
}

/* Has this text only one spelling in JSON?  Only then can lines be searched for it without being parsed. */
static bool is_plain(const char *word)
{
	size_t n = strlen(word);

	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)word[i]) && !strchr("_-.:", word[i]))
			return false;
	return n > 0;
}

/* A walk from the end of a ledger to its beginning. */
struct walk_back {
	struct sys *s;
	struct arena *a;
	const char *file, *word; /* word NULL: every row */
	size_t lines_left;
	row_back *fn;
	void *arg;
	size_t lines, unreadable; /* met so far */
};

static int visit_line(struct walk_back *w, struct bytes line)
{
	if (!line.n || (w->word && !memmem(line.p, line.n, w->word, strlen(w->word))))
		return 0;
	struct json *row = read_row(w->a, line, w->file);
	w->lines++;
	w->unreadable += !row;
	return row && w->fn ? w->fn(w->arg, row) : 0;
}

/* All whole lines of the text, the last one first.  *ret_start is how many bytes at the front belong to a
 * line that begins before this text. */
static int visit_text(struct walk_back *w, struct bytes text, bool is_start, size_t *ret_start)
{
	const uint8_t *first = is_start ? text.p : memchr(text.p, '\n', text.n), *end = text.p + text.n;
	int rc = 0;

	*ret_start = first ? (size_t)(first - text.p) : text.n;
	while (first && rc == 0 && end > first && w->lines_left) {
		const uint8_t *newline = memrchr(first, '\n', (size_t)(end - first));
		const uint8_t *line = newline ? newline + 1 : first;
		w->lines_left -= line < end;
		rc = visit_line(w, (struct bytes){ line, (size_t)(end - line) });
		end = newline ? newline : first;
	}
	return rc;
}

/* From the end in blocks, so that the last rows of a file with a million rows cost as much as those of a
 * short one.  A line longer than the block makes the block grow until the line fits. */
static int walk_back(struct walk_back *w, int dirfd, struct err *e)
{
	struct sys *s = w->s;
	struct stat st;
	AUTO(close_fd) int fd = s->open(s, dirfd, w->file, O_RDONLY | O_NOFOLLOW, 0, 0);

	if (fd < 0 || s->stat(s, fd, "", &st, AT_EMPTY_PATH)) {
		int rc = err_sys(e, "LEDGER_READ", "cannot read %s", w->file);
		return rc == E_MISSING ? OK : rc;
	}
	size_t window = FIRST_LOOK, start;
	for (off_t end = st.st_size; end > 0 && w->lines_left;) {
		size_t size = (off_t)window < end ? window : (size_t)end;
		off_t from = end - (off_t)size;
		char *text = arena_text(w->a, size + 1);
		if (pread_all(s, fd, text, size, from))
			return err_sys(e, "LEDGER_READ", "cannot read %s", w->file);
		if (visit_text(w, (struct bytes){ (uint8_t *)text, size }, from == 0, &start))
			return OK;
		/* A line longer than the window: look at more of it. */
		end = start == size ? end : from + (off_t)start;
		if (from == 0)
			break;
		window = start == size || window < LARGEST_LOOK ? 4 * window : window;
	}
	return OK;
}

int rows_back(struct sys *s, struct arena *a, int dirfd, const char *file, size_t n, const char *word,
	row_back *fn, void *arg, struct err *e)
{
	struct walk_back w = { .s = s,
		.a = a,
		.file = file,
		.word = word && is_plain(word) ? word : NULL,
		.lines_left = n ? n : SIZE_MAX,
		.fn = fn,
		.arg = arg };

	return walk_back(&w, dirfd, e);
}

int rows_check(struct sys *s, struct arena *a, int dirfd, const char *file, size_t n, size_t *ret_lines,
	size_t *ret_unreadable, struct err *e)
{
	struct walk_back w = { .s = s, .a = a, .file = file, .lines_left = n };
	int rc = walk_back(&w, dirfd, e);

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
