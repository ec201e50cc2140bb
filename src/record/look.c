/* look.c — a look at the end of the chain, for views that are asked every few seconds.
 *
 * Reads the last few receipts, the leaves the log has for them, and the size of the newest signed head;
 * writes nothing, takes no lock, and costs the same on a chain of a million receipts as on a new one.  What
 * it finds is damage for certain; what it does not find may still be damaged further back, which is what
 * `helm log check` is for.
 *
 * Because it takes no lock it may meet a writer between two steps.  So damage is reported only when it is
 * still there after several looks with a pause between them. */
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "record/parts.h"

#include <fcntl.h>
#include <string.h>

enum { LOOK_BYTES = 64 << 10, LOOK_LIMIT = 64 << 20, LOOK_RECEIPTS = 4, LOOKS = 3, PAUSE_US = 20000 };

struct look {
	struct sys *s;
	struct arena *a;
	int state_fd;
	uint64_t leaves; /* so many hashes are in log/leaves */
	struct log_left left;
	struct chain_end at; /* the receipt looked at last */
	struct json *last; /* the newest receipt */
	struct gaps
		gaps; /* holes that seams among them tell of: a seam stands behind its holes, so it is met first */
};

/* A file that is not there has size 0. */
static uint64_t size_of(struct look *l, const char *file)
{
	struct stat st;

	return l->s->stat(l->s, l->state_fd, file, &st, 0) ? 0 : (uint64_t)st.st_size;
}

/* Is this the receipt the log has at that place?  A leaf that is missing or unreadable proves nothing,
 * since leaves are made again by the next writer; one that says something else does. */
static int compare_leaf(struct look *l, const struct chain_end *at, struct err *e)
{
	AUTO(close_fd)
	int fd = l->s->open(l->s, l->state_fd, LEAVES, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0, 0);
	char line[LEAF_LINE];
	struct hash stored, own = merkle_leaf(at->last.b, SHA256_SIZE);

	if (at->clock > l->leaves) /* its leaf is still to come */
		return OK;
	if (fd < 0 || pread_all(l->s, fd, line, LEAF_LINE, (off_t)((at->clock - 1) * LEAF_LINE)))
		return err_sys(e, "LOG_READ", "cannot read %s", LEAVES);
	if (!hex_decode(line, 64, stored.b, SHA256_SIZE, true))
		return OK; /* never written out, and made again by the next writer */
	/* The last writer knew this receipt: it is the leaf that was changed, and the next writer makes it again. */
	return hash_eq(&stored, &own) || log_left_confirms(&l->left, at->chain_id, at->clock, &at->last)
		? OK
		: damaged(e, "receipt %llu is not the one the log knows", (unsigned long long)at->clock);
}

/* From the newest line back: each must be a receipt, and the one after it must continue it.  Newest first,
 * so that a seam is met before the hole it explains. */
static int look_at_lines(struct look *l, struct bytes text, bool is_start, struct err *e)
{
	const uint8_t *end = text.p + text.n;
	char wanted[SHA256_HEX] = "";

	for (int i = 0; i < LOOK_RECEIPTS && end > text.p; i++) {
		const uint8_t *newline = memrchr(text.p, '\n', (size_t)(end - text.p));
		const uint8_t *start = newline ? newline + 1 : text.p;
		struct chain_end at = { 0 };
		struct json *receipt;
		char own[SHA256_HEX];
		if (!newline && !is_start)
			break; /* begins before what was read */
		int rc = chain_read_last(
			l->a, (struct bytes){ start, (size_t)(end - start) }, RECEIPTS, &at, &receipt, e);
		if (rc)
			return rc;
		hex_encode(at.last.b, SHA256_SIZE, own);
		if (l->last && (at.clock + 1 != l->at.clock || !text_eq(own, wanted)) &&
			!gaps_find(&l->gaps, at.clock, &at.last, l->at.clock, &l->at.last))
			return damaged(e, "receipt %llu of %s does not continue the one before it",
				(unsigned long long)l->at.clock, RECEIPTS);
		if ((rc = compare_leaf(l, &at, e)))
			return rc;
		if (gap_is_seam(l->a, receipt))
			(void)gaps_take(&l->gaps, l->a, receipt);
		snprintf(wanted, sizeof(wanted), "%s", json_get_text(receipt, "prev_hash", ""));
		l->at = at;
		if (!l->last)
			l->last = receipt;
		end = newline ? newline : text.p;
	}
	return OK;
}

