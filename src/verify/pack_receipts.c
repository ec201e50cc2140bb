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

#define LEAF_LINE 65

/* What was counted over all receipts.  `foreign` are those that are unchanged but signed by keys that were
 * not given; `unread` those too large or not JSON. */
struct receipts {
	struct verification *v;
	const struct pack *p;
	struct arena scratch; /* one receipt's worth */
	struct hash *leaves; /* of transparency/leaves.txt; NULL: none */
	uint64_t leaf_count;
	size_t total, trusted, foreign, unread;
	struct hash session; /* of the receipt before, and the order of the newest key there */
	unsigned key_order;
	size_t placed;
	uint64_t last; /* the highest place of a receipt */
	uint64_t head_size; /* leaves that the tree head covers */
	const char *broken, *why; /* the first that is not what was signed */
	const char *misplaced;
};

static bool is_receipt(const char *path)
{
	return text_starts(path, "receipts/") && text_ends(path, ".json");
}

/* The place in the log that the exporter puts into the name: "receipts/00000012-id.json" stands at 12.  0
 * when the name has no place, which counts as misplaced. */
static uint64_t position_of(const char *path)
{
	const char *digits = path + strlen("receipts/");
	uint64_t n = 0;

	for (int i = 0; i < 8; i++) {
		if (digits[i] < '0' || digits[i] > '9')
			return 0;
		n = n * 10 + (uint64_t)(digits[i] - '0');
	}
	return digits[8] == '-' ? n : 0;
}

/* Recomputes the receipt's leaf and compares it with the leaf at the place its name states.  Keeps the
 * first receipt that does not stand there. */
static void check_place(struct receipts *r, const struct pack_file *f, const struct hash *chain)
{
	uint64_t n = position_of(f->path);

	if (!r->leaves || r->misplaced)
		return;
	r->last = n > r->last ? n : r->last;
	if (n && n <= r->leaf_count) {
		struct hash leaf = merkle_leaf(chain->b, SHA256_SIZE);
		if (hash_eq(&leaf, &r->leaves[n - 1])) {
			r->placed++;
			return;
		}
	}
	r->misplaced = f->path;
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
	check_key_order(r, &part, doc);
	if (part.trusted == ANSWER_YES && !part.error)
		r->trusted++;
	else if (part.integrity != ANSWER_NO)
		r->foreign++;
	else if (!r->broken) {
		r->broken = f->path;
		r->why = arena_strdup(r->v->a, part.text ? part.text : "it is not what was signed");
	}
	check_place(r, f, &chain);
}

/* transparency/leaves.txt holds 64 hex digits and a newline per leaf, and nothing else.  On any other form
 * there are no leaves at all, rather than some. */
static bool read_leaves(struct receipts *r)
{
	const struct pack_file *f = verify_pack_find(r->p, "transparency/leaves.txt");
	uint64_t n = f && f->is_kept ? f->content.n / LEAF_LINE : 0;

	if (!n || f->content.n % LEAF_LINE)
		return false;
	r->leaves = arena_zalloc(r->v->a, n, sizeof(*r->leaves));
	for (uint64_t i = 0; i < n; i++) {
		const char *line = (const char *)f->content.p + i * LEAF_LINE;
		if (line[64] != '\n' || !hex_decode(line, 64, r->leaves[i].b, SHA256_SIZE, true)) {
			r->leaves = NULL;
			return false;
		}
	}
	r->leaf_count = n;
	return true;
}

/* Why the tree head does not cover the leaves, or NULL; *ret_detail says what it covers.  The head may be
 * older than the last leaves: the root is computed over as many leaves as it states. */
static const char *check_head(struct receipts *r, const char **ret_detail)
{
	const struct pack_file *f = verify_pack_find(r->p, "transparency/head.json");
	struct verification part;
	struct json *head;
	struct hash stated, root;
	int64_t size;

	if (!f || pack_json(r->v->a, f, &head, NULL))
		return "the tree head cannot be read";
	size = json_get_int(head, "tree_size", 0);
	if (size < 1 || (uint64_t)size > r->leaf_count ||
		!hash_from_hex(member_text(head, "root_hash"), &stated))
		return "the tree head is not one of these leaves";
	root = merkle_root(r->leaves, (uint64_t)size);
	if (!hash_eq(&root, &stated))
		return "the leaves do not have the root the tree head states";
	verification_begin(&part, r->v->a, r->v->trust, "tree head");
	verify_tree_head(&part, head);
	if (part.integrity == ANSWER_NO)
		return part.text;
	r->head_size = (uint64_t)size;
	*ret_detail = arena_printf(r->v->a, "%zu receipts stand in the log of %lld%s", r->placed,
		(long long)size, part.trusted == ANSWER_YES ? "" : "; its head is not signed by a key given");
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

	if (!r->leaves || (!r->misplaced && !verify_pack_find(r->p, "transparency/head.json"))) {
		verify_check(r->v, "transparency", CHECK_NOT_APPLICABLE,
			"not established: the pack has no log leaves with a tree head");
		return;
	}
	if (r->misplaced)
		why = arena_printf(r->v->a, "'%.200s' does not stand in the log where it says", r->misplaced);
	else
		why = check_head(r, &detail);
	if (!why && r->last > r->head_size) {
		/* Their leaves were only stated by whoever made the pack. */
		verify_check(r->v, "transparency", CHECK_NOT_APPLICABLE,
			arena_printf(r->v->a,
				"not established for receipts behind place %llu, which the tree head does not cover",
				(unsigned long long)r->head_size));
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
		if (is_receipt(f->path) && f->is_kept &&
			memmem(f->content.p, f->content.n, KEY_EFFECT, strlen(KEY_EFFECT)) &&
			json_parse(v->a, f->content, f->path, NULL, &doc, NULL) == OK)
			seams[n++] = doc;
	}
	*trust = *v->trust;
	if (n && trust_add_seams(v->a, seams, n, trust))
		v->trust = trust;
}

/* The leaves are read before the receipts, which are compared with them one by one. */
void pack_check_receipts(struct verification *v, const struct pack *p)
{
	struct receipts r = { .v = v, .p = p };

	read_leaves(&r);
	for (size_t i = 0; i < p->n; i++)
		if (is_receipt(p->files[i].path))
			check_receipt(&r, &p->files[i]);
	report_receipts(&r);
	report_places(&r);
	arena_done(&r.scratch);
}
