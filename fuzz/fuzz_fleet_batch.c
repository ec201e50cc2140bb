/* fuzz_fleet_batch.c — what a machine sends to the ledger of a fleet, unpacked: a header, receipts, captions, questions.
 *
 * Whatever it is: what is taken has as many receipts as its header says, and a caption or a question only where its digest stands in the receipt. */
#include "fuzz.h"

#include "base/hash.h"
#include "base/text.h"
#include "base/zst.h"
#include "kernel/fleet/fleet.h"
#include "serve/fleet/parts.h"

#include <stdlib.h>
#include <string.h>

static void check(bool holds)
{
	if (!holds)
		abort();
}

static void look_at(struct arena *a, const struct line_of *line)
{
	const struct json *about = json_get(line->receipt, "metadata");

	check(json_is(line->receipt, JSON_OBJECT));
	if (line->caption) {
		check(strlen(line->caption) <= CAPTION_BYTES);
		check(text_eq(sha256_hex(a, line->caption, strlen(line->caption)),
			json_get_text(about, "preview_sha256", "")));
	}
	if (line->question) {
		const char *digest = sha256_prefixed(a, line->request.p, line->request.n);
		check(text_eq(line->question, json_get_text(about, "approval_id", "")));
		check(text_eq(digest, json_get_text(about, "request_sha256", "")));
	}
}

void fuzz_one(const uint8_t *data, size_t size)
{
	AUTO(arena_done) struct arena a = { .limit_bytes = (size_t)1 << 30 };
	AUTO(zst_done) struct zst z = { 0 };
	struct batch b = { 0 };
	struct err e = { 0 };
	uint8_t *frame = arena_alloc(&a, zst_bound(size));
	size_t n;

	if (zst_pack(&z, (struct bytes){ data, size }, 1, frame, zst_bound(size), &n, NULL) ||
		batch_read(&a, (struct bytes){ frame, n }, "ws-1", &b, &e))
		return;
	check(b.n >= 1 && b.n <= BATCH_RECEIPTS && b.first >= 1);
	for (size_t i = 0; i < b.n; i++)
		look_at(&a, &b.lines[i]);
}
