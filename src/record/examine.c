/* examine.c — where the chain ends, from the receipts themselves.
 *
 * Done when the edge file does not speak of this very receipts.jsonl: after a crash, after a copy, after
 * somebody changed it. Every receipt of the file is read, its hash computed, and its link to the one before
 * followed; then the tree is built and compared with the newest signed head.  Older files of the chain are
 * read only when they were touched, or their leaves do not fit.
 *
 * What a crash can leave is mended: a torn last line, leaves that are missing.  Leaves are made from
 * receipts and never believed against them: where one differs, the receipt's own signature is asked, and
 * the leaf is made again.  A hole in the chain is passed when a repair has put it on record (proof/gap.h).
 * Everything else is damage, and damage is never mended here.
 *
 * The order matters.  First the torn end goes, so that every line is whole.  Then a repair that was
 * interrupted is completed, because it decides which files make up the chain.  Only then are marks and
 * leaves read, the chain walked, and leaves and edge written. */
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "proof/preimage.h"
#include "record/parts.h"

#include <fcntl.h>
#include <string.h>

enum { TORN_LIMIT = 64 << 20 };

/* After a change of our own the file's mark is another one. */
static int refresh_mark(struct recorder *r, struct err *e)
{
	struct stat st;

	if (r->sys->stat(r->sys, r->fd, "", &st, AT_EMPTY_PATH))
		return err_sys(e, "LOG_READ", "cannot read %s", RECEIPTS);
	r->at.file = mark_of(&st);
	return OK;
}

/* What a crash left of an append that nobody was told about.  It is copied to receipts.jsonl.torn and
 * synced there before it is cut off, so that no byte is ever lost. */
static int cut_torn(struct recorder *r, char *torn, size_t n, off_t end, struct err *e)
{
	struct sys *s = r->sys;
	AUTO(close_fd)
	int keep = s->open(
		s, r->state_fd, RECEIPTS ".torn", O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, 0600, 0);

	torn[n] = '\n';
	if (keep < 0 || write_all(s, keep, torn, n + 1) || s->sync(s, keep) || s->fsync(s, r->state_fd))
		return err_sys(e, "LOG_REPAIR", "cannot keep the torn end of %s", RECEIPTS);
	if (s->truncate(s, r->fd, end) || s->sync(s, r->fd))
		return err_sys(e, "LOG_REPAIR", "cannot cut the torn end of %s", RECEIPTS);
	return OK;
}

/* Deals with a last line that lacks its newline.  If it parses as a JSON object, it is complete and only
 * gets its newline: no proper beginning of an object is an object itself.  Otherwise it is set aside.
 * *ret_line is the last whole line afterwards. */
static int mend_tail(struct recorder *r, struct arena *a, struct bytes *ret_line, struct err *e)
{
	struct sys *s = r->sys;
	struct json *whole;
	off_t end, size;
	int rc = tail_line(s, a, r->fd, RECEIPTS, ret_line, &end, &size, e);

	if (rc || end == size)
		return rc;
	if (size - end > TORN_LIMIT)
		return damaged(e, "the last line of %s has no end", RECEIPTS);
	size_t n = (size_t)(size - end);
	char *torn = arena_text(a, n + 1);
	if (pread_all(s, r->fd, torn, n, end))
		return err_sys(e, "LOG_READ", "cannot read the end of %s", RECEIPTS);
	struct bytes line = { (uint8_t *)torn, n };
	if (torn[0] == '{' && json_parse(a, line, RECEIPTS, NULL, &whole, NULL) == OK) {
		if (write_all(s, r->fd, "\n", 1) || s->sync(s, r->fd))
			return err_sys(e, "LOG_REPAIR", "cannot end the last line of %s", RECEIPTS);
		*ret_line = line;
	} else {
		rc = cut_torn(r, torn, n, end, e);
	}
	return rc ? rc : refresh_mark(r, e);
}

/* What log/leaves holds; a line that is no hash counts as absent. */
struct stored {
	struct hash *leaves;
	bool *is_there;
	uint64_t n;
	bool is_torn;
};

static int read_stored(struct recorder *r, struct arena *a, struct stored *ret, struct err *e)
{
	struct bytes text;
	int rc = file_read(r->sys, a, r->state_fd, LEAVES, (size_t)1 << 32, 0, &text, e);

	if (rc)
		return rc;
	ret->n = text.n / LEAF_LINE;
	ret->is_torn = text.n % LEAF_LINE != 0;
	ret->leaves = arena_alloc(a, (ret->n + 1) * sizeof(*ret->leaves));
	ret->is_there = arena_zalloc(a, ret->n + 1, sizeof(*ret->is_there));
	for (uint64_t i = 0; i < ret->n; i++) {
		const char *line = (const char *)text.p + i * LEAF_LINE;
		ret->is_there[i] =
			line[64] == '\n' && hex_decode(line, 64, ret->leaves[i].b, SHA256_SIZE, true);
	}
	return OK;
}

