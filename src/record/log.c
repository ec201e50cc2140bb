/* log.c — the Merkle log over the chain: leaves, the tree's right edge, signed heads.
 *
 * log/leaves has one leaf hash per line, in the order of the chain, so its n-th line belongs to the receipt with clock n.
 * log/edge is the right edge of the tree, so that a new leaf costs two hashes and not n.  Neither is synced: after a crash they
 * are behind the receipts, never before them, and are caught up from them.  If they are before them, or disagree, receipts were
 * cut or changed, and nothing more is appended until that is on record. */
#include "base/file.h"
#include "base/text.h"
#include "model/records.h"
#include "proof/preimage.h"
#include "record/parts.h"

#include <fcntl.h>
#include <string.h>

/* log/edge: size, edge, and a hash of both against torn writes. */
struct edge_file {
	struct merkle tree;
	uint8_t check[SHA256_SIZE];
};

static int damaged(struct err *e, const char *what)
{
	return err_set(e, E_CORRUPT, "LOG_DAMAGED",
		"%s; 'helm log check' explains, 'helm log repair' records it", what);
}

static bool read_edge(struct recorder *r, struct merkle *ret)
{
	struct edge_file file;
	uint8_t check[SHA256_SIZE];
	AUTO(close_fd) int fd = r->sys->open(r->sys, r->state_fd, EDGE, O_RDONLY | O_NOFOLLOW, 0, 0);

	if (fd < 0 || r->sys->pread(r->sys, fd, &file, sizeof(file), 0) != (ssize_t)sizeof(file))
		return false;
	sha256(&file.tree, sizeof(file.tree), check);
	if (memcmp(check, file.check, sizeof(check)) != 0)
		return false;
	*ret = file.tree;
	return true;
}

static void write_edge(struct recorder *r)
{
	struct edge_file file = { .tree = r->tree };
	AUTO(close_fd)
	int fd = r->sys->open(r->sys, r->state_fd, EDGE, O_WRONLY | O_CREAT | O_NOFOLLOW, 0600, 0);

	sha256(&file.tree, sizeof(file.tree), file.check);
	if (fd >= 0)
		(void)!r->sys->write(r->sys, fd, &file, sizeof(file));
}

static void leaf_text(const struct hash *leaf, char line[LEAF_LINE + 1])
{
	hex_encode(leaf->b, SHA256_SIZE, line);
	line[64] = '\n';
}

/* A torn last line of the leaves is cut: it can be made again. */
static int open_leaves(struct recorder *r, uint64_t *ret_n, struct err *e)
{
	struct sys *s = r->sys;
	struct stat st;
	int fd = s->open(s, r->state_fd, LEAVES, O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW, 0600, 0);

	if (fd < 0 || s->stat(s, fd, "", &st, AT_EMPTY_PATH) ||
		(st.st_size % LEAF_LINE && s->truncate(s, fd, st.st_size - st.st_size % LEAF_LINE))) {
		int rc = err_sys(e, "LOG_OPEN", "cannot open %s", LEAVES);
		close_fd(&fd);
		return rc;
	}
	*ret_n = (uint64_t)(st.st_size / LEAF_LINE);
	return fd;
}

static bool leaf_at(struct recorder *r, int fd, uint64_t index, struct hash *ret)
{
	char line[LEAF_LINE];

	return r->sys->pread(r->sys, fd, line, sizeof(line), (off_t)(index * LEAF_LINE)) == LEAF_LINE &&
		line[64] == '\n' && hex_decode(line, 64, ret->b, SHA256_SIZE, true);
}

void log_advance(struct recorder *r, const struct hash *chain_hashes, size_t n)
{
	uint64_t have;
	AUTO(close_fd) int fd = open_leaves(r, &have, NULL);
	AUTO(arena_done) struct arena a = { 0 };
	struct buf lines;

	buf_init(&lines, &a);
	for (size_t i = 0; i < n; i++) {
		struct hash leaf = merkle_leaf(chain_hashes[i].b, SHA256_SIZE);
		char line[LEAF_LINE + 1];
		leaf_text(&leaf, line);
		buf_add(&lines, line, LEAF_LINE);
		merkle_append(&r->tree, &leaf);
	}
	/* Behind already: leave the gap to log_catch_up. */
	if (fd < 0 || have + n != r->clock)
		return;
	if (write_all_at_end(r->sys, fd, buf_bytes(&lines)) == 0)
		write_edge(r);
}

