/* log.c — the Merkle log over the chain: leaves, the tree's right edge, signed heads.
 *
 * log/leaves has one leaf hash per line, in the order of the chain, so its n-th line belongs to the receipt
 * with clock n. log/edge says where the chain ended and which bytes that was true of: size, inode and
 * change time of receipts.jsonl, the last chain hash, the right edge of the tree.  As long as
 * receipts.jsonl is that very file, unchanged, a writer needs nothing else; otherwise everything is looked
 * at (examine.c).  Neither is synced: after a crash they are behind the receipts, or garbage, and are made
 * again.
 *
 * The edge is written together with the receipts, so that the next process can go on while this one waits
 * for the disk.  A leaf is written only when its receipt is on disk: a leaf without receipt is damage, and
 * a power cut must not look like that.
 *
 * Who believes what: receipts are signed, and are the truth.  A signed head is a statement about the log at
 * some size, and is never rewritten.  Leaves and edge are caches without a signature; whenever they
 * disagree with the receipts, they are made again. */
#include "base/file.h"
#include "base/text.h"
#include "proof/preimage.h"
#include "record/parts.h"

#include <fcntl.h>
#include <stdarg.h>
#include <string.h>

static const char edge_magic[8] = "helmedg5";

/* A cache of this machine, in its own byte order; the hash is against torn writes. */
struct edge_file {
	char magic[8];
	struct chain_end end;
	uint8_t check[SHA256_SIZE];
};

/* One wording and one code for every kind of damage, so that callers and users always learn the same
 * remedy. */
int damaged(struct err *e, const char *fmt, ...)
{
	char what[300];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(what, sizeof(what), fmt, args);
	va_end(args);
	return err_set(e, E_CORRUPT, "LOG_DAMAGED",
		"%s; 'helm log check' explains, 'helm log repair' records it", what);
}

/* False for a file that is short, of another version, torn or inconsistent: then the caller reads the
 * receipts.  The check is no protection against an attacker, who could compute it as well; a forged edge is
 * found by `helm log check`. */
bool edge_read(struct recorder *r, struct chain_end *ret)
{
	struct edge_file file;
	uint8_t check[SHA256_SIZE];

	if (r->sys->pread(r->sys, r->edge_fd, &file, sizeof(file), 0) != (ssize_t)sizeof(file) ||
		memcmp(file.magic, edge_magic, sizeof(edge_magic)) != 0)
		return false;
	sha256(&file.end, sizeof(file.end), check);
	if (memcmp(check, file.check, sizeof(check)) != 0 ||
		!memchr(file.end.chain_id, '\0', sizeof(file.end.chain_id)) ||
		file.end.tree.size != file.end.clock)
		return false;
	*ret = file.end;
	return true;
}

static void left_of(const struct chain_end *edge, struct log_left *ret)
{
	*ret = (struct log_left){
		.is_known = true, .clock = edge->clock, .last = edge->last, .heads = edge->heads_n
	};
	memcpy(ret->chain_id, edge->chain_id, sizeof(ret->chain_id));
}

void edge_look(struct sys *s, int state_fd, struct log_left *ret)
{
	AUTO(recorder_close) struct recorder r;
	struct chain_end edge;

	*ret = (struct log_left){ 0 };
	recorder_open(&r, s, state_fd, NULL);
	r.edge_fd = s->open(s, state_fd, EDGE, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0, 0);
	if (r.edge_fd >= 0 && edge_read(&r, &edge))
		left_of(&edge, ret);
}

/* What the last writer left says it at once; where that is missing or old, the newest receipt itself does. */
bool log_last_signer(struct sys *s, struct arena *a, int state_fd, uint8_t ret[SIGN_PUBLIC])
{
	static const uint8_t nobody[SIGN_PUBLIC] = { 0 };
	AUTO(recorder_close) struct recorder r;
	struct chain_end edge, found = { 0 };
	struct file_mark now = { 0 };
	struct bytes line;
	struct stat st;
	off_t end, size;

	recorder_open(&r, s, state_fd, NULL);
	if (s->stat(s, state_fd, RECEIPTS, &st, AT_SYMLINK_NOFOLLOW) == 0)
		now = mark_of(&st);
	r.edge_fd = s->open(s, state_fd, EDGE, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0, 0);
	if (r.edge_fd >= 0 && edge_read(&r, &edge) && mark_eq(&now, &edge.file))
		found = edge;
	else if ((r.fd = s->open(s, state_fd, RECEIPTS, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0, 0)) >= 0 &&
		tail_line(s, a, r.fd, RECEIPTS, &line, &end, &size, NULL) == OK && line.n)
		(void)chain_read_last(a, line, RECEIPTS, &found, NULL, NULL);
	memcpy(ret, found.signer, SIGN_PUBLIC);
	return memcmp(ret, nobody, SIGN_PUBLIC) != 0;
}

