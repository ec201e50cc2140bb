/* chain.c — appending to the chain of receipts.
 *
 * Under the log's lock: know where the chain ends, sign the new receipts behind it, write all lines in one write.  Then, without
 * the lock, wait for the disk: who comes meanwhile continues the chain and waits for the same disk at the same time, and one sync
 * of the kernel serves all.  What makes that safe is that a sync covers everything before: who is told that his receipt is on
 * disk knows that of all receipts it stands on.
 *
 * A write or sync that fails is cut back, so the file ends where it ended.
 *
 * An append may be done in two steps, so that a caller can prepare what comes next while the disk works: the first writes, the
 * second waits.
 *
 * The usual append is: lock, look that nothing has changed since, write lines and edge, unlock, sync, lock, write leaves, unlock.
 * Descriptors stay open between appends of one process; whether they still lead to the files of that name is part of the look. */
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "proof/preimage.h"
#include "record/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

enum { DEFAULT_HEADS = 256, DEFAULT_ROTATE = 64 << 20 };

void recorder_open(struct recorder *ret, struct sys *s, int state_fd, struct key *key)
{
	*ret = (struct recorder){ .sys = s,
		.state_fd = state_fd,
		.key = key,
		.head_interval = DEFAULT_HEADS,
		.rotate_bytes = DEFAULT_ROTATE,
		.is_open = true,
		.owner = getpid(),
		.lock_fd = -1,
		.fd = -1,
		.leaves_fd = -1,
		.edge_fd = -1 };
}

static void drop_fd(int *fd)
{
	close_fd(fd);
	*fd = -1;
}

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
	for (size_t i = 0; i < r->late_count; i++)
		close_fd(&r->late[i].fd);
	r->late_count = 0;
	r->is_open = false;
}

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

static int mark_path(struct recorder *r, const char *path, struct file_mark *ret)
{
	struct stat st;

	if (r->sys->stat(r->sys, r->state_fd, path, &st, AT_SYMLINK_NOFOLLOW))
		return -1;
	*ret = mark_of(&st);
	return 0;
}

/* Our lock, taken again, counts only if its name still leads to it. */
static bool relock(struct recorder *r)
{
	struct file_mark now;

	return r->sys->lock(r->sys, r->lock_fd, LOCK_EX) == 0 && mark_path(r, LOG_LOCK, &now) == 0 &&
		is_same_file(&now, &r->lock);
}

int recorder_lock(struct recorder *r, struct err *e)
{
	struct stat st;

	if (r->owner != getpid()) { /* a lock inherited by fork is shared with the parent, and so no lock */
		chain_forget(r);
		drop_fd(&r->lock_fd);
		r->owner = getpid();
	}
	if (r->lock_fd >= 0 && relock(r))
		return OK;
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
	return OK;
}

void recorder_unlock(struct recorder *r)
{
	if (r->sys->lock(r->sys, r->lock_fd, LOCK_UN))
		drop_fd(&r->lock_fd);
}

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
	if (ret)
		*ret = last;
	return OK;
}

static int open_files(struct recorder *r, struct err *e)
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
	r->leaves_fd = s->open(s, r->state_fd, LEAVES, how | O_APPEND, 0600, 0);
	if (r->leaves_fd < 0)
		return err_sys(e, "LOG_OPEN", "cannot open %s", LEAVES);
	r->edge_fd = s->open(s, r->state_fd, EDGE, how, 0600, 0);
	if (r->edge_fd < 0)
		return err_sys(e, "LOG_OPEN", "cannot open %s", EDGE);
	r->at.file = mark_of(&st);
	return OK;
}

/* Does the file end with the receipt the edge speaks of?  Asked while it may not be on disk: after a power cut the name can have
 * its size and not its bytes. */
static bool ends_with(struct recorder *r, struct arena *a, const struct chain_end *edge)
{
	struct chain_end found;
	struct bytes line;
	off_t end, size;

	return tail_line(r->sys, a, r->fd, RECEIPTS, &line, &end, &size, NULL) == OK && end == size &&
		line.n && chain_read_last(a, line, RECEIPTS, &found, NULL, NULL) == OK &&
		found.clock == edge->clock && hash_eq(&found.last, &edge->last);
}

/* The edge speaks of these very files; the leaves are as many, or the missing ones are in the edge. */
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

bool chain_is_unchanged(struct recorder *r)
{
	struct file_mark now;

	return r->fd >= 0 && mark_path(r, RECEIPTS, &now) == 0 && mark_eq(&now, &r->at.file);
}

