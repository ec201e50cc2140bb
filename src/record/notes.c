/* notes.c — notes that nobody signs are bound by the receipt that comes next.
 *
 * A call that only reads leaves a row in TOOL_CALLS and no receipt: signing every look at a file would cost
 * more than it proves.  So that such a row cannot be changed unnoticed all the same, each receipt carries the
 * digest of everything that was appended to that ledger since the receipt before it, as `notes` in its
 * metadata: {range, sha256}, the range by places in the ledger, as text (numbers in receipts pass through a
 * double on their way to a hash, which takes longer than everything else here).  Each range begins where the one before it ended, so
 * a note that is changed, removed, inserted or moved is found (audit/notes_check.c).
 *
 * The cut needs no lock of the ledger.  Rows are only ever appended, and a row ends with its newline: all
 * bytes up to the last newline stay what they are.  Who binds which of them is decided under the log's lock.
 *
 * Making notes durable costs a sync, which the receipt of a decision that somebody waits for (is_hurried) leaves to a later receipt while
 * all that waits, 64 KiB at most, are rows of calls whose decisions are signed themselves.
 *
 * What is bound is on disk before the receipt is written: after a power cut no receipt speaks of a note that
 * is gone.  Notes that nobody has bound yet may be lost, and nobody misses them.
 *
 * Up to where notes are bound stands in the edge.  Where the edge is gone, the newest receipts are asked; when
 * these say nothing, or the ledger is shorter than what was bound (which the check will tell), binding begins
 * again with the newest file of the ledger.  Binding something twice does no harm. */
#include "base/file.h"
#include "base/text.h"
#include "record/segments.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* CHAIN_FILES: so many files of the chain are searched for what was bound. */
enum { STEP = 64 << 10, CHAIN_FILES = 2 };
static const off_t OFFSET_MASK = ((off_t)1 << LEDGER_PLACE_BITS) - 1;

/* "FROM-TO" in decimal digits, as it is written here and in no other spelling. */
static bool read_range(struct notes_said *ret, const char *text)
{
	char again[48], *end;
	long long from = strtoll(text, &end, 10), to = *end == '-' ? strtoll(end + 1, NULL, 10) : -1;

	(void)snprintf(again, sizeof(again), "%lld-%lld", from, to);
	ret->from = from;
	ret->to = to;
	return from >= 0 && to >= from && text_eq(text, again);
}

bool receipt_notes(const struct json *receipt, struct notes_said *ret)
{
	const struct json *said = json_get(json_get(receipt, "metadata"), NOTES_MEMBER);

	ret->sha256 = json_get_text(said, "sha256", "");
	return said && read_range(ret, json_get_text(said, "range", "")) &&
		strlen(ret->sha256) == 2 * SHA256_SIZE;
}

/* ---- the digest of a part of a ledger ---- */

struct range {
	off_t from, to, at; /* `at`: everything before was seen */
	struct sha256 h;
};

/* The part of this line, its newline included, that lies in the range. */
static int add_line(void *arg, off_t place, uint64_t line, struct bytes text, bool is_whole, struct err *e)
{
	struct range *x = arg;
	off_t end = place + (off_t)text.n + is_whole;
	off_t from = place < x->from ? x->from : place, to = end < x->to ? end : x->to;

	(void)line;
	(void)e;
	if (from < to) {
		bool has_newline = is_whole && to == end;
		sha256_add(&x->h, text.p + (from - place), (size_t)(to - from) - has_newline);
		if (has_newline)
			sha256_add(&x->h, "\n", 1);
	}
	x->at = to > x->at ? to : x->at;
	return x->at >= x->to;
}

int ledger_range_digest(struct sys *s, int state_fd, const char *file, off_t from, off_t to,
	char ret_hex[SHA256_HEX], struct err *e)
{
	struct range x = { .from = from, .to = to };
	uint8_t hash[SHA256_SIZE];
	int rc = OK;

	sha256_begin(&x.h);
	if (from < to)
		rc = ledger_lines(s, state_fd, file, from, add_line, &x, e);
	if (rc == OK && from < to && x.at < to && (to & OFFSET_MASK))
		rc = err_set(e, E_CORRUPT, "LEDGER_RANGE", "%s is shorter than a receipt says", file);
	if (rc)
		return rc;
	sha256_end(&x.h, hash);
	hex_encode(hash, SHA256_SIZE, ret_hex);
	return OK;
}

