/* log_check.c — everything that can be known about a chain and its log, at one moment.
 *
 * Nearly all of the time goes into signatures.  So what was verified before, with the same trust, is not read
 * again while its files are as they were (log_verified.c); then the check begins where that one ended.
 *
 * The files are read as they were at that moment (record/cut.c), so that writers are not held up and
 * cannot be mistaken for damage.  One pass in order, some MiB at a time: signatures on all cores, links
 * and clocks, each line against its canonical spelling, each leaf against the stored one.  The tree grows
 * with it, and every head that was ever signed, here and elsewhere, is compared when the tree has its
 * size.  Memory does not grow with the log.
 *
 * Three kinds of findings: damage (what was recorded is lost or changed), untrusted (unchanged, but signed
 * by a key that is not ours), and notices (what a crash may leave and the next writer mends, what can be
 * made again from the chain, and what is lost but on record).  Only damage and untrusted make a log
 * unsound.
 *
 * After a hole that is not on record the rest is still read, so that all damage is told at once; but
 * stored leaves and heads are then not compared, because they would all differ for the same reason. */
#include "audit/checking.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "model/records.h"
#include "proof/preimage.h"
#include "proof/segment.h"

#include <string.h>

enum { STEP_BYTES = 8 << 20, LINE_LIMIT = 64 << 20, LEAVES_AT_ONCE = 1024 };

struct json *finding_add(struct log_checking *c, enum finding kind, const char *text)
{
	return finding_put(c->a, c->report, c->findings, kind, text);
}

/* Texts may come from a damaged file, so control characters are made harmless for a terminal. */
static void set_text(struct log_checking *c, struct json *f, const char *name, const char *value)
{
	if (value && *value)
		json_sets(c->a, f, name, text_safe(c->a, value, strlen(value), false));
}

static void name_line(struct log_checking *c, struct json *f, uint64_t line, uint64_t receipt)
{
	json_sets(c->a, f, "file", c->file);
	json_seti(c->a, f, "line", (int64_t)line);
	json_seti(c->a, f, "receipt", (int64_t)receipt);
}

void finding_member(
	struct log_checking *c, struct json *f, const char *member, const char *expected, const char *found)
{
	set_text(c, f, "member", member);
	set_text(c, f, "expected", expected);
	set_text(c, f, "found", found);
}

/* ---- gaps ---- */

struct seams {
	struct arena *a;
	const struct trust *trust;
	struct gaps *gaps;
	struct json *mended;
};

/* A seam counts only when its metadata is what was signed, and its signer is trusted. */
static int take_seam(void *arg, off_t offset, uint64_t line, struct bytes text, bool is_whole, struct err *e)
{
	AUTO(arena_done) struct arena scratch = { 0 };
	struct seams *s = arg;
	struct verification v;
	struct json *receipt;

	(void)offset;
	(void)line;
	(void)e;
	if (!is_whole || !memmem(text.p, text.n, REPAIR_EFFECT, strlen(REPAIR_EFFECT)) ||
		json_parse(&scratch, text, "seam", NULL, &receipt, NULL) || !gap_is_seam(&scratch, receipt))
		return OK;
	verification_begin(&v, &scratch, s->trust, "receipt");
	verify_receipt(&v, receipt);
	if (v.integrity != ANSWER_YES || v.trusted != ANSWER_YES)
		return OK;
	(void)gaps_take(s->gaps, s->a, receipt);
	json_each (row, json_get(json_get(receipt, "metadata"), "files"))
		if (s->mended)
			json_push(s->a, s->mended, json_copy(s->a, row));
	return OK;
}

void audit_seams(const struct log_cut *cut, struct arena *a, const struct trust *trust, struct gaps *gaps,
	struct json *mended)
{
	struct seams s = { a, trust, gaps, mended };

	/* A file that cannot be read tells of no gap; whoever reads the chain itself says so. */
	for (size_t i = 0; i < cut->n; i++)
		(void)log_file_lines(cut, &cut->chain[i], take_seam, &s, NULL);
}

/* A sound log never pays for this. */
static void load_gaps(struct log_checking *c)
{
	if (c->has_gaps)
		return;
	c->has_gaps = true;
	audit_seams(c->cut, c->a, &c->trust, &c->gaps, c->mended);
	c->trust.gaps = &c->gaps;
}

/* ---- keys ---- */

