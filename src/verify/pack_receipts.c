/* pack_receipts.c — what the receipts in a pack say for themselves.
 *
 * The pack's signature says that its files are those the exporter put in.  That the receipts among them
 * were signed when they were issued, and where they stand in the log, is another question, and the one
 * that matters when exporter and issuer are not the same.  A receipt of a key that was not given is not a
 * failure, but it is counted and said. */
#include "model/records.h"
#include "proof/preimage.h"
#include "verify/pack.h"

#include <string.h>

/* What was counted over all receipts.  `foreign` are those that are unchanged but signed by keys that were
 * not given; `unread` those too large or not JSON. */
struct receipts {
	struct verification *v;
	const struct pack *p;
	struct arena scratch; /* one receipt's worth */
	struct pack_lines lines; /* receipts in files of lines, and the leaves of the log */
	size_t total, trusted, foreign, unread;
	struct hash session; /* of the receipt before, and the order of the newest key there */
	unsigned key_order;
	const char *broken, *why; /* the first that is not what was signed */
};

bool pack_is_receipt(const char *path)
{
	return text_starts(path, "receipts/") && text_ends(path, ".json");
}

bool pack_is_lines(const char *path)
{
	return text_starts(path, "receipts/") && text_ends(path, ".jsonl");
}

/* Files are sorted by their place in the chain, so keys must follow each other here as they do there. */
static void check_key_order(struct receipts *r, struct verification *part, const struct json *doc)
{
	const char *name = member_text(doc, "session_id");
	struct hash session;

	sha256(name, strlen(name), session.b);
	if (!hash_eq(&session, &r->session))
		r->key_order = 0;
	r->session = session;
	r->key_order = verify_key_order(part, r->key_order);
}

/* One file in receipts/.  Documents of other kinds lie there too and are passed over.  A receipt is only
 * called broken when its integrity is refuted; an unknown signer is something else. */
static void check_receipt(struct receipts *r, const struct pack_file *f)
{
	struct verification part;
	struct hash chain = { 0 };
	struct json *doc = NULL;

	arena_reset(&r->scratch);
	verification_begin(&part, &r->scratch, r->v->trust, "receipt");
	if (f->is_kept)
		(void)verify_receipt_line(&part, f->content, f->path, &doc, &chain);
	if (!text_eq(member_text(doc, "signature_version"), RECEIPT_V5)) {
		r->unread += !doc;
		return;
	}
	r->total++;
	rows_want(r->v->a, &r->lines.rows, doc);
	check_key_order(r, &part, doc);
	if (part.trusted == ANSWER_YES && !part.error)
		r->trusted++;
	else if (part.integrity != ANSWER_NO)
		r->foreign++;
	else if (!r->broken) {
		r->broken = f->path;
		r->why = arena_strdup(r->v->a, part.text ? part.text : "it is not what was signed");
	}
}

/* Lines that were looked into while they were read are known; small files can be looked into now. */
static void check_lines(struct receipts *r)
{
	struct pack_lines *to = &r->lines;

	for (size_t i = 0; i < r->p->n; i++) {
		const struct pack_file *f = &r->p->files[i];
		if (!pack_is_lines(f->path) || r->p->lines)
			continue;
		if (!f->is_kept) {
			r->unread++;
			continue;
		}
		struct lines_feed *feed = lines_begin(r->v->a, to, f->path, r->v->trust, NULL);
		lines_feed(feed, f->content.p, f->content.n);
		lines_end(feed);
	}
	r->total += to->total;
	r->trusted += to->trusted;
	r->foreign += to->foreign;
	if (to->broken && !r->broken) {
		r->broken = to->broken;
		r->why = to->why;
	}
}

/* The same for the leaves; they are compared when all receipts are known. */
static void check_leaves(struct receipts *r)
{
	const struct pack_file *f = verify_pack_find(r->p, PACK_LEAVES);

	if (r->lines.leaves.is_done || !f || !f->is_kept)
		return;
	struct leaves_feed *feed = leaves_begin(r->v->a, r->p, &r->lines);
	leaves_feed(feed, f->content.p, f->content.n);
	leaves_end(feed);
}

/* Why the tree head does not cover the leaves, or NULL; *ret_detail says what it covers.  The head may be
 * older than the last leaves: the root is computed over as many leaves as it states. */
static const char *check_head(struct receipts *r, const char **ret_detail)
{
	const struct leaf_check *l = &r->lines.leaves;
	const struct pack_file *f = verify_pack_find(r->p, PACK_HEAD);
	struct verification part;
	struct json *head;
	struct hash stated;
	int64_t size;

	if (!f || pack_json(r->v->a, f, &head, NULL))
		return "the tree head cannot be read";
	size = json_get_int(head, "tree_size", 0);
	if (size < 1 || (uint64_t)size > l->count || !hash_from_hex(member_text(head, "root_hash"), &stated))
		return "the tree head is not one of these leaves";
	if (!hash_eq(&l->root, &stated))
		return "the leaves do not have the root the tree head states";
	verification_begin(&part, r->v->a, r->v->trust, "tree head");
	verify_tree_head(&part, head);
	if (part.integrity == ANSWER_NO)
		return part.text;
	*ret_detail = arena_printf(r->v->a, "%llu receipts stand in the log of %lld%s",
		(unsigned long long)l->placed, (long long)size,
		part.trusted == ANSWER_YES ? "" : "; its head is not signed by a key given");
	return NULL;
}