int chain_settle(struct recorder *r, struct arena *a, struct err *e)
{
	struct chain_end edge;
	struct hash segments;

	if (chain_is_unchanged(r))
		return OK;
	int rc = open_files(r, e);
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

static void cut_back(struct recorder *r, off_t size, struct err *e)
{
	if (r->sys->truncate(r->sys, r->fd, size) || r->sys->sync(r->sys, r->fd))
		err_wrap(e, "the half-written end could not be cut");
}

/* All lines in one write; cut back when that fails, so that nothing half-written stays.  A file's name is made durable before
 * its first line, whoever created it. */
static int put_lines(struct recorder *r, struct bytes lines, struct err *e)
{
	struct sys *s = r->sys;

	if (r->at.file.size_bytes == 0 && s->fsync(s, r->state_fd))
		return err_sys(e, "LOG_APPEND", "cannot make %s durable", RECEIPTS);
	if (write_all(s, r->fd, lines.p, lines.n) == 0)
		return OK;
	int rc = err_sys(e, "LOG_APPEND", "cannot append to %s", RECEIPTS);
	cut_back(r, (off_t)r->at.file.size_bytes, e);
	return rc;
}

/* What is to be written, and where the chain ends when it is. */
struct batch {
	struct arena *a;
	struct buf lines;
	struct hash *chains;
	struct json **receipts;
	size_t n;
	struct chain_end at;
	off_t start; /* of the first line in the file */
	bool is_known; /* the edge speaks of it */
	bool is_locked; /* the chain stays locked until it is on disk */
};

static int batch_add(struct recorder *r, struct batch *b, const struct draft *d, struct err *e)
{
	struct json *receipt;
	int rc = draft_sign(r, &b->at, b->a, d, &receipt, &b->chains[b->n], e);

	if (rc)
		return rc;
	json_canonical(&b->lines, receipt);
	buf_addc(&b->lines, '\n');
	b->receipts[b->n] = receipt;
	chain_step(&b->at, &b->chains[b->n++]);
	return OK;
}

static int hash_segment(struct recorder *r, const char *name, char ret_hex[SHA256_HEX], struct err *e)
{
	struct sys *s = r->sys;
	AUTO(close_fd) int fd = s->open(s, r->state_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0, 0);
	AUTO(arena_done) struct arena a = { 0 };
	enum { STEP = 256 << 10 };
	char *step = arena_text(&a, STEP);
	uint8_t hash[SHA256_SIZE];
	struct sha256 h;
	ssize_t n = -1;

	sha256_begin(&h);
	for (off_t at = 0; fd >= 0 && (n = s->pread(s, fd, step, STEP, at)) > 0; at += n)
		sha256_add(&h, step, (size_t)n);
	if (n < 0)
		return err_sys(e, "LOG_READ", "cannot read %s", name);
	sha256_end(&h, hash);
	hex_encode(hash, SHA256_SIZE, ret_hex);
	return OK;
}

/* The first receipt of a file that continues another names that file and its hash. */
static int add_rotation_seam(struct recorder *r, struct batch *b, struct err *e)
{
	char hex[SHA256_HEX];
	unsigned number;
	int rc = newest_segment(r, b->a, &number, e);

	if (rc || !number)
		return rc;
	const char *name = segment_name(b->a, number);
	rc = hash_segment(r, name, hex, e);
	if (rc)
		return rc;
	struct json *about = json_new(b->a, JSON_OBJECT);
	json_sets(b->a, about, "continues", name);
	json_sets(b->a, about, "sha256", hex);
	struct draft seam = { .decision_id =
				      arena_printf(b->a, "seam-%llu", (unsigned long long)b->at.clock + 1),
		.effect_id = ROTATE_EFFECT,
		.status = "SEALED",
		.type = "seam",
		.output_hash = arena_printf(b->a, "sha256:%s", hex),
		.metadata = about };
	return batch_add(r, b, &seam, e);
}

/* A file that has grown large gets the next number.  Killed behind the rename, the next writer finds an empty chain file and
 * a segment without successor, which is what it also is without a kill. */
static int rotate_if_large(struct recorder *r, struct arena *a, struct err *e)
{
	struct sys *s = r->sys;
	unsigned number;
	struct stat st;

	if ((uint64_t)r->at.file.size_bytes < r->rotate_bytes)
		return OK;
	/* A sync of the new file says nothing about the old one. */
	int rc = log_flush(r, e);
	if (rc == OK)
		rc = newest_segment(r, a, &number, e);
	if (rc)
		return rc;
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

static int fill_batch(
	struct recorder *r, struct batch *b, const struct draft *drafts, size_t n, struct err *e)
{
	int rc = r->at.file.size_bytes == 0 ? add_rotation_seam(r, b, e) : OK;

	for (size_t i = 0; rc == OK && i < n; i++)
		rc = batch_add(r, b, &drafts[i], e);
	return rc;
}

/* Under the lock: the lines and the edge.  Nobody has been told anything, and whoever comes next sees the new end. */
static int write_batch(
	struct recorder *r, struct batch *b, const struct draft *drafts, size_t n, struct err *e)
{
	int rc = chain_settle(r, b->a, e);

	if (rc == OK)
		rc = rotate_if_large(r, b->a, e);
	if (rc == OK && r->at.clock == 0 && !r->at.chain_id[0])
		rc = chain_begin(r, b->a, &r->at, e);
	if (rc == OK && r->at.clock - r->leaves + n + 1 > RECENT_LEAVES)
		rc = log_flush(r, e);
	if (rc)
		return rc;
	b->at = r->at;
	b->start = (off_t)r->at.file.size_bytes;
	b->chains = arena_zalloc(b->a, n + 1, sizeof(*b->chains));
	b->receipts = arena_zalloc(b->a, n + 1, sizeof(struct json *));
	buf_init(&b->lines, b->a);
	rc = fill_batch(r, b, drafts, n, e);
	if (rc == OK)
		rc = put_lines(r, buf_bytes(&b->lines), e);
	if (rc)
		return rc;
	r->at = b->at;
	b->is_known = log_advance(r, b->chains, b->n);
	return OK;
}

int recorder_begin(struct recorder *r, struct arena *a, const struct draft *drafts, size_t n,
	struct json **ret_receipts, struct err *e)
{
	if (r->begun)
		BUG("receipts were begun and not finished");
	if (!r->key)
		return err_set(e, E_DENIED, "LOG_KEY",
			"no signing key, so nothing can be recorded; 'helm key create' makes one");
	if (n == 0)
		return OK;
	struct batch *b = arena_zalloc(a, 1, sizeof(*b));
	int rc = recorder_lock(r, e);
	if (rc)
		return rc;
	b->a = a;
	rc = write_batch(r, b, drafts, n, e);
	if (rc)
		chain_forget(r);
	/* Others may go on from here if they know where the chain ends and there is room for their leaves. */
	b->is_locked = rc == OK && (!b->is_known || r->at.clock - r->leaves > RECENT_LEAVES);
	if (!b->is_locked)
		recorder_unlock(r);
	if (rc)
		return rc;
	r->begun = b;
	if (ret_receipts)
		memcpy(ret_receipts, b->receipts + (b->n - n), n * sizeof(struct json *));
	return OK;
}

/* What was written is taken out again, unless somebody has continued it: his sync will tell him the same. */
static void take_back(struct recorder *r, const struct batch *b, struct err *e)
{
	struct file_mark named;
	struct stat st;

	if (mark_path(r, RECEIPTS, &named) || r->sys->stat(r->sys, r->fd, "", &st, AT_EMPTY_PATH) ||
		named.ino != st.st_ino || named.dev != st.st_dev ||
		named.size_bytes != b->start + (int64_t)b->lines.n)
		return;
	cut_back(r, b->start, e);
	(void)r->sys->unlink(r->sys, r->state_fd, EDGE, 0);
}

int recorder_finish(struct recorder *r, struct arena *a, struct err *e)
{
	struct batch *b = r->begun;

	if (b && r->late_count)
		r->sys->write_back(r->sys, r->fd);
	int rc = rows_sync(r, e);

	if (!b)
		return rc;
	r->begun = NULL;
	if (rc == OK && r->sys->sync(r->sys, r->fd))
		rc = err_sys(e, "LOG_APPEND", "cannot append to %s", RECEIPTS);
	b->is_locked = b->is_locked || recorder_lock(r, NULL) == OK;
	if (rc && b->is_locked)
		take_back(r, b, e);
	if (rc == OK && b->is_locked && b->is_known) {
		log_catch_up(r, b->at.clock, b->chains, b->n);
		log_head_if_due(r, a);
	}
	if (rc || !b->is_locked || !b->is_known)
		chain_forget(r);
	if (b->is_locked)
		recorder_unlock(r);
	return rc;
}

int recorder_append(struct recorder *r, struct arena *a, const struct draft *drafts, size_t n,
	struct json **ret_receipts, struct err *e)
{
	int rc = rows_sync(r, e);

	if (rc == OK)
		rc = recorder_begin(r, a, drafts, n, ret_receipts, e);
	return rc ? rc : recorder_finish(r, a, e);
}
