/* seal.c — ledgers are put aside when they are large, and sealed: packed, and their digest in the chain.
 *
 * Putting aside is one rename under the ledger's own lock, and costs a writer nothing that could be felt.
 * Sealing takes some tens of milliseconds; it is done by whoever has them (a run that is over, a hook whose
 * answer nobody waits for), one at a time, under a lock of its own.  The order of locks is: the ledger's,
 * alone; or that of sealing, and then the log's for the receipt.  Nobody who holds the log's lock asks for one
 * of the others, but for a repair (mend.c), which has that of sealing before it and takes the ledgers' behind it.
 *
 * The order of steps is the guarantee: the packed file is written, made durable, read back and compared; its
 * receipt is in the chain and on disk; then the plain file goes.  Killed anywhere, both files or one of them
 * are there, readers take one of them, and the next one who seals does what is missing.  A receipt that
 * was written already is found by its id and is not written twice. */
#include "base/file.h"
#include "base/text.h"
#include "record/segments.h"

#include <fcntl.h>
#include <string.h>

/* ---- putting aside ---- */

/* Under the ledger's lock: a whole file, large enough.  A torn end is mended by the append that follows, and
 * then the next one puts it aside. */
static bool is_due(struct sys *s, int fd, off_t limit)
{
	struct stat st;
	char last = 0;

	return s->stat(s, fd, "", &st, AT_EMPTY_PATH) == 0 && S_ISREG(st.st_mode) && st.st_size >= limit &&
		s->pread(s, fd, &last, 1, st.st_size - 1) == 1 && last == '\n';
}

/* The name it is to have, and its directory, open.  False when it has to stay where it is. */
static bool find_place(
	struct sys *s, struct arena *a, int state_fd, const char *file, const char **ret_name, int *ret_dir)
{
	struct ledger_cut c = { .sys = s, .state_fd = state_fd, .file = file, .now_fd = -1 };

	if (file_mkdirs(s, state_fd, LEDGER_WAITING, 0700, NULL) || ledger_list(&c, a, NULL) ||
		file_open_dir(s, state_fd, LEDGER_WAITING, ret_dir, NULL))
		return false;
	*ret_name = ledger_waiting_name(a, file, c.next);
	return true;
}

/* Rows that their writers have not synced yet are synced here, because a sync of the new file does not cover
 * them.  Once the file has its new name, that must be durable before anybody relies on rows behind it. */
static int put_aside(struct sys *s, int state_fd, const char *file, int fd, bool is_durable, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	AUTO(close_fd) int dir = -1;
	const char *name;

	if (!find_place(s, &a, state_fd, file, &name, &dir) || (is_durable && s->sync(s, fd)) ||
		s->rename(s, state_fd, file, state_fd, name, RENAME_NOREPLACE))
		return OK;
	if (is_durable && s->fsync(s, dir))
		return err_sys(e, "LEDGER_ROTATE", "cannot make %s durable", name);
	return OK;
}

int ledger_rotate(struct sys *s, int state_fd, const char *file, off_t limit, bool is_durable, struct err *e)
{
	struct stat st;
	AUTO(close_fd) int fd = -1;

	if (s->stat(s, state_fd, file, &st, AT_SYMLINK_NOFOLLOW) || st.st_size < limit ||
		file_lock(s, state_fd, file, -1, &fd, NULL) || !is_due(s, fd, limit))
		return OK;
	return put_aside(s, state_fd, file, fd, is_durable, e);
}

/* ---- sealing ---- */

struct sealing {
	struct recorder *r;
	struct arena *a;
	const char *ledger, *waiting, *sealed;
	unsigned number;
	struct piece_writer w;
	char plain_hex[SHA256_HEX], packed_hex[SHA256_HEX];
};

static int take_line(void *arg, off_t offset, uint64_t line, struct bytes text, bool is_whole, struct err *e)
{
	(void)offset;
	(void)line;
	return piece_add(arg, text, is_whole, e);
}

static int fill(void *arg, struct sys *s, int fd, struct err *e)
{
	struct sealing *x = arg;
	uint8_t hash[SHA256_SIZE];

	piece_writer_begin(&x->w, s, fd);
	int rc = lines_each(s, x->r->state_fd, x->waiting, take_line, &x->w, e);
	if (rc == OK)
		rc = piece_finish(&x->w, e);
	sha256_end(&x->w.plain, hash);
	hex_encode(hash, SHA256_SIZE, x->plain_hex);
	sha256_end(&x->w.packed, hash);
	hex_encode(hash, SHA256_SIZE, x->packed_hex);
	piece_writer_done(&x->w);
	return rc;
}

int ledger_segment_digest(struct sys *s, int state_fd, const char *name, char ret_hex[SHA256_HEX],
	uint64_t *ret_bytes, struct err *e)
{
	AUTO(piece_close) struct piece g;
	struct sha256 h;
	struct bytes text;
	uint8_t hash[SHA256_SIZE];
	int rc = piece_open(s, state_fd, name, &g, e);

	sha256_begin(&h);
	for (size_t i = 0; rc == OK && i < g.frame_count; i++) {
		rc = piece_frame(&g, i, &text, e);
		if (rc == OK)
			sha256_add(&h, text.p, text.n);
	}
	if (rc)
		return rc;
	sha256_end(&h, hash);
	hex_encode(hash, SHA256_SIZE, ret_hex);
	*ret_bytes = (uint64_t)g.size;
	return OK;
}

