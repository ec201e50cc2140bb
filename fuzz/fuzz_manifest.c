/* fuzz_manifest.c — a checkpoint's manifest from somebody who wants files written elsewhere.
 *
 * What is accepted has only paths that stay inside and is in order; written again it is accepted again and is the same. */
#include "execute/checkpoint/parts.h"
#include "fuzz.h"

static void check_entry(const struct entry *x, const struct entry *before)
{
	if (!checkpoint_path_ok(x->path) || strstr(x->path, "/../") || x->path[0] == '/')
		BUG("a path leads outside");
	if (before && checkpoint_path_cmp(before->path, x->path) >= 0)
		BUG("entries are not in order");
	uint64_t end = 0;
	for (uint32_t i = 0; i < x->extent_count; i++) {
		if (x->extents[i].at < end || x->extents[i].at + x->extents[i].n > x->size)
			BUG("an extent is outside the file");
		end = x->extents[i].at + x->extents[i].n;
	}
}

void fuzz_one(const uint8_t *data, size_t size)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct tree tree, again;
	struct buf text, twice;
	struct err e;

	if (tree_parse(&a, (struct bytes){ data, size }, &tree, &e))
		return;
	for (size_t i = 0; i < tree.entries.n; i++)
		check_entry(&tree.entries.v[i], i ? &tree.entries.v[i - 1] : NULL);
	buf_init(&text, &a);
	tree_write(&text, &tree.sel, &tree.entries);
	if (tree_parse(&a, buf_bytes(&text), &again, &e))
		BUG("what was written is refused");
	buf_init(&twice, &a);
	tree_write(&twice, &again.sel, &again.entries);
	if (!bytes_eq(buf_bytes(&text), buf_bytes(&twice)))
		BUG("written twice, two texts");
}