/* Is there a readable leaf number i? */
static bool has_leaf(const struct stored *s, uint64_t i)
{
	return i < s->n && s->is_there[i];
}

/* One walk along the chain.  Leaves are collected behind those that were taken as stored. */
struct walk {
	struct recorder *r;
	struct arena scratch;
	struct arena *a;
	const struct stored *stored;
	struct gaps gaps;
	uint64_t wrong; /* leaves that are not those of their receipts */
	uint64_t last_wrong; /* number of the newest such receipt */
	bool has_gaps, has_taken; /* has_taken: older files were not read */
	const char *file;
	struct chain_end at;
	struct hash *leaves;
	uint64_t n, cap;
};

/* The index of a leaf is the number of its receipt; so the order of calls is the order of the chain. */
static void add_leaf(struct walk *w, struct hash leaf)
{
	if (w->n == w->cap) {
		uint64_t cap = w->cap ? 2 * w->cap : 1024;
		w->leaves = arena_grow(w->a, w->leaves, w->cap * sizeof(leaf), cap * sizeof(leaf));
		w->cap = cap;
	}
	w->leaves[w->n++] = leaf;
}

/* Searching for the name of the effect in the raw text first is much cheaper than parsing every receipt.
 * Only a seam that is signed by this user's own keys may explain a hole; otherwise anybody could remove
 * receipts and explain it. */
static int take_seam(void *arg, off_t offset, uint64_t line, struct bytes text, bool is_whole, struct err *e)
{
	AUTO(arena_done) struct arena scratch = { 0 };
	struct walk *w = arg;
	struct json *receipt;

	(void)offset;
	(void)line;
	(void)e;
	if (is_whole && memmem(text.p, text.n, REPAIR_EFFECT, strlen(REPAIR_EFFECT)) &&
		json_parse(&scratch, text, RECEIPTS, NULL, &receipt, NULL) == OK &&
		gap_is_seam(&scratch, receipt) && receipt_is_own(w->r, &scratch, receipt))
		(void)gaps_take(&w->gaps, w->a, receipt);
	return OK;
}

/* A seam stands behind the hole it tells of.  So when the first hole is met the whole chain is searched for
 * seams, once; a chain without holes never pays for that. */
static void load_gaps(struct walk *w)
{
	char **files;
	size_t n;

	if (w->has_gaps || receipts_files(w->r->sys, w->a, w->r->state_fd, &files, &n, NULL))
		return;
	w->has_gaps = true;
	for (size_t i = 0; i < n; i++)
		(void)lines_each(w->r->sys, w->r->state_fd, files[i], take_seam, w, NULL);
}

/* Is the hole between here and `next` on record?  Then the leaves of the lost receipts, which the seam has
 * kept, take their places in the tree, so that heads that were signed before the loss still fit. */
static bool pass_gap(struct walk *w, const struct chain_end *next)
{
	load_gaps(w);
	const struct gap *g = gaps_find(&w->gaps, w->at.clock, &w->at.last, next->clock, &next->last);
	if (!g)
		return false;
	for (uint64_t i = 0; i + g->after + 1 < g->next; i++)
		add_leaf(w, g->leaves[i]);
	w->at.clock = g->next - 1;
	return true;
}

/* A receipt continues the one before it if it is of the same chain, has the next clock, and names its hash;
 * or if a repair has put the hole between them on record. */
static int check_link(struct walk *w, const struct chain_end *next, const struct json *receipt, uint64_t line,
	struct err *e)
{
	char previous[SHA256_HEX] = "";

	if (w->at.clock)
		hex_encode(w->at.last.b, SHA256_SIZE, previous);
	if (w->at.chain_id[0] && !text_eq(w->at.chain_id, next->chain_id))
		return damaged(e, "%s line %llu belongs to another chain", w->file, (unsigned long long)line);
	bool continues = text_eq(json_get_text(receipt, "prev_hash", "?"), previous);
	if ((next->clock == w->at.clock + 1 && continues) || pass_gap(w, next))
		return OK;
	if (next->clock != w->at.clock + 1)
		return damaged(e, "%s line %llu has clock %llu where %llu follows", w->file,
			(unsigned long long)line, (unsigned long long)next->clock,
			(unsigned long long)w->at.clock + 1);
	return damaged(
		e, "%s line %llu does not continue the receipt before it", w->file, (unsigned long long)line);
}

