/* chain.c — appending to the chain of receipts.
 *
 * Under the log's lock: know where the chain ends, sign the new receipts behind it, write all lines in one
 * write.  Then, without the lock, wait for the disk: who comes meanwhile continues the chain and waits for
 * the same disk at the same time, and one sync of the kernel serves all.  What makes that safe is that a
 * sync covers everything before: who is told that his receipt is on disk knows that of all receipts it
 * stands on.
 *
 * A write or sync that fails is cut back, so the file ends where it ended.
 *
 * An append may be done in two steps, so that a caller can prepare what comes next while the disk works:
 * the first writes, the second waits.
 *
 * The usual append is: lock, look that nothing has changed since, write lines and edge, unlock, sync, lock,
 * write leaves, unlock.  Where notes wait to be bound (notes.c), they are made durable and read before that. Descriptors stay open between appends of one process; whether they still lead to
 * the files of that name is part of the look.
 *
 * What is guaranteed.  A caller that is told OK has its receipts, and every receipt before them, on disk. A
 * caller that is told an error has none of them in the chain, unless another writer already continued it.
 * After a crash a receipt may be there that nobody was told about; that does no harm, since nobody has
 * acted upon it. */
#include "base/file.h"
#include "base/hash.h"
#include "base/notice.h"
#include "base/text.h"
#include "proof/preimage.h"
#include "record/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

enum { DEFAULT_HEADS = 256, DEFAULT_DRAWS = 64 << 10 };

/* Nothing is opened or created here; the first append does that. */
void recorder_open(struct recorder *ret, struct sys *s, int state_fd, struct key *key)
{
	*ret = (struct recorder){ .sys = s,
		.state_fd = state_fd,
		.key = key,
		.head_interval = DEFAULT_HEADS,
		.rotate_bytes = CHAIN_ROTATE_BYTES,
		.ledger_bytes = LEDGER_ROTATE_BYTES,
		.draws_bytes = DEFAULT_DRAWS,
		.is_open = true,
		.owner = getpid(),
		.lock_fd = -1,
		.fd = -1,
		.leaves_fd = -1,
		.edge_fd = -1 };
}

/* Unlike close_fd() alone, also marks the descriptor as closed, so that it can be asked for later. */
static void drop_fd(int *fd)
{
	close_fd(fd);
	*fd = -1;
}

/* After this chain_settle() opens the files again and trusts nothing it remembers.  Called whenever memory
 * and disk may disagree: after every error, and when another process may have moved the files. */
void chain_forget(struct recorder *r)
{
	drop_fd(&r->fd);
	drop_fd(&r->leaves_fd);
	drop_fd(&r->edge_fd);
}

void recorder_close(struct recorder *r)
{
	if (!r->is_open)
		return;
	chain_forget(r);
	drop_fd(&r->lock_fd);
	key_free(&r->renewed);
	fold_free(&r->fold);
	for (size_t i = 0; i < r->late_count; i++)
		close_fd(&r->late[i].fd);
	r->late_count = 0;
	r->is_open = false;
}

/* The change time, not the modification time: a program can set the latter back after it changed the
 * file. */
struct file_mark mark_of(const struct stat *st)
{
	return (struct file_mark){ .dev = st->st_dev,
		.ino = st->st_ino,
		.size_bytes = st->st_size,
		.changed_ns = (int64_t)st->st_ctim.tv_sec * 1000000000 + st->st_ctim.tv_nsec };
}

static bool is_same_file(const struct file_mark *x, const struct file_mark *y)
{
	return x->dev == y->dev && x->ino == y->ino;
}

bool mark_eq(const struct file_mark *x, const struct file_mark *y)
{
	return is_same_file(x, y) && x->size_bytes == y->size_bytes && x->changed_ns == y->changed_ns;
}

/* The mark of the file that has this name now, which need not be the file we hold open. */
static int mark_path(struct recorder *r, const char *path, struct file_mark *ret)
{
	struct stat st;

	if (r->sys->stat(r->sys, r->state_fd, path, &st, AT_SYMLINK_NOFOLLOW))
		return -1;
	*ret = mark_of(&st);
	return 0;
}

/* Closing alone does not let go: a child that was forked meanwhile has the same descriptor, and whoever locks next would
 * wait for it.  So unlocking is tried again before the descriptor is given up. */
