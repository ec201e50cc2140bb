/* segment.c — reading and writing what is signed about closed files of a chain; see segment.h.
 *
 * A seam comes from outside: everything in it is checked for form, and against the receipt's own signed members, before any of it
 * is used. */
#include "proof/segment.h"

#include "base/text.h"

#include <string.h>

/* The perfect subtrees of the tree, the largest first: one for each bit of its size that is set. */
struct json *segment_json(struct arena *a, const struct closed_file *s)
{
	struct json *doc = json_new(a, JSON_OBJECT), *tree = json_new(a, JSON_ARRAY);

	json_sets(a, doc, "continues", s->file);
	json_sets(a, doc, "sha256", hash_hex(a, &s->digest));
	json_seti(a, doc, "bytes", (int64_t)s->size_bytes);
	json_seti(a, doc, "clock", (int64_t)s->clock);
	json_sets(a, doc, "last_hash", hash_hex(a, &s->last));
	for (unsigned k = MERKLE_MAX_PATH; k-- > 0;)
		if (s->tree.size >> k & 1)
			json_pushs(a, tree, hash_hex(a, &s->tree.edge[k]));
	json_set(a, doc, "tree", tree);
	return doc;
}

/* Exactly as many subtrees as the size has bits: another number is another tree. */
static bool read_tree(const struct json *list, uint64_t size, struct merkle *ret)
{
	uint32_t n = 0;

	*ret = (struct merkle){ .size = size };
	for (unsigned k = MERKLE_MAX_PATH; k-- > 0;)
		if (size >> k & 1)
			if (!hash_from_hex(json_text(json_at(list, n++)), &ret->edge[k]))
				return false;
	return json_is(list, JSON_ARRAY) && list->n == n;
}

/* The receipt stands right behind what it sums up: its own clock and prev_hash, which are signed, must say the same. */
bool segment_read(struct arena *a, const struct json *receipt, struct closed_file *ret)
{
	const struct json *about = json_get(receipt, "metadata");
	int64_t clock = json_get_int(about, "clock", 0), size = json_get_int(about, "bytes", 0);
	const char *last = json_get_text(about, "last_hash", "");

	ret->file = json_get_text(about, "continues", "");
	if (!about || !text_eq(json_get_text(receipt, "effect_id", ""), ROTATE_EFFECT) ||
		!text_eq(json_get_text(receipt, "args_hash", ""), json_sha256(a, about)) || clock < 1 ||
		size < 1 || json_get_int(receipt, "lamport_clock", 0) != clock + 1 ||
		!text_eq(json_get_text(receipt, "prev_hash", ""), last) || !hash_from_hex(last, &ret->last) ||
		!hash_from_hex(json_get_text(about, "sha256", ""), &ret->digest))
		return false;
	ret->clock = (uint64_t)clock;
	ret->size_bytes = (uint64_t)size;
	return read_tree(json_get(about, "tree"), ret->clock, &ret->tree);
}

const struct json *segment_moved(struct arena *a, const struct json *receipt, const char *file)
{
	const struct json *about = json_get(receipt, "metadata");

	if (!about || !text_eq(json_get_text(receipt, "effect_id", ""), ARCHIVE_EFFECT) ||
		!text_eq(json_get_text(receipt, "output_hash", ""), json_sha256(a, about)))
		return NULL;
	json_each (row, json_get(about, "files"))
		if (text_eq(json_get_text(row, "file", ""), file))
			return row;
	return NULL;
}

const char *segment_moved_digest(const struct json *row)
{
	return json_get_text(row, "closed_sha256", json_get_text(row, "sha256", ""));
}
