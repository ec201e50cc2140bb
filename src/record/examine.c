/* examine.c — where the chain ends, from the receipts themselves.
 *
 * Done when the edge file does not speak of this very receipts.jsonl: after a crash, after a copy, after
 * somebody changed it.  Somebody waits for the answer, so it must not take longer on a long chain than on a
 * short one: older files are not read receipt by receipt.  The first receipt of each file is a signed seam
 * that sums up all files before it (proof/segment.h).  From the newest seam on, every receipt is read, its
 * hash computed, its link to the one before followed; the tree grows from the one in the seam, and is compared
 * with the newest signed head.  Of the older files names and lengths are compared with their seams, and of
 * the newest of them, some hundred MiB, the digests; the content of those further back, and their leaves when
 * there are very many, is left to `helm log check`.  Where anything of that does not fit, or a chain has no such seams, all of it is read.
 *
 * The edge is a witness even when it is not current: the newest receipt, which no other receipt and perhaps no head confirms, is the right one
 * when the edge knows it, whatever its leaf says; and heads that the edge counted and that are not there stay counted, so that the check
 * misses them.
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
#include "base/notice.h"
#include "base/text.h"
#include "proof/preimage.h"
#include "record/parts.h"

#include <fcntl.h>
#include <string.h>

/* HASHED_BYTES, LEAVES_LOOKED: so much of the older files, and so many of their leaves, are looked at; both take some tenths of a
 * second at most. */
enum { TORN_LIMIT = 64 << 20, HASHED_BYTES = 256 << 20, LEAVES_LOOKED = 1 << 17, LEAVES_AT_ONCE = 1024 };
/* Leaves to be written anew: so many are in memory, the others in a nameless file. */
enum { BAD_HELD = 256 };
enum { LOOKS = 3, PAUSE_US = 20000 };

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
	int keep = s->open(s, r->state_fd, RECEIPTS ".torn",
		O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK, 0600, 0);

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

/* What log/leaves holds, a window at a time; a line that is no hash counts as absent. */
struct stored {
	struct recorder *r;
	uint64_t n, from, held;
	char *step;
	bool is_torn;
};

static int open_stored(struct recorder *r, struct arena *a, struct stored *ret, struct err *e)
{
	struct stat st;

	if (r->sys->stat(r->sys, r->leaves_fd, "", &st, AT_EMPTY_PATH))
		return err_sys(e, "LOG_READ", "cannot read %s", LEAVES);
	*ret = (struct stored){ .r = r,
		.n = (uint64_t)st.st_size / LEAF_LINE,
		.is_torn = st.st_size % LEAF_LINE != 0,
		.step = arena_text(a, LEAVES_AT_ONCE * LEAF_LINE) };
	return OK;
}

/* *ret_is_there: there is a readable leaf number i. */
static int stored_leaf(struct stored *s, uint64_t i, bool *ret_is_there, struct hash *ret, struct err *e)
{
	*ret_is_there = false;
	if (i >= s->n)
		return OK;
	if (i < s->from || i >= s->from + s->held) {
		s->from = i;
		s->held = s->n - i < LEAVES_AT_ONCE ? s->n - i : LEAVES_AT_ONCE;
		if (pread_all(s->r->sys, s->r->leaves_fd, s->step, s->held * LEAF_LINE,
			    (off_t)(i * LEAF_LINE))) {
			s->held = 0;
			return err_sys(e, "LOG_READ", "cannot read %s", LEAVES);
		}
	}
	const char *line = s->step + (i - s->from) * LEAF_LINE;
	*ret_is_there = line[64] == '\n' && hex_decode(line, 64, ret->b, SHA256_SIZE, true);
	return OK;
}

/* One walk along the chain, or along its end. */
struct walk {
	struct recorder *r;
	struct arena scratch;
	struct arena *a;
	struct stored *stored;
	char **files;
	size_t files_n, at_file;
	struct gaps gaps;
	uint64_t start; /* so many receipts were not read, but summed up by a seam */
	uint64_t wrong; /* leaves that are not those of their receipts */
	uint64_t last_wrong; /* number of the newest such receipt */
	bool has_gaps;
	struct chain_end at; /* with the tree */
	bool has_head, is_head_wrong; /* the newest signed head, and that the tree had another root */
	struct hash head_root;
	/* From the first leaf on that is not stored as it should be, the leaves as they should be: a long log has more of them than memory
	 * should hold, so all but the last lie in a file that nobody else sees, as lines of log/leaves. */
	bool is_bad;
	uint64_t bad_from, bad_n, bad_put;
	struct hash *bad;
	int bad_fd;
	bool is_dry; /* nothing will be written: a look */
};