static void let_go(struct recorder *r)
{
	if (r->sys->lock(r->sys, r->lock_fd, LOCK_UN) && r->sys->lock(r->sys, r->lock_fd, LOCK_UN))
		drop_fd(&r->lock_fd);
}

/* Two groups of one process may have the lock at once (group.c).  It is one lock to the kernel, so the last one lets go. */
void recorder_unlock(struct recorder *r)
{
	if (!--r->holds)
		let_go(r);
}

/* A lock excludes others only while the lock file keeps its name.  If somebody removed or replaced
 * log/lock, others lock another file than we do; then this lock does not count and the caller opens the
 * file again. */
static bool relock(struct recorder *r)
{
	struct file_mark now;

	if (r->sys->lock(r->sys, r->lock_fd, LOCK_EX))
		return false;
	if (mark_path(r, LOG_LOCK, &now) == 0 && is_same_file(&now, &r->lock))
		return true;
	let_go(r);
	return false;
}

/* Takes the log's lock exclusively and waits for it without limit.  The descriptor is kept between appends,
 * because locking an open file is much cheaper than opening it again. */
int recorder_lock(struct recorder *r, struct err *e)
{
	struct stat st;

	if (r->owner != getpid()) { /* a lock inherited by fork is shared with the parent, and so no lock */
		chain_forget(r);
		drop_fd(&r->lock_fd);
		r->owner = getpid();
		r->holds = 0;
	}
	if (r->holds || (r->lock_fd >= 0 && relock(r))) {
		r->holds++;
		return OK;
	}
	drop_fd(&r->lock_fd);
	int rc = file_mkdirs(r->sys, r->state_fd, LOG_DIR, 0700, e);
	if (rc == OK)
		rc = file_lock(r->sys, r->state_fd, LOG_LOCK, -1, &r->lock_fd, e);
	if (rc)
		return rc;
	if (r->sys->stat(r->sys, r->lock_fd, "", &st, AT_EMPTY_PATH)) {
		rc = err_sys(e, "LOG_LOCK", "cannot look at %s", LOG_LOCK);
		drop_fd(&r->lock_fd);
		return rc;
	}
	r->lock = mark_of(&st);
	r->holds = 1;
	return OK;
}

/* The random id becomes the session_id of every receipt, so that receipts of another workspace are
 * recognised as foreign even if their clocks and hashes were to fit. */
int chain_begin(struct recorder *r, struct arena *a, struct chain_end *at, struct err *e)
{
	struct chain_end fresh = { .file = at->file, .segments = at->segments };
	char *id;
	int rc = record_new_id(a, r->sys, "ws-", &id, e);

	if (rc)
		return rc;
	*at = fresh;
	snprintf(at->chain_id, sizeof(at->chain_id), "%s", id);
	return OK;
}

/* The hash is computed from the receipt itself; what the line says about its own place in the log is not
 * used.  The signature is not checked here, which would be too slow for every receipt of a long chain;
 * `helm log check` verifies all of them. */
int chain_read_last(struct arena *a, struct bytes line, const char *file, struct chain_end *at,
	struct json **ret, struct err *e)
{
	struct json *last;
	struct hash chain;
	int64_t clock;

	if (json_parse(a, line, file, NULL, &last, NULL) ||
		!json_int(json_get(last, "lamport_clock"), &clock) || clock < 1 ||
		!json_text(json_get(last, "session_id")) || receipt_chain_hash(a, last, chain.b, NULL))
		return damaged(e, "the last line of %s is no receipt", file);
	const char *id = json_text(json_get(last, "session_id"));
	if (strlen(id) >= sizeof(at->chain_id))
		return damaged(e, "the session_id of the last receipt in %s is too long", file);
	at->clock = (uint64_t)clock;
	at->last = chain;
	memset(at->chain_id, 0, sizeof(at->chain_id));
	memcpy(at->chain_id, id, strlen(id));
	/* A repair may go on under another key, and tells of no change of keys. */
	const char *signer = json_get_text(json_get(last, "public_key_set"), "ed25519", "");
	memset(at->signer, 0, sizeof(at->signer));
	if (!text_eq(json_get_text(last, "effect_id", ""), REPAIR_EFFECT))
		(void)hex_decode(signer, strlen(signer), at->signer, SIGN_PUBLIC, true);
	if (ret)
		*ret = last;
	return OK;
}