/* The receipt and its stored leaf disagree: one of them was changed.  If the receipt carries a valid
 * signature of this user, the leaf is wrong and is made again.  If not, the receipt is damage. */
static int check_leaf(struct walk *w, const struct json *receipt, const struct hash *leaf, struct err *e)
{
	const struct stored *s = w->stored;

	if (!has_leaf(s, w->n) || hash_eq(&s->leaves[w->n], leaf))
		return OK;
	w->wrong++;
	w->last_wrong = w->n + 1;
	if (receipt_is_own(w->r, &w->scratch, receipt))
		return OK;
	return damaged(e, "receipt %llu is not the one the log knows", (unsigned long long)w->n + 1);
}

/* One receipt of the walk.  The first problem ends the walk; which ones follow is the business of `helm log
 * check`. */
static int walk_line(void *arg, off_t offset, uint64_t line, struct bytes text, bool is_whole, struct err *e)
{
	struct walk *w = arg;
	struct chain_end next = { 0 };
	struct json *receipt;

	(void)offset;
	if (!is_whole)
		return damaged(e, "%s ends in the middle of a line", w->file);
	if (chain_read_last(&w->scratch, text, w->file, &next, &receipt, NULL))
		return damaged(e, "%s line %llu is no receipt", w->file, (unsigned long long)line);
	struct hash leaf = merkle_leaf(next.last.b, SHA256_SIZE);
	int rc = check_link(w, &next, receipt, line, e);
	if (rc == OK)
		rc = check_leaf(w, receipt, &leaf, e);
	if (rc)
		return rc;
	memcpy(w->at.chain_id, next.chain_id, sizeof(next.chain_id));
	memcpy(w->at.signer, next.signer, sizeof(next.signer));
	chain_step(&w->at, &next.last);
	add_leaf(w, leaf);
	arena_reset(&w->scratch);
	return OK;
}

static int walk_files(struct recorder *r, struct walk *w, char **files, size_t n, struct err *e)
{
	int rc = OK;

	for (size_t i = 0; rc == OK && i < n; i++) {
		w->file = files[i];
		rc = lines_each(r->sys, r->state_fd, files[i], walk_line, w, e);
	}
	arena_done(&w->scratch);
	return rc;
}

/* Clock and hash of the last receipt of an older file. */
static int end_of_file(
	struct recorder *r, struct arena *a, const char *file, struct chain_end *ret, struct err *e)
{
	AUTO(close_fd)
	int fd = r->sys->open(r->sys, r->state_fd, file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0, 0);
	struct bytes line;
	off_t end, size;

	if (fd < 0)
		return err_sys(e, "LOG_READ", "cannot read %s", file);
	int rc = tail_line(r->sys, a, fd, file, &line, &end, &size, e);
	return rc ? rc : chain_read_last(a, line, file, ret, NULL, e);
}

/* Older files that nobody has touched need not be read again if all their leaves are stored.  The tree over
 * those leaves is compared with the signed head afterwards, so wrong leaves are found. */
static bool take_stored(struct walk *w, const struct stored *stored, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		if (!has_leaf(stored, i))
			return false;
	for (uint64_t i = 0; i < n; i++)
		add_leaf(w, stored->leaves[i]);
	return true;
}

/* From the first file, or, when the older files are known to be unchanged, from the newest one only. */
static int walk_chain(struct recorder *r, struct arena *a, bool are_known, const struct stored *stored,
	struct walk *w, struct err *e)
{
	struct chain_end older = { 0 };
	char **files;
	size_t n, first = 0;
	int rc = receipts_files(r->sys, a, r->state_fd, &files, &n, e);

	if (rc == OK && n > 1 && are_known) {
		rc = end_of_file(r, a, files[n - 2], &older, e);
		if (rc == OK && take_stored(w, stored, older.clock)) {
			w->at = older;
			w->has_taken = true;
			first = n - 1;
		}
	}
	return rc ? rc : walk_files(r, w, files + first, n - first, e);
}

/* A single wrong leaf is a damaged cache.  When most of them differ, or when leaves exist for receipts that
 * do not, the chain was exchanged or cut off: that is never mended. */
static int compare_leaves(const struct walk *w, const struct stored *stored, struct err *e)
{
	if (w->wrong > 1 && 2 * w->wrong > w->n)
		return damaged(e, "these are not the receipts the log knows");
	for (uint64_t i = w->n; i < stored->n; i++)
		if (stored->is_there[i])
			return damaged(e, "the log knows receipt %llu but the chain ends at %llu",
				(unsigned long long)i + 1, (unsigned long long)w->n);
	return OK;
}

/* The tree is first built up to the size of the newest signed head and compared with its root.  This is
 * what finds a chain that was rewritten consistently, with leaves and all. */
