/* names.h — which of many paths below a directory can be there: one look at the directory in the place of one for each path.
 *
 * The answer is never a wrong "no" for what was there: where it is not sure, it is yes, and whoever wants to know looks at the path. */
#ifndef BASE_NAMES_H
#define BASE_NAMES_H

#include "base/sys.h"

#include <stdbool.h>
#include <stdint.h>

enum { NAMES_BITS = 4096 };
struct names {
	uint64_t bits[NAMES_BITS / 64];
	bool is_whole; /* every name is in it */
};

/* A directory that is not there has no names.  One that cannot be listed, or has very many, may have any. */
void names_look(struct sys *s, int dirfd, const char *path, struct names *ret);
/* The same for one that is open for reading, from its beginning. */
void names_look_in(struct sys *s, int fd, struct names *ret);
/* Can there be anything under the first part of `path`, which is relative and begins with a name? */
bool names_may_have(const struct names *n, const char *path);

#endif
