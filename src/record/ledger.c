/* ledger.c — rows of JSON, one per line, appended and never changed.
 *
 * The ledgers are what a person reads in the morning and what the index is built from.  A row is written
 * with its keys sorted and ", " and ": " between them, as the files of older workspaces are.  Credentials
 * are taken out before a row is written; the digest of what was written goes into the receipt, so that a
 * row changed later is found.
 *
 * A file that has become large is put aside before the next row is appended (seal.c).  Where that is not
 * possible, the row goes to the file as it is. */
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "privacy/privacy.h"
#include "record/parts.h"

#include <fcntl.h>

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

void ledger_row_digest(struct arena *a, const struct json *row, char ret_digest[SHA256_HEX])
{
	struct buf line;

	buf_init(&line, a);
	json_write(&line, row, JSON_SPACED | JSON_SORT_BYTES);
	row_digest(&line, ret_digest);
}

/* Durable on return.  For rows that no receipt follows. */
int ledger_append(struct sys *s, struct arena *a, int state_fd, const char *file, const struct json *row,
	char ret_digest[SHA256_HEX], struct err *e)
{
	struct buf line;

	row_text(&line, a, row);
	int rc = ledger_rotate(s, state_fd, file, LEDGER_ROTATE_BYTES, true, e);
	if (rc == OK)
		rc = file_append_line(s, state_fd, file, 0600, buf_bytes(&line), NULL, e);
	if (rc == OK)
		row_digest(&line, ret_digest);
	return rc;
}

static bool is_same_file(struct sys *s, int x, int y)
{
	struct stat p, q;

	return s->stat(s, x, "", &p, AT_EMPTY_PATH) == 0 && s->stat(s, y, "", &q, AT_EMPTY_PATH) == 0 &&
		p.st_ino == q.st_ino && p.st_dev == q.st_dev;
}

/* One descriptor per file, the newest: a sync of it covers all rows before.  A ledger that was put aside
 * meanwhile is another file.  Only a handful of ledgers exist, so a full table is a mistake of the program. */
static void keep_late(struct recorder *r, const char *file, int fd)
{
	size_t i = 0;

	while (i < r->late_count &&
		!(text_eq(r->late[i].file, file) && is_same_file(r->sys, r->late[i].fd, fd)))
		i++;
	if (i == ARRAY_SIZE(r->late))
		BUG("rows in too many ledgers");
	if (i == r->late_count)
		r->late_count++;
	else
		close_fd(&r->late[i].fd);
	r->late[i] = (struct late_row){ file, fd };
}

void recorder_sync_too(struct recorder *r, const char *name, int fd)
{
	keep_late(r, name, fd);
}

int recorder_row(struct recorder *r, struct arena *a, const char *file, const struct json *row,
	char ret_digest[SHA256_HEX], struct err *e)
{
	struct buf line;
	int fd;

	row_text(&line, a, row);
	int rc = ledger_rotate(r->sys, r->state_fd, file, r->ledger_bytes, true, e);
	if (rc == OK)
		rc = file_append_later(r->sys, r->state_fd, file, 0600, buf_bytes(&line), &fd, e);
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

/* Rows that may be lost in a power cut: written under the file's lock, but not synced. */
int ledger_notes(struct sys *s, struct arena *a, int state_fd, const char *file,
	const struct json *const *rows, size_t n, struct err *e)
{
	AUTO(close_fd) int fd = -1;
	struct buf lines, line;

	buf_init(&lines, a);
	for (size_t i = 0; i < n; i++) {
		row_text(&line, a, rows[i]);
		if (i)
			buf_addc(&lines, '\n');
		buf_add(&lines, line.p, line.n);
	}
	int rc = ledger_rotate(s, state_fd, file, LEDGER_ROTATE_BYTES, false, e);
	return rc ? rc : file_append_lines(s, state_fd, file, 0600, buf_bytes(&lines), &fd, e);
}

int ledger_note(
	struct sys *s, struct arena *a, int state_fd, const char *file, const struct json *row, struct err *e)
{
	return ledger_notes(s, a, state_fd, file, &row, 1, e);
}