/* O_NOFOLLOW and O_NONBLOCK: a symlink or a pipe under these names must neither lead us elsewhere nor block
 * us. */
/* Leaves and edge are made again from the receipts, whatever is in their place: a directory goes aside. */
static int open_derived(struct recorder *r, const char *name, int how, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct sys *s = r->sys;
	int fd = s->open(s, r->state_fd, name, how, 0600, 0);

	if (fd < 0 && errno == EISDIR) {
		const char *aside =
			arena_printf(&a, "%s.damaged-%lld", name, (long long)(s->now_us(s) / 1000000));
		if (s->rename(s, r->state_fd, name, r->state_fd, aside, RENAME_NOREPLACE) == 0)
			fd = s->open(s, r->state_fd, name, how, 0600, 0);
		if (fd >= 0)
			notice("%s was a directory; it lies in %s, and the file was made again from the receipts",
				name, aside);
	}
	return fd < 0 ? err_sys(e, "LOG_OPEN", "cannot open %s", name) : fd;
}

int chain_open(struct recorder *r, struct err *e)
{
	static const int how = O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK;
	struct sys *s = r->sys;
	struct stat st;

	chain_forget(r);
	r->fd = s->open(s, r->state_fd, RECEIPTS, how | O_APPEND, 0600, 0);
	if (r->fd < 0 || s->stat(s, r->fd, "", &st, AT_EMPTY_PATH))
		return err_sys(e, "LOG_OPEN", "cannot open %s", RECEIPTS);
	if (!S_ISREG(st.st_mode))
		return err_set(e, E_CORRUPT, "LOG_OPEN", "%s is not a regular file", RECEIPTS);
	int fd = open_derived(r, LEAVES, how | O_APPEND, e);
	if (fd < 0)
		return fd;
	r->leaves_fd = fd;
	fd = open_derived(r, EDGE, how, e);
	if (fd < 0)
		return fd;
	r->edge_fd = fd;
	r->at.file = mark_of(&st);
	return OK;
}

/* Does the file really end with the receipt the edge speaks of?  Asked when leaves are missing, which means
 * that the last receipts may never have reached the disk: after a power cut a file can have its new size
 * while its bytes are missing. */
static bool ends_with(struct recorder *r, struct arena *a, const struct chain_end *edge)
{
	struct chain_end found;
	struct bytes line;
	off_t end, size;

	return tail_line(r->sys, a, r->fd, RECEIPTS, &line, &end, &size, NULL) == OK && end == size &&
		line.n && chain_read_last(a, line, RECEIPTS, &found, NULL, NULL) == OK &&
		found.clock == edge->clock && hash_eq(&found.last, &edge->last);
}

/* May the stored edge be used instead of reading the chain?  Only if it speaks of these very files,
 * unchanged, and if every leaf is either in log/leaves or still remembered in the edge.  In doubt false:
 * then the chain is read. */
static bool is_current(
	struct recorder *r, struct arena *a, const struct chain_end *edge, const struct hash *segments)
{
	struct stat st;

	if (!mark_eq(&edge->file, &r->at.file) || !hash_eq(&edge->segments, segments) ||
		r->sys->stat(r->sys, r->leaves_fd, "", &st, AT_EMPTY_PATH) || st.st_size % LEAF_LINE)
		return false;
	uint64_t n = (uint64_t)st.st_size / LEAF_LINE;
	if (n > edge->clock || edge->clock - n > edge->recent_n)
		return false;
	r->leaves = n;
	return n == edge->clock || ends_with(r, a, edge);
}

/* The cheap question before every append: one stat of the name.  Size, inode and change time together find
 * an append, a replacement and an edit in place. */
bool chain_is_unchanged(struct recorder *r)
{
	struct file_mark now;

	return r->fd >= 0 && mark_path(r, RECEIPTS, &now) == 0 && mark_eq(&now, &r->at.file);
}

/* Three ways to know where the chain ends, the cheapest first: our own memory, the edge file, the receipts
 * themselves.  The first two only if the files are proven to be unchanged since. */
int chain_settle(struct recorder *r, struct arena *a, struct err *e)
{
	struct chain_end edge;
	struct hash segments;

	if (chain_is_unchanged(r))
		return OK;
	int rc = chain_open(r, e);
	if (rc == OK)
		rc = segments_mark(r, a, &segments, e);
	if (rc == OK) {
		bool has_edge = edge_read(r, &edge);
		if (has_edge && is_current(r, a, &edge, &segments))
			memcpy(&r->at, &edge, sizeof(edge));
		else
			rc = chain_examine(r, a, has_edge ? &edge : NULL, e);
	}
	if (rc)
		chain_forget(r);
	return rc;
}