/* Where the last whole line ends, without its newline.  What a crash left behind it was never acknowledged,
 * and the next writer sets it aside; a whole receipt that only lacks its newline counts, as it does for the
 * writer. */
static size_t whole_lines(struct look *l, const char *text, size_t n)
{
	const char *newline = memrchr(text, '\n', n), *rest = newline ? newline + 1 : text;
	struct bytes line = { (const uint8_t *)rest, (size_t)(text + n - rest) };
	struct chain_end at;

	if (line.n && chain_read_last(l->a, line, RECEIPTS, &at, NULL, NULL) == OK)
		return n;
	return newline ? (size_t)(newline - text) : 0;
}

/* Reads a window at the end of the file, and a larger one while not even one whole line fits. */
static int look_at_chain(struct look *l, struct err *e)
{
	AUTO(close_fd)
	int fd = l->s->open(l->s, l->state_fd, RECEIPTS, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0, 0);
	uint64_t size = size_of(l, RECEIPTS);

	if (fd < 0 && err_sys(e, "LOG_READ", "cannot read %s", RECEIPTS) != E_MISSING)
		return e->rc;
	if (fd < 0 || !size)
		return l->leaves ? damaged(e, "the log knows %llu receipts and %s has none",
					   (unsigned long long)l->leaves, RECEIPTS)
				 : OK;
	for (size_t window = LOOK_BYTES;; window *= 8) {
		size_t n = window < size ? window : (size_t)size;
		char *text = arena_text(l->a, n + 1);
		if (pread_all(l->s, fd, text, n, (off_t)(size - n)))
			return err_sys(e, "LOG_READ", "cannot read the end of %s", RECEIPTS);
		size_t end = whole_lines(l, text, n);
		/* A receipt larger than the window: look at more. */
		if ((!end || !memrchr(text, '\n', end)) && n < size && n < LOOK_LIMIT)
			continue;
		return look_at_lines(l, (struct bytes){ (uint8_t *)text, end }, n == size, e);
	}
}

/* Leaves and signed heads exist only for receipts that were on disk.  If either knows more receipts than
 * the chain has, receipts were removed at its end. */
static int look_at_log(struct look *l, struct err *e)
{
	struct json *head;
	uint64_t clock = l->last ? (uint64_t)json_get_int(l->last, "lamport_clock", 0) : 0;
	int rc = log_last_head(l->s, l->a, l->state_fd, &head, e);

	if (rc)
		return rc;
	uint64_t known = head ? (uint64_t)json_get_int(head, "tree_size", 0) : 0;
	known = l->leaves > known ? l->leaves : known;
	return known > clock ? damaged(e, "the log knows %llu receipts and the chain ends at %llu",
				       (unsigned long long)known, (unsigned long long)clock)
			     : OK;
}

int log_look(struct sys *s, struct arena *a, int state_fd, struct json **ret_last, struct err *e)
{
	int rc = OK;

	/* A writer may be in the middle of it: what is damage is still there a moment later. */
	for (int i = 0; i < LOOKS; i++) {
		struct look l = { .s = s, .a = a, .state_fd = state_fd };
		l.leaves = size_of(&l, LEAVES) / LEAF_LINE;
		edge_look(s, state_fd, &l.left);
		rc = look_at_chain(&l, e);
		if (rc == OK)
			rc = look_at_log(&l, e);
		*ret_last = l.last;
		if (rc == OK)
			break;
		if (i + 1 < LOOKS)
			s->sleep_us(s, PAUSE_US);
	}
	return rc;
}
