/* log_heads.c — the signed heads of a log, its own and those kept elsewhere, held against the tree that grows while the chain is
 * read.
 *
 * A head's place is the size it speaks of, not its time: it was signed when the log had that size or more, so its key is the one
 * of the receipt there or a later one.
 *
 * All heads are read first and sorted by the size they speak of, so that one pass over the chain is enough: when the tree has a
 * head's size, its root must be the head's.  An anchor that does not fit may speak of a time before a repair, which stands
 * further on in the chain; so anchors are judged at the end. */
#include "audit/checking.h"
#include "base/text.h"

#include <string.h>

/* Names a head for the report. */
static const char *where_of(struct log_checking *c, const struct claim *claim)
{
	return claim->where ? claim->where : arena_printf(c->a, "%s line %u", HEADS, claim->line);
}

/* Which line of the heads is none, so that a repair takes out exactly that one.  Line 0: of an anchor. */
static void note_bad_head(struct log_checking *c, uint32_t line)
{
	struct log_report *r = c->report;

	r->has_wrong_anchors |= !line;
	if (!line)
		return;
	r->has_wrong_heads = true;
	if (r->bad_head_n && r->bad_heads[r->bad_head_n - 1] == line)
		return;
	r->bad_heads = arena_grow(
		c->a, r->bad_heads, r->bad_head_n * sizeof(line), (r->bad_head_n + 1) * sizeof(line));
	r->bad_heads[r->bad_head_n++] = line;
}

/* A head whose signature cannot be tied to any key is damage: heads here were all signed by this program.
 * Returns the order of its key. */
static unsigned check_head_signature(
	struct log_checking *c, const struct json *head, const char *where, uint32_t line)
{
	AUTO(arena_done) struct arena scratch = { 0 };
	struct verification v;
	const char *named = json_get_text(head, "public_key", "");

	if (c->cut)
		(void)checking_key(c, named);
	verification_begin(&v, &scratch, &c->trust, "tree head");
	verify_tree_head(&v, head);
	bool is_other = v.integrity == ANSWER_YES && v.signer && *named && !text_eq(named, v.signer);
	bool is_bad = v.integrity == ANSWER_NO || !v.signer;
	if (is_other || is_bad)
		note_bad_head(c, line);
	if (is_other)
		finding_member(c,
			finding_add(c, FINDING_HEAD_KEY,
				arena_printf(c->a, "%s names another key than its signer's", where)),
			"public_key", v.signer, named);
	if (v.integrity == ANSWER_YES && v.trusted == ANSWER_YES)
		return v.signer_key ? v.signer_key->order : 0;
	struct json *f = finding_add(c, is_bad ? FINDING_HEAD_SIGNATURE : FINDING_HEAD_UNTRUSTED,
		arena_printf(c->a, "%s: %s", where, v.text ? v.text : "its signer is not known"));
	finding_member(c, f, v.member, v.expected, v.found);
	return 0;
}

/* The signature is judged at once, the root when the tree has its size.  A root that cannot be read
 * becomes zeroes, which no tree has, so it fails then. */
static void add_claim(struct log_checking *c, const struct json *head, uint32_t line, const char *where)
{
	struct claim claim = { .line = line,
		.where = where,
		.is_anchor = where != NULL,
		.timestamp = arena_strdup(c->a, json_get_text(head, "timestamp", "")) };
	int64_t size = json_get_int(head, "tree_size", 0);

	claim.size = size < 0 ? 0 : (uint64_t)size;
	claim.key_order = check_head_signature(c, head, where_of(c, &claim), line);
	if (!hash_from_hex(json_get_text(head, "root_hash", ""), &claim.root))
		memset(&claim.root, 0, sizeof(claim.root)); /* no tree has it */
	heads_add(c, &claim);
}

void heads_add(struct log_checking *c, const struct claim *claim)
{
	struct claims *l = &c->claims;

	if (l->n == l->cap) {
		size_t cap = l->cap ? 2 * l->cap : 64;
		l->list = arena_grow(c->a, l->list, l->cap * sizeof(*l->list), cap * sizeof(*l->list));
		l->cap = cap;
	}
	l->list[l->n++] = *claim;
}

/* The repair that explains an anchor which no longer fits: the anchor was signed before it, and the
 * repair's own receipt now stands at a place where the anchor knew another one.  NULL when there is none. */
static const struct json *later_repair(struct log_checking *c, const struct claim *claim)
{
	int64_t head_us, seam_us;

	json_each (seam, c->seams) {
		const char *when = json_get_text(seam, "timestamp", "");
		if (text_parse_time(claim->timestamp, strlen(claim->timestamp), &head_us) &&
			text_parse_time(when, strlen(when), &seam_us) && head_us <= seam_us &&
			((uint64_t)json_get_int(seam, "receipt", 0) <= claim->size ||
				(uint64_t)json_get_int(seam, "anew_from", INT64_MAX) <= claim->size))
			return seam;
	}
	return NULL;
}

