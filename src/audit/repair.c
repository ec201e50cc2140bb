/* repair.c — which bytes of a damaged log are no receipts, and what to sign about it.
 *
 * Every line of every file
 * of the chain is asked alone whether it is a receipt that verifies.  Those that do are put in the order
 * of their clocks, and whatever lies between two that do not follow each other is a gap.  What stays out:
 * lines that are no receipt or do not verify, second copies, receipts of another chain, and of two that
 * claim the same place the one that nothing continues.
 *
 * That takes minutes where there are millions of lines, and whoever wants to record something would wait.  So the plan is made beside
 * writers, from the log at one moment; what it was before each file is kept.  Then, under the lock, it is made again from the first
 * file on that is not the same any more, which is usually none, or the newest one.
 *
 * A receipt that verifies is also found where a stray byte stands before it, or where two stand on one line because
 * the newline between them was lost: a line that is none is searched for receipts inside.
 *
 * Here only a plan is made.  record/ carries it out, signs the seam that tells of the gaps, and survives a
 * crash on the way.  The plan keeps as much as it can: also the leaves of lost receipts, because with them
 * the tree heads that were signed before the damage stay true. */
#include "audit/planning.h"
#include "base/file.h"
#include "base/text.h"
#include "proof/preimage.h"

#include <fcntl.h>
#include <string.h>

enum { LEAVES_AT_ONCE = 256 }; /* written together */

/* One line of a file of the chain.  `chain` and `prev` are only set when the line was read as a receipt. */
struct line {
	off_t at, n; /* with its newline, */
	off_t newline; /* or where one is that it can have: it stood on one line with another; 0: it has its own */
	uint64_t clock;
	struct hash chain, prev;
	bool is_good; /* a receipt, unchanged */
	bool is_trusted, is_kept;
};

/* The plan as it was before a file, and the tree that the receipts up to there will have. */
struct stand {
	const char *name;
	struct file_mark mark;
	uint64_t clock;
	struct hash last;
	size_t files, gaps;
	const char *session;
	struct merkle tree;
	uint64_t tree_clock;
	struct hash tree_last;
	size_t heads; /* compared so far */
	bool fit;
};

/* ---- one file, line by line ---- */

/* The line is written exactly as this program writes receipts.  A line in another spelling was touched by
 * somebody. */
static bool is_spelled(struct arena *a, struct bytes text, const struct json *receipt)
{
	struct buf spelling;

	buf_init(&spelling, a);
	json_canonical(&spelling, receipt);
	return bytes_eq(buf_bytes(&spelling), text);
}

static bool names_key(const struct json *receipt, const struct trusted_key *key)
{
	uint8_t named[KEY_SIZE];

	return key &&
		trust_parse_key(json_get_text(json_get(receipt, "public_key_set"), "ed25519", ""), named) &&
		memcmp(named, key->key, KEY_SIZE) == 0;
}

/* A line is good when it is unchanged under the key it names and belongs to our chain; it is trusted when
 * that key is ours.  The chain is the session of the first trusted receipt, so somebody else's chain at
 * the beginning of a file cannot take its place.  The scratch arena is freed per line; only the facts in
 * *l stay. */
static void judge_line(struct planning *p, struct line *l, struct bytes text)
{
	AUTO(arena_done) struct arena scratch = { 0 };
	struct trust anyone = { .allow_self_attested = true };
	struct verification v;
	struct json *receipt;

	verification_begin(&v, &scratch, &p->trust, "receipt");
	bool is_trusted =
		verify_receipt_line(&v, text, "line", &receipt, &l->chain) && v.trusted == ANSWER_YES;
	/* By the key it names, in the form of today: then a second verification could say nothing else. */
	if (!is_trusted || v.integrity != ANSWER_YES || v.is_legacy || !names_key(receipt, v.signer_key)) {
		verification_begin(&v, &scratch, &anyone, "receipt");
		if (!verify_receipt_line(&v, text, "line", &receipt, &l->chain) || v.integrity != ANSWER_YES)
			return;
	}
	if (!is_spelled(&scratch, text, receipt))
		return;
	int64_t clock = json_get_int(receipt, "lamport_clock", 0);
	const char *prev = json_get_text(receipt, "prev_hash", ""),
		   *session = json_get_text(receipt, "session_id", "");
	if (clock < 1 || (*prev && !hash_from_hex(prev, &l->prev)))
		return;
	l->clock = (uint64_t)clock;
	l->is_trusted = is_trusted;
	if (!p->session && l->is_trusted)
		p->session = arena_strdup(p->a, session);
	l->is_good = p->session && text_eq(p->session, session);
}

