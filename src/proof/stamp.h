/* stamp.h — timestamps as preimages spell them.
 *
 * Records carry RFC 3339 text with up to nine fraction digits.  Before such a text enters a preimage it is printed again in
 * one way: trailing zeros of the fraction dropped (and the point with them), digits past the ninth cut, "Z" for offset zero,
 * any other offset kept or, where the record says UTC, applied. */
#ifndef PROOF_STAMP_H
#define PROOF_STAMP_H

#include "base/mem.h"

#include <stdbool.h>

/* What an absent time is written as. */
#define STAMP_UNSET "0001-01-01T00:00:00Z"

/* The canonical spelling in the arena, or NULL when the text is not an RFC 3339 time.  to_utc: with offset zero. */
char *stamp_canonical(struct arena *a, const char *s, bool to_utc);

#endif