static const struct trusted_key *find_key(const struct trust *t, const uint8_t key[KEY_SIZE])
{
	for (size_t i = 0; i < t->key_count; i++)
		if (memcmp(t->keys[i].key, key, KEY_SIZE) == 0)
			return &t->keys[i];
	return NULL;
}

struct key_seams {
	struct arena *a;
	const struct json **list;
	size_t n, cap;
};

static int take_key_seam(
	void *arg, off_t offset, uint64_t line, struct bytes text, bool is_whole, struct err *e)
{
	struct key_seams *s = arg;
	struct json *receipt;

	(void)offset;
	(void)line;
	(void)e;
	if (!is_whole || !memmem(text.p, text.n, KEY_EFFECT, strlen(KEY_EFFECT)) ||
		json_parse(s->a, text, "seam", NULL, &receipt, NULL))
		return OK;
	if (s->n == s->cap) {
		size_t cap = s->cap ? 2 * s->cap : 8;
		s->list = arena_grow(s->a, s->list, s->cap * sizeof(*s->list), cap * sizeof(*s->list));
		s->cap = cap;
	}
	s->list[s->n++] = receipt;
	return OK;
}

/* The chain is searched for changes of keys only when a key is met that is not trusted yet, and only once. */
const struct trusted_key *checking_key(struct log_checking *c, const char *hex)
{
	uint8_t key[KEY_SIZE];
	struct key_seams seams = { .a = c->a };

	if (!hex_decode(hex, strlen(hex), key, KEY_SIZE, true))
		return NULL;
	const struct trusted_key *found = find_key(&c->trust, key);
	if (found || c->has_key_seams || !c->trust.key_count)
		return found;
	c->has_key_seams = true;
	for (size_t i = 0; i < c->cut->n; i++)
		(void)log_file_lines(c->cut, &c->cut->chain[i], take_key_seam, &seams, NULL);
	if (trust_add_seams(c->a, seams.list, seams.n, &c->trust))
		c->signer[0] = '\0'; /* what was remembered of a key may have changed */
	return find_key(&c->trust, key);
}

/* Only what the receipt names: whether that key signed it, and whether it may stand here, is asked with the
 * signatures.  Heads are compared with this. */
static void note_signer(struct log_checking *c, const struct json *receipt)
{
	const char *hex = json_get_text(json_get(receipt, "public_key_set"), "ed25519", "");

	if (!text_eq(hex, c->signer)) {
		c->signer_key = checking_key(c, hex);
		snprintf(c->signer, sizeof(c->signer), "%s", hex);
	}
	if (c->signer_key && c->signer_key->order > c->key_order)
		c->key_order = c->signer_key->order;
}

/* ---- the tree, and what was said about it ---- */

/* Reads a window of stored leaves at a time.  False: there is none, or it cannot be read. */
bool stored_leaf(struct log_checking *c, uint64_t i, struct hash *ret)
{
	struct stored_leaves *l = &c->stored;

	if (i >= l->n)
		return false;
	if (!l->step)
		l->step = arena_text(c->a, LEAVES_AT_ONCE * LEAF_TEXT);
	if (i < l->from || i >= l->from + l->held) {
		l->from = i;
		l->held = l->n - i < LEAVES_AT_ONCE ? l->n - i : LEAVES_AT_ONCE;
		if (log_file_read(c->cut, &c->cut->leaves, l->step, l->held * LEAF_TEXT,
			    (off_t)(i * LEAF_TEXT), NULL))
			memset(l->step, 0, l->held * LEAF_TEXT);
	}
	const char *line = l->step + (i - l->from) * LEAF_TEXT;
	return line[64] == '\n' && hex_decode(line, 64, ret->b, SHA256_SIZE, true);
}

/* Compares a leaf with the stored one.  Leaves that cannot be read count as missing, not as wrong. */
static void check_stored(struct log_checking *c, const struct hash *leaf)
{
	struct stored_leaves *l = &c->stored;
	struct hash stored;

	c->is_last_wrong = false;
	if (c->tree.size >= l->n)
		return;
	if (!stored_leaf(c, c->tree.size, &stored))
		l->unreadable++;
	else
		c->is_last_wrong = !hash_eq(&stored, leaf);
	l->wrong += c->is_last_wrong;
}