/* A head that does not fit is damage.  An anchor is excused when a later repair explains it; heads in the
 * workspace are not, since a repair renews them. */
static void refute_claim(
	struct log_checking *c, const struct claim *claim, enum finding kind, const char *text)
{
	const struct json *seam = claim->is_anchor ? later_repair(c, claim) : NULL;

	if (claim->chain && c->session && !text_eq(claim->chain, c->session)) {
		(void)finding_add(c, FINDING_ANOTHER_CHAIN,
			arena_printf(c->a,
				"on %s another chain was verified here, of %llu receipts; this one began anew",
				claim->timestamp, (unsigned long long)claim->size));
		return;
	}
	c->report->has_wrong_heads |= !claim->is_anchor;
	if (seam)
		(void)finding_add(c, FINDING_ANCHOR_BEFORE_REPAIR,
			arena_printf(c->a, "%s is older than the repair that receipt %lld records",
				where_of(c, claim), (long long)json_get_int(seam, "receipt", 0)));
	else {
		uint64_t *from = &c->report->rewritten_from;
		if (claim->is_anchor && kind == FINDING_REWRITTEN && (!*from || claim->size < *from))
			*from = claim->size;
		(void)finding_add(c, kind, text);
	}
}

/* A claim of another size than the tree's is none that can be judged now. */
void heads_check(struct log_checking *c, struct claim *claim)
{
	struct hash have = merkle_head(&c->tree);

	if (claim->size != c->tree.size)
		return;
	if (hash_eq(&claim->root, &have)) {
		if (!claim->chain) /* writers do not know what was verified before, and judge the newest receipt as this does */
			c->confirmed = claim->size;
		if (claim->key_order && claim->key_order < c->key_order)
			(void)finding_add(c, FINDING_KEY_ORDER,
				arena_printf(c->a,
					"%s is signed by a key that was no longer in force when the log had "
					"%llu receipts",
					where_of(c, claim), (unsigned long long)claim->size));
		return;
	}
	c->report->has_wrong_heads |= !claim->is_anchor;
	if (c->is_broken) /* it is about receipts that are not there: their loss was said */
		return;
	if (claim->is_anchor) { /* a repair further on may explain it */
		claim->is_refuted = true;
		claim->found = have;
		return;
	}
	refute_claim(c, claim, FINDING_REWRITTEN,
		arena_printf(c->a,
			"%s: the first %llu receipts are not those that were signed at %s: expected root "
			"%.64s, found %s",
			where_of(c, claim), (unsigned long long)claim->size, claim->timestamp,
			hash_hex(c->a, &claim->root), hash_hex(c->a, &have)));
}

/* Heads that are left when all receipts were read speak of a log that was longer. */
void heads_conclude(struct log_checking *c)
{
	for (size_t i = 0; i < c->claims.at; i++)
		if (c->claims.list[i].is_refuted)
			refute_claim(c, &c->claims.list[i], FINDING_REWRITTEN,
				arena_printf(c->a,
					"%s: the first %llu receipts are not those that were signed at %s: expected root %.64s, found %s",
					where_of(c, &c->claims.list[i]),
					(unsigned long long)c->claims.list[i].size,
					c->claims.list[i].timestamp, hash_hex(c->a, &c->claims.list[i].root),
					hash_hex(c->a, &c->claims.list[i].found)));
	for (; c->claims.at < c->claims.n; c->claims.at++) {
		const struct claim *claim = &c->claims.list[c->claims.at];
		refute_claim(c, claim, FINDING_RECEIPTS_LOST,
			arena_printf(c->a,
				"%s: the log had %llu receipts at %s and now has %llu: %llu are lost",
				where_of(c, claim), (unsigned long long)claim->size, claim->timestamp,
				(unsigned long long)c->n, (unsigned long long)(claim->size - c->n)));
	}
}

/* A repair since then has signed a head and counted anew; what it found lost is in its seam. */
static bool are_heads_recounted(struct log_checking *c)
{
	int64_t then, when;
	const char *at = c->heads_before_time;

	json_each (seam, c->seams) {
		const char *text = json_get_text(seam, "timestamp", "");
		if (text_parse_time(at, strlen(at), &then) && text_parse_time(text, strlen(text), &when) &&
			then <= when)
			return true;
	}
	return false;
}

/* Two places know how many there were, and neither is made from the heads: the edge, which every writer of a head counts on, and what is
 * kept of the last check.  One that is gone proved what the log was at its size; that it is gone has to be known. */