static void add_line(struct planning *p, struct line l)
{
	if (p->n == p->cap) {
		size_t cap = p->cap ? 2 * p->cap : 1024;
		p->lines = arena_grow(p->a, p->lines, p->cap * sizeof(*p->lines), cap * sizeof(*p->lines));
		p->cap = cap;
	}
	p->lines[p->n++] = l;
}

/* Where the object that begins here ends, or 0: braces are counted, but for those in strings. */
static size_t object_end(struct bytes text)
{
	bool is_string = false;
	size_t depth = 0;

	for (size_t i = 0; i < text.n; i++) {
		char c = (char)text.p[i];
		if (is_string) {
			i += c == '\\';
			is_string = c != '"';
		} else if (c == '"') {
			is_string = true;
		} else if (c == '{') {
			depth++;
		} else if (c == '}' && --depth == 0) {
			return i + 1;
		}
	}
	return 0;
}

/* The next receipt inside of a line that is none as a whole; every receipt that was written here begins so. */
static bool find_inside(struct planning *p, struct bytes text, size_t from, struct line *ret)
{
	static const char start[] = "{\"args_hash\":\"";
	const uint8_t *at = text.p + from;

	while ((at = memmem(at, text.n - (size_t)(at - text.p), start, strlen(start)))) {
		size_t end = object_end((struct bytes){ at, text.n - (size_t)(at - text.p) });
		*ret = (struct line){ .at = (off_t)(at - text.p), .n = (off_t)end };
		if (end)
			judge_line(p, ret, (struct bytes){ at, end });
		if (ret->is_good)
			return true;
		at++;
	}
	return false;
}

/* Cuts a line into receipts and what lies between them.  A receipt that is not the last thing on the line takes the line's
 * newline with it all the same: bytes are copied, and may be copied twice. */
static bool split_line(struct planning *p, off_t offset, struct bytes text)
{
	struct line l;
	size_t done = 0;

	while (find_inside(p, text, done, &l)) {
		size_t start = (size_t)l.at, end = start + (size_t)l.n;
		if (start > done)
			add_line(p, (struct line){ .at = offset + (off_t)done, .n = (off_t)(start - done) });
		l.at += offset;
		if (end == text.n)
			l.n++;
		else
			l.newline = offset + (off_t)text.n;
		add_line(p, l);
		done = end;
	}
	if (done && done < text.n)
		add_line(p, (struct line){ .at = offset + (off_t)done, .n = (off_t)(text.n - done) + 1 });
	return done > 0;
}

/* Collects the lines of one file.  A line without its newline is what a crash left: it counts when it is a receipt all the same. */
static int take_line(
	void *arg, off_t offset, uint64_t number, struct bytes text, bool is_whole, struct err *e)
{
	struct planning *p = arg;
	struct line l = { .at = offset, .n = (off_t)text.n + (is_whole ? 1 : 0) };

	(void)number;
	(void)e;
	/* The newline it lacks is that of the line before. */
	if (!is_whole)
		l.newline = offset - 1;
	if (is_whole || offset > 0)
		judge_line(p, &l, text);
	if (l.is_good || !is_whole || !split_line(p, offset, text))
		add_line(p, l);
	return OK;
}

/* Lines that are no receipt have clock 0 and come first. */
static int by_clock(const void *x, const void *y)
{
	const struct line *a = x, *b = y;

	if (a->clock != b->clock)
		return a->clock < b->clock ? -1 : 1;
	return a->at < b->at ? -1 : 1;
}

/* ---- which of them stay ---- */

/* Of several with one clock: the one that the next receipt continues, else the first.  *ret_end is behind
 * the last of them. */