/* Grows the tree by one leaf and judges every head of that size. */
static void add_leaf(struct log_checking *c, const struct hash *leaf)
{
	struct claims *l = &c->claims;

	if (!c->is_broken)
		check_stored(c, leaf);
	merkle_append(&c->tree, leaf);
	for (; l->at < l->n && l->list[l->at].size <= c->tree.size; l->at++)
		heads_check(c, &l->list[l->at]);
}

/* ---- one line ---- */

static struct json *damage_at(struct log_checking *c, enum finding kind, const char *text)
{
	struct json *f = finding_add(c, kind, text);

	name_line(c, f, c->line, c->n + 1);
	return f;
}

/* A hole on record: its leaves take the place of the lost receipts, so that heads behind it can still be
 * compared. */
static void pass_gap(struct log_checking *c, const struct gap *g)
{
	uint64_t lost = g->next - g->after - 1;
	struct json *f = finding_add(c, FINDING_GAP,
		lost ? arena_printf(c->a, "%llu %s lost before it; a repair has put that on record",
			       (unsigned long long)lost, lost == 1 ? "receipt is" : "receipts are")
		     : arena_strdup(c->a,
			       "it does not continue the receipt before it; a repair has put that on "
			       "record"));

	name_line(c, f, c->line, g->next);
	c->gap_at = g->next;
	for (uint64_t i = 0; i < lost; i++)
		add_leaf(c, &g->leaves[i]);
	c->n = g->next - 1;
	c->lost += lost;
}

/* A hole that nobody has put on record.  Tries to say what happened: receipts missing, a receipt twice,
 * the one before changed (when the log's leaf does not know it either), or a broken link.  Then unknown
 * leaves fill the place, so that the rest is looked at as well as that can be. */
static void pass_hole(struct log_checking *c, uint64_t clock, const char *prev, const char *want)
{
	struct hash unknown = gap_unknown_leaf();

	if (clock > c->n + 1)
		finding_member(c,
			damage_at(c, FINDING_CLOCK, "receipts are missing before it, or out of order"),
			"lamport_clock", arena_printf(c->a, "%llu", (unsigned long long)c->n + 1),
			arena_printf(c->a, "%llu", (unsigned long long)clock));
	else if (clock < c->n + 1)
		finding_member(c, damage_at(c, FINDING_CLOCK, "it stands twice, or out of order"),
			"lamport_clock", arena_printf(c->a, "%llu", (unsigned long long)c->n + 1),
			arena_printf(c->a, "%llu", (unsigned long long)clock));
	else if (c->is_last_wrong && c->line > 1) {
		struct json *f = finding_add(c, FINDING_CHANGED,
			"it was changed: neither the receipt behind it nor the log knows it like this");
		name_line(c, f, c->line - 1, c->n);
		finding_member(c, f, "chain hash", prev, want);
	} else
		finding_member(c,
			damage_at(c, FINDING_LINK_BROKEN,
				"it does not continue the receipt before it: that one or this one was "
				"changed"),
			"prev_hash", want, prev);
	c->is_broken = true;
	for (; clock > c->n + 1 && clock - c->n < LINE_LIMIT; c->n++)
		add_leaf(c, &unknown);
}

/* Whether this receipt continues the chain.  False means that it has no place in it and does not become a
 * leaf. */
static bool check_link(struct log_checking *c, const struct json *receipt, const struct hash *chain)
{
	const char *prev = json_get_text(receipt, "prev_hash", "");
	const char *session = json_get_text(receipt, "session_id", "");
	int64_t clock = json_get_int(receipt, "lamport_clock", -1);
	char want[SHA256_HEX] = ""; /* not in the arena, which would grow with the log */

	if (!c->session)
		c->session = arena_strdup(c->a, session);
	if (!text_eq(session, c->session)) {
		finding_member(c, damage_at(c, FINDING_SESSION, "it belongs to another chain"), "session_id",
			c->session, session);
		c->is_broken = true;
		return false;
	}
	moved_behind(c, receipt);
	if (c->n)
		hex_encode(c->last.b, SHA256_SIZE, want);
	if (clock == (int64_t)c->n + 1 && text_eq(prev, want))
		return true;
	load_gaps(c);
	const struct gap *g = gaps_find(&c->gaps, c->n, &c->last, (uint64_t)clock, chain);
	if (g)
		pass_gap(c, g);
	else
		pass_hole(c, clock < 0 ? 0 : (uint64_t)clock, prev, want);
	return clock == (int64_t)c->n + 1;
}

