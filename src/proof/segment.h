/* segment.h — what is signed about the older files of a chain.
 *
 * When a file of the chain is closed, the first receipt of the next one, a seam, sums it up: its name, its digest and length, the
 * clock and hash of its last receipt, and the tree over the log up to there.  So whoever believes the seam's signature can go on
 * from it without reading what lies before.  When a closed file is moved to another place, a receipt says so, and a copy of that
 * receipt stays where the file was.
 *
 * What a seam says stands in its metadata and is bound by its signed args_hash; for a move it is output_hash.  Whether the signer is
 * trusted is the reader's question. */
#ifndef PROOF_SEGMENT_H
#define PROOF_SEGMENT_H

#include "base/json.h"
#include "proof/merkle.h"

#define ROTATE_EFFECT "helm.log/rotate"
#define ARCHIVE_EFFECT "helm.log/archive"
/* Beside the place of a file that was moved away, with this behind its name. */
#define ARCHIVED ".archived"

struct closed_file {
	const char *file; /* the closed file; in the arena or the receipt */
	struct hash digest;
	uint64_t size_bytes;
	uint64_t clock; /* of its last receipt */
	struct hash last; /* and its chain hash */
	struct merkle tree; /* over all receipts up to it */
};

struct json *segment_json(struct arena *a, const struct closed_file *s);
/* Is this receipt a seam that sums up what lies before it, and continues exactly that?  Seams of older versions name only file and
 * digest: then false. */
bool segment_read(struct arena *a, const struct json *receipt, struct closed_file *ret);

/* Is it the receipt of a move, and its metadata what was signed?  The row about `file` ({file, sha256, bytes, ...}), or NULL. */
const struct json *segment_moved(struct arena *a, const struct json *receipt, const char *file);
/* The digest that such a file was closed with; a repair may have taken something out of it before it was moved. */
const char *segment_moved_digest(const struct json *row);

#endif