static int build_tree(struct recorder *r, struct arena *a, struct walk *w, struct err *e)
{
	struct json *head;
	struct hash signed_root, root;
	int rc = log_last_head(r->sys, a, r->state_fd, &head, e);

	if (rc)
		return rc;
	w->at.tree = (struct merkle){ 0 };
	w->at.heads_at = head ? (uint64_t)json_get_int(head, "tree_size", 0) : 0;
	if (w->at.heads_at > w->n)
		return damaged(e, "the log had %llu receipts when it was last signed and now has %llu",
			(unsigned long long)w->at.heads_at, (unsigned long long)w->n);
	for (uint64_t i = 0; i < w->at.heads_at; i++)
		merkle_append(&w->at.tree, &w->leaves[i]);
	root = merkle_head(&w->at.tree);
	if (head &&
		(!hash_from_hex(json_get_text(head, "root_hash", ""), &signed_root) ||
			!hash_eq(&signed_root, &root)))
		return damaged(e, "the first %llu receipts are not those that were signed",
			(unsigned long long)w->at.heads_at);
	for (uint64_t i = w->at.heads_at; i < w->n; i++)
		merkle_append(&w->at.tree, &w->leaves[i]);
	return OK;
}

/* Rewrites log/leaves from the first line that is not as it should be. */
static int mend_leaves(
	struct recorder *r, struct arena *a, const struct walk *w, const struct stored *stored, struct err *e)
{
	uint64_t first = 0;

	while (first < w->n && has_leaf(stored, first) && hash_eq(&stored->leaves[first], &w->leaves[first]))
		first++;
	if (first == w->n && stored->n == w->n && !stored->is_torn)
		return OK;
	/* Another writer may have written these receipts and still wait for the disk.  A leaf must not get
	 * there first. */
	if (r->sys->sync(r->sys, r->fd))
		return err_sys(e, "LOG_APPEND", "cannot make %s durable", RECEIPTS);
	char *lines = arena_text(a, (w->n - first) * LEAF_LINE + 1);
	for (uint64_t i = first; i < w->n; i++) {
		char *line = lines + (i - first) * LEAF_LINE;
		hex_encode(w->leaves[i].b, SHA256_SIZE, line);
		line[LEAF_LINE - 1] = '\n';
	}
	if (r->sys->truncate(r->sys, r->leaves_fd, (off_t)(first * LEAF_LINE)) ||
		write_all(r->sys, r->leaves_fd, lines, (w->n - first) * LEAF_LINE))
		return err_sys(e, "LOG_APPEND", "cannot catch up %s", LEAVES);
	return OK;
}

static int walk_and_build(struct recorder *r, struct arena *a, bool are_known, const struct stored *stored,
	struct walk *w, struct err *e)
{
	*w = (struct walk){ .r = r, .a = a, .stored = stored };
	int rc = walk_chain(r, a, are_known, stored, w, e);
	if (rc == OK)
		rc = compare_leaves(w, stored, e);
	return rc ? rc : build_tree(r, a, w, e);
}

/* Sets r->at, or reports LOG_DAMAGED and leaves everything as it was but for the torn end.  The caller
 * holds the lock. */
int chain_examine(struct recorder *r, struct arena *a, const struct chain_end *known, struct err *e)
{
	struct walk w;
	struct stored stored = { 0 };
	struct hash segments;
	struct bytes last;
	int rc = mend_tail(r, a, &last, e);

	if (rc == OK)
		rc = repair_finish_if_due(r, a, last, e);
	if (rc == OK)
		rc = segments_mark(r, a, &segments, e);
	if (rc == OK)
		rc = read_stored(r, a, &stored, e);
	if (rc)
		return rc;
	rc = walk_and_build(r, a, known && hash_eq(&known->segments, &segments), &stored, &w, e);
	if (rc == E_CORRUPT && w.has_taken) /* the stored leaves may be what is wrong */
		rc = walk_and_build(r, a, false, &stored, &w, e);
	/* Every other receipt is confirmed by the one behind it; the newest one by a signed head, or by nothing but its leaf. */
	if (rc == OK && w.last_wrong == w.n && w.n && w.at.heads_at < w.n)
		rc = damaged(e, "receipt %llu is not the one the log knows", (unsigned long long)w.n);
	if (rc == OK)
		rc = mend_leaves(r, a, &w, &stored, e);
	if (rc)
		return rc;
	w.at.file = r->at.file;
	w.at.segments = segments;
	memcpy(&r->at, &w.at, sizeof(r->at));
	r->leaves = r->at.clock;
	/* Without an edge the next process reads the chain again: slower, and just as right. */
	(void)edge_write(r, &r->at);
	return OK;
}
