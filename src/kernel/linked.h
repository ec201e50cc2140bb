/* linked.h — work trees that git has linked to a repository elsewhere (git worktree add). */
#ifndef KERNEL_LINKED_H
#define KERNEL_LINKED_H

#include "base/mem.h"
#include "base/sys.h"

#include <stdbool.h>

struct linked {
	const char *common; /* the repository's own directory, as it really is */
	const char *own; /* what it keeps of this work tree: <common>/worktrees/NAME */
};

/* Is `tree` one, and does the repository say so, too?  The file in the tree alone proves nothing: whoever can write there could name any
 * repository.  False as well when the repository is another user's, or lies where nothing becomes writable. */
bool linked_find(struct sys *s, struct arena *a, const char *tree, const char *home, struct linked *ret);

#endif