/* Best effort: if even this fails the error says so, and the next writer finds a torn end and sets it
 * aside. */
static void cut_back(struct recorder *r, int fd, off_t size, struct err *e)
{
	if (r->sys->truncate(r->sys, fd, size) || r->sys->sync(r->sys, fd))
		err_wrap(e, "the half-written end could not be cut");
}

/* All lines in one write; cut back when that fails, so that nothing half-written stays.  Before the first
 * line of a file its name is made durable, no matter who created it: otherwise a power cut could lose the
 * whole file although its content was synced. */
static int put_lines(struct recorder *r, struct bytes lines, struct err *e)
{
	struct sys *s = r->sys;

	if (r->at.file.size_bytes == 0 && s->fsync(s, r->state_fd))
		return err_sys(e, "LOG_APPEND", "cannot make %s durable", RECEIPTS);
	if (write_all(s, r->fd, lines.p, lines.n) == 0)
		return OK;
	int rc = err_sys(e, "LOG_APPEND", "cannot append to %s", RECEIPTS);
	cut_back(r, r->fd, (off_t)r->at.file.size_bytes, e);
	return rc;
}

/* The receipt whose chain hash is chains[n] is the next line. */
static void batch_put(struct recorder *r, struct batch *b, struct json *receipt)
{
	json_canonical(&b->lines, receipt);
	buf_addc(&b->lines, '\n');
	b->receipts[b->n] = receipt;
	memcpy(b->at.signer, key_public(r->key), SIGN_PUBLIC);
	chain_step(&b->at, &b->chains[b->n++]);
}

/* Signs a receipt for the end of the batch and moves that end one step on; the recorder's own end stays as
 * it is until the lines are written. */
static int batch_add(struct recorder *r, struct batch *b, const struct draft *d, struct err *e)
{
	struct json *receipt;
	int rc = draft_sign(r, &b->at, d->into ? d->into : b->a, d, &receipt, &b->chains[b->n], e);

	if (rc)
		return rc;
	batch_put(r, b, receipt);
	return OK;
}

/* Digest and length of a whole file, read in steps, because a segment is as large as rotate_bytes. */
int segment_hash(struct recorder *r, const char *name, struct hash *ret, uint64_t *ret_bytes, struct err *e)
{
	struct sys *s = r->sys;
	AUTO(close_fd) int fd = s->open(s, r->state_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0, 0);
	AUTO(arena_done) struct arena a = { 0 };
	enum { STEP = 256 << 10 };
	char *step = arena_text(&a, STEP);
	struct sha256 h;
	ssize_t n = -1;
	off_t at = 0;

	sha256_begin(&h);
	for (; fd >= 0 && (n = s->pread(s, fd, step, STEP, at)) > 0; at += n)
		sha256_add(&h, step, (size_t)n);
	if (n < 0)
		return err_sys(e, "LOG_READ", "cannot read %s", name);
	sha256_end(&h, ret->b);
	*ret_bytes = (uint64_t)at;
	return OK;
}

/* The first receipt of a file that continues another one sums that one up (proof/segment.h).  So older files
 * cannot be exchanged or dropped without contradicting a signed receipt, and need not be read to know what
 * the chain was at their end.  In a chain that was never rotated there is nothing to say. */
static int add_rotation_seam(struct recorder *r, struct batch *b, struct err *e)
{
	struct closed_file closed = { .clock = b->at.clock, .last = b->at.last, .tree = b->at.tree };
	unsigned number;
	int rc = newest_segment(r, b->a, &number, e);

	if (rc || !number)
		return rc;
	closed.file = segment_name(b->a, number);
	rc = segment_hash(r, closed.file, &closed.digest, &closed.size_bytes, e);
	if (rc)
		return rc;
	struct json *about = segment_json(b->a, &closed);
	struct draft seam = { .decision_id =
				      arena_printf(b->a, "seam-%llu", (unsigned long long)b->at.clock + 1),
		.effect_id = ROTATE_EFFECT,
		.status = "SEALED",
		.type = "seam",
		.args_hash = json_sha256(b->a, about),
		.output_hash = arena_printf(b->a, "sha256:%s", hash_hex(b->a, &closed.digest)),
		.metadata = about };
	return batch_add(r, b, &seam, e);
}