/* Written is not read: the plain file goes only when the packed one gives the same text. */
static int read_back(struct sealing *x, struct err *e)
{
	char hex[SHA256_HEX];
	uint64_t bytes;
	int rc = ledger_segment_digest(x->r->sys, x->r->state_fd, x->sealed, hex, &bytes, e);

	if (rc == OK && !text_eq(hex, x->plain_hex))
		rc = err_set(
			e, E_CORRUPT, "LEDGER_SEAL", "%s does not read back as it was written", x->sealed);
	return rc;
}

struct receipt_search {
	const char *id;
	bool is_found;
};

static int is_it(
	void *arg, const char *file, off_t at, struct bytes text, const struct json *receipt, struct err *e)
{
	struct receipt_search *q = arg;

	(void)file;
	(void)at;
	(void)text;
	(void)e;
	q->is_found = text_eq(json_get_text(receipt, "decision_id", ""), q->id);
	return q->is_found;
}

/* Integers and strings only; output_hash binds all of it. */
static int put_receipt(struct sealing *x, const char *id, struct err *e)
{
	struct arena *a = x->a;
	struct json *about = json_new(a, JSON_OBJECT);

	json_sets(a, about, "ledger", x->ledger);
	json_sets(a, about, "segment", x->sealed);
	json_seti(a, about, "number", x->number);
	json_seti(a, about, "rows", (int64_t)x->w.rows);
	json_seti(a, about, "bytes", (int64_t)x->w.plain_bytes);
	json_sets(a, about, "sha256", x->plain_hex);
	json_seti(a, about, "packed_bytes", (int64_t)x->w.packed_bytes);
	json_sets(a, about, "packed_sha256", x->packed_hex);
	struct draft d = { .decision_id = id,
		.effect_id = LEDGER_ROTATE_EFFECT,
		.status = "SEALED",
		.type = "segment",
		.output_hash = json_sha256(a, about),
		.metadata = about,
		.is_summed = true };
	return recorder_append(x->r, a, &d, 1, NULL, e);
}

/* `was_there`: somebody who was killed had come so far, and may have written the receipt. */
static int record(struct sealing *x, bool was_there, struct err *e)
{
	const char *name = path_base(x->waiting);
	struct receipt_search q = {
		arena_printf(x->a, "segment-%.*s", (int)(strlen(name) - strlen(".jsonl")), name), false
	};
	const struct receipts_wanted want = { .text = q.id };
	int rc = was_there ? receipts_back(x->r->sys, x->r->state_fd, &want, is_it, &q, e) : OK;

	return rc || q.is_found ? rc : put_receipt(x, q.id, e);
}

static int seal_one(struct sealing *x, struct err *e)
{
	struct sys *s = x->r->sys;
	AUTO(close_fd) int dir = -1;
	bool was_there = file_exists(s, x->r->state_fd, x->sealed);
	int rc = file_replace_by(s, x->r->state_fd, x->sealed, 0600, fill, x, e);

	if (rc == OK)
		rc = read_back(x, e);
	if (rc == OK)
		rc = record(x, was_there, e);
	if (rc == OK)
		rc = file_open_dir(s, x->r->state_fd, LEDGER_WAITING, &dir, e);
	if (rc)
		return rc;
	if (s->unlink(s, x->r->state_fd, x->waiting, 0) || s->fsync(s, dir))
		return err_sys(e, "LEDGER_SEAL", "cannot remove %s", x->waiting);
	return OK;
}

/* "task-ledger-000001.jsonl": false for anything else. */
static bool read_name(struct sealing *x, const char *name)
{
	size_t n = strlen(name), end = strlen("-000001.jsonl");

	if (n <= end || !text_glob("*-[0-9][0-9][0-9][0-9][0-9][0-9].jsonl", name, true))
		return false;
	x->number = (unsigned)strtoul(name + n - end + 1, NULL, 10);
	x->ledger = arena_printf(x->a, "%.*s.jsonl", (int)(n - end), name);
	x->waiting = ledger_waiting_name(x->a, x->ledger, x->number);
	x->sealed = ledger_sealed_name(x->a, x->ledger, x->number);
	return true;
}

/* The usual case is that nothing waits, and costs one look at a directory that is empty. */
int ledger_seal(struct recorder *r, struct arena *a, size_t *ret_sealed, struct err *e)
{
	AUTO(close_fd) int lock = -1;
	char **names;
	size_t n;
	int rc = ledger_names(r->sys, a, r->state_fd, LEDGER_WAITING, &names, &n, e);

	*ret_sealed = 0;
	if (rc || !n || !r->key)
		return rc;
	rc = file_lock(r->sys, r->state_fd, LEDGER_LOCK, 0, &lock, e);
	if (rc && text_eq(e->code, "FILE_LOCKED"))
		return OK; /* another one is at it */
	if (rc == OK)
		rc = ledger_names(r->sys, a, r->state_fd, LEDGER_WAITING, &names, &n, e);
	for (size_t i = 0; rc == OK && i < n; i++) {
		AUTO(arena_done) struct arena own = { 0 };
		struct sealing x = { .r = r, .a = &own };
		if (!read_name(&x, names[i]))
			continue;
		rc = seal_one(&x, e);
		*ret_sealed += rc == OK;
	}
	return rc;
}