static void walk_done(struct walk *w)
{
	close_fd(&w->bad_fd);
}

/* Nobody finds it by a name; where a file system has no such files, it loses its name at once. */
static int open_nameless(struct recorder *r)
{
	static const char name[] = LOG_DIR "/leaves.new";
	struct sys *s = r->sys;
	int fd = s->open(s, r->state_fd, LOG_DIR, O_TMPFILE | O_RDWR, 0600, 0);

	if (fd < 0) {
		fd = s->open(s, r->state_fd, name, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW, 0600, 0);
		(void)s->unlink(s, r->state_fd, name, 0);
	}
	return fd;
}

/* Leaves as lines behind what fd has. */
static int put_lines(struct recorder *r, int fd, const struct hash *leaves, uint64_t n)
{
	char lines[BAD_HELD * LEAF_LINE + 1];

	for (uint64_t i = 0; i < n; i++) {
		hex_encode(leaves[i].b, SHA256_SIZE, lines + i * LEAF_LINE);
		lines[(i + 1) * LEAF_LINE - 1] = '\n';
	}
	return write_all(r->sys, fd, lines, n * LEAF_LINE);
}

static int keep_bad(struct walk *w, const struct hash *leaf, struct err *e)
{
	if (w->is_dry)
		return OK;
	if (!w->bad)
		w->bad = arena_zalloc(w->a, BAD_HELD, sizeof(*w->bad));
	if (w->bad_n == BAD_HELD) {
		if (w->bad_fd < 0)
			w->bad_fd = open_nameless(w->r);
		if (w->bad_fd < 0 || put_lines(w->r, w->bad_fd, w->bad, w->bad_n))
			return err_sys(
				e, "LOG_APPEND", "cannot write the leaves of a long log beside %s", LEAVES);
		w->bad_put += w->bad_n;
		w->bad_n = 0;
	}
	w->bad[w->bad_n++] = *leaf;
	return OK;
}

/* The newest signed head speaks of the tree at one size. */
static void compare_head(struct walk *w)
{
	struct hash root;

	if (!w->has_head || w->at.tree.size != w->at.heads_at)
		return;
	root = merkle_head(&w->at.tree);
	w->is_head_wrong = !hash_eq(&root, &w->head_root);
}