bool log_left_confirms(
	const struct log_left *left, const char *chain_id, uint64_t clock, const struct hash *last)
{
	return left->is_known && left->clock == clock && hash_eq(&left->last, last) &&
		text_eq(left->chain_id, chain_id);
}

static int count_line(void *arg, off_t offset, uint64_t line, struct bytes text, bool is_whole, struct err *e)
{
	uint64_t *n = arg;

	(void)offset;
	(void)line;
	(void)text;
	(void)e;
	*n += is_whole;
	return OK;
}

uint64_t heads_count(struct sys *s, int state_fd)
{
	uint64_t n = 0;

	return lines_each(s, state_fd, HEADS, count_line, &n, NULL) ? 0 : n;
}

/* Written in place and never synced.  A reader that meets a half-written edge finds that its check
 * fails. */
int edge_write(struct recorder *r, const struct chain_end *end)
{
	struct edge_file file;

	/* Clears the padding between members, which is hashed as well. */
	memset(&file, 0, sizeof(file)); /* also what lies between members */
	memcpy(file.magic, edge_magic, sizeof(edge_magic));
	memcpy(&file.end, end, sizeof(file.end));
	sha256(&file.end, sizeof(file.end), file.check);
	if (r->sys->seek(r->sys, r->edge_fd, 0, SEEK_SET) != 0)
		return -1;
	return write_all(r->sys, r->edge_fd, &file, sizeof(file));
}

/* False when the edge could not be written; then whoever comes next must not rely on it. */
bool log_advance(struct recorder *r, const struct hash *chain_hashes, size_t n)
{
	struct chain_end *at = &r->at;
	struct stat st;

	for (size_t i = 0; i < n; i++) {
		struct hash leaf = merkle_leaf(chain_hashes[i].b, SHA256_SIZE);
		at->recent[at->tree.size % RECENT_LEAVES] = leaf;
		at->recent_n += at->recent_n < RECENT_LEAVES;
		merkle_append(&at->tree, &leaf);
	}
	if (r->sys->stat(r->sys, r->fd, "", &st, AT_EMPTY_PATH))
		return false;
	at->file = mark_of(&st);
	return edge_write(r, at) == 0;
}

/* Is receipt number `clock` the one with this chain hash, as far as the edge remembers? */
static bool remembers(const struct chain_end *edge, uint64_t clock, const struct hash *chain)
{
	struct hash leaf = merkle_leaf(chain->b, SHA256_SIZE);

	return clock && clock <= edge->clock && edge->clock - clock < edge->recent_n &&
		hash_eq(&leaf, &edge->recent[(clock - 1) % RECENT_LEAVES]);
}

/* Leaves from..to: the last n by their chain hashes, those before as the edge remembers them. */
static int put_leaves(struct recorder *r, const struct chain_end *edge, uint64_t from, uint64_t to,
	const struct hash *chains, size_t n)
{
	AUTO(arena_done) struct arena a = { 0 };
	char *lines = arena_text(&a, (to - from) * LEAF_LINE + 1), *line = lines;

	for (uint64_t i = from; i < to; i++, line += LEAF_LINE) {
		struct hash leaf = to - i <= n ? merkle_leaf(chains[n - (to - i)].b, SHA256_SIZE)
					       : edge->recent[i % RECENT_LEAVES];
		hex_encode(leaf.b, SHA256_SIZE, line);
		line[LEAF_LINE - 1] = '\n';
	}
	return write_all(r->sys, r->leaves_fd, lines, (size_t)(line - lines));
}

/* Several writers may arrive here in any order after one sync.  Each writes all leaves up to its own last
 * receipt that are still missing, also those of writers before it, which is right because its sync covered
 * their receipts.  Anything unexpected (a torn leaf line, an edge that does not remember our receipt) ends
 * in chain_forget(): the next writer looks at everything, and no leaf is guessed. */