/* Leaves that a crash kept from being written, made again from the receipts. */
struct refill {
	struct recorder *r;
	uint64_t have;
	struct buf *lines;
};

static int refill_one(void *arg, const char *file, uint64_t line, struct bytes text,
	const struct json *receipt, struct err *e)
{
	struct refill *f = arg;
	uint8_t chain[SHA256_SIZE];
	AUTO(arena_done) struct arena a = { 0 };
	char out[LEAF_LINE + 1];

	(void)file;
	(void)line;
	(void)text;
	if (!receipt || receipt_chain_hash(&a, receipt, chain, e))
		return damaged(e, "a line of the chain is no receipt");
	if (json_get_int(receipt, "lamport_clock", 0) <= (int64_t)f->have)
		return 0;
	struct hash leaf = merkle_leaf(chain, SHA256_SIZE);
	leaf_text(&leaf, out);
	buf_add(f->lines, out, LEAF_LINE);
	return 0;
}

static int rebuild_tree(struct recorder *r, struct arena *a, struct err *e)
{
	struct hash *leaves;
	uint64_t n;
	int rc = log_leaves(r->sys, a, r->state_fd, &leaves, &n, e);

	if (rc)
		return rc;
	r->tree = (struct merkle){ 0 };
	for (uint64_t i = 0; i < n && i < r->clock; i++)
		merkle_append(&r->tree, &leaves[i]);
	write_edge(r);
	return OK;
}

/* Is the newest head still about a beginning of this log? */
static int check_heads(struct recorder *r, struct arena *a, struct err *e)
{
	struct json *head;
	int rc = log_last_head(r->sys, a, r->state_fd, &head, e);

	if (rc || !head)
		return rc;
	r->heads_at = (uint64_t)json_get_int(head, "tree_size", 0);
	if (r->heads_at > r->clock)
		return damaged(e,
			arena_printf(a, "the log had %llu receipts when it was last signed and now has %llu",
				(unsigned long long)r->heads_at, (unsigned long long)r->clock));
	return OK;
}

int log_catch_up(struct recorder *r, struct arena *a, struct err *e)
{
	uint64_t have;
	struct hash stored, leaf = merkle_leaf(r->last.b, SHA256_SIZE);
	AUTO(close_fd) int fd = open_leaves(r, &have, e);

	if (fd < 0)
		return e->rc;
	if (have > r->clock)
		return damaged(e,
			arena_printf(a, "the log has %llu leaves but the chain ends at receipt %llu",
				(unsigned long long)have, (unsigned long long)r->clock));
	if (have < r->clock) {
		struct buf lines;
		buf_init(&lines, a);
		struct refill f = { r, have, &lines };
		int rc = receipts_each(r->sys, r->state_fd, refill_one, &f, e);
		if (rc)
			return rc;
		if (lines.n != (r->clock - have) * LEAF_LINE)
			return damaged(e, "receipts are missing from the chain");
		if (write_all_at_end(r->sys, fd, buf_bytes(&lines)))
			return err_sys(e, "LOG_APPEND", "cannot catch up %s", LEAVES);
	}
	if (r->clock && (!leaf_at(r, fd, r->clock - 1, &stored) || !hash_eq(&stored, &leaf)))
		return damaged(e, "the last receipt is not the one the log knows");
	if (!read_edge(r, &r->tree) || r->tree.size != r->clock) {
		int rc = rebuild_tree(r, a, e);
		if (rc)
			return rc;
	}
	return check_heads(r, a, e);
}

int log_leaves(
	struct sys *s, struct arena *a, int state_fd, struct hash **ret, uint64_t *ret_n, struct err *e)
{
	struct bytes text;
	int rc = file_read(s, a, state_fd, LEAVES, (size_t)1 << 32, 0, &text, e);