static size_t choose(const struct line *v, size_t n, size_t first, size_t *ret_end)
{
	size_t end = first + 1;

	while (end < n && v[end].clock == v[first].clock)
		end++;
	*ret_end = end;
	for (size_t i = first; i < end; i++)
		for (size_t k = end; v[i].is_good && k < n && v[k].clock == v[first].clock + 1; k++)
			if (v[k].is_good && hash_eq(&v[k].prev, &v[i].chain))
				return i;
	while (first + 1 < end && !v[first].is_good)
		first++;
	return first;
}

/* The leaves of lost receipts.  That of the last one follows from the hash the next receipt carries, which
 * is signed.  The others are taken as they are stored, or marked as unknown. */
static void fill_leaves(struct planning *p, struct gap *g, const struct hash *prev)
{
	uint64_t lost = g->next - g->after - 1;
	char text[LEAF_TEXT];

	g->leaves = arena_zalloc(p->a, lost + 1, sizeof(*g->leaves));
	for (uint64_t i = 0; i < lost; i++) {
		off_t at = (off_t)((g->after + i) * LEAF_TEXT);
		if (p->cut->leaves.fd < 0 ||
			log_file_read(p->cut, &p->cut->leaves, text, LEAF_TEXT, at, NULL) ||
			text[64] != '\n' || !hex_decode(text, 64, g->leaves[i].b, SHA256_SIZE, true))
			g->leaves[i] = gap_unknown_leaf();
	}
	if (lost)
		g->leaves[lost - 1] = merkle_leaf(prev->b, SHA256_SIZE);
}

/* Puts a hole into the plan unless an earlier repair has put it on record. */
static int add_gap(struct planning *p, const struct line *l, struct err *e)
{
	struct gaps *to = &p->plan.gaps;
	struct gap g = {
		.after = p->plan.clock, .next = l->clock, .before = p->plan.last, .behind = l->chain
	};

	if (gaps_find(&p->known, g.after, &g.before, g.next, &g.behind))
		return OK; /* on record already */
	if (g.next - g.after > GAP_MOST)
		return err_set(e, E_LIMIT, "LOG_REPAIR", "receipt %llu is too far from the one before it",
			(unsigned long long)l->clock);
	fill_leaves(p, &g, &l->prev);
	if (to->n == to->cap) {
		size_t cap = to->cap ? 2 * to->cap : 8;
		to->list = arena_grow(p->a, to->list, to->cap * sizeof(g), cap * sizeof(g));
		to->cap = cap;
	}
	to->list[to->n++] = g;
	return OK;
}

/* The line follows the last one that was kept.  The very first receipt has no predecessor. */
static bool continues(const struct planning *p, const struct line *l)
{
	static const struct hash none;

	return l->clock == p->plan.clock + 1 && hash_eq(&l->prev, p->plan.clock ? &p->plan.last : &none);
}

/* What the chain was before its newest receipt, so that the newest can be taken back. */
struct step {
	struct line *line; /* that receipt; NULL: it is in another file */
	uint64_t clock;
	struct hash last;
};

/* The next receipt is trusted and names another predecessor than the newest one kept.  So the newest was
 * changed in a member that only the chain hash covers: its own signature still verifies, but it is not
 * what was recorded.  It is taken out again. */
static void doubt_newest(struct planning *p, const struct step *newest, const struct line *next)
{
	if (!newest->line || next->clock != p->plan.clock + 1 || !next->is_trusted)
		return;
	newest->line->is_kept = false;
	p->plan.clock = newest->clock;
	p->plan.last = newest->last;
}

/* Goes through the receipts by clock and keeps those that continue the chain.  One that does not continue
 * it is kept only when it is trusted, with a gap before it; otherwise anybody could tear a hole by adding
 * a line. */
static int keep_lines(struct planning *p, struct line *v, size_t n, struct err *e)
{
	struct step newest = { 0 };
	int rc = OK;

	for (size_t i = 0, end; rc == OK && i < n; i = end) {
		struct line *l = &v[choose(v, n, i, &end)];
		if (!l->is_good || l->clock <= p->plan.clock)
			continue;
		if (!continues(p, l) && !l->is_trusted)
			continue; /* nobody we know says that it belongs here */
		if (!continues(p, l)) {
			doubt_newest(p, &newest, l);
			rc = add_gap(p, l, e);
		}
		l->is_kept = true;
		newest = (struct step){ l, p->plan.clock, p->plan.last };
		p->plan.clock = l->clock;
		p->plan.last = l->chain;
	}
	return rc;
}