/* Puts a large chain file aside under the next number and starts a new one.  If the process is killed after
 * the rename, the next writer finds an empty or missing receipts.jsonl and a segment without a successor:
 * exactly what it also finds after a rotation that completed, so nothing needs to be repaired. */
static int rotate_if_large(struct recorder *r, struct arena *a, struct err *e)
{
	struct sys *s = r->sys;
	unsigned number;
	struct stat st;
	struct err none;

	if ((uint64_t)r->at.file.size_bytes < r->rotate_bytes)
		return OK;
	/* The receipts of the old file must be on disk before it is put aside: a later sync of the new file
	 * does not cover them. */
	int rc = log_flush(r, e);
	if (rc == OK)
		rc = newest_segment(r, a, &number, e);
	if (rc)
		return rc;
	/* A head over all of it, so that whoever goes on from the seam still has one to compare with.  If it cannot
	 * be signed now, he reads more. */
	if (r->at.heads_at < r->at.clock)
		(void)log_put_head(r, a, NULL, &none);
	const char *name = segment_name(a, number + 1);
	if (s->rename(s, r->state_fd, RECEIPTS, r->state_fd, name, RENAME_NOREPLACE))
		return err_sys(e, "LOG_ROTATE", "cannot put %s aside as %s", RECEIPTS, name);
	drop_fd(&r->fd);
	r->fd = s->open(s, r->state_fd, RECEIPTS, O_RDWR | O_CREAT | O_EXCL | O_APPEND | O_NOFOLLOW, 0600, 0);
	if (r->fd < 0 || s->stat(s, r->fd, "", &st, AT_EMPTY_PATH))
		return err_sys(e, "LOG_ROTATE", "cannot start a new %s", RECEIPTS);
	r->at.file = mark_of(&st);
	return segments_mark(r, a, &r->at.segments, e);
}

/* Before the caller's own: where the file before this one ended, and which keys followed each other since. */
static int fill_batch(
	struct recorder *r, struct batch *b, const struct draft *drafts, size_t n, struct err *e)
{
	struct draft change;
	int rc = key_seam_draft(r, b->a, &b->at, &change, e);

	/* What a signer gave back has brought its seam along. */
	if (rc == OK && r->at.file.size_bytes == 0 && !b->n)
		rc = add_rotation_seam(r, b, e);
	if (rc == OK && change.effect_id)
		rc = batch_add(r, b, &change, e);
	for (size_t i = 0; rc == OK && i < n; i++)
		rc = batch_add(r, b, &drafts[i], e);
	return rc;
}

static void batch_clear(struct recorder *r, struct batch *b, size_t n)
{
	b->at = r->at;
	b->n = 0;
	b->chains = arena_zalloc(b->a, n + SEAMS, sizeof(*b->chains));
	b->receipts = arena_zalloc(b->a, n + SEAMS, sizeof(struct json *));
	buf_init(&b->lines, b->a);
}

static int fill_with_notes(struct recorder *r, struct batch *b, const struct notes_cut *notes,
	const struct draft *drafts, size_t n, struct err *e)
{
	int rc = notes_bind(r, b->a, notes, &b->at, &drafts, n, e);

	return rc ? rc : fill_batch(r, b, drafts, n, e);
}

/* The receipts that a signer has signed for this chain and that are not in it: whoever asked for them did not live to write them. */
static int take_missing(struct recorder *r, struct batch *b, const struct json *missing, struct err *e)
{
	for (uint32_t i = 0; i < missing->n; i++) {
		struct notes_said said;
		struct json *receipt;
		int rc = signer_take(r, b->a, missing->items[i], &b->at, &receipt, &b->chains[b->n], e);
		if (rc)
			return rc;
		batch_put(r, b, receipt);
		/* Ours go on where the notes of the lost one ended. */
		if (receipt_notes(receipt, &said)) {
			b->at.notes.is_known = 1;
			b->at.notes.place = (uint64_t)said.to;
		}
	}
	return OK;
}

/* What the signer has and we have not comes first, and then ours again behind it.  One answer need not bring all of that: it is asked
 * until the signer is not ahead any more, and each answer brings at least one that continues the chain. */