void log_catch_up(struct recorder *r, uint64_t clock, const struct hash *chains, size_t n)
{
	const struct chain_end *edge = &r->at;
	struct chain_end newer;
	struct stat st;

	/* Has nobody continued the chain, then the edge is as we wrote it. */
	if (!chain_is_unchanged(r)) {
		if (!edge_read(r, &newer)) {
			chain_forget(r);
			return;
		}
		edge = &newer;
	}
	if (r->sys->stat(r->sys, r->leaves_fd, "", &st, AT_EMPTY_PATH) || st.st_size % LEAF_LINE) {
		chain_forget(r);
		return;
	}
	/* Another writer may have signed a head meanwhile, or written our leaf with its own. */
	if (edge->heads_at > r->at.heads_at)
		r->at.heads_at = edge->heads_at;
	if (edge->heads_n > r->at.heads_n)
		r->at.heads_n = edge->heads_n;
	r->leaves = (uint64_t)st.st_size / LEAF_LINE;
	if (r->leaves >= clock)
		return;
	bool are_known = clock - r->leaves <= n || edge->clock - r->leaves <= edge->recent_n;
	if (!are_known || !remembers(edge, clock, &chains[n - 1]) ||
		put_leaves(r, edge, r->leaves, clock, chains, n))
		chain_forget(r);
	else
		r->leaves = clock;
}

/* Used before steps that must not leave receipts in flight: rotation, signing a head on request, running
 * out of room in the edge. */
int log_flush(struct recorder *r, struct err *e)
{
	if (r->leaves >= r->at.clock)
		return OK;
	if (r->sys->sync(r->sys, r->fd))
		return err_sys(e, "LOG_APPEND", "cannot make %s durable", RECEIPTS);
	log_catch_up(r, r->at.clock, &r->at.last, 1);
	return OK;
}

/* The stored leaves are read in steps, so that the text of a long log need not be in memory beside its
 * hashes. */
struct leaf_reader {
	struct sys *sys;
	int fd;
	uint64_t n;
	char *step;
};
enum { LEAVES_AT_ONCE = 1024 };

/* A log without leaves is an empty one, not an error: n is 0 then. */
static int leaves_open(struct sys *s, struct arena *a, int state_fd, struct leaf_reader *ret, struct err *e)
{
	struct stat st;

	*ret = (struct leaf_reader){ .sys = s };
	ret->fd = s->open(s, state_fd, LEAVES, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0, 0);
	if (ret->fd < 0) {
		int rc = err_sys(e, "LOG_READ", "cannot read %s", LEAVES);
		return rc == E_MISSING ? OK : rc;
	}
	if (s->stat(s, ret->fd, "", &st, AT_EMPTY_PATH))
		return err_sys(e, "LOG_READ", "cannot read %s", LEAVES);
	if (!S_ISREG(st.st_mode))
		return err_set(e, E_CORRUPT, "LOG_READ", "%s is not a regular file", LEAVES);
	ret->n = (uint64_t)st.st_size / LEAF_LINE;
	ret->step = arena_text(a, LEAVES_AT_ONCE * LEAF_LINE);
	return OK;
}

static void leaves_close(struct leaf_reader *r)
{
	close_fd(&r->fd);
}

/* Leaves from number `at` on, as many as fit: returns how many, or a negative rc. */
static int leaves_read(struct leaf_reader *r, uint64_t at, struct hash *to, struct err *e)
{
	uint64_t n = r->n - at < LEAVES_AT_ONCE ? r->n - at : LEAVES_AT_ONCE;

	if (pread_all(r->sys, r->fd, r->step, n * LEAF_LINE, (off_t)(at * LEAF_LINE)))
		return err_sys(e, "LOG_READ", "cannot read %s", LEAVES);
	for (uint64_t i = 0; i < n; i++) {
		const char *line = r->step + i * LEAF_LINE;
		if (line[64] != '\n' || !hex_decode(line, 64, to[i].b, SHA256_SIZE, true))
			return err_set(e, E_CORRUPT, "LOG_LEAVES", "corrupt leaves journal at line %llu",
				(unsigned long long)(at + i) + 1);
	}
	return (int)n;
}

/* A torn last line is not counted: n is the number of whole lines. */
int log_leaves(
	struct sys *s, struct arena *a, int state_fd, struct hash **ret, uint64_t *ret_n, struct err *e)
{
	AUTO(leaves_close) struct leaf_reader r = { .fd = -1 };
	int rc = leaves_open(s, a, state_fd, &r, e);

	if (rc)
		return rc;
	struct hash *leaves = arena_alloc(a, (r.n + 1) * sizeof(*leaves));
	for (uint64_t at = 0; at < r.n; at += (uint64_t)rc) {
		rc = leaves_read(&r, at, leaves + at, e);
		if (rc < 0)
			return rc;
	}
	*ret = leaves;
	*ret_n = r.n;
	return OK;
}