/* ---- the file as it will be ---- */

static int by_place(const void *x, const void *y)
{
	const struct line *a = x, *b = y;

	return a->at < b->at ? -1 : a->at > b->at;
}

/* Lines that stand next to each other, in the order given, are one run of bytes.  Counted first: of a sound file with thousands of lines
 * one run is kept. */
static size_t put_runs(const struct line *v, size_t n, bool kept, struct log_run *runs)
{
	struct log_run last = { 0, 0 };
	size_t count = 0;

	for (size_t i = 0; i < n; i++) {
		if (v[i].is_kept != kept)
			continue;
		if (count && last.at + last.n == v[i].at)
			last.n += v[i].n;
		else {
			last = (struct log_run){ v[i].at, v[i].n };
			count++;
		}
		if (runs)
			runs[count - 1] = last;
		if (!kept || !v[i].newline)
			continue;
		last = (struct log_run){ v[i].newline, 1 };
		if (runs)
			runs[count] = last;
		count++;
	}
	return count;
}

static struct log_run *runs_of(struct planning *p, const struct line *v, size_t n, bool kept, size_t *ret_n)
{
	struct log_run *runs = arena_zalloc(p->a, put_runs(v, n, kept, NULL) + 1, sizeof(*runs));

	*ret_n = put_runs(v, n, kept, runs);
	return runs;
}

/* Kept lines are collected in the order of clocks, in which they will be written; those that go out in the
 * order of the file, in which they are set aside. */
static int plan_file(struct planning *p, const struct log_file *f, struct err *e)
{
	struct log_mend *m = &p->plan.files[p->plan.n];
	size_t gaps = p->plan.gaps.n;

	p->file = f;
	p->n = 0;
	int rc = log_file_lines(p->cut, f, take_line, p, e);
	if (rc || !p->n)
		return rc;
	qsort(p->lines, p->n, sizeof(*p->lines), by_clock);
	rc = keep_lines(p, p->lines, p->n, e);
	if (rc)
		return rc;
	*m = (struct log_mend){ .file = f->name, .size_bytes = f->size_bytes };
	m->kept = runs_of(p, p->lines, p->n, true, &m->kept_n);
	qsort(p->lines, p->n, sizeof(*p->lines), by_place);
	m->out = runs_of(p, p->lines, p->n, false, &m->out_n);
	/* A file that only lacks something is also part of the plan: what is left of it goes on record. */
	bool is_same = !m->out_n && m->kept_n == 1 && p->plan.gaps.n == gaps;
	p->plan.n += !is_same;
	return OK;
}

/* The first file that is another one than it was when it was planned for. */
static size_t first_changed(const struct planning *p)
{
	size_t i = 0;

	for (; i < p->stand_n && i < p->cut->n; i++) {
		const struct file_mark *x = &p->stands[i].mark, *y = &p->cut->chain[i].mark;
		if (!text_eq(p->stands[i].name, p->cut->chain[i].name) || memcmp(x, y, sizeof(*x)) != 0)
			break;
	}
	return i;
}

/* Back to what the plan was before the first file that is not the same, at least before the newest, and room for the files that are
 * there now. */
static void go_back(struct planning *p)
{
	struct log_mend *files = arena_zalloc(p->a, p->cut->n + 2, sizeof(*files));
	struct stand *stands = arena_zalloc(p->a, p->cut->n + 1, sizeof(*stands));

	p->from = first_changed(p);
	if (p->from && p->from == p->stand_n)
		p->from--;
	if (p->from < p->stand_n) {
		const struct stand *at = &p->stands[p->from];
		p->plan.clock = at->clock;
		p->plan.last = at->last;
		p->plan.n = at->files;
		p->plan.gaps.n = at->gaps;
		p->session = at->session;
	}
	if (p->plan.n)
		memcpy(files, p->plan.files, p->plan.n * sizeof(*files));
	if (p->stand_n) /* also the one before which it goes on */
		memcpy(stands, p->stands, (p->from + 1) * sizeof(*stands));
	p->plan.files = files;
	p->stands = stands;
}

