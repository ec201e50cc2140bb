/* diff.h — what changed from one text to another, as people read it. */
#ifndef BASE_DIFF_H
#define BASE_DIFF_H

#include "base/mem.h"

/* Unified, three lines of context, under these names; NULL when one of them is not text. */
const char *diff_unified(
	struct arena *a, const char *from_name, struct bytes from, const char *to_name, struct bytes to);

#endif
