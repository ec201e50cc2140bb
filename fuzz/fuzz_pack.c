/* fuzz_pack.c — whole packs from strangers: every layout, every check; nothing is ever admissible without a trusted key, and
 * a failure always has a name. */
#include "fuzz.h"
#include "verify/verify.h"

void fuzz_one(const uint8_t *data, size_t size)
{
	AUTO(arena_done) struct arena a = { .limit_bytes = 512 << 20 };
	struct trust nobody = { .allow_self_attested = size % 2 };
	struct verification v;
	struct pack p;
	struct err e = { 0 };

	verification_begin(&v, &a, &nobody, "pack");
	if (verify_pack_bytes(&a, (struct bytes){ data, size }, &p, &e))
		verify_pack_unreadable(&v, &e);
	else
		verify_pack(&v, &p);
	if (verification_headline(&v) == HEADLINE_ADMISSIBLE || v.trusted == ANSWER_YES)
		__builtin_trap();
	if (v.integrity == ANSWER_NO && (!v.error || !v.text) && !v.check_count)
		__builtin_trap();
	(void)verification_json(&a, &v);
}