/* The index of a leaf is the number of its receipt; so the order of calls is the order of the chain. */
static int add_leaf(struct walk *w, const struct hash *leaf, struct err *e)
{
	struct hash stored;
	bool is_there;
	int rc = stored_leaf(w->stored, w->at.tree.size, &is_there, &stored, e);

	if (rc)
		return rc;
	if (!w->is_bad && !(is_there && hash_eq(&stored, leaf))) {
		w->is_bad = true;
		w->bad_from = w->at.tree.size;
	}
	if (w->is_bad)
		rc = keep_bad(w, leaf, e);
	merkle_append(&w->at.tree, leaf);
	compare_head(w);
	return rc;
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

/* A seam stands behind the hole it tells of.  So when the first hole is met, everything from there on is
 * searched for seams, once; a chain without holes never pays for that. */
static void load_gaps(struct walk *w)
{
	for (size_t i = w->at_file; !w->has_gaps && i < w->files_n; i++)
		(void)lines_each(w->r->sys, w->r->state_fd, w->files[i], take_seam, w, NULL);
	w->has_gaps = true;
}

/* Is the hole between here and `next` on record?  Then the leaves of the lost receipts, which the seam has
 * kept, take their places in the tree, so that heads that were signed before the loss still fit. */
static int pass_gap(struct walk *w, const struct chain_end *next, bool *ret_has_passed, struct err *e)
{
	int rc = OK;

	load_gaps(w);
	const struct gap *g = gaps_find(&w->gaps, w->at.clock, &w->at.last, next->clock, &next->last);
	*ret_has_passed = g != NULL;
	if (!g)
		return OK;
	for (uint64_t i = 0; rc == OK && i + g->after + 1 < g->next; i++)
		rc = add_leaf(w, &g->leaves[i], e);
	w->at.clock = g->next - 1;
	return rc;
}

/* A receipt continues the one before it if it is of the same chain, has the next clock, and names its hash;
 * or if a repair has put the hole between them on record. */
static int check_link(struct walk *w, const struct chain_end *next, const struct json *receipt, uint64_t line,
	struct err *e)
{
	const char *file = w->files[w->at_file];
	char previous[SHA256_HEX] = "";
	bool has_passed = false;

	if (w->at.clock)
		hex_encode(w->at.last.b, SHA256_SIZE, previous);
	if (w->at.chain_id[0] && !text_eq(w->at.chain_id, next->chain_id))
		return damaged(e, "%s line %llu belongs to another chain", file, (unsigned long long)line);
	bool continues = text_eq(json_get_text(receipt, "prev_hash", "?"), previous);
	if (next->clock == w->at.clock + 1 && continues)
		return OK;
	int rc = pass_gap(w, next, &has_passed, e);
	if (rc || has_passed)
		return rc;
	if (next->clock != w->at.clock + 1)
		return damaged(e, "%s line %llu has clock %llu where %llu follows", file,
			(unsigned long long)line, (unsigned long long)next->clock,
			(unsigned long long)w->at.clock + 1);
	return damaged(
		e, "%s line %llu does not continue the receipt before it", file, (unsigned long long)line);
}

/* The receipt and its stored leaf disagree: one of them was changed.  If the receipt carries a valid
 * signature of this user, the leaf is wrong and is made again.  If not, the receipt is damage. */
static int check_leaf(struct walk *w, const struct json *receipt, const struct hash *leaf, struct err *e)
{
	uint64_t i = w->at.tree.size;
	struct hash stored;
	bool is_there;
	int rc = stored_leaf(w->stored, i, &is_there, &stored, e);

	if (rc || !is_there || hash_eq(&stored, leaf))
		return rc;
	w->wrong++;
	w->last_wrong = i + 1;
	if (receipt_is_own(w->r, &w->scratch, receipt))
		return OK;
	return damaged(e, "receipt %llu is not the one the log knows", (unsigned long long)i + 1);
}

/* One receipt of the walk.  The first problem ends the walk; which ones follow is the business of `helm log
 * check`. */
static int walk_line(void *arg, off_t offset, uint64_t line, struct bytes text, bool is_whole, struct err *e)
{
	struct walk *w = arg;
	const char *file = w->files[w->at_file];
	struct chain_end next = { 0 };
	struct json *receipt;

	(void)offset;
	/* A look leaves what mend_tail() would mend: a receipt without its newline counts, anything else does not. */
	if (!is_whole && w->is_dry && w->at_file + 1 == w->files_n) {
		if (chain_read_last(&w->scratch, text, file, &next, &receipt, NULL))
			return OK;
	} else if (!is_whole)
		return damaged(e, "%s ends in the middle of a line", file);
	if (chain_read_last(&w->scratch, text, file, &next, &receipt, NULL))
		return damaged(e, "%s line %llu is no receipt", file, (unsigned long long)line);
	struct hash leaf = merkle_leaf(next.last.b, SHA256_SIZE);
	int rc = check_link(w, &next, receipt, line, e);
	if (rc == OK)
		rc = check_leaf(w, receipt, &leaf, e);
	if (rc == OK)
		rc = add_leaf(w, &leaf, e);
	if (rc)
		return rc;
	memcpy(w->at.chain_id, next.chain_id, sizeof(next.chain_id));
	memcpy(w->at.signer, next.signer, sizeof(next.signer));
	chain_step(&w->at, &next.last);
	arena_reset(&w->scratch);
	return OK;
}

/* ---- where to begin ---- */

/* The first line of a file of the chain; false when it is not there or too long for a seam. */
static bool first_line(struct walk *w, const char *file, struct bytes *ret)
{
	struct sys *s = w->r->sys;
	AUTO(close_fd) int fd = s->open(s, w->r->state_fd, file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0, 0);
	const char *end = NULL;

	for (size_t most = 8 << 10; fd >= 0 && !end && most <= 64 << 10; most *= 8) {
		char *text = arena_text(w->a, most);
		ssize_t n = s->pread(s, fd, text, most, 0);
		end = n > 0 ? memchr(text, '\n', (size_t)n) : NULL;
		*ret = (struct bytes){ (uint8_t *)text, end ? (size_t)(end - text) : 0 };
	}
	return end != NULL;
}

/* The first line, when it is a seam of this user that sums up what lies before. */
static bool read_seam(struct walk *w, size_t i, struct closed_file *ret, struct json **ret_seam)
{
	struct bytes line;

	return first_line(w, w->files[i], &line) &&
		json_parse(w->a, line, w->files[i], NULL, ret_seam, NULL) == OK &&
		segment_read(w->a, *ret_seam, ret) && receipt_is_own(w->r, w->a, *ret_seam);
}

/* Is this file the beginning of the chain? */
static bool begins_chain(struct walk *w, const char *file)
{
	struct chain_end first = { 0 };
	struct bytes line;

	return first_line(w, file, &line) && chain_read_last(w->a, line, file, &first, NULL, NULL) == OK &&
		first.clock == 1;
}

/* Is the file as its seam says?  Its length always; its digest while *left lasts. */
static bool is_as_sealed(struct walk *w, const struct closed_file *sealed, uint64_t *left)
{
	struct sys *s = w->r->sys;
	struct hash digest;
	uint64_t n;
	struct stat st;

	if (s->stat(s, w->r->state_fd, sealed->file, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode) ||
		(uint64_t)st.st_size != sealed->size_bytes)
		return false;
	if (sealed->size_bytes > *left) {
		*left = 0;
		return true;
	}
	*left -= sealed->size_bytes;
	return segment_hash(w->r, sealed->file, &digest, &n, NULL) == OK && n == sealed->size_bytes &&
		hash_eq(&digest, &sealed->digest);
}

/* Are all files before number i as the seams behind them say, back to the beginning of the chain or to what
 * was moved away on record?  `sealed` is what the first line of file i says. */
static bool are_as_sealed(struct walk *w, size_t i, struct closed_file sealed, uint64_t left)
{
	struct json *seam;

	for (; i > 0; i--) {
		if (!text_eq(sealed.file, w->files[i - 1]) || !is_as_sealed(w, &sealed, &left))
			return false;
		if (!read_seam(w, i - 1, &sealed, &seam))
			return i == 1 && begins_chain(w, w->files[0]);
	}
	return segment_is_moved(w->r, w->a, &sealed);
}

/* Do the stored leaves have the root that the seam has?  Not asked when there are so many that somebody would wait for it. */
static bool are_leaves_sealed(struct walk *w, const struct closed_file *sealed)
{
	struct merkle tree = { 0 };
	struct hash leaf, root, want = merkle_head(&sealed->tree);
	bool is_there = true;

	if (sealed->clock > LEAVES_LOOKED)
		return true;
	while (is_there && tree.size < sealed->clock) {
		if (stored_leaf(w->stored, tree.size, &is_there, &leaf, NULL))
			return false;
		merkle_append(&tree, &leaf);
	}
	root = merkle_head(&tree);
	return is_there && hash_eq(&root, &want);
}

/* The files that are here.  Some of those that were moved away may be back, and others behind them not: then what was brought back is left where
 * it is, as if it were still away, because nothing here leads on from it. */
static int list_files(struct walk *w, struct err *e)
{
	struct closed_file sealed = { 0 };
	struct json *seam;
	size_t n, last = 0;
	char **all;
	int rc = segments_all(w->r->sys, w->a, w->r->state_fd, &all, &n, e);

	w->files = rc ? NULL : arena_zalloc(w->a, n + 1, sizeof(*w->files));
	for (size_t i = 0; rc == OK && i < n; i++) {
		if (text_ends(all[i], ARCHIVED))
			last = w->files_n; /* so many are before it */
		else
			w->files[w->files_n++] = all[i];
	}
	if (rc == OK && last && last < w->files_n && read_seam(w, last, &sealed, &seam) &&
		segment_is_moved(w->r, w->a, &sealed)) {
		w->files += last;
		w->files_n -= last;
	}
	return rc;
}

/* Files that were moved away and can be read there, as they were when they went, come before those that are here: only who makes all leaves
 * again reads so far back.  From the newest on, because what lies before a file that cannot be read is known by its seam only. */
static int join_moved(struct walk *w, struct err *e)
{
	struct closed_file sealed = { 0 };
	struct json *seam;
	struct hash digest;
	size_t n, first;
	uint64_t bytes;
	char **all;
	int rc = segments_all(w->r->sys, w->a, w->r->state_fd, &all, &n, e);

	if (rc)
		return rc;
	char **files = arena_zalloc(w->a, n + w->files_n + 1, sizeof(*files));
	memcpy(files + n, w->files, w->files_n * sizeof(*files));
	w->files = files + n;
	for (first = n; first > 0 && w->files_n && read_seam(w, 0, &sealed, &seam); first--) {
		if (file_exists(w->r->sys, w->r->state_fd, sealed.file)) { /* it was brought back */
			*--w->files = arena_strdup(w->a, sealed.file);
			w->files_n++;
			continue;
		}
		const struct json *row = segment_moved(
			w->a, segment_stub(w->r->sys, w->a, w->r->state_fd, sealed.file), sealed.file);
		char *place = segment_place(w->r->sys, w->a, w->r->state_fd, sealed.file);
		if (!place || !row || !segment_is_moved(w->r, w->a, &sealed) ||
			segment_hash(w->r, place, &digest, &bytes, NULL) ||
			!text_eq(hash_hex(w->a, &digest), json_get_text(row, "sha256", "")))
			break;
		*--w->files = place;
		w->files_n++;
	}
	return OK;
}

/* Begin behind what this seam sums up. */
static void begin_at(struct walk *w, size_t i, const struct closed_file *sealed, const struct json *seam)
{
	const char *id = json_get_text(seam, "session_id", "");

	w->at_file = i;
	w->start = sealed->clock;
	w->at.clock = sealed->clock;
	w->at.last = sealed->last;
	w->at.tree = sealed->tree;
	snprintf(w->at.chain_id, sizeof(w->at.chain_id), "%s", id);
	compare_head(w);
}

uint64_t chain_away(struct recorder *r, struct arena *a)
{
	struct walk w = { .r = r, .a = a, .bad_fd = -1 };
	struct closed_file sealed;
	struct json *seam;

	return list_files(&w, NULL) == OK && w.files_n && read_seam(&w, 0, &sealed, &seam) &&
			segment_is_moved(r, a, &sealed)
		? sealed.clock
		: 0;
}

/* At the newest seam, when all that it sums up is as it says, and the newest head does not speak of an older tree, which
 * could not be compared.  A file may be empty: the writer that made it was killed.  Otherwise at the beginning of what is there. */
static void choose_start(struct walk *w, bool is_quick, uint64_t hashed_bytes)
{
	struct closed_file sealed = { 0 };
	struct json *seam;
	struct stat st;
	size_t i = w->files_n;

	while (is_quick && i > 1 &&
		w->r->sys->stat(w->r->sys, w->r->state_fd, w->files[i - 1], &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		!st.st_size)
		i--;
	if (is_quick && i && read_seam(w, i - 1, &sealed, &seam) &&
		(!w->has_head || w->at.heads_at >= sealed.clock) &&
		are_as_sealed(w, i - 1, sealed, hashed_bytes) && are_leaves_sealed(w, &sealed))
		begin_at(w, i - 1, &sealed, seam);
	else if (w->files_n && read_seam(w, 0, &sealed, &seam) && segment_is_moved(w->r, w->a, &sealed))
		begin_at(w, 0, &sealed, seam);
}

/* ---- the walk ---- */

static int walk_files(struct walk *w, struct err *e)
{
	int rc = OK;

	for (; rc == OK && w->at_file < w->files_n; w->at_file += rc == OK)
		rc = lines_each(w->r->sys, w->r->state_fd, w->files[w->at_file], walk_line, w, e);
	arena_done(&w->scratch);
	return rc;
}

/* A single wrong leaf is a damaged cache.  When most of them differ, or when leaves exist for receipts that
 * do not, the chain was exchanged or cut off: that is never mended. */
static int compare_leaves(struct walk *w, struct err *e)
{
	uint64_t n = w->at.clock;
	struct hash leaf;
	bool is_there;

	if (w->wrong > 1 && 2 * w->wrong > n - w->start)
		return damaged(e, "these are not the receipts the log knows");
	for (uint64_t i = n; i < w->stored->n; i++) {
		int rc = stored_leaf(w->stored, i, &is_there, &leaf, e);
		if (rc)
			return rc;
		if (is_there)
			return damaged(e, "the log knows receipt %llu but the chain ends at %llu",
				(unsigned long long)i + 1, (unsigned long long)n);
	}
	return OK;
}

/* The newest signed head is what finds a chain that was rewritten consistently, with leaves and all. */
static int read_head(struct walk *w, struct err *e)
{
	struct json *head;
	int rc = log_last_head(w->r->sys, w->a, w->r->state_fd, &head, e);

	if (rc || !head)
		return rc;
	w->has_head = true;
	w->at.heads_at = (uint64_t)json_get_int(head, "tree_size", 0);
	if (!hash_from_hex(json_get_text(head, "root_hash", ""), &w->head_root))
		return damaged(e, "the last line of %s is no tree head", HEADS);
	compare_head(w);
	return OK;
}

static int judge_head(const struct walk *w, struct err *e)
{
	if (w->at.heads_at > w->at.clock)
		return damaged(e, "the log had %llu receipts when it was last signed and now has %llu",
			(unsigned long long)w->at.heads_at, (unsigned long long)w->at.clock);
	if (w->is_head_wrong)
		return damaged(e, "the first %llu receipts are not those that were signed",
			(unsigned long long)w->at.heads_at);
	return OK;
}

/* Rewrites log/leaves from the first line that is not as it should be. */
static int mend_leaves(struct recorder *r, struct arena *a, const struct walk *w, struct err *e)
{
	uint64_t n = w->at.clock, from = w->is_bad ? w->bad_from : n;
	size_t step = (size_t)LEAVES_AT_ONCE * LEAF_LINE;
	off_t put = (off_t)(w->bad_put * LEAF_LINE);
	char *lines = arena_text(a, step + 1);

	if (!w->is_bad && w->stored->n == n && !w->stored->is_torn)
		return OK;
	/* Another writer may have written these receipts and still wait for the disk.  A leaf must not get
	 * there first. */
	if (r->sys->sync(r->sys, r->fd))
		return err_sys(e, "LOG_APPEND", "cannot make %s durable", RECEIPTS);
	if (r->sys->truncate(r->sys, r->leaves_fd, (off_t)(from * LEAF_LINE)))
		return err_sys(e, "LOG_APPEND", "cannot catch up %s", LEAVES);
	for (off_t at = 0; at < put; at += (off_t)step) {
		if ((off_t)step > put - at)
			step = (size_t)(put - at);
		if (pread_all(r->sys, w->bad_fd, lines, step, at) ||
			write_all(r->sys, r->leaves_fd, lines, step))
			return err_sys(e, "LOG_APPEND", "cannot catch up %s", LEAVES);
	}
	if (put_lines(r, r->leaves_fd, w->bad, w->bad_n))
		return err_sys(e, "LOG_APPEND", "cannot catch up %s", LEAVES);
	return OK;
}

/* `hashed_bytes`: so much of the older files is hashed.  Not is_quick: all of them are read. */
static int walk_chain(struct recorder *r, struct arena *a, bool is_quick, uint64_t hashed_bytes,
	struct stored *stored, struct walk *w, struct err *e)
{
	bool is_dry = w->is_dry;

	walk_done(w);
	*w = (struct walk){ .r = r, .a = a, .stored = stored, .bad_fd = -1, .is_dry = is_dry };
	int rc = list_files(w, e);
	if (rc == OK && r->reads_all)
		rc = join_moved(w, e);
	if (rc == OK)
		rc = read_head(w, e);
	if (rc)
		return rc;
	choose_start(w, is_quick, hashed_bytes);
	rc = walk_files(w, e);
	if (rc == OK)
		rc = compare_leaves(w, e);
	return rc ? rc : judge_head(w, e);
}

/* The end of the chain, from its newest seam where that can be believed, else from its beginning. */
static int walk_to_end(struct recorder *r, struct arena *a, bool is_quick, uint64_t hashed_bytes,
	struct stored *stored, const struct log_left *left, struct walk *w, struct err *e)
{
	int rc = walk_chain(r, a, is_quick, hashed_bytes, stored, w, e);

	if (rc == E_CORRUPT && w->start) /* what was not read may explain it */
		rc = walk_chain(r, a, false, 0, stored, w, e);
	/* Every other receipt is confirmed by the one behind it; the newest one by a signed head, by the edge, or by nothing but its leaf. */
	if (rc == OK && w->last_wrong == w->at.clock && w->at.clock && w->at.heads_at < w->at.clock &&
		!log_left_confirms(left, w->at.chain_id, w->at.clock, &w->at.last))
		rc = damaged(e, "receipt %llu is not the one the log knows", (unsigned long long)w->at.clock);
	return rc;
}

/* Sets r->at, or reports LOG_DAMAGED and leaves everything as it was but for the torn end.  The caller
 * holds the lock. */
int chain_examine(struct recorder *r, struct arena *a, const struct chain_end *known, struct err *e)
{
	AUTO(walk_done) struct walk w = { .bad_fd = -1 };
	struct stored stored = { 0 };
	struct log_left left;
	struct hash segments;
	struct bytes last;
	bool is_repair = false;
	int rc = mend_tail(r, a, &last, e);

	edge_look(r->sys, r->state_fd, &left);
	if (rc == OK)
		rc = repair_finish_if_due(r, a, last, &is_repair, e);
	if (rc == OK)
		rc = segments_mark(r, a, &segments, e);
	if (rc == OK)
		rc = open_stored(r, a, &stored, e);
	if (rc)
		return rc;
	/* Files that nobody has touched since the edge was written need not be hashed. */
	bool are_known = known && hash_eq(&known->segments, &segments);
	rc = walk_to_end(r, a, !r->reads_all, are_known ? 0 : HASHED_BYTES, &stored, &left, &w, e);
	if (rc == OK)
		rc = mend_leaves(r, a, &w, e);
	if (rc)
		return rc;
	/* Lines that were there, and were not the leaves of their receipts; those that a crash left unwritten are ordinary. */
	if (w.is_bad && w.bad_from < stored.n)
		notice("leaves in %s were not those of their receipts; they were made again", LEAVES);
	w.at.file = r->at.file;
	w.at.segments = segments;
	w.at.heads_n = heads_count(r->sys, r->state_fd);
	if (!is_repair && left.is_known && text_eq(left.chain_id, w.at.chain_id) && left.heads > w.at.heads_n)
		w.at.heads_n = left.heads;
	memcpy(&r->at, &w.at, sizeof(r->at));
	r->leaves = r->at.clock;
	/* Without an edge the next process reads the chain again: slower, and just as right. */
	(void)edge_write(r, &r->at);
	return OK;
}

static int look_back(struct recorder *r, struct arena *a, struct err *e)
{
	AUTO(walk_done) struct walk w = { .bad_fd = -1, .is_dry = true };
	struct stored stored = { .r = r };
	struct log_left left;
	int rc = OK;

	edge_look(r->sys, r->state_fd, &left);
	close_fd(&r->leaves_fd);
	r->leaves_fd = r->sys->open(r->sys, r->state_fd, LEAVES, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0, 0);
	if (r->leaves_fd >= 0)
		rc = open_stored(r, a, &stored, e);
	return rc ? rc : walk_to_end(r, a, true, HASHED_BYTES, &stored, &left, &w, e);
}

/* Beside writers, and without the lock, which a repair holds for long: what is damage is still there a moment later. */
int log_look_back(struct sys *s, struct arena *a, int state_fd, const char *keys_dir, struct err *e)
{
	AUTO(recorder_close) struct recorder r;
	int rc = E_CORRUPT;

	recorder_open(&r, s, state_fd, NULL);
	r.keys_dir = keys_dir;
	for (int i = 0; i < LOOKS && rc == E_CORRUPT; i++) {
		if (i)
			s->sleep_us(s, PAUSE_US);
		rc = look_back(&r, a, e);
	}
	return rc;
}