/* Only until the session is known: then an error ends the walk. */
static int seek_session(
	void *arg, off_t offset, uint64_t number, struct bytes text, bool is_whole, struct err *e)
{
	struct planning *p = arg;
	struct line l = { 0 };

	(void)offset;
	(void)number;
	(void)is_whole;
	judge_line(p, &l, text);
	return p->session ? err_set(e, E_LIMIT, "LOG_SESSION", "found") : OK;
}

/* The first receipts may be of a key that does not count any more.  They are ours all the same when one that counts continues them, so
 * which chain it is must be known before the first of them is judged. */
static int find_session(struct planning *p, struct err *e)
{
	struct err why = { 0 };
	int rc = OK;

	for (size_t i = 0; rc == OK && !p->session && i < p->cut->n; i++)
		rc = log_file_lines(p->cut, &p->cut->chain[i], seek_session, p, &why);
	if (!rc || p->session)
		return OK;
	*e = why;
	return rc;
}

/* Files in the order of the chain, since each continues the one before. */
static int plan_files(struct planning *p, struct err *e)
{
	int rc = find_session(p, e);

	for (size_t i = p->from; rc == OK && i < p->cut->n; i++) {
		struct stand *at = &p->stands[i];
		at->name = p->cut->chain[i].name;
		at->mark = p->cut->chain[i].mark;
		at->clock = p->plan.clock;
		at->last = p->plan.last;
		at->files = p->plan.n;
		at->gaps = p->plan.gaps.n;
		at->session = p->session;
		rc = plan_file(p, &p->cut->chain[i], e);
	}
	p->plan.chain_id = p->session && p->plan.clock ? p->session : "";
	return rc;
}

/* Heads that were signed earlier must fit the tree with the stored leaves of the lost receipts.  If they
 * do not, some stored leaf is wrong and it is unknown which: heads and leaves both go.  The last leaf of
 * each gap stays, since it follows from a signed receipt. */
static void settle_heads(struct planning *p, const struct log_report *report, bool fit)
{
	p->plan.drops_anchors = report->has_wrong_anchors;
	p->plan.anew_from = report->rewritten_from;
	p->plan.heads_lost = report->lost_heads;
	p->plan.drops_heads = !fit;
	if (fit && p->bad_heads.out_n)
		p->plan.files[p->plan.n++] = p->bad_heads;
	for (size_t i = 0; !fit && i < p->plan.gaps.n; i++) {
		struct gap *g = &p->plan.gaps.list[i];
		for (uint64_t k = 0; k + g->after + 2 < g->next; k++)
			g->leaves[k] = gap_unknown_leaf();
	}
}

/* ---- would the heads still be true? ---- */

/* The tree as it will be after the repair, grown receipt by receipt, to be compared with the heads. */
struct growing {
	struct planning *p;
	const struct log_mend *file; /* what stays of the file being read; NULL: all of it */
	struct merkle tree;
	uint64_t clock;
	struct hash last;
	struct said_head {
		int64_t size;
		struct hash root;
		bool has_root;
	} * heads; /* by the size they speak of */
	size_t heads_n, heads_cap, at;
	bool fit;
	char lines[LEAVES_AT_ONCE * LEAF_TEXT + 1]; /* on their way to the file */
	size_t lines_n;
};

/* Without the file the leaves are made again from the receipts. */
static void put_leaves(struct growing *g)
{
	struct planning *p = g->p;
	size_t n = g->lines_n * LEAF_TEXT;

	for (size_t done = 0; p->leaves_fd >= 0 && done < n;) {
		ssize_t put = p->sys->write(p->sys, p->leaves_fd, g->lines + done, n - done);
		if (put < 0)
			p->leaves_fd = -1; /* whoever opened it closes it */
		done += put < 0 ? 0 : (size_t)put;
	}
	g->lines_n = 0;
}

