/* archive.c — closed files of the chain that were moved to another place. */
#include "base/file.h"
#include "base/text.h"
#include "record/parts.h"

enum { STUB_LIMIT = 16 << 20 };

struct json *segment_stub(struct sys *s, struct arena *a, int state_fd, const char *file)
{
	const char *stub = arena_printf(a, "%s" ARCHIVED, file);
	struct json *receipt;
	struct bytes text;

	if (file_read(s, a, state_fd, stub, STUB_LIMIT, 0, &text, NULL) ||
		json_parse(a, text, stub, NULL, &receipt, NULL))
		return NULL;
	return receipt;
}

/* The copy of the receipt that stays where the file was must be signed by this user and name the file with
 * the digest that the seam behind it has: anybody can remove a file, nobody else can say that it was moved. */
bool segment_is_moved(struct recorder *r, struct arena *a, const struct segment *sealed)
{
	const struct json *receipt = segment_stub(r->sys, a, r->state_fd, sealed->file), *row;

	return receipt && (row = segment_moved(a, receipt, sealed->file)) != NULL &&
		text_eq(json_get_text(row, "sha256", ""), hash_hex(a, &sealed->digest)) &&
		receipt_is_own(r, a, receipt);
}
