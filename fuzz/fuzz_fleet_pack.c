/* fuzz_fleet_pack.c — packs of fleets from strangers: nothing is trusted without the key of its log, and what is read ends. */
#include "fuzz.h"
#include "proof/tlog_policy.h"
#include "verify/verify.h"

static const uint8_t nobody[SIGN_PUBLIC] = { 0x19, 0x7f, 0x6b, 0x23, 0xe1, 0x6c, 0x85, 0x32, 0xc6, 0xab, 0xc8,
	0x38, 0xfa, 0xcd, 0x5e, 0xa7, 0x89, 0xbe, 0x0c, 0x76, 0xb2, 0x92, 0x03, 0x34, 0x03, 0x9b, 0xfa, 0x8b,
	0x3d, 0x36, 0x8d, 0x61 };

void fuzz_one(const uint8_t *data, size_t size)
{
	AUTO(arena_done) struct arena a = { .limit_bytes = 512 << 20 };
	struct note_key key = note_key_of("ledger.example/team", NOTE_ED25519, nobody);
	struct tlog_policy policy = tlog_policy_of(&a, &key, NULL, 0);
	const struct trust trust = { 0 };
	struct stream_bytes in;
	struct verification v;

	verification_begin(&v, &a, &trust, "pack");
	verify_fleet(&v, stream_from_bytes(&in, (struct bytes){ data, size }),
		&(struct fleet_trust){ &policy, NULL });
	if (v.trusted == ANSWER_YES || !v.error)
		__builtin_trap();
}