static bool is_receipt_member(const char *name)
{
	for (size_t i = 0; i < receipt_projection.n; i++)
		if (text_eq(receipt_projection.members[i].name, name))
			return true;
	return false;
}

/* What neither the signature nor the chain hash covers: the spelling of the line, members that no receipt
 * has, and the two members that name its place in the log. */
static void check_unhashed(
	struct log_checking *c, struct arena *a, struct bytes text, const struct json *receipt)
{
	uint8_t pub[SHA256_SIZE];
	const char *key = json_get_text(json_get(receipt, "public_key_set"), "ed25519", "");
	const char *log_id = json_get_text(receipt, "log_id", NULL);
	struct buf spelling;

	buf_init(&spelling, a);
	json_canonical(&spelling, receipt);
	if (!bytes_eq(buf_bytes(&spelling), text))
		(void)damage_at(c, FINDING_SPELLING, "the line is not spelled as it was written");
	json_each_member (m, receipt)
		if (!is_receipt_member(m->name))
			finding_member(c,
				damage_at(c, FINDING_UNKNOWN_MEMBER, "it has a member that nobody wrote"),
				m->name, "no such member", "one");
	if (json_get_int(receipt, "leaf_index", 0) != (int64_t)c->n)
		finding_member(c, damage_at(c, FINDING_LEAF_INDEX, "it names another place in the log"),
			"leaf_index", arena_printf(c->a, "%llu", (unsigned long long)c->n), "another number");
	if (log_id && hex_decode(key, strlen(key), pub, sizeof(pub), false) &&
		!text_eq(log_id, sha256_hex(a, pub, sizeof(pub))))
		finding_member(c, damage_at(c, FINDING_LOG_ID, "it names another log than its signer's"),
			"log_id", sha256_hex(c->a, pub, sizeof(pub)), log_id);
}

/* The closed file differs from what its successor states because a repair took bytes out of it, and it is
 * exactly what that repair left. */
static bool is_mended(struct log_checking *c, const char *file)
{
	load_gaps(c);
	json_each (row, c->mended)
		if (text_eq(json_get_text(row, "file", ""), file) &&
			text_eq(json_get_text(row, "sha256_after", ""), c->previous_sha256))
			return true;
	return false;
}

/* Two receipts tell something about the chain itself: a repair, which is listed in the report, and the
 * first receipt of a new file, which names the file before it and its hash. */
static void check_seam(struct log_checking *c, const struct json *receipt)
{
	const struct json *about = json_get(receipt, "metadata");
	const char *effect = json_get_text(receipt, "effect_id", "");

	if (text_eq(effect, REPAIR_EFFECT)) {
		struct json *seam = json_new(c->a, JSON_OBJECT);
		json_seti(c->a, seam, "receipt", (int64_t)c->n + 1);
		json_sets(c->a, seam, "timestamp", json_get_text(receipt, "timestamp", ""));
		json_sets(c->a, seam, "why", json_get_text(about, "why", ""));
		/* From here on the tree is another one than was signed before. */
		if (json_get(about, "anew_from") || json_get(about, "heads_sha256"))
			json_seti(c->a, seam, "anew_from",
				json_get_int(about, "anew_from",
					json_get_int(
						json_at(json_get(about, "gaps"), 0), "after", (int64_t)c->n) +
						1));
		json_push(c->a, c->seams, seam);
	}
	if (!text_eq(effect, ROTATE_EFFECT) || c->line != 1)
		return;
	const char *named = json_get_text(about, "continues", ""), *hash = json_get_text(about, "sha256", "");
	if (c->gap_at == c->n + 1)
		return; /* what it continues is lost, on record */
	if (!c->previous_file || !text_eq(named, c->previous_file))
		finding_member(c, damage_at(c, FINDING_SEGMENT_MISSING, "the file it continues is not there"),
			"metadata.continues", named, c->previous_file ? c->previous_file : "nothing");
	else if (!text_eq(hash, c->previous_sha256) && !is_mended(c, named))
		finding_member(c,
			finding_add(c, FINDING_SEGMENT_CHANGED,
				arena_printf(c->a, "%s has changed since it was closed", named)),
			"metadata.sha256", hash, c->previous_sha256);
}