/* Adds a leaf and compares every head of that size. */
static void grow(struct growing *g, const struct hash *leaf)
{
	char *line = g->lines + g->lines_n * LEAF_TEXT;

	hex_encode(leaf->b, SHA256_SIZE, line);
	line[LEAF_TEXT - 1] = '\n';
	if (++g->lines_n == LEAVES_AT_ONCE)
		put_leaves(g);
	merkle_append(&g->tree, leaf);
	for (; g->at < g->heads_n && (uint64_t)g->heads[g->at].size == g->tree.size; g->at++) {
		struct hash root = merkle_head(&g->tree);
		g->fit = g->fit && g->heads[g->at].has_root && hash_eq(&root, &g->heads[g->at].root);
	}
}

/* Is the line at this place one of those that the plan keeps? */
static bool stays(const struct log_mend *m, off_t at)
{
	for (size_t i = 0; m && i < m->kept_n; i++)
		if (at >= m->kept[i].at && at < m->kept[i].at + m->kept[i].n)
			return true;
	return !m;
}

/* One receipt of the chain as it is now.  Those that do not continue what was grown so far do not stay. */
static void grow_receipt(struct growing *g, struct bytes text)
{
	AUTO(arena_done) struct arena scratch = { 0 };
	struct json *receipt;
	struct hash chain;

	if (json_parse(&scratch, text, "line", NULL, &receipt, NULL) ||
		receipt_chain_hash(&scratch, receipt, chain.b, NULL))
		return;
	uint64_t clock = (uint64_t)json_get_int(receipt, "lamport_clock", 0);
	const struct gap *gap = gaps_find(&g->p->plan.gaps, g->clock, &g->last, clock, &chain);
	if (!gap)
		gap = gaps_find(&g->p->known, g->clock, &g->last, clock, &chain);
	if (clock != g->clock + 1 && !gap)
		return;
	for (uint64_t i = 0; gap && i + gap->after + 1 < gap->next; i++)
		grow(g, &gap->leaves[i]);
	struct hash leaf = merkle_leaf(chain.b, SHA256_SIZE);
	grow(g, &leaf);
	g->clock = clock;
	g->last = chain;
}

/* A line that stays, or the receipts inside of one that stay. */
static int grow_line(
	void *arg, off_t offset, uint64_t number, struct bytes text, bool is_whole, struct err *e)
{
	struct growing *g = arg;
	struct line inside;
	size_t done = 0;

	(void)number;
	(void)e;
	if (!is_whole && !(g->file && stays(g->file, offset)))
		return OK;
	if (stays(g->file, offset) && stays(g->file, offset + (off_t)text.n)) {
		grow_receipt(g, text);
		if (!g->file || text.n == 0 || object_end(text) == text.n)
			return OK;
	}
	while (g->file && find_inside(g->p, text, done, &inside)) {
		done = (size_t)(inside.at + inside.n);
		if (stays(g->file, offset + inside.at))
			grow_receipt(g, (struct bytes){ text.p + inside.at, (size_t)inside.n });
	}
	return OK;
}

/* Did the check say that this line is no signed head? */
static bool is_bad_head(const struct planning *p, uint64_t number)
{
	for (size_t i = 0; i < p->report->bad_head_n; i++)
		if (p->report->bad_heads[i] == number)
			return true;
	return false;
}

static void add_run(struct planning *p, struct log_run **runs, size_t *n, off_t at, off_t bytes)
{
	if (*n && (*runs)[*n - 1].at + (*runs)[*n - 1].n == at) {
		(*runs)[*n - 1].n += bytes;
		return;
	}
	*runs = arena_grow(p->a, *runs, *n * sizeof(**runs), (*n + 1) * sizeof(**runs));
	(*runs)[(*n)++] = (struct log_run){ at, bytes };
}

/* A head that the check found bad goes out, and the others stay.  One that cannot be read for another reason does not fit; an
 * incomplete last line does no harm. */
