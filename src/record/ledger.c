/* ledger.c — rows of JSON, one per line, appended and never changed.
 *
 * The ledgers are what a person reads in the morning and what the index is built from.  A row is written with its keys sorted
 * and ", " and ": " between them, as the files of older workspaces are.  Credentials are taken out before a row is written;
 * the digest of what was written goes into the receipt, so that a row changed later is found. */
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "privacy/privacy.h"
#include "record/parts.h"

#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>

/* Rows are mostly shorter than this, and a first look need not be longer than that. */
enum { USUAL_ROW = 1024, FIRST_LOOK = 64 << 10 };

static void row_text(struct buf *line, struct arena *a, const struct json *row)
{
	struct json *clean = json_copy(a, row);

	privacy_redact_json(a, clean);
	buf_init(line, a);
	json_write(line, clean, JSON_SPACED | JSON_SORT_BYTES);
}

static void row_digest(const struct buf *line, char ret_digest[SHA256_HEX])
{
	uint8_t hash[SHA256_SIZE];

	if (!ret_digest)
		return;
	sha256(line->p, line->n, hash);
	hex_encode(hash, SHA256_SIZE, ret_digest);
}

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

/* One descriptor per ledger, the newest: a sync of it covers every row before. */
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
		struct json *row = NULL;
		if (text.n && (json_parse(&a, text, file, NULL, &row, NULL) || !json_is(row, JSON_OBJECT)))
			row = NULL;
		if (text.n)
			rc = fn(arg, at - start, line, row, e);
		arena_reset(&a);
		at = stop ? stop + 1 : end;
	}
	munmap(map, (size_t)st.st_size);
	return rc > 0 ? OK : rc;
}

/* The last n rows (0: all) of a text, oldest first.  Only they are read as JSON. */
static void last_rows(struct arena *a, const char *file, struct bytes text, size_t n, struct json *ret)
{
	const char *start = (const char *)text.p, *end = start + text.n;

	while (end > start && (n == 0 || ret->n < n)) {
		const char *newline = memrchr(start, '\n', (size_t)(end - start));
		const char *line = newline ? newline + 1 : start;
		struct json *row;
		if (line < end &&
			json_parse(a, (struct bytes){ (const uint8_t *)line, (size_t)(end - line) }, file,
				NULL, &row, NULL) == OK &&
			json_is(row, JSON_OBJECT))
			json_push(a, ret, row);
		end = newline ? newline : start;
	}
	for (uint32_t i = 0; i < ret->n / 2; i++) {
		struct json *other = ret->items[i];
		ret->items[i] = ret->items[ret->n - 1 - i];
		ret->items[ret->n - 1 - i] = other;
	}
}

/* Backwards in blocks, so that the end of a file of a million rows costs what the end of a short one does. */
int rows_tail(struct sys *s, struct arena *a, int dirfd, const char *file, size_t n, struct json **ret,
	struct err *e)
{
	struct stat st;
	struct json *rows = json_new(a, JSON_ARRAY);
	AUTO(close_fd) int fd = s->open(s, dirfd, file, O_RDONLY | O_NOFOLLOW, 0, 0);

	*ret = rows;
	if (fd < 0 || s->stat(s, fd, "", &st, AT_EMPTY_PATH)) {
		int rc = err_sys(e, "LEDGER_READ", "cannot read %s", file);
		return rc == E_MISSING ? OK : rc;
	}
	for (size_t window = n && n < FIRST_LOOK / USUAL_ROW ? n * USUAL_ROW : FIRST_LOOK;; window *= 4) {
		off_t from = (off_t)window < st.st_size ? st.st_size - (off_t)window : 0;
		size_t size = (size_t)(st.st_size - from);
		char *text = arena_text(a, size + 1);
		struct bytes rest = { (uint8_t *)text, size };
		if (pread_all(s, fd, text, size, from))
			return err_sys(e, "LEDGER_READ", "cannot read %s", file);
		rows->n = 0;
		if (from)
			(void)text_cut(&rest, '\n');
		if (rest.p)
			last_rows(a, file, rest, n, rows);
		if ((n && rows->n >= n) || from == 0)
			return OK;
	}
}
