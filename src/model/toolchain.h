/* toolchain.h — places below a home directory that builds and tests read: toolchains, installed programs, caches of packages.  A sandboxed
 * run sees these of a home, its work tree, and nothing else that no operator allowed. */
#ifndef MODEL_TOOLCHAIN_H
#define MODEL_TOOLCHAIN_H

#include <stdbool.h>
#include <stddef.h>

/* Below a home; a directory ends in '/'.  NULL past the end.  No row lies in another. */
const char *toolchain_place_at(size_t i);
/* Of the directory ".cache" of a home: does a toolchain keep a cache under this name? */
bool toolchain_has_cache(const char *name);

#endif