int log_leaf_count(struct sys *s, int state_fd, uint64_t *ret, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	AUTO(leaves_close) struct leaf_reader r = { .fd = -1 };
	int rc = leaves_open(s, &a, state_fd, &r, e);

	*ret = rc ? 0 : r.n;
	return rc;
}

/* Leaves that are no longer there were taken back, or cut off; a root over fewer would be another log's. */
int log_roots(struct sys *s, int state_fd, const struct merkle_range *ranges, size_t n, struct hash *ret,
	struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	AUTO(leaves_close) struct leaf_reader r = { .fd = -1 };
	struct hash step[LEAVES_AT_ONCE];
	int rc = leaves_open(s, &a, state_fd, &r, e);

	for (size_t i = 0; rc >= 0 && i < n; i++) {
		struct merkle tree = { 0 };
		if (ranges[i].from + ranges[i].n > r.n)
			return err_set(
				e, E_CORRUPT, "LOG_LEAVES", "%s became shorter while it was read", LEAVES);
		while (rc >= 0 && tree.size < ranges[i].n) {
			rc = leaves_read(&r, ranges[i].from + tree.size, step, e);
			for (int k = 0; k < rc && tree.size < ranges[i].n; k++)
				merkle_append(&tree, &step[k]);
		}
		ret[i] = merkle_head(&tree);
	}
	return rc < 0 ? rc : OK;
}

/* A torn last line was never acknowledged, and the line before it counts.  The signature is not checked
 * here; a head is compared with the tree, and `helm log check` verifies it. */
int log_last_head(struct sys *s, struct arena *a, int state_fd, struct json **ret, struct err *e)
{
	AUTO(close_fd) int fd = s->open(s, state_fd, HEADS, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0, 0);
	struct bytes line;
	off_t end, size;
	struct hash root;
	struct json *head;

	if (fd < 0) {
		int rc = err_sys(e, "LOG_READ", "cannot read %s", HEADS);
		if (rc == E_MISSING)
			*ret = NULL;
		return rc == E_MISSING ? OK : rc;
	}
	int rc = tail_line(s, a, fd, HEADS, &line, &end, &size, e);
	if (rc)
		return rc;
	if (!line.n) {
		*ret = NULL;
		return OK;
	}
	if (json_parse(a, line, HEADS, NULL, &head, NULL) || json_get_int(head, "tree_size", -1) < 0 ||
		!hash_from_hex(json_get_text(head, "root_hash", ""), &root))
		return damaged(e, "the last line of %s is no tree head", HEADS);
	*ret = head;
	return OK;
}

/* Seconds only, as tree heads are dated. */
static char *whole_seconds(struct arena *a, int64_t us)
{
	return text_time_z(a, us - us % 1000000);
}

/* Signs the tree as it is in memory.  The caller holds the lock and has every receipt on disk: a head over
 * receipts that a power cut takes back would look like a chain that was cut off. */
int log_put_head(struct recorder *r, struct arena *a, struct json **ret_head, struct err *e)
{
	struct json *head = json_new(a, JSON_OBJECT);
	struct hash root = merkle_head(&r->at.tree);
	uint8_t signature[SIGN_SIZE];
	char sig[2 * SIGN_SIZE + 1], pub[2 * SIGN_PUBLIC + 1];
	struct bytes preimage;
	struct buf line;

	json_sets(a, head, "log_id", sha256_hex(a, key_public(r->key), SIGN_PUBLIC));
	json_sets(a, head, "root_hash", hash_hex(a, &root));
	json_sets(a, head, "timestamp", whole_seconds(a, r->sys->now_us(r->sys)));
	json_seti(a, head, "tree_size", (int64_t)r->at.tree.size);
	int rc = log_head_preimage(a, head, &preimage, e);
	if (rc)
		return rc;
	struct json *whole = json_new(a, JSON_OBJECT);
	json_sets(a, whole, "chain_id", r->at.chain_id);
	json_set(a, whole, "head", head);
	rc = key_ask(r->key, KEY_FOR_HEAD, whole, preimage, signature, e);
	if (rc)
		return rc;
	hex_encode(signature, SIGN_SIZE, sig);
	hex_encode(key_public(r->key), SIGN_PUBLIC, pub);
	json_sets(a, head, "public_key", pub);
	json_sets(a, head, "signature", sig);
	buf_init(&line, a);
	json_canonical(&line, head);
	rc = file_append_line(r->sys, r->state_fd, HEADS, 0600, buf_bytes(&line), NULL, e);
	if (rc)
		return rc;
	r->at.heads_at = r->at.tree.size;
	r->at.heads_n++;
	/* Only what is about heads changes in the stored edge: another process may have continued the chain since our
	 * last look, and its edge is newer than ours. */
	struct chain_end edge;
	if (r->edge_fd >= 0) {
		if (!edge_read(r, &edge))
			edge = r->at;
		else if (edge.heads_n >= r->at.heads_n)
			r->at.heads_n = edge.heads_n + 1; /* somebody else signed one meanwhile */
		edge.heads_at = r->at.heads_at;
		edge.heads_n = r->at.heads_n;
		if (edge_write(r, &edge))
			chain_forget(r);
	}
	if (ret_head)
		*ret_head = head;
	return OK;
}