void heads_conclude_count(struct log_checking *c)
{
	const struct log_left *left = &c->cut->left;
	uint64_t had = left->is_known && c->session && text_eq(left->chain_id, c->session) ? left->heads : 0;

	if (c->heads_before > had && c->session && text_eq(c->heads_before_chain, c->session) &&
		!are_heads_recounted(c))
		had = c->heads_before;
	if (had <= c->head_lines ||
		c->is_broken) /* a hole in the chain is told first; its repair comes before this one */
		return;
	c->report->lost_heads = had - c->head_lines;
	(void)finding_add(c, FINDING_HEADS_LOST,
		arena_printf(c->a, "%s has %llu signed %s and had %llu: %llu %s lost", HEADS,
			(unsigned long long)c->head_lines, c->head_lines == 1 ? "head" : "heads",
			(unsigned long long)had, (unsigned long long)(had - c->head_lines),
			had - c->head_lines == 1 ? "is" : "are"));
}

static int by_size(const void *x, const void *y)
{
	const struct claim *a = x, *b = y;

	return a->size < b->size ? -1 : a->size > b->size;
}

/* Exactly the six members of a head, spelled as this program writes them. */
static bool is_head_line(struct bytes text, const struct json *head)
{
	static const char *const names[] = { "log_id", "public_key", "root_hash", "signature", "timestamp",
		"tree_size" };
	AUTO(arena_done) struct arena a = { 0 };
	struct buf spelling;

	buf_init(&spelling, &a);
	json_canonical(&spelling, head);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!json_get(head, names[i]))
			return false;
	return head->n == ARRAY_SIZE(names) && bytes_eq(buf_bytes(&spelling), text);
}

static int read_head(void *arg, off_t offset, uint64_t line, struct bytes text, bool is_whole, struct err *e)
{
	AUTO(arena_done) struct arena scratch = { 0 };
	struct log_checking *c = arg;
	struct json *head;

	(void)e;
	c->head_lines += is_whole;
	if (offset < c->known.heads_bytes)
		return OK; /* verified before */
	if (!is_whole) {
		(void)finding_add(c, FINDING_TORN, "the last line of " HEADS " was never completed");
	} else if (json_parse(&scratch, text, HEADS, NULL, &head, NULL) || !is_head_line(text, head)) {
		note_bad_head(c, (uint32_t)line);
		(void)finding_add(c, FINDING_NO_HEAD,
			arena_printf(c->a, "%s line %llu is no tree head", HEADS, (unsigned long long)line));
	} else {
		add_claim(c, head, (uint32_t)line, NULL);
	}
	return OK;
}

/* The signed heads of the moment, with the anchors collected before, in the order of their sizes. */
int heads_read(struct log_checking *c, struct err *e)
{
	int rc = log_file_lines(c->cut, &c->cut->heads, read_head, c, e);

	if (c->claims.n)
		qsort(c->claims.list, c->claims.n, sizeof(*c->claims.list), by_size);
	for (; c->claims.at < c->claims.n && !c->claims.list[c->claims.at].size; c->claims.at++)
		heads_check(c, &c->claims.list[c->claims.at]);
	return rc;
}

/* Read before the moment of the check: a head that is anchored meanwhile would speak of a longer log and
 * look like lost receipts.  Each anchor gives two claims, the head as remembered and the head as it is
 * found outside; an anchor that cannot be read is a notice, since its place may be out of reach just now. */
void heads_collect_anchors(struct log_checking *c, int state_fd, struct json *shown)
{
	struct json *anchors = NULL;
	struct err why = { 0 };

	if (log_anchors(c->sys, c->a, state_fd, &anchors, &why)) {
		c->report->has_wrong_anchors = true;
		(void)finding_add(c, FINDING_ANCHORS,
			arena_printf(c->a, "which heads are kept elsewhere cannot be read: %s", why.text));
	}
	json_each (anchor, anchors) {
		const char *to = json_get_text(anchor, "to", "?");
		struct json *outside, *row = json_new(c->a, JSON_OBJECT);
		json_sets(c->a, row, "to", to);
		json_seti(c->a, row, "tree_size", json_get_int(json_get(anchor, "head"), "tree_size", 0));
		add_claim(c, json_get(anchor, "head"), 0, arena_printf(c->a, "anchor %s, as remembered", to));
		bool is_there = log_anchor_read(c->sys, c->a, c->options->root_fd, to, &outside, &why) == OK;
		if (is_there)
			add_claim(c, outside, 0, arena_printf(c->a, "anchor %s", to));
		else
			(void)finding_add(c, FINDING_ANCHOR_UNREADABLE,
				arena_printf(c->a, "anchor %s cannot be read: %s", to, why.text));
		json_setb(c->a, row, "readable", is_there);
		json_push(c->a, shown, row);
	}
}