static int fill(struct recorder *r, struct batch *b, const struct notes_cut *notes,
	const struct draft *drafts, size_t n, struct err *e)
{
	struct json *missing = json_new(b->a, JSON_ARRAY);
	const struct json *more;

	batch_clear(r, b, n);
	int rc = fill_with_notes(r, b, notes, drafts, n, e);
	while (rc && (more = signer_missing(r->key)) && more->n) {
		json_each (receipt, more)
			json_push(b->a, missing, json_copy(b->a, receipt));
		int flushed = missing->n + n + SEAMS > RECENT_LEAVES ? log_flush(r, e) : OK;
		if (flushed)
			return flushed;
		batch_clear(r, b, missing->n + n);
		rc = take_missing(r, b, missing, e);
		if (rc == OK)
			rc = fill_with_notes(r, b, notes, drafts, n, e);
	}
	return rc;
}

/* Under the lock: the lines and the edge.  Nobody has been told anything, and whoever comes next sees the
 * new end. */
static int write_batch(struct recorder *r, struct batch *b, const struct notes_cut *notes,
	const struct draft *drafts, size_t n, struct err *e)
{
	int rc = key_renew(r, e);

	r->refused = SIZE_MAX;
	if (rc == OK)
		rc = chain_settle(r, b->a, e);
	if (rc == OK)
		rc = rotate_if_large(r, b->a, e);
	if (rc == OK && r->at.clock == 0 && !r->at.chain_id[0])
		rc = chain_begin(r, b->a, &r->at, e);
	/* Leaves of receipts that are not yet on disk are kept only in the edge, which has room for
	 * RECENT_LEAVES.  Two more than n, for the seams. */
	if (rc == OK && r->at.clock - r->leaves + n + SEAMS > RECENT_LEAVES)
		rc = log_flush(r, e);
	if (rc)
		return rc;
	b->start = (off_t)r->at.file.size_bytes;
	b->clock_before = r->at.clock;
	rc = draws_claim(r, b->a, drafts, n, e);
	if (rc)
		return rc;
	rc = fill(r, b, notes, drafts, n, e);
	if (rc == OK)
		rc = put_lines(r, buf_bytes(&b->lines), e);
	if (rc == OK) {
		b->end = b->start + (off_t)b->lines.n;
		r->at = b->at;
		b->is_known = log_advance(r, b->chains, b->n);
	}
	draws_written(r, drafts, n, b, rc);
	return rc;
}

/* The lock, and what the batch will say about notes.  Usually there are new ones.  Making them durable and
 * reading them takes longer than anybody else should wait for the lock, so that is done without it, and only
 * what nobody else has bound meanwhile is bound. */
static int lock_with_notes(struct recorder *r, struct arena *a, struct notes_cut *ret, struct err *e)
{
	int rc = recorder_lock(r, e);

	*ret = (struct notes_cut){ 0 };
	if (rc)
		return rc;
	rc = key_renew(r, e); /* before the chain is looked at: it is asked whether receipts are our own */
	if (rc == OK)
		rc = chain_settle(r, a, e);
	struct notes_end seen = r->at.notes;
	bool is_waiting = rc == OK && notes_wait(r);
	if (rc || is_waiting)
		recorder_unlock(r);
	if (is_waiting && (rc = notes_take(r, a, &seen, ret, e)) == OK)
		rc = recorder_lock(r, e);
	return rc;
}

/* Usually the lock is released at the end, and others may continue the chain while this one waits for the disk.
 * Two cases forbid it: the edge could not be written, so others would not know where the chain ends, or it
 * has no room for more leaves. */
int batch_begin(struct recorder *r, struct arena *a, const struct draft *drafts, size_t n, struct batch **ret,
	struct err *e)
{
	if (!r->key)
		return err_set(e, E_DENIED, "LOG_KEY",
			"no signing key, so nothing can be recorded; 'helm key create' makes one");
	struct batch *b = arena_zalloc(a, 1, sizeof(*b));
	struct notes_cut notes;
	int rc = lock_with_notes(r, a, &notes, e);
	if (rc)
		return rc;
	b->a = a;
	rc = write_batch(r, b, &notes, drafts, n, e);
	if (rc && r->refused == SIZE_MAX) /* where a draw was refused nothing was touched */
		chain_forget(r);
	b->is_locked = rc == OK && (!b->is_known || r->at.clock - r->leaves > RECENT_LEAVES);
	if (!b->is_locked)
		recorder_unlock(r);
	if (rc == OK)
		*ret = b;
	return rc;
}