/* The same of the newest file, which is open: no other has to be looked for. */
static int digest_of_file(
	struct sys *s, struct arena *a, int fd, off_t from, off_t to, char ret_hex[SHA256_HEX], struct err *e)
{
	uint8_t hash[SHA256_SIZE];
	struct sha256 h;
	size_t most = to - from < STEP ? (size_t)(to - from) : STEP;
	char *step = arena_text(a, most + 1);

	sha256_begin(&h);
	while (from < to) {
		size_t n = (off_t)most < to - from ? most : (size_t)(to - from);
		if (pread_all(s, fd, step, n, from))
			return err_sys(e, "LEDGER_READ", "cannot read %s", TOOL_CALLS);
		sha256_add(&h, step, n);
		from += (off_t)n;
	}
	sha256_end(&h, hash);
	hex_encode(hash, SHA256_SIZE, ret_hex);
	return OK;
}

/* ---- the newest file ---- */

/* The newest file of the ledger: `base` is the place of its first byte. */
struct newest {
	int fd; /* -1: there is none */
	struct stat st;
	off_t base;
};

static void newest_close(struct newest *x)
{
	close_fd(&x->fd);
}

static bool is_file(const struct notes_end *end, const struct stat *st)
{
	return end->is_known && end->ino == (uint64_t)st->st_ino && end->dev == (uint64_t)st->st_dev &&
		st->st_size >= (off_t)(end->place & (uint64_t)OFFSET_MASK);
}

/* While it is the file it was, its number is known, and no directory has to be read for it. */
static int newest_open(
	struct recorder *r, struct arena *a, const struct notes_end *seen, struct newest *ret, struct err *e)
{
	struct ledger_cut c = { .sys = r->sys, .state_fd = r->state_fd, .file = TOOL_CALLS, .now_fd = -1 };
	int rc = ledger_open_now(&c, &ret->fd, &ret->st, e);

	if (rc || (ret->fd >= 0 && is_file(seen, &ret->st))) {
		ret->base = (off_t)seen->place & ~OFFSET_MASK;
		return rc;
	}
	newest_close(ret);
	rc = ledger_cut_take(r->sys, a, r->state_fd, TOOL_CALLS, &c, e);
	ret->fd = c.now_fd;
	ret->base = rc ? 0 : ledger_place(c.next, 0);
	ret->st = (struct stat){ 0 };
	if (rc == OK && ret->fd >= 0 && r->sys->stat(r->sys, ret->fd, "", &ret->st, AT_EMPTY_PATH))
		rc = err_sys(e, "LEDGER_READ", "cannot read %s", TOOL_CALLS);
	return rc;
}

/* Behind the last newline: a row that is being written has none yet. */
static int whole_end(struct sys *s, const struct newest *x, off_t *ret, struct err *e)
{
	char step[512];
	off_t end = x->st.st_size;

	while (end > 0) {
		size_t n = end < (off_t)sizeof(step) ? (size_t)end : sizeof(step);
		if (pread_all(s, x->fd, step, n, end - (off_t)n))
			return err_sys(e, "LEDGER_READ", "cannot read %s", TOOL_CALLS);
		const char *last = memrchr(step, '\n', n);
		if (last) {
			*ret = end - (off_t)n + (last - step) + 1;
			return OK;
		}
		end -= (off_t)n;
	}
	*ret = 0;
	return OK;
}

/* ---- what was bound, from the receipts ---- */

struct said_last {
	struct arena a;
	off_t to; /* -1: none yet */
};

static int take_said(void *arg, off_t offset, uint64_t line, struct bytes text, bool is_whole, struct err *e)
{
	static const char mark[] = "\"" NOTES_MEMBER "\":{";
	struct said_last *x = arg;
	struct notes_said said;
	struct json *receipt;

	(void)offset;
	(void)line;
	(void)is_whole;
	(void)e;
	if (!memmem(text.p, text.n, mark, sizeof(mark) - 1))
		return 0;
	if (json_parse(&x->a, text, RECEIPTS, NULL, &receipt, NULL) == OK && receipt_notes(receipt, &said))
		x->to = said.to;
	arena_reset(&x->a);
	return 0;
}