/* One line in its place.  A line that is no receipt does not move the clock, so the next receipt shows the
 * hole. */
static void check_line(struct log_checking *c, struct arena *a, struct bytes text)
{
	struct json *receipt;
	struct hash chain;
	struct err e = { 0 };

	if (json_parse(a, text, c->file, NULL, &receipt, &e) || receipt_chain_hash(a, receipt, chain.b, &e)) {
		struct json *f = damage_at(c, FINDING_NO_RECEIPT, "this line is no receipt");
		set_text(c, f, "found", e.text);
		return;
	}
	c->receipts++;
	if (!check_link(c, receipt, &chain))
		return;
	check_unhashed(c, a, text, receipt);
	note_signer(c, receipt);
	check_seam(c, receipt);
	struct hash leaf = merkle_leaf(chain.b, SHA256_SIZE);
	add_leaf(c, &leaf);
	c->n++;
	c->last = chain;
}

/* ---- one file ---- */

/* Some lines of a file, whole ones. */
struct piece {
	struct bytes text;
	uint64_t line, receipt; /* of its first one */
};

/* With trusted keys first.  When that finds damage, once more with the keys the receipts name: then only
 * real damage fails, and its first place is found even when receipts of unknown signers stand before it. */
static void check_signatures(struct log_checking *c, const struct piece *p)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct trust anyone = {
		.allow_self_attested = true, .threads = c->trust.threads, .gaps = c->trust.gaps
	}; /* nobody's keys have no order either */
	struct verification v;

	verification_begin(&v, &a, &c->trust, "receipt chain");
	verify_receipt_lines(&v, p->text, c->file);
	bool is_damage = v.integrity == ANSWER_NO;
	c->trust.key_order = v.key_order;
	if (!is_damage && v.trusted == ANSWER_YES)
		return;
	if (is_damage) {
		verification_begin(&v, &a, &anyone, "receipt chain");
		verify_receipt_lines(&v, p->text, c->file);
	}
	if (!v.error || text_eq(v.error, "closure_failed")) /* links were followed already */
		return;
	uint64_t line = (uint64_t)json_get_int(v.values, "line", 0);
	struct json *f =
		finding_add(c, is_damage ? FINDING_SIGNATURE : FINDING_SIGNER, arena_strdup(c->a, v.text));
	json_sets(c->a, f, "what", v.error); /* as the verifier names it */
	json_sets(c->a, f, "file", c->file);
	if (line)
		name_line(c, f, p->line + line - 1, p->receipt + line - 1);
	finding_member(c, f, v.member, v.expected, v.found);
}

/* Links are followed line by line, signatures are verified for the whole piece at once on several threads. */
static void check_piece(struct log_checking *c, struct bytes text)
{
	AUTO(arena_done) struct arena scratch = { 0 };
	struct piece p = { text, c->line + 1, c->n + 1 };

	for (struct bytes rest = text; rest.n; arena_reset(&scratch)) {
		c->line++;
		check_line(c, &scratch, text_cut(&rest, '\n'));
	}
	check_signatures(c, &p);
	c->done_bytes += text.n;
	if (c->options->step)
		c->options->step(c->options->arg, c->done_bytes, c->total_bytes);
}

static void note_torn(struct log_checking *c)
{
	json_sets(c->a,
		finding_add(c, FINDING_TORN,
			"the last line was never completed; nobody was told that it is there, and the next "
			"writer sets it aside"),
		"file", c->file);
}

/* Reads whole lines, some MiB at a time; a line that does not fit makes the buffer grow up to a limit.
 * *ret_whole counts bytes up to the last newline: an incomplete last line is not part of the file's hash. */