static int take_head(
	void *arg, off_t offset, uint64_t number, struct bytes text, bool is_whole, struct err *e)
{
	AUTO(arena_done) struct arena scratch = { 0 };
	struct growing *g = arg;
	struct log_mend *m = &g->p->bad_heads;
	struct json *head;
	bool is_bad = is_bad_head(g->p, number);

	(void)e;
	add_run(g->p, is_bad ? &m->out : &m->kept, is_bad ? &m->out_n : &m->kept_n, offset,
		(off_t)text.n + is_whole);
	if (is_bad)
		return OK;
	if (!is_whole || json_parse(&scratch, text, HEADS, NULL, &head, NULL)) {
		g->fit = g->fit && !is_whole;
		return OK;
	}
	if (g->heads_n == g->heads_cap) {
		size_t cap = g->heads_cap ? 2 * g->heads_cap : 256, size = sizeof(*g->heads);
		g->heads = arena_grow(g->p->a, g->heads, g->heads_cap * size, cap * size);
		g->heads_cap = cap;
	}
	struct said_head *to = &g->heads[g->heads_n++];
	to->size = json_get_int(head, "tree_size", -1);
	to->has_root = hash_from_hex(json_get_text(head, "root_hash", ""), &to->root);
	return OK;
}

/* The heads that were compared before are still those, when their file only grew. */
static bool are_heads_kept(const struct planning *p)
{
	const struct file_mark *was = &p->heads, *now = &p->cut->heads.mark;

	return was->dev == now->dev && was->ino == now->ino && was->size_bytes <= now->size_bytes;
}

static int by_head_size(const void *x, const void *y)
{
	const struct said_head *a = x, *b = y;

	return (a->size > b->size) - (a->size < b->size);
}

/* True when every stored head is reached and has the root of the repaired tree.  Judged only where lines
 * stay in their order: after a reordering the heads do not fit, and are signed anew. */
static int heads_fit(struct planning *p, bool *ret, struct err *e)
{
	struct growing g = { .p = p, .fit = true };
	size_t from = are_heads_kept(p) ? p->from : 0;

	p->bad_heads = (struct log_mend){ .file = HEADS, .size_bytes = p->cut->heads.size_bytes };
	int rc = log_file_lines(p->cut, &p->cut->heads, take_head, &g, e);

	if (g.heads_n)
		qsort(g.heads, g.heads_n, sizeof(*g.heads), by_head_size);
	if (from) {
		const struct stand *at = &p->stands[from];
		g.tree = at->tree;
		g.clock = at->tree_clock;
		g.last = at->tree_last;
		g.at = at->heads;
		g.fit = g.fit && at->fit;
	}
	p->heads = p->cut->heads.mark;
	off_t held = (off_t)(g.tree.size * LEAF_TEXT);
	if (p->leaves_fd >= 0 &&
		(p->sys->truncate(p->sys, p->leaves_fd, held) ||
			p->sys->seek(p->sys, p->leaves_fd, held, SEEK_SET) != held))
		p->leaves_fd = -1;
	for (size_t i = from; rc == OK && i < p->cut->n; i++) {
		struct stand *at = &p->stands[i];
		at->tree = g.tree;
		at->tree_clock = g.clock;
		at->tree_last = g.last;
		at->heads = g.at;
		at->fit = g.fit;
		g.file = NULL;
		for (size_t k = 0; k < p->plan.n; k++)
			if (text_eq(p->plan.files[k].file, p->cut->chain[i].name))
				g.file = &p->plan.files[k];
		rc = log_file_lines(p->cut, &p->cut->chain[i], grow_line, &g, e);
	}
	put_leaves(&g);
	*ret = g.fit && g.at == g.heads_n && g.clock == p->plan.clock;
	p->plan.has_leaves = rc == OK && *ret && p->leaves_fd >= 0;
	p->plan.leaves_fd = p->leaves_fd;
	p->plan.tree = g.tree;
	return rc;
}

/* ---- all of it ---- */

/* Nothing of a plan that was not finished is gone on with. */
static void forget_plan(struct planning *p)
{
	p->plan = (struct log_plan){ 0 };
	p->known = (struct gaps){ 0 };
	p->session = NULL;
	p->stand_n = 0;
}

/* Known gaps first, since a hole that is on record is no damage; then the files, oldest first; then the
 * heads, which depend on what stays.  When it was made before, only what has changed since is looked at. */
static int make_plan(struct planning *p, const struct log_report *report, struct err *e)
{
	bool fit = false;
	int rc;

	p->plan.why = report->why;
	p->report = report;
	go_back(p);
	struct log_cut rest = *p->cut;
	rest.chain += p->from;
	rest.n -= p->from;
	audit_seams(&rest, p->a, &p->trust, &p->known, NULL);
	rc = plan_files(p, e);
	if (rc == OK)
		rc = heads_fit(p, &fit, e);
	if (rc == OK)
		settle_heads(p, report, fit);
	p->stand_n = p->cut->n;
	if (rc)
		forget_plan(p);
	return rc;
}