	if (rc == E_MISSING) {
		*ret = arena_zalloc(a, 1, sizeof(**ret));
		*ret_n = 0;
		return OK;
	}
	if (rc)
		return rc;
	uint64_t n = text.n / LEAF_LINE;
	struct hash *leaves = arena_alloc(a, (n + 1) * sizeof(*leaves));
	for (uint64_t i = 0; i < n; i++) {
		const char *line = (const char *)text.p + i * LEAF_LINE;
		if (line[64] != '\n' || !hex_decode(line, 64, leaves[i].b, SHA256_SIZE, true))
			return err_set(e, E_CORRUPT, "LOG_DAMAGED", "corrupt leaves journal at line %llu",
				(unsigned long long)i + 1);
	}
	*ret = leaves;
	*ret_n = n;
	return OK;
}

int log_last_head(struct sys *s, struct arena *a, int state_fd, struct json **ret, struct err *e)
{
	struct bytes text;
	int rc = file_read(s, a, state_fd, HEADS, 256 << 20, 0, &text, e);

	*ret = NULL;
	if (rc == E_MISSING || (rc == OK && !text.n))
		return OK;
	if (rc)
		return rc;
	const uint8_t *end = memrchr(text.p, '\n', text.n);
	if (!end)
		return OK;
	const uint8_t *before = memrchr(text.p, '\n', (size_t)(end - text.p));
	const uint8_t *start = before ? before + 1 : text.p;
	return json_parse(a, (struct bytes){ start, (size_t)(end - start) }, HEADS, NULL, ret, e);
}

/* Seconds only, as tree heads are dated. */
static char *whole_seconds(struct arena *a, int64_t us)
{
	return text_time_z(a, us - us % 1000000);
}

static int sign_head(struct recorder *r, struct arena *a, struct json **ret_head, struct err *e)
{
	struct json *head = json_new(a, JSON_OBJECT);
	struct hash root = merkle_head(&r->tree);
	uint8_t signature[SIGN_SIZE];
	char sig[2 * SIGN_SIZE + 1], pub[2 * SIGN_PUBLIC + 1];
	struct buf preimage, line;

	json_sets(a, head, "log_id", sha256_hex(a, key_public(r->key), SIGN_PUBLIC));
	json_sets(a, head, "root_hash", hash_hex(a, &root));
	json_sets(a, head, "timestamp", whole_seconds(a, r->sys->now_us(r->sys)));
	json_seti(a, head, "tree_size", (int64_t)r->tree.size);
	buf_init(&preimage, a);
	int rc = projection_write(&preimage, &tree_head_projection, NULL, head, e);
	if (rc)
		return rc;
	key_sign(r->key, buf_bytes(&preimage), signature);
	hex_encode(signature, SIGN_SIZE, sig);
	hex_encode(key_public(r->key), SIGN_PUBLIC, pub);
	json_sets(a, head, "public_key", pub);
	json_sets(a, head, "signature", sig);
	buf_init(&line, a);
	json_canonical(&line, head);
	rc = file_append_line(r->sys, r->state_fd, HEADS, 0600, buf_bytes(&line), NULL, e);
	if (rc)
		return rc;
	r->heads_at = r->tree.size;
	if (ret_head)
		*ret_head = head;
	return OK;
}

int log_head_if_due(struct recorder *r, struct arena *a, struct err *e)
{
	if (r->tree.size != r->clock || r->clock - r->heads_at < r->head_interval)
		return OK;
	/* The receipts are on disk already: a head that cannot be written now is due again next time. */
	(void)e;
	(void)sign_head(r, a, NULL, NULL);
	return OK;
}

int log_sign_head(struct recorder *r, struct arena *a, struct json **ret_head, struct err *e)
{
	AUTO(close_fd) int lock = -1;

	if (!r->key)
		return err_set(e, E_DENIED, "LOG_KEY", "no signing key; 'helm key create' makes one");
	int rc = log_lock(r, &lock, e);
	if (rc == OK)
		rc = recorder_settle(r, a, e);
	return rc ? rc : sign_head(r, a, ret_head, e);
}