static int read_pieces(struct log_checking *c, const struct log_file *f, off_t from, struct sha256 *digest,
	off_t *ret_whole, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	size_t cap = STEP_BYTES, held = 0;
	char *hold = arena_text(&a, cap);

	*ret_whole = from;
	for (off_t at = from; at < f->size_bytes;) {
		size_t n = cap - held;
		if ((off_t)n > f->size_bytes - at)
			n = (size_t)(f->size_bytes - at);
		int rc = log_file_read(c->cut, f, hold + held, n, at, e);
		if (rc)
			return rc;
		at += (off_t)n;
		held += n;
		const char *end = memrchr(hold, '\n', held);
		size_t whole = end ? (size_t)(end - hold) + 1 : 0;
		if (whole) {
			sha256_add(digest, hold, whole);
			check_piece(c, (struct bytes){ (uint8_t *)hold, whole });
			*ret_whole += (off_t)whole;
			memmove(hold, hold + whole, held - whole);
			held -= whole;
		} else if (held == cap && cap < LINE_LIMIT) {
			hold = arena_grow(&a, hold, cap, 2 * cap);
			cap *= 2;
		} else if (held == cap) {
			c->line++;
			(void)damage_at(c, FINDING_NO_RECEIPT, "this line is longer than any receipt");
			return OK;
		}
	}
	/* No proper beginning of a JSON object is one: what reads as one is a whole line whose newline was lost, and the next writer
	 * adds it.  Anything else was never completed. */
	struct json *whole;
	struct bytes rest = { (uint8_t *)hold, held };
	if (held && hold[0] == '{' && json_parse(&a, rest, f->name, NULL, &whole, NULL) == OK)
		check_piece(c, rest);
	else if (held)
		note_torn(c);
	return OK;
}

/* The part of a file that was verified before must have the bytes it had then; it goes through the digest of
 * the file, and no further. */
static int hash_known(struct log_checking *c, const struct log_file *f, struct sha256 *digest, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	char *step = arena_text(&a, STEP_BYTES / 8);
	struct sha256 so_far;
	struct hash found;
	int rc = OK;

	for (off_t at = 0; rc == OK && at < c->known.at;) {
		size_t n = STEP_BYTES / 8;
		if ((off_t)n > c->known.at - at)
			n = (size_t)(c->known.at - at);
		rc = log_file_read(c->cut, f, step, n, at, e);
		if (rc == OK)
			sha256_add(digest, step, n);
		at += (off_t)n;
	}
	so_far = *digest;
	sha256_end(&so_far, found.b);
	c->is_doubted |= rc == OK && !hash_eq(&found, &c->known.digest);
	return rc;
}

/* Keeps name and hash of the file for the first receipt of the next one. */
static int check_file(struct log_checking *c, const struct log_file *f, bool is_resumed, struct err *e)
{
	struct json *row = json_new(c->a, JSON_OBJECT);
	uint64_t before = c->receipts;
	struct sha256 digest;
	struct hash hash;
	off_t whole;
	int rc = OK;

	c->file = f->name;
	c->line = is_resumed ? c->known.line : 0;
	sha256_begin(&digest);
	if (is_resumed)
		rc = hash_known(c, f, &digest, e);
	if (rc == OK && !c->is_doubted)
		rc = read_pieces(c, f, is_resumed ? c->known.at : 0, &digest, &whole, e);
	if (rc || c->is_doubted)
		return rc;
	sha256_end(&digest, hash.b);
	c->previous_file = f->name;
	c->previous_sha256 = hash_hex(c->a, &hash);
	c->skipped = NULL;
	json_sets(c->a, row, "file", f->name);
	json_seti(c->a, row, "receipts",
		(int64_t)(c->receipts - before) + (is_resumed ? (int64_t)c->known.line : 0));
	json_seti(c->a, row, "bytes", (int64_t)whole);
	json_sets(c->a, row, "sha256", c->previous_sha256);
	if (f->moved_to)
		json_sets(c->a, row, "archived_to", f->moved_to);
	json_push(c->a, c->files, row);
	return OK;
}

static int check_files(struct log_checking *c, struct err *e)
{
	int rc = OK;

	for (size_t i = c->known.first; i < c->cut->n; i++)
		c->total_bytes += (uint64_t)c->cut->chain[i].size_bytes;
	c->total_bytes -= (uint64_t)c->known.at;
	for (size_t i = c->known.first; rc == OK && i < c->cut->n && !c->is_doubted; i++) {
		const struct log_file *f = &c->cut->chain[i];
		if (f->moved && f->fd < 0)
			moved_pass(c, f);
		else
			rc = check_file(c, f, c->known.doc && i == c->known.first, e);
	}
	return rc;
}

/* ---- leaves ---- */

/* Leaves are made from receipts and can be made again: where they differ, it is they that are wrong.
 * There are two exceptions.  Leaves behind the end of the chain say that there were receipts.  And when
 * most leaves differ, it is the receipts that were exchanged. */