/* "Not applicable" is said instead of "pass" when some receipts could not be judged: a pass would claim
 * all of them. */
static void report_receipts(struct receipts *r)
{
	struct verification *v = r->v;

	if (r->broken) {
		verify_check(v, "receipts", CHECK_FAIL, r->why);
		verify_at(v, r->broken, NULL, NULL, NULL);
		verify_fail(v, "receipts", "%.200s: %s", r->broken, r->why);
	} else if (!r->total || r->unread) {
		verify_check(v, "receipts", CHECK_NOT_APPLICABLE,
			r->unread ? "not established: some are too large or no JSON"
				  : "the pack has no signed receipts");
	} else if (r->foreign) {
		verify_check(v, "receipts", CHECK_NOT_APPLICABLE,
			arena_printf(v->a,
				"not established: %zu of %zu are signed by keys that were not given",
				r->foreign, r->total));
	} else {
		verify_check(v, "receipts", CHECK_PASS,
			arena_printf(v->a, "%zu, each signed by a key given", r->trusted));
	}
}

/* A misplaced receipt fails even without a tree head, because leaves and receipts then contradict each
 * other. */
static void report_places(struct receipts *r)
{
	const char *why = NULL, *detail = "";

	const struct leaf_check *l = &r->lines.leaves;

	if (!l->is_done || (!l->misplaced && !verify_pack_find(r->p, PACK_HEAD))) {
		verify_check(r->v, "transparency", CHECK_NOT_APPLICABLE,
			"not established: the pack has no log leaves with a tree head");
		return;
	}
	if (l->misplaced)
		why = arena_printf(r->v->a, "'%.200s' does not stand in the log where it says", l->misplaced);
	else if (l->placed < r->total) {
		verify_check(r->v, "transparency", CHECK_NOT_APPLICABLE,
			"not established: the leaves stand before some of the receipts, or some receipts could not be read");
		return;
	} else
		why = check_head(r, &detail);
	if (!why && l->last > l->head_size) {
		/* Their leaves were only stated by whoever made the pack. */
		verify_check(r->v, "transparency", CHECK_NOT_APPLICABLE,
			arena_printf(r->v->a,
				"not established for receipts behind place %llu, which the tree head does not cover",
				(unsigned long long)l->head_size));
		return;
	}
	verify_check(r->v, "transparency", why ? CHECK_FAIL : CHECK_PASS, why ? why : detail);
	if (why)
		verify_fail(r->v, "transparency", "%s", why);
}

/* Receipts in the pack may tell of changes of keys: then the pack, too, can be followed from one key to the
 * others without the key history.  Before anything else is verified, since the pack may be signed by a key
 * that only they introduce. */
void pack_add_seams(struct verification *v, const struct pack *p)
{
	struct trust *trust = arena_alloc(v->a, sizeof(*trust));
	const struct json **seams = arena_alloc(v->a, (p->n + 1) * sizeof(*seams));
	size_t n = 0;
	struct json *doc;

	for (size_t i = 0; i < p->n; i++) {
		const struct pack_file *f = &p->files[i];
		if (pack_is_receipt(f->path) && f->is_kept &&
			memmem(f->content.p, f->content.n, KEY_EFFECT, strlen(KEY_EFFECT)) &&
			json_parse(v->a, f->content, f->path, NULL, &doc, NULL) == OK)
			seams[n++] = doc;
	}
	const struct pack_file *keys = verify_pack_find(p, PACK_KEYS);
	*trust = *v->trust;
	bool has_changed = n && trust_add_seams(v->a, seams, n, trust);
	if (keys && keys->is_kept)
		has_changed |= trust_add_seam_lines(v->a, keys->content, trust);
	if (has_changed)
		v->trust = trust;
}

int64_t verify_pack_trusted_lines(const struct pack *p, const struct trust *trust)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct verification v;

	verification_begin(&v, &a, trust, "evidence pack");
	struct receipts r = { .v = &v, .p = p };
	if (p->lines)
		r.lines = *p->lines;
	check_lines(&r);
	return (int64_t)r.lines.trusted;
}

/* Receipts first, then the leaves, with which their places are compared. */
void pack_check_receipts(struct verification *v, const struct pack *p)
{
	struct receipts r = { .v = v, .p = p };

	if (p->lines)
		r.lines = *p->lines;
	for (size_t i = 0; i < p->n; i++)
		if (pack_is_receipt(p->files[i].path))
			check_receipt(&r, &p->files[i]);
	check_lines(&r);
	check_leaves(&r);
	report_receipts(&r);
	report_places(&r);
	pack_check_rows(v, p, &r.lines.rows, r.unread);
	arena_done(&r.scratch);
}