/* The newest receipt that speaks of notes, in the newest files of the chain. */
static int search_said(struct recorder *r, struct arena *a, off_t *ret, struct err *e)
{
	struct said_last x = { .to = -1 };
	char **files;
	size_t n;
	int rc = receipts_files(r->sys, a, r->state_fd, &files, &n, e);

	for (size_t i = 0; rc == OK && x.to < 0 && i < n && i < CHAIN_FILES; i++)
		rc = lines_each(r->sys, r->state_fd, files[n - 1 - i], take_said, &x, e);
	arena_done(&x.a);
	*ret = x.to;
	return rc == E_MISSING ? OK : rc;
}

/* ---- binding ---- */

static bool was_looked_at(const struct recorder *r, const struct notes_end *bound)
{
	return bound->is_known && memcmp(&r->looked.bound, bound, sizeof(*bound)) == 0;
}

/* One look at the name; the usual answer of a run is no, that of a hook yes. */
bool notes_wait(struct recorder *r)
{
	const struct notes_end *end = &r->at.notes;
	struct stat st;

	if (r->sys->stat(r->sys, r->state_fd, TOOL_CALLS, &st, AT_SYMLINK_NOFOLLOW))
		return errno != ENOENT || (end->is_known && end->ino);
	/* Nothing came since they were left to a later receipt. */
	if (r->is_hurried && was_looked_at(r, end) && is_file(end, &st) && st.st_size == r->looked.size)
		return false;
	return !is_file(end, &st) || st.st_size > (off_t)(end->place & (uint64_t)OFFSET_MASK);
}

/* Older pieces were put aside by somebody who did not wait for the disk.  Sealed ones are durable. */
static int sync_pieces(struct recorder *r, struct arena *a, off_t from, off_t base, struct err *e)
{
	struct sys *s = r->sys;
	AUTO(close_fd) int dir = -1;

	for (unsigned i = (unsigned)(from >> LEDGER_PLACE_BITS) + 1; ledger_place(i, 0) < base; i++) {
		AUTO(close_fd)
		int fd = s->open(s, r->state_fd, ledger_waiting_name(a, TOOL_CALLS, i),
			O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0, 0);
		if (fd < 0 ? errno != ENOENT : s->sync(s, fd) != 0)
			return err_sys(e, "LEDGER_APPEND", "cannot make %s durable", TOOL_CALLS);
	}
	int rc = file_open_dir(s, r->state_fd, LEDGER_WAITING, &dir, e);
	if (rc == OK && s->fsync(s, dir))
		rc = err_sys(e, "LEDGER_ROTATE", "cannot make %s durable", LEDGER_WAITING);
	return rc == E_MISSING ? OK : rc;
}

/* Where to begin: where the last one ended, as far as that is known and is there. */
static int begin_of(struct recorder *r, struct arena *a, const struct notes_end *seen, off_t base, off_t end,
	off_t *ret, struct err *e)
{
	off_t said = (off_t)seen->place;
	int rc = seen->is_known ? OK : search_said(r, a, &said, e);

	*ret = said >= 0 && said <= end ? said : base;
	return rc;
}

/* Do all rows in this part of the newest file speak of calls whose decision is signed?  In doubt no.  Those before `known` do. */
static bool are_decided(struct recorder *r, struct arena *a, int fd, off_t from, off_t known, off_t to)
{
	static const char mark[] = "\"decision_id\": \"",
			  asked[] = "\"verdict\": \""; /* as rows are spelled */

	if (fd < 0 || to <= from || to - from > STEP)
		return false;
	from = known > from && known <= to ? known : from;
	size_t n = (size_t)(to - from);
	if (!n)
		return true;
	const char *text = arena_text(a, n), *end = text + n, *next;
	if (pread_all(r->sys, fd, (char *)text, n, from))
		return false;
	for (; text < end; text = next) {
		next = memchr(text, '\n', (size_t)(end - text));
		next = next ? next + 1 : end;
		if (!memmem(text, (size_t)(next - text), mark, sizeof(mark) - 1) ||
			!memmem(text, (size_t)(next - text), asked, sizeof(asked) - 1))
			return false;
	}
	return true;
}