static bool is_planned(const struct planning *p)
{
	return p->stand_n && p->stand_n == p->cut->n && first_changed(p) == p->cut->n &&
		memcmp(&p->heads, &p->cut->heads.mark, sizeof(p->heads)) == 0;
}

/* What is to be done about the log as it is now, for the reasons in the report. */
int plan_log(struct planning *p, enum cut_lock lock, const struct log_report *report, struct err *e)
{
	AUTO(log_cut_close)
	struct log_cut cut = { .lock_fd = -1, .leaves = { .fd = -1 }, .heads = { .fd = -1 } };
	int rc = log_cut_take(p->r->sys, p->a, p->r->state_fd, lock, &cut, e);

	p->cut = &cut;
	if (rc == OK && !is_planned(p))
		rc = make_plan(p, report, e);
	p->cut = NULL;
	return rc;
}

static bool has_work(const struct log_plan *plan)
{
	return plan->n || plan->gaps.n || plan->drops_heads || plan->drops_anchors || plan->anew_from ||
		plan->heads_lost;
}

/* The report was made beside writers.  The plan judges every line again, so when it finds work, that is what counts.  Where a plan shows
 * nothing (anchors, a log that was cut, or somebody else was faster) the check is made again under the same lock.  Wrong
 * leaves alone can be made again from the receipts and need no plan. */
static int repair_locked(struct planning *p, const struct log_check_options *options, bool apply,
	struct log_repaired *ret, struct err *e)
{
	bool is_current, is_sure = ret->report.is_damaged && !ret->report.has_wrong_anchors;
	int rc = is_sure ? plan_log(p, CUT_LOCKED, &ret->report, e) : OK;

	if (rc)
		return rc;
	if (!is_sure || !has_work(&p->plan)) {
		ret->report = (struct log_report){ 0 };
		rc = log_check_cut(p->r->sys, p->a, p->r->state_fd, CUT_LOCKED, &p->trust, options,
			&ret->report, &is_current, e);
		if (rc || (!ret->report.is_damaged && !(ret->report.has_wrong_leaves && apply)))
			return rc;
		if (!ret->report.is_damaged)
			return log_remake(p->r, p->a, e);
		forget_plan(p);
		rc = plan_log(p, CUT_LOCKED, &ret->report, e);
	}
	ret->plan = p->plan;
	return rc || !apply ? rc : log_repair(p->r, p->a, &p->plan, &ret->seam, e);
}

/* What the report says of the chain.  A log is looked at beside its writers, who would wait for as long as verifying all of it takes.  When only leaves are wrong they are made
 * again under the lock, without a second look: who makes them follows the chain, and refuses where anything else is wrong by then.
 * Real damage is planned for beside them, too; a plan that is only to be shown needs no lock at all. */
int repair_chain(struct recorder *r, struct arena *a, const struct trust *trust,
	const struct log_check_options *options, bool apply, struct log_repaired *ret, struct err *e)
{
	struct planning p = { .sys = r->sys, .a = a, .r = r, .trust = *trust };

	if (!ret->report.is_damaged && !(ret->report.has_wrong_leaves && apply))
		return OK;
	AUTO(close_fd) int leaves_fd = ret->report.is_damaged ? audit_open_nameless(r->sys) : -1;
	p.leaves_fd = leaves_fd;
	if (ret->report.is_damaged && !ret->report.has_wrong_anchors &&
		plan_log(&p, CUT_MOMENT, &ret->report, &(struct err){ 0 }) == OK && !apply &&
		has_work(&p.plan)) {
		ret->plan = p.plan;
		return OK;
	}
	int rc = recorder_lock(r, e);
	if (rc)
		return rc;
	rc = ret->report.is_damaged ? E_CORRUPT : log_rebuild(r, a, e);
	if (rc == E_CORRUPT)
		rc = repair_locked(&p, options, apply, ret, e);
	recorder_unlock(r);
	return rc;
}
