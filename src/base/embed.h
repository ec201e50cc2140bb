/* embed.h — files shipped inside the program: share/, schemas/, web/ (cmake/embed.cmake). */
#ifndef BASE_EMBED_H
#define BASE_EMBED_H

#include "base/mem.h"

#include <stdbool.h>

/* By its path in the source tree, "share/execution_profiles.json".  The bytes are followed by a NUL. */
bool embed_find(const char *name, struct bytes *ret);
/* The i-th file, in order of names; false past the end. */
bool embed_at(size_t i, const char **ret_name, struct bytes *ret);

#endif