static void conclude_leaves(struct log_checking *c)
{
	struct stored_leaves *l = &c->stored;
	uint64_t missing = l->unreadable + (l->n < c->tree.size ? c->tree.size - l->n : 0);

	/* The newest receipt has none behind it that confirms what its signature does not cover: a head does, the edge, or only its leaf.
	 * Writers judge it in the same way (record/examine.c). */
	if (c->is_last_wrong && !c->is_broken && c->confirmed < c->tree.size &&
		!(c->session && log_left_confirms(&c->cut->left, c->session, c->n, &c->last))) {
		name_line(c,
			finding_add(c, FINDING_CHANGED,
				"the newest receipt is not the one the log knows: it was changed"),
			c->line, c->n);
		l->wrong--;
	}
	if (l->n > c->tree.size && !c->is_broken)
		(void)finding_add(c, FINDING_RECEIPTS_LOST,
			arena_printf(c->a,
				"the log knows %llu receipts behind the last one: they were cut off",
				(unsigned long long)(l->n - c->tree.size)));
	if (l->wrong > 1 && 2 * l->wrong > c->tree.size)
		(void)finding_add(c, FINDING_OTHER_HISTORY,
			"these are not the receipts the log knows: another history has taken their place");
	else if (l->wrong) {
		c->report->has_wrong_leaves = true;
		(void)finding_add(c, FINDING_LEAVES_WRONG,
			arena_printf(c->a,
				"%llu leaves are not those of their receipts; 'helm log repair' makes them "
				"again",
				(unsigned long long)l->wrong));
	}
	if (missing)
		(void)finding_add(c, FINDING_LEAVES_MISSING,
			arena_printf(c->a, "%llu leaves are not written; the next writer makes them again",
				(unsigned long long)missing));
}

/* ---- the answer ---- */

static int64_t place_of(const struct json *finding)
{
	return json_get_int(finding, "receipt", INT64_MAX);
}

/* By place in the chain; those without a place come last.  Insertion keeps the order in which equal ones
 * were found, and there are at most a thousand. */
static void sort_findings(struct log_checking *c)
{
	struct json **items = c->findings->items;

	for (uint32_t i = 1; i < c->findings->n; i++) {
		struct json *f = items[i];
		uint32_t k = i;
		for (; k > 0 && place_of(items[k - 1]) > place_of(f); k--)
			items[k] = items[k - 1];
		items[k] = f;
	}
}

/* The first damage in one sentence. */
static char *why_damaged(struct log_checking *c)
{
	json_each (f, c->findings)
		if (text_eq(json_get_text(f, "severity", ""), "damage")) {
			int64_t receipt = place_of(f);
			const char *text = json_get_text(f, "text", "");
			return receipt == INT64_MAX
				? arena_strdup(c->a, text)
				: arena_printf(c->a, "receipt %lld: %s", (long long)receipt, text);
		}
	return arena_strdup(c->a, "");
}

static void answer(struct log_checking *c, struct json *doc, const struct json *anchors, size_t heads)
{
	struct log_report *r = c->report;
	struct hash root = merkle_head(&c->tree);

	sort_findings(c);
	r->why = r->is_damaged ? why_damaged(c) : "";
	r->receipts = c->receipts;
	json_setb(c->a, doc, "sound", r->is_sound);
	json_setb(c->a, doc, "damaged", r->is_damaged);
	r->archived = c->archived;
	json_seti(c->a, doc, "receipts", (int64_t)c->receipts);
	if (c->known.doc) {
		struct json *before = json_new(c->a, JSON_OBJECT);
		r->receipts_before = (uint64_t)json_get_int(c->known.doc, "receipts", 0);
		r->before = json_get_text(c->known.doc, "verified_at", "");
		r->file_before = c->cut->chain[c->known.first].name;
		json_seti(c->a, before, "receipts", (int64_t)r->receipts_before);
		json_sets(c->a, before, "at", r->before);
		json_set(c->a, doc, "verified_before", before);
	}
	if (c->archived)
		json_seti(c->a, doc, "archived_receipts", (int64_t)c->archived);
	if (c->lost)
		json_seti(c->a, doc, "lost_on_record", (int64_t)c->lost);
	json_seti(c->a, doc, "heads", (int64_t)heads);
	json_set(c->a, doc, "anchors", json_copy(c->a, anchors));
	json_seti(c->a, doc, "tree_size", (int64_t)c->tree.size);
	json_sets(c->a, doc, "root_hash", hash_hex(c->a, &root));
	json_set(c->a, doc, "files", c->files);
	json_set(c->a, doc, "repairs", c->seams);
	json_set(c->a, doc, "findings", c->findings);
	if (r->omitted)
		json_seti(c->a, doc, "findings_omitted", (int64_t)r->omitted);
}

