/* log.c — the Merkle log over the chain: leaves, the tree's right edge, signed heads.
 *
 * log/leaves has one leaf hash per line, in the order of the chain, so its n-th line belongs to the receipt with clock n.
 * log/edge says where the chain ended and which bytes that was true of: size, inode and change time of receipts.jsonl, the last
 * chain hash, the right edge of the tree.  As long as receipts.jsonl is that very file, unchanged, a writer needs nothing else;
 * otherwise everything is looked at (examine.c).  Neither is synced: after a crash they are behind the receipts, or garbage, and
 * are made again. */
#include "base/file.h"
#include "base/text.h"
#include "model/records.h"
#include "proof/preimage.h"
#include "record/parts.h"

#include <fcntl.h>
#include <stdarg.h>
#include <string.h>

static const char edge_magic[8] = "helmedg1";

/* A cache of this machine, in its own byte order; the hash is against torn writes. */
struct edge_file {
	char magic[8];
	struct chain_end end;
	uint8_t check[SHA256_SIZE];
};

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

int edge_write(struct recorder *r)
{
	struct edge_file file;

	memset(&file, 0, sizeof(file)); /* also what lies between members */
	memcpy(file.magic, edge_magic, sizeof(edge_magic));
	memcpy(&file.end, &r->at, sizeof(file.end));
	sha256(&file.end, sizeof(file.end), file.check);
	if (r->sys->seek(r->sys, r->edge_fd, 0, SEEK_SET) != 0)
		return -1;
	return write_all(r->sys, r->edge_fd, &file, sizeof(file));
}

void log_advance(struct recorder *r, const struct hash *chain_hashes, size_t n)
{
	AUTO(arena_done) struct arena a = { 0 };
	char *lines = arena_text(&a, n * LEAF_LINE + 1);
	struct stat st;

	for (size_t i = 0; i < n; i++) {
		struct hash leaf = merkle_leaf(chain_hashes[i].b, SHA256_SIZE);
		hex_encode(leaf.b, SHA256_SIZE, lines + i * LEAF_LINE);
		lines[i * LEAF_LINE + LEAF_LINE - 1] = '\n';
		merkle_append(&r->at.tree, &leaf);
	}
	if (r->sys->stat(r->sys, r->fd, "", &st, AT_EMPTY_PATH)) {
		chain_forget(r);
		return;
	}
	r->at.file = mark_of(&st);
	if (write_all(r->sys, r->leaves_fd, lines, n * LEAF_LINE) || edge_write(r))
		chain_forget(r);
}

/* The stored leaves in steps, so that a long log does not pass through memory twice.  `each` gets a run of them. */
struct leaf_reader {
	struct sys *sys;
	int fd;
	uint64_t n;
	char *step;
};
enum { LEAVES_AT_ONCE = 1024 };

static int leaves_open(struct sys *s, struct arena *a, int state_fd, struct leaf_reader *ret, struct err *e)
{
	struct stat st;

	*ret = (struct leaf_reader){ .sys = s };
	ret->fd = s->open(s, state_fd, LEAVES, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0, 0);
	if (ret->fd < 0) {
		int rc = err_sys(e, "LOG_READ", "cannot read %s", LEAVES);
		return rc == E_MISSING ? OK : rc;
	}
	if (s->stat(s, ret->fd, "", &st, AT_EMPTY_PATH) || !S_ISREG(st.st_mode))
		return err_sys(e, "LOG_READ", "cannot read %s", LEAVES);
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

int log_tree(struct sys *s, int state_fd, struct merkle *ret, struct err *e)
{
	AUTO(leaves_close) struct leaf_reader r = { .fd = -1 };
	AUTO(arena_done) struct arena a = { 0 };
	struct merkle tree = { 0 };
	int rc = leaves_open(s, &a, state_fd, &r, e);

	if (rc)
		return rc;
	struct hash *some = arena_alloc(&a, LEAVES_AT_ONCE * sizeof(*some));
	while (tree.size < r.n) {
		rc = leaves_read(&r, tree.size, some, e);
		if (rc < 0)
			return rc;
		for (int i = 0; i < rc; i++)
			merkle_append(&tree, &some[i]);
	}
	*ret = tree;
	return OK;
}

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

int log_put_head(struct recorder *r, struct arena *a, struct json **ret_head, struct err *e)
{
	struct json *head = json_new(a, JSON_OBJECT);
	struct hash root = merkle_head(&r->at.tree);
	uint8_t signature[SIGN_SIZE];
	char sig[2 * SIGN_SIZE + 1], pub[2 * SIGN_PUBLIC + 1];
	struct buf preimage, line;

	json_sets(a, head, "log_id", sha256_hex(a, key_public(r->key), SIGN_PUBLIC));
	json_sets(a, head, "root_hash", hash_hex(a, &root));
	json_sets(a, head, "timestamp", whole_seconds(a, r->sys->now_us(r->sys)));
	json_seti(a, head, "tree_size", (int64_t)r->at.tree.size);
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
	r->at.heads_at = r->at.tree.size;
	if (r->edge_fd >= 0 && edge_write(r))
		chain_forget(r);
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
	int rc = chain_lock(r, e);
	if (rc)
		return rc;
	rc = chain_settle(r, a, e);
	if (rc == OK && r->at.clock == 0)
		rc = err_set(e, E_MISSING, "LOG_EMPTY", "nothing has been recorded here yet");
	if (rc == OK)
		rc = log_put_head(r, a, ret_head, e);
	chain_unlock(r);
	return rc;
}

int log_settle(struct recorder *r, struct arena *a, struct err *e)
{
	int rc = chain_lock(r, e);

	if (rc)
		return rc;
	rc = chain_settle(r, a, e);
	chain_unlock(r);
	return rc;
}

int log_refresh(struct recorder *r, struct arena *a, struct err *e)
{
	int rc = chain_lock(r, e);

	if (rc)
		return rc;
	chain_forget(r);
	(void)r->sys->unlink(r->sys, r->state_fd, EDGE, 0);
	rc = chain_settle(r, a, e);
	chain_unlock(r);
	return rc;
}