int notes_take(struct recorder *r, struct arena *a, const struct notes_end *seen, struct notes_cut *ret,
	struct err *e)
{
	AUTO(newest_close) struct newest now = { .fd = -1 };
	off_t end = 0;
	int rc = newest_open(r, a, seen, &now, e);

	if (rc == OK && now.fd >= 0)
		rc = whole_end(r->sys, &now, &end, e);
	*ret = (struct notes_cut){ .seen = *seen };
	ret->to = (struct notes_end){ 1, (uint64_t)(now.base + end), now.st.st_dev, now.st.st_ino };
	if (rc == OK)
		rc = begin_of(r, a, seen, now.base, now.base + end, &ret->from, e);
	ret->is_new = rc == OK && ret->from < now.base + end;
	if (rc || !ret->is_new)
		return rc;
	if (r->is_hurried && ret->from >= now.base &&
		are_decided(r, a, now.fd, ret->from - now.base,
			was_looked_at(r, seen) && is_file(seen, &now.st) ? r->looked.end : 0, end)) {
		r->looked.bound = *seen;
		r->looked.size = now.st.st_size;
		r->looked.end = end;
		/* Where binding begins is kept, so that receipts are not searched for it again. */
		if (seen->is_known)
			*ret = (struct notes_cut){ 0 };
		ret->to.place = (uint64_t)ret->from;
		ret->is_new = false;
		return OK;
	}
	if (now.fd >= 0 && r->sys->sync(r->sys, now.fd))
		return err_sys(e, "LEDGER_APPEND", "cannot make %s durable", TOOL_CALLS);
	if (ret->from < now.base) {
		rc = sync_pieces(r, a, ret->from, now.base, e);
		if (rc == OK)
			rc = ledger_range_digest(r->sys, r->state_fd, TOOL_CALLS, ret->from,
				(off_t)ret->to.place, ret->hex, e);
		if (rc != E_CORRUPT)
			return rc;
		/* An older piece is damaged.  The check tells that; work goes on with what is there. */
		ret->from = now.base;
		ret->is_new = end > 0;
	}
	return digest_of_file(r->sys, a, now.fd, ret->from - now.base, end, ret->hex, e);
}

/* The caller's metadata stays as it is: others may hold it. */
static struct json *with_notes(struct arena *a, const struct json *metadata, const struct notes_cut *cut)
{
	struct json *all = json_new(a, JSON_OBJECT), *said = json_new(a, JSON_OBJECT);

	json_each_member (m, metadata)
		json_set(a, all, m->name, m->value);
	json_sets(a, said, "range",
		arena_printf(a, "%lld-%lld", (long long)cut->from, (long long)cut->to.place));
	json_sets(a, said, "sha256", cut->hex);
	json_set(a, all, NOTES_MEMBER, said);
	return all;
}

int notes_bind(struct recorder *r, struct arena *a, const struct notes_cut *cut, struct chain_end *at,
	const struct draft **drafts, size_t n, struct err *e)
{
	struct notes_cut own = *cut;
	size_t i = 0;

	while (i < n && (*drafts)[i].is_summed)
		i++;
	if (!cut->to.is_known || i == n)
		return OK;
	if (at->notes.is_known && memcmp(&at->notes, &cut->seen, sizeof(at->notes)) != 0) {
		/* Another writer was here while this one had no lock: the rest is ours, if there was any. */
		if (at->notes.place >= cut->to.place || !cut->is_new)
			return OK;
		own.from = (off_t)at->notes.place;
		int rc = ledger_range_digest(
			r->sys, r->state_fd, TOOL_CALLS, own.from, (off_t)own.to.place, own.hex, e);
		if (rc)
			return rc;
	}
	at->notes = own.to;
	if (!own.is_new)
		return OK;
	struct draft *mine = arena_alloc(a, n * sizeof(*mine));
	memcpy(mine, *drafts, n * sizeof(*mine));
	mine[i].metadata = with_notes(mine[i].into ? mine[i].into : a, mine[i].metadata, &own);
	*drafts = mine;
	return OK;
}