/* One look at the log.  Anchors, then the moment itself, then heads, then the chain, then what only the
 * end can tell.  E_IO LOG_MOVED when an append was taken back while it was read. */
static int look(struct log_checking *c, int state_fd, enum cut_lock lock, struct err *e)
{
	AUTO(log_cut_close)
	struct log_cut cut = { .lock_fd = -1, .leaves = { .fd = -1 }, .heads = { .fd = -1 } };
	struct json *doc = json_new(c->a, JSON_OBJECT), *anchors = json_new(c->a, JSON_ARRAY);

	*c->report = (struct log_report){ .is_sound = true, .doc = doc };
	c->trusted = verified_trust(c->a, &c->trust);
	heads_collect_anchors(c, state_fd, anchors);
	int rc = log_cut_take(c->sys, c->a, state_fd, lock, &cut, e);
	if (rc)
		return rc;
	c->cut = &cut;
	c->stored.n = (uint64_t)cut.leaves.size_bytes / LEAF_TEXT;
	verified_resume(c);
	verified_claim(c);
	size_t before = c->claims.n;
	rc = heads_read(c, e);
	size_t heads = c->claims.n - before + (size_t)json_get_int(c->known.doc, "heads", 0);
	verified_claims(c);
	if (rc == OK && !c->is_doubted)
		rc = check_files(c, e);
	if (rc || c->is_doubted)
		return rc;
	conclude_leaves(c);
	heads_conclude(c);
	heads_conclude_count(c);
	answer(c, doc, anchors, heads);
	verified_keep(c);
	c->is_current = lock != CUT_MOMENT || log_cut_is_current(&cut);
	return OK;
}

/* *ret_is_doubted: what was verified before is not what is there now, or anything was found: all of it is to be
 * read. */
static int look_once(struct sys *s, struct arena *a, int state_fd, enum cut_lock lock,
	const struct trust *trust, const struct log_check_options *options, struct log_report *ret,
	bool *ret_is_current, bool *ret_is_doubted, struct err *e)
{
	struct log_checking c = { .sys = s,
		.a = a,
		.trust = *trust,
		.options = options,
		.report = ret,
		.findings = json_new(a, JSON_ARRAY),
		.files = json_new(a, JSON_ARRAY),
		.mended = json_new(a, JSON_ARRAY),
		.seams = json_new(a, JSON_ARRAY) };
	int rc = look(&c, state_fd, lock, e);

	*ret_is_current = c.is_current;
	*ret_is_doubted = c.is_doubted || (rc == OK && c.known.doc && !ret->is_sound);
	return rc;
}

int log_check_cut(struct sys *s, struct arena *a, int state_fd, enum cut_lock lock, const struct trust *trust,
	const struct log_check_options *options, struct log_report *ret, bool *ret_is_current, struct err *e)
{
	struct log_check_options all = *options;
	bool is_doubted;
	int rc = look_once(s, a, state_fd, lock, trust, options, ret, ret_is_current, &is_doubted, e);

	all.all = true;
	if (rc == OK && is_doubted)
		rc = look_once(s, a, state_fd, lock, trust, &all, ret, ret_is_current, &is_doubted, e);
	return rc;
}

/* Usually the log is checked without holding up writers.  A failed append that was taken back meanwhile
 * can look like damage.  So when damage is found and somebody has written since, the check is repeated
 * with the lock held, and that answer counts. */
int log_check(struct sys *s, struct arena *a, int state_fd, const struct trust *trust,
	const struct log_check_options *options, struct log_report *ret, struct err *e)
{
	bool is_current = false;
	int rc = log_check_cut(s, a, state_fd, CUT_MOMENT, trust, options, ret, &is_current, e);

	if ((rc && text_eq(e->code, "LOG_MOVED")) || (rc == OK && ret->is_damaged && !is_current))
		rc = log_check_cut(s, a, state_fd, CUT_HELD, trust, options, ret, &is_current, e);
	return rc;
}
