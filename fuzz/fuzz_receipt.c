/* fuzz_receipt.c — any text as a document to verify, and as a chain of receipts.
 *
 * Whatever the bytes are, verification ends, and nothing is ever admissible: no key is trusted here. */
#include "fuzz.h"
#include "verify/verify.h"

#include <stdlib.h>

static void check(const struct verification *v)
{
	if (verification_headline(v) == HEADLINE_ADMISSIBLE)
		abort();
}

void fuzz_one(const uint8_t *data, size_t size)
{
	AUTO(arena_done) struct arena a = { .limit_bytes = 256 << 20 };
	struct trust trust = { .allow_legacy = true, .allow_self_attested = true, .threads = 1 };
	struct bytes text = { data, size };
	struct verification v;

	verification_begin(&v, &a, &trust, "document");
	verify_document(&v, text, "fuzz");
	check(&v);
	(void)verification_json(&a, &v);
	verification_begin(&v, &a, &trust, "receipt chain");
	verify_receipt_lines(&v, text, "fuzz");
	check(&v);
}
