/* log_moved.c — files of a chain that were moved to another place, in a check of the log.
 *
 * One that can be read where it is now is checked like any other.  One that cannot is passed, if a trusted receipt says that it was moved:
 * then the receipts in it are known only as the first receipt of the next file sums them up (proof/segment.h), and that is said. */
#include "audit/checking.h"
#include "base/text.h"

/* Anybody can write what stands in the place of a file; it counts only when it is the receipt of a move, signed by a
 * trusted key. */
const struct json *moved_row(struct log_checking *c, const struct log_file *f)
{
	AUTO(arena_done) struct arena scratch = { 0 };
	const struct json *row = segment_moved(c->a, f->moved, f->name);
	struct verification v;

	verification_begin(&v, &scratch, &c->trust, "receipt");
	if (row)
		verify_receipt(&v, f->moved);
	return v.integrity == ANSWER_YES && v.trusted == ANSWER_YES ? row : NULL;
}

void moved_note(struct log_checking *c, const struct log_file *f, const struct json *row)
{
	struct json *note = finding_add(c, FINDING_ARCHIVED,
		arena_printf(c->a,
			"%s is archived at %s (sha256 %s); it cannot be read here, and was not looked at",
			f->name, f->moved_to ? f->moved_to : "?", json_get_text(row, "sha256", "")));

	json_sets(c->a, note, "file", f->name);
}

/* A file that was moved away and cannot be read: its receipts are known only as the seam of the next file sums them up. */
void moved_pass(struct log_checking *c, const struct log_file *f)
{
	const struct json *moved = moved_row(c, f);
	struct json *row = json_new(c->a, JSON_OBJECT);

	if (!moved) {
		json_sets(c->a,
			finding_add(c, FINDING_SEGMENT_MISSING,
				arena_printf(c->a,
					"%s is not there, and nobody trusted has signed that it was moved",
					f->name)),
			"file", f->name);
		return;
	}
	moved_note(c, f, moved);
	c->skipped = f;
	c->previous_file = f->name;
	c->previous_sha256 = segment_moved_digest(moved);
	json_sets(c->a, row, "file", f->name);
	json_seti(c->a, row, "bytes", json_get_int(moved, "bytes", 0));
	json_sets(c->a, row, "sha256", json_get_text(moved, "sha256", ""));
	json_sets(c->a, row, "archived_to", f->moved_to ? f->moved_to : "");
	json_push(c->a, c->files, row);
}

/* Do the stored leaves, from the beginning on, have this root?  They are all that proofs about archived receipts are made from. */
static bool leaves_lead_to(struct log_checking *c, const struct merkle *want)
{
	struct merkle tree = { 0 };
	struct hash leaf, root = merkle_head(want), have;

	while (tree.size < want->size && stored_leaf(c, tree.size, &leaf))
		merkle_append(&tree, &leaf);
	have = merkle_head(&tree);
	return tree.size == want->size && hash_eq(&have, &root);
}

/* The first receipt behind a file that is not read sums up what the chain was there.  Heads that speak of less than that cannot be
 * compared; they were when the file was still here. */
void moved_behind(struct log_checking *c, const struct json *receipt)
{
	struct closed_file sealed;

	if (!c->skipped || c->line != 1 || !segment_read(c->a, receipt, &sealed) || sealed.clock < c->n ||
		!text_eq(sealed.file, c->skipped->name) ||
		!text_eq(hash_hex(c->a, &sealed.digest), c->previous_sha256))
		return;
	if (!leaves_lead_to(c, &sealed.tree))
		json_sets(c->a,
			finding_add(c, FINDING_LEAVES_ARCHIVED,
				arena_printf(c->a,
					"the leaves of %s, which is archived, are not those that were signed; bring it back, and 'helm log repair' "
					"makes them again",
					c->skipped->name)),
			"file", c->skipped->name);
	c->archived += sealed.clock - c->n;
	c->n = sealed.clock;
	c->last = sealed.last;
	c->tree = sealed.tree;
	while (c->claims.at < c->claims.n && c->claims.list[c->claims.at].size < c->n)
		c->claims.at++;
	for (; c->claims.at < c->claims.n && c->claims.list[c->claims.at].size == c->n; c->claims.at++)
		heads_check(c, &c->claims.list[c->claims.at]);
}
