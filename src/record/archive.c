/* archive.c — closed files of the chain that were moved to another place. */
#include "base/file.h"
#include "base/text.h"
#include "record/parts.h"

enum { STUB_LIMIT = 16 << 20 };

/* The copy of the receipt that stays where the file was.  It must be signed by this user and name the file
 * with the digest that the seam behind it has: anybody can remove a file, nobody else can say that it was
 * moved. */
bool segment_is_moved(struct recorder *r, struct arena *a, const struct segment *sealed)
{
	const char *stub = arena_printf(a, "%s" ARCHIVED, sealed->file);
	const struct json *row;
	struct json *receipt;
	struct bytes text;

	return file_read(r->sys, a, r->state_fd, stub, STUB_LIMIT, 0, &text, NULL) == OK &&
		json_parse(a, text, stub, NULL, &receipt, NULL) == OK &&
		(row = segment_moved(a, receipt, sealed->file)) != NULL &&
		text_eq(json_get_text(row, "sha256", ""), hash_hex(a, &sealed->digest)) &&
		receipt_is_own(r, a, receipt);
}