/* The first half of an append: under the lock sign, write lines and edge.  Nothing is on disk yet, and
 * nobody may act on it before recorder_finish() returns OK. */
int recorder_begin(struct recorder *r, struct arena *a, const struct draft *drafts, size_t n,
	struct json **ret_receipts, struct err *e)
{
	if (r->begun)
		BUG("receipts were begun and not finished");
	if (n == 0 && r->key)
		return OK;
	int rc = batch_begin(r, a, drafts, n, &r->begun, e);
	if (rc == OK && ret_receipts)
		memcpy(ret_receipts, r->begun->receipts + (r->begun->n - n), n * sizeof(struct json *));
	return rc;
}

/* Has somebody written a leaf for one of these receipts?  Then a sync of his covered it, and without the receipt the
 * leaf would look like damage.  In doubt true. */
static bool has_leaf(struct recorder *r, const struct batch *b)
{
	struct stat st;

	return r->sys->stat(r->sys, r->state_fd, LEAVES, &st, AT_SYMLINK_NOFOLLOW) ||
		(uint64_t)st.st_size / LEAF_LINE > b->clock_before;
}

/* Removes what was written when the sync failed.  Only if the file still ends with our lines: once another
 * writer has continued the chain, his receipts stand on ours and nothing can be removed; his own sync fails
 * then, too.  The edge goes as well, because it speaks of receipts that are gone. */
static void take_back(struct recorder *r, const struct batch *b, int fd, struct err *e)
{
	struct file_mark named;
	struct stat st;

	if (mark_path(r, RECEIPTS, &named) || r->sys->stat(r->sys, fd, "", &st, AT_EMPTY_PATH) ||
		named.ino != st.st_ino || named.dev != st.st_dev || named.size_bytes != b->end ||
		has_leaf(r, b))
		return;
	cut_back(r, fd, b->start, e);
	(void)r->sys->unlink(r->sys, r->state_fd, EDGE, 0);
}

/* A head speaks of all receipts that this recorder knows, so it is signed only when those of this batch are the
 * newest. */
int batch_end(struct recorder *r, struct arena *a, struct batch *b, int fd, int rc, struct err *e)
{
	b->is_locked = b->is_locked || recorder_lock(r, NULL) == OK;
	if (rc && b->is_locked)
		take_back(r, b, fd, e);
	if (rc == OK && b->is_locked && b->is_known) {
		log_catch_up(r, b->at.clock, b->chains, b->n);
		if (r->at.clock == b->at.clock)
			log_head_if_due(r, a);
	}
	if (rc || !b->is_locked || !b->is_known)
		chain_forget(r);
	if (b->is_locked)
		recorder_unlock(r);
	return rc;
}

int batch_sync(struct recorder *r, int fd, struct err *e)
{
	return r->sys->sync(r->sys, fd) ? err_sys(e, "LOG_APPEND", "cannot append to %s", RECEIPTS) : OK;
}

/* The second half: wait for the disk, then write the leaves.  Leaves come last, because a leaf without a
 * receipt looks like a receipt that was removed.  If the lock cannot be had again, the receipts are durable
 * all the same, and the next writer makes the missing leaves. */
int recorder_finish(struct recorder *r, struct arena *a, struct err *e)
{
	struct batch *b = r->begun;

	/* Several files are to be synced: start writing this one out now, so that the disk works on all at
	 * once. */
	if (b && r->late_count)
		r->sys->write_back(r->sys, r->fd);
	int rc = rows_sync(r, e);

	if (!b)
		return rc;
	r->begun = NULL;
	if (rc == OK)
		rc = batch_sync(r, r->fd, e);
	return batch_end(r, a, b, r->fd, rc, e);
}

/* Rows go to disk before the receipts that speak of them are written: after a power cut no receipt names a
 * row that does not exist. */
int recorder_append(struct recorder *r, struct arena *a, const struct draft *drafts, size_t n,
	struct json **ret_receipts, struct err *e)
{
	int rc = rows_sync(r, e);

	if (rc == OK)
		rc = recorder_begin(r, a, drafts, n, ret_receipts, e);
	return rc ? rc : recorder_finish(r, a, e);
}
