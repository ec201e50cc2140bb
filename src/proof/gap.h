/* gap.h — receipts that are lost, on record.
 *
 * A chain may have a hole where receipts were damaged.  A repair keeps every receipt that still verifies and signs a seam at the
 * end of the chain that tells of each hole: the receipts on both sides, and the leaves of those between as far as they are known.  A
 * hole that a seam tells of is a gap; any other is damage.  What a seam says stands in its metadata and is bound by its signed
 * output_hash; whether its signer is trusted is the reader's question. */
#ifndef PROOF_GAP_H
#define PROOF_GAP_H

#include "base/json.h"
#include "proof/merkle.h"

#define REPAIR_EFFECT "helm.log/repair"
enum { GAP_MOST = 1 << 22 }; /* receipts lost in one gap: more than some files of a chain hold */

struct gap {
	uint64_t after, next; /* clocks of the receipts on both sides; after 0: the beginning is lost */
	struct hash before, behind; /* their chain hashes; zeroes for the beginning */
	struct hash *leaves; /* next - after - 1 of them */
};
struct gaps {
	struct gap *list;
	size_t n, cap;
};

/* The leaf of a lost receipt of which nothing is known. */
struct hash gap_unknown_leaf(void);

/* Is it the seam of a repair, and is its metadata what was signed? */
bool gap_is_seam(struct arena *a, const struct json *receipt);
/* Take what a seam tells of; false when that is malformed, and then nothing is taken. */
bool gaps_take(struct gaps *to, struct arena *a, const struct json *seam);
/* For the metadata of a seam. */
struct json *gap_json(struct arena *a, const struct gap *g);
/* The gap between exactly these two receipts, or NULL. */
const struct gap *gaps_find(const struct gaps *g, uint64_t after, const struct hash *before, uint64_t next,
	const struct hash *behind);

#endif
