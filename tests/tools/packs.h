/* packs.h — small packs for tests: a known key, a few files, and ways to read and judge what comes out. */
#ifndef TOOLS_PACKS_H
#define TOOLS_PACKS_H

#include "record/record.h"
#include "tools/scratch.h"
#include "verify/verify.h"

/* The demo key: seed 0x2a, 32 times.  Made as files in the scratch directory and loaded from there. */
#define DEMO_PUBLIC "197f6b23e16c8532c6abc838facd5ea789be0c76b2920334039bfa8b3d368d61"
struct key *packs_key(struct scratch *t);

/* The key as something to trust. */
struct trust packs_trust(struct trusted_key *k);

extern const struct pack_about packs_about;
/* Three receipts, a policy, a transcript and a tree head; a fresh array each time. */
enum { PACKS_ITEMS = 6 };
struct pack_item *packs_items(struct arena *a);

/* The archive of these items as bytes. */
struct bytes packs_archive(
	struct scratch *t, struct arena *a, const struct key *key, struct pack_item *items, size_t n);

/* Verify an archive under the demo key; the answer is in *v, the pack, when it could be read, in *p. */
void packs_judge(struct arena *a, struct bytes archive, struct verification *v, struct pack *p);

/* An archive of the given files, in any order, signed by nobody. */
struct bytes packs_tar(struct arena *a, struct pack_item *items, size_t n);

#endif