/* The receipts are on disk already: a head that cannot be written now is due again next time. */
void log_head_if_due(struct recorder *r, struct arena *a)
{
	struct err e;

	if (r->fd >= 0 && r->at.clock - r->at.heads_at >= r->head_interval)
		(void)log_put_head(r, a, NULL, &e);
}

int log_sign_head(struct recorder *r, struct arena *a, struct json **ret_head, struct err *e)
{
	if (!r->key)
		return err_set(e, E_DENIED, "LOG_KEY", "no signing key; 'helm key create' makes one");
	int rc = recorder_lock(r, e);
	if (rc)
		return rc;
	rc = key_renew(r, e);
	if (rc == OK)
		rc = chain_settle(r, a, e);
	if (rc == OK)
		rc = log_flush(r, e);
	if (rc == OK && r->at.clock == 0)
		rc = err_set(e, E_MISSING, "LOG_EMPTY", "nothing has been recorded here yet");
	if (rc == OK)
		rc = log_put_head(r, a, ret_head, e);
	recorder_unlock(r);
	return rc;
}

int log_settle(struct recorder *r, struct arena *a, struct err *e)
{
	int rc = recorder_lock(r, e);

	if (rc)
		return rc;
	rc = chain_settle(r, a, e);
	if (rc == OK)
		rc = log_flush(r, e);
	recorder_unlock(r);
	return rc;
}

/* Removing the edge forces chain_settle() to look, and here at every receipt: leaves are made again from
 * them.  The caller holds the lock.  `counts_heads`: as many heads as there are; otherwise the edge knows how many there were. */
static int rebuild(struct recorder *r, struct arena *a, bool counts_heads, struct err *e)
{
	struct log_left left;

	edge_look(r->sys, r->state_fd, &left);
	chain_forget(r);
	(void)r->sys->unlink(r->sys, r->state_fd, EDGE, 0);
	r->reads_all = true;
	int rc = chain_settle(r, a, e);
	r->reads_all = false;
	if (rc)
		return rc;
	uint64_t heads = counts_heads ? heads_count(r->sys, r->state_fd) : left.heads;
	bool is_other = counts_heads
		? heads != r->at.heads_n
		: left.is_known && text_eq(left.chain_id, r->at.chain_id) && heads > r->at.heads_n;
	if (is_other) {
		r->at.heads_n = heads;
		(void)edge_write(r, &r->at);
	}
	return OK;
}

int log_rebuild(struct recorder *r, struct arena *a, struct err *e)
{
	return rebuild(r, a, false, e);
}

int log_rebuild_repaired(struct recorder *r, struct arena *a, struct err *e)
{
	return rebuild(r, a, true, e);
}

int log_refresh(struct recorder *r, struct arena *a, struct err *e)
{
	int rc = recorder_lock(r, e);

	if (rc)
		return rc;
	rc = log_rebuild(r, a, e);
	recorder_unlock(r);
	return rc;
}

bool log_is_as_left(struct sys *s, struct arena *a, int state_fd)
{
	AUTO(recorder_close) struct recorder r;
	struct chain_end edge;
	struct hash segments;
	struct stat st;

	recorder_open(&r, s, state_fd, NULL);
	if (s->stat(s, state_fd, RECEIPTS, &st, AT_SYMLINK_NOFOLLOW))
		return false;
	r.edge_fd = s->open(s, state_fd, EDGE, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0, 0);
	struct file_mark now = mark_of(&st);
	return r.edge_fd >= 0 && edge_read(&r, &edge) && mark_eq(&now, &edge.file) &&
		segments_mark(&r, a, &segments, NULL) == OK && hash_eq(&segments, &edge.segments);
}
